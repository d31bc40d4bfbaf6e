"""A further port of the tester that a link has to be told of first: what a trace says of it, and a case that plays one."""

from __future__ import annotations

import json
from typing import Any, Mapping

import pytest

from fcvi.engine.attachment import Unavailable
from fcvi.engine.player import PlayerDut
from fcvi.engine.record import RecordingDut

from .dummy_protocol.device import Counter

PORT = {"n_port_id": "00a1c3", "port_name": "10000000c90000f1", "node_name": "20000000c90000f1", "host": ["fe80" + "00" * 14]}


class Slow(Counter):
    """Its link takes the port in at the third question, or refuses it."""

    def __init__(self, refuses: bool = False) -> None:
        super().__init__("counter")
        self._asked, self._refuses = 0, refuses

    def joined(self, port: Mapping[str, Any]) -> bool:
        assert port["n_port_id"] == "00a1c3"
        self._asked += 1
        if self._refuses:
            raise Unavailable("another port has it")
        return self._asked > 2


def played(recorder: RecordingDut) -> PlayerDut:
    """The device of the trace."""
    identity = {"clock": "virtual", "pics": {}, "implementation": "counter", "version": "1"}
    return PlayerDut([json.loads(line) for line in recorder.take()], identity)


def test_a_trace_repeats_how_often_the_link_was_asked() -> None:
    recorder = RecordingDut(Slow())
    assert [recorder.joined(PORT) for _ in range(3)] == [False, False, True]
    player = played(recorder)
    assert [player.joined(PORT) for _ in range(3)] == [False, False, True]
    player.finish()
    assert player.mismatch is None


def test_a_trace_repeats_that_the_link_cannot_have_the_port() -> None:
    recorder = RecordingDut(Slow(refuses=True))
    with pytest.raises(Unavailable):
        recorder.joined(PORT)
    with pytest.raises(Unavailable, match="another port has it"):
        played(recorder).joined(PORT)


def test_a_link_that_announces_nothing_leaves_no_word_in_a_trace() -> None:
    recorder = RecordingDut(Counter("counter"))
    assert recorder.joined(PORT) and recorder.take() == []
