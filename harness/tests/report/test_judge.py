"""``fcvi judge``: the same bytes from the evidence alone, and one clear line for evidence that is not what it was."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path
from typing import Callable

import jsonschema
import pytest

from fcvi.engine.folder import Folder
from fcvi.report import clear, file_name

from ..conftest import FCVI, ROOT, fcvi

SCHEMA = json.loads((ROOT / "harness/fcvi/report/report.schema.json").read_text())
INDEPENDENT = f"exec:/usr/bin/python3 {shlex.quote(str(ROOT))}/harness/tests/independent/endpoint.py"


def contents(directory: Path) -> dict[str, bytes]:
    """Every file by its name."""
    return {str(p.relative_to(directory)): p.read_bytes() for p in directory.rglob("*") if p.is_file()}


def keep_only_evidence(directory: Path) -> None:
    """Take everything away that is computed."""
    for path in directory.iterdir():
        if path.is_file() and path.name != "dut.log":
            path.unlink()


PART = ["--select", "5.3.2,C.5.7.2,C.5.9.*,D.*"]
RUNS = {
    "processes": ["--dut", f"exec:{FCVI} endpoint", "--jobs", "2", "--seed", "7", *PART],
    "fails": ["--dut", f"{INDEPENDENT} --fault no-retry", *PART],
    "wrong-frames": ["--dut", f"{INDEPENDENT} --fault resp1-revision", *PART],
    "interpretation": ["--dut", f"{INDEPENDENT} --choose disconnect_connection_id=ffffffff", *PART],
    "real-time": ["--dut", f"{INDEPENDENT} --clock real", "--select", "D.R1,5.3.2"],
    "dies": ["--dut", f"exec:sh -c '{FCVI} endpoint | sed -u 150q'", "--rpc-timeout", "2", "--select", "5.3.2,D.R1"],
    "nobody": ["--dut", "exec:false"],
}


@pytest.mark.nightly
def test_evidence_of_a_certification_gives_the_same_bytes_again(certified_reference: Path, tmp_path: Path) -> None:
    """Every case of the reference port."""
    shutil.copytree(certified_reference, tmp_path / "r")
    jsonschema.validate(json.loads((tmp_path / "r/report.json").read_text()), SCHEMA)
    before = contents(tmp_path / "r")
    keep_only_evidence(tmp_path / "r")
    again = fcvi("judge", str(tmp_path / "r"), timeout=300)
    assert again.returncode == 0 and "was missing, written anew" in again.stderr
    assert contents(tmp_path / "r") == before


@pytest.mark.parametrize("name", RUNS)
def test_evidence_gives_the_same_bytes_again(name: str, tmp_path: Path) -> None:
    ran = fcvi("run", *RUNS[name], "--report", str(tmp_path / "r"), timeout=300)
    assert "Traceback" not in ran.stderr
    jsonschema.validate(json.loads((tmp_path / "r/report.json").read_text()), SCHEMA)
    before = contents(tmp_path / "r")
    keep_only_evidence(tmp_path / "r")
    again = fcvi("judge", str(tmp_path / "r"), timeout=300)
    assert again.returncode == ran.returncode and "was missing, written anew" in again.stderr
    assert contents(tmp_path / "r") == before


def test_a_run_that_never_began_is_judged_the_same(tmp_path: Path) -> None:
    ran = fcvi("run", "--select", "Z.9", "--report", str(tmp_path))
    before = contents(tmp_path)
    judged = fcvi("judge", str(tmp_path))
    assert (ran.returncode, judged.returncode) == (2, 2) and contents(tmp_path) == before


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of a few cases."""
    directory = tmp_path_factory.mktemp("good") / "r"
    assert fcvi("run", "--select", "5.3.2,D.R1", "--quiet", "--report", str(directory)).returncode == 0
    return directory


@pytest.fixture
def report(good: Path, tmp_path: Path) -> Path:
    """A copy of it to spoil."""
    shutil.copytree(good, tmp_path / "r")
    return tmp_path / "r"


