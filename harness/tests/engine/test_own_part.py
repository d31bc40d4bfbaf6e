"""What the suite itself took of the time that a timer of the device ran."""

from __future__ import annotations

import pytest

from fcvi.engine.attachment import Reply
from fcvi.engine.own_part import OwnPart


@pytest.mark.parametrize("awaited", [False, True])
def test_a_call_that_the_case_only_waits_for_casts_no_doubt(awaited: bool) -> None:
    """A Timeout of 1 ms is over before any suite looks again: nothing is spoilt where the case had nothing else to do."""
    own, reply = OwnPart(10_000, 150_000, True), Reply("VipSendWait", done=True, time_us=8_000)
    own.asked(reply, 0, 1_000, "VipSendWait")
    if awaited:
        own.awaited(reply)
    own.conclude(20_000)
    assert own.begun(30_000) is not awaited
