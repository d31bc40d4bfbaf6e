"""A broken device on Fibre Channel: frames that it does not send, sends otherwise, late, or though nobody asked."""

from __future__ import annotations

from typing import Any, Iterator, Optional

from fcvi.dut.ref import RefDut
from fcvi.fc import codec, rev1
from fcvi.fc.received import BEGINS, kind_of

from .breaks import Break
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
        super().__init__("broken", edition)

    def reset(self, config: dict[str, Any]) -> None:
        ports = [int(config["n_port_id"], 16), int(config["peer"]["n_port_id"], 16)]
        self._heard = Heard(self._number, ports[0], ports[1])
        super().reset(config)

    def heard_as(self, method: str, params: dict[str, Any]) -> str:
        if method != "frame":
            return method
        data = bytes.fromhex(params["hex"])
        self._heard.take(data, False)
        return kind_of(codec.decode(data, edition=self._number))

    def said(self) -> None:
        assert self.broken is not None
        data = made(self.broken.kind, self.broken.what, self._heard)
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
        if broken is None or not broken.concerns("out", kind, self.count(f"frame {kind}")):
            self._send(params)
        elif broken.what == "late":
            self.later.append((self.now_us + _value(broken), lambda: self._send(params)))
        elif broken.what == "again":
            self._send(params)
            self._send({**params, "hex": _once_more(data).hex()})
        elif not broken.what.startswith("drop"):
            changed = edited(broken, view)
            kept = params if changed[8:13] == data[8:13] else {"crc": "ok"}  # else the delimiters follow from the header
            self._send({**kept, "hex": changed.hex()})


def _once_more(data: bytes) -> bytes:
    """The frame as the next Sequence of its Exchange."""
    buf = bytearray(data)
    codec.put("FC", "SEQ_CNT", buf, int(codec.get("FC", "SEQ_CNT", data)) + 1)
    codec.put("FC", "SEQ_ID", buf, int(codec.get("FC", "SEQ_ID", data)) ^ 0x80)
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
        place = find(view, broken.what.rstrip("=^"))
    if place is None or place[0] + place[1] > len(buf):
        return bytes(buf)
    byte, size, hi, lo = place
    mask = (1 << hi - lo + 1) - 1
    old = int.from_bytes(buf[byte : byte + size], "big")
    seen = old >> lo & mask
    value = _value(broken)
    new = (seen ^ value if broken.what.endswith("^") or broken.value is None else value) & mask
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
        field = next(f for f in codec.FIELDS["DH_REV1"].values() if view.where("DH", f.ident) == rev1.where(view, path))
        return byte, field.size, field.hi, field.lo
    base = {"FC": 0, "DH": view.dh_offset}.get(structure, view.payload_offset + BEGINS.get(structure, 0))
    try:
        owner, ident, offset = codec.within(*_of_edition(view, structure, path))
    except KeyError:
        return None
    field = codec.FIELDS[owner][ident]
    at = base + offset + field.byte
    if field.kind in ("blob", "nest"):  # its first byte stands for it
        return at, 1, 7, 0
    return at, field.size, field.hi, field.lo


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
