"""Devices in this process that speak the DUT protocol, without a process and a pipe, and cases that are run against them."""

from __future__ import annotations

from collections import deque
from typing import Any, Callable, Deque, Iterable, Mapping, Optional, Protocol

from fcvi.dut.rpc import RpcDut, Stream
from fcvi.engine.attachment import Dut, DutError
from fcvi.engine.budget import Limits
from fcvi.engine.case import CaseInfo, Variant
from fcvi.engine.pics import complete
from fcvi.engine.pixit import Pixit
from fcvi.engine.results import Result, Verdict
from fcvi.engine.runner import not_applicable, run_variant


class Server(Protocol):
    """The device: it takes a line, and writes others meanwhile. Its clock is virtual: nothing happens between two lines."""

    def line(self, raw: bytes) -> None:
        """One line from the suite."""


#: Makes the device anew, which writes its lines by the function that it is given.
Make = Callable[[Callable[[str], None]], Server]
#: A device of ours may take what no stranger may: a case of verbs makes 8,000 calls.
LIMITS = Limits(case_mb=64)


class _Lines(Stream):
    """Lines to and from a device in this process."""

    def __init__(self, make: Make, ends: tuple[type[Exception], ...]) -> None:
        self._lines: Deque[bytes] = deque()
        self._server, self._ends = make(lambda text: self._lines.extend(text.encode().splitlines())), ends

    def send(self, line: bytes, deadline: float) -> None:
        try:
            self._server.line(line)
        except self._ends:
            raise DutError("the DUT closed the connection") from None

    def receive(self, deadline: float) -> Optional[bytes]:
        return self._lines.popleft() if self._lines else None

    def close(self) -> None:
        """Nothing to end."""


class InsideDut(RpcDut):
    """Such a device for the engine. Each attachment begins with a new one; ``ends`` are what it raises to end its process."""

    def __init__(self, spec: str, make: Make, *ends: type[Exception]) -> None:
        self._make, self._ends = make, ends
        super().__init__(spec, rpc_timeout_s=5, log=None, limits=LIMITS)

    def _open(self) -> Stream:
        return _Lines(self._make, self._ends)


def run_all(
    dut: Dut,
    chosen: Iterable[tuple[CaseInfo, Variant]],
    pixit: Pixit,
    levels: Mapping[str, str],
    seed: int = 1,
    until: Optional[Verdict] = None,
) -> list[Result]:
    """The results of these variants against a device, up to the first with the verdict ``until``.

    What its PICS rules out is left out. The device is closed then.
    """
    results = []
    pics: dict[str, Any] = complete(dut.pics, "hello")
    try:
        for case, variant in chosen:
            if not_applicable(case, variant, pics) is None:
                results.append(run_variant(dut, case, variant, pics, pixit, levels, seed))
                if results[-1].verdict is until:
                    break
                if results[-1].verdict is Verdict.ERROR:
                    dut.restart()
    finally:
        dut.close()
    return results
