"""Reads what the lab declares in one TOML file: PICS, PIXIT and the deviations it knows of.

    [pics]                         # items of the DUT protocol; left out altogether: what the DUT says in hello
    client = true

    [pixit]                        # all optional
    r_a_tov_ms = 600
    e_d_tov_ms = 200
    late_ms = 150
    early_ms = 12
    ulp_timeout_ms = 600           # of a device of FC-VI Rev 1.0: its FCVI_ULP_TIMEOUT
    dut = { n_port_id = "010200", host = ["fe8000000000000000000000000000b2"] }
    tester = { port_name = "10000000c9000001", node_name = "20000000c9000001" }

    [[deviation]]                  # a requirement, a case (globs allowed) or both, and why
    requirement = "FCVI-8.5.4-01"
    case = "C.5.7.*"
    reason = "one retry only with firmware 2"
    link = "https://bugs.example/17"

    [lab] and [item]: who tests what for whom; see laboratory.py
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Collection, Optional

from . import laboratory, pics as pics_module, strict
from .case import load_cases
from .deviation import MOST, Deviation
from .files import FileError, damage, read_file
from .pics import PicsError
from .pixit import DUT, MS, TESTER, Given, Identity
from .words import near

_LONGEST_MS = 24 * 3600 * 1000
_TIMES = {"r_a_tov_ms": "r_a_tov_us", "e_d_tov_ms": "e_d_tov_us", "late_ms": "late_us", "early_ms": "early_us",
          "ulp_timeout_ms": "ulp_timeout_us"}  # fmt: skip
_NAMES = {"port_name": 16, "node_name": 16, "n_port_id": 6}
_DEVIATION = ("requirement", "case", "reason", "link")
_TABLES = ("pics", "pixit", "deviation", "lab", "item")


@dataclass(frozen=True)
class Declaration:
    """The file. pics is None when the DUT's own are to be used."""

    pics: Optional[dict[str, Any]] = None
    pixit: Given = Given()
    deviations: tuple[Deviation, ...] = ()
    lab: dict[str, str] = field(default_factory=dict)
    item: dict[str, str] = field(default_factory=dict)


def load(path: Optional[Path], requirements: Collection[str]) -> Declaration:
    """Read the file; without one, nothing is declared. Raises PicsError."""
    if path is None:
        return Declaration()
    data, where = _read(path), str(path)
    return Declaration(
        _pics(data, where), _pixit(data.get("pixit", {}), where), _deviations(data, where, requirements),
        laboratory.table(data, "lab", where), laboratory.table(data, "item", where),
    )  # fmt: skip


def claims(path: Path) -> Optional[dict[str, Any]]:
    """The items of the file's [pics] alone; None without any. Raises PicsError."""
    return _pics(_read(path), str(path))


def _read(path: Path) -> dict[str, Any]:
    try:
        data = strict.toml(read_file(path))
    except FileError as error:
        raise PicsError(f"--pics {error}") from error
    except ValueError as error:  # of TOML, or a number of thousands of digits
        raise PicsError(f"{path}: not a TOML file: {damage(error)}") from error
    if not data:  # cut off, or written to no purpose: neither "claims nothing" nor "as hello says" is what it was meant to say
        raise PicsError(f"{path}: declares nothing; `fcvi pics new` writes a file to begin with")
    return data


def _pics(data: dict[str, Any], where: str) -> Optional[dict[str, Any]]:
    """Items in [pics] or, in a file without it, at the top level."""
    table = data.get("pics", {name: value for name, value in data.items() if name not in _TABLES})
    if not isinstance(table, dict):
        raise PicsError(f"{where}: [pics] must be a table")
    extra = [name for name in data if name not in _TABLES]
    strange = next((name for name in extra if "pics" in data or isinstance(data[name], (dict, list))), None)
    if strange is not None:
        raise PicsError(f"{where}: no table is called [{strange}]{near(strange, _TABLES)}; the tables are {', '.join(_TABLES)}")
    if not table and "pics" not in data:
        return None
    return pics_module.complete(table, where)


