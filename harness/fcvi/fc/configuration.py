"""The configuration of a port of FC-VI: the base of the run with what a variant changes."""

from __future__ import annotations

from typing import Any, Callable, Mapping

from fcvi.engine.pixit import Pixit

_LOW, _HIGH = 0xFFFFFFFF, 0xFFFFFFFF00000000

#: Port_Names of the tester by their relation to the DUT's: numerically below and above it, in 64 bits without a sign
#: (5.3.4). The distant ones would compare the other way round in 32 bits, or with a sign.
RELATIONS: dict[str, Callable[[int], int]] = {
    "below": lambda dut: dut - 1,
    "below-in-the-high-word": lambda dut: (dut & _HIGH) - 1,
    "above": lambda dut: dut + 1,
    "above-in-the-high-word": lambda dut: (dut & _HIGH) + (1 << 32),
    "above-by-the-top-bit": lambda dut: dut | 1 << 63,
    "equal": lambda dut: dut,
}


def configured(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Members of ``reset`` for one variant.

    changes: members that differ. "peer" may have some members only; "tester_name" is a relation above and sets the
    tester's Port_Name.
    """
    config = {**base, **changes}
    peer = {**base["peer"], **changes.get("peer", {})}
    relation = config.pop("tester_name", None)
    if relation is not None:
        peer["port_name"] = f"{RELATIONS[relation](int(config['port_name'], 16)):016x}"
    config["peer"] = peer
    return config


def base_config(pixit: Pixit, seed: int) -> dict[str, Any]:
    """The configuration that cases start from; a variant changes members of it."""
    return {
        **pixit.dut.as_json(),
        "peer": pixit.tester.as_json(),
        "topology": "point-to-point",
        "fabric": "in-order",
        "class": 3,
        "login": "implicit",
        "e_d_tov_us": pixit.e_d_tov_us,
        "r_a_tov_us": pixit.r_a_tov_us,
        "receive_size": 2112,
        "seed": seed,
    }


def configuration(pixit: Pixit, seed: int, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of ``reset`` for one variant."""
    return configured(base_config(pixit, seed), changes)
