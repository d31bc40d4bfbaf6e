"""The codec, seen from Python: frames by the names of the field table.

Nothing here knows a layout. Names are the identifiers of codec/include/fcvi/fields.def.
"""

from __future__ import annotations

import functools
import json
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Union

from _fcvi import ffi, lib

from fcvi.engine.results import Finding

Value = Union[int, bytes]


class Field(NamedTuple):
    """One field of the table. byte and size: its container in the structure; hi, lo: its bits in it; codes: its named values."""

    structure: str
    ident: str
    name: str
    byte: int
    size: int
    hi: int
    lo: int
    kind: str
    sub: Optional[str]
    clause: str
    requirement: str
    ius: int
    codes: tuple[tuple[int, str], ...]


def _text(pointer: Any) -> str:
    return "" if pointer == ffi.NULL else str(ffi.string(pointer), "ascii")


_KINDS = ("uint", "dec", "flag", "enum", "id24", "rsvd", "group", "blob", "nest")


def _codes(pointer: Any) -> tuple[tuple[int, str], ...]:
    named = []
    while pointer != ffi.NULL and pointer.name != ffi.NULL:
        named.append((int(pointer.value), _text(pointer.name)))
        pointer += 1
    return tuple(named)


def _load_tables() -> tuple[dict[str, int], dict[str, dict[str, Field]], list[Field]]:
    count = ffi.new("size_t *")
    structures = lib.fcvi_structure_table(count)
    names = [_text(structures[i].ident) for i in range(count[0])]
    lengths = {names[i]: structures[i].length for i in range(count[0])}
    fields: dict[str, dict[str, Field]] = {name: {} for name in names}
    table = lib.fcvi_field_table(count)
    ordered = []
    for i in range(count[0]):
        f = table[i]
        sub = names[f.sub] if f.sub < len(names) else None
        field = Field(
            names[f.structure], _text(f.ident), _text(f.name), f.byte, f.size, f.hi, f.lo, _KINDS[f.kind], sub,
            _text(f.clause), _text(f.requirement), f.ius, _codes(f.codes),
        )  # fmt: skip
        fields[field.structure][field.ident] = field
        ordered.append(field)
    return lengths, fields, ordered


#: Length of each structure, and its fields by identifier.
LENGTH, FIELDS, TABLE = _load_tables()
#: Where get and put find a field: byte and size of its container, its lowest bit, its mask, whether it is bytes.
_PLACES = {
    (f.structure, f.ident): (f.byte, f.size, f.lo, (1 << (f.hi - f.lo + 1)) - 1, f.kind in ("blob", "nest")) for f in TABLE
}
CRC_ABSENT, CRC_OK, CRC_BAD = 0, 1, 2


class Iu(NamedTuple):
    """A row of Table 1."""

    opcode: int
    r_ctl: int
    dh_size: int
    has_payload: bool
    category: str


_CATEGORY = {0x00: "message-request", 0x08: "message-response", 0x10: "connect-request", 0x18: "connect-response"}


def _load_ius(edition: int) -> dict[str, Iu]:
    ius = {}
    for index in range(lib.FCVI_IU_COUNT):
        row = lib.fcvi_edition_iu(edition, index)
        if row == ffi.NULL:
            continue
        name = _text(lib.fcvi_iu_name(index)).removeprefix("FCVI_")
        ius[name] = Iu(row.opcode, row.r_ctl, row.dh_size, bool(row.has_payload), _CATEGORY[row.opcode & 0x18])
    return ius


#: Table 1 by IU name without FCVI_.
IUS = _load_ius(lib.FCVI_EDITION_2007)
#: The editions by name, as decode takes them.
EDITION = {"2007": int(lib.FCVI_EDITION_2007), "rev1": int(lib.FCVI_EDITION_REV1)}
#: The same of Rev 1.0 (1999), under the names that 2007 has for them.
IUS_REV1 = _load_ius(lib.FCVI_EDITION_REV1)


def get(structure: str, ident: str, data: bytes, offset: int = 0) -> Value:
    """A field of the structure that starts at offset in data. Raises IndexError when it is not all there."""
    byte, size, lo, mask, raw = _PLACES[structure, ident]
    start = offset + byte
    if start + size > len(data):
        raise IndexError(f"{structure}.{ident} lies beyond {len(data)} bytes")
    container = data[start : start + size]
    return bytes(container) if raw else int.from_bytes(container, "big") >> lo & mask


