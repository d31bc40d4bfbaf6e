"""Clause 8: what a port does when no answer comes."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.engine.case import case
from fcvi.engine.scenario import Inconclusive
from fcvi.engine.upper_tester import Call
from fcvi.fc.received import Exchange, Received

from conformance.rev1.steps.connection import (
    CLIENT, REGISTRY, SERVER, Scenario, Setup, connect, connect_client, connect_server, expect_end_of_abts, finish_wait,
    patience, send_rqst, start_accept, start_request, start_wait, variants, with_rdma,
)  # fmt: skip
from conformance.rev1.steps.messages import Taken, expect_good, originate, pattern, post, register, respond, take

_WAITS: list[tuple[str, dict[str, Any]]] = [
    ("no-resp1", {"what": "resp1", "only": CLIENT}),
    ("no-resp2", {"what": "resp2", "only": SERVER}),
    ("no-disconnect-resp", {"what": "disconnect"}),
]
_MESSAGES: list[tuple[str, dict[str, Any]]] = [
    ("no-send-resp", {"what": "send", "applies": "send", "only": "reliable-reception"}),
    ("first-send-resp", {"what": "send", "of": 0, "applies": "send", "only": "reliable-reception"}),
    ("second-send-resp", {"what": "send", "of": 1, "applies": "send", "only": "reliable-reception"}),
    ("no-write-resp", {"what": "rdma-write", "applies": "rdma_write", "only": "reliable-reception"}),
    ("no-read-resp", {"what": "rdma-read", "applies": "rdma_read"}),
]


@case(
    REGISTRY,
    "R1.8.a",
    "No answer: ABTS after FCVI_ULP_TIMEOUT",
    clause="8",
    requirements=["REV1-8-01", "REV1-8-02", "REV1-8-03", "REV1-8-04", "REV1-5.3.2-03", "FCVI-4.1-04", "FCVI-T06-0"],
    errata=["R01", "R17", "R34", "R40", "R45"],
    tags=["timing", "loss", "setup", "message"],
    applies="client or server",
    variants=variants(choices=_WAITS)
    + variants(classes=(2,), choices=[(f"class2/{n}", c) for n, c in _WAITS])
    + variants(levels=("reliable-delivery", "reliable-reception"), roles=("any",), choices=_MESSAGES)
    + variants(choices=[(f"own-timeout/{n}", {**c, "own": True}) for n, c in _WAITS[:2]])
    + variants(pics="max_vis >= 3", choices=[(f"twice/{n}", {**c, "twice": True}) for n, c in _WAITS[:2]])
    + variants(roles=(SERVER,), classes=(3, 2), choices=[("tester-aborts", {"what": "tester"})]),
)  # fmt: skip
def no_answer(t: Scenario) -> None:
    """Each IU that expects a response waits FCVI_ULP_TIMEOUT for it; then ABTS recovers the Exchange, each time. The value is the
    implementation's (PIXIT ulp_timeout_ms); where the laboratory does not know it, the device is taken at what reset told it.
    """
    what = str(t.params["what"])
    if what == "tester":
        _tester_aborts(t)
        return
    unanswered = {"resp1": _no_resp1, "resp2": _no_resp2, "disconnect": _no_disconnect_resp}.get(what, _no_response)
    exchange, started, row, call = unanswered(t)
    _still_waits(t, what, exchange, call)
    abts = t.expect("ABTS", "REV1-8-03", exchange=exchange, within_us=patience(t), why="without an answer")
    t.tester.send_ba_acc(abts)
    t.settle()
    if not t.params.get("own") and t.params.get("of") != 0:  # who sees that the first of two is lost may end all at once (R45)
        _judge_time(t, abts, started, row)
    if call is not None:  # a client may try once more by itself: the draft has no rule against it
        waiting = call
        t.owed(lambda: waiting.done)
        _judge_return(t, waiting, what)
    t.wait(t.ulp_timeout_us // 10)
    t.tolerate("DISCONNECT_RQST", "CONNECT_RQST", "SEND_RQST", "WRITE_RQST", "READ_RQST")
    t.discard("CONNECT_RQST", "ABTS")
    if t.params.get("twice"):
        exchange, *_ = unanswered(t)
        t.tester.send_ba_acc(t.expect("ABTS", "REV1-8-03", exchange=exchange, within_us=patience(t), why="without a second answer"))
        t.wait(t.ulp_timeout_us // 10)
        t.discard("CONNECT_RQST", "ABTS")
    connect_client(t) if t.pics["client"] and t.params["role"] != SERVER else connect_server(t)
    t.control("a further setup completed")


def _still_waits(t: Scenario, what: str, exchange: Exchange, call: Optional[Call]) -> None:
    """Whose call has succeeded, and who sends no ABTS either, does not wait for the answer at all."""
    if call is None or what != "disconnect" or not call.done:
        return
    came = t.owed(lambda: t.peek(["ABTS"], exchange) is not None)
    t.require(came, "REV1-8-01", f"{call.method} returned {call.returned()} without an answer, and no ABTS came", "nothing",
              "a wait of FCVI_ULP_TIMEOUT")  # fmt: skip


def _judge_return(t: Scenario, call: Call, what: str) -> None:
    """What the call returns that waited in vain: clause 8 ends the Exchange, and says nothing of the call (R01, R34, R40)."""
    code = call.returned() if call.done else "still blocked"
    if what == "resp2":
        t.require(code != "VIP_SUCCESS", "REV1-5.3.2-03", "VipConnectAccept without FCVI_CONNECT_RESP2", code, "no success")
        return
    erratum = {"resp1": "R34", "disconnect": "R40"}[what]
    if what == "resp1" and code == "VIP_SUCCESS":
        t.report("REV1-5.3.2-02", "VipConnectRequest succeeded without FCVI_CONNECT_RESP1", code, "no success")
    elif code != "VIP_NOT_REACHABLE":
        t.report("REV1-8-03", f"{call.method} without an answer", code, "VIP_NOT_REACHABLE", erratum=erratum)


def _judge_time(t: Scenario, abts: Received, started: Received | int, row: str) -> None:
    """At FCVI_ULP_TIMEOUT of the device. One that nobody has declared may be another than the device was told."""
    begun = started if isinstance(started, int) else started.time_us
    if t.ulp_us is not None:
        since = None if isinstance(started, int) else started
        t.expect_time(abts, begun + t.ulp_us, row, "ABTS at FCVI_ULP_TIMEOUT", since=since)
        return
    first, last = begun + t.ulp_timeout_us - t.pixit.early_us, begun + t.ulp_timeout_us + t.pixit.late_us
    if abts.time_us < first or abts.earliest_us > last:
        raise Inconclusive(
            f"ABTS after {abts.time_us - begun} us: FCVI_ULP_TIMEOUT of the device is not the {t.ulp_timeout_us} us that it was "
            "told; declare it as ulp_timeout_ms in [pixit]"
        )


def _tester_aborts(t: Scenario) -> None:
    """The tester's own ABTS, for a setup that the application of the DUT has not answered."""
    wait = start_wait(t)
    setup = send_rqst(t)
    finish_wait(t, wait)
    t.tester.send_abts(setup.exchange)
    expect_end_of_abts(t, setup.exchange)
    t.tolerate("CONNECT_RESP1")
    connect_server(t)
    t.control("a further setup completed")


