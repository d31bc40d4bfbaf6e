"""Say what was asked and not answered although the capture went on: silence is evidence, and convicts nobody."""

from __future__ import annotations

from typing import Iterator, Optional

from fcvi.capture.units import duration

from .cause import POSSIBLE, PROBABLE, R_A_TOV_US, STRONG, WEAK, Cause, Claim
from .claims import absent, no_login, none_answered, quiet, unanswered
from .names import FC_VI
from .pauses import waited_us
from .scan import FAILED
from .table import Flow, Step, Table
from .words import is_refusal, reasons

#: What may have become of a setup, by the IU that came last of it.
_SETUPS = {
    "CONNECT_RQST": (("lost-request", "lost-resp1", "slow-accept", "port-silent"), "FCVI_CONNECT_RESP1"),
    "CONNECT_RESP1": (("lost-resp1", "lost-resp2", "port-silent"), "FCVI_CONNECT_RESP2"),
    "CONNECT_RESP2": (("lost-resp2", "lost-resp3", "port-silent"), "FCVI_CONNECT_RESP3"),
}


def wait_us(table: Table) -> int:
    """FCVI_ULP_TIMEOUT, which is R_A_TOV (8.3)."""
    return table.r_a_tov_us or R_A_TOV_US


def limit_us(table: Table) -> int:
    """No answer takes longer, and no requester waits so long without a word: an ABTS needs as long again."""
    return 2 * wait_us(table)


def heard(table: Table) -> set[int]:
    """The ports of which any frame is in the capture, whatever Connection it belongs to."""
    found = {step.sender for step in table.events} | {step.target for step in table.events if step.what.get("of") == "FLOGI"}
    for flow in table.flows.values():
        found.update(step.sender for step in flow.steps if step.sender in flow.ids)
        found.update(flow.ids[side] for side in (0, 1) if table.scan.at(flow.index).way[side].frames)
    return found


def silence(table: Table, flow: Flow) -> Optional[Cause]:
    """A Message or a setup of a Connection that ends in silence."""
    waited = waited_us(table, flow.last_us, flow.ids, limit_us(table))
    if waited <= limit_us(table):
        return None
    cause = _setup(table, flow, waited) if flow.ended == "setup not finished" else _message(table, flow, waited)
    unheard = [port for port in flow.ids if port not in table.heard]
    if cause is not None and unheard:
        cause.names, cause.score = ("no-answer",), WEAK
        cause.text += f" No frame of {unheard[0]:06X} is in the capture: that port is not there, or one direction is shown only."
    return cause


def _setup(table: Table, flow: Flow, waited: int) -> Optional[Cause]:
    last = next((s for s in reversed(flow.steps) if s.name in _SETUPS), None)
    if last is None or flow.named("ABTS", "DISCONNECT_RQST"):
        return None
    names, missing = _SETUPS[last.name]
    text = (f"No {missing} came in {duration(waited)}, no ABTS, and no other frame of this Connection: a setup ends within "
            "FCVI_ULP_TIMEOUT (8.5.2, 8.5.3 a).")  # fmt: skip
    shown = flow.named("CONNECT_RQST")[-1:]
    return Cause(names, POSSIBLE, text, "a capture at each of the two ports", shown if last in shown else [*shown, last],
                 claims=[absent(flow, last, missing[5:], "ABTS"), quiet(table, flow, last)])  # fmt: skip


def _message(table: Table, flow: Flow, waited: int) -> Optional[Cause]:
    if flow.state != "open" or flow.named("ABTS"):
        return None
    way = table.scan.at(flow.index).way
    pending = [u for u in flow.unanswered if int(way[u["side"]].last_answered) < u["number"]]
    # who began the next Message had sent all of this one: the capture lacks the rest
    pending = [u for u in pending if u["whole"] or u["id"] == (int(way[u["side"]].next_id) - 1) & 0xFFFFFFFF]
    if not pending:  # a later one was answered, and its sender went on as if this one had been
        return _read(table, flow, waited)
    last = max(pending, key=lambda u: u["time_us"])
    side = last["side"]
    step = Step(last["number"], last["time_us"], flow.ids[side], flow.ids[1 - side], "Message", last["ox_id"], 0xFFFF)
    if last["whole"]:
        names = ("lost-response", "lost-message", "port-silent")
        text = f"The Message of {table.scan.where(last['number'])} is whole and has no Response"
    else:
        names = ("lost-message", "port-silent", "credit-starvation")
        text = f"The Message of {table.scan.where(last['number'])} stops before its end"
    text += (f", and no frame of this Connection came in {duration(waited)}. Its sender owes an ABTS after R_A_TOV "
             "(8.4.2 a).")  # fmt: skip
    latest = Step(flow.last, flow.last_us, flow.ids[side], flow.ids[1 - side], "Message", last["ox_id"], 0xFFFF)
    return Cause(names, POSSIBLE, text, "a capture at each of the two ports", [step],
                 claims=[unanswered(flow, last["number"], step), none_answered(table, flow, side, last["number"], step),
                         quiet(table, flow, latest)])  # fmt: skip


