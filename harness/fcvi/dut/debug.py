"""A device under a debugger: ``fcvi run --debug 'gdb --args' --dut exec:...``.

A device speaks on its standard streams, which a debugger needs as well. So the debugger gets the terminal of the suite, and
the device keeps the two ends of the pipes as its standard streams.
"""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from fcvi.engine.attachment import AttachError
from fcvi.engine.budget import Limits
from fcvi.engine.target import Target

PATIENCE_S = 100_000.0  # nobody waits so long at a breakpoint
LIMITS = Limits(case_s=int(PATIENCE_S), run_s=int(PATIENCE_S))
_TERMINAL = 'exec 3<&0 4>&1 <"$0" >"$0" 2>&1; exec "$@"'  # the debugger's streams; the device's are 3 and 4
_DEVICE = 'exec "$0" "$@" <&3 >&4 3<&- 4>&-'


def debugged(target: Target, debugger: str) -> Target:
    """The target under the debugger. Raises AttachError."""
    command = target.rest
    if target.kind != "exec":
        raise AttachError(f"--debug: {target} is no device that the suite starts; it goes with exec:")
    try:
        words = shlex.split(debugger)
    except ValueError as error:
        raise AttachError(f"--debug {debugger}: cannot split the command: {error}") from error
    if not words:
        raise AttachError("--debug names no command")
    if Path(words[0]).name.startswith("gdb") and "gdbserver" not in words[0]:
        wrapper = shlex.join(["sh", "-c", _DEVICE])
        words[1:1] = ["-iex", f"set exec-wrapper {wrapper}"]
        words = ["sh", "-c", _TERMINAL, _terminal(), *words]
    # What is no gdb leaves the standard streams to the device, as valgrind and gdbserver do.
    return replace(target, rest=f"{shlex.join(words)} {command}")


def _terminal() -> str:
    for descriptor in (0, 2, 1):
        with suppress(OSError):
            return os.ttyname(descriptor)
    return "/dev/null"
