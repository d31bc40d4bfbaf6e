"""The mutator changes what it says and nothing else; mutants that loop are ended."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from conformance.tests.mutants import ROOT, SOURCES, _of_line, _run, main, mutants_of


@pytest.mark.parametrize(
    "line, mutants",
    [
        ("    if (a == b)", ["    if (a != b)", "    if (!(a == b))"]),
        ("    while (n < 3) {", ["    while (n <= 3) {", "    while (n < 4) {", "    while (!(n < 3)) {"]),
        ("    p->state = 0;", ["    p->state = 1;", "    ;"]),
        ("    stop(p, vi);", ["    ;"]),
        ("    return a && b;", ["    return a || b;"]),
        ("    uint32_t n = m + k;", ["    uint32_t n = m - k;"]),
        ("/* if (a == b) */", []),
        ("#define N 3", []),
        ('    say("a == 1");', ["    ;"]),
    ],
)
def test_a_line_has_these_mutants(line: str, mutants: list[str]) -> None:
    assert _of_line(line) == mutants


def test_comments_of_several_lines_have_none(tmp_path: Path) -> None:
    source = tmp_path / "x.c"
    source.write_text("/* a == b\n   c == d\n   e == f */\nint x(void)\n{\n    return y == z;\n}\n")
    assert [(m.line, m.new) for m in mutants_of(source)] == [(6, "    return y != z;")]


def test_every_source_has_mutants() -> None:
    assert sum(bool(mutants_of(file)) for file in SOURCES) > len(SOURCES) // 2
    assert all(m.new != m.old for file in SOURCES for m in mutants_of(file))


def test_what_does_not_end_is_ended() -> None:
    began = time.monotonic()
    assert not _run(["sleep", "60"], 0.1)
    assert not _run(["false"], 10) and _run(["true"], 10)
    assert time.monotonic() - began < 50


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "nothing/*"]) == 2
    assert "no mutants" in capsys.readouterr().err
    assert ROOT.joinpath("codec").is_dir()
