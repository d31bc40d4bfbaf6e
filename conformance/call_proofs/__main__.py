"""Each check of a book of calls against the providers that follow from it, on the model in this process.

Usage: make proofs BOOK=vipl [CASE=VIPL.S*], or python3 -m conformance.call_proofs BOOK [--case GLOB] [--every] [--write]
It writes build/proofs-BOOK.tsv: check, requirement, device, verdict, requirements named. A check whose requirement the table of
the book proves is left out, unless --afresh is given. --write adds to the table. Exit status: 0 done, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path
from typing import Mapping, Sequence

from conformance import register_all
from fcvi.engine.case import CaseInfo
from fcvi.engine.catalogue import PROOFS
from fcvi.engine.protocol import judging_by, registered

from .play import NAMED, Check, Player, player

_HEAD = "check\trequirement\tdevice\tverdict\tnamed\n"


def play(of: Player, cases: Sequence[CaseInfo], most: int, done: set[str], budget_s: float) -> list[Check]:
    """Play the checks of these cases, case by case until the time is up. done: requirements whose checks are left out."""
    ends = time.monotonic() + budget_s
    found: dict[tuple[str, str, str], Check] = {}
    listed = {ident for case in cases for ident in case.requirements}
    for name, ident in of.faults:
        if ident in listed and ident not in done and time.monotonic() < ends:
            fault = of.of_fault(name, ident)
            found[fault.step, name, ident] = fault
            done |= {each for _, _, named in fault.outcomes for each in named}
    for case in cases:
        if done.issuperset(case.requirements) or time.monotonic() > ends:
            continue
        for check in of.checks([case], most):
            if (check.step, check.words, check.requirement) in found:
                continue
            found[check.step, check.words, check.requirement] = check
            if check.requirement not in done and time.monotonic() < ends:
                of.prove(check)
                done |= {ident for _, _, named in check.outcomes for ident in named}
    return list(found.values())


def _line(check: Check, outcome: tuple[str, str, tuple[str, ...]]) -> str:
    device, verdict, named = outcome
    return "\t".join((f"{check.step}: {check.words}".strip(), check.requirement, device, verdict, " ".join(named))) + "\n"


def shortest(checks: Sequence[Check], kept: Mapping[str, str]) -> str:
    """The table that is kept: of each requirement the first provider that was failed by it, whatever check it was made from."""
    found = dict(kept)
    for check in checks:
        for device, _, named in check.outcomes:
            for ident in named:
                of = Check(check.step, check.words, ident, "", (), ())
                found.setdefault(ident, _line(of, (f"{check.variant}: {device}", NAMED, (ident,))))
    return _HEAD + "".join(found[ident] for ident in sorted(found))


def table(path: Path) -> dict[str, str]:
    """The lines of a table by their requirements."""
    lines = path.read_text(encoding="utf-8").splitlines(True)[1:] if path.exists() else []
    return {line.split("\t")[1]: line for line in lines}


def main(argv: list[str]) -> int:
    """Play a book."""
    register_all()
    books = {p.book: p for p in registered() if p.book in ("vipl", "verbs")}
    parser = argparse.ArgumentParser(prog="call_proofs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("book", choices=sorted(books))
    parser.add_argument("--case", default="", metavar="GLOB")
    parser.add_argument("--afresh", action="store_true", help="also what the table of the book proves")
    parser.add_argument("--variants", type=int, default=2, metavar="N", help="variants of a case that are played (2)")
    parser.add_argument("--seconds", type=float, default=900, metavar="S", help="at most (900)")
    parser.add_argument("--write", action="store_true", help="renew the table of the book")
    options = parser.parse_args(argv)
    protocol = books[options.book]
    with judging_by(protocol):
        of = player(protocol)
        kept = {} if options.afresh else table(protocol.folder / PROOFS)
        cases = [case for case in protocol.cases() if not options.case or fnmatch(case.id, options.case)]
        checks = play(of, cases, options.variants, set(kept), options.seconds)
    out = Path("build") / f"proofs-{options.book}.tsv"
    out.parent.mkdir(exist_ok=True)
    out.write_text(_HEAD + "".join(_line(c, o) for c in checks for o in c.outcomes), encoding="utf-8")
    if options.write:
        (protocol.folder / PROOFS).write_text(shortest(checks, kept), encoding="utf-8")
    tried = [check for check in checks if check.outcomes]
    counts = Counter(check.verdict for check in tried)
    named = {ident for check in checks for _, _, idents in check.outcomes for ident in idents}
    providers = sum(len(c.outcomes) for c in checks)
    print(f"{options.book}: {len(checks)} checks of {len({c.requirement for c in checks})} requirements")
    print(f"  {len(tried)} checks were tried with {providers} providers: {dict(counts)}; {len(named)} requirements named")
    print(f"  {len(of.skipped)} variants are no plain pass on the model, or take too long")
    for check in tried:
        if check.verdict != NAMED and check.requirement not in named:
            print(f"{check.verdict}: {check.requirement} {check.step} ({check.words}) in {check.variant}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
