"""Clause 3.1: Message ACK and Remote Error Code."""

from __future__ import annotations

from typing import Optional

from fcvi.engine import pages
from fcvi.engine.case import Variant, case
from fcvi.engine.scenario import NotThere
from fcvi.vitcp import wire
from fcvi.vitcp.scenario import Scenario
from fcvi.vitcp.stream import Received
from fcvi.vitcp.wire import DESCRIPTOR_ERROR, END, MASK32, MEMORY_PROTECTION, NOP, READ_REQUEST, SEND, WRITE, Pdu

from conformance.vitcp.steps.connection import (
    CONNECTED, CREDIT, DELIVERY, ERROR, IDLE, RECEPTION, REGISTRY, UNRELIABLE, Link, check_state, connect, roles,
    roles_and_levels, with_each,
)  # fmt: skip
from conformance.vitcp.steps.messages import (
    Region, acknowledge, alive, answer, ask, completion, contents, credit, deliver, emit, guarded, message, no_completion, nop,
    pattern, post_receive, post_send, register, respond, response, segments, send, sent, told, write,
)  # fmt: skip

_RELIABLE = (DELIVERY, RECEPTION)


@case(
    REGISTRY,
    "TCP.3.1.i",
    "Acknowledgements of the DUT",
    clause="3.1",
    requirements=[
        "VITCP-3.1-25", "VITCP-3.1-32", "VITCP-3.1-34", "VITCP-3.1-36", "VITCP-3.1-37", "VITCP-3.1-38", "VITCP-3.1-39",
    ],
    errata=["V14", "V15", "V16", "V54", "V64"],
    applies="tcp and send",
    variants=roles_and_levels(_RELIABLE)
    + with_each(roles_and_levels(_RELIABLE), "own", {"own-unacknowledged": "unacknowledged"})
    + with_each(roles_and_levels(_RELIABLE, "flow_control"), "own", {"own-waits": "waits"}),
)  # fmt: skip
def acknowledges(t: Scenario) -> None:
    """A NOP with the ACK comes when the DUT has no data of its own that it may send: also while its own message waits for an ACK,
    or for credit. With the ACK the data are in memory and the completion has been told; a data segment behind a message received
    has the ACK as well. At Reliable Delivery Message ACK may say anything (V14).
    """
    if "own" in t.params:
        _while_its_own_waits(t)
        return
    link = connect(t)
    erratum = "V14" if link.level == DELIVERY else None
    for size in (100, 3000, 0, 50):
        region = post_receive(link, size + 16)
        payload = pattern(size, size & 63)
        one = _acknowledged(link, payload)
        if one is None:
            break
        noted = len(t.completed(link.vi, "recv")) > link.completions["recv"]
        if not noted and t.dut.clock == "virtual":
            t.report("VITCP-3.1-37", "ACK before the completion", "no completion", "a completion", at=one, erratum=erratum)
        t.require(contents(t, region)[:size] == payload, "VITCP-3.1-36", "ACK before the data", "other bytes", "those sent", at=one,
                  erratum=erratum)
        completion(link, "recv", "VITCP-2.2.2.1-06", "for a Send")
    last = [*link.stream.watch.known.sent][-1]
    post_send(link, pattern(3000))
    now = message(link, SEND, pattern(3000), "VITCP-2.2.2.1-06")
    for segment in now.segments:
        t.require(segment.pdu.ack == last, "VITCP-3.1-39", "Message ACK of a data segment", segment.pdu.ack, last, at=segment,
                  byte=16, erratum=erratum)
    t.control("a Send passed each way")


def _acknowledged(link: Link, payload: bytes) -> Optional[Received]:
    """The PDU with the ACK of a Send of the tester's; None when none came."""
    t, before = link.t, len(link.t.tester.inbox)
    number = send(link, segments(link, payload))

    def acks() -> list[Received]:
        return [r for r in t.tester.inbox[before:] if r.stream is link.stream and r.pdu.ack == number and not r.pdu.error]

    if not t.until(lambda: bool(acks()), t.nop_bound_us):
        seen = [r.pdu.ack for r in t.tester.inbox[before:]]
        t.report("VITCP-3.1-25", "no NOP brings the ACK of a message", str(seen), f"{number} within {t.nop_bound_us} us",
                 erratum="V14" if link.level == DELIVERY else None)
        return None
    return acks()[0]


