"""Watching an interface: `lint -i` and `flows -i` say of what passes a veth pair what they say of its capture."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Iterator

import pytest

from ..conftest import CONNECT_RQST, FCVI, RECORDED, ROOT, fcvi
from .net import DEVICE, TESTER, Net

CAPTURE = RECORDED / "cases/5.2.1.pcapng"
_SEND = """
import socket, sys
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind((sys.argv[1], 0))
for line in sys.stdin:
    out.send(bytes.fromhex(line))
"""


@pytest.fixture(name="net", scope="module")
def _net() -> Iterator[Net]:
    net = Net()
    net.run("ip", "link", "set", "lo", "up")
    yield net
    for process in Watch.started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    net.close()


def frames() -> list[bytes]:
    """Those of the capture in FCoE, and one with a Last_Sequence bit that is not the request's to set."""
    from fcvi.capture.reader import Reader

    from ..capture import wrappings as w

    with Reader(str(CAPTURE)) as reader:
        found = [w.Frame(r.data, r.sof or 0x2E, r.eof or 0x42) for r in reader]
    rqst = bytes.fromhex(CONNECT_RQST)
    return [w.ethernet(0x8906, w.fcoe(f)) for f in [*found, w.Frame(rqst[:8] + b"\x58\x39" + rqst[10:], 0x2E, 0x42)]]


def send(net: Net, sent: list[bytes]) -> None:
    subprocess.run(net._command(sys.executable, "-c", _SEND, DEVICE), input="\n".join(f.hex() for f in sent),
                   text=True, check=True, timeout=20)  # fmt: skip


class Watch:
    """A command that watches the tester's end."""

    started: list[subprocess.Popen[str]] = []

    def __init__(self, net: Net, *words: str) -> None:
        self.process = subprocess.Popen(
            net._command(str(FCVI), *words, "-i", TESTER), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, bufsize=0, cwd=ROOT,
            start_new_session=True,
        )  # fmt: skip
        self.started.append(self.process)
        self.said = ""
        self.until(self.process.stderr, "watching")

    def until(self, stream: object, pattern: str) -> str:
        """What a stream says up to a line that has the pattern."""
        deadline, seen = time.monotonic() + 15, ""
        while not re.search(pattern, seen) and select.select([stream], [], [], max(0.0, deadline - time.monotonic()))[0]:
            piece = os.read(stream.fileno(), 65536).decode()  # type: ignore[attr-defined]
            if not piece:
                break
            seen += piece
        assert re.search(pattern, seen), seen
        self.said += seen
        return seen

    def end(self, number: int = signal.SIGINT) -> tuple[int, str, str]:
        """By a signal; status, output, errors."""
        self.process.send_signal(number)
        out, errors = self.process.communicate(timeout=20)
        return self.process.returncode, out, errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_lint_tells_at_once_and_keeps_what_preceded(number: int, net: Net, tmp_path: Path) -> None:
    ring = tmp_path / "ring"
    watch = Watch(net, "lint", "--keep", str(ring))
    send(net, frames())
    watch.until(watch.process.stdout, "CONNECT_RQST-pos")
    status, out, errors = watch.end(number)
    assert status == 1, (out, errors)
    assert "18 of them FC-VI: 1 violations" in out
    kept = ring / "kept-000001.pcapng"
    again = fcvi("lint", str(kept))
    assert again.returncode == 1 and "18 of them FC-VI: 1 violations" in again.stdout
    assert not left(watch.process.pid), "a process of it is left"


def left(group: int) -> list[str]:
    """Processes of a process group that are still there."""
    return subprocess.run(["pgrep", "-g", str(group)], capture_output=True, text=True, check=False).stdout.split()


def test_the_ring_is_bounded(net: Net, tmp_path: Path) -> None:
    ring = tmp_path / "ring"
    watch = Watch(net, "lint", "--keep", f"{ring},files=2,mib=1")
    good = frames()[:-1]
    deadline = time.monotonic() + 30
    while not (ring / "ring-000004.pcapng").exists() and time.monotonic() < deadline:
        send(net, good * 200)  # of which a busy host may lose some
    watch.end()
    assert 2 <= len(list(ring.glob("ring-*"))) <= 3 and not (ring / "ring-000001.pcapng").exists()


def test_nothing_seen_is_no_pass(net: Net) -> None:
    status, _, errors = Watch(net, "lint").end()
    assert status == 2 and "nothing of FC-VI was judged" in errors


@pytest.mark.parametrize("command", ["lint", "flows"])
def test_no_such_interface_and_wrong_use(command: str, net: Net, tmp_path: Path) -> None:
    for words, said in [
        (("-i", "nosuch0"), "nosuch0: there is no such interface"),
        (("-i", TESTER, str(CAPTURE)), "-i goes without files"),
        ((), "name a capture, or an interface"),
        (("--keep", str(tmp_path / "x"), str(CAPTURE)), "--keep goes with -i"),
    ]:
        done = net.fcvi(command, *words)
        assert done.returncode == 2 and said in done.stderr, done.stderr


def test_flows_lists_what_passed_and_answers_prometheus(net: Net, tmp_path: Path) -> None:
    """The same Connections as of the capture that it kept; samples meanwhile; and the ring."""
    ring = tmp_path / "ring"
    watch = Watch(net, "flows", "--json", "--every", "0.2", "--exporter", "0", "--keep", str(ring))
    url = re.search(r"http://127\.0\.0\.1:\d+/metrics", watch.said)
    assert url is not None
    send(net, frames())
    deadline, got = time.monotonic() + 15, ""
    ask = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode())"
    while "fcvi_connection_bytes" not in got or 'a="010100"' not in got:  # of the frame that is sent last
        assert time.monotonic() < deadline, got
        got = net.run(sys.executable, "-c", ask, url[0]).stdout
    assert got.rstrip().endswith("# EOF")
    time.sleep(0.5)
    status, out, errors = watch.end()
    assert status == 1, errors
    again = fcvi("flows", "--json", str(ring / "kept-000001.pcapng")).stdout
    rows, kept = ([{**json.loads(line), "file": ""} for line in text.splitlines()] for text in (out, again))
    assert rows == kept and rows


def test_the_table_on_a_terminal_is_written_anew(net: Net) -> None:
    command = " ".join(["exec", str(FCVI), "flows", "-i", TESTER, "--every", "0.2"])
    process = subprocess.Popen(net._command("script", "-qec", command, "/dev/null"), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, cwd=ROOT)  # fmt: skip
    seen, sent, deadline = b"", False, time.monotonic() + 20
    assert process.stdout is not None and process.stdin is not None
    while b"010100 -> 010200" not in seen and time.monotonic() < deadline:
        if select.select([process.stdout], [], [], 0.5)[0]:
            seen += os.read(process.stdout.fileno(), 65536)
        if not sent and b"watching" in seen:
            send(net, frames())
            sent = True
    assert b"010100 -> 010200" in seen and b"\x1b[H" in seen, seen
    process.stdin.write(b"\x03")
    process.stdin.flush()
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 1 and b"Connections" in out


@pytest.mark.parametrize("trust", ["all", "whole", "start,all"])
def test_a_watched_link_is_never_taken_for_complete(trust: str) -> None:
    done = subprocess.run([FCVI, "lint", "-i", "lo", "--trust", trust], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2 and "--keep" in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
