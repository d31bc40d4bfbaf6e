"""The lower tester's ACK_1, byte for byte as FC-FS lays it out."""

from __future__ import annotations

from fcvi.fc import class2, codec

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
