"""The Name Service (G 3.9) and auto-discovery (G 3.7.6)."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from . import codes as c
from .objects import Nic
from .variants import Choices


def init(nic: Nic, info: Optional[str]) -> str:
    """VipNSInit: NULL brings the default names, a string names a file with an address and a name on each line."""
    if nic.names is not None:
        return c.NAMESERVICE
    if info is None:
        both = sorted((nic.address, nic.other))
        nic.names = {"end0": [both[0]], "end1": [both[1]], "node": both}
        return c.OK
    names: dict[str, list[bytes]] = {}
    try:
        for line in Path(info).read_text(encoding="utf-8").splitlines():
            address, name = line.split()
            names.setdefault(name.lower(), []).append(bytes.fromhex(address))
    except (OSError, ValueError):
        return c.PARAMETER
    nic.names = names
    return c.OK


def by_name(nic: Nic, name: Optional[str], index: int, room: Optional[int]) -> tuple[str, bytes]:
    """VipNSGetHostByName; without ``room`` it does not ask how much there is."""
    if name is None or (room is not None and room < len(nic.address)):
        return c.PARAMETER, b""
    found = (nic.names or {}).get(name.lower(), [])
    if index >= len(found):
        return c.NAMESERVICE, b""
    return c.OK, found[index]


def by_address(nic: Nic, address: bytes, room: int, nul: int, last: bool) -> tuple[str, str, int]:
    """VipNSGetHostByAddr: the name, and its length or the size that is needed, with a NUL where ``nul`` is 1 (A36)."""
    names = [known for known, found in (nic.names or {}).items() if address in found]
    name = names[-1 if last else 0] if names else None
    if name is None:
        return c.NAMESERVICE, "", room
    if room < len(name) + 1:
        return c.PARAMETER, "", len(name) + nul
    return c.OK, name, len(name)


def shutdown(nic: Nic) -> str:
    """VipNSShutdown."""
    if nic.names is None:
        return c.NAMESERVICE
    nic.names = None
    return c.OK


def discover(nic: Nic, kind: object, hops: int, room: int, choices: Choices) -> tuple[str, int, list[bytes]]:
    """VipQuerySystemManagementInfo: the other NIC is so many links away, and others are beside it."""
    if kind not in ("VIP_SMI_AUTODISCOVERY", 1):
        return c.PARAMETER, room, []
    others = [bytes([number]) * len(nic.other) for number in range(1, choices.nodes)]
    found = [*([nic.other] if choices.own_nics_listed else []), *others] if hops >= choices.links else []
    if len(found) > room:
        return c.RESOURCE, len(found), []
    return c.OK, len(found), found
