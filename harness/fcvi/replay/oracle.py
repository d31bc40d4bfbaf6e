"""Compares what codec and monitor say of the device's frames, then and now: a breach that was not there before is one of today.

The oracles see what the device saw. They judge each frame of the device as they do in a case (``fcvi.fc.tester``), so what
they find can be held against the device whatever the recording was.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, Mapping

from fcvi.engine.catalogue import load_catalogue
from fcvi.engine.results import Finding
from fcvi.engine.runner import fails
from fcvi.fc import codec
from fcvi.fc.build import RawFrame
from fcvi.fc.monitor import WHOLE, Monitor
from .recording import FrameEvent, LinkEvent, Recording


class Oracle:
    """Follows one stream of frames. config: as ``reset`` has it."""

    def __init__(self, config: Mapping[str, Any], edition: str = "2007") -> None:
        self._edition = codec.EDITION[edition]
        self._monitor = Monitor(WHOLE, exchanges=256, endpoints=128, r_a_tov_us=int(config["r_a_tov_us"]))
        self._levels = load_catalogue().levels
        dut, tester = int(config["n_port_id"], 16), int(config["peer"]["n_port_id"], 16)
        self._monitor.name(tester, dut, int(config["peer"]["port_name"], 16))
        self._monitor.name(dut, tester, int(config["port_name"], 16))

    def sent(self, frame: RawFrame, number: int, time_us: int) -> None:
        """The tester sent this frame, the number-th of all, from 1."""
        if self._edition:
            self._monitor.frame(self._decode(frame), number, time_us)
        else:
            self._monitor.follow(frame.data, (frame.sof, frame.eof, frame.crc_ok), number, time_us)

    def _decode(self, frame: RawFrame) -> codec.Frame:
        crc = codec.CRC_OK if frame.crc_ok else codec.CRC_BAD
        return codec.decode(frame.data, frame.sof, frame.eof, crc, edition=self._edition)

    def came(self, frame: RawFrame, number: int, time_us: int) -> list[Finding]:
        """The device sent this frame. Returns what is wrong with it; what an erratum permits is not."""
        view = self._decode(frame)
        found = [replace(f, frame=number) for f in view.findings]
        found += [breach.finding for breach in self._monitor.frame(view, number, time_us)]
        return [f for f in found if f.erratum is None and fails(f, self._levels)]

    def link(self) -> None:
        """The tester made a link event."""
        self._monitor.forget()

    def close(self) -> None:
        """The stream is over."""
        self._monitor.close()


def recorded(recording: Recording) -> Counter[str]:
    """How often the recorded device broke which requirement."""
    oracle, count, found = Oracle(recording.config, recording.edition), 0, Counter[str]()
    for event in recording.events:
        if isinstance(event, LinkEvent):
            oracle.link()
        if not isinstance(event, FrameEvent):
            continue
        count += 1
        if event.sender == "tester":
            oracle.sent(event.frame, count, event.time_us)
        else:
            found.update(f.requirement for f in oracle.came(event.frame, count, event.time_us))
    oracle.close()
    return found
