"""``make rdma-faults``: each faulty provider of `fcvi-verbs-agent-faulty`, and whether the cases of its row catch it.

One boot runs many: the agent is started anew for each fault. A fault that ends the guest costs a boot, and so does nothing else.
A fault is caught by its row when a case fails that names the row, caught by another when a case fails that names others, and missed
when none fails. A few variants of the row are tried first; a fault that they do not catch meets all variants that list the row.
A provider that is only odd is run through the variants of the lane (`rdma-KIND.cases`), and none may fail but by a recorded
deviation.

IMAGES/faults-KIND.jsonl has a line for each provider as soon as it was tried. With `--resume` those in it are not tried again, so
that a run that was cut can be continued; `--minutes` ends a run by itself.

Exit status: 0 each fault was caught and no odd provider was accused, 1 not so, or some were not tried, 2 usage, 3 it cannot be run
here (the reason is said: skipped, because ...).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Iterator, Sequence

from . import rdma, rdma_vm

AGENT = rdma.ROOT / "build/fcvi-verbs-agent-faulty"
_RUN_S = 420
_FIRST_CASES, _FIRST_VARIANTS = 2, 2  # of a row, and of a case: what is tried before all of the row
_R_A_TOV = "300"  # shorter than in a lane: a fault that shows by silence takes as long as it is waited for
_DEAD = "ends the guest"
#: What a fault may come to; everything else is a finding of the run.
FINE = ("its row", "another row", "conforms", "deviates", "row does not hold")


@dataclass
class Fault:
    """A line of --faults, and what came of it."""

    name: str
    row: str
    text: str
    verdict: str = ""
    rows: list[str] = field(default_factory=list)  # that the fault broke
    cases: list[str] = field(default_factory=list)  # that failed
    unclear: list[str] = field(default_factory=list)  # that had no verdict
    tried: int = 0  # variants
    seconds: float = 0.0

    @property
    def odd(self) -> bool:
        """Whether it conforms."""
        return self.row == "-"


def faults(names: Sequence[str], said: str | None = None) -> list[Fault]:
    """The faults, or those that are named. KeyError: a name that is none."""
    if said is None:
        said = subprocess.run([str(AGENT), "--faults"], capture_output=True, text=True, check=True).stdout
    every = {}
    for line in said.splitlines():
        name, row, text = line.split("\t")
        every[name] = Fault(name, row, text)
    return [every[name] for name in names] if names else list(every.values())


def catalogue(kind: str) -> dict[str, list[list[str]]]:
    """For each row the variants of each of its cases, without what ends the agent or the guest."""
    without = {*rdma.LEFT_OUT[kind], *rdma.UNDECIDED[kind]}
    words = [str(rdma.ROOT / "build/fcvi"), "list", "--select", "VERBS.*", "--json"]
    said = subprocess.run(words, capture_output=True, text=True, check=True)
    rows: dict[str, list[list[str]]] = {}
    for case in json.loads(said.stdout):
        variants = [v for v in case["variants"] if not without & {v, case["id"]}]
        for row in case["requirements"] if variants else ():
            rows.setdefault(row, []).append(variants)
    return rows


def rounds(fault: Fault, rows: dict[str, list[list[str]]], kind: str) -> list[str]:
    """What is selected, one run after the other, until the fault is caught by its row."""
    if fault.odd:
        return [rdma.chosen(kind)]
    cases = rows.get(fault.row, [])
    first = [v for variants in cases[:_FIRST_CASES] for v in variants[:_FIRST_VARIANTS]]
    rest = [v for variants in cases for v in variants if v not in first]
    return [",".join(part) for part in (first, rest) if part]


def known_rows(kind: str) -> set[str]:
    """Those that the provider breaks without a fault, whatever the case."""
    return {entry["requirement"] for entry in tomllib.loads(rdma.DEVIATIONS[kind].read_text())["deviation"] if "case" not in entry}


def failures(path: Path, kind: str, select: str, report: Path) -> dict[str, tuple[str, set[str]]]:
    """The verdict of each variant, and the rows that it names. OSError: there is no report."""
    words = [str(rdma.ROOT / "build/fcvi"), "run", "--dut", "verbs", "--agent", f"unix:{path}", "--select", select,
             "--report", str(report), "--formats", "json", "--quiet", "--progress", "never", "--pics", str(rdma.DEVIATIONS[kind]),
             "--rpc-timeout", "20", "--r-a-tov", _R_A_TOV]  # fmt: skip
    subprocess.run(words, timeout=_RUN_S, check=False, capture_output=True)
    results = json.loads((report / "report.json").read_text())["results"]
    return {case["id"]: (case["verdict"], set(case["broken"])) for case in results}


def other_flavour(kind: str) -> set[str]:
    """The rows that hold for providers of the other flavour alone."""
    head, *lines = (rdma.ROOT / "conformance/verbs/requirements.tsv").read_text().splitlines()
    rows = [dict(zip(head.split("\t"), line.split("\t"))) for line in lines]
    word = "IB" if kind == "siw" else "IWARP"
    return {row["id"] for row in rows if word in row["condition"].split(" and ")}


def judge(fault: Fault, results: dict[str, tuple[str, set[str]]], known: set[str], other: set[str]) -> None:
    """What the fault added to what the provider does without it: `known` are its recorded deviations, `other` the rows that do
    not hold for it.
    """
    new = {case: rows - known for case, (verdict, rows) in results.items() if verdict == "fail" and rows - known}
    fault.rows = sorted(set().union(*new.values()))
    fault.cases = sorted(new)
    fault.unclear = sorted(case for case, (verdict, _) in results.items() if verdict in ("error", "inconclusive"))
    fault.tried = len(results)
    if fault.odd:
        fault.verdict = "accused" if new else "no verdict" if fault.unclear else "conforms"
    elif fault.row in fault.rows:
        fault.verdict = "its row"
    elif new:
        fault.verdict = "another row"
    else:
        fault.verdict = "row does not hold" if fault.row in other else "no verdict" if fault.unclear else "missed"


class Bench:
    """A guest that is booted anew when a fault ended it."""

    def __init__(self, images: Path, kind: str) -> None:
        self._images, self._kind = images, kind
        self._open = contextlib.ExitStack()
        self._guest: rdma_vm.Guest | None = None
        self._relay: rdma_vm.Relay | None = None
        self.boots = 0

    def agent(self, fault: Fault) -> Path:
        """Where the agent with this fault is reached."""
        if self._guest is None or self._relay is None or not self._relay.is_alive():
            self.close()
            (self._guest,) = self._open.enter_context(rdma.guests(self._images, self._kind, 1, "faulty.gz"))
            self._relay = rdma_vm.Relay(self._guest, self._guest.where / "agent", AGENT.name)
            self.boots += 1
        self._relay.command = f"{AGENT.name} --fault {fault.name}"
        return self._guest.where / "agent"

    def is_dead(self) -> bool:
        """Whether the guest answers no more. The relay learns that a moment after the suite has gone."""
        relay = self._relay
        if relay is None:
            return False
        relay.join(1.0)
        return not relay.is_alive()

    def close(self) -> None:
        """No guest any more."""
        if self._relay is not None:
            self._relay.close()
        self._open.close()
        self._guest = self._relay = None


def attempt(bench: Bench, fault: Fault, selects: Sequence[str], kind: str, known: set[str], other: set[str],
            scratch: Path) -> None:  # fmt: skip
    """One provider, through one selection after the other."""
    results: dict[str, tuple[str, set[str]]] = {}
    for number, select in enumerate(selects):
        try:
            results |= failures(bench.agent(fault), kind, select, scratch / f"{fault.name}-{number}")
        except (OSError, subprocess.TimeoutExpired) as error:
            fault.verdict = _DEAD if bench.is_dead() else f"no report ({type(error).__name__})"
            return
        judge(fault, results, known, other)
        if fault.verdict == "its row":
            return
        if bench.is_dead():
            fault.verdict = fault.verdict if fault.cases else _DEAD
            return


def already(path: Path) -> dict[str, Fault]:
    """What a run before this one has written; the last line may be half of one."""
    found = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        with contextlib.suppress(ValueError, TypeError):
            fault = Fault(**json.loads(line))
            found[fault.name] = fault
    return found


def told(chosen: Sequence[Fault]) -> str:
    """How many came to what."""
    counts: dict[str, int] = {}
    for fault in chosen:
        word = fault.verdict or "not tried"
        counts[word] = counts.get(word, 0) + 1
    return ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))


def run(args: argparse.Namespace, chosen: list[Fault]) -> Iterator[Fault]:
    """Each of them, as it was tried."""
    rows, known, other = catalogue(args.kind), known_rows(args.kind), other_flavour(args.kind)
    until = time.monotonic() + 60 * args.minutes
    bench = Bench(args.images, args.kind)
    try:
        with tempfile.TemporaryDirectory(prefix="fcvi-faults.") as scratch:
            for fault in chosen:
                if time.monotonic() > until:
                    return
                began = time.monotonic()
                selects = rounds(fault, rows, args.kind)
                if fault.row in known:
                    fault.verdict = "deviates"  # without it, too: nothing could be told
                elif not selects:
                    fault.verdict = "no case"
                else:
                    attempt(bench, fault, selects, args.kind, known, other, Path(scratch))
                fault.seconds = round(time.monotonic() - began, 1)
                yield fault
    finally:
        bench.close()
        print(f"rdma-faults: {args.kind}: {bench.boots} boots", flush=True)


def options(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="rdma_faults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("images", type=Path, help="where the kernel and the initial file system are kept")
    parser.add_argument("kind", nargs="?", choices=rdma.KINDS, default="rxe")
    parser.add_argument("names", nargs="*", metavar="NAME", help="these alone (fcvi-verbs-agent-faulty --faults lists them)")
    parser.add_argument("--odd", action="store_true", help="only the providers that are odd and conform")
    parser.add_argument("--resume", action="store_true", help="those that faults-KIND.jsonl has are not tried again")
    parser.add_argument("--minutes", type=float, default=600.0, metavar="N", help="begin no other after so long")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """The table of catches."""
    args = options(words)
    file = args.images / f"faults-{args.kind}.jsonl"
    try:
        rdma.image(args.images, AGENT, overlay="faulty.gz")
        chosen = [fault for fault in faults(args.names) if fault.odd or not args.odd]
        before = already(file) if args.resume else {}
        chosen = [before.get(fault.name, fault) for fault in chosen]
        file.write_text("".join(json.dumps(asdict(fault)) + "\n" for fault in before.values()), encoding="utf-8")
        with open(file, "a", encoding="utf-8") as out:
            for fault in run(args, [fault for fault in chosen if not fault.verdict]):
                out.write(json.dumps(asdict(fault)) + "\n")
                out.flush()
                rows = " ".join(fault.rows)
                print(f"{fault.verdict:12} {fault.seconds:5.1f} s {fault.name:28} {fault.row:20} {rows}", flush=True)
    except rdma.Skipped as why:
        print(f"rdma-faults: skipped, because {why}", file=sys.stderr)
        return 3
    except rdma_vm.GuestError as why:
        print(f"rdma-faults: {why}", file=sys.stderr)
        return 1
    except KeyError as name:
        print(f"rdma-faults: there is no fault {name}", file=sys.stderr)
        return 2
    print(f"rdma-faults: {args.kind}: {len(chosen)} providers: {told(chosen)}")
    return 0 if all(fault.verdict in FINE for fault in chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
