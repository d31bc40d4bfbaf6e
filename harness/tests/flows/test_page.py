"""The page of `flows --html` and `explain --html`: what it shows, on which screens, and what a capture cannot do to it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from fcvi.capture.reader import write
from fcvi.flows import plot

from ..conftest import CONNECT_RQST, FCVI, RECORDED, fcvi
from ..report.html_check import Page
from .field import bank, stories
from harness.tests.capture import wrappings as w

SEVERAL = RECORDED / "cases/5.3.4.c.pcapng"  # three Connections


def made(command: str, path: Path, out: Path, *words: str) -> str:
    """The page of a capture."""
    done = fcvi(command, "--html", str(out), *words, str(path))
    assert done.returncode in (0, 1, 4) and not done.stderr, done.stderr
    return out.read_text(encoding="utf-8")


@pytest.fixture(name="lost")
def _lost(tmp_path: Path) -> Path:
    path = tmp_path / "lost.pcap"
    bank.lost_response(Random("page")).capture(1, path)
    return path


def test_a_cause_stands_where_it_happens(lost: Path, tmp_path: Path) -> None:
    """In words, in the time line, in the ladder beside its frame, and in the plot; all of them are joined by links."""
    text = made("explain", lost, tmp_path / "a.html")
    page = Page(text)
    assert page.problems == [] and len(page.ids()) == len(set(page.ids()))
    assert {a["href"] for a in page.named("a") if (a.get("href") or "").startswith("#")} >= {"#cause-1", "#connection-1"}
    assert {"cause-1", "connection-1"} <= set(page.ids())
    message, abts = re.findall(r'<tr class="shown">.*?</tr>', text, re.S)
    assert ">Message<" in message and ">ABTS<" in abts and "Cause 1</a>: a Message Response was lost" in abts
    assert text.count('class="at cause"') == 2 and "<path class=\"cause\" d=\"M0-9" in text
    assert "tried again" in text and "missing or late" in text and "shows a cause" in text  # the legend
    assert re.search(r'aria-label="latency of Messages: half within .*, the longest ', text)


def test_a_frame_of_somebody_else_is_no_arrow_between_the_ports(tmp_path: Path) -> None:
    """The Fabric gives one of the ports another N_Port_ID, which ends the Connection: neither port sent that to the other."""
    path = tmp_path / "a.pcap"
    told = stories.new_address(Random(3))
    path.write_bytes(w.pcap(224, [(s.us, s.data) for s in told.frames]))
    text = made("explain", path, tmp_path / "a.html")
    shown = "".join(re.findall(r'<tr class="shown">.*?</tr>', text, re.S))
    assert 'class="arrow beside">LS_ACC' in shown and "LS_ACC FFFFFE&gt;" in shown
    assert 'class="arrow right">CONNECT_RQST' in text and 'class="arrow left">CONNECT_RESP1' in text


def test_connections_that_failed_alike_are_linked_and_logins_stand_alone(tmp_path: Path) -> None:
    """One heading for several Connections names each; two logins that were refused are two causes."""
    t = stories.Talk(Random(2))
    t.refuse(1), t.wait(1000), t.refuse(1), t.wait(1000), t.refuse(1)
    for port in (0x010300, 0x010400):
        t.ends = (port, stories.A)
        t.service(0, 0x03, stories.service_parameters(port), (0x01, bytes([0, 9, 0, 0])))
    path = tmp_path / "a.pcap"
    path.write_bytes(w.pcap(224, [(s.us, s.data) for s in t.frames]))
    said = fcvi("explain", str(path)).stdout
    assert "(Connection 1): shown by the frames; the same in 2 Connections more: 2, 3\n" in said
    assert said.count("a login was refused") == 2 and "PLOGI of 010400" in said
    text = made("explain", path, tmp_path / "a.html")
    assert re.findall(r'<a href="#connection-(\d)">', text) == ["1", "2", "3"]
    cause = next(n for n in (1, 2, 3) if f'id="cause-{n}"><p><b>nobody waits' in text)
    assert len(re.findall(rf'<p class="note"><a href="#cause-{cause}">Cause', text)) >= 3


def test_the_page_needs_nothing_and_allows_nothing(lost: Path, tmp_path: Path) -> None:
    text = made("flows", lost, tmp_path / "a.html")
    page = Page(text)
    (policy,) = [m["content"] for m in page.named("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None and policy.startswith("default-src 'none'") and "unsafe" not in policy
    assert any(m.get("name") == "viewport" for m in page.named("meta"))
    assert "http:" not in text and "https:" not in text and not page.named("link") and not page.named("img")
    assert not [a for _, attrs in page.elements for a in attrs if a.startswith("on") or a == "style"]


def test_every_connection_is_there_and_one_is_open(tmp_path: Path) -> None:
    text = made("flows", SEVERAL, tmp_path / "a.html", "--ladder", "3")
    page = Page(text)
    assert [a["id"] for a in page.named("article")] == ["connection-1", "connection-2", "connection-3"]
    assert ["open" in d for d in page.named("details")] == [False, False, True]
    assert all(a["data-words"] and a["data-latency"] is not None for a in page.named("article"))


def test_ladder_of_nothing_is_a_mistake(lost: Path, tmp_path: Path) -> None:
    page = ["--html", str(tmp_path / "a.html")]
    for words, said in ((["--ladder", "1"], "--html"), (["--ladder", "99", *page], "no Connection 99")):
        done = fcvi("flows", *words, str(lost))
        assert done.returncode == 2 and said in done.stderr and len(done.stderr.splitlines()) == 1


def test_what_a_port_chose_is_text(tmp_path: Path) -> None:
    """A Discriminator with markup in it, whose length and bytes are those of Table 15."""
    evil = b"<script>alert(1)</script>\"'><img src=x>{{7*7}}"
    data = bytearray.fromhex(CONNECT_RQST)
    at = data.index(bytes.fromhex("000000000000000100000005")) + 12
    for base in (at, at + 148):  # both addresses: lengths in bytes 2 and 3, the Discriminator from byte 20 on
        data[base + 3] = len(evil)
        data[base + 20 : base + 20 + len(evil)] = evil
    path = tmp_path / "a<b>.pcap"
    write(path, 225, [(1, bytes(data), 0x2E, 0x42)])
    for command in ("flows", "explain"):
        text = made(command, path, tmp_path / "a.html")
        page = Page(text)
        assert page.problems == [] and len(page.named("script")) == 1 and not page.named("img")
        assert "&lt;script&gt;alert" in text and "{{7*7}}" in text and "a&lt;b&gt;.pcap" in text


def test_a_page_that_cannot_be_written_is_said(lost: Path, tmp_path: Path) -> None:
    for command in ("flows", "explain"):
        done = fcvi(command, "--html", str(tmp_path / "no/a.html"), str(lost))
        assert done.returncode == 2 and "there is no directory" in done.stderr


def test_places_and_times() -> None:
    scale = plot.Scale(10.0, 20.0)
    assert [scale.percent(at) for at in (9, 10, 15, 20, 99)] == [0, 0, 50, 100, 100]
    assert [tick.label for tick in scale.ticks()] == ["0", "2.50 s", "5.00 s", "7.50 s", "10.0 s"]
    assert [plot.duration(us) for us in (0, 850, 1250, 99_940, 10_000_200)] == ["0 us", "850 us", "1.25 ms", "99.9 ms", "10.0 s"]
    steep = plot.of_latencies([[(0, 1), (10_000_000, 10_000)], []], 0, 10, [])
    assert steep.is_logarithmic and [d.y for d in steep.dots] == ["94.00%", "6.00%"]
    assert [t.label for t in steep.levels] == ["1 us", "100 us", "10.0 ms"]
    flat = plot.of_latencies([[(5_000_000, 40)], [(5_000_000, 20)]], 0, 10, [("cause", 5.0)])
    assert not flat.is_logarithmic and [(d.x, d.y, d.side) for d in flat.dots] == [("50.00%", "6.00%", 0), ("50.00%", "50.00%", 1)]
    assert flat.marks == [("cause", "50.00%")]


def test_samples_keep_the_longest(tmp_path: Path) -> None:
    """Of more latencies than there is room for: the room stays, the longest is there, and times go on."""
    from fcvi.capture.scan import ffi, lib

    samples = ffi.new("struct fcvi_flow_samples **")
    random = Random(1)
    latencies = [random.randrange(1000) for _ in range(10_000)]
    latencies[7777] = 50_000
    for i, latency in enumerate(latencies):
        lib.fcvi_flow_sample_add(samples, i, latency)
    kept = [(s.time_us, s.latency_us) for s in samples[0].list[0 : samples[0].count]]
    assert 32 <= len(kept) <= lib.FCVI_FLOW_SAMPLES and kept == sorted(kept) and (7777, 50_000) in kept
    assert all(latencies[at] == latency for at, latency in kept) and kept[-1][0] > 9_800


# ---- in a browser ----

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


def browse(page: Path, width: int, profile: Path, *words: str) -> str:
    """Open it in a window of this width; what the browser prints."""
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]
    command += [f"--user-data-dir={profile}", f"--window-size={width},1800", *words, page.as_uri()]
    return subprocess.run(command, capture_output=True, check=True, timeout=240, text=True).stdout


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: the page is checked by its structure only")
@pytest.mark.parametrize("name, width", [("desktop", 1280), ("phone", 390)])
def test_nothing_sticks_out_sideways(name: str, width: int, lost: Path, tmp_path: Path) -> None:
    """With everything open, and nothing that is cut off; the script sorts and counts under the page's own policy."""
    text = made("explain", lost, tmp_path / "a.html")
    image = tmp_path / f"{name}.png"
    browse(tmp_path / "a.html", width, tmp_path / "profile", f"--screenshot={image}")
    assert image.stat().st_size > 40_000, "something was drawn"
    assert '<output id="shown">1 of 1 shown</output>' in browse(tmp_path / "a.html", width, tmp_path / "profile", "--dump-dom")
    measure = """<script>document.querySelectorAll("details").forEach(function (d) { d.open = true; });
      var wide = document.documentElement.scrollWidth, out = Array.from(document.querySelectorAll("main *, header *")).filter(
        function (e) {
          var r = e.getBoundingClientRect();
          return r.width > 1 && !e.closest("svg, .skip, .n") && (r.right > innerWidth + 1 || r.left < -1);
        });
      document.title = "width " + wide + " of " + innerWidth + ", out " + out.length;</script></body>"""
    probe = tmp_path / "probe.html"
    probe.write_text(re.sub(r"<meta http-equiv[^>]*>", "", text).replace("</body>", measure), encoding="utf-8")
    shown = browse(probe, width, tmp_path / "profile", "--dump-dom")
    (found,) = re.findall(r"<title>width (\d+) of (\d+), out (\d+)</title>", shown)
    assert found[0] == found[1] and found[2] == "0" and int(found[1]) <= max(width, 500)
    keep = FCVI.parent / "screenshots"
    keep.mkdir(exist_ok=True)
    shutil.copy(image, keep / f"connections-{name}.png")


