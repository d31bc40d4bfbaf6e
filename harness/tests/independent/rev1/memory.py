"""Registered memory, as Descriptors and remote addresses name it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

Segments = List[Tuple[int, int, int]]


@dataclass
class Region:
    """A registered region, and what others may do with it. behind: bytes of its last page that they reach as well."""

    va: int
    handle: int
    data: bytearray
    rdma_write: bool = False
    rdma_read: bool = False
    behind: int = 0  # at the end of data

    @property
    def size(self) -> int:
        """What was registered."""
        return len(self.data) - self.behind


Regions = Dict[int, Region]


def accessible(regions: Regions, segments: Segments) -> bool:
    """Whether every segment lies in a region."""
    found = ((regions.get(mem), offset, length) for mem, offset, length in segments)
    return all(region and offset + length <= region.size for region, offset, length in found)


def gather(regions: Regions, segments: Segments) -> bytes:
    """The bytes of the segments."""
    return b"".join(bytes(regions[mem].data[at:at + length]) for mem, at, length in segments)


def scatter(regions: Regions, segments: Segments, data: bytes) -> None:
    """Bytes into the segments."""
    for mem, offset, length in segments:
        piece, data = data[:length], data[length:]
        regions[mem].data[offset:offset + len(piece)] = piece


def remote(regions: Regions, va: int, handle: int, length: int, bits: int = 64) -> Optional[Tuple[Region, int]]:
    """The region of a remote virtual address and handle, and the offset in it. bits: of the address that are looked at."""
    va %= 1 << bits
    for region in regions.values():
        if region.handle == handle and region.va <= va and va + length <= region.va + len(region.data):
            return region, va - region.va
    return None
