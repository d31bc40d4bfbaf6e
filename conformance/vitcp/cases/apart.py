"""Clauses 2.2.2.2.2, 2.2.2.2.6, 3.1, 4.2 and 4.3: what one VI, message or timer leaves to the next."""

from __future__ import annotations

from typing import Sequence

from fcvi.engine.case import Variant, case
from fcvi.vitcp.scenario import Scenario
from fcvi.vitcp.wire import ACCEPT, NO_MATCH, READ_REQUEST, SEND, WRITE

from conformance.vitcp.steps.connection import (
    CLIENT, DUT_DISCRIMINATOR, RECEPTION, REGISTRY, UNRELIABLE, Link, address, connect, connect_request, create, default_level,
    host, opened, roles_and_levels, wait_for_call, with_each,
)  # fmt: skip
from conformance.vitcp.steps.messages import (
    GUARD, acknowledge, alive, answer, ask, check_immediate, completion, contents, credit, deliver, emit, message, no_completion,
    nop, pattern, post_receive, post_send, received, register, respond, response, segments, send, sent, write,
)  # fmt: skip

_BOTH = (UNRELIABLE, RECEPTION)


@case(
    REGISTRY,
    "TCP.2.2.2.2.2.g",
    "Two VIs that are connected at once",
    clause="2.2.2.2.2, 3.1",
    requirements=["VITCP-1-01", "VITCP-2.2.1-03", "VITCP-2.2.2.2.2-03", "VITCP-2.2.2.2.2-09", "VITCP-3.1-09", "VITCP-3.1-24",
                  "VITCP-3.2-16"],
    errata=["V17", "V18", "V23", "V24"],
    applies="tcp and send and max_vis >= 2",
    variants=with_each(roles_and_levels(_BOTH), "rights", {"first": 0, "second": 1}),
)
def two_at_once(t: Scenario) -> None:
    """Each connection has its own Message Numbers, credit, agreed size and window of reads, and the rights of one VI are none of
    the other's. What ends one connection ends no other.
    """
    level, may = str(t.params["level"]), int(t.params["rights"])
    vis = [create(t, level, write=number == may) for number in range(2)]
    links = [connect(t, vi=vi, level=level, rx=3, window=1, mtu=mtu) for vi, mtu in zip(vis, (None, 1000))]
    for number in range(3):
        for link in links:
            long = number == 1 and link is links[0]  # for the size that the other has agreed
            emit(link, pattern(3000 if long else 30, number), "VITCP-3.2-16" if long else "VITCP-2.2.1-03")
    t.control("three Sends came on each connection")
    regions = [post_receive(link, 64) for link in links]
    for number in (1, 0):
        send(links[number], segments(links[number], pattern(40, number)))
        received(links[number], regions[number], pattern(40, number), "VITCP-2.2.2.2.2-03")
    if t.pics["rdma_read"] and level != UNRELIABLE:
        for link in links:
            post_send(link, op="rdma-read", remote=(0x100, 1), region=register(t, 64), length=40)
        requests = [message(link, READ_REQUEST, None, "VITCP-3.1-24", "on each of two connections") for link in links]
        for link, request in zip(links, requests):
            respond(link, answer(link, request, pattern(40)))
            completion(link, "send", "VITCP-3.1-41", "for a read that is answered")
    _rights(t, links, may) if t.pics["rdma_write"] else None
    t.call("VipDisconnect", vi=links[1 - may].vi)
    t.wait(t.nop_bound_us)
    told = [code for vi, code in t.errors if vi == links[may].vi]
    t.require(not told, "VITCP-1-01", "VipErrorCallback for a VI without an error", told, "none")
    t.require(not links[may].stream.over, "VITCP-2.2.2.2.2-03", "the connection of another VI ends too", "closed", "open")
    links[may].rx += 1
    if not links[may].stream.over:
        nop(links[may])
        emit(links[may], pattern(30, 3), "VITCP-2.2.2.2.2-03")


