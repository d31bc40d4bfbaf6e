"""A broken device on Fibre Channel: frames that it does not send, sends otherwise, late, or though nobody asked."""

from __future__ import annotations

from typing import Any, Iterator, Optional

from fcvi.dut.ref import RefDut
from fcvi.engine.breaks import Break
from fcvi.fc import codec, rev1
from fcvi.fc.received import BEGINS, kind_of

from .calls import BrokenCalls
from .made import Heard, made

HEADER_FIELDS = (
    "FC.First_Sequence", "FC.Last_Sequence", "FC.Sequence_Initiative", "FC.End_Sequence", "FC.OX_ID", "FC.RX_ID", "FC.SEQ_ID",
    "FC.SEQ_CNT", "FC.PREF", "FC.S_ID", "FC.D_ID", "FC.Parameter", "FC.R_CTL", "FC.TYPE", "DH.FCVI_HANDLE", "DH.FCVI_FLAGS",
    "DH.FCVI_MSG_ID", "DH.FCVI_PARAMETER", "DH.FCVI_RMT_VA", "DH.FCVI_RMT_VA_HANDLE", "DH.FCVI_TOT_LEN", "DH.FCVI_CONNECTION_ID",
    "CONN.FCVI_RQST_HANDLE", "CONN.FCVI_RESP_HANDLE",
)  # fmt: skip
Place = tuple[int, int, int, int]  # byte of the frame, bytes of the container, highest and lowest bit in it


class BrokenPort(BrokenCalls):
    """The reference port with one thing broken, of either edition."""

    def __init__(self, edition: str = "2007") -> None:
        self._number = codec.EDITION[edition] if edition != "2007" else 0
        self._heard = Heard(self._number)
        self._begun: dict[str, bytes] = {}  # the first frame of each kind
        self._joined, self._joining = bytearray(), -1  # payload and OX_ID of the Send that is heard
        super().__init__("broken", edition)

    def reset(self, config: dict[str, Any]) -> None:
        ports = [int(config["n_port_id"], 16), int(config["peer"]["n_port_id"], 16)]
        self._heard = Heard(self._number, ports[0], ports[1])
        self._begun.clear()
        self._joined.clear()
        super().reset(config)

    def heard_as(self, method: str, params: dict[str, Any]) -> str:
        if method != "frame":
            return method
        data = bytes.fromhex(params["hex"])
        self._heard.take(data, False)
        view = codec.decode(data, edition=self._number)
        kind = kind_of(view)
        if kind == "SEND_RQST":  # the frames of one Message follow one another
            if view.header("OX_ID") != self._joining:
                self._joined.clear()
            self._joining = view.header("OX_ID")
            self._joined += data[view.payload_offset :]
        return kind

    def heard(self) -> Optional[bytes]:
        return bytes(self._joined) if self._joined else None

    def said(self) -> None:
        assert self.broken is not None
        self._says(self.broken.kind, self.broken.what)

    def does(self, what: str) -> None:
        self._says(what, "")

    def _says(self, kinds: str, where: str) -> None:
        data = made(kinds, where, self._heard)
        if data is not None:
            self._send({"hex": data.hex(), "crc": "ok"})

    def _send(self, params: dict[str, Any]) -> None:
        """A frame as it leaves."""
        RefDut._emit(self, "frame", params)

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        if method != "frame":
            super()._emit(method, params)
            return
        data = bytes.fromhex(params["hex"])
        view = codec.decode(data, edition=self._number)
        kind, broken = kind_of(view), self.broken
        self._heard.take(data, True)
        self._begun.setdefault(kind, data)
        number = self.count(f"frame {kind}")
        if broken is None or not broken.concerns("out", kind, number):
            self._send(params)
        elif broken.what == "split":
            self._send({"hex": _edited(data, "FC", End_Sequence=0, Sequence_Initiative=0, Last_Sequence=0).hex(), "crc": "ok"})
            self._send({"hex": _edited(data, "FC", SEQ_CNT=int(codec.get("FC", "SEQ_CNT", data)) + 1).hex(), "crc": "ok"})
        elif broken.what == "late":
            self.later.append((self.now_us + _value(broken), lambda: self._send(params)))
        elif broken.what in ("again", "in-two"):
            first = _edited(data, "FC", Sequence_Initiative=0, Last_Sequence=0) if broken.what == "in-two" else data
            self._send({**params, "hex": first.hex()})
            self._send({**params, "hex": _once_more(data).hex()})
        elif not broken.what.startswith("drop"):
            changed = self._on_exchange(data, str(broken.value)) if broken.what == "exchange<" else edited(broken, view)
            kept = params if changed[8:13] == data[8:13] else {"crc": "ok"}  # else the delimiters follow from the header
            self._send({**kept, "hex": changed.hex()})

    def _on_exchange(self, data: bytes, kind: str) -> bytes:
        """The frame on the Exchange of the device's first frame of this kind."""
        of = self._begun.get(kind, data)
        names = ("OX_ID", "RX_ID", "Exchange_Context")
        return _edited(data, "FC", First_Sequence=0, **{name: int(codec.get("FC", name, of)) for name in names})


def _once_more(data: bytes) -> bytes:
    """The frame as the next Sequence of its Exchange."""
    count, ident = (int(codec.get("FC", name, data)) for name in ("SEQ_CNT", "SEQ_ID"))
    return _edited(data, "FC", SEQ_CNT=count + 1, SEQ_ID=ident ^ 0x80)


