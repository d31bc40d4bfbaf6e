"""Agents that do not try: each has to be seen through."""

from __future__ import annotations

import json
from typing import Any, Dict, List

from .server import Server
from .words import Params

BIG: Dict[str, Any] = {
    "return": "success", "errno": 0, "us": 1, "at_us": 1, "rnic": 1, "pd": 1, "cq": 1, "handler": 1, "qp": 1, "qp_num": 17,
    "srq": 1,
    "mr": 1, "mw": 1, "mem": 1, "listener": 1, "request": 1, "loop": 1, "lkey": 256, "rkey": 256, "va": "00007f0000000000",
    "entries": 64, "size": 64, "sges": 4, "limit": 0, "posted": 1, "wcs": [], "code": 0, "state": "RTS", "port": 4000,
    "cap": {"sq_size": 64, "rq_size": 64, "sq_sges": 4, "rq_sges": 4, "inline": 0}, "event": "ESTABLISHED", "status": 0, "ord": 1,
    "ird": 1, "private": "", "hex": "00", "wrong": 0, "first": None, "met": [], "done": 0, "threads": 1, "memory": 1 << 20,
    "open": {}}


class Degenerate(Server):
    """hello, reset and what is no method are answered as they should be."""

    def __init__(self, server: Server) -> None:
        super().__init__(server.flavour, server.choose, None, server.write, server.names, server.addresses, server.clock)
        self.count = 1

    def request(self, ident: Any, method: str, params: Params) -> None:
        """The rest is not."""
        if method in ("hello", "reset", "agent.devices") or (method not in self._verbs and
                                                             method not in self._own) or self.calls is None:
            super().request(ident, method, params)
        else:
            self.rest(ident, method, params)

    def rest(self, ident: Any, method: str, params: Params) -> None:
        """What this one does."""

    def say(self, ident: Any, result: Dict[str, Any]) -> None:
        """An answer."""
        self.write(json.dumps({"jsonrpc": "2.0", "id": ident, "result": result}) + "\n")


class Mute(Degenerate):
    """Answers nothing."""


class Constant(Degenerate):
    """Answers the same, whatever it is asked."""

    def rest(self, ident: Any, method: str, params: Params) -> None:
        self.say(ident, BIG)


class Refuses(Degenerate):
    """Refuses everything."""

    def rest(self, ident: Any, method: str, params: Params) -> None:
        self.say(ident, {"return": "immediate-error", "errno": 22, "us": 1, "at_us": 1, "posted": 0, "code": -4, "event": None})


class Echo(Degenerate):
    """Gives back what it got."""

    def rest(self, ident: Any, method: str, params: Params) -> None:
        self.say(ident, params)


class Success(Degenerate):
    """Success and plausible numbers, and nothing is done."""

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self.asked: Dict[Any, Dict[str, Any]] = {}

    def plausible(self, method: str, params: Params) -> Dict[str, Any]:
        """Fresh numbers, and what was asked for granted."""
        self.count += 1
        result = dict(BIG)
        for name in ("rnic", "pd", "cq", "handler", "qp", "srq", "mr", "mw", "mem", "listener", "request", "loop"):
            result[name] = self.count
        result["qp_num"] = 16 + self.count
        result["lkey"] = result["rkey"] = self.count << 8
        result["va"] = f"{0x7f0000000000 + (self.count << 20):016x}"
        for name in ("entries", "size", "sges", "limit", "ord", "ird"):
            if name in params:
                result[name] = params[name]
        result["cap"] = {name: params.get(name, 0) for name in BIG["cap"]}
        result["posted"] = sum(wr.get("times", 1) for wr in params.get("wrs", []) if isinstance(wr, dict))
        result["hex"] = "00" * params["length"] if isinstance(params.get("length"), int) and params["length"] < 30_000 else ""
        if method == "verbs.QueryRnic":
            result.update(attributes=self.model.devices[0].shown(), transport=self.flavour, vectors=2,
                          port={"max_msg_sz": (1 << 32) - 1})
        elif method == "verbs.GetEvent":
            result["cq"] = None
        return result

    def rest(self, ident: Any, method: str, params: Params) -> None:
        self.say(ident, self.plausible(method, params))


class Obliging(Success):
    """As success, and each WR has a WC of success in posting order, wherever it is looked for."""

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self.waiting: List[Dict[str, Any]] = []
        self.written: Dict[Any, Dict[int, bytes]] = {}

    def rest(self, ident: Any, method: str, params: Params) -> None:
        if method == "mem.write" and isinstance(params.get("hex"), str):
            self.written.setdefault(params.get("mem"), {})[params.get("offset", 0)] = bytes.fromhex(params["hex"])
        for wr in params.get("wrs", []) if method.startswith("verbs.Post") else []:
            for count in range(wr.get("times", 1)):
                receive = method != "verbs.PostSq"
                self.waiting.append({
                    "wr_id": f"{int(wr['wr_id'], 16) + count:016x}", "status": "SUCCESS",
                    "opcode": "RECV" if receive else wr["opcode"],
                    "byte_len": sum(sge.get("length", 0) for sge in wr.get("sges", [])), "qp_num": 17, "qp": params.get("qp"),
                    "flags": [],
                    "invalidated": 0, "vendor_err": 0, "at_us": 1})
        result = self.plausible(method, params)
        if method == "verbs.PollCq":
            most = params.get("max", 1)
            result["wcs"], self.waiting = self.waiting[:most], self.waiting[most:]
        elif method == "mem.read":
            held = self.written.get(params.get("mem"), {}).get(params.get("offset", 0))
            if held is not None:
                result["hex"] = held[:params.get("length", 0)].hex()
        self.say(ident, result)


KINDS = {"mute": Mute, "constant": Constant, "refuses": Refuses, "echo": Echo, "success": Success, "obliging": Obliging}


def degenerate(kind: str, server: Server) -> Server:
    """One of them."""
    return KINDS[kind](server)
