"""The reference port of FC-VI Rev 1.0 (1999) as a device: what hello and reset say of the edition, and its first IU."""

from __future__ import annotations

from typing import Any

import pytest

from fcvi.dut import Dut, DutError, attach
from fcvi.dut.base import Unavailable
from fcvi.engine.pixit import pixit_for
from fcvi.engine.target import parse
from fcvi.fc.configuration import base_config

from ..conftest import ROOT

FCVI = ROOT / "build/fcvi"
WAYS = {
    "ref": "ref:rev1",
    "endpoint": f"exec:{FCVI} endpoint --revision rev1",
    "agent": f"exec:{ROOT}/build/fcvi-agent --on stream --revision rev1",
}


def net_address(host: str, discriminator: str) -> str:
    """Table 13 of the draft."""
    return f"001000{len(discriminator) // 2:02x}{host}{discriminator:0<256}"


def frames(dut: Dut) -> list[bytes]:
    """The frames in the inbox, which is empty then."""
    found = [note.frame.data if note.frame is not None else bytes.fromhex((note.params or {})["hex"])
             for note in dut.inbox if note.method == "frame"]  # fmt: skip
    dut.inbox.clear()
    return found


def first_iu(dut: Dut, config: dict[str, Any]) -> bytes:
    """What VipConnectRequest sends, with Discriminators of 1 and of no bytes."""
    dut.reset(config)
    attributes = {"ReliabilityLevel": "VIP_SERVICE_RELIABLE_RECEPTION", "MaxTransferSize": 4096}
    made = dut.request("VipCreateVi", {"ViAttribs": attributes})
    dut.advance(200_000)
    assert made.result is not None and made.result["return"] == "VIP_SUCCESS"
    local, remote = ({"host": end["host"][0], "discriminator": text} for end, text in ((config, "61"), (config["peer"], "")))
    dut.request("VipConnectRequest", {"vi": made.result["vi"], "LocalAddr": local, "RemoteAddr": remote})
    dut.advance(200_000)
    sent = frames(dut)
    assert len(sent) == 1
    return sent[0]


@pytest.mark.parametrize("way", WAYS)
def test_a_device_of_rev1(way: str) -> None:
    dut = attach(parse(WAYS[way]))
    try:
        assert dut.pics["revision"] == "rev1" and not dut.pics.get("retry_waits_for_ba_acc")
        config = base_config(pixit_for(dut.clock), 1)
        rqst = first_iu(dut, {**config, "revision": "rev1"})
        assert rqst == first_iu(dut, config)  # it is what its hello names
        assert rqst[13] == 0x01  # DF_CTL: 16 bytes of Device_Header
        assert rqst[24:40].hex() == "ffffffff100100000000000000000000"  # 6.7
        payload = rqst[40:]
        assert len(payload) == 332 and payload[:4].hex() == "00000001"
        assert payload[8:156].hex() == net_address(config["host"][0], "61")
        assert payload[156:304].hex() == net_address(config["peer"]["host"][0], "")
        assert payload[304:].hex() == "04000000" "00001000" + "00" * 16 + "00000000"  # 7.2
        modern = first_iu_of_2007(dut, {**config, "revision": "2007"})
        assert modern[13] == 0x02 and len(modern) == 24 + 32 + 340
        with pytest.raises((DutError, Unavailable), match="348|receive_size"):
            dut.reset({**config, "revision": "rev1", "receive_size": 256})
    finally:
        dut.close()


def first_iu_of_2007(dut: Dut, config: dict[str, Any]) -> bytes:
    """The same in the edition of 2007, which has no Discriminator under 16 bytes."""
    dut.reset(config)
    made = dut.request("VipCreateVi", {"ViAttribs": {"ReliabilityLevel": "VIP_SERVICE_UNRELIABLE"}})
    dut.advance(200_000)
    assert made.result is not None
    short = {"host": config["host"][0], "discriminator": "61"}
    refused = dut.request("VipConnectRequest", {"vi": made.result["vi"], "LocalAddr": short, "RemoteAddr": short})
    dut.advance(200_000)
    assert refused.result is not None and refused.result["return"] == "VIP_INVALID_PARAMETER"
    local, remote = ({"host": end["host"][0], "discriminator": "61" * 16} for end in (config, config["peer"]))
    dut.request("VipConnectRequest", {"vi": made.result["vi"], "LocalAddr": local, "RemoteAddr": remote})
    dut.advance(200_000)
    return frames(dut)[0]