def test_a_changed_file_is_named_and_left_alone(report: Path) -> None:
    path = report / "report.json"
    path.write_bytes(path.read_bytes().replace(b'"seed": 1', b'"seed": 2'))
    before = contents(report)
    judged = fcvi("judge", str(report))
    assert judged.returncode == 1 and f"{path}: differs from what the evidence gives" in judged.stderr
    assert contents(report) == before


def test_out_leaves_the_directory_alone(report: Path, tmp_path: Path) -> None:
    (report / "report.tap").unlink()
    before = contents(report)
    assert fcvi("judge", str(report), "--out", str(tmp_path / "o")).returncode == 0
    assert contents(report) == before
    assert (tmp_path / "o/report.json").read_bytes() == before["report.json"] and (tmp_path / "o/report.tap").is_file()


def test_a_frame_that_was_touched_up_changes_the_verdict(report: Path) -> None:
    """FCVI_RESP_HANDLE of the DUT's CONNECT_RESP1 becomes FFFFFFFFh in the trace: 5.9.2 and E12 forbid it."""
    path = report / "evidence/5.3.2__dut-server.jsonl"
    lines = path.read_text().splitlines()
    for index, line in enumerate(lines):
        entry = json.loads(line)
        for note in entry.get("notes", []):
            frame = bytearray.fromhex(note[1].get("hex", ""))
            if len(frame) > 100 and frame[0] == 0x03 and frame[28] == 0x18:
                frame[64:68] = b"\xff\xff\xff\xff"
                note[1]["hex"] = frame.hex()
                lines[index] = json.dumps(entry)
    assert lines != path.read_text().splitlines()
    path.write_text("\n".join(lines) + "\n")
    judged = fcvi("judge", str(report), "--json")
    result = next(r for r in json.loads(judged.stdout)["results"] if r["id"] == "5.3.2/dut-server")
    assert result["verdict"] in ("fail", "error") and judged.returncode in (1, 3)


def _drop_line(path: Path) -> None:
    path.write_bytes(b"\n".join(path.read_bytes().split(b"\n")[:-3]) + b"\n")


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


SPOILT_TRACES: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda p: p.write_bytes(b""),
    "garbage": lambda p: p.write_bytes(os.urandom(500) + b"\n"),
    "truncated": lambda p: p.write_bytes(p.read_bytes()[:-100]),
    "shorter": _drop_line,
    "longer": lambda p: p.write_bytes(p.read_bytes() + p.read_bytes().split(b"\n")[1] + b"\n"),
    "another": lambda p: p.write_bytes(p.with_name("5.3.2__dut-client.jsonl").read_bytes()),
    "deep": lambda p: p.write_bytes(b"[" * 200_000 + b"\n"),
    "list": lambda p: p.write_bytes(b"[]\n"),
    "infinite": lambda p: p.write_bytes(p.read_bytes().replace(b'"now":0', b'"now":1e999')),
    "wrong-types": lambda p: p.write_bytes(p.read_bytes().replace(b'"notes":[[', b'"notes":[[7,8,9,"x"],[')),
    "no-params": lambda p: p.write_bytes(p.read_bytes().replace(b'["frame",{', b'["frame",7,0,0],["frame",{')),
    "fifo": _fifo,
}


@pytest.mark.parametrize("name", SPOILT_TRACES)
def test_a_spoilt_trace_is_an_error_of_that_case(name: str, report: Path) -> None:
    SPOILT_TRACES[name](report / "evidence/5.3.2__dut-server.jsonl")
    judged = fcvi("judge", str(report), "--json", timeout=30)
    assert judged.returncode == 3 and "Traceback" not in judged.stderr
    verdicts = {r["id"]: r["verdict"] for r in json.loads(judged.stdout)["results"]}
    assert verdicts["5.3.2/dut-server"] == "error" and verdicts["5.3.2/dut-client"] == "pass"


