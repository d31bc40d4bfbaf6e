"""What a report makes of plain passes while the run goes on is what it would make of them at its end."""

from __future__ import annotations

import base64
import json
import os
import re
import resource
import zlib
from pathlib import Path
from typing import Any, Iterator, Optional

import pytest

from fcvi.engine.files import Folder
from fcvi.engine.results import Finding, RunReport, Verdict
from fcvi.engine.runner import RunOptions, run
from fcvi.engine.target import parse
from fcvi.report import FORMATS, certificate_files, compiled, derived, explain, html, packs, plain, write_report
from fcvi.report.early import Early

from .conftest import fcvi

SELECT = "5.3.*,5.8.2.*,7.7.1.rscn*"  # a hundred plain passes, and two with another reading of an erratum


def made(early: Optional[Early] = None, select: str = SELECT, certification: bool = False) -> RunReport:
    """A run on the reference port. Its times are taken away, since no two runs have the same."""
    settle: Any = early.settle if early is not None else lambda result: None
    report = run(RunOptions(parse("ref"), select=select, settle=settle, certification=certification))
    for result in report.results:
        result.wall_us = 0
    return report


@pytest.fixture(name="folder")
def folder_of(tmp_path: Path) -> Iterator[Folder]:
    folder = Folder(tmp_path / "report")
    yield folder
    folder.close()


@pytest.mark.parametrize("in_order", [True, False])
def test_every_file_is_the_same(in_order: bool, folder: Folder, tmp_path: Path) -> None:
    early = made(Early(folder, FORMATS, False, in_order))
    late = made()
    plain_passes = [r for r in early.results if r.settled is not None]
    assert len(plain_passes) > 2 * packs.IN_A_PACK and len(plain_passes) < len(early.results)
    assert all(not r.frames and not r.log and not r.expectations for r in plain_passes)
    write_report(tmp_path / "report", early, FORMATS[1:])
    for name, data in derived(late):
        assert (tmp_path / "report" / name).read_bytes() == data, name


