"""Going on with a run that was cut off: what its evidence has is judged again, and only the other cases run."""

from __future__ import annotations

from dataclasses import replace
from shlex import quote
from typing import Any, Optional

from fcvi import __version__
from . import pics as pics_module, rejudge
from .case import load_cases
from .catalogue import load_catalogue
from .deviation import Deviation
from .evidence import FOLDER, RUN, EvidenceError, load_trace
from .files import FileError, damage
from .folder import Folder
from .pics import PicsError
from .pixit import Pixit
from .protocol import in_force
from .results import Verdict
from .runner import Resume, RunOptions
from .target import Asked, Target, parse


_BESIDE = ("agent", "agent2", "inject")
_REFERENCE = "ref"


def resume(directory: Folder, options: RunOptions) -> RunOptions:
    """The options of the run whose evidence is in the directory, which is open: what is judged is of the one that the run goes on
    in. Raises FileError when it cannot go on.
    """
    where = directory / FOLDER / RUN
    run = rejudge.opened(directory)
    try:
        if run["suite"] != {"version": __version__, "catalogue_sha256": load_catalogue().sha256}:
            raise EvidenceError(f"{where}: the run is of another version of the suite: run it anew")
        if "incomplete" not in run and all(entry.get("not_run") == "error" for entry in run["cases"]):
            raise EvidenceError(f"{where}: none of its cases has run: run it anew")
        if "incomplete" not in run:
            raise EvidenceError(f"{where}: the run is complete: fcvi judge {quote(str(directory))} writes what its report lacks")
        return _resumed(directory, run, options)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise EvidenceError(f"{where}: damaged: {damage(error)}") from error


def _has_trace(directory: Folder, ident: str) -> bool:
    try:
        load_trace(directory, ident)
    except FileError:
        return False
    return True


def _resumed(directory: Folder, run: dict[str, Any], options: RunOptions) -> RunOptions:
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
        incomplete.get("own_timers") is True, far=_far(directory, run.get("against"), options),
        **{name: {str(k): str(v) for k, v in run.get(name, {}).items()} for name in ("lab", "item")},
    )  # fmt: skip
    options.target = _target(directory, str(dut["attachment"]), options.target, incomplete)
    number, parts = run.get("shard", [1, 1])
    options.select, options.shard = str(run.get("select", "")) or None, (int(number), int(parts))
    options.seed, options.date = int(run["seed"]), str(run["date"])
    options.certification = run["certification"] is True
    return options


def _far(directory: Folder, against: Any, options: RunOptions) -> Optional[tuple[str, str, str]]:
    """Who stood at the far side. The command line has to name it, as it has to name the judged one. Raises FileError."""
    given, was = str(options.against or ""), str(against["attachment"]) if against else ""
    if given != was:
        said = f"--against {was!r:.200}. Give it again, if that is your device" if was else "no --against: leave it out"
        raise FileError(f"--resume {directory}: the run had {said}")
    return (str(against["implementation"]), str(against["version"]), str(against["clock"])) if against else None


def _target(directory: Folder, attachment: str, given: Target, incomplete: dict[str, Any]) -> Target:
    """The device of the run, which the command line has to name: evidence is a stranger's, and starts no program, nor is anybody
    called because it says so. What makes the calls may be another now. Raises FileError.
    """
    book = in_force()[0]
    found = parse(attachment, [Asked(f"the book of the run, {book.book},", (book,))])
    if str(found) != str(given) and not found.kind == given.kind == _REFERENCE:
        raise FileError(f"--resume {directory}: the run is of another device than --dut {given}: it says {attachment!r:.200}. "
                        "Give --dut as you gave it then, if that is your device")  # fmt: skip
    for name in _BESIDE:
        if incomplete.get(name) and not getattr(given, name):
            raise FileError(f"--resume {directory}: the run had --{name} {str(incomplete[name])!r:.200}. Give --{name} again, "
                            "if that is yours")  # fmt: skip
    return replace(found, **{name: getattr(given, name) for name in _BESIDE})
