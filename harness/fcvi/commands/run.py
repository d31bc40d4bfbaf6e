"""``fcvi run``: runs the selected cases."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import nullcontext
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Optional

from fcvi.live.privileges import as_caller, keeps_writing
from fcvi.engine.pics import PicsError
from fcvi.report import FORMATS, clear, text, write_report
from fcvi.engine.results import RunReport
from fcvi.engine.runner import AttachError, RunOptions, SelectionError, exit_status, not_run, run as run_cases


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("run", help="run the selected cases against a DUT", description=__doc__)
    p.add_argument("--select", metavar="EXPR", help="ids with globs, tags, not: 'C.5.*,not tag:timing'")
    p.add_argument("--formats", metavar="LIST", type=_formats, default=FORMATS,
                   help=f"which files --report writes, of {','.join(FORMATS)} (default all)")  # fmt: skip
    options(p, report=None)


def options(p: argparse.ArgumentParser, report: Optional[str]) -> None:
    """What run and certify share."""
    p.add_argument(
        "--dut", default="ref", metavar="SPEC",
        help="ref (default), exec:COMMAND, unix:PATH, tcp:HOST:PORT, fcoe:IFACE[,OPTION=VALUE...]",
    )  # fmt: skip
    p.add_argument("--agent", default="", metavar="SPEC", help="upper tester of fcoe:: exec:CMD, unix:PATH, tcp:HOST:PORT, manual")
    p.add_argument("--pics", metavar="FILE", type=Path, help="PICS, PIXIT and known deviations in TOML; default: hello")
    p.add_argument("--jobs", type=_positive, default=1, metavar="N", help="processes (ref and exec: only)")
    p.add_argument("--seed", type=int, default=1, metavar="N", help="same seed, same run (default 1)")
    p.add_argument("--report", type=Path, default=report, metavar="DIR", help="write report files to DIR")
    p.add_argument("--r-a-tov", type=_positive, metavar="MS", help="R_A_TOV; default 10000, 500 with a real clock")
    p.add_argument("--e-d-tov", type=_positive, metavar="MS", help="E_D_TOV; default a third of R_A_TOV, at most 2000")
    p.add_argument("--tolerance", type=_positive, metavar="MS", help="how late a timer may be; default R_A_TOV / 10")
    p.add_argument("--rpc-timeout", type=_seconds, default=5.0, metavar="S", help="answer time of the DUT (default 5; hello: 20)")
    p.add_argument("--progress", choices=("auto", "always", "never"), default="auto")
    p.add_argument("--quiet", action="store_true", help="no text report, only the exit status and the files")
    p.add_argument("--verbose", action="store_true", help="the steps of every case that did not pass")
    p.set_defaults(run=run, select=None, certification=False, formats=FORMATS)


def _formats(value: str) -> tuple[str, ...]:
    names = tuple(value.split(","))
    unknown = [name for name in names if name not in FORMATS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(FORMATS)}")
    return names


def _positive(value: str) -> int:
    number = int(value)
    if number <= 0:
        raise argparse.ArgumentTypeError("must be positive")
    return number


def _seconds(value: str) -> float:
    number = float(value)
    if not 0 < number <= 3600:
        raise argparse.ArgumentTypeError("must be between 0 and 3600 seconds")
    return number


def _us(ms: Optional[int]) -> Optional[int]:
    return None if ms is None else ms * 1000


class Progress:
    """A bar on a terminal, once the run takes over a second."""

    def __init__(self, mode: str) -> None:
        self._wanted = mode == "always" or (mode == "auto" and sys.stderr.isatty())
        self._started = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def update(self, done: int, total: int, now: str) -> None:
        """One more is done; now: which."""
        if not self._wanted:
            return
        if self._bar is None and time.monotonic() - self._started > 1.0:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress as Bar, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("", total=total)
        if self._bar is not None:
            self._bar.update(self._task, completed=done, description=now)

    def stop(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


def run(args: argparse.Namespace) -> int:
    """Run, report, and give the exit status."""
    log: Optional[Path] = None
    if args.report is not None:
        try:
            with as_caller() if args.dut.startswith("fcoe:") else nullcontext():
                args.report.mkdir(parents=True, exist_ok=True)
                clear(args.report)
                log = Path(args.report, "dut.log")
                log.write_bytes(b"")
        except OSError as error:
            print(f"fcvi: --report {args.report}: cannot write there: {error.strerror}", file=sys.stderr)
            return 2
        if args.dut.startswith("fcoe:") and not keeps_writing(args.report):
            print(f"fcvi: --report {args.report}: the directory is another user's, and root gives up its privileges once the "
                  "interface is open: name a directory of root's", file=sys.stderr)  # fmt: skip
            return 2
    chosen = RunOptions(
        dut=args.dut, agent=args.agent, pics_file=args.pics, select=args.select, jobs=args.jobs, seed=args.seed,
        rpc_timeout_s=args.rpc_timeout, r_a_tov_us=_us(args.r_a_tov), e_d_tov_us=_us(args.e_d_tov),
        tolerance_us=_us(args.tolerance), log=log, record=args.report is not None and "evidence" in args.formats,
        keep=args.report is not None, certification=args.certification,
        date=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )  # fmt: skip
    progress = Progress(args.progress)
    try:
        report = run_cases(chosen, lambda done, total, result: progress.update(done, total, result.id))
    except (SelectionError, PicsError, AttachError) as error:
        print(f"fcvi: {error}", file=sys.stderr)
        return _not_run(args, not_run(chosen, str(error)))
    finally:
        progress.stop()
    return finish(args, report)


def _not_run(args: argparse.Namespace, report: RunReport) -> int:
    """A report that says so, lest one of an earlier run in the same directory be taken for this run's."""
    if args.report is not None:
        try:
            write_report(args.report, report, args.formats)
        except OSError as error:
            print(f"fcvi: --report {args.report}: {error}", file=sys.stderr)
    return 2


def finish(args: argparse.Namespace, report: RunReport) -> int:
    """Write the files and the text."""
    if args.report is not None:
        try:
            write_report(args.report, report, args.formats)
        except OSError as error:
            print(f"fcvi: --report {args.report}: {error}", file=sys.stderr)
            return 3
    if not args.quiet:
        print(text.render(report, verbose=args.verbose), end="")
        if args.report is not None:
            print(f"report: {args.report / 'report.json' if 'json' in args.formats else args.report}")
            if report.certification:
                print(f"certificate: {args.report / 'certificate.html'}; check it with fcvi certify --verify {args.report}")
    return exit_status(report)
