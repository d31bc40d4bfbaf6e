"""TCP connections on kernel sockets, as the notifications of the DUT protocol tell of them (docs/dut-protocol-streams.md)."""

from __future__ import annotations

import errno
import ipaddress
import selectors
import socket
import struct
from contextlib import suppress
from typing import Any, Optional

from fcvi.engine.words import port_number

_PIECE = 30_000
_AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: close with a RST
_ROUNDS = 8  # pieces of each connection that one look takes


class Connection:
    """A TCP connection, and what the kernel has not taken of it."""

    def __init__(self, name: str, sock: socket.socket, opening: bool) -> None:
        self.name, self.sock = name, sock
        self.opening = self.answered = opening  # TCP is on its way; who was asked has said that it takes the connection
        self.out: list[bytes] = []  # in the pieces in which they are sent
        self.ended = self.end = self.end_sent = False


class KernelStreams:
    """What listens at an address, and every connection."""

    letter = ""  # before the number of a connection that was accepted
    resets_twice = False  # a reset behind a FIN is told too

    def __init__(self) -> None:
        self._selector = selectors.EpollSelector()
        self._named: dict[str, Connection] = {}
        self._listening: Optional[socket.socket] = None
        self._count = 0

    def listen(self, host: ipaddress.IPv6Address, port: int) -> None:
        """Take connections from now on. Raises OSError, which names the address."""
        sock = _new_socket(host)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((words(host), port))
            sock.listen(128)
        except OSError as error:
            sock.close()
            raise OSError(error.errno, f"{words(host)} port {port}: {error.strerror}") from error
        self._listening = sock
        self._selector.register(sock, selectors.EVENT_READ, None)

    def fileno(self) -> int:
        """Readable when ``look`` has something to do."""
        return self._selector.fileno()

    def end_all(self) -> None:
        """Every connection ends at once."""
        for connection in list(self._named.values()):
            self._forget(connection, at_once=True)

    def close(self) -> None:
        """Let go of the address."""
        self.end_all()
        if self._listening is not None:
            self._listening.close()
        self._selector.close()

    # ---- what each user does in its own way ----

    def _say(self, method: str, connection: Connection, **params: Any) -> None:
        raise NotImplementedError

    def _call(self, params: dict[str, Any]) -> None:
        """stream.open: see ``call``."""
        raise NotImplementedError

    def _take(self) -> Optional[socket.socket]:
        """The next connection that was accepted and is wanted."""
        raise NotImplementedError

    def _arrived(self, data: bytes) -> None:
        """So much has come."""

    def _options(self, _sock: socket.socket) -> dict[str, bool]:
        """What is told of a connection that is open."""
        return {}

    # ---- what the client of the sockets says ----

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """A notification about a stream."""
        if method == "stream.open":
            self._call(params)
            return
        connection = self._named.get(params["stream"])
        if connection is None:
            return  # it crossed the end of the connection
        if method == "stream.data":
            connection.out.append(bytes.fromhex(params["hex"]))
            self._flush(connection)
        elif method == "stream.opened":
            connection.answered = True
            self._wait(connection)
        elif method == "stream.refused" or params.get("how") == "reset":
            self._forget(connection, at_once=True)
        elif method == "stream.close":
            connection.end = True
            self._flush(connection)

    def call(self, name: str, own: ipaddress.IPv6Address, host: ipaddress.IPv6Address, port: int) -> None:
        """Open a connection."""
        sock = _new_socket(own)
        connection = self._named[name] = Connection(name, sock, True)
        try:
            sock.bind((words(own), 0))
            code = sock.connect_ex((words(host), port))
        except OSError as error:
            code = error.errno or errno.EIO
        self._selector.register(sock, selectors.EVENT_WRITE, connection)
        if code not in (0, errno.EINPROGRESS):
            self._unreachable(connection, code)

    def _unreachable(self, connection: Connection, _code: int) -> None:
        self._lost(connection)

    def _flush(self, connection: Connection) -> None:
        """What waits goes out, each piece by a call of its own, as much as the kernel takes; then the end, if it was told."""
        try:
            while connection.out and not connection.opening:
                sent = connection.sock.send(connection.out[0])
                connection.out[0] = connection.out[0][sent:]
                if not connection.out[0]:
                    del connection.out[0]
                self._say("stream.window", connection, bytes=sent)
        except BlockingIOError:
            pass
        except OSError:
            self._receive(connection)  # what the other side said before its end
            if self._named.get(connection.name) is connection:
                self._lost(connection)
            return
        if connection.end and not connection.out and not connection.end_sent:
            connection.end_sent = True
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_WR)
        self._go_on(connection)

    def _go_on(self, connection: Connection) -> None:
        if connection.end_sent and connection.ended:
            self._forget(connection)
        else:
            self._wait(connection)

    def _wait(self, connection: Connection) -> None:
        if self._named.get(connection.name) is not connection:
            return
        read = connection.answered and not connection.opening and not connection.ended
        write = connection.opening or bool(connection.out)
        interest = (selectors.EVENT_READ if read else 0) | (selectors.EVENT_WRITE if write else 0)
        known = connection.sock.fileno() in self._selector.get_map()
        if interest == 0:
            if known:
                self._selector.unregister(connection.sock)
        elif known:
            self._selector.modify(connection.sock, interest, connection)
        else:
            self._selector.register(connection.sock, interest, connection)

    def _lost(self, connection: Connection) -> None:
        """The connection is gone: refused where it was being opened."""
        opening, ended = connection.opening, connection.ended
        self._forget(connection)
        if opening:
            self._say("stream.refused", connection)
        elif self.resets_twice or not ended:
            self._say("stream.close", connection, how="reset")

    def _forget(self, connection: Connection, at_once: bool = False) -> None:
        if self._named.get(connection.name) is not connection:
            return
        del self._named[connection.name]
        with suppress(KeyError):
            self._selector.unregister(connection.sock)
        end(connection.sock, at_once)

    # ---- what arrives ----

    def look(self) -> None:
        """Take in what has arrived."""
        for key, events in self._selector.select(0):
            if key.data is None:
                self._accept()
            elif self._named.get(key.data.name) is key.data:
                self._serve(key.data, events)

    def _accept(self) -> None:
        while (connection := self._accept_one()) is not None:
            try:
                ends = {"from": _endpoint(connection.sock.getpeername()), "to": _endpoint(connection.sock.getsockname())}
            except OSError:
                self._forget(connection)
                continue
            self._say("stream.open", connection, **ends, **self._options(connection.sock))

    def _accept_one(self) -> Optional[Connection]:
        sock = self._take()
        if sock is None:
            return None
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._count += 1
        connection = Connection(f"{self.letter}{self._count}", sock, False)
        self._named[connection.name] = connection
        return connection

    def _serve(self, connection: Connection, events: int) -> None:
        if connection.opening:
            if connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self._lost(connection)
                return
            connection.opening = False
            self._say("stream.opened", connection, **self._options(connection.sock))
            self._wait(connection)
            return
        if events & selectors.EVENT_WRITE:
            self._flush(connection)
        if events & selectors.EVENT_READ:
            self._receive(connection)

    def _receive(self, connection: Connection) -> None:
        for _ in range(_ROUNDS):
            if self._named.get(connection.name) is not connection:
                return  # what was told of it ended it
            try:
                data = connection.sock.recv(_PIECE)
            except BlockingIOError:
                return
            except OSError:
                self._lost(connection)
                return
            if not data:
                connection.ended = True
                self._say("stream.close", connection, how="fin")
                self._go_on(connection)
                return
            self._arrived(data)
            self._say("stream.data", connection, hex=data.hex())


