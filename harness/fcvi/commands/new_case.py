"""``fcvi new-case``: writes the start of a case into a folder of your own, which ``fcvi run --cases DIR`` runs.

It is given a requirement or a clause. The file says what that demands, and has a case that connects already: what is to be tried
comes behind that. Until it does, the case is inconclusive: nothing passes that was not tried. ``fcvi show ID --cases DIR`` prints
its page, step by step, as it ran on the suite's own reference device.
"""

from __future__ import annotations

import argparse
import re
import shlex
import textwrap
from pathlib import Path
from typing import Any

from fcvi.engine.case import load_cases
from fcvi.engine.catalogue import Requirement, load_requirements
from fcvi.engine.files import write_file
from fcvi.engine.words import UsageError, complain, printable, why
from . import place

_STUB = '''"""A case of my own on clause {clause}."""

from __future__ import annotations

from conformance.fcvi.steps.connection import CLIENT, REGISTRY, SERVER, check_state
from conformance.fcvi.steps.messages import open_connection
from fcvi.engine.case import Variant, case
from fcvi.engine.scenario import Inconclusive
from fcvi.fc.scenario import Scenario

{demands}


@case(
    REGISTRY,
    "{ident}",
    "{title}",
    clause="{clause}",
    requirements=[{requirements}],
    tags=[],  # `fcvi list --help` has those that there are
    applies="client or server",  # what a device must declare; `fcvi pics new` has every item
    variants=[
        Variant("dut-client", {{"role": CLIENT}}, "client"),
        Variant("dut-server", {{"role": SERVER}}, "server"),
    ],
)
def {function}(t: Scenario) -> None:
    """Say here what the tester does, and what the device owes for it."""
    setup = open_connection(t)
    # What is to be tried comes here:
    #   t.start("VipPostSend", ...) and t.call(...) ask the device, t.send(...) sends an IU, t.expect(...) waits for one;
    #   t.require(holds, "{first}", "what is wrong", seen, required) records a breach.
    check_state(t, setup.vi, "connected", "FCVI-8.2-b1")
    t.control("the Connection stands")
    raise Inconclusive("nothing was tried yet: this is the start of a case")  # take this away once something is
'''


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("new-case", help="Write the start of a case of your own, from a requirement.", description=__doc__)
    p.add_argument("about", metavar="ID", help="This is a requirement (FCVI-8.5.3-a3) or a clause (8.5.3).")
    p.add_argument("--out", type=place.directory, default=Path("cases"), metavar="DIR",
                   help="Write it to this folder (default cases).")  # fmt: skip
    p.add_argument("--id", dest="ident", metavar="NAME", help="Give the case this id (default own.CLAUSE).")
    p.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write it."""
    every = load_requirements()
    found = [r for r in every if r.id == args.about] or [r for r in every if r.clause == args.about]
    if not found:
        raise UsageError(f"{args.about!r} is neither a requirement nor a clause that has one; `fcvi show ID` shows those of a case")
    clause = found[0].clause
    ident = args.ident or "own." + re.sub(r"[^A-Za-z0-9.]+", "-", clause)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}", ident):
        raise UsageError(f"--id {ident!r}: letters, digits, points, dashes and underscores, at most 61")
    if any(case.id == ident for case in load_cases()):
        raise UsageError(f"--id {ident}: the suite has a case of this name")
    function = re.sub(r"\W+", "_", ident).lower()
    path = args.out / f"{function if not function[0].isdigit() else 'case_' + function}.py"
    if path.exists():
        raise UsageError(f"{path}: is there already; name another with --id or --out")
    place.refuse_file("--out", args.out)
    place.refuse_what_is_signed("--out", args.out)
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        write_file(path, _stub(found, clause, ident, path.stem).encode())
    except OSError as error:
        complain(f"{path}: cannot write it: {why(error)}")
        return 3
    folder = printable(shlex.quote(str(args.out)))
    print(f"{printable(path)}: run it with fcvi run --cases {folder} --select {shlex.quote(ident)}")
    print(f"fcvi show {shlex.quote(ident)} --cases {folder} prints its page: the steps as they ran, and what each checks")
    return 0


def _stub(found: list[Requirement], clause: str, ident: str, function: str) -> str:
    demands = [
        textwrap.fill(f"{r.id} [{r.level}] {r.statement}", 120, initial_indent="# ", subsequent_indent="#   ",
                      break_long_words=False, break_on_hyphens=False)
        for r in found
    ]  # fmt: skip
    return _STUB.format(
        clause=clause, ident=ident, function=function, title=f"What clause {clause} demands", demands="\n".join(demands),
        requirements=", ".join(f'"{r.id}"' for r in found), first=found[0].id,
    )  # fmt: skip
