"""The page of a case as rows of a table: step, who, what, requirement."""

from __future__ import annotations

import textwrap
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

from fcvi.engine.case import OWN, load_cases
from fcvi.engine.page import CHECK, Step, page

_WHO, _WHAT = 14, 72


class Row(NamedTuple):
    """A row. number: of the step; None for a heading, and for a check behind the first of a step."""

    number: int | None
    who: str
    what: str
    requirement: str
    heading: bool = False

    def as_json(self) -> dict[str, Any]:
        """As ``fcvi show --json`` has it."""
        return {"step": self.number, "who": self.who, "what": self.what, "requirement": self.requirement, "heading": self.heading}


def rows(steps: Sequence[Step]) -> Iterator[Row]:
    """The rows. Each part of the case has a heading before its steps."""
    number_of = {step.frame: number for number, step in enumerate(steps, 1) if step.frame is not None}
    part = ""
    for number, step in enumerate(steps, 1):
        if step.part != part:
            part = step.part
            yield Row(None, "", part or "The case itself", "", True)
        checks = [(_words(check.words, check.times, check.since, number_of), check.requirement) for check in step.checks]
        times = f" ({step.times} times)" if step.times > 1 else ""
        first = next((requirement for words, requirement in checks if not words), "")
        what = step.what + step.later + times or "each of these holds:"
        yield Row(number, "" if step.who == CHECK and not step.what else step.who, what, first)
        for words, requirement in checks:
            if words or requirement != first:
                yield Row(None, "", f"- {words or 'it comes'}", requirement)


def of(ident: str) -> list[Row]:
    """The rows of a variant of the suite, as it runs on the reference device; none of a user's own case."""
    own = {id(case) for case in OWN}
    for case in load_cases():
        for variant in case.variants if id(case) not in own else ():
            if case.variant_id(variant) == ident:
                return list(rows(page(case, variant)[1]))
    return []


def _words(words: str, times: int, since: int | None, number_of: Mapping[int, int]) -> str:
    if since is not None and since in number_of:
        words += f", as in step {number_of[since]}"
    return words + (f" ({times} times)" if times > 1 else "")


def table(steps: Sequence[Step]) -> Iterator[str]:
    """The lines of the page as text."""
    yield f"{'Step':>4}  {'Who':{_WHO}}  {'What':{_WHAT}}  Requirement"
    for row in rows(steps):
        if row.heading:
            yield ""
            yield f"      {row.what}"
            continue
        lines = textwrap.wrap(row.what, _WHAT, subsequent_indent="  ") or [""]
        yield f"{row.number or '':>4}  {row.who:{_WHO}}  {lines[0]:{_WHAT}}  {row.requirement}".rstrip()
        yield from (f"{'':{8 + _WHO}}{line}" for line in lines[1:])
