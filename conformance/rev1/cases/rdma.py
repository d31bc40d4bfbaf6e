"""Clauses 5.2.3, 5.6.6, 5.7.7 to 5.7.9, 6.3, 6.5 and 6.6: RDMA."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import case
from fcvi.engine.scenario import Inconclusive
from fcvi.fc import codec
from fcvi.fc.build import changed
from fcvi.fc.message import send_frames
from fcvi.fc.received import Received

from conformance.rev1.steps.connection import REGISTRY, SMALL, Scenario, Setup, connect, one_frame, variants, with_rdma
from conformance.rev1.steps.messages import (
    Cut, FILL, Region, answered, build, check_offsets, check_target, check_words, completed, deliver, expect_good, expect_response,
    memory, originate, pattern, post, register, respond, respond_with, response_of, same_in_each, take, take_read,
    transmit, until_completed, written,
)  # fmt: skip

_ALL = ("unreliable", "reliable-delivery", "reliable-reception")
_SMALL = {"receive_size": SMALL}
_VA, _REGION = 0x0123456789ABC000, 0xA1B2C3D4
_GUARD = 64
_LONG = 0x10000  # bytes of a Read whose length has more than 16 bits
_LONG_WRITE = 70_000  # of a Write whose last offsets have more


@case(
    REGISTRY,
    "R1.6.3.a",
    "RDMA Write",
    clause="5.6.6, 5.7.7, 5.7.8, 6.3",
    requirements=["REV1-5.6.6-02", "REV1-5.7.7-01", "REV1-5.7.8-01", "FCVI-5.9.8-03", "FCVI-6.2.1-01", "FCVI-6.4.1-01",
                  "FCVI-T04-w4"],
    errata=["R02", "R09"],
    tags=["message", "rdma"],
    applies="(client or server) and rdma_write",
    variants=variants(roles=("any",), levels=_ALL, classes=(3, 2), config=_SMALL, choices=[
        (f"dut-writes/{n}-bytes", {"what": "dut", "length": n}) for n in (1, 320, 2000)])
    + variants(roles=("any",), levels=_ALL, config=_SMALL, choices=[
        ("tester-writes/one-iu", {"what": "tester", "ius": 1}),
        ("tester-writes/uneven-frames", {"what": "tester", "ius": 1, "uneven": True}),
        ("tester-writes/ius/address-stays", {"what": "tester", "ius": 3}),
        ("tester-writes/ius/address-advances", {"what": "tester", "ius": 3, "advance": True})])
    + variants(roles=("any",), levels=("reliable-delivery",), pics=f"max_transfer_size >= {_LONG_WRITE}", choices=[
        (f"{who}-writes/{_LONG_WRITE}-bytes", {"what": who, "ius": 1, "length": _LONG_WRITE}) for who in ("dut", "tester")]),
)  # fmt: skip
def rdma_write(t: Scenario) -> None:
    """VI_RMT_VA and RLTV_OFF of each frame tell where its bytes go, whatever the length of the frames before it. Over several
    IUs the offset goes on, or begins again at a higher address: a device may know one of the two alone (R02), and writes nowhere
    else. It takes no receive Descriptor.
    """
    with_rdma(t)
    length = int(t.params.get("length", 900))
    if length == _LONG_WRITE:
        t.params = {**t.params, "attributes": {**t.params["attributes"], "FCVI_MAX_TRANS_SIZE": length}}
    setup = connect(t)
    if t.params["what"] == "dut":
        data = pattern(length)
        originate(t, setup, data, "rdma-write", remote=(_VA, _REGION))
        taken = take(t, setup, "rdma-write", data)
        check_target(t, taken, _VA, _REGION)
        if answered(t):
            respond(t, setup, taken)
        expect_good(t, setup.vi, "send", "FCVI-6.4.1-01")
        t.control("the DUT wrote")
        return
    kept = register(t, 32) if t.pics["send"] else None
    if kept is not None:
        post(t, setup.vi, "recv", kept)
    data = pattern(length, 3)
    region = register(t, _GUARD + len(data) + _GUARD, write=True)
    whole = build(t, setup, data, "rdma-write", va=region.va + _GUARD, region=region.handle,
                  cut=Cut(frame=20, uneven=True) if t.params.get("uneven") else Cut(frame=100))  # fmt: skip
    transmit(t, whole)
    if answered(t):
        expect_response(t, setup, whole)
    t.require(written(t, region, data, _GUARD), "REV1-5.6.6-02", "an RDMA Write of one IU was not placed",
              memory(t, region, 16, _GUARD).hex(), data[:16].hex())  # fmt: skip
    _guards(t, region, len(data))
    t.control("an RDMA Write of one IU was placed")
    if kept is not None:
        _takes_a_send(t, setup, kept)
    if int(t.params["ius"]) > 1:
        _several_ius(t, setup, len(data))


def _takes_a_send(t: Scenario, setup: Setup, kept: Region) -> None:
    """The receive Descriptor that was there before an RDMA Write without Immediate Data is there for the next Send."""
    early = completed(t, setup.vi)
    t.require(early is None, "FCVI-6.4.1-01", "an RDMA Write without Immediate Data completed a receive Descriptor", str(early),
              "none")  # fmt: skip
    data = pattern(20, 5)
    sent = build(t, setup, data)
    transmit(t, sent)
    if answered(t):
        expect_response(t, setup, sent)
    expect_good(t, setup.vi, "recv", "FCVI-6.2.1-01", len(data))
    seen = memory(t, kept, len(data))
    t.require(seen == data, "FCVI-6.2.1-01", "a Send behind an RDMA Write has other bytes", seen.hex(), data.hex())


def _guards(t: Scenario, region: Any, length: int) -> None:
    before, behind = memory(t, region, _GUARD), memory(t, region, _GUARD, _GUARD + length)
    t.require(before + behind == FILL * 2 * _GUARD, "REV1-5.6.6-02", "bytes beside an RDMA Write were written",
              (before + behind).hex()[:64], "a5...")  # fmt: skip


def _several_ius(t: Scenario, setup: Setup, length: int) -> None:
    data = pattern(length, 8)
    region = register(t, _GUARD + length + _GUARD, write=True)
    sent = build(t, setup, data, "rdma-write", va=region.va + _GUARD, region=region.handle, cut=Cut(frame=100, ius=3))
    if t.params.get("advance"):
        sent.frames = [_advanced(f, region.va + _GUARD) for f in sent.frames]
    t.tolerate("WRITE_RESP", "ABTS")
    transmit(t, sent)
    whole = written(t, region, data, _GUARD)
    _guards(t, region, length)
    if whole:
        return
    each = 300
    pieces = [memory(t, region, each, _GUARD + i * each) for i in range(3)]
    wanted = [data[i * each : (i + 1) * each] for i in range(3)]
    right = all(seen in (piece, FILL * each) or seen.startswith(piece[:100]) for seen, piece in zip(pieces, wanted))
    t.report("REV1-5.6.6-02", "an RDMA Write of three IUs was not placed", "parts of it" if right else "other bytes", "all of it",
             erratum="R02" if right else None)  # fmt: skip


def _advanced(frame: Any, va: int) -> Any:
    """The frame of a later IU as the other reading has it: its address is higher, and its offset begins again."""
    edition = codec.EDITION["rev1"]
    offset = codec.decode(frame.data, edition=edition).header("Parameter")
    start = offset // 300 * 300
    return changed(frame, {"Parameter": offset - start}, {"VI_RMT_VA": va + start}, edition)


# ---- RDMA Read ----


@case(
    REGISTRY,
    "R1.6.5.a",
    "RDMA Read",
    clause="5.2.3, 5.7.9, 6.5, 6.6",
    requirements=["REV1-5.2.3-01", "REV1-5.7.2-10", "REV1-5.7.9-01", "REV1-6.5-01", "REV1-6.5-02", "REV1-6.6-01", "REV1-6.6-02",
                  "REV1-6.6-03", "FCVI-6.6.1-01", "FCVI-6.6.2-06", "FCVI-6.7.1-02"],
    errata=["R04", "R14"],
    tags=["message", "rdma"],
    applies="(client or server) and rdma_read",
    variants=variants(levels=("reliable-delivery", "reliable-reception"), config=_SMALL, choices=[
        ("request", {"what": "request"}), ("response", {"what": "response"}), ("refused", {"what": "refused"})])
    + variants(roles=("any",), levels=("reliable-delivery", "reliable-reception"), config=_SMALL, choices=[
        ("uneven-frames", {"what": "request", "uneven": True})])
    + variants(roles=("any",), levels=("reliable-delivery",), pics=f"max_transfer_size >= {_LONG}", choices=[
        ("long-response", {"what": "response", "lengths": (700, _LONG)})])
    + variants(roles=("any",), levels=("reliable-delivery",), classes=(2,), config=_SMALL, choices=[
        ("class2/request", {"what": "request"}), ("class2/response", {"what": "response"})])
    + variants(levels=("unreliable",), pics="send", choices=[("unreliable", {"what": "unreliable"})]),
)  # fmt: skip
def rdma_read(t: Scenario) -> None:
    """One frame asks, with the length in word 7 or zero there (R04); FCVI_READ_RESP has the number of the request and the same
    words in each frame. At Unreliable Delivery there is none (R14).
    """
    with_rdma(t)
    if "lengths" in t.params:
        t.params = {**t.params, "attributes": {**t.params["attributes"], "FCVI_MAX_TRANS_SIZE": _LONG}}
    setup = connect(t)
    what = t.params["what"]
    if what == "unreliable":
        _unreliable(t, setup)
    elif what == "response":
        _response(t, setup)
    else:
        _request(t, setup, refused=what == "refused")


def _request(t: Scenario, setup: Setup, refused: bool) -> None:
    for length in (40,) if refused else (1, 700):
        data, sink = pattern(length, 4), register(t, length)
        post(t, setup.vi, "rdma-read", sink, length=length, remote=(_VA, _REGION))
        taken = take(t, setup, "rdma-read", None)
        rqst = taken.last
        _check_request(t, rqst, taken, length)
        if refused:
            t.control("the DUT asked")
            _refuse(t, setup, taken)
            return
        if t.params.get("uneven"):
            send_frames(t.tester, response_of(t, setup, taken, data, cut=Cut(frame=20, uneven=True)))
            t.settle()
        else:
            respond_with(t, setup, taken, data)
        done = until_completed(t, setup.vi, "send")
        if not rqst.dh("VI_RMT_TOT_LEN") and (done is None or memory(t, sink) != data):
            raise Inconclusive("the DUT gives no length with an RDMA Read (R04), and does not take what was not asked for")
        t.require(done is not None and done.good, "FCVI-6.7.1-02", "an RDMA Read did not complete",
                  "nothing" if done is None else sorted(done.status), "no error bit")  # fmt: skip
        t.require(memory(t, sink) == data, "FCVI-6.7.1-02", "an RDMA Read has other bytes", memory(t, sink)[:8].hex(),
                  data[:8].hex())
    t.control("RDMA Reads completed")


def _check_request(t: Scenario, rqst: Received, taken: Any, length: int) -> None:
    t.require(len(taken.ius) == 1, "REV1-6.5-02", "IUs of an RDMA Read request", len(taken.ius), 1, at=rqst)
    one_frame(t, rqst, "REV1-6.5-02", ends=False)
    t.require(not rqst.payload, "REV1-6.5-02", "payload of READ_RQST", len(rqst.payload), 0, at=rqst)
    t.equal(rqst, "VI_FLAGS", 0, "REV1-6.5-02")
    t.equal(rqst, "NUMBER", 0, "REV1-6.5-02")
    check_words(t, rqst, _VA, _REGION)
    t.equal(rqst, "VI_RMT_VA", _VA, "REV1-5.7.7-01")
    t.equal(rqst, "VI_RMT_VA_HANDLE", _REGION, "REV1-5.7.8-01")
    t.equal(rqst, "VI_RMT_TOT_LEN", length, "REV1-5.7.9-01", {0: "R04"})


def _refuse(t: Scenario, setup: Setup, taken: Any) -> None:
    """READ_RESP with RESP_ERR and PROT_ERR."""
    respond_with(t, setup, taken, b"", flags=5)
    done = until_completed(t, setup.vi, "send")
    t.require(done is not None and not done.good, "FCVI-T06-0", "READ_RESP with RESP_ERR and PROT_ERR",
              "no completion" if done is None else sorted(done.status), "a completion with an error")  # fmt: skip
    if done is not None:
        for row in ("REV1-5.7.2-10", "REV1-6.6-02"):
            t.require("VIP_STATUS_RDMA_PROT_ERROR" in done.status, row, "the status", sorted(done.status),
                      "VIP_STATUS_RDMA_PROT_ERROR")  # fmt: skip


def _response(t: Scenario, setup: Setup) -> None:
    for length in t.params.get("lengths", (700, 1, 0)):
        data = pattern(length, 6)
        source = register(t, max(length, 1), read=True, data=data)
        sent = build(t, setup, b"", "rdma-read", va=source.va, region=source.handle, VI_RMT_TOT_LEN=length)
        transmit(t, sent)
        ius = take_read(t, sent, length, "REV1-6.6-01")
        for iu in ius:
            t.equal(iu, "VI_MSG_ID", sent.number, "REV1-6.6-03")
            t.equal(iu, "VI_HANDLE", setup.tester_handle, "REV1-5.7.4-02")
            t.equal(iu, "NUMBER", 0, "REV1-5.7.6-02")
        same_in_each(t, ius, "REV1-6.6-03")
        check_offsets(t, ius)
        t.equal(ius[-1], "Last_Sequence", 1, "FCVI-5.2.1-06")
        seen = b"".join(iu.payload for iu in ius)
        if not seen and length == 700:
            raise Inconclusive("the DUT reads nothing: it takes no length from FCVI_READ_RQST (R04)")
        t.require(seen == data, "FCVI-6.7.1-02", "an RDMA Read got other bytes", seen[:8].hex(), data[:8].hex())
    t.control("RDMA Reads were answered")


def _unreliable(t: Scenario, setup: Setup) -> None:
    deliver(t, setup, pattern(20))
    t.control("a Send was delivered")
    sink = register(t, 20)
    t.tolerate("READ_RQST")
    code = post(t, setup.vi, "rdma-read", sink, length=20, remote=(_VA, _REGION))
    t.owed(lambda: bool(t.completions) or t.peek(["READ_RQST"]) is not None)
    rqst = t.peek(["READ_RQST"])
    if rqst is not None:
        rqst.taken = True
        t.report("REV1-5.2.3-01", "RDMA Read at Unreliable Delivery", str(rqst), "none", at=rqst, erratum="R14")
        return
    done = completed(t, setup.vi, "send")
    good = code == "VIP_SUCCESS" and done is not None and done.good
    t.require(not good, "REV1-5.2.3-01", "an RDMA Read at Unreliable Delivery completed", "success", "an error")
    if done is not None:
        t.require("VIP_STATUS_FORMAT_ERROR" in done.status, "REV1-5.2.3-01", "the status of an RDMA Read at Unreliable Delivery",
                  sorted(done.status), "VIP_STATUS_FORMAT_ERROR")  # fmt: skip
