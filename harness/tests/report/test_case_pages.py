"""The page of a case: steps that a reader of the standard follows, each with what it checks, in the order of the wire."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Iterator

import pytest

from conformance import register_all
from fcvi.engine.case import CaseInfo, load_cases
from fcvi.engine.page import CHECK, DEVICE, TESTER, UPPER, Step, page
from fcvi.engine.page_words import compared, shortened, span, value
from fcvi.engine.pixit import pixit_for
from fcvi.engine.proof import Record
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
    crossed = [s for s in found if s.frame is not None]
    assert [s.frame for s in crossed] == [1 + sum(one.times for one in crossed[:n]) for n in range(len(crossed))]
    assert sum(s.times for s in crossed) == len(result.frames)
    return found


def messages(found: list[Step]) -> Iterator[tuple[str, str]]:
    return ((s.who, s.what.split(",")[0]) for s in found if s.frame is not None)


def checks(step: Step) -> list[tuple[str, str]]:
    return [(check.words, check.requirement) for check in step.checks]


def test_what_comes_twice_says_so() -> None:
    said = [Step(TESTER, "a frame", times=times).text() for times in (1, 2, 3)]
    assert said == ["a frame", "a frame (2 times)", "a frame (3 times)"]


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
    rows = list(steps.rows(found, ""))
    assert [row.number for row in rows if row.number is not None] == list(range(1, len(found) + 1))
    assert rows[1].heading and not any(row.who or row.requirement for row in rows if row.heading)
    own = [row for row in rows if row.what == "- FCVI_CONNECTION_ID is 4062548Fh, as in step 7"]
    assert [row.requirement for row in own] == ["FCVI-6.9.2-09"]
    assert "".join(steps.table(found, "")).count("Requirement") == 1


def test_a_check_names_the_device_that_shows_it() -> None:
    """5.3.4 c): Connect Reject, 21h, in the RESP1 to the other Peer; 6.10.2: the handle in RESP2."""
    rows = list(steps.rows(steps_of(CASES["5.3.4.c"]), "5.3.4.c"))
    shown = {row.what.partition(",")[0]: row.proof for row in rows if row.requirement == "FCVI-5.3.4-c"}
    assert shown["- CONN_STS is 1"] == "a device that sends its first FCVI_CONNECT_RESP1 with CONN_STS 0"
    assert shown["FCVI_CONNECT_RESP1"] == "a device that does not send its first FCVI_CONNECT_RESP1"
    other = next(row for row in rows if row.requirement == "FCVI-T08-010")
    assert other.proof.startswith("a device that sends its first FCVI_CONNECT_RQST with CONN_MODE 3, in ")


@pytest.mark.parametrize("book", BOOKS)
def test_every_book_names_devices(book: str) -> None:
    rows = list(steps.rows(steps_of(CASES[BOOKS[book]]), ""))
    checks_of = [row for row in rows if row.requirement]
    assert sum(bool(row.proof) for row in checks_of) >= 0.8 * len(checks_of), [r for r in checks_of if not r.proof]


@pytest.mark.parametrize("book", BOOKS)
def test_every_book_has_its_pages(book: str) -> None:
    found = steps_of(CASES[BOOKS[book]])
    assert {step.who.rstrip(" 2") for step in found} <= {TESTER, DEVICE, UPPER, CHECK}
    assert any(step.checks for step in found) and any("positive control" in step.what for step in found)


def test_a_call_says_what_it_returned_and_which_end_made_it() -> None:
    found = steps_of(CASES["VIPL.C1"])
    first = next(step for step in found if step.checks)
    assert first.what == "VipOpenNic(DeviceName NO-SUCH-NIC-77) -> VIP_INVALID_PARAMETER" and first.who == UPPER
    assert checks(first) == [("required of VipOpenNic of a name that no device has: VIP_INVALID_PARAMETER", "VIPL-G3.1.1-03")]
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


def text_of(found: list[Step]) -> list[str]:
    return [row.what for row in steps.rows(found, "")]


def test_a_breach_says_that_it_fails_and_a_situation_what_is_required() -> None:
    attributes = "FCVI_RELIABILITY_LVL 1, EnRdmaWr 0, EnRdmaRd 0, FCVI_MAX_TRANS_SIZE 32768"
    words = text_of(steps_of(CASES["5.3.4.c"]))
    assert f"- fails if FCVI_LOC_ATTRS differs from the attributes of the VI (required: {attributes})" in words
    assert "- VipCreateVi returns VIP_SUCCESS" in words


@pytest.mark.parametrize("words, wanted, line", [
    ("the VI is in the wrong state", "VIP_STATE_ERROR", "fails if the VI is in the wrong state (required: VIP_STATE_ERROR)"),
    ("no VipErrorCallback", "one", "fails if it finds no VipErrorCallback (required: one)"),
    ("the state of a VI that was connected", "Error", "required of the state of a VI that was connected: Error"),
    ("VipConnectAccept returned VIP_TIMEOUT", "VIP_TIMEOUT", "VipConnectAccept returns VIP_TIMEOUT"),
    ("opcode of the answer", "1Ah", "required of opcode of the answer: 1Ah"),
    ("the state of the VI is VIP_STATE_IDLE", "VIP_STATE_IDLE", "required of the state of the VI: VIP_STATE_IDLE"),
    ("SEQ_CNT", "[0, 1]", "required of SEQ_CNT: 0, 1"),
    ("the entries of a CQ", "[]", "required of the entries of a CQ: none"),
    ("attributes of a VI", '{"MaxTransferSize": 4, "EnableRdmaRead": false}',
     "required of attributes of a VI: MaxTransferSize 4, EnableRdmaRead no"),
])
def test_the_words_of_a_condition(words: str, wanted: str, line: str) -> None:
    record = Record("require", "", "", "FCVI-8.2-a1", (), (wanted,))
    assert compared(record, words, str) == line


@pytest.mark.parametrize("words, line", [
    ("VipCreateVi of a level that is not there", "required of VipCreateVi of a level that is not there: X"),
    ("VipConnectRequest does not return though it was accepted",
     "fails if VipConnectRequest does not return though it was accepted (required: X)"),
    ("VipQueryNic tells no Name", "fails if VipQueryNic tells no Name (required: X)"),
    ("no higher level is offered", "fails if no higher level is offered (required: X)"),
    ("Status 1 on the recv queue: a Descriptor came back that is not done",
     "fails if Status 1 on the recv queue: a Descriptor came back that is not done (required: X)"),
])
def test_the_words_of_a_check_of_calls(words: str, line: str) -> None:
    assert compared(Record("require", "", "", "VIPL-G1-01", (), ("X",)), words, str, wire=False) == line


def test_the_configuration_comes_first_and_an_accept_is_seen_as_one() -> None:
    found = steps_of(CASES["5.3.4.b"])
    assert found[0].who == UPPER and "(the device's is smaller)" in found[0].what and "R_A_TOV " in found[0].what
    assert any(step.who == TESTER and step.what.startswith("FCVI_CONNECT_RESP1, CONN_STS 0,") for step in found)


def test_an_iu_in_several_frames_is_no_several_ius() -> None:
    found = [s.what for s in steps_of(CASES["8.5.2.a"]) if s.frame is not None and s.what.startswith("FCVI_CONNECT_RQST")]
    assert found[0].endswith(" (not its last frame)") and found[1] == found[0].removesuffix(" (not its last frame)")


def test_the_page_has_no_words_of_a_programming_language() -> None:
    record = Record("require", "x.py:1", "x", "R", (), ("None",))
    assert compared(record, "the Immediate Data received", str) == "required of the Immediate Data received: none"
    told = next(s for s in steps_of(CASES["VERBS.30"]) if s.what.startswith("connect-request"))
    assert told.who == DEVICE and "'" not in told.what


def test_a_value_comes_from_the_other_side() -> None:
    """6.10.2: FCVI_HANDLE of RESP2 is that of the RESP1 before it, not a value of the device's own request."""
    found = steps_of(CASES["5.3.4.c"])
    for resp2 in (s for s in found if s.who == DEVICE and s.what.startswith("FCVI_CONNECT_RESP2")):
        handle = next(check for check in resp2.checks if check.requirement == "FCVI-6.10.2-02")
        assert handle.step is not None and handle.step.who == TESTER and "RESP1" in handle.step.what
    assert any(words.endswith(" as in step 7, or FFFFFFFFh (E14)") for words in text_of(found))


