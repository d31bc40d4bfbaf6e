"""`fcvi explain` of captures that show what one port sends, and nothing of the other."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Optional

import pytest

from fcvi.flows.cause import Cause
from fcvi.flows.causes import explain
from fcvi.flows.table import Table

from .field import stories
from .test_flows_claims import STORIES, causes_of

FIELD = Path(__file__).resolve().parents[3] / "pcaps/field"


def sent_by(port: Optional[int], name: str, path: Path) -> list[Cause]:
    """What is explained of what a port sends in a capture of linktype 225, or of all of it."""
    data = (FIELD / f"{name}.pcap").read_bytes()
    assert struct.unpack_from("<I", data, 20)[0] == 225
    at, out = 24, [data[:24]]
    while at < len(data):
        end = at + 16 + struct.unpack_from("<I", data, at + 8)[0]
        if port is None or data[at + 25 : at + 28] == port.to_bytes(3, "big"):
            out.append(data[at:end])
        at = end
    assert len(out) > 3
    path.write_bytes(b"".join(out))
    table = Table()
    table.take(str(path))
    return explain(table, table.finish())[0]


@pytest.mark.parametrize("port", [None, 0x010101, 0x010202])
def test_a_peer_that_was_early_is_refused_by_right_whoever_is_seen(port: Optional[int], tmp_path: Path) -> None:
    """Who refuses asks later itself, and names in its FCVI_CONNECT_RESP2 the FCVI_HANDLE that it was given (5.3.3)."""
    assert sent_by(port, "peers-one-after-the-other", tmp_path / "a.pcap") == []


@pytest.mark.parametrize("name, words", [
    ("request-alone", "no FCVI_CONNECT_RESP1 reached it in time"), ("message-alone", "no whole Response reached it in time"),
    ("given-up-alone", "as one does that FCVI_CONNECT_RESP1 did not reach"),
])  # fmt: skip
def test_who_gives_up_shows_that_no_answer_reached_it(name: str, words: str, tmp_path: Path) -> None:
    """Whichever direction is captured. No port is named: the answer may have been lost anywhere, or never sent."""
    for seed in range(4):
        causes = causes_of(STORIES[name](stories.Random(f"{name} {seed}")).frames, tmp_path / "a.pcap")
        assert [(c.names, c.party) for c in causes] == [(("unheard-answer",), None)] and words in causes[0].text


def test_a_resp2_without_a_handle_shows_that_the_responder_refused(tmp_path: Path) -> None:
    """5.3.3. A Peer that is refused may be early: of one that is seen alone nothing is said."""
    for seed in range(4):
        frames = STORIES["refused-alone"](stories.Random(f"refused {seed}")).frames
        causes = causes_of(frames, tmp_path / "a.pcap")
        assert [(c.names[0], c.party) for c in causes] == [("unheard-refusal", None)] and "it refused" in causes[0].text
        peer = [stories.replace(s, data=s.data[:29] + b"\x02" + s.data[30:]) if s.opcode == 0x10 else s for s in frames]
        assert "unheard-refusal" not in [c.name for c in causes_of(peer, tmp_path / "b.pcap")]


def test_who_withdraws_waits_for_no_answer(tmp_path: Path) -> None:
    """A Disconnect with CONN_SETUP_ABORT, and the ABTS behind it."""
    for seed in range(4):
        frames = STORIES["request-alone"](stories.Random(f"withdrawn {seed}")).frames
        at = next(n for n, s in enumerate(frames) if s.data[0] == 0x81)
        rqst = next(s.data for s in frames if s.opcode == 0x10)
        gone = rqst[:16] + b"\x0f\xf0" + rqst[18:28] + b"\x12\x06" + rqst[30:56]
        withdrawn = [*frames[:at], stories.Seen(frames[at].us - 1, gone), frames[at]]
        assert "unheard-answer" not in [c.name for c in causes_of(withdrawn, tmp_path / "a.pcap")]
