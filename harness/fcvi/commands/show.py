"""``fcvi show``: one case step by step, one requirement or erratum in words, the whole register of errata, how two editions differ,
and what a thing of VIA is with RDMA verbs."""

from __future__ import annotations

import argparse
import json
import textwrap
from dataclasses import asdict
from typing import Any, Mapping, Optional

from fcvi.engine.break_words import in_words
from fcvi.engine.breaks import understand
from fcvi.engine.case import CaseInfo, Variant, load_cases
from fcvi.engine.catalogue import (
    Erratum, Requirement, load_decided_by, load_errata, load_on_every_frame, load_requirements, proved_by,
)  # fmt: skip
from fcvi.engine.errata import PARTS, by_clause, clause_of, parts_of, severity_of
from fcvi.engine.page import page
from fcvi.engine.protocol import Protocol, listed, put_in_force, registered
from fcvi.engine.results import Verdict
from fcvi.engine.words import UsageError, near
from fcvi.report import steps
from . import differences, mapping
from .target import book as book_option, named
from .values import cases, own_cases

_WIDTH = 100
_DECISION = 240  # letters


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("show", help="Show one case, requirement or erratum in words.", description=__doc__)
    p.add_argument("id", nargs="?", help="This is a case or a variant (C.5.9.1), a requirement (FCVI-8.2-a) or an erratum (E03).")
    p.add_argument("--errata", action="store_true", help="Print the whole register of errata, by clause.")
    p.add_argument("--diff", nargs=2, metavar=("EDITION", "EDITION"),
                   help="Print how two editions differ, such as rev1 and 2007: by topic, or with an id what concerns it. "
                   "The id is a topic, a requirement of either edition or an IU.")  # fmt: skip
    p.add_argument("--map", action="store_true",
                   help="Print what a thing of VIA (a VIPL call, a state, a status) is with RDMA verbs, or the other way round; "
                   "without an id the whole table.")  # fmt: skip
    p.add_argument("--json", action="store_true", help="Print one object, with its kind; with --errata one a line for each entry.")
    cases(p)
    book_option(p)
    p.set_defaults(run=run)


def _wrap(words: str, indent: str = "  ") -> str:
    return textwrap.fill(words, _WIDTH, initial_indent=indent, subsequent_indent=indent)


def _steps(case: CaseInfo, wanted: str) -> set[str]:
    """The page: what is asked, in which order, and what would fail. Gives what the steps cite."""
    result, found = page(case, _variant(case, wanted))
    if result is None:
        return set()
    end = "" if result.verdict is Verdict.PASS else f", where it ends {result.verdict.value}: {result.reason}"
    print(_wrap(f"The steps of {result.id} as it ran on the suite's own reference device{end}.") + "\n")
    for words in steps.KEY:
        print(_wrap(words) + "\n")
    for line in steps.table(found, result.id):
        print(line)
    return steps.cited(found)


def _variant(case: CaseInfo, wanted: str) -> Optional[Variant]:
    """The variant that was asked for; None for the case."""
    return next((v for v in case.variants if v.suffix and case.variant_id(v) == wanted), None)


def _show_case(case: CaseInfo, wanted: str) -> None:
    statements = {r.id: r for r in load_requirements()}
    errata = load_errata()
    print(f"{case.id}  {case.title}  (clause {case.clause})\n")
    print(_wrap(case.purpose) + "\n")
    print(f"  applies: {case.applies}\n  tags:    {', '.join(case.tags) or '-'}\n\n  variants")
    for variant in case.variants:
        narrowed = f"  (applies: {variant.applies})" if variant.applies else ""
        print(f"    {case.variant_id(variant)}{narrowed}")
    print()
    cited = _steps(case, wanted)
    proofs = proved_by()
    print("\n  requirements")
    for ident in dict.fromkeys((*case.requirements, *sorted(cited & statements.keys()))):
        r = statements[ident]
        where = "" if ident in cited or not cited else f" ({_not_in_a_step(ident)})"
        device = proofs[ident][0] if ident in proofs and ident not in cited else ""
        proof = f" (shown by a device that {in_words(understand(device))})" if device else ""
        print(_entry(f"{ident} [{r.level}] {r.statement.removesuffix('[declarative]').strip()}{where}{proof}"))
    numbers = [number for number in errata if number in cited or number in case.errata]
    if numbers:
        print("\n  errata")
    for number in numbers:
        print(_entry(f"{number} {errata[number].title}{_decision(errata[number])}"))


def _entry(words: str) -> str:
    return textwrap.fill(words, _WIDTH, initial_indent="    ", subsequent_indent="      ")


def _not_in_a_step(ident: str) -> str:
    """Who checks a requirement that the case lists and no step cites."""
    if ident in load_on_every_frame():
        return "checked by every frame"
    by = load_decided_by().get(ident)
    decided = f"; decided by the checks of {', '.join(by.by)}" if by is not None else ""
    return f"by no step of this variant{decided}"


