"""Clauses 5.2, 5.4, 5.6.6 and 6.1 to 6.6: Messages of which a part is lost, and what overtakes on its way to the DUT."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.engine.case import case
from fcvi.engine.scenario import Inconclusive
from fcvi.fc.build import RawFrame
from fcvi.fc.message import send_frames

from conformance.rev1.steps.connection import (
    REGISTRY, Scenario, Setup, UD, connect, expect_end_of_abts, level_of, variants, with_rdma,
)  # fmt: skip
from conformance.rev1.steps.messages import (
    Cut, FILL, Region, Sent, Taken, broken, build, deliver, memory, pattern, post, provider, register, respond_with,
    response_of, take, transmit, until_completed,
)  # fmt: skip

_RELIABLE = ("reliable-delivery", "reliable-reception")
_ALL = ("unreliable", *_RELIABLE)
#: Which frame is lost, of how many IUs; or the order in which four frames come.
_TORN: dict[str, dict[str, Any]] = {
    "last-frame": {"ius": 1, "lost": -1}, "first-frame": {"ius": 1, "lost": 0}, "middle-frame": {"ius": 1, "lost": 1},
    "last-iu": {"ius": 2, "lost": -1}, "exchanged": {"ius": 1, "order": (0, 2, 1, 3)},
    "first-behind": {"ius": 1, "order": (1, 0, 2, 3)}, "last-overtakes": {"ius": 1, "order": (0, 1, 3, 2)},
    "ius-exchanged": {"ius": 4, "order": (0, 2, 1, 3)}, "last-iu-first": {"ius": 2, "order": (2, 3, 0, 1)},
}  # fmt: skip
_CUTS: list[tuple[str, dict[str, Any]]] = [
    (f"{op}/{name}", {"op": op, **how, "applies": pics})
    for op, pics in (("send", "send"), ("rdma-write", "rdma_write and immediate_data"))
    for name, how in {**_TORN, "aborted": {"ius": 1, "lost": -1, "aborted": True}}.items()
]  # fmt: skip


@case(
    REGISTRY,
    "R1.6.1.a",
    "A Message without its end",
    clause="5.2, 5.7.5, 6.1, 6.3",
    requirements=["FCVI-4.1-04", "FCVI-6.2.1-01", "FCVI-6.4.1-01", "FCVI-8.4.1-01", "FCVI-8.4.2-e"],
    errata=["R09", "R44"],
    tags=["message", "loss"],
    applies="(client or server) and send",
    variants=variants(roles=("any",), levels=_ALL, choices=[*_CUTS, ("send/overtaken", {"op": "send", "overtaken": True})]),
)  # fmt: skip
def without_end(t: Scenario) -> None:
    """A frame of a Message is lost, or its rest never comes and ABTS ends it, and the next Message comes. What arrived is delivered
    to nobody as good; at the reliable levels neither is the next Message, and the VI goes to Error. At Unreliable Delivery the
    Descriptor may be spent or kept. Of frames or IUs that have changed places comes the Message that was sent, when all of it is
    there, or none. The second of two Messages that have changed places is not delivered before the first at the reliable levels.
    """
    with_rdma(t)
    setup = connect(t)
    deliver(t, setup, pattern(40))
    t.control("a Message was delivered")
    if t.params.get("overtaken"):
        _overtaken(t, setup)
        return
    length, op = 400 if "order" in t.params else 300, str(t.params["op"])
    first, second = register(t, length), register(t, length)
    for region in (first, second):
        post(t, setup.vi, "recv", region)
    target = register(t, length, write=True) if op == "rdma-write" else first
    extra: dict[str, Any] = {"va": target.va, "region": target.handle, "immediate": 7} if op == "rdma-write" else {}
    cut = build(t, setup, pattern(length, 5), op, cut=Cut(frame=100, ius=int(t.params["ius"])), **extra)
    if "order" in t.params:
        _exchanged(t, setup, cut, target)
        return
    del cut.frames[int(t.params["lost"])]
    behind = build(t, setup, pattern(80, 9))
    t.tolerate("SEND_RESP", "WRITE_RESP", "ABTS")
    transmit(t, cut)
    if t.params.get("aborted"):
        t.tester.send_abts(cut.exchange)
        expect_end_of_abts(t, cut.exchange)
    transmit(t, behind)
    row = "FCVI-6.2.1-01" if op == "send" else "FCVI-6.4.1-01"
    if level_of(t) == UD:
        _dropped_or_in_error(t, setup, row, (first, second))
    else:
        _nothing_good(t, setup, row, cut, behind)


def _too_early(t: Scenario, setup: Setup, queue: str, requirement: str, why: str) -> bool:
    """Whether a Descriptor has completed well before all that it needs was sent."""
    t.wait(t.ulp_timeout_us // 100)
    good = [c for c in t.completions if c.vi == setup.vi and c.queue == queue and c.good]
    return not t.require(not good, requirement, f"a Descriptor completed without error before {why} was sent", len(good), "none")


def _in_another_order(t: Scenario, setup: Setup, frames: list[RawFrame], queue: str, requirement: str) -> bool:
    """Send frames in the order of the variant; whether nothing was good before the last of them was sent."""
    ordered = [frames[at] for at in t.params["order"]]
    send_frames(t.tester, ordered[:-1])
    if _too_early(t, setup, queue, requirement, "its last frame"):
        return False
    send_frames(t.tester, ordered[-1:])
    t.settle()
    return True


def _exchanged(t: Scenario, setup: Setup, sent: Sent, target: Region) -> None:
    """SEQ_CNT and RLTV_OFF tell where each frame belongs (5.4, 5.6.6): a Message is not put together in the order of arrival."""
    t.tolerate("SEND_RESP", "WRITE_RESP", "ABTS")
    row, wanted = ("FCVI-6.2.1-01" if sent.op == "send" else "FCVI-6.4.1-01"), pattern(400, 5)
    if not _in_another_order(t, setup, sent.frames, "recv", row):
        return
    done = until_completed(t, setup.vi, "recv")
    if done is not None and done.good:
        seen = memory(t, target, len(wanted))
        t.require(seen == wanted, row, "frames that have changed places are put together as they came",
                  _first_wrong(seen, wanted), "the bytes that were sent, or no Message")  # fmt: skip
    provider(t, setup)


def _first_wrong(seen: bytes, wanted: bytes) -> str:
    at = next((n for n, (a, b) in enumerate(zip(seen, wanted)) if a != b), 0)
    return f"{seen[at : at + 8].hex()} at {at}"


def _overtaken(t: Scenario, setup: Setup) -> None:
    """The second of two Messages comes first (5.7.5). At Unreliable Delivery either order is right, and so is the loss of one."""
    regions, wanted = [register(t, 80), register(t, 80)], [pattern(80, 5), pattern(80, 9)]
    for region in regions:
        post(t, setup.vi, "recv", region)
    first, second = (build(t, setup, data) for data in wanted)
    t.tolerate("SEND_RESP", "ABTS")
    transmit(t, second)
    if level_of(t) != UD and _too_early(t, setup, "recv", "FCVI-8.4.1-01", "the Message before it"):
        return
    transmit(t, first)
    came = []
    for region in regions:
        done = until_completed(t, setup.vi, "recv")
        if done is None or not done.good:
            break
        came.append(memory(t, region, 80))
    right = [wanted[:n] for n in range(3)]
    if level_of(t) == UD:
        t.require(came in [*right, wanted[1:], wanted[::-1]], "FCVI-6.2.1-01", "two Messages that have changed places",
                  [seen[:8].hex() for seen in came], "each once, or lost")  # fmt: skip
    else:
        t.require(came in right, "FCVI-8.4.1-01", "two Messages that have changed places", [seen[:8].hex() for seen in came],
                  "the first one, then the second, or none")  # fmt: skip
    provider(t, setup)


def _dropped_or_in_error(t: Scenario, setup: Setup, row: str, regions: tuple[Region, Region]) -> None:
    """One completion at least may be good: that of the next Message, with all of its bytes."""
    wanted = pattern(80, 9)
    for region in regions:
        done = until_completed(t, setup.vi, "recv")
        if done is None:
            break
        if done.good:
            seen = memory(t, region, len(wanted))
            whole = done.length == len(wanted) and seen == wanted and done.immediate is None
            t.require(whole, row, "a Message without its end is delivered as good", f"{done.length} bytes {seen[:8].hex()}",
                      f"an error, or the next Message: {len(wanted)} bytes {wanted[:8].hex()}")  # fmt: skip
    provider(t, setup)


def _nothing_good(t: Scenario, setup: Setup, row: str, cut: Sent, behind: Sent) -> None:
    broken(t, setup, "FCVI-8.4.2-e", "after a Message without its end")
    good = [c for c in t.completions if c.vi == setup.vi and c.queue == "recv" and c.good]
    t.require(not good, row, "a Message without its end is delivered as good, or the one behind it", len(good), "none")
    for sent in (cut, behind):
        resp = _response_on(t, sent)
        if resp is not None:
            t.equal(resp, "RESP_ERR", 1, "FCVI-5.9.4.3-01")
    provider(t, setup)


def _response_on(t: Scenario, sent: Sent) -> Optional[Any]:
    resp = t.peek(["SEND_RESP", "WRITE_RESP"], sent.exchange)
    if resp is not None:
        resp.taken = True
    return resp


_BEHIND = 64  # bytes behind what is posted


@case(
    REGISTRY,
    "R1.6.6.a",
    "A response to an RDMA Read that is torn",
    clause="5.4, 5.6.6, 6.6",
    requirements=["FCVI-6.7.1-02"],
    errata=["R04"],
    tags=["message", "rdma", "loss"],
    applies="(client or server) and rdma_read",
    variants=variants(roles=("any",), levels=_RELIABLE, choices=[
        *_TORN.items(), ("short", {"ius": 1, "more": -100}), ("long", {"ius": 1, "more": 100})]),
)  # fmt: skip
def torn_response(t: Scenario) -> None:
    """A frame of READ_RESP is lost, or it has fewer bytes than were asked for: the Read does not complete as good. Of frames or IUs
    that have changed places it gets the bytes that were sent, when all of them are there, or an error. What is more than was asked
    for is written nowhere.
    """
    with_rdma(t)
    setup = connect(t)
    length = 400 if "order" in t.params else 300
    whole, sink, taken = _asked(t, setup, length, 4)
    respond_with(t, setup, taken, whole)
    done = until_completed(t, setup.vi, "send")
    if not taken.last.dh("VI_RMT_TOT_LEN") and (done is None or memory(t, sink, length) != whole):
        raise Inconclusive("the DUT gives no length with an RDMA Read (R04), and does not take what was not asked for")
    t.require(done is not None and done.good, "FCVI-6.7.1-02", "an RDMA Read did not complete",
              "nothing" if done is None else sorted(done.status), "no error bit")  # fmt: skip
    t.control("an RDMA Read completed")
    wanted, sink, taken = _asked(t, setup, length, 6)
    data = pattern(length + int(t.params.get("more", 0)), 6)
    frames = response_of(t, setup, taken, data, cut=Cut(frame=100, ius=int(t.params["ius"])))
    t.tolerate("ABTS")
    if "order" in t.params:
        if not _in_another_order(t, setup, frames, "send", "FCVI-6.7.1-02"):
            return
    else:
        send_frames(t.tester, _without(frames, t.params.get("lost")))
    done = until_completed(t, setup.vi, "send")
    seen = memory(t, sink, length)
    if done is not None and done.good and taken.last.dh("VI_RMT_TOT_LEN"):
        t.require(seen == wanted, "FCVI-6.7.1-02", "an RDMA Read completes well with other bytes", _first_wrong(seen, wanted),
                  "the bytes that were sent, or an error")  # fmt: skip
    behind = memory(t, sink, _BEHIND, length)
    t.require(behind == FILL * _BEHIND, "FCVI-6.7.1-02", "bytes behind an RDMA Read were written", behind[:16].hex(), "a5...")
    provider(t, setup)


def _without(frames: list[RawFrame], lost: Optional[int]) -> list[RawFrame]:
    """All of the frames but the one that is lost, if one is."""
    return [frame for frame in frames if lost is None or frame is not frames[lost]]


def _asked(t: Scenario, setup: Setup, length: int, seed: int) -> tuple[bytes, Region, Taken]:
    """The DUT asks for an RDMA Read: what it is to get, where it wants it, and its request."""
    sink = register(t, length + _BEHIND)
    post(t, setup.vi, "rdma-read", sink, length=length, remote=(0x9000, 5))
    return pattern(length, seed), sink, take(t, setup, "rdma-read", None)
