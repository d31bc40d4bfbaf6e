"""Says what the control plane of a broken device does otherwise: calls, answers and notifications. Each wire adds its own."""

from __future__ import annotations

from typing import Any, Callable, Optional

from fcvi.dut.ref import RefDut
from fcvi.engine.attachment import Notification, Reply
from fcvi.engine.breaks import Break


_DONE, _ERROR = "VIP_STATUS_DONE", "VIP_STATUS_TRANSPORT_ERROR"

_COMPLETIONS = ("good", "bad", "heard")
_NOBODY = 0x7FFF  # the number of a connection that there is not


class BrokenCalls(RefDut):
    """The reference port with one thing broken, which ``broken`` says; a device is used for one after the other."""

    broken: Optional[Break] = None

    def __init__(self, spec: str, edition: str = "2007") -> None:
        self.counts: dict[str, int] = {}
        self.later: list[tuple[int, Callable[[], None]]] = []  # what is due, and when
        self.forget()
        super().__init__(spec, edition)

    def forget(self) -> None:
        """Of a run everything."""
        self.counts.clear()
        self.later.clear()
        self._vi = 0
        self._before: Optional[Reply] = None  # the last answer that was right
        self._posted: dict[int, list[dict[str, Any]]] = {}  # buffers of receive Descriptors, by VI
        self._delivered: dict[int, bytes] = {}  # the Message that was delivered first

    def notify(self, method: str, params: dict[str, Any]) -> None:
        kind, broken = self.heard_as(method, params), self.broken
        number = self.count(f"in {kind}")
        upon = broken.what if broken is not None and broken.concerns("upon", kind, number) else ""
        if upon and upon not in _COMPLETIONS:
            self.does(upon)
        if broken is None or not broken.concerns("deaf", kind, number):
            super().notify(method, params)
        if upon in _COMPLETIONS:
            self._completes(upon)

    def heard_as(self, method: str, params: dict[str, Any]) -> str:
        """The kind of what comes in, which is counted."""
        raise NotImplementedError

    def count(self, kind: str) -> int:
        """One more of this kind: which it is."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return self.counts[kind]

    # ---- calls ----

    def reset(self, config: dict[str, Any]) -> None:
        self.forget()
        if self.broken is not None and self.broken.verb == "config":
            config = {**config, self.broken.kind: int(config[self.broken.kind]) * _number(self.broken) // 100}
        super().reset(config)
        if self.broken is not None and self.broken.verb in ("say", "tell"):
            self.later.append((_number(self.broken), self._told if self.broken.verb == "tell" else self.said))

    def said(self) -> None:
        """Send the message that nobody asked for."""
        raise NotImplementedError

    def does(self, what: str) -> None:
        """Do something on the wire that nothing asked for and that is no message."""

    def _told(self) -> None:
        broken = self.broken
        assert broken is not None
        if broken.kind == "wire":
            self.does(broken.what)
        elif broken.kind == "error":
            self._tell("error", {"vi": self._vi, "code": "VIP_ERROR_CONN_LOST"})
        else:
            self._completes(broken.what, broken.kind)

    def _completes(self, what: str, queue: str = "recv") -> None:
        """A Descriptor completes of no cause: good, bad, or with the Message that was heard last."""
        told = {"vi": self._vi, "queue": queue, "status": [_DONE] if what != "bad" else [_DONE, _ERROR], "length": 0,
                "immediate": None}  # fmt: skip
        data = self.heard() if what == "heard" else None
        if data is not None and self._posted.get(self._vi):
            buffer = self._posted[self._vi].pop(0)
            super().request("mem.write", {"mem": buffer["mem"], "offset": buffer.get("offset", 0), "hex": data.hex()})
            told["length"] = len(data)
        self._tell("completion", told)

    def heard(self) -> Optional[bytes]:
        """The bytes of the Send that was heard last."""
        return None

    def _tell(self, method: str, params: dict[str, Any]) -> None:
        self.inbox.append(Notification(method, params, self.now_us, self.now_us))

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        number, broken = self.count(f"call {method}"), self.broken
        if broken is not None and broken.concerns("ignore", method, number):
            return Reply(method, True, {"return": "VIP_SUCCESS"})
        reply = super().request(method, params)
        if broken is None or method in ("hello", "reset"):
            return reply
        if method == "VipCreateVi":
            self._vi = int(reply.result.get("vi", self._vi))
        elif method == "VipPostRecv" and params["descriptor"].get("segments"):
            self._posted.setdefault(int(params["vi"]), []).append(params["descriptor"]["segments"][0])
        if broken.concerns("upon", method, number):
            self.does(broken.what)
        if broken.concerns("never", method, number):
            return Reply(method)
        if broken.concerns("early", method, number) and not reply.done:
            return Reply(method, True, {"return": broken.value, "conn": _NOBODY, "RemoteAddr": params.get("LocalAddr", {})})
        if broken.kind == method and broken.verb in ("ret", "member"):
            self._watch(reply, number)
        return reply

    def _watch(self, reply: Reply, number: int) -> None:
        """Alter the answer, as soon as there is one."""
        broken = self.broken
        assert broken is not None
        once = broken.verb == "ret" or broken.what.endswith("!")
        if (number not in broken.nth) if once else (broken.nth and number < broken.nth[0]):
            self._before = reply
            return
        if reply.done:
            self._alter(reply)
        else:
            self._waiting.append(reply)

    @property
    def _waiting(self) -> list[Reply]:
        found: list[Reply] = self.__dict__.setdefault("_waits", [])
        return found

    def _answer(self, token: int, result: Optional[dict[str, Any]], error: Optional[tuple[int, str]]) -> None:
        reply = self._replies[token]
        super()._answer(token, result, error)
        if any(one is reply for one in self._waiting):
            self._waiting[:] = [one for one in self._waiting if one is not reply]
            self._alter(reply)

    def _alter(self, reply: Reply) -> None:
        broken = self.broken
        if broken is None or reply.error is not None:
            return
        if broken.verb == "ret":
            reply.result = {**reply.result, "return": broken.value}
            return
        name = broken.what.rstrip("!")
        if broken.value == "before":
            before = self._before.result if self._before is not None else {}
            reply.result = {**reply.result, **{one: value for one, value in before.items() if one == name}}
        elif name in reply.result:
            reply.result = {**reply.result, name: _altered(reply.result[name], broken.value)}

    # ---- time ----

    def advance(self, us: int) -> None:
        target = self.now_us + us
        while self.later:
            due, act = first = min(self.later, key=lambda one: one[0])
            if due > target:
                break
            self.later.remove(first)
            super().advance(max(0, due - self.now_us))
            act()
        super().advance(target - self.now_us)
        if self.later:
            wait = max(0, min(due for due, _ in self.later) - self.now_us)
            self.next_us = wait if self.next_us is None else min(self.next_us, wait)
        if self.broken is not None and self.broken.verb == "timer":
            self.next_us = None

    # ---- notifications ----

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        broken = self.broken
        if method not in ("completion", "error", "state"):
            super()._emit(method, params)
            return
        if method == "completion" and params["queue"] == "recv":
            params = self._took(params)
        verb, number = "done" if method == "completion" else method, self.count(f"told {method}")
        if broken is None or not broken.concerns(verb, method, number):
            super()._emit(method, params)
            return
        for told in _notified(broken, params):
            super()._emit(method, told)

    def _took(self, params: dict[str, Any]) -> dict[str, Any]:
        """A receive Descriptor has completed: keep what came first, or let it come once more in the place of this one."""
        posted, broken, vi = self._posted.get(params["vi"]), self.broken, params["vi"]
        if not posted or broken is None or broken.verb not in ("upon", "done"):
            return params
        buffer = posted.pop(0)
        if any(name.endswith("_ERROR") for name in params["status"]):
            return params
        where = {"mem": buffer["mem"], "offset": buffer.get("offset", 0)}
        if vi not in self._delivered:
            read = RefDut.request(self, "mem.read", {**where, "length": params["length"]})
            self._delivered[vi] = bytes.fromhex(read.result.get("hex", ""))
        elif broken.what == "again" and broken.concerns("done", "completion", self.counts.get("told completion", 0) + 1):
            RefDut.request(self, "mem.write", {**where, "hex": self._delivered[vi].hex()})
            return {**params, "length": len(self._delivered[vi])}
        return params


def _number(broken: Break) -> int:
    assert isinstance(broken.value, int)
    return broken.value


def _notified(broken: Break, params: dict[str, Any]) -> list[dict[str, Any]]:
    """What is told instead."""
    if broken.what in ("none", "again"):
        return [params] if broken.what == "again" else []
    if broken.what == "twice":
        return [params, params]
    if broken.what in ("good", "bad"):
        rest = [name for name in params["status"] if not name.endswith("_ERROR") and name != _DONE]
        return [{**params, "status": [_DONE, *rest, *([] if broken.what == "good" else [_ERROR])]}]
    if broken.what == "other":
        return [{**params, "status": [*(name for name in params["status"] if name != _ERROR), "VIP_STATUS_PROTECTION_ERROR"]}]
    if broken.what == "undone":
        return [{**params, "status": [name for name in params["status"] if name != _DONE]}]
    if broken.what == "length":
        return [{**params, "length": params["length"] + 1}]
    if broken.what == "immediate":
        return [{**params, "immediate": 0x5A5A5A5A if params.get("immediate") is None else params["immediate"] ^ 1}]
    return [{**params, broken.what: broken.value}]


def _altered(value: Any, how: Any) -> Any:
    """A member of an answer: another in its place, or the same with a difference."""
    if isinstance(how, tuple):
        instead_of, told = how
        return told if value == instead_of else value
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str) and value:
        digits = len(value) - 1 if how == "last" else 0
        other = "1" if value[digits] == "0" else "0"
        return value[:digits] + other + value[digits + 1 :]
    if isinstance(value, dict):
        return {name: _altered(one, how) for name, one in value.items()} if how is None else {
            name: _altered(one, None) if name == how else one for name, one in value.items()
        }
    return value


__all__ = ["BrokenCalls"]
