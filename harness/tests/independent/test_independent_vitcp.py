"""The cases of VI/TCP against the independent endpoint: it passes with each choice, and its own row catches each of its faults.

The endpoint runs in this process; the nightly tier has it over a pipe.
Run as a program it counts: python3 -m harness.tests.independent.test_independent_vitcp
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Iterator, Optional, Sequence

import pytest

import conformance
from fcvi.engine.attachment import Dut
from fcvi.engine.catalogue import DecidedBy, load_catalogue, load_decided_by
from fcvi.engine.pics import complete
from fcvi.engine.pixit import pixit_for
from fcvi.engine.protocol import judging_by, put_in_force
from fcvi.engine.results import Result
from fcvi.engine.runner import not_applicable, run_variant
from fcvi.dut.rpc import RpcDut
from conformance.vitcp.book import PROTOCOL

from .chosen import N, Choices
from .vitcp.choices import CHOICES
from .vitcp.faults import BEHAVIOUR, DEGENERATE, WIRE, Faults, listing
from .vitcp.rpc import Closed, Server
from ..inside import InsideDut
from ..inside import run_all as run_against

CAREFUL = ("one_at_a_time=yes response_delay=1000 receive_window=as-read recv_delay=900000 completion_delay=30000",
           "read_window=0 most_vis=1 largest=32768 handles=reused receive_window=slowly placing=backwards told_level=delivery",
           "police=yes lacks=server listen=wait keepalive=300000 "
           "source_port=same close=fin-reset numbers_begin=go-on request_delay=30000",
           "send_delay=30000 pace=500 cut=100 accept_delay=1000 pages=yes",
           "completion_order=processing retry_us=2800000 error_at_delivery=silent",
           "failed_state=error long_discriminator=VIP_ERROR_RESOURCE overlong=lost",
           "last_words=yes finishes=yes disconnect_returns=closed answers_all=yes write_header=first overlong_told=at-the-end "
           "peer_mismatch=stay operations=unnamed read_delay=30000 again_us=8000000",
           "division=empty-last unused=rubbish first_number=2147483647 security=16 "
           "memory=high more_nops=yes code_beside_good=9 lingers=300000")
OTHER_READINGS = ("rdma_header=first division=empty-first", "nop_number=counted", "count=each-type nop_number=counted",
                  "immediate=first", "compare=text",
                  "conn_lost=silent behind_discriminator=rubbish", "ack_at_delivery=arbitrary",
                  "gone_in_pending=connects", "pending=ends")  # fmt: skip
#: Cases by which alone a reading shows: they are in every share.
SHOWN_BY = ("TCP.4.a", "TCP.4.d", "TCP.4.3.c")
#: A few of the mistakes; the nightly tier has all.
SAMPLE = ("rx-zero", "same-number-same-message", "nop-too-late", "padding-not-told")
#: What the night plays over a pipe, too: times, cuts and ends are what a pipe could change.
PIPED = ("", "send_delay=30000 pace=500 cut=100", "completion_order=processing retry_us=2800000", "gone_in_pending=connects")
ENDPOINT = Path(__file__).parent / "vitcp" / "endpoint.py"
conformance.register_all()


@pytest.fixture(autouse=True, scope="module")
def book() -> Iterator[None]:
    """VI/TCP judges in these tests."""
    with judging_by(PROTOCOL):
        yield


def inside(choices: Sequence[str], fault: Optional[str]) -> Dut:
    """The endpoint in this process."""
    spec = f"independent VI/TCP {' '.join(choices)} {fault or ''}"
    return InsideDut(spec, lambda write: Server(Choices(CHOICES, [*choices]), Faults(fault), write), Closed)


def program(choices: Sequence[str], fault: Optional[str]) -> Dut:
    """The endpoint as a program."""
    options = [word for choice in choices for word in ("--choose", choice)] + (["--fault", fault] if fault else [])
    return RpcDut(" ".join(["exec:/usr/bin/python3", str(ENDPOINT), *options]), rpc_timeout_s=10.0, log=None)


Attach = Callable[[Sequence[str], Optional[str]], Dut]


def run_all(*choices: str, fault: Optional[str] = None, attach: Attach = inside, shares: int = 1) -> list[Result]:
    """A share of the variants against the endpoint that chooses so; what the PICS rules out is left out."""
    variants = [(case, variant) for case in PROTOCOL.cases() for variant in case.variants]
    variants = [one for at, one in enumerate(variants) if at % shares == 0 or one[0].id in SHOWN_BY]
    return run_against(attach(choices, fault), variants, pixit_for("virtual"), load_catalogue().levels)


def ends(results: list[Result]) -> list[tuple[Any, ...]]:
    """What is reported of each."""
    return [(r.id, r.verdict, r.qualifier, r.reason, r.virtual_us) for r in results]


def settings() -> Iterator[str]:
    """Each value of each choice but the default, numbers by example."""
    numbers = {"segment": (16, 64, 65495), "first_number": (0, 0xFFFFFFFE), "nop_delay": (900_000,), "is_code": (7,),
               "read_window": (0, 1, 65535), "response_delay": (1000, 900_000), "send_delay": (30_000,), "pace": (500,),
               "retry_us": (10_000, 2_800_000, 20_000_000), "cut": (1, 13), "security": (16,),
               "code_beside_good": (9,), "lingers": (300_000,), "response_segment": (333,), "keepalive": (200_000,),
               "recv_delay": (900_000,), "accept_delay": (900_000,), "request_delay": (900_000,), "refusal_delay": (900_000,),
               "completion_delay": (900_000,), "join": (20_000,), "most_vis": (1, 2), "most_waits": (1,),
               "largest": (32_768, 0xFFFF_FFFF),
               "connect_delay": (900_000,), "open_delay": (900_000,), "flush_delay": (900_000,),
               "timeout_returns": (900_000,),
               "again_us": (0, 2_000_000, 8_000_000), "read_delay": (900_000,)}
    for name, (values, _) in CHOICES.items():
        found: Any = numbers[name] if values.startswith(N) else values.split("|")[1:]
        yield from (f"{name}={value}" for value in found)


def wrong(results: list[Result]) -> list[str]:
    """What did not pass, though it applies."""
    verdicts = ("pass", "not-applicable")
    return [f"{r.id}: {r.verdict.value}: {r.reason}" for r in results if r.verdict.value not in verdicts]


def named_by(fault: str, rows: Sequence[str] = ()) -> set[str]:
    """The rows of a fault, or these, that its findings name. The cases that list them come first, one variant of each before the
    second of any, and the first that names one ends it. Of these cases, those of 65,600 Messages come last: few faults need one."""
    own = set(rows or listing()[fault][0].split())
    variants = [(at, case, variant) for case in PROTOCOL.cases() for at, variant in enumerate(case.variants)]
    variants.sort(key=lambda one: (not own & set(one[1].requirements), "long_counts" in one[2].applies, one[0]))
    dut = inside((), fault)
    pics = complete({**dut.pics, "long_counts": True}, "hello")
    for _, case, variant in variants:
        if not_applicable(case, variant, pics) is None:
            result = run_variant(dut, case, variant, pics, pixit_for("virtual"), load_catalogue().levels, 1)
            found = own & {f.requirement for f in result.findings}
            if found:
                return found
    return set()


def test_it_passes() -> None:
    results = run_all()
    assert wrong(results) == [] and len(results) > 400
    assert all(r.qualifier is None for r in results)
    other = {r.id.split("/")[0] for r in results if r.verdict.value != "pass"}
    assert other <= {"TCP.2.2.2.2.4.a"}  # kernel sockets alone tell of it


#: Every check plays a share of the variants with each choice, and the nightly tier all of them.
SHARES = [4, pytest.param(1, marks=pytest.mark.nightly)]


@pytest.mark.parametrize("shares", SHARES)
@pytest.mark.parametrize("names", CAREFUL)
def test_a_slow_or_careful_endpoint_passes(names: str, shares: int) -> None:
    results = run_all(*names.split(), shares=shares)
    assert wrong(results) == [] and all(r.qualifier is None for r in results)
    assert sum(r.verdict.value == "pass" for r in results) > 250 // shares


@pytest.mark.parametrize("shares", SHARES)
@pytest.mark.parametrize("names", OTHER_READINGS)
def test_another_reading_is_marked(names: str, shares: int) -> None:
    results = run_all(*names.split(), shares=shares)
    assert wrong(results) == [] and any(r.qualifier == "interpretation" for r in results)


@pytest.mark.parametrize("shares", SHARES)
@pytest.mark.parametrize("name", sorted(DEGENERATE))
def test_what_is_no_vitcp_passes_nothing(name: str, shares: int) -> None:
    assert [r.id for r in run_all(fault=name, shares=shares) if r.verdict.value == "pass"] == []


def test_a_program_is_judged_as_in_this_process() -> None:
    """Some cases; the nightly tier has all."""
    chosen = [(case, case.variants[0]) for case in PROTOCOL.cases()][::12]
    found = [run_against(attach((), None), chosen, pixit_for("virtual"), load_catalogue().levels) for attach in (inside, program)]
    assert ends(found[0]) == ends(found[1]) and "pass" in {r.verdict.value for r in found[0]}


@pytest.mark.parametrize("name", SAMPLE)
def test_a_mistake_is_named_by_its_row(name: str) -> None:
    assert named_by(name)


def test_a_vi_that_was_called_must_be_able_to_call() -> None:
    """What was accepted and ended with VipDisconnect asks for a Connection of its own, in the case that accepted it."""
    chosen = [(case, variant) for case in PROTOCOL.cases() if case.id == "TCP.4.1.b" for variant in case.variants]
    catalogue = load_catalogue()
    (result,) = run_against(inside((), "role-sticks"), chosen, pixit_for("virtual"), catalogue.levels)
    assert result.verdict.value == "fail" and "VITCP-4.2-01" in {f.requirement for f in result.findings}


def test_a_device_may_have_room_for_one_wait() -> None:
    """VIP_ERROR_RESOURCE beside a VipConnectWait that waits is the device's right (VI-DG 4.2): a case with two is not about it."""
    chosen = [(case, variant) for case in PROTOCOL.cases() if case.id == "TCP.4.d" for variant in case.variants]
    results = run_against(inside(("most_waits=1",), None), chosen, pixit_for("virtual"), load_catalogue().levels)
    ends_of = {result.id.split("/")[-1]: result.verdict.value for result in results}
    assert ends_of.pop("wait-beside") == "not-applicable" and set(ends_of.values()) == {"pass"} and len(ends_of) == 4


