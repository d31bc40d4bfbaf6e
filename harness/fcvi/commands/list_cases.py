"""``fcvi list``: the cases of the suite: those of FC-VI, those of the book that --book names, or those that --select does.

--select knows the cases of every book: each term stands for those of the first book that has such cases.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from fcvi.engine.case import load_cases
from fcvi.engine.protocol import listed, put_in_force
from fcvi.engine.select import select
from .target import book, books_of, named
from .values import cases, own_cases, selection


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("list", help="List the cases, with requirements and applicability.", description=__doc__)
    selection(p, "List only what this selects, as for fcvi run.")
    p.add_argument("--json", action="store_true", help="Print an array with an object for each case.")
    cases(p)
    book(p)
    p.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List."""
    put_in_force(*(named(args)[:1] or listed()))
    own_cases(args)
    if args.select is not None and not args.asked:
        put_in_force(*books_of(args.select))
    chosen = select(load_cases(), args.select)
    if args.json:
        by_id = {case.id: case for case, _ in chosen}
        wanted = {case.variant_id(variant) for case, variant in chosen}
        found = []
        for case in by_id.values():
            entry = case.as_json()
            entry["variants"] = [v for v in entry["variants"] if v in wanted]
            found.append(entry)
        print(json.dumps(found, indent=1))
        return 0
    for case, variant in chosen:
        print(f"{case.variant_id(variant):<44} {case.title}")
    return 0
