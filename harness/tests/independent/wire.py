"""Frames, Device_Headers and payloads, packed by hand from Tables 1, 3, 4 and 13 to 18 and from FC-FS."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Dict, Optional, Tuple

TYPE_FCVI = 0x58
UNASSIGNED = 0xFFFFFFFF

# F_CTL
RESPONDER = 1 << 23
FIRST = 1 << 21
LAST = 1 << 20
END = 1 << 19
INITIATIVE = 1 << 16
RO_PRESENT = 1 << 3
FILL = 3

# R_CTL of basic and extended link services
ABTS, BA_ACC, BA_RJT = 0x81, 0x84, 0x85
ELS_RQST, ELS_RESP = 0x22, 0x23

SEND, SEND_RESP, WRITE_RESP = 0x00, 0x08, 0x09
CONNECT_RQST, DISCONNECT_RQST = 0x10, 0x12
RESP1, RESP2, RESP3, DISCONNECT_RESP = 0x18, 0x19, 0x1A, 0x1B
CONNECT_IUS = (CONNECT_RQST, RESP1, RESP2, RESP3)
WITH_PAYLOAD = (CONNECT_RQST, RESP1)

# Table 1: R_CTL of every opcode.
R_CTL: Dict[int, int] = {
    0x00: 0x01, 0x01: 0x01, 0x02: 0x06, 0x08: 0x07, 0x09: 0x07, 0x0A: 0x01,
    0x10: 0x02, 0x12: 0x02, 0x18: 0x03, 0x19: 0x03, 0x1A: 0x03, 0x1B: 0x03,
}

# FCVI_FLAGS: Table 7 (request), Table 9 (response), Table 10 (disconnect), Table 5 (message)
RQST_RETRY, RQST_INFO, MODE_CLIENT_SERVER = 0x10, 0x08, 0x01
RESP_RETRY, RESP_INFO, CONN_STS = 0x04, 0x02, 0x01
SETUP_ABORT, APP_DISCON = 0x04, 0x02
IMM_DATA = 0x01

HEADER = struct.Struct(">IIIBBHHHI")
DEVICE_32 = struct.Struct(">IBBHIIQII")
DEVICE_16 = struct.Struct(">IBBHII")
NET_ADDRESS = struct.Struct(">HBB16s128s")
ATTRIBUTES = struct.Struct(">HBBIB3xIIII4x")


def reason(code: int) -> int:
    """Table 11: the Reason Code is byte 1 of FCVI_PARAMETER."""
    return code << 16


@dataclass
class Frame:
    """One FC-2 frame; `data` is the data field with optional headers and fill bytes."""

    r_ctl: int
    d_id: int
    s_id: int
    type: int
    f_ctl: int
    seq_id: int
    seq_cnt: int
    ox_id: int
    rx_id: int
    df_ctl: int = 0
    param: int = 0
    cs_ctl: int = 0
    data: bytes = b""
    sof: Optional[str] = None
    eof: Optional[str] = None
    crc: str = "ok"

    def pack(self) -> bytes:
        """Header and data field as they go on the wire."""
        words = self.r_ctl << 24 | self.d_id, self.cs_ctl << 24 | self.s_id, self.type << 24 | self.f_ctl
        return HEADER.pack(*words, self.seq_id, self.df_ctl, self.seq_cnt, self.ox_id, self.rx_id,
                           self.param) + self.data

    @classmethod
    def unpack(cls, raw: bytes) -> "Frame":
        """The inverse of pack; a ValueError for what is no frame."""
        if len(raw) < HEADER.size or len(raw) % 4 or len(raw) > HEADER.size + 2112:
            raise ValueError(f"{len(raw)} bytes are no frame")
        w0, w1, w2, seq_id, df_ctl, seq_cnt, ox_id, rx_id, param = HEADER.unpack_from(raw)
        return cls(w0 >> 24, w0 & 0xFFFFFF, w1 & 0xFFFFFF, w2 >> 24, w2 & 0xFFFFFF, seq_id, seq_cnt,
                   ox_id, rx_id, df_ctl, param, w1 >> 24, raw[HEADER.size:])


@dataclass
class Iu:
    """One FC-VI IU: its Device_Header, its payload and what the frame headers of its Sequence need."""

    opcode: int
    handle: int = UNASSIGNED
    flags: int = 0
    msg_id: int = 0
    param: int = 0
    rmt_va: int = 0
    rmt_handle: int = 0
    word7: int = 0
    payload: bytes = b""
    reserved: int = 0
    initiative: bool = False
    last: bool = False
    r_ctl: int = -1
    type: int = TYPE_FCVI
    df_ctl: int = 2
    cs_ctl: int = 0
    context_flip: bool = False

    def __post_init__(self) -> None:
        if self.r_ctl < 0:
            self.r_ctl = R_CTL.get(self.opcode, 0)

    def device_header(self) -> bytes:
        """Table 4; Table 3 when DF_CTL announces 16 bytes."""
        first = self.handle, self.opcode, self.flags, self.reserved, self.msg_id, self.param
        if self.df_ctl == 1:
            return DEVICE_16.pack(*first)
        return DEVICE_32.pack(*first, self.rmt_va, self.rmt_handle, self.word7)


def split_device_header(frame: Frame) -> Tuple[Iu, bytes]:
    """The Device_Header and the payload (without fill) of a Device_Data frame, or a ValueError (Table 1)."""
    size = {1: 16, 2: 32}.get(frame.df_ctl, 0)
    if not size or len(frame.data) < size:
        raise ValueError(f"DF_CTL {frame.df_ctl:02x} with {len(frame.data)} bytes of data field")
    if size == 16:
        words = *DEVICE_16.unpack_from(frame.data), 0, 0, 0
    else:
        words = DEVICE_32.unpack_from(frame.data)
    handle, opcode, flags, rsvd, msg_id, param, rmt_va, rmt_handle, word7 = words
    if R_CTL.get(opcode) != frame.r_ctl or (size == 16) != (opcode in (SEND_RESP, WRITE_RESP)):
        raise ValueError(f"opcode {opcode:02x} with R_CTL {frame.r_ctl:02x} and a {size} byte header")
    fill = frame.f_ctl & FILL
    payload = frame.data[size:]
    if fill > len(payload) or (fill and not frame.f_ctl & END):
        raise ValueError(f"{fill} fill bytes out of place")
    iu = Iu(opcode, handle, flags, msg_id, param, rmt_va, rmt_handle, word7, reserved=rsvd)
    return iu, payload[:len(payload) - fill]


@dataclass(frozen=True)
class NetAddress:
    """FCVI_NET_ADDRESS (Table 15); the Discriminator is left-justified and zero padded (E31)."""

    host: bytes
    discriminator: bytes

    def pack(self) -> bytes:
        """The 148 bytes of Table 15."""
        return NET_ADDRESS.pack(0, 16, len(self.discriminator), self.host, self.discriminator)

    @classmethod
    def unpack(cls, raw: bytes) -> "NetAddress":
        """From 148 bytes; a ValueError for lengths outside 7.2."""
        _, host_len, disc_len, host, discriminator = NET_ADDRESS.unpack(raw)
        if host_len != 16 or not 16 <= disc_len <= 128:
            raise ValueError(f"HOST_ADD_LEN {host_len}, DISCRIM_LEN {disc_len}")
        return cls(host, discriminator[:disc_len])


@dataclass(frozen=True)
class Attributes:
    """FCVI_ATTRIBUTES with FCVI_QOS (Tables 16 to 18), 28 bytes and the pad word of E10."""

    level: int = 1
    max_transfer: int = 65536
    rdma_write: bool = False
    rdma_read: bool = False
    preference: bool = False
    pipeline_depth: int = 0

    def pack(self) -> bytes:
        """The 32 bytes of payload Words 77 to 84."""
        flags = self.rdma_write << 1 | self.rdma_read
        return ATTRIBUTES.pack(0, self.level, flags, self.max_transfer, 0x80 if self.preference else 0,
                               0, 0, 0, self.pipeline_depth)

    @classmethod
    def unpack(cls, raw: bytes) -> "Attributes":
        """From 32 bytes; what is reserved is ignored (5.9.5)."""
        _, level, flags, size, pref, _, _, _, depth = ATTRIBUTES.unpack(raw)
        return cls(level, size, bool(flags & 2), bool(flags & 1), pref == 0x80, depth)


@dataclass(frozen=True)
class ConnectPayload:
    """The payload of CONNECT_RQST and RESP1 (Tables 13 and 14)."""

    handle: int
    local: NetAddress
    remote: NetAddress
    attributes: Attributes = field(default_factory=Attributes)
    info: bytes = b""

    def pack(self) -> bytes:
        """340 bytes, or 596 with FCVI_CONNECT_INFO."""
        return (struct.pack(">III", 0, 1, self.handle) + self.local.pack() + self.remote.pack()
                + self.attributes.pack() + self.info)

    @classmethod
    def unpack(cls, raw: bytes, with_info: bool) -> "ConnectPayload":
        """From a whole payload; a ValueError for a wrong length, revision or address."""
        if len(raw) != (596 if with_info else 340):
            raise ValueError(f"payload of {len(raw)} bytes")
        revision, handle = struct.unpack_from(">6xHI", raw)
        if revision != 1:
            raise ValueError(f"FCVI_REVISION {revision:04x}")
        return cls(handle, NetAddress.unpack(raw[12:160]), NetAddress.unpack(raw[160:308]),
                   Attributes.unpack(raw[308:340]), raw[340:])
