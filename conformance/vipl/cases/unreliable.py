"""Loses messages at Unreliable Delivery, and sees what that leaves as it is."""

from __future__ import annotations

from conformance.vipl.steps.declare import UD, each, levels, vipl
from conformance.vipl.steps.faults import inject, met
from conformance.vipl.steps.scenario import Calls
from conformance.vipl.steps.session import CONNECTED, ERROR, NOT_DONE, Pair, alive, need_level, nodes, pair

_COUNT, _SIZE = 6, 200


@vipl("X28", "Sends behind one that is lost", "S2.5.1-02", errata="A15 A105",
      variants=each(levels((UD,)), "way", {"empty": "empty", "wire": "wire"}))  # fmt: skip
def behind_a_loss(t: Calls) -> None:
    """The first of six Sends finds no receive, or is lost below the calls. Each Send completes all the same, in order and with
    success; the sender stays Connected, and what arrives is whole, each once."""
    one, other = nodes(t)
    p = pair(t, need_level(one, UD), ends=(one, other))
    before = inject(t, "lose") if t.params["way"] == "wire" else None
    for i in range(_COUNT):
        p.src.fill(40 + i, _SIZE * i, _SIZE)
    numbers = [_send(p, 0)] if t.params["way"] == "empty" else []
    t.wait(t.quiet_us if numbers else 0)
    for i in range(_COUNT):
        p.b.recv(p.dst.part(_SIZE * i, _SIZE))
    numbers += [_send(p, i) for i in range(len(numbers), _COUNT)]
    for i, number in enumerate(numbers):
        got = p.a.reap("Send")
        if not got.good and p.b.state() == ERROR:
            t.notice("S2.5.1-05", "the state of an unreliable VI that lost a message", ERROR, CONNECTED, "A15")
            break
        t.require(got.good and got.descriptor == number, "S2.5.1-02", f"Send {i} of several, of which the first is lost", got,
                  "success, in order")  # fmt: skip
    else:
        t.require(p.a.state() == CONNECTED, "S2.5.1-02", "the state of a sender whose message is lost", p.a.state(), CONNECTED)
    arrived = _arrived(t, p)
    t.require(len(set(arrived)) == len(arrived), "S2.5.1-02", "messages that arrived beside one that is lost", arrived,
              "each once at most")  # fmt: skip
    if t.params["way"] == "wire":
        met(t, before)
    alive(t)


def _send(p: Pair, i: int) -> int:
    return p.a.send(p.src.part(_SIZE * i, _SIZE))


def _arrived(t: Calls, p: Pair) -> list[int]:
    """Which messages were received, each whole."""
    arrived: list[int] = []
    for place in range(_COUNT):
        got = p.b.reap("Recv", t.settle_us // 2)
        if got.code == NOT_DONE:
            break
        size = got.length if got.good else _SIZE
        whole = [i for i in range(_COUNT) if size == _SIZE and p.dst.wrong(40 + i, _SIZE * place, _SIZE) == 0]
        t.require(not got.good or bool(whole), "S2.5.1-02",
                  f"receive {place} beside a message that is lost", got, "a message that was sent")  # fmt: skip
        arrived += whole[:1] if got.good else []
    return arrived
