"""Going on with a run that was cut off: what its evidence has is judged again, and only the other cases run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from fcvi import __version__
from . import pics as pics_module, rejudge
from .case import load_cases
from .catalogue import load_catalogue
from .deviation import Deviation
from .evidence import FOLDER, RUN, EvidenceError, load_trace
from .files import FileError, damage
from .pics import PicsError
from .pixit import Pixit
from .protocol import in_force
from .results import Verdict
from .runner import Resume, RunOptions
from .target import Asked, Target, parse


def resume(directory: Path, options: RunOptions) -> RunOptions:
    """The options of the run whose evidence is in the directory. Raises FileError when it cannot go on."""
    where = directory / FOLDER / RUN
    run = rejudge.opened(directory)
    try:
        if run["suite"] != {"version": __version__, "catalogue_sha256": load_catalogue().sha256}:
            raise EvidenceError(f"{where}: the run is of another version of the suite: run it anew")
        if "incomplete" not in run and all(entry.get("not_run") == "error" for entry in run["cases"]):
            raise EvidenceError(f"{where}: none of its cases has run: run it anew")
        if "incomplete" not in run:
            raise EvidenceError(f"{where}: the run is complete: fcvi judge {directory} writes what is missing of its report")
        return _resumed(directory, run, options)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise EvidenceError(f"{where}: damaged: {damage(error)}") from error


def _has_trace(directory: Path, ident: str) -> bool:
    try:
        load_trace(directory, ident)
    except FileError:
        return False
    return True


def _resumed(directory: Path, run: dict[str, Any], options: RunOptions) -> RunOptions:
    known = {c.variant_id(v): (c, v) for c in load_cases() for v in c.variants}
    results = {}
    for entry in run["cases"]:
        if entry["id"] not in known:
            raise EvidenceError(f"{directory / FOLDER / RUN}: this suite has no case {entry['id']}"[:300])
        if entry.get("not_run") != "error":
            result = rejudge.judged(directory, run, entry, *known[entry["id"]])
            if result.verdict is Verdict.ERROR and not _has_trace(directory, result.id):
                continue  # the power took it
            result.wall_us = int(entry["wall_us"])
            results[result.id] = result
    dut, incomplete = run["dut"], run["incomplete"]
    try:
        pics = pics_module.complete(dut["pics"], str(directory / FOLDER / RUN))
    except PicsError as error:
        raise EvidenceError(error) from error
    options.resume = Resume(
        tuple(entry["id"] for entry in run["cases"]), results, (dut["implementation"], dut["version"], dut["clock"]), pics,
        Pixit.from_json(run["pixit"]), tuple(Deviation.from_json(d) for d in run["deviations"]),
        incomplete.get("own_timers") is True,
    )  # fmt: skip
    options.target = _target(str(dut["attachment"]), options.target, incomplete)
    options.seed, options.date = int(run["seed"]), str(run["date"])
    options.certification = run["certification"] is True
    return options


def _target(attachment: str, given: Target, incomplete: dict[str, Any]) -> Target:
    """The device of the run; what makes its calls may be another now."""
    book = in_force()[0]
    found = parse(attachment, [Asked(f"the book of the run, {book.book},", (book,))])
    beside = {name: getattr(given, name) or str(incomplete.get(name, "")) for name in ("agent", "agent2", "inject")}
    return replace(found, **beside)
