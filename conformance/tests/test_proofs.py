"""Every check of the books proves itself: a device that breaks just what it compares is failed by its requirement.

A tenth of the proofs is shown again here; the nightly tier plays all of them and compares the tables.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any, Callable

import pytest

from conformance.proofs.__main__ import open_checks, played, proofs
from conformance.proofs.answers import Answer, devices as providers
from conformance.proofs.books import BOOKS
from fcvi.engine.breaks import Break, understand
from fcvi.engine.catalogue import COMES, TURN, of_every_turn
from fcvi.engine.conditions import Condition, here
from conformance.proofs.derive import devices, values_of
from conformance.proofs.layer import Layer, member_of
from conformance.proofs.play import ROOT, Player
from conformance.proofs.table import CHOICE, Proof, explained, load, merged, path_of, short_table, shown

from fcvi.engine.proof import Record, Sight

#: What takes a row for checked, but for a primitive, which has it from whoever calls it.
_DECREE = re.compile(r"checked\.(add|update)\((?!\{?requirement\b)|checked \|=|\bt\.named\(")
_SHARE = 10  # one proof of so many is shown again


def _drawn(proof: Proof) -> bool:
    return hashlib.sha256("\t".join(proof.name).encode()).digest()[0] % _SHARE == 0


def test_no_requirement_is_decreed() -> None:
    """Whoever compares says what; nobody says that a requirement is checked."""
    for path in sorted(path for room in ("conformance", "harness/fcvi") for path in (ROOT / room).rglob("*.py")):
        found = [n for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if _DECREE.search(line)]
        assert found == [] or path == Path(__file__).resolve(), f"{path.relative_to(ROOT)}, lines {found}"


@pytest.mark.parametrize("line", ['t.checked.add("FCVI-1-01")', "self._checked.add(row)", "found.checked |= {row}", 't.named("R")'])
def test_a_decree_is_found(line: str) -> None:
    assert _DECREE.search(line) and not _DECREE.search("self.checked.add(requirement)")


@pytest.mark.parametrize("book", BOOKS)
def test_a_tenth_of_the_proofs_is_shown_again(book: str) -> None:
    player = Player(BOOKS[book])
    variants = {case.variant_id(variant): (case, variant) for case in player.book.cases() for variant in case.variants}
    drawn = [proof for proof in load(book) if proof.device and _drawn(proof)]
    assert len(drawn) > 10
    for proof in drawn:
        case, variant = variants[proof.variant]
        seen = player.seen(case, variant, understand(proof.device))
        assert seen.of(proof.requirement, player.levels) == "named", proof
        if proof.primitive in ("require", "demand") and proof.subject.partition(TURN)[0] not in ("", COMES):
            assert _is_told(proof, {part for _, row, part in seen.broken if row == proof.requirement}), proof


def _is_told(proof: Proof, broken: set[str]) -> bool:
    """A row may be of every turn. What was seen stands as "..." in the words of its turn, and a number as "#": a device that lets
    another number be seen changes the one into the other."""
    words = {told.replace("...", "#") for told in broken}
    subject = proof.subject.replace("...", "#")
    return subject in words or TURN not in subject and subject in {told.partition(TURN)[0] for told in words}


@pytest.mark.parametrize("book", BOOKS)
def test_what_is_not_proved_has_its_reason(book: str) -> None:
    open_ones = {of_every_turn(proof.name) for proof in load(book) if proof.verdict not in ("named", "tolerated")}
    assert open_ones == {name for name in explained(book) if name[1] != CHOICE}
    assert all(len(reason.split()) > 3 for reason in explained(book).values())


@pytest.mark.nightly
@pytest.mark.parametrize("book", BOOKS)
def test_the_table_is_what_the_checks_give(book: str) -> None:
    player = Player(BOOKS[book], shown(book), explained(book))
    checks = played(player, "")
    assert open_checks(player, checks) == []
    assert short_table(proofs(player, checks)) == path_of(book).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "device",
    [
        Break("out", "CONNECT_RQST", (1, 2), "drop"), Break("out", "CONNECT_RQST", (3,), "DH.CONN_MODE=", 2),
        Break("member", "VipQueryVi", (4,), "State", ("VIP_STATE_IDLE", "VIP_STATE_ERROR")), Break("deaf", "RDMA Read Request"),
        Break("answer-from", "VipDone", (2,), "DescriptorPtr.status.0", '"a > b"'), Break("pretend", "Vip", (2,), "", '{"a":7}'),
        Break("asked", "VipDone", (2,), "length", "7"), Break("fault", "pd-freed"),
        Break("ret", "VipConnectAccept", (1,), value="VIP_SUCCESS"), Break("say", "SEND_RQST ABTS", what="dut:4000:ffff", value=7),
        Break("upon", "VipPostSend", (2,), "RDMA Read Request"), Break("out", "CONNECT_RQST", (1,), "CONN.FCVI_LOC_ADDR.HOST_ADD%"),
    ],
    ids=str,
)  # fmt: skip
def test_the_words_of_a_device_are_read_again(device: Break) -> None:
    assert understand(str(device)) == device


def test_a_message_that_is_asked_for_gives_a_device_without_it() -> None:
    record = Record("expect", "x.py:1", "x", "R", (Sight("message", "CONNECT_RQST", (2,)),), ("CONNECT_RQST",))
    assert Break("out", "CONNECT_RQST", (2,), "drop") in list(devices(record, 1, lambda kind: ()))


def test_a_value_gives_devices_with_others_and_never_one_that_passes() -> None:
    sight = Sight("field", "CONNECT_RESP1", (1,), "DH.CONN_STS", 0)
    record = Record("equal", "x.py:1", "x", "R", (sight,), (0,))
    assert {device.value for device in devices(record, 1, lambda kind: ())} == {1}
    assert set(values_of("DH.FCVI_HANDLE", 5)) >= {4, 0, 0xFFFFFFFF, 6, 0x80000005}


class _Echo:
    """A provider that answers each call with what it was given."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def line(self, raw: bytes) -> None:
        asked = json.loads(raw)
        self._write(json.dumps({"jsonrpc": "2.0", "method": "error", "params": {}}) + "\n")
        self._write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": asked["params"]}) + "\n")


