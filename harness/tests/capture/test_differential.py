"""Our codec against decoders of others on mutated frames: one written from the tables alone, and tshark."""

from __future__ import annotations

from pathlib import Path

import pytest

from fcvi.capture.reader import write

from . import differential
from ..independent import decoder
from .test_captures import assert_agrees

SOFS, EOF_T = (0x2E, 0x36, 0x2D), 0x42  # SOFi3, SOFn3, SOFi2


def test_independent_decoder_agrees() -> None:
    """The same fields with the same values, the same lengths and reserved bits found; `make differential` has millions."""
    found: dict[str, int] = {}
    for raw in differential.mutants(8_000, 3):
        assert differential.difference(raw) == "", raw.hex()
        name = decoder.decode(raw).iu or "other"
        found[name] = found.get(name, 0) + 1
    assert len(found) == 13 and min(found.values()) > 50  # each IU of Table 1


def test_every_layout_is_whole_words() -> None:
    """The independent tables add up to the sizes that the standard gives."""
    seed = {decoder.decode(raw).iu: decoder.decode(raw) for raw in differential.seeds()}
    for iu, frame in seed.items():
        if iu is None:
            continue
        bits = sum(width for _, width in frame.leaves)
        size = 16 if iu in ("FCVI_SEND_RESP", "FCVI_WRITE_RESP") else 32
        payload = {"FCVI_CONNECT_RQST": 596, "FCVI_CONNECT_RESP1": 340}.get(iu, 0)
        assert bits == (24 + size + payload) * 8


@pytest.mark.parametrize("byte", [0, 13, 28, 29, 40, 56 + 3, 56 + 8, 56 + 12 + 2, 56 + 308 + 2])
def test_a_difference_is_told(monkeypatch: pytest.MonkeyPatch, byte: int) -> None:
    """When the other decoder reads one byte differently."""
    raw = differential.seeds()[6]
    assert decoder.decode(raw).iu == "FCVI_CONNECT_RQST"
    assert differential.difference(raw) == ""
    other = bytearray(raw)
    other[byte] ^= 0x10
    monkeypatch.setattr(differential, "decode", lambda _: decoder.decode(bytes(other)))
    assert differential.difference(raw) != ""


@pytest.mark.parametrize("linktype", [225, 1])
def test_tshark_agrees(linktype: int, tmp_path: Path) -> None:
    """FC-2 headers, BLS and ELS of mutated frames, as FC frames and inside FCoE.

    tshark takes R_CTL 5xh for an extended header, and looks for BLS and ELS behind the frame header whatever DF_CTL says.
    """
    frames = []
    for n, raw in enumerate(differential.mutants(3000, 11)):
        shifted = raw[0] >> 4 in (0x2, 0x8) and raw[13] != 0
        if len(raw) >= 64 and len(raw) % 4 == 0 and raw[0] >> 4 != 0x5 and not shifted:
            frames.append((n, raw, SOFS[n % 3], EOF_T))
    path = tmp_path / "mutated.pcap"
    write(path, linktype, frames)
    assert assert_agrees(path) == len(frames) > 1000
