"""The phases of conformance of VI-DG 2.2, as a result of their own: the highest one that holds.

The phases are cumulative. A row belongs to the phase that first asks for what the row's condition names; RDMA Read and
Reliable Reception belong to none, and neither does what only a fault below the calls can show.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, Mapping, Sequence

from fcvi.engine.catalogue import NOT_TESTED, REQUIREMENTS, Requirement, rows
from fcvi.engine.results import Result

EARLY, FUNCTIONAL, FULL = "Early Adopter", "Functional", "Full"
#: VI-DG 2.2.2 and 2.2.3: the calls that each phase adds to those before it.
CALLS = {
    EARLY: (
        "VipOpenNic VipCloseNic VipCreateVi VipDestroyVi VipConnectWait VipConnectAccept VipConnectReject VipConnectRequest "
        "VipDisconnect VipQueryNic VipQueryVi VipQueryMem VipPostSend VipSendDone VipSendWait VipPostRecv VipRecvDone "
        "VipRecvWait VipRegisterMem VipDeregisterMem"
    ).split(),
    FUNCTIONAL: (
        "VipConnectPeerRequest VipConnectPeerDone VipConnectPeerWait VipCQDone VipCQWait VipCreateCQ VipDestroyCQ VipResizeCQ "
        "VipCreatePtag VipDestroyPtag VipNSInit VipNSGetHostByName VipNSGetHostByAddr VipNSShutdown VipErrorCallback"
    ).split(),
    FULL: (
        "VipSendNotify VipRecvNotify VipCQNotify VipSetViAttributes VipSetMemAttributes VipQuerySystemManagementInfo"
    ).split(),
}
#: The row that says what each phase consists of.
ROWS = {EARLY: "VIPL-G2.2.1-01", FUNCTIONAL: "VIPL-G2.2.2-01", FULL: "VIPL-G2.2.3-01"}
_LATER = {
    **dict.fromkeys(("CQ", "CALLBACK", "PEER", "NS", "PTAG"), FUNCTIONAL),
    **dict.fromkeys(("NOTIFY", "SETATTR", "SMI", "UD"), FULL),
}
_NO_PHASE = {"RR", "RDMA-READ", "FAULT", "TWO-PROCESSES"}


def phase_of(condition: str) -> str:
    """The phase that a row with this condition belongs to; "" for none. An alternative ("RD or RR") asks for the least of its
    members."""
    found = []
    for part in condition.split(" and "):
        members = part.split(" or ")
        phases = ["" if m in _NO_PHASE else _LATER.get(m, EARLY) for m in members]
        found.append(min((p for p in phases if p), key=list(ROWS).index, default=""))
    return "" if "" in found else max(found, key=list(ROWS).index)


@functools.lru_cache(maxsize=1)
def _rows() -> Mapping[str, tuple[str, ...]]:
    """The demands of each phase that can be tested."""
    of: dict[str, list[str]] = {phase: [] for phase in ROWS}
    owners = {row: phase for phase, row in ROWS.items()}
    for r in (Requirement(**row) for row in rows(Path(__file__).resolve().parent / REQUIREMENTS)):
        phase = owners.get(r.id) or phase_of(r.condition)
        if phase and r.testable and r.level == "shall":
            of[phase].append(r.id)
    return {phase: tuple(found) for phase, found in of.items()}


@functools.lru_cache(maxsize=1)
def _unbreakable() -> frozenset[str]:
    """What no provider can break, so that no run needs to try it. The row of a phase is tried all the same: its calls are."""
    found = rows(Path(__file__).resolve().parent / NOT_TESTED)
    return frozenset(row["requirement"] for row in found).difference(ROWS.values())


def phases(results: Sequence[Result], verdicts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Each phase in order, with what stands against it; empty when nothing of the phases was tried.

    Args:
        results: of the whole run.
        verdicts: of each requirement.

    Returns:
        For each phase "name"; "holds": "yes", "no", or "open" when a demand of the phase was not tried or an earlier phase is
        open; "broken": its demands that failed, or that the provider does not have; "open": those without a verdict. One that
        no provider can break has none where no case names it: that keeps no phase open.
    """
    if not any(row in verdicts for row in ROWS.values()):
        return []
    lacking = {f.requirement for r in results for f in r.findings if f.requirement in ROWS.values()}
    told: list[dict[str, Any]] = []
    before = "yes"
    for name, demands in _rows().items():
        broken = [row for row in demands if row in lacking or verdicts.get(row) in ("fail", "not-applicable")]
        untried = [row for row in demands if row not in broken and verdicts.get(row) in (None, "error")]
        needed = [row for row in untried if row not in _unbreakable()]
        holds = "no" if broken or before == "no" else "open" if needed or before == "open" else "yes"
        idle = [row for row in demands if verdicts.get(row) == "inconclusive" and row not in broken]
        told.append({"name": name, "holds": holds, "broken": broken, "open": sorted(untried + idle)})
        before = holds
    return told
