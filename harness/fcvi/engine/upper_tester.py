"""The upper tester: VIPL calls on the DUT through the control plane."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Optional

from . import proof
from .attachment import DutError, Reply
from .json_text import readable
from .words import as_json, printable

if TYPE_CHECKING:
    from .results import Finding

#: The return codes in the order of VI-DG 4.2.
RETURNS = (
    "VIP_SUCCESS", "VIP_NOT_DONE", "VIP_INVALID_PARAMETER", "VIP_ERROR_RESOURCE", "VIP_TIMEOUT", "VIP_REJECT",
    "VIP_INVALID_RELIABILITY_LEVEL", "VIP_INVALID_MTU", "VIP_INVALID_QOS", "VIP_INVALID_PTAG", "VIP_INVALID_RDMAREAD",
    "VIP_DESCRIPTOR_ERROR", "VIP_INVALID_STATE", "VIP_ERROR_NAMESERVICE", "VIP_NO_MATCH", "VIP_NOT_REACHABLE",
)  # fmt: skip
#: An agent whose vipl.h lacks a name tells the number instead (dut-protocol-calls.md, 1).
_BY_NUMBER = {f"VIP_CODE_{number}": name for number, name in enumerate(RETURNS)}
_A_NAME = re.compile("VIP_[A-Z][A-Z0-9_]{1,60}")
_ALIKE = 0.9  # VIP_INVALID_RDMAWRITE, which a library may have beside VIP_INVALID_RDMAREAD, has 0.88
METHOD_NOT_FOUND, NO_ROOM, CANCELLED = -32601, -32002, -32001


class Told(NamedTuple):
    """A line of a case's log about the control plane."""

    time_us: int
    what: str
    params: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.time_us} us: {self.what} {readable(self.params)}"


class Unimplemented(Exception):
    """The DUT, or its adapter, does not serve a call that the case makes: the case ends inconclusive."""


class Refused(DutError):
    """The adapter answered a call with an error that a right call never gets: it broke the DUT protocol."""


_HEXADECIMAL = frozenset(("va", "hex"))  # members that are bytes or an address


@dataclass(slots=True)
class Call:
    """A VIPL call under way."""

    method: str
    params: dict[str, Any]
    reply: Reply
    started_us: int
    found: list[Finding] = field(default_factory=list)  # what was found before it was started
    whose: str = "the DUT"  # which makes the call
    crowded: bool = False  # others of its kind waited when it began: the DUT need not have room for one more

    @property
    def done(self) -> bool:
        """Whether the DUT has answered."""
        if proof.ACTIVE is not None:
            proof.ACTIVE.look("call", self)
        return self.reply.done

    def result(self) -> dict[str, Any]:
        """The answer's members. Raises Unimplemented for a call that is not served and Refused for any other JSON-RPC error."""
        self.check()
        return self.reply.result

    @property
    def is_misnamed(self) -> bool:
        """Whether a VIPL call has ended with a name that is a mistake of who wrote it: not VIPL's, but much like one of them, or
        like none. A library may have codes of its own."""
        code = self.reply.result.get("return")
        if not self.method.startswith("Vip") or not isinstance(code, str) or code in RETURNS:
            return False
        return not _A_NAME.fullmatch(code) or bool(get_close_matches(code, RETURNS, cutoff=_ALIKE))

    def check(self) -> None:
        """Raises what an answer that is an error means: nothing that it says is about the device (dut-protocol.md, section 3)."""
        if self.reply.error is None:
            return
        code, message = self.reply.error
        if code == METHOD_NOT_FOUND:
            raise Unimplemented(f"{self.whose} does not implement {self.method}")
        if code == NO_ROOM:
            raise Unimplemented(f"the adapter has no room for {self.method} ({printable(message)})")
        raise Refused(f"{self.method} was answered with error {code} ({message})")

    def returned(self) -> str:
        """The VIPL return code by name."""
        code = self.result().get("return")
        if proof.ACTIVE is not None:
            proof.ACTIVE.look("return", self)
        if not isinstance(code, str):
            raise DutError(f"the result of {self.method} has no member \"return\" with a VIPL name")
        return _BY_NUMBER.get(code, code)

    def _member(self, name: str) -> Any:
        if proof.ACTIVE is not None:
            proof.ACTIVE.look("member", self, name)
        return self.result().get(name)

    def integer(self, name: str) -> int:
        """An integer out parameter."""
        value = self._member(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise DutError(f"the result of {self.method} has no integer member \"{name}\"")
        return value

    def text(self, name: str) -> str:
        """A string out parameter."""
        value = self._member(name)
        if not isinstance(value, str):
            raise DutError(f"the result of {self.method} has no string member \"{name}\"")
        if name in _HEXADECIMAL and not _are_digits(value):
            raise DutError(f"the result of {self.method} has no hexadecimal digits in \"{name}\": {as_json(value)}")
        return value

    def table(self, name: str) -> dict[str, Any]:
        """An object out parameter."""
        value = self._member(name)
        if not isinstance(value, dict):
            raise DutError(f"the result of {self.method} has no object member \"{name}\"")
        return value


def _are_digits(text: str) -> bool:
    """Whether it is pairs of hexadecimal digits, of either case, and nothing else. It may be long."""
    try:
        return bytes.fromhex(text).hex() == text.lower()  # fromhex takes blanks as well
    except ValueError:
        return False


class Completion(NamedTuple):
    """A descriptor that the DUT completed."""

    vi: int
    queue: str
    status: frozenset[str]
    length: int
    immediate: Optional[int]
    earliest_us: int
    time_us: int

    @property
    def good(self) -> bool:
        """Done, and no error bit."""
        return "VIP_STATUS_DONE" in self.status and not any(name.endswith("_ERROR") for name in self.status)

    def __str__(self) -> str:
        """For a report: the same each time."""
        return f"{', '.join(sorted(self.status)) or 'no status'}, Length {self.length}"


_COMPLETION = {"vi": "a number", "queue": "\"send\" or \"recv\"", "status": "a list of names", "length": "a number",
               "immediate": "a number or null"}  # fmt: skip


def is_number(value: object) -> bool:
    """An integer of JSON: true and false are none, though Python takes them for it."""
    return isinstance(value, int) and not isinstance(value, bool)


def parse_completion(params: dict[str, Any], earliest_us: int, time_us: int) -> Completion:
    """A ``completion`` notification. Raises DutError when it breaks the DUT protocol."""
    vi, queue, status = params.get("vi"), params.get("queue"), params.get("status")
    length, immediate = params.get("length"), params.get("immediate")
    right = {
        "vi": is_number(vi), "queue": isinstance(queue, str) and queue in ("send", "recv"),
        "status": isinstance(status, list) and all(isinstance(s, str) for s in status), "length": is_number(length),
        "immediate": immediate is None or is_number(immediate),
    }  # fmt: skip
    for name, good in right.items():
        if not good:
            said = as_json(params[name]) if name in params else "missing"
            raise DutError(f"completion notification broke the DUT protocol: {name} is {said}, and must be {_COMPLETION[name]}")
    assert isinstance(vi, int) and isinstance(queue, str) and isinstance(status, list) and isinstance(length, int)
    return Completion(vi, queue, frozenset(status), length, immediate, earliest_us, time_us)
