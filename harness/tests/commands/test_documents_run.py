"""The commands that documents show are run, as far as a directory of its own and a minute allow."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from random import Random
from typing import Iterator

import pytest

from fcvi.vitcp import codec

from ..vitcp import vitcp_streams
from ..conftest import RECORDED, ROOT, fcvi

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "harness/docs").glob("*.md"))]
#: What needs another machine, a device of its own, root, a person, a certificate of every case, or minutes.
ELSEWHERE = re.compile(
    r"tcp:|unix:|fcoe|tcpdump|sudo|xdg-open|certify|^make |^\./bootstrap|fuzz_yours|afl-fuzz|^make$"
    r"|fcvi-agent|fcvi-verbs-agent|--watch|--step\b|--debug|SPEC|fcvi learn"
)
#: What a short run of the same command takes in addition.
SHORT = {"run": "--select 'D.R2,5.3.2/*'", "fuzz": "--batches 2", "explore": "--states 300"}
CASE = RECORDED / "cases/5.3.2.pcapng"
SITE = RECORDED / "cases/5.3.4.c.pcapng"  # three Connections, two of them refused


def _lines(path: Path) -> list[str]:
    """The command lines of its blocks of sh that can be run here."""
    blocks = re.findall(r"^```sh\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S)
    lines = [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines() if line.strip()]
    return [line for line in lines if not ELSEWHERE.search(re.sub(r"\s# .*", "", line))]


def _short(line: str) -> str:
    """The line, with what keeps it short."""
    line = re.sub(r"--steps \d+", "--steps 50", line)
    command = re.match(r"(?:build/)?fcvi (\w+)", line)
    more = SHORT.get(command[1], "") if command is not None else ""
    if re.search("--wire tcp|--book vitcp", line) and command is not None and command[1] == "run":
        more = "--select 'TCP.2.2.2.1.*'"
    if re.search("--revision rev1|--book rev1", line) and command is not None and command[1] == "run":
        more = "--select 'R1.5.3.a*'"
    if "--against" in line and command is not None and command[1] == "run":
        more = "--select D.2.far"
    if not more or more.split()[0] in line or "--list" in line:
        more = ""
    if command is not None and command[1] in ("run", "fuzz") and re.search(" --(report|record|out) ", line):
        more += " --force"  # what the documents name is there already
    if not more:
        return line
    bare, hash_, comment = line.partition(" #")
    return f"{bare.rstrip()} {more}{hash_}{comment}"


@pytest.fixture(scope="module")
def _report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("documents") / "report"
    fcvi("run", "--quiet", "--dut", "ref", "--select", "D.R2,C.5.7.2", "--report", str(place))
    return place


@pytest.fixture(scope="module")
def _field(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture without calls, with the address of the tester that documents name."""
    place = tmp_path_factory.mktemp("field")
    (place / "lab.toml").write_text('[pixit]\ntester = { n_port_id = "010100" }\n')
    fcvi("run", "--quiet", "--select", "5.3.2/dut-server", "--pics", str(place / "lab.toml"), "--record", str(place))
    subprocess.run(["editcap", "-F", "pcap", "5.3.2__dut-server.pcapng", "field.pcap"], cwd=place, check=False, capture_output=True)
    return place / "field.pcap"


def _records(capture: bytes) -> Iterator[bytes]:
    """The bytes of each record of a pcap file."""
    at = 24
    while at < len(capture):
        length = int.from_bytes(capture[at + 8 : at + 12], "little")
        yield capture[at + 16 : at + 16 + length]
        at += 16 + length


@pytest.fixture(name="place")
def _place(tmp_path: Path, _report: Path, _field: Path) -> Iterator[Path]:
    """A directory with the files that documents speak of."""
    (tmp_path / "build/pcaps/cases").mkdir(parents=True)
    built = [path.relative_to(ROOT) for path in (ROOT / "build").iterdir() if path != RECORDED]
    for name in (*built, Path("harness"), Path("conformance")):
        (tmp_path / name).symlink_to(ROOT / name)
    for case in ("5.3.2.pcapng", "5.3.2.toml", "5.3.4.c.pcapng", "5.3.4.c.toml"):
        shutil.copy(RECORDED / "cases" / case, tmp_path / "build/pcaps/cases")
    for name in ("report", "before", "after"):
        shutil.copytree(_report, tmp_path / name)
    shutil.copy(CASE, tmp_path / "capture.pcapng")
    shutil.copy(SITE, tmp_path / "site.pcapng")
    for name in ("capture.pcap", "a.pcap", "b.pcap"):
        subprocess.run(["editcap", "-F", "pcap", str(CASE), str(tmp_path / name)], check=False, capture_output=True)
    for name in ("a.pcap.zst", "b.pcap.zst"):  # a name says nothing of how a file is packed
        shutil.copy(tmp_path / "a.pcap", tmp_path / name)
    shutil.copy(_field, tmp_path / "field.pcap")
    (tmp_path / "export.txt").write_text("".join(f"{record.hex()}\n" for record in _records((tmp_path / "a.pcap").read_bytes())))
    stream = vitcp_streams.stream_of(Random(1), 20)
    (tmp_path / "bytes.bin").write_bytes(stream)
    (tmp_path / "dump.txt").write_text(f"{stream.hex()}\n")
    (tmp_path / "lab.toml").write_text(codec.T0.text())
    vitcp_streams.write_capture(tmp_path / "streams.pcap", stream, Random(1))
    for name in ("my-device", "their-device"):
        (tmp_path / name).write_text("#!/bin/sh\nexec build/fcvi endpoint\n")
        (tmp_path / name).chmod(0o755)
    yield tmp_path


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if _lines(path)], ids=lambda path: path.name)
def test_the_commands_of_a_document_do_what_it_says(path: Path, place: Path) -> None:
    """In the order of the document: no usage error, nothing that failed to attach, and nothing that is missing."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run_document(path, place, environment)


def run_document(path: Path, place: Path, environment: dict[str, str], root: str = "") -> None:
    """Run its commands in the place. root: where what it names below /usr is installed."""
    for line in map(_short, _lines(path)):
        line = re.sub(r"(?<![\w/])/usr/(share|lib)/fcvi", rf"{root}/usr/\1/fcvi", line)
        program = line.split()[0]
        if "/" not in program and shutil.which(program) is None or "| jq" in line and shutil.which("jq") is None:
            continue
        done = subprocess.run(["bash", "-c", f"set -o pipefail; {line}"], cwd=place, env=environment, capture_output=True,
                              text=True, timeout=120, stdin=subprocess.DEVNULL, check=False)  # fmt: skip
        # a capture without calls proves nothing, and neither does a case that nobody has written yet
        fine = (0, 1, 4) if re.search("explore|replay field.pcap|own\\.", line) else (0, 1)
        assert done.returncode in fine, f"{path.name}: {line}: status {done.returncode}: {done.stderr[-500:]}"
        assert not re.search("No such file|unrecognized", done.stderr), f"{path.name}: {line}: {done.stderr[-500:]}"
        assert done.stdout or re.search(r"^cc |--quiet|>|fcvi\.finding", line), f"{path.name}: {line}: it says nothing"
