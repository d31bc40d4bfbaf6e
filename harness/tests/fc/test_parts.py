"""A connect IU in several frames (E44): the lower tester judges its payload as a whole, or not at all."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from fcvi.engine.attachment import Notification
from fcvi.engine.pixit import Pixit
from fcvi.fc import build, tester as lower
from fcvi.fc.configuration import configuration

_WRONG = "FCVI-6.8.3-01"  # FCVI_REVISION is not that of the standard: all bytes of the payload are zero
_PLAIN = 340  # bytes of a connect payload (Table 13)


def requirements_of(order: list[int], size: int = _PLAIN) -> tuple[dict[str, int], list[int]]:
    """What the tester finds in the connect payload, by requirement with its frame, when these parts of a CONNECT_RQST come;
    and how long each payload is that it hands to a case."""
    pixit = Pixit()
    config: dict[str, Any] = configuration(pixit, 1, {})
    device: Any = SimpleNamespace(now_us=0, send_frame=lambda frame: None)
    tester = lower.Tester(device, pixit, config, Random(1))
    ids = {"d_id": tester.n_port_id, "s_id": tester.dut_id}
    head = build.Envelope(**ids, ox_id=0x1234, seq_id=7, receive_size=160)
    frames = build.iu_frames("CONNECT_RQST", head, {"FCVI_HANDLE": 0xFFFFFFFF, "FCVI_CONNECTION_ID": 1}, bytes(size))
    assert len(frames) == 3
    for number in order:
        tester.take_in(Notification("frame", None, 0, 0, frames[number]))
    found = {f.requirement: f.frame or 0 for f in tester.findings if f.requirement.startswith("FCVI-6.8")}
    return found, [len(iu.payload) for iu in tester.inbox]


def test_the_whole_is_judged_where_its_last_part_came() -> None:
    found, lengths = requirements_of([0, 1, 2])
    assert found.get(_WRONG) == 3 and lengths == [_PLAIN]


def test_a_payload_of_the_wrong_length_is_one() -> None:
    found, lengths = requirements_of([0, 1, 2], size=_PLAIN + 4)
    assert found.get("FCVI-6.8.1-04") == 3 and lengths == [_PLAIN + 4]


@pytest.mark.parametrize("order", [[0, 2], [1, 2], [1, 0, 2]])
def test_what_lacks_a_part_says_nothing(order: list[int]) -> None:
    found, _ = requirements_of(order)
    assert _WRONG not in found and "FCVI-6.8.1-04" not in found
