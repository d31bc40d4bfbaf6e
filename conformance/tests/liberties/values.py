"""Liberties of identifiers: an N_Port, an FC-VI Port and a VI NIC name things as they like.

Each is a one-to-one map between what the port behind the layer says and what is seen.
"""

from __future__ import annotations

from typing import Any, Optional, Union

from fcvi.engine import pages
from fcvi.fc import codec

from .manner import Config, Manner, Params, Refusal, in_connect, liberty, number

_NONE_16, _NONE_32 = 0xFFFF, 0xFFFF_FFFF
_TO_THE_DEVICE = (
    "SEND_RQST", "WRITE_RQST", "READ_RQST", "SEND_RESP", "WRITE_RESP", "READ_RESP", "CONNECT_RESP2", "CONNECT_RESP3",
    "DISCONNECT_RQST", "DISCONNECT_RESP",
)  # fmt: skip
_HANDLE = 8  # of the handle in a connect payload (Tables 13 and 14)
_OF_SETUP = ("CONNECT_RQST", "CONNECT_RESP1", "CONNECT_RESP2", "CONNECT_RESP3", "DISCONNECT_RQST", "DISCONNECT_RESP")


class _Map:
    """A one-to-one map of numbers of so many bits that leaves some numbers as they are."""

    def __init__(self, rng: Any, bits: int, fixed: tuple[int, ...], kind: str = "") -> None:
        self._size, self._fixed = 1 << bits, fixed
        if kind == "down":
            self._factor, self._more = self._size - 1, self._size - 2
        else:
            self._factor, self._more = rng.randrange(1, self._size, 2), rng.randrange(self._size)
        self._inverse = pow(self._factor, -1, self._size)

    def to(self, value: int) -> int:
        """What is seen."""
        if value in self._fixed:
            return value
        while True:  # a number that is left as it is stands for the next one
            value = (value * self._factor + self._more) % self._size
            if value not in self._fixed:
                return value

    def back(self, value: int) -> int:
        """What the port knows it as."""
        if value in self._fixed:
            return value
        while True:
            value = (value - self._more) * self._inverse % self._size
            if value not in self._fixed:
                return value


def _put(data: bytes, *values: tuple[str, str, int, int]) -> bytes:
    buf = bytearray(data)
    for structure, name, value, offset in values:
        codec.put(structure, name, buf, value, offset)
    return bytes(buf)


@liberty("ox-ids-anyhow", "5.4, FC-FS", "ox_id")
class OxIds(Manner):
    """OX_IDs in an order that nobody can guess."""

    kind = ""

    def begin(self, config: Config, dut: Any) -> None:
        self._map = _Map(self.rng, 16, (_NONE_16,), self.kind)

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        return None if frame.header("Exchange_Context") else [self._changed(frame, kind, self._map.to)]

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        return self._changed(frame, kind, self._map.back) if frame.header("Exchange_Context") else frame.data

    @staticmethod
    def _changed(frame: codec.Frame, kind: str, change: Any) -> bytes:
        values = [("FC", "OX_ID", change(frame.header("OX_ID")), 0)]
        if kind == "BA_ACC" and len(frame.payload) >= 12:
            values.append(("BA_ACC", "BA_OX_ID", change(frame.get("BA_ACC", "BA_OX_ID")), frame.payload_offset))
        return _put(frame.data, *values)


@liberty("ox-ids-downwards", "5.4, FC-FS", "ox_id")
class OxIdsDown(OxIds):
    """OX_IDs from FFFEh down."""

    kind = "down"


@liberty("rx-ids-anyhow", "FC-FS", "rx_id")
class RxIds(Manner):
    """RX_IDs in an order that nobody can guess."""

    def begin(self, config: Config, dut: Any) -> None:
        self._map = _Map(self.rng, 16, (_NONE_16,))

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        return [_with_rx_id(frame, kind, self._map.to)] if frame.header("Exchange_Context") else None

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        return frame.data if frame.header("Exchange_Context") else _with_rx_id(frame, kind, self._map.back)


def _with_rx_id(frame: codec.Frame, kind: str, change: Any) -> bytes:
    """The frame with another RX_ID."""
    values = [("FC", "RX_ID", change(frame.header("RX_ID")), 0)]
    if kind == "BA_ACC" and len(frame.payload) >= 12:
        values.append(("BA_ACC", "BA_RX_ID", change(frame.get("BA_ACC", "BA_RX_ID")), frame.payload_offset))
    return _put(frame.data, *values)


@liberty("no-rx-ids", "FC-FS: FFFFh where RX_ID is not used", "rx_id")
class NoRxIds(Manner):
    """The port as responder uses no RX_ID: FFFFh in all that it sends, and OX_ID names its Exchanges."""

    def begin(self, config: Config, dut: Any) -> None:
        self._named: dict[bytes, int] = {}

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if not frame.header("Exchange_Context"):
            return None
        seen = frame.header("RX_ID")
        if seen != _NONE_16:
            self._named[frame.data[16:18]] = seen
        return [_with_rx_id(frame, kind, lambda _: _NONE_16)]

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if frame.header("Exchange_Context"):
            return frame.data
        exchange = frame.data[16:18]
        if frame.kind != "link_control" and frame.header("First_Sequence") and not frame.header("SEQ_CNT") and kind != "ABTS":
            self._named.pop(exchange, None)
        if frame.header("RX_ID") == _NONE_16 and exchange in self._named:
            return _put(frame.data, ("FC", "RX_ID", self._named[exchange], 0))
        return frame.data


