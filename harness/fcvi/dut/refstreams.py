"""The reference port of VI/TCP as a DUT: its streams as the notifications of the DUT protocol (docs/dut-protocol-streams.md)."""

from __future__ import annotations

from typing import Any, Callable, Optional

from _fcvi import ffi, lib

from fcvi import __version__
from fcvi.engine.params import Params, ProtocolError
from fcvi.vitcp.codec import T0
from .refport import LIMITS, RefPort
from .refserver import PICS as PICS_OF_FC, RefServer

_PIECE = 30_000  # most bytes of one stream.data
_FIRST_PORT = 49_152  # of the ephemeral ones, which the port calls from
_UNLIMITED = -1

#: What this port is and does, for ``hello``.
PICS: dict[str, Any] = {
    **{name: PICS_OF_FC[name] for name in (
        "client", "server", "peer_to_peer", "unreliable_delivery", "reliable_delivery", "reliable_reception", "send",
        "rdma_write", "rdma_read", "immediate_data", "max_transfer_size", "max_vis",
    )},
    "tcp": True,
    "ipv6": True,
    "flow_control": True,
}  # fmt: skip

Emit = Callable[[str, dict[str, Any]], None]


class StreamPort(RefPort):
    """A port of VI/TCP in a block of memory."""

    _limits: Any = ffi.new("struct fcvi_port_limits *", {**LIMITS, "streams": 128, "stream_reads": 8})
    _size = int(lib.fcvi_port_size(_limits))
    _spare: list[Any] = []

    @staticmethod
    def _config(config: dict[str, Any]) -> Any:
        c = ffi.new("struct fcvi_port_config *")
        c.vitcp.profile = config["profile"].struct[0]
        c.wire = lib.FCVI_WIRE_VITCP
        c.self.hosts = len(config["host"])
        for index, host in enumerate(config["host"]):
            c.self.host[index] = list(bytes.fromhex(host))
        c.seed = config["seed"]
        c.vitcp.flow_control = True
        c.vitcp.incoming_timeout_us = config["incoming_timeout_us"]
        return c


class _Stream:
    """One TCP connection, or an attempt at one."""

    def __init__(self, name: str, number: int, ours: bool) -> None:
        self.name, self.number, self.ours = name, number, ours
        self.local: Any = None  # struct fcvi_endpoint *, once the port has called
        self.opened = not ours
        self.cancelled = False  # the port no longer wants what it has asked for
        self.ended = self.finished = False  # the client's FIN has come, the port's has gone


