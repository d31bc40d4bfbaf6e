"""Mirrors, overlays and fragments: what is only wrapping comes off, and what is foreign keeps its name."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any, Iterator, Sequence

import pytest

from fcvi.capture.reader import Reader, Record

from . import tunnels as t
from ..vitcp import vitcp_conversations as conversations
from . import wrappings as w
from ..conftest import CONNECT_RESP3, CONNECT_RQST, fcvi

FRAMES = [
    w.Frame(bytes.fromhex(CONNECT_RQST), 0x2E, 0x42, time_us=1),
    w.Frame(bytes.fromhex(CONNECT_RESP3), 0x2E, 0x42, time_us=2),
    w.Frame(bytes.fromhex(CONNECT_RESP3), 0x2E, 0x42, good=False, time_us=3),
]
ALONE = "fragment of an IP datagram whose other fragments are missing or cut off"
MEANT = [(f.data, f.sof, f.eof, 1 if f.good else 2) for f in FRAMES]


def records(tmp_path: Path, linktype: int, packets: Sequence[tuple[int, bytes]], snap: int = 0) -> list[Record]:
    """What the reader makes of a capture."""
    path = tmp_path / "a.pcap"
    path.write_bytes(w.pcap(linktype, packets, snap))
    with Reader(str(path)) as reader:
        return list(reader)


def seen(found: Sequence[Record]) -> list[tuple[bytes, int, int, int]]:
    """Its FC-2 frames."""
    return [(r.data, r.sof, r.eof, r.crc) for r in found if r.kind == "frame"]


def lint(path: Path) -> tuple[list[dict[str, Any]], dict[str, Any], int]:
    """Findings, summary and status."""
    done = fcvi("lint", "--json", str(path))
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return lines[:-1], lines[-1]["summary"], done.returncode


@pytest.mark.parametrize("name", t.TUNNELS)
def test_a_tunnel_comes_off(name: str, tmp_path: Path) -> None:
    assert seen(records(tmp_path, 1, t.wrapped(name, FRAMES))) == MEANT


@pytest.mark.parametrize("name", t.TUNNELS)
def test_a_tunnel_that_is_cut_is_no_finding(name: str, tmp_path: Path) -> None:
    """At every length: a record is a frame, a part of one that the capture cut, or foreign."""
    ((_, whole),) = t.wrapped(name, FRAMES[1:2])
    path = tmp_path / "a.pcap"
    each = [struct.pack("<IIII", 0, 0, n, len(whole)) + whole[:n] for n in range(len(whole))]
    path.write_bytes(w.pcap(1, []) + b"".join(each))
    with Reader(str(path)) as reader:
        assert {record.kind for record in reader} == {"cut", "foreign"}
    sent = records(tmp_path, 1, [(0, whole[:n]) for n in range(len(whole))])
    assert len(sent) == len(whole) and not any(r.kind == "frame" and r.crc == 1 for r in sent[:-8])


@pytest.mark.parametrize("ethertype, kind", [(0x8914, "foreign"), (0x88AE, "frame"), (0x8906, "frame")])
@pytest.mark.parametrize("linktype", [101, 228])
def test_bare_ip_has_no_ethernet_address(ethertype: int, kind: str, linktype: int, tmp_path: Path) -> None:
    """What is about one is read all the same: FIP and the counter of Boardwalk ask who sent it."""
    inner = w.fcoe(FRAMES[0]) if ethertype == 0x8906 else w.boardwalk(FRAMES[0], 1)
    packet = t.ipv4(47, t.gre(ethertype, inner))
    assert [r.kind for r in records(tmp_path, linktype, [(0, packet)] * 2)] == [kind] * 2
    assert fcvi("lint", str(tmp_path / "a.pcap")).returncode in (0, 1, 2)


def test_both_directions_are_one_fabric(tmp_path: Path) -> None:
    """Labels, interfaces and outer VLANs differ by direction. The numbers of overlays are Fabrics of their own."""
    inner = w.ethernet(0x8906, w.fcoe(FRAMES[0]), [1002])
    there = {
        "mpls": [w.ethernet(0x8847, t.mpls(inner, labels)) for labels in ((100,), (200,))],
        "vn-tag": [inner[:12] + bytes.fromhex("8926" + tag) + inner[12:] for tag in ("80050003", "00030005")],
        "erspan": [t.TUNNELS["erspan-2"](inner)[:12] + tag + t.TUNNELS["erspan-2"](inner)[12:]
                   for tag in (b"", bytes.fromhex("81000009"))],
    }  # fmt: skip
    for name, packets in there.items():
        networks = {r.network for r in records(tmp_path, 1, [(0, p) for p in packets])}
        assert networks == {1002}, name
    two = [w.ethernet(0x0800, t.ipv4(17, t.udp(4789, struct.pack(">II", 8 << 24, vni << 8) + inner))) for vni in (7, 8)]
    assert len({r.network for r in records(tmp_path, 1, [(0, p) for p in two])}) == 2


def test_a_mirror_that_cut_the_frame(tmp_path: Path) -> None:
    """Bit T of ERSPAN: the frame is judged by its headers, whose length nobody knows."""
    inner = w.ethernet(0x8906, w.fcoe(FRAMES[0]))[:100]
    packet = w.ethernet(0x0800, t.ipv4(47, t.gre(0x88BE, t.erspan2(inner, cut=True), sequence=1)))
    (record,) = records(tmp_path, 1, [(0, packet)])
    assert (record.kind, record.whole, record.data) == ("cut", 0, FRAMES[0].data[: 100 - 28])


def test_a_mirror_that_cut_a_frame_behind_whole_ones(tmp_path: Path) -> None:
    """How many bytes stand behind the trailer is known from other frames; how long the cut one was, still nobody says."""
    inner = w.ethernet(0x8906, w.fcoe(FRAMES[0]))
    cut = w.ethernet(0x0800, t.ipv4(47, t.gre(0x88BE, t.erspan2(inner[:100], cut=True), sequence=1)))
    whole, part = records(tmp_path, 1, [(0, inner), (0, cut)])
    assert (whole.kind, part.kind, part.whole) == ("frame", "cut", 0)


def test_headers_end_with_their_packet(tmp_path: Path) -> None:
    """An IPv6 packet that says it ends inside its extension header has no more: what stands behind it is of the link."""
    inner = t.udp(4789, t.VXLAN + w.ethernet(0x8906, w.fcoe(FRAMES[0])))
    packet = bytearray(t.ipv6(60, bytes([17, 1]) + bytes(14) + inner))
    packet[4:6] = struct.pack(">H", 8)
    (record,) = records(tmp_path, 1, [(0, w.ethernet(0x86DD, bytes(packet)))])
    assert (record.kind, record.protocol) == ("foreign", "IP, cut off or damaged")


def test_control_words_and_addresses_are_told_apart(tmp_path: Path) -> None:
    """FPMA addresses begin with 0Eh, others with 00h, 45h or 60h, which an IP packet begins with too."""
    for first in (0x00, 0x0E, 0x45, 0x60, 0x10):
        inner = bytes([first]) + w.ethernet(0x8906, w.fcoe(FRAMES[0]), [7])[1:]
        for word in (b"", bytes(4), bytes([0, 0, 1, 2])):
            found = records(tmp_path, 1, [(0, w.ethernet(0x8847, t.mpls(word + inner)))])
            assert seen(found) == MEANT[:1], (first, word)


# ---- FCIP and VI/TCP behind IP ----


def extended(packet: bytes, header: int, body: bytes) -> bytes:
    """An IPv6 packet with one more extension header."""
    return t.ipv6(header, bytes([packet[6]]) + body + packet[40:])


def fcip_forms() -> Iterator[tuple[str, int, list[tuple[int, bytes]]]]:
    """Packets by linktype, in each form that IP gives FCIP."""
    four, six = t.fcip_packets(FRAMES), t.fcip_packets(FRAMES, ethertype=0x86DD)
    yield "hop-by-hop", 101, [(at, extended(p, 0, bytes([0, 1, 4, 0, 0, 0, 0]))) for at, p in six]
    yield "routing", 101, [(at, extended(p, 43, bytes([0]) + bytes(6))) for at, p in six]
    yield "options", 101, [(at, extended(p, 60, bytes([1, 1, 12]) + bytes(12))) for at, p in six]
    yield "authentication", 101, [(at, extended(p, 51, bytes([4]) + bytes(22))) for at, p in six]
    yield "whole-fragment", 101, [(at, extended(p, 44, bytes([0, 0, 0, 0, 0, 0, 9]))) for at, p in six]
    yield "two-headers", 101, [
        (at, extended(extended(p, 60, bytes([0]) + bytes(6)), 0, bytes([0]) + bytes(6))) for at, p in six
    ]  # fmt: skip
    yield "gre", 101, [(at, t.ipv4(47, t.gre(0x0800, p))) for at, p in four]
    yield "ip-in-ip", 101, [(at, t.ipv4(4, p)) for at, p in four]
    yield "6in4", 101, [(at, t.ipv4(41, p)) for at, p in six]
    yield "mpls", 1, [(at, w.ethernet(0x8847, t.mpls(p))) for at, p in four]
    yield "mpls-6", 1, [(at, w.ethernet(0x8847, t.mpls(p, (7,)))) for at, p in six]
    yield "pppoe", 1, [(at, w.ethernet(0x8864, t.pppoe(0x0021, p))) for at, p in four]
    yield "pppoe-6", 1, [(at, w.ethernet(0x8864, t.pppoe(0x0057, p))) for at, p in six]
    yield "port-3226", 101, t.fcip_packets(FRAMES, 3226)
    yield "fragments", 101, [(at, f) for i, (at, p) in enumerate(four) for f in t.fragments(p, 80, i)]
    yield "fragments-of-8", 101, [(at, f) for i, (at, p) in enumerate(four) for f in t.fragments(p, 8, i)]
    yield "backwards", 101, [(at, f) for i, (at, p) in enumerate(four) for f in reversed(t.fragments(p, 80, i))]
    yield "twice", 101, [(at, f) for i, (at, p) in enumerate(four) for f in t.fragments(p, 80, i)[:1] + t.fragments(p, 80, i)]
    yield "fragments-6", 101, [(at, f) for i, (at, p) in enumerate(six) for f in t.fragments6(p, 80, i)]
    yield "fragments-port", 101, [(at, f) for i, (at, p) in enumerate(t.fcip_packets(FRAMES, 9)) for f in t.fragments(p, 160, i)]
    yield "fragments-in-fragments", 101, [
        (at, outer) for i, (at, p) in enumerate(four) for inner in t.fragments(p, 160, i)
        for outer in t.fragments(t.ipv4(4, inner), 80, hash(inner) & 0xFFFF)
    ]  # fmt: skip


@pytest.mark.parametrize("name, linktype, packets", [pytest.param(*form, id=form[0]) for form in fcip_forms()])
def test_fcip_in_every_form_of_ip(name: str, linktype: int, packets: list[tuple[int, bytes]], tmp_path: Path) -> None:
    found = records(tmp_path, linktype, packets)
    assert seen(found) == MEANT
    assert {r.kind for r in found} <= {"frame", "part"} and not any(r.gap for r in found)
    if not name.startswith("fragments"):
        return
    _, summary, status = lint(tmp_path / "a.pcap")
    counted = summary["records"]
    assert status == 1 and summary["malformed"] == 1  # the third frame has a wrong CRC
    assert counted["judged"] == counted["all"] == len(packets) and counted["gaps"] == 0


def test_vitcp_in_fragments_is_judged(tmp_path: Path) -> None:
    """A whole conversation by the draft's tables, each packet in fragments of 48 bytes: nothing is found, and all is counted."""
    path, cut = tmp_path / "whole.pcap", tmp_path / "a.pcap"
    conversations.write(path, conversations.packets(conversations.CONVERSATIONS["good"].steps))
    with Reader(str(path)) as reader:
        packets = [record.data for record in reader]
    cut.write_bytes(w.pcap(101, [(0, f) for i, p in enumerate(packets) for f in t.fragments(p, 48, i)]))
    (_, whole, _), (findings, summary, status) = lint(path), lint(cut)
    assert (findings, status) == ([], 0) and summary["vitcp"] == whole["vitcp"]
    counted = summary["records"]
    assert counted["all"] > len(packets) and counted["not_judged"] == {}
    assert counted["judged"] + sum(counted["foreign"].values()) == counted["all"]


