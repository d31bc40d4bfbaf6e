"""Says what the control plane of a broken device does otherwise: calls, answers and notifications. Each wire adds its own."""

from __future__ import annotations

from typing import Any, Callable, Optional

from fcvi.dut.ref import RefDut
from fcvi.engine.attachment import Notification, Reply

from .breaks import Break

_DONE, _ERROR = "VIP_STATUS_DONE", "VIP_STATUS_TRANSPORT_ERROR"

_NOBODY = 0x7FFF  # the number of a connection that there is not


class BrokenCalls(RefDut):
    """The reference port with one thing broken, which ``broken`` says; a device is used for one after the other."""

    broken: Optional[Break] = None

    def __init__(self, spec: str, edition: str = "2007") -> None:
        self.counts: dict[str, int] = {}
        self.later: list[tuple[int, Callable[[], None]]] = []  # what is due, and when
        self._vi = 0
        self._before: dict[str, Any] = {}  # the last answer that was right
        super().__init__(spec, edition)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        kind, broken = self.heard_as(method, params), self.broken
        number = self.count(f"in {kind}")
        if broken is None or not broken.concerns("deaf", kind, number):
            super().notify(method, params)

    def heard_as(self, method: str, params: dict[str, Any]) -> str:
        """The kind of what comes in, which is counted."""
        raise NotImplementedError

    def count(self, kind: str) -> int:
        """One more of this kind: which it is."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return self.counts[kind]

    # ---- calls ----

    def reset(self, config: dict[str, Any]) -> None:
        self.counts.clear()
        self.later.clear()
        self._vi, self._before = 0, {}
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
            status = [_DONE] if broken.what == "good" else [_DONE, _ERROR]
            told = {"vi": self._vi, "queue": broken.kind, "status": status, "length": 0, "immediate": None}
            self._tell("completion", told)

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
        if (number not in broken.nth) if broken.verb == "ret" else (broken.nth and number < broken.nth[0]):
            self._before = reply.result
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
        elif broken.value == "before":
            reply.result = {**reply.result, **{name: value for name, value in self._before.items() if name == broken.what}}
        elif broken.what in reply.result:
            reply.result = {**reply.result, broken.what: _altered(reply.result[broken.what], broken.value)}

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
        verb, number = "done" if method == "completion" else method, self.count(f"told {method}")
        if broken is None or not broken.concerns(verb, method, number):
            super()._emit(method, params)
            return
        for told in _notified(broken, params):
            super()._emit(method, told)


def _number(broken: Break) -> int:
    assert isinstance(broken.value, int)
    return broken.value


def _notified(broken: Break, params: dict[str, Any]) -> list[dict[str, Any]]:
    """What is told instead."""
    if broken.what == "none":
        return []
    if broken.what == "twice":
        return [params, params]
    if broken.what in ("good", "bad"):
        rest = [name for name in params["status"] if not name.endswith("_ERROR") and name != _DONE]
        return [{**params, "status": [_DONE, *rest, *([] if broken.what == "good" else [_ERROR])]}]
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
