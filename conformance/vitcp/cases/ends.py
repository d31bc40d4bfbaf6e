"""Clauses 2.2.2.2.2 and 3.1: one stream for one VI, and what ends both; streams that cannot be parsed; any division."""

from __future__ import annotations

from fcvi.engine.case import Variant, case
from fcvi.engine.upper_tester import Call
from fcvi.vitcp import wire
from fcvi.vitcp.scenario import Scenario
from fcvi.vitcp.stream import CUTS, Stream
from fcvi.vitcp.wire import END, NOP, REQUEST, SEND, Pdu

from conformance.vitcp.steps.connection import (
    DUT_DISCRIMINATOR, ERROR, IDLE, REGISTRY, UNRELIABLE, Link, check_state, connect, connect_request, create, opened, roles,
    roles_and_levels, wait_for_call, with_each,
)  # fmt: skip
from conformance.vitcp.steps.messages import alive, contents, guarded, pattern, post_receive, post_send, register, segments


def _first_sent(link: Link) -> bytes:
    """The first message of the device on this stream."""
    found = link.stream.watch.messages
    link.t.owed(lambda: bool(found) and found[0].ended)
    return bytes(found[0].payload) if found else b""


@case(
    REGISTRY,
    "TCP.2.2.2.2.2.a",
    "One stream for one VI",
    clause="2.2.2.2.2, 2.2.2.2.3",
    requirements=[
        "VITCP-2.2.2.2.2-01", "VITCP-2.2.2.2.2-03", "VITCP-2.2.2.2.2-06", "VITCP-2.2.2.2.2-12", "VITCP-2.2.2.2.3-04",
    ],
    errata=["V38"],
    applies="tcp and max_vis >= 2",
    variants=with_each(roles(), "second", {"two-vis": False, "second-request": True}),
)  # fmt: skip
def one_stream(t: Scenario) -> None:
    """Two VIs between the same hosts have two TCP connections, and what each sends stays on its own. A second Connect Request on a
    connected stream is not accepted.
    """
    link = connect(t)
    if t.params["second"]:
        wait_for_call(t, b"another one")
        t.on_purpose("VITCP-4.1-01", "VITCP-4.2-03")
        t.send(link.stream, connect_request(t, link.level, called=b"another one"))
        t.wait(t.nop_bound_us // 2)
        accept = t.peek([wire.ACCEPT], link.stream)
        accept = accept if accept is not None and accept is not link.answer else None
        t.require(accept is None, "VITCP-2.2.2.2.2-03", "a second Connect Request is accepted on a connected stream", str(
            accept), "none")
        t.expect_end(link.stream, "VITCP-2.2.2.2.2-03", why="after a CE PDU on a connected stream")
        t.control("the connection was there before")
        return
    other = connect(t)
    for one, seed in ((link, 1), (other, 2)):
        post_send(one, pattern(3000, seed), settle=False)
    t.settle()
    for one, seed in ((link, 1), (other, 2)):
        got = _first_sent(one)
        t.require(got == pattern(3000, seed), "VITCP-2.2.2.2.3-04", "what one VI sends is not on its stream", got[:16].hex(),
                  "its own bytes")
    t.control("both VIs have sent")


@case(
    REGISTRY,
    "TCP.2.2.2.2.2.b",
    "VipDisconnect closes TCP",
    clause="2.2.2.2.2, 4",
    requirements=["VITCP-2.2.2.2.2-04", "VITCP-4.2-08", "VITCP-4.3-10"],
    errata=["V43", "V66"],
    applies="tcp",
    variants=with_each(roles(), "queued", {"idle": False, "with-work": True}),
)
def disconnect(t: Scenario) -> None:
    """VipDisconnect ends TCP by FIN or RST, completes what is posted, and leaves the VI Idle; it can be connected again."""
    link = connect(t)
    alive(link)
    if t.params["queued"]:
        post_receive(link)
        post_receive(link)
    t.call("VipDisconnect", vi=link.vi)
    t.expect_end(link.stream, "VITCP-2.2.2.2.2-04", why="after VipDisconnect")
    row = "VITCP-4.2-08" if link.role == "dut-client" else "VITCP-4.3-10"
    t.require(link.stream.over, row, "TCP after VipDisconnect", "open", "closed")
    check_state(t, link.vi, IDLE, row)


@case(
    REGISTRY,
    "TCP.2.2.2.2.2.c",
    "TCP that ends under a connection",
    clause="2.2.2.2.2, 4",
    requirements=["VITCP-2.2.2.2.2-05", "VITCP-4.2-08", "VITCP-4.3-10"],
    errata=["V43", "V75", "V78"],
    applies="tcp",
    variants=with_each(
        roles_and_levels(), "how", {"fin": ("fin", 0), "reset": ("reset", 0), "in-a-header": ("fin", 13), "in-a-message": (
            "reset", 500)}
    ),
)
def tcp_ends(t: Scenario) -> None:
    """The VI goes to Error, VipErrorCallback tells VIP_ERROR_CONN_LOST, what is posted is completed in error and nothing of it
    well; the DUT closes TCP as well.
    """
    link = connect(t)
    alive(link)
    how, count = t.params["how"]
    post_receive(link)
    before = len(t.completions)
    if count:
        whole = t.numbers.pack(segments(link, pattern(2000), size=2000)[0])
        t.tester.send_bytes(link.stream, whole[: int(count)], "a part of a Send")
        t.settle()
    t.tester.close(link.stream, str(how))
    row = "VITCP-2.2.2.2.2-05"
    lost = (link.vi, "VIP_ERROR_CONN_LOST")
    t.owed(lambda: lost in t.errors and len(t.completions) > before and (link.stream.over or how == "reset"))
    t.require(lost in t.errors, row, "no VIP_ERROR_CONN_LOST", str(t.errors), "one", erratum="V78")
    check_state(t, link.vi, ERROR, row)
    done = [c for c in t.completions[before:] if c.vi == link.vi]
    t.require(len(done) == 1, row, "Descriptors that complete", len(done), 1)
    t.require(not any(c.good for c in done), row, "a Descriptor completes well without a message", "good", "an error")
    if how == "fin":
        t.require(link.stream.over, row, "TCP stays half open", "open", "closed")


_BROKEN = {"length-0": 0, "length-23": 23, "type-0": -1, "type-31": -2, "accept": -3, "long-then-fin": -4}


@case(
    REGISTRY,
    "TCP.3.1.b",
    "What cannot be parsed",
    clause="3.1",
    requirements=["VITCP-3.1-02", "VITCP-3.1-12"],
    errata=["V02", "V37", "V38", "V39", "V40"],
    applies="tcp",
    variants=[*with_each(roles(), "what", _BROKEN), Variant("short-request", {"what": None, "role": "dut-server"}, "server"),
              Variant("another-version", {"what": None, "version": 2, "role": "dut-server"}, "server")],
)
def not_parsed(t: Scenario) -> None:
    """Behind a Segment Length below its header, an unknown type or a PDU of no sense TCP is closed and no memory is touched."""
    what = t.params["what"]
    if what is None:
        wait = wait_for_call(t, DUT_DISCRIMINATOR)
        vi = create(t)
        stream = opened(t)
        if "version" in t.params:
            _another_version(t, stream, wait, vi)
            return
        t.on_purpose("VITCP-3-06")
        t.send(stream, connect_request(t).but(length=67))
        t.expect_end(stream, "VITCP-3.1-12", int(t.config["incoming_timeout_us"]) + t.nop_bound_us,
                     "after a Connect Request of 67 bytes")
        t.require(not wait.done, "VITCP-3.1-12", "a Connect Request of 67 bytes is taken", "VipConnectWait returns", "nothing")
        alive(connect(t, "dut-server", vi=vi, wait=None if wait.done else wait))
        return
    link = connect(t)
    alive(link)
    region = post_receive(link, 256)
    t.on_purpose("VITCP-3.1-04", "VITCP-3.1-11", "VITCP-4.1-01")
    if int(what) >= 0:
        t.send(link.stream, Pdu(SEND, link.first, flags=END, rx=link.rx, ack=link.ack, payload=pattern(40), length=int(what)))
    elif int(what) == -4:
        t.send(link.stream, Pdu(SEND, link.first, flags=END, rx=link.rx, ack=link.ack, payload=pattern(100), length=65535))
        t.settle()
        t.tester.close(link.stream)
    elif int(what) == -3:
        t.send(link.stream, Pdu(wire.ACCEPT, 1, flags=END, rx=link.rx, ack=link.ack, ce=wire.CeHeader()))
    else:
        t.send(link.stream, Pdu(0 if what == -1 else 31, link.first, flags=END, rx=link.rx, ack=link.ack))
    t.expect_end(link.stream, "VITCP-3.1-12", why="after what cannot be parsed")
    check_state(t, link.vi, ERROR, "VITCP-3.1-12")
    done = t.completed(link.vi, "recv")[link.completions["recv"] :]
    t.require(not any(c.good for c in done), "VITCP-3.1-12", "a Descriptor completes well", "good", "an error")
    if int(what) != -4:
        guarded(t, region, "VITCP-3.1-12")


def _another_version(t: Scenario, stream: Stream, wait: Call, vi: int) -> None:
    """A Connect Request of another Version is not accepted; TCP is closed, with a refusal or without (V02)."""
    t.on_purpose("VITCP-3.1-02")
    t.send(stream, connect_request(t).but(version=int(t.params["version"])))
    t.owed(lambda: stream.over or wait.done)
    t.require(not wait.done, "VITCP-3.1-02", "a Connect Request of another Version is taken", "VipConnectWait returns", "nothing")
    t.expect_end(stream, "VITCP-3.1-02", why="after a Connect Request of another Version")
    alive(connect(t, "dut-server", vi=vi, wait=None if wait.done else wait))


@case(
    REGISTRY,
    "TCP.2.2.2.2.3.b",
    "Any division of the stream",
    clause="2.2.2.2.3",
    requirements=["VITCP-2.2.2.2.3-07", "VITCP-3.1-11"],
    applies="tcp",
    variants=with_each(roles_and_levels(), "cut", {cut: cut for cut in CUTS}),
)
def any_division(t: Scenario) -> None:
    """One conversation with whole pieces, byte by byte, in pieces that end inside each header field, with several PDUs in a piece,
    and with the end of one and the begin of the next in a piece: the same comes of it.
    """
    link = connect(t, flow=False)  # nothing has to wait for a credit, so that all can go into one piece
    regions = [post_receive(link, 700) for _ in range(3)]
    t.wait(t.nop_bound_us)  # until they are taken up (V61)
    payloads = [pattern(600, 1), b"", pattern(333, 2)]
    pdus = [p for payload in payloads for p in segments(link, payload, size=250)]
    known = link.stream.watch.known
    for pdu in pdus:
        known.complete(pdu.number)
    for pdu in pdus:
        t.send(link.stream, pdu)
        if pdu.flags & END:  # a NOP is a message: it stands between messages (2.2.2.2.3, V60)
            t.send(link.stream, Pdu(NOP, 0, flags=END, rx=link.rx, ack=link.ack))
    t.tester.flush()
    row = "VITCP-2.2.2.2.3-07"
    t.owed(lambda: len(t.completed(link.vi, "recv")) == 3)
    done = t.completed(link.vi, "recv")
    t.require([c.length for c in done] == [600, 0, 333], row, "the lengths received", [c.length for c in done], "600, 0, 333")
    for region, payload in zip(regions, payloads):
        t.require(contents(t, region)[: len(payload)] == payload, row, "the bytes received", "others", "those sent")
    link.completions["recv"] = len(done)
    if len(done) == 3:
        alive(link)
    else:
        t.control("the connection was made")


__all__ = ["REQUEST", "UNRELIABLE", "register"]
