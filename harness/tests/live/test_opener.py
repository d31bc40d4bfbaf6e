"""fcvi-open: a user without any privilege runs the suite on an interface, and the program does nothing else for anybody."""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Iterator

import pytest

from ..conftest import FCVI, ROOT
from .net import DEVICE, TESTER, Net

_OPENER = FCVI.with_name("fcvi-open")
_NOBODY = "setpriv --reuid 1000 --regid 1000 --clear-groups env SUDO_UID= SUDO_GID="


@pytest.fixture(name="tree")
def _tree() -> Iterator[Path]:
    """What another user can run: the suite, with an opener of its own that has the capability."""
    if os.geteuid() != 0 or shutil.which("setcap") is None:
        pytest.skip("only root can give a program a capability, with setcap")
    place = Path(tempfile.mkdtemp(prefix="fcvi-opener-"))
    place.chmod(0o755)
    try:
        shutil.copytree(ROOT / "harness/fcvi", place / "tree/harness/fcvi", ignore=shutil.ignore_patterns("__pycache__"))
        (place / "tree/conformance").symlink_to(ROOT / "conformance")
        (place / "tree/build").mkdir()
        (place / "tree/build/python").symlink_to(ROOT / "build/python")
        opener = place / "tree/build/fcvi-open"
        shutil.copy(_OPENER, opener)
        if subprocess.run(["setcap", "cap_net_raw=ep", str(opener)], check=False, capture_output=True).returncode != 0:
            pytest.skip("the file system keeps no capabilities")
        if subprocess.run([*_NOBODY.split(), "test", "-r", str(FCVI)], check=False).returncode != 0:
            pytest.skip("another user cannot read the tree")
        yield place / "tree"
    finally:
        shutil.rmtree(place)


_RUN = "import sys; sys.path[:0] = {path!r}; from conformance.__main__ import main; sys.exit(main())"


def _as_nobody(net: Net, tree: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    path = [str(tree / "build/python"), str(tree / "harness"), str(tree)]
    return net.run(*_NOBODY.split(), "/usr/bin/python3", "-I", "-B", "-c", _RUN.format(path=path), *words)


def test_a_user_without_privileges_runs_cases(net: Net, tree: Path) -> None:
    control, token = tree.parent / "control", tree.parent / "token"
    token.write_text("the endpoint is root's\n")
    on = ("--on", f"fcoe:{DEVICE}", "--control", f"unix:{control}", "--token", str(token))
    net.start(str(FCVI), "endpoint", *on, until="control at")
    control.chmod(0o777)
    cases = "5.3.2/dut-client,5.3.2/dut-server,A.1/class3/in-order"
    run = ("run", "--dut", f"fcoe:{TESTER}", "--agent", f"unix:{control},token={token}", "--select", cases)
    done = _as_nobody(net, tree, *run)
    assert done.returncode == 0 and "3 pass" in done.stdout, done.stdout + done.stderr
    subprocess.run(["setcap", "-r", str(tree / "build/fcvi-open")], check=True)
    done = _as_nobody(net, tree, *run)
    assert done.returncode == 2 and "not permitted: it needs CAP_NET_RAW" in done.stdout + done.stderr


@pytest.mark.parametrize("interface, words", [
    ("none", "there is no such interface"), ("lo", "this is no Ethernet interface"), ("a" * 40, "starts this program"),
    ("", "no such interface"),
])  # fmt: skip
def test_what_the_opener_refuses(net: Net, interface: str, words: str) -> None:
    ours, its = socket.socketpair()
    with ours, its:
        done = subprocess.run(
            net._command(str(_OPENER), interface), stdin=its, capture_output=True, text=True, check=False, timeout=20
        )
        its.close()
        assert done.returncode in (2, 3) and words in done.stderr and done.stderr.count("\n") == 1, done.stderr
        assert ours.recv(10) == b""


@pytest.mark.parametrize("argv", [[], ["a", "b"], [DEVICE]])
def test_the_opener_is_started_by_the_suite_only(argv: list[str]) -> None:
    done = subprocess.run([str(_OPENER), *argv], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=20)
    assert done.returncode == 2 and "starts this program" in done.stderr


def test_the_socket_takes_in_what_it_is_for_and_keeps_its_filter(net: Net) -> None:
    ours, its = socket.socketpair()
    with ours, its:
        done = subprocess.run(net._command(str(_OPENER), DEVICE), stdin=its, capture_output=True, check=False, timeout=20)
        assert done.returncode == 0, done.stderr
        with socket.socket(fileno=socket.recv_fds(ours, 1, 1)[1][0]) as opened:
            with pytest.raises(PermissionError):
                opened.setsockopt(socket.SOL_SOCKET, 27, 0)  # SO_DETACH_FILTER
            sender = (
                "import socket; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(('" + TESTER + "', 0))\n"
                "for kind in ('0800', '86dd', '8906', '8914', '88cc', '0806'): s.send(bytes(12) + bytes.fromhex(kind) + bytes(46))"
            )
            assert net.run("/usr/bin/python3", "-c", sender).returncode == 0
            opened.settimeout(2)
            assert [opened.recv(100)[12:14].hex() for _ in range(3)] == ["8906", "8914", "88cc"]
            opened.settimeout(0.2)
            with pytest.raises(TimeoutError):
                opened.recv(100)


def test_the_socket_stays_where_it_is(net: Net) -> None:
    """It hears no other interface, and takes no frames away from a program that shares its own among several sockets."""
    ours, its = socket.socketpair()
    with ours, its:
        done = subprocess.run(net._command(str(_OPENER), DEVICE), stdin=its, capture_output=True, check=False, timeout=20)
        assert done.returncode == 0, done.stderr
        with socket.socket(fileno=socket.recv_fds(ours, 1, 1)[1][0]) as opened:
            for protocol in (0, 3):  # 3: ETH_P_ALL
                with pytest.raises(OSError, match="Invalid argument"):
                    opened.bind((TESTER, protocol))
            for group in (1, 7):
                with pytest.raises(OSError, match="already"):
                    opened.setsockopt(263, 18, struct.pack("I", group | 1 << 16))  # SOL_PACKET, PACKET_FANOUT
            sender = (
                "import socket; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(('{}', 0))\n"
                "s.send(bytes(12) + bytes.fromhex('8906') + bytes(46))"
            )
            opened.settimeout(0.5)
            assert net.run("/usr/bin/python3", "-c", sender.format(DEVICE)).returncode == 0
            with pytest.raises(TimeoutError):
                opened.recv(100)
            assert net.run("/usr/bin/python3", "-c", sender.format(TESTER)).returncode == 0
            assert opened.recv(100)[12:14].hex() == "8906"
