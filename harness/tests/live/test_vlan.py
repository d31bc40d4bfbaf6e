"""VLANs on real frames: the FCF is in one that only VLAN discovery names, and a device in the wrong one is told."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from .net import TESTER, Net


def test_the_vlan_that_discovery_names_is_followed(net: Net, tmp_path: Path) -> None:
    agent = net.endpoint(tmp_path / "c", ",role=fabric,vlan=7")
    dumpcap = shutil.which("dumpcap")
    wire = tmp_path / "wire.pcap"
    capture = net.start(dumpcap, "-q", "-i", TESTER, "-w", str(wire), until="File:") if dumpcap else None
    run = ("run", "--agent", agent, "--select", "5.3.2/dut-client,5.3.2/dut-server", "--dut")
    done = net.fcvi(*run, f"fcoe:{TESTER},role=enode")
    assert done.returncode == 0, done.stdout + done.stderr
    done = net.fcvi(*run, f"fcoe:{TESTER},role=enode,vlan=7")
    assert done.returncode == 0, done.stdout + done.stderr
    done = net.fcvi(*run, f"fcoe:{TESTER},role=enode,vlan=8,wait=2.5")
    assert done.returncode == 3 and "no advertisement of an FCF" in done.stdout + done.stderr
    if capture is None:
        pytest.skip("no dumpcap: the wire was not captured")
    net.stop_capture(capture)
    fields = ("-T", "fields", "-e", "vlan.id", "-e", "vlan.priority")
    found = subprocess.run(["tshark", "-r", str(wire), "-Y", "fc.type == 0x58", *fields],
                           capture_output=True, text=True, timeout=60, check=True).stdout.split("\n")  # fmt: skip
    assert {line.split("\t")[0] for line in found if line} == {"7"} and "7\t3" in found


def test_a_device_in_another_vlan_is_not_accused(net: Net, tmp_path: Path) -> None:
    """A device in another VLAN would seem to be silent: the operator is told, and the device is not accused."""
    agent = net.endpoint(tmp_path / "c", ",vlan=7")
    run = ("run", "--agent", agent, "--select", "5.3.2/dut-client", "--r-a-tov", "300", "--dut")
    apart = net.fcvi(*run, f"fcoe:{TESTER}")
    assert apart.returncode == 3, apart.stdout
    assert "fcvi0: the device's frames come in VLAN 7: say vlan=7, and ours go without one" in apart.stdout
    wrong = net.fcvi(*run, f"fcoe:{TESTER},vlan=8")
    assert wrong.returncode == 3 and "come in VLAN 7: say vlan=7, and ours go into VLAN 8" in wrong.stdout
    together = net.fcvi(*run, f"fcoe:{TESTER},vlan=7")
    assert together.returncode == 0, together.stdout + together.stderr
