"""A bank of edits of a certified directory: ``certify --verify`` finds every one, with the hashes made anew where they can be."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Callable

import jsonschema
import pytest

from conformance import register_all
from fcvi import cli
from fcvi.commands import run
from fcvi.engine import rejudge
from fcvi.engine.files import LARGEST, FileError
from fcvi.engine.folder import Folder
from fcvi.report import canonical, certificate, manifest, verify

from ..conftest import ROOT, fcvi

SCHEMA = json.loads((ROOT / "harness/fcvi/report/certificate.schema.json").read_text())
LAB = """
[pics]
client = true
unreliable_delivery = true
class3 = true
[lab]
name = "Example Test House"
number = "ETH-1/2027"
customer = "Vendor Ltd"
issued = 2126-01-31
[item]
serial = "SN 1"
firmware = "2.7.1"
firmware_sha256 = "%s"
received = 2021-01-12
""" % ("a" * 64)

Edit = Callable[[Path], object]


@pytest.fixture(scope="module", autouse=True)
def standards() -> None:
    """As the command begins."""
    register_all()


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with two pairs of keys."""
    directory = tmp_path_factory.mktemp("keys")
    for name in ("lab", "other"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / name)], check=True)
    return directory


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory, keys: Path) -> Path:
    """A signed certification of a device that claims little."""
    directory = tmp_path_factory.mktemp("certified")
    (directory / "lab.toml").write_text(LAB)
    done = fcvi("certify", "--pics", str(directory / "lab.toml"), "--sign", str(keys / "lab"), "--quiet",
                "--report", str(directory / "r"))  # fmt: skip
    assert done.returncode == 1 and done.stderr == "", "some of what is mandatory is not claimed"
    return directory / "r"


@pytest.fixture
def report(certified: Path, tmp_path: Path) -> Path:
    """A copy to edit."""
    shutil.copytree(certified, tmp_path / "r")
    return tmp_path / "r"


def load(directory: Path, name: str = "certificate.json") -> Any:
    """A JSON file."""
    return json.loads((directory / name).read_text())


def sha256_of(path: Path) -> str:
    """Of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def rehash(directory: Path) -> None:
    """Put every hash right that stands in the directory: what a forger would do who knows the formats."""
    data = load(directory)
    hashes = {n: sha256_of(directory / n) for n in data["files"] if (directory / n).is_file()}
    data["files"] = hashes
    data["files_sha256"] = certificate.digest({n: h for n, h in hashes.items() if n != "certificate.html"})
    (directory / "certificate.json").write_bytes(canonical.dumps(data))
    statement = load(directory, "statement.json")
    statement["subject"][-1]["digest"]["sha256"] = sha256_of(directory / "certificate.json")
    (directory / "statement.json").write_bytes(canonical.dumps(statement))
    resum(directory)


def resum(directory: Path) -> None:
    """SHA256SUMS anew."""
    names = [p.relative_to(directory).as_posix() for p in directory.rglob("*") if p.is_file()]
    found = {n: sha256_of(directory / n) for n in names if n not in (manifest.NAME, manifest.SIGNATURE)}
    (directory / manifest.NAME).write_bytes(manifest.render(found))


def rebuild(directory: Path) -> None:
    """Make the certificate, its page and all hashes anew from report.json and run.json, by the suite's own code."""
    report, run = load(directory, "report.json"), load(directory, "evidence/run.json")
    names = [n for n in load(directory)["files"] if n != "certificate.html" and (directory / n).exists()]
    hashes = {n: sha256_of(directory / n) for n in names}
    for name, data in certificate.render(report, certificate.facts_in(run), hashes).items():
        (directory / name).write_bytes(data)
    resum(directory)


def in_certificate(change: Callable[[dict[str, Any]], object]) -> Edit:
    """An edit of certificate.json in its canonical form, with the hashes made anew."""

    def edit(directory: Path) -> None:
        data = load(directory)
        change(data)
        (directory / "certificate.json").write_bytes(canonical.dumps(data))
        if isinstance(data.get("files"), dict) and "files_sha256" in data:
            rehash(directory)
        else:
            resum(directory)

    return edit


def in_json(name: str, change: Callable[[dict[str, Any]], object]) -> Edit:
    """An edit of report.json or run.json in its own form, with certificate and hashes made anew where that is possible."""

    def edit(directory: Path) -> None:
        data = load(directory, name)
        change(data)
        ascii_ = name.startswith("evidence")
        (directory / name).write_text(json.dumps(data, indent=1, ensure_ascii=ascii_) + "\n", encoding="utf-8")
        try:
            rebuild(directory)
        except Exception:  # pylint: disable=broad-except
            rehash(directory)  # the code refuses it: then the hashes only

    return edit


def in_text(name: str, old: bytes, new: bytes) -> Edit:
    """An edit of a file's bytes, with the hashes made anew."""

    def edit(directory: Path) -> None:
        data = (directory / name).read_bytes()
        assert old in data, f"{name} has no {old!r}"
        (directory / name).write_bytes(data.replace(old, new, 1))
        (resum if name == "certificate.json" else rehash)(directory)

    return edit


