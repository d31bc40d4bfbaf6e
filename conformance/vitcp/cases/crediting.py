"""Clause 3.1: Rx Descriptors Posted, flow control and NOP."""

from __future__ import annotations

from fcvi.engine.case import Variant, case
from fcvi.engine.scenario import Inconclusive
from fcvi.engine.upper_tester import Unimplemented
from fcvi.vitcp.scenario import Scenario
from fcvi.vitcp.wire import MASK16, MASK32, NOP, READ_REQUEST, SEND, WRITE

from conformance.vitcp.steps.connection import (
    RECEPTION, REGISTRY, UNRELIABLE, Link, connect, create, roles, roles_and_levels, with_each,
)  # fmt: skip
from conformance.vitcp.steps.messages import (
    Region, acknowledge, alive, ask, come, deliver, message, nop, pattern, post_receive, post_receive_to, post_send, register,
    response, segments, send,
)  # fmt: skip

_BOTH = (UNRELIABLE, RECEPTION)


@case(
    REGISTRY,
    "TCP.3.1.f",
    "Rx Descriptors Posted",
    clause="3.1",
    requirements=["VITCP-3.1-21", "VITCP-3.1-26"],
    errata=["V23", "V55"],
    applies="tcp",
    variants=roles_and_levels(_BOTH),
)
def posted(t: Scenario) -> None:
    """The count is what was posted before the connection and since, in every PDU."""
    early = 3
    level = str(t.params.get("level", RECEPTION))
    vi = create(t, level)
    region = register(t, 64)
    for _ in range(early):
        post_receive_to(t, vi, region, 64)
    t.wait(t.nop_bound_us)  # until they are taken up (V61)
    link = connect(t, vi=vi, level=level, posted=early)
    known = link.stream.watch.known
    post_receive(link, 64, region)
    post_receive(link, 64, region)
    t.wait(t.nop_bound_us)
    post_send(link, pattern(3000))
    now = message(link, SEND, pattern(3000), "VITCP-2.2.2.1-06")
    base = early if link.stream.watch.left_out else 0
    seen = now.segments[-1].pdu.rx
    t.require(seen == known.posted - base, "VITCP-3.1-26", "Rx Descriptors Posted", seen, known.posted, at=now.segments[-1],
              byte=20)
    t.control("a Send came")
    if t.pics["rdma_read"] and link.reliable and link.window:
        source = register(t, 3000, read=True, data=pattern(3000))
        response(link, ask(link, source.va, source.handle, 3000), pattern(3000))


