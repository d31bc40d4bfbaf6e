"""`fcvi explain` of captures that show what one port sends, and nothing of the other."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Optional

import pytest

from fcvi.flows.cause import Cause
from fcvi.flows.causes import explain
from fcvi.flows.table import Table

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
