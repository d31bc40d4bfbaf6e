"""FIP: bytes laid out by an independent tool (scapy), and two ends that find each other without an interface."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from fcvi.fc import els
from fcvi.fc.build import Envelope, RawFrame
from fcvi.engine.attachment import DutError, Unavailable
from fcvi.live import fip
from fcvi.live.directory import NameServer
from fcvi.live.enode import ENode
from fcvi.live.fcf import Fcf
from fcvi.live.options import parse
from fcvi.live.role import Addressed, Role
from fcvi.live.vn2vn import Vn2Vn
from fcvi.live.wire import Arrived
from fcvi.engine.pixit import pixit_for

STATION_A, STATION_B = bytes.fromhex("02000000000a"), bytes.fromhex("02000000000b")
PROBE = (
    "011018010004" "02000000000a" "8914" "1000" "0005" "0001" "000a" "0000" "0202" "02000000000a"
    "0403" "0000" "20000090fa000001" "0b05" "0efd0000a1a1" "0000a1a1" "10000090fa000001"
)  # fmt: skip
BEACON = PROBE.replace("02000000000a8914", "0efd0000a1a18914", 1).replace("00050001", "00050005")
A = {"port_name": "10000090fa000001", "node_name": "20000090fa000001", "n_port_id": "00a1a1", "host": ["fe80" + "00" * 13 + "a1"]}
B = {"port_name": "10000090fa000002", "node_name": "20000090fa000002", "n_port_id": "00b2b2", "host": ["fe80" + "00" * 13 + "b2"]}
CONFIG: dict[str, Any] = {"topology": "point-to-point", "r_a_tov_us": 600_000, "e_d_tov_us": 200_000}


def end(address: bytes, me: dict[str, Any], peer: dict[str, Any]) -> Vn2Vn:
    role = Vn2Vn(parse("fcoe:x,role=vn2vn", "--dut"), address)
    role.configure(me, peer, CONFIG)
    return role


def talk(ends: list[Any], until_us: int) -> list[bytes]:
    """Both ends in virtual time; every frame that went out."""
    now, seen = 0, []
    while now <= until_us:
        for one in ends:
            one.run(now)
        while any(one.out for one in ends):
            for one in ends:
                out, one.out = one.out, []
                for raw in out:
                    if isinstance(raw, Addressed):
                        seen.append(raw.frame.data)
                        arrived = Arrived(now, raw.to, raw.source, raw.frame)
                    else:
                        seen.append(raw)
                        arrived = Arrived(now, raw[:6], raw[6:12], fip=raw[14:])
                    for other in ends:
                        if other is not one:
                            other.receive(arrived, now)
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


@pytest.mark.parametrize("to", ["011018010004", "0efd00ffffff"])
def test_a_broadcast_reaches_every_port(to: str) -> None:
    """D_ID FFFFFFh goes to the group of all VN2VN ports; it is taken from there, and as Linux maps it."""
    a, b = end(STATION_A, A, B), end(STATION_B, B, A)
    talk([a, b], 1_200_000)
    farp = RawFrame(bytes.fromhex("22ffffff" "0000a1a1" "01290000" "00000000" "0001ffff" "00000000" "54000000"), 0x2E, 0x42)
    a.send(farp, 0)
    (sent,) = a.out
    assert isinstance(sent, Addressed)
    assert (sent.to, sent.source) == (bytes.fromhex("011018010004"), bytes.fromhex("0efd0000a1a1"))
    assert b.receive(Arrived(0, bytes.fromhex(to), sent.source, farp), 0) == farp
    assert a.receive(Arrived(0, bytes.fromhex(to), sent.source, farp), 0) is None  # our own
    single = RawFrame(farp.data[:1] + bytes.fromhex("00c3c3") + farp.data[4:], 0x2E, 0x42)
    assert b.receive(Arrived(0, bytes.fromhex(to), sent.source, single), 0) is None  # not a broadcast


def test_a_second_port_of_one_end_has_an_address_of_its_own() -> None:
    """An end that plays two ports sends with the address of the one, and takes what the other end sends to either."""
    a, b = end(STATION_A, A, B), end(STATION_B, B, A)
    talk([a, b], 1_200_000)
    second, other = bytes.fromhex("0efd0000a1c3"), bytes.fromhex("0efd0000b2b2")
    there = RawFrame(bytes.fromhex("2200b2b2" "0000a1c3") + bytes(20), 0x2E, 0x42)
    a.send(there, 0)
    (sent,) = a.out
    assert isinstance(sent, Addressed) and (sent.to, sent.source) == (other, second)
    back = RawFrame(bytes.fromhex("2300a1c3" "0000b2b2") + bytes(20), 0x2E, 0x42)
    assert a.receive(Arrived(0, second, other, back), 0) == back
    assert a.receive(Arrived(0, second, bytes.fromhex("0efd0000d4d4"), back), 0) is None  # between two others
    claimed = RawFrame(bytes.fromhex("2300b2b2" "0000b2b2") + bytes(20), 0x2E, 0x42)
    assert a.receive(Arrived(0, other, other, claimed), 0) is None  # the port that claimed it takes it


SECOND_PORT = (0xA1C3, 0x10000000C90000F1, 0x20000000C90000F1)  # N_Port_ID, Port_Name, Node_Name


def fabric_login(addresses: str, command: str) -> RawFrame:
    """FLOGI (04h) or its LS_ACC (02h)."""
    return RawFrame(bytes.fromhex(f"{addresses} 00000000 1234ffff 00000000 {command}000000") + bytes(112), 0x2E, 0x42)


def test_a_second_port_is_claimed_before_anybody_talks_to_it() -> None:
    """FC-BB: a VN2VN end may ignore ports that have not claimed their identifiers; probe, claim and beacon come first."""
    a, b = end(STATION_A, A, B), end(STATION_B, B, A)
    talk([a, b], 1_200_000)
    assert not a.joined(*SECOND_PORT)
    seen = [raw.hex() for raw in talk([a, b], 800_000)]
    assert not a.joined(*SECOND_PORT)
    seen += [raw.hex() for raw in talk([a, b], 1_000_000)]
    assert a.joined(*SECOND_PORT) and b.waits_for() == ""
    vn = "0b05" "0efd0000a1c3" "0000a1c3" "10000000c90000f1"
    assert [raw[36:40] for raw in seen if vn in raw] == ["0001", "0001", "0003", "0005"]
    assert PROBE[:48] + "0202" "02000000000a" "0403" "0000" "20000000c90000f1" + vn == next(raw for raw in seen if vn in raw)
    # a fabric login that comes by FIP for the second port is answered from its address
    b.send(fabric_login("2200a1c3" "0000b2b2" "01290000", "04"), 0)
    (asked,) = b.out
    assert isinstance(asked, bytes) and a.receive(Arrived(0, asked[:6], asked[6:12], fip=asked[14:]), 0) is not None
    a.send(fabric_login("2300b2b2" "0000a1c3" "01990000", "02"), 0)
    answer = a.out.pop()
    assert isinstance(answer, bytes) and answer[:6] == STATION_B and answer[-6:] == bytes.fromhex("0efd0000a1c3")


def test_a_second_port_gives_way_to_who_has_its_identifier() -> None:
    """Nothing is said of the device then: the case ends inconclusive."""
    a, b = end(STATION_A, A, B), end(STATION_B, B, A)
    talk([a, b], 1_200_000)
    third = end(bytes.fromhex("02000000000c"), {**B, "port_name": "10000090fa000003", "n_port_id": "00a1c3"}, A)
    third.run(0)
    third.run(100_000)
    third.out.clear()  # its probes came before we listened
    assert not a.joined(*SECOND_PORT)
    talk([a, third], 50_000)
    with pytest.raises(Unavailable, match="another port has the N_Port_ID 00A1C3h"):
        a.joined(*SECOND_PORT)
    with pytest.raises(Unavailable, match="00B2B2h"):
        a.joined(0xB2B2, *SECOND_PORT[1:])


def test_the_second_port_of_a_case_ends_with_it() -> None:
    """What the device still has to say to it is nothing to the next case; which may have the port again."""
    a, b = end(STATION_A, A, B), end(STATION_B, B, A)
    talk([a, b], 1_200_000)
    a.joined(*SECOND_PORT)
    talk([a, b], 1_000_000)
    late = RawFrame(bytes.fromhex("2200a1c3" "0000b2b2") + bytes(20), 0x2E, 0x42)
    arrived = Arrived(0, bytes.fromhex("0efd0000a1c3"), bytes.fromhex("0efd0000b2b2"), late)
    assert a.receive(arrived, 0) == late
    a.configure(A, B, CONFIG)
    assert a.receive(arrived, 0) is None and a.waits_for() == ""
    assert not a.joined(*SECOND_PORT)
    assert a.receive(arrived, 0) == late


def test_one_identifier_wanted_by_two_is_told() -> None:
    a, b = end(STATION_A, A, B), end(STATION_B, {**B, "n_port_id": "00a1a1"}, A)
    talk([a, b], 1_200_000)
    with pytest.raises(DutError, match="another port has the N_Port_ID 00A1A1h"):
        a.waits_for()


def test_an_identifier_of_our_own_is_chosen_again_when_it_is_taken() -> None:
    """As Linux: the lower half of the Port_Name, then the next; the neighbour is the device when nobody else can say."""
    taken = end(STATION_A, {**A, "n_port_id": "000001"}, B)
    talk([taken], 1_200_000)
    ours = Vn2Vn(parse("fcoe:y,role=vn2vn", "--dut"), STATION_B)
    pixit = pixit_for("real")
    assert ours.seek(pixit, told=False) and pixit.tester.port_name.endswith("0001")
    talk([taken, ours], 2_400_000)
    assert ours.waits_for() == ""
    found = ours.found(pixit)
    assert (found.tester.n_port_id, found.dut.n_port_id, found.dut.port_name) == ("000002", "000001", A["port_name"])
    assert found.dut.node_name == A["node_name"]


def test_another_identifier_than_the_configured_is_told() -> None:
    a, b = end(STATION_A, A, B), end(STATION_B, {**B, "n_port_id": "00c3c3"}, A)
    talk([a, b], 1_200_000)
    assert a.waits_for() == "neighbour with N_Port_ID 00B2B2h (there is 00C3C3h)"


def test_what_vn2vn_cannot_be_is_refused() -> None:
    with pytest.raises(Unavailable, match="000001 to 00FFFE"):
        end(STATION_A, {**A, "n_port_id": "010100"}, B)
    with pytest.raises(Unavailable, match="not fabric"):
        Vn2Vn(parse("fcoe:x,role=vn2vn", "--dut"), STATION_A).configure(A, B, {"topology": "fabric"})


def behind(fcf_sees: dict[str, Any] = B) -> tuple[Fcf, ENode]:
    """An FCF that waits for one device, and device B."""
    fcf, node = Fcf(parse("fcoe:x,role=fabric", "--dut"), STATION_A), ENode(parse("fcoe:y,role=enode", "--on"), STATION_B)
    fcf.configure(A, fcf_sees, CONFIG)
    node.configure(B, A, CONFIG)
    return fcf, node


def test_a_device_logs_in_behind_our_fcf() -> None:
    fcf, node = behind()
    seen = talk([fcf, node], 200_000)
    assert fcf.waits_for() == node.waits_for() == ""
    accepted = next(raw for raw in seen if raw[14:20] == bytes.fromhex("100000020002"))
    assert accepted[-6:] == bytes.fromhex("0efc0000b2b2")  # the granted address: FC-MAP and N_Port_ID
    assert accepted[24 + 4 + 24 + 4 + 12 :][:4] == (200).to_bytes(4, "big")  # E_D_TOV, word 3 of the common parameters
    assert accepted[24 + 4 + 24 + 4 + 8 :][:4] == (600).to_bytes(4, "big")  # R_A_TOV, word 2


def test_another_identifier_is_given_by_clearing_the_link() -> None:
    fcf, node = behind()
    talk([fcf, node], 200_000)
    fcf.configure(A, {**B, "n_port_id": "00c3c3"}, CONFIG)
    seen = talk([fcf, node], 1_200_000)
    assert bytes.fromhex("100000030002") in [raw[14:20] for raw in seen] and fcf.waits_for() == ""
    with pytest.raises(DutError, match="assigned the N_Port_ID 00C3C3h"):
        node.waits_for()


NAME_SERVER = "fffffc"
CT = "01000000fc020000"
#: What follows the frame header, by FC-GS as the wire reference has it; then the reply.
DIALOGUE = [
    (CT + "0213" + "0000" "00000000" + "0000b2b2" "20000090fa000002", CT + "8002" + "0000" "00000000"),
    (CT + "0217" + "0000" "00000000" + "0000b2b2" "00000000" "00000000" "01000000" + "00" * 20, CT + "8002" + "0000" "00000000"),
    (CT + "021b" + "0000" "00000000" + "0000b2b2" + B["host"][0], CT + "8002" + "0000" "00000000"),
    (CT + "0121" + "0000" "00000000" + A["port_name"], CT + "8002" + "0000" "00000000" + "0000a1a1"),
]  # fmt: skip


def registered(peer: dict[str, Any] = A) -> tuple[ENode, list[bytes]]:
    """The suite's end behind an FCF whose port is A; and what crossed the link."""
    fcf, node = Fcf(parse("fcoe:x,role=fabric", "--on"), STATION_A), ENode(parse("fcoe:y,role=enode", "--dut"), STATION_B)
    fcf.configure(A, B, CONFIG)
    node.configure(B, peer, CONFIG)
    return node, talk([fcf, node], 400_000)


