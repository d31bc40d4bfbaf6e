"""Setups that fail because the request is lost, and its retry with it (8.5.3, 8.5.4)."""

from __future__ import annotations

from fcvi.fc.scenario import Scenario

from .connection import Setup, expect_abts, expect_retry, start_request


def lose_request(t: Scenario, setup: Setup) -> None:
    """The CONNECT_RQST does not arrive, and the DUT aborts its Exchange after FCVI_ULP_TIMEOUT (8.5.3 a)."""
    assert setup.rqst is not None
    t.lose(setup.rqst)
    expect_abts(t, setup.exchange, setup.rqst, "FCVI-8.5.3-a")


def lose_request_and_retry(t: Scenario) -> tuple[Setup, Setup]:
    """A VipConnectRequest of the DUT whose CONNECT_RQST is lost, and then its one retry too (8.5.4 a)."""
    first = start_request(t)
    lose_request(t, first)
    retry = expect_retry(t, first)
    lose_request(t, retry)
    return first, retry
