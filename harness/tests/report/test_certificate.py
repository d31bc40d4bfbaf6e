"""The certificate: what it says, and that whatever was touched afterwards is told by name."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Callable

import jsonschema
import pytest

from conformance.catalogue import load_requirements
from fcvi.engine.files import one_line
from fcvi.report import canonical, certificate, verify as verification

from ..conftest import ROOT, fcvi
from .html_check import Page
from ..engine.test_declaration import DECLARED, INDEPENDENT
from .test_html import EVIL, an_evil_report, chromium, screenshot

SCHEMA = json.loads((ROOT / "harness/fcvi/report/certificate.schema.json").read_text())


#: What is claimed: little, since everything that applies is judged again by each verification.
CLAIMED = "[pics]\nclient = true\nunreliable_delivery = true\nclass3 = true\n"


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certification of a device with a declared deviation."""
    directory = tmp_path_factory.mktemp("certificate")
    (directory / "lab.toml").write_text(CLAIMED + DECLARED)
    done = fcvi("certify", "--dut", f"{INDEPENDENT} --fault no-retry", "--pics", str(directory / "lab.toml"),
                "--report", str(directory / "r"), timeout=300)  # fmt: skip
    assert done.returncode == 1, "much that is mandatory is not claimed"
    return directory / "r"


@pytest.fixture
def report(certified: Path, tmp_path: Path) -> Path:
    """A copy to tamper with."""
    shutil.copytree(certified, tmp_path / "r")
    return tmp_path / "r"


def verify(directory: Path) -> tuple[int, list[str]]:
    """Exit status and lines."""
    done = fcvi("certify", "--verify", str(directory))
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout.splitlines()


def test_the_certificate_says_what_the_report_says(certified: Path) -> None:
    data = json.loads((certified / "certificate.json").read_text())
    report = json.loads((certified / "report.json").read_text())
    jsonschema.validate(data, SCHEMA)
    assert data["outcome"] == "not conformant" and data["dut"]["implementation"] == "independent endpoint"
    failed = data["summary"]["fail"]
    assert failed > 1 and f"<b>not conformant</b>: {failed} cases failed, " in (certified / "certificate.html").read_text()
    assert set(data["requirements"]) == {r.id for r in load_requirements()}
    assert {k: v for k, v in data["requirements"].items() if v != "not-tested"} == report["requirements"]
    assert data["deviations"] == report["deviations"] and data["deviations"][0]["status"] == "occurred"
    assert {r["id"] for r in data["failed"]} == {
        r["id"] for r in report["results"] if r["qualifier"] or r["verdict"] not in ("pass", "not-applicable")
    }


def test_a_verdict_that_no_case_has_is_not_marked_as_one(certified: Path) -> None:
    """A count of no errors is no cause for alarm."""
    counted = json.loads((certified / "certificate.json").read_text())["summary"]
    line = (certified / "certificate.html").read_text().partition("<p>Cases: ")[2].partition(". Requirements")[0]
    assert counted["error"] == 0 and counted["fail"] > 0
    for name, count in counted.items():
        assert (f'<span class="v {name}">{count} {name}</span>' in line) == (count > 0)


def test_the_command_that_a_reader_is_told_exists(certified: Path) -> None:
    page = (certified / "certificate.html").read_text()
    (line,) = re.findall(r"<code>fcvi (certify [^<]*)</code>", page)
    said = fcvi("certify", "--help").stdout
    assert all(word in said for word in line.split() if word.startswith("--")), line


def test_hashes_are_those_of_sha256sum(certified: Path, tmp_path: Path) -> None:
    data = json.loads((certified / "certificate.json").read_text())
    names = {p.relative_to(certified).as_posix() for p in certified.rglob("*") if p.is_file()}
    assert set(data["files"]) == names - {"certificate.json", "statement.json", "SHA256SUMS"}
    sums = tmp_path / "sums"
    sums.write_text("".join(f"{value}  {name}\n" for name, value in data["files"].items()))
    subprocess.run(["sha256sum", "--check", "--quiet", str(sums)], cwd=certified, check=True)
    lines = "".join(f"{v}  {n}\n" for n, v in sorted(data["files"].items()) if n != "certificate.html")
    assert data["files_sha256"] == hashlib.sha256(lines.encode()).hexdigest()
    page = Page((certified / "certificate.html").read_text())
    words = "".join(page.text)
    assert page.problems == [] and data["files_sha256"] in words and "no retry before firmware 2" in words
    assert all(ident in words for ident in data["requirements"]) and "unreliable_delivery" in words
    assert all(a.get("scope") for a in page.named("th")) and len(page.named("caption")) == len(page.named("table"))


