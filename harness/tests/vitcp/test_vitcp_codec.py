"""The codec of VI/TCP from Python, ``fcvi decode --family vitcp``, profiles, and what tshark shows with the dissector.

More PDUs by hand: python3 -m harness.tests.vitcp.test_vitcp_codec 100000
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path
from random import Random
from typing import Any, Iterator

import jsonschema
import pytest

from fcvi.report import dissector
from fcvi.vitcp import codec, wire

from . import vitcp_streams
from ..conftest import ROOT, fcvi

SCHEMA = json.loads((ROOT / "harness/fcvi/commands/schemas/decode.schema.json").read_text())
#: 3.1, by hand: a Send of 5 bytes with Immediate Data DEADBEEFh, number 7, ACK 6, 12 Descriptors; and a NOP
SEND = "010b001d00000000deadbeef0000000700000006000c000048656c6c6f"
NOP = "012800180000000000000000000000000000000900 0d0205".replace(" ", "")
LAB = """
# of a laboratory
version = 9
name = "lab-1"
[types]
"Connect No Match" = 23
"Connect Reject" = 24
"Connect Accept" = 25
"Connect Request" = 26
"NOP" = 27
"RDMA Write" = 28
"RDMA Read Response" = 29
"RDMA Read Request" = 30
"Send" = 31
[errors]
"No Error" = 5
"RDMA Memory Protection Error" = 0
"VI Descriptor Error" = 7
[bits]
SEG_Type = "4-0"
SEG_Transmit_Error = "5"
SEG_End_of_Message = "6"
SEG_Immediate_Data_Valid = "7"
SEG_VI_Error_Type = "2-0"
SEG_IS_Error_Code = "15-3"
CE_Reliable = "15"
CE_RDMA_Write_Enable = "13"
CE_RDMA_Read_Enable = "11"
CE_Flow_Control = "9"
CE_Peer_to_Peer = "7"
"""


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A stream of two PDUs, as a hexadecimal dump."""
    path = tmp_path / "dump.hex"
    path.write_text(f"# a stream\n{SEND}{NOP}\n")
    return path


def decoded(*args: str, status: int = 0, stdin: bytes = b"") -> list[dict[str, Any]]:
    """The lines of --json, held against the schema."""
    done = fcvi("decode", "--family", "vitcp", "--json", *args, stdin=stdin)
    assert done.returncode == status, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    for line in lines:
        jsonschema.validate(line, SCHEMA)
    return lines


def field(entry: dict[str, Any], name: str) -> Any:
    """The value of a field."""
    return next(f["value"] for f in entry["fields"] if f["name"] == name)


# ---- the library ----


def test_values_are_those_of_the_bytes() -> None:
    """By the tester's own reader of PDUs, which shares nothing with the codec; and encoding gives the bytes back."""
    random, seen = Random(3), set()
    for _ in range(3000):
        data = vitcp_streams.any_pdu(random)
        pdu, other = codec.first(data), wire.parse(data)
        assert pdu.step == "pdu" and pdu.data == data and pdu.encoded() == data
        entry = pdu.json()
        expected = {
            "Version": other.version, "Type": other.kind, "Segment Length": len(data), "Data Offset": other.offset,
            "Immediate Data": other.immediate, "Message Number": other.number, "Message ACK": other.ack,
            "Rx Descriptors Posted": other.rx, "VI Error Type": other.error, "IS Error Code": other.is_code,
            "Immediate Data Valid": other.flags & 1, "End of Message": other.flags >> 1 & 1, "Transmit Error": other.flags >> 2,
        }  # fmt: skip
        if other.rdma is not None:
            address, handle, total = other.rdma
            expected |= {"RDMA Address": f"{address:016x}", "Registered Memory Handle": handle, "RDMA Length": total}
        if other.ce is not None:
            expected |= {
                "Reserved": other.ce.attributes >> 5, "Peer-to-peer Connection Establishment": other.ce.attributes >> 4 & 1,
                "Descriptor Flow Control Enabled": other.ce.attributes >> 3 & 1, "RDMA Read Enable": other.ce.attributes >> 2 & 1,
                "RDMA Write Enable": other.ce.attributes >> 1 & 1, "Reliable": other.ce.attributes & 1,
                "Calling Discriminator Length": other.ce.calling_length, "MTU Size": other.ce.mtu,
                "Calling Discriminator": other.ce.calling_field.hex(), "Calling RDMA Read Window": other.ce.window,
                "Called Discriminator Length": other.ce.called_length, "Called Discriminator": other.ce.called_field.hex(),
            }  # fmt: skip
        assert {f["name"]: f["value"] for f in entry["fields"]} == expected
        assert bytes.fromhex(entry["rest"]["hex"]) == (other.ce.security if other.ce is not None else other.payload)
        seen.add(pdu.kind)
    assert seen == {*codec.PDUS, None}


