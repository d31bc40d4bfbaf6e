"""Broken devices for the cases of clauses 5 and 8 on Messages and states, and of annexes E and F."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.fc import codec

from .faults_annex_b import first_handle_again
from .faulty import _CONNECTED, _ERROR, _IDLE, Fault, FaultyDut, drop, flip, put, returns, state

_UD, _RD, _RR = "unreliable", "reliable-delivery", "reliable-reception"
_STAYS: dict[str, Any] = {"results": {"VipQueryVi": state(_CONNECTED, _ERROR)}}


def deep(params: dict[str, Any]) -> dict[str, Any]:
    """A VI that streams more Messages than it was told to."""
    attributes = params["ViAttribs"]
    return {**params, "ViAttribs": {**attributes, "QoS": {**attributes["QoS"], "PipelineDepth": 9}}}


def all_good(dut: FaultyDut, params: dict[str, Any]) -> dict[str, Any]:
    """Say of every Descriptor that all is well."""
    return {**params, "status": ["VIP_STATUS_DONE"]}


def all_bad(dut: FaultyDut, params: dict[str, Any]) -> dict[str, Any]:
    """Say of every receive Descriptor that it failed."""
    return {**params, "status": ["VIP_STATUS_DONE", "VIP_STATUS_TRANSPORT_ERROR"]} if params["queue"] == "recv" else params


def service(name: str) -> Any:
    """A login without one of the bits of Word 1."""

    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
        if len(buf) > 100:
            codec.put("LOGIN", name, buf, 0, 28)

    return edit


def _s_of_the_first(dut: FaultyDut, view: codec.Frame) -> Optional[bytes]:
    """A PLOGI behind the first is heard with SEQ_CNT (S) one."""
    if view.get("FC", "R_CTL") != 0x22 or view.data[24] != 3:
        return None
    dut.memory["logins"] = dut.memory.get("logins", 0) + 1
    if dut.memory["logins"] == 1:
        return None
    heard = bytearray(view.data)
    codec.put("LOGIN", "SEQ_CNT_S", heard, 1, 28)
    return bytes(heard)


def _sticks(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
    """What one response has said of an error, all that follow say."""
    dut.memory["flags"] = buf[29] = dut.memory.get("flags", 0) | buf[29]


def request_after_login(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    """A FCVI_CONNECT_RQST right behind PLOGI."""
    rqst = bytearray(24 + 32 + 340)
    for name in ("D_ID", "S_ID"):
        codec.put("FC", name, rqst, view.get("FC", name))
    for name, value in (("R_CTL", 2), ("TYPE", 0x58), ("First_Sequence", 1), ("End_Sequence", 1), ("Sequence_Initiative", 1),
                        ("Device_Header", 2), ("OX_ID", 0x7777), ("RX_ID", 0xFFFF)):  # fmt: skip
        codec.put("FC", name, rqst, value)
    codec.put("DH", "FCVI_OPCODE", rqst, 0x10, 24)
    return [bytes(buf), bytes(rqst)]


def overlapping(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    """Sequences overlap, all with the same SEQ_ID: the last frame of each comes behind the first of the next."""
    codec.put("FC", "SEQ_ID", buf, 5)
    held = dut.memory.pop("held", None)
    dut.memory["ends"] = dut.memory.get("ends", 0) + bool(view.get("FC", "End_Sequence"))
    if view.get("FC", "End_Sequence") and dut.memory["ends"] == 1:
        dut.memory["held"] = bytes(buf)
        return []
    return [bytes(buf)] + ([held] if held else [])


def _dh(kind: str, name: str, wrong: Any) -> Any:
    return {kind: put("DH", name, wrong)}


FAULTS = [
    # 5.1, 5.2.5, 5.5 to 5.7
    Fault("disconnect-resp-r-ctl", "5.1/dut-client/class3", "FCVI-T01-DISCONNECT_RESP-enc",
          out={"DISCONNECT_RESP": put("FC", "R_CTL", 2)}),
    Fault("one-stream-only", f"5.2.5/{_RD}/class3", "FCVI-5.2.5-01", into={"WRITE_RQST"}),
    Fault("response-not-seen", "5.2.5.responses/class3", "FCVI-5.2.5-01", into={"SEND_RESP"}),
    Fault("unreliable-read-succeeds", "6.6.1/posted", "FCVI-5.2.4-02", completions=all_good),
    Fault("identifiers-confused", f"5.5.receives/{_RD}/send/class3", "FCVI-6.2.1-01", completions=all_bad),
    Fault("one-seq-id", "5.5.sends/send", "FCVI-5.5-04", out={"SEND_RQST": overlapping}),
    Fault("one-seq-id-class2", "5.5.class2/send", "FCVI-5.5-05", out={"SEND_RQST": put("FC", "SEQ_ID", 5)}),
    Fault("plogi-without-s", "5.6/dut-client/class3", "FCVI-5.6-03", out={"PLOGI": service("SEQ_CNT_S")}),
    Fault("plogi-without-c", "5.6/dut-client/class2", "FCVI-5.6-08", out={"PLOGI": service("CIRO")}),
    Fault("acc-without-s", "5.6/dut-server/class3", "FCVI-5.6-04", out={"LS_ACC": service("SEQ_CNT_S")}),
    Fault("accepts-without-s", "5.6.server/without-s", "FCVI-5.6-05", out=_dh("CONNECT_RESP1", "CONN_STS", 0)),
    Fault("s-of-the-first-login", "5.6.server/relogin/without-s", "FCVI-5.6-05", hears=_s_of_the_first),
    Fault("refuses-otherwise", "5.6.server/without-c", "FCVI-5.6-10", out=_dh("CONNECT_RESP1", "Reason_Code", 0x21)),
    Fault("connects-without-s", "5.6.client/without-s/acc", "FCVI-5.6-06", out={"PLOGI": request_after_login}),
    Fault("connects-without-c", "5.6.client/without-c/acc", "FCVI-5.6-11", out={"PLOGI": request_after_login}),
    Fault("length-in-16-bits", "5.7/70000-bytes", "FCVI-6.2.2-10", out=_dh("SEND_RQST", "FCVI_TOT_LEN", lambda n: n & 0xFFFF)),
    Fault("read-length-in-16-bits", "5.7.reads/70000-bytes", "FCVI-6.6.2-09",
          out=_dh("READ_RQST", "FCVI_TOT_LEN", lambda n: n & 0xFFFF)),
    Fault("read-offset-in-16-bits", "5.7.reads/70000-bytes", "FCVI-5.8.7-02",
          out={"READ_RESP": put("FC", "Parameter", lambda n: n & 0xFFFF)}),
    # 5.9
    Fault("foreign-handle", "5.9.2/class3/dut-client/00000000", "FCVI-6.2.2-02",
          out=_dh("SEND_RQST", "FCVI_HANDLE", lambda n: n ^ 4)),
    Fault("one-handle", "5.9.2/class3/dut-client/80000000", "FCVI-4.2-09", out={"CONNECT_RQST": first_handle_again}),
    Fault("rqst-without-retry", "5.9.4/dut-client/plain", "FCVI-5.9.4.4-04", out=_dh("CONNECT_RQST", "RQST_RETRY", 0)),
    Fault("rqst-info-flag", "5.9.4/dut-client/plain", "FCVI-T07-3", out=_dh("CONNECT_RQST", "RQST_FCVI_CONN_INFO", 1)),
    Fault("resp3-lacks-retry", "5.9.4/dut-server/connect-info", "FCVI-5.9.4.5-06", out=_dh("CONNECT_RESP3", "RESP_RETRY", 0)),
    Fault("disconnect-not-by-app", "5.9.4.6/dut-client/established", "FCVI-6.12.2-08",
          out=_dh("DISCONNECT_RQST", "VI_APP_DISCON", 0)),
    Fault("abort-flag-missing", "5.9.4.6/dut-client/setup-abort", "FCVI-6.12.2-06",
          out=_dh("DISCONNECT_RQST", "CONN_SETUP_ABORT", 0)),
    Fault("reason-of-a-setup", "5.9.4.6/dut-client/setup-abort", "FCVI-5.9.7.1-07",
          out=_dh("DISCONNECT_RQST", "Reason_Code", 0x21)),
    Fault("reason-reserved", "5.9.4.6/dut-client/setup-abort", "FCVI-T12-4Ch", out=_dh("DISCONNECT_RQST", "Reason_Code", 0x4D)),
    Fault("app-flag-not-repeated", "5.9.4.6/dut-server/answers", "FCVI-5.9.4.6-04", out={"DISCONNECT_RESP": flip("VI_APP_DISCON")}),
    Fault("no-prot-err", "5.9.4.3.protection/class3/handle", "FCVI-T06-2", out=_dh("WRITE_RESP", "FCVI_FLAGS", 3)),
    Fault("no-prot-err-read", f"5.9.4.3.protection/{_RR}/rdma-read/address", "FCVI-T06-2", out=_dh("READ_RESP", "FCVI_FLAGS", 9)),
    Fault("bad-write-good", "5.9.4.3.protection/class2/not-enabled", "FCVI-5.9.4.3-01", out=_dh("WRITE_RESP", "FCVI_FLAGS", 0)),
    Fault("errors-stick", "5.9.4.3.descriptor/afterwards", "FCVI-T06-0", out={"SEND_RESP": _sticks}),
    Fault("no-desc-err", "5.9.4.3.descriptor/send/class3/none-posted", "FCVI-T06-1",
          out=_dh("SEND_RESP", "FCVI_FLAGS", lambda n: n and 5)),
    Fault("descriptor-error-survived", "5.9.4.3.descriptor/send/class3/none-posted", "FCVI-8.2-d3", **_STAYS),
    Fault("protection-error-survived", "5.9.4.3.protection/class3/handle", "FCVI-8.2-d3", **_STAYS),
    Fault("failure-not-answered", "5.9.4.3.descriptor/rdma-write/class2/none-posted", "FCVI-6.5.1-01", out={"WRITE_RESP": drop(2)}),
    Fault("loss-survived", f"5.9.4.3.transport/{_RD}/send/in-order/class3", "FCVI-8.4.2-e", **_STAYS),
    Fault("loss-as-protection", f"5.9.4.3.transport/{_RR}/send/in-order/class2", "FCVI-5.9.7.3.1-02",
          out=_dh("DISCONNECT_RQST", "Reason_Code", 0x41)),
    Fault("failure-taken-as-good", "5.9.7.3.1/send/class3/no-cause", "FCVI-T06-0", completions=all_good),
    Fault("failure-survived", f"5.9.7.3.1/{_RD}/rdma-read/protection", "FCVI-8.2-d3", **_STAYS),
    Fault("vendor-unique-upsets", "8.2.b/04/vendor-unique", "FCVI-6.10.1-01", into={"CONNECT_RESP1"}),
    Fault("reason-upsets-answer", "5.9.7.3.2/request/47h", "FCVI-6.13.1-01", out={"DISCONNECT_RESP": drop()}),
    Fault("reason-upsets-return", "5.9.7.3.2/response/f0h", "FCVI-8.1-03", results={"VipDisconnect": returns("VIP_ERROR_NIC")}),
    Fault("accept-called-error", "5.9.7.3.2/request/40h", "FCVI-5.9.7.3.2-12",
          out={"DISCONNECT_RESP": lambda d, v, b: b.__setitem__(slice(29, 38), bytes([b[29] | 1]) + b[30:37] + b"\x4a")}),
    Fault("counts-by-operation", f"5.9.6/{_RD}/class3", "FCVI-6.4.2-08", out=_dh("WRITE_RQST", "FCVI_MSG_ID", lambda n: n - 1)),
    Fault("reads-not-counted", f"5.9.6/{_RR}/class2", "FCVI-6.6.2-06", out=_dh("READ_RQST", "FCVI_MSG_ID", lambda n: n + 1)),
    Fault("deaf-to-numbers", "5.9.6.wrap/unreliable", "FCVI-6.2.1-01", into={"SEND_RQST"}),
    # 8
    Fault("disconnect-ignored", "8.1/connected", "FCVI-8.1-03", ignore_calls={"VipDisconnect"}),
    Fault("error-left-alone", f"8.1.error/{_RD}/in-order/class3", "FCVI-8.4.2-e", results={"VipQueryVi": state(_IDLE, _ERROR)}),
    Fault("created-connected", f"8.2/{_RD}", "FCVI-8.2-a1", results={"VipQueryVi": state(_CONNECTED, _IDLE)}),
    Fault("waits-for-ever", f"8.4.1.n1/{_RD}/send/in-order/class3/never", "FCVI-8.4.1-n1b", config={"r_a_tov_us": 10**9}),
    Fault("damaged-answer-taken-late", "8.6.2.a/dut-client", "FCVI-8.6.3-a1", out={"ABTS": drop()}),
    Fault("damaged-request-upsets", "8.6.3.b/dut-server", "FCVI-8.6.3-b", results={"VipQueryVi": state(_ERROR, _CONNECTED)}),
    # E
    Fault("reads-too-much", "E.1/rdma-read/class3/depth-0", "FCVI-7.3-14", params={"VipCreateVi": deep}),
    Fault("streams-too-much", "E.1/send/class3/depth-1", "FCVI-7.3-14", params={"VipCreateVi": deep}),
    Fault("stream-survives", "E.2/send", "FCVI-8.4.2-e", **_STAYS),
    Fault("stream-all-good", "E.2/rdma-write/not-streamed", "FCVI-5.9.4.3-01", completions=all_good),
    Fault("stream-other-cause", "E.3/class3", "FCVI-T06-1", out=_dh("SEND_RESP", "FCVI_FLAGS", lambda n: n and 9)),
    Fault("last-completed-rqst", f"E.6/{_UD}/dut-disconnects-3", "FCVI-6.12.2-11", out=_dh("DISCONNECT_RQST", "FCVI_MSG_ID", 9)),
    Fault("last-completed-resp", f"E.6/{_RR}/tester-disconnects-3", "FCVI-6.13.2-08", out=_dh("DISCONNECT_RESP", "FCVI_MSG_ID", 9)),
    # F
    Fault("deaf-before-resp3", f"F.1/{_RD}/class3", "FCVI-4.2-42", into={"SEND_RQST"}),
    Fault("waits-for-resp3", f"F.3/{_UD}/in-order/class3", "FCVI-8.5.3-a", out={"ABTS": drop()}),
    Fault("resp3-as-message-1", f"F.5/{_RD}/class3", "FCVI-6.11.2-04", out=_dh("CONNECT_RESP3", "FCVI_MSG_ID", 1)),
    Fault("counts-from-resp3", f"F.5/{_RR}/class2", "FCVI-5.9.6-03", out=_dh("SEND_RQST", "FCVI_MSG_ID", 0)),
    Fault("first-message-numbered-0", f"F.7/{_UD}/class3", "FCVI-5.9.6-03", out=_dh("SEND_RQST", "FCVI_MSG_ID", 0)),
]  # fmt: skip
