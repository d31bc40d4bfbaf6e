"""Serves the reference port over the DUT protocol: on standard input and output, or to one client after another."""

from __future__ import annotations

import json
import os
import selectors
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Optional

from fcvi.engine import strict
from fcvi.engine.words import complain
from .door import Door, DoorError, token_of
from .refserver import RefServer

if TYPE_CHECKING:
    from fcvi.vitcp.codec import Profile

LONGEST_LINE = 64 * 1024


class ClientGone(Exception):
    """The client closed, or broke the protocol beyond repair."""


class Session:
    """One client. Reads lines, feeds the server, writes what it says, in order."""

    def __init__(self, source: int, sink: int, clock: str, edition: str = "2007") -> None:
        self._source, self._sink, self._real = source, sink, clock == "real"
        self._edition = edition
        self._ids: dict[int, Any] = {}
        self._token = 0
        self._server = self._serve(clock)
        self._received = bytearray()
        self._out = bytearray()
        self._since = time.monotonic()

    def _serve(self, clock: str) -> RefServer:
        return RefServer(self._emit, self._answer, clock, edition=self._edition)

    def run(self, entry: Optional[Door] = None, said: bytes = b"") -> None:
        """Serve until the client closes. entry: where it came in; others who come are sent away. said: what it has said there."""
        self._take(said)
        heard = time.monotonic()
        with selectors.PollSelector() as selector:  # epoll refuses a regular file, which standard input may be
            for source in (self._source, *self._others(), *([entry.fileno()] if entry is not None else ())):
                selector.register(source, selectors.EVENT_READ)
            while True:
                self._tick()
                self._write()
                ready = [key.fd for key, _ in selector.select(self._until(entry, heard))]
                if self._source in ready:  # it may have gone, and who comes next would be sent away for it
                    heard = time.monotonic()
                    self._read()
                elif entry is not None and entry.fileno() in ready:
                    entry.run(self._source)
                elif entry is not None and time.monotonic() - heard > entry.idle_s:
                    raise ClientGone("silent for too long")

    def _until(self, entry: Optional[Door], heard: float) -> Optional[float]:
        patience = self._patience()
        if entry is None:
            return patience
        left = max(0.0, heard + entry.idle_s - time.monotonic()) + 0.01
        return left if patience is None else min(left, patience)

    def _others(self) -> list[int]:
        """What else is to be waited for."""
        return []

    def _refusal(self, params: Any) -> Optional[str]:
        """Why a ``reset`` cannot be done; None when it can."""
        return None

    def _patience(self) -> Optional[float]:
        due = self._server.next_us() if self._real else None
        return None if due is None else due / 1_000_000

    def _tick(self) -> None:
        if self._real:
            self._server.run_until(int((time.monotonic() - self._since) * 1_000_000))

    def _read(self) -> None:
        data = os.read(self._source, 1 << 16)
        if not data:
            raise ClientGone("end of input")
        self._take(data)

    def _take(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\n")) >= 0:
            line = bytes(self._received[:end])
            del self._received[: end + 1]
            self._line(line)
        if len(self._received) >= LONGEST_LINE:
            raise ClientGone(f"a line of over {LONGEST_LINE} bytes")

    def _line(self, line: bytes) -> None:
        try:
            message = strict.loads(line.decode("utf-8"))
        except ValueError:  # of bytes, of JSON, of endless numbers
            self._put({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "not a JSON object"}})
            return
        ident = message.get("id") if isinstance(message, dict) else None
        known = ident is None or isinstance(ident, str) or type(ident) is int  # as the agents take it
        if not known or not isinstance(message, dict) or not isinstance(message.get("method"), str):
            ident = ident if known else None
            self._put({"jsonrpc": "2.0", "id": ident, "error": {"code": -32600, "message": "not a request"}})
            return
        self._tick()
        if "id" not in message:
            self._server.notification(message["method"], message.get("params"))
            return
        self._token += 1
        self._ids[self._token] = message["id"]
        if message["method"] == "reset":
            refusal = self._refusal(message.get("params"))
            if refusal is not None:
                self._answer(self._token, None, (-32602, refusal))
                return
            self._since = time.monotonic()
        self._server.request(self._token, message["method"], message.get("params"))

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        self._put({"jsonrpc": "2.0", "method": method, "params": params})

    def _answer(self, token: int, result: Optional[dict[str, Any]], error: Optional[tuple[int, str]]) -> None:
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": self._ids.pop(token)}
        if error is None:
            reply["result"] = result
        else:
            reply["error"] = {"code": error[0], "message": error[1]}
        self._put(reply)

    def _put(self, message: dict[str, Any]) -> None:
        self._out += json.dumps(message, separators=(",", ":")).encode() + b"\n"
        if len(self._out) > 1 << 20:
            self._write()

    def _write(self) -> None:
        while self._out:
            sent = os.write(self._sink, self._out)
            del self._out[:sent]


class StreamSession(Session):
    """One client of a port of VI/TCP. profile: its numbers; None: T0's."""

    def __init__(self, source: int, sink: int, clock: str, profile: Optional[Profile] = None) -> None:
        self._profile = profile
        super().__init__(source, sink, clock)

    def _serve(self, clock: str) -> RefServer:
        from .refstreams import StreamServer

        server = StreamServer(self._emit, self._answer, clock)
        server.profile = self._profile or server.profile
        return server


@dataclass(frozen=True)
class How:
    """What is served. edition: of FC-VI, what holds where ``reset`` names none. profile: of VI/TCP; None: T0."""

    clock: str = "virtual"
    wire: str = "fc"
    edition: str = "2007"
    profile: Optional[Profile] = None


def _session(source: int, sink: int, how: How) -> Session:
    if how.wire == "tcp":
        return StreamSession(source, sink, how.clock, how.profile)
    return Session(source, sink, how.clock, how.edition)


def serve_stdio(how: How) -> int:
    """Serve standard input and output. Returns the exit status."""
    try:
        _session(sys.stdin.fileno(), sys.stdout.fileno(), how).run()
    except (ClientGone, BrokenPipeError, ConnectionResetError) as gone:
        return 0 if str(gone) == "end of input" or isinstance(gone, OSError) else _complain(str(gone))
    return 0


def _complain(words: str) -> int:
    complain(words, "fcvi endpoint")
    return 3


def _stop(signum: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def end_by_signals() -> None:
    """Being told to end is from now on like being interrupted, so that what was made is removed on every way out."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)


def door(address: str, option: str, token: Optional[Path], idle_s: float) -> Optional[Door]:
    """Where clients come in; None, which has been told, when nobody could."""
    try:
        return Door(address, token_of(token) if token is not None else "", idle_s)
    except DoorError as error:
        complain(error if str(error).startswith("--token") else f"{option} {address}: {error}", "fcvi endpoint")
        return None


def serve_socket(entry: Door, how: How) -> int:
    """Serve one client after another until interrupted."""
    end_by_signals()
    with entry:
        try:
            print(f"listening on {entry.name()}", flush=True)
            while True:
                client, said = entry.client()
                with client, suppress(ClientGone, OSError):
                    _session(client.fileno(), client.fileno(), how).run(entry, said)
        except KeyboardInterrupt:
            return 0
