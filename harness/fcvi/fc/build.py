"""Building frames for the lower tester: right by default, and wrong in any field that a case asks for."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, Mapping, Union

from . import codec, notation
from .codes import R_CTL, TYPE

Value = Union[int, bytes]

UNASSIGNED = 0xFFFFFFFF  # FCVI_HANDLE or FCVI_CONNECTION_ID not known (5.9.2, 5.9.10)
X_ID_UNASSIGNED = 0xFFFF
FC_VI = TYPE.FC_VI  # 5.8.3
SOF = {2: (0x2D, 0x35), 3: (0x2E, 0x36)}  # (first, other) frame of a Sequence, by class
EOF_N, EOF_T = 0x41, 0x42
HEADER = 24

_D_ID, _S_ID, _SEQ_ID, _SEQ_CNT, _OX_ID, _RX_ID, _PARAMETER = (
    codec.IN_HEADER[name] for name in ("D_ID", "S_ID", "SEQ_ID", "SEQ_CNT", "OX_ID", "RX_ID", "Parameter")
)

# F_CTL of each IU (Table 1, 5.8.4): Exchange responder, First_Sequence, Last_Sequence, Sequence Initiative. The codec has this
# table, too; the tester keeps its own, so that a mistake of the codec does not go out as a frame that the codec then finds right.
_F_CTL = {
    "CONNECT_RQST": (0, 1, 0, 1),
    "CONNECT_RESP1": (1, 0, 0, 1),
    "CONNECT_RESP2": (0, 0, 0, 1),
    "CONNECT_RESP3": (1, 0, 1, 0),
    "DISCONNECT_RQST": (0, 1, 0, 1),
    "DISCONNECT_RESP": (1, 0, 1, 0),
    "SEND_RQST": (0, 1, 1, 0),
    "WRITE_RQST": (0, 1, 1, 0),
    "READ_RQST": (0, 1, 0, 1),
    "SEND_RESP": (1, 0, 1, 0),
    "WRITE_RESP": (1, 0, 1, 0),
    "READ_RESP": (1, 0, 1, 0),
}
# Of Rev 1.0 (5.3, 6.9): the third IU of a setup is the last.
_F_CTL_REV1 = {**_F_CTL, "CONNECT_RESP2": (0, 0, 1, 0)}


@dataclass(slots=True)
class RawFrame:
    """A frame ready to send."""

    data: bytes
    sof: int
    eof: int
    crc_ok: bool = True

    def params(self) -> dict[str, Any]:
        """As the DUT protocol writes it."""
        return notation.to_params(self)


@dataclass(slots=True)
class Envelope:
    """What the frame header needs beside the IU: addresses, Exchange and Sequence."""

    d_id: int
    s_id: int
    ox_id: int
    rx_id: int = X_ID_UNASSIGNED
    seq_id: int = 0
    seq_cnt: int = 0
    offset: int = 0  # Relative Offset of the first payload byte
    service_class: int = 3
    receive_size: int = 2112  # largest Data_Field
    fc: Mapping[str, int] = field(default_factory=dict)  # header fields to set differently, in every frame


def _header(base: int, envelope: Envelope, seq_cnt: int, parameter: int = 0) -> bytes:
    """A frame header on what is prepared of it: R_CTL, TYPE and the bits of F_CTL and DF_CTL."""
    base |= (
        (envelope.d_id & _D_ID[1]) << _D_ID[0]
        | (envelope.s_id & _S_ID[1]) << _S_ID[0]
        | (envelope.seq_id & _SEQ_ID[1]) << _SEQ_ID[0]
        | (seq_cnt & _SEQ_CNT[1]) << _SEQ_CNT[0]
        | (envelope.ox_id & _OX_ID[1]) << _OX_ID[0]
        | (envelope.rx_id & _RX_ID[1]) << _RX_ID[0]
        | (parameter & _PARAMETER[1]) << _PARAMETER[0]
    )
    return codec.pack("FC", envelope.fc, HEADER, base) if envelope.fc else base.to_bytes(HEADER, "big")


@functools.cache
def _base(r_ctl: int, frame_type: int, **bits: int) -> int:
    return int.from_bytes(codec.pack("FC", {"R_CTL": r_ctl, "TYPE": frame_type, **bits}, HEADER), "big")


def frame_of(r_ctl: int, frame_type: int, envelope: Envelope, bits: Mapping[str, int], payload: bytes) -> RawFrame:
    """A Sequence of one frame that is no FC-VI IU: an ELS, a CT IU or a Basic Link Service."""
    head = _header(_base(r_ctl, frame_type, **bits), envelope, envelope.seq_cnt)
    return RawFrame(head + payload, SOF[envelope.service_class][0], _last_eof(envelope))


def structure(struct: str, values: Mapping[str, Any], length: int | None = None) -> bytes:
    """A structure of the field table from its fields; a nested structure is given as bytes."""
    return codec.pack(struct, values, codec.LENGTH[struct] if length is None else length)


@functools.lru_cache(256)
def net_address(host: str, discriminator: bytes) -> bytes:
    """FCVI_NET_ADDRESS (7.2, Table 15); the Discriminator stands left-justified, zero-padded (E31)."""
    return structure(
        "ADDR",
        {
            "HOST_ADD_LEN": 16,
            "DISCRIM_LEN": len(discriminator),
            "HOST_ADD": bytes.fromhex(host),
            "DISCRIM": discriminator.ljust(128, b"\0"),
        },
    )


def iu_frames(
    name: str, envelope: Envelope, device_header: Mapping[str, int], payload: bytes = b"", edition: int = 0
) -> list[RawFrame]:
    """The frames of one IU, cut to the receive size; only the last one may carry fill bytes. edition: of codec.EDITION."""
    opcode, _, dh_size, has_payload, _ = ius_of(edition)[name]
    layout, where = ("DH_REV1", "VI_OPCODE") if edition else ("DH", "FCVI_OPCODE")
    dh = structure(layout, {where: opcode, **device_header}, 32)[:dh_size]
    room = (envelope.receive_size - dh_size) & ~3
    pieces = [payload[i : i + room] for i in range(0, len(payload), room)] or [b""]
    sof_first, sof_other = SOF[envelope.service_class]
    frames = []
    for index, piece in enumerate(pieces):
        end = index == len(pieces) - 1
        fill = -len(piece) % 4
        offset = envelope.offset + index * room if has_payload else 0
        base = _iu_base(name, end, fill, bool(has_payload and payload), edition)
        head = _header(base, envelope, (envelope.seq_cnt + index) & 0xFFFF, offset)
        eof = _last_eof(envelope) if end else EOF_N
        frames.append(RawFrame(head + dh + piece + bytes(fill), sof_other if index else sof_first, eof))
    return frames


def ius_of(edition: int) -> Mapping[str, codec.Iu]:
    """Table 1 of an edition of codec.EDITION."""
    return codec.IUS_REV1 if edition else codec.IUS


@functools.cache
def _iu_base(name: str, end: bool, fill: int, offset_present: bool, edition: int) -> int:
    """What all frames of an IU have alike; end: the last of its Sequence."""
    responder, first, last, initiative = (_F_CTL_REV1 if edition else _F_CTL)[name]
    row = ius_of(edition)[name]
    return _base(
        row.r_ctl,
        FC_VI,
        Exchange_Context=responder,
        First_Sequence=first,
        Last_Sequence=last if end else 0,
        End_Sequence=int(end),
        Sequence_Initiative=initiative if end else 0,
        Device_Header=1 if row.dh_size == 16 else 2,
        Relative_Offset_Present=int(offset_present),
        Fill_Bytes=fill,
    )


def changed(frame: RawFrame, fc: Mapping[str, int] = {}, dh: Mapping[str, int] = {}, edition: int = 0) -> RawFrame:
    """The frame with other values in these fields of its header and Device_Header."""
    buf, view = bytearray(frame.data), codec.decode(frame.data, edition=edition)
    for layout, base, values in (("FC", 0, fc), ("DH_REV1" if edition else "DH", view.dh_offset, dh)):
        for name, value in values.items():
            codec.put(layout, name, buf, value, base)
    return RawFrame(bytes(buf), frame.sof, frame.eof, frame.crc_ok)


def filled(frame: RawFrame, fill: bytes) -> RawFrame:
    """The frame with these bytes at the end of its Data_Field, in place of so many fill bytes."""
    return RawFrame(frame.data[: -len(fill)] + fill, frame.sof, frame.eof, frame.crc_ok)


def _last_eof(envelope: Envelope) -> int:
    """A Sequence ends with EOFt in class 3; in class 2 its last ACK does (FC-FS)."""
    return EOF_T if envelope.service_class == 3 else EOF_N


def abts(envelope: Envelope, *, responder: bool = False) -> RawFrame:
    """An ABTS for the whole Exchange (FC-FS): End_Sequence and Sequence Initiative, Parameter 0."""
    bits = {"Exchange_Context": int(responder), "End_Sequence": 1, "Sequence_Initiative": 1}
    return frame_of(R_CTL.ABTS, 0, envelope, bits, b"")


def ba_acc(envelope: Envelope, *, responder: bool = True) -> RawFrame:
    """A BA_ACC that aborts the whole Exchange: SEQ_CNT 0000h to FFFFh, no valid SEQ_ID."""
    bits = {"Exchange_Context": int(responder), "Last_Sequence": 1, "End_Sequence": 1, "Sequence_Initiative": 1}
    body = structure("BA_ACC", {"BA_OX_ID": envelope.ox_id, "BA_RX_ID": envelope.rx_id, "High_SEQ_CNT": 0xFFFF})
    return frame_of(R_CTL.BA_ACC, 0, envelope, bits, body)
