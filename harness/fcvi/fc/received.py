"""What the lower tester receives: IUs put together from frames, and the rules that hold between frames."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional, Union

from . import codec, codes, rev1
from fcvi.engine.results import Finding


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
    tester_seq_id: int = 0
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

    @property
    def last(self) -> codec.Frame:
        """The frame that ended the Sequence."""
        return self.frames[-1]

    def fc(self, name: str) -> int:
        """A field of the last frame's header."""
        return self.frames[-1].header(name)

    def dh(self, name: str) -> int:
        """A field of the Device_Header (of the last frame)."""
        value = rev1.field(self.last, name) if self.last.edition else self.last.get("DH", name)
        assert isinstance(value, int)
        return value

    def conn(self, name: str) -> Union[int, bytes]:
        """A field of the connect payload; zero or zeros where the payload is too short to have it."""
        if self.last.edition:
            return rev1.of_payload(self.payload, name)
        padded = self.payload.ljust(codec.LENGTH["CONN"], b"\0")
        return codec.get("CONN", name, padded)

    def conn_int(self, name: str) -> int:
        """A number of the connect payload."""
        value = self.conn(name)
        assert isinstance(value, int)
        return value

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