@pytest.mark.parametrize("size", [1, 2, 5, 23, 24, 25, 1000, 70000])
def test_division_does_not_depend_on_the_pieces(size: int) -> None:
    stream = vitcp_streams.stream_of(Random(8), 200)
    pieces = (stream[at : at + size] for at in range(0, len(stream), size))
    pdus = list(codec.divide(pieces))
    assert len(pdus) == 200 and all(pdu.step == "pdu" for pdu in pdus)
    assert b"".join(pdu.data for pdu in pdus) == stream
    *whole, part = codec.divide(iter([stream[:-1]]))
    assert len(whole) == 199 and part.step == "more" and part.needed == len(part.data) + 1


# ---- profiles ----


def test_profiles_are_data(tmp_path: Path) -> None:
    """T0 says itself; equal numbers have one hash however the file is written; other numbers are read where they say."""
    assert codec.of_text(codec.T0.text()).sha256 == codec.T0.sha256
    lab = codec.of_text(LAB)
    assert (lab.name, codec.of_text(lab.text()).sha256) == ("lab-1", lab.sha256) and lab.sha256 != codec.T0.sha256
    path = tmp_path / "lab.toml"
    path.write_text(LAB)
    send = "09df0018" + "00" * 16 + "0000ffe5"
    (entry,) = decoded("--from", "hex", "--profile", str(path), "-", stdin=send.encode())
    assert (entry["pdu"], entry["profile"], entry["profile_sha256"]) == ("Send", "lab-1", lab.sha256) and not entry["findings"]
    assert field(entry, "IS Error Code") == 0x1FFC and field(entry, "Immediate Data Valid") == 1
    (entry,) = decoded("--from", "hex", "-", stdin=send.encode())
    assert entry["profile"] == "T0" and {f["class"] for f in entry["findings"]} <= {"notice", "violation"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("version = 9", ""), "'version' needs a number from 0 to 255"),
        (("version = 9", "version = 256"), "'version' needs a number from 0 to 255, not '256'"),
        (("version = 9", "version = true"), "'version' needs a number"),
        (('name = "lab-1"', 'name = "lab 1"'), "its name needs"),
        (('name = "lab-1"', "name = 3"), "'name' needs"),
        (("[errors]", "[error]"), "needs a table [errors]"),
        (('"Send" = 31', '"Send" = 32'), "'Send' needs a number from 0 to 31, not '32'"),
        (('"NOP" = 27', '"NOP" = 26'), "each PDU needs a number of its own"),
        (('"NOP" = 27', '"NOP" = 27\n"NOOP" = 1'), "'NOOP' in [types] is nothing that a profile has"),
        (("version = 9", "version = 9\nport = 3"), "'port' is nothing that a profile has"),
        (('CE_Reliable = "15"', 'CE_Reliable = "16"'), "'CE_Reliable': 16 are no bits"),
        (('CE_Reliable = "15"', 'CE_Reliable = "x"'), "'CE_Reliable' needs its bits"),
        (('SEG_Type = "4-0"', 'SEG_Type = "0-4"'), "'SEG_Type': 0-4 are no bits"),
        (('SEG_Type = "4-0"', 'SEG_Type = "3-0"'), "Type needs five bits"),
        (("[types]", "[types"), "is no TOML"),
    ],
)
def test_profiles_that_cannot_be(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    path = tmp_path / "lab.toml"
    path.write_text(LAB.replace(*change))
    with pytest.raises(codec.ProfileError) as error:
        codec.load(str(path))
    assert str(error.value).startswith(f"{path}: ") and words in str(error.value)


def test_profile_files_that_are_none(tmp_path: Path, dump: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "long").write_text("#" * 70000)
    for name, words in (("absent", "No such file"), ("binary", "not UTF-8 at byte 0"), ("long", "longer than"),
                        ("", "not a regular file")):  # fmt: skip
        done = fcvi("decode", "--family", "vitcp", "--from", "hex", "--profile", str(tmp_path / name), str(dump))
        assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1


# ---- the command ----


def test_decode_in_words(dump: Path) -> None:
    done = fcvi("decode", "--family", "vitcp", "--from", "hex", str(dump))
    assert done.returncode == 0
    for line in ("1.7-3   Type                         01h  Send", "8       Immediate Data               DEADBEEFh",
                 "24       data                         48656c6c6f",
                 "22.15-8  VI Error Type                02h  VI Descriptor Error"):  # fmt: skip
        assert line in done.stdout
    done = fcvi("decode", "--family", "vitcp", "--from", "hex", "--summary", str(dump))
    assert [line.split(maxsplit=2)[1:] for line in done.stdout.splitlines()] == [
        ["1.0", "Send MSG 7 OFFSET 0 DATA 5 ACK 6 RX 12 IMMEDIATE END"], ["1.29", "NOP ACK 9 RX 13 ERROR 2 CODE 5"],
    ]  # fmt: skip


def test_decode_of_streams(tmp_path: Path, dump: Path) -> None:
    entries = decoded("--from", "hex", str(dump))
    assert [(e["number"], e["stream"], e["offset"], e["pdu"]) for e in entries] == [(1, 1, 0, "Send"), (2, 1, 29, "NOP")]
    dump.write_text(f"{SEND}\n{NOP}\n")
    assert [(e["number"], e["stream"], e["offset"]) for e in decoded("--from", "hex", str(dump))] == [(1, 1, 0), (2, 2, 0)]
    assert [e["number"] for e in decoded("--from", "hex", "--frames", "2", str(dump))] == [2]
    stream = vitcp_streams.stream_of(Random(2), 40)
    path = tmp_path / "stream"
    path.write_bytes(stream)
    entries = decoded("--from", "stream", str(path))
    assert len(entries) == 40 and sum(e["length"] for e in entries) == len(stream)
    assert decoded("--from", "stream", "-", stdin=stream)[-1]["offset"] == entries[-1]["offset"]


def test_streams_that_end_badly(tmp_path: Path) -> None:
    """One line says what, and where; what came before is printed."""
    for tail, words in (("0128001701", "byte 29: Segment Length 23 is less"), ("012800", "byte 29: the stream ends within a PDU"),
                        (NOP[:-2], "within a PDU: 23 bytes are there, at least 24 are needed")):  # fmt: skip
        path = tmp_path / "stream"
        path.write_bytes(bytes.fromhex(SEND + tail))
        done = fcvi("decode", "--family", "vitcp", "--from", "stream", str(path))
        assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1 and "Send" in done.stdout
        assert [e["whole"] for e in decoded("--from", "stream", str(path), status=2)] == [True, False]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--from", "hex", "--profile", "x", "x"), "only VI/TCP has profiles"),
        (("--from", "stream", "x"), "only VI/TCP has streams"),
        (("--family", "vitcp", "x"), "No such file"),
        (("--family", "vitcp", "--from", "hex", "--link", "frame", "x"), "has no link"),
        (("--family", "vitcp", "--from", "stream", "/nowhere"), "No such file"),
        (("--family", "vitcp", "--from", "stream", "/dev/null"), "no PDU was decoded"),
        (("--family", "vitcp", "--from", "hex", "/dev/null"), "has no hexadecimal dump"),
        (("--family", "vitcp", "--from", "stream", "/"), "Is a directory"),
    ],
)
def test_wrong_usage(args: tuple[str, ...], words: str) -> None:
    done = fcvi("decode", *args)
    assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1


