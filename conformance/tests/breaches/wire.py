"""Fibre Channel frames and capture files from their tables: ISO/IEC 14165-331 5.8, 5.9, FC-FS frame header, pcap linktype 225."""

import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterable, Optional

EXCHANGE_RESPONDER, SEQUENCE_RECIPIENT, FIRST, LAST, END = 1 << 23, 1 << 22, 1 << 21, 1 << 20, 1 << 19
PRIORITY, INITIATIVE, OFFSET = 1 << 17, 1 << 16, 1 << 3
UNASSIGNED = 0xFFFFFFFF

SEND_RQST, WRITE_RQST, READ_RQST = 0x00, 0x01, 0x02
SEND_RESP, WRITE_RESP, READ_RESP = 0x08, 0x09, 0x0A
CONNECT_RQST, DISCONNECT_RQST = 0x10, 0x12
RESP1, RESP2, RESP3, DISCONNECT_RESP = 0x18, 0x19, 0x1A, 0x1B
#: R_CTL of each IU, Table 1.
ROUTING = {
    SEND_RQST: 0x01, WRITE_RQST: 0x01, READ_RQST: 0x06, SEND_RESP: 0x07, WRITE_RESP: 0x07, READ_RESP: 0x01,
    CONNECT_RQST: 0x02, DISCONNECT_RQST: 0x02, RESP1: 0x03, RESP2: 0x03, RESP3: 0x03, DISCONNECT_RESP: 0x03,
}  # fmt: skip

#: Where a Device_Header field lies: byte from the first byte of the frame header, and its length.
HANDLE, OPCODE, FLAGS, RESERVED, MSG_ID, PARAMETER = (24, 4), (28, 1), (29, 1), (30, 2), (32, 4), (36, 4)
RMT_VA, RMT_VA_HANDLE, TOT_LEN = (40, 8), (48, 4), (52, 4)
CONNECTION_ID = TOT_LEN
#: Likewise of the frame header.
R_CTL, D_ID, CS_CTL, S_ID, TYPE, F_CTL = (0, 1), (1, 3), (4, 1), (5, 3), (8, 1), (9, 3)
SEQ_ID, DF_CTL, SEQ_CNT, OX_ID, RX_ID, OFFSET_FIELD = (12, 1), (13, 1), (14, 2), (16, 2), (18, 2), (20, 4)
#: The first payload byte of a frame with a 32-byte Device_Header.
PAYLOAD = 56

_SOF = {(2, True): 0xBCB55555, (2, False): 0xBCB53535, (3, True): 0xBCB55656, (3, False): 0xBCB53636}
_EOF = {False: 0xBC95D5D5, True: 0xBC957575}


@dataclass(eq=False)
class Frame:
    """One frame; ``raw`` is everything from the Device_Header on, fill bytes included."""

    src: int
    dst: int
    r_ctl: int
    f_ctl: int
    seq_id: int = 0
    seq_cnt: int = 0
    ox: int = 0
    rx: int = 0xFFFF
    type: int = 0x58
    cs_ctl: int = 0
    df_ctl: int = 0
    param: int = 0
    raw: bytearray = field(default_factory=bytearray)
    cls: int = 3
    first: bool = True
    ends: bool = True
    at: int = 0
    prefix: bytes = b""  #: extended headers before the frame header

    def header(self) -> bytes:
        """The 24 bytes of the frame header."""
        return (
            bytes([self.r_ctl]) + self.dst.to_bytes(3, "big") + bytes([self.cs_ctl]) + self.src.to_bytes(3, "big")
            + bytes([self.type]) + self.f_ctl.to_bytes(3, "big") + bytes([self.seq_id, self.df_ctl])
            + struct.pack(">HHHI", self.seq_cnt, self.ox, self.rx, self.param & 0xFFFFFFFF)
        )  # fmt: skip

    def pack(self) -> bytes:
        """SOF, frame, CRC, EOF."""
        body = self.prefix + self.header() + bytes(self.raw)
        crc = zlib.crc32(body)
        return struct.pack(">I", _SOF[self.cls, self.first]) + body + struct.pack("<I", crc) + struct.pack(">I", _EOF[self.ends])

    def put(self, place: tuple[int, int], value: int) -> "Frame":
        """Write a field of the Device_Header or payload, by its place in the frame."""
        at, size = place[0] - 24, place[1]
        self.raw[at : at + size] = value.to_bytes(size, "big")
        return self

    def get(self, place: tuple[int, int]) -> int:
        """Read one."""
        at, size = place[0] - 24, place[1]
        return int.from_bytes(self.raw[at : at + size], "big")

    @property
    def opcode(self) -> Optional[int]:
        """FCVI_OPCODE, or None of a frame that is none of FC-VI."""
        return self.raw[4] if self.type == 0x58 and self.df_ctl and len(self.raw) > 4 else None


