"""The words of a page (page.py): calls and answers, times by the names of timers, and what a check compares."""

from __future__ import annotations

import ast
import json
import re
from typing import Any, Callable, Mapping, Optional

from .pixit import Pixit
from .proof import Record
from .upper_tester import Call, Completion

_LONGEST = 24  # digits or letters of a value
_MOST = 10  # values of a list
#: What an agent tells of itself, and handles that are told as numbers, too.
_OF_THE_AGENT = frozenset(("thread", "us", "at_us", "value", "vendor_err", "guard"))


def shortened(value: Any) -> str:
    """A value of a call in few words: a name, a number, the beginning of long bytes."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{n} {shortened(one)}" for n, one in value.items() if n not in _OF_THE_AGENT) + "}"
    if isinstance(value, (list, tuple)):
        more = f" and {len(value) - _MOST} more" if len(value) > _MOST else ""
        return "[" + ", ".join(shortened(one) for one in value[:_MOST]) + more + "]"
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "yes", False: "no"}[value]
    text = str(value) or '""'
    if len(text) > _LONGEST and " " not in text and not text.startswith("VIP_"):
        return f"{text[:8]}... ({len(text) // 2} bytes)" if _is_hex(text) else text[:_LONGEST] + "..."
    return text


def _is_hex(text: str) -> bool:
    return set(text) <= set("0123456789abcdefABCDEF")


def _members(of: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {shortened(one)}" for name, one in of.items())


def asked(call: Call) -> str:
    """The call as it is made; at which end is said beside it. Of memory, which no standard has calls for, what is done."""
    params = {name: one for name, one in call.params.items() if name != "end"}
    if call.method in _OF_MEMORY:
        verb = _OF_MEMORY[call.method] if not params.pop("check", False) else "compares"
        return f"{verb} memory {params.pop('mem', '')} ({_members(params)})"
    if "Timeout" in params:
        timeout = params["Timeout"]
        params["Timeout"] = span(timeout, None) if isinstance(timeout, int) else "infinite" if timeout is None else timeout
    return f"{call.method}({_members(params)})"


_OF_MEMORY = {"mem.read": "reads", "mem.write": "writes", "mem.poll": "awaits a value in", "mem.pattern": "fills"}


def answered(call: Call) -> str:
    """What it returned, and what it told: of structures only the Descriptor with its members."""
    if call.reply.error is not None:
        return "error {} ({})".format(*call.reply.error)
    told = {name: one for name, one in call.reply.result.items() if name not in _OF_THE_AGENT}
    words = [str(told.pop("return"))] if "return" in told else []
    if told.get("errno") == 0:
        del told["errno"]
    if "State" in told:
        told.pop("state", None)  # the same once more
    for name, one in told.items():
        if not isinstance(one, Mapping):
            words.append(f"{name} {shortened(one)}")
        elif name == "DescriptorPtr":
            words.append(f"Descriptor {of_descriptor(one)}")
        else:
            words.append(f"{name} {{...}}")
    return ", ".join(words) or "done"


_OF_A_DESCRIPTOR = ("descriptor", "status", "length", "immediate")


def of_descriptor(one: Mapping[str, Any]) -> str:
    """What a completed Descriptor tells, for a reader."""
    return _members({n: one[n] for n in _OF_A_DESCRIPTOR if one.get(n) is not None})


def named_iu(kind: str) -> str:
    """A kind of message by its name in the standard."""
    return f"FCVI_{kind}" if kind.isupper() and "_" in kind and kind not in _NO_IU else kind


#: Messages of other standards (FC-FS, FC-LS) with a name like that of an IU.
_NO_IU = frozenset(("BA_ACC", "BA_RJT", "LS_ACC", "LS_RJT", "ACK_1", "FARP_REQ", "FARP_REPLY", "P_RJT", "F_RJT", "P_BSY", "F_BSY"))


def said(what: str, thing: Any) -> str:
    """What the device told by itself."""
    if isinstance(thing, Completion):
        return f"completion on the {thing.queue} queue of vi {thing.vi}: {thing}"
    if what == "state":
        return f"vi {thing[0]} is now in state {thing[1]}"
    return f"VipErrorCallback {thing[1]}" + (f" of vi {thing[0]}" if thing[0] is not None else "")


def span(us: int, pixit: Optional[Pixit]) -> str:
    """A time by the name of a timer where it is one, or a simple part or multiple of it."""
    if pixit is not None and us > 0:
        for name, timer in (("R_A_TOV", pixit.r_a_tov_us), ("E_D_TOV", pixit.e_d_tov_us)):
            for times, part in ((1, 1), (2, 1), (3, 1), (1, 2), (1, 4), (3, 2), (3, 4)):
                for late, words in ((0, ""), (pixit.late_us, " and the tolerance")):
                    if us == timer * times // part + late:
                        return (f"{times} " if times > 1 else "") + name + (f"/{part}" if part > 1 else "") + words
    return f"{us} us" if us < 1000 else f"{us / 1000:g} ms" if us < 1_000_000 else f"{us / 1_000_000:g} s"


def value(of: Any) -> str:
    """A number as the standards write it: decimal where it is one digit, hexadecimal with an h behind it otherwise."""
    if isinstance(of, bool) or not isinstance(of, int):
        return of.hex() if isinstance(of, bytes) else str(of)
    return str(of) if 0 <= of < 10 else f"{of:X}h"


_PLAIN = {"None": "none", "True": "yes", "False": "no"}  # what a case wrote as a value of its own language
#: Verbs that make a sentence of the words of a breach, "the VI is not Connected"; without one they say what is looked at.
_VERBS = """
    is are was were has have had do does did cannot differ differs returned returns failed fails succeeded succeeds allows sent
    sends came comes completed completes says goes went answers answered denies ignored ignores timed gave got asks named names
    arrived resulted reached keeps tells told ended began connects left rejected uses took wraps runs met opens stays follow counts
    ends
