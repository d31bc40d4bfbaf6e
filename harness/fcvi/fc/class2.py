"""Class 2 on the tester's side: the acknowledgement of each data frame (FC-FS; 5.5, 8.4.2)."""

from __future__ import annotations

from . import build, codec
from .codes import R_CTL

ACK_1, P_RJT, F_RJT, P_BSY, F_BSY = R_CTL.ACK_1, R_CTL.P_RJT, R_CTL.F_RJT, R_CTL.P_BSY, R_CTL.F_BSY_TO_DATA
_REFUSALS = {P_RJT, F_RJT, P_BSY, F_BSY}
_ABORT_PERFORM_ABTS = 1  # Abort Sequence Condition (8.4.2 b)
_PARAMETER = {P_RJT: 0x02040000, F_RJT: 0x02040000, P_BSY: 0x01010000, F_BSY: 0}  # not retryable; busy for now


def _header(**fields: int) -> int:
    return int.from_bytes(codec.pack("FC", fields, build.HEADER), "big")


#: The bits of the frame's header that its ACK has as well, and those that every ACK_1 has.
_KEPT = _header(
    First_Sequence=1, Last_Sequence=1, End_Sequence=1, Sequence_Initiative=1, SEQ_ID=0xFF, SEQ_CNT=0xFFFF, OX_ID=0xFFFF,
    RX_ID=0xFFFF,
)  # fmt: skip
_OF_ITS_OWN = _header(R_CTL=ACK_1, Sequence_Context=1, Parameter=1)
_SOF_CLASS_2 = build.SOF[2]
_LINK_CONTROL = 0xC  # of R_CTL
_END_SEQUENCE, _CONTEXT = 0x08, 0x80  # of F_CTL, in byte 9 of the header


class Delimiters:
    """SOF and EOF of frames that came without: they follow from the header and the class (FC-FS)."""

    def __init__(self, service_class: int) -> None:
        self._class = service_class
        self._open: dict[tuple[int, int, int], int] = {}  # SEQ_ID of what is not ended, by S_ID, OX_ID and Exchange Context

    def of(self, data: bytes) -> tuple[int, int]:
        """Of the next frame of a port."""
        first_sof, other_sof = build.SOF[self._class]
        ends = bool(data[9] & _END_SEQUENCE)
        if data[0] >> 4 == _LINK_CONTROL:
            return _SOF_CLASS_2[1], build.EOF_T if ends else build.EOF_N
        key = (int.from_bytes(data[5:8], "big"), int.from_bytes(data[16:18], "big"), data[9] & _CONTEXT)
        first = self._open.get(key) != data[12]
        self._open[key] = data[12]
        if ends:
            del self._open[key]
        return first_sof if first else other_sof, build.EOF_T if ends and self._class == 3 else build.EOF_N


def is_class2(sof: int, configured: int) -> bool:
    """Whether a frame wants an ACK: by its SOF or, when that is not known, by the configured class."""
    return sof in _SOF_CLASS_2 if sof else configured == 2


def ack_1(frame: codec.Frame, rx_id: int) -> build.RawFrame:
    """The ACK_1 of one data frame; rx_id is used when the tester is the Exchange responder."""
    responder = not frame.header("Exchange_Context")
    values = {"D_ID": frame.header("S_ID"), "S_ID": frame.header("D_ID"), "Exchange_Context": int(responder)}
    if responder:
        values["RX_ID"] = rx_id
    kept = int.from_bytes(frame.data[: build.HEADER], "big") & _KEPT
    buf = codec.pack("FC", values, build.HEADER, kept | _OF_ITS_OWN)
    return build.RawFrame(buf, _SOF_CLASS_2[1], build.EOF_T if frame.header("End_Sequence") else build.EOF_N)


def ack_abort(frame: codec.Frame, rx_id: int) -> build.RawFrame:
    """The ACK_1 that asks the Sequence Initiator to abort: Abort Sequence, Perform ABTS."""
    ack = ack_1(frame, rx_id)
    buf = bytearray(ack.data)
    codec.put("FC", "Abort_Sequence_Condition", buf, _ABORT_PERFORM_ABTS)
    return build.RawFrame(bytes(buf), ack.sof, ack.eof)


def refusal(r_ctl: int, frame: codec.Frame, rx_id: int) -> build.RawFrame:
    """P_RJT, F_RJT, P_BSY or F_BSY instead of an ACK: the frame was not taken."""
    ack = ack_1(frame, rx_id)
    buf = bytearray(ack.data)
    codec.put("FC", "R_CTL", buf, r_ctl)
    codec.put("FC", "Parameter", buf, _PARAMETER[r_ctl])
    if r_ctl == F_BSY:
        codec.put("FC", "TYPE", buf, 0x10)  # FC-FS: the Fabric is busy
    return build.RawFrame(bytes(buf), ack.sof, ack.eof)


def refuses(answer: build.RawFrame) -> bool:
    """Whether the frame that this answers has to be sent again to be taken."""
    return answer.data[0] in _REFUSALS
