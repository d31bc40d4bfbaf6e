"""Runs that are cut off by signals: nothing finished is lost, nothing looks green, and the run goes on where it was."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from conformance import register_all
from fcvi.engine.evidence import Store
from fcvi.engine.folder import Folder
from fcvi.engine.results import Result, RunReport, Verdict
from fcvi.engine.runner import RunOptions, _Finished
from fcvi.engine.target import parse

from .. import starts

ROOT = Path(__file__).resolve().parents[3]
FCVI = ROOT / "build/fcvi"
SELECT = "6.3,6.4,6.5"
DEVICE = f"exec:{FCVI} endpoint"


def wait(*words: object) -> int:
    """A command's status."""
    return starts.run([str(FCVI), *map(str, words)], capture_output=True, timeout=120, check=False).returncode


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
    """Run, send the signal when so many cases are done, and wait. The status, and what was told. A real start: a signal comes to it
    whenever it comes."""
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


@pytest.mark.parametrize("number, jobs, cases", [
    (signal.SIGINT, 1, 0), (signal.SIGKILL, 1, 1), (signal.SIGTERM, 2, 20),
    *(pytest.param(*more, marks=pytest.mark.nightly) for more in (
        (signal.SIGTERM, 2, 0), (signal.SIGHUP, 2, 1), (signal.SIGINT, 2, 20), (signal.SIGTERM, 1, 20), (signal.SIGKILL, 2, 20))),
], ids=lambda value: getattr(value, "name", str(value)))  # fmt: skip
def test_cut_off_and_gone_on_with(number: signal.Signals, jobs: int, cases: int, whole: Path, tmp_path: Path) -> None:
    """A device in processes of its own, and a signal whenever it comes; kill_points.py has them where they are worst."""
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
        assert sum(v == "pass" for v in found.values()) == done and "error" in found.values()
    else:
        assert not (place / "report.json").exists()
    copy = tmp_path / "copy"
    shutil.copytree(place, copy)
    assert wait("judge", "--quiet", copy) == 3
    judged = verdicts(copy)
    assert sum(v != "error" for v in judged.values()) == done and list(judged) == list(verdicts(whole))
    assert wait("run", "--quiet", "--resume", place, "--dut", DEVICE, "--jobs", jobs) == 0
    assert verdicts(place) == verdicts(whole)
    for trace in (whole / "evidence").glob("*.jsonl"):
        assert (place / "evidence" / trace.name).read_bytes() == trace.read_bytes(), trace.name
    assert wait("judge", "--quiet", place) == 0
    assert not (place / "evidence/cases.jsonl").exists()


_SLOW = """
import subprocess, sys, time
device = subprocess.Popen([sys.argv[1], "endpoint"], stdin=subprocess.PIPE)
resets = 0
for line in sys.stdin:
    resets += '"method":"reset"' in line
    if resets == 20 and not open(sys.argv[2]).read():
        time.sleep(60)
    device.stdin.write(line.encode())
    device.stdin.flush()
"""


def test_a_certification_that_is_interrupted_goes_on_by_the_command_that_it_prints(key: Path, tmp_path: Path) -> None:
    """The device stops in its twentieth case until the signal has come."""
    place, gone, device, pics = tmp_path / "r", tmp_path / "gone", tmp_path / "device.py", tmp_path / "pics.toml"
    gone.write_text("")
    device.write_text(_SLOW)
    pics.write_text("[pics]\nserver = true\nunreliable_delivery = true\nclass3 = true\n")
    dut = f"exec:{sys.executable} {device} {FCVI} {gone}"
    words = ["certify", "--dut", dut, "--pics", str(pics), "--report", str(place), "--sign", str(key), "--rpc-timeout", "60"]
    with subprocess.Popen([str(FCVI), *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        until = time.monotonic() + 60
        while run.poll() is None and journal(place) < 10 and time.monotonic() < until:
            time.sleep(0.01)
        run.send_signal(signal.SIGINT)
        told = run.stderr.read() if run.stderr else ""
    assert run.returncode == 3 and len(told.splitlines()) == 1
    assert not (place / "certificate.json").exists() and not (place / "SHA256SUMS.sig").exists()
    refused = starts.run([str(FCVI), *words], capture_output=True, text=True, timeout=120, check=False)
    assert refused.returncode == 2 and f"fcvi certify --resume {place} goes on with" in refused.stderr
    gone.write_text("yes")
    command = shlex.split(told.partition("; go on with: ")[2])
    assert command[:2] == ["fcvi", "certify"]
    assert wait(*command[1:], "--quiet") == 1, "what the PICS lacks counts in a certificate"
    verdict = verdicts(place)
    assert "error" not in verdict.values() and list(verdict.values()).count("pass") > 100
    assert wait("certify", "--verify", place, "--key", f"{key}.pub") == 0


@pytest.fixture(name="key", scope="module")
def _key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("key") / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(place)], check=True, timeout=60)
    return place


