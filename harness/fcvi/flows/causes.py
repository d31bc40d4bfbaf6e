"""Finds why Connections failed: rules that look at what the table kept of one, and say what the frames prove.

A rule names a party only where a frame of that party shows the fault. Where a loss beyond the capture point and another one
look alike, the cause has both names, and the text says so. Clauses are those of ISO/IEC 14165-331:2007.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Iterator, Optional

from fcvi.capture.units import duration

from . import scan as why
from .cause import E_D_TOV_US, POSSIBLE, PROBABLE, PROVEN, R_A_TOV_US, STRONG, WEAK, Cause, Claim
from .claims import absent, in_order, no_parameters, none_answered, none_by, not_rejected, nothing_lost, quiet, unanswered, unheard
from .lacking import Lacking, came_late, given_up_for, was_taken
from .notices import SPEAKS_FOR
from .one_way import one_way
from .pauses import Pause, pause, waited_us
from .rows import round_trips
from .setups import parts, setup
from .silence import OF_ALL, asks_in_vain, heard, keep_alives, limit_us, services, silence
from .scan import NONE
from .strays import wrong_handles
from .names import FC_VI, REASONS
from .table import Flow, Step, Table, given_up
from .words import reasons, status

_LONG_US = 100_000  # a silence inside a Message, or an answer, that is worth a word
_MANY = 50  # times the usual latency


def explain(table: Table, flows: list[Flow]) -> tuple[list[Cause], list[Flow]]:
    """Causes, the most probable first; and Connections that failed for a reason that the capture does not show."""
    found: list[Cause] = []
    unknown = []
    accepted = _accepted_peers(table, flows)
    table.heard = heard(table)
    lacking = table.lacking = Lacking(table, flows)
    for flow in flows:
        flow.yielded = _yields(flow, accepted) or _is_obliged(flow, flows) or _has_lost(flow, flows)
    for flow in flows:
        causes = sorted((c for c in of_flow(table, flow, flows) if c.is_borne_out), key=lambda c: -c.score)
        is_slow = bool(causes) and causes[0].name == "credit-starvation"  # which hides no silence
        if not lacking.count and (not causes or is_slow or not causes[0].is_known):
            quiet_causes = (keep_alives(table, flow), None if causes and not is_slow else silence(table, flow))
            causes = [c for c in quiet_causes if c is not None and c.is_borne_out][:1] or causes
        for cause in causes:
            cause.flow = flow
            if flow.is_1999:
                _of_1999(table, flow, cause)
            _allow_for_gaps(table, lacking, cause)
            _notices(table, cause)
        if causes and not causes[0].is_known:
            _is_forgotten(flow, causes[0])
        if causes:
            found.append(causes[0])
            found += [c for c in causes[1:] if c.score >= PROBABLE and c.is_known and c.name not in causes[0].names]
        elif is_failed(flow) or flow.named("ABTS"):
            unknown.append(flow)
    other = _other_edition(table, flows)
    found = [c for c in found if c.flow not in other]
    unknown = [flow for flow in unknown if flow not in other]
    found += _old_edition(table, other)
    if not lacking.count:
        found += services(table, flows)
        for cause, stray in wrong_handles(table, flows):
            found = [c for c in found if c.flow not in (stray, cause.flow) or c.is_known]
            unknown = [flow for flow in unknown if flow not in (stray, cause.flow)]
            found.append(cause)
    found += _damage(table, found, found or unknown)
    return _grouped(sorted(found, key=lambda c: (-c.score, c.began))), unknown


def _grouped(found: list[Cause]) -> list[Cause]:
    """One heading for Connections that failed alike. What is of no Connection, as a login, stands for itself."""
    first: dict[tuple[str, ...], Cause] = {}
    alone = []
    for cause in found:
        if cause.flow is None:
            alone.append(cause)
        elif cause.names in first:
            first[cause.names].others.append(cause.flow)
        else:
            first[cause.names] = cause
    return sorted([*first.values(), *alone], key=lambda c: (-c.grade, -len(c.others), c.began, -c.score))


def is_failed(flow: Flow) -> bool:
    """Whether its end says that something went wrong."""
    if flow.ended == "refused" and flow.yielded:
        return False
    return flow.ended in ("refused", "timed out", "aborted", "failed") or bool(flow.reason)


def of_flow(table: Table, flow: Flow, flows: list[Flow]) -> Iterator[Cause]:
    """Everything that one Connection shows."""
    yield from _refusal(table, flow, flows)
    yield from parts(table, flow)
    yield from _login(table, flow)
    yield from _link_answers(flow)
    yield from _errors(table, flow)
    if _is_one_way(table, flow):
        found = list(one_way(table, flow))
        yield from found
        if not found and not table.lacking.count and (is_failed(flow) or _waits_at_the_end(table, flow)):
            yield Cause(("no-answer",), WEAK, "No frame of one of the two ports is in the capture: that port is not there, or the "
                        "capture shows one direction only.", "a capture of both directions", flow.steps[:3],
                        claims=[unheard(table, flow)])  # fmt: skip
        return
    if not flow.ended == "refused":
        yield from setup(table, flow)
    yield from _messages(table, flow)
    yield from _disconnects(table, flow)
    yield from _slow(table, flow)


def _waits_at_the_end(table: Table, flow: Flow) -> bool:
    """A Message without a Response is the last that its sender said: one that goes on has been answered. Where the capture ends
    within R_A_TOV its Response may come."""
    if table.last_us - flow.last_us <= (table.r_a_tov_us or R_A_TOV_US):
        return False
    ways = table.scan.at(flow.index).way
    return not flow.named("DISCONNECT_RQST") and any(
        u["whole"] and u["id"] == (int(ways[u["side"]].next_id) - 1) & 0xFFFFFFFF for u in flow.unanswered)  # fmt: skip


def _is_one_way(table: Table, flow: Flow) -> bool:
    c = table.scan.at(flow.index)
    senders = {s.sender for s in flow.steps} | {flow.ids[side] for side in (0, 1) if c.way[side].frames}
    return len(senders) < 2 and not table.heard.issuperset(flow.ids)


def _allow_for_gaps(table: Table, lacking: Lacking, cause: Cause) -> None:
    """What is not there may be what the capture left out."""
    gaps = int(table.scan.tally.gaps)
    flow = cause.flow  # an idle one may have had its Disconnect before the login ended
    is_idle = cause.name == "login-lost" and flow is not None and not any(asks_in_vain(table, flow, side) for side in (0, 1))
    if not (cause.name in _MISSING or is_idle) or not (gaps or lacking.count):
        return
    cause.names += ("capture-gap",)
    cause.score = min(cause.score, POSSIBLE)
    if gaps:
        cause.text += f" The capture says at {gaps} places that it left frames out: they may be those."
    else:
        cause.text += f" {lacking.words()} What is missing here may be of the same kind."


def _notices(table: Table, cause: Cause) -> None:
    """What the Fabric or a port reported of itself that speaks for a cause."""
    for step in table.events:
        says = step.what.get("says", "")
        if says and any(word in says and cause.name in names for word, names in SPEAKS_FOR.items()):
            what = "FPIN" if step.name == "FPIN" else "RDP"
            cause.text += f" {what} of {step.sender:06X} reports: {says}."
            cause.frames.append(step)
            return


# ---- refusals and logins ----


def _crossing(flow: Flow, flows: list[Flow]) -> Optional[Flow]:
    """The setup by which the other Peer asked at the same time (5.3.4)."""
    for other in flows:
        if other is flow or other.mode != "peer" or other.ids != flow.ids[::-1] or other.network != flow.network:
            continue
        if other.first_us <= flow.last_us and flow.first_us <= other.last_us:
            return other
    return None


_Peers = dict[tuple[int, tuple[int, int], int, Optional[bytes]], int]


def _accepted_peers(table: Table, flows: list[Flow]) -> _Peers:
    """When the last frame came of a Peer's setup that was accepted, by network, ports and both Discriminators. Who got no
    FCVI_HANDLE by FCVI_CONNECT_RESP1 has none to name in FCVI_CONNECT_RESP2 (5.3.3)."""
    found: _Peers = {}
    for flow in flows:
        is_accepted = flow.named("CONNECT_RESP1") or table.scan.at(flow.index).handle[1] != NONE
        if flow.mode == "peer" and flow.ended != "refused" and is_accepted:
            for which in (0, 1):
                key = (flow.network, flow.ids, which, _discriminator(flow, which))
                found[key] = max(found.get(key, 0), flow.last_us)
    return found


def _yields(flow: Flow, accepted: _Peers) -> bool:
    """The first Peer asked when the other did not yet, and was refused; then the other asked, and was accepted: so Peers meet
    without an error (5.3.3). A capture of one direction may lack the request, which tells the mode.
    """
    if flow.mode == "client-server" or flow.ended != "refused" or flow.reason not in (0x01, 0x03):
        return False
    peers, remote = (flow.ids[1], flow.ids[0]), _discriminator(flow, 1)
    return any(accepted.get((flow.network, peers, which, remote), -1) >= flow.first_us for which in (0, 1))


def _is_obliged(flow: Flow, flows: list[Flow]) -> bool:
    """04h of a Peer whose own request was refused for a reason that 5.3.4 does not know: Table 2 asks for it."""
    if flow.mode != "peer" or flow.ended != "refused" or flow.reason != 0x04:
        return False
    other = _crossing(flow, flows)
    return other is not None and other.ended == "refused" and other.reason not in (0x01, 0x03, 0x04, 0x05)


def _has_lost(flow: Flow, flows: list[Flow]) -> bool:
    """05h of a Peer whose own request was accepted: so 5.3.4 ends. Of the other setup the capture may lack what tells its mode."""
    if flow.ended != "refused" or flow.reason != 0x05 or flow.mode == "client-server":
        return False
    return flow.mode == "not known" or any(
        other.ids == flow.ids[::-1] and other.network == flow.network and other.mode != "client-server"
        and other.first_us <= flow.last_us and flow.first_us <= other.last_us
        and other.ended not in ("refused", "timed out") for other in flows)  # fmt: skip


def _discriminator(flow: Flow, which: int) -> Optional[bytes]:
    """That of the LocalAddr or of the RemoteAddr. Both Peers have one RemoteAddr (VI-DG 6.7); where a Peer accepts its own
    LocalAddr as the other's RemoteAddr, that is how it reads the rule."""
    address = flow.addresses[which]
    return None if address is None else address[1]


