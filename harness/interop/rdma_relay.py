"""The link between two guests, which loses, doubles, delays and damages frames.

Each end sends its Ethernet frames as datagrams to a Unix socket of the relay, `DIR/relay0` or `DIR/relay1`, and has those of the
other end at `DIR/net0` or `DIR/net1`, as QEMU's `-netdev dgram` does. Each frame meets at most one harm. It is drawn from the seed,
the direction and the number of the frame in it, so that the same frames meet the same harm again.

What may be harmed is bounded, so that a case can wait for the end of it: no more than `most` frames of a direction in a row are
lost or damaged. A damaged frame has one bit changed behind its Ethernet header, which each checksum of what it carries shows. A
frame that is not IPv4 has no such checksum, or is no matter of a provider: it passes. A frame is delayed behind later ones.
`cut` names the ends from which nothing passes at all, as long as it holds.

`python3 -m harness.interop.rdma_relay DIR --seed 1 --drop 5 --double 5 --delay 5 --damage 2` runs until it is ended. DIR/link.pcap
has what passed, with the harm done to it; DIR/link.harm has a line for each harm.
"""

from __future__ import annotations

import argparse
import collections
import heapq
import itertools
import random
import selectors
import signal
import socket
import struct
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, Optional, Sequence, TextIO

_HEADER, _IPV4 = 14, b"\x08\x00"
_LONGEST = 65536
_BUFFER = 4 << 20
_TICK_S, _ROOM_S = 0.1, 0.001
_PCAP = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
KINDS = ("drop", "double", "delay", "damage")


@dataclass(frozen=True)
class Harm:
    """How many frames of a hundred meet each harm, and its bounds."""

    drop: float = 0.0
    double: float = 0.0
    delay: float = 0.0
    damage: float = 0.0
    seed: int = 1
    delay_ms: float = 20.0  # at most
    most: int = 2  # frames in a row that do not arrive whole

    def __post_init__(self) -> None:
        """Raises ValueError."""
        rates = [getattr(self, kind) for kind in KINDS]
        if min(rates) < 0 or sum(rates) > 100 or self.most < 0 or self.delay_ms <= 0:
            raise ValueError("rates are percents, which are 100 together at most; the bounds are positive")

    def words(self) -> str:
        """In words."""
        rates = ", ".join(f"{getattr(self, kind):g} % {kind}" for kind in KINDS if getattr(self, kind))
        return f"{rates or 'no harm'}, seed {self.seed}"


class Passing(NamedTuple):
    """What becomes of one frame."""

    kind: str  # "" where it met no harm
    copies: tuple[tuple[float, bytes], ...]  # each after so many seconds
    words: str = ""


