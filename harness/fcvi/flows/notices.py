"""Reads what the Fabric and its ports report of themselves: FPIN (notices of a port) and RDP (its counters)."""

from __future__ import annotations

_LINK = {1: "link failure", 2: "loss of synchronization", 3: "loss of signal", 4: "primitive sequence protocol error",
         5: "invalid transmission words", 6: "invalid CRC"}  # fmt: skip
_DELIVERY = {1: "timeout", 2: "unable to route"}
_CONGESTION = {0: "clear", 1: "lost credit", 2: "credit stall", 3: "oversubscription"}
_LESB = ("link failures", "losses of synchronization", "losses of signal", "primitive sequence protocol errors",
         "invalid transmission words", "invalid CRCs")  # fmt: skip


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big")


def _descriptors(data: bytes, most: int = 64) -> list[tuple[int, bytes]]:
    found: list[tuple[int, bytes]] = []
    at = 8
    while at + 8 <= len(data) and len(found) < most:
        tag, length = _number(data, at, 4), _number(data, at + 4, 4)
        found.append((tag, data[at + 8 : at + 8 + length]))
        at += 8 + length
    return found


def of_fpin(data: bytes) -> str:
    """The notices of an FPIN in words, from its command on."""
    said = []
    for tag, body in _descriptors(data):
        names = f"of {_number(body, 8, 8):016X} at {_number(body, 0, 8):016X}" if len(body) >= 16 else ""
        if tag == 0x00020001 and len(body) >= 28:
            said.append(f"link integrity {names}: {_LINK.get(_number(body, 16, 2), 'event of the device')}, "
                        f"{_number(body, 24, 4)} times")  # fmt: skip
        elif tag == 0x00020002 and len(body) >= 20:
            said.append(f"delivery {names}: {_DELIVERY.get(_number(body, 16, 4), 'reason of the device')}")
        elif tag == 0x00020003 and len(body) >= 20:
            said.append(f"congestion {names}: {_CONGESTION.get(_number(body, 16, 2), 'event of the device')}")
        elif tag == 0x00020004 and len(body) >= 4:
            said.append(f"congestion: {_CONGESTION.get(_number(body, 0, 2), 'event of the device')}")
    return "; ".join(said)


def of_rdp(data: bytes) -> str:
    """The counters of errors in an answer to RDP; empty where all are 0."""
    for tag, body in _descriptors(data):
        if tag == 0x00010002 and len(body) >= 24:
            counts = [f"{_number(body, 4 * i, 4)} {words}" for i, words in enumerate(_LESB) if _number(body, 4 * i, 4)]
            return ", ".join(counts)
    return ""


#: Of a notice's words, the causes that they speak for.
SPEAKS_FOR = {
    "link": ("bit-errors", "lost-message", "lost-response", "lost-request", "lost-resp1", "lost-resp2", "lost-resp3",
             "lost-disconnect"),
    "invalid": ("bit-errors", "lost-message", "lost-response", "lost-request", "lost-resp1", "lost-resp2", "lost-resp3"),
    "delivery": ("lost-message", "lost-response", "lost-request", "lost-resp1", "lost-resp2", "lost-resp3", "lost-disconnect"),
    "congestion": ("credit-starvation", "lost-message", "lost-response", "timeout-too-short", "slow-accept"),
}
