"""Words of storage systems' logs, and what they are in FC-VI."""

from __future__ import annotations

#: Word, causes that write it, what it means here.
GLOSSARY: dict[str, tuple[tuple[str, ...], str]] = {
    "fcvi.cm.timedout": (
        ("lost-request", "lost-resp1", "lost-resp2", "lost-resp3", "timeout-too-short", "slow-accept", "no-answer"),
        "a Connection Setup that was not finished within FCVI_ULP_TIMEOUT, which is R_A_TOV (8.3, 8.5.2)",
    ),
    "fcvi.qlgc.connErr": (
        ("lost-message", "lost-response", "transport-error", "protocol-error", "memory-protection", "receive-queue-empty"),
        "an error on a Connection, with the FC-VI opcode (FCVI_OPCODE, Table 1), the queue pair (a VI: the FCVI_HANDLE) and the "
        "remote system (its Host Address)",
    ),
    "fcvi.cross.connect.detected": (
        ("no-match", "peers-gave-up"),
        "ports are cabled or zoned to the wrong partner: requests meet a port that nobody waits on",
    ),
    "nicViError SEND_DESC_TIMEOUT": (
        ("lost-message", "lost-response", "timeout-too-short", "credit-starvation"),
        "a send Descriptor without its Message Response within R_A_TOV: the Message is aborted with ABTS (8.4.2 a)",
    ),
    "rdma.write_average_latency": (("credit-starvation",), "request to response of RDMA Writes: `fcvi flows` has p50, p99, most"),
    "CRC errors": (("bit-errors",), "frames with a wrong CRC at a port"),
    "discards": (("credit-starvation", "lost-message"), "frames that a switch dropped, by timeout or for want of a buffer"),
    "resets": (("login-lost",), "link resets: Connections are void after them (7.7)"),
    "IOD, AptPolicy, in-order-guarantee": (("out-of-order",), "switch settings by which a Fabric delivers in order (Annex B)"),
    "OOD, DLS": (("out-of-order",), "switch settings by which frames of one pair of ports may overtake each other"),
}


def logs_of(cause: str) -> list[str]:
    """The words that a log may have for a cause."""
    return [word for word, (causes, _) in GLOSSARY.items() if cause in causes]