def device_header(
    opcode: int, handle: int, flags: int = 0, msg_id: int = 0, parameter: int = 0, va: int = 0, va_handle: int = 0, word7: int = 0
) -> bytes:
    """Table 3 for FCVI_SEND_RESP and FCVI_WRITE_RESP, Table 4 for every other IU."""
    head = struct.pack(">IBBHII", handle, opcode, flags, 0, msg_id, parameter)
    return head if opcode in (SEND_RESP, WRITE_RESP) else head + struct.pack(">QII", va, va_handle, word7)


@dataclass(frozen=True)
class Address:
    """A VI address: 16 bytes of host, 16 to 128 of Discriminator (7.2)."""

    host: bytes
    discriminator: bytes

    def pack(self) -> bytes:
        """FCVI_NET_ADDRESS, Table 15."""
        return bytes([0, 0, 16, len(self.discriminator)]) + self.host + self.discriminator.ljust(128, b"\0")


@dataclass(frozen=True)
class Attributes:
    """FCVI_ATTRIBUTES, Tables 16 to 18."""

    level: int = 1
    write: bool = True
    read: bool = True
    max_size: int = 65536
    pref: bool = False
    depth: int = 0

    def pack(self) -> bytes:
        """Seven words and the eighth that 6.8.3 leaves room for."""
        flags = 2 * self.write + self.read
        return struct.pack(">HBBIIIIII4x", 0, self.level, flags, self.max_size, 0x80000000 * self.pref, 0, 0, 0, self.depth)


def connect_payload(handle: int, local: Address, remote: Address, attributes: Attributes, info: bytes = b"") -> bytes:
    """Tables 13 and 14."""
    return struct.pack(">IHHI", 0, 0, 1, handle) + local.pack() + remote.pack() + attributes.pack() + info


def common_parameters(features: int = 0x8002, size: int = 2112) -> bytes:
    """The 16 bytes of Common Service Parameters of a PLOGI."""
    return struct.pack(">BBHHHHHI", 0x20, 0x20, 10, features, size, 255, 0x00FF, 2000)


def login_payload(command: int, port_name: int, node_name: int, features: int = 0x8002, size: int = 2112) -> bytes:
    """PLOGI, FLOGI or the LS_ACC to one: classes 2 and 3 valid."""
    cls2 = struct.pack(">HHHHHHBBH", 0x8000, 0, 0, size, 255, 8, 0, 1, 0)
    cls3 = struct.pack(">HHHHHHBBH", 0x8000, 0, 0, size, 255, 0, 0, 1, 0)
    return (
        bytes([command, 0, 0, 0]) + common_parameters(features, size) + struct.pack(">QQ", port_name, node_name)
        + bytes(16) + cls2 + cls3 + bytes(16) + bytes(16)
    )  # fmt: skip


def write_pcap(path: Path, frames: Iterable[Frame], snap: int = 65535) -> None:
    """A pcap file of linktype 225 (FC-2 frames with their delimiters), of each frame at most ``snap`` bytes from its SOF on."""
    out = [struct.pack(">IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, snap, 225)]
    for f in frames:
        data, length = f.pack()[:snap], len(f.pack())
        out.append(struct.pack(">IIII", 1000 + f.at // 1000000, f.at % 1000000, len(data), length) + data)
    path.write_bytes(b"".join(out))
