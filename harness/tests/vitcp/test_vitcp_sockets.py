"""``--dut vitcp:HOST:PORT``: the cases of VI/TCP over kernel sockets on loopback say what they say in virtual time."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Iterator

import pytest

from fcvi.engine.pixit import Pixit
from .. import starts
from ..conftest import FCVI
from .test_agent_vitcp import free_port

pytestmark = pytest.mark.early

#: Setups from both sides and their ends, Messages in every cut, a refusal, and what sockets cannot do.
SELECT = ",".join(
    ("TCP.4.1.a", "TCP.4.1.b", "TCP.4.3.b", "TCP.2.2.2.2.2.e", "TCP.2.2.2.2.6.a", "TCP.2.2.2.2.3.a", "TCP.2.2.2.2.3.b/*bytes*",
     "TCP.4.a/lower*", "TCP.3.2.b", "TCP.4.2.b")
)  # fmt: skip
_OPEN = re.compile("cannot be configured so|a kernel accepts before anybody is asked|buffers take them|the suite has the")


@pytest.fixture(name="device", scope="module")
def _device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, str]]:
    """The reference port at 127.0.0.1: its port, and the control plane."""
    port, control = free_port(), tmp_path_factory.mktemp("device") / "control"
    command = [str(FCVI), "endpoint", "--on", f"vitcp:127.0.0.1:{port}", "--control", f"unix:{control}"]
    with starts.Popen(command, stdout=subprocess.PIPE, text=True) as endpoint:
        try:
            assert endpoint.stdout is not None and endpoint.stdout.readline().startswith("on vitcp:")
            yield port, f"unix:{control}"
        finally:
            endpoint.terminate()
            endpoint.wait(10)


def results(report: Path) -> dict[str, Any]:
    """The results of a run by variant."""
    return {r["id"]: r for r in json.loads((report / "report.json").read_text(encoding="utf-8"))["results"]}


def run(report: Path, select: str, *words: str) -> tuple[dict[str, Any], int]:
    """Run cases of VI/TCP; the results and the exit status."""
    command = [str(FCVI), "run", "--wire", "tcp", "--quiet", "--select", select, "--report", str(report)]
    command += ["--formats", "json,evidence", *words]
    done = starts.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return results(report), done.returncode


@pytest.fixture(name="alone", scope="module")
def _alone(device: tuple[int, str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """The report of a run over real TCP in which nobody else speaks, and its status."""
    port, control = device
    place = tmp_path_factory.mktemp("alone")
    return place, run(place, SELECT, "--dut", f"vitcp:127.0.0.1:{port},on=127.0.0.2", "--agent", control)[1]


def test_real_tcp_and_virtual_time_have_the_same_verdicts(alone: tuple[Path, int], tmp_path: Path) -> None:
    """But for what sockets or the addresses cannot do, which is inconclusive with its reason."""
    place, status = alone
    virtual, _ = run(tmp_path / "virtual", SELECT)
    real = results(place)
    assert list(real) == list(virtual) and len(real) >= 20
    other = {name: r for name, r in real.items() if r["verdict"] != virtual[name]["verdict"]}
    assert {r["verdict"] for r in other.values()} == {"inconclusive"}
    assert all(_OPEN.search(r["reason"]) for r in other.values()), [r["reason"] for r in other.values()]
    assert len(other) <= len(real) // 2 and status == 4
    again = starts.run([str(FCVI), "judge", str(place)], capture_output=True, text=True, timeout=120, check=False)
    assert again.returncode == 4 and "differs" not in again.stderr, again.stderr


def test_the_timestamp_option_is_seen(device: tuple[int, str], tmp_path: Path) -> None:
    """The reference is on this host's kernel, which offers it; in virtual time nobody tells."""
    port, control = device
    command = ("TCP.2.2.2.2.4.a", "--dut", f"vitcp:127.0.0.1:{port},on=127.0.0.2", "--agent", control)
    offered = Path("/proc/sys/net/ipv4/tcp_timestamps").read_text(encoding="ascii").strip() != "0"
    found, _ = run(tmp_path / "real", *command)
    assert {r["verdict"] for r in found.values()} == {"pass" if offered else "not-applicable"}
    assert [r["findings"] for r in found.values()] == [[], []]
    found, _ = run(tmp_path / "virtual", command[0])
    assert {r["verdict"] for r in found.values()} == {"not-applicable"}


def test_the_report_has_the_addresses(device: tuple[int, str], tmp_path: Path) -> None:
    """Those of the run, in the PIXIT."""
    port, control = device
    run(tmp_path / "real", "TCP.4.1.a", "--dut", f"vitcp:127.0.0.1:{port},on=127.0.0.2", "--agent", control)
    evidence = json.loads((tmp_path / "real" / "evidence" / "run.json").read_text(encoding="utf-8"))
    mapped = "00000000000000000000ffff7f00000"
    assert evidence["pixit"]["ends"] == {"dut": f"{mapped}1", "tester": f"{mapped}2", "port": port}
    assert Pixit.from_json(evidence["pixit"]).as_json() == evidence["pixit"]


