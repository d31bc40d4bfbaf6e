"""``fcvi report``: what can be done with reports that are there.

``fcvi report merge --out DIR A B ...`` joins the parts of a run that was shared out with ``--shard K/N``, and judges the whole;
its exit status is that of the run. What the parts waived counts again: give --baseline and --quarantine once more.

``fcvi report github DIR`` prints what did not pass as annotations of a GitHub job, a line for each cause, and adds a summary to
--summary FILE. The exit status is 0: the run has given its own.

``fcvi report matrix --out DIR A B C ...`` sets several runs (implementations, or versions of a firmware) beside each other: by
clause and by case, what changed first, as one page and as CSV.

``fcvi report diff A B`` compares two runs, each given as a report directory or a report.json: verdicts, reasons (but for
times), new and removed cases, requirements, deviations. What else differs (suite, device, PICS, PIXIT, seed) is told and
does not count. The exit status is 0 without a difference, 1 with one, 2 when a report cannot be read.
"""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from fcvi.engine.files import damage, encoded, write_file
from fcvi.engine.folder import load_report
from fcvi.engine.rejudge import rejudge
from fcvi.engine.runner import exit_status
from fcvi.engine.words import complain
from fcvi.report import FORMATS, diff, github, matrix, merge, text, waive, write_report
from . import place
from .target import refuse_several_books
from .values import waivers


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("report", help="Compare, join or tabulate the reports of runs.", description=__doc__)
    actions = p.add_subparsers(metavar="ACTION", required=True)
    d = actions.add_parser("diff", help="Show what changed from run A to run B.", description=__doc__)
    d.add_argument("a", metavar="A", type=Path, help="This is a report directory or a report.json.")
    d.add_argument("b", metavar="B", type=Path, help="This is the run to compare with A.")
    d.add_argument("--json", action="store_true", help="Print the differences as one JSON object.")
    d.set_defaults(run=run)
    m = actions.add_parser("merge", help="Join the parts of a run (--shard), and judge the whole.", description=__doc__)
    m.add_argument("--out", metavar="DIR", type=place.directory, required=True,
                   help="Write the joined report there; the directory has to be new or empty.")  # fmt: skip
    m.add_argument("--quiet", action="store_true", help="Print no text report.")
    waivers(m)
    m.add_argument("parts", metavar="PART", type=Path, nargs="+", help="This is the report directory of a part.")
    m.set_defaults(run=join)
    g = actions.add_parser("github", help="Show a run in a job of GitHub: annotations and a summary.", description=__doc__)
    g.add_argument("directory", metavar="DIR", type=Path, help="This is a report directory or a report.json.")
    g.add_argument("--summary", metavar="FILE", type=Path,
                   help="Add the summary, as Markdown, to this file (the runner names it in GITHUB_STEP_SUMMARY).")  # fmt: skip
    g.set_defaults(run=annotate)
    t = actions.add_parser("matrix", help="Set several runs beside each other, as HTML and CSV.", description=__doc__)
    t.add_argument("--out", metavar="DIR", type=place.directory, required=True, help="Write matrix.html and matrix.csv there.")
    place.force(t)
    t.add_argument("--json", action="store_true", help="Print the table as one JSON object, not what was written.")
    t.add_argument("runs", metavar="RUN", nargs="+",
                   help="This is a report directory or a report.json, perhaps after NAME=; the oldest is first.")  # fmt: skip
    t.set_defaults(run=tabulate)


def run(args: argparse.Namespace) -> int:
    """Compare."""
    a, b = diff.load(args.a), diff.load(args.b)
    refuse_several_books([args.a, args.b])
    found = diff.compare(a, b)
    print(json.dumps(found.as_json(), indent=1) + "\n" if args.json else diff.text(a, b, found), end="")
    return 1 if found.differs() else 0


def join(args: argparse.Namespace) -> int:
    """Join the parts and judge the whole."""
    with place.writing("--out", args.out), ExitStack() as stack:
        waived = waive.load(args.baseline, args.quarantine)
        folder = merge.merge(stack, args.out, args.parts)
        report = rejudge(folder)
        for line in waive.apply(report, *waived):
            complain(line)
        merge.note_waived(folder, report.waived, report.baseline)
        write_report(folder, report, [name for name in FORMATS if name != "evidence"])
    if not args.quiet:
        print(text.render(report), end="")
        print(f"report: {args.out / 'report.json'}")
    return exit_status(report)


def annotate(args: argparse.Namespace) -> int:
    """Annotations, and the summary."""
    if args.summary is not None:
        place.ready_file("--summary", args.summary)
    file, report = load_report(args.directory)
    try:
        lines, told = github.annotated(report), github.summary(report)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        complain(f"{file}: not a report.json of this version of fcvi ({damage(error)})")
        return 2
    for line in lines:
        print(line)
    if args.summary is not None:
        with place.writing("--summary", args.summary), open(args.summary, "ab") as summary:
            summary.write(encoded(told))
    return 0


def tabulate(args: argparse.Namespace) -> int:
    """Write the matrix."""
    place.refuse_what_is_kept("--out", args.out, args.force, ("matrix.html", "matrix.csv"))
    table = matrix.build([matrix.load(word) for word in args.runs])
    with place.writing("--out", args.out):
        args.out.mkdir(parents=True, exist_ok=True)
        write_file(args.out / "matrix.html", encoded(matrix.html_page(table)))
        write_file(args.out / "matrix.csv", encoded(matrix.csv_table(table)))
    if args.json:
        print(json.dumps(matrix.as_json(table)))
    else:
        print(f"{args.out / 'matrix.html'}, {args.out / 'matrix.csv'}: {matrix.words_of(table)}")
    return 0
