"""Two devices at one link whose clocks differ: the time of one that is virtual passes as that of the wall does.

A device with a real clock cannot wait. Whoever stands beside it is told of the time as it passes, and looked after as soon as the
other one has said something.
"""

from __future__ import annotations

import select
import time
from typing import Any, Optional

from .attachment import Dut, Reply, WrappedDut

_TICK_US = 2_000  # between two looks at a device that does not tell when its next timer fires


def in_step(dut: Dut, far: Dut) -> Dut:
    """The device as it is to be driven beside the other one, which it has as its ``far``."""
    if far.clock == "real" and dut.clock == "virtual":
        dut = PacedDut(dut)
    dut.far = far
    dut.look_at(far)
    return dut


class PacedDut(WrappedDut):
    """A device with a virtual clock as one with a real clock."""

    def __init__(self, inner: Dut) -> None:
        super().__init__(inner)
        self._since = time.monotonic()
        self._beside: Optional[int] = None
        self._open: list[Reply] = []

    def _mirror(self) -> None:
        super()._mirror()
        self.clock = "real"

    def _take_times(self) -> None:
        self.now_us = self._inner.now_us

    def _wall_us(self) -> int:
        return int((time.monotonic() - self._since) * 1_000_000)

    def _catch_up(self) -> None:
        self._inner.advance(max(0, self._wall_us() - self._inner.now_us))
        self._take_times()

    def _heard(self) -> bool:
        return bool(self.inbox) or any(reply.done for reply in self._open)

    def look_at(self, far: Dut) -> None:
        self._beside = far.descriptor()

    def advance(self, us: int) -> None:
        end = self._wall_us() + us
        self._catch_up()
        while not self._heard():
            left = end - self._wall_us()
            if left <= 0:
                break
            due = self._inner.next_us if self._inner.knows_next else _TICK_US
            wait_s = (left if due is None else min(left, max(1, due))) / 1_000_000
            beside = [] if self._beside is None else [self._beside]
            other = select.select(beside, [], [], wait_s)[0]
            self._catch_up()
            if other:
                break
        self._open = [reply for reply in self._open if not reply.done]

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        self._catch_up()
        reply = self._inner.request(method, params)
        self._open.append(reply)
        return reply

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._catch_up()
        self._inner.notify(method, params)

    def send_frame(self, frame: Any) -> None:
        self._catch_up()
        self._inner.send_frame(frame)

    def reset(self, config: dict[str, Any]) -> None:
        self._inner.reset(config)
        self._open, self._since, self.now_us = [], time.monotonic(), 0
