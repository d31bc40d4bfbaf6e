"""Link events and logins (5.6, 7.7)."""

from __future__ import annotations

from fcvi.fc import els

from conformance.fcvi.steps.connection import check_state
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


@owed("plogi", "idle connected", weight=1, when=lambda w: not w.shaken)
def plogi(world: World) -> str:
    """The tester logs in: LS_ACC. What was connected before is not any more: a new login ends the old one (7.7.1, FC-FS)."""
    t, slot = world.t, world.slot
    connected = slot.phase == "connected"
    login(t)
    if connected:
        check_state(t, slot.vi, "error", "FCVI-7.7.1-05", {"idle": "E86"})
    world.linked = False
    for each in world.slots:
        each.phase = "idle" if each.phase == "idle" and each.wait is None else "unknown"
    return slot.phase


@played("plogi")
def plogi_out_of_place(world: World) -> None:
    """The tester logs in while something is under way: what becomes of that is not judged."""
    world.shaken = world.murky = True
    for slot in world.slots:
        slot.phase = "unknown"
    t = world.t
    t.tester.send_els(els.PLOGI, els.login(t.tester.services.ports[t.tester.n_port_id], t.tester.receive_size))
    t.settle()
