"""Clauses 4.1, 5.4 and 5.6: Sequences, SEQ_CNT, RLTV_OFF and PREF."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.engine.case import case
from fcvi.fc import build as frames, class2, codec, codes
from fcvi.fc.received import Exchange, Received
from fcvi.fc.scenario import Inconclusive

from conformance.fcvi.steps.acknowledgements import check_acknowledged
from conformance.rev1.steps.connection import (
    REGISTRY, SMALL, Scenario, Setup, UD, check_disconnect, answer_disconnect, connect, expect_disconnect_resp, level_of,
    send_disconnect, variants, with_rdma,
)  # fmt: skip
from conformance.rev1.steps.messages import (
    Cut, answered, build, check_counts, check_offsets, deliver, each_frame, exchange_a_send, expect_good, expect_response, memory,
    originate, pattern, post, register, respond, respond_with, take, take_read, transmit, until_completed,
)  # fmt: skip

_ALL = ("unreliable", "reliable-delivery", "reliable-reception")
_SMALL = {"receive_size": SMALL}
_OPS: list[tuple[str, dict[str, Any]]] = [
    (f"{op}/{n}-bytes", {"op": op, "length": n, "applies": pics})
    for op, pics in (("send", "send"), ("rdma-write", "rdma_write")) for n in (1, 336, 337, 3001)
]  # fmt: skip
_READS: list[tuple[str, dict[str, Any]]] = [(f"rdma-read/{n}-bytes", {"op": "rdma-read", "length": n, "applies": "rdma_read"})
                                            for n in (1, 3001)]  # fmt: skip
_NO_RX_ID: list[tuple[str, dict[str, Any]]] = [
    (f"{op}/no-rx-id", {"op": op, "length": 337, "applies": pics, "no_rx_id": True})
    for op, pics in (("send", "send"), ("rdma-write", "rdma_write"), ("rdma-read", "rdma_read"))
]  # fmt: skip
#: What has no meaning in a frame, or none that its recipient acts on (3.5, FC-PH).
_OTHERWISE: list[tuple[str, dict[str, Any]]] = [
    (f"tester-writes/{what}", {"op": "otherwise", "what": what}) for what in ("fill", "continue", "last-in-all", "ack-form")
]


@case(
    REGISTRY,
    "R1.5.4.a",
    "SEQ_CNT, SEQ_ID and RLTV_OFF",
    clause="4.1, 5.4, 5.6.5, 5.6.6",
    requirements=["REV1-4.1-01", "REV1-5.4-01", "REV1-5.4-02", "REV1-5.4-03", "REV1-5.6.5-01", "REV1-5.6.6-01",
                  "FCVI-4.2-02", "FCVI-5.2.1-04", "FCVI-5.2.1-06", "FCVI-6.2.1-01", "FCVI-6.2.1-04", "FCVI-6.2.1-05",
                  "FCVI-5.8.1-01", "FCVI-6.4.1-05", "FCVI-6.4.1-06"],
    errata=["R02", "R06", "R22"],
    tags=["message", "fields"],
    applies="client or server",
    variants=variants(roles=("any",), levels=("unreliable", "reliable-reception"), classes=(3, 2), choices=_OPS, config=_SMALL)
    + variants(roles=("any",), levels=("reliable-delivery", "reliable-reception"), choices=_READS, config=_SMALL)
    + variants(roles=("any",), levels=("reliable-reception",), classes=(3, 2), choices=_NO_RX_ID, config=_SMALL)
    + variants(roles=("any",), levels=("unreliable",), classes=(2,), config=_SMALL, pics="send",
               choices=[("class2/acks-held-back", {"op": "acks", "length": 0}),
                        ("class2/one-ack-held-back", {"op": "one-ack", "length": 0, "applies": "max_vis >= 7"}),
                        ("class2/every-ack-held-back", {"op": "no-acks", "length": 0, "applies": "max_vis >= 6"})])
    + variants(roles=("any",), levels=("unreliable", "reliable-reception"), config=_SMALL, pics="send",
               choices=[*_OTHERWISE, ("tester-cuts/one-iu", {"op": "cuts", "length": 900, "ius": 1}),
                        ("tester-cuts/uneven-frames", {"op": "cuts", "length": 900, "ius": 1, "uneven": True}),
                        ("tester-cuts/three-ius", {"op": "cuts", "length": 900, "ius": 3})]),
)  # fmt: skip
def sequences(t: Scenario) -> None:
    """SEQ_CNT is 0 in the first frame and goes on through the Exchange, without a wrap in an IU; RLTV_OFF is the displacement
    of the payload. In class 2 no SEQ_ID is used again before the ACK of the last frame of its Sequence. A responder need not
    use RX_IDs: its answers with FFFFh are taken (FC-PH). So are Messages with something else where the frame says nothing (3.5).
    """
    with_rdma(t)
    t.tester.uses_rx_ids = not t.params.get("no_rx_id")
    setup = connect(t)
    op = str(t.params["op"])
    if op == "acks":
        _acks_held_back(t, setup)
    elif op == "one-ack":
        _one_ack_held_back(t, setup)
    elif op == "no-acks":
        _every_ack_held_back(t, setup)
    elif op == "cuts":
        joined = bool(t.params.get("uneven"))
        cut = Cut(frame=20 if joined else 100, ius=int(t.params["ius"]), uneven=joined)
        deliver(t, setup, pattern(900), cut=cut)
        deliver(t, setup, pattern(16))
    elif op == "otherwise":
        for size in (41, 242, 303):
            deliver(t, setup, pattern(size), cut=Cut(frame=100, ius=2), otherwise=str(t.params["what"]))
    else:
        _both_ways(t, setup, op, pattern(int(t.params["length"])))
        check_acknowledged(t, "FCVI-5.8.1-01")
    t.control("Messages passed")


def _both_ways(t: Scenario, setup: Setup, op: str, data: bytes) -> None:
    if op == "rdma-read":
        _read(t, setup, data)
        return
    originate(t, setup, data, op, remote=(0x9000, 5) if op == "rdma-write" else None)
    taken = take(t, setup, op, data)
    if answered(t):
        respond(t, setup, taken)
    expect_good(t, setup.vi, "send", "FCVI-6.2.1-01" if op == "send" else "FCVI-6.4.1-01")
    if op == "send":
        deliver(t, setup, data)
    else:
        region = register(t, len(data), write=True)
        sent = build(t, setup, data, op, va=region.va, region=region.handle)
        transmit(t, sent)
        if answered(t):
            resp = expect_response(t, setup, sent)
            _responder_counts(t, resp, len(sent.frames))
        t.owed(lambda: memory(t, region) == data)
        t.require(memory(t, region) == data, "REV1-5.6.6-02", "an RDMA Write was not placed", memory(t, region)[:8].hex(),
                  data[:8].hex())


def _responder_counts(t: Scenario, resp: Received, before: int) -> None:
    """The responder's first frame has 0 or goes on from the other side's count (R06)."""
    seen = next(iter(each_frame(resp))).fc("SEQ_CNT")
    t.require(seen in (0, before), "REV1-5.6.5-01", "SEQ_CNT of the response", seen, f"0, or {before}", at=resp)


def _read(t: Scenario, setup: Setup, data: bytes) -> None:
    source = register(t, len(data), read=True, data=data)
    sent = build(t, setup, b"", "rdma-read", va=source.va, region=source.handle, VI_RMT_TOT_LEN=len(data))
    transmit(t, sent)
    ius = take_read(t, sent, len(data))
    _responder_counts(t, ius[0], 1)
    check_counts(t, ius, starts=False)
    check_offsets(t, ius)
    seen = b"".join(iu.payload for iu in ius)
    if not seen and len(data):
        raise Inconclusive("the DUT reads nothing: it takes no length from FCVI_READ_RQST (R04)")
    t.require(seen == data, "FCVI-6.7.1-02", "an RDMA Read got other bytes", seen[:8].hex(), data[:8].hex())
    sink = register(t, len(data))
    post(t, setup.vi, "rdma-read", sink, length=len(data), remote=(0x9000, 5))
    taken = take(t, setup, "rdma-read", None)
    respond_with(t, setup, taken, data)
    if taken.last.dh("VI_RMT_TOT_LEN"):
        done = until_completed(t, setup.vi, "send")
        t.require(done is not None and done.good and memory(t, sink) == data, "FCVI-6.7.1-02", "an RDMA Read did not complete",
                  "nothing" if done is None else sorted(done.status), "its data")  # fmt: skip


_MANY = 12


def _acks_held_back(t: Scenario, setup: Setup) -> None:
    """The ACK of the last frame of each Sequence is held back: its SEQ_ID is taken until it comes."""
    held: list[tuple[codec.Frame, Exchange]] = []

    def acknowledge(view: codec.Frame, exchange: Exchange) -> Optional[frames.RawFrame]:
        if view.iu == "SEND_RQST" and view.get("FC", "End_Sequence"):
            held.append((view, exchange))
            return None
        return class2.ack_1(view, exchange.rx_id)

    def release() -> None:
        while held:
            view, exchange = held.pop(0)
            t.tester.send_frame(class2.ack_1(view, exchange.rx_id))

    t.tester.acknowledge = acknowledge
    data = pattern(300)
    for _ in range(_MANY):
        originate(t, setup, data)
    t.wait(int(t.config["e_d_tov_us"]) // 20)
    taken = [v.get("FC", "SEQ_ID") for v, _ in held]
    t.require(len(set(taken)) == len(taken), "REV1-5.4-01", "SEQ_IDs of Sequences whose last ACK has not come", taken,
              "all different")
    t.tester.acknowledge = lambda view, exchange: class2.ack_1(view, exchange.rx_id)
    release()
    for _ in range(_MANY):
        take(t, setup, "send", data)
        expect_good(t, setup.vi, "send", "FCVI-6.2.1-01")


_SEQ_IDS, _VIS, _PER_VI = 256, 6, 50  # 50 Sends of a VI are few for any queue, and those of six are more than there are SEQ_IDs


def _early(t: Scenario, since: int, what: str) -> None:
    """Half an E_D_TOV after it was held back the DUT may give a Sequence up: then nothing is judged."""
    if t.now_us - since > int(t.config["e_d_tov_us"]) // 2:
        raise Inconclusive(f"{what} took half an E_D_TOV")


def _one_ack_held_back(t: Scenario, setup: Setup) -> None:
    """One Sequence stays open while more others are closed than there are SEQ_IDs: none of them has its SEQ_ID."""
    data, held = pattern(16), list[tuple[codec.Frame, Exchange]]()

    def acknowledge(view: codec.Frame, exchange: Exchange) -> Optional[frames.RawFrame]:
        if view.iu == "SEND_RQST" and (not held or _sequence(view) == _sequence(held[0][0])):
            held.append((view, exchange))
            return None
        return class2.ack_1(view, exchange.rx_id)

    others = [connect(t) for _ in range(_VIS)]
    t.tester.acknowledge = acknowledge
    since, region = t.now_us, originate(t, setup, data)
    take(t, setup, "send", data)
    open_id = _sequence(held[0][0])[1]
    for other in others * _PER_VI:
        originate(t, other, data, region=region)
        if not t.until(lambda: t.peek(["SEND_RQST"]) is not None, int(t.config["e_d_tov_us"]) // 4):
            raise Inconclusive("the DUT sends no Message while an ACK is due: its end-to-end credit may be used up")
        seen = take(t, other, "send", data).last
        _early(t, since, "fewer Messages than there are SEQ_IDs")
        expect_good(t, other.vi, "send", "FCVI-6.2.1-01")
        if not t.require(seen.fc("SEQ_ID") != open_id, "REV1-5.4-01", "SEQ_ID of a Message behind one whose last ACK has not come",
                         seen.fc("SEQ_ID"), f"not {open_id}", at=seen):  # fmt: skip
            break
    for view, exchange in held:
        t.tester.send_frame(class2.ack_1(view, exchange.rx_id))
    expect_good(t, setup.vi, "send", "FCVI-6.2.1-01")


def _sequence(view: codec.Frame) -> tuple[Any, Any]:
    """Which one a frame is of, among those of one sender."""
    return view.get("FC", "OX_ID"), view.get("FC", "SEQ_ID")


def _every_ack_held_back(t: Scenario, setup: Setup) -> None:
    """More Sends than there are SEQ_IDs, none of which is acknowledged: the rest waits, and comes later."""
    held: list[tuple[codec.Frame, Exchange]] = []

    def hold(view: codec.Frame, exchange: Exchange) -> None:
        held.append((view, exchange))

    def release() -> None:
        while held:
            view, exchange = held.pop(0)
            t.tester.send_frame(class2.ack_1(view, exchange.rx_id))

    data, setups = pattern(16), [setup, *(connect(t) for _ in range(_VIS - 1))]
    t.tester.acknowledge, since, region = hold, t.now_us, register(t, 16, data=data)
    for one in setups * _PER_VI:
        originate(t, one, data, region=region)
    t.wait(int(t.config["e_d_tov_us"]) // 20)
    _early(t, since, f"{_VIS * _PER_VI} posts")
    opened = {(view.get("FC", "OX_ID"), view.get("FC", "SEQ_ID")) for view, _ in held}
    t.require(len(opened) <= _SEQ_IDS, "REV1-4.1-01", "Sequences that are open", len(opened), f"{_SEQ_IDS} at most")
    t.tester.acknowledge = lambda view, exchange: class2.ack_1(view, exchange.rx_id)
    release()
    t.owed(lambda: len(_messages(t)) == len(setups) * _PER_VI)
    t.require(len(_messages(t)) == len(setups) * _PER_VI, "FCVI-6.2.1-01", "not every Message came", len(_messages(t)),
              len(setups) * _PER_VI)  # fmt: skip
    for iu in t.tester.inbox:
        iu.taken |= iu.kind == "SEND_RQST"
    for one in setups * _PER_VI:
        expect_good(t, one.vi, "send", "FCVI-6.2.1-01")


def _messages(t: Scenario) -> set[tuple[int, int]]:
    """Those that came, by handle and number: each may come in several IUs."""
    return {(iu.dh("VI_HANDLE"), iu.dh("VI_MSG_ID")) for iu in t.tester.inbox if iu.kind == "SEND_RQST"}


# ---- PREF ----


@case(
    REGISTRY,
    "R1.5.6.2.a",
    "PREF in every frame of a Connection, or in none",
    clause="5.6.2, Annex A.3, Annex B",
    requirements=["REV1-5.6.2-01", "REV1-5.6.2-02", "REV1-A.3-01"],
    errata=["R13", "R18", "R26", "R32"],
    tags=["message", "fields"],
    applies="(client or server) and send",
    variants=variants(levels=("unreliable", "reliable-reception"), classes=(3, 2), config=_SMALL,
                      choices=[("on", {"preference": True, "applies": "preference"}), ("off", {"preference": False})])
    + variants(levels=("unreliable", "reliable-reception"), config=_SMALL, pics="max_vis >= 2",
               choices=[("one-of-two", {"preference": True, "applies": "preference", "two": True})])
    + variants(levels=("unreliable",), config={**_SMALL, "login": "explicit"}, pics="explicit_login",
               choices=[("explicit-login", {"preference": True, "applies": "preference"})]),
)  # fmt: skip
def preference(t: Scenario) -> None:
    """With Priority each frame of a Connection has PREF, in Messages and in Disconnects; the setup may be without (R26).
    Without it no frame has PREF. Frames of the tester with PREF are taken.
    """
    on = bool(t.params["preference"])
    if t.params.get("two"):
        _one_of_two(t)
        return
    with_rdma(t)
    if on:
        t.tester.rewrite = _with_pref
    before = len(t.tester.trace)
    setup = connect(t)
    made = len(t.tester.trace)
    data = pattern(600)
    originate(t, setup, data)
    taken = take(t, setup, "send", data)
    if answered(t):
        respond(t, setup, taken)
    expect_good(t, setup.vi, "send", "FCVI-6.2.1-01")
    if t.pics["rdma_write"]:
        originate(t, setup, data, "rdma-write", remote=(0x9000, 5))
        taken = take(t, setup, "rdma-write", data)
        if answered(t):
            respond(t, setup, taken)
        expect_good(t, setup.vi, "send", "FCVI-6.4.1-01")
    if t.pics["rdma_read"] and level_of(t) != UD:
        source = register(t, 300, read=True)
        sent = build(t, setup, b"", "rdma-read", va=source.va, region=source.handle, VI_RMT_TOT_LEN=300)
        transmit(t, sent)
        take_read(t, sent, 300)
    deliver(t, setup, data)
    t.control("Messages passed in both directions")
    call = t.start("VipDisconnect", vi=setup.vi)
    rqst = t.expect("DISCONNECT_RQST", "FCVI-8.1-03", why="after VipDisconnect")
    check_disconnect(t, rqst, setup)
    answer_disconnect(t, rqst, setup)
    t.finish(call, "FCVI-8.1-03", returns="VIP_SUCCESS")
    again = connect(t)
    deliver(t, again, data)
    expect_disconnect_resp(t, again, send_disconnect(t, again.dut_handle), again.sent)
    _judge(t, on, before, made)
    if t.config["login"] == "explicit":
        _tolerance(t)


def _one_of_two(t: Scenario) -> None:
    """A Connection with Priority and one without are open at the same time: each has its own PREF (5.6.2)."""
    setups: dict[bool, Setup] = {}
    for on in (True, False, True, False):
        t.params = {**t.params, "preference": on}
        t.tester.rewrite = _with_pref if on else None
        before = len(t.tester.trace)
        if on not in setups:
            setups[on] = connect(t)
        exchange_a_send(t, setups[on])
        _judge(t, on, before, before)
    t.control("Messages passed on both Connections")


def _judge(t: Scenario, on: bool, before: int, made: int) -> None:
    row = "REV1-5.6.2-01" if on else "REV1-5.6.2-02"
    for number, _, view in t.crossed("dut", before):
        # where F_CTL bit 17 says so, CS_CTL has a priority and no PREF (FC-FS)
        if view.kind != "iu" or view.header("Priority_Enable") or bool(view.header("PREF")) == on:
            continue
        byte, bits = view.where("FC", "PREF")
        setup_iu = (view.iu or "").startswith("CONNECT")
        words = f"PREF of frame {number} ({view.iu})"
        t.report(row, words, str(int(not on)), str(int(on)), byte=byte, bits=bits, erratum="R26" if on and setup_iu else None)


def _with_pref(frame: frames.RawFrame) -> frames.RawFrame:
    """PREF in each frame of FC-VI that the tester sends."""
    of_fc_vi = codec.decode(frame.data, edition=codec.EDITION["rev1"]).header("TYPE") == codes.TYPE.FC_VI
    return frames.changed(frame, {"PREF": 1}) if of_fc_vi else frame


_LOGIN = 116  # bytes of PLOGI, and of the LS_ACC to it


def _tolerance(t: Scenario) -> None:
    """Class service parameters of the DUT's login, word 0 bit 22: FC-FS has moved it since, so it is a notice (R18)."""
    for received in t.tester.inbox:
        if received.kind not in ("PLOGI", "LS_ACC") or len(received.payload) < _LOGIN:
            continue
        if not received.part("LOGIN", f"Class_{t.config['class']}.Preference_Support"):
            t.report("REV1-A.3-01", f"CS_CTL Tolerance in {received.kind}", "0", "1", at=received, erratum="R18")
            return