def _read(table: Table, flow: Flow, waited: int) -> Optional[Cause]:
    """A Read whose data stop. One that a Response with RESP_ERR ended has no more (5.9.4.3)."""
    read = max((u for u in flow.in_part if not _is_refused(flow, u)), key=lambda u: u["time_us"], default=None)
    if read is None:
        return None
    asker, other = flow.ids[read["side"]], flow.ids[1 - read["side"]]
    step = Step(read["number"], read["time_us"], asker, other, "Message", read["ox_id"], 0xFFFF)
    text = (f"Of the data that the Read of {table.scan.where(read['number'])} asks for the rest is not there, and no frame of this "
            f"Connection came in {duration(waited)}. Its sender owes an ABTS after R_A_TOV (8.4.2 a).")  # fmt: skip
    latest = Step(flow.last, flow.last_us, asker, other, "Message", read["ox_id"], 0xFFFF)
    return Cause(("lost-response", "port-silent"), POSSIBLE, text, "a capture at each of the two ports", [step],
                 claims=[quiet(table, flow, latest)])  # fmt: skip


def _is_refused(flow: Flow, read: dict[str, int]) -> bool:
    return any(s.name == "READ_RESP" and s.what.get("why", 0) & FAILED and s.what["id"] == read["id"]
               and s.sender == flow.ids[1 - read["side"]] for s in flow.steps)  # fmt: skip


def asks_in_vain(table: Table, flow: Flow, side: int) -> bool:
    """Whether a side waits for an answer at the end."""
    asked = [s for s in flow.steps if s.sender == flow.ids[side] and s.name in ("ABTS", "DISCONNECT_RQST")]
    last = table.last_of(flow, 1 - side)[0]
    return any(u["side"] == side and u["whole"] for u in flow.unanswered) or any(s.number > last for s in asked)


# ---- logins ----

OF_ALL = (0x00, 0x01, 0x20)  # TYPEs of ports of any FC-4: basic and extended link services, FC-CT
_REFUSALS = ("LS_RJT", "P_RJT", "F_RJT")


def services(table: Table, flows: list[Flow]) -> Iterator[Cause]:
    """Link services that came to nothing, of ports that speak FC-VI by what is seen of them: no Connection is asked for without."""
    kinds = table.scan.tally.type
    ours = any(s.name == "PRLI" and s.what.get("type") == FC_VI for s in table.events)
    if not (flows or ours) and any(kinds[kind] for kind in range(256) if kind not in OF_ALL):
        return  # a capture of other FC-4s
    for cause in (*_fabric_logins(table, flows), *_logins(table, flows), *_addresses(table, flows), *_processes(table, flows)):
        if cause.is_borne_out:
            yield cause


def _answer_to(table: Table, asked: list[Step], *, by: int, to: int) -> tuple[bool, list[Step]]:
    """Whether one of these link services was accepted, and what rejected them."""
    ox_ids = {s.ox_id for s in asked}
    behind = [s for s in table.events if s.number > asked[0].number and s.ox_id in ox_ids and s.sender == by]
    accepted = any(s.name == "LS_ACC" and s.what.get("of") == asked[0].name and not is_refusal(s) for s in behind)
    rejected = [s for s in behind if (s.name in _REFUSALS or is_refusal(s)) and s.target == to]
    refused = [s for s in rejected if s.name not in ("LS_RJT", "LS_ACC") or s.what["of"] == asked[0].name]
    return accepted, refused


def _none_accepted(table: Table, asked: list[Step], *, by: int, to: int) -> Claim:
    """None of these link services is accepted."""
    return Claim("none is accepted", lambda: not _answer_to(table, asked, by=by, to=to)[0], asked[-1], ("LS_ACC",))


