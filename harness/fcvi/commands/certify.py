"""``fcvi certify``: runs every applicable case and writes report and certificate, signs one later, or checks one.

With --verify every case is judged again from its evidence. The exit status is 0 when every file is as certified (whatever the
outcome was); 1 when a file was changed, is missing or was added, when the evidence gives another verdict, or when the signature is
not that of the key; 2 when there is no certificate. Another version of the suite compares the hashes and checks the signature: it
says "not judged by this version", and the status is 4, or 0 where the key shows that the laboratory vouches for the files.

A laboratory signs with --sign KEY, a private key of OpenSSH; the signature is detached, over SHA256SUMS, which covers every file.
Whoever signs judges first: `fcvi certify sign DIR --sign KEY` signs a certificate that is there, and as a part of a certification
--sign does the same. What does not hold is not signed (status 1). Without a key, --verify says that the files belong together, and
nothing about who made them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Optional

from fcvi.engine.evidence import load_run
from fcvi.engine.files import FileError, one_line
from fcvi.engine.folder import Folder
from fcvi.engine.words import UsageError, complain, near, refuse, told
from fcvi.report import certificate, manifest, pdf, verify as verification
from . import run as run_command

#: What can write certificate.pdf, in the order in which they are asked.
_PDF_TOOLS = ("weasyprint", "chromium")
#: The options that have a meaning where nothing is run.
_TO_VERIFY = ("--key", "--json")
_TO_SIGN = ("--sign", "--pdf")


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("certify", help="Run every applicable case, and write a report and a certificate.", description=__doc__)
    p.add_argument("action", nargs="?", metavar="sign",  # no choices: the value of an unknown option would be told as a wrong one
                   help="Run nothing; judge DIR again and sign it (--sign).")  # fmt: skip
    p.add_argument("signed", nargs="?", type=Path, metavar="DIR",
                   help="With sign: this is the report directory of a certification.")  # fmt: skip
    run_command.options(p, report="report")
    p.add_argument("--sign", type=Path, metavar="KEY", help="Sign the manifest of all files with this private key of OpenSSH.")
    p.add_argument("--pdf", action="store_true", help="Write certificate.pdf as well, by weasyprint or chromium.")
    p.add_argument("--verify", type=Path, metavar="DIR", help="Run nothing; judge DIR again and compare it with its certificate.")
    p.add_argument("--key", type=Path, metavar="PUB", help="With --verify: demand a signature by this public key.")
    p.add_argument("--json", action="store_true", help="With --verify: print the outcome as one JSON object.")
    p.add_argument("--cases", type=Path, metavar="DIR", help=argparse.SUPPRESS)  # refused in words of its own
    p.set_defaults(run=run, certification=True)


def run(args: argparse.Namespace) -> int:
    """Certify, sign or verify."""
    _refuse_what_changes_nothing(args)
    if args.verify is not None:
        return verify(args)
    if args.action not in (None, "sign"):
        offered = near(args.action, ("sign", "--verify", "--resume"))
        raise UsageError(f"certify {args.action}: only sign stands behind certify{offered}; "
                         "see `fcvi certify --help`")  # fmt: skip
    if args.action is not None:
        if args.signed is None or args.sign is None:
            raise UsageError("sign: name the directory and the key: fcvi certify sign DIR --sign KEY")
        if not _is_certified(args.signed):
            raise UsageError(f"{args.signed}: no report directory with a {certificate.JSON} and its {manifest.NAME}")
        return _finished(args, args.signed)
    if args.cases is not None:
        raise UsageError("--cases: a certificate is about the cases of the suite alone; run your own with `fcvi run --cases`")
    if args.shard != (1, 1):
        raise UsageError("--shard: a certification runs every case; share a run out instead")
    status = _can_end(args)
    if status:
        return status
    if args.resume is not None:
        _refuse_a_plain_run(args.resume)
        if _lacks_a_signature_only(args):
            return _finished(args, args.resume)
    args.manifest = None
    status = run_command.run(args)
    if args.manifest is not None:  # else what is in the directory is not of this command
        status = _finished(args, args.report, args.manifest) or status
        _tell_of_strangers(args.report)
    return status


def _refuse_what_changes_nothing(args: argparse.Namespace) -> None:
    """Raises UsageError for what goes with --verify or sign alone, or not with them."""
    if args.verify is not None and args.action:
        raise UsageError(f"--verify runs nothing and signs nothing: leave out {args.action}")
    if args.verify is None:
        refuse(args.given, _TO_VERIFY, "goes with --verify DIR")
    if args.verify is not None or args.action == "sign":
        fit = _TO_SIGN if args.verify is None else ("--verify", *_TO_VERIFY)
        refuse(args.given, set(args.given) - {*fit}, f"{'sign' if args.verify is None else '--verify'} runs nothing: leave it out")


def _can_end(args: argparse.Namespace) -> int:
    """Whether what comes after the last case can be done, said before the first one: a status, 0 when it can."""
    try:
        if args.sign is not None:
            manifest.try_key(args.sign)
    except FileError as error:
        raise UsageError(f"--sign {error}") from error
    if args.pdf and not any(shutil.which(tool) for tool in _PDF_TOOLS):
        complain(f"--pdf: neither {' nor '.join(_PDF_TOOLS)} is here; install one, or print certificate.html")
        return 3
    return 0


def _refuse_a_plain_run(directory: Path) -> None:
    """Raises UsageError for what would end without a certificate: the run was none of certify."""
    try:
        run_of = load_run(directory)
    except FileError:
        return  # the run says why
    if run_of.get("certification") is not True:
        raise UsageError(f"--resume {directory}: the run was no certification; fcvi run --resume goes on with it")


def _lacks_a_signature_only(args: argparse.Namespace) -> bool:
    """A certification that was cut off when all was written but what --sign or --pdf adds."""
    try:
        return "incomplete" not in load_run(args.resume) and _is_certified(args.resume) and bool(args.sign or args.pdf)
    except FileError:
        return False  # the run says why


def _is_certified(directory: Path) -> bool:
    try:
        with Folder(directory) as folder:
            return folder.has(certificate.JSON) and folder.has(manifest.NAME)
    except OSError:
        return False  # the run said why


def _finished(args: argparse.Namespace, directory: Path, made: Optional[bytes] = None) -> int:
    """PDF and signature of a certification that holds: 1 when it does not, 3 when what was asked for cannot be made.

    made: the manifest of the run that has just ended. Whatever certificate lies in the directory by now, no other is signed.
    """
    if not (args.pdf or args.sign):
        return 0
    try:
        with Folder(directory) as folder:
            said = folder.read(manifest.NAME) if made is None else made
            if not said:
                raise FileError(f"{directory}: this run has no certificate")
            if not _holds(directory, said):
                return 1
            if not args.pdf and certificate.PDF in manifest.hashes_in(said):
                words = "nobody can judge it; have --pdf make it anew, or take it away"
                complain(f"{directory}: not signed: {certificate.PDF}: {words}")
                return 1
            if args.pdf:
                folder.remove(manifest.SIGNATURE)  # of a manifest without it
                said = pdf.make(folder, said)
            if args.sign is not None:
                manifest.sign(folder, args.sign, said)
    except (FileError, OSError, subprocess.SubprocessError) as error:
        complain(told(error))
        return 3
    return 0


def _holds(directory: Path, said: bytes) -> bool:
    """Whether the evidence gives what the certificate and this manifest say; every reason why it does not is told."""
    found = verification.check(directory, said=said)
    lines = [f"{what}: {name}" for what in ("changed", "missing") for name in getattr(found, what) if name != manifest.SIGNATURE]
    lines += [*found.disagrees, *([f"not judged by this version: {found.unjudged}"] if found.unjudged else [])]
    lines += [f"additional: {name}" for name in found.additional] if lines else []
    for line in lines:
        complain(f"{directory}: not signed: {line}")
    return not lines


def _tell_of_strangers(directory: Path) -> None:
    """Files in the directory that the certificate does not cover: --verify will name them, so say it now."""
    try:
        strangers = verification.strangers(directory)
    except (FileError, OSError):
        return  # no certificate: the run said why
    for name in strangers:
        complain(f"{directory}: {name} was there before and is not part of the certificate")


def verify(args: argparse.Namespace) -> int:
    """Compare and say what differs, by name."""
    if args.verify.exists() and not args.verify.is_dir():
        raise UsageError(f"--verify {args.verify}: is no directory; name the one that has the certificate")
    try:
        found = verification.check(args.verify, args.key)
    except (FileError, OSError, subprocess.SubprocessError) as error:
        raise UsageError(told(error)) from error
    if args.json:
        print(json.dumps({**vars(found), "holds": found.holds()}))
        return _status(found)
    for what, names in (("changed", found.changed), ("missing", found.missing), ("additional", found.additional)):
        for name in names:
            print(f"{what}: {one_line(name)}")
    for line in found.disagrees:
        print(f"changed: {one_line(line)}")
    if found.signed not in ("", "yes"):
        print(f"signature: {one_line(found.signed)}")
    if found.unjudged:
        print(f"not judged by this version: {one_line(found.unjudged)}")
    if found.untouched():
        print(f"{one_line(found.outcome)}: all {found.files} files are as certified")
    print(f"SHA-256 of certificate.json: {found.sha256}")
    if found.signed == "yes":
        print(f"signed with the key in {args.key}")
    elif args.key is None:
        print("no key was given: the files belong together, but nothing shows who made them (--key PUB)")
    return _status(found)


def _status(found: verification.Check) -> int:
    return 0 if found.holds() else 4 if found.untouched() else 1
