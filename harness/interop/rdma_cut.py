"""Cuts the link of a lane with loss besides the cases: it is cut and joined again at moments that a case cannot choose.

Each step makes a connection of its own over a link that harms nothing else, cuts it, and looks at what both ends owe. Each WR has
one WC, in order and with the right bytes; or one WC tells an error, the others are flushed, and the QP is in Error. Nothing is done
twice. What a step finds is told with the row that it breaks; `RECORDED` has what rxe and siw are known to do.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, Callable, Optional

from .rdma_relay import Link
from .rdma_agent import Agent, End, connect

_CUT_S = 1.3  # long enough for a second try of rxe (0.3 s each) and of TCP, and too short to be given up
_AGAIN_S = 30.0  # what was held up arrives; TCP waits twice as long each time
_GIVEN_UP_S = 60.0
_QUIET_S = 1.0
_SENT = "0123456789abcdef"
Broken = list[tuple[str, str]]

#: What a step is known to find, by provider: the row, and why.
RECORDED: dict[str, dict[tuple[str, str], str]] = {
    "rxe": {},
    "siw": {(step, "8.2.2-02"): "a Read completes behind what was posted after it" for step in ("requests_lost", "answers_lost")},
}


class Ends:
    """Two ends that are connected, the link between them, and what they broke."""

    def __init__(self, agents: list[Agent], hellos: list[dict[str, Any]], link: Link, joined: bool = True) -> None:
        for agent in agents:
            agent.call("reset", wire="verbs", seed=1)
            agent.notes.clear()
        self.link, self.iwarp = link, hellos[0]["pics"]["flavour"] == "iwarp"
        self.left, self.right = (End(agent, hello["devices"][0]) for agent, hello in zip(agents, hellos))
        self.address = hellos[1]["addresses"][0]
        self.broken: Broken = []
        self.took: dict[int, list[dict[str, Any]]] = {}
        if joined:
            connect(self.left, self.right, self.address)

    def require(self, holds: bool, row: str, what: str) -> bool:
        """Note what does not hold."""
        if not holds:
            self.broken.append((row, what))
        return holds

    def receives(self, count: int) -> None:
        """Post Receives at the right end, of 64 bytes each from byte 4096 on."""
        if not self.iwarp:
            self.right.agent.call("verbs.ModifyQp", qp=self.right.qp, state="INIT")  # refused where the QP is further
        wrs = [{"wr_id": f"{256 + k:016x}", "sges": [self.right.sge(4096 + 64 * k, 64)]} for k in range(count)]
        self.right.agent.good("verbs.PostRq", qp=self.right.qp, wrs=wrs)

    def posts(self, *opcodes: str) -> None:
        """Post signaled WRs of 8 bytes at the left end: a Send or Write from byte 0, a Read into byte 512.

        Remotely a Write has byte 0 and a Read byte 1024: a Write may overtake a Read that is served again.
        """
        self.left.agent.call("mem.write", mem=self.left.mem, offset=0, hex=_SENT)
        at = {"RDMA_WRITE": 0, "RDMA_READ": 1024}
        base, rkey = int(self.right.mr["va"], 16), self.right.mr["rkey"]
        wrs: list[dict[str, Any]] = []
        for k, opcode in enumerate(opcodes):
            wr = {"wr_id": f"{k:016x}", "opcode": opcode, "flags": ["SIGNALED"]}
            wr["sges"] = [self.left.sge(512 if opcode == "RDMA_READ" else 0, 8)]
            wrs.append(wr | ({"remote": {"addr": f"{base + at[opcode]:016x}", "rkey": rkey}} if opcode in at else {}))
        self.left.agent.good("verbs.PostSq", qp=self.left.qp, wrs=wrs)

    def wcs(self, end: End, cq: int, count: int, seconds: float) -> list[dict[str, Any]]:
        """Poll until a queue has so many WCs or the time is up: all that it had since the connection."""
        took, until = self.took.setdefault(id(end) + cq, []), time.monotonic() + seconds
        while len(took) < count and time.monotonic() < until:
            took += end.agent.good("verbs.PollCq", cq=cq, max=16, Timeout=500_000)["wcs"]
        took += end.agent.good("verbs.PollCq", cq=cq, max=16)["wcs"]  # one too many
        return took

    def sent(self, count: int, seconds: float) -> list[str]:
        """The statuses of the left end's WCs; each WR has one at most, and successes keep their order."""
        wcs = self.wcs(self.left, self.left.scq, count, seconds)
        self._once(wcs, "of the send queue")
        return [wc["status"] for wc in wcs]

    def received(self, count: int, seconds: float) -> list[str]:
        """The statuses of the right end's WCs."""
        wcs = self.wcs(self.right, self.right.rcq, count, seconds)
        self._once(wcs, "of the receive queue")
        return [wc["status"] for wc in wcs]

    def _once(self, wcs: list[dict[str, Any]], where: str) -> None:
        ids = [wc["wr_id"] for wc in wcs]
        twice = [name for name, times in Counter(ids).items() if times > 1]
        self.require(not twice, "8.2.4-04", f"WRs {where} with two WCs: {twice}")
        good = [wc["wr_id"] for wc in wcs if wc["status"] == "SUCCESS"]
        self.require(good == sorted(good), "8.2.2-02", f"successes {where} in the order {good}")
        odd = [wc["status"] for wc in wcs if wc["status"] not in ("SUCCESS", "WR_FLUSH_ERR")]
        self.require(len(odd) < 2, "6.2.4-04", f"WCs {where} that are neither success nor flushed: {odd}")

    def bytes_at(self, end: End, offset: int) -> str:
        """Eight bytes of an end's memory."""
        return str(end.agent.call("mem.read", mem=end.mem, offset=offset, length=8)["hex"])

    def cut(self, *ends: int) -> None:
        """Nothing passes from these ends; from none: the link is whole."""
        self.link.cut = frozenset(ends)

    def arrives(self, count: int, places: list[tuple[End, int, str]]) -> None:
        """All of the left end's WRs and one Receive were done once, and nothing was done again."""
        sent = self.sent(count, _AGAIN_S)
        self.require(sent == ["SUCCESS"] * count, "8.2.4-05", f"WCs of what was held up and then arrived: {sent}")
        got = self.received(1, _AGAIN_S)
        self.require(got == ["SUCCESS"], "6.2.2-04", f"WCs of the Receive of a Send that was held up: {got}")
        time.sleep(_QUIET_S)
        self.require(len(self.sent(count + 1, 0.6)) == count, "8.2.4-04", "a WC more than there were WRs")
        self.require(len(self.received(2, 0.6)) == 1, "6.2.2-04", "a Send took a second Receive")
        for end, offset, wanted in places:
            seen = self.bytes_at(end, offset)
            name = "right" if end is self.right else "left"
            self.require(seen == wanted, "6.2.2-04", f"bytes at {offset} of the {name} end: {seen}, not {wanted}")


