"""``fcvi run``: runs the selected cases."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from contextlib import nullcontext
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Optional

from fcvi.live.privileges import as_caller, keeps_writing
from fcvi.engine import deviation, interrupt
from fcvi.engine.catalogue import load_catalogue
from fcvi.engine.evidence import FOLDER, JOURNAL, Store, load_run
from fcvi.engine.files import FileError
from fcvi.engine.folder import Folder
from fcvi.engine.pics import PicsError
from fcvi.report import FORMATS, clear, explain, text, waive, write_report
from fcvi.report.commit import commit
from fcvi.engine.results import Result, RunReport, Verdict
from fcvi.engine.target import Target
from fcvi.engine.jobs import number_of_jobs
from fcvi.engine.words import UsageError, complain, number, printable, refuse, why
from fcvi.engine.runner import AttachError, RunOptions, SelectionError, exit_status, not_run, run as run_cases
from . import place, target as target_module
from .values import DEFAULTS, Device, budget, cases, frames, milliseconds, own_cases, seconds, seed, selection, waivers, whole


def add_parser(commands: Any) -> None:
    """Register the command."""
    p = commands.add_parser("run", help="Run the selected cases against a device.", description=__doc__)
    selection(p, "Run only what this expression names, such as 'C.5.*,not tag:timing'.")
    p.add_argument("--formats", metavar="LIST", type=_formats, default=FORMATS,
                   help=f"Write only these files of {','.join(FORMATS)} (default: all).")  # fmt: skip
    waivers(p)
    p.add_argument("--rerun-failed", metavar="OLD", type=Path,
                   help="Run only what did not pass in OLD, a report directory or report.json.")  # fmt: skip
    p.add_argument("--fail-fast", action="store_true", help="End after the first case that fails and counts; report what has run.")
    p.add_argument("--fail-on", choices=("shall", "should"), default="shall",
                   help="Give status 1 for what breaks a shall (default), or for a should too.")  # fmt: skip
    p.add_argument("--times", type=whole(1, 1_000_000), default=1, metavar="N",
                   help="Run so many times, with the next seed each time, into DIR/1, DIR/2, ...")  # fmt: skip
    cases(p)
    p.add_argument("--against", metavar="SPEC",
                   help="Set this second device at the far side of the link, and run the cases of tag:far-side.")
    p.add_argument("--record", metavar="DIR", type=Path,
                   help="Keep each case in DIR as a capture with its calls, which fcvi replay plays.")  # fmt: skip
    p.add_argument("--watch", action="store_true", help="Run again what changed whenever the device, a case or the PICS does.")
    p.add_argument("--step", action="store_true", help="Show one event at a time in virtual time, and wait for Return after each.")
    p.add_argument("--debug", default="", metavar="COMMAND", help="Run an exec: device under it ('gdb --args'), without timeouts.")
    options(p, report=None)


def options(p: argparse.ArgumentParser, report: Optional[str]) -> None:
    """What run and certify share."""
    p.add_argument(
        "--dut", action=Device, default="ref", metavar="SPEC",
        help="Attach the device so: ref (default), exec:COMMAND, unix:PATH, tcp:HOST:PORT, fcoe:IFACE[,OPTION=VALUE...], "
             "api (VIPL calls alone, by --agent), verbs (calls of RDMA verbs, by --agent), ref:rev1, ref:vitcp, "
             "vitcp:HOST:PORT[,on=ADDR] (VI/TCP over TCP, from this host's ADDR).",
    )  # fmt: skip
    target_module.book(p)
    frames(p)
    p.add_argument("--agent", default="", metavar="SPEC",
                   help="Make the calls of an fcoe:, vitcp:, api or verbs device through this: exec:COMMAND, unix:PATH, "
                        "tcp:HOST:PORT or manual.")  # fmt: skip
    p.add_argument("--agent2", default="", metavar="SPEC",
                   help="With --dut api or verbs, make the calls of the other end through this "
                        "(default: a second device of --agent).")  # fmt: skip
    p.add_argument("--inject", default="", metavar="COMMAND",
                   help="With --dut api, run this command to lose, damage or cut what passes between the ends "
                        "(default: ask the agent).")  # fmt: skip
    p.add_argument("--profile", metavar="FILE",
                   help="Of VI/TCP: take the numbers that its draft leaves open from this file (default: profile T0).")  # fmt: skip
    p.add_argument("--pics", metavar="FILE", type=Path,
                   help="Take PICS, PIXIT and known deviations from this TOML file (default: as hello says).")  # fmt: skip
    p.add_argument("--jobs", type=number_of_jobs, default=1, metavar="N",
                   help="Run the cases in N processes; this needs ref or exec: (default 1).")  # fmt: skip
    p.add_argument("--seed", type=seed, default=1, metavar="N",
                   help="Draw everything from this seed: the same seed gives the same run (default 1).")  # fmt: skip
    p.add_argument("--report", type=place.directory, default=report, metavar="DIR", help="Write the files of the report into DIR.")
    place.force(p)
    p.add_argument("--resume", type=Path, metavar="DIR",
                   help="Go on with the run in DIR that was cut off, with its cases; name its device again.")  # fmt: skip
    p.add_argument("--r-a-tov", type=milliseconds, metavar="MS",
                   help="R_A_TOV is this (default: drawn, from 10000 up, or up to 500 with a real clock).")  # fmt: skip
    p.add_argument("--e-d-tov", type=milliseconds, metavar="MS",
                   help="E_D_TOV is this (default: a third of R_A_TOV, at most 2000).")  # fmt: skip
    p.add_argument("--tolerance", type=milliseconds, metavar="MS", help="A timer may be so late (default: R_A_TOV / 10).")
    p.add_argument("--rpc-timeout", type=seconds, default=5.0, metavar="S",
                   help="Wait so long for an answer of the device (default 5; for its answer to hello 20).")  # fmt: skip
    say = f"A device that takes more megabytes or seconds than this has failed (default {DEFAULTS})."
    p.add_argument("--budget", type=budget, metavar="NAME=N,...", help=say)
    p.add_argument("--shard", type=_shard, default=(1, 1), metavar="K/N",
                   help="Run only part K of N of the cases; `fcvi report merge` joins the parts.")  # fmt: skip
    p.add_argument("--progress", choices=("auto", "always", "never"), default="auto",
                   help="Show a bar of the cases that are done (default: on a terminal).")  # fmt: skip
    told = p.add_mutually_exclusive_group()
    told.add_argument("--quiet", action="store_true", help="Print no text report; give only the exit status and the files.")
    told.add_argument("--verbose", action="store_true", help="Print the steps of every case that did not pass.")
    p.set_defaults(run=run, select=None, certification=False, formats=FORMATS, baseline=None, quarantine=None, cases=None,
                   watch=False, step=False, debug="", record=None, against=None, rerun_failed=None, fail_fast=False,
                   fail_on="shall", times=1, outcome=None)  # fmt: skip


def _formats(value: str) -> tuple[str, ...]:
    names = tuple(value.split(","))
    unknown = [name for name in names if name not in FORMATS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(FORMATS)}")
    return names


def _shard(value: str) -> tuple[int, int]:
    part, _, parts = value.partition("/")
    k, n = number(part, 1, 999_999), number(parts, 1, 999_999)
    if k is None or n is None or k > n:
        raise argparse.ArgumentTypeError("must be K/N, part K of N parts, such as 2/4")
    return k, n


def _us(ms: Optional[int]) -> Optional[int]:
    return None if ms is None else ms * 1000


#: What a run that is gone on with has already: given again, it would change nothing.
_OF_THE_FIRST_RUN = ("--select", "--pics", "--profile", "--shard", "--seed", "--r-a-tov", "--e-d-tov", "--tolerance")


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


def _open(args: argparse.Namespace) -> Optional[Folder]:
    """The report directory, empty of earlier reports; with --resume, as it is. args.log is open for what a device writes to its
    standard error: whatever becomes of the name of the directory, the file is in this one. Raises OSError, UsageError.
    """
    if args.report is None:
        return None
    place.refuse_file("--report", args.report)
    with as_caller() if args.target.takes_an_interface else nullcontext():
        folder = Folder(args.report, ours=True, named=getattr(args, "times", 1) == 1)  # else it is one in the directory that was
        try:
            folder.refuse_link(FOLDER)
            if args.resume is None:
                place.refuse_what_is_kept("--report", args.report, args.force)
                clear(folder)
                folder.remove(f"{FOLDER}/{JOURNAL}")
                folder.write("dut.log", b"")
            args.log = folder.append("dut.log")
        except (OSError, UsageError):
            folder.close()
            raise
    return folder


def _options(args: argparse.Namespace, folder: Optional[Folder]) -> RunOptions:
    """Raises FileError when there is nothing to go on with, AttachError for a device that cannot be debugged."""
    record = folder is not None and "evidence" in args.formats
    chosen = RunOptions(
        target=args.target, pics_file=args.pics, select=args.select, jobs=args.jobs, seed=args.seed,
        shard=args.shard, rpc_timeout_s=args.rpc_timeout, r_a_tov_us=_us(args.r_a_tov),
        e_d_tov_us=_us(args.e_d_tov),
        tolerance_us=_us(args.tolerance), profile_file=args.profile,
        log=None if folder is None else args.log, record=record,
        keep=folder is not None, certification=args.certification, store=Store(folder) if folder is not None and record else None,
        limits=args.budget, against=args.against,
        date=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )  # fmt: skip
    if args.debug:
        from fcvi.dut import debug

        chosen.attach_as = debug.debugged(args.target, args.debug)
        chosen.limits, chosen.rpc_timeout_s = debug.LIMITS, debug.PATIENCE_S
    if args.step:
        from fcvi.dut.step import stepping

        chosen.around = stepping
    if args.resume is None or folder is None:
        return chosen
    from fcvi.engine.resume import resume

    goes_on = resume(folder, chosen)
    if args.asked and goes_on.target.book not in target_module.named(args):
        raise FileError(f"--resume {args.resume}: a run of {goes_on.target.book.name} ({goes_on.target.book.book}); leave out "
                        f"{' and '.join(' '.join(words) for words in args.asked)}")  # fmt: skip
    return goes_on


def run(args: argparse.Namespace) -> int:
    """Run, report, and give the exit status."""
    if args.jobs > 1 and (args.step or args.debug):
        raise UsageError("--step and --debug show one device: leave out --jobs")
    if args.times > 1 and (args.resume is not None or args.watch or args.record is not None):
        raise UsageError("--times: leave out --resume, --watch and --record, which are about one run")
    if args.report is None and args.resume is None and args.formats != FORMATS:
        raise UsageError("--formats: names files of a report: add --report DIR")
    if args.report is None and args.record is None and args.resume is None:
        refuse(args.given, ("--force",), "goes with --report DIR or --record DIR")
    args.target = target_module.target(args)
    if args.jobs > 1 and args.target.calls_alone:
        complain(f"--dut {args.target} tries one provider, whose NICs two processes would share: --jobs is left aside, and the "
                 "cases run one after another; --shard K/N divides them over several nodes")
    if args.against is not None:
        _pair(args)
    if args.watch:
        from .watch import watch

        if args.report is not None:
            place.refuse_what_is_kept("--report", args.report, args.force)
        args.watch, args.force = False, True  # each round replaces the report of the one before
        return watch(args, run)
    own_cases(args)
    target_module.selected(args)
    if args.baseline is not None:
        target_module.refuse_another_book("--baseline", args.baseline, args.target)
    if args.rerun_failed is not None and not _rerun(args):
        return 0
    if args.times > 1:
        from .again import several

        if args.report is not None:
            place.refuse_what_is_signed("--report", args.report)
        return several(args, _opened)
    if args.record is not None:
        from .record import recording

        return recording(args, _opened)
    return _opened(args)


def _pair(args: argparse.Namespace) -> None:
    """Read --against. Raises UsageError for what does not go with it."""
    beside = {"--record": args.record, "--step": args.step, "--debug": args.debug, "--watch": args.watch}
    unfit = [option for option, given in beside.items() if given]
    if unfit:
        raise UsageError(f"--against: leave out {unfit[0]}, which is about one device")
    args.against = target_module.read(args.against, target_module.books(args), "--against")
    for device, option in ((args.target, "--dut"), (args.against, "--against")):
        if device.on_a_wire or device.calls_alone or device.book.streams:
            raise UsageError(f"{option} {device}: --against sets two devices of FC-VI at one link: ref, exec:, unix:, tcp:")
        if args.jobs > 1 and not device.repeatable:
            raise UsageError(f"--jobs {args.jobs}: {option} {device} is one device; only ref and exec: can be attached again")


def _rerun(args: argparse.Namespace) -> bool:
    """Select what failed in the earlier run; false when nothing did. Raises UsageError."""
    from .again import failed_in

    if args.select is not None or args.resume is not None:
        raise UsageError("--rerun-failed selects by itself: leave out --select and --resume")
    target_module.refuse_another_book("--rerun-failed", args.rerun_failed, args.target)
    try:
        failed = failed_in(args.rerun_failed)
    except FileError as error:
        raise UsageError(f"--rerun-failed {error}") from error
    args.select = ",".join(failed)
    if not failed:
        complain(f"--rerun-failed {args.rerun_failed}: every case passed there, so nothing is run")
    return bool(failed)


def _opened(args: argparse.Namespace) -> int:
    if args.resume is not None:
        refuse(args.given, _OF_THE_FIRST_RUN, "--resume goes on with what was selected, declared and drawn then: leave it out")
        if "evidence" not in args.formats:
            raise UsageError("--formats: --resume needs the evidence: name it too, or leave out --formats")
        if not args.resume.is_dir():
            raise UsageError(f"--resume {args.resume}: no report directory")
        refuse(args.given, ("--force",), "--resume keeps what is there: leave it out")
        if not args.certification and args.report is not None:
            raise UsageError("--resume writes into the directory that it goes on with: leave out --report")
        args.report = args.resume
    try:
        waived = waive.load(args.baseline, args.quarantine)
        if args.resume is not None and _whole(args.resume):
            return _judged(args)
        folder = _open(args)
    except FileError as error:
        complain(error)
        return 2
    except OSError as error:
        complain(f"--report {args.report}: cannot write there: {why(error)}")
        return 3
    try:
        if folder is not None and args.target.takes_an_interface and not keeps_writing(args.report):
            raise UsageError(f"--report {args.report}: the directory is another user's, and root gives up its privileges once the "
                             "interface is open: name a directory of root's")  # fmt: skip
        return _run(args, folder, waived)
    finally:
        interrupt.release()
        if folder is not None:
            os.close(args.log)
            folder.close()


def _whole(directory: Path) -> bool:
    """Whether no case is left to run. Raises FileError."""
    run = load_run(directory)
    cases = run["cases"] if isinstance(run.get("cases"), list) else []
    tried = any(isinstance(case, dict) and case.get("not_run") != "error" for case in cases)
    return "incomplete" not in run and tried


def _judged(args: argparse.Namespace) -> int:
    """A run that is complete is gone on with by judging it: what is missing of its report is written, and its status is given."""
    from . import judge

    run = load_run(args.resume)
    of = {"--dut": run["dut"], "--against": run.get("against", {})}
    for option, given in (("--dut", None if args.dut == "ref" else args.target), ("--against", args.against)):
        was = str(of[option].get("attachment", "")) or "none"
        if given is not None and str(given) != was:
            raise UsageError(f"--resume {args.resume}: the run is of another device than {option} {given}: it says {was!r:.200}")
    complain(f"--resume {args.resume}: the run is complete; it is judged again from its evidence")
    of_judge = {"given": (), "out": None, "json": False, "quiet": args.quiet, "cases": None}
    return judge.run(argparse.Namespace(directory=args.resume, baseline=args.baseline, quarantine=args.quarantine, **of_judge))


def _run(args: argparse.Namespace, folder: Optional[Folder], waived: waive.Waivers) -> int:
    progress = Progress("never" if args.step else args.progress)
    try:
        try:
            chosen = _options(args, folder)
        except AttachError as error:
            complain(error)
            return error.status
        if args.fail_fast:
            chosen.enough = lambda result: _counts(result, chosen, waived)
        report = run_cases(chosen, lambda done, total, result: progress.update(done, total, result.id))
    except FileError as error:
        complain(error)
        return 2
    except (SelectionError, PicsError, AttachError) as error:
        complain(error)
        status = error.status if isinstance(error, AttachError) else 2
        if args.resume is not None:
            return status  # what is there stays as it is
        return _not_run(args, not_run(chosen, printable(error)), folder) or status
    finally:
        progress.stop()
    report.given = _given(args, chosen.target)
    report.commit = commit() if report.certification else ""
    if report.unattached and folder is not None:
        report.last_words = explain.last_words(folder.read("dut.log"))
    for line in waive.apply(report, *waived):
        complain(line)
    if report.ended_after:
        complain(f"--fail-fast: ended after {report.ended_after}; {report.not_tried} cases were not run")
    args.outcome = report
    return finish(args, report, chosen.store, folder)


def _given(args: argparse.Namespace, target: Target) -> str:
    """The options that a case needs to be run again as it was run, but for the device and the seed."""
    words = list(target.options)
    for option in ("against", "profile", "pics", "r_a_tov", "e_d_tov", "tolerance", "cases"):
        value = getattr(args, option)
        if value not in ("", None):
            words += [f"--{option.replace('_', '-')}", str(value)]
    return shlex.join(words)


def _counts(result: Result, chosen: RunOptions, waived: waive.Waivers) -> bool:
    """Whether a case failed, and neither a declaration nor a waiver covers it."""
    if result.verdict not in (Verdict.FAIL, Verdict.ERROR):
        return False
    if deviation.declared(result, chosen.declaration.deviations):
        return False
    return not waive.why(result, *waived, on=chosen.date)


def _not_run(args: argparse.Namespace, report: RunReport, folder: Optional[Folder]) -> int:
    """A report that says so, lest one of an earlier run in the same directory be taken for this run's. 3: it cannot be written."""
    if folder is not None:
        try:
            write_report(folder, report, args.formats)
        except OSError as error:
            complain(f"--report {args.report}: cannot write there: {why(error)}")
            return 3
    return 0


