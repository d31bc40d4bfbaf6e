"""Finds why a Connection Setup was given up: what the IUs that are there say of those that are not (8.5.2 to 8.5.4)."""

from __future__ import annotations

from typing import Iterator, Optional

from fcvi.capture.units import duration

from .cause import POSSIBLE, PROBABLE, PROVEN, R_A_TOV_US, STRONG, Cause, Claim
from .claims import absent, first, never, quiet
from .pauses import waited_us
from .scan import NONE
from .silence import limit_us
from .table import Flow, Step, Table
from .words import reasons


def parts(table: Table, flow: Flow) -> Iterator[Cause]:
    """A connect IU in several frames, of which not all came by."""
    for step in () if table.lacking.count else flow.named("CONNECT_RQST in part", "CONNECT_RESP1 in part"):
        name = step.name.split()[0]
        lost = {"CONNECT_RQST": "lost-request", "CONNECT_RESP1": "lost-resp1"}[name]
        aborts = [s for s in (*flow.steps, *table.events) if s.name == "ABTS" and s.ox_id == step.ox_id and s.ports == step.ports
                  and s.number > step.number]  # fmt: skip
        waited = waited_us(table, step.time_us, flow.ids, limit_us(table))
        if not aborts and waited <= 2 * (table.r_a_tov_us or R_A_TOV_US):
            continue
        text = f"{step.what['bytes']} bytes of FCVI_{name} are in the capture, and the rest of it is not"
        if aborts:
            text += ". The setup was given up: the rest was lost before the capture point."
        else:
            text += f", in {duration(waited)}: it was lost before the capture point, or its sender fell silent."
        yield Cause((lost,) if aborts else (lost, "port-silent"), STRONG if aborts else POSSIBLE, text, "a capture at its sender",
                    [step, *aborts[:1]], claims=[absent(flow, step, *_BEHIND[name])])  # fmt: skip


_BEHIND = {"CONNECT_RQST": ("CONNECT_RESP1", "CONNECT_RESP1 in part", "CONNECT_RESP2", "CONNECT_RESP3"),
           "CONNECT_RESP1": ("CONNECT_RESP2", "CONNECT_RESP3")}  # fmt: skip


def setup(table: Table, flow: Flow) -> Iterator[Cause]:
    """What its setups show."""
    if flow.is_1999:
        yield from _of_1999(table, flow)
        return
    requests = flow.named("CONNECT_RQST")
    aborts = flow.named("ABTS")
    for position, rqst in enumerate(requests):
        parts = [s for s in flow.steps if s.is_of(rqst)]
        named = {s.name: s for s in reversed(parts) if s.name.startswith("CONNECT_RESP")}
        abts = next((s for s in parts if s.name == "ABTS" and s.sender == rqst.sender and "of" not in s.what), None)
        if abts is None:
            out = None if any(s.name == "CONNECT_RESP3" for s in parts) else _withdrawal(flow, rqst, None, None)
            if out is not None:
                yield out
            elif {"CONNECT_RESP1", "CONNECT_RESP2"} <= named.keys() and "CONNECT_RESP3" not in named:
                yield from _no_resp3(table, flow, rqst, named["CONNECT_RESP1"], None, [rqst, *named.values()])
            continue
        if any(s.name in ("P_BSY", "F_BSY", "P_RJT", "F_RJT") for s in parts):
            continue
        out = _withdrawal(flow, rqst, abts, named.get("CONNECT_RESP2"))
        if out is not None:
            yield out
            continue
        retried = position + 1 < len(requests)
        r_a_tov = table.r_a_tov_us or max(R_A_TOV_US, abts.time_us - rqst.time_us)
        watched = table.last_us - parts[-1].time_us > r_a_tov or parts[-1].number < flow.steps[-1].number
        for cause in _attempt(table, flow, rqst, abts, parts, named, retried, len(requests), watched):
            cause.claims += _missing(flow, rqst, abts, named, cause)
            yield cause
    if requests and requests[0].what["retry"] and len(requests) == 1:
        yield _first_seen(table, requests[0], aborts, first(flow, requests[0]))


