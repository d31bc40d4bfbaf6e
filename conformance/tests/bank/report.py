"""The matrix of requirement by verdict: text, JSON and Markdown."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from conformance.catalogue import load_requirements

from .judge import VERDICTS, Outcome
from .unbreakable import UNBREAKABLE


def by_requirement(outcomes: list[Outcome]) -> dict[str, tuple[str, list[Outcome]]]:
    """The worst verdict of each requirement over the devices that break it."""
    found: dict[str, tuple[str, list[Outcome]]] = {}
    for outcome in outcomes:
        for ident, verdict in outcome.verdicts.items():
            worst, devices = found.get(ident, (verdict, []))
            worst = max(worst, verdict, key=VERDICTS.index)
            found[ident] = (worst, [*devices, outcome])
    return found


def without_device(found: dict[str, tuple[str, list[Outcome]]]) -> list[str]:
    """Testable requirements ("shall") that no device breaks and that are not explained."""
    return [
        r.id for r in load_requirements() if r.testable and r.level == "shall" and r.id not in found and r.id not in UNBREAKABLE
    ]


def _counts(found: dict[str, tuple[str, list[Outcome]]]) -> tuple[Counter[str], Counter[str]]:
    levels = {r.id: r.level for r in load_requirements()}
    shall = Counter(verdict for ident, (verdict, _) in found.items() if levels[ident] == "shall")
    other = Counter(verdict for ident, (verdict, _) in found.items() if levels[ident] != "shall")
    return shall, other


def _line(what: str, counts: Counter[str]) -> str:
    total = sum(counts.values()) or 1
    named = total - counts["otherwise"] - counts["missed"] if counts else 0
    words = ", ".join(f"{counts[v]} {v}" for v in VERDICTS if counts[v])
    caught = 100 * (1 - counts["missed"] / total)
    return f"{what}: {sum(counts.values())} ({words}); named {100 * named / total:.1f} %, caught {caught:.1f} %"


def summary(outcomes: list[Outcome], whole: bool, verbose: bool) -> tuple[str, int]:
    """The report for people, and how many pairs of device and requirement were missed."""
    found = by_requirement(outcomes)
    lines = []
    missed = 0
    for outcome in outcomes:
        for ident, verdict in outcome.verdicts.items():
            missed += verdict == "missed"
            if verdict == "missed" or (verdict == "otherwise" and verbose):
                instead = f", by {outcome.by[ident]} naming {' '.join(outcome.named_instead)}" if verdict == "otherwise" else ""
                lines.append(f"{verdict}: {ident} by {outcome.name} ({outcome.how or outcome.why}){instead}")
    shall, other = _counts(found)
    lines.append(_line("requirements (shall)", shall))
    if other:
        lines.append(_line("informative rules and examples", other))
    lines.append(f"{len(outcomes)} devices, {sum(o.variants for o in outcomes)} runs of a case")
    if whole:
        lacking = without_device(found)
        lines += [f"no device: {ident}" for ident in lacking if verbose]
        lines.append(f"{len(lacking)} requirements without a device, {len(UNBREAKABLE)} that cannot be broken observably")
    return "\n".join(lines), missed


def write(directory: Path, outcomes: list[Outcome], whole: bool) -> None:
    """faults.json and faults.md."""
    directory.mkdir(parents=True, exist_ok=True)
    found = by_requirement(outcomes)
    data = {
        "schema": 1,
        "requirements": {i: {"verdict": v, "devices": [d.name for d in devices]} for i, (v, devices) in sorted(found.items())},
        "devices": [
            {"name": o.name, "how": o.how, "why": o.why, "verdicts": o.verdicts, "by": o.by, "named": o.named_instead}
            for o in outcomes
        ],
        "unbreakable": UNBREAKABLE,
        "without_device": without_device(found) if whole else [],
    }
    (directory / "faults.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    rows = ["# Broken devices", "", "| requirement | verdict | devices |", "| --- | --- | --- |"]
    for ident, (verdict, devices) in sorted(found.items()):
        names = ", ".join(f"{d.name} ({d.verdicts[ident]}{' by ' + d.by[ident] if ident in d.by else ''})" for d in devices)
        rows.append(f"| {ident} | {verdict} | {names} |")
    rows += [f"| {ident} | cannot be broken observably | {reason} |" for ident, reason in UNBREAKABLE.items()]
    (directory / "faults.md").write_text("\n".join(rows) + "\n", encoding="utf-8")
