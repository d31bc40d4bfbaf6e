"""Tests what a conforming device may do with frames on a connection that is over: the cases that send them fail none (E45, E84)."""

from __future__ import annotations

from typing import Any

import pytest

from fcvi.engine.results import Verdict
from fcvi.fc import codec
from fcvi.fc.received import kind_of

from .faults_ends import after, answers, over
from .faulty import Fault, FaultyDut, drop
from .test_faults import run_on

_OVER: dict[str, Any] = {"out": {"DISCONNECT_RQST": over}}


def logs_out(dut: FaultyDut, view: codec.Frame) -> None:
    """LOGO to whom the device has no connection, or no login, with: once."""
    if not dut.memory.setdefault("said", False):
        dut.memory["said"] = True
        dut.notify("link", {"event": "logo"})


def at_prlo(dut: FaultyDut, view: codec.Frame) -> None:
    """PRLO ends all connections."""
    if kind_of(view) == "PRLO":
        logs_out(dut, view)


CONFORMING: dict[str, tuple[str, dict[str, Any]]] = {
    "logs-out-who-is-idle": ("8.1.inbound/unreliable/send/half/by-dut", {"hears": after("SEND_RQST", logs_out), **_OVER}),
    "logs-out-who-is-in-error": (
        "8.1.inbound/reliable-delivery/rdma-write/half/by-tester", {"hears": after("WRITE_RQST", logs_out, "DISCONNECT_RQST")}
    ),
    "answers-with-an-error": (
        "8.1.inbound/reliable-reception/send/half/by-dut",
        {"hears": after("SEND_RQST", answers("SEND_RESP", 2, RESP_ERR=1)), **_OVER},
    ),
    "logs-out-who-is-not-logged-in": ("7.7.1.inbound/unreliable/by-tester", {"hears": after("SEND_RQST", logs_out, "LOGO")}),
    "logs-out-after-a-second-login": ("7.7.1.inbound/unreliable/relogin", {"hears": after("SEND_RQST", logs_out, "PLOGI")}),
    "logs-out-a-reader": ("7.7.1.read/reliable-delivery/nos", {"hears": after("READ_RQST", logs_out), "out": {"READ_RESP": over}}),
    "logs-out-who-asks-too-early": (
        "7.7.2.request/class3", {"hears": after("CONNECT_RQST", logs_out), "out": {"CONNECT_RESP3": over}}
    ),
    "ends-the-process": ("7.7.1.process/fc-vi", {"hears": at_prlo, "out": {"LOGO": drop()}}),
    "prlo-is-followed-by-logo": ("7.7.1.process/another-fc-4", {"hears": at_prlo}),
}  # fmt: skip


@pytest.mark.parametrize("name", CONFORMING)
def test_a_conforming_device_is_not_accused(name: str) -> None:
    case, does = CONFORMING[name]
    result = run_on(FaultyDut(Fault(name, case, "", **does)), case)
    assert result.verdict is Verdict.PASS, result.reason
