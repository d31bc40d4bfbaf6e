"""A peer that floods or lies costs the Connection, never the process: afterwards the next one is served."""

from __future__ import annotations

import os
import random
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Iterator

import pytest

from ...live.net import DEVICE, Net
from .conftest import FC, HERE, TCP, port

LIAR = str(HERE / "liar.py")


def started(words: list[str], env: dict[str, str]) -> subprocess.Popen[str]:
    """A process that has said that it is ready."""
    process = subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n", words
    return process


def asks(
    words: list[str], env: dict[str, str], host: str, milliseconds: int = 800, case: str = "-"
) -> subprocess.CompletedProcess[str]:
    """It ends by itself, whatever it was told."""
    asking = [*words, case, "nic1", "1", host, str(milliseconds)]
    return subprocess.run(asking, env=env, capture_output=True, text=True, check=False, timeout=60)


def serves(process: subprocess.Popen[str], words: list[str], env: dict[str, str]) -> None:
    """It is there, takes one that tells the truth, and ends as it should."""
    assert process.poll() is None, process.communicate()
    said = ""
    end = time.monotonic() + 20
    while not said.startswith("VIP_SUCCESS") and time.monotonic() < end:  # what was begun before ends first
        said = asks(words, env, "nodea", 5000, "last").stdout
        time.sleep(0.1)
    assert said.startswith("VIP_SUCCESS"), said
    assert process.wait(20) == 0, process.communicate()


@pytest.fixture
def tcp(errors: Path, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], dict[str, str], int]]:
    """A server, and at which port."""
    conf, at = tmp_path / "vipl.conf", port()
    conf.write_text(TCP.format(port=at).replace(f"nic0 wire=vitcp:127.0.0.1:{at}", f"nic0 wire=vitcp:127.0.0.1:{at} incoming=300"))
    env = {**os.environ, "VIPL_CONF": str(conf)}
    process = started([str(errors), "stays", "nic0", "0", "-"], env)
    try:
        yield process, env, at
    finally:
        process.kill()
        process.communicate()


def test_streams_of_chance(tcp: tuple[subprocess.Popen[str], dict[str, str], int], errors: Path) -> None:
    """Garbage, silence, half a segment, more connections than a port has streams, and a RST on each."""
    process, env, at = tcp
    chance, held = random.Random(1), []
    for i in range(400):
        s = socket.create_connection(("127.0.0.1", at))
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        held.append(s)
        try:
            if i % 4:
                s.sendall(chance.randbytes(chance.choice((1, 15, 16, 64, 70000))))
        except OSError:  # it was cut off
            pass
        if i % 3 == 0:
            held.pop(chance.randrange(len(held))).close()
    for s in held:
        s.close()
    serves(process, [str(errors)], env)


def test_a_stream_that_lies(tcp: tuple[subprocess.Popen[str], dict[str, str], int], errors: Path) -> None:
    """A client and a server, with somebody between them who changes what they say: both end as programs do."""
    process, env, at = tcp
    liar = started([sys.executable, LIAR, "tcp", "127.0.0.5", "127.0.0.1", str(at), "7"], env)
    try:
        for _ in range(8):
            asked = asks([str(errors)], env, "proxy", 400)
            assert asked.returncode == 0 and process.poll() is None, asked
    finally:
        liar.kill()
        liar.communicate()
    serves(process, [str(errors)], env)


@pytest.mark.parametrize("more", ["", "edition=rev1"])
def test_frames_that_lie(more: str, errors: Path, tmp_path: Path, net: Net) -> None:
    """Damaged copies of every frame, and frames of chance between them."""
    conf = tmp_path / "vipl.conf"
    conf.write_text(FC.format(more=f"r_a_tov=300 {more}"))
    env = {**os.environ, "VIPL_CONF": str(conf)}
    words = net.words(str(errors))
    process = started([*words, "stays", "nic0", "0", "-"], env)
    liar = started(net.words(sys.executable, LIAR, "fc", DEVICE, "1.5", "7"), env)
    try:
        while liar.poll() is None:
            assert asks(words, env, "nodea").returncode == 0
        serves(process, words, env)
    finally:
        for p in (process, liar):
            p.kill()
            p.communicate()