def test_our_n_port_registers_with_the_name_server() -> None:
    node, seen = registered()
    assert node.waits_for() == ""
    asked = [raw.hex() for raw in seen if raw[0] == 0x02 and raw[8] == 0x20]
    answers = [raw.hex() for raw in seen if raw[0] == 0x03 and raw[8] == 0x20]
    assert [(a[48:], b[48:]) for a, b in zip(asked, answers, strict=True)] == DIALOGUE
    assert {one[2:8] + one[10:16] for one in asked} == {NAME_SERVER + "00b2b2"}
    assert {one[18:24] for one in asked} == {"290000"}
    plogi = next(raw for raw in seen if raw[0] == 0x22 and raw[24] == 0x03)
    assert plogi[1:4].hex() == NAME_SERVER and seen.index(plogi) < seen.index(bytes.fromhex(asked[0]))


def test_a_device_that_is_elsewhere_is_told() -> None:
    node, _ = registered({**A, "n_port_id": "00c3c3"})
    with pytest.raises(DutError, match="has Port_Name 10000090fa000001 at N_Port_ID 00A1A1h"):
        node.waits_for()


def test_a_device_that_nobody_registered_may_be_there_all_the_same() -> None:
    node, _ = registered({**A, "port_name": "10000090fa000077"})
    assert node.waits_for() == ""


