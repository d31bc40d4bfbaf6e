"""What ``--dut`` names: the attachments of the DUT protocol, and live interfaces beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from fcvi.engine.budget import Limits
from fcvi import dut
from fcvi.engine.attachment import AttachError, Dut
from fcvi.engine.pixit import DUT, Identity
from fcvi.engine.protocol import CALLS_ALONE


def attach(
    spec: str, *, agent: str = "", agent2: str = "", inject: str = "", identity: Identity = DUT, rpc_timeout_s: float = 5.0,
    log: Optional[Path] = None, limits: Limits = Limits(),
) -> Dut:
    """Attach the device that ``--dut`` names, and for a live interface the upper tester that ``--agent`` names.
    ``api`` and ``verbs`` are agents alone, the second for the other end.

    identity: of a device that nobody can tell who to be, for want of an upper tester.

    Raises AttachError for a spec that cannot be attached and DutError when the device does not keep to the protocol.
    """
    if inject and spec != "api":
        raise AttachError(f"--inject {inject}: only for --dut api, below whose calls it works")
    if spec in CALLS_ALONE:
        from fcvi.dut.api import attach_api

        return attach_api(spec, [agent, agent2], rpc_timeout_s=rpc_timeout_s, log=log, limits=limits, inject=inject)
    if agent2:
        raise AttachError(f"--agent2 {agent2}: only for --dut api and verbs, whose other end it is")
    if spec.partition(":")[0] in ("fcoe", "frames", "vitcp"):
        from fcvi.live.attach import attach_live

        return attach_live(spec, agent, identity.as_json(), rpc_timeout_s=rpc_timeout_s, log=log, limits=limits)
    return dut.attach(spec, agent=agent, rpc_timeout_s=rpc_timeout_s, log=log, limits=limits)
