"""An interface that this process may not open is opened by fcvi-open (harness/opener), which an administrator gave CAP_NET_RAW."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path
from typing import Union

from fcvi.engine.words import printable, why

PROGRAM = Path(__file__).resolve().parents[3] / "build" / "fcvi-open"
_LONGEST_S = 10.0
_CAPABILITY = "security.capability"


def handed_over(interface: str) -> Union[int, str]:
    """A packet socket that is bound to the interface; otherwise why there is none, "" where nobody set the opener up."""
    if not _is_set_up():
        return ""
    command, nothing = [str(PROGRAM), interface], dict[str, str]()
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, its:
        try:
            done = subprocess.run(command, stdin=its.fileno(), capture_output=True, timeout=_LONGEST_S, check=False, env=nothing)
        except (OSError, subprocess.SubprocessError) as error:
            return f"{interface}: {PROGRAM}: {why(error) if isinstance(error, OSError) else 'it does not end'}"
        if done.returncode != 0:
            words = printable(done.stderr.decode("utf-8", "replace").strip()[:300])
            return words.removeprefix("fcvi-open: ") or f"{interface}: {PROGRAM} ended with status {done.returncode}"
        its.close()
        fds = socket.recv_fds(ours, 1, 1)[1]
    return fds[0] if fds else f"{interface}: {PROGRAM} handed nothing over"


def _is_set_up() -> bool:
    """Whether somebody gave it a capability, and this user may start it."""
    try:
        return _CAPABILITY in os.listxattr(PROGRAM) and os.access(PROGRAM, os.X_OK)
    except OSError:
        return False