@case(
    REGISTRY,
    "TCP.3.1.g",
    "Credits",
    clause="2.2.1, 3.1, 3.2",
    requirements=["VITCP-2.2.1-02", "VITCP-2.2.1-03", "VITCP-3.1-20", "VITCP-3.1-23", "VITCP-3.1-24", "VITCP-3.2-05"],
    errata=["V20", "V22", "V23", "V79"],
    applies="tcp and flow_control and send",
    variants=with_each(roles_and_levels(_BOTH), "what", {"sends": "sends", "immediate": "immediate", "others": "others",
                                                         "none": "none", "one-flag": "one-flag", "many": "many"}),
)
def credits(t: Scenario) -> None:
    """With n credits exactly n Sends, or RDMA Writes with Immediate Data, come, and the next one when the count rises. What
    consumes no Descriptor is not delayed. With one flag only nothing is.
    """
    what = str(t.params["what"])
    count = {"none": 0, "others": 0, "one-flag": 0, "many": 0x100}.get(what, 3)
    link = connect(t, rx=count, flow=what != "one-flag")
    found = link.stream.watch.messages
    if what in ("others",):
        if t.pics["rdma_write"]:
            post_send(link, pattern(200), "rdma-write", remote=(0x100, 1))
            now = message(link, WRITE, pattern(200), "VITCP-3.1-24", "without any credit")
            if link.reliable:
                acknowledge(link, now.number)
        if t.pics["rdma_read"] and link.reliable:
            post_send(link, op="rdma-read", remote=(0x100, 1), region=register(t, 10), length=10)
            message(link, READ_REQUEST, None, "VITCP-3.1-24", "without any credit")
            if link.window:
                source = register(t, 3000, read=True, data=pattern(3000))
                response(link, ask(link, source.va, source.handle, 3000), pattern(3000), "VITCP-3.1-24")
        t.control("what consumes no Descriptor came")
        return
    if what == "many":
        nop(link)
        post_send(link, pattern(30))
        message(link, SEND, pattern(30), "VITCP-2.2.1-03", f"with {count} credits")
        t.control("a Send came")
        return
    if what == "one-flag":
        post_send(link, pattern(30))
        message(link, SEND, pattern(30), "VITCP-3.1-24", "where flow control is not agreed")
        t.control("a Send came")
        return
    for number in range(count + 2):
        if what == "immediate" and number % 2 == 0 and t.pics["rdma_write"]:
            post_send(link, pattern(40, number), "rdma-write", remote=(0x100, 1), immediate=number)
        else:
            post_send(link, pattern(40, number))
    t.wait(t.nop_bound_us)
    come(link, count)
    t.require(len(found) == count, "VITCP-3.1-23", "messages that consume a Descriptor", len(found),
              f"{count}, as many as the credits")
    if len(found) < count:
        t.absent("VITCP-3.1-24", "a message with credit is held back", f"{count} messages", link.stream)
    t.require(not link.stream.over, "VITCP-2.2.1-02", "the connection ends for want of credit", "closed", "open")
    if len(found) == count:
        link.rx = (link.rx + 1) & MASK16
        nop(link)
        come(link, count + 1)
        t.require(len(found) == count + 1, "VITCP-2.2.1-03", "messages after one more credit", len(found), count + 1)
        link.rx = (link.rx + 1) & MASK16
        nop(link)
        come(link, count + 2)
        t.require(len(found) == count + 2, "VITCP-3.1-23", "messages after two more credits", len(found), count + 2)
    order = [next((n for n in range(count + 2) if bytes(m.payload) == pattern(40, n)), -1) for m in found]
    t.require(-1 in order or order == sorted(order), "VITCP-3.1-20", "the order of the messages, as they were posted", order,
              sorted(order))
    if found:
        t.control("messages came as far as the credits go")


@case(
    REGISTRY,
    "TCP.3.1.h",
    "NOPs that tell of credits",
    clause="3.1",
    requirements=["VITCP-3.1-27", "VITCP-3.1-28", "VITCP-3.1-29"],
    errata=["V20", "V21", "V60"],
    applies="tcp and flow_control",
    variants=with_each(roles_and_levels(_BOTH), "empty", {"peer-without-credit": 0, "both-empty": 1, "credit-left": 2}),
)
def nops(t: Scenario) -> None:
    """When the tester has no credit and the DUT posts a Descriptor, a NOP tells the count within the bound, also when the DUT has
    no credit of its own and a Send waits. While credits are left its absence is a notice.
    """
    how = int(t.params["empty"])
    link = connect(t, rx=0 if how == 1 else 50)
    alive(link) if how != 1 else t.control("the connection was made")
    if how == 1:
        post_send(link, pattern(10))
    region = register(t, 64)
    if how == 2:
        for _ in range(4):
            post_receive(link, 64, region)
    known = link.stream.watch.known
    t.wait(t.nop_bound_us)
    before = len(t.tester.inbox)
    post_receive(link, 64, region)
    wanted = known.posted & MASK16

    def told() -> bool:
        return any(r.stream is link.stream and r.pdu.rx in (wanted, wanted - known.early) for r in t.tester.inbox[before:])

    t.until(told, t.nop_bound_us)
    kinds = [r.pdu.kind for r in t.tester.inbox[before:] if r.stream is link.stream]
    if how == 2:
        t.require(told(), "VITCP-3.1-29", "the count is not told while credits are left", "nothing", "a NOP", erratum=None
                  if told() else "V20")
        return
    t.require(told(), "VITCP-3.1-28", "no NOP tells the count to a peer without credit", str(kinds),
              f"a NOP with {wanted} within the bound")
    if told() and NOP in kinds:
        data = pattern(20)
        send(link, segments(link, data))


#: Receive Descriptors that are posted in one connection: more than 8 bits count, and more than the 16 of the field.
_COUNTS = [
    *(Variant(f"past-2^{bits}", {"count": count, "by": "dut"}, needs) for bits, count, needs in (
        (8, 300, ""), (16, 65_600, "long_counts"))),
    Variant("told-past-2^16", {"count": 65_600, "by": "tester"}, "long_counts and send"),
]  # fmt: skip
_AT_ONCE = 16  # of them
_OLD = 1_000  # what counts fewer than all but the last of these is older than any PDU that was held back (V61)