def test_fragments_that_stay_alone_are_counted(tmp_path: Path) -> None:
    """The first and the last of three, one that the capture cut, and pieces that overlap: never a finding."""
    (_, packet), *_ = t.fcip_packets(FRAMES)
    three = t.fragments(packet, 160, 1)
    overlap = t.ipv4(6, packet[20 + 8 : 20 + 168], 8, True, 2)
    path = tmp_path / "a.pcap"
    path.write_bytes(w.pcap(101, [(0, p) for p in (three[0], three[2], t.fragments(packet, 160, 2)[0], overlap)]))
    findings, summary, status = lint(path)
    assert (findings, status) == ([], 2)
    assert summary["records"]["not_judged"] == {ALONE: 4}
    assert summary["records"]["gaps"] == 0
    path.write_bytes(w.pcap(101, [(0, p) for p in t.fragments(packet, 160, 1)], 100))
    assert lint(path)[1]["records"]["not_judged"].keys() == {ALONE}


def test_a_datagram_has_no_holes(tmp_path: Path) -> None:
    """The last fragment says where the datagram ends. One that lies behind it fills no hole before it."""
    body, path = t.udp(2049, bytes(136)), tmp_path / "a.pcap"
    lies = {
        "behind the end": [(0, 8, True), (96, 144, True), (56, 88, False)],
        "two ends": [(0, 8, True), (96, 136, False), (48, 88, False)],
    }
    for name, pieces in lies.items():
        path.write_bytes(w.pcap(101, [(0, t.ipv4(17, body[a:b], a, more, 3)) for a, b, more in pieces]))
        _, summary, status = lint(path)
        assert (status, summary["records"]["foreign"], summary["records"]["not_judged"]) == (2, {}, {ALONE: 3}), name


