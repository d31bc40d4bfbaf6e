"""How much of libvipl and of the reference port does ``fcvi fuzz`` reach, blind and guided? Branches by gcov.

    python branches.py --build BUILD [--batches 30] [--seeds 10] [--at-once 5] [--json FILE]

The device is the upper tester agent over our libvipl and the reference port, in real time, built to count branches
(BUILD/fuzzcov/fcvi-agent). Nearly all of a campaign is waiting, so that several run at once. The figures: branches that each
campaign took in refimpl/vipl and in refimpl/src, and the test of guidance.py over the seeds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Optional, Sequence

from guidance import mann_whitney  # type: ignore[import-not-found]

_ROOT = Path(__file__).resolve().parent.parent
_PARTS = ("refimpl/vipl", "refimpl/src")
_LONGEST_S = 1800
_COUNTING = Lock()  # gcov writes beside the notes that all campaigns have


def _counted(data: Path) -> dict[str, int]:
    """The branches that were taken, by part. data: where the counters of one campaign are."""
    for counters in data.rglob("*.gcda"):
        notes = Path("/", counters.relative_to(data)).with_suffix(".gcno")
        counters.with_suffix(".gcno").symlink_to(notes)
    found = {}
    for part in _PARTS:
        said = subprocess.run(
            [sys.executable, "-m", "gcovr", str(data), "-r", str(_ROOT), "--filter", str(_ROOT / part), "--json-summary"],
            capture_output=True, text=True, check=True, cwd=_ROOT,
        )  # fmt: skip
        found[part] = int(json.loads(said.stdout)["branch_covered"])
    return found


def _campaign(build: Path, batches: int, seed: int, guided: bool) -> dict[str, int]:
    with tempfile.TemporaryDirectory(prefix="fcvi-branches.") as scratch:
        device = f"exec:env GCOV_PREFIX={scratch} {build / 'fuzzcov/fcvi-agent'} --on stream"
        command = [str(build / "fcvi"), "fuzz", "--dut", device, "--batches", str(batches), "--seed", str(seed * 1_000_000)]
        done = subprocess.run(
            command + ([] if guided else ["--blind"]), capture_output=True, text=True, timeout=_LONGEST_S, check=False
        )
        if done.returncode != 0:
            raise SystemExit(f"seed {seed}: status {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}")
        with _COUNTING:
            return _counted(Path(scratch))


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run all campaigns and print the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--batches", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--at-once", type=int, default=5)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args(argv)
    build = Path(os.path.abspath(args.build))
    jobs = [(seed, guided) for seed in range(1, args.seeds + 1) for guided in (False, True)]
    with ThreadPoolExecutor(args.at_once) as pool:
        results = list(pool.map(lambda job: _campaign(build, args.batches, *job), jobs))
    for part in _PARTS:
        blind, guided = ([r[part] for (_, way), r in zip(jobs, results) if way == wanted] for wanted in (False, True))
        print(f"{part}: blind {blind}, guided {guided}, p = {mann_whitney(blind, guided):.4f}")
    if args.json is not None:
        args.json.write_text(json.dumps([{"seed": s, "guided": g, **r} for (s, g), r in zip(jobs, results)]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
