"""The door of the DUT protocol: who may be a client of ``fcvi endpoint``. It is that of the agents, harness/lines/door.h."""

from __future__ import annotations

import selectors
import socket
from pathlib import Path
from typing import Callable, Optional, Sequence

from _fcvi import ffi, lib

IDLE_S = 3600.0  # a client that says nothing for so long is let go
_FIRST_MS = 10_000
_WHY, _NAME = 256, 256


class DoorError(Exception):
    """No client can come in there; one line of words."""


def token_of(path: Path) -> str:
    """The first line of a file, as a token. Raises DoorError."""
    if not path.is_file():
        raise DoorError(f"--token {path}: is no file that can be read")
    token = ffi.new("char[]", lib.DOOR_TOKEN + 1)
    if not lib.door_read_token(str(path).encode(), token):
        raise DoorError(f"--token {path}: its first line must have {lib.DOOR_LEAST_TOKEN} to {lib.DOOR_TOKEN} characters")
    return str(ffi.string(token), "utf-8", "surrogateescape")


class Door:
    """It listens at once. ``fileno`` is readable when ``run`` has something to do."""

    def __init__(self, address: str, token: str = "", idle_s: float = IDLE_S) -> None:
        """address: unix:PATH or tcp:HOST:PORT. Raises DoorError."""
        self.idle_s = idle_s
        why = ffi.new("char[]", _WHY)
        first_ms = min(_FIRST_MS, int(idle_s * 1000))
        words = [text.encode("utf-8", "surrogateescape") for text in (address, token)]
        self._door = lib.door_open(*words, first_ms, why, _WHY)
        if self._door == ffi.NULL:
            raise DoorError(str(ffi.string(why), "utf-8", "replace"))

    def __enter__(self) -> Door:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        """To wait for."""
        return int(lib.door_fd(self._door))

    def name(self) -> str:
        """Where it listens: a path, or HOST:PORT."""
        name = ffi.new("char[]", _NAME)
        lib.door_name(self._door, name, _NAME)
        return str(ffi.string(name), "utf-8", "surrogateescape")

    def run(self, inside: int) -> None:
        """Somebody is inside, whose connection this is: others are told, and sent away."""
        lib.door_run(self._door, inside)

    def client(
        self, others: Sequence[int] = (), tick: Callable[[], Optional[float]] = lambda: None
    ) -> tuple[socket.socket, bytes]:
        """The next client, and what it has said. Meanwhile tick is called whenever one of the others is readable, and when the
        seconds that it gives are over.
        """
        said, length = ffi.new("char[]", lib.DOOR_LONGEST), ffi.new("size_t *")
        with selectors.DefaultSelector() as selector:
            for one in (self.fileno(), *others):
                selector.register(one, selectors.EVENT_READ)
            while True:
                selector.select(tick())
                lib.door_run(self._door, -1)
                found = lib.door_client(self._door, said, length)
                if found >= 0:
                    return socket.socket(fileno=found), bytes(ffi.buffer(said, length[0]))

    def close(self) -> None:
        """Listen no more."""
        if self._door != ffi.NULL:
            lib.door_close(self._door)
            self._door = ffi.NULL
