"""FIP: bytes laid out by an independent tool (scapy), and two ends that find each other without an interface."""

from __future__ import annotations

from typing import Any

import pytest

from fcvi.dut.base import DutError, Unavailable
from fcvi.live import fip
from fcvi.live.options import parse
from fcvi.live.vn2vn import Vn2Vn
from fcvi.live.wire import Arrived

STATION_A, STATION_B = bytes.fromhex("02000000000a"), bytes.fromhex("02000000000b")
PROBE = (
    "011018010004" "02000000000a" "8914" "1000" "0005" "0001" "000a" "0000" "0202" "02000000000a"
    "0403" "0000" "20000090fa000001" "0b05" "0efd0000a1a1" "0000a1a1" "10000090fa000001"
)  # fmt: skip
BEACON = PROBE.replace("02000000000a8914", "0efd0000a1a18914", 1).replace("00050001", "00050005")
A = {"port_name": "10000090fa000001", "node_name": "20000090fa000001", "n_port_id": "00a1a1"}
B = {"port_name": "10000090fa000002", "node_name": "20000090fa000002", "n_port_id": "00b2b2"}
CONFIG: dict[str, Any] = {"topology": "point-to-point"}


def end(address: bytes, me: dict[str, Any], peer: dict[str, Any]) -> Vn2Vn:
    role = Vn2Vn(parse("fcoe:x,role=vn2vn", "--dut"), address)
    role.configure(me, peer, CONFIG)
    return role


def talk(ends: list[Vn2Vn], until_us: int) -> list[bytes]:
    """Both ends in virtual time; every frame that went out."""
    now, seen = 0, []
    while now <= until_us:
        for one in ends:
            one.run(now)
        while any(one.out for one in ends):
            for one in ends:
                out, one.out = one.out, []
                for raw in out:
                    assert isinstance(raw, bytes)
                    seen.append(raw)
                    for other in ends:
                        if other is not one:
                            other.receive(Arrived(now, raw[:6], raw[6:12], fip=raw[14:]), now)
        now += 50_000
    return seen


def test_two_ends_claim_and_find_each_other() -> None:
    a, b = end(STATION_A, A, B), end(STATION_B, B, A)
    seen = talk([a, b], 1_200_000)
    assert a.waits_for() == b.waits_for() == ""
    assert seen[0].hex() == PROBE
    assert BEACON in [raw.hex() for raw in seen]
    claim_reply = next(raw for raw in seen if raw[14:20] == bytes.fromhex("100000050004"))
    assert len(claim_reply) == 2172  # padded, which tests the MTU


def test_the_bytes_decode_as_they_were_meant() -> None:
    message = fip.decode(bytes.fromhex(PROBE)[14:])
    assert message is not None and message.what == fip.PROBE
    assert message.find(fip.MAC, 6) == STATION_A
    assert message.vn_port() == (bytes.fromhex("0efd0000a1a1"), 0xA1A1, 0x10000090FA000001)


@pytest.mark.parametrize("cut", range(0, 60))
def test_whatever_is_cut_off_is_refused(cut: int) -> None:
    payload = bytes.fromhex(PROBE)[14:]
    assert fip.decode(payload[: min(cut, len(payload) - 1)]) is None


@pytest.mark.parametrize("at, value", [(0, 0x20), (7, 0x0B), (11, 0), (11, 200), (19, 0)])
def test_lengths_that_do_not_fit_are_refused(at: int, value: int) -> None:
    payload = bytearray.fromhex(PROBE)[14:]
    payload[at] = value
    assert fip.decode(bytes(payload)) is None


def test_one_identifier_wanted_by_two_is_told() -> None:
    a, b = end(STATION_A, A, B), end(STATION_B, {**B, "n_port_id": "00a1a1"}, A)
    talk([a, b], 1_200_000)
    with pytest.raises(DutError, match="another port has the N_Port_ID 00A1A1h"):
        a.waits_for()


def test_another_identifier_than_the_configured_is_told() -> None:
    a, b = end(STATION_A, A, B), end(STATION_B, {**B, "n_port_id": "00c3c3"}, A)
    talk([a, b], 1_200_000)
    assert a.waits_for() == "neighbour with N_Port_ID 00B2B2h (there is 00C3C3h)"


def test_what_vn2vn_cannot_be_is_refused() -> None:
    with pytest.raises(Unavailable, match="000001 to 00FFFE"):
        end(STATION_A, {**A, "n_port_id": "010100"}, B)
    with pytest.raises(Unavailable, match="not fabric"):
        Vn2Vn(parse("fcoe:x,role=vn2vn", "--dut"), STATION_A).configure(A, B, {"topology": "fabric"})
