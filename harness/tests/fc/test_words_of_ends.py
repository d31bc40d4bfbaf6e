"""Words about how connections end: what a device owes to a Disconnect in Error (5.3.5) and to a second PLOGI (7.7.1)."""

from __future__ import annotations

import pytest

from conformance.fcvi import words
from conformance.tests.faulty import Fault, FaultyDut, drop, state
from conformance.tests.variants import IndependentDut
from fcvi.dut.ref import DirectDut
from fcvi.random.campaign import player_of
from fcvi.random.decided import decisions
from fcvi.random.word import parse

_IN_ERROR, _AGAIN = "wait rqst accept resp2 disc disc", "wait rqst accept resp2 plogi"


def _found(dut: object, word: str) -> list[str]:
    played = player_of(dut).play(parse(word, words.LETTERS, words.SETTINGS))  # type: ignore[arg-type]
    assert played.error == ""
    return [finding.requirement for finding in played.findings]


@pytest.mark.parametrize("word", [_IN_ERROR, _AGAIN, "wait rqst plogi accept rest", "request plogi resp1 rest"])
def test_conforming_devices_are_not_accused(word: str) -> None:
    for dut in (DirectDut(), IndependentDut([]), IndependentDut(["resp_idle_status=4b", "error_disconnect=yes"])):
        assert _found(dut, word) == []


def test_a_disconnect_in_error_is_answered() -> None:
    silent = Fault("silent-in-error", "", "FCVI-5.3.5-02", out={"DISCONNECT_RESP": drop(2)})  # of the second Disconnect
    assert _found(FaultyDut(silent), _IN_ERROR) == ["FCVI-5.3.5-02"]


def test_a_login_ends_what_stood_on_the_one_before() -> None:
    connected = {"VipQueryVi": state("VIP_STATE_CONNECTED", "VIP_STATE_ERROR")}
    stays = Fault("second-plogi-ignored", "", "FCVI-7.7.1-05", results=connected)
    assert "FCVI-7.7.1-05" in _found(FaultyDut(stays), _AGAIN)


def test_the_register_decides_what_it_names() -> None:
    """A successful Disconnect, 01h for 03h, and the return code after 20h and 21h."""
    for letters, item, erratum, sides in (
        (("wait", "rqst", "accept", "resp2", "disc"), "DISCONNECT_RESP-4b", "E41", (("DISCONNECT_RESP-4b",), ("DISCONNECT_RESP",))),
        (("rqst",), "CONNECT_RESP1-01", "E78", (("CONNECT_RESP1-01",), ("CONNECT_RESP1-03",))),
        (("request", "resp1-20"), "VipConnectRequest=VIP_REJECT", "E172",
         (("VipConnectRequest=VIP_REJECT",), ("VipConnectRequest=VIP_ERROR_RESOURCE",))),
    ):  # fmt: skip
        found = [d.erratum for d in decisions(words) if d.covers(letters, len(letters) - 1, item, sides)]
        assert erratum in found, (letters, found)
