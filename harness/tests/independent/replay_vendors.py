"""Every recording of the repository against every variant, and every faulty device, of the independent endpoint.

    python -m harness.tests.independent.replay_vendors [--json FILE] [--only NAME]

A conforming variant may differ from the reference port, and must break nothing: no replay of its may say ``breach``. A faulty
device must be found out by the recordings that exercise its fault. Which do, the suite itself says: where the case of a
recording fails that device in ``fcvi run``, the recording exercises the fault. The exit status is 1 when a conforming variant
is accused or no recording that exercises a fault finds it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from ..conftest import FCVI, PCAPS, RECORDED
from .test_conforming import COMBINED, ENDPOINT, FAULTS, NOT_CAUGHT, SINGLE

_LIMIT_S = 600


class Played(NamedTuple):
    """What the replays of a device said."""

    played: int  # recordings that apply to it
    breaches: list[str]  # names of recordings, and what was broken first
    suspicious: list[str]
    unplayed: list[str]


def recordings() -> list[Path]:
    """Of the cases, and of what went wrong once."""
    return [path for folder in (RECORDED / "cases", PCAPS / "regressions") for path in sorted(folder.glob("*.pcapng"))]


def replayed(arguments: str, paths: list[Path]) -> Played:
    """All of them against one device, and what came of it."""
    done = subprocess.run([str(FCVI), "replay", "--json", "--dut", f"exec:{ENDPOINT} {arguments}", *map(str, paths)],
                          capture_output=True, text=True, timeout=_LIMIT_S, check=False)  # fmt: skip
    said = [json.loads(line) for line in done.stdout.splitlines()]
    told = {"breach": list[str](), "suspicious": list[str]()}
    for one in said:
        for kind, names in told.items():
            if one["classes"][kind]:
                names.append(f"{Path(one['file']).stem}: {one['first']['field']}")
    seen = {Path(one["file"]).name for one in said}
    return Played(sum(not one["not_applicable"] for one in said), told["breach"], told["suspicious"],
                  [path.name for path in paths if path.name not in seen])  # fmt: skip


def exercised(fault: str) -> set[str]:
    """The cases whose recorded variant fails that device: the recordings that exercise its fault."""
    listed = json.loads(subprocess.run([str(FCVI), "list", "--json"], capture_output=True, check=True).stdout)
    first = {(case["variants"] or [case["id"]])[0]: case["id"] for case in listed}
    recorded = {variant: case for variant, case in first.items() if (RECORDED / f"cases/{case}.pcapng").is_file()}
    with tempfile.TemporaryDirectory() as report:
        subprocess.run([str(FCVI), "run", "--quiet", "--dut", f"exec:{ENDPOINT} --fault {fault}", "--report", report, "--formats",
                        "json", "--rpc-timeout", "2", "--select", ",".join(recorded)],
                       capture_output=True, timeout=_LIMIT_S, check=False)  # fmt: skip
        results = json.loads((Path(report) / "report.json").read_text())["results"]
    return {recorded[r["id"]] for r in results if r["verdict"] == "fail" and r["id"] in recorded}


def variant(chosen: list[tuple[str, str]]) -> dict[str, Any]:
    """One conforming device."""
    arguments = " ".join(f"--choose {name}={value}" for name, value in chosen)
    return {"device": arguments or "the defaults", **replayed(arguments, recordings())._asdict()}


def faulty(fault: str) -> dict[str, Any]:
    """One faulty device: the recordings that exercise the fault, and those of them that find it."""
    names = exercised(fault)
    played = replayed(f"--fault {fault}", [RECORDED / f"cases/{name}.pcapng" for name in sorted(names)]) if names else None
    found = {line.split(": ")[0] for line in played.breaches} if played else set()
    return {"device": fault, "exercised": sorted(names), "found": sorted(found), "missed": sorted(names - found),
            "suspicious": played.suspicious if played else [], "unplayed": played.unplayed if played else []}  # fmt: skip


def main() -> int:
    """Measure, and say it in a few lines."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="write every figure here")
    parser.add_argument("--only", default="", help="take only devices with this in their name")
    options = parser.parse_args()
    chosen = [one for one in [[], *SINGLE, *COMBINED] if options.only in " ".join(map("=".join, one))]
    faults = [name for name, what in FAULTS.items()
              if name not in NOT_CAUGHT and what != "dut-protocol" and options.only in name]  # fmt: skip
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        variants, devices = list(pool.map(variant, chosen)), list(pool.map(faulty, faults))
    if options.json:
        options.json.write_text(json.dumps({"variants": variants, "faulty": devices}, indent=1) + "\n")
    accused = [f"{one['device']}: {line}" for one in variants for line in one["breaches"]]
    missed = [one["device"] for one in devices if one["exercised"] and not one["found"]]
    unplayed = [f"{one['device']}: {name}" for one in [*variants, *devices] for name in one["unplayed"]]
    for line in [*(f"accused: {line}" for line in accused), *(f"not found: {name}" for name in missed),
                 *(f"not played: {line}" for line in unplayed)]:  # fmt: skip
        print(line)
    print(f"{len(recordings())} recordings, {len(variants)} conforming variants: {sum(one['played'] for one in variants)} replays, "
          f"{len(accused)} accused, {sum(len(one['suspicious']) for one in variants)} suspicious")  # fmt: skip
    pairs, hit = sum(len(one["exercised"]) for one in devices), sum(len(one["found"]) for one in devices)
    some = sum(bool(one["exercised"]) for one in devices)
    print(f"{len(devices)} faulty devices: recordings exercise {some} of the faults and find all but {len(missed)}; "
          f"{hit} of {pairs} recordings that exercise one say breach")  # fmt: skip
    return 1 if accused or missed or unplayed else 0


if __name__ == "__main__":
    sys.exit(main())
