"""The records of a capture, read in a confined process and handed over to this one, which looks at nothing but their fields."""

from __future__ import annotations

import struct
from typing import Any, Iterator

from . import confined
from .reader import KINDS, CaptureError, Reader, Record

# number, time, network, length of the whole frame, kind, SOF, EOF, CRC, gap, and the lengths of problem, protocol and data
_HEAD = struct.Struct("<QQIIBBBBBHHI")
_ERROR, _END = 255, 254  # kinds: problem says why the capture cannot be read further; there are no more records
_LONGEST = 1 << 19


def records(path: str, most: int, wishes: Any) -> list[Record]:
    """All records, but no more than most + 1. wishes: limits and no_sandbox. Raises CaptureError and ReaderLost."""
    got = _Received()
    status = confined.take([path], wishes, lambda box: _read(path, most, wishes, box), got.take)
    if status != 0 or not got.whole:
        raise confined.ReaderLost(3 if status == 3 else "the reader ended before the capture did")
    if got.error:
        raise CaptureError(got.error)
    return got.records


def _read(path: str, most: int, wishes: Any, box: confined.Box) -> int:
    box.enter()
    try:
        with Reader(path, wishes.limits) as reader:
            for count, record in enumerate(reader):
                box.hand_over(_packed(record, KINDS.index(record.kind)))
                if count == most:
                    break
    except CaptureError as error:
        box.hand_over(_packed(Record(0, 0, "", str(error)[:1000], b"", 0, 0, 0), _ERROR))
    box.hand_over(_packed(Record(0, 0, "", "", b"", 0, 0, 0), _END))
    return 0


def _packed(r: Record, kind: int) -> bytes:
    problem, protocol = r.problem.encode("utf-8", "surrogateescape"), r.protocol.encode()
    numbers = r.number, r.time_us, r.network, r.whole, kind, r.sof, r.eof, r.crc, r.gap
    return _HEAD.pack(*numbers, len(problem), len(protocol), len(r.data)) + problem + protocol + r.data


class _Received:
    """What comes of the records."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.error, self.whole = "", False
        self._data = bytearray()

    def take(self, data: bytes) -> None:
        """Bytes, cut anywhere. Raises ReaderLost when they are no records."""
        self._data += data
        at = 0
        for head, begin, end in self._heads():
            self._add(head, bytes(self._data[begin:end]))
            at = end
        del self._data[:at]

    def _heads(self) -> Iterator[tuple[tuple[int, ...], int, int]]:
        at = 0
        while len(self._data) - at >= _HEAD.size:
            head = _HEAD.unpack_from(self._data, at)
            end = at + _HEAD.size + sum(head[-3:])
            if head[-1] > _LONGEST:
                raise confined.ReaderLost("what the reader hands over makes no sense")
            if end > len(self._data):
                return
            yield head, at + _HEAD.size, end
            at = end

    def _add(self, head: tuple[int, ...], rest: bytes) -> None:
        number, time_us, network, whole, kind, sof, eof, crc, gap, problem, protocol, _ = head
        words = rest[:problem].decode("utf-8", "surrogateescape")
        other = rest[problem : problem + protocol].decode("utf-8", "replace")
        data = rest[problem + protocol :]
        if kind == _END:
            self.whole = True
        elif kind == _ERROR:
            self.error = words or "it cannot be read"
        elif kind < len(KINDS) and not self.whole:
            self.records.append(Record(number, time_us, KINDS[kind], words, data, sof, eof, crc, network, other, whole, bool(gap)))
        else:
            raise confined.ReaderLost("what the reader hands over makes no sense")
