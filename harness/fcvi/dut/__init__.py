"""Attachments of devices under test (see the DUT protocol)."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from .base import AttachError, Dut, DutError

__all__ = ["AttachError", "Dut", "DutError", "attach"]


def attach(spec: str, *, rpc_timeout_s: float = 5.0, log: Optional[Path] = None) -> Dut:
    """Attach the device that ``--dut`` names.

    Raises AttachError for a spec that cannot be attached and DutError when the device does not keep to the protocol.
    """
    kind, _, rest = spec.partition(":")
    if spec == "ref":
        from .ref import RefDut

        return RefDut()
    if kind in ("exec", "unix", "tcp") and rest:
        from .rpc import RpcDut

        return RpcDut(spec, rpc_timeout_s=rpc_timeout_s, log=log)
    if kind == "fcoe":
        raise AttachError(f"--dut {spec}: live interfaces are not available yet; use ref, exec:, unix: or tcp:")
    raise AttachError(f"--dut {spec}: unknown attachment; use ref, exec:COMMAND, unix:PATH or tcp:HOST:PORT")