Waited = tuple[Exchange, "Received | int", str, Optional[Call]]


def _no_resp1(t: Scenario) -> Waited:
    setup = start_request(t)
    assert setup.rqst is not None
    return setup.exchange, setup.rqst, "REV1-8-01", setup.call


def _no_resp2(t: Scenario) -> Waited:
    wait = start_wait(t)
    setup = send_rqst(t)
    resp1 = start_accept(t, setup, finish_wait(t, wait))
    t.settle()
    if setup.call is not None and setup.call.done:
        t.report("REV1-5.3.2-03", "VipConnectAccept returned before FCVI_CONNECT_RESP2", "returned", "blocked", erratum="R01")
        setup.call = None
    return setup.exchange, resp1, "REV1-8-04", setup.call


def _no_disconnect_resp(t: Scenario) -> Waited:
    setup = connect(t)
    call = t.start("VipDisconnect", vi=setup.vi)
    rqst = t.expect("DISCONNECT_RQST", "FCVI-8.1-03", why="after VipDisconnect")
    return rqst.exchange, rqst, "REV1-8-01", call


def _no_response(t: Scenario) -> Waited:
    with_rdma(t)
    setup = connect(t)
    op = str(t.params["what"])
    if op == "rdma-read":
        post(t, setup.vi, op, register(t, 20), length=20, remote=(0x9000, 5))
        taken = take(t, setup, op, None)
    elif "of" in t.params:
        taken = _of_two(t, setup, int(t.params["of"]))
    else:
        originate(t, setup, pattern(20), op, remote=(0x9000, 5) if op == "rdma-write" else None)
        taken = take(t, setup, op, pattern(20))
    return taken.exchange, taken.last, "REV1-8-01", None


def _of_two(t: Scenario, setup: Setup, which: int) -> Taken:
    """One of two Sends that is not answered, though the other is. Who sends one at a time (R25) sends the second when the first is
    answered.
    """
    for seed in (1, 2):
        originate(t, setup, pattern(20, seed))
    first = take(t, setup, "send", pattern(20, 1))
    if not t.until(lambda: t.peek(["SEND_RQST"]) is not None, t.ulp_timeout_us // 10):
        if which == 0:
            return first
        respond(t, setup, first)
    elif which == 1:
        respond(t, setup, first)
    second = take(t, setup, "send", pattern(20, 2))
    if which == 0:
        respond(t, setup, second)
        good = [c for c in t.completions if c.vi == setup.vi and c.queue == "send" and c.good]
        t.require(not good, "FCVI-T06-0", "a Send completes by the response to another", len(good), "none")
        return first
    expect_good(t, setup.vi, "send", "FCVI-6.2.1-01")
    return second
