"""Liberties of FC-2: how an IU is put into frames, and what the frame header says that nobody asks for."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.fc import codec

from .manner import Config, Manner, liberty

_WITH_PAYLOAD = ("SEND_RQST", "WRITE_RQST", "READ_RESP", "CONNECT_RQST", "CONNECT_RESP1")
_HEADER = 24
_LEAST = 348  # for a connect IU of Rev 1.0, which has one frame
_NETWORK_HEADER = bytes.fromhex("1000000000c9000210000000c9000001")
_ASSOCIATION_HEADER = bytes.fromhex("ff00000000000000ff00000000000000" + "00" * 16)


def edited(frame: codec.Frame, **values: int) -> list[bytes]:
    """The frame with these fields of its header."""
    buf = bytearray(frame.data)
    for name, value in values.items():
        codec.put("FC", name, buf, value)
    return [bytes(buf)]


class _OfFrames(Manner):
    """Knows what an Exchange is, and the room of a frame."""

    def begin(self, config: Config, dut: Any) -> None:
        self.room, self.service_class = config["receive_size"], config["class"]
        self.memory: dict[tuple[bytes, int], int] = {}

    @staticmethod
    def side(frame: codec.Frame) -> tuple[bytes, int]:
        """The Exchange and the side of it that sends the frame."""
        return frame.data[16:18], frame.header("Exchange_Context")

    def of_exchange(self, frame: codec.Frame, choose: Any) -> int:
        """What was chosen for this Exchange."""
        found = self.memory.get(self.side(frame))
        if found is None or frame.header("First_Sequence") and frame.header("SEQ_CNT") == 0:
            found = self.memory[self.side(frame)] = choose()
        return found


#: Bytes of a Data_Field with a connect IU; by Rev 1.0 it has one frame (6.7, 6.8).
_CONNECT_IU = 352


@liberty("frames-of-any-length", "5.8.7, E44", "frames")
class FramesOfAnyLength(Manner):
    """Frames shorter than the other side takes."""

    def choose(self) -> None:
        self._size = self.rng.randrange(256, 2112, 4)

    def begin(self, config: Config, dut: Any) -> None:
        least = _CONNECT_IU if config.get("revision") == "rev1" else 0
        config["receive_size"] = min(max(self._size, least), config["receive_size"])


@liberty("ius-of-any-length", "5.2.1, 6.2.1", "ius", reference=True)
class IusOfAnyLength(Manner):
    """A Message in as many IUs as it likes."""

    def choose(self) -> None:
        self.port = {"iu_size": self.rng.randrange(64, 5000, 4)}


@liberty("frames-of-uneven-length", "5.8.7, 5.9.1", "frames", of_2007=True)
class UnevenFrames(_OfFrames):
    """A frame is sent as two, with the Device_Header in both; class 3 alone, where no ACK names a SEQ_CNT."""

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if self.service_class != 3 or frame.kind not in ("iu", "bls"):
            return None
        if frame.header("First_Sequence") and frame.header("SEQ_CNT") == 0 or self.side(frame) not in self.memory:
            self.memory[self.side(frame)] = 0
        shift = self.memory[self.side(frame)]
        if kind in ("ABTS", "BA_ACC"):
            return edited(frame, SEQ_CNT=frame.header("SEQ_CNT") + (shift if frame.header("SEQ_CNT") else 0))
        cnt = frame.header("SEQ_CNT") + shift & 0xFFFF
        at = self.rng.randrange(4, 512, 4)
        if kind not in _WITH_PAYLOAD or at >= len(frame.payload) or self.rng.random() < 0.5:
            return edited(frame, SEQ_CNT=cnt)
        self.memory[self.side(frame)] = shift + 1
        first, second = bytearray(frame.data[: frame.payload_offset + at]), bytearray(frame.data)
        del second[frame.payload_offset : frame.payload_offset + at]
        for name in ("End_Sequence", "Sequence_Initiative", "Last_Sequence", "Fill_Bytes"):
            codec.put("FC", name, first, 0)
        codec.put("FC", "SEQ_CNT", first, cnt)
        codec.put("FC", "SEQ_CNT", second, cnt + 1 & 0xFFFF)
        codec.put("FC", "Parameter", second, frame.header("Parameter") + at)
        return [bytes(first), bytes(second)]


class _Optional(_OfFrames):
    """An optional header before the Device_Header of the first frame of an IU, where there is room for it."""

    added, flag, share = b"", "", 1.0

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        begins = frame.kind == "iu" and self._begins(frame)
        if not begins or len(frame.data) - _HEADER + len(self.added) > self.room or self.rng.random() > self.share:
            return None
        buf = bytearray(frame.data)
        buf[frame.dh_offset : frame.dh_offset] = self.added
        codec.put("FC", self.flag, buf, 1)
        return [bytes(buf)]

    def _begins(self, frame: codec.Frame) -> bool:
        last, self._seq = getattr(self, "_seq", None), (*self.side(frame), frame.header("SEQ_ID"))
        ends, self._ended = getattr(self, "_ended", True), bool(frame.header("End_Sequence"))
        return ends or last != self._seq


@liberty("network-header-on-all-first-frames", "5.8.5, FC-FS", "optional headers")
class NetworkHeader(_Optional):
    """A Network_Header in the first frame of each IU; frames are made shorter for it."""

    added, flag = _NETWORK_HEADER, "Network_Header"

    def begin(self, config: Config, dut: Any) -> None:
        super().begin(config, dut)
        config["receive_size"] = min(config["receive_size"], max(_LEAST, config["receive_size"] - len(self.added)))


@liberty("network-header-on-some", "5.8.5, FC-FS", "optional headers")
class SomeNetworkHeader(NetworkHeader):
    """A Network_Header in the first frame of some IUs."""

    share = 0.4


@liberty("association-header", "5.8.5, FC-FS", "optional headers", arguable="it goes with a Process Login, which FC-VI has not")
class AssociationHeader(_Optional):
    """An Association_Header in the first frame of some IUs."""

    added, flag, share = _ASSOCIATION_HEADER, "Association_Header", 0.5

    def begin(self, config: Config, dut: Any) -> None:
        super().begin(config, dut)
        config["receive_size"] = min(config["receive_size"], max(_LEAST, config["receive_size"] - len(self.added)))


@liberty("priority-by-exchange", "5.8.1, FC-FS: F_CTL bit 17", "cs_ctl")
class PriorityByExchange(_OfFrames):
    """A priority of its own for each Exchange of FC-VI."""

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if frame.kind != "iu":
            return None
        value = self.of_exchange(frame, lambda: self.rng.randrange(256) & 0xFE)
        return edited(frame, Priority_Enable=1, PREF=value >> 7, CS_CTL_OTHER=value & 0x7F)


@liberty("dscp", "5.8.1, FC-FS: CS_CTL bits 5-0", "cs_ctl")
class Dscp(_OfFrames):
    """A code point for differentiated services in CS_CTL of all frames of FC-VI."""

    def choose(self) -> None:
        self._point = self.rng.choice([0x0A, 0x12, 0x2E, 0x38])

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        return edited(frame, CS_CTL_OTHER=self._point) if frame.kind == "iu" else None


@liberty("parameter-of-empty-frames", "5.8.7, E19", "parameter")
class ParameterOfEmpty(_OfFrames):
    """Without Relative Offset Present, the Parameter of a frame without payload is not meaningful."""

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if frame.kind == "iu" and not frame.payload and not frame.header("Relative_Offset_Present"):
            return edited(frame, Parameter=self.rng.randrange(1 << 32))
        return None


@liberty("continue-sequence-condition", "FC-FS: F_CTL bits 7-6", "ius", reference=True)
class ContinueCondition(_OfFrames):
    """Between two IUs of a Message the port says how soon the next one follows."""

    def choose(self) -> None:
        self._soon = self.rng.randint(1, 3)
        self.port = {"iu_size": 400}

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        follows = frame.header("End_Sequence") and not frame.header("Last_Sequence") and not frame.header("Sequence_Initiative")
        return edited(frame, Continue_Sequence_Condition=self._soon) if frame.kind == "iu" and follows else None


@liberty("fill-bytes-anyhow", "FC-FS: F_CTL bits 1-0", "fill")
class FillBytes(Manner):
    """Fill bytes have no value of their own."""

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        fill = frame.header("Fill_Bytes") if frame.kind == "iu" else 0
        return [frame.data[:-fill] + self.rng.randbytes(fill)] if fill else None


@liberty("discard-of-a-single-sequence", "FC-FS: F_CTL bits 5-4", "error policy")
class DiscardSingle(_OfFrames):
    """The first frame of an Exchange asks for the policy Abort, discard a single Sequence."""

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        begins = frame.kind == "iu" and not frame.header("Exchange_Context") and frame.header("First_Sequence")
        return edited(frame, Abort_Sequence_Condition=1) if begins and not frame.header("SEQ_CNT") else None


@liberty("ack-form-said", "FC-FS: F_CTL bits 13-12", "ack form")
class AckForm(_OfFrames):
    """A frame of class 2 says that it wants ACK_1; in class 3 the bits mean nothing."""

    def choose(self) -> None:
        self._form = self.rng.choice([0, 1, 3])

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        return edited(frame, ACK_Form=1 if self.service_class == 2 else self._form) if frame.kind == "iu" else None


@liberty("one-count-of-an-exchange", "5.6, 5.8.6, E18 (warns)", "seq_cnt")
class OneCount(_OfFrames):
    """A responder goes on from the highest SEQ_CNT that it has seen in the Exchange; class 3."""

    def begin(self, config: Config, dut: Any) -> None:
        super().begin(config, dut)
        self._high: dict[bytes, int] = {}
        self._shift: dict[bytes, tuple[int, int]] = {}  # by Exchange: the SEQ_CNT of the Sequence's first frame, its shift

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if frame.kind == "iu" and not frame.header("Exchange_Context"):
            exchange = frame.data[16:18]
            if frame.header("First_Sequence") and frame.header("SEQ_CNT") == 0:
                self._high.pop(exchange, None)
                self._shift.pop(exchange, None)
            self._high[exchange] = max(self._high.get(exchange, 0), frame.header("SEQ_CNT"))
        return frame.data

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        exchange = frame.data[16:18]
        if self.service_class != 3 or frame.kind != "iu" or not frame.header("Exchange_Context") or exchange not in self._high:
            return None
        own = frame.header("SEQ_CNT")
        begun = self._shift.get(exchange)
        if begun is None or own + begun[1] <= self._high[exchange]:
            begun = self._shift[exchange] = (own, self._high[exchange] + 1 - own)
        return edited(frame, SEQ_CNT=own + begun[1])


@liberty("gives-up-a-sequence-after-e-d-tov", "8.4.1 NOTE 1; FC-FS: E_D_TOV of a Sequence Recipient; B.1", "reassembly")
class GivesUp(_OfFrames):
    """What comes of a Sequence more than E_D_TOV after its frame before is not taken."""

    def begin(self, config: Config, dut: Any) -> None:
        super().begin(config, dut)
        self._dut, self._wait = dut, config["e_d_tov_us"]
        self._latest: dict[tuple[bytes, int, int], int] = {}

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if frame.kind != "iu":
            return frame.data
        key, now = (*self.side(frame), frame.header("SEQ_ID")), self._dut._inner.now_us
        if frame.header("SEQ_CNT") == 0:
            self._latest.pop(key, None)
        late = now - self._latest.get(key, now) > self._wait
        if not late:
            self._latest[key] = now
        return None if late else frame.data