def _refusal(table: Table, flow: Flow, flows: list[Flow]) -> Iterator[Cause]:
    if flow.ended != "refused" or flow.reason is None or flow.yielded:
        return
    refusals = [s for s in flow.steps if s.name.startswith("CONNECT_RESP") and s.what.get("refused")]
    shown = flow.named("CONNECT_RQST")[-1:] + refusals[:1]
    words = f"{refusals[0].name} says {status(refusals[0])}." if refusals else ""
    by = flow.ended_by
    if flow.mode == "peer" and flow.reason in (0x01, 0x03, 0x05):
        other = _crossing(flow, flows)
        if other is not None and (other.ended in ("refused", "timed out")):
            text = f"Both ports sent FCVI_CONNECT_RQST in peer mode, and neither setup was accepted. {words}"
            both = shown + other.named("CONNECT_RQST")[:1] + [s for s in other.steps if s.what.get("refused")][:1]
            yield Cause(("peers-gave-up",), PROVEN + 1, text, "compare the Discriminators and Host Addresses that the two "
                        "applications give to VipConnectPeerRequest, and their timeouts (5.3.4)", both)  # fmt: skip
            return
    if flow.reason == 0x05:
        if flow.mode == "peer" and table.lacking.count:
            return  # it may lack the setup by which the other Peer won
        asks = "No request of the other Peer is in the capture that could have been accepted in its place (5.3.4):"
        claim = Claim("no request of the other Peer", lambda: _crossing(flow, flows) is None, shown[0], ("CONNECT_RQST",))
        if flow.mode == "client-server":
            asks = "Only a request in peer mode is answered so (5.3.4), and this one is in client-server mode:"
            claim = Claim("not in peer mode", lambda: flow.mode == "client-server", shown[0], ("peer mode",))
        yield Cause(("peer-refused",), PROBABLE, f"{asks} {words}", "the log of the port that answers; a capture of both "
                    "directions", shown, claims=[claim])  # fmt: skip
        return
    confirm = {
        0x01: "compare the Discriminator of the request with those that the responder's application waits on",
        0x02: "the responder's application log: how long VipConnectAccept took",
        0x03: "whether the responder's application calls VipConnectWait again after each Connection",
        0x04: "the responder's application log: VipConnectReject, or attributes that do not fit",
        0x06: "the Host Addresses of both ports",
        0x21: "a capture at the other port, decoded with `fcvi lint`",
        0x22: "error counters of every port between the two",
    }
    names = {0x01: "no-match", 0x02: "connect-timeout", 0x03: "no-waiting", 0x04: "rejected", 0x06: "duplicate-addresses",
             0x21: "protocol-error", 0x22: "transport-error"}  # fmt: skip
    if flow.mode == "peer" and flow.reason == 0x04:  # no application of a Peer is asked (C.5.1)
        text = f"{words} A Peer that did not accept the first request of two answers so (Table 2)."
        yield Cause(("peer-refused",), POSSIBLE, text, "a capture of both requests", shown)  # fmt: skip
    elif flow.reason == 0x20:
        yield _parameters(table, flow, shown, words)
    elif flow.reason in names:
        score = STRONG if flow.reason not in (0x21, 0x22) else POSSIBLE
        yield Cause((names[flow.reason],), score, words, confirm[flow.reason], shown, by if flow.reason == 0x04 else None)


