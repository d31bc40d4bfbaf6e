"""Devices that do harm, over exec:, unix: and tcp:. None gets a pass that it did not earn, takes memory or disk without end, or
leaves a process behind.

Run as a program it tries every mode over every way: python3 -m harness.tests.dut.test_hostile_device
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

import pytest

from fcvi.dut.control import attach_agent
from fcvi.engine.attachment import Unavailable

from .. import starts
from .hostile_between import modes

ROOT = Path(__file__).resolve().parents[3]
FCVI = ROOT / "build/fcvi"
SELECT = "5.3.3/dut-first/03,6.3/reliable-reception/largest,3.4"
BUDGET = "case-s=6,log-mb=1"

#: A device that is honest until `reset`, and then does what MODE says. `ask` answers a request as the mode has it.
DEVICE = r'''
import json, os, signal, subprocess, sys, time
mode = sys.argv[1]
out = open(1, "wb", buffering=0, closefd=False)
def raw(data): out.write(data)
def say(value): raw(json.dumps(value).encode() + b"\n")
def answer(ident, result): say({"jsonrpc": "2.0", "id": ident, "result": result})
def note(method, params): say({"jsonrpc": "2.0", "method": method, "params": params})
def forever(data):
    while True: raw(data)
FRAME = {"header": "00" * 24, "payload": "00" * 2000, "sof": "SOFi3", "eof": "EOFn"}
def child():
    """A child with a session of its own, which ignores every signal that it can."""
    code = "import os,signal,time\nfor n in (1,2,15): signal.signal(n, signal.SIG_IGN)\nos.setsid()\n" \
           "if os.fork() == 0:\n os.setsid()\n" \
           "time.sleep(600)"
    subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
if mode == "child": child()
if mode == "errors-start": os.write(2, b"x" * 3_000_000)
now = 0
ABOUT = {"implementation": "x", "version": "1", "clock": "virtual", "pics": {"client": True, "server": True}}
for line in sys.stdin.buffer:
    message = json.loads(line)
    ident, method = message.get("id"), message["method"]
    if method == "hello":
        about = dict(ABOUT)
        if mode == "hello-nan": raw(b'{"jsonrpc":"2.0","id":1,"result":{"clock":NaN}}\n')
        if mode == "hello-escape": about["implementation"] = "a\n\x1b[31m\u202e"
        if mode == "hello-deep": about["pics"] = {"client": json.loads("[" * 900 + "]" * 900)}
        if mode == "hello-clock": about["clock"] = "sundial"
        if mode == "hello-huge": about["version"] = "v" * 60_000
        if mode == "hello-twice": raw(b'{"jsonrpc":"2.0","id":1,"id":1,"result":{}}\n')
        if mode == "hello-never": time.sleep(600)
        answer(ident, about)
    elif method.startswith("probe."):
        if mode == "probe-yes": answer(ident, {})
        else: say({"jsonrpc": "2.0", "id": ident, "error": {"code": -32601, "message": "no"}})
    elif method == "reset":
        now = 0
        if mode == "die": os._exit(7)
        if mode == "kill": os.kill(os.getpid(), signal.SIGKILL)
        if mode == "kill-parent":
            os.kill(os.getppid(), signal.SIGKILL)
        if mode == "fork": [child() for _ in range(20)]
        if mode == "flood": forever(json.dumps({"jsonrpc": "2.0", "method": "frame", "params": FRAME}).encode() + b"\n")
        if mode == "flood-log": forever(b'{"jsonrpc":"2.0","method":"log","params":{}}\n')
        if mode == "flood-tiny": forever(b'{}\n')
        if mode == "flood-empty": forever(b'\n')
        if mode == "flood-spaces": forever(b' ' * 65536)
        if mode == "flood-line": forever(b'x' * 65536)
        if mode == "flood-zero": forever(bytes(65536))
        if mode == "errors":
            while True: os.write(2, b"x" * 65536)
        if mode == "silent": time.sleep(600)
        if mode == "closed": os.close(1); time.sleep(600)
        if mode == "closed-in": os.close(0); time.sleep(600)
        if mode == "stop": os.kill(os.getpid(), signal.SIGSTOP)
        if mode == "nan": raw(b'{"jsonrpc":"2.0","id":%d,"result":{"a":NaN}}\n' % ident); continue
        if mode == "infinity": raw(b'{"jsonrpc":"2.0","id":%d,"result":{"a":-Infinity}}\n' % ident); continue
        if mode == "huge-number": raw(b'{"jsonrpc":"2.0","id":%d,"result":{"a":1e999}}\n' % ident); continue
        if mode == "digits": raw(b'{"jsonrpc":"2.0","id":%d,"result":{"a":%s}}\n' % (ident, b"9" * 5000)); continue
        if mode == "deep": raw(b'{"jsonrpc":"2.0","id":%d,"result":{"a":%s}}\n' % (ident, b"[" * 900 + b"]" * 900)); continue
        if mode == "deeper": raw(b"[" * 60000 + b"\n"); continue
        if mode == "twice": raw(b'{"jsonrpc":"2.0","id":%d,"result":{"a":1,"a":2}}\n' % ident); continue
        if mode == "utf8": raw(b'{"jsonrpc":"2.0","id":%d,"result":{"a":"\xff"}}\n' % ident); continue
        if mode == "half": raw(b'{"jsonrpc"'); os._exit(0)
        if mode == "array": say([1]); continue
        if mode == "other-id": answer(ident + 1000, {}); continue
        if mode == "text-id": answer(str(ident), {}); continue
        if mode == "float-id": raw(b'{"jsonrpc":"2.0","id":%d.0,"result":{}}\n' % ident); continue
        if mode == "bool-id": answer(True, {}); continue
        if mode == "both": answer(ident, {}); answer(ident, {}); continue
        if mode == "result-list": answer(ident, []); continue
        if mode == "error-text": say({"jsonrpc": "2.0", "id": ident, "error": "x\x1b[31m"}); continue
        if mode == "error-escape":
            say({"jsonrpc": "2.0", "id": ident, "error": {"code": 1, "message": "a\n\x1b[2J\u202e" * 9}}); continue
        if mode == "request": say({"jsonrpc": "2.0", "id": 1, "method": "log", "params": {}})
        if mode == "unknown-note": note("birthday", {})
        if mode == "note-list": note("frame", [])
        if mode == "http": raw(b"HTTP/1.1 200 OK\r\n\r\n")
        answer(ident, {})
        if mode == "frames-early": note("frame", FRAME)
    elif method == "clock.advance":
        now += message["params"]["us"]
        if mode == "slow": time.sleep(0.5)
        if mode == "trickle":
            for byte in json.dumps({"jsonrpc": "2.0", "id": ident, "result": {"now_us": now}}).encode():
                raw(bytes([byte])); time.sleep(0.05)
            raw(b"\n"); continue
        if mode == "back": now -= 1
        if mode == "now-float": answer(ident, {"now_us": now + 0.5}); continue
        if mode == "now-text": answer(ident, {"now_us": str(now)}); continue
        if mode == "next-negative": answer(ident, {"now_us": now, "next_us": -1}); continue
        if mode == "next-zero": answer(ident, {"now_us": now, "next_us": 0}); continue
        if mode == "next-huge": answer(ident, {"now_us": now, "next_us": 10**30}); continue
        if mode == "frame-bad": note("frame", {"header": "zz"})
        if mode == "frame-none": note("frame", {})
        if mode == "frame-huge": note("frame", {**FRAME, "payload": "00" * 30000})
        if mode == "frame-numbers": note("frame", {**FRAME, "sof": 10**30})
        if mode == "frames-step":
            for _ in range(3000): note("frame", FRAME)
        if mode == "completion-bad": note("completion", {"vi": -1})
        answer(ident, {"now_us": now, "next_us": None})
    elif ident is not None:
        if mode == "error-all": say({"jsonrpc": "2.0", "id": ident, "error": {"code": -32000, "message": "no"}})
        else: answer(ident, {"return": "VIP_SUCCESS"} if mode != "result-bad" else {"return": [], "vi": {}})
'''
MODES = [
    "child", "errors-start", "hello-nan", "hello-escape", "hello-deep", "hello-clock", "hello-huge", "hello-twice",
    "hello-never", "probe-yes", "die", "kill", "kill-parent", "fork", "flood", "flood-log", "flood-tiny", "flood-empty",
    "flood-spaces", "flood-line", "flood-zero", "errors", "silent", "closed", "closed-in", "stop", "nan", "infinity",
    "huge-number", "digits", "deep", "deeper", "twice", "utf8", "half", "array", "other-id", "text-id", "float-id",
    "bool-id", "both", "result-list", "error-text", "error-escape", "request", "unknown-note", "note-list", "http",
    "frames-early", "slow", "trickle", "back", "now-float", "now-text", "next-negative", "next-zero", "next-huge",
    "frame-bad", "frame-none", "frame-huge", "frame-numbers", "frames-step", "completion-bad", "error-all",
    "result-bad", "honest",
]  # fmt: skip
#: Modes that hostile_between.py has no like of: each has a run of its own in every check. So have a few that it has in the
#: middle of a case, as an answer to `reset`. The others have one every night.
OWN = ["errors-start", *(mode for mode in MODES if mode.startswith("hello-")), "probe-yes", "frames-early", "next-zero",
       "next-huge", "error-all", "result-bad", "honest", "die", "flood", "nan"]  # fmt: skip
#: Modes in which the suite waits more than it works: they are tried side by side.
LATE = ["child", "hello-never", "kill-parent", "silent", "closed", "closed-in", "stop", "slow", "trickle", "fork"]
TCP = ["flood", "flood-line", "nan", "deep", "half", "other-id", "hello-escape"]
UNIX = ["flood-tiny", "flood-spaces", "utf8", "deeper", "twice", "die", "bool-id", "frames-step", "hello-nan", "http"]
LATE_SERVED = [("tcp", "silent"), ("tcp", "slow"), ("tcp", "trickle"), ("unix", "closed")]
#: Of these, what every check tries: the processes that a device leaves, the start, and one that falls silent on each way.
LATE_SOON = [("exec", mode) for mode in ("child", "fork", "kill-parent", "hello-never")] + [("tcp", "silent"), ("unix", "closed")]
SERVED_SOON = [("tcp", "flood"), ("tcp", "nan"), ("tcp", "hello-escape"), ("unix", "deeper"), ("unix", "die"),
               ("unix", "hello-nan")]  # fmt: skip


def nightly(values: tuple[str, ...], soon: bool) -> Any:
    """A parameter that every check tries, or the night alone."""
    return pytest.param(*values, marks=[] if soon else [pytest.mark.nightly])


def marked(word: str) -> list[str]:
    """The processes whose environment has the word."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdecimal() and word.encode() in Path("/proc", name, "environ").read_bytes():
                found.append(Path("/proc", name, "cmdline").read_bytes().decode(errors="replace"))
        except OSError:
            pass
    return found


