"""A shared receive queue whose Receives have a slot of memory each, and the QPs that take from it."""

from __future__ import annotations

import itertools
from typing import Any, Iterator, Mapping, Optional, Sequence

from .account import Wc, Wr
from .scenario import Told, Verbs
from .session import Pair, Posted, connect, good, nodes

_SRQ_RESIZE, _RESIZE_MAX_WR = 1 << 13, 1 << 0
_LIMIT = frozenset({"SRQ_LIMIT_REACHED"})


class Shared:
    """An SRQ at the far end. Which Receive a message takes is the provider's choice (6.3.5), so a slot is found by the WC."""

    def __init__(self, t: Verbs, size: int = 16, *, slot: int = 64, slots: int = 128, pd: Optional[int] = None) -> None:
        self.t, self.slot = t, slot
        self.node = nodes(t)[1]
        self.srq = self.node.srq(size, pd=pd)
        self.mem = self.node.mem(slot * slots, pd=pd)
        self.posted: dict[int, tuple[Wr, int]] = {}  # by wr_id: the WR and where its slot begins
        self.takers: list[Pair] = []
        self._slots: Iterator[int] = itertools.cycle(range(0, slot * slots, slot))

    def post(self, count: int, *, must: bool = True) -> Posted:
        """Post so many Receives, each with the next slot."""
        starts = [next(self._slots) for _ in range(count)]
        made = self.srq.post([{"sges": [self.mem.sge(at, self.slot)]} for at in starts], must=must)
        self.posted.update({wr.wr_id: (wr, at) for wr, at in zip(made.wrs, starts)})
        return made

    def peer(self, *, size: int = 8192, row: str = "6.3-11", primed: bool = True, **params: Any) -> Pair:
        """A plain QP at the near end, connected to one that takes from the SRQ, after a first message."""
        one, other = nodes(self.t)
        p = Pair(one.qp(sq_size=64), other.qp(srq=self.srq, row=row, **params), one.mem(size), self.mem)
        if primed and not self.unused():
            self.post(1)
        connect(p.a, p.b)
        if not primed:
            return p
        sent, got = self.send(p, 1), self.came([p], 1)
        if not got:
            lost = [wc for q in self.takers for wc in q.b.recv_cq.empty() if wc.wr_id in self.posted]
            self.t.require(not lost, "6.3-03", "the CQ of the WC of a message through an SRQ", "that of another QP", "the QP's own")
        held = good(sent, row, "a Send to a QP of an SRQ")
        held &= self.t.require(bool(got) and got[0].good, row, "the first message to a QP of an SRQ", _words(got), "a success")
        if not held:
            self.t.lack("the first message through the SRQ failed, so that nothing can be tried with it")
        self.takers.append(p)
        return p

    def unused(self) -> list[Wr]:
        """The Receives that have no WC."""
        return [wr for wr, _ in self.posted.values() if not wr.wcs]

    def came(self, pairs: Sequence[Pair], count: int, within_us: Optional[int] = None) -> list[Wc]:
        """So many WCs of Receives of the SRQ from the CQs of these QPs, in the order of each CQ, or what came in time."""
        t, found = self.t, list[Wc]()
        cqs = list(dict.fromkeys(p.b.recv_cq for p in pairs))
        deadline = t.now_us + (t.bound_us if within_us is None else within_us)
        while len(found) < count:
            rest = max(0, deadline - t.now_us)
            for cq in cqs:
                got = cq.poll(count - len(found) or 1, rest if len(cqs) == 1 else min(rest, t.bound_us // 100))
                found += [wc for wc in got if wc.wr_id in self.posted]
            if not rest:
                break
        return found

    def send(self, p: Pair, count: int, length: int = 8) -> list[Wr]:
        """So many Sends to the QP, which the near end may have accepted or not done yet."""
        return [p.a.send(p.ma.sge(0, length)) for _ in range(count)]

    def serves(self, p: Pair, count: int, row: str, length: int = 8) -> bool:
        """So many messages through the SRQ, all of which have to arrive; their WCs are polled."""
        sent = self.send(p, count, length)
        got = self.came([p], count)
        held = good(sent, row, "Sends to a QP of an SRQ")
        all_good = len(got) == count and all(wc.good for wc in got)
        return self.t.require(all_good, row, f"{count} messages to a QP of an SRQ", _words(got), "a success each") and held

    def bytes_of(self, wc: Wc, length: int) -> bytes:
        """What a message left in the slot of its Receive."""
        return self.mem.read(self.posted[wc.wr_id][1], length)

    def quiet(self, pairs: Sequence[Pair], row: str, what: str) -> bool:
        """No WC comes for a while."""
        got = self.came(pairs, 1, self.t.quiet_us)
        return self.t.require(not got, row, what, _words(got), "nothing")

    # ---- the limit, and the size ----

    def arm(self, limit: int) -> bool:
        """Set the limit."""
        return self.node.ok("ModifySrq", srq=self.srq.srq, limit=limit)

    def limits(self) -> list[Told]:
        """The limit events that came at this end."""
        return self.t.events(self.node.end.number, names=_LIMIT)

    def told(self) -> Mapping[str, object]:
        """What Query SRQ tells: size, sges, limit."""
        result = self.srq.query().result()
        return {name: result.get(name) for name in ("size", "sges", "limit")}

    def resizable(self) -> bool:
        """Whether the device says that sizes can be changed (6.3.2)."""
        return bool(self.node.attr("device_cap_flags") & (_SRQ_RESIZE | _RESIZE_MAX_WR))

    def must_resize(self) -> bool:
        """Whether it has to: it does so for QPs. InfiniBand tells of the two apart (B81)."""
        needed = _RESIZE_MAX_WR if self.t.iwarp else _RESIZE_MAX_WR | _SRQ_RESIZE
        return self.node.attr("device_cap_flags") & needed == needed

    def resize(self, size: int) -> bool:
        """Modify SRQ with a size; on success the size is that of Query SRQ."""
        worked = self.node.ok("ModifySrq", srq=self.srq.srq, size=size)
        told = self.told()["size"]
        if worked and isinstance(told, int):
            self.srq.size = told
        return worked


def _words(wcs: Sequence[Wc]) -> str:
    counts: dict[str, int] = {}
    for wc in wcs:
        counts[wc.status] = counts.get(wc.status, 0) + 1
    return ", ".join(f"{count} {status}" for status, count in sorted(counts.items())) or "nothing"


__all__ = ["Shared"]
