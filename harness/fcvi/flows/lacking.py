"""Finds what a capture lacks as its own frames show: what was answered, or went on as if it had been, had been sent."""

from __future__ import annotations

from typing import Optional

from .scan import AGAIN, FAILED, GAP, LATE, LATE_MSG, SKIP, UNASKED
from .silence import limit_us, wait_us
from .table import Flow, Step, Table

_TURNS = ("CONNECT_RQST", "CONNECT_RESP1", "CONNECT_RESP2", "CONNECT_RESP3")
_WELL = ("open", "disconnected")
_ANSWERS = ("CONNECT_RESP1", "CONNECT_RESP3", "DISCONNECT_RESP", "BA_ACC", "LS_ACC")


def was_taken(table: Table, flow: Flow, step: Step) -> bool:
    """Whether what is missing before a frame of a Message had arrived: the Message has its Response, and with Reliable Reception a
    Response says that all Messages before are there, too."""
    if step.name not in ("SEND_RQST", "WRITE_RQST") or flow.level not in (0, 3) or step.sender not in flow.ids:
        return False
    side, ident = flow.ids.index(step.sender), step.what["id"]
    if step.what["why"] & SKIP:
        return flow.level == 3 and int(table.scan.at(flow.index).way[side].last_answered) >= step.number
    if flow.unanswered_count > len(flow.unanswered) or any((u["side"], u["id"]) == (side, ident) for u in flow.unanswered):
        return False
    return not any(s.what.get("why", 0) & FAILED and s.what["id"] == ident and s.sender != step.sender for s in flow.steps)


def came_late(flow: Flow, gap: Step) -> list[Step]:
    """The frames that fill what is missing before a frame."""
    skip = bool(gap.what["why"] & SKIP)
    return [s for s in flow.steps if s.what.get("why", 0) & (LATE | LATE_MSG) and not s.what["why"] & AGAIN
            and s.number > gap.number and s.sender == gap.sender
            and (s.what["id"] < gap.what["id"] if skip else s.what["id"] == gap.what["id"])]  # fmt: skip


def given_up_for(table: Table, flow: Flow, gap: Step) -> Optional[Step]:
    """The Disconnect without a status (5.9.4.6) by which a receiver's provider ends a Connection of which it missed what is missing
    before a frame."""
    if not gap.what.get("why", 0) & (GAP | SKIP):
        return None
    return next((s for s in flow.named("DISCONNECT_RQST") if s.what.get("by_provider") and s.sender != gap.sender
                 and s.number > gap.number and s.time_us - gap.time_us <= limit_us(table)), None)  # fmt: skip


class Lacking:
    """Frames that were sent, and received, and are not in the capture; count: in how many places. Of a capture that lacks one
    nothing can be concluded from what is not there."""

    def __init__(self, table: Table, flows: list[Flow]) -> None:
        self.count, self._first, self._where = 0, 0, table.scan.where
        for flow in flows:
            self._look(table, flow)
        for step in table.unasked:
            self._note(step.number)

    def _note(self, number: int, count: int = 1) -> None:
        self._first = min(self._first or number, number)
        self.count += count

    def _look(self, table: Table, flow: Flow) -> None:
        c = table.scan.at(flow.index)
        unheard = [side for side in (0, 1) if flow.ids[side] not in table.heard]
        if len(unheard) == 1 and (answers := self._answers(table, flow, 1 - unheard[0])):
            self._note(*answers)  # of a port of which no frame is here, and which asked
        for rqst in (s for s in flow.steps if s.name in _TURNS):
            turn = _TURNS.index(rqst.name)
            before = [s for s in flow.steps if s.is_of(rqst) and s.name in _TURNS[:turn]]
            if turn >= 2 and not any(s.name == _TURNS[turn - 1] for s in before) and (before or self._had_time(table, rqst)):
                self._note(rqst.number)  # nobody goes on without the turn before, which may be older than the capture
        asks = flow.named("CONNECT_RQST", "CONNECT_RESP1")
        is_over = asks and flow.last_us - asks[0].time_us > wait_us(table)
        went_on = asks and (c.way[1].frames or (c.way[0].frames and is_over))
        if went_on and not flow.named(flow.confirmation) and not any(s.is_of(rqst) for s in flow.named("ABTS") for rqst in asks):
            self._note(asks[0].number)  # the responder sends Messages behind FCVI_CONNECT_RESP3; who waits for it aborts (8.5.3)
        if flow.setup_seen and (unasked := [s for s in flow.steps if s.what.get("why", 0) & UNASKED]):
            self._note(unasked[0].number, len(unasked))
        goes_on = flow.ended in _WELL and not flow.reason and not flow.named("ABTS") and flow.level != 1 and not any(
            given_up_for(table, flow, step) for step in flow.steps)  # fmt: skip
        if goes_on and (gaps := int(c.way[0].gaps) + int(c.way[1].gaps)):
            odd = [s.number for s in flow.steps if s.what.get("why", 0) & (GAP | SKIP)]
            late = int(c.way[0].late) + int(c.way[1].late)
            if gaps > late:
                self._note(odd[0] if odd else flow.first, gaps - late)
        elif not goes_on:
            for step in flow.steps:
                if step.what.get("why", 0) & (GAP | SKIP) and was_taken(table, flow, step) and not came_late(flow, step):
                    self._note(step.number)

    @staticmethod
    def _had_time(table: Table, step: Step) -> bool:
        """Whether what a frame goes on with had come while the capture ran."""
        return step.time_us - table.begin_us > wait_us(table)

    @staticmethod
    def _answers(table: Table, flow: Flow, side: int) -> tuple[int, ...]:
        """The first answer of a side and how many there are; nothing where there is none."""
        found = [s.number for s in flow.steps if s.sender == flow.ids[side] and (
            s.name in _ANSWERS or s.what.get("why", 0) & UNASKED)]  # fmt: skip
        return (found[0], len(found)) if found else ()

    def words(self) -> str:
        """A sentence."""
        places = "1 place" if self.count == 1 else f"{self.count} places"
        return (f"The capture lacks frames in {places} where what follows shows that they were sent and taken (first before "
                f"{self._where(self._first)}). What it does not show proves nothing.")  # fmt: skip
