"""Frames between then and now: what the tester sent, translated; what the device sent, compared field by field.

Names and places of fields come from the codec's field table; nothing here knows a layout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, Optional

from fcvi.fc import codec
from fcvi.fc.build import RawFrame
from fcvi.fc.received import kind_of
from .difference import Difference
from .ids import Translation

ADDRESSES = frozenset({
    "D_ID", "S_ID", "N_Port Identifier", "Hard Address", "Loop Fabric Address", "Originator S_ID", "Port Identifier",
    "Affected N_Port Identifier", "Requesting N_Port Identifier", "Responding N_Port Identifier",
})  # fmt: skip
NAMES = frozenset({
    "Port_Name", "Node_Name", "Fabric Port_Name", "Fabric Node_Name", "Requesting N_Port Port_Name",
    "Requesting N_Port Node_Name", "Responding N_Port Port_Name", "Responding N_Port Node_Name",
})  # fmt: skip
HOSTS = frozenset({"HOST_ADD", "Requesting N_Port IP address", "Responding N_Port IP address", "Port IP address"})
TIMES = frozenset({"E_D_TOV", "Total Concurrent Sequences and Relative Offset, or R_A_TOV"})
_AS_CONFIGURED = {
    **dict.fromkeys(ADDRESSES, "address"), **dict.fromkeys(NAMES, "name"), **dict.fromkeys(HOSTS, "host"),
    **dict.fromkeys(TIMES, "time"),
}  # fmt: skip
OWN_HANDLES = frozenset({"FCVI_RQST_HANDLE", "FCVI_RESP_HANDLE"})
#: Fields of Rev 1.0 that stand for what 2007 calls otherwise.
_NAMES_OF_2007 = {
    "VI_HANDLE": "FCVI_HANDLE", "VI_MSG_ID": "FCVI_MSG_ID", "VI_RMT_VA": "FCVI_RMT_VA",
    "VI_RMT_VA_HANDLE": "FCVI_RMT_VA_HANDLE", "VI_RQST_HANDLE": "FCVI_RQST_HANDLE", "HOST_IP_ADDR": "HOST_ADD",
}  # fmt: skip
_CONNECT = ("CONNECT_RQST", "CONNECT_RESP1")
_SOF = {0: None, 0x2D: "i2", 0x35: "n2", 0x2E: "i3", 0x36: "n3"}
_EOF = {0: None, 0x41: "n", 0x42: "t", 0x49: "ni", 0x50: "a"}
Exchange = tuple[str, bytes]


@dataclass
class Field:
    """One field of a frame. raw: its container's bytes."""

    name: str
    structure: str
    byte: int
    bits: Optional[str]
    raw: bytes
    value: object
    text: Optional[str]

    @property
    def role(self) -> str:
        """What it is by the names of 2007."""
        return _NAMES_OF_2007.get(self.name, self.name)

    def words(self) -> str:
        """The value."""
        if isinstance(self.value, int):
            high, _, low = (self.bits or "0-0").partition("-")
            digits = f"{self.value:0{(int(high) - int(low)) // 4 + 1}X}h"
            return f"{digits} ({self.text})" if self.text else digits
        return str(self.value)


def _number(field: dict[str, Any]) -> object:
    """What a field holds: a number, also where JSON has it as text so that nothing rounds it; else bytes in hexadecimal."""
    value = field["value"]
    return int(value, 16) if field["bits"] is not None and isinstance(value, str) else value


