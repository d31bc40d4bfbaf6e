"""The Wireshark dissector: what tshark shows with it is what ``fcvi decode --json`` shows."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as xml
from pathlib import Path
from random import Random
from typing import Any, Iterator

import pytest

from fcvi.fc import codec
from fcvi.report import dissector
from fcvi.capture.limits import Limits
from fcvi.capture.reader import Reader, write

from . import wrappings
from ..conftest import CONNECT_RQST, PCAPS, RECORDED, ROOT, fcvi
from ..flows.field import bank

LUA = ROOT / "build/fcvi.lua"
#: What one frame shows: values by byte in the frame and the bits of the container there.
Shown = dict[tuple[int, str], str]
FIELDS = {
    dissector.abbreviation(path, field): field
    for structure, top in dissector.TOP.items()
    for _, path, field in dissector.tables_of(structure, top)
}
STRUCTURES = ("Device_Header", "Connect payload", "Connect Info", "FCVI_NET_ADDRESS", "FCVI_ATTRIBUTES", "FCVI_QOS",
              "VIP_QualityOfService")  # fmt: skip


def tshark(*arguments: str) -> str:
    """What tshark prints, with the dissector."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    command = ["tshark", "-X", f"lua_script:{LUA}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert "Lua" not in done.stderr, done.stderr
    return done.stdout


def bits(field: codec.Field) -> str:
    """As ``fcvi decode --json`` writes them."""
    return "" if field.kind == "blob" else f"{field.hi}-{field.lo}"


def of_the_frame(tree: xml.Element) -> Iterator[xml.Element]:
    """The fields of a tree without those of an IU that was put together from several frames."""
    for node in tree:
        if node.get("showname") != "Reassembled IU":
            yield node
            yield from of_the_frame(node)


def theirs(path: Path) -> dict[int, Shown]:
    """By number, every frame in which tshark finds FC-VI fields that are not of a reassembled IU."""
    frames = {}
    for packet in xml.fromstring(tshark("-r", str(path), "-Y", "fcvi", "-T", "pdml")).iter("packet"):
        number = next(int(f.attrib["show"]) for f in packet.iter("field") if f.get("name") == "num")
        base = next(int(p.attrib["pos"]) for p in packet.iter("proto") if p.get("name") == "fc")
        shown: Shown = {}
        for entry in of_the_frame(packet):
            field = FIELDS.get(entry.attrib["name"])
            if field is None or field.kind == "nest":
                continue
            value = entry.attrib["value"]
            shown[int(entry.attrib["pos"]) - base, bits(field)] = value if field.kind == "blob" else str(int(value, 16))
        frames[number] = shown
    return frames


def shown_value(field: dict[str, Any]) -> str:
    """Bytes in hexadecimal, a number in decimal: the JSON has one beyond 53 bits in hexadecimal, too."""
    value = field["value"]
    return str(int(value, 16)) if field["bits"] and isinstance(value, str) else str(value)


def ours(path: Path) -> dict[int, Shown]:
    """The same by ``fcvi decode``."""
    frames = {}
    for line in fcvi("decode", "--json", str(path)).stdout.splitlines():
        frame = json.loads(line)
        shown = {
            (f["byte"], f["bits"] or ""): shown_value(f)
            for f in frame.get("fields", ())
            if f["structure"] in STRUCTURES
        }
        if shown:
            frames[frame["frame"]] = shown
    return frames


def assert_agree(path: Path) -> int:
    """Every value of every frame is the same; gives how many values there were."""
    expected, seen = ours(path), theirs(path)
    for number, shown in expected.items():
        assert seen[number] == shown, (path.name, number)
    assert not [number for number, shown in seen.items() if shown and number not in expected]
    return sum(map(len, expected.values()))


#: Each costs a start of tshark: every check takes one of four, and the nightly tier the others.
CAPTURES = [
    pytest.param(path, marks=[pytest.mark.nightly] if at % 4 else []) for at, path in enumerate(sorted(PCAPS.rglob("*.pcap")))
]


@pytest.mark.parametrize("path", CAPTURES, ids=lambda p: p.name)
def test_captures_of_the_repository(path: Path) -> None:
    assert_agree(path)


