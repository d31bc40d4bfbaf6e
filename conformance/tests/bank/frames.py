"""Says what may be done to a frame, in words.

``NAME=VALUE`` sets a field (``^``, ``+`` and ``-`` change it; STRUCTURE.NAME where the name alone is not clear; several
with blanks); ``@OFFSET=HEX`` payload bytes; ``swap A B N`` two runs of payload bytes; ``pad N``, ``cut N``; ``split N``
into two frames; ``header N`` a Device_Header of that length; ``drop``; ``again`` on the same Exchange; ``twice`` on another;
``hold`` until the next frame of its kind has gone; ``also KIND`` a made-up IU behind it in another Exchange, ``follow
KIND`` in the same, ``instead KIND``; ``answer KIND`` to what comes in, ``provoke KIND`` by what comes in; ``constant NAME``:
as in the first frame of its kind; ``ius``: every frame an IU; ``network``: a Network_Header before the Device_Header;
``remember``, ``replay``.
"""

from __future__ import annotations

import re
from typing import Callable, Optional

from fcvi.fc import codec
from fcvi.fc.received import kind_of

from conformance.tests.faulty import FaultyDut, FrameEdit

#: Where structures are found in a frame, besides the header and the Device_Header: bytes into the payload.
_INSIDE = {"CONN": 0, "ATTRS": 308, "QOS": 316, "LOC": 12, "REM": 160, "FARP": 4, "LOGIN": 4, "ADISC": 4, "CT": 0,
           "GID_IPP": 16, "BA_ACC": 0, "LOGO": 4, "INFO": 340}  # fmt: skip
_ALIAS = {"LOC": "ADDR", "REM": "ADDR"}
_SEARCH = ("FC", "DH", "CONN", "ATTRS", "QOS", "LOC", "FARP", "LOGIN", "ADISC")


def _field(name: str) -> tuple[str, str]:
    structure, dot, ident = name.rpartition(".")
    if dot:
        return structure, ident
    for structure in _SEARCH:
        if ident in codec.FIELDS[_ALIAS.get(structure, structure)]:
            return structure, ident
    raise ValueError(f"no field {name}")


def _place(structure: str, view: codec.Frame) -> int:
    if structure in ("FC", "DH"):
        return 0 if structure == "FC" else view.dh_offset
    base = view.payload_offset if view.payload_offset >= 24 else 24
    return base + _INSIDE[structure]


def _number(words: str) -> Callable[[int], int]:
    value = int(words.lstrip("^+-~"), 0)
    sign = words[0]
    if sign == "^":
        return lambda old: old ^ value
    if sign == "+":
        return lambda old: old + value
    if sign == "-":
        return lambda old: old - value
    return lambda old: value


def condition(words: str) -> Callable[[codec.Frame], bool]:
    """Whether a frame is one of those that are meant. Raises ValueError when the words mean nothing."""
    if words in ("last", "notlast"):
        return lambda view: bool(view.get("FC", "End_Sequence")) == (words == "last")
    if words in ("first", "notfirst"):
        return lambda view: (view.get("FC", "SEQ_CNT") == 0) == (words == "first")
    found = re.fullmatch(r"if\((\w+)(!?=)(\w+)\)", words)
    if found is None:
        raise ValueError(f"no condition {words}")
    (structure, ident), value, equal = _field(found[1]), int(found[3], 0), found[2] == "="
    layout = _ALIAS.get(structure, structure)
    return lambda view: (codec.get(layout, ident, view.data, _place(structure, view)) == value) == equal


def _puts(words: str) -> FrameEdit:
    changes = []
    for word in words.split():
        name, _, value = word.partition("=")
        changes.append((*_field(name), _number(value)))

    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
        for structure, ident, number in changes:
            offset, layout = _place(structure, view), _ALIAS.get(structure, structure)
            field = codec.FIELDS[layout][ident]
            if offset + field.byte + field.size > len(buf):
                continue  # in another frame of the IU (E44)
            old = codec.get(layout, ident, bytes(buf), offset)
            assert isinstance(old, int)
            codec.put(layout, ident, buf, number(old) & ((1 << (field.hi - field.lo + 1)) - 1), offset)

    return edit


def _pokes(words: str) -> FrameEdit:
    offset, _, value = words[1:].partition("=")
    data = bytes.fromhex(value)

    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
        at = view.payload_offset + int(offset)
        if len(buf) >= at + len(data):
            buf[at : at + len(data)] = data

    return edit


def _swap(first: str, second: str, length: str) -> FrameEdit:
    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
        start = view.payload_offset
        a, b = (slice(start + int(at), start + int(at) + int(length)) for at in (first, second))
        buf[a], buf[b] = buf[b], buf[a]

    return edit


def _pad(number: str) -> FrameEdit:
    return lambda dut, view, buf: buf.extend(bytes(int(number)))


