"""Broken devices for the cases that run every legal combination of four choices."""

from __future__ import annotations

from typing import Any

from conformance.fcvi.cases import all_cases

from .faulty import Fault, FaultyDut, drop, put


def _first(case: str, *words: str) -> str:
    """The first variant of the case whose name has all these words."""
    return next(
        ident for c in all_cases() if c.id == case for ident in c.variant_ids() if set(words) <= set(ident.split("/"))
    )  # fmt: skip


def no_immediate(dut: FaultyDut, params: dict[str, Any]) -> dict[str, Any]:
    """Completions without their Immediate Data."""
    return {**params, "immediate": None}


MESSAGES, SETUPS, DISCONNECTS = "5.2.combined", "5.3.2.combined", "5.3.5.combined"
RDMA, RETRIES, EVENTS = "5.2.4.combined", "8.5.4.combined", "7.7.combined"
FAULTS = [
    Fault("combined-deaf-to-sends", _first(MESSAGES, "send", "public-loop"), "FCVI-6.2.1-01", into={"SEND_RQST"}),
    Fault("combined-deaf-to-writes", _first(MESSAGES, "rdma-write", "out-of-order"), "FCVI-6.4.1-02", into={"WRITE_RQST"}),
    Fault("combined-reads-unanswered", _first(MESSAGES, "rdma-read", "private-loop"), "FCVI-6.7.1-01", out={"READ_RESP": drop()}),
    Fault("combined-immediate-lost", _first(MESSAGES, "send", "immediate"), "FCVI-5.9.7.1-01", completions=no_immediate),
    Fault("combined-other-number", _first(MESSAGES, "rdma-write", "class2"), "FCVI-5.9.6-03",
          out={"WRITE_RQST": put("DH", "FCVI_MSG_ID", lambda n: n + 1)}),
    Fault("combined-no-resp2", _first(SETUPS, "dut-client", "public-loop", "class2"), "FCVI-6.10.1-01",
          out={"CONNECT_RESP2": drop()}),
    Fault("combined-no-resp3", _first(SETUPS, "dut-server", "256", "explicit"), "FCVI-6.11.1-01", out={"CONNECT_RESP3": drop()}),
    Fault("combined-no-disconnect-resp", _first(DISCONNECTS, "tester-first", "class2", "messages"), "FCVI-6.13.1-01",
          out={"DISCONNECT_RESP": drop()}),
    Fault("combined-no-disconnect-rqst", _first(DISCONNECTS, "crossing", "private-loop"), "FCVI-8.1-03",
          out={"DISCONNECT_RQST": drop()}),
    Fault("combined-deaf-to-read-resp", _first(RDMA, "dut-requests", "rdma-read", "several-ius"), "FCVI-6.7.1-02",
          into={"READ_RESP"}),
    Fault("combined-no-abts", _first(RETRIES, "dut-client", "no-ba-acc", "reliable-reception"), "FCVI-8.5.3-a",
          out={"ABTS": drop()}),
    Fault("combined-retry-unheard", _first(RETRIES, "dut-server", "response-lost", "class2"), "FCVI-6.9.1-01",
          out={"CONNECT_RESP1": drop(2)}),
    Fault("combined-deaf-to-logo", _first(EVENTS, "logo-of-the-tester", "class2", "public-loop"), "FCVI-7.7.1-05",
          into={"LOGO"}),
    Fault("combined-deaf-after-reset", _first(EVENTS, "lr", "reliable-reception", "fabric"), "FCVI-7.7.5-01", into={"SEND_RQST"}),
]  # fmt: skip
