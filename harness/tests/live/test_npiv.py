"""A second N_Port of the suite behind an FCF: FDISC as FC-LS has it, and what becomes of a Fabric that has it otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from fcvi.engine.attachment import Unavailable
from fcvi.fc import els
from fcvi.fc.build import Envelope
from fcvi.live import fip
from fcvi.live.enode import ENode
from fcvi.live.fcf import Fcf
from fcvi.live.options import parse
from fcvi.live.wire import Arrived

from .test_fip import A, B, CONFIG, STATION_A, STATION_B, talk

SECOND = (0xB2B3, 0x10000000C90000F1, 0x20000000C90000F1)
FPMA = bytes.fromhex("0efc0000b2b3")


def logged_in() -> tuple[Fcf, ENode]:
    """The suite's N_Port is logged into the Fabric of a device."""
    fcf, node = Fcf(parse("fcoe:x,role=fabric", "--on"), STATION_A), ENode(parse("fcoe:y,role=enode", "--dut"), STATION_B)
    fcf.configure(A, B, CONFIG)
    node.configure(B, A, CONFIG)
    talk([fcf, node], 3_000_000)
    assert node.waits_for() == "" == fcf.waits_for()
    return fcf, node


def fdiscs(seen: list[bytes]) -> list[bytes]:
    """Frames with an FDISC among them: operation 2, subcode 1, descriptor 8."""
    return [raw for raw in seen if raw[12:14] == b"\x89\x14" and raw[16:20] == b"\x00\x02\x00\x01" and raw[24] == 8]


def test_the_second_port_logs_in_has_its_own_address_and_logs_out() -> None:
    fcf, node = logged_in()
    assert not node.joined(*SECOND)
    (request,) = fdiscs(talk([fcf, node], 100_000))
    # descriptor 8 of 36 words: 24 bytes of header (to FFFFFEh, from 000000h) and 116 of FDISC with its Port_Name
    assert request[24:32].hex() == "08240000" "22fffffe" and request[32:36].hex() == "00000000"
    assert request[52:56].hex() == "51000000" and request[72:88].hex() == "10000000c90000f1" "20000000c90000f1"
    assert node.joined(*SECOND)
    node.send(els.request(Envelope(d_id=0xA1A1, s_id=0xB2B3, ox_id=7), els.PLOGI), 0)
    sent: Any = node.out.pop()
    assert sent.source == FPMA
    for to, taken in ((FPMA, True), (bytes.fromhex("0efc0000b2b2"), True), (bytes.fromhex("0efc0000b2b4"), False)):
        answer = els.reply(Envelope(d_id=0xB2B3, s_id=0xA1A1, ox_id=7, rx_id=1), els.LS_ACC)
        assert (node.receive(Arrived(0, to, STATION_A, answer), 0) is not None) == taken
    node.configure(B, A, CONFIG)
    logout: Any = node.out.pop()
    assert logout[24] == 9 and logout[28:36].hex() == "22fffffe" "0000b2b3" and logout[52] == els.LOGO
    assert node.receive(Arrived(0, FPMA, STATION_A, answer), 0) is None


def test_a_login_without_answer_is_asked_again_and_its_port_never_joins() -> None:
    _, node = logged_in()
    assert not node.joined(*SECOND)
    assert len(fdiscs(talk([node], 3_500_000))) == 4 and not node.joined(*SECOND)


@pytest.mark.parametrize("command, granted, words", [
    (els.LS_RJT, 0xB2B3, "refuses a second N_Port"), (els.LS_ACC, 0x0B0B0B, "assigned 0B0B0Bh to the second N_Port, not 00B2B3h"),
])  # fmt: skip
def test_a_fabric_that_has_it_otherwise_fails_nobody(command: int, granted: int, words: str) -> None:
    _, node = logged_in()
    assert not node.joined(*SECOND)
    request = fdiscs(talk([node], 100_000))[0]
    ox_id = int.from_bytes(request[44:46], "big")
    reply = els.reply(Envelope(d_id=granted, s_id=els.F_PORT, ox_id=ox_id, rx_id=1), command, bytes(112))
    parts = (fip.els(fip.FDISC, reply.data), fip.mac(FPMA))
    raw = fip.encode(STATION_B, STATION_A, fip.Message(fip.ELS_REPLY, fip.FPMA | fip.FCF, parts))
    assert node.receive(Arrived(0, raw[:6], raw[6:12], fip=raw[14:]), 0) is None
    with pytest.raises(Unavailable, match=words):
        node.joined(*SECOND)


def test_cleared_links_take_the_second_port_along() -> None:
    fcf, node = logged_in()
    node.joined(*SECOND)
    talk([fcf, node], 100_000)
    raw = fip.encode(STATION_B, STATION_A, fip.Message(fip.CLEAR_LINKS, fip.FPMA | fip.FCF, (fip.mac(STATION_A),)))
    node.receive(Arrived(0, raw[:6], raw[6:12], fip=raw[14:]), 0)
    assert not node.joined(*SECOND)
