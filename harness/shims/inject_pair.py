#!/usr/bin/python3
"""An injector for ``fcvi run --dut api --inject``, as a laboratory would write one: it tells libvipl-pair.so what to do.

``inject_pair.py PATH FAULT [FROM]`` connects to PATH, which FCVI_PAIR_INJECT named to the library. It prints how many messages
were met so far. The exit status is 0 when the fault was armed, and 4 when there is no such fault.
"""

from __future__ import annotations

import socket
import sys

DONE, USAGE, CANNOT = 0, 2, 4


def main(words: list[str]) -> int:
    """Send one line, print the answer."""
    if not 2 <= len(words) <= 3:
        print(__doc__, file=sys.stderr)
        return USAGE
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            link.settimeout(5)
            link.connect(words[0])
            link.sendall(" ".join(words[1:]).encode() + b"\n")
            hits = int(link.recv(64))
    except (OSError, ValueError) as error:
        print(f"inject_pair: {words[0]}: {error}", file=sys.stderr)
        return 1
    print(hits)
    return DONE if hits >= 0 else CANNOT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