def _parameters(table: Table, flow: Flow, shown: list[Step], words: str) -> Cause:
    pair = set(flow.ids)
    logins = [s for s in table.events if "ciro" in s.what and {s.sender, s.target} == pair and s.number < flow.last]
    wrong = [s for s in logins if not s.what["ciro"] or not s.what["seq_cnt_s"]]
    if wrong:
        bits = [n for n, key in (("C (Continuously Increasing Relative Offset)", "ciro"), ("S (SEQ_CNT)", "seq_cnt_s"))
                if not wrong[-1].what[key]]  # fmt: skip
        text = f"{wrong[-1].name} of {wrong[-1].sender:06X} does not set {' and '.join(bits)}, which 5.6 asks for. {words}"
        return Cause(("service-parameters",), PROVEN, text, "the adapter's settings of that port", [wrong[-1], *shown],
                     wrong[-1].sender)  # fmt: skip
    if logins:
        return Cause(("refused-parameters",), STRONG, f"{words} The login in the capture has the bits that 5.6 asks for: what the "
                     "responder objects to, the frames do not show.", "the responder's log", [*logins[-2:], *shown])  # fmt: skip
    return Cause(("service-parameters",), STRONG, "The login itself is not in the capture, so whose parameters are wrong is not "
                 f"known. {words}", "a capture that begins before the PLOGI", shown,
                 claims=[no_parameters(table, flow, shown[0])])  # fmt: skip


def _login(table: Table, flow: Flow) -> Iterator[Cause]:
    if flow.ended == "lost by link event":
        out = flow.named("FIP Clear Virtual Links")[-1]
        sides = [side for side in (0, 1) if flow.ids[side] in out.what["ports"]]
        whose = " or ".join(f"{flow.ids[side]:06X}" for side in sides)
        text = (f"The FCF cleared the virtual link of {out.what['words']} by FIP: the login ended, and the Connection with it "
                f"(7.7.1). No frame of {whose} follows on it.")  # fmt: skip
        yield Cause(("login-lost",), PROVEN, text, "the log of the FCF: why it cleared the link", [out],
                    claims=[quiet(table, flow, out, *sides)])  # fmt: skip
        return
    change = _change(table, flow)
    logout = flow.named(*_LOGOUTS)[-1:] if flow.ended == "lost by logout" else []
    if logout and not (_is_reaction(table, flow, logout[0]) or (logout[0].name == "PLOGI" and change is not None)):
        yield _logout(table, flow, logout[0])
    elif change is not None:
        yield change


_LOGOUTS = ("LOGO", "PRLO", "PLOGI", "LS_ACC")


def _is_reaction(table: Table, flow: Flow, out: Step) -> bool:
    """What ends a login that its sender had given up before explains nothing. Who logs out in order may first abort what is under
    way, which no timeout explains."""
    given_up = [s for s in flow.named("ABTS") if s.sender == out.sender and s.number < out.number]
    if out.name == "PLOGI":
        return bool(given_up)
    asked = {s.ox_id: s.time_us for s in reversed(flow.steps) if s.sender == out.sender and s.name != "ABTS"}
    waited = [s.what.get("behind_us", s.time_us - asked.get(s.ox_id, s.time_us)) for s in given_up]
    return max(waited, default=0) > (table.e_d_tov_us or E_D_TOV_US)


def _logout(table: Table, flow: Flow, out: Step) -> Cause:
    if "before" in out.what:
        how = f"FLOGI gave the port {out.what['Port_Name']}, which was {out.what['before']}, the N_Port_ID {out.target:06X}"
        if out.what.get("of") not in ("FLOGI", "FDISC"):
            how = (f"{out.name} of {out.sender:06X} has the Port_Name {out.what['Port_Name']}, which had the N_Port_ID "
                   f"{out.what['before']}")  # fmt: skip
        text = f"{how}: all its logins ended, and with them the Connection (7.7.1, 7.7.5)."
        moved = [side for side in (0, 1) if f"{flow.ids[side]:06X}" == out.what["before"] and flow.ids[side] in table.heard]
        claims = [quiet(table, flow, out, *moved)]  # the other may not know yet, and ask in vain
        return Cause(("login-lost",), PROVEN, text, "the log of that port: why it logged in anew", [out], claims=claims)
    fresh = [s for s in table.events if s.name == "LS_ACC" and s.what.get("of") in ("FLOGI", "") and s.sender == 0xFFFFFE
             and s.target in flow.ids  # of a FLOGI, which may not be in the capture
             and flow.first_us < s.time_us + table.blur_us
             and (s.number < out.number or s.time_us < out.time_us + table.blur_us)]  # fmt: skip
    by: Optional[int] = out.sender
    if out.name == "PLOGI" and fresh:
        by = fresh[0].target if table.last_of(flow, flow.ids.index(fresh[0].target))[0] < fresh[0].number else None
    what = "Connection" if flow.named(flow.confirmation) or _has_messages(table, flow) else "Connection Setup"
    text = f"{out.sender:06X} sent {out.name}, which ends the login and with it the {what} (7.7)."
    if fresh:
        text = (f"{fresh[0].target:06X} logged in to the Fabric anew, and {out.sender:06X} sent {out.name}: the login ended, and "
                f"with it the {what} (7.7).")  # fmt: skip
    side = flow.ids.index(out.sender)
    claims = [not_rejected(table, out), quiet(table, flow, out, side)]
    if out.name not in ("LOGO", "PRLO") and not asks_in_vain(table, flow, 1 - side):
        told = next((s for s in table.events if s.name == "LS_ACC" and s.is_of(out) and s.number > out.number), out)
        claims.append(quiet(table, flow, told, 1 - side))  # until it answers, frames of the other may cross
    return Cause(("login-lost",), PROVEN, text, f"the log of {fresh[0].target if fresh else out.sender:06X}: why it logged "
                 f"{'in anew' if fresh else 'out'}", [*fresh[:1], out], by, claims=claims)  # fmt: skip


