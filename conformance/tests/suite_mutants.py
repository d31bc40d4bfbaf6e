"""``make mutants-suite``: seeded one-line mutants of the suite's own Python, and which of them the tests let live.

A copy of the tree with a probe before each mutated line runs the tests once: that tells which tests run which line, in the
processes of commands too. Then each mutant meets only those tests, in a copy of its own, and stops at the first that fails.
Tests that run few of the lines come first. A test that fails without the mutant as well has found nothing. What no test
finds meets the stages of ``check`` that play the suite itself.

Usage: python3 -m conformance.tests.suite_mutants [--seed N] [--sample N] [--jobs N] [--marks EXPR] [--hits FILE] [--out FILE]
Exit status: 0 done, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import collections
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Sequence

from .suite_mutant_source import Mutant, apply, chosen, put_probes

ROOT = Path(__file__).resolve().parents[2]
#: Stages of `check` and `nightly` that run the suite's Python without pytest, quickest first.
STAGES = ("certify", "check-docs", "check-pcaps", "check-types")
MOST_S = 900.0  # that tests which one pytest takes may need, or one test alone
TOO_SLOW = "too slow"
TREE = "{tree}"  # stands for the path of the tree in the name of a test
AT_ONCE = 400  # tests that one pytest takes: the first failure ends the mutant


def copy_of(tree: Path, into: Path) -> Path:
    """A copy of what git tracks here, with the build beside it: the stages of a mutant write into it."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=tree, capture_output=True, check=True).stdout
    subprocess.run(["cp", "--parents", "-a", "-t", str(into), *filter(None, listed.decode().split("\0"))], cwd=tree, check=True)
    subprocess.run(["cp", "-a", str(tree / "build"), str(into / "build")], check=True)
    shared = tree.parent / "shared"
    if shared.is_dir() and not (into.parent / "shared").exists():
        (into.parent / "shared").symlink_to(shared)
    subprocess.run(["git", "init", "-q"], cwd=into, check=True)  # tests ask git what is tracked
    subprocess.run(["git", "add", "-A", "-f", "--", *[p.name for p in into.iterdir() if p.name not in (".git", "build")]],
                   cwd=into, check=True)  # fmt: skip
    subprocess.run(["git", "-c", "user.name=mutant", "-c", "user.email=mutant@localhost", "commit", "-qm", "tree"], cwd=into,
                   check=True)  # fmt: skip
    return into


def compile_all(tree: Path) -> None:
    """Bytecode that is held by what a source says, not by its time: each start of a command would compile the suite anew."""
    words = ["compileall", "-q", "-j", "0", "--invalidation-mode", "checked-hash", "harness", "conformance", "fuzz"]
    subprocess.run(["/usr/bin/python3", "-m", *words], cwd=tree, check=True)


