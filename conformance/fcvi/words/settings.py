"""Settings of a word: what ``reset`` and the VIs are told before its first letter, one legal choice each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Iterable, Mapping

from conformance.fcvi.steps.messages import _attributes
from conformance.fcvi.steps.neighbours import NEEDS, TOPOLOGIES
from fcvi.engine import pics as pics_module


@dataclass(frozen=True)
class Setting:
    """One choice. kind: of several settings of a kind a word has one at most."""

    kind: str
    pics: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, int] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)


def _topology(name: str) -> Setting:
    return Setting("topology", NEEDS[name], TOPOLOGIES[name])


SETTINGS: dict[str, Setting] = {
    "private-loop": _topology("private-loop"),
    "public-loop": _topology("public-loop"),
    "fabric": _topology("fabric"),
    "out-of-order": Setting("topology", "out_of_order_fabric", {"topology": "fabric", "fabric": "out-of-order"}),
    "class2": Setting("class", "class2", {"class": 2}),
    "explicit": Setting("login", "explicit_login", {"login": "explicit"}),
    "delivery": Setting("level", "reliable_delivery", attributes={"FCVI_RELIABILITY_LVL": 2}),
    "reception": Setting("level", "reliable_reception", attributes={"FCVI_RELIABILITY_LVL": 3}),
    "rdma-write": Setting("write", "rdma_write", attributes={"EnRdmaWr": 1}),
    "rdma-read": Setting("read", "rdma_read and (reliable_delivery or reliable_reception)", attributes={"EnRdmaRd": 1}),
    "above": Setting("name", "peer_to_peer", {"tester_name": "above"}),
    "far-above": Setting("name", "peer_to_peer", {"tester_name": "above-by-the-top-bit"}),
    "small": Setting("size", config={"receive_size": 512}),
    "long-discriminator": Setting("discriminator", params={"discriminator_length": 33}),
    "no-discriminator": Setting("discriminator", params={"discriminator_length": 128}),
    "high-handle": Setting("handle", params={"first_handle": 0xFFFFFFFE}),
    "zero-handle": Setting("handle", params={"first_handle": 0}),
}


def applicable(name: str, pics: Mapping[str, Any]) -> bool:
    """Whether a device with these PICS can be set so."""
    expression = SETTINGS[name].pics
    return not expression or pics_module.applies(expression, pics)


def configuration(names: Iterable[str]) -> dict[str, Any]:
    """Changes to the base configuration. Names of one kind: the last one counts."""
    config: dict[str, Any] = {}
    for name in names:
        config.update(SETTINGS[name].config)
    return config


def parameters(names: Iterable[str]) -> dict[str, Any]:
    """Parameters of the scenario, with the attributes that both sides have."""
    chosen = list(names)
    attributes = _attributes(1, "send", 0)
    params: dict[str, Any] = {"role": "any", "op": "send"}
    for name in chosen:
        attributes.update(SETTINGS[name].attributes)
        params.update(SETTINGS[name].params)
    if attributes["FCVI_RELIABILITY_LVL"] == 1:
        attributes["EnRdmaRd"] = 0  # RDMA Read needs a reliable level (5.2.4)
    return {**params, "attributes": attributes}
