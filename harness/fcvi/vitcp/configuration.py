"""The configuration of a VI/TCP port: the members of ``reset`` with wire "tcp" (docs/dut-protocol-streams.md)."""

from __future__ import annotations

from random import Random
from typing import Any, Mapping

from fcvi.engine.pixit import Ends, Pixit

PORT = 50_444  # the draft reserves a port and names none (V01); nothing listens on this one of a virtual network
NOP_BOUND_US = 1_000_000  # how long a NOP that has to come may take (V20)
INCOMING_TIMEOUT_US = 2_000_000  # how long a TCP connection may stay without a Connect Request (4.3)
DUT_HOST = "00000000000000000000ffffc0a80a14"  # 192.168.10.20
TESTER_HOST = "00000000000000000000ffffc0a80a0a"  # 192.168.10.10


def configuration(pixit: Pixit, seed: int, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of ``reset`` for one variant.

    changes: members that differ; "peer" may have some members only.
    """
    ends = pixit.ends or Ends(DUT_HOST, TESTER_HOST, PORT)
    config: dict[str, Any] = {
        "wire": "tcp",
        "host": [ends.dut],
        "peer": {"host": [ends.tester]},
        "port": ends.port,
        "nop_bound_us": NOP_BOUND_US,
        "incoming_timeout_us": INCOMING_TIMEOUT_US,
        "seed": seed,
        **changes,
    }
    config["peer"] = {"host": [ends.tester], **changes.get("peer", {})}
    return config


def draw(pixit: Pixit, clock: str, rng: Random) -> tuple[Pixit, Mapping[str, Any]]:
    """See Protocol.draw: another bound for NOPs; other hosts of the virtual network and another port, where neither lab nor
    attachment has named any."""
    times = {"nop_bound_us": NOP_BOUND_US * rng.choice(range(5, 21)) // 10} if clock == "virtual" else {}
    if clock != "virtual" or pixit.ends is not None or "addresses" not in pixit.free:
        return pixit, times
    tester, dut = sorted(rng.sample(range(0x0A000001, 0x0AFFFFFF), 2))
    return pixit.between(Ends(f"{0xFFFF << 32 | dut:032x}", f"{0xFFFF << 32 | tester:032x}", rng.randrange(1024, 49152))), times