def failures(tree: Path, *words: str, limit: float) -> list[str]:
    """The tests that fail, by name; of a run that a signal ends, the test that ran then, with TOO_SLOW if its time was over."""
    environment = {**os.environ, "PYTHONPATH": f"{tree}/build/python:{tree}/harness:{tree}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = ["/usr/bin/python3", "-m", "pytest", "-v", "-rfE", "--tb=no", "-p", "no:cacheprovider", *words]
    slow = []
    with subprocess.Popen(command, cwd=tree, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, start_new_session=True) as running:  # fmt: skip
        try:
            said, _ = running.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, 9)
            said, _ = running.communicate()
            slow = [TOO_SLOW]
    found = [line.split(" ", 1)[1].split(" - ")[0] for line in said.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if running.returncode < 0:  # the line of a test that has not ended is its name
        return [*slow, *[line.rstrip() for line in said.splitlines()[-1:] if "::" in line]]
    return found or ([] if running.returncode == 0 else [f"pytest's status {running.returncode}"])


def makes(tree: Path, stage: str) -> bool:
    """Whether a stage of `check` passes."""
    nothing = subprocess.DEVNULL
    done = subprocess.run(["make", "-s", stage], cwd=tree, stdin=nothing, stdout=nothing, stderr=nothing, check=False)
    return done.returncode == 0


def read_hits(path: Path, count: int) -> list[list[str]]:
    """The tests that run each mutant's line, those first that run the fewest lines. "?" is for no test.

    Where the name of a test has the path of its tree, TREE stands for that.
    """
    by_test: dict[str, set[int]] = collections.defaultdict(set)
    for line in path.read_text(encoding="utf-8").splitlines():
        number, _, who = line.partition("\t")
        by_test[who.rsplit(" (", 1)[0]].add(int(number))
    lists: list[list[str]] = [[] for _ in range(count)]
    for test, numbers in sorted(by_test.items(), key=lambda pair: (len(pair[1]), pair[0])):
        for each in numbers:
            lists[each].append(test)
    return lists


def collected(tree: Path, marks: Sequence[str]) -> set[str]:
    """The names that pytest finds. One name that it does not find ends a run before its first test."""
    environment = {**os.environ, "PYTHONPATH": f"{tree}/build/python:{tree}/harness:{tree}"}
    words = ["-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *marks, "harness/tests", "conformance/tests"]
    done = subprocess.run(["/usr/bin/python3", *words], cwd=tree, env=environment, capture_output=True, text=True, check=True)
    return {line.replace(str(tree), TREE) for line in done.stdout.splitlines() if "::" in line}


def finds(tree: Path, mutant: Mutant, tests: list[str], limit: float) -> list[str]:
    """What fails of these tests with the mutant, the first only."""
    apply(tree, mutant)
    try:
        return failures(tree, "-x", *tests, limit=limit)
    finally:
        apply(tree, mutant, back=True)


def judge(tree: Path, mutant: Mutant, tests: list[str]) -> str:
    """What finds the mutant, or "survived"; "unreached" when nothing runs its line."""
    if not tests:
        return "unreached"
    left = [test.replace(TREE, str(tree)) for test in tests if test != "?"]
    while left:
        part = left[:AT_ONCE]
        failed = finds(tree, mutant, part, MOST_S)
        slow = failed[:1] == [TOO_SLOW]
        if slow:  # a busy host is slow as well: what the test does alone counts
            failed = failed[1:] or part[:1]
            failed = failed if finds(tree, mutant, failed, MOST_S) else []
            if not failed and part[1:]:
                left = [*part[1:], *left[AT_ONCE:]]
                continue
        alone = failed if not failed or "::" in failed[0] else part[:1]  # no test failed, but pytest did not begin
        if failed and not failures(tree, *alone[:1], limit=MOST_S):
            return f"{TOO_SLOW}: {failed[0]}" if slow else failed[0].replace(str(tree), TREE)
        if alone is not failed:
            return f"not judged: {failed[0]} of {part[0]}"
        # what fails without the mutant, too, says nothing of it
        left = left[left.index(failed[0]) + 1 :] if failed and failed[0] in left else left[AT_ONCE:]
    apply(tree, mutant)
    try:
        return next((stage for stage in STAGES if not makes(tree, stage)), "survived")
    finally:
        apply(tree, mutant, back=True)
        shutil.rmtree(tree / "build/pcaps", ignore_errors=True)  # tests of the next mutant read what this one recorded
        shutil.copytree(ROOT / "build/pcaps", tree / "build/pcaps")


def main() -> int:
    """Run it all; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0], allow_abbrev=False)
    parser.add_argument("--seed", type=int, default=45)
    parser.add_argument("--sample", type=int, default=80, help="how many mutants")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--marks", default="", help="tests by their marks, as pytest's -m takes them")
    parser.add_argument("--hits", type=Path, help="which tests run which line, from an earlier run; made when it is not there")
    parser.add_argument("--only", type=int, nargs="*", help="these mutants alone, by number")
    parser.add_argument("--out", type=Path, default=ROOT / "build/mutants-suite.tsv")
    args = parser.parse_args()
    mutants = chosen(ROOT, args.seed, args.sample)
    marks = ["-m", args.marks] if args.marks else []
    with tempfile.TemporaryDirectory(prefix="fcvi-mutants-") as place:
        hits = args.hits or Path(place, "hits.tsv")
        if not hits.exists():
            probed = copy_of(ROOT, _fresh(place, "probed"))
            put_probes(probed, mutants, hits)
            compile_all(probed)
            failures(probed, "-n", str(args.jobs), *marks, "harness/tests", "conformance/tests", limit=7200)
            hits.write_text(hits.read_text(encoding="utf-8").replace(str(probed), TREE), encoding="utf-8")
            shutil.rmtree(probed)
        known = collected(ROOT, marks)
        tests = [[test for test in each if test == "?" or test in known] for each in read_hits(hits, len(mutants))]
        free: SimpleQueue[Path] = SimpleQueue()
        for number in range(args.jobs):
            free.put(copy_of(ROOT, _fresh(place, f"tree{number}/fcvi")))
        for number in range(args.jobs):
            compile_all(Path(place, f"tree{number}/fcvi"))

        def one(number: int) -> str:
            tree = free.get()
            try:
                return judge(tree, mutants[number], tests[number])
            finally:
                free.put(tree)

        with ThreadPoolExecutor(args.jobs) as pool, args.out.open("w", encoding="utf-8") as out:
            numbers = args.only or range(len(mutants))
            for number, verdict in zip(numbers, pool.map(one, numbers)):
                m = mutants[number]
                row = [str(number), m.file, str(m.line), m.kind, str(len(tests[number])), verdict, m.new.strip()]
                print("\t".join(row), file=out, flush=True)
                print("\t".join(row), flush=True)
    return 0


def _fresh(place: str, name: str) -> Path:
    path = Path(place, name)
    path.mkdir(parents=True)
    return path


if __name__ == "__main__":
    sys.exit(main())
