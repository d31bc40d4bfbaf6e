"""``make rdma-faults``: each faulty provider of `fcvi-verbs-agent-faulty`, and whether the cases of its rows catch it.

`harness/verbs/faulty/rows.tsv` has all rows that a fault certainly breaks, in both flavours or in one. They were written from
the text and from what the fault does, without the cases. One boot runs many: the agent is started anew for each fault. A fault that
ends the guest costs a boot, and so does nothing else.
A fault is caught by its row when a case fails that names one of those rows, by another when a case fails that names others, and
missed when none fails. A few variants of its first rows are tried first; a fault that they do not catch meets more variants of
cases that list one of its rows, 60 at most. What the provider does without the fault, by a recorded deviation, counts for nothing.
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
import csv
import fnmatch
import json
import signal
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
ROWS = rdma.ROOT / "harness/verbs/faulty/rows.tsv"
FLAVOURS = {"rxe": "ib", "siw": "iwarp"}
_PATIENCE_S, _ODD_S = 100, 420  # a run of the suite is cut then; one that may accuse nobody has to end
_REPORT_S = 90  # the report of a run that was cut comes when the variant that runs can be ended
_FIRST_ROWS, _FIRST_CASES, _FIRST_VARIANTS = 3, 2, 1  # of a fault, of a row, and of a case: what is tried before all others
_MOST, _AT_ONCE = 60, 12  # variants in all, and in one run of the suite
_FAULT_S = 75  # no other run is begun for a fault after so long: one that loses much is waited for again and again
_CUT = "not run: "  # why a variant has no verdict that the cut run did not come to
_R_A_TOV = "300"  # shorter than in a lane: a fault that shows by silence takes as long as it is waited for
_DEAD, _NOTHING = "ends the guest", "without effect here"
#: What a fault may come to; everything else is a finding of the run.
FINE = ("its row", "another row", "conforms", "deviates", _NOTHING)
#: Providers that are not what they are called on one of the two, and why.
NOT_HERE = {
    "siw": {
        "window-*": "siw has no windows",
        "not-invalidated": "siw has no Invalidate Local",
        "idle-is-not-entered": "siw stays in Error without it, too, and its query tells RESET in every state",
        "odd-large-qp": "siw takes more than it told where the size of a queue is no power of two (VERBS-8.2.1-09)",
        "odd-refuses-in-idle": "the query of siw tells RESET in every state, so that this provider refuses in RTS, too",
    },
}
#: Cases that end the agent without this fault, and not with it: libsiw is not asked to destroy a CQ that is in use.
SAFE = {"cq-in-use-destroyed": ("VERBS.2",)}


@dataclass
class Fault:
    """A line of --faults, and what came of it."""

    name: str
    text: str
    labels: list[str] = field(default_factory=list)  # the rows that it breaks, the nearest first
    verdict: str = ""
    rows: list[str] = field(default_factory=list)  # that the fault broke
    cases: list[str] = field(default_factory=list)  # that failed
    unclear: list[str] = field(default_factory=list)  # that had no verdict
    tried: int = 0  # variants
    seconds: float = 0.0

    @property
    def odd(self) -> bool:
        """Whether it conforms."""
        return self.name.startswith("odd-")


def labels(kind: str, path: Path = ROWS) -> dict[str, list[str]]:
    """For each fault the rows that it breaks in the flavour of this provider."""
    with open(path, encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {line["name"]: [*line["rows"].split(), *line[f"rows_{FLAVOURS[kind]}"].split()] for line in lines}


def faults(names: Sequence[str], rows: dict[str, list[str]], said: str | None = None) -> list[Fault]:
    """The faults, or those that are named. KeyError: a name that is none."""
    if said is None:
        said = subprocess.run([str(AGENT), "--faults"], capture_output=True, text=True, check=True).stdout
    every = {}
    for line in said.splitlines():
        name, text = line.split("\t")
        every[name] = Fault(name, text, rows.get(name, []))
    return [every[name] for name in names] if names else list(every.values())


def catalogue(kind: str, safe: Sequence[str] = ()) -> dict[str, list[list[str]]]:
    """For each row the variants of each of its cases, without what ends the agent or the guest: those of the lane, which are quick,
    come before others. safe: what ends nothing this time.
    """
    without = {*rdma.LEFT_OUT[kind], *rdma.UNDECIDED[kind]} - set(safe)
    quick = set(rdma.chosen(kind).split(","))
    words = [str(rdma.ROOT / "build/fcvi"), "list", "--select", "VERBS.*", "--json"]
    said = subprocess.run(words, capture_output=True, text=True, check=True)
    rows: dict[str, list[list[str]]] = {}
    for case in json.loads(said.stdout):
        variants = sorted((v for v in case["variants"] if not without & {v, case["id"]}), key=lambda v: v not in quick)
        for row in case["requirements"] if variants else ():
            rows.setdefault(row, []).append(variants)
    return rows


def _depth_first(cases: Sequence[Sequence[str]]) -> Iterator[str]:
    """The first variant of each case, then the second of each."""
    for depth in range(max(map(len, cases), default=0)):
        yield from (variants[depth] for variants in cases if depth < len(variants))


def rounds(fault: Fault, rows: dict[str, list[list[str]]], kind: str) -> list[str]:
    """What is selected, one run after the other, until the fault is caught by its row."""
    if fault.odd:
        return [rdma.chosen(kind)]
    headlines = [rows[row] for row in fault.labels if row in rows][:_FIRST_ROWS]
    nearest = [variants[:_FIRST_VARIANTS] for cases in headlines for variants in cases[:_FIRST_CASES]]
    first = list(dict.fromkeys(variant for variants in nearest for variant in variants))
    cases = [variants for row in fault.labels for variants in rows.get(row, [])]
    rest = [variant for variant in dict.fromkeys(_depth_first(cases)) if variant not in first][: _MOST - len(first)]
    parts = [first, *(rest[at : at + _AT_ONCE] for at in range(0, len(rest), _AT_ONCE))]
    return [",".join(part) for part in parts if part]


class Recorded:
    """What the provider does without a fault."""

    def __init__(self, entries: Sequence[dict[str, str]]) -> None:
        self._entries = [(entry["requirement"], entry.get("case", "*")) for entry in entries]
        #: The rows that it breaks whatever the case, and those that it breaks in some.
        self.always = {row for row, case in self._entries if case == "*"}
        self.somewhere = {row for row, _ in self._entries}

    def new(self, case: str, rows: set[str]) -> set[str]:
        """The rows that a variant broke and that are not recorded for it."""
        names = (case, case.partition("/")[0])
        here = {row for row, where in self._entries if any(fnmatch.fnmatchcase(name, where) for name in names)}
        return rows - here


def recorded(kind: str) -> Recorded:
    """The deviations of a provider."""
    return Recorded(tomllib.loads(rdma.DEVIATIONS[kind].read_text())["deviation"])


def failures(path: Path, kind: str, select: str, report: Path, patience_s: float) -> dict[str, tuple[str, set[str]]]:
    """The verdict of each variant that was run in time, and the rows that it names. OSError: there is no report."""
    words = [str(rdma.ROOT / "build/fcvi"), "run", "--dut", "verbs", "--agent", f"unix:{path}", "--select", select,
             "--report", str(report), "--formats", "json", "--quiet", "--progress", "never", "--pics", str(rdma.DEVIATIONS[kind]),
             "--rpc-timeout", "20", "--r-a-tov", _R_A_TOV]  # fmt: skip
    suite = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            suite.wait(timeout=patience_s)
        suite.send_signal(signal.SIGINT)  # nothing, where it has ended
        suite.wait(timeout=_REPORT_S)
    finally:
        suite.kill()
        suite.wait()
    results = json.loads((report / "report.json").read_text())["results"]
    return {case["id"]: (case["verdict"], set(case["broken"])) for case in results if not case["reason"].startswith(_CUT)}


def not_here(fault: Fault, kind: str) -> bool:
    """Whether the provider is not what it is called on this one."""
    return any(fnmatch.fnmatchcase(fault.name, pattern) for pattern in NOT_HERE.get(kind, {}))


def judge(fault: Fault, results: dict[str, tuple[str, set[str]]], known: Recorded) -> None:
    """What the fault added to what the provider does without it."""
    new = {case: known.new(case, rows) for case, (verdict, rows) in results.items() if verdict == "fail"}
    fault.cases = sorted(case for case, rows in new.items() if rows)
    fault.rows = sorted(set().union(*new.values()))
    fault.unclear = sorted(case for case, (verdict, _) in results.items() if verdict in ("error", "inconclusive"))
    fault.tried = len(results)
    undecided = bool(fault.unclear) or not results  # where nothing was tried nothing is known
    if fault.odd:
        fault.verdict = "accused" if fault.cases else "no verdict" if undecided else "conforms"
    elif set(fault.labels) & set(fault.rows):
        fault.verdict = "its row"
    elif fault.cases:
        fault.verdict = "another row"
    elif set(fault.labels) <= known.somewhere:
        fault.verdict = "deviates"
    else:
        fault.verdict = "no verdict" if undecided else "missed"


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


def attempt(bench: Bench, fault: Fault, selects: Sequence[str], kind: str, known: Recorded, scratch: Path) -> None:
    """One provider, through one selection after the other."""
    results: dict[str, tuple[str, set[str]]] = {}
    until = time.monotonic() + _FAULT_S
    for number, select in enumerate(selects):
        if number > 0 and time.monotonic() > until:
            return
        try:
            patience_s = _ODD_S if fault.odd else _PATIENCE_S
            results |= failures(bench.agent(fault), kind, select, scratch / f"{fault.name}-{number}", patience_s)
        except (OSError, subprocess.TimeoutExpired) as error:
            fault.verdict = _DEAD if bench.is_dead() else f"no report ({type(error).__name__})"
            return
        judge(fault, results, known)
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
    rows, known = catalogue(args.kind), recorded(args.kind)
    until = time.monotonic() + 60 * args.minutes
    bench = Bench(args.images, args.kind)
    try:
        with tempfile.TemporaryDirectory(prefix="fcvi-faults.") as scratch:
            for fault in chosen:
                if time.monotonic() > until:
                    return
                began = time.monotonic()
                safe = SAFE.get(fault.name, ())
                selects = rounds(fault, catalogue(args.kind, safe) if safe else rows, args.kind)
                if not_here(fault, args.kind) or not fault.odd and not fault.labels:
                    fault.verdict = _NOTHING
                elif fault.labels and set(fault.labels) <= known.always:
                    fault.verdict = "deviates"  # without it, too: nothing could be told
                elif not selects:
                    fault.verdict = "no case"
                else:
                    attempt(bench, fault, selects, args.kind, known, Path(scratch))
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
        rdma.image(args.images, [args.kind], AGENT, overlay="faulty.gz")
        chosen = [fault for fault in faults(args.names, labels(args.kind)) if fault.odd or not args.odd]
        before = already(file) if args.resume else {}
        chosen = [before.get(fault.name, fault) for fault in chosen]
        file.write_text("".join(json.dumps(asdict(fault)) + "\n" for fault in before.values()), encoding="utf-8")
        with open(file, "a", encoding="utf-8") as out:
            for fault in run(args, [fault for fault in chosen if not fault.verdict]):
                out.write(json.dumps(asdict(fault)) + "\n")
                out.flush()
                print(f"{fault.verdict:12} {fault.seconds:5.1f} s {fault.name:28} {' '.join(fault.rows)}", flush=True)
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
