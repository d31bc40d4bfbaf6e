"""Broken devices for the cases of Annex B."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.fc import codec

from .faulty import _CONNECTED, _ERROR, TEN_SECONDS, Fault, FaultyDut, drop, good_recv, put, state

_UD, _RD, _RR = "unreliable", "reliable-delivery", "reliable-reception"
_STAYS: dict[str, Any] = {"results": {"VipQueryVi": state(_CONNECTED, _ERROR)}}
_SORTS: dict[str, Any] = {"config": {"fabric": "out-of-order"}}  # takes frames in any order
_WAITS: dict[str, Any] = {"config": {"fabric": "out-of-order", "r_a_tov_us": 10**9}}  # for what is lost, for ever
_SORTS_NOT: dict[str, Any] = {"config": {"fabric": "in-order"}}
_NO_ABORT: dict[str, Any] = {"out": {"ACK_1": put("FC", "Abort_Sequence_Condition", 0)}}


def first_handle_again(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
    """Each connection after the first with the handle of the first."""
    name = "FCVI_RQST_HANDLE"
    seen = codec.get("CONN", name, bytes(buf), view.payload_offset)
    codec.put("CONN", name, buf, dut.memory.setdefault("handle", seen), view.payload_offset)


def deaf_after_logout(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
    """Hear no Message after the LOGO."""
    dut.fault.into.add("SEND_RQST")


def other_again(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
    """A frame that is sent again has another content."""
    key = f"{view.get('FC', 'OX_ID')}-{view.get('FC', 'SEQ_CNT')}"
    if dut.memory.setdefault(key, 0):
        buf[-1] ^= 1
    dut.memory[key] += 1


def late_frame(dut: FaultyDut, view: codec.Frame) -> None:
    """A frame of a Message that began over 10 s ago counts as new, whatever R_A_TOV is."""
    if view.iu == "SEND_RQST":
        began = dut.memory.setdefault(f"message {view.get('DH', 'FCVI_MSG_ID')}", dut.now_us)
        dut.memory["placed"] = dut.memory.get("placed", 0) + (dut.now_us - began > 10_000_000)


def late_frames_placed(dut: FaultyDut, result: dict[str, Any]) -> dict[str, Any]:
    """Such a frame changes the buffer."""
    data = bytearray.fromhex(result["hex"])
    if data:
        data[0] ^= dut.memory.get("placed", 0)
    return {**result, "hex": data.hex()}


def _low_half(dut: FaultyDut, view: codec.Frame) -> Optional[bytes]:
    """Of FCVI_MSG_ID the port looks at 16 bits."""
    if view.iu not in ("SEND_RQST", "WRITE_RQST", "READ_RQST"):
        return None
    return view.data[: view.dh_offset + 8] + bytes(2) + view.data[view.dh_offset + 10 :]


FAULTS = [
    Fault("error-not-shown", f"B.R1a/{_RD}/send/class3", "FCVI-8.4.2-e", **_STAYS),
    Fault("discards-without-abort", f"B.R1a/{_RR}/send/class2", "FCVI-8.4.2-h", **_NO_ABORT),
    Fault("no-abts-without-response", "B.R1a.responses/send", "FCVI-8.4.2-a", out={"ABTS": drop()}),
    Fault("handle-at-once", f"B.R1b/{_RD}/at-once", "FCVI-8.4.2-f2", out={"CONNECT_RQST": first_handle_again}),
    Fault("dead-after-logout", f"B.R1c/{_RD}", "FCVI-6.2.1-01", out={"LOGO": deaf_after_logout}),
    Fault("lost-message-without-abort", "B.R2a/send/class2", "FCVI-8.4.2-h", **_NO_ABORT),
    Fault("waits-for-what-is-lost", "B.R2a/send/class3", "FCVI-8.4.2-d", **_WAITS),
    Fault("broken-message-good", "B.R3a/send/in-order/class3", "FCVI-5.2.1-10", completions=good_recv),
    Fault("broken-write-good", "B.R3a/rdma-write/out-of-order/class2", "FCVI-5.2.1-10", completions=good_recv),
    Fault("skipped-message-good", "B.R4a/send/class3/later-frame", "FCVI-5.2.1-10", completions=good_recv),
    Fault("waits-for-skipped-messages", "B.R4a/rdma-write/class3/later-frame", "FCVI-8.4.2-d", **_WAITS),
    Fault("skip-unnoticed", f"B.R4b/{_RR}/rdma-write/class3/first-frame", "FCVI-8.4.2-e", **_STAYS),
    Fault("message-ids-of-16-bits", f"B.R4b/{_RD}/send/class3/far-ahead", "FCVI-8.4.2-e", hears=_low_half),
    Fault("skip-waited-for", f"B.R4b/{_RD}/send/class3/nothing-open", "FCVI-8.4.2-e",
          config={"fabric": "out-of-order", "r_a_tov_us": 10**9}),
    Fault("order-needed", f"B.R4c/{_RD}/send/class3/at-once", "FCVI-8.4.1-01", **_SORTS_NOT),
    Fault("order-needed-unreliable", f"B.R4c/{_UD}/send/class2/before-e-d-tov", "FCVI-4.2-19", **_SORTS_NOT),
    Fault("repetition-unnoticed", f"B.R5a/{_RD}/send/class3", "FCVI-8.4.2-e", **_STAYS),
    Fault("late-frame-dropped", f"B.R5b/{_RR}/send/class3", "FCVI-8.4.1-01", **_SORTS_NOT),
    Fault("sequence-error-good", "B.R6a/send/in-order/class3/relative-offset", "FCVI-5.2.1-10", completions=good_recv),
    Fault("sequence-error-unnoticed", f"B.R6b/{_RD}/send/in-order/class3/aborted", "FCVI-8.4.2-e", **_STAYS),
    Fault("gap-good", "B.R6c/send/class2/middle-lost", "FCVI-5.2.1-10", completions=good_recv),
    Fault("gap-waited-for", "B.R6c/rdma-write/class3/middle-lost", "FCVI-8.4.2-d", **_WAITS),
    Fault("swap-accepted", f"B.R6d/{_RD}/send/class3/swapped", "FCVI-8.4.1-c", **_SORTS),
    Fault("swap-not-sorted", f"B.R6e/{_RD}/send/class3/one-late", "FCVI-8.4.1-01", **_SORTS_NOT),
    Fault("missing-frame-good", "B.R7a/send/class3/frame", "FCVI-5.2.1-10", completions=good_recv),
    Fault("missing-frame-unnoticed", f"B.R7b/{_RR}/send/class3/frame", "FCVI-8.4.1-d",
          config={"r_a_tov_us": 10**9}),
    Fault("missing-message-unnoticed", f"B.R7b/{_RD}/send/class3/message", "FCVI-8.4.1-e", **_STAYS),
    # rules 8 and 9
    Fault("busy-ignored", f"B.R8a/{_RD}/send/p-bsy-0", "FCVI-8.4.2-e", **_STAYS),
    Fault("busy-frame-changed", f"B.R8b/{_RR}/send/f-bsy-2", "FCVI-6.2.1-01", out={"SEND_RQST": other_again}),
    Fault("reject-ignored", f"B.R8c/{_RR}/rdma-write/in-order/p-rjt-2", "FCVI-8.4.2-e", **_STAYS),
    Fault("abort-ignored", f"B.R8d/{_UD}/send/in-order/abort-0", "FCVI-8.4.2-b", out={"ABTS": drop()}),
    Fault("abort-survived", f"B.R8d/{_RD}/out-of-order/rdma-read/abort", "FCVI-8.4.2-e", **_STAYS),
    Fault("missing-ack-ignored", f"B.R8e/{_RD}/send/in-order/none-0", "FCVI-8.4.2-e", **_STAYS),
    Fault("response-awaited-10-s", "B.R9/send/class3", "FCVI-8.3-01", config=TEN_SECONDS),
    Fault("discards-for-10-s", "B.R2a/send/class2", "FCVI-8.4.2-d", hears=late_frame, results={"mem.read": late_frames_placed}),
    Fault("response-awaited-too-long", "B.R9/send/class3", "FCVI-8.3-01", config={"r_a_tov_us": lambda us: us * 6 // 5}),
    Fault("response-not-awaited", f"B.R9/{_RD}/class2/rdma-read", "FCVI-8.4.2-a", out={"ABTS": drop()}),
    Fault("impatient", "8.3.response/rdma-write/class3", "FCVI-8.3-01", config={"r_a_tov_us": lambda us: us // 2}),
    # B.3
    Fault("example-b322", "B.3.2.2/message-5-open", "FCVI-5.2.1-10", completions=good_recv),
    Fault("example-b323", f"B.3.2.3/{_RR}", "FCVI-8.4.2-e", **_STAYS),
    Fault("example-b323-handle", f"B.3.2.3/{_RD}", "FCVI-8.4.2-f2", out={"CONNECT_RQST": first_handle_again}),
    Fault("example-b324", f"B.3.2.4/{_RD}/before-e-d-tov", "FCVI-8.4.1-01", **_SORTS_NOT),
    Fault("example-b324-outside", f"B.3.2.4/{_RR}/outside-r-a-tov", "FCVI-8.4.1-d", **_STAYS),
    Fault("example-b332", "B.3.3.2", "FCVI-5.2.1-10", completions=good_recv),
    Fault("example-b333", f"B.3.3.3/{_UD}/before-e-d-tov", "FCVI-4.2-19", **_SORTS_NOT),
    Fault("example-b333-outside", f"B.3.3.3/{_UD}/outside-r-a-tov", "FCVI-5.2.1-10", completions=good_recv),
]  # fmt: skip