def _held_up(e: Ends, *ends: int) -> None:
    e.receives(2)
    e.right.agent.call("mem.write", mem=e.right.mem, offset=1024, hex="aa" * 8)
    e.cut(*ends)
    e.posts("RDMA_READ", "RDMA_WRITE", "SEND")
    time.sleep(_CUT_S)
    e.cut()
    e.arrives(3, [(e.left, 512, "aa" * 8), (e.right, 0, _SENT), (e.right, 4096, _SENT), (e.right, 4160, "ee" * 8)])


def requests_lost(e: Ends) -> None:
    """A Read, a Write and a Send whose requests are lost for a while are done once."""
    _held_up(e, 0)


def answers_lost(e: Ends) -> None:
    """So are those whose answers are lost: the peer sees them again, and a Read is served again."""
    _held_up(e, 1)


def given_up(e: Ends) -> None:
    """A peer that never answers: one WC tells it, the others are flushed, and the QP is in Error."""
    e.receives(4)
    e.cut(0, 1)
    e.posts("SEND", "RDMA_WRITE", "RDMA_READ", "SEND")
    if e.iwarp:  # a Send or Write is complete when TCP has it; the Read is not
        e.left.agent.note("cm", _GIVEN_UP_S, event="DISCONNECTED", qp=e.left.qp)
        e.left.agent.call("verbs.ModifyQp", qp=e.left.qp, state="ERR")
        sent = e.sent(4, _GIVEN_UP_S)
        wrong = [wc for wc in e.took[id(e.left) + e.left.scq] if wc["wr_id"].endswith("2") and wc["status"] == "SUCCESS"]
        e.require(not wrong, "6.6.2.5-01", "a Read that nobody answered is a success")
    else:
        sent = e.sent(4, _GIVEN_UP_S)
        e.require(sent[:1] == ["RETRY_EXC_ERR"], "6.2.2.3-03", f"the first WC of a peer that never answers: {sent[:1]}")
        e.require(set(sent[1:]) == {"WR_FLUSH_ERR"}, "6.2.4-02", f"WCs behind it: {sent[1:]}")
        state = e.left.agent.good("verbs.QueryQp", qp=e.left.qp)["state"]
        e.require(state == "ERR", "6.2.2.4-02", f"the state of a QP whose peer never answers: {state}")
    e.require(len(sent) == 4, "6.2.4-02", f"{len(sent)} WCs of 4 WRs")
    e.cut()
    time.sleep(_QUIET_S)
    e.right.agent.call("verbs.ModifyQp", qp=e.right.qp, state="ERR")
    got = e.received(4, 20)
    e.require(got == ["WR_FLUSH_ERR"] * 4, "6.2.4-02", f"Receives of a stream on which nothing arrived: {got}")
    for offset in (0, 4096):
        e.require(e.bytes_at(e.right, offset) == "ee" * 8, "6.2.2-04", f"bytes at {offset} changed, though nothing passed")


