"""The fields of a frame by the names of the field table, for --filter and --fields."""

from __future__ import annotations

import functools
import re
from typing import Any, Iterable, Optional, Sequence

from fcvi.engine.filters import Condition, Value, conditions_of, fields_of, plain
from fcvi.engine.results import Finding
from fcvi.engine.words import printable
from fcvi.fc import codec

from .reader import KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class View(Protocol):
        """A frame, or a PDU of VI/TCP."""

        def json(self) -> dict[str, Any]:
            """All fields as data."""

#: What every frame has besides its fields. time: seconds from the first record.
OF_FRAME = ("frame", "time", "record", "kind", "iu", "title", "length", "sof", "eof", "crc", "network", "pdu", "connection")
#: What a finding has.
OF_FINDING = ("requirement", "class", "message")


@functools.cache
def names() -> tuple[str, ...]:
    """All that may be named: fields as the standard prints them or as the table identifies them, alone or behind the structure
    or the field that they are in (FCVI_LOC_ADDR.HOST_ADD)."""
    found: dict[str, str] = {plain(name): name for name in (*OF_FRAME, *OF_FINDING)}

    def put(name: str) -> None:
        found.setdefault(plain(name), re.sub(r"[^0-9A-Za-z_.]+", "_", name).strip("_"))

    structures = _structures()
    for field in filter(_has_values, codec.TABLE):
        for name in (field.name, field.ident):
            put(name)
            put(f"{structures[field.structure]}.{name}")
    for outer in codec.TABLE:
        for inner in codec.FIELDS[outer.sub].values() if outer.sub is not None else ():
            if _has_values(inner):
                put(f"{outer.name}.{inner.name}")
    return tuple(found.values())


def _has_values(field: codec.Field) -> bool:
    return field.kind not in ("rsvd", "nest", "group")


@functools.cache
def codes(name: str) -> tuple[str, ...]:
    """The words that a name of ``names`` can have; none where it can have any."""
    key = plain(name)
    if key == "iu":
        return tuple(codec.IUS)
    if key == "record":
        return (*KINDS, "pdu")
    if key == "class":
        return ("malformed", "violation", "notice")
    inner = key.rpartition(".")[2]
    same = [f for f in codec.TABLE if inner in (plain(f.name), plain(f.ident))]
    if not all(field.codes for field in same):
        return ()
    return tuple(dict.fromkeys(word for field in same for _, word in field.codes))


@functools.cache
def _structures() -> dict[str, str]:
    from _fcvi import ffi, lib

    count = ffi.new("size_t *")
    table = lib.fcvi_structure_table(count)
    return {str(ffi.string(s.ident), "ascii"): str(ffi.string(s.name), "ascii") for s in table[0 : count[0]]}


@functools.cache
def _printed() -> dict[str, tuple[str, ...]]:
    """Of each name in the table's own writing the printed ones that it stands for."""
    found: dict[str, dict[str, None]] = {}
    for field in codec.TABLE:
        found.setdefault(plain(field.ident), {})[plain(field.name)] = None
        found.setdefault(plain(field.name), {})[plain(field.name)] = None
    return {name: tuple(printed) for name, printed in found.items()}


_ADDRESSES = frozenset(plain(field.name) for field in codec.TABLE if field.kind == "id24")
_DECIMAL = frozenset(plain(field.name) for field in codec.TABLE if field.kind in ("dec", "flag"))


