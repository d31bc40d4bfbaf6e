"""Broken devices for the cases of Connection Setup: arbitration, Annex A and Annex C."""

from __future__ import annotations

from typing import Any

from fcvi.fc import codec
from fcvi.fc.build import UNASSIGNED

from .faulty import Fault, FaultyDut, drop, early_message, first_id_again, put, returns, state

_IDLE, _CONNECTED, _ERROR = "VIP_STATE_IDLE", "VIP_STATE_CONNECTED", "VIP_STATE_ERROR"


def _refuses(code: int) -> dict[str, object]:
    return {"CONNECT_RESP1": put("DH", "Reason_Code", code)}


def _status(value: int, nth: int = 0) -> dict[str, object]:
    return {"CONNECT_RESP1": put("DH", "CONN_STS", value, nth)}


def _retry_after_abts() -> dict[str, object]:
    """The request again behind every ABTS."""
    return {
        "ABTS": lambda d, v, b: [bytes(b), d.memory["rqst"]],
        "CONNECT_RQST": lambda d, v, b: d.memory.__setitem__("rqst", bytes(b)),
    }


def _since_resp1(dut: FaultyDut, view: codec.Frame) -> None:
    if view.iu == "CONNECT_RESP1":
        dut.memory["waited"] = dut.now_us - dut.memory["asked"]


def tells_another_size(dut: FaultyDut, result: dict[str, Any]) -> dict[str, Any]:
    """RemoteViAttribs have a MaxTransferSize that nobody sent."""
    told = result.get("RemoteViAttribs")
    return {**result, "RemoteViAttribs": {**told, "MaxTransferSize": 1}} if told else result


#: T3 goes on after a FCVI_CONNECT_RESP1 that came at once, and is stopped by one that came later.
_STOPPED_BY_RESP1: dict[str, Any] = {
    "hears": _since_resp1,
    "out": {
        "CONNECT_RQST": lambda d, v, b: d.memory.__setitem__("asked", d.now_us),
        "ABTS": lambda d, v, b: [] if d.memory.get("waited") else None,
    },
}

