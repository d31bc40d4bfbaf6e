"""The static review of a PICS: claims that exclude each other, and what is mandatory and not claimed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence

from . import pics as pics_module
from .protocol import Protocol, in_force
from .results import Review


@dataclass(frozen=True)
class PicsRule:
    """One rule. broken: the PICS expression that holds when the rule is broken.

    kind: "contradiction" (claims that exclude each other) or "missing" (something mandatory). erratum: the rule is
    disputed under this number, so that breaking it is a notice only. Otherwise the requirement's level decides.
    """

    requirement: str
    kind: str
    broken: str
    message: str
    required: str
    erratum: str = ""


def review(
    pics: Mapping[str, Any], levels: Mapping[str, str], protocols: Optional[Sequence[Protocol]] = None
) -> list[Review]:  # fmt: skip
    """What is wrong with the claims, by the rules of these standards (of those in force)."""
    found = []
    for rule in (rule for protocol in (protocols or in_force()) for rule in protocol.pics_rules()):
        if pics_module.applies(rule.broken, dict(pics)):
            binding = levels.get(rule.requirement) == "shall" and not rule.erratum
            cls = "violation" if binding else "notice"
            seen = ", ".join(f"{name} = {_word(pics[name])}" for name in pics_module.names_in(rule.broken))
            found.append(
                Review(rule.requirement, cls, rule.kind, rule.message, seen, rule.required, rule.erratum or None)
            )
    return found


def _word(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
