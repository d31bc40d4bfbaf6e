"""Counts who else speaks on a live plane: strangers are counted and named, and decide nothing."""

from __future__ import annotations

from typing import Any

_MOST = 16  # that are named in one case


class Strangers:
    """Of one case."""

    def __init__(self) -> None:
        self._frames: dict[str, int] = {}
        self._told: list[dict[str, Any]] = []

    def forget(self) -> None:
        """A case begins."""
        self._frames.clear()
        self._told.clear()

    def spoke(self, station: str, **more: Any) -> None:
        """Somebody who is not the device has sent something. It is told at once, and each time that their number doubles."""
        count = self._frames.get(station, 0) + 1
        if count == 1 and len(self._frames) >= _MOST:
            return
        self._frames[station] = count
        if count & (count - 1) == 0:
            self._told.append({"station": station, "count": count, **more})

    def told(self) -> list[dict[str, Any]]:
        """What there is to tell since this was last asked."""
        told, self._told = self._told, []
        return told


def address(mac: bytes) -> str:
    """An Ethernet address in words."""
    return mac.hex(":")
