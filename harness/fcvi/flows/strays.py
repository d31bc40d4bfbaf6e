"""Messages to an FCVI_HANDLE that no setup of the capture gave, though the Connection that they go on with is in it."""

from __future__ import annotations

from typing import Iterator, Optional

from .cause import STRONG, Cause, Claim
from .table import Flow, Step, Table


def wrong_handles(table: Table, flows: list[Flow]) -> Iterator[tuple[Cause, Flow]]:
    """A sender goes on with the FCVI_MSG_IDs of one Connection under another FCVI_HANDLE, which the receiver never gave (6.9.3).
    With the cause comes what the table took for a Connection of its own."""
    for stray in flows:
        home = None if stray.setup_seen or table.scan.last(stray.index, 1)[0] else _home(table, stray, flows)
        if home is None:
            continue
        wrong, by = int(table.scan.at(stray.index).handle[1]), stray.ids[0]
        right = int(table.scan.at(home.index).handle[home.ids.index(stray.ids[1])])
        text = (f"The Message of {table.scan.where(stray.first)} goes on with the FCVI_MSG_IDs that {by:06X} sent to "
                f"FCVI_HANDLE {right:08X}, and is for {wrong:08X}. No setup in the capture gave that one, and no answer came "
                "under it.")  # fmt: skip
        ox_id = stray.unanswered[0]["ox_id"] if stray.unanswered else 0xFFFFFFFF
        step = Step(stray.first, stray.first_us, *stray.ids, "Message", ox_id, 0xFFFFFFFF)
        yield Cause(("wrong-handle",), STRONG, text, f"the log of {by:06X}", [step], by, home,
                    claims=[_no_answer(table, stray, step)]), stray  # fmt: skip


def _no_answer(table: Table, stray: Flow, step: Step) -> Claim:
    return Claim("no answer came under it", lambda: not table.scan.last(stray.index, 1)[0], step, ("SEND_RESP",))


def _home(table: Table, stray: Flow, flows: list[Flow]) -> Optional[Flow]:
    """The Connection, set up before in the capture, whose next FCVI_MSG_ID the first of these Messages has."""
    way = table.scan.at(stray.index).way[0]
    began = (int(way.next_id) - int(way.messages)) & 0xFFFFFFFF
    if not way.messages or way.gaps or began < 2:
        return None
    for flow in flows:
        if flow.setup_seen and flow.network == stray.network and set(flow.ids) == set(stray.ids) and flow.first < stray.first:
            mine = table.scan.at(flow.index).way[flow.ids.index(stray.ids[0])]
            if mine.has_next and int(mine.next_id) == began and int(mine.last) < stray.first:
                return flow
    return None
