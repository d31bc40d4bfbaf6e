"""The monitor of VI/TCP (conformance/monitor) in a run, on one stream: what the DUT breaks, and what the tester does.

What the DUT had received when it sent a PDU the tester does not see. It is taken to be all that was handed to it until then: no
device is accused of what it may have known. What the tester had received when it sent is known exactly.
"""

from __future__ import annotations

from typing import Any

from _fcvi import ffi, lib

from fcvi.engine.results import Finding
from fcvi.fc.codec import finding_of
from .wire import IMMEDIATE, MASK16, SEND, WRITE, Pdu

_DUT, _TESTER, _FINDINGS = 0, 1, 16


class _Followed:
    """Both directions of one stream. profile: struct fcvi_profile."""

    def __init__(self, profile: Any, by_dut: bool) -> None:
        self._profile = profile
        self._memory = ffi.new("uint64_t[]", lib.fcvi_vitcp_monitor_size() // 8 + 1)
        self._monitor = lib.fcvi_vitcp_monitor_init(self._memory, profile)
        lib.fcvi_vitcp_monitor_opened(self._monitor, _DUT, True, by_dut)
        lib.fcvi_vitcp_monitor_opened(self._monitor, _TESTER, True, not by_dut)
        self._pdu = ffi.new("struct fcvi_pdu *")
        self._found = ffi.new("struct fcvi_finding[]", _FINDINGS)
        self._findings = ffi.new("struct fcvi_findings *", {"list": self._found, "capacity": _FINDINGS})
        self._lost = False

    def _take(self, direction: int, data: bytes, begin: int, acknowledges: bool, received: int) -> int:
        """The PDU at the beginning of these bytes; how many it has, 0 when none is whole."""
        keep = ffi.from_buffer("uint8_t[]", data)
        self._findings.count = self._findings.worst = 0
        step = lib.fcvi_pdu_first(self._profile, keep, len(data), self._pdu, ffi.NULL)
        if step == lib.FCVI_STREAM_BROKEN:
            self._lost = True
            lib.fcvi_vitcp_monitor_lost(self._monitor, direction)
        if step != lib.FCVI_STREAM_PDU:
            return 0
        self._pdu.later = lib.fcvi_vitcp_monitor_later(self._monitor, direction, self._pdu)
        lib.fcvi_pdu_check(self._pdu, self._findings)
        length = int(self._pdu.length)
        seen = ffi.new("struct fcvi_vitcp_seen *", {
            "pdu": self._pdu, "direction": direction, "begin": begin, "end": begin + length, "worst": self._findings.worst,
            "acknowledges": acknowledges, "acknowledged": received, "delivered": received,
        })  # fmt: skip
        lib.fcvi_vitcp_monitor_pdu(self._monitor, seen, self._findings)
        return length

    def _told(self) -> list[Finding]:
        return [finding_of(self._found[i]) for i in range(min(self._findings.count, _FINDINGS))]


class Monitor(_Followed):
    """Judges the DUT."""

    def __init__(self, profile: Any, by_dut: bool) -> None:
        super().__init__(profile, by_dut)
        lib.fcvi_vitcp_monitor_tester(self._monitor, _TESTER)
        self._rest, self._begin = b"", 0  # of what the tester sends

    def follow(self, data: bytes) -> None:
        """What the tester sends, in any cut."""
        self._rest += data
        while not self._lost and (length := self._take(_TESTER, self._rest, self._begin, False, 0)):
            self._rest, self._begin = self._rest[length:], self._begin + length

    def judge(self, data: bytes, begin: int, received: int) -> list[Finding]:
        """A whole PDU of the DUT, so many bytes behind the beginning of its stream; received: bytes that it may have received."""
        self._take(_DUT, data, begin, True, received)
        return self._told()


class OwnBreach(Exception):
    """The tester has broken the draft, and the case has not said that it does so on purpose."""


class Own(_Followed):
    """Judges the tester: who breaks the draft itself cannot accuse a device of what follows."""

    def __init__(self, profile: Any, by_dut: bool) -> None:
        super().__init__(profile, by_dut)
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
        self._whole(_DUT, pdu.raw)

    def says(self, pdu: Pdu, data: bytes) -> list[tuple[str, str]]:
        """A PDU of the tester: which requirements it breaks, and how."""
        if pdu.kind == SEND or (pdu.kind == WRITE and pdu.flags & IMMEDIATE):
            self._used += (pdu.kind, pdu.number) != self._last
            self._last = (pdu.kind, pdu.number)
        if not self._whole(_TESTER, data):
            return [("VITCP-3.1-11", "Segment Length is not its length")]
        return [(one.requirement, one.message) for one in self._told()]

    def _whole(self, direction: int, data: bytes) -> bool:
        """What is meant to be one PDU. False: Segment Length says otherwise, and nobody knows where the next one begins."""
        begin, self._bytes[direction] = self._bytes[direction], self._bytes[direction] + len(data)
        whole = self._take(direction, data, begin, direction == _TESTER, self._bytes[1 - direction]) > 0
        if not whole:
            lib.fcvi_vitcp_monitor_lost(self._monitor, direction)
        return whole