def test_a_disconnect_that_is_accepted_is_no_refusal(tmp_path: Path) -> None:
    """4Bh, Disconnect Accept, says that all is well (5.9.7.3.2); 41h says that it is not, whoever disconnects."""
    for reason, is_bad in ((0, False), (0x41, True)):
        t = stories.Talk(Random(1))
        t.login(), t.setup(), t.talk(), t.disconnect(0, reason, answered=False, both=False)
        rqst = t.frames[-1].data
        ox = int.from_bytes(rqst[16:18], "big")
        t.put(t.iu(1, 0x1B, rqst[29] | 1, 0x980000, ox, handle=t.handle[0], msg=t.msg[1], word=0x4B << 16, ident=0, rx=0x7001))
        if reason:
            t.frames[-2] = stories.replace(t.frames[-2], data=rqst[:29] + b"\1" + rqst[30:])
        path = tmp_path / "a.pcap"
        path.write_bytes(w.pcap(*stories.records(t.frames, stories.Wrapping("bare"), Random(1))))
        text = made("flows", path, tmp_path / "a.html")
        assert ('class="one bad"' in text) == is_bad and "refuses" not in text
        assert text.count("reports an error</b>") + text.count(">reports an error<") >= is_bad
        assert is_bad or "reports an error" not in text