@pytest.mark.parametrize(
    "jobs, points", [(2, 10), *(pytest.param(jobs, 40, marks=pytest.mark.nightly) for jobs in (1, 2))]
)
def test_points_at_which_a_run_is_killed(jobs: int, points: int, key: Path, tmp_path: Path) -> None:
    """Each phase with one of the signals in turn, and each with every one in the night. Nothing finished is lost, nothing looks
    green, and judge and --resume take what is left."""
    done = subprocess.run(
        [sys.executable, "-m", "harness.tests.commands.kill_points", str(jobs), str(tmp_path), str(key), str(points)], cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/build/python:{ROOT}/harness:{ROOT}"}, capture_output=True, text=True,
        timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)
    assert len(table) == points
    for point in table:
        assert not _wrong(point), (point["phase"], point["signal"], _wrong(point), point)


def _wrong(point: dict[str, Any]) -> list[str]:
    """What is wrong with what became of a run."""
    killed, begun, journal = point["signal"] == "SIGKILL", point["begun"], set(point["journal"])
    signing, early = "sign" in point["phase"], point["phase"] == "while it attaches"
    over = point["run"] and not begun and not early  # the evidence is whole
    report, judged = point["report"], point.get("judged")
    status = -9 if killed else 0 if over and not signing else 3
    rules = {
        "status": point["status"] == status,
        "told": len(point["told"].splitlines()) == (0 if status in (0, -9) else 1) and "Traceback" not in point["told"],
        "processes are left": point["left"] == 0,
        "there is a report": report is not None or killed,
        "report": over or report is None or {ident for ident, verdict in report.items() if verdict == "pass"} == journal,
        "green": over or report is None or set(report.values()) & {"error"} == {"error"},
        "nothing finished is lost": not begun or {i for i, v in judged.items() if v == "pass"} == journal,
        "judge": "judge" not in point or point["judge"] == (0 if set(judged.values()) == {"pass"} else 3),
        "half files": not point.get("files"),
    }
    if early:
        rules["resume"] = not point["run"] or (point["resume"] == 2 and "run it anew" in point["resume_told"])
    else:
        rules["the command that goes on is told"] = killed or not begun or point["printed"][:1] == ["fcvi"]
        rules["resume"] = point["resume"] == 0
        rules["in the end"] = point["again"] == 0 and set(point["whole"].values()) == {"pass"} and not point["differing"]
        rules["signature"] = not signing or point["verify"] == 0
        rules["signed too early"] = point["signed"] == (point["phase"] == "when it is signed")
    return [name for name, holds in rules.items() if not holds]


def test_what_a_kill_and_what_the_power_takes_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No case of a virtual-time device waits longer than a twentieth of a second for the evidence, and none more than a second for
    the disk. A case of a real device waits for neither."""
    register_all()
    now, synced = [100.0], list[str]()
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(Folder, "sync", lambda _, names: synced.extend(names))
    with Folder(tmp_path / "r", ours=True) as folder:
        options = RunOptions(parse("ref"), store=Store(folder))
        assert options.store is not None
        options.store.begin(RunReport("", "", "", "", "", {}, {}, 1), [], {}, False)
        synced.clear()

        def done(finished: _Finished, ident: str, later_s: float) -> int:
            now[0] += later_s
            finished.add(Result(ident, "", Verdict.PASS, evidence=b""))
            return journal(tmp_path / "r")

        virtual = _Finished(options, "virtual", lambda _: None)
        assert [done(virtual, "a", 0.0), done(virtual, "b", 0.051)] == [0, 2]
        assert not synced
        done(virtual, "c", 1.0)
        assert synced == [f"evidence/{ident}.jsonl" for ident in "abc"]
        assert done(_Finished(options, "real", lambda _: None), "d", 0.0) == 4


def test_a_run_that_is_whole_has_nothing_to_go_on_with(whole: Path, tmp_path: Path) -> None:
    """It is judged again, so that what is missing of its report is written, and the status is that of the run."""
    place = tmp_path / "r"
    shutil.copytree(whole, place)
    (place / "junit.xml").unlink()
    assert wait("run", "--resume", place) == 0
    assert (place / "report.json").read_bytes() == (whole / "report.json").read_bytes() and (place / "junit.xml").exists()
    assert wait("run", "--resume", place, "--force") == 2


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
    assert wait("run", "--quiet", "--select", "5.3.3/*", "--report", place, "--force") == 0
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


def test_what_the_power_took_runs_again(whole: Path, tmp_path: Path) -> None:
    """A line of the journal or a trace whose bytes never reached the disk is of a case that is not done."""
    place = tmp_path / "r"
    cut(place, signal.SIGKILL, 10, 1)
    path = place / "evidence/cases.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    for number, damage in ((0, bytes(len(lines[0]) - 1) + b"\n"), (1, b'{"id": 7}\n'), (2, b"[]\n")):
        lines[number] = damage
    path.write_bytes(b"".join(lines) + lines[5][:9])
    traces = [place / "evidence" / f"{json.loads(line)['id'].replace('/', '__')}.jsonl" for line in lines[3:6]]
    traces[0].write_bytes(b"")
    traces[1].write_bytes(bytes(500))
    traces[2].unlink()
    (place / "evidence/.0123456789abcdef.new").write_bytes(b"half")
    assert wait("judge", "--quiet", place) == 3
    judged = verdicts(place)
    assert sum(verdict != "error" for verdict in judged.values()) == len(lines) - 6
    assert wait("run", "--quiet", "--resume", place, "--dut", DEVICE) == 0
    assert verdicts(place) == verdicts(whole) and not list(place.rglob(".*.new"))
