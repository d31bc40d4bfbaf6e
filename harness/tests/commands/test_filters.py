"""--filter and --fields: one grammar for frames, findings and Connections."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Sequence

import pytest

from fcvi.capture import frame_fields
from fcvi.capture.reader import write
from fcvi.engine.filters import FilterError, Value, chosen, number_of, parsed
from fcvi.engine.results import Finding
from fcvi.fc import codec

from ..conftest import CONNECT_RQST, PCAPS, RECORDED, fcvi

SETUP = str(RECORDED / "cases/5.3.4.c.pcapng")  # three Connections; two are refused with Reason Code 21h
DAMAGED = str(PCAPS / "crafted/fc2-225-badcrc.pcap")
NAMES = ("a", "b", "FCVI_MSG_ID", "port")
THING: dict[str, list[Value]] = {
    "a": [Value(32, ("32", "Invalid Service Parm"))], "b": [], "FCVI_MSG_ID": [Value(7, ("7",)), Value(9, ("9",))],
    "port": [Value(0x010200, ("66048",), True)],
}  # fmt: skip


@pytest.mark.parametrize(
    "text, holds",
    [
        ("a == 20h", True), ("a == 0x20", True), ("a == 32", True), ("a = 32", True), ("a=32", True), ("A==20H", True),
        ("a != 20h", False), ("a != 21h", True), ("b != 1", False), ("not b == 1", True),
        ("b", False), ("a", True), ("not b", True),
        ("a < 33", True), ("a <= 31", False), ("a >= 32 and a > 31", True), ("a == Invalid Service Parm", True),
        ("a == 'invalid service parm'", True), ('a == "Invalid_Service_Parm"', True), ("a ~ SERVICE", True), ("a ~ x", False),
        ("a in (1, 20h)", True), ("a in {1, 2}", False), ("a in (Invalid Service Parm)", True), ("msg_id == 9", True),
        ("MSG_ID != 9", False), ("FCVI_MSG_ID in (1,9)", True), ("port == 010200", True), ("port == 010200h", True),
        ("port == 66048", True), ("a == 1 or a == 32 and b", False), ("(a == 1 or a == 32) and not b", True),
        ("a == 1 or not (b or a == 2)", True),
        ("not not a", True), ("a == 32 or b == 1 and b == 2", True), ("a == 32.0", True),
        ("port == 01.02.00", True), ("fcvi.msg_id == 9", True), ("a == 0020", True), ("a == 00000020", True), ("a == 0032", False),
        ("a ~ '&&'", False),
    ],
)  # fmt: skip
def test_what_a_condition_says(text: str, holds: bool) -> None:
    assert parsed(text, NAMES)(lambda name: THING[name]) is holds


@pytest.mark.parametrize(
    "text, column, words",
    [
        ("", 1, "a name should stand here"), ("a ==", 5, "a value should stand here"), ("a == 1)", 7, "is too much here"),
        ("(a == 1", 1, "never closed"), ("a in 1", 6, "stands a list"), ("a in (1, 2", 6, "never closed"),
        ("msg_if == 1", 1, "did you mean FCVI_MSG_ID?"), ("a < x", 5, "is no number"), ("a == 'x", 6, "begins nothing"),
        ("and a", 1, "not 'and'"), ("a == 1 and", 11, "a name"), ("not", 4, "a name"), ("a == (1)", 6, "a value"),
        ("a AND b", 3, "is written as `and`"), ("NOT a", 1, "is written as `not`"),
        ("a && b", 3, "is written as `and`"), ("a == x || b", 8, "is written as `or`"), ("!a", 1, "is written as `not`"),
        ("(" * 80 + "a" + ")" * 80, 65, "in each other"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_column(text: str, column: int, words: str) -> None:
    with pytest.raises(FilterError) as said:
        parsed(text, NAMES)
    assert str(said.value).startswith(f"column {column}: ") and words in str(said.value) and "\n" not in str(said.value)


def test_any_text_is_a_condition_or_a_mistake() -> None:
    from random import Random

    random, pieces = Random(1), [*"ab=!<(),'\" ~é\0", "==", "and", "or", "not", "in", "20h"]
    for _ in range(3000):
        text = "".join(random.choice(pieces) for _ in range(random.randrange(9)))
        try:
            parsed(text, NAMES)(lambda name: THING[name])
        except FilterError:
            pass


def test_numbers() -> None:
    assert [number_of(text) for text in ("20h", "FFh", "0x1F", "-1", "1.5", "fh", "0x", "h", "1e3", "zzh")] == [
        32, 255, 31, -1, 1.5, 15, None, None, None, None]  # fmt: skip


def test_a_value_that_a_name_never_has_is_a_mistake() -> None:
    with pytest.raises(FilterError, match="did you mean CONNECT_RESP1"):
        frame_fields.Wishes(["iu == CONECT_RESP1"], None)
    with pytest.raises(FilterError, match="no value of FCVI_RELIABILITY_LVL; did you mean Reliable Delivery"):
        frame_fields.Wishes(["FCVI_RELIABILITY_LVL in (Relible Delivery)"], None)


def test_every_field_of_the_table_can_be_named() -> None:
    """As the standard prints it and as the table has it, alone and with what it is in."""
    for field in codec.TABLE:
        if field.kind not in ("rsvd", "nest", "group"):
            assert len(chosen(f"{field.ident},{field.name.replace(',', ' ')}", frame_fields.names())) == 2
    frame = codec.decode(bytes.fromhex(CONNECT_RQST), 0x2E, 0x42)
    view = frame_fields.Fields(frame, {"frame": 1}, [Finding("R-1", "notice", "m", "s", "r")])
    holding = ["S_ID == 020000 or S_ID", "iu == FCVI_CONNECT_RQST", "FCVI_LOC_ADDR.HOST_ADD == fe80::a1", "requirement == R-1",
               "FCVI_REM_ADDR.HOST_ADD != fe80::a1", "class in (notice)", "FCVI_OPCODE == 10h and FCVI_OPCODE == FCVI_CONNECT_RQST",
               "Frame_Header.TYPE == 58h", "CONN_MODE == Client-Server Connect Request", "frame == 1 and length > 24",
               "not Reason_Code"]  # fmt: skip
    for text in holding:
        assert frame_fields.Wishes([text], None).holds(view), text
    wishes = frame_fields.Wishes([], "FCVI_OPCODE,FCVI_LOC_ATTRS.FCVI_MAX_TRANS_SIZE,FCVI_MSG_ID,Reason_Code,iu")
    assert wishes.line(view) == "10h\t32768\t00000000h\t\tFCVI_CONNECT_RQST"


def lines(*words: str) -> list[str]:
    """What a command prints; it ends well."""
    done = fcvi(*words)
    assert done.returncode in (0, 1) and not done.stderr, done.stderr
    return done.stdout.splitlines()


def test_decode_shows_what_is_asked_for() -> None:
    refusals = lines("decode", "--summary", "--filter", "iu == CONNECT_RESP1 and Reason_Code == 21h", SETUP)
    assert len(refusals) == 2 and all("FCVI_CONNECT_RESP1" in line for line in refusals)
    first = [lines("decode", "--summary", "--filter", f"sof == {word}", SETUP) for word in ("SOFi3", "i3")]
    assert first[0] == first[1] != []
    assert refusals == lines("decode", "--summary", "--filter", "Reason_Code=33", "--filter", "CONN_STS", SETUP)
    told = lines("decode", "--fields", "frame,iu,Reason_Code", "--filter", "CONN_STS == 1", SETUP)
    assert [line.split("\t")[1:] for line in told] == [["FCVI_CONNECT_RESP1", "21h"]] * 2
    (first, *_) = lines("decode", "--json", "--fields", "Reason_Code,S_ID", "--filter", "Reason_Code >= 21h", SETUP)
    assert json.loads(first)["chosen"].keys() == {"Reason_Code", "S_ID"} and json.loads(first)["chosen"]["Reason_Code"] == 33


def test_times_and_delimiters_are_written_as_everywhere(tmp_path: Path) -> None:
    """Microseconds are no powers of ten, and EOFn is no number."""
    at_once = fcvi("decode", "--fields", "time,sof,eof", SETUP).stdout.splitlines()
    assert at_once and all(re.fullmatch(r"\d+\.\d{6}\tSOF[in]3\tEOF[nt]", line) for line in at_once)
    write(tmp_path / "a.pcap", 225, [(0, bytes.fromhex(CONNECT_RQST), 0x2E, 0x41)])  # its only frame ends its Sequence
    assert "disagree in class 3: seen EOFn (41h), required EOFt (42h)" in fcvi("lint", str(tmp_path / "a.pcap")).stdout


def test_lint_shows_some_and_counts_all() -> None:
    every = lines("lint", "--json", DAMAGED)
    some = lines("lint", "--json", "--filter", "message ~ CRC", "--fields", "R_CTL", DAMAGED)
    assert [json.loads(line)["frame"] for line in some[:-1]] == [2, 3] and json.loads(some[0])["chosen"] == {"R_CTL": 0x22}
    before, after = json.loads(every[-1])["summary"], json.loads(some[-1])["summary"]
    assert after.pop("not_shown") == 2 and before.pop("not_shown") == 0 and before == after
    words = fcvi("lint", "--filter", "iu", DAMAGED)
    assert words.returncode == 1 and "4 findings are counted and not shown: --filter" in words.stdout and not words.stderr


def test_flows_takes_the_same_grammar() -> None:
    def rows(*words: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in lines("flows", "--json", *words, SETUP)]

    every = rows()
    refused = [r["connection"] for r in every if r["ended"] == "refused"]
    assert 0 < len(refused) < len(every)
    forms: Sequence[Sequence[str]] = (
        ["ended=refused"], ["ended == refused"], ["reason == 21h"], ["ended in (refused, 'timed out') and not setup_us > 1000000"],
        ["reason_text ~ PROTOCOL"], ["reason=33"], ["ended=refused", "connection>0"],
    )  # fmt: skip
    for form in forms:
        found = rows(*[word for text in form for word in ("--filter", text)])
        assert [r["connection"] for r in found] == refused, form
    assert rows("--fields", "connection,ended", "--filter", "ended=refused")[0].keys() == {"connection", "ended"}
    table = lines("flows", "--fields", "connection,port", SETUP)
    assert len(table) == len(every) and len(table[0].split("\t")) == 3
    assert lines("flows", "--csv", "--fields", "connection,ended", SETUP)[0] == "connection,ended"


@pytest.mark.parametrize("command", ["decode", "lint", "flows"])
def test_a_bad_option_is_one_line_and_status_2(command: str) -> None:
    for words in (["--filter", "nonsense ="], ["--filter", "((("], ["--fields", "connection,nonsense"], ["--fields", ""]):
        done = fcvi(command, *words, SETUP)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, (words, done.stderr)
        assert f"{words[0]}: column " in done.stderr and not done.stdout
    if command != "lint":
        assert fcvi(command, "--filter", "frame == 99999" if command == "decode" else "connection == 99999", SETUP).returncode == 2
