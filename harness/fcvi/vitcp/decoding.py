"""``fcvi decode --family vitcp``: the PDUs of streams in words or JSON."""

from __future__ import annotations

import json
import sys
from typing import Any, BinaryIO, Iterator

from fcvi.capture import confined
from fcvi.capture.hexdump import HexError, frames_of
from fcvi.engine.output import gone
from fcvi.engine.paint import Paint
from fcvi.engine.words import complain, printable

from . import codec

_PIECE = 1 << 16


class _Printer:
    """Prints the PDUs of one file."""

    def __init__(self, path: str, args: Any) -> None:
        self._path, self._args = path, args
        self._paint: Paint = args.paint

    def show(self, pdu: codec.Pdu, number: int, stream: int, offset: int) -> None:
        """One PDU. number: in the file; offset: in its stream."""
        if self._args.json:
            head = {"file": self._path, "number": number, "stream": stream, "offset": offset}
            profile = {"profile_sha256": self._args.profile.sha256}
            print(json.dumps({**head, **pdu.json(), **profile, "findings": [f.as_json() for f in pdu.findings]}))
            return
        paint = self._paint
        file = f"{printable(self._path)}: " if len(self._args.files) > 1 else ""
        head_line = paint(f"{file}{number:>6} {stream:>3}.{offset:<9} ", "place")
        if self._args.summary:
            print(head_line + pdu.summary())
            return
        title, *lines = pdu.text().splitlines()
        print("\n       ".join([head_line + paint(title, "title"), *lines]))
        for f in pdu.findings:
            words = f"! {f.requirement} [{f.cls}] {f.message}: seen {f.seen}, required {f.required}"
            print(f"       {paint(words, f.cls)}")


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read1(_PIECE) if hasattr(file, "read1") else file.read(_PIECE):
        yield piece


def _streams(path: str, file: BinaryIO, args: Any) -> list[Iterator[bytes]]:
    if args.form == "stream":
        return [_pieces(file)]
    dumps = frames_of(file.read().decode("utf-8", "replace"), path, longest=None)
    return [iter([dump]) for dump in dumps]


def _end(path: str, stream: int, offset: int, pdu: codec.Pdu) -> None:
    where = f"{path}: stream {stream}: byte {offset}"
    if pdu.step == "broken":
        complain(f"{where}: Segment Length {pdu.needed} is less than a Segment Header: nothing behind it can be read")
    else:
        complain(f"{where}: the stream ends within a PDU: {len(pdu.data)} bytes are there, at least {pdu.needed} are needed")


def _decode(path: str, file: BinaryIO, args: Any) -> int:
    low, high = args.frames or (1, None)
    printer, number, status = _Printer(path, args), 0, 0
    for stream, pieces in enumerate(_streams(path, file, args), 1):
        offset = 0
        for pdu in codec.divide(pieces, args.profile):
            number += 1
            if high is not None and number > high:
                return 0
            if number >= low:
                printer.show(pdu, number, stream, offset)
            if path == "-":
                sys.stdout.flush()
            if gone():
                return 0
            if pdu.step != "pdu":
                sys.stdout.flush()
                _end(path, stream, offset, pdu)
                status = 2
            offset += len(pdu.data)
    if number < low:
        sys.stdout.flush()
        has = f"the streams have {number} PDUs, none of them from {low} on" if number else "no PDU was decoded: there are no bytes"
        complain(f"{path}: {has}")
        return 2
    return status


def decode(path: str, args: Any, box: confined.Box) -> int:
    """Print the PDUs of a file. Returns the exit status."""
    try:
        with open(sys.stdin.fileno() if path == "-" else path, "rb", closefd=path != "-") as file:
            box.enter()
            return _decode(path, file, args)
    except OSError as error:
        sys.stdout.flush()
        complain(f"{path}: {error.strerror}")
    except HexError as error:
        sys.stdout.flush()
        complain(error)
    return 2
