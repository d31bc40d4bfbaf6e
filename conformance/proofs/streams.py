"""A broken device of VI/TCP: PDUs that it does not send, sends otherwise, late, or though nobody asked."""

from __future__ import annotations

from typing import Any, Optional, Sequence

from fcvi.dut.ref import RefDut, StreamDut
from fcvi.engine.breaks import Break
from fcvi.vitcp import wire

from .calls import BrokenCalls

_ONE_PORT = 50_001  # of every connection that the device asks for
_HEADER = 24  # bytes of every PDU
_PIECE = 30_000  # most bytes of one notification
#: byte and bytes of each field of a PDU; a field of one bit has its mask as well.
FIELDS: dict[str, tuple[int, int, int]] = {
    "version": (0, 1, 0xFF), "type": (1, 1, 0xF8), "transmit-error": (1, 1, 4), "end": (1, 1, 2), "immediate-flag": (1, 1, 1),
    "length": (2, 2, 0xFFFF), "offset": (4, 4, 0xFFFFFFFF), "immediate": (8, 4, 0xFFFFFFFF), "number": (12, 4, 0xFFFFFFFF),
    "ack": (16, 4, 0xFFFFFFFF), "rx": (20, 2, 0xFFFF), "error": (22, 1, 0xFF), "code": (23, 1, 0xFF),
}  # fmt: skip
_RDMA = {"address": (24, 8, (1 << 64) - 1), "handle": (32, 4, 0xFFFFFFFF), "total": (36, 4, 0xFFFFFFFF)}
_CE = {
    "reliable": (24, 2, 1), "write": (24, 2, 2), "read": (24, 2, 4), "flow-control": (24, 2, 8), "peer": (24, 2, 16),
    "calling-length": (26, 2, 0xFFFF), "mtu": (28, 4, 0xFFFFFFFF), "calling": (32, 1, 0xFF),
    "window": (48, 2, 0xFFFF), "called-length": (50, 2, 0xFFFF), "called": (52, 1, 0xFF),
}  # fmt: skip


def fields_of(kind: int) -> dict[str, tuple[int, int, int]]:
    """The fields of a PDU of this type."""
    return {**FIELDS, **(_RDMA if kind in wire.RDMA else _CE if kind in wire.CE else {})}


def names_of(name: str) -> Sequence[str]:
    """The names of the fields of a PDU."""
    return tuple(fields_of(next((kind for kind, word in wire.NAMES.items() if word == name), 0)))


_KEPT_BACK = {"never-opens": ("stream.open", "stream.opened"), "stays-open": ("stream.close",)}


