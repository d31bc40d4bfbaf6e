"""Every command over hostile files, names, pipes and environments: no traceback, a documented status, one line at most."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Callable, Optional

import pytest

from .. import starts

ROOT = Path(__file__).resolve().parents[3]
FCVI = ROOT / "build/fcvi"
STATUSES = {0, 1, 2, 3, 4}
NASTY = "a\nb\x1b[31m\u202ec"


def capture() -> Path:
    """Any capture of a case."""
    return next(iter(sorted((ROOT / "build/pcaps/cases").glob("*.pcapng"))))


def fcvi(*words: object, env: Optional[dict[str, str]] = None, **options: Any) -> subprocess.CompletedProcess[str]:
    """One command."""
    options.setdefault("stdin", subprocess.DEVNULL)
    return starts.run(
        [str(FCVI), *map(os.fsdecode, map(os.fspath, map(_path, words)))], env={**os.environ, **(env or {})}, text=True,
        stdout=options.pop("stdout", subprocess.PIPE), stderr=options.pop("stderr", subprocess.PIPE), errors="replace",
        timeout=100, check=False, **options,
    )  # fmt: skip


def _path(word: object) -> Any:
    return word if isinstance(word, (Path, bytes)) else str(word)


def well(done: subprocess.CompletedProcess[str], *statuses: int, lines: int = 1) -> None:
    """It kept its manners."""
    assert done.returncode in (statuses or STATUSES), (done.args, done.returncode, done.stderr)
    assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) <= lines, (done.args, done.stderr)
    said = done.stderr + (done.stdout or "")
    assert "\x1b" not in said and "\u202e" not in said, (done.args, done.stderr)
    for python in ("invalid literal", "[Errno", "Error(", "_positive", "NoneType"):
        assert python not in done.stderr, (done.args, done.stderr)


@pytest.fixture(name="report", scope="module")
def _report(certified_little: Path) -> Path:
    return certified_little


# ---- statuses ----

def failing() -> list[str]:
    """A run with status 3: the device is no device."""
    return ["run", "--dut", "exec:/bin/cat", "--select", "5.3.3/*"]


def gone(words: list[str], **options: Any) -> int:
    """The status of a command whose reader has gone before it says anything."""
    read, write = os.pipe()
    os.close(read)
    try:
        return fcvi(*words, stdout=write, stderr=subprocess.DEVNULL, **options).returncode
    finally:
        os.close(write)


def test_the_status_survives_a_reader_that_goes_away(report: Path) -> None:
    assert gone(failing()) == 3
    assert gone(["run", "--select", "5.3.3/*"]) == 0
    assert gone(["lint", str(ROOT / "nowhere.pcap")]) == 2
    assert gone(["judge", str(report)]) == 1
    assert gone(["report", "diff", str(report), str(report)]) == 0
    assert gone(["list"]) == 0


COMMANDS: list[list[str]] = [
    ["--help"], ["--version"], ["list"], ["list", "--json"], ["show", "C.5.9.1"], ["run", "--select", "5.3.3/*"],
    ["lint", str(capture())], ["decode", str(capture())], ["explore", "--list"], ["replay", str(capture())], ["run", "--help"],
]  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_output_that_cannot_be_written_is_status_3(words: list[str]) -> None:
    if words[0] == "replay":
        words = ["replay", "--offline", str(ROOT / "nowhere")]  # nothing on standard output
    with open("/dev/full", "wb") as full:
        done = fcvi(*words, stdout=full)
    well(done, 2 if words[0] == "replay" else 3)
    done = fcvi(*words, preexec_fn=lambda: os.close(1), stdout=None)
    assert done.returncode == (2 if words[0] == "replay" else 3) and len(done.stderr.splitlines()) == 1


def test_closed_streams_are_not_given_to_files(tmp_path: Path) -> None:
    """The lowest free descriptor would be the next file's: dut.log would get what is printed."""

    def close() -> None:
        for descriptor in (0, 1, 2):
            os.close(descriptor)

    device = "exec:sh -c 'echo words >&2; exec cat'"
    done = fcvi("run", "--dut", device, "--select", "5.3.3/*", "--report", tmp_path, preexec_fn=close, stdin=None, stdout=None,
                stderr=None)  # fmt: skip
    assert done.returncode == 3
    assert set((tmp_path / "dut.log").read_text().split()) <= {"words"}


def test_a_report_that_cannot_be_written_leaves_the_verdicts(tmp_path: Path) -> None:
    def small() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # as a disk that is full

    done = fcvi("run", "--select", "5.3.3/*", "--report", tmp_path / "r", preexec_fn=small)
    well(done, 3)
    assert " cases: " in done.stdout and "cannot write" in done.stderr
    (tmp_path / "file").write_text("")
    well(fcvi("run", "--select", "5.3.3/*", "--report", tmp_path / "file"), 2)
    well(fcvi("run", "--select", "5.3.3/*", "--report", "/proc/nowhere"), 3)