def put(structure: str, ident: str, buf: bytearray, value: Value, offset: int = 0) -> None:
    """Write a field and leave its neighbours alone. A number is cut to the field's width."""
    byte, size, lo, mask, _ = _PLACES[structure, ident]
    start = offset + byte
    if isinstance(value, bytes):
        if len(value) > size:
            raise ValueError(f"{structure}.{ident} takes {size} bytes, not {len(value)}")
        buf[start : start + len(value)] = value
        return
    container = int.from_bytes(buf[start : start + size], "big") & ~(mask << lo)
    buf[start : start + size] = (container | (value & mask) << lo).to_bytes(size, "big")


@functools.cache
def within(structure: str, path: str) -> tuple[str, str, int]:
    """A field by its path through nested structures, "FCVI_LOC_ADDR.HOST_ADD": its structure, its name, where that begins."""
    *outer, ident = path.split(".")
    offset = 0
    for name in outer:
        field = FIELDS[structure][name]
        if field.sub is None:
            raise KeyError(f"{structure}.{name} is no structure")
        structure, offset = field.sub, offset + field.byte
    FIELDS[structure][ident]  # an unknown name is a mistake of the caller
    return structure, ident, offset


@functools.cache
def _shifts(structure: str, length: int) -> dict[str, tuple[int, int, int, int, int]]:
    """Of each field of a structure of this length: bits behind it, its mask, what it leaves of the others; bits behind its
    container, and bytes of it."""
    return {
        ident: ((end := 8 * (length - byte - size)) + lo, mask, ~(mask << end + lo), end, size)
        for (of, ident), (byte, size, lo, mask, _) in _PLACES.items()
        if of == structure and byte + size <= length
    }


def pack(structure: str, values: Mapping[str, Value], length: int, packed: int = 0) -> bytes:
    """A structure of this length with these fields, the others zero: put on an empty one, or on this number, at once."""
    shifts = _shifts(structure, length)
    for ident, value in values.items():
        try:
            shift, mask, others, end, size = shifts[ident]
        except KeyError:
            _PLACES[structure, ident]  # an unknown name is another mistake
            raise IndexError(f"{structure}.{ident} lies beyond {length} bytes") from None
        if isinstance(value, int):
            packed = packed & others | (value & mask) << shift
        elif len(value) > size:
            raise ValueError(f"{structure}.{ident} takes {size} bytes, not {len(value)}")
        else:
            shift, mask = end + 8 * (size - len(value)), (1 << 8 * len(value)) - 1
            packed = packed & ~(mask << shift) | int.from_bytes(value, "big") << shift
    return packed.to_bytes(length, "big")


_HEADER = LENGTH["FC"]
#: Bits behind each field of the frame header, and its mask.
IN_HEADER = {ident: (shift, mask) for ident, (shift, mask, *_) in _shifts("FC", _HEADER).items()}
_KIND_NAMES = [_text(lib.fcvi_kind_name(kind)) for kind in range(lib.FCVI_KIND_OTHER + 1)]
_IU_NAMES = [_text(lib.fcvi_iu_name(iu)).removeprefix("FCVI_") or None for iu in range(lib.FCVI_IU_NONE + 1)]
_USUAL_TEXT = 4096  # bytes; a longer text is printed twice
_room = ffi.new_allocator(should_clear_after_alloc=False)


