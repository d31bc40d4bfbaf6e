"""Claims: what sentences about a Connection say of frames that are there or are not, asked of all that the table kept."""

from __future__ import annotations

from typing import Optional

from .cause import Claim
from .table import Flow, Step, Table


def absent(flow: Flow, of: Step, *names: str, until: Optional[Step] = None) -> Claim:
    """No frame with one of these names is in the Exchange of a frame, behind it and before another."""

    def holds() -> bool:
        end = until.number if until is not None else float("inf")
        return not any(s.is_of(of) and s.name in names and of.number < s.number < end for s in flow.steps)

    return Claim(f"no {' or '.join(names)} in the Exchange", holds, of, names)


def never(flow: Flow, after: Step, *names: str) -> Claim:
    """No frame with one of these names is on the Connection behind a frame."""
    return Claim(f"no {' or '.join(names)} follows", lambda: not any(s.number > after.number for s in flow.named(*names)), after,
                 names)  # fmt: skip


def first(flow: Flow, about: Step) -> Claim:
    """No frame of its name is on the Connection before a frame."""
    return Claim(f"no {about.name} before", lambda: not any(s.number < about.number for s in flow.named(about.name)), about,
                 (f"an earlier {about.name}",))  # fmt: skip


def unheard(table: Table, flow: Flow) -> Claim:
    """One of the two ports says nothing in the capture, on the Connection or elsewhere."""
    return Claim("no frame of one port", lambda: not table.heard.issuperset(flow.ids), flow.steps[0] if flow.steps else None,
                 ("LS_ACC",))  # fmt: skip


def none_by(flow: Flow, about: Step, name: str) -> Claim:
    """The sender of a frame sent none with a name, before it or behind it."""
    return Claim(f"no {name} of {about.sender:06X}", lambda: not any(s.sender == about.sender for s in flow.named(name)), about,
                 (name,))  # fmt: skip


def quiet(table: Table, flow: Flow, after: Step, *sides: int) -> Claim:
    """No frame of the Connection, or of sides of it, follows, or none by more than the clocks of the capture differ."""

    def holds() -> bool:
        number, time_us = table.last_of(flow, *sides)
        return number <= after.number or (0 < time_us <= after.time_us + table.blur_us)

    side = sides[0] if sides else 0
    about = Step(after.number, after.time_us, flow.ids[side], flow.ids[1 - side], after.name, after.ox_id, after.rx_id)
    whose = f" of {flow.ids[side]:06X}" if sides else ""
    return Claim(f"no frame of the Connection{whose} follows", holds, about, ("SEND_RQST",))


def none_answered(table: Table, flow: Flow, side: int, since: int, about: Optional[Step] = None) -> Claim:
    """No Message of a side is answered from one on, which is named by its first frame."""
    return Claim("no later Message is answered", lambda: int(table.scan.at(flow.index).way[side].last_answered) < since, about,
                 ("SEND_RESP",))  # fmt: skip


def unanswered(flow: Flow, number: int, about: Optional[Step] = None) -> Claim:
    """A Message has no Response; it is named by its first frame."""
    left_off = flow.unanswered_count > len(flow.unanswered)
    return Claim("the Message has no Response", lambda: left_off or any(u["number"] == number for u in flow.unanswered), about,
                 ("SEND_RESP",))  # fmt: skip


def nothing_lost(table: Table, flow: Flow, about: Step) -> Claim:
    """No bytes and no Messages of the Connection are missing."""
    way = table.scan.at(flow.index).way
    return Claim("nothing is missing", lambda: not any(w.gaps for w in (way[0], way[1])), about, ("a frame",))


def in_order(table: Table, flow: Flow, about: Step) -> Claim:
    """Nothing of the Connection is missing, and nothing came late."""
    way = table.scan.at(flow.index).way
    return Claim("all is there in order", lambda: not any(w.gaps or w.late for w in (way[0], way[1])), about, ("a frame",))


def no_login(table: Table, asked: Step) -> Claim:
    """No PLOGI of the two ports is accepted behind a frame."""

    def holds() -> bool:
        return not any(s.name == "LS_ACC" and s.what.get("of") == "PLOGI" and s.ports == asked.ports and s.number > asked.number
                       for s in table.events)  # fmt: skip

    return Claim("no PLOGI is accepted", holds, asked, ("LS_ACC",))


def no_parameters(table: Table, flow: Flow, about: Step) -> Claim:
    """No PLOGI of the two ports is in the capture before a frame, nor the answer to one."""

    def holds() -> bool:
        return not any("ciro" in s.what and s.ports == set(flow.ids) and s.number < about.number for s in table.events)

    return Claim("no PLOGI is before it", holds, about, ("PLOGI",))


def not_rejected(table: Table, asked: Step) -> Claim:
    """A link service is not rejected."""

    def holds() -> bool:
        return not any(s.name in ("LS_RJT", "P_RJT", "F_RJT") and s.ports == asked.ports and s.ox_id == asked.ox_id
                       and s.number > asked.number for s in table.events)  # fmt: skip

    return Claim("it is not rejected", holds, asked, ("LS_RJT",))
