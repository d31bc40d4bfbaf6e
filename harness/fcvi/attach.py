"""Holds what attaches a target: the attachments of the DUT protocol, and live interfaces beside them."""

from __future__ import annotations

from typing import Optional

from fcvi import dut
from fcvi.engine.attachment import AttachError, Dut
from fcvi.engine.budget import Limits
from fcvi.engine.pixit import DUT, Identity
from fcvi.engine.target import Target


def attach(
    target: Target, *, identity: Identity = DUT, rpc_timeout_s: float = 5.0, log: Optional[int] = None, limits: Limits = Limits()
) -> Dut:
    """Attach the device, and where its calls go another way the upper tester beside it.

    identity: of a device that nobody can tell who to be, for want of an upper tester.

    Raises AttachError for a target that cannot be attached and DutError when the device does not keep to the protocol.
    """
    if target.inject and target.kind != "api":
        raise AttachError(f"--inject {target.inject}: only for --dut api, below whose calls it works")
    if target.calls_alone:
        from fcvi.dut.api import attach_api

        agents = [target.agent, target.agent2]
        return attach_api(target.kind, agents, rpc_timeout_s=rpc_timeout_s, log=log, limits=limits, inject=target.inject)
    if target.agent2:
        raise AttachError(f"--agent2 {target.agent2}: only for --dut api and verbs, whose other end it is")
    if target.on_a_wire:
        from fcvi.live.attach import attach_live

        return attach_live(target, identity.as_json(), rpc_timeout_s=rpc_timeout_s, log=log, limits=limits)
    return dut.attach(target, rpc_timeout_s=rpc_timeout_s, log=log, limits=limits)
