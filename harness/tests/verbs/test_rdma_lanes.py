"""The lanes of RDMA verbs in guests, without a guest: what a death and a flicker come to."""

from __future__ import annotations

import argparse
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from harness.interop import rdma, rdma_vm


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
        recorded = tomllib.loads(rdma.DEVIATIONS[kind].read_text())["deviation"]
        assert set(rows) <= {entry["requirement"] for entry in recorded if entry.get("case", "*") == "*"}


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


@pytest.mark.parametrize("kind", rdma.KINDS)
def test_each_recorded_deviation_has_a_program_that_shows_it(kind: str) -> None:
    """So that whoever maintains the provider needs nothing of the suite; --shows runs the programs."""
    programs = [path.read_text() for path in (rdma.ROOT / "harness/interop/rdma_shows").glob(f"{kind}_*.c")]
    rows = {entry["requirement"] for entry in tomllib.loads(rdma.DEVIATIONS[kind].read_text())["deviation"]}
    named = {row for text in programs for row in re.findall(r"\d+(?:\.\d+)+-\d\d", text)}
    assert {row for row in rows if row.removeprefix("VERBS-") not in named} == set()
