"""``fcvi endpoint --on vitcp:ADDR:PORT``: the reference port of VI/TCP on kernel sockets, with its control plane on a socket.

To the port the kernel is what a client of the DUT protocol is: it is told of streams, and tells of them.
"""

from __future__ import annotations

import ipaddress
import socket
from contextlib import closing, suppress
from typing import Any, Optional

from fcvi.dut.door import Door
from fcvi.dut.endpoint import ClientGone, Session, end_by_signals
from fcvi.dut.refserver import RefServer
from fcvi.dut.refstreams import StreamServer
from fcvi.engine.attachment import AttachError
from fcvi.engine.params import Params, ProtocolError
from fcvi.engine.words import why
from fcvi.vitcp.codec import Profile
from .kernel import Connection, KernelStreams, end, place


class Sockets(KernelStreams):
    """The streams of the port that is served."""

    letter = "t"
    resets_twice = True

    def __init__(self, spec: str) -> None:
        """spec: vitcp:ADDR:PORT. Raises AttachError."""
        super().__init__()
        self._server: Optional[RefServer] = None
        try:
            self.host, self.port = place(spec.partition(":")[2], "vitcp:ADDR:PORT with an IP address")
            self.listen(self.host, self.port)
        except (OSError, ValueError, OverflowError) as error:
            self._selector.close()
            raise AttachError(f"--on {spec}: {why(error)}") from error

    def attach(self, server: Optional[RefServer]) -> None:
        """The port that is served from now on; None: whoever connects is refused. Every connection ends."""
        self.end_all()
        self._server = server

    def _say(self, method: str, connection: Connection, **params: Any) -> None:
        if self._server is not None:
            self._server.notification(method, {"stream": connection.name, **params})

    def _call(self, params: dict[str, Any]) -> None:
        own, host = (ipaddress.IPv6Address(bytes.fromhex(params[name]["host"])) for name in ("from", "to"))
        self.call(params["stream"], own, host, self.port)

    def _take(self) -> Optional[socket.socket]:
        while self._listening is not None:
            try:
                sock, _ = self._listening.accept()
            except OSError:
                return None
            if self._server is not None and self._server.ready:
                return sock
            end(sock, at_once=True)
        return None


class SocketsSession(Session):
    """One client of the control plane; streams go over the sockets."""

    def __init__(self, client: int, sockets: Sockets, profile: Optional[Profile] = None) -> None:
        self._sockets, self._profile = sockets, profile
        super().__init__(client, client, "real")
        sockets.attach(self._server)

    def _serve(self, clock: str) -> RefServer:
        server = StreamServer(self._emit, self._answer, clock)
        server.profile = self._profile or server.profile
        return server

    def _others(self) -> list[int]:
        return [self._sockets.fileno()]

    def _tick(self) -> None:
        self._sockets.look()
        super()._tick()

    def _refusal(self, params: Any) -> Optional[str]:
        try:
            config = Params(params).stream_configuration()
        except ProtocolError as error:
            return error.message
        for name, wanted in {"host": [self._sockets.host.packed.hex()], "port": self._sockets.port}.items():
            if config[name] != wanted:
                return f"{name} must be that of --on, {wanted}, not {config[name]}"
        self._sockets.attach(self._server)
        return None

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        if method.startswith("stream."):
            self._sockets.tell(method, params)
        else:
            super()._emit(method, params)


def serve(spec: str, entry: Door, profile: Optional[Profile] = None) -> int:
    """Serve one client of the control plane after another until interrupted. Returns the exit status. Raises AttachError.

    profile: the numbers of the port; None: T0's.
    """
    with closing(entry), suppress(KeyboardInterrupt):
        end_by_signals()
        with closing(Sockets(spec)) as sockets:
            print(f"on {spec}, control at {entry.name()}", flush=True)
            while True:
                client, said = entry.client([sockets.fileno()], sockets.look)  # whoever connects to the port meanwhile is refused
                with client, suppress(ClientGone, OSError):
                    SocketsSession(client.fileno(), sockets, profile).run(entry, said)
                sockets.attach(None)
    return 0
