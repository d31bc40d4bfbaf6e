"""A further port of the tester that a link has to be told of first: what a trace says of it, and a case that plays one."""

from __future__ import annotations

import json
from typing import Any, Mapping

import pytest

from conformance.catalogue import load_requirements
from fcvi.dut.ref import RefDut
from fcvi.engine.attachment import Unavailable
from fcvi.engine.case import load_cases
from fcvi.engine.pixit import pixit_for
from fcvi.engine.player import PlayerDut
from fcvi.engine.record import RecordingDut
from fcvi.engine.results import Verdict
from fcvi.engine.runner import run_variant

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
    return PlayerDut([json.loads(line) for line in recorder.take().splitlines()], identity)


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
    assert recorder.joined(PORT) and recorder.take() == b""


class Announced(RefDut):
    """The reference port on a link that keeps back what concerns a port which was not announced."""

    def __init__(self, refuses: bool = False) -> None:
        super().__init__()
        self._refuses, self._port, self._asked = refuses, b"", 0

    def reset(self, config: dict[str, Any]) -> None:
        self._port, self._asked = bytes.fromhex(config["peer"]["n_port_id"]), 0
        super().reset(config)

    def joined(self, port: Mapping[str, Any]) -> bool:
        if self._refuses:
            raise Unavailable("another port has it")
        self._asked += 1
        return self._asked > 2

    def notify(self, method: str, params: dict[str, Any]) -> None:
        if method == "frame" and bytes.fromhex(params["hex"])[5:8] != self._port and self._asked <= 2:
            return
        super().notify(method, params)


@pytest.mark.parametrize("refuses", [False, True])
def test_a_device_that_hears_announced_ports_only_is_not_accused(refuses: bool) -> None:
    """FARP names a second port of the tester (7.5), to which the device may talk once it was announced."""
    levels = {r.id: r.level for r in load_requirements()}
    chosen = [(c, v) for c in load_cases() if c.id == "7.5.request" for v in c.variants
              if v.suffix in ("private-loop/other-port", "private-loop/two-ports")]  # fmt: skip
    dut = Announced(refuses)
    results = [run_variant(dut, c, v, dut.pics, pixit_for("virtual"), levels, 1) for c, v in chosen]
    assert [r.verdict for r in results] == [Verdict.INCONCLUSIVE if refuses else Verdict.PASS] * 2
