"""The monitor of VI/TCP (conformance/monitor) in a run: what the PDUs of the DUT break, whatever the case, on one stream.

What the DUT had received when it sent a PDU the tester does not see. It is taken to be all that was handed to it until then: no
device is accused of what it may have known.
"""

from __future__ import annotations

from typing import Any

from _fcvi import ffi, lib

from fcvi.engine.results import Finding
from fcvi.fc.codec import finding_of

_DUT, _TESTER, _FINDINGS = 0, 1, 16


class Monitor:
    """Both directions of one stream. profile: struct fcvi_profile."""

    def __init__(self, profile: Any, by_dut: bool) -> None:
        self._profile = profile
        self._memory = ffi.new("uint64_t[]", lib.fcvi_vitcp_monitor_size() // 8 + 1)
        self._monitor = lib.fcvi_vitcp_monitor_init(self._memory, profile)
        lib.fcvi_vitcp_monitor_opened(self._monitor, _DUT, True, by_dut)
        lib.fcvi_vitcp_monitor_opened(self._monitor, _TESTER, True, not by_dut)
        lib.fcvi_vitcp_monitor_tester(self._monitor, _TESTER)
        self._pdu = ffi.new("struct fcvi_pdu *")
        self._found = ffi.new("struct fcvi_finding[]", _FINDINGS)
        self._findings = ffi.new("struct fcvi_findings *", {"list": self._found, "capacity": _FINDINGS})
        self._rest, self._begin, self._lost = b"", 0, False  # of what the tester sends

    def _take(self, direction: int, data: bytes, begin: int, received: int) -> int:
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
            "acknowledges": direction == _DUT, "acknowledged": received, "delivered": received,
        })  # fmt: skip
        lib.fcvi_vitcp_monitor_pdu(self._monitor, seen, self._findings)
        return length

    def follow(self, data: bytes) -> None:
        """What the tester sends, in any cut."""
        self._rest += data
        while not self._lost and (length := self._take(_TESTER, self._rest, self._begin, 0)):
            self._rest, self._begin = self._rest[length:], self._begin + length

    def judge(self, data: bytes, begin: int, received: int) -> list[Finding]:
        """A whole PDU of the DUT, so many bytes behind the beginning of its stream; received: bytes that it may have received."""
        self._take(_DUT, data, begin, received)
        return [finding_of(self._found[i]) for i in range(min(self._findings.count, _FINDINGS))]