def _cut(number: str) -> FrameEdit:
    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
        del buf[len(buf) - int(number) :]

    return edit


def _header(number: str) -> FrameEdit:
    """Another length of Device_Header than that of the IU: 0, 16 or 32 bytes."""

    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
        length = int(number)
        kept = bytes(buf[24 : view.payload_offset])
        buf[24 : view.payload_offset] = kept[:length].ljust(length, b"\0")
        codec.put("FC", "Device_Header", buf, {0: 0, 16: 1, 32: 2}[length])

    return edit


def _split(number: str) -> FrameEdit:
    """Two frames instead of one; the second has what is behind so many bytes of payload, or nothing."""

    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
        at = view.payload_offset + int(number)
        first, second = bytearray(buf[:at]), bytearray(buf[: view.payload_offset] + buf[at:])
        for name in ("End_Sequence", "Sequence_Initiative"):
            codec.put("FC", name, first, 0)
        codec.put("FC", "SEQ_CNT", second, (_int(view, "SEQ_CNT") + 1) & 0xFFFF)
        return [bytes(first), bytes(second)]

    return edit


def _int(view: codec.Frame, name: str) -> int:
    value = view.get("FC", name)
    assert isinstance(value, int)
    return value


def _again(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    second = bytearray(buf)
    codec.put("FC", "SEQ_CNT", second, (_int(view, "SEQ_CNT") + 1) & 0xFFFF)
    codec.put("FC", "SEQ_ID", second, _int(view, "SEQ_ID") ^ 0x80)
    return [bytes(buf), bytes(second)]


def _twice(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    second = bytearray(buf)
    codec.put("FC", "OX_ID", second, _int(view, "OX_ID") ^ 0x4000)
    return [bytes(buf), bytes(second)]


def _hold(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> Optional[list[bytes]]:
    key = "hold-" + kind_of(view)
    held = dut.memory.pop(key, None)
    if held is None:
        dut.memory[key] = bytes(buf)
        return []
    return [bytes(buf), held]


def iu_after(kind: str, view: codec.Frame, buf: bytes, same: bool) -> bytes:
    """An IU of that kind without payload, in the Exchange of the frame or in one of its own."""
    opcode, r_ctl = codec.IUS[kind][:2]
    size = 16 if kind in ("SEND_RESP", "WRITE_RESP") else 32
    made = bytearray(24 + size + (340 if kind in ("CONNECT_RQST", "CONNECT_RESP1") else 0))
    made[:24] = buf[:24]
    old = bytes(buf[24 : view.payload_offset]).ljust(32, b"\0")
    made[24 : 24 + size] = old[:size]
    values = {"R_CTL": r_ctl, "TYPE": 0x58, "Device_Header": 1 if size == 16 else 2, "End_Sequence": 1, "Fill_Bytes": 0,
              "SEQ_ID": _int(view, "SEQ_ID") ^ 0x80, "Relative_Offset_Present": 0, "Parameter": 0}  # fmt: skip
    if same:
        values |= {"SEQ_CNT": (_int(view, "SEQ_CNT") + 1) & 0xFFFF, "First_Sequence": 0}
    else:
        values |= {"SEQ_CNT": 0, "First_Sequence": 1, "OX_ID": _int(view, "OX_ID") ^ 0x4000, "RX_ID": 0xFFFF,
                   "Exchange_Context": 0, "Last_Sequence": 0, "Sequence_Initiative": 1}  # fmt: skip
    for name, value in values.items():
        codec.put("FC", name, made, value)
    codec.put("DH", "FCVI_OPCODE", made, opcode, 24)
    return bytes(made)


def _also(kind: str, same: bool, instead: bool = False) -> FrameEdit:
    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
        made = iu_after(kind, view, bytes(buf), same)
        return [made] if instead else [bytes(buf), made]

    return edit


def _answer(kind: str) -> FrameEdit:
    """Answer a frame that came in with a made-up refusal, at once."""

    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
        made = bytearray(iu_after(kind, view, bytes(buf), True))
        made[1:4], made[5:8] = made[5:8], made[1:4]
        for name, value in (("Exchange_Context", 1), ("RX_ID", 0x7FF0), ("SEQ_CNT", 0)):
            codec.put("FC", name, made, value)
        for name, value in (("CONN_STS", 1), ("CONN_MODE", 1), ("Reason_Code", 5)):
            codec.put("DH", name, made, value, 24)
        dut.late({"hex": made.hex(), "crc": "ok"})

    return edit


def _provoke(kind: str) -> FrameEdit:
    """Send a made-up IU for the tester's Endpoint, on an Exchange of its own, when a frame comes in."""

    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
        made = bytearray(24 + 32)
        made[1:4], made[5:8] = buf[5:8], buf[1:4]
        opcode, r_ctl = codec.IUS[kind][:2]
        for name, value in (("R_CTL", r_ctl), ("TYPE", 0x58), ("First_Sequence", 1), ("End_Sequence", 1), ("OX_ID", 0x3FF0),
                            ("Sequence_Initiative", 1), ("RX_ID", 0xFFFF), ("Device_Header", 2), ("SEQ_ID", 0xE1)):  # fmt: skip
            codec.put("FC", name, made, value)
        for name, value in (("FCVI_OPCODE", opcode), ("FCVI_HANDLE", dut.memory.get("their handle", 0)), ("VI_APP_DISCON", 1)):
            codec.put("DH", name, made, value, 24)
        dut.late({"hex": made.hex(), "crc": "ok"})

    return edit


def _remember(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
    dut.memory.setdefault("kept", bytes(buf))


def _replay(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> Optional[list[bytes]]:
    return [bytes(buf), dut.memory["kept"]] if "kept" in dut.memory else None


def _same_as_first(name: str) -> FrameEdit:
    """The field always has the value that it had in the first frame of the kind."""
    structure, ident = _field(name)

    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
        offset, layout = _place(structure, view), _ALIAS.get(structure, structure)
        seen = codec.get(layout, ident, bytes(buf), offset)
        codec.put(layout, ident, buf, dut.memory.setdefault(f"first-{kind_of(view)}-{name}", seen), offset)

    return edit


def _one_port(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> Optional[list[bytes]]:
    """Exchanges that others open are told apart by OX_ID alone: of two ports with one OX_ID the first is heard."""
    if view.get("FC", "Exchange_Context"):
        return None
    first = dut.memory.setdefault(f"S_ID of {view.header('OX_ID')}", view.get("FC", "S_ID"))
    return None if first == view.get("FC", "S_ID") else []


def _own_number(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
    """Notes the OX_ID of an Exchange that the device opens and has not ended."""
    if not view.get("FC", "Exchange_Context") and not view.get("FC", "Last_Sequence"):
        dut.memory.setdefault("own", set()).add(view.get("FC", "OX_ID"))


def _other_number(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> Optional[list[bytes]]:
    """Exchanges are told apart by OX_ID, whoever opened them: one that has the OX_ID of an own open one is not heard."""
    own = not view.get("FC", "Exchange_Context") and view.get("FC", "OX_ID") in dut.memory.get("own", ())
    return [] if own else None


def _ius(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
    """Every frame is an IU of its own, as 6.2.1 permits."""
    last = bool(view.get("FC", "End_Sequence"))
    values = {"End_Sequence": 1, "SEQ_ID": (_int(view, "SEQ_ID") + 0x40 + _int(view, "SEQ_CNT")) & 0xFF}
    if _int(view, "SEQ_CNT"):
        values["First_Sequence"] = 0
    if not last:
        values |= {"Last_Sequence": 0, "Sequence_Initiative": 0}
    for name, value in values.items():
        codec.put("FC", name, buf, value)


NETWORK_HEADER = bytes.fromhex("1000000000c9000020000000c9000001")  # 16 bytes, two network addresses (FC-FS)


def _network(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
    """A Network_Header in front of the Device_Header (5.8.5, FC-FS), where the frame has room for it: DF_CTL bit 5."""
    if len(buf) - 24 + len(NETWORK_HEADER) > dut.receive_size:
        return
    buf[24:24] = NETWORK_HEADER
    codec.put("FC", "Network_Header", buf, 1)


def _told_size(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
    """A login that is heard says how long the frames to its port may be."""
    dut.receive_size = int(codec.get("LOGIN", "Receive_Data_Field_Size", view.data, _place("LOGIN", view)))


_PLAIN: dict[str, FrameEdit] = {
    "network": _network,
    "told-size": _told_size,
    "drop": lambda dut, view, buf: [],
    "again": _again,
    "twice": _twice,
    "hold": _hold,
    "ius": _ius,
    "one-port": _one_port,
    "own-number": _own_number,
    "other-number": _other_number,
    "remember": _remember,
    "replay": _replay,
}


def action(words: str) -> FrameEdit:
    """The edit that the words describe. Raises ValueError when they mean nothing."""
    if words in _PLAIN:
        return _PLAIN[words]
    verb, *rest = words.split()
    if verb in ("pad", "cut", "header", "split"):
        return {"pad": _pad, "cut": _cut, "header": _header, "split": _split}[verb](rest[0])
    if verb == "swap":
        return _swap(*rest)
    if verb in ("also", "follow", "instead"):
        return _also(rest[0], verb != "also", verb == "instead")
    if verb in ("answer", "provoke"):
        return _answer(rest[0]) if verb == "answer" else _provoke(rest[0])
    if verb == "constant":
        return _same_as_first(rest[0])
    if words.startswith("@"):
        return _pokes(words)
    return _puts(words)
