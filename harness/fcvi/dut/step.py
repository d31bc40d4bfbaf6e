"""One event at a time: shows what passes between the suite and a device, and waits for the user before it goes on."""

from __future__ import annotations

import itertools
import sys
from typing import Any, Optional

from fcvi.engine.attachment import AttachError, Dut, Notification, Reply, WrappedDut
from fcvi.engine.json_text import compact
from fcvi.engine.words import printable
from fcvi.fc import codec, notation

_HELP = "Return: the next event; c: go on to the end; q: stop"
_LONGEST = 160


def stepping(dut: Dut) -> Dut:
    """The device, one event at a time. Raises AttachError when time does not wait for the user."""
    if dut.clock != "virtual":
        dut.close()
        raise AttachError("--step: the clock of this device is real: its timers would run on while you look")
    return SteppingDut(dut)


class SteppingDut(WrappedDut):
    """Shows every operation on a device. Where time only passes and nothing comes of it, nothing is shown."""

    def __init__(self, inner: Dut) -> None:
        super().__init__(inner)
        self._asks = True
        self._states: dict[Any, str] = {}
        print(_HELP, file=sys.stderr)

    def _after(self, asked: str, known: int, event: bool = True) -> None:
        """Show what was asked, and what came."""
        self._take_times()
        came = list(itertools.islice(self.inbox, known, None))
        if not came and not event:
            return
        print(f"{self.now_us:>12} us  {printable(asked)[:_LONGEST]}", file=sys.stderr)
        for note in came:
            print(f"{'':15}  <- {printable(self._words(note))[:_LONGEST]}", file=sys.stderr)
        due = "no timer runs" if self.next_us is None else f"the next timer fires in {self.next_us} us"
        states = ", ".join(f"VI {vi} {state}" for vi, state in self._states.items())
        state = "; ".join(filter(None, [states, due if self.knows_next else ""]))
        if state:
            print(f"{'':15}  {state}", file=sys.stderr)
        if self._asks:
            self._ask()

    def _words(self, note: Notification) -> str:
        if note.method == "frame":
            return _summary(note.frame if note.frame is not None else note.params)
        if note.method == "state":
            self._states[note.params.get("vi")] = str(note.params.get("state"))
        return f"{note.method} {compact(note.params)}"

    def _ask(self) -> None:
        print("> ", end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline()
        if answer.strip() == "q":
            raise KeyboardInterrupt
        self._asks = answer.strip() != "c" and answer != ""

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        known = len(self.inbox)
        reply = self._inner.request(method, params)
        self._after(f"-> {method} {compact(params)}" + (f" = {_outcome(reply)}" if reply.done else " (under way)"), known)
        return reply

    def notify(self, method: str, params: dict[str, Any]) -> None:
        known = len(self.inbox)
        self._inner.notify(method, params)
        self._after(f"-> {_summary(params) if method == 'frame' else f'{method} {compact(params)}'}", known)

    def send_frame(self, frame: Any) -> None:
        known = len(self.inbox)
        self._inner.send_frame(frame)
        self._after(f"-> {_summary(frame)}", known)

    def advance(self, us: int) -> None:
        known, before = len(self.inbox), self._inner.now_us
        self._inner.advance(us)
        self._after(f"time passes: {self._inner.now_us - before} us", known, event=False)

    def reset(self, config: dict[str, Any]) -> None:
        self._states.clear()
        self._inner.reset(config)
        self._after("-> reset", 0)


def _outcome(reply: Reply) -> str:
    return reply.error[1] if reply.error is not None else compact(reply.result)


def _summary(frame: Any) -> str:
    """A frame in a line, whichever form it has."""
    raw: Optional[Any] = frame
    if isinstance(frame, dict):
        try:
            raw = notation.from_params(frame)
        except ValueError:
            return f"frame {compact(frame)}"
    assert raw is not None
    return codec.decode(raw.data, raw.sof, raw.eof).summary()