def setting(*path: str | int, to: Any) -> Callable[[dict[str, Any]], object]:
    """Set the member at this path."""

    def change(data: Any) -> None:
        for part in path[:-1]:
            data = data[part]
        data[path[-1]] = to

    return change


def without(*path: str | int) -> Callable[[dict[str, Any]], object]:
    """Take the member at this path away."""

    def change(data: Any) -> None:
        for part in path[:-1]:
            data = data[part]
        del data[path[-1]]

    return change


def first(verdict: str, to: str) -> Callable[[dict[str, Any]], object]:
    """Give the first requirement of this verdict another one."""

    def change(data: dict[str, Any]) -> None:
        ident = next(i for i, v in data["requirements"].items() if v == verdict)
        data["requirements"][ident] = to

    return change


def result(of: str, **members: Any) -> Callable[[dict[str, Any]], object]:
    """Change members of the first result with this verdict."""

    def change(data: dict[str, Any]) -> None:
        next(r for r in data["results"] if r["verdict"] == of).update(members)

    return change


_HELD = ("certificate", "files", "files_sha256")  # which rehash puts right, or without which nothing is a certificate

CERTIFICATE: dict[str, Edit] = {
    **{
        f"without {name}": in_certificate(without(name))
        for name in certificate.members() if name not in ("certificate", "files", *certificate.OPTIONAL)
    },
    **{f"null {name}": in_certificate(setting(name, to=None)) for name in certificate.members() if name not in _HELD},
    "conformant": in_certificate(setting("outcome", to="conformant")),
    "another number": in_certificate(setting("number", to="ETH-2/2027")),
    "issued later": in_certificate(setting("issued", to="2129-01-31")),
    "another date": in_certificate(setting("date", to="2020-01-01T00:00:00Z")),
    "another customer": in_certificate(setting("lab", "customer", to="Other Ltd")),
    "another serial": in_certificate(setting("item", "serial", to="SN 2")),
    "no serial": in_certificate(without("item", "serial")),
    "a new entry of the lab": in_certificate(setting("lab", "accreditation", to="ISO/IEC 17025")),
    "another commit": in_certificate(setting("commit", to="0" * 40)),
    "another suite": in_certificate(setting("suite", "version", to="9.9")),
    "another catalogue": in_certificate(setting("suite", "catalogue_sha256", to="0" * 64)),
    "another device": in_certificate(setting("dut", "implementation", to="better")),
    "a claim more": in_certificate(setting("dut", "pics", "rdma_write", to=True)),
    "another timer": in_certificate(setting("pixit", "r_a_tov_us", to=1)),
    "another seed": in_certificate(setting("seed", to=2)),
    "a boolean for a number": in_certificate(setting("schema", to=True)),
    "a real for a number": in_certificate(setting("schema", to=2.0)),
    "no review": in_certificate(setting("review", to=[])),
    "a milder review": in_certificate(setting("review", 0, "class", to="notice")),
    "a pass more": in_certificate(setting("summary", "pass", to=9999)),
    "a requirement passed": in_certificate(first("not-applicable", "pass")),
    "a requirement failed": in_certificate(first("pass", "fail")),
    "a requirement forgotten": in_certificate(lambda d: d["requirements"].popitem()),
    "a requirement invented": in_certificate(setting("requirements", "FCVI-9.9-99", to="pass")),
    "a failure invented": in_certificate(lambda d: d["failed"].append({"id": "x", "verdict": "fail", "qualifier": None, "reason": ""})),  # noqa: E501
    "fewer cases apply": in_certificate(setting("cases", "applicable", to=1)),
    "another list of cases": in_certificate(setting("cases", "applicable_sha256", to="0" * 64)),
    "incomplete": in_certificate(setting("cases", "complete", to=False)),
    "frames invented": in_certificate(setting("frames_checked", "FCVI-5.8.1-01", to=7)),
    "a reason forgotten": in_certificate(lambda d: d["outside"].pop()),
    "an unknown member": in_certificate(setting("approved", to=True)),
    "a file forgotten": in_certificate(lambda d: d["files"].pop("report.txt")),
    "another decision rule": in_certificate(setting("decision_rule", to="everything passes")),
    "a blank at its end": in_text("certificate.json", b"}}", b"}} "),
    "a blank inside": in_text("certificate.json", b'"seed":', b'"seed": '),
    "a duplicate member": in_text("certificate.json", b'"seed":', b'"seed":1,"seed":'),
    "another escape": in_text("certificate.json", b"Example", b"\\u0045xample"),
}