def _decision(erratum: Erratum) -> str:
    """What was decided, in a line."""
    parts = parts_of(erratum)
    words = next((parts[part] for part in ("verdict", "receive", "send") if parts.get(part)), "")
    return f": {textwrap.shorten(words, _DECISION, placeholder=' ...')}" if words else ""


def _absent(erratum: Erratum, parts: Mapping[str, str], part: str) -> str:
    """What stands for a part that an entry does not have. A document erratum needs none: no verdict depends on it."""
    if severity_of(erratum) == "D" or part not in ("send", "receive", "verdict"):
        return ""
    if part == "verdict":
        return "as the parts above say"
    return "as the verdict says" if "verdict" in parts else "nothing that a device could do wrong"


def _show_register() -> None:
    """Every entry by clause, with what it says of sending, of receiving and of the verdict, and the cases that show it."""
    cases = load_cases()
    clause = None
    for erratum in by_clause(load_errata().values()):
        if clause_of(erratum) != clause:
            clause = clause_of(erratum)
            print(f"{clause or 'other documents'}\n")
        print(textwrap.fill(f"{erratum.number} {erratum.title}", _WIDTH, initial_indent="  ", subsequent_indent="      "))
        parts = parts_of(erratum)
        shown = ", ".join(c.id for c in cases if erratum.number in c.errata)
        if shown:
            parts["shown by"] = f"{shown}; {parts['shown by']}" if "shown by" in parts else shown
        for part in PARTS:
            words = parts.get(part, _absent(erratum, parts, part))
            if words:
                print(textwrap.fill(f"{part + ':':10}{words}", _WIDTH, initial_indent="    ", subsequent_indent=" " * 14))
        print()


def _erratum_as_json(erratum: Erratum) -> str:
    return json.dumps({"kind": "erratum", "id": erratum.number, "title": erratum.title, "text": erratum.body})


def run(args: argparse.Namespace) -> int:
    """Show."""
    books = named(args)[:1] or listed()
    put_in_force(*books)
    own_cases(args)
    wanted = args.id
    if wanted == "":
        raise UsageError("show: the name is empty; `fcvi list` shows the cases")
    if sum((args.errata, args.map, args.diff is not None)) > 1:
        raise UsageError("show takes one of --diff, --errata and --map")
    if args.map:
        return mapping.show(wanted or "", args.json)
    if args.diff:
        first, second = args.diff
        return differences.show(first, second, wanted or "", args.json)
    if args.errata == (wanted is not None):
        raise UsageError("show wants a case, a requirement or an erratum, or --errata alone; see `fcvi show --help`")
    if args.errata:
        if args.json:
            for entry in by_clause(load_errata().values()):
                print(_erratum_as_json(entry))
        else:
            _show_register()
        return 0
    for book in books if args.asked else dict.fromkeys((*books, *registered())):
        if _shown(wanted, book, args.json):
            return 0
    others = [name for name in _idents() if name != wanted]  # it may be in a book that was not asked for
    raise UsageError(f"show {wanted}: no such case, requirement or erratum{near(wanted, others)}; `fcvi list` shows the cases")


def _idents() -> list[str]:
    """Every name that show takes, of every book."""
    every = registered()
    cases_of = [name for case in load_cases(every) for name in (case.id, *case.variant_ids())]
    return [*cases_of, *(r.id for r in load_requirements(every)), *load_errata(every)]


def _shown(wanted: str, book: Protocol, as_json: bool) -> bool:
    """Show it, if this book has it. What the id begins with says which requirement or erratum may be of the book."""
    put_in_force(book)
    of = (book, book.base) if book.base is not None else (book,)
    if wanted.startswith(tuple(p.prefix for p in of)):
        row = next((r for r in load_requirements() if r.id == wanted), None)
        if row is not None:
            _show_requirement(row, as_json)
            return True
    if wanted[:1] in [p.erratum for p in of] and wanted[1:].isdecimal() and (erratum := load_errata().get(wanted)) is not None:
        print(_erratum_as_json(erratum) if as_json else f"{erratum.number}  {erratum.title}\n\n{erratum.body}")
        return True
    case = next((c for c in load_cases() if wanted == c.id or wanted in c.variant_ids()), None)
    if case is not None and as_json:
        result, found = page(case, _variant(case, wanted))
        rows = [row.as_json() for row in steps.rows(found, result.id if result is not None else "")]
        print(json.dumps({"kind": "case", **case.as_json(), "steps": rows}))
    elif case is not None:
        _show_case(case, wanted)
    return case is not None


def _show_requirement(r: Requirement, as_json: bool) -> None:
    cases = [c.id for c in load_cases() if r.id in c.requirements]
    if as_json:
        print(json.dumps({**asdict(r), "observation": r.kind, "cases": cases, "kind": "requirement"}))
        return
    print(f"{r.id}  clause {r.clause}  [{r.level}]  {r.subject}\n\n{_wrap(r.statement)}\n")
    print(_wrap(f"observable: {r.observable}"))
    print(_wrap(f"condition: {r.condition}; kind: {r.kind}"))
    print(_wrap("cases: " + (", ".join(cases) or "none yet")))
