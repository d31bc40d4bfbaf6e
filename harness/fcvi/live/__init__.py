"""Devices on a wire: a real Ethernet interface (FCoE and FIP through libpcap), or whatever a frame adapter reaches."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping, Optional

from fcvi.engine.budget import Limits
from fcvi.engine.attachment import AttachError, Dut
from fcvi.dut.planes import Frames, NoControl, PlaneDut


def attach_live(
    spec: str, agent: str, identity: Mapping[str, Any], *, rpc_timeout_s: float, log: Optional[Path], limits: Limits = Limits()
) -> Dut:  # fmt: skip
    """The device behind fcoe:IFACE or frames:SPEC and its upper tester. Raises AttachError and DutError."""
    from fcvi.dut.control import attach_agent

    frames = _frames(spec, rpc_timeout_s=rpc_timeout_s, log=log, limits=limits)
    try:
        control = attach_agent(agent, rpc_timeout_s=rpc_timeout_s, log=log, limits=limits) if agent else NoControl(identity)
    except Exception:
        frames.close()
        raise
    return PlaneDut(spec, frames, control)


def _frames(spec: str, **how: Any) -> Frames:
    kind, _, rest = spec.partition(":")
    if kind == "frames":
        from .adapter import AdapterFrames

        if rest.partition(":")[0] not in ("exec", "unix", "tcp") or not rest.partition(":")[2]:
            raise AttachError(f"--frames {rest}: unknown adapter; use exec:COMMAND, unix:PATH or tcp:HOST:PORT")
        return AdapterFrames(rest, **how)
    from .frames import FcoeFrames
    from .link import Link

    return FcoeFrames(Link.open(spec, "--dut"))
