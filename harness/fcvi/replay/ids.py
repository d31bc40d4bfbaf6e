"""Identifiers that differ from one run to the next, and where one stands for the other.

What the tester chose is sent again as it was. What the device chooses is learned: the first time a recorded value meets
one that was seen, the two belong together, and from then on they have to meet. Addresses belong together from the start.
"""

from __future__ import annotations

from typing import Any, Hashable, Mapping

Key = tuple[Hashable, ...]


class Translation:
    """Recorded values and what stands for them now."""

    def __init__(self) -> None:
        self._live: dict[Key, Any] = {}
        self._chosen: set[Key] = set()
        self._regions: list[tuple[int, int, int]] = []  # recorded address, length, address now

    def addresses(self, recorded: Mapping[str, Any], live: Mapping[str, Any]) -> None:
        """Pair the identities of a side in two configurations of ``reset``."""
        before, now = bytes.fromhex(recorded["n_port_id"]), bytes.fromhex(live["n_port_id"])
        if before[2]:  # on a loop, before Fabric Login, a port has its AL_PA only
            self._live.setdefault(("address", b"\0\0" + before[2:]), b"\0\0" + now[2:])
        self._live["address", before] = now
        for name in ("port_name", "node_name"):
            self._live["name", bytes.fromhex(recorded[name])] = bytes.fromhex(live[name])
        for host, host_now in zip(recorded["host"], live["host"]):
            self._live["host", bytes.fromhex(host)] = bytes.fromhex(host_now)

    def times(self, recorded: Mapping[str, Any], live: Mapping[str, Any]) -> None:
        """Pair the time-outs as a login has them: four bytes, milliseconds."""
        for name in ("e_d_tov_us", "r_a_tov_us"):
            before, now = (min(int(c[name]) // 1000, 0xFFFFFFFF).to_bytes(4, "big") for c in (recorded, live))
            self._live["time", before] = now

    def choose(self, *key: Hashable) -> None:
        """The tester chose this value: it stays as it is."""
        self._chosen.add(key)

    def bind(self, live: Any, *key: Hashable) -> None:
        """From now on this stands for the recorded value."""
        self._live[key] = live

    def forget(self, *prefix: Hashable) -> None:
        """What was learned under these keys no longer holds."""
        for key in [k for k in self._live if k[: len(prefix)] == prefix]:
            del self._live[key]

    def known(self, *key: Hashable) -> bool:
        """Whether the value belongs to something."""
        return key in self._live

    def live(self, *key: Hashable) -> Any:
        """What stands for the recorded value, which is the key's last part; the value itself when nothing does."""
        return self._live.get(key, key[-1])

    def meet(self, seen: Any, *key: Hashable) -> bool:
        """A recorded value of the device's choice meets one that was seen: learn it, or say whether they belong together."""
        if key in self._chosen:
            return bool(seen == key[-1])
        return bool(self._live.setdefault(key, seen) == seen)

    def region(self, recorded: int, length: int, live: int) -> None:
        """The device's memory at one virtual address stands for that at another."""
        self._regions.append((recorded, max(length, 1), live))

    def virtual_address(self, recorded: int) -> int:
        """The address now of what a recorded address named."""
        for start, length, live in reversed(self._regions):
            if start <= recorded <= start + length:
                return live + recorded - start & 2**64 - 1
        return recorded
