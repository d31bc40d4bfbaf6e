"""``fcvi endpoint``: serves the reference endpoint as a DUT.

Without --listen the DUT protocol runs on standard input and output, for `--dut "exec:fcvi endpoint"`. With --on the frames
go over an Ethernet interface, in real time, and --control serves the rest of the protocol, for
`--dut fcoe:OTHER --agent unix:PATH`. Without --control the port only answers. With --book rev1 it is an endpoint of
FC-VI Rev 1.0, the draft of 1999.

Clients through unix: and tcp: are processes of this host and this user; through another address, who names the token (--token).

With --book vitcp, or --on vitcp:ADDR:PORT, it is the reference endpoint of VI/TCP. On vitcp: it accepts TCP connections at that
address and port, and calls the same port of other hosts; without --control nobody could create a VI, so it is needed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from fcvi.dut.door import IDLE_S
from fcvi.dut.endpoint import How, door, serve_socket, serve_stdio
from fcvi.engine.files import FileError, read_json
from fcvi.engine.pixit import pixit_for
from fcvi.engine.words import complain, refuse
from fcvi.fc.configuration import base_config
from .target import book, books, read
from .values import seconds

if TYPE_CHECKING:
    from fcvi.vitcp.codec import Profile


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("endpoint", help="Serve the reference endpoint as a device.", description=__doc__)
    p.add_argument("--listen", metavar="ADDR", help="Serve unix:PATH or tcp:HOST:PORT, and not standard input and output.")
    p.add_argument("--clock", choices=("virtual", "real"), default="virtual", help="The port lives in virtual or in real time.")
    p.add_argument("--on", metavar="fcoe:IFACE[,OPTION=VALUE...]|vitcp:ADDR:PORT",
                   help="Send and receive frames on this Ethernet interface, or VI/TCP on sockets of this address.")  # fmt: skip
    book(p)
    p.add_argument("--profile", metavar="FILE", help="Of VI/TCP: take the numbers that its draft leaves open from this file.")
    p.add_argument("--control", metavar="ADDR", help="With --on: serve the control plane at unix:PATH or tcp:HOST:PORT.")
    p.add_argument("--config", metavar="FILE", type=Path,
                   help="With --on, without --control: take the params of reset from this JSON.")  # fmt: skip
    p.add_argument("--token", metavar="FILE", type=Path,
                   help="Serve who names the first line of this file in hello; needed where other hosts can connect.")  # fmt: skip
    p.add_argument("--idle", metavar="S", type=seconds, default=IDLE_S,
                   help="Let a client go that says nothing for so long (default 3600; 10 for its first line).")  # fmt: skip
    p.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until the client, or the operator, ends it."""
    where = read(args.on or "ref", books(args), "--on" if args.on else "the endpoint")
    of_streams, edition = where.book.streams, where.book.edition
    if args.on is not None:
        refuse(args.given, ("--clock",), "on a link time is real: leave it out")
    if args.profile is not None and not of_streams:
        complain("--profile: only VI/TCP has profiles; add --book vitcp", "fcvi endpoint")
        return 2
    try:
        profile = _profile(args.profile) if of_streams else None
    except FileError as error:
        complain(error, "fcvi endpoint")
        return 2
    if not args.listen and args.control is None and (args.token is not None or args.idle != IDLE_S):
        option = "--idle" if args.token is None else "--token"
        complain(f"{option} is about clients of a socket: it goes with --listen, or with --control", "fcvi endpoint")
        return 2
    if args.on is None and args.control is None and args.config is None:
        how = How(args.clock, "tcp" if of_streams else "fc", edition or "2007", profile)
        if not args.listen:
            return serve_stdio(how)
        entry = door(args.listen, "--listen", args.token, args.idle)
        return 2 if entry is None else serve_socket(entry, how)
    if where.kind == "vitcp":
        return _on_sockets(args, profile)
    if args.on is None or args.listen is not None or where.kind != "fcoe" or (args.control and args.config):
        words = "--on fcoe:IFACE takes --control or --config, --on vitcp:ADDR:PORT --control; they take nothing else"
        complain(words, "fcvi endpoint")
        return 2
    from fcvi.live.endpoint import serve, serve_alone

    if args.control is not None:
        entry = door(args.control, "--control", args.token, args.idle)
        return 2 if entry is None else serve(args.on, entry, edition)
    try:
        return serve_alone(args.on, _configuration(args.config), edition)
    except FileError as error:
        complain(f"--config: {error}", "fcvi endpoint")
        return 2


def _profile(path: Optional[str]) -> Profile:
    from fcvi.vitcp.codec import ProfileError, load

    try:
        return load(path)
    except ProfileError as error:
        raise FileError(f"--profile {error}") from error


def _on_sockets(args: argparse.Namespace, profile: Optional[Profile]) -> int:
    if args.control is None or args.config is not None or args.listen is not None:
        complain("--on vitcp:ADDR:PORT needs --control and takes nothing else", "fcvi endpoint")
        return 2
    from fcvi.live.sockets import serve

    entry = door(args.control, "--control", args.token, args.idle)
    return 2 if entry is None else serve(args.on, entry, profile)


def _configuration(path: Optional[Path]) -> dict[str, Any]:
    """What the file says over what a run starts from."""
    given = {} if path is None else read_json(path)
    if not isinstance(given, dict):
        raise FileError(f"{path}: not an object")
    return {**base_config(pixit_for("real"), 1), **given}