def _while_its_own_waits(t: Scenario) -> None:
    """A Send of the DUT's is not acknowledged, or finds no credit: what the tester sends is acknowledged all the same."""
    waits = t.params["own"] == "waits"
    link = connect(t, rx=0 if waits else CREDIT)
    post_receive(link, 100)
    post_send(link, pattern(40))
    if not waits:
        message(link, SEND, pattern(40), "VITCP-2.2.2.1-06")
    _acknowledged(link, pattern(60, 2))
    completion(link, "recv", "VITCP-2.2.2.1-06", "for a Send")
    if waits:
        link.rx += 1
        nop(link)
        message(link, SEND, pattern(40), "VITCP-2.2.2.1-06", "though there is a credit")
    acknowledge(link, link.stream.watch.messages[-1].number)
    sent(link)
    t.control("a Send passed each way")


@case(
    REGISTRY,
    "TCP.3.1.j",
    "Completion by ACK and by response",
    clause="3.1",
    requirements=["VITCP-3.1-38", "VITCP-3.1-39", "VITCP-3.1-40", "VITCP-3.1-41"],
    errata=["V14", "V15", "V16", "V77", "V79"],
    applies="tcp and reliable_reception",
    variants=[
        variant for by, *needs in (
            ("nop",), ("send",), ("write", "rdma_write"), ("read-request", "rdma_read"), ("read-response", "rdma_read"),
            ("cumulative",), ("read", "rdma_read"),
        )
        for variant in with_each(roles_and_levels((RECEPTION,), *needs), "by", {by: by})
    ],
)  # fmt: skip
def completes(t: Scenario) -> None:
    """At Reliable Reception a Send completes after the ACK with its number or a later one and not before, whatever PDU brings it;
    an ACK of something else completes nothing. A read completes by its response only.
    """
    by = str(t.params["by"])
    link = connect(t)
    if by == "read":
        _read(t, link)
        return
    count = 3 if by == "cumulative" else 1
    waiting = None
    if by == "read-response":
        post_send(link, op="rdma-read", remote=(0x100, 1), region=register(t, 10), length=10)
        waiting = message(link, READ_REQUEST, None, "VITCP-2.2.2.1-06")
    posted = [post_send(link, pattern(40, n)) for n in range(count)]
    if waiting is not None and not _passes(link):
        respond(link, answer(link, waiting, pattern(10)))
        completion(link, "send", "VITCP-3.1-41", "for the read")
        by, waiting = "nop", None
    last = message(link, SEND, pattern(40, 0), "VITCP-2.2.2.1-06")
    for n in range(1, len(posted)):
        if not _passes(link):  # it sends the next when this one was acknowledged (V79)
            acknowledge(link, last.number)
            sent(link)
            count -= 1
        last = message(link, SEND, pattern(40, n), "VITCP-2.2.2.1-06")
    if waiting is not None and waiting.number == last.number:  # a count for each type (V18): the ACK would name either
        t.control("a Send and a Read Request came")
        return
    no_completion(link, "send", "VITCP-3.1-40", "before any ACK", t.nop_bound_us // 4)
    t.on_purpose("VITCP-3.1-34")
    for other in ((last.number + 1000) & MASK32, last.number ^ 0x10000, last.number ^ 0x80000000):
        nop(link, ack=other)
    no_completion(link, "send", "VITCP-3.1-40", "by the ACK of something else", t.nop_bound_us // 4)
    link.acknowledged = last.number
    if by in ("nop", "cumulative"):
        nop(link)
    elif by == "send":
        post_receive(link)
        send(link, segments(link, pattern(10)))
    elif by == "write":
        target = register(t, 64, write=True)
        write(link, target, pattern(10))
    elif by == "read-request":
        source = register(t, 64, read=True)
        ask(link, source.va, source.handle, 8)
    elif waiting is not None:
        respond(link, answer(link, waiting, pattern(10)))
        completion(link, "send", "VITCP-3.1-41", "for the read")
    row = "VITCP-3.1-38" if by != "cumulative" else "VITCP-3.1-40"
    for _ in range(count):
        done = t.owed(lambda: len(t.completed(link.vi, "send")) > link.completions["send"])
        if not t.require(done, row, f"the ACK in a {by} completes nothing", "no completion", "a completion"):
            t.control("a Send came")
            return
        sent(link)
    t.control("a Send completed by its ACK")


def _passes(link: Link) -> bool:
    """Whether the Send goes out while a read is under way. It may, and a provider may hold it until the read has ended (V77)."""
    found = link.stream.watch.messages
    link.t.until(lambda: len(found) > link.taken, link.t.nop_bound_us)
    return len(found) > link.taken


def _read(t: Scenario, link: Link) -> None:
    region = register(t, 100)
    post_send(link, op="rdma-read", remote=(0x100, 1), region=region, length=100)
    request = message(link, READ_REQUEST, None, "VITCP-2.2.2.1-06")
    post_send(link, pattern(10))
    passes = _passes(link)
    now = message(link, SEND, pattern(10), "VITCP-2.2.2.1-06") if passes else None
    acknowledge(link, request.number)
    no_completion(link, "send", "VITCP-3.1-41", "by an ACK though it is a read", t.nop_bound_us // 4)
    respond(link, answer(link, request, pattern(100)))
    done = [completion(link, "send", "VITCP-3.1-41", "for a read")]
    # not before: at Reliable Reception a Send that has passed a read is not good until the read's data are there (VI-ARCH 6.3.1.1)
    acknowledge(link, (now or message(link, SEND, pattern(10), "VITCP-2.2.2.1-06")).number)
    done.append(completion(link, "send", "VITCP-3.1-40", "for a Send behind a read"))
    t.require(all(d.good for d in done), "VITCP-3.1-41", "a read and a Send are in error", str(done), "both good")
    lengths = [d.length for d in done]
    t.require(lengths == [100, 10], "VITCP-3.1-40", "the order of the completions", lengths, [100, 10])
    t.control("a read completed by its response")


@case(
    REGISTRY,
    "TCP.3.1.k",
    "Error reports of the DUT",
    clause="3.1",
    requirements=[
        "VITCP-1-01", "VITCP-3.1-33", "VITCP-3.1-35", "VITCP-3.1-42", "VITCP-3.1-43", "VITCP-3.1-48", "VITCP-3.1-50",
        "VITCP-3.1-53",
    ],
    errata=["V15", "V49", "V68", "V75", "V82"],
    applies="tcp and reliable_reception",
    variants=with_each(roles_and_levels((RECEPTION,)), "what", {
        w: w for w in ("short", "short-later", "absent", "absent-write", "bounds")}),
)  # fmt: skip
def reports(t: Scenario) -> None:
    """The k-th of several messages fails: the report names it, with RDMA Memory Protection Error for an RDMA Write out of bounds
    and VI Descriptor Error for a Send into a receive Descriptor that is a byte too short, or absent, also for an RDMA Write with
    Immediate Data. VipDisconnect brings the VI back to Idle.
    """
    what = str(t.params["what"])
    if what == "absent-write" and not (t.pics["rdma_write"] and t.pics["immediate_data"]):
        raise NotThere("the DUT has no RDMA Writes with Immediate Data")
    link = connect(t, flow=False if what.startswith("absent") else None)  # with flow control the tester had to wait
    deliver(link, pattern(10))
    deliver(link, pattern(10))
    t.control("two Sends were delivered")
    known = link.stream.watch.known
    known.error_due = True
    before = len(t.tester.inbox)
    wanted, region = DESCRIPTOR_ERROR, None
    if what == "bounds":
        if not t.pics["rdma_write"]:
            return
        target = register(t, 64, write=True)
        wanted = MEMORY_PROTECTION
        number = write(link, Region(0, pages.behind(target.va, 64) - 4, target.handle, 64), pattern(20))
    elif what == "absent-write":
        number = write(link, register(t, 64, write=True), pattern(40), immediate=7)
    else:
        region = post_receive(link, 39) if what != "absent" else None
        number = send(link, segments(link, pattern(40), size=20 if what == "short-later" else 1200))
    t.owed(lambda: link.stream.over or any(r.pdu.error for r in t.tester.inbox[before:]))
    t.settle()
    found = [r for r in t.tester.inbox[before:] if r.stream is link.stream and r.pdu.error]
    if not found:
        t.fail("VITCP-3.1-53", "the error is not reported", "nothing", f"VI Error Type {t.numbers.error_of(wanted)} for {number}")
    one = found[0]
    t.require(one.pdu.error == wanted, "VITCP-3.1-53", "VI Error Type of the report", t.numbers.error_of(one.pdu.error),
              t.numbers.error_of(wanted), at=one, byte=22, bits="7-0")
    t.require(one.pdu.ack == number, "VITCP-3.1-35", "the message that the report names", one.pdu.ack, number, at=one, byte=16)
    if one.pdu.is_code:
        t.require(one.pdu.ack == number, "VITCP-3.1-50", "the message that IS Error Code is about", one.pdu.ack, number,
                  at=one, byte=16)
    t.expect_end(link.stream, "VITCP-2.2.2.2.2-04", why="after an error on a reliable connection")
    check_state(t, link.vi, ERROR, "VITCP-2.2.2.2.2-04")
    done = t.completed(link.vi, "recv")[link.completions["recv"] :]
    t.require(not any(c.good for c in done), "VITCP-3.1-53", "the message in error completes well", "good", "an error")
    if region is not None:
        guarded(t, region, "VITCP-3.1-53")
    if what.startswith("absent") or what == "bounds":  # else the Descriptor tells of it
        told(t, link.vi, "VIP_ERROR_RDMAW_PROT" if what == "bounds" else "VIP_ERROR_RECVQ_EMPTY")
    t.call("VipDisconnect", vi=link.vi)
    check_state(t, link.vi, IDLE, "VITCP-1-01")


_STATUS = {
    "protection": (MEMORY_PROTECTION, "VIP_STATUS_RDMA_PROT_ERROR"), "descriptor": (DESCRIPTOR_ERROR,
                                                                                    "VIP_STATUS_REMOTE_DESC_ERROR"),
}  # fmt: skip


@case(
    REGISTRY,
    "TCP.3.1.l",
    "Error reports of the tester",
    clause="3.1",
    requirements=["VITCP-3.1-44", "VITCP-3.1-51", "VITCP-3.1-54"],
    errata=["V48", "V49", "V75", "V79"],
    applies="tcp and reliable_reception",
    variants=with_each(roles_and_levels((RECEPTION,)), "what", {"protection": "protection", "descriptor": "descriptor",
                                                                "with-code": "code", "code-alone": "alone", "in-a-send": "send"})
    + with_each(roles_and_levels((RECEPTION,), "rdma_read"), "what", {"of-a-read": "read"}),
)  # fmt: skip
def reported(t: Scenario) -> None:
    """An error for the second of three messages: the first completes well, the second with the status of the error, the third is
    flushed though a later ACK names it, and the VI is in Error. An IS Error Code changes none of it, and any segment may bring it.
    """
    what = str(t.params["what"])
    link = connect(t)
    emit(link, pattern(20))
    if what == "send":
        post_receive(link)
        credit(link)
    if what == "read":
        _read_reported(t, link)
        return
    kinds = [SEND, WRITE if what == "protection" and t.pics["rdma_write"] else SEND, SEND]
    for number, kind in enumerate(kinds):
        post_send(link, pattern(30, number), "send" if kind == SEND else "rdma-write", remote=None if kind == SEND else (0x100, 1))
    found = [message(link, kinds[0], pattern(30, 0), "VITCP-2.2.2.1-06")]
    together = _passes(link)  # else it sends the next when this one was acknowledged (V79)
    t.control("a message came")
    if what == "alone":
        for number in (1, 2) if together else ():
            found.append(message(link, kinds[number], pattern(30, number), "VITCP-2.2.2.1-06"))
        nop(link, ack=found[-1].number, is_code=0x21)
        for number in range(3):
            done = completion(link, "send", "VITCP-3.1-51", "for an ACK with an IS Error Code")
            t.require(done.good, "VITCP-3.1-51", "an IS Error Code with No Error is an error", sorted(done.status), "no error bit")
            if not together and number < 2:
                found.append(message(link, kinds[number + 1], pattern(30, number + 1), "VITCP-2.2.2.1-06"))
                nop(link, ack=found[-1].number, is_code=0x21)
        check_state(t, link.vi, CONNECTED, "VITCP-3.1-51")
        return
    if not together:
        acknowledge(link, found[0].number)
    for number in (1, 2) if together else (1,):
        found.append(message(link, kinds[number], pattern(30, number), "VITCP-2.2.2.1-06"))
    error, status = _STATUS["protection" if what == "protection" else "descriptor"]
    pdu = Pdu(NOP, 0, flags=END, rx=link.rx, ack=found[1].number, error=error, is_code=0x21 if what == "code" else 0)
    if what == "send":
        (one,) = segments(link, pattern(10))
        link.stream.watch.known.complete(one.number)
        t.send(link.stream, one.but(ack=found[1].number, error=error))
    else:
        t.send(link.stream, pdu)
    t.send(link.stream, pdu.but(ack=(found[1].number + 1) & MASK32 if not together else found[2].number, error=0, is_code=0))
    t.settle()
    t.owed(lambda: len(t.completed(link.vi, "send")) >= link.completions["send"] + 3)
    done_all = t.completed(link.vi, "send")[link.completions["send"] :]
    if len(done_all) < 3:
        t.fail("VITCP-3.1-54", "Descriptors that complete after an error report", str(len(done_all)), "3")
    t.require(done_all[0].good, "VITCP-3.1-54", "the message before the one in error", sorted(done_all[0].status), "no error bit")
    t.require(status in done_all[1].status, "VITCP-3.1-54", "the status of the message in error", sorted(done_all[1].status),
              status)
    t.require(not done_all[2].good, "VITCP-3.1-44", "what stands behind the error completes well", "good",
              "VIP_STATUS_DESC_FLUSHED_ERROR")
    check_state(t, link.vi, ERROR, "VITCP-3.1-54")
    t.expect_end(link.stream, "VITCP-2.2.2.2.2-04", why="after an error report")


def _read_reported(t: Scenario, link: Link) -> None:
    """The report names a Read Request: the Read has the status of the error, and no response comes any more."""
    post_send(link, op="rdma-read", remote=(0x100, 1), region=register(t, 30), length=30)
    request = message(link, READ_REQUEST, None, "VITCP-2.2.2.1-06")
    t.control("a Read Request came")
    error, status = _STATUS["protection"]
    nop(link, ack=request.number, error=error)
    done = completion(link, "send", "VITCP-3.1-54", "for a read that is in error")
    t.require(status in done.status, "VITCP-3.1-54", "the status of the read in error", sorted(done.status), status)
    check_state(t, link.vi, ERROR, "VITCP-3.1-54")
    t.expect_end(link.stream, "VITCP-2.2.2.2.2-04", why="after an error report")


@case(
    REGISTRY,
    "TCP.3.1.m",
    "Unreliable Delivery",
    clause="3.1",
    requirements=["VITCP-1-01", "VITCP-3.1-45", "VITCP-3.1-55", "VITCP-3.1-56"],
    errata=["V52"],
    applies="tcp and unreliable_delivery",
    variants=roles_and_levels((UNRELIABLE,)),
)
def unreliable(t: Scenario) -> None:
    """ACKs and error reports of the tester change nothing, and the DUT reports no error though a message fails: one that finds no
    Descriptor, one that is too long for it, an RDMA Write to memory that is not there. Any may be lost, and none ends the
    connection (VI-ARCH 2.5.1).
    """
    link = connect(t, flow=False)  # with flow control the tester had to wait for a Descriptor
    t.on_purpose("VITCP-3.1-55")
    for beside, error in ((1000, 0), (0, 0), (0, MEMORY_PROTECTION), (0, DESCRIPTOR_ERROR)):
        post_send(link, pattern(20))
        now = message(link, SEND, pattern(20), "VITCP-2.2.2.1-06")
        nop(link, ack=(now.number - beside) & MASK32, error=error, is_code=9)
        done = completion(link, "send", "VITCP-3.1-45", "at Unreliable Delivery")
        t.require(done.good, "VITCP-3.1-56", "an error report at Unreliable Delivery counts", sorted(done.status), "no error bit")
        check_state(t, link.vi, CONNECTED, "VITCP-3.1-56")
    send(link, segments(link, pattern(30)))  # no Descriptor: lost
    _stays(t, link, "a Send that finds no Descriptor")
    if t.pics["rdma_write"]:
        write(link, Region(0, 0x1000, 0x7FFFFFF1, 30), pattern(30))
        _stays(t, link, "an RDMA Write to memory that is not there")
    region = post_receive(link, 29)
    send(link, segments(link, pattern(30)))  # too long for it
    _stays(t, link, "a Send that is too long")
    guarded(t, region, "VITCP-3.1-55")
    taken = t.completed(link.vi, "recv")[link.completions["recv"] :]
    t.require(not any(c.good for c in taken), "VITCP-3.1-55", "a Send that is too long completes well", "good", "an error, or none")
    t.control("messages were sent")
    link.completions["recv"] += len(taken)
    if taken:
        alive(link)
        return
    post_receive(link, 64)  # the Descriptor of the lost Send may be spent with it, or be there still: either takes the next one
    send(link, segments(link, pattern(20)))
    done = completion(link, "recv", "VITCP-1-01", "behind messages that were lost")
    t.require(done.good and done.length == 20, "VITCP-1-01", "a Send behind messages that were lost", str(done), "good")


def _stays(t: Scenario, link: Link, what: str) -> None:
    """No error in the processing of a message breaks an unreliable connection (VI-ARCH 2.5.1)."""
    t.wait(t.nop_bound_us // 4)
    t.require(not link.stream.over, "VITCP-1-01", f"the connection ends by {what}", "closed", "open")
    check_state(t, link.vi, CONNECTED, "VITCP-1-01")


__all__ = ["Variant", "response", "roles", "wire"]
