"""Reports: files in a directory, all made from the results of a run."""

from __future__ import annotations

import os
from pathlib import Path

from ..pcapng import capture
from ..results import RunReport
from . import json_report, junit, tap, text

__all__ = ["text", "write_report"]


def file_name(ident: str) -> str:
    """The name of a case's capture: ids have slashes, file names do not."""
    return ident.replace("/", "__") + ".pcapng"


def _write(path: Path, data: bytes) -> None:
    """All or nothing: a reader never sees half a file."""
    scratch = path.with_name(path.name + ".new")
    scratch.write_bytes(data)
    os.replace(scratch, path)


def write_report(directory: Path, report: RunReport) -> None:
    """report.json, junit.xml, report.tap, report.txt and a capture for each case. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    _write(directory / "report.json", json_report.render(report).encode())
    _write(directory / "junit.xml", junit.render(report))
    _write(directory / "report.tap", tap.render(report).encode())
    _write(directory / "report.txt", text.render(report, verbose=True).encode())
    for result in report.results:
        if result.frames:
            comment = f"{result.id}: {result.verdict.value}. {result.reason}".strip()
            _write(directory / file_name(result.id), capture(result.frames, comment))