def _change(table: Table, flow: Flow) -> Optional[Cause]:
    """A notice tells of a change at one of its ports, which is not heard any more, and what the other port asks is in vain."""
    if flow.ended in ("refused", "disconnected") or table.lacking.count:
        return None
    for step in table.events:
        if step.name not in ("RSCN", "FAN") or step.time_us <= flow.first_us:
            continue
        for side in (0, 1):
            port = flow.ids[side]
            hit = step.target == port if step.name == "FAN" else any(
                _covers(kind, ident, port) for kind, ident in step.what.get("pages", []))
            gone = quiet(table, flow, step, side)
            if hit and gone.holds() and asks_in_vain(table, flow, 1 - side):
                text = f"{step.name} tells of a change at {port:06X}, and no frame of {port:06X} follows on the Connection."
                return Cause(("login-lost",), STRONG, text, f"the switch's log of {port:06X} at that time", [step], claims=[gone])
    return None


def _covers(kind: int, ident: int, port: int) -> bool:
    mask = {0: 0xFFFFFF, 1: 0xFFFF00, 2: 0xFF0000, 3: 0}[kind]
    return ident & mask == port & mask


def _other_edition(table: Table, flows: list[Flow]) -> list[Flow]:
    """Connections that a port of Rev 1.0 asks for and that the other port, which speaks the edition of 2007, does not answer."""
    new = table.speak_new | {flow.ids[side] for flow in flows if not flow.is_1999 for side in (0, 1)
                             if table.scan.at(flow.index).way[side].frames}  # fmt: skip
    return [flow for flow in flows if flow.is_1999 and flow.named("CONNECT_RQST") and flow.ids[1] in new
            and (flow.ids[1], flow.ids[0]) not in table.speak_old]  # fmt: skip


def _old_edition(table: Table, asked: list[Flow]) -> Iterator[Cause]:
    both = {(s.target, s.sender) for s in table.strange}
    frames = [s for s in table.strange if (s.sender, s.target) not in both]
    strange = [s for s in frames if "revision" in s.what]
    if strange:
        text = f"{strange[0].sender:06X} sends {strange[0].name} with revision {strange[0].what['revision']}, which no edition has."
        cause = Cause(("unknown-revision",), PROVEN, text, "the firmware versions of both adapters", strange[:4])
        cause.flow = next((flow for flow in table.flows.values() if strange[0] in flow.steps), None)
        yield cause
    frames = [s for s in frames if s not in strange] + [flow.named("CONNECT_RQST")[0] for flow in asked]
    if frames:
        first = frames[0]
        text = (f"{first.sender:06X} sends {first.name}: the Device_Header has the size of FC-VI Rev 1.0 (1999), which the "
                "standard of 2007 does not understand.")  # fmt: skip
        yield Cause(("edition-mismatch",), PROVEN, text, "the firmware versions of both adapters", frames[:4])


def _of_1999(table: Table, flow: Flow, cause: Cause) -> None:
    """A request may have reached a port of 2007, which does not understand it. The clauses of 2007 are not those of Rev 1.0."""
    if "lost-request" in cause.names and (flow.ids[1], flow.ids[0]) not in table.speak_old:
        cause.names = ("edition-mismatch", *cause.names)
        cause.text += " The request is of Rev 1.0 (1999): a port of 2007 does not answer it."
    cause.text, cause.confirm = _CLAUSES.sub("", cause.text), _CLAUSES.sub("", cause.confirm)


_CLAUSES = re.compile(r" \((?:Table \d+|\d+\.\d[^()]*|C\.\d[^()]*)\)")


def _unsure(table: Table, bad: list[Step]) -> list[Step]:
    """Damaged frames of ports of which no good one is here: the capture point may have made that. A port that asks again and hears
    nothing was not understood."""
    good = {(s.sender, s.target) for s in table.events if s.name != "damaged frame"}
    for flow in table.flows.values():
        good |= {(s.sender, s.target) for s in flow.steps}
        way = table.scan.at(flow.index).way
        good |= {(flow.ids[side], flow.ids[1 - side]) for side in (0, 1) if way[side].frames}
    heard = {sender for sender, _ in good}
    asked = Counter((s.sender, s.target) for s in bad if s.what["R_CTL"] == "22h")
    return [s for s in bad if s.sender not in heard and ((s.target, s.sender) in good or asked[s.sender, s.target] < 2)]


def _is_answered_login(table: Table, bad: Step) -> bool:
    """A FLOGI was whole where the Fabric accepted it: what is wrong in its record is of the capture point, which knows its sender
    by no N_Port_ID yet."""
    return bad.sender == 0 and any(s.name == "LS_ACC" and s.sender == bad.target and s.ox_id == bad.ox_id
                                   and s.number > bad.number for s in table.events)  # fmt: skip


def _damage(table: Table, found: list[Cause], failed_at_all: object) -> Iterator[Cause]:
    """Damage between frames of Connections that failed; a damaged frame's own fields prove nothing."""
    every = [s for s in table.events if s.name == "damaged frame"]
    bad = [s for s in every if not _is_answered_login(table, s)]
    unsure = [] if failed_at_all else _unsure(table, bad)
    if unsure:
        who = ", ".join(sorted({f"{s.sender:06X}" for s in unsure}))
        table.said.append(f"No frame of {who} has a right CRC (first {table.scan.where(unsure[0].number)}), and nothing failed: "
                          "whether a link damaged them, or the CRC had not been computed where the capture was taken, is not "
                          "known.")  # fmt: skip
    count = int(table.scan.tally.damaged) - len(unsure) - (len(every) - len(bad))
    bad = [s for s in bad if s not in unsure]
    if not bad:
        return
    failed = [c for c in found if c.flow is not None and c.name in _LOSSES and c.frames]
    near = [c for c in failed if c.flow is not None
            and any(s in c.frames or c.flow.first_us <= s.time_us <= c.flow.last_us for s in bad)]  # fmt: skip
    text = f"{count} frame{' has' if count == 1 else 's have'} a wrong CRC or {'is' if count == 1 else 'are'} marked invalid."
    if near:
        text += " A Connection failed as it does when such a frame is missing."
    yield Cause(("bit-errors",), PROVEN + 1 if near else POSSIBLE, text, "CRC and disparity counters of every port on the "
                "path: the first one that counts is at the bad cable or optics", bad[:4], None,
                near[0].flow if near else None)  # fmt: skip