@pytest.mark.parametrize("ident, begin", [
    ("C.5.9.1", "FCVI_CONNECT_RQST"), ("B.R9", "FCVI_SEND_RQST"), ("B.R8e", "FCVI_SEND_RQST"),
])
def test_a_time_counts_from_a_step(ident: str, begin: str) -> None:
    """8.5.2: FCVI_ULP_TIMEOUT counts from the CONNECT_RQST; 8.3: from the request; B.2.6.1 rule 8e: from the frame."""
    found = steps_of(CASES[ident])
    timed = [check for step in found for check in step.checks if check.words.startswith("comes ")]
    assert timed and all(check.step is not None and check.step.what.startswith(begin) for check in timed)
    assert all("_TOV after step " in check.text() and "(tolerance: " in check.text() for check in timed)


def test_what_is_cited_stands_below_and_what_is_not_is_marked() -> None:
    shown = fcvi("show", "C.5.9.1").stdout
    steps_part, below = shown.split("\n  requirements\n")
    cited = set(re.findall(r"  (FCVI-\S+)$", steps_part, re.M))
    listed = re.findall(r"^    (FCVI-\S+) (.*?)(?=^    \S|\n\n|\Z)", below, re.M | re.S)
    assert cited <= {ident for ident, _ in listed}
    assert {ident for ident, words in listed if "by no step" in " ".join(words.split())} == {i for i, _ in listed} - cited
    assert steps_part.index("A step with a requirement is a check") < steps_part.index("Step  Who")
    refused = fcvi("show", "5.3.4.c").stdout.split("\n  errata\n")[1]
    assert "    E14 [W]" in refused and "    E40 [W]" in refused and "all four IUs" in refused


