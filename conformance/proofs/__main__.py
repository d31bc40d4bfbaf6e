"""``make proofs``: each check of a book of a wire against the devices that follow from it.

Usage: python3 -m conformance.proofs [--book NAME] [--case GLOB] [--out FILE] [--write]
Exit status: 0 each check is named by a device of its own, tolerated or explained, 1 some are not, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path
from typing import Sequence

from conformance import register_all

from .books import BOOKS
from .play import Check, Player, levels_of
from .table import CHOICE, explained, long_table, name_of, path_of, proofs_of, short_table

_FINE = frozenset(("named", "tolerated"))


def played(player: Player, cases: str) -> list[Check]:
    """The checks of these cases, each with what came of its devices."""
    chosen = [case for case in player.book.cases() if not cases or fnmatch(case.id, cases)]
    checks = player.checks(chosen)
    for number, check in enumerate(checks, 1):
        player.prove(check)
        if sys.stderr.isatty():
            print(f"\r{number} of {len(checks)} checks", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return checks


def summary(player: Player, checks: Sequence[Check]) -> str:
    """The figures of a book."""
    shall = levels_of(checks, player.levels)
    devices = {(o.variant, o.device): o for check in checks for o in check.outcomes}
    lines = [f"{player.book.name}: {len(checks)} checks, {len(devices)} devices, {player.played} runs of a case"]
    for words, chosen in (("checks", checks), ("checks of shall", shall)):
        counts = Counter(check.verdict for check in chosen)
        share = 100 * counts["named"] / (len(chosen) or 1)
        told = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
        lines.append(f"  {words}: {len(chosen)}, {told}; {share:.1f} % named")
    chosen_ones = Counter(o.verdict for check in checks for o in check.choices)
    told = ", ".join(f"{count} {verdict}" for verdict, count in chosen_ones.most_common()) or "none"
    lines.append(f"  devices that take what a check lets pass: {told}")
    named = {ident for check in checks for o in check.outcomes for ident in o.named}
    lines.append(f"  requirements by which a device was failed: {len(named)}")
    return "\n".join(lines)


def open_checks(player: Player, checks: Sequence[Check]) -> list[str]:
    """The checks that no device of their own proves and no reason explains, one line each."""
    reasons = explained(player.book.name)
    return [
        f"{check.place} {check.primitive} {check.subject} {check.requirement}: {check.verdict}"
        for check in checks
        if check.verdict not in _FINE and name_of(check) not in reasons
    ] + [
        f"{check.place} {check.primitive} {check.subject} {check.requirement}: accuses {one.device} in {one.variant}"
        for check in checks
        for one in check.choices
        if one.verdict == "named" and (check.step, CHOICE, check.subject, check.requirement) not in reasons
    ]


def main(argv: list[str]) -> int:
    """Play them."""
    parser = argparse.ArgumentParser(prog="proofs", description="each check against the devices that follow from it")
    parser.add_argument("--book", default="", choices=["", *BOOKS], help="fcvi, rev1 or vitcp (all of them)")
    parser.add_argument("--case", default="", metavar="GLOB", help="cases by id")
    parser.add_argument("--out", type=Path, default=Path("build/proofs.tsv"), metavar="FILE", help="every device that was played")
    parser.add_argument("--write", action="store_true", help="renew proofs.tsv of the book")
    options = parser.parse_args(argv)
    register_all()
    if options.write and options.case:
        parser.error("--write takes the whole of a book")
    tables, wrong = [], []
    for name in [options.book] if options.book else list(BOOKS):
        player = Player(BOOKS[name])
        checks = played(player, options.case)
        tables.append(long_table(checks))
        wrong += open_checks(player, checks)
        print(summary(player, checks))
        if options.write:
            path_of(name).write_text(short_table(proofs_of(checks, player.sweep_fields(checks))), encoding="utf-8")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("".join([tables[0], *(table.partition("\n")[2] for table in tables[1:])]), encoding="utf-8")
    for line in wrong:
        print(f"not proved: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