_LOSSES = {"lost-request", "lost-resp1", "lost-resp2", "lost-resp3", "lost-message", "lost-response", "transport-error",
           "lost-disconnect"}  # fmt: skip
_MISSING = _LOSSES | {"no-answer", "out-of-order", "timeout-too-short", "slow-accept", "credit-starvation"}


# ---- Messages ----


def _link_answers(flow: Flow) -> Iterator[Cause]:
    for names, cause, words in ((("P_BSY", "F_BSY"), "busy", "busy"), (("P_RJT", "F_RJT"), "reject", "reject")):
        steps = flow.named(*names)
        if steps:
            who = "The Fabric" if steps[0].name.startswith("F") else "The port"
            frames = f"{len(steps)} frame{'s' if len(steps) > 1 else ''}"
            text = f"{who} answered {words} to {frames} of this Connection, first with {steps[0].name}"
            text += f", {reasons(steps[0])}." if cause == "reject" else "."
            failed = is_failed(flow) or bool(flow.named("ABTS"))
            if cause == "busy" and not failed and not _is_left(flow):
                continue  # its sender tried again, and all was answered
            yield Cause((cause,), PROVEN if failed else POSSIBLE, text, "the counters of busy and reject at the switch; in class 2 "
                        "only", steps[:4])  # fmt: skip


def _is_left(flow: Flow) -> bool:
    """Whether something of it stays without an answer at the end."""
    return flow.ended == "setup not finished" or flow.unanswered_count > 0


_PROTECTION, _TRANSPORT, _DATA_ERROR, _PROTOCOL, _NO_RESP3 = {0x41, 0x43, 0x47}, {0x40, 0x44, 0x45, 0x46}, 0x44, 0x48, 0x49


def _errors(table: Table, flow: Flow) -> Iterator[Cause]:
    failed = [s for s in flow.steps if s.what.get("why", 0) & why.FAILED]
    for bit, name, words, confirm in (
        (4, "memory-protection", "PROT_ERR", "the region's length, RDMA attributes and protection tag at the answering side, and "
         "the address and handle in the request"),
        (2, "receive-queue-empty", "DESC_ERR", "how many receive Descriptors the answering side's application keeps posted"),
    ):  # fmt: skip
        hits = [s for s in failed if s.what["flags"] & bit]
        if hits:
            yield Cause((name,), PROVEN, f"{hits[0].name} reports {words}.", confirm, hits[:3])
    hits = [s for s in failed if not s.what["flags"] & 6]
    if hits:
        words = "TRANS_ERR" if hits[0].what["flags"] & 8 else "RESP_ERR and no cause"
        confirm = "error counters of every port between the two; the log of the side that answers"
        yield Cause(("transport-error",), POSSIBLE, f"{hits[0].name} reports {words}.", confirm, hits[:3])
    for step in flow.named("DISCONNECT_RQST"):
        reason = step.what.get("reason")
        if reason in _PROTECTION or reason == 0x42:
            name = "receive-queue-empty" if reason == 0x42 else "memory-protection"
            yield Cause((name,), STRONG, f"The Disconnect says {reason:02X}h, {REASONS[reason]}.", "the application log of the "
                        "side that disconnects", [step])  # fmt: skip
        elif step.sender == flow.ids[1] and not step.what.get("by_application") and (
                step.what.get("setup_abort") or (step.what.get("by_provider") and not _has_messages(table, flow))):  # fmt: skip
            yield from _no_resp2(table, flow, step)
        elif reason == _NO_RESP3 and not flow.named("ABTS"):
            text = f"The Disconnect says 49h, {REASONS[_NO_RESP3]}: FCVI_CONNECT_RESP3 had not come in time (5.9.7.3.2)."
            shown = [*flow.named("CONNECT_RESP3"), step]
            yield Cause(("lost-resp3",), POSSIBLE, text, "a capture at the side that disconnects", shown)
        elif reason == _PROTOCOL:
            yield Cause(("protocol-error",), POSSIBLE, "The Disconnect says 48h, Protocol Error.", "`fcvi lint`", [step])


def _no_resp2(table: Table, flow: Flow, gone: Step) -> Iterator[Cause]:
    """The responder gives the setup up when FCVI_CONNECT_RESP2 has not come for two times FCVI_ULP_TIMEOUT (8.5.2 c)."""
    answers = [s for s in flow.named("CONNECT_RESP1") if s.number < gone.number and not s.what["refused"]]
    if not answers or gone.time_us - answers[-1].time_us < (table.r_a_tov_us or R_A_TOV_US) or flow.named("ABTS"):
        return
    text = (f"The responder gives the setup up: no FCVI_CONNECT_RESP2 came in {duration(gone.time_us - answers[-1].time_us)} "
            "(8.5.2 c). It was lost before the capture point, or FCVI_CONNECT_RESP1 after it, or the requester fell "
            "silent.")  # fmt: skip
    yield Cause(("lost-resp1", "lost-resp2", "port-silent"), PROBABLE, text, "a capture at the requester", [answers[-1], gone],
                claims=[absent(flow, answers[-1], "CONNECT_RESP2")])  # fmt: skip


def _pieces(table: Table, flow: Flow) -> tuple[list[Step], list[Step], list[Step]]:
    """Frames after which bytes or Messages were missing and stayed away; those that came late; those after a gap they filled. In a
    file out of order the order of frames of one time is not known."""
    odd = [s for s in flow.steps if "why" in s.what]
    late = [s for s in odd if s.what["why"] & (why.LATE | why.LATE_MSG) and not s.what["why"] & why.AGAIN]
    lost: list[Step] = []
    filled: list[Step] = []
    for step in (s for s in odd if s.what["why"] & (why.GAP | why.SKIP)):
        after = came_late(flow, step)
        if table.is_sorted and after and after[-1].time_us == step.time_us:
            late = [s for s in late if s not in after]
        elif after:
            filled.append(step)
        elif not was_taken(table, flow, step):
            lost.append(step)
    return lost, late, filled


def _absent(gap: Step) -> str:
    """What is missing before a frame, and the verb."""
    count = gap.what.get("missing", 0)
    if gap.what["why"] & why.SKIP:
        return "1 Message is" if count == 1 else f"{count} Messages are"
    of = "the data of an RDMA Read" if gap.name == "READ_RESP" else "the Message"
    return f"{count} bytes of {of} are"


