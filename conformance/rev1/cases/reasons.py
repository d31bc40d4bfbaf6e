"""Clause 5.7.6, Tables 9 and 10: reasons, sent and received."""

from __future__ import annotations

from typing import Any

from fcvi.engine.case import case
from fcvi.engine.upper_tester import Call

from conformance.fcvi.steps.connection import OTHER_DISCRIMINATOR
from conformance.rev1.steps.connection import (
    CLIENT, CONCURRENT, DUPLICATE, DUPLICATE_READ, NO_MATCH, NO_WAITING, REGISTRY, REJECT, SERVER, STATE, Scenario, TIMEOUT,
    check_reason, check_refusal, connect_client, connect_server, dut_host, finish_refused, finish_wait, net_address, one_frame,
    patience, send_resp1, send_resp2, send_rqst, start_accept, start_request, start_wait, variants,
)  # fmt: skip

_CODES = (REJECT, NO_MATCH, TIMEOUT, NO_WAITING, CONCURRENT, DUPLICATE_READ, DUPLICATE, 0x00, 0x08, 0x20, 0xFF)
_ELDER = OTHER_DISCRIMINATOR[::-1]  # as long, which is what each DUT takes
_RETURNS = {REJECT: "VIP_REJECT", NO_MATCH: "VIP_NO_MATCH", NO_WAITING: "VIP_NO_MATCH"}
_SENT: list[tuple[str, dict[str, Any]]] = [
    ("rejected", {"what": "rejected", "only": SERVER}),
    ("no-match", {"what": "no-match", "only": SERVER}),
    ("nobody-waits", {"what": "nobody", "only": SERVER}),
    ("told-of-a-timeout", {"what": "told", "only": SERVER}),
    ("late-answer", {"what": "late", "only": CLIENT}),
]


@case(
    REGISTRY,
    "R1.5.7.6.a",
    "Reasons of a refusal",
    clause="5.7.2, 5.7.6",
    requirements=["REV1-5.3-03", "REV1-5.7.2-09", *(f"REV1-5.7.6-0{n}" for n in range(3, 8)), "FCVI-4.2-33",
                  "FCVI-8.2-b2"],
    errata=["R05", "R08", "R24", "R28", "R37"],
    tags=["setup", "error"],
    applies="client or server",
    variants=variants(choices=_SENT)
    + variants(classes=(2,), choices=[(f"class2/{n}", c) for n, c in (_SENT[0], _SENT[4])])
    + variants(roles=(CLIENT,), choices=[(f"received-{code:02x}", {"what": "received", "code": code}) for code in _CODES]),
)  # fmt: skip
def reasons(t: Scenario) -> None:
    """VipConnectReject gives 01h, no match 02h or 04h, a client that has timed out 03h unless it aborts; the word is laid out
    as Table 9 says. Every code that comes is a refusal, a reserved one as well.
    """
    what = t.params["what"]
    {"rejected": _rejected, "no-match": _no_match, "nobody": _nobody, "told": _told, "late": _late,
     "received": _received}[str(what)](t)
    connect_client(t) if t.params["role"] == CLIENT else connect_server(t)
    t.control("a further setup completed")


def _rejected(t: Scenario) -> None:
    _reject(t, start_wait(t))


def _reject(t: Scenario, wait: Call, **fields: Any) -> None:
    """The call that waits gets a request with these fields, and the application refuses it."""
    setup = send_rqst(t, **fields)
    conn = finish_wait(t, wait)
    code = t.call("VipConnectReject", conn=conn).returned()
    t.require(code == "VIP_SUCCESS", "REV1-5.7.6-04", f"VipConnectReject returned {code}", code, "VIP_SUCCESS")
    resp1 = t.expect("CONNECT_RESP1", "REV1-5.7.6-04", exchange=setup.exchange, why="after VipConnectReject")
    check_refusal(t, resp1, setup, REJECT, "REV1-5.7.6-04")
    send_resp2(t, setup)


