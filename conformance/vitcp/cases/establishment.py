"""Clause 4: the two state machines of connection establishment, and TCP that fails."""

from __future__ import annotations

from fcvi.engine.case import Variant, case
from fcvi.vitcp import wire
from fcvi.vitcp.scenario import Scenario
from fcvi.vitcp.stream import Stream
from fcvi.vitcp.wire import ACCEPT, NO_MATCH, REJECT, REQUEST, SEND, Pdu

from conformance.vitcp.steps.connection import (
    CLIENT, DUT_DISCRIMINATOR, ERROR, REGISTRY, SERVER, accepted, asked, attributes_of, call_out, check_failed, check_state,
    connect, connect_request, create, default_level, no_more_attempts, opened, refusal, wait_for_call,
)  # fmt: skip
from conformance.vitcp.steps.messages import alive, pattern, post_receive_to, register

_SHORT_US = 5_000_000


@case(
    REGISTRY,
    "TCP.2.2.2.2.2.e",
    "TCP that cannot be established",
    clause="2.2.2.2.2, 4.2",
    requirements=["VITCP-2.2.2.2.2-13", "VITCP-4.2-02"],
    errata=["V32", "V57"],
    applies="tcp and client",
    variants=[Variant(how, {"how": how}) for how in ("refuse", "silence")],
)
def no_tcp(t: Scenario) -> None:
    """When TCP is refused or stays unanswered VipConnectRequest returns an error by its timeout, the VI is Idle, and nothing
    is tried any more; the same VI connects afterwards.
    """
    t.tester.policy = str(t.params["how"])
    vi = create(t)
    call = call_out(t, vi, _SHORT_US)
    t.expect_stream("VITCP-4.2-01")
    if not t.until(lambda: call.done, _SHORT_US + t.owed_us()):
        t.fail("VITCP-2.2.2.2.2-13", "VipConnectRequest does not return", "blocked", "an error by its timeout")
    code, codes = call.returned(), ("VIP_NOT_REACHABLE", "VIP_TIMEOUT", "VIP_NO_MATCH")
    t.require(code in codes, "VITCP-2.2.2.2.2-13", "VipConnectRequest without TCP", code, " or ".join(codes))
    check_failed(t, vi, code, "VITCP-2.2.2.2.2-13")
    no_more_attempts(t, "VITCP-4.2-02")
    t.tester.policy = "accept"
    if t.findings:
        t.control("the device asked for TCP")
        return
    alive(connect(t, CLIENT, vi=vi))


@case(
    REGISTRY,
    "TCP.4.1.a",
    "The timeline, the DUT calls",
    clause="4.1, 4.2",
    requirements=["VITCP-4.1-01", "VITCP-4.1-04", "VITCP-4.2-01", "VITCP-4.2-03", "VITCP-4.2-07"],
    errata=["V47"],
    applies="tcp and client",
)
def calls(t: Scenario) -> None:
    """TCP to the reserved port, then exactly one Connect Request; VipConnectRequest returns on Connect Accept and not before."""
    vi = create(t)
    call = call_out(t, vi)
    stream = t.expect_stream("VITCP-4.2-01")
    t.require(stream.local[1] == t.tester.port, "VITCP-4.2-01", "TCP does not go to the reserved port", stream.local[1],
              t.tester.port)
    if stream.refused:
        t.control("the device asked for TCP")
        return
    theirs = asked(t, stream)
    check_state(t, vi, "VIP_STATE_CONNECT_PENDING", "VITCP-4.2-01")
    t.wait(t.nop_bound_us)
    more = t.peek([REQUEST], stream)
    t.require(more is None, "VITCP-4.2-03", "more than one Connect Request", str(more), "one", at=more)
    t.require(not call.done, "VITCP-4.1-01", "VipConnectRequest returns without an answer", call.done, False)
    ce = theirs.pdu.ce
    assert ce is not None
    accept = wire.ce_header(ce.calling, ce.called, attributes_of(t, default_level(t)), 4096, 4)
    t.send(stream, Pdu(ACCEPT, flags=wire.END, rx=8, ce=accept))
    code = t.finish(call, "VITCP-4.1-04")
    t.require(code == "VIP_SUCCESS", "VITCP-4.2-07", "VipConnectRequest after Connect Accept", code, "VIP_SUCCESS")
    check_state(t, vi, "VIP_STATE_CONNECTED", "VITCP-4.2-07")
    t.call("VipDisconnect", vi=vi)
    t.expect_end(stream, "VITCP-4.2-08", why="after VipDisconnect")
    alive(connect(t, SERVER if t.pics["server"] else CLIENT, vi=vi))