def answers_never(e: Ends) -> None:
    """A Send that arrives, while no answer does, takes one Receive however often it is sent."""
    e.receives(3)
    e.cut(1)
    e.posts("SEND")
    got = e.received(1, _AGAIN_S)
    e.require(got == ["SUCCESS"], "6.2.2-04", f"the Receive of a Send that arrived: {got}")
    if not e.iwarp:
        sent = e.sent(1, _GIVEN_UP_S)
        e.require(sent == ["RETRY_EXC_ERR"], "6.2.2.3-03", f"the WC of a Send that is never acknowledged: {sent}")
    else:
        time.sleep(3 * _CUT_S)
    e.require(len(e.received(2, 0.6)) == 1, "6.2.2-04", "a Send that was sent again took a second Receive")
    e.require(e.bytes_at(e.right, 4160) == "ee" * 8, "6.2.2-04", "a Send that was sent again was placed again")
    e.cut()


def not_connected(e: Ends) -> None:
    """An attempt over a link that is cut comes to nothing, and the next QP is connected."""
    listener = e.right.agent.good("verbs.Listen", rnic=e.right.rnic)
    e.cut(0, 1)
    asked = {"address": e.address, "port": listener["port"], "ord": 1, "ird": 1, "Timeout": 4_000_000}
    tried = e.left.agent.call("verbs.Connect", qp=e.left.qp, **asked)
    e.require(tried["return"] != "success", "6.2.2-08", f"a connection over a link that is cut: {tried['event']}")
    e.cut()
    e.left.agent.good("verbs.DestroyQp", qp=e.left.qp)
    sizes = {"sq_size": 16, "rq_size": 16, "sq_sges": 2, "rq_sges": 2}
    made = e.left.agent.good("verbs.CreateQp", pd=e.left.pd, send_cq=e.left.scq, recv_cq=e.left.rcq, **sizes)
    e.left.qp = made["qp"]
    e.right.agent.notes.clear()
    connect(e.left, e.right, e.address)
    e.receives(2)
    e.posts("SEND")
    e.arrives(1, [(e.right, 4096, _SENT)])


def closed_alone(e: Ends) -> None:
    """A disconnection that is lost is told again: the peer hears of it when the link is whole."""
    e.receives(2)
    e.cut(0, 1)
    e.left.agent.good("verbs.Disconnect", qp=e.left.qp)
    time.sleep(_CUT_S)
    e.cut()
    try:
        e.right.agent.note("cm", _AGAIN_S, event="DISCONNECTED", qp=e.right.qp)
    except AssertionError as why:
        e.require(False, "6.2.2.2-04", f"the peer does not hear of a disconnection that was lost at first: {str(why)[:80]}")
    e.right.agent.call("verbs.ModifyQp", qp=e.right.qp, state="ERR")
    got = e.received(2, 20)
    e.require(got == ["WR_FLUSH_ERR"] * 2, "6.2.4-02", f"Receives of a stream that is over: {got}")


STEPS: tuple[Callable[[Ends], None], ...] = (requests_lost, answers_lost, given_up, answers_never, not_connected, closed_alone)


def one(step: Callable[[Ends], None], agents: list[Agent], hellos: list[dict[str, Any]], link: Link) -> Optional[Broken]:
    """What a step found; None when it could not be decided, which is told."""
    try:
        ends = Ends(agents, hellos, link, joined=step is not not_connected)
        step(ends)
        return ends.broken
    except (AssertionError, KeyError, OSError) as why:
        print(f"    {step.__name__}: inconclusive: {str(why)[:200] or type(why).__name__}", flush=True)
        return None
    finally:
        link.cut = frozenset()


def steps(kind: str, paths: list[str], link: Link) -> int:
    """All of them. 0 when each comes to what is recorded of this provider."""
    agents = [Agent(path) for path in paths]
    status = 0
    try:
        hellos = [agent.call("hello", protocol=2) for agent in agents]
        for step in STEPS:
            broken = one(step, agents, hellos, link)
            status |= broken is None
            told = {(step.__name__, row): what for row, what in reversed(broken or ())}  # of each row the first
            recorded = {key for key in RECORDED[kind] if key[0] == step.__name__}
            for key, what in told.items():
                word = f"as recorded: {RECORDED[kind][key]}" if key in recorded else "BROKEN"
                print(f"    {step.__name__}: VERBS-{key[1]}: {what} ({word})", flush=True)
            for key in sorted(recorded - told.keys()):
                print(f"    {step.__name__}: VERBS-{key[1]} did NOT occur", flush=True)
            status |= told.keys() != recorded
            if broken == []:
                print(f"    {step.__name__}: conforms", flush=True)
    finally:
        for agent in agents:
            agent.close()
    return int(status)
