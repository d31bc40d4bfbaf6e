"""``fcoe:IFACE[,OPTION=VALUE...]``: what a live attachment is told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Callable, Optional

from fcvi.engine.attachment import AttachError
from fcvi.engine.words import number

ROLES = ("point-to-point", "vn2vn", "fabric", "enode")
FC_MAP = {"vn2vn": 0x0EFD00}  # by role; of all others 0EFC00h (FC-BB)
OPTIONS = "role, mac, peer-mac, fc-map, vlan, wait, settle"


@dataclass(frozen=True)
class LiveOptions:
    """One live attachment."""

    interface: str
    role: str = "point-to-point"
    mac: Optional[bytes] = None  # our own Ethernet address; None: the mapped one
    peer_mac: Optional[bytes] = None  # the device's; None: the mapped one
    fc_map: int = 0x0EFC00
    vlan: int = 0  # in which we are, and what our FCF says when it is asked for VLANs; 0: no tag
    tester: bool = True  # whether this is the suite's end of the link, not the device's
    wait_s: float = 10.0  # for the link to come up
    settle_ms: Optional[float] = None  # how long to wait for a device that may have more to say


def parse(spec: str, option: str) -> LiveOptions:
    """The options of a spec; option is what the operator gave it by ("--dut"). Raises AttachError."""
    _, _, rest = spec.partition(":")
    interface, *words = rest.split(",")
    if not interface:
        raise AttachError(f"{option} {spec}: names no interface; use fcoe:IFACE[,OPTION=VALUE...]")
    given: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name in given:
            raise AttachError(f"{option} {spec}: {word!r} is {'given twice' if equals else 'not OPTION=VALUE'}")
        given[name] = value
    options = LiveOptions(interface, tester=option != "--on")
    role = given.pop("role", options.role)
    if role not in ROLES:
        raise AttachError(f"{option} {spec}: role {role!r} is not known; there are {', '.join(ROLES)}")
    options = replace(options, role=role, fc_map=FC_MAP.get(role, options.fc_map))
    for name, value in given.items():
        if name not in _READERS:
            raise AttachError(f"{option} {spec}: option {name!r} is not known; there are {OPTIONS}")
        try:
            options = _READERS[name](options, value)
        except ValueError as error:
            raise AttachError(f"{option} {spec}: {name} is {value!r}: {error}") from error
    return options


def _mac(value: str) -> bytes:
    try:
        octets = bytes.fromhex(value.replace(":", "").replace("-", ""))
    except ValueError:
        octets = b""
    if len(octets) != 6 or octets[0] & 1:
        raise ValueError("not the Ethernet address of one station, like 0e:fc:00:01:02:00")
    return octets


def _fc_map(value: str) -> int:
    found = int(value, 16)
    if len(value) != 6 or not 0x0EFC00 <= found <= 0x0EFDFF:
        raise ValueError("not six digits from 0efc00 to 0efdff")
    return found


def _vlan(value: str) -> int:
    found = number(value, 0, 4094)
    if found is None:
        raise ValueError("not a VLAN, 0 to 4094")
    return found


def _within(value: str, longest: float, unit: str) -> float:
    try:
        found = float(value)
    except ValueError:
        found = 0.0
    if not 0 < found <= longest:
        raise ValueError(f"not a number of {unit} up to {longest:g}")
    return found


_READERS: dict[str, Callable[[LiveOptions, str], LiveOptions]] = {
    "mac": lambda o, v: replace(o, mac=_mac(v)),
    "peer-mac": lambda o, v: replace(o, peer_mac=_mac(v)),
    "fc-map": lambda o, v: replace(o, fc_map=_fc_map(v)),
    "vlan": lambda o, v: replace(o, vlan=_vlan(v)),
    "wait": lambda o, v: replace(o, wait_s=_within(v, 600, "seconds")),
    "settle": lambda o, v: replace(o, settle_ms=_within(v, 1000, "milliseconds")),
}
