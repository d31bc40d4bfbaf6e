"""PDUs of VI/TCP, as an attack sends them on a stream and hears them.

What is mutated has the numbers of profile T0, like all that the tester writes; numbers.py makes them the profile's of the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, Mapping, Optional

from fcvi.engine.attachment import Unavailable
from fcvi.engine.results import TraceFrame
from fcvi.vitcp import codec, wire
from fcvi.vitcp.configuration import configuration
from fcvi.vitcp.control import shows
from fcvi.vitcp.scenario import Scenario
from fcvi.vitcp.stream import CUTS, Stream
from fcvi.vitcp.trace import TraceUnit

from . import mutator

if TYPE_CHECKING:
    from fcvi.engine.attachment import Dut
    from fcvi.engine.pixit import Pixit

_LENGTH = ("Segment Header", "Segment Length", 2)


@dataclass(frozen=True)
class Piece:
    """Bytes that are sent at once, and how they are divided: a number of CUTS."""

    data: bytes
    cut: int = 0


class Pdus:
    """See transport.py. profile: the numbers of the run."""

    unit = "PDU"
    standard, streams = "VI/TCP", True
    hows = tuple(range(1, len(CUTS)))

    def __init__(self, profile: codec.Profile = codec.T0) -> None:
        self._profile = profile

    def scenario(self, dut: Dut, pics: Mapping[str, Any], pixit: Pixit, levels: Mapping[str, str], rng: Random) -> Scenario:
        """A case between the addresses of the PIXIT."""
        config = configuration(pixit, rng.randrange(2**31), {})
        return Scenario(dut, pics, pixit, levels, rng, {}, config)

    def understood(self, t: Scenario) -> bool:
        """The device connects with the numbers of the run."""
        t.dut.reset(dict(t.config))
        return bool(shows(t))

    def name_of(self, unit: Piece) -> str:
        """The type of the first PDU."""
        return codec.first(unit.data).kind or "no PDU"

    def mutate(self, data: bytes, seed: int) -> bytes:
        """One PDU or some."""
        return mutator.mutate_pdu(data, seed)

    def made(self, data: bytes, origin: Piece, how: Optional[int], crc_ok: bool) -> Piece:
        """how: another cut. TCP has its checksums right."""
        return Piece(data, origin.cut if how is None else how % len(CUTS))

    def send(self, t: Scenario, place: Any, unit: Piece, changed: bool) -> None:
        """On the stream of the place, or on a new one where the device has ended that."""
        stream: Stream = place.stream
        if stream is None or stream.over or stream.closed or stream.refused:
            stream = place.stream = t.open()
            t.until(lambda: stream.opened or stream.refused, t.nop_bound_us)
        if not stream.opened:
            raise Unavailable("the device takes no TCP connection now")
        stream.cut = CUTS[unit.cut]
        t.tester.send_bytes(stream, t.numbers.outward(unit.data), "mutated" if changed else "")
        t.tester.flush()

    def wrong(self, entry: TraceFrame) -> str:
        """What the codec finds in a whole PDU by itself, but for what the draft leaves open."""
        if not isinstance(entry, TraceUnit) or entry.event != "data" or entry.note:
            return ""  # what could not be divided need not begin with a PDU
        for finding in codec.first(entry.data, self._profile).findings:
            if finding.cls != "notice":
                return f"{finding.requirement}: {finding.message} (seen {finding.seen})"
        return ""

    def fields(self, data: bytes) -> tuple[str, dict[tuple[str, str, int], Any]]:
        """Of the headers of the first PDU, with the numbers of T0."""
        pdu = codec.first(data)
        if pdu.step == "broken":  # it has no room for the header that it has to have
            return pdu.kind or "no PDU", {_LENGTH: wire.header(data)[2]}
        fields = {(f["structure"], f["name"], f["byte"]): f["value"] for f in pdu.json()["fields"]}
        return pdu.kind or "no PDU", fields

    def to_json(self, unit: Piece) -> dict[str, Any]:
        """Bytes and cut."""
        return {"pdu": unit.data.hex(), "cut": CUTS[unit.cut]}

    def of_json(self, entry: Mapping[str, Any]) -> tuple[Piece, Piece]:
        """The origin is divided alike."""
        cut = CUTS.index(entry["cut"])
        piece, origin = Piece(bytes.fromhex(entry["pdu"]), cut), Piece(bytes.fromhex(entry["origin"]), cut)
        if max(len(piece.data), len(origin.data)) > wire.LONGEST:
            raise ValueError("a step is out of range")
        return piece, origin
