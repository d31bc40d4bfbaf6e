"""Say what was asked and not answered although the capture went on: silence is evidence, and convicts nobody."""

from __future__ import annotations

from typing import Iterator, Optional

from .cause import POSSIBLE, R_A_TOV_US, WEAK, Cause
from .table import Flow, Step, Table

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
    cause = _setup(flow, waited) if flow.ended == "setup not finished" else _message(flow, waited)
    unheard = [port for port in flow.ids if not is_heard(table, port)]
    if cause is not None and unheard:
        cause.names, cause.score = ("no-answer",), WEAK
        cause.text += f" No frame of {unheard[0]:06X} is in the capture: that port is not there, or one direction is shown only."
    return cause


def _setup(flow: Flow, waited: int) -> Optional[Cause]:
    last = next((s for s in reversed(flow.steps) if s.name in _SETUPS), None)
    if last is None or flow.named("ABTS", "DISCONNECT_RQST"):
        return None
    names, missing = _SETUPS[last.name]
    text = (f"No {missing} came in {waited} us, no ABTS, and no other frame of this Connection: a setup ends within "
            "FCVI_ULP_TIMEOUT (8.5.2, 8.5.3 a).")  # fmt: skip
    shown = flow.named("CONNECT_RQST")[-1:]
    return Cause(names, POSSIBLE, text, "a capture at each of the two ports", shown if last in shown else [*shown, last])


def _message(flow: Flow, waited: int) -> Optional[Cause]:
    if flow.state != "open" or not flow.unanswered:
        return None
    last = max(flow.unanswered, key=lambda u: u["time_us"])
    if flow.last_us > last["time_us"]:
        return None  # what went on behind it says that it was answered, or given up
    side = last["side"]
    step = Step(last["number"], last["time_us"], flow.ids[side], flow.ids[1 - side], "Message", last["ox_id"], 0xFFFF)
    if last["whole"]:
        names = ("lost-response", "lost-message", "port-silent")
        text = f"The Message of frame {last['number']} is whole and has no Response"
    else:
        names = ("lost-message", "port-silent", "credit-starvation")
        text = f"The Message of frame {last['number']} stops before its end"
    text += (f", and no frame of this Connection came in {waited} us. Its sender owes an ABTS after R_A_TOV "
             "(8.4.2 a).")  # fmt: skip
    return Cause(names, POSSIBLE, text, "a capture at each of the two ports", [step])


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
            yield _refused(refused, sender, target, asked)
        elif table.last_us - asked[-1].time_us > limit_us(table) and not {sender, target} <= speak:
            yield _unanswered(table, asked)


def _refused(refused: list[Step], sender: int, target: int, asked: list[Step]) -> Cause:
    from fcvi.fc.codec import FIELDS

    last = refused[-1]
    times = f"{len(refused)} times" if len(refused) > 1 else "once"
    text = f"PLOGI of {sender:06X} to {target:06X} was rejected {times} by {last.name}"
    if last.name == "LS_RJT" and "reason" in last.what:
        words = [dict(FIELDS["LS_RJT"][name].codes).get(last.what[key], "") for name, key in
                 (("LS_Reason", "reason"), ("LS_Explanation", "explanation"))]  # fmt: skip
        text += f", reason {last.what['reason']:02X}h ({words[0] or 'unknown'}), "
        text += f"explanation {last.what['explanation']:02X}h ({words[1] or 'unknown'})"
    elif "code" in last.what:
        text += f", reason {last.what['code']:02X}h"
    text += ". Without a login there is no Connection (7.7.1)."
    return Cause(("login-refused",), 90, text, "zoning and the settings of both ports; the log of the port that rejects",
                 [*asked[:1], *refused[:3]])  # fmt: skip


def _unanswered(table: Table, asked: list[Step]) -> Cause:
    last = asked[-1]
    name, score = ("login-unanswered", POSSIBLE) if is_heard(table, last.target) else ("no-answer", WEAK)
    text = (f"PLOGI of {last.sender:06X} to {last.target:06X} ({len(asked)} in all) had no answer in "
            f"{table.last_us - last.time_us} us. Without a login there is no Connection (7.7.1).")  # fmt: skip
    return Cause((name,), score, text, "whether that port is there; a capture at it", asked[-2:])