class BrokenStreams(BrokenCalls, StreamDut):
    """The reference port of VI/TCP with one thing broken."""

    def __init__(self) -> None:
        self._rest: dict[str, bytearray] = {}
        self._opened: list[str] = []
        self._live: list[str] = []
        self._last: dict[int, bytes] = {}
        self._number = 0  # of the last message
        self._ended: set[str] = set()  # streams that the fault has closed, of which the port knows nothing
        self._first: Optional[bytes] = None  # a PDU that waits for the next one
        self._through: dict[str, int] = {}  # bytes of a long PDU that are passed on as they come
        self._ends: list[tuple[str, str, int]] = []
        self.counts = {}
        self.later = []
        self.forget()
        StreamDut.__init__(self)

    def reset(self, config: dict[str, Any]) -> None:
        self._rest.clear()
        self._opened.clear()
        self._live.clear()
        self._last.clear()
        self._ended.clear()
        self._through.clear()
        self._first = None
        self._number = 0
        self._ends = [("from", config["host"][0], _ONE_PORT), ("to", config["peer"]["host"][0], config["port"])]
        super().reset(config)

    def heard_as(self, method: str, params: dict[str, Any]) -> str:
        if method == "stream.open":
            self._opened.append(params["stream"])
            self.count("stream tester")
        self._lives(method, str(params.get("stream")))
        broken = self.broken
        number = self.counts.get(f"in {method}", 0) + 1
        if method == "stream.data" and broken is not None and broken.concerns("reply", broken.kind, number):
            self._reply(broken, params["stream"])
        return method

    def _reply(self, broken: Break, stream: str) -> None:
        """Say something at once where something is heard, or end streams."""
        if broken.kind != "wire":
            self._says(broken.kind, stream)
        for name in [name for name in self._live if (name == stream) == (broken.what == "closes")] if broken.kind == "wire" else ():
            self._ends_it(name)

    def _ends_it(self, name: str) -> None:
        """Close a stream; the port does not know, and goes on."""
        self._out("stream.close", {"stream": name, "how": "fin"})
        self._ended.add(name)

    def _lives(self, method: str, name: str) -> None:
        """Take note of which streams are open."""
        if method == "stream.opened":
            self._live.append(name)
        elif method in ("stream.close", "stream.refused") and name in self._live:
            self._live.remove(name)

    def said(self) -> None:
        broken = self.broken
        assert broken is not None
        self._says(broken.kind, broken.what)

    def _says(self, words: str, stream: str) -> None:
        """Send a PDU of one of these kinds, on this stream if it lives, else on the last one."""
        names = [name for name in (stream, *reversed(self._live)) if name in self._live]
        kinds = [kind for kind, name in wire.NAMES.items() if name in words.split(", ")]
        if not names or not kinds:
            return
        kind = next((one for one in kinds if one in self._last), kinds[0])
        data = self._last.get(kind) or wire.Pdu(
            kind, flags=wire.END, rdma=(0, 0, 0) if kind in wire.RDMA else None, ce=wire.CeHeader() if kind in wire.CE else None
        ).pack()
        if kind in wire.MESSAGES:  # the one behind the last
            data = _numbered(data, self._number + 1)
        self._out("stream.data", {"stream": names[0], "hex": data.hex()})

    def does(self, what: str) -> None:
        if what == "closes" and self._live:
            self._ends_it(self._live[-1])
        elif what == "opens":
            ends = {end: {"host": host, "port": port} for end, host, port in self._ends}
            self._out("stream.open", {"stream": "d99", **ends})
        elif self._live:
            self._says(what, self._live[-1])

    def _out(self, method: str, params: dict[str, Any]) -> None:
        if params.get("stream") in self._ended:
            return
        self._lives(method, str(params.get("stream")))
        RefDut._emit(self, method, params)

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        if not method.startswith("stream."):
            super()._emit(method, params)
        elif method != "stream.data":
            self._of_stream(method, params)
        else:
            self._data(params["stream"], bytes.fromhex(params["hex"]))

    def _of_stream(self, method: str, params: dict[str, Any]) -> None:
        """A stream that is opened or closed."""
        broken, name = self.broken, str(params["stream"])
        if method == "stream.open":
            self._opened.append(name)
            self.count("stream dut")
        if broken is None or broken.verb != "stream" or broken.nth and self._opened[broken.nth[0] - 1 :][:1] != [name]:
            self._out(method, params)
        elif method == "stream.open" and broken.what in ("elsewhere", "one-port"):
            end, port = ("to", params["to"]["port"] ^ 1) if broken.what == "elsewhere" else ("from", _ONE_PORT)
            self._out(method, {**params, end: {**params[end], "port": port}})
        elif broken.what == "refuses" and method == "stream.opened":
            self._out("stream.refused", {"stream": name})
        elif method not in _KEPT_BACK.get(broken.what, ()):
            self._out(method, params)

    def _data(self, stream: str, data: bytes) -> None:
        """Take the PDUs apart and send each as it is to be. The tester gives room for more of a long one when it has the first."""
        passed = min(self._through.get(stream, 0), len(data))
        if passed:
            self._through[stream] -= passed
            self._send(stream, data[:passed])
        rest = self._rest.setdefault(stream, bytearray())
        rest += data[passed:]
        while len(rest) >= 4:
            kind, length = rest[1] >> 3, rest[2] << 8 | rest[3]
            if length > len(rest):
                self._begun(stream, wire.NAMES.get(kind, ""), length)
                return
            pdu = bytes(rest[:length])
            del rest[:length]
            self._pdu(stream, kind, pdu)

    def _begun(self, stream: str, name: str, length: int) -> None:
        """Pass on the beginning of a long PDU with which nothing is wrong."""
        rest, number = self._rest[stream], self.counts.get(f"pdu {name}", 0) + 1
        if len(rest) < _PIECE or self._first is not None or self.broken is not None and self.broken.concerns("out", name, number):
            return
        self.count(f"pdu {name}")
        self._through[stream] = length - len(rest)
        self._send(stream, bytes(rest))
        rest.clear()

    def _pdu(self, stream: str, kind: int, pdu: bytes) -> None:
        broken, name = self.broken, wire.NAMES.get(kind, "")
        self._last[kind] = pdu
        if kind in wire.MESSAGES:
            self._number = number_of(pdu)
        number = self.count(f"pdu {name}")
        if broken is not None and broken.concerns("out", name, number):
            if broken.what.startswith("drop"):
                return
            if broken.what == "late":
                self.later.append((self.now_us + _value(broken), lambda: self._send(stream, pdu)))
                return
            if broken.what == "swap":
                self._first = pdu
                return
            pdu = edited(broken, kind, pdu)
        first, self._first = self._first, None
        if first is not None:  # both change places, and have the numbers of their places
            self._send(stream, _numbered(pdu, number_of(first)))
            pdu = _numbered(first, number_of(pdu))
        self._send(stream, pdu)

    def _send(self, stream: str, pdu: bytes) -> None:
        for at in range(0, len(pdu), _PIECE):
            self._out("stream.data", {"stream": stream, "hex": pdu[at : at + _PIECE].hex()})


