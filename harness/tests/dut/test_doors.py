"""One door for every server of the DUT protocol: before a client has said who it is, nothing is spent on it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Iterator, Optional

import pytest

from ..conftest import FCVI, ROOT
from .test_agent import AGENT
from .test_agent_doors import HELLO, TOKEN, ask, client, free_port, said

SERVERS = {"fcvi-agent": [str(AGENT)], "fcvi endpoint": [str(FCVI), "endpoint"]}
VERBS = ROOT / "build/fcvi-verbs-agent"
if VERBS.exists():
    SERVERS["fcvi-verbs-agent"] = [str(VERBS), "--without-device"]
WITH_TOKEN = {**HELLO, "params": {"protocol": 1, "token": TOKEN}}


class Server:
    """One that runs."""

    def __init__(self, name: str, address: str, *options: str) -> None:
        listen = ["--listen"] if name == "fcvi endpoint" else []
        words = [*SERVERS[name], *options, *listen, address]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.process.stdout is not None
        assert self.process.stdout.readline().startswith(b"listening")

    def end(self) -> int:
        """Its status."""
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=20)
        return self.process.returncode


@pytest.fixture(name="server", params=SERVERS)
def _server(request: pytest.FixtureRequest) -> Iterator[tuple[str, int]]:
    port = free_port()
    server = Server(request.param, f"tcp::{port}")
    yield request.param, port
    assert server.end() == 0


@pytest.fixture(name="token")
def _token(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text(TOKEN + "\n")
    return tmp_path / "token"


def _stranger(port: int, number: int, over: threading.Event) -> None:
    """Comes again and again: says nothing, half a line, a wrong token, or goes at once."""
    words = [b"", b'{"jsonrpc"', json.dumps({**HELLO, "params": {"protocol": 1, "token": "x" * 20}}).encode() + b"\n", None]
    kept: list[socket.socket] = []
    while not over.is_set():
        try:
            s = socket.create_connection(("127.0.0.1", port), timeout=5)
            say = words[number % 4]
            s.sendall(say or b"")
            if say is None:
                s.close()
            else:
                kept.append(s)
        except OSError:
            pass
        if len(kept) > 60:
            kept.pop(0).close()
        time.sleep(0.01)
    for s in kept:
        s.close()


@pytest.mark.parametrize("name", SERVERS)
def test_the_laboratory_is_served_whoever_stands_at_the_door(name: str, token: Path) -> None:
    """Eight strangers without the token, 60 connections each: every one of 50 clients with it is served within two seconds."""
    port = free_port()
    server = Server(name, f"tcp:0.0.0.0:{port}", "--token", str(token))
    over = threading.Event()
    strangers = [threading.Thread(target=_stranger, args=(port, n, over)) for n in range(8)]
    for thread in strangers:
        thread.start()
    try:
        time.sleep(0.5)
        taken = []
        for _ in range(50):
            begin = time.monotonic()
            with client(port) as s:
                assert "result" in ask(s, WITH_TOKEN)
            taken.append(time.monotonic() - begin)
        assert max(taken) < 2, sorted(taken)[-5:]
    finally:
        over.set()
        for thread in strangers:
            thread.join()
    assert server.end() == 0


def test_silent_strangers_take_no_place(server: tuple[str, int]) -> None:
    waiting = [client(server[1]) for _ in range(100)]
    with client(server[1]) as s:
        assert "result" in ask(s, HELLO)
        with client(server[1]) as other:
            assert b"another client" in said(other)
        assert "result" in ask(s, {**HELLO, "id": 2})
    for one in waiting:
        one.close()


@pytest.mark.parametrize("name", SERVERS)
def test_who_comes_in_a_crowd_keeps_a_place_until_others_have_come(name: str, token: Path) -> None:
    """Of those who come in one millisecond the first makes room, not the one who has the first place."""
    port, came = free_port(), 0
    server = Server(name, f"tcp::{port}", "--token", str(token))
    try:
        for _ in range(10):
            server.process.send_signal(signal.SIGSTOP)
            strangers = [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(80)]
            with client(port) as laboratory:
                laboratory.sendall(json.dumps(WITH_TOKEN).encode() + b"\n")
                strangers += [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(20)]
                server.process.send_signal(signal.SIGCONT)
                came += b'"result"' in laboratory.recv(1 << 16)
            for one in strangers:
                one.close()
    finally:
        server.process.send_signal(signal.SIGCONT)
        assert server.end() == 0
    assert came == 10


@pytest.mark.parametrize("name", SERVERS)
def test_a_crowd_does_not_keep_the_laboratory_from_the_door(name: str, token: Path) -> None:
    """Whom the kernel's queue has no room for tries again after a second, then after two more: the laboratory among them."""
    port = free_port()
    server = Server(name, f"tcp::{port}", "--token", str(token))
    strangers = []
    try:
        server.process.send_signal(signal.SIGSTOP)
        for _ in range(500):
            strangers.append(socket.create_connection(("127.0.0.1", port), timeout=0.9))
        with client(port) as laboratory:
            server.process.send_signal(signal.SIGCONT)
            assert "result" in ask(laboratory, WITH_TOKEN)
    finally:
        server.process.send_signal(signal.SIGCONT)
        for one in strangers:
            one.close()
        assert server.end() == 0


