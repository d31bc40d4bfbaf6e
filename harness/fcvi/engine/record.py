"""Keeps what passed between the suite and a DUT, so that a verdict can be computed again without the DUT.

One entry for each operation: what the suite asked, and what the device had said by the end of it. That order is all a
case can see, whatever the transport and the clock. An entry is a line of JSON as soon as the operation is over: evidence is
most of what a report costs, and its lines are long. That the suite let the device work for no time and nothing came of it is
more than half of all operations: how often it did is ``idle`` of the entry before.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import Any, Callable, Mapping, Optional

from .attachment import Dut, DutError, Notification, Reply, Unavailable, Unit, WrappedDut
from .json_text import compact

Entry = dict[str, Any]
FAR = {"device": "far"}  # from this line on what passed between the suite and the device of --against
MOST_IDLE = 100  # that one line stands for: a trace may be a stranger's, so its reader has a bound


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


def _time(us: Optional[int]) -> str:
    """JSON of a time; each line has two of them, and the encoder takes longer to begin than to write one."""
    return str(us) if type(us) is int else compact(us)


def _said(note: Notification) -> list[Any]:
    params = note.params if note.frame is None else note.frame.params()
    return [note.method, params, note.earliest_us, note.time_us]


def _answer(reply: Reply) -> dict[str, Any]:
    return {"result": reply.result} if reply.error is None else {"error": reply.error}


class RecordingDut(WrappedDut):
    """Passes every operation on to a device and notes it. take() gives what was noted."""

    def __init__(self, inner: Dut) -> None:
        super().__init__(inner)
        self._lines: list[str] = []  # each without its last bracket
        self._idle = 0  # operations behind the last line of which nothing came
        self._requests = 0
        self._open: list[tuple[int, Reply]] = []  # requests without an answer, by their numbers
        self.far = RecordingDut(inner.far) if inner.far is not None else None

    # ---- lines ----

    def take(self) -> bytes:
        """What was noted since the last call: lines of JSON, each with its line break. Those of a second device come after a line
        of their own."""
        self._fold()
        taken = "".join([f"{line}}}\n" for line in self._lines]).encode()
        self._lines, self._open = [], []
        far = self.far.take() if isinstance(self.far, RecordingDut) else b""
        return taken + (compact(FAR).encode() + b"\n" + far if far else b"")

    def _fold(self) -> None:
        if self._idle:
            self._lines[-1] += f',"idle":{self._idle}'
            self._idle = 0

    def _came(self, asked: str, known: int, failed: Optional[Entry] = None) -> None:
        """The operation is over. asked: the beginning of its line. known: notifications that were there before it."""
        if self._idle:
            self._fold()
        self._take_times()
        line = f'{asked},"now":{_time(self.now_us)}'
        if self.knows_next:
            line += f',"next":{_time(self.next_us)}'
        came: Entry = {}
        if len(self.inbox) > known:
            came["notes"] = [_said(note) for note in islice(self.inbox, known, None)]
        if self._open:
            done = [one for one in self._open if one[1].done]
            if done:
                self._open = [one for one in self._open if not one[1].done]
                came["done"] = [[number, _answer(reply), reply.time_us] for number, reply in done]
        if failed:
            came.update(failed)
        self._lines.append(f"{line},{compact(came)[1:-1]}" if came else line)

    def _do(self, asked: str, known: int, work: Callable[..., Any], *given: Any) -> Any:
        """Do the work; note it when it fails. See _came."""
        try:
            return work(*given)
        except Unavailable as error:
            self._came(asked, known, {"unavailable": str(error)})
            raise
        except DutError as error:
            self._came(asked, known, {"error": str(error)})
            raise

    def _is_idle(self, known: int) -> bool:
        """Whether nothing happened since the last line."""
        inner = self._inner
        return (
            len(self.inbox) == known and inner.now_us == self.now_us and inner.next_us == self.next_us
            and inner.knows_next == self.knows_next and bool(self._lines) and self._idle < MOST_IDLE
            and not (self._open and any(reply.done for _, reply in self._open))
        )  # fmt: skip

    # ---- operations ----

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        self._requests += 1
        number, known = self._requests, len(self.inbox)
        asked = compact({"op": "request", "n": number, "method": method, "params": params})[:-1]
        reply: Reply = self._do(asked, known, self._inner.request, method, params)
        self._open.append((number, reply))
        self._came(asked, known)
        return reply

    def _notify(self, method: str, params: dict[str, Any], work: Callable[..., None], *given: Any) -> None:
        known = len(self.inbox)
        asked = compact({"op": "notify", "method": method, "params": params})[:-1]
        self._do(asked, known, work, *given)
        self._came(asked, known)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._notify(method, params, self._inner.notify, method, params)

    def send_frame(self, frame: Unit) -> None:
        self._notify("frame", frame.params(), self._inner.send_frame, frame)

    def advance(self, us: int) -> None:
        """See Dut.advance. Of one by no time of which nothing came only the count is noted."""
        known = len(self.inbox)
        asked = f'{{"op":"advance","us":{us}'
        self._do(asked, known, self._inner.advance, us)
        if us or not self._is_idle(known):
            self._came(asked, known)
        else:
            self._idle += 1

    def reset(self, config: dict[str, Any]) -> None:
        """See Dut.reset. Requests are counted anew, and none is under way."""
        asked = compact({"op": "reset", "params": config})[:-1]
        self._open, self._requests = [], 0
        self._do(asked, 0, self._inner.reset, config)
        self._came(asked, 0)

    def joined(self, port: Mapping[str, Any]) -> bool:
        """A plain yes is not noted: most links have nothing to announce."""
        known = len(self.inbox)
        asked = compact({"op": "joined", "params": dict(port)})[:-1]
        joined: bool = self._do(asked, known, self._inner.joined, port)
        if not joined:
            self._came(asked, known)
        return joined

    def streams(self, policy: str, unlimited: bool) -> None:
        """Only a refusal is noted: most attachments can do all of it."""
        asked = compact({"op": "streams", "params": [policy, unlimited]})[:-1]
        self._do(asked, len(self.inbox), self._inner.streams, policy, unlimited)

    def look_at(self, far: Dut) -> None:
        self._inner.look_at(far._inner if isinstance(far, RecordingDut) else far)