def _pixit(table: Any, where: str) -> Given:
    if not isinstance(table, dict):
        raise PicsError(f"{where}: [pixit] must be a table")
    times: dict[str, int] = {}
    for name, value in table.items():
        if name in _TIMES:
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _LONGEST_MS:
                raise PicsError(f"{where}: PIXIT {name} must be milliseconds from 1 to {_LONGEST_MS}, not {value!r:.60}")
            times[_TIMES[name]] = value * MS
        elif name not in ("dut", "tester"):
            known = ", ".join((*_TIMES, "dut", "tester"))
            raise PicsError(f"{where}: unknown PIXIT item {name!r}{near(name, _TIMES)}; known: {known}")
    dut, tester = _identity(table, "dut", DUT, where), _identity(table, "tester", TESTER, where)
    for name in (*_NAMES, "host"):
        same = set(dut.host) & set(tester.host) if name == "host" else getattr(dut, name) == getattr(tester, name)
        if same:
            raise PicsError(f"{where}: PIXIT {name} is the same for dut and tester")
    return Given(**times, dut=dut, tester=tester)


def _identity(pixit: dict[str, Any], side: str, default: Identity, where: str) -> Identity:
    table = pixit.get(side, {})
    if not isinstance(table, dict):
        raise PicsError(f"{where}: PIXIT {side} must be a table")
    chosen: dict[str, Any] = {}
    for name, value in table.items():
        if name in _NAMES:
            chosen[name] = _hexadecimal(value, _NAMES[name], f"{where}: PIXIT {side}.{name}")
        elif name == "host":
            if not isinstance(value, list) or not 1 <= len(value) <= 4:
                raise PicsError(f"{where}: PIXIT {side}.host must be an array of 1 to 4 addresses")
            chosen[name] = tuple(_hexadecimal(host, 32, f"{where}: PIXIT {side}.host") for host in value)
        else:
            raise PicsError(f"{where}: unknown PIXIT item {side}.{name}{near(name, _NAMES)}; known: "
                            f"{', '.join((*_NAMES, 'host'))}")  # fmt: skip
    identity = replace(default, **chosen)
    if int(identity.n_port_id, 16) == 0 or int(identity.n_port_id, 16) >= 0xFFFFF0:
        raise PicsError(f"{where}: PIXIT {side}.n_port_id must be the identifier of an N_Port, not {identity.n_port_id}")
    return identity


def _hexadecimal(value: Any, digits: int, what: str) -> str:
    if not isinstance(value, str) or not re.fullmatch(f"[0-9A-Fa-f]{{{digits}}}", value):
        raise PicsError(f"{what} must be {digits} hexadecimal digits, not {value!r:.60}")
    return value.lower()


def _deviations(data: dict[str, Any], where: str, requirements: Collection[str]) -> tuple[Deviation, ...]:
    tables = data.get("deviation", [])
    if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        raise PicsError(f"{where}: deviations are written as [[deviation]]")
    if len(tables) > MOST:
        raise PicsError(f"{where}: {len(tables)} deviations are more than the {MOST} that are compared with every case")
    found = []
    for number, table in enumerate(tables, 1):
        which = f"{where}: deviation {number}"
        for name, value in table.items():
            if name not in _DEVIATION:
                raise PicsError(f"{which}: unknown item {name!r}{near(name, _DEVIATION)}; known: {', '.join(_DEVIATION)}")
            if not isinstance(value, str) or not value.strip():
                raise PicsError(f"{which}: {name} must be words, not {value!r:.60}")
        if "reason" not in table:
            raise PicsError(f"{which}: it needs a reason")
        if "requirement" not in table and "case" not in table:
            raise PicsError(f"{which}: it needs a requirement or a case")
        try:
            deviation = Deviation(**table)
        except ValueError as error:
            raise PicsError(f"{which}: {error}") from error
        if deviation.requirement is not None and deviation.requirement not in requirements:
            raise PicsError(f"{which}: no requirement has the id {deviation.requirement!r}")
        if not any(deviation.names_case(v) for c in load_cases() for v in c.variant_ids()):
            raise PicsError(f"{which}: no case matches {deviation.case!r}; `fcvi list` shows what there is")
        found.append(deviation)
    return tuple(found)
