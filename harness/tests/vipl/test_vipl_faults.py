"""Providers that are wrong in one thing, made of ours by a library that stands before it: the row that is broken catches each.

The faults of this file are codes that a call returns; vipl_twists.py has those of memory, order, handlers, connections and states.
As a program it tries every one: ``python3 -m harness.tests.vipl.test_vipl_faults``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Sequence

import pytest

from conformance.vipl.cases import all_cases

from ..conftest import FCVI, ROOT
from .vipl_twists import ODD as ODD_TWISTS
from .vipl_twists import TWISTS, Twist

BUILD = Path(os.environ.get("FCVI_BUILD", str(ROOT / "build")))
CODES = ROOT / "refimpl/vipl/include/fcvi/vip_codes.h"
SAMPLE = 7  # in a run of the tests every seventh
#: Of the twisted providers, those of each kind that a run of the tests has: they need few cases and no silence.
QUICK = frozenset((
    "set-mem-1", "mem-told-0", "register-fails-with", "immediate-counts", "done-twice-0", "vi-told-2", "notify-times-2-1",
    "error-context", "wait-tells-3", "state-told-0-3", "nic-told-0-0", "exact-name", "found-1",
))  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """What a provider does wrong, and the row that forbids it."""

    row: str
    call: str
    was: str  # the code that a right provider returns, "any" error; or what is wrong with a Descriptor that the call brings
    told: str = ""  # the code that this one returns

    def __str__(self) -> str:
        return f"{self.row}-{self.call}-{self.was}-{self.told}".strip("-")

    def variable(self) -> str:
        """As shim.c has it."""
        numbers = {name: number for name,
                   number in re.findall(r"VIP_(\w+) = (\d+),", CODES.read_text(encoding="utf-8").split("};")[0])}
        codes = {**numbers, "any": "-1"}
        return f"Vip{self.call} {codes[self.was]} {codes[self.told]}" if self.told else f"Vip{self.call} {self.was}"


def _faults() -> list[Fault]:
    table = """
    G3.2.1-02 CreateVi INVALID_PARAMETER ERROR_RESOURCE
    G3.2.1-03 CreateVi INVALID_RELIABILITY_LEVEL INVALID_PARAMETER
    G3.2.1-04 CreateVi INVALID_MTU INVALID_PARAMETER
    G3.2.2-01 DestroyVi any SUCCESS
    G3.2.2-02 QueryVi INVALID_PARAMETER SUCCESS
    G3.3.1-04 ConnectWait TIMEOUT NO_MATCH
    G3.3.2-01 ConnectAccept INVALID_STATE INVALID_PARAMETER
    G3.3.2-04 ConnectAccept INVALID_MTU INVALID_PARAMETER
    G3.3.2-08 ConnectAccept INVALID_PARAMETER SUCCESS
    G3.3.3-02 ConnectReject INVALID_PARAMETER SUCCESS
    G3.3.4-03 ConnectRequest INVALID_PARAMETER SUCCESS
    G3.3.4-06 ConnectRequest TIMEOUT NO_MATCH
    G3.3.4-07 ConnectRequest NO_MATCH INVALID_STATE
    G3.3.4-08 ConnectRequest INVALID_STATE INVALID_PARAMETER
    G3.3.5-08 Disconnect INVALID_PARAMETER SUCCESS
    G3.3.6-03 ConnectPeerRequest INVALID_PARAMETER SUCCESS
    G3.3.6-05 ConnectPeerRequest INVALID_STATE SUCCESS
    G3.3.6-04 ConnectPeerWait TIMEOUT INVALID_STATE
    G3.3.7-02 ConnectPeerDone NOT_DONE TIMEOUT
    G3.3.7-05 ConnectPeerDone INVALID_STATE NOT_DONE
    G3.3.7-06 ConnectPeerDone INVALID_PARAMETER NOT_DONE
    G3.4.2-01 DestroyPtag any SUCCESS
    G3.4.2-02 DestroyPtag INVALID_PARAMETER SUCCESS
    G3.4.3-04 RegisterMem INVALID_PARAMETER ERROR_RESOURCE
    G3.4.3-07 RegisterMem INVALID_PTAG INVALID_PARAMETER
    G3.4.3-09 RegisterMem ERROR_RESOURCE INVALID_PARAMETER
    G3.4.4-02 DeregisterMem INVALID_PARAMETER SUCCESS
    G3.5.1-02 PostSend INVALID_PARAMETER SUCCESS
    G3.5.4-02 PostRecv INVALID_PARAMETER SUCCESS
    G3.5.2-02 SendDone DESCRIPTOR_ERROR SUCCESS
    G3.5.2-03 SendDone DESCRIPTOR_ERROR NOT_DONE
    G3.5.3-04 SendWait ERROR_RESOURCE NOT_DONE
    G3.5.5-02 RecvDone DESCRIPTOR_ERROR SUCCESS
    G3.5.6-01 RecvWait TIMEOUT NOT_DONE
    G3.5.6-02 RecvWait DESCRIPTOR_ERROR TIMEOUT
    G3.5.6-03 RecvWait ERROR_RESOURCE TIMEOUT
    G3.5.7-01 CQDone NOT_DONE TIMEOUT
    G3.5.7-05 CQDone INVALID_PARAMETER NOT_DONE
    G3.5.8-02 CQWait TIMEOUT NOT_DONE
    G3.5.9-06 SendNotify ERROR_RESOURCE SUCCESS
    G3.5.9-07 SendNotify DESCRIPTOR_ERROR SUCCESS
    G3.5.9-09 SendNotify INVALID_PARAMETER SUCCESS
    G3.5.10-03 RecvNotify DESCRIPTOR_ERROR SUCCESS
    G3.5.10-04 RecvNotify ERROR_RESOURCE SUCCESS
    G3.5.11-04 CQNotify INVALID_PARAMETER SUCCESS
    G3.6.2-01 DestroyCQ ERROR_RESOURCE SUCCESS
    G3.7.1-02 QueryNic INVALID_PARAMETER SUCCESS
    G3.7.2-01 SetViAttributes INVALID_STATE SUCCESS
    G3.7.2-03 SetViAttributes INVALID_MTU INVALID_PARAMETER
    G3.7.3-03 QueryVi INVALID_PARAMETER SUCCESS
    G3.7.4-02 SetMemAttributes any SUCCESS
    G3.7.5-01 QueryMem INVALID_PARAMETER SUCCESS
    G3.7.6-02 QuerySystemManagementInfo ERROR_RESOURCE SUCCESS
    G3.7.6-04 QuerySystemManagementInfo INVALID_PARAMETER SUCCESS
    G3.9.1-03 NSInit ERROR_NAMESERVICE SUCCESS
    G3.9.1-04 NSInit INVALID_PARAMETER SUCCESS
    G3.9.2-04 NSGetHostByName ERROR_NAMESERVICE SUCCESS
    G3.9.3-02 NSGetHostByAddr INVALID_PARAMETER SUCCESS
    G3.9.3-03 NSGetHostByAddr ERROR_NAMESERVICE SUCCESS
    G3.9.4-01 NSShutdown ERROR_NAMESERVICE SUCCESS
    G3.5.1-02 PostSend SUCCESS NOT_DONE
    G5.2-14 RecvDone length
    S2.1.1-01 RecvDone not-done
    G5.2-36 SendDone reserved
    G5.2-37 SendDone operation
    G5.2-19 RecvDone error
    S6.1.1.1-01 RecvDone byte
    """
    return [Fault(*line.split()) for line in table.strip().splitlines()]


FAULTS = _faults()
#: What looks like a fault and is none: the text leaves the code open (A107, A51).
ODD = [Fault("G3.1.1-03", "OpenNic", "INVALID_PARAMETER", "ERROR_RESOURCE"),
       Fault("G3.2.1-06", "CreateVi", "INVALID_PTAG", "INVALID_PARAMETER")]
#: Providers that do nothing: every call returns the code.
IDLE = ("all 0", "all 1", "all 2", "all 3")


def report_of(select: str, variable: str) -> dict[str, Any]:
    """The report of the selected cases, of a provider with this fault ("": none)."""
    preload = f"{BUILD}/vipl-shim.so {BUILD}/libvipl-pair.so"
    agent = f"env LD_LIBRARY_PATH={BUILD} 'LD_PRELOAD={preload}' 'FCVI_VIPL_FAULT={variable}' {BUILD}/fcvi-agent-plain"
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            [str(FCVI), "run", "--dut", "api", "--agent", f"exec:{agent} --device VINIC0 --device VINIC1", "--select", select,
             "--formats", "json", "--report", scratch], capture_output=True, text=True, timeout=3600, check=False)  # fmt: skip
        report = Path(scratch) / "report.json"
        assert report.is_file(), done.stdout + done.stderr
        told: dict[str, Any] = json.loads(report.read_text())
    return told


def run(select: str, variable: str) -> dict[str, str]:
    """The verdict of every row that the selected cases judge, of a provider with this fault ("": none)."""
    judged: dict[str, str] = report_of(select, variable)["requirements"]
    return judged


def caught(fault: Fault) -> bool:
    """Whether a case that lists the row fails for it. On a busy host a case may end before it comes that far: it is tried again."""
    row = f"VIPL-{fault.row}"
    cases = [case.id for case in all_cases() if row in case.requirements]
    return any(run(",".join(cases), fault.variable()).get(row) == "fail" for _ in range(2))


def broken(twist: Twist) -> tuple[set[str], bool]:
    """Which rows fail when the cases of the rows run that the provider breaks, and whether a case ended in an error."""
    variable = twist.variable if twist.kind != "code" else Fault("", *twist.variable.split()).variable()
    cases = [case.id for case in all_cases() if any(f"VIPL-{row}" in case.requirements for row in twist.rows)]
    results = report_of(",".join(cases), variable)["results"]
    rows = {row.removeprefix("VIPL-") for result in results if result["verdict"] == "fail" for row in result["broken"]}
    return rows, any(result["verdict"] == "error" for result in results)


def verdict_on(twist: Twist) -> str:
    """Whether a row that the provider breaks catches it (own), another does (other), a case ends in an error, or nothing is seen.

    On a busy host a case may end before it comes that far: it is tried again."""
    seen = "not seen"
    for _ in range(2):
        rows, error = broken(twist)
        if rows & set(twist.rows):
            return "own"
        seen = "other" if rows else "error" if error and seen == "not seen" else seen
    return seen


def test_the_rows_are_rows_that_some_case_has() -> None:
    listed = {row for case in all_cases() for row in case.requirements}
    assert [f for f in FAULTS if f"VIPL-{f.row}" not in listed] == []
    assert [t for t in TWISTS if not t.rows or not {f"VIPL-{row}" for row in t.rows} <= listed] == []


def test_a_provider_without_a_fault_fails_nothing() -> None:
    assert "fail" not in run("VIPL.C1,VIPL.C2,VIPL.D1,VIPL.Q1", "").values()


@pytest.mark.parametrize("fault", FAULTS[::SAMPLE], ids=str)
def test_its_own_row_catches_each(fault: Fault) -> None:
    assert caught(fault)


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_what_the_text_leaves_open_fails_nobody(odd: Fault) -> None:
    cases = [case.id for case in all_cases() if f"VIPL-{odd.row}" in case.requirements]
    assert "fail" not in run(",".join(cases), odd.variable()).values()


@pytest.mark.parametrize("variable", IDLE)
def test_a_provider_that_does_nothing_passes_nothing(variable: str) -> None:
    assert "pass" not in run("VIPL.C*,VIPL.D1,VIPL.Q1", variable).values()


def test_a_row_that_it_breaks_catches_each_twisted_provider() -> None:
    sampled = [t for t in TWISTS if str(t) in QUICK]
    assert len(sampled) == len(QUICK)
    with ThreadPoolExecutor(4) as pool:
        assert {str(t): v for t, v in zip(sampled, pool.map(verdict_on, sampled)) if v != "own"} == {}


@pytest.mark.parametrize("odd", ODD_TWISTS[::4], ids=str)
def test_an_odd_provider_fails_nothing(odd: Twist) -> None:
    assert "fail" not in run("VIPL.D1/*-one,VIPL.D5,VIPL.D8,VIPL.C37,VIPL.X6/*-one", odd.variable).values()


def _missed(twists: Sequence[Twist], of_each: Sequence[str]) -> int:
    """Say what came of the twists, by kind; how many no row of their own caught."""
    kinds = list(dict.fromkeys(t.kind for t in twists))
    print(f"{'kind':18} {'own':>5} {'other':>6} {'error':>6} {'not seen':>9}")
    for kind in [*kinds, "all"]:
        count = Counter(v for t, v in zip(twists, of_each) if kind in (t.kind, "all"))
        print(f"{kind:18} {count['own']:5} {count['other']:6} {count['error']:6} {count['not seen']:9}")
    for t, v in zip(twists, of_each):
        if v != "own":
            print(f"{v}: {t} ({' '.join(t.rows)})")
    return sum(v != "own" for v in of_each)


def main() -> int:
    """Try every fault and every odd provider; exit status 1 when over one fault in 20 is not caught, or an odd one fails."""
    with ThreadPoolExecutor(8) as pool:
        missed = [str(f) for f, found in zip(FAULTS, pool.map(caught, FAULTS)) if not found]
        print(f"{len(FAULTS) - len(missed)} of {len(FAULTS)} codes caught; missed: {', '.join(missed) or 'none'}")
        lost = _missed(TWISTS, list(pool.map(verdict_on, TWISTS)))
        accused = [str(o) for o, judged in zip(ODD_TWISTS, pool.map(lambda o: run("VIPL.*", o.variable), ODD_TWISTS))
                   if "fail" in judged.values()]  # fmt: skip
        print(f"{len(ODD_TWISTS)} odd providers; accused: {', '.join(accused) or 'none'}")
    return 1 if accused or (len(missed) + lost) * 20 > len(FAULTS) + len(TWISTS) else 0


if __name__ == "__main__":
    sys.exit(main())
