"""Any line at all, in both directions of the DUT protocol: the suite says what is wrong with it, the endpoint answers it."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fcvi.engine.budget import Budget, Limits
from fcvi.engine.attachment import Dut, DutError, Reply
from fcvi.dut.rpc import RpcDut
from fcvi.dut.endpoint import ClientGone, Session

from ..conftest import CONNECT_RQST

_SETTINGS = settings(max_examples=400, deadline=None, derandomize=True)
_ANSWERS: list[dict[str, Any]] = [
    {"jsonrpc": "2.0", "id": 1, "result": {"now_us": 5, "next_us": None}},
    {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no such method"}},
    {"jsonrpc": "2.0", "method": "frame", "params": {"hex": CONNECT_RQST, "sof": "i3", "eof": "t"}},
    {"jsonrpc": "2.0", "method": "completion", "params": {"vi": 1, "queue": "send", "status": ["VIP_STATUS_DONE"], "length": 0}},
]
_ASKED: list[dict[str, Any]] = [
    {"jsonrpc": "2.0", "id": 1, "method": "hello", "params": {"protocol": 1}},
    {"jsonrpc": "2.0", "id": 2, "method": "reset", "params": {"r_a_tov_us": 1000000, "peer": {"n_port_id": "010100"}}},
    {"jsonrpc": "2.0", "id": 3, "method": "clock.advance", "params": {"us": 10}},
    {"jsonrpc": "2.0", "id": 4, "method": "VipCreateVi", "params": {"ViAttribs": {"MaxTransferSize": 4096}}},
    {"jsonrpc": "2.0", "id": 5, "method": "VipPostSend", "params": {"vi": 1, "op": "send", "segments": [{"mem": 1, "length": 4}]}},
    {"jsonrpc": "2.0", "id": 6, "method": "mem.write", "params": {"mem": 1, "offset": 0, "hex": "00"}},
    {"jsonrpc": "2.0", "method": "frame", "params": {"hex": CONNECT_RQST, "sof": "i3", "eof": "t", "crc_ok": True}},
    {"jsonrpc": "2.0", "method": "link", "params": {"event": "lip"}},
]
_ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-(10**30), 10**30), st.floats(), st.text(max_size=12), st.just("\ud800"),
    st.just([]), st.just({}), st.just([[]]),
)  # fmt: skip
_HOSTILE = [b"1" * 5000, b'{"id":' + b"9" * 5000 + b"}", b"[" * 5000, b'{"method":"\\ud800"}',
            b'{"id":1,"result":{"now_us":1e999}}', b"",
            b"\xff", b"NaN", b'"\\ud800"', b'{"id":1,"error":{"code":' + b"1" * 4000 + b"}}"]  # fmt: skip


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, member in inside for place in _places(member, (*path, key)))]


def _with(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    return copy


@st.composite
def lines(draw: Any, known: list[dict[str, Any]]) -> bytes:
    """A line of the protocol with a member of another kind, with other bytes, or nothing like it."""
    message: Any = draw(st.sampled_from(known))
    for _ in range(draw(st.integers(0, 2))):
        message = _with(message, draw(st.sampled_from(_places(message))), draw(_ODD))
    line = bytearray(json.dumps(message).encode())
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(line)))
        line[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(line).replace(b"\n", b" ")


class _Deaf(RpcDut):
    """Attached to nothing: lines are handed to it."""

    def __init__(self) -> None:
        Dut.__init__(self)
        self.clock, self.now_us, self._earliest_us, self._target_us = "virtual", 0, 0, 0
        self._replies = {1: Reply("clock.advance")}
        self._budget = Budget(Limits())
        self._forgotten = {}
        self.wires = ("fc",)


def _hear(line: bytes) -> None:
    try:
        _Deaf()._take(line)
    except DutError as error:
        words = str(error)
        assert words and "\n" not in words and words.isprintable(), words
        words.encode()


def _asked(line: bytes) -> list[Any]:
    """What an endpoint says to it."""
    source, sink = os.pipe()
    try:
        session = Session(source, sink, "virtual")
        session._line(line)
        said = bytes(session._out)
    except ClientGone:
        return []
    finally:
        os.close(source)
        os.close(sink)
    return [json.loads(answer) for answer in said.splitlines()]


@pytest.mark.parametrize("line", _HOSTILE, ids=[str(i) for i in range(len(_HOSTILE))])
def test_hostile_lines(line: bytes) -> None:
    _hear(line)
    answers = _asked(line)
    assert all(set(a) == {"jsonrpc", "id", "error"} or "result" in a for a in answers)


_NO_IDS = {
    "lists": "[" * 900 + "]" * 900, "objects": '{"a":' * 400 + "1" + "}" * 400,
    **{word: word for word in ("NaN", "1e999", "1.5", "true", "[]")},
}  # fmt: skip


@pytest.mark.parametrize("ident", _NO_IDS.values(), ids=_NO_IDS)
def test_an_id_that_is_none_is_not_repeated(ident: str) -> None:
    """It would end the endpoint, or make its answer no JSON."""
    for method in ("hello", "no such"):
        answers = _asked(b'{"jsonrpc":"2.0","id":%s,"method":"%s","params":{}}' % (ident.encode(), method.encode()))
        assert answers and all(a["id"] is None and a["error"]["code"] in (-32700, -32600) for a in answers)


@_SETTINGS
@given(lines(_ANSWERS))
def test_whatever_a_device_says(line: bytes) -> None:
    _hear(line)


@_SETTINGS
@given(lines(_ASKED))
def test_whatever_a_client_says(line: bytes) -> None:
    for answer in _asked(line):
        assert answer["jsonrpc"] == "2.0" and ("result" in answer) + ("error" in answer) + ("method" in answer) == 1
