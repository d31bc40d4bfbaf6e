"""Link events and logins (5.6, 7.7)."""

from __future__ import annotations

from conformance.fcvi.steps.neighbours import login

from .letters import owed, played
from .world import World


def _event(name: str) -> None:
    @played(name)
    def happen(world: World) -> None:
        world.linked = world.shaken = world.murky = True
        for slot in world.slots:
            slot.phase = "unknown"
        world.t.link_event(name)


for _name in ("lip", "nos", "lr", "logo"):
    _event(_name)


@owed("plogi", "idle", weight=1, when=lambda w: not w.shaken)
def plogi(world: World) -> str:
    """The tester logs in: LS_ACC. What was connected before is not any more."""
    login(world.t)
    world.linked = False
    for slot in world.slots:
        slot.phase = "idle" if slot.phase == "idle" and slot.wait is None else "unknown"
    return world.slot.phase
