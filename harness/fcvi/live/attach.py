"""Attaches devices on a wire: an Ethernet interface (FCoE and FIP through libpcap), whatever a frame adapter reaches, or TCP."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from fcvi.engine.budget import Limits
from fcvi.engine.attachment import AttachError, Dut
from fcvi.engine.target import Target
from fcvi.dut.planes import NoControl, Plane, PlaneDut


def attach_live(
    target: Target, identity: Mapping[str, Any], *, rpc_timeout_s: float, log: Optional[int], limits: Limits = Limits()
) -> Dut:  # fmt: skip
    """The device behind fcoe:IFACE, frames:SPEC or vitcp:HOST:PORT and its upper tester. Raises AttachError and DutError."""
    from fcvi.dut.control import attach_agent

    how: dict[str, Any] = {"rpc_timeout_s": rpc_timeout_s, "log": log, "limits": limits}
    frames = _plane(target, **how)
    known = identity if frames.wire == "fc" else None
    try:
        control = attach_agent(target.agent, **how) if target.agent else NoControl(known)
    except Exception:
        frames.close()
        raise
    return PlaneDut(str(target), frames, control)


def _plane(target: Target, **how: Any) -> Plane:
    if target.kind == "vitcp":
        from .streams import TcpStreams

        return TcpStreams(str(target))
    if target.kind == "frames":
        from .adapter import AdapterFrames

        kind, _, where = target.rest.partition(":")
        if kind not in ("exec", "unix", "tcp") or not where:
            raise AttachError(f"--frames {target.rest}: unknown adapter; use exec:COMMAND, unix:PATH or tcp:HOST:PORT")
        return AdapterFrames(target.rest, **how)
    from .frames import FcoeFrames
    from .link import Link

    return FcoeFrames(Link.open(str(target), "--dut"))
