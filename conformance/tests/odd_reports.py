"""Odd but conforming devices that an edit of their frames cannot make: what they report to the application, or ignore."""

from __future__ import annotations

from collections import deque
from typing import Any, Optional

from fcvi.dut.base import Reply
from fcvi.fc import codec

from .odd import Odd, OddDut

_RSCN, _FARP_REQ, _ELS_REQUEST = 0x61, 0x54, 0x22
_ABTS, _BA_ACC, _MESSAGE_DATA = 0x81, 0x84, 0x01  # R_CTL
_AT_ONCE = ("send", "rdma-write")


class CompletesWhenSent(OddDut):
    """Reliable Delivery: a Descriptor is complete, and good, once its data are on the wire (VI-ARCH 2.5.2, E121)."""

    def reset(self, config: dict[str, Any]) -> None:
        self._levels: dict[int, str] = {}
        self._connected: set[int] = set()
        self._told: deque[int] = deque()  # VIs of the completions that the port still has to report
        super().reset(config)

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        at_once = method == "VipPostSend" and self._at_once(params)
        if at_once:
            self._told.append(params["vi"])
        reply = super().request(method, params)
        if method == "VipCreateVi" and reply.result.get("return") == "VIP_SUCCESS":
            self._levels[reply.result["vi"]] = params["ViAttribs"]["ReliabilityLevel"]
        if at_once:
            descriptor = params["descriptor"]
            length = sum(segment["length"] for segment in descriptor["segments"])
            operation = ["VIP_STATUS_OP_RDMA_WRITE"] if descriptor["op"] == "rdma-write" else []
            super()._emit("completion", {
                "vi": params["vi"], "queue": "send", "status": ["VIP_STATUS_DONE", *operation], "length": length,
                "immediate": None,
            })  # fmt: skip
        return reply

    def _at_once(self, params: dict[str, Any]) -> bool:
        reliable = self._levels.get(params["vi"]) == "VIP_SERVICE_RELIABLE_DELIVERY"
        return reliable and params["vi"] in self._connected and params["descriptor"]["op"] in _AT_ONCE

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        if method == "state":
            (self._connected.add if params["state"] == "connected" else self._connected.discard)(params["vi"])
        if method == "completion" and params["queue"] == "send" and params["vi"] in self._told:
            self._told.remove(params["vi"])
            return
        super()._emit(method, params)


class RecoversFirst(OddDut):
    """Between its ABTS and the BA_ACC it begins no other Message (5.5, FC-FS)."""

    _held: Optional[list[dict[str, Any]]] = None

    def reset(self, config: dict[str, Any]) -> None:
        self._held = None
        super().reset(config)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        super().notify(method, params)
        if method == "frame" and params["hex"].startswith(f"{_BA_ACC:02x}"):
            held, self._held = self._held or [], None
            for late in held:
                super()._emit("frame", late)

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        frame = params["hex"] if method == "frame" else ""
        if frame.startswith(f"{_ABTS:02x}") and self._held is None:
            self._held = []
        if self._held is not None and frame.startswith(f"{_MESSAGE_DATA:02x}"):
            self._held.append(params)
        else:
            super()._emit(method, params)


class DeafToRscn(OddDut):
    """It accepts an RSCN that it never asked for, and does nothing about it (7.7.5, E122)."""

    def notify(self, method: str, params: dict[str, Any]) -> None:
        data = bytes.fromhex(params.get("hex", "")) if method == "frame" else b""
        if data[:1] == bytes([_ELS_REQUEST]) and data[24:25] == bytes([_RSCN]):
            accept = bytearray(bytes([0x23]) + data[5:8] + b"\0" + data[1:4] + bytes.fromhex("01990000") + bytes(4))
            accept += data[16:18] + bytes.fromhex("ffff 00000000 02000000")
            super()._emit("frame", {"hex": accept.hex(), "crc": "ok"})
            return
        super().notify(method, params)


class TakesWholeResponse(OddDut):
    """A FCVI_DISCONNECT_RESP that is a whole Sequence is taken whatever its SEQ_CNT (E124)."""

    def notify(self, method: str, params: dict[str, Any]) -> None:
        if method == "frame" and not str(params.get("sof", "i")).startswith("n"):
            view = codec.decode(bytes.fromhex(params["hex"]))
            if view.iu == "DISCONNECT_RESP":
                buf = bytearray(view.data)
                codec.put("FC", "SEQ_CNT", buf, 0)
                params = {**params, "hex": buf.hex()}
        super().notify(method, params)


class LaggingState(OddDut):
    """VipQueryVi shows a state half a second after the IU that goes with it: nobody says which comes first."""

    _LAG_US = 500_000

    def reset(self, config: dict[str, Any]) -> None:
        self._shown: dict[int, list[tuple[int, str]]] = {}  # by VI: since when it is in which state
        super().reset(config)

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        reply = super().request(method, params)
        if method == "VipQueryVi" and "State" in reply.result:
            seen, now = self._shown.setdefault(params["vi"], [(-self._LAG_US, reply.result["State"])]), self._server.now_us
            if seen[-1][1] != reply.result["State"]:
                seen.append((now, reply.result["State"]))
            shown = next(state for since, state in reversed(seen) if since + self._LAG_US <= now)
            reply.result = {**reply.result, "State": shown}
        return reply


