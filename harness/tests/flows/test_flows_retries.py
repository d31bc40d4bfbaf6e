"""`fcvi explain` of setups of which the capture shows the retry, and the first try not or damaged."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from fcvi.flows.causes import explain
from fcvi.flows.table import Table
from harness.tests.capture import wrappings as w

from .field import stories
from .field.stories import Seen


@pytest.mark.parametrize("is_damaged", [True, False])
def test_a_damaged_request_before_a_retry_is_what_was_lost(is_damaged: bool, tmp_path: Path) -> None:
    """It is in the capture, so it did reach the capture point, and its receiver dropped it."""
    talk = stories.begun(Random(1))
    talk.talk()
    rqst = next(n for n, s in enumerate(talk.frames) if s.opcode == 0x10)
    first, again = talk.frames[rqst], talk.frames[rqst].data
    talk.frames[rqst] = Seen(first.us, again[:29] + bytes([again[29] | 0x10]) + again[30:], first.sof, first.eof)
    later = [Seen(s.us + 10_000_000, s.data, s.sof, s.eof) for s in talk.frames]
    damaged = [Seen(first.us + 5, again[:16] + b"\x0f\xf0" + again[18:], first.sof, first.eof, good=False)] * is_damaged
    path, how, frames = tmp_path / "a.pcap", stories.Wrapping("fcoe"), [*talk.frames[:rqst], *damaged, *later[rqst:]]
    path.write_bytes(w.pcap(*stories.records(frames, how, Random(1))))
    table = Table()
    table.take(str(path))
    causes = explain(table, table.finish())[0]
    texts = [c.text for c in causes]
    assert ("bit-errors" in [c.name for c in causes[:1]]) == is_damaged
    assert any("its receiver drops it" in text for text in texts) == is_damaged
    assert not is_damaged or not any("did not reach the capture point" in text for text in texts)
