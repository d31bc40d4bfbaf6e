"""The lower tester's ACK_1, byte for byte as FC-FS lays it out."""

from __future__ import annotations

from pathlib import Path

import pytest

from fcvi.fc import class2, codec

from ..conftest import fcvi

_DATA = bytes.fromhex("01010100" "00010200" "58380008" "2A020007" "12345678" "00000000") + bytes(32)
_LAST_OF_A_SEND = bytearray(_DATA)


def test_the_ack_of_an_originators_frame_names_the_responders_exchange() -> None:
    ack = class2.ack_1(codec.decode(bytes(_LAST_OF_A_SEND)), 0x9ABC)
    assert ack.data.hex() == "c0010200" "00010100" "00f80000" "2a000007" "12349abc" "00000001"
    assert (ack.sof, ack.eof) == (0x35, 0x42)


def test_the_ack_in_the_middle_of_a_sequence_ends_nothing() -> None:
    frame = bytearray(_DATA)
    frame[9] = 0x20  # First_Sequence only
    ack = class2.ack_1(codec.decode(bytes(frame)), 0xFFFF)
    assert ack.data[9] == 0xE0 and ack.eof == 0x41


def test_by_sof_or_by_the_configured_class() -> None:
    assert class2.is_class2(0x2D, 3) and class2.is_class2(0x35, 3) and class2.is_class2(0, 2)
    assert not class2.is_class2(0x2E, 2) and not class2.is_class2(0, 3)


@pytest.mark.parametrize("name", ["class2", "class3"])
def test_a_capture_has_the_delimiters_that_the_device_left_out(name: str, tmp_path: Path) -> None:
    """Without sof and eof they follow from header and class (DUT protocol, 6): else a capture accuses who acknowledges."""
    endpoint = Path(__file__).parents[1] / "independent/endpoint.py"
    device = f"exec:/usr/bin/python3 {endpoint} --revision rev1 --choose delimiters=no"
    case = f"R1.5.4.a/unreliable/{name}/send/3001-bytes"
    run = fcvi("run", "--revision", "rev1", "--dut", device, "--select", case, "--report", str(tmp_path))
    assert run.returncode == 0, run.stdout
    (capture,) = tmp_path.glob("*.pcapng")
    judged = fcvi("lint", "--trust", "whole", str(capture))
    assert judged.returncode == 0, judged.stdout
