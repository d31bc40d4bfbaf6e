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

from fcvi.fc import codec
from fcvi.capture.reader import Reader, Record

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
            yield from (("port", program) for program in programs(record))
            records += len(record.data).to_bytes(2, "big") + bytes([record.sof, record.eof, 0, 0]) + record.data
    if records:
        yield "frames", records
        yield "monitor", records
        yield "message", records


# what a program of fuzz_port is made of, as that file reads it
_ROUTES = {0x22: 0, 0x23: 1, 0x03: 2, 0x02: 3}
_SOURCES = {0x010100: 0, 0xFFFFFE: 1, 0xFFFFFC: 2, 0x010300: 3, 0xFFFFFD: 4}
_SETTINGS = (0x00, 0x0C, 0x10, 0x20, 0x30, 0x40, 0x54, 0x58, 0xC8)
_CONNECT = bytes([2, 1, 0, 0, 0, 0, 2, 1, 0, 2, 200])  # VipCreateVi, VipConnectRequest: the port logs in and asks for names
_MOST_PAYLOAD = 124


def _packed(payload: bytes) -> bytes:
    """Zeros as one byte and how many more there are."""
    out, at = bytearray(), 0
    while at < len(payload):
        byte = payload[at]
        at += 1
        out.append(byte)
        if byte == 0:
            run = min(63, len(payload) - at - len(payload[at:].lstrip(b"\0")))
            out.append(run)
            at += run
    return bytes(out)


def programs(record: Record) -> Iterator[bytes]:
    """The link service or CT_IU of a capture as a step of the port's target: unasked, and as an answer."""
    data = record.data
    if len(data) < 28 or data[0] not in _ROUTES or data[8] not in (0x01, 0x20):
        return
    route, source = _ROUTES[data[0]], _SOURCES.get(int.from_bytes(data[5:8], "big"), 0)
    payload = data[24 : 24 + _MOST_PAYLOAD]
    body = bytes([source, len(payload) // 4]) + _packed(payload)
    for setting in _SETTINGS:
        begin = bytes([setting, 1, 4]) + _CONNECT
        if data[0] in (0x22, 0x02):
            yield begin + bytes([73, 7, route, 0, 1]) + body
        else:
            for seen in range(3):
                yield begin + bytes([73, 7, route, 1, seen]) + body


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