def _came_to_nothing(table: Table, asked: list[Step], refused: list[Step], who: str, without: str) -> Optional[Cause]:
    """What is to be said of link services that none accepted; None while an answer may still come."""
    last = asked[-1]
    what = f"{last.name} of {who}"
    if refused:
        times, why = f"{len(refused)} times" if len(refused) > 1 else "once", reasons(refused[-1])
        text = f"{what} was rejected {times} by {refused[-1].name}{', ' if why else ''}{why}. {without}"
        return Cause(("login-refused",), STRONG, text, "zoning and the settings of both ports; the log of the port that rejects",
                     [*asked[:1], *refused[:3]])  # fmt: skip
    waited = waited_us(table, last.time_us, (last.sender, last.target), limit_us(table))
    if waited <= limit_us(table):
        return None
    text = f"{what} ({len(asked)} in all) had no answer in {duration(waited)}. {without}"
    ox_ids = {s.ox_id for s in asked}
    damaged = [s for s in table.events if s.name == "damaged frame" and s.ox_id in ox_ids and s.sender == last.target]
    if damaged:
        text = (f"{what} ({len(asked)} in all) had no answer with a right CRC in {duration(waited)}: whether the damaged frames "
                f"accept or reject is not known. {without}")  # fmt: skip
        return Cause(("login-unanswered", "login-refused"), POSSIBLE, text, "a capture at both ports; counters of CRC errors",
                     [*asked[-2:], *damaged[:2]])  # fmt: skip
    return Cause(("login-unanswered",), POSSIBLE, text, "whether that port is there; a capture at it", asked[-2:])


def _groups(table: Table, name: str) -> Iterator[list[Step]]:
    """The link services of a name, of each sender and receiver; a FLOGI, which has no sender yet, by its Port_Name."""
    found: dict[tuple[int, int, str], list[Step]] = {}
    for step in table.events:
        if step.name == name:
            found.setdefault((step.sender, step.target, step.what.get("Port_Name", "")), []).append(step)
    yield from found.values()


def _fabric_logins(table: Table, flows: list[Flow]) -> Iterator[Cause]:
    """FLOGIs of a port that is never heard afterwards. A port of another FC-4 says nothing of itself in one, so where no port
    speaks FC-VI only those count that were rejected."""
    for asked in _groups(table, "FLOGI"):
        first = asked[0]
        accepted, refused = _answer_to(table, asked, by=first.target, to=0)
        port_name = first.what.get("Port_Name", "")
        known = port_name and int(port_name, 16) in table.names.values()
        if not (flows or refused) or not port_name or accepted or known:
            continue
        cause = _came_to_nothing(table, asked, refused, f"the port {port_name}", "Without it a port has no N_Port_ID (7.7.5).")
        if cause is not None:
            cause.claims.append(_none_accepted(table, asked, by=first.target, to=0))
            yield cause


def _again(table: Table, asked: list[Step]) -> tuple[list[Step], bool]:
    """Those PLOGIs that no accepted one of the two ports precedes, or that are behind a LOGO; and which of the two they are."""
    between = [s for s in table.events if s.ports == asked[0].ports]
    login = max((s.number for s in between if s.name == "LS_ACC" and s.what.get("of") == "PLOGI"), default=0)
    logout = max((s.number for s in between if s.name == "LOGO"), default=0)
    is_logged_out = logout > login > 0
    return [s for s in asked if s.number > (logout if is_logged_out else login)], is_logged_out


def _logins(table: Table, flows: list[Flow]) -> Iterator[Cause]:
    speak = {port for flow in flows for port in flow.ids}
    for group in _groups(table, "PLOGI"):
        asked, is_logged_out = _again(table, group)
        if not asked or asked[0].target >= 0xFFFC00 or (asked != group and not is_logged_out):
            continue
        first, last = asked[0], asked[-1]
        if not ({first.sender, first.target} & speak or all(last.what.get(bit) for bit in ("ciro", "seq_cnt_s"))):
            continue  # initiators of other FC-4s refuse each other all day
        _, refused = _answer_to(table, asked, by=first.target, to=first.sender)
        if not refused and {first.sender, first.target} <= speak:
            continue
        if is_logged_out and len(refused) < 2:
            continue  # a port that is restarted says so for a while
        who = f"{first.sender:06X} to {first.target:06X}"
        cause = _came_to_nothing(table, asked, refused, who, "Without a login there is no Connection (7.7.1).")
        if cause is not None:
            cause.claims.append(no_login(table, first))
            if is_logged_out:  # a Connection that goes on shows that the login does
                between = [flow for flow in flows if set(flow.ids) == first.ports]
                cause.claims += [quiet(table, flow, first) for flow in between]
            if not refused and first.target not in table.heard:
                cause.names, cause.score = ("no-answer",), WEAK
            yield cause


