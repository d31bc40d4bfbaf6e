"""The cases of FC-VI Rev 1.0 against the independent endpoint: it passes with each choice, and most faults fail by their own row.

The endpoint runs in this process; the nightly tier has it over a pipe. The tests try a share of the variants with each choice.
Run as a program it tries all of them and counts:
python3 -m harness.tests.independent.test_independent_rev1 [choices] [mixtures] [faults] [NAME...]
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any, Callable, Iterator, Optional, Sequence

import pytest

import conformance
from conformance.rev1.book import PROTOCOL
from fcvi.dut.rpc import RpcDut
from fcvi.engine.attachment import Dut
from fcvi.engine.catalogue import load_requirements
from fcvi.engine.pixit import Given, pixit_for
from fcvi.engine.protocol import judging_by, put_in_force
from fcvi.engine.results import Result

from .editions import EDITIONS
from .chosen import N
from .rev1.choices import CHOICES
from .rev1.faults import listing
from .rpc import Closed, Server
from ..inside import InsideDut
from ..inside import run_all as run_against

ENDPOINT = Path(__file__).parent / "endpoint.py"
LEVELS = {r.id: r.level for r in load_requirements([PROTOCOL])}
#: The endpoint has FCVI_ULP_TIMEOUT of its R_A_TOV: the laboratory declares it.
GIVEN = Given(ulp_timeout_us=10_000_000)
#: A share of the variants for each choice: every so many-th, from another one on each time.
_SHARE = 48
#: Of the faults so many are tried here, from one of them on; the program tries all.
_OF_FAULTS = 6
conformance.register_all()


@pytest.fixture(autouse=True, scope="module")
def book() -> Iterator[None]:
    """Rev 1.0 judges in these tests."""
    with judging_by(PROTOCOL):
        yield


def variants() -> list[tuple[Any, Any]]:
    return [(case, variant) for case in PROTOCOL.cases() for variant in case.variants]


def inside(choices: Sequence[str], fault: Optional[str]) -> Dut:
    """The endpoint in this process."""
    rev1 = EDITIONS["rev1"]
    spec = f"independent rev1 {' '.join(choices)} {fault or ''}"
    return InsideDut(
        spec, lambda write: Server(rev1.choose([*choices]), rev1.faults(fault), write, edition=rev1, only=True), Closed
    )


def program(choices: Sequence[str], fault: Optional[str]) -> Dut:
    """The endpoint as a program."""
    options = [word for choice in choices for word in ("--choose", choice)] + (["--fault", fault] if fault else [])
    spec = " ".join(["exec:/usr/bin/python3", str(ENDPOINT), "--revision rev1", *options])
    return RpcDut(spec, rpc_timeout_s=20.0, log=None)


Chosen = list[tuple[Any, Any]]
Attach = Callable[[Sequence[str], Optional[str]], Dut]


def run_all(
    *choices: str, fault: Optional[str] = None, chosen: Optional[Chosen] = None, attach: Attach = inside
) -> list[Result]:
    """Variants against the endpoint that chooses so; what the PICS rules out is left out."""
    pixit = pixit_for("virtual", given=GIVEN)
    return run_against(attach(choices, fault), variants() if chosen is None else chosen, pixit, LEVELS)


def ends(results: list[Result]) -> list[tuple[Any, ...]]:
    """What is reported of each."""
    return [(r.id, r.verdict, r.qualifier, r.reason, r.virtual_us) for r in results]


#: Choices that are numbers: examples.
_NUMBERS = {"message_ius": (2, 8), "read_ius": (2, 8), "vis": (2,), "waits": (1,),
            "resp1_delay": (9_400_000,), "resp2_delay": (9_400_000,),
            "disconnect_resp_delay": (9_400_000,), "ba_acc_delay": (9_400_000,), "response_delay": (9_400_000,),
            "farp_reply_delay": (9_400_000,), "send_delay": (900_000,), "pace": (50,)}
#: So many devices that choose several things otherwise are tried here; the program tries ten times as many.
_MIXTURES = 10


def others(name: str) -> list[str]:
    """The values of a choice but the default, numbers by example."""
    values = CHOICES[name][0]
    return [str(n) for n in _NUMBERS[name]] if values.startswith(N) else values.split("|")[1:]


def settings() -> Iterator[str]:
    """Each value of each choice but the default."""
    for name in CHOICES:
        yield from (f"{name}={value}" for value in others(name))


def mixture(seed: int) -> list[str]:
    """A third of the choices, otherwise than by default."""
    draw = random.Random(seed)
    return [f"{name}={draw.choice(others(name))}" for name in CHOICES if draw.random() < 1 / 3]


def possible(*chosen: str) -> list[tuple[Any, Any]]:
    """The variants but for those that a choice rules out."""
    left_out = {_NOT_TRIED[one] for one in chosen if one in _NOT_TRIED}
    return [(c, v) for c, v in variants() if c.variant_id(v) not in left_out]


#: Another SEQ_ID for each second Sequence uses one that is open again where ACKs are held back (5.4): a choice of class 3 alone.
#: Who takes 0.9 s for a Send sends too few while an ACK is due: half an E_D_TOV later it may give the Sequence up.
_NOT_TRIED = {"seq_id=alternate": "R1.5.4.a/class2/acks-held-back", "send_delay=900000": "R1.5.4.a/class2/one-ack-held-back"}
#: The cases that a choice is about, beside its share.
_ABOUT = {
    "seq_cnt": "R1.5.4.a", "priority": "R1.7.2.a", "setup_pref": "R1.5.6.2.a", "cs_ctl_tolerance": "R1.5.6.2.a",
    "resp1": "R1.5.3.b",
    "resp2": "R1.5.3.a", "no_match": "R1.5.7.6.a", "duplicate": "R1.5.3.4.a", "attributes": "R1.7.2.a",
    "accept_mismatch": "R1.7.2.a",
    "malformed": "R1.5.1.b", "give_up": "R1.5.7.6.a", "lost": "R1.8.a", "disconnect": "R1.5.3.5.a",
    "error_disconnect": "R1.5.3.5.a", "logout": "R1.4.1.a", "memory": "R1.5.7.2.c", "pages": "R1.5.7.2.c",
    "reception": "R1.5.1.c", "message_ius": "R1.6.3.a", "read_ius": "R1.6.5.a", "multi_iu_offset": "R1.5.4.a",
    "read_length": "R1.6.5.a",
    "write_length": "R1.6.3.a", "farp": "7.5.reply", "short_discriminator": "R1.7.1.a", "peer_resp1": "R1.5.3.3.a",
    "immediate_ius": "R1.5.1.a", "partial_message": "R1.6.1.a", "response_id": "R1.5.7.5.a", "abandoned": "R1.8.a",
}  # fmt: skip
#: The other reading of each erratum that permits two: by a choice, the case that meets it.
READINGS = {
    "ro_present=no": ("R22", "R1.5.4.a"), "priority=20": ("R13", "R1.7.2.a"), "priority=80": ("R13", "R1.7.2.a"),
    "setup_pref=no": ("R26", "R1.5.6.2.a"), "no_match=02": ("R24", "R1.5.7.6.a"), "no_match=04": ("R24", "R1.5.7.6.a"),
    "duplicate_code=06": ("R05", "R1.5.3.4.a"), "attributes=level": ("R29", "R1.7.2.a"),
    "accept_mismatch=reject": ("R16", "R1.7.2.a"),
    "reception=one": ("R25", "R1.5.1.c"), "read_length=zero": ("R04", "R1.6.5.a"), "write_length=length": ("R09", "R1.6.3.a"),
    "lost_resp1=timeout": ("R34", "R1.8.a"), "lost_resp1=waits": ("R34", "R1.8.a"),
    "lost_disconnect_resp=success": ("R40", "R1.8.a"),
    "duplicate=fails": ("R33", "R1.5.3.4.a"),
    "message_ius=2 immediate_ius=last": ("R42", "R1.5.1.a"), "message_ius=2 immediate_ius=first": ("R42", "R1.5.1.a"),
    "farp_reply_name=zero": ("E35", "7.5.reply"),
}  # fmt: skip


def of_choice(setting: str, at: int) -> list[tuple[Any, Any]]:
    """The share of the variants that this choice is tried with."""
    about = next((case for name, case in _ABOUT.items() if setting.startswith(name)), "")
    return [(c, v) for n, (c, v) in enumerate(variants()) if n % _SHARE == at % _SHARE or (c.id == about and n % 8 == at % 8)]


def wrong(results: list[Result]) -> list[str]:
    """What failed. Not all control planes have Discriminators under 16 bytes, who takes R04 literally reads nothing, a case of 2007
    cannot go on where a device does what the draft alone permits, and some cases need more VIs than a small device has. A device
    that resolves every address asks for its own, and one of class 2 need not take an answer in class 3. A request that waits for a
    slow refusal may end by its own timeout. Addresses of 32 bits have no upper half to look at. One may have room for one wait.
    """
    open_to = ("the control plane of the DUT takes no", "(R04)", "is no requirement of the draft", "(max_vis)",
               "takes its own Host Address for itself", "answers FARP in class 3 alone", "FCVI_ULP_TIMEOUT ended the DUT's request",
               "gives addresses of 32 bits", "beside those that wait")
    return [f"{r.id}: {r.verdict.value}: {r.reason}" for r in results
            if r.verdict.value != "pass"
            and not (r.verdict.value in ("inconclusive", "not-applicable") and any(w in r.reason for w in open_to))]  # fmt: skip


def named(results: list[Result]) -> set[str]:
    """The requirements that a device fails by."""
    return {f.requirement for r in results for f in r.findings if f.erratum is None}


def test_it_passes() -> None:
    results = run_all()
    assert wrong(results) == [] and len(results) > 500
    assert {f.erratum for r in results if r.qualifier for f in r.findings if f.erratum} <= {"R18"}


def test_a_program_is_judged_as_in_this_process() -> None:
    """A share; the nightly tier has all."""
    chosen = variants()[::_SHARE]
    assert ends(run_all(chosen=chosen)) == ends(run_all(chosen=chosen, attach=program))


@pytest.mark.nightly
def test_over_a_pipe_all_is_judged_as_in_this_process() -> None:
    assert ends(run_all()) == ends(run_all(attach=program))


@pytest.mark.nightly
@pytest.mark.parametrize("at,setting", list(enumerate(settings()))[::8], ids=list(settings())[::8])
def test_over_a_pipe_a_choice_is_judged_as_in_this_process(at: int, setting: str) -> None:
    chosen = of_choice(setting, at)
    assert ends(run_all(setting, chosen=chosen, attach=program)) == ends(run_all(setting, chosen=chosen))


@pytest.mark.parametrize("at,setting", enumerate(settings()), ids=list(settings()))
def test_no_choice_fails(at: int, setting: str) -> None:
    chosen = [(c, v) for c, v in of_choice(setting, at) if c.variant_id(v) != _NOT_TRIED.get(setting)]
    assert wrong(run_all(setting, chosen=chosen)) == []


@pytest.mark.parametrize("seed", range(_MIXTURES))
def test_no_mixture_of_choices_fails(seed: int) -> None:
    chosen = mixture(seed)
    assert wrong(run_all(*chosen, chosen=possible(*chosen)[seed % _SHARE :: _SHARE // 2])) == [], chosen


@pytest.mark.parametrize("setting", READINGS)
def test_the_other_reading_is_an_interpretation(setting: str) -> None:
    erratum, case = READINGS[setting]
    chosen = [(c, v) for c, v in variants() if c.id == case]
    results = run_all(*setting.split(), chosen=chosen)
    assert wrong(results) == []
    assert any(r.qualifier == "interpretation" and erratum in r.errata for r in results), erratum


def apt(rows: set[str]) -> list[tuple[Any, Any]]:
    """The variants of the cases that name one of these requirements, the first of each case first."""
    found = [[(c, v) for v in c.variants] for c in PROTOCOL.cases() if rows & set(c.requirements)]
    longest = max(map(len, found), default=0)
    return [of_case[at] for at in range(longest) for of_case in found if at < len(of_case)]


def caught(fault: str, rows: set[str]) -> tuple[str, list[Result]]:
    """How the endpoint with this fault ends: "own" by a row of it, "other" by another one, "" not at all."""
    how: str = ""
    failed: list[Result] = []
    chosen = apt(rows) or variants()
    for start in range(0, len(chosen), 12):
        results = [r for r in run_all(fault=fault, chosen=chosen[start : start + 12]) if r.verdict.value == "fail"]
        failed += results
        if named(results) & rows:
            return "own", failed
        how = "other" if failed else ""
    return how, failed


def faults() -> list[tuple[str, set[str]]]:
    """The faults that break a requirement of the draft's catalogue."""
    found = [(fault, {row for row in rows.replace(",", " ").split() if row in LEVELS}) for fault, (rows, _) in listing().items()]
    return [(fault, rows) for fault, rows in found if rows]