def end(sock: socket.socket, at_once: bool) -> None:
    """Close it; at_once: by RST."""
    if at_once:
        with suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    sock.close()


def address(text: str) -> ipaddress.IPv6Address:
    """An IP address as VI has it (V45). Raises ValueError."""
    text = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    host = ipaddress.ip_address(text.partition("%")[0])
    return ipaddress.IPv6Address(f"::ffff:{host}") if isinstance(host, ipaddress.IPv4Address) else host


def place(text: str, usage: str) -> tuple[ipaddress.IPv6Address, int]:
    """ADDR:PORT. Raises ValueError."""
    host, _, number = text.rpartition(":")
    if not host:
        raise ValueError(f"use {usage}")
    port = port_number(number)
    if port == 0:
        raise ValueError("port 0 is no port that another host could call")
    return address(host), port


def words(host: ipaddress.IPv6Address) -> str:
    """An address as sockets take it, and people read it."""
    return str(host.ipv4_mapped or host)


def _new_socket(host: ipaddress.IPv6Address) -> socket.socket:
    sock = socket.socket(socket.AF_INET if host.ipv4_mapped else socket.AF_INET6, socket.SOCK_STREAM)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setblocking(False)
    return sock


def _endpoint(end_of: Any) -> dict[str, Any]:
    return {"host": address(str(end_of[0])).packed.hex(), "port": end_of[1]}


__all__ = ["Connection", "KernelStreams", "address", "end", "place", "words"]
