"""A device in this process that speaks the DUT protocol: the attachment of ``exec:`` without a process and a pipe."""

from __future__ import annotations

from collections import deque
from typing import Callable, Deque, Optional, Protocol

from fcvi.dut.rpc import RpcDut, Stream


class Server(Protocol):
    """The device: it takes a line, and writes others meanwhile. Its clock is virtual: nothing happens between two lines."""

    def line(self, raw: bytes) -> None:
        """One line from the suite."""


#: Makes the device anew, which writes its lines by the function that it is given.
Make = Callable[[Callable[[str], None]], Server]


class _Lines(Stream):
    """Lines to and from a device in this process."""

    def __init__(self, make: Make) -> None:
        self._lines: Deque[bytes] = deque()
        self._server = make(lambda text: self._lines.append(text.encode()))

    def send(self, line: bytes, deadline: float) -> None:
        self._server.line(line)

    def receive(self, deadline: float) -> Optional[bytes]:
        return self._lines.popleft() if self._lines else None

    def close(self) -> None:
        """Nothing to end."""


class InsideDut(RpcDut):
    """What stands behind such a device for the engine. A second attachment begins with a new device."""

    def __init__(self, spec: str, make: Make) -> None:
        self._make = make
        super().__init__(spec, rpc_timeout_s=5, log=None)

    def _open(self) -> Stream:
        return _Lines(self._make)
