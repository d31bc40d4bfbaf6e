"""The bank: captures of each cause, seen from either port.

Usage: python3 -m harness.tests.flows.field.bank prints the table: named and right, said not to be known (with the cause among those
that look alike from the capture point), nothing said, wrong; whether an innocent party was named; and how often the likeliest of
those that look alike is right. That the capture does not show more is proven in twins.py.
"""

from __future__ import annotations

import gc
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Callable

from _fcvi import lib

from fcvi.flows.causes import explain
from fcvi.flows.table import Table

from .world import IDS, World

DROP, DELAY, CORRUPT, F_BSY, F_RJT = 1, 3, 4, 8, 9
SEEDS = 10
HELD_OUT = range(7000, 7010)  # no rule was made or changed for what these show
SAID = ("right", "not-known", "nothing", "wrong")
_LONG = 40_000_000


def _world(r: Random, **options: object) -> World:
    return World(r.randrange(1 << 20), latency_us=r.choice((5, 50, 500, 5000)), **options)  # type: ignore[arg-type]


def _talk(w: World, r: Random, level: int, most: int = 6) -> None:
    for _ in range(r.randint(2, most)):
        w.send(r.randint(0, 1), r.choice((64, 1000, 5000, 9000)))
        w.run(30_000)


def _over(w: World, server: bool = True) -> None:
    w.run(_LONG)
    w.disconnect(0)
    if server:
        w.disconnect(1)
    w.run(_LONG)


def accepted_when(r: Random, accepts: Callable[[World], None], lost: int = -1) -> World:
    """A setup as those of _lost_setup, in which the application accepts in its own way. lost: the opcode that is."""
    w = _world(r)
    if lost >= 0:
        w.rule(DROP, opcode=lost)
    level = r.randint(2, 3)
    for i in (0, 1):
        w.create(i, level)
        w.register(i)
    w.wait()
    w.request()
    accepts(w)
    w.run(20_040_000 - w.now)
    _over(w)
    return w


def _lost_setup(sender: int, opcode: int) -> Callable[[Random], World]:
    def make(r: Random) -> World:
        w = _world(r)
        w.rule(DROP, sender=sender, opcode=opcode)
        w.connect(r.randint(2, 3))
        for _ in range(20):
            if not w.accepted:
                w.accept()
            w.run(1_000_000)
        _over(w)
        return w

    return make


def lost_message(r: Random, action: int = DROP) -> World:
    """One frame of a Send of several frames."""
    w, level = _world(r), r.randint(2, 3)
    w.connect(level)
    _talk(w, r, level)
    w.rule(action, sender=0, opcode=0, skip=r.randint(0, 2))
    w.send(0, 9000)
    w.run(30_000)
    _talk(w, r, level)
    _over(w)
    return w


def lost_response(r: Random) -> World:
    """A Response, with Messages behind it."""
    w = _world(r)
    w.connect(3)
    _talk(w, r, 3)
    w.rule(DROP, sender=1, opcode=8)
    for _ in range(r.randint(2, 4)):
        w.send(0, r.choice((64, 1000, 5000)))
        w.run(30_000)
    _over(w)
    return w


def out_of_order(r: Random) -> World:
    """A Fabric that lets frames overtake, and ports that assume order."""
    w = World(r.randrange(1 << 20), latency_us=r.choice((50, 500)), jitter_us=r.choice((40, 400)), fabric_out_of_order=True)
    sends_of_many_frames(w)
    return w


def sends_of_many_frames(w: World) -> None:
    """Where frames may overtake each other, some do."""
    w.connect(3)
    for _ in range(6):
        w.send(0, 9000)
        w.run(30_000)
    _over(w)


def timeout_too_short(r: Random) -> World:
    """The way there and back takes longer than R_A_TOV."""
    w = World(r.randrange(1 << 20), latency_us=r.choice((520_000, 600_000, 900_000)), r_a_tov_us=1_000_000)
    w.connect(3, settle_us=650_000 if r.random() < 0.5 else 950_000)
    w.accept()
    w.run(_LONG)
    return w


def credit(r: Random, is_clock: bool = False) -> World:
    """Frames of a Message are held back, and everything behind them. is_clock: instead the clocks of both captures are set then."""
    w = _world(r)
    w.connect(3)
    _talk(w, r, 3, 8)
    seq_cnt, delay_us = r.randint(1, 2), r.randint(1_000_000, 6_000_000)
    if not is_clock:
        w.rule(DELAY, sender=0, opcode=0, seq_cnt=seq_cnt, delay_us=delay_us)
    since = [len(seen) for seen in w.seen]
    w.send(0, 9000)
    w.run(10_000_000 - delay_us * is_clock)
    _talk(w, r, 3)
    _over(w)
    for side in (0, 1) if is_clock else ():
        at = next(n for n, (_, data, *_) in enumerate(w.seen[side]) if n >= since[side] and (
            data[14:16] == seq_cnt.to_bytes(2, "big") if side else data[5:8] == IDS[1].to_bytes(3, "big")))  # fmt: skip
        w.seen[side][at:] = [(time_us + delay_us, *rest) for time_us, *rest in w.seen[side][at:]]
    return w