class Frame:
    """A decoded frame."""

    __slots__ = (
        "data", "findings", "view", "_keep", "_header", "kind", "iu", "dh_offset", "dh_length", "payload_offset", "fill", "payload",
        "edition",
    )  # fmt: skip

    def __init__(self, data: bytes, view: Any, findings: list[Finding], parts: Sequence[int], keep: Any, edition: int = 0) -> None:
        self.data = data
        self.edition = edition  # of EDITION, by whose tables it was read
        self.findings = findings
        self.view = view
        self._keep = keep  # the C buffer that the view points into
        self._header = int.from_bytes(data[:_HEADER], "big") if len(data) >= _HEADER else None
        kind, iu, dh_offset, self.dh_length, payload_offset, payload_length, self.fill = parts
        self.kind: str = _KIND_NAMES[kind]
        self.iu: Optional[str] = _IU_NAMES[iu]
        self.dh_offset: int = 24 if dh_offset < 0 else dh_offset
        self.payload_offset: int = len(data) if payload_offset < 0 else payload_offset
        self.payload = data[self.payload_offset : self.payload_offset + payload_length]

    def get(self, structure: str, ident: str) -> Value:
        """A field of the header ("FC"), the Device_Header ("DH") or, with another name, of the payload.

        What a Device_Header is too short for reads as zero: the length itself is a finding, whatever a case looks at. The
        Device_Header is that of the edition by which the frame was read.
        """
        if structure == "FC" and self._header is not None:
            return self.header(ident)
        if structure == "DH" and self.edition:
            raw_dh = self.data[self.dh_offset : self.dh_offset + self.dh_length].ljust(LENGTH["DH_REV1"], b"\0")
            return get("DH_REV1", ident, raw_dh)
        byte, size, lo, mask, raw = _PLACES[structure, ident]
        start = byte if structure == "FC" else byte + (self.dh_offset if structure == "DH" else self.payload_offset)
        container = self.data[start : start + size]
        if len(container) < size:
            if structure == "DH":
                return 0
            raise IndexError(f"{structure}.{ident} lies beyond {len(self.data)} bytes")
        return container if raw else int.from_bytes(container, "big") >> lo & mask

    def header(self, ident: str) -> int:
        """A field of the header. Raises IndexError when the frame is too short to have it."""
        if self._header is None:
            value = self.get("FC", ident)
            assert isinstance(value, int)
            return value
        shift, mask = IN_HEADER[ident]
        return self._header >> shift & mask

    def where(self, structure: str, ident: str) -> tuple[int, str]:
        """The byte of the field's container in the frame, and its bits: "hi-lo"."""
        field = FIELDS["DH_REV1" if structure == "DH" and self.edition else structure][ident]
        return self._base(structure) + field.byte, f"{field.hi}-{field.lo}"

    @property
    def data_field(self) -> int:
        """How many bytes the Data_Field has: headers, payload and fill."""
        return len(self.data) - _HEADER

    @property
    def device_header(self) -> bytes:
        """The bytes of the Device_Header, wherever optional headers have put it (5.8.5)."""
        return self.data[self.dh_offset : self.dh_offset + self.dh_length]

    def _base(self, structure: str) -> int:
        return {"FC": 0, "DH": self.dh_offset}.get(structure, self.payload_offset)

    def _print(self, function: Any) -> str:
        out = _room("char[]", _USUAL_TEXT)
        length = function(self.view, out, _USUAL_TEXT)
        if length >= _USUAL_TEXT:
            out = ffi.new("char[]", length + 1)
            function(self.view, out, length + 1)
        return str(ffi.buffer(out, length), "ascii")

    def summary(self) -> str:
        """One line."""
        return self._print(lib.fcvi_print_summary)

    def text(self) -> str:
        """All fields in words."""
        return self._print(lib.fcvi_print_text)

    def json(self) -> dict[str, Any]:
        """All fields as data."""
        result: dict[str, Any] = json.loads(self._print(lib.fcvi_print_json))
        return result


_CAPACITY = 64


_DELIMITERS = {
    lib.FCVI_SOF_F: "SOFf", lib.FCVI_SOF_I2: "SOFi2", lib.FCVI_SOF_N2: "SOFn2", lib.FCVI_SOF_I3: "SOFi3", lib.FCVI_SOF_N3: "SOFn3",
    lib.FCVI_EOF_N: "EOFn", lib.FCVI_EOF_T: "EOFt", lib.FCVI_EOF_NI: "EOFni", lib.FCVI_EOF_A: "EOFa",
    lib.FCVI_EOF_DTI: "EOFdti", lib.FCVI_EOF_RTI: "EOFrti",
}  # fmt: skip


def _around(field: str, code: int) -> Optional[str]:
    """What was seen around the frame, where no byte of it can be pointed at; None: it is in the frame."""
    if field == "CRC":
        return "another CRC"
    return f"{_DELIMITERS.get(code, '')} ({code:02X}h)".lstrip() if field in ("SOF", "EOF") else None


def _message(field: str, message: str) -> str:
    """What is wrong, with the field once."""
    return message if message.startswith(f"{field} ") else f"{field}: {message}"


