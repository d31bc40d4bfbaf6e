"""The page of a case as rows of a table: step, who, what, requirement."""

from __future__ import annotations

import re
import textwrap
from typing import Any, Iterator, NamedTuple, Sequence

from fcvi.engine.case import OWN, load_cases
from fcvi.engine.page import CHECK, Step, page

_WHO, _WHAT = 14, 72
_PROOF = " " * (12 + _WHO)
_ERRATUM = re.compile(r"\b[A-Z]\d+\b")
#: How a page is read; it stands before the steps.
KEY = (
    "A step with a requirement is a check: what stands there has to come, within the time of an answer unless a time is named. A "
    "line with a dash is one more check of the step above it. It says what has to hold; a line that begins with \"fails if\" says "
    "what must not be, and then what is required. A step of the device without a requirement is what the reference device did, "
    "not what is demanded.",
    "The order of the steps binds where the tester or the upper tester goes on only when a step with a requirement has come. Any "
    "other order is that of this run, and is not checked. Each frame or PDU of the device is also held against every rule of "
    "codec and monitor.",
    "A line that begins with \"shown by\" names a device that does just this otherwise. The suite has run it, and has failed it by "
    "the requirement of the line. Its messages and calls are counted in the variant that stands behind \"in\", or in this one.",
)


class Row(NamedTuple):
    """A row. number: of the step; None for a heading, and for a check behind the first of a step."""

    number: int | None
    who: str
    what: str
    requirement: str
    heading: bool = False
    proof: str = ""

    def as_json(self) -> dict[str, Any]:
        """As ``fcvi show --json`` has it."""
        return {"step": self.number, "who": self.who, "what": self.what, "requirement": self.requirement, "heading": self.heading,
                "shown_by": self.proof}  # fmt: skip


def rows(steps: Sequence[Step], variant: str) -> Iterator[Row]:
    """The rows. Each part of the case has a heading before its steps."""
    part = ""
    for step in steps:
        if step.part != part:
            part = step.part
            yield Row(None, "", part or "The case itself", "", True)
        checks = [(check.text(), check.requirement, check.proof(variant)) for check in step.checks]
        first, shown = next(((requirement, proof) for words, requirement, proof in checks if not words), ("", ""))
        what = step.text() or "each of these holds:"
        yield Row(step.number, "" if step.who == CHECK and not step.what else step.who, what, first, False, shown)
        for words, requirement, proof in checks:
            if words or requirement != first:
                yield Row(None, "", f"- {words or 'it comes'}", requirement, False, proof)


def of(ident: str) -> list[Row]:
    """The rows of a variant of the suite, as it runs on the reference device; none of a user's own case."""
    own = {id(case) for case in OWN}
    for case in load_cases():
        for variant in case.variants if id(case) not in own else ():
            if case.variant_id(variant) == ident:
                return list(rows(page(case, variant)[1], ident))
    return []


def cited(steps: Sequence[Step]) -> set[str]:
    """The requirements that the steps name, and whatever in their words looks like the number of an erratum."""
    named = {check.requirement for step in steps for check in step.checks}
    texts = (text for step in steps for text in (step.part, step.what, *(check.text() for check in step.checks)))
    return named | {number for text in texts for number in _ERRATUM.findall(text)}


def table(steps: Sequence[Step], variant: str) -> Iterator[str]:
    """The lines of the page as text."""
    yield f"{'Step':>4}  {'Who':{_WHO}}  {'What':{_WHAT}}  Requirement"
    for row in rows(steps, variant):
        if row.heading:
            yield ""
            yield f"      {row.what}"
            continue
        lines = textwrap.wrap(row.what, _WHAT, subsequent_indent="  ") or [""]
        yield f"{row.number or '':>4}  {row.who:{_WHO}}  {lines[0]:{_WHAT}}  {row.requirement}".rstrip()
        yield from (f"{'':{8 + _WHO}}{line}" for line in lines[1:])
        if row.proof:
            words = f"shown by {row.proof}"
            yield from textwrap.wrap(
                words, _WHAT + 8 + _WHO, initial_indent=_PROOF, subsequent_indent=_PROOF + "  ", break_on_hyphens=False,
            )  # fmt: skip
