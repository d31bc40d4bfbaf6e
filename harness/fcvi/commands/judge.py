"""``fcvi judge``: computes the verdicts of a report directory again from its evidence, without a DUT.

Compares what comes out with the files that are there, byte for byte, and names each that differs; files that are missing
are written anew. The exit status is that of the run, unless something differs (1).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fcvi import __version__
from fcvi.engine.files import FileError, read_file, write_file
from fcvi.engine.rejudge import opened, rejudge
from fcvi.report import certificate_files, derived, text
from fcvi.engine.runner import exit_status
from fcvi.engine.words import complain, why
from .values import cases, own_cases


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("judge", help="Compute the verdicts again from the evidence of a report.", description=__doc__)
    p.add_argument("directory", metavar="DIR", type=Path, help="This is a report directory of fcvi run or certify.")
    p.add_argument("--out", metavar="DIR2", type=Path, help="Write all files there, and only compare DIR.")
    p.add_argument("--json", action="store_true", help="Print the computed report.json.")
    p.add_argument("--quiet", action="store_true", help="Print no text report.")
    cases(p)
    p.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Judge."""
    try:
        run_of = opened(args.directory)
        if not own_cases(args):
            return 2
        report, recorded = rejudge(args.directory), run_of["suite"]
    except FileError as error:
        complain(error)
        return 2
    if recorded != {"version": report.suite_version, "catalogue_sha256": report.catalogue_sha256}:
        other = f"of suite {recorded.get('version')}" if recorded.get("version") != __version__ else "of another catalogue of cases"
        complain(f"the evidence is {other}, and is judged by {__version__} with the cases that are here")
    differing, missing = [], []
    try:
        files = dict(derived(report))
        files.update(certificate_files(args.directory, report, files))
        for name, data in files.items():
            path = args.directory / name
            if not path.is_file():
                missing.append(name)
                if args.out is None:
                    write_file(path, data)
            elif path.stat().st_size != len(data) or read_file(path) != data:
                differing.append(name)
        if args.out is not None:
            args.out.mkdir(parents=True, exist_ok=True)
            for name, data in files.items():
                write_file(args.out / name, data)
    except (OSError, FileError) as error:
        complain(error if isinstance(error, FileError) else f"{args.out or args.directory}: cannot write there: {why(error)}")
        return 3
    if args.json:
        print(files["report.json"].decode(), end="")
    elif not args.quiet:
        print(text.render(report), end="")
    for name in missing:
        complain(f"{args.directory / name}: was missing" + ("" if args.out else ", written anew"))
    for name in differing:
        complain(f"{args.directory / name}: differs from what the evidence gives")
    if not (args.quiet or args.json) and not differing:
        print(f"judged again from the evidence: {len(files)} files, byte for byte the same")
    status = exit_status(report)
    return 1 if differing and status != 3 else status
