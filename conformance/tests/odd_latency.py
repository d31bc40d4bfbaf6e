"""Odd but conforming devices whose planes lie behind a latency of their own: calls and what they report, and the frames.

Within a plane everything comes in its right order. No clause puts an order between the planes (E121, E123).
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, Callable

from fcvi.engine.attachment import Dut, Notification, Reply
from fcvi.fc import codec
from fcvi.fc.received import kind_of

MS = 1_000
SECOND = 1_000 * MS


def _of_the_wire(method: str) -> bool:
    return method == "frame" or method.startswith("stream.")


@dataclass(frozen=True)
class Latency:
    """How late each plane is: from so much to so much, drawn for each item."""

    name: str
    control_us: tuple[int, int] = (0, 0)  # returns, completions, callbacks and states
    wire_us: tuple[int, int] = (0, 0)  # frames of the device
    heard_us: tuple[int, int] = (0, 0)  # frames of the tester
    begun_us: dict[str, int] = field(default_factory=dict)  # by method: how long after the call the port begins
    said_us: dict[str, int] = field(default_factory=dict)  # by kind of frame or method: so much later than the rest


class LatentDut(Dut):
    """A device with a virtual clock behind these latencies."""

    def __init__(self, inner: Dut, latency: Latency) -> None:
        super().__init__()
        self._inner, self._latency = inner, latency
        self.spec = f"{inner.spec} behind {latency.name}"
        self.implementation, self.version, self.clock = inner.implementation, inner.version, inner.clock
        self.pics = inner.pics
        self.knows_next = True
        self._forget()

    def _forget(self) -> None:
        self._rng = random.Random(self._latency.name)
        self._due: list[tuple[int, int, Callable[[int], None]]] = []
        self._last: dict[str, int] = {}  # by plane and direction: when its last item is due
        self._number = 0
        self._open: list[tuple[Reply, Reply]] = []  # of the device, and what the suite holds of it
        self.inbox.clear()
        self.now_us = 0

    def reset(self, config: dict[str, Any]) -> None:
        self._inner.reset(config)
        self._forget()
        self._collect()

    def restart(self) -> None:
        self._inner.restart()
        self._forget()

    def close(self) -> None:
        self._inner.close()

    # ---- to the device ----

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        reply = Reply(method)

        def begin(_: int) -> None:
            self._open.append((self._inner.request(method, params), reply))
            self._collect()

        self._after(self._latency.begun_us.get(method, 0), begin)
        return reply

    def notify(self, method: str, params: dict[str, Any]) -> None:
        def hear(_: int) -> None:
            self._inner.notify(method, params)
            self._collect()

        self._later("heard", self._latency.heard_us if _of_the_wire(method) else (0, 0), 0, hear)

    # ---- from the device ----

    def _collect(self) -> None:
        while self._inner.inbox:
            note = self._inner.inbox.popleft()
            if _of_the_wire(note.method):
                self._say("wire", self._latency.wire_us, self._kind(note), note)
            else:
                self._say("control", self._latency.control_us, note.method, note)
        for pair in [pair for pair in self._open if pair[0].done]:
            self._open.remove(pair)
            self._return(*pair)

    def _kind(self, note: Notification) -> str:
        return kind_of(codec.decode(bytes.fromhex(note.params["hex"]))) if self._latency.said_us else ""

    def _say(self, plane: str, bounds: tuple[int, int], kind: str, note: Notification) -> None:
        def deliver(due: int) -> None:
            self.inbox.append(Notification(note.method, note.params, due, due))

        self._later(plane, bounds, self._latency.said_us.get(kind, 0), deliver)

    def _return(self, of_device: Reply, reply: Reply) -> None:
        def deliver(due: int) -> None:
            reply.done, reply.result, reply.error, reply.time_us = True, of_device.result, of_device.error, due

        self._later("control", self._latency.control_us, self._latency.said_us.get(reply.method, 0), deliver)

    # ---- time ----

    def _later(self, plane: str, bounds: tuple[int, int], more: int, act: Callable[[int], None]) -> None:
        now = self._inner.now_us
        due = max(now + self._rng.randint(*bounds) + more, self._last.get(plane, 0))
        self._last[plane] = due
        self._after(due - now, act)

    def _after(self, us: int, act: Callable[[int], None]) -> None:
        if us == 0:
            act(self._inner.now_us)
        else:
            self._number += 1
            heappush(self._due, (self._inner.now_us + us, self._number, act))

    def advance(self, us: int) -> None:
        end = self.now_us + us
        while True:
            due = min([end, *(entry[0] for entry in self._due[:1])])
            self._inner.advance(max(0, due - self._inner.now_us))
            self._collect()
            if not self._due or self._due[0][0] > end:
                break
            heappop(self._due)[2](due)
        if self._inner.now_us < end:
            self._inner.advance(end - self._inner.now_us)
            self._collect()
        self.now_us = self._inner.now_us
        known = [] if self._inner.next_us is None else [self._inner.next_us]
        self.next_us = min(known + [max(1, entry[0] - self.now_us) for entry in self._due[:1]], default=None)
        self.knows_next = self._inner.knows_next
