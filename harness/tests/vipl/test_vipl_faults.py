"""Providers that are wrong in one thing, made of ours by a library that stands before it: the row that is broken catches each.

The faults are codes that a call returns, and fields of a Descriptor.
As a program it tries every one: ``python3 -m harness.tests.vipl.test_vipl_faults``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.vipl.cases import all_cases

from ..conftest import FCVI, ROOT

BUILD = Path(os.environ.get("FCVI_BUILD", str(ROOT / "build")))
CODES = ROOT / "refimpl/vipl/include/fcvi/vip_codes.h"
SAMPLE = 7  # in a run of the tests every seventh


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


def run(select: str, variable: str) -> dict[str, str]:
    """The verdict of every row that the selected cases judge, of a provider with this fault ("": none)."""
    preload = f"{BUILD}/vipl-shim.so {BUILD}/libvipl-pair.so"
    agent = f"env LD_LIBRARY_PATH={BUILD} 'LD_PRELOAD={preload}' 'FCVI_VIPL_FAULT={variable}' {BUILD}/fcvi-agent-plain"
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            [str(FCVI), "run", "--dut", "api", "--agent", f"exec:{agent} --device VINIC0 --device VINIC1", "--select", select,
             "--formats", "json", "--report", scratch], capture_output=True, text=True, timeout=3600, check=False)  # fmt: skip
        report = Path(scratch) / "report.json"
        assert report.is_file(), done.stdout + done.stderr
        judged: dict[str, str] = json.loads(report.read_text())["requirements"]
    return judged


def caught(fault: Fault) -> bool:
    """Whether a case that lists the row fails for it. On a busy host a case may end before it comes that far: it is tried again."""
    row = f"VIPL-{fault.row}"
    cases = [case.id for case in all_cases() if row in case.requirements]
    return any(run(",".join(cases), fault.variable()).get(row) == "fail" for _ in range(2))


def test_the_rows_are_rows_that_some_case_has() -> None:
    listed = {row for case in all_cases() for row in case.requirements}
    assert [f for f in FAULTS if f"VIPL-{f.row}" not in listed] == []


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


def main() -> int:
    """Try every fault; exit status 1 when over one in 20 is not caught."""
    with ThreadPoolExecutor(8) as pool:
        missed = [str(f) for f, found in zip(FAULTS, pool.map(caught, FAULTS)) if not found]
        print(f"{len(FAULTS) - len(missed)} of {len(FAULTS)} codes caught; missed: {', '.join(missed) or 'none'}")
    return 1 if len(missed) * 20 > len(FAULTS) else 0


if __name__ == "__main__":
    sys.exit(main())
