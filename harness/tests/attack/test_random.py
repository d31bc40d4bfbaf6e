"""``fcvi random``: finds what is broken, accuses nobody who is right, and says the same for the same seed."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.fcvi import words
from conformance.tests.bank.device import BankDut, Broken
from conformance.tests.bank.table import bank
from conformance.tests.faulty import Fault, FaultyDut
from conformance.tests.variants import device
from fcvi.dut.ref import DirectDut
from fcvi.engine import target
from fcvi.fc import codec
from fcvi.fc.build import RawFrame
from fcvi.random.against import Comparison
from fcvi.random.campaign import Attachment, Limits, player_of, play_word, search
from fcvi.random.decided import Decision, decisions
from fcvi.random.shrink import shrink
from fcvi.random.word import Word, parse

from .. import starts

FCVI = [sys.executable, "-m", "conformance"]


def fcvi(*args: str) -> subprocess.CompletedProcess[str]:
    return starts.run([*FCVI, *args], capture_output=True, text=True, timeout=120, check=False)


def accepts_late_retries(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
    """A RETRY that nobody waits for is accepted, with the handle of nobody: FCVI_RESP_HANDLE FFFFFFFFh (5.9.2)."""
    if view.get("DH", "RESP_RETRY") and view.get("DH", "CONN_STS"):
        codec.put("DH", "CONN_STS", buf, 0, view.dh_offset)
        codec.put("DH", "FCVI_PARAMETER", buf, 0, view.dh_offset)


UNASSIGNED_HANDLE = Fault("accepts-late-retries", "", "FCVI-5.9.2-03", out={"CONNECT_RESP1": accepts_late_retries})


def found_by(dut: Any, steps: int, seed: int = 1) -> set[str]:
    found, _ = search(player_of(dut), Attachment(target.parse("ref")), seed, 1, Limits(steps), lambda tally: None)
    return {one.played.findings[0].requirement for one in found}


def test_nothing_is_found_in_the_reference() -> None:
    assert found_by(DirectDut(), 12_000) == set()


@pytest.mark.parametrize("seed", range(1, 13))
def test_no_conforming_device_is_accused(seed: int) -> None:
    player = player_of(device(seed))
    found = [play_word(player, seed, number) for number in range(25)]
    accused = [(str(p.word), p.findings[0]) for p in found if p.findings and p.findings[0].requirement != "FCVI-5.9.2-03"]
    assert accused == []
    assert not [p.error for p in found if p.error]


@pytest.mark.parametrize(
    "seed,word",
    [
        (67, "long-discriminator: destroy rest"),  # a device with one VI: the one that was destroyed makes no room
        (411, "request skip resp1-20 resp3 rest rest"),  # RESP3 before a late RESP2
    ],
)
def test_words_that_once_accused_a_conforming_device(seed: int, word: str) -> None:
    played = player_of(device(seed)).play(parse(word, words.LETTERS, words.SETTINGS))
    assert (played.findings, played.error) == ([], "")


def test_a_device_that_creates_no_vi_is_told_and_ends_nothing() -> None:
    [broken] = [entry.fault for entry in bank() if entry.name == "rdma-served-though-disabled"]
    assert isinstance(broken, Broken)
    played = player_of(BankDut(broken)).play(parse("wait", words.LETTERS, words.SETTINGS))
    assert played.findings == [] and "no frame of the device was ever seen" in played.error


def test_the_handle_of_nobody_is_found_and_the_word_is_short() -> None:
    player = player_of(FaultyDut(UNASSIGNED_HANDLE))
    found, _ = search(player, Attachment(target.parse("ref")), 1, 1, Limits(60_000, findings=1), lambda tally: None)
    assert [one.played.findings[0].requirement for one in found] == ["FCVI-5.9.2-03"]
    assert len(found[0].played.word.letters) <= 9
    assert "retry" in found[0].played.word.letters


def test_most_of_some_broken_devices_are_found() -> None:
    chosen = bank()[3::40]
    missed = []
    for entry in chosen:
        dut = BankDut(entry.fault) if isinstance(entry.fault, Broken) else FaultyDut(entry.fault)
        player = player_of(dut)
        if not any(play_word(player, 1, number).findings for number in range(80)):
            missed.append(entry.name)
    assert len(chosen) >= 15
    assert len(missed) * 2 <= len(chosen), missed


def test_the_same_seed_says_the_same_with_two_jobs() -> None:
    one, two = (fcvi("random", "--dut", "ref", "--steps", "3000", "--json", "--jobs", jobs) for jobs in ("1", "2"))
    assert (one.returncode, one.stderr) == (0, "")
    assert one.stdout == two.stdout
    summary = json.loads(one.stdout.splitlines()[-1])["summary"]
    assert summary["steps"] >= 3000 and summary["findings"] == 0


def test_a_finding_is_written_as_a_recording_and_a_case(tmp_path: Path) -> None:
    from fcvi.random import write
    from fcvi.replay.bare import load  # a capture with its expectations

    player = player_of(FaultyDut(UNASSIGNED_HANDLE))
    word = parse("wait rqst accept resp2 vipdisc discresp retry", words.LETTERS, words.SETTINGS)
    played = player.play(word)
    assert [f.requirement for f in played.findings] == ["FCVI-5.9.2-03"]
    from fcvi.random.campaign import Found

    place = write.write(tmp_path, player, Found(played))
    recording = load(place / "word.pcapng", None, place / "word.toml")
    assert [e.frame.data for e in recording.frames("tester")] == [f.data for f in played.trace if f.sender == "tester"]
    compile((place / "case.py").read_text(), "case.py", "exec")
    assert json.loads((place / "word.json").read_text())["word"] == str(word)


class Unseen(DirectDut):
    """A device whose frames do not come to the suite: an agent on a wire of its own."""

    def _frame(self, frame: RawFrame) -> None:
        pass


def test_a_device_whose_frames_nobody_sees_is_not_accused() -> None:
    player = player_of(Unseen())
    played = player.play(parse("request resp1", words.LETTERS, words.SETTINGS))
    assert played.findings == [] and "no frame" in played.error


@pytest.mark.parametrize("attached", [("--dut", "exec:build/fcvi-agent"), ("--dut", "ref", "--against", "exec:build/fcvi-agent")])
def test_a_device_without_a_wire_is_told_in_one_line(attached: tuple[str, ...]) -> None:
    done = fcvi("random", *attached, "--steps", "2000", "--progress", "never")
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1 and "has no wire" in done.stderr


def test_letters_that_the_finding_does_not_need_are_left_out() -> None:
    word = Word(("class2", "small"), tuple("abcdefgh"), 5)
    cut = shrink(word, lambda w: {"c", "g"} <= set(w.letters) and w.letters.index("c") < w.letters.index("g"))
    assert cut == Word((), ("c", "g"), 5)


def test_a_word_is_read_as_it_is_written() -> None:
    for text in ("wait rqst accept", "class2 reception: wait rqst"):
        assert str(parse(text, words.LETTERS, words.SETTINGS)) == text


@pytest.mark.parametrize("text", ["wait nonsense", "class9: wait", "", "class2:"])
def test_a_wrong_word_is_one_line_and_status_2(text: str) -> None:
    done = fcvi("random", "--dut", "ref", "--word", text)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


def test_two_equal_devices_do_not_differ() -> None:
    comparison = Comparison(player_of(DirectDut()), player_of(DirectDut()))
    comparison.search(1, Limits(1500), lambda tally: None)
    assert comparison.shortest() == []
    assert comparison.tally.steps >= 1500


def test_a_breach_a_choice_and_an_undecided_difference_are_told_apart() -> None:
    broken = Comparison(player_of(DirectDut()), player_of(FaultyDut(UNASSIGNED_HANDLE)))
    broken.word(parse("wait rqst accept resp2 vipdisc discresp retry", words.LETTERS, words.SETTINGS))
    assert [d.cls for d in broken.shortest()] == ["breach"]
    assert "FCVI-5.9.2-03" in broken.shortest()[0].why

    other = Fault("other-code", "", "", results={"VipConnectAccept": lambda d, r: {**r, "return": "VIP_NOT_REACHABLE"}})
    aborted = Comparison(player_of(DirectDut()), player_of(FaultyDut(other)))
    aborted.word(parse("wait rqst accept vipdisc", words.LETTERS, words.SETTINGS))
    assert [(d.cls, str(d.word)) for d in aborted.shortest()] == [("erratum", "wait rqst accept vipdisc")]

    mute = Fault("no-callback", "", "", mute={"error"})
    muted = Comparison(player_of(DirectDut()), player_of(FaultyDut(mute)))
    muted.word(parse("request r-a-tov baacc r-a-tov baacc r-a-tov vipdisc discresp", words.LETTERS, words.SETTINGS))
    assert all(d.cls in ("undecided", "choice", "erratum") for d in muted.shortest())


def test_every_decision_names_letters_that_there_are() -> None:
    from fnmatch import fnmatchcase

    for decision in decisions(words):
        for glob in (*decision.letters, *decision.before):
            assert any(fnmatchcase(name, glob) for name in words.LETTERS), glob
        assert decision.reason and decision.clause


def test_a_decision_is_about_what_came_since_all_was_over_and_about_how_not_whether() -> None:
    decision = Decision("choice", "9.9", "why", ("b*",), ("answer*",), before=("a",), both=True)
    sides = (("answer-1",), ("answer-2",))
    assert decision.covers(("a", "c", "bb"), 2, "answer-1", sides)
    assert not decision.covers(("a", "rest", "bb"), 2, "answer-1", sides)
    assert replace(decision, ever=True).covers(("a", "rest", "bb"), 2, "answer-1", sides)
    assert decision.covers(("a", "rest", "a", "bb"), 3, "answer-1", sides)
    assert not decision.covers(("a", "bb"), 1, "answer-1", (("answer-1",), ()))
    assert not decision.covers(("a", "bb"), 1, "silence", sides)


def test_no_decision_lets_a_connect_call_succeed_on_one_side_alone() -> None:
    """But after a request with the unassigned handle, which may be accepted (E12)."""
    calls = ("VipConnectAccept", "VipConnectRequest", "VipConnectPeerWait")
    wide = [str(d) for d in decisions(words) for call in calls
            if d.erratum != "E12" and "VipDisconnect=*" not in d.items and d.covers(
                (*_BEFORE, d.letters[0].replace("*", "")), len(_BEFORE), f"{call}=VIP_SUCCESS")]  # fmt: skip
    assert wide == []


_BEFORE = tuple(name for name in words.LETTERS if name != "rest")
