"""A third station on the segment, or a third host on the network, changes no verdict."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ..conftest import ROOT
from .net import DEVICE, TESTER, Net

#: A socket on the device's end that sends from an address of its own: IUs and Basic Link Services with the device's S_ID and with
#: another, FIP, and noise, 50 frames a second. Arguments: the interface, FC-MAP, N_Port_IDs of the suite and of the device.
BYSTANDER = """
import os, socket, sys, time, zlib
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
fc_map, suite, device, target = sys.argv[2:6]
to, own = bytes.fromhex(target or fc_map + suite), bytes.fromhex("02deadbeef07")
print("speaks", flush=True)
number = 0
while True:
    number += 1
    s_id = device if number % 2 else "0a0b0c"
    r_ctl, f_ctl = (("06", "290000"), ("81", "090000"), ("07", "990000"))[number % 3]
    kind = "58" if r_ctl != "81" else "00"
    head = f"{r_ctl}{suite}00{s_id}{kind}{f_ctl}00000000{number & 0xffff:04x}ffff00000000"
    data = bytes.fromhex(head) + os.urandom(64)
    crc = zlib.crc32(data).to_bytes(4, "little")
    s.send(to + own + b"\\x89\\x06" + bytes(13) + b"\\x2e" + data + crc + b"\\x42\\0\\0\\0")
    if number % 10 == 0:
        s.send(to + own + b"\\x89\\x14" + os.urandom(60))
    time.sleep(0.02)
"""
SELECTION = "A.1/*,5.3.2/dut-client,5.3.2/dut-server,C.R3*,D.R1*,D.R3"
#: The suite's role, the device's, FC-MAP, and the N_Port_IDs of the suite and of the device.
ROLES = [
    ("point-to-point", "point-to-point", "0efc00", "010100", "010200"),
    ("vn2vn", "vn2vn", "0efd00", "000001", "000002"),
    ("fabric", "enode", "0efc00", "010100", "010200"),
    ("enode", "fabric", "0efc00", "010100", "010200"),
]


def _verdicts(net: Net, report: Path, dut: str, agent: str, select: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    done = net.fcvi("run", "--dut", dut, "--agent", agent, "--select", *select, "--report", str(report), timeout=500)
    assert "Traceback" not in done.stderr, done.stderr
    return {r["id"]: (r["verdict"], r["reason"]) for r in json.loads((report / "report.json").read_text())["results"]}


def _same(net: Net, tmp_path: Path, role: tuple[str, ...], *select: str, adapter: str = "") -> None:
    suites, devices, fc_map, suite, device = role
    dut = adapter or f"fcoe:{TESTER},role={suites}"
    agent = net.endpoint(tmp_path / "control", f",role={devices}")
    before = _verdicts(net, tmp_path / "before", dut, agent, select)
    # an FCF is spoken to at the address of its interface
    own = net.run("ip", "-o", "link", "show", TESTER).stdout.split("link/ether ")[1][:17].replace(":", "")
    script = tmp_path / "bystander.py"
    script.write_text(BYSTANDER)
    target = own if suites == "fabric" else ""
    net.start("/usr/bin/python3", str(script), DEVICE, fc_map, suite, device, target, until="speaks")
    after = _verdicts(net, tmp_path / "after", dut, agent, select)
    assert {n: verdict for n, (verdict, _) in after.items()} == {n: verdict for n, (verdict, _) in before.items()}, after
    assert not any(verdict in ("fail", "error") for verdict, _ in after.values()), after
    traces = [path.read_text() for path in (tmp_path / "after" / "evidence").glob("*.jsonl")]
    assert adapter or any("02:de:ad:be:ef:07" in trace for trace in traces)
    assert net.fcvi("judge", str(tmp_path / "after")).returncode in (0, 4)


@pytest.mark.parametrize("role", ROLES, ids=[r[0] for r in ROLES])
def test_a_bystander_changes_no_verdict(net: Net, tmp_path: Path, role: tuple[str, ...]) -> None:
    _same(net, tmp_path, role, SELECTION)


@pytest.mark.nightly
@pytest.mark.parametrize("role", ROLES, ids=[r[0] for r in ROLES])
def test_a_bystander_changes_no_verdict_of_the_book(net: Net, tmp_path: Path, role: tuple[str, ...]) -> None:
    _same(net, tmp_path, role, "4.*,5.*,C.*", "--shard", "1/6")


@pytest.mark.nightly
def test_a_bystander_changes_no_verdict_behind_the_fcoe_adapter(net: Net, tmp_path: Path) -> None:
    adapter = f"frames:exec:{sys.executable} {ROOT}/harness/starters/fcoe_adapter.py {TESTER}"
    _same(net, tmp_path, ROLES[0], SELECTION, adapter=adapter)