PAGES: dict[str, Edit] = {
    "the page says conformant": in_text("certificate.html", b"<b>not conformant</b>", b"<b>conformant</b>"),
    "the page has another serial": in_text("certificate.html", b"SN 1", b"SN 2"),
    "the page has another customer": in_text("certificate.html", b"Vendor Ltd", b"Vendor GmbH"),
    "the page has one more blank": in_text("certificate.html", b"</html>", b"</html> "),
    "the statement passes": lambda d: ((d / "statement.json").write_bytes((d / "statement.json").read_bytes().replace(b"FAILED", b"PASSED")), resum(d)),  # noqa: E501
    "the statement has another subject": lambda d: ((d / "statement.json").write_bytes((d / "statement.json").read_bytes().replace(b"a" * 64, b"b" * 64)), resum(d)),  # noqa: E501
    "no statement": lambda d: ((d / "statement.json").unlink(), resum(d)),
    "no manifest": lambda d: (d / "SHA256SUMS").unlink(),
    "a line of the manifest": lambda d: (d / "SHA256SUMS").write_bytes((d / "SHA256SUMS").read_bytes().replace(b"0", b"1", 1)),
    "a line more": lambda d: (d / "SHA256SUMS").write_bytes((d / "SHA256SUMS").read_bytes() + b"0" * 64 + b"  x\n"),
    "a linked manifest": lambda d: ((d / "SHA256SUMS").rename(d.parent / "s"), (d / "SHA256SUMS").symlink_to(d.parent / "s")),
    "a file more": lambda d: ((d / "more.txt").write_text("x"), resum(d)),
    "a file less": lambda d: ((d / "report.tap").unlink(), rehash(d)),
}  # fmt: skip

RUN = "evidence/run.json"
SOURCES: dict[str, Edit] = {
    "report: a result passed": in_json("report.json", result("not-applicable", verdict="pass")),
    "report: a result failed": in_json("report.json", result("pass", verdict="fail")),
    "report: a result gone": in_json("report.json", lambda d: d["results"].pop()),
    "report: another reason": in_json("report.json", result("pass", reason="well done")),
    "report: another qualifier": in_json("report.json", result("pass", qualifier="deviation")),
    "report: other requirements": in_json("report.json", result("pass", requirements=[])),
    "report: a finding more": in_json("report.json", result("pass", broken=["FCVI-8.3-05"])),
    "report: another time": in_json("report.json", result("pass", virtual_us=1)),
    "report: another wall time": in_json("report.json", result("pass", wall_us=1)),
    "report: more frames": in_json("report.json", result("pass", frames=99)),
    "report: another summary": in_json("report.json", setting("summary", "pass", to=1)),
    "report: a requirement passed": in_json("report.json", first("not-applicable", "pass")),
    "report: no review": in_json("report.json", setting("review", to=[])),
    "report: another seed": in_json("report.json", setting("seed", to=5)),
    "report: another device": in_json("report.json", setting("dut", "implementation", to="better")),
    "report: a claim more": in_json("report.json", setting("dut", "pics", "rdma_write", to=True)),
    "report: another timer": in_json("report.json", setting("pixit", "late_us", to=1)),
    "report: another suite": in_json("report.json", setting("suite", "version", to="9.9")),
    "report: an unknown member": in_json("report.json", setting("approved", to=True)),
    "run: one case only": in_json(RUN, lambda d: d.update(cases=d["cases"][:1])),
    "run: a case less": in_json(RUN, lambda d: d["cases"].pop()),
    "run: another seed": in_json(RUN, setting("seed", to=5)),
    "run: another device": in_json(RUN, setting("dut", "implementation", to="better")),
    "run: a claim more": in_json(RUN, setting("dut", "pics", "send", to=True)),
    "run: no certification": in_json(RUN, setting("certification", to=False)),
    "run: another timer": in_json(RUN, setting("pixit", "r_a_tov_us", to=7)),
    "run: a case not run": in_json(RUN, lambda d: next(c for c in d["cases"] if "not_run" not in c).update(not_run="error", reason="x")),  # noqa: E501
    "run: a member more": in_json(RUN, setting("approved", to=True)),
    "run: a member less": in_json(RUN, without("lab")),
    "run: another suite": in_json(RUN, setting("suite", "version", to="9.9")),
    "run: a deviation more": in_json(RUN, setting("deviations", to=[{"requirement": None, "case": "*", "reason": "x", "link": None}])),  # noqa: E501
    "run: a duplicate member": in_text(RUN, b' "seed":', b' "seed": 1,\n "seed":'),
    "run: a blank at its end": in_text(RUN, b'"evidence": 1', b'"evidence":  1'),
    "junit: a failure": in_text("junit.xml", b'failures="0"', b'failures="1"'),
    "tap: a failure": in_text("report.tap", b"\nok 1 ", b"\nnot ok 1 "),
    "text: a pass more": in_text("report.txt", b" pass", b"0 pass"),
    "html: passed": in_text("report.html", b"not conformant", b"conformant"),
    "sarif: nothing": in_text("report.sarif", b"declaration", b"decoration"),
    "a capture swapped": lambda d: (_swap(d), rehash(d)),
    "a bit of a capture": lambda d: (_flip(sorted(d.glob("*.pcapng"))[0]), rehash(d)),
    "a bit of a trace": lambda d: (_retell(d), rebuild(d)),  # nothing but judging finds it
    "a trace gone": lambda d: (sorted((d / "evidence").glob("*.jsonl"))[0].unlink(), rebuild(d)),
}


def _swap(directory: Path) -> None:
    one, other = sorted(directory.glob("*.pcapng"))[:2]
    held = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(held)


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def _retell(directory: Path) -> None:
    """Change a frame of the device in a trace."""
    for path in sorted((directory / "evidence").glob("*.jsonl")):
        text = path.read_text()
        at = text.find('["frame",{')
        at = text.find('"hex":"', at) if at > 0 else -1
        if at > 0:
            at += 60
            path.write_text(text[:at] + ("0" if text[at] != "0" else "1") + text[at + 1 :])
            return
    raise AssertionError("no frame in any trace")


