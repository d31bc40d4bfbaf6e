"""The threads of the provider, which take turns: each goes on until it blocks, whoever moves the clock.

What may block is a generator. It yields what it waits for, and goes on when that holds or its time is up.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from dataclasses import dataclass
from typing import Any, Callable, Generator, Optional, TypeVar

from .clock import RealClock

T = TypeVar("T")


@dataclass
class Until:
    """What a thread waits for, and until when at the latest."""

    met: Callable[[], bool]
    due_us: Optional[int]


Steps = Generator[Until, None, T]
Job = Callable[[], Optional[Steps[None]]]


class Thread:
    """Jobs one after another; its number tells it from the others."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._jobs: deque[Job] = deque()
        self._steps: Optional[Steps[None]] = None
        self._until: Optional[Until] = None
        self._number: Optional[int] = None
        #: The call that it makes now.
        self.call: Optional[str] = None

    @property
    def number(self) -> int:
        """Given to it when somebody asks first."""
        if self._number is None:
            self._number = next(self._threads.numbers)
        return self._number

    def do(self, job: Job) -> None:
        """Have the job done behind those that are there."""
        self._jobs.append(job)
        if self not in self._threads.busy:
            self._threads.busy.append(self)

    @property
    def due_us(self) -> Optional[int]:
        """When it goes on at the latest; None: nobody knows."""
        return self._until.due_us if self._until is not None else None

    def turn(self) -> bool:
        """Go on as far as possible; whether it went on at all."""
        went = False
        while self._steps is not None or self._jobs:
            if self._until is not None and not self._goes_on(self._until):
                return went
            self._until, went = None, True
            if self._steps is None:
                self._steps = self._jobs.popleft()()
            if self._steps is not None:
                self._until = next(self._steps, None)
                if self._until is None:
                    self._steps = None
        return went

    def _goes_on(self, until: Until) -> bool:
        return until.met() or (until.due_us is not None and self._threads.clock.now_us() >= until.due_us)

    @property
    def idle(self) -> bool:
        """Whether it has nothing to do."""
        return self._steps is None and not self._jobs


class Threads:
    """All threads of one process, and what is to be done at a time."""

    def __init__(self, clock: RealClock) -> None:
        self.clock = clock
        self.numbers = itertools.count()
        self.main = Thread(self)
        self.current = self.main
        self.busy: list[Thread] = []
        #: The youngest of those that could go on goes first.
        self.last_first = False
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._count = itertools.count()

    def after(self, seconds: float, job: Callable[[], None]) -> None:
        """Do ``job`` later."""
        heapq.heappush(self._due, (self.clock.now_us() + int(seconds * 1e6), next(self._count), job))

    def until(self, met: Callable[[], bool], seconds: Optional[float]) -> Until:
        """To be yielded."""
        return Until(met, None if seconds is None else self.clock.now_us() + int(seconds * 1e6))

    def run(self) -> None:
        """Do all that can be done now."""
        again = True
        while again:
            again = False
            while self._due and self._due[0][0] <= self.clock.now_us():
                heapq.heappop(self._due)[2]()
                again = True
            for thread in self.busy[::-1] if self.last_first else list(self.busy):
                self.current = thread
                again = thread.turn() or again
            self.current = self.main
            self.busy = [thread for thread in self.busy if not thread.idle]

    def next_us(self) -> Optional[int]:
        """The time until something is due; None: nothing is."""
        dues: list[Any] = [thread.due_us for thread in self.busy if thread.due_us is not None]
        dues += [self._due[0][0]] if self._due else []
        return max(0, min(dues) - self.clock.now_us()) if dues else None
