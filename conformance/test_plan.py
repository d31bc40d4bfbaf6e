"""Writes the test plan: a book of every case, one chapter a clause, in Markdown.

Usage: python3 -m conformance.test_plan > FILE

Each case is told by its purpose, the statements that it decides, its set-up, its variants, what the tester must be able to
observe, and the known problems of the standard's text that touch it.
"""

from __future__ import annotations

import re
import sys
from typing import Iterator

from fcvi.engine.case import CaseInfo, Variant, load_cases
from fcvi.engine.catalogue import Erratum, Requirement, load_errata, load_requirements
from fcvi.engine.protocol import Protocol, registered

from . import register_all


def _cell(words: str) -> str:
    return " ".join(words.split()).replace("|", "\\|")


def _anchor(title: str) -> str:
    """The name that Markdown gives a heading."""
    return re.sub(r"[^a-z0-9 _-]", "", title.lower()).replace(" ", "-")


def chapter_of(case: CaseInfo) -> str:
    """The clause or annex that a case belongs to: "Clause 5", "Annex C", or "The tables"."""
    first = case.clause.split()[0].split(".")[0].rstrip(",;")
    if first == "Table":
        return "The tables"
    return f"Annex {first}" if first.isalpha() and len(first) == 1 else f"Clause {first}"


def _order(chapter: str) -> tuple[int, str]:
    kind, name = chapter.split()
    if kind == "Clause" and name.isdigit():
        return (int(name), "")
    return (1000 if kind == "Annex" else 2000, name)


def _members(members: object) -> str:
    if not isinstance(members, dict) or not members:
        return ""
    return ", ".join(f"{name} = {value!r}" for name, value in members.items())


def _variant(case: CaseInfo, variant: Variant) -> str:
    cells = (f"`{case.variant_id(variant)}`", _members(variant.config), _members(variant.params), variant.applies)
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _case(case: CaseInfo, statements: dict[str, Requirement], errata: dict[str, Erratum]) -> Iterator[str]:
    yield from ("", f"### {case.id}: {case.title}", "", f"**Purpose.** {case.purpose}", "")
    yield f"**References.** The case tests clause {case.clause}. It decides these statements:"
    yield from ("", "| statement | level | what it says | what is observed |", "| --- | --- | --- | --- |")
    for ident in case.requirements:
        one = statements[ident]
        yield f"| {ident} | {one.level} | {_cell(one.statement)} | {_cell(one.observable)} |"
    yield ""
    tags = f" Its tags are {', '.join(case.tags)}." if case.tags else ""
    yield f"**Set-up.** The case applies to a device that claims: `{case.applies or 'anything'}`.{tags} " + (
        "The tester starts from the base configuration, and each variant changes the members of `reset` that its row names."
        if any(variant.config for variant in case.variants)
        else "The tester starts from the base configuration of `reset`."
    )
    yield from ("", f"**Variants: {len(case.variants)}.**", "")
    yield from ("| variant | changed configuration | parameters | applies only if |", "| --- | --- | --- | --- |")
    for variant in case.variants:
        yield _variant(case, variant)
    yield ""
    if case.errata:
        yield "**Known problems of the text.**"
        yield ""
        for number in case.errata:
            yield f"- {number}: {errata[number].title}"
    else:
        yield "**Known problems of the text.** None is known that touches this case."


def _book(protocol: Protocol) -> Iterator[str]:
    statements = {r.id: r for r in load_requirements([protocol])}
    errata = load_errata([protocol])
    cases = load_cases([protocol])
    chapters: dict[str, list[CaseInfo]] = {}
    for case in cases:
        chapters.setdefault(chapter_of(case), []).append(case)
    ordered = sorted(chapters, key=_order)
    number = sum(len(case.variants) for case in cases)
    yield from (f"# Test plan for {protocol.name} ({protocol.standard})", "")
    yield f"This book has {len(cases)} cases with {number} variants. `python3 -m conformance.test_plan` generates it."
    yield ""
    yield "A case passes when every check in it holds and when the monitor finds no violation in the frames of the device."
    yield "A broken `shall` fails the device. A broken `should` is a notice. The device's PICS decides which variants apply."
    yield from ("", "## Contents", "", "| chapter | cases | variants |", "| --- | --- | --- |")
    for chapter in ordered:
        inside = chapters[chapter]
        yield f"| [{chapter}](#{_anchor(chapter)}) | {len(inside)} | {sum(len(case.variants) for case in inside)} |"
    for chapter in ordered:
        yield from ("", f"## {chapter}", "")
        for case in chapters[chapter]:
            title = f"{case.id}: {case.title}"
            yield f"- [{title}](#{_anchor(title)})"
        for case in chapters[chapter]:
            yield from _case(case, statements, errata)


def render() -> str:
    """The books of all standards, in their order."""
    return "\n".join("\n".join(_book(protocol)) for protocol in registered()) + "\n"


def main() -> int:
    """Print the book."""
    register_all()
    sys.stdout.write(render())
    return 0


if __name__ == "__main__":
    sys.exit(main())
