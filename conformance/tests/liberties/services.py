"""Liberties of link services: asked twice, refused in other words, crossed, or of another FC-4 on the same port."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.fc import codec
from fcvi.fc.els import farp_request

from .manner import MS, Config, Manner, in_connect, liberty
from .traffic import _Beside, _Login, _Speaks, _ToTheFabric
from .values import _HANDLE

_BROADCAST = bytes.fromhex("ffffff")
_WAITS_US = 1_000 * MS
#: LS_RJT: unable to perform command request, command not supported.
_UNABLE, _UNSUPPORTED, _INVALID = 0x09, 0x0B, 0x01


@liberty("ls-rjt-in-other-words", "FC-FS: LS_RJT reason codes", "ls_rjt")
class LsRjtWords(Manner):
    """A command that the port does not know is invalid, not supported, or not possible."""

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if kind != "LS_RJT" or len(frame.payload) < 8 or frame.payload[5] not in (_UNABLE, _UNSUPPORTED, _INVALID):
            return None
        buf = bytearray(frame.data)
        buf[frame.payload_offset + 5] = self.rng.choice([_UNABLE, _UNSUPPORTED, _INVALID])
        return [bytes(buf)]


@liberty("abts-again", "C.3 rule 2 b; FC-FS: second level error recovery", "abts")
class AbtsAgain(_Beside):
    """An ABTS that nobody answers within R_A_TOV is sent once more."""

    def begin(self, config: Config, dut: Any) -> None:
        super().begin(config, dut)
        self._open: set[bytes] = set()

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if kind == "ABTS":
            exchange, data = frame.data[16:18] + frame.data[1:4] + frame.data[9:10], frame.data
            if exchange not in self._open:
                self._open.add(exchange)
                self._dut._after(self._config["r_a_tov_us"] + 100 * MS, lambda _: self._once_more(exchange, data))
        return None

    def _once_more(self, exchange: bytes, data: bytes) -> None:
        if exchange in self._open:
            self._open.discard(exchange)
            self._dut.emit({"hex": data.hex(), "crc": "ok"})

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if kind in ("BA_ACC", "BA_RJT"):
            self._open = {one for one in self._open if one[:2] != frame.data[16:18]}
        elif kind in ("LOGO", "PLOGI"):
            self._open.clear()
        return frame.data


@liberty("farp-req-again", "7.5; FC-FS: FARP-REQ has no answer of its own Exchange", "farp requests")
class FarpAgain(_Beside):
    """A FARP-REQ that nobody answers within a second is sent once more."""

    def begin(self, config: Config, dut: Any) -> None:
        super().begin(config, dut)
        self._wanted: set[bytes] = set()

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        super().say(frame, kind)
        if kind == "FARP_REQ" and len(frame.payload) >= 76:
            host, data = frame.payload[60:76], frame.data
            self._wanted.add(host)
            self._dut._after(_WAITS_US, lambda _: self._once_more(host, data))
        return None

    def _once_more(self, host: bytes, data: bytes) -> None:
        if host in self._wanted:
            self._wanted.discard(host)
            self._dut.emit({"hex": (data[:16] + self.new_ox_id().to_bytes(2, "big") + data[18:]).hex(), "crc": "ok"})

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if kind == "FARP_REPLY" and len(frame.payload) >= 76:
            self._wanted.discard(frame.payload[60:76])
        return frame.data


@liberty("farp-req-for-another-host", "7.5; RFC 2625: an IP stack asks for its neighbours", "traffic")
class FarpOfIp(_Speaks):
    """The port looks for a host that is no FC-VI Port of the tester."""

    f_ctl = 0x380000
    _nobody = "20010db8" + "00" * 11 + "99"

    def _speak(self, where: bytes) -> None:
        super()._speak(_BROADCAST)

    def body(self) -> bytes:
        return bytes.fromhex("54000000") + farp_request(self._config, int(self._config["n_port_id"], 16), self._nobody)


@liberty("rec-of-its-own", "FC-FS: REC", "traffic")
class Rec(_Speaks):
    """The port asks how an Exchange of its own stands with the other one."""

    def body(self) -> bytes:
        own, latest = bytes.fromhex(self._config["n_port_id"]), getattr(self, "_latest", 0)
        return bytes.fromhex("13000000 00") + own + latest.to_bytes(2, "big") + b"\xff\xff"


@liberty("prlo-of-another-fc-4", "FC-FS: PRLO", "traffic")
class PrloOfFcp(_Speaks):
    """The port ends a Process Login of SCSI."""

    payload = bytes.fromhex("21100014 08000000 00000000 00000000 00000000")


@liberty("asks-for-all-ports-of-its-type", "7.6; FC-GS: GID_FT", "traffic")
class GidFt(_ToTheFabric):
    """The port asks the Name Server for all ports of TYPE 58h."""

    server, r_ctl, kind = bytes.fromhex("fffffc"), 0x02, 0x20
    payload = bytes.fromhex("01000000 fc020000 0171ffff 00000000 00000058")


@liberty("plogi-crosses", "FC-FS: N_Port Login may be begun by either port", "plogi", of_2007=True)
class PlogiCrosses(_Beside):
    """The port answers the first PLOGI of the other one, and sends its own before that; not point-to-point, where names decide."""

    def begin(self, config: Config, dut: Any) -> None:
        super().begin(config, dut)
        self._own, self._known = set[int](), config["topology"] == "point-to-point"

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        self._known |= kind == "PLOGI"
        return super().say(frame, kind)

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if frame.header("Exchange_Context") and frame.header("OX_ID") in self._own:
            return None
        if kind == "PLOGI" and not self._known:
            self._known = True
            self._speak(frame.data[5:8])
        return frame.data

    def _speak(self, where: bytes) -> None:
        ox_id = self.new_ox_id()
        self._own.add(ox_id)
        names = bytes.fromhex(self._config["port_name"] + self._config["node_name"])
        size = self._config["receive_size"].to_bytes(2, "big")
        common = bytes.fromhex("20200010 8002") + size + bytes.fromhex("00ff0000 000007d0")
        a_class = bytes.fromhex("88000000 0000") + size + bytes.fromhex("00ff0040 00010000")
        head = b"\x22" + where + b"\0" + bytes.fromhex(self._config["n_port_id"]) + bytes.fromhex("01 290000 7c000000")
        body = bytes.fromhex("03000000") + common + names + bytes(16) + a_class + a_class + bytes(32)
        self._dut.emit({"hex": (head + ox_id.to_bytes(2, "big") + bytes.fromhex("ffff00000000") + body).hex(), "crc": "ok"})


@liberty("takes-short-frames", "FC-FS: Receive Data_Field Size", "login", of_2007=True)
class ShortFrames(_Login):
    """The port takes frames of a size that its login tells, and no longer ones. Only where ports log in explicitly. The longest
    IU that has to be one frame fits (6.8.1, 5.9.4.1: 64 bytes of headers and 596).
    """

    def choose(self) -> None:
        self._size = self.rng.choice([660, 1024, self.rng.randrange(660, 2112, 4)])

    def begin(self, config: Config, dut: Any) -> None:
        super().begin(config, dut)
        self._told = False

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if self._told and frame.kind == "iu" and len(frame.data) - 24 > self._size:
            return None
        return super().hear(frame, kind)

    def edit(self, buf: bytearray, at: int) -> None:
        self._told = True
        codec.put("LOGIN", "Receive_Data_Field_Size", buf, self._size, at)
        for offset in (48, 64):
            buf[at + offset + 6 : at + offset + 8] = self._size.to_bytes(2, "big")


@liberty("timers-of-a-coarse-clock", "8.3: no tolerance is named; PIXIT late_us", "timers")
class CoarseTimers(Manner):
    """All timers of the port that run R_A_TOV fire up to 200 ms late."""

    def choose(self) -> None:
        self._late = self.rng.randrange(1, 200) * MS

    def begin(self, config: Config, dut: Any) -> None:
        config["r_a_tov_us"] += self._late


@liberty("busy-at-first", "FC-FS: LS_RJT logical busy", "busy", arguable="a tester need not log in again")
class BusyAtFirst(_Beside):
    """The first PLOGI is refused because the port is busy; the next one is taken."""

    def begin(self, config: Config, dut: Any) -> None:
        super().begin(config, dut)
        self._refused = False

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if kind != "PLOGI" or self._refused:
            return frame.data
        self._refused = True
        head = b"\x23" + frame.data[5:8] + b"\0" + frame.data[1:4] + bytes.fromhex("01 990000") + frame.data[12:13] + b"\0\0\0"
        answer = head + frame.data[16:18] + bytes.fromhex("00010000 0000 01000000 00050000")
        self._dut._after(MS, lambda _: self._dut.emit({"hex": answer.hex(), "crc": "ok"}))
        return None


@liberty("logo-for-a-message-to-nobody", "E45: no reaction is defined", "unknown handle", of_2007=True)
class LogoForNobody(_Beside):
    """The port logs out who sends a Message for a FCVI_HANDLE that it has never told."""

    _fed = 0x7FF1

    def begin(self, config: Config, dut: Any) -> None:
        super().begin(config, dut)
        self._told, self._own = set[int](), set[int]()

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        super().say(frame, kind)
        at = in_connect(frame, kind, _HANDLE, 4)
        if at is not None:
            self._told.add(int.from_bytes(frame.data[at : at + 4], "big"))
        return [] if frame.header("Exchange_Context") and frame.header("OX_ID") == self._fed else None

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if frame.header("Exchange_Context") and frame.header("OX_ID") in self._own:
            return None
        if kind not in ("SEND_RQST", "WRITE_RQST", "READ_RQST") or frame.get("DH", "FCVI_HANDLE") in self._told:
            return frame.data
        ours, theirs = frame.data[1:4], frame.data[5:8]
        ox_id = self.new_ox_id()
        self._own.add(ox_id)
        self._dut.emit(_logo(theirs, ours, ox_id, bytes.fromhex(self._config["port_name"])))
        told = _logo(ours, theirs, self._fed, bytes.fromhex(self._config["peer"]["port_name"]))
        self._dut._after(0, lambda _: self._dut._inner.notify("frame", told))
        return None


def _logo(d_id: bytes, s_id: bytes, ox_id: int, port_name: bytes) -> dict[str, str]:
    head = b"\x22" + d_id + b"\0" + s_id + bytes.fromhex("01 290000 7e000000") + ox_id.to_bytes(2, "big") + b"\xff\xff" + bytes(4)
    return {"hex": (head + bytes.fromhex("05000000 00") + s_id + port_name).hex(), "crc": "ok"}
