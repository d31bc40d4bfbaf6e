"""Devices on a real Ethernet interface: FCoE and FIP through libpcap."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from ..dut.base import AttachError, Dut


def attach_live(spec: str, agent: str, *, rpc_timeout_s: float, log: Optional[Path]) -> Dut:
    """The device behind fcoe:IFACE and its upper tester."""
    raise AttachError(f"--dut {spec}: live interfaces are not available yet; use ref, exec:, unix: or tcp:")
