"""The page of a case: steps that a reader of the standard follows, each with what it checks, in the order of the wire."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Iterator

import pytest

from conformance import register_all
from fcvi.engine.case import CaseInfo, load_cases
from fcvi.engine.page import CHECK, DEVICE, TESTER, UPPER, Step, page
from fcvi.engine.page_words import shortened, span, value
from fcvi.engine.pixit import pixit_for
from fcvi.engine.protocol import judging_by, registered
from fcvi.engine.results import Verdict
from fcvi.report import steps

from ..conftest import fcvi

register_all()
CASES = {case.id: case for protocol in registered() for case in load_cases([protocol])}
BOOKS = {"FC-VI": "5.3.4.c", "FC-VI Rev 1.0": "R1.5.3.a", "VI/TCP": "TCP.4.1.a", "VIPL": "VIPL.C1", "RDMA verbs": "VERBS.30"}


def steps_of(case: CaseInfo) -> list[Step]:
    protocol = next(p for p in registered() if p.name == case.protocol)
    with judging_by(protocol):
        result, found = page(case)
    assert result is not None and result.verdict is Verdict.PASS, result
    assert [s.frame for s in found if s.frame is not None] == list(range(1, len(result.frames) + 1))
    return found


def messages(found: list[Step]) -> Iterator[tuple[str, str]]:
    return ((s.who, s.what.split(",")[0]) for s in found if s.frame is not None)


def checks(step: Step) -> list[tuple[str, str]]:
    return [(check.words, check.requirement) for check in step.checks]


def test_a_refused_peer_is_told_message_by_message() -> None:
    """5.3.4 c): the other Peer's request gets Connect Reject with 21h, and its setup goes on to the end (6.11)."""
    found = steps_of(CASES["5.3.4.c"])
    assert list(messages(found))[:5] == [
        (DEVICE, "FCVI_CONNECT_RQST"), (TESTER, "FCVI_CONNECT_RQST"), (DEVICE, "FCVI_CONNECT_RESP1"),
        (TESTER, "FCVI_CONNECT_RESP2"), (DEVICE, "FCVI_CONNECT_RESP3"),
    ]  # fmt: skip
    refusal = next(s for s in found if s.frame == 3)
    assert "CONN_STS 1, Reason Code 21h" in refusal.what
    named = ("FCVI-5.3.4-c",)
    assert {("", *named), ("CONN_STS is 1", *named), ("Reason_Code is 21h", *named)} <= set(checks(refusal))
    assert "refusing FCVI_CONNECT_RESP1" in refusal.part or "Concurrent" in refusal.part
    assert [s.what for s in found if s.who == CHECK] == ["positive control: a further Peer-to-Peer setup completed"]


def test_silence_has_its_length_and_its_requirement() -> None:
    found = steps_of(CASES["5.3.4.b"])
    quiet = next(s for s in found if s.what.startswith("no FCVI_CONNECT_RESP1"))
    assert (quiet.what, quiet.who, checks(quiet)) == ("no FCVI_CONNECT_RESP1 for R_A_TOV/4", DEVICE, [("", "FCVI-5.3.4-b")])


def test_the_rows_are_numbered_and_each_check_stands_below_its_step() -> None:
    found = steps_of(CASES["5.3.4.c"])
    rows = list(steps.rows(found))
    assert [row.number for row in rows if row.number is not None] == list(range(1, len(found) + 1))
    assert rows[0].heading and not any(row.who or row.requirement for row in rows if row.heading)
    own = [row for row in rows if row.what == "- FCVI_CONNECTION_ID is 4062548Fh, as in step 6"]
    assert own and {row.requirement for row in own} == {"FCVI-6.9.2-09", "FCVI-6.11.2-09"}
    assert "".join(steps.table(found)).count("Requirement") == 1


@pytest.mark.parametrize("book", BOOKS)
def test_every_book_has_its_pages(book: str) -> None:
    found = steps_of(CASES[BOOKS[book]])
    assert {step.who.rstrip(" 2") for step in found} <= {TESTER, DEVICE, UPPER, CHECK}
    assert any(step.checks for step in found) and any("positive control" in step.what for step in found)


def test_a_call_says_what_it_returned_and_which_end_made_it() -> None:
    found = steps_of(CASES["VIPL.C1"])
    first = next(step for step in found if step.checks)
    assert first.what == "VipOpenNic(DeviceName NO-SUCH-NIC-77) -> VIP_INVALID_PARAMETER" and first.who == UPPER
    assert checks(first) == [("VipOpenNic of a name that no device has; required: VIP_INVALID_PARAMETER", "VIPL-G3.1.1-03")]
    assert any(step.who == f"{UPPER} 2" and step.what.startswith("VipOpenNic(") for step in found)
    last = found[-1]
    assert (last.who, last.what) == (CHECK, "") and "VIPL-G4.2-02" in {check.requirement for check in last.checks}


def test_times_have_the_names_of_timers_and_numbers_their_base() -> None:
    pixit = pixit_for("virtual")
    assert [span(n, pixit) for n in (10_000_000, 20_000_000, 2_500_000, 11_000_000, 2_000_000, 1_800_000, 3_000, 7)] == [
        "R_A_TOV", "2 R_A_TOV", "R_A_TOV/4", "R_A_TOV and the tolerance", "E_D_TOV", "1.8 s", "3 ms", "7 us",
    ]  # fmt: skip
    assert span(10_000_000, None) == "10 s"
    assert [value(n) for n in (0, 9, 33, b"\1\2", True)] == ["0", "9", "21h", "0102", "True"]
    assert shortened({"vi": 1, "thread": 3, "hex": "00" * 20, "NIC": None}) == "{vi 1, hex 00000000... (20 bytes), NIC NULL}"


def test_the_command_prints_the_page_and_tells_it_as_json() -> None:
    shown = fcvi("show", "5.3.4.c/class2").stdout
    assert "The steps of 5.3.4.c/class2 as it ran on the suite's own reference device" in shown
    assert "Step  Who" in shown and "R_RDY" not in shown
    told = json.loads(fcvi("show", "VIPL.C1", "--json").stdout)
    assert {"step": 1, "who": UPPER, "heading": False}.items() <= told["steps"][0].items()


def test_the_report_of_a_failure_has_the_steps(tmp_path: Path) -> None:
    from ..engine.test_declaration import INDEPENDENT

    report = tmp_path / "r"
    fcvi("run", "--dut", f"{INDEPENDENT} --fault resp1-revision", "--quiet", "--report", str(report), "--select", "D.R1")
    text = (report / "report.html").read_text(encoding="utf-8")
    assert "step by step" in text and "<td>upper tester</td>" in text


@pytest.mark.nightly
@pytest.mark.parametrize("book", BOOKS)
def test_every_case_has_a_page(book: str) -> None:
    lacking = []
    for case in (case for case in CASES.values() if case.protocol == book):
        with judging_by(next(p for p in registered() if p.name == book)):
            result, found = page(case)
        bare = result is not None and result.verdict is Verdict.PASS and not any(step.checks for step in found)
        if result is not None and (bare or result.verdict is Verdict.ERROR):
            lacking.append((case.id, result.verdict.value, result.reason))
    assert lacking == []
