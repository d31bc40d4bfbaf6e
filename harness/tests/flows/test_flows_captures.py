"""`fcvi flows` and `fcvi explain` of captures in pcaps/field, which were written by hand from the standard without the suite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .. import starts

ROOT = Path(__file__).resolve().parents[3]
FIELD = ROOT / "pcaps/field"


def fcvi(command: str, name: str) -> tuple[Any, int]:
    """What it says as JSON, and its status."""
    words = [str(ROOT / "build/fcvi"), command, "--json", str(FIELD / f"{name}.pcap")]
    done = starts.run(words, capture_output=True, text=True, check=False, timeout=60)
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode


def connections(name: str) -> list[dict[str, Any]]:
    """The Connections of a capture."""
    return [line for line in fcvi("flows", name)[0] if "connection" in line]


def causes(name: str) -> list[list[str]]:
    """What each cause may be."""
    lines = [line for line in fcvi("explain", name)[0] if "cause" in line]
    return [line["may_be"] or [line["cause"]] for line in lines]


def test_an_ox_id_names_an_exchange_of_each_port() -> None:
    """FC-FS: two ports may use one OX_ID at the same time, each for an Exchange that it began."""
    found = connections("same-ox-id-of-two-setups")
    assert [(c["port"], c["setup_us"], c["ended"], c["messages"]) for c in found] == [
        (["010101", "010202"], 1200, "disconnected", [3, 3]), (["010202", "010101"], 1200, "disconnected", [3, 3]),
    ]  # fmt: skip
    peers = connections("same-ox-id-of-two-peers")
    assert [(c["ended"], c["ended_by"], c["reason"]) for c in peers] == [("disconnected", "010101", -1), ("refused", "010101", 5)]
    assert causes("same-ox-id-of-two-setups") == causes("same-ox-id-of-two-peers") == []


def test_an_empty_frame_behind_the_others_is_no_repetition() -> None:
    """6.7.1: an FCVI_READ_RESP without data may tell of the error and end the Exchange."""
    [found] = connections("read-ends-with-empty-error")
    assert (found["failed"], found["again"]) == (1, 0)
    assert causes("read-ends-with-empty-error") == [["memory-protection"]]
    [found] = connections("empty-last-frame")
    assert (found["again"], found["late"], found["unanswered"]) == (0, 0, 0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("abts-where-no-response-is-due", []),
        ("peers-one-after-the-other", []),
        ("disconnect-never-answered", [["lost-disconnect"]]),
        ("slow-to-accept", [["slow-accept", "lost-resp1"]]),
    ],
)
def test_nothing_is_told_to_be_lost_that_was_never_sent(name: str, expected: list[list[str]]) -> None:
    assert causes(name) == expected


def test_peers_that_meet_one_after_the_other_did_not_fail() -> None:
    """5.3.3: the first is refused while the other does not ask yet."""
    assert fcvi("explain", "peers-one-after-the-other")[1] == 0


def test_a_disconnect_belongs_to_the_setup_that_it_aborts() -> None:
    """6.12.2: it names it by its FCVI_CONNECTION_ID."""
    [found] = connections("setup-aborted")
    assert (found["ended"], found["reason"], found["retries"]) == ("timed out", 0x49, 1)


def test_who_repeats_a_refusal_has_not_refused() -> None:
    """E40: the IU behind it may repeat the Reason Code."""
    [found] = connections("refusal-repeated")
    assert (found["ended_by"], found["reason"]) == ("010101", 2)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("peer-obliged-to-refuse", [["transport-error"]]),
        ("setup-withdrawn-as-resp2-went", [["withdrawn"]]),
        ("setup-withdrawn", [["withdrawn"]]),
        ("parameters-refused-that-are-right", [["refused-parameters"]]),
        ("read-given-up-early", [["given-up-early"]]),
        ("revision-of-no-edition", [["unknown-revision"]]),
        ("response-tells-of-transport-error", [["transport-error"]]),
        ("disconnect-for-want-of-resp3", [["lost-resp3"]]),
    ],
)
def test_what_the_frames_do_not_show_is_not_said(name: str, expected: list[list[str]]) -> None:
    """The Peer that Table 2 makes refuse convicts nobody, what was withdrawn was not lost, and 50 us are no timeout."""
    assert causes(name) == expected


def test_a_peer_that_has_to_refuse_is_no_party() -> None:
    lines = fcvi("explain", "peer-obliged-to-refuse")[0]
    assert [line["party"] for line in lines if "cause" in line] == [""]


def test_a_port_that_told_of_an_error_completes_nothing_more() -> None:
    """8.4.2 e, 8.1: at Reliable Reception it is in Error; two later Messages are answered with success."""
    words = [str(ROOT / "build/fcvi"), "lint", "--json", "--trust", "whole", str(FIELD / "response-tells-of-transport-error.pcap")]
    done = starts.run(words, capture_output=True, text=True, check=False, timeout=60)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(f["requirement"], f["frame"]) for f in found if "requirement" in f] == [("FCVI-8.4.2-e", 13), ("FCVI-8.4.2-e", 15)]
    assert done.returncode == 1
