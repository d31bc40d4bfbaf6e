"""Clause 5.1, Tables 1, 3 and 4: the IUs, their Device_Headers, and what is no IU of the draft."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import case
from fcvi.engine.upper_tester import Call
from fcvi.fc.build import RawFrame, iu_frames
from fcvi.fc import codec

from conformance.fcvi.steps.connection import vi_attributes
from conformance.rev1.steps.connection import (
    REGISTRY, RR, Scenario, Setup, UNASSIGNED, connect, connect_server, create_vi, disconnect, expect_disconnect_resp,
    finish_accept, SMALL, finish_wait, level_of, make_room, payload, send_disconnect, send_rqst, start_accept, start_wait, variants,
    with_rdma, UD,
)  # fmt: skip
from conformance.rev1.steps.messages import (
    answered, build, check_immediate, check_target, deliver, exchange_a_send, expect_good, expect_response, memory, originate,
    pattern, post, register, respond, respond_with, same_in_each, take, take_read, transmit, until_completed, untouched, written,
)  # fmt: skip

_ALL = ("unreliable", "reliable-delivery", "reliable-reception")
_VA, _REGION = 0x12345000, 0x77


@case(
    REGISTRY,
    "R1.5.1.a",
    "Every IU of the DUT: opcode, Device_Header, words",
    clause="5.1, 5.7, Tables 1, 3 and 4",
    requirements=[
        "REV1-5.1-05", "REV1-5.1-06", "REV1-5.1-07", "REV1-5.1-08", "REV1-5.1-09", "REV1-5.7-01", "REV1-5.7.2-01", "REV1-5.7.2-07",
        "REV1-6.1-01", "REV1-6.3-01", "FCVI-5.8.3-01", "FCVI-6.2.1-01", "FCVI-T01-WRITE_RQST-enc", "FCVI-T01-READ_RQST-enc",
        "FCVI-T01-SEND_RESP-enc", "FCVI-T01-WRITE_RESP-enc",
    ],  # fmt: skip
    errata=["R02", "R03", "R09", "R22", "R42"],
    tags=["message", "fields"],
    applies="client or server",
    variants=variants(levels=_ALL, classes=(3, 2), config={"receive_size": SMALL},
                      choices=[("dut-ends", {"ends": "dut"}), ("tester-ends", {"ends": "tester"})]),
)  # fmt: skip
def every_iu(t: Scenario) -> None:
    """The DUT sends each IU that it has, in one frame and in several: opcode and size of the Device_Header are those of Table
    1, and the words of a first Send, of an RDMA Write and of responses are those of the draft, byte by byte.
    """
    with_rdma(t)
    setup = connect(t)
    if t.pics["send"]:
        _sends(t, setup)
    if t.pics["rdma_write"]:
        _writes(t, setup)
    if t.pics["rdma_read"] and level_of(t) != UD:
        _reads(t, setup)
    t.control("Messages of every operation passed")
    if t.params["ends"] == "dut":
        disconnect(t, setup)
    else:
        exchange = send_disconnect(t, setup.dut_handle)
        resp = expect_disconnect_resp(t, setup, exchange, setup.sent)
        if resp.kind == "DISCONNECT_RESP":
            t.equal(resp, "VI_FLAGS", 0, "REV1-5.7.2-07")


def _words(t: Scenario, frame: Any, words: list[int], requirement: str) -> None:
    """The Device_Header of a frame, word by word."""
    wanted = b"".join(word.to_bytes(4, "big") for word in words)
    seen = frame.last.device_header
    t.require(seen == wanted, requirement, "the words of the Device_Header", seen.hex(), wanted.hex(), at=frame,
              byte=frame.last.dh_offset)  # fmt: skip


def _sends(t: Scenario, setup: Setup) -> None:
    immediate = 0xDEADBEEF if t.pics["immediate_data"] else None
    for length in (16, 700):
        first, data = setup.got == 0, pattern(length)
        originate(t, setup, data, immediate=immediate)
        number = setup.got
        taken = take(t, setup, "send", data)
        check_immediate(t, taken, immediate)
        row = "REV1-5.1-05" if not first else "REV1-5.7.5-01"
        carrier = next((iu for iu in taken.ius if iu.dh("VI_FLAGS")), taken.last)  # R42: it need not be each
        _words(t, carrier, [setup.tester_handle, 0x00800000 if immediate else 0, number, immediate or 0], row)
        same_in_each(t, taken.ius, "REV1-6.1-01")
        if answered(t):
            respond(t, setup, taken)
        expect_good(t, setup.vi, "send", "FCVI-6.2.1-01")
        deliver(t, setup, pattern(length, 5))


def _writes(t: Scenario, setup: Setup) -> None:
    for length in (20, 600):
        data, number = pattern(length, 1), setup.got
        originate(t, setup, data, "rdma-write", remote=(_VA, _REGION))
        taken = take(t, setup, "rdma-write", data)
        check_target(t, taken, _VA, _REGION)
        for iu in taken.ius:
            word = iu.dh("VI_RMT_TOT_LEN")
            if word:  # R09: the length is the other reading, which the codec notes
                t.require(word == length, "REV1-6.3-01", "word 7 of WRITE_RQST", f"{word:08X}h", "0, or the length", at=iu,
                          **t.place(iu, "VI_RMT_TOT_LEN"))  # fmt: skip
            if word == 0 and iu.dh("VI_RMT_VA") == _VA:
                _words(t, iu, [setup.tester_handle, 0x01000000, number, 0, 0, _VA, _REGION, 0], "REV1-5.7-01")
        if answered(t):
            respond(t, setup, taken)
        expect_good(t, setup.vi, "send", "FCVI-6.4.1-01")
        region = register(t, length, write=True)
        sent = build(t, setup, data, "rdma-write", va=region.va, region=region.handle)
        transmit(t, sent)
        if answered(t):
            expect_response(t, setup, sent)
        t.require(written(t, region, data), "REV1-5.6.6-02", "an RDMA Write was not placed", memory(t, region, 16).hex(),
                  data[:16].hex())


def _reads(t: Scenario, setup: Setup) -> None:
    length = 500
    data, sink = pattern(length, 2), register(t, length)
    code = post(t, setup.vi, "rdma-read", sink, length=length, remote=(_VA, _REGION))
    t.require(code == "VIP_SUCCESS", "REV1-5.2.3-01", f"VipPostSend of an RDMA Read returned {code}", code, "VIP_SUCCESS")
    taken = take(t, setup, "rdma-read", None)
    if not taken.last.dh("VI_RMT_TOT_LEN"):
        t.step("the DUT gives no length with an RDMA Read (R04)")
    respond_with(t, setup, taken, data)
    done = until_completed(t, setup.vi, "send")
    if taken.last.dh("VI_RMT_TOT_LEN"):
        t.require(done is not None and done.good and memory(t, sink) == data, "FCVI-6.7.1-02", "an RDMA Read did not complete",
                  "nothing" if done is None else sorted(done.status), "its data")  # fmt: skip
    source = register(t, length, read=True, data=data)
    sent = build(t, setup, b"", "rdma-read", va=source.va, region=source.handle, VI_RMT_TOT_LEN=length)
    transmit(t, sent)
    for resp in take_read(t, sent, length, "REV1-5.1-06"):
        same_in_each(t, [resp], "REV1-6.6-03")
        _words(t, resp, [setup.tester_handle, 0x0A000000, sent.number, 0], "REV1-5.1-06")


# ---- what is no IU of the draft ----


def _of_2007(t: Scenario, setup: Setup, data: bytes) -> list[RawFrame]:
    """A Send as 2007 has it: 32 bytes of Device_Header, and the next VI_MSG_ID either way."""
    exchange = t.tester.open_exchange()
    dh = {"FCVI_HANDLE": setup.dut_handle, "FCVI_MSG_ID": setup.sent, "FCVI_TOT_LEN": len(data)}
    return iu_frames("SEND_RQST", t.tester.envelope(exchange), dh, data, codec.EDITION["2007"])


_PAYLOADS: dict[str, dict[str, Any]] = {
    "331-bytes": {"length": 331}, "333-bytes": {"length": 333}, "340-bytes": {"length": 340}, "no-payload": {"length": 0},
    "revision-0": {"revision": 0}, "revision-2": {"revision": 2}, "2007": {"edition": "2007"},
}  # fmt: skip


@case(
    REGISTRY,
    "R1.5.1.b",
    "IUs that are not of the draft",
    clause="5.1, 6.7",
    requirements=["REV1-5.1-10", "REV1-6.7-08"],
    errata=["R20", "R27"],
    tags=["message", "setup", "robustness"],
    applies="client or server",
    variants=variants(levels=_ALL, choices=[("send-of-2007", {"what": "send"})], pics="max_vis >= 2 and send")
    + variants(roles=("dut-server",), pics="max_vis >= 2 and send",
               choices=[(f"request/{name}", {"what": "request", **values}) for name, values in _PAYLOADS.items()]),
)  # fmt: skip
def of_another_edition(t: Scenario) -> None:
    """An IU of 2007 on a Connection completes nothing, and a request with another payload makes no crash; other VIs go on. How
    the DUT refuses is left to it: silence, P_RJT, ABTS or BA (R20, R27).
    """
    other = connect(t)
    t.control("a Connection was made")
    t.tolerate("CONNECT_RESP1", "CONNECT_RESP2", "DISCONNECT_RESP", "SEND_RESP")
    if t.params["what"] == "send":
        setup = connect(t)
        data = pattern(32)
        region = register(t, 64)
        post(t, setup.vi, "recv", region)
        for frame in _of_2007(t, setup, data):
            t.tester.send_frame(frame, "an IU of 2007")
        done = until_completed(t, setup.vi, "recv")
        good = done is not None and done.good
        t.require(not good, "REV1-5.1-10", "an IU of 2007 completed a receive Descriptor", "a completion", "none")
    else:
        _bad_request(t)
    untouched(t, other, "REV1-5.1-10" if t.params["what"] == "send" else "REV1-6.7-08", "after an IU of another edition")
    t.discard("SEND_RESP", "CONNECT_RESP1")
    make_room(t, other)
    connect_server(t) if t.pics["server"] else connect(t)
    t.control("a further setup succeeded")


def _bad_request(t: Scenario) -> None:
    wait = start_wait(t)
    exchange = t.tester.open_exchange()
    handle = t.rng.randrange(1, UNASSIGNED)
    body = payload(t, handle, **({"VI_REVISION": t.params["revision"]} if "revision" in t.params else {}))
    if t.params.get("edition") == "2007":
        from conformance.fcvi.steps.connection import connect_payload

        dh = {"FCVI_HANDLE": UNASSIGNED, "FCVI_FLAGS": 1, "FCVI_CONNECTION_ID": 5}
        for frame in iu_frames("CONNECT_RQST", t.tester.envelope(exchange), dh, connect_payload(t, "CONNECT_RQST", handle), 0):
            t.tester.send_frame(frame, "a request of 2007")
    else:
        length = int(t.params.get("length", len(body)))
        t.send("CONNECT_RQST", exchange, {"VI_HANDLE": UNASSIGNED, "VI_FLAGS": 1}, body.ljust(length, b"\0")[:length])
    setup = Setup("dut-server", -1, exchange, handle)
    t.owed(lambda: wait.done)
    if wait.done and wait.returned() == "VIP_SUCCESS":
        _taken_all_the_same(t, setup, wait)
    else:
        good = send_rqst(t)
        start_accept(t, good, finish_wait(t, wait))
        finish_accept(t, good)


def _taken_all_the_same(t: Scenario, setup: Setup, wait: Call) -> None:
    """The DUT made a request of it: then a connection is the other reading of R27."""
    vi = create_vi(t)
    call = t.start("VipConnectAccept", conn=wait.integer("conn"), vi=vi)
    t.owed(lambda: call.done or t.peek(["CONNECT_RESP1"], setup.exchange) is not None)
    resp1 = t.peek(["CONNECT_RESP1"], setup.exchange)
    if resp1 is not None and not resp1.dh("CONN_ERR"):
        t.report("REV1-6.7-08", "a request with another payload is accepted", str(resp1), "no acceptance", erratum="R27")


# ---- levels and streaming ----


@case(
    REGISTRY,
    "R1.5.1.c",
    "Reliability Levels, and streaming",
    clause="5.1",
    requirements=["REV1-5.1-01", "REV1-5.1-02", "REV1-5.1-03", "REV1-5.1-04", "FCVI-6.2.1-01"],
    errata=["R25"],
    tags=["message", "setup"],
    applies="(client or server) and send and max_vis >= 2",
    variants=variants(levels=("unreliable", "reliable-delivery"), choices=[("", {"what": "level"})])
    + variants(levels=("reliable-reception",), choices=[(f"reliable-reception/{w}", {"what": w}) for w in
                                                        ("level", "stream", "skipped", "far-ahead", "dut-streams")]),
)  # fmt: skip
def levels(t: Scenario) -> None:
    """Unreliable and Reliable Delivery exist; who has Reliable Reception takes a stream of Messages, answers it in order, and
    answers no Message before those in front of it have come.
    """
    row = "REV1-5.1-02" if level_of(t) == RR else "REV1-5.1-01"
    code = t.call("VipCreateVi", ViAttribs=vi_attributes(t)).returned()
    t.require(code == "VIP_SUCCESS", row, f"VipCreateVi at the level {t.params['level']}", code, "VIP_SUCCESS")
    setup = connect(t)
    exchange_a_send(t, setup)
    t.control("Messages passed in both directions")
    what = t.params["what"]
    if what == "stream":
        _stream(t, setup)
    elif what in ("skipped", "far-ahead"):
        _skipped(t, setup, 0x1_0000 if what == "far-ahead" else 1)
    elif what == "dut-streams":
        _dut_streams(t, setup)


def _stream(t: Scenario, setup: Setup) -> None:
    regions = [register(t, 64) for _ in range(3)]
    for region in regions:
        post(t, setup.vi, "recv", region)
    sent = [build(t, setup, pattern(48, n)) for n in range(3)]
    transmit(t, *sent)
    order = []
    for one in sent:
        resp = expect_response(t, setup, one)
        order.append(resp.numbers[-1])
        expect_good(t, setup.vi, "recv", "REV1-5.1-03", 48)
    if order != sorted(order):  # 5.1 orders what completes; each response has an Exchange of its own
        t.report("REV1-5.1-03", "the order of the responses, by frame", str(order), str(sorted(order)), erratum="R25")
    for n, region in enumerate(regions):
        t.require(memory(t, region, 48) == pattern(48, n), "REV1-5.1-03", f"Message {n} of a stream has other bytes",
                  memory(t, region, 8).hex(), pattern(48, n)[:8].hex())  # fmt: skip


def _skipped(t: Scenario, setup: Setup, ahead: int) -> None:
    """A Message comes so many numbers before its turn; all 32 bits of VI_MSG_ID count (5.7.5)."""
    post(t, setup.vi, "recv", register(t, 64))
    missing = build(t, setup, pattern(30))
    behind = build(t, setup, pattern(30, 1), number=missing.number + ahead)
    transmit(t, behind)
    t.expect_nothing(["SEND_RESP"], t.ulp_timeout_us // 2, "REV1-5.1-04", f"though Message {missing.number} has not come",
                     exchange=behind.exchange)  # fmt: skip


def _dut_streams(t: Scenario, setup: Setup) -> None:
    datas = [pattern(40, n) for n in range(2)]
    for data in datas:
        originate(t, setup, data)
    first = take(t, setup, "send", datas[0])
    # A second one is not owed before the first is answered (R25), and the DUT's timer runs until then.
    if not t.until(lambda: t.peek(["SEND_RQST"]) is not None, t.ulp_timeout_us // 2):
        t.report("REV1-5.1-03", "the DUT sends one Message at a time", "nothing behind the first", "a stream", erratum="R25")
    respond(t, setup, first)
    second = take(t, setup, "send", datas[1])
    respond(t, setup, second)
    for _ in datas:
        expect_good(t, setup.vi, "send", "FCVI-6.2.1-01")