class View:
    """A decoded frame and what is needed of it here."""

    def __init__(self, raw: RawFrame, sender: str, answers: int, edition: str = "2007") -> None:
        self.raw, self.sender = raw, sender
        crc = codec.CRC_OK if raw.crc_ok else codec.CRC_BAD
        self.frame = codec.decode(raw.data, raw.sof, raw.eof, crc, answers, codec.EDITION[edition])
        self.kind = kind_of(self.frame) if len(raw.data) >= 24 else "MALFORMED"
        said: dict[str, Any] = self.frame.json()
        self.title = str(said.get("title") or said.get("kind"))
        self.fields = [
            Field(
                f["name"], f["structure"], f["byte"], f["bits"], raw.data[f["byte"] : f["byte"] + f["size"]],
                _number(f), f["text"],
            )
            for f in said.get("fields", [])
        ]  # fmt: skip
        ends = max((f.byte for f in self.fields), default=0)
        if edition == "2007" and self.kind in _CONNECT and ends < self.frame.payload_offset:
            self.fields += self._part("CONN", -self._flag("Parameter"))
        self.exchange = self._exchange()

    def _part(self, structure: str, at: int) -> Iterator[Field]:
        """The fields that lie whole in this part of a connect payload that comes in several frames (E44)."""
        payload, offset = self.frame.payload, self.frame.payload_offset
        for f in codec.FIELDS[structure].values():
            begin = at + f.byte
            if f.sub is not None:
                yield from self._part(f.sub, begin)
            elif f.kind != "group" and 0 <= begin and begin + f.size <= len(payload) and self._has(f):
                raw = payload[begin : begin + f.size]
                value = raw.hex() if f.kind == "blob" else int.from_bytes(raw, "big") >> f.lo & (1 << f.hi - f.lo + 1) - 1
                yield Field(f.name, structure, offset + begin, None if f.kind == "blob" else f"{f.hi}-{f.lo}", raw, value, None)

    def _has(self, f: codec.Field) -> bool:
        return bool(f.ius >> list(codec.IUS).index(self.kind) & 1)

    def _flag(self, name: str) -> int:
        value = codec.get("FC", name, self.raw.data) if len(self.raw.data) >= 24 else 0
        assert isinstance(value, int)
        return value

    def _exchange(self) -> Exchange:
        other = "dut" if self.sender == "tester" else "tester"
        return (other if self._flag("Exchange_Context") else self.sender, self.bytes_of("OX_ID"))

    def bytes_of(self, name: str, structure: str = "Frame_Header") -> bytes:
        """The bytes of a field, none when the frame has no such field."""
        return next((f.raw for f in self.fields if (f.role, f.structure) == (name, structure)), b"")

    @property
    def starts(self) -> bool:
        """Whether it may be the first frame of an Exchange."""
        first = self._flag("First_Sequence") and not self._flag("Exchange_Context")
        return bool(first and not self._flag("SEQ_CNT") and self.frame.kind in ("iu", "els", "other"))

    @property
    def ends(self) -> bool:
        """Whether the Exchange is over with it."""
        last = self._flag("Last_Sequence") and self._flag("End_Sequence")
        return bool(last or self.kind in ("ABTS", "BA_ACC", "P_RJT", "F_RJT"))