def test_a_pack_that_was_made_early_is_taken_as_it_is(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    early = made(Early(folder, FORMATS, False, True))
    packed: list[int] = []
    monkeypatch.setattr(packs, "packed", lambda texts, pack=packs.packed: packed.append(len(texts)) or pack(texts))
    html.render(early)
    assert len(packed) == 1 and packed[0] < packs.IN_A_PACK, "only the last one is not full"


def test_ladders_beyond_the_room_of_the_page_lose_their_fields(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "_PACKED_FULL", 40_000)
    monkeypatch.setattr(html, "_PACKED_ALL", 120_000)
    early, late = made(Early(folder, FORMATS, False, True)), made()
    assert html.render(early) == html.render(late)


def test_what_is_no_plain_pass_keeps_its_frames(folder: Folder) -> None:
    settle = Early(folder, FORMATS, False, True).settle
    for change in ({"verdict": Verdict.FAIL}, {"qualifier": "interpretation"}, {"reason": "why"},
                   {"findings": [Finding("FCVI-5.3-01", "notice", "m", "s", "r")]}):  # fmt: skip
        [result] = made(select="5.3.*").results[:1]
        for name, value in change.items():
            setattr(result, name, value)
        settle(result)
        assert result.settled is None and result.frames


def test_without_fields_is_what_was_drawn_without_them() -> None:
    for result in made().results:
        whole = plain.render(result, True, explain.clauses())
        assert plain.without_fields(whole) == plain.render(result, False, explain.clauses()), result.id
        assert len(plain.without_fields(whole)) < len(whole)


def test_formats_that_nobody_wants_are_not_made(folder: Folder, tmp_path: Path) -> None:
    early = made(Early(folder, ["json"], False, True))
    assert all(r.settled.ladder is None and r.settled.capture is None for r in early.results if r.settled is not None)
    assert not list((tmp_path / "report").glob("*.pcapng"))
    data = json.loads(dict(derived(early, ["json"]))["report.json"])
    assert [r["frames"] for r in data["results"]] == [len(r.frames) for r in made().results]


def test_a_certificate_lists_captures_that_were_written_early(folder: Folder, tmp_path: Path) -> None:
    early, late = made(Early(folder, FORMATS, True, True), certification=True), made(certification=True)
    captures = [name for name, _ in derived(late, ["pcapng"])]
    sums = certificate_files(tmp_path / "report", early, dict(derived(early)))["SHA256SUMS"].decode()
    wanted = certificate_files(tmp_path / "report", late, dict(derived(late)))["SHA256SUMS"].decode()

    def of_captures(text: str) -> list[str]:
        return [line for line in text.splitlines() if line.endswith(".pcapng")]

    assert len(of_captures(sums)) == len(captures) and of_captures(sums) == of_captures(wanted)


def test_what_cannot_be_written_is_left_for_the_end(folder: Folder, tmp_path: Path) -> None:
    """Where it is tried again, and told when it fails again."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        early = made(Early(folder, FORMATS, False, True))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert all(r.settled is None for r in early.results)
    assert os.listdir(tmp_path / "report") == [], "no part of a capture is left"
    write_report(tmp_path / "report", early, FORMATS[1:])
    assert sorted(os.listdir(tmp_path / "report")) == sorted(name for name, _ in derived(early, FORMATS[1:]))


def test_a_file_that_is_there_is_replaced_and_a_link_is_not_followed(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("untouched")
    (tmp_path / "report/a").write_text("a long text that was there before")
    (tmp_path / "report/b").symlink_to(tmp_path / "elsewhere")
    for name in ("a", "b", "c"):
        folder.write_case(name, (b"new ", b"text"))
        assert (tmp_path / "report" / name).read_text() == "new text" and not (tmp_path / "report" / name).is_symlink()
    assert (tmp_path / "elsewhere").read_text() == "untouched"
    folder.write_case("many", [b"%d," % i for i in range(5000)])
    assert (tmp_path / "report/many").read_bytes() == b"".join([b"%d," % i for i in range(5000)])


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_command_does_so_and_the_evidence_gives_the_same(jobs: str, tmp_path: Path) -> None:
    report = tmp_path / "report"
    assert fcvi("run", "--dut", "ref", "--select", SELECT, "--report", str(report), "--jobs", jobs).returncode == 0
    page = (report / "report.html").read_bytes()
    assert len(re.findall(b'class="pack"', page)) > 2
    again = tmp_path / "again"
    assert fcvi("judge", str(report), "--out", str(again)).returncode == 0
    files = sorted(path.name for path in report.glob("*.pcapng"))
    assert files == sorted(path.name for path in again.glob("*.pcapng")) and len(files) > 64
    for name in ["report.html", "report.json", *files]:
        assert (report / name).read_bytes() == (again / name).read_bytes(), name


def test_compiled_templates_are_taken_where_they_fit(tmp_path: Path) -> None:
    env = html.environment()
    names = [name for name in env.list_templates() if name.endswith(".j2")]
    for name in names:
        code = compiled.BUILT / f"{name}.compiled"
        assert code.is_file(), "the build writes it"
        assert os.fsencode(Path(__file__).parents[2]) not in code.read_bytes(), "it says nothing of where it was made"
    (tmp_path / names[0]).write_text("{{ 6 * 7 }}")
    (tmp_path / "none.j2").write_text("{{ 7 * 6 }}")
    (tmp_path / "broken.j2").write_text("{{ 1 }}")
    (tmp_path / f"{names[0]}.compiled").write_bytes((compiled.BUILT / f"{names[0]}.compiled").read_bytes())
    (tmp_path / "broken.j2.compiled").write_bytes(b"not code")
    other = env.overlay(loader=compiled.Templates(tmp_path), bytecode_cache=compiled.Compiled(tmp_path))
    assert [other.get_template(name).render() for name in (names[0], "none.j2", "broken.j2")] == ["42", "42", "1"]
    assert sorted(path.name for path in tmp_path.glob("*.compiled")) == sorted([f"{names[0]}.compiled", "broken.j2.compiled"])


def test_packs_of_any_size_are_what_was_put_in() -> None:
    room = packs.Room()
    for lengths in ([0, 1, 0], [9 << 20, 3, 30 << 20], [5, 7], []):  # longer than the room, and short ones behind them
        texts = [bytes([65 + i]) * length for i, length in enumerate(lengths)]
        pack = packs.Pack(room)
        for text in texts:
            pack.add([text[:7], text[7:]])
        assert list(pack.texts()) == texts
        assert zlib.decompress(base64.b64decode(packs.packed(texts))) == b"\0".join(texts)
    pack = packs.Pack(room)
    places = [pack.add([b"%d" % i]) for i in range(packs.IN_A_PACK)]
    assert [place.body() for place in places] == [b"%d" % i for i in range(packs.IN_A_PACK)]
    assert packs.whole(places) == pack.packed == packs.packed([place.body() for place in places])
    assert packs.whole(places[1:]) == packs.whole([]) == b""
