"""Faults on the way: lose, delay or reorder the nth IU that matches, in either direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional


@dataclass
class Rule:
    """What happens to one frame: the nth whose sender and kind match; a delay meets every frame of the nth IU."""

    sender: str  # "dut" or "tester"
    kind: str  # IU name without FCVI_, "ABTS", "BA_ACC", ...
    nth: int
    action: str  # "drop", "delay" or "reorder"
    delay_us: int = 0
    seen: int = 0

    def hits(self, sender: str, kind: str, ends: bool = True) -> bool:
        """Count the frame; true when this one is meant. ends: it is the last of its Sequence."""
        if sender != self.sender or kind != self.kind:
            return False
        if self.action == "delay":  # frames of an IU must not overtake each other
            meant = self.seen + 1 == self.nth
            self.seen += ends
            return meant
        self.seen += 1
        return self.seen == self.nth


class Link:
    """The rules of one case. A frame falls under the first rule that hits it."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []

    def drop(self, sender: str, kind: str, nth: int = 1) -> None:
        """Lose the nth frame of this kind from now on."""
        self._rules.append(Rule(sender, kind, nth, "drop"))

    def delay(self, sender: str, kind: str, us: int, nth: int = 1) -> None:
        """Deliver the nth IU of this kind us microseconds late."""
        self._rules.append(Rule(sender, kind, nth, "delay", us))

    def reorder(self, sender: str, kind: str, nth: int = 1) -> None:
        """Deliver the nth frame of this kind after the next frame of the same sender."""
        self._rules.append(Rule(sender, kind, nth, "reorder"))

    @property
    def has_rules(self) -> bool:
        """Whether there is a rule at all."""
        return bool(self._rules)

    def watches(self, sender: str) -> bool:
        """Whether a rule looks at frames of this sender at all."""
        return bool(self._rules) and any(rule.sender == sender for rule in self._rules)

    def judge(self, sender: str, kind: str, ends: bool = True) -> Optional[Rule]:
        """The rule that hits this frame, if any. Every rule counts every frame."""
        hit = [rule for rule in self._rules if rule.hits(sender, kind, ends)]
        return hit[0] if hit else None

    def unused(self) -> list[Rule]:
        """Rules that never hit: the loss the case is about did not take place."""
        return [rule for rule in self._rules if rule.seen < rule.nth]
