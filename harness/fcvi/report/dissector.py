"""Write the Wireshark dissector: the field table as Lua, and the parts beside it, in harness/wireshark/fcvi.lua.in.

    python -m fcvi.report.dissector TEMPLATE [PROFILE] > fcvi.lua
    python -m fcvi.report.dissector --filters

PROFILE is a file with the numbers of VI/TCP that its draft never assigned; without it those of profile T0 are taken.
--filters prints the table of harness/docs/filters.md.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Iterator

from fcvi.fc import codec
from fcvi.vitcp import codec as vitcp

_STRUCTURES = ("DH", "CONN", "INFO", "ADDR", "ATTRS", "QOS")
#: Structures that stand once, so that their fields need no longer name; the others are named by who contains them.
TOP = {
    "DH": "fcvi", "CONN": "fcvi.conn", "INFO": "fcvi.conn",
    "DH_REV1": "fcvi.rev1", "CONN_REV1": "fcvi.rev1.conn",
}  # fmt: skip
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


def _proto_field(path: str, field: codec.Field, filtered: str = "") -> str:
    name, label = _quote(filtered or abbreviation(path, field)), _quote(field.name)
    if field.ident in ("HOST_ADD", "HOST_IP_ADDR"):
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
    for edition, words in (("2007", codec.IUS), ("rev1", codec.IUS_REV1)):
        sizes = ", ".join(f"[{iu.opcode:#04x}] = {iu.dh_size}" for iu in words.values())
        lines.append(f"editions.sizes_{edition} = {{ {sizes} }}")
    numbers = {name: i for i, (name, _) in ius}
    old = [(numbers[name], iu) for name, iu in codec.IUS_REV1.items()]
    lines.append("editions.opcodes = { " + ", ".join(f"[{iu.opcode:#04x}] = {i}" for i, iu in old) + " }")
    lines.append("editions.device_headers = { " + ", ".join(f"[{i}] = {iu.dh_size}" for i, iu in old) + " }")
    return "\n".join([*lines, *_status_tables("DH", ""), *_status_tables("DH_REV1", "_rev1"), _message_ius()])


def _status_tables(structure: str, suffix: str) -> list[str]:
    """What the Info column says of the flags and of the Reason Code. judges: the flag says whether something failed."""
    fields = codec.FIELDS[structure].values()
    flags = [
        f"{{ mask = {1 << f.lo:#04x}, ius = {f.ius:#x}, name = {_quote(f.name)}, "
        f"judges = {'true' if f.name.endswith('_ERR') or f.ident == 'CONN_STS' else 'false'} }}"
        for f in fields if f.kind == "flag" and f.byte == 5
    ]  # fmt: skip
    reason = codec.FIELDS[structure]["Reason_Code"]
    return [
        f"local flags{suffix} = {{ {', '.join(flags)} }}",
        f"local reasons{suffix}, reason_ius{suffix} = {_values(reason)}, {reason.ius:#x}",
    ]


def _message_ius() -> str:
    masks = sum(1 << i for i, iu in enumerate(codec.IUS.values()) if iu.category.startswith("message") or iu.opcode in (0x12, 0x1B))
    return f"local message_ius = {masks:#x}"


#: Structures of VI/TCP and what stands before the names of their fields.
VITCP = {"SEG": "vitcp", "CE": "vitcp.ce", "RDMA": "vitcp.rdma"}


def vitcp_abbreviation(field: codec.Field) -> str:
    """The name that display filters have for a field of VI/TCP."""
    ident = field.ident.lower()
    return f"{VITCP[field.structure]}.{ident.removeprefix('rdma_') if field.structure == 'RDMA' else ident}"


def vitcp_fields(profile: vitcp.Profile) -> Iterator[tuple[codec.Field, int]]:
    """The fields of VI/TCP with the bits that the profile gives them, as mask of their container."""
    placed = dict(zip(vitcp.PLACES, profile.struct.bits))
    attributes = sum(mask for place, mask in placed.items() if place.startswith("CE_"))
    names = {"Type": profile.struct.types, "VI_Error_Type": profile.struct.errors}
    words = {"Type": vitcp.PDUS, "VI_Error_Type": vitcp.ERRORS}
    for structure in VITCP:
        for field in codec.FIELDS[structure].values():
            if field.kind == "group":
                continue
            mask = placed.get(f"{structure}_{field.ident}", ((1 << field.hi - field.lo + 1) - 1) << field.lo)
            if field.kind == "rsvd":
                mask = 0xFFFF & ~attributes
            low, high = (mask & -mask).bit_length() - 1, mask.bit_length() - 1
            codes = tuple(zip(names[field.ident], words[field.ident])) if field.ident in names else field.codes
            yield field._replace(hi=high, lo=low, codes=codes), mask


def vitcp_tables(profile: vitcp.Profile) -> str:
    """The Lua tables of VI/TCP."""
    lines = [f"local vitcp_structures = {{ {', '.join(f'{structure} = {{}}' for structure in VITCP)} }}"]
    for field, mask in vitcp_fields(profile):
        where = f"at = {field.byte}, size = {field.size}"
        path = VITCP[field.structure]
        if field.kind != "blob" and mask & mask + (mask & -mask):  # bits that do not lie together
            where += f", mask = {mask:#x}, low = {field.lo}"
            proto = f"ProtoField.uint16({_quote(vitcp_abbreviation(field))}, {_quote(field.name)}, base.HEX)"
        else:
            proto = _proto_field(path, field, vitcp_abbreviation(field))
        lines.append(f"table.insert(vitcp_structures.{field.structure}, {{ {where}, field = {proto} }})")
    struct = profile.struct
    type_mask = struct.bits[vitcp.PLACES.index("SEG_Type")]
    lines.append(f"local vitcp_version, vitcp_type_mask = {struct.version}, {type_mask:#x}")
    lines.append(f"local vitcp_type_low = {(type_mask & -type_mask).bit_length() - 1}")
    lines.append("local vitcp_types = { " + ", ".join(f"[{number}] = {i}" for i, number in enumerate(struct.types)) + " }")
    lines.append("local vitcp_names = { " + ", ".join(f"[{i}] = {_quote(name)}" for i, name in enumerate(vitcp.PDUS)) + " }")
    return "\n    ".join(lines)


def filters() -> Iterator[str]:
    """The rows of harness/docs/filters.md: the name in display filters, the field, its clause."""
    for structure, top in TOP.items():
        for _, path, field in tables_of(structure, top):
            if field.kind not in ("nest", "group", "rsvd"):
                yield f"| `{abbreviation(path, field)}` | {field.name} | {field.clause} |"


def main() -> int:
    """Print the dissector."""
    if sys.argv[1:] == ["--filters"]:
        print("\n".join(filters()))
        return 0
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    template = Path(sys.argv[1])
    try:
        profile = vitcp.load(sys.argv[2] if len(sys.argv) == 3 else None)
    except vitcp.ProfileError as error:
        print(error, file=sys.stderr)
        return 2
    text = template.read_text().replace("@TABLES@", tables())
    for part in sorted(template.parent.glob("*.lua")):
        text = text.replace(f"@{part.name}@", part.read_text())
    text = text.replace("@VITCP_TABLES@", vitcp_tables(profile))
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
