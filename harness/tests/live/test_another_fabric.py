"""Behind the FCF of somebody else the suite plays no Fabric: what it would have to say, or to hear, as one ends inconclusive."""

from __future__ import annotations

from typing import Any

import pytest

from fcvi.engine.attachment import Unavailable
from fcvi.fc import els
from fcvi.fc.build import Envelope, RawFrame
from fcvi.live.enode import ENode
from fcvi.live.fcf import Fcf
from fcvi.live.options import parse
from fcvi.live.vn2vn import Vn2Vn

from .test_fip import A, B, CONFIG, STATION_B, talk
from .test_npiv import logged_in

_SCR = 0x62  # FC-LS
OURS, DEVICE, STRANGER = 0xB2B2, 0xA1A1, 0xC3C3


def request(s_id: int, d_id: int, command: int = els.PLOGI) -> RawFrame:
    return els.request(Envelope(d_id=d_id, s_id=s_id, ox_id=7), command)


def test_what_one_n_port_says_to_another_goes_out() -> None:
    _, node = logged_in()
    node.send(request(OURS, DEVICE), 0)
    assert len(node.out) == 1
    node.link_event("logo")  # which is between the two N_Ports


@pytest.mark.parametrize("frame", [
    request(els.FABRIC_CONTROLLER, DEVICE, els.RSCN), request(els.F_PORT, DEVICE, els.FAN), request(STRANGER, DEVICE),
    request(OURS, els.BROADCAST, els.FARP_REQ), request(0, els.F_PORT, els.FLOGI),
])  # fmt: skip
def test_what_only_the_fabric_or_nobody_says_is_not_sent(frame: RawFrame) -> None:
    """A Fabric delivers no frame whose S_ID it did not give out (FC-FS), so the device would be judged for one it never saw."""
    _, node = logged_in()
    with pytest.raises(Unavailable, match="role=fabric"):
        node.send(frame, 0)
    assert node.out == []


@pytest.mark.parametrize("event", ["lip", "nos", "lr"])
def test_a_link_event_of_a_device_is_between_it_and_its_switch(event: str) -> None:
    _, node = logged_in()
    with pytest.raises(Unavailable, match="role=fabric"):
        node.link_event(event)


def test_a_case_about_a_fabric_needs_one_of_our_own() -> None:
    node = ENode(parse("fcoe:y,role=enode", "--dut"), STATION_B)
    with pytest.raises(Unavailable, match="role=fabric"):
        node.configure(B, A, {**CONFIG, "topology": "fabric"})
    with pytest.raises(Unavailable, match="no private-loop"):
        node.configure(B, A, {**CONFIG, "topology": "private-loop"})
    ENode(parse("fcoe:y,role=enode", "--on"), STATION_B).configure(B, A, {**CONFIG, "topology": "fabric"})  # a device's own


def test_broadcasts_are_for_links_that_carry_them() -> None:
    """See need_broadcast: a VN2VN link carries a broadcast to every port; a switch need not."""
    everybody = (els.BROADCAST, 0, 0)
    _, node = logged_in()
    with pytest.raises(Unavailable, match="role=fabric"):
        node.joined(*everybody)
    assert Vn2Vn(parse("fcoe:x,role=vn2vn", "--dut"), STATION_B).joined(*everybody)


def asked_of_its_own(fcf: Fcf, frame: RawFrame) -> list[RawFrame]:
    fcf.send(frame, 0)
    assert fcf.out == []
    back, fcf.back = fcf.back, []
    return back


def test_the_fabric_of_a_device_answers_its_n_port_without_the_link() -> None:
    """As a switch does: neither its login nor its questions come to the other N_Port, and no answer to them may come from there."""
    fcf, node = logged_in()
    (granted,) = asked_of_its_own(fcf, request(0, els.F_PORT, els.FLOGI))
    assert granted.data[24] == els.LS_ACC and int.from_bytes(granted.data[1:4], "big") == DEVICE
    (told,) = asked_of_its_own(fcf, request(DEVICE, els.FABRIC_CONTROLLER, _SCR))
    assert told.data[24] == els.LS_ACC and int.from_bytes(told.data[1:4], "big") == DEVICE
    fcf.send(request(DEVICE, OURS), 0)
    assert len(fcf.out) == 1 and fcf.back == []
    seen: list[Any] = talk([fcf, node], 1000)
    assert len(seen) == 1
