"""ELS and Name Server payloads by the field table: the values that tshark reads, and replies that need their request."""

from __future__ import annotations

import ipaddress
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from fcvi.fc import codec, requests
from fcvi.capture.reader import Reader, write
from fcvi.fc.requests import Requests

from ..conftest import PCAPS, fcvi

FILES = sorted(PCAPS.glob("*/*.pcap"))

_LOGIN, _CLASS, _FARP, _CT = "Service Parameters", "Class Service Parameters", "FARP", "CT header"
#: tshark's field: our structure and field, by the names of the JSON. A list of structures: whichever the frame has.
FIELDS = {
    "fcels.opcode": (["ELS command"], "ELS Command"),
    "fcels.rjt.reason": (["LS_RJT"], "Reason Code"),
    "fcels.rjt.detail": (["LS_RJT"], "Reason Explanation"),
    "fcels.logi.b2b": ([_LOGIN], "BB_Credit"),
    "fcels.logi.rcvsize": ([_LOGIN], "Receive Data_Field Size"),
    "fcels.edtov": ([_LOGIN], "E_D_TOV"),
    "fcels.cmn.cios": ([_LOGIN], "Continuously Increasing Relative Offset (C)"),
    "fcels.cmn.rro": ([_LOGIN], "Random Relative Offset"),
    "fcels.cmn.vvv": ([_LOGIN], "Valid Vendor Version Level"),
    "fcels.cmn.bbb": ([_LOGIN], "Alternate BB_Credit Management"),
    "fcels.cmn.e_d_tov": ([_LOGIN], "E_D_TOV Resolution"),
    "fcels.cmn.multicast": ([_LOGIN], "Multicast"),
    "fcels.cmn.broadcast": ([_LOGIN], "Broadcast"),
    "fcels.cmn.seqcnt": ([_LOGIN], "SEQ_CNT (S)"),
    "fcels.cmn.payload": ([_LOGIN], "Payload Length"),
    "fcels.npname": ([_LOGIN, "LOGO", "ADISC", _FARP], "Port_Name"),
    "fcels.fnname": ([_LOGIN, "ADISC", _FARP], "Node_Name"),
    "fcels.hrdaddr": (["ADISC"], "Hard Address"),
    "fcels.oxid": (["RRQ"], "OX_ID"),
    "fcels.rxid": (["RRQ"], "RX_ID"),
    "fcels.scr.regn": (["SCR"], "Registration Function"),
    "fcels.rscn.evqual": (["Affected Port_ID page"], "Event Qualifier"),
    "fcels.rscn.addrfmt": (["Affected Port_ID page"], "Address Format"),
    "fcels.matchcp": ([_FARP], "Match Address Code Points"),
    "fcels.respaction": ([_FARP], "Responder Action"),
    "fcels.resportid": ([_FARP], "Responding N_Port Identifier"),
    "fcels.respname": ([_FARP], "Responding N_Port Port_Name"),
    "fcels.respnname": ([_FARP], "Responding N_Port Node_Name"),
    "fcels.reqipaddr": ([_FARP], "Requesting N_Port IP address"),
    "fcels.respipaddr": ([_FARP], "Responding N_Port IP address"),
    "fcct.revision": ([_CT], "Revision"),
    "fcct.gstype": ([_CT], "GS_Type"),
    "fcct.gssubtype": ([_CT], "GS_Subtype"),
    "fcct.options": ([_CT], "Options"),
    "fcdns.opcode": ([_CT], "Command/Response Code"),
    "fcdns.maxres_size": ([_CT], "Maximum/Residual Size"),
    "fcdns.rply.reason": ([_CT], "Reason Code"),
    "fcdns.rply.reasondet": ([_CT], "Reason Code Explanation"),
    "fcdns.req.ip": (["GID_IPP"], "Port IP address"),
}  # fmt: skip
#: tshark prints these for classes 1 to 4, we for 2 and 3,
ALL_CLASSES = {"fcels.cls.cns": "Class Validity", "fcels.cls.prio": "Priority"}
#: and these only for a class that is valid; class 1 and 4 never are.
VALID_CLASSES = {
    "fcels.logi.clsrcvsize": "Receive Data_Field Size",
    "fcels.logi.e2e": "End-to-end Credit", "fcels.logi.openseq": "Open Sequences per Exchange",
}  # fmt: skip
_RENAMED = {"Port_Name": "Requesting N_Port Port_Name", "Node_Name": "Requesting N_Port Node_Name"}


def number(text: str) -> int:
    """A number, name, identifier or IP address as tshark prints it."""
    if text.startswith("0x") or text.isdecimal():
        return int(text, 0)
    if text.count(":") == 7 and all(len(part) == 2 for part in text.split(":")):
        return int(text.replace(":", ""), 16)
    if ":" in text and text.count(":") != 2 or "::" in text:
        return int(ipaddress.IPv6Address(text))
    return int(text.replace(".", "").replace(":", ""), 16)


