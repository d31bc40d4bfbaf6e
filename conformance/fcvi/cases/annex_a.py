"""Annex A: the seven cases of Table A.1, with the DUT as Peer B, the one with the lower Port_Name.

Cases 2 and 3 arise on a Fabric that swaps the two IUs of Peer A: its FCVI_CONNECT_RESP1, sent first, and its own
FCVI_CONNECT_RQST.
"""

from __future__ import annotations

from typing import Any, Callable

from fcvi.fc.build import UNASSIGNED
from fcvi.engine.case import Body, Variant, case
from fcvi.fc.scenario import Scenario

from .clause_5_3_3 import be_refused
from conformance.fcvi.steps.connection import (
    OTHER_DISCRIMINATOR,
    REGISTRY,
    accept_abts,
    check_resp2,
    check_state,
    create_vi,
    dut_address,
    expect_retry,
    send_resp1,
    send_resp3,
    take_resp2,
    tester_address,
)
from conformance.fcvi.steps.peers import (
    CONCURRENT,
    CONNECT_REJECT,
    PROTOCOL_ERROR,
    Crossing,
    accept_own,
    connected,
    control_peer,
    cross,
    expect_peer_accept,
    expect_peer_refusal,
    finish_other,
    finish_own,
    not_connected,
    refuse_own,
    send_peer_rqst,
    start_peer,
)

PART_OF_REPORT = 2

_CLASSES: tuple[tuple[str, str, dict[str, Any]], ...] = (("class3", "class3", {}), ("class2", "class2", {"class": 2}))
_FABRICS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("in-order", "", {}),
    ("out-of-order", "out_of_order_fabric", {"fabric": "out-of-order", "topology": "fabric"}),
)
_LOGINS = [Variant("explicit-login", {}, "explicit_login", {"tester_name": "above", "login": "explicit"})]


def _variants(params: dict[str, object], prefix: str = "") -> list[Variant]:
    """Class of service by Fabric. The tester's Port_Name is above the DUT's: it is Peer A."""
    return [
        Variant(
            f"{prefix}{a}/{b}", {**params, "swapped": b == "out-of-order"}, " and ".join(e for e in (expr_a, expr_b) if e),
            {"tester_name": "above", **config_a, **config_b},
        )  # fmt: skip
        for a, expr_a, config_a in _CLASSES
        for b, expr_b, config_b in _FABRICS
    ]


def _declare(
    number: int, title: str, requirements: list[str], errata: list[str], variants: list[Variant]
) -> Callable[[Body], Body]:
    common = [
        "FCVI-5.3.4-01", "FCVI-5.3.4-02", "FCVI-5.3.4-07", "FCVI-5.3.4-b", "FCVI-A.1-01", "FCVI-A.1-02", "FCVI-A.1-03",
        f"FCVI-T02-{number}", f"FCVI-TA1-{number}",
    ]  # fmt: skip
    return case(
        REGISTRY, f"A.{number}", title, clause=f"A.{number + 1}" if number < 7 else "Table A.1",
        requirements=common + requirements, errata=errata, tags=["setup", "peer", "arbitration"],
        applies="peer_to_peer", variants=variants,
    )  # fmt: skip


def _answer(t: Scenario, own_reason: int) -> Crossing:
    """The requests cross; the DUT waits for the tester's answer and gets this refusal (b of 5.3.4)."""
    both = cross(t)
    t.expect_nothing(
        ["CONNECT_RESP1"], t.r_a_tov_us // 10, "FCVI-5.3.4-b", "before the higher Peer's FCVI_CONNECT_RESP1",
        exchange=both.other.exchange,
    )  # fmt: skip
    handle = send_resp1(t, both.own, reason=own_reason, handle=UNASSIGNED)
    finish_own(t, both.own, handle)
    return both


@_declare(
    1, "Annex A case 1: Peer A accepts",
    ["FCVI-5.3.4-04", "FCVI-5.3.4-b2", "FCVI-A.2-01", "FCVI-A.2-02", "FCVI-5.9.7.2.1-05", "FCVI-T12-05h"], ["E49"],
    _variants({}) + _LOGINS,
)  # fmt: skip
def case_1(t: Scenario) -> None:
    """Peer A's accept meets the DUT's wait: the DUT refuses A's request with 05h and completes its own setup."""
    both = cross(t)
    t.expect_nothing(
        ["CONNECT_RESP1"], t.r_a_tov_us // 10, "FCVI-5.3.4-b", "before the higher Peer's FCVI_CONNECT_RESP1",
        exchange=both.other.exchange,
    )  # fmt: skip
    accept_own(t, both.own)
    expect_peer_refusal(t, both.other, CONCURRENT, "FCVI-T02-1")
    finish_other(t, both.other, refused=True)
    connected(t, both.own, "FCVI-5.3.4-04")
    t.control("the DUT's setup completed, and only that")


def _nobody_there(t: Scenario, reason: int, requirement: str) -> None:
    """Peer A answered before it asked. On an Out-of-Order Fabric its request comes first all the same."""
    own = start_peer(t)
    if t.params["swapped"]:
        t.tester.link.reorder("tester", "CONNECT_RESP1")
    handle = send_resp1(t, own, reason=reason, handle=UNASSIGNED)
    other = send_peer_rqst(t)
    other.vi = own.vi
    resp2 = take_resp2(t, own, "after FCVI_CONNECT_RESP1")
    check_resp2(t, resp2, own, handle)
    send_resp3(t, own)
    expect_peer_accept(t, other, requirement)
    finish_other(t, other)
    connected(t, own, requirement)
    t.control("the setup that Peer A asked for completed")