def class_2(action: int) -> Callable[[Random], World]:
    def make(r: Random) -> World:
        w = _world(r, service_class=2)
        w.connect(3)
        _talk(w, r, 3, 4)
        w.rule(action, sender=0, opcode=0, count=r.randint(3, 6))
        for _ in range(3):
            w.send(0, 3000)
            w.run(30_000)
        _over(w)
        return w

    return make


def login_lost(r: Random) -> World:
    """A port logs out while the Connection lives."""
    w = _world(r, explicit=True)
    w.connect(3)
    _talk(w, r, 3)
    lib.fcvi_port_link(w.ports[1], w.now, lib.FCVI_LINK_LOGO)
    w.run(30_000)
    w.send(0)
    w.run(_LONG)
    return w


def _parameters(bit: int) -> Callable[[bytes], bytes]:
    def tamper(data: bytes) -> bytes:
        if data[0] == 0x22 and data[8] == 1 and data[24] == 3:
            at, mask = (32, 0x7F) if bit else (33, 0xFD)
            return data[:at] + bytes([data[at] & mask]) + data[at + 1 :]
        return data

    return tamper


def service_parameters(r: Random) -> World:
    """The client's PLOGI lacks a bit."""
    w = _world(r, explicit=True)
    w.tamper = _parameters(r.randint(0, 1))
    w.connect(3)
    _over(w)
    return w


def no_match(r: Random) -> World:
    """Another Discriminator than the server waits on."""
    w = _world(r)
    w.create(0)
    w.create(1)
    w.wait(1, bytes([r.randint(97, 122)]) * r.randint(1, 12))
    w.request()
    w.run(_LONG)
    return w


def no_waiting(r: Random) -> World:
    """Nobody waits."""
    w = _world(r)
    w.create(0)
    w.create(1)
    w.request()
    w.run(_LONG)
    return w


def rejected(r: Random) -> World:
    """VipConnectReject."""
    w = _world(r)
    w.create(0)
    w.create(1)
    w.wait()
    w.request()
    w.run(r.randint(20_000, 2_000_000))
    w.reject()
    w.run(_LONG)
    return w


def peers(r: Random) -> World:
    """Two Peers whose Discriminators do not match."""
    w = _world(r)
    w.create(0)
    w.create(1)
    w.peer(0, b"left", b"right", 60_000_000)
    w.peer(1, b"right", b"left", 60_000_000)
    w.run(_LONG)
    return w


def memory_protection(r: Random) -> World:
    """An RDMA request with a wrong memory handle, or a region that does not allow it."""
    w, level = _world(r), r.randint(2, 3)
    w.connect(level)
    _talk(w, r, level)
    op = 2 if level == 2 else r.randint(1, 2)
    w.post(0, op, 1000, remote_handle=w.handle[1] ^ r.randint(1, 0xFFFF))
    _over(w)
    return w


def receive_queue_empty(r: Random) -> World:
    """A Send without a receive Descriptor."""
    w, level = _world(r), r.randint(2, 3)
    w.connect(level)
    _talk(w, r, level)
    w.send(0, receive=False)
    _over(w)
    return w


def edition(r: Random, server: int = 0) -> World:
    """The client is of 1999, and the server, whose application does not accept, of 2007 (0) or of 1999 (1)."""
    w = _world(r, revisions=(1, server))
    for i in (0, 1):
        w.create(i)
    w.wait()
    w.request()
    w.run(_LONG)
    return w


def bit_errors(r: Random, action: int = CORRUPT) -> World:
    """A frame of a Message with a bad CRC."""
    w = _world(r)
    w.connect(3)
    _talk(w, r, 3)
    w.rule(action, sender=0, opcode=0, skip=r.randint(0, 2), count=1)
    w.send(0, 9000)
    w.run(30_000)
    _talk(w, r, 3)
    _over(w)
    return w


@dataclass(frozen=True)
class Entry:
    """A cause, how to make it, and who may be named for it."""

    cause: str
    make: Callable[[Random], World]
    parties: frozenset[int] = frozenset()


