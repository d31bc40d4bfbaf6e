"""Devices on a real Ethernet interface: FCoE and FIP through libpcap."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping, Optional

from fcvi.engine.budget import Limits
from fcvi.engine.attachment import Dut
from fcvi.dut.planes import NoControl, PlaneDut


def attach_live(
    spec: str, agent: str, identity: Mapping[str, Any], *, rpc_timeout_s: float, log: Optional[Path], limits: Limits = Limits()
) -> Dut:  # fmt: skip
    """The device behind fcoe:IFACE and its upper tester. Raises AttachError and DutError."""
    from fcvi.dut.control import attach_agent
    from .frames import FcoeFrames
    from .link import Link

    frames = FcoeFrames(Link.open(spec, "--dut"))
    try:
        control = attach_agent(agent, rpc_timeout_s=rpc_timeout_s, log=log, limits=limits) if agent else NoControl(identity)
    except Exception:
        frames.close()
        raise
    return PlaneDut(spec, frames, control)
