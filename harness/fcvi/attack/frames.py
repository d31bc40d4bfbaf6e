"""FC-2 frames, as an attack sends them and hears them."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Mapping, Optional

from fcvi.engine.results import TraceFrame
from fcvi.fc import codec
from fcvi.fc.build import RawFrame
from fcvi.fc.configuration import base_config
from fcvi.fc.scenario import Scenario

from . import mutator

if TYPE_CHECKING:
    from fcvi.engine.attachment import Dut
    from fcvi.engine.pixit import Pixit

_MOST = 24 + 2112


class Frames:
    """See transport.py."""

    unit = "frame"
    standard, streams = "FC-VI", False
    hows = (0x2E, 0x36, 0x2D, 0x35)  # SOFs

    def scenario(self, dut: Dut, pics: Mapping[str, Any], pixit: Pixit, levels: Mapping[str, str], rng: Random) -> Scenario:
        """A case between the addresses of the PIXIT."""
        config = base_config(pixit, rng.randrange(2**31))
        return Scenario(dut, pics, pixit, levels, rng, {"role": "any"}, config)

    def understood(self, t: Scenario) -> bool:
        """FC-VI leaves no number open."""
        return True

    def name_of(self, unit: RawFrame) -> str:
        """The IU, or the kind of frame."""
        view = codec.decode(unit.data, unit.sof, unit.eof)
        return view.iu or view.kind

    def mutate(self, data: bytes, seed: int) -> bytes:
        """From header and Data_Field; at most as long as FC-2 allows."""
        return mutator.mutate(data, seed)

    def made(self, data: bytes, origin: RawFrame, how: Optional[int], crc_ok: bool) -> RawFrame:
        """how: another SOF."""
        return RawFrame(data, origin.sof if how is None else how, origin.eof, crc_ok)

    def send(self, t: Scenario, place: Any, unit: RawFrame, changed: bool) -> None:
        """Whatever the place is."""
        t.tester.send_frame(unit, "mutated" if changed else "")

    def wrong(self, entry: TraceFrame) -> str:
        """What the codec finds."""
        for finding in codec.decode(entry.data, entry.sof, entry.eof, 1 if entry.crc_ok else 2).findings:
            if finding.cls != "notice":
                return f"{finding.requirement}: {finding.message} (seen {finding.seen})"
        return ""

    def fields(self, data: bytes) -> tuple[str, dict[tuple[str, str, int], Any]]:
        """Of the headers and the payload."""
        told = codec.decode(data).json()
        fields = {(f["structure"], f["name"], f["byte"]): f["value"] for f in told.get("fields", ())}
        return told.get("iu") or told["kind"], fields

    def to_json(self, unit: RawFrame) -> dict[str, Any]:
        """Bytes, delimiters and whether the CRC is right."""
        return {"frame": unit.data.hex(), "sof": unit.sof, "eof": unit.eof, "crc_ok": unit.crc_ok}

    def of_json(self, entry: Mapping[str, Any]) -> tuple[RawFrame, RawFrame]:
        """The origin has the delimiters of the frame."""
        frame = RawFrame(bytes.fromhex(entry["frame"]), int(entry["sof"]), int(entry["eof"]), bool(entry["crc_ok"]))
        if len(frame.data) > _MOST:
            raise ValueError("a step is out of range")
        return frame, RawFrame(bytes.fromhex(entry["origin"]), frame.sof, frame.eof)