BANK = {**CERTIFICATE, **PAGES}


def test_the_bank_has_a_hundred_edits() -> None:
    assert len(BANK) + len(SOURCES) + len(SIGNED) >= 100


def test_what_was_not_touched_holds(certified: Path, keys: Path) -> None:
    found = verify.check(certified, keys / "lab.pub")
    assert found.holds() and found.signed == "yes" and found.disagrees == [] and found.files > 200
    jsonschema.validate(load(certified), SCHEMA)


#: Members of a certificate are gone or null by the dozen: every check tries a third of them.
_MEMBERS = [name for name in BANK if name.startswith(("without ", "null "))]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.nightly) if n in _MEMBERS and _MEMBERS.index(n) % 3 else n for n in BANK]
)
def test_an_edit_of_what_is_derived_is_found_without_judging(name: str, report: Path) -> None:
    BANK[name](report)
    try:
        assert not verify.check(report, again=False).holds()
    except FileError as error:
        assert "\n" not in str(error)


#: Of each kind of edit one: what is judged again costs a second.
_QUICK = {"report: a result passed", "report: another wall time", "run: a case less", "run: a claim more", "run: a deviation more",
          "a bit of a trace", "a trace gone"}  # fmt: skip
#: What is made of the evidence, and the file of each.
_MADE = {"junit: a failure": "junit.xml", "tap: a failure": "report.tap", "text: a pass more": "report.txt",
         "html: passed": "report.html", "sarif: nothing": "report.sarif", "a bit of a capture": ""}  # fmt: skip


@pytest.mark.parametrize("name", [n if n in _QUICK else pytest.param(n, marks=pytest.mark.nightly) for n in SOURCES])
def test_an_edit_of_report_or_evidence_is_found_by_judging_again(name: str, report: Path) -> None:
    SOURCES[name](report)
    try:
        assert not verify.check(report).holds()
    except FileError as error:
        assert "\n" not in str(error)


def test_every_file_that_is_made_of_the_evidence_is_made_again(report: Path) -> None:
    """One verification names each that was edited, and otherwise only those that list the files with their hashes."""
    for name in _MADE:
        SOURCES[name](report)
    files = {name or sorted(report.glob("*.pcapng"))[0].name for name in _MADE.values()}
    found = set(verify.check(report).disagrees)
    assert {f"{name}: other than what judging the evidence again gives" for name in files} <= found
    listing = {"certificate.json", "certificate.html", "statement.json", "SHA256SUMS"}
    assert {words.partition(":")[0] for words in found} <= files | listing


def _everything_anew(directory: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """What nobody can find without a key: evidence changed, and everything else made anew from it by the suite itself."""
    data = load(directory, RUN)
    change(data)
    (directory / RUN).write_text(json.dumps(data, indent=1) + "\n")
    for path in directory.iterdir():
        if path.is_file() and path.name not in ("dut.log", manifest.SIGNATURE):
            path.unlink()
    fcvi("judge", "--quiet", str(directory))


def _append(path: Path, words: str) -> None:
    path.write_text(path.read_text() + words)


SIGNED: dict[str, Edit] = {
    "another customer": lambda d: _everything_anew(d, setting("lab", "customer", to="Other Ltd")),
    "another serial": lambda d: _everything_anew(d, setting("item", "serial", to="SN 2")),
    "another date": lambda d: _everything_anew(d, setting("date", to="2020-01-01T00:00:00Z")),
    "another name": lambda d: _everything_anew(d, setting("dut", "implementation", to="better")),
    "the log": lambda d: ((d / "dut.log").write_text("all is well\n"), rebuild(d)),
    "no signature": lambda d: (d / "SHA256SUMS.sig").unlink(),
    "a signature of nonsense": lambda d: (d / "SHA256SUMS.sig").write_text("x"),
    "words behind a signature": lambda d: _append(d / "SHA256SUMS.sig", "The device is conformant.\n"),
    "a signature twice": lambda d: _append(d / "SHA256SUMS.sig", (d / "SHA256SUMS.sig").read_text()),
    "an empty signature": lambda d: (d / "SHA256SUMS.sig").write_text(""),
}


_JUDGED = {"another serial", "another date", "another name"}  # as "another customer": each judges everything


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.nightly) if n in _JUDGED else n for n in SIGNED])
def test_only_a_signature_finds_what_was_made_anew_as_a_whole(name: str, report: Path, keys: Path) -> None:
    SIGNED[name](report)
    found = verify.check(report, keys / "lab.pub", again=False)
    assert not found.holds() and found.signed not in ("", "yes")


def test_one_case_of_many_judged_anew_is_not_conformant(report: Path) -> None:
    """The certificate is bound to the list of applicable cases: a shorter run never is conformant."""
    _everything_anew(report, lambda d: d.update(cases=[c for c in d["cases"] if "not_run" not in c][:1]))
    data = load(report)
    assert data["outcome"] != "conformant" and data["cases"]["complete"] is False
    assert certificate.outcome({"summary": {"pass": 1, "fail": 0, "inconclusive": 0, "error": 0}, "review": [], "deviations": []}, False) == "inconclusive"  # noqa: E501


