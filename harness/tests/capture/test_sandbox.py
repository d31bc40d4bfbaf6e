"""The reader of captures in its sandbox: what a parser that was taken over can do, and what is said when it tries."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from _fcvi import lib

from ..conftest import FCVI, PCAPS, RECORDED, ROOT, fcvi

FCIP = PCAPS / "crafted/fcip.pcap"
Done = subprocess.CompletedProcess[str]
BAD = PCAPS / "crafted/fc2-225-badcrc.pcap"
LANDLOCK = lib.fcvi_sandbox_landlock()


@pytest.fixture(scope="module")
def taken_over(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the command whose library for TCP streams is an attacker's (taken_over.c)."""
    top = tmp_path_factory.mktemp("tree")
    python = top / "build/python"
    python.mkdir(parents=True)
    for name in ("harness", "conformance"):
        (top / name).symlink_to(ROOT / name)
    shutil.copy(FCVI, top / "build/fcvi")
    for module in (ROOT / "build/python").glob("_fcvi*.so"):
        shutil.copy(module, python)
    source = ROOT / "harness/tests/capture/taken_over.c"
    command = ["gcc", "-std=gnu11", "-O1", "-w", "-fPIC", "-shared", f"-I{ROOT}/harness/capture", str(source)]
    subprocess.run([*command, "-o", str(python / "libfcvi-streams.so")], check=True)
    return top / "build/fcvi"


def attacked(command: Path, attack: str, *words: str, target: str = "/nonexistent", **more: str) -> Done:
    """The command over an FCIP capture, under this attack."""
    environment = {**os.environ, "ATTACK": attack, "TARGET": target, **more}
    line = [str(command), *(words or ("lint", str(FCIP)))]
    return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=60, check=False)


#: Each ends the reader.
FATAL = (
    "write", "append", "cut", "unnamed", "creat", "unlink", "rename", "chmod", "truncate", "connect", "unix", "execve", "ptrace",
    "read the parent", "fork", "vfork", "kill", "io_uring", "memfd", "type", "i386",
)  # fmt: skip
#: Each is a call that does not exist.
REFUSED = ("openat2", "clone3", "tgkill", "code", "limits")


def has_other_table(place: Path) -> bool:
    """Whether this kernel has the system calls of 32-bit programs."""
    source, program = place / "other.c", place / "other"
    source.write_text('int main(void) { long got = 20; __asm__ volatile("int $0x80" : "+a"(got)::"memory"); return got <= 0; }')
    subprocess.run(["cc", str(source), "-o", str(program)], check=True)
    return subprocess.run([str(program)], check=False).returncode == 0


