"""The providers that follow from a check: each breaks something that the check may have looked at.

A check of calls compares what was read from answers. Which member that was it does not say; so each member of the answers that were
read before it is altered in turn, the surest first: another code, another state, bytes that are wrong, a completion that is lost,
doubled, or has another status. Then the members of what was asked: the provider takes one for another.

A check is noted once for each part of its condition, and once more if it is about something that has to come: a Descriptor, a Work
Completion, a notification. Then the devices are those at which it does not. That a call returns is a part of its own:
``call.done``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, fields
from itertools import islice, permutations, product
from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, Sequence

from fcvi.engine import proof
from fcvi.engine.breaks import Break
from fcvi.engine.catalogue import COMES
from fcvi.engine.conditions import Condition, here
from fcvi.engine.upper_tester import Call

from .layer import DIGIT, Path, member_of
from .parts import Aspect

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
#: Of Status: DONE, errors, operation, immediate, none.
_WORD_BITS = (1, 2, 4, 8, 32, 128, 256, 1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20)
#: What an agent tells of itself, and numbers that name something: another one asks for nothing that a provider owes.
_NOT_ITS_OWN = frozenset(("thread", "at_us", "value", "return", "errno", "vendor_err", "first"))
_NUMBERS = frozenset(("nic", "vi", "mem", "conn", "ptag", "cq", "qp", "pd", "mr", "mw", "srq", "rnic", "request", "listener", "ah"))
#: Members that name one thing: no other of its kind has the same.
NAMES = frozenset(("value", "handle", "va", "qp_num", "lkey", "rkey"))
#: Numbers of a request that say how much.
_SIZES = frozenset(("length", "Length", "entries", "sq_size", "rq_size", "size", "limit", "max_rd_atomic", "max_dest_rd_atomic"))
_TURNS = (16, 6, 3)  # of each answer in turn: what was read last is the surest
_FIRST = 24  # devices before those of calls that are under way
_TOKEN = re.compile(r"[\w.-]+")
_TIMES = ("early", "late", "block", "time")  # words for how long a call took
_NOTHING = ("not called", "none", "nothing", "never", "NULL", "no Descriptor")  # words for what may not come
_COMES = ("return", "answer", "come", "at once")  # words for a call that may not block
HOLDS_PRIMITIVES = True  # a check is that of whoever called the recorder (proof.py)
_READ = 6  # answers before a check that it may be about
_OF_THE_SUITE = ("agent.", "inject", "mem.new", "mem.pattern-write")
_GRANTED = ("ord", "ird")  # what is asked for by these names is told in the answer
_TABLES = frozenset(("NicAttribs", "attributes", "ViAttribs", "cap"))  # members of answers that are looked up later
_FEW = 6  # numbers that an agent gives first
_SOME_US = 2_000_000  # more than what is called immediate
_LONG_US = 60_000_000  # more than any call may take
_LONG = 40  # digits, of which one is altered by its place
_NOTIFICATIONS = ("notify", "error", "async", "cm", "connect-request")
#: Other values of what is told, by kind.
_MEMBERS: Mapping[str, Sequence[tuple[str, Any]]] = {
    "error": (("code", "VIP_ERROR_CATASTROPHIC"), ("code", "VIP_ERROR_CONN_LOST"), ("ResourceCode", "VIP_RESOURCE_CQ"),
              ("OpCode", 77), ("Context", 1), ("vi", None), ("vi", 9999), ("nic", -1), ("nic", None), ("cq", -1),
              ("code", "VIP_CODE_99"), ("code", "VIP_ERROR_RDMAW_PROT")),
    "notify": (("DescriptorPtr", None), ("Context", 1), ("what", "VipSendNotify"), ("what", "VipRecvNotify"), ("vi", 9999),
               ("RecvQueue", False), ("RecvQueue", True), ("count", 2), ("within", "VipPostSend"), ("DescriptorPtr.status", []),
               ("DescriptorPtr", {"descriptor": 1, "status": ["VIP_STATUS_DONE"], "length": 64})),
    "async": (("event", "QP_FATAL"), ("event", "CQ_ERR"), ("event", "COMM_EST"), ("qp", None), ("cq", None), ("srq", None)),
    "cm": (("event", "DISCONNECTED"), ("event", "REJECTED"), ("qp", None)),
}
#: What may be told of an object though nothing happened to it.
_UNCAUSED: Mapping[str, Sequence[tuple[str, Mapping[str, Any]]]] = {
    "vi": (("error", {"code": "VIP_ERROR_CONN_LOST", "OpCode": 0, "ResourceCode": "VIP_RESOURCE_VI", "Context": 77}),),
    "qp": (("async", {"event": "QP_FATAL"}), ("cm", {"event": "DISCONNECTED", "status": 0})),
    "cq": (("async", {"event": "CQ_ERR"}),),
    "srq": (("async", {"event": "SRQ_LIMIT_REACHED"}),),
}
#: What a list may have that has nothing, by its name.
_ADDED = {"flags": "WITH_INV", "missing": "VipDisconnect"}
#: Words of a check for what a Descriptor has in its Status.
_OF_STATUS = ("Status", ".status", ".good", ".errors")


Numbered = tuple[tuple[int, Call], ...]


@dataclass(frozen=True)
class Answer:
    """An answer that was read before a check, and what had been asked."""

    method: str
    nth: int
    result: Mapping[str, Any]
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class OfCalls(Aspect):
    """read, earlier, waiting: the calls that it may be about, with which of their method each is."""

    read: Numbered = ()
    earlier: Numbered = ()
    waiting: Numbered = ()


class Reader(proof.Recorder):
    """Notes as the sights of each check the answers that had been read before it: the read ones, and those that have names."""

    def __init__(self) -> None:
        super().__init__()
        self._answers: list[Call] = []
        self._brought: dict[int, Call] = {}  # what brought a Descriptor or a WC, by the identity of that
        self._unsorted: list[Call] = []  # of which it is not known what they tell
        self._named: list[Call] = []  # that gave something a name
        self._tables: list[Call] = []  # that told what is looked up later

    def begin(self) -> None:
        super().begin()
        for calls in (self._answers, self._unsorted, self._named, self._tables):
            calls.clear()
        self._brought.clear()

    def _sort(self) -> None:
        done = [call for call in self._unsorted if call.reply.done]
        self._unsorted = [call for call in self._unsorted if not call.reply.done]
        self._named += [call for call in done if not NAMES.isdisjoint(call.reply.result) or call.method.endswith("Notify")]
        self._tables += [call for call in done if not _TABLES.isdisjoint(call.reply.result)]
        for call in done:
            for thing in (call.reply.result.get("DescriptorPtr"), *(call.reply.result.get("wcs") or ())):
                if isinstance(thing, dict):
                    self._brought[id(thing)] = call

    def started(self, method: str, call: Any) -> None:
        super().started(method, call)
        if not method.startswith(_OF_THE_SUITE):
            self._answers.append(call)
            self._unsorted.append(call)

    def note(
        self, primitive: str, requirement: str, looks: Sequence[proof.Look], resolve: Callable[[proof.Look], Optional[proof.Sight]],
        condition: bool = False, wanted: Sequence[Any] = (), tolerated: Optional[Mapping[Any, str]] = None, now_us: int = 0,
        words: str = "", turn: str = "", erratum: str = "",
    ) -> None:  # fmt: skip
        fresh = tuple(reversed(self._looks.values())) or (self._before if condition else ())
        read = [look.thing for look in (*fresh, *looks) if isinstance(look.thing, Call)]
        super().note(primitive, requirement, looks, lambda look: None, condition, wanted, tolerated, now_us, words, turn, erratum)
        last = [call for call in self._answers[-8:] if call.reply.done and call.reply.error is None][::-1]
        chosen = list({id(call): call for call in (*read, *last) if call.reply.done and call.reply.error is None}.values())
        self._sort()
        known = {id(call) for call in chosen}
        named = (call for call in reversed(self._named) if id(call) not in known)
        first = chosen[:_READ]
        read_first = {id(call) for call in first}
        chosen = [*first, *(call for call in self._tables[:-3:-1] if id(call) not in read_first)]
        waiting = [call for call in (*read, *reversed(self._answers[-8:])) if not call.reply.done]
        told = self._numbered(chosen), self._numbered(list(islice(named, _READ))[::-1]), self._numbered(waiting[:2])
        record, found = self.records.pop(), here()
        parts = found.parts if found is not None else ()
        gone = tuple(dict.fromkeys(self._gone(found))) if found is not None and record.place else ()
        ways = [found.passing(part) for part in parts] if found is not None else []
        aspects = [(part.words, () if part.arrives else gone, *way) for part, way in zip(parts, ways)] or [("", (), None, ())]
        if gone and not any(part.arrives for part in parts):
            aspects.append((COMES, gone, None, ()))
        of_record = {one.name: getattr(record, one.name) for one in fields(record)}
        of_record["turn"] = record.turn if found is not None and found.varies and record.place else ""
        for words_of, lost, seen, passing in aspects:
            self.records.append(OfCalls(
                **of_record, aspect=words_of, gone=lost, seen=seen, passing=passing, read=told[0], earlier=told[1],
                waiting=told[2],
            ))  # fmt: skip

    def _numbered(self, calls: Iterable[Call]) -> Numbered:
        return tuple((nth[0], call) for call in calls for nth in [self.ordinal(call.method, call)] if nth)

    def _gone(self, condition: Condition) -> Iterator[Break]:
        """The providers at which what the parts are about does not come: the Descriptor or the WC never does, the notification is
        lost."""
        for part in condition.parts:
            for thing in _inside(condition.things(part), 3) if part.comes and not part.arrives else ():
                if isinstance(thing, tuple):
                    kind = getattr(thing, "kind", "notify" if getattr(thing, "params", {}).get("what") else "error")
                    yield from (Break("silent", kind), *(Break("silent", kind, (number,)) for number in (1, 2, 3)))
                elif id(thing) in self._brought:
                    yield from self._without(thing, self._brought[id(thing)])

    def _without(self, thing: Mapping[str, Any], call: Call) -> Iterator[Break]:
        nth = self.ordinal(call.method, call)
        answer = Answer(call.method, nth[0] if nth else 0, call.reply.result)
        if "wcs" in call.reply.result:
            yield _answer(answer, ("wcs",), [one for one in call.reply.result["wcs"] if one is not thing])
        else:
            code = "VIP_TIMEOUT" if call.method.endswith("Wait") else "VIP_NOT_DONE"
            yield _answer(answer, (), {"return": code, "DescriptorPtr": None}, "nothing")


def _inside(things: Iterable[Any], depth: int) -> Iterator[Any]:
    """What came among these things and in them: notifications, Descriptors and WCs."""
    for thing in things:
        if isinstance(thing, Mapping) or isinstance(thing, tuple) and hasattr(thing, "params"):
            yield thing
        if depth and isinstance(thing, (list, tuple, set)) and len(thing) < 64:
            yield from _inside(thing, depth - 1)
        elif depth:
            held = (getattr(thing, name, None) for name in ("ptr", "raw", "wcs", "call", "active", "passive"))
            yield from _inside((one for one in held if one is not None), depth - 1)


def providers(record: proof.Record) -> list[Break]:
    """Each provider of a check that a Reader has noted, the surest first."""
    assert isinstance(record, OfCalls)
    if record.aspect == COMES:
        return list(record.gone)
    last, earlier, waiting = (_answers(calls) for calls in (record.read, record.earlier, record.waiting))
    early = [_answer(one, (), {"return": code}, verb) for one in waiting for code in ("VIP_SUCCESS", "VIP_TIMEOUT")
             for verb in ("ahead", "pretend")]  # fmt: skip
    denies = " nothing" if record.aspect.startswith("not ") or record.aspect.endswith("is None") else ""
    lacking = [one for answer in last for one in _without_member(answer, record.words)]
    found = lacking + devices(last, [*record.wanted, denies], f"{record.words} {record.aspect}", earlier)
    blocks = record.aspect.startswith("not ") and record.aspect.endswith(".done") or "wait" in " ".join(map(str, record.wanted))
    return early + found if blocks else [*found[:_FIRST], *early, *found[_FIRST:]]


def _without_member(answer: Answer, words: str) -> Iterator[Break]:
    """An answer that lacks the member that the words name."""
    for path, of in [((), answer.result), *((path, of) for path, of in _members_of(answer.result, ()))]:
        for name in of:
            if len(str(name)) > 3 and str(name) in words.split():
                yield _answer(answer, path, {other: value for other, value in of.items() if other != name})


def _members_of(of: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for name, value in of.items():
        if isinstance(value, Mapping):
            yield (*path, name), value


def others_that_pass(record: proof.Record) -> Iterator[Break]:
    """The providers that return another code of those that pass, or have another state: it is the last that was read."""
    if not isinstance(record, OfCalls) or record.aspect == COMES or not record.place:
        return  # what is looked at in every case says only what a code can be
    passing = {code for words in record.wanted for code in str(words).split() if code.startswith("VIP_")}
    for answer in _answers(record.read[:1]):
        code = answer.result.get("return")
        for other in sorted(passing - {code}) if code in passing else ():
            yield _answer(answer, ("return",), other)
    for answer in _answers(record.read) if isinstance(record.seen, str) else ():
        for name in ("return", *_STATES):
            if answer.result.get(name) == record.seen:
                yield from (_answer(answer, (name,), other) for other in record.passing if isinstance(other, str))


def _answers(calls: Numbered) -> list[Answer]:
    return [Answer(call.method, nth, call.reply.result, call.params) for nth, call in calls]


def _answer(of: Answer, path: Path, value: Any, verb: str = "answer") -> Break:
    return Break(verb, of.method, (of.nth,), _written(path), json.dumps(value, separators=(",", ":")))


def _written(path: Path) -> str:
    return ".".join(str(step).replace(".", ":") for step in path)


def devices(answers: Sequence[Answer], wanted: Sequence[Any], words: str, earlier: Sequence[Answer] = ()) -> list[Break]:
    """Each provider of a check; answers: the last ones first. wanted: what passes. words: of its breach, whose names come first.

    earlier: answers from before, of which only the names matter.
    """
    streams: list[list[Break]] = [list(_of_answer(answer, wanted)) for answer in answers]
    streams += [list(_of_names([*answers, *earlier])), list(notifications()), list(_of_refusals(answers, earlier))]
    streams += [[device for answer in answers for device in _of_no_cause(answer)], list(_of_extra_wcs(answers, earlier))]
    streams += [list(_of_extra_descriptors(answers, earlier)), list(_of_handlers(answers, earlier))]
    sizes = [_TURNS[min(at, len(_TURNS) - 1)] for at in range(len(streams))]
    rounds = max(-(-len(stream) // size) for stream, size in zip(streams, sizes))
    turns = (stream[at * size : (at + 1) * size] for at in range(rounds) for stream, size in zip(streams, sizes))
    every = dict.fromkeys(device for turn in turns for device in turn)
    known = {(a.method, a.nth, _written(path)): value for a in answers for path, value in _members(a.result, ())}
    tokens = {token for one in wanted for token in _TOKEN.findall(str(one)) if len(token) > 1}
    waits, quiet = (any(word in str(one) for one in wanted for word in words_of) for words_of in (_COMES, _NOTHING))

    def surest(device: Break) -> int:
        was = known.get((device.kind, device.nth[0], device.what)) if device.nth else None
        if _is_named(device, words):
            return 0
        if device.kind == "layout":
            return 3
        compared = device.verb.startswith("answer") and str(was) in tokens
        if device.what == "us" and not any(word in words for word in _TIMES):
            return 3
        uncaused = device.verb == "says" or device.what in ("wcs", "DescriptorPtr")
        return 1 if compared or waits and device.verb in ("late", "never") or quiet and uncaused else 2

    return sorted(every, key=surest)


def _of_refusals(answers: Sequence[Answer], earlier: Sequence[Answer]) -> Iterator[Break]:
    """What was refused succeeds, as it did another time."""
    for answer in answers:
        code = str(answer.result.get("return", "success"))
        good = "VIP_SUCCESS" if code.startswith("VIP_") else "success"
        if code != good:
            same = (one.result for one in (*answers, *earlier) if one.method == answer.method and one.result.get("return") == good)
            asked = {name: value for name, value in answer.params.items() if name in _GRANTED}
            yield _answer(answer, (), {**asked, **next(same, {"return": good})})
            for cq in range(_FEW) if answer.method.endswith("GetEvent") else ():  # of a CQ that the case may have
                yield _answer(answer, (), {"return": good, "cq": cq})


def _of_extra_wcs(answers: Sequence[Answer], earlier: Sequence[Answer]) -> Iterator[Break]:
    """A poll of an empty CQ that gives a WC: one that came before, or one of a QP that there is."""
    every = (*answers, *earlier)
    seen = [wc for answer in every for wc in answer.result.get("wcs") or ()]
    numbers = [answer.result["qp_num"] for answer in every if "qp_num" in answer.result] or [1]
    made = {"wr_id": "0" * 16, "status": "SUCCESS", "opcode": "RECV", "byte_len": 8, "qp_num": numbers[0], "qp": None, "flags": []}
    for answer in answers:
        if answer.result.get("wcs") == []:
            for wc in (*seen[-1:], made):
                yield _answer(answer, ("wcs",), [wc])


def _of_extra_descriptors(answers: Sequence[Answer], earlier: Sequence[Answer]) -> Iterator[Break]:
    """A queue that has nothing gives a Descriptor: one that came before, or one that is made up, good or not."""
    seen = [found for one in (*answers, *earlier) if isinstance(found := one.result.get("DescriptorPtr"), Mapping)]
    good = {"descriptor": 1, "va": "0" * 16, "status": ["VIP_STATUS_DONE"], "length": 64, "Status": 1, "hex": "0" * 128,
            "immediate": None, "again": False}  # fmt: skip
    for answer in answers:
        if answer.result.get("DescriptorPtr", answer) is None:
            for one in (*seen[:1], good):
                yield _answer(answer, ("DescriptorPtr",), one)
                yield _answer(answer, (), {**answer.result, "return": "VIP_SUCCESS", "DescriptorPtr": one})


def _of_names(answers: Sequence[Answer]) -> Iterator[Break]:
    """Something is given the name that another thing of its kind has."""
    for one, other in permutations(answers, 2):
        for name in sorted(NAMES) if one.method == other.method else ("rkey",):
            if name in one.result and one.result[name] != other.result.get(name, one.result[name]):
                yield _answer(one, (name,), other.result[name])
        both = {name: other.result[name] for name in NAMES & one.result.keys() & other.result.keys()}
        if one.method == other.method and len(both) > 1 and both != {name: one.result[name] for name in both}:
            yield _answer(one, (), {**one.result, **both})


def _is_named(device: Break, words: str) -> bool:
    """Whether the words of a breach name the member that is altered, or its list, or the error bit of a Descriptor."""
    path = member_of(device)
    last = next((name for name in path[:-3:-1] if isinstance(name, str)), "")
    if len(last) > 2 and last.lower() in words.lower():
        return True
    bits = (bit for bit in _BIT if f"VIP_STATUS_{bit}" in str(device.value))
    told = any(word in words for word in _OF_STATUS) or any(bit.removesuffix("_ERROR") in words for bit in bits)
    return path == ("DescriptorPtr",) and told


def notifications() -> Iterator[Break]:
    """What a provider tells by itself is lost, or told twice."""
    for kind in _NOTIFICATIONS:
        yield Break("silent", kind)
        yield Break("twice", kind)
    for number in (1, 2):
        for kind, members in _MEMBERS.items():
            yield Break("silent", kind, (number,))
            for member, value in members:
                yield Break("told", kind, (number,), member, json.dumps(value))


def _handler_called(of: Answer, behind: Answer) -> Break:
    """The handler of a Notify call is called behind an answer."""
    params = {name: of.params[name] for name in ("end", "nic", "vi", "cq") if name in of.params}
    told = {"what": of.method, "Context": of.params.get("Context", 0), "registration": of.result.get("registration", 99),
            "count": 1, "DescriptorPtr": None, "at_us": 0}  # fmt: skip
    call = {"method": "notify", "params": {**params, **told}}
    return Break("says", behind.method, (behind.nth,), "notify", json.dumps(call, separators=(",", ":")))


def _of_handlers(answers: Sequence[Answer], earlier: Sequence[Answer]) -> Iterator[Break]:
    """A handler is called behind the end of its VI or CQ."""
    for answer, of in product(answers, (*answers, *earlier)):
        named = [name for name in ("vi", "cq") if name in answer.params and answer.params[name] == of.params.get(name)]
        if named and of.method.endswith("Notify") and "Destroy" in answer.method:
            yield _handler_called(of, answer)


def _of_no_cause(answer: Answer) -> Iterator[Break]:
    """Something is told behind an answer, of an object that was asked about, though nothing happened to it."""
    ends = {name: answer.params[name] for name in ("end", "nic") if name in answer.params}
    if answer.method.endswith(("CreateQp", "PollCq")):  # a request for a connection that nobody made
        made = {"method": "connect-request", "params": {**ends, "listener": 0, "request": 99, "ord": 1, "ird": 1, "at_us": 0}}
        yield Break("says", answer.method, (answer.nth,), "connect-request", json.dumps(made, separators=(",", ":")))
    if answer.method.endswith("Notify"):  # a handler that is called though nothing is there
        yield _handler_called(answer, answer)
    for name, told in _UNCAUSED.items():
        for method, params in told if isinstance(answer.params.get(name), int) else ():
            made = {"method": method, "params": {**ends, name: answer.params[name], "at_us": 0, **params}}
            yield Break("says", answer.method, (answer.nth,), method, json.dumps(made, separators=(",", ":")))


def _of_answer(answer: Answer, wanted: Sequence[Any]) -> Iterator[Break]:
    passing = " ".join(map(str, wanted)).split()
    code = answer.result.get("return")
    for name, states in _STATES.items():
        told = answer.result.get(name)
        for state in states if isinstance(told, str) else ():
            if state != told:
                yield _answer(answer, (name,), state, "answer-from")
    if isinstance(code, str):
        known = _CODES["VIP_" if code.startswith("VIP_") else ""]
        for other in (c for c in known if c != code and c not in passing):
            yield _answer(answer, ("return",), other)
    if answer.method.endswith("Done") and code != "VIP_NOT_DONE":
        yield _answer(answer, (), {"return": "VIP_NOT_DONE"}, "nothing")
    yield from _of_completions(answer)
    for path, value in _members(answer.result, ()):
        for other in _others(path, value):
            yield _answer(answer, path, other)
            yield _answer(answer, path, other, "answer-from")
    for name in sorted(_NUMBERS & answer.result.keys()) if ".Query" in answer.method else ():
        if isinstance(answer.result[name], int):
            yield _answer(answer, (name,), answer.result[name] + 1)
    yield from _of_request(answer)
    if isinstance(code, str) and code in ("success", "VIP_SUCCESS"):
        yield _answer(answer, (), dict(answer.result), "pretend")
    always = _CODES["VIP_" if code.startswith("VIP_") else ""] if isinstance(code, str) else ()
    for other in (c for c in always if c != code and c not in passing):
        yield _answer(answer, ("return",), other, "answer-from")
    yield Break("late", answer.method, (answer.nth,))
    yield Break("late", answer.method, (answer.nth,), value=_SOME_US)
    yield Break("late", answer.method, (answer.nth,), value=_LONG_US)
    yield Break("never", answer.method, (answer.nth,))


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
            yield _answer(answer, path, other, "asked-from")
            yield _answer(answer, path, other, "asked")


def _of_completions(answer: Answer) -> Iterator[Break]:
    """A completion that is lost, comes twice, or has another status."""
    result = answer.result
    if isinstance(result.get("DescriptorPtr"), Mapping):
        yield _answer(answer, (), {"return": "VIP_NOT_DONE", "DescriptorPtr": None}, "nothing")
        yield Break("again", answer.method, (answer.nth,))
        found = result["DescriptorPtr"]
        if isinstance(found.get("Status"), int):
            names = [name for name in found.get("status", []) if name != "VIP_STATUS_DONE"]
            if names:
                yield from _status(answer, found, {**found, "status": ["VIP_STATUS_DONE"], "Status": found["Status"] & ~0x1FE})
            yield from _status(answer, found, {**found, "status": [], "Status": found["Status"] & ~0x1FF})  # neither good nor bad
            for name, mask in _BIT.items():
                told = [*found.get("status", []), f"VIP_STATUS_{name}"]
                yield from _status(answer, found, {**found, "status": told, "Status": found["Status"] | mask})
            for bit in _WORD_BITS:
                yield from _status(answer, found, {**found, "Status": found["Status"] ^ bit})
    wcs = result.get("wcs")
    if isinstance(wcs, list) and wcs:
        yield _answer(answer, ("wcs",), wcs[1:])
        yield _answer(answer, ("wcs",), [*wcs, wcs[-1]])
        for status in (s for s in _STATUSES if s != wcs[-1].get("status")):
            yield _answer(answer, ("wcs", len(wcs) - 1, "status"), status)
            yield _answer(answer, ("wcs", 0, "status"), status)
        if len(wcs) > 1:
            yield _answer(answer, ("wcs",), wcs[::-1])


_BIT = {
    "FORMAT_ERROR": 2, "PROTECTION_ERROR": 4, "LENGTH_ERROR": 8, "PARTIAL_ERROR": 16, "DESC_FLUSHED_ERROR": 32,
    "TRANSPORT_ERROR": 64, "RDMA_PROT_ERROR": 128, "REMOTE_DESC_ERROR": 256, "IMMEDIATE": 1 << 19,
}  # fmt: skip


def _status(answer: Answer, was: Mapping[str, Any], told: Mapping[str, Any]) -> Iterator[Break]:
    if told != was:
        yield _answer(answer, ("DescriptorPtr",), told)


def _members(of: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """The members of an answer that are the provider's own, down to single values."""
    inside: Iterable[tuple[Any, Any]] = of.items() if isinstance(of, Mapping) else enumerate(of[:2]) if isinstance(of, list) else ()
    for name, value in inside:
        if name in _NOT_ITS_OWN or name in _STATES or (name in _NUMBERS and isinstance(value, int)):
            continue
        if isinstance(value, (Mapping, list)):
            if isinstance(value, list):
                yield (*path, name), value
            yield from _members(value, (*path, name))
        else:
            yield (*path, name), value


def _others(path: Path, value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield from (not value, 2)
    elif path == ("us",):  # how long a call took
        yield from (0, value + 10**9)
    elif isinstance(value, int):
        yield from dict.fromkeys((value + 1, 0 if value else 7, max(0, value - 1)))
    elif isinstance(value, str) and path[-1] == "Name":
        yield "x" * 64
    elif isinstance(value, str) and value:
        if len(value) > _LONG:
            yield from ({DIGIT: -1}, {DIGIT: 0})
            return
        last = "1" if value[-1] == "0" else "0"
        yield value[:-1] + last
        yield ("1" if value[0] == "0" else "0") + value[1:]
        if len(value) > 1:  # the lowest bits of a word that lies in memory with its lowest byte first
            yield value[0] + ("1" if value[1] == "0" else "0") + value[2:]
    elif isinstance(value, list):
        yield from ([], value[:-1], value[:1]) if value else [[_ADDED.get(path[-1], "REMOTE_WRITE")]]
    elif value is None and path[-1] in ("immediate", "RemoteAddr"):
        yield 0x5A5A5A5A


__all__ = ["Answer", "OfCalls", "Reader", "devices", "notifications", "others_that_pass", "providers"]
