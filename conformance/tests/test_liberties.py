"""Conforming devices that take liberties fail no case; `python3 -m conformance.tests.liberties.mixer` runs two thousand."""

from __future__ import annotations

import functools
import random
from typing import Any, Deque
from unittest.mock import patch

import pytest

from fcvi.engine import pics as pics_module
from fcvi.engine.attachment import Notification, Reply
from fcvi.engine.pixit import pixit_for
from fcvi.engine.results import Verdict
from fcvi.engine.runner import not_applicable, run_variant

from .choices import CHOICES
from .liberties.manner import LIBERTIES
from .liberties.mixer import chosen, device, judged_by, main, run_device
from .variants import CASES, LEVELS

SAMPLE, ALL = 40, 2_000
#: Devices that a case accused once, by the liberties that it took for a breach, on the reference port or not.
ONCE_ACCUSED = {
    "an OX_ID used again by a request without payload, whose Parameter means nothing (E19, E82)":
        (7049, ["parameter-of-empty-frames", "ox_id=lowest"], False, "8.6.2.a/dut-client/sofn3"),
    "T3 that runs from the first frame of a request (E55)":
        (27012, ["frames-spaced", "frames-of-uneven-length"], False, "5.9.4.6/dut-client/setup-abort"),
    "completions that come while the suite reads memory by slow calls":
        (28009, ["completions-vary", "control-constant"], True, "B.3.3.3/unreliable/just-inside-r-a-tov"),
    "a retry that is refused before its call is seen to end (E153)":
        (100747, ["results-after-notifications", "setup_abts=ends"], False, "5.9.4/dut-server/plain"),
    "a setup abort that names the port's own FCVI_HANDLE (E04)":
        (201419, ["handles-downwards", "abort_handle=own"], False, "8.1/pending"),
    "two ADISC at once, of which the tester answered one (E83)":
        (1, ["own-els-behind", "adisc-before-each-setup"], True, "7.7.3/dut-client/any"),
}  # fmt: skip


@pytest.mark.parametrize("device", ONCE_ACCUSED.values(), ids=ONCE_ACCUSED)
def test_whom_a_case_accused_once_is_accused_no_more(device: tuple[int, list[str], bool, str]) -> None:
    assert judged_by(*device) not in (Verdict.FAIL, Verdict.ERROR)


def test_the_tester_logs_in_again_before_a_setup_when_the_device_has_logged_out() -> None:
    names = ["logs-out-when-idle", "other-calls-return-late"]
    assert judged_by(1, names, True, "5.9.5.disconnect/dut-server/disconnect-rqst/together") is Verdict.PASS


@pytest.mark.parametrize("seed", range(1, 1 + SAMPLE))
def test_a_device_that_takes_liberties_fails_nothing(seed: int) -> None:
    counts, judged = run_device(seed)
    assert sum(counts.values()) == 8
    assert [str(one) for one in judged if one.verdict in ("fail", "error")] == []


@pytest.mark.nightly
def test_two_thousand_devices_fail_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--devices", str(ALL), "--first", "1001"]) == 0, capsys.readouterr().out


def test_there_are_liberties_enough_and_seeds_differ() -> None:
    assert len(set(LIBERTIES) - set(CHOICES)) >= 50
    assert all(one.clause for one in LIBERTIES.values())
    mixtures = [chosen(random.Random(seed), True) for seed in range(600)]
    assert len({tuple(names) for names in mixtures}) >= 500
    assert all(1 <= len(names) <= 5 for names in mixtures)
    assert {name for names in mixtures for name in names} == {one.name for one in LIBERTIES.values() if not one.arguable}


#: Variants in which one or other liberty shows.
_SHOWN_IN = (
    "6.8.3", "6.12.2", "C.5.2", "5.2.far/reliable-reception/send/dut-server/class2", "5.3.4", "7.5.reply", "D.2/dut-client",
    "5.2.4.combined/tester-requests/rdma-read/reliable-reception/class3/in-order", "5.9.7.3.2", "B.R8a", "6.4.1/reliable-reception",
    "7.7.5", "7.7.2", "7.5.reply/code-point-111", "C.R8", "C.R12", "8.5.4.combined/dut-server", "7.2", "4.2.30", "7.7.1",
    "6.2/reliable-delivery/largest", "8.4.2", "5.9.4.5", "5.9.7.2", "C.R1", "5.6/", "8.5.2", "B.3.3.3",
    "B.R6e/reliable-delivery/send",
    "B.R3", "5.2.2.sends/dut-server", "E.2",
    "B.R7a/send/class2/frame",
    "7.7.1.process", "7.5.request", "5.9.2/", "7.7.1.relogin/dut-client/class2", "C.5.7.1/dut-server",
    "C.5.1.send", "7.7.1.inbound",
)  # fmt: skip


def _seen(names: list[str], begins: str) -> Any:
    """What the suite sees in the first variant that begins so, of a reference port with these liberties."""
    dut = device(1, names, True)
    pics = pics_module.complete(dut.pics, "hello")
    found = [(c, v) for c, v in CASES if c.variant_id(v).startswith(begins) and not_applicable(c, v, pics) is None]
    if not found:
        return pics
    seen: list[Any] = []
    real_advance, real_request = dut.advance, dut.request

    class Inbox(Deque[Notification]):
        """Writes down what comes in."""

        def append(self, note: Notification) -> None:
            seen.append((note.time_us, note.method, str(note.params)))
            super().append(note)

    dut.inbox = Inbox()

    def advance(us: int) -> None:
        real_advance(us)
        seen.append((dut.next_us, dut.knows_next))

    def request(method: str, params: dict[str, Any]) -> Reply:
        reply = real_request(method, params)
        seen.append((method, str(params), reply))
        return reply

    def write(method: str, params: dict[str, Any]) -> Reply:
        if method == "mem.write":
            seen.append((method, str(params)))
        return of_port(method, params)

    of_port = dut._inner.request
    with patch.multiple(dut, advance=advance, request=request), patch.object(dut._inner, "request", write):
        run_variant(dut, *found[0], pics, pixit_for("virtual"), LEVELS, 1)
    return pics, seen


@functools.cache
def _plain(begins: str) -> Any:
    return _seen([], begins)


@pytest.mark.parametrize("name", LIBERTIES)
def test_each_liberty_does_something(name: str) -> None:
    """A liberty that changes nothing would pass for nothing."""
    assert any(_seen([name], begins) != _plain(begins) for begins in _SHOWN_IN)


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--devices", "0"]) == 2
    assert "above 0" in capsys.readouterr().err
    assert main(["--only", "sleeps"]) == 2
    assert "sleeps" in capsys.readouterr().err
