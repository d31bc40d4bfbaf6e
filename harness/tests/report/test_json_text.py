"""JSON as the report writes it: what the encoder of Python writes, byte for byte."""

from __future__ import annotations

import json
import random
from typing import Any

from fcvi.engine.json_text import compact, indented, readable

_TEXTS = ("", "plain", 'a"b\\c', "\u00e9\u2028\x01", "\ud800", "\U0001f600")


def _value(rng: random.Random, depth: int) -> Any:
    kind = rng.randrange(9 if depth < 4 else 6)
    if kind == 0:
        return rng.choice([None, True, False])
    if kind == 1:
        return rng.randrange(-5, 10**20)
    if kind == 2:
        return rng.random() * 10.0 ** rng.randrange(-9, 20)
    if kind < 6:
        return rng.choice(_TEXTS)
    inner = [_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return inner if kind == 6 else tuple(inner) if kind == 7 else {f"{rng.choice(_TEXTS)}{i}": v for i, v in enumerate(inner)}


def test_indented_text_is_that_of_json() -> None:
    rng = random.Random(1)
    for _ in range(5000):
        value = _value(rng, 0)
        for ascii_only in (True, False):
            text = json.dumps(value, indent=1, ensure_ascii=ascii_only).replace("\u2028", "\\u2028")
            assert indented(value, ascii_only) == text.encode("utf-8", "backslashreplace") + b"\n"


def test_what_a_terminal_obeys_is_an_escape() -> None:
    """A device names itself, and `judge --json` prints what it said: U+009B begins a command of a terminal."""
    value = {"\x9b2J": "a\x7f\u202eb\u2066\U000e0001\ufffe\u00e9"}
    text = indented(value, ascii_only=False).decode()
    assert text == '{\n "\\u009b2J": "a\\u007f\\u202eb\\u2066\\udb40\\udc01\\ufffe\u00e9"\n}\n'
    assert json.loads(text) == value


def test_separators_are_those_of_their_readers() -> None:
    rng = random.Random(2)
    for _ in range(1000):
        value = _value(rng, 0)
        assert compact(value) == json.dumps(value, separators=(",", ":")) and readable(value) == json.dumps(value)
