"""Keeps what passed between the suite and a DUT, so that a verdict can be computed again without the DUT.

One entry for each operation: what the suite asked, and what the device had said by the end of it. That order is all a
case can see, whatever the transport and the clock. An entry is a line of JSON as soon as the operation is over: evidence is
most of what a report costs, and its lines are long. That the suite let the device work for no time and nothing came of it is
more than half of all operations: how often it did is ``idle`` of the entry before.
"""

from __future__ import annotations

import functools
import itertools
import json
import marshal
from typing import Any, Callable, Iterable, Mapping

from .json_text import encoder
from .pixit import Pixit
from .attachment import Dut, DutError, Notification, Reply, Unavailable

Entry = dict[str, Any]


text_of = encoder(",", ":")  # JSON without white space
_MOST_IDLE = 100  # operations that one entry stands for: a trace may be a stranger's


def entries_of(lines: Iterable[str]) -> list[Entry]:
    """The entries of lines that were noted."""
    return [entry for line in lines for entry in unfolded(json.loads(line))]


def unfolded(entry: Entry) -> list[Entry]:
    """An entry of a line, and those that its ``idle`` stands for, which are one object. Raises ValueError when that is no count."""
    idle = entry.pop("idle", 0)
    if type(idle) is not int or not 0 <= idle <= _MOST_IDLE:
        raise ValueError("its idle is no count of operations")
    if not idle:
        return [entry]
    after = {"op": "advance", "us": 0, **{name: entry[name] for name in ("now", "next") if name in entry}}
    return [entry, *[after] * idle]


