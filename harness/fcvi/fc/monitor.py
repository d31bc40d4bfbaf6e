"""The always-on monitor (conformance/monitor), seen from Python: rules that hold between frames."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Optional

from _fcvi import ffi, lib

from . import codec
from fcvi.engine.results import Finding

#: What is known of the stream (enum fcvi_monitor_trust).
TRUST = {"all": 1, "start": 2, "order": 4, "once": 8}
WHOLE = sum(TRUST.values())
_CAPACITY = 32
_UNCLEARED = ffi.new_allocator(should_clear_after_alloc=False)


_SPARE: dict[int, list[tuple[Any, Any, Any]]] = {}  # memory and findings of monitors that were closed, by the size of the memory


@dataclass(frozen=True)
class Breach:
    """A finding of the monitor. sender: S_ID of the frame at fault."""

    finding: Finding
    sender: int


@dataclass(frozen=True)
class Unjudged:
    """Frames of which something could not be judged, for one reason."""

    reason: str
    frames: int
    first: Optional[int]

    def as_json(self) -> dict[str, Any]:
        """As ``fcvi lint --json`` has it."""
        return {"reason": self.reason, "frames": self.frames, "first": self.first}


def breach_of(found: Any) -> Breach:
    """One finding of the C monitor, with the frame that it contradicts in its message."""
    finding = codec.finding_of(found.what)
    if found.other:
        finding = replace(finding, message=f"{finding.message} (see frame {found.other})")
    return Breach(replace(finding, frame=found.frame), found.sender)


def _room(size: int) -> tuple[Any, Any, Any]:
    """Memory for a monitor, which clears what it uses, and room for what it finds in a frame."""
    found = ffi.new("struct fcvi_monitor_finding[]", _CAPACITY)
    listed = ffi.new("struct fcvi_monitor_findings *", {"list": found, "capacity": _CAPACITY})
    return _UNCLEARED("uint64_t[]", size // 8 + 1), found, listed


class Monitor:
    """One observer of one stream of frames."""

    def __init__(
        self, trust: int = 0, *, exchanges: int = 0, endpoints: int = 0, r_a_tov_us: int = 0, seed: int = 0
    ) -> None:
        config = ffi.new("struct fcvi_monitor_config *")
        config.limits.exchanges, config.limits.endpoints = exchanges, endpoints
        if exchanges:
            config.limits.setups = config.limits.sequences = config.limits.pairs = max(16, exchanges // 4)
        config.trust, config.r_a_tov_us, config.seed = trust, r_a_tov_us, seed
        size = lib.fcvi_monitor_size(ffi.addressof(config.limits))
        spare = _SPARE.get(size)
        self._memory, self._list, self.found = spare.pop() if spare else _room(size)
        self._size = size
        self.pointer: Any = lib.fcvi_monitor_init(self._memory, size, config)
        self._names: list[tuple[int, int, int]] = []

    def frame(self, frame: codec.Frame, number: int, time_us: int, network: int = 0) -> list[Breach]:
        """Follow one frame; number rises from 1."""
        broken = bool(frame.findings) and any(f.cls != "notice" for f in frame.findings)
        count = lib.calls_judge(self.pointer, frame.view, number, time_us, network, broken, self.found)
        return self.breaches() if count else []

    def breaches(self) -> list[Breach]:
        """What was found in the latest frame."""
        return [breach_of(self._list[i]) for i in range(min(self.found.count, _CAPACITY))]

    def follow(self, data: bytes, how: tuple[int, int, bool], number: int, time_us: int) -> None:
        """Follow a frame that is not judged; how: its SOF, its EOF, and whether its CRC is good."""
        crc = codec.CRC_OK if how[2] else codec.CRC_BAD
        lib.calls_follow(self.pointer, data, len(data), how[0], how[1], crc, number, time_us)

    def close(self) -> None:
        """The stream is over. The memory serves the next monitor: to get it from the kernel costs more than to clear it."""
        if self.pointer is not None:
            self.pointer = None
            _SPARE.setdefault(self._size, []).append((self._memory, self._list, self.found))

    def forget(self) -> None:
        """A link event made Connections and Exchanges void without a frame that shows it."""
        lib.fcvi_monitor_forget(self.pointer)
        for port, other, port_name in self._names:
            lib.fcvi_monitor_name(self.pointer, 0, port, other, port_name)

    def name(self, port: int, other: int, port_name: int) -> None:
        """A port that talks to the other has this Port_Name, whether or not a login says so."""
        self._names.append((port, other, port_name))
        lib.fcvi_monitor_name(self.pointer, 0, port, other, port_name)

    def gap(self) -> None:
        """Frames are missing here."""
        lib.fcvi_monitor_gap(self.pointer)

    def unjudged(self) -> list[Unjudged]:
        """What could not be judged so far."""
        found = []
        for reason in range(lib.FCVI_UNJUDGED_COUNT):
            count = lib.fcvi_monitor_unjudged(self.pointer, reason)
            if count.frames:
                words = ffi.string(lib.fcvi_monitor_unjudged_text(reason)).decode()
                found.append(Unjudged(words, count.frames, count.first or None))
        return found
