"""Captures in which a port logs in again and the login was not captured.

Every name is free again then (8.4.2 g, 8.5.3 c), and an OX_ID is free at once (5.4). So a Message or a setup after the hole may
have all the names of one before it.
"""

import copy
import random
from typing import Optional

from conformance.tests.breaches import conforming, unusual
from conformance.tests.breaches.conforming import CLAIMS, Session

LEAST = 6  # frames of the second session that are lost: its logins at least


def draw(seed: int) -> Optional[Session]:
    """One session up to some frame, and soon after it another one from some frame on; None where chance gives no such two."""
    rng = random.Random(seed)
    kind = conforming if rng.random() < 0.6 else unusual
    before, after = kind.draw(rng.randrange(1, 60)), kind.draw(rng.randrange(1, 60))
    if not (set(CLAIMS) - {"start"} <= before.claims and set(CLAIMS) <= after.claims):
        return None
    if len(before.frames) <= LEAST or len(after.frames) <= 20:
        return None
    end, begin = rng.randrange(1, len(before.frames)), rng.randrange(LEAST, len(after.frames))
    if rng.random() < 0.5:  # the hole ends within a Sequence
        within = [i + 1 for i, f in enumerate(after.frames) if i >= LEAST and f.type == 0x58 and not f.ends]
        begin = rng.choice(within) if within else begin
    shift = before.frames[end - 1].at + rng.choice((1, 100, 10000)) - after.frames[0].at
    frames = list(before.frames[:end])
    for f in after.frames[begin:]:
        later = copy.copy(f)
        later.at += shift
        frames.append(later)
    if rng.random() < 0.3:
        frames = [f for f in frames if rng.random() > 0.3]
    return Session(f"restarted{seed}", frames, frozenset({"order", "once"})) if len(frames) > 1 else None
