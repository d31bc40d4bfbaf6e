"""The lanes of RDMA verbs in guests, without a guest: what a death, a flicker and a faulty provider come to."""

from __future__ import annotations

import argparse
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from harness.interop import rdma, rdma_faults, rdma_vm


@pytest.fixture(autouse=True)
def _no_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rdma, "image", lambda *_, **__: None)
    monkeypatch.setattr(rdma, "guests", None)


def _report(report: Path, verdicts: dict[str, str]) -> None:
    report.mkdir()
    results = [{"id": name, "verdict": verdict, "qualifier": None, "broken": []} for name, verdict in verdicts.items()]
    (report / "report.json").write_text(json.dumps({"results": results}))


def test_a_guest_that_dies_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is no reason to skip: it was there."""

    def dies(*_: object) -> int:
        raise rdma_vm.GuestError("guest0: the guest is gone")

    monkeypatch.setattr(rdma, "one_boot", dies)
    assert rdma.main([str(tmp_path), "rxe"]) == 1
    monkeypatch.setattr(rdma, "show", dies)
    assert rdma.main([str(tmp_path), "--shows"]) == 1


def test_what_is_missing_is_skipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """QEMU, a module, a download."""

    def lacks(*_: object, **__: object) -> int:
        raise rdma.Skipped("there is no QEMU")

    monkeypatch.setattr(rdma, "one_boot", lacks)
    assert rdma.main([str(tmp_path)]) == 3
    assert capsys.readouterr().err.count("skipped, because there is no QEMU") == 2
    monkeypatch.setattr(rdma, "image", lacks)
    assert rdma.main([str(tmp_path)]) == 3


def test_a_lane_that_is_not_as_recorded_counts_more_than_one_that_was_skipped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Status 1."""

    def lane(_: Path, kind: str, *__: object) -> int:
        if kind == "siw":
            raise rdma.Skipped("there is no siw module")
        return 1

    monkeypatch.setattr(rdma, "lane", lane)
    assert rdma.main([str(tmp_path)]) == 1


