"""Clauses 2.2.2.2.2, 2.2.2.2.3 and 3.1: what is under way when a connection ends, when the DUT cannot send, and when it begins."""

from __future__ import annotations

from fcvi.engine.case import Variant, case
from fcvi.vitcp import wire
from fcvi.vitcp.scenario import Scenario
from fcvi.vitcp.wire import ACCEPT, END, READ_REQUEST, SEND, Pdu

from conformance.vitcp.steps.connection import (
    ERROR, IDLE, OF_LEVEL, RECEPTION, REGISTRY, SIZE, UNRELIABLE, Link, asked, attributes_of, call_out, check_state, connect,
    create, roles, roles_and_levels, with_each,
)  # fmt: skip
from conformance.vitcp.steps.messages import (
    A_LITTLE, acknowledge, alive, all_completed, answer, ask, completion, contents, credit, message, pattern, post_receive,
    post_receive_to, post_send, received, register, respond, segments, send, sent, wants_more,
)  # fmt: skip

_FIRST_WINDOW = 65_536  # bytes that stream.window lets the DUT send before the tester has said more
_LONG = 60_000  # of a message of which a few fill that window
_READS = "rdma_read and (reliable_delivery or reliable_reception)"
#: What is under way, and what the device needs for it.
_UNDER_WAY = {
    "without-credit": ("flow_control", "send"),
    "unacknowledged": ("send", "(reliable_delivery or reliable_reception)"),
    "half-sent": ("send",),
    "read": (_READS,),
    "half-read": (_READS,),
    "half-received": ("send",),
    "half-answered": (_READS,),
}
_ENDS = ("disconnect", "fin", "reset")


@case(
    REGISTRY,
    "TCP.2.2.2.2.2.h",
    "What is under way when a connection ends",
    clause="1, 2.2.2.2.2",
    requirements=["VITCP-1-01", "VITCP-2.2.2.2.2-04", "VITCP-2.2.2.2.2-05"],
    errata=["V15", "V43", "V66", "V78"],
    applies="tcp and send",
    variants=[v for what, needs in _UNDER_WAY.items()
              for v in with_each(with_each(roles(*needs), "what", {what: what}), "end", {end: end for end in _ENDS})],
)  # fmt: skip
def ends_under_way(t: Scenario) -> None:
    """A Send waits for credit or for its ACK, a message or a Read Response is half sent or half received, or a read has no answer:
    VipDisconnect closes TCP nevertheless, and the end of TCP takes the VI to Error. What was posted completes, and not well.
    """
    what, how = str(t.params["what"]), str(t.params["end"])
    stops = what in ("half-sent", "half-answered")
    t.tester.unlimited = not stops
    link = connect(t, size=_LONG if stops else SIZE, rx=1 if what == "without-credit" else 50)
    alive(link)
    posted = {"recv": 1, "send": _begin(t, link, what)}
    if what != "half-received":
        post_receive(link)
    t.wait(t.nop_bound_us)
    if how == "disconnect":
        row = "VITCP-1-01"
        call = t.start("VipDisconnect", vi=link.vi)
        _let_out(t, link) if stops else None
        t.finish(call, row, returns="VIP_SUCCESS")
        t.expect_end(link.stream, "VITCP-2.2.2.2.2-04", why=f"after VipDisconnect with something under way: {what}")
        check_state(t, link.vi, IDLE, row)
    else:
        row = "VITCP-2.2.2.2.2-05"
        lost = (link.vi, "VIP_ERROR_CONN_LOST")
        t.tester.close(link.stream, how)
        t.owed(lambda: lost in t.errors and (link.stream.over or how == "reset" or stops))
        t.require(lost in t.errors, row, "no VIP_ERROR_CONN_LOST", str(t.errors), "one", erratum="V78")
        check_state(t, link.vi, ERROR, row)
        if how == "fin" and not stops:  # a stopped window may hold it (V66)
            t.require(link.stream.over, row, "TCP stays half open", "open", "closed")
    for queue, count in posted.items():
        done = all_completed(link, queue, count, row, "when the connection ends")
        undone = what in ("without-credit", "read", "half-read")
        if queue == "recv" or undone or link.level == RECEPTION:  # else what is sent is done (V15)
            t.require(not any(c.good for c in done), row, f"a Descriptor of the {queue} queue completes well", "good", "an error")


def _let_out(t: Scenario, link: Link) -> None:
    """Take what the window has held back, a little at a time, as long as it goes on coming."""
    stream, before = link.stream, -1
    while not stream.over and stream.arrived > before:
        before = stream.arrived
        t.tester.grant(stream, A_LITTLE)
        t.owed(lambda: stream.over or wants_more(stream))