class Direction:
    """What becomes of the frames of one direction, one after the other."""

    def __init__(self, harm: Harm, end: int) -> None:
        self._harm = harm
        self._draws = random.Random(f"{harm.seed}/{end}")
        self._in_a_row = 0
        self.frames = 0
        self.counts: collections.Counter[str] = collections.Counter()

    def take(self, frame: bytes, cut: bool = False) -> Passing:
        """The next frame. Each costs the same draws, whatever it is and comes to."""
        self.frames += 1
        drawn, place, wait = self._draws.uniform(0, 100), self._draws.random(), self._draws.random()
        passing = Passing("cut", ()) if cut else self._harmed(frame, drawn, place, wait)
        self._in_a_row = self._in_a_row + 1 if passing.kind in ("drop", "damage") else 0
        if passing.kind:
            self.counts[passing.kind] += 1
        return passing

    def _harmed(self, frame: bytes, drawn: float, place: float, wait: float) -> Passing:
        whole = Passing("", ((0.0, frame),))
        if frame[12:_HEADER] != _IPV4:
            return whole
        sums = itertools.accumulate(getattr(self._harm, kind) for kind in KINDS)
        kind = next((kind for kind, most in zip(KINDS, sums) if drawn < most), "")
        if kind in ("drop", "damage") and self._in_a_row >= self._harm.most:
            return whole
        if kind == "drop":
            return Passing(kind, ())
        if kind == "double":
            return Passing(kind, ((0.0, frame), (wait * self._harm.delay_ms / 1000, frame)))
        if kind == "delay":
            seconds = (0.1 + 0.9 * wait) * self._harm.delay_ms / 1000
            return Passing(kind, ((seconds, frame),), f"{seconds * 1000:.1f} ms")
        if kind == "damage":
            bit = int(place * (len(frame) - _HEADER) * 8) + _HEADER * 8
            changed = bytearray(frame)
            changed[bit // 8] ^= 1 << bit % 8
            return Passing(kind, ((0.0, bytes(changed)),), f"bit {bit % 8} of byte {bit // 8}")
        return whole


class Link(threading.Thread):
    """The link, from its making to `close`."""

    def __init__(self, where: Path, harm: Harm = Harm()) -> None:
        super().__init__(daemon=True)
        self.where = where
        self.cut: frozenset[int] = frozenset()  # the ends from which nothing passes
        self.lost = 0  # to an end that was not there
        self._full: tuple[collections.deque[bytes], ...] = (collections.deque(), collections.deque())  # no room at the end yet
        self._waiting: list[tuple[float, int, int, bytes]] = []
        self._count = 0
        self._ended = threading.Event()
        self._sockets = []
        for end in (0, 1):
            at = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
                at.setsockopt(socket.SOL_SOCKET, option, _BUFFER)
            at.bind(str(where / f"relay{end}"))
            at.setblocking(False)
            self._sockets.append(at)
        self._pcap: BinaryIO = open(where / "link.pcap", "wb")  # pylint: disable=consider-using-with
        self._pcap.write(_PCAP)
        self._log: TextIO = open(where / "link.harm", "w", encoding="ascii")  # pylint: disable=consider-using-with
        self.harms(harm)
        self.start()

    def harms(self, harm: Harm) -> None:
        """From now on it does this; the frames are counted anew."""
        self.harm = harm
        self._log.write(f"# {harm.words()}: time, from which end, number of the frame there, harm\n")
        self.directions = [Direction(harm, end) for end in (0, 1)]

    def run(self) -> None:
        with selectors.DefaultSelector() as ready:
            for end, at in enumerate(self._sockets):
                ready.register(at, selectors.EVENT_READ, end)
            while not self._ended.is_set():
                next_s = self._waiting[0][0] - time.monotonic() if self._waiting else _TICK_S
                for key, _ in ready.select(min(max(next_s, 0.0), _ROOM_S if any(self._full) else _TICK_S)):
                    self._take(key.data)
                self._let_go(time.monotonic())
                for end, frames in enumerate(self._full):
                    while frames and self._send(end, frames[0]):
                        frames.popleft()

    def _take(self, end: int) -> None:
        try:
            frame = self._sockets[end].recv(_LONGEST)
        except BlockingIOError:
            return
        way = self.directions[end]
        passing = way.take(frame, end in self.cut)
        if passing.kind:
            self._log.write(f"{time.time():.6f} {end} {way.frames} {passing.kind} {passing.words}".rstrip() + "\n")
        now = time.monotonic()
        for after_s, copy in passing.copies:
            if after_s:
                self._count += 1
                heapq.heappush(self._waiting, (now + after_s, self._count, end, copy))
            else:
                self._pass(end, copy)

    def _let_go(self, now: float) -> None:
        while self._waiting and self._waiting[0][0] <= now:
            _, _, end, frame = heapq.heappop(self._waiting)
            if end not in self.cut:
                self._pass(end, frame)

    def _pass(self, end: int, frame: bytes) -> None:
        if self._full[end] or not self._send(end, frame):
            self._full[end].append(frame)

    def _send(self, end: int, frame: bytes) -> bool:
        """Whether the frame is gone: the other end has it, or is not there. An end that is slow loses nothing by that."""
        try:
            self._sockets[1 - end].sendto(frame, str(self.where / f"net{1 - end}"))
        except BlockingIOError:
            return False
        except OSError:
            self.lost += 1
            return True
        now = time.time()
        self._pcap.write(struct.pack("<IIII", int(now), int(now % 1 * 1e6), len(frame), len(frame)) + frame)
        return True

    def said(self) -> str:
        """What was done so far."""
        done: collections.Counter[str] = collections.Counter()
        for way in self.directions:
            done += way.counts
        frames = sum(way.frames for way in self.directions)
        return f"{frames} frames, of which " + (", ".join(f"{n} {kind}" for kind, n in sorted(done.items())) or "none was harmed")

    def close(self) -> None:
        """No link any more; the files are whole."""
        self._ended.set()
        self.join()
        for at in self._sockets:
            at.close()
        self._pcap.close()
        self._log.close()


def add_rates(parser: argparse.ArgumentParser, default: Harm) -> None:
    """The options that a Harm is made of."""
    for kind in KINDS:
        parser.add_argument(f"--{kind}", type=float, default=getattr(default, kind), metavar="PERCENT", help="of the frames")
    parser.add_argument("--seed", type=int, default=default.seed, help="of the harm")


def harm_of(args: argparse.Namespace) -> Harm:
    """What the options say. Raises ValueError."""
    return Harm(*(getattr(args, kind) for kind in KINDS), seed=args.seed)


def main(words: Optional[Sequence[str]] = None) -> int:
    """A link by itself, until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("where", type=Path)
    add_rates(parser, Harm())
    args = parser.parse_args(words)
    try:
        harm = harm_of(args)
    except ValueError as why:
        parser.error(str(why))
    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    link = Link(args.where, harm)
    signal.sigwait(signals)
    link.close()
    print(link.said())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