class Streams:
    """The streams of one port under the names that they have for the client."""

    def __init__(self, port: StreamPort, config: dict[str, Any], emit: Emit) -> None:
        self._port, self._emit = port, emit
        self._hosts, self._tcp = [bytes.fromhex(host) for host in config["host"]], int(config["port"])
        self._named: dict[str, _Stream] = {}
        self._numbered: dict[int, _Stream] = {}
        self._opened = 0
        self._out: Any = ffi.new("uint8_t[]", _PIECE)
        self._what: Any = ffi.new("struct fcvi_stream_out *")

    # ---- from the client ----

    def notification(self, now: int, method: str, params: Params) -> None:
        """What the client says of a stream. Raises ProtocolError."""
        name = params.text("stream", 32)
        if method == "stream.open":
            self._open(now, name, params)
            return
        stream = self._named.get(name)
        if stream is None:
            return  # it crossed the end of the stream
        if method == "stream.data":
            data = params.hexadecimal("hex", 1, _PIECE)
            lib.fcvi_stream_receive(self._port.port, now, stream.number, data, len(data))
        elif method == "stream.window":
            room = params.integer("bytes", 0, 2**32 - 1) if params.has("bytes") else _UNLIMITED
            lib.fcvi_stream_window(self._port.port, now, stream.number, room)
        elif method == "stream.close":
            self._closed(now, stream, params.choice("how", ("fin", "reset")))
        elif method in ("stream.opened", "stream.refused"):
            self._answered(now, stream, method == "stream.opened")

    def _open(self, now: int, name: str, params: Params) -> None:
        remote, local = _endpoint(params.table("from")), _endpoint(params.table("to"))
        number = ffi.new("uint32_t *")
        here = bytes(local.host) in self._hosts and local.port == self._tcp and name not in self._named
        if not here or not lib.fcvi_stream_incoming(self._port.port, now, remote, local, number):
            self._emit("stream.refused", {"stream": name})
            return
        self._named[name] = self._numbered[number[0]] = _Stream(name, number[0], False)
        self._emit("stream.opened", {"stream": name})
        self._emit("stream.window", {"stream": name, "bytes": None})

    def _answered(self, now: int, stream: _Stream, accepted: bool) -> None:
        if not stream.ours or stream.opened:
            return
        stream.opened = accepted
        if stream.cancelled:
            del self._named[stream.name]
            if accepted:
                self._emit("stream.close", {"stream": stream.name, "how": "reset"})
            return
        if not accepted:
            self._forget(stream)
        else:
            self._emit("stream.window", {"stream": stream.name, "bytes": None})
        lib.fcvi_stream_opened(self._port.port, now, stream.number, accepted, stream.local)

    def _closed(self, now: int, stream: _Stream, how: str) -> None:
        if stream.cancelled:
            del self._named[stream.name]
            return
        stream.ended = True
        if how == "reset" or stream.finished:
            self._forget(stream)
        lib.fcvi_stream_closed(
            self._port.port, now, stream.number, lib.FCVI_CLOSE_RESET if how == "reset" else lib.FCVI_CLOSE_FIN
        )

    def _forget(self, stream: _Stream) -> None:
        self._named.pop(stream.name, None)
        if self._numbered.get(stream.number) is stream:
            del self._numbered[stream.number]

    # ---- from the port ----

    def next(self, now: int) -> Optional[Callable[[], None]]:
        """Take the next thing that the port does: what tells the client of it; None when there is nothing."""
        length = lib.fcvi_stream_transmit(self._port.port, now, self._out, _PIECE, self._what)
        kind = self._what.kind
        if kind == lib.FCVI_STREAM_NONE:
            return None
        if kind == lib.FCVI_STREAM_OPEN:
            return self._call()
        stream = self._numbered[self._what.stream]
        if kind == lib.FCVI_STREAM_DATA:
            params = {"stream": stream.name, "hex": bytes(ffi.buffer(self._out, length)).hex()}
            return lambda: self._emit("stream.data", params)
        return self._end(stream, kind == lib.FCVI_STREAM_RESET)

    def _call(self) -> Callable[[], None]:
        self._opened += 1
        stream = _Stream(f"d{self._opened}", self._what.stream, True)
        stream.local = ffi.new("struct fcvi_endpoint *", self._what.local)
        stream.local.port = _FIRST_PORT + self._opened % (65_536 - _FIRST_PORT)
        self._named[stream.name] = self._numbered[stream.number] = stream
        params = {
            "stream": stream.name,
            "from": {"host": bytes(stream.local.host).hex(), "port": stream.local.port},
            "to": {"host": bytes(self._what.remote.host).hex(), "port": self._tcp},
        }
        return lambda: self._emit("stream.open", params)

    def _end(self, stream: _Stream, reset: bool) -> Callable[[], None]:
        if not stream.opened:  # nobody has answered: what the answer finds is that it came too late
            stream.cancelled = True
            del self._numbered[stream.number]
            return lambda: None
        again, stream.finished = stream.finished, True
        if reset or stream.ended:
            self._forget(stream)
        params = {"stream": stream.name, "how": "reset" if reset else "fin"}
        return (lambda: None) if again else (lambda: self._emit("stream.close", params))  # a side closes once


class StreamServer(RefServer):
    """Serves one reference port of VI/TCP."""

    _shortest, _longest = 0, 16  # bytes of a Discriminator (V46)

    _streams: Optional[Streams] = None
    profile = T0  #: of every port from now on

    def _hello(self, params: Params) -> dict[str, Any]:
        params.integer("protocol", 2, 2)
        return {
            "implementation": "fcvi reference port", "version": __version__, "clock": self._clock, "pics": PICS, "protocol": 2,
            "wires": ["tcp"],
        }  # fmt: skip

    def _make(self, params: Params) -> RefPort:
        config = {**params.stream_configuration(), "profile": self.profile}
        port = StreamPort(config, self._port)
        self._streams = Streams(port, config, self._emit)
        return port

    def notification(self, method: str, raw: object) -> None:
        if self._streams is None or self._port is None or not method.startswith("stream."):
            return
        try:
            self._quiet = False
            self._streams.notification(self.now_us, method, Params(raw))
        except ProtocolError as error:
            self._emit("log", {"text": f"{method} ignored: {error.message}"})
        self._flush()

    def _flush(self) -> None:
        """Hand out events and what the streams do until the port is quiet: each event before what followed from it."""
        port, streams = self._port, self._streams
        if port is None or streams is None:
            return
        while True:
            while port.another_event():
                self._event(port.event)
            tell = streams.next(self.now_us)
            while port.another_event():
                self._event(port.event)
            if tell is None:
                self._quiet, self._due = True, port.deadline()
                return
            tell()


def _endpoint(table: Params) -> Any:
    return ffi.new(
        "struct fcvi_endpoint *", {"host": table.hexadecimal("host", 16, 16), "port": table.integer("port", 0, 65535)}
    )


__all__ = ["PICS", "StreamPort", "StreamServer", "Streams"]
