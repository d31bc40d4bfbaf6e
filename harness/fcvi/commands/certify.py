"""``fcvi certify``: runs every applicable case and writes report and certificate, or checks a certificate.

With --verify the exit status is 0 when every file is as certified (whatever the outcome was), 1 when a file was changed,
is missing or was added, when what is derived from report and evidence comes out otherwise, or when the signature is not that of
the key, 2 when there is no certificate.

A laboratory signs with --sign KEY, a private key of OpenSSH; the signature is detached, over SHA256SUMS, which covers every file.
Without a key, --verify says that the files belong together, and nothing about who made them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from fcvi.engine.evidence import load_run
from fcvi.engine.files import FileError, one_line, write_file
from fcvi.engine.words import complain, told
from fcvi.report import certificate, manifest, verify as verification
from . import run as run_command


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("certify", help="Run every applicable case, and write a report and a certificate.", description=__doc__)
    run_command.options(p, report="report")
    p.add_argument("--sign", type=Path, metavar="KEY", help="Sign the manifest of all files with this private key of OpenSSH.")
    p.add_argument("--pdf", action="store_true", help="Write certificate.pdf as well, by weasyprint or chromium.")
    p.add_argument("--verify", type=Path, metavar="DIR", help="Run nothing; compare DIR with its certificate.")
    p.add_argument("--key", type=Path, metavar="PUB", help="With --verify: demand a signature by this public key.")
    p.add_argument("--rejudge", action="store_true", help="With --verify: judge every case again from the evidence, and compare.")
    p.add_argument("--json", action="store_true", help="With --verify: print the outcome as one JSON object.")
    p.add_argument("--cases", type=Path, metavar="DIR", help=argparse.SUPPRESS)  # refused in words of its own
    p.set_defaults(run=run, certification=True)


def run(args: argparse.Namespace) -> int:
    """Certify or verify."""
    if args.verify is not None:
        return verify(args)
    if args.cases is not None:
        complain("--cases: a certificate is about the cases of the suite alone; run your own with `fcvi run --cases`")
        return 2
    if args.shard != (1, 1):
        complain("--shard: a certification runs every case; share a run out instead")
        return 2
    if args.resume is not None and _lacks_a_signature_only(args):
        args.report = args.resume
        return _finished(args)
    status = run_command.run(args)
    done = _finished(args)
    _tell_of_strangers(args.report)
    return done or status


def _lacks_a_signature_only(args: argparse.Namespace) -> bool:
    """A certification that was cut off when all was written but what --sign or --pdf adds."""
    try:
        whole = "incomplete" not in load_run(args.resume) and (args.resume / certificate.JSON).is_file()
        return whole and bool(args.sign or args.pdf)
    except FileError:
        return False  # the run says why


def _finished(args: argparse.Namespace) -> int:
    """PDF and signature of a certification; 3 when one that was asked for cannot be made."""
    directory: Path = args.report
    if not (directory / certificate.JSON).is_file():
        return 0  # the run said why
    try:
        if args.pdf:
            _pdf(directory)
            lines = (directory / manifest.NAME).read_text(encoding="utf-8").splitlines()
            hashes = {name: value for value, _, name in (line.partition("  ") for line in lines)}
            hashes[certificate.PDF] = certificate.sha256_of(directory / certificate.PDF)
            write_file(directory / manifest.NAME, manifest.render(hashes))
        if args.sign is not None:
            manifest.sign(directory, args.sign)
    except (FileError, OSError, subprocess.SubprocessError) as error:
        complain(told(error))
        return 3
    return 0


def _pdf(directory: Path) -> None:
    """certificate.pdf, with the number of the certificate and of the page on each page. Raises FileError, OSError."""
    page, pdf = directory / certificate.HTML, directory / certificate.PDF
    pdf.unlink(missing_ok=True)
    weasyprint, chromium = shutil.which("weasyprint"), shutil.which("chromium")
    if weasyprint is not None:
        words = [weasyprint, "--quiet", str(page), str(pdf)]
    elif chromium is not None:
        words = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
                 "--disable-sync", "--no-pdf-header-footer", f"--print-to-pdf={pdf}", page.resolve().as_uri()]  # fmt: skip
    else:
        raise FileError("--pdf: neither weasyprint nor chromium is here; install one, or print certificate.html")
    done = subprocess.run(words, capture_output=True, check=False, timeout=300)
    if done.returncode or not pdf.is_file():
        why = done.stderr.decode("utf-8", "replace")[-200:]
        raise FileError(f"--pdf: {Path(words[0]).name} failed with status {done.returncode}: {why}")


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
    try:
        found = verification.check(args.verify, args.key, args.rejudge)
    except (FileError, OSError, subprocess.SubprocessError) as error:
        complain(told(error))
        return 2
    if args.json:
        print(json.dumps({**vars(found), "holds": found.holds()}))
        return 0 if found.holds() else 1
    for what, names in (("changed", found.changed), ("missing", found.missing), ("additional", found.additional)):
        for name in names:
            print(f"{what}: {one_line(name)}")
    for line in found.disagrees:
        print(f"changed: {one_line(line)}")
    if found.signed not in ("", "yes"):
        print(f"signature: {one_line(found.signed)}")
    if found.holds():
        print(f"{one_line(found.outcome)}: all {found.files} files are as certified")
    print(f"SHA-256 of certificate.json: {found.sha256}")
    if found.signed == "yes":
        print(f"signed with the key in {args.key}")
    elif args.key is None:
        print("no key was given: the files belong together, but nothing shows who made them (--key PUB)")
    return 0 if found.holds() else 1