def _messages(table: Table, flow: Flow) -> Iterator[Cause]:
    lost, late, filled = _pieces(table, flow)
    waiting = {u["number"]: u for u in flow.unanswered}
    aborts = [s for s in flow.named("ABTS") if "of" in s.what]
    gone = [s for s in flow.named("DISCONNECT_RQST") if s.what.get("reason") in _TRANSPORT and not s.what.get("setup_abort")]
    by_provider = [s for step in lost if (s := given_up_for(table, flow, step)) and not table.lacking.count]
    broken = [s for s in flow.steps if s.what.get("why", 0) & why.FAILED and s.what["flags"] & 8]
    failed = bool(aborts or gone or broken)
    protests = [s for s in flow.named("DISCONNECT_RQST") if s.what.get("reason") == _PROTOCOL and any(
        step.sender != s.sender and step.number < s.number for step in lost)]  # fmt: skip
    arrived = [s for s in flow.steps if s.what.get("why", 0) & why.UNASKED]
    unordered = [s for s in flow.named("DISCONNECT_RQST") if s.what.get("reason") == _PROTOCOL and any(
        step.sender != s.sender and step.number < s.number for step in late)]  # fmt: skip
    if late and filled and (failed or unordered):
        text = (f"{len(late)} frames came after later ones, nothing is missing, and the Connection failed: an endpoint that "
                "counts on order takes that for an error (8.4.1 c).")  # fmt: skip
        yield Cause(("out-of-order",), STRONG + 3, text, "in-order delivery of switch (IOD, AptPolicy, DLS) and adapter: both "
                    "have to be set alike", [*filled[:2], *late[:2], *(aborts + gone + unordered)[:1]])  # fmt: skip
    if lost and (failed or by_provider):
        first = lost[0]
        if not any(a.what["id"] == first.what["id"] - 1 for a in arrived):
            text = (f"{_absent(first)} not there before {table.scan.where(first.number)}, and the other side did not take the "
                    "Message: this was lost before the capture point.")  # fmt: skip
            score = STRONG + 1 if failed else PROBABLE
            yield Cause(("lost-message",), score, text, "a capture at the sender; discards on the path to this point",
                        [first, *(broken + aborts + gone + by_provider)[:2]])  # fmt: skip
    elif protests:
        text = (f"{_absent(lost[0])} not there before {table.scan.where(lost[0].number)}, and {protests[0].sender:06X} disconnects "
                "for a protocol error: this was lost before the capture point, or never sent.")  # fmt: skip
        yield Cause(("lost-message", "protocol-error"), PROBABLE, text, "a capture at the sender; discards on the path to this "
                    "point", [lost[0], protests[0]])  # fmt: skip
    yield from _aborted(table, flow, aborts, waiting, lost, gone)
    unseen = [s for s in table.events if s.name == "ABTS" and s.ports == set(flow.ids) and flow.first_us < s.time_us <= flow.last_us
              and _is_of_unseen(table, s)]  # fmt: skip
    old = flow.is_1999 and not table.lacking.count and unseen and (
        unseen[0].time_us - table.begin_us > (table.r_a_tov_us or R_A_TOV_US))  # fmt: skip
    if unseen and not lost and not aborts and (gone or old):
        names = ("lost-message", "busy", "reject") if table.scan.tally.acks else ("lost-message",)
        text = (f"{table.scan.where(unseen[0].number).capitalize()} aborts an Exchange of which no frame is in the capture: the "
                "Message was sent and did not reach the capture point.")  # fmt: skip
        after = unseen[0].what.get("after_us")
        if table.scan.tally.acks and after is not None and after < min(table.e_d_tov_us or E_D_TOV_US, E_D_TOV_US):
            names = ("busy", "reject")
            text += (f" It was begun at most {duration(after)} before the ABTS, which no timeout explains: its sender was told, by "
                     "busy or reject, of which the receiver sees nothing.")  # fmt: skip
        yield Cause(names, PROBABLE, text, "a capture at the sender", [unseen[0], *gone[:1]])
    elif (not aborts and not lost and not filled and gone and flow.state == "closed" and not flow.named("ABTS")
          and _has_messages(table, flow)):  # fmt: skip
        words = f"{gone[0].what['reason']:02X}h, {REASONS[gone[0].what['reason']]}"
        names = ("bit-errors", "lost-message", "out-of-order") if gone[0].what["reason"] == _DATA_ERROR else (
            "lost-message", "out-of-order", "bit-errors")  # fmt: skip
        text, claims = f"The Disconnect says {words}, and ", [in_order(table, flow, gone[0])]
        text += "every frame passed the capture point in order: beyond it one was lost, damaged or overtaken."
        if table.scan.tally.part:
            text = (f"The Disconnect says {words}: a frame was lost, damaged or overtaken. Whether all passed the capture point in "
                    "order is not known, as they are cut off.")  # fmt: skip
            claims = []
        yield Cause(names, POSSIBLE, text, "a capture at the side that says so", gone[:2], claims=claims)


def _is_of_unseen(table: Table, abts: Step) -> bool:
    """Whether no frame of its Exchange is in the capture. The frames of other FC-4s are not kept: it may be of theirs."""
    kinds = table.scan.tally.type
    if any(kinds[kind] for kind in range(256) if kind not in OF_ALL and kind != FC_VI):
        return False
    before = [s for s in table.events if s.is_of(abts) and s.number < abts.number]
    return not before or before[-1].by_responder  # whose answer ended it