@_declare(
    2, "Annex A case 2: Peer A finds no Discriminator match",
    ["FCVI-5.3.4-b1", "FCVI-A.3-01", "FCVI-A.3-02"], ["E48"], _variants({}),
)  # fmt: skip
def case_2(t: Scenario) -> None:
    """Peer A said 01h before its own request, which overtakes that: the DUT accepts A's request and is Connected."""
    _nobody_there(t, 0x01, "FCVI-T02-2")


@_declare(
    3, "Annex A case 3: Peer A has nobody waiting",
    ["FCVI-5.3.4-b1", "FCVI-A.4-01", "FCVI-A.4-02"], ["E48"], _variants({}),
)  # fmt: skip
def case_3(t: Scenario) -> None:
    """Peer A said 03h before its own request, which overtakes that: the DUT accepts A's request and is Connected."""
    _nobody_there(t, 0x03, "FCVI-T02-3")


def _neither(t: Scenario, reason: int, code: int, requirement: str, tolerated: dict[int, str]) -> None:
    """A refuses with this reason, the DUT with that code: nobody is connected."""
    both = _answer(t, reason)
    expect_peer_refusal(t, both.other, code, requirement, tolerated)
    finish_other(t, both.other, refused=True)
    not_connected(t, both.own, "FCVI-5.3.4-02")
    if reason == 0x22:
        accept_abts(t, both.own)
        t.settle()
    if reason == 0x22 and t.peek(["CONNECT_RQST"]) is not None:  # E53: one retry, or none
        retry = expect_retry(t, both.own)
        refuse_own(t, retry, CONNECT_REJECT)
        not_connected(t, retry, "FCVI-5.3.4-02")
    control_peer(t)


@_declare(
    4, "Annex A case 4: Peer A takes itself for the lower one",
    ["FCVI-5.3.4-b3", "FCVI-A.5-01", "FCVI-A.5-02", "FCVI-5.9.7.2.2-02", "FCVI-T12-21h"], ["E02"], _variants({}),
)  # fmt: skip
def case_4(t: Scenario) -> None:
    """05h from the higher Peer is a protocol error: the DUT refuses with 21h (04h as A.5 says, E02); no connection."""
    _neither(t, CONCURRENT, PROTOCOL_ERROR, "FCVI-T02-4", {CONNECT_REJECT: "E02"})


@_declare(
    5, "Annex A case 5: Peer A has a transport error",
    ["FCVI-5.3.4-b4", "FCVI-A.6-01", "FCVI-A.6-02", "FCVI-T12-22h"], ["E26", "E53"], _variants({}),
)  # fmt: skip
def case_5(t: Scenario) -> None:
    """22h from the higher Peer: the DUT refuses with 04h; no connection, unless a retry of the DUT's makes one."""
    _neither(t, 0x22, CONNECT_REJECT, "FCVI-T02-5", {})


@_declare(
    6, "Annex A case 6: Peer A reports a protocol error",
    ["FCVI-5.3.4-b4", "FCVI-A.7-01", "FCVI-A.7-02"], [], _variants({}),
)  # fmt: skip
def case_6(t: Scenario) -> None:
    """21h from the higher Peer: the DUT refuses with 04h; no connection."""
    _neither(t, PROTOCOL_ERROR, CONNECT_REJECT, "FCVI-T02-6", {})


_OTHER = (0x00, 0x02, 0x04, 0x06, 0x1F, 0x20, 0x23, 0x3F, 0x40, 0x5F, 0x60, 0x6F, 0x70, 0xEF, 0xF0, 0xFF)


@_declare(
    7, "Annex A case 7: Peer A gives any other answer",
    ["FCVI-5.3.4-b4", "FCVI-A.7-03"], ["E01", "E11"],
    _variants({"reason": 0x04}) + [
        Variant(f"reason-{code:02x}", {"reason": code}, "", {"tester_name": "above"}) for code in _OTHER
    ],
)  # fmt: skip
def case_7(t: Scenario) -> None:
    """Every refusal that Table 2 does not name: the DUT refuses with 04h (21h as Table A.1 says, E01); no connection."""
    _neither(t, int(t.params["reason"]), CONNECT_REJECT, "FCVI-T02-7", {PROTOCOL_ERROR: "E01"})


@case(
    REGISTRY,
    "A.1.peer-a",
    "Table A.1 from the other side: the DUT as Peer A",
    clause="A.1",
    requirements=["FCVI-A.1-02", "FCVI-5.3.3-01"],
    errata=["E48", "E78"],
    tags=["setup", "peer", "arbitration"],
    applies="peer_to_peer",
    variants=[
        Variant(f"{how}/{name}", {"how": how}, expression, {"tester_name": "below", **config})
        for how in ("01", "03")
        for name, expression, config in _CLASSES
    ],
)
def as_peer_a(t: Scenario) -> None:
    """The DUT answers 01h or 03h before its application asks; then its own request is accepted and connects.

    Rows 2 and 3 of the table as Peer A lives them: its answer "not found" must not spoil the setup that follows.
    """
    if t.params["how"] == "01":  # somebody waits on a different Connectionpoint
        bystander = create_vi(t)
        t.call(
            "VipConnectPeerRequest", vi=bystander, LocalAddr=dut_address(t, OTHER_DISCRIMINATOR),
            RemoteAddr=tester_address(t, OTHER_DISCRIMINATOR), Timeout=None,
        )  # fmt: skip
        t.expect("CONNECT_RQST", "FCVI-5.3.1-01", why="after VipConnectPeerRequest")
    be_refused(t, send_peer_rqst(t))
    own = start_peer(t)
    accept_own(t, own)
    connected(t, own, "FCVI-A.1-02")
    if t.params["how"] == "01":
        check_state(t, bystander, "pending", "FCVI-4.2-36")
        t.tolerate("ABTS", "CONNECT_RQST")
    t.control("the DUT's own request connected the Peers")
