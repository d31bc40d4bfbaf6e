"""Attaches devices on a wire: an Ethernet interface (FCoE and FIP through libpcap), whatever a frame adapter reaches, or TCP."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping, Optional

from fcvi.engine.budget import Limits
from fcvi.engine.attachment import AttachError, Dut
from fcvi.dut.planes import Frames, NoControl, Plane, PlaneDut


def attach_live(
    spec: str, agent: str, identity: Mapping[str, Any], *, rpc_timeout_s: float, log: Optional[Path], limits: Limits = Limits()
) -> Dut:  # fmt: skip
    """The device behind fcoe:IFACE, frames:SPEC or vitcp:HOST:PORT and its upper tester. Raises AttachError and DutError."""
    from fcvi.dut.control import attach_agent

    frames = _plane(spec, rpc_timeout_s=rpc_timeout_s, log=log, limits=limits)
    known = identity if frames.wire == "fc" else None
    try:
        control = attach_agent(agent, rpc_timeout_s=rpc_timeout_s, log=log, limits=limits) if agent else NoControl(known)
    except Exception:
        frames.close()
        raise
    return PlaneDut(spec, frames, control)


def _plane(spec: str, **how: Any) -> Plane:
    if spec.startswith("vitcp:"):
        from .streams import TcpStreams

        return TcpStreams(spec)
    return _frames(spec, **how)


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
