"""Liberties of a port that shares its link: link services in other words, logins of its own, and traffic beside FC-VI.

They stand farthest from the port: what one of them holds back or adds is what is seen on the wire.
"""

from __future__ import annotations

from typing import Any, Optional, Union

from fcvi.fc import codec

from .frames import edited
from .manner import MS, Config, Manner, Params, Refusal, liberty
from .services import _logo
from .traffic import NameServerLogin, _Beside, _Login, _Speaks, _ToTheFabric

_CLASS_3 = {"sof": "i3", "eof": "t"}


@liberty("els-in-class-3", "FC-FS: any class for a link service; DUT protocol: sof", "els class")
class ElsInClass3(Manner):
    """Link services that the port asks for go in class 3, whatever class its IUs have."""

    def begin(self, config: Config, dut: Any) -> None:
        self._dut, self._applies = dut, config["class"] == 2

    def _own(self, frame: codec.Frame) -> bool:
        return self._applies and frame.kind == "els" and not frame.header("Exchange_Context")

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if self._own(frame):
            ack = bytearray(24)
            ack[0], ack[1:4], ack[5:8], ack[8] = 0xC0, frame.data[5:8], frame.data[1:4], frame.data[8]
            ack[9:12] = (0x80_0000 | frame.header("First_Sequence") << 21 | 0x08_0000).to_bytes(3, "big")
            ack[12], ack[14:18], ack[18:20], ack[23] = frame.data[12], frame.data[14:18], b"\x00\x77", 1
            given = {"hex": ack.hex(), "sof": "n2", "eof": "t", "crc": "ok"}
            self._dut._after(1, lambda _: self._dut._inner.notify("frame", given))
        return None

    def delimiters(self, frame: codec.Frame, kind: str) -> Optional[dict[str, str]]:
        return _CLASS_3 if self._own(frame) else None


@liberty("parameter-of-link-services", "FC-FS: without Relative Offset Present the Parameter is not meaningful", "els parameter")
class ParameterOfEls(Manner):
    """The Parameter of an ELS holds anything."""

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        return edited(frame, Parameter=self.rng.randrange(1 << 32)) if frame.kind == "els" else None


@liberty("answers-keep-the-initiative", "E16; FC-FS: Sequence Initiative beside Last_Sequence", "els initiative")
class AnswersKeepInitiative(Manner):
    """LS_ACC, LS_RJT and BA_ACC have no Sequence Initiative beside Last_Sequence; other ports say it, and it means nothing."""

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        return edited(frame, Sequence_Initiative=0) if kind in ("LS_ACC", "LS_RJT", "BA_ACC") else None


@liberty("seq-ids-of-link-services", "5.5, FC-FS", "els seq_id")
class ElsSeqIds(Manner):
    """SEQ_IDs of link services in an order that nobody can guess; class 3, where no ACK names them."""

    def begin(self, config: Config, dut: Any) -> None:
        self._class = config["class"]

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        return edited(frame, SEQ_ID=self.rng.randrange(256)) if frame.kind == "els" and self._class == 3 else None


@liberty("ba-acc-in-other-words", "FC-FS: BA_ACC to an ABTS of an Exchange", "ba_acc words")
class BaAccWords(Manner):
    """BA_ACC names the last Sequence that is deliverable, and the range of the recovery qualifier."""

    def begin(self, config: Config, dut: Any) -> None:
        self._ended: dict[tuple[bytes, int], int] = {}

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        key = (frame.data[16:18], frame.header("Exchange_Context"))
        if frame.kind in ("iu", "els") and frame.header("End_Sequence"):
            self._ended[key] = frame.header("SEQ_ID")
        if kind == "ABTS":
            self._high = frame.header("SEQ_CNT")
        return frame.data

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if kind != "BA_ACC" or len(frame.payload) < 12:
            return None
        buf, at = bytearray(frame.data), frame.payload_offset
        last = self._ended.get((frame.data[16:18], 1 - frame.header("Exchange_Context")))
        values = {"SEQ_ID_Validity": 0 if last is None else 0x80, "BA_SEQ_ID": last or 0,
                  "Low_SEQ_CNT": self._high, "High_SEQ_CNT": self._high}  # fmt: skip
        for name, value in values.items():
            codec.put("BA_ACC", name, buf, value, at)
        return [bytes(buf)]