class Fields:
    """A frame (None: the record has none), what is known of its record, and the findings about it."""

    def __init__(self, frame: Optional[View], around: dict[str, Any], findings: Sequence[Finding] = ()) -> None:
        self._frame, self._around, self._findings = frame, around, findings
        self._json: Optional[dict[str, Any]] = None

    def about(self, finding: Finding) -> Fields:
        """The same with one of the findings."""
        other = Fields(self._frame, self._around, [finding])
        other._json = self._json
        return other

    def _object(self) -> dict[str, Any]:
        if self._json is None:
            self._json = self._frame.json() if self._frame is not None else {}
        return self._json

    def _named(self, name: str) -> Iterable[dict[str, Any]]:
        outer, _, inner = plain(name).rpartition(".")
        wanted = _printed().get(inner, (inner,))
        for field in self._object().get("fields", ()):
            if plain(field["name"]) in wanted and outer in ("", plain(field["within"] or ""), plain(field["structure"])):
                yield field

    def values(self, name: str) -> list[Value]:
        """Of a name of ``names``; none where the frame does not have it."""
        name = plain(name)
        if name in self._around:
            return _values([self._around[name]])
        if name in OF_FINDING:
            return [Value(None, (str(getattr(f, "cls" if name == "class" else name)),)) for f in self._findings]
        if name in ("sof", "eof"):  # i3 and SOFi3 are one
            return [Value(v.number, (v.words[0], f"{name}{v.words[0]}")) for v in _values([self._object().get(name)])]
        if name in OF_FRAME:
            return _values([self._object().get(name)])
        return [_value_of(field) for field in self._named(name)]

    def shown(self, name: str) -> str:
        """For people: numbers as the standard prints them."""
        key = plain(name)
        if key == "time":
            return ",".join(f"{value.number:.6f}" for value in self.values(name) if value.number is not None)
        if key in ("sof", "eof"):
            return ",".join(f"{key.upper()}{value.words[0]}" for value in self.values(name))
        if key in self._around or key in OF_FRAME or key in OF_FINDING:
            return ",".join(value.words[0] for value in self.values(name))
        return ",".join(_shown(field) for field in self._named(name))

    def data(self, name: str) -> Any:
        """For JSON: the value, a list where there are several, None without one."""
        if name in self._around or name in OF_FRAME or name in OF_FINDING:
            found = [v.words[0] if v.number is None else v.number for v in self.values(name)]
        else:
            found = [field["value"] for field in self._named(name)]
        return found[0] if len(found) == 1 else found or None


def _values(found: Sequence[Any]) -> list[Value]:
    return [
        Value(value if isinstance(value, (int, float)) else None, (str(value),)) for value in found if value not in (None, "")
    ]  # fmt: skip


def _number(field: dict[str, Any]) -> Optional[int]:
    value = field["value"]
    if isinstance(value, str):
        return int(value, 16) if field["bits"] else None
    return int(value)


def _value_of(field: dict[str, Any]) -> Value:
    number = _number(field)
    words = tuple(str(word) for word in (field["text"], field["value"]) if word is not None)
    return Value(number, words, plain(field["name"]) in _ADDRESSES)


def _shown(field: dict[str, Any]) -> str:
    number = _number(field)
    name = plain(field["name"])
    if number is None:
        return str(field["text"] if field["text"] is not None else field["value"])
    if name in _ADDRESSES:
        return f"{number:06X}"
    if name in _DECIMAL:
        return str(number)
    high, _, low = str(field["bits"]).partition("-")
    return f"{number:0{(int(high) - int(low)) // 4 + 1}X}h"


class Wishes:
    """What --filter and --fields say. Raises FilterError."""

    def __init__(self, conditions: Sequence[str], fields: Optional[str]) -> None:
        self.conditions: list[Condition] = conditions_of(conditions, names(), codes)
        self.fields: list[str] = fields_of(fields, names())

    def __bool__(self) -> bool:
        return bool(self.conditions or self.fields)

    def holds(self, frame: Fields) -> bool:
        """Whether all of the conditions do."""
        return all(condition(frame.values) for condition in self.conditions)

    def line(self, frame: Fields) -> str:
        """The fields for people and scripts, a tab between two."""
        return "\t".join(printable(frame.shown(name)) for name in self.fields)

    def chosen(self, frame: Fields) -> dict[str, Any]:
        """The fields for JSON."""
        return {name: frame.data(name) for name in self.fields}
