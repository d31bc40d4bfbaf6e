"""What the capture point made of frames is told once, and no port and no link is judged by it."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from harness.tests.conftest import fcvi
from harness.tests.flows.field import stories
from harness.tests.capture import wrappings as w


def session(seed: int = 3) -> list[stories.Seen]:
    """A healthy one with its login."""
    t = stories.Talk(Random(seed))
    t.login(), t.setup()
    for n in range(6):
        t.message(n % 2, 5000)
    t.disconnect()
    return t.frames


def written(frames: list[stories.Seen], path: Path, how: stories.Wrapping) -> Path:
    """A capture of FCoE."""
    path.write_bytes(w.pcap(*stories.records(frames, how, Random(1)), how.snap))
    return path


def lint(path: Path, *words: str) -> tuple[dict[str, object], int]:
    """The summary, and the status."""
    done = fcvi("lint", "--json", *words, str(path))
    return json.loads(done.stdout.splitlines()[-1])["summary"], done.returncode


@pytest.mark.parametrize("word", ["ones", "zeros", "garbage"])
def test_a_crc_that_is_computed_later_is_no_damage(word: str, tmp_path: Path) -> None:
    path = written(session(), tmp_path / "a.pcap", stories.Wrapping("fcoe", words={stories.A: word}))
    summary, status = lint(path)
    assert (summary["malformed"], status) == (0, 0)
    (said,) = summary["records"]["capture"]  # type: ignore[index]
    assert "010100" in said and "not in the capture" in said and "010200" not in said
    assert fcvi("explain", str(path)).returncode == 0


def test_one_frame_that_was_answered_was_good_on_the_wire(tmp_path: Path) -> None:
    t = stories.Talk(Random(1), (stories.A, stories.B))
    t.service(0, 0x03, stories.service_parameters(1), (0x01, bytes([0, 9, 0, 0])))
    by = int.from_bytes(t.frames[0].data[5:8], "big")
    summary, _ = lint(written(t.frames, tmp_path / "a.pcap", stories.Wrapping("fcoe", words={by: "garbage"})))
    assert summary["malformed"] == 0 and len(summary["records"]["capture"]) == 1  # type: ignore[index]
    strange = [t.frames[0], stories.replace(t.frames[1], data=t.frames[1].data[:16] + b"\x77\x77" + t.frames[1].data[18:])]
    summary, _ = lint(written(strange, tmp_path / "b.pcap", stories.Wrapping("fcoe", words={by: "garbage"})))
    assert summary["malformed"] == 1  # what is answered is another Exchange


def test_files_are_taken_in_the_order_of_their_times(tmp_path: Path) -> None:
    frames, how = session(), stories.Wrapping("bare")
    one, two = written(frames[:12], tmp_path / "a.pcap", how), written(frames[12:], tmp_path / "b.pcap", how)
    for command in ("flows", "explain"):
        right, wrong = (fcvi(command, *map(str, names)) for names in ((one, two), (two, one)))
        said, _, rest = wrong.stdout.partition("\n") if command == "explain" else ("", "", wrong.stdout)
        assert right.returncode == wrong.returncode == 0 and "order of their times" in wrong.stdout
        assert command == "flows" or (rest == right.stdout and said)
    whole = written(frames, tmp_path / "c.pcap", how)
    assert "mergecap" in fcvi("explain", str(whole), str(one)).stdout


def test_a_frame_that_is_damaged_beside_them_is_told(tmp_path: Path) -> None:
    """The other side computes its CRCs: one of them is wrong. And a sender with good CRCs has none left out."""
    frames = session()
    at = next(n for n, s in enumerate(frames) if s.sender == stories.B and s.opcode == 0)
    frames[at] = stories.replace(frames[at], good=False)
    summary, status = lint(written(frames, tmp_path / "a.pcap", stories.Wrapping("fcoe", words={stories.A: "garbage"})))
    assert (summary["malformed"], status) == (1, 1)
    summary, status = lint(written(frames, tmp_path / "b.pcap", stories.Wrapping("fcoe")))
    assert (summary["malformed"], status, summary["records"]["capture"]) == (1, 1, [])  # type: ignore[index]


def test_all_frames_damaged_and_none_answered_is_damage(tmp_path: Path) -> None:
    t = stories.Talk(Random(1), (stories.A, stories.B))
    for _ in range(4):
        t.service(0, 0x03, stories.service_parameters(1))
    frames = [stories.replace(s, good=False) for s in t.frames]
    summary, status = lint(written(frames, tmp_path / "a.pcap", stories.Wrapping("fcoe")))
    assert (summary["malformed"], summary["records"]["capture"]) == (4, [])  # type: ignore[index]


@pytest.mark.parametrize("ends", [(0x11, 0), (0xFF, 0xFF), (0, 0), (0x2E, 0x49)])
def test_delimiters_that_an_export_made_up_are_not_judged(ends: tuple[int, int], tmp_path: Path) -> None:
    """Codes that no standard has, none at all, and an EOFni in frames that were answered."""
    path = written(session(), tmp_path / "a.pcap", stories.Wrapping("fcoe", ends=ends))
    summary, _ = lint(path)
    said: list[str] = summary["records"]["capture"]  # type: ignore[index]
    assert summary["malformed"] == 0 and len(said) == (ends != (0, 0)) + (ends[1] == 0xFF)
    assert fcvi("explain", str(path)).returncode == 0


def test_records_in_another_order_are_told_and_sorted(tmp_path: Path) -> None:
    frames = session()
    path = written(frames[:8] + frames[12:] + frames[8:12], tmp_path / "a.pcap", stories.Wrapping("bare"))
    path2 = written(frames, tmp_path / "b.pcap", stories.Wrapping("bare"))
    late = [lint(path, *words)[0]["records"]["late"] for words in ((), ("--reorder", "60000"))]  # type: ignore[index]
    assert late == [4, 0]

    def told(path: Path, *words: str) -> list[str]:
        lines = [json.loads(line) for line in fcvi("decode", "--json", *words, str(path)).stdout.splitlines()]
        return [line["time"] for line in lines]

    assert told(path) != told(path2) == told(path, "--reorder", "60000") == sorted(told(path))
    numbers = [json.loads(line)["frame"] for line in fcvi("decode", "--json", "--reorder", "60000", str(path)).stdout.splitlines()]
    assert sorted(numbers) == list(range(1, len(frames) + 1)) != numbers  # those in the file
    for command in ("flows", "explain"):
        assert fcvi(command, "--reorder", "60000", str(path)).returncode == 0
        done = fcvi(command, str(path))
        assert done.returncode == 0 and "4 records come later than newer ones" in done.stdout
        assert "records come later" not in fcvi(command, str(path2)).stdout


def test_the_window_is_a_number_of_milliseconds() -> None:
    done = fcvi("lint", "--reorder", "0", "x.pcap")
    assert done.returncode == 2 and "between 1 and 3600000 ms" in done.stderr
