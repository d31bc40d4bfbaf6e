"""Does it help that what a device shows leads ``fcvi fuzz``? Blind against guided, over 20 planted stateful defects.

    python guidance.py [--batches 600] [--seeds 10] [--json FILE]

The device is the reference port with 20 defects beside it. Each is a history of one connection's frames: what the device
hears, and what it shows, in this order with anything in between. Where the history is complete, the defect has been found: a
real device would have ended there. The defects only note when that was, so that one campaign looks for all of them and none
stands before another. A history begins anew with each batch, as the device is reset.

The figures: how many defects were found, and after how many batches and how much CPU time, for each seed. The test is that
of Mann and Whitney, two-sided, exact by all ways to deal the ranks (ten and ten seeds: 184,756), ties with their mean rank.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import statistics
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple, Optional, Sequence

from conformance import register_all
from fcvi.attack.blackbox import Attack
from fcvi.attack.corpus import Corpus
from fcvi.attack.frames import Frames
from fcvi.dut.ref import RefDut
from fcvi.engine import pics
from fcvi.engine.catalogue import load_catalogue
from fcvi.engine.pixit import pixit_for
from fcvi.engine.results import TraceFrame
from fcvi.fc.notation import from_params

#: Patterns, one for each event, of "hear" or "show" and the frame or notification in a word with its codes (Frames.shown).
#: They were written after a look at what a blind attack hears and shows, and before the first comparison was run.
DEFECTS: dict[str, tuple[str, ...]] = {
    "double disconnect, then data": ("hear DISCONNECT_RQST", "hear DISCONNECT_RQST", "hear SEND_RQST"),
    "aborted while accepting": ("show CONNECT_RESP1 0 0", "hear bls 81", "show bls 84", "hear CONNECT_RESP2", "hear bls 81"),
    "offer after a refused disconnect": ("show DISCONNECT_RESP 74", "hear CONNECT_RQST", "show CONNECT_RESP1"),
    "leak of refused ELS": ("show els 23 01",) * 4 + ("hear CONNECT_RQST",),
    "read aborted, read again": ("hear READ_RQST", "hear bls 81", "show bls 84", "hear READ_RQST", "show bls 8"),
    "leak of aborted Exchanges": ("show bls 84",) * 6 + ("hear SEND_RQST",),
    "receive queue after a transport error": (r"show completion .*TRANSPORT_ERROR", "hear SEND_RQST", "hear READ_RQST"),
    "disconnect after a transport error": (r"show completion .*TRANSPORT_ERROR", "hear DISCONNECT_RQST", "show DISCONNECT_RESP"),
    "two P_RJT, then an offer": ("show link_control", "show link_control", "hear CONNECT_RQST", "show CONNECT_RESP1"),
    "third response twice": ("hear CONNECT_RESP3", "hear CONNECT_RESP3", "hear CONNECT_RESP1", "hear CONNECT_RESP3"),
    "all three operations": ("hear WRITE_RQST", "hear READ_RQST", "hear SEND_RQST", "hear WRITE_RQST"),
    "two reasons of refusal": ("show CONNECT_RESP1 33", "show CONNECT_RESP1 3 ", "show CONNECT_RESP1 33"),
    "disconnected twice": ("show DISCONNECT_RESP 0", "show DISCONNECT_RESP 74", "show DISCONNECT_RESP"),
    "abort between disconnect and data": ("hear DISCONNECT_RQST", "hear bls 81", "hear READ_RQST", "hear WRITE_RQST"),
    "flushed, then an abort": (r"show completion .*FLUSHED", r"show completion .*FLUSHED", "hear bls 81", "hear CONNECT_RQST"),
    "two kinds of LS_RJT": ("show els 23 01 11", "show els 23 01 (7|3)", "show els 23 02"),
    "all kinds of answers": ("show bls 84", "show els 23 02", "show link_control", "show bls 84"),
    "leak of refused offers": ("show CONNECT_RESP1 (3|33) ",) * 5,
    "aborts in a row": ("hear bls 81",) * 5 + ("show CONNECT_RESP1",),
    "immediate data, abort, disconnect": (r"show completion .*IMMEDIATE", "hear bls 81", "hear DISCONNECT_RQST"),
}


class Planted(RefDut):
    """The reference port, and how far each defect's history has come. found: the defects, each once."""

    def __init__(self) -> None:
        self._at = dict.fromkeys(DEFECTS, 0)
        self.found: list[str] = []
        self._patterns = {name: [re.compile(pattern) for pattern in history] for name, history in DEFECTS.items()}
        super().__init__()

    def reset(self, config: dict[str, Any]) -> None:
        self._at = dict.fromkeys(DEFECTS, 0)
        super().reset(config)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        if method == "frame":
            self._see("hear", "frame", params)
        super().notify(method, params)

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        self._see("show", method, params)
        super()._emit(method, params)

    def _see(self, way: str, method: str, params: dict[str, Any]) -> None:
        if method == "frame":
            frame = from_params(params)
            word = Frames().shown(TraceFrame(0, way, frame.data, frame.sof, frame.eof, frame.crc_ok))
        elif method == "completion":
            word = f"completion {' '.join(params['status'])}"
        else:
            return
        for name, patterns in self._patterns.items():
            if self._at[name] < len(patterns) and patterns[self._at[name]].match(f"{way} {word}"):
                self._at[name] += 1
                if self._at[name] == len(patterns) and name not in self.found:
                    self.found.append(name)


