"""The evidence in a report directory: what a verdict is computed from, kept as it was.

``evidence/run.json`` holds what is common to a run, ``evidence/ID.jsonl`` what passed between suite and DUT in one case.
Wall-clock times stand in run.json only, so that the traces of two runs of a virtual-time device with one seed are equal.

While a run is under way, run.json says what was selected and ``evidence/cases.jsonl`` gets a line for each case that is done.
A run that is cut off (SIGKILL, power) leaves both: what is done can be judged, what is not is an error, and
``fcvi run --resume`` goes on.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, suppress
from typing import Any, Iterable, Iterator, Mapping, Optional, Sequence

from .json_text import compact, indented, readable
from .record import FAR, Entry, unfolded
from .files import FileError, encoded, parse_json
from .folder import Folder, Place, read_report
from .results import Result, RunReport

FOLDER = "evidence"
RUN = "run.json"
JOURNAL = "cases.jsonl"
_LONGEST_TRACE = 1_000_000  # operations; a few bytes can stand for a hundred of them
CUT_OFF = "not run: the run was cut off; fcvi run --resume goes on"
_VERSION = 1  # of run.json
_TRACE, _READ = 2, (1, 2)  # of a trace: as it is written, and those that can be read


class EvidenceError(FileError):
    """Evidence that can be read but not used."""


def stem(ident: str) -> str:
    """The name of a case's files: ids have slashes, file names do not."""
    return ident.replace("/", "__")


def files(report: RunReport) -> Iterator[tuple[str, bytes]]:
    """Names in the report directory, and contents."""
    yield f"{FOLDER}/{RUN}", indented(_run(report))
    for result in report.results:
        if result.evidence is not None:
            yield _trace(result)


def _trace(result: Result) -> tuple[str, bytes]:
    """The name of its file, and its contents."""
    head = compact({"trace": _TRACE, "case": result.id}).encode() + b"\n"
    return f"{FOLDER}/{stem(result.id)}.jsonl", head + (result.evidence or b"")


def names(report: RunReport) -> list[str]:
    """The names of the files."""
    return [f"{FOLDER}/{RUN}", *(f"{FOLDER}/{stem(r.id)}.jsonl" for r in report.results if r.evidence is not None)]


def _run(report: RunReport) -> dict[str, Any]:
    return {
        "evidence": _VERSION,
        "suite": {"version": report.suite_version, "catalogue_sha256": report.catalogue_sha256},
        "dut": {
            "attachment": report.attachment, "implementation": report.implementation,
            "version": report.implementation_version, "clock": report.clock, "pics": report.pics,
        },
        **({"against": report.against} if report.against else {}),
        "book": report.book,
        "pixit": report.pixit,
        "deviations": [outcome.deviation.as_json() for outcome in report.deviations],
        "seed": report.seed,
        "date": report.date,
        "ended": report.ended,
        "host": report.host,
        "certification": report.certification,
        "error": report.error,
        "unattached": report.unattached,
        "shard": list(report.shard),
        "given": report.given,
        "select": report.select,
        "commit": report.commit,
        "lab": report.lab,
        "item": report.item,
        "last_words": report.last_words,
        "waived": report.waived,
        "baseline": report.baseline,
        "cases": [_case(result) for result in report.results],
    }  # fmt: skip


def _case(result: Result) -> dict[str, Any]:
    case: dict[str, Any] = {"id": result.id, "wall_us": result.wall_us}
    if result.slower > 1:
        case["slower"] = result.slower
    if result.pace:
        case["pace"] = result.pace
    if result.unsteady:
        case["unsteady"] = True
    if result.evidence is None:
        case.update(not_run=result.verdict.value, reason=result.reason)
    return case


_BETWEEN_S = 1.0  # two writings to the disk itself: what the power takes is at most so old


