"""Seed corpora and the dictionary, made from the field table and from captures.

    python seeds.py --out DIR CAPTURE...

writes DIR/fcvi.dict and DIR/seeds/TARGET/*: frames, payloads, records and whole capture files for the targets of that name.
Equal captures give equal files.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path
from typing import Iterator

from fcvi import codec
from fcvi.captures import Reader, Record

_SHORT_CAPTURE = 8192


def dictionary() -> Iterator[str]:
    """A line for each value that has a name and each opcode with its place in the Device_Header."""
    for name, iu in codec.IUS.items():
        yield f'opcode_{name}="\\x{iu.opcode:02x}"'
    for field in codec.TABLE:
        if field.size > 4 or field.hi - field.lo + 1 != 8 * field.size:
            continue  # bits in a byte are the mutator's business
        for value, name in field.codes:
            data = "".join(f"\\x{byte:02x}" for byte in value.to_bytes(field.size, "big"))
            key = "".join(c if c.isalnum() else "_" for c in f"{field.ident}_{name}")
            yield f'{key}="{data}"'


def of_frame(record: Record) -> Iterator[tuple[str, bytes]]:
    """Inputs of the targets that take one frame."""
    delimiters = bytes([record.sof, record.eof])
    yield "frame", record.data + delimiters
    yield "values", record.data + delimiters
    for state in range(0, 9, 3):
        yield "print", record.data + delimiters + bytes([state + record.crc])
    frame = codec.decode(record.data, record.sof, record.eof, record.crc)
    if frame.iu is not None:
        f_ctl = int(frame.get("FC", "End_Sequence")) | int(frame.get("FC", "Relative_Offset_Present")) << 1
        head = bytes([list(codec.IUS).index(frame.iu), f_ctl | 0x10])
        parameter = int(frame.get("FC", "Parameter")).to_bytes(4, "big")
        yield "iu", head + record.data[52:56].ljust(4, b"\0") + parameter + record.data[29:30] + frame.payload
    yield "envelope", b"\0" + record.data
    yield "envelope", b"\1" + codec.delimited(record.data, record.sof, record.eof)


def of_capture(path: Path) -> Iterator[tuple[str, bytes]]:
    """Inputs for every target from one capture."""
    if path.stat().st_size <= _SHORT_CAPTURE:
        yield "capture", path.read_bytes()
    records = b""
    with Reader(str(path)) as reader:
        for record in reader:
            if record.kind != "frame":
                continue
            yield from of_frame(record)
            records += len(record.data).to_bytes(2, "big") + bytes([record.sof, record.eof, 0, 0]) + record.data
    if records:
        yield "frames", records
        yield "monitor", records


def main() -> int:
    """Write everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("captures", metavar="CAPTURE", nargs="+", type=Path)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "fcvi.dict").write_text("\n".join(sorted(set(dictionary()))) + "\n")
    for path in args.captures:
        for target, data in of_capture(path):
            folder = args.out / "seeds" / target
            folder.mkdir(parents=True, exist_ok=True)
            (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
