"""The primitives of a case of VI/TCP: those of every case, and the lower tester on streams."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Optional, Sequence

from fcvi.engine import proof
from fcvi.engine.results import Finding, TraceFrame
from fcvi.engine.scenario import Failed, Inconclusive, Scenario as WireFree, Seen
from fcvi.engine.upper_tester import Call, Completion
from . import wire
from .control import shows
from .numbers import numbers_of
from .stream import Received, Stream
from .tester import Tester
from .watch import T0
from .wire import Pdu


class Scenario(WireFree):
    """One run of one case variant against one DUT, with a tester at the other end of every stream."""

    def __init__(self, *of_the_run: Any) -> None:
        super().__init__(*of_the_run)
        self.numbers = numbers_of("" if self.pixit.profile is None else self.pixit.profile.text)
        self.tester = Tester(self.dut, self.config, self.rng, self._noticed, self._found, self.numbers)

    # ---- time ----

    @property
    def nop_bound_us(self) -> int:
        """How long a NOP that has to come may take (V20)."""
        return int(self.config["nop_bound_us"]) + self.pixit.late_us

    def start(self, method: str, **params: Any) -> Call:
        self.tester.flush()
        return super().start(method, **params)

    def _advance(self, us: int) -> None:
        self.tester.flush()
        super()._advance(us)

    def _drain(self) -> bool:
        inbox, tester = self.dut.inbox, self.tester
        if not inbox:
            return False
        before = tester.answered
        while inbox:
            note = inbox.popleft()
            if tester.hears(note.method):
                tester.take_in(note)
            else:
                self._take_in(note)
        tester.flush()
        return tester.answered != before

    # ---- what the checks are about (proof.py) ----

    def sight(self, look: proof.Look) -> Optional[proof.Sight]:
        thing = look.thing
        if look.what == "peek":
            return proof.Sight("silence", ", ".join(wire.NAMES[kind] for kind in thing[0]), (), look.name)
        if isinstance(thing, Stream):
            return proof.Sight("stream", thing.by, (list(self.tester.streams.values()).index(thing) + 1,), look.name)
        if not isinstance(thing, Received):
            return super().sight(look)
        same = [one for one in self.tester.inbox if one.pdu.kind == thing.pdu.kind]
        return proof.Sight(look.what, thing.pdu.name, (next(n for n, one in enumerate(same, 1) if one is thing),), look.name)

    # ---- judging ----

    def report(
        self,
        requirement: str,
        message: str,
        seen: str,
        required: str,
        *,
        at: Optional[Seen] = None,
        byte: Optional[int] = None,
        bits: Optional[str] = None,
        erratum: Optional[str] = None,
    ) -> None:
        """Record a breach. One of a number that the draft never assigned is a breach of the profile and fails nobody."""
        if erratum is None and requirement in T0:
            erratum, message = T0[requirement], f"not the profile {self.numbers.name}: {message}"
        if byte is not None and bits is not None:
            byte, bits = self.numbers.place(byte, bits)
        super().report(requirement, message, seen, required, at=at, byte=byte, bits=bits, erratum=erratum)

    def _noticed(self, requirement: str, message: str, seen: object, required: object, **where: Any) -> None:
        """What the watch of a stream finds."""
        self.report(requirement, message, str(seen), str(required), **where)

    def _found(self, finding: Finding, at: Received) -> None:
        """What codec and monitor find in a PDU of the DUT."""
        super().report(finding.requirement, finding.message, finding.seen, finding.required, at=at, byte=finding.byte,
                       bits=finding.bits, erratum=finding.erratum if finding.cls == "notice" else None)

    # ---- the wire ----

    def on_purpose(self, *requirements: str) -> None:
        """From now on the tester breaks these, to see what the DUT makes of it: nothing else that it sends may break the draft."""
        self.tester.breaches.update(requirements)

    def peek(self, kinds: Iterable[int], stream: Optional[Stream] = None) -> Optional[Received]:
        """The oldest PDU of these types that no expectation has taken, if there is one."""
        kinds = list(kinds)
        one = self._peek(kinds, stream)
        if proof.ACTIVE is not None:
            if one is None:
                proof.ACTIVE.look("peek", (kinds, stream), "" if stream is None else stream.name)
            else:
                proof.ACTIVE.look("message", one)
        return one

    def _peek(self, kinds: Iterable[int], stream: Optional[Stream] = None) -> Optional[Received]:
        wanted = set(kinds)
        for one in self.tester.inbox:
            if not one.taken and one.pdu.kind in wanted and (stream is None or one.stream is stream):
                return one
        return None

    def expect(
        self,
        kinds: int | Sequence[int],
        requirement: str,
        *,
        stream: Optional[Stream] = None,
        within_us: Optional[int] = None,
        why: str = "",
    ) -> Received:
        """Take the next PDU of one of these types; its absence breaks the requirement and ends the case."""
        wanted, since = [kinds] if isinstance(kinds, int) else list(kinds), self.now_us
        limit = self.owed_us() if within_us is None else within_us
        self._within(lambda: self._peek(wanted, stream) is not None, within_us)
        one = self._peek(wanted, stream)
        names = " or ".join(wire.NAMES[kind] for kind in wanted)
        self._awaited(names, requirement, one)
        if one is None:
            self.absent(requirement, f"no {names} {why}".strip(), f"{names} within {limit} us", stream)
            raise AssertionError("unreachable")
        one.taken = True
        names_of = [wire.NAMES[kind] for kind in wanted]
        self.note("expect", requirement, proof.Look("message", one, ""), wanted=names_of, since_us=since)
        return one

    def awaited(self, words: str, requirement: str, came: Optional[Received]) -> None:
        """Note for the report what the case waited for, and what came."""
        self._awaited(words, requirement, came)

    def absent(self, requirement: str, message: str, required: str, stream: Optional[Stream] = None) -> None:
        """What had to come has not: the case ends. Half a PDU, or a type of another profile, are told apart."""
        half = self.tester.incomplete()
        if half is not None:
            seen = f"{len(half.rest)} bytes"
            seen += f" of {self.numbers.header(half.rest)[2]}" if len(half.rest) > 3 else ""
            self.fail("VITCP-3.1-11", "a PDU does not come whole: Segment Length is not its length", seen, required)
        if any(f.requirement == "VITCP-3.1-04" for f in self.findings):
            raise Inconclusive(f"the device does not speak profile {self.numbers.name} (V03): {message}")
        waiting = [str(r) for r in self.tester.inbox if not r.taken and (stream is None or r.stream is stream)]
        ended = f", and {stream.name} was closed by {stream.ended}" if stream is not None and stream.over else ""
        seen = "nothing" if not waiting else "only " + "; ".join(waiting[:4])
        self.fail(requirement, message, seen + ended, required)

    def expect_nothing(self, kinds: Sequence[int], for_us: int, requirement: str, why: str, stream: Optional[
            Stream] = None) -> None:
        """None of these PDUs arrives for a time."""
        since = self.now_us
        self.until(lambda: self._peek(kinds, stream) is not None, for_us)
        one = self._peek(kinds, stream)
        on = "" if stream is None else stream.name
        self.note("expect_nothing", requirement, proof.Look("peek", (kinds, stream), on), since_us=since)
        self._awaited("no " + " or ".join(wire.NAMES[kind] for kind in kinds), requirement, one, silence=True)
        if one is not None:
            one.taken = True
            self.report(requirement, f"{one.pdu.name} {why}", str(one), "none", at=one)

    def expect_stream(self, requirement: str, within_us: Optional[int] = None) -> Stream:
        """The DUT asks for a TCP connection to the tester's port; its absence ends the case."""
        limit, since = self.owed_us() if within_us is None else within_us, self.now_us
        opened = self.tester.opened
        self._within(lambda: bool(opened), within_us)
        if not opened:
            self.fail(requirement, "no TCP connection is asked for", "nothing", f"one within {limit} us")
        self.note("expect_stream", requirement, proof.Look("stream", opened[0], "open"), since_us=since)
        return opened.popleft()

    def expect_end(self, stream: Stream, requirement: str, within_us: Optional[int] = None, why: str = "") -> bool:
        """The DUT closes the stream, by FIN or RST (V43)."""
        limit = self.owed_us() if within_us is None else within_us
        self._within(lambda: stream.over, within_us)
        if proof.ACTIVE is not None:
            proof.ACTIVE.look("stream", stream, "end")
        return self.require(stream.over, requirement, f"TCP is not closed {why}".strip(), "open", f"FIN or RST within {limit} us")

    def send(self, stream: Stream, pdu: Pdu) -> None:
        """Send one PDU to the DUT."""
        self.tester.send(stream, pdu)

    def _within(self, holds: Callable[[], bool], within_us: Optional[int]) -> None:
        """Wait for so long, or for the time of an answer."""
        if within_us is None:
            self.owed(holds)
        else:
            self.until(holds, within_us)

    def owed(self, holds: Callable[[], bool], answers: int = 1) -> bool:
        """What the DUT has not let the tester send yet, it cannot answer: while it takes bytes, its time begins anew."""
        while (left := self.tester.waiting) > 0:
            if not self.until(lambda: holds() or self.tester.waiting < left, self.owed_us(answers)):  # noqa: B023
                return False
            if holds():
                return True
        return super().owed(holds, answers)

    def open(self, **where: Any) -> Stream:
        """Open a TCP connection to the DUT's port; what the DUT says to it the case has to look at."""
        stream = self.tester.open(**where)
        self.settle()
        return stream

    def completed(self, vi: int, queue: str, count: int = 1) -> list[Completion]:
        """The completions of a queue so far, if there are so many; else none."""
        found = [c for c in self.completions if c.vi == vi and c.queue == queue]
        return found if len(found) >= count else []

    # ---- the end ----

    def conclude(self) -> None:
        super().conclude()
        for stream in self.tester.streams.values():
            for message in stream.watch.messages:
                self._whole_without_end(message)

    def _whole_without_end(self, message: Any) -> None:
        """A message that has come whole by its RDMA Length has its End of Message, or gets it in an empty segment."""
        rdma = message.first.pdu.rdma
        if message.ended or message.broken or rdma is None:
            return
        wanted = rdma[2] if message.kind == wire.WRITE else message.first.stream.watch.known.reads.get(message.number)
        if wanted is not None and len(message.payload) >= wanted:
            self.owed(lambda: bool(message.ended or message.broken))
        if wanted is not None and len(message.payload) >= wanted and not message.ended:
            self.report("VITCP-3.1-07", "the last segment lacks End of Message", "0", "1", at=message.first, byte=1, bits="1-1")

    def reconsider(self) -> None:
        """A device that has another profile, or none, is not accused."""
        found, checked, refused = len(self.findings), set(self.checked), self.refused
        if not self.tester.shown and not shows(self):
            self.doubt = f"the device has not shown that it speaks profile {self.numbers.name} (V03)"
        del self.findings[found:]  # what the control saw is no part of the case
        self.checked, self.refused = checked, refused

    def all_findings(self) -> list[Finding]:
        return self.tester.findings + self.findings

    def judged(self) -> dict[str, int]:
        """How many PDUs of the DUT were judged, by type."""
        return self.tester.judged

    def frames(self) -> list[TraceFrame]:
        return list(self.tester.trace)


__all__ = ["Failed", "Inconclusive", "Scenario"]
