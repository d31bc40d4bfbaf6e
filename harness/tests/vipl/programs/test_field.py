"""Programs as the field wrote them, from the guide alone, on every wire: what is asked of the library, and of its frames."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Callable, Iterator

import pytest

from ...live.net import TESTER, Net, available
from .conftest import FC, TCP, port

NAMES = ("pingpong", "farm", "notify", "bulk", "post_errors", "reuse", "names")
WIRES = ["vitcp", "2007", pytest.param("rev1", marks=pytest.mark.nightly)]


@pytest.fixture(scope="module")
def field(build: Callable[[str], Path]) -> Path:
    return build("field.c")


def _started(words: list[str], conf: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "VIPL_CONF": str(conf), "VIPL_DEBUG": "1"}
    return subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _ended(processes: list[subprocess.Popen[str]]) -> None:
    """Each of them has to end with 0."""
    try:
        said = [process.communicate(timeout=90)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0] * len(processes), said


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", NAMES)
def test_program(name: str, wire: str, field: Path, tmp_path: Path, net: Net) -> None:
    conf = tmp_path / "vipl.conf"
    over_tcp = wire == "vitcp"
    conf.write_text(TCP.format(port=port()) if over_tcp else FC.format(more=f"r_a_tov=4000 edition={wire}"))
    processes = []
    for rank in (0, 1):
        words = [str(field), name, f"nic{rank}", str(rank), *(["tcp"] if over_tcp else [])]
        processes.append(_started(words if over_tcp else net.words(*words), conf))
        opened = processes[-1].stdout
        assert opened is not None and opened.readline() == "open\n", processes[-1].communicate()
    _ended(processes)


@pytest.mark.nightly
@pytest.mark.parametrize("edition", ["2007", "rev1"])
def test_lint_finds_nothing_in_their_frames(edition: str, field: Path, tmp_path: Path, net: Net) -> None:
    if shutil.which("dumpcap") is None:
        pytest.skip("no dumpcap here")
    wire = tmp_path / "wire.pcapng"
    capture = net.start("dumpcap", "-q", "-B", "64", "-i", TESTER, "-w", str(wire), until="File:")
    for name in NAMES:
        test_program(name, edition, field, tmp_path, net)
    net.stop_capture(capture)
    done = net.fcvi("lint", str(wire), timeout=300)
    assert done.returncode == 0, done.stdout[-3000:]


# ---- all with all ----

NODES = 4


@pytest.fixture(scope="module")
def bridge() -> Iterator[Net]:
    """A namespace with as many interfaces as there are nodes, on one bridge."""
    missing = available()
    if missing is not None:
        pytest.skip(missing)
    made = Net()
    try:
        links = ["ip link add mesh type bridge", "ip link set mesh mtu 2500 up"]
        for node in range(NODES):
            links += [f"ip link add node{node} mtu 2500 type veth peer name port{node} mtu 2500",
                      f"ip link set port{node} master mesh up", f"ip link set node{node} up"]  # fmt: skip
        done = made.run("sh", "-ec", "\n".join(links))
        if done.returncode != 0:
            pytest.skip(f"no bridge here: {done.stderr.strip()}")
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("wire", WIRES)
def test_each_connects_with_each(wire: str, build: Callable[[str], Path], tmp_path: Path, bridge: Net) -> None:
    """They start one after the other: who is first asks for a NIC that is open only when a client would have given up."""
    mesh, conf = build("mesh.c"), tmp_path / "vipl.conf"
    number = port()
    lines = []
    for node, letter in enumerate("abcd"):
        lines.append(f"node{letter} address={f'127.0.0.{node + 1}' if wire == 'vitcp' else f'fe80::{letter}'}")
        fc = f"nic{node} wire=fcoe:node{node} host=fe80::{letter} r_a_tov=200 edition={wire}"
        lines.append(f"nic{node} wire=vitcp:127.0.0.{node + 1}:{number}" if wire == "vitcp" else fc)
    conf.write_text("\n".join(lines) + "\n")
    processes = []
    for node in range(NODES):
        words = [str(mesh), f"nic{node}", str(node), str(NODES)]
        processes.append(_started(words if wire == "vitcp" else bridge.words(*words), conf))
        time.sleep(0.3)
    _ended(processes)
