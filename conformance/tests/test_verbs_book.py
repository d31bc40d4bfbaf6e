"""The book of RDMA verbs hangs together: every testable row has a planned case, and who asks for the book gets it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Iterator, Optional

import pytest

from conformance.proofs.table import load
from conformance.verbs.book import PROTOCOL
from conformance.verbs.cases import all_cases
from conformance.verbs.steps.declare import each, pairwise
from fcvi.engine.case import CaseInfo
from fcvi.engine.catalogue import load_errata, load_not_tested, load_requirements, rows
from fcvi.engine.protocol import judging_by
from fcvi.engine.results import Result
from fcvi.engine.select import select

from harness.tests.independent.verbs.faults import BY_THE_BOOK

from .verbs_inside import run_cases

_BOOK = (PROTOCOL,)
_PLANNED = rows(PROTOCOL.folder / "planned_cases.tsv")
_ROOT = Path(__file__).resolve().parents[2]
_MODEL = f"{sys.executable} -m harness.tests.independent.verbs.agent"
#: What is waited for shows in no requirement: all cases together wait so much less than a laboratory's do.
_QUICK_MS, _SHARDS = "150", 4
_ALONE = {"VERBS.16/killed", "VERBS.80/stopped", "VERBS.95/killed"}  # these need a second agent


@pytest.fixture(autouse=True)
def book() -> Iterator[None]:
    """Verbs judge in these tests."""
    with judging_by(PROTOCOL):
        yield


def test_every_testable_row_has_a_planned_case_and_every_other_a_reason() -> None:
    found = {row.id: row for row in load_requirements(_BOOK)}
    planned = {f"VERBS-{name}" for case in _PLANNED for name in _spread(case["requirements"])} | set(load_not_tested(_BOOK))
    testable = {row.id for row in found.values() if row.testable}
    assert len(found) >= 528 and len(testable) >= 447 and planned == testable
    assert [row.id for row in found.values() if not row.testable and not row.observable.startswith("n/a: ")] == []


def test_the_plan_has_its_cases_each_once_in_order() -> None:
    assert [case["case"] for case in _PLANNED] == [f"VERBS.{number}" for number in range(1, max(95, len(_PLANNED)) + 1)]


def test_every_erratum_that_a_row_cites_is_there_once() -> None:
    text = (PROTOCOL.folder / "errata.md").read_text(encoding="utf-8")
    headings = re.findall(r"^### (B\d+) \[[DSM]\] ", text, re.M)
    known = load_errata(_BOOK)
    numbers = [*range(1, 74), *range(80, 84), *range(100, 111)]  # those between were never given
    assert sorted(headings, key=lambda name: int(name[1:])) == list(known) == [f"B{number:02d}" for number in numbers]
    cited = {name for row in load_requirements(_BOOK) for name in re.findall(r"\bB\d+\b", row.observable)}
    assert cited - set(known) == set()
    assert [number for number, erratum in known.items() if not erratum.title or "Reading used: " not in erratum.body] == []


def _spread(words: str) -> list[str]:
    """The names in a list such as ``5.2-01..03 5.3-02``; a dash alone is none."""
    found = []
    for word in words.split() if words != "-" else ():
        first, _, last = word.partition("..")
        clause, _, number = first.rpartition("-")
        found += [f"{clause}-{n:02d}" for n in range(int(number), int(last or number) + 1)]
    return found


def test_each_planned_case_is_there_and_tries_its_rows() -> None:
    planned = {case["case"]: {f"VERBS-{name}" for name in _spread(case["requirements"])} for case in _PLANNED}
    written = {case.id: set(case.requirements) for case in all_cases()}
    assert {ident: rows for ident, rows in planned.items() if rows} == written
    claimed, not_tested = {row for rows in written.values() for row in rows}, set(load_not_tested(_BOOK))
    assert claimed | not_tested == {r.id for r in load_requirements(_BOOK) if r.testable}


def test_a_row_with_a_reason_is_proved_by_nothing_and_noted_by_a_case_for_its_erratum_alone() -> None:
    reasons, claimed = load_not_tested(_BOOK), {row for case in all_cases() for row in case.requirements}
    assert [row for row in claimed & set(reasons) if not re.search(r"\(B\d", reasons[row])] == []
    assert {proof.requirement for proof in load("verbs") if proof.device} & set(reasons) == set()


def test_a_covering_array_has_every_pair_of_values() -> None:
    lists = [each("a", ["1", "2", "3"]), each("b", ["x", "y"]), each("c", ["p", "q", "r"])]
    found = pairwise(*lists)
    assert len(found) < 18 and len({v.suffix for v in found}) == len(found)
    for first, second in ((0, 1), (0, 2), (1, 2)):
        wanted = {(v.suffix, w.suffix) for v in lists[first] for w in lists[second]}
        assert {tuple(v.suffix.split("-")[k] for k in (first, second)) for v in found} == wanted


def _run(agent: str, select: str, report: Path, *more: str) -> list[dict[str, Any]]:
    environment = {**os.environ, "PYTHONPATH": f"{_ROOT}/build/python:{_ROOT}/harness:{_ROOT}"}
    words = ["run", "--dut", "verbs", "--agent", f"exec:{agent}", "--select", select, "--report", str(report), "--quiet"]
    words += more
    done = subprocess.run([sys.executable, "-m", "conformance", *words], cwd=_ROOT, env=environment, capture_output=True, text=True,
                          timeout=300, check=False)  # fmt: skip
    assert (report / "report.json").is_file(), done.stderr
    results: list[dict[str, Any]] = json.loads((report / "report.json").read_text())["results"]
    return results


def _half(flavour: str) -> Iterator[CaseInfo]:
    """Every second case, and those that the other flavour does not run: together the flavours have them all."""
    for case in all_cases():
        is_even = int(case.id.rpartition(".")[2]) % 2 == 0
        if is_even == (flavour == "ib") if "flavour" not in case.applies else flavour in case.applies.split("'"):
            yield case


def _share(flavour: str) -> list[str]:
    """A variant of each case of a half."""
    return [case.variant_ids()[int(case.id.rpartition(".")[2]) % len(case.variants)] for case in _half(flavour)]


def _inside(select_: str, *settings: str, flavour: str = "iwarp", fault: Optional[str] = None, kind: str = "") -> list[Result]:
    """The results of the selected cases against the model in this process, on a virtual clock."""
    return run_cases(select(list(PROTOCOL.cases()), select_), flavour, settings, fault, kind)


def _wrong(results: list[Result]) -> dict[str, str]:
    """What failed, or ended in an error."""
    return {r.id: r.reason for r in results if r.verdict.value not in ("pass", "not-applicable", "inconclusive")}


@pytest.mark.parametrize("flavour", ["iwarp", "ib"])
def test_a_provider_that_keeps_to_the_text_fails_nothing(flavour: str) -> None:
    """On a model that was written from the text alone. Each variant is played, in one of the flavours."""
    variants = [ident for case in _half(flavour) for ident in case.variant_ids()]
    results = _inside(",".join(variants), flavour=flavour)
    assert _wrong(results) == {}
    assert {r.id for r in results if r.verdict.value == "inconclusive"} <= _ALONE
    assert sum(r.verdict.value == "pass" for r in results) >= 0.8 * len(variants)


@pytest.mark.nightly
@pytest.mark.parametrize("flavour", ["iwarp", "ib"])
def test_a_provider_that_keeps_to_the_text_passes_the_whole_book(flavour: str) -> None:
    results = _inside("VERBS.*", flavour=flavour)
    assert _wrong(results) == {} and sum(r.verdict.value == "pass" for r in results) > (500 if flavour == "iwarp" else 300)


def _real(flavour: str, chosen: list[str], folder: Path) -> list[dict[str, Any]]:
    def part(number: int) -> list[dict[str, Any]]:
        more = ("--shard", f"{number}/{_SHARDS}", "--r-a-tov", _QUICK_MS, "--formats", "json,evidence")
        return _run(f"{_MODEL} --flavour {flavour}", ",".join(chosen), folder / str(number), *more)

    with ThreadPoolExecutor(_SHARDS) as pool:
        results = [r for found in pool.map(part, range(1, _SHARDS + 1)) for r in found]
    assert {r["id"]: r["reason"] for r in results if r["verdict"] not in ("pass", "not-applicable", "inconclusive")} == {}
    assert {r["id"] for r in results if r["verdict"] == "inconclusive"} <= _ALONE
    assert len(results) == len(chosen) and sum(r["verdict"] == "pass" for r in results) >= 0.8 * len(chosen)
    return results


def test_a_program_in_real_time_is_judged_as_in_this_process(tmp_path: Path) -> None:
    """Some cases; the nightly tier has more."""
    chosen = _share("iwarp")[::12]
    inside = {r.id: r.verdict.value for r in _inside(",".join(chosen))}
    found = {r["id"]: r["verdict"] for r in _real("iwarp", chosen, tmp_path)}
    assert {ident: found[ident] for ident in inside} == inside


@pytest.mark.nightly
@pytest.mark.parametrize("flavour", ["iwarp", "ib"])
def test_in_real_time_it_fails_nothing_either(flavour: str, tmp_path: Path) -> None:
    _real(flavour, _share(flavour), tmp_path)


_CHOICES = [
    ("terminate=time-wait", "VERBS.13/fault-sq,VERBS.14/fault,VERBS.18/sq-middle,VERBS.18/rq-end,VERBS.91/both"),
    ("close=time-wait", "VERBS.15/local-write,VERBS.15/late-recv,VERBS.80/local-again,VERBS.80/peer-once,VERBS.80/work"),
    ("idle_receives=only-init", "VERBS.1/qp,VERBS.3/below-the-queues,VERBS.11/receives,VERBS.20/rq-full,VERBS.58/sizes-64-4"),
    ("ord_increase=ord", "VERBS.90"),
    ("ord_told=empty", "VERBS.8/illegal,VERBS.8/legal-move,VERBS.78/granted,VERBS.90"),
    ("terminate=time-wait,close=time-wait", "VERBS.96"),
    ("empty_cq=one", "VERBS.3/zero"),
    ("next_state=required", "VERBS.89/up,VERBS.90/less"),
    ("access_change=no", "VERBS.30/write-qp-off-mr-on,VERBS.33/qp-off,VERBS.38/qp-off-write,VERBS.67/no-right"),
    ("limits=small", "VERBS.3/one,VERBS.14/during,VERBS.46/small-quiet,VERBS.62/stream"),
    ("limits=least", "VERBS.7/cq,VERBS.46/large-quiet,VERBS.85/rounds"),
    ("wire=uneven,calls=take-time", "VERBS.44/write,VERBS.71/at-once"),
    ("wire=far", "VERBS.40/full,VERBS.94/read"),
    ("regions=short", "VERBS.70/longer,VERBS.71/odd-3-4097,VERBS.72/odd"),
]


@pytest.mark.parametrize("choice, select_", _CHOICES)
def test_what_the_text_leaves_open_fails_nobody(choice: str, select_: str) -> None:
    """A close that lasts (B20, B80), Receives that only INIT takes (B18), ORD that can be raised where IRD cannot (6.5), a CQ of
    one entry where none was asked for (B36), a next state that has to be said (B107), small queues (5.1.3), and Writes that are
    under way long after their WC (8.2.2, rule 11)."""
    results = _inside(select_, *choice.split(","))
    assert {r.id: r.reason for r in results if r.verdict.value != "pass"} == {}
    assert len(results) >= len(select_.split(","))


@pytest.mark.nightly
@pytest.mark.parametrize("choice, select_", _CHOICES)
def test_what_the_text_leaves_open_fails_nobody_in_real_time(choice: str, select_: str, tmp_path: Path) -> None:
    agent = " ".join([f"{_MODEL} --flavour iwarp", *(f"--choose {setting}" for setting in choice.split(","))])
    results = _run(agent, select_, tmp_path / "r", "--r-a-tov", "100", "--formats", "json")
    assert {r["id"]: r["reason"] for r in results if r["verdict"] != "pass"} == {}
    assert len(results) >= len(select_.split(","))


_NOT_TRIED = "VERBS.1,VERBS.12,VERBS.17,VERBS.24/domains,VERBS.31/write-good"


@pytest.mark.parametrize("kind", ["constant", "success", "obliging"])
def test_an_agent_that_does_not_try_passes_nothing(kind: str) -> None:
    results = _inside(_NOT_TRIED, kind=kind)
    assert len(results) > 15 and not any(r.verdict.value == "pass" for r in results)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["constant", "success", "obliging"])
def test_a_program_that_does_not_try_passes_nothing(kind: str, tmp_path: Path) -> None:
    results = _run(f"{_MODEL} --degenerate {kind}", _NOT_TRIED, tmp_path / "r", "--r-a-tov", "20", "--formats", "json")
    assert len(results) > 15 and not any(r["verdict"] == "pass" for r in results)


FAULTS = [
    ("pd-freed-with-mr", "VERBS-5.2.2-03", "VERBS.1/mr"),
    ("unsignaled-flush-silent", "VERBS-8.1.3.1-04", "VERBS.19/behind-send"),
    ("length-less-one", "VERBS-8.1.2.1-05", "VERBS.29/64-into-64"),
    ("remote-end-plus-one", "VERBS-7.6.3-05", "VERBS.31/write-beyond"),
    ("refused-write-quiet", "VERBS-8.1.2.2-06", "VERBS.31/write-unknown"),
    ("peer-not-told", "VERBS-6.2.3-02", "VERBS.31/write-unknown"),
    ("invalidated-local-works", "VERBS-7.2.2-01", "VERBS.68/region-send"),
    ("invalidated-remote-works", "VERBS-7.2.2-01", "VERBS.68/region-write"),
    ("invalid-region-bound", "VERBS-7.10.6.1-02", "VERBS.68/region-bind"),
    ("invalid-region-stays", "VERBS-7.9-07", "VERBS.68/region-deregister"),
    ("rereg-posted-keeps-rights", "VERBS-7.3.2.3-08", "VERBS.70/posted"),
    ("rereg-pd-not-local", "VERBS-7.3.2.3-05", "VERBS.70/domain-local"),
    ("resize-in-name-only", "VERBS-5.3.3-01", "VERBS.4/up"),
    ("window-gone-holds", "VERBS-7.10.4-04", "VERBS.66/region"),
    ("sink-bounds-unchecked", "VERBS-8.3.2-08", "VERBS.24/beyond-read"),
    ("sink-pd-unchecked", "VERBS-7.6.3-02", "VERBS.24/pd-read"),
    ("sink-key-unchecked", "VERBS-8.3.2-07", "VERBS.24/flipped-read"),
    ("window-keeps-its-rights", "VERBS-7.10.2-11", "VERBS.65/weaker"),
    ("window-keeps-its-bounds", "VERBS-7.10.2-09", "VERBS.65/shorter"),
    ("rereg-keeps-length", "VERBS-7.3.2.3-05", "VERBS.70/shorter"),
    ("fence-not-for-solicited", "VERBS-8.2.2.2-02", "VERBS.44/send"),
    ("event-not-for-second-qp", "VERBS-8.2.5-09", "VERBS.75/two-qps"),
    ("srq-limit-zero-ignored", "VERBS-6.3.8-03", "VERBS.53/zero"),
    ("resize-tells-old-entries", "VERBS-8.2.5-03", "VERBS.4/up"),
    ("solicited-not-for-send-errors", "VERBS-8.2.5-07", "VERBS.74/send-error"),
    ("poll-disarms", "VERBS-8.2.5-04", "VERBS.21/empty"),
    ("freed-window-ties-qp", "VERBS-6.1.4-06", "VERBS.66/qp-freed"),
    ("window-read-needs-local-write", "VERBS-7.10.2-13", "VERBS.37/read-only"),
    ("fence-not-for-unsignaled-reads", "VERBS-8.2.2.2-02", "VERBS.44/quiet"),
    ("zero-length-checked-sink", "VERBS-7.6.3-06", "VERBS.26/read"),
    ("send-inv-needs-both-rights", "VERBS-7.8-06", "VERBS.67/read-right"),
    ("send-inv-before-payload", "VERBS-8.2.2.1-01", "VERBS.67/own-buffer"),
    ("pd-freed-with-invalid-mr", "VERBS-5.2.2-03", "VERBS.68/region-pd-kept"),
    ("second-stream-keeps-rights", "VERBS-7.6.3-01", "VERBS.30/second-stream"),
    ("invalid-region-loses-pd", "VERBS-7.3.2.3-05", "VERBS.70/invalid"),
    ("query-qp-old-ord", "VERBS-6.1.3-02", "VERBS.90/told"),
    ("refused-move-to-error-moves", "VERBS-6.1.3-04", "VERBS.8/legal-move"),
    ("send-inv-twice-refused", "VERBS-7.8-04", "VERBS.67/twice"),
    ("send-inv-leaves-local", "VERBS-7.8-03", "VERBS.67/local-end"),
    ("unsignaled-invalidate-no-effect", "VERBS-8.2.2.1-03", "VERBS.68/quiet"),
    ("unsignaled-bind-no-effect", "VERBS-8.2.2.1-02", "VERBS.65/quiet"),
    ("rereg-never-longer", "VERBS-7.3.2.3-05", "VERBS.70/longer"),
    ("window-reads-unbounded", "VERBS-7.10.2-09", "VERBS.65/bounds-read-beyond"),
    ("freed-window-read", "VERBS-7.10.6.2-03", "VERBS.65/deallocated-read"),
    ("zero-length-checked-in-windows", "VERBS-7.10.6.2-04", "VERBS.32/read-window"),
    ("rereg-keeps-read-right", "VERBS-7.3.2.3-08", "VERBS.70/access-read"),
    ("invalidated-receives", "VERBS-7.8-03", "VERBS.68/region-recv"),
    ("event-not-for-windows", "VERBS-8.2.5-09", "VERBS.75/bind"),
    ("zero-based-window-unbounded", "VERBS-7.10.2-09", "VERBS.37/zero-based-end"),
    ("event-not-for-srq", "VERBS-8.2.5-05", "VERBS.74/srq"),
    ("solicited-not-for-srq", "VERBS-8.2.5-06", "VERBS.74/srq"),
    ("srq-bounds-unchecked", "VERBS-8.3.2-04", "VERBS.24/beyond-srq-recv"),
    ("srq-stag-unchecked", "VERBS-8.3.2-03", "VERBS.24/flipped-srq-recv"),
    ("srq-rights-unchecked", "VERBS-7.4.1-02", "VERBS.25/srq-into-none"),
    ("send-inv-not-through-srq", "VERBS-7.8-02", "VERBS.67/srq"),
    ("terminate-takes-modify", "VERBS-6.2.3-10", "VERBS.96/fault"),
    ("closing-takes-modify", "VERBS-6.2.5-09", "VERBS.96/close"),
    ("error-keeps-windows", "VERBS-6.2.4-10", "VERBS.97/window"),
    ("error-keeps-regions", "VERBS-6.2.4-10", "VERBS.97/region"),
    ("last-error-counts", "VERBS-6.4-03", "VERBS.98/receives"),
    ("later-receive-fails", "VERBS-6.4-03", "VERBS.98/write-first"),
    ("cq-keeps-destroyed", "VERBS-8.2.4-06", "VERBS.99/empty"),
    ("refusal-changes-limits", "VERBS-8.3.1-05", "VERBS.100/attributes"),
    ("refusal-loses-event", "VERBS-8.3.1-05", "VERBS.100/events"),
    ("srq-stag-zero", "VERBS-6.3.5-11", "VERBS.102/zero"),
    ("invalidate-pd-of-srq", "VERBS-6.3.5-11", "VERBS.102/local-inv"),
    ("bind-gives-region-rights", "VERBS-7.4-04", "VERBS.103/window"),
    ("overlap-gives-rights", "VERBS-7.4-04", "VERBS.103/overlap"),
    ("sink-window-unchecked", "VERBS-8.1.2.2-07", "VERBS.104/no-right"),
    ("base-misfits", "VERBS-7.6.1-01", "VERBS.105"),
    ("receives-no-overlap", "VERBS-8.2.2-14", "VERBS.106/receives"),
    ("event-first-vector-only", "VERBS-9.4.1-02", "VERBS.76/vectors"),
    ("idle-receives-lost", "VERBS-6.2.1-03", "VERBS.11/receives"),
    ("sink-window-unchecked", "VERBS-8.1.2.2-07", "VERBS.104/outside"),
    ("invalidate-pd-of-srq", "VERBS-6.3.5-11", "VERBS.102/send-inv"),
    ("error-keeps-regions", "VERBS-6.2.4-10", "VERBS.97/invalidate"),
    ("idle-sends-lost", "VERBS-6.2.1-02", "VERBS.11/receives"),
    ("scatter-reversed", "VERBS-8.1.2.1-07", "VERBS.101/unlike"),
    ("cq-keeps-destroyed", "VERBS-8.2.4-06", "VERBS.99/later"),
]


def test_each_fault_that_only_the_book_looks_for_is_in_the_sample() -> None:
    assert set(BY_THE_BOOK) <= {name for name, _, _ in FAULTS}


@pytest.mark.parametrize("name, row, select_", FAULTS)
def test_a_fault_is_told_by_its_row(name: str, row: str, select_: str) -> None:
    """A sample; make verbs-bank tries all of them."""
    results = _inside(select_, fault=name)
    assert [r.verdict.value for r in results] == ["fail"] and row in results[0].broken, results[0].reason


@pytest.mark.nightly
@pytest.mark.parametrize("name, row, select_", FAULTS)
def test_a_fault_is_told_by_its_row_in_real_time(name: str, row: str, select_: str, tmp_path: Path) -> None:
    results = _run(f"{_MODEL} --fault {name}", select_, tmp_path / "r", "--formats", "json")
    assert [r["verdict"] for r in results] == ["fail"] and row in results[0]["broken"], results[0]["reason"]


@pytest.mark.parametrize("fault, verdict", [(None, "inconclusive"), ("pd-one-qp", "fail")])
def test_a_refusal_is_want_of_room_at_a_limit_and_a_breach_below(fault: Optional[str], verdict: str) -> None:
    """The number of the error says nothing (B36); the case makes more CQs than the device has."""
    [result] = _inside("VERBS.77/sixteen", "objects=few", "errnos=odd", fault=fault)
    assert result.verdict.value == verdict, result.reason


@pytest.mark.parametrize("flavour", ["iwarp", "ib"])
def test_the_model_keeps_to_the_protocol(flavour: str) -> None:
    environment = {**os.environ, "PYTHONPATH": f"{_ROOT}/build/python:{_ROOT}/harness:{_ROOT}"}
    words = [sys.executable, "-m", "conformance", "dut", "check", f"verbs:exec:{_MODEL} --flavour {flavour}", "--timeout", "20"]
    done = subprocess.run(words, cwd=_ROOT, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cannot be opened" not in done.stdout, "nothing behind the device was tried"


def test_receives_that_are_not_flushed_are_no_stream_that_stays_up() -> None:
    """The stream ends and both ends are told: neither 8.1.2.2-06 nor 6.2.3-02 is broken."""
    [result] = _inside("VERBS.31/write-unknown", fault="flush-no-receives")
    assert {"VERBS-6.2.2.3-02", "VERBS-6.2.2.3-04"} <= set(result.broken), result.reason
    assert not {"VERBS-8.1.2.2-06", "VERBS-6.2.3-02"} & set(result.broken)
