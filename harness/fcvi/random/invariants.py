"""Checks what holds after every letter of every word, whatever came before it, for every conforming device."""

from __future__ import annotations

from typing import Any

from .scenario import WordScenario


def after_letter(t: WordScenario, world: Any) -> None:
    """Each Descriptor completes once; no call hangs; nobody is connected to a port that has not agreed; one retry."""
    for (vi, queue), count in t.counted.by_queue.items():
        if count > t.posted[vi, queue]:
            t.breach("VIARCH-completes-once", f"more completions than Descriptors in the {queue} queue", str(count),
                     str(t.posted[vi, queue]))  # fmt: skip
    for call in world.blocked():
        t.breach("FCVI-8.3-01", f"{call.method} has not returned", "still blocked", "returned by now")
        break
    for call in world.unagreed:
        t.breach("FCVI-8.2-b1", f"{call.method} succeeded though the far side has not agreed", "VIP_SUCCESS", "no success")
    for slot in world.slots:
        if slot.retries > 1:
            t.breach("FCVI-8.5.4-01", "a second retry of one request", str(slot.retries), "one retry")


def after_word(t: WordScenario, world: Any) -> None:
    """Nothing outside its buffer; no data that nobody sent."""
    for region, writable, before in world.regions:
        if writable >= region.length:
            continue
        seen = bytes.fromhex(
            t.call("mem.read", mem=region.mem, offset=writable, length=region.length - writable).text("hex")
        )
        if seen != before[writable:]:
            t.breach("VIARCH-inside-its-buffer", f"memory beyond {writable} bytes was written to", seen[:16].hex(),
                     before[writable : writable + 16].hex())  # fmt: skip
