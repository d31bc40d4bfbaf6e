"""Names of the standard: IUs by their opcode (Table 1), Reason Codes (Table 12); and of Rev 1.0 of 1999 (its Tables 1 and 10)."""

from __future__ import annotations

IU = {
    0x00: "SEND_RQST", 0x01: "WRITE_RQST", 0x02: "READ_RQST", 0x08: "SEND_RESP", 0x09: "WRITE_RESP", 0x0A: "READ_RESP",
    0x10: "CONNECT_RQST", 0x12: "DISCONNECT_RQST", 0x18: "CONNECT_RESP1", 0x19: "CONNECT_RESP2", 0x1A: "CONNECT_RESP3",
    0x1B: "DISCONNECT_RESP",
}  # fmt: skip
REASONS = {
    0x01: "No Discriminator Match", 0x02: "Connect Timeout", 0x03: "No Waiting Remote Connectionpoint", 0x04: "Connect Reject",
    0x05: "Concurrent Matching Peer Requests", 0x20: "Invalid Service Parm", 0x21: "Protocol Error", 0x22: "Transport Error",
    0x40: "Transport Error", 0x41: "RDMA Protection Error", 0x42: "Remote Descriptor Error",
    0x43: "Remote RDMA Write Protection Error", 0x44: "Remote RDMA Write Data Error", 0x45: "Remote RDMA Write Packet Abort",
    0x46: "Remote RDMA Transport Error", 0x47: "Remote RDMA Read Protection Error", 0x48: "Protocol Error",
    0x49: "Connection Setup Timeout", 0x4A: "Connection Does Not Exist", 0x4B: "Disconnect Accept",
    **dict.fromkeys(range(0xF0, 0x100), "Vendor Unique Error"),
}  # fmt: skip
# A Reason Code of Rev 1.0, the one of 2007 that means the same, and its name (Table 10; 06h is taken for the 07h that it misprints)
REASONS_1999 = {
    0x01: (0x04, "Connect Reject"), 0x02: (0x01, "No Discriminator Match"), 0x03: (0x02, "Connect Timeout"),
    0x04: (0x03, "No Waiting Remote Endpoint"), 0x05: (0x05, "Concurrent Matching Peer Requests"),
    0x06: (0x06, "Duplicate Addresses"), 0x07: (0x06, "Duplicate Addresses"),
}  # fmt: skip