def test_an_untouched_directory_holds(certified: Path) -> None:
    status, lines = verify(certified)
    assert status == 0 and "are as certified" in lines[0]
    assert hashlib.sha256((certified / "certificate.json").read_bytes()).hexdigest() in lines[1]
    done = fcvi("certify", "--verify", str(certified), "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["holds"] is True


def test_judging_gives_the_certificate_again(report: Path) -> None:
    before = {name: (report / name).read_bytes() for name in ("certificate.json", "certificate.html")}
    for name in before:
        (report / name).unlink()
    assert fcvi("judge", str(report), "--quiet", timeout=120).returncode == 1
    assert {name: (report / name).read_bytes() for name in before} == before
    assert verify(report)[0] == 0


CAPTURE = "5.3.2__dut-client.pcapng"


def _symlink(directory: Path) -> None:
    (directory / CAPTURE).rename(directory.parent / "elsewhere")
    (directory / CAPTURE).symlink_to(directory.parent / "elsewhere")


def _fifo(directory: Path) -> None:
    (directory / CAPTURE).unlink()
    os.mkfifo(directory / CAPTURE)


TOUCHED: dict[str, tuple[Callable[[Path], object], str]] = {
    "changed": (lambda d: (d / CAPTURE).write_bytes(b"x"), f"changed: {CAPTURE}"),
    "one bit": (
        lambda d: (d / "evidence/run.json").write_bytes((d / "evidence/run.json").read_bytes().replace(b"a", b"b", 1)),
        "changed: evidence/run.json",
    ),
    "the page": (lambda d: (d / "certificate.html").write_bytes(b"<h1>conformant</h1>"), "changed: certificate.html"),
    "missing": (lambda d: (d / "report.tap").unlink(), "missing: report.tap"),
    "additional": (lambda d: (d / "evidence/more.jsonl").write_text(""), "additional: evidence/more.jsonl"),
    "unprintable": (lambda d: (d / "a\nmissing: x\x1b[31m").write_text(""), r"additional: a\nmissing: x\x1b[31m"),
    "linked": (_symlink, f"changed: {CAPTURE}"),
    "linked folder": (lambda d: (d / "out").symlink_to("/etc"), "additional: out"),
    "fifo": (_fifo, f"changed: {CAPTURE}"),
}


@pytest.mark.parametrize("how", TOUCHED)
def test_what_was_touched_is_found_alone(how: str, report: Path) -> None:
    """By its hash, before anything is judged again."""
    touch, line = TOUCHED[how]
    touch(report)
    found, (what, name) = verification.check(report, again=False), line.split(": ", 1)
    assert not found.holds() and name in [one_line(other) for other in getattr(found, what)]


def test_what_was_touched_is_named(report: Path) -> None:
    """Each among all the others."""
    at_once = [how for how in TOUCHED if how not in ("linked", "fifo")]  # of one file
    for how in at_once:
        TOUCHED[how][0](report)
    status, lines = verify(report)
    assert status == 1 and {TOUCHED[how][1] for how in at_once} <= set(lines[:-2])


def edit_certificate(report: Path, edit: Callable[[dict[str, object]], object]) -> None:
    """The certificate itself, in its canonical form."""
    path = report / "certificate.json"
    data = json.loads(path.read_text())
    edit(data)
    path.write_bytes(canonical.dumps(data))


def edited(report: Path, edit: Callable[[dict[str, object]], object]) -> tuple[int, list[str]]:
    """Verify after the certificate itself was edited."""
    edit_certificate(report, edit)
    return verify(report)


def test_a_certificate_that_says_more_than_the_report_is_found_out(report: Path) -> None:
    more = {"outcome": "conformant", "summary": {"pass": 9}, "failed": [], "review": []}
    status, lines = edited(report, lambda data: data.update(more))
    said = {f"changed: certificate.json: {member} is other than report.json and evidence/run.json say" for member in more}
    assert status == 1 and said <= set(lines)


@pytest.mark.parametrize("member, value", [("outcome", "conformant"), ("summary", {"pass": 9}), ("failed", []), ("review", [])])
def test_a_member_that_says_more_than_the_report_is_found_alone(member: str, value: object, report: Path) -> None:
    edit_certificate(report, lambda data: data.update({member: value}))
    found = verification.check(report, again=False).disagrees
    assert f"certificate.json: {member} is other than report.json and evidence/run.json say" in found


def test_names_in_a_certificate_lead_nowhere(report: Path, tmp_path: Path) -> None:
    """Only what is found in the directory is opened."""
    secret = tmp_path / "secret"
    os.mkfifo(secret)  # opening it would block
    names = ["../secret", str(secret), "evidence/../../secret", "a\0b", "x" * 5000]
    status, lines = edited(report, lambda data: data["files"].update({n: "0" * 64 for n in names}))  # type: ignore[attr-defined]
    assert status == 1 and {line for line in lines if line.startswith("missing: ../")} == {"missing: ../secret"}
    assert len([line for line in lines if line.startswith("missing: ")]) == len(names)


@pytest.mark.parametrize(
    "content",
    [None, b"", b"\xff\xfe", b"[]", b'{"files": {}}', b'{"certificate": "fcvi", "files": []}', b"[" * 100_000,
     b'{"certificate": "fcvi", "files": {"a": 7}}', b'{"certificate": "fcvi", "files": {"a": "../x"}}', b'{"certificate": "fcvi'],
    ids=lambda content: f"{len(content or b'')}-bytes",
)  # fmt: skip
def test_what_is_no_certificate_is_one_line_and_status_2(content: bytes | None, report: Path) -> None:
    path = report / "certificate.json"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    done = fcvi("certify", "--verify", str(report))
    assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1 and str(path) in done.stderr


@pytest.mark.parametrize("content", [b"[]", b"{}", b'{"results": 3}'])
def test_a_certificate_of_nonsense_does_not_hold(content: bytes, report: Path) -> None:
    """Even when the hashes fit."""
    (report / "report.json").write_bytes(content)
    fit = hashlib.sha256(content).hexdigest()
    status, lines = edited(report, lambda data: data["files"].update({"report.json": fit}))  # type: ignore[attr-defined]
    assert status == 1 and lines[0].startswith("changed: certificate.json: ")


def test_what_was_there_before_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "lab.toml").write_text("client = true\nclass3 = true\nunreliable_delivery = true\n")
    done = fcvi("certify", "--pics", str(tmp_path / "lab.toml"), "--quiet", "--report", str(tmp_path))
    assert done.returncode == 1 and "notes.txt was there before" in done.stderr
    assert verify(tmp_path)[1][1] == "additional: notes.txt" and (tmp_path / "notes.txt").read_text() == "mine"


