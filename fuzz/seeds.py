"""Seed corpora and the dictionary, made from the field table and from captures.

    python seeds.py --out DIR CAPTURE...

writes DIR/fcvi.dict and DIR/seeds/TARGET/*: frames, payloads, records and whole capture files for the targets of that name.
Equal captures give equal files.
"""

from __future__ import annotations

import argparse
import hashlib
import struct
import sys
from itertools import chain
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


# what a program of fuzz_descriptor is made of, as that file reads it
_WHOLE, _GUARD = 8192 + 2 * 512, 512


def _place(area: int, offset: int) -> int:
    """The address that the target takes for this place of an area."""
    return next(raw for raw in range(area << 16, 3 << 16) if (raw >> 16) % 3 == area and raw % (_WHOLE + 64) == _GUARD + offset)


def _posted(step: int, where: int, control: int, segments: list[tuple[int, int, int]], remote: bool = False) -> bytes:
    """A post of a Descriptor (VI-DG 5). segments: area, offset and length; of a remote one the length is its reserved field."""
    length = sum(n for _, _, n in segments[remote:])
    head = struct.pack("<QIHHIIII", 0, 0, len(segments), control, 0, 0x01020304, length, 0)
    body = b"".join(struct.pack("<QII", _place(area, at), area, n) for area, at, n in segments)
    return bytes([step, where, 0, len(segments)]) + head + body


def descriptors() -> Iterator[bytes]:
    """Every operation at every level, with completion queues and without, as programs of the target for raw Descriptors."""
    receives = _posted(0x80, 1, 0, [(0, 5000, 300)]) + _posted(0x80, 2, 0, [(0, 6000, 100), (1, 0, 50)])
    send = _posted(0x02, 3, 4, [(0, 1024, 64), (1, 64, 1)])
    write = _posted(0x02, 4, 5, [(0, 2048, 0), (0, 1024, 64)], remote=True)
    read = _posted(0x02, 5, 2, [(0, 2048, 0), (1, 1024, 64)], remote=True)
    wrong = _posted(0x02, 6, 1, [(1, 2048, 0), (0, 1024, 64)], remote=True)
    looks = bytes([0x05, 0xC5, 0x05, 0xC5, 0x05, 0x06, 50])
    for setting in (0, 1, 2, 0x21, 0x23, 0xC1):
        for middle in (send, write, read, wrong, send + write + read, send + bytes([0x3F]), receives + bytes([0xB7]) + send):
            yield bytes([setting]) + receives + middle + looks


def main() -> int:
    """Write everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("captures", metavar="CAPTURE", nargs="*", type=Path, help="without any the dictionary alone is written")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "fcvi.dict").write_text("\n".join(sorted(set(dictionary()))) + "\n")
    if not args.captures:
        return 0
    every = chain((("descriptor", data) for data in descriptors()), *(of_capture(path) for path in args.captures))
    for target, data in every:
        folder = args.out / "seeds" / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
