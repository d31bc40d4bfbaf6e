"""``fcvi run --against``: two devices at one link, whose frames pass through codec and monitor."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from fcvi.dut.ref import DirectDut
from fcvi.engine import runner
from fcvi.engine.target import Target, parse
from fcvi.fc.build import RawFrame

from ..conftest import FCVI, fcvi
from ..engine.test_declaration import INDEPENDENT
from ..report.html_check import Page


REAL = f"exec:{FCVI} endpoint --clock real"


def pair(own: str, far: str, report: Path, *words: str) -> tuple[int, dict[str, int]]:
    """The status of a run, and how many cases have which verdict."""
    done = fcvi("run", "--dut", own, "--against", far, "--report", str(report), *words)
    return done.returncode, json.loads((report / "report.json").read_text())["summary"]


def test_two_conforming_devices_pass_in_both_places(tmp_path: Path) -> None:
    for number, (own, far) in enumerate((("ref", INDEPENDENT), (INDEPENDENT, "ref"), (INDEPENDENT, INDEPENDENT))):
        status, counts = pair(own, far, tmp_path / str(number))
        assert status == 0 and counts["pass"] >= 16 and not (counts["fail"] or counts["inconclusive"] or counts["error"])
    data = json.loads((tmp_path / "0/report.json").read_text())
    assert data["dut"]["against"] == {"attachment": INDEPENDENT, "implementation": "independent endpoint", "version": "1"}
    assert all(".far/" in result["id"] for result in data["results"]), "only cases that have room for a second device"
    assert list((tmp_path / "0").glob("*.pcapng"))
    traced = (tmp_path / "0/evidence/D.2.far__dut-server__far-first.jsonl").read_text().splitlines()
    assert sum(json.loads(line) == {"device": "far"} for line in traced) == 1
    done = fcvi("judge", str(tmp_path / "0"))
    assert done.returncode == 0 and "byte for byte the same" in done.stdout, done.stderr


@pytest.mark.parametrize("fault", ["resp1-revision", "connection-id-unassigned", "rqst-revision"])
def test_a_breach_in_its_frames_fails_the_device_that_sent_them_and_no_other(fault: str, tmp_path: Path) -> None:
    """6.8.3, 6.9.3: what the codec reads in a frame is its sender's, whoever stands at the far side."""
    broken = f"{INDEPENDENT} --fault {fault}"
    status, counts = pair(broken, "ref", tmp_path / "own", "--select", "D.2.far")
    assert status == 1 and counts["fail"]
    status, counts = pair("ref", broken, tmp_path / "far", "--select", "D.2.far")
    assert status in (0, 4) and not counts["fail"] and not counts["error"]
    results = json.loads((tmp_path / "far/report.json").read_text())["results"]
    told = [r for r in results if r.get("far")]
    assert told and all(f["class"] != "notice" for r in told for f in r["far"])
    assert "a run with it as --dut judges it" in (tmp_path / "far/report.txt").read_text()
    again = fcvi("judge", str(tmp_path / "far"), "--quiet")
    assert again.returncode == status and not again.stderr


def test_what_fails_between_two_devices_accuses_neither(tmp_path: Path) -> None:
    """8.5.4: a device that never retries leaves the setup open; from the other end it looks the same."""
    silent = f"{INDEPENDENT} --fault no-retry"
    for number, (own, far) in enumerate(((silent, "ref"), ("ref", silent))):
        status, counts = pair(own, far, tmp_path / str(number), "--select", "C.5.far")
        assert status == 4 and counts["inconclusive"] and not counts["fail"]
    results = json.loads((tmp_path / "0/report.json").read_text())["results"]
    assert any("the two devices did not work together, and either may be why" in r["reason"] for r in results)


def test_a_table_shows_each_pair_once(tmp_path: Path) -> None:
    pair("ref", INDEPENDENT, tmp_path / "a", "--select", "D.2.far")
    pair(f"{INDEPENDENT} --fault resp1-revision", "ref", tmp_path / "b", "--select", "D.2.far")
    done = fcvi("report", "matrix", "--json", "--out", str(tmp_path / "m"), str(tmp_path / "a"), str(tmp_path / "b"))
    assert done.returncode == 0
    found = json.loads(done.stdout)["pairs"]
    assert [(p["dut"], p["against"]) for p in found] == [
        ("fcvi reference port 0.2.0", "independent endpoint 1"), ("independent endpoint 1", "fcvi reference port 0.2.0"),
    ]  # fmt: skip
    assert "fail" not in found[0]["cases"] and found[1]["cases"]["fail"]
    page = Page((tmp_path / "m/matrix.html").read_text())
    assert page.problems == [] and "against independent endpoint 1" in "".join(page.text)