class Campaign(NamedTuple):
    """One seed. found: each defect, and the batch and CPU seconds that it took."""

    found: dict[str, tuple[int, float]]
    seconds: float
    signals: int


def campaign(seed: int, batches: int, guided: bool) -> Campaign:
    """Attack the planted device."""
    dut, corpus = Planted(), Corpus() if guided else None
    attack = Attack(dut, pics.complete(dut.pics, "hello"), pixit_for(dut.clock), load_catalogue().levels, 12, corpus=corpus)
    states = attack.states()
    found: dict[str, tuple[int, float]] = {}
    started = time.process_time()
    for i in range(batches):
        broken = attack.batch(seed * 1_000_000 + i, states[i % len(states)])
        if broken is not None:
            raise RuntimeError(f"the reference port itself: {broken.outcome.kind}: {broken.outcome.reason}")
        for name in dut.found:
            found.setdefault(name, (i + 1, round(time.process_time() - started, 2)))
    return Campaign(found, time.process_time() - started, len(corpus.known.bits) if corpus is not None else 0)


def mann_whitney(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided p, exact."""
    ordered = sorted([*a, *b])
    ranks = {value: statistics.mean(i + 1 for i, other in enumerate(ordered) if other == value) for value in set(ordered)}
    every = [ranks[value] for value in ordered]
    mean = len(a) * (len(ordered) + 1) / 2
    seen = abs(sum(ranks[value] for value in a) - mean)
    sums = [abs(sum(part) - mean) for part in itertools.combinations(every, len(a))]
    return sum(value >= seen - 1e-9 for value in sums) / len(sums)


def half(found: Campaign, budget: float, by: int) -> int:
    """How many defects were found within half the budget. by: 0 batches, 1 CPU seconds."""
    return sum(times[by] <= budget / 2 for times in found.found.values())


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run all campaigns and print the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--batches", type=int, default=600)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args(argv)
    register_all()
    both: dict[str, list[Campaign]] = {"blind": [], "guided": []}
    for seed in range(1, args.seeds + 1):
        for way, campaigns in both.items():
            campaigns.append(campaign(seed, args.batches, way == "guided"))
    for way, campaigns in both.items():
        counts = [len(c.found) for c in campaigns]
        print(f"{way}: {counts} of {len(DEFECTS)}, median {statistics.median(counts)}; "
              f"CPU {statistics.median(c.seconds for c in campaigns):.1f} s; "
              f"in half the batches {[half(c, args.batches, 0) for c in campaigns]}")  # fmt: skip
    p = mann_whitney([len(c.found) for c in both["blind"]], [len(c.found) for c in both["guided"]])
    print(f"defects found, Mann-Whitney, two-sided: p = {p:.4f}")
    for by, budget in ((0, args.batches), (1, statistics.median(c.seconds for c in both["blind"]))):
        name = ("batches", "CPU time")[by]
        inside = {way: [sum(t[by] <= budget for t in c.found.values()) for c in cs] for way, cs in both.items()}
        p = mann_whitney(inside["blind"], inside["guided"])
        print(f"within the {name} of a blind campaign: blind {inside['blind']}, guided {inside['guided']}, p = {p:.4f}")
    print(f"{'defect':40} {'blind':>16} {'guided':>16}   (seeds that found it, median batch of these)")
    for defect in DEFECTS:
        cells = []
        for campaigns in both.values():
            at = [c.found[defect][0] for c in campaigns if defect in c.found]
            cells.append(f"{len(at):2d}/{args.seeds} {statistics.median(at) if at else float('nan'):8.0f}")
        print(f"{defect:40} {cells[0]:>16} {cells[1]:>16}")
    if args.json is not None:
        args.json.write_text(json.dumps({way: [c._asdict() for c in cs] for way, cs in both.items()}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