@liberty("seq-ids-lowest", "5.5: used again once closed", "seq_id")
class LowestSeqIds(Manner):
    """In class 3 a Sequence has the lowest SEQ_ID that is free, but not that of the Sequence before it."""

    def begin(self, config: Config, dut: Any) -> None:
        self._class = config["class"]
        self._open: dict[tuple[bytes, int], int] = {}  # by OX_ID and the SEQ_ID of the port
        self._last: dict[bytes, int] = {}  # by Exchange

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if self._class != 3 or frame.kind not in ("iu", "bls"):
            return None
        exchange = frame.data[16:18]
        if kind in ("ABTS", "BA_ACC"):
            return [_put(frame.data, ("FC", "SEQ_ID", self._last.get(exchange, 0), 0))] if kind == "ABTS" else None
        key = (exchange, frame.header("SEQ_ID"))
        if key not in self._open:
            taken = {*self._open.values(), self._last.get(exchange)}
            self._open[key] = self._last[exchange] = next(n for n in range(256) if n not in taken)
        seq_id = self._open.pop(key) if frame.header("End_Sequence") else self._open[key]
        return [_put(frame.data, ("FC", "SEQ_ID", seq_id, 0))]


@liberty("seq-ids-anyhow", "5.5, FC-FS", "seq_id")
class SeqIds(Manner):
    """SEQ_IDs in an order that nobody can guess; an ACK names that which it answers."""

    def begin(self, config: Config, dut: Any) -> None:
        self._map = _Map(self.rng, 8, ())

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        return [_put(frame.data, ("FC", "SEQ_ID", self._map.to(frame.header("SEQ_ID")), 0))] if frame.kind == "iu" else None

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if frame.kind != "link_control":
            return frame.data
        return _put(frame.data, ("FC", "SEQ_ID", self._map.back(frame.header("SEQ_ID")), 0))


@liberty("handles-anyhow", "5.9.2, E12", "handle", of_2007=True)
class Handles(Manner):
    """FCVI_HANDLEs from all of 00000000h to FFFFFFFEh."""

    kind = ""

    def begin(self, config: Config, dut: Any) -> None:
        self._map = _Map(self.rng, 32, (_NONE_32,), self.kind)
        self._own: set[int] = set()

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        at = in_connect(frame, kind, _HANDLE, 4)  # FCVI_RQST_HANDLE or FCVI_RESP_HANDLE
        if at is not None:
            own = int.from_bytes(frame.data[at : at + 4], "big")
            self._own.add(own)
            return [frame.data[:at] + self._map.to(own).to_bytes(4, "big") + frame.data[at + 4 :]]
        aborts = kind == "DISCONNECT_RQST" and frame.get("DH", "CONN_SETUP_ABORT")
        if not aborts or (named := number(frame, "FCVI_HANDLE")) not in self._own:
            return None
        return [_put(frame.data, ("DH", "FCVI_HANDLE", self._map.to(named), frame.dh_offset))]  # a port may name its own (E04)

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if kind not in _TO_THE_DEVICE:
            return frame.data
        return _put(frame.data, ("DH", "FCVI_HANDLE", self._map.back(number(frame, "FCVI_HANDLE")), frame.dh_offset))


@liberty("handles-downwards", "5.9.2, E12", "handle", of_2007=True)
class HandlesDown(Handles):
    """FCVI_HANDLEs from FFFFFFFEh down."""

    kind = "down"


@liberty("connection-ids-anyhow", "5.9.10", "connection_id", of_2007=True)
class ConnectionIds(Manner):
    """FCVI_CONNECTION_IDs from all of 00000001h to FFFFFFFEh; whoever names one is named it again."""

    def begin(self, config: Config, dut: Any) -> None:
        self._map = _Map(self.rng, 32, (0, _NONE_32))

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        return [self._changed(frame, self._map.to)] if kind in _OF_SETUP else None

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        return self._changed(frame, self._map.back) if kind in _OF_SETUP else frame.data

    @staticmethod
    def _changed(frame: codec.Frame, change: Any) -> bytes:
        seen = frame.get("DH", "FCVI_CONNECTION_ID")
        return _put(frame.data, ("DH", "FCVI_CONNECTION_ID", change(seen), frame.dh_offset))