def test_what_was_broken_before_tcp_ended_is_told() -> None:
    """A device that ends the connection and then has no credit to give is failed by what it did, and no defect of the suite."""
    chosen = [(case, variant) for case in PROTOCOL.cases() if case.id == "TCP.3.1.c" for variant in case.variants]
    results = run_against(inside((), "number-zero-refused"), chosen, pixit_for("virtual"), load_catalogue().levels)
    assert {result.verdict.value for result in results} == {"pass", "fail"}


@pytest.mark.parametrize("names", ["receives", "rdma"])
def test_an_adapter_that_names_some_operations_is_not_accused(names: str) -> None:
    """What has no name may be a Send, and it may be what the adapter does not tell of."""
    chosen = [(case, variant) for case in PROTOCOL.cases() if case.id == "TCP.1.a" for variant in case.variants]
    results = run_against(inside((f"operations={names}",), None), chosen, pixit_for("virtual"), load_catalogue().levels)
    ends_of = {result.id.split("/")[-1]: result.verdict.value for result in results}
    assert ends_of.pop("operations") == "inconclusive" and set(ends_of.values()) == {"pass"}


DECIDED = list(load_decided_by([PROTOCOL]).values())
#: For every check. A device that refuses every Connection waits a minute in the cases of its row.
DECIDED_SOON = [row for row in DECIDED[::7] if row.device != "security-refused"]


