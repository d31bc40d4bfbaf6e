"""A layer between the suite and a provider, on the lines of the DUT protocol: it does one thing otherwise than the provider.

It knows requests, answers and notifications, and nothing of what is behind it: the model in this process as well as a program.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional, Protocol

Json = dict[str, Any]
Path = tuple[Any, ...]


class Server(Protocol):
    """What takes the lines of the suite."""

    def line(self, raw: bytes) -> None:
        """One of them."""


@dataclass(frozen=True)
class Break:
    """One thing that is done otherwise.

    what: "answer" (a member of an answer is another), "asked" (a member of a request is taken for another), "nothing" (the answer
    says that nothing came, from that one on), "again" (the answer comes a second time, in the place of the next), "never" (no
    answer), "ignore" (nothing is done, and success is told),
    "silent", "twice" (each notification of a kind is lost, or comes twice), "fault" (the provider itself has the fault of this
    name: the layer does nothing). kind: the method, or the kind of notification.
    nth: which of the calls, from 1. path: the member; value: what it is instead, as JSON. each: also later, where it would be as it
    was then.
    """

    what: str
    kind: str
    nth: int = 0
    path: Path = ()
    value: str = ""
    each: bool = False

    def __str__(self) -> str:
        which = self.kind + (f"#{self.nth}" if self.nth else "") + ("-" if self.each else "")
        return f"{self.what} {which}" + (f" {'.'.join(map(str, self.path))}={self.value}" if self.path or self.value else "")


def understand(words: str) -> Break:
    """The break of a line of a table. Raises ValueError for what is none."""
    what, which, rest = (*words.split(" ", 2), "")[:3]
    each, which = which.endswith("-"), which.removesuffix("-")
    kind, _, nth = which.partition("#")
    path, _, value = rest.partition("=")
    steps = tuple(int(step) if step.isdigit() else step for step in path.split(".") if step)
    return Break(what, kind, int(nth or 0), steps, value, each)


class Layer:
    """Such a layer. write: to the suite. make: the provider, given where it writes."""

    def __init__(
        self, broken: Optional[Break], make: Callable[[Callable[[str], None]], Server], write: Callable[[str], None]
    ) -> None:
        self._broken, self._write = broken, write
        self._counts: dict[str, int] = {}
        self._asked: dict[Any, tuple[str, int]] = {}  # requests under way, by their ids
        self._was: Any = None  # what the member was when it was first altered
        self._before: Optional[Json] = None
        self._server = make(self._said)

    def line(self, raw: bytes) -> None:
        """One line from the suite."""
        message = json.loads(raw)
        method, number = str(message.get("method")), message.get("id")
        if method == "reset":
            self._counts.clear()
            self._was = self._before = None
        count = self._counts[method] = self._counts.get(method, 0) + 1
        broken = self._broken
        if broken is not None and number is not None:
            self._asked[number] = method, count
            if broken.what == "ignore" and (broken.kind, broken.nth) == (method, count):
                self._tell({"id": number, "result": json.loads(broken.value)})
                return
            if broken.what == "asked" and broken.kind == method and (count == broken.nth or broken.each and count > broken.nth):
                raw = self._taken_for(message, broken)
        self._server.line(raw)

    def _taken_for(self, message: Json, broken: Break) -> bytes:
        """The request as the provider takes it."""
        try:
            was = _at(message["params"], broken.path)
        except (KeyError, IndexError, TypeError):
            return json.dumps(message).encode()
        if self._was is None:
            self._was = was
        other = _put(message["params"], broken.path, json.loads(broken.value)) if was == self._was else message["params"]
        return json.dumps({**message, "params": other}).encode()

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
            same = message["method"] == broken.kind
            return [] if same and broken.what == "silent" else [message] * (2 if same and broken.what == "twice" else 1)
        method, count = self._asked.pop(message.get("id"), ("", 0))
        if method != broken.kind or "result" not in message:
            return [message]
        if broken.what == "never" and count == broken.nth:
            return []
        return [{**message, "result": self._altered(message["result"], count, broken)}]

    def _altered(self, result: Json, count: int, broken: Break) -> Json:
        if broken.what == "again" and count == broken.nth + 1 and self._before is not None:
            return self._before
        if count == broken.nth:
            self._before = result
        if broken.what == "nothing" and count >= broken.nth:
            found: Json = json.loads(broken.value)
            return found
        if broken.what != "answer" or count < broken.nth or (count > broken.nth and not broken.each):
            return result
        try:
            was = _at(result, broken.path)
        except (KeyError, IndexError, TypeError):
            return result
        if count == broken.nth:
            self._was = was
        altered: Json = _put(result, broken.path, json.loads(broken.value)) if was == self._was else result
        return altered


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


__all__ = ["Break", "Layer", "Path", "understand"]
