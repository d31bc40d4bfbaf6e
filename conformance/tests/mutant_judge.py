"""Finds what becomes of a mutant: one changed object in the library, and the programs that run its line."""

from __future__ import annotations

import functools
import math
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from .mutant_programs import MUT, SPARE_S, TIMES, Places, Program, measure, places, programs
from .mutant_source import ROOT, SOURCES, Mutant

FLAGS = ["-std=c11", "-D_DEFAULT_SOURCE", "-DFCVI_INTERNALS_IN_SIGHT", "-fPIC", "-w", *(f"-I{ROOT / d}" for d in (
    "codec/include", "refimpl/include", "conformance/monitor/include", "refimpl/vipl/include", "harness/capture"))]  # fmt: skip
SANITIZE = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
BUILD_S = 1800  # a machine with other things to do may let a build wait
EXPLAINED_S = 0.12  # longer programs are not run for what is explained
SANITIZED_S, SANITIZED_TIMES = 0.1, 12.0


@dataclass(frozen=True)
class Verdict:
    """killed, timeout, survived, unreached (no program runs its line), equivalent, stillborn; and what found it."""

    verdict: str
    stage: str = ""
    program: str = ""


def build(command: list[str]) -> bool:
    """Whether it builds."""
    nothing = subprocess.DEVNULL
    return subprocess.run(command, stdin=nothing, stdout=nothing, stderr=nothing, timeout=BUILD_S, check=False).returncode == 0


@functools.cache
def compiler_library() -> str:
    """What the compiler's own functions are in, for a linker that is not called by the compiler."""
    asked = subprocess.run(["gcc", "-print-libgcc-file-name"], capture_output=True, text=True, check=True)
    return asked.stdout.strip()


@functools.cache
def sanitizers() -> str:
    """What to preload, so that programs without sanitizers run a library with them."""
    names = ("libasan.so", "libubsan.so")
    asked = (subprocess.run(["gcc", f"-print-file-name={n}"], capture_output=True, text=True, check=True) for n in names)
    return " ".join(answer.stdout.strip() for answer in asked)


