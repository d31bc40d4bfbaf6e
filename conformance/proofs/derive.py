"""The devices that follow from a check: each breaks just what the check compares."""

from __future__ import annotations

import re
from typing import Any, Callable, Iterator, Mapping, Sequence

from fcvi.engine.breaks import Break
from fcvi.engine.catalogue import COMES
from fcvi.engine.proof import Record, Sight
from fcvi.fc import codec

from .parts import Aspect

STATES = tuple(f"VIP_STATE_{name}" for name in ("IDLE", "CONNECT_PENDING", "CONNECTED", "ERROR"))
_CODES = ("VIP_SUCCESS", "VIP_ERROR_RESOURCE", "VIP_TIMEOUT", "VIP_REJECT", "VIP_NOT_REACHABLE", "VIP_INVALID_PARAMETER")
_ALL = (1 << 32) - 1  # every bit of a field that is no wider
_SHORT = 40  # bytes of a PDU that has no room for what its type needs
_LAST = 4  # of a kind are tried
_MOST_BEHIND = 4  # runs of named values
_MOST_VALUES = 6  # of a field
_TO_A_PAYLOAD = (("payload-first", None), ("payload-last", None), ("cut", 4), ("pad", 4), ("again", None), ("split", None),
                 ("in-two", None), ("pad", 600))  # fmt: skip
_ONE_OF_EACH = (("CONNECT_RQST", "CONN.FCVI_RQST_HANDLE"), ("CONNECT_RESP1", "CONN.FCVI_RESP_HANDLE"),
                ("CONNECT_RQST", "DH.FCVI_CONNECTION_ID"))  # fmt: skip
#: Words of a part for what a device does with its streams.
_ON_STREAMS = {"opened": "opens", ".over": "closes"}
#: Of what a device hears: that which may complete a receive Descriptor.
_MESSAGES = frozenset(("SEND_RQST", "WRITE_RQST", "stream.data"))
#: Calls at which a device may say something of no cause.
_POSTS = ("VipPostSend", "VipPostRecv")
_IN_TIME_US = 1000  # is within the tolerance of every laboratory
_NOBODY = 0x7FFF  # a VI that there is not
_KIND = re.compile(r"'([A-Z][A-Z_0-9]+)'")
#: Members of an answer that name something of the case's own: another number asks for nothing that the device owes.
_NAMES = frozenset(("vi", "mem", "conn"))


Names = Callable[[str], Sequence[str]]


def devices(record: Record, late_us: int, headers: Names) -> Iterator[Break]:
    """Each device of a check, the surest first. late_us: what is later than any tolerance. headers: the fields of a kind of message
    that a check of the whole may be about.
    """
    if isinstance(record, Aspect) and record.aspect == COMES:
        yield from record.gone
        return
    seen: set[Break] = set()
    for device in _every(record, late_us, headers):
        if device not in seen:
            seen.add(device)
            yield device


def _every(record: Record, late_us: int, headers: Names) -> Iterator[Break]:
    for sight in record.sights:
        yield from _of_sight(record, sight, late_us)
    if isinstance(record, Aspect):
        yield from _of_words(record, late_us)
    for sight in record.sights:
        if sight.what == "payload":
            yield from _headers(sight, headers)
    if record.primitive in ("require", "demand"):
        yield from _told(record)
    elif record.primitive == "expect_next_timer":
        yield Break("timer", "none")
    if record.primitive in ("expect_time", "expect_return", "expect_next_timer"):
        yield Break("config", "r_a_tov_us", value=50)
        yield Break("config", "r_a_tov_us", value=300)


