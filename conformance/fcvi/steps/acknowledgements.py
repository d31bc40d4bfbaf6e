"""Class 2: whoever receives a frame acknowledges it (FC-FS)."""

from __future__ import annotations

from typing import Optional

from fcvi.fc import build, codes
from fcvi.fc.scenario import Scenario

_HANDED_ON = ("ACK_0", "ACK_1", "P_BSY", "F_BSY", "P_RJT", "F_RJT")
_Name = tuple[int, int, Optional[int]]


def _sent(t: Scenario) -> dict[_Name, int]:
    """The tester's frames of FC-VI in class 2 that reached the DUT whole, by OX_ID, SEQ_ID and SEQ_CNT: their numbers."""
    found: dict[_Name, int] = {}
    for number, entry, frame in t.crossed("tester"):
        if entry.lost or entry.sof not in build.SOF[2] or frame.header("TYPE") != codes.TYPE.FC_VI:
            continue
        name = tuple(frame.header(field) for field in ("OX_ID", "SEQ_ID", "SEQ_CNT"))
        found[name[0], name[1], name[2]] = number
    return found


def _without(t: Scenario) -> list[int]:
    """Numbers of the frames for which nothing has come. An ACK_0 stands for its whole Sequence."""
    seen: set[_Name] = set()
    for answer in t.tester.inbox:
        if answer.kind == "ACK_1" and answer.fc("Parameter") & 0xFFFF != 1:
            continue
        if answer.kind in _HANDED_ON:
            seen.add((answer.fc("OX_ID"), answer.fc("SEQ_ID"), None if answer.kind == "ACK_0" else answer.fc("SEQ_CNT")))
    return [number for name, number in _sent(t).items() if name not in seen and (name[0], name[1], None) not in seen]


def check_acknowledged(t: Scenario, requirement: str) -> None:
    """In class 2 each frame of the tester has its ACK within E_D_TOV. Only for cases whose frames are all right."""
    if t.tester.service_class != 2:
        return
    t.until(lambda: not _without(t), t.pixit.e_d_tov_us + t.pixit.late_us)
    left = _without(t)
    first = f"frame {left[0]} of the tester" if left else ""
    t.require(not left, requirement, "frames of class 2 without an ACK", f"{len(left)} of {len(_sent(t))}, first {first}",
              "an ACK_1 for each with its SEQ_ID, its SEQ_CNT and Parameter 1, or an ACK_0 for the Sequence")  # fmt: skip
