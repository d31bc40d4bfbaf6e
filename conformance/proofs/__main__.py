"""``make proofs``: each check of a book against the devices that follow from it.

Usage: python3 -m conformance.proofs [--book NAME] [--case GLOB] [--lacking] [--write] [--out FILE]
Exit status: 0 each check is named by a device of its own, tolerated or explained, 1 some are not, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path
from typing import Callable, Sequence

from conformance import register_all
from fcvi.engine.catalogue import of_every_turn

from .books import BOOKS, WIRES
from .play import ORDER, Check, Player, levels_of
from .table import CHOICE, FINE, NO_DEVICE, Proof, explained, load, long_table, merged, path_of, proofs_of, short_table, shown

_SAVED = 25  # checks between two looks at the table


def played(
    player: Player, cases: str, lacking: bool = False, save: Callable[[Sequence[Check]], None] = lambda checks: None
) -> list[Check]:
    """The checks of these cases, each with what came of its devices. lacking: only those that the table of the book does not prove.
    save: is called now and then with those that have been played."""
    chosen = [case for case in player.book.cases() if not cases or fnmatch(case.id, cases)]
    checks = player.checks(chosen)
    if lacking:
        fine = {proof.name for proof in load(player.book.name) if proof.verdict in FINE}
        checks = [check for check in checks if check.name not in fine]
    for number, check in enumerate(checks, 1):
        player.prove(check)
        if number % _SAVED == 0:
            save(checks[:number])
        if sys.stderr.isatty():
            print(f"\r{number} of {len(checks)} checks", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return checks


def proofs(player: Player, checks: Sequence[Check], old: Sequence[Proof] = ()) -> list[Proof]:
    """The table of a book, all of whose checks were played, or stand in the old one."""
    named = {ident for check in checks for outcome in check.outcomes for ident in outcome.named}
    named |= {ident for proof in old for ident in proof.named.split()}
    return merged(old, proofs_of(checks, [*([] if old else player.sweep_fields(checks)), *player.sweep_bank(named)]))


def summary(player: Player, checks: Sequence[Check]) -> str:
    """The figures of a book."""
    shall = levels_of(checks, player.levels)
    devices = {(o.variant, o.device): o for check in checks for o in check.outcomes}
    lines = [f"{player.book.name}: {len(checks)} things compared, {len(devices)} devices, {player.played} runs of a case"]
    for words, some in (("checks", checks), ("checks of shall", shall)):
        counts = Counter(wholes(some))
        tolerated = counts.pop("tolerated", 0)  # by an erratum, in each variant that was tried: no device can fail by these
        share = 100 * counts["named"] / (counts.total() or 1)
        told = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
        lines.append(f"  {words}: {counts.total()}, {told}; {share:.1f} % named; beside them {tolerated} tolerated by an erratum")
    taking = {(o.variant, o.device): "accused" if o.named else o.verdict for check in checks for o in check.choices}
    told = ", ".join(f"{count} {verdict}" for verdict, count in Counter(taking.values()).most_common()) or "none"
    lines.append(f"  devices that take what a check lets pass: {len(taking)}: {told}")
    named = {ident for check in checks for o in check.outcomes for ident in o.named}
    lines.append(f"  requirements by which a device was failed: {len(named)}")
    return "\n".join(lines)


def wholes(checks: Sequence[Check]) -> list[str]:
    """The verdict of each check: the worst of those of the things that it compares."""
    worst: dict[tuple[str, ...], str] = {}
    for check in checks:
        at = (check.place, check.primitive, check.requirement, "" if check.is_part else check.subject)
        worst[at] = max(worst.get(at, ORDER[0]), check.verdict, key=(*ORDER, NO_DEVICE).index)
    return list(worst.values())


def open_checks(player: Player, checks: Sequence[Check]) -> list[str]:
    """The checks that no device of their own proves and no reason explains, one line each."""
    reasons = explained(player.book.name)
    return [
        f"{check.place} {check.primitive} {check.subject} {check.requirement}: {check.verdict}"
        for check in checks
        if check.verdict not in FINE and not {check.name, of_every_turn(check.name)} & reasons.keys()
    ] + [
        f"{check.place} {check.primitive} {check.subject} {check.requirement}: accuses {one.device} in {one.variant}"
        for check in checks
        for one in check.choices
        if one.named and of_every_turn((check.step, CHOICE, check.subject, check.requirement)) not in reasons
    ]


def main(argv: list[str]) -> int:
    """Play them."""
    parser = argparse.ArgumentParser(prog="proofs", description="each check against the devices that follow from it")
    parser.add_argument("--book", default="", choices=["", *BOOKS], help="one book (those of the wires)")
    parser.add_argument("--case", default="", metavar="GLOB", help="cases by id")
    parser.add_argument("--lacking", action="store_true", help="only the checks that proofs.tsv of the book does not prove")
    parser.add_argument("--out", type=Path, default=Path("build/proofs.tsv"), metavar="FILE", help="every device that was played")
    parser.add_argument("--write", action="store_true", help="renew proofs.tsv of the book, now and then while it is played")
    options = parser.parse_args(argv)
    register_all()
    tables, wrong = [], []
    for name in [options.book] if options.book else list(WIRES):
        player, old = Player(BOOKS[name], shown(name), explained(name)), load(name)

        def save(done: Sequence[Check]) -> None:
            if options.write:
                path_of(name).write_text(short_table(merged(old, proofs_of(done, []))), encoding="utf-8")

        checks = played(player, options.case, options.lacking, save)
        tables.append(long_table(checks))
        wrong += open_checks(player, checks)
        print(summary(player, checks), flush=True)
        save(checks)
        if options.write:
            kept = old if options.case or options.lacking else ()
            path_of(name).write_text(short_table(proofs(player, checks, kept)), encoding="utf-8")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("".join([tables[0], *(table.partition("\n")[2] for table in tables[1:])]), encoding="utf-8")
    for line in wrong:
        print(f"not proved: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
