"""The streams of ``--dut vitcp:HOST:PORT``: the suite's own end of every TCP connection, on kernel sockets.

A case sees what it sees of any other device: notifications about streams (docs/dut-protocol-streams.md), with the time at which
the kernel gave the bytes out. What sockets cannot do is told at once: they accept before anybody is asked, and their buffers
take bytes that a window would hold back.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
from pathlib import Path
from typing import Any, Optional

from fcvi.dut.planes import Plane, monotonic_us
from fcvi.engine.attachment import AttachError, DutError, HostError, Unavailable
from fcvi.engine.pixit import Ends, Pixit
from fcvi.engine.words import why
from .kernel import Connection, KernelStreams, address, end, place, words
from .strangers import Strangers

_MOST_BYTES = 64 << 20  # of one case; more is a flood
_MOST_STREAMS = 2_000
_OFFERED = Path("/proc/sys/net/ipv4/tcp_timestamps")
_OPTIONS_BYTE, _TIMESTAMPS = 5, 1  # of struct tcp_info: tcpi_options, and TCPI_OPT_TIMESTAMPS in it
_METHODS = frozenset(f"stream.{word}" for word in ("open", "opened", "refused", "data", "window", "close"))

Heard = tuple[int, str, dict[str, Any]]


class TcpStreams(KernelStreams, Plane):
    """The stream plane over kernel sockets."""

    wire = "tcp"
    methods = _METHODS
    description = "a device on TCP"
    letter = "d"

    def __init__(self, spec: str) -> None:
        """spec: vitcp:HOST:PORT[,on=ADDR]. Raises AttachError."""
        super().__init__()
        self._heard: list[Heard] = []
        self._bytes = 0
        self._strangers = Strangers()
        try:
            self.host, self.port, own = _parse(spec)
            self.own = own if own is not None else _towards(self.host, self.port)
            if self.own == self.host:
                raise ValueError(f"the device has the address {words(self.own)} too, and the port is the same on both sides: "
                                 "give the suite another one with ,on=ADDR")  # fmt: skip
            self.listen(self.own, self.port)
        except (OSError, ValueError, OverflowError) as error:
            self._selector.close()
            raise AttachError(f"--dut {spec}: {why(error)}") from error

    # ---- the plane ----

    def settled(self, pixit: Pixit, told: bool) -> Pixit:
        return pixit.between(Ends(self.host.packed.hex(), self.own.packed.hex(), self.port))

    def prepare(self, config: dict[str, Any]) -> None:
        wanted = {"host": [self.host.packed.hex()], "port": self.port}
        for name, value in wanted.items():
            if config[name] != value:
                raise Unavailable(f"the device has the {name} {value}; the case needs {config[name]}")
        if config["peer"]["host"] != [self.own.packed.hex()]:
            raise Unavailable(f"the suite has the address {words(self.own)} (,on=ADDR); the case needs others")
        self._strangers.forget()
        self.end_all()
        while self._accept_one() is not None:
            pass
        self.end_all()
        self._heard.clear()
        self._count = self._bytes = 0

    def streams(self, policy: str, unlimited: bool) -> None:
        if policy not in ("accept", "close"):
            raise Unavailable("the case leaves TCP unanswered or refuses it, and a kernel accepts before anybody is asked")
        if not unlimited:
            raise Unavailable("the case holds bytes back by a window, and a kernel's buffers take them")

    def strangers(self) -> list[dict[str, Any]]:
        return self._strangers.told()

    def heard(self) -> list[Heard]:
        self.look()
        heard, self._heard = self._heard, []
        return heard

    def deadline_us(self) -> Optional[int]:
        return None

    def run(self) -> None:
        """Nothing is ever due."""

    def restart(self) -> None:
        self.end_all()

    # ---- connections ----

    def _say(self, method: str, connection: Connection, **params: Any) -> None:
        self._heard.append((monotonic_us(), method, {"stream": connection.name, **params}))

    def _call(self, params: dict[str, Any]) -> None:
        host = ipaddress.IPv6Address(bytes.fromhex(params["to"]["host"]))
        self.call(params["stream"], self.own, host, params["to"]["port"])

    def _unreachable(self, connection: Connection, code: int) -> None:
        if code in (errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL, errno.ENOBUFS):
            self._forget(connection)
            raise HostError(f"the suite's host has no room for another TCP connection: {errno.errorcode[code]}")
        self._lost(connection)

    def _take(self) -> Optional[socket.socket]:
        """The next connection of the device; those of others are closed at once."""
        while self._listening is not None:
            try:
                sock, peer = self._listening.accept()
            except BlockingIOError:
                return None
            except ConnectionError:
                continue  # it was over before anybody looked
            except OSError as error:
                raise HostError(f"the suite's host cannot take a TCP connection: {why(error)}") from error
            caller = address(str(peer[0]))
            if caller != self.host:
                self._strangers.spoke(words(caller))
                end(sock, at_once=True)
            elif self._count == _MOST_STREAMS:
                sock.close()
                raise DutError(f"the device floods: over {_MOST_STREAMS} TCP connections in one case")
            else:
                return sock
        return None

    def _arrived(self, data: bytes) -> None:
        self._bytes += len(data)
        if self._bytes > _MOST_BYTES:
            raise DutError(f"the device floods: over {_MOST_BYTES >> 20} MiB in one case")

    def _options(self, sock: socket.socket) -> dict[str, bool]:
        """Whether both ends of a connection have the timestamp option (RFC 1323). Nothing where this host does not offer it."""
        try:
            offered = _OFFERED.read_text(encoding="ascii").strip() != "0"
            found = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _OPTIONS_BYTE + 1)[_OPTIONS_BYTE]
        except (OSError, IndexError):
            return {}
        return {"timestamps": bool(found & _TIMESTAMPS)} if offered else {}


def _parse(spec: str) -> tuple[ipaddress.IPv6Address, int, Optional[ipaddress.IPv6Address]]:
    where, *options = spec.partition(":")[2].split(",")
    own = None
    for option in options:
        name, _, value = option.partition("=")
        if name != "on" or not value or own is not None:
            raise ValueError(f"{option!r} is no option: use on=ADDR, the suite's own address")
        own = address(value)
    return *place(where, "vitcp:HOST:PORT[,on=ADDR] with IP addresses"), own


def _towards(host: ipaddress.IPv6Address, port: int) -> ipaddress.IPv6Address:
    """The address from which this host would call."""
    with socket.socket(socket.AF_INET if host.ipv4_mapped else socket.AF_INET6, socket.SOCK_DGRAM) as probe:
        probe.connect((words(host), port))
        return address(str(probe.getsockname()[0]))


__all__ = ["TcpStreams"]
