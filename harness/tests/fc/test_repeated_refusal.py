"""RESP2 and RESP3 may repeat the Reason Code of the refusal (E40), also one that Table 12 does not give to them."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from fcvi.fc import build, codec
from fcvi.fc.monitor import WHOLE, Monitor

_CLIENT, _SERVER = 0x010200, 0x010100
_TABLE_12 = ("FCVI-T12", "FCVI-5.9.7.1")
_SETUP = ("CONNECT_RQST", "CONNECT_RESP1", "CONNECT_RESP2", "CONNECT_RESP3")


def frame_of(iu: str, code: Optional[int]) -> codec.Frame:
    """An IU of one setup; code: it has CONN_STS and this Reason Code."""
    fields: dict[str, Any] = {"FCVI_HANDLE": 0xFFFFFFFF, "FCVI_CONNECTION_ID": 1}
    if iu == "CONNECT_RQST":
        fields["CONN_MODE"] = 1
    elif code is not None:
        fields.update(CONN_STS=1, Reason_Code=code)
    ports = (_SERVER, _CLIENT) if iu in ("CONNECT_RQST", "CONNECT_RESP2") else (_CLIENT, _SERVER)
    head = build.Envelope(d_id=ports[0], s_id=ports[1], ox_id=0x1234, seq_id=7)
    (frame,) = build.iu_frames(iu, head, fields, bytes(340) if iu in ("CONNECT_RQST", "CONNECT_RESP1") else b"")
    return codec.decode(frame.data, frame.sof, frame.eof, codec.CRC_OK)


def found(*codes: Optional[int], left_out: str = "") -> set[tuple[str, Optional[str]]]:
    """What codec and monitor together say of the Reason Code of the last of these: RESP1, RESP2 and RESP3 with their codes."""
    monitor, last = Monitor(WHOLE), set()
    for number, (iu, code) in enumerate(zip(_SETUP, (None, *codes)), 1):
        if iu == left_out:
            continue
        view = frame_of(iu, code)
        place = view.where("DH", "Reason_Code") if code is not None else None
        findings = [*view.findings, *(breach.finding for breach in monitor.frame(view, number, number * 100))]
        last = {(f.cls, f.erratum) for f in findings if (f.byte, f.bits) == place and f.requirement.startswith(_TABLE_12)}
    monitor.close()
    return last


NOTICE, BREACH = ("notice", "E40"), ("violation", None)


@pytest.mark.parametrize("code", [0x00, 0x06, 0x23, 0x40, 0x5F, 0x70])
def test_what_repeats_the_refusal_is_a_notice(code: int) -> None:
    assert found(code, code) == {NOTICE}
    assert found(code, code, code) == {NOTICE}
    assert found(0x20, code, code) == {NOTICE}


@pytest.mark.parametrize("code", [0x00, 0x06, 0x23, 0x40, 0x5F, 0x70])
@pytest.mark.parametrize("refusal", [None, 0x20, 0x24], ids=["accepted", "another code", "another reserved code"])
def test_what_repeats_nothing_is_a_violation(refusal: Optional[int], code: int) -> None:
    assert BREACH in found(refusal, code)
    assert BREACH in found(refusal, refusal, code)


def test_a_refusal_itself_is_judged() -> None:
    assert found(0x23) == {BREACH}


def test_what_table_12_gives_is_not_judged() -> None:
    assert found(0x20, 0x20, 0x20) == set() and found(None, 0x02, 0x03) == set()


def test_without_the_refusal_nobody_knows() -> None:
    assert found(0x23, 0x23, left_out="CONNECT_RESP1") == {NOTICE}
