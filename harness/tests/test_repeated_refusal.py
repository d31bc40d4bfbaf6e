"""RESP2 and RESP3 may repeat the Reason Code of the refusal (E40), also one that Table 12 does not give to them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Optional

import pytest

from fcvi.fc import build, codec
from fcvi.fc.received import believed

_OX_ID = 0x1234


def answer(iu: str, code: Optional[int], ox_id: int = _OX_ID) -> bytes:
    """A response to a connection request, which refuses with this code."""
    fields: dict[str, Any] = {"FCVI_HANDLE": 0xFFFFFFFF, "FCVI_CONNECTION_ID": 1}
    if code is not None:
        fields.update(CONN_STS=1, Reason_Code=code)
    head = build.Envelope(d_id=0x010200, s_id=0x010100, ox_id=ox_id, seq_id=7)
    (frame,) = build.iu_frames(iu, head, fields, bytes(340) if iu == "CONNECT_RESP1" else b"")
    return frame.data


def classes(iu: str, code: int, before: list[bytes], sender: str = "") -> set[tuple[str, Optional[str]]]:
    """What is found of the Reason Code."""
    view = codec.decode(answer(iu, code))
    place = view.where("DH", "Reason_Code")
    responder = "tester" if iu == "CONNECT_RESP2" else "dut"
    entries: Any = [SimpleNamespace(data=data, sender=sender or responder) for data in before]
    return {(f.cls, f.erratum) for f in believed(view, entries) if (f.byte, f.bits) == place}


@pytest.mark.parametrize("iu", ["CONNECT_RESP2", "CONNECT_RESP3"])
@pytest.mark.parametrize("code", [0x00, 0x06, 0x23, 0x40, 0x5F, 0x70])
def test_what_repeats_the_refusal_is_a_notice(iu: str, code: int) -> None:
    assert classes(iu, code, [answer("CONNECT_RESP1", code)]) == {("notice", "E40")}


@pytest.mark.parametrize(
    "before",
    [
        [],
        [answer("CONNECT_RESP1", 0x24)],
        [answer("CONNECT_RESP1", None)],
        [answer("CONNECT_RESP1", 0x23, _OX_ID + 1)],
        [answer("CONNECT_RESP1", 0x23), answer("CONNECT_RESP1", None)],
    ],
    ids=["no answer", "another code", "no refusal", "another Exchange", "the later answer is no refusal"],
)
def test_what_repeats_nothing_is_a_violation(before: list[bytes]) -> None:
    assert classes("CONNECT_RESP2", 0x23, before) == {("violation", None)}


def test_the_refusal_of_the_same_port_is_of_another_exchange() -> None:
    assert classes("CONNECT_RESP2", 0x23, [answer("CONNECT_RESP1", 0x23)], "dut") == {("violation", None)}


def test_a_refusal_itself_is_judged() -> None:
    assert classes("CONNECT_RESP1", 0x23, [answer("CONNECT_RESP1", 0x23)]) == {("violation", None)}
