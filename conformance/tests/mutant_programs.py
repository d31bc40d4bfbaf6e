"""The programs that a mutant meets, what each needs, and which lines of codec/, refimpl/ and the monitor each of them runs.

All are linked with a shared libfcvi (``make mutants`` builds them under build/mut), so that LD_LIBRARY_PATH says which one
they run. What a program runs is taken once by gcov: a mutant meets only the programs that run its line.
"""

from __future__ import annotations

import gzip
import json
import os
import resource
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from .mutant_source import ROOT, SOURCES

MUT = ROOT / "build/mut"
SETTINGS = {
    "FCVI_SRCDIR": str(ROOT),
    "FCVI_SEED_TESTS": "1",
    "FCVI_QUICK": "1",
    "CK_FORK": "no",
    "PYTHONPATH": f"{MUT / 'python'}:{ROOT / 'harness'}:{ROOT}",
    "PYTHONDONTWRITEBYTECODE": "1",
}
#: CPU time: so often what it takes by itself, and this much more; waiting is bounded by the wall clock
TIMES, SPARE_S, WALL_S = 5.0, 0.3, 900.0
MEMORY = 6 << 30
#: scenarios that take over a second are explored with one loss
LONG_SCENARIOS = ("client-server/data", "disconnect/setup", "reconnect", "message/reception", "message/unreliable",
                  "message/delivery")  # fmt: skip
STAGES = ("unit", "vipl", "fuzz", "explore", "differential", "suite", "captures")


@dataclass
class Program:
    """A program of ``make check``, or a bounded part of one."""

    stage: str
    name: str
    command: list[str]
    sources: list[Path]  # what it is made of: when one is newer, its lines are taken again
    cpu: float = 0.0  # seconds that it takes without a mutant
    lines: dict[str, set[int]] = field(default_factory=dict)  # by file

    def run(self, library: Path, limit: float, preload: str = "") -> str:
        """'' when it ends well with this library; how it ended otherwise."""

        def bound() -> None:
            signal.setitimer(signal.ITIMER_PROF, limit)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if not preload:
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

        environment = {**os.environ, **SETTINGS, "LD_LIBRARY_PATH": str(library)}
        if preload:
            environment |= {"LD_PRELOAD": preload, "ASAN_OPTIONS": "detect_leaks=0"}
        child = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT,
            env=environment, start_new_session=True, preexec_fn=bound,
        )  # fmt: skip
        try:
            status = child.wait(WALL_S)
        except subprocess.TimeoutExpired:
            status = -signal.SIGPROF
        if status == -signal.SIGPROF:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
            return "timeout"
        return "" if status == 0 else "failed"


def programs() -> list[Program]:
    """Every program, quick ones first within what is alike."""
    found = []
    for folder, stage in (("unit", "unit"), ("vipl", "vipl")):
        for path in sorted((MUT / folder).rglob("test_*")):
            source = ROOT / path.relative_to(MUT / folder).with_suffix(".c")
            found.append(Program(stage, path.name, [str(path)], [source]))
    for path in sorted((MUT / "fuzz").iterdir()):
        inputs = [d for d in (ROOT / "fuzz/corpus" / path.name, ROOT / "fuzz/regressions" / path.name) if d.is_dir()]
        if inputs:
            found.append(Program("fuzz", path.name, [str(path), *map(str, inputs)], inputs))
    explorer = str(MUT / "fcvi-explore")
    plain = {**os.environ, "LD_LIBRARY_PATH": str(MUT / "plain")}
    listed = subprocess.run([explorer, "list"], capture_output=True, text=True, check=True, env=plain)
    explored = [*ROOT.glob("conformance/explore/*.c")]
    for line in listed.stdout.splitlines():
        name = json.loads(line)["scenario"]
        bounds = ["losses=1"] if name in LONG_SCENARIOS else []
        found.append(Program("explore", name, [explorer, *bounds, name], explored))
    python = [*ROOT.glob("harness/fcvi/**/*.py"), *ROOT.glob("conformance/**/*.py")]
    found.append(Program("differential", "differential", [sys.executable, "-m", "harness.tests.capture.differential", "8000", "3"],
                         [ROOT / "harness/tests/capture/differential.py"]))  # fmt: skip
    suite = [sys.executable, "-m", "conformance", "run", "--dut", "ref", "--quiet", "--jobs", "1"]
    found.append(Program("suite", "suite", suite, python))
    captures = [sys.executable, "harness/case_captures.py", "check", str(MUT / "fcvi"), "pcaps/cases.sha256"]
    found.append(Program("captures", "captures", captures, [*python, ROOT / "pcaps/cases.sha256"]))
    return found


