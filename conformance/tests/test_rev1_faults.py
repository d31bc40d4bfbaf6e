"""Every case of Rev 1.0 fails a device that breaks its rule and says which; devices that do nothing pass nothing."""

from __future__ import annotations

from typing import Any, Iterator

import pytest

from fcvi.dut.ref import RefDut
from fcvi.engine.catalogue import load_requirements
from fcvi.engine.pics import complete
from fcvi.engine.pixit import Given, pixit_for
from fcvi.engine.protocol import judging_by
from fcvi.engine.results import Result, Verdict
from fcvi.engine.runner import not_applicable, run_variant
from fcvi.fc import codec

from conformance.rev1.book import PROTOCOL
from conformance.rev1.cases import all_cases

from .rev1_faults import FAULTS, OF_RESP2, and_logo
from .rev1_faulty import BrokenDut, Fault, put

LEVELS = {r.id: r.level for r in load_requirements([PROTOCOL])}
VARIANTS = {c.variant_id(v): (c, v) for c in all_cases() for v in c.variants}
#: The port has FCVI_ULP_TIMEOUT of its R_A_TOV: the laboratory declares it.
PIXIT = pixit_for("virtual", given=Given(ulp_timeout_us=10_000_000))


@pytest.fixture(autouse=True, scope="module")
def book() -> Iterator[None]:
    """Rev 1.0 judges in these tests."""
    with judging_by(PROTOCOL):
        yield


def run_on(dut: Any, ident: str) -> Result:
    case, variant = VARIANTS[ident]
    pics = complete(dut.pics, "hello")
    skipped = not_applicable(case, variant, pics)
    return skipped or run_variant(dut, case, variant, pics, PIXIT, LEVELS, 1)


def named(result: Result) -> list[str]:
    """The requirements that the findings fail the device by."""
    return [f.requirement for f in result.findings if f.cls != "notice" or (LEVELS[f.requirement] == "shall" and f.erratum is None)]


@pytest.mark.parametrize("fault", [*FAULTS, *OF_RESP2], ids=lambda f: f.name)
def test_fault_is_caught_for_its_reason(fault: Fault) -> None:
    result = run_on(BrokenDut(fault), fault.case)
    assert result.verdict is Verdict.FAIL, (result.verdict, result.reason)
    assert fault.requirement in named(result), (result.reason, named(result))