def _rights(t: Scenario, links: Sequence[Link], may: int) -> None:
    targets = [register(t, 64, write=True) for _ in links]
    write(links[may], targets[may], pattern(40))
    t.owed(lambda: contents(t, targets[may], 39, 1) != bytes([GUARD]))
    row = "VITCP-2.2.2.2.2-09"
    seen = contents(t, targets[may], 0, 40)
    t.require(seen == pattern(40), row, "an RDMA Write to a VI that allows it", "others", "the data")
    t.on_purpose(row)
    links[1 - may].stream.watch.known.error_due = True
    write(links[1 - may], targets[1 - may], pattern(40))
    t.wait(t.nop_bound_us // 2)
    seen = contents(t, targets[1 - may], 0, 40)
    t.require(seen == bytes([GUARD]) * 40, row, "an RDMA Write to a VI that does not allow it", "written", "untouched")
    t.require(not links[may].stream.over, "VITCP-2.2.2.2.2-03", "an error of one VI ends the connection of another", "closed",
              "open")


@case(
    REGISTRY,
    "TCP.2.2.2.2.6.c",
    "Reads one after the other",
    clause="2.2.2.2.6, 3.1",
    requirements=["VITCP-2.2.2.1-06", "VITCP-3.1-24"],
    errata=["V24"],
    applies="tcp and rdma_read",
    variants=with_each(roles_and_levels((RECEPTION,)), "window", {"1": 1, "2": 2}),
)
def one_after_the_other(t: Scenario) -> None:
    """A read that is answered leaves its place in the window to the next one: more reads than the window has places all go out."""
    link = connect(t, window=int(t.params["window"]))
    local = register(t, 64)
    for number in range(5):
        post_send(link, op="rdma-read", remote=(0x100, 1), region=local, length=40)
        request = message(link, READ_REQUEST, None, "VITCP-3.1-24", f"though {number} reads are answered and none is under way")
        respond(link, answer(link, request, pattern(40, number)))
        completion(link, "send", "VITCP-3.1-41", "for a read that is answered")
        t.require(contents(t, local, 0, 40) == pattern(40, number), "VITCP-2.2.2.1-06", "the bytes read", "others", "those sent")
    t.control("every read was answered")


@case(
    REGISTRY,
    "TCP.3.1.q",
    "RDMA Writes: their acknowledgement, and one that is empty",
    clause="3.1",
    requirements=["VITCP-3.1-06", "VITCP-3.1-25", "VITCP-2.2.2.1-06"],
    errata=["V19", "V53"],
    applies="tcp and rdma_write",
    variants=[*with_each(roles_and_levels((RECEPTION,)), "what", {"acknowledged": "ack"}),
              *with_each(roles_and_levels(_BOTH, "immediate_data"), "what", {"empty": "empty"})],
)
def writes(t: Scenario) -> None:
    """An RDMA Write is acknowledged though it takes no receive Descriptor. One without data but with Immediate Data takes one at
    the other end, both ways.
    """
    link = connect(t)
    alive(link)
    target = register(t, 64, write=True)
    if t.params["what"] == "ack":
        number, at = write(link, target, pattern(40)), len(t.tester.inbox)
        t.owed(lambda: any(r.pdu.ack == number for r in t.tester.inbox if r.stream is link.stream))
        seen = [r.pdu.ack for r in t.tester.inbox if r.stream is link.stream]
        t.require(number in seen, "VITCP-3.1-25", "Message ACK of an RDMA Write", seen[at - 1 :], number)
        return
    post_receive(link, 64)
    write(link, target, b"", immediate=0x01020304)
    done = completion(link, "recv", "VITCP-3.1-06", "for an empty RDMA Write with Immediate Data")
    t.require(done.good and done.immediate == 0x01020304, "VITCP-3.1-06", "the Immediate Data received", done.immediate, 0x01020304)
    post_send(link, b"", "rdma-write", remote=(0x100, 1), immediate=0x05060708)
    now = message(link, WRITE, b"", "VITCP-2.2.2.1-06", "without data, with Immediate Data")
    check_immediate(link, now, 0x05060708)
    if link.reliable:
        acknowledge(link, now.number)
    sent(link)


@case(
    REGISTRY,
    "TCP.3.1.r",
    "Receive Descriptors in their order",
    clause="3.1",
    requirements=["VITCP-3.1-20"],
    applies="tcp",
    variants=roles_and_levels(_BOTH),
)
def in_their_order(t: Scenario) -> None:
    """Three receive Descriptors are posted, then three Sends come: each goes to the Descriptor that was posted as it was sent."""
    link = connect(t)
    regions = [post_receive(link, 100) for _ in range(3)]
    for number in range(3):
        send(link, segments(link, pattern(50 + number, number)))
    for number, region in enumerate(regions):
        done = completion(link, "recv", "VITCP-3.1-20", "for a Send")
        t.require(done.good and done.length == 50 + number, "VITCP-3.1-20", f"Descriptor {number}", str(done), "its Send")
        seen = contents(t, region, 0, 50 + number)
        t.require(seen == pattern(50 + number, number), "VITCP-3.1-20", f"the buffer of Descriptor {number}", "others", "its Send")
    t.control("three Sends arrived")


@case(
    REGISTRY,
    "TCP.3.1.s",
    "Nothing completes before its end",
    clause="3.1",
    requirements=["VITCP-3.1-07", "VITCP-3.1-41"],
    applies="tcp",
    variants=[
        *with_each(roles_and_levels(_BOTH), "kind", {"send": "send"}),
        *with_each(roles_and_levels(_BOTH, "rdma_write", "immediate_data"), "kind", {"write": "write"}),
        *with_each(roles_and_levels((RECEPTION,), "rdma_read"), "kind", {"response": "response"}),
    ],
)
def not_before(t: Scenario) -> None:
    """A Send, an RDMA Write with Immediate Data and a Read Response come but for their last segment: their Descriptor stays. It
    completes well with End of Message.
    """
    kind, data = str(t.params["kind"]), pattern(3000, 5)
    link = connect(t)
    alive(link)
    if kind == "response":
        local = register(t, 3000)
        post_send(link, op="rdma-read", remote=(0x100, 1), region=local, length=3000)
        pdus, queue, row = answer(link, message(link, READ_REQUEST, None, "VITCP-2.2.2.1-06"), data), "send", "VITCP-3.1-41"
    else:
        local, queue, row = post_receive(link, 3000), "recv", "VITCP-3.1-07"
        if kind == "write":
            local = register(t, 3000, write=True)
        rdma = (local.va, local.handle, len(data)) if kind == "write" else None
        pdus = segments(link, data, WRITE if rdma else SEND, rdma=rdma, immediate=7 if rdma else None)
        credit(link)
    known = link.stream.watch.known
    known.sending = pdus[0].number if kind != "response" else None
    for pdu in pdus[:-1]:
        t.send(link.stream, pdu)
    no_completion(link, queue, row, "before End of Message", t.nop_bound_us // 4)
    known.sending = None
    known.complete(pdus[0].number) if kind != "response" else None
    t.send(link.stream, pdus[-1])
    done = completion(link, queue, row, "behind End of Message")
    t.require(done.good, row, "a message that came slowly", sorted(done.status), "no error bit")
    t.require(contents(t, local, 0, 3000) == data, row, "the bytes received", "others", "those sent")


@case(
    REGISTRY,
    "TCP.4.d",
    "Timers that are over",
    clause="1, 4.2, 4.3",
    requirements=["VITCP-1-01", "VITCP-4.2-08", "VITCP-4.3-06", "VITCP-4.3-09"],
    errata=["V35", "V81"],
    applies="tcp",
    variants=[Variant("wait", {"what": "wait"}, "server"), Variant("wait-beside", {"what": "wait", "beside": True}, "server"),
              Variant("wait-returned", {"what": "returned"}, "server"), Variant("pending-accept", {"what": "pending"}, "server"),
              Variant("connected", {"what": "connected"}, "client")],
)  # fmt: skip
def timers(t: Scenario) -> None:
    """VipConnectWait returns when its time is over, and matches nothing then; another one that has no end waits on, and so does one
    that follows a VipConnectWait which returned for a request. The timer of Incoming ends with the Connect Request, that of
    VipConnectRequest with the connection: neither ends what comes then. A device may end a request that its application leaves
    waiting; its VipConnectAccept then fails.
    """
    what = t.params["what"]
    if what == "wait":
        address_of = address(host(t), b"nobody asks for")
        other = wait_for_call(t) if t.params.get("beside") else None  # which was there before, and has no end
        call = t.start("VipConnectWait", LocalAddr=address_of, Timeout=t.r_a_tov_us)
        t.wait(t.r_a_tov_us - t.pixit.early_us - 1)
        t.require(not call.done, "VITCP-1-01", "VipConnectWait ended before its time", f"{t.now_us - call.started_us} us",
                  f"{t.r_a_tov_us} us")  # fmt: skip
        t.finish(call, "VITCP-1-01", returns="VIP_TIMEOUT")
        vi = create(t)
        other = other or wait_for_call(t)  # whatever makes the port listen (V35)
        stream = opened(t)
        t.send(stream, connect_request(t, called=b"nobody asks for"))
        t.expect(NO_MATCH, "VITCP-4.3-06", stream=stream, why="though VipConnectWait has ended")
        t.expect_end(stream, "VITCP-4.3-06", why="after Connect No Match")
        t.require(not other.done, "VITCP-1-01", "VipConnectWait ended with the time of another", "returned", "blocked")
        alive(connect(t, vi=vi, wait=None if other.done else other))
    elif what == "returned":
        _wait_returned(t)
    elif what == "connected":
        link = connect(t, CLIENT)
        t.wait(4 * t.r_a_tov_us + 2 * t.nop_bound_us)  # the time that the call has had, and more
        stays = not link.stream.over
        if t.require(stays, "VITCP-4.2-08", "a connection ends when the time of its call is over", "closed", "open"):
            alive(link)
    else:
        level = default_level(t)
        vi, call = create(t, level), wait_for_call(t)
        stream = opened(t)
        t.send(stream, connect_request(t, level))
        t.finish(call, "VITCP-4.3-01", returns="VIP_SUCCESS")
        t.wait(2 * int(t.config["incoming_timeout_us"]))
        ended = stream.over
        code = t.call("VipConnectAccept", vi=vi, conn=call.integer("conn")).returned()
        if ended and code != "VIP_SUCCESS":
            t.report("VITCP-4.3-09", "a request that waits for the application is ended", code, "a connection", erratum="V81")
        else:
            t.expect(ACCEPT, "VITCP-4.3-09", stream=stream, why="though the application has accepted")
            t.call("VipDisconnect", vi=vi)
        alive(connect(t, vi=vi))


def _wait_returned(t: Scenario) -> None:
    first = t.start("VipConnectWait", LocalAddr=address(host(t), DUT_DISCRIMINATOR), Timeout=t.r_a_tov_us)
    link = connect(t, wait=first)
    wait, vi = wait_for_call(t), link.vi
    t.call("VipDisconnect", vi=vi)
    t.expect_end(link.stream, "VITCP-2.2.2.2.2-04", why="after VipDisconnect")
    t.wait(t.r_a_tov_us + t.pixit.late_us)
    t.require(not wait.done, "VITCP-1-01", "VipConnectWait ended with the time of another", "returned", "blocked")
    alive(connect(t, vi=vi, level=link.level, wait=None if wait.done else wait))


@case(
    REGISTRY,
    "TCP.3.1.w",
    "What is acknowledged behind a read",
    clause="2.2.2.2.6, 3.1",
    requirements=["VITCP-3.1-25", "VITCP-3.1-34"],
    applies="tcp and rdma_read",
    variants=roles_and_levels((RECEPTION,)),
)
def behind_a_read(t: Scenario) -> None:
    """The DUT has served a read: it acknowledges the Send behind it in a NOP, as it did the one before."""
    link, source = connect(t), register(t, 64, read=True, data=pattern(64))
    for _ in range(2):
        response(link, ask(link, source.va, source.handle, 40), pattern(64)[:40])
        number = deliver(link, pattern(40))
        t.owed(lambda: any(r.pdu.ack == number for r in t.tester.inbox if r.stream is link.stream))
        seen = [r.pdu.ack for r in t.tester.inbox if r.stream is link.stream]
        t.require(number in seen, "VITCP-3.1-25", "Message ACK of a Send behind a read", seen[-1:], number)
    t.control("reads were served and Sends delivered")


@case(
    REGISTRY,
    "TCP.2.2.2.2.2.j",
    "Memory that outlasts a connection",
    clause="2.2.2.2.2",
    requirements=["VITCP-2.2.2.2.2-09"],
    applies="tcp and rdma_write",
    variants=roles_and_levels(_BOTH),
)
def memory_outlasts(t: Scenario) -> None:
    """Memory that was registered before the first connection of a VI is written to on its second."""
    target, vi = register(t, 64, write=True), create(t, str(t.params["level"]))
    for number in range(2):
        link = connect(t, vi=vi)
        data = pattern(40, number)
        write(link, target, data)
        t.owed(lambda: contents(t, target, 0, 40) == data)
        seen = contents(t, target, 0, 40)
        t.require(seen == data, "VITCP-2.2.2.2.2-09", f"an RDMA Write on connection {number + 1} of a VI", seen[:16].hex(),
                  data[:16].hex())  # fmt: skip
        t.call("VipDisconnect", vi=vi)
        t.expect_end(link.stream, "VITCP-2.2.2.2.2-04", why="after VipDisconnect")
    t.control("an RDMA Write was placed")
