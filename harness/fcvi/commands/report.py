"""``fcvi report``: what can be done with reports that are there..

``fcvi report diff A B`` compares two runs, each given as a report directory or a report.json: verdicts, reasons (but for
times), new and removed cases, requirements, deviations. What else differs (suite, device, PICS, PIXIT, seed) is told and
does not count. The exit status is 0 without a difference, 1 with one, 2 when a report cannot be read.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from fcvi.engine.files import FileError
from fcvi.engine.words import complain
from fcvi.report import diff


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("report", help="compare the reports of two runs", description=__doc__)
    actions = p.add_subparsers(metavar="ACTION", required=True)
    d = actions.add_parser("diff", help="what changed from run A to run B", description=__doc__)
    d.add_argument("a", metavar="A", type=Path, help="report directory or report.json")
    d.add_argument("b", metavar="B", type=Path)
    d.add_argument("--json", action="store_true", help="the differences as JSON")
    d.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compare."""
    try:
        a, b = diff.load(args.a), diff.load(args.b)
    except FileError as error:
        complain(error)
        return 2
    found = diff.compare(a, b)
    print(json.dumps(found.as_json(), indent=1) + "\n" if args.json else diff.text(a, b, found), end="")
    return 1 if found.differs() else 0