@liberty("acks-in-another-order", "FC-FS: ACK_1, History bit", "acks")
class AcksInAnotherOrder(Manner):
    """In class 2 the ACK to the last frame of a Sequence goes before those to the others, and says so."""

    acks_for_themselves = True

    def begin(self, config: Config, dut: Any) -> None:
        self._late = min(20 * MS, config["e_d_tov_us"] // 10)
        self._before: set[bytes] = set()

    @staticmethod
    def _sequence(frame: codec.Frame) -> bytes:
        return frame.data[5:8] + frame.data[12:13] + frame.data[16:18] + bytes([frame.header("Exchange_Context")])

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if kind != "ACK_1":
            return None
        if not frame.header("End_Sequence"):
            self._before.add(self._sequence(frame))
            return None
        several = self._sequence(frame) in self._before
        self._before.discard(self._sequence(frame))
        return edited(frame, Parameter=0x1_0001) if several else None

    def apart(self, frame: codec.Frame, kind: str) -> int:
        return self._late if kind == "ACK_1" and not frame.header("End_Sequence") else 0


@liberty("preference-on-all-vis", "5.8.2: a provider that chooses to", "preference", reference=True, of_2007=True)
class PreferenceOnAll(Manner):
    """The port uses the Preference Function on each of its VIs, and says so in FCVI_PREF."""

    def claim(self, pics: dict[str, Any]) -> None:
        pics["preference"] = True

    def begin(self, config: Config, dut: Any) -> None:
        self._asked: dict[Any, bool] = {}

    def ask(self, method: str, params: Params) -> Union[Params, Refusal]:
        attributes = params.get("ViAttribs")
        if method != "VipCreateVi" or not isinstance(attributes, dict):
            return params
        given = attributes.get("QoS", {})
        return {**params, "ViAttribs": {**attributes, "QoS": {**given, "Preference": True}}} if isinstance(given, dict) else params

    def answer(self, method: str, params: Params, result: Params) -> Params:
        if method == "VipCreateVi" and "vi" in result:
            self._asked[result["vi"]] = bool(params["ViAttribs"].get("QoS", {}).get("Preference"))
        told = result.get("ViAttribs")
        if method == "VipQueryVi" and isinstance(told, dict) and isinstance(told.get("QoS"), dict):
            return {**result, "ViAttribs": {**told, "QoS": {**told["QoS"], "Preference": self._asked.get(params["vi"], False)}}}
        return result


# ---- logins ----


@liberty("login-with-every-feature", "FC-FS: common service parameters", "login")
class EveryFeature(_Login):
    """A later FC-PH version, alternate credit, multicast, broadcast, and whatever bits 23 to 18 mean."""

    def edit(self, buf: bytearray, at: int) -> None:
        codec.put("LOGIN", "FC_PH_Version", buf, self.rng.choice([0x0620, 0x0909, 0x2008, 0x2020]), at)
        for name in ("Alternate_BB_Credit", "Multicast", "Broadcast"):
            codec.put("LOGIN", name, buf, self.rng.randrange(2), at)
        codec.put("LOGIN", "Features_23_18", buf, self.rng.randrange(64), at)
        codec.put("LOGIN", "BB_SC_N", buf, self.rng.randrange(16), at)


@liberty("login-of-256-bytes", "FC-FS: Payload Length bit", "login")
class LoginOf256(_Login):
    """PLOGI and its LS_ACC have the long payload, and the bit that says so."""

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        made = super().say(frame, kind)
        return None if made is None or len(frame.payload) != 116 else [made[0] + bytes(140)]

    def edit(self, buf: bytearray, at: int) -> None:
        codec.put("LOGIN", "Payload_Length", buf, 1, at)


@liberty("login-with-least-of-each-class", "FC-FS: class service parameters", "login")
class LeastOfClass(_Login):
    """One concurrent Sequence, one open Sequence of an Exchange, an end-to-end credit of one; all policies."""

    def edit(self, buf: bytearray, at: int) -> None:
        for offset in (48, 64):
            buf[at + offset + 8 : at + offset + 14] = bytes.fromhex("0001 0001 0001")


@liberty("takes-one-sequence-at-a-time", "FC-FS: Total Concurrent Sequences", "login", of_2007=True)
class OneSequence(LeastOfClass):
    """The port tells that it takes one Sequence at a time, and takes no second one; class 3 in order, after an explicit login."""

    def begin(self, config: Config, dut: Any) -> None:
        super().begin(config, dut)
        self._ordered = config["class"] == 3 and config["fabric"] == "in-order"
        self._told, self._open = False, b""

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if self._told and self._ordered and frame.kind == "iu":
            sequence = frame.data[5:8] + frame.data[12:13] + frame.data[16:18] + bytes([frame.header("Exchange_Context")])
            if self._open and sequence != self._open:
                return None
            self._open = b"" if frame.header("End_Sequence") else sequence
        elif frame.kind != "iu":
            self._open = b""
        return super().hear(frame, kind)

    def edit(self, buf: bytearray, at: int) -> None:
        super().edit(buf, at)
        self._told = True
        word = codec.get("LOGIN", "Word_2", bytes(buf), at)
        assert isinstance(word, int)
        codec.put("LOGIN", "Word_2", buf, word & 0xFFFF | 1 << 16, at)


# ---- before a setup ----


class _Idle(_Beside):
    """Knows when no connection and no setup is open between the two ports."""

    def begin(self, config: Config, dut: Any) -> None:
        super().begin(config, dut)
        self._own = set[int]()
        self._clear()

    def _clear(self) -> None:
        self._setups, self._accepted, self._ended, self._lost = set[tuple[bytes, bool]](), 0, 0, False

    def idle(self) -> bool:
        """Whether all that was begun has ended at both ends."""
        return not self._setups and not self._lost and self._ended >= 2 * self._accepted

    def _follow(self, frame: codec.Frame, kind: str, ours: bool) -> None:
        key = (frame.data[16:18], ours != bool(frame.header("Exchange_Context")))
        if kind == "CONNECT_RQST":
            self._setups.add(key)
        elif kind == "CONNECT_RESP1" and frame.header("First_Sequence") == 0 and frame.header("SEQ_CNT") == 0:
            self._accepted += not frame.get("DH", "CONN_STS")
        elif kind == "CONNECT_RESP3":
            self._setups.discard(key)
        elif kind == "DISCONNECT_RESP":
            self._ended += 1
        elif kind == "ABTS":
            self._lost = True
        elif kind in ("PLOGI", "LOGO"):
            self._clear()

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        self._follow(frame, kind, True)
        return super().say(frame, kind)

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if frame.header("Exchange_Context") and frame.header("OX_ID") in self._own and frame.kind != "iu":
            self.answered(frame, kind)
            return None
        self._follow(frame, kind, False)
        return frame.data

    def answered(self, frame: codec.Frame, kind: str) -> None:
        """The other port answers an ELS of this liberty."""

    def ask_for(self, where: bytes, payload: bytes) -> None:
        """Send an ELS."""
        ox_id = self.new_ox_id()
        self._own.add(ox_id)
        head = b"\x22" + where + b"\0" + bytes.fromhex(self._config["n_port_id"]) + bytes.fromhex("01 290000 7a000000")
        self._dut.emit({"hex": (head + ox_id.to_bytes(2, "big") + bytes.fromhex("ffff00000000") + payload).hex(), "crc": "ok"})


class _Before(_Idle):
    """Asks for something before each FCVI_CONNECT_RQST, which waits for the answer, a tenth of a second at most."""

    only_idle = False
    _MOST = 100 * MS

    def begin(self, config: Config, dut: Any) -> None:
        super().begin(config, dut)
        self._waiting: list[bytes] = []
        self._round = 0

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if kind != "CONNECT_RQST":
            return super().say(frame, kind)
        if self._waiting:
            self._waiting.append(frame.data)
            return []
        asks = frame.header("SEQ_CNT") == 0 and (self.idle() or not self.only_idle)
        super().say(frame, kind)
        if not asks:
            return None
        self._waiting = [frame.data]
        self._round += 1
        now = self._round
        self._dut._after(self._MOST, lambda _: self._go(now))
        self._dut._after(0, lambda _: self.ask_for(frame.data[1:4], self.body()))
        return []

    def answered(self, frame: codec.Frame, kind: str) -> None:
        self._go(self._round)

    def _go(self, number: int) -> None:
        if number == self._round:
            waiting, self._waiting = self._waiting, []
            for data in waiting:
                self._dut.emit({"hex": data.hex(), "crc": "ok"})

    def body(self) -> bytes:
        """The payload."""
        raise NotImplementedError

    def names(self) -> bytes:
        """Port_Name and Node_Name."""
        return bytes.fromhex(self._config["port_name"] + self._config["node_name"])


@liberty("adisc-before-each-setup", "7.7.1: the mapping is valid before use", "before a setup", of_2007=True)
class AdiscBefore(_Before):
    """The port confirms the address of the other one before each setup that it begins."""

    def body(self) -> bytes:
        return bytes.fromhex("5200000000000000") + self.names() + b"\0" + bytes.fromhex(self._config["n_port_id"])


@liberty("plogi-before-each-setup", "7.7.1, 7.7.2; FC-FS: N_Port Login", "before a setup", of_2007=True)
class PlogiBefore(_Before):
    """The port logs in anew before each setup that it begins while no connection is open."""

    only_idle = True

    def body(self) -> bytes:
        size = self._config["receive_size"].to_bytes(2, "big")
        common = bytes.fromhex("20200010 8002") + size + bytes.fromhex("00ff0000 000007d0")
        a_class = bytes.fromhex("88000000 0000") + size + bytes.fromhex("00ff0040 00010000")
        return bytes.fromhex("03000000") + common + self.names() + bytes(16) + a_class + a_class + bytes(32)


@liberty("logs-out-when-idle", "7.7.1; FC-FS: LOGO frees the resources of a login", "when idle", of_2007=True)
class LogsOutWhenIdle(_Idle):
    """The port logs out a tenth of a second after its last connection has ended at both ends."""

    _fed = 0x7FF2

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if frame.header("Exchange_Context") and frame.header("OX_ID") == self._fed:
            return []
        made = super().say(frame, kind)
        self._look(frame, kind)
        return made

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        data = super().hear(frame, kind)
        self._look(frame, kind)
        return data

    def _look(self, frame: codec.Frame, kind: str) -> None:
        if kind == "DISCONNECT_RESP" and self.idle():
            other = frame.data[1:4] if frame.data[5:8].hex() == self._config["n_port_id"] else frame.data[5:8]
            ended = self._ended
            self._dut._after(100 * MS, lambda _: self._log_out(other, ended))

    def _log_out(self, theirs: bytes, ended: int) -> None:
        if not self.idle() or self._ended != ended:
            return
        ours, ox_id = bytes.fromhex(self._config["n_port_id"]), self.new_ox_id()
        self._own.add(ox_id)
        self._dut.emit(_logo(theirs, ours, ox_id, bytes.fromhex(self._config["port_name"])))
        self._clear()
        self._dut._inner.notify("frame", _logo(ours, theirs, self._fed, bytes.fromhex(self._config["peer"]["port_name"])))


# ---- traffic ----


@liberty("registers-its-hosts", "7.6; FC-GS: RIPP_ID", "traffic")
class RegistersHosts(_ToTheFabric):
    """The port registers its IP address with the Name Server."""

    server, r_ctl, kind = bytes.fromhex("fffffc"), 0x02, 0x20

    def body(self) -> bytes:
        address = bytes.fromhex(self._config["n_port_id"] + self._config["host"][0])
        return bytes.fromhex("01000000 fc020000 021b0000 00000000 00") + address


@liberty("login-with-the-management-server", "FC-GS: FFFFFAh", "traffic")
class ManagementServer(NameServerLogin):
    """The port logs in with the Management Server."""

    server = bytes.fromhex("fffffa")


@liberty("rscn-of-its-own", "FC-FS: RSCN of an N_Port to the Fabric Controller", "traffic")
class Rscn(_ToTheFabric):
    """The port tells the Fabric that its state has changed."""

    server = bytes.fromhex("fffffd")

    def body(self) -> bytes:
        return bytes.fromhex("61040008 00") + bytes.fromhex(self._config["n_port_id"])


@liberty("fdisc-of-a-virtual-port", "FC-FS: N_Port_ID virtualization", "traffic")
class Fdisc(_ToTheFabric):
    """The port asks the Fabric for a second N_Port_ID, which another FC-4 uses."""

    def _speak(self, where: bytes) -> None:
        if self._config["topology"] != "fabric":
            return
        ox_id = self.new_ox_id()
        self._own.add(ox_id)
        name = (int(self._config["port_name"], 16) ^ 0x0100_0000_0000_0000 ^ 0xABC).to_bytes(8, "big")
        common = bytes.fromhex("2020000a 80000840 00000000 00000000")
        class3 = bytes.fromhex("88000000 00000840 00000000 00000000")
        body = bytes.fromhex("51000000") + common + name + bytes.fromhex(self._config["node_name"]) + bytes(32) + class3 + bytes(32)
        head = bytes.fromhex("22fffffe 00000000 01290000 79000000") + ox_id.to_bytes(2, "big") + bytes.fromhex("ffff00000000")
        self._dut.emit({"hex": (head + body).hex(), "crc": "ok"})


@liberty("an-els-that-few-know", "FC-FS: link services", "traffic")
class AnyEls(_Speaks):
    """The port asks for a link service that is seldom served."""

    def choose(self) -> None:
        self.payload = bytes.fromhex(self.rng.choice((
            "08000000 00010200 ffffffff 000000000000000000000000", "56000000 00000000", "57000000 00000000 00000000",
            "63000000 00000000", "68000000", "7d000000", "0d000000 00010200 ffff0000", "7a000000 00000000",
            "23100014 58000000 00000000 00000000 00000000",
        )))  # fmt: skip


@liberty("nop-of-its-own", "FC-FS: NOP", "traffic")
class Nop(_Speaks):
    """The port sends the basic link service that does nothing."""

    r_ctl, kind, f_ctl = 0x80, 0x00, 0x380000


@liberty("scsi-beside-it", "5.8.3; FCP", "traffic")
class ScsiBeside(_Speaks):
    """The port looks for a SCSI target at the other one: TYPE 08h."""

    r_ctl, kind = 0x06, 0x08
    payload = bytes.fromhex("0000000000000000 00000002 12000000 2400 0000 00000000 00000000 00000024")


@liberty("ct-request-of-its-own", "FC-GS: FC-CT between N_Ports", "traffic")
class CtBeside(_Speaks):
    """The port asks the other one by FC-CT, as if it were a server."""

    r_ctl, kind = 0x02, 0x20
    payload = bytes.fromhex("01000000 f8010000 04000000 00000000")
