"""Plays the recorded trace of a case back: a device that says what the recorded one said, if it is asked the same.

It exists for ``fcvi judge``. A question other than the recorded one means that the trace and the suite no longer
belong together; the case then ends with ``error``, for no verdict follows from such a trace.
"""

from __future__ import annotations

import json
from typing import Any, Mapping, Optional

from .attachment import Dut, DutError, Notification, Reply, Unavailable
from .files import damage
from .record import Entry


class TraceMismatch(DutError):
    """The case does something other than what was recorded."""


class PlayerDut(Dut):
    """One case's trace as a device."""

    def __init__(self, entries: list[Entry], identity: dict[str, Any], far: Optional[PlayerDut] = None) -> None:
        """far: the trace of the device that stood at the far side."""
        super().__init__()
        self.far = self._beside = far
        self.spec, self.clock, self.pics = "trace", str(identity["clock"]), dict(identity["pics"])
        self.implementation, self.version = str(identity["implementation"]), str(identity["version"])
        self._entries, self._at = entries, 0
        self._replies: dict[int, Reply] = {}
        self._mismatch: Optional[str] = None

    @property
    def mismatch(self) -> Optional[str]:
        """What did not match, even when the case went on regardless."""
        return self._mismatch or (self._beside.mismatch if self._beside is not None else None)

    def _stop(self, words: str) -> TraceMismatch:
        self._mismatch = self._mismatch or f"the trace does not match the case: {words}"
        return TraceMismatch(self._mismatch)

    def _next(self, asked: Entry) -> Entry:
        if self._at >= len(self._entries):
            raise self._stop(f"the case asks for {_words(asked)} after the last entry")
        entry = self._entries[self._at]
        self._at += 1
        recorded = {name: entry.get(name) for name in asked}
        if recorded != asked:
            raise self._stop(f"entry {self._at} has {_words(entry)} where the case asks for {_words(asked)}")
        return entry

    def _apply(self, entry: Entry) -> None:
        try:
            self.now_us = int(entry["now"])
            self.knows_next, self.next_us = "next" in entry, entry.get("next")
            for method, params, earliest, time_us in entry.get("notes", []):
                self.inbox.append(Notification(str(method), dict(params), int(earliest), int(time_us)))
            for number, answer, time_us in entry.get("done", []):
                reply = self._replies.pop(number)
                reply.result = dict(answer.get("result", {}))
                if "error" in answer:
                    code, words = answer["error"]
                    reply.error = (int(code), str(words))
                reply.done, reply.time_us = True, int(time_us)
            if self.next_us is not None:
                self.next_us = int(self.next_us)
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise self._stop(f"entry {self._at} is damaged: {damage(error)}") from error
        if "error" in entry:
            raise DutError(str(entry["error"]))
        if "unavailable" in entry:
            raise Unavailable(str(entry["unavailable"]))

    def finish(self) -> None:
        """The case is over; so must be the trace."""
        if self._at < len(self._entries) and self._mismatch is None:
            self._stop(f"it goes on with {_words(self._entries[self._at])} where the case ends")
        if self._beside is not None:
            self._beside.finish()

    def joined(self, port: Mapping[str, Any]) -> bool:
        """False where the trace has the question; a plain yes is not in it."""
        if self._at >= len(self._entries) or self._entries[self._at].get("op") != "joined":
            return True
        self._apply(self._next({"op": "joined", "params": _plain(dict(port))}))
        return False

    def streams(self, policy: str, unlimited: bool) -> None:
        """Refused where the trace has the question."""
        if self._at < len(self._entries) and self._entries[self._at].get("op") == "streams":
            self._apply(self._next({"op": "streams", "params": [policy, unlimited]}))

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        entry = self._next({"op": "request", "method": method, "params": _plain(params)})
        reply = self._replies[entry.get("n", 0)] = Reply(method)
        self._apply(entry)
        return reply

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._apply(self._next({"op": "notify", "method": method, "params": _plain(params)}))

    def advance(self, us: int) -> None:
        self._apply(self._next({"op": "advance", "us": us}))

    def reset(self, config: dict[str, Any]) -> None:
        entry = self._next({"op": "reset", "params": _plain(config)})
        self.inbox.clear()
        self._replies.clear()
        self._apply(entry)

    def restart(self) -> None:
        """A trace cannot break."""

    def close(self) -> None:
        """Nothing to end."""


def _plain(params: dict[str, Any]) -> Any:
    """As it is after a way through JSON, which is how the trace was kept."""
    return json.loads(json.dumps(params))


def _words(entry: Entry) -> str:
    what = str(entry.get("method") or entry.get("us", ""))[:60]
    params = entry.get("params")
    detail = f" {str(params)[:100]}" if params is not None and entry.get("op") != "reset" else ""
    return f"{entry.get('op')} {what}{detail}".strip()