def test_a_report_directory_that_vanishes(tmp_path: Path) -> None:
    place = tmp_path / "r"
    device = f"exec:sh -c 'rm -rf {place}; exec {FCVI} endpoint'"
    done = fcvi("run", "--dut", device, "--select", "5.3.3/*", "--report", place)
    well(done, 3)
    assert " cases: " in done.stdout


def test_a_matrix_of_strangers_reports(report: Path, tmp_path: Path) -> None:
    """Names, cases and paths of reports that others made stay words, in the page, the table and the output."""
    (tmp_path / NASTY).mkdir()
    data = json.loads((report / "report.json").read_text())
    data["dut"]["implementation"] = f"<script>{NASTY}\0"
    data["results"] = [{**r, "id": r["id"] + NASTY} for r in data["results"][:3]]
    data["suite"]["version"] = NASTY
    (tmp_path / NASTY / "report.json").write_text(json.dumps(data))
    done = fcvi("report", "matrix", "--out", tmp_path / "out", tmp_path / NASTY, f"{NASTY}={report}")
    well(done, 0)
    for name in ("matrix.html", "matrix.csv"):
        text = (tmp_path / "out" / name).read_text()
        assert not set("\x1b\u202e\0") & set(text), name
    assert "<script>" not in (tmp_path / "out/matrix.html").read_text()


# ---- words ----

WRONG: list[list[str]] = [
    ["run", "--select", ""], ["run", "--select", " "], ["list", "--select", ""], ["run", "--jobs", "x"], ["run", "--seed", "1.5"],
    ["run", "--r-a-tov", "9" * 5000], ["run", "--rpc-timeout", "nan"], ["run", "--tolerance", "-1"],
    ["lint", "--r-a-tov", "x", "f"],
    ["run", "--dut", "tcp:localhost:x"],
    ["run", "--dut", "exec:'"], ["run", "--dut", NASTY], ["show", NASTY], ["lint", NASTY],
    ["decode", NASTY], ["replay", NASTY], ["judge", NASTY], ["certify", "--verify", NASTY], ["report", "diff", NASTY, NASTY],
    ["run", "--pics", NASTY], ["run", "--select", NASTY], ["explore", NASTY], ["fuzz", "--dut", NASTY], ["dut", "check", NASTY],
    ["endpoint", "--listen", NASTY], ["endpoint", "--on", NASTY], ["decode", "--frames", "9" * 5000, "x"], [NASTY],
    ["fuzz", "--dut", "ref", "--repeat", NASTY], ["dut", "check", "--timeout", "x", "exec:a"],
    ["endpoint", "--listen", "tcp:127.0.0.1:x"], ["replay", "--side", NASTY, str(capture())], ["lint", "--jobs", "0", "x"],
]  # fmt: skip


@pytest.mark.parametrize("words", WRONG, ids=lambda words: ascii(" ".join(words))[:50])
def test_wrong_usage_is_one_line_and_status_2(words: list[str]) -> None:
    done = fcvi(*words)
    well(done, 2)
    assert len(done.stderr.splitlines()) == 1 and done.stdout == ""


@pytest.mark.parametrize("env", [{"PYTHONOPTIMIZE": "2"}, {"LC_ALL": "C"}, {"PYTHONHOME": "/nowhere"}, {"PYTHONUTF8": "x"},
                                 {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}, {"COLUMNS": "x"},
                                 {"PYTHONHASHSEED": "x"}, {"TMPDIR": "/nowhere"}], ids=str)  # fmt: skip
def test_the_environment_changes_nothing(env: dict[str, str], tmp_path: Path) -> None:
    done = fcvi("run", "--select", "5.3.3/*", "--report", tmp_path, env=env)
    well(done, 0)
    assert "0 fail" in done.stdout
    well(fcvi("lint", capture(), env=env), 0)


