"""Say what was asked and not answered although the capture went on: silence is evidence, and convicts nobody."""

from __future__ import annotations

from typing import Iterator, Optional

from .cause import POSSIBLE, R_A_TOV_US, WEAK, Cause
from .claims import absent, no_login, none_answered, quiet, unanswered
from .fip import VN_PORT_US
from .table import Flow, Step, Table
from .units import duration
from .words import reasons

#: What may have become of a setup, by the IU that came last of it.
_SETUPS = {
    "CONNECT_RQST": (("lost-request", "lost-resp1", "slow-accept", "port-silent"), "FCVI_CONNECT_RESP1"),
    "CONNECT_RESP1": (("lost-resp1", "lost-resp2", "port-silent"), "FCVI_CONNECT_RESP2"),
    "CONNECT_RESP2": (("lost-resp2", "lost-resp3", "port-silent"), "FCVI_CONNECT_RESP3"),
}


def limit_us(table: Table) -> int:
    """No answer takes longer, and no requester waits so long without a word: FCVI_ULP_TIMEOUT is R_A_TOV (8.3), and an ABTS
    needs as long again."""
    return 2 * (table.r_a_tov_us or R_A_TOV_US)


def is_heard(table: Table, port: int) -> bool:
    """Whether any frame of a port is in the capture, whatever Connection it belongs to."""
    if any(step.sender == port for step in table.events):
        return True
    for flow in table.flows.values():
        if port in flow.ids and any(step.sender == port for step in flow.steps):
            return True
        if any(flow.ids[side] == port and table.scan.at(flow.index).way[side].frames for side in (0, 1)):
            return True
    return False


def silence(table: Table, flow: Flow) -> Optional[Cause]:
    """A Message or a setup of a Connection that ends in silence."""
    waited = table.last_us - flow.last_us
    if waited <= limit_us(table):
        return None
    cause = _setup(table, flow, waited) if flow.ended == "setup not finished" else _message(table, flow, waited)
    unheard = [port for port in flow.ids if not is_heard(table, port)]
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
    if flow.state != "open" or not flow.unanswered or flow.named("ABTS"):
        return None
    way = table.scan.at(flow.index).way
    pending = [u for u in flow.unanswered if int(way[u["side"]].last_answered) < u["number"]]
    if not pending:
        return None  # a later one was answered, and its sender went on as if this one had been
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


# ---- logins ----

_REFUSALS = ("LS_RJT", "P_RJT", "F_RJT")


def logins(table: Table, flows: list[Flow]) -> Iterator[Cause]:
    """PLOGIs that came to nothing, of ports that speak FC-VI, by what is seen of them: no Connection is asked for without one."""
    speak = {port for flow in flows for port in flow.ids}
    by_pair: dict[tuple[int, int], list[Step]] = {}
    for step in table.events:
        if step.name == "PLOGI":
            by_pair.setdefault((step.sender, step.target), []).append(step)
    for (sender, target), asked in by_pair.items():
        answers = [s for s in table.events if s.sender == target and s.target == sender and s.number > asked[0].number]
        if any(s.name == "LS_ACC" and s.what.get("of") == "PLOGI" for s in answers) or target >= 0xFFFC00:
            continue
        if not ({sender, target} & speak or all(asked[-1].what.get(bit) for bit in ("ciro", "seq_cnt_s"))):
            continue  # initiators of other FC-4s refuse each other all day
        refused = [s for s in answers if s.name in _REFUSALS and (s.name != "LS_RJT" or s.what.get("of") == "PLOGI")]
        refused = [s for s in refused if any(s.ox_id == one.ox_id for one in asked)]
        if refused:
            cause = _refused(refused, sender, target, asked)
        elif table.last_us - asked[-1].time_us > limit_us(table) and not {sender, target} <= speak:
            cause = _unanswered(table, asked)
        else:
            continue
        cause.claims.append(no_login(table, asked[-1]))
        if cause.is_borne_out:
            yield cause


def _refused(refused: list[Step], sender: int, target: int, asked: list[Step]) -> Cause:
    times = f"{len(refused)} times" if len(refused) > 1 else "once"
    why = reasons(refused[-1])
    text = f"PLOGI of {sender:06X} to {target:06X} was rejected {times} by {refused[-1].name}{', ' if why else ''}{why}."
    text += " Without a login there is no Connection (7.7.1)."
    return Cause(("login-refused",), 90, text, "zoning and the settings of both ports; the log of the port that rejects",
                 [*asked[:1], *refused[:3]])  # fmt: skip


def _unanswered(table: Table, asked: list[Step]) -> Cause:
    last = asked[-1]
    name, score = ("login-unanswered", POSSIBLE) if is_heard(table, last.target) else ("no-answer", WEAK)
    text = (f"PLOGI of {last.sender:06X} to {last.target:06X} ({len(asked)} in all) had no answer in "
            f"{duration(table.last_us - last.time_us)}. Without a login there is no Connection (7.7.1).")  # fmt: skip
    return Cause((name,), score, text, "whether that port is there; a capture at it", asked[-2:])


# ---- virtual links ----


def keep_alives(table: Table, flow: Flow) -> Optional[Cause]:
    """The keep-alives of one of its ports stopped, and nothing of the Connection follows: the virtual link ended, and the login
    with it."""
    for station, gone_us in table.alive.stopped(table.last_us):
        port = station.port if station.port is not None else table.stations.get(station.source, station.source & 0xFFFFFF)
        if station.network != flow.network or port not in flow.ids or not flow.first_us <= station.time_us:
            continue
        step = Step(station.number, station.time_us, port, 0xFFFFFE, "FIP Keep Alive", 0xFFFFFFFF, 0xFFFFFFFF)
        period_us = VN_PORT_US if station.port is not None else table.alive.period_us or 8_000_000
        text = (f"The keep-alives of {port:06X} stop {duration(gone_us)} before the capture ends; after two and a half periods "
                f"({duration(5 * period_us // 2)}) the FCF takes the virtual link for gone, and the login with it "
                "(7.7.1).")  # fmt: skip
        after = Step(station.number, station.time_us + 5 * period_us // 2, port, 0xFFFFFE, "", 0, 0)
        if flow.last_us > after.time_us:
            continue
        return Cause(("keep-alive-stopped", "port-silent"), POSSIBLE, text, "the log of the FCF, and of that port", [step])
    return None
