"""Tests who may be a client of fcvi-agent, and what happens to those who may not."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any, Iterator

import pytest

from ..conftest import FCVI
from .test_agent import AGENT, CONFIG

HELLO = {"jsonrpc": "2.0", "id": 1, "method": "hello", "params": {"protocol": 1}}
TOKEN = "correct horse battery staple"


def free_port() -> int:
    """A port that nobody has."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


class Agent:
    """A running agent."""

    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen([str(AGENT), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"listening\n"

    def end(self, number: int = signal.SIGTERM) -> int:
        """Its status."""
        self.process.send_signal(number)
        self.process.communicate(timeout=10)
        return self.process.returncode


@pytest.fixture(name="port")
def _port() -> Iterator[int]:
    port = free_port()
    agent = Agent(f"tcp::{port}")
    yield port
    assert agent.end() == 0


def client(port: int) -> socket.socket:
    """Connected."""
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def said(s: socket.socket) -> bytes:
    """Everything until the agent closes."""
    found = b""
    try:
        while data := s.recv(65536):
            found += data
    except ConnectionResetError:
        pass
    return found


def ask(s: socket.socket, message: dict[str, Any]) -> dict[str, Any]:
    """One request and its answer."""
    s.sendall(json.dumps(message).encode() + b"\n")
    line = s.makefile("rb").readline()
    answer: dict[str, Any] = json.loads(line)
    return answer


def cpu_s(pid: int) -> float:
    """The CPU time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_without_descriptors_it_waits_and_spins_not() -> None:
    port = free_port()
    agent = Agent(f"tcp::{port}")
    pid, open_now = agent.process.pid, len(list(Path(f"/proc/{agent.process.pid}/fd").iterdir()))
    _, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_now, most))
    with client(port) as s:
        before = cpu_s(pid)
        time.sleep(1)
        assert cpu_s(pid) - before < 0.3
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (64, most))
        assert "result" in ask(s, HELLO)
    assert agent.end() == 0


def test_it_listens_on_loopback_alone(port: int) -> None:
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    assert [w[1] for w in lines if w[1].endswith(f":{port:04X}") and w[3] == "0A"] == [f"0100007F:{port:04X}"]
    refused = subprocess.run([str(AGENT), f"tcp:0.0.0.0:{free_port()}"], capture_output=True, text=True, timeout=20, check=False)
    assert refused.returncode == 2 and "--token" in refused.stderr and len(refused.stderr.splitlines()) == 1


def test_a_web_page_executes_nothing(port: int) -> None:
    body = json.dumps({**HELLO, "method": "reset", "params": CONFIG})
    with client(port) as s:
        s.sendall(f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body) + 1}\r\n\r\n{body}\n".encode())
        assert said(s) == b""
    with client(port) as s:
        s.sendall(b'{"a": 1}\n' + body.encode() + b"\n")
        answers = said(s)
        assert answers.count(b"\n") == 1 and b"not a request" in answers
    with client(port) as s:
        assert "result" in ask(s, HELLO)


def test_a_second_client_is_told_and_sent_away(port: int) -> None:
    with client(port) as first:
        assert "result" in ask(first, HELLO)
        for _ in range(5):
            with client(port) as second:
                assert b"another client" in said(second)
        assert "result" in ask(first, {**HELLO, "id": 2})


def test_a_silent_client_shuts_nobody_out() -> None:
    port = free_port()
    agent = Agent("--idle", "1", f"tcp::{port}")
    with client(port) as silent:
        assert "result" in ask(silent, HELLO)
        assert b"silent" in said(silent)
        with client(port) as s:
            assert "result" in ask(s, HELLO)
    assert agent.end(signal.SIGHUP) == 0


@pytest.mark.parametrize("first", [b"", b'{"jsonrpc"'], ids=["nothing", "half a line"])
def test_a_client_that_never_ends_its_first_line_is_let_go(first: bytes) -> None:
    port = free_port()
    agent = Agent("--idle", "1", f"tcp::{port}")
    with client(port) as s:
        s.sendall(first)
        assert b"silent" in said(s)
    assert agent.end() == 0


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_pieces_of_lines_are_put_together(size: int, port: int) -> None:
    lines = b"".join(json.dumps({**HELLO, "id": number}).encode() + b"\n" for number in range(20))
    with client(port) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(lines), size):
            s.sendall(lines[at : at + size])
        answers = s.makefile("rb")
        assert [json.loads(answers.readline())["id"] for _ in range(20)] == list(range(20))


def test_a_line_without_an_end_closes(port: int) -> None:
    with client(port) as s:
        assert "result" in ask(s, HELLO)
        try:
            s.sendall(b"{" * 65536 * 3)
        except ConnectionError:
            pass
        assert said(s).count(b"\n") <= 1
    for _ in range(200):  # until it has noticed that the first has gone
        with client(port) as s:
            s.sendall(json.dumps(HELLO).encode() + b"\n")
            if b"result" in s.makefile("rb").readline():
                return
    raise AssertionError("nobody else is served")


def test_a_token(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    port = free_port()
    agent = Agent("--token", str(file), f"tcp:0.0.0.0:{port}")
    with client(port) as s:
        assert ask(s, {**HELLO, "method": "reset", "params": CONFIG})["error"]["code"] == -32000
    for wrong in ("", "x" * len(TOKEN), TOKEN[:-1], TOKEN + " ", 5, None):
        with client(port) as s:
            assert "error" in ask(s, {**HELLO, "params": {"protocol": 1, "token": wrong}})
            assert said(s) == b""
    with client(port) as s:
        assert "result" in ask(s, {**HELLO, "params": {"protocol": 1, "token": TOKEN}})
    run = [str(FCVI), "run", "--select", "5.3.3/dut-first/03", "--dut"]
    good = subprocess.run([*run, f"tcp:127.0.0.1:{port},token={file}"], capture_output=True, text=True, timeout=100, check=False)
    assert "token" not in good.stderr and TOKEN not in good.stdout, good.stderr
    bad = subprocess.run([*run, f"tcp:127.0.0.1:{port}"], capture_output=True, text=True, timeout=100, check=False)
    assert bad.returncode == 3 and "token" in bad.stdout, (bad.stdout, bad.stderr)
    assert agent.end() == 0
    file.write_text("short")
    os.mkfifo(tmp_path / "pipe")  # nobody writes to it: it is not waited for
    for name in ("token", "pipe", "none"):
        words = [str(AGENT), "--token", str(tmp_path / name), "tcp::1"]
        short = subprocess.run(words, capture_output=True, timeout=20, check=False)
        assert short.returncode == 2, name


def test_the_socket_is_the_users_and_goes_with_the_agent(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        agent = Agent(f"unix:{path}")
        assert path.stat().st_mode & 0o777 == 0o700
        assert agent.end(number) == 0 and not path.exists()
    agent = Agent(f"unix:{path}")
    agent.process.kill()
    agent.process.wait()
    assert path.exists()
    again = Agent(f"unix:{path}")  # in place of one that nobody serves
    taken = subprocess.run([str(AGENT), f"unix:{path}"], capture_output=True, timeout=20, check=False)
    assert taken.returncode == 2 and path.exists()
    assert again.end() == 0


def test_addresses_tell_nothing_and_memory_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "a"
    agent = Agent(f"unix:{path}")
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(20)
        s.connect(str(path))
        ask(s, HELLO)
        assert ask(s, {**HELLO, "method": "reset", "params": CONFIG})["result"] == {}
        register = {**HELLO, "method": "VipRegisterMem", "params": {"length": 1 << 20}}
        places = [int(ask(s, register)["result"]["va"], 16) for _ in range(20)]
        maps = Path(f"/proc/{agent.process.pid}/maps").read_text()
        known = [line for line in maps.splitlines() if "/" in line or "[heap]" in line or "[stack]" in line]
        system = [int(line.split("-")[0], 16) for line in known]
        assert all(abs(place - other) > 1 << 30 for place in places for other in system)
        assert len({place >> 24 for place in places}) > 10
        answers = [ask(s, {**register, "params": {"length": 64 << 20}}) for _ in range(6)]
        assert sum("result" in a for a in answers) == 3
        assert all(a["error"]["code"] == -32002 for a in answers if "error" in a)
    assert agent.end() == 0