def finding_of(f: Any) -> Finding:
    """One finding of the C codec."""
    required, field = _text(f.required), _text(f.field)
    around = _around(field, f.seen)
    digits = max(1, (f.hi - f.lo + 4) // 4)
    whole = f.hi == 0 and f.lo == 0 and f.size != 1
    seen = f"{f.seen}" if whole else f"{f.seen:0{digits}X}h"
    delimiter = _around(field, f.required_value) if field in ("SOF", "EOF") else None
    wanted = required or delimiter or (f"{f.required_value}" if whole else f"{f.required_value:0{digits}X}h")
    return Finding(
        requirement=_text(f.requirement),
        cls=_text(lib.fcvi_class_name(f.cls)),
        message=_message(_text(f.field), _text(f.message)),
        seen=around or seen,
        required=wanted,
        byte=None if around else f.byte,
        bits=None if whole or around else f"{f.hi}-{f.lo}",
        erratum=_text(f.erratum) or None,
    )


class _Findings:
    """Room for the findings of one frame, and for where its parts are; it is used again and again."""

    def __init__(self) -> None:
        self._list = ffi.new("struct fcvi_finding[]", _CAPACITY)
        self.room = ffi.new("struct fcvi_findings *", {"list": self._list, "capacity": _CAPACITY})
        self.parts = ffi.new("int32_t[]", lib.CALLS_PARTS)

    def take(self, count: int) -> list[Finding]:
        """The first of them."""
        return [finding_of(self._list[i]) for i in range(min(count, _CAPACITY))]


_SPARE: list[_Findings] = []


def decode(data: bytes, sof: int = 0, eof: int = 0, crc: int = 0, answers: int = 0, edition: int = 0) -> Frame:
    """Decode and check one frame: header and Data_Field. sof, eof: one-byte codes, 0 when not known.

    answers: the ELS or CT command of the request that an LS_ACC or CT_ACC answers, which tells what it holds; 0 when not
    known. edition: of enum fcvi_edition; that of 2007 unless it is said.
    """
    keep, view = ffi.from_buffer("uint8_t[]", data), ffi.new("struct fcvi_frame *")
    spare = _SPARE.pop() if _SPARE else _Findings()  # popping is atomic: several threads decode
    if edition:
        count = lib.calls_decode_edition(keep, len(data), sof, eof, crc, edition, view, spare.room, spare.parts)
    else:
        count = lib.calls_decode(keep, len(data), sof, eof, crc, view, spare.room, spare.parts)
    frame = Frame(data, view, spare.take(count) if count else [], ffi.unpack(spare.parts, lib.CALLS_PARTS), keep, edition)
    _SPARE.append(spare)
    if answers:
        view.answers = answers
    return frame


class Assembly:
    """A connect IU that comes in several frames of one Sequence (E44), put together by the codec."""

    def __init__(self) -> None:
        self._assembly = ffi.new("struct fcvi_assembly *")

    def add(self, frame: Frame) -> bool:
        """Take the next frame of the Sequence, one of a connect IU; true when it ends the Sequence."""
        return bool(lib.fcvi_assembly_add(self._assembly, frame.view))

    def check(self) -> list[Finding]:
        """The findings of the whole; none when a part is missing or one frame held it all."""
        found = ffi.new("struct fcvi_finding[]", _CAPACITY)
        findings = ffi.new("struct fcvi_findings *", {"list": found, "capacity": _CAPACITY})
        lib.fcvi_assembly_check(self._assembly, findings)
        return [finding_of(found[i]) for i in range(min(findings.count, _CAPACITY))]


def constants() -> dict[str, int]:
    """The codec's values of codes.def by their C names without FCVI_, say R_CTL_ABTS or REASON_CONNECT_REJECT."""
    return {name.removeprefix("FCVI_"): value for name, value in ffi.typeof("enum fcvi_code_value").relements.items()}


def delimited(data: bytes, sof: int, eof: int, crc_ok: bool = True) -> bytes:
    """The frame with SOF, CRC and EOF, as a record of linktype 225 has it."""
    keep = ffi.from_buffer(data)
    source = ffi.new("struct fcvi_input *", {"bytes": ffi.cast("uint8_t *", keep), "length": len(data)})
    source.sof, source.eof, source.crc = sof, eof, CRC_OK if crc_ok else CRC_BAD
    out = ffi.new("uint8_t[]", len(data) + 12)
    length = lib.fcvi_capture_delimited(source, out, len(data) + 12)
    return bytes(ffi.buffer(out, length))