@pytest.mark.parametrize("own, far", [(REAL, REAL), ("ref", REAL), (REAL, "ref")], ids=["both", "far", "own"])
def test_devices_in_real_time_stand_at_one_link(own: str, far: str, tmp_path: Path) -> None:
    """Beside a real clock a virtual one keeps step. What two clocks said is in the evidence, so a judge needs neither."""
    status, counts = pair(own, far, tmp_path / "pair", "--select", "D.2.far/*-first")
    assert status == 0 and counts["pass"] == 4, (tmp_path / "pair/report.txt").read_text()
    assert json.loads((tmp_path / "pair/evidence/run.json").read_text())["dut"]["clock"] == "real"
    done = fcvi("judge", str(tmp_path / "pair"))
    assert done.returncode == 0 and "byte for byte the same" in done.stdout, done.stderr


def test_a_run_of_two_devices_is_gone_on_with(tmp_path: Path) -> None:
    """The far device has to be named again, and has to be the one that it was."""
    where = tmp_path / "pair"
    pair("ref", INDEPENDENT, where, "--select", "D.2.far/dut-server/*")
    run = json.loads((where / "evidence/run.json").read_text())
    kept, *cut = run["cases"]
    (where / "evidence/cases.jsonl").write_text(json.dumps(kept) + "\n")
    run["incomplete"] = {"selected": [kept["id"], *(case["id"] for case in cut)], "own_timers": True}
    (where / "evidence/run.json").write_text(json.dumps(run))
    for words, says in (((), "Give it again"), (("--against", "ref"), "Give it again")):
        done = fcvi("run", "--resume", str(where), *words)
        assert done.returncode == 2 and says in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    done = fcvi("run", "--resume", str(where), "--against", INDEPENDENT)
    assert done.returncode == 0 and "3 pass" in done.stdout, done.stderr
    assert fcvi("judge", str(where), "--quiet").returncode == 0


@pytest.mark.parametrize("words, says", [
    (("--against", "ref:vitcp"), "two devices of FC-VI at one link"),
    (("--against", "ref:rev1"), "speaks edition 2007"),
    (("--against", "tcp:127.0.0.1:1", "--jobs", "2"), "is one device"),
])
def test_what_cannot_stand_at_one_link_is_told(words: tuple[str, ...], says: str) -> None:
    done = fcvi("run", "--quiet", *words)
    assert done.returncode == 2 and says in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_far_device_that_dies_is_an_error_of_nobody(tmp_path: Path) -> None:
    status, counts = pair("ref", "exec:/bin/false", tmp_path / "dead", "--select", "D.2.far")
    assert status == 3 and not counts["fail"]
    short = tmp_path / "short.sh"
    short.write_text(f"#!/bin/sh\nexec {INDEPENDENT[5:]} | sed -u 's/\"hex\": *\"[0-9a-f]*\"/\"hex\":\"0102\"/'\n")
    short.chmod(0o755)
    status, counts = pair("ref", f"exec:{short}", tmp_path / "short", "--select", "D.2.far/dut-server/far-first")
    assert status == 3 and counts["error"] == 1 and not counts["fail"]


class Corrupting(DirectDut):
    """The reference port, of whose frames of one kind each has wrong bits at one place."""

    def __init__(self, kind: tuple[int, int], at: int, bits: int) -> None:
        self._rule = kind, at, bits
        super().__init__("corrupting")

    def _frame(self, frame: RawFrame) -> None:
        kind, at, bits = self._rule
        data = bytearray(frame.data)
        if len(data) > max(at, 28) and (data[0], data[28]) == kind:
            data[at] ^= bits
            frame = replace(frame, data=bytes(data))
        super()._frame(frame)


class _Neighbour:
    """What --against would name."""

    def __init__(self, *rule: Any) -> None:
        self.rule = rule

    def attach(self, **_how: Any) -> Corrupting:
        return Corrupting(*self.rule)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [(0x02, 0x10), (0x03, 0x18), (0x03, 0x19), (0x03, 0x1A), (0x02, 0x12), (0x03, 0x1B), (0x01, 0x00)])
def test_whatever_the_far_device_sends_its_neighbour_is_not_accused(kind: tuple[int, int]) -> None:
    """Any bit of any frame of one kind is wrong. The judged device conforms, so no verdict may be a fail."""
    rng = Random(f"{kind}")
    for at in rng.sample(range(60), 30):
        rule = kind, at, 1 << rng.randrange(8)
        far = cast(Target, _Neighbour(*rule))
        options = runner.RunOptions(target=parse("ref"), against=far, select="D.2.far,5.3.4.far,C.5.far")
        failed = [(r.id, r.reason) for r in runner.run(options).results if r.verdict.value in ("fail", "error")]
        assert not failed, (rule, failed)