def run(spec: str, place: Path, *more: str, select: str = SELECT, standards: str = "") -> subprocess.CompletedProcess[str]:
    """A run against the device, with its peak memory checked and what is left over looked for."""
    script = (
        "import ctypes, json, os, resource, subprocess, sys, time\n"
        "ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n"  # what the run leaves behind, zombies as well, becomes this one's child
        "done = subprocess.run(sys.argv[1:], capture_output=True, text=True, errors='replace', timeout=600)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss\n"
        "until = time.monotonic() + 2\n"
        "left = True\n"
        "while left and time.monotonic() < until:\n"
        "    left = open(f'/proc/self/task/{os.getpid()}/children').read().split()\n"
        "    time.sleep(0.02 if left else 0)\n"
        "print(json.dumps([done.returncode, done.stdout, done.stderr, used,\n"
        "                  [open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[0] for pid in left]]))"
    )
    words = [str(FCVI), "run", "--dut", spec, "--select", select, "--report", str(place), "--rpc-timeout", "1", "--budget", BUDGET]
    words += more
    done = subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, text=True, check=True,
        env={**os.environ, "FCVI_MARK": str(place), **({"FCVI_STANDARDS": standards} if standards else {})},
    )  # fmt: skip
    status, out, err, used, children = json.loads(done.stdout)
    assert used < 300_000, f"{used} KiB"
    # A device that kills its keeper leaves dead processes to init.
    assert not children or (spec.endswith(" kill-parent") and set(children) == {"Z"}), f"left: {children}"
    until = time.monotonic() + 2
    while (left := marked(f"FCVI_MARK={place}\0")) and time.monotonic() < until:
        time.sleep(0.05)
    assert not left, left
    return subprocess.CompletedProcess(words, status, out, err)