def tshark(path: Path) -> dict[int, dict[str, list[str]]]:
    """By frame number every occurrence of each field."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    names = [*FIELDS, *ALL_CLASSES, *VALID_CLASSES]
    command = ["tshark", "-r", str(path), "-o", "fc.reassemble:FALSE", "-Y", "fcels or fcct", "-T", "fields"]
    command += ["-E", "occurrence=a", "-E", "separator=;", "-E", "aggregator=|", "-e", "frame.number"]
    for name in names:
        command += ["-e", name]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = {}
    for line in out.splitlines():
        at, *values = line.split(";")
        rows[int(at)] = {name: value.split("|") for name, value in zip(names, values) if value}
    return rows


def ours(frame: codec.Frame, structures: list[str], name: str) -> list[int]:
    """Every value that we have of the field."""
    found = []
    for field in frame.json()["fields"]:
        wanted = _RENAMED.get(name, name) if field["structure"] == _FARP else name
        if field["structure"] in structures and field["name"] == wanted:
            value = field["value"]
            found.append(int(value, 16) if isinstance(value, str) else value)
    return found


def compare(path: Path) -> int:
    """tshark and we say the same of each frame; gives how many values there were."""
    rows, seen, compared = tshark(path), Requests(), 0
    with Reader(str(path)) as reader:
        for record in reader:
            frame = codec.decode(record.data, record.sof, record.eof, record.crc, seen.see(record.data))
            for theirs, texts in rows.get(record.number, {}).items():
                if record.kind != "frame":
                    continue
                wanted = [number(text) for text in texts]
                if theirs in ALL_CLASSES:
                    mine, wanted = ours(frame, [_CLASS], ALL_CLASSES[theirs]), wanted[1:3]
                elif theirs in VALID_CLASSES:
                    valid = ours(frame, [_CLASS], "Class Validity")
                    mine = [value for value, use in zip(ours(frame, [_CLASS], VALID_CLASSES[theirs]), valid) if use]
                else:
                    mine = ours(frame, *FIELDS[theirs])
                if theirs == "fcdns.req.ip" and not mine:
                    continue  # RIPP_ID: a registration, which FC-VI does not name
                assert mine == wanted, (path.name, record.number, theirs)
                compared += len(mine)
    return compared


#: Each costs a start of tshark: every check takes one of four, and the nightly tier the others.
CAPTURES = [pytest.param(path, marks=[pytest.mark.nightly] if at % 4 else []) for at, path in enumerate(FILES)]


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_tshark_reads_the_same(path: Path) -> None:
    """Every ELS and Name Server frame of every capture."""
    compare(path)


def test_enough_is_compared() -> None:
    """The comparison is not empty: the crafted capture has one of each, the libfc ones a whole Fabric Login."""
    assert compare(PCAPS / "crafted/fc2-225.pcap") > 60
    assert compare(PCAPS / "libfc/fabric.pcap") > 150


def structures(path: Path, frames: str) -> list[list[str]]:
    """The structures that ``fcvi decode --json`` names in each of these frames, in their order."""
    result = fcvi("decode", "--json", "--frames", frames, str(path))
    assert result.returncode == 0, result.stderr
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    return [list(dict.fromkeys(field["structure"] for field in line["fields"])) for line in lines]


def header(r_ctl: int, d_id: int, s_id: int, ox_id: int, kind: int = 0x01) -> bytes:
    """A frame header with these fields."""
    buf = bytearray(24)
    for name, value in (("R_CTL", r_ctl), ("D_ID", d_id), ("S_ID", s_id), ("OX_ID", ox_id), ("TYPE", kind)):
        codec.put("FC", name, buf, value)
    return bytes(buf)


def test_a_reply_is_known_by_its_request(tmp_path: Path) -> None:
    """The list that accepts GID_IPP in the crafted capture; the LS_ACC to an ADISC, also when only that is shown."""
    assert structures(PCAPS / "crafted/fc2-225.pcap", "24-25") == [
        ["Frame_Header", "CT header", "GID_IPP"],
        ["Frame_Header", "CT header", "Port Identifier entry"],
    ]
    path, names = tmp_path / "adisc.pcap", bytes.fromhex("00000000 10000090fa000001 20000090fa000001 00010203")
    asked = header(0x22, 0x010400, 0x010203, 0x1007) + bytes.fromhex("52000000") + names
    answered = header(0x23, 0x010203, 0x010400, 0x1007) + bytes.fromhex("02000000") + names
    write(path, 225, [(0, asked, 0x2E, 0x42), (1, answered, 0x2E, 0x42), (2, answered, 0x2E, 0x42)])
    known, again = ["Frame_Header", "ELS command", "ADISC"], ["Frame_Header", "ELS command"]
    assert structures(path, "1-") == [known, known, again]
    assert structures(path, "2") == [known]


def test_requests_and_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply belongs to one Exchange; the newest request in it counts, and each is answered once."""
    seen = Requests()
    adisc, logo = bytes.fromhex("52000000"), bytes.fromhex("05000000")
    assert seen.see(b"") == seen.see(header(0x22, 1, 2, 7)[:23]) == 0
    assert seen.see(header(0x22, 1, 2, 7) + logo) == 0
    assert seen.see(header(0x22, 1, 2, 7) + adisc) == 0
    assert seen.see(header(0x22, 1, 2, 8) + logo) == 0
    assert seen.see(header(0x23, 1, 2, 7)) == 0  # the other way round
    assert seen.see(header(0x03, 2, 1, 7, 0x20)) == 0  # FC-CT
    assert seen.see(header(0x03, 2, 1, 7, 0x58)) == 0
    assert seen.see(header(0x23, 2, 1, 7)) == 0x52
    assert seen.see(header(0x23, 2, 1, 7)) == 0
    assert seen.see(header(0x23, 2, 1, 8)) == 0x05
    assert seen.see(header(0x22, 0xFFFFFE, 0, 9) + bytes.fromhex("04000000")) == 0
    assert seen.see(header(0x23, 0x010101, 0xFFFFFE, 9)) == 0x04  # FLOGI: who asked has got its identifier
    monkeypatch.setattr(requests, "_OPEN", 1)
    seen.see(header(0x22, 1, 2, 10) + adisc)
    seen.see(header(0x22, 1, 2, 11) + adisc)
    assert seen.see(header(0x23, 2, 1, 10)) == 0  # forgotten: too many were never answered
    assert seen.see(header(0x23, 2, 1, 11)) == 0x52
