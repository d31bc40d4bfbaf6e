"""Tries whether a device speaks the profile of a run at all: what a case asks before it accuses one that has not shown it.

A device whose numbers are another profile's refuses, or does not understand, what the tester sends. That is no breach of
the draft, which has no numbers (V02 to V06). So a device is accused only when it has sent a Connect Request on a TCP
connection of its own, or a Connect Accept on one of the tester's, with the numbers of the profile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping

from fcvi.engine.scenario import Failed, Inconclusive
from fcvi.engine.upper_tester import Unimplemented
from . import wire
from .wire import Pdu

if TYPE_CHECKING:
    from .scenario import Scenario

_HERE, _THERE = b"control, device", b"control, tester"
_LEVELS = {
    "reliable_reception": "VIP_SERVICE_RELIABLE_RECEPTION", "reliable_delivery": "VIP_SERVICE_RELIABLE_DELIVERY",
    "unreliable_delivery": "VIP_SERVICE_UNRELIABLE",
}  # fmt: skip
_SIZE = 1024


def shows(t: Scenario) -> bool:
    """Let the device connect in each way that it has, until it shows that it speaks the profile."""
    tester = t.tester
    t.log.append("control: does the device speak the profile?")
    tester.policy, tester.unlimited, tester.cut = "accept", True, "whole"
    for role, attempt in (("client", _called), ("server", _calling)):
        if t.pics[role]:
            try:
                attempt(t)
            except (Failed, Inconclusive, Unimplemented) as stop:
                t.log.append(f"control as {role}: {stop}")
            if tester.shown:
                return True
    return False


def _create(t: Scenario) -> tuple[int, bool]:
    """A VI, and whether it is reliable."""
    level = next((name for name in _LEVELS if t.pics[name]), "unreliable_delivery")
    size = min(_SIZE, int(t.pics["max_transfer_size"]))
    attributes = {"ReliabilityLevel": _LEVELS[level], "MaxTransferSize": size, "EnableRdmaWrite": False, "EnableRdmaRead": False}
    return t.call("VipCreateVi", ViAttribs=attributes).integer("vi"), level != "unreliable_delivery"


def _address(hosts: Mapping[str, Any], discriminator: bytes) -> dict[str, str]:
    return {"host": str(hosts["host"][0]), "discriminator": discriminator.hex()}


def _called(t: Scenario) -> None:
    """The device calls."""
    vi, _ = _create(t)
    t.start(
        "VipConnectRequest", vi=vi, LocalAddr=_address(t.config, _HERE), RemoteAddr=_address(t.config["peer"], _THERE),
        Timeout=4 * t.r_a_tov_us,
    )  # fmt: skip
    t.owed(lambda: t.tester.shown)


def _calling(t: Scenario) -> None:
    """The tester calls."""
    vi, reliable = _create(t)
    wait = t.start("VipConnectWait", LocalAddr=_address(t.config, _HERE), Timeout=None)
    stream = t.open()
    t.owed(lambda: stream.opened or stream.refused)
    flags = (wire.RELIABLE if reliable else 0) | (wire.FLOW_CONTROL if t.pics["flow_control"] else 0)
    ce = wire.ce_header(_THERE, _HERE, flags, _SIZE, 1)
    t.send(stream, Pdu(wire.REQUEST, 1, flags=wire.END, rx=8, ce=ce))
    t.owed(lambda: wait.done)
    if wait.done and wait.returned() == "VIP_SUCCESS":
        t.start("VipConnectAccept", conn=wait.integer("conn"), vi=vi)
        t.owed(lambda: t.tester.shown)
