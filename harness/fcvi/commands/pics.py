"""``fcvi pics``: the PICS of a device as a file.

``fcvi pics new`` writes a commented TOML file with every item, its meaning, its clause and how many cases it decides; with
--dut SPEC, filled with what the device says in hello. ``fcvi pics check FILE`` reads such a file and reviews it: what contradicts
itself, what is mandatory and not claimed, and how many cases would run. Without --book the revision that the file claims chooses
the book. The exit status of check is 0 when nothing is wrong, 1 when something is, and 2 when the file cannot be used.
"""

from __future__ import annotations

import argparse
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from fcvi.engine import declaration
from fcvi.engine.attachment import DutError
from fcvi.engine.catalogue import load_catalogue
from fcvi.engine.files import FileError, encoded, one_line
from fcvi.engine.laboratory import ITEM, LAB
from fcvi.engine.pics import of_hello
from fcvi.engine.protocol import put_in_force, registered
from fcvi.engine.review import review
from fcvi.engine.target import Target, claimed
from fcvi.engine.words import complain, refuse, told, why
from fcvi.report import certificate, proforma
from fcvi.report.words import plural

from .place import ready_file
from .values import seconds
from .target import book as book_option, named, target


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("pics", help="Write or check the PICS of a device.", description=__doc__)
    actions = p.add_subparsers(metavar="ACTION", required=True)
    n = actions.add_parser("new", help="Write a commented file with every item.", description=__doc__)
    n.add_argument("--dut", metavar="SPEC", help="Fill it with what this device, named as for fcvi run, claims in hello.")
    n.add_argument("--rpc-timeout", type=seconds, default=5.0, metavar="S", help="Give up when an answer takes longer (default 5).")
    n.add_argument("--out", type=Path, metavar="FILE", help="Write to this file, which must not exist, and not to standard output.")
    book_option(n)
    n.set_defaults(run=new)
    c = actions.add_parser("check", help="Review a file.", description=__doc__)
    c.add_argument("file", metavar="FILE", type=Path, help="This is the PICS file.")
    c.add_argument("--json", action="store_true", help="Print the outcome as one JSON object.")
    book_option(c)
    c.set_defaults(run=check)


def _claims(target: Target, timeout: float) -> tuple[dict[str, Any], str]:
    """What the device says in hello, and what it calls itself. Raises AttachError, DutError, PicsError."""
    dut = target.attach(identity=declaration.Declaration().pixit.dut, rpc_timeout_s=timeout, log=None)
    try:
        return of_hello(dut.pics), f"{dut.implementation} {dut.version}".strip()
    finally:
        dut.close()


def _entries(table: str, known: dict[str, str]) -> list[str]:
    examples = {"issued": "2027-01-31", "received": "2027-01-31", "firmware_sha256": f'"{"0" * 64}"'}
    return [f"[{table}]", *(f"# {name} = {examples.get(name, chr(34) * 2)}  # {words}" for name, words in known.items()), ""]


def document(pics: dict[str, Any], whose: str) -> str:
    """The file."""
    lines = [
        f"# PICS of {one_line(whose)}" if whose else "# PICS: what the device supports. Nothing is claimed yet.",
        "# A case whose items are not claimed is not applicable. Claim only what the device has: each claim is tested.",
        "# `fcvi pics check FILE` reviews this file; `fcvi run --pics FILE` and `fcvi certify --pics FILE` use it.", "", "[pics]",
    ]  # fmt: skip
    for row in proforma.rows(pics):
        cases = f"decides {plural(row.cases, 'case')}" if row.cases else "decides no case by itself"
        lines += [f"# The device: {row.meaning}. Clause {row.clause}; {cases}.", f"{row.item} = {row.value}"]
    lines += ["", "# What a certificate has to say, and no program can know. Take the # away from what you fill in.", ""]
    return "\n".join([*lines, *_entries("lab", LAB), *_entries("item", ITEM)]).rstrip() + "\n"


def new(args: argparse.Namespace) -> int:
    """Write the file."""
    book = (named(args) or registered())[0]
    put_in_force(book)
    if args.out is not None and not os.path.lexists(args.out):
        ready_file("--out", args.out)
    pics: dict[str, Any] = {"revision": book.edition} if args.asked and book.edition else {}
    whose = ""
    if args.dut is None:
        refuse(args.given, ("--rpc-timeout",), "goes with --dut SPEC")
    else:
        try:
            pics, whose = _claims(target(args), args.rpc_timeout)
        except DutError as error:
            complain(f"--dut {args.dut}: {told(error)}")
            return 3
    text = document(pics, whose)
    if args.out is None:
        print(text, end="")
        return 0
    try:
        with os.fdopen(os.open(args.out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
            file.write(encoded(text))
    except OSError as error:
        with suppress(OSError):  # half a file is none; one that was there before stays
            if not isinstance(error, FileExistsError):
                args.out.unlink()
        complain(f"--out {args.out}: {'is there already' if isinstance(error, FileExistsError) else why(error)}")
        return 2 if isinstance(error, FileExistsError) else 3
    return 0


def check(args: argparse.Namespace) -> int:
    """Review the file."""
    books = named(args)
    put_in_force(books[0] if books else claimed(declaration.claims(args.file) or {}, registered()))
    declared = declaration.load(args.file, load_catalogue().levels)
    if declared.pics is None:
        raise FileError(f"{args.file}: no [pics] in it: `fcvi pics new` writes one")
    found = review(declared.pics, load_catalogue().levels)
    due, listed = len(certificate.applicable(declared.pics)), len(certificate.listed())
    wrong = [r for r in found if r.cls == "violation"]
    if args.json:
        print(json.dumps({"applicable": due, "cases": listed, "review": [r.as_json() for r in found]}, indent=1))
        return 1 if wrong else 0
    for r in found:
        tolerated = f" (tolerated: {r.erratum})" if r.erratum else ""
        print(f"{r.cls}{tolerated}: {r.requirement}: {r.message}; claimed {r.seen}, required {r.required}")
    stated = {**declared.lab, **declared.item}
    absent = [words for name, words in {**LAB, **ITEM}.items() if name in _EXPECTED and name not in stated]
    if absent:
        print(f"a certificate would not state: {', '.join(absent)}")
    print(f"{due} of {listed} cases apply; {len(wrong)} of {len(found)} remarks count against the device")
    return 1 if wrong else 0


#: Entries that ISO/IEC 17025:2017, 7.8.2.1, asks of every report.
_EXPECTED = ("name", "address", "customer", "authorised_by", "issued", "description", "serial", "firmware", "received")