def test_a_fabric_without_a_name_server_is_one_as_well() -> None:
    """Nobody answers: asked three times, then done without."""
    fcf, node = Fcf(parse("fcoe:x,role=fabric", "--dut"), STATION_A), ENode(parse("fcoe:y,role=enode", "--dut"), STATION_B)
    fcf.configure(A, B, CONFIG)
    node.configure(B, A, CONFIG)
    seen = talk([fcf, node], 2_500_000)
    assert node.waits_for() == "answer of the Name Server"
    seen += talk([fcf, node], 5_000_000)
    assert node.waits_for() == "" and sum(raw[0] == 0x22 and raw[24] == 0x03 for raw in seen) == 3


def test_what_the_name_server_knows() -> None:
    server = NameServer()
    server.add(A)

    def ask(command: int, body: str) -> str:
        reply = server.answer(els.ct_request(Envelope(d_id=els.NAME_SERVER, s_id=0xB2B2, ox_id=1), command, bytes.fromhex(body)))
        assert reply is not None
        return reply.data[32:34].hex() + reply.data[37:39].hex() + reply.data[40:].hex()

    assert ask(0x01B1, A["host"][0]) == "80020000" "8000a1a1"
    assert ask(0x01B1, B["host"][0]) == "8001090b"
    assert ask(0x0171, "00000058") == "80020000" "8000a1a1" and ask(0x0171, "00000008") == "80010907"
    assert ask(0x0112, "0000a1a1") == "80020000" + A["port_name"] and ask(0x0113, "0000a1a1") == "80020000" + A["node_name"]
    assert ask(0x0112, "0000b2b2") == "80010901" and ask(0x0100, "0000a1a1") == "80010b00"


