"""Reports: files in a directory, all made from the results of a run.

What writes a format is loaded when one is written: most runs write none, and the templates take longer to load than a case to run.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import Collection, Iterable, Iterator, Optional

from fcvi.engine import evidence
from fcvi.engine.case import load_cases
from fcvi.engine.evidence import stem
from fcvi.engine.files import FileError, encoded, parse_json
from fcvi.engine.folder import Folder
from fcvi.engine.pcapng import capture
from fcvi.engine.protocol import protocol_of
from fcvi.engine.results import Result, RunReport, TraceFrame
from . import json_report, text

__all__ = ["FORMATS", "certificate_files", "clear", "derived", "file_name", "text", "write_report"]

FORMATS = ("evidence", "json", "junit", "tap", "sarif", "text", "html", "pcapng")
_WHOLE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]{0,150}")
_OURS = ("report.json", "junit.xml", "report.tap", "report.sarif", "report.txt", "report.html", "dut.log")


def file_name(ident: str) -> str:
    """The name of a case's capture: ids have slashes, file names do not."""
    return stem(ident) + ".pcapng"


def derived(report: RunReport, formats: Collection[str] = FORMATS) -> Iterator[tuple[str, bytes]]:
    """Every file that is made from the results: names and contents. Equal results give equal bytes."""
    if "json" in formats:
        yield "report.json", json_report.render(report)
    if "junit" in formats:
        from . import junit

        yield "junit.xml", junit.render(report)
    if "tap" in formats:
        from . import tap

        yield "report.tap", encoded(tap.render(report))
    if "sarif" in formats:
        from . import sarif

        yield "report.sarif", encoded(sarif.render(report))
    if "text" in formats:
        yield "report.txt", encoded(text.render(report, verbose=True))
    if "html" in formats:
        from . import html

        yield "report.html", html.render(report)
    for result in report.results if "pcapng" in formats else ():
        data = _case_capture(result)
        if data is not None:
            yield file_name(result.id), data


def _case_capture(result: Result) -> Optional[bytes]:
    """The capture of a case; None when it has none."""
    line = protocol_of(result.protocol).line if result.frames else None
    if line is None:
        return None
    comment = f"{result.id}: {result.verdict.value}. {result.reason}".strip()
    return capture(_commented(result), comment, line())


def _commented(result: Result) -> list[TraceFrame]:
    """The frames with all findings about them: those of the case as well, which come after the frame was taken in."""
    if not result.findings:
        return result.frames
    frames = list(result.frames)
    for finding in result.findings:
        if finding.frame is not None and 0 < finding.frame <= len(frames):
            frame = frames[finding.frame - 1]
            if finding not in frame.findings:
                frames[finding.frame - 1] = replace(frame, findings=[*frame.findings, finding])
    return frames


def certificate_files(folder: Folder, report: RunReport, made: dict[str, bytes]) -> dict[str, bytes]:
    """The certificate of a certification that came to its end; made: every derived file. The evidence is hashed as it is on the
    disk. Raises OSError."""
    if not report.certification or report.error or report.interrupted:
        return {}
    from . import certificate, manifest

    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in made.items()}
    for name in ("dut.log", *evidence.names(report)):
        if folder.has(name):
            hashes[name] = folder.sha256(name)
    files = certificate.render(json_report.as_json(report), certificate.facts_of(report), hashes)
    return {**files, manifest.NAME: certificate.sums(folder, files, hashes)}


def write_report(folder: Folder, report: RunReport, formats: Collection[str] = FORMATS) -> bytes:
    """The evidence, what is derived from it, and the certificate, whose manifest is given; b"" without one. Raises OSError."""
    if "evidence" in formats:
        for name, data in evidence.files(report):
            folder.write(name, data)
    made: Iterable[tuple[str, bytes]] = derived(report, formats)
    covering = b""
    if report.certification:
        from . import manifest

        kept = dict(made)
        certified = certificate_files(folder, report, kept)
        made, covering = {**kept, **certified}.items(), certified.get(manifest.NAME, b"")
    for name, data in made:
        folder.write(name, data)
    return covering


def clear(folder: Folder) -> None:
    """Take away what an earlier run left in the directory, and nothing that it did not write. Raises OSError."""
    from . import manifest

    ours = (*_OURS, *manifest.CERTIFICATE, manifest.NAME, manifest.SIGNATURE)
    there = set(folder.names())
    idents = {ident for case in load_cases() for ident in case.variant_ids()} | _earlier_idents(folder) if there else set()
    for name in there.intersection((*ours, *(file_name(ident) for ident in idents))):
        folder.remove(name)
    if folder.has(f"{evidence.FOLDER}/{evidence.RUN}"):
        for name in folder.names(evidence.FOLDER):
            if name == evidence.RUN or name.endswith(".jsonl"):
                folder.remove(f"{evidence.FOLDER}/{name}")
        folder.remove_folder(evidence.FOLDER)


def _earlier_idents(folder: Folder) -> set[str]:
    """The cases of the report that is there, which may be another suite's."""
    try:
        results = parse_json(folder.read("report.json"), "report.json")["results"]
        return {r["id"] for r in results if _WHOLE_ID.fullmatch(r["id"])}
    except (FileError, KeyError, TypeError):
        return set()
