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


class _Speaks(Manner):
    """Says something of its own when the first FC-VI frame has shown that both ports are logged in, and hears the answer."""

    payload, r_ctl, kind, f_ctl, df_ctl = b"", _ELS_REQUEST, 0x01, 0x290000, 0

    def begin(self, config: Config, dut: Any) -> None:
        self._dut, self._said, self._config = dut, 0, config
        self._ox_id = 0x7E00 + self.rng.randrange(0x100)

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        own = frame.header("OX_ID") == self._ox_id and frame.header("Exchange_Context")
        if own and frame.kind != "iu":
            return None
        if frame.kind == "iu" and not self._said:
            self._said = 1
            where = frame.data[5:8]
            self._dut._after(self.rng.randint(1, 5) * MS, lambda _: self._speak(where))
        return frame.data

    def _speak(self, where: bytes) -> None:
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


@liberty("ip-beside-it", "5.8.3; RFC 2625", "traffic")
class IpBeside(_Speaks):
    """An ARP request of an IP stack on the same port: TYPE 05h with a Network_Header."""

    r_ctl, kind, f_ctl, df_ctl = 0x04, 0x05, 0x380000, 0x20

    def body(self) -> bytes:
        source = bytes.fromhex(self._config["port_name"])
        arp = bytes.fromhex("aaaa03000000 0806 0001 0800 06 04 0001") + source[2:] + bytes.fromhex("0a000002 000000000000 0a000001")
        return bytes.fromhex("1000ffffffffffff") + source + arp


@liberty("ip-stack-answers-farp", "7.5 NOTE of step 15, E36, E125", "farp answers")
class AnswersFarp(Manner):
    """An IP stack on the same port answers a FARP-REQ for an own address with any Match Address Code Points and action."""

    def begin(self, config: Config, dut: Any) -> None:
        self._own = [bytes.fromhex(host) for host in config["host"]]

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        data = bytearray(frame.data)
        if kind == "FARP_REQ" and len(data) >= 100 and bytes(data[84:100]) in self._own:
            data[28], data[32] = 4, 2  # taken as asked in the only way that the port itself answers
        return bytes(data)
