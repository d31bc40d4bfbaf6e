"""report.html: self-contained, escaped, bounded, and a ladder that shows what went wrong."""

from __future__ import annotations

import base64
import json
import re
import shutil
import struct
import subprocess
import tempfile
import zlib
from html import unescape as html_of
from pathlib import Path

import pytest

from fcvi.engine.folder import Folder
from fcvi.fc import codec
from fcvi.report import github, html, ladder, words, write_report
from fcvi.engine.results import Expectation, Finding, Result, RunReport, TraceFrame, Verdict
from fcvi.engine.runner import RunOptions, run
from fcvi.engine.target import parse

from ..conftest import CONNECT_RESP3, CONNECT_RQST, FCVI, fcvi
from .html_check import Page, contrast
from ..engine.test_declaration import INDEPENDENT


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with failures: FCVI_REVISION of CONNECT_RESP1 is wrong."""
    directory = tmp_path_factory.mktemp("html") / "r"
    fcvi("run", "--dut", f"{INDEPENDENT} --fault resp1-revision", "--quiet", "--report", str(directory),
         "--select", "5.3.2,D.R1,C.5.7.2,A.*")  # fmt: skip
    return directory


@pytest.mark.parametrize("around", ["", "x", "long and plain " * 9, "\u00e9"])
def test_control_characters_and_those_that_turn_writing_are_escapes(around: str) -> None:
    others = [0x09, 0x0A, 0x20, 0x7E, 0xA0, 0xE9, 0x200D, 0x2010, 0x2027, 0x202F, 0x2065, 0x206A]
    others += [0xD7FF, 0xFDCF, 0xFDF0, 0xFFFD, 0x1FFFD, 0x20000]
    strange = [*range(9), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F]
    strange += [*range(0x2028, 0x202F), *range(0x2066, 0x206A)]
    strange += [0xD800, 0xDFFF, *range(0xFDD0, 0xFDF0), 0xFFFE, 0xFFFF, 0x1FFFE, 0x10FFFF]  # no characters
    for code in others:
        assert words.harmless(f"{around}{chr(code)}{around}") == f"{around}{chr(code)}{around}"
    for code in strange:
        escape = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
        wanted = {0x0D: "\\r"}.get(code, escape)
        assert words.harmless(f"{around}{chr(code)}{around}") == f"{around}{wanted}{around}", hex(code)


def page_of(directory: Path) -> tuple[str, Page]:
    """The page as text and as elements."""
    text = (directory / "report.html").read_text(encoding="utf-8")
    return text, Page(text)


def test_the_page_is_well_formed_and_needs_nothing_else(failing: Path) -> None:
    text, page = page_of(failing)
    assert page.problems == []
    for tag, attrs in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "audio", "video")
        assert "src" not in attrs and "style" not in attrs and not [a for a in attrs if a.startswith("on")]
        assert re.match(r"#|[A-Za-z0-9_.+%-]+\.pcapng$", attrs.get("href") or "#"), attrs
    assert "url(" not in text and "@import" not in text and "fetch(" not in text
    policy = next(a["content"] for a in page.named("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None and policy.startswith("default-src 'none'") and "unsafe" not in policy


@pytest.mark.parametrize("dut, standard", [("ref:rev1", "FC-VI Rev 1.0"), ("ref:vitcp", "draft-dicecco-vitcp-00")])
def test_the_page_names_the_standard_that_judged(dut: str, standard: str, tmp_path: Path) -> None:
    first = json.loads(fcvi("list", "--book", dut[4:], "--json").stdout)[0]["id"]
    fcvi("run", "--dut", dut, "--select", first, "--quiet", "--formats", "html", "--report", str(tmp_path / "r"))
    text = (tmp_path / "r/report.html").read_text()
    assert f"<dt>Standard</dt><dd>{standard}" in text and "14165" not in text


def test_a_report_of_some_cases_says_by_what_they_were_chosen(failing: Path) -> None:
    """Nobody takes it for one of all."""
    assert "chosen by --select &#39;5.3.2,D.R1,C.5.7.2,A.*&#39;" in page_of(failing)[0]
    assert "the cases are chosen by --select '5.3.2,D.R1,C.5.7.2,A.*'\n" in (failing / "report.txt").read_text()
    report = json.loads((failing / "report.json").read_text())
    assert report["select"] == "5.3.2,D.R1,C.5.7.2,A.*"
    said = html_of(github.summary(report))
    assert "These are selected cases alone, chosen by --select '5.3.2,D.R1,C.5.7.2,A.*'." in said
    assert "selected cases" not in github.summary({**report, "select": ""})
    for name in ("junit.xml", "report.sarif"):
        assert "5.3.2,D.R1,C.5.7.2,A.*" in (failing / name).read_text(), name


def test_everybody_can_use_it(failing: Path) -> None:
    _, page = page_of(failing)
    assert page.named("html")[0]["lang"] == "en"
    assert any(a.get("name") == "viewport" and "width=device-width" in (a["content"] or "") for a in page.named("meta"))
    assert all(a.get("scope") in ("col", "row") for a in page.named("th"))
    assert len(page.named("caption")) == len(page.named("table")) > 5
    ids = page.ids()
    assert len(ids) == len(set(ids))
    anchors = [a["href"][1:] for a in page.named("a") if (a.get("href") or "").startswith("#")]  # type: ignore[index]
    assert anchors and set(anchors) <= set(ids), "every link of the page leads somewhere"
    assert page.named("main") and page.named("h1") and [a["href"] for a in page.named("a")][0] == "#cases"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(scheme: str) -> None:
    css = (html.TEMPLATES / "style.css").read_text()
    blocks = re.findall(r":root \{(.*?)\}", css, re.S)
    colours = dict(re.findall(r"--(\w+): (#\w+)", blocks[0 if scheme == "light" else 1]))
    for name in ("ink", "soft", "pass", "fail", "open", "skip", "link"):
        assert contrast(colours[name], colours["paper"]) >= 4.5, name
        assert contrast(colours[name], colours["band"]) >= 4.5, name
    assert contrast(colours["markink"], colours["mark"]) >= 4.5


def test_the_failure_is_told_with_its_bytes_marked(failing: Path) -> None:
    """FCVI_REVISION is the half word at byte 2 of payload Word 1 (Table 14): byte 62 of the frame."""
    text, page = page_of(failing)
    case = text[text.index('id="case-5.3.2__dut-server"') :]
    case = case[: case.index("</article>")]
    assert 'class="v fail"' in case and "FCVI-6.9.3-01" in case and case.count("first difference") == 1
    first = case[case.index('<tr class="first">') :]
    assert re.search(r"<mark>\s+62\s+FCVI_REVISION\s+0000h</mark>", first)
    line = next(found for found in re.findall(r"^.*$", first, re.M) if re.match(r"\s*48  (?:[0-9a-f]{2} )", found))
    assert re.fullmatch(r"\s*48  (?:[0-9a-f]{2} ){14}<mark>00 00</mark>", line), line
    assert "FCVI_CONNECT_RESP1" in first and "required <b>0001h</b>" in first


def test_every_case_and_requirement_is_there(failing: Path) -> None:
    _, page = page_of(failing)
    report = json.loads((failing / "report.json").read_text())
    order = ["fail", "pass", "not-applicable"]
    results = sorted(report["results"], key=lambda r: order.index(r["verdict"]))
    assert [a["id"] for a in page.named("article")] == [html.anchor(r["id"]) for r in results], "failures first"
    words = "".join(page.text)
    assert all(ident in words for ident in report["requirements"])
    assert [a["data-verdict"] for a in page.named("article")] == [r["verdict"] for r in results]


def unpacked(text: str) -> list[list[str]]:
    """The packed ladders, as the page shows them."""
    packs = re.findall(r'<script type="text/plain" class="pack">([A-Za-z0-9+/=]*)</script>', text)
    return [zlib.decompress(base64.b64decode(pack)).decode().split("\0") for pack in packs]


def test_no_string_of_a_device_becomes_markup_of_the_page() -> None:
    """A NUL stands between two ladders of a pack: control characters of a device are told as escapes."""
    odd = "".join(map(chr, (*range(32), 127, 0x202E))) + "<b>&\"'"
    result = Result("x/odd", "title", Verdict.PASS, protocol="fcvi", log=[odd], requirements=[odd])
    report = RunReport("0", "0" * 64, "ref", "x", "1", {}, {}, 1, [result])
    [[ladder_of]] = unpacked(html.render(report).decode())
    assert "<b>" not in ladder_of and "\\x01" in ladder_of and "\\u202e" in ladder_of
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", ladder_of.replace("\n", ""))
    assert Page(ladder_of).problems == []


def test_every_case_that_did_something_has_its_ladder(failing: Path) -> None:
    """In the page, or packed when it passed."""
    text, page = page_of(failing)
    packs = unpacked(text)
    results = {r["id"]: r for r in json.loads((failing / "report.json").read_text())["results"]}
    for ident, result in results.items():
        start = text.index(f'id="{html.anchor(ident)}"')
        article = text[start : text.index("</article>", start)]
        place = re.search(r'data-pack="(\d+)" data-at="(\d+)"', article)
        ladder_of = packs[int(place[1])][int(place[2])] if place else article
        assert bool(place) == (result["verdict"] == "pass" and not result["qualifier"])
        if result["frames"]:
            assert f"Ladder of {ident}:" in ladder_of and Page(ladder_of).problems == []
            assert ladder_of.count("DUT to tester: ") + ladder_of.count("tester to DUT: ") >= result["frames"]


def test_passes_beyond_the_room_of_the_page_lose_their_ladders(monkeypatch: pytest.MonkeyPatch) -> None:
    report = run(RunOptions(parse("ref"), select="5.3.*"))
    packs = unpacked(html.render(report).decode())
    assert sum(map(len, packs)) == len(report.results) and len(packs) > 1
    monkeypatch.setattr(html, "_PACKED", 1)
    assert len(unpacked(html.render(report).decode())) == 1


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_evidence_gives_the_same_report(jobs: str, tmp_path: Path) -> None:
    report, again = tmp_path / "report", tmp_path / "again"
    select = "5.3.*,7.7.1.rscn*"  # plain passes, and some with another reading of an erratum
    assert fcvi("run", "--dut", "ref", "--select", select, "--report", str(report), "--jobs", jobs).returncode == 0
    assert fcvi("judge", str(report), "--out", str(again)).returncode == 0
    files = sorted(path.name for path in report.glob("*.pcapng"))
    assert files == sorted(path.name for path in again.glob("*.pcapng")) and len(files) > 64
    for name in ["report.html", "report.json", *files]:
        assert (report / name).read_bytes() == (again / name).read_bytes(), name


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_thousands_of_passes_stay_readable(count: int) -> None:
    report = an_evil_report(count)
    for result in report.results:
        result.verdict, result.broken, result.findings = Verdict.PASS, [], []
        result.frames = [frame(CONNECT_RQST, "dut", n) for n in range(20)]
    text = html.render(report).decode()
    assert len(text) < (1 << 20) + count * 2_400 and Page(text).problems == []


# ---- the ladder as data ----


def frame(data: str, sender: str, time_us: int = 0) -> TraceFrame:
    """A frame of the capture."""
    return TraceFrame(time_us, sender, bytes.fromhex(data), 0x2E, 0x42)


def test_rows_stand_in_the_order_of_what_happened() -> None:
    breach = Finding("R-2", "behaviour", "no answer", "nothing", "FCVI_CONNECT_RESP1 within 5 us", time_us=7)
    result = Result(
        "X", "x", Verdict.FAIL, protocol="FC-VI", broken=["R-2"], findings=[breach],
        frames=[frame(CONNECT_RQST, "dut", 1), frame(CONNECT_RESP3, "tester", 9)],
        expectations=[
            Expectation("FCVI_CONNECT_RQST", "R-1", (1,), 1, 1),
            Expectation("FCVI_CONNECT_RESP1", "R-2", (), 1, 7),
            Expectation("no ABTS", "R-3", (), 2, 12, silence=True),
        ],
    )  # fmt: skip
    rows = ladder.rows(result)
    assert [(r.number, r.expected, r.seen, r.first_difference) for r in rows] == [
        (1, "FCVI_CONNECT_RQST", "", False),
        (None, "FCVI_CONNECT_RESP1", "nothing", True),
        (2, "", "", False),
        (None, "no ABTS", "none", False),
    ]


def test_a_finding_about_no_frame_has_a_row_of_its_own() -> None:
    finding = Finding("R-1", "behaviour", "VipConnectRequest returned X", "X", "VIP_SUCCESS", time_us=3)
    frames = [frame(CONNECT_RQST, "dut", 5)]
    result = Result("X", "x", Verdict.FAIL, protocol="FC-VI", broken=["R-1"], findings=[finding], frames=frames)
    rows = ladder.rows(result)
    assert [(r.number, r.seen, r.expected) for r in rows] == [(None, "X", "VIP_SUCCESS"), (1, "", "")]


def test_a_finding_about_a_frame_that_is_not_there_is_still_shown() -> None:
    finding = Finding("R-1", "behaviour", "m", "s", "r", frame=99, byte=4, time_us=None)
    (row,) = ladder.rows(Result("X", "x", Verdict.FAIL, protocol="FC-VI", broken=["R-1"], findings=[finding]))
    assert row.findings == [finding] and row.first_difference


@pytest.mark.parametrize(
    "byte, bits, marked",
    [(9, "23-23", {9}), (9, "19-16", {9}), (14, "15-0", {14, 15}), (20, "31-0", {20, 21, 22, 23}), (13, "1-0", {13}),
     (500, None, {500}), (62, "15-0", {62, 63}), (12, "9-9", {12})],
)  # fmt: skip
def test_marks_fall_on_the_bytes_of_the_bits(byte: int, bits: str | None, marked: set[int]) -> None:
    """F_CTL is three bytes from byte 9, SEQ_CNT two from 14, Parameter four from 20 (FC-FS header)."""
    view = codec.decode(bytes.fromhex(CONNECT_RQST), 0x2E, 0x42)
    found, _ = ladder.marks(view, [Finding("R", "violation", "m", "s", "r", 1, byte, bits)])
    assert found == marked


# ---- what a DUT says is never markup ----

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;</pre></details>\u202e\ud800\x00{{ 7*7 }}"


def an_evil_report(count: int = 1) -> RunReport:
    """A report in which every string that a DUT or a lab can set is hostile."""
    from fcvi.engine.deviation import Deviation, Outcome
    from fcvi.engine.results import Review

    finding = Finding("R-1", "behaviour", EVIL, EVIL, EVIL, 1, 30, "31-0", None, 5)
    results = [
        Result(
            f"X.{n}", EVIL, Verdict.FAIL, EVIL, protocol="FC-VI", requirements=["R-1"], broken=["R-1"], findings=[finding],
            frames=[TraceFrame(0, "dut", b"\xff" * 60, 0, 0, note=EVIL), TraceFrame(1, "tester", b"", 0, 0)], log=[EVIL],
            expectations=[Expectation(EVIL, EVIL, (), 0, 0)],
        )  # fmt: skip
        for n in range(count)
    ]
    report = RunReport("0", "0" * 64, EVIL, EVIL, EVIL, {"client": True}, {"r_a_tov_us": 1}, 1, results, error=EVIL)
    report.deviations = [Outcome(Deviation(EVIL, EVIL, EVIL, "javascript:alert(1)"))]
    report.review = [Review("R-1", "violation", "missing", EVIL, EVIL, EVIL, None)]
    return report


def test_hostile_strings_are_text() -> None:
    text = html.render(an_evil_report()).decode()
    page = Page(text)
    assert page.problems == [] and not page.named("img") and len(page.named("script")) == 1
    assert not any((a.get("href") or "").startswith("javascript") for a in page.named("a"))
    assert "{{ 7*7 }}" in text and "<script>alert" not in text


def test_hostile_strings_are_text_in_the_other_files(tmp_path: Path) -> None:
    """No line is forged, no control character reaches a terminal, and no string that is not made of characters stops us."""
    report = an_evil_report(2)
    for result in report.results:
        for field in ("title", "reason"):
            setattr(result, field, "x\nok 1 - forged\x1b[2J" + EVIL + "\u20ac" * 40_000)
    with Folder(tmp_path, ours=True) as folder:
        write_report(folder, report)
    for name in ("report.txt", "report.tap"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "forged" in text and "\nok 1 - forged" not in text and "\x1b" not in text and "\x00" not in text
    if shutil.which("capinfos") is not None:
        for number in range(2):
            subprocess.run(["capinfos", str(tmp_path / f"X.{number}.pcapng")], check=True, capture_output=True, timeout=60)


def test_hostile_names_of_a_device_are_text_in_every_file(tmp_path: Path) -> None:
    device = tmp_path / "device.py"
    device.write_text(
        "import json, sys\n"
        f"EVIL = {json.dumps(EVIL)}\n"
        "for line in sys.stdin:\n"
        "    m = json.loads(line)\n"
        "    r = {'jsonrpc': '2.0', 'id': m.get('id')}\n"
        "    if m['method'] == 'hello':\n"
        "        r['result'] = {'implementation': EVIL, 'version': EVIL, 'clock': 'virtual', 'pics': {'client': True,"
        " 'server': True, 'unreliable_delivery': True, 'send': True}}\n"
        "    elif m['method'] in ('reset', 'clock.advance'):\n"
        "        r['result'] = {'now_us': 0}\n"
        "    else:\n"
        "        r['error'] = {'code': -32601 if m['method'].startswith('probe') else -32000, 'message': EVIL}\n"
        "    if 'id' in m:\n"
        "        print(json.dumps(r), flush=True)\n"
    )
    report = tmp_path / "r"
    done = fcvi("run", "--dut", f"exec:/usr/bin/python3 {device}", "--select", "D.R1,5.3.2", "--report", str(report))
    assert "Traceback" not in done.stderr and done.returncode in (1, 3, 4)
    text, page = page_of(report)
    assert page.problems == [] and len(page.named("script")) == 1 and not page.named("img")
    assert fcvi("judge", str(report), "--quiet").returncode == done.returncode
    assert fcvi("judge", str(report), "--quiet").stderr == ""


# ---- size ----


@pytest.mark.parametrize("count", [6_000, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_thousands_of_failures_stay_readable(count: int) -> None:
    """Details are bounded; every case keeps its verdict and its reason."""
    report = an_evil_report(count)
    text = html.render(report).decode()
    page = Page(text)
    assert len(page.named("article")) == count and page.problems == []
    assert len(text) < 16 << 20
    assert len(page.named("details")) < 5_000
    left = re.findall(r"and (.{0,60}?)\d+ more\b", text)
    assert left and all(before.startswith('<a href="#cases"') for before in left), left


def test_one_endless_case_stays_readable() -> None:
    report = an_evil_report()
    report.results[0].frames = [frame(CONNECT_RQST, "dut", n) for n in range(5_000)]
    report.results[0].log = ["x" * 100] * 100_000
    text = html.render(report).decode()
    assert len(text) < 8 << 20 and "more rows are in the capture" in text


# ---- captures ----


def comments(directory: Path, ident: str) -> dict[int, str]:
    """The comment of each frame that has one, read by tshark, which is nobody's of ours; every finding must be there."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    path = directory / (ident.replace("/", "__") + ".pcapng")
    run = ["tshark", "-r", str(path), "-T", "fields", "-e", "frame.number", "-e", "frame.comment", "-E", "separator=|"]
    lines = subprocess.run(run, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    result = next(r for r in json.loads((directory / "report.json").read_text())["results"] if r["id"] == ident)
    assert len(lines) == result["frames"] and result["findings"]
    found = {int(line.split("|")[0]): line.split("|", 1)[1] for line in lines if line.split("|", 1)[1]}
    for f in result["findings"]:
        if f["frame"]:
            assert f["requirement"] in found[f["frame"]] and f["seen"] in found[f["frame"]]
    return found


def test_findings_are_comments_on_the_frames_that_broke_a_rule(failing: Path) -> None:
    found = comments(failing, "5.3.2/dut-server")
    assert list(found) == [2]
    assert "FCVI-6.9.3-01" in found[2] and "byte 62 bits 15-0: seen 0000h, required 0001h" in found[2]


def test_what_the_case_found_out_is_a_comment_too(tmp_path: Path) -> None:
    """The retry with another FCVI_RQST_HANDLE is well-formed: only the case knows that it is wrong."""
    fcvi("run", "--dut", f"{INDEPENDENT} --fault retry-other-handle", "--quiet", "--report", str(tmp_path),
         "--select", "C.5.7.2/dut-client/succeeds")  # fmt: skip
    assert any("[behaviour]" in words for words in comments(tmp_path, "C.5.7.2/dut-client/succeeds").values())


# ---- in a browser ----


def chromium() -> str | None:
    """The command, when there is one."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def browse(page: Path, width: int, *args: str, fragment: str = "") -> str:
    """Open a page in a window of this width; what the browser prints."""
    with tempfile.TemporaryDirectory() as profile:
        command = [str(chromium()), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]
        command += [f"--user-data-dir={profile}", f"--window-size={width},1600", *args, f"{page.as_uri()}#{fragment}"]
        return subprocess.run(command, capture_output=True, check=True, timeout=240, text=True).stdout


def screenshot(page: Path, image: Path, width: int) -> tuple[int, int]:
    """Take one; its width and height."""
    browse(page, width, f"--screenshot={image}")
    size = struct.unpack(">II", image.read_bytes()[16:24])
    return size[0], size[1]


def dom(page: Path, width: int) -> str:
    """The page after a browser has opened everything and run its script, with how wide it became."""
    probe = page.with_name("probe.html")
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"<meta http-equiv[^>]*>", "", text)  # ours to measure with; the page itself allows its script only
    measure = "<style>.case { content-visibility: visible !important }</style><script>"
    measure += "document.querySelectorAll('details').forEach(function (item) { item.open = true; });"
    text = text.replace("</body>", measure + "document.title = 'width ' + document.documentElement.scrollWidth;</script></body>")
    probe.write_text(text, encoding="utf-8")
    return browse(probe, width, "--dump-dom")


@pytest.mark.skipif(chromium() is None, reason="no chromium here: the page is checked by its structure only")
@pytest.mark.parametrize("name, width", [("desktop", 1280), ("phone", 500)])
def test_a_browser_shows_it(name: str, width: int, failing: Path, tmp_path: Path) -> None:
    image = tmp_path / f"{name}.png"
    assert screenshot(failing / "report.html", image, width) == (width, 1600)
    assert image.stat().st_size > 50_000, "something was drawn"
    shown = dom(failing / "report.html", width)
    assert f"<title>width {width}</title>" in shown, "nothing sticks out sideways"
    assert re.search(r'<output id="shown" for="words">\d+ of \d+ shown</output>', shown), "the filter runs"
    (ident,) = [r["id"] for r in json.loads((failing / "report.json").read_text())["results"] if r["verdict"] == "pass"][:1]
    opened = browse(failing / "report.html", width, "--virtual-time-budget=20000", "--dump-dom", fragment=html.anchor(ident))
    assert f"<caption>Ladder of {ident}:" in opened, "a packed ladder is unpacked under the page's own policy"
    keep = FCVI.parent / "screenshots"
    keep.mkdir(exist_ok=True)
    shutil.copy(image, keep / f"report-{name}.png")


# ---- the map ----


def test_the_map_has_every_clause_in_the_order_of_the_standard(failing: Path) -> None:
    text, page = page_of(failing)
    tiles = re.findall(r'<details class="tile ([\w-]+)"><summary><b>(.*?)</b>', text)
    assert [clause for _, clause in tiles if clause[0].isdigit()] == ["5.3.2"]
    tops = [clause.removeprefix("Table ")[0] for _, clause in tiles]
    assert tops == sorted(tops)
    tones = dict((clause, tone) for tone, clause in tiles)
    assert tones["5.3.2"] == "fail" and "A.1" in tones
    results = json.loads((failing / "report.json").read_text())["results"]
    body = text[text.index('id="h-map"') : text.index('id="h-req"')]
    for result in results:
        if result["verdict"] == "fail":
            assert f'href="#{html.anchor(result["id"])}"' in body, result["id"]
    assert "style=" not in body


def test_clauses_are_sorted_as_people_count() -> None:
    from fcvi.report.clauses import _key

    assert sorted(["5.9.10", "C.5", "5.10", "5.9.2", "A.1", "5.9"], key=_key) == ["5.9", "5.9.2", "5.9.10", "5.10", "A.1", "C.5"]


def test_a_bar_shows_a_single_failure_among_thousands() -> None:
    from fcvi.report.clauses import Counted

    counted = Counted({"pass": 5000, "fail": 1})
    (first, at, width), (_, _, rest) = counted.bar()
    assert (first, at) == ("fail", "0.0") and float(width) >= 3 and abs(float(width) + float(rest) - 100) < 0.2


def test_the_report_says_what_is_other_than_in_the_baseline(failing: Path, tmp_path: Path) -> None:
    """The same failures are known; of a device without the fault they are mended."""
    select = ("--quiet", "--formats", "evidence,html,json", "--select", "5.3.2,D.R1", "--baseline", str(failing))
    fcvi("run", "--dut", INDEPENDENT, *select, "--report", str(tmp_path / "well"))
    text = (tmp_path / "well/report.html").read_text()
    trend = text[text.index('class="trend"') :].split("</ul>")[0]
    assert re.search(r'<b class="fail">0</b> cases do not pass newly', trend)
    assert re.search(r'<b class="pass">[1-9]\d*</b> pass(es)? that did not: <a href="#case-5\.3\.2__dut-server">', trend)
    before = (tmp_path / "well/report.html").read_bytes()
    fcvi("judge", "--quiet", "--baseline", str(failing), str(tmp_path / "well"))
    assert (tmp_path / "well/report.html").read_bytes() == before
