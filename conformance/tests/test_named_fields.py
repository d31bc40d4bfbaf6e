"""Cases and steps take the fields of frames by name: where they stand is the codec's to say, with or without optional headers."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Iterator

import pytest

ROOT = Path(__file__).resolve().parents[1]
BOOKS = ("fcvi", "rev1", "vitcp")
FILES = sorted(path for book in BOOKS for part in ("cases", "steps") for path in (ROOT / book / part).glob("*.py"))
#: Attributes that hold bytes of a frame or PDU, as they came.
RAW = {"data", "raw"}
#: Slices of a "data" that is no frame: Message Data that are shown or divided.
MESSAGE_DATA = {"message", "taken", "m", "sent"}


def _raw_slices(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Attribute) or node.value.attr not in RAW:
            continue
        owner = node.value.value
        if not (isinstance(owner, ast.Name) and owner.id in MESSAGE_DATA):
            yield node.lineno, ast.unparse(node)


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parts[-3]}/{p.stem}")
def test_no_bytes_of_a_frame_are_cut_out(path: Path) -> None:
    assert list(_raw_slices(ast.parse(path.read_text(encoding="utf-8")))) == []


def test_a_slice_of_a_frame_is_seen() -> None:
    assert list(_raw_slices(ast.parse("frame.data[24:28]"))) and list(_raw_slices(ast.parse("one.pdu.raw[2]")))
