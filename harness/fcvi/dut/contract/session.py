"""A conversation with a device in which every message is held against the shapes of its protocol."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any, Optional

from fcvi.engine import strict
from ..base import DutError
from ..rpc import Stream
from .shapes import DUT_PROTOCOL, Shapes


@dataclass
class Answer:
    """What the device answered: result, or error code and message. place: the how-manieth message of the device it was."""

    method: str
    result: Optional[dict[str, Any]] = None
    code: Optional[int] = None
    message: str = ""
    place: int = -1

    @property
    def returned(self) -> str:
        """The VIPL return code by name; "" without one."""
        value = (self.result or {}).get("return", "")
        return value if isinstance(value, str) else ""

    def words(self) -> str:
        """In words, for a message."""
        if self.place < 0:
            return "no answer"
        return f"error {self.code} ({self.message})" if self.code is not None else json.dumps(self.result)[:120]


class Session:
    """Sends lines, takes in lines. Shapes that are wrong are collected in `flaws`, once each."""

    def __init__(self, spec: str, timeout_s: float, log: Optional[int], shapes: Shapes = DUT_PROTOCOL) -> None:
        self._stream, self.shapes = Stream(spec, log), shapes
        self._timeout_s = timeout_s
        self._next_id = 0
        self._taken = 0
        self._open: dict[int, Answer] = {}
        self.last = b""  # what was sent last
        self.flaws: list[str] = []
        self.notifications: list[tuple[int, str, dict[str, Any]]] = []  # place, method, params

    def close(self) -> None:
        """End the conversation and what was started for it."""
        self._stream.close()

    def send(self, method: str, params: Optional[dict[str, Any]], **extra: Any) -> Answer:
        """Send a request and go on."""
        self._next_id += 1
        answer = self._open[self._next_id] = Answer(method)
        message = {"jsonrpc": "2.0", "id": self._next_id, "method": method, **extra}
        if params is not None:
            message["params"] = params
        self.line(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        return answer

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification."""
        self.line(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n")

    def line(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.last = data
        self._stream.send(data, time.monotonic() + self._timeout_s)

    def ask(self, method: str, params: Optional[dict[str, Any]] = None, **extra: Any) -> Answer:
        """Send a request and wait for its answer. Raises DutError when none comes in time."""
        answer = self.send(method, {} if params is None else params, **extra)
        self.wait(answer)
        if answer.place < 0:
            raise DutError(f"the device did not answer {method} within {self._timeout_s:g} s")
        return answer

    def wait(self, answer: Answer, timeout_s: Optional[float] = None) -> bool:
        """Take in what comes until the answer is there. False when it does not come in time."""
        deadline = time.monotonic() + (self._timeout_s if timeout_s is None else timeout_s)
        while answer.place < 0:
            line = self._stream.receive(deadline)
            if line is None:
                return False
            self._take(line)
        return True

    def note(self, words: str) -> None:
        """Remember a flaw, once."""
        if words not in self.flaws:
            self.flaws.append(words)

    def _take(self, line: bytes) -> None:
        self._taken += 1
        try:
            message = strict.loads(line.decode("utf-8"))
        except ValueError as error:
            raise DutError(f"the device sent a line that is not JSON ({error}): {line[:60]!r}; print nothing else there") from error
        if not isinstance(message, dict):
            raise DutError(f"the device sent a line that is not an object: {line[:60]!r}")
        if message.get("jsonrpc") != "2.0":
            self.note('a message has no member "jsonrpc":"2.0"')
        if "method" in message:
            self._take_notification(message)
        else:
            self._take_answer(message)

    def _take_notification(self, message: dict[str, Any]) -> None:
        method, params = message["method"], message.get("params")
        wrong = self.shapes.flaw("notification", message)
        if wrong is not None and isinstance(method, str):
            name = f"notification.{method}"
            wrong = self.shapes.flaw(name, params) if self.shapes.has(name) else "unknown notification"
            self.note(f"notification {method[:40]}: {wrong or 'it may have no id'}")
        if isinstance(method, str) and isinstance(params, dict):
            self.notifications.append((self._taken, method, params))

    def _take_answer(self, message: dict[str, Any]) -> None:
        ident = message.get("id")
        answer = self._open.pop(ident, None) if isinstance(ident, int) else None
        if answer is None:
            self.note(f"answer with id {str(ident)[:30]}, which no request of ours has")
            return
        answer.place = self._taken
        error, result = message.get("error"), message.get("result")
        if isinstance(error, dict) and isinstance(error.get("code"), int):
            answer.code, answer.message = error["code"], str(error.get("message", ""))[:80]
        elif isinstance(result, dict):
            answer.result = result
            wrong = self.shapes.result_flaw(answer.method, result) if not answer.method.startswith("probe.") else None
            if wrong:
                self.note(f"result of {answer.method}: {wrong}")
        else:
            self.note(f"answer to {answer.method}: neither an object `result` nor an `error` with a `code`")
            answer.result = {}