@dataclass
class Bench:
    """The programs, and how often each has killed mutants of a file: those that did so quickly come first."""

    found: list[Program] = field(default_factory=list)
    known: dict[str, Places] = field(default_factory=dict)
    tried: dict[tuple[str, str], int] = field(default_factory=dict)
    kills: dict[tuple[str, str], int] = field(default_factory=dict)
    here: dict[tuple[str, int], set[str]] = field(default_factory=dict)  # what has killed a mutant of the line
    longest: float = math.inf  # programs that take more seconds are left out, and the sanitizers
    sanitize: bool = True
    explained: set[tuple[str, str, str]] = field(default_factory=set)  # they meet the quick programs only
    directory: Path = Path("/nowhere")

    def prepare(self, globs: list[str]) -> None:
        """Measures the programs whose names are asked for."""
        self.found = [p for p in programs() if any(fnmatch(p.name, glob) for glob in globs)]
        measure(self.found)
        self.known = places()
        self._control()

    def _control(self) -> None:
        """No file without a mutant may fail, built just as mutants are."""
        self.begin()
        try:
            for file in SOURCES[:: len(SOURCES) // 2]:
                nothing = Mutant(file, 1, *[file.read_text(encoding="utf-8").splitlines()[0]] * 2)
                library = self.library(nothing, file, "plain", ["-O0"])
                for program in self.found:
                    if program.cpu < EXPLAINED_S and (library is None or program.run(library, 60)):
                        raise RuntimeError(f"{program.name} fails with {file.name} unchanged")
        finally:
            self.end()

    def begin(self) -> None:
        """In a process of its own: a directory for its libraries."""
        self.directory = Path(tempfile.mkdtemp(prefix="fcvi-mutant-"))

    def end(self) -> None:
        """Removes it."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def meeting(self, mutant: Mutant) -> list[Program]:
        """The programs that run its line."""
        file = str(mutant.file.relative_to(ROOT))
        lines = self.known[file].counted(mutant.line, mutant.old)
        met = self.found if lines is None else [p for p in self.found if not p.lines.get(file, set()).isdisjoint(lines)]
        here = self.here.get((file, mutant.line), set())

        def worth(program: Program) -> float:
            """Most kills for a second."""
            key = (file, program.name)
            likely = 0.7 if program.name in here else (self.kills.get(key, 0) + 0.1) / (self.tried.get(key, 0) + 2)
            return likely / (program.cpu + 0.03)

        return sorted(met, key=worth, reverse=True)

    def library(self, mutant: Mutant, source: Path, kind: str, flags: list[str]) -> Path | None:
        """The library with this mutant, of objects of that kind; None when it does not build."""
        place = self.directory / kind
        place.mkdir(exist_ok=True)
        changed = place / "mutant.o"
        if not build(["gcc", *FLAGS, "-DFCVI_ASSERTS", *flags, f"-I{mutant.file.parent}", "-c", str(source), "-o", str(changed)]):
            return None
        others = [str(MUT / kind / file.relative_to(ROOT).with_suffix(".o")) for file in SOURCES if file != mutant.file]
        linker = ["ld"] if kind == "plain" else ["gcc", *SANITIZE]
        soname = ["-Bsymbolic", "-soname", "libfcvi.so"] if kind == "plain" else ["-Wl,-Bsymbolic", "-Wl,-soname,libfcvi.so"]
        objects = [*others, str(changed), "-lisal", compiler_library()]
        command = [*linker, "-shared", *soname, *objects, "-o", str(place / "libfcvi.so")]
        return place if build(command) else None

    def same(self, mutant: Mutant, source: Path) -> bool:
        """Whether the compiler makes the same of it: then nothing can tell it apart."""
        original, changed = self.directory / f"{mutant.file.stem}.original.o", self.directory / "changed.o"
        flags = [*FLAGS, "-O2", f"-I{mutant.file.parent}", "-c"]
        if not original.exists():
            copy = self.directory / "copy" / mutant.file.name
            copy.parent.mkdir(exist_ok=True)
            shutil.copy(mutant.file, copy)
            build(["gcc", *flags, str(copy), "-o", str(original)])
        return build(["gcc", *flags, str(source), "-o", str(changed)]) and changed.read_bytes() == original.read_bytes()

    def judge(self, mutant: Mutant) -> Verdict:
        """What becomes of it."""
        file = str(mutant.file.relative_to(ROOT))
        source = self.directory / mutant.file.name
        lines = mutant.file.read_text(encoding="utf-8").splitlines()
        lines[mutant.line - 1] = mutant.new
        source.write_text("\n".join(lines) + "\n", encoding="utf-8")
        library = self.library(mutant, source, "plain", ["-O0"])
        if library is None:
            return Verdict("stillborn")
        met = self.meeting(mutant)
        if not met:
            return Verdict("unreached" if self.sanitize else "survived")
        explained = (file, mutant.old.strip(), mutant.new.strip()) in self.explained
        longest = EXPLAINED_S if explained else self.longest
        left = [program for program in met if program.cpu <= longest]
        for number, program in enumerate(left):
            if number == 4 and self.same(mutant, source):
                return Verdict("equivalent")
            key = (file, program.name)
            self.tried[key] = self.tried.get(key, 0) + 1
            how = program.run(library, SPARE_S + TIMES * program.cpu)
            if how:
                self.kills[key] = self.kills.get(key, 0) + 1
                self.here.setdefault((file, mutant.line), set()).add(program.name)
                return Verdict("killed" if how == "failed" else how, program.stage, program.name)
        if len(left) <= 4 and self.same(mutant, source):
            return Verdict("equivalent")
        return Verdict("survived") if longest < math.inf or not self.sanitize else self._sanitized(mutant, source, left)

    def _sanitized(self, mutant: Mutant, source: Path, left: list[Program]) -> Verdict:
        """The quick unit tests again, under ASan and UBSan."""
        library = self.library(mutant, source, "san", SANITIZE)
        for program in left:
            if library is not None and program.stage == "unit" and program.cpu < SANITIZED_S:
                if program.run(library, 1 + SANITIZED_TIMES * program.cpu, sanitizers()) == "failed":
                    return Verdict("killed", "sanitizers", program.name)
        return Verdict("survived")
