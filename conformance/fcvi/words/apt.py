"""Weighs how likely a letter that comes out of place is to change something: what would do nothing is not worth a step."""

from __future__ import annotations

from conformance.fcvi.steps import connection as steps

from .world import World

_LINK = ("lip", "nos", "lr", "logo")
_TURNS = {"rest": 1.0, "other": 1.0, "back": 1.0, "destroy": 1.0, "recv": 1.0, "skip": 0.5}
_TIMES = {"tick": 1.0, "half": 0.5, "r-a-tov": 0.7}


def weight(world: World, name: str) -> float:
    """How often the letter comes here, out of its place; 0 where it would do nothing."""
    slot = world.slot
    setup = slot.setup
    if name in _LINK:
        return 0.3
    if name in _TURNS or name in _TIMES:
        return _TURNS.get(name) or _TIMES[name]
    if name in ("discresp", "discresp-4a"):
        return 12.0 if slot.farewell is not None else 0.0
    if name == "baacc":
        return 5.0 if slot.abts is not None else 0.0
    if name == "resp":
        return 3.0 if slot.asked else 0.0
    if name in ("accept", "reject"):
        return 5.0 if slot.conn is not None else 0.0
    if name.startswith("wait"):
        return 0.0 if slot.wait is not None or slot.conn is not None else 3.0 if setup is None else 0.7
    if name.startswith("request") or name == "peer":
        return 2.0 if slot.call is None or slot.call.done else 0.0
    if name == "vipdisc":
        return 4.0 if slot.leaving is None else 0.0
    if name == "retry":
        return 4.0 if setup is not None and setup.role == steps.SERVER else 0.0
    if name in ("abts", "disc", "disc-abort", "send", "again"):
        return 1.5 if setup is not None else 0.0
    if name.startswith("resp1"):
        return (3.0 if name == "resp1" else 0.7) if setup is not None and setup.role == steps.CLIENT else 0.0
    if name.startswith("resp2"):
        return 1.5 if setup is not None and setup.exchange is slot.answered is not slot.void else 0.0
    if name == "resp3":
        return 2.0 if setup is not None and setup.role == steps.CLIENT else 0.0
    return 1.0 if setup is None else 0.5
