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
    "A step with a requirement is a check: what stands there has to come within the time that the line names, else within that of "
    "an answer, which is R_A_TOV and the tolerance unless the laboratory says another. A line with a dash is one more check of the "
    "step above it. It says what has to hold; a line that begins with \"fails if\" says what must not be, and then what is "
    "required. A step of the device without a requirement is what the reference device did, not what is demanded.",
    "The order of the steps binds where the tester or the upper tester goes on only when a step with a requirement has come. Any "
    "other order is that of this run, and is not checked. Each frame or PDU of the device is also held against every rule for its "
    "form and its place in the traffic, whichever step it belongs to.",
    "A line that begins with \"shown by\" names a device that does just this otherwise. The suite has run it, and has failed it by "
    "the requirement of the line. Its messages and calls are counted in the variant that stands behind \"in\", or in this one. "
    "A line that begins with \"not shown\" says why there is no such device.",
)


class Row(NamedTuple):
    """A row. number: of the step; None for a heading, and for a check behind the first of a step. again: the step that has told of
    the same devices, or of the same lack of one."""

    number: int | None
    who: str
    what: str
    requirement: str
    heading: bool = False
    proof: str = ""
    why_not: str = ""
    again: int | None = None

    @property
    def told(self) -> str:
        """What is said of the devices of a check, without what another step has said."""
        if self.again is not None:
            return f"{'shown' if self.proof else 'not shown'}: as in step {self.again}"
        return f"shown by {self.proof}" if self.proof else f"not shown: {self.why_not}" if self.why_not else ""

    def as_json(self) -> dict[str, Any]:
        """As ``fcvi show --json`` has it."""
        return {"step": self.number, "who": self.who, "what": self.what, "requirement": self.requirement, "heading": self.heading,
                "shown_by": self.proof, "not_shown": self.why_not}  # fmt: skip


def rows(steps: Sequence[Step], variant: str) -> Iterator[Row]:
    """The rows. Each part of the case has a heading before its steps."""
    part = ""
    told: dict[tuple[str, str, str], int] = {}
    for step in steps:
        if step.part != part:
            part = step.part
            yield Row(None, "", part or "The case itself", "", True)
        first = next((check for check in step.checks if not check.words), None)
        what, who = step.text() or "each of these holds:", "" if step.who == CHECK and not step.what else step.who
        rest = [check for check in step.checks if check.words or first is None or check.requirement != first.requirement]
        for check in (first, *rest):
            number, words = (step.number, what) if check is first else (None, f"- {check.text() or 'it comes'}" if check else "")
            if check is None:
                yield Row(number, who, words, "")
                continue
            about = check.requirement, check.proof(variant), check.why_not
            again = told.setdefault(about, step.number)
            seen = again if again != step.number and any(about[1:]) else None
            yield Row(number, who if check is first else "", words, about[0], False, about[1], about[2], seen)


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
        if row.told:
            yield from textwrap.wrap(
                row.told, _WHAT + 8 + _WHO, initial_indent=_PROOF, subsequent_indent=_PROOF + "  ", break_on_hyphens=False,
            )  # fmt: skip