def test_vlans_of_the_fcf_are_told() -> None:
    """Request and notification by the wire reference; an FCF in another VLAN is looked for there, and a second one after it."""
    fcf, node = Fcf(parse("fcoe:x,role=fabric,vlan=1002", "--on"), STATION_A), ENode(parse("fcoe:y,role=enode", "--dut"), STATION_B)
    fcf.configure(A, B, CONFIG)
    node.configure(B, A, CONFIG)
    node.run(0)
    request = node.out[0]
    assert isinstance(request, bytes)
    assert request.hex().startswith("011018010002" "02000000000b" "8914" "1000" "0004" "0001" "0002" "8000" "0202" "02000000000b")
    fcf.receive(Arrived(0, request[:6], request[6:12], fip=request[14:]), 0)
    answer = fcf.out[0]
    assert isinstance(answer, bytes)
    notification = "02000000000b" "02000000000a" "8914" "1000" "0004" "0002" "0003" "8001" "0202" "02000000000a" "0e01" "03ea"
    assert answer.hex().startswith(notification)
    node.receive(Arrived(0, answer[:6], answer[6:12], fip=answer[14:]), 0)
    assert node.waits_for() == "advertisement of an FCF (looked for in VLAN 1002 as well, which VLAN discovery names)"
    more = fip.encode(STATION_B, STATION_A, fip.Message(fip.VLAN_NOTIFICATION, fip.FPMA | fip.FCF, (fip.vlan(7), fip.vlan(0))))
    node.receive(Arrived(0, more[:6], more[6:12], fip=more[14:]), 0)
    seen = []
    for second in range(1, 9):
        node.run(second * 1_000_000)
        seen.append(node.vlan)
    assert seen == [0, 7, 7, 1002, 1002, 0, 0, 7]


