"""``fcvi endpoint --on vitcp:ADDR:PORT``: the reference port of VI/TCP on kernel sockets, with its control plane on a socket.

To the port the kernel is what a client of the DUT protocol is: it is told of streams, and tells of them.
"""

from __future__ import annotations

import errno
import ipaddress
import selectors
import socket
import struct
from contextlib import suppress
from typing import Any, Optional

from fcvi.dut.door import Door
from fcvi.dut.endpoint import ClientGone, Session, end_by_signals
from fcvi.dut.refserver import RefServer
from fcvi.dut.refstreams import StreamServer
from fcvi.engine.attachment import AttachError
from fcvi.engine.params import Params, ProtocolError
from fcvi.engine.words import complain, port_number, why
from fcvi.vitcp.codec import Profile

_PIECE = 30_000
_AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: close with a RST


class _Connection:
    """A TCP connection, and what the kernel has not taken of it."""

    def __init__(self, name: str, sock: socket.socket, opening: bool) -> None:
        self.name, self.sock, self.opening = name, sock, opening
        self.out = bytearray()
        self.ended = self.end = self.end_sent = False

    def interest(self) -> int:
        """What to wait for."""
        read = 0 if self.ended or self.opening else selectors.EVENT_READ
        return read | (selectors.EVENT_WRITE if self.opening or self.out else 0)


class Sockets:
    """What listens at an address, and every connection."""

    def __init__(self, spec: str) -> None:
        """spec: vitcp:ADDR:PORT. Raises AttachError."""
        try:
            self.host, self.port = _parse(spec)
            self._listening = _new_socket()
            self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listening.bind((str(self.host), self.port))
            self._listening.listen(128)
        except (OSError, ValueError, OverflowError) as error:
            raise AttachError(f"--on {spec}: {why(error)}") from error
        self._selector = selectors.EpollSelector()
        self._selector.register(self._listening, selectors.EVENT_READ, None)
        self._named: dict[str, _Connection] = {}
        self._count = 0
        self._server: Optional[RefServer] = None

    def fileno(self) -> int:
        """Readable when ``run`` has something to do."""
        return self._selector.fileno()

    def attach(self, server: Optional[RefServer]) -> None:
        """The port that is served from now on; None: whoever connects is refused. Every connection ends."""
        for connection in list(self._named.values()):
            self._forget(connection, at_once=True)
        self._server = server

    def close(self) -> None:
        """Let go of the address."""
        self.attach(None)
        self._listening.close()
        self._selector.close()

    def _say(self, method: str, **params: Any) -> None:
        if self._server is not None:
            self._server.notification(method, params)

    # ---- what the port says ----

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """A notification about a stream."""
        connection = self._named.get(params["stream"])
        if method == "stream.open":
            self._call(params)
        elif connection is None:
            return
        elif method == "stream.data":
            connection.out += bytes.fromhex(params["hex"])
            self._flush(connection)
        elif method == "stream.refused" or params.get("how") == "reset":
            self._forget(connection, at_once=True)
        elif method == "stream.close":
            connection.end = True
            self._flush(connection)

    def _call(self, params: dict[str, Any]) -> None:
        sock = _new_socket()
        connection = self._named[params["stream"]] = _Connection(params["stream"], sock, True)
        try:
            sock.bind((_text(params["from"]["host"]), 0))
            code = sock.connect_ex((_text(params["to"]["host"]), self.port))
        except OSError as error:
            code = error.errno or errno.EIO
        self._selector.register(sock, selectors.EVENT_WRITE, connection)
        if code not in (0, errno.EINPROGRESS):
            self._lost(connection)

    def _flush(self, connection: _Connection) -> None:
        """What waits goes out, as much as the kernel takes; then the end, if the port has said so."""
        try:
            while connection.out and not connection.opening:
                sent = connection.sock.send(connection.out[:_PIECE])
                del connection.out[:sent]
                self._say("stream.window", stream=connection.name, bytes=sent)
        except BlockingIOError:
            pass
        except OSError:
            self._lost(connection)
            return
        if connection.end and not connection.out and not connection.end_sent:
            connection.end_sent = True
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_WR)
        if connection.end_sent and connection.ended:
            self._forget(connection)
        else:
            self._wait(connection)

    def _wait(self, connection: _Connection) -> None:
        if self._named.get(connection.name) is not connection:
            return
        known = connection.sock.fileno() in self._selector.get_map()
        if connection.interest() == 0:
            if known:
                self._selector.unregister(connection.sock)
        elif known:
            self._selector.modify(connection.sock, connection.interest(), connection)
        else:
            self._selector.register(connection.sock, connection.interest(), connection)

    def _forget(self, connection: _Connection, at_once: bool = False) -> None:
        if self._named.get(connection.name) is not connection:
            return
        del self._named[connection.name]
        with suppress(KeyError):
            self._selector.unregister(connection.sock)
        if at_once:
            with suppress(OSError):
                connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        connection.sock.close()

    def _lost(self, connection: _Connection) -> None:
        opening = connection.opening
        self._forget(connection)
        if opening:
            self._say("stream.refused", stream=connection.name)
        else:
            self._say("stream.close", stream=connection.name, how="reset")

    # ---- what arrives ----

    def run(self) -> None:
        """Take in what has arrived."""
        for key, events in self._selector.select(0):
            if key.data is None:
                self._accept()
            elif self._named.get(key.data.name) is not key.data:
                continue
            elif key.data.opening:
                self._connected(key.data)
            else:
                if events & selectors.EVENT_WRITE:
                    self._flush(key.data)
                if events & selectors.EVENT_READ:
                    self._receive(key.data)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listening.accept()
            except OSError:
                return
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._count += 1
            connection = _Connection(f"t{self._count}", sock, False)
            self._named[connection.name] = connection
            self._selector.register(sock, selectors.EVENT_READ, connection)
            try:
                ends = {"from": _endpoint(sock.getpeername()), "to": _endpoint(sock.getsockname())}
            except OSError:
                self._forget(connection)
                continue
            if self._server is None or not self._server.ready:
                self._forget(connection, at_once=True)
            else:
                self._say("stream.open", stream=connection.name, **ends)

    def _connected(self, connection: _Connection) -> None:
        if connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._lost(connection)
            return
        connection.opening = False
        self._wait(connection)
        self._say("stream.opened", stream=connection.name)

    def _receive(self, connection: _Connection) -> None:
        if self._named.get(connection.name) is not connection:
            return
        try:
            data = connection.sock.recv(_PIECE)
        except BlockingIOError:
            return
        except OSError:
            self._lost(connection)
            return
        if data:
            self._say("stream.data", stream=connection.name, hex=data.hex())
            return
        connection.ended = True
        self._wait(connection)
        self._say("stream.close", stream=connection.name, how="fin")
        if connection.end_sent:
            self._forget(connection)


