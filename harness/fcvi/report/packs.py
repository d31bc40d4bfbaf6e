"""Ladders packed: the page has those of plain passes as deflated texts of several cases each, and unpacks one when it is opened."""

from __future__ import annotations

import base64
import functools
import zlib
from dataclasses import dataclass
from typing import Iterable, Sequence

from _fcvi import ffi, lib

IN_A_PACK = 32  # cases; they are unpacked together
_BETWEEN = b"\0"
_USUAL = 8 << 20  # bytes that few packs are longer than
_new = ffi.new_allocator(should_clear_after_alloc=False)


class _Room:
    """Memory for packing, kept from one pack to the next: fresh memory takes as long as to pack what is in it."""

    def __init__(self, length: int) -> None:
        self.text = _new("uint8_t[]", length)
        self.size = length + (length // 65536 + 2) * lib.CALLS_DEFLATE_MORE
        self.out = _new("uint8_t[]", self.size)
        self.work = _new("uint64_t[]", lib.CALLS_DEFLATE_ROOM // 8)


_room = functools.lru_cache(maxsize=2)(_Room)


def _packed(parts: Sequence[bytes]) -> bytes:
    """What follows each other, deflated, in base64."""
    needed, end = sum(map(len, parts)), 0
    room = _room(-(-needed // _USUAL) * _USUAL)
    for part in parts:
        ffi.memmove(room.text + end, part, len(part))
        end += len(part)
    length = lib.calls_deflate(room.text, end, room.out, room.size, room.work)
    if not length:
        raise MemoryError
    return base64.b64encode(ffi.buffer(room.out, length))


def packed(texts: Sequence[bytes]) -> bytes:
    """Texts with a NUL between two, packed."""
    return _packed([part for text in texts for part in (text, _BETWEEN)][:-1])


@dataclass
class Drawn:
    """A ladder as it was drawn."""

    text: bytes

    def body(self) -> bytes:
        """The text."""
        return self.text


class Pack:
    """The ladders of plain passes that follow each other, packed as soon as there are enough of them."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._texts: list[bytes] = []
        self.count = 0
        self.packed = b""  # until it is full

    def add(self, parts: Iterable[bytes]) -> Place:
        """Take one in, while the pack is not full: the parts of its text."""
        self._parts += parts
        self._parts.append(_BETWEEN)
        self.count += 1
        if self.count == IN_A_PACK:
            self.packed = _packed(self._parts[:-1])
            self._parts = []
        return Place(self, self.count - 1)

    def texts(self) -> Sequence[bytes]:
        """All of them. Who asks for one asks for others, so they stay here from then on."""
        if not self._texts:
            whole = zlib.decompress(base64.b64decode(self.packed)) if self.packed else b"".join(self._parts[:-1])
            self._texts = whole.split(_BETWEEN)
        return self._texts


@dataclass
class Place:
    """Where a ladder is."""

    pack: Pack
    at: int

    def body(self) -> bytes:
        """The text."""
        return self.pack.texts()[self.at]


def whole(ladders: Sequence[object]) -> bytes:
    """The pack that has exactly these ladders in this order; b"" when none has."""
    first = ladders[0] if ladders else None
    if not isinstance(first, Place) or not first.pack.packed or len(ladders) != first.pack.count:
        return b""
    for at, place in enumerate(ladders):
        if not isinstance(place, Place) or place.pack is not first.pack or place.at != at:
            return b""
    return first.pack.packed
