"""Conforming strangers of VI/TCP and of Rev 1.0 fail no case: a few here, five hundred of each in the nightly tier."""

from __future__ import annotations

import pytest

from fcvi.engine.results import Verdict

from .liberties.strangers import BOOKS, chosen, main, run_device, verdict

_A_FEW, _ALL = range(1, 12), 500


@pytest.mark.parametrize("seed", _A_FEW)
@pytest.mark.parametrize("book", sorted(BOOKS))
def test_a_stranger_fails_nothing(book: str, seed: int) -> None:
    counts, judged = run_device(book, seed, cases=6)
    assert counts["pass"] >= 3
    assert [str(one) for one in judged] == []


_FAR = "5.2.far/reliable-delivery/send/dut-server/class2/in-order"
#: Devices of Rev 1.0 that use up the time of an answer, so that a timer of theirs or of the tester's ends the setup first.
_AT_THE_LAST_MOMENT = (
    ("R1.5.3.4.a/dut-lower/last-byte/class2", 1195,
     "refusal_handle=other,malformed=refuse,discriminator_rest=rubbish,resp1_delay=9400000,delimiters=no,told=0,sent=200000,"
     "heard=200000,ip-beside-it,states-late,parameter-of-empty-frames"),
    (_FAR, 7468, "clock_next=no,resp1_delay=9400000,next_us=no,told=0,sent=30000,heard=200000"),
    (_FAR, 10379,
     "query_state=no,resp1_delay=9400000,farp_match=bit,continue=follows,next_us=no,rdma_read=no,told=1000,sent=200000,"
     "heard=30000,no-next-timer,ip-beside-it,network-header-on-some,seq-ids-lowest"),
)  # fmt: skip


@pytest.mark.parametrize(("variant", "seed", "settings"), _AT_THE_LAST_MOMENT)
def test_who_answers_at_the_last_moment_is_not_accused(variant: str, seed: int, settings: str) -> None:
    assert verdict("rev1", settings.split(","), seed, variant) is Verdict.INCONCLUSIVE


def test_who_sends_a_read_late_in_segments_of_twenty_bytes_is_no_flood() -> None:
    """It is megabytes of the DUT protocol."""
    settings = ["response_segment=20", "told=0", "sent=200000", "heard=0"]
    assert verdict("vitcp", settings, 1108, "TCP.2.2.2.2.6.a/dut-server/rd/surplus") is Verdict.PASS


def test_who_takes_two_megabytes_by_one_window_a_step_is_not_accused() -> None:
    """The time of a completion begins when the DUT has let the tester send all of the message."""
    settings = ["receive_window=as-read", "clock_next=no", "told=0", "sent=0", "heard=30000"]
    assert verdict("vitcp", settings, 1477, "TCP.3.1.n/largest/send") is Verdict.PASS


@pytest.mark.parametrize("seed", range(1336, 1340))
def test_whose_large_segments_do_not_fit_the_window_is_not_accused(seed: int) -> None:
    """Each window lets a part of a segment go, and what it lets go is under way for up to 0.2 s."""
    settings = ["segment=65495", "told=0", "sent=200000", "heard=0"]
    assert verdict("vitcp", settings, seed, "TCP.3.1.n/largest/rdma-write") is Verdict.PASS


@pytest.mark.parametrize("variant", ["TCP.4.3.b/opened-and-closed", "TCP.3.1.u/dut-server/ipv4/rd/send/one/ack/after-reset"])
def test_whose_timer_of_incoming_ends_a_request_that_waited_too_long_is_not_accused(variant: str) -> None:
    """Calls and answers are under way for longer than the timer (V81)."""
    settings = ["clock_next=no", "accept_delay=900000", "pending=ends", "told=200000", "sent=0", "heard=200000"]
    assert verdict("vitcp", settings, 70170, variant) is Verdict.INCONCLUSIVE


def test_a_nop_in_an_idle_moment_is_not_what_a_refused_call_sends() -> None:
    """VipConnectRequest on a connected VI is refused late, and a NOP comes meanwhile (3.1)."""
    settings = ["keepalive=7000", "told=200000", "sent=0", "heard=0"]
    assert verdict("vitcp", settings, 1, "TCP.2.2.2.1.b/dut-server") is Verdict.PASS


def test_a_refused_peer_may_ask_again_at_once() -> None:
    """5.3.3: also where its Host Address is the lower one, so that it refuses the tester's request while its own is open."""
    assert verdict("rev1", ["peer_again=at-once"], 1, "R1.5.3.3.a/tester-late/dut-lower") is Verdict.PASS


def test_messages_of_one_vi_whose_frames_take_turns_reach_the_reference_port() -> None:
    """FC-PH lets the frames of two Exchanges take turns, and the draft has no Annex B that forbids it."""
    variant = "5.2.far/reliable-delivery/rdma-write/dut-client/class3/in-order"
    assert verdict("rev1", ["empty_frames=last", "order=interleaved"], 4000, variant) is Verdict.PASS


#: Segments of a few bytes, in small pieces, make megabytes of the DUT protocol: no flood, and no message of megabytes.
@pytest.mark.parametrize(("variant", "settings", "ends"), [
    ("dut-client/rr/one-segment", "response_segment=20,cut=40,told=0,sent=200000,heard=30000", Verdict.PASS),
    ("largest/rdma-read", "response_segment=20", Verdict.NOT_APPLICABLE), ("largest/send", "segment=16", Verdict.NOT_APPLICABLE),
    ("largest/send", "segment=100", Verdict.PASS),
])  # fmt: skip
def test_who_sends_in_small_segments_floods_nobody(variant: str, settings: str, ends: Verdict) -> None:
    assert verdict("vitcp", settings.split(","), 31170, f"TCP.3.1.n/{variant}") is ends


@pytest.mark.nightly
@pytest.mark.parametrize("book", sorted(BOOKS))
def test_five_hundred_fail_nothing(book: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([book, "--devices", str(_ALL), "--first", "1001"]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("book", sorted(BOOKS))
def test_every_choice_is_mixed_in_and_seeds_differ(book: str) -> None:
    mixtures = [chosen(BOOKS[book], seed) for seed in range(600)]
    taken = {setting.partition("=")[0] for mixture in mixtures for setting in mixture}
    assert taken >= set(BOOKS[book].values)
    assert len({tuple(mixture) for mixture in mixtures}) > 500
