"""Finds what a port says by itself, in a capture that has no frame of the other one: by its ABTS it shows that no answer reached
it, and by its BA_ACC that the other one gave up for want of one."""

from __future__ import annotations

import itertools
from typing import Iterator

from fcvi.capture.units import duration

from .cause import E_D_TOV_US, PROBABLE, Cause
from .claims import absent, unanswered
from .scan import NONE
from .table import Flow, Step, Table

_NAME = "unheard-answer"


def one_way(table: Table, flow: Flow) -> Iterator[Cause]:
    """What became of the setup, or else of a Message. Who aborts before a timeout can have passed has another reason."""
    least_us = table.e_d_tov_us or E_D_TOV_US
    ways = (_refusals(table, flow), _setups(flow, least_us), _messages(table, flow, least_us), _answers(flow, least_us))
    yield from itertools.islice(itertools.chain(*ways), 1)


def _refusals(table: Table, flow: Flow) -> Iterator[Cause]:
    """FCVI_CONNECT_RESP2 without an FCVI_HANDLE: the responder gave none (5.3.3). A Peer may be early, and accept later."""
    went_on = [s for s in flow.named("CONNECT_RESP2") if s.sender == flow.ids[0]]
    at = table.scan.at(flow.index)
    if flow.mode != "client-server" or flow.is_1999 or not went_on or at.handle[1] != NONE or at.way[0].frames:
        return
    last = went_on[-1]
    text = (f"FCVI_CONNECT_RESP2 of {last.sender:06X} names no FCVI_HANDLE, so {last.target:06X} gave it none: it refused (5.3.3). "
            "The reason is in its FCVI_CONNECT_RESP1, of which no frame is in the capture.")  # fmt: skip
    yield Cause(("unheard-refusal",), PROBABLE, text, "a capture of both directions",
                [*flow.named("CONNECT_RQST")[-1:], last], claims=[absent(flow, last, "CONNECT_RESP3")])  # fmt: skip


def _setups(flow: Flow, least_us: int) -> Iterator[Cause]:
    """Requests that their own sender aborted (8.5.3 a)."""
    tries: dict[str, list[tuple[Step, Step, Step]]] = {}
    requests = flow.named("CONNECT_RQST")
    if any(s.what.get("setup_abort") for s in flow.named("DISCONNECT_RQST")):
        return  # who withdraws aborts, too
    for rqst in requests:
        abts = next((s for s in flow.named("ABTS") if s.is_of(rqst) and s.sender == rqst.sender and "of" not in s.what), None)
        if abts is not None and abts.time_us - rqst.time_us >= least_us:
            went_on = [s for s in flow.named("CONNECT_RESP2") if s.is_of(rqst) and s.number < abts.number]
            last = went_on[-1] if went_on else rqst
            tries.setdefault("CONNECT_RESP3" if went_on else "CONNECT_RESP1", []).append((rqst, last, abts))
    for missing, given_up in tries.items():
        rqst, last, abts = given_up[0]
        times = f"{len(given_up)} of {len(requests)} FCVI_CONNECT_RQST" if len(requests) > 1 else "FCVI_CONNECT_RQST"
        text = (f"{rqst.sender:06X} aborts {times}, the first after {duration(abts.time_us - rqst.time_us)} (8.5.3 a): no "
                f"FCVI_{missing} reached it in time. Of {rqst.target:06X} no frame is in the capture, so whether it "
                "answered is not known.")  # fmt: skip
        shown = [step for entry in given_up[:2] for step in dict.fromkeys(entry)]
        yield Cause((_NAME,), PROBABLE, text, "a capture of both directions", shown,
                    claims=[absent(flow, last, "CONNECT_RESP2", until=abts)])  # fmt: skip


def _messages(table: Table, flow: Flow, least_us: int) -> Iterator[Cause]:
    """A Message that its sender aborted, and to which a Response was due (8.4.2 a)."""
    for abts in flow.named("ABTS"):
        if "of" not in abts.what or abts.what["ends"] or abts.what["behind_us"] < least_us:
            continue
        me, you = abts.sender, abts.target
        asked = Step(abts.what["of"], abts.time_us - abts.what["behind_us"], me, you, "Message", abts.ox_id, NONE)
        text = (f"{me:06X} aborts the Message of {table.scan.where(asked.number)} after "
                f"{duration(abts.what['behind_us'])} (8.4.2 a): no whole Response reached it in time. Of {you:06X} no frame is in "
                "the capture, so whether it answered is not known.")  # fmt: skip
        yield Cause((_NAME,), PROBABLE, text, "a capture of both directions", [asked, abts],
                    claims=[unanswered(flow, asked.number, asked)])  # fmt: skip


def _answers(flow: Flow, least_us: int) -> Iterator[Cause]:
    """An ABTS that is not in the capture, and its BA_ACC, behind what a responder said in the same setup."""
    for acc in flow.named("BA_ACC"):
        said = [s for s in flow.named("CONNECT_RESP1", "CONNECT_RESP3") if s.is_of(acc) and s.number < acc.number]
        if not said or acc.time_us - said[-1].time_us < least_us or said[-1].what["refused"]:
            continue
        last = said[-1]
        text = (f"{acc.sender:06X} answers an ABTS of the setup {duration(acc.time_us - last.time_us)} after its FCVI_{last.name}: "
                f"{acc.target:06X} gave the setup up, as one does that FCVI_{last.name} did not reach")  # fmt: skip
        text += ", or whose FCVI_CONNECT_RESP2 was lost." if last.name == "CONNECT_RESP1" else "."
        yield Cause((_NAME,), PROBABLE, text, "a capture of both directions", [last, acc],
                    claims=[absent(flow, last, "CONNECT_RESP3", until=acc)])  # fmt: skip
