"""``--profile`` of ``fcvi run``, ``certify`` and ``endpoint``: a run with other numbers than T0's, and devices with other numbers
than the run's.

The codec, which is told the profile, reads what the tester packs, and the other way round: they share no code.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fcvi.vitcp import codec, wire
from fcvi.vitcp.captured import profile_of
from fcvi.vitcp.monitor import Own
from fcvi.vitcp.numbers import Numbers

from ..conftest import ROOT, fcvi
from .test_vitcp_codec import LAB

PROFILE = codec.of_text(LAB)
NUMBERS = Numbers(PROFILE)
SCHEMA = json.loads((ROOT / "harness/fcvi/report/report.schema.json").read_text())


@pytest.fixture(name="lab")
def _lab(tmp_path: Path) -> Path:
    path = tmp_path / "lab.toml"
    path.write_text(LAB)
    return path


def report_of(folder: Path) -> dict[str, Any]:
    """The report that a run left."""
    data: dict[str, Any] = json.loads((folder / "report.json").read_text())
    jsonschema.validate(data, SCHEMA)
    return data


def values(pdu: codec.Pdu) -> dict[str, Any]:
    """The values of a PDU as the codec sees them."""
    return {f["name"]: f["value"] for f in pdu.json()["fields"]}


# ---- bytes ----


def test_bytes_of_the_profile_by_hand() -> None:
    """Version 9; a Send is type 31 in bits 4-0; End of Message is 40h, Immediate Data 80h; a memory error is 0, code 3 in 15-3."""
    pdu = wire.Pdu(wire.SEND, 7, 0, wire.END | wire.IMMEDIATE, 0xDEADBEEF, 6, 12, wire.MEMORY_PROTECTION, 3, payload=b"Hello")
    data = bytes.fromhex("09df001d00000000deadbeef0000000700000006000c001848656c6c6f")
    assert NUMBERS.pack(pdu) == data
    assert NUMBERS.parse(data) == pdu.but(raw=data)
    assert NUMBERS.header(data) == (wire.VERSION, wire.SEND, 29)


def test_attributes_by_hand() -> None:
    """Reliable is 8000h, RDMA Write 2000h, RDMA Read 0800h, flow control 0200h, Peer-to-Peer 0080h."""
    for bit, expected in ((1, "8000"), (2, "2000"), (4, "0800"), (8, "0200"), (16, "0080")):
        pdu = wire.Pdu(wire.REQUEST, flags=wire.END, ce=wire.ce_header(b"a", b"b", bit, 64, 1))
        data = NUMBERS.pack(pdu)
        assert data[24:26].hex() == expected and NUMBERS.parse(data).ce == pdu.ce


@pytest.mark.parametrize("kind", sorted(wire.NAMES))
def test_the_codec_reads_what_the_tester_packs(kind: int) -> None:
    for flags in range(8):
        for error in (0, 1, 2):
            ce = wire.ce_header(b"here", b"there", 0b10101, 4096, 3) if kind in wire.CE else None
            rdma = (0x1122334455667788, 0x99AABBCC, 4) if kind in wire.RDMA else None
            pdu = wire.Pdu(kind, 9, 1, flags, 2, 3, 4, error, 5, rdma=rdma, ce=ce, payload=b"" if ce else b"data")
            read = codec.first(NUMBERS.pack(pdu), PROFILE)
            fields = values(read)
            assert (read.step, read.kind) == ("pdu", wire.NAMES[kind])
            seen = (fields["Transmit Error"], fields["End of Message"], fields["Immediate Data Valid"])
            assert seen == (flags >> 2, flags >> 1 & 1, flags & 1)
            assert (fields["VI Error Type"], fields["IS Error Code"]) == (PROFILE.struct.errors[error], 5)


def test_what_is_unknown_stays_unknown() -> None:
    """No number of the tester's turns into one that means something else, and nothing is lost on the way back."""
    seen = set()
    for kind in range(32):
        data = NUMBERS.pack(wire.Pdu(kind, payload=bytes(64)))
        name = codec.first(data, PROFILE).kind
        assert name == wire.NAMES.get(kind)
        seen.add(data[1] & 0x1F)
        assert NUMBERS.header(data)[1] == kind
    assert len(seen) == 32
    versions = {NUMBERS.pack(wire.Pdu(wire.NOP, version=v))[0] for v in range(256)}
    assert len(versions) == 256
    for error in range(256):
        value = values(codec.first(NUMBERS.pack(wire.Pdu(wire.NOP, error=error)), PROFILE))["VI Error Type"]
        assert (value in tuple(PROFILE.struct.errors)) == (error < 3)
    for bit in range(16):
        pdu = wire.Pdu(wire.REQUEST, ce=wire.ce_header(b"", b"", 1 << bit, 0, 0))
        assert NUMBERS.parse(NUMBERS.pack(pdu)).ce == pdu.ce


# ---- runs ----