RUN = "evidence/run.json"
SPOILT_RUNS: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "garbage": lambda p: p.write_bytes(os.urandom(500)),
    "truncated": lambda p: p.write_bytes(p.read_bytes()[:-100]),
    "deep": lambda p: p.write_bytes(b'{"evidence":' * 100_000),
    "other": lambda p: p.write_bytes(b'{"evidence": 9}'),
    "bare": lambda p: p.write_bytes(b'{"evidence": 1}'),
    "number": lambda p: p.write_bytes(p.read_bytes().replace(b'"seed": 1', b'"seed": 1e999')),
    "digits": lambda p: p.write_bytes(p.read_bytes().replace(b'"seed": 1', b'"seed": ' + b"9" * 6000)),
    "nan": lambda p: p.write_bytes(p.read_bytes().replace(b'"seed": 1', b'"seed": NaN')),
    "cases": lambda p: p.write_bytes(p.read_bytes().replace(b'"id": "D.R1', b'"id": ["D.R1"], "x": "')),
    "fifo": _fifo,
    "directory": lambda p: (p.unlink(), p.mkdir()),
    "huge": lambda p: os.truncate(p, 1 << 40),
}


@pytest.mark.parametrize("name", SPOILT_RUNS)
def test_spoilt_evidence_is_one_line_and_status_2(name: str, report: Path) -> None:
    SPOILT_RUNS[name](report / RUN)
    before = sorted(report.rglob("*"))
    judged = fcvi("judge", str(report), timeout=30)
    assert judged.returncode == 2 and len(judged.stderr.splitlines()) == 1 and judged.stdout == ""
    assert str(report / RUN) in judged.stderr
    assert sorted(report.rglob("*")) == before


@pytest.mark.parametrize("ident", ["../../../outside", "/outside", "D.R1/../../../outside", "<b>&amp;", "x\\u0000y", "C.99"])
def test_a_case_that_is_none_of_ours_is_an_error_and_no_path(ident: str, report: Path, tmp_path: Path) -> None:
    path = report / RUN
    path.write_bytes(path.read_bytes().replace(b'"id": "5.3.2/dut-server"', f'"id": "{ident}"'.encode()))
    judged = fcvi("judge", str(report), "--out", str(tmp_path / "a/b/c/o"), "--json")
    assert judged.returncode == 3 and "Traceback" not in judged.stderr
    results = json.loads(judged.stdout)["results"]
    assert [r["verdict"] for r in results].count("error") == 1
    assert not [p for p in tmp_path.rglob("*outside*")]


def test_nothing_of_an_earlier_run_stays(report: Path) -> None:
    """A report directory that is used again holds the later run only, and what somebody else put there."""
    (report / "notes.txt").write_text("mine")
    (report / "evidence/mine.txt").write_text("mine")
    assert fcvi("run", "--select", "D.R1", "--quiet", "--report", str(report), "--force").returncode == 0
    names = set(contents(report))
    assert "notes.txt" in names and "evidence/mine.txt" in names and not [n for n in names if n.startswith("5.3.2")]
    assert not [n for n in names if n.startswith("evidence/5.3.2")]


def test_clearing_follows_no_path_of_a_report(report: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.pcapng"
    outside.write_text("mine")
    for ident in ("../outside", "..", "/outside", "a\0b", "x" * 5000):
        (report / "report.json").write_text(json.dumps({"results": [{"id": ident}]}))
        with Folder(report) as folder:
            clear(folder)
        assert outside.read_text() == "mine"
    assert file_name("D.R1/dut-client") == "D.R1__dut-client.pcapng"


def test_only_the_formats_that_were_asked_for(tmp_path: Path) -> None:
    args = ["run", "--select", "D.R1", "--quiet", "--force", "--report", str(tmp_path / "r")]
    assert fcvi(*args).returncode == 0
    whole = contents(tmp_path / "r")
    assert fcvi(*args, "--formats", "evidence,junit").returncode == 0
    assert {n for n in contents(tmp_path / "r") if not n.startswith("evidence/")} == {"junit.xml", "dut.log"}
    assert fcvi("judge", "--quiet", str(tmp_path / "r")).returncode == 0, "it writes the others"
    assert set(contents(tmp_path / "r")) == set(whole)
    assert fcvi(*args, "--formats", "json").returncode == 0
    assert set(contents(tmp_path / "r")) == {"report.json", "dut.log"}
    assert fcvi("judge", str(tmp_path / "r")).returncode == 2
