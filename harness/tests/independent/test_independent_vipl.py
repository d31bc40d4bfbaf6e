"""The book of VIPL on a provider that shares no code with ours, written from the texts alone: it fails with none of its choices.

The provider runs in this process, on a virtual clock; the nightly tier has it as a program, on both clocks.
As a program it runs the whole book with each choice: ``python3 -m harness.tests.independent.test_independent_vipl``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

from conformance.vipl.book import PROTOCOL
from fcvi.dut.rpc import RpcDut
from fcvi.engine.attachment import Dut
from fcvi.engine.catalogue import load_requirements
from fcvi.engine.pixit import pixit_for
from fcvi.engine.protocol import judging_by, put_in_force
from fcvi.engine.results import Result, RunReport
from fcvi.engine.select import select
from fcvi.report.json_report import requirement_verdicts

from ..conftest import FCVI, ROOT
from .provider.clock import VirtualClock
from .provider.faults import FAULTS
from .provider.faults_told import closed_nic_calls
from .provider.server import Server
from .provider.variants import VARIANTS
from ..inside import InsideDut, LIMITS, run_all

#: In a run of the tests the other choices are tried where they show: states, order, errors, names and limits.
SAMPLE = ("VIPL.S*,VIPL.O*,VIPL.L*,VIPL.X2*,VIPL.K2,VIPL.D4,VIPL.A3,VIPL.C2,VIPL.C35,VIPL.C46,VIPL.C48,VIPL.E4*,VIPL.K6*,VIPL.Q1*,"
          "VIPL.Q3,VIPL.R1")
#: Calls that block, time and threads: what a clock is for.
TIMED = "VIPL.S1,VIPL.C13*,VIPL.K2,VIPL.N7,VIPL.D4"
LEVELS = {row.id: row.level for row in load_requirements([PROTOCOL])}
SHARDS = 6  # most of a run on the real clock is waiting
_ENDS_WELL = ("pass", "not-applicable", "inconclusive")


@pytest.fixture(autouse=True)
def book() -> Iterator[None]:
    """VIPL judges in these tests."""
    with judging_by(PROTOCOL):
        yield


def inside(variant: str) -> Dut:
    """The provider in this process."""
    return InsideDut(variant, lambda write: Server(variant, VirtualClock(), write))


def program(variant: str, clock: str) -> str:
    """The provider as a program: what --dut or --agent says."""
    command = f"env -C {ROOT} PYTHONPATH={ROOT}:{ROOT}/harness {sys.executable} -m harness.tests.independent.provider"
    return f"exec:{command} --variant {variant} --clock {clock}"


def piped(variant: str) -> Dut:
    """The provider as a program, in virtual time."""
    return RpcDut(program(variant, "virtual"), rpc_timeout_s=20, log=None, limits=LIMITS)


def run(variant: str, select_: str, attach: Callable[[str], Dut] = inside, share: slice = slice(None)) -> list[Result]:
    """The results of a share of the selected variants against the provider with this choice."""
    return run_all(attach(variant), select(list(PROTOCOL.cases()), select_)[share], pixit_for("virtual"), LEVELS)


def _ids(select_: str) -> set[str]:
    """The selected variants."""
    return {case.variant_id(variant) for case, variant in select(list(PROTOCOL.cases()), select_)}


def wrong(results: list[Result]) -> dict[str, str]:
    """What did not end well, with its reason."""
    return {r.id: f"{r.verdict.value}: {r.reason}" for r in results if r.verdict.value not in _ENDS_WELL}


def passed(results: list[Result]) -> int:
    """How many variants passed."""
    return sum(r.verdict.value == "pass" for r in results)


def test_it_passes_the_book() -> None:
    results = run("plain", "VIPL.*")
    assert wrong(results) == {} and passed(results) > 480


@pytest.mark.parametrize("shares", [4, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("variant", sorted(set(VARIANTS) - {"plain"}))
def test_no_choice_that_the_texts_permit_is_failed(variant: str, shares: int) -> None:
    results = run(variant, SAMPLE, share=slice(sorted(VARIANTS).index(variant) % shares, None, shares))
    assert wrong(results) == {} and passed(results) > 20 // shares


#: What only a handler shows, which a library without VipErrorCallback does not have.
BY_HANDLER = {f"VIPL-{row}" for row in ("G3.3.5-04", "G3.8.1-07", "G3.8.1-08", "G3.8.1-10", "G6.2-01", "S2.3.1-04")}


def test_a_library_of_the_first_phase_is_judged_by_what_it_has() -> None:
    """Without tags and handlers most of the book is decided, nothing fails, and what a handler alone shows is left open."""
    results = run("early", "VIPL.*")
    assert wrong(results) == {} and passed(results) >= 200
    reasons = {r.reason for r in results if r.verdict.value == "inconclusive"}
    assert {reason for reason in reasons if not reason.startswith("the provider has ")} == {"it needs two processes: --agent2"}
    decided = requirement_verdicts(RunReport("0", "0" * 64, "", "", "", {}, {}, 1, results))
    assert BY_HANDLER <= {row for row in decided if decided[row] == "inconclusive"}
    assert sum(verdict == "pass" for verdict in decided.values()) >= 200


def test_calls_that_the_agent_refuses_are_not_there_whatever_its_layout_says() -> None:
    def silent(agent: Any) -> None:
        told = agent.do_layout
        agent.do_layout = lambda p: {**told(p), "missing": []}
    early = InsideDut("silent", lambda write: Server("early", VirtualClock(), write, change=silent))
    results = run("early", "VIPL.X5,VIPL.S3,VIPL.E1/rd", lambda _: early)
    assert {r.id: r.verdict.value for r in results} == {"VIPL.X5/rd": "pass", "VIPL.S3/rd": "pass", "VIPL.E1/rd": "inconclusive"}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_by_its_row(name: str) -> None:
    fault = FAULTS[name]
    faulty = InsideDut(name, lambda write: Server(fault.variant, VirtualClock(), write, change=fault.change))
    results = run("plain", fault.cases, lambda _: faulty)
    assert wrong(run(fault.variant, fault.cases)) == {}
    noticed = {f.requirement for r in results for f in r.findings if LEVELS[f.requirement] == "should"}
    assert f"VIPL-{fault.row}" in noticed.union(*(r.broken for r in results if r.verdict.value == "fail")), wrong(results)


def test_a_handler_that_runs_while_its_nic_is_closed_is_no_breach() -> None:
    """Its host may note the beginning a little after VipCloseNic has returned (A72)."""
    name = "handler-noted-late"
    change = partial(closed_nic_calls, after_s=0.005)
    late = InsideDut(name, lambda write: Server("plain", VirtualClock(), write, change=change))
    results = run("plain", "VIPL.E7*", lambda _: late)
    assert results and {r.verdict.value for r in results} == {"pass"}, wrong(results)


def ends(results: list[Result]) -> list[tuple[Any, ...]]:
    """What is reported of each."""
    return [(r.id, r.verdict, r.qualifier, r.reason, r.virtual_us) for r in results]


def real(variant: str, select_: str, report: Path, *more: str) -> list[dict[str, str]]:
    """The results of the selected cases against the provider as a program in real time."""
    attached = ["--dut", "api", "--agent", program(variant, "real")]
    done = subprocess.run(
        [str(FCVI), "run", *attached, "--select", select_, "--report", str(report), "--formats", "json", *more],
        capture_output=True, text=True, timeout=1800, check=False,
    )  # fmt: skip
    path = report / "report.json"
    assert path.is_file(), done.stdout + done.stderr
    results: list[dict[str, str]] = json.loads(path.read_text())["results"]
    return results


def in_shards(variant: str, select_: str, folder: Path) -> list[dict[str, str]]:
    """The same, several at a time."""

    def part(number: int) -> list[dict[str, str]]:
        return real(variant, select_, folder / str(number), "--shard", f"{number}/{SHARDS}")

    with ThreadPoolExecutor(SHARDS) as pool:
        return [r for found in pool.map(part, range(1, SHARDS + 1)) for r in found]


def test_the_program_is_judged_as_in_this_process_on_both_clocks(tmp_path: Path) -> None:
    found = run("plain", TIMED)
    assert ends(run("plain", TIMED, piped)) == ends(found)
    assert {r["id"]: r["verdict"] for r in real("plain", TIMED, tmp_path)} == {r.id: r.verdict.value for r in found}


@pytest.mark.nightly
@pytest.mark.parametrize("variant", sorted(VARIANTS))
def test_no_choice_is_failed_in_the_whole_book(variant: str) -> None:
    found = run(variant, "VIPL.*")
    assert wrong(found) == {}
    piped_too = "VIPL.*" if variant == "plain" else TIMED
    assert ends(run(variant, piped_too, piped)) == ends([r for r in found if r.id in _ids(piped_too)])


@pytest.mark.nightly
@pytest.mark.parametrize("variant", ["plain", "late", "batches"])  # some of the choices of time
def test_no_choice_is_failed_in_real_time(variant: str, tmp_path: Path) -> None:
    results = in_shards(variant, "VIPL.*" if variant == "plain" else SAMPLE, tmp_path)
    assert {r["id"]: r["reason"] for r in results if r["verdict"] not in _ENDS_WELL} == {}
    assert sum(r["verdict"] == "pass" for r in results) > (480 if variant == "plain" else 20)


def main() -> int:
    """The whole book with each choice; exit status 1 when anything failed."""
    put_in_force(PROTOCOL)
    bad = 0
    for variant in VARIANTS:
        results = run(variant, "VIPL.*")
        print(f"{variant}: {passed(results)} pass, {len(wrong(results))} failed {wrong(results) or ''}", flush=True)
        bad += len(wrong(results))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
