"""LLDP and DCBX are recognised and told; the bytes are scapy's, laid out by IEEE 802.1AB."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest

from fcvi.live.lldp import told

from .net import DEVICE, TESTER, Net

scapy = pytest.importorskip("scapy.contrib.lldp")
Ether = pytest.importorskip("scapy.layers.l2").Ether

_DCBX_IEEE, _DCBX_CEE = bytes.fromhex("0080c2" "0b" "0008"), bytes.fromhex("001b21" "02" "0206000000000208")


_SENDER = """
import socket, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
print("go", flush=True)
while True:
    s.send(bytes.fromhex(sys.argv[2]))
    time.sleep(0.2)
"""


def lldp(*more: bytes) -> bytes:
    """A message with a name; more: values of organizationally specific TLVs."""
    message = (
        scapy.LLDPDUChassisID(subtype=4, id=bytes.fromhex("02000000000a")) / scapy.LLDPDUPortID(subtype=5, id=b"eth1/7")
        / scapy.LLDPDUTimeToLive(ttl=120) / scapy.LLDPDUSystemName(system_name=b"mds-\x1b[31mlab")
    )  # fmt: skip
    for value in more:
        message = message / scapy.LLDPDUGenericOrganisationSpecific(
            org_code=int.from_bytes(value[:3], "big"), subtype=value[3], data=value[4:]
        )
    return bytes(Ether(type=0x88CC) / message / scapy.LLDPDUEndOfLLDPDU())[14:]


def test_a_switch_is_named_and_its_dcbx_is_told() -> None:
    assert told(lldp()) == "the other end says by LLDP that it is mds-\\x1b[31mlab"
    for dcbx in (_DCBX_IEEE, _DCBX_CEE):
        assert told(lldp(dcbx)).endswith("offers DCBX, which the suite does not answer: its port has to carry FCoE without it")
    assert "DCBX" not in told(lldp(bytes.fromhex("00120f" "01" "00")))  # of 802.3


def test_no_message_hurts() -> None:
    good, rng = lldp(_DCBX_IEEE, _DCBX_CEE), Random(1)
    for cut in range(len(good)):
        assert told(good[:cut]) == ""
    for _ in range(2000):
        damaged = bytearray(good)
        for _ in range(rng.randrange(1, 6)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        assert told(bytes(damaged)).isprintable()


def test_an_operator_who_waits_in_vain_reads_who_is_there(net: Net, tmp_path: Path) -> None:
    pics = tmp_path / "pics.toml"
    pics.write_text("[pics]\nclient = true\nserver = true\nclass3 = true\nfarp = true\nexplicit_login = true\n")
    frame = bytes.fromhex("0180c200000e" "02000000000a" "88cc") + lldp(_DCBX_IEEE)
    net.start(sys.executable, "-c", _SENDER, DEVICE, frame.hex(), until="go")
    where = f"fcoe:{TESTER},role=enode,wait=1"
    done = net.fcvi("run", "--dut", where, "--pics", str(pics), "--select", "7.5.reply/right")
    assert done.returncode == 3
    assert "no advertisement of an FCF within 1 s; the other end says by LLDP that it is mds-" in done.stdout + done.stderr
