"""A pcap of linktype 225, CRCs included: right ones, and wrong ones where the Fabric turned a bit."""

from __future__ import annotations

import struct
from pathlib import Path


def write_delimited(path: Path, frames: list[tuple[int, bytes, int, int, int]]) -> None:
    """frames: time in us, bytes, SOF, EOF, CRC (2: bad)."""
    from _fcvi import ffi, lib

    out = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 225)]
    room = ffi.new("uint8_t[]", 4096)
    frame = ffi.new("struct fcvi_input *")
    for time_us, data, sof, eof, crc in frames:
        keep = ffi.from_buffer(data)
        frame.bytes, frame.length = ffi.cast("uint8_t *", keep), len(data)
        frame.sof, frame.eof, frame.crc = sof, eof, crc or 1
        length = lib.fcvi_capture_delimited(frame, room, 4096)
        assert length
        out += [struct.pack("<IIII", *divmod(time_us + 1_000_000, 1_000_000), length, length), bytes(room[0:length])]
    path.write_bytes(b"".join(out))