@case(
    REGISTRY,
    "TCP.3.1.p",
    "A count beyond its field",
    clause="3.1",
    requirements=["VITCP-3.1-09", "VITCP-3.1-22"],
    errata=["V20", "V23"],
    applies="tcp and flow_control",
    tags=["long"],
    variants=_COUNTS,
)
def beyond_the_field(t: Scenario) -> None:
    """Receive Descriptors are posted and used up by empty Sends: the count that the DUT tells goes on rising, and 0 follows
    65,535. So does the count that the tester tells, as a credit of the DUT, whose Message Numbers rise beyond 16 bits meanwhile.
    """
    count = int(t.params["count"])
    if t.params["by"] == "tester":
        _told_beyond(t, count)
        return
    link = connect(t)
    region, known, own = register(t, 64), link.stream.watch.known, link.stream.own
    post_receive(link, 64, region)
    send(link, segments(link, b""))
    t.control("a Send used up a Descriptor")
    while known.posted < count:
        t.owed(lambda: len(t.completions) >= known.posted)
        if len(t.completions) < known.posted:
            t.absent("VITCP-2.2.2.1-06", "a Send does not complete its receive Descriptor", "one completion for each", link.stream)
        heard = len(t.tester.inbox)
        reaped = _reap(t, link)
        known.posted += _AT_ONCE
        known.floor = max(0, known.posted - _OLD)
        for _ in range(_AT_ONCE):
            _post(t, link, region, reaped)
        left = _AT_ONCE
        while left:
            _goes_on(t, link, heard)
            for _ in range(min(left, own.credits)):
                t.send(link.stream, segments(link, b"")[0])
                known.complete((link.first - 1) & MASK32)
                left -= 1
            t.settle()


def _told_beyond(t: Scenario, count: int) -> None:
    """The DUT sends empty Sends with all the credit that the tester gives it."""
    link = connect(t, rx=_AT_ONCE)
    found, region = link.stream.watch.messages, register(t, 64)
    while len(found) < count:
        wanted = len(found) + _AT_ONCE
        for _ in range(_AT_ONCE):
            post_send(link, region=region, settle=False)
        t.settle()
        if not come(link, wanted):
            t.absent("VITCP-3.1-22", f"a Send with the credit of a count of {link.rx}", f"{wanted} Sends", link.stream)
        link.rx = (link.rx + _AT_ONCE) & MASK16
        link.acknowledged = found[-1].number
        nop(link)
        _reap(t, link, "VipSendDone")
    t.control("Sends came with each credit")


def _reap(t: Scenario, link: Link, done: str = "VipRecvDone") -> bool:
    """Take completed Descriptors off the queue, whose length a provider limits. An adapter may have done so by itself.
    Whether the call is served.
    """
    try:
        while (call := t.start(done, vi=link.vi)).done and call.returned() == "VIP_SUCCESS":
            pass
        t.settle()
    except Unimplemented:
        return False
    return True


def _post(t: Scenario, link: Link, region: Region, reaped: bool) -> None:
    """Post a receive Descriptor. A queue from which nothing was taken may be full."""
    if reaped:
        post_receive_to(t, link.vi, region, 64)
        return
    segment = {"mem": region.mem, "offset": 0, "length": 64}
    code = t.call("VipPostRecv", vi=link.vi, descriptor={"op": "recv", "segments": [segment]}).returned()
    if code != "VIP_SUCCESS":
        raise Inconclusive(f"VipRecvDone did not empty the queue, and VipPostRecv returned {code}")


def _goes_on(t: Scenario, link: Link, heard: int) -> None:
    """Descriptors were posted: what comes tells the tester of credit, or else nothing came. heard: PDUs before that."""
    own, posted = link.stream.own, link.stream.watch.known.posted & MASK16
    going = t.owed(lambda: own.credits > 0)
    last = t.tester.inbox[-1] if len(t.tester.inbox) > heard else None
    t.demand(going or last is None, "VITCP-3.1-22", "Rx Descriptors Posted does not go on", own.told, posted, at=last)
    if not going:
        t.absent("VITCP-3.1-28", "no NOP tells the count to a peer without credit", f"a NOP with {posted}", link.stream)


__all__ = ["Variant", "deliver", "roles"]
