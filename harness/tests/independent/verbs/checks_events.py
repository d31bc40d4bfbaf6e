"""Checks: Completion notification and asynchronous events (8.2.5, 8.3.3)."""

from __future__ import annotations

from typing import Any

from .bench import End
from .checks import Make, SOON, check, errors, same, told


def _event(end: End, seconds: float = SOON) -> Any:
    return end.agent.verb("GetEvent", handler=end.handler, Timeout=int(seconds * 1e6))["cq"]


@check()
def notifications(make: Make) -> None:
    """One event for each arming, at the next entry, for the right CQ; the provider does not poll (8.2.5)."""
    pair = make()
    agent, left, right = pair.agent, pair.left, pair.right
    right.receive([pair.sink.sge(8)], 1, 12)
    left.post("SEND", [pair.source.sge(8)], 1)
    left.sent()
    same(_event(right), None)
    for turn in range(2):
        agent.verb("RequestNotification", cq=right.rcq, solicited=False)
        agent.verb("RequestNotification", cq=right.rcq, solicited=False)
        if agent.flavour == "iwarp":
            same(_event(right, 0.01), None)
        left.post("SEND", [pair.source.sge(8)], 2)
        left.post("SEND", [pair.source.sge(8)], 3)
        same(_event(right, 0.2), right.rcq)
        left.sent(2)
        if agent.flavour == "iwarp":
            same(_event(right), None)
        same(len(right.poll(right.rcq, 3 - turn, 0.2)), 3 - turn)
    agent.verb("RequestNotification", cq=left.scq, solicited=False)
    left.post("SEND", [pair.source.sge(8)], 4)
    same(_event(left, 0.2), left.scq)


@check()
def solicited(make: Make) -> None:
    """Armed for solicited: a solicited Send or an error, and nothing else; the next outranks it (8.2.5)."""
    pair = make()
    agent, left, right = pair.agent, pair.left, pair.right
    right.receive([pair.sink.sge(8)], 1, 6)
    agent.verb("RequestNotification", cq=right.rcq, solicited=True)
    left.post("SEND", [pair.source.sge(8)], 1)
    left.sent()
    same(_event(right), None)
    left.post("SEND", [pair.source.sge(8)], 2, ("SIGNALED", "SOLICITED"))
    same(_event(right, 0.2), right.rcq)
    left.sent()
    right.poll(right.rcq, 2)
    agent.verb("RequestNotification", cq=right.rcq, solicited=True)
    agent.verb("RequestNotification", cq=right.rcq, solicited=False)
    agent.verb("RequestNotification", cq=right.rcq, solicited=True)
    left.post("SEND", [pair.source.sge(8)], 3)
    same(_event(right, 0.2), right.rcq)
    left.sent()
    right.poll(right.rcq, 1)
    agent.verb("RequestNotification", cq=right.rcq, solicited=True)
    right.to("ERR")
    same(_event(right, 0.2), right.rcq)


@check("iwarp")
def events_name_their_qp(make: Make) -> None:
    """8.3.3: the event names the QP it is about."""
    pair = make()
    other = End(pair.agent, pair.left.rnic)
    pair.left.post("RDMA_WRITE", [pair.source.sge(8)], 1, remote={"addr": "0" * 16, "rkey": 0x1234500})
    assert told(pair, pair.right), pair.agent.events("async")
    same(errors(pair.agent, qp=other.qp), [])
