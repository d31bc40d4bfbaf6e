"""Tests that what the capture point made of frames is told once, and no port and no link is judged by it."""

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


def left_out(frames: list[stories.Seen], path: Path) -> int:
    """How many frames of B are malformed when its CRC was not computed yet."""
    summary, _ = lint(written(frames, path, stories.Wrapping("fcoe", words={stories.B: "garbage"})))
    return int(summary["malformed"])  # type: ignore[call-overload]


def test_who_goes_on_has_taken_what_it_needs_for_that(tmp_path: Path) -> None:
    """LS_ACC of PLOGI, then a request for a Connection; FCVI_CONNECT_RESP1 or RESP3, then a Message."""
    t = stories.Talk(Random(1))
    t.ends = (stories.A, stories.B)
    t.login(), t.setup(), t.message(0, 64, answered=False)
    plogi, acc, rqst, resp1, _, resp3, message = t.frames
    for n, needed in enumerate(([acc, rqst], [resp1, message], [resp3, message])):
        assert left_out(needed, tmp_path / f"{n}.pcap") == 0
        assert left_out(needed[::-1], tmp_path / f"{n}-before.pcap") == 1
    assert left_out([acc, plogi, rqst], tmp_path / "again.pcap") == 1  # it had not come, so PLOGI was sent again
    other = stories.replace(message, data=message.data[:24] + b"\1\2\3\4" + message.data[28:])
    assert left_out([resp1, other], tmp_path / "other.pcap") == 1  # of another Connection


def test_whether_all_frames_of_a_port_are_damaged_is_said_not_to_be_known(tmp_path: Path) -> None:
    t = stories.Talk(Random(1))
    t.ends, t.level = (stories.A, stories.B), 2
    t.message(0, 64), t.message(1, 64), t.message(1, 64)
    how = stories.Wrapping("fcoe", words={stories.B: "garbage"})
    done = fcvi("explain", str(written(t.frames, tmp_path / "a.pcap", how)))
    assert done.returncode == 0 and "No frame of 010200 has a right CRC" in done.stdout
    for _ in range(2):
        t.service(1, 0x03, stories.service_parameters(1))
    done = fcvi("explain", str(written(t.frames[1:], tmp_path / "b.pcap", how)))
    assert done.returncode == 1 and "frames with a wrong CRC" in done.stdout  # it asks again, and nobody hears it


@pytest.mark.parametrize("name", ["P_RJT", "LS_ACC"])
def test_a_single_answer_to_a_login_shows_that_there_are_two_clocks(name: str, tmp_path: Path) -> None:
    """A tap a direction: the answer stands before the question. An answer to FLOGI goes to another N_Port_ID."""
    t = stories.Talk(Random(1))
    t.ends = (stories.A, stories.B)
    if name == "P_RJT":
        t.put(stories.link_service(0x03, stories.B, stories.A, 7, stories.service_parameters(1)), 0x2D)
        t.put(stories.header(0xC2, stories.A, stories.B, 1, 0x980000, 0, 0, 0, 7, 0xFFFF, 0x01040000), 0x2D, after=300)
    else:
        t.login(), t.setup(), t.message(0)
        t.put(stories.link_service(0x04, stories.F_PORT, 0, 7, stories.service_parameters(0x10000000C9010100)))
        t.put(stories.link_service(0x02, 0x011000, stories.F_PORT, 7, stories.service_parameters(1), reply=True), after=300)
    t.chatter(30_000_000)
    early = {stories.B, stories.F_PORT, stories.OTHERS[1]}
    frames = sorted((stories.replace(s, us=s.us - 5000) if s.sender in early else s for s in t.frames), key=lambda s: s.us)
    done = fcvi("explain", str(written(frames, tmp_path / "a.pcap", stories.Wrapping("fcoe"))))
    assert "two clocks" in done.stdout and done.returncode == 1
    assert ("was rejected once by P_RJT" if name == "P_RJT" else "the N_Port_ID 011000") in done.stdout


@pytest.mark.parametrize("ends", [(0x11, 0), (0xFF, 0xFF), (0, 0), (0x2E, 0x49)])
def test_delimiters_that_an_export_made_up_are_not_judged(ends: tuple[int, int], tmp_path: Path) -> None:
    """Codes that no standard has, none at all, and an EOFni in frames that were answered."""
    path = written(session(), tmp_path / "a.pcap", stories.Wrapping("fcoe", ends=ends))
    summary, _ = lint(path)
    said: list[str] = summary["records"]["capture"]  # type: ignore[index]
    assert summary["malformed"] == 0 and len(said) == (ends != (0, 0)) + (ends[1] == 0xFF)
    assert fcvi("explain", str(path)).returncode == 0


@pytest.mark.parametrize("of_all", [True, False])
def test_a_host_that_marks_all_its_frames_marks_its_login_too(of_all: bool, tmp_path: Path) -> None:
    """FLOGI has the S_ID 000000, of which the other frames of that host say nothing. One that is marked alone is damaged."""
    name, ox = 0x10000000C9000000 + stories.A, 0x77
    flogi = stories.link_service(0x04, stories.F_PORT, 0, ox, stories.service_parameters(name))
    answer = stories.link_service(0x02, stories.A, stories.F_PORT, ox, stories.service_parameters(1), reply=True)
    frames = session()
    login = [stories.Seen(frames[0].us - 90, flogi, eof=stories.EOF_NI), stories.Seen(frames[0].us - 50, answer)]
    marked = [stories.replace(s, eof=stories.EOF_NI) if of_all and s.sender == stories.A else s for s in frames]
    summary, status = lint(written(login + marked, tmp_path / "a.pcap", stories.Wrapping("fcoe")))
    assert (summary["malformed"], status) == ((0, 0) if of_all else (1, 1))
    assert fcvi("explain", str(tmp_path / "a.pcap")).returncode == 0


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


