"""``make rdma-faults``: each faulty provider of `fcvi-verbs-agent-faulty`, and whether the cases of its row catch it.

One boot for all: the agent is started anew for each fault. A fault is caught by its row when a case fails that names the row,
caught by another when a case fails that names others, and missed when none fails. A provider that is only odd is run through every
case that was chosen for a fault, and none may fail but by a recorded deviation.

`python3 -m harness.interop.rdma_faults IMAGES [KIND] [NAME...]`; the figures are also in IMAGES/faults-KIND.json.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path

from . import rdma, rdma_vm

AGENT = rdma.ROOT / "build/fcvi-verbs-agent-faulty"
_RUN_S = 120
_MOST_CASES, _MOST_VARIANTS = 2, 3  # of a row, and of a case
_R_A_TOV = "300"  # shorter than in a lane: a fault that shows by silence takes as long as it is waited for


@dataclass
class Fault:
    """A line of --faults, and what came of it."""

    name: str
    row: str
    text: str
    verdict: str = ""
    rows: list[str] = field(default_factory=list)
    cases: list[str] = field(default_factory=list)
    seconds: float = 0.0


def faults(names: list[str]) -> list[Fault]:
    """The faults, or those that are named."""
    said = subprocess.run([str(AGENT), "--faults"], capture_output=True, text=True, check=True).stdout
    every = [Fault(*line.split("\t")) for line in said.splitlines()]
    return [fault for fault in every if not names or fault.name in names]


def catalogue(kind: str) -> dict[str, list[str]]:
    """The cases of each row, without what ends the agent or the guest."""
    without = {*rdma.LEFT_OUT[kind], *rdma.UNDECIDED[kind]}
    words = [str(rdma.ROOT / "build/fcvi"), "list", "--select", "VERBS.*", "--json"]
    said = subprocess.run(words, capture_output=True, text=True, check=True)
    rows: dict[str, list[str]] = {}
    for case in json.loads(said.stdout):
        variants = [v for v in case["variants"] if not without & {v, case["id"]}][:_MOST_VARIANTS]
        for row in case["requirements"] if variants else ():
            rows.setdefault(row, []).append(",".join(variants))
    return rows


def failures(path: Path, kind: str, select: str, report: Path) -> tuple[dict[str, set[str]], set[str]]:
    """The rows that each failed variant names; and the variants that have no verdict."""
    words = [str(rdma.ROOT / "build/fcvi"), "run", "--dut", "verbs", "--agent", f"unix:{path}", "--select", select,
             "--report", str(report), "--formats", "json", "--quiet", "--progress", "never", "--pics", str(rdma.DEVIATIONS[kind]),
             "--rpc-timeout", "20", "--r-a-tov", _R_A_TOV]  # fmt: skip
    subprocess.run(words, timeout=_RUN_S, check=False, capture_output=True)
    failed: dict[str, set[str]] = {}
    unclear = set()
    for case in json.loads((report / "report.json").read_text())["results"]:
        if case["verdict"] == "fail":
            failed[case["id"]] = set(case["broken"])
        elif case["verdict"] in ("error", "inconclusive"):
            unclear.add(case["id"])
    return failed, unclear


def judge(fault: Fault, failed: dict[str, set[str]], unclear: set[str], known: set[str]) -> None:
    """What the fault added to what the provider does without it: `known` are its recorded deviations."""
    new = {case: rows - known for case, rows in failed.items() if rows - known}
    fault.rows = sorted(set().union(*new.values())) if new else []
    if fault.row == "-":
        fault.verdict = "conforms" if not new and not unclear else "accused" if new else "no verdict"
    elif fault.row in fault.rows:
        fault.verdict = "its row"
    elif new:
        fault.verdict = "another row"
    else:
        fault.verdict = "no verdict" if unclear else "missed"


def main() -> int:
    """The table of catches."""
    images, kind = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "rxe"
    chosen, rows = faults(sys.argv[3:]), catalogue(kind)
    for fault in chosen:
        fault.cases = rows.get(fault.row, [])[:_MOST_CASES]
    known = {entry["requirement"] for entry in tomllib.loads(rdma.DEVIATIONS[kind].read_text())["deviation"] if "case" not in entry}
    wanted = sorted({case for fault in chosen for case in fault.cases})
    try:
        rdma.image(images, AGENT, overlay="faulty.gz")
        with rdma.guests(images, kind, 1, "faulty.gz") as (guest,), tempfile.TemporaryDirectory() as scratch:
            relay = rdma_vm.Relay(guest, guest.where / "agent", AGENT.name)
            for number, fault in enumerate(chosen):
                began = time.monotonic()
                if not fault.cases and fault.row != "-":
                    fault.verdict = "no case"
                elif fault.row in known:
                    fault.verdict = "deviates"  # without it, too: nothing could be told
                elif relay.failed and not relay.is_alive():
                    raise rdma_vm.GuestError(relay.failed)
                else:
                    relay.command = f"{AGENT.name} --fault {fault.name}"
                    select = ",".join(fault.cases or wanted or ["VERBS.1"])
                    try:
                        failed, unclear = failures(guest.where / "agent", kind, select, Path(scratch) / str(number))
                        judge(fault, failed, unclear, known)
                    except (OSError, subprocess.TimeoutExpired) as error:
                        fault.verdict = f"no report: {type(error).__name__}"
                fault.seconds = round(time.monotonic() - began, 1)
                print(f"{fault.verdict:12} {fault.name:28} {fault.row:20} {' '.join(fault.rows)}", flush=True)
    except (rdma.Skipped, rdma_vm.GuestError) as why:
        print(f"rdma-faults: skipped, because {why}", file=sys.stderr)
        return 3
    counts: dict[str, int] = {}
    for fault in chosen:
        counts[fault.verdict] = counts.get(fault.verdict, 0) + 1
    (images / f"faults-{kind}.json").write_text(json.dumps([asdict(fault) for fault in chosen], indent=1) + "\n")
    told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    print(f"rdma-faults: {kind}: {len(chosen)} providers: {told}")
    return 1 if counts.get("missed") or counts.get("accused") else 0


if __name__ == "__main__":
    sys.exit(main())