def test_a_python_path_of_the_caller_replaces_nothing(tmp_path: Path) -> None:
    for name in ("json", "fcvi", "conformance", "argparse", "rich", "os", "cffi"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(77)\n")
    well(fcvi("run", "--quiet", "--select", "5.3.3/*", env={"PYTHONPATH": str(tmp_path)}, cwd=tmp_path), 0)


# ---- files ----

def _bytes() -> dict[str, bytes]:
    good = capture().read_bytes()
    deep = b"[" * 100_000
    return {
        "empty": b"", "zeros": bytes(4096), "half": good[: len(good) // 2], "deep": deep, "digits": b"x = " + b"9" * 5000,
        "jsondigits": b'{"evidence": ' + b"9" * 5000 + b"}", "nan": b'{"evidence": NaN}', "utf16": "{}".encode("utf-16"),
        "binary": bytes(range(256)) * 20, "gzip": b"\x1f\x8b\x08" + bytes(40), "twice": b'{"evidence": 1, "evidence": 1}',
        "array": b"[]", "null": b"null", "surrogate": b'{"evidence": 1, "dut": "\\ud800"}', "huge": b'{"evidence": 1e999}',
        "tomldeep": b"a = " + deep, NASTY: good[:100],
    }  # fmt: skip


@pytest.fixture(name="corpus", scope="module")
def _corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("corpus")
    for name, data in _bytes().items():
        (place / name).write_bytes(data)
    os.mkfifo(place / "fifo")
    (place / "loop").symlink_to("loop")
    (place / "folder").mkdir()
    return place


READERS: dict[str, Callable[[Path], list[object]]] = {
    "lint": lambda p: ["lint", p],
    "decode": lambda p: ["decode", "--summary", p],
    "replay": lambda p: ["replay", p],
    "offline": lambda p: ["replay", "--offline", p],
    "pics": lambda p: ["run", "--select", "5.3.3/*", "--pics", p],
    "diff": lambda p: ["report", "diff", p, p],
    "repeat": lambda p: ["fuzz", "--dut", "ref", "--repeat", p],
    "judge": lambda p: ["judge", p],
    "verify": lambda p: ["certify", "--verify", p],
    "resume": lambda p: ["run", "--resume", p],
}


@pytest.mark.parametrize("reader", READERS)
def test_hostile_files(reader: str, corpus: Path) -> None:
    names = sorted(os.listdir(corpus))
    for name in names:
        if name == "fifo" and reader in ("lint", "decode", "replay"):
            continue  # a capture may come through a pipe: it is waited for
        done = fcvi(*READERS[reader](corpus / name))
        well(done)
        fine = {"lint": (0, 1, 2), "decode": (0, 2), "pics": (0, 1, 2)}.get(reader, (2,))
        assert done.returncode in fine, (name, done.returncode, done.stderr)


@pytest.mark.parametrize("what", ["run.json", "trace", "report.json", "certificate.json"])
def test_a_report_with_one_file_replaced(what: str, corpus: Path, report: Path, tmp_path: Path) -> None:
    """judge, diff, verify, offline replay over a report in which one file is something else."""
    place = tmp_path / "r"
    shutil.copytree(report, place)
    trace = sorted((place / "evidence").glob("*.jsonl"))[0]
    path = {"run.json": place / "evidence/run.json", "trace": trace}.get(what, place / what)
    for name in ("deep", "jsondigits", "nan", "twice", "array", "null", "surrogate", "binary", "empty"):
        path.unlink()
        path.write_bytes((corpus / name).read_bytes())
        done = fcvi("replay", "--offline", trace)
        well(done)
        if what == "run.json":
            judged = fcvi("judge", "--quiet", "--out", tmp_path / "again", place)
            well(judged, 2)


SHAPES: list[tuple[str, Any]] = [
    ("cases", None), ("cases", [1]), ("cases", {"id": 1}), ("cases", [{"id": []}]), ("cases", [{"id": "x"}]),
    ("dut", []), ("seed", "x"),
    ("seed", 10**30), ("pixit", []), ("deviations", [1]), ("deviations", [{"reason": 1}]), ("date", {}), ("error", None),
    ("suite", 3),
    ("dut", {"attachment": 1, "implementation": 2, "version": 3, "clock": 4, "pics": 5}), ("certification", "no"),
    ("cases", [{"id": "5.3.3/dut-first/03", "wall_us": "x"}]), ("cases", [{"id": "../../etc/passwd", "wall_us": 1}]),
    ("cases", [{"id": "5.3.3/dut-first/03", "wall_us": 1, "slower": -5}]),
    ("cases", [{"id": "5.3.3/dut-first/03", "wall_us": 1, "slower": 10**400}]),
]  # fmt: skip


@pytest.mark.parametrize("member, value", SHAPES, ids=lambda v: str(v)[:30])
def test_shapes_of_run_json(member: str, value: Any, report: Path, tmp_path: Path) -> None:
    (tmp_path / "evidence").mkdir()
    run = json.loads((report / "evidence/run.json").read_text())
    run["cases"] = run["cases"][:3]
    run[member] = value
    (tmp_path / "evidence/run.json").write_text(json.dumps(run))
    well(fcvi("judge", "--quiet", "--out", tmp_path / "again", tmp_path), lines=20)  # it names the files that are missing


def test_a_pipe_without_a_writer_as_a_report_does_not_block(tmp_path: Path) -> None:
    (tmp_path / "evidence").mkdir()
    os.mkfifo(tmp_path / "evidence/run.json")
    started = time.monotonic()
    well(fcvi("judge", tmp_path), 2)
    assert time.monotonic() - started < 60
