"""Captures through libpcap, seen from Python."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator, Optional

from _fcvi import ffi, lib

from fcvi.engine.results import Finding
from fcvi.fc import codec

from .limits import Limits
from .scan import Order, opened, protocol_name, reorder

_ERROR_SIZE, _FINDINGS = 512, 64
KINDS = ("frame", "cut", "fip", "foreign", "malformed", "part")


class CaptureError(Exception):
    """A capture that cannot be read or written: one line that says what, where and, for a broken file, how far."""


@dataclass(frozen=True)
class Record:
    """One record. data is the FC-2 frame for kind "frame" (and what there is of it for "cut"), and the IP packet of TCP."""

    number: int
    time_us: int
    kind: str
    problem: str
    data: bytes
    sof: int
    eof: int
    crc: int
    network: int = 0  # VLANs, VSAN or FCIP link, 0 without
    protocol: str = ""  # of kind "foreign"
    whole: int = 0  # of kind "cut": bytes of the whole frame, 0 when that is not known; of TCP: bytes of the IP packet
    gap: bool = False  # the capture says that frames are missing before this record


def record_of(r: Any) -> Record:
    """A record as C has it."""
    data = bytes(ffi.buffer(r.frame.bytes, r.frame.length)) if r.frame.length else b""
    problem = "" if r.problem == ffi.NULL else ffi.string(r.problem).decode()
    kind = KINDS[r.kind]
    protocol = protocol_name(r.protocol) if kind == "foreign" else ""
    packet = kind == "foreign" and r.protocol == lib.CAPTURE_TCP
    frame, whole, gap = r.frame, r.whole if kind == "cut" or packet else 0, bool(r.unusual & lib.CAPTURE_GAP)
    return Record(r.number, r.time_us, kind, problem, data, frame.sof, frame.eof, frame.crc, r.network, protocol, whole, gap)


def findings_of_cut(record: Record) -> list[Finding]:
    """What is wrong in the headers of a frame that the capture holds in part, as ``fcvi lint`` judges them."""
    keep = ffi.from_buffer(record.data)
    r = ffi.new("struct capture_record *", {"number": record.number, "kind": KINDS.index("cut"), "whole": record.whole})
    r.frame.bytes, r.frame.length = ffi.cast("uint8_t *", keep), len(record.data)
    r.frame.sof, r.frame.crc = record.sof, record.crc
    found = ffi.new("struct fcvi_finding[]", _FINDINGS)
    findings = ffi.new("struct fcvi_findings *", {"list": found, "capacity": _FINDINGS})
    lib.fcvi_judge_cut(ffi.new("struct judge_cut *"), r, ffi.new("struct fcvi_frame *"), findings)
    return [codec.finding_of(found[i]) for i in range(min(findings.count, _FINDINGS))]


class Reader:
    """An open capture. Iterating gives every record; ``fcvi.scan`` stops only where something is wrong."""

    def __init__(self, path: str, limits: Optional[Limits] = None, order: Optional[Order] = None) -> None:
        self.path, self._limits = path, limits or Limits()
        self._error = ffi.new("char[]", _ERROR_SIZE)
        self._capture = opened(path, self._error, self._limits)
        if self._capture == ffi.NULL:
            raise CaptureError(self._why())
        if order is not None and not reorder(self._capture, order):
            raise CaptureError(self._limits.hint(f"{path}: out of memory"))
        self.is_file: bool = lib.fcvi_capture_is_file(self._capture)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        if self._capture is not None:
            lib.fcvi_capture_close(self._capture)
            self._capture = None

    def progress(self) -> tuple[int, int]:
        """Bytes taken of the file, and its size, 0 when that is not known."""
        numbers = ffi.new("uint64_t[2]")
        lib.fcvi_capture_progress(self._capture, numbers, numbers + 1)
        return numbers[0], numbers[1]

    def _why(self) -> str:
        return self._limits.hint(ffi.string(self._error).decode(errors="replace"))

    def _check(self, status: int) -> int:
        if status < 0:
            raise CaptureError(f"{self.path}: {self._why()}")
        return status

    def __iter__(self) -> Iterator[Record]:
        record = ffi.new("struct capture_record *")
        while status := self._check(lib.fcvi_capture_next(self._capture, record, self._error, _ERROR_SIZE)):
            if status == 1:
                yield record_of(record)


def write(path: Path, linktype: int, frames: list[tuple[int, bytes, int, int]]) -> None:
    """Write frames (time_us, data, sof, eof) as pcap: linktype 224, 225 or 1 (FCoE). Raises CaptureError."""
    error = ffi.new("char[]", _ERROR_SIZE)
    writer = lib.fcvi_capture_create(str(path).encode(), linktype, error, _ERROR_SIZE)
    if writer == ffi.NULL:
        raise CaptureError(ffi.string(error).decode(errors="replace"))
    refused: Optional[int] = None
    for number, (time_us, data, sof, eof) in enumerate(frames, 1):
        keep = ffi.from_buffer(data)
        frame = ffi.new("struct fcvi_input *", {"bytes": ffi.cast("uint8_t *", keep), "length": len(data)})
        frame.sof, frame.eof, frame.crc = sof, eof, codec.CRC_OK
        if lib.fcvi_capture_write(writer, time_us, frame) != 0 and refused is None:
            refused = number
    if lib.fcvi_capture_finish(writer) != 0:
        raise CaptureError(f"{path}: not everything could be written")
    if refused is not None:
        raise CaptureError(f"{path}: frame {refused} does not fit into a record of linktype {linktype}")