def _lines_of_run(program: Program) -> dict[str, list[int]]:
    """Lines that it runs, by file, from its coverage."""
    counts = [MUT / "cov" / file.relative_to(ROOT).with_suffix(".gcda") for file in SOURCES]
    for path in counts:
        path.unlink(missing_ok=True)
    how = program.run(MUT / "cov", 600)
    if how:
        raise RuntimeError(f"{program.name} {how} without a mutant")
    there = [str(path) for path in counts if path.exists()]
    if not there:
        return {}
    told = subprocess.run(["gcov", "--json-format", "--stdout", *there], cwd=MUT, capture_output=True, check=True).stdout
    found: dict[str, list[int]] = {}
    for text in told.splitlines():
        for file in json.loads(text)["files"]:
            if file["file"].endswith(".c"):
                found[file["file"]] = sorted(line["line_number"] for line in file["lines"] if line["count"])
    return found


def measure(found: list[Program]) -> None:
    """Fills in lines and times, from what an earlier run wrote when nothing has changed since."""
    these = Path(__file__).with_name("mutant_source.py")  # whose lines are counted
    library = max(path.stat().st_mtime for path in (MUT / "plain/libfcvi.so", MUT / "cov/libfcvi.so", these))
    for number, program in enumerate(found, 1):
        kept = MUT / "lines" / f"{program.stage}-{program.name.replace('/', '-')}.json.gz"
        kept.parent.mkdir(exist_ok=True)
        newest = max([library, *(path.stat().st_mtime for path in program.sources)])
        if not kept.exists() or kept.stat().st_mtime < newest:
            lines = _lines_of_run(program)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            how = program.run(MUT / "plain", 600)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if how:
                raise RuntimeError(f"{program.name} {how} without a mutant")
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            kept.write_bytes(gzip.compress(json.dumps({"cpu": cpu, "lines": lines}).encode()))
        there = json.loads(gzip.decompress(kept.read_bytes()))
        program.cpu, program.lines = there["cpu"], {file: set(lines) for file, lines in there["lines"].items()}
        if sys.stderr.isatty():
            print(f"\r{number} of {len(found)} programs measured", end="", file=sys.stderr)


@dataclass
class Places:
    """What gcov knows of a file: lines with code, and where functions begin and end."""

    lines: list[int]
    functions: list[tuple[int, int]]

    def counted(self, line: int, text: str) -> list[int] | None:
        """The lines that stand for this one: None is the whole library (what is outside of functions)."""
        for first, last in self.functions:
            if first <= line <= last:
                inside = [n for n in self.lines if first <= n <= last]
                if text.lstrip().startswith(("case ", "static ")):
                    return inside  # another value takes this case: whoever comes through the function may see it
                if line in inside:
                    return [line]
                return inside[: max(1, sum(n < line for n in inside))][-1:]
        return None


def places() -> dict[str, Places]:
    """By file. Needs the notes of the build with coverage, not its counts."""
    found = {}
    notes = [str(MUT / "cov" / file.relative_to(ROOT).with_suffix(".gcno")) for file in SOURCES]
    told = subprocess.run(["gcov", "--json-format", "--stdout", *notes], cwd=MUT, capture_output=True, check=True).stdout
    for text in told.splitlines():
        for file in json.loads(text)["files"]:
            if file["file"].endswith(".c"):
                spans = [(f["start_line"], f["end_line"]) for f in file["functions"]]
                found[file["file"]] = Places(sorted(line["line_number"] for line in file["lines"]), spans)
    return found
