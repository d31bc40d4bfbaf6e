"""Device_Headers and payloads of Rev 1.0, packed by hand from Tables 1, 3, 4 and 11 to 15 and from Annex B."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, Dict, Tuple

from ..wire import DEVICE_16, DEVICE_32, END, FILL, TYPE_FCVI, Frame
from ..wire import UNASSIGNED as UNASSIGNED

SEND, WRITE, READ = 0x00, 0x01, 0x02
SEND_RESP, WRITE_RESP, READ_RESP = 0x08, 0x09, 0x0A
CONNECT_RQST, DISCONNECT_RQST = 0x10, 0x12
RESP1, RESP2, DISCONNECT_RESP = 0x18, 0x19, 0x1A

MESSAGE_RQST = (SEND, WRITE, READ)
MESSAGE_RESP = (SEND_RESP, WRITE_RESP, READ_RESP)
CONNECT_IUS = (CONNECT_RQST, RESP1, RESP2)
ONE_FRAME = (READ, SEND_RESP, WRITE_RESP, *CONNECT_IUS, DISCONNECT_RQST, DISCONNECT_RESP)

# Table 1: R_CTL, and the size of the Device_Header, of every opcode
R_CTL: Dict[int, int] = {
    SEND: 0x01, WRITE: 0x01, READ: 0x06, SEND_RESP: 0x07, WRITE_RESP: 0x07, READ_RESP: 0x01,
    CONNECT_RQST: 0x02, DISCONNECT_RQST: 0x02, RESP1: 0x03, RESP2: 0x03, DISCONNECT_RESP: 0x03,
}
HEADER_SIZE = {opcode: 32 if opcode in (WRITE, READ) else 16 for opcode in R_CTL}

# VI_FLAGS: Tables 5, 6, 7 and 8
IMM_DATA = 0x80
TRANS_ERR, PROT_ERR, DESC_ERR, RESP_ERR = 0x08, 0x04, 0x02, 0x01
CLIENT_SERVER, PEER_TO_PEER, BY_KERNEL, BY_APPLICATION = 1, 2, 4, 5
CONN_ERR = 0x01

# Table 10; for Duplicate Addresses see R05
REJECT, NO_DISCRIMINATOR, TIMEOUT, NO_WAITING, CONCURRENT, DUPLICATE_06, DUPLICATE = 1, 2, 3, 4, 5, 6, 7

REVISION = 1
CONNECT_BYTES = 332
NET_ADDRESS = struct.Struct(">HH16s128s")
ATTRIBUTES = struct.Struct(">B3xI16sB3x")
PREF = 0x80
LEVEL_NAMES = {1: "VIP_SERVICE_UNRELIABLE", 2: "VIP_SERVICE_RELIABLE_DELIVERY", 4: "VIP_SERVICE_RELIABLE_RECEPTION"}
PRIORITY_BYTE = {"01": 0x01, "20": 0x20, "80": 0x80}


@dataclass
class Iu:
    """One IU: its Device_Header, its payload and what the frame headers of its Sequence need."""

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
    df_ctl: int = -1
    cs_ctl: int = 0
    restart: bool = False  # RLTV_OFF of this IU begins at 0 again (R02)
    offset: int = 0  # of the first byte, in an IU that was received
    context_flip: bool = False

    def __post_init__(self) -> None:
        if self.r_ctl < 0:
            self.r_ctl = R_CTL.get(self.opcode, 0)
        if self.df_ctl < 0:
            self.df_ctl = HEADER_SIZE.get(self.opcode, 16) // 16

    def device_header(self) -> bytes:
        """Table 4, or Table 3 when DF_CTL announces 32 bytes."""
        first = self.handle, self.opcode, self.flags, self.reserved, self.msg_id, self.param
        if self.df_ctl == 1:
            return DEVICE_16.pack(*first)
        return DEVICE_32.pack(*first, self.rmt_va, self.rmt_handle, self.word7)


def split_device_header(frame: Frame) -> Tuple[Iu, bytes]:
    """The Device_Header and the payload (without fill) of a Device_Data frame, or a ValueError (Table 1, R20)."""
    size = {1: 16, 2: 32}.get(frame.df_ctl, 0)
    if not size or len(frame.data) < size:
        raise ValueError(f"DF_CTL {frame.df_ctl:02x} with {len(frame.data)} bytes of data field")
    words: Tuple[int, ...] = DEVICE_32.unpack_from(frame.data) if size == 32 else (*DEVICE_16.unpack_from(frame.data), 0, 0, 0)
    handle, opcode, flags, rsvd, msg_id, param, rmt_va, rmt_handle, word7 = words
    if R_CTL.get(opcode) != frame.r_ctl or HEADER_SIZE[opcode] != size:
        raise ValueError(f"opcode {opcode:02x} with R_CTL {frame.r_ctl:02x} and a {size} byte header")
    fill, payload = frame.f_ctl & FILL, frame.data[size:]
    if fill > len(payload) or (fill and not frame.f_ctl & END):
        raise ValueError(f"{fill} fill bytes out of place")
    iu = Iu(opcode, handle, flags, msg_id, param, rmt_va, rmt_handle, word7, reserved=rsvd, cs_ctl=frame.cs_ctl)
    return iu, payload[:len(payload) - fill]


@dataclass(frozen=True)
class NetAddress:
    """FCVI_NET_ADDRESS (Table 13): the Discriminator begins its field, zeros fill the rest."""

    host: bytes
    discriminator: bytes
    rest: bytes = field(default=b"\0", compare=False)  # what fills the field

    def pack(self) -> bytes:
        """The 148 bytes of Table 13."""
        return NET_ADDRESS.pack(16, len(self.discriminator), self.host, self.discriminator.ljust(128, self.rest))

    @classmethod
    def unpack(cls, raw: bytes) -> "NetAddress":
        """From 148 bytes; a ValueError for lengths outside 7.1."""
        host_len, disc_len, host, discriminator = NET_ADDRESS.unpack(raw)
        if host_len != 16 or disc_len > 128:
            raise ValueError(f"HOST_ADDR_LEN {host_len}, DISCRIM_LEN {disc_len}")
        return cls(host, discriminator[:disc_len])

    def as_json(self) -> Dict[str, Any]:
        """The address of the DUT protocol."""
        return {"host": self.host.hex(), "discriminator": self.discriminator.hex()}


@dataclass(frozen=True)
class Attributes:
    """FCVI_ATTRIBUTES (Tables 14 and 15) with the 16 bytes of VIP_QualityOfService_t (Annex B, R13)."""

    level: int = 1
    max_transfer: int = 65536
    rdma_write: bool = False
    rdma_read: bool = False
    preference: bool = False
    priority_byte: int = PRIORITY_BYTE["01"]

    def pack(self) -> bytes:
        """The 28 bytes of Table 14."""
        qos = bytes([self.priority_byte if self.preference else 0]) + bytes(15)
        return ATTRIBUTES.pack(self.level, self.max_transfer, qos, self.rdma_write << 1 | self.rdma_read)

    @classmethod
    def unpack(cls, raw: bytes) -> "Attributes":
        """From 28 bytes; what is reserved is ignored. Only the value Priority asks for Preference."""
        level, size, qos, flags = ATTRIBUTES.unpack(raw)
        return cls(level, size, bool(flags & 2), bool(flags & 1), qos[0] & 7 == 1)

    def as_json(self) -> Dict[str, Any]:
        """ViAttribs of the DUT protocol."""
        return {"ReliabilityLevel": LEVEL_NAMES.get(self.level, LEVEL_NAMES[1]), "MaxTransferSize": self.max_transfer,
                "EnableRdmaWrite": self.rdma_write, "EnableRdmaRead": self.rdma_read,
                "QoS": {"PipelineDepth": 0, "Preference": self.preference}}


@dataclass(frozen=True)
class ConnectPayload:
    """The payload of CONNECT_RQST and RESP1 (Tables 11 and 12)."""

    handle: int
    local: NetAddress
    remote: NetAddress
    attributes: Attributes = field(default_factory=Attributes)
    revision: int = REVISION

    def pack(self) -> bytes:
        """332 bytes."""
        return struct.pack(">II", self.revision, self.handle) + self.local.pack() + self.remote.pack() + self.attributes.pack()

    @classmethod
    def unpack(cls, raw: bytes) -> "ConnectPayload":
        """From a whole payload; a ValueError for a wrong length or address (R27; VI_REVISION: R30)."""
        if len(raw) != CONNECT_BYTES:
            raise ValueError(f"payload of {len(raw)} bytes")
        handle = int.from_bytes(raw[4:8], "big")
        return cls(handle, NetAddress.unpack(raw[8:156]), NetAddress.unpack(raw[156:304]), Attributes.unpack(raw[304:332]))


def revision_of(payload: bytes) -> int:
    """VI_REVISION."""
    return int.from_bytes(payload[:4], "big")
