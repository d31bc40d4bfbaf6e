"""The DUT protocol, version 2 with wire "tcp": JSON-RPC 2.0, one object per line, over a virtual clock."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any, Callable, Dict, List, Optional

from . import faults as fault_table
from ..chosen import Choices, shown
from ..parameters import BadParams, Params, Refused, natural, need
from .choices import CHOICES
from .faults import Faults
from .port import Port, host_of
from .setup import Address
from .stream import Stream
from .vi import Attributes
from .vipl import CALLS, Vipl

PARSE, REQUEST, METHOD, PARAMS, NO_RESET, GONE = -32700, -32600, -32601, -32602, -32000, -32001
ANSWERS_FIRST = ("VipPostSend", "VipPostRecv")


class Closed(Exception):
    """The attachment is to be closed, with this exit status."""


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
    return value.as_json() if isinstance(value, (Address, Attributes)) else value


class Server:
    """One DUT: lines in, lines out."""

    def __init__(self, choose: Choices, faults: Faults, write: Callable[[str], None]) -> None:
        self.choose, self.faults, self.write = choose, faults, write
        self.port: Optional[Port] = None
        self.vipl: Optional[Vipl] = None
        self.pending: List[PendingCall] = []
        self._notes: List[Dict[str, Any]] = []
        self._answers: List[Dict[str, Any]] = []
        self._own: Dict[str, Callable[[Params], Dict[str, Any]]] = {
            "hello": self._hello, "reset": self._reset, "mem.read": self._mem_read, "mem.write": self._mem_write,
            "clock.advance": self._advance}
        if choose.yes("clock_next"):
            self._own["clock.next"] = lambda params: {"us": self._port().clock.next_us()}

    def _port(self) -> Port:
        assert self.port is not None
        return self.port

    # Out

    def notify(self, method: str, params: Dict[str, Any]) -> None:
        """A notification."""
        if self.faults.is_on("mute-wire") and method.startswith("stream"):
            return
        self._notes.append({"jsonrpc": "2.0", "method": method, "params": params})

    def answer(self, ident: Any, result: Any, method: str) -> None:
        """A result; those of posting come before what they cause."""
        message = {"jsonrpc": "2.0", "id": ident, "result": result}
        if method in ANSWERS_FIRST:
            self._notes.append(message)
        else:
            self._answers.append(message)

    def error(self, ident: Any, code: int, message: str) -> None:
        """An error answer."""
        self._answers.append({"jsonrpc": "2.0", "id": ident, "error": {"code": code, "message": message}})

    def settle(self) -> None:
        """Write what has been said: notifications, then results."""
        said, self._notes, self._answers = self._notes + self._answers, [], []
        if said:
            self.write("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in said))

    # In

    def line(self, raw: bytes) -> None:
        """One line of the suite's."""
        try:
            message = json.loads(raw)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            self.error(None, PARSE if message is None else REQUEST, "no request")
            self.settle()
            return
        method, params = message["method"], message.get("params", {})
        if "id" not in message:
            if self.port is not None and isinstance(params, dict):
                self._notified(self.port, method, params)
        elif not isinstance(params, dict):
            self.error(message["id"], PARAMS, "params must be an object")
        else:
            self._request(message["id"], method, params)
        self.settle()

    def _request(self, ident: Any, method: str, params: Params) -> None:
        try:
            if method not in self._own and method not in CALLS:
                self.error(ident, METHOD, f"no method {method}")
            elif method == "hello" or method == "reset":
                self.answer(ident, self._own[method](params), method)
            elif self.port is None or self.vipl is None:
                self.error(ident, NO_RESET, "no reset yet")
            elif method in self._own:
                self.answer(ident, self._own[method](params), method)
            else:
                self._call(PendingCall(self, ident, method), params)
        except (BadParams, KeyError, TypeError) as problem:
            self.error(ident, PARAMS, str(problem))

    def _call(self, call: PendingCall, params: Params) -> None:
        assert self.vipl is not None
        self.pending.append(call)
        if self.faults.is_on("same-answer"):
            call.reply("VIP_SUCCESS", vi=1, conn=1, mem=1, va="0" * 16, handle=1)
            return
        try:
            self.vipl.calls[call.method](params, call)
        except Refused as refused:
            call.reply(str(refused))
        except BadParams:
            self.pending.remove(call)
            raise

    def _notified(self, port: Port, method: str, params: Params) -> None:
        name = params.get("stream")
        if not isinstance(name, str) or self.faults.is_on("mute-wire"):
            return
        if method == "stream.open":
            ends = [(host_of(params[end]["host"]), int(params[end]["port"])) for end in ("from", "to")]
            if self.faults.is_on("closes-at-once"):
                self.notify("stream.opened", {"stream": name})
                self.notify("stream.close", {"stream": name, "how": "fin"})
                return
            if self.faults.is_on("echoes") or self.faults.is_on("nops-for-ever"):
                self.notify("stream.opened", {"stream": name})
                self.notify("stream.window", {"stream": name, "bytes": None})
                self._storm(port, name)
                return
            port.incoming(name, ends[0], ends[1])
            return
        if method == "stream.data" and self.faults.is_on("echoes"):
            self.notify("stream.data", {"stream": name, "hex": params["hex"]})
            return
        if method == "stream.opened" and self.faults.is_on("closes-at-once"):
            self.notify("stream.close", {"stream": name, "how": "fin"})
            return
        if method == "stream.opened" and self.faults.is_on("echoes"):
            return
        if method == "stream.opened" and self.faults.is_on("nops-for-ever"):
            self._storm(port, name)
            return
        stream = port.streams.get(name)
        if stream is not None:
            self._of_stream(port, stream, method, params)

    def _storm(self, port: Port, name: str) -> None:
        """NOPs for ever, and nothing else."""
        if not self.faults.is_on("nops-for-ever"):
            return

        def again() -> None:
            nop = bytes.fromhex("01" "2a" "0018" + "00" * 20)
            self.notify("stream.data", {"stream": name, "hex": nop.hex()})
            port.clock.after(500_000, again)

        again()

    def _of_stream(self, port: Port, stream: Stream, method: str, params: Params) -> None:
        if method == "stream.opened":
            stream.opened()
            stream.on_open()
        elif method == "stream.refused":
            port.forget(stream)
            stream.on_refused()
        elif method == "stream.data":
            stream.take(bytes.fromhex(params["hex"]))
        elif method == "stream.window":
            stream.granted(params["bytes"])
        elif method == "stream.close":
            stream.finished(params["how"])

    # Methods of the protocol itself

    def _hello(self, params: Params) -> Dict[str, Any]:
        if natural(params, "protocol") != 2:
            raise BadParams("protocol 2 only")
        yes = ("client", "server", "peer_to_peer", "unreliable_delivery", "reliable_delivery", "reliable_reception", "send",
               "rdma_write", "rdma_read", "immediate_data", "tcp", "ipv6")
        pics = {**dict.fromkeys(yes, True), "flow_control": self.choose.yes("flow_control"),
                "max_transfer_size": self.choose.number("largest"), "max_vis": self.choose.number("most_vis")}
        if self.choose("lacks") in pics:
            pics[self.choose("lacks")] = False
        return {"protocol": 2, "wires": ["tcp"], "implementation": "independent VI/TCP endpoint", "version": "1",
                "clock": "virtual", "pics": pics}

    def _reset(self, params: Params) -> Dict[str, Any]:
        if need(params, "wire", str, "fc") != "tcp":
            raise BadParams("wire tcp only")
        try:
            port = Port(params, self.choose, self.faults, self.notify)
        except ValueError as problem:
            raise BadParams(str(problem)) from None
        self._notes.clear()
        for call in self.pending:
            self.error(call.ident, GONE, "reset")
        self.pending.clear()
        self.port, self.vipl = port, Vipl(port)
        return {}

    def _advance(self, params: Params) -> Dict[str, Any]:
        clock = self._port().clock
        clock.run_until(clock.now + natural(params, "us"), lambda: None)
        shown_next = {"next_us": clock.next_us()} if self.choose.yes("clock_next") else {}
        return {"now_us": clock.now, **shown_next}

    def _mem_read(self, params: Params) -> Dict[str, Any]:
        assert self.vipl is not None
        return self.vipl.mem_read(params)

    def _mem_write(self, params: Params) -> Dict[str, Any]:
        assert self.vipl is not None
        return self.vipl.mem_write(params)


def serve(server: Server) -> None:
    """Serve standard input until it ends."""
    held = b""
    while data := os.read(0, 1 << 16):
        *lines, held = (held + data).split(b"\n")
        for raw in lines:
            server.line(raw)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="A VI/TCP endpoint served over the DUT protocol.")
    parser.add_argument("--choose", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--fault", metavar="NAME")
    parser.add_argument("--list-choices", action="store_true", help="NAME<TAB>values, the default first<TAB>why they are legal")
    parser.add_argument("--list-faults", action="store_true", help="NAME<TAB>requirement ids<TAB>what")
    args = parser.parse_args()
    if args.list_choices or args.list_faults:
        rows = ({name: (shown(values), why) for name, (values, why) in CHOICES.items()} if args.list_choices
                else fault_table.listing())
        for name, (second, third) in rows.items():
            print(name, second, third, sep="\t")
        return 0
    try:
        choose, faults = Choices(CHOICES, args.choose), Faults(args.fault)
    except ValueError as problem:
        parser.error(str(problem))

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    try:
        serve(Server(choose, faults, write))
    except Closed as closed:
        return int(closed.args[0])
    except (BrokenPipeError, KeyboardInterrupt):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0
