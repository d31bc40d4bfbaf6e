"""Liberties of what an IU says where the text, or an erratum that tolerates two readings, leaves a choice."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.fc import codec

from .manner import Config, Manner, in_connect, liberty, number

_UNASSIGNED = 0xFFFF_FFFF


def _dh(frame: codec.Frame, **values: int) -> list[bytes]:
    buf = bytearray(frame.data)
    for name, value in values.items():
        codec.put("DH", name, buf, value, frame.dh_offset)
    return [bytes(buf)]


class _Refusals(Manner):
    """Remembers which Exchanges it refused, and why."""

    def begin(self, config: Config, dut: Any) -> None:
        self._codes: dict[bytes, int] = {}

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        if kind == "CONNECT_RESP1":
            self._codes[frame.data[16:18]] = number(frame, "Reason_Code") if frame.get("DH", "CONN_STS") else 0
        return frame.data

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if kind == "CONNECT_RESP1":
            self._codes[frame.data[16:18]] = number(frame, "Reason_Code") if frame.get("DH", "CONN_STS") else 0
        code = self._codes.get(frame.data[16:18], 0)
        return self.after(frame, code) if kind in ("CONNECT_RESP2", "CONNECT_RESP3") and code else None

    def after(self, frame: codec.Frame, code: int) -> Optional[list[bytes]]:
        """RESP2 or RESP3 after a refusal with this code."""


@liberty("unassigned-after-a-refusal", "5.3.3, E14", "after a refusal", reference=True)
class UnassignedAfter(_Refusals):
    """FCVI_CONNECT_RESP3 after a refusal carries FFFFFFFFh."""

    def after(self, frame: codec.Frame, code: int) -> Optional[list[bytes]]:
        return _dh(frame, FCVI_HANDLE=_UNASSIGNED) if frame.iu == "CONNECT_RESP3" else None


@liberty("refusal-said-again", "6.11.2, E40", "after a refusal", reference=True)
class SaidAgain(_Refusals):
    """FCVI_CONNECT_RESP3 after a refusal repeats its status."""

    def after(self, frame: codec.Frame, code: int) -> Optional[list[bytes]]:
        return _dh(frame, CONN_STS=1, Reason_Code=code) if frame.iu == "CONNECT_RESP3" else None


@liberty("either-code-for-no-match", "5.9.7.2.1, E78", "no match", of_2007=True)
class EitherCode(Manner):
    """01h and 03h, one as good as the other, each time anew."""

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if kind != "CONNECT_RESP1" or not frame.get("DH", "CONN_STS") or frame.get("DH", "Reason_Code") not in (1, 3):
            return None
        return _dh(frame, Reason_Code=self.rng.choice([1, 3]))


@liberty("vendor-unique-byte-anyhow", "5.9.7.1", "vendor unique", of_2007=True)
class VendorByte(Manner):
    """The Vendor Unique byte beside a status is another each time."""

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        reply = kind in ("CONNECT_RESP1", "CONNECT_RESP2", "CONNECT_RESP3") and frame.get("DH", "CONN_STS")
        disconnect = kind in ("DISCONNECT_RQST", "DISCONNECT_RESP") and frame.get("DH", "DISC_CONN_STS")
        return _dh(frame, Vendor_Unique=self.rng.randrange(256)) if reply or disconnect else None


@liberty("unknown-id-in-disconnect", "D.1 rule 1a, E03 (warns)", "disconnect id", reference=True)
class UnknownId(Manner):
    """FCVI_DISCONNECT_RQST of an established connection with FCVI_CONNECTION_ID FFFFFFFFh."""

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        established = kind == "DISCONNECT_RQST" and not frame.get("DH", "CONN_SETUP_ABORT")
        return _dh(frame, FCVI_CONNECTION_ID=_UNASSIGNED) if established else None


@liberty("farp-reply-without-port-name", "7.5, E35 (warns)", "farp words", reference=True)
class Nameless(Manner):
    """FARP-REPLY without Responding Port_Name."""

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if kind != "FARP_REPLY":
            return None
        buf = bytearray(frame.data)
        codec.put("FARP", "Responding_Port_Name", buf, 0, frame.payload_offset + 4)
        return [bytes(buf)]


#: Where the parts of a connect payload begin (Tables 13 to 15): the two addresses, FCVI_CONNECT_INFO.
_ADDRESSES, _INFO = (12, 160), 340


@liberty("rest-of-a-discriminator-anyhow", "7.2: DISCRIM_LEN says how much is used", "discriminator rest", of_2007=True)
class DiscriminatorRest(Manner):
    """What stands in DISCRIM behind DISCRIM_LEN means nothing."""

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        start = in_connect(frame, kind, 0, _INFO)
        if start is None:
            return None
        buf = bytearray(frame.data)
        for address in _ADDRESSES:
            at = start + address
            used = min(buf[at + 3], 128)
            buf[at + 20 + used : at + 148] = self.rng.randbytes(128 - used)
        return [bytes(buf)]


@liberty("any-connect-info", "5.9.4.4, 6.8.3", "connect info", reference=True)
class AnyConnectInfo(Manner):
    """256 bytes of FCVI_CONNECT_INFO that mean something to their sender alone."""

    def choose(self) -> None:
        self.port = {"connect_info": True}

    def claim(self, pics: dict[str, Any]) -> None:
        pics["connect_info"] = True

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        at = in_connect(frame, kind, _INFO, 256)
        return None if at is None else [frame.data[:at] + self.rng.randbytes(256) + frame.data[at + 256 :]]


@liberty("attributes-of-nobody", "7.3: a refusal for want of a match has no VI to tell of", "attributes", of_2007=True)
class AttributesOfNobody(Manner):
    """FCVI_MAX_TRANS_SIZE and FCVI_PIPELINE_DEPTH of a FCVI_CONNECT_RESP1 without a Connectionpoint are the port's own."""

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if kind != "CONNECT_RESP1" or not frame.get("DH", "CONN_STS") or frame.get("DH", "Reason_Code") not in (1, 3):
            return None
        buf = bytearray(frame.data)
        for at, value in ((312, 1 << 20), (332, self.rng.randrange(16))):
            place = in_connect(frame, kind, at, 4)
            if place is not None:
                buf[place : place + 4] = value.to_bytes(4, "big")
        return [bytes(buf)]


@liberty("connect-info-of-the-originator-alone", "5.9.4.4, 5.9.4.5: each IU says for itself", "connect info", reference=True)
class InfoOfOriginator(Manner):
    """FCVI_CONNECT_INFO goes with FCVI_CONNECT_RQST, and not with a FCVI_CONNECT_RESP1 that has one frame."""

    def choose(self) -> None:
        self.port = {"connect_info": True}

    def claim(self, pics: dict[str, Any]) -> None:
        pics["connect_info"] = True

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if kind != "CONNECT_RESP1" or len(frame.payload) != _INFO + 256:
            return None
        buf = bytearray(_dh(frame, RESP_FCVI_CONN_INFO=0)[0])
        del buf[frame.payload_offset + _INFO :]
        return [bytes(buf)]