def test_a_run_leaves_no_certificate_of_an_earlier_certification(report: Path) -> None:
    assert fcvi("run", "--select", "D.R1", "--quiet", "--report", str(report), "--force").returncode == 0
    assert not list(report.glob("certificate.*"))
    assert fcvi("certify", "--verify", str(report)).returncode == 2


@pytest.mark.parametrize(
    "changes, outcome",
    [
        ({}, "conformant"),
        ({"summary": {"pass": 1, "fail": 1, "inconclusive": 0, "error": 0}}, "not conformant"),
        ({"summary": {"pass": 1, "fail": 1, "inconclusive": 0, "error": 1}}, "error"),
        ({"summary": {"pass": 1, "fail": 0, "inconclusive": 1, "error": 0}}, "inconclusive"),
        ({"summary": {"pass": 0, "fail": 0, "inconclusive": 0, "error": 0}}, "inconclusive"),
        ({"review": [{"class": "violation"}]}, "not conformant"),
        ({"review": [{"class": "notice"}]}, "conformant"),
        ({"deviations": [{"status": "absent"}]}, "not conformant"),
        ({"deviations": [{"status": "occurred"}]}, "conformant"),
    ],
)
def test_outcome(changes: dict[str, object], outcome: str) -> None:
    good = {"summary": {"pass": 1, "fail": 0, "inconclusive": 0, "error": 0}, "review": [], "deviations": []}
    assert certificate.outcome({**good, **changes}) == outcome


def test_hostile_strings_are_text() -> None:
    from fcvi.report.json_report import as_json

    report = an_evil_report()
    report.date, report.lab, report.item = "2026-01-01T00:00:00Z", {"name": EVIL, "number": EVIL}, {"serial": EVIL}
    files = certificate.render(as_json(report), certificate.facts_of(report), {EVIL: "0" * 64})
    page = Page(files["certificate.html"].decode())
    assert page.problems == [] and page.named("script") == [] and page.named("img") == []
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(json.loads(files["certificate.json"]))