def _flatter(directory: Path) -> None:
    """report.json says that everything passed, and everything that is made from it is made anew."""
    data = load(directory, "report.json")
    for one in data["results"]:
        if one["verdict"] != "not-applicable":
            one.update(verdict="pass", qualifier=None, reason="", broken=[], findings=[])
    data["review"], data["deviations"] = [], []
    data["requirements"] = {i: "pass" if v != "not-applicable" else v for i, v in data["requirements"].items()}
    verdicts = [r["verdict"] for r in data["results"]]
    data["summary"] = {name: verdicts.count(name) for name in data["summary"]}
    (directory / "report.json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    rebuild(directory)


@pytest.mark.parametrize("how", [["sign"], ["--resume"]], ids=["sign", "resume"])
def test_who_signs_judges_first(how: list[str], report: Path, keys: Path) -> None:
    """X2: a "not conformant" directory, edited and rendered anew, verifies as conformant to whoever does not judge."""
    _flatter(report)
    (report / manifest.SIGNATURE).unlink()
    assert load(report)["outcome"] == "conformant"
    assert verify.check(report, again=False).holds(), "the forgery is complete"
    done = fcvi("certify", *how, str(report), "--sign", str(keys / "lab"))
    assert done.returncode == 1 and "not signed: report.json: other than what judging the evidence again gives" in done.stderr
    assert not (report / manifest.SIGNATURE).exists()
    done = fcvi("certify", "--verify", str(report))
    assert done.returncode == 1 and "changed: report.json: other than what judging" in done.stdout


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_was_judged_is_signed(when: str, report: Path, keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who can write into the directory has the manifest judged, and another one lie there before or after that."""
    true, other = (report / manifest.NAME).read_bytes(), b"0" * 64 + b"  report.json\n"
    (report / manifest.SIGNATURE).unlink()
    judge = verify.check

    def meanwhile(*words: Any, **said: Any) -> verify.Check:
        (report / manifest.NAME).write_bytes(true)
        found = judge(*words, **said)
        (report / manifest.NAME).write_bytes(other)
        return found

    monkeypatch.setattr(verify, "check", meanwhile)
    if when == "before":
        (report / manifest.NAME).write_bytes(other)
    assert cli.main(["certify", "sign", str(report), "--sign", str(keys / "lab")]) == (1 if when == "before" else 0)
    (report / manifest.NAME).write_bytes(true)
    with Folder(report) as folder:
        assert (manifest.check(folder, keys / "lab.pub") == "") == (when == "after"), "nothing else is ever signed"


def _meanwhile(monkeypatch: pytest.MonkeyPatch, of: Any, name: str, begin: Callable[[], object], end: Callable[[], object]) -> None:
    """Somebody who can write into the directory does something just before this function, and takes it back behind it."""
    work = getattr(of, name)

    def between(*words: Any, **said: Any) -> Any:
        begin()
        try:
            return work(*words, **said)
        finally:
            end()

    monkeypatch.setattr(of, name, between)


@pytest.mark.parametrize("how", ["trace", "directory"])
def test_evidence_that_is_there_only_while_it_is_judged_is_not_signed(
    how: str, report: Path, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trace that gives no verdict has its hash in the certificate; the one that gives the verdict lies there for a moment."""
    (report / manifest.SIGNATURE).unlink()
    aside, true = report.with_name("aside"), report.with_name("true")
    shutil.copytree(report, true)
    trace = next(p for p in sorted((report / "evidence").glob("*.jsonl")) if p.read_bytes().count(b"\n") > 9)
    good, bad = trace.read_bytes(), trace.read_bytes().splitlines(keepends=True)[0]
    trace.write_bytes(bad)
    rebuild(report)
    assert verify.check(report, again=False).holds(), "the forgery is complete"
    if how == "trace":
        _meanwhile(monkeypatch, rejudge, "rejudge", lambda: trace.write_bytes(good), lambda: trace.write_bytes(bad))
    else:
        def there() -> None:
            report.rename(aside)
            true.rename(report)

        def back() -> None:
            report.rename(true)
            aside.rename(report)

        _meanwhile(monkeypatch, rejudge, "rejudge", there, back)
    assert cli.main(["certify", "sign", str(report), "--sign", str(keys / "lab")]) == 1
    assert not (report / manifest.SIGNATURE).exists()


def test_a_manifest_that_is_there_only_while_its_signature_is_checked_is_not_the_reports(
    report: Path, keys: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = report / manifest.NAME
    true = name.read_bytes()
    in_json("evidence/run.json", lambda d: d["lab"].update(name="Another House"))(report)
    other = name.read_bytes()
    assert verify.check(report).holds(), "the forgery is complete"
    _meanwhile(monkeypatch, manifest, "check", lambda: name.write_bytes(true), lambda: name.write_bytes(other))
    status = cli.main(["certify", "--verify", str(report), "--key", str(keys / "lab.pub")])
    told = capsys.readouterr()
    assert status == 2 and "somebody changed it while it was judged" in told.err and "signed with the key" not in told.out


def test_a_certificate_that_is_there_only_while_it_is_hashed_is_not_what_was_signed(
    report: Path, keys: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of another suite, whose verdicts nobody gives again."""
    monkeypatch.setattr(verify, "commit", lambda: "0" * 40)
    name = report / "certificate.json"
    true = name.read_bytes()
    other = canonical.dumps({**load(report), "outcome": "conformant"})
    name.write_bytes(other)
    _meanwhile(monkeypatch, verify, "_files", lambda: name.write_bytes(true), lambda: name.write_bytes(other))
    status = cli.main(["certify", "--verify", str(report), "--key", str(keys / "lab.pub")])
    assert status == 1 and "changed: certificate.json\n" in capsys.readouterr().out


def test_a_tool_that_does_not_answer_is_one_line(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "_LONGEST_S", 0)
    with pytest.raises(FileError, match="has not answered"):
        manifest.try_key(keys / "lab")


def test_a_certificate_is_signed_later(report: Path, keys: Path) -> None:
    (report / manifest.SIGNATURE).unlink()
    assert fcvi("certify", "sign", str(report)).returncode == 2, "it needs a key"
    assert fcvi("certify", "sign", str(report.parent), "--sign", str(keys / "lab")).returncode == 2, "no certificate"
    done = fcvi("certify", "sign", str(report), "--sign", str(keys / "other"))
    assert (done.returncode, done.stderr) == (0, "")
    assert fcvi("certify", "--verify", str(report), "--key", str(keys / "other.pub")).returncode == 0


def test_a_pdf_that_lies_there_is_not_signed(report: Path, keys: Path) -> None:
    """No evidence gives it: somebody may have put another one there, with its hash."""
    (report / manifest.SIGNATURE).unlink()
    (report / "certificate.pdf").write_bytes(b"%PDF-1.7 conformant")
    resum(report)
    assert fcvi("certify", "--verify", str(report)).returncode == 0, "the forgery is complete"
    done = fcvi("certify", "sign", str(report), "--sign", str(keys / "lab"))
    assert done.returncode == 1 and "not signed: certificate.pdf: nobody can judge it" in done.stderr
    assert not (report / manifest.SIGNATURE).exists()
    (report / "certificate.pdf").unlink()
    resum(report)
    assert fcvi("certify", "sign", str(report), "--sign", str(keys / "lab")).returncode == 0


def test_folders_in_folders_are_named(report: Path, keys: Path) -> None:
    """Deeper than Python can follow itself: the folder is named that is deeper than a report has any."""
    folder = os.open(report, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=folder)
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(folder)
    done = fcvi("certify", "--verify", str(report), "--key", str(keys / "lab.pub"))
    assert done.returncode == 1 and f"additional: {'d/' * 9}\n" in done.stdout and done.stderr == ""
    subprocess.run(["rm", "-r", str(report / "d")], check=True)  # which pytest cannot


@pytest.mark.parametrize("how", ["hashed", "read"])
def test_a_file_that_grows_has_an_end(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody makes it longer than any that is read, once its size was looked at."""
    size, grown = os.fstat, tmp_path / "grown"
    grown.write_bytes(b"x")

    def then_longer(file: int) -> os.stat_result:
        found = size(file)
        os.truncate(grown, LARGEST + (1 << 20))
        return found

    with Folder(tmp_path) as folder:
        monkeypatch.setattr(os, "fstat", then_longer)
        if how == "hashed":
            assert folder.sha256("grown") == "", "as of a file that was too large before"
        else:
            with pytest.raises(FileError, match="grew while it was read"):
                folder.read("grown")


def _of(directory: Path, commit: str, **suite: str) -> None:
    """As another suite would have made it."""
    for name in (RUN, "report.json"):
        data = load(directory, name)
        data["suite"].update(suite)
        if name == RUN:
            data["commit"] = commit
        (directory / name).write_text(json.dumps(data, indent=1, ensure_ascii=name == RUN) + "\n", encoding="utf-8")
    rebuild(directory)


@pytest.mark.parametrize("suite", [{}, {"version": "0.0.9", "catalogue_sha256": "0" * 64}], ids=["commit", "version"])
def test_another_suites_certificate_is_not_judged_and_not_called_changed(suite: dict[str, str], report: Path, keys: Path) -> None:
    _of(report, "1" * 40, **suite)
    data = load(report)
    data["a member of that suite"] = {}
    (report / "certificate.json").write_bytes(canonical.dumps(data))
    rehash(report)
    alone = fcvi("certify", "--verify", str(report))
    assert alone.returncode == 4 and "changed" not in alone.stdout
    assert "not judged by this version: it was made by fcvi" in alone.stdout
    assert fcvi("certify", "sign", str(report), "--sign", str(keys / "lab")).returncode == 1, "who has not judged does not sign"
    sign_as_that_suite_did(report, keys / "lab")
    vouched = fcvi("certify", "--verify", str(report), "--key", str(keys / "lab.pub"))
    assert vouched.returncode == 0 and "not judged by this version" in vouched.stdout and "signed with the key" in vouched.stdout
    (report / "report.tap").write_text("ok 1\n")
    spoilt = fcvi("certify", "--verify", str(report), "--key", str(keys / "lab.pub"))
    assert spoilt.returncode == 1 and "changed: report.tap" in spoilt.stdout


def sign_as_that_suite_did(directory: Path, key: Path) -> None:
    """With the tool itself."""
    (directory / manifest.SIGNATURE).unlink(missing_ok=True)
    words = ["ssh-keygen", "-q", "-Y", "sign", "-n", "fcvi-certificate", "-f", str(key), str(directory / manifest.NAME)]
    subprocess.run(words, check=True)


FOREIGN: dict[str, Edit] = {
    "another outcome in the certificate": in_text("certificate.json", b'"outcome":"not conformant"', b'"outcome":"conformant"'),
    "another commit in the certificate": in_certificate(setting("commit", to="2" * 40)),
    "other hashes": lambda d: (
        (d / "certificate.json").write_bytes(canonical.dumps({**load(d), "files_sha256": "0" * 64})), resum(d)
    ),  # fmt: skip
    "another statement": lambda d: ((d / "statement.json").write_bytes(b"{}"), resum(d)),
    "a line less": lambda d: (d / "SHA256SUMS").write_bytes((d / "SHA256SUMS").read_bytes().partition(b"\n")[2]),
    "a file more": lambda d: ((d / "more.txt").write_text("x"), resum(d)),
    "a trace gone": lambda d: (sorted((d / "evidence").glob("*.jsonl"))[0].unlink(), resum(d)),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_the_files_of_another_suites_certificate_belong_together(name: str, report: Path) -> None:
    _of(report, "1" * 40)
    FOREIGN[name](report)
    found = verify.check(report)
    assert not found.holds() and not found.untouched() and found.unjudged


def test_what_a_certification_signs_is_its_own(
    certified: Path, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A certificate that holds, of another item, lies in the directory when the run has written its own."""
    place, finish = tmp_path / "r", run.finish
    (tmp_path / "lab.toml").write_text(LAB.replace("2.7.1", "6.6.6"))

    def then_another(*words: Any) -> int:
        status = finish(*words)
        shutil.rmtree(place)
        shutil.copytree(certified, place, ignore=shutil.ignore_patterns(manifest.SIGNATURE))
        return status

    monkeypatch.setattr(run, "finish", then_another)
    words = ["--pics", str(tmp_path / "lab.toml"), "--sign", str(keys / "lab"), "--quiet", "--report", str(place)]
    done = cli.main(["certify", *words])
    assert done in (1, 3) and "r: not signed: " in capsys.readouterr().err
    assert not (place / manifest.SIGNATURE).exists()
    assert load(place)["item"]["firmware"] == "2.7.1", "what lies there holds, and is another's"


def test_another_key_is_told(report: Path, keys: Path) -> None:
    done = fcvi("certify", "--verify", str(report), "--key", str(keys / "other.pub"))
    assert done.returncode == 1 and "SHA256SUMS.sig is not a signature of SHA256SUMS with other.pub" in done.stdout
    done = fcvi("certify", "--verify", str(report), "--key", str(keys / "lab.pub"))
    assert done.returncode == 0 and "signed with the key" in done.stdout
    for bad in (keys / "lab", keys / "nobody", report / "report.json"):
        with pytest.raises(FileError) as said:
            verify.check(report, bad, again=False)
        assert len(str(said.value).splitlines()) == 1
    done = fcvi("certify", "--verify", str(report), "--key", str(keys / "nobody"))
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "form",
    ["laboratory {}", "cert-authority {}", 'valid-before="20200101" {}', 'laboratory namespaces="git" {}', "{}\n{}", "ssh-rsa {}"],
)
def test_a_line_that_is_more_than_a_key_is_not_a_bad_signature(form: str, certified: Path, keys: Path, tmp_path: Path) -> None:
    """A line of a file of signers was called a key, and the signature of the laboratory none."""
    line = (keys / "lab.pub").read_text().strip()
    (tmp_path / "key").write_text(form.format(line, line) + "\n")
    with Folder(certified) as folder, pytest.raises(FileError, match="not a public key of OpenSSH on one line"):
        manifest.check(folder, tmp_path / "key")
    (tmp_path / "key").write_text(f"# whose it is\n{line}\n")
    with Folder(certified) as folder:
        assert manifest.check(folder, tmp_path / "key") == ""


def test_a_certificate_of_openssh_is_no_key(certified: Path, keys: Path, tmp_path: Path) -> None:
    shutil.copy(keys / "lab.pub", tmp_path / "lab.pub")
    sign = ["ssh-keygen", "-q", "-s", str(keys / "other"), "-I", "laboratory", "-n", "laboratory", str(tmp_path / "lab.pub")]
    subprocess.run(sign, check=True)
    with Folder(certified) as folder, pytest.raises(FileError, match="not a public key of OpenSSH on one line"):
        manifest.check(folder, tmp_path / "lab-cert.pub")


def test_the_tools_of_everybody_check_it_too(certified: Path, keys: Path, tmp_path: Path) -> None:
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", manifest.NAME], cwd=certified, check=True)
    (tmp_path / "allowed").write_text("lab " + (keys / "lab.pub").read_text())
    subprocess.run(["ssh-keygen", "-Y", "verify", "-f", str(tmp_path / "allowed"), "-I", "lab", "-n", "fcvi-certificate",
                    "-s", str(certified / manifest.SIGNATURE)], input=(certified / manifest.NAME).read_bytes(), check=True)  # fmt: skip  # noqa: E501


STATEMENT = {
    "type": "object", "additionalProperties": False, "required": ["_type", "subject", "predicateType", "predicate"],
    "properties": {
        "_type": {"const": "https://in-toto.io/Statement/v1"},
        "predicateType": {"const": "https://in-toto.io/attestation/test-result/v0.1"},
        "subject": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/resource"}},
        "predicate": {
            "type": "object", "additionalProperties": False, "required": ["result", "configuration"],
            "properties": {
                "result": {"enum": ["PASSED", "WARNED", "FAILED"]}, "url": {"type": "string"},
                "configuration": {"type": "array", "items": {"$ref": "#/$defs/resource"}},
                **{n: {"type": "array", "items": {"type": "string"}} for n in ("passedTests", "warnedTests", "failedTests")},
            },
        },
    },
    "$defs": {"resource": {
        "type": "object", "required": ["digest"],
        "properties": {"name": {"type": "string"}, "digest": {
            "type": "object", "minProperties": 1, "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        }},
    }},
}  # fmt: skip


def test_the_statement_is_one_of_in_toto(certified: Path) -> None:
    data = load(certified, "statement.json")
    jsonschema.validate(data, STATEMENT)
    certificate_hash = hashlib.sha256((certified / "certificate.json").read_bytes()).hexdigest()
    assert [s["digest"]["sha256"] for s in data["subject"]] == ["a" * 64, certificate_hash]
    assert data["predicate"]["result"] == "FAILED"


def test_a_certificate_states_what_17025_asks(certified: Path) -> None:
    words = (certified / "certificate.html").read_text()
    for wanted in (
        "ETH-1/2027", "Example Test House", "Vendor Ltd", "SN 1", "2.7.1", "2021-01-12", "2126-01-31", "not stated",
        "relate only to the items tested", "Decision rule", "What a hash does not prove", "Annex B: PICS proforma",
        "originates Client-Server Connection Setups", "What was not tested, and why",
    ):  # fmt: skip
        assert wanted in words, wanted
    assert 'content: "Certificate ETH-1/2027"' in words and "counter(page)" in words


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("weasyprint") is None or shutil.which("pdfinfo") is None, reason="no weasyprint or pdfinfo here")
def test_the_pdf_has_its_number_on_every_page(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(LAB)
    done = fcvi("certify", "--pics", str(tmp_path / "lab.toml"), "--pdf", "--quiet", "--report", str(tmp_path / "r"), timeout=120)
    assert done.returncode == 1 and done.stderr == ""
    assert verify.check(tmp_path / "r", again=False).holds()
    text = subprocess.run(["pdftotext", "-layout", str(tmp_path / "r/certificate.pdf"), "-"], capture_output=True, text=True, check=True)  # noqa: E501
    pages = text.stdout.split("\f")[:-1]
    assert all(f"page {n} of {len(pages)}" in page and "ETH-1/2027" in page for n, page in enumerate(pages, 1))
    first = next(n for n, page in enumerate(pages) if "Annex A: every requirement" in page)
    assert any("Results" in page for page in pages[:first]) and first <= 3, "three pages at most, then the annexes"
    with (tmp_path / "r/certificate.pdf").open("r+b") as pdf:
        pdf.write(b"X")
    assert "certificate.pdf: other than SHA256SUMS says" in str(verify.check(tmp_path / "r", again=False))


def test_a_key_that_cannot_sign_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(LAB)
    done = fcvi("certify", "--pics", str(tmp_path / "lab.toml"), "--sign", str(tmp_path / "lab.toml"), "--quiet",
                "--report", str(tmp_path / "r"))  # fmt: skip
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "cannot sign" in done.stderr


@pytest.mark.parametrize(
    "text, words",
    [
        ("[lab]\nname = 3", "lab.name must be words"),
        ("[lab]\nissued = 'today'", "must be a date"),
        ("[lab]\nnumber = '\"} body { display: none'", "lab.number must be letters"),
        ("[item]\nfirmware_sha256 = 'abc'", "64 hexadecimal digits"),
        ("[item]\nprice = '1'", "unknown entry 'price' of [item]"),
        ("lab = 3", "[lab] must be a table"),
    ],
)
def test_bad_entries_are_one_line(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(text)
    done = fcvi("run", "--pics", str(tmp_path / "lab.toml"), "--select", "D.R1")
    assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1


def test_canonical_json_has_one_form() -> None:
    data = {"b": [1, None, True], "a": {"z": "\u00e9\n", "y": "\ud800"}}
    assert canonical.dumps(data) == b'{"a":{"y":"\\ud800","z":"\xc3\xa9\\n"},"b":[1,null,true]}'
    assert canonical.loads(canonical.dumps(data), "x") == data
    with pytest.raises(FileError, match="there twice"):
        canonical.loads(b'{"a":1,"a":1}', "x")
    assert copy.deepcopy(data) == data
