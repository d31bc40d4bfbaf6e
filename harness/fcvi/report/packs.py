"""Ladders packed: the page has those of plain passes as deflated texts of several cases each, and unpacks one when it is opened."""

from __future__ import annotations

import base64
import functools
import zlib
from dataclasses import dataclass
from typing import Iterable, Optional, Sequence

from _fcvi import ffi, lib

IN_A_PACK = 32  # cases; they are unpacked together
_BETWEEN = b"\0"
_USUAL = 8 << 20  # bytes of text that few packs are longer than
_new = ffi.new_allocator(should_clear_after_alloc=False)


class Room:
    """Memory for packing. It is kept from one pack to the next: fresh memory takes as long as to pack what is in it."""

    def __init__(self) -> None:
        self._begin(_USUAL)
        self._work = _new("uint64_t[]", lib.CALLS_DEFLATE_ROOM // 8)
        self.length = 0  # bytes of text

    def _begin(self, size: int) -> None:
        self._size, self._text = size, _new("uint8_t[]", size)
        self._view = memoryview(ffi.buffer(self._text))
        self._most = size + (size // 65536 + 2) * lib.CALLS_DEFLATE_MORE
        self._out = _new("uint8_t[]", self._most)

    def put(self, text: bytes) -> None:
        """Take in more text."""
        end = self.length + len(text)
        if end > self._size:
            had = self._view[: self.length]
            self._begin(1 << (end - 1).bit_length())
            self._view[: self.length] = had
        self._view[self.length : end] = text
        self.length = end

    def text(self) -> bytes:
        """What was taken in."""
        return bytes(self._view[: self.length])

    def packed(self) -> bytes:
        """What was taken in, deflated, in base64. The room is empty from then on."""
        length = lib.calls_deflate(self._text, self.length, self._out, self._most, self._work)
        self.length = 0
        if not length:
            raise MemoryError
        return base64.b64encode(ffi.buffer(self._out, length))


_room = functools.lru_cache(maxsize=1)(Room)


def packed(texts: Sequence[bytes]) -> bytes:
    """Texts with a NUL between two, packed."""
    room = _room()
    room.length = 0
    room.put(_BETWEEN.join(texts))
    return room.packed()


@dataclass
class Drawn:
    """A ladder as it was drawn."""

    text: bytes

    def body(self) -> bytes:
        """The text."""
        return self.text


class Pack:
    """The ladders of plain passes that follow each other, packed as soon as there are enough of them."""

    def __init__(self, room: Room) -> None:
        """room: for this pack alone until it is full."""
        self._room: Optional[Room] = room
        room.length = 0
        self._texts: list[bytes] = []
        self.count = 0
        self.packed = b""  # until it is full

    def add(self, parts: Iterable[bytes]) -> Place:
        """Take one in, while the pack is not full: the parts of its text."""
        assert self._room is not None
        if self.count:
            self._room.put(_BETWEEN)
        for part in parts:
            self._room.put(part)
        self.count += 1
        if self.count == IN_A_PACK:
            self.packed, self._room = self._room.packed(), None
        return Place(self, self.count - 1)

    def texts(self) -> Sequence[bytes]:
        """All of them. Who asks for one asks for others, so they stay here from then on."""
        if len(self._texts) != self.count:
            whole = zlib.decompress(base64.b64decode(self.packed)) if self._room is None else self._room.text()
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
