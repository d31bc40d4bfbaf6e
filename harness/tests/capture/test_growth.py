"""What a reader of strangers' text costs grows with the text, and no faster: doubled input costs less than three times as much."""

from __future__ import annotations

import gc
import json
import resource
from typing import Callable

import pytest

from fcvi.capture.hexdump import HexError, frames_of
from fcvi.engine import strict
from fcvi.report import canonical


def _seconds(read: Callable[[], object]) -> float:
    """User time of the quickest of three, without Python's collector and the kernel's pages, which are not the reader's."""
    found = []
    gc.disable()
    for _ in range(3):
        begin = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        try:
            read()
        except (ValueError, HexError, canonical.FileError):
            pass
        found.append(resource.getrusage(resource.RUSAGE_SELF).ru_utime - begin)
    gc.enable()
    return min(found)


def _json(n: int) -> str:
    return "{" + ",".join(f'"m{i}":0' for i in range(n)) + f',"m{n - 1}":0}}'


def _toml(text: str) -> Callable[[], object]:
    data = text.encode()
    return lambda: strict.toml(data)


def _dump(text: str) -> Callable[[], object]:
    return lambda: frames_of(text, "x")


READERS: dict[str, tuple[int, Callable[[int], Callable[[], object]]]] = {
    "JSON with a member that is there twice": (20_000, lambda n: (lambda text: lambda: strict.loads(text))(_json(n))),
    "evidence with such a member": (20_000, lambda n: (lambda data: lambda: canonical.loads(data, "x"))(_json(n).encode())),
    "TOML with a key of many parts": (50_000, lambda n: _toml("a." * n + "a = 1\n")),
    "TOML with a key of many quoted parts": (50_000, lambda n: _toml('"a" . ' * n + "a = 1\n")),
    "TOML with many tables": (2_000, lambda n: _toml("".join(f"[a.b{i}.c]\nx = 1.5\n" for i in range(n)))),
    "TOML with strings that do not end": (20_000, lambda n: _toml('"""' + '"\\' * n)),
    "TOML with quotes that do not end": (20_000, lambda n: _toml("\'\'\'" + "\"x\'y" * n)),
    "a hexadecimal dump": (2_000, lambda n: _dump(f"0000  {'22 ' * 16}\n0010  {'22 ' * 8}\n\n" * n)),
    "a dump of nothing but stars": (20_000, lambda n: _dump("0000  22 22\n" + "*\n" * n)),
    "a dump with many spaces": (100_000, lambda n: _dump("0000  22" + " " * n + "x")),
}


@pytest.mark.parametrize("name", READERS)
def test_the_cost_grows_with_the_input(name: str) -> None:
    size, make = READERS[name]
    while (first := _seconds(make(size))) < 0.03 and size < 400_000:
        size *= 2
    assert _seconds(make(4 * size)) < 9 * first + 0.02


def test_keys_that_people_write_are_read() -> None:
    text = b'[pics]\nmax_depth = 1.5\n"a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s" = "1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18"\n'
    assert list(strict.toml(text + b"# 1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18.19\n")) == ["pics"]
    with pytest.raises(ValueError, match="has more than 16 parts"):
        strict.toml(b"a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r = 1")
    with pytest.raises(ValueError, match="more than the"):
        strict.toml(b"#" * (9 << 20))
    assert json.loads("{}") == strict.loads("{}")
