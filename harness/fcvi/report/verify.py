"""Whether the files of a certification are what was certified.

Everything that is derived is made again and compared, byte for byte: certificate, page, statement and manifest from report.json
and evidence/run.json; with ``again``, report.json and all other files from the evidence as well. A hash is never believed because
it stands beside the file. What nobody signed can be made anew as a whole, evidence included: only a signature excludes that.
"""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterable, Optional

from fcvi import __version__
from fcvi.engine.catalogue import sha256 as catalogue_sha256
from fcvi.engine.evidence import FOLDER, RUN
from fcvi.engine.files import FileError, encoded, read_file
from fcvi.engine.pics import PicsError
from fcvi.engine.protocol import put_in_force
from fcvi.engine.target import recorded
from . import canonical, certificate, manifest
from .certificate import HTML, JSON, PDF, STATEMENT, sha256_of

#: The members of run.json.
_RUN = sorted((
    "evidence", "suite", "dut", "pixit", "deviations", "seed", "date", "certification", "error", "unattached", "shard", "given",
    "last_words", "select", "commit", "lab", "item", "waived", "cases", "book",
))  # fmt: skip
_SOURCES = {"report.json", f"{FOLDER}/{RUN}"}  # of the certificate
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass
class Check:
    """What became of a certificate's files.

    disagrees: what is other than it has to be, in words. signed: "" when no key was given; else "yes" or why not.
    """

    outcome: str
    sha256: str
    files: int = 0
    changed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    additional: list[str] = field(default_factory=list)
    disagrees: list[str] = field(default_factory=list)
    signed: str = ""

    def holds(self) -> bool:
        """Whether everything is as it was certified."""
        return not (self.changed or self.missing or self.additional or self.disagrees) and self.signed in ("", "yes")


def _walk(directory: Path) -> Iterable[tuple[str, os.stat_result, Path]]:
    """Everything below that is no directory; links are not followed. Raises OSError."""

    def fail(error: OSError) -> None:
        raise error

    for folder, folders, names in os.walk(directory, onerror=fail):
        for name in sorted(names) + [f for f in folders if os.path.islink(os.path.join(folder, f))]:
            path = Path(folder, name)
            yield path.relative_to(directory).as_posix(), path.lstat(), path


def _hashes(certified: Any, path: Path) -> dict[str, str]:
    found = certified.get("files") if isinstance(certified, dict) and certified.get("certificate") == "fcvi" else None
    if not isinstance(found, dict) or not all(isinstance(h, str) and _SHA256.fullmatch(h) for h in found.values()):
        raise FileError(f"{path}: not a certificate of fcvi")
    return found


def check(directory: Path, key: Optional[Path] = None, again: bool = False) -> Check:
    """Compare a report directory with its certificate.

    No name of the certificate is ever opened: only what is found in the directory. key: a public key that has to have signed
    the manifest. again: judge every case again from the evidence. Raises FileError, OSError.
    """
    path = directory / JSON
    data = read_file(path)
    certified = canonical.loads(data, str(path))
    _put_in_force(directory)
    hashes = _hashes(certified, path)
    result = Check(str(certified.get("outcome"))[:40], sha256_of(path))
    actual = _files(directory, hashes, result)
    result.files = len(hashes)
    if canonical.dumps(certified) != data:
        result.disagrees.append(f"{JSON}: its form is not the canonical one")
    named = certificate.members()
    result.disagrees += [f"{JSON}: {n!r:.60} is no member of a certificate" for n in sorted(set(certified) - set(named))]
    result.disagrees += [f"{JSON}: {n} is missing" for n in named if n not in certified and n not in certificate.OPTIONAL]
    spoilt = {*result.changed, *result.missing}
    if not spoilt & _SOURCES:  # what is made from a file that was touched says nothing more
        result.disagrees += _derived(directory, certified, actual, spoilt)
    if again:
        known = (*spoilt, *(line.split(":")[0] for line in result.disagrees))
        result.disagrees += [line for line in _judged_again(directory) if not line.startswith(known)]
    if key is not None:
        result.signed = manifest.check(directory, key) or "yes"
    return result


def _put_in_force(directory: Path) -> None:
    """The book of the run. Where the evidence cannot be read, the comparison of the files says so. Raises FileError."""
    try:
        run = canonical.loads(read_file(directory / FOLDER / RUN), f"{FOLDER}/{RUN}")
    except (FileError, OSError):
        return
    if isinstance(run, dict):
        put_in_force(recorded(run, directory / FOLDER / RUN))


def strangers(directory: Path) -> list[str]:
    """Files in the directory that the certificate does not cover. Raises FileError, OSError."""
    hashes = _hashes(canonical.loads(read_file(directory / JSON), str(directory / JSON)), directory / JSON)
    return [name for name, _, _ in _walk(directory) if name not in hashes and name not in certificate.BESIDE]


def _files(directory: Path, hashes: dict[str, str], result: Check) -> dict[str, str]:
    """The hashes of all files that are there, after comparing them with those of the certificate."""
    actual: dict[str, str] = {}
    for name, status, file in _walk(directory):
        plain = stat.S_ISREG(status.st_mode)
        if plain:
            actual[name] = sha256_of(file)
        if name in certificate.BESIDE:
            if not plain:
                result.changed.append(name)
        elif name not in hashes:
            result.additional.append(name)
        elif not plain or actual[name] != hashes[name]:
            result.changed.append(name)
        actual.setdefault(name, "")
    expected = {*hashes, STATEMENT, manifest.NAME}
    result.missing = sorted(expected - set(actual))
    return actual


