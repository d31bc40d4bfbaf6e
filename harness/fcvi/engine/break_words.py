"""Says in plain English what a broken device does: the devices of proofs.tsv, as words that go on behind "a device that"."""

from __future__ import annotations

import json
import re
from typing import Any

from .breaks import OF_CALLS, Break
from .page_words import named_iu, of_descriptor, shortened, span, value

_ORDINALS = {1: "first", 2: "second", 3: "third"}
_MANY = 3  # kinds of message that are named one by one
#: The fields of a PDU of VI/TCP (clause 3) by their names in a break.
_OF_A_PDU = {
    "version": "Version", "type": "the type", "transmit-error": "the Transmit Error flag", "end": "the End flag",
    "immediate-flag": "the Immediate Data flag", "length": "Segment Length", "offset": "Data Offset", "immediate": "Immediate Data",
    "number": "Message Number", "ack": "Message ACK", "rx": "Rx Descriptors Posted", "error": "Remote Error Code",
    "code": "the second byte of Remote Error Code", "address": "RDMA Address", "handle": "Registered Memory Handle",
    "total": "RDMA Length", "calling-length": "Calling Discriminator Length", "mtu": "MTU Size", "calling": "Calling Discriminator",
    "window": "Calling RDMA Read Window", "called-length": "Called Discriminator Length", "called": "Called Discriminator",
}  # fmt: skip
_WITHOUT_ITS = frozenset(("DH", "FC", "CONN", "CONN_REV1", "LOGIN", "FARP"))  # structures that the name of a field does not need
_SENT = {
    "again": "again at once", "in-two": "in two frames, the second one empty", "split": "in one frame too many",
    "payload-first": "with its first payload byte altered", "payload-last": "with its last payload byte altered",
    "header": "without what follows the header", "swap": "and the PDU after it in each other's place",
}  # fmt: skip
_COMPLETED = {
    "bad": "completes the {} Descriptor with an error", "good": "completes the {} Descriptor without an error",
    "none": "never completes the {} Descriptor", "twice": "completes the {} Descriptor twice",
    "again": "completes the {} Descriptor as if the first Message came again", "length": "tells a Length that is too large by 1 "
    "with the {} completed Descriptor", "immediate": "tells other Immediate Data with the {} completed Descriptor",
    "other": "completes the {} Descriptor with another error", "undone": "completes the {} Descriptor without VIP_STATUS_DONE",
}  # fmt: skip
_ON_STREAMS = {
    "never-opens": "never opens {} TCP connection", "stays-open": "never closes {} TCP connection",
    "refuses": "refuses {} TCP connection", "elsewhere": "opens {} TCP connection to another port",
    "one-port": "opens {} TCP connection from the port of another",
}  # fmt: skip
_TO_STREAMS = {
    "closes": "closes a TCP connection", "opens": "opens a TCP connection", "closes-others": "closes the other TCP connections",
}  # fmt: skip
_UPON = {
    "good": "completes a Descriptor without an error", "bad": "completes a Descriptor with an error",
    "heard": "delivers what came", **_TO_STREAMS,
}  # fmt: skip
_MEMBER = {"first": "altered in its first digit", "last": "altered in its last digit", "before": "that of the answer before"}
_NOTED = {
    "notify": "callback of a completion", "error": "VipErrorCallback", "async": "Asynchronous Event", "cm": "event of a connection",
    "connect-request": "request of a connection",
}  # fmt: skip
#: Methods of the DUT protocol that are no calls of a standard.
_METHODS = {
    "mem.read": "read of memory", "mem.pattern": "comparison of memory", "mem.poll": "poll of memory",
    "agent.stop": "end of a call that is repeated",
    "link": "end of the link", "stream.data": "data of a TCP connection", "stream.open": "request of a TCP connection",
}  # fmt: skip
_NO_VALUE = re.compile(r"[A-Z_]{3,}[01]")  # a name with its last letter altered


def in_words(device: Break) -> str:
    """What the device does, with a verb first."""
    if device.verb in OF_CALLS:
        return _of_calls(device, json.loads(str(device.value)))
    make = {"out": _sent, "done": _completed, "error": _notified, "state": _notified, "member": _member, "stream": _streamed}
    if device.verb in make:
        return make[device.verb](device)
    return _plain(device)


