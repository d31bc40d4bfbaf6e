"""report.json: what everything else is made from. Its schema is report.schema.json."""

from __future__ import annotations

from typing import Any, Sequence

from fcvi.engine.catalogue import load_on_every_frame
from fcvi.engine.json_text import indented
from fcvi.engine.results import RunReport, Verdict
from . import phases

# The verdict of a requirement is the worst of the cases that name it; not-applicable only when all are.
WORST = (Verdict.ERROR, Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.PASS, Verdict.NOT_APPLICABLE)
_RANK = {verdict: rank for rank, verdict in enumerate(WORST)}
_UNSEEN = len(WORST)


def _see(seen: dict[str, int], requirements: Sequence[str], rank: int) -> None:
    for ident in requirements:
        if rank < seen.get(ident, _UNSEEN):
            seen[ident] = rank


def requirement_verdicts(report: RunReport) -> dict[str, str]:
    """A verdict for every requirement that a case of this run names, or that was looked at in every frame of the DUT.

    A failed case fails the requirements its findings name, and those alone when they are among its own: that a case
    named nine others beside the broken one says nothing against them, so they stay inconclusive. A declared deviation
    lets the case pass; the requirement is broken all the same. One that a case left open is inconclusive.
    """
    seen: dict[str, int] = {}  # the rank of the worst verdict so far
    alike: dict[tuple[int, int], Sequence[str]] = {}  # the results of one case name the same: they are looked at once
    for result in report.results:
        _see(seen, result.undecided, _RANK[Verdict.INCONCLUSIVE])
        if result.verdict is Verdict.FAIL or result.qualifier == "deviation":
            _see(seen, [ident for ident in result.requirements if ident not in result.broken], _RANK[Verdict.INCONCLUSIVE])
            _see(seen, result.broken, _RANK[Verdict.FAIL])
        else:
            alike[id(result.requirements), _RANK[result.verdict]] = result.requirements
    for (_, rank), requirements in alike.items():
        _see(seen, requirements, rank)
    for ident in frames_checked(report):
        seen.setdefault(ident, _RANK[Verdict.PASS])
    return {ident: WORST[rank].value for ident, rank in sorted(seen.items())}


def frames_checked(report: RunReport) -> dict[str, int]:
    """On how many frames of the DUT the codec looked at each wire-format requirement that no case lists; those on none are
    left out."""
    judged: dict[str, int] = {}
    for result in report.results:
        for iu, frames in result.judged.items():
            judged[iu] = judged.get(iu, 0) + frames
    if not judged:
        return {}
    table = load_on_every_frame()
    counts = {ident: sum(judged.get(iu, 0) for iu in ius) for ident, ius in table.items()}
    return {ident: frames for ident, frames in counts.items() if frames}


_NAMES = ("attachment", "implementation", "version")


def as_json(report: RunReport) -> dict[str, Any]:
    """The report as data."""
    verdicts = requirement_verdicts(report)
    data: dict[str, Any] = {
        "schema": 1,
        "suite": {"version": report.suite_version, "catalogue_sha256": report.catalogue_sha256},
        "dut": {
            "attachment": report.attachment,
            "implementation": report.implementation,
            "version": report.implementation_version,
            "pics": report.pics,
            **({"against": {name: report.against[name] for name in _NAMES}} if report.against else {}),
        },
        "pixit": report.pixit,
        "seed": report.seed,
        "results": [result.as_json() for result in report.results],
        "requirements": verdicts,
        "frames_checked": frames_checked(report),
        "summary": report.summary(),
        "review": [review.as_json() for review in report.review],
        "deviations": [outcome.as_json() for outcome in report.deviations],
    }
    reached = phases.of(report.results, lambda: verdicts)
    if reached:
        data["phases"] = reached
    if report.select:
        data["select"] = report.select
    if report.waived:
        data["waived"] = report.waived
    if report.shard != (1, 1):
        data["shard"] = list(report.shard)
    if report.error:
        data["error"] = report.error
    return data


def render(report: RunReport) -> bytes:
    """The file."""
    return indented(as_json(report), ascii_only=False)
