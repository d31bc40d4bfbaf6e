"""Annex B rule 9: a Message Response does not come (8.3, 8.4.1 a, 8.4.2 a)."""

from __future__ import annotations

from fcvi.engine.case import case
from fcvi.fc.scenario import Scenario

from conformance.fcvi.steps.message_checks import answer
from .annex_b_rules_1_3 import RELIABLE
from .clause_6_requests import originate
from conformance.fcvi.steps.connection import REGISTRY
from conformance.fcvi.steps.messages import (
    expect_bad,
    expect_connected,
    expect_error,
    expect_good,
    open_connection,
    post,
    register,
    variants,
)

PART_OF_REPORT = 11

_VARIANTS = variants(levels=("reliable-reception",), ops=("send", "rdma-write"), classes=(3, 2)) + variants(
    levels=RELIABLE, ops=("rdma-read",), classes=(3, 2), choices=[("rdma-read", {})]
)


@case(
    REGISTRY,
    "B.R9",
    "Rule 9: a response does not come",
    clause="B.2.6.2 rule 9",
    requirements=[
        "FCVI-B-R9-a", "FCVI-B-R9-b", "FCVI-B.2.6.2-01", "FCVI-8.1-01", "FCVI-8.3-01", "FCVI-8.4.1-a", "FCVI-8.4.2-a",
        "FCVI-8.4.2-e",
    ],  # fmt: skip
    errata=["E96"],
    tags=["message", "timing"],
    applies="client or server",
    variants=_VARIANTS,
)
def response_missing(t: Scenario) -> None:
    """FCVI_ULP_TIMEOUT after Sequence Initiative was passed: ABTS, the VI in Error and the Descriptor in error.

    FCVI_ULP_TIMEOUT is R_A_TOV. The Message before, which was answered, had completed; nothing is sent afterwards.
    """
    setup = open_connection(t)
    taken, _ = originate(t, setup, 1, 64)
    answer(t, setup, taken)
    expect_good(t, setup.vi, "send", "FCVI-6.3.1-01")
    t.control("an answered Message completed")
    taken, _ = originate(t, setup, 2, 64)
    limit = t.r_a_tov_us + 3 * t.pixit.late_us
    abts = t.expect("ABTS", "FCVI-8.4.2-a", exchange=taken.exchange, within_us=limit, why="without a response")
    t.expect_time(abts, taken.last.time_us + t.r_a_tov_us, "FCVI-8.3-01", "ABTS after FCVI_ULP_TIMEOUT", since=taken.last)
    t.tester.send_ba_acc(abts)
    t.settle()
    expect_error(t, setup, "FCVI-8.4.2-e", "without a response")
    expect_bad(t, setup.vi, "send", "FCVI-8.4.1-a")
    post(t, setup.vi, "send", register(t, 8))
    t.expect_nothing(["SEND_RQST"], t.r_a_tov_us // 10, "FCVI-8.1-01", "from a VI in Error")


@case(
    REGISTRY,
    "8.3.response",
    "A response shortly before FCVI_ULP_TIMEOUT",
    clause="8.3",
    requirements=["FCVI-8.3-01"],
    tags=["message", "timing"],
    applies="client or server",
    variants=_VARIANTS,
)
def response_in_time(t: Scenario) -> None:
    """A Message Response that comes just within FCVI_ULP_TIMEOUT completes the Message; the VI stays Connected."""
    setup = open_connection(t)
    for number in (1, 2):
        taken, _ = originate(t, setup, number, 64)
        t.wait(taken.last.began_us + t.r_a_tov_us - 2 * t.pixit.late_us - t.now_us)
        abts = t.peek(["ABTS"], taken.exchange)
        t.demand(abts is None, "FCVI-8.3-01", "the DUT gave up before FCVI_ULP_TIMEOUT", "ABTS", "patience", abts)
        answer(t, setup, taken)
        expect_good(t, setup.vi, "send", "FCVI-8.3-01")
        expect_connected(t, setup, "FCVI-8.3-01", "although the response came in time")
    t.control("late responses completed their Messages")
