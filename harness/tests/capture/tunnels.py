"""Builds what wraps an Ethernet frame or an IP packet on its way, from the tables of the standards alone."""

from __future__ import annotations

import struct
from typing import Callable, Sequence

from .wrappings import MACS, Frame, Tcp, ethernet, fcip, fcoe


def ipv4(protocol: int, payload: bytes, offset: int = 0, more: bool = False, ident: int = 1) -> bytes:
    """A packet (RFC 791); offset: of a fragment, in bytes."""
    flags = (0x2000 if more else 0) | offset // 8
    ends = bytes([192, 0, 2, 1, 192, 0, 2, 2])
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), ident, flags, 64, protocol, 0) + ends + payload


def ipv6(following: int, payload: bytes) -> bytes:
    """A packet (RFC 8200), whose payload may begin with extension headers."""
    ends = b"".join(bytes.fromhex("20010db8") + bytes(11) + bytes([host]) for host in (1, 2))
    return struct.pack(">IHBB", 0x60000000, len(payload), following, 64) + ends + payload


def udp(port: int, payload: bytes) -> bytes:
    """A datagram (RFC 768) without a checksum."""
    return struct.pack(">HHHH", 49152, port, 8 + len(payload), 0) + payload


def gre(ethertype: int, payload: bytes, key: int = -1, sequence: int = -1, checksum: bool = False) -> bytes:
    """A packet of GRE (RFC 2784, RFC 2890)."""
    flags = (0x8000 if checksum else 0) | (0x2000 if key >= 0 else 0) | (0x1000 if sequence >= 0 else 0)
    words = [0] if checksum else []
    words += [number for number in (key, sequence) if number >= 0]
    return struct.pack(f">HH{len(words)}I", flags, ethertype, *words) + payload


def erspan2(inner: bytes, cut: bool = False) -> bytes:
    """Type II: version 1, VLAN, COS, En, T, session; index (draft-foschiano-erspan)."""
    return struct.pack(">HHI", 0x1 << 12 | 100, (0x0400 if cut else 0) | 33, 7) + inner


def erspan3(inner: bytes, more: bool = False) -> bytes:
    """Type III: version 2, VLAN; T, session; time; SGT; P, FT, HW, D, Gra, O."""
    head = struct.pack(">HHIHH", 0x2 << 12 | 100, 33, 123456, 0, 0x8001 if more else 0x8000)
    return head + (bytes(8) if more else b"") + inner


def mpls(payload: bytes, labels: Sequence[int] = (100, 200)) -> bytes:
    """A stack of labels, the last of which has the bit S (RFC 3032)."""
    last = len(labels) - 1
    return b"".join(struct.pack(">I", label << 12 | (0x100 if i == last else 0) | 64) for i, label in enumerate(labels)) + payload


def pppoe(protocol: int, payload: bytes) -> bytes:
    """A session packet (RFC 2516)."""
    return struct.pack(">BBHHH", 0x11, 0, 5, len(payload) + 2, protocol) + payload


def _in_ip(wrap: Callable[[bytes], bytes], protocol: int) -> Callable[[bytes], bytes]:
    return lambda inner: ethernet(0x0800, ipv4(protocol, wrap(inner)))


def _tagged(ethertype: int, tag: bytes) -> Callable[[bytes], bytes]:
    """A tag between the addresses and the EtherType."""
    return lambda inner: inner[:12] + struct.pack(">H", ethertype) + tag + inner[12:]