def test_a_clock_that_is_set_back_among_frames_that_are_there_twice(tmp_path: Path) -> None:
    """A frame of the second capture point comes some microseconds after a later one of the first: that is no order of the times."""
    frames = [copy for s in session() for copy in (s, stories.replace(s, us=s.us + 30))]
    half = next(n for n, s in enumerate(frames) if n > len(frames) // 2 and s.opcode == 0)
    frames = frames[:half] + [stories.replace(s, us=s.us - 3_600_000_000) for s in frames[half:]]
    done = fcvi("explain", str(written(frames, tmp_path / "a.pcap", stories.Wrapping("bare"))))
    assert "The clock of the capture goes back by" in done.stdout and "1 Connection; nothing went wrong" in done.stdout


@pytest.mark.parametrize("begin", [0, 4, 9])
@pytest.mark.parametrize("port", [stories.A, stories.B])
def test_a_capture_of_one_direction_in_which_a_port_answers_lacks_the_questions(port: int, begin: int, tmp_path: Path) -> None:
    t = stories.Talk(Random(4))
    t.ends, t.level = (stories.A, stories.B), 3
    t.login(), t.setup()
    for n in range(4):
        t.message(n % 2, 64)
    t.disconnect(), t.chatter(60_000_000)
    frames = [s for s in t.frames[begin:] if s.sender in (port, *stories.OTHERS)]
    done = fcvi("explain", str(written(frames, tmp_path / "a.pcap", stories.Wrapping("fcoe"))))
    assert done.returncode == 0 and "The capture lacks frames in" in done.stdout, done.stdout


def test_a_message_that_was_answered_had_arrived_whatever_the_capture_lacks_of_it(tmp_path: Path) -> None:
    """Two frames of a Message and a whole one are not there; a later Message has no Response, and is aborted."""
    t = stories.Talk(Random(4))
    t.ends, t.level = (stories.A, stories.B), 3
    t.setup(), t.message(0, 64), t.message(0, 9000, lost=2)
    begin = len(t.frames)
    t.message(0, 64)
    del t.frames[begin:]
    t.message(0, 64)
    ox, _ = t.message(0, 64, answered=False)
    t.abort(0, ox, stories.R_A_TOV_US), t.disconnect(0, 0x40)
    done = fcvi("explain", str(written(t.frames, tmp_path / "a.pcap", stories.Wrapping("fcoe"))))
    assert done.returncode == 1 and "lacks frames in 2 places" in done.stdout and "did not take" not in done.stdout
    assert "a Message Response was lost" in done.stdout


def test_frames_of_one_time_did_not_overtake_each_other(tmp_path: Path) -> None:
    """Where a file is not in the order of its times, the order of those is not known."""
    t = stories.Talk(Random(4))
    t.ends, t.level = (stories.A, stories.B), 3
    t.login(), t.setup(), t.message(0, 64)
    ox, _ = t.message(0, 9000, answered=False)
    t.abort(0, ox, stories.R_A_TOV_US), t.disconnect(0, 0x40)
    frames = t.frames
    at = next(n for n, s in enumerate(frames) if s.opcode == 0 and len(s.data) > 1000)
    when = frames[at].us
    same = [stories.replace(s, us=when) for s in frames[at : at + 5]]
    shuffled = [*frames[1:at], frames[0], same[0], same[3], same[1], same[2], same[4], *frames[at + 5 :]]
    done = fcvi("explain", str(written(shuffled, tmp_path / "a.pcap", stories.Wrapping("fcoe"))))
    assert "are taken in the order of their times" in done.stdout and "1. frames overtook" not in done.stdout
    assert done.returncode == 1 and "1. Not known which of 4" in done.stdout and "missing" not in done.stdout


def test_a_message_to_the_handle_that_a_request_offered_shows_that_the_setup_went_on(tmp_path: Path) -> None:
    """A sampled capture: the request, and of all that follows one Message of the responder."""
    t = stories.Talk(Random(4))
    t.ends, t.level = (stories.A, stories.B), 2
    t.setup(0)
    begin = len(t.frames)
    t.message(1, 64), t.chatter(60_000_000)
    path = written(t.frames, tmp_path / "a.pcap", stories.Wrapping("fcoe"))
    done = fcvi("explain", str(path))
    assert done.returncode == 0 and "The capture lacks frames in 1 place " in done.stdout
    assert "1 Connection;" in done.stdout
    del t.frames[begin]
    assert fcvi("explain", str(written(t.frames, path, stories.Wrapping("fcoe")))).returncode == 1


def test_the_window_is_a_number_of_milliseconds() -> None:
    done = fcvi("lint", "--reorder", "0", "x.pcap")
    assert done.returncode == 2 and "between 1 and 3600000 ms" in done.stderr
