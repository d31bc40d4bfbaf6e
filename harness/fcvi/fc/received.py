"""Holds what the lower tester receives: IUs put together from frames, and the rules that hold between frames."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Optional, Sequence, Union

from . import codec, codes, rev1
from fcvi.engine import proof
from fcvi.engine.results import Finding


#: Bytes of a payload in front of a structure: an ELS begins with its command word, GID_IPP with the header of CT.
BEGINS = {
    **dict.fromkeys(("LOGIN", "LS_RJT", "LOGO", "ADISC", "FAN", "SCR", "RRQ", "FARP"), 4), "GID_IPP": codec.LENGTH["CT"],
    "INFO": codec.LENGTH["CONN"],
}  # fmt: skip


@dataclass(slots=True)
class Exchange:
    """One Exchange between the tester and the DUT, seen from the tester.

    Each side has its own SEQ_CNT and Relative Offset, both starting at 0 (E18, E19).
    """

    originator: str  # "dut" or "tester"
    ox_id: int
    rx_id: int = 0xFFFF
    tester_cnt: int = 0
    tester_offset: int = 0
    dut_cnt: Optional[int] = None  # SEQ_CNT that the DUT's next frame must have; None before its first
    port: int = 0  # N_Port Identifier of the tester's side
    asked: int = 0  # of Rev 1.0: the VI_MSG_ID of the latest request of the DUT
    refused: set[object] = field(default_factory=set)  # SEQ_CNTs that a busy or reject sent back: they may come again

    def count(self, frame: codec.Frame) -> None:
        """Take note of the SEQ_CNT of a frame of the DUT. One that was refused before came again."""
        seen = frame.header("SEQ_CNT")
        if seen in self.refused:
            self.refused.discard(seen)
        else:
            self.dut_cnt = (seen + 1) & 0xFFFF

    def __str__(self) -> str:
        return f"Exchange OX_ID {self.ox_id:04X}h of the {self.originator}"


@dataclass(slots=True)
class Received:
    """One IU, Basic Link Service, link control frame or ELS from the DUT."""

    kind: str
    numbers: list[int]  # frame numbers in the trace, 1-based
    frames: list[codec.Frame]
    exchange: Exchange
    time_us: int  # not later than this
    earliest_us: int  # not before this
    payload: bytes = b""
    taken: bool = False
    sequence: tuple[int, ...] = field(default_factory=tuple)
    began_us: int = -1  # when the first of its frames came: the DUT may count from there as well (E55)

    def __post_init__(self) -> None:
        if self.began_us < 0:
            self.began_us = self.earliest_us

    @property
    def last(self) -> codec.Frame:
        """The frame that ended the Sequence."""
        return self.frames[-1]

    def fc(self, name: str) -> int:
        """A field of the last frame's header."""
        if proof.ACTIVE is not None:
            proof.ACTIVE.look("field", self, f"FC.{name}")
        return self.frames[-1].header(name)

    def dh(self, name: str) -> int:
        """A field of the Device_Header (of the last frame)."""
        if proof.ACTIVE is not None:
            proof.ACTIVE.look("field", self, f"DH.{name}")
        value = rev1.field(self.last, name) if self.last.edition else self.last.get("DH", name)
        assert isinstance(value, int)
        return value

    def conn(self, name: str) -> Union[int, bytes]:
        """A field of the connect payload; zero or zeros where the payload is too short to have it."""
        if proof.ACTIVE is not None:
            proof.ACTIVE.look("field", self, f"CONN.{name}")
        if self.last.edition:
            return rev1.of_payload(self.payload, name)
        padded = self.payload.ljust(codec.LENGTH["CONN"], b"\0")
        return codec.get("CONN", name, padded)

    def conn_int(self, name: str) -> int:
        """A number of the connect payload."""
        value = self.conn(name)
        assert isinstance(value, int)
        return value

    def address(self, name: str) -> tuple[int, bytes, bytes]:
        """FCVI_LOC_ADDR or FCVI_REM_ADDR in the words of 2007: HOST_ADD_LEN, HOST_ADD, and as much of DISCRIM as is used."""
        whole = self.conn(name)
        assert isinstance(whole, bytes)
        if proof.ACTIVE is not None:
            for part in ("HOST_ADD_LEN", "HOST_ADD", "DISCRIM_LEN", "DISCRIM"):
                proof.ACTIVE.look("field", self, f"CONN.{name}.{part}")
        length, host, used, text = (codec.get("ADDR", f, whole) for f in ("HOST_ADD_LEN", "HOST_ADD", "DISCRIM_LEN", "DISCRIM"))
        assert isinstance(length, int) and isinstance(host, bytes) and isinstance(used, int) and isinstance(text, bytes)
        return length, host, text[:used]

    def attributes(self, names: Sequence[str]) -> tuple[Union[int, bytes], ...]:
        """These fields of FCVI_LOC_ATTRS, in the words of 2007."""
        whole = self.conn("FCVI_LOC_ATTRS")
        assert isinstance(whole, bytes)
        if proof.ACTIVE is not None:
            for name in names:
                proof.ACTIVE.look("field", self, f"CONN.FCVI_LOC_ATTRS.{name}")
        return tuple(codec.get("ATTRS", name, whole) for name in names)

    def part(self, structure: str, path: str) -> Union[int, bytes]:
        """A field of a structure of the payload, by its path (codec.within); zero or zeros where the payload is too short."""
        if proof.ACTIVE is not None:
            proof.ACTIVE.look("field", self, f"{structure}.{path}")
        owner, ident, offset = codec.within(structure, path)
        start = BEGINS.get(structure, 0)
        return codec.get(owner, ident, self.payload[start:].ljust(codec.LENGTH[structure], b"\0"), offset)

    def number(self, structure: str, path: str) -> int:
        """A number of a structure of the payload."""
        value = self.part(structure, path)
        assert isinstance(value, int)
        return value

    def blob(self, structure: str, path: str) -> bytes:
        """Bytes of a structure of the payload that the standard does not divide further."""
        value = self.part(structure, path)
        assert isinstance(value, bytes)
        return value

    def byte_of(self, structure: str, path: str) -> Optional[int]:
        """Where the field stands in the frame; None when the IU came in several."""
        if len(self.frames) > 1:
            return None
        owner, ident, offset = codec.within(structure, path)
        base = self.last.payload_offset + BEGINS.get(structure, 0)
        return base + offset + codec.FIELDS[owner][ident].byte

    def __str__(self) -> str:
        return f"{self.kind} (frame {self.numbers[-1]})"


