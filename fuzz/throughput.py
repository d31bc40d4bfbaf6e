"""What a target costs beside its engine: executions a second with and without our code, in turn on one core.

    python throughput.py --build BUILD [--rounds 9] [--seconds 1] [--core 0] [--json FILE]

Every target is run with its own arguments, the empty ones with those of the frame target. Executions are divided by the CPU
time of the process, so that other work on the machine disturbs less; before each run of a target the empty one of its engine
runs as long, and the ratio is that of the two. The table has the medians, of the ratios also the quartiles. `empty, long
inputs` keeps inputs as long as those of the frame target: what the engine alone needs to make, copy and guard them. AFL++ is
measured when it is there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, NamedTuple

_HERE = Path(__file__).parent


class Row(NamedTuple):
    """One line of the table."""

    name: str
    base: str  # the row that it is compared with
    measure: Callable[[], float]


def _arguments(name: str) -> list[str]:
    command = [str(_HERE / "arguments.sh"), name]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def libfuzzer(binary: Path, name: str, seconds: int) -> float:
    """Executions per CPU second of a libFuzzer target, run with what a target of the repository is run with."""
    with tempfile.TemporaryDirectory() as found:
        command = [str(binary), f"-max_total_time={seconds}", "-print_final_stats=1", found, *_arguments(name)]
        before = _cpu()
        run = subprocess.run(command, check=True, capture_output=True, text=True, errors="replace")
        spent = _cpu() - before
    executed = re.search(r"number_of_executed_units: (\d+)", run.stderr)
    if executed is None:
        raise RuntimeError(f"{binary} does not say how often it ran")
    return int(executed[1]) / spent


def afl(binary: Path, corpus: str, seconds: int) -> float:
    """Executions per CPU second of an AFL++ target and of the fuzzer that drives it."""
    quiet = {"AFL_NO_UI": "1", "AFL_SKIP_CPUFREQ": "1", "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES": "1", "AFL_NO_AFFINITY": "1"}
    with tempfile.TemporaryDirectory() as out:
        command = ["afl-fuzz", "-i", str(_HERE / "corpus" / corpus), "-o", out, "-V", str(seconds + 2), "--", str(binary)]
        before = _cpu()
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, **quiet})
        spent = _cpu() - before
        stats = Path(out, "default", "fuzzer_stats").read_text(encoding="utf-8")
    executed = re.search(r"execs_done\s*: (\d+)", stats)
    if executed is None:
        raise RuntimeError(f"afl-fuzz does not say how often it ran {binary}")
    return int(executed[1]) / spent


def rows(build: Path, seconds: int) -> list[Row]:
    """What is measured, the empty target first."""
    fuzz = build / "fuzz"

    def row(name: str, binary: str, like: str) -> Row:
        return Row(name, "empty", lambda: libfuzzer(fuzz / binary, like, seconds))

    table = [
        row("empty", "fuzz_empty", "frame"),
        row("empty, long inputs", "fuzz_empty_long", "frame"),
        row("frame", "plain-frame", "frame"),
        row("frame with mutator", "fuzz_frame", "frame"),
        row("message", "plain-message", "message"),
        row("message with mutator", "fuzz_message", "message"),
        row("port", "fuzz_port", "port"),
        row("pair", "fuzz_pair", "pair"),
    ]
    if all((fuzz / f"afl-fuzz_{name}").exists() for name in ("empty", "frame", "port")):
        for name, shown in (("empty", "frame"), ("frame", "frame"), ("port", "port")):
            binary = fuzz / f"afl-fuzz_{name}"
            table.append(Row(f"AFL++ {name}", "AFL++ empty", lambda b=binary, c=shown: afl(b, c, seconds)))  # type: ignore[misc]
    return table


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=int, default=1, help="of each run")
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    args = parser.parse_args()
    os.sched_setaffinity(0, {args.core})
    table = rows(args.build.resolve(), args.seconds)
    base = {row.name: row for row in table}
    seen: dict[str, list[float]] = {row.name: [] for row in table}
    ratios: dict[str, list[float]] = {row.name: [] for row in table}
    for _ in range(args.rounds):
        for row in table:
            if row.base != row.name:
                empty, mine = base[row.base].measure(), row.measure()
                seen[row.base].append(empty)
                seen[row.name].append(mine)
                ratios[row.name].append(mine / empty)
    print(f"{'target':20} {'executions / CPU second':>24} {'ratio':>7}  quartiles")
    figures = {}
    for row in table:
        per_second, found = statistics.median(seen[row.name]), ratios[row.name] or [1.0]
        figures[row.name] = {"per_second": per_second, "ratio": statistics.median(found), "ratios": found, "base": row.base}
        low, _, high = statistics.quantiles(found, n=4) if len(found) > 1 else found * 3
        print(f"{row.name:20} {per_second:24,.0f} {statistics.median(found):7.3g}  {low:.3g} to {high:.3g}")
    if args.json is not None:
        args.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
