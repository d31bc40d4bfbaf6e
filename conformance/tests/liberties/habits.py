"""Liberties that the firmware of adapters takes with Exchanges, aborts and logins: what FC-FS permits, and few testers expect."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.fc import codec
from fcvi.fc.els import farp_request

from .frames import _OfFrames, edited
from .links import _Before
from .manner import Config, Manner, liberty, number
from .services import _BROADCAST, _logo
from .traffic import _Beside, _Login
from .values import _put, _with_rx_id

_NONE = 0xFFFF
_REQUESTS = ("SEND_RQST", "WRITE_RQST", "READ_RQST")


@liberty("rx-id-is-the-ox-id", "FC-FS: a responder chooses RX_ID", "rx_id")
class RxIdIsOxId(Manner):
    """RX_ID has the number of OX_ID."""

    def begin(self, config: Config, dut: Any) -> None:
        self._named: dict[bytes, int] = {}

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        own = frame.header("RX_ID")
        if not frame.header("Exchange_Context") or own == _NONE:
            return None
        self._named[frame.data[16:18]] = own
        return [_with_rx_id(frame, kind, lambda _: frame.header("OX_ID"))]

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        own = self._named.get(frame.data[16:18])
        if frame.header("Exchange_Context") or own is None or frame.header("RX_ID") != frame.header("OX_ID"):
            return frame.data
        return _with_rx_id(frame, kind, lambda _: own)


@liberty("last-sequence-in-all-its-frames", "FC-FS: F_CTL bit 20", "last_sequence")
class LastSequenceInAll(_OfFrames):
    """The frames of the last Sequence of an Exchange all say that it is the last; class 3, where none waits for an ACK."""

    def begin(self, config: Config, dut: Any) -> None:
        super().begin(config, dut)
        self._held: dict[tuple[bytes, int], list[bytes]] = {}

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if self.service_class != 3 or frame.kind != "iu":
            return None
        held = self._held.setdefault(self.side(frame), [])
        held.append(frame.data)
        if not frame.header("End_Sequence"):
            return []
        del self._held[self.side(frame)]
        if not frame.header("Last_Sequence"):
            return held
        return [_put(data, ("FC", "Last_Sequence", 1, 0)) for data in held]


@liberty("dscp-of-link-services", "FC-FS: CS_CTL bits 5-0 in any frame", "els cs_ctl")
class DscpOfLinkServices(Manner):
    """Link services have a code point for differentiated services."""

    def choose(self) -> None:
        self._point = self.rng.choice((0x08, 0x1A, 0x2E))

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if frame.kind not in ("els", "bls"):
            return None
        return [frame.data[:4] + bytes([self._point]) + frame.data[5:]]


@liberty("abts-in-a-sequence-of-its-own", "FC-FS: SEQ_ID of ABTS where no Sequence is open", "abts seq_id")
class AbtsOfItsOwn(Manner):
    """In class 3 an ABTS has a new SEQ_ID, and a SEQ_CNT of zero."""

    def begin(self, config: Config, dut: Any) -> None:
        self._class = config["class"]

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if kind != "ABTS" or self._class != 3:
            return None
        return edited(frame, SEQ_ID=frame.header("SEQ_ID") + self.rng.randrange(2, 250) & 0xFF, SEQ_CNT=0)


@liberty("login-with-all-categories", "FC-FS: Relative Offset by information category", "login")
class AllCategories(_Login):
    """Relative Offset in all sixteen information categories, and few Sequences at a time."""

    def edit(self, buf: bytearray, at: int) -> None:
        codec.put("LOGIN", "Word_2", buf, 0x0010_FFFF, at)


@liberty("farp-before-each-setup", "7.4; 7.7.1: the mapping is valid before use", "before a setup", of_2007=True)
class FarpBefore(_Before):
    """The port asks by FARP for the host before each setup that it begins; not where there is a Name Server."""

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        return None if self._config["topology"] == "fabric" else super().say(frame, kind)

    def ask_for(self, where: bytes, payload: bytes) -> None:
        ox_id = self.new_ox_id()
        head = b"\x22" + _BROADCAST + b"\0" + bytes.fromhex(self._config["n_port_id"]) + bytes.fromhex("01 380000 7a000000")
        self._dut.emit({"hex": (head + ox_id.to_bytes(2, "big") + bytes.fromhex("ffff00000000") + payload).hex(), "crc": "ok"})

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if kind == "FARP_REPLY" and self._waiting:
            self._dut._after(0, lambda _: self._go(self._round))
        return super().hear(frame, kind)

    def body(self) -> bytes:
        host = self._config["peer"]["host"][0]
        return bytes.fromhex("54000000") + farp_request(self._config, int(self._config["n_port_id"], 16), host)


@liberty("sends-behind-resp3", "C.5.5: a client may send before it", "client sends", of_2007=True)
class SendsBehindResp3(Manner):
    """A client sends no Message before FCVI_CONNECT_RESP3 has come; class 3, where none waits for an ACK."""

    def begin(self, config: Config, dut: Any) -> None:
        self._dut, self._class = dut, config["class"]
        self._pending: dict[int, bytes] = {}  # by handle of the other end: OX_ID of the setup
        self._held: dict[int, list[bytes]] = {}

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if self._class != 3:
            return None
        if kind == "CONNECT_RESP2" and not frame.header("Exchange_Context") and not frame.get("DH", "CONN_STS"):
            self._pending[number(frame, "FCVI_HANDLE")] = frame.data[16:18]
        elif kind == "ABTS":
            self._end(frame.data[16:18], False)
        elif kind in _REQUESTS and number(frame, "FCVI_HANDLE") in self._pending:
            self._held.setdefault(number(frame, "FCVI_HANDLE"), []).append(frame.data)
            return []
        return None

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if kind == "CONNECT_RESP3" and frame.header("Exchange_Context"):
            self._dut._after(0, lambda _: self._end(frame.data[16:18], True))
        return frame.data

    def _end(self, exchange: bytes, good: bool) -> None:
        for handle in [h for h, ox_id in self._pending.items() if ox_id == exchange]:
            del self._pending[handle]
            for data in self._held.pop(handle, []):
                if good:
                    self._dut.emit({"hex": data.hex(), "crc": "ok"})


@liberty("logo-for-who-is-not-logged-in", "FC-FS: frames of a port that is not logged in; 7.7.1", "not logged in", of_2007=True)
class LogoForStrangers(_Beside):
    """After a logout an IU of the other port that comes without PLOGI is answered by a LOGO."""

    def begin(self, config: Config, dut: Any) -> None:
        super().begin(config, dut)
        self._out, self._own = set[bytes](), set[int]()  # ports that are logged out; OX_IDs of this liberty

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        super().say(frame, kind)
        self._note(kind, frame.data[1:4])
        return None

    def _note(self, kind: str, port: bytes) -> None:
        if kind == "LOGO":
            self._out.add(port)
        elif kind == "PLOGI":
            self._out.discard(port)

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if frame.header("Exchange_Context") and frame.header("OX_ID") in self._own:
            return None
        self._note(kind, frame.data[5:8])
        if frame.data[5:8] in self._out and frame.kind == "iu":
            ox_id = self.new_ox_id()
            self._own.add(ox_id)
            self._dut.emit(_logo(frame.data[5:8], frame.data[1:4], ox_id, bytes.fromhex(self._config["port_name"])))
        return frame.data
