"""Tests what the suite itself took of the time that a timer of the device ran."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fcvi.engine.attachment import Reply
from fcvi.engine.own_part import OwnPart
from fcvi.fc.device_timers import DeviceTimers


@pytest.mark.parametrize("awaited", [False, True])
def test_a_call_that_the_case_only_waits_for_casts_no_doubt(awaited: bool) -> None:
    """A Timeout of 1 ms is over before any suite looks again: nothing is spoilt where the case had nothing else to do."""
    own, reply = OwnPart(10_000, 150_000, True), Reply("VipSendWait", done=True, time_us=8_000)
    own.asked(reply, 0, 1_000, "VipSendWait")
    if awaited:
        own.awaited(reply)
    own.conclude(20_000)
    assert own.begun(30_000) is not awaited


@pytest.mark.parametrize("iu, wanted", [("CONNECT_RQST", []), ("CONNECT_RESP1", [4_000_000]), ("CONNECT_RESP2", [])])
def test_t2_runs_behind_a_resp1_of_the_device_alone(iu: str, wanted: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice R_A_TOV for the CONNECT_RESP2 of the other side (8.3)."""
    own = OwnPart(10_000, 150_000, True)
    begun: list[tuple[Any, int]] = []
    monkeypatch.setattr(own, "runs", lambda key, since_us, length_us, what: begun.append((key, length_us)))
    view: Any = SimpleNamespace(kind="iu", iu=iu)
    DeviceTimers(own, {"r_a_tov_us": 2_000_000, "e_d_tov_us": 1_000_000}).came(view, ("A", 1), 0, False)
    assert [length_us for (name, _), length_us in begun if name == "T2"] == wanted
