"""The streams of ``--dut vitcp:HOST:PORT``: the suite's own end of every TCP connection, on kernel sockets.

A case sees what it sees of any other device: notifications about streams (docs/dut-protocol-streams.md), with the time at which
the kernel gave the bytes out. What sockets cannot do is told at once: they accept before anybody is asked, and their buffers
take bytes that a window would hold back.
"""

from __future__ import annotations

import errno
import ipaddress
import selectors
import socket
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any, Optional

from fcvi.dut.planes import Plane, monotonic_us
from fcvi.engine.attachment import AttachError, DutError, HostError, Unavailable
from fcvi.engine.pixit import Ends, Pixit
from fcvi.engine.words import port_number, why
from .strangers import Strangers

_PIECE = 30_000
_AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: close with a RST
_MOST_BYTES = 64 << 20  # of one case; more is a flood
_MOST_STREAMS = 2_000
_ROUNDS = 8  # pieces of each connection that one look takes
_OFFERED = Path("/proc/sys/net/ipv4/tcp_timestamps")
_OPTIONS_BYTE, _TIMESTAMPS = 5, 1  # of struct tcp_info: tcpi_options, and TCPI_OPT_TIMESTAMPS in it
_METHODS = frozenset(f"stream.{word}" for word in ("open", "opened", "refused", "data", "window", "close"))

Heard = tuple[int, str, dict[str, Any]]


class _Connection:
    """A TCP connection, and what the kernel has not taken of it."""

    def __init__(self, name: str, sock: socket.socket, opening: bool, answered: bool) -> None:
        self.name, self.sock = name, sock
        self.opening, self.answered = opening, answered  # TCP is on its way; the tester has said that it takes the connection
        self.out: list[bytes] = []  # in the pieces in which they are sent
        self.ended = self.end = self.end_sent = False


class TcpStreams(Plane):
    """The stream plane over kernel sockets."""

    wire = "tcp"
    methods = _METHODS
    description = "a device on TCP"

    def __init__(self, spec: str) -> None:
        """spec: vitcp:HOST:PORT[,on=ADDR]. Raises AttachError."""
        self._spec = spec
        self._named: dict[str, _Connection] = {}
        self._heard: list[Heard] = []
        self._count = self._bytes = 0
        self._strangers = Strangers()
        self._selector = selectors.EpollSelector()
        self._listening: Optional[socket.socket] = None
        try:
            self.host, self.port, own = _parse(spec)
            self.own = own if own is not None else _towards(self.host, self.port)
            if self.own == self.host:
                raise ValueError(f"the device has the address {_words(self.own)} too, and the port is the same on both sides: "
                                 "give the suite another one with ,on=ADDR")  # fmt: skip
            self._listen()
        except (OSError, ValueError, OverflowError) as error:
            self._selector.close()
            raise AttachError(f"--dut {spec}: {why(error)}") from error

    def _listen(self) -> None:
        sock = _new_socket(self.own)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((_words(self.own), self.port))
            sock.listen(128)
        except OSError as error:
            sock.close()
            raise OSError(error.errno, f"{_words(self.own)} port {self.port}: {error.strerror}") from error
        self._listening = sock
        self._selector.register(sock, selectors.EVENT_READ, None)

    # ---- the plane ----

    def fileno(self) -> int:
        return self._selector.fileno()

    def settled(self, pixit: Pixit, told: bool) -> Pixit:
        return pixit.between(Ends(_mapped(self.host), _mapped(self.own), self.port))

    def prepare(self, config: dict[str, Any]) -> None:
        wanted = {"host": [_mapped(self.host)], "port": self.port}
        for name, value in wanted.items():
            if config[name] != value:
                raise Unavailable(f"the device has the {name} {value}; the case needs {config[name]}")
        if config["peer"]["host"] != [_mapped(self.own)]:
            raise Unavailable(f"the suite has the address {_words(self.own)} (,on=ADDR); the case needs others")
        self._strangers.forget()
        for connection in list(self._named.values()):
            self._forget(connection, at_once=True)
        while self._accept_one() is not None:
            pass
        for connection in list(self._named.values()):
            self._forget(connection, at_once=True)
        self._heard.clear()
        self._count = self._bytes = 0

    def streams(self, policy: str, unlimited: bool) -> None:
        if policy not in ("accept", "close"):
            raise Unavailable("the case leaves TCP unanswered or refuses it, and a kernel accepts before anybody is asked")
        if not unlimited:
            raise Unavailable("the case holds bytes back by a window, and a kernel's buffers take them")

    def strangers(self) -> list[dict[str, Any]]:
        return self._strangers.told()

    def tell(self, method: str, params: dict[str, Any]) -> None:
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

    def heard(self) -> list[Heard]:
        for key, events in self._selector.select(0):
            if key.data is None:
                self._accept()
            elif self._named.get(key.data.name) is key.data:
                self._serve(key.data, events)
        heard, self._heard = self._heard, []
        return heard

    def deadline_us(self) -> Optional[int]:
        return None

    def run(self) -> None:
        """Nothing is ever due."""

    def restart(self) -> None:
        for connection in list(self._named.values()):
            self._forget(connection, at_once=True)

    def close(self) -> None:
        self.restart()
        if self._listening is not None:
            self._listening.close()
        self._selector.close()

    # ---- connections ----

    def _say(self, method: str, connection: _Connection, **params: Any) -> None:
        self._heard.append((monotonic_us(), method, {"stream": connection.name, **params}))

    def _call(self, params: dict[str, Any]) -> None:
        host = ipaddress.IPv6Address(bytes.fromhex(params["to"]["host"]))
        sock = _new_socket(self.own)
        connection = self._named[params["stream"]] = _Connection(params["stream"], sock, True, True)
        try:
            sock.bind((_words(self.own), 0))
            code = sock.connect_ex((_words(host), params["to"]["port"]))
        except OSError as error:
            code = error.errno or errno.EIO
        if code in (errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL, errno.ENOBUFS):
            self._forget(connection)
            raise HostError(f"the suite's host has no room for another TCP connection: {errno.errorcode[code]}")
        self._selector.register(sock, selectors.EVENT_WRITE, connection)
        if code not in (0, errno.EINPROGRESS):
            self._lost(connection)

    def _accept(self) -> None:
        while (connection := self._accept_one()) is not None:
            try:
                ends = {"from": _endpoint(connection.sock.getpeername()), "to": _endpoint(connection.sock.getsockname())}
            except OSError:
                self._forget(connection)
                continue
            self._say("stream.open", connection, **ends, **_options(connection.sock))

    def _accept_one(self) -> Optional[_Connection]:
        """The next connection of the device; those of others are closed at once."""
        while True:
            if self._listening is None:
                return None
            try:
                sock, peer = self._listening.accept()
            except BlockingIOError:
                return None
            except ConnectionError:
                continue  # it was over before anybody looked
            except OSError as error:
                raise HostError(f"the suite's host cannot take a TCP connection: {why(error)}") from error
            caller = _address(str(peer[0]).partition("%")[0])
            if caller == self.host:
                break
            self._strangers.spoke(_words(caller))
            with suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
            sock.close()
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._count += 1
        if self._count > _MOST_STREAMS:
            sock.close()
            raise DutError(f"the device floods: over {_MOST_STREAMS} TCP connections in one case")
        connection = self._named[f"d{self._count}"] = _Connection(f"d{self._count}", sock, False, False)
        return connection

    def _flush(self, connection: _Connection) -> None:
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
            self._receive(connection)  # what the device said before its end
            if self._named.get(connection.name) is connection:
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

    def _serve(self, connection: _Connection, events: int) -> None:
        if connection.opening:
            if connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self._lost(connection)
                return
            connection.opening = False
            self._say("stream.opened", connection, **_options(connection.sock))
            self._wait(connection)
            return
        if events & selectors.EVENT_WRITE:
            self._flush(connection)
        if events & selectors.EVENT_READ and self._named.get(connection.name) is connection:
            self._receive(connection)

    def _receive(self, connection: _Connection) -> None:
        for _ in range(_ROUNDS):
            try:
                data = connection.sock.recv(_PIECE)
            except BlockingIOError:
                return
            except OSError:
                self._lost(connection)
                return
            if not data:
                break
            self._bytes += len(data)
            if self._bytes > _MOST_BYTES:
                raise DutError(f"the device floods: over {_MOST_BYTES >> 20} MiB in one case")
            self._say("stream.data", connection, hex=data.hex())
        else:
            return
        connection.ended = True
        self._say("stream.close", connection, how="fin")
        if connection.end_sent:
            self._forget(connection)
        else:
            self._wait(connection)

    def _lost(self, connection: _Connection) -> None:
        """The connection is gone: refused where it was being opened. Of one that has ended before nothing more is said."""
        opening, ended = connection.opening, connection.ended
        self._forget(connection)
        if opening:
            self._say("stream.refused", connection)
        elif not ended:
            self._say("stream.close", connection, how="reset")

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