def _parse(spec: str) -> tuple[ipaddress.IPv6Address, int]:
    address, _, number = spec.partition(":")[2].rpartition(":")
    if not address:
        raise ValueError("use vitcp:ADDR:PORT with an IP address")
    host = ipaddress.ip_address(address[1:-1] if address.startswith("[") and address.endswith("]") else address)
    if isinstance(host, ipaddress.IPv4Address):
        host = ipaddress.IPv6Address(f"::ffff:{host}")  # as VI has it (V45)
    port = port_number(number)
    if port == 0:
        raise ValueError("port 0 is no port that another host could call")
    return host, port


def _new_socket() -> socket.socket:
    sock = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setblocking(False)
    return sock


def _text(host: str) -> str:
    return str(ipaddress.IPv6Address(bytes.fromhex(host)))


def _endpoint(address: Any) -> dict[str, Any]:
    return {"host": ipaddress.IPv6Address(address[0].partition("%")[0]).packed.hex(), "port": address[1]}


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
        self._sockets.run()
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
    """Serve one client of the control plane after another until interrupted. Returns the exit status.

    profile: the numbers of the port; None: T0's.
    """
    try:
        end_by_signals()
        sockets = Sockets(spec)
    except AttachError as error:
        entry.close()
        complain(f"{why(error)}", "fcvi endpoint")
        return 2
    except KeyboardInterrupt:
        entry.close()
        return 0
    try:
        print(f"on {spec}, control at {entry.name()}", flush=True)
        while True:
            client, said = entry.client([sockets.fileno()], sockets.run)  # whoever connects to the port meanwhile is refused
            with client, suppress(ClientGone, OSError):
                SocketsSession(client.fileno(), sockets, profile).run(entry, said)
            sockets.attach(None)
    except KeyboardInterrupt:
        return 0
    finally:
        entry.close()
        sockets.close()