def _write(args: argparse.Namespace, report: RunReport, store: Optional[Store], folder: Optional[Folder]) -> None:
    """args.manifest gets that of the certificate, and stays None where nothing whole was written. Raises OSError."""
    if folder is None:
        return
    folder.check()
    if store is not None:
        store.finish(report)
    made = write_report(folder, report, [name for name in args.formats if name != "evidence"])
    args.manifest = None if report.interrupted else made


def _recommended(report: RunReport) -> int:
    """1 when a case saw that the device does not do what the standard recommends, which is told."""
    levels = load_catalogue().levels
    found = [(r.id, f) for r in report.results for f in r.findings if f.erratum is None and levels.get(f.requirement) == "should"]
    for ident, finding in found[:20]:
        what = f"{finding.message} (seen {finding.seen}, recommended {finding.required})"
        complain(f"--fail-on should: {ident}: {finding.requirement}: {what}")
    if len(found) > 20:
        complain(f"--fail-on should: and {len(found) - 20} more, which the report has")
    return 1 if found else 0


def _goes_on(args: argparse.Namespace) -> str:
    """The command that goes on with the run. It names the device again: evidence alone attaches none."""
    words = ["fcvi", "certify" if args.certification else "run", "--resume", str(args.report)]
    words += [] if args.dut == "ref" else ["--dut", args.dut, *args.target.options]
    words += [] if args.against is None else ["--against", str(args.against)]
    words += ["--jobs", str(args.jobs)] if args.jobs > 1 else []
    if args.certification:
        words += (["--sign", str(args.sign)] if args.sign is not None else []) + (["--pdf"] if args.pdf else [])
    return shlex.join(words)