def _aborted(table: Table, flow: Flow, aborts: list[Step], waiting: dict[int, dict[str, int]], lost: list[Step],
             gone: list[Step]) -> Iterator[Cause]:  # fmt: skip
    if not aborts:
        return
    aborts = [a for a in aborts if not a.what["ends"]]  # of the others no Response was to come (6.2.1)
    if not aborts:
        return
    first = aborts[0]
    if told := [s for s in flow.named("ACK_1", "ACK_0") if s.what["abort"] == 1 and s.is_of(first) and s.number < first.number]:
        if not lost:
            yield Cause(("lost-message", "bit-errors", "out-of-order"), PROBABLE + 1, f"{told[0].name} asks for the ABTS of the "
                        f"Message of {table.scan.where(first.what['of'])} (Abort Sequence Condition 01b): its receiver "
                        "misses a frame that passed the capture point (8.4.2 h).", "a capture at the receiver",
                        [told[0], first])  # fmt: skip
        return
    side = first.what["side"]
    slot = waiting.get(first.what["of"])
    message = table.scan.where(first.what["of"])
    asked = Step(first.what["of"], first.time_us - first.what["behind_us"], flow.ids[side], flow.ids[1 - side], "Message",
                 first.ox_id, NONE)  # fmt: skip
    shown = [asked, first]
    if first.what.get("in_part") and not (first.what["behind_us"] < _LONG_US and table.has_times):
        if not lost:
            yield Cause(("lost-response", "port-silent"), PROBABLE, f"Only the beginning of the data that the Read of {message} "
                        "asks for passed the capture point, and the sender aborted it for want of the rest: that was lost before "
                        "the capture point, or not sent.", "a capture at the responder", shown)  # fmt: skip
        return
    if first.what.get("answered") and not first.what.get("in_part"):
        yield Cause(("lost-response",), STRONG,
                    f"The Response to the Message of {message} passed the capture point, "
                    "yet the sender aborted the Message for want of it: it was lost after the capture point.",
                    "a capture at the sender of the Message", shown)  # fmt: skip
        return
    if slot is None and any(s.name == "READ_RESP" and s.target == first.sender and s.is_of(first) for s in lost):
        return  # what is missing of its data ends the requester in Error, too (8.4.2 e)
    if slot is None and first.what.get("behind_us", E_D_TOV_US) < _LONG_US and table.has_times:
        yield Cause(("given-up-early",), STRONG, f"The sender of the Message of {message} aborted it "
                    f"{duration(first.what['behind_us'])} after it began, when the Response was on its way. No timeout is so "
                    "short.",
                    "the log of the sender", shown)  # fmt: skip
        return
    way = table.scan.at(flow.index).way[side]
    stopped_us = int(way.stall_us)
    if slot is None and first.what["of"] < int(way.stall_frame) < first.number and (
            2 * stopped_us > (table.r_a_tov_us or R_A_TOV_US)):  # fmt: skip
        yield Cause(("credit-starvation", "timeout-too-short"), STRONG, f"The Response to the Message of {message} came after the "
                    f"ABTS that gave it up, and before {table.scan.where(int(way.stall_frame))} frames of the Message itself had "
                    f"stopped for {duration(stopped_us)}, with nothing lost. Frames do not show credit.", "counters of time at "
                    "zero credit at each switch port; the log of the sender", shown,
                    claims=[nothing_lost(table, flow, first)])  # fmt: skip
        return
    if slot is None:
        yield Cause(("timeout-too-short",), STRONG + 3, f"The Response to the Message of {message} came after the "
                    "ABTS that gave it up.", "R_A_TOV of the ports, and the length of the path: 5 us a km and way",
                    shown)  # fmt: skip
        return
    if lost:
        return
    if not slot["whole"]:
        yield Cause(("lost-message",), PROBABLE, f"The Message of {message} stops before its end, and its "
                    "sender aborts it for want of a Response: it had sent the rest, which did not reach the capture point whole.",
                    "a capture at the sender of the Message", shown,
                    claims=[unanswered(flow, slot["number"], first)])  # fmt: skip
        return
    if _is_overtaken(flow, aborts):
        yield Cause(("out-of-order", "lost-message", "bit-errors"), PROBABLE,
                    f"From the Message of {message} on none is answered. The answers to the ABTSs came in another "
                    "order than the ABTSs went, so frames overtake each other here, as they did on the way to the responder if "
                    "none was lost there.", "in-order delivery of switch (IOD, AptPolicy, DLS) and adapter: both have to be set "
                    "alike", [asked, *aborts[:4]], claims=[none_answered(table, flow, side, slot["number"], first)])  # fmt: skip
        return
    accused = [s for s in gone if s.sender == flow.ids[1 - side]]
    later = max((u["number"] for u in flow.unanswered if u["side"] == side), default=0)
    after = [s for s in aborts if s.what["of"] > first.what["of"] and not s.what.get("answered")]
    if later == slot["number"] and not accused and not after and first.what.get("answered_later"):
        yield Cause(("lost-response",), STRONG, f"Later Messages than that of {message} were answered, so it had "
                    "arrived: its Response was lost before the capture point.", "a capture at the responder", shown,
                    claims=[unanswered(flow, slot["number"], first)])  # fmt: skip
    elif accused or after:
        yield Cause(("lost-message", "bit-errors", "out-of-order", "lost-response"), PROBABLE,
                    f"From the Message of {message} on "
                    "none is answered: its responder stopped. A frame of it was lost after the capture point, or overtaken "
                    "there.", "a capture at the responder", [*shown, *accused[:1]],
                    claims=[none_answered(table, flow, side, slot["number"], first)])  # fmt: skip
    else:
        yield Cause(("lost-response", "lost-message", "bit-errors", "out-of-order"), PROBABLE,
                    f"The Message of {message} is whole "
                    "and has no Response: the Message was lost after the capture point, or its Response before it.",
                    "a capture at the responder", shown, claims=[unanswered(flow, slot["number"], first)])  # fmt: skip


def _left_open(table: Table, flow: Flow) -> Iterator[Cause]:
    """A Disconnect that is neither answered nor aborted, though its time is over."""
    asked = flow.named("DISCONNECT_RQST")
    if not asked or flow.named("DISCONNECT_RESP") or flow.named("ABTS"):
        return
    waited = waited_us(table, asked[-1].time_us, flow.ids, limit_us(table))
    if waited > 2 * (table.r_a_tov_us or R_A_TOV_US):
        text = (f"No FCVI_DISCONNECT_RESP came in {duration(waited)}, and no ABTS, which the requester owes after FCVI_ULP_TIMEOUT "
                "(8.6.2 b).")  # fmt: skip
        if table.lacking.count:
            return
        yield Cause(("lost-disconnect",), POSSIBLE, text, "a capture at each of the two ports", asked[-1:],
                    claims=[absent(flow, asked[-1], "DISCONNECT_RESP", "ABTS")])  # fmt: skip


def _answered_in_vain(flow: Flow) -> Iterator[Cause]:
    """An FCVI_DISCONNECT_RESP that is there, and an ABTS for want of it."""
    for asked in flow.named("DISCONNECT_RQST"):
        answer = next((s for s in flow.named("DISCONNECT_RESP") if s.is_of(asked)), None)
        abts = next((s for s in flow.named("ABTS") if s.is_of(asked) and s.sender == asked.sender), None)
        if answer is not None and abts is not None and answer.number < abts.number:
            yield Cause(("lost-disconnect",), STRONG, "FCVI_DISCONNECT_RESP passed the capture point, yet the requester aborted "
                        "the Exchange for want of it: it was lost after the capture point.", "a capture at the requester",
                        [asked, answer, abts])  # fmt: skip


