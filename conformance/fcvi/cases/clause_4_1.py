"""Clauses 3.4 and 4.1: fields without meaning, and how much goes on at once between two ports."""

from __future__ import annotations

from typing import Any

from fcvi.fc import codec, els
from fcvi.fc.build import RawFrame
from fcvi.engine.case import Variant, case
from fcvi.fc.received import Exchange
from fcvi.fc.scenario import Scenario

from .clause_7_7_1 import ROLES, connect_as
from conformance.fcvi.steps.connection import CLIENT, REGISTRY, check_state, connect_dut_client, connect_dut_server
from conformance.fcvi.steps.neighbours import UNHURRIED, expect_accept
from conformance.fcvi.steps.messages import post, register
from conformance.fcvi.steps.traffic import both_ways

PART_OF_REPORT = 3

_SEQUENCES = 255  # active at once between two ports (4.1)
_POSTED = 300
_PER_VI = 50


def _messages(t: Scenario) -> set[tuple[Any, Any]]:
    """Of the Messages that came: each may come in several IUs (5.2.2)."""
    return {(r.dh("FCVI_HANDLE"), r.dh("FCVI_MSG_ID")) for r in t.tester.inbox if r.kind == "SEND_RQST"}


@case(
    REGISTRY,
    "4.1.2",
    "Active Sequences between two ports",
    clause="4.1",
    requirements=["FCVI-4.1-02", "FCVI-4.1-03"],
    errata=["E105"],
    tags=["message", "load"],
    applies=f"(client or server) and send and unreliable_delivery and class2 and max_vis >= {_POSTED // _PER_VI}",
    variants=[Variant(role, {"role": role}, pics, {"class": 2, **UNHURRIED}) for role, pics, _ in ROLES],
)
def many_sequences(t: Scenario) -> None:
    """The tester acknowledges nothing while 300 Sends are posted on six VIs: at most 255 Sequences are active.

    Meanwhile the DUT answers an ADISC (a should). When the frames are acknowledged all Messages come.
    """
    region = register(t, 8)
    setups = [connect_as(t) for _ in range(_POSTED // _PER_VI)]
    held: list[tuple[Any, Exchange]] = []
    usual = t.tester.acknowledge

    def hold(view: codec.Frame, exchange: Exchange) -> RawFrame | None:
        if view.kind != "iu":
            return usual(view, exchange)
        held.append((view, exchange))
        return None

    t.tester.acknowledge = hold
    for setup in setups:
        for _ in range(_PER_VI):
            post(t, setup.vi, "send", region)
    t.owed(lambda: bool(held))
    t.wait(t.r_a_tov_us // 20)
    active = len({(e.ox_id, v.get("FC", "SEQ_ID")) for v, e in held})
    t.require(
        active <= _SEQUENCES, "FCVI-4.1-02", "too many active Sequences", active, f"at most {_SEQUENCES}",
        erratum="E105" if active == _SEQUENCES + 1 else None,
    )  # fmt: skip
    t.require(active > 0, "FCVI-6.2.1-01", "no Message though Sends were posted", active, "some")
    names = t.tester.services.ports[t.tester.n_port_id]
    exchange = t.tester.send_els(els.ADISC, els.adisc(names, t.tester.n_port_id))
    t.owed(lambda: t.peek(["LS_ACC", "LS_RJT"], exchange) is not None)
    refused = t.peek(["LS_RJT"], exchange)  # outside a loop nothing asks for ADISC (7.7)
    t.require(refused is not None or t.peek(["LS_ACC"], exchange) is not None, "FCVI-4.1-03", "ADISC is not answered under load",
              "nothing", "LS_ACC")  # fmt: skip
    t.tester.acknowledge = usual
    for view, of in held:
        answer = usual(view, of)
        assert answer is not None
        t.tester.send_frame(answer)
    t.owed(lambda: len(_messages(t)) == _POSTED)
    t.settle()
    come = _messages(t)
    for received in t.tester.inbox:
        received.taken |= received.kind == "SEND_RQST"
    t.require(len(come) == _POSTED, "FCVI-6.2.1-01", "not every Message came", len(come), _POSTED)
    if refused is not None:
        refused.taken = True
    else:
        expect_accept(t, exchange, "FCVI-4.1-04", "to ADISC")
    t.control("all Messages came in the end")


@case(
    REGISTRY,
    "3.4",
    "Fields that have no meaning are not looked at",
    clause="3.4",
    requirements=["FCVI-3.4-04", "FCVI-6.9.1-01", "FCVI-6.10.1-01"],
    errata=["E19", "E112"],
    tags=["setup", "fields"],
    applies="client or server",
    variants=[
        Variant(f"{role}/{name}", {"role": role, "fc": fc}, pics)
        for role, pics, _ in ROLES
        for name, fc in (
            ("parameter", {"Parameter": 0xFFFFFFFC, "Relative_Offset_Present": 0}),
            ("priority", {"CS_CTL_OTHER": 0x7F, "PREF": 1}),
        )
    ],
)
def meaningless_fields(t: Scenario) -> None:
    """The Parameter field of a frame without Relative Offset and payload, and CS_CTL preference: a setup goes on as ever.

    Every IU of the tester that has no payload carries ones there.
    """
    t.tester.meaningless = t.params["fc"]
    setup = connect_dut_client(t) if t.params["role"] == CLIENT else connect_dut_server(t)
    check_state(t, setup.vi, "connected", "FCVI-3.4-04")
    if t.pics["send"]:
        both_ways(t, setup, "FCVI-3.4-04")
    t.control("the Connection Setup completed")
