"""Runs that are cut off by signals: nothing finished is lost, nothing looks green, and the run goes on where it was."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FCVI = ROOT / "build/fcvi"
SELECT = "6.3,6.4,6.5"
DEVICE = f"exec:{FCVI} endpoint"


def wait(*words: object) -> int:
    """A command's status."""
    return subprocess.run([str(FCVI), *map(str, words)], capture_output=True, timeout=120, check=False).returncode


def journal(place: Path) -> int:
    """How many cases are done."""
    path = place / "evidence/cases.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def processes(word: str) -> list[int]:
    """Those with the word in their command line or environment."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal() and int(name) != os.getpid():
            try:
                if word.encode() in Path("/proc", name, "environ").read_bytes():
                    found.append(int(name))
            except OSError:
                pass
    return found


def cut(place: Path, number: int, cases: int, jobs: int, dut: str = DEVICE) -> tuple[int, str]:
    """Run, send the signal when so many cases are done, and wait. The status, and what was told."""
    with subprocess.Popen(
        [str(FCVI), "run", "--dut", dut, "--select", SELECT, "--jobs", str(jobs), "--report", str(place)],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, "FCVI_CUT": str(place)}, text=True,
    ) as run:  # fmt: skip
        until = time.monotonic() + 60
        while run.poll() is None and (journal(place) < cases or not (place / "dut.log").exists()) and time.monotonic() < until:
            time.sleep(0.002)
        run.send_signal(number)
        told = run.stderr.read() if run.stderr else ""
        status = run.wait(60)
    until = time.monotonic() + 2
    while processes(f"FCVI_CUT={place}\0") and time.monotonic() < until:
        time.sleep(0.02)
    assert not processes(f"FCVI_CUT={place}\0"), "processes are left"
    return status, told


@pytest.fixture(name="whole", scope="module")
def _whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("whole") / "r"
    assert wait("run", "--quiet", "--dut", DEVICE, "--select", SELECT, "--report", place) == 0
    return place


def verdicts(place: Path) -> dict[str, str]:
    """Of report.json."""
    return {r["id"]: r["verdict"] for r in json.loads((place / "report.json").read_text())["results"]}


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], ids=lambda n: n.name)
@pytest.mark.parametrize("cases", [0, 1, 20])
def test_cut_off_and_gone_on_with(cases: int, number: signal.Signals, jobs: int, whole: Path, tmp_path: Path) -> None:
    place = tmp_path / "r"
    status, told = cut(place, number, cases, jobs)
    if status == 0:
        pytest.skip("it was over first")
    assert status == (-number if number == signal.SIGKILL else 3), told
    assert "Traceback" not in told and len(told.splitlines()) <= 1
    begun = (place / "evidence/run.json").exists() and "incomplete" in json.loads((place / "evidence/run.json").read_text())
    if not begun:
        assert cases == 0
        return
    done = journal(place)
    if number != signal.SIGKILL:
        found = verdicts(place)
        assert sum(v == "pass" for v in found.values()) >= done * 0.9 and "error" in found.values()
    else:
        assert not (place / "report.json").exists()
    copy = tmp_path / "copy"
    shutil.copytree(place, copy)
    assert wait("judge", "--quiet", copy) == 3
    judged = verdicts(copy)
    assert sum(v != "error" for v in judged.values()) == done and list(judged) == list(verdicts(whole))
    assert wait("run", "--quiet", "--resume", place, "--jobs", jobs) == 0
    assert verdicts(place) == verdicts(whole)
    for trace in (whole / "evidence").glob("*.jsonl"):
        assert (place / "evidence" / trace.name).read_bytes() == trace.read_bytes(), trace.name
    assert wait("judge", "--quiet", place) == 0
    assert not (place / "evidence/cases.jsonl").exists()


def test_a_run_that_is_whole_cannot_go_on(whole: Path) -> None:
    before = (whole / "report.json").read_bytes()
    assert wait("run", "--resume", whole) == 2
    assert (whole / "report.json").read_bytes() == before


def test_two_runs_do_not_share_a_directory(tmp_path: Path) -> None:
    with subprocess.Popen([str(FCVI), "run", "--quiet", "--report", str(tmp_path)]) as first:
        while not (tmp_path / "dut.log").exists():
            time.sleep(0.01)
        assert wait("run", "--quiet", "--select", "5.3.3/*", "--report", tmp_path) == 3
        first.kill()


def test_links_are_refused_or_replaced(whole: Path, tmp_path: Path) -> None:
    """What a report writes stays in its directory, whatever somebody put there before."""
    victim, place = tmp_path / "victim", tmp_path / "r"
    victim.write_text("mine")
    place.mkdir()
    for name in ("report.json", "report.json.new", "dut.log", "report.html.new", "junit.xml"):
        (place / name).symlink_to(victim)
    assert wait("run", "--quiet", "--select", "5.3.3/*", "--report", place) == 0
    assert victim.read_text() == "mine"
    shutil.copytree(whole, tmp_path / "j")
    for name in ("report.json", "report.html"):
        (tmp_path / "j" / name).unlink()
        (tmp_path / "j" / f"{name}.new").symlink_to(victim)
    assert wait("judge", "--quiet", tmp_path / "j") == 0 and victim.read_text() == "mine"
    other: Any = tmp_path / "other"
    other.mkdir()
    (tmp_path / "l").mkdir()
    (tmp_path / "l/evidence").symlink_to(other)
    assert wait("run", "--quiet", "--select", "5.3.3/*", "--report", tmp_path / "l") == 3
    assert not list(other.iterdir())
    shutil.rmtree(tmp_path / "l")
    shutil.copytree(whole, tmp_path / "l")
    (tmp_path / "l/evidence").rename(tmp_path / "moved")
    (tmp_path / "l/evidence").symlink_to(tmp_path / "moved")
    assert wait("judge", "--quiet", tmp_path / "l") == 2
