"""The PDUs of VI/TCP (draft-dicecco-vitcp-00, clause 3), seen from Python, and the profiles that give the draft its numbers.

Nothing here knows a layout: that is the C codec's (codec/include/fcvi/pdu.h).
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Iterator, NamedTuple, Optional

from _fcvi import ffi, lib

from fcvi.engine import strict
from fcvi.engine.files import FileError, read_file
from fcvi.engine.pixit import Profile as OfRun
from fcvi.engine.results import Finding
from fcvi.engine.words import UsageError
from fcvi.fc.codec import finding_of


def _text(pointer: Any) -> str:
    return str(ffi.string(pointer), "ascii")


#: The PDUs and the VI Error Types in the words and in the order of the draft, and what a profile gives a place.
PDUS = tuple(_text(lib.fcvi_pdu_name(i)) for i in range(lib.FCVI_PDU_COUNT))
ERRORS = tuple(_text(lib.fcvi_vi_error_name(i)) for i in range(lib.FCVI_VI_ERROR_COUNT))
PLACES = tuple(_text(lib.fcvi_profile_field_name(i)) for i in range(lib.FCVI_P_COUNT))
MOST = 65535  #: bytes of a PDU: Segment Length has 16 bits
_CAPACITY = 64
_USUAL_TEXT = 4096
_LONGEST_FILE = 1 << 16


class ProfileError(ValueError, UsageError):
    """A profile that cannot be: one line that says what and where."""


def _run(mask: int) -> str:
    low = (mask & -mask).bit_length() - 1
    high = mask.bit_length() - 1
    return str(low) if low == high else f"{high}-{low}"


class Profile:
    """The numbers that the draft leaves without a value. struct: for the C codec."""

    def __init__(self, struct: Any) -> None:
        self.struct = struct

    @property
    def name(self) -> str:
        """What reports call it."""
        return _text(self.struct.name)

    def text(self) -> str:
        """The profile as a file says it, in one way only."""
        p = self.struct
        lines = [f'name = "{self.name}"', f"version = {p.version}", "", "[types]"]
        lines += [f'"{pdu}" = {p.types[i]}' for i, pdu in enumerate(PDUS)]
        lines += ["", "[errors]", *(f'"{error}" = {p.errors[i]}' for i, error in enumerate(ERRORS))]
        lines += ["", "[bits]", *(f'{place} = "{_run(p.bits[i])}"' for i, place in enumerate(PLACES))]
        return "\n".join(lines) + "\n"

    @property
    def numbers(self) -> tuple[object, ...]:
        """All that it says but its name."""
        p = self.struct
        return (p.version, *p.types, *p.errors, *p.bits)

    @property
    def of_run(self) -> OfRun:
        """What a run is told of it."""
        return OfRun(self.name, self.sha256, self.text())

    @property
    def sha256(self) -> str:
        """Of its text: equal numbers and names have equal hashes, however a file is written."""
        return hashlib.sha256(self.text().encode("ascii")).hexdigest()


T0 = Profile(lib.fcvi_profile_t0())


def _number(table: dict[str, Any], key: str, most: int) -> int:
    value = table.pop(key, None)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise ProfileError(f"{key!r} needs a number from 0 to {most}" + ("" if value is None else f", not {str(value)[:20]!r}"))
    return value


def _table(data: dict[str, Any], key: str) -> dict[str, Any]:
    value = data.pop(key, None)
    if not isinstance(value, dict):
        raise ProfileError(f"needs a table [{key}]")
    return dict(value)


def _mask(table: dict[str, Any], key: str) -> int:
    value = table.pop(key, None)
    high, dash, low = str(value).partition("-")
    if not (high.isascii() and high.isdigit() and (not dash or (low.isascii() and low.isdigit()))) or len(high + low) > 4:
        raise ProfileError(f'{key!r} needs its bits, such as "7-3" or "0"')
    first, last = int(low or high), int(high)
    if not first <= last <= 15:
        raise ProfileError(f"{key!r}: {value} are no bits from 15 to 0, the higher first")
    return (1 << last + 1) - (1 << first)


def of_text(text: str) -> Profile:
    """The profile that a file says. Raises ProfileError."""
    return _said(text.encode("utf-8"))


def _said(text: bytes) -> Profile:
    try:
        data = strict.toml(text)
    except ValueError as error:
        raise ProfileError(f"is no TOML: {error}") from error
    name = data.pop("name", None)
    if not isinstance(name, str) or not name.isascii() or not 0 < len(name) <= lib.FCVI_PROFILE_NAME_MAX:
        raise ProfileError(f"'name' needs 1 to {lib.FCVI_PROFILE_NAME_MAX} letters, digits, dots, underlines and hyphens")
    struct = ffi.new("struct fcvi_profile *")
    struct.name = name.encode("ascii")
    struct.version = _number(data, "version", 255)
    tables = {key: _table(data, key) for key in ("types", "errors", "bits")}
    struct.types = [_number(tables["types"], pdu, 31) for pdu in PDUS]
    struct.errors = [_number(tables["errors"], error, 65535) for error in ERRORS]
    struct.bits = [_mask(tables["bits"], place) for place in PLACES]
    for key, unknown in [*((key, table) for key, table in tables.items()), ("", data)]:
        if unknown:
            raise ProfileError(f"{next(iter(unknown))!r}{f' in [{key}]' if key else ''} is nothing that a profile has")
    problem = lib.fcvi_profile_problem(struct)
    if problem != ffi.NULL:
        raise ProfileError(_text(problem))
    return Profile(struct)


def load(path: Optional[str]) -> Profile:
    """The profile of a file; without one T0. Raises ProfileError, with the name of the file."""
    if path is None:
        return T0
    try:
        data = read_file(Path(path))
        if len(data) > _LONGEST_FILE:
            raise ProfileError(f"is longer than {_LONGEST_FILE} bytes")
        return _said(data)
    except FileError as error:
        raise ProfileError(error) from error
    except ProfileError as error:
        raise ProfileError(f"{path}: {error}") from error


class Value(NamedTuple):
    """A field of a PDU: its index in the table, where its structure begins, and what it holds."""

    field: int
    base: int
    value: int | bytes


class Pdu:
    """What stands at the beginning of a stream: a PDU, a part of one, or what is none.

    step: "pdu", "more" or "broken". needed: bytes that are needed to go on ("more"), else Segment Length.
    """

    __slots__ = ("data", "findings", "step", "kind", "needed", "headers", "_view", "_keep")

    def __init__(self, data: bytes, step: str, view: Any, findings: list[Finding], keep: Any) -> None:
        self.data = data[: view.there]
        self.step = step
        self.findings = findings
        self.kind: Optional[str] = PDUS[view.pdu] if view.pdu < len(PDUS) else None
        self.needed: int = view.length
        self.headers: int = view.headers
        self._view, self._keep = view, keep

    def _print(self, function: Any) -> str:
        out = ffi.new("char[]", _USUAL_TEXT)
        length = function(self._view, out, _USUAL_TEXT)
        if length >= _USUAL_TEXT:
            out = ffi.new("char[]", length + 1)
            function(self._view, out, length + 1)
        return str(ffi.string(out), "ascii")

    def summary(self) -> str:
        """One line."""
        return self._print(lib.fcvi_pdu_print_summary)

    def text(self) -> str:
        """All fields in words."""
        return self._print(lib.fcvi_pdu_print_text)

    def json(self) -> dict[str, Any]:
        """All fields as data."""
        result: dict[str, Any] = json.loads(self._print(lib.fcvi_pdu_print_json))
        return result

    def encoded(self) -> bytes:
        """The PDU put together again from its values alone; nothing when it is not whole."""
        values = ffi.new("struct fcvi_values *")
        if lib.fcvi_pdu_values_of(self._view, values) != 0:
            return b""
        out = ffi.new("uint8_t[]", MOST)
        return bytes(ffi.buffer(out, lib.fcvi_pdu_encode(self._view.profile, values, out, MOST)))


_STEPS = ("more", "pdu", "broken")


def first(data: bytes, profile: Profile = T0) -> Pdu:
    """What a stream that begins with these bytes begins with."""
    keep, view = ffi.from_buffer("uint8_t[]", data), ffi.new("struct fcvi_pdu *")
    found = ffi.new("struct fcvi_finding[]", _CAPACITY)
    findings = ffi.new("struct fcvi_findings *", {"list": found, "capacity": _CAPACITY})
    step = lib.fcvi_pdu_first(profile.struct, keep, len(data), view, findings)
    return Pdu(data, _STEPS[step], view, [finding_of(found[i]) for i in range(min(findings.count, _CAPACITY))], (keep, profile))


def divide(pieces: Iterator[bytes], profile: Profile = T0) -> Iterator[Pdu]:
    """The PDUs of a stream that comes in any pieces; the last one may be a part of a PDU, or what is none."""
    rest = bytearray()
    needed = 1
    for piece in pieces:
        rest += piece
        at = 0
        while len(rest) - at >= needed:
            pdu = first(bytes(rest[at : at + MOST]), profile)
            if pdu.step == "more":
                needed = pdu.needed
                break
            yield pdu
            if pdu.step == "broken":
                return
            at += len(pdu.data)
            needed = 1
        del rest[:at]
    if rest:
        yield first(bytes(rest), profile)