class RecordingDut(Dut):
    """Passes every operation on to a device and notes it."""

    def __init__(self, inner: Dut) -> None:
        super().__init__()
        self._inner = inner
        self.inbox = inner.inbox
        self._lines: list[str] = []
        self._open: list[tuple[int, Reply]] = []
        self._number = 0
        self._known = 0
        self._idle = 0
        self._mirror()

    def _mirror(self) -> None:
        inner = self._inner
        self.spec, self.implementation, self.version = inner.spec, inner.implementation, inner.version
        self.clock, self.pics = inner.clock, inner.pics
        self.now_us, self.next_us, self.knows_next = inner.now_us, inner.next_us, inner.knows_next

    def take(self) -> list[str]:
        """What was noted since the last call of this method."""
        self._fold()
        taken, self._lines, self._open = self._lines, [], []
        return taken

    def _fold(self) -> None:
        """Say in the last entry how often nothing came of an advance by no time."""
        if self._idle:
            self._lines[-1] = f'{self._lines[-1][:-1]},"idle":{self._idle}}}'
            self._idle = 0

    def _end(self, asked: str, failure: str = "") -> None:
        """Note an operation. asked: the beginning of its line."""
        inner, inbox = self._inner, self.inbox
        if self._idle:
            self._fold()
        self.now_us, self.next_us, self.knows_next = inner.now_us, inner.next_us, inner.knows_next
        line = f'{asked},"now":{self.now_us}'
        if self.knows_next:
            line += ',"next":null' if self.next_us is None else f',"next":{self.next_us}'
        if len(inbox) > self._known:
            line += f',"notes":[{",".join([_note(n) for n in itertools.islice(inbox, self._known, None)])}]'
        if self._open:
            line += self._answers()
        self._lines.append(f"{line}{failure}}}")

    def _answers(self) -> str:
        """What was answered since the last entry."""
        if len(self._open) == 1:
            number, reply = self._open[0]
            if not reply.done:
                return ""
            self._open = []
            return f',"done":[{_answer(number, reply)}]'
        answers = [_answer(number, reply) for number, reply in self._open if reply.done]
        self._open = [(number, reply) for number, reply in self._open if not reply.done]
        return f',"done":[{",".join(answers)}]' if answers else ""

    def _failed(self, asked: str, error: Exception) -> None:
        kind = "unavailable" if isinstance(error, Unavailable) else "error"
        self._end(asked, f',"{kind}":{text_of(str(error))}')

    def _do(self, asked: str, work: Callable[..., Any], *given: Any) -> Any:
        """Do the work; note it when it fails."""
        self._known = len(self.inbox)
        try:
            return work(*given)
        except (DutError, Unavailable) as error:
            self._failed(asked, error)
            raise

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        self._number += 1
        asked = f'{{"op":"request","n":{self._number},"method":{_name(method)},"params":{_value(params)}'
        self._known = len(self.inbox)
        try:
            reply = self._inner.request(method, params)
        except (DutError, Unavailable) as error:
            self._failed(asked, error)
            raise
        self._open.append((self._number, reply))
        self._end(asked)
        return reply

    def notify(self, method: str, params: dict[str, Any]) -> None:
        asked = f'{{"op":"notify","method":{_name(method)},"params":{_value(params)}'
        self._do(asked, self._inner.notify, method, params)
        self._end(asked)

    def send_frame(self, frame: Any) -> None:
        asked = f'{{"op":"notify","method":"frame","params":{frame.text()}'
        self._known = len(self.inbox)
        try:
            self._inner.send_frame(frame)
        except (DutError, Unavailable) as error:
            self._failed(asked, error)
            raise
        self._end(asked)

    def advance(self, us: int) -> None:
        self._known = len(self.inbox)
        try:
            self._inner.advance(us)
        except (DutError, Unavailable) as error:
            self._failed(f'{{"op":"advance","us":{us}', error)
            raise
        if us == 0 and self._is_as_before():
            self._idle += 1
        else:
            self._end(f'{{"op":"advance","us":{us}')

    def _is_as_before(self) -> bool:
        """Whether nothing happened since the last entry."""
        inner = self._inner
        return (
            len(self.inbox) == self._known and inner.now_us == self.now_us and inner.next_us == self.next_us
            and inner.knows_next is self.knows_next and self._lines != [] and self._idle < _MOST_IDLE
            and not (self._open and any([reply.done for _, reply in self._open]))
        )  # fmt: skip

    def reset(self, config: dict[str, Any]) -> None:
        self._open = []
        self._number = 0
        asked = f'{{"op":"reset","params":{text_of(config)}'
        self._known = 0
        try:
            self._inner.reset(config)
        except (DutError, Unavailable) as error:
            self._failed(asked, error)
            raise
        self._end(asked)

    def settled(self, pixit: Pixit) -> Pixit:
        return self._inner.settled(pixit)

    def joined(self, port: Mapping[str, Any]) -> bool:
        """A plain yes is not noted: most links have nothing to announce."""
        asked = f'{{"op":"joined","params":{text_of(dict(port))}'
        joined: bool = self._do(asked, self._inner.joined, port)
        if not joined:
            self._end(asked)
        return joined

    def streams(self, policy: str, unlimited: bool) -> None:
        """Only a refusal is noted: most attachments can do all of it."""
        self._do(f'{{"op":"streams","params":{text_of([policy, unlimited])}', self._inner.streams, policy, unlimited)

    def restart(self) -> None:
        self._inner.restart()
        self._mirror()

    def close(self) -> None:
        self._inner.close()


_LONGEST = 256  # bytes of a value whose text is kept
_text_of_key = functools.lru_cache(maxsize=4096)(lambda key: text_of(marshal.loads(key)))


def _value(value: Any) -> str:
    """As text_of: most values of a run come again and again, and to know one again takes half the time of writing it."""
    try:
        key = marshal.dumps(value, 2)
    except ValueError:  # it is of a class of its own
        return text_of(value)
    return _text_of_key(key) if len(key) <= _LONGEST else text_of(value)


_name = functools.lru_cache(maxsize=64)(text_of)  # of a method: the suite has a few


def _note(note: Notification) -> str:
    if note.frame is not None:
        return f'["{note.method}",{note.frame.text()},{note.earliest_us},{note.time_us}]'
    return f'[{_name(note.method)},{_value(note.params)},{note.earliest_us},{note.time_us}]'


def _answer(number: int, reply: Reply) -> str:
    said = f'"error":{text_of(reply.error)}' if reply.error is not None else f'"result":{_value(reply.result)}'
    return f'[{number},{{{said}}},{reply.time_us}]'
