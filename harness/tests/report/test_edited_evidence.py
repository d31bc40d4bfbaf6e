"""Evidence that somebody edited: a case that is gone or was waived shows, no parts of other runs are joined, and nothing is run."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable, Iterator

import pytest

from conformance import register_all
from fcvi import cli
from fcvi.commands import fuzz, judge, run
from fcvi.engine.folder import Folder
from fcvi.random import write
from fcvi.report import merge
from fcvi.report.words import requoted

from ..conftest import FCVI, fcvi
from ..engine.test_declaration import INDEPENDENT

SELECT = "5.3.2,D.R1,D.R2"
_PLAYED = SimpleNamespace(findings=[SimpleNamespace(requirement="FCVI-1-01")], word=SimpleNamespace(seed=7))
_BREACH: Any = SimpleNamespace(played=_PLAYED)
_CRASH: Any = SimpleNamespace(outcome=SimpleNamespace(kind="crash"), state="rest", seed=7)
FAULTY = f"{INDEPENDENT} --fault no-retry"
Edit = Callable[[dict[str, Any]], object]


def edit(directory: Path, change: Edit) -> None:
    """Change run.json, and have everything else made anew from it."""
    path = directory / "evidence/run.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data, indent=1) + "\n")
    for one in directory.iterdir():
        if one.is_file() and one.name != "dut.log":
            one.unlink()
    fcvi("judge", "--quiet", str(directory), timeout=120)


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of which some cases fail."""
    directory = tmp_path_factory.mktemp("failed") / "r"
    done = fcvi("run", "--dut", FAULTY, "--select", "5.3.2,C.5.7.2,D.R1", "--quiet", "--report", str(directory), timeout=200)
    assert done.returncode == 1, done.stderr
    return directory