def _address(text: str) -> ipaddress.IPv6Address:
    text = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    host = ipaddress.ip_address(text)
    return ipaddress.IPv6Address(f"::ffff:{host}") if isinstance(host, ipaddress.IPv4Address) else host  # V45


def _parse(spec: str) -> tuple[ipaddress.IPv6Address, int, Optional[ipaddress.IPv6Address]]:
    where, *options = spec.partition(":")[2].split(",")
    host, _, number = where.rpartition(":")
    if not host:
        raise ValueError("use vitcp:HOST:PORT[,on=ADDR] with IP addresses")
    own = None
    for option in options:
        name, _, value = option.partition("=")
        if name != "on" or not value or own is not None:
            raise ValueError(f"{option!r} is no option: use on=ADDR, the suite's own address")
        own = _address(value)
    port = port_number(number)
    if port == 0:
        raise ValueError("port 0 is no port that another host could call")
    return _address(host), port, own


def _towards(host: ipaddress.IPv6Address, port: int) -> ipaddress.IPv6Address:
    """The address from which this host would call."""
    with socket.socket(socket.AF_INET if host.ipv4_mapped else socket.AF_INET6, socket.SOCK_DGRAM) as probe:
        probe.connect((_words(host), port))
        return _address(str(probe.getsockname()[0]).partition("%")[0])


def _words(host: ipaddress.IPv6Address) -> str:
    return str(host.ipv4_mapped or host)


def _mapped(host: ipaddress.IPv6Address) -> str:
    return host.packed.hex()


def _new_socket(host: ipaddress.IPv6Address) -> socket.socket:
    sock = socket.socket(socket.AF_INET if host.ipv4_mapped else socket.AF_INET6, socket.SOCK_STREAM)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setblocking(False)
    return sock


def _options(sock: socket.socket) -> dict[str, bool]:
    """Whether both ends of a connection have the timestamp option (RFC 1323). Nothing where this host does not offer it."""
    try:
        offered = _OFFERED.read_text(encoding="ascii").strip() != "0"
        found = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _OPTIONS_BYTE + 1)[_OPTIONS_BYTE]
    except (OSError, IndexError):
        return {}
    return {"timestamps": bool(found & _TIMESTAMPS)} if offered else {}


def _endpoint(address: Any) -> dict[str, Any]:
    return {"host": _mapped(_address(str(address[0]).partition("%")[0])), "port": address[1]}


__all__ = ["TcpStreams"]
