"""``make mutants``: source mutants of codec/, refimpl/ and the monitor, and which of them the checks of the project let live.

One change a mutant: an operator, a constant, a condition or a removed statement. Each is built into a library of its own
and meets the programs that run its line, those first that have killed most for their time: the C tests, the VIPL
programs, the corpora of the fuzzers, the scenarios of fcvi-explore, the differential decoder, the suite against the
reference port, the captures of the cases, and the C tests under sanitizers. What needs five times the CPU time that
it needs without the mutant has found it too. A mutant that compiles to the same object is equivalent. Survivors that
cannot be told apart are explained in mutants_explained.txt.

Usage: python3 -m conformance.tests.mutants [--sample N] [--seed N] [--jobs N] [--only GLOB] [--results FILE] [--resume | --again]
Exit status: 0 done, 2 wrong usage, 3 the tests fail without a mutant.
"""

from __future__ import annotations

import argparse
import collections
import math
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path

from .mutant_judge import Bench, Verdict
from .mutant_source import ROOT, SOURCES, Mutant, mutants_of

EXPLAINED = Path(__file__).with_name("mutants_explained.txt")
Key = tuple[str, str, int, str]
LIVING = ("survived", "unreached")
_bench = Bench()


def explanations(text: str) -> dict[tuple[str, str, str], str]:
    """Why (file, old line, new line) cannot be told apart: a file's name, pairs of lines with - and +, and words for them."""
    found: dict[tuple[str, str, str], str] = {}
    file, old, pairs, words = "", "", [], ""  # type: str, str, list[tuple[str, str, str]], str
    for line in [*text.splitlines(), ""]:
        stripped = line.strip()
        if stripped.startswith("- "):
            if words:
                found |= dict.fromkeys(pairs, words)
                pairs, words = [], ""
            old = stripped[2:].strip()
        elif stripped.startswith("+"):
            pairs.append((file, old, stripped[1:].strip() or ";"))
        elif line.startswith("  "):
            words = f"{words} {stripped}".strip()
        else:
            found |= dict.fromkeys(pairs, words)
            pairs, words = [], ""
            file = file if not stripped or stripped.startswith("#") else stripped
    return found