def test_captures_of_every_case(tmp_path: Path) -> None:
    """All of them in one file, because tshark takes long to start."""
    if shutil.which("mergecap") is None:
        pytest.skip("mergecap is not installed")
    whole = tmp_path / "whole.pcapng"
    cases = [str(path) for path in sorted(RECORDED.glob("cases/*.pcapng"))]
    subprocess.run(["mergecap", "-a", "-w", str(whole), *cases], check=True, timeout=60)
    assert assert_agree(whole) > 10_000


def split(data: bytes, size: int) -> Iterator[bytes]:
    """A frame's payload in several frames of one Sequence, each with the Device_Header (5.8.5, 5.8.6, 5.8.7)."""
    body = data[56:]
    for count, at in enumerate(range(0, len(body), size)):
        head = bytearray(data[:56])
        last = at + size >= len(body)
        f_ctl = int.from_bytes(head[9:12], "big") & ~0x090000 | (0x090000 if last else 0) | 0x000008
        head[9:12] = f_ctl.to_bytes(3, "big")
        head[14:16] = count.to_bytes(2, "big")
        head[20:24] = at.to_bytes(4, "big")
        yield bytes(head) + body[at : at + size]


@pytest.mark.parametrize("linktype", [224, 225, 1])
def test_a_connect_iu_in_several_frames_is_put_together(linktype: int, tmp_path: Path) -> None:
    """Its last frame shows the payload as the frame that has it whole does."""
    one = bytes.fromhex(CONNECT_RQST)
    names = ["fcvi.conn.loc_addr.host_add", "fcvi.conn.rem_addr.discrim", "fcvi.conn.loc_attrs.max_trans_size"]
    shown = []
    for name, parts in (("one.pcap", [one]), ("many.pcap", list(split(one, 128)))):
        path = tmp_path / name
        ends = [0x42 if part is parts[-1] else 0x41 for part in parts]
        starts = [0x2E if part is parts[0] else 0x36 for part in parts]
        write(path, linktype, [(i, d, s, e) for i, (d, s, e) in enumerate(zip(parts, starts, ends))])
        options = [word for name in names for word in ("-e", name)]
        rows = tshark("-r", str(path), "-Y", "fcvi.conn.revision", "-T", "fields", "-e", "frame.number", *options).splitlines()
        assert [row.split("\t")[0] for row in rows] == [str(len(parts))]
        shown.append(rows[0].split("\t")[1:])
    assert shown[0] == shown[1]
    assert shown[0][0] == "fe80::a1" and shown[0][2] == "32768"


def test_hostile_frames_do_no_harm(tmp_path: Path) -> None:
    """Every cut of a frame, and every value of DF_CTL and of FCVI_OPCODE: no error of the script."""
    whole = bytes.fromhex(CONNECT_RQST)
    frames = [whole[:n] for n in range(24, len(whole), 7)]
    frames += [whole[:13] + bytes([value]) + whole[14:60] for value in range(256)]
    frames += [whole[:28] + bytes([value]) + whole[29:] for value in range(256)]
    path = tmp_path / "hostile.pcap"
    write(path, 224, [(i, frame, 0, 0) for i, frame in enumerate(frames)])
    assert "[Malformed Packet" not in tshark("-r", str(path), "-V", "-Y", "fcvi")
    assert_agree(path)


# ---- findings, Connections, and requests with their Responses ----

BAD = PCAPS / "crafted/fc2-225-badcrc.pcap"


def rows(path: Path, *options: str, fields: tuple[str, ...]) -> list[list[str]]:
    """Fields of every frame, after two passes."""
    words = [word for name in fields for word in ("-e", name)]
    return [line.split("\t") for line in tshark("-2", "-R", "fc", *options, "-r", str(path), "-T", "fields", *words).splitlines()]


@pytest.fixture(name="findings")
def _findings(tmp_path: Path) -> Path:
    path = tmp_path / "findings.json"
    path.write_text(fcvi("lint", "--json", str(BAD)).stdout)
    return path


def test_findings_are_expert_information(findings: Path) -> None:
    """As many in each frame as lint has, with its words."""
    lines = [json.loads(line) for line in findings.read_text().splitlines()]
    want = {(f["frame"], f["requirement"], f["message"]) for f in lines if "frame" in f}
    seen = rows(BAD, "-o", f"fcvi.findings:{findings}", "-Y", "fcvi.finding.malformed",
                fields=("frame.number", "fcvi.finding.requirement", "fcvi.finding.message", "_ws.expert.message"))  # fmt: skip
    assert want and {(int(n), requirement, message) for n, requirement, message, _ in seen} == want
    assert all(f"{requirement}: {message}" in said for _, requirement, message, said in seen)


