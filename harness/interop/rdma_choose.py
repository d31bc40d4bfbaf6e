"""Chooses which variants a lane of `make interop-rdma` runs: written from the report of a run of all of them.

`python3 -m harness.interop.rdma_choose REPORT KIND [SECONDS]` writes `rdma-KIND.cases`: of each case the variant that came to a
verdict soonest, then cheap variants that show the recorded deviations (but those that take longer than 6 s), and then as many
more as fit into the seconds, the cheapest first.
A case that has no verdict on this provider keeps its first variant, so that a change of that is noticed.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from . import rdma

_SECONDS = 40.0
_DEAR_S = 6.0  # a deviation that takes longer is left to a run of all
_HEAD = """\
# The variants of the lane of {kind}: each case with one at least, the recorded deviations that show soon, and what else fits into
# the time. Written by rdma_choose.py from a run of all ({all} variants, {seconds:.0f} s); `--all` runs the others, too.
"""


def order(variant: str) -> tuple[int, str]:
    """As the suite has them."""
    return int(variant.partition("/")[0].split(".")[1]), variant


def choose(results: list[dict[str, Any]], recorded: set[str], left_out: set[str], seconds: float) -> set[str]:
    """The variants of a lane, from the results of a run of all."""
    cost = {one["id"]: one["wall_us"] / 1e6 for one in results}
    decided = {one["id"] for one in results if one["verdict"] in ("pass", "fail")} - left_out
    of_case: dict[str, list[str]] = {}
    shows: dict[str, list[str]] = {}
    for one in (r for r in results if r["id"] not in left_out):
        of_case.setdefault(one["id"].partition("/")[0], []).append(one["id"])
        for row in one["broken"]:
            shows.setdefault(row, []).append(one["id"])
    taken = set()
    for variants in of_case.values():
        useful = [v for v in variants if v in decided]
        taken.add(min(useful, key=lambda v: cost[v]) if useful else variants[0])
    shown = {row for row in shows if taken & set(shows[row])}
    while missing := {row for row in recorded & shows.keys() - shown if min(cost[v] for v in shows[row]) <= _DEAR_S}:
        new = {v: sum(v in shows[row] for row in missing) for row in missing for v in shows[row] if cost[v] <= _DEAR_S}
        best = min(new, key=lambda v: (cost[v] / new[v], order(v)))
        taken.add(best)
        shown |= {row for row in missing if best in shows[row]}
    left = seconds - sum(cost[v] for v in taken)
    for variant in sorted(decided - taken, key=lambda v: (cost[v], order(v))):
        if cost[variant] > left:
            break
        taken.add(variant)
        left -= cost[variant]
    return taken


def main() -> int:
    """Write the list."""
    report, kind = Path(sys.argv[1]), sys.argv[2]
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else _SECONDS
    results = json.loads((report / "report.json").read_text())["results"]
    recorded = {entry["requirement"] for entry in tomllib.loads(rdma.DEVIATIONS[kind].read_text())["deviation"]}
    taken = choose(results, recorded, {*rdma.LEFT_OUT[kind], *rdma.UNDECIDED[kind]}, seconds)
    wall = sum(one["wall_us"] for one in results) / 1e6
    lines = _HEAD.format(kind=kind, all=len(results), seconds=wall) + "".join(f"{v}\n" for v in sorted(taken, key=order))
    rdma.CASES[kind].write_text(lines)
    cost = sum(one["wall_us"] for one in results if one["id"] in taken) / 1e6
    print(f"{rdma.CASES[kind].name}: {len(taken)} of {len(results)} variants, {cost:.0f} of {wall:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
