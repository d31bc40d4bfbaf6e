"""The DUT protocol: JSON-RPC 2.0, one object per line, over a virtual or a real clock."""

from __future__ import annotations

import argparse
import json
import os
import select
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from .chosen import Choices, shown
from .parameters import BadParams, Params, Refused, natural, need
from .editions import EDITIONS, OF_2007, Edition
from .faults import Faults
from .port import Port
from .setup import attributes_json
from .vipl import Handler, Vipl
from .wire import Attributes, Frame, NetAddress

PARSE, REQUEST, METHOD, PARAMS, NO_RESET, GONE = -32700, -32600, -32601, -32602, -32000, -32001
MAX_LINE = 65536
ANSWERS_FIRST = ("VipPostSend", "VipPostRecv")
EARLY, NORMAL, LATE = range(3)


class Closed(Exception):
    """The stream is to be closed, with this exit status."""


class PendingCall:
    """A request that has not been answered."""

    def __init__(self, server: "Server", ident: Any, method: str) -> None:
        self.server, self.ident, self.method = server, ident, method

    def reply(self, code: str, **out: Any) -> None:
        """Answer with a VIPL return code; only the first answer counts."""
        if self in self.server.pending:
            self.server.pending.remove(self)
            result = {name: plain(value) for name, value in out.items()}
            self.server.answer(self.ident, {"return": code, **result}, self.method)


def plain(value: Any) -> Any:
    """The JSON form of what the port hands out."""
    if hasattr(value, "as_json"):
        return value.as_json()
    if isinstance(value, NetAddress):
        return {"host": value.host.hex(), "discriminator": value.discriminator.hex()}
    return attributes_json(value) if isinstance(value, Attributes) else value


