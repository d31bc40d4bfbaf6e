"""``fcvi lint`` against captures with one breach each, and against conforming ones, that were made from the standard alone."""

from pathlib import Path

import pytest

from conformance.tests.breaches import judge, misplaced, wire
from conformance.tests.breaches.conforming import judge_sessions

ROOT = Path(__file__).parents[2]


def test_at_least_300_breaches_are_labelled_with_requirements_of_the_catalogue() -> None:
    rows = (ROOT / "conformance" / "fcvi" / "requirements.tsv").read_text().splitlines()[1:]
    catalogue = {row.split("\t")[0] for row in rows}
    bank = judge.labels()
    assert len(bank) >= 300
    assert len({label.name for label in bank}) == len(bank)
    assert {r for label in bank for r in label.requirements} <= catalogue


def test_the_written_list_is_that_of_the_generator(tmp_path: Path) -> None:
    judge.write_labels(tmp_path / "labels.tsv")
    assert (tmp_path / "labels.tsv").read_text() == judge.KNOWN.with_name("labels.tsv").read_text()


def test_lint_finds_every_breach_but_the_known_ones_and_accuses_nobody_else(tmp_path: Path) -> None:
    today, known = judge.shortcomings(tmp_path), judge.known()
    assert {name: why for name, why in today.items() if name not in known} == {}
    mended = sorted(set(known) - set(today))
    assert mended == [], "mended: take these lines out of known.tsv (judge --write-known does it)"


def test_lint_accuses_no_conforming_session(tmp_path: Path) -> None:
    known = {word for name, why in judge.known().items() if name.endswith("false alarm") for word in why.split()}
    alarms = judge_sessions(tmp_path, 1, 400, every=False)
    assert [(name, trust, f["requirement"]) for name, trust, f in alarms if f["requirement"] not in known] == []


#: Breaches that no conforming port answers as the captures show it: the other port echoes what it did not get.
ANSWERED_AS_IF_RIGHT = {"msg_id_skips-SEND", "msg_id_skips-WRITE", "msg_id_skips-READ", "msg_id_skips-BACK"}


@pytest.mark.parametrize("trust, whole", [("whole", 250), ("", 240)])  # fewer where names behind a hole are not compared
def test_four_in_five_breaches_of_the_headers_are_found_in_64_bytes_a_frame(trust: str, whole: int, tmp_path: Path) -> None:
    there, found, accused = judge.judge_cut(tmp_path, 64, trust)
    assert there >= whole
    assert found >= 0.8 * there, (found, there)
    assert set(accused) <= ANSWERED_AS_IF_RIGHT


@pytest.mark.parametrize("snap", [64, 80])
def test_lint_accuses_no_conforming_session_that_is_cut_off(snap: int, tmp_path: Path) -> None:
    known = {word for name, why in judge.known().items() if name.endswith("false alarm") for word in why.split()}
    alarms = judge_sessions(tmp_path, 1, 150, every=False, snap=snap)
    assert [(name, trust, f["requirement"]) for name, trust, f in alarms if f["requirement"] not in known] == []


@pytest.mark.parametrize("trust", ["all,order", "whole", ""])
def test_behind_a_frame_out_of_its_place_nobody_else_is_accused(trust: str, tmp_path: Path) -> None:
    """What depends on a frame that the monitor could not place is not judged: the next Message, the Disconnect, a SEQ_ID."""
    bank = {str(tmp_path / f"{i}.pcap"): session for i, session in enumerate(misplaced.sessions())}
    for path, session in bank.items():
        wire.write_pcap(Path(path), session.frames)
    found = judge.lint([Path(path) for path in bank], trust)
    others = [(bank[path].name, f["requirement"], f["frame"]) for path, findings in found.items() for f in findings
              if judge.bad(f) and f["frame"] not in bank[path].own]  # fmt: skip
    assert len(bank) > 2000 and others == []
    assert sum(any(judge.bad(f) for f in findings) for findings in found.values()) > (1500 if trust else 500)


def test_a_response_in_another_exchange_leaves_no_message_waiting(tmp_path: Path) -> None:
    """7.3: its receiver may have taken it for the answer. A RESP2 or RESP3 in another Exchange may have ended the setup, too."""
    from conformance.tests.breaches.scene import scene

    frames = {}
    for iu in ("SEND_RESP", "WRITE_RESP", "RESP2", "RESP3"):
        s = scene()
        s.one(iu).ox ^= 0x40
        wire.write_pcap(tmp_path / f"{iu}.pcap", s.w.frames)
        frames[str(tmp_path / f"{iu}.pcap")] = s.w.number(s.one(iu))
    for trust in ("all,order", "whole"):
        found = judge.lint([Path(path) for path in frames], trust)
        late = [(path, f["requirement"]) for path, findings in found.items() for f in findings if f["frame"] > frames[path] + 1]
        assert late == []
