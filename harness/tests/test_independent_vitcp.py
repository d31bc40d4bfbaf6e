"""The cases of VI/TCP against the independent endpoint: it passes with each choice, and its own row catches each of its faults.

Run as a program it counts: python3 -m harness.tests.test_independent_vitcp [choices] [faults]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Iterator

import pytest

import conformance
from fcvi.engine.catalogue import load_catalogue
from fcvi.engine.pics import complete
from fcvi.engine.pixit import pixit_for
from fcvi.engine.protocol import judging_by, protocol_of, put_in_force
from fcvi.engine.results import Result
from fcvi.engine.runner import not_applicable, run_variant
from fcvi.dut.rpc import RpcDut
from conformance.vitcp.book import PROTOCOL

from .independent_vitcp.choices import CHOICES, N
from .independent_vitcp.faults import BEHAVIOUR, DEGENERATE, WIRE, listing

ENDPOINT = Path(__file__).parent / "independent_vitcp" / "endpoint.py"
conformance.register_all()


@pytest.fixture(autouse=True, scope="module")
def book() -> Iterator[None]:
    """VI/TCP judges in these tests."""
    with judging_by(PROTOCOL):
        yield


def run_all(*options: str) -> list[Result]:
    """Every variant of every case against the endpoint with these options; what the PICS rules out is left out."""
    dut = RpcDut(" ".join(["exec:/usr/bin/python3", str(ENDPOINT), *options]), rpc_timeout_s=10.0, log=None)
    results = []
    try:
        pics, pixit, levels = complete(dut.pics, "hello"), pixit_for(dut.clock), load_catalogue().levels
        for case in protocol_of("VI/TCP").cases():
            for variant in case.variants:
                if not_applicable(case, variant, pics) is None:
                    results.append(run_variant(dut, case, variant, pics, pixit, levels, 1))
                    if results[-1].verdict.value == "error":
                        dut.restart()
    finally:
        dut.close()
    return results


def settings() -> Iterator[str]:
    """Each value of each choice but the default, numbers by example."""
    numbers = {"segment": (16, 64, 65495), "first_number": (0, 0xFFFFFFFE), "nop_delay": (900_000,), "is_code": (7,),
               "read_window": (0, 1, 65535), "response_delay": (1000, 900_000),
               "retry_us": (10_000, 2_000_000), "cut": (1, 13)}
    for name, (values, _) in CHOICES.items():
        found: Any = numbers[name] if values.startswith(N) else values.split("|")[1:]
        yield from (f"{name}={value}" for value in found)


def wrong(results: list[Result]) -> list[str]:
    """What did not pass, though it applies."""
    verdicts = ("pass", "not-applicable")
    return [f"{r.id}: {r.verdict.value}: {r.reason}" for r in results if r.verdict.value not in verdicts]


def named(results: list[Result]) -> set[str]:
    """The requirements of every finding, those that fail nobody as well."""
    return {f.requirement for r in results for f in r.findings}


def test_it_passes() -> None:
    results = run_all()
    assert wrong(results) == [] and len(results) > 400
    assert all(r.qualifier is None and r.verdict.value == "pass" for r in results)


@pytest.mark.parametrize("names", ["one_at_a_time=yes response_delay=1000", "read_window=0"])
def test_a_slow_or_careful_endpoint_passes(names: str) -> None:
    results = run_all(*(word for name in names.split() for word in ("--choose", name)))
    assert wrong(results) == [] and all(r.qualifier is None for r in results)
    assert sum(r.verdict.value == "pass" for r in results) > 350


@pytest.mark.parametrize("names", ["rdma_header=first", "nop_number=counted", "count=each-type", "immediate=first", "compare=text",
                                   "conn_lost=silent behind_discriminator=rubbish", "ack_at_delivery=arbitrary"])  # fmt: skip
def test_another_reading_is_marked(names: str) -> None:
    results = run_all(*(word for name in names.split() for word in ("--choose", name)))
    assert wrong(results) == [] and any(r.qualifier == "interpretation" for r in results)


@pytest.mark.parametrize("name", sorted(DEGENERATE))
def test_what_is_no_vitcp_passes_nothing(name: str) -> None:
    assert [r.id for r in run_all("--fault", name) if r.verdict.value == "pass"] == []


def main() -> None:
    """Count."""
    put_in_force(PROTOCOL)
    what = sys.argv[1:] or ["choices", "faults"]
    if "choices" in what:
        for setting in settings():
            results = run_all("--choose", setting)
            marked = sum(r.qualifier == "interpretation" for r in results)
            print(f"{setting}: {len(results)} run, {len(wrong(results))} not passed, {marked} interpretation", flush=True)
            print("".join(f"    {line}\n" for line in wrong(results)[:3]), end="")
    if "faults" in what:
        caught = 0
        for name, (rows, _) in listing().items():
            if name in DEGENERATE:
                continue
            results = run_all("--fault", name)
            own = bool(set(rows.split()) & named(results))
            caught += own
            if not own:
                print(f"{name}: not by {rows}; {len(wrong(results))} not passed, named {sorted(named(results))[:6]}", flush=True)
        print(f"{caught} of {len(WIRE) + len(BEHAVIOUR)} caught by their own row")


if __name__ == "__main__":
    main()