@case(
    REGISTRY,
    "TCP.4.1.b",
    "The timeline, the DUT is called",
    clause="4.1, 4.3",
    requirements=[
        "VITCP-4.1-01", "VITCP-4.1-02", "VITCP-4.1-03", "VITCP-4.3-02", "VITCP-4.3-07", "VITCP-4.3-09",
    ],
    errata=["V23"],
    applies="tcp and server",
)  # fmt: skip
def called(t: Scenario) -> None:
    """TCP is accepted without a PDU; VipConnectWait returns on the Connect Request and nothing is answered before
    VipConnectAccept; receive Descriptors posted between the two count.
    """
    vi = create(t)
    wait = wait_for_call(t)
    stream = opened(t)
    t.wait(t.nop_bound_us // 4)
    early = t.peek([*wire.NAMES], stream)
    t.require(early is None, "VITCP-4.3-02", "a PDU before the Connect Request", str(early), "none", at=early)
    if early is not None:
        early.taken = True
    t.send(stream, connect_request(t))
    t.finish(wait, "VITCP-4.3-07", returns="VIP_SUCCESS")
    t.wait(t.nop_bound_us // 4)
    early = t.peek([*wire.NAMES], stream)
    t.require(early is None, "VITCP-4.1-02", "an answer before VipConnectAccept", str(early), "none", at=early)
    if early is not None:
        early.taken = True
    region = register(t, 64)
    post_receive_to(t, vi, region, 64)
    code = accepted(t, vi, wait, stream)
    t.require(code == "VIP_SUCCESS", "VITCP-4.3-09", "VipConnectAccept", code, "VIP_SUCCESS")
    one = t.expect(sorted(wire.CE), "VITCP-4.3-09", stream=stream, why="after VipConnectAccept")
    t.require(one.pdu.kind == ACCEPT, "VITCP-4.3-09", "the answer after VipConnectAccept", one.pdu.name, "Connect Accept", at=one)
    check_state(t, vi, "VIP_STATE_CONNECTED", "VITCP-4.3-09")
    t.wait(t.nop_bound_us // 4)
    more = t.peek(sorted(wire.CE), stream)
    t.require(more is None, "VITCP-4.3-09", "more than one answer", str(more), "one", at=more)
    if stream.own.credits == 0:
        post_receive_to(t, vi, region, 64)  # told at last, unless what was posted before is left out (V23, V55)
        t.owed(lambda: stream.own.credits > 0)
    data = pattern(40)
    t.send(stream, Pdu(SEND, 77, flags=wire.END, rx=8, payload=data))
    used = t.owed(lambda: bool(t.completed(vi, "recv")))
    t.demand(used, "VITCP-4.1-03", "a Descriptor posted before VipConnectAccept is not used", "no completion", "a completion")
    t.control("a Send reached the Descriptor posted between request and answer")
    t.call("VipDisconnect", vi=vi)
    if t.pics["client"]:
        alive(connect(t, CLIENT, vi=vi))


@case(
    REGISTRY,
    "TCP.4.2.a",
    "TCP closes in Pending Accept",
    clause="4.2",
    requirements=["VITCP-4.2-04"],
    errata=["V32", "V73"],
    applies="tcp and client",
    variants=[Variant(how, {"how": how}) for how in ("fin", "reset")]
    + [Variant(f"{how}/in-an-answer", {"how": how, "part": 40}) for how in ("fin", "reset")],
)
def closed_in_pending(t: Scenario) -> None:
    """The DUT establishes TCP again and sends another Connect Request; the second one is answered. What had come of an answer on
    the first has gone with it. To give up is the other reading.
    """
    vi = create(t)
    call = call_out(t, vi, 2 * _SHORT_US)
    stream = t.expect_stream("VITCP-4.2-01")
    first = asked(t, stream).pdu.ce
    if "part" in t.params and first is not None:
        header = wire.ce_header(first.calling, first.called, attributes_of(t, default_level(t)), 4096, 4)
        part = t.numbers.pack(Pdu(ACCEPT, flags=wire.END, rx=8, ce=header))[: int(t.params["part"])]
        t.tester.send_bytes(stream, part, "a part of a Connect Accept")
        t.settle()
    t.tester.close(stream, str(t.params["how"]))
    t.until(lambda: bool(t.tester.opened) or call.done, 2 * _SHORT_US + t.owed_us())
    t.control("the device sent a Connect Request")
    if call.done and not t.tester.opened:
        code = call.returned()
        gave_up = t.now_us < 2 * _SHORT_US and code == "VIP_NOT_REACHABLE"
        t.report("VITCP-4.2-04", "no new attempt when TCP closes", code, "a new attempt", erratum="V32" if gave_up else None)
        return
    if not t.tester.opened:
        t.fail("VITCP-4.2-04", "no new attempt when TCP closes", "nothing", "a new TCP connection before the timeout")
    again = t.expect_stream("VITCP-4.2-04")
    theirs = asked(t, again)
    ce = theirs.pdu.ce
    assert ce is not None
    accept = wire.ce_header(ce.calling, ce.called, attributes_of(t, default_level(t)), 4096, 4)
    t.send(again, Pdu(ACCEPT, flags=wire.END, rx=8, ce=accept))
    t.finish(call, "VITCP-4.2-04", returns="VIP_SUCCESS")
    t.wait(t.nop_bound_us // 2)
    t.require(not again.over, "VITCP-4.2-04", "the second TCP connection behind Connect Accept", "closed", "open")


@case(
    REGISTRY,
    "TCP.4.2.d",
    "VipDisconnect while TCP is being set up",
    clause="2.2.2.2.2, 4.2",
    requirements=["VITCP-2.2.2.2.2-04", "VITCP-4.2-08"],
    errata=["V43"],
    applies="tcp and client",
)
def given_up(t: Scenario) -> None:
    """The DUT asks for TCP, and its application calls VipDisconnect before there is an answer. No Connect Request comes on the TCP
    connection that is accepted then, which is closed; nothing is tried any more, and the same VI connects afterwards.
    """
    t.tester.policy = "silence"
    vi = create(t)
    call = call_out(t, vi)
    stream = t.expect_stream("VITCP-4.2-01")
    t.control("the device asked for TCP")
    t.finish(t.start("VipDisconnect", vi=vi), "VITCP-4.2-08", returns="VIP_SUCCESS")
    t.owed(lambda: call.done)
    t.require(call.done, "VITCP-4.2-08", "VipConnectRequest does not return though VipDisconnect has", "blocked", "an error")
    if not stream.over:
        t.tester.answer(stream, "accept")
        t.expect_end(stream, "VITCP-2.2.2.2.2-04", why="though VipDisconnect came before it was accepted")
        one = t.peek([*wire.NAMES], stream)
        t.require(one is None, "VITCP-4.2-08", "a PDU behind VipDisconnect", str(one), "none", at=one)
    no_more_attempts(t, "VITCP-4.2-08")
    t.tester.policy = "accept"
    if not t.findings:
        alive(connect(t, CLIENT, vi=vi))


@case(
    REGISTRY,
    "TCP.4.2.c",
    "TCP that closes in Pending Accept again and again",
    clause="4.2",
    requirements=["VITCP-4.2-06"],
    errata=["V32"],
    tags=["timing"],
    applies="tcp and client",
    variants=[Variant(how, {"how": how}) for how in ("fin", "reset")],
)
def closed_again(t: Scenario) -> None:
    """Each new TCP connection is closed as well. The time of VipConnectRequest does not begin anew with them: the call returns by
    its timeout, the VI is Idle, and nothing is tried any more. To give up sooner is the other reading.
    """
    vi = create(t)
    call, row = call_out(t, vi, 2 * _SHORT_US), "VITCP-4.2-06"
    first, how = t.expect_stream("VITCP-4.2-01"), str(t.params["how"])
    asked(t, first)
    t.control("the device sent a Connect Request")
    t.tester.close(first, how)
    end, attempts = call.started_us + 2 * _SHORT_US, 1
    last = end + t.owed_us()  # and the closing goes on until then

    def left() -> int:
        return max(0, last - t.now_us)

    def asks(stream: Stream) -> bool:
        t.until(lambda: stream.over or call.done or t.peek([REQUEST], stream) is not None, left())
        return t.peek([REQUEST], stream) is not None

    while t.until(lambda: bool(t.tester.opened) or call.done, left()) and not call.done:
        stream = t.tester.opened.popleft()
        attempts += asks(stream)
        t.wait(_SHORT_US // 10)
        t.tester.close(stream, how)
    if not call.done:
        t.fail(row, "VipConnectRequest does not return by its timeout", f"blocked after {attempts} attempts", "VIP_TIMEOUT")
    code = call.returned()
    gave_up = t.now_us < end - t.pixit.early_us and code == "VIP_NOT_REACHABLE"
    codes = ("VIP_TIMEOUT", "VIP_NOT_REACHABLE")
    if gave_up:
        t.report(row, "the attempts end before the timeout", code, "VIP_TIMEOUT", erratum="V32")
    else:
        t.expect_return(call, 2 * _SHORT_US, row)
        t.require(code in codes, row, "VipConnectRequest after TCP was closed again and again", code, " or ".join(codes))
    check_failed(t, vi, code, row)
    no_more_attempts(t, row)


@case(
    REGISTRY,
    "TCP.4.2.b",
    "Reject, No Match, silence",
    clause="4.2",
    requirements=["VITCP-4.1-04", "VITCP-4.2-05", "VITCP-4.2-06"],
    errata=["V08", "V31"],
    applies="tcp and client",
    variants=[Variant(f"{how}{form}", {"how": how, "short": form != ""}) for how in ("reject", "no-match") for form in ("",
                                                                                                                        "/short")]
    + [Variant("silence", {"how": "silence", "short": False})],
)
def refused(t: Scenario) -> None:
    """Connect Reject gives VIP_REJECT, Connect No Match VIP_NO_MATCH, no answer VIP_TIMEOUT at the timeout; in each the VI is
    Idle, TCP is closed and there is no further attempt.
    """
    how = str(t.params["how"])
    vi = create(t)
    call = call_out(t, vi, _SHORT_US)
    stream = t.expect_stream("VITCP-4.2-01")
    asked(t, stream)
    row = "VITCP-4.2-06" if how == "silence" else "VITCP-4.2-05"
    if how != "silence":
        pdu = refusal(REJECT if how == "reject" else NO_MATCH)
        t.send(stream, pdu.but(ce=None) if t.params["short"] else pdu)
        wanted = "VIP_REJECT" if how == "reject" else "VIP_NO_MATCH"
        t.owed(lambda: call.done or bool(t.tester.opened))
    else:
        wanted = "VIP_TIMEOUT"
        t.until(lambda: call.done, _SHORT_US + t.owed_us())
    if not call.done:
        t.fail(row, "VipConnectRequest does not return", "blocked", wanted)
    t.require(call.returned() == wanted, "VITCP-4.1-04" if how != "silence" else row, f"VipConnectRequest after {how}",
              call.returned(), wanted)
    if how == "silence":
        t.expect_return(call, _SHORT_US, row)
        late = max(0, stream.ended_us - call.started_us - _SHORT_US)
        t.require(late <= t.nop_bound_us, row, "TCP is closed long after the timeout", f"{late} us", f"{t.nop_bound_us} us")
    check_failed(t, vi, call.returned(), row)
    t.expect_end(stream, row, why=f"after {how}")
    no_more_attempts(t, row)
    if t.findings:
        t.control("the device sent a Connect Request")
        return
    alive(connect(t, CLIENT, vi=vi))


@case(
    REGISTRY,
    "TCP.4.3.a",
    "Connect No Match",
    clause="4.3",
    requirements=["VITCP-4.3-01", "VITCP-4.3-06"],
    errata=["V35", "V70"],
    applies="tcp and server",
    variants=[Variant("nobody-waits", {"waits": False}), Variant("another-discriminator", {"waits": True}),
              Variant("after-a-connection", {"waits": False, "after": True})],
)  # fmt: skip
def no_match(t: Scenario) -> None:
    """After VipCreateVi TCP is accepted, without any VipConnectWait too; a Connect Request that matches nothing gets Connect No
    Match, then the end of TCP.
    """
    vi = create(t)
    waits = bool(t.params["waits"])
    row = "VITCP-4.3-06" if waits else "VITCP-4.3-01"
    if t.params.get("after"):
        link = connect(t, SERVER, vi=vi)
        t.call("VipDisconnect", vi=vi)
        t.expect_end(link.stream, "VITCP-2.2.2.2.2-04", why="after VipDisconnect")
    if waits:
        wait_for_call(t)
    stream = t.open()
    t.owed(lambda: stream.opened or stream.refused)
    if stream.refused and not waits:
        t.report(row, "a VI does not make the port listen", "refused", "accepted", erratum="V35")
        link = connect(t, SERVER, vi=vi)
        alive(link)
        return
    if not stream.opened:
        t.fail(row, "the port does not accept TCP", "refused" if stream.refused else "no answer", "accepted")
    t.send(stream, connect_request(t, called=b"nobody has this"))
    t.owed(lambda: stream.over or t.peek([*wire.NAMES], stream) is not None)
    one = t.peek([*wire.NAMES], stream)
    if one is None and stream.ended == "reset" and not waits and t.dut.clock == "real":
        # a process cannot keep its kernel from accepting: it can only reset the connection (V35)
        t.report(row, "a VI does not make the port listen", "reset at once", "accepted", erratum="V35")
        alive(connect(t, SERVER, vi=vi))
        return
    if one is None:
        t.absent(row, "no Connect No Match", "Connect No Match", stream)
        return
    one.taken = True
    t.require(one.pdu.kind == NO_MATCH, row, "the answer where nothing matches", one.pdu.name, "Connect No Match", at=one)
    t.expect_end(stream, "VITCP-4.3-06", why="after Connect No Match")
    t.expect_nothing([*wire.NAMES], 0, "VITCP-4.3-06", "behind Connect No Match", stream)
    t.control("Connect No Match came") if one.pdu.kind == NO_MATCH else t.control("an answer came")


def _incoming() -> dict[str, int]:
    """How many bytes of a Connect Request of 68 come; -1: another PDU in its place."""
    return {"nothing": 0, "half-a-header": 12, "less-one-byte": 67, "send": -1, "nop": -2, "accept": -3}


@case(
    REGISTRY,
    "TCP.4.3.b",
    "Incoming",
    clause="4.3",
    requirements=["VITCP-4.3-03", "VITCP-4.3-04", "VITCP-4.3-05"],
    errata=["V35", "V37"],
    applies="tcp and server",
    variants=[
        # far more time than "at once" takes, lest the end of the one be taken for the other
        Variant(name, {"bytes": count}, "", {} if count >= 0 else {"incoming_timeout_us": 60_000_000})
        for name, count in _incoming().items()
    ] + [Variant("opened-and-closed", {"bytes": None})],
)
def incoming(t: Scenario) -> None:
    """A TCP connection without a whole Connect Request is closed within the time that the device was told, one with another PDU
    at once; a good one is served meanwhile and afterwards. So it is behind many that were opened and closed.
    """
    vi = create(t)
    wait = wait_for_call(t)  # whatever makes the port listen (V35)
    count = t.params["bytes"]
    if count is None:
        for number in range(60):
            stream = opened(t)
            t.tester.close(stream, "reset" if number % 2 else "fin")
        t.wait(t.nop_bound_us)
        alive(connect(t, SERVER, vi=vi, wait=wait))
        return
    number = int(count)
    streams = [opened(t) for _ in range(3 if number >= 0 else 1)]
    for stream in streams:
        if number > 0:
            t.tester.send_bytes(stream, t.numbers.pack(connect_request(t))[:number], "a part of a Connect Request")
        elif number < 0:
            t.on_purpose("VITCP-2.2.2.2.2-06")
            pdu = Pdu({-1: SEND, -2: wire.NOP, -3: ACCEPT}[number], 5, flags=wire.END)
            t.send(stream, pdu.but(ce=wire.CeHeader()) if number == -3 else pdu.but(payload=pattern(20) if number == -1 else b""))
    t.settle()
    if number < 0:
        t.expect_end(streams[0], "VITCP-4.3-05", why="after a PDU that is no Connect Request")
        t.require(not t.completions, "VITCP-4.3-05", "a completion without a connection", str(t.completions[:1]), "none")
    link = connect(t, SERVER, vi=vi, wait=wait)
    limit = int(t.config["incoming_timeout_us"]) + t.nop_bound_us
    if number >= 0:
        for stream in streams:
            t.expect_end(stream, "VITCP-4.3-03", limit, "without a Connect Request")
    alive(link)


@case(
    REGISTRY,
    "TCP.4.3.c",
    "The end of Pending Accept",
    clause="4.3",
    requirements=["VITCP-4.3-08", "VITCP-4.3-11"],
    errata=["V34", "V59"],
    applies="tcp and server",
    variants=[Variant(how, {"how": how}) for how in ("reject", "fin", "reset")],
)
def pending_ends(t: Scenario) -> None:
    """VipConnectReject sends Connect Reject, then TCP ends. When the tester closes TCP before VipConnectAccept, that call returns
    an error and the VI stays Idle; or the drawing is followed to the letter, which has no such event: the VI is connected, and the
    connection is closed at once (V59).
    """
    vi = create(t)
    wait = wait_for_call(t)
    stream = opened(t)
    t.send(stream, connect_request(t, called=DUT_DISCRIMINATOR))
    t.finish(wait, "VITCP-4.3-07", returns="VIP_SUCCESS")
    conn = wait.integer("conn")
    if t.params["how"] == "reject":
        code = t.call("VipConnectReject", conn=conn).returned()
        t.require(code == "VIP_SUCCESS", "VITCP-4.3-08", "VipConnectReject", code, "VIP_SUCCESS")
        t.owed(lambda: stream.over or t.peek([*wire.NAMES], stream) is not None)
        one = t.peek([*wire.NAMES], stream)
        if one is None:
            t.absent("VITCP-4.3-08", "no Connect Reject", "Connect Reject", stream)
            return
        one.taken = True
        t.require(one.pdu.kind == REJECT, "VITCP-4.3-08", "the answer after VipConnectReject", one.pdu.name, "Connect Reject",
                  at=one)
        t.expect_end(stream, "VITCP-4.3-08", why="after Connect Reject")
        t.expect_nothing([*wire.NAMES], 0, "VITCP-4.3-08", "behind Connect Reject", stream)
    else:
        t.tester.close(stream, str(t.params["how"]))
        t.wait(t.nop_bound_us)
        call = t.start("VipConnectAccept", conn=conn, vi=vi)
        if not t.owed(lambda: call.done):
            t.fail("VITCP-4.3-11", "VipConnectAccept does not return", "blocked", "an error")
        code = call.returned()
        if code == "VIP_SUCCESS":
            t.owed(lambda: any(one == vi for one, _ in t.errors))
            closed = t.call("VipQueryVi", vi=vi).text("State") == ERROR
            t.report("VITCP-4.3-11", "VipConnectAccept connects a VI though TCP has gone", code, "an error",
                     erratum="V59" if closed else None)
            t.call("VipDisconnect", vi=vi)
        else:
            check_failed(t, vi, code, "VITCP-4.3-11")
    if t.findings:
        t.control("VipConnectWait returned")
        return
    alive(connect(t, SERVER, vi=vi))
