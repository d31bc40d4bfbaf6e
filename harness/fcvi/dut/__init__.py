"""Attachments of devices under test (see the DUT protocol)."""

from __future__ import annotations

from typing import Optional

from fcvi.engine.budget import Limits
from fcvi.engine.target import Target
from .base import AttachError, Dut, DutError, Unavailable

__all__ = ["AttachError", "Dut", "DutError", "Unavailable", "attach"]


def attach(target: Target, *, rpc_timeout_s: float = 5.0, log: Optional[int] = None, limits: Limits = Limits()) -> Dut:
    """Attach a device that has a control plane of its own (attach.py has the others).

    Raises AttachError for what cannot be attached and DutError when the device does not keep to the protocol.
    """
    if target.agent:
        raise AttachError(
            f"--agent {target.agent}: only for --dut fcoe:IFACE, vitcp:HOST:PORT, api and verbs; {target.kind}: has a control "
            "plane of its own"
        )
    if target.kind == "ref":
        from .ref import DirectDut, StreamDut

        return StreamDut() if target.book.streams else DirectDut(str(target), target.book.edition)
    from .rpc import RpcDut

    return RpcDut(str(target), rpc_timeout_s=rpc_timeout_s, log=log, limits=limits)
