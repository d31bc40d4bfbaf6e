"""Liberties of identifiers that are used again as soon as they may, or that both ends use."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.fc import codec

from .manner import Config, Manner, in_connect, liberty, number
from .values import _HANDLE, _NONE_32, _OF_SETUP, _TO_THE_DEVICE, OxIds, _put

_FAR = 0x7000_0000


class _Taken:
    """Which number is seen for a number of the port, one to one."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        self._port: dict[int, int] = {}
        self._free: dict[int, int] = {}  # by number seen: from when on it may be used for another one

    def has(self, own: int) -> bool:
        """Whether a number is seen for this one."""
        return own in self._seen

    def taken(self, seen: int, now: int) -> bool:
        """Whether the number may not be chosen."""
        return seen in self._port and not (seen in self._free and now >= self._free[seen])

    def take(self, own: int, seen: int) -> None:
        """From now on this number is seen for that one."""
        self._seen.pop(self._port.get(seen, -1), None)
        self._seen[own], self._port[seen] = seen, own
        self._free.pop(seen, None)

    def lowest(self, now: int, least: int = 0) -> int:
        """The lowest number that may be chosen, from this one on."""
        seen = least
        while self.taken(seen, now):
            seen += 1
        return seen

    def release(self, seen: int, when: int) -> None:
        """The number may be used for another one from then on."""
        if seen in self._port:
            self._free[seen] = when

    def release_all(self, when: int) -> None:
        """All of them may."""
        self._free.update(dict.fromkeys(self._port, when))

    def to(self, own: int) -> int:
        """What is seen."""
        return self._seen.get(own, own)

    def back(self, seen: int) -> int:
        """What the port knows it as; a number that it never gave stays one."""
        return self._port.get(seen, _NONE_32 - 1 if seen in self._seen else seen)


@liberty("ox-ids-again-at-once", "5.4: immediately", "ox_id")
class OxIdsAgain(Manner):
    """The lowest OX_ID that no open Exchange of the port has; class 3 in order, where both ends know when an Exchange ends."""

    def begin(self, config: Config, dut: Any) -> None:
        self._dut, self._ends = dut, config["class"] == 3 and config["fabric"] == "in-order"
        self._taken, self._ended = _Taken(), set[int]()
        self._aborted: set[int] = set()

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if frame.header("Exchange_Context"):
            return None
        own, now = frame.header("OX_ID"), self._dut._inner.now_us
        if not self._taken.has(own) or own in self._ended and frame.header("First_Sequence") and not frame.header("SEQ_CNT"):
            self._taken.take(own, self._taken.lowest(now))
            self._ended.discard(own)
        data = OxIds._changed(frame, kind, self._taken.to)
        if kind == "ABTS":
            self._aborted.add(own)
        self._end(own, frame)
        return [data]

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if not frame.header("Exchange_Context"):
            return frame.data
        data = OxIds._changed(frame, kind, self._back)
        self._end(self._back(frame.header("OX_ID")), frame)
        return data

    def _back(self, seen: int) -> int:
        return self._taken.back(seen) & 0xFFFF

    def _end(self, own: int, frame: codec.Frame) -> None:
        ends = frame.kind in ("iu", "els") and frame.header("Last_Sequence") and frame.header("End_Sequence")
        if self._ends and ends and own not in self._aborted:
            self._ended.add(own)
            self._taken.release(self._taken.to(own), self._dut._inner.now_us)


class _OwnHandles(Manner):
    """Chooses its FCVI_HANDLEs when it first tells them."""

    def begin(self, config: Config, dut: Any) -> None:
        self._dut, self._quiet_us = dut, config["r_a_tov_us"]
        self._taken = _Taken()
        self._theirs: dict[bytes, int] = {}  # by Exchange of a CONNECT_RQST of the tester: its handle
        self._disconnects: dict[bytes, int] = {}  # by Exchange of a DISCONNECT_RQST of the tester: the handle in it

    def choose_for(self, frame: codec.Frame) -> int:
        """The number that is seen for a new handle."""
        return self._taken.lowest(self._dut._inner.now_us)

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        now = self._dut._inner.now_us
        if kind == "DISCONNECT_RESP" and frame.data[16:18] in self._disconnects:
            self._taken.release(self._disconnects.pop(frame.data[16:18]), now + self._quiet_us)
        elif kind == "LOGO":
            self._taken.release_all(now)
        at = in_connect(frame, kind, _HANDLE, 4)
        own = _NONE_32 if at is None else int.from_bytes(frame.data[at : at + 4], "big")
        if own == _NONE_32:
            return None
        if not self._taken.has(own):
            self._taken.take(own, self.choose_for(frame))
        return [frame.data[:at] + self._taken.to(own).to_bytes(4, "big") + frame.data[(at or 0) + 4 :]]

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        at = in_connect(frame, kind, _HANDLE, 4)
        if at is not None and kind == "CONNECT_RQST":
            self._theirs[frame.data[16:18]] = int.from_bytes(frame.data[at : at + 4], "big")
        now = self._dut._inner.now_us
        if kind == "LOGO":
            self._taken.release_all(now)
        if kind not in _TO_THE_DEVICE:
            return frame.data
        seen = number(frame, "FCVI_HANDLE")
        if kind == "DISCONNECT_RQST":
            self._disconnects[frame.data[16:18]] = seen
        elif kind == "DISCONNECT_RESP":
            self._taken.release(seen, now + self._quiet_us)
        return _put(frame.data, ("DH", "FCVI_HANDLE", self._taken.back(seen), frame.dh_offset))


@liberty("handles-lowest", "5.9.2, 8.4.2 f, g", "handle", of_2007=True)
class HandlesLowest(_OwnHandles):
    """The lowest FCVI_HANDLE that may be used: again R_A_TOV after a Disconnect, and after a logout at once."""


@liberty("handle-of-the-other-end", "4.2, 5.2.5: each end chooses its own", "handle", of_2007=True)
class HandleOfTheOther(_OwnHandles):
    """A responder takes the number that the originator has, where it is free."""

    def choose_for(self, frame: codec.Frame) -> int:
        theirs = self._theirs.get(frame.data[16:18]) if frame.header("Exchange_Context") else None
        now = self._dut._inner.now_us
        if theirs is None or theirs == _NONE_32 or self._taken.taken(theirs, now):
            return self._taken.lowest(now, _FAR)
        return theirs


@liberty("connection-id-zero", "5.9.10, E47 (warns)", "connection_id", of_2007=True)
class ConnectionIdZero(Manner):
    """FCVI_CONNECTION_ID of a setup from 00000000h up: the first number of the port is seen as that, and that as the first."""

    def begin(self, config: Config, dut: Any) -> None:
        self._first: Optional[int] = None

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if kind == "CONNECT_RQST" and self._first is None:
            self._first = number(frame, "FCVI_CONNECTION_ID")
        return [self._changed(frame, kind)]

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        return self._changed(frame, kind)

    def _changed(self, frame: codec.Frame, kind: str) -> bytes:
        if kind not in _OF_SETUP or self._first is None:
            return frame.data
        if kind.startswith("DISCONNECT") and not frame.get("DH", "CONN_SETUP_ABORT"):
            return frame.data
        changed = {0: self._first, self._first: 0}.get(number(frame, "FCVI_CONNECTION_ID"))
        return frame.data if changed is None else _put(frame.data, ("DH", "FCVI_CONNECTION_ID", changed, frame.dh_offset))