def check(done: subprocess.CompletedProcess[str], place: Path) -> None:
    """It passed nothing, and what it said is harmless."""
    results = harmless(done, place)
    assert not [r for r in results if r["verdict"] == "pass"], results


def harmless(done: subprocess.CompletedProcess[str], place: Path) -> list[dict[str, str]]:
    """What it said does no harm, and the report can be judged again; its results."""
    assert done.returncode in (1, 2, 3, 4), (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) <= 1, done.stderr
    assert "\x1b" not in done.stdout + done.stderr and "\u202e" not in done.stdout + done.stderr
    results: list[dict[str, str]] = json.loads((place / "report.json").read_text())["results"]
    assert sum(path.stat().st_size for path in place.rglob("*")) < 60_000_000
    assert (place / "dut.log").stat().st_size <= 1_000_000 + 2 * 65536  # two processes may look at once
    words = [str(FCVI), "judge", "--quiet", str(place)]
    for name in ("report.html", "junit.xml", "report.sarif", "report.tap", "report.txt"):
        assert not set("\x1b\u202e") & set((place / name).read_text()), name
    judged = starts.run(words, capture_output=True, text=True, timeout=600, check=False, env=environment(place))
    assert judged.returncode == done.returncode or done.returncode == 2, (judged.returncode, judged.stderr)
    return results