FAULTS = [
    Fault("wait-tells-another-size", "5.3.2/dut-server", "FCVI-6.8.3-06", results={"VipConnectWait": tells_another_size}),
    # 5.3.3, 4.2
    Fault("not-waiting-says-rejected", "5.3.3/dut-second", "FCVI-5.3.3-01", out=_refuses(4)),
    Fault("not-waiting-has-a-handle", "5.3.3/dut-second", "FCVI-5.3.3-03",
          out={"CONNECT_RESP1": put("CONN", "FCVI_RESP_HANDLE", 5)}),
    Fault("resp2-of-a-refusal-with-handle", "5.3.3/dut-first/03", "FCVI-5.3.3-04",
          out={"CONNECT_RESP2": put("DH", "FCVI_HANDLE", 5)}),
    Fault("peer-meets-server", "4.2.37/peer-at-a-server", "FCVI-4.2-37", out=_status(0)),
    Fault("host-not-compared", "4.2.36/other-host-of-the-tester", "FCVI-4.2-36", out=_status(0, 1)),
    # 5.3.4
    Fault("higher-refuses", "5.3.4.a/tester-below", "FCVI-5.3.4-a", out=_status(1)),
    Fault("lower-says-04", "5.3.4.b/tester-above", "FCVI-5.3.4-b2", out=_refuses(4)),
    Fault("lower-does-not-recover", "5.3.4.b.unanswered", "FCVI-8.5.3-a", out={"ABTS": drop()}),
    Fault("equal-names-rejected", "5.3.4.c", "FCVI-5.3.4-c", out=_refuses(4)),
    Fault("no-loopback", "5.3.4.loopback", "FCVI-5.3.4-06", results={"VipConnectPeerWait": returns("VIP_TIMEOUT")}),
    # Annex A
    Fault("case-1", "A.1/class3/in-order", "FCVI-T02-1", out=_refuses(4)),
    Fault("case-2", "A.2/class3/out-of-order", "FCVI-T02-2", out=_status(1)),
    Fault("case-3", "A.3/class2/out-of-order", "FCVI-T02-3", out=_status(1)),
    Fault("case-4", "A.4/class3/in-order", "FCVI-T02-4", out=_refuses(5)),
    Fault("case-5", "A.5/class3/out-of-order", "FCVI-T02-5", out=_refuses(0x21)),
    Fault("case-6", "A.6/class2/in-order", "FCVI-T02-6", out=_refuses(5)),
    Fault("case-7", "A.7/reason-20", "FCVI-T02-7", out=_refuses(5)),
    Fault("peer-a-rejects", "A.1.peer-a/01/class3", "FCVI-5.3.3-01", out=_refuses(4)),
    # Annex C.2 and C.3
    Fault("late-resp1-moves-the-vi", "C.R1/resp1-after-the-retry", "FCVI-8.5.3-a1",
          results={"VipQueryVi": state(_IDLE, _ERROR)}),
    Fault("late-resp2-connects", "C.R1.server", "FCVI-8.5.3-d", results={"VipQueryVi": state(_CONNECTED, _ERROR)}),
    Fault("refused-exchange-left-open", "C.R2/refused/ba-acc", "FCVI-8.5.3-a", out={"ABTS": drop()}),
    Fault("retry-from-idle", "C.R2/pending/ba-acc", "FCVI-8.5.4-01", out=_retry_after_abts()),
    Fault("retry-looks-like-the-first", "C.R3/rqst/ba-acc", "FCVI-5.9.4.4-04",
          out={"CONNECT_RQST": put("DH", "RQST_RETRY", 0)}),
    Fault("idle-after-the-retry", "C.R4", "FCVI-8.5.3-a1", results={"VipQueryVi": state(_IDLE, _ERROR)}),
    Fault("t3-stopped-by-a-late-resp1", "C.R5/late-resp1", "FCVI-8.5.3-a", **_STOPPED_BY_RESP1),
    Fault("one-id-for-all", "8.5.3.b", "FCVI-8.5.3-b", out={"CONNECT_RQST": first_id_again}),
    Fault("gap-not-noticed", "8.5.2.a/dut-client/first", "FCVI-8.5.2-a", out={"ABTS": drop()}),
    # Annex C.4
    Fault("hidden-retry-of-a-peer", "C.4", "FCVI-8.5.3-a3", out=_retry_after_abts()),
    Fault("peer-is-idle", "C.R6", "FCVI-8.5.3-d", results={"VipQueryVi": state(_IDLE, _CONNECTED)}),
    Fault("rule-8-resp1-missing", "C.R8", "FCVI-6.9.1-01", out={"CONNECT_RESP1": drop(2)}),
    Fault("rule-9-without-retry", "C.R9", "FCVI-5.9.4.5-06", out={"CONNECT_RESP1": put("DH", "RESP_RETRY", 0)}),
    Fault("rule-10-resp3-missing", "C.R10", "FCVI-6.11.1-01", out={"CONNECT_RESP3": drop(2)}),
    Fault("rule-11-without-retry", "C.R11", "FCVI-5.9.4.5-06", out={"CONNECT_RESP3": put("DH", "RESP_RETRY", 0)}),
    Fault("rule-12-other-id", "C.R12", "FCVI-6.11.2-09",
          out={"CONNECT_RESP3": put("DH", "FCVI_CONNECTION_ID", lambda n: n ^ 1)}),
    # 6.8 to 6.13
    Fault("address-of-the-other-first", "6.8.3/distinct-hosts", "FCVI-T13-w3",
          out={"CONNECT_RQST": lambda d, v, b: b.__setitem__(slice(68, 364), b[216:364] + b[68:216])}),
    Fault("discriminator-right-justified", "6.8.3/discriminator-17", "FCVI-T15-w5",
          out={"CONNECT_RQST": lambda d, v, b: b.__setitem__(slice(88, 216), bytes(111) + b[88:105])}),
    Fault("qos-in-the-eighth-word", "6.8.3/pipeline-depth-3", "FCVI-T18-w4",
          out={"CONNECT_RQST": lambda d, v, b: b.__setitem__(slice(388, 396), b[392:396] + b[388:392])}),
    Fault("attributes-of-the-tester", "6.9.3/tester-allows-rdma-write", "FCVI-T17-1",
          out={"CONNECT_RESP1": lambda d, v, b: b.__setitem__(56 + 311, 2)}),
    Fault("server-own-handle-in-messages", "6.9.3", "FCVI-4.2-07",
          out={"SEND_RQST": put("DH", "FCVI_HANDLE", lambda n: n ^ 0x80)}),
    Fault("refuses-with-disconnect-code", "6.9.2/rejected", "FCVI-6.9.2-06", out=_refuses(0x4A)),
    Fault("message-id-of-the-response", "6.12.2/dut-server/tester-first/sent-2", "FCVI-6.13.2-08",
          out={"DISCONNECT_RESP": put("DH", "FCVI_MSG_ID", 99)}),
    # Annex C.5.1 to C.5.5
    Fault("request-fails-though-accepted", "C.5.1/dut-client/resp2", "FCVI-8.2-b1",
          results={"VipConnectRequest": returns("VIP_TIMEOUT")}),
    Fault("t3-waits-for-t1", "C.5.2/dut-client/t1-after-t3", "FCVI-8.5.3-a", out={"ABTS": drop()}),
    Fault("first-message-corrupted", "C.5.1.send", "FCVI-6.2.1-01",
          out={"SEND_RQST": lambda d, v, b: b.__setitem__(56, b[56] ^ 1)}),
    Fault("reserved-after-t1", "C.5.3/after", "FCVI-T12-23h", out={"CONNECT_RESP2": put("DH", "Reason_Code", 0x23)}),
    Fault("accept-without-resp3", "C.5.4/after", "FCVI-8.3-03",
          results={"VipConnectAccept": returns("VIP_SUCCESS", "VIP_TIMEOUT")}),
    Fault("not-enabled-in-time", "C.5.5/dut-server/overtaking", "FCVI-4.2-42", into={"SEND_RQST"}),
    Fault("t1-says-not-reachable", "C.5.5.pending", "FCVI-8.2-b2",
          results={"VipConnectRequest": returns("VIP_NOT_REACHABLE", "VIP_TIMEOUT")}),
    Fault("server-sends-before-resp3", "C.5.5.server", "FCVI-5.9.3-03", out={"CONNECT_RESP1": early_message}),
    Fault("no-response-after-resp3", "C.5.10.response", "FCVI-6.3.1-01", out={"SEND_RESP": drop()}),
]  # fmt: skip

__all__ = ["FAULTS", "UNASSIGNED"]
