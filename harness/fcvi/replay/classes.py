"""Says what a difference means: the standard forbids it, permits it, or somebody has to look.

``breach``: codec or monitor find what the recorded device did not do wrong, or the case that was recorded fails on this device.
``permitted``: the standard leaves it to the device. That is so for the fields below, for the order of what belongs to several
Exchanges, and for every frame, change of state and look into memory in a case that passes on this device: codec, monitor and the
case have judged them all.
``suspicious``: nothing forbids it that the suite knows of, and nothing says that it is the device's choice. It accuses nobody:
another device, another host or another clock makes such differences too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from fcvi.engine.results import Result, Verdict
from .difference import BREACH, PERMITTED, SUSPICIOUS, Difference

#: Fields that a device fills as it likes, and why. A structure of its own, or "" for any.
_FREE = {
    ("", "BB_Credit"): "a port tells how many receive buffers it has (FC-FS, Login)",
    ("", "Total Concurrent Sequences and Relative Offset, or R_A_TOV"): "a port tells what it can do (FC-FS, Login)",
    ("", "Total Concurrent Sequences"): "a port tells what it can do (FC-FS, Login)",
    ("", "Open Sequences per Exchange"): "a port tells what it can do (FC-FS, Login)",
    ("", "Concurrent Sequences"): "a port tells what it can do (FC-FS, Login)",
    ("", "Receive Data Field Size"): "a port tells what it can take in (FC-FS, Login)",
    ("", "Vendor Version Level"): "it is the vendor's (FC-FS, Login)",
    ("", "Vendor Unique"): "it is the vendor's (FC-FS)",
    ("Frame_Header", "CS_CTL"): "nobody but the Fabric looks at it in class 3 (FC-FS)",
}
_CALLS = {  # members of results that a device may leave out (the DUT protocol)
    "VipQueryVi state", "VipQueryVi State", "VipQueryVi ViSendQEmpty", "VipQueryVi ViRecvQEmpty", "VipQueryVi ViAttribs",
}  # fmt: skip

#: Link services of whose use FC-VI says something; of all others it says nothing (E84).
_OURS = frozenset({"PLOGI", "LOGO", "FARP_REQ", "FARP_REPLY"})
_NOT_SERVED = "error -32601"


def classify(difference: Difference, case: Optional[Result]) -> Difference:
    """The difference with its class. case: how the recorded case went on this device; None when that is not known."""
    if difference.kind in ("finding", "case"):
        return replace(difference, cls=BREACH)
    why = _FREE.get(("", difference.field)) or _FREE.get((difference.structure, difference.field))
    if difference.kind == "field" and why is not None:
        return replace(difference, cls=PERMITTED, why=why)
    if difference.kind == "call" and difference.field in _CALLS and difference.seen == "nothing":
        return replace(difference, cls=PERMITTED, why="a device may leave this member out (DUT protocol)")
    if difference.kind == "call" and _NOT_SERVED in (difference.seen, difference.recorded):
        return replace(difference, cls=SUSPICIOUS, why="a call that is not served decides nothing that needs it (DUT protocol)")
    if difference.kind == "service" and difference.field not in _OURS:
        return replace(difference, cls=PERMITTED, why="FC-VI does not say which other link services a port uses (E84)")
    if difference.kind == "order":
        return replace(difference, cls=PERMITTED, why="no requirement orders what belongs to several Exchanges")
    of_the_wire = difference.kind in ("field", "missing", "additional", "service")
    judged = of_the_wire or difference.field.split(" ")[0] in ("state", "mem.read")
    if case is not None and case.verdict == Verdict.PASS and judged:
        return replace(difference, cls=PERMITTED, why=f"the case {case.id} passes on this device")
    return replace(difference, cls=SUSPICIOUS)


def of_case(case: Result) -> list[Difference]:
    """What the recorded case holds against this device."""
    if case.verdict != Verdict.FAIL:
        return []
    broken = [f for f in case.findings if f.erratum is None and f.cls != "notice"]
    if not broken:
        return [Difference("case", case.id, "pass", case.reason[:300])]
    return [Difference("case", f.requirement, str(f.required), str(f.seen), iu=f.message[:200]) for f in broken]
