"""Plays a word within a case: what ``fcvi random`` found becomes a case with this."""

from __future__ import annotations

from fcvi.fc.scenario import Scenario

from .letters import LETTERS
from .world import World


def play(t: Scenario, text: str) -> None:
    """Play the letters of a word, with what is owed in its place; the settings before a colon are the variant's to make."""
    world = World(t, judged=True)
    for name in text.rpartition(":")[2].split():
        letter, slot = LETTERS[name], world.slot
        t.step(name)
        if not world.murky and letter.duty is not None and slot.phase in letter.phases and letter.when(world):
            slot.phase = letter.duty(world)
            world.murky |= slot.phase == "unknown"
        elif letter.play is not None:
            letter.play(world)
        world.look()