def test_who_looks_for_a_fabric_is_left_in_peace() -> None:
    """Linux chooses its FCF seconds after it asked, and begins anew at each Clear Virtual Links (found by make interop)."""
    fcf, node = behind()
    node.run(0)
    solicitation = node.out.pop()  # after the request for VLANs
    assert isinstance(solicitation, bytes)
    fcf.receive(Arrived(0, solicitation[:6], solicitation[6:12], fip=solicitation[14:]), 0)
    for now in range(0, 7_000_000, 100_000):
        fcf.run(now)
    kinds = [raw[14:20].hex() for raw in fcf.out if isinstance(raw, bytes)]
    assert "100000010002" in kinds and "100000030002" not in kinds
    alive = fip.encode(STATION_A, STATION_B, fip.Message(fip.KEEP_ALIVE, fip.FPMA, (fip.mac(STATION_B),)))
    fcf.receive(Arrived(7_000_000, STATION_A, STATION_B, fip=alive[14:]), 7_000_000)
    fcf.run(7_000_000)
    fcf.run(7_600_000)  # it takes itself for logged in: with whoever was here before
    assert isinstance(fcf.out[-1], bytes) and fcf.out[-1][14:20].hex() == "100000030002"


def test_another_port_name_than_the_configured_is_told() -> None:
    fcf, node = behind({**B, "port_name": "10000090fa000009"})
    talk([fcf, node], 200_000)
    assert fcf.waits_for() == "fabric login of Port_Name 10000090fa000009 (10000090fa000002 asked)"


def test_an_fcf_that_falls_silent_is_left() -> None:
    fcf, node = behind()
    talk([fcf, node], 200_000)
    node.run(40_000_000)
    assert node.waits_for() == "advertisement of an FCF"


def test_a_device_that_falls_silent_is_logged_out() -> None:
    fcf, node = behind()
    talk([fcf, node], 200_000)
    fcf.run(40_000_000)
    assert fcf.waits_for() != ""


@pytest.mark.parametrize("make", ["fcf", "enode", "vn2vn"])
def test_no_message_hurts_a_role(make: str) -> None:
    """Messages of both conversations, each changed at random: no exception, bounded answers."""
    rng = Random(1)
    good = talk(list(behind()), 200_000) + talk([end(STATION_A, A, B), end(STATION_B, B, A)], 1_200_000)
    for _ in range(3000):
        fcf, node = behind()
        role: Role = {"fcf": fcf, "enode": node, "vn2vn": end(STATION_B, B, A)}[make]
        role.run(0)
        for raw in rng.sample(good, 3):
            damaged = bytearray(raw[: rng.randrange(14, len(raw) + 1)])
            for _ in range(rng.randrange(0, 6)):
                damaged[rng.randrange(min(len(damaged), 80))] = rng.choice([0, 1, 255, rng.randrange(256)])
            to = rng.choice([STATION_A, STATION_B, fip.ALL_FCFS, fip.ALL_ENODES, fip.ALL_VN2VN])
            role.receive(Arrived(1000, to, bytes(damaged[6:12]), fip=bytes(damaged[14:])), 1000)
            role.run(1_000_000)
        assert len(role.out) < 20