@pytest.mark.parametrize(
    "spec, words",
    [
        ("vitcp:127.0.0.1:4820", "the device has the address 127.0.0.1 too"),
        ("vitcp:127.0.0.1:0,on=127.0.0.2", "port 0 is no port that another host could call"),
        ("vitcp:127.0.0.1", "use vitcp:HOST:PORT[,on=ADDR] with IP addresses"),
        ("vitcp:nobody:4820", "'nobody' does not appear to be an IPv4 or IPv6 address"),
        ("vitcp:127.0.0.1:4820,on=192.0.2.77", "192.0.2.77 port 4820: Cannot assign requested address"),
        ("vitcp:127.0.0.1:4820,at=127.0.0.2", "'at=127.0.0.2' is no option: use on=ADDR"),
        ("vitcp:127.0.0.1:99999,on=127.0.0.2", "99999"),
    ],
)
def test_a_spec_that_cannot_be_is_one_line(spec: str, words: str) -> None:
    """And status 2."""
    done = starts.run(
        [str(FCVI), "run", "--dut", spec, "--agent", "exec:false"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"fcvi: --dut {spec}: ") and words in done.stderr and done.stderr.count("\n") == 1


def test_a_port_in_use_and_a_device_without_an_upper_tester_are_one_line() -> None:
    """Each says what to do."""
    port = free_port()
    with closing(socket.create_server(("127.0.0.2", port))):
        done = starts.run(
            [str(FCVI), "run", "--dut", f"vitcp:127.0.0.1:{port},on=127.0.0.2"],
            capture_output=True, text=True, timeout=60, check=False
        )  # fmt: skip
    assert done.returncode == 2 and "Address already in use" in done.stderr and done.stderr.count("\n") == 1
    done = starts.run(
        [str(FCVI), "run", "--dut", f"vitcp:127.0.0.1:{port},on=127.0.0.2"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2 and "--agent" in done.stderr and done.stderr.count("\n") == 1


_NOBODY = """
import json, socket, sys
made = 0
listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {}}
    if asked["method"] == "hello":
        answer["result"] = {"implementation": "nobody", "version": "1", "clock": "real", "protocol": 2, "wires": ["tcp"],
                            "pics": {"tcp": True, "client": True, "server": True, "send": True}}
    elif asked["method"] == "VipCreateVi":
        made += 1
        answer["result"] = {"vi": made}
    elif asked["method"] == "VipQueryVi":
        answer["result"] = {"state": "VIP_STATE_IDLE"}
    elif asked["method"] in ("VipConnectWait", "VipConnectRequest"):
        continue
    elif not asked["method"].startswith("Vip") and asked["method"] not in ("reset", "mem.read", "mem.write"):
        answer = {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no such method"}}
    print(json.dumps(answer), flush=True)
"""


def test_a_device_that_is_mute_on_tcp_passes_nothing(tmp_path: Path) -> None:
    """It accepts TCP, answers every call, and never says a byte."""
    port = free_port()
    program = tmp_path / "nobody.py"
    program.write_text(_NOBODY, encoding="utf-8")
    found, _ = run(
        tmp_path / "mute", "TCP.4.1.a,TCP.4.3.a", "--dut", f"vitcp:127.0.0.1:{port},on=127.0.0.2",
        "--agent", f"exec:{sys.executable} {program} {port}",
    )  # fmt: skip
    assert found and "pass" not in {r["verdict"] for r in found.values()}


class _Caller(threading.Thread):
    """Somebody at 127.0.0.3 who connects to the suite's port 50 times a second, and says something."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._port, self._over = port, threading.Event()

    def run(self) -> None:
        while not self._over.wait(0.02):
            with suppress(OSError), closing(socket.socket()) as caller:
                caller.settimeout(1)
                caller.bind(("127.0.0.3", 0))
                caller.connect(("127.0.0.2", self._port))
                caller.send(bytes(64))

    def stop(self) -> None:
        """Call no more."""
        self._over.set()
        self.join()


@pytest.mark.parametrize(
    "select", ["TCP.4.1.a,TCP.4.2.b,TCP.4.3.b", pytest.param(SELECT, marks=pytest.mark.nightly)], ids=["few", "all"]
)
def test_whoever_else_connects_changes_no_verdict(
    select: str, device: tuple[int, str], alone: tuple[Path, int], tmp_path: Path
) -> None:
    port, control = device
    before = {name: r["verdict"] for name, r in results(alone[0]).items()}
    caller = _Caller(port)
    caller.start()
    try:
        after, _ = run(tmp_path, select, "--dut", f"vitcp:127.0.0.1:{port},on=127.0.0.2", "--agent", control)
    finally:
        caller.stop()
    assert len(after) >= 3 and {name: r["verdict"] for name, r in after.items()} == {name: before[name] for name in after}
    assert any("127.0.0.3" in path.read_text() for path in (tmp_path / "evidence").glob("*.jsonl"))