def _edited(data: bytes, structure: str, **values: int) -> bytes:
    """The frame with these values in fields that begin with it."""
    buf = bytearray(data)
    for name, value in values.items():
        codec.put(structure, name, buf, value & 0xFFFF)
    return bytes(buf)


def edited(broken: Break, view: codec.Frame) -> bytes:
    """The frame with its difference; where it has no such place it is as it was."""
    buf = bytearray(view.data)
    if broken.what in ("pad", "cut"):
        size = _value(broken)
        return bytes(buf + bytes(size)) if broken.what == "pad" else bytes(buf[: len(buf) - size])
    if broken.what == "payload-last":
        place: Optional[Place] = (len(buf) - 1, 1, 7, 0) if len(buf) > view.payload_offset else None
    elif broken.what == "payload-first":
        place = (view.payload_offset, 1, 7, 0) if len(buf) > view.payload_offset else None
    else:
        place = find(view, broken.what.rstrip("=^+%"))
    if broken.what.endswith("%") and place is not None:  # all its bytes, in the other order
        end = place[0] + _width(view, broken.what.rstrip("%"))
        buf[place[0] : end] = buf[place[0] : end][::-1]
        return bytes(buf)
    if place is None or place[0] < 0 or place[0] + place[1] > len(buf):
        return bytes(buf)
    byte, size, hi, lo = place
    mask = (1 << hi - lo + 1) - 1
    old = int.from_bytes(buf[byte : byte + size], "big")
    seen = old >> lo & mask
    value = _value(broken)
    if broken.what.endswith("+"):
        value += seen
    elif broken.what.endswith("^") or broken.value is None:
        value ^= seen
    new = value & mask
    buf[byte : byte + size] = (old & ~(mask << lo) | new << lo).to_bytes(size, "big")
    return bytes(buf)


def _value(broken: Break) -> int:
    """What the words need: a bit, unless they say a number."""
    return broken.value if isinstance(broken.value, int) else 1


def find(view: codec.Frame, name: str) -> Optional[Place]:
    """Where a field lies: "DH.NAME", "FC.NAME", a path in a structure of the payload, or "@BYTE"."""
    if name.startswith("@"):
        return int(name[1:].partition("/")[0]), 1, 7, 0
    structure, _, path = name.partition(".")
    if structure == "DH" and view.edition:
        byte, _ = rev1.where(view, path)
        if byte >= view.dh_offset + view.dh_length:  # that IU has the short Device_Header
            return None
        field = next(f for f in codec.FIELDS["DH_REV1"].values() if view.where("DH", f.ident) == rev1.where(view, path))
        return byte, field.size, field.hi, field.lo
    base = {"FC": 0, "DH": view.dh_offset}.get(structure, view.payload_offset + BEGINS.get(structure, 0))
    if structure not in ("FC", "DH"):  # a later frame of its IU goes on where the one before has ended
        base -= view.header("Parameter") * view.header("Relative_Offset_Present")
    try:
        owner, ident, offset = codec.within(*_of_edition(view, structure, path))
    except KeyError:
        return None
    field = codec.FIELDS[owner][ident]
    at = base + offset + field.byte
    if field.kind in ("blob", "nest"):  # its first byte stands for it
        return at, 1, 7, 0
    return at, field.size, field.hi, field.lo


def _width(view: codec.Frame, name: str) -> int:
    """The bytes of a field of the payload."""
    structure, _, path = name.partition(".")
    owner, ident, _ = codec.within(*_of_edition(view, structure, path))
    return codec.FIELDS[owner][ident].size


_DRAFT = {
    "FCVI_LOC_ADDR": "VI_LOC_ADDR", "FCVI_REM_ADDR": "VI_REM_ADDR", "FCVI_LOC_ATTRS": "VI_LOC_ATTRS",
    "FCVI_REVISION": "VI_REVISION",
    "FCVI_RQST_HANDLE": "VI_RQST_HANDLE", "FCVI_RESP_HANDLE": "VI_RQST_HANDLE", "FCVI_RELIABILITY_LVL": "RELIABILITY_LVL",
    "FCVI_MAX_TRANS_SIZE": "MAX_TRANS_SIZE", "FCVI_QOS": "VIP_QOS",
}  # fmt: skip


def _of_edition(view: codec.Frame, structure: str, path: str) -> tuple[str, str]:
    """A field of the payload in the words of the edition of the frame."""
    if not view.edition or structure != "CONN":
        return structure, path
    return "CONN_REV1", ".".join(_DRAFT.get(name, name) for name in path.split("."))


def fields_of_2007(kind: str) -> list[str]:
    """Every field of a frame of this kind: header, Device_Header, and a connect payload."""
    return _fields(kind, "DH", "CONN")


def fields_of_1999(kind: str) -> list[str]:
    """The same of Rev 1.0."""
    return _fields(kind, "DH_REV1", "CONN_REV1")


def _fields(kind: str, device_header: str, connect: str) -> list[str]:
    names = [f"FC.{name}" for name in codec.FIELDS["FC"]]
    if kind in codec.IUS:
        names += [f"DH.{name}" for name in codec.FIELDS[device_header]]
    return names + (list(_within(connect, f"{connect}.")) if kind in ("CONNECT_RQST", "CONNECT_RESP1") else [])


def _within(structure: str, path: str) -> Iterator[str]:
    """The paths of the fields of a structure, and of those inside it."""
    for name, field in codec.FIELDS[structure].items():
        yield path + name
        if field.sub is not None:
            yield from _within(field.sub, f"{path}{name}.")


__all__ = ["BrokenPort", "HEADER_FIELDS", "edited", "fields_of_1999", "fields_of_2007", "find"]