def test_parts_speak_to_a_certifier() -> None:
    program = re.compile(r"\bNone\b|\bgives\b|\bmaps\b|``|\.\.\.|\bdict\b|; whether ")
    idents = ("5.3.4.c", "C.5.9.1", "R1.5.3.3.a", "TCP.4.1.a", "VIPL.X5", "VERBS.21")
    assert [part for ident in idents for part in {s.part for s in steps_of(CASES[ident])} if program.search(part)] == []


def test_the_command_prints_the_page_and_tells_it_as_json() -> None:
    shown = fcvi("show", "5.3.4.c/class2").stdout
    assert "The steps of 5.3.4.c/class2 as it ran on the suite's own reference device" in shown
    assert "Step  Who" in shown and "R_RDY" not in shown and "\n" + " " * 26 + "shown by a device that" in shown
    told = json.loads(fcvi("show", "VIPL.C1", "--json").stdout)
    assert {"step": 1, "who": UPPER, "heading": False}.items() <= told["steps"][0].items()


def test_the_report_of_a_failure_has_the_steps(tmp_path: Path) -> None:
    from ..engine.test_declaration import INDEPENDENT

    report = tmp_path / "r"
    fcvi("run", "--dut", f"{INDEPENDENT} --fault resp1-revision", "--quiet", "--report", str(report), "--select", "D.R1")
    text = (report / "report.html").read_text(encoding="utf-8")
    assert "step by step" in text and "<td>upper tester</td>" in text and "shown by a device that" in text


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
