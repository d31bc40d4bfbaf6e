"""``fcvi endpoint``: serves the reference endpoint as a DUT.

Without --listen the DUT protocol runs on standard input and output, for `--dut "exec:fcvi endpoint"`.
"""

from __future__ import annotations

import argparse
from typing import Any

from ..endpoint import serve_socket, serve_stdio


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("endpoint", help="serve the reference endpoint as a DUT", description=__doc__)
    p.add_argument("--listen", metavar="ADDR", help="unix:PATH or tcp:HOST:PORT instead of standard input and output")
    p.add_argument("--clock", choices=("virtual", "real"), default="virtual", help="whose time the port lives in")
    p.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until the client, or the operator, ends it."""
    return serve_socket(args.listen, args.clock) if args.listen else serve_stdio(args.clock)
