"""Guesses what may have made a device do what it did, from the finding alone, the likeliest first.

They are said to be guesses wherever they are shown. Nothing of a verdict depends on them.
"""

from __future__ import annotations

import re
from typing import Optional

from fcvi.engine.attachment import crashed
from fcvi.engine.pics import names_in
from fcvi.engine.results import Finding
from .words import anywhere

_HEX = re.compile(r"(?<![0-9A-Fa-f])([0-9A-Fa-f]+)h")


def _hexadecimal(words: str) -> Optional[bytes]:
    found = _HEX.fullmatch(words.strip())
    if found is None:
        return None
    digits = found[1]
    return bytes.fromhex(digits.rjust(len(digits) + len(digits) % 2, "0"))


def _of_field(seen: str, required: str) -> list[str]:
    has, wants = _hexadecimal(seen), _hexadecimal(required)
    if has is None:
        return []
    if wants is not None and len(wants) > 1:
        length = max(len(has), len(wants))
        one, other = has.rjust(length, b"\0"), wants.rjust(length, b"\0")
        if one == other[::-1] and one != other:
            return ["the bytes of the field stand in the order of the host; the wire is big-endian"]
    if not any(has):
        return ["the field is never set, or it is cleared before the frame is sent"]
    if all(byte == 0xFF for byte in has):
        return ["the device sends the value for \"none\" or \"unassigned\" where it has to name one"]
    return ["the field is filled from another variable, from an earlier Exchange or from the received frame"]


_BY_WORDS = (
    (r"\bretr", ["the device never retries", "its retry timer was not started, or the failure that starts it was not noticed",
                 "its timer is another one than R_A_TOV of this run"]),
    (r"reserved", ["the frame is built in memory that was not cleared", "a later revision's field is used"]),
    (r"\bstate\b", ["the state machine misses a transition, or takes it too early or too late"]),
    (r"\bVip\w+ returned", ["the upper tester puts the error into another VIP_RETURN",
                            "the device did what was asked but reports it wrongly"]),
    (r"(?i)timeout|time|late|early", ["a timer runs with another value than R_A_TOV or E_D_TOV of this run",
                                      "the device is slower than its tolerance (PIXIT late_ms)"]),
    (r"complet", ["the completion is queued at the wrong moment or not at all"]),
    (r"(?i)handle|connection_id|ox_id|rx_id|seq_", ["the identifier is kept for one Exchange only, or taken from the wrong side"]),
)


#: Items without which there is no device to test: who claims one of them has it.
_OF_EVERY_DEVICE = frozenset({"client", "server", "peer_to_peer", "send", "class3", "unreliable_delivery", "tcp", "revision"})
_REFUSES = re.compile(r"NOT_SUPPORTED|VIP_INVALID_|not supported")


def _lacks(finding: Finding) -> bool:
    """Whether the device did nothing, or said that it cannot: then it may not have what the case needs."""
    return finding.seen in ("nothing", "none") or _REFUSES.search(finding.seen) is not None


def likely(finding: Optional[Finding], reason: str, needs: str) -> list[str]:
    """Likely causes of a failure. needs: the PICS expression that made the case applicable.

    Args:
        finding: the first one that failed the case; None when no frame or call was at fault.
        reason: why the case did not pass, in a sentence.
        needs: "" when the case always applies.
    """
    found: list[str] = []
    if finding is not None:
        if finding.byte is not None or finding.bits is not None:
            found += _of_field(finding.seen, finding.required)
        for pattern, causes in _BY_WORDS:
            if re.search(pattern, anywhere(finding.message)):
                found += causes
                break
        if finding.seen in ("nothing", "none") and not found:
            found += ["the device did not notice what the tester sent, or refused it silently",
                      "it waits for something that the standard does not promise"]  # fmt: skip
        elif finding.required.startswith("no ") and not found:
            found += ["the device does not check what it receives before it acts on it"]
    elif crashed(reason):
        found += ["a fault in the program that exec: starts, device or adapter: dut.log has its last words, a debugger the place"]
    elif "has no wire" in reason:
        found += ["only calls of this device were attached, so the suite cannot see what it sends"]
    elif "closed" in reason:
        found += ["the device or its adapter ended, or was ended; its last words are in dut.log"]
    elif "answer" in reason or "exited" in reason or "attach" in reason:
        found += ["the device or its adapter crashed; its last words are in dut.log", "it is slower than --rpc-timeout"]
    if finding is not None and needs and _lacks(finding) and not set(names_in(needs)) <= _OF_EVERY_DEVICE:
        found.append(f"the device does not have what its PICS claims ({needs})")
    return list(dict.fromkeys(found))[:4]