def _same_suite(report: Any) -> str:
    suite = report["suite"]
    if suite == {"version": __version__, "catalogue_sha256": catalogue_sha256()}:
        return ""
    made_by = str(suite.get("version"))[:20]
    return f"it was made by fcvi {made_by} with another catalogue than this one's ({__version__}): verify it with that one"


def _derived(directory: Path, certified: dict[str, Any], actual: dict[str, str], spoilt: set[str]) -> list[str]:
    """What is made from report.json and run.json, made again and compared. spoilt: files that are named already."""
    try:
        report = canonical.loads(read_file(directory / "report.json"), "report.json")
        run = canonical.loads(read_file(directory / FOLDER / RUN), f"{FOLDER}/{RUN}")
        form = encoded(json.dumps(run, indent=1) + "\n")
        if sorted({*run, "book"}) != _RUN or form != read_file(directory / FOLDER / RUN):
            return [f"{FOLDER}/{RUN}: its members or its form are not those that a run writes"]
        foreign = _same_suite(report)
        if foreign:
            return [f"{JSON}: {foreign}"]
        hashes = {n: h for n, h in certified["files"].items() if n not in (HTML, *certificate.BESIDE)}
        facts = certificate.facts_in(run)
        expected = certificate.build(report, facts, hashes)
        made = certificate.render(report, facts, hashes)
        found = _crossed(report, run)
    except FileError as error:
        return [str(error)]
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, PicsError):
        return [f"{JSON}: its shape, or that of report.json or {FOLDER}/{RUN}, is not that of a certification"]
    expected["files"] = canonical.loads(made[JSON], JSON)["files"]
    found += [
        f"{JSON}: {name} is other than report.json and {FOLDER}/{RUN} say"
        for name in sorted(expected)
        if name in certified and canonical.dumps(expected[name]) != canonical.dumps(certified[name])
    ]
    for name in (JSON, HTML, STATEMENT):
        named = name in spoilt or any(line.startswith(name) for line in found)
        if name in actual and not named and read_file(directory / name) != made[name]:
            found.append(f"{name}: other than what report.json and {FOLDER}/{RUN} give")
    page = {HTML: certified["files"].get(HTML, "")}
    beside = {**hashes, **page, **{n: actual[n] for n in (JSON, STATEMENT, PDF) if n in actual}}
    if manifest.NAME in actual and manifest.NAME not in spoilt:
        found += _other_than_said(read_file(directory / manifest.NAME), beside)
    return found


def _other_than_said(said: bytes, hashes: dict[str, str]) -> list[str]:
    """What the manifest says otherwise. Nothing else has the hash of the PDF, which no report gives again."""
    if said == manifest.render(hashes):
        return []
    lines = manifest.hashes_in(said)
    if set(lines) != set(hashes):
        return [f"{manifest.NAME}: other than the hashes of the files"]
    return [f"{name}: other than {manifest.NAME} says" for name in sorted(hashes) if lines[name] != hashes[name]] or [
        f"{manifest.NAME}: other than the hashes of the files"
    ]


def _crossed(report: Any, run: Any) -> list[str]:
    """Members of report.json that run.json or the rest of report.json contradicts."""
    found = []
    not_run = {c["id"] for c in run["cases"] if "not_run" in c}
    pairs = {
        "suite": (report["suite"], run["suite"]),
        "dut": (report["dut"], {name: run["dut"][name] for name in ("attachment", "implementation", "version", "pics")}),
        "pixit": (report["pixit"], run["pixit"]), "seed": (report["seed"], run["seed"]),
        "results": ([r["id"] for r in report["results"]], [c["id"] for c in run["cases"]]),
        "wall_us": ([r["wall_us"] for r in report["results"]], [c["wall_us"] for c in run["cases"]]),
        "not-applicable": (  # a case that ran may find out that it does not apply: its evidence says so
            {r["id"] for r in report["results"] if r["verdict"] == "not-applicable" and r["id"] in not_run},
            {c["id"] for c in run["cases"] if c.get("not_run") == "not-applicable"},
        ),
        "deviations": (
            [{n: d[n] for n in ("requirement", "case", "reason", "link")} for d in report["deviations"]], run["deviations"]
        ),
    }  # fmt: skip
    for name, (one, other) in pairs.items():
        if isinstance(one, set) and one != other or not isinstance(one, set) and canonical.dumps(one) != canonical.dumps(other):
            found.append(f"report.json: {name} is other than {FOLDER}/{RUN} says")
    verdicts = [r["verdict"] for r in report["results"]]
    if report["summary"] != {name: verdicts.count(name) for name in report["summary"]}:
        found.append("report.json: summary is other than its results")
    if not run["certification"]:
        found.append(f"{FOLDER}/{RUN}: no certification but a run")
    return found


def _judged_again(directory: Path) -> list[str]:
    """The files that the evidence does not give again."""
    from fcvi.engine.rejudge import rejudge

    from . import certificate_files, derived

    try:
        report = rejudge(directory)
        files = dict(derived(report))
        files |= certificate_files(directory, report, files)
    except FileError as error:
        return [str(error)]
    found = []
    for name, data in files.items():
        path = directory / name
        if not path.is_file() or path.is_symlink() or path.stat().st_size != len(data) or read_file(path) != data:
            found.append(f"{name}: other than what judging the evidence again gives")
    return found
