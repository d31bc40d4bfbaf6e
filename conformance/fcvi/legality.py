"""Says what can be combined with what in FC-VI: factors, their values and the constraints of the standard, each written once."""

from __future__ import annotations

from conformance.covering import Constraint, Model, Row

ROLE, OPERATION, LEVEL, CLASS, ORDER = "role", "operation", "level", "class", "fabric order"
TOPOLOGY, LOGIN, IMMEDIATE, SIZE, INFO = "topology", "login", "immediate data", "receive size", "provider information"
WHO, TRAFFIC, LENGTH, CUT, ADDRESS = "who begins", "Messages before", "length", "IUs", "virtual address"
LOST, EVENT, BA = "lost IU", "event", "answer to ABTS"
_WITH_FABRIC = ("public-loop", "fabric")


_ORDER_NEEDS_A_FABRIC = Constraint(
    "frames change their order in a Fabric only, which is where a topology has one (8.4.1, 4.2)",
    lambda r: r[ORDER] == "in-order" or r[TOPOLOGY] in _WITH_FABRIC,
)
_TOPOLOGIES = ("point-to-point", "private-loop", "public-loop", "fabric")
_LEVELS = ("unreliable", "reliable-delivery", "reliable-reception")
_ROLES, _LOGINS = ("dut-client", "dut-server"), ("implicit", "explicit")

MESSAGES = Model(
    "fcvi",
    "Messages",
    {
        ROLE: _ROLES, OPERATION: ("send", "rdma-write", "rdma-read"), LEVEL: _LEVELS, CLASS: ("3", "2"),
        ORDER: ("in-order", "out-of-order"), TOPOLOGY: _TOPOLOGIES, LOGIN: _LOGINS, IMMEDIATE: ("without", "with"),
    },
    (
        Constraint("RDMA Read needs a reliable level (5.2.4)", lambda r: r[OPERATION] != "rdma-read" or r[LEVEL] != "unreliable"),
        Constraint(
            "FCVI_READ_RQST has no Immediate Data (5.9.4.2)", lambda r: r[OPERATION] != "rdma-read" or r[IMMEDIATE] == "without"
        ),
        _ORDER_NEEDS_A_FABRIC,
    ),
    4,
)  # fmt: skip
SETUPS = Model(
    "fcvi",
    "Connection Setups",
    {
        ROLE: _ROLES, CLASS: ("3", "2"), TOPOLOGY: _TOPOLOGIES, LEVEL: _LEVELS, SIZE: ("2112", "512", "256"), LOGIN: _LOGINS,
        INFO: ("without", "with"),
    },
    (),
    4,
)  # fmt: skip
DISCONNECTS = Model(
    "fcvi",
    "Disconnects",
    {
        ROLE: _ROLES, WHO: ("dut", "tester", "both"), LEVEL: _LEVELS, CLASS: ("3", "2"), TOPOLOGY: _TOPOLOGIES, LOGIN: _LOGINS,
        TRAFFIC: ("without", "with"),
    },
    (),
    4,
)  # fmt: skip


def _tester_sends_the_data(row: Row) -> bool:
    return (row[OPERATION] == "rdma-write") == (row[WHO] == "tester")


RDMA = Model(
    "fcvi",
    "RDMA",
    {
        WHO: ("dut", "tester"), OPERATION: ("rdma-write", "rdma-read"), LEVEL: _LEVELS, CLASS: ("3", "2"),
        ORDER: ("in-order", "out-of-order"), LENGTH: ("1", "200", "501"), CUT: ("one", "several"),
        IMMEDIATE: ("without", "with"), ADDRESS: ("even", "odd"),
    },
    (
        *MESSAGES.constraints[:2],
        Constraint(
            "the tester cuts what it sends itself, and a Message of one frame is one IU (5.2.3, 5.2.4)",
            lambda r: r[CUT] == "one" or (r[LENGTH] == "501" and _tester_sends_the_data(r)),
        ),
    ),
    4,
)  # fmt: skip
RETRIES = Model(
    "fcvi",
    "Retries",
    {
        ROLE: _ROLES, LOST: ("request", "response"), BA: ("BA_ACC", "none"), CLASS: ("3", "2"), TOPOLOGY: _TOPOLOGIES,
        LEVEL: _LEVELS, LOGIN: _LOGINS,
    },
    (
        Constraint(
            "in class 2 the originator misses the ACK of a lost request before its answer (FC-FS): 8.5.2 b) is another case",
            lambda r: r[LOST] == "response" or r[CLASS] == "3",
        ),
        Constraint(
            "only the tester may leave an ABTS without its answer (FC-FS)", lambda r: r[BA] == "BA_ACC" or r[ROLE] == "dut-client"
        ),
    ),
    4,
)  # fmt: skip
LINK_EVENTS = Model(
    "fcvi",
    "Link events",
    {
        ROLE: _ROLES, EVENT: ("logo-of-the-dut", "logo-of-the-tester", "lr", "nos", "lip"), CLASS: ("3", "2"),
        TOPOLOGY: _TOPOLOGIES, LEVEL: _LEVELS, LOGIN: _LOGINS,
    },
    (
        Constraint(
            "a LIP is of loops, Link Reset and NOS/OLS are not (7.7.2 to 7.7.5)",
            lambda r: r[EVENT].startswith("logo") or (r[EVENT] == "lip") == r[TOPOLOGY].endswith("loop"),
        ),
    ),
    4,
)  # fmt: skip
MODELS = (MESSAGES, SETUPS, DISCONNECTS, RDMA, RETRIES, LINK_EVENTS)
