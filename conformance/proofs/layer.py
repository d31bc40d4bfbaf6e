"""A layer between the suite and a provider, on the lines of the DUT protocol: it does one thing otherwise than the provider.

It knows requests, answers and notifications, and nothing of what is behind it: the model in this process as well as a program.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Mapping, Optional, Protocol

from fcvi.engine.breaks import Break

Json = dict[str, Any]
Path = tuple[Any, ...]
DIGIT = "digit"  # {"digit": n} as a value: the text that was there, with its nth character another


class Server(Protocol):
    """What takes the lines of the suite."""

    def line(self, raw: bytes) -> None:
        """One of them."""


class Layer:
    """Such a layer. write: to the suite. make: the provider, given where it writes."""

    def __init__(
        self, broken: Optional[Break], make: Callable[[Callable[[str], None]], Server], write: Callable[[str], None]
    ) -> None:
        self._broken, self._write = broken, write
        self._counts: dict[str, int] = {}
        self._asked: dict[Any, tuple[str, int]] = {}  # requests under way, by their ids
        self._silenced: set[Any] = set()  # requests whose answers were told ahead
        self._was: Any = None  # what the member was when it was first altered
        self._before: Optional[Json] = None
        self._held: list[tuple[int, Json]] = []  # answers that are late, and when they come
        self._now_us = 0
        self._server = make(self._said)

    def line(self, raw: bytes) -> None:
        """One line from the suite."""
        message = json.loads(raw)
        method, number = str(message.get("method")), message.get("id")
        if method == "reset":
            self._counts.clear()
            self._held.clear()
            self._now_us = 0
            self._was = self._before = None
        count = self._counts[method] = self._counts.get(method, 0) + 1
        broken = self._broken
        if broken is not None and number is not None:
            self._asked[number] = method, count
            if broken.verb == "pretend" and broken.concerns("pretend", method, count):
                self._tell({"id": number, "result": _value(broken)})
                return
            if broken.concerns("ahead", method, count):
                del self._asked[number]
                self._silenced.add(number)
                self._tell({"id": number, "result": _value(broken)})
            if method == "clock.advance":
                self._let_go(int(message["params"]["us"]))
            if broken.concerns("asked", method, count) or broken.since("asked-from", method, count):
                raw = self._taken_for(message, broken)
        self._server.line(raw)

    def _taken_for(self, message: Json, broken: Break) -> bytes:
        """The request as the provider takes it."""
        return json.dumps({**message, "params": self._put(message["params"], broken, self._was is None)}).encode()

    def _put(self, of: Any, broken: Break, first: bool) -> Any:
        """The same with the member altered, where it is what it was when it was altered first."""
        path = member_of(broken)
        try:
            was = _at(of, path)
        except (KeyError, IndexError, TypeError):
            return of
        if first:
            self._was = was
        return _put(of, path, _other(_value(broken), was)) if was == self._was else of

    def _let_go(self, us: int) -> None:
        """Time passes: what was held back for so long comes."""
        self._now_us += us
        due = [one for one in self._held if us and one[0] <= self._now_us]
        self._held = [one for one in self._held if one not in due]
        for _, message in due:
            self._tell(message)

    def _tell(self, message: Json) -> None:
        self._write(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")) + "\n")

    def _said(self, text: str) -> None:
        if self._broken is None:
            self._write(text)
            return
        for raw in text.splitlines():
            message = json.loads(raw)
            for one in self._instead(message, self._broken):
                self._tell(one)

    def _instead(self, message: Json, broken: Break) -> list[Json]:
        """What is told in the place of a message."""
        if "method" in message:
            return self._told(message, broken)
        if message.get("id") in self._silenced:
            return []
        method, count = self._asked.pop(message.get("id"), ("", 0))
        if method != broken.kind or "result" not in message:
            return [message]
        if broken.concerns("never", method, count):
            return []
        if broken.concerns("late", method, count):
            self._held.append((self._now_us + (broken.value if isinstance(broken.value, int) else 0), message))
            return []
        said = [json.loads(str(broken.value))] if broken.concerns("says", method, count) else []
        return [{**message, "result": self._altered(message["result"], count, broken)}] + said

    def _told(self, message: Json, broken: Break) -> list[Json]:
        """A notification, or what is told instead. Each kind is counted."""
        method = str(message["method"])
        self._counts[f"told {method}"] = count = self._counts.get(f"told {method}", 0) + 1
        if broken.concerns("silent", method, count):
            return []
        if broken.concerns("told", method, count):
            return [{**message, "params": self._put(message["params"], broken, self._was is None)}]
        return [message] * (2 if broken.concerns("twice", method, count) else 1)

    def _altered(self, result: Json, count: int, broken: Break) -> Json:
        first = count == broken.nth[0] if broken.nth else False
        if broken.verb == "again" and count == broken.nth[0] + 1 and self._before is not None:
            return self._before
        if first:
            self._before = result
        if broken.since("nothing", broken.kind, count):
            found: Json = _value(broken)
            return found
        if not broken.concerns("answer", broken.kind, count) and not broken.since("answer-from", broken.kind, count):
            return result
        altered: Json = self._put(result, broken, first)
        return altered


def _value(broken: Break) -> Any:
    assert isinstance(broken.value, str)
    return json.loads(broken.value)


def _other(value: Any, was: Any) -> Any:
    """The value, or the text that was there with one character another."""
    if not isinstance(value, dict) or list(value) != [DIGIT] or not isinstance(was, str):
        return value
    at = range(len(was))[value[DIGIT]]
    return was[:at] + ("1" if was[at] == "0" else "0") + was[at + 1 :]


def member_of(broken: Break) -> Path:
    """Where the member is that is altered; a point in a name is written as a colon."""
    return tuple(int(step) if step.isdigit() else step.replace(":", ".") for step in broken.what.split(".") if step)


def _at(of: Any, path: Path) -> Any:
    for step in path:
        of = of[step]
    return of


def _put(of: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    if isinstance(of, Mapping):
        return {**of, path[0]: _put(of[path[0]], path[1:], value)}
    return [*of[: path[0]], _put(of[path[0]], path[1:], value), *of[path[0] + 1 :]]


__all__ = ["DIGIT", "Layer", "Path", "Server", "member_of"]
