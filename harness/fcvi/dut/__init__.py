"""Attachments of devices under test (see the DUT protocol)."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from fcvi.engine.budget import Limits
from .base import AttachError, Dut, DutError, Unavailable

__all__ = ["AttachError", "Dut", "DutError", "Unavailable", "attach"]


def attach(
    spec: str, *, agent: str = "", rpc_timeout_s: float = 5.0, log: Optional[Path] = None,
    limits: Limits = Limits(),
) -> Dut:
    """Attach the device that ``--dut`` names, unless it is a live interface (attach.py).

    Raises AttachError for a spec that cannot be attached and DutError when the device does not keep to the protocol.
    """
    kind, _, rest = spec.partition(":")
    if agent:
        raise AttachError(
            f"--agent {agent}: only for --dut fcoe:IFACE, vitcp:HOST:PORT, api and verbs; {kind}: has a control plane of its own"
        )
    if spec == "ref":
        from .ref import DirectDut

        return DirectDut()
    if spec == "ref:rev1":
        from .ref import DirectDut

        return DirectDut(spec, "rev1")
    if spec == "ref:vitcp":
        from .ref import StreamDut

        return StreamDut()
    if kind in ("exec", "unix", "tcp") and rest:
        from .rpc import RpcDut

        return RpcDut(spec, rpc_timeout_s=rpc_timeout_s, log=log, limits=limits)
    raise AttachError(
        f"--dut {spec}: unknown attachment; use ref, exec:COMMAND, unix:PATH, tcp:HOST:PORT, fcoe:IFACE, vitcp:HOST:PORT, api or "
        "verbs"
    )
