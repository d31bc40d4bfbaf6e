"""Names of the standard: IUs by their opcode (Table 1), Reason Codes (Table 12); and of Rev 1.0 of 1999 (its Tables 1 and 10)."""

from __future__ import annotations

from _fcvi import ffi, lib

FC_VI = int(lib.FCVI_TYPE_FC_VI)  # TYPE (5.8.3)
IU = {
    opcode: str(ffi.string(lib.fcvi_iu_name(iu)), "ascii").removeprefix("FCVI_")
    for opcode in range(256) if (iu := lib.fcvi_iu_of_opcode(opcode)) != lib.FCVI_IU_NONE
}  # fmt: skip
_SAID = {code: str(ffi.string(lib.fcvi_reason_name(code)), "ascii") for code in range(256)}
REASONS = {code: name.removeprefix("Connect Reject - ") for code, name in _SAID.items() if name != "Reserved"}
# A Reason Code of Rev 1.0, the one of 2007 that means the same, and its name (Table 10; 06h is taken for the 07h that it misprints)
REASONS_1999 = {
    0x01: (0x04, "Connect Reject"), 0x02: (0x01, "No Discriminator Match"), 0x03: (0x02, "Connect Timeout"),
    0x04: (0x03, "No Waiting Remote Endpoint"), 0x05: (0x05, "Concurrent Matching Peer Requests"),
    0x06: (0x06, "Duplicate Addresses"), 0x07: (0x06, "Duplicate Addresses"),
}  # fmt: skip
