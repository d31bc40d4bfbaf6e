"""The control plane between then and now: calls translated, answers and notifications compared member by member."""

from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping, Optional

from fcvi.engine.attachment import Reply
from .difference import Difference
from .ids import Translation
from .recording import CallEvent, NoteEvent, ReturnEvent

_HANDLES = ("vi", "conn", "mem")
_TIMES = ("Timeout",)


class Calls:
    """The control plane of a replay."""

    def __init__(self, translation: Translation, ignore: frozenset[str], scaled: Callable[[int], int]) -> None:
        self._ids, self._ignore, self._scaled = translation, ignore, scaled

    # ---- calls ----

    def unbound(self, params: Mapping[str, Any], returned: frozenset[tuple[str, int]]) -> bool:
        """Whether a call names a handle that an earlier call of the recording gives, and has not given yet."""
        for name, value in _members(params):
            if name in _HANDLES and (name, value) in returned and not self._ids.known(name, value):
                return True
        return False

    def params(self, recorded: Any, name: str = "") -> Any:
        """The parameters to call with now."""
        if isinstance(recorded, dict):
            return {key: self.params(value, key) for key, value in recorded.items()}
        if isinstance(recorded, list):
            return [self.params(value, name) for value in recorded]
        if name in _HANDLES and isinstance(recorded, int):
            return self._ids.live(name, recorded)
        if name == "host" and isinstance(recorded, str):
            return self._host(recorded)
        if name in _TIMES and isinstance(recorded, int) and not isinstance(recorded, bool):
            return self._scaled(recorded)
        return recorded

    def _host(self, recorded: str) -> str:
        try:
            return bytes(self._ids.live("host", bytes.fromhex(recorded))).hex()
        except ValueError:
            return recorded

    # ---- answers ----

    def learn(self, call: CallEvent, recorded: ReturnEvent, result: Mapping[str, Any]) -> None:
        """The handles that a call gave, and where the memory is that it registered."""
        for name in _HANDLES:
            before, now = recorded.result.get(name), result.get(name)
            if isinstance(before, int) and isinstance(now, int):
                self._ids.bind(now, name, before)
        before, now = recorded.result.get("handle"), result.get("handle")
        if isinstance(before, int) and isinstance(now, int) and 0 <= min(before, now) and max(before, now) < 2**32:
            self._ids.bind(now.to_bytes(4, "big"), "memory", before.to_bytes(4, "big"))
        try:
            length = call.params.get("length", 0)
            self._ids.region(int(recorded.result["va"], 16), int(length), int(result["va"], 16))
        except (KeyError, TypeError, ValueError):
            pass  # no memory

    def compare_return(self, call: CallEvent, recorded: ReturnEvent, reply: Reply) -> list[Difference]:
        """How the answer differs. vi, conn, mem, va and handle may be what they like.

        A member that the recording does not have is no difference: another implementation may say more.
        """
        if reply.error is not None or recorded.error is not None:
            before = "a result" if recorded.error is None else f"error {recorded.error}"
            now = "a result" if reply.error is None else f"error {reply.error[0]}"
            return [] if before == now else [Difference("call", call.method, before, now)]
        free = (*_HANDLES, "va", "handle")
        before_result = {k: v for k, v in recorded.result.items() if k not in free}
        now_result = {k: v for k, v in reply.result.items() if k not in free}
        return [Difference("call", f"{call.method} {path}", b, n) for path, b, n in self._walk(before_result, now_result)]

    def compare_note(self, recorded: NoteEvent, params: Mapping[str, Any]) -> list[Difference]:
        """How a notification differs."""
        return [Difference("note", f"{recorded.method} {path}", b, n) for path, b, n in self._walk(recorded.params, params)]

    def note_key(self, method: str, params: Mapping[str, Any], recorded: bool) -> tuple[object, ...]:
        """Notifications with one key come in one order."""
        vi = params.get("vi")
        if recorded and isinstance(vi, int):
            vi = self._ids.live("vi", vi)
        return (method, str(vi), str(params.get("queue")))

    def _walk(self, before: Any, now: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
        if isinstance(before, dict) and isinstance(now, dict):
            for name in before:  # what is said besides is no difference: the protocol has unknown members ignored
                where = f"{path}.{name}" if path else name
                if name.lower() in self._ignore:
                    continue
                yield from self._walk(_translated(self, name, before.get(name)), now.get(name), where)
        elif isinstance(before, list) and isinstance(now, list) and path.endswith("status"):
            if sorted(map(str, before)) != sorted(map(str, now)):
                yield path, " ".join(map(str, before)) or "none", " ".join(map(str, now)) or "none"
        elif before != now:
            yield path, _short(before), _short(now)


def _translated(calls: Calls, name: str, value: Any) -> Any:
    return value if isinstance(value, (dict, list)) or name in _TIMES else calls.params(value, name)


def _short(value: Any) -> str:
    return "nothing" if value is None else str(value)[:80]


def _members(params: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(params, dict):
        for key, value in params.items():
            yield from _members(value, key)
    elif isinstance(params, list):
        for value in params:
            yield from _members(value, name)
    elif not isinstance(params, bool):
        yield name, params


def given(returns: Mapping[int, ReturnEvent]) -> frozenset[tuple[str, int]]:
    """The handles that calls of the recording give."""
    found: set[tuple[str, int]] = set()
    for answer in returns.values():
        for name in _HANDLES:
            value: Optional[object] = answer.result.get(name)
            if isinstance(value, int):
                found.add((name, value))
    return frozenset(found)
