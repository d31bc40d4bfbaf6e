"""Faults below the calls: what an injector between the ends does to a message or to the link (condition FAULT)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator, Optional

from fcvi.engine.upper_tester import METHOD_NOT_FOUND

from .scenario import Calls


def inject(t: Calls, fault: str, end: int = 0) -> Optional[int]:
    """Arm a fault for the next message that this end sends, or change the link. How many messages were met before; None: unknown.

    Ends the case inconclusive where nobody can make it."""
    with t.looking_at_errors():
        call = t.ends[0].call("inject", fault=fault, **{"from": end})
    if call.reply.error is not None and call.reply.error[0] == METHOD_NOT_FOUND:
        t.lack("no call can make a fault: it needs --inject, or an agent with the method inject")
    result = call.result()
    if result.get("done") is not True:
        t.lack(f"neither the agent nor --inject can make the fault {fault}")
    hits = result.get("hits")
    return hits if isinstance(hits, int) and not isinstance(hits, bool) else None


def met(t: Calls, before: Optional[int]) -> Optional[bool]:
    """Whether the fault that was armed has met a message; None where the injector does not say. Nothing is armed afterwards."""
    after = [inject(t, "nothing", end) for end in (1, 0)][1]
    return None if after is None or before is None else after > before


@contextmanager
def link_down(t: Calls) -> Iterator[None]:
    """The link between the ends is cut for as long as this lasts, whatever becomes of the case."""
    inject(t, "link-down")
    try:
        yield
    finally:
        inject(t, "link-up")