def _plain(device: Break) -> str:
    kind, what = device.kind, device.what
    call, iu = _call(device), _kinds(kind)
    if device.verb == "tell":
        told = {"wire": _TO_STREAMS.get(what), "error": "reports VIP_ERROR_CONN_LOST"}.get(kind)
        queue, how = "receive" if kind == "recv" else kind, "with" if what == "bad" else "without"
        return f"{told or f'completes a Descriptor of the {queue} queue {how} an error'} though nothing happened"
    return {
        "say": f"sends {iu} though nothing asks for it",
        "reply": _TO_STREAMS[what] if kind == "wire" and what in _TO_STREAMS else f"sends {iu} where nothing asks for it",
        "upon": f"{_UPON.get(what) or f'sends {_kinds(what)}'} {'at' if _is_asked(kind) else 'when it receives'} {_heard(device)}",
        "deaf": f"ignores {_heard(device)}",
        "ret": f"returns {device.value} from {call}",
        "never": f"never returns from {call}",
        "early": f"returns {device.value} at once from {call}",
        "ignore": f"returns VIP_SUCCESS from {call} and does nothing",
        "late": f"returns from {call} only after {span(device.value or 1, None) if isinstance(device.value, int) else 'some time'}",
        "again": f"answers the call behind {call} as {call} was",
        "silent": f"never tells of {_one(device)}", "twice": f"tells of {_one(device)} twice",
        "config": f"waits {device.value} % of {kind.removesuffix('_us').upper()} where it has to wait the whole",
        "timer": "has no timer running where one is due",
        "fault": f"has the fault \"{kind.rpartition(':')[2].replace('-', ' ')}\"",
    }[device.verb]  # fmt: skip


def _is_asked(kind: str) -> bool:
    """Whether it is asked of the device, not sent to it."""
    return kind.startswith(("Vip", "verbs.", "mem.", "agent."))


def _call(device: Break) -> str:
    """Which call of a method, by the name that the standard has for it."""
    method = _METHODS.get(device.kind) or device.kind.removeprefix("verbs.")
    return f"the {_which(device.nth)} {method}" if device.nth else f"every {method}"


def _heard(device: Break) -> str:
    if _is_asked(device.kind) or device.kind in _METHODS:
        return _call(device)
    return f"the {_which(device.nth)} {_kinds(device.kind)}" if device.nth else f"any {_kinds(device.kind)}"


def _kinds(words: str) -> str:
    """One kind of message, or several: those of Fibre Channel have no space in their names."""
    names = [named_iu(name) for name in words.split(" " if "_" in words else ", ")]
    return " or ".join(names) if len(names) <= _MANY else f"one of {len(names)} messages, {names[0]} among them,"


def _which(numbers: tuple[int, ...]) -> str:
    """first, second, 31st."""
    if not numbers:
        return "each"
    number = numbers[0]
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return _ORDINALS.get(number, f"{number}{ending}")


def _sent(device: Break) -> str:
    iu, which, what = named_iu(device.kind), _which(device.nth), device.what
    if what == "drop":
        return f"does not send its {which} {iu}" if device.nth else f"sends no {iu}"
    if what == "drop-from-here":
        return f"sends no {iu} from its {which} on" if device.nth[:1] != (1,) else f"sends no {iu}"
    sends, number = f"sends {'its ' if device.nth else ''}{which} {iu}", device.value
    if what == "late":
        return f"{sends} {span(number, None) if isinstance(number, int) else 'some time'} late"
    if what in ("pad", "cut"):
        return f"{sends} with {number} bytes too {'many' if what == 'pad' else 'few'}"
    if what == "exchange<":
        return f"{sends} on the Exchange of {named_iu(str(number)) if number != device.kind else 'its first'}"
    return f"{sends} {_SENT[what]}" if what in _SENT else f"{sends} with {_field(what, number)}"


def _field(what: str, number: object) -> str:
    """What a field has that it does not have."""
    how, name = what[-1], what.rstrip("=^+%")
    if name.startswith("@"):
        return f"byte {name[1:].partition('/')[0]} altered"
    structure, _, path = name.partition(".")
    told = _OF_A_PDU.get(name) or (path if structure in _WITHOUT_ITS else name)
    if how == "=":
        return f"{told} {value(number)}"
    return f"{told} " + {"+": f"too large by {number}", "%": "in the other byte order"}.get(how, "altered")


