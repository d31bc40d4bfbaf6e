"""The scenario of VIPL: what every call and every completion of a case owes, whatever the case is about."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, NoReturn, Optional

from fcvi.engine import proof
from fcvi.engine.calls_scenario import CallScenario, End
from fcvi.engine.scenario import FAILING_LEVELS, Failed, Inconclusive, Seen
from fcvi.engine.upper_tester import METHOD_NOT_FOUND, Call

from .declare import RD, RR, UD
from .lists import CODES
from .reach import Reach

HOLDS_PRIMITIVES = True  # a check is that of whoever called (proof.py)
_PREFIX = "VIPL-"
_ANY_ERROR = 0x1FE  # bits 8:1
_NOT_VALID = "A112"
_REMOTE_DESC, _RDMA_PROT, _TRANSPORT, _PARTIAL, _IMMEDIATE = 0x100, 0x80, 0x40, 0x10, 1 << 19
_RESERVED = 0xFFF0FE00
_READ_OP = 4  # of bits 18:16
_POSTED = {"send": 0, "rdma-write": 2, "rdma-read": 4}


class Calls(CallScenario):
    """One run of one case variant. Requirements are named without their prefix."""

    patience_us = 20_000_000

    def __init__(self, *of_the_run: Any) -> None:
        self.made: list[Call] = []
        self._missing: dict[int, frozenset[str]] = {}
        super().__init__(*of_the_run)
        self.a: Any = None  # the nodes of both ends, when they are opened
        self.b: Any = None

    # ---- times, in microseconds ----

    @property
    def settle_us(self) -> int:
        """What is called immediate, or follows without waiting for anybody (settle_time)."""
        return 1_000_000 * self.pixit.slower

    @property
    def quiet_us(self) -> int:
        """Within this time nothing may come (quiet_time); a shorter one accuses nobody."""
        return 100_000 * self.pixit.slower

    @property
    def async_us(self) -> int:
        """Asynchronous reports come within this time (async_bound)."""
        return 10_000_000 * self.pixit.slower

    @property
    def late_us(self) -> int:
        """How much later than its timeout a call may return (A75)."""
        return 1_000_000 * self.pixit.slower

    # ---- judging ----

    def report(self, requirement: str, message: str, seen: str, required: str, *, at: Optional[Seen] = None,
               byte: Optional[int] = None, bits: Optional[str] = None, erratum: Optional[str] = None) -> None:  # fmt: skip
        super().report(_full(requirement), message, seen, required, at=at, byte=byte, bits=bits, erratum=erratum)

    def require(self, holds: bool, requirement: str, message: str, seen: object, required: object, **where: Any) -> bool:
        return super().require(holds, _full(requirement), message, seen, required, **where)

    def demand(
        self, holds: bool, requirement: str, message: str, seen: object, required: object, at: Optional[Seen] = None
    ) -> None:  # fmt: skip
        super().demand(holds, _full(requirement), message, seen, required, at)

    def fail(self, requirement: str, message: str, seen: str, required: str, at: Optional[Seen] = None) -> NoReturn:
        self.judge_calls()
        super().fail(_full(requirement), message, seen, required, at=at)
        raise AssertionError("not reached")

    def lack(self, why: str) -> NoReturn:
        """End the case inconclusive, unless a breach was found before."""
        for f in self.findings:
            if f.erratum is None and self._levels.get(f.requirement) in FAILING_LEVELS:
                raise Failed(f.message)
        raise Inconclusive(why)

    def notice(self, requirement: str, message: str, seen: object, expected: object, erratum: str = "A17") -> None:
        """What is merely expected: it fails nobody. The erratum says why."""
        self.report(requirement, message, str(seen), str(expected), erratum=erratum)

    def codes(self, row: str, what: str, code: str, wanted: str, other: Mapping[str, str] = {}) -> bool:
        """A return code: one of wanted; one of other is the reading of an erratum. True for either."""
        if code in other:
            self.report(row, f"{what}: {code}", code, wanted, erratum=other[code])
            return True
        return self.require(code in wanted.split(), row, f"{what}: {code}", code, " or ".join(wanted.split()))

    def leave_open(self, requirement: str, why: str) -> None:
        super().leave_open(_full(requirement), why)

    # ---- the library ----

    def missing(self, end: End) -> frozenset[str]:
        """The names that the library of an end does not have: calls of a later phase (G 2.2), and what its header lacks."""
        if end.number not in self._missing:
            with self.looking_at_errors():
                told = end.call("layout")
            if told.reply.error is not None and told.reply.error[0] != METHOD_NOT_FOUND:
                told.check()
            names = told.reply.result.get("missing") if told.reply.error is None else None
            self._missing[end.number] = frozenset(map(str, names or ()))
        return self._missing[end.number]

    # ---- handles ----

    def number_of(self, kind: str, told: Any) -> Any:
        """The number of a handle that was told. None stands for the handle that is NULL, where there is one (A71)."""
        made = [c.reply.result for c in self.made if c.reply.done and c.reply.error is None and kind in c.reply.result]
        nulls = [m[kind] for m in made if set(str(m.get("value") or "?")) == {"0"}]
        return nulls[-1] if told is None and nulls else told

    # ---- what every call and completion owes ----

    def start(self, method: str, **params: Any) -> Call:
        call = super().start(method, **params)
        self.made.append(call)
        return call

    def _posted(self) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
        """Every Descriptor that went to a send queue and was not written as bytes: end, number, and what it was made of."""
        for call in self.made:
            if call.method == "VipPostSend" and call.reply.done and call.reply.error is None:
                yield call.params.get("end", 0), call.reply.result.get("descriptor", -1), call.params.get("descriptor") or {}

    def _fits_post(self, found: Mapping[str, Any], posted: Optional[Mapping[str, Any]], level: Optional[str]) -> None:
        """A Descriptor of the send queue has no bit that its operation cannot have at its level (G 5.2). A success has the
        operation that was posted, and the number of bytes that were moved."""
        word = found.get("Status")
        op = _POSTED.get(str((posted or {}).get("op")))
        if posted is None or op is None or not isinstance(word, int) or not word & 1:
            return
        if op == 0 and level in (RD, RR):
            self.require(not word & _RDMA_PROT, "G5.2-33", "RDMA_PROT in a Send", hex(word), "clear")
        plain = posted.get("op") == "rdma-write" and posted.get("immediate") is None and "Control" not in posted
        if level == RR and (op == _READ_OP or plain):
            self.require(not word & _REMOTE_DESC, "G5.2-35", f"REMOTE_DESC in an {posted.get('op')}", hex(word), "clear")
        if level == RD and op != _READ_OP:
            self._not_valid(word, _TRANSPORT, "G5.2-31", f"TRANSPORT in a {posted.get('op')} at RD")
            self.require(not word & _RDMA_PROT, "G5.2-33", f"RDMA_PROT in a {posted.get('op')} at RD", hex(word), "clear")
        if word & _ANY_ERROR:
            return
        self.require(word >> 16 & 7 == op, "G5.2-37", "the operation of a Descriptor that was posted", word >> 16 & 7, op)
        segments = posted.get("segments") or []
        lengths = [s["length"] for s in segments if isinstance(s, Mapping) and isinstance(s.get("length"), int)]
        if found.get("length") is not None and len(lengths) == len(segments):
            self.require(found["length"] == sum(lengths), "G5.2-14", "Length of what was moved", found["length"], sum(lengths))

    def descriptors(self) -> Iterator[tuple[str, Optional[str], str, dict[str, Any]]]:
        """Every Descriptor that came back: the queue, the VI's level, the code that brought it, and what it holds."""
        for _, queue, level, code, found in self._came():
            yield queue, level, code, found

    def _came(self) -> Iterator[tuple[int, str, Optional[str], str, dict[str, Any]]]:
        """The same behind the number of the end. What nobody could write is left out."""
        reach = Reach()
        for call in self.made:
            reach.take(call)
            result = call.reply.result if call.reply.done and call.reply.error is None else {}
            found = result.get("DescriptorPtr")
            if call.method[3:] in ("SendDone", "SendWait", "RecvDone", "RecvWait") and isinstance(found, dict):
                end = call.params.get("end", 0)
                level = reach.level(end, call.params.get("vi"))
                if proof.ACTIVE is not None:
                    proof.ACTIVE.look("return", call)
                if reach.writes(end, found.get("descriptor")):
                    yield end, call.method[3:7].lower(), level, str(result.get("return")), found
        for told in self.notifies:
            found = told.get("DescriptorPtr")
            handed = isinstance(found, dict) and told.get("what") in ("VipSendNotify", "VipRecvNotify")
            if isinstance(found, dict) and handed and reach.writes(told.end, found.get("descriptor")):
                level = reach.level(told.end, told.params.get("vi"))
                yield told.end, str(told.get("what"))[3:7].lower(), level, "", found

    def conclude(self) -> None:
        super().conclude()
        self.judge_calls()

    def judge_calls(self) -> None:
        """Judge every call and every Descriptor that came back, whatever the case is about."""
        for call in self.made:
            if call.method in CODES and call.reply.done and call.reply.error is None:
                code = call.returned()
                self.require(code in CODES[call.method], "G4.2-02", f"{call.method} returned {code}", code, "a code of its list")
        posted: dict[tuple[int, Any], Mapping[str, Any]] = {(end, number): made for end, number, made in self._posted()}
        for end, queue, level, code, found in self._came():
            self._word(queue, level, code, found)
            self._fits_post(found, posted.get((end, found.get("descriptor"))), level)

    def _word(self, queue: str, level: Optional[str], code: str, found: Mapping[str, Any]) -> None:
        word = found.get("Status")
        if not isinstance(word, int) or found.get("descriptor") is None:
            return
        what, bad = f"Status {word:#010x} on the {queue} queue", bool(word & _ANY_ERROR)
        op = word >> 16 & 7
        self.require(word & _RESERVED == 0, "G5.2-36", what, hex(word & _RESERVED), "bits 31:20 and 15:9 zero")
        if code and word & 1:
            self._fits(code, bad, what)
        self.require(bool(word & 1), "S2.1.1-01", f"{what}: a Descriptor came back that is not done", "DONE clear", "DONE set")
        self.require(op <= 4, "G5.2-37", what, op, "an operation code that is defined")
        if not bad:
            right = (0, 2, 4) if queue == "send" else (1, 3)
            self.require(op in right, "G5.2-37", f"{what}: the code of the operation", op, right)
            self.require(op != 3 or bool(word & _IMMEDIATE), "G5.2-38", what, "no immediate data", "bit 19")
        if queue == "send":
            self.require(not word & _IMMEDIATE or bad, "G5.2-39", f"{what}: bit 19", "set", "clear")
            self.require(not word & _PARTIAL or bool(word & 0x1EE), "G5.2-27", what, "PARTIAL alone", "the cause, too")
        if level not in (UD, RD, RR):
            return
        reading = op in (0, _READ_OP)  # on errors the code of the operation may be 0 (A82)
        if queue == "send" and (level == UD or level == RD and not reading):
            self._not_valid(word, _TRANSPORT, "G5.2-31", f"{what}: TRANSPORT")
        if level == UD:
            self._not_valid(word, _RDMA_PROT, "G5.2-33", f"{what}: RDMA_PROT")
        elif word & _RDMA_PROT:
            self.require(level == RR or reading or queue == "recv", "G5.2-33", what, "RDMA_PROT", "not at this level")
            self.require(queue == "send", "G5.2-33", what, "RDMA_PROT in a receive", "PROTECTION")
        if level != RR:
            self._not_valid(word, _REMOTE_DESC, "G5.2-35", f"{what}: REMOTE_DESC")
        elif word & _REMOTE_DESC:
            self.require(queue == "send", "G5.2-35", what, "REMOTE_DESC", "only in Sends and Writes at RR")

    def _not_valid(self, word: int, bit: int, row: str, what: str) -> None:
        """A bit that is not valid here says nothing beside an error that is (A112). Alone it makes an error of a success."""
        beside = {"erratum": _NOT_VALID} if word & _ANY_ERROR & ~bit else {}
        self.require(not word & bit, row, what, hex(word), "clear", **beside)

    def _fits(self, code: str, bad: bool, what: str) -> None:
        wanted = "VIP_DESCRIPTOR_ERROR" if bad else "VIP_SUCCESS"
        if bad and code == "VIP_SUCCESS" and not self.has_descriptor_error:
            return
        self.require(code == wanted, "G5.2-19", f"{what}, yet the call returned {code}", code, wanted)

    @property
    def has_descriptor_error(self) -> bool:
        """Whether the provider's header has VIP_DESCRIPTOR_ERROR (A04)."""
        return "VIP_DESCRIPTOR_ERROR" not in self.missing(self.ends[0])


def _full(requirement: str) -> str:
    return requirement if requirement.startswith(_PREFIX) else _PREFIX + requirement


__all__ = ["Calls"]
