"""Holds what the tester sends against the draft as well: who breaks it itself cannot accuse a device of what follows.

The monitor of captures follows both directions of a stream. What the tester had received when it sent is known here exactly.
"""

from __future__ import annotations

from _fcvi import ffi, lib

from .codec import Profile
from .wire import IMMEDIATE, MASK16, SEND, WRITE, Pdu

_TESTER, _DUT = 0, 1
_CAPACITY = 8


class OwnBreach(Exception):
    """The tester has broken the draft, and the case has not said that it does so on purpose."""


class Own:
    """Both directions of one stream, to judge one of them."""

    def __init__(self, profile: Profile, by_tester: bool) -> None:
        self._profile = profile
        self._memory = ffi.new("uint64_t[]", lib.fcvi_vitcp_monitor_size() // 8 + 1)
        self._monitor = lib.fcvi_vitcp_monitor_init(self._memory, profile.struct)
        for direction in (_TESTER, _DUT):
            lib.fcvi_vitcp_monitor_opened(self._monitor, direction, True, (direction == _TESTER) == by_tester)
        self._bytes = [0, 0]
        self.told = 0  # Rx Descriptors Posted of the DUT, the last one
        self._used = 0  # of its receive Descriptors, by what the tester has sent
        self._last: tuple[int, int] = (0, -1)  # message that has taken a Descriptor

    @property
    def credits(self) -> int:
        """How many receive Descriptors of the DUT the tester knows of and has not used (3.1)."""
        left = (self.told - self._used) & MASK16
        return left if left < 0x8000 else 0

    def hears(self, pdu: Pdu) -> None:
        """A PDU of the DUT."""
        self.told = pdu.rx
        self._judge(_DUT, pdu.raw)

    def says(self, pdu: Pdu, data: bytes) -> list[tuple[str, str]]:
        """A PDU of the tester: which requirements it breaks, and how."""
        if pdu.kind == SEND or (pdu.kind == WRITE and pdu.flags & IMMEDIATE):
            self._used += (pdu.kind, pdu.number) != self._last
            self._last = (pdu.kind, pdu.number)
        return self._judge(_TESTER, data)

    def _judge(self, direction: int, data: bytes) -> list[tuple[str, str]]:
        keep, view = ffi.from_buffer("uint8_t[]", data), ffi.new("struct fcvi_pdu *")
        found = ffi.new("struct fcvi_finding[]", _CAPACITY)
        findings = ffi.new("struct fcvi_findings *", {"list": found, "capacity": _CAPACITY})
        step = lib.fcvi_pdu_first(self._profile.struct, keep, len(data), view, findings)
        begin, other = self._bytes[direction], self._bytes[1 - direction]
        self._bytes[direction] += len(data)
        if step != lib.FCVI_STREAM_PDU:
            lib.fcvi_vitcp_monitor_lost(self._monitor, direction)
            return [("VITCP-3.1-11", "Segment Length is not its length")] if direction == _TESTER else []
        seen = ffi.new("struct fcvi_vitcp_seen *", {
            "pdu": view, "direction": direction, "begin": begin, "end": begin + len(data), "worst": findings.worst,
            "acknowledges": direction == _TESTER, "acknowledged": other, "delivered": other,
        })  # fmt: skip
        lib.fcvi_vitcp_monitor_pdu(self._monitor, seen, findings)
        told = [found[i] for i in range(min(findings.count, _CAPACITY))]
        return [(ffi.string(one.requirement).decode(), ffi.string(one.message).decode()) for one in told]
