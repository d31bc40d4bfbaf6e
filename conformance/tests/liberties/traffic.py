"""Liberties of a port that has more to do than FC-VI: login parameters, and frames of its own that FC-FS permits."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.fc import codec

from .manner import MS, Config, Manner, liberty

_LOGINS = ("PLOGI", "FLOGI")
_ELS_REQUEST = 0x22


class _Login(Manner):
    """Edits the service parameters of PLOGI and of the LS_ACC to it."""

    def begin(self, config: Config, dut: Any) -> None:
        self._asked: set[bytes] = set()

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if kind == "PLOGI":
            self._asked.add(frame.data[16:18])
        return frame.data

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        answer = kind == "LS_ACC" and frame.header("Exchange_Context") and frame.data[16:18] in self._asked
        if len(frame.payload) < 116 or not (kind == "PLOGI" or answer):
            return None
        buf = bytearray(frame.data)
        self.edit(buf, frame.payload_offset + 4)
        return [bytes(buf)]

    def edit(self, buf: bytearray, at: int) -> None:
        """Change the service parameters, which begin there."""


@liberty("login-least-credit", "FC-FS: common service parameters", "login")
class LeastCredit(_Login):
    """BB_Credit of one, one Sequence at a time."""

    def edit(self, buf: bytearray, at: int) -> None:
        codec.put("LOGIN", "BB_Credit", buf, 1, at)
        word = codec.get("LOGIN", "Word_2", bytes(buf), at)
        assert isinstance(word, int)
        codec.put("LOGIN", "Word_2", buf, word & 0xFFFF | 1 << 16, at)


@liberty("login-random-offset-too", "5.6, E17", "login")
class RandomOffsetToo(_Login):
    """Bit 30 beside bit 31."""

    def edit(self, buf: bytearray, at: int) -> None:
        codec.put("LOGIN", "Random_Offset", buf, 1, at)


@liberty("login-with-a-vendor-version", "FC-FS: vendor version level", "login")
class VendorVersion(_Login):
    """A valid Vendor Version Level."""

    def edit(self, buf: bytearray, at: int) -> None:
        codec.put("LOGIN", "Vendor_Version_Valid", buf, 1, at)
        codec.put("LOGIN", "Vendor_Version", buf, b"any vendor 1.0\0\0", at)


class _Beside(Manner):
    """Has Exchanges of its own beside those of the port."""

    def begin(self, config: Config, dut: Any) -> None:
        self._dut, self._config = dut, config
        self._seen: set[int] = {0xFFFF}

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if not frame.header("Exchange_Context"):
            self._seen.add(frame.header("OX_ID"))
            self._latest = frame.header("OX_ID")
        return None

    def new_ox_id(self) -> int:
        """An OX_ID that the port has not had, and far from those that come next."""
        while True:
            ox_id = getattr(self, "_latest", 0) + self.rng.randrange(0x4000, 0xC000) & 0xFFFF
            if ox_id not in self._seen:
                self._seen.add(ox_id)
                return ox_id


class _Speaks(_Beside):
    """Says something of its own when the first FC-VI frame has shown that both ports are logged in, and hears the answer."""

    payload, r_ctl, kind, f_ctl, df_ctl = b"", _ELS_REQUEST, 0x01, 0x290000, 0

    def begin(self, config: Config, dut: Any) -> None:
        super().begin(config, dut)
        self._said, self._own = False, set[int]()

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if frame.header("OX_ID") in self._own and frame.header("Exchange_Context") and frame.kind != "iu":
            return None
        if frame.kind == "iu" and not self._said:
            self._said = True
            where = frame.data[5:8]
            self._dut._after(self.rng.randint(1, 5) * MS, lambda _: self._speak(where))
        return frame.data

    def _speak(self, where: bytes) -> None:
        self._ox_id = self.new_ox_id()
        self._own.add(self._ox_id)
        head = bytes([self.r_ctl]) + where + b"\0" + bytes.fromhex(self._config["n_port_id"]) + bytes([self.kind])
        head += self.f_ctl.to_bytes(3, "big") + b"\x7c" + bytes([self.df_ctl, 0, 0]) + self._ox_id.to_bytes(2, "big")
        head += bytes.fromhex("ffff00000000")
        self._dut.emit({"hex": (head + self.body()).hex(), "crc": "ok"})

    def body(self) -> bytes:
        """The payload."""
        return self.payload


@liberty("adisc-of-its-own", "FC-FS; 7.7.3", "traffic")
class Adisc(_Speaks):
    """The port confirms the address of the other one."""

    def body(self) -> bytes:
        names = bytes.fromhex(self._config["port_name"] + self._config["node_name"] + "00" + self._config["n_port_id"])
        return bytes.fromhex("5200000000000000") + names


@liberty("rnid-of-its-own", "FC-FS: RNID", "traffic")
class Rnid(_Speaks):
    """The port asks the other one for its node identification."""

    payload = bytes.fromhex("78000000 df000000")


@liberty("rtv-of-its-own", "FC-FS: RTV", "traffic")
class Rtv(_Speaks):
    """The port asks for timeout values."""

    payload = bytes.fromhex("0e000000")


@liberty("echo-of-its-own", "FC-FS: ECHO", "traffic")
class Echo(_Speaks):
    """The port asks for an echo."""

    payload = bytes.fromhex("10000000 00112233")


@liberty("prli-of-its-own", "E84; FC-FS: PRLI", "traffic")
class Prli(_Speaks):
    """The port asks for a Process Login of TYPE 58h, and lives without."""

    payload = bytes.fromhex("20100014 58002000 00000000 00000000 00000000")


@liberty("prli-of-another-fc-4", "FC-FS: PRLI", "traffic")
class PrliOfFcp(_Speaks):
    """The port speaks SCSI as well."""

    payload = bytes.fromhex("20100014 08002000 00000000 00000000 00000020")


@liberty("login-with-all-classes", "FC-FS: class service parameters", "login")
class AllClasses(_Login):
    """Class 2 and class 3 are valid, with Sequences delivered in order."""

    def edit(self, buf: bytearray, at: int) -> None:
        for offset in (48, 64):
            buf[at + offset] |= 0x88


@liberty("login-with-timeouts", "FC-FS: E_D_TOV of N_Port Login", "login")
class LoginTimeouts(_Login):
    """PLOGI tells E_D_TOV in nanoseconds."""

    def edit(self, buf: bytearray, at: int) -> None:
        codec.put("LOGIN", "E_D_TOV_Resolution", buf, 1, at)
        codec.put("LOGIN", "E_D_TOV", buf, min(self._e_d_tov_us * 1000, 0xFFFFFFFF), at)

    def begin(self, config: Config, dut: Any) -> None:
        super().begin(config, dut)
        self._e_d_tov_us = config["e_d_tov_us"]


@liberty("pdisc-of-its-own", "FC-FS: PDISC", "traffic")
class Pdisc(_Speaks):
    """The port confirms its service parameters, and takes a rejection for an answer."""

    def body(self) -> bytes:
        names = bytes.fromhex(self._config["port_name"] + self._config["node_name"])
        common = bytes.fromhex("2020000a 80020840 00ff0000 00000000")
        class3 = bytes.fromhex("80000000 00000840 00ff0000 00010000")
        return bytes.fromhex("50000000") + common + names + bytes(32) + class3 + bytes(32)


@liberty("test-of-its-own", "FC-FS: TEST, which has no reply", "traffic")
class Test(_Speaks):
    """The port sends a pattern."""

    payload, f_ctl = bytes.fromhex("11000000 a5a5a5a5 5a5a5a5a"), 0x380000


@liberty("rls-of-its-own", "FC-FS: RLS", "traffic")
class Rls(_Speaks):
    """The port reads the link error status block of the other one."""

    payload = bytes.fromhex("0f000000 00000000")


@liberty("adisc-again-and-again", "FC-FS; 7.7.3", "traffic")
class AdiscOften(Adisc):
    """The port confirms the address of the other one every half of R_A_TOV."""

    def _speak(self, where: bytes) -> None:
        super()._speak(where)
        self._dut._after(self._config["r_a_tov_us"] // 2, lambda _: self._speak(where))


class _Unanswered(_Speaks):
    """Aborts the Exchange of an own request that nobody answers within twice R_A_TOV."""

    def begin(self, config: Config, dut: Any) -> None:
        super().begin(config, dut)
        self._answered = False

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if frame.header("OX_ID") in self._own and frame.kind == "els" and frame.header("Exchange_Context"):
            self._answered = True
        return super().hear(frame, kind)

    def _speak(self, where: bytes) -> None:
        super()._speak(where)
        self._dut._after(2 * self._config["r_a_tov_us"], lambda _: self._abort(where))

    def _abort(self, where: bytes) -> None:
        if self._answered:
            return
        own, ox_id = bytes.fromhex(self._config["n_port_id"]), self._ox_id.to_bytes(2, "big")
        abts = b"\x81" + where + b"\0" + own + bytes.fromhex("00 090000 7d000000") + ox_id + bytes.fromhex("ffff00000000")
        self._dut.emit({"hex": abts.hex(), "crc": "ok"})


@liberty("rnid-until-it-is-answered", "FC-FS: RNID, LS_RJT, twice R_A_TOV", "traffic")
class RnidUntil(_Unanswered):
    """The port asks for the node identification, and aborts the Exchange when no answer comes."""

    payload = bytes.fromhex("78000000 df000000")


@liberty("echo-until-it-is-answered", "FC-FS: ECHO, LS_RJT, twice R_A_TOV", "traffic")
class EchoUntil(_Unanswered):
    """The port asks for an echo, and aborts the Exchange when no answer comes."""

    payload = bytes.fromhex("10000000 00112233")


@liberty("rrq-after-an-abort", "FC-FS: recovery qualifier, RRQ", "rrq")
class RrqAfterAbort(_Beside):
    """R_A_TOV after BA_ACC to its ABTS the port reinstates the recovery qualifier."""

    def begin(self, config: Config, dut: Any) -> None:
        super().begin(config, dut)
        self._sent: set[int] = set()

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        mine = frame.header("Exchange_Context")
        if mine and frame.header("OX_ID") in self._sent and frame.kind != "iu":
            return None
        if kind == "BA_ACC" and mine and len(frame.payload) >= 12:
            where, ox_id = frame.data[5:8], frame.data[16:18]
            rx_id = frame.payload[6:8] if frame.data[18:20] == b"\xff\xff" else frame.data[18:20]
            self._dut._after(self._config["r_a_tov_us"], lambda _: self._reinstate(where, ox_id, rx_id))
        return frame.data

    def _reinstate(self, where: bytes, ox_id: bytes, rx_id: bytes) -> None:
        own = bytes.fromhex(self._config["n_port_id"])
        reinstates = self.new_ox_id()
        self._sent.add(reinstates)
        head = b"\x22" + where + b"\0" + own + b"\x01" + bytes.fromhex("290000 7b000000") + reinstates.to_bytes(2, "big")
        body = bytes.fromhex("ffff00000000 12000000 00") + own + ox_id + rx_id
        self._dut.emit({"hex": (head + body).hex(), "crc": "ok"})


class _ToTheFabric(_Speaks):
    """Speaks to a server of the Fabric, where there is one."""

    server = b""

    def _speak(self, where: bytes) -> None:
        if self._config["topology"] in ("fabric", "public-loop"):
            super()._speak(self.server)


@liberty("scr-of-its-own", "7.7.5; FC-FS: SCR", "traffic")
class Scr(_ToTheFabric):
    """The port registers for state changes."""

    server, payload = bytes.fromhex("fffffd"), bytes.fromhex("62000000 00000003")


@liberty("login-with-the-name-server", "7.6; FC-GS: N_Port Login with FFFFFCh", "traffic")
class NameServerLogin(_ToTheFabric):
    """The port logs in with the Name Server."""

    server = bytes.fromhex("fffffc")

    def body(self) -> bytes:
        names = bytes.fromhex(self._config["port_name"] + self._config["node_name"])
        common = bytes.fromhex("2020000a 80020840 00ff0000 00000000")
        class3 = bytes.fromhex("80000000 00000840 00ff0000 00010000")
        return bytes.fromhex("03000000") + common + names + bytes(32) + class3 + bytes(32)


@liberty("registers-its-types", "7.6; FC-GS: RFT_ID", "traffic")
class Rft(_ToTheFabric):
    """The port registers its FC-4 TYPEs with the Name Server."""

    server, r_ctl, kind, f_ctl = bytes.fromhex("fffffc"), 0x02, 0x20, 0x290000

    def body(self) -> bytes:
        types = bytearray(32)
        types[32 - 4 * (0x58 // 32) - 4 : 32 - 4 * (0x58 // 32)] = (1 << 0x58 % 32).to_bytes(4, "big")
        return bytes.fromhex("01000000 fc020000 02170000 00000000 00") + bytes.fromhex(self._config["n_port_id"]) + bytes(types)


@liberty("ip-beside-it", "5.8.3; RFC 2625", "traffic")
class IpBeside(_Speaks):
    """An ARP request of an IP stack on the same port: TYPE 05h with a Network_Header."""

    r_ctl, kind, f_ctl, df_ctl = 0x04, 0x05, 0x380000, 0x20

    def body(self) -> bytes:
        source = bytes.fromhex(self._config["port_name"])
        arp = bytes.fromhex("aaaa03000000 0806 0001 0800 06 04 0001") + source[2:] + bytes.fromhex("0a000002 000000000000 0a000001")
        return bytes.fromhex("1000ffffffffffff") + source + arp


@liberty("ip-stack-answers-farp", "7.5 NOTE of step 15, E36, E125", "farp answers", of_2007=True)
class AnswersFarp(Manner):
    """An IP stack on the same port answers a FARP-REQ for an own address with any Match Address Code Points and action."""

    def begin(self, config: Config, dut: Any) -> None:
        self._own = [bytes.fromhex(host) for host in config["host"]]

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        data = bytearray(frame.data)
        if kind == "FARP_REQ" and len(data) >= 100 and bytes(data[84:100]) in self._own:
            data[28], data[32] = 4, 2  # taken as asked in the only way that the port itself answers
        return bytes(data)
