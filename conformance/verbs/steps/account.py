"""The accounting that every case owes: each accepted WR has one WC, none has two, successes keep their order, guards stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional

from fcvi.engine.attachment import DutError

from .sets import FLUSHED, GIVEN_UP, OPCODES, STATUSES, SUCCESS

if TYPE_CHECKING:
    from .scenario import Verbs
    from .session import Cq, Mem, Qp, Srq

MOST = 128  # WCs of one call: an answer has to fit a line of the DUT protocol


@dataclass
class Wc:
    """A Work Completion as the agent told it."""

    wr_id: int
    status: str
    opcode: str
    byte_len: int
    qp_num: int
    qp: Optional[int]
    flags: frozenset[str]
    invalidated: int
    raw: Mapping[str, Any]

    @property
    def good(self) -> bool:
        """Success."""
        return self.status == SUCCESS

    @property
    def flushed(self) -> bool:
        """The WR was not carried out."""
        return self.status == FLUSHED

    def __str__(self) -> str:
        return f"{self.status} of {self.wr_id:016x}, {self.byte_len} bytes"


def parse_wc(raw: Any) -> Wc:
    """A member of ``wcs``. Raises DutError when it is none."""
    try:
        return Wc(
            int(raw["wr_id"], 16), str(raw["status"]), str(raw["opcode"]), int(raw["byte_len"]), int(raw["qp_num"]), raw["qp"],
            frozenset(raw.get("flags") or ()), int(raw.get("invalidated") or 0), raw,
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise DutError(f"a WC of verbs.PollCq broke the DUT protocol: {str(raw)[:120]}") from error


@dataclass(eq=False)
class Wr:
    """A WR that a post accepted."""

    wr_id: int
    opcode: str
    signaled: bool
    queue: str  # "sq", "rq" or "srq"
    place: int  # in the order of posting on its queue
    end: int
    qp: Optional[Qp]
    srq: Optional[Srq]
    row: str  # which a WC that never comes breaks
    length: int = 0  # bytes of its list
    wcs: list[Wc] = field(default_factory=list)
    lost: bool = False  # the QP was destroyed or reset: nothing is owed any more

    @property
    def wc(self) -> Optional[Wc]:
        """Its WC; None while it has none."""
        return self.wcs[0] if self.wcs else None

    @property
    def status(self) -> str:
        """Of its WC; "none" while it has none."""
        return self.wcs[0].status if self.wcs else "none"

    @property
    def good(self) -> bool:
        """It has a WC with success."""
        return self.status == SUCCESS

    @property
    def flushed(self) -> bool:
        """It has a WC that says it was not carried out."""
        return self.status == FLUSHED


class Account:
    """Every WR and WC of one case."""

    def __init__(self, t: Verbs) -> None:
        self._t = t
        self._next = t.rng.randrange(1, 2**40) << 16
        self._wrs: dict[tuple[int, int], Wr] = {}
        self._last: dict[tuple[Qp, str], int] = {}  # place of the last success of a queue
        self._flushed: dict[Qp, int] = {}  # place of the first Receive that was flushed
        self._last_flush: dict[tuple[Qp, str], int] = {}
        self._odd: set[tuple[Qp, str]] = set()
        self._faults: dict[Qp, list[tuple[Wr, Wc]]] = {}
        self.foreign: set[int] = set()  # wr_ids of loops, whose WCs the agent polls itself
        self.refused: set[tuple[int, int]] = set()  # end and wr_id of WRs that a post refused, or did not reach
        self.qps: list[Qp] = []
        self.cqs: list[Cq] = []
        self.mems: list[Mem] = []

    def ids(self, count: int) -> int:
        """The first of so many numbers that no WR has."""
        first = self._next
        self._next += count
        return first

    def add(self, wr: Wr) -> None:
        """A post accepted it."""
        self._wrs[wr.end, wr.wr_id] = wr

    def forget(self, qp: Qp) -> None:
        """The QP is gone or new: no WC is owed to what it had."""
        for wr in self.of(qp):
            wr.lost = wr.lost or not wr.wcs
        self._faults.pop(qp, None)
        self._flushed.pop(qp, None)

    def of(self, qp: Qp, queue: Optional[str] = None) -> list[Wr]:
        """The WRs of a QP in the order of posting, without those from before its last reset."""
        return [wr for wr in self._wrs.values() if wr.qp is qp and (queue is None or wr.queue == queue) and not wr.lost]

    def dead(self, ends: set[int]) -> None:
        """The process that had these objects is gone."""
        for qp in [q for q in self.qps if q.node.end.number in ends]:
            qp.abandon()
        for cq in [c for c in self.cqs if c.node.end.number in ends]:
            cq.gone = True
        for mem in [m for m in self.mems if m.node.end.number in ends]:
            mem.watched = False

    def under_way(self) -> int:
        """Bytes of the send WRs that have no WC."""
        return sum(wr.length for wr in self._wrs.values() if wr.queue == "sq" and not wr.wcs and not wr.lost)

    # ---- WCs ----

    def take(self, cq: Cq, wc: Wc) -> Optional[Wr]:
        """A WC that was polled; gives its WR. What it owes by itself is judged here."""
        t = self._t
        t.require(wc.status in STATUSES, "9.3.2.1-04", "the status of a WC", wc.status, "a status that is defined")
        wr = self._wrs.get((cq.node.end.number, wc.wr_id))
        if wr is None:
            if wc.wr_id in self.foreign:
                return None
            if (cq.node.end.number, wc.wr_id) in self.refused:
                t.report("8.3.1-01", "a WC of a WR that was refused", wc.status, "none: a refusal leaves the queue as it was")
                return None
            t.report("9.3.2.1-02", "the wr_id of a WC", f"{wc.wr_id:016x}", "that of a WR that was accepted")
            return None
        wr.wcs.append(wc)
        if len(wr.wcs) > 1:
            t.report("8.2.4-04", f"WCs of one {wr.opcode}", f"{wr.wcs[0].status} and {wc.status}", "one")
            return wr
        qp = wr.qp or next((q for q in self.qps if q.qp == wc.qp and q.node.end is cq.node.end), None)
        if qp is None:
            return wr
        own = qp.send_cq if wr.queue == "sq" else qp.recv_cq
        t.require(own is cq, "6.1.1-05", f"the CQ of a WC of the {wr.queue}", f"cq {cq.cq}", f"cq {own.cq}")
        right = wc.qp_num == qp.qp_num
        if wc.good:
            t.require(right, "6.1.1-07", f"qp_num in the WC of a {wr.opcode}", wc.qp_num, qp.qp_num)
            self._success(wr, wc, qp)
            return wr
        if not right:
            t.notice("6.1.1-07", f"qp_num in a WC with {wc.status}", wc.qp_num, qp.qp_num, "B38")
        if wr.lost:  # of a stream before this one
            return wr
        if wc.status in GIVEN_UP:
            t.give_up(f"{wc.status} of a {wr.opcode}")
        if wc.flushed:
            self._flush(wr, qp)
        else:
            self._fault(wr, wc, qp)
        return wr

    def _success(self, wr: Wr, wc: Wc, qp: Qp) -> None:
        t = self._t
        if wr.opcode in OPCODES:
            t.require(wc.opcode == OPCODES[wr.opcode], "9.3.2.1-03", f"the opcode in the WC of a {wr.opcode}", wc.opcode,
                      OPCODES[wr.opcode])  # fmt: skip
        t.require(wr.signaled, "8.1.3.1-01", "a WC of an unsignaled WR that succeeded", f"{wc.status} of {wr.opcode}", "none")
        if wr.queue == "srq" or wr.lost:
            return
        last = self._last.get((qp, wr.queue), -1)
        t.require(wr.place > last, "8.2.2-02", f"the order of successes of the {wr.queue}",
                  f"WR {wr.place} behind WR {last}", "that of the queue")
        self._last[qp, wr.queue] = max(last, wr.place)
        first = self._flushed.get(qp) if wr.queue == "rq" else None
        if first is not None and wr.place > first:
            t.report("6.4-02", "a Receive that succeeded", "behind one that was flushed", "none behind it")
        elif first is not None:
            t.notice("8.2.2-02", "the WC of a successful Receive", "behind that of a later one that was flushed", "ahead", "B14")

    def _flush(self, wr: Wr, qp: Qp) -> None:
        """Flushed WCs may come in another order than their WRs (B14)."""
        if wr.queue == "rq":
            self._flushed[qp] = min(wr.place, self._flushed.get(qp, wr.place))
        last = self._last_flush.get((qp, wr.queue), -1)
        if wr.place < last and wr.queue != "srq" and (qp, wr.queue) not in self._odd:
            self._odd.add((qp, wr.queue))
            self._t.notice("8.2.2-02", f"flushed WCs of the {wr.queue}", f"WR {wr.place} behind WR {last}", "in their order", "B14")
        self._last_flush[qp, wr.queue] = max(last, wr.place)

    def _fault(self, wr: Wr, wc: Wc, qp: Qp) -> None:
        """One WC of a QP may have a status that is neither success nor flushed (6.2.4)."""
        t, before = self._t, self._faults.setdefault(qp, [])
        before.append((wr, wc))
        if len(before) == 2:
            seen, other = ", ".join(f"{w.queue}: {c.status}" for w, c in before), before[0][0].queue != wr.queue
            t.report("6.2.4-04", "WCs of a QP that are neither success nor flushed", seen, "one at most",
                     erratum="B15" if other and not t.iwarp else None)  # fmt: skip

    def faults(self, qp: Qp) -> list[Wc]:
        """The WCs of a QP that are neither success nor flushed, since its last reset."""
        return [wc for _, wc in self._faults.get(qp, [])]

    # ---- the end ----

    def owed(self, qp: Qp) -> list[Wr]:
        """The WRs of a QP that have no WC and are owed one, once the QP is flushed."""
        return [wr for wr in self.of(qp) if not wr.wcs and (wr.signaled or wr.queue == "rq")]

    def conclude(self) -> None:
        """End every QP and see what is owed."""
        t = self._t
        for qp in [q for q in self.qps if not q.gone]:
            if self.owed(qp):
                limit = qp.ends_within()
                t.reap(self.owed(qp), limit)
                missing = self.owed(qp)
                for row in dict.fromkeys(wr.row for wr in missing):
                    of_row = [wr for wr in missing if wr.row == row]
                    what = f"WRs that were accepted and have no WC: {_words(of_row)}"
                    t.report(row, what, "none within the bound", "one WC each")
        for cq in [c for c in self.cqs if not c.gone]:
            cq.empty()
        for mem in self.mems:
            mem.guarded()


def _words(wrs: Iterable[Wr]) -> str:
    found = [f"{wr.opcode} {wr.place} of the {wr.queue}" for wr in wrs]
    return ", ".join(found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else "")


__all__ = ["MOST", "Account", "Wc", "Wr", "parse_wc"]
