"""Runs of the suite, each in a child of this process, which get a signal at a named point.

What is loaded once serves all children: a run takes a tenth of a second, and the point is always the same one.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any, Callable, Optional

from conformance import register_all
from fcvi import cli
from fcvi.engine import evidence, interrupt, process, rejudge, runner
from fcvi.engine.scenario import Scenario
from fcvi.report import manifest

CASES = 12
MARK = "FCVI_KILL_POINT"


class Points:
    """Where a signal is sent: before or after the nth call of a function in any process of the run."""

    def __init__(self, number: int) -> None:
        self._number, self._run = number, os.getpid()

    def _send(self) -> None:
        os.kill(self._run, self._number)
        if os.getpid() != self._run:
            time.sleep(0.05)  # it reaches us, too, before we go on

    def on(self, owner: Any, name: str, nth: int = 1, after: bool = False) -> None:
        """Send it there."""
        plain, left = getattr(owner, name), [nth]

        def instead(*words: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] == 0 and not after:
                self._send()
            result = plain(*words, **named)
            if left[0] == 0 and after:
                self._send()
            return result

        setattr(owner, name, instead)


#: The phases of a run: what is patched, and the command.
PHASES: dict[str, Callable[[Points], None]] = {
    "while it attaches": lambda p: p.on(runner, "_pics"),
    "before the first case": lambda p: p.on(evidence.Store, "begin", after=True),
    "in a case": lambda p: p.on(Scenario, "conclude", 4),
    "a trace without its line": lambda p: p.on(evidence, "_case", 4),
    "between two cases": lambda p: p.on(runner._Finished, "add", 4, after=True),
    "after the last case": lambda p: p.on(interrupt, "hold"),
    "before the report": lambda p: p.on(evidence.Store, "finish"),
    "in the report": lambda p: p.on(sys.modules["fcvi.report"], "_case_capture"),
    "while it signs": lambda p: p.on(manifest, "_keygen", 2),  # the first of them tries the key
    "when it is signed": lambda p: p.on(manifest, "sign", after=True),
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)


def _few(cases: list[Any], _expression: Optional[str], _shard: Any = None) -> Any:
    """Every 140th variant."""
    every = [(c, v) for c in cases for v in c.variants]
    return every[:: len(every) // CASES][:CASES]


def child(words: list[object], told: Path, prepare: Callable[[], None] = lambda: None) -> int:
    """The status of one command; what it says on standard error goes to the file."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        file = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.environ[MARK] = str(told)
        runner.select = rejudge.select = _few  # type: ignore[assignment]
        prepare()
        sys.argv = ["fcvi", *map(str, words)]
        os._exit(cli.main())
    finally:
        os._exit(99)


def descendants() -> list[str]:
    """Processes that are left of a run: they have become this process's, which adopts them."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                words = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(words[1]) == os.getpid():
                found.append(name)
    return found


def verdicts(place: Path) -> Optional[dict[str, str]]:
    """Of report.json; None when there is none."""
    path = place / "report.json"
    return {r["id"]: r["verdict"] for r in json.loads(path.read_text())["results"]} if path.exists() else None


def one(phase: str, number: signal.Signals, jobs: int, base: Path, key: Path) -> dict[str, Any]:
    """What became of one run."""
    place, told = base / "r", base / "told"
    signing = ["--sign", key] if "sign" in phase else []
    some = signing or ["--formats", "evidence,json,tap,text,pcapng"]
    words = ["certify" if signing else "run", "--quiet", "--jobs", jobs, "--report", place, *some]
    status = child(words, told, lambda: PHASES[phase](Points(number)))
    until = time.monotonic() + 2
    while (left := descendants()) and time.monotonic() < until:
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            pass
        time.sleep(0.002)
    run, journal = place / "evidence/run.json", place / "evidence/cases.jsonl"
    begun = run.exists() and "incomplete" in json.loads(run.read_text())
    found: dict[str, Any] = {
        "status": status, "told": told.read_text(), "left": len(left), "begun": begun, "run": run.exists(),
        "journal": [json.loads(line)["id"] for line in journal.read_text().splitlines()] if journal.exists() else [],
        "report": verdicts(place), "signed": (place / manifest.SIGNATURE).exists(),
    }  # fmt: skip
    if found["run"]:
        copy = base / "copy"
        shutil.copytree(place, copy)
        found["judge"], found["judged"] = child(["judge", "--quiet", "--out", base / "out", copy], told), verdicts(base / "out")
        printed = shlex.split(found["told"].partition("; go on with: ")[2])
        words = [*printed[1:], "--quiet"] if printed else [*words[:2], "--resume", place, *signing]
        found["printed"] = printed
        found["resume"], found["resumed"] = child(words, told), verdicts(place)
        found["resume_told"] = told.read_text()
        found["again"] = child(["judge", "--quiet", place], told)
        found["whole"] = verdicts(place)
        found["files"] = sorted(path.name for path in place.rglob("*") if path.name.endswith(".new"))
        found["differing"] = [
            path.name for path in (base.parent / "whole/evidence").glob("*.jsonl")
            if not (place / "evidence" / path.name).exists() or (place / "evidence" / path.name).read_bytes() != path.read_bytes()
        ]  # fmt: skip
        if signing:
            found["verify"] = child(["certify", "--verify", place, "--key", f"{key}.pub"], told)
    return found


def play(jobs: int, base: Path, key: Path, points: int) -> list[dict[str, Any]]:
    """Every phase and signal; where there are to be fewer points, each phase with the next signal."""
    process.adopt()
    register_all()
    plain, runner.select, rejudge.select = runner.select, _few, _few  # type: ignore[assignment]
    words = ["certify", "--quiet", "--report", str(base / "whole"), "--sign", str(key)]
    assert not cli.main(words) and not cli.main(["judge", "--quiet", str(base / "whole")])  # loads what there is
    runner.select = rejudge.select = plain
    table = []
    for at, phase in enumerate(PHASES):
        for number in SIGNALS if points > len(PHASES) else (SIGNALS[at % len(SIGNALS)],):
            place = base / f"{phase}-{number.name}".replace(" ", "-")
            place.mkdir()
            table.append({"phase": phase, "signal": number.name, **one(phase, number, jobs, place, key)})
    return table


if __name__ == "__main__":
    print(json.dumps(play(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))))