def told(broken: Break, *given: dict[str, Any]) -> list[Any]:
    """What comes through a layer for these calls: results, and "error" for a notification."""
    found: list[str] = []
    layer = Layer(broken, _Echo, found.append)
    for number, params in enumerate(given, 1):
        layer.line(json.dumps({"id": number, "method": "Vip", "params": params}).encode())
    every = [json.loads(line) for line in found]
    return [one.get("result", one.get("method")) for one in every]


def test_a_layer_does_one_thing_otherwise() -> None:
    a, b = {"return": "VIP_SUCCESS", "x": {"y": [1, 2]}}, {"return": "VIP_SUCCESS", "x": {"y": [3, 2]}}
    other = {"return": "VIP_SUCCESS", "x": {"y": [7, 2]}}
    assert told(Break("answer", "Vip", (2,), "x.y.0", "7"), a, a, a) == ["error", a, "error", other, "error", a]
    assert told(Break("answer-from", "Vip", (1,), "x.y.0", "7"), a, b, a) == ["error", other, "error", b, "error", other]
    assert told(Break("nothing", "Vip", (2,), "", '{"return": "VIP_NOT_DONE"}'), a, a)[-1] == {"return": "VIP_NOT_DONE"}
    assert told(Break("again", "Vip", (1,)), a, b) == ["error", a, "error", a]
    assert told(Break("never", "Vip", (1,)), a, b) == ["error", "error", b]
    assert told(Break("silent", "error"), a) == [a] and told(Break("twice", "error"), a) == ["error", "error", a]
    assert told(Break("pretend", "Vip", (1,), "", "{}"), a) == [{}]
    assert told(Break("ahead", "Vip", (1,), "", "{}"), a, b) == [{}, "error", "error", b]
    assert told(Break("late", "Vip", (1,)), a, b)[:2] == ["error", "error"]
    assert told(Break("answer", "Other", (1,), "x", "7"), a) == ["error", a]
    assert told(Break("asked", "Vip", (2,), "x.y.0", "7"), a, a, a) == ["error", a, "error", other, "error", a]
    assert told(Break("asked-from", "Vip", (1,), "x.y.0", "7"), a, b, a) == ["error", other, "error", b, "error", other]


def test_what_was_asked_is_taken_for_another() -> None:
    answer = Answer("verbs.PostSq", 2, {"return": "success"}, {"qp": 7, "wrs": [{"flags": ["SIGNALED"], "sges": [{"length": 8}]}]})
    found = [(one.what, one.value) for one in providers([answer], [], "") if one.verb == "asked"]
    assert ("wrs.0.flags", "[]") in found and ("wrs.0.sges.0.length", "7") in found
    assert not any(member == "qp" for member, _ in found)


def test_what_a_breach_names_is_tried_first() -> None:
    answer = Answer("VipQueryVi", 3, {"return": "VIP_SUCCESS", "State": "VIP_STATE_IDLE", "ViSendQEmpty": True, "vi": 4})
    found = providers([answer], ["True"], "ViSendQEmpty of a new VI")
    assert found[0] == Break("answer", "VipQueryVi", (3,), "ViSendQEmpty", "false")
    assert not any(member_of(device) == ("vi",) for device in found if device.verb != "told")
    assert all(understand(str(device)) == device for device in found)


class _Scenario:
    """Notes the condition of its last check."""

    dut = "none"
    condition: Condition

    def require(self, holds: bool, requirement: str) -> str:
        found = here()
        assert found is not None
        self.condition = found
        return "" if holds else found.broken()


def test_the_parts_of_a_condition_are_those_of_its_words() -> None:
    t, got, lost = _Scenario(), {"good": True, "length": 7, "pair": (1, 2)}, False
    broken = t.require(lost or bool(got["good"] and got["length"] == 8), "R")
    assert [part.words for part in t.condition.parts] == ["lost or got['good']", "lost or got['length'] == 8"]
    others = [
        t.require(not (lost or got["length"]), "R"), t.require(got["pair"] == (1, 3), "R"),
        t.require(got.get("no") is not None and got["no"] == 2, "R"),
    ]  # fmt: skip
    assert broken == "lost or got['length'] == 8"
    assert others == ["not got['length']", "got['pair'][1] == 3", "got.get('no') is not None"]


def test_what_denies_something_does_not_ask_that_it_comes() -> None:
    t, got = _Scenario(), {"errors": ["X"]}
    t.require("Y" not in got["errors"] and got["errors"] == ["X"] and got["errors"] != [], "R")
    assert [part.comes for part in t.condition.parts] == [False, True, True]


def test_one_digit_of_a_long_text_is_altered_by_its_place() -> None:
    assert told(Break("answer", "Vip", (1,), "hex", '{"digit":-1}'), {"hex": "ab00"}) == ["error", {"hex": "ab01"}]


def test_a_table_keeps_the_better_proof_of_a_check_that_is_played_again() -> None:
    old = Proof("a", "require", "", "R", "named", "v", "silent error - -", "R")
    worse, other = Proof("a", "require", "", "R", "passes", "", "", ""), Proof("b", "require", "", "S", "passes", "", "", "")
    assert merged([old], [worse, other]) == [old, other] and merged([worse], [old]) == [old]
