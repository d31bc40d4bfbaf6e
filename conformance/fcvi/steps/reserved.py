"""Every place of an IU that the standard calls Reserved, from the codec's field table; and the tester that sets them.

A place is a bit of a field within one byte, or a byte of a wider field: what a device could look at by
itself. Nothing is listed here but what the text says in words beside the tables.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import Iterator, Optional, Sequence

from fcvi.engine.scenario import Failed
from fcvi.fc.scenario import Scenario
from fcvi.fc import codec
from fcvi.fc.build import HEADER, RawFrame

IGNORED, SENT_AS_ZERO = "FCVI-5.9.5-02", "FCVI-5.9.5-01"

#: Forms of an IU: as it is, or with CONN_STS one, which gives Word 3 the layout of Table 11 (5.9.7.1).
PLAIN, STATUS = "plain", "status"
_ADDRESSED = ("WRITE_RQST", "READ_RQST", "READ_RESP")
_REQUESTS = ("SEND_RQST", "WRITE_RQST", "READ_RQST")
#: Fields that are Reserved in some IUs only, in the words of the text: 5.9.8 and 5.9.9 except these three; 5.9.4.2 while
#: IMM_DATA is zero.
_RESERVED_ELSEWHERE = {"FCVI_RMT_VA": "FCVI-5.9.8-02", "FCVI_RMT_VA_HANDLE": "FCVI-5.9.9-02"}
_WITHOUT_IMMEDIATE = {"MSG_PARAMETER": "FCVI-5.9.4.2-02"}
_STRUCTURES = {"CONNECT_RQST": "CONN", "CONNECT_RESP1": "CONN"}


@dataclass(frozen=True)
class Place:
    """Reserved bits of an IU, byte by byte, as (offset, mask): the offset counts from the Device_Header, or in the payload.

    field: path in the field table. requirement: what the table names for it.
    """

    iu: str
    field: str
    words: str
    requirement: str
    in_payload: bool
    masks: tuple[tuple[int, int], ...]


def _is_reserved(iu: str, field: codec.Field) -> Optional[str]:
    """The requirement that makes this field of the IU Reserved; None for a field that means something."""
    if field.kind == "rsvd":
        return field.requirement
    if iu not in _ADDRESSED and field.ident in _RESERVED_ELSEWHERE:
        return _RESERVED_ELSEWHERE[field.ident]
    return _WITHOUT_IMMEDIATE.get(field.ident) if iu in _REQUESTS else None


def _fields(iu: str, structure: str, base: int = 0, path: str = "") -> Iterator[tuple[str, int, codec.Field, str]]:
    """Path, offset, field and requirement of all that is Reserved in a structure and in those nested in it."""
    bit = 1 << list(codec.IUS).index(iu)
    for field in codec.TABLE:
        if field.structure != structure or not field.ius & bit:
            continue
        if field.sub is not None:
            yield from _fields(iu, field.sub, base + field.byte, f"{path}{field.ident}.")
            continue
        requirement = _is_reserved(iu, field)
        if requirement is not None and base + field.byte + field.size <= _length(iu, structure, path):
            yield path + field.ident, base + field.byte, field, requirement


def _length(iu: str, structure: str, path: str) -> int:
    return codec.IUS[iu].dh_size if structure == "DH" and not path else 1 << 16


def _units(field: codec.Field, offset: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """The bits of a field within one byte, the bytes of any other."""
    mask = ((1 << (field.hi - field.lo + 1)) - 1) << field.lo
    per_byte = [(offset + i, mask >> 8 * (field.size - 1 - i) & 0xFF) for i in range(field.size)]
    for at, part in per_byte:
        if part == 0xFF and field.hi - field.lo > 7:
            yield f"byte {at}", (at, part)
            continue
        for bit in range(7, -1, -1):
            if part >> bit & 1:
                yield f"byte {at} bit {bit}", (at, 1 << bit)


def places(iu: str, form: str = PLAIN) -> list[Place]:
    """Every place of the IU, each by itself; of form STATUS those of Table 11 only."""
    found = []
    for structure in ("DH", _STRUCTURES.get(iu)):
        if structure is None:
            continue
        where = "Device_Header" if structure == "DH" else "payload"
        for path, offset, field, requirement in _fields(iu, structure):
            if (field.ident == "PARAM_RSVD") == (form == STATUS):
                for words, unit in _units(field, offset):
                    found.append(
                        Place(iu, path, f"{words} of the {where} ({path})", requirement, structure != "DH", (unit,))
                    )  # fmt: skip
    return found


def together(iu: str, pattern: int = 0xFF) -> list[Place]:
    """All places of the plain IU at once, or those of them that are ones in this byte; as one place of the Device_Header and
    one of the payload."""
    every = places(iu)
    made = []
    for in_payload in (False, True):
        masks: dict[int, int] = {}
        for place in every:
            for offset, mask in place.masks if place.in_payload is in_payload else ():
                masks[offset] = masks.get(offset, 0) | mask & pattern
        if masks:
            words = f"all Reserved bits ({pattern:02X}h) of the {'payload' if in_payload else 'Device_Header'}"
            made.append(Place(iu, "", words, SENT_AS_ZERO, in_payload, tuple(sorted(masks.items()))))
    return made


def fields_of(iu: str, form: str = PLAIN) -> list[str]:
    """The paths of the Reserved fields of the IU."""
    return list(dict.fromkeys(p.field for p in places(iu, form)))


# ---- on the wire ----


def set_in(data: bytes, chosen: Sequence[Place]) -> bytes:
    """The frame with these places set, if it is of their IU; what lies in another frame of the Sequence stays."""
    view = codec.decode(data)
    buf = bytearray(data)
    for place in chosen:
        if view.iu != place.iu:
            continue
        base = view.dh_offset
        if place.in_payload:
            base = view.payload_offset - view.header("Parameter")
        first = view.payload_offset if place.in_payload else HEADER
        for offset, mask in place.masks:
            if first <= base + offset < len(buf):
                buf[base + offset] |= mask
    return bytes(buf)


@contextmanager
def reserved_set(t: Scenario, chosen: Sequence[Place]) -> Iterator[None]:
    """The tester's IUs carry Reserved bits. If anything goes wrong within that went well before, they are named."""
    before = len(t.findings)
    words = ", ".join(p.words for p in chosen)
    if chosen:
        t.step(f"FCVI_{chosen[0].iu} with {words} set")
        t.tester.rewrite = lambda frame: RawFrame(set_in(frame.data, chosen), frame.sof, frame.eof, frame.crc_ok)
    try:
        yield
    except Failed:
        _name(t, chosen, words, True)
        raise
    finally:
        t.tester.rewrite = None
    _name(t, chosen, words, any(f.cls == "behaviour" for f in t.findings[before:]))


def _name(t: Scenario, chosen: Sequence[Place], words: str, changed: bool) -> None:
    if not chosen:
        return
    for requirement in dict.fromkeys([IGNORED, *(p.requirement for p in chosen if p.requirement != SENT_AS_ZERO)]):
        t.require(not changed, requirement, f"the DUT does not ignore {words} of FCVI_{chosen[0].iu}",
                  "another behaviour than with zeros", "the same")  # fmt: skip