def environment(place: Path) -> dict[str, str]:
    """That of the run: the standards beside its report, where it has any."""
    standards = place.parent / "standards"
    return {**os.environ, **({"FCVI_STANDARDS": str(standards)} if standards.exists() else {})}


def place_of(tmp: Path) -> tuple[Path, Path]:
    """A device, and a place for the report."""
    tmp.mkdir(exist_ok=True)
    path = tmp / "device.py"
    path.write_text(DEVICE)
    return path, tmp / "r"


def over_exec(mode: str, tmp: Path) -> None:
    """One mode over exec:."""
    device, place = place_of(tmp)
    check(run(f"exec:{sys.executable} {device} {mode}", place), place)


@pytest.mark.parametrize("mode", [nightly((mode,), mode in OWN) for mode in MODES if mode not in LATE])
def test_exec(mode: str, tmp_path: Path) -> None:
    over_exec(mode, tmp_path)


@contextmanager
def served(way: str, mode: str, device: Path, tmp_path: Path) -> Iterator[str]:
    """Where each client gets a device of its own."""
    unix = way == "unix"
    listening = socket.socket(socket.AF_UNIX) if unix else socket.create_server(("127.0.0.1", 0))
    if unix:
        listening.bind(str(tmp_path / "s"))
        listening.listen()
    children: list[subprocess.Popen[bytes]] = []

    def serve() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            words = [sys.executable, str(device), mode]
            children.append(subprocess.Popen(words, stdin=client, stdout=client, stderr=subprocess.DEVNULL))
            client.close()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"unix:{tmp_path}/s" if unix else f"tcp:127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.close()
        for child in children:
            child.kill()
            child.wait()


