"""What the tables of proofs of VIPL and verbs say is so: each provider in them is failed by its requirement."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Callable

import pytest

from conformance.call_proofs.derive import Answer, devices
from conformance.call_proofs.layer import Break, Layer, understand
from conformance.call_proofs.play import player
from conformance.verbs.book import PROTOCOL as VERBS
from conformance.vipl.book import PROTOCOL as VIPL
from fcvi.engine.catalogue import PROOFS, load_requirements, rows
from fcvi.engine.protocol import Protocol, judging_by

_BOOKS = [VIPL, VERBS]
_QUICK = 6  # rows of a table in a run of the tests


def stale(protocol: Protocol, chosen: list[dict[str, str]]) -> list[str]:
    """The rows of which the provider is no longer failed by the requirement."""
    with judging_by(protocol):
        of = player(protocol)
        return [row["requirement"] for row in chosen if not of.proves(row["requirement"], *row["device"].split(": ", 1))]


def table(protocol: Protocol) -> list[dict[str, str]]:
    return list(rows(protocol.folder / PROOFS))


@pytest.mark.parametrize("protocol", _BOOKS, ids=lambda p: p.book)
def test_a_sample_of_the_table_holds(protocol: Protocol) -> None:
    known = {r.id for r in load_requirements([protocol]) if r.testable}
    assert {row["requirement"] for row in table(protocol)} <= known
    assert stale(protocol, Random(1).sample(table(protocol), min(_QUICK, len(table(protocol))))) == []


@pytest.mark.nightly
@pytest.mark.parametrize("protocol", _BOOKS, ids=lambda p: p.book)
def test_the_whole_table_holds(protocol: Protocol) -> None:
    assert stale(protocol, table(protocol)) == []


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
    assert told(Break("answer", "Vip", 2, ("x", "y", 0), "7"), a, a, a) == ["error", a, "error", other, "error", a]
    assert told(Break("answer", "Vip", 1, ("x", "y", 0), "7", True), a, b, a) == ["error", other, "error", b, "error", other]
    assert told(Break("nothing", "Vip", 2, (), '{"return": "VIP_NOT_DONE"}'), a, a)[-1] == {"return": "VIP_NOT_DONE"}
    assert told(Break("again", "Vip", 1), a, b) == ["error", a, "error", a]
    assert told(Break("never", "Vip", 1), a, b) == ["error", "error", b]
    assert told(Break("silent", "error"), a) == [a] and told(Break("twice", "error"), a) == ["error", "error", a]
    assert told(Break("ignore", "Vip", 1, (), "{}"), a) == [{}]
    assert told(Break("answer", "Other", 1, ("x",), "7"), a) == ["error", a]
    assert told(Break("asked", "Vip", 2, ("x", "y", 0), "7"), a, a, a) == ["error", a, "error", other, "error", a]
    assert told(Break("asked", "Vip", 1, ("x", "y", 0), "7", True), a, b, a) == ["error", other, "error", b, "error", other]


def test_a_fault_of_the_model_needs_no_layer() -> None:
    with judging_by(VERBS):
        assert player(VERBS).proves("VERBS-5.2.2-03", "VERBS.1/mr", "fault pd-freed-with-mr")
        assert not player(VERBS).proves("VERBS-5.2.2-03", "VERBS.1/qp", "fault pd-freed-with-mr")


def test_what_was_asked_is_taken_for_another() -> None:
    answer = Answer("verbs.PostSq", 2, {"return": "success"}, {"qp": 7, "wrs": [{"flags": ["SIGNALED"], "sges": [{"length": 8}]}]})
    found = [(one.path, one.value) for one in devices([answer], [], "") if one.what == "asked"]
    assert (("wrs", 0, "flags"), "[]") in found and (("wrs", 0, "sges", 0, "length"), "7") in found
    assert not any(path == ("qp",) for path, _ in found)


def test_what_a_breach_names_is_tried_first() -> None:
    answer = Answer("VipQueryVi", 3, {"return": "VIP_SUCCESS", "State": "VIP_STATE_IDLE", "ViSendQEmpty": True, "vi": 4})
    found = devices([answer], ["True"], "ViSendQEmpty of a new VI")
    assert found[0] == Break("answer", "VipQueryVi", 3, ("ViSendQEmpty",), "false")
    assert not any(device.path == ("vi",) for device in found)
    assert all(understand(str(device)) == device for device in found)
