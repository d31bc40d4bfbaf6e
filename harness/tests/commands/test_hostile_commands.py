"""Every command against a host that fails it: full disks, closed pipes, signals, and devices that are dead."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest

from .. import starts
from ..conftest import FCVI, LITTLE, RECORDED, ROOT, fcvi
from ..dut.test_hostile_device import DEVICE

CAPTURE = str(RECORDED / "cases/3.4.pcapng")
ONE = "5.3.3/dut-first/03"
AGENT = os.environ.get("FCVI_AGENT", str(ROOT / "build/fcvi-agent"))
CALLS = str(ROOT / "harness/tests/engine/calls_protocol")
FAULTY = f"exec:{sys.executable} {ROOT}/harness/tests/independent/endpoint.py --fault rqst-handle"
#: Words that say something on standard output, and the status without anything wrong. What begins with @ is put in its place.
COMMANDS: dict[str, tuple[list[str], int]] = {
    "run": (["run", "--select", ONE], 0),
    "run --record": (["run", "--select", ONE, "--record", "@new"], 0),
    "run --dut api": (["run", "--dut", "api", "--agent", f"exec:{AGENT}", "--select", "Calls.2"], 0),
    "certify": (["certify", "--help"], 0),
    "certify --verify": (["certify", "--verify", "@certified"], 0),
    "judge": (["judge", "@report"], 0),
    "replay": (["replay", CAPTURE], 0),
    "replay DIR": (["replay", "@few"], 4),
    "replay DIR --json": (["replay", "--json", "@few"], 4),
    "replay --offline": (["replay", "--offline", "@trace"], 0),
    "report diff": (["report", "diff", "@report", "@report"], 0),
    "report merge": (["report", "merge", "--out", "@new", "@part1", "@part2"], 0),
    "report matrix": (["report", "matrix", "--out", "@new", "A=@report", "B=@report"], 0),
    "report matrix --json": (["report", "matrix", "--out", "@new", "--json", "A=@report", "B=@report"], 0),
    "pics": (["pics", "new"], 0),
    "list": (["list"], 0),
    "show": (["show", "C.5.9.1"], 0),
    "decode": (["decode", CAPTURE], 0),
    "decode --json": (["decode", "--json", CAPTURE], 0),
    "lint": (["lint", CAPTURE], 0),
    "lint --json": (["lint", "--json", CAPTURE], 0),
    "flows": (["flows", CAPTURE], 0),
    "flows --csv": (["flows", "--csv", CAPTURE], 0),
    "flows --openmetrics": (["flows", "--openmetrics", CAPTURE], 0),
    "explain": (["explain", CAPTURE], 0),
    "explain --glossary": (["explain", "--glossary"], 0),
    "new-case": (["new-case", "8.5.3", "--out", "@new"], 0),
    "fuzz": (["fuzz", "--dut", "ref", "--batches", "1", "--frames", "2"], 0),
    "random": (["random", "--steps", "20"], 0),
    "random --letters": (["random", "--letters"], 0),
    "random --against": (["random", "--steps", "20", "--against", f"exec:{FCVI} endpoint"], 0),
    "random --json": (["random", "--steps", "20", "--json", "--dut", FAULTY], 1),
    "learn": (["learn", "--depth", "1", "--letters", "none"], 2),
    "explore": (["explore", "--list"], 0),
    "endpoint": (["endpoint", "--help"], 0),
    "dut": (["dut", "check", f"exec:{FCVI} endpoint"], 0),
}  # fmt: skip
#: What is written to a place on the disk.
WRITERS: dict[str, list[str]] = {
    "run --report": ["run", "--select", ONE, "--report", "@disk"],
    "run --record": ["run", "--select", ONE, "--record", "@disk"],
    "run --dut api --report": ["run", "--dut", "api", "--agent", f"exec:{AGENT}", "--select", "Calls.2", "--report", "@disk"],
    "certify": ["certify", "--quiet", "--pics", "@pics", "--report", "@disk"],
    "judge --out": ["judge", "--quiet", "--out", "@disk", "@report"],
    "replay --keep": ["replay", CAPTURE, "--keep", "@disk"],
    "replay --out": ["replay", CAPTURE, "--out", "@disk"],
    "report matrix": ["report", "matrix", "--out", "@disk", "A=@report", "B=@report"],
    "report merge": ["report", "merge", "--out", "@disk", "@part1", "@part2"],
    "flows --html": ["flows", "--html", "@disk", CAPTURE],
    "lint --sarif": ["lint", "--sarif", "@disk", CAPTURE],
    "pics new": ["pics", "new", "--out", "@disk"],
    "new-case": ["new-case", "8.5.3", "--out", "@disk"],
    "random": ["random", "--steps", "60", "--findings", "1", "--dut", FAULTY, "--out", "@disk"],
    "fuzz": ["fuzz", "--batches", "1", "--dut", f"exec:{sys.executable} @device honest", "--out", "@disk"],
    "learn": ["learn", "--depth", "1", "--letters", "wait,rqst", "--dut", "ref", "--out", "@disk"],
}  # fmt: skip
#: Those that take a device, and the words before its name.
DEVICES = {
    "run": ["run", "--select", ONE, "--dut"], "certify": ["certify", "--quiet", "--report", "REPORT", "--dut"],
    "replay": ["replay", CAPTURE, "--dut"], "fuzz": ["fuzz", "--batches", "1", "--out", "REPORT", "--dut"],
    "random": ["random", "--steps", "20", "--out", "REPORT", "--dut"], "learn": ["learn", "--depth", "1", "--dut"],
    "dut": ["dut", "check"],
}  # fmt: skip


@pytest.fixture(name="places", scope="module")
def _places(tmp_path_factory: pytest.TempPathFactory, certified_little: Path) -> dict[str, str]:
    """What the words beginning with @ stand for."""
    place = tmp_path_factory.mktemp("places")
    assert fcvi("run", "--quiet", "--select", ONE, "--report", str(place / "report")).returncode == 0
    for part in ("1", "2"):
        fcvi("run", "--quiet", "--select", "5.3.3/*", "--shard", f"{part}/2", "--report", str(place / f"part{part}"))
    (place / "pics").write_text(LITTLE)
    (place / "few").mkdir()
    for name in ("3.4", "5.2.1"):
        shutil.copy(RECORDED / f"cases/{name}.pcapng", place / "few")
    (place / "device").write_text(DEVICE)
    trace = next((place / "report/evidence").glob("*.jsonl"))
    made = ("report", "part1", "part2", "few", "device", "pics")
    return {**{name: str(place / name) for name in made}, "trace": str(trace), "certified": str(certified_little)}


def put(words: list[str], places: dict[str, str]) -> list[str]:
    """The words with what stands for each @name."""
    return [re.sub(r"@(\w+)", lambda match: places[match[1]], word) for word in words]


def test_every_command_is_here() -> None:
    told = fcvi("--help").stdout
    assert set(re.findall(r"^    ([a-z-]+) ", told, re.MULTILINE)) == {name.split()[0] for name in COMMANDS}


def well(status: int, error: str, wanted: set[int]) -> None:
    """One line, and a documented status."""
    assert status in wanted and len(error.splitlines()) <= 1 and "Traceback" not in error, (status, error)


@pytest.mark.parametrize("name", COMMANDS)
def test_full_and_closed_standard_output(name: str, places: dict[str, str], tmp_path: Path) -> None:
    words, good = COMMANDS[name]
    env = {**os.environ, "FCVI_STANDARDS": CALLS} if "Calls.2" in words else None

    def status(stdout: IO[bytes] | int, new: str) -> int:
        told = put([str(FCVI), *words], {**places, "new": str(tmp_path / new)})
        done = starts.run(told, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=100, check=False, env=env)
        well(done.returncode, done.stderr, {good, 3})
        return done.returncode

    with open("/dev/full", "wb") as full:
        assert status(full, "full") == (good if good == 2 else 3)
    read, write = os.pipe()
    os.close(read)
    try:
        assert status(write, "closed") == good
    finally:
        os.close(write)


def test_a_full_disk(places: dict[str, str], tmp_path: Path) -> None:
    """On a disk of 1 MB of which nothing is left, in a namespace of our own: status 3, one line, and nothing half written."""
    disk = tmp_path / "disk"
    disk.mkdir()
    setup = 'mount -t tmpfs -o size=1m none "$1" && ! cat /dev/zero > "$1/fill" 2> /dev/null && shift && exec "$@"'
    script = Path(__file__).with_name("full_disk.py")
    told = {}
    for name, words in WRITERS.items():
        calls = ["env", f"FCVI_STANDARDS={CALLS}"] if "Calls.2" in words else []
        told[name] = [*calls, str(FCVI), *put(words, {**places, "disk": str(disk / "x")})]
    user = ["-r"] if os.geteuid() else []
    done = subprocess.run(
        ["unshare", *user, "-m", "sh", "-c", setup, "sh", str(disk), sys.executable, str(script), str(disk)], text=True,
        input=json.dumps(told), capture_output=True, check=False, timeout=300,
    )  # fmt: skip
    if "unshare" in done.stderr:
        pytest.skip(f"namespaces are not allowed here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    for name, (status, error, left) in json.loads(done.stdout).items():
        well(status, error, {3})
        assert "No space left on device" in error and "Errno" not in error and "fcvi: " in error, (name, error)
        assert not left, (name, left)


def test_a_start_on_a_full_disk_harms_no_later_one(tmp_path: Path) -> None:
    """Python keeps what it compiles, and took the half of a module that there was room for."""
    for room in ("harness/fcvi", "conformance"):
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "build").mkdir()
    (tmp_path / "build/python").symlink_to(ROOT / "build/python")
    command = shutil.copy(FCVI, tmp_path / "build/fcvi")
    limited = subprocess.run(["sh", "-c", 'ulimit -f 8; exec "$0" list', command], capture_output=True, check=False, timeout=100)
    assert limited.returncode == 0, limited.stderr
    assert list(tmp_path.rglob("*.pyc")) and not [path for path in tmp_path.rglob("*.pyc.*")]
    later = subprocess.run([command, "list"], capture_output=True, text=True, check=False, timeout=100)
    assert (later.returncode, later.stderr, later.stdout.encode()) == (0, "", limited.stdout)


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("device", ["exec:/bin/false", "exec:/bin/cat", "unix:/nowhere", "tcp:127.0.0.1:1"])
def test_dead_devices(name: str, device: str, tmp_path: Path) -> None:
    words = [str(tmp_path / "r") if word == "REPORT" else word for word in DEVICES[name]]
    done = fcvi(*words, device, timeout=100)
    well(done.returncode, done.stderr, {1, 2, 3} if name == "dut" else {2, 3})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
@pytest.mark.parametrize("name", [name for name in DEVICES if name != "certify"])  # which is run, over every case
def test_signals_while_a_device_is_silent(name: str, number: signal.Signals, tmp_path: Path) -> None:
    words = [str(tmp_path / "r") if word == "REPORT" else word for word in DEVICES[name]]
    ready = tmp_path / "ready"
    device = f"exec:sh -c 'touch {ready}; exec sleep 60'"
    # a real start: the signal may come while it begins
    with subprocess.Popen([str(FCVI), *words, device], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 60
        while not ready.exists() and time.monotonic() < until:
            time.sleep(0.005)
        process.send_signal(number)
        _, error = process.communicate(timeout=60)
    well(process.returncode, error, {3})