def over_socket(way: str, mode: str, tmp: Path) -> None:
    """One mode over unix: or tcp:."""
    device, place = place_of(tmp)
    with served(way, mode, device, tmp) as spec:
        check(run(spec, place), place)


def over(way: str, mode: str, tmp: Path) -> None:
    """One mode over one way."""
    if way == "exec":
        over_exec(mode, tmp)
    else:
        over_socket(way, mode, tmp)


@pytest.mark.parametrize(
    "way, mode", [nightly(pair, pair in SERVED_SOON) for pair in [*(("tcp", m) for m in TCP), *(("unix", m) for m in UNIX)]]
)
def test_sockets(way: str, mode: str, tmp_path: Path) -> None:
    over_socket(way, mode, tmp_path)


@pytest.mark.parametrize("mode", [nightly((mode,), mode in ("child", "errors")) for mode in ("child", "fork", "errors", "flood")])
def test_two_jobs_end_whole(mode: str, tmp_path: Path) -> None:
    device, place = place_of(tmp_path)
    check(run(f"exec:{sys.executable} {device} {mode}", place, "--jobs", "2"), place)


def test_the_budget_is_told(tmp_path: Path) -> None:
    """Each mode can meet one budget alone, however slow the host is."""
    for mode, budget, words in (
        ("errors", "log-mb=1", "budget log"), ("flood", "step-mb=1", "budget step-mb"), ("slow", "case-s=1", "budget case-s")
    ):  # fmt: skip
        device, place = place_of(tmp_path / mode)
        more = ("--rpc-timeout", "90", "--budget", budget)
        done = run(f"exec:{sys.executable} {device} {mode}", place, *more, select="3.4/dut-server/priority")
        assert words in done.stdout, (mode, done.stdout)


BETWEEN = f"exec:{sys.executable} -I -S {Path(__file__).with_name('hostile_between.py')}"
VITCP = Path(__file__).parents[1] / "independent/vitcp/endpoint.py"
ENDPOINT = f"{FCVI} endpoint"
STREAMS = [f"TCP.{clause}.*/dut-server/*" for clause in ("2.2.2.1", "2.2.2.2.2", "3.1", "3.2.1")]


def every_second(results: list[dict[str, str]], kind: str) -> None:
    """A mode and an honest case by turns: nothing of the one is passed, nothing of the other is lost."""
    known = modes(kind)
    assert len(results) >= 2 * len(known), "too few cases for the modes"
    for at, mode in enumerate(known):
        assert results[2 * at]["verdict"] == "error", (mode, results[2 * at].get("reason"))
        assert results[2 * at + 1]["verdict"] == "pass", (f"behind {mode}", results[2 * at + 1].get("reason"))


@pytest.mark.parametrize("kind, select", [
    ("tcp", ",".join(STREAMS[:2])), pytest.param("tcp-whole", ",".join(STREAMS), marks=pytest.mark.nightly)])  # fmt: skip
def test_streams_that_no_device_may_send(kind: str, select: str, tmp_path: Path) -> None:
    """VI/TCP, over which a device sends notifications of its own."""
    (tmp_path / "standards").symlink_to(ROOT / "conformance/vitcp")
    spec = f"{BETWEEN} {kind} {tmp_path}/count {sys.executable} {VITCP}"
    place = tmp_path / "r"
    done = run(spec, place, select=select, standards=str(tmp_path / "standards"))
    every_second(harmless(done, place), kind)


@pytest.mark.parametrize("kind", ["api", pytest.param("api-whole", marks=pytest.mark.nightly)])
def test_a_provider_that_answers_what_it_likes(kind: str, tmp_path: Path) -> None:
    """Calls alone: a device by its agent, over the example of a standard of calls with more variants of a case."""
    shutil.copytree(Path(__file__).parents[1] / "engine/calls_protocol", tmp_path / "standards")
    book = tmp_path / "standards/book.py"
    few = 'Variant(level[12:].lower(), {"level": level}) for level in LEVELS]'
    text = book.read_text()
    assert few in text
    book.write_text(text.replace(few, 'Variant(f"{n:02}", {"level": LEVELS[n % 3]}) for n in range(90)]'))
    place = tmp_path / "r"
    agent = f"{BETWEEN} {kind} {tmp_path}/count {os.environ.get('FCVI_AGENT', ROOT / 'build/fcvi-agent')}"
    done = run("api", place, "--agent", agent, select="Calls.1", standards=str(tmp_path / "standards"))
    every_second(harmless(done, place), kind)