def test_a_web_page_drives_nothing(server: tuple[str, int]) -> None:
    body = json.dumps({**HELLO, "method": "reset", "params": {}})
    with client(server[1]) as s:
        s.sendall(f"POST / HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: {len(body) + 1}\r\n\r\n{body}\n".encode())
        assert said(s) == b""


@pytest.mark.parametrize(
    "first, words", [(b'{"a": 1}\n', b"not a request"), (b"{x}\n", b"not JSON"), (b"{" + b" " * 5000, b"first line of over"),
                     (b'{"jsonrpc":"2.0","id":1,"method":"hello\\u0000x","params":{"protocol":1}}\n', b"not JSON"),
                     (b'{"jsonrpc":"2.0","id":{},"method":"hello"}\n', b"not a request")],
)  # fmt: skip
def test_a_first_line_that_is_no_clients_ends_it(first: bytes, words: bytes, server: tuple[str, int]) -> None:
    with client(server[1]) as s:
        s.sendall(first + json.dumps(HELLO).encode() + b"\n")
        answers = said(s)
        assert words in answers and answers.count(b"\n") == 1 and b"result" not in answers


_AS_NOBODY = """
import os, socket, sys
os.setgid(65534); os.setuid(65534)
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=20)
try:
    s.sendall(sys.argv[2].encode() + b"\\n")
    if sys.argv[3] == "half":
        s.shutdown(socket.SHUT_WR)
    if sys.argv[3] == "away":  # the kernel gives root's number for a socket that nobody has any more
        s.close()
        raise SystemExit
    while data := s.recv(65536):
        sys.stdout.buffer.write(data)
except OSError:
    pass
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("how", ["stays", "half", "away"])
def test_a_process_of_another_user_is_none_of_ours(how: str, server: tuple[str, int]) -> None:
    """X11: a port of this host is everybody's who has an account there."""
    words = [sys.executable, "-c", _AS_NOBODY, str(server[1]), json.dumps(HELLO), how]
    answer = subprocess.run(words, capture_output=True, timeout=60, check=True).stdout
    assert b"result" not in answer
    assert how == "away" or b"another user" in answer or answer == b""
    with client(server[1]) as s:
        assert "result" in ask(s, HELLO)


def test_what_is_not_of_this_host_alone_needs_a_token(tmp_path: Path) -> None:
    (tmp_path / "short").write_text("x\n")
    for options, words in (
        (["--listen", f"tcp:0.0.0.0:{free_port()}"], "--token"),
        (["--token", str(tmp_path / "short"), "--listen", "tcp::0"], "16 to 512 characters"),
    ):
        done = subprocess.run([str(FCVI), "endpoint", *options], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_silent_client_of_the_endpoint_is_let_go() -> None:
    port = free_port()
    server = Server("fcvi endpoint", f"tcp::{port}", "--idle", "1")
    with client(port) as silent:
        assert "result" in ask(silent, HELLO)
        assert said(silent) == b""
    with client(port) as s:
        assert "result" in ask(s, HELLO)
    assert server.end() == 0


def test_the_socket_of_the_endpoint_is_the_users_and_goes_with_it(tmp_path: Path) -> None:
    path = tmp_path / "e"
    server = Server("fcvi endpoint", f"unix:{path}")
    assert path.stat().st_mode & 0o777 == 0o700
    assert server.end() == 0 and not path.exists()


def answered(words: list[str], line: dict[str, object]) -> Optional[dict[str, object]]:
    """What a server on standard input and output says to one line."""
    done = subprocess.run(words, input=json.dumps(line).encode() + b"\n", capture_output=True, timeout=60, check=False)
    found: dict[str, object] = json.loads(done.stdout.splitlines()[0])
    return found


@pytest.mark.parametrize("name", SERVERS)
def test_no_text_is_taken_for_its_beginning(name: str) -> None:
    """X11: what stands behind a U+0000 is a part of the name."""
    answer = answered(SERVERS[name], {**HELLO, "method": "hello\u0000x"})
    assert answer is not None and "error" in answer