class _Numbers(Manner):
    """Numbers of the DUT protocol that the device chooses."""

    names: tuple[str, ...] = ()

    def choose(self) -> None:
        self._bits = self.rng.choice([8, 31, 53])
        self._less = self.rng.random() < 0.5

    def begin(self, config: Config, dut: Any) -> None:
        self._top = (1 << self._bits) - 1

    def _seen(self, value: Any) -> Any:
        plain = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= self._top
        return self._top - value if plain else value

    def _segment(self, segment: Any) -> Any:
        return {**segment, "mem": self._seen(segment["mem"])} if isinstance(segment, dict) and "mem" in segment else segment

    def ask(self, method: str, params: Params) -> Union[Params, Refusal]:
        changed = {k: self._seen(v) if k in self.names else v for k, v in params.items()}
        descriptor = params.get("descriptor")
        if "mem" in self.names and isinstance(descriptor, dict) and isinstance(descriptor.get("segments"), list):
            changed["descriptor"] = {**descriptor, "segments": [self._segment(s) for s in descriptor["segments"]]}
        return changed

    def answer(self, method: str, params: Params, result: Params) -> Params:
        return {k: self._seen(v) if k in self.names else v for k, v in result.items()}

    def note(self, method: str, params: Params) -> Optional[Params]:
        return {k: self._seen(v) if k in self.names else v for k, v in params.items()}


@liberty("vi-numbers", "DUT protocol, handles", "vi numbers")
class ViNumbers(_Numbers):
    """`vi` from 2^53 - 1, 2^31 - 1 or 255 down."""

    names = ("vi",)


@liberty("conn-numbers", "DUT protocol, handles", "conn numbers")
class ConnNumbers(_Numbers):
    """`conn` from 2^53 - 1, 2^31 - 1 or 255 down."""

    names = ("conn",)


@liberty("mem-numbers", "DUT protocol, handles", "mem numbers")
class MemNumbers(_Numbers):
    """`mem` from 2^53 - 1, 2^31 - 1 or 255 down."""

    names = ("mem",)


@liberty("memory-anywhere", "5.9.8, 5.9.9; VI-DG 3.4", "memory")
class MemoryAnywhere(Manner):
    """Memory lies at any address and has any memory handle."""

    def begin(self, config: Config, dut: Any) -> None:
        self._map = _Map(self.rng, 32, ())
        self._at = self.rng.choice([0, 1 << 32, 1 << 63, 0xFFFF_8000_0000_0000]) + self.rng.randrange(0, 1 << 30, 4096)

    def answer(self, method: str, params: Params, result: Params) -> Params:
        if method == "VipRegisterMem" and "va" in result:
            va = (int(result["va"], 16) + self._at) % (1 << 64)
            return {**result, "va": f"{va:016x}", "handle": self._map.to(result["handle"])}
        return result

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        return [self._moved(frame, self._at, self._map.to)] if kind == "READ_RESP" and frame.dh_length >= 32 else None

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        ours = kind in ("WRITE_RQST", "READ_RQST") and frame.dh_length >= 32
        return self._moved(frame, -self._at, self._map.back) if ours else frame.data

    @staticmethod
    def _moved(frame: codec.Frame, by: int, change: Any) -> bytes:
        va, handle = frame.get("DH", "FCVI_RMT_VA"), frame.get("DH", "FCVI_RMT_VA_HANDLE")
        assert isinstance(va, int)
        moved = ("DH", "FCVI_RMT_VA", (va + by) % (1 << 64), frame.dh_offset)
        return _put(frame.data, moved, ("DH", "FCVI_RMT_VA_HANDLE", change(handle), frame.dh_offset))


@liberty("host-of-32-bits", "5.9.8, E174; VI-DG 3.4", "memory")
class HostOf32Bits(Manner):
    """Memory lies below 2^32, and the port never looks at the upper half of an address."""

    def begin(self, config: Config, dut: Any) -> None:
        self._regions: list[tuple[int, int, int]] = []  # address as it is seen, length, address at the port behind
        self._asked: dict[bytes, bytes] = {}  # by OX_ID: FCVI_RMT_VA of the request
        self._free = 2 * pages.PAGE

    def answer(self, method: str, params: Params, result: Params) -> Params:
        if method != "VipRegisterMem" or "va" not in result:
            return result
        real, length = int(result["va"], 16), int(params["length"])
        seen = self._free + real % pages.PAGE
        self._free = pages.behind(seen, length) + 2 * pages.PAGE
        if self._free > _NONE_32:
            self._free = 2 * pages.PAGE
        self._regions.append((seen, length, real))
        return {**result, "va": f"{seen:016x}"}

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if kind not in ("WRITE_RQST", "READ_RQST") or frame.dh_length < 32:
            return frame.data
        at = frame.dh_offset + 16
        self._asked[frame.data[16:18]] = frame.data[at : at + 8]
        looked_at = number(frame, "FCVI_RMT_VA") & _NONE_32
        for seen, length, real in reversed(self._regions):
            if -pages.PAGE <= looked_at - seen < length + pages.PAGE:
                looked_at += real - seen
                break
        return _put(frame.data, ("DH", "FCVI_RMT_VA", looked_at, frame.dh_offset))

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        asked = self._asked.get(frame.data[16:18])
        if kind != "READ_RESP" or frame.dh_length < 32 or asked is None:
            return None
        at = frame.dh_offset + 16
        return [frame.data[:at] + asked + frame.data[at + 8 :]]
