"""FARP (7.5): one wrong field of a request or a reply."""

import struct

from conformance.tests.breaches import flows, wire
from conformance.tests.breaches.flows import Port, Wire
from conformance.tests.breaches.scene import Place, add
from conformance.tests.breaches.wire import END, FIRST, INITIATIVE, LAST, Frame

Made = tuple[Wire, Frame, Place]
#: Byte of each field in the FARP payload and its length (RFC 2625 5.3).
CODE, REQUESTER_ID, ACTION, RESPONDER_ID, NAME, NODE, RESPONDER_NAME, RESPONDER_NODE, ADDRESS, RESPONDER_ADDRESS = (
    (4, 1), (5, 3), (8, 1), (9, 3), (12, 8), (20, 8), (28, 8), (36, 8), (44, 16), (60, 16))  # fmt: skip


def farp(command: int, a: Port, b: Port) -> bytearray:
    """A FARP-REQ of ``a`` for the address of ``b`` (54h), or the FARP-REPLY of ``b`` to it (55h)."""
    reply = command == 0x55
    return bytearray(
        bytes([command, 0, 0, 0, 4]) + a.id.to_bytes(3, "big") + b"\2" + (b.id if reply else 0).to_bytes(3, "big")
        + struct.pack(">QQQQ", a.name, a.node, b.name if reply else 0, b.node if reply else 0) + a.host + b.host
    )  # fmt: skip


def session(wrong: str, at: tuple[int, int], value: int) -> Made:
    """Login, FARP-REQ, FARP-REPLY, a setup: both are FC-VI ports."""
    w = Wire()
    a, b = w.port(1), w.port(2)
    w.run(flows.login(w, a, b))
    ask = w.emit(Frame(a.id, 0xFFFFFF, 0x22, FIRST | LAST | END, 9, 0, 0xF100, type=1, raw=farp(0x54, a, b)))
    reply = w.emit(Frame(b.id, a.id, 0x22, FIRST | END | INITIATIVE, 9, 0, 0xF101, type=1, raw=farp(0x55, a, b)))
    w.emit(Frame(a.id, b.id, 0x23, wire.EXCHANGE_RESPONDER | LAST | END | INITIATIVE, 9, 0, 0xF101, 0xFFFF, type=1,
                 raw=bytearray([2, 0, 0, 0])))  # fmt: skip
    w.run(flows.connect(flows.pair(w, a, b, 2)))
    frame = ask if wrong == "request" else reply
    frame.raw[at[0] : at[0] + at[1]] = value.to_bytes(at[1], "big")
    return w, frame, (24 + at[0], at[1])


# What another FC-4 of the port may ask for (RFC 2625) is no breach of 7.5: only what no FARP of any kind may say stands here.
for name, at, value, request, reply in (
    ("code", CODE, 1, "", "7.5-17"), ("action", ACTION, 1, "", "7.5-19"),
    ("requester_id", REQUESTER_ID, 0x0A0A0A, "7.5-03", "7.5-18"), ("responder_id", RESPONDER_ID, 0x0B0B0B, "", "7.5-20"),
    ("requester_name", NAME, 0x1000000000000099, "7.5-05", "7.5-21"), ("requester_address", ADDRESS, 0x77, "", "7.5-25"),
    ("responder_address", RESPONDER_ADDRESS, 0x77, "", "7.5-26"),
):  # fmt: skip
    for which, requirement in (("request", request), ("reply", reply)):
        if requirement:
            add(f"farp_{which}_{name}", requirement, lambda which=which, at=at,
                value=value: session(which, at, value))  # type: ignore[misc]