def test_a_frame_in_fragments_is_that_of_the_whole(tmp_path: Path) -> None:
    """A virtual Fabric's header is stepped over however the overlay's packet came."""
    inner = w.ethernet(0x8906, w.fcoe(w.tagged(FRAMES[0], 9)))
    packet = t.ipv4(17, t.udp(4789, t.VXLAN + inner))
    (whole,) = records(tmp_path, 101, [(0, packet)])
    *parts, last = records(tmp_path, 101, [(0, f) for f in t.fragments(packet, 80, 1)])
    assert whole.data == FRAMES[0].data and whole.network & 0xFFF == 9
    assert (last.kind, last.data, last.network) == (whole.kind, whole.data, whole.network) and len(parts) > 1


def test_what_fragments_hold_has_its_name(tmp_path: Path) -> None:
    packets = t.fragments(t.ipv4(17, t.udp(2049, bytes(500))), 160, 1) + [t.ipv4(1, bytes(16))]
    path = tmp_path / "a.pcap"
    path.write_bytes(w.pcap(101, [(0, p) for p in packets]))
    assert lint(path)[1]["records"]["foreign"] == {"UDP": 4, "ICMP": 1}


def test_ifcp_is_told_by_name(tmp_path: Path) -> None:
    """RFC 4172: the encapsulation of RFC 3643 with protocol 2, whose word 1 is the protocol's own."""
    packets = []
    for at, packet in t.fcip_packets(FRAMES, 3420):
        body = bytearray(packet)
        body[40:48] = bytes.fromhex("0201fdfe00000000")
        packets.append((at, bytes(body)))
    path = tmp_path / "a.pcap"
    path.write_bytes(w.pcap(101, packets))
    findings, summary, status = lint(path)
    name = "iFCP, which is not read (capture the FC side of its gateway)"
    assert (findings, status, summary["records"]["foreign"]) == ([], 2, {name: 3})
    for command in ("lint", "flows", "explain", "decode"):
        done = fcvi(command, str(path))
        assert name in (done.stdout if command == "decode" else done.stderr)


