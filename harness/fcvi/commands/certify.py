"""``fcvi certify``: runs every applicable case and leaves a report. (The certificate itself is not made yet.)"""

from __future__ import annotations

from typing import Any

from . import run as run_command


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("certify", help="run every applicable case and leave a report", description=__doc__)
    run_command.options(p, report="report")
    p.set_defaults(certification=True)
