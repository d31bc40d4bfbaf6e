"""Shows a device with a virtual clock as one with a real clock: a book in real time takes as long as its computation.

Its time passes as it does at a device on one socket (dut/rpc.py): a wait ends as soon as something has come and what belongs to it
has followed, and a device that was told something is listened to for a moment.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from fcvi.dut.rpc import ASKED_US, QUIET_US
from fcvi.engine.attachment import Dut, Reply, WrappedDut
from fcvi.engine.results import Result
from fcvi.engine.runner import RunOptions, _Worker
from fcvi.engine.pixit import Pixit, pixit_for
from fcvi.engine.target import parse

from conformance.tests.variants import LEVELS


class RealDut(WrappedDut):
    """waited_us: by kind, what passed in all: "asked" after something was told, "silence", and until something "came"."""

    def __init__(self, inner: Dut) -> None:
        self._open: list[Reply] = []
        self._stirred = True
        self.waited_us: Counter[str] = Counter()
        super().__init__(inner)

    def _mirror(self) -> None:
        super()._mirror()
        self.clock = "real"

    def _take_times(self) -> None:
        self.now_us, self.next_us, self.knows_next = self._inner.now_us, None, False

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        self._stirred = True
        reply = self._inner.request(method, params)
        self._open.append(reply)
        self._take_times()
        return reply

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._stirred = True
        self._inner.notify(method, params)
        self._take_times()

    def _heard(self) -> bool:
        return bool(self.inbox) or any(reply.done for reply in self._open)

    def _until_heard(self, us: int) -> bool:
        inner = self._inner
        end = inner.now_us + us
        while not self._heard() and inner.now_us < end:
            due = inner.next_us if inner.knows_next and inner.next_us is not None else us
            inner.advance(min(end - inner.now_us, max(1, due)))
        return self._heard()

    def advance(self, us: int) -> None:
        inner, since = self._inner, self._inner.now_us
        self._open = [reply for reply in self._open if not reply.done]
        inner.advance(0)
        if us == 0:
            kind = "asked"
            if self._stirred:
                inner.advance(ASKED_US)
            self._stirred = False
        elif self._until_heard(us):
            kind, self._stirred = "came", True
            inner.advance(QUIET_US)
        else:
            kind = "silence"
        self.waited_us[kind] += inner.now_us - since
        self._take_times()

    def reset(self, config: dict[str, Any]) -> None:
        self._open, self._stirred = [], True
        self._inner.reset(config)
        self._take_times()


def worker(dut: Dut, pixit: Pixit = pixit_for("real"), **options: Any) -> _Worker:
    """What runs cases on it, as ``fcvi run`` does."""
    return _Worker(dut, dut.pics, pixit, LEVELS, RunOptions(parse("ref"), **options))


def run_all(dut: Dut, chosen: list[Any]) -> list[Result]:
    """The results of these variants, one after the other on one attachment."""
    of = worker(dut)
    return [of.run(case, variant) for case, variant in chosen]
