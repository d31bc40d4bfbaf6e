"""A damaged gzip file gives the same records whether it is a file or comes through a pipe, in whatever pieces."""

from __future__ import annotations

import gzip
import os
import random
import socket
from pathlib import Path

import pytest

from fcvi.capture.limits import Limits
from fcvi.capture.reader import CaptureError, Reader

from ..conftest import ROOT


def _read(path: str) -> tuple[int, str]:
    """How many records there are, and what ended them."""
    count = 0
    try:
        with Reader(path, Limits()) as reader:
            for _ in reader:
                count += 1
    except CaptureError as error:
        return count, str(error).removeprefix(path)
    return count, ""


def _piped(data: bytes, size: int) -> tuple[int, str]:
    ours, its = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            ours.close()
            for at in range(0, len(data), size):
                its.sendall(data[at : at + size])
        finally:
            os._exit(0)
    its.close()
    kept = os.dup(0)
    os.dup2(ours.fileno(), 0)
    ours.close()
    try:
        return _read("-")
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.waitpid(child, 0)


@pytest.mark.parametrize("seed", range(8))
def test_the_records_before_the_damage_are_the_same(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    whole = _recording().read_bytes()
    data = bytearray(gzip.compress(whole, compresslevel=rng.choice([1, 6, 9]), mtime=0))
    data[rng.randrange(12, len(data))] ^= 1 << rng.randrange(8)
    (tmp_path / "x.gz").write_bytes(data)
    as_file = _read(str(tmp_path / "x.gz"))
    assert as_file[1] != ""
    for size in (1, 100, 4096):
        assert _piped(bytes(data), size) == as_file


def _recording() -> Path:
    """The longest of the recordings that the build makes."""
    return max((ROOT / "build/pcaps/cases").glob("*.pcapng"), key=lambda path: path.stat().st_size)