def _first_seen(table: Table, rqst: Step, aborts: list[Step], claim: Claim) -> Cause:
    """A setup of which the retry is there, and the first try is not, or it is damaged."""
    asked = [s for s in table.events if s.number < rqst.number and (s.sender, s.target) == (rqst.sender, rqst.target)]
    before = sorted([s for s in [*aborts, *asked] if s.name == "ABTS" and s.number < rqst.number], key=lambda s: s.number)[-1:]
    damaged = [s for s in asked if s.name == "damaged frame" and s.what["R_CTL"] == "02h"][-1:]
    text = "The first FCVI_CONNECT_RQST in the capture has RETRY set, so an earlier one of this setup was sent"
    if damaged:
        text += (f", and {table.scan.where(damaged[0].number)} may be it: it has a wrong CRC or is marked invalid, so its receiver "
                 "drops it.")  # fmt: skip
        return Cause(("lost-request",), PROBABLE, text, "CRC counters of every port on the path", [*damaged, *before, rqst],
                     claims=[claim])  # fmt: skip
    if before and before[-1].time_us - table.begin_us > (table.r_a_tov_us or R_A_TOV_US):
        text += " while the capture ran, and it did not reach the capture point."
        return Cause(("lost-request",), PROBABLE, text, "a capture at the requesting port", [*before, rqst], claims=[claim])
    text += ". Either it did not reach the capture point, or it is older than the capture."
    return Cause(("lost-request", "lost-resp1", "timeout-too-short", "slow-accept"), POSSIBLE, text,
                 "a capture that begins earlier", [*before, rqst], claims=[claim])  # fmt: skip


def _of_1999(table: Table, flow: Flow) -> Iterator[Cause]:
    """A setup of three phases, which who waits in vain aborts (Rev 1.0, 8). It is not told from a first try whether it is tried
    again."""
    for rqst in flow.named("CONNECT_RQST"):
        parts = [s for s in flow.steps if s.is_of(rqst)]
        abts = next((s for s in parts if s.name == "ABTS"), None)
        if abts is None or any(s.name in ("P_BSY", "F_BSY", "P_RJT", "F_RJT") for s in parts):
            continue
        named = {s.name: s for s in reversed(parts) if s.name.startswith("CONNECT_RESP")}
        resp1, resp2 = named.get("CONNECT_RESP1"), named.get("CONNECT_RESP2")
        shown = [s for s in (rqst, resp1, resp2, abts) if s is not None]
        is_late = any(s.number > abts.number for s in (resp1, resp2) if s is not None)
        if abts.sender == rqst.sender and (resp1 is None or is_late):
            yield from _attempt(table, flow, rqst, abts, parts, named, False, 1, True)
        elif is_late:
            yield Cause(("timeout-too-short",), STRONG, "FCVI_CONNECT_RESP2 came after the ABTS that gave it up.",
                        "FCVI_ULP_TIMEOUT of the responder, and the length of the path: 5 us a km and way", shown)  # fmt: skip
        elif abts.sender == rqst.sender and resp2 is None:
            yield Cause(("lost-resp1", "lost-resp2", "timeout-too-short"), PROBABLE, "FCVI_CONNECT_RESP1 passed the capture point, "
                        "and the requester gave up: that one was lost after it, or came too late, or FCVI_CONNECT_RESP2 was lost "
                        "before it.", "a capture at the requester", shown,
                        claims=[absent(flow, rqst, "CONNECT_RESP2")])  # fmt: skip
        elif resp2 is None:
            waited = duration(abts.time_us - (resp1 or rqst).time_us)
            yield Cause(("lost-resp2", "lost-resp1", "port-silent"), PROBABLE, "The responder gave up: no FCVI_CONNECT_RESP2 came "
                        f"in {waited}. It was lost before the capture point, or FCVI_CONNECT_RESP1 after it, or the requester fell "
                        "silent.", "a capture at the requester", shown,
                        claims=[absent(flow, rqst, "CONNECT_RESP2")])  # fmt: skip
        elif abts.sender != rqst.sender:
            yield Cause(("lost-resp2",), STRONG, "FCVI_CONNECT_RESP2 passed the capture point, yet the responder aborted the setup "
                        "for want of it: it was lost after the capture point.", "a capture at the responder", shown)  # fmt: skip


