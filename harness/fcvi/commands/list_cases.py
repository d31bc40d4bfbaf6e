"""``fcvi list``: the cases of the suite."""

from __future__ import annotations

import argparse
import json
from typing import Any

from fcvi.engine.case import cases_for, load_cases
from fcvi.engine.words import complain
from fcvi.engine.select import SelectionError, select
from .values import cases, own_cases, revision, wire


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("list", help="List the cases, with requirements and applicability.", description=__doc__)
    p.add_argument("--select", metavar="EXPR", help="List only what this selects, as for fcvi run.")
    p.add_argument("--json", action="store_true", help="Print an array with an object for each case.")
    cases(p)
    wire(p)
    revision(p)
    p.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List."""
    if not own_cases(args):
        return 2
    try:
        of_streams = args.wire == "tcp" and args.select is None
        chosen = select(cases_for("ref:vitcp") if of_streams else load_cases(), args.select)
    except SelectionError as error:
        complain(error)
        return 2
    if args.json:
        by_id = {case.id: case for case, _ in chosen}
        wanted = {case.variant_id(variant) for case, variant in chosen}
        listed = []
        for case in by_id.values():
            entry = case.as_json()
            entry["variants"] = [v for v in entry["variants"] if v in wanted]
            listed.append(entry)
        print(json.dumps(listed, indent=1))
        return 0
    for case, variant in chosen:
        print(f"{case.variant_id(variant):<44} {case.title}")
    return 0
