"""Broken devices for the cases of VI Messages: clauses 5, 6 and 8, annexes B, E and F."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.fc import codec

from . import faults_annex_b, faults_clauses
from .faulty import _CONNECTED, _ERROR, Fault, FaultyDut, drop, flip, put, state

_UD, _RD, _RR = "unreliable", "reliable-delivery", "reliable-reception"
_ROLE = "class3/dut-client"


def not_last(structure: str, name: str, value: int) -> Any:
    """Change a field in every frame but the last of the IU."""

    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
        if not view.get("FC", "End_Sequence"):
            codec.put(structure, name, buf, value, 0 if structure == "FC" else view.dh_offset)

    return edit


def last_only(name: str, value: int) -> Any:
    """Change a header bit in the last frame of the IU."""

    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
        if view.get("FC", "End_Sequence"):
            codec.put("FC", name, buf, value)

    return edit


def places_by_count(dut: FaultyDut, view: codec.Frame) -> Optional[bytes]:
    """Data go where they would be if each frame of the IU had the length of the first (5.8.7)."""
    if view.iu not in ("SEND_RQST", "WRITE_RQST", "READ_RESP"):
        return None
    count = view.header("SEQ_CNT")
    if count == 0:
        dut.memory["frame"] = len(view.payload)
    buf = bytearray(view.data)
    codec.put("FC", "Parameter", buf, count * dut.memory.get("frame", 0))
    return bytes(buf)


def remembers(dut: FaultyDut, result: dict[str, Any]) -> dict[str, Any]:
    """The memory that the port has registered, for `looks_at`."""
    if "handle" in result:
        dut.memory.setdefault("registered", []).append((int(result["va"], 16), result["handle"]))
    return result


def short_offsets(dut: FaultyDut, view: codec.Frame) -> Optional[bytes]:
    """Of the Relative Offset of an RDMA Write the port looks at 16 bits."""
    return view.data[:20] + bytes(2) + view.data[22:] if view.iu == "WRITE_RQST" else None


def fill_counts(dut: FaultyDut, view: codec.Frame) -> Optional[bytes]:
    """Fill bytes that are not zero spoil the data before them."""
    rest = view.data[len(view.data) - view.fill :]
    if view.iu not in ("SEND_RQST", "WRITE_RQST", "READ_RESP") or not any(rest):
        return None
    return view.data[: view.payload_offset] + bytes(len(view.payload)) + rest


def looks_at(va: int, handle: int) -> Any:
    """Only these bits of an address and a memory handle count (5.9.8, 5.9.9)."""

    def hears(dut: FaultyDut, view: codec.Frame) -> Optional[bytes]:
        if view.iu != "WRITE_RQST":
            return None
        buf = bytearray(view.data)
        read = [view.get("DH", name) for name in ("FCVI_RMT_VA", "FCVI_RMT_VA_HANDLE")]
        asked = [value for value in read if isinstance(value, int)]
        for own_va, own_handle in dut.memory.get("registered", []):
            if own_handle & handle == asked[1] & handle:
                codec.put("DH", "FCVI_RMT_VA", buf, own_va & ~va | asked[0] & va, view.dh_offset)
                codec.put("DH", "FCVI_RMT_VA_HANDLE", buf, own_handle, view.dh_offset)
        return bytes(buf)

    return hears


def corrupt(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
    """One bit of the payload is wrong."""
    if len(buf) > view.payload_offset:
        buf[view.payload_offset] ^= 1


def again(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
    """The IU twice, on the same Exchange."""
    second = bytearray(buf)
    codec.put("FC", "SEQ_CNT", second, 1)
    codec.put("FC", "SEQ_ID", second, 0xEE)
    return [bytes(buf), bytes(second)]


def wrong_immediate(dut: FaultyDut, params: dict[str, Any]) -> dict[str, Any]:
    """A receive Descriptor with other Immediate Data."""
    return {**params, "immediate": 7} if params["queue"] == "recv" else params


def without_immediate(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
    """Immediate Data in the last frame of the IU only."""
    for name in ("IMM_DATA", "MSG_PARAMETER"):
        not_last("DH", name, 0)(dut, view, buf)


def no_immediate(dut: FaultyDut, params: dict[str, Any]) -> dict[str, Any]:
    """Immediate Data of value zero are taken for none."""
    return {**params, "immediate": params["immediate"] or None}


def stale_immediate(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
    """A Message without Immediate Data has what the Message before had in FCVI_PARAMETER."""
    if view.get("DH", "IMM_DATA"):
        dut.memory["immediate"] = view.get("DH", "MSG_PARAMETER")
    else:
        codec.put("DH", "MSG_PARAMETER", buf, dut.memory.get("immediate", 0), view.dh_offset)


def left_posted(dut: FaultyDut, params: dict[str, Any]) -> dict[str, Any]:
    """Of the receive Descriptors that are flushed only the first of each VI is told; the others come for a VI that is none."""
    if params["queue"] != "recv" or "VIP_STATUS_DESC_FLUSHED_ERROR" not in params["status"]:
        return params
    told = dut.memory.setdefault("flushed", set())
    if params["vi"] in told:
        return {**params, "vi": 1 << 20}
    told.add(params["vi"])
    return params


def not_flushed(dut: FaultyDut, params: dict[str, Any]) -> dict[str, Any]:
    """What was flushed is told as lost on the way."""
    lost = {"VIP_STATUS_DESC_FLUSHED_ERROR": "VIP_STATUS_TRANSPORT_ERROR"}
    return {**params, "status": [lost.get(name, name) for name in params["status"]]}


def unanswered_response(kind: str) -> Any:
    """Answer with a FCVI_SEND_RESP or FCVI_WRITE_RESP on a level without responses: after the ACK, that is in class 2."""

    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
        resp = bytearray(40)
        opcode, r_ctl = codec.IUS[kind][:2]
        for name in ("D_ID", "S_ID", "OX_ID", "RX_ID", "SEQ_ID"):
            codec.put("FC", name, resp, view.get("FC", name))
        for name, value in (("R_CTL", r_ctl), ("TYPE", 0x58), ("Exchange_Context", 1), ("Last_Sequence", 1),
                            ("End_Sequence", 1), ("Device_Header", 1)):  # fmt: skip
            codec.put("FC", name, resp, value)
        codec.put("DH", "FCVI_OPCODE", resp, opcode, 24)
        codec.put("DH", "FCVI_MSG_ID", resp, 1, 24)
        return [bytes(buf), bytes(resp)]

    return edit


def _dh(kind: str, name: str, wrong: Any) -> Any:
    return {kind: put("DH", name, wrong)}


_UP = lambda n: n + 1  # noqa: E731

FAULTS = [
    # 6.2: Sends
    Fault("send-handle", f"6.2/{_RD}/{_ROLE}/small", "FCVI-6.2.2-02", out=_dh("SEND_RQST", "FCVI_HANDLE", lambda n: n ^ 1)),
    Fault("send-handle-in-one-frame", f"6.2/{_UD}/{_ROLE}/frames", "FCVI-6.2.2-02",
          out={"SEND_RQST": not_last("DH", "FCVI_HANDLE", 5)}),
    Fault("send-msg-id", f"6.2/{_RR}/{_ROLE}/small", "FCVI-5.9.6-03", out=_dh("SEND_RQST", "FCVI_MSG_ID", _UP)),
    Fault("send-msg-id-stands", f"6.2/{_RD}/class2/dut-server/small", "FCVI-6.2.2-08",
          out=_dh("SEND_RQST", "FCVI_MSG_ID", 1)),
    Fault("send-total", f"6.2/{_RR}/{_ROLE}/frames", "FCVI-6.2.2-10", out=_dh("SEND_RQST", "FCVI_TOT_LEN", _UP)),
    Fault("send-va", f"6.2/{_RD}/{_ROLE}/small", "FCVI-6.2.2-09", out=_dh("SEND_RQST", "FCVI_RMT_VA", 1)),
    Fault("send-region", f"6.2/{_RD}/{_ROLE}/small", "FCVI-6.2.2-09", out=_dh("SEND_RQST", "FCVI_RMT_VA_HANDLE", 1)),
    Fault("send-keeps-initiative", f"6.2/{_RR}/{_ROLE}/frames", "FCVI-6.2.1-05",
          out={"SEND_RQST": last_only("Sequence_Initiative", 0)}),
    Fault("send-ends-exchange", f"6.2/{_RR}/{_ROLE}/small", "FCVI-5.2.1-04", out={"SEND_RQST": put("FC", "Last_Sequence", 1)}),
    Fault("send-does-not-end", f"6.2/{_RD}/{_ROLE}/small", "FCVI-6.2.1-04", out={"SEND_RQST": put("FC", "Last_Sequence", 0)}),
    Fault("send-immediate-flag", f"6.2/{_RR}/{_ROLE}/immediate", "FCVI-6.2.2-05", out=_dh("SEND_RQST", "IMM_DATA", 0)),
    Fault("send-immediate-value", f"6.2/{_UD}/{_ROLE}/immediate", "FCVI-6.2.2-06", out=_dh("SEND_RQST", "MSG_PARAMETER", 9)),
    Fault("send-flag-without", f"6.2/{_UD}/{_ROLE}/small", "FCVI-6.2.2-07", out=_dh("SEND_RQST", "IMM_DATA", 1)),
    Fault("send-parameter-without", f"6.2/{_UD}/{_ROLE}/small", "FCVI-5.9.7.1-02", out=_dh("SEND_RQST", "MSG_PARAMETER", 1)),
    Fault("send-zero-without-flag", f"6.2/{_RD}/immediate-zero", "FCVI-6.2.2-05", out=_dh("SEND_RQST", "IMM_DATA", 0)),
    Fault("send-immediate-in-the-last-frame", f"6.2/{_RD}/immediate-in-frames", "FCVI-6.2.2-05",
          out={"SEND_RQST": without_immediate}),
    Fault("write-parameter-in-the-last-frame", f"6.4/{_RR}/immediate-in-frames", "FCVI-6.4.2-06",
          out={"WRITE_RQST": not_last("DH", "MSG_PARAMETER", 9)}),
    Fault("write-zero-without-flag", f"6.4/{_UD}/immediate-zero", "FCVI-6.4.2-05", out=_dh("WRITE_RQST", "IMM_DATA", 0)),
    Fault("receives-no-zero", f"6.3/{_UD}/immediate-zero", "FCVI-5.9.7.1-01", completions=no_immediate),
    Fault("seq-cnt-of-8-bits", "5.7/70000-bytes/field-size-256", "FCVI-5.8.6-01",
          out={"SEND_RQST": put("FC", "SEQ_CNT", lambda n: n & 0xFF)}),
    Fault("flushed-as-a-transport-error", f"8.1.flushed/{_RD}/by-dut", "FCVI-8.1-03", completions=not_flushed),
    Fault("stale-immediate", f"6.2/{_UD}/class3/dut-client/immediate", "FCVI-5.9.7.1-02", out={"SEND_RQST": stale_immediate}),
    Fault("left-posted", f"8.1.flushed/{_RD}/by-dut", "FCVI-8.1-03", completions=left_posted),
    Fault("flushed-as-lost", f"8.1.flushed/{_RR}/by-tester", "FCVI-8.2-d3", completions=not_flushed),
    Fault("send-data", f"6.2/{_RR}/class2/dut-client/frames", "FCVI-6.2.1-01", out={"SEND_RQST": corrupt}),
    Fault("send-as-solicited-control", f"6.2/{_RD}/{_ROLE}/small", "FCVI-T01-SEND_RQST-enc",
          out={"SEND_RQST": put("FC", "R_CTL", 4)}),
    Fault("send-offset-restarts", f"6.2/{_RD}/{_ROLE}/frames", "FCVI-5.8.7-02", out={"SEND_RQST": put("FC", "Parameter", 0)}),
    # 6.4: RDMA Writes
    Fault("write-handle", f"6.4/{_RD}/{_ROLE}/small", "FCVI-6.4.2-02", out=_dh("WRITE_RQST", "FCVI_HANDLE", lambda n: n ^ 1)),
    Fault("write-msg-id", f"6.4/{_RD}/{_ROLE}/small", "FCVI-6.4.2-08", out=_dh("WRITE_RQST", "FCVI_MSG_ID", 1)),
    Fault("write-total", f"6.4/{_UD}/{_ROLE}/frames", "FCVI-6.4.2-13", out=_dh("WRITE_RQST", "FCVI_TOT_LEN", 224)),
    Fault("write-va", f"6.4/{_UD}/{_ROLE}/small", "FCVI-6.4.2-09", out=_dh("WRITE_RQST", "FCVI_RMT_VA", _UP)),
    Fault("write-va-advances", f"6.4/{_RR}/{_ROLE}/frames", "FCVI-6.4.2-09",
          out={"WRITE_RQST": not_last("DH", "FCVI_RMT_VA", 224)}),
    Fault("write-region", f"6.4/{_RR}/{_ROLE}/small", "FCVI-6.4.2-11", out=_dh("WRITE_RQST", "FCVI_RMT_VA_HANDLE", 0)),
    Fault("write-region-differs", f"6.4/{_RR}/{_ROLE}/frames", "FCVI-6.4.2-11",
          out={"WRITE_RQST": not_last("DH", "FCVI_RMT_VA_HANDLE", 0)}),
    Fault("write-keeps-initiative", f"6.4/{_RR}/{_ROLE}/small", "FCVI-6.4.1-06",
          out={"WRITE_RQST": last_only("Sequence_Initiative", 0)}),
    Fault("write-does-not-end", f"6.4/{_UD}/class2/dut-client/small", "FCVI-6.4.1-05",
          out={"WRITE_RQST": put("FC", "Last_Sequence", 0)}),
    Fault("write-immediate-flag", f"6.4/{_RD}/{_ROLE}/immediate", "FCVI-6.4.2-05", out=_dh("WRITE_RQST", "IMM_DATA", 0)),
    Fault("write-immediate-value", f"6.4/{_RD}/{_ROLE}/immediate", "FCVI-6.4.2-06", out=_dh("WRITE_RQST", "MSG_PARAMETER", 9)),
    Fault("write-flag-without", f"6.4/{_RR}/{_ROLE}/small", "FCVI-6.4.2-07", out=_dh("WRITE_RQST", "IMM_DATA", 1)),
    Fault("write-data", f"6.4/{_RD}/{_ROLE}/small", "FCVI-6.4.1-01", out={"WRITE_RQST": corrupt}),
    # 6.6: RDMA Reads
    Fault("read-handle", f"6.6/{_RD}/{_ROLE}/one-frame", "FCVI-6.6.2-02", out=_dh("READ_RQST", "FCVI_HANDLE", 0)),
    Fault("read-msg-id", f"6.6/{_RR}/{_ROLE}/one-frame", "FCVI-6.6.2-06", out=_dh("READ_RQST", "FCVI_MSG_ID", 1)),
    Fault("read-total", f"6.6/{_RD}/{_ROLE}/one-frame", "FCVI-6.6.2-09", out=_dh("READ_RQST", "FCVI_TOT_LEN", 0)),
    Fault("read-va", f"6.6/{_RD}/{_ROLE}/one-frame", "FCVI-6.6.2-07", out=_dh("READ_RQST", "FCVI_RMT_VA", 0)),
    Fault("read-region", f"6.6/{_RD}/{_ROLE}/one-frame", "FCVI-6.6.2-08", out=_dh("READ_RQST", "FCVI_RMT_VA_HANDLE", 0)),
    Fault("read-immediate", f"6.6.immediate/{_RD}/class3", "FCVI-6.6.2-04",
          out=_dh("READ_RQST", "IMM_DATA", 1)),
    Fault("read-parameter", f"6.6/{_RD}/{_ROLE}/one-frame", "FCVI-6.6.2-05", out=_dh("READ_RQST", "MSG_PARAMETER", 1)),
    Fault("read-keeps-initiative", f"6.6/{_RD}/class2/dut-server/frames", "FCVI-6.6.1-05",
          out={"READ_RQST": put("FC", "Sequence_Initiative", 0)}),
    Fault("read-data-ignored", f"6.6/{_RD}/{_ROLE}/two-ius", "FCVI-6.7.1-02", into={"READ_RESP"}),
    # 6.3: answers to Sends
    Fault("no-send-resp", f"6.3/{_RR}/{_ROLE}/one-iu", "FCVI-6.3.1-01", out={"SEND_RESP": drop()}),
    Fault("two-send-resps", f"6.3/{_RR}/{_ROLE}/one-iu", "FCVI-6.3.1-02", out={"SEND_RESP": again}),
    Fault("send-resp-handle", f"6.3/{_RR}/class2/dut-server/two-ius", "FCVI-6.3.2-02", out=_dh("SEND_RESP", "FCVI_HANDLE", 0)),
    Fault("send-resp-msg-id", f"6.3/{_RR}/{_ROLE}/one-iu", "FCVI-6.3.2-05", out=_dh("SEND_RESP", "FCVI_MSG_ID", 0)),
    Fault("send-resp-parameter", f"6.3/{_RR}/{_ROLE}/one-iu", "FCVI-6.3.2-04", out=_dh("SEND_RESP", "MSG_PARAMETER", 1)),
    Fault("send-resp-error", f"6.3/{_RR}/{_ROLE}/one-iu", "FCVI-T06-0", out=_dh("SEND_RESP", "FCVI_FLAGS", 3)),
    Fault("send-resp-r-ctl", f"6.3/{_RR}/{_ROLE}/one-iu", "FCVI-T01-SEND_RESP-enc", out={"SEND_RESP": put("FC", "R_CTL", 3)}),
    Fault("send-resp-in-unreliable", f"6.3/{_UD}/class2/dut-client/one-iu", "FCVI-6.3.1-03",
          out={"ACK_1": unanswered_response("SEND_RESP")}),
    Fault("send-immediate-lost", f"6.3/{_UD}/{_ROLE}/immediate", "FCVI-5.9.7.1-01", completions=wrong_immediate),
    Fault("sends-not-received", f"6.3/{_RD}/{_ROLE}/many-ius", "FCVI-6.2.1-01", into={"SEND_RQST"}),
    # 6.5: answers to RDMA Writes
    Fault("no-write-resp", f"6.5/{_RR}/{_ROLE}/one-iu", "FCVI-6.5.1-01", out={"WRITE_RESP": drop()}),
    Fault("two-write-resps", f"6.5/{_RR}/{_ROLE}/one-iu", "FCVI-6.5.1-03", out={"WRITE_RESP": again}),
    Fault("write-resp-handle", f"6.5/{_RR}/{_ROLE}/many-ius", "FCVI-6.5.2-02", out=_dh("WRITE_RESP", "FCVI_HANDLE", 0)),
    Fault("write-resp-msg-id", f"6.5/{_RR}/{_ROLE}/one-iu", "FCVI-6.5.2-04", out=_dh("WRITE_RESP", "FCVI_MSG_ID", _UP)),
    Fault("write-resp-parameter", f"6.5/{_RR}/{_ROLE}/one-iu", "FCVI-6.5.2-05", out=_dh("WRITE_RESP", "MSG_PARAMETER", 1)),
    Fault("write-resp-in-reliable-delivery", f"6.5/{_RD}/class2/dut-client/one-iu", "FCVI-6.5.1-02",
          out={"ACK_1": unanswered_response("WRITE_RESP")}),
    Fault("writes-not-received", f"6.5/{_RD}/{_ROLE}/two-ius", "FCVI-6.4.1-02", into={"WRITE_RQST"}),
    Fault("write-immediate-lost", f"6.5/{_RD}/{_ROLE}/immediate", "FCVI-5.9.7.1-01", completions=wrong_immediate),
    Fault("places-by-count", f"6.5/{_RD}/uneven-frames", "FCVI-6.4.1-02", hears=places_by_count),
    Fault("write-offset-of-16-bits", "5.7.writes/70000-bytes/field-size-256", "FCVI-5.8.7-03", hears=short_offsets),
    Fault("write-length-in-16-bits", "5.7.writes/70000-bytes", "FCVI-6.4.2-13",
          out=_dh("WRITE_RQST", "FCVI_TOT_LEN", lambda n: n & 0xFFFF)),
    Fault("fill-bytes-count", "3.4.messages/rdma-write/class3/fill", "FCVI-3.4-04", hears=fill_counts),
    Fault("fill-bytes-of-reads-count", "3.4.messages/rdma-read/class2/fill", "FCVI-3.4-04", hears=fill_counts),
    Fault("address-of-32-bits", "5.9.4.3.protection/class3/address-high", "FCVI-5.9.7.3.1-04",
          hears=looks_at(0xFFFF_FFFF, 0xFFFF_FFFF), results={"VipRegisterMem": remembers}),
    Fault("memory-handle-of-16-bits", "5.9.4.3.protection/class3/handle-high", "FCVI-5.9.7.3.1-04",
          hears=looks_at(2**64 - 1, 0xFFFF), results={"VipRegisterMem": remembers}),
    # 6.7: answers to RDMA Reads
    Fault("no-read-resp", f"6.7/{_RD}/{_ROLE}/small", "FCVI-6.7.1-01", out={"READ_RESP": drop()}),
    Fault("read-resp-data", f"6.7/{_RR}/{_ROLE}/frames", "FCVI-6.7.1-02", out={"READ_RESP": corrupt}),
    Fault("read-resp-handle", f"6.7/{_RD}/{_ROLE}/small", "FCVI-6.7.2-02", out=_dh("READ_RESP", "FCVI_HANDLE", 0)),
    Fault("read-resp-msg-id", f"6.7/{_RD}/{_ROLE}/small", "FCVI-6.7.2-04", out=_dh("READ_RESP", "FCVI_MSG_ID", 0)),
    Fault("read-resp-flags", f"6.7/{_RD}/{_ROLE}/small", "FCVI-T06-0", out={"READ_RESP": flip("RESP_ERR")}),
    Fault("read-resp-parameter", f"6.7/{_RD}/{_ROLE}/small", "FCVI-6.7.2-05", out=_dh("READ_RESP", "MSG_PARAMETER", 1)),
    Fault("read-resp-va", f"6.7/{_RD}/{_ROLE}/small", "FCVI-6.7.2-07", out=_dh("READ_RESP", "FCVI_RMT_VA", 0)),
    Fault("read-resp-va-differs", f"6.7/{_RD}/{_ROLE}/frames", "FCVI-6.7.2-07",
          out={"READ_RESP": not_last("DH", "FCVI_RMT_VA", 0)}),
    Fault("read-resp-region", f"6.7/{_RD}/{_ROLE}/small", "FCVI-6.7.2-09", out=_dh("READ_RESP", "FCVI_RMT_VA_HANDLE", 0)),
    Fault("read-resp-total", f"6.7/{_RD}/{_ROLE}/small", "FCVI-6.7.2-11", out=_dh("READ_RESP", "FCVI_TOT_LEN", 0)),
    Fault("read-resp-not-last", f"6.7/{_RR}/class2/dut-server/frames", "FCVI-6.7.1-05",
          out={"READ_RESP": put("FC", "Last_Sequence", 0)}),
    # 6.4, 6.7 out of order and incomplete
    Fault("write-needs-order", f"6.4.1/{_RD}/class3/reversed", "FCVI-6.4.1-02", config={"fabric": "in-order"}),
    Fault("read-needs-order", f"6.7.1/{_RR}/class2/ius-mixed", "FCVI-6.7.1-02", config={"fabric": "in-order"}),
    Fault("incomplete-read-good", f"6.7.1.lost/{_RD}/in-order/class3/middle", "FCVI-5.2.1-10",
          completions=faults_clauses.all_good),
    Fault("incomplete-read-survived", f"6.7.1.lost/{_RR}/out-of-order/class3/last", "FCVI-8.4.2-e",
          results={"VipQueryVi": state(_CONNECTED, _ERROR)}),
    Fault("early-read-survived", f"B.R4b.read/{_RD}/class3", "FCVI-8.4.2-e",
          results={"VipQueryVi": state(_CONNECTED, _ERROR)}),
    *faults_annex_b.FAULTS,
    *faults_clauses.FAULTS,
]  # fmt: skip
