"""The evidence in a report directory: what a verdict is computed from, kept as it was.

``evidence/run.json`` holds what is common to a run, ``evidence/ID.jsonl`` what passed between suite and DUT in one case.
Wall-clock times stand in run.json only, so that the traces of two runs of a virtual-time device with one seed are equal.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Iterator

from .record import Entry
from .files import FileError, encoded, parse_json, read_file, read_json
from .results import RunReport

FOLDER = "evidence"
RUN = "run.json"
_VERSION = 1
_ENCODE = json.JSONEncoder(separators=(",", ":")).encode  # made once: a trace has many lines


class EvidenceError(FileError):
    """Evidence that can be read but not used."""


def stem(ident: str) -> str:
    """The name of a case's files: ids have slashes, file names do not."""
    return ident.replace("/", "__")


def files(report: RunReport) -> Iterator[tuple[str, bytes]]:
    """Names in the report directory, and contents."""
    yield f"{FOLDER}/{RUN}", encoded(json.dumps(_run(report), indent=1) + "\n")
    for result in report.results:
        if result.evidence is not None:
            head = {"trace": _VERSION, "case": result.id}
            lines = [_ENCODE(entry) for entry in [head, *result.evidence]]
            yield f"{FOLDER}/{stem(result.id)}.jsonl", ("\n".join(lines) + "\n").encode()


def names(report: RunReport) -> list[str]:
    """The names of the files."""
    return [f"{FOLDER}/{RUN}", *(f"{FOLDER}/{stem(r.id)}.jsonl" for r in report.results if r.evidence is not None)]


def _run(report: RunReport) -> dict[str, Any]:
    cases = []
    for result in report.results:
        case: dict[str, Any] = {"id": result.id, "wall_us": result.wall_us}
        if result.slower > 1:
            case["slower"] = result.slower
        if result.evidence is None:
            case.update(not_run=result.verdict.value, reason=result.reason)
        cases.append(case)
    return {
        "evidence": _VERSION,
        "suite": {"version": report.suite_version, "catalogue_sha256": report.catalogue_sha256},
        "dut": {
            "attachment": report.attachment, "implementation": report.implementation,
            "version": report.implementation_version, "clock": report.clock, "pics": report.pics,
        },
        "pixit": report.pixit,
        "deviations": [outcome.deviation.as_json() for outcome in report.deviations],
        "seed": report.seed,
        "date": report.date,
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
        "cases": cases,
    }  # fmt: skip


def load_run(directory: Path) -> dict[str, Any]:
    """run.json of a report directory. Raises FileError."""
    path = directory / FOLDER / RUN
    data = read_json(path)
    if not isinstance(data, dict) or data.get("evidence") != _VERSION:
        raise EvidenceError(f"{path}: not the evidence of a run, or of another version of the suite")
    return data


def load_trace(directory: Path, ident: str) -> list[Entry]:
    """The trace of one case. Raises FileError."""
    path = directory / FOLDER / f"{stem(ident)}.jsonl"
    entries: list[Entry] = []
    for number, line in enumerate(read_file(path).split(b"\n")[:-1], 1):
        entry = parse_json(line, f"{path}: line {number}")
        if not isinstance(entry, dict):
            raise EvidenceError(f"{path}: line {number} is no object")
        entries.append(entry)
    if not entries or entries[0] != {"trace": _VERSION, "case": ident}:
        raise EvidenceError(f"{path}: line 1 does not say that this is the trace of {ident}")
    return entries[1:]
