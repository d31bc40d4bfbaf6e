"""One seed, one report: whatever the number of processes and the attachment, but for times."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from fcvi.engine.case import load_cases
from fcvi.report import file_name
from fcvi.vitcp import codec

from ..conftest import FCVI, fcvi

ENDPOINT = f"exec:{shlex.quote(str(FCVI))} endpoint"


def without_times(directory: Path) -> dict[str, bytes]:
    """Every file by its name, without how long it took, when it was, and what the attachment is called."""
    attachment = (rb'"attachment": "[^"]*"', b"")
    rules = {
        "report.json": [(rb'"wall_us": \d+', b""), attachment],
        "evidence/run.json": [(rb'"wall_us": \d+', b""), (rb'"(date|ended)": "[^"]*"', b""), attachment],
        "junit.xml": [(rb'time="[0-9.]+"', b""), (rb'timestamp="[^"]*"', b""), (rb'name="dut" value="[^"]*"', b"")],
        "report.sarif": [(rb'"startTimeUtc": "[^"]*"', b""), (rb'"dut": "[^"]*"', b"")],
        "report.txt": [(rb"; [0-9.]+ s\n", b""), (rb"(?m)^DUT: .*$", b"")],
        "report.html": [(rb'<span id="when">[^<]*</span>', b""), (rb"<dt>Device under test</dt>.*", b"")],
    }
    found = {}
    for path in directory.rglob("*"):
        if path.is_file() and path.name != "dut.log":
            name, data = path.relative_to(directory).as_posix(), path.read_bytes()
            for pattern, instead in rules.get(name, []):
                data = re.sub(pattern, instead, data)
            found[name] = data
    return found


#: Of a certificate: they have hashes of files in which there are times.
HASHES = {"certificate.json", "certificate.html", "statement.json", "SHA256SUMS"}


def run(directory: Path, *args: str, command: str = "run") -> dict[str, bytes]:
    """Run the suite; its files."""
    done = fcvi(command, *args, "--quiet", "--report", str(directory), timeout=600)
    assert done.returncode == 0, done.stderr
    return without_times(directory)


def differing(a: dict[str, bytes], b: dict[str, bytes]) -> list[str]:
    """Names of files that are not the same in both."""
    return sorted(name for name in {*a, *b} if a.get(name) != b.get(name))


@pytest.mark.parametrize("words", [
    ["--select", "5.3.*,D.*"], ["--dut", "ref:rev1", "--select", "R1.5*,R1.6.1*"],
    ["--dut", "ref:vitcp", "--select", "TCP.2.2.2.2.*"],
    ["--dut", "ref:vitcp", "--select", "TCP.2.2.2.2.*", "--profile", "PROFILE"],
], ids=["fc-vi", "rev1", "vitcp", "profile"])  # fmt: skip
def test_one_or_two_processes_write_the_same_files(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(codec.T0.text().replace("version = ", "version = 1").replace(codec.T0.name, "another"))
    words = [word.replace("PROFILE", str(tmp_path / "p.toml")) for word in words]
    one, two = run(tmp_path / "1", *words), run(tmp_path / "2", "--jobs", "2", *words)
    assert differing(one, two) == [] and len([name for name in one if name.endswith(".jsonl")]) > 64


@pytest.mark.nightly
def test_one_or_two_processes_certify_the_same(certified_reference: Path, tmp_path: Path) -> None:
    one, two = without_times(certified_reference), run(tmp_path / "2", "--jobs", "2", command="certify")
    assert set(differing(one, two)) <= HASHES and HASHES <= set(one)
    cases = [v for c in load_cases() for v in c.variant_ids()]
    assert {n for n in one if n.endswith(".pcapng")} == {file_name(v) for v in cases}
    assert len([n for n in one if n.endswith(".jsonl")]) == len(cases)


@pytest.mark.parametrize("select", ["5.3.*,D.*", pytest.param("4.*,5.3.*,A.*,C.5.*,D.*", marks=pytest.mark.nightly)])
def test_the_dut_protocol_changes_no_verdict_and_no_frame(select: str, tmp_path: Path) -> None:
    """What was asked and answered is noted differently there (how well a time is known), so traces are left out."""
    part = ["--select", select]
    inside = run(tmp_path / "ref", *part)
    over, parallel = run(tmp_path / "exec", "--dut", ENDPOINT, *part), run(tmp_path / "2", "--dut", ENDPOINT, "--jobs", "2", *part)
    assert differing(over, parallel) == []
    assert [name for name in differing(inside, over) if not name.startswith("evidence/")] == []


@pytest.mark.parametrize("seed", ["2", "77"])
def test_another_seed_gives_other_frames_and_the_same_verdicts(seed: str, tmp_path: Path) -> None:
    base = run(tmp_path / "1", "--select", "5.3.2")
    other = run(tmp_path / "n", "--select", "5.3.2", "--seed", seed)
    assert base["5.3.2__dut-server.pcapng"] != other["5.3.2__dut-server.pcapng"]
    verdicts = [[r["verdict"] for r in json.loads((tmp_path / d / "report.json").read_text())["results"]] for d in ("1", "n")]
    assert verdicts[0] == verdicts[1] and set(verdicts[0]) == {"pass"}
