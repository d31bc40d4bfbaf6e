"""Holds what libibverbs may say where the specification has one word: the tables of the errata B53 and B54."""

from __future__ import annotations

SUCCESS, FLUSHED = "SUCCESS", "WR_FLUSH_ERR"
#: Every status of a WC in libibverbs that RC queue pairs can have.
STATUSES = frozenset("""
SUCCESS LOC_LEN_ERR LOC_QP_OP_ERR LOC_EEC_OP_ERR LOC_PROT_ERR WR_FLUSH_ERR MW_BIND_ERR BAD_RESP_ERR LOC_ACCESS_ERR REM_INV_REQ_ERR
REM_ACCESS_ERR REM_OP_ERR RETRY_EXC_ERR RNR_RETRY_EXC_ERR LOC_RDD_VIOL_ERR REM_INV_RD_REQ_ERR REM_ABORT_ERR INV_EECN_ERR
INV_EEC_STATE_ERR FATAL_ERR RESP_TIMEOUT_ERR GENERAL_ERR
""".split())

# Of the WR at fault (B54).
LOCAL = frozenset("LOC_PROT_ERR LOC_ACCESS_ERR LOC_QP_OP_ERR LOC_LEN_ERR GENERAL_ERR FATAL_ERR".split())
TOO_SHORT = LOCAL | {"REM_INV_REQ_ERR"}
TOO_LARGE = frozenset("LOC_LEN_ERR LOC_QP_OP_ERR LOC_PROT_ERR".split())
#: The initiator does not know the operation, or the target does not and says so.
UNSUPPORTED = frozenset("LOC_QP_OP_ERR GENERAL_ERR REM_INV_REQ_ERR REM_OP_ERR".split())
ORD_ZERO = LOCAL | {"REM_INV_RD_REQ_ERR", "REM_INV_REQ_ERR"}
BIND = INVALIDATE = LOCAL | {"MW_BIND_ERR"}
#: Of the initiator of an access that the target refuses, of Writes and Sends; a Read never has SUCCESS.
REFUSED_IWARP = frozenset(
    "SUCCESS WR_FLUSH_ERR LOC_QP_OP_ERR REM_ACCESS_ERR REM_OP_ERR REM_ABORT_ERR RETRY_EXC_ERR GENERAL_ERR FATAL_ERR".split()
)
#: Of a Read whose sink may not be written: the error is found at its own end, and ends the stream.
SINK = LOCAL | REFUSED_IWARP - {SUCCESS}
REFUSED_IB = frozenset("REM_ACCESS_ERR REM_OP_ERR REM_INV_REQ_ERR".split())
#: Of the initiator of a Send that the peer's Receive cannot take, on IB.
UNFIT_IB = frozenset("REM_OP_ERR REM_INV_REQ_ERR".split())
#: Of an initiator that has sent again as often as it may.
GIVEN_UP = frozenset({"RETRY_EXC_ERR"})
NO_RECEIVE_IB = frozenset({"RNR_RETRY_EXC_ERR"})

# Asynchronous events (B53).
QP_EVENTS = frozenset("QP_FATAL QP_REQ_ERR QP_ACCESS_ERR".split())
#: Which member each event fills; an event that is not here is not judged.
RESOURCE = {**dict.fromkeys(("QP_FATAL", "QP_REQ_ERR", "QP_ACCESS_ERR"), "qp"), "CQ_ERR": "cq",
            **dict.fromkeys(("SRQ_LIMIT_REACHED", "SRQ_ERR"), "srq")}  # fmt: skip
#: The device is gone: nothing can be said of the provider (B53).
DEAD = frozenset({"DEVICE_FATAL"})

#: The opcode of a successful WC, by that of the WR; of the other operations it is not judged.
OPCODES = {"SEND": "SEND", "SEND_WITH_INV": "SEND", "RDMA_WRITE": "RDMA_WRITE", "RDMA_READ": "RDMA_READ", "RECV": "RECV",
           "BIND_MW": "BIND_MW", "LOCAL_INV": "LOCAL_INV"}  # fmt: skip
