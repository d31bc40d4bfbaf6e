"""FIP, the FCoE Initialization Protocol: its frames as values and as bytes (FC-BB)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

ETHERTYPE = b"\x89\x14"
ALL_ENODES = bytes.fromhex("011018010001")
ALL_FCFS = bytes.fromhex("011018010002")
ALL_VN2VN = bytes.fromhex("011018010004")

# operation and subcode
SOLICITATION, ADVERTISEMENT = (1, 1), (1, 2)
ELS_REQUEST, ELS_REPLY = (2, 1), (2, 2)
KEEP_ALIVE, CLEAR_LINKS = (3, 1), (3, 2)
VLAN_REQUEST, VLAN_NOTIFICATION = (4, 1), (4, 2)
PROBE, PROBE_REPLY, CLAIM, CLAIM_REPLY, BEACON = (5, 1), (5, 2), (5, 3), (5, 4), (5, 5)

FPMA, REC, AVAILABLE, SOLICITED, FCF = 0x8000, 0x0008, 0x0004, 0x0002, 0x0001

# descriptor types
PRIORITY, MAC, NAME, FABRIC, SIZE, FLOGI, FDISC, LOGO = 1, 2, 4, 5, 6, 7, 8, 9
VN_ID, KEEP_ALIVE_PERIOD, VLAN, FC4_FEATURES = 11, 12, 14, 15
_ELS_TYPES = (7, 8, 9, 10)  # FLOGI, FDISC, LOGO, ELP

FCOE_SIZE = 2158  # the largest FCoE payload, for descriptor 6 and for padding
_TYPE_FC_VI = 0x58
_HEADER, _SHORTEST = 10, 46


@dataclass(frozen=True)
class Message:
    """One FIP message: operation and subcode, flags, and descriptors (type, what follows type and length)."""

    what: tuple[int, int]
    flags: int
    descriptors: tuple[tuple[int, bytes], ...]

    def find(self, kind: int, length: int = 0) -> Optional[bytes]:
        """The one descriptor of this type, of this length unless that is 0; None when it is not there so."""
        found = [body for this, body in self.descriptors if this == kind]
        return found[0] if len(found) == 1 and (not length or len(found[0]) == length) else None

    def els(self) -> Optional[bytes]:
        """The FC-2 frame of an ELS, header and payload."""
        found = [body for kind, body in self.descriptors if kind in _ELS_TYPES]
        return found[0][2:] if len(found) == 1 and len(found[0]) >= 2 + 24 + 4 else None

    def vlans(self) -> set[int]:
        """The VLANs of all descriptors 14."""
        return {int.from_bytes(body, "big") & 0xFFF for kind, body in self.descriptors if kind == VLAN and len(body) == 2}

    def vn_port(self) -> Optional[tuple[bytes, int, int]]:
        """Of descriptor 11: Ethernet address, N_Port_ID and Port_Name."""
        body = self.find(VN_ID, 18)
        if body is None:
            return None
        return body[:6], int.from_bytes(body[7:10], "big"), int.from_bytes(body[10:18], "big")


def mac(address: bytes) -> tuple[int, bytes]:
    """Descriptor 2."""
    return MAC, address


def name(wwn: int) -> tuple[int, bytes]:
    """Descriptor 4."""
    return NAME, bytes(2) + wwn.to_bytes(8, "big")


def vn_id(address: bytes, n_port_id: int, port_name: int) -> tuple[int, bytes]:
    """Descriptor 11."""
    return VN_ID, address + b"\0" + n_port_id.to_bytes(3, "big") + port_name.to_bytes(8, "big")


def size() -> tuple[int, bytes]:
    """Descriptor 6."""
    return SIZE, FCOE_SIZE.to_bytes(2, "big")


def vlan(number: int) -> tuple[int, bytes]:
    """Descriptor 14."""
    return VLAN, number.to_bytes(2, "big")


def els(kind: int, frame: bytes) -> tuple[int, bytes]:
    """Descriptor 7 to 10: the FC-2 frame without SOF, CRC and EOF."""
    return kind, bytes(2) + frame


def features() -> tuple[int, bytes]:
    """Descriptor 15: FC-VI among the FC-4 types, no features."""
    types = bytearray(32)
    word, bit = _TYPE_FC_VI // 32, _TYPE_FC_VI % 32
    types[4 * word : 4 * word + 4] = (1 << bit).to_bytes(4, "big")
    return FC4_FEATURES, bytes(2) + bytes(types) + bytes(128)


def encode(to: bytes, source: bytes, message: Message, padded_to: int = _SHORTEST) -> bytes:
    """The whole Ethernet frame."""
    body = b""
    for kind, rest in message.descriptors:
        body += bytes([kind, (len(rest) + 2) // 4]) + rest
    operation, subcode = message.what
    head = b"\x10\x00" + operation.to_bytes(2, "big") + bytes([0, subcode])
    head += (len(body) // 4).to_bytes(2, "big") + message.flags.to_bytes(2, "big")
    return to + source + ETHERTYPE + (head + body).ljust(padded_to, b"\0")


def finds_vlans(payload: bytes) -> bool:
    """Whether a message is of VLAN discovery, which comes before a station knows of any VLAN and goes without a tag."""
    return len(payload) >= _HEADER and payload[2:4] == b"\0\4"


def decode(payload: bytes) -> Optional[Message]:
    """What follows the EtherType; None when it is no FIP message of version 1 or its lengths do not fit."""
    if len(payload) < _HEADER or payload[0] >> 4 != 1:
        return None
    end = _HEADER + 4 * int.from_bytes(payload[6:8], "big")
    if end > len(payload):
        return None
    descriptors, at = [], _HEADER
    while at < end:
        length = 4 * payload[at + 1]
        if length == 0 or at + length > end:
            return None
        descriptors.append((payload[at], payload[at + 2 : at + length]))
        at += length
    what = (int.from_bytes(payload[2:4], "big"), payload[5])
    return Message(what, int.from_bytes(payload[8:10], "big"), tuple(descriptors))
