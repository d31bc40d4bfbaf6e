"""Tests what a trace keeps of a device that was let work for no time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Optional

import pytest

from fcvi.engine.attachment import Dut, DutError, Notification, Reply
from fcvi.engine.evidence import EvidenceError, load_trace
from fcvi.engine.player import PlayerDut, TraceMismatch
from fcvi.engine.record import RecordingDut, entries_of


class Scripted(Dut):
    """A device that says at each advance what it was told to: a notification, an answer, another timer, or nothing."""

    def __init__(self, script: list[str]) -> None:
        super().__init__()
        self.spec, self.implementation, self.version, self.clock, self.pics = "scripted", "scripted", "1", "virtual", {}
        self.now_us, self.next_us, self.knows_next = 0, None, True
        self.script, self.asked = script, [Reply("mem.read")]

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        return self.asked[-1]

    def notify(self, method: str, params: dict[str, Any]) -> None:
        pass

    def reset(self, config: dict[str, Any]) -> None:
        self.now_us, self.next_us = 0, None

    def restart(self) -> None:
        pass

    def close(self) -> None:
        pass

    def advance(self, us: int) -> None:
        self.now_us += us
        said = self.script.pop(0)
        if said == "note":
            self.inbox.append(Notification("log", {"text": "x"}, self.now_us, self.now_us))
        elif said == "answer":
            self.asked[-1].done, self.asked[-1].result = True, {"hex": "a5"}
        elif said == "timer":
            self.next_us = 7
        elif said == "fault":
            raise DutError("it went away")


def recorded(script: list[str], us: Optional[list[int]] = None) -> bytes:
    """The lines of a reset, a request, and an advance for each word of the script."""
    dut = RecordingDut(Scripted(list(script)))
    dut.reset({})
    dut.request("mem.read", {"mem": 0})
    for step in us or [0] * len(script):
        try:
            dut.advance(step)
        except DutError:
            pass
    return dut.take()


def test_nothing_happened_is_a_count_in_the_entry_before() -> None:
    lines = recorded(["", "", "note", "", "answer", "timer", "", "", ""])
    assert [json.loads(line).get("idle", 0) for line in lines.splitlines()] == [0, 2, 1, 0, 3]


@pytest.mark.parametrize("script, us", [
    (["", "", "note", "", "answer", "timer", "", "", ""], None),
    (["", "fault", "", "", "note"], None),
    (["", "", "answer", ""], [0, 5, 0, 5]),
])  # fmt: skip
def test_entries_are_those_of_every_single_operation(script: list[str], us: Optional[list[int]]) -> None:
    entries = entries_of(recorded(script, us))
    assert [e["op"] for e in entries] == ["reset", "request"] + ["advance"] * len(script)
    assert [e["us"] for e in entries[2:]] == (us or [0] * len(script))
    for said, entry in zip(script, entries[2:]):
        assert ("notes" in entry, "done" in entry, "error" in entry) == (said == "note", said == "answer", said == "fault")
    after = [i for i, said in enumerate(script) if said == "timer"]
    assert [e["next"] for e in entries[2:]] == [7 if after and i >= after[0] else None for i in range(len(script))]


def test_the_player_wants_as_many_operations_as_there_were() -> None:
    identity = {"clock": "virtual", "pics": {}, "implementation": "x", "version": "1"}
    player = PlayerDut(entries_of(recorded(["", ""])), identity)
    player.reset({})
    player.request("mem.read", {"mem": 0})
    player.advance(0)
    player.advance(0)
    with pytest.raises(TraceMismatch, match="after the last entry"):
        player.advance(0)


@pytest.mark.parametrize("idle", [-1, 1_000_000, "3", 1.5, [], True, None])
def test_a_count_that_is_none_is_told_with_its_line(idle: object, tmp_path: Path) -> None:
    (tmp_path / "evidence").mkdir()
    lines = [{"trace": 2, "case": "a/b"}, {"op": "reset", "params": {}, "now": 0, "idle": idle}]
    (tmp_path / "evidence/a__b.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(EvidenceError, match="a__b.jsonl: line 2: its idle is no count"):
        load_trace(tmp_path, "a/b")


def test_a_trace_of_the_first_version_is_read_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "evidence").mkdir()
    lines = [{"trace": 1, "case": "a"}, {"op": "advance", "us": 0, "now": 0}, {"op": "advance", "us": 0, "now": 0}]
    (tmp_path / "evidence/a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert load_trace(tmp_path, "a") == lines[1:]
