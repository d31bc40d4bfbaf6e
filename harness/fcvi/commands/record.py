"""``fcvi run --record DIR``: the cases of a run as regressions that ``fcvi replay`` plays, in one step.

Each case becomes a capture and a TOML file with its calls. The run needs evidence for that: without --report it goes into a
folder that is removed again.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Callable

from fcvi.engine.evidence import FOLDER, stem
from fcvi.engine.files import FileError
from fcvi.engine.words import complain, why
from fcvi.replay import keep, trace
from . import place


def recording(args: argparse.Namespace, run: Callable[[argparse.Namespace], int]) -> int:
    """Run, and keep what was run."""
    if "evidence" not in args.formats:
        complain("--record needs the evidence of the run: leave evidence in --formats")
        return 2
    place.ready("--record", args.record, args.force, ("*.pcapng",))
    if args.report is not None:
        return _worst(run(args), lambda: _keep(args.report, args.record))
    with tempfile.TemporaryDirectory(prefix="fcvi-") as scratch:
        args.report, args.formats = Path(scratch), ["evidence"]
        return _worst(run(args), lambda: _keep(Path(scratch), args.record))


def _worst(status: int, then: Callable[[], int]) -> int:
    return status if status in (2, 3) else then() or status


def _keep(report: Path, folder: Path) -> int:
    """Every case of which there is a trace; 3 when they cannot be written."""
    try:
        for path in sorted((report / FOLDER).glob("*.jsonl")):
            found = trace.find(path)
            assert found is not None
            try:
                recorded = trace.load(*found)
            except FileError as error:
                complain(f"--record: {error}")
                return 3
            keep.keep(recorded, folder, stem(found[1]), f"The case {found[1]}, as it was recorded.")
    except OSError as error:
        complain(f"--record {folder}: cannot write there: {why(error)}")
        return 3
    return 0
