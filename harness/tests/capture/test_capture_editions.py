"""Tests which edition of FC-VI a capture is of: `fcvi lint` and `fcvi decode` find out, and judge nobody by the other's."""

from __future__ import annotations

import json
import os
import random
import struct
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fcvi.capture.limits import Limits
from fcvi.capture.reader import Reader

from .. import starts
from ..fc import rev1_bytes
from ..conftest import FCVI, PCAPS, RECORDED, ROOT

SESSION = ROOT / "pcaps/rev1/session.pcap"
OF_2007 = [p for place in (PCAPS, RECORDED) for p in sorted(place.rglob("*.pcap*")) if "rev1" not in p.relative_to(ROOT).parts]


def fcvi(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command; its hash tables are the same each time."""
    environment = {**os.environ, "FCVI_HASH_SEED": "1"}
    return starts.run([str(FCVI), *map(str, words)], capture_output=True, text=True, timeout=120, check=False, env=environment)


def lint(*words: str | Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Findings and summary."""
    *found, last = map(json.loads, fcvi("lint", "--json", *words).stdout.splitlines())
    return found, last["summary"]


def moved(data: bytes, ports: int) -> bytes:
    """The frame between other ports."""
    out = bytearray(data)
    out[2], out[6] = out[2] ^ ports & 0xFF, out[6] ^ ports & 0xFF
    out[3], out[7] = out[3] ^ ports >> 8, out[7] ^ ports >> 8
    return bytes(out)


def frames_of(path: Path) -> list[bytes]:
    """The frames of a capture, from their header to the end of their Data_Field."""
    with Reader(str(path), Limits()) as reader:
        return [bytes(record.data) for record in reader if record.kind == "frame"]


def test_the_session_is_what_the_tables_of_the_draft_make_it() -> None:
    assert SESSION.read_bytes() == rev1_bytes.capture(rev1_bytes.session())


def test_a_device_of_1999_is_not_accused_by_the_tables_of_2007() -> None:
    found, summary = lint(SESSION)
    assert found == []
    assert summary["editions"] == {"rev1": {"ius": 9, "connect_requests": 1}, "2007": {"connect_requests": 0}, "undecided": 0}
    text = fcvi("lint", SESSION)
    assert text.returncode == 0 and "editions: rev1: 9 IUs, 1 connect requests" in text.stdout
    assert fcvi("lint", "--edition", "2007", SESSION).returncode == 1
    lines = fcvi("decode", "--summary", SESSION).stdout.splitlines()
    assert len(lines) == 9 and all(line.endswith(" rev1") for line in lines)


def test_a_connection_of_1999_is_followed_by_its_own_rules(tmp_path: Path) -> None:
    """The first Message of 2007 has 1, and its Disconnect the last Message's VI_MSG_ID: here both are breaches (5.7.5, 6.10)."""
    whole = ("--trust", "all,start,order,once")
    assert lint(*whole, SESSION)[0] == []
    frames = rev1_bytes.session()
    for number in (4, 5):
        frames[number - 1] = frames[number - 1][:32] + bytes.fromhex("00000001") + frames[number - 1][36:]
    path = tmp_path / "ids.pcap"
    path.write_bytes(rev1_bytes.capture(frames))
    found, _ = lint(*whole, path)
    assert [(f["frame"], f["requirement"]) for f in found] == [(4, "REV1-5.7.5-01")]  # class 2 may send the second 1 again
    found, summary = lint(path)  # of a capture that may lack frames nobody is accused
    assert found == [] and sum(entry["frames"] for entry in summary["not_judged"]) == 9


def test_each_capture_of_2007_is_read_as_before() -> None:
    assert len(OF_2007) > 180
    for of in (OF_2007[:: len(OF_2007) // 30], [p for p in OF_2007 if p.parent.name in ("crafted", "libfc")]):
        for command in ("lint", "decode"):
            auto, told = (fcvi(command, "--json", *edition, *of) for edition in ((), ("--edition", "2007")))
            assert (auto.stdout, auto.returncode) == (told.stdout, told.returncode)


def test_what_was_before_the_setup_is_told_by_its_frames(tmp_path: Path) -> None:
    """A capture that begins in the middle: only the Write and its response are of either edition."""
    path = tmp_path / "middle.pcap"
    path.write_bytes(rev1_bytes.capture(rev1_bytes.session()[3:]))
    found, summary = lint(path)
    assert found == [] and summary["editions"]["rev1"] == {"ius": 6, "connect_requests": 0}
    path.write_bytes(rev1_bytes.capture(rev1_bytes.session()[4:]))
    assert lint(path)[1]["editions"]["undecided"] == 3


def test_a_frame_of_2007_on_a_connection_of_1999_is_one_finding(tmp_path: Path) -> None:
    frames = rev1_bytes.session()
    strange = rev1_bytes.frame("01", "290000", 9, rev1_bytes.SERVER + "00000000" "00000003" + "00" * 20)  # 32 bytes of header
    path = tmp_path / "strange.pcap"
    path.write_bytes(rev1_bytes.capture([*frames[:7], strange, *frames[7:]]))
    found, summary = lint(path)
    assert [(f["frame"], f["requirement"], f["class"]) for f in found] == [(8, "REV1-5.1-05", "malformed")]
    assert summary["editions"]["rev1"]["ius"] == 10


def test_a_wrong_device_header_on_a_connection_of_2007_is_found_as_before(tmp_path: Path) -> None:
    """The first frames of the ports are of 2007: one that says 16 bytes is no Rev 1.0."""
    strange = rev1_bytes.frame("01", "290000", 9, rev1_bytes.SERVER + "00000000" "00000003" "00000000", "00" * 64)
    good = rev1_bytes.frame("01", "290000", 8, rev1_bytes.SERVER + "00000000" "00000002" + "00" * 20, "00" * 64)
    path = tmp_path / "strange.pcap"
    path.write_bytes(rev1_bytes.capture([good, strange]))
    found, summary = lint(path)
    assert "FCVI-5.8.5-01" in {f["requirement"] for f in found if f["frame"] == 2} and "editions" not in summary
    # the other way round nothing is certain; more frames of 2007 than of 1999 settle it
    path.write_bytes(rev1_bytes.capture([strange, good, good, strange]))
    found, summary = lint(path)
    assert {f["frame"] for f in found if f["requirement"] == "FCVI-5.8.5-01"} == {4}
    assert summary["editions"]["rev1"]["ius"] == 2


@pytest.mark.parametrize("snap", [24, 40, 60, 64, 128, 400])
def test_what_is_cut_off_accuses_nobody(snap: int, tmp_path: Path) -> None:
    out = [struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, snap, 224)]
    for data in rev1_bytes.session():
        out.append(struct.pack("<IIII", 0, 0, min(snap, len(data)), len(data)) + data[:snap])
    path = tmp_path / "cut.pcap"
    path.write_bytes(b"".join(out))
    found, summary = lint(path)
    assert found == []
    records = summary["records"]
    assert records["judged"] + sum(records["not_judged"].values()) + sum(records["foreign"].values()) == records["all"] == 9
    assert "!" not in fcvi("decode", path).stdout


def test_none_is_crossed_in_mixed_traffic(tmp_path: Path) -> None:
    """Sessions of 1999 between 60 pairs of ports, among frames of 2007 between others, in any order of pairs."""
    rng, of_2007 = random.Random(7), frames_of(RECORDED / "cases/4.1.2.pcapng")[:40]
    assert len(of_2007) > 5
    waiting = [[(True, moved(f, 0x100 * (n + 1))) for f in rev1_bytes.session()] for n in range(60)]
    waiting += [[(False, moved(f, 0x100 * (n + 101))) for f in of_2007] for n in range(60)]
    mixed = []
    while waiting:
        of = rng.choice(waiting)
        mixed.append(of.pop(0))
        waiting = [w for w in waiting if w]
    path = tmp_path / "mixed.pcap"
    path.write_bytes(rev1_bytes.capture([data for _, data in mixed]))
    lines = [json.loads(line) for line in fcvi("decode", "--json", path).stdout.splitlines()]
    assert len(lines) == len(mixed)
    assert [line.get("edition") == "rev1" for line in lines] == [rev1 for rev1, _ in mixed]
    assert lint(path)[1]["editions"]["rev1"] == {"ius": 540, "connect_requests": 60}


def test_the_option_has_its_values_and_no_other() -> None:
    done = fcvi("lint", "--edition", "1999", SESSION)
    assert done.returncode == 2 and "auto" in done.stderr and "rev1" in done.stderr
    assert fcvi("lint", "--edition", "rev1", SESSION).returncode == 0


@pytest.mark.parametrize("command", ["flows", "explain"])
def test_a_connection_of_1999_is_followed(command: str) -> None:
    done = fcvi(command, SESSION)
    assert done.returncode == 0 and "1 Connection" in done.stdout and "9 IUs of Rev 1.0 (1999)" in done.stdout


def test_connections_of_both_editions_stand_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "c.pcap"
    of_2007 = frames_of(RECORDED / "cases/4.1.2.pcapng")[:40]
    path.write_bytes(rev1_bytes.capture([*of_2007, *(moved(f, 0x7700) for f in rev1_bytes.session())]))
    both = [json.loads(line) for line in fcvi("flows", "--json", path).stdout.splitlines()]
    path.write_bytes(rev1_bytes.capture(of_2007))
    assert both[:-1] == [json.loads(line) for line in fcvi("flows", "--json", path).stdout.splitlines()]
    assert [row["edition"] for row in both] == ["2007"] * (len(both) - 1) + ["rev1"]


def test_what_the_json_says_of_editions_has_a_schema() -> None:
    for command in ("lint", "decode"):
        schema = json.loads((ROOT / f"harness/fcvi/commands/schemas/{command}.schema.json").read_text())
        for line in fcvi(command, "--json", SESSION).stdout.splitlines():
            jsonschema.validate(json.loads(line), schema)


def test_writes_alone_that_have_data_and_no_length_are_of_1999(tmp_path: Path) -> None:
    """2007 forbids them, and either edition has the IU: nobody is accused, and the summary says that nothing decides."""
    path = tmp_path / "writes.pcap"
    write, response = rev1_bytes.session()[5:7]
    path.write_bytes(rev1_bytes.capture([write, response, write[:16] + b"\0\4" + write[18:]]))
    for trust in ((), ("--trust", "all,order")):
        found, summary = lint(*trust, path)
        assert found == [] and summary["editions"] == {
            "rev1": {"ius": 3, "connect_requests": 0}, "2007": {"connect_requests": 0}, "undecided": 3}  # fmt: skip
    assert "3 IUs that either edition has" in fcvi("lint", path).stdout
    # what shows its edition decides it for those behind it
    good = rev1_bytes.frame("01", "290000", 8, rev1_bytes.SERVER + "00000000" "00000002" + "00" * 20, "00" * 64)
    path.write_bytes(rev1_bytes.capture([write, good, write]))
    assert 3 in {f["frame"] for f in lint(path)[0] if f["requirement"] == "FCVI-5.9.10-01"}