@pytest.mark.parametrize("attack", FATAL)
def test_a_reader_that_was_taken_over_is_stopped(taken_over: Path, attack: str, tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("kept", encoding="ascii")
    mode = target.stat().st_mode
    done = attacked(taken_over, attack, target=str(target))
    assert done.returncode == 3 and "NOT PREVENTED" not in done.stdout
    stopped = "the sandbox stopped the reader"
    if attack == "i386" and not has_other_table(tmp_path):  # the kernel has no such calls at all, and ends whoever tries one
        stopped = "the reader crashed (SIGSEGV)"
    assert done.stderr.count("\n") == 1 and stopped in done.stderr
    assert target.read_text(encoding="ascii") == "kept" and target.stat().st_mode == mode


@pytest.mark.parametrize("attack", REFUSED)
def test_what_a_filter_cannot_look_into_does_not_exist(taken_over: Path, attack: str, tmp_path: Path) -> None:
    target = tmp_path / "file"
    done = attacked(taken_over, attack, target=str(target))
    assert done.returncode == 2 and "NOT PREVENTED" not in done.stdout and not target.exists()


def test_without_a_sandbox_the_same_attack_succeeds_and_the_command_says_so(taken_over: Path, tmp_path: Path) -> None:
    """Else the tests above would prove nothing."""
    for number, words in enumerate((("lint", str(FCIP), "--no-sandbox"), ("lint", str(FCIP)))):
        target = tmp_path / f"file{number}"
        done = attacked(taken_over, "write", *words, target=str(target), **({"FCVI_NO_SANDBOX": "1"} if number else {}))
        assert target.exists() and "NOT PREVENTED" in done.stdout
        assert "fcvi: captures are read without a sandbox" in done.stderr


@pytest.mark.parametrize("words", [
    ("lint", "--json", "FILE"), ("lint", "--jobs", "2", "FILE", "FILE"), ("lint", "--ring", "FILE"), ("decode", "FILE"),
    ("decode", "--jobs", "2", "FILE", "FILE"), ("flows", "FILE", "--html", "PAGE"), ("explain", "FILE"),
    ("replay", "FILE", "--side", "010100"),
])  # fmt: skip
def test_every_command_that_reads_captures_is_confined(taken_over: Path, words: tuple[str, ...], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    given = [{"FILE": str(FCIP), "PAGE": str(page)}.get(word, word) for word in words]
    done = attacked(taken_over, "connect", *given)
    assert done.returncode == 3 and not page.exists() and "Traceback" not in done.stderr
    assert set(done.stderr.splitlines()) == {line for line in done.stderr.splitlines() if "the sandbox stopped the reader" in line}
    assert done.stderr.count("\n") == given.count(str(FCIP))


@pytest.mark.skipif(not LANDLOCK, reason="this kernel has no Landlock")
def test_other_files_of_the_user_cannot_be_read(taken_over: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret", encoding="ascii")
    assert "NOT PREVENTED" not in attacked(taken_over, "secret", target=str(secret)).stdout
    assert "NOT PREVENTED" in attacked(taken_over, "secret", "lint", str(FCIP), str(secret), target=str(secret)).stdout


def test_a_stream_for_writing_that_the_caller_left_open_is_closed(taken_over: Path, tmp_path: Path) -> None:
    with open(tmp_path / "open", "wb") as file:
        environment = {**os.environ, "ATTACK": "inherited", "OPEN": str(file.fileno())}
        for words in ((), ("--no-sandbox",)):
            command = [str(taken_over), "lint", str(FCIP), *words]
            done = subprocess.run(command, env=environment, pass_fds=[file.fileno()], capture_output=True, text=True, check=False)
            assert ("NOT PREVENTED" in done.stdout) == bool(words)


@pytest.mark.parametrize("attack, words", [
    ("crash", "the reader crashed (SIGSEGV)"), ("abort", "the reader crashed (SIG"), ("spend", "more than 1 s of processor time"),
])  # fmt: skip
def test_a_reader_that_ends_early_is_told_in_one_line(taken_over: Path, attack: str, words: str) -> None:
    done = attacked(taken_over, attack, "lint", "--limits", "cpu=1", str(FCIP))
    assert done.returncode == 3 and words in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""


def test_memory_has_an_end(taken_over: Path) -> None:
    done = attacked(taken_over, "memory", "lint", "--limits", "memory=512", str(FCIP))
    assert "NOT PREVENTED" not in done.stdout and done.returncode == 2
    assert "out of memory; the reader may take 512 MiB: --limits memory=MIB gives it more" in done.stderr


def test_too_little_memory_is_one_line() -> None:
    done = fcvi("lint", "--limits", "memory=1", str(BAD))
    assert done.returncode == 3 and done.stderr.count("\n") == 1 and "memory" in done.stderr


def _reader_of(pid: int) -> int:
    """The process that the command started, once it is confined."""
    for _ in range(600):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        if children and "Seccomp:\t2" in Path(f"/proc/{children[0]}/status").read_text(encoding="ascii"):
            return int(children[0])
        time.sleep(0.05)
    raise AssertionError("no reader came")


def _live(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen([str(FCVI), *(words or ("lint", "-"))], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)  # fmt: skip


def test_a_killed_reader_is_told_in_one_line() -> None:
    with _live() as command:
        os.kill(_reader_of(command.pid), signal.SIGKILL)
        out, error = command.communicate(timeout=30)
    assert command.returncode == 3 and out == "" and "the reader was killed (SIGKILL)" in error and error.count("\n") == 1


def test_the_reader_ends_with_the_command() -> None:
    with _live() as command:
        reader = _reader_of(command.pid)
        command.kill()
        command.wait(30)
        for _ in range(200):
            if not Path(f"/proc/{reader}").exists() or "State:\tZ" in Path(f"/proc/{reader}/status").read_text(encoding="ascii"):
                return
            time.sleep(0.05)
    raise AssertionError("the reader is still there")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_to_the_command_end_it_as_ever(number: signal.Signals) -> None:
    with _live("decode", "-") as command:
        _reader_of(command.pid)
        command.send_signal(number)
        command.wait(30)  # before standard input ends
        out, error = command.communicate(timeout=30)
    assert (command.returncode, out, error) == (3, "", f"fcvi: interrupted by {number.name}\n")


def test_the_output_does_not_depend_on_the_sandbox() -> None:
    files = [str(BAD), str(FCIP), *map(str, sorted(RECORDED.glob("cases/5.4*.pcapng"))[:6])]
    for words in (["lint"], ["lint", "--json"], ["decode", "--json"], ["flows"], ["explain"]):
        inside, outside = fcvi(*words, *files), fcvi(*words, "--no-sandbox", *files)
        warning = "fcvi: captures are read without a sandbox, with all rights of the user\n"
        assert (inside.returncode, inside.stdout, warning + inside.stderr) == (outside.returncode, outside.stdout, outside.stderr)


def test_the_output_does_not_depend_on_the_seed_of_the_hash_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    files = [str(BAD), str(FCIP), *map(str, sorted(RECORDED.glob("cases/*.pcapng"))[::40])]
    for words in (["lint", "--json"], ["flows", "--json"], ["explain", "--json"]):
        said = []
        for seed in ("0", "1", "12297829382473034410", ""):
            monkeypatch.setenv("FCVI_HASH_SEED", seed)
            said.append(fcvi(*words, *files))
        assert all((x.returncode, x.stdout, x.stderr) == (said[0].returncode, said[0].stdout, said[0].stderr) for x in said)


def test_the_seed_is_another_each_time_unless_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    from fcvi.capture.scan import hash_seed

    monkeypatch.delenv("FCVI_HASH_SEED", raising=False)
    assert hash_seed() != hash_seed()
    monkeypatch.setenv("FCVI_HASH_SEED", "7")
    assert hash_seed() == 7
    monkeypatch.setenv("FCVI_HASH_SEED", "x")
    done = fcvi("lint", str(BAD))
    assert done.returncode == 2 and "FCVI_HASH_SEED" in done.stderr and done.stderr.count("\n") == 1


def test_findings_beyond_the_limit_are_counted_and_not_shown() -> None:
    whole = fcvi("lint", "--json", str(BAD)).stdout.splitlines()
    done = fcvi("lint", "--json", "--limits", "findings=1", str(BAD))
    lines = done.stdout.splitlines()
    summary, all_of_it = (json.loads(x[-1])["summary"] for x in (lines, whole))
    assert lines[0] == whole[0] and len(lines) == 2 and len(whole) > 3 and done.returncode == 1
    assert summary["not_shown"] == len(whole) - 2 and {**summary, "not_shown": 0} == all_of_it
    assert f"{len(whole) - 2} further findings are counted and not shown; --limits findings=N shows more than 1" in done.stderr
    several = fcvi("lint", "--jobs", "2", "--limits", "findings=1", str(BAD), str(BAD))
    assert (several.stdout, sorted(several.stderr)) == (
        (one := fcvi("lint", "--limits", "findings=1", str(BAD), str(BAD))).stdout, sorted(one.stderr))  # fmt: skip


def test_bytes_beyond_the_limit_are_not_read(tmp_path: Path) -> None:
    data = FCIP.read_bytes()
    big = tmp_path / "big.pcap"
    big.write_bytes(data[:24] + data[24:] * (1 + (2 << 20) // len(data)))
    for words in (["lint"], ["decode", "--summary"], ["flows"], ["explain"]):
        done = fcvi(*words, "--limits", "bytes=1", str(big))
        assert done.returncode == 2 and "has more than 1 MiB; --limits bytes=MIB reads more" in done.stderr
    assert "has more than" not in fcvi("lint", "--limits", "bytes=8", str(big)).stderr


def test_output_beyond_the_limit_is_lost_and_said(tmp_path: Path) -> None:
    files = [str(FCIP)] * 400
    with open(tmp_path / "out", "wb") as out:
        command = [str(FCVI), "decode", "--limits", "output=1", *files]
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 3 and b"cannot write to standard output: File too large" in done.stderr
    assert (tmp_path / "out").stat().st_size <= 1 << 20


@pytest.mark.parametrize("limits", ["memory", "memory=x", "memory=-1", "speed=1", "", "memory=1,,"])
def test_limits_that_are_none_are_refused(limits: str) -> None:
    done = fcvi("lint", "--limits", limits, str(BAD))
    assert done.returncode == 2 and "is no limit; write NAME=NUMBER" in done.stderr and done.stderr.count("\n") == 1


def test_a_bar_of_progress_needs_a_thread_and_gets_it(tmp_path: Path) -> None:
    """On a terminal, of a pipe that takes longer than a second."""
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    with subprocess.Popen([str(FCVI), "lint", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=slave) as command:
        os.close(slave)
        assert command.stdin is not None
        data = FCIP.read_bytes()
        command.stdin.write(data)
        command.stdin.flush()
        time.sleep(1.3)
        command.stdin.write(data[24:])
        out, _ = command.communicate(timeout=30)
    os.close(master)
    assert command.returncode in (0, 1, 2) and out


def test_what_confines_readers_here_is_told() -> None:
    said = fcvi("--version").stdout
    assert "captures are read under no_new_privs, seccomp, " in said
    assert (f"Landlock (version {LANDLOCK})" if LANDLOCK else "no Landlock") in said


def test_a_caller_of_python_keeps_its_process(capfd: pytest.CaptureFixture[str]) -> None:
    """A test or a program that calls the command as a function is not confined, and nothing is forked."""
    script = f"import os, fcvi.cli; os.fork = None; print(fcvi.cli.main(['lint', {str(BAD)!r}]))"
    path = f"{ROOT}/build/python:{ROOT}/harness:{ROOT}"
    done = subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": path}, capture_output=True, check=True)
    assert done.stdout.endswith(b"\n1\n") and capfd.readouterr().err == ""


#: A reader that gets an interrupt where Python can raise nothing, and goes on for a while.
_SWALLOWS = """
import argparse, sys, time
from fcvi.capture import confined
from fcvi.capture.limits import Limits
from fcvi.engine import interrupt, output

class Dies:
    def __del__(self):
        print("now", file=sys.stderr, flush=True)
        until = time.monotonic() + 3
        while time.monotonic() < until:
            time.sleep(0.01)

def work(box):
    box.enter()
    Dies()
    time.sleep(20)
    return 7

output.install()
interrupt.install()
sys.exit(confined.run([], argparse.Namespace(no_sandbox=False, limits=Limits()), work))
"""


def test_an_interrupt_that_python_swallows_ends_the_reader_all_the_same() -> None:
    begun = time.monotonic()
    with subprocess.Popen([sys.executable, "-c", _SWALLOWS], stderr=subprocess.PIPE, text=True) as command:
        assert command.stderr is not None and command.stderr.readline() == "now\n"
        command.send_signal(signal.SIGINT)
        error = command.stderr.read()
    assert (command.returncode, time.monotonic() - begun < 10) == (3, True), error


#: A reader that is begun behind half a line, which the command has not written out yet.
_HAS_BEGUN_A_LINE = """
import argparse, sys
from fcvi.capture import confined
from fcvi.capture.limits import Limits
from fcvi.engine import interrupt, output

def work(box):
    box.enter()
    print("its own")
    return 0

output.install()
interrupt.install()
sys.stdout.write("before, ")
confined.run([], argparse.Namespace(no_sandbox=False, limits=Limits()), work)
"""


def test_what_was_printed_before_a_reader_is_printed_once() -> None:
    done = subprocess.run([sys.executable, "-c", _HAS_BEGUN_A_LINE], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("before, its own\n", "")
