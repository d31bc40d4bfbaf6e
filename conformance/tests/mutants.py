"""``make mutants``: source mutants of codec/ and refimpl/, and which of them the C tests let live.

One change a mutant: an operator, a constant, a condition or a removed statement. Each is built into a library of its own
and meets the unit tests, one after the other, until one fails; a test that takes too long has found it too.

Usage: python3 -m conformance.tests.mutants [--sample N] [--seed N] [--jobs N] [--only GLOB] [--out FILE]
Exit status: 0 done, 2 wrong usage, 3 the tests fail without a mutant.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted([*ROOT.glob("codec/src/*.c"), *ROOT.glob("refimpl/src/*.c")])
OTHERS = sorted(ROOT.glob("conformance/monitor/src/*.c"))
TESTS = sorted([*ROOT.glob("codec/tests/test_*.c"), *ROOT.glob("refimpl/tests/test_*.c")])
FLAGS = ["-std=c11", "-D_DEFAULT_SOURCE", "-fPIC", "-O1", "-w", *(f"-I{ROOT / d}" for d in (
    "codec/include", "refimpl/include", "conformance/monitor/include", "refimpl/vipl/include", "harness/capture"))]  # fmt: skip
BUILD_S, TEST_S = 60, 20

#: pattern in a line of C, and what stands there instead
CHANGES = [
    (r"(?<![=!<>])==(?!=)", "!="), (r"!=(?!=)", "=="), (r"<=", "<"), (r">=", ">"), (r"(?<![-<])<(?![<=])", "<="),
    (r"(?<![->])>(?![>=])", ">="), (r"&&", "||"), (r"\|\|", "&&"), (r"(?<=\w) \+ (?=\w)", " - "), (r"(?<=\w) - (?=\w)", " + "),
    (r"(?<=\w) & (?=\w)", " | "), (r"(?<=\w) \| (?=\w)", " & "), (r"<<", ">>"), (r">>", "<<"), (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"), (r"\b0\b(?![xX.])", "1"), (r"\b1\b(?!\.)", "0"), (r"\b(?:[2-9]|[1-9]\d+)\b(?!\.)", "+1"),
]  # fmt: skip
_CONDITION = re.compile(r"^(\s*(?:\} else )?(?:if|while) )\((.*)\)( \{)?$")
_STATEMENT = re.compile(r"^\s+(?!return\b|break\b|continue\b|goto\b|static\b|const\b|struct\b|enum\b)"
                        r"(?!uint\w+ |size_t |int |bool |char )"
                        r"[\w>.\[\]*()-]+.*;$")  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One changed line."""

    file: Path
    line: int  # from 1
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}: {self.old.strip()}  ->  {self.new.strip() or '(removed)'}"


def _code(line: str) -> str:
    """The line with strings and comments blanked out."""
    return re.sub(r'"(?:\\.|[^"\\])*"|/\*.*?\*/|//.*', lambda m: "\x00" * len(m[0]), line)


def _of_line(line: str) -> list[str]:
    code = _code(line)
    if line.lstrip().startswith(("#", "*", "/*", "//", "static const", "_Static_assert")):
        return []
    found = []
    for pattern, new in CHANGES:
        for match in re.finditer(pattern, code):
            text = str(int(match[0]) + 1) if new == "+1" else new
            found.append(line[: match.start()] + text + line[match.end() :])
    condition = _CONDITION.match(line)
    if condition:
        found.append(f"{condition[1]}(!({condition[2]})){condition[3] or ''}")
    if _STATEMENT.match(code):
        found.append(re.match(r"\s*", line)[0] + ";")  # type: ignore[index]
    return found


def mutants_of(file: Path) -> list[Mutant]:
    """Every mutant of a file. Lines of comments and of preprocessor directives are left alone."""
    found, comment = [], False
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        starts = "/*" in line and "*/" not in line
        if not comment and not starts:
            found += [Mutant(file, number, line, new) for new in dict.fromkeys(_of_line(line)) if new != line]
        comment = (comment or starts) and "*/" not in line
    return found


def _run(command: list[str], limit: float, **environment: str) -> bool:
    """Whether it ends well within the limit. It is ended, with all that it started, when it does not."""
    child = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **environment}, start_new_session=True
    )
    try:
        return child.wait(limit) == 0
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, 9)
        child.wait()
        return False


