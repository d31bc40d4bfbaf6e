"""The field-aware mutator of harness/mutator, for one frame or PDU at a time."""

from __future__ import annotations

from _fcvi import ffi, lib

_ROOM = 24 + 2112
_FRAME = ffi.new("struct fcvi_mutator_format *")


def mutate(frame: bytes, seed: int) -> bytes:
    """Another frame, from header and Data_Field. Equal arguments give equal frames; at most as long as FC-2 allows."""
    buf = ffi.new("uint8_t[]", _ROOM)
    ffi.memmove(buf, frame, min(len(frame), _ROOM))
    length = lib.fcvi_mutate(buf, min(len(frame), _ROOM), _ROOM, seed & 0xFFFFFFFFFFFFFFFF, _FRAME)
    return bytes(ffi.buffer(buf, length))


_PDU_ROOM = 4096  # bytes: a mutated PDU is no longer, unless the one that it was made from is
_PDU = ffi.new("struct fcvi_mutator_format *", {"pdus": True})


def mutate_pdu(pdu: bytes, seed: int) -> bytes:
    """Another PDU of VI/TCP, with the numbers of profile T0, or several. Equal arguments give equal bytes."""
    room = max(_PDU_ROOM, len(pdu))
    buf = ffi.new("uint8_t[]", room)
    ffi.memmove(buf, pdu, len(pdu))
    length = lib.fcvi_mutate(buf, len(pdu), room, seed & 0xFFFFFFFFFFFFFFFF, _PDU)
    return bytes(ffi.buffer(buf, length))
