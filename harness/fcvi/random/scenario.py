"""The scenario in which a word is played: a case's, with the longest times that any conforming device may take."""

from __future__ import annotations

from collections import Counter
from typing import Any, Optional, Sequence

from fcvi.engine.results import Finding
from fcvi.fc.scenario import Scenario
from fcvi.engine.upper_tester import Call, Completion
from fcvi.fc.received import Exchange, Received

_POSTS = {"VipPostSend": "send", "VipPostRecv": "recv"}


class _Counted(list[Completion]):
    """Completions, and how many of each queue came in all."""

    def __init__(self) -> None:
        super().__init__()
        self.by_queue: Counter[tuple[int, str]] = Counter()
        self.all: list[Completion] = []

    def append(self, completion: Completion) -> None:
        self.by_queue[completion.vi, completion.queue] += 1
        self.all.append(completion)
        super().append(completion)


class WordScenario(Scenario):
    """An answer may take R_A_TOV (8.3) and a call twice that, unless a step says otherwise."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.counted = _Counted()
        self.completions = self.counted
        self.posted: Counter[tuple[int, str]] = Counter()
        self.invariants: list[Finding] = []
        self.shaken: list[tuple[int, int]] = []  # frames between a link event and rest, as parts of the trace

    def expect(
        self, kinds: str | Sequence[str], requirement: str, *, exchange: Optional[Exchange] = None,
        within_us: Optional[int] = None, why: str = "",
    ) -> Received:  # fmt: skip
        longest = self.r_a_tov_us + self.pixit.late_us
        limit = longest if within_us is None else max(within_us, longest)
        return super().expect(kinds, requirement, exchange=exchange, within_us=limit, why=why)

    def finish(
        self, call: Call, requirement: str, within_us: Optional[int] = None, returns: Optional[str | Sequence[str]] = None
    ) -> str:
        longest = 2 * self.r_a_tov_us + self.pixit.late_us
        return super().finish(call, requirement, longest if within_us is None else max(within_us, longest), returns)

    def start(self, method: str, **params: Any) -> Call:
        queue = _POSTS.get(method)
        if queue is not None:  # before the call: what it completes may be told before it returns
            self.posted[params["vi"], queue] += 1
        call = super().start(method, **params)
        if queue is not None and call.done and call.reply.result.get("return") != "VIP_SUCCESS":
            self.posted[params["vi"], queue] -= 1
        return call

    def breach(self, requirement: str, message: str, seen: str, required: str) -> None:
        """An invariant does not hold."""
        self.invariants.append(Finding(requirement, "behaviour", message, seen, required, None, None, None, None, self.now_us))
