"""Several runs beside each other: implementations, or versions of one firmware, oldest first. What changed comes first."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Sequence

from fcvi.engine.case import load_cases
from fcvi.engine.catalogue import load_requirements
from fcvi.engine.files import FileError
from fcvi.engine.protocol import registered
from fcvi.engine.words import printable
from . import diff, html, words

ABSENT = ""  # the verdict of a case that a run does not have


@dataclass(frozen=True)
class Named:
    """A run and how its column is called."""

    name: str
    run: diff.Run


@dataclass(frozen=True)
class Row:
    """A clause, a requirement or a case with its verdict in each run."""

    kind: str
    ident: str
    verdicts: tuple[str, ...]
    whole: tuple[bool, ...] = ()  # of a clause: whether no case of it passed in this run, and several were tried

    @property
    def changed(self) -> bool:
        """Whether two runs that have it differ about it."""
        return len({v for v in self.verdicts if v != ABSENT}) > 1

    @property
    def unsupported(self) -> tuple[bool, ...]:
        """Of each run whether it did not pass every case of a clause that others pass: perhaps it has no such function. A hint."""
        bad = tuple(v.split(" ")[0] in ("fail", "inconclusive") for v in self.verdicts)
        some = any(v.split(" ")[0] == "pass" for v in self.verdicts)
        return tuple(b and some and self.whole[i] for i, b in enumerate(bad)) if self.whole else (False,) * len(bad)

    @property
    def worse(self) -> bool:
        """Whether the last run that has it is worse than the one before it. What did not apply before was not tested either."""
        known = self._known()
        return len(known) > 1 and _GOOD[known[-1]] < _GOOD[known[-2]] and known[-2:] != ["not-applicable", diff.NOT_TESTED]

    @property
    def last(self) -> int:
        """How good the last run that has it is."""
        return _GOOD[self._known()[-1]]

    def _known(self) -> list[str]:
        return [v.split(" ")[0] for v in self.verdicts if v != ABSENT]


#: The higher the better. What was tested no longer is worse than a pass, and better than a failure.
_GOOD = {"error": 0, "fail": 1, "inconclusive": 2, diff.NOT_TESTED: 3, "not-applicable": 4, "pass": 4}


@dataclass(frozen=True)
class Table:
    """All of it."""

    runs: tuple[Named, ...]
    clauses: tuple[Row, ...]
    requirements: tuple[Row, ...]
    cases: tuple[Row, ...]
    books: tuple[str, ...]  # whose requirements the runs have

    def changes(self) -> list[Row]:
        """Cases and requirements that are not the same in all runs: first what got worse, and of that first what failed."""
        found = [row for row in (*self.requirements, *self.cases) if row.changed]
        return sorted(found, key=lambda row: (not row.worse, row.last))

    def lacking(self) -> list[Row]:
        """Cases that some run does not have."""
        return [row for row in self.cases if ABSENT in row.verdicts]


def load(word: str) -> Named:
    """[NAME=]PATH of the command line. Raises FileError."""
    name, equals, path = word.partition("=")
    if equals and name and not Path(word).exists():
        if not path:
            raise FileError(f"{word}: names no report; write NAME=DIR")
        return Named(printable(name), diff.load(Path(path)))
    run = diff.load(Path(word))
    known = f"{run.about.get('dut.implementation', '')} {run.about.get('dut.version', '')}".strip()
    if "dut.against.attachment" in run.about:
        known = f"{_called(run, 'dut')} against {_called(run, 'dut.against')}"
    return Named(printable(known or Path(word).name), run)


def build(runs: Sequence[Named]) -> Table:
    """Set the runs beside each other. Raises FileError when there are not at least two, or none of them has a case."""
    if len(runs) < 2:
        raise FileError("report matrix: it takes two runs or more")
    if not any(n.run.cases for n in runs):
        raise FileError("report matrix: none of the reports has a case: there is nothing to set side by side")
    names: list[str] = []
    for named in runs:  # a column needs a name of its own
        number = sum(n == named.name or n.startswith(f"{named.name} (") for n in names)
        names.append(f"{named.name} ({number + 1})" if number else named.name)
    has = [{p.prefix for p in registered() if any(i.startswith(p.prefix) for i in n.run.requirements)} for n in runs]
    books = [p for p in registered() if any(p.prefix in these for these in has)]
    has = [these or {p.prefix for p in books} for these in has]  # a run that has none yet is of the book of the others
    by: dict[tuple[str, str], list[str]] = {}
    for book in books:
        for r in load_requirements([book]):
            by.setdefault((book.prefix, r.clause), []).append(r.id)
    tried = [_tried(n.run) for n in runs]
    clauses = [
        Row(
            "clause", f"{prefix}{clause}" if len(books) > 1 else clause,
            tuple(html.worst(n.run.requirements.get(i, diff.NOT_TESTED) for i in these) if prefix in h else ABSENT
                  for n, h in zip(runs, has)),
            tuple(prefix in h and _none_passed(t.get(clause, [])) for t, h in zip(tried, has)),
        )
        for (prefix, clause), these in by.items()
    ]  # fmt: skip
    requirements = [
        Row("requirement", i, tuple(printable(n.run.requirements.get(i, diff.NOT_TESTED)) if prefix in h else ABSENT
                                    for n, h in zip(runs, has)))
        for (prefix, _), these in by.items() for i in these
    ]  # fmt: skip
    ran = dict.fromkeys(i for n in runs for i in n.run.cases)
    cases = [
        Row("case", printable(i), tuple(printable(n.run.cases[i].words()) if i in n.run.cases else ABSENT for n in runs))
        for i in ran
    ]
    columns = tuple(Named(name, n.run) for name, n in zip(names, runs))
    return Table(columns, tuple(clauses), tuple(requirements), tuple(cases), tuple(book.prefix.rstrip("-") for book in books))


_SEVERAL = 3  # cases: fewer may fail for a reason of their own


def _tried(run: diff.Run) -> dict[str, list[str]]:
    """The verdicts of the cases of each clause."""
    clause_of = {ident: case.clause for case in load_cases(registered()) for ident in case.variant_ids()}
    found: dict[str, list[str]] = {}
    for ident, case in run.cases.items():
        if case.verdict in ("pass", "fail", "inconclusive"):
            found.setdefault(clause_of.get(ident, ""), []).append(case.verdict)
    return found


def _none_passed(verdicts: Sequence[str]) -> bool:
    return len(verdicts) >= _SEVERAL and "pass" not in verdicts


def words_of(table: Table) -> str:
    """One line. What a run does not have is no difference, but it is told: nothing was compared there."""
    changes = table.changes()
    worse = sum(row.worse for row in changes)
    words = f"{len(table.runs)} runs, {len(changes)} differences, {worse} of them worse in the last run that has them"
    if table.lacking():
        words += f"; {len(table.lacking())} of {len(table.cases)} cases are not in every run"
    if len(table.books) > 1:
        words += f"; they are of {len(table.books)} books ({', '.join(table.books)}), of which nothing is compared with another"
    empty = [n.name for n in table.runs if not n.run.cases]
    if empty:
        words += f"; {', '.join(empty)} {'has' if len(empty) == 1 else 'have'} no case at all"
    return words


def counted(table: Table) -> list[dict[str, int]]:
    """How many cases of each run have which verdict."""
    return [{v: sum(c.verdict == v for c in n.run.cases.values()) for v in html.VERDICTS} for n in table.runs]


def pairs(table: Table) -> dict[str, dict[str, list[dict[str, int]]]]:
    """Runs of two devices (fcvi run --against): of each device beside each other one how many cases have which verdict. A pair that
    ran several times has several entries."""
    found: dict[str, dict[str, list[dict[str, int]]]] = {}
    for named, counts in zip(table.runs, counted(table)):
        if any(name.startswith("dut.against") for name in named.run.about):
            own, far = _called(named.run, "dut"), _called(named.run, "dut.against")
            found.setdefault(own, {}).setdefault(far, []).append({v: n for v, n in counts.items() if n})
    return found


def _called(run: diff.Run, where: str) -> str:
    about = run.about
    name = f"{about.get(f'{where}.implementation', '')} {about.get(f'{where}.version', '')}".strip()
    return printable(name or str(about.get(f"{where}.attachment", "")))


def as_json(table: Table) -> dict[str, Any]:
    """The same as the page and the CSV, for a program. A case that a run does not have is null there."""
    beside = [
        {"dut": own, "against": far, "cases": counts}
        for own, row in pairs(table).items() for far, all_of in row.items() for counts in all_of
    ]  # fmt: skip
    return {
        **({"pairs": beside} if beside else {}),
        "runs": [
            {"name": n.name, "path": str(n.run.path), "cases": counts}
            for n, counts in zip(table.runs, counted(table))
        ],
        "differences": len(table.changes()),
        "lacking": len(table.lacking()),
        "rows": [
            {"kind": r.kind, "id": r.ident, "verdicts": [v or None for v in r.verdicts], "changed": r.changed, "worse": r.worse}
            for r in (*table.clauses, *table.requirements, *table.cases)
        ],
    }


def csv_table(table: Table) -> str:
    """One line for each clause, requirement and case; one column for each run."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["kind", "id", *(_cell(n.name) for n in table.runs), "changed"])
    for row in (*table.clauses, *table.requirements, *table.cases):
        writer.writerow([row.kind, _cell(row.ident), *map(_cell, row.verdicts), "yes" if row.changed else ""])
    return file.getvalue()


def _cell(text: str) -> str:
    """What a device calls itself must not become a formula in a spreadsheet."""
    return "'" + text if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def html_page(table: Table) -> str:
    """One page that needs nothing else."""
    style, style_hash = html.asset("style.css")
    counts, beside = counted(table), pairs(table)
    tried = [row for row in table.clauses if any(v not in ("", diff.NOT_TESTED) for v in row.verdicts)]
    return words.harmless(html.environment().get_template("matrix.html.j2").render(
        table=table, changes=table.changes(), counts=counts, verdicts=[v for v in html.VERDICTS if any(c[v] for c in counts)],
        words=words_of(table), clauses=tried, untested=len(table.clauses) - len(tried), pairs=beside,
        style=style, style_hash=style_hash,
        far=list(dict.fromkeys(far for row in beside.values() for far in row)),
    ))  # fmt: skip