@pytest.mark.parametrize("kind, select", [
    ("fc", "6.5,5.3.2"), pytest.param("fc-whole", "6.3,6.5,5.3.2", marks=pytest.mark.nightly)])  # fmt: skip
def test_frames_that_no_device_may_send(kind: str, select: str, tmp_path: Path) -> None:
    """FC-VI, over which a device sends frames of its own and has a clock."""
    place = tmp_path / "r"
    spec = f"{BETWEEN} {kind} {tmp_path}/count {ENDPOINT}"
    every_second(harmless(run(spec, place, select=select), place), kind)


def side_by_side(pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    """Since they cost time and no work."""
    with ThreadPoolExecutor(len(pairs)) as pool:
        for done in [pool.submit(over, way, mode, tmp_path / f"{way}-{mode}") for way, mode in pairs]:
            done.result()


def test_devices_that_are_waited_for(tmp_path: Path) -> None:
    side_by_side(LATE_SOON, tmp_path)


@pytest.mark.nightly
def test_more_devices_that_are_waited_for(tmp_path: Path) -> None:
    """Those whose like is in hostile_between.py, and the other ways."""
    side_by_side([pair for pair in [*(("exec", mode) for mode in LATE), *LATE_SERVED] if pair not in LATE_SOON], tmp_path)


AGENT = r"""
import json, sys
waiting, resets = None, 0
def say(**members): print(json.dumps({"jsonrpc": "2.0", **members}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    ident, method = message.get("id"), message["method"]
    if method == "hello": say(id=ident, result={"implementation": "x", "version": "1", "clock": "real", "pics": {}})
    elif method == "reset":
        resets += 1
        if resets == 2: say(id=ident, error={"code": -32602, "message": "no such address"}); continue
        if waiting is not None: say(id=waiting, error={"code": -32001, "message": "reset"})
        waiting = None
        say(id=ident, result={})
    elif method == "VipConnectWait": waiting = ident
    elif ident is not None: say(id=ident, error={"code": -32601, "message": "no"})
"""


def test_a_call_that_a_refused_reset_left_open_may_be_answered_later(tmp_path: Path) -> None:
    """The device refuses a reset while a call is open; the next reset cancels the call, as the DUT protocol demands."""
    path = tmp_path / "agent.py"
    path.write_text(AGENT)
    control = attach_agent(f"exec:{sys.executable} {path}", rpc_timeout_s=2, log=None)
    try:
        control.reset({})
        control.request("VipConnectWait", {})
        with pytest.raises(Unavailable):
            control.reset({})
        control.reset({})
        control.pump()
        assert control.sync()
    finally:
        control.close()


def main() -> None:
    """Every mode over every way; what does not hold."""
    processes = ("child", "fork", "kill-parent")  # over a socket they are nobody's that the suite knows
    pairs = [(way, mode) for mode in MODES for way in ("exec", "unix", "tcp") if way == "exec" or mode not in processes]
    bad = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(3) as pool:
        tried = [(way, mode, pool.submit(over, way, mode, Path(folder) / f"{way}-{mode}")) for way, mode in pairs]
        for way, mode, done in tried:
            error = done.exception()
            bad += error is not None
            if error is not None:
                print(f"{way} {mode}: {str(error)[:300]}", flush=True)
    print(f"{len(MODES)} modes over exec:, {len(MODES) - len(processes)} of them over unix: and tcp: too: {len(pairs) - bad} of"
          f" {len(pairs)} hold")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
