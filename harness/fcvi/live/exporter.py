"""Samples for Prometheus over HTTP: what a confined reader hands over now and then is there at /metrics."""

from __future__ import annotations

import socket
import struct
import threading
from argparse import ArgumentTypeError
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable, Optional

from fcvi.engine.words import number

if TYPE_CHECKING:
    from http.server import ThreadingHTTPServer

_LENGTH = struct.Struct(">I")
_MOST = 1 << 26  # bytes of one answer
_AT_ONCE, _MOMENT_S = 16, 0.05  # that are answered, and how long is waited for one of them to go
_HERE = "127.0.0.1"
_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def packed(samples: bytes) -> bytes:
    """As the reader hands them over."""
    return _LENGTH.pack(len(samples)) + samples


def address(text: str) -> tuple[str, int]:
    """[ADDRESS:]PORT. Raises ArgumentTypeError."""
    host, _, port = text.rpartition(":")
    found = number(port, 0, 65535)
    if found is None:
        raise ArgumentTypeError(f"{text[:60]!r} is not [ADDRESS:]PORT")
    return host.strip("[]") or _HERE, found


class Exporter:
    """The server. It listens at once, and answers from the first samples on."""

    def __init__(self, where: tuple[str, int], finding: Callable[[], None]) -> None:
        """finding: called where what is handed over has no byte. Raises OSError."""
        self._finding = finding
        family = socket.AF_INET6 if ":" in where[0] else socket.AF_INET
        self.socket = socket.create_server(where, family=family)
        self._arrived, self._samples = bytearray(), b""
        self._server: Optional[ThreadingHTTPServer] = None

    def url(self) -> str:
        """Where the samples are."""
        host, port = self.socket.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/metrics"

    def taken(self, data: bytes) -> None:
        """A piece of what the reader hands over. Raises OSError for what it cannot have meant."""
        self._arrived += data
        while len(self._arrived) >= _LENGTH.size:
            length = _LENGTH.unpack_from(self._arrived)[0]
            if length > _MOST:
                raise OSError(0, "the reader hands over what are no samples")
            if len(self._arrived) < _LENGTH.size + length:
                return
            samples = bytes(self._arrived[_LENGTH.size : _LENGTH.size + length])
            del self._arrived[: _LENGTH.size + length]
            if not samples:
                self._finding()
                continue
            self._samples = samples
            if self._server is None:
                self._serve()

    def _serve(self) -> None:
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer  # loading it takes as long as 100,000 frames

        exporter = self

        class Handler(BaseHTTPRequestHandler):
            """Answers GET /metrics."""

            timeout = 10

            def do_GET(self) -> None:  # pylint: disable=invalid-name
                """The latest samples."""
                if self.path.split("?")[0] != "/metrics":
                    self.send_error(404)
                    return
                body = exporter._samples
                self.send_response(200)
                self.send_header("Content-Type", _TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # pylint: disable=redefined-builtin
                """Scrapes are no news."""

        class Server(ThreadingHTTPServer):
            """So many are answered at once: where one more comes, who came first makes room."""

            daemon_threads = True
            request_queue_size = 128

            def process_request(self, request: Any, client_address: Any) -> None:
                """A thread for it, once there is a place."""
                while len(asking) >= _AT_ONCE:
                    with suppress(OSError, IndexError):
                        asking[0].shutdown(socket.SHUT_RDWR)
                    if free.acquire(timeout=_MOMENT_S):
                        free.release()
                free.acquire()
                asking.append(request)
                super().process_request(request, client_address)

            def process_request_thread(self, request: Any, client_address: Any) -> None:
                """The place is free again at its end."""
                try:
                    super().process_request_thread(request, client_address)
                finally:
                    asking.remove(request)
                    free.release()

            def handle_error(self, request: Any, client_address: Any) -> None:
                """Who goes away while he is answered is no news."""

        asking: list[socket.socket] = []
        free = threading.BoundedSemaphore(_AT_ONCE)
        server = Server(("", 0), Handler, bind_and_activate=False)
        server.socket.close()
        server.socket, server.server_address = self.socket, self.socket.getsockname()
        self._server = server
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.shutdown()
        self.socket.close()