class Wire:
    """The frame plane of a replay."""

    def __init__(self, translation: Translation, ignore: frozenset[str]) -> None:
        self._ids = translation
        self._ignore = ignore
        self._closed: set[Exchange] = set()
        self._recorded_of: dict[bytes, Exchange] = {}  # by OX_ID now
        self._deltas: dict[bytes, int] = {}

    # ---- Exchanges ----

    def exchange_now(self, seen: View) -> Optional[Exchange]:
        """The recorded Exchange to which a frame of the device belongs; None when it begins a new one."""
        originator, ox_id = seen.exchange
        if originator == "tester":
            return seen.exchange
        known = self._recorded_of.get(ox_id)
        return None if known is None or (seen.starts and known in self._closed) else known

    def begins(self, recorded: View) -> bool:
        """Whether a recorded frame of the device begins an Exchange that has not been seen yet."""
        key = recorded.exchange
        return key[0] == "dut" and (not self._ids.known("ox", key) or key in self._closed)

    def _renew(self, recorded: View) -> None:
        if recorded.starts and recorded.exchange in self._closed:
            self._closed.discard(recorded.exchange)
            for what in ("ox", "rx", "seq", "msg"):
                self._ids.forget(what, recorded.exchange)

    def _passed(self, recorded: View) -> None:
        if recorded.ends:
            self._closed.add(recorded.exchange)

    # ---- what the tester sends ----

    def outgoing(self, recorded: View) -> RawFrame:
        """The frame to send now."""
        self._renew(recorded)
        data = bytearray(recorded.raw.data)
        for f in recorded.fields:
            new = self._outgoing(recorded, f)
            if new is not None and len(new) == len(f.raw):
                data[f.byte : f.byte + len(new)] = new
        if recorded.kind == "CONNECT_RQST":
            self._ids.choose("connection", recorded.bytes_of("FCVI_CONNECTION_ID", "Device_Header"))
        self._passed(recorded)
        return RawFrame(bytes(data), recorded.raw.sof, recorded.raw.eof, recorded.raw.crc_ok)

    def _outgoing(self, view: View, f: Field) -> Optional[bytes]:
        ids, key = self._ids, view.exchange
        if f.role in _AS_CONFIGURED:
            return bytes(ids.live(_AS_CONFIGURED[f.role], f.raw))
        if f.role in ("OX_ID", "RX_ID"):
            return self._x_id(f, self._named_exchange(view, f))
        if f.role == "SEQ_ID" and (f.structure != "Frame_Header" or view.frame.kind == "link_control"):
            return bytes(ids.live("seq", key, f.raw))
        if f.role == "FCVI_HANDLE":
            return bytes(ids.live("handle", f.raw))
        if f.role == "FCVI_CONNECTION_ID":
            ours = key[0] == "tester" and view.kind.startswith("CONNECT")
            return f.raw if ours else bytes(ids.live("connection", f.raw))
        if f.role == "FCVI_MSG_ID" and key[0] == "dut":
            return bytes(ids.live("msg", key, f.raw))
        if f.role == "FCVI_RMT_VA":
            return ids.virtual_address(int.from_bytes(f.raw, "big")).to_bytes(8, "big")
        if f.role == "FCVI_RMT_VA_HANDLE":
            return bytes(ids.live("memory", f.raw))
        return None

    def _named_exchange(self, view: View, f: Field) -> Exchange:
        """The Exchange that an OX_ID or RX_ID is of: an RRQ names another than its own."""
        originator = next((o.raw for o in view.fields if o.name == "Originator S_ID"), None)
        if f.structure == "Frame_Header" or originator is None:
            return view.exchange
        tester = view.bytes_of("S_ID" if view.sender == "tester" else "D_ID")
        return ("tester" if originator == tester else "dut", view.bytes_of("OX_ID", f.structure))

    def _x_id(self, f: Field, key: Exchange) -> bytes:
        if f.name == "OX_ID":
            return bytes(self._ids.live("ox", key)) if key[0] == "dut" and self._ids.known("ox", key) else f.raw
        return bytes(self._ids.live("rx", key, f.raw)) if key[0] == "tester" else f.raw

    # ---- what the device sends ----

    def compare(self, recorded: View, seen: View) -> list[Difference]:
        """The differences between what was recorded and what was seen in its place. Learns the device's choices."""
        if recorded.title != seen.title:
            return [self._difference(recorded, "IU", recorded.title, seen.title)]
        self._renew(recorded)
        self._learn_exchange(recorded, seen)
        found = list(self._around(recorded, seen))
        found += self._fields(recorded, seen)
        found += self._data(recorded, seen)
        self._passed(recorded)
        return [d for d in found if d.field.lower() not in self._ignore]

    def _learn_exchange(self, recorded: View, seen: View) -> None:
        key = recorded.exchange
        if key[0] == "dut" and not self._ids.known("ox", key):
            self._ids.bind(seen.exchange[1], "ox", key)
            self._recorded_of[seen.exchange[1]] = key

    @staticmethod
    def _difference(view: View, name: str, recorded: str, seen: str, f: Optional[Field] = None) -> Difference:
        if f is None:
            return Difference("field", name, recorded, seen, iu=view.title)
        return Difference("field", name, recorded, seen, iu=view.title, structure=f.structure, byte=f.byte, bits=f.bits)

    def _around(self, recorded: View, seen: View) -> Iterator[Difference]:
        r, s = recorded.raw, seen.raw
        for name, before, now, table in (("SOF", r.sof, s.sof, _SOF), ("EOF", r.eof, s.eof, _EOF)):
            if before and now and before != now:
                yield self._difference(recorded, name, str(table.get(before, before)), str(table.get(now, now)))
        if r.crc_ok != s.crc_ok:
            words = {True: "ok", False: "bad"}
            yield self._difference(recorded, "CRC", words[r.crc_ok], words[s.crc_ok])
        if len(r.data) != len(s.data):
            yield self._difference(recorded, "length", f"{len(r.data)} bytes", f"{len(s.data)} bytes")

    def _fields(self, recorded: View, seen: View) -> Iterator[Difference]:
        for before, now in zip(recorded.fields, seen.fields):
            if (before.name, before.byte, before.bits) != (now.name, now.byte, now.bits):
                break  # another layout; the field that chose it has been told
            if not self._same(recorded, before, now):
                yield self._difference(recorded, before.name, before.words(), now.words(), before)

    def _same(self, view: View, before: Field, now: Field) -> bool:
        ids, key, name = self._ids, view.exchange, before.role
        if name in _AS_CONFIGURED:
            return bool(ids.live(_AS_CONFIGURED[name], before.raw) == now.raw)
        if name in OWN_HANDLES:
            return ids.meet(now.raw, "handle", before.raw)
        if name == "SEQ_ID":
            ids.bind(now.raw, "seq", key, before.raw)
            return True
        if name in ("OX_ID", "RX_ID"):
            return self._same_x_id(view, before, now)
        if name == "FCVI_CONNECTION_ID":
            theirs = key[0] == "dut" or not view.kind.startswith("CONNECT")
            if theirs and any(before.raw):
                return ids.meet(now.raw, "connection", before.raw)
            return before.raw == now.raw
        if name == "FCVI_MSG_ID" and key[0] == "dut":
            return self._same_message(view, before, now)
        return before.value == now.value

    def _same_x_id(self, view: View, before: Field, now: Field) -> bool:
        key = self._named_exchange(view, before)
        if before.name == "OX_ID":
            return bool((self._ids.live("ox", key) if self._ids.known("ox", key) else before.raw) == now.raw)
        return self._ids.meet(now.raw, "rx", key, before.raw) if key[0] == "tester" else before.raw == now.raw

    def _same_message(self, view: View, before: Field, now: Field) -> bool:
        """Messages of a connection count on from where they began; the first one has to begin where the recorded one did."""
        connection = view.bytes_of("FCVI_HANDLE", "Device_Header")
        recorded, seen = (int.from_bytes(f.raw, "big") for f in (before, now))
        known = connection in self._deltas
        delta = self._deltas.setdefault(connection, seen - recorded)
        self._ids.bind(now.raw, "msg", view.exchange, before.raw)
        return (recorded + delta) & 0xFFFFFFFF == seen and (known or delta == 0)

    def _data(self, recorded: View, seen: View) -> Iterator[Difference]:
        """What no field covers: the data of a Message."""
        if recorded.frame.payload == seen.frame.payload:
            return
        before, now = recorded.frame.payload, seen.frame.payload
        offset = recorded.frame.payload_offset
        covered = {i for f in recorded.fields for i in range(f.byte - offset, f.byte - offset + len(f.raw))}
        at = next((i for i in range(min(len(before), len(now))) if before[i] != now[i] and i not in covered), None)
        if at is not None and len(before) == len(now):
            yield Difference("field", "payload", f"{before[at : at + 8].hex()}...", f"{now[at : at + 8].hex()}...",
                             iu=recorded.title, structure="Data_Field", byte=offset + at)  # fmt: skip
