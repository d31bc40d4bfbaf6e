"""Broken devices for the second arrangement, with the reference port on the far side."""

from __future__ import annotations

from .faulty import Fault, drop, put

FAULTS = [
    Fault("far-message-not-heard", "5.2.far/unreliable/send/dut-client/class3/in-order", "FCVI-4.2-16", into={"SEND_RQST"}),
    Fault("far-write-corrupted", "5.2.far/reliable-delivery/rdma-write/dut-server/class2/in-order", "FCVI-4.2-16",
          out={"WRITE_RQST": lambda d, v, b: b.__setitem__(56, b[56] ^ 1)}),
    Fault("far-peer-refused", "5.3.4.far/below/class3/crossing", "FCVI-5.3.4-02",
          out={"CONNECT_RESP1": drop(), "CONNECT_RESP2": drop()}),
    Fault("far-retry-missing", "C.5.far/dut-client/rqst", "FCVI-6.8.1-01", out={"CONNECT_RQST": drop(2)}),
    Fault("far-disconnect-not-heard", "D.2.far/dut-client/far-first", "FCVI-8.2-d3", into={"DISCONNECT_RQST"}),
    Fault("far-ids-go-on", "D.2.far/dut-client/dut-first", "FCVI-5.9.6-03", out={"SEND_RQST": put("DH", "FCVI_MSG_ID", 2, 2)}),
    Fault("far-farp-missing", "7.5.far/point-to-point", "FCVI-6.8.1-01", out={"FARP_REQ": drop()}),
]  # fmt: skip
