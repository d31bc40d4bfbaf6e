"""The exporter answers whoever asks, and spends a bounded number of threads on all of them."""

from __future__ import annotations

import socket
import threading
import time
import urllib.request

import pytest

from fcvi.live.exporter import Exporter, packed


def test_those_who_say_nothing_shut_nobody_out_and_cost_few_threads() -> None:
    exporter = Exporter(("127.0.0.1", 0), lambda: None)
    before = threading.active_count()
    exporter.taken(packed(b"fcvi 1\n"))
    where = exporter.socket.getsockname()
    silent = []
    try:
        for number in range(200):
            silent.append(socket.create_connection(where, timeout=5))
            if number % 2:
                silent[-1].sendall(b"GET /metrics HTTP/1.1\r\nX: ")
        taken = []
        for _ in range(20):
            begin = time.monotonic()
            with urllib.request.urlopen(exporter.url(), timeout=5) as answer:
                assert answer.read() == b"fcvi 1\n"
            taken.append(time.monotonic() - begin)
            assert threading.active_count() - before <= 17, "the server's own, and sixteen"
        assert max(taken[1:]) < 2, taken
    finally:
        for s in silent:
            s.close()
        exporter.close()


def test_who_came_first_makes_room() -> None:
    """Where the last one did, those who say nothing would send a collector away that is being answered."""
    exporter = Exporter(("127.0.0.1", 0), lambda: None)
    exporter.taken(packed(b"fcvi 1\n"))
    asking = [socket.create_connection(exporter.socket.getsockname(), timeout=5) for _ in range(17)]
    try:
        assert asking[0].recv(1) == b""
        for later in asking[1:]:
            later.settimeout(0.01)
            with pytest.raises(TimeoutError):
                later.recv(1)
    finally:
        for s in asking:
            s.close()
        exporter.close()