def _of_words(record: Aspect, late_us: int) -> Iterator[Break]:
    """What the words of a part name: kinds of message in quotes, times, an Exchange."""
    kinds = _kinds(record)
    for kind in kinds:
        for before in (1, 0):
            yield Break("say", kind, value=max(0, record.now_us - before))
    for sight in record.sights:
        if "_us" in record.aspect and sight.what in ("call", "return", "member"):
            yield Break("early", sight.kind, sight.nth, value="VIP_TIMEOUT")
        if sight.what in ("call", "return", "member"):
            for what in [*kinds, *(what for word, what in _ON_STREAMS.items() if word in record.aspect)]:
                yield Break("upon", sight.kind, sight.nth, what)
        if "_us" in record.aspect and sight.what in ("message", "payload"):
            yield Break("out", sight.kind, sight.nth, "late", late_us)
            yield Break("out", sight.kind, sight.nth, "late", 3 * late_us // 8)
        if "exchange" in record.aspect and sight.what in ("message", "payload", "field"):
            for other in dict.fromkeys((sight.kind, "CONNECT_RQST", "CONNECT_RESP1")):
                yield Break("out", sight.kind, sight.nth[:1], "exchange<", other)
    if "delivered" in record.words or "Messages" in record.words:
        yield from (Break("done", "completion", (number,), "again") for number in range(2, 7))
    if "set(" in record.aspect:  # that what is one of each is the same in all
        for kind, name in _ONE_OF_EACH:
            yield Break("out", kind, (), f"{name}=", 5)


def _kinds(record: Record) -> list[str]:
    """The kinds of message that a part names, or that are not to come."""
    words = record.aspect if isinstance(record, Aspect) else ""
    return [*_KIND.findall(words), *(sight.kind for sight in record.sights if sight.what == "silence")]


def _headers(sight: Sight, headers: Names) -> Iterator[Break]:
    """Bits of the headers of a message that a check is about as a whole."""
    for name in headers(sight.kind):
        yield Break("out", sight.kind, sight.nth[-1:], f"{name}^", 1)
    yield Break("out", sight.kind, sight.nth[-1:], "pad", 2000)
    if "length" in headers(sight.kind):
        yield Break("out", sight.kind, sight.nth[-1:], "length=", _SHORT)
        yield Break("out", sight.kind, sight.nth[-1:], "header")
    for value in ("=", "^"):
        for name in headers(sight.kind):
            yield Break("out", sight.kind, sight.nth[-1:], f"{name}{value}", 0 if value == "=" else _ALL)


def _of_sight(record: Record, sight: Sight, late_us: int) -> Iterator[Break]:
    if sight.what == "message":
        yield Break("out", sight.kind, sight.nth, "drop")
        yield Break("out", sight.kind, sight.nth[:1], "drop-from-here")
    elif sight.what == "silence":
        since = record.now_us if record.primitive == "expect_nothing" else record.now_us - 2
        yield Break("say", sight.kind, what=sight.name.replace(" ", ":"), value=max(0, since + 1))
    elif sight.what == "field":
        yield from _fields(record, sight)
    elif sight.what == "payload":
        for what, value in _TO_A_PAYLOAD:
            yield Break("out", sight.kind, sight.nth[-1:], what, value)
        yield Break("out", sight.kind, sight.nth, "drop")
    elif sight.what == "stream":
        yield Break("stream", sight.kind, sight.nth, "never-opens" if sight.name == "open" else "stays-open")
    elif sight.what == "time":
        yield Break("out", sight.kind, sight.nth, "late", late_us)
    else:
        yield from _of_call(record, sight)


def _fields(record: Record, sight: Sight) -> Iterator[Break]:
    """Other values of a field: each bit group of one bit, both ends, the neighbours, and values that have a name."""
    frame = sight.nth[-1:] if sight.name.startswith(("DH.", "FC.", "@")) else sight.nth
    if sight.name.startswith("@"):
        yield Break("out", sight.kind, frame, f"{sight.name.partition('/')[0]}^", 1)
        yield Break("out", sight.kind, frame, f"{sight.name.partition('/')[0]}^", 0x80)
        return
    if not isinstance(sight.value, int):
        yield Break("out", sight.kind, frame, f"{sight.name}^", 1)
        yield Break("out", sight.kind, frame, f"{sight.name}%")
        return
    allowed = {sight.value, *record.wanted, *(value for value, _ in record.tolerated)}
    others = [value for value in values_of(sight.name, sight.value) if value not in allowed]
    if sight.name == "FC.SEQ_CNT":  # of this frame and those after it
        for more in (5, 0xFFFF - sight.value):
            yield Break("out", sight.kind, frame, f"{sight.name}+", more)
    for value in others:
        yield Break("out", sight.kind, frame, f"{sight.name}=", value)
    constant = [sight.value] if record.primitive != "equal" else []
    for value in [*constant, *others[:1]]:  # the same in each message of the kind
        yield Break("out", sight.kind, (), f"{sight.name}=", value)


def values_of(name: str, seen: int) -> list[int]:
    """Values of a field beside the one that was seen: one bit, both ends, those behind what has a name, the neighbours."""
    field = _field(name)
    top = (1 << (field.hi - field.lo + 1)) - 1 if field is not None else 1
    named = [value for value, _ in field.codes] if field is not None else []
    behind = [value + 1 for value in named if value + 1 not in named]
    size = field.size if field is not None else 0
    turned = [int.from_bytes(seen.to_bytes(size, "big"), "little")] if 1 < size <= 4 and seen < 1 << 8 * size else []
    every = [seen ^ 1, 0, top, *turned, *behind[:_MOST_BEHIND], seen + 1, seen - 1, seen ^ (top + 1) >> 1, *named]
    most = _MOST_VALUES + len(turned) + len(behind)
    return list(dict.fromkeys(value for value in every if 0 <= value <= top and value != seen))[:most]


def _field(name: str) -> Any:
    structure, _, path = name.partition(".")
    for of in (structure, f"{structure}_REV1"):
        try:
            owner, ident, _ = codec.within(of, path)
        except KeyError:
            continue
        return codec.FIELDS[owner][ident]
    return None


def _of_call(record: Record, sight: Sight) -> Iterator[Break]:
    if sight.what == "call":
        if sight.value is False:
            yield Break("early", sight.kind, sight.nth, value="VIP_TIMEOUT")
            yield Break("early", sight.kind, sight.nth, value="VIP_SUCCESS")
        elif record.primitive == "expect_return":
            yield Break("early", sight.kind, sight.nth, value="VIP_TIMEOUT")
        else:
            yield Break("never", sight.kind, sight.nth)
    elif sight.what == "return":
        for code in _CODES:
            if code not in record.wanted and code != sight.value:
                yield Break("ret", sight.kind, sight.nth, value=code)
    elif sight.what == "member":
        yield from _members(sight)
    elif sight.what == "completion":
        for what in ("none", "bad", "good", "other", "again", "twice", "length", "immediate", "undone"):
            yield Break("done", "completion", sight.nth, what)
    elif sight.what in ("error", "state"):
        yield Break(sight.what, sight.what, sight.nth, "none")
        if sight.what == "error":
            yield Break("error", "error", sight.nth, "code", "VIP_ERROR_OVERRUN_RECVQ")
            yield Break("error", "error", sight.nth, "vi", _NOBODY)


def _members(sight: Sight) -> Iterator[Break]:
    """A member of an answer, from this call on."""
    if sight.name in _NAMES:
        yield Break("member", sight.kind, sight.nth, sight.name, "before")  # two things have one name
        return
    if sight.name == "State":
        for state in STATES:
            if state != sight.value:
                yield Break("member", sight.kind, sight.nth, "State", (sight.value, state))
    elif isinstance(sight.value, dict):
        for name in sight.value:
            yield Break("member", sight.kind, sight.nth, sight.name, name)
    else:
        for end in ("first", "last", "before"):
            yield Break("member", sight.kind, sight.nth, sight.name, end)


def choices(record: Record) -> Iterator[Break]:
    """The devices that take a value which the check lets pass beside the one that was seen: an erratum, or another code."""
    also = list(record.passing) if isinstance(record, Aspect) else []
    for sight in record.sights:
        passing: list[Any] = [value for value, _ in record.tolerated]
        if sight.what == "return" and record.primitive == "finish":
            passing += record.wanted
        if isinstance(record, Aspect) and _alike(record.seen, sight.value) and record.seen == sight.value:
            passing, also = [*passing, *also], []  # what was read last is what is compared
        for value in dict.fromkeys(value for value in passing if value != sight.value and _alike(value, sight.value)):
            if sight.what == "field":
                yield Break("out", sight.kind, sight.nth, f"{sight.name}=", value)
            elif sight.what == "return":
                yield Break("ret", sight.kind, sight.nth, value=value)
            elif sight.what == "member" and sight.name == "State":
                yield Break("member", sight.kind, sight.nth, "State!", (sight.value, value))
    if record.primitive == "expect_time":
        for sight in record.sights:
            yield Break("out", sight.kind, sight.nth, "late", _IN_TIME_US)


def _alike(one: Any, other: Any) -> bool:
    """Whether both are numbers, or both are words."""
    return any(isinstance(one, kind) and isinstance(other, kind) for kind in (int, str))


def everywhere(counts: Mapping[str, int], record: Record, headers: Names, kinds: Sequence[str]) -> Iterator[Break]:
    """What can be broken at all in a variant, the coarse first: for a check whose own devices are not named.

    counts: how many the reference port sent, heard, was asked and told, by kind. kinds: of messages that a device may say.
    """
    parts = [(*key.partition(" ")[::2], count) for key, count in sorted(counts.items())]
    sent = [(verb, kind, count) for verb, kind, count in parts if verb in ("frame", "pdu") and kind]
    messages = [(kind, count) for _, kind, count in sent]
    for kind, _ in messages:
        yield Break("out", kind, (1,), "drop-from-here")
    for verb, kind, _ in parts:
        if verb == "in":
            yield Break("deaf", kind)
    for verb, kind, count in parts:
        at = verb == "in" or verb == "call" and kind.startswith("Vip")
        for number in range(max(1, count - _LAST + 1), count + 1) if at else ():
            for what in dict.fromkeys(_kinds(record)):
                yield Break("upon", kind, (number,), what)
        for number in range(max(1, count - _LAST + 1), count + 1) if verb == "in" and kind in _MESSAGES else ():
            for what in ("good", "bad", "heard"):
                yield Break("upon", kind, (number,), what)
    for verb, kind, count in sent:
        yield from _lately(record, verb, kind, range(max(1, count - _LAST + 1), count + 1))
    for kind in kinds:
        yield Break("say", kind, value=max(0, record.now_us - 1))
        for method in (name for verb, name, _ in parts if verb == "call" and name in _POSTS):
            yield Break("upon", method, (counts[f"call {method}"],), kind)
    if counts.get("stream dut", 0) > 1:
        yield Break("stream", "dut", (), "one-port")
    for percent in (10, 50, 300):
        yield Break("config", "r_a_tov_us", value=percent)
    for verb, kind, count in parts:
        if (verb, kind, count) not in sent:
            yield from _lately(record, verb, kind, range(max(1, count - _LAST + 1), count + 1))
    heard = counts.get("in stream.data", 0)
    for number in range(max(1, heard - 1), heard + 1):
        for what in ("closes", "closes-others"):
            yield Break("reply", "wire", (number,), what)
        for kind in kinds:
            yield Break("reply", kind, (number,))
    names = list(dict.fromkeys(name for kind, _ in messages for name in headers(kind)))
    for name in names:
        for kind, _ in messages:
            if name in headers(kind):
                yield Break("out", kind, (), f"{name}^", 1)
                yield Break("out", kind, (), f"{name}=", 5)


def _lately(record: Record, verb: str, kind: str, last: range) -> Iterator[Break]:
    """The last few of a kind."""
    for number in last:
        if verb in ("frame", "pdu") and kind:
            yield Break("out", kind, (number,), "drop")
            yield Break("out", kind, (number,), "again")
            yield Break("out", kind, (number,), "payload-first")
            if verb == "frame":
                yield Break("out", kind, (number,), "DH.FCVI_RMT_VA^", 1)
            if verb == "pdu":
                yield Break("out", kind, (number,), "swap")
        elif verb == "in":
            yield Break("deaf", kind, (number,))
        elif verb == "told":
            yield from _of_call(record, Sight(kind, kind, (number,)))
        elif verb == "stream":
            for what in ("never-opens", "refuses", "stays-open", "elsewhere", "one-port"):
                yield Break("stream", kind, (number,), what)
        elif verb == "call" and kind.startswith("Vip"):
            yield Break("ignore", kind, (number,))
            if kind == "VipCreateVi":
                yield Break("member", kind, (number,), "vi", "before")
            if kind.startswith("VipConnect"):
                yield Break("member", kind, (number,), "conn", "before")
                yield Break("early", kind, (number,), value="VIP_TIMEOUT")
            yield Break("never", kind, (number,))
            for code in _CODES[:3]:
                yield Break("ret", kind, (number,), value=code)
        elif verb == "call" and kind == "mem.read":
            for how in ("first", "last", "before"):
                yield Break("member", kind, (number,), "hex", how)


def _told(record: Record) -> Iterator[Break]:
    """What a device may tell though nothing happened, shortly before the check."""
    before = max(0, record.now_us - 1)
    yield Break("tell", "error", value=before)
    for what in ("closes", "opens"):
        yield Break("tell", "wire", what=what, value=before)
    for queue in ("recv", "send"):
        for how in ("good", "bad"):
            yield Break("tell", queue, what=how, value=before)


__all__ = ["STATES", "choices", "devices", "everywhere", "values_of"]