def _no_match(t: Scenario) -> None:
    """One Connection Point waits for some time, and one that was there before has no end. When the first has ended nothing matches
    it any more, and the other is there yet.
    """
    elder = start_wait(t, discriminator=_ELDER)
    wait = start_wait(t, discriminator=OTHER_DISCRIMINATOR, timeout_us=t.ulp_timeout_us // 2)
    setup = send_rqst(t)
    resp1 = t.expect("CONNECT_RESP1", "REV1-5.7.6-05", exchange=setup.exchange, why="where another Connection Point waits")
    check_refusal(t, resp1, setup, NO_MATCH, "REV1-5.7.6-05", {NO_WAITING: "R24"})
    send_resp2(t, setup)
    t.finish(wait, "FCVI-8.2-b2", returns="VIP_TIMEOUT")
    late = send_rqst(t, VI_REM_ADDR=net_address(dut_host(t), OTHER_DISCRIMINATOR))
    resp1 = t.expect("CONNECT_RESP1", "REV1-5.7.6-05", exchange=late.exchange, why="where VipConnectWait has ended")
    check_refusal(t, resp1, late, NO_MATCH, "REV1-5.7.6-05", {NO_WAITING: "R24"})
    send_resp2(t, late)
    t.require(not elder.done, "FCVI-4.2-33", "VipConnectWait ended with the time of another", "returned", "blocked")
    if not elder.done:
        _reject(t, elder, VI_REM_ADDR=net_address(dut_host(t), _ELDER))


def _nobody(t: Scenario) -> None:
    setup = send_rqst(t)
    resp1 = t.expect("CONNECT_RESP1", "REV1-5.7.6-05", exchange=setup.exchange, why="where no Connection Point waits")
    check_refusal(t, resp1, setup, NO_WAITING, "REV1-5.7.6-05", {NO_MATCH: "R24"})
    send_resp2(t, setup, reason=resp1.dh("REASON"))


def _told(t: Scenario) -> None:
    """RESP2 of a client that has timed out: the server is not connected."""
    wait = start_wait(t)
    setup = send_rqst(t)
    start_accept(t, setup, finish_wait(t, wait))
    send_resp2(t, setup, reason=TIMEOUT)
    assert setup.call is not None
    code = t.finish(setup.call, "REV1-5.7.2-09")
    t.require(code != "VIP_SUCCESS", "REV1-5.7.2-09", "VipConnectAccept after a RESP2 with 03h", code, "no success")


def _late(t: Scenario) -> None:
    """RESP1 comes when VipConnectRequest has timed out: RESP2 with 03h, or ABTS (R28)."""
    setup = start_request(t, timeout_us=t.ulp_timeout_us // 10)
    assert setup.call is not None
    t.finish(setup.call, "FCVI-8.2-b2", returns="VIP_TIMEOUT")
    if t.peek(["ABTS"], setup.exchange) is None:
        send_resp1(t, setup)
    took = t.owed(lambda: t.peek(["CONNECT_RESP2", "ABTS"], setup.exchange) is not None)
    t.require(took, "REV1-5.7.6-06", "the Exchange of a request that has timed out does not end", "nothing", "RESP2 or ABTS")
    end = t.peek(["CONNECT_RESP2", "ABTS"], setup.exchange)
    if end is None:
        return
    end.taken = True
    if end.kind == "ABTS":
        t.tester.send_ba_acc(end)
        t.settle()
        return
    one_frame(t, end, "REV1-6.9-01", ends=True)
    check_reason(t, end)
    if t.equal(end, "CONN_ERR", 1, "REV1-5.7.6-06"):
        t.equal(end, "REASON", TIMEOUT, "REV1-5.7.6-06")


def _received(t: Scenario) -> None:
    code = int(t.params["code"])
    setup = start_request(t)
    assert setup.call is not None
    send_resp1(t, setup, reason=code)
    row = "REV1-5.7.2-09" if REJECT <= code <= DUPLICATE else "REV1-5.7.6-07"  # CONN_ERR refuses; so does a reserved code
    returned = t.finish(setup.call, row, within_us=patience(t))
    t.require(returned != "VIP_SUCCESS", row, f"VipConnectRequest after a refusal with {code:02X}h", returned, "no success")
    seen = t.call("VipQueryVi", vi=setup.vi).text("State")
    t.require(seen != STATE["connected"], row, f"the state after a refusal with {code:02X}h", seen, "not Connected")
    if code in _RETURNS:  # a rejection takes the VI to Idle (VI-ARCH 5.2)
        t.require(seen == STATE["idle"], "REV1-5.7.6-07", f"the state after a refusal with {code:02X}h", seen, STATE["idle"])
    if code in _RETURNS:
        row = "REV1-5.7.2-09" if code == REJECT else "REV1-5.7.6-05"
        t.require(returned == _RETURNS[code], row, f"VipConnectRequest after {code:02X}h", returned, _RETURNS[code])
    finish_refused(t, setup, code)
