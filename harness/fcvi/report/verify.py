"""Finds out whether the files of a certification are what was certified, and whether what was certified is true.

Everything that is derived is made again and compared, byte for byte: every case is judged again from its evidence, against the list
of cases that the PICS makes applicable. A hash is never believed because it stands beside the file. What nobody signed can be made
anew as a whole, evidence included: only a signature excludes that.

The commit says which suite made a certificate. Another suite's verdicts are not ours to give: of its certificate the hashes and the
signature are checked, and nothing of it is called changed that was not.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from fcvi import __version__
from fcvi.engine.catalogue import sha256 as catalogue_sha256
from fcvi.engine.evidence import FOLDER, RUN
from fcvi.engine.files import FileError, encoded
from fcvi.engine.folder import Folder
from fcvi.engine.pics import PicsError
from fcvi.engine.protocol import put_in_force
from fcvi.engine.target import recorded
from . import canonical, certificate, manifest
from .certificate import HTML, JSON, PDF, STATEMENT
from .commit import commit

#: The members of run.json.
_RUN = sorted((
    "evidence", "suite", "dut", "pixit", "deviations", "seed", "date", "certification", "error", "unattached", "shard", "given",
    "last_words", "select", "commit", "lab", "item", "waived", "cases", "book", "ended", "host", "baseline",
))  # fmt: skip
_SOURCES = {"report.json", f"{FOLDER}/{RUN}"}  # of the certificate
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass
class Check:
    """What became of a certificate's files.

    disagrees: what is other than it has to be, in words. signed: "" when no key was given; else "yes" or why not. unjudged: "" when
    every case was judged again; else why not.
    """

    outcome: str
    sha256: str
    files: int = 0
    changed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    additional: list[str] = field(default_factory=list)
    disagrees: list[str] = field(default_factory=list)
    signed: str = ""
    unjudged: str = ""

    def untouched(self) -> bool:
        """Whether nothing is other than it was certified."""
        return not (self.changed or self.missing or self.additional or self.disagrees) and self.signed in ("", "yes")

    def holds(self) -> bool:
        """Whether nothing is, and somebody vouches for the verdicts: this suite, which judged again, or whoever has the key."""
        return self.untouched() and (not self.unjudged or self.signed == "yes")


def _hashes(certified: Any, path: Path) -> dict[str, str]:
    found = certified.get("files") if isinstance(certified, dict) and certified.get("certificate") == "fcvi" else None
    if not isinstance(found, dict) or not all(isinstance(h, str) and _SHA256.fullmatch(h) for h in found.values()):
        raise FileError(f"{path}: not a certificate of fcvi")
    return found


def check(directory: Path, key: Optional[Path] = None, again: bool = True, said: Optional[bytes] = None) -> Check:
    """Compare a report directory with its certificate.

    No name of the certificate is ever opened: only what is found in the directory. key: a public key that has to have signed
    the manifest. again: judge every case again from the evidence, without which nothing is known of the verdicts. said: judge this
    manifest, whatever that in the directory is by now. Raises FileError, OSError.
    """
    with Folder(directory) as folder:
        return _check(folder, key, again, said)


def _check(folder: Folder, key: Optional[Path], again: bool, said: Optional[bytes]) -> Check:
    data = folder.read(JSON)
    certified = canonical.loads(data, str(folder.path / JSON))
    hashes = _hashes(certified, folder.path / JSON)
    result = Check(str(certified.get("outcome"))[:40], hashlib.sha256(data).hexdigest())
    actual = _files(folder, hashes, result)
    if said is not None:
        actual[manifest.NAME] = hashlib.sha256(said).hexdigest()
    # what comes from here on is read of the files whose hashes these are, and of no others
    folder.hold(actual, {JSON: data} if said is None else {JSON: data, manifest.NAME: said})
    if actual.get(JSON) != result.sha256 and JSON not in result.changed:
        result.changed.append(JSON)
    run = _put_in_force(folder)
    result.files = len(hashes)
    spoilt = {*result.changed, *result.missing}
    result.unjudged = _foreign(certified, run)
    if result.unjudged:
        result.disagrees += _belong(folder, certified, actual, spoilt)
    else:
        _compare(folder, certified, data, actual, result, again)
    if key is not None:
        result.signed = manifest.check(folder, key) or "yes"
    return result


def _compare(
    folder: Folder, certified: dict[str, Any], data: bytes, actual: dict[str, str], result: Check, again: bool
) -> None:
    """What this suite makes of the same evidence."""
    spoilt = {*result.changed, *result.missing}
    if canonical.dumps(certified) != data:
        result.disagrees.append(f"{JSON}: its form is not the canonical one")
    named = certificate.members()
    result.disagrees += [f"{JSON}: {n!r:.60} is no member of a certificate" for n in sorted(set(certified) - set(named))]
    result.disagrees += [f"{JSON}: {n} is missing" for n in named if n not in certified and n not in certificate.OPTIONAL]
    if not spoilt & _SOURCES:  # what is made from a file that was touched says nothing more
        result.disagrees += _derived(folder, certified, actual, spoilt)
    if again:
        known = (*spoilt, *(line.split(":")[0] for line in result.disagrees))
        result.disagrees += [line for line in _judged_again(folder, actual) if not line.startswith(known)]


def _put_in_force(folder: Folder) -> Any:
    """run.json; the book of the run is in force from now on. None where it cannot be read: the comparison of the files says so.

    Raises FileError for a book that is not here.
    """
    try:
        run = canonical.loads(folder.read(f"{FOLDER}/{RUN}"), f"{FOLDER}/{RUN}")
    except FileError:
        return None
    if not isinstance(run, dict):
        return None
    put_in_force(recorded(run, folder.path / FOLDER / RUN))
    return run


def strangers(directory: Path) -> list[str]:
    """Files in the directory that the certificate does not cover. Raises FileError, OSError."""
    with Folder(directory) as folder:
        hashes = _hashes(canonical.loads(folder.read(JSON), str(directory / JSON)), directory / JSON)
        return [name for name, _ in folder.walk() if name not in hashes and name not in certificate.BESIDE]


def _files(folder: Folder, hashes: dict[str, str], result: Check) -> dict[str, str]:
    """The hashes of all files that are there, after comparing them with those of the certificate."""
    actual: dict[str, str] = {}
    for name, found in folder.walk():
        actual[name] = found
        if name in certificate.BESIDE:
            if not found:
                result.changed.append(name)
        elif name not in hashes:
            result.additional.append(name)
        elif found != hashes[name]:
            result.changed.append(name)
    expected = {*hashes, STATEMENT, manifest.NAME}
    result.missing = sorted(expected - set(actual))
    return actual


def _foreign(certified: dict[str, Any], run: Any) -> str:
    """Why this suite has no verdict about the certificate; "" when it is its own."""
    own = {"suite": {"version": __version__, "catalogue_sha256": catalogue_sha256()}, "commit": commit()}
    made = {name: (run if isinstance(run, dict) else certified).get(name) for name in own}
    if made == own:
        return ""
    suite = made["suite"] if isinstance(made["suite"], dict) else {}
    return f"it was made by {_named(suite.get('version'), made['commit'])}, and this is {_named(__version__, own['commit'])}"


def _named(version: Any, made: Any) -> str:
    return f"fcvi {str(version)[:20]}, commit {str(made)[:50] or 'unknown'}"


def _belong(folder: Folder, certified: dict[str, Any], actual: dict[str, str], spoilt: set[str]) -> list[str]:
    """Whether the files of another suite's certificate belong together: its hashes, and what it says of itself twice."""
    found = []
    try:
        run = canonical.loads(folder.read(f"{FOLDER}/{RUN}"), f"{FOLDER}/{RUN}")
        hashes = {n: h for n, h in certified["files"].items() if n != HTML}
        if certificate.digest(hashes) != certified["files_sha256"]:
            found.append(f"{JSON}: files_sha256 is other than the hashes of its files give")
        found += [f"{JSON}: {n} is other than {FOLDER}/{RUN} says" for n in ("suite", "commit") if certified[n] != run[n]]
        subjects = canonical.loads(folder.read(STATEMENT), STATEMENT)["subject"]
        if actual.get(JSON) not in [one["digest"]["sha256"] for one in subjects]:
            found.append(f"{STATEMENT}: not about this {JSON}")
    except FileError as error:
        return [] if spoilt else [str(error)]
    except (KeyError, TypeError, AttributeError):
        return [] if spoilt else [f"{JSON}: its shape, or that of {STATEMENT} or {FOLDER}/{RUN}, is not that of a certification"]
    return found + _sums(folder, certified, actual, spoilt)