# ---- tshark ----

NAMES = {dissector.vitcp_abbreviation(f): f for f, _ in dissector.vitcp_fields(codec.T0)}


def _theirs(capture: Path, lua: Path) -> Iterator[dict[tuple[int, str], str]]:
    """What tshark shows of each PDU: values by byte and bits."""
    command = ["tshark", "-X", f"lua_script:{lua}", "-o", f"vitcp.port:{vitcp_streams.PORT}", "-r", str(capture), "-T", "pdml"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as tshark:
        assert tshark.stdout is not None
        for _, packet in xml.iterparse(tshark.stdout):
            if packet.tag != "packet":
                continue
            for proto in packet.findall("proto"):  # a header in a PDU is one too
                if proto.get("name") != "vitcp":
                    continue
                base, shown = int(proto.attrib["pos"]), {}
                for entry in proto.iter("field"):
                    f = NAMES.get(entry.attrib["name"])
                    if f is not None:
                        at, value = int(entry.attrib["pos"]) - base, entry.attrib["value"]
                        shown[at, "" if f.kind == "blob" else f"{f.hi}-{f.lo}"] = value if f.kind == "blob" else str(int(value, 16))
                yield shown
            packet.clear()
        assert tshark.wait() == 0


def _ours(pdu: codec.Pdu) -> dict[tuple[int, str], str]:
    """The same by the codec."""
    fields = pdu.json()["fields"]
    return {
        (f["byte"], f["bits"] or ""): str(int(f["value"], 16)) if f["bits"] == "63-0" else str(f["value"]) for f in fields
    }


def agree(pdus: int, seed: int, folder: Path, lua: Path = ROOT / "build/fcvi.lua") -> tuple[int, int]:
    """tshark and the codec show the same of every field of so many PDUs; gives how many PDUs and values there were."""
    random = Random(seed)
    stream = vitcp_streams.stream_of(random, pdus)
    vitcp_streams.write_capture(folder / "stream.pcap", stream, random)
    theirs, count, values = _theirs(folder / "stream.pcap", lua), 0, 0
    for pdu in codec.divide(iter([stream])):
        expected = _ours(pdu)
        assert next(theirs) == expected, (count, pdu.data.hex())
        count, values = count + 1, values + len(expected)
    assert next(theirs, None) is None
    return count, values


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_shows_the_same(tmp_path: Path) -> None:
    count, values = agree(600, 11, tmp_path)
    assert count == 600 and values > 600 * 13


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_knows_a_stream_by_its_connect_request(tmp_path: Path) -> None:
    """Without a port, which the draft does not assign; and a broken stream is shown as such."""
    capture = tmp_path / "stream.pcap"
    broken = vitcp_streams.FIRST + bytes.fromhex(SEND + "01280017" + "00" * 30)
    vitcp_streams.write_capture(capture, broken, Random(1), sizes=(200,))
    command = ["tshark", "-X", f"lua_script:{ROOT / 'build/fcvi.lua'}", "-r", str(capture), "-T", "fields", "-e", "vitcp.type",
               "-e", "vitcp.broken"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    types, expert = done.stdout.strip().split("\t")
    assert types == "0x06,0x01,0x05" and expert and "Lua" not in done.stderr


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_a_dissector_of_another_profile(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(LAB)
    template = ROOT / "harness/wireshark/fcvi.lua.in"
    command = [sys.executable, "-m", "fcvi.report.dissector", str(template), str(tmp_path / "lab.toml")]
    (tmp_path / "lab.lua").write_text(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    stream = bytes.fromhex(f"09{26:02x}0044" + "00" * 18 + "0005" + "d082" + "00" * 42 + "09df0018" + "00" * 18 + "ffe5")
    vitcp_streams.write_capture(tmp_path / "stream.pcap", stream, Random(1), sizes=(200,))
    names = ("type", "end_of_message", "is_error_code", "ce.reliable", "ce.attributes_15_5")
    fields = [word for name in names for word in ("-e", f"vitcp.{name}")]
    command = ["tshark", "-X", f"lua_script:{tmp_path / 'lab.lua'}", "-r", str(tmp_path / "stream.pcap"), "-T", "fields", *fields]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout.strip().split("\t") == ["0x1a,0x1f", "0,1", "0x0000,0x1ffc", "1", "0x5002"], done.stderr


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        print("%d PDUs, %d values agree" % agree(int(sys.argv[1]), 1, Path(scratch)))
