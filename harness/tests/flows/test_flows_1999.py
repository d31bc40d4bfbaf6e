"""`fcvi explain` and `fcvi flows` of Connections of Rev 1.0 (1999), which are followed as those of 2007 are, by the draft's IUs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Callable, Optional

import pytest
from _fcvi import lib

from fcvi.capture.reader import Reader
from fcvi.flows.cause import Cause
from fcvi.flows.causes import explain
from fcvi.flows.table import Flow, Table

from harness.tests.capture.wrappings import pcap
from ..conftest import ROOT, fcvi
from .field.bank import DROP
from .field.world import IDS, World

SESSION = ROOT / "pcaps/rev1/session.pcap"
_LONG = 40_000_000


def world(level: int = 3, *, lost: Optional[int] = None, sender: int = 0xFFFFFFFF, count: int = 1, seq_cnt: int = 0xFFFFFFFF,
          explicit: bool = False) -> World:  # fmt: skip
    """Two ports of 1999 with a Connection; lost: the VI_OPCODE of what the Fabric loses from the beginning."""
    w = World(5, revisions=(1, 1), explicit=explicit)
    if lost is not None:
        w.rule(DROP, opcode=lost, sender=sender, count=count, seq_cnt=seq_cnt)
    w.run(100_000)
    w.connect(level)
    return w


def over(w: World) -> World:
    """Long after."""
    w.run(_LONG)
    w.disconnect(0)
    w.disconnect(1)
    w.run(_LONG)
    return w


def refused() -> World:
    """VipConnectReject."""
    w = World(5, revisions=(1, 1))
    w.create(0), w.create(1), w.wait(), w.request()
    w.run(20_000)
    w.reject()
    w.run(_LONG)
    return w


def nobody_waits() -> World:
    """Another Discriminator than that of the request."""
    w = World(5, revisions=(1, 1))
    w.create(0), w.create(1), w.wait(1, b"other"), w.request()
    w.run(_LONG)
    return w


def peers() -> World:
    """Their Discriminators do not match."""
    w = World(5, revisions=(1, 1))
    w.create(0), w.create(1)
    w.peer(0, b"left", b"right", 60_000_000)
    w.peer(1, b"right", b"left", 60_000_000)
    w.run(_LONG)
    return w


def unanswered() -> World:
    """A Message of two frames, and no Response."""
    w = world(lost=0x08, sender=1)
    w.send(0, 3000)
    w.run(_LONG)
    return over(w)


def in_part() -> World:
    """The first frame of a Message is lost."""
    w = world(lost=0x00, sender=0, seq_cnt=0)
    w.send(0, 5000)
    return over(w)


def protection() -> World:
    """An RDMA Write under a strange handle."""
    w = world()
    w.post(0, 1, 1000, remote_handle=w.handle[1] ^ 7)
    return over(w)


def logout() -> World:
    """LOGO of the server while the Connection lives."""
    w = world(explicit=True)
    w.send(0)
    w.run(30_000)
    lib.fcvi_port_link(w.ports[1], w.now, lib.FCVI_LINK_LOGO)
    w.run(_LONG)
    return w


def not_disconnected() -> World:
    """FCVI_DISCONNECT_RESP never comes."""
    return over(world(lost=0x1A, sender=1, count=0))


_SLOW = ("lost-resp1", "lost-request", "slow-accept")
_MESSAGE = ("lost-response", "lost-message", "bit-errors", "out-of-order")
_CASES: dict[str, tuple[Callable[[], World], tuple[str, ...], tuple[str, ...], Optional[int]]] = {
    "refused": (refused, ("rejected",), ("rejected",), IDS[1]),
    "nobody waits": (nobody_waits, ("no-match",), ("no-match",), None),
    "peers": (peers, ("peers-gave-up",), ("peers-gave-up",), None),
    "no RESP1": (lambda: over(world(lost=0x18)), ("edition-mismatch", *_SLOW),
                 ("lost-resp1", "lost-resp2", "timeout-too-short"), None),
    "no RESP2": (lambda: over(world(lost=0x19)), ("lost-resp2",), ("lost-resp2", "lost-resp1", "port-silent"), None),
    "no Response": (unanswered, ("lost-response",), ("lost-response",), None),
    "a part of a Message": (in_part, _MESSAGE, ("lost-message",), None),
    "protection": (protection, ("memory-protection",), ("memory-protection",), None),
    "logout": (logout, ("login-lost",), ("login-lost",), IDS[1]),
    "no DISCONNECT_RESP": (not_disconnected, ("lost-disconnect",), ("lost-disconnect",), None),
}


def told(path: Path) -> tuple[list[Cause], list[Flow]]:
    """What is explained of a capture."""
    table = Table()
    table.take(str(path))
    return explain(table, table.finish())


@pytest.mark.parametrize("name", _CASES)
def test_the_same_causes_are_told(name: str, tmp_path: Path) -> None:
    """From the link of either port. No sentence names a clause of 2007."""
    make, *names, party = _CASES[name]
    w = make()
    for where in (0, 1):
        path = tmp_path / f"{where}.pcap"
        w.capture(where, path)
        causes, unknown = told(path)
        said = fcvi("explain", str(path)).stdout
        if name == "no Response" and where == 0:
            assert causes[0].names[0] == "lost-response"
        else:
            assert causes[0].names == names[where], (where, [c.names for c in causes])
        assert not unknown and {c.party for c in causes} - {None} <= {party}
        assert not re.search(r"\((?:\d+\.\d|Table)", said.replace("pcap", "")), said
        assert all(json.loads(line)["edition"] == "rev1" for line in fcvi("flows", "--json", str(path)).stdout.splitlines())


def test_a_refusal_has_the_code_of_its_edition(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    refused().capture(0, path)
    assert "CONNECT_RESP1 says 01h, Connect Reject." in fcvi("explain", str(path)).stdout
    row = json.loads(fcvi("flows", "--json", str(path)).stdout)
    assert (row["reason"], row["reason_text"], row["ended"]) == (1, "Connect Reject", "refused")


@pytest.mark.parametrize("level", [1, 2, 3])
def test_a_healthy_connection_has_no_cause(level: int, tmp_path: Path) -> None:
    w = world(level)
    for side, length in ((0, 100), (1, 5000), (0, 0), (0, 9000)):
        w.send(side, length)
        w.run(30_000)
        w.post(side, 1, length or 1)
        w.run(30_000)
    if level > 1:
        w.post(0, 2, 4000)
        w.run(30_000)
    over(w)
    for where in (0, 1):
        path = tmp_path / f"{where}.pcap"
        w.capture(where, path)
        done = fcvi("explain", str(path))
        assert done.returncode == 0 and "nothing went wrong" in done.stdout and "lacks" not in done.stdout
        row = json.loads(fcvi("flows", "--json", str(path)).stdout)
        assert row["ended"] == "disconnected" and row["setup_us"] > 0 and row["level"].startswith(("Unr", "Rel"))
        assert (row["unanswered"], row["gaps"], row["late"], row["again"], row["violations"]) == (0, 0, 0, 0, 0)
        assert row["messages"] == ([7, 2] if level > 1 else [6, 2])


def test_a_setup_that_stops_is_told_while_others_talk(tmp_path: Path) -> None:
    """The request alone; of two parties that are both silent about their edition the other one may be of 2007."""
    w = world(lost=0x10, count=0)
    frames = [f for f in w.seen[0] if f[1][0] == 0x02]
    other = World(9)
    other.connect(3)
    moved = [(t, d.replace(b"\1\1\0", b"\2\1\0").replace(b"\1\2\0", b"\2\2\0"), *rest) for t, d, *rest in other.seen[0]]
    later = [(t + 60_000_000, *rest) for t, *rest in moved]
    path = tmp_path / "a.pcap"
    World.plain(path, frames + later)  # type: ignore[operator]
    causes, _ = told(path)
    assert causes and causes[0].names[0] in ("edition-mismatch", "no-answer") and causes[0].score < 70
    # who speaks 2007 does not understand it
    known = [(t - 60_000_000, data, *rest) for t, data, *rest in other.seen[0]]
    World.plain(path, [(t + 61_000_000, *rest) for t, *rest in [*known, *frames]])  # type: ignore[operator,misc]
    causes, _ = told(path)
    assert [c.names for c in causes] == [("edition-mismatch",)] and causes[0].score >= 90 and causes[0].party is None


def test_an_iu_of_several_sequences_may_count_from_its_own_first_byte(tmp_path: Path) -> None:
    """5.6.6: the displacement is of the IU, so that each Sequence of a Message may begin with 0."""
    from ..fc import rev1_bytes

    frames = rev1_bytes.session()
    write = frames[5]
    first = write[:9] + b"\x20\0\x08" + write[12:]  # neither the last Sequence nor the Sequence Initiative
    second = write[:12] + b"\1" + write[13:15] + b"\1" + write[16:]
    path = tmp_path / "a.pcap"
    path.write_bytes(rev1_bytes.capture([*frames[:5], first[:9] + b"\x28\0\x08" + first[12:], second, *frames[6:]]))
    row = json.loads(fcvi("flows", "--json", str(path)).stdout)
    assert (row["messages"], row["again"], row["late"], row["gaps"], row["unanswered"]) == ([2, 0], 0, 0, 0, 0)
    assert row["bytes"][0] == 8 + 64 + 64


def test_a_disconnect_takes_the_number_of_the_next_message(tmp_path: Path) -> None:
    """6.10: before a Message behind its sender's Disconnect, of which the draft says nothing, none is missing."""
    with Reader(str(SESSION)) as reader:
        frames = [(record.time_us, bytes(record.data)) for record in reader]
    gone = next(n for n, (_, data) in enumerate(frames) if data[28] == 0x12)
    ends, ident = frames[gone][1][1:8], int.from_bytes(frames[gone][1][32:36], "big")
    last = next(data for _, data in reversed(frames[:gone]) if data[28] == 0 and data[1:8] == ends)
    frames.append((frames[-1][0] + 10, last[:16] + b"\x0f\xf0" + last[18:32] + (ident + 1).to_bytes(4, "big") + last[36:]))
    path = tmp_path / "c.pcap"
    path.write_bytes(pcap(224, frames))
    table = Table()
    table.take(str(path))
    assert explain(table, table.finish()) == ([], []) and not table.lacking.count
    assert not sum(int(table.scan.at(flow.index).way[side].gaps) for flow in table.flows.values() for side in (0, 1))
