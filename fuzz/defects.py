"""Do the fuzzers find what they should? Defects of fuzz/defects.toml, each planted in a copy of one file, and looked for.

    python defects.py --build BUILD --compile 'CLANG FLAGS' --codec FLAGS --link 'CLANG FLAGS' --libs LIBS
                      [--budget CPU_SECONDS] [--only NAME,...]

Nobody tells the fuzzers where to look: the targets take turns, from the corpora of the repository, until one of them
breaks or the budget of the defect is spent. Those that have a format run with the mutator and, beside it, without. A
control without any defect has to stay clean. Status 1 when it does not or when fewer than nine in ten are found.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

_HERE = Path(__file__).parent
_TARGETS = {
    "codec": ["frame", "values", "print", "iu"],
    "codec/src/vitcp": ["segment", "stream"],
    "refimpl": ["message", "pair", "port"],
    "refimpl/src/vitcp": ["tcp_pair"],
    "harness/judge": ["reassembly"],
}
_TURN_S = 5  # of a target, before the next one has its turn
_HANG = 10  # seconds after which an input counts as one that never ends
_ENOUGH = 0.9


class Found(NamedTuple):
    """What came of a search: the target that broke, or None."""

    target: str | None
    cpu: float
    executions: int
    how: str = ""


def _run(command: list[str]) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(command)}\n{done.stderr}")


def _kind(file: str) -> str:
    """The longest of the folders with targets of their own that the file lies in."""
    return max((folder for folder in _TARGETS if file.startswith(f"{folder}/")), key=len)


class Bench:
    """Builds targets with one file replaced, and runs them."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.fuzz = args.build / "fuzz"

    def build(self, defect: dict[str, str] | None, folder: Path, mutator: bool) -> dict[str, Path]:
        """The targets that the defect could be found by."""
        kinds = [_kind(defect["file"])] if defect else list(_TARGETS)
        changed = [str(self._changed(defect, folder))] if defect else []
        binaries = {}
        (folder / "python").symlink_to((self.args.build / "python").resolve())  # the reassembly looks for its library there
        for name in (name for kind in kinds for name in _TARGETS[kind]):
            binaries[name] = folder / f"{'mutating' if mutator else 'plain'}-{name}"
            has_format = "fcvi_fuzz_format" in (_HERE / f"fuzz_{name}.c").read_text(encoding="utf-8")
            ours = [f"-L{self.args.build}", "-lfcvi-mutator", f"-Wl,-rpath,{self.args.build.resolve()}"] * has_format
            _run([*shlex.split(self.args.link), str(self.fuzz / f"obj/fuzz/fuzz_{name}.o"), *changed,
                  str(self.fuzz / "libfuzzed.a"), str(self.fuzz / "obj/fuzz/options.o"), *(ours if mutator else []),
                  *shlex.split(self.args.libs), "-o", str(binaries[name])])
        return binaries

    def _changed(self, defect: dict[str, str], folder: Path) -> Path:
        source = Path(defect["file"])
        text = source.read_text(encoding="utf-8")
        if text.count(defect["old"]) != 1:
            raise SystemExit(f"defects.toml: {defect['name']}: `old` stands {text.count(defect['old'])} times in {source}")
        copy = folder / source.name
        copy.write_text(text.replace(defect["old"], defect["new"]), encoding="utf-8")
        flags = shlex.split(self.args.codec) if source.parts[0] == "codec" else []
        compiled = copy.with_suffix(".o")
        _run([*shlex.split(self.args.compile), *flags, f"-I{source.parent}", "-c", str(copy), "-o", str(compiled)])
        return compiled

    def search(self, binaries: dict[str, Path], folder: Path) -> Found:
        """Take turns until something breaks."""
        cpu, executions, turn = 0.0, 0, 0
        while cpu < self.args.budget:
            for name, binary in binaries.items():
                spent, runs, how = self._slice(name, binary, folder, turn)
                cpu, executions = cpu + spent, executions + runs
                if how:
                    return Found(name, cpu, executions, how)
            turn += 1
        return Found(None, cpu, executions)

    def _slice(self, name: str, binary: Path, folder: Path, turn: int) -> tuple[float, int, str]:
        grown = folder / f"corpus-{binary.name}"
        grown.mkdir(exist_ok=True)
        told = subprocess.run([str(_HERE / "arguments.sh"), name], check=True, capture_output=True, text=True).stdout
        command = [str(binary), f"-max_total_time={_TURN_S}", "-print_final_stats=1", f"-timeout={_HANG}",
                   f"-seed={turn + 1}", f"-artifact_prefix={folder}/", str(grown), *told.splitlines()]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        runs = re.search(r"number_of_executed_units: (\d+)", run.stderr)
        how = ""
        if run.returncode != 0:
            seen = re.search(r"broken demand: .*|ERROR: \S+: [\w-]+|runtime error: .{0,60}", run.stderr)
            how = seen[0] if seen else f"status {run.returncode}"
        return spent, int(runs[1]) if runs else 0, how


def _row(found: Found) -> str:
    if found.target is None:
        return f"not found {found.cpu:8.1f} s {found.executions:9d}"
    return f"{found.target:9} {found.cpu:8.1f} s {found.executions:9d}"


def main() -> int:
    """Plant, look, tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    for flag in ("compile", "codec", "link", "libs"):
        parser.add_argument(f"--{flag}", required=True)
    parser.add_argument("--budget", type=float, default=600, help="CPU seconds for each defect, 600 unless told")
    parser.add_argument("--only", default="", help="names of defects, with commas")
    args = parser.parse_args()
    bench, only = Bench(args), set(filter(None, args.only.split(",")))
    defects: list[dict[str, str] | None] = [None]
    defects += tomllib.loads((_HERE / "defects.toml").read_text(encoding="utf-8"))["defect"]
    counts, told, planted = [0, 0], [], 0
    print(f"{'defect':18} {'with the mutator':36} {'without':36}")
    clean = True
    for defect in defects:
        name = defect["name"] if defect else "control"
        if only and name not in only:
            continue
        results = []
        for mutator in (True, False):
            folder = args.build / "defects" / name
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            results.append(bench.search(bench.build(defect, folder, mutator), folder))
        if defect:
            planted += 1
            counts = [count + (found.target is not None) for count, found in zip(counts, results)]
        else:
            clean = all(found.target is None for found in results)
        print(f"{name:18} {_row(results[0]):36} {_row(results[1]):36} {results[0].how or results[1].how}", flush=True)
        told.append({"defect": name, "what": defect["what"] if defect else "none", "with": results[0]._asdict(),
                     "without": results[1]._asdict()})
    print(f"{counts[0]} of {planted} found with the mutator, {counts[1]} without; control {'clean' if clean else 'NOT CLEAN'}")
    (args.build / "defects" / "defects.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return 0 if clean and min(counts) >= _ENOUGH * planted else 1


if __name__ == "__main__":
    sys.exit(main())