@pytest.mark.parametrize("row", DECIDED, ids=lambda row: row.id)
def test_what_decides_a_row_is_a_fault_that_breaks_both(row: DecidedBy) -> None:
    assert {row.id, *row.by} <= set(listing()[row.device][0].split())


@pytest.mark.parametrize("row", [*DECIDED_SOON, *(pytest.param(row, marks=pytest.mark.nightly) for row in DECIDED)], ids=str)
def test_the_fault_of_a_decided_row_fails_by_the_other(row: DecidedBy) -> None:
    assert named_by(row.device, row.by)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted({*WIRE, *BEHAVIOUR}))
def test_every_mistake_is_named_by_its_row(name: str) -> None:
    assert named_by(name)


@pytest.mark.nightly
@pytest.mark.parametrize("names", PIPED)
def test_over_a_pipe_it_is_judged_as_in_this_process(names: str) -> None:
    shares = 3 if names else 1  # in this process each of them plays all of the book
    results = run_all(*names.split(), attach=program, shares=shares)
    assert ends(results) == ends(run_all(*names.split(), shares=shares)) and len(results) > 400 // shares


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(DEGENERATE))
def test_over_a_pipe_what_is_no_vitcp_passes_nothing(name: str) -> None:
    assert [r.id for r in run_all(fault=name, attach=program) if r.verdict.value == "pass"] == []


def main() -> None:
    """Count."""
    put_in_force(PROTOCOL)
    for setting in settings():
        results = run_all(setting)
        marked = sum(r.qualifier == "interpretation" for r in results)
        print(f"{setting}: {len(results)} run, {len(wrong(results))} not passed, {marked} interpretation", flush=True)
        print("".join(f"    {line}\n" for line in wrong(results)[:3]), end="")


if __name__ == "__main__":
    main()