def _missing(flow: Flow, rqst: Step, abts: Step, named: dict[str, Step], cause: Cause) -> list[Claim]:
    """What all sentences on an attempt say: the first IU that is not there is not there, and where it was given up for good
    nothing was tried again."""
    lost = next((name for name in ("CONNECT_RESP1", "CONNECT_RESP2", "CONNECT_RESP3") if name not in named), None)
    claims = [] if lost is None else [absent(flow, rqst, lost)]
    if cause.names == ("lost-resp2",) and lost == "CONNECT_RESP2":
        claims.append(never(flow, abts, "CONNECT_RQST"))
    return claims


def _withdrawal(flow: Flow, rqst: Step, abts: Optional[Step], resp2: Optional[Step]) -> Optional[Cause]:
    """A Disconnect with CONN_SETUP_ABORT that ended the setup before an ABTS, or without one: of an application (VI_APP_DISCON), or
    of a responder that had not seen RESP2 because it had not been sent.
    """
    asked = [s for s in flow.named("DISCONNECT_RQST") if s.what.get("setup_abort") and rqst.number < s.number
             and (s.number < abts.number if abts is not None else s.what["connection_id"] in (rqst.what["connection_id"], 0, NONE))]
    if not asked:
        return None
    gone, by_application = asked[0], bool(asked[0].what.get("by_application"))
    is_early = abts is not None and (resp2 is None or resp2.number > gone.number)  # else the responder waited for RESP2
    if not (by_application or gone.sender == rqst.sender or is_early):
        return None
    text = (f"{gone.sender:06X} sent FCVI_DISCONNECT_RQST with CONN_SETUP_ABORT {duration(gone.time_us - rqst.time_us)} after the "
            f"request, for {'the application' if by_application else 'the provider'}.")  # fmt: skip
    answer = [s for s in flow.named("DISCONNECT_RESP") if s.is_of(gone)]
    shown = [rqst, gone, *answer, *([abts] if abts is not None else [])]
    return Cause(("withdrawn",), PROVEN, text, "the log of that side: VipDisconnect during the setup", shown)


def _unanswered(
    flow: Flow, rqst: Step, abts: Step, acc: Optional[Step], waited: int, shown: list[Step], arrived: bool
) -> Cause:
    """A request without FCVI_CONNECT_RESP1. What looks alike is put in the order that the retry speaks for."""
    names = ["lost-resp1", "lost-request", "slow-accept"]
    text = (f"No FCVI_CONNECT_RESP1 in {duration(waited)}. The request was lost after the capture point, or its answer before it; "
            "both look the same from here. An application that does not accept looks so too.")  # fmt: skip
    if arrived:
        text = (f"No FCVI_CONNECT_RESP1 in {duration(waited)}. BA_ACC names the responder's RX_ID, so the request had arrived: its "
                "answer was lost before the capture point, or the application had not accepted yet.")  # fmt: skip
    again = next((s for s in flow.named("CONNECT_RQST") if s.time_us > abts.time_us), None)
    answer = next((s for s in flow.named("CONNECT_RESP1") if again is not None and s.ox_id == again.ox_id), None)
    if acc is not None and answer is not None and again is not None:
        back, took = acc.time_us - abts.time_us, answer.time_us - again.time_us
        if took > 2 * back + _IN_THE_PORT_US:
            names = ["lost-request", "slow-accept", "lost-resp1"]
            text += (f" The retry was answered after {duration(took)} and the ABTS after {duration(back)}, as if the retry were "
                     "news to the responder.")  # fmt: skip
        else:
            text += f" The retry was answered as fast as the ABTS ({duration(took)}), as if the responder had accepted before."
    if arrived:
        names.remove("lost-request")
    return Cause(tuple(names), PROBABLE, text, "a capture at the responder", shown)


def _says_nothing(table: Table, port: int, since: Step) -> bool:
    """Whether a port says no more on any Connection and in no login behind a frame, though the capture goes on."""
    if table.last_us - since.time_us <= limit_us(table) or any(
            step.sender == port and step.number > since.number for step in table.events):
        return False
    return all(quiet(table, flow, since, flow.ids.index(port)).holds() for flow in table.flows.values() if port in flow.ids)


def _knows_no_exchange(rejected: Optional[Step]) -> bool:
    """Whether BA_RJT says that there is no such Exchange."""
    return rejected is not None and (rejected.what.get("reason"), rejected.what.get("explanation")) in _NO_SUCH_EXCHANGE