def number_of(pdu: bytes) -> int:
    """Its Message Number."""
    byte, size, _ = FIELDS["number"]
    return int.from_bytes(pdu[byte : byte + size], "big")


def _numbered(pdu: bytes, number: int) -> bytes:
    """The PDU with this Message Number."""
    byte, size, mask = FIELDS["number"]
    return pdu[:byte] + (number & mask).to_bytes(size, "big") + pdu[byte + size :]


def edited(broken: Break, kind: int, pdu: bytes) -> bytes:
    """The PDU with its difference."""
    buf = bytearray(pdu)
    if broken.what in ("payload-first", "payload-last"):
        begin = wire.least_length(kind)
        if len(buf) > begin:
            buf[begin if broken.what == "payload-first" else -1] ^= 1
    elif broken.what == "header":  # and nothing else
        buf[2:4] = _HEADER.to_bytes(2, "big")
        del buf[_HEADER:]
    elif broken.what == "again":
        buf += _numbered(pdu, number_of(pdu) + 1) if kind in wire.MESSAGES else pdu
    elif broken.what.startswith("@"):
        at = int(broken.what[1:].rstrip("^"))
        if at < len(buf):
            buf[at] ^= _value(broken)
    elif (place := _place(kind, broken.what.rstrip("=^"))) is not None and place[0] + place[1] <= len(buf):
        byte, size, mask = place
        old = int.from_bytes(buf[byte : byte + size], "big")
        value = _value(broken) * (mask & -mask) & mask
        new = old ^ value if broken.what.endswith("^") else old & ~mask | value
        buf[byte : byte + size] = new.to_bytes(size, "big")
    return bytes(buf)


def _value(broken: Break) -> int:
    return broken.value if isinstance(broken.value, int) else 1


def _place(kind: int, name: str) -> Optional[tuple[int, int, int]]:
    return fields_of(kind).get(name)


__all__ = ["BrokenStreams", "FIELDS", "edited", "fields_of", "names_of"]