def _begin(t: Scenario, link: Link, what: str) -> int:
    """Bring it about. Gives how many send Descriptors are posted and have not completed."""
    before, size = link.stream.received, min(50_000, link.mtu)
    if what in ("without-credit", "unacknowledged"):
        post_send(link, pattern(100, 1))
        return 1
    if what in ("read", "half-read"):
        post_send(link, op="rdma-read", remote=(0x100, 1), region=register(t, 900), length=900)
        request = message(link, READ_REQUEST, None, "VITCP-2.2.2.1-06", "after VipPostSend")
        respond(link, answer(link, request, pattern(900), size=500)[: what == "half-read"])
        return 1
    if what == "half-received":
        post_receive(link, 1000)
        part = segments(link, pattern(900), size=500)[0]
        credit(link)
        link.stream.watch.known.sending = part.number
        t.send(link.stream, part)
        return 0
    link.stream.watch.known.stalled = True
    if what == "half-answered":
        source = register(t, size, read=True, data=pattern(size))
        for _ in range(min(_FIRST_WINDOW // size + 1, max(link.window, 1))):
            ask(link, source.va, source.handle, size)
        t.owed(lambda: link.stream.received > before)
        return 0
    region, count = register(t, size, data=pattern(size)), _FIRST_WINDOW // size + 1
    done = len(t.completed(link.vi, "send"))
    for _ in range(count):
        post_send(link, region=region, length=size)
    t.owed(lambda: link.stream.received > before)
    t.wait(t.nop_bound_us // 4)
    good = len(t.completed(link.vi, "send")) - done  # at once, where nothing is acknowledged (V15)
    link.completions["send"] += good
    return count - good


@case(
    REGISTRY,
    "TCP.2.2.2.2.3.f",
    "What comes while the DUT cannot send",
    clause="2.2.2.1, 3.1",
    requirements=["VITCP-2.2.2.1-06", "VITCP-3.1-41"],
    errata=["V61", "V66", "V77"],
    applies="tcp and send",
    variants=roles_and_levels((UNRELIABLE, RECEPTION)),
)
def stalled(t: Scenario) -> None:
    """Sends of the DUT are stopped by a closed window. A Send and the answer to a read that come meanwhile are not lost, and the
    Sends go on when the window opens.
    """
    t.tester.unlimited = False
    link = connect(t, size=_LONG)
    alive(link)
    size, known = min(50_000, link.mtu), link.stream.watch.known
    region, local = post_receive(link, 100), register(t, 2000)
    credit(link)
    reading = None
    if t.pics["rdma_read"] and link.reliable:
        post_send(link, op="rdma-read", remote=(0x100, 1), region=local, length=2000)
        reading = message(link, READ_REQUEST, None, "VITCP-2.2.2.1-06", "after VipPostSend")
    source, before = register(t, size, data=pattern(size, 5)), link.stream.received
    for _ in range(_FIRST_WINDOW // size + 1):
        post_send(link, region=source, length=size)
    known.stalled = True
    t.until(lambda: link.stream.received > before, t.nop_bound_us)  # not before the read has ended, it may be (V77)
    if reading is not None:
        respond(link, answer(link, reading, pattern(2000, 6)))
    send(link, segments(link, pattern(80)))
    for _ in range(_FIRST_WINDOW // size + 1):
        now = message(link, SEND, pattern(size, 5), "VITCP-2.2.2.1-06", "once the window is open")  # which opens it as they come
        if link.reliable:
            acknowledge(link, now.number)
    t.control("the Sends came")
    if reading is not None:
        done = completion(link, "send", "VITCP-3.1-41", "for a read whose answer came while the DUT could not send")
        seen = contents(t, local)
        t.require(done.good and seen == pattern(2000, 6), "VITCP-3.1-41", "the read", sorted(done.status), "the bytes sent")
    received(link, region, pattern(80), "VITCP-2.2.2.1-06")
    for _ in range(_FIRST_WINDOW // size + 1):
        sent(link)


@case(
    REGISTRY,
    "TCP.2.2.2.2.3.g",
    "A Send right behind Connect Accept",
    clause="2.2.2.2.3, 4.2",
    requirements=["VITCP-2.2.2.2.3-07", "VITCP-4.2-07"],
    errata=["V22"],
    applies="tcp and client",
    variants=[v for level in (UNRELIABLE, RECEPTION) for v in with_each(
        [Variant(level, {"level": level}, OF_LEVEL[level])], "cut", {cut: cut for cut in ("whole", "joined")})],
)
def behind_accept(t: Scenario) -> None:
    """The tester accepts and sends at once, in one piece of the stream or in two. The Send reaches the Descriptor that was posted
    before.
    """
    level, data = str(t.params["level"]), pattern(64, 4)
    t.tester.cut = str(t.params["cut"])
    vi, region = create(t, level), register(t, 64)
    post_receive_to(t, vi, region, 64)
    t.wait(t.nop_bound_us)  # until it is taken up (V61)
    call = call_out(t, vi)
    stream = t.expect_stream("VITCP-4.2-01")
    theirs = asked(t, stream).pdu
    assert theirs.ce is not None
    flags = attributes_of(t, level, flow=False)  # the Send has to wait for no credit (V22)
    accept = wire.ce_header(theirs.ce.calling, theirs.ce.called, flags, SIZE, 4)
    t.send(stream, Pdu(ACCEPT, flags=END, rx=8, ce=accept))
    t.send(stream, Pdu(SEND, 77, flags=END, rx=8, ack=(theirs.number - (1 << 30)) & wire.MASK32, payload=data))
    t.finish(call, "VITCP-4.2-07", returns="VIP_SUCCESS")
    row = "VITCP-2.2.2.2.3-07"
    t.owed(lambda: bool(t.completed(vi, "recv")))
    done = t.completed(vi, "recv")
    good = bool(done) and done[0].good
    t.require(good, row, "a Send right behind Connect Accept", str(done[:1]), "it completes a Descriptor well")
    seen = contents(t, region)
    t.require(seen == data, row, "the bytes of a Send right behind Connect Accept", seen[:16].hex(), "those sent")
    t.control("VipConnectRequest returned")