@pytest.mark.parametrize(
    "packet, name",
    [
        (t.TUNNELS["vxlan"](w.ethernet(0x0806, bytes(28))), "ARP"),
        (w.ethernet(0x0800, t.ipv4(17, t.udp(4789, bytes(30)))), "VXLAN"),
        (w.ethernet(0x0800, t.ipv4(17, t.udp(6081, bytes(4)))), "Geneve"),
        (w.ethernet(0x0800, t.ipv4(47, t.gre(0x880B, bytes(30)))), "GRE"),
        (w.ethernet(0x0800, t.ipv4(47, t.gre(0x88BE, b"\x50" + bytes(30), sequence=1))), "GRE"),
        (w.ethernet(0x0800, t.ipv4(50, bytes(30))), "ESP (IPsec)"),
        (w.ethernet(0x8847, bytes(3)), "MPLS"),
        (w.ethernet(0x8864, t.pppoe(0xC021, bytes(8))), "PPPoE"),
        (w.ethernet(0x8926, bytes(4)), "VN-Tag"),
        (w.ethernet(0x893F, bytes(4)), "E-Tag (IEEE 802.1BR)"),
        (w.ethernet(0x0026, bytes(0x26)), "IEEE 802.3 with LLC"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_foreign_is_named(packet: bytes, name: str, tmp_path: Path) -> None:
    (record,) = records(tmp_path, 1, [(0, packet)])
    assert (record.kind, record.protocol) == ("foreign", name)


def test_tunnels_in_tunnels_end(tmp_path: Path) -> None:
    packet = w.ethernet(0x8906, w.fcoe(FRAMES[0]))
    for depth in range(1, 40):
        packet = t.TUNNELS["gre-bridging"](packet)
        (record,) = records(tmp_path, 1, [(0, packet)])
        assert record.kind == ("frame" if depth <= 8 else "foreign"), depth


# ---- what scapy writes, which is nobody's of ours ----


def by_scapy() -> dict[str, list[bytes]]:
    """Records of an Ethernet capture with the first frame, as FCoE and as FCIP."""

    scapy = pytest.importorskip("scapy.all")
    from scapy.contrib import erspan, geneve, mpls

    def Ether(**more: Any) -> Any:
        return scapy.Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02", **more)  # else it asks the network for them

    IP, GRE, raw = scapy.IP, scapy.GRE, scapy.raw
    inner = scapy.Ether(w.ethernet(0x8906, w.fcoe(FRAMES[0])))
    four = IP(src="192.0.2.1", dst="192.0.2.2")
    six = scapy.IPv6(src="2001:db8::1", dst="2001:db8::2")
    tcp = scapy.TCP(sport=40000, dport=3225, flags="PA") / scapy.Raw(w.fcip(FRAMES[0]))
    label = mpls.MPLS(label=100, s=0) / mpls.MPLS(label=200, s=1)
    fragments6 = scapy.fragment6(six / scapy.IPv6ExtHdrFragment() / tcp, 200)
    return {name: [raw(p) for p in packets] for name, packets in {
        "vxlan": [Ether() / four / scapy.UDP(sport=1, dport=4789) / scapy.VXLAN(vni=42, flags=8) / inner],
        "geneve": [Ether() / four / scapy.UDP(sport=1, dport=6081) / geneve.GENEVE(vni=42) / inner],
        "gre": [Ether() / four / GRE(proto=0x6558) / inner],
        "nvgre": [Ether() / four / GRE(proto=0x6558, key_present=1, key=0x2A00) / inner],
        "erspan-1": [Ether() / four / GRE(proto=0x88BE) / inner],
        "erspan-2": [Ether() / four / GRE(proto=0x88BE, seqnum_present=1, sequence_number=1) / erspan.ERSPAN_II(vlan=9) / inner],
        "erspan-3": [Ether() / four / GRE(proto=0x22EB, seqnum_present=1, sequence_number=1) / erspan.ERSPAN_III(vlan=9) / inner],
        "qinq": [Ether() / scapy.Dot1AD(vlan=9) / scapy.Dot1Q(vlan=1002, type=0x8906)
                 / scapy.Raw(w.fcoe(FRAMES[0]))],
        "mpls": [Ether(type=0x8847) / label / inner],
        "mpls-control-word": [Ether(type=0x8847) / label / mpls.EoMCW() / inner],
        "pppoe": [Ether() / scapy.PPPoE(sessionid=5) / scapy.PPP(proto=0x21) / four / tcp],
        "mpls-ip": [Ether(type=0x8847) / label / four / tcp],
        "hop-by-hop": [Ether() / six / scapy.IPv6ExtHdrHopByHop() / tcp],
        "destination": [Ether() / six / scapy.IPv6ExtHdrDestOpt() / tcp],
        "fragments": [Ether() / p for p in scapy.fragment(four / tcp, 200)],
        "fragments-6": [Ether() / p for p in fragments6],
    }.items()}  # fmt: skip


def test_what_scapy_writes_is_read(tmp_path: Path) -> None:
    for name, packets in by_scapy().items():
        found = records(tmp_path, 1, [(0, p) for p in packets])
        assert seen(found) == MEANT[:1], name
        assert [r.kind for r in found] == ["part"] * (len(packets) - 1) + ["frame"], name


# ---- files that are no capture, or say the wrong linktype ----


@pytest.mark.parametrize(
    "content, words",
    [
        (b"snoop\0\0\0" + struct.pack(">II", 2, 4) + bytes(64), "a snoop file, which is not read; convert it by: editcap"),
        (w.erf(w.ethernet(0x8906, w.fcoe(FRAMES[0]))) * 3, "a bare ERF file, which is not read; convert it by: editcap"),
        (b"0000  0e fc 00 01 02 00\n", "--from hex"),
        (b"22010202 00010101 01290000 00000000\n" * 3000, "--from hex"),  # its digits would be types and lengths of ERF
        ("0000  0e fc".encode("utf-16"), "--from hex"),
        (b"PK\3\4" + bytes(64), "a ZIP archive, which is not read; unpack it"),
        (bytes(257) + b"ustar" + bytes(250), "a tar archive, which is not read; unpack it"),
        (bytes.fromhex("0a0d0d0a1c0000004d3c2b1a02000000ffffffffffffffff1c000000"), "only version 1 is read"),
    ],
)
def test_other_formats_get_a_line_that_helps(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(content)
    for command in ("lint", "decode", "flows", "explain"):
        done = fcvi(command, str(path))
        assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1, (command, done.stderr)


@pytest.mark.parametrize("linktype", [1, 113, 147])
def test_a_wrong_linktype_gets_a_hint(linktype: int, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    for records_ in ([(0, FRAMES[0].data)] * 3, [(0, bytes.fromhex("bcb55656") + FRAMES[0].data + bytes(8))] * 3):
        path.write_bytes(w.pcap(linktype, records_))
        done = fcvi("lint", str(path))
        assert done.returncode == 2 and "if the linktype of the file is wrong, `editcap -T fc2`" in done.stderr
    path.write_bytes(w.pcap(1, [(0, w.ethernet(0x9000 + 16 * i, bytes(46))) for i in range(20)]))
    assert "of 14 other kinds" in fcvi("lint", str(path)).stderr