VXLAN = struct.pack(">II", 0x08000000, 42 << 8)
#: Wraps an Ethernet frame into another.
TUNNELS: dict[str, Callable[[bytes], bytes]] = {
    "erspan-1": _in_ip(lambda inner: gre(0x88BE, inner), 47),
    "erspan-2": _in_ip(lambda inner: gre(0x88BE, erspan2(inner), sequence=9), 47),
    "erspan-3": _in_ip(lambda inner: gre(0x22EB, erspan3(inner), sequence=9), 47),
    "erspan-3-subheader": _in_ip(lambda inner: gre(0x22EB, erspan3(inner, True), sequence=9), 47),
    "erspan-2-in-ipv6": lambda inner: ethernet(0x86DD, ipv6(47, gre(0x88BE, erspan2(inner), sequence=9))),
    "gre-bridging": _in_ip(lambda inner: gre(0x6558, inner), 47),
    "gre-checksum": _in_ip(lambda inner: gre(0x6558, inner, key=5, sequence=6, checksum=True), 47),
    "nvgre": _in_ip(lambda inner: gre(0x6558, inner, key=42 << 8 | 1), 47),
    "etherip": _in_ip(lambda inner: b"\x30\x00" + inner, 97),
    "ip-in-ip": _in_ip(lambda inner: ipv4(47, gre(0x6558, inner)), 4),
    "vxlan": _in_ip(lambda inner: udp(4789, VXLAN + inner), 17),
    "vxlan-linux": _in_ip(lambda inner: udp(8472, VXLAN + inner), 17),
    "vxlan-gpe": _in_ip(lambda inner: udp(4790, struct.pack(">II", 0x0C000003, 42 << 8) + inner), 17),
    "geneve": _in_ip(lambda inner: udp(6081, struct.pack(">BBHI", 2, 0, 0x6558, 42 << 8) + bytes(8) + inner), 17),
    "mpls": lambda inner: ethernet(0x8847, mpls(inner)),
    "mpls-control-word": lambda inner: ethernet(0x8847, mpls(bytes([0, 0, 0, 7]) + inner)),
    "mpls-in-ip": _in_ip(lambda inner: mpls(inner), 137),
    "mpls-gre": lambda inner: ethernet(0x8847, mpls(ipv4(47, gre(0x6558, inner)), (16,))),
    "pppoe-bridged": lambda inner: ethernet(0x8864, pppoe(0x0031, bytes([0, 1]) + inner)),
    "vn-tag": _tagged(0x8926, bytes.fromhex("80050003")),
    "e-tag": _tagged(0x893F, bytes.fromhex("000501000000")),
    "hsr": _tagged(0x892F, bytes.fromhex("0834 0007".replace(" ", ""))),
    "cisco-metadata": _tagged(0x8909, bytes.fromhex("010100010010")),
    "802.1ah": lambda inner: MACS + bytes.fromhex("88a80064" "88e7" "00004321") + inner,
    "802.3-snap": lambda inner: inner[:12] + struct.pack(">H", len(inner) - 6) + bytes.fromhex("aaaa03000000") + inner[12:],
    "in-outer-vlan": lambda inner: TUNNELS["vxlan"](inner)[:12] + bytes.fromhex("81000009") + TUNNELS["vxlan"](inner)[12:],
}


def wrapped(name: str, frames: Sequence[Frame]) -> list[tuple[int, bytes]]:
    """FCoE in a tunnel."""
    return [(f.time_us, TUNNELS[name](ethernet(0x8906, fcoe(f)))) for f in frames]


def fragments(packet: bytes, size: int, ident: int) -> list[bytes]:
    """An IPv4 packet in fragments with so many bytes of data, a multiple of eight."""
    body = packet[20:]
    found = []
    for at in range(0, len(body), size):
        piece, more = body[at : at + size], at + size < len(body)
        head = struct.pack(">HHH", 20 + len(piece), ident, (0x2000 if more else 0) | at // 8)
        found.append(packet[:2] + head + packet[8:20] + piece)
    return found


def fragments6(packet: bytes, size: int, ident: int) -> list[bytes]:
    """An IPv6 packet in fragments, behind a hop-by-hop header."""
    body, found = packet[40:], []
    for at in range(0, len(body), size):
        head = struct.pack(">BBHI", packet[6], 0, at | (at + size < len(body)), ident)
        found.append(ipv6(0, bytes([44, 0, 1, 4, 0, 0, 0, 0]) + head + body[at : at + size]))
    return found


def fcip_packets(frames: Sequence[Frame], port: int = 3225, ethertype: int = 0x0800) -> list[tuple[int, bytes]]:
    """The IP packets of FCIP to a port, one frame each."""
    tcp = Tcp(ethertype)
    for f in frames:
        tcp.segment(fcip(f), f.time_us)
    header = 40 if ethertype == 0x86DD else 20
    return [(t, data[14 : 14 + header + 2] + struct.pack(">H", port) + data[14 + header + 4 :]) for t, data in tcp.records]
