"""The static review of a PICS: claims that exclude each other, and what is mandatory and not claimed."""

from __future__ import annotations

import importlib
from typing import Any, Mapping

from . import pics as pics_module
from .results import Review


def review(pics: Mapping[str, Any], levels: Mapping[str, str]) -> list[Review]:
    """What is wrong with the claims; conformance/ has the rules."""
    found = []
    for rule in importlib.import_module("conformance.fcvi.pics_rules").RULES:
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