def read_results(path: Path) -> dict[Key, Verdict]:
    """What an earlier run found; a line that was cut off is left out."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        parts = line.split("\t")
        if len(parts) == 7:
            found[parts[0], parts[1], int(parts[2]), parts[3]] = Verdict(*parts[4:])
    return found


def write_result(path: Path, mutant: Mutant, verdict: Verdict) -> None:
    """One more line."""
    with path.open("a", encoding="utf-8") as out:
        out.write("\t".join([*map(str, mutant.key), verdict.verdict, verdict.stage, verdict.program]) + "\n")


def _begin() -> None:
    _bench.begin()
    multiprocessing.util.Finalize(None, _bench.end, exitpriority=1)  # type: ignore[attr-defined]


def _judge(alike: list[Mutant]) -> list[tuple[Mutant, Verdict]]:
    return [(mutant, _bench.judge(mutant)) for mutant in alike]


def _score(counts: collections.Counter[str]) -> str:
    found, living = counts["killed"] + counts["timeout"], counts["survived"] + counts["unreached"]
    words = f"{100 * found / max(1, found + living):.1f} %: {counts['killed']} killed, {counts['timeout']} did not end"
    words += f", {living} lived"
    words += f" ({counts['unreached']} of them in lines that nothing runs)" if counts["unreached"] else ""
    words += f"; {counts['explained']} explained"
    return f"{words}, {counts['equivalent']} compile to the same, {counts['stillborn']} do not compile"


def report(every: Iterable[Mutant], results: dict[Key, Verdict], why: dict[tuple[str, str, str], str]) -> list[str]:
    """Survivors, explained ones, explanations without a survivor, and the score by part, by file and by what found them."""
    survivors, explained, used = [], [], set()
    parts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    files: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    stages: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    judged: set[tuple[str, str, str]] = set()
    for mutant in every:
        verdict = results.get(mutant.key)
        if verdict is None:
            continue
        file, said = mutant.key[0], verdict.verdict
        key = file, mutant.old.strip(), mutant.new.strip()
        judged.add(key)
        if key in why and (said in LIVING or said == "equivalent"):
            used.add(key)
        if said in LIVING and key in why:
            said = "explained"
            explained.append(f"explained: {mutant}\n           {why[key]}")
        elif said in LIVING:
            survivors.append(f"{said}: {mutant}")
        parts[mutant.part][said] += 1
        files[file][said] += 1
        if verdict.stage:
            stages[mutant.part][verdict.stage] += 1
    stale = [f"stale explanation: {f}: {a}  ->  {b}" for f, a, b in why if (f, a, b) in judged - used]
    scores = [f"{file}: {_score(counts)}" for file, counts in sorted(files.items())]
    lines = [*survivors, "", *explained, "", *stale, "", *scores, ""]
    for part, counts in sorted(parts.items()):
        by = ", ".join(f"{stage} {n}" for stage, n in stages[part].most_common())
        lines += [f"{part}: {_score(counts)}", f"{part}: found by {by}"]
    return lines


def run(chosen: list[Mutant], jobs: int, results: dict[Key, Verdict], path: Path) -> None:
    """Judges them; each result is written as it comes."""
    began, done = time.monotonic(), 0
    lines: dict[tuple[Path, int], list[Mutant]] = {}
    for mutant in chosen:
        lines.setdefault((mutant.file, mutant.line), []).append(mutant)
    order = list(lines.values())
    random.Random(1).shuffle(order)  # what an interrupted run has judged is a sample
    with multiprocessing.get_context("fork").Pool(jobs, _begin) as pool:
        for judged in pool.imap_unordered(_judge, order):
            for mutant, verdict in judged:
                done += 1
                results[mutant.key] = verdict
                write_result(path, mutant, verdict)
                if verdict.verdict in LIVING:
                    print(f"{verdict.verdict}: {mutant}", flush=True)
            if sys.stderr.isatty():
                print(f"\r{done} of {len(chosen)} mutants, {time.monotonic() - began:.0f} s", end="", file=sys.stderr, flush=True)
        pool.close()
        pool.join()


def main(argv: list[str]) -> int:
    """Make and judge mutants."""
    parser = argparse.ArgumentParser(prog="mutants", description="source mutants of codec, refimpl and monitor against the checks")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="so many, chosen by the seed (0: all)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the sample (1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="mutants at a time (one a core)")
    parser.add_argument("--only", default="*", metavar="GLOB,...", help="files, as codec/src/fc/crc.c or refimpl/*")
    build = ROOT / "build"
    parser.add_argument("--results", type=Path, default=build / "mutants.tsv", metavar="FILE", help="a line for each judged")
    parser.add_argument("--resume", action="store_true", help="go on after an interrupt: what has a result is not judged again")
    parser.add_argument("--again", action="store_true", help="judge the survivors again")
    parser.add_argument("--longest", type=float, default=math.inf, metavar="S",
                        help="only with programs that take S seconds at most; then --again for what lived")  # fmt: skip
    parser.add_argument("--programs", default="*", metavar="GLOB,...", help="only with these: with --again, what a new test finds")
    parser.add_argument("--list", action="store_true", help="judge nothing; print what there is")
    parser.add_argument("--out", type=Path, default=build / "mutants.txt", metavar="FILE", help="where survivors and scores go")
    options = parser.parse_args(argv)
    globs = options.only.split(",")
    files = [file for file in SOURCES if any(fnmatch(str(file.relative_to(ROOT)), glob) for glob in globs)]
    every = [m for file in files for m in mutants_of(file)]
    if not every or options.jobs < 1:
        print("mutants: no mutants of these files" if not every else "mutants: --jobs takes a number above 0", file=sys.stderr)
        return 2
    chosen = random.Random(options.seed).sample(every, min(options.sample, len(every))) if options.sample else every
    keep = options.resume or options.again or options.list
    if not keep:
        options.results.unlink(missing_ok=True)
    results = read_results(options.results)
    why = explanations(EXPLAINED.read_text(encoding="utf-8"))
    left = [m for m in chosen if (m.key in results and results[m.key].verdict in LIVING if options.again else m.key not in results)]
    if left and not options.list:
        _bench.longest, _bench.explained = options.longest, set(why)
        try:
            _bench.sanitize = options.programs == "*"
            _bench.prepare(options.programs.split(","))
        except (RuntimeError, OSError) as problem:
            print(f"mutants: {problem}", file=sys.stderr)
            return 3
        run(left, options.jobs, results, options.results)
    lines = report(chosen, results, why)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(line for line in lines if line.startswith(("stale", "codec:", "refimpl:", "monitor:", "support:"))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