class AbortsStrangers(OddDut):
    """With each FCVI_CONNECT_RESP2 or RESP3 it aborts an Exchange that never had anything to do with FC-VI."""

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        super()._emit(method, params)
        data = bytes.fromhex(params.get("hex", "")) if method == "frame" else b""
        if len(data) > 28 and codec.decode(data).iu in ("CONNECT_RESP2", "CONNECT_RESP3"):
            abts = bytes([0x81]) + data[1:8] + bytes.fromhex("00090000 00000000 7a") + data[3:4] + bytes.fromhex("ffff 00000000")
            super()._emit("frame", {"hex": abts.hex(), "crc": "ok"})


class IpStackBeside(OddDut):
    """An IP stack on the same port answers FARP-REQs that ask for other things than FC-VI answers (7.5 step 15, E125)."""

    def notify(self, method: str, params: dict[str, Any]) -> None:
        if method == "frame":
            data = bytearray.fromhex(params["hex"])
            own = data[84:100].hex() in (self.host,) if len(data) >= 100 else False
            if data[0] == _ELS_REQUEST and data[24] == _FARP_REQ and own:
                data[28], data[32] = 4, 2  # taken as asked in the only way that the port itself answers
                params = {**params, "hex": data.hex()}
        super().notify(method, params)


class RejectsLogins(OddDut):
    """Some PLOGIs are refused by LS_RJT, which FC-FS gives a port."""

    _REASON = 0x05

    def reset(self, config: dict[str, Any]) -> None:
        self._asked: set[bytes] = set()
        super().reset(config)

    def refuses(self, data: bytes) -> bool:
        """Logical busy at the first PLOGI of each port."""
        new = data[5:8] not in self._asked
        self._asked.add(data[5:8])
        return new

    def notify(self, method: str, params: dict[str, Any]) -> None:
        data = bytes.fromhex(params.get("hex", "")) if method == "frame" else b""
        if data[:1] == bytes([_ELS_REQUEST]) and data[24:25] == b"\x03" and self.refuses(data):
            head = bytes([0x23]) + data[5:8] + b"\0" + data[1:4] + bytes.fromhex("01990000") + bytes(4) + data[16:18]
            reject = head + bytes.fromhex("ffff00000000 01000000 00") + bytes([self._REASON, 0, 0])
            super()._emit("frame", {"hex": reject.hex(), "crc": "ok"})
            return
        super().notify(method, params)


class RejectsASecondLogin(RejectsLogins):
    """A PLOGI of a port that is logged in is refused (FC-FS: unable to perform command request)."""

    _REASON = 0x09

    def refuses(self, data: bytes) -> bool:
        """Between a login and its logout."""
        known = data[5:8] in self._asked
        self._asked.add(data[5:8])
        return known

    def _seen(self, params: dict[str, Any], port: slice) -> None:
        """A LOGO, whoever sends it, ends the login of this port."""
        data = bytes.fromhex(params.get("hex", ""))
        if data[:1] == bytes([_ELS_REQUEST]) and data[24:25] == b"\x05":
            self._asked.discard(data[port])

    def notify(self, method: str, params: dict[str, Any]) -> None:
        if method == "link":
            self._asked.clear()
        self._seen(params, slice(5, 8))
        super().notify(method, params)

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        self._seen(params, slice(1, 4))
        super()._emit(method, params)


class RejectsUnusable(RejectsLogins):
    """A PLOGI without S or C is rejected as such (E126)."""

    _REASON = 0x03

    def refuses(self, data: bytes) -> bool:
        """Word 1 of the Common Service Parameters: bits 31 and 17."""
        return data[32] & 0x80 == 0 or data[33] & 0x02 == 0


#: Each device and the cases that it has to pass.
REPORTS: list[tuple[type[OddDut], str, tuple[str, ...]]] = [
    (CompletesWhenSent, "completes-when-sent", ("message", "far-side")),
    (DeafToRscn, "deaf-to-rscn", ("fabric", "address")),
    (TakesWholeResponse, "takes-a-whole-response", ("disconnect",)),
    (LaggingState, "state-behind-the-wire", ("setup", "disconnect", "message")),
    (AbortsStrangers, "aborts-strangers", ("setup", "disconnect")),
    (IpStackBeside, "an-ip-stack-beside-it", ("address",)),
    (RejectsLogins, "busy-at-first", ("link", "login")),
    (RejectsUnusable, "rejects-unusable-logins", ("login",)),
    (RejectsASecondLogin, "rejects-a-second-login", ("login",)),
]


def make(kind: type[OddDut], name: str) -> OddDut:
    """The device."""
    return kind(Odd(name, kind.__doc__ or ""))
