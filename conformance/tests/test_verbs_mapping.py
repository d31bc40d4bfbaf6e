"""The mapping between VIA and RDMA verbs: it is complete, its clauses are there, and ``fcvi show --map`` finds both sides."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from conformance.verbs.book import PROTOCOL
from conformance.vipl.book import PROTOCOL as VIPL
from fcvi.commands.mapping import about, table
from fcvi.engine.catalogue import load_requirements
from harness.tests.conftest import ROOT, fcvi

PAIRS = table(PROTOCOL.folder / "mapping.tsv")
SCHEMA = json.loads((ROOT / "harness/fcvi/commands/schemas/show.schema.json").read_text())


def test_every_vipl_call_is_mapped_once() -> None:
    declared = set(re.findall(r"\b(Vip[A-Z]\w+)\s*\(", (ROOT / "refimpl/vipl/include/vipl.h").read_text()))
    named = [name for pair in PAIRS for name in pair.via if name.startswith("Vip")]
    assert len(declared) == 41 and sorted(named) == sorted(declared)


def test_every_state_of_a_vi_and_of_a_qp_is_mapped() -> None:
    names = {name for pair in PAIRS for name in pair.names()}
    assert {"VIP_STATE_IDLE", "VIP_STATE_CONNECT_PENDING", "VIP_STATE_CONNECTED", "VIP_STATE_ERROR"} <= names
    told = " ".join(pair.change + " ".join(pair.verbs) for pair in PAIRS)
    assert all(state in told for state in ("Idle", "RTS", "Terminate", "Error", "Closing"))


def test_rows_are_whole() -> None:
    for pair in PAIRS:
        assert pair.names() and pair.change.endswith(".") and pair.relation in ("same", "differs", "none"), pair
        assert bool(pair.via) == bool(pair.via_clauses) and bool(pair.verbs) == bool(pair.verbs_clauses), pair
        assert pair.relation == "none" or (pair.via and pair.verbs), pair
        assert all(re.fullmatch(r"[SG] [2-7](\.[0-9]+)*", clause) for clause in pair.via_clauses), pair
        assert all(re.fullmatch(r"[5-9](\.[0-9]+)*", clause) for clause in pair.verbs_clauses), pair
    names = [name for pair in PAIRS for name in pair.via]
    assert len(names) == len(set(names))


def test_calls_stand_at_their_clauses() -> None:
    """Where the catalogue of VIPL has a requirement of a call's own clause, the mapping names that clause."""
    calls = {r.clause: r for r in load_requirements((VIPL,)) if re.fullmatch(r"G 3\.[1-9]\.[0-9]+", r.clause)}
    cited = {clause for pair in PAIRS for clause in pair.via_clauses}
    assert set(calls) <= cited | {"G 3.5.12"}


@pytest.mark.parametrize(
    "item, names",
    (("VipPostSend", {"PostSQ"}), ("postsq", {"VipPostSend"}), ("immediatedata", {"Immediate Data"}), ("Flushed", {"Flushed"}),
     ("Deallocate STag", {"VipDeregisterMem"}), ("PollCQ", {"VipSendDone", "VipCQDone"})),
)
def test_both_sides_are_found(item: str, names: set[str]) -> None:
    assert names <= {name for pair in about(PAIRS, item) for name in pair.names()}


def shown(*args: str) -> Any:
    done = fcvi("show", "--map", "--json", *args)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    jsonschema.validate(told, SCHEMA)
    return told


def test_the_command() -> None:
    assert len(shown()["pairs"]) == len(PAIRS) > 60
    assert shown("VipDisconnect")["pairs"][0]["relation"] == "differs"
    done = fcvi("show", "--map", "Memory Window")
    assert done.returncode == 0 and "VIA: nothing of the kind" in done.stdout and "7.10" in done.stdout
    for args, words in (("nonsense",), "neither VIA nor verbs"), (("--errata",), "show takes one of"):
        wrong = fcvi("show", "--map", *args)
        assert wrong.returncode == 2 and words in wrong.stderr and wrong.stderr.count("\n") == 1


def test_the_chapter_is_found() -> None:
    index = Path(ROOT / "harness/docs/README.md").read_text()
    assert "](verbs.md)" in index and "## From VIA to RDMA verbs" in Path(ROOT / "harness/docs/verbs.md").read_text()
