"""VI Messages that the tester originates or answers, as frames: any cut into IUs and frames, sent in any order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Iterable, Mapping, Optional, Sequence

from . import build, codec
from .received import Exchange
from .tester import Tester

_IU = {"send": "SEND_RQST", "rdma-write": "WRITE_RQST", "rdma-read": "READ_RQST"}


@dataclass(frozen=True)
class Message:
    """A VI Message: operation, FCVI_MSG_ID and what its Device_Headers say."""

    op: str  # "send", "rdma-write" or "rdma-read"
    number: int
    data: bytes = b""
    immediate: Optional[int] = None
    va: int = 0
    region: int = 0
    total: Optional[int] = None  # FCVI_TOT_LEN where it is not the length of the data

    @property
    def iu(self) -> str:
        """The IU that carries it."""
        return _IU[self.op]

    def device_header(self, handle: int) -> dict[str, int]:
        """Words 0 to 7 for the Endpoint with this handle."""
        return {
            "FCVI_HANDLE": handle,
            "FCVI_MSG_ID": self.number,
            "IMM_DATA": int(self.immediate is not None),
            "MSG_PARAMETER": self.immediate or 0,
            "FCVI_RMT_VA": self.va,
            "FCVI_RMT_VA_HANDLE": self.region,
            "FCVI_TOT_LEN": len(self.data) if self.total is None else self.total,
        }


@dataclass(frozen=True)
class Cut:
    """How a Message is cut: payload bytes of a full frame (None: as many as fit), and into how many IUs.

    uneven: frames have 1 to 7 times so many, no two that follow each other the same.
    """

    frame: Optional[int] = None
    ius: int = 1
    seq_id: Optional[int] = None  # of the first IU; None: the next one
    fc: Mapping[str, int] = field(default_factory=dict)  # header fields to set differently, in every frame
    uneven: bool = False


def frames_of(
    tester: Tester, exchange: Exchange, iu: str, dh: Mapping[str, int], data: bytes, *, answered: bool, cut: Cut = Cut()
) -> list[build.RawFrame]:
    """All frames of a Message Request or Response that ends the Exchange, or passes Sequence Initiative (answered)."""
    header = build.ius_of(tester.edition)[iu].dh_size
    room = (tester.receive_size - header) & ~3 if cut.frame is None else cut.frame
    pieces = max(1, -(-len(data) // room))
    each = -(-pieces // cut.ius) * room
    frames: list[build.RawFrame] = []
    for start in range(0, max(len(data), 1), each):
        envelope = tester.envelope(exchange, cut.fc)
        envelope.receive_size = room + header
        if cut.seq_id is not None:
            envelope.seq_id = (cut.seq_id + start // each) & 0xFF
        last = start + each >= len(data)
        ius = tester.frames_of(iu, exchange, envelope, dh, data[start : start + each])
        ius = _uneven(ius, tester.edition) if cut.uneven else ius
        exchange.tester_cnt = (exchange.tester_cnt + len(ius)) & 0xFFFF
        exchange.tester_offset += len(data[start : start + each])
        bits = {"Last_Sequence": int(last and not answered), "Sequence_Initiative": int(last and answered)}
        ius[-1] = _with(ius[-1], bits)
        if start:
            ius = [_with(f, {"First_Sequence": 0}) for f in ius]
        frames += ius
    return frames


#: How many frames of one length become one of another.
_JOINED = (5, 1, 3, 7, 2)


def _uneven(frames: Sequence[build.RawFrame], edition: int) -> list[build.RawFrame]:
    """The frames of one IU with other borders between them: a sender may end a frame before it is full (FC-FS, FC-PH)."""
    found: list[build.RawFrame] = []
    at = 0
    while at < len(frames):
        group = frames[at : at + _JOINED[len(found) % len(_JOINED)]]
        views = [codec.decode(frame.data, edition=edition) for frame in group]
        last, behind = views[-1], views[1:]
        data = b"".join([group[0].data, *(view.payload + bytes(view.fill) for view in behind)])
        joined = build.RawFrame(data, group[0].sof, group[-1].eof)
        count = codec.decode(frames[0].data, edition=edition).header("SEQ_CNT") + len(found)
        ends = ("End_Sequence", "Last_Sequence", "Sequence_Initiative", "Fill_Bytes")
        fields = {"SEQ_CNT": count, **{name: last.header(name) for name in ends}}
        found.append(build.changed(joined, fields, edition=edition))
        at += len(group)
    return found


def _with(frame: build.RawFrame, bits: Mapping[str, int]) -> build.RawFrame:
    header = codec.pack("FC", bits, build.HEADER, int.from_bytes(frame.data[: build.HEADER], "big"))
    return build.RawFrame(header + frame.data[build.HEADER :], frame.sof, frame.eof, frame.crc_ok)


def send_frames(tester: Tester, frames: Iterable[build.RawFrame], note: str = "") -> None:
    """Put frames on the wire in this order."""
    for frame in frames:
        tester.send_frame(frame, note)