@pytest.fixture
def report(failed: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(failed, tmp_path / "r")
    return tmp_path / "r"


def failing(directory: Path) -> list[str]:
    """The cases that failed."""
    return [r["id"] for r in json.loads((directory / "report.json").read_text())["results"] if r["verdict"] == "fail"]


def judged(directory: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Judge it."""
    return fcvi("judge", str(directory), *words, timeout=120)


def test_a_failure_that_is_gone_is_named(report: Path) -> None:
    gone = failing(report)
    edit(report, lambda d: d.update(cases=[c for c in d["cases"] if c["id"] not in gone]))
    done = judged(report)
    assert done.returncode == 1 and f"{gone[0]}" in done.stderr and "was selected and is missing" in done.stderr
    assert "byte for byte the same" not in done.stdout


def test_a_case_that_was_added_is_named(report: Path) -> None:
    more = {"id": "A.1/class3/in-order", "wall_us": 1, "not_run": "not-applicable", "reason": "x"}
    edit(report, lambda d: d["cases"].append(more))
    assert "A.1/class3/in-order was not selected" in judged(report, "--quiet").stderr
    edit(report, lambda d: d.update(cases=[*d["cases"][:-1], d["cases"][0]]))
    done = judged(report, "--quiet")
    assert done.returncode == 2 and "is there twice" in done.stderr
    edit(report, lambda d: d.update(cases=[*d["cases"][1:-1], d["cases"][0]]))
    assert "in another order than they ran" in judged(report, "--quiet").stderr


def test_a_failure_that_was_waived_counts(report: Path) -> None:
    gone = failing(report)
    edit(report, lambda d: d.update(waived={ident: "known" for ident in gone}))
    done = judged(report)
    assert done.returncode == 1 and "waives what counts" in done.stderr and gone[0] in done.stderr


def test_a_narrower_selection_is_told(report: Path) -> None:
    """Whoever changes the selection as well changes what the run says it was."""
    gone = set(failing(report))
    kept = [c["id"] for c in json.loads((report / "evidence/run.json").read_text())["cases"] if c["id"] not in gone]
    edit(report, lambda d: d.update(cases=[c for c in d["cases"] if c["id"] in kept], select=",".join(kept)))
    done = judged(report)
    assert f"the cases are chosen by --select {kept[0]}" in done.stdout


@pytest.mark.parametrize("select", ["x" * 50, "*a*," * 5000, "", "not", 7, None])
def test_a_selection_that_is_none_is_one_line(select: Any, report: Path) -> None:
    path = report / "evidence/run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "select": select}, indent=1) + "\n")
    done = judged(report, "--quiet")
    assert done.returncode in (1, 2) and "Traceback" not in done.stderr and done.stderr


PARTS: dict[str, tuple[Edit, str]] = {
    "an emptied part": (lambda d: d.update(cases=[]), "was selected and is missing"),
    "another item": (lambda d: d.update(item={"firmware": "2.0"}), "another item"),
    "another laboratory": (lambda d: d.update(lab={"name": "Other"}), "another laboratory"),
    "another commit": (lambda d: d.update(commit="1" * 40), "another commit"),
    "another PICS": (lambda d: d["dut"]["pics"].update(farp=not d["dut"]["pics"].get("farp")), "another pics"),
    "another PIXIT": (lambda d: d["pixit"].update(late_us=7), "another PIXIT"),
}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two shards of one run."""
    directory = tmp_path_factory.mktemp("parts")
    for k in (1, 2):
        fcvi("run", "--select", SELECT, "--shard", f"{k}/2", "--quiet", "--report", str(directory / str(k)), timeout=200)
    return directory


@pytest.mark.parametrize("how", PARTS)
def test_parts_of_two_runs_are_not_joined(how: str, parts: Path, tmp_path: Path) -> None:
    change, words = PARTS[how]
    shutil.copytree(parts, tmp_path / "p")
    edit(tmp_path / "p/2", change)
    done = fcvi("report", "merge", "--out", str(tmp_path / "out"), str(tmp_path / "p/1"), str(tmp_path / "p/2"))
    assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


def test_a_part_of_endlessly_many_costs_nothing(parts: Path, tmp_path: Path) -> None:
    shutil.copytree(parts, tmp_path / "p")
    for k in (1, 2):
        edit(tmp_path / f"p/{k}", lambda d: d.update(shard=[d["shard"][0], 10**12]))
    done = fcvi("report", "merge", "--out", str(tmp_path / "out"), str(tmp_path / "p/1"), str(tmp_path / "p/2"), timeout=20)
    assert done.returncode == 2 and "part 3, 4, 5" in done.stderr and len(done.stderr) < 200, done.stderr


def test_parts_waive_nothing_in_the_whole_and_copy_no_link(parts: Path, tmp_path: Path) -> None:
    shutil.copytree(parts, tmp_path / "p")
    secret = tmp_path / "secret"
    secret.write_text("mine")
    (tmp_path / "p/1/dut.log").unlink()
    (tmp_path / "p/1/dut.log").symlink_to(secret)
    done = fcvi("report", "merge", "--out", str(tmp_path / "out"), str(tmp_path / "p/1"), str(tmp_path / "p/2"))
    assert done.returncode == 2 and "is a link" in done.stderr
    assert not (tmp_path / "out/dut.log").exists() or "mine" not in (tmp_path / "out/dut.log").read_text()


def _exchanged(monkeypatch: pytest.MonkeyPatch, of: Any, name: str, exchange: Callable[[], object]) -> None:
    """Somebody exchanges what is in the directory as soon as this function was called."""
    work = getattr(of, name)

    def then(*words: Any) -> Any:
        found = work(*words)
        exchange()
        return found

    monkeypatch.setattr(of, name, then)


def test_the_traces_of_a_part_are_those_of_its_run(parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another part gets its name when item, laboratory, PICS and PIXIT were compared."""
    register_all()
    shutil.copytree(parts, tmp_path / "p")
    shutil.copytree(parts / "2", tmp_path / "other")
    for trace in (tmp_path / "other/evidence").glob("*.jsonl"):
        trace.write_text("other\n")

    def exchange() -> None:
        (tmp_path / "p/2").rename(tmp_path / "first")
        (tmp_path / "other").rename(tmp_path / "p/2")

    _exchanged(monkeypatch, merge, "_same", exchange)
    cli.main(["report", "merge", "--quiet", "--out", str(tmp_path / "out"), str(tmp_path / "p/1"), str(tmp_path / "p/2")])
    traces = list((tmp_path / "out/evidence").glob("*.jsonl"))
    assert traces and not [trace.name for trace in traces if trace.read_text() == "other\n"]


def test_the_run_whose_list_of_cases_is_whole_is_judged(
    report: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run without its failures has the place of the run when the list was compared with the selection."""
    register_all()
    gone, less = set(failing(report)), report.with_name("less")
    shutil.copytree(report, less)
    edit(less, lambda d: d.update(cases=[c for c in d["cases"] if c["id"] not in gone]))

    def exchange() -> None:
        for name in ("evidence/run.json", *(one.name for one in less.iterdir() if one.is_file())):
            (less / name).replace(report / name)

    _exchanged(monkeypatch, judge, "strayed", exchange)
    assert cli.main(["judge", "--quiet", str(report)]) == 1
    assert "differs from what the evidence gives" in capsys.readouterr().err


# ---- programs ----


def cut_off(directory: Path, **changes: Any) -> None:
    """Make a run look cut off, with other words in it."""
    path = directory / "evidence/run.json"
    data = json.loads(path.read_text())
    data["dut"].update(changes.pop("dut", {}))
    beside = {"agent": "", "agent2": "", "rpc_timeout_s": 5, "own_timers": False, **changes}
    data["incomplete"] = {"selected": [c["id"] for c in data["cases"]], **beside}
    path.write_text(json.dumps(data, indent=1) + "\n")


@pytest.mark.parametrize("where", ["dut", "agent", "inject"])
def test_evidence_starts_no_program(where: str, parts: Path, tmp_path: Path) -> None:
    """X10: what run.json names is started only when the command line names the same."""
    place, planted = tmp_path / "r", tmp_path / "planted"
    shutil.copytree(parts / "1", place)
    program = f"exec:touch {planted}"
    cut_off(place, **({"dut": {"attachment": program}} if where == "dut" else {where: program}))
    for words in (["run"], ["certify"], ["run", "--dut", "exec:true"]):
        done = fcvi(*words, "--resume", str(place))
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, (words, done.stderr)
        assert not planted.exists()


def test_a_run_goes_on_with_the_device_that_is_named(failed: Path, tmp_path: Path) -> None:
    shutil.copytree(failed, tmp_path / "r")
    cut_off(tmp_path / "r")
    assert fcvi("run", "--resume", str(tmp_path / "r")).returncode == 2
    done = fcvi("run", "--quiet", "--resume", str(tmp_path / "r"), "--dut", FAULTY, timeout=200)
    assert done.returncode == 1, done.stderr
    assert judged(tmp_path / "r", "--quiet").returncode == 1


@pytest.mark.parametrize(
    "given", ["--pics my.toml; rm -rf ~", "$(reboot)", "`reboot`", "a\nb", "--x 'y", "&& z", "--agent 'exec:a b'"]
)
def test_what_is_printed_as_a_command_is_quoted(given: str, report: Path, tmp_path: Path) -> None:
    edit(report, lambda d: d.update(given=given))
    line = next(line for line in (report / "report.txt").read_text().splitlines() if "run it again: " in line)
    program = tmp_path / "bin/fcvi"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nfor word; do printf "%s\\n" "$word"; done\n')
    program.chmod(0o755)
    told = subprocess.run(["/bin/sh", "-c", line.split("run it again: ")[1]], env={"PATH": str(program.parent)}, capture_output=True, text=True, check=True)  # noqa: E501
    assert told.stderr == "" and told.stdout.splitlines()[-2:] == ["--report", "again"], "one command, and no other"
    assert shlex.split(requoted("--agent 'exec:a b'")) == ["--agent", "exec:a b"]


def test_a_run_goes_on_in_the_directory_that_was_opened(
    failed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that lacks the failures has the name of the directory when what was done is read."""
    register_all()
    gone = set(failing(failed))
    for name, left in (("r", set()), ("other", gone)):
        place = tmp_path / name
        shutil.copytree(failed, place)
        path = place / "evidence/run.json"
        data = json.loads(path.read_text())
        data["cases"] = [case for case in data["cases"] if case["id"] not in left]
        path.write_text(json.dumps(data, indent=1) + "\n")
        cut_off(place)
        (place / "evidence/cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in data["cases"][1:]))

    def exchange() -> None:
        (tmp_path / "r").rename(tmp_path / "first")
        (tmp_path / "other").rename(tmp_path / "r")

    _exchanged(monkeypatch, run, "_open", exchange)
    cli.main(["run", "--quiet", "--resume", str(tmp_path / "r"), "--dut", FAULTY])
    assert set(failing(tmp_path / "first")) == gone, capsys.readouterr().err


# ---- links and tools ----


def test_no_file_of_a_report_is_read_through_a_link(report: Path, tmp_path: Path) -> None:
    trace = sorted((report / "evidence").glob("*.jsonl"))[0]
    trace.rename(tmp_path / "elsewhere")
    trace.symlink_to(tmp_path / "elsewhere")
    done = judged(report, "--quiet")
    assert done.returncode in (1, 3)
    assert "it is a link" in (report / "report.json").read_text() or "differs" in done.stderr
    run = report / "evidence/run.json"
    run.rename(tmp_path / "run.json")
    run.symlink_to(tmp_path / "run.json")
    done = judged(report, "--quiet")
    assert done.returncode == 2 and "it is a link" in done.stderr


@pytest.mark.parametrize("words", [
    "report diff {0} {0}", "report matrix --out {0}/../m {0} {0}", "report github {0}", "run --select D.R1 --baseline {0}",
    "run --rerun-failed {0}",
])  # fmt: skip
def test_no_report_of_a_directory_is_read_through_a_link(words: str, report: Path, tmp_path: Path) -> None:
    (report / "report.json").rename(tmp_path / "report.json")
    (report / "report.json").symlink_to(tmp_path / "report.json")
    done = fcvi(*words.format(report).split())
    assert done.returncode == 2 and "it is a link" in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.fixture(name="tools")
def _tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for programs that are found first."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return tmp_path / "bin"


_RACER = """#!/usr/bin/python3
import os, sys
# somebody who can write into the report directory puts a link where the tool is going to write
for name in ("certificate.pdf", "SHA256SUMS.sig"):
    for place in sys.argv[1:]:
        where = os.path.join(os.environ["REPORT"], name)
        if os.path.lexists(where):
            os.unlink(where)
        os.symlink(os.environ["VICTIM"], where)
open(sys.argv[-1], "wb").write(b"%PDF-1.7 made")
"""


def test_a_tool_never_writes_into_the_report(tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """X5: a link that is planted while the tool works is replaced, not followed."""
    victim, place = tmp_path / "victim", tmp_path / "r"
    victim.write_text("mine")
    (tmp_path / "lab.toml").write_text("[pics]\nunreliable_delivery = true\n")  # no case applies: the tool is what is tried
    monkeypatch.setenv("VICTIM", str(victim))
    monkeypatch.setenv("REPORT", str(place))
    (tools / "weasyprint").write_text(_RACER)
    (tools / "weasyprint").chmod(0o755)
    done = fcvi("certify", "--pics", str(tmp_path / "lab.toml"), "--pdf", "--quiet", "--report", str(place), timeout=200, real=True)
    assert done.returncode == 1 and victim.read_text() == "mine", done.stderr
    assert (place / "certificate.pdf").read_bytes() == b"%PDF-1.7 made" and not (place / "certificate.pdf").is_symlink()
    (tools / "ssh-keygen").write_text("#!/bin/sh\nexit 0\n")  # asks whether to overwrite, gets no answer, and says that all is well
    (tools / "ssh-keygen").chmod(0o755)
    done = fcvi("certify", "sign", str(place), "--pdf", "--sign", str(tmp_path / "lab.toml"), timeout=200, real=True)
    assert done.returncode == 3 and "cannot sign" in done.stderr and victim.read_text() == "mine"
    (tools / "weasyprint").write_text("#!/bin/sh\nexit 0\n")
    done = fcvi("certify", "sign", str(place), "--pdf", "--sign", str(tmp_path / "lab.toml"), timeout=200, real=True)
    assert done.returncode == 3 and "weasyprint failed" in done.stderr


def test_the_log_of_a_device_is_of_the_open_directory(tmp_path: Path) -> None:
    """X5: who puts a link in place of the directory gets no file of the user's written where it leads."""
    place, moved, elsewhere = tmp_path / "r", tmp_path / "moved", tmp_path / "elsewhere"
    elsewhere.mkdir()
    ends_early = f"echo words >&2; sed -u 20q | {FCVI} endpoint"
    device = f'exec:sh -c "[ -e {moved} ] || mv {place} {moved}; [ -e {place} ] || ln -s {elsewhere} {place}; {ends_early}"'
    fcvi("run", "--dut", device, "--select", "5.3.3/*,5.3.2/*", "--quiet", "--report", str(place))
    assert (moved / "dut.log").read_text().count("words") > 1, "it was started again when the link was there"
    assert not list(elsewhere.iterdir())


def test_a_folder_of_the_directory_is_no_link(tmp_path: Path) -> None:
    """Each of several runs has one of its own, and so has each finding."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "r").mkdir()
    (tmp_path / "r/2").symlink_to(tmp_path / "elsewhere")
    done = fcvi("run", "--select", "D.R1", "--times", "2", "--quiet", "--report", str(tmp_path / "r"), timeout=100)
    assert done.returncode == 3 and "r/2: cannot write there: it is a link, and none is followed here" in done.stderr
    assert not list((tmp_path / "elsewhere").iterdir()) and (tmp_path / "r/1/report.json").exists()
    (tmp_path / "named").symlink_to(tmp_path / "elsewhere")
    done = fcvi("run", "--select", "D.R1", "--quiet", "--report", str(tmp_path / "named"), timeout=100)
    assert done.returncode == 0, "whoever names a link means where it leads"


@pytest.mark.parametrize("planted", ["pipe", "pipe that is read", "hard link"])
def test_what_is_appended_to_is_a_plain_file_of_its_own(planted: str, tmp_path: Path) -> None:
    """A pipe was waited for without end, and what a device says went into another file of the user's."""
    (tmp_path / "mine").write_text("mine")
    reader = -1
    with Folder(tmp_path / "r", ours=True) as folder:
        if planted == "hard link":
            os.link(tmp_path / "mine", tmp_path / "r/dut.log")
        else:
            os.mkfifo(tmp_path / "r/dut.log")
        if planted == "pipe that is read":
            reader = os.open(tmp_path / "r/dut.log", os.O_RDONLY | os.O_NONBLOCK)
        with _at_once(), pytest.raises(OSError):
            os.write(folder.append("dut.log"), b"words")
    if reader >= 0:
        os.close(reader)
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_pipe_in_place_of_a_trace_is_not_waited_for(tmp_path: Path) -> None:
    """Somebody put it there between the writing and the bringing to the disk."""
    with Folder(tmp_path / "r", ours=True) as folder:
        folder.write("evidence/A.1.jsonl", b"{}\n")
        (tmp_path / "r/evidence/A.1.jsonl").unlink()
        os.mkfifo(tmp_path / "r/evidence/A.1.jsonl")
        with _at_once(), suppress(OSError):  # a pipe is nothing that the disk has
            folder.sync(["evidence/A.1.jsonl"])


@contextmanager
def _at_once() -> Iterator[None]:
    """Without waiting."""

    def late(*_: object) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("how", ["random", "fuzz"])
def test_a_finding_is_not_written_through_a_link(how: str, tmp_path: Path) -> None:
    found, name = {"random": (_BREACH, "FCVI-1-01-7"), "fuzz": (_CRASH, "crash-rest-7")}[how]
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).symlink_to(tmp_path / "elsewhere")
    no_device: Any = None
    with pytest.raises(OSError, match="it is a link"):
        if how == "random":
            write.write(tmp_path / "out", no_device, found)
        else:
            fuzz._write(tmp_path / "out", found, no_device)
    assert not list((tmp_path / "elsewhere").iterdir())
