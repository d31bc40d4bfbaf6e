"""The text of hexadecimal dumps, as people have it.

Three forms are read. Lines with offsets, as ``xxd``, ``hexdump``, ``od``, ``tcpdump -xx`` and ``text2pcap`` write them: an offset,
bytes, and perhaps a column of text; offset 0 begins a frame, and ``*`` repeats the line before it. One frame a line, in groups or
not, with ``0x`` or not. Paragraphs of such lines, where an empty line ends a frame. Lines that begin with # are passed over, and in
a dump with offsets so is text between frames.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Iterator, Optional

_ROW = re.compile(r"\s*(?:0x)?([0-9A-Fa-f]{3,16})(:|\s|$)\s*")
_DATA = re.compile(r"(?:0x)?((?:[0-9A-Fa-f]{2})++)")  # without a step to come back to for each byte
_COLUMNS = [re.compile(text) for text in (r"\s\|.*$", r"\s+>.*<\s*$", r"\s{2,}(?:\S|\S.{0,30}\S)\s*$")]
# of hexdump -C, od -z, and of others
_WIDEST = 64  # bytes a row
_LONGEST_ROW = 1024  # characters of one, its column of text included
_WORD_OFFSETS = 7  # digits of the offsets of `hexdump` and `od`, which print words in the order of the host


class HexError(Exception):
    """A dump that cannot be read: one line that says what and where."""


@dataclass
class _Line:
    """A line of the text: its number, and where it is a row of a dump, the digits of its offset and where its bytes begin."""

    number: int
    text: str
    offset: str = ""
    colon: bool = False
    start: int = 0

    @property
    def is_row(self) -> bool:
        """An offset stands there, and bytes or nothing behind it."""
        return self.offset != ""

    @property
    def is_end(self) -> bool:
        """The offset stands there alone: how long the dump is."""
        return self.is_row and self.start >= len(self.text.rstrip())

    @property
    def is_blank(self) -> bool:
        """Nothing stands there."""
        return not self.text.strip()

    def begins(self) -> bool:
        """A frame begins there."""
        return self.is_row and not self.is_end and int(self.offset, 16) == 0

    def groups(self, most: int = 2 * _WIDEST, cut: Optional[int] = None) -> list[str]:
        """The digits of its bytes, in the groups that they stand in, up to the column of text; of at most so many bytes."""
        rest = self.text[self.start : cut][:_LONGEST_ROW]
        if not _all_hex(rest):
            rest = next((column.sub("", rest, count=1) for column in _COLUMNS if column.search(rest)), rest)
        found: list[str] = []
        for word in rest.split():
            match = _DATA.fullmatch(word)
            most -= len(match[1]) // 2 if match else 0
            if match is None or most < 0:
                break
            found.append(match[1])
        return found


def frames_of_text(text: str, path: str, longest: int) -> list[bytes]:
    """The frames of a dump. longest: how many bytes of a frame repeated lines may make. Raises HexError."""
    lines = [_line(n, line) for n, line in enumerate(text.splitlines(), 1) if not line.lstrip().startswith("#")]
    if all(line.is_blank for line in lines):
        raise HexError(f"{path}: has no hexadecimal dump")
    if _has_offsets(lines):
        return list(_Rows(lines, path, longest).frames())
    if _in_paragraphs(lines):
        return [bytes.fromhex("".join(_digits(line, path) for line in one)) for one in _paragraphs(lines)]
    return [bytes.fromhex(_digits(line, path)) for line in lines if not line.is_blank]


def _line(number: int, text: str) -> _Line:
    match = _ROW.match(text)
    words = text[match.end() :].split(None, 1) if match else []
    if match is None or (words and _DATA.fullmatch(words[0]) is None):
        return _Line(number, text)
    return _Line(number, text, match[1], match[2] == ":", match.end())


def _all_hex(text: str) -> bool:
    return all(_DATA.fullmatch(word) for word in _words(text))


def _words(text: str) -> list[str]:
    return text.replace(":", " ").replace("-", " ").split()


def _has_offsets(lines: list[_Line]) -> bool:
    """Whether what comes first of the dump, behind any text, is a row of offset 0."""
    for line in lines:
        if line.begins():
            return True
        if not line.is_blank and _all_hex(line.text):
            return False
    return False


# ---- lines without offsets ----


def _digits(line: _Line, path: str) -> str:
    words = _words(line.text)
    found = [_DATA.fullmatch(word) for word in words]
    if not all(found):
        word = words[[match is None for match in found].index(True)]
        raise HexError(f"{path}: line {line.number}: {word[:20]!r} is not hexadecimal; write a frame a line, or lines with offsets")
    return "".join(match[1] for match in found if match)


def _paragraphs(lines: list[_Line]) -> list[list[_Line]]:
    """The lines between empty ones."""
    found: list[list[_Line]] = [[]]
    for line in lines:
        if line.is_blank:
            found.append([])
        else:
            found[-1].append(line)
    return [one for one in found if one]


def _in_paragraphs(lines: list[_Line]) -> bool:
    """Whether the lines are parts of frames: as wide as each other but for the last of a paragraph, and too short for frames."""
    paragraphs = _paragraphs(lines)
    widths = {len("".join(_words(line.text))) // 2 for one in paragraphs for line in one[:-1]}
    last = max((len("".join(_words(one[-1].text))) // 2 for one in paragraphs), default=0)
    if len(widths) != 1 or max(widths) > _WIDEST or last > max(widths):
        return False
    return max(widths) < 24 or len(paragraphs) > 1


# ---- lines with offsets ----


class _Rows:
    """The rows of a dump. The first two that follow each other tell the base of offsets and how many bytes a full row has."""

    def __init__(self, lines: list[_Line], path: str, longest: int) -> None:
        self._path, self._longest = path, longest
        self._base, self._width, self._column = 16, 0, 0
        first = next(line for line in lines if line.begins())
        # a word of a text may have as few digits as an offset, but no offset is shorter than the first
        self._lines = [line if len(line.offset) >= len(first.offset) else _Line(line.number, line.text) for line in lines]
        self._measure()
        groups = first.groups(self._width or _WIDEST)
        words = not first.colon and len(first.offset) == _WORD_OFFSETS and len(groups[0]) in (4, 8)
        self._swapped = words and not _looks_like_a_frame(bytes.fromhex("".join(groups)))

    def _measure(self) -> None:
        rows = [line for line in self._lines if not line.is_blank]
        for one, other in zip(rows, rows[1:]):
            if not (one.is_row and other.is_row) or one.is_end:
                continue
            most = len("".join(one.groups())) // 2
            steps = [(base, _steps(one, other, base)) for base in (16, 8, 10)]
            fits = [(base, step) for base, step in steps if 0 < step <= min(most, _WIDEST)]
            whole = [fit for fit in fits if fit[1] == most or len(fits) == 1]
            if whole and not other.is_end:
                self._base, self._width = whole[0]
                self._column = _end_of(one, self._width)
                return

    def frames(self) -> Iterator[bytes]:
        """The frames. Raises HexError."""
        frame: Optional[bytearray] = None
        before, repeats, odd = b"", False, None
        for line in self._lines:
            if line.begins():
                if frame is not None:
                    yield bytes(frame)
                frame, before, repeats, odd = bytearray(), b"", False, None
            elif frame is not None and line.text.strip() == "*":
                repeats = True
                continue
            elif frame is None or not line.is_row:
                odd = line if frame is not None and odd is None and not line.is_blank and before else odd
                before = before if not line.is_blank else b""
                continue
            if odd is not None:
                raise HexError(f"{self._path}: line {odd.number}: has no offset where the lines around it have one")
            if not line.begins():
                self._go_on(frame, line, before, repeats)
            before = self._bytes(line)
            repeats = False
            frame += before
        if odd is not None and self._is_full(before):
            raise HexError(f"{self._path}: line {odd.number}: has no offset where the lines before it have one")
        if frame is not None:
            yield bytes(frame)

    def _is_full(self, row: bytes) -> bool:
        """Whether a row says nothing of the frame's end."""
        return row != b"" and len(row) >= self._width

    def _go_on(self, frame: bytearray, line: _Line, before: bytes, repeats: bool) -> None:
        """Bring the frame to the offset of a line: by repeated rows, or by the length that stands at the end."""
        try:
            offset = int(line.offset, self._base)
        except ValueError:
            offset = -1
        if repeats and before and len(frame) < offset <= self._longest:
            missing = offset - len(frame)
            frame += (before * (missing // len(before) + 1))[:missing]
        if line.is_end and len(frame) - 4 < offset <= len(frame):
            del frame[offset:]
        if offset != len(frame):
            wrong = f"offset {line.offset} is not where the {len(frame):x}h bytes before it end"
            raise HexError(f"{self._path}: line {line.number}: {wrong}")

    def _bytes(self, line: _Line) -> bytes:
        data = b""
        for group in line.groups(self._width or _WIDEST, self._column or None):
            word = bytes.fromhex(group)
            data += word[::-1] if self._swapped else word
        return data


def _steps(one: _Line, other: _Line, base: int) -> int:
    try:
        return int(other.offset, base) - int(one.offset, base)
    except ValueError:
        return 0


def _end_of(row: _Line, width: int) -> int:
    """The column behind the bytes of a full row: what is further to the right is text."""
    for match in re.finditer(r"\S+", row.text[row.start :]):
        digits = _DATA.fullmatch(match[0])
        width -= len(digits[1]) // 2 if digits else 0
        if width <= 0:
            return row.start + match.end()
    return 0


def _looks_like_a_frame(data: bytes) -> bool:
    """Whether R_CTL and TYPE of a Frame_Header are those of FC-VI or of what it needs, or a SOF stands there."""
    if data[:2] == bytes.fromhex("bcb5"):
        return True
    return len(data) > 8 and data[0] in (*range(0x08), 0x22, 0x23, 0x81, 0x84, 0x85) and data[8] in (0x00, 0x01, 0x20, 0x58)