@pytest.mark.parametrize(
    "spoil, said",
    [
        (lambda text: "\n".join(text.splitlines()[:-1]), "the summary is missing"),
        (lambda text: "frame,requirement\n" + text, "line 1 is no line of fcvi lint --json"),
        (lambda text: text.replace('"not_shown": 0', '"not_shown": 7'), "7 findings were left off"),
        (lambda text: text.replace('"time": 17', '"time": 16'), "of another capture"),
        (None, "No such file"),
    ],
    ids=["cut", "foreign", "left-off", "other-capture", "missing"],
)
def test_findings_that_cannot_be_believed_are_not_passed_over(spoil: Any, said: str, findings: Path) -> None:
    if spoil is None:
        findings.unlink()
    else:
        findings.write_text(spoil(findings.read_text()))
    wanted = "fcvi.findings.unread or fcvi.findings.other_capture"
    seen = rows(BAD, "-o", f"fcvi.findings:{findings}", "-Y", wanted, fields=("_ws.expert.message",))
    assert seen and said in seen[0][0]


def test_findings_in_comments_are_read_back() -> None:
    path = RECORDED / "cases/7.7.1.rscn.pcapng"
    names = ("fcvi.finding.requirement", "fcvi.finding.class")
    assert ["FCVI-7.7.1-04", "notice"] in rows(path, "-Y", "fcvi.finding.notice", fields=names)
    assert not rows(path, "-o", "fcvi.comments:FALSE", "-Y", "fcvi.finding.notice", fields=names)


@pytest.mark.parametrize("name", ["lost_response", "timeout_too_short", "peers", "credit"])
def test_connections_and_pairs_are_those_of_flows(name: str, tmp_path: Path) -> None:
    """Frames of the simulated Fabric: two implementations that share no code say the same."""
    path = tmp_path / "a.pcap"
    getattr(bank, name)(Random(name)).capture(1, path)
    flows = [json.loads(line) for line in fcvi("flows", "--json", str(path)).stdout.splitlines()]
    fields = ("frame.number", "fcvi.connection", "fcvi.response_in", "fcvi.response_to", "fcvi.response_time")
    seen = rows(path, fields=fields)
    assert len({row[1] for row in seen if row[1]}) == len(flows)
    there, back = {(row[0], row[2]) for row in seen if row[2]}, {(row[3], row[0]) for row in seen if row[3]}
    assert there == back and len(there) == sum(sum(flow["responses"]) for flow in flows)
    longest = max((flow["latency_max_us"] for flow in flows), default=-1)
    assert longest == max((round(float(row[4]) * 1e6) for row in seen if row[4]), default=-1)
    table = tshark("-X", "lua_script1:connections", "-q", "-r", str(path)).splitlines()
    assert len(table) == 1 + len(flows)


def test_the_info_column_says_connection_message_and_status() -> None:
    """By the standard's tables FCVI_MSG_ID is in bytes 8 to 11 of the Device_Header, and the Reason Code in byte 13."""
    path = RECORDED / "cases/5.3.4.c.pcapng"
    with Reader(str(path), Limits()) as reader:
        frames = {record.number: codec.decode(record.data) for record in reader if record.kind == "frame"}
    checked = set()
    for number, connection, words in rows(path, "-Y", "fcvi.opcode", fields=("frame.number", "fcvi.connection", "_ws.col.Info")):
        frame = frames[int(number)]
        assert words.startswith(f"FCVI_{frame.iu}, Connection {connection}, ") and "OX_ID" in words
        header = frame.device_header
        if header[4] < 0x10:
            assert f", Message {header[8:12].hex().upper()}h, " in words
        if header[4] in (0x18, 0x19, 0x1A):
            refused = header[5] & 1
            assert ("no error" in words) == (not refused) and (f", CONN_STS {header[13]:02X}h " in words) == bool(refused)
            checked.add(refused)
    assert checked == {0, 1}