def test_each_variant_has_its_verdicts_of_all_boots(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One flickers, one was not run in a boot that died, and one is the same; a report is never that of another boot."""
    same = {"VERBS.1": "pass", "VERBS.3": "pass"}
    boots: list[dict[str, str] | None] = [same | {"VERBS.2": "pass"}, same | {"VERBS.2": "fail"}, None]

    def boot(_: Path, __: str, ___: argparse.Namespace, ____: str, report: Path) -> int:
        came = boots.pop(0)
        if came is None:
            raise rdma_vm.GuestError("guest0: no answer")
        _report(report, came)
        return 0

    monkeypatch.setattr(rdma, "one_boot", boot)
    assert rdma.main([str(tmp_path), "rxe", "--boots", "2"]) == 1
    said = capsys.readouterr().out
    assert "2 of 3 variants had the same verdict in all 2 boots\n    VERBS.2: 1 times pass, 1 times fail\n" in said
    boots[:0] = [{"VERBS.1": "pass"}]
    assert rdma.main([str(tmp_path), "rxe", "--boots", "2"]) == 1
    kept = json.loads((tmp_path / "boots-rxe-1.json").read_text())
    assert kept == {"boots": 2, "verdicts": {"VERBS.1": {"pass": 1, "not run": 1}}, "races": []}


def test_a_race_of_the_provider_is_told_apart_from_the_verdict(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A deviation that may show or not flickers only where it is not known to be one; a failure always does."""
    row, other = next(iter(rdma.RACES["siw"])), "VERBS-9-09"
    plain, lost, more = ("pass", None, []), ("pass", "deviation", [row]), ("pass", "deviation", [row, other])
    boots = [{"A": plain, "B": lost, "C": lost}, {"A": lost, "B": more, "C": lost}]

    def boot(*words: Any) -> int:
        came = boots.pop(0)
        results = [{"id": name, "verdict": v, "qualifier": q, "broken": rows} for name, (v, q, rows) in came.items()]
        words[-1].mkdir()
        (words[-1] / "report.json").write_text(json.dumps({"results": results}))
        return 0

    monkeypatch.setattr(rdma, "one_boot", boot)
    assert rdma.main([str(tmp_path), "siw", "--boots", "2"]) == 1
    said = capsys.readouterr().out
    assert "2 of 3 variants had the same verdict in all 2 boots" in said
    assert "    B: 1 times pass, 1 times pass deviation\n" in said and f"    A: {row} showed in 1 of 2 boots: " in said
    assert f"B: {row} showed" not in said and "C: " not in said  # in each of them
    boots[:0] = [{"A": plain}, {"A": lost}]
    assert rdma.main([str(tmp_path), "siw", "--boots", "2"]) == 0
    boots[:0] = [{"A": plain}, {"A": ("fail", None, [row])}]
    assert rdma.main([str(tmp_path), "siw", "--boots", "2"]) == 1


def test_each_race_is_a_recorded_deviation_of_all_cases() -> None:
    for kind, rows in rdma.RACES.items():
        assert set(rows) <= rdma_faults.recorded(kind).always


def test_the_same_in_every_boot_is_a_pass(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And so is one boot, which has nothing to be compared with."""
    monkeypatch.setattr(rdma, "one_boot", lambda *words: _report(words[-1], {"VERBS.1": "pass"}) or 0)
    assert rdma.main([str(tmp_path), "siw", "--boots", "3"]) == 0
    assert rdma.main([str(tmp_path), "siw"]) == 0


@pytest.mark.parametrize("words", [["--boots", "0"], ["--boots", "x"], ["ib"]])
def test_usage(words: list[str], tmp_path: Path) -> None:
    """No boot is no run."""
    with pytest.raises(SystemExit) as ended:
        rdma.main([str(tmp_path), *words])
    assert ended.value.code == 2


# ---- faulty providers ----

_SAID = "a\tIt does.\nb\tIt does not.\nodd-c\tIt may.\n"
_LABELS = {"a": ["VERBS-1-01", "VERBS-1-02"], "b": ["VERBS-1-03"]}
_KNOWN = rdma_faults.Recorded([{"requirement": "VERBS-9-09"}, {"requirement": "VERBS-1-01", "case": "D/known*"}])


def _fault(*labels: str, name: str = "a") -> rdma_faults.Fault:
    return rdma_faults.Fault(name, "It does.", list(labels))


def test_without_arguments_there_is_a_usage_line(capsys: pytest.CaptureFixture[str]) -> None:
    """No traceback."""
    with pytest.raises(SystemExit) as ended:
        rdma_faults.main([])
    assert ended.value.code == 2 and capsys.readouterr().err.startswith("usage: rdma_faults")


def test_the_faults_are_those_that_are_named() -> None:
    """All without a name; a name that is none is told."""
    assert [fault.name for fault in rdma_faults.faults([], _LABELS, _SAID)] == ["a", "b", "odd-c"]
    assert [fault.odd for fault in rdma_faults.faults(["odd-c", "a"], _LABELS, _SAID)] == [True, False]
    assert [fault.labels for fault in rdma_faults.faults(["odd-c", "a"], _LABELS, _SAID)] == [[], ["VERBS-1-01", "VERBS-1-02"]]
    with pytest.raises(KeyError):
        rdma_faults.faults(["c"], _LABELS, _SAID)


def test_rows_of_both_flavours_come_before_those_of_one(tmp_path: Path) -> None:
    """The rows of the other flavour are no labels."""
    file = tmp_path / "rows.tsv"
    file.write_text("name\trows\trows_iwarp\trows_ib\tremark\na\tVERBS-1 VERBS-2\tVERBS-3\t\tIt \"may.\nb\t\t\tVERBS-4\t\n")
    assert rdma_faults.labels("siw", file) == {"a": ["VERBS-1", "VERBS-2", "VERBS-3"], "b": []}
    assert rdma_faults.labels("rxe", file) == {"a": ["VERBS-1", "VERBS-2"], "b": ["VERBS-4"]}


def test_every_fault_has_rows_that_can_be_tested_in_its_flavour() -> None:
    """As many lines as there are faults, each with a row in one flavour at least; an odd provider has none."""
    sources = "".join(path.read_text() for path in sorted((rdma.ROOT / "harness/verbs/faulty").glob("faults_*.c")))
    names = re.findall(r'^    \{"([a-z0-9-]+)",', sources, re.MULTILINE)
    head, *lines = (rdma.ROOT / "conformance/verbs/requirements.tsv").read_text().splitlines()
    book = [dict(zip(head.split("\t"), line.split("\t"))) for line in lines]
    testable = {row["id"]: set(row["condition"].split(" and ")) for row in book if row["kind"] != "untestable"}
    labelled = {kind: rdma_faults.labels(kind) for kind in rdma.KINDS}
    assert len(set(names)) == len(names)
    for kind, other in (("rxe", "IWARP"), ("siw", "IB")):
        assert sorted(labelled[kind]) == sorted(name for name in names if not name.startswith("odd-"))
        for name, rows in labelled[kind].items():
            assert len(set(rows)) == len(rows), name
            assert [row for row in rows if other in testable[row]] == [], name
    assert [name for name, rows in labelled["rxe"].items() if not rows and not labelled["siw"][name]] == []


@pytest.mark.parametrize(
    "labels, results, verdict",
    [
        (["VERBS-1-01"], {"C": ("fail", {"VERBS-1-01", "VERBS-1-02"})}, "its row"),
        (["VERBS-1-03", "VERBS-1-02"], {"C": ("fail", {"VERBS-1-02"})}, "its row"),  # any of them
        (["VERBS-1-01"], {"C": ("fail", {"VERBS-1-02"})}, "another row"),
        (["VERBS-1-02"], {"C": ("fail", {"VERBS-9-09"})}, "missed"),  # the provider does that without the fault
        (["VERBS-1-02"], {"C": ("pass", {"VERBS-1-02"})}, "missed"),  # a deviation of a row that is declared for one case
        (["VERBS-1-01", "VERBS-1-02"], {"D/known-1": ("fail", {"VERBS-1-01", "VERBS-2"})}, "another row"),
        (["VERBS-1-02"], {"C": ("pass", set())}, "missed"),
        (["VERBS-1-02"], {"C": ("error", set())}, "no verdict"),
        (["VERBS-1-01", "VERBS-9-09"], {"C": ("pass", set())}, "deviates"),
        (["VERBS-1-02"], {"C": ("not-applicable", set())}, "missed"),
        ([], {"C": ("fail", {"VERBS-1-02"})}, "accused"),
        ([], {"C": ("inconclusive", set())}, "no verdict"),
        ([], {"C": ("pass", set()), "D": ("not-applicable", set())}, "conforms"),
        ([], {}, "no verdict"),  # nothing was run
        (["VERBS-1-02"], {}, "no verdict"),
    ],
)
def test_what_a_fault_comes_to(labels: list[str], results: dict[str, tuple[str, set[str]]], verdict: str) -> None:
    """By the rows that failed variants name, without those of recorded deviations."""
    fault = _fault(*labels, name="a" if labels else "odd-c")
    rdma_faults.judge(fault, results, _KNOWN)
    assert fault.verdict == verdict


def test_a_few_variants_come_first_and_then_more_of_its_rows() -> None:
    """Each variant once, the first of each case before the second, and no more than are bounded."""
    rows = {"VERBS-1-01": [["C/1", "C/2", "C/3"], ["D/1"], ["E/1", "E/2"]], "VERBS-1-02": [["C/1", "C/2", "C/3"], ["F/1"]]}
    assert rdma_faults.rounds(_fault("VERBS-1-01"), rows, "rxe") == ["C/1,D/1", "E/1,C/2,E/2,C/3"]
    assert rdma_faults.rounds(_fault("VERBS-1-03", "VERBS-1-02"), rows, "rxe") == ["C/1,F/1", "C/2,C/3"]
    assert not rdma_faults.rounds(_fault("VERBS-1-03"), rows, "rxe")
    assert rdma_faults.rounds(_fault(name="odd-c"), rows, "rxe") == [rdma.chosen("rxe")]
    many = {"VERBS-1-01": [[f"C/{i}" for i in range(100)]]}
    assert [len(part.split(",")) for part in rdma_faults.rounds(_fault("VERBS-1-01"), many, "rxe")] == [1, 12, 12, 12, 12, 11]


@pytest.mark.parametrize(
    "fault, verdict",
    [
        (_fault("VERBS-1-02", name="window-too-long"), "without effect here"),  # this provider has no windows
        (_fault(name="odd-refuses-in-idle"), "without effect here"),
        (_fault(), "without effect here"),  # its rows are all of the other flavour
        (_fault("VERBS-9-09"), "deviates"),
        (_fault("VERBS-1-02"), "no case"),
    ],
)
def test_what_needs_no_guest(monkeypatch: pytest.MonkeyPatch, fault: rdma_faults.Fault, verdict: str) -> None:
    """Nothing could be told of it here."""
    monkeypatch.setattr(rdma_faults, "catalogue", lambda *_: {})
    monkeypatch.setattr(rdma_faults, "recorded", lambda _: _KNOWN)
    args = rdma_faults.options(["images", "siw"])
    assert [one.verdict for one in rdma_faults.run(args, [fault])] == [verdict]


def test_a_run_that_was_cut_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What was written is not tried again, and what was not tried is no green."""
    tried: list[str] = []

    def run(args: argparse.Namespace, chosen: list[rdma_faults.Fault]) -> list[rdma_faults.Fault]:
        done = chosen[: int(args.minutes)]
        for fault in done:
            fault.verdict = "conforms" if fault.odd else "its row"
            tried.append(fault.name)
        return done

    every = ("a", "b", "odd-c")
    monkeypatch.setattr(rdma_faults, "faults", lambda *_: [rdma_faults.Fault(name, "") for name in every])
    monkeypatch.setattr(rdma_faults, "run", run)
    assert rdma_faults.main([str(tmp_path), "rxe", "--minutes", "2"]) == 1
    with open(tmp_path / "faults-rxe.jsonl", "r+b") as file:
        file.truncate(file.seek(0, 2) - 9)  # the run was killed while it wrote
    assert rdma_faults.main([str(tmp_path), "rxe", "--resume"]) == 0
    assert tried == ["a", "b", "b", "odd-c"]
    assert list(rdma_faults.already(tmp_path / "faults-rxe.jsonl")) == ["a", "b", "odd-c"]
    assert rdma_faults.main([str(tmp_path), "rxe", "--odd"]) == 0
    assert tried == ["a", "b", "b", "odd-c", "odd-c"]


@pytest.mark.parametrize("kind", rdma.KINDS)
def test_each_recorded_deviation_has_a_program_that_shows_it(kind: str) -> None:
    """So that whoever maintains the provider needs nothing of the suite; --shows runs the programs."""
    programs = [path.read_text() for path in (rdma.ROOT / "harness/interop/rdma_shows").glob(f"{kind}_*.c")]
    rows = {entry["requirement"] for entry in tomllib.loads(rdma.DEVIATIONS[kind].read_text())["deviation"]}
    named = {row for text in programs for row in re.findall(r"\d+(?:\.\d+)+-\d\d", text)}
    assert {row for row in rows if row.removeprefix("VERBS-") not in named} == set()
