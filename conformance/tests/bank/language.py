"""The words in which a fault is written down: ``out KIND what``, ``in KIND what``, ``ret METHOD CODE`` and so on.

Steps are separated by ``;``. KIND is a kind of frame, several with commas, or a group (``@rqst``); ``#2`` behind it means
the second of its kind only, ``:last`` and ``:notlast`` the frames that end a Sequence and the others, ``:if(F=V)`` those
with that value in a field. What may be said of frames is in frames.py.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Optional

from fcvi.fc import codec
from fcvi.fc.received import kind_of

from conformance.tests.faulty import FaultyDut, FrameEdit, returns, state
from .device import BankDut, Broken, Entry, ParamsEdit
from .frames import action, condition

_SEND, _WRITE, _READ = "SEND", "WRITE", "READ"
GROUPS = {
    "@rqst": "SEND_RQST,WRITE_RQST,READ_RQST",
    "@data": "SEND_RQST,WRITE_RQST,READ_RESP",
    "@ack": "SEND_RESP,WRITE_RESP",
    "@resp": "SEND_RESP,WRITE_RESP,READ_RESP",
    "@setup": "CONNECT_RQST,CONNECT_RESP1,CONNECT_RESP2,CONNECT_RESP3",
    "@reply": "CONNECT_RESP1,CONNECT_RESP2,CONNECT_RESP3",
    "@disc": "DISCONNECT_RQST,DISCONNECT_RESP",
}
_TARGET = re.compile(r"(?P<kinds>[@A-Za-z0-9_,*]+)(#(?P<nth>\d+))?(?P<conditions>(:[a-z]+(\([^)]*\))?)*)$")
_ERRORS = ["VIP_STATUS_DONE", "VIP_STATUS_TRANSPORT_ERROR"]


def _guarded(edit: FrameEdit, nth: int, conditions: list[Callable[[codec.Frame], bool]]) -> FrameEdit:
    def guarded(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> Optional[list[bytes]]:
        if nth and dut.counts[kind_of(view)] != nth:
            return None
        if not all(holds(view) for holds in conditions):
            return None
        return edit(dut, view, buf)

    return guarded


def _frames(into: dict[str, list[FrameEdit]], words: str, broken: Broken) -> None:
    target, _, what = words.partition(" ")
    found = _TARGET.match(target)
    if found is None:
        raise ValueError(f"no such frames: {target}")
    nth = int(found["nth"] or 0)
    conditions = [condition(c) for c in re.split(r":(?=[a-z])", found["conditions"] or "") if c]
    for kind in ",".join(GROUPS.get(k, k) for k in found["kinds"].split(",")).split(","):
        delimiter = re.fullmatch(r"(sof|eof|crc) (\w+)", what)
        if delimiter:
            words_of = broken.delimiters if into is broken.said else broken.taken_as
            words_of.setdefault(kind, {})[delimiter[1]] = delimiter[2]
        else:
            into.setdefault(kind, []).append(_guarded(action(what), nth, conditions))


def _status(dut: BankDut, params: dict[str, Any], queue: str, good: bool) -> list[dict[str, Any]]:
    if queue not in (params["queue"], "all"):
        return [params]
    return [{**params, "status": ["VIP_STATUS_DONE"] if good else _ERRORS}]


def _done(words: str) -> Callable[[BankDut, dict[str, Any]], list[dict[str, Any]]]:
    """Completions: ``QUEUE good|bad|none|twice|swapped|length N|immediate N|status NAME``."""
    queue, what, *rest = words.split()

    def change(dut: BankDut, params: dict[str, Any]) -> list[dict[str, Any]]:
        if queue not in (params["queue"], "all"):
            return [params]
        if what in ("good", "bad"):
            return _status(dut, params, queue, what == "good")
        if what == "swapped":
            held = dut.memory.pop("held", None)
            if held is None:
                dut.memory["held"] = params
                return []
            return [params, held]
        if what == "status":
            return [{**params, "status": ["VIP_STATUS_DONE", rest[0]] if len(params["status"]) > 1 else params["status"]}]
        return {"none": [], "twice": [params, params]}.get(what) or (
            [] if what == "none" else [{**params, what: int(rest[0])}]
        )

    return change


def _alter(words: str) -> Callable[[FaultyDut, dict[str, Any]], dict[str, Any]]:
    """A member of a result: ``NAME VALUE``, or nothing instead of it."""
    name, _, value = words.partition(" ")

    def edit(dut: FaultyDut, result: dict[str, Any]) -> dict[str, Any]:
        if name not in result:
            return result
        return {**result, name: int(value) if value.isdigit() else value}

    return edit


def _level(name: str) -> ParamsEdit:
    """VIs of another Reliability Level than the application asked for."""

    def edit(params: dict[str, Any]) -> dict[str, Any]:
        return {**params, "ViAttribs": {**params["ViAttribs"], "ReliabilityLevel": f"VIP_SERVICE_{name}"}}

    return edit


def _enabled(params: dict[str, Any]) -> dict[str, Any]:
    """VIs that serve RDMA whatever the application asked for."""
    return {**params, "ViAttribs": {**params["ViAttribs"], "EnableRdmaWrite": True, "EnableRdmaRead": True}}


def _other_address(dut: FaultyDut, result: dict[str, Any]) -> dict[str, Any]:
    """The application is told of another Discriminator than that on the wire."""
    if "RemoteAddr" not in result:
        return result
    address = result["RemoteAddr"]
    return {**result, "RemoteAddr": {**address, "discriminator": address["discriminator"][::-1]}}


def _both(first: Any, second: Any) -> Any:
    return second if first is None else (lambda dut, result: second(dut, first(dut, result)))


def _share(percent: int) -> Callable[[int], int]:
    """So many percent of the value that reset asks for."""
    return lambda asked: asked * percent // 100


def understand(name: str, how: str) -> Broken:
    """The fault that the words describe. Raises ValueError when they mean nothing."""
    broken = Broken(name, "", "")
    for step in (s.strip() for s in how.split(";") if s.strip()):
        verb, _, rest = step.partition(" ")
        if verb == "out":
            _frames(broken.said, rest, broken)
        elif verb == "in":
            _frames(broken.heard, rest, broken)
        elif verb == "ret":
            method, code, *instead = rest.split()
            edit = returns(code, instead[0] if instead else None)
            broken.results[method] = _both(broken.results.get(method), edit)
        elif verb == "member":
            method, _, words = rest.partition(" ")
            broken.results[method] = _both(broken.results.get(method), _alter(words))
        elif verb == "state":
            shown, true = (f"VIP_STATE_{word}" for word in rest.split())
            broken.results["VipQueryVi"] = _both(broken.results.get("VipQueryVi"), state(shown, true))
        elif verb == "done":
            broken.done.append(_done(rest))
        elif verb == "config":
            key, _, value = rest.partition("=")
            broken.config[key] = _share(int(value[:-1])) if value.endswith("%") else int(value) if value.isdigit() else value
        elif verb == "address":
            broken.results[rest] = _other_address
        elif verb == "ignore":
            broken.ignore_calls.add(rest)
        elif verb == "level":
            broken.params["VipCreateVi"] = _level(rest)
        elif verb == "enable":
            broken.params["VipCreateVi"] = _enabled
        elif verb == "deaf":
            broken.deaf.add(rest)
        elif verb == "mute":
            broken.mute.add(rest)
        else:
            raise ValueError(f"{name}: what is {verb}?")
    return broken


def rows(table: str) -> list[Entry]:
    """The entries of a table: name | requirements | how | why | cases to begin with."""
    entries = []
    for line in table.strip().splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, breaks, how, why, *cases = (cell.strip() for cell in line.split("|"))
        ids = tuple(f"FCVI-{b}" for b in breaks.split())
        entries.append(Entry(name, ids, why, understand(name, how), tuple(" ".join(cases).split()), how))
    return entries