def _goes_on(table: Table, flows: list[Flow], asked: Step, port: Optional[int] = None) -> Claim:
    """Whether the sender of a link service asked for no Connection behind it, with a port or with any."""

    def holds() -> bool:
        ports = {asked.sender} if port is None else {asked.sender, port}
        # an address that a Connection has is asked for again by who wants to be sure of it
        is_known = any(a is not None and a[0] == asked.what.get("asks") for flow in flows for a in flow.addresses)
        begins = port is None and not is_known
        return not any(ports <= set(flow.ids) and (flow.first if begins else flow.last) > asked.number for flow in flows)

    return Claim("no Connection follows", holds, asked, ("CONNECT_RQST",))


def _processes(table: Table, flows: list[Flow]) -> Iterator[Cause]:
    """PRLI for FC-VI, which the standard of 2007 does not ask for, and some ports do."""
    for asked in _groups(table, "PRLI"):
        first = asked[0]
        if first.what.get("type") != FC_VI:
            continue
        accepted, refused = _answer_to(table, asked, by=first.target, to=first.sender)
        who = f"{first.sender:06X} to {first.target:06X} for TYPE 58h"
        cause = None if accepted else _came_to_nothing(table, asked, refused, who, "No Connection was asked for behind it.")
        if cause is not None:
            cause.score = POSSIBLE
            cause.claims.append(_goes_on(table, flows, first, first.target))
            yield cause


def _addresses(table: Table, flows: list[Flow]) -> Iterator[Cause]:
    """FARP-REQs to which no port answers with FARP-REPLY (7.5)."""
    for asked in _groups(table, "FARP-REQ"):
        first, last = asked[0], asked[-1]
        waited = waited_us(table, last.time_us, (last.sender, last.target), limit_us(table))
        replies = [s for s in table.events if s.name == "FARP-REPLY" and s.target == first.sender and s.number > first.number]
        if not last.what.get("asks") or replies or waited <= limit_us(table):
            continue
        text = (f"FARP-REQ of {first.sender:06X} for {last.what['asks']} ({len(asked)} in all) had no FARP-REPLY in "
                f"{duration(waited)}: no port that hears it has that Host Address, or its answer was lost (7.5).")  # fmt: skip
        yield Cause(("address-unanswered",), POSSIBLE, text, "the Host Addresses of the ports, and whether a Name Server is used "
                    "(7.6)", asked[-2:], claims=[_goes_on(table, flows, first)])  # fmt: skip


# ---- virtual links ----


def keep_alives(table: Table, flow: Flow) -> Optional[Cause]:
    """The keep-alives of one of its ports stopped, and nothing of the Connection follows: the virtual link ended, and the login
    with it."""
    for station, gone_us in table.alive.stopped(table.last_us):
        ports = {station.port} if station.port is not None else table.at_station(station.source)
        port = next((port for port in flow.ids if port in ports), None)
        if station.network not in (flow.network, 0) or port is None or not flow.first_us <= station.time_us:
            continue
        if flow.state == "closed" and not asks_in_vain(table, flow, 1 - flow.ids.index(port)):
            continue  # it ended before
        step = Step(station.number, station.time_us, port, 0xFFFFFE, "FIP Keep Alive", 0xFFFFFFFF, 0xFFFFFFFF)
        text = f"The keep-alives of {port:06X} stop {duration(gone_us)} before the capture ends, and no frame of it follows."
        limit, usual_us = table.alive.limit_us(station), 3 * station.longest_us
        if gone_us > limit:
            text += (f" After two and a half periods ({duration(limit)}) the FCF takes the virtual link for gone, and the login "
                     "with it (7.7.1).")  # fmt: skip
        after = Step(station.number, station.time_us + min(limit, usual_us), port, 0xFFFFFE, "", 0, 0)
        claim = quiet(table, flow, after, flow.ids.index(port))
        if claim.holds():
            names = ("keep-alive-stopped", "port-silent") if gone_us > limit else ("port-silent", "keep-alive-stopped")
            return Cause(names, PROBABLE, text, "the log of the FCF, and of that port", [step], claims=[claim])
    return None
