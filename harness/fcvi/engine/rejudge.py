"""Computes a run's verdicts again from its evidence, without a DUT.

Each case runs against its recorded trace. The verdict is a pure function of trace, PICS and PIXIT, so it has to come out
the same; a trace that the case no longer fits gives ``error``, for nothing follows from it.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

from fcvi import __version__
from . import pics as pics_module, runner, strict
from .case import CaseInfo, Variant, load_cases
from .deviation import MOST, Deviation
from .player import PlayerDut
from .evidence import FOLDER, RUN, EvidenceError, load_run, load_traces
from .files import FileError, damage
from .folder import Place
from .pics import PicsError
from .pixit import Pixit
from .protocol import in_force, put_in_force
from .results import Result, RunReport, Verdict
from .select import far_side, select
from .target import recorded


def opened(directory: Place) -> dict[str, Any]:
    """The evidence of a run; the book that judged the run is in force from now on. Raises FileError."""
    run = load_run(directory)
    put_in_force(recorded(run, directory / FOLDER / RUN))
    return run


def rejudge(directory: Place, run: Optional[dict[str, Any]] = None) -> RunReport:
    """The report of the run whose evidence is in the directory. run: what `opened` gave, where something else was made of it as
    well. Raises FileError when there is none to speak of.
    """
    run = opened(directory) if run is None else run
    try:
        return _rejudge(directory, run)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise EvidenceError(f"{directory / FOLDER / RUN}: damaged: {damage(error)}") from error


_MOST_NAMES = 12


def strayed(run: Mapping[str, Any], directory: Place) -> list[str]:
    """What the list of cases is other than what was selected, in words: a case that is gone shows, and one that was added.

    run: as `opened` gives it, with the cases of --cases in force. Raises FileError where the selection cannot be read.
    """
    try:
        if run.get("error") or run.get("unattached"):
            return []  # nothing ran, which its status says
        there = [str(case["id"]) for case in run["cases"]]
        cases = far_side(load_cases()) if "against" in run else load_cases()
        chosen = select(cases, str(run.get("select", "")) or None, _shard(run.get("shard", [1, 1])))
        due = [case.variant_id(variant) for case, variant in chosen]
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise EvidenceError(f"{directory / FOLDER / RUN}: damaged: {damage(error)}") from error
    if there == due:
        return []
    gone, added = set(due) - set(there), set(there) - set(due)
    found = [
        f"{FOLDER}/{RUN}: {_some(names)} {words}"
        for words, names in (
            ("was selected and is missing", [ident for ident in due if ident in gone]),
            ("was not selected", [ident for ident in there if ident in added]),
        )
        if names
    ]
    return found or [f"{FOLDER}/{RUN}: its cases are in another order than they ran"]


def _some(names: Sequence[str]) -> str:
    left = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {left} more" if left > 0 else "")


Kinds = Mapping[str, type]
_NUMBER = 2**63
_SHAPE: Kinds = {
    "suite": dict, "dut": dict, "pixit": dict, "deviations": list, "seed": int, "date": str, "certification": bool,
    "error": str, "cases": list,
}  # fmt: skip
_DUT: Kinds = {"attachment": str, "implementation": str, "version": str, "clock": str, "pics": dict}
_CASE: Kinds = {"id": str, "wall_us": int, "slower": int, "pace": str, "unsteady": bool, "not_run": str, "reason": str}


def _check_shape(run: dict[str, Any]) -> None:
    """Raises ValueError for members that are of another kind than a run writes them."""

    def check(table: Any, kinds: Kinds, where: str, needed: int) -> None:
        if not isinstance(table, dict):
            raise ValueError(f"{where} is no object")
        for number, (name, kind) in enumerate(kinds.items()):
            if name not in table and number >= needed:
                continue
            value = table[name]
            if type(value) is not kind or (isinstance(value, int) and not -_NUMBER <= value < _NUMBER):
                raise ValueError(f"{where}{name} is of another kind than a run writes it")

    check(run, _SHAPE, "", len(_SHAPE))
    if len(run["deviations"]) > MOST:
        raise ValueError(f"more than {MOST} deviations")
    check(run["dut"], _DUT, "dut.", len(_DUT))
    if "against" in run:
        check(run["against"], _DUT, "against.", len(_DUT))
    for case in run["cases"]:
        check(case, _CASE, "cases: ", 2)
        if not 1 <= case.get("slower", 1) <= 1000:
            raise ValueError("cases: slower is out of range")
    double = strict.twice(case["id"] for case in run["cases"])
    if double is not None:  # a million of the same line would be a million cases to judge
        raise ValueError(f"the case {double:.60} is there twice")


def _rejudge(directory: Place, run: dict[str, Any]) -> RunReport:
    dut, catalogue = run["dut"], runner.load_catalogue()
    _check_shape(run)
    report = RunReport(
        __version__, catalogue.sha256, dut["attachment"], dut["implementation"], dut["version"], dut["pics"],
        run["pixit"], int(run["seed"]), error=str(run["error"]), clock=str(dut["clock"]),
        certification=bool(run["certification"]), date=str(run["date"]), ended=str(run.get("ended", "")),
        host=str(run.get("host", "")), unattached=bool(run.get("unattached")),
        given=str(run.get("given", "")), select=str(run.get("select", "")),
        commit=str(run.get("commit", "")), lab=_texts(run.get("lab", {})), item=_texts(run.get("item", {})),
        last_words=[str(line) for line in run.get("last_words", [])],
        book=in_force()[0].book, shard=_shard(run.get("shard", [1, 1])),
        waived={str(k): str(v) for k, v in run.get("waived", {}).items()},
        baseline=_baseline(run.get("baseline") or {}),
        interrupted="a signal or a failure of the host" if "incomplete" in run else "", against=run.get("against", {}),
    )  # fmt: skip
    variants = {c.variant_id(v): (c, v) for c in load_cases() for v in c.variants}
    for case in run["cases"]:
        known = variants.get(case["id"])
        if known is None:
            result = Result(str(case["id"]), "", Verdict.ERROR, "this suite has no such case")
        else:
            result = _case(directory, run, case, *known, catalogue.levels)
        result.wall_us = int(case["wall_us"])
        report.results.append(result)
    runner.conclude(report, [Deviation.from_json(d) for d in run["deviations"]], catalogue.levels)
    return report


def _baseline(of: dict[str, Any]) -> dict[str, Any]:
    return {"name": str(of["name"]), "failed": _texts(of["failed"])} if of else {}


def _texts(of: dict[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in of.items()}


def _shard(of: list[Any]) -> tuple[int, int]:
    number, parts = of
    return int(number), int(parts)


def rejudge_case(directory: Place, ident: str) -> Result:
    """The result of one case of the run. Raises FileError."""
    run = opened(directory)
    levels = runner.load_catalogue().levels
    try:
        entry = next((c for c in run["cases"] if c["id"] == ident), None)
        known = next(((c, v) for c in load_cases() for v in c.variants if c.variant_id(v) == ident), None)
        if entry is None or known is None:
            raise EvidenceError(f"{directory / FOLDER / RUN}: neither this run nor this suite has a case {ident}"[:300])
        return _case(directory, run, entry, *known, levels)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise EvidenceError(f"{directory / FOLDER / RUN}: damaged: {damage(error)}") from error


def judged(directory: Place, run: dict[str, Any], entry: dict[str, Any], case: CaseInfo, variant: Variant) -> Result:
    """The result of one case of a run that was loaded. Raises KeyError, TypeError and the like where run.json is damaged."""
    return _case(directory, run, entry, case, variant, runner.load_catalogue().levels)


def _pics(run: dict[str, Any], directory: Place) -> dict[str, Any]:
    """The items by which cases apply: with a second device those of both. Raises PicsError."""
    where = str(directory / FOLDER / RUN)
    pics = pics_module.complete(run["dut"]["pics"], where)
    return pics_module.together(pics, pics_module.complete(run["against"]["pics"], where)) if "against" in run else pics


def _case(
    directory: Place, run: dict[str, Any], entry: dict[str, Any], case: CaseInfo, variant: Variant, levels: dict[str, str]
) -> Result:
    ident = case.variant_id(variant)
    if entry.get("not_run") == Verdict.ERROR.value:
        return runner.error_result(case, ident, str(entry["reason"]))
    try:
        pics = _pics(run, directory)
    except PicsError as error:
        return runner.error_result(case, ident, str(error))
    skipped = runner.not_applicable(case, variant, pics)
    if skipped is not None:
        return skipped
    try:
        own, beside = load_traces(directory, ident)
        far = PlayerDut(beside, run["against"]) if "against" in run else None
        player = PlayerDut(own, run["dut"], far)
    except FileError as error:
        return runner.error_result(case, ident, str(error))
    pixit = Pixit.from_json(run["pixit"]).slowed(int(entry.get("slower", 1)), str(entry.get("pace", "")))
    result = runner.run_variant(player, case, variant, pics, pixit, levels, int(run["seed"]))
    if entry.get("unsteady"):
        runner.doubt_unsteady(result)
    result.evidence = b""  # there is some
    player.finish()
    if player.mismatch is not None:
        result.verdict, result.qualifier, result.reason = Verdict.ERROR, None, player.mismatch
    return result
