"""Runs that look at other runs: ``--rerun-failed REPORT`` and ``--times N``."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Callable

from fcvi.engine.case import load_cases
from fcvi.engine.files import FileError
from fcvi.engine.folder import load_report
from fcvi.engine.results import RunReport, Verdict
from fcvi.engine.words import complain

_FAILED = {Verdict.FAIL.value, Verdict.ERROR.value, Verdict.INCONCLUSIVE.value}
_GRAVEST = (2, 3, 1, 4, 0)  # of several statuses


def failed_in(place: Path) -> list[str]:
    """The terms of --select for what did not pass in an earlier run: a report directory or its report.json. Raises FileError."""
    file, data = load_report(place)
    try:
        if data.get("error"):
            raise FileError(f"{file}: nothing ran there ({str(data['error'])[:100]})")
        found = [str(r["id"]) for r in data["results"] if r["verdict"] in _FAILED]
    except (KeyError, TypeError, AttributeError) as error:
        raise FileError(f"{file}: not a report.json of this version of fcvi") from error
    cases, failed = load_cases(), set(found)
    known = {ident for case in cases for ident in case.variant_ids()}
    strange = next((ident for ident in found if ident not in known), None)
    if strange is not None:
        raise FileError(f"{file}: this suite has no case {strange[:80]}")
    # the id of a case is that of its plain variant, too, and as a term names the other ones as well
    others = [ident for case in cases if case.id in failed for ident in case.variant_ids() if ident not in failed]
    return found + [f"not {ident}" for ident in others]


def several(args: argparse.Namespace, once: Callable[[argparse.Namespace], int]) -> int:
    """Run so many times, each with the next seed and in a directory of its own, and tell which cases were not the same in each."""
    verdicts: dict[str, Counter[str]] = {}
    statuses = []
    report, first, times = args.report, args.seed, args.times
    for number in range(times):
        args.seed, args.outcome = first + number, None
        args.report = report / str(number + 1) if report is not None else None
        statuses.append(once(args))
        outcome = args.outcome
        if not isinstance(outcome, RunReport):
            return statuses[-1]  # it could not begin, and has said why
        for result in outcome.results:
            verdicts.setdefault(result.id, Counter())[result.verdict.value] += 1
        if outcome.interrupted or args.fail_fast and statuses[-1] in (1, 3):
            break
    unlike = {ident: counts for ident, counts in verdicts.items() if len(counts) > 1}
    for ident, counts in unlike.items():
        complain(f"{ident}: not the same in each run: {', '.join(f'{n} {verdict}' for verdict, n in sorted(counts.items()))}")
    if not args.quiet:
        print(f"{len(statuses)} runs of {len(verdicts)} cases, seeds {first} to {args.seed}: "
              f"{len(unlike)} cases were not the same in each")  # fmt: skip
    return next(status for status in _GRAVEST if status in statuses)
