"""The providers that follow from a check: each breaks something that the check may have looked at.

A check of calls compares what was read from answers. Which member that was it does not say; so each member of the answers that were
read before it is altered in turn, the surest first: another code, another state, bytes that are wrong, a completion that is lost,
doubled, or has another status. Then the members of what was asked: the provider takes one for another.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any, Iterable, Iterator, Mapping, Sequence

from .layer import Break, Path

_STATES = {
    "State": tuple(f"VIP_STATE_{name}" for name in ("IDLE", "CONNECT_PENDING", "CONNECTED", "ERROR")),
    "state": ("RESET", "INIT", "RTR", "RTS", "SQD", "ERR"),
}
_CODES = {
    "VIP_": tuple(f"VIP_{name}" for name in (
        "SUCCESS", "INVALID_PARAMETER", "ERROR_RESOURCE", "INVALID_STATE", "TIMEOUT", "NOT_DONE", "DESCRIPTOR_ERROR", "REJECT",
        "NO_MATCH",
    )),
    "": ("success", "immediate-error"),
}  # fmt: skip
_STATUSES = ("SUCCESS", "WR_FLUSH_ERR", "LOC_PROT_ERR", "REM_ACCESS_ERR", "LOC_LEN_ERR")
_WORD_BITS = (1, 2, 4, 8, 32, 128, 256, 1 << 16, 1 << 17, 1 << 19, 1 << 20)  # of Status: DONE, errors, operation, immediate, none
#: What an agent tells of itself, and numbers that name something: another one asks for nothing that a provider owes.
_NOT_ITS_OWN = frozenset(("thread", "us", "at_us", "value", "guard", "return", "errno", "vendor_err", "first"))
_NUMBERS = frozenset(("nic", "vi", "mem", "conn", "ptag", "cq", "qp", "pd", "mr", "mw", "srq", "rnic", "request", "listener", "ah"))
#: Members that name one thing: no other of its kind has the same.
NAMES = frozenset(("value", "handle", "va", "qp_num", "lkey", "rkey"))
#: Numbers of a request that say how much.
_SIZES = frozenset(("length", "Length", "entries", "sq_size", "rq_size", "size", "limit", "max_rd_atomic", "max_dest_rd_atomic"))
_TURN = 3  # of each answer in turn: what was read last is the surest, and its later members are not
_NOTIFICATIONS = ("notify", "error", "async", "cm", "connect-request")


@dataclass(frozen=True)
class Answer:
    """An answer that was read before a check, and what had been asked."""

    method: str
    nth: int
    result: Mapping[str, Any]
    params: Mapping[str, Any] = field(default_factory=dict)


def devices(answers: Sequence[Answer], wanted: Sequence[Any], words: str, earlier: Sequence[Answer] = ()) -> list[Break]:
    """Each provider of a check; answers: the last ones first. wanted: what passes. words: of its breach, whose names come first.

    earlier: answers from before, of which only the names matter.
    """
    streams = [list(_of_answer(answer, wanted)) for answer in answers]
    streams += [list(_of_names([*answers, *earlier])), list(_of_notifications())]
    turns = (stream[at : at + _TURN] for at in range(0, max(map(len, streams)), _TURN) for stream in streams)
    every = list(dict.fromkeys(device for turn in turns for device in turn))
    return sorted(every, key=lambda device: not _is_named(device, words))


def _of_names(answers: Sequence[Answer]) -> Iterator[Break]:
    """Something is given the name that another thing of its kind has."""
    for one, other in permutations(answers, 2):
        for name in sorted(NAMES) if one.method == other.method else ():
            if name in one.result and one.result[name] != other.result.get(name, one.result[name]):
                yield Break("answer", one.method, one.nth, (name,), json.dumps(other.result[name]))


def _is_named(device: Break, words: str) -> bool:
    """Whether the words of a breach name the member that is altered, or the error bit of a Descriptor."""
    if any(isinstance(name, str) and len(name) > 2 and name in words for name in device.path[-1:]):
        return True
    bits = (bit for bit in _BIT if f"VIP_STATUS_{bit}" in device.value)
    return device.path == ("DescriptorPtr",) and ("Status" in words or any(bit.removesuffix("_ERROR") in words for bit in bits))


def _of_notifications() -> Iterator[Break]:
    for kind in _NOTIFICATIONS:
        yield Break("silent", kind)
        yield Break("twice", kind)


def _of_answer(answer: Answer, wanted: Sequence[Any]) -> Iterator[Break]:
    passing = " ".join(map(str, wanted)).split()
    code = answer.result.get("return")
    for name, states in _STATES.items():
        told = answer.result.get(name)
        for state in states if isinstance(told, str) else ():
            if state != told:
                yield Break("answer", answer.method, answer.nth, (name,), json.dumps(state), True)
    if isinstance(code, str):
        known = _CODES["VIP_" if code.startswith("VIP_") else ""]
        for other in (c for c in known if c != code and c not in passing):
            yield Break("answer", answer.method, answer.nth, ("return",), json.dumps(other))
    yield from _of_completions(answer)
    for path, value in _members(answer.result, ()):
        for other in _others(path, value):
            yield Break("answer", answer.method, answer.nth, path, json.dumps(other))
            yield Break("answer", answer.method, answer.nth, path, json.dumps(other), True)
    yield from _of_request(answer)
    if isinstance(code, str) and code in ("success", "VIP_SUCCESS"):
        yield Break("ignore", answer.method, answer.nth, (), json.dumps(dict(answer.result)))
    always = _CODES["VIP_"] if isinstance(code, str) and code.startswith("VIP_") else ()
    for other in (c for c in always if c != code and c not in passing):
        yield Break("answer", answer.method, answer.nth, ("return",), json.dumps(other), True)
    yield Break("never", answer.method, answer.nth)


def _of_request(answer: Answer) -> Iterator[Break]:
    """A member of the request that is taken for another."""
    for path, value in _members(answer.params, ()):
        taken: Iterable[Any] = ()
        if isinstance(value, bool):
            taken = (not value,)
        elif isinstance(value, list) and all(isinstance(one, str) for one in value):
            taken = ([one for one in value if one != gone] for gone in value)
        elif isinstance(value, int) and path[-1] in _SIZES:
            taken = (value - 1, value // 2, value + 1) if value else (1,)
        for other in taken:
            yield Break("asked", answer.method, answer.nth, path, json.dumps(other), True)
            yield Break("asked", answer.method, answer.nth, path, json.dumps(other))


def _of_completions(answer: Answer) -> Iterator[Break]:
    """A completion that is lost, comes twice, or has another status."""
    result = answer.result
    if isinstance(result.get("DescriptorPtr"), Mapping):
        yield Break("nothing", answer.method, answer.nth, (), json.dumps({"return": "VIP_NOT_DONE", "DescriptorPtr": None}))
        yield Break("again", answer.method, answer.nth)
        found = result["DescriptorPtr"]
        if isinstance(found.get("Status"), int):
            names = [name for name in found.get("status", []) if name != "VIP_STATUS_DONE"]
            if names:
                yield from _status(answer, found, {**found, "status": ["VIP_STATUS_DONE"], "Status": found["Status"] & ~0x1FE})
            for name, mask in _BIT.items():
                told = [*found.get("status", []), f"VIP_STATUS_{name}"]
                yield from _status(answer, found, {**found, "status": told, "Status": found["Status"] | mask})
            for bit in _WORD_BITS:
                yield from _status(answer, found, {**found, "Status": found["Status"] ^ bit})
    wcs = result.get("wcs")
    if isinstance(wcs, list) and wcs:
        yield Break("answer", answer.method, answer.nth, ("wcs",), json.dumps(wcs[1:]))
        yield Break("answer", answer.method, answer.nth, ("wcs",), json.dumps([*wcs, wcs[-1]]))
        for status in (s for s in _STATUSES if s != wcs[-1].get("status")):
            yield Break("answer", answer.method, answer.nth, ("wcs", len(wcs) - 1, "status"), json.dumps(status))
            yield Break("answer", answer.method, answer.nth, ("wcs", 0, "status"), json.dumps(status))
        if len(wcs) > 1:
            yield Break("answer", answer.method, answer.nth, ("wcs",), json.dumps(wcs[::-1]))


_BIT = {
    "FORMAT_ERROR": 2, "PROTECTION_ERROR": 4, "LENGTH_ERROR": 8, "PARTIAL_ERROR": 16, "DESC_FLUSHED_ERROR": 32,
    "TRANSPORT_ERROR": 64, "RDMA_PROT_ERROR": 128, "REMOTE_DESC_ERROR": 256,
}  # fmt: skip


def _status(answer: Answer, was: Mapping[str, Any], told: Mapping[str, Any]) -> Iterator[Break]:
    if told != was:
        yield Break("answer", answer.method, answer.nth, ("DescriptorPtr",), json.dumps(told))


def _members(of: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """The members of an answer that are the provider's own, down to single values."""
    inside: Iterable[tuple[Any, Any]] = of.items() if isinstance(of, Mapping) else enumerate(of[:2]) if isinstance(of, list) else ()
    for name, value in inside:
        if name in _NOT_ITS_OWN or name in _STATES or (name in _NUMBERS and isinstance(value, int)):
            continue
        if isinstance(value, (Mapping, list)):
            yield from _members(value, (*path, name))
            if isinstance(value, list):
                yield (*path, name), value
        else:
            yield (*path, name), value


def _others(path: Path, value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from dict.fromkeys((value + 1, 0 if value else 7, max(0, value - 1)))
    elif isinstance(value, str) and value:
        last = "1" if value[-1] == "0" else "0"
        yield value[:-1] + last
        yield ("1" if value[0] == "0" else "0") + value[1:]
    elif isinstance(value, list):
        yield value[:-1] if value else ["REMOTE_WRITE"]
    elif value is None and path[-1] in ("immediate", "RemoteAddr"):
        yield 0x5A5A5A5A


__all__ = ["Answer", "NAMES", "devices"]
