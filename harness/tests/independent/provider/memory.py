"""Virtual memory of the process that makes the calls, and the regions that a NIC knows of it (S 3)."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Optional

PAGE = 4096


@dataclass
class Block:
    """Whole pages at an address of their own."""

    base: int
    data: bytearray
    pages: str


class Space:
    """Blocks with a page between them that is not there."""

    def __init__(self) -> None:
        self._next = 0x7F3A_0000_0000
        self._bases: list[int] = []
        self._blocks: list[Block] = []

    def allocate(self, length: int, pages: str = "read-write") -> Block:
        """A new block of zeros that holds ``length`` bytes, rounded up to pages."""
        size = -(-max(length, 1) // PAGE) * PAGE
        block = Block(self._next, bytearray(size), pages)
        self._next += size + PAGE
        self._bases.append(block.base)
        self._blocks.append(block)
        return block

    def block(self, va: int, length: int) -> Optional[Block]:
        """The block that holds the whole range, or None."""
        index = bisect_right(self._bases, va) - 1
        if index < 0:
            return None
        block = self._blocks[index]
        return block if va + length <= block.base + len(block.data) else None

    def read(self, va: int, length: int) -> Optional[bytes]:
        """The bytes of a range, or None where memory is missing."""
        block = self.block(va, length)
        if block is None or block.pages == "unmapped":
            return None
        return bytes(block.data[va - block.base:va - block.base + length])

    def write(self, va: int, data: bytes) -> bool:
        """Write; False where memory is missing or read-only."""
        block = self.block(va, len(data))
        if block is None or block.pages != "read-write":
            return False
        block.data[va - block.base:va - block.base + len(data)] = data
        return True
