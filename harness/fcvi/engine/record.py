"""Keeps what passed between the suite and a DUT, so that a verdict can be computed again without the DUT.

One entry for each operation: what the suite asked, and what the device had said by the end of it. That order is all a
case can see, whatever the transport and the clock. An entry is a line of JSON as soon as the operation is over: evidence is
most of what a report costs, and its lines are long. That the suite let the device work for no time and nothing came of it is
more than half of all operations: how often it did is ``idle`` of the entry before.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Mapping

from _fcvi_text import MOST_IDLE, Recorder

from .json_text import encoder
from .pixit import Pixit
from .attachment import Dut, DutError, Unavailable

Entry = dict[str, Any]


text_of = encoder(",", ":")  # JSON without white space


def entries_of(lines: bytes) -> list[Entry]:
    """The entries of lines that were noted."""
    return [entry for line in lines.splitlines() for entry in unfolded(json.loads(line))]


def unfolded(entry: Entry) -> list[Entry]:
    """An entry of a line, and those that its ``idle`` stands for, which are one object. Raises ValueError when that is no count."""
    idle = entry.pop("idle", 0)
    if type(idle) is not int or not 0 <= idle <= MOST_IDLE:
        raise ValueError("its idle is no count of operations")
    if not idle:
        return [entry]
    after = {"op": "advance", "us": 0, **{name: entry[name] for name in ("now", "next") if name in entry}}
    return [entry, *[after] * idle]


class RecordingDut(Recorder, Dut):
    """Passes every operation on to a device and notes it.

    Recorder does so for the operations that make up nearly all of a run, and has what was noted: take() gives it. A run has tens
    of thousands of operations, and in Python to note them took half as long as to run the cases.
    """

    def __init__(self, inner: Dut) -> None:
        Dut.__init__(self)
        self._inner = inner
        self.inbox = inner.inbox
        self.around(inner, text_of, DutError, Unavailable)
        self._mirror()

    def _mirror(self) -> None:
        inner = self._inner
        self.spec, self.implementation, self.version = inner.spec, inner.implementation, inner.version
        self.clock, self.pics = inner.clock, inner.pics
        self.mirrored()

    def _do(self, asked: str, work: Callable[..., Any], *given: Any) -> Any:
        """Do the work; note it when it fails. asked: the beginning of its line."""
        self.asked(asked)
        try:
            return work(*given)
        except (DutError, Unavailable) as error:
            self.came_to_nothing(error)
            raise

    def notify(self, method: str, params: dict[str, Any]) -> None:
        asked = f'{{"op":"notify","method":{text_of(method)},"params":{text_of(params)}'
        self._do(asked, self._inner.notify, method, params)
        self.came()

    def reset(self, config: dict[str, Any]) -> None:
        self.asked_to_reset(config)
        try:
            self._inner.reset(config)
        except (DutError, Unavailable) as error:
            self.came_to_nothing(error)
            raise
        self.came()

    def settled(self, pixit: Pixit) -> Pixit:
        return self._inner.settled(pixit)

    def joined(self, port: Mapping[str, Any]) -> bool:
        """A plain yes is not noted: most links have nothing to announce."""
        joined: bool = self._do(f'{{"op":"joined","params":{text_of(dict(port))}', self._inner.joined, port)
        if not joined:
            self.came()
        return joined

    def streams(self, policy: str, unlimited: bool) -> None:
        """Only a refusal is noted: most attachments can do all of it."""
        self._do(f'{{"op":"streams","params":{text_of([policy, unlimited])}', self._inner.streams, policy, unlimited)

    def restart(self) -> None:
        self._inner.restart()
        self._mirror()

    def close(self) -> None:
        self._inner.close()
