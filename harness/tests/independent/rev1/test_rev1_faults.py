"""Every fault shows, every choice lives, and the tables agree with the code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import List

import pytest

from ..faults import ATTACHMENT
from ..test_independent import HELLO, run
from .choices import CHOICES
from .faults import BEHAVIOUR, FARP_FAULTS, FRAME_FAULTS, IU_FAULTS, clauses, listing
from .labels import LABELS
from .situations import SITUATIONS, live, traffic
from .two_ports import Two

HERE = Path(__file__).resolve().parent
#: The cases of the book ask for these alone: two such ports send no ABTS for a Message without a response, no empty segment or
#: RDMA Write, no Message of MaxTransferSize, no length of 32 bits, have no two VIs or waits, and lose the first of two responses
#: together with the second.
_BY_CASES_ALONE = {
    "aborted-message-stays", "any-right-will-do", "early-receives-lost", "empty-write-brings-none", "fills-the-first-vi",
    "gathers-to-the-first-empty", "largest-not-taken", "msg-id-of-8-bits", "oldest-wait-matches", "read-length-is-signed",
    "response-to-the-oldest",
}  # fmt: skip


@pytest.mark.parametrize("shares", [6, pytest.param(1, marks=pytest.mark.nightly)])
def test_every_fault_shows_somewhere(shares: int) -> None:
    right = {situation: live(situation) for situation in SITUATIONS}
    asked = sorted(set(clauses()) - _BY_CASES_ALONE)
    unseen = [name for name in asked[::shares] if not any(live(one, name) != right[one] for one in SITUATIONS)]
    assert unseen == []


def test_lives_are_repeatable() -> None:
    for situation in SITUATIONS:
        assert live(situation) == live(situation)


def test_faults_are_all_used_and_named() -> None:
    code = [path for path in HERE.glob("*.py") if not path.name.startswith(("faults", "labels", "test_", "lives"))]
    shared = [HERE.parent / name for name in ("els.py",)]
    source = "".join(path.read_text() for path in code + shared)
    used = set(re.findall(r'bad\(\s*"([a-z0-9-]+)"', source)) | set(re.findall(r'"([a-z0-9-]+-two-frames)"', source))
    used |= {"ignores-lost-messages"}
    assert used == set(BEHAVIOUR)
    assert len(listing()) == len(BEHAVIOUR) + len(IU_FAULTS) + len(FRAME_FAULTS) + len(FARP_FAULTS) + len(ATTACHMENT)


def every_value() -> List[str]:
    """Each value of each choice, numbers by example."""
    settings = []
    for name, (values, _) in CHOICES.items():
        if values.startswith("NUMBER"):
            settings += [f"{name}={values.split(':')[1]}", f"{name}={3 if name.endswith('ius') else 64}"]
        else:
            settings += [f"{name}={value}" for value in values.split("|")]
    return settings


@pytest.mark.parametrize("setting", every_value())
def test_every_choice_lives(setting: str) -> None:
    for situation in ("good ud", "good rd", "good rr", "preferred", "concurrent peers"):
        if setting == "reliable_reception=no" and situation == "good rr":
            continue
        said = "".join(text for side in live(situation, None, [setting]) for _, text in side)
        assert '"VIP_SUCCESS"' in said and "Sequence error" not in said and "discarded" not in said, said


#: No operation, or frames that leave when the clock has moved.
_NOT_ALONE = ("rdma_read=no", "pace=64", "order=interleaved")


@pytest.mark.parametrize("setting", [one for one in every_value() if one not in _NOT_ALONE])
def test_either_side_may_choose_alone(setting: str) -> None:
    for client, server in (([setting], []), ([], [setting])):
        two = Two("rd" if setting == "reliable_reception=no" else "rr", client, server, size=400)
        two.connect()
        traffic(two)
        assert two.states() == ("connected", "connected")
        for node in (two.client, two.server):
            assert not any(node.completions("send") + node.completions("recv"))
        assert two.disconnect(two.client)["return"] == "VIP_SUCCESS"


def test_labels_are_requirements_that_hold() -> None:
    book = HERE.parents[3] / "conformance" / "rev1"
    rows = [line.split("\t") for line in (book / "requirements.tsv").read_text().splitlines()[1:]]
    held = [line.split("\t") for line in (book / "holds.tsv").read_text().splitlines()[1:]]
    known = {row[0] for row in rows} | {row[0] for row in held if row[1] == "holds"}
    assert set(LABELS) == set(clauses())
    assert {ident for ids in LABELS.values() for ident in ids.split()} <= known


def test_program_lists_and_refuses() -> None:
    rev1 = ["--revision", "rev1"]
    assert len(run([*rev1, "--list-choices"], [])[1]) == len(CHOICES)
    rows = [row.split("\t") for row in run([*rev1, "--list-faults"], [])[1]]
    assert len(rows) == len(listing()) and all(len(row) == 3 and all(row) for row in rows)
    for wrong in (["--choose", "connect_info=yes"], ["--choose", "no_match=03"], ["--fault", "no-resp3"]):
        assert run([*rev1, *wrong], [])[0] == 2
    status, lines, _ = run([*rev1, "--choose", "rdma_read=no"], [HELLO])
    pics = json.loads(lines[0])["result"]["pics"]
    assert status == 0 and pics["revision"] == "rev1" and not pics["rdma_read"] and pics["peer_to_peer"]
