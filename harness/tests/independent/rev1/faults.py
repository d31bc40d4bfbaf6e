"""Deliberate mistakes against Rev 1.0."""

from __future__ import annotations

from typing import Dict, Optional, Tuple

from ..faults import Faults


class Rev1Faults(Faults):
    """The one mistake in force, if any."""

    def __init__(self, name: Optional[str] = None) -> None:
        self.name = name or ""

    def spoil_farp(self, command: int, payload: bytes) -> bytes:
        return payload

    def spoil_iu(self, iu): pass
    def spoil_frame(self, frame): pass


def listing() -> Dict[str, Tuple[str, str]]:
    return {}