def _completed(device: Break) -> str:
    return _COMPLETED[device.what].format(_which(device.nth))


def _notified(device: Break) -> str:
    told = "VipErrorCallback" if device.verb == "error" else "change of state"
    if device.what == "none":
        return f"never tells the {_which(device.nth)} {told}"
    return f"tells {device.what} {device.value} with the {_which(device.nth)} {told}"


def _member(device: Break) -> str:
    since = f"from {_call(device)} on " if device.nth != (1,) and device.nth else ""
    method = "" if since else f" from {device.kind}"
    if isinstance(device.value, tuple):
        was, told = device.value
        return f"{since}tells {told}{method} where the state is {was}"
    if device.kind == "mem.read":
        return f"{since}has bytes in memory {_MEMBER[str(device.value)]}"
    return f"{since}tells {device.what}{method} {_MEMBER.get(str(device.value), f'with another {device.value}')}"


def _streamed(device: Break) -> str:
    whose = "its own" if device.kind == "dut" else "the tester's"
    return _ON_STREAMS[device.what].format(f"{whose} {_which(device.nth)}" if device.nth else f"{whose}")


def _of_calls(device: Break, told: Any) -> str:
    """Of a provider: what it answers or takes a request for."""
    call, since = _call(device), ", and later ones" if device.verb.endswith("-from") else ""
    if device.verb in ("answer", "answer-from"):
        return f"answers {call} with {_said(device.what, told)}{since}"
    if device.verb in ("asked", "asked-from"):
        return f"takes {call} as if {_place(device.what.split('.'))} were {_shown(told)}{since}"
    if device.verb == "nothing":
        return f"answers {call} and each later one with {_said('', told)}"
    if device.verb == "pretend":
        return f"answers {call} with {_said('', told)} and does nothing"
    if device.verb == "ahead":
        return f"answers {call} with {_said('', told)} before it is done"
    if device.verb == "told":
        return f"tells of {_one(device)} with {_said(device.what, told)}"
    about = told["params"]
    detail = about.get("what") or about.get("event") or about.get("code")
    return f"tells of {detail or _NOTED[told['method']]} behind {call}, which nothing has caused"


def _one(device: Break) -> str:
    noted = _NOTED.get(device.kind, device.kind)
    return f"the {_which(device.nth)} {noted}" if device.nth else f"any {noted}"


def _said(name: str, told: Any) -> str:
    """A member of an answer, or the whole of it."""
    if not name:
        found = [str(told["return"])] if "return" in told else []
        rest = {one: v for one, v in told.items() if one not in ("return", "errno", "us", "at_us")}
        return ", ".join([*found, *(_said(one, v) for one, v in rest.items())]) or "nothing"
    path = name.split(".")
    if name == "wrong":
        return "bytes that are wrong"
    if path[-1] in ("return", "code", "event") and isinstance(told, str):
        return told
    if name == "DescriptorPtr":
        return f"a Descriptor that has {of_descriptor(told)}" if told else "no Descriptor"
    if name == "wcs":
        return f"another list of Work Completions, with {len(told)} of them" if told else "no Work Completion"
    if isinstance(told, dict) and list(told) == ["digit"]:
        return f"{_place(path)} altered in one digit"
    if isinstance(told, dict):
        return f"another {_place(path)}"
    if name == "us" and isinstance(told, int):
        return f"{span(told, None)} as the time that it took"
    return f"{_shown(told)} as the {_place(path)}" if len(path) > 1 else f"{_place(path)} {_shown(told)}"


_NAMED = {"wcs": "Work Completion", "DescriptorPtr": "Descriptor", "hex": "bytes"}


def _place(path: list[str]) -> str:
    """wcs.0.status: status of the first Work Completion."""
    words: list[str] = []
    for step in path:
        if step.isdigit():
            words[-1] = f"{_which((int(step) + 1,))} {words[-1]}"
        else:
            words.append(_NAMED.get(step, step.replace(":", ".")))
    return " of the ".join(reversed(words))


def _shown(told: Any) -> str:
    if isinstance(told, str) and _NO_VALUE.fullmatch(told):
        return f"{told}, which is no value of it"
    return "none" if told is None or told in ([], {}, "") else shortened(told)


__all__ = ["in_words"]