def test_the_page_of_filters_is_that_of_the_dissector() -> None:
    """The table of the page is made of the field table, and tshark takes each filter that it or the rest of the page has."""
    page = (ROOT / "harness/docs/filters.md").read_text(encoding="utf-8").split("## Filters of the dissector")[1]
    table = "\n".join(dissector.filters())
    assert table in page, "PYTHONPATH=build/python:harness:. /usr/bin/python3 -m fcvi.report.dissector --filters"
    named = sorted(set(re.findall(r"`(fcvi\.[a-z0-9_.]+[a-z0-9_])", page)))
    assert len(named) > 80
    tshark("-r", str(SESSION), "-Y", " or ".join(named))  # an unknown one is an error


# ---- the edition of 1999 ----

SESSION = PCAPS / "rev1/session.pcap"


def test_a_capture_of_1999_is_read_by_its_own_tables() -> None:
    """Each value of the draft's tables is what `fcvi decode` shows, and that is not nothing."""
    assert assert_agree(SESSION) > 9 * 8
    fields = ("fcvi.edition", "fcvi.connection", "fcvi.rev1.vi_msg_id", "fcvi.response_to", "_ws.col.Info")
    seen = rows(SESSION, fields=fields)
    assert [row[:2] for row in seen] == [["rev1", "1"]] * 9
    assert [int(row[2], 16) for row in seen] == [0, 0, 0, 0, 0, 1, 1, 2, 2]
    assert [row[3] for row in seen] == ["", "", "", "", "4", "", "6", "", ""]
    assert "FCVI_DISCONNECT_RESP" in seen[-1][4] and seen[-1][4].endswith("Rev 1.0")  # 1Ah; FCVI_CONNECT_RESP3 of 2007
    assert rows(SESSION, "-Y", "fcvi.rev1.imm_data == 1", fields=("frame.number",)) == [["4"]]  # 80h; a reserved bit of 2007
    assert not rows(SESSION, "-Y", "fcvi.opcode", fields=("frame.number",))


def test_the_edition_may_be_told() -> None:
    """By the tables of the other edition the frames are none of its IUs, or of the few that both have."""
    fields = ("frame.number", "fcvi.edition")
    said = rows(SESSION, "-o", "fcvi.edition:2007 (ISO/IEC 14165-331)", "-Y", "fcvi.msg_id", fields=fields)
    assert said == [["5", "2007"], ["6", "2007"], ["7", "2007"]]
    path = PCAPS / "crafted/fc2-225-badcrc.pcap"
    assert {row[0] for row in rows(path, fields=("fcvi.edition",))} <= {"2007", ""}
    assert {row[0] for row in rows(path, "-o", "fcvi.edition:Rev 1.0 (1999)", fields=("fcvi.edition",))} <= {"rev1", ""}


def test_none_is_crossed_among_both(tmp_path: Path) -> None:
    """Sessions of both editions between other ports, one frame of each in turn: tshark and `fcvi decode` agree on every frame."""
    with Reader(str(RECORDED / "cases/4.1.2.pcapng"), Limits()) as reader:
        new = [bytes(record.data) for record in reader if record.kind == "frame"][:9]
    with Reader(str(SESSION), Limits()) as reader:
        old = [bytearray(record.data) for record in reader if record.kind == "frame"]
    for data in old:
        data[2] ^= 0x70
        data[6] ^= 0x70
    path = tmp_path / "both.pcap"
    write(path, 224, [(i, bytes(d), 0, 0) for i, d in enumerate(d for pair in zip(new, old) for d in pair)])
    assert_agree(path)
    by_number = {row[0]: row[1] for row in rows(path, fields=("frame.number", "fcvi.edition")) if row[1]}
    assert {by_number[str(n)] for n in range(2, 19, 2)} == {"rev1"}
    assert {edition for n, edition in by_number.items() if int(n) % 2} == {"2007"}


def test_vsans_are_fabrics_of_their_own(tmp_path: Path) -> None:
    """The same frames in two VSANs are of two Connections."""
    frame, path = wrappings.Frame(bytes.fromhex(CONNECT_RQST), 0x2E, 0x42), tmp_path / "v.pcap"
    records = [(i, wrappings.ethernet(0x88AE, wrappings.boardwalk(frame, i, vsan))) for i, vsan in enumerate((5, 6, 5))]
    path.write_bytes(wrappings.pcap(1, records))
    assert [row[0] for row in rows(path, fields=("fcvi.connection",))] == ["1", "2", "1"]