def _sums(folder: Folder, certified: dict[str, Any], actual: dict[str, str], spoilt: set[str]) -> list[str]:
    """What the manifest says otherwise."""
    if manifest.NAME not in actual or manifest.NAME in spoilt:
        return []
    hashes = {n: h for n, h in certified["files"].items() if n not in certificate.BESIDE}
    said = folder.read(manifest.NAME)
    return _other_than_said(said, {**hashes, **{n: actual[n] for n in (JSON, STATEMENT, PDF) if n in actual}})


def _derived(folder: Folder, certified: dict[str, Any], actual: dict[str, str], spoilt: set[str]) -> list[str]:
    """What is made from report.json and run.json, made again and compared. spoilt: files that are named already."""
    try:
        report = canonical.loads(folder.read("report.json"), "report.json")
        written = folder.read(f"{FOLDER}/{RUN}")
        run = canonical.loads(written, f"{FOLDER}/{RUN}")
        form = encoded(json.dumps(run, indent=1) + "\n")
        if sorted({*run, "book"}) != _RUN or form != written:
            return [f"{FOLDER}/{RUN}: its members or its form are not those that a run writes"]
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
        if name in actual and not named and not folder.holds(name, made[name]):
            found.append(f"{name}: other than what report.json and {FOLDER}/{RUN} give")
    return found + _sums(folder, certified, actual, spoilt)


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


def _judged_again(folder: Folder, actual: dict[str, str]) -> list[str]:
    """What the evidence does not give again: a case that was due, or a file."""
    from fcvi.engine.rejudge import opened, rejudge, strayed

    from . import certificate_files, derived

    try:
        run = opened(folder)
        found = strayed(run, folder)
        report = rejudge(folder, run)
        files = dict(derived(report))
        files |= certificate_files(folder, report, files)
    except FileError as error:
        return [str(error)]
    if report.waived:
        found.append(f"{FOLDER}/{RUN}: it waives {', '.join(sorted(report.waived))[:200]}, and a certification waives nothing")
    other = [name for name in files if actual.get(name) != hashlib.sha256(files[name]).hexdigest()]
    return found + [f"{name}: other than what judging the evidence again gives" for name in other]
