"""Holds what a DUT did with Messages of which something was lost, repeated or late, whatever it is free to do with them.

Receive Descriptors are posted beforehand, each with a buffer of its own that starts as A5h. A Descriptor that completes
without error has to hold a Message exactly as it was sent. Each comes once and in the order of FCVI_MSG_ID: judged on
reliable levels, noted on Unreliable Delivery. Which Descriptor a Message takes, and how many the lost ones take, is the
DUT's affair (Annex B is one way of several, B.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable

from fcvi.fc.message import Message
from fcvi.fc.scenario import Scenario
from fcvi.engine.upper_tester import Completion

from .connection import Setup
from .messages import Sent, memory, post, register, reliable

UNTOUCHED = 0xA5
GUARD = 16  # bytes behind each buffer, which nothing was posted of


@dataclass(frozen=True)
class Snapshot:
    """The memory that only a Message may change, and how many Descriptors had completed when it was read."""

    completed: int
    memory: bytes


class Pool:
    """The receive Descriptors of one VI, and the memory that RDMA Writes go to."""

    def __init__(self, t: Scenario, setup: Setup, count: int, length: int) -> None:
        """Post count Descriptors of length bytes; for RDMA Writes the buffers are slots of one region."""
        self._t, self._vi, self._length = t, setup.vi, length
        self._write = t.params["op"] == "rdma-write"
        self.target = register(t, count * length, write=True) if self._write else None
        self._stride = length + GUARD
        self._memory = register(t, count * self._stride)  # a buffer is a part of it, with a guard behind it
        self._posted = count
        self.taken: list[Completion] = []  # in order: the nth is that of the nth buffer
        self.delivered: list[int] = []  # FCVI_MSG_IDs of Messages that completed without error
        self.failed = 0  # Descriptors that completed in error
        self.failed_us = 0  # when the first did, at the earliest
        for index in range(count):
            post(t, setup.vi, "recv", self._memory, length=length, offset=index * self._stride)

    def message(self, number: int, data: bytes) -> Message:
        """A Message of this variant's operation; an RDMA Write goes to a slot of its own and says so by Immediate Data."""
        if self.target is None:
            return Message("send", number, data)
        slot = (number % (self.target.length // self._length)) * self._length
        return Message(
            "rdma-write", number, data, immediate=0xC0DE0000 | number & 0xFFFF, va=self.target.va + slot,
            region=self.target.handle,
        )  # fmt: skip

    def look(self, sent: Iterable[Sent], requirement: str = "FCVI-5.2.1-10") -> None:
        """Take the completions that have come: each good one is one of these Messages, whole and in order."""
        by_number = {s.message.number: s.message for s in sent}
        while done := next((c for c in self._t.completions if c.vi == self._vi and c.queue == "recv"), None):
            self._t.completions.remove(done)  # more may come while the suite reads memory
            if len(self.taken) == self._posted:
                self._t.report(requirement, "more receive Descriptors completed than were posted", "one more", "none")
                continue
            self.taken.append(done)
            self._guarded()
            if done.good:
                self._identify(done, by_number, requirement)
            else:
                self.failed_us = self.failed_us if self.failed else done.earliest_us
                self.failed += 1

    def _identify(self, done: Completion, sent: dict[int, Message], requirement: str) -> None:
        seen = self._holds(done)
        numbers = [n for n, m in sent.items() if self._matches(m, done, seen)]
        if not self._t.require(
            bool(numbers), requirement, "a receive Descriptor completed without error but holds no Message as it was sent",
            f"{done.length} bytes {seen[:8].hex()}...", "a whole Message, or an error status",
        ):  # fmt: skip
            return
        last = self.delivered[-1] if self.delivered else -1
        twice, order = ("FCVI-8.4.1-c", "FCVI-8.4.1-01") if reliable(self._t) else ("FCVI-B-R5a-b", "FCVI-B-R4a-a")
        self._t.require(
            numbers[0] not in self.delivered, twice, f"Message {numbers[0]} was delivered twice", "twice", "once"
        )
        self._t.require(
            numbers[0] >= last, order, "Messages were delivered out of order", f"{numbers[0]} after {last}",
            "rising FCVI_MSG_ID",
        )  # fmt: skip
        self.delivered.append(numbers[0])

    def _holds(self, done: Completion) -> bytes:
        if self.target is None:
            offset = (len(self.taken) - 1) * self._stride
            return memory(self._t, self._memory, min(done.length, self._length), offset)
        return b"" if done.immediate is None else done.immediate.to_bytes(4, "big")

    def _matches(self, message: Message, done: Completion, seen: bytes) -> bool:
        if message.op == "send":
            return done.length == len(message.data) and seen == message.data
        return done.immediate == message.immediate and self.written(message) == message.data

    def written(self, message: Message) -> bytes:
        """What the memory that this RDMA Write goes to holds now."""
        assert self.target is not None
        return memory(self._t, self.target, len(message.data), message.va - self.target.va)

    def contents(self) -> Snapshot:
        """What only a Message may change: the target, the guards, and buffers whose Descriptors have completed by now.

        A device may use a buffer that is posted as it likes until its Descriptor completes (VI-DG 5.5).
        """
        fresh = [c for c in self._t.completions if c.vi == self._vi and c.queue == "recv"]
        completed = len(self.taken) + len(fresh)
        return Snapshot(completed, self._owned_by_nobody(completed))

    def _owned_by_nobody(self, completed: int) -> bytes:
        seen = memory(self._t, self._memory)
        slots = [seen[at : at + self._stride] for at in range(0, len(seen), self._stride)]
        kept = [slot if n < completed else slot[self._length :] for n, slot in enumerate(slots)]
        return b"".join(kept) + (memory(self._t, self.target) if self.target is not None else b"")

    def _guarded(self) -> None:
        """Nothing was written behind what was posted with the Descriptor that has just completed."""
        behind = (len(self.taken) - 1) * self._stride + self._length
        guard = memory(self._t, self._memory, GUARD, behind)
        self._t.require(guard == bytes([UNTOUCHED]) * GUARD, "FCVI-6.2.1-01", "bytes behind a posted buffer were written",
                        guard.hex(), "a5 in each")  # fmt: skip

    def untouched(self, requirement: str, before: Snapshot, why: str) -> None:
        """Nothing of it has changed since, and nothing has completed."""
        t = self._t
        now = self._owned_by_nobody(before.completed)
        changed = next((i for i, (a, b) in enumerate(zip(before.memory, now)) if a != b), None)
        t.require(changed is None, requirement, f"a buffer was written {why}", f"at offset {changed} of all buffers", "no change")
        fresh = [c for c in t.completions if c.vi == self._vi and c.queue == "recv" and c.good]
        t.require(not fresh, requirement, f"a receive Descriptor completed without error {why}", len(fresh), "none")
