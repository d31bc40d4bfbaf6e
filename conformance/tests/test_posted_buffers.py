"""Tests that what was posted belongs to the device until the Descriptor completes (VI-DG 5.5); what lies behind it does not."""

from __future__ import annotations

from typing import Any

import pytest

import conformance
from conformance.rev1.book import PROTOCOL as REV1
from fcvi.dut.ref import RefDut, StreamDut
from fcvi.engine.attachment import Reply
from fcvi.engine.catalogue import load_catalogue
from fcvi.engine.pics import complete
from fcvi.engine.pixit import pixit_for
from fcvi.engine.protocol import judging_by, protocol_of
from fcvi.engine.results import Result, Verdict
from fcvi.engine.runner import not_applicable, run_variant

conformance.register_all()
JUNK, LONGEST, BEHIND = 0x3C, 30_000, 8


class Scribbler:
    """A reference port that fills what was posted for a receive, and so many bytes behind it."""

    behind = 0

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        reply: Reply = super().request(method, params)  # type: ignore[misc]
        if method == "VipPostRecv" and reply.done and reply.result.get("return") == "VIP_SUCCESS":
            for segment in params["descriptor"]["segments"]:
                self._fill(segment["mem"], segment["offset"], segment["length"] + self.behind)
        return reply

    def _fill(self, mem: int, first: int, length: int) -> None:
        for at in range(first, first + length, LONGEST):
            size = min(LONGEST, first + length - at)
            junk = {"mem": mem, "offset": at, "hex": bytes([JUNK]).hex() * size}
            super().request("mem.write", junk)  # type: ignore[misc]


class OfFcVi(Scribbler, RefDut):
    """Of FC-VI."""


class OfVitcp(Scribbler, StreamDut):
    """Of VI/TCP."""


def made(book: str) -> Any:
    return OfVitcp() if book == "VI/TCP" else OfFcVi("ref", "rev1" if book == REV1.name else "2007")


def run(book: str, behind: int, third: int, only: tuple[str, ...] = ("",)) -> list[Result]:
    with judging_by(protocol_of(book)):
        return _run(made(book), book, behind, third, only)


def _run(dut: Any, book: str, behind: int, third: int, only: tuple[str, ...]) -> list[Result]:
    dut.behind = behind
    pics, pixit, levels = complete(dut.pics, "hello"), pixit_for("virtual"), load_catalogue().levels
    chosen = [
        (case, variant)
        for case in protocol_of(book).cases()
        for variant in case.variants
        if case.id.startswith(only) and not_applicable(case, variant, pics) is None
    ]
    return [run_variant(dut, case, variant, pics, pixit, levels, 1) for case, variant in chosen[third::3]]


@pytest.mark.parametrize("book", ["FC-VI", REV1.name, "VI/TCP"])
def test_a_device_uses_what_was_posted_as_it_likes(book: str) -> None:
    results = run(book, 0, 1)
    assert len(results) > 100
    other = [(r.id, r.reason) for r in results if r.verdict is not Verdict.PASS and not r.reason.startswith("the attachment does")]
    assert other == []


@pytest.mark.parametrize(("book", "case"), [("FC-VI", ("6.3", "B.R3")), ("VI/TCP", ("TCP.3.1.c",))])
def test_what_lies_behind_is_guarded(book: str, case: tuple[str, ...]) -> None:
    failed = [r for r in run(book, BEHIND, 0, case) if r.verdict is Verdict.FAIL]
    assert failed and all("behind" in r.reason or "differs" in r.reason for r in failed)