@pytest.mark.skipif(chromium() is None, reason="no chromium here: the page is checked by its structure only")
@pytest.mark.parametrize("name, width", [("desktop", 1280), ("phone", 500)])
def test_a_browser_shows_it(name: str, width: int, certified: Path, tmp_path: Path) -> None:
    image = tmp_path / "shot.png"
    assert screenshot(certified / "certificate.html", image, width) == (width, 1600)
    assert image.stat().st_size > 50_000
    keep = ROOT / "build/screenshots"
    keep.mkdir(exist_ok=True)
    shutil.copy(image, keep / f"certificate-{name}.png")


# ---- what an assessor looks for ----

STATED = (
    "[lab]\nname = 'Example Test House'\naddress = 'Exampletown'\ncustomer = 'Vendor Ltd'\nauthorised_by = 'A. Example'\n"
    "replaces = 'ETH-0/2027'\ndecision_rule = 'Twice.'\nequipment = 'Fabric 7'\n"
    "[item]\ndescription = 'Adapter'\nserial = 'SN 1'\nreceived = 2021-01-12\n"
)


def _page_of(lab: str, certified: Path) -> str:
    """The page of this certification with other tables [lab] and [item]."""
    from fcvi.engine import declaration

    report = json.loads((certified / "report.json").read_text())
    facts = certificate.facts_in(json.loads((certified / "evidence/run.json").read_text()))
    (certified.parent / "other.toml").write_text(lab)
    said = declaration.load(certified.parent / "other.toml", {})
    return certificate._page(certificate.build(report, {**facts, "lab": said.lab, "item": said.item}, {}))


def test_a_certificate_is_a_draft_until_laboratory_and_item_are_stated(certified: Path) -> None:
    draft, whole = _page_of("[lab]\nname = 'Example Test House'\n", certified), _page_of(STATED, certified)
    assert 'class="draft"' in draft and "Address of the laboratory, Customer" in draft
    assert 'class="draft"' not in whole and "not have to state" not in whole


def test_a_certificate_says_what_the_customer_said_and_what_it_replaces(certified: Path) -> None:
    page = _page_of(STATED, certified)
    assert "It replaces certificate <b>ETH-0/2027</b>" in page and "Fabric 7" in page
    assert "Serial number<sup>c</sup>" in page and "Laboratory<sup>" not in page
    assert "The laboratory adds: Twice." in page and "No measurement uncertainty is added" in page
    run = json.loads((certified / "evidence/run.json").read_text())
    assert run["date"] <= run["ended"] and f"to {run['ended']} (UTC)" in page and run["host"].split(",")[0] in page


@pytest.mark.parametrize(
    "lab, words",
    [
        ("[lab]\nissued = 1999-01-01\n", "before the tests"), ("[item]\nreceived = 2931-01-01\n", "after the tests"),
        ("[lab]\nnumber = 'A'\nreplaces = 'A'\n", "the number of this certificate itself"),
    ],
)  # fmt: skip
def test_dates_that_contradict_the_tests_are_told_before_the_first_case(lab: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(f"[pics]\nclient = true\n{lab}")
    done = fcvi("certify", "--pics", str(tmp_path / "lab.toml"), "--report", str(tmp_path / "r"))
    assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    assert not list((tmp_path / "r").glob("certificate.*"))


@pytest.mark.nightly
def test_a_reading_is_told_in_a_line(certified_reference: Path) -> None:
    page = (certified_reference / "certificate.html").read_text()
    assert "<b>E122</b>, in 2 cases: RSCN at a port" in page


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("weasyprint") is None or shutil.which("pdfinfo") is None, reason="no weasyprint here")
def test_a_pass_takes_five_pages_at_most(certified_reference: Path, tmp_path: Path) -> None:
    subprocess.run(["weasyprint", "-q", str(certified_reference / "certificate.html"), str(tmp_path / "c.pdf")], check=True)
    said = subprocess.run(["pdfinfo", str(tmp_path / "c.pdf")], capture_output=True, text=True, check=True).stdout
    pages = next(int(line.split()[1]) for line in said.splitlines() if line.startswith("Pages"))
    assert pages <= 5
