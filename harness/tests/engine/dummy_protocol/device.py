"""The device of the dummy standard: a counter and an alarm, in virtual time. ``counter:stuck`` never counts beyond 1."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.engine.attachment import Dut, Reply


class Counter(Dut):
    """It answers two calls: Count, at once, and Alarm, when its time has come."""

    def __init__(self, spec: str) -> None:
        super().__init__()
        self.spec, self.implementation, self.version, self.clock = spec, "counter", "1", "virtual"
        self.pics = {"counts": True}
        self.knows_next = True
        self._value = 0
        self._alarms: list[tuple[int, Reply]] = []

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        reply = Reply(method)
        if method == "Count":
            self._value += 1
            self._answer(reply, {"return": "DONE", "value": 1 if self.spec.endswith(":stuck") else self._value})
        elif method == "Alarm":
            self._alarms.append((self.now_us + int(params["after_us"]), reply))
        else:
            reply.done, reply.error = True, (-32601, "no such call")
        return reply

    def _answer(self, reply: Reply, result: dict[str, Any]) -> None:
        reply.done, reply.result, reply.time_us = True, result, self.now_us

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """There is nothing that it could be told."""

    def advance(self, us: int) -> None:
        self.now_us += us
        for due, reply in [alarm for alarm in self._alarms if alarm[0] <= self.now_us]:
            self._answer(reply, {"return": "DONE"})
            self._alarms.remove((due, reply))
        self.next_us: Optional[int] = min((due - self.now_us for due, _ in self._alarms), default=None)

    def reset(self, config: dict[str, Any]) -> None:
        self._value, self._alarms, self.now_us, self.next_us = 0, [], 0, None
        self.inbox.clear()

    def restart(self) -> None:
        """It cannot break."""

    def close(self) -> None:
        """Nothing to end."""