class Server:
    """One DUT: lines in, lines out."""

    def __init__(self, choose: Choices, faults: Faults, write: Callable[[str], None],
                 real: bool = False, edition: Edition = OF_2007, only: bool = False) -> None:
        self.choose, self.faults, self.write, self.real = choose, faults, write, real
        self.edition, self.only, self.running = edition, only, edition
        self.port: Optional[Port] = None
        self.vipl: Optional[Vipl] = None
        self.pending: List[PendingCall] = []
        self._outbox: List[Tuple[int, Dict[str, Any]]] = []
        self._epoch = time.monotonic()
        self._own: Dict[str, Callable[[Params], Dict[str, Any]]] = {
            "hello": self._hello, "reset": self._reset,
            "mem.read": self._mem_read, "mem.write": self._mem_write}
        if not real:
            self._own["clock.advance"] = self._advance
        if choose.yes("clock_next"):
            self._own["clock.next"] = self._clock_next

    # Out

    def notify(self, method: str, params: Dict[str, Any]) -> None:
        """A notification; what the port does before anybody hears of it has no order but its own."""
        if self.faults.is_on("silent-wire") and method == "frame":
            return
        self._put(NORMAL, {"jsonrpc": "2.0", "method": method, "params": self._extra(params)})

    def answer(self, ident: Any, result: Any, method: str) -> None:
        """A result, before or after the notifications that the call caused."""
        first = method in ANSWERS_FIRST or (self.choose("notify") == "after" and method != "clock.advance")
        ident = 999 if self.faults.is_on("wrong-id") and method != "hello" else ident
        self._put(EARLY if first else LATE, {"jsonrpc": "2.0", "id": ident, "result": self._extra(result)})

    def error(self, ident: Any, code: int, message: str) -> None:
        """An error answer."""
        self._put(LATE, {"jsonrpc": "2.0", "id": ident, "error": {"code": code, "message": message}})

    def _extra(self, value: Any) -> Any:
        return {**value, "x_unknown": [1, "two"]} if self.choose("members") == "extra" else value

    def _put(self, rank: int, message: Dict[str, Any]) -> None:
        self._outbox.append((rank, message))

    def settle(self) -> None:
        """Write what has been collected."""
        for _, message in sorted(self._outbox, key=lambda item: item[0]):
            self.write(json.dumps(message) + "\n")
        self._outbox.clear()

    # In

    def line(self, raw: bytes) -> None:
        """One line from the suite."""
        try:
            message = json.loads(raw)
        except (ValueError, RecursionError):
            self.error(None, PARSE, "no JSON")
        else:
            self._message(message)
        self.settle()

    def _message(self, message: Any) -> None:
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            self.error(message.get("id") if isinstance(message, dict) else None, REQUEST, "no request")
            return
        method, params = message["method"], message.get("params", {})
        if "id" not in message:
            self._notified(method, params if isinstance(params, dict) else {})
        elif not isinstance(params, dict):
            self.error(message["id"], PARAMS, "params must be an object")
        elif not self._dishonest(message["id"], method):
            self._request(message["id"], method, params)

    def _dishonest(self, ident: Any, method: str) -> bool:
        if self.faults.is_on("same-answer"):
            hello = self._hello({"protocol": 1})
            self.answer(ident, {"return": "VIP_SUCCESS", "vi": 1, "conn": 1, "now_us": 0, **hello}, method)
            return True
        return self.faults.is_on("mute") and method != "hello"

    def _request(self, ident: Any, method: str, params: Params) -> None:
        calls = self.vipl.calls if self.vipl else {}
        known = method in self._own or method in self.running.calls
        try:
            if not known:
                if self.faults.is_on("answers-unknown"):
                    self.answer(ident, {}, method)
                    return
                self.error(ident, METHOD, f"no method {method}")
            elif method in ("hello", "reset"):
                self.answer(ident, self._own[method](params), method)
                self._after(method)
            elif not self.port:
                self.error(ident, NO_RESET, "no reset yet")
            elif method in self._own:
                self.answer(ident, self._own[method](params), method)
            else:
                call = PendingCall(self, ident, method)
                self.pending.append(call)
                self._call(call, calls[method], params)
        except (BadParams, KeyError, TypeError) as problem:
            self.error(ident, PARAMS, str(problem))

    def _call(self, call: PendingCall, handler: Handler, params: Params) -> None:
        try:
            handler(params, call)
        except Refused as refused:
            call.reply(str(refused))
        except BadParams:
            self.pending.remove(call)
            raise

    def _notified(self, method: str, params: Params) -> None:
        if not self.port or self.faults.is_on("mute"):
            return
        if method == "frame":
            self._frame(self.port, params)
        elif method == "link" and params.get("event") == "logo":
            self.port.login.logo()
        elif method == "link" and params.get("event") == "nos":
            self.port.login.gone()

    def _frame(self, port: Port, params: Params) -> None:
        if self.faults.is_on("exits"):
            raise Closed(3)
        if self.faults.is_on("echo"):
            self.notify("frame", params)
            return
        try:
            frame = Frame.unpack(bytes.fromhex(params.get("hex", "")))
        except (ValueError, TypeError) as problem:
            port.log(f"frame discarded: {problem}")
            return
        frame.sof, frame.eof, frame.crc = params.get("sof"), params.get("eof"), params.get("crc", "ok")
        port.receive(frame)

    # Methods of the protocol itself

    def _hello(self, params: Params) -> Dict[str, Any]:
        rev1 = self.edition.revision == "rev1"
        if natural(params, "protocol") not in ((1, 2) if rev1 else (1,)):
            raise BadParams("protocol 1 or 2 only" if rev1 else "protocol 1 only")
        pics = {**self.edition.pics(self.choose), "revision": self.edition.revision}
        more = {"protocol": 2, "wires": ["fc"], "revision": self.edition.revision} if rev1 else {}
        return {"implementation": "independent endpoint", "version": "1",
                "clock": "real" if self.real else "virtual", "pics": pics, **more}

    def _wanted(self, params: Params) -> Tuple[Edition, Choices, Faults]:
        """The edition that `reset` asks for; with another than that of the command line, its defaults."""
        name = need(params, "revision", str, self.edition.revision)
        edition = EDITIONS.get(name)
        if edition is self.edition:
            return edition, self.choose, self.faults
        if edition is None or self.only:
            raise BadParams(f"revision {name} is not served, only {self.edition.revision}")
        return edition, edition.choose(), edition.faults(None)

    def _reset(self, params: Params) -> Dict[str, Any]:
        edition, choose, faults = self._wanted(params)
        if need(params, "class", int, 3) not in edition.classes:
            raise BadParams(f"class {' and '.join(map(str, edition.classes))} only")
        try:
            port = edition.port(params, choose, faults, self.notify)
        except ValueError as problem:
            raise BadParams(str(problem)) from None
        self.running = edition
        self._outbox.clear()
        for call in self.pending:
            self.error(call.ident, GONE, "reset")
        self.pending.clear()
        self.settle()
        self.port, self.vipl, self._epoch = port, edition.vipl(port), time.monotonic()
        return {}

    def _after(self, method: str) -> None:
        if method != "reset":
            return
        if self.faults.is_on("not-json"):
            self._outbox.clear()
            self.write("VIP_SUCCESS\n")
        elif self.faults.is_on("long-line"):
            self._outbox[-1][1]["result"] = {"log": "x" * MAX_LINE}
        elif self.faults.is_on("closes"):
            self.settle()
            raise Closed(0)

    def _advance(self, params: Params) -> Dict[str, Any]:
        assert self.port
        clock = self.port.clock
        self.settle()
        clock.run_until(clock.now + natural(params, "us"), self.settle)
        shown_next = {"next_us": clock.next_us()} if self.choose.yes("next_us") else {}
        return {"now_us": clock.now, **shown_next}

    def _clock_next(self, params: Params) -> Dict[str, Any]:
        assert self.port
        return {"us": self.port.clock.next_us()}

    def _mem_read(self, params: Params) -> Dict[str, Any]:
        assert self.vipl
        return self.vipl.mem_read(params)

    def _mem_write(self, params: Params) -> Dict[str, Any]:
        assert self.vipl
        return self.vipl.mem_write(params)

    # The real clock

    def catch_up(self) -> Optional[float]:
        """Let real time pass; the seconds until the next timer."""
        if not self.port or not self.real:
            return None
        self.port.clock.run_until(int((time.monotonic() - self._epoch) * 1e6), self.settle)
        wait = self.port.clock.next_us()
        return None if wait is None else wait / 1e6


