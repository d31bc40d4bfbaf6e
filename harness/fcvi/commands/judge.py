"""``fcvi judge``: computes the verdicts of a report directory again from its evidence, without a DUT.

Compares what comes out with the files that are there, byte for byte, and names each that differs; files that are missing
are written anew. A case that was selected and is missing is named, and one that was not selected. The exit status is that of the
run, unless something differs (1). Evidence waives nothing: give --baseline and --quarantine again for failures that do not count.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from fcvi import __version__
from fcvi.engine.evidence import FOLDER, RUN
from fcvi.engine.files import FileError
from fcvi.engine.folder import Folder, open_report
from fcvi.engine.rejudge import opened, rejudge, strayed
from fcvi.engine.results import RunReport
from fcvi.report import certificate_files, derived, text, waive
from fcvi.engine.runner import exit_status
from fcvi.engine.words import complain, refuse, why
from . import place
from .values import cases, own_cases, waivers


_MOST_NAMES = 12  # of files, a line each


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("judge", help="Compute the verdicts again from the evidence of a report.", description=__doc__)
    p.add_argument("directory", metavar="DIR", type=Path, help="This is a report directory of fcvi run or certify.")
    p.add_argument("--out", metavar="DIR2", type=place.directory, help="Write all files there, and only compare DIR.")
    said = p.add_mutually_exclusive_group()
    said.add_argument("--json", action="store_true", help="Print the computed report.json.")
    said.add_argument("--quiet", action="store_true", help="Print no text report.")
    place.force(p)
    cases(p)
    waivers(p)
    p.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Judge."""
    if args.out is not None:
        place.ready("--out", args.out, args.force)
    else:
        refuse(args.given, ("--force",), "goes with --out DIR2")
    with open_report(args.directory, f"{FOLDER}/{RUN}") as folder:
        return _judge(args, folder)


def _judge(args: argparse.Namespace, folder: Folder) -> int:
    run_of = opened(folder)
    own_cases(args)
    astray = strayed(run_of, folder)
    report, recorded = rejudge(folder, run_of), run_of["suite"]
    decisive = _without_waivers(args, report)
    if recorded != {"version": report.suite_version, "catalogue_sha256": report.catalogue_sha256}:
        other = f"of suite {recorded.get('version')}" if recorded.get("version") != __version__ else "of another catalogue of cases"
        complain(f"the evidence is {other}, and is judged by {__version__} with the cases that are here")
    try:
        files, differing, missing = _compared(args, folder, report)
    except (OSError, FileError) as error:
        complain(error if isinstance(error, FileError) else f"{args.out or args.directory}: cannot write there: {why(error)}")
        return 3
    if args.json:
        print(files["report.json"].decode(), end="")
    elif not args.quiet:
        print(text.render(report), end="")
    for line in astray:
        complain(f"{args.directory}: {line}")
    for name in missing:
        complain(f"{args.directory / name}: was missing" + ("" if args.out else ", written anew"))
    for name in differing[:_MOST_NAMES]:
        complain(f"{args.directory / name}: differs from what the evidence gives")
    if len(differing) > _MOST_NAMES:
        complain(f"{args.directory}: {len(differing) - _MOST_NAMES} more files differ from what the evidence gives")
    if not (args.quiet or args.json or astray or differing):
        print(f"judged again from the evidence: {len(files)} files, byte for byte the same")
    status = exit_status(decisive)
    return 1 if (astray or differing) and status != 3 else status


def _without_waivers(args: argparse.Namespace, report: RunReport) -> RunReport:
    """The report with the failures waived that the command line names, and no others. Raises FileError."""
    decisive = replace(report, waived={})
    for line in waive.apply(decisive, *waive.load(args.baseline, args.quarantine)):
        complain(line)
    counting = sorted(set(report.waived) - set(decisive.waived))
    if counting:
        complain(f"{args.directory}: run.json waives what counts without --baseline and --quarantine: {', '.join(counting)[:300]}")
    return decisive


def _compared(args: argparse.Namespace, folder: Folder, report: RunReport) -> tuple[dict[str, bytes], list[str], list[str]]:
    """Every file that the evidence gives, those that differ, and those that are missing, which are written. Raises OSError."""
    differing, missing = [], []
    with ExitStack() as stack:
        files = dict(derived(report))
        files.update(certificate_files(folder, report, files))
        there = set(folder.names())
        for name, data in files.items():
            if name not in there:
                missing.append(name)
            elif not folder.holds(name, data):
                differing.append(name)
        if args.out is not None:
            out, written = stack.enter_context(Folder(args.out, ours=True)), list(files)
        else:
            out, written = folder, missing
        for name in written:
            out.write(name, files[name])
    return files, differing, missing