BANK = [
    Entry("lost-request", _lost_setup(0, 0x10)),
    Entry("lost-resp1", _lost_setup(1, 0x18)),
    Entry("lost-resp2", _lost_setup(0, 0x19)),
    Entry("lost-resp3", _lost_setup(1, 0x1A)),
    Entry("lost-message", lost_message),
    Entry("lost-response", lost_response),
    Entry("out-of-order", out_of_order),
    Entry("timeout-too-short", timeout_too_short),
    Entry("credit-starvation", credit),
    Entry("busy", class_2(F_BSY)),
    Entry("reject", class_2(F_RJT)),
    Entry("login-lost", login_lost, frozenset({IDS[1]})),
    Entry("service-parameters", service_parameters, frozenset({IDS[0]})),
    Entry("no-match", no_match),
    Entry("no-waiting", no_waiting),
    Entry("rejected", rejected, frozenset({IDS[1]})),
    Entry("peers-gave-up", peers),
    Entry("memory-protection", memory_protection),
    Entry("receive-queue-empty", receive_queue_empty),
    Entry("edition-mismatch", edition),
    Entry("bit-errors", bit_errors),
]


def healthy(r: Random) -> World:
    """Nothing is wrong: no cause may be named."""
    w, level = _world(r), r.randint(1, 3)
    w.connect(level)
    _talk(w, r, level)
    _over(w)
    return w


def judge_healthy(seed: int, folder: Path) -> list[str]:
    """What is said of a capture in which nothing is wrong."""
    w = healthy(Random(f"healthy {seed}"))
    path = folder / f"healthy-{seed}.pcap"
    w.capture(seed % 2, path)
    table = Table()
    table.take(str(path))
    causes, unknown = explain(table, table.finish())
    return [c.name for c in causes] + [flow.ended for flow in unknown]


@dataclass
class Verdict:
    """What `explain` said of one capture."""

    where: int
    said: str  # right; not-known: several look alike, and the cause is one of them; nothing; wrong
    first: tuple[str, ...]
    accused: bool  # somebody who did nothing


def judge(entry: Entry, seed: int, where: int, folder: Path) -> Verdict:
    """Make a capture and explain it."""
    w = entry.make(Random(f"{entry.cause} {seed}"))
    path = folder / f"{entry.cause}-{seed}-{where}.pcap"
    w.capture(where, path)
    return verdict(entry, where, path)


def verdict(entry: Entry, where: int, path: Path) -> Verdict:
    """Explain a capture."""
    table = Table()
    table.take(str(path))
    causes, unknown = explain(table, table.finish())
    accused = any(c.party is not None and c.party not in entry.parties for c in causes)
    if not causes or causes[0].name == "no-answer":
        return Verdict(where, "not-known" if causes or unknown else "nothing", causes[0].names if causes else (), accused)
    names = causes[0].names
    said = "wrong" if entry.cause not in names else "right" if len(names) == 1 else "not-known"
    return Verdict(where, said, names, accused)


def all_verdicts(folder: Path, seeds: range = range(SEEDS)) -> dict[str, list[Verdict]]:
    """The bank: of each cause a capture for each seed from each of the two ports."""
    found = {}
    for e in BANK:
        found[e.cause] = [judge(e, seed, where, folder) for seed in seeds for where in (0, 1)]
        gc.collect()  # the tables of Connections are in cycles, and Python does not see how large they are
    return found


def main() -> int:
    """Print the table of the seeds that the rules were made with, and that of others."""
    for title, seeds in (("seeds that the rules were made with", range(SEEDS)), ("held-out seeds", HELD_OUT)):
        with tempfile.TemporaryDirectory() as scratch:
            found = all_verdicts(Path(scratch), seeds)
            alarms = [words for seed in seeds if (words := judge_healthy(seed, Path(scratch)))]
        print(f"{title}: {len(alarms)} false alarms in {len(seeds)} captures without a fault")
        print(f"{'cause':22}" + "".join(f"{word:>10}" for word in (*SAID, "accused", "first")))
        for cause, verdicts in found.items():
            count = [sum(v.said == word for v in verdicts) for word in SAID]
            count += [sum(v.accused for v in verdicts), sum(v.first[:1] == (cause,) for v in verdicts)]
            print(f"{cause:22}" + "".join(f"{n:10}" for n in count))
        every = [v for verdicts in found.values() for v in verdicts]
        known = [v for v in every if v.said != "not-known"]
        right = sum(v.said == "right" for v in known)
        first = sum(v.first[:1] == (cause,) for cause, verdicts in found.items() for v in verdicts)
        print(f"{right} of {len(known)} causes that are named are right ({100 * right / len(known):.1f} %); "
              f"{len(every) - len(known)} of {len(every)} are said not to be known; "
              f"the likeliest is right in {100 * first / len(every):.1f} %")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