def _takes_it_for_set_up(table: Table, flow: Flow, rqst: Step, resp1: Step, rejected: Optional[Step]) -> bool:
    """Whether a responder shows that it had FCVI_CONNECT_RESP2: by a Message or an answer to one, as its Exchange is over, or by
    a Disconnect of its own while it would still wait. One behind the Disconnect of the requester shows nothing: that one told it
    of a Connection (C.5.9.2)."""
    side = flow.ids.index(resp1.sender)
    if table.scan.at(flow.index).way[side].frames or _knows_no_exchange(rejected):
        return True
    told = next((s.number for s in flow.named("DISCONNECT_RQST") if s.sender == rqst.sender), None)
    return any(s.sender == rqst.target and not s.what.get("setup_abort") and (told is None or s.number < told)
               and s.time_us - resp1.time_us < 0.9 * limit_us(table) for s in flow.named("DISCONNECT_RQST"))  # fmt: skip


def _no_resp3(table: Table, flow: Flow, rqst: Step, resp1: Step, rejected: Optional[Step], shown: list[Step]) -> Iterator[Cause]:
    """FCVI_CONNECT_RESP2 passed, no FCVI_CONNECT_RESP3 did, and the responder disconnects without CONN_SETUP_ABORT, as one may
    that gave the setup up."""
    gone = next((s for s in flow.named("DISCONNECT_RQST") if s.sender == rqst.target and not s.what.get("setup_abort")), None)
    if gone is None or _takes_it_for_set_up(table, flow, rqst, resp1, rejected):
        return
    behind = gone.time_us - resp1.time_us
    if behind < 0.9 * limit_us(table):
        return
    text = (f"The responder disconnects {duration(behind)} after its FCVI_CONNECT_RESP1, when one has given up "
            "that has no FCVI_CONNECT_RESP2 (8.5.2 c), and it sent no Message: FCVI_CONNECT_RESP2 was lost after the capture "
            "point. It does not set CONN_SETUP_ABORT; had it been connected, FCVI_CONNECT_RESP3 was lost.")  # fmt: skip
    yield Cause(("lost-resp2", "lost-resp3"), PROBABLE, text, "a capture at the responder", [*shown, gone],
                claims=[absent(flow, rqst, "CONNECT_RESP3")])  # fmt: skip


_IN_THE_PORT_US = 1000  # an answer that no application was asked for
_NO_SUCH_EXCHANGE = ((0x03, 0x03), (0x09, 0x03))  # of BA_RJT: Logical error or Unable to perform; Invalid OX_ID-RX_ID combination


