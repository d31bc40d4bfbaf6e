"""``fcvi learn``: the machine of a device, whole or said to be not, gone on with, drawn and compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.tests.faulty import Fault, FaultyDut, returns
from fcvi.dut.ref import DirectDut
from fcvi.learn.draw import plain
from fcvi.learn.learner import Learner
from fcvi.learn.mealy import Mealy, apart, differences
from fcvi.learn.teacher import Teacher
from fcvi.random.campaign import player_of

from .. import starts

FCVI = [sys.executable, "-m", "conformance"]
SMALL = ("request", "resp1", "resp3", "vipdisc", "discresp")


def fcvi(*args: str) -> subprocess.CompletedProcess[str]:
    return starts.run([*FCVI, *args], capture_output=True, text=True, timeout=120, check=False)


class Told:
    """A teacher that answers from a machine."""

    queries = 0

    def __init__(self, machine: Mealy) -> None:
        self._machine = machine

    def ask(self, word: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The machine's outputs."""
        return self._machine.run(word)


def counter(size: int) -> Mealy:
    """Counts "up" to size and then begins anew, which alone is told."""
    step = {}
    for state in range(size):
        step[state, "up"] = (state + 1) % size, ("round",) if state == size - 1 else ()
        step[state, "stay"] = state, ()
    return Mealy(("up", "stay"), step)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_known_machine_is_learned(size: int) -> None:
    learned = Learner(Told(counter(size)), ("up", "stay"), 2).learn()  # type: ignore[arg-type]
    assert learned.complete and learned.states == size
    assert list(differences(learned, counter(size), 1)) == []


def test_the_reference_as_a_client() -> None:
    machine = Learner(Teacher(player_of(DirectDut()), (), None, None), SMALL).learn()
    assert machine.complete
    outputs = machine.run(("request", "resp1", "resp3", "vipdisc", "discresp"))
    assert outputs[0] == ("CONNECT_RQST", "connect_pending")
    assert outputs[1] == ("CONNECT_RESP2", "VipConnectRequest=VIP_SUCCESS", "connected")
    assert outputs[-1] == ("VipDisconnect=VIP_SUCCESS", "idle")


def test_a_difference_is_found_with_its_shortest_word() -> None:
    one = Learner(Teacher(player_of(DirectDut()), (), None, None), SMALL).learn()
    fault = Fault("says-timeout", "", "", results={"VipDisconnect": returns("VIP_TIMEOUT")})
    other = Learner(Teacher(player_of(FaultyDut(fault)), (), None, None), SMALL).learn()
    word, left, right = next(differences(one, other, 1))
    assert word == ("vipdisc",)
    assert left == ("VipDisconnect=VIP_SUCCESS", "idle") and right == ("VipDisconnect=VIP_TIMEOUT", "idle")


def test_too_few_queries_are_said_and_the_next_run_goes_on(tmp_path: Path) -> None:
    answers, out = tmp_path / "answers", tmp_path / "out"
    args = ["learn", "--dut", "ref", "--letters", ",".join(SMALL), "--answers", str(answers), "--out", str(out)]
    first = fcvi(*args, "--queries", "20")
    assert first.returncode == 4 and "not complete: --queries 20" in first.stdout
    assert fcvi(*args).returncode == 2  # the machine of the first run is there
    args.append("--force")
    second = fcvi(*args)
    assert second.returncode == 0 and "20 answers known before" in second.stdout
    third = fcvi(*args)
    assert third.returncode == 0 and " 0 queries" in third.stdout
    machine = json.loads((out / "machine.json").read_text())
    assert machine["complete"] and machine["states"] > 3
    assert (out / "machine.dot").read_text().startswith("digraph")
    assert "<svg" in (out / "machine.svg").read_text()
    same = fcvi("learn", "diff", str(out / "machine.json"), str(out / "machine.json"))
    assert (same.returncode, same.stdout) == (0, "0 differences, 0 undecided\n")


@pytest.mark.parametrize("text", ["", "{}", '{"fcvi-learn": 1}', "[1]"])
def test_what_is_no_machine_is_status_2(tmp_path: Path, text: str) -> None:
    path = tmp_path / "machine.json"
    path.write_text(text)
    done = fcvi("learn", "diff", str(path), str(path))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and str(path) in done.stderr


@pytest.mark.parametrize("args", [[], ["--dut", "ref", "--letters", "x"], ["diff", "a"], ["--dut", "ref", "--settings", "x"]])
def test_wrong_usage_is_one_line(args: list[str]) -> None:
    done = fcvi("learn", *args)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


def test_states_are_told_apart_by_a_shortest_word() -> None:
    assert apart(counter(3), 0, 2) == ("up",)
    assert apart(counter(3), 0, 1) == ("up", "up")


def test_a_machine_is_drawn_without_graphviz() -> None:
    drawing = plain(counter(3))
    assert drawing.count("<circle") == 3 and "up / round" in drawing


def test_answers_out_of_a_pipe_are_refused(tmp_path: Path) -> None:
    """It would be waited for without end."""
    os.mkfifo(tmp_path / "answers")
    done = fcvi("learn", "--dut", "ref", "--letters", SMALL[0], "--answers", str(tmp_path / "answers"))
    assert done.returncode == 2 and done.stderr == f"fcvi: {tmp_path / 'answers'}: not a regular file\n"


def test_letters_of_only_one_machine_are_told_and_not_compared(tmp_path: Path) -> None:
    """No silent "0 differences" of a client's and a peer's machine."""
    for name, letters in (("a", "wait,disc"), ("b", "disc")):
        made = fcvi("learn", "--dut", "ref", "--letters", letters, "--depth", "1", "--out", str(tmp_path / name))
        assert made.returncode == 0, made.stderr
    done = fcvi("learn", "diff", str(tmp_path / "a/machine.json"), str(tmp_path / "b/machine.json"))
    assert done.returncode == 4 and "the letter: wait" in done.stderr