@pytest.fixture(name="certified", scope="module")
def _certified(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The report directory of a certification with the numbers of a laboratory, and what the command said."""
    place = tmp_path_factory.mktemp("profile")
    (place / "lab.toml").write_text(LAB)
    return place / "c", fcvi("certify", "--wire", "tcp", "--profile", str(place / "lab.toml"), "--report", str(place / "c"))


def test_every_case_passes_with_the_numbers_of_a_laboratory(
    certified: tuple[Path, subprocess.CompletedProcess[str]], lab: Path
) -> None:
    folder, done = certified
    assert done.returncode == 0 and "numbers: profile lab-1, SHA-256 " + PROFILE.sha256 in done.stdout
    data = report_of(folder)
    assert data["pixit"]["profile"] == {"name": "lab-1", "sha256": PROFILE.sha256, "text": PROFILE.text()}
    assert data["summary"]["pass"] == len(data["results"]) - data["summary"]["not-applicable"] > 440
    # the trace has the bytes that crossed: the codec reads them under the profile
    capture = next(folder.glob("TCP.4.2.a*.pcapng"))
    shown = fcvi("decode", "--family", "vitcp", "--profile", lab, "--json", capture)
    assert shown.returncode == 0 and '"profile":"lab-1"' in shown.stdout.replace(" ", "")


def test_a_device_in_a_process_has_the_numbers_that_it_is_given(lab: Path, tmp_path: Path) -> None:
    device = f"exec:{ROOT / 'build/fcvi'} endpoint --wire tcp --profile {lab}"
    done = fcvi("run", "--dut", device, "--wire", "tcp", "--profile", lab, "--select", "TCP.4.*", "--report", tmp_path / "r")
    assert done.returncode == 0 and report_of(tmp_path / "r")["summary"]["fail"] == 0


@pytest.mark.parametrize("whose", ("run", "device"))
def test_numbers_that_the_draft_does_not_have_accuse_nobody(whose: str, lab: Path, tmp_path: Path) -> None:
    """The device has other numbers than the run: it cannot understand the tester, and is not accused of it."""
    numbers = ["--profile", str(lab)]
    device = f"exec:{ROOT / 'build/fcvi'} endpoint --wire tcp" + (" " + " ".join(numbers) if whose == "device" else "")
    done = fcvi("run", "--dut", device, "--wire", "tcp", *(numbers if whose == "run" else []),
                "--formats", "json", "--report", tmp_path / "r")  # fmt: skip
    data = report_of(tmp_path / "r")
    assert (data["summary"]["fail"], data["summary"]["pass"]) == (0, 0) and data["summary"]["inconclusive"] > 440
    tried = [r["reason"] for r in data["results"] if r["verdict"] != "not-applicable"]
    assert all("speak profile" in why or "speaks profile" in why for why in tried) and done.returncode == 4


def test_the_report_and_the_certificate_say_the_profile(
    certified: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    folder, _ = certified
    page = (folder / "certificate.html").read_text()
    assert "numbers of profile lab-1" in page and PROFILE.sha256 in page
    assert f'name="profile.sha256" value="{PROFILE.sha256}"' in (folder / "junit.xml").read_text()
    assert fcvi("certify", "--verify", folder).returncode == 0
    said = fcvi("run", "--wire", "tcp", "--select", "TCP.4.a", "--report", tmp_path / "t")
    assert codec.T0.sha256 in said.stdout and report_of(tmp_path / "t")["pixit"]["profile"]["name"] == "T0"


# ---- wrong usage ----


@pytest.mark.parametrize(
    "args, words",
    (
        (("run", "--select", "5.3.3/*"), "--profile: FC-VI leaves no numbers open; VI/TCP does (--book vitcp)"),
        (("endpoint",), "--profile: only VI/TCP has profiles; add --book vitcp"),
    ),
)
def test_only_vitcp_has_profiles(lab: Path, args: tuple[str, ...], words: str) -> None:
    done = fcvi(*args, "--profile", lab)
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("args", (("run", "--wire", "tcp"), ("endpoint", "--wire", "tcp")))
def test_files_that_are_no_profile(tmp_path: Path, args: tuple[str, ...]) -> None:
    (tmp_path / "bad.toml").write_text("name = 1\n")
    for path, words in ((tmp_path / "bad.toml", "'name' needs"), (tmp_path / "none.toml", "No such file")):
        done = fcvi(*args, "--profile", path)
        assert done.returncode == 2 and f"--profile {path}: " in done.stderr and words in done.stderr


def test_a_profile_in_evidence_has_its_hash(lab: Path, tmp_path: Path) -> None:
    """Numbers that were changed behind a run are not judged with."""
    folder = tmp_path / "r"
    fcvi("run", "--wire", "tcp", "--profile", lab, "--select", "TCP.4.a", "--report", folder)
    path = folder / "evidence/run.json"
    path.write_text(path.read_text().replace("version = 9", "version = 8"))
    done = fcvi("judge", folder)
    assert done.returncode == 2 and done.stderr.count("\n") == 1


def test_the_tester_is_judged_as_a_device_is() -> None:
    """Who breaks the draft itself cannot accuse a device of what follows: a Read Request has no data (3.1)."""
    own = Own(profile_of(None), by_dut=False)
    ce = wire.ce_header(b"abcd", b"efgh", wire.RELIABLE, 4096, 64)
    request, accept = wire.Pdu(wire.REQUEST, rx=1, ce=ce), wire.Pdu(wire.ACCEPT, rx=1, ce=ce)
    assert own.says(request, request.pack()) == []
    own.hears(accept.but(raw=accept.pack()))
    read = wire.Pdu(wire.READ_REQUEST, number=1, flags=wire.END, rx=1, rdma=(0x1000, 7, 1))
    assert "VITCP-3.1-11" not in [row for row, _ in own.says(read, read.pack())]
    loaded = read.but(number=2, payload=b"x")
    assert "VITCP-3.1-11" in [row for row, _ in own.says(loaded, loaded.pack())]
