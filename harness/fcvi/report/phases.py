"""The phases of conformance that a standard names, as a result of their own: the highest one that holds."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

from fcvi.engine.protocol import in_force
from fcvi.engine.results import Result

_MOST = 6  # requirements that are named


def of(results: Sequence[Result], verdicts: Callable[[], Mapping[str, str]]) -> list[dict[str, Any]]:
    """The phases of every standard that names some, in their order; empty when none was tried. verdicts: of the requirements;
    not called when no standard of this run names phases."""
    return [phase for p in in_force() if p.phases is not None for phase in p.phases(results, verdicts())]


def _named(requirements: Sequence[str]) -> str:
    left = len(requirements) - _MOST
    return ", ".join(requirements[:_MOST]) + (f" and {left} more" if left > 0 else "")


def lines(phases: Sequence[Mapping[str, Any]]) -> list[str]:
    """In words: the highest phase that holds, then each with what stands against it or was not decided."""
    if not phases:
        return []
    held = [p["name"] for p in phases if p["holds"] == "yes"]
    said = [f"phase of conformance: {held[-1]}" if held else "phase of conformance: none holds"]
    for phase in phases:
        state = {"yes": "holds", "no": "does not hold", "open": "is open"}[phase["holds"]]
        parts = [f"phase {phase['name']} {state}"]
        parts += [f"broken or not there: {_named(phase['broken'])}"] if phase["broken"] else []
        parts += [f"no verdict for {_named(phase['open'])}"] if phase["open"] else []
        said.append("; ".join(parts))
    return said
