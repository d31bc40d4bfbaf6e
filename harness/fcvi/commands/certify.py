"""``fcvi certify``: runs every applicable case and writes report and certificate, or checks a certificate.

With --verify the exit status is 0 when every file is as certified (whatever the outcome was), 1 when a file was changed,
is missing or was added, or when the certificate says otherwise than the report, 2 when there is no certificate.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from fcvi.engine.files import FileError, one_line
from fcvi.report import certificate
from . import run as run_command


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("certify", help="run every applicable case, leave report and certificate", description=__doc__)
    run_command.options(p, report="report")
    p.add_argument("--verify", type=Path, metavar="DIR", help="run nothing: compare DIR with its certificate")
    p.add_argument("--json", action="store_true", help="with --verify: the outcome as JSON")
    p.set_defaults(run=run, certification=True)


def run(args: argparse.Namespace) -> int:
    """Certify or verify."""
    if args.verify is not None:
        return verify(args)
    status = run_command.run(args)
    _tell_of_strangers(args.report)
    return status


def _tell_of_strangers(directory: Path) -> None:
    """Files in the directory that the certificate does not cover: --verify will name them, so say it now."""
    try:
        strangers = certificate.check(directory).additional
    except (FileError, OSError):
        return  # no certificate: the run said why
    for name in strangers:
        print(f"fcvi: {directory}: {one_line(name)} was there before and is not part of the certificate", file=sys.stderr)


def verify(args: argparse.Namespace) -> int:
    """Compare and say what differs, by name."""
    try:
        found = certificate.check(args.verify)
    except (FileError, OSError) as error:
        print(f"fcvi: {error}", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps({**vars(found), "holds": found.holds()}))
        return 0 if found.holds() else 1
    for what, names in (("changed", found.changed), ("missing", found.missing), ("additional", found.additional)):
        for name in names:
            print(f"{what}: {one_line(name)}")
    for name in found.disagrees:
        print(f"changed: certificate.json: {name} is other than report.json says")
    if found.holds():
        print(f"{found.outcome}: all {found.files} files are as certified")
    print(f"SHA-256 of certificate.json: {found.sha256}")
    return 0 if found.holds() else 1