def _attempt(table: Table, flow: Flow, rqst: Step, abts: Step, parts: list[Step], named: dict[str, Step], retried: bool,
             tries: int, watched: bool) -> Iterator[Cause]:  # fmt: skip
    waited = abts.time_us - rqst.time_us
    acc = next((s for s in parts if s.name == "BA_ACC"), None)
    resp1, resp2, resp3 = (named.get(f"CONNECT_RESP{i}") for i in (1, 2, 3))
    late = next((s for s in (resp1, resp3) if s is not None and s.time_us > abts.time_us), None)
    rejected = next((s for s in parts if s.name == "BA_RJT"), None)
    back = acc.time_us - abts.time_us if acc is not None else 0
    shown = [s for s in (rqst, resp1, resp2, resp3, abts, acc) if s is not None]
    if late is not None:
        far = back * 2 >= waited or acc is None
        behind = duration(late.time_us - abts.time_us)
        text = f"{late.name} came {behind} after the ABTS that gave it up ({duration(waited)} after the request)."
        if far:
            yield Cause(("timeout-too-short",), PROVEN, text, "the length of the path: 5 us a km and way; R_A_TOV of switch and "
                        "adapter", shown)  # fmt: skip
        else:
            text += f" The answer to the ABTS itself took {duration(back)}, so the path is short and the application was slow."
            yield Cause(("slow-accept", "timeout-too-short"), STRONG, text, "the responder's application log", shown)
    elif resp1 is None:
        if rejected is not None and _knows_no_exchange(rejected):
            text = (f"BA_RJT says that the responder knows no such Exchange, {reasons(rejected)}: the request did not arrive, and "
                    "was lost after the capture point.")  # fmt: skip
            yield Cause(("lost-request",), STRONG, text, "a capture at the responder", [*shown, rejected])
        else:
            arrived = acc is not None and acc.what.get("acc_rx_id", 0xFFFF) != 0xFFFF
            cause = _unanswered(flow, rqst, abts, acc, waited, shown, arrived)
            if acc is None and rejected is None and _says_nothing(table, rqst.target, abts):
                cause.names = ("port-silent", *cause.names)
                cause.add(f"The ABTS has no answer, either, and no frame of {rqst.target:06X} follows.",
                          quiet(table, flow, abts, 1 - flow.ids.index(rqst.sender)))  # fmt: skip
            yield cause
    elif resp2 is None:
        again = [s for s in flow.steps if s.name == "CONNECT_RQST" and s.time_us > abts.time_us]
        if again and tries > 1 and acc is not None and again[0].time_us - acc.time_us >= waited // 2:
            yield Cause(("timeout-too-short", "lost-resp1"), PROBABLE, "FCVI_CONNECT_RESP1 was sent each time and each time the "
                        "setup was given up, and the answer to ABTS was not taken either: the requester gets answers too late, "
                        "or none.", "a capture at the requester; the length of the path", shown)  # fmt: skip
        elif again and acc is not None and again[0].time_us - acc.time_us > abts.time_us - resp1.time_us:
            yield Cause(("slow-accept", "timeout-too-short", "lost-resp1"), PROBABLE, f"FCVI_CONNECT_RESP1 was sent only "
                        f"{duration(abts.time_us - resp1.time_us)} before the ABTS came, which is less than the way there and "
                        "back: the two passed each other.", "a capture at the requester; the responder's application log",
                        shown)  # fmt: skip
        elif retried:
            yield Cause(("lost-resp1",), STRONG, "FCVI_CONNECT_RESP1 passed the capture point, yet the requester tried again, "
                        "which only one does that has not got it (8.5.3): it was lost after the capture point.",
                        "a capture at the requester", shown)  # fmt: skip
        elif rqst.what["retry"]:
            yield Cause(("lost-resp1", "lost-resp2", "timeout-too-short"), POSSIBLE, "FCVI_CONNECT_RESP1 of the retry passed the "
                        "capture point and no FCVI_CONNECT_RESP2 came: one of the two was lost, or came too late.",
                        "a capture at the requester", shown)  # fmt: skip
        elif not watched:
            yield Cause(("lost-resp2", "lost-resp1", "timeout-too-short"), POSSIBLE, "The requester gave up, and the capture ends "
                        "before it would have tried again.", "a capture that goes on for R_A_TOV", shown)  # fmt: skip
        else:
            yield Cause(("lost-resp2",), STRONG, "The requester gave up without trying again, as one does that had "
                        "FCVI_CONNECT_RESP1 (8.5.3 a 3): its FCVI_CONNECT_RESP2 was lost before the capture point.",
                        "a capture at the requester", shown)  # fmt: skip
    elif resp3 is None:
        gone = [s for s in flow.named("DISCONNECT_RQST") if s.sender == rqst.target]
        if gone and gone[0].what.get("setup_abort"):
            yield Cause(("lost-resp2",), STRONG, "The responder disconnects with CONN_SETUP_ABORT: it never saw "
                        "FCVI_CONNECT_RESP2, which was lost after the capture point.", "a capture at the responder",
                        [*shown, gone[0]])  # fmt: skip
        elif undecided := list(_no_resp3(table, flow, rqst, resp1, rejected, shown)):
            yield from undecided
        elif _takes_it_for_set_up(table, flow, rqst, resp1, rejected):
            yield Cause(("lost-resp3",), STRONG, "The responder took the Connection for set up, so it had FCVI_CONNECT_RESP2: "
                        "its FCVI_CONNECT_RESP3 was lost before the capture point.", "a capture at the responder",
                        shown + gone[:1])  # fmt: skip
        else:
            yield Cause(("lost-resp2", "lost-resp3"), POSSIBLE, "FCVI_CONNECT_RESP2 was lost after the capture point, or "
                        "FCVI_CONNECT_RESP3 before it: no frame of the responder shows whether it was connected.",
                        "a capture at the responder", [*shown, *gone[:1]])  # fmt: skip
    else:
        yield Cause(("lost-resp3",), STRONG, "FCVI_CONNECT_RESP3 passed the capture point, yet the requester aborted the setup "
                    "for want of it: it was lost after the capture point.", "a capture at the requester", shown)  # fmt: skip
