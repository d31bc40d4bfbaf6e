"""The provider as a program that speaks the DUT protocol; --variant NAME chooses among what the texts permit."""

from __future__ import annotations

import argparse
import os
import select
import sys

from .clock import RealClock, VirtualClock
from .server import Server
from .variants import VARIANTS


def _write(line: str) -> None:
    sys.stdout.write(line)
    sys.stdout.flush()


def serve(server: Server) -> None:
    """Until the suite closes the stream."""
    held = b""
    while True:
        wait = server.wait_s()
        if select.select([0], [], [], wait)[0]:
            data = os.read(0, 1 << 16)
            if not data:
                return
            *lines, held = (held + data).split(b"\n")
            for raw in lines:
                server.line(raw)
        else:
            server.turn()


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="independent_vipl", description="A provider of VIPL for the tests of the suite.")
    parser.add_argument("--variant", choices=sorted(VARIANTS), default="plain", help="Which of the permitted choices it takes.")
    parser.add_argument("--clock", choices=("real", "virtual"), default="real", help="Who moves the time: the host, or the suite.")
    args = parser.parse_args()
    try:
        serve(Server(args.variant, RealClock() if args.clock == "real" else VirtualClock(), _write))
    except (BrokenPipeError, KeyboardInterrupt):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
