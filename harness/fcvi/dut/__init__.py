"""Attachments of devices under test (see the DUT protocol)."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from fcvi.engine.pixit import DUT, Identity
from .base import AttachError, Dut, DutError, Unavailable

__all__ = ["AttachError", "Dut", "DutError", "Unavailable", "attach"]


def attach(
    spec: str, *, agent: str = "", identity: Identity = DUT, rpc_timeout_s: float = 5.0, log: Optional[Path] = None
) -> Dut:
    """Attach the device that ``--dut`` names, and for a live interface the upper tester that ``--agent`` names.

    identity: of a device that nobody can tell who to be, for want of an upper tester.

    Raises AttachError for a spec that cannot be attached and DutError when the device does not keep to the protocol.
    """
    kind, _, rest = spec.partition(":")
    if kind == "fcoe":
        from fcvi.live import attach_live

        return attach_live(spec, agent, identity.as_json(), rpc_timeout_s=rpc_timeout_s, log=log)
    if agent:
        raise AttachError(f"--agent {agent}: only for --dut fcoe:IFACE; {kind}: has a control plane of its own")
    if spec == "ref":
        from .ref import DirectDut

        return DirectDut()
    if kind in ("exec", "unix", "tcp") and rest:
        from .rpc import RpcDut

        return RpcDut(spec, rpc_timeout_s=rpc_timeout_s, log=log)
    raise AttachError(f"--dut {spec}: unknown attachment; use ref, exec:COMMAND, unix:PATH, tcp:HOST:PORT or fcoe:IFACE")