class Bench:
    """Objects and tests built once; a library for each mutant."""

    def __init__(self, directory: Path, jobs: int) -> None:
        self.directory = directory
        self.objects = {file: directory / f"{file.parts[-3]}-{file.stem}.o" for file in (*SOURCES, *OTHERS)}
        self.tests = [directory / test.stem for test in TESTS]
        self.kills: dict[Path, int] = dict.fromkeys(self.tests, 0)
        with ThreadPoolExecutor(jobs) as pool:
            built = list(pool.map(lambda f: _run(["gcc", *FLAGS, "-c", str(f), "-o", str(self.objects[f])], BUILD_S), self.objects))
            whole = self.directory / "libfcvi.so"
            if not all(built) or not self.link(whole, list(self.objects.values())):
                raise RuntimeError("the library does not build")
            flags = ["-L", str(directory), "-lfcvi", "-lisal", "-lcheck", "-lsubunit", "-lm", "-lrt", "-lpthread"]
            made = pool.map(lambda p: _run(["gcc", *FLAGS, str(p[0]), "-o", str(p[1]), *flags], BUILD_S), zip(TESTS, self.tests))
            if not all(made):
                raise RuntimeError("a test does not build")
        if not self.survives(whole):
            raise RuntimeError("the tests fail without a mutant")

    def link(self, target: Path, objects: list[Path]) -> bool:
        """A shared library of these objects."""
        return _run(["gcc", "-shared", *map(str, objects), "-lisal", "-o", str(target)], BUILD_S)

    def survives(self, library: Path) -> bool:
        """Whether every test passes with this library; those that killed most come first."""
        quick = {"FCVI_SRCDIR": str(ROOT), "FCVI_SEED_TESTS": "1", "FCVI_QUICK": "1", "CK_FORK": "no"}
        for test in sorted(self.tests, key=lambda t: -self.kills[t]):
            if not _run([str(test)], TEST_S, LD_LIBRARY_PATH=str(library.parent), **quick):
                self.kills[test] += 1
                return False
        return True

    def judge(self, mutant: Mutant) -> tuple[Mutant, str]:
        """killed, survived, or stillborn when it does not compile."""
        with tempfile.TemporaryDirectory(dir=self.directory) as place:
            source, changed, library = Path(place) / mutant.file.name, Path(place) / "mutant.o", Path(place) / "libfcvi.so"
            lines = mutant.file.read_text(encoding="utf-8").splitlines()
            lines[mutant.line - 1] = mutant.new
            source.write_text("\n".join(lines) + "\n", encoding="utf-8")
            compiled = _run(["gcc", *FLAGS, f"-I{mutant.file.parent}", "-c", str(source), "-o", str(changed)], BUILD_S)
            others = [o for file, o in self.objects.items() if file != mutant.file]
            if not compiled or not self.link(library, [*others, changed]):
                return mutant, "stillborn"
            if changed.read_bytes() == self.objects[mutant.file].read_bytes():
                return mutant, "equivalent"
            return mutant, "survived" if self.survives(library) else "killed"


def main(argv: list[str]) -> int:
    """Make and judge mutants."""
    parser = argparse.ArgumentParser(prog="mutants", description="source mutants of codec and refimpl against the C tests")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="so many, chosen by the seed (0: all)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the sample (1)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="mutants at a time (2)")
    parser.add_argument("--only", default="*", metavar="GLOB", help="files, as codec/src/crc.c or refimpl/*")
    parser.add_argument("--out", type=Path, default=ROOT / "build/mutants.txt", metavar="FILE", help="where survivors go")
    options = parser.parse_args(argv)
    every = [m for file in SOURCES if fnmatch(str(file.relative_to(ROOT)), options.only) for m in mutants_of(file)]
    if not every or options.jobs < 1:
        print("mutants: no mutants of these files" if not every else "mutants: --jobs takes a number above 0", file=sys.stderr)
        return 2
    chosen = random.Random(options.seed).sample(every, min(options.sample or len(every), len(every)))
    counts: dict[tuple[str, str], int] = {}
    survivors = []
    with tempfile.TemporaryDirectory(prefix="fcvi-mutants-") as place, ThreadPoolExecutor(options.jobs) as pool:
        try:
            bench = Bench(Path(place), options.jobs)
        except RuntimeError as problem:
            print(f"mutants: {problem}", file=sys.stderr)
            return 3
        for done, (mutant, verdict) in enumerate(pool.map(partial(Bench.judge, bench), chosen), 1):
            part = mutant.file.relative_to(ROOT).parts[0]
            counts[part, verdict] = counts.get((part, verdict), 0) + 1
            if verdict == "survived":
                survivors.append(mutant)
                print(f"survived: {mutant}", flush=True)
            if sys.stderr.isatty():
                print(f"\r{done} of {len(chosen)} mutants", end="", file=sys.stderr)
    listed = [f"survived: {mutant}" for mutant in sorted(survivors, key=lambda m: (m.file, m.line))]
    lines = []
    for part in sorted({part for part, _ in counts}):
        killed, lived = counts.get((part, "killed"), 0), counts.get((part, "survived"), 0)
        rest = ", ".join(f"{counts.get((part, v), 0)} {v}" for v in ("equivalent", "stillborn"))
        lines.append(f"{part}: {killed} killed, {lived} survived ({100 * killed / max(1, killed + lived):.1f} %), {rest}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("\n".join([*listed, *lines]) + "\n", encoding="utf-8")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
