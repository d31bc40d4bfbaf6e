"""``fcvi endpoint``: serves the reference endpoint as a DUT.

Without --listen the DUT protocol runs on standard input and output, for `--dut "exec:fcvi endpoint"`. With --on the frames
go over an Ethernet interface, in real time, and --control serves the rest of the protocol, for
`--dut fcoe:OTHER --agent unix:PATH`.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ..endpoint import serve_socket, serve_stdio


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("endpoint", help="serve the reference endpoint as a DUT", description=__doc__)
    p.add_argument("--listen", metavar="ADDR", help="unix:PATH or tcp:HOST:PORT instead of standard input and output")
    p.add_argument("--clock", choices=("virtual", "real"), default="virtual", help="whose time the port lives in")
    p.add_argument("--on", metavar="fcoe:IFACE[,OPTION=VALUE...]", help="an Ethernet interface for the frames")
    p.add_argument("--control", metavar="ADDR", help="with --on: unix:PATH or tcp:HOST:PORT of the control plane")
    p.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until the client, or the operator, ends it."""
    if args.on is None and args.control is None:
        return serve_socket(args.listen, args.clock) if args.listen else serve_stdio(args.clock)
    if args.on is None or args.control is None or args.listen is not None or not args.on.startswith("fcoe:"):
        print("fcvi endpoint: --on fcoe:IFACE and --control ADDR belong together, without --listen", file=sys.stderr)
        return 2
    from ..live.endpoint import serve

    return serve(args.on, args.control)