"""
_VERB = re.compile(rf"\b({'|'.join(_VERBS.split())})\b")
_BREACH = re.compile(r"(no|wrong|another|other|too|more than|connected|a SEQ_CNT twice)\b")
_ASIDE = re.compile(r"\b(that|though|although|where|when|whose|which)\b.*")
#: What makes a sentence of the words of a check in a book of calls, which say as a rule what is looked at.
_DENIED = re.compile(
    r"\b(do|does|did|is|are) not\b|\btells no\b|\byet the call returned\b|\bcame back\b|\btimed out too\b|^\w+ (waits|blocks)$"
    r"|^no\b.*\b(is|are|comes)\b"
)
_IU = re.compile(r"(?<![\w.])(?:DIS)?CONNECT_R(?:QST|ESP\d?)\b|(?<![\w.])(?:SEND|WRITE|READ)_R(?:QST|ESP)\b")
_US = re.compile(r"\b(\d+) us\b")
_YET = re.compile(r"(Status .*), yet the call returned \w+")
_RETURNED = re.compile(r"^(\w+) returned \w+$")


def _plain(wanted: Any) -> str:
    """What is required, without the signs of a programming language."""
    word = value(wanted)
    if word[:1] not in "[({" or not word:
        return _PLAIN.get(word, word)
    try:
        told = json.loads(word) if word[0] == "{" else ast.literal_eval(word)
    except (ValueError, SyntaxError):
        return word
    if isinstance(told, dict):
        return _members(told)
    return ", ".join(map(shortened, told)) or "none" if isinstance(told, (list, tuple)) else word


def compared(record: Record, words: str, named: Callable[[int], str], wire: bool = True) -> str:
    """What a check compares; words: of the check. named: a time in words. wire: the case is of a wire's book, where these words
    are those of the breach as a rule; in a book of calls they are what is looked at."""
    name = record.sights[0].name.rpartition(".")[2] if record.sights else ""
    wanted = " or ".join(map(_plain, record.wanted))
    if record.primitive == "equal":
        return f"{name} is {wanted}"
    if record.primitive in ("expect", "finish"):
        return f"returns {wanted}" if record.primitive == "finish" and wanted else ""
    if record.primitive == "expect_nothing":
        kinds = record.sights[0].kind.split(" ")
        return "no " + " or ".join(map(named_iu, kinds))
    if record.primitive == "expect_time":
        return f"comes {named(record.wanted[0])} after the case began"
    if record.primitive == "expect_return":
        return f"returns no sooner than {named(record.wanted[0])} after it was called"
    if record.primitive == "expect_next_timer":
        return f"a timer of the device fires within {named(record.wanted[0])}"
    if record.primitive == "expect_stream":
        return "the device asks for a TCP connection"
    words = _IU.sub(lambda kind: named_iu(kind[0]), words)
    wanted = _US.sub(lambda us: named(int(us[1])), wanted)
    for one in (way for passing in record.wanted for way in (str(passing), *str(passing).split(" or "))):
        words = words.removesuffix(f": {one}").removesuffix(f" is {one}")
    if yet := _YET.fullmatch(words):
        return f"required of the return of a call with {yet[1]}: {wanted}"
    if call := _RETURNED.match(words):  # words of a breach that have what was seen, which here is what is right
        return f"{call[1]} returns {wanted}"
    if not words:
        return f"required: {wanted}"
    told = _ASIDE.sub("", words)
    fails = f"noted, by {record.erratum}, if" if record.erratum else "fails if"
    if wire and _BREACH.match(words) and not _VERB.search(told):
        return f"{fails} it finds {words} (required: {wanted})"
    if wire and _VERB.search(told) or _DENIED.search(told):
        return f"{fails} {words} (required: {wanted})"
    return f"expected, by {record.erratum}, of {words}: {wanted}" if record.erratum else f"required of {words}: {wanted}"


def otherwise(record: Record) -> str:
    """Further values that pass, each with its erratum."""
    return "".join(f", or {value(one)} ({erratum})" for one, erratum in record.tolerated)


def tolerance(primitive: str, pixit: Pixit) -> str:
    """How far from its time what this check awaits may come; "" where it awaits no time."""
    early, late = f"{span(pixit.early_us, None)} sooner", f"{span(pixit.late_us, None)} later"
    words = {"expect_time": f"{early} or {late}", "expect_return": early, "expect_next_timer": late}.get(primitive)
    return f" (tolerance: {words})" if words else ""


__all__ = [
    "answered", "asked", "compared", "named_iu", "of_descriptor", "otherwise", "said", "shortened", "span", "tolerance", "value",
]  # fmt: skip
