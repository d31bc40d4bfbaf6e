"""Write the Wireshark dissector: the field table as Lua, and the parts beside it, in harness/wireshark/fcvi.lua.in.

    python -m fcvi.dissector TEMPLATE > fcvi.lua
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Iterator

from fcvi.fc import codec

_STRUCTURES = ("DH", "CONN", "INFO", "ADDR", "ATTRS", "QOS")
#: Structures that stand once, so that their fields need no longer name; the others are named by who contains them.
TOP = {"DH": "fcvi", "CONN": "fcvi.conn", "INFO": "fcvi.conn"}
_CONTAINER_BITS = {1: 8, 2: 16, 3: 24, 4: 32, 8: 64}


def _short(ident: str) -> str:
    return ident.lower().removeprefix("fcvi_")


def abbreviation(path: str, field: codec.Field) -> str:
    """The name that display filters have for the field, in the structure of that name."""
    return f"{path}.{_short(field.ident)}"


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _values(field: codec.Field) -> str:
    return "{ " + ", ".join(f"[{value}] = {_quote(name)}" for value, name in field.codes) + " }" if field.codes else "nil"


def _proto_field(path: str, field: codec.Field) -> str:
    name, label = _quote(abbreviation(path, field)), _quote(field.name)
    if field.ident == "HOST_ADD":
        return f"ProtoField.ipv6({name}, {label})"
    if field.kind in ("blob", "nest"):
        return f"ProtoField.bytes({name}, {label})"
    bits = _CONTAINER_BITS[field.size]
    whole = field.hi - field.lo + 1 == bits
    mask = "nil" if whole else hex(((1 << (field.hi - field.lo + 1)) - 1) << field.lo)
    if field.kind == "flag":
        return f"ProtoField.bool({name}, {label}, {bits}, nil, {mask})"
    base = "base.DEC" if field.kind == "dec" else "base.HEX"
    return f"ProtoField.uint{bits}({name}, {label}, {base}, {_values(field)}, {mask})"


def tables_of(structure: str, path: str) -> Iterator[tuple[str, str, codec.Field]]:
    """Every table of Lua that is needed: its name, the name before its fields', and a field. Nested ones follow."""
    nested = []
    for field in codec.FIELDS[structure].values():
        if field.kind == "group":
            continue
        yield structure if path in TOP.values() else path, path, field
        if field.sub is not None and field.kind == "nest":
            nested.append(field)
    for field in nested:
        assert field.sub is not None
        yield from tables_of(field.sub, abbreviation(path, field))


def tables() -> str:
    """The Lua tables."""
    lines = ["local structures = {}"]
    seen = set()
    for structure, top in TOP.items():
        for table, path, field in tables_of(structure, top):
            if table not in seen:
                lines.append(f"structures[{_quote(table)}] = {{}}")
                seen.add(table)
            nest = f", nest = {_quote(abbreviation(path, field))}" if field.kind == "nest" else ""
            where = f"at = {field.byte}, size = {field.size}, ius = {field.ius:#x}{nest}"
            lines.append(f"table.insert(structures[{_quote(table)}], {{ {where},")
            lines.append(f"    field = {_proto_field(path, field)} }})")
    lines.append("local lengths = { " + ", ".join(f"{s} = {codec.LENGTH[s]}" for s in _STRUCTURES) + " }")
    ius = list(enumerate(codec.IUS.items()))
    lines.append("local opcodes = { " + ", ".join(f"[{iu.opcode:#04x}] = {i}" for i, (_, iu) in ius) + " }")
    lines.append("local device_headers = { " + ", ".join(f"[{i}] = {iu.dh_size}" for i, (_, iu) in ius) + " }")
    lines.append("local names = { " + ", ".join(f"[{i}] = {_quote('FCVI_' + name)}" for i, (name, _) in ius) + " }")
    both = ("CONNECT_RQST", "CONNECT_RESP1")
    lines.append("local connect = { " + ", ".join(f"[{i}] = true" for i, (name, _) in ius if name in both) + " }")
    return "\n".join(lines)


def main() -> int:
    """Print the dissector."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    template = Path(sys.argv[1])
    text = template.read_text().replace("@TABLES@", tables())
    for part in sorted(template.parent.glob("*.lua")):
        text = text.replace(f"@{part.name}@", part.read_text())
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
