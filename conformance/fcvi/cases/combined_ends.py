"""Disconnects and retried setups in every legal combination of four choices: the covering rows of legality.py."""

from __future__ import annotations

from fcvi.engine.case import Variant, case
from fcvi.fc.scenario import Scenario

from conformance.covering import Row, covering_rows
from conformance.fcvi.legality import BA, CLASS, DISCONNECTS, LEVEL, LOGIN, LOST, RETRIES, ROLE, TOPOLOGY, TRAFFIC, WHO
from conformance.fcvi.steps.connection import (
    CLIENT,
    REGISTRY,
    Setup,
    accept_request,
    accept_retry,
    check_state,
    connect,
    expect_abts,
    expect_retry,
    finish_accept,
    finish_wait,
    send_resp1,
    send_resp3,
    send_rqst,
    start_accept,
    start_request,
    start_wait,
    tester_abts,
)
from conformance.fcvi.steps.messages import LEVELS
from conformance.fcvi.steps.neighbours import TOPOLOGIES
from conformance.fcvi.steps.traffic import both_ways

from .annex_d_2 import crossing, dut_first, tester_first
from .combined import LEVEL_PICS, log_in, needed_by

_ENDS = {"dut": dut_first, "tester": tester_first, "both": crossing}


def variant_of(row: Row, words: list[str], params: dict[str, str], pics: str = "") -> Variant:
    """The variant of a row: its role, class, topology, level and login, and what the case has beside them."""
    names = [row[ROLE], *words, row[LEVEL], f"class{row[CLASS]}", row[TOPOLOGY], row[LOGIN]]
    config = {**TOPOLOGIES[row[TOPOLOGY]], "class": int(row[CLASS]), "login": row[LOGIN]}
    needs = [row[ROLE].removeprefix("dut-"), LEVEL_PICS[row[LEVEL]], f"class{row[CLASS]}", needed_by(row), pics]
    chosen = {"role": row[ROLE], "attributes": {"FCVI_RELIABILITY_LVL": LEVELS[row[LEVEL]]}, **params}
    return Variant("/".join(names), chosen, " and ".join(e for e in needs if e), config)


def _disconnect_row(row: Row) -> Variant:
    traffic = row[TRAFFIC] == "with"
    words = [f"{row[WHO]}-first" if row[WHO] != "both" else "crossing"] + ["messages"] * traffic
    return variant_of(row, words, {"first": row[WHO], "messages": row[TRAFFIC]}, "send" if traffic else "")


@case(
    REGISTRY,
    "5.3.5.combined",
    "Disconnects in every legal combination of four choices",
    clause="5.3.5, D.2",
    requirements=["FCVI-8.1-03", "FCVI-8.2-e1", "FCVI-6.13.1-01"],
    errata=["E03", "E68"],
    tags=["disconnect", "link"],
    applies="client or server",
    variants=[_disconnect_row(row) for row in covering_rows(DISCONNECTS)],
)
def disconnects_combined(t: Scenario) -> None:
    """A connection ends, and the VI is Idle when both sides have let go.

    Role, who asks first, Reliability Level, class, topology, login and Messages before: every legal combination of any four
    of them is in one of the variants.
    """
    log_in(t)
    setup = connect(t)
    if t.params["messages"] == "with":
        both_ways(t, setup, "FCVI-6.2.1-01")
    _ENDS[t.params["first"]](t, setup)
    check_state(t, setup.vi, "idle", "FCVI-8.2-e1")


# ---- retried setups ----


def _retry_row(row: Row) -> Variant:
    words = [f"{row[LOST]}-lost"] + ["no-ba-acc"] * (row[BA] == "none")
    return variant_of(row, words, {"lost": row[LOST], "ba": row[BA]})


@case(
    REGISTRY,
    "8.5.4.combined",
    "Retried setups in every legal combination of four choices",
    clause="8.5.4, C.5.7.2, C.5.8",
    requirements=["FCVI-8.5.3-a", "FCVI-8.5.4-01", "FCVI-8.5.4-a1", "FCVI-8.5.4-b1", "FCVI-8.2-c1"],
    errata=["E62", "E72", "E82", "E153"],
    tags=["setup", "loss", "retry", "timing"],
    applies="client or server",
    variants=[_retry_row(row) for row in covering_rows(RETRIES)],
)
def retries_combined(t: Scenario) -> None:
    """A setup is lost, aborted and retried, and the retry connects.

    Role, what is lost, whether the tester answers the ABTS, class, topology, Reliability Level and login: every legal
    combination of any four of them is in one of the variants.
    """
    log_in(t)
    retry = _retried_by_the_dut(t) if t.params["role"] == CLIENT else _retried_by_the_tester(t)
    check_state(t, retry.vi, "connected", "FCVI-8.2-c1" if t.params["role"] == CLIENT else "FCVI-8.5.4-b1")
    t.control("the retry connected")


def _retried_by_the_dut(t: Scenario) -> Setup:
    first = start_request(t)
    assert first.rqst is not None
    if t.params["lost"] == "request":
        t.lose(first.rqst)
    else:
        t.tester.link.drop("tester", "CONNECT_RESP1")
        send_resp1(t, first)
    expect_abts(t, first.exchange, first.rqst, "FCVI-8.5.3-a", accept=t.params["ba"] == "BA_ACC")
    retry = expect_retry(t, first)  # rule C-3b: BA_ACC may be awaited for so long
    accept_request(t, retry)
    send_resp3(t, retry)
    t.settle()
    return retry


def _retried_by_the_tester(t: Scenario) -> Setup:
    if t.params["lost"] == "request":
        t.step("the tester's first FCVI_CONNECT_RQST never arrived; its ABTS does")
        exchange = t.tester.open_exchange()
        tester_abts(t, exchange)
        lost = Setup(str(t.params["role"]), -1, exchange, 1, tester_handle=0x00C0FFEE)
        wait = start_wait(t)
        retry = send_rqst(t, retry_of=lost)
        start_accept(t, retry, finish_wait(t, wait))
    else:
        wait = start_wait(t)
        first = send_rqst(t)
        t.lose(start_accept(t, first, finish_wait(t, wait)))
        t.wait(t.r_a_tov_us)
        tester_abts(t, first.exchange)
        retry = send_rqst(t, retry_of=first)
        retry.vi, retry.call = first.vi, first.call
        retry.dut_handle = accept_retry(t, first, retry).conn_int("FCVI_RESP_HANDLE")
    finish_accept(t, retry)
    return retry
