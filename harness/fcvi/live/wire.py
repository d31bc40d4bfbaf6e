"""An Ethernet interface, seen from Python: FCoE and FIP frames in and out (harness/capture/live.h)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Optional, Union

from _fcvi import ffi, lib

from fcvi.fc.build import RawFrame
from fcvi.engine.attachment import AttachError, DutError
from fcvi.dut.planes import monotonic_us
from . import opener, privileges

_ERROR_SIZE = 512
_MOST_AT_ONCE = 256  # frames taken in by one call, so that a flood does not keep it for ever
_CRC_BAD = 2
_NOT_PERMITTED = "not permitted"  # LIVE_NOT_PERMITTED of harness/capture/live.h
_JUMP_US = 1_000  # by which the time of day moves against our clock only when somebody sets it
_WAITED_US = 1_000_000  # for which a frame may have waited to be taken in, when it does


def _ahead_us() -> int:
    """By how much the time of day, by which the kernel stamps frames, is before our clock."""
    return time.time_ns() // 1000 - monotonic_us()


class CannotCarry(Exception):
    """FCoE has no form for such a frame."""


@dataclass(frozen=True)
class Arrived:
    """One Ethernet frame: FCoE when ``frame`` is there, FIP when ``fip`` is (what follows the EtherType)."""

    time_us: int  # by monotonic_us, from the kernel's timestamp
    to: bytes
    source: bytes
    frame: Optional[RawFrame] = None
    fip: bytes = b""
    problem: str = ""  # why it is neither
    vlan: int = 0  # 0: no tag
    lldp: bytes = b""  # what follows the EtherType of LLDP


class Wire:
    """One open interface."""

    def __init__(self, interface: str, option: str) -> None:
        """option: what the operator called it by, for messages. Raises AttachError."""
        self.interface = interface
        self._error = ffi.new("char[]", _ERROR_SIZE)
        self._record = ffi.new("struct live_record *")
        self._live = lib.fcvi_live_open(interface.encode(), self._error, _ERROR_SIZE)
        if self._live == ffi.NULL and f": {_NOT_PERMITTED}: " in self._words():
            self._adopt(opener.handed_over(interface))
        if self._live == ffi.NULL:
            raise AttachError(f"{option}: {self._words()}")
        try:
            privileges.drop()
        except OSError as error:
            self.close()
            raise AttachError(f"{option}: cannot give up privileges: {error.strerror}") from error
        self.address = bytes(ffi.buffer(lib.fcvi_live_address(self._live), 6))
        self._lost = 0
        self._asked_us, self._ahead_us = monotonic_us(), _ahead_us()

    def _adopt(self, handed: Union[int, str]) -> None:
        """A socket of the opener; or why there is none, "" when there is no opener."""
        if isinstance(handed, int):
            self._live = lib.fcvi_live_adopt(self.interface.encode(), handed, self._error, _ERROR_SIZE)
        elif handed:
            self._error = ffi.new("char[]", handed.encode()[: _ERROR_SIZE - 1].ljust(_ERROR_SIZE, b"\0"))

    def _words(self) -> str:
        return str(ffi.string(self._error).decode(errors="replace"))

    def _why(self) -> str:
        return str(ffi.string(lib.fcvi_live_why(self._live)).decode(errors="replace"))

    def fileno(self) -> int:
        """Readable when frames may have arrived."""
        return int(lib.fcvi_live_fd(self._live))

    def forget(self) -> None:
        """Until now the link may have gone and come."""
        lib.fcvi_live_forget(self._live)

    def check(self) -> None:
        """Raises DutError when the interface is down, or was for a moment."""
        if lib.fcvi_live_ready(self._live) != 0:
            raise DutError(self._why())

    def lost(self) -> int:
        """How many frames the host lost since this was last asked."""
        total = int(lib.fcvi_live_lost(self._live))
        lost, self._lost = total - self._lost, total
        return lost

    def receive(self) -> list[Arrived]:
        """What has arrived; at most so much that one call is short."""
        arrived: list[Arrived] = []
        now, ahead = monotonic_us(), _ahead_us()
        while len(arrived) < _MOST_AT_ONCE:
            status = lib.fcvi_live_receive(self._live, self._record)
            if status == 0:
                break
            if status < 0:
                raise DutError(self._why())
            arrived.append(self._arrived(self._when(self._record.record.time_us, now, ahead)))
        self._asked_us, self._ahead_us = now, ahead
        return arrived

    def _when(self, stamp_us: int, now: int, ahead: int) -> int:
        """When a frame came, by our clock: the kernel stamps it with the time of day, which somebody may have set meanwhile."""
        if abs(ahead - self._ahead_us) < _JUMP_US:
            return min(now, stamp_us - ahead)
        for offset in (ahead, self._ahead_us):
            if self._asked_us - _WAITED_US <= stamp_us - offset <= now + _JUMP_US:
                return min(now, stamp_us - offset)
        return now

    def _arrived(self, at_us: int) -> Arrived:
        r = self._record
        raw = bytes(ffi.buffer(r.bytes, r.length))
        to, source = raw[:6], raw[6:12]
        if r.record.kind == lib.CAPTURE_FIP:
            return Arrived(at_us, to, source, fip=raw[14:], vlan=r.vlan)
        if r.record.kind == lib.CAPTURE_FOREIGN:
            return Arrived(at_us, to, source, vlan=r.vlan, lldp=raw[14:])
        if r.record.kind != lib.CAPTURE_FRAME:
            return Arrived(at_us, to, source, problem=ffi.string(r.record.problem).decode(), vlan=r.vlan)
        f = r.record.frame
        data = bytes(ffi.buffer(f.bytes, f.length)) if f.length else b""
        return Arrived(at_us, to, source, RawFrame(data, f.sof, f.eof, f.crc != _CRC_BAD), vlan=r.vlan)

    def send(self, to: bytes, source: bytes, frame: RawFrame, vlan: int = 0) -> None:
        """Send an FC-2 frame, with a tag unless the VLAN is 0.

        Raises DutError when the interface fails and CannotCarry for what FCoE has no form for.
        """
        keep = ffi.from_buffer(frame.data)
        out: Any = ffi.new("struct fcvi_input *", {"bytes": ffi.cast("uint8_t *", keep), "length": len(frame.data)})
        out.sof, out.eof, out.crc = frame.sof, frame.eof, 1 if frame.crc_ok else _CRC_BAD
        status = lib.fcvi_live_send(self._live, ffi.new("struct live_way *", (to, source, vlan)), out)
        if status == -2:
            raise CannotCarry(self._why())
        if status != 0:
            raise DutError(self._why())

    def send_raw(self, frame: bytes, vlan: int = 0) -> None:
        """Send a whole Ethernet frame, which has no tag yet. Raises DutError when the interface fails."""
        if lib.fcvi_live_send_raw(self._live, frame, len(frame), vlan) != 0:
            raise DutError(self._why())

    def close(self) -> None:
        """Close the interface."""
        if self._live != ffi.NULL:
            lib.fcvi_live_close(self._live)
            self._live = ffi.NULL