@pytest.mark.parametrize("fault,rows", faults()[:: _OF_FAULTS], ids=lambda w: w if isinstance(w, str) else "")
def test_its_own_row_catches_a_fault(fault: str, rows: set[str]) -> None:
    how, failed = caught(fault, rows)
    assert how == MISSED.get(fault, "own"), (how, [(r.id, r.reason) for r in failed[:3]])


def test_rltv_off_is_judged_where_no_relative_offset_is_marked() -> None:
    """Word 5 is RLTV_OFF in every frame (5.6.6); R22 is about the bit of F_CTL alone."""
    long = [(c, v) for c, v in variants() if c.id == "R1.5.4.a" and c.variant_id(v).endswith("class3/send/3001-bytes")][:1]
    assert [r.verdict.value for r in run_all("ro_present=no", chosen=long)] == ["pass"]
    (broken,) = run_all("ro_present=no", fault="rltv-off-zero", chosen=long)
    assert broken.verdict.value == "fail" and "REV1-5.6.6-01" in named([broken])


#: What is still to be done: "" is a fault that no case sees, "other" one that a case tells by another row than its own. Who adds a
#: case or a label takes the fault off this list.
MISSED: dict[str, str] = {}


def main() -> int:
    """Try what is asked for with every variant, and count."""
    put_in_force(PROTOCOL)
    words = sys.argv[1:]
    names = [w for w in words if w not in ("choices", "mixtures", "faults")]
    for setting in settings() if "choices" in words else ():
        if names and not any(setting.startswith(n) for n in names):
            continue
        _try(setting)
    for seed in range(10 * _MIXTURES) if "mixtures" in words else ():
        _try(*mixture(seed))
    if "faults" in words:
        _faults(names)
    return 0


def _try(*chosen: str) -> None:
    results = run_all(*chosen, chosen=possible(*chosen))
    taken = sorted({f.erratum for r in results if r.qualifier for f in r.findings if f.erratum})
    print(f"{' '.join(chosen)}: {len(results)} run, {len(wrong(results))} wrong, readings {taken}", flush=True)
    for line in wrong(results):
        print("   ", line[:240], flush=True)


def _faults(names: list[str]) -> None:
    ends: list[str] = []
    for fault, rows in faults():
        if names and fault not in names:
            continue
        how, failed = caught(fault, rows)
        ends.append(how)
        if how != "own":
            print(f"{fault}: {how or 'NOT'} caught, not by {sorted(rows)}; by {sorted(named(failed))[:6]}", flush=True)
    print(f"{len(ends)} faults: {sum(map(bool, ends))} caught, {ends.count('own')} by their own row", flush=True)


if __name__ == "__main__":
    sys.exit(main())
