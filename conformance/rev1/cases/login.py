"""Clauses 4.1 and 5.6: nothing of FC-VI without a login, which is FC-PH's."""

from __future__ import annotations

from fcvi.engine.case import case
from fcvi.engine.scenario import Inconclusive
from fcvi.fc import els

from conformance.fcvi.steps.neighbours import check_service_parameters, expect_accept
from conformance.rev1.steps.connection import REGISTRY, Scenario, connect, variants
from conformance.rev1.steps.messages import exchange_a_send, pattern, post, register

_FC_VI = (
    "CONNECT_RQST", "CONNECT_RESP1", "CONNECT_RESP2", "DISCONNECT_RQST", "DISCONNECT_RESP", "SEND_RQST", "SEND_RESP", "WRITE_RQST",
    "WRITE_RESP", "READ_RQST", "READ_RESP",
)  # fmt: skip


@case(
    REGISTRY,
    "R1.4.1.a",
    "Nothing of FC-VI without a login",
    clause="4.1, 5.6",
    requirements=["FCVI-5.8.1-01", "FCVI-4.1-04"],
    errata=["R31"],
    tags=["login", "link", "setup"],
    applies="(client or server) and send and max_vis >= 2 and explicit_login",
    variants=variants(config={"login": "explicit"}, choices=[
        ("dut-logs-out", {"by": "dut"}), ("tester-logs-out", {"by": "tester"}),
        ("class2/tester-logs-out", {"by": "tester", "applies": "class2", "config": {"class": 2}})]),
)  # fmt: skip
def login_first(t: Scenario) -> None:
    """After a logout by either side the DUT sends no frame of FC-VI before a new login (FC-PH), and a setup succeeds after it.
    Whether the Connections of before are over the draft does not say (R31). A PLOGI of the DUT tells of its port.
    """
    setup = connect(t)
    for plogi in [received for received in t.tester.inbox if received.kind == "PLOGI"]:
        check_service_parameters(t, plogi)
    exchange_a_send(t, setup)
    t.control("Messages passed after the first login")
    after = _log_out(t, str(t.params["by"]))
    t.tolerate("SEND_RQST", "DISCONNECT_RQST", "ABTS")
    post(t, setup.vi, "send", register(t, 24, data=pattern(24)))
    t.wait(t.ulp_timeout_us // 10)
    _judge(t, after)
    connect(t)
    _judge(t, after)
    t.control("after a new login a further setup completed")


def _log_out(t: Scenario, by: str) -> int:
    """The frame that ends the login: the DUT's LOGO, or its LS_ACC to the tester's."""
    if by == "dut":
        t.link_event("logo")
        if not t.owed(lambda: t.peek(["LOGO"]) is not None):
            raise Inconclusive("the control plane of the DUT makes no logout")
        logo = t.peek(["LOGO"])
        assert logo is not None
        logo.taken = True
        return logo.numbers[0]
    port = t.tester.n_port_id
    exchange = t.tester.send_els(els.LOGO, els.logo(t.tester.services.ports[port], port))
    return expect_accept(t, exchange, "FCVI-4.1-04", "to LOGO").numbers[0]


def _judge(t: Scenario, after: int) -> None:
    """What came since the logout: a PLOGI of either side, and the answer to it, before the first frame of FC-VI."""
    for received in t.tester.inbox:
        if received.numbers[0] <= after or received.kind not in ("PLOGI", "LS_ACC", *_FC_VI):
            continue
        if received.kind in ("PLOGI", "LS_ACC"):
            return
        t.report("FCVI-5.8.1-01", f"{received.kind} after a logout, without a login", str(received), "PLOGI first", at=received)
        return
