"""Tests that what the primitives of a case compare is recorded with its place, and nothing is when nobody asks."""

from __future__ import annotations

from pathlib import Path

from fcvi.dut.ref import RefDut, StreamDut
from fcvi.engine import proof
from fcvi.engine.case import CaseInfo, load_cases
from fcvi.engine.catalogue import load_catalogue
from fcvi.engine.pixit import pixit_for
from fcvi.engine.protocol import protocol_of
from fcvi.engine.runner import run_variant
from fcvi.engine.results import Verdict

CASES: dict[str, CaseInfo] = {case.id: case for case in load_cases([protocol_of("FC-VI"), protocol_of("VI/TCP")])}


def _records(ident: str, suffix: str = "") -> proof.Recorder:
    case = CASES[ident]
    variant = next(v for v in case.variants if v.suffix == suffix)
    dut = StreamDut() if case.protocol == "VI/TCP" else RefDut()
    with proof.recording() as recorder:
        result = run_variant(dut, case, variant, dut.pics, pixit_for("virtual"), load_catalogue().levels, 1)
    assert result.verdict is Verdict.PASS, result.reason
    return recorder


def _of(recorder: proof.Recorder, requirement: str) -> proof.Record:
    return next(record for record in recorder.records if record.requirement == requirement)


def test_a_record_says_what_is_compared_and_where() -> None:
    recorder = _records("5.3.2", "dut-client")
    asked = _of(recorder, "FCVI-6.8.1-01")
    assert (asked.primitive, asked.sights) == ("expect", (proof.Sight("message", "CONNECT_RQST", (1,)),))
    file, _, line = asked.place.rpartition(":")
    assert "t.expect(" in Path(file).read_text(encoding="utf-8").splitlines()[int(line) - 1]
    assert asked.step == "fcvi.steps.connection.start_request"
    mode = _of(recorder, "FCVI-T08-001")
    assert (mode.primitive, mode.wanted) == ("equal", (1,))
    assert mode.sights == (proof.Sight("field", "CONNECT_RQST", (1,), "DH.CONN_MODE", 1),)
    assert recorder.breaches == []


def test_a_condition_is_about_what_was_read_before_it() -> None:
    recorder = _records("5.3.2", "dut-client")
    addresses = _of(recorder, "FCVI-6.8.3-04")
    names = [sight.name for sight in addresses.sights if sight.what == "field"]
    assert addresses.primitive == "require" and "CONN.FCVI_LOC_ADDR.HOST_ADD" in names


def test_a_stream_is_recorded_too() -> None:
    recorder = _records("TCP.4.1.a", "")
    primitives = {record.primitive for record in recorder.records}
    assert {"expect", "require", "finish"} <= primitives
    assert all(record.place and record.step for record in recorder.records)


def test_nothing_is_recorded_when_nobody_asks() -> None:
    assert proof.ACTIVE is None
    with proof.recording() as recorder:
        assert proof.ACTIVE is recorder
    assert proof.ACTIVE is None and recorder.records == []
