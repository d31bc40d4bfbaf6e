"""The command line: over standard input and output, or on a Unix socket."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from typing import Any, List, Optional

from .choices import CHOICES, Choices
from .degenerate import KINDS, degenerate
from .engine import RealClock, VirtualClock
from .faults import FAULTS, names
from .server import LONGEST, Server

MOST = 64 * LONGEST


class Stream:
    """One stream of lines."""

    def __init__(self, server: Any, source: int, close: Any) -> None:
        self.server, self.source, self._close = server, source, close
        self._held = b""
        self.open = True
        self.lasting = True

    def __call__(self) -> None:
        """There is something to read."""
        data = os.read(self.source, 1 << 16)
        if not data:
            self.open = False
            self.server.model.engine.forget(self.source)
            self._close()
            return
        *lines, self._held = (self._held + data).split(b"\n")
        for raw in lines:
            self.server.line(raw)
        if len(self._held) > MOST:
            self._held = b""


def serve(server: Any, source: int, close: Any) -> None:
    """Until the stream ends."""
    stream = Stream(server, source, close)
    server.model.engine.watch(source, stream)
    while stream.open:
        server.model.engine.look(None if isinstance(server.clock, VirtualClock) else server.wait_us())
        server.turn()


def on_socket(make: Any, path: str) -> None:
    """One suite after the other."""
    if os.path.exists(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(1)
    try:
        while True:
            client, _ = listener.accept()

            def write(text: str, client: socket.socket = client) -> None:
                client.sendall(text.encode())

            try:
                serve(make(write), client.fileno(), client.close)
            except OSError:
                client.close()
    finally:
        os.unlink(path)


def _listed(args: argparse.Namespace) -> bool:
    if args.list_choices:
        for name, (values, why) in CHOICES.items():
            print(name, " ".join(values), why, sep="\t")
    elif args.list_faults:
        for fault in FAULTS:
            print(fault.name, fault.row, " ".join(fault.flavours), fault.what, sep="\t")
    else:
        return False
    return True


def main(argv: Optional[List[str]] = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="A model of a provider of RDMA verbs, served over the DUT protocol.")
    parser.add_argument("--flavour", choices=("iwarp", "ib"), default="iwarp")
    parser.add_argument("--devices", type=int, choices=(1, 2), default=1, help="RNICs of this agent")
    parser.add_argument("--socket", metavar="PATH", help="listen on this Unix socket instead of standard input and output")
    parser.add_argument("--address", default="127.0.0.1",
                        help="where Listen listens for other processes (the second RNIC: 127.0.0.2)")
    parser.add_argument("--clock", choices=("real", "virtual"), default="real", help="who moves the time: the host, or the suite")
    parser.add_argument("--choose", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--fault", metavar="NAME")
    parser.add_argument("--degenerate", choices=sorted(KINDS))
    parser.add_argument("--list-choices", action="store_true", help="NAME<TAB>values, the default first<TAB>why they are legal")
    parser.add_argument("--list-faults", action="store_true", help="NAME<TAB>requirement<TAB>flavours<TAB>what")
    args = parser.parse_args(argv)
    if _listed(args):
        return 0
    try:
        choose = Choices(args.choose)
    except ValueError as problem:
        parser.error(str(problem))
    if args.fault is not None and args.fault not in names():
        parser.error(f"no fault {args.fault}; --list-faults shows them")
    found = [f"model{index}" for index in range(args.devices)]
    addresses = [args.address, "127.0.0.2"][:args.devices]

    def make(write: Any) -> Any:
        clock = VirtualClock() if args.clock == "virtual" else RealClock()
        server = Server(args.flavour, choose, args.fault, write, found, addresses, clock)
        return degenerate(args.degenerate, server) if args.degenerate else server

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    try:
        if args.socket:
            on_socket(make, args.socket)
        else:
            serve(make(write), 0, lambda: None)
    except (BrokenPipeError, KeyboardInterrupt):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0
