"""Says what can be combined with what on this wire: factors, their values and the constraints of the draft, each written once.

A factor has the name of the parameter of a variant.
"""

from __future__ import annotations

from conformance.covering import Constraint, Model

ROLE, FAMILY, LEVEL, OPERATION, SENDER = "role", "family", "level", "op", "sender"
LENGTH, SEGMENTS, CUT, CONNECTION, WAITING, CREDIT = "length", "segments", "cut", "connection", "waiting", "credit"
#: Bytes of the longest message that is sent byte by byte.
MOST_BY_BYTES = 4096
_AGREED = "20011"
_ROLES, _LEVELS, _CONNECTIONS = ("dut-client", "dut-server"), ("ud", "rd", "rr"), ("first", "after-close", "after-reset")

MESSAGES = Model(
    "vitcp",
    "Messages of VI/TCP",
    {
        ROLE: _ROLES, LEVEL: _LEVELS, OPERATION: ("send", "rdma-write", "rdma-read"), SENDER: ("dut", "tester"),
        LENGTH: ("1", str(MOST_BY_BYTES), "65536", "65537", _AGREED), SEGMENTS: ("one", "two", "many", "empty-between"),
        CUT: ("whole", "bytes", "fields", "joined", "across"), CONNECTION: _CONNECTIONS,
    },
    (
        Constraint("RDMA Read needs a reliable level (VI-ARCH 2.5.1)", lambda r: r[OPERATION] != "rdma-read" or r[LEVEL] != "ud"),
        Constraint(
            "a responder has no Descriptor, and divides as it likes (2.2.2.2.3)",
            lambda r: r[OPERATION] != "rdma-read" or r[SENDER] == "dut" or r[SEGMENTS] == "one",
        ),
        Constraint(
            "megabytes of the DUT protocol would follow from longer ones",
            lambda r: r[CUT] != "bytes" or int(r[LENGTH]) <= MOST_BY_BYTES,
        ),
    ),
    3,
)  # fmt: skip
CREDITS = Model(
    "vitcp",
    "Credits of VI/TCP",
    {
        ROLE: _ROLES, FAMILY: ("ipv4", "ipv6"), LEVEL: _LEVELS, OPERATION: ("send", "rdma-write"), WAITING: ("one", "several"),
        CREDIT: ("nop", "ack", "send", "response"), CONNECTION: _CONNECTIONS,
    },
    (
        Constraint(
            "nothing is acknowledged or read at Unreliable Delivery (3.1, VI-ARCH 2.5.1)",
            lambda r: r[LEVEL] != "ud" or r[CREDIT] in ("nop", "send"),
        ),
    ),
    3,
)  # fmt: skip
MODELS = (MESSAGES, CREDITS)
