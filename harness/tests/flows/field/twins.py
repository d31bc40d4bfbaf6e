"""Twins: where `explain` says "not known", another cause makes the same capture.

A twin is a world with another cause whose capture from that port cannot be told from the one of the bank. Identifiers that a port
chooses freely (RX_ID, SEQ_ID) may differ.
"""

from __future__ import annotations

from random import Random
from typing import Any, Callable

from fcvi.fc import els

from . import bank
from .world import World

Frames = list[tuple[int, bytes, int, int, int]]
_ELS = 0x22  # R_CTL of a request


def seen(frames: Frames) -> list[tuple[int, bytes]]:
    """What a reader of a capture has, without what a port chooses freely."""
    return [(time, data[:12] + b"\0" + data[13:18] + bytes(2) + data[20:]) for time, data, *_ in frames]


def unordered(frames: Frames) -> list[bytes]:
    """Of Fabrics that delay each frame by chance: which frames, in no order and at no time.

    The OX_IDs of several RRQs tell nothing but the order in which chance brought the BA_ACCs before them.
    """
    return sorted(data[:16] + bytes(2) + data[18:] if data[0] == _ELS and data[24] == els.RRQ else data for _, data in seen(frames))


def _of(cause: str, seed: int) -> World:
    return next(e for e in bank.BANK if e.cause == cause).make(Random(f"{cause} {seed}"))


def damaged_or_lost(seed: int) -> tuple[Frames, Frames]:
    """bit-errors and lost-message at the sender: what becomes of a frame beyond the capture point is not seen."""
    return _of("bit-errors", seed).seen[0], bank.bit_errors(Random(f"bit-errors {seed}"), bank.DROP).seen[0]


def lost_or_damaged(seed: int) -> tuple[Frames, Frames]:
    """The other way round."""
    return _of("lost-message", seed).seen[0], bank.lost_message(Random(f"lost-message {seed}"), bank.CORRUPT).seen[0]


def busy_or_rejected(seed: int) -> tuple[Frames, Frames]:
    """busy and reject at the receiver: the Fabric answers to the sender only."""
    return _of("busy", seed).seen[1], bank.class_2(bank.F_RJT)(Random(f"busy {seed}")).seen[1]


def rejected_or_busy(seed: int) -> tuple[Frames, Frames]:
    """The other way round."""
    return _of("reject", seed).seen[1], bank.class_2(bank.F_BSY)(Random(f"reject {seed}")).seen[1]


def overtaken_or_lost(seed: int) -> tuple[Frames, Frames]:
    """out-of-order at the sender: a frame that was lost beyond stops the responder as one that was overtaken does."""
    mine = _of("out-of-order", seed).seen[0]
    for skip in range(30):
        r = Random(f"out-of-order {seed}")
        w = World(r.randrange(1 << 20), latency_us=r.choice((50, 500)))
        w.rule(bank.DROP, sender=0, opcode=0, skip=skip)
        bank.sends_of_many_frames(w)
        if unordered(w.seen[0]) == unordered(mine):
            return mine, w.seen[0]
    return mine, []


def _slow_accept(seed: int) -> tuple[World, World]:
    """The bank's lost request, and a world that loses nothing but accepts only when the other did."""
    mine = _of("lost-request", seed)

    def late(w: World) -> None:
        w.run(mine.accepted_us)
        w.accept()

    return mine, bank.accepted_when(Random(f"lost-request {seed}"), late)


def lost_request_or_slow(seed: int) -> tuple[Frames, Frames]:
    """lost-request at the requester: an application that accepts late."""
    mine, other = _slow_accept(seed)
    return mine.seen[0], other.seen[0]


def lost_request_or_older(seed: int) -> tuple[Frames, Frames]:
    """lost-request at the responder: a capture that begins after the first request."""
    mine, other = _slow_accept(seed)
    return mine.seen[1], other.seen[1][1:]


def lost_answer_or_request(seed: int) -> tuple[Frames, Frames]:
    """lost-resp1 at the requester: the request was lost, and the application accepts at once."""
    mine = _of("lost-resp1", seed)
    arrives = mine.seen[1][4][0]  # the retry

    def at_once(w: World) -> None:
        w.run(arrives)
        w.accept()

    return mine.seen[0], bank.accepted_when(Random(f"lost-resp1 {seed}"), at_once, 0x10).seen[0]


def too_far_or_cut(seed: int) -> tuple[Frames, Frames]:
    """timeout-too-short at the responder: a short path on which nothing comes back."""
    mine = _of("timeout-too-short", seed)
    r = Random(f"timeout-too-short {seed}")
    number, far = r.randrange(1 << 20), r.choice((520_000, 600_000, 900_000))
    settle, near = 650_000 if r.random() < 0.5 else 950_000, 50
    w = World(number, latency_us=near, r_a_tov_us=1_000_000)
    w.rule(bank.DROP, sender=1, count=0)
    for i in (0, 1):
        w.create(i, 3)
        w.register(i)
    w.wait()
    w.run(far - near)
    w.request()
    w.run(max(0, settle - w.now))
    w.accept()
    w.run(2 * settle - w.now)
    w.accept()
    w.run(40_000_000)
    return mine.seen[1], w.seen[1]


def held_back_or_clock(where: int) -> Callable[[int], tuple[Frames, Frames]]:
    """credit-starvation: a clock that was set while nothing else passed."""
    return lambda seed: (_of("credit-starvation", seed).seen[where],
                         bank.credit(Random(f"credit-starvation {seed}"), is_clock=True).seen[where])  # fmt: skip


def old_or_slow(where: int) -> Callable[[int], tuple[Frames, Frames]]:
    """edition-mismatch: a server of 1999 whose application does not accept is silent, too."""
    return lambda seed: (_of("edition-mismatch", seed).seen[where], bank.edition(Random(f"edition-mismatch {seed}"), 1).seen[where])


#: Of a cause and a capture point, the two captures that look alike.
TWINS: dict[tuple[str, int], Callable[[int], tuple[Frames, Frames]]] = {
    ("bit-errors", 0): damaged_or_lost,
    ("lost-message", 0): lost_or_damaged,
    ("busy", 1): busy_or_rejected,
    ("reject", 1): rejected_or_busy,
    ("out-of-order", 0): overtaken_or_lost,
    ("lost-request", 0): lost_request_or_slow,
    ("lost-resp1", 0): lost_answer_or_request,
    ("lost-request", 1): lost_request_or_older,
    ("timeout-too-short", 1): too_far_or_cut,
    ("credit-starvation", 0): held_back_or_clock(0),
    ("credit-starvation", 1): held_back_or_clock(1),
    ("edition-mismatch", 0): old_or_slow(0),
    ("edition-mismatch", 1): old_or_slow(1),
}


def are_alike(cause: str, where: int, seed: int) -> bool:
    """Whether the two captures are the same to who reads them."""
    mine, other = TWINS[cause, where](seed)
    by: Any = unordered if cause == "out-of-order" else seen
    return by(mine) == by(other)
