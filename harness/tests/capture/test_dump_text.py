"""Hexadecimal text as people have it: each form of each tool gives the frames that it was made of."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fcvi.capture.hexdump import HexError, capture_of, frames_of, link_of, opened, text_of
from fcvi.capture.limits import Wishes


#: FCVI_CONNECT_RQST has runs of zeros, which od and hexdump print as one line with a star.
HEADERS = bytes.fromhex("02010202000101015829000801020000" "0142ffff00000000ffffffff10010000")
RQST = HEADERS + bytes(160) + b"discriminator" + bytes(51)
SHORT = bytes.fromhex("84010202000101010009000000000000" "0142ffff00000000")


def od(data: bytes, *words: str) -> str:
    """What od makes of a frame."""
    return subprocess.run(["od", *words], input=data, capture_output=True, check=True).stdout.decode()


class _Args(Wishes):
    link = None


def _read(path: Path) -> str:
    with opened(str(path)) as file:
        return text_of(file, str(path))


@pytest.mark.parametrize(
    "words",
    ["-A x -t x1", "-t x1", "-A d -t x1", "-A x -t x1z", "-t x1z", "-A x -t x2", "-x", "-t x4", "-v -A x -t x1", "-A x -t x1z -w8"],
)  # fmt: skip
def test_what_od_prints(words: str) -> None:
    text = "".join(od(one, *words.split()) for one in (RQST, SHORT, RQST))
    if "-A x -t x2" in words:  # offsets of six digits: the words may be of any order, and a text of od has seven
        text = "".join(od(one, "-t", "x2") for one in (RQST, SHORT, RQST))
    assert frames_of(text, "dump") == [RQST, SHORT, RQST]


def test_what_tcpdump_prints() -> None:
    """A line of words before each frame, offsets with 0x, and a column of text that looks like digits."""
    rows = "".join(
        f"\t0x{i:04x}:  {' '.join(RQST[j : j + 2].hex() for j in range(i, min(i + 16, len(RQST)), 2)):<41}beefcafe beef.12\n"
        for i in range(0, len(RQST), 16)
    )
    text = "".join(f"12:00:0{n}.000000 0e:fc:00:01:02:00 > 0e:fc:00:01:01:00, ethertype Unknown\n{rows}" for n in range(3))
    assert frames_of(text, "dump") == [RQST] * 3


def test_what_tshark_prints(tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(_pcap([RQST, SHORT]))
    text = subprocess.run(["tshark", "-x", "-r", str(tmp_path / "a.pcap")], capture_output=True, check=True, text=True).stdout
    assert frames_of(text, "dump") == [RQST, SHORT]


def test_text_between_frames_is_passed_over() -> None:
    dump = od(RQST, "-A", "x", "-t", "x1")
    for before in ("Frame 1, time 0.000000\n", "O\n", "\nAdd 12 to each\n", "I 2024-01-01T00:00:00Z\n"):
        assert frames_of(before + dump + before + dump, "dump") == [RQST, RQST]


@pytest.mark.parametrize("width", [4, 8, 16, 32])
def test_a_paragraph_of_short_lines_is_a_frame(width: int) -> None:
    frames = [RQST, SHORT + bytes(12), RQST[:64]]
    paragraphs = ["\n".join(one[i : i + width].hex(" ", 4) for i in range(0, len(one), width)) for one in frames]
    assert frames_of("\n\n".join(paragraphs) + "\n", "dump") == frames


def test_a_frame_a_line_stays_a_frame_a_line() -> None:
    """Also where all are as long, and where empty lines stand between them."""
    for between in ("\n", "\n\n", "\n\n\n"):
        assert frames_of(between.join([SHORT.hex()] * 4), "dump") == [SHORT] * 4
    assert frames_of(f"{SHORT.hex(' ')}\n{RQST.hex(' ')}\n\n{RQST.hex()}\n", "dump") == [SHORT, RQST, RQST]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_of_other_systems(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(f"{RQST.hex()}\r\n{SHORT.hex()}\r\n".encode(encoding))
    assert frames_of(_read(tmp_path / "a.txt"), "a.txt") == [RQST, SHORT]


@pytest.mark.parametrize(
    "text, words",
    [
        ("0000 11\n0005 22", "line 2: offset 0005"),
        ("000 11\nxx", "line 2: has no offset"),
        (f"0000  {'11 ' * 16}\nnoise\n0010  22", "line 2: has no offset"),
        (f"0000  {'11 ' * 16}\n0010  {'11 ' * 16}\n0040  22", "line 3: offset 0040"),
        (f"0000  {'11 ' * 16}\n*\nffffffff", "line 3: offset ffffffff"),
        (f"{'22 ' * 16}\nzz", "line 2: 'zz' is not hexadecimal"),
    ],
)
def test_a_damaged_dump_loses_no_byte_in_silence(text: str, words: str) -> None:
    with pytest.raises(HexError, match=words):
        frames_of(text, "dump")


def test_lines_that_are_no_frames_are_no_finding(tmp_path: Path) -> None:
    """They are a form that is not read, and no fault of who sent them."""
    (tmp_path / "a.txt").write_text("22010202 00010101\n01290000 00000000 22\n22010202\n")
    with pytest.raises(HexError, match="each line is taken for a frame"), capture_of(str(tmp_path / "a.txt"), _Args()):
        pass


def test_more_text_than_a_capture_holds_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("22" * (9 << 20))
    with pytest.raises(HexError, match="more than 16 MiB"):
        _read(tmp_path / "a.txt")


@pytest.mark.parametrize(
    "at_12, link",
    [
        ("0800 0000", "frame"),  # SEQ_ID 08h, DF_CTL 00h, SEQ_CNT 0
        ("0800 4500", "ethernet"),
        ("86dd 0000", "frame"),
        ("86dd 6000", "ethernet"),
        ("8100 0064 8906" + "00" * 13 + "2e", "ethernet"),
        ("8100 0064 0000", "frame"),
        ("8906 0000" + "00" * 11 + "2e", "ethernet"),
        ("8906 0001", "frame"),
    ],
)
def test_an_ethertype_is_one_only_with_what_follows_it(at_12: str, link: str) -> None:
    assert link_of(bytes.fromhex("220102020001010101290000" + at_12) + bytes(40)) == link


def _pcap(frames: list[bytes]) -> bytes:
    head = (0xA1B2C3D4).to_bytes(4, "little") + bytes.fromhex("0200 0400") + bytes(8) + (65535).to_bytes(4, "little")
    records = b"".join(bytes(8) + 2 * len(one).to_bytes(4, "little") + one for one in frames)
    return head + (224).to_bytes(4, "little") + records
