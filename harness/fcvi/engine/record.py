"""Keeps what passed between the suite and a DUT, so that a verdict can be computed again without the DUT.

One entry for each operation: what the suite asked, and what the device had said by the end of it. That order is all a
case can see, whatever the transport and the clock. Nobody changes params and results once they were handed over, so they
are kept as they are.
"""

from __future__ import annotations

import itertools
from typing import Any

from .pixit import Pixit
from .attachment import Dut, DutError, Reply, Unavailable

Entry = dict[str, Any]


class RecordingDut(Dut):
    """Passes every operation on to a device and notes it."""

    def __init__(self, inner: Dut) -> None:
        super().__init__()
        self._inner = inner
        self.inbox = inner.inbox
        self._entries: list[Entry] = []
        self._open: list[tuple[int, Reply]] = []
        self._number = 0
        self._known = 0
        self._mirror()

    def _mirror(self) -> None:
        inner = self._inner
        self.spec, self.implementation, self.version = inner.spec, inner.implementation, inner.version
        self.clock, self.pics = inner.clock, inner.pics
        self._see()

    def _see(self) -> None:
        self.now_us, self.next_us, self.knows_next = self._inner.now_us, self._inner.next_us, self._inner.knows_next

    def take(self) -> list[Entry]:
        """What was noted since the last call of this method."""
        taken, self._entries, self._open = self._entries, [], []
        return taken

    def _begin(self, entry: Entry) -> Entry:
        self._known = len(self.inbox)
        self._entries.append(entry)
        return entry

    def _end(self, entry: Entry) -> None:
        self._see()
        entry["now"] = self.now_us
        if self.knows_next:
            entry["next"] = self.next_us
        if len(self.inbox) > self._known:
            entry["notes"] = [
                [n.method, n.params, n.earliest_us, n.time_us]
                for n in itertools.islice(self.inbox, self._known, None)
            ]
        done = [[number, _answer(reply), reply.time_us] for number, reply in self._open if reply.done]
        if done:
            entry["done"] = done
            self._open = [(number, reply) for number, reply in self._open if not reply.done]

    def _failed(self, entry: Entry, error: Exception) -> None:
        self._end(entry)
        entry["unavailable" if isinstance(error, Unavailable) else "error"] = str(error)

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        self._number += 1
        entry = self._begin({"op": "request", "n": self._number, "method": method, "params": params})
        try:
            reply = self._inner.request(method, params)
        except (DutError, Unavailable) as error:
            self._failed(entry, error)
            raise
        self._open.append((self._number, reply))
        self._end(entry)
        return reply

    def notify(self, method: str, params: dict[str, Any]) -> None:
        entry = self._begin({"op": "notify", "method": method, "params": params})
        try:
            self._inner.notify(method, params)
        except (DutError, Unavailable) as error:
            self._failed(entry, error)
            raise
        self._end(entry)

    def advance(self, us: int) -> None:
        entry = self._begin({"op": "advance", "us": us})
        try:
            self._inner.advance(us)
        except (DutError, Unavailable) as error:
            self._failed(entry, error)
            raise
        self._end(entry)

    def reset(self, config: dict[str, Any]) -> None:
        self._open = []
        self._number = 0
        entry = self._begin({"op": "reset", "params": config})
        self._known = 0
        try:
            self._inner.reset(config)
        except (DutError, Unavailable) as error:
            self._known = min(self._known, len(self.inbox))
            self._failed(entry, error)
            raise
        self._end(entry)

    def settled(self, pixit: Pixit) -> Pixit:
        return self._inner.settled(pixit)

    def restart(self) -> None:
        self._inner.restart()
        self._mirror()

    def close(self) -> None:
        self._inner.close()


def _answer(reply: Reply) -> dict[str, Any]:
    if reply.error is not None:
        return {"error": list(reply.error)}
    return {"result": reply.result}