_UNKNOWN = 0x4A


def _denied(table: Table, flow: Flow) -> Iterator[Cause]:
    """Table 12's 4Ah to the first Disconnect of a Connection, by a side that lived on it. One that asked for a Disconnect itself,
    or whose login may have ended, says so by right."""
    asked = flow.named("DISCONNECT_RQST")[:1]
    answer = next((s for s in flow.named("DISCONNECT_RESP") if asked and s.is_of(asked[0])), None)
    if answer is None or answer.what["reason"] != _UNKNOWN or asked[0].what.get("setup_abort"):
        return
    if flow.is_1999 or table.lacking.count or table.scan.tally.gaps or flow.steps_left_off or flow.named("ABTS"):
        return
    if any(flow.first <= s.number < answer.number and s.name != "damaged frame" and s.ports & set(flow.ids) for s in table.events):
        return
    side = flow.ids.index(answer.sender)
    ways = table.scan.at(flow.index).way
    if not (ways[side].frames or ways[1 - side].last_answered or (side and flow.named(flow.confirmation))):
        return
    text = (f"{answer.name} says {status(answer)}, of a Connection on which {answer.sender:06X} spoke before. No Disconnect and no "
            "end of a login is in the capture that explains it.")  # fmt: skip
    yield Cause(("connection-unknown",), POSSIBLE, text, f"the log of {answer.sender:06X}: whether it was restarted, or gave the "
                "Connection up; a capture of it from its setup on", [asked[0], answer],
                claims=[none_by(flow, answer, "DISCONNECT_RQST")])  # fmt: skip


def _is_forgotten(flow: Flow, cause: Cause) -> None:
    """4Ah to the Disconnect behind a Message that was aborted: who only missed the Message, or is in Error, has the Connection
    still."""
    asked = [s for s in flow.named("DISCONNECT_RQST") if s.sender == flow.named("DISCONNECT_RQST")[0].sender]
    answers = [s for s in flow.named("DISCONNECT_RESP") if asked and s.is_of(asked[-1]) and s.what["reason"] == _UNKNOWN]
    if cause.name != "lost-response" or flow.is_1999 or not answers or asked[0].what.get("setup_abort"):
        return
    claims = (none_by(flow, answers[0], "DISCONNECT_RQST"),)
    if all(claim.holds() for claim in claims):
        cause.names = ("connection-unknown", *cause.names)
        cause.frames.append(answers[0])
        cause.add(f"{answers[0].name} says {status(answers[0])}: {answers[0].sender:06X} has given the Connection up, or was "
                  "restarted.", *claims)  # fmt: skip


def _disconnects(table: Table, flow: Flow) -> Iterator[Cause]:
    """Disconnects that were given up for want of a response (8.6.2 b)."""
    attempts = given_up(flow)
    if not attempts:
        yield from _left_open(table, flow)
        yield from _answered_in_vain(flow)
        yield from _denied(table, flow)
        return
    last = flow.named("DISCONNECT_RESP")[-1:]
    text = f"{len(attempts)} FCVI_DISCONNECT_RQST had no FCVI_DISCONNECT_RESP, and the Exchange was aborted."
    text += " A later one was answered." if last else (
        " An IU was lost each time, or the port does not answer; the VI stays in Error (8.6.3 a).")  # fmt: skip
    yield Cause(("lost-disconnect",), POSSIBLE if last else PROBABLE, text, "a capture at the port that does not answer",
                [*attempts[:3], *last], claims=[absent(flow, asked, "DISCONNECT_RESP") for asked in attempts])  # fmt: skip


def _has_messages(table: Table, flow: Flow) -> bool:
    c = table.scan.at(flow.index)
    return bool(c.way[0].frames or c.way[1].frames)


def _is_overtaken(flow: Flow, aborts: list[Step]) -> bool:
    """Whether ABTSs of one side were answered in another order."""
    asked = [s.ox_id for s in aborts if s.sender == aborts[0].sender]
    answered = [s.ox_id for s in flow.named("BA_ACC") if s.target == aborts[0].sender and s.ox_id in asked]
    return len(set(asked)) == len(asked) and answered != [ox_id for ox_id in asked if ox_id in answered]


def _slow(table: Table, flow: Flow) -> Iterator[Cause]:
    c = table.scan.at(flow.index)
    usual = table.scan.quantile(flow.index, 0.5)
    for side in (0, 1):
        way = c.way[side]
        for us, frame, words in ((int(way.stall_us), int(way.stall_frame), "frames of one Message stopped for"),
                                 (int(way.slowest_us), int(way.slowest_frame), "a Response took")):  # fmt: skip
            if us < max(_LONG_US, _MANY * usual if words.startswith("a R") else _LONG_US):
                continue
            if any(s.number < frame for s in flow.named("P_BSY", "F_BSY")):
                continue  # its sender waited before it tried again
            if us < 4 * max(round_trips(table, flow)) or us > limit_us(table):  # no port waits longer: the clock was set
                continue
            alone = _pause(table, flow, frame, us)
            if alone is not None and us > (table.e_d_tov_us or E_D_TOV_US) and alone.is_of_all(us):
                table.said.append(f"All ports stop at once for {duration(us)} before {table.scan.where(frame)}, and nothing is "
                                  "lost: the clock of the capture was set. Nothing is concluded from that pause.")  # fmt: skip
                return
            step = Step(frame, 0, flow.ids[side], flow.ids[1 - side], "Message", NONE, NONE)
            text = (f"At {table.scan.where(frame)} {words} {duration(us)}, with nothing lost; the usual answer takes "
                    f"{duration(usual)}. Frames do not "
                    "show credit, so a slow application looks the same in a Response that is late.")  # fmt: skip
            names: tuple[str, ...] = ("credit-starvation",)
            if alone is None or not alone.passed:
                names += ("clock-set",)
                text += " No other record shows that so much time passed: a clock that was set looks the same, too."
            confirm = "counters of time at zero credit and of discards by timeout at each switch port; "
            confirm += "the log of the host that captured"
            yield Cause(names, POSSIBLE, text, confirm, [step], claims=[nothing_lost(table, flow, step)])
            return


def _pause(table: Table, flow: Flow, frame: int, us: int) -> Optional[Pause]:
    """What else passed in a pause, where the file can be read again."""
    path, number = table.scan.place(frame)
    if not any(file.path == path and file.is_file for file in table.files):
        return None
    return pause(table.scan.source(path), number, us, flow.ids, table.limits)