def kind_of(frame: codec.Frame) -> str:
    """The name by which cases and link rules call a frame."""
    if frame.kind == "iu":
        return frame.iu or "UNKNOWN_IU"
    if frame.kind == "malformed":
        return "MALFORMED"
    r_ctl = frame.header("R_CTL")
    if frame.kind in ("bls", "link_control"):
        return (codes.R_CTL.name_of(r_ctl) or f"R_CTL_{r_ctl:02X}").partition("_TO_")[0]
    if frame.kind == "els":
        command = frame.payload[0] if frame.payload else 0
        return codes.ELS.name_of(command) or f"ELS_{command:02X}"
    return "CT" if frame.header("TYPE") == codes.TYPE.CT else "OTHER"


@functools.cache
def kinds() -> frozenset[str]:
    """Every name that kind_of gives to a frame that is known."""
    of_links = {name.partition("_TO_")[0] for name in codes.R_CTL.names()}
    return frozenset({*codec.IUS, *codec.IUS_REV1, *of_links, *codes.ELS.names(), "UNKNOWN_IU", "MALFORMED", "CT", "OTHER"})


def check_addresses(frame: codec.Frame, number: int, s_id: int, d_id: int, time_us: int) -> list[Finding]:
    """S_ID is the DUT's and D_ID the tester's in every FC-VI frame and Basic Link Service (FC-FS, 5.8.1)."""
    findings = []
    for name, required in (("S_ID", s_id), ("D_ID", d_id)):
        seen = frame.header(name)
        if seen != required:
            byte, bits = frame.where("FC", name)
            findings.append(
                Finding(
                    "FCVI-5.8.1-01", "violation", f"{name} is not that of the port", f"{seen:06X}h", f"{required:06X}h",
                    number, byte, bits, None, time_us,
                )  # fmt: skip
            )
    return findings
