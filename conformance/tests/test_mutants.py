"""The mutator changes what it says and nothing else; mutants that loop are ended; scores count what they say."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from .mutant_judge import Verdict
from .mutant_programs import Places, Program
from .mutant_source import ROOT, SOURCES, Mutant, _of_line, mutants_of
from .mutants import EXPLAINED, explanations, main, read_results, report, write_result


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
    every = [m for file in SOURCES for m in mutants_of(file)]
    assert all(m.new != m.old for m in every) and len({m.key for m in every}) == len(every)


def test_what_does_not_end_is_ended() -> None:
    began = time.monotonic()
    for words, how in (("while True: pass", "timeout"), ("raise SystemExit(1)", "failed"), ("", "")):
        assert Program("unit", "x", [sys.executable, "-S", "-c", words], []).run(Path("/nowhere"), 1.0) == how
    assert time.monotonic() - began < 50


def test_the_lines_that_stand_for_one() -> None:
    places = Places([10, 12, 13, 20, 22], [(9, 14), (20, 23)])
    assert places.counted(12, "x = 1;") == [12]
    assert places.counted(14, "  + 1;") == [13], "a line without code of its own goes with the one before"
    assert places.counted(20, "int f(void)") == [20]
    assert places.counted(13, "    case 3:") == [10, 12, 13], "another value may take the case now"
    assert places.counted(5, "int table[] = {1};") is None, "outside of functions: the whole library"


def test_explanations() -> None:
    text = "# words\ncodec/src/a.c\n  - a < b\n  + a <= b\n  - c;\n  +\n  They are never\n  the same.\n"
    text += "  - d\n  + e\n  No one sees it.\n"
    assert explanations(text) == {
        ("codec/src/a.c", "a < b", "a <= b"): "They are never the same.",
        ("codec/src/a.c", "c;", ";"): "They are never the same.",
        ("codec/src/a.c", "d", "e"): "No one sees it.",
    }


def test_each_explanation_is_of_a_mutant_that_there_is() -> None:
    every = {(str(m.file.relative_to(ROOT)), m.old.strip(), m.new.strip()) for file in SOURCES for m in mutants_of(file)}
    assert [key for key in explanations(EXPLAINED.read_text(encoding="utf-8")) if key not in every] == []


def test_results_are_taken_up_and_counted(tmp_path: Path) -> None:
    file = ROOT / "codec/src/fc/crc.c"
    said = ["killed", "timeout", "survived", "survived", "equivalent", "stillborn", "unreached"]
    mutants = [Mutant(file, n, f"a{n}", f"b{n}") for n in range(len(said))]
    for mutant, verdict in zip(mutants, said):
        write_result(tmp_path / "r", mutant, Verdict(verdict, "unit" if verdict == "killed" else "", "x"))
    with (tmp_path / "r").open("a") as out:
        out.write("codec/src/fc/crc.c\tcut")
    results = read_results(tmp_path / "r")
    assert [results[m.key].verdict for m in mutants] == said and len(results) == len(said)
    why = {("codec/src/fc/crc.c", "a3", "b3"): "because", ("codec/src/fc/crc.c", "a0", "b0"): "not so"}
    lines = report(mutants, results, why)
    assert lines[0] == "survived: codec/src/fc/crc.c:2: a2  ->  b2"
    assert "explained: codec/src/fc/crc.c:3: a3  ->  b3\n           because" in lines
    assert "stale explanation: codec/src/fc/crc.c: a0  ->  b0" in lines
    assert lines[-1] == "codec: found by unit 1"
    assert lines[-2].startswith("codec: 50.0 %: 1 killed, 1 did not end, 2 lived (1 of them in lines that nothing runs); 1 ex")


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "nothing/*"]) == 2
    assert "no mutants" in capsys.readouterr().err
    assert ROOT.joinpath("codec").is_dir()