class Store:
    """Evidence written case by case. It never stops a run: the first thing that cannot be written is told at the end."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._journal: Optional[int] = None
        self.failed: Optional[OSError] = None
        self._unsynced: list[str] = []
        self._synced = time.monotonic()

    @property
    def begun(self) -> bool:
        """Whether a run that is cut off from here on can be gone on with."""
        return self._journal is not None

    def begin(self, report: RunReport, selected: Sequence[str], options: Mapping[str, Any], resumed: bool) -> None:
        """What is going to be run."""
        try:
            if not resumed:
                run = {**_run(report), "incomplete": {"selected": list(selected), **options}}
                self._folder.write(f"{FOLDER}/{RUN}", indented(run))
            self._journal = self._folder.append(f"{FOLDER}/{JOURNAL}")
            self._folder.sync([f"{FOLDER}/{RUN}", f"{FOLDER}/{JOURNAL}"])
        except OSError as error:
            self.failed = self.failed or error

    def keep(self, results: Iterable[Result]) -> None:
        """These cases are done. Their traces are on the disk from now on, and no longer in memory."""
        if self._journal is None or self.failed is not None:
            return
        lines: list[str] = []
        try:
            try:
                for result in results:
                    if result.evidence is not None:
                        name, data = _trace(result)
                        self._folder.write(name, data)
                        self._unsynced.append(name)
                        result.evidence = b""
                    lines.append(readable(_case(result)) + "\n")
            finally:
                os.write(self._journal, encoded("".join(lines)))  # those whose traces are there
            if time.monotonic() - self._synced > _BETWEEN_S:
                self.sync()
        except OSError as error:
            self.failed = error

    def sync(self) -> None:
        """What was kept is on the disk itself. Raises OSError."""
        self._folder.sync(self._unsynced)
        if self._journal is not None:
            os.fsync(self._journal)
        self._unsynced.clear()
        self._synced = time.monotonic()

    def finish(self, report: RunReport) -> None:
        """The run is over. Raises OSError for whatever could not be written on the way."""
        if self.failed is not None:
            raise self.failed
        self._folder.check()
        self.sync()
        if report.interrupted and self._journal is not None:
            return  # the evidence stays as it is: fcvi run --resume goes on
        self._folder.write(f"{FOLDER}/{RUN}", indented(_run(report)))
        self._folder.sync([f"{FOLDER}/{RUN}"])
        self._folder.remove(f"{FOLDER}/{JOURNAL}")


def load_run(directory: Place) -> dict[str, Any]:
    """run.json of a report directory. Raises FileError."""
    path = directory / FOLDER / RUN
    data = parse_json(read_report(directory, f"{FOLDER}/{RUN}"), str(path))
    if not isinstance(data, dict) or data.get("evidence") != _VERSION:
        raise EvidenceError(f"{path}: not the evidence of a run, or of another version of the suite")
    if "incomplete" in data:
        data["cases"] = _so_far(directory, data["incomplete"])
    return data


def _so_far(directory: Place, incomplete: Any) -> list[dict[str, Any]]:
    """The cases of a run that was cut off: those that are done, and an error for each other.

    The power may have taken a line, or a part of it, and left anything in its place: what is no case tells of none.
    """
    path = directory / FOLDER / JOURNAL
    done: dict[str, dict[str, Any]] = {}
    with ExitStack() as stack:
        folder = directory if isinstance(directory, Folder) else stack.enter_context(Folder(directory))
        there = folder.read(f"{FOLDER}/{JOURNAL}") if JOURNAL in folder.names(FOLDER) else b""
    lines = there.split(b"\n")[:-1]  # the last may be half a line
    for line in lines:
        with suppress(FileError):
            entry = parse_json(line, str(path))
            if isinstance(entry, dict) and isinstance(entry.get("id"), str):
                done[entry["id"]] = entry
    selected = incomplete.get("selected") if isinstance(incomplete, dict) else None
    if not isinstance(selected, list) or not all(isinstance(ident, str) for ident in selected):
        raise EvidenceError(f"{directory / FOLDER / RUN}: does not say what was selected")
    cut = {"wall_us": 0, "not_run": "error", "reason": CUT_OFF}
    return [done.get(ident, {"id": ident, **cut}) for ident in selected]


def load_trace(directory: Place, ident: str) -> list[Entry]:
    """The trace of one case. Raises FileError."""
    return load_traces(directory, ident)[0]


def load_traces(directory: Place, ident: str) -> tuple[list[Entry], list[Entry]]:
    """The trace of one case, and that of the device at the far side, where there is one. Raises FileError."""
    path = directory / FOLDER / f"{stem(ident)}.jsonl"
    entries: list[Entry] = []
    for number, line in enumerate(read_report(directory, f"{FOLDER}/{path.name}").split(b"\n")[:-1], 1):
        entry = parse_json(line, f"{path}: line {number}")
        if not isinstance(entry, dict):
            raise EvidenceError(f"{path}: line {number} is no object")
        try:
            entries += unfolded(entry)
        except ValueError as error:
            raise EvidenceError(f"{path}: line {number}: {error}") from None
        if len(entries) > _LONGEST_TRACE:
            raise EvidenceError(f"{path}: line {number}: more than {_LONGEST_TRACE} operations, which no case makes")
    if not entries or entries[0] not in [{"trace": version, "case": ident} for version in _READ]:
        raise EvidenceError(f"{path}: line 1 does not say that this is the trace of {ident}")
    if FAR not in entries:
        return entries[1:], []
    cut = entries.index(FAR)
    return entries[1:cut], entries[cut + 1 :]