def serve(server: Server) -> None:
    """Serve standard input until it ends."""
    held = b""
    while True:
        wait = server.catch_up()
        if not select.select([0], [], [], wait)[0]:
            continue
        data = os.read(0, 1 << 16)
        if not data:
            return
        *lines, held = (held + data).split(b"\n")
        for raw in lines:
            server.catch_up()
            server.line(raw)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="An FC-VI endpoint served over the DUT protocol.")
    parser.add_argument("--choose", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--fault", metavar="NAME")
    parser.add_argument("--clock", choices=("virtual", "real"), default="virtual")
    parser.add_argument("--revision", choices=sorted(EDITIONS), help="the edition that the program is; without it that of 2007,"
                        " and after a reset that asks for it, Rev 1.0 with its defaults")
    parser.add_argument("--list-choices", action="store_true",
                        help="NAME<TAB>values, the default first<TAB>why they are legal")
    parser.add_argument("--list-faults", action="store_true", help="NAME<TAB>requirement ids<TAB>what")
    args = parser.parse_args()
    edition = EDITIONS[args.revision] if args.revision else OF_2007
    if args.list_choices or args.list_faults:
        rows = ({name: (shown(values), why) for name, (values, why) in edition.choices.items()} if args.list_choices
                else edition.listing())
        for name, (second, third) in rows.items():
            print(name, second, third, sep="\t")
        return 0
    try:
        choose, faults = edition.choose(args.choose), edition.faults(args.fault)
    except ValueError as problem:
        parser.error(str(problem))

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    try:
        serve(Server(choose, faults, write, args.clock == "real", edition, args.revision is not None))
    except Closed as closed:
        return int(closed.args[0])
    except (BrokenPipeError, KeyboardInterrupt):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0
