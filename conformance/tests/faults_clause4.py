"""Broken devices for the cases of clauses 3, 4, 5.8, 5.9.7.2.2 and 7.2 and 7.3."""

from __future__ import annotations

from typing import Any

from fcvi.dut.ref import RefDut
from fcvi.fc import codec

from .faulty import Fault, FaultyDut, drop, put, returns, state


def _any_type(dut: FaultyDut, view: codec.Frame) -> None:
    """A frame of another TYPE is taken for one of FC-VI."""
    if view.header("TYPE") in (0x59, 0xD8):
        buf = bytearray(view.data)
        codec.put("FC", "TYPE", buf, 0x58)
        RefDut.notify(dut, "frame", {"hex": buf.hex(), "crc": "ok"})


def _copies(many: int) -> object:
    """The frame and further ones like it, each in an Exchange of its own."""

    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
        frames = [bytes(buf)]
        for _ in range(many):
            again = bytearray(buf)
            dut.memory["ox_id"] = dut.memory.get("ox_id", 0x7000) + 1
            codec.put("FC", "OX_ID", again, dut.memory["ox_id"])
            frames.append(bytes(again))
        return frames

    return edit


def first_handle_again(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> None:
    """Give every connection the handle of the first."""
    seen = codec.get("CONN", "FCVI_RESP_HANDLE", bytes(buf), view.payload_offset)
    codec.put("CONN", "FCVI_RESP_HANDLE", buf, dut.memory.setdefault("handle", seen), view.payload_offset)


_ACCEPTS = {"CONNECT_RESP1": put("DH", "CONN_STS", 0, 1)}


def _rdma(params: dict[str, Any]) -> dict[str, Any]:
    """VIs that serve RDMA whatever the application asked for."""
    return {**params, "ViAttribs": {**params["ViAttribs"], "EnableRdmaWrite": True}}


FAULTS = [
    Fault("waits-for-a-zero-parameter", "3.4/dut-server/parameter", "FCVI-6.11.1-01", into={"CONNECT_RESP2"}),
    Fault("too-many-sequences", "4.1.2/dut-client", "FCVI-4.1-02", out={"SEND_RQST": _copies(60)}),
    Fault("local-host-compared", "4.2.34/other-local-host", "FCVI-4.2-34", out={"CONNECT_RESP1": put("DH", "CONN_STS", 1)}),
    Fault("discriminator-length-ignored", "7.2/longer-by-a-zero", "FCVI-4.2-34", out=_ACCEPTS),
    Fault("129-bytes", "7.2.6/of-the-dut", "FCVI-7.2-06",
          results={"VipConnectRequest": returns("VIP_TIMEOUT", "VIP_INVALID_PARAMETER")}),
    Fault("one-of-two-waits", "4.2.30", "FCVI-6.9.1-01", out={"CONNECT_RESP1": drop(2)}),
    Fault("one-handle-for-all", "4.2.9/dut-server", "FCVI-4.2-09", out={"CONNECT_RESP1": first_handle_again}),
    Fault("one-id-for-all-setups", "4.2.9/dut-client", "FCVI-5.3.2-10",
          out={"CONNECT_RQST": put("DH", "FCVI_CONNECTION_ID", 7)}),
    Fault("one-counter-for-both", "4.2.13/dut-client", "FCVI-4.2-13", out={"SEND_RQST": put("DH", "FCVI_MSG_ID", 4, 2)}),
    Fault("level-without-responses", "4.2.14/reliable-reception/dut-client/class3", "FCVI-4.2-14", out={"SEND_RESP": drop()}),
    Fault("read-one-byte-off", "4.2.16/rdma-read/dut-server", "FCVI-5.8.7-03",
          out={"READ_RESP": lambda d, v, b: b.__setitem__(slice(56, None), b[57:] + b"\0")}),
    Fault("no-message-on-a-loop", "4.2.18/private-loop/dut-client/implicit", "FCVI-4.2-18", out={"SEND_RQST": drop()}),
    Fault("preference-of-the-other", "5.8.2/dut-server/dut-off/tester-on", "FCVI-7.3-08",
          out={"SEND_RQST": put("FC", "PREF", 1)}),
    Fault("preference-of-disconnects", "5.8.2.rdma/reliable-delivery/rdma-read/class3", "FCVI-5.8.2-06",
          out={"DISCONNECT_RQST": put("FC", "PREF", 1)}),
    Fault("preference-not-said", "6.8.3/preference", "FCVI-T18-w0",
          out={"CONNECT_RQST": lambda d, v, b: b.__setitem__(56 + 316, 0)}),
    Fault("response-does-not-end", "5.8.4/dut-client/1-bytes", "FCVI-5.8.4-03",
          out={"SEND_RESP": put("FC", "Last_Sequence", 0)}),
    Fault("pipeline-ignored", "7.3.14/dut-client/0", "FCVI-7.3-14", out={"SEND_RQST": _copies(1)}),
    Fault("protocol-error-for-parameters", "5.9.7.2.2.login/no-s", "FCVI-5.9.7.2.2-01",
          out={"CONNECT_RESP1": put("DH", "Reason_Code", 0x21)}),
    Fault("transport-error-accepted", "5.9.7.2.2.transport", "FCVI-5.9.7.2.2-03",
          results={"VipConnectRequest": returns("VIP_SUCCESS")}),
    Fault("lives-without-message-2", "5.3.5/dut-client", "FCVI-8.4.2-e",
          results={"VipQueryVi": state("VIP_STATE_CONNECTED", "VIP_STATE_ERROR")}),
    # 5.8.1, 7.3
    Fault("silent-after-a-damaged-frame", "5.8.1.crc", "FCVI-6.9.1-01", out={"CONNECT_RESP1": drop()}),
    Fault("any-type", "5.8.3.other/reliable-delivery/class3/59", "FCVI-5.8.3-01", hears=_any_type),
    Fault("rdma-for-every-vi", "7.3.enabled/unreliable/rdma-write", "FCVI-T17-1", params={"VipCreateVi": _rdma}),
]  # fmt: skip