def finish(
    args: argparse.Namespace, report: RunReport, store: Optional[Store] = None, folder: Optional[Folder] = None
) -> int:  # fmt: skip
    """Write the files and the text. What cannot be written is told last, after the verdicts."""
    failed: Optional[OSError] = None
    try:
        _write(args, report, store, folder)
    except OSError as error:
        failed = error
    interrupt.release()  # whoever reads what is printed may be slow
    if args.quiet and report.unattached:
        complain(report.error)
    elif args.quiet and exit_status(report) == 2:
        complain("no case applies to this device; without --quiet the report says why")
    if not args.quiet:
        print(text.render(report, verbose=args.verbose), end="")
        if args.report is not None and failed is None:
            print(f"report: {printable(args.report / 'report.json' if 'json' in args.formats else args.report)}")
            if report.certification and not report.interrupted:
                where = f"{args.report / 'certificate.html'}; check it with fcvi certify --verify {shlex.quote(str(args.report))}"
                print(f"certificate: {printable(where)}")
    if failed is not None:
        complain(f"--report {args.report}: cannot write there: {why(failed)}")
        return 3
    if report.interrupted:
        again = f"; go on with: {_goes_on(args)}" if store is not None and store.begun else ""
        complain(f"interrupted by {report.interrupted}: not every case has run{again}")
        return 3
    status = exit_status(report)
    return _recommended(report) or status if args.fail_on == "should" and status in (0, 4) else status