def _again(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """The third frame of a Message begins another IU, in which RLTV_OFF is 0 again."""
    size = 480
    at = view.get("FC", "Parameter")
    assert isinstance(at, int)
    if at == size:
        codec.put("FC", "End_Sequence", buf, 1, 0)
    if at >= 2 * size:
        for name, value in (("Parameter", at - 2 * size), ("SEQ_ID", int(view.get("FC", "SEQ_ID")) ^ 0x80), ("First_Sequence", 0)):
            codec.put("FC", name, buf, value, 0)


def test_offsets_that_begin_again_are_not_accused_out_of_order() -> None:
    """R02 permits them. The far side cannot place them where frames overtake each other, and their order tells what they bring."""
    case = "5.2.far/unreliable/send/dut-client/class3/out-of-order"
    result = run_on(BrokenDut(Fault("restart", case, "", out={"SEND_RQST": _again})), case)
    assert result.verdict is Verdict.PASS, (result.verdict, result.reason)


def _again_and_wrong(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """The same, and a byte of the fourth frame is another."""
    fourth = view.get("FC", "Parameter") == 3 * 480
    _again(dut, view, buf)
    if fourth:
        buf[-1] ^= 1


def test_other_bytes_behind_such_offsets_are_found() -> None:
    case = "5.2.far/unreliable/send/dut-client/class3/out-of-order"
    result = run_on(BrokenDut(Fault("restart", case, "", out={"SEND_RQST": _again_and_wrong})), case)
    assert result.verdict is Verdict.FAIL and named(result) == ["FCVI-4.2-16"], (result.verdict, result.reason)


def _advanced(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """The third frame of an RDMA Write begins another IU, with an advanced VI_RMT_VA."""
    _again(dut, view, buf)
    if view.header("Parameter") >= 2 * 480:
        va = int(codec.get("DH_REV1", "VI_RMT_VA", bytes(buf), view.dh_offset))
        codec.put("DH_REV1", "VI_RMT_VA", buf, va + 2 * 480, view.dh_offset)


@pytest.mark.parametrize("level", ["unreliable", "reliable-delivery", "reliable-reception"])
@pytest.mark.parametrize("edit, verdict", [(_advanced, Verdict.PASS), (_again, Verdict.FAIL)])
def test_writes_whose_offsets_begin_again_are_decided_by_their_address(level: str, edit: Any, verdict: Verdict) -> None:
    case = f"5.2.far/{level}/rdma-write/dut-client/class3/out-of-order"
    result = run_on(BrokenDut(Fault("restart", case, "", out={"WRITE_RQST": edit})), case)
    assert result.verdict is verdict, (result.verdict, result.reason)


def _rest_of_discriminators(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """What stands behind DISCRIM_LEN means nothing."""
    for at in (view.payload_offset + 8, view.payload_offset + 156):
        used = 20 + int.from_bytes(buf[at + 2 : at + 4], "big")
        buf[at + used : at + 148] = bytes(n * 13 & 0xFF for n in range(148 - used))


def test_the_rest_of_a_discriminator_accuses_nobody() -> None:
    case = "R1.5.3.3.a/tester-late/local-discriminators-differ"
    edit = _rest_of_discriminators
    result = run_on(BrokenDut(Fault("rest", case, "", out={"CONNECT_RQST": edit, "CONNECT_RESP1": edit})), case)
    assert result.verdict is Verdict.PASS, result.reason


def _other_fill(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> None:
    """Fill bytes have no value."""
    for n in range(int(view.get("FC", "Fill_Bytes"))):
        buf[-1 - n] = 0xEE


@pytest.mark.parametrize("op", ["send", "rdma-write"])
def test_delimiters_that_are_told_in_some_frames_alone_accuse_nobody(op: str) -> None:
    """The frame with the fill bytes comes without sof and eof, those before it with them."""
    case = f"R1.5.4.a/unreliable/class3/{op}/337-bytes"
    result = run_on(BrokenDut(Fault("fill", case, "", out={"SEND_RQST": _other_fill, "WRITE_RQST": _other_fill})), case)
    assert result.verdict is Verdict.PASS, result.reason


def test_a_read_without_a_length_is_undecided_with_reserved_bytes() -> None:
    """R04: it reads nothing, and takes nothing."""
    case = "R1.5.7.2.b/reliable-delivery/reserved-bytes/rdma"
    result = run_on(BrokenDut(Fault("no-length", case, "", out={"READ_RQST": put("DH", "VI_RMT_TOT_LEN", 0)})), case)
    assert result.verdict is Verdict.INCONCLUSIVE, result.reason


@pytest.mark.parametrize("times", [1, 2])
def test_a_port_may_log_out_for_reasons_of_its_own(times: int) -> None:
    """Annex A.4 forbids the Logout as an action upon FARP-REQ, not one that happens to come behind a FARP-REPLY."""
    case = "R1.A.4.a/dut-replies"

    def by_chance(dut: BrokenDut, view: codec.Frame, buf: bytearray) -> list[bytes]:
        dut.memory["replies"] = int(dut.memory.get("replies", 0)) + 1
        return and_logo(dut, view, buf) if dut.memory["replies"] <= times else [bytes(buf)]

    result = run_on(BrokenDut(Fault("by-chance", case, "", out={"FARP_REPLY": by_chance})), case)
    assert result.verdict is Verdict.PASS, result.reason


@pytest.mark.parametrize("case", sorted({fault.case for fault in FAULTS}))
def test_without_the_fault_the_case_passes(case: str) -> None:
    result = run_on(BrokenDut(Fault("none", case, "")), case)
    assert result.verdict is Verdict.PASS, result.reason


def test_every_case_of_the_draft_has_a_broken_device() -> None:
    broken = {VARIANTS[f.case][0].id for f in FAULTS}
    assert broken == {c.id for c in all_cases() if c.id.startswith("R1.")}


MUTE = Fault("mute", "", "", out={"*": lambda d, v, b: []}, mute=frozenset({"completion", "error", "state"}))
CONSTANT = Fault(
    "constant", "", "", out={"*": lambda d, v, b: []},
    results={m: (lambda d, r: {**r, "return": "VIP_SUCCESS"}) for m in ("VipConnectRequest", "VipDisconnect", "VipConnectAccept")},
)  # fmt: skip


class EchoDut(BrokenDut):
    """Sends every frame back, source and destination exchanged, and does nothing else."""

    def notify(self, method: str, params: dict[str, Any]) -> None:
        if method == "frame":
            data = bytearray.fromhex(params["hex"])
            data[1:4], data[5:8] = data[5:8], data[1:4]
            self.invent(bytes(data))


@pytest.mark.parametrize("dut", [BrokenDut(MUTE), BrokenDut(CONSTANT), EchoDut(MUTE)], ids=["mute", "constant", "echo"])
def test_a_device_that_does_nothing_passes_nothing(dut: RefDut) -> None:
    assert [ident for ident in VARIANTS if run_on(dut, ident).verdict is Verdict.PASS] == []


def test_the_reference_port_passes() -> None:
    """Every case that applies; of the readings that are open it has another one where an erratum is named."""
    dut = RefDut("ref:rev1", "rev1")
    results = [run_on(dut, ident) for ident in VARIANTS]
    ran = [r for r in results if r.verdict is not Verdict.NOT_APPLICABLE]
    assert [f"{r.id}: {r.reason}" for r in ran if r.verdict is not Verdict.PASS] == [] and len(ran) > 570
    assert {e for r in ran if r.qualifier for f in r.findings if (e := f.erratum)} <= {"R18", "R24"}
