"""The engine's primitives and the way to a verdict, on the reference port."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

import pytest

from conformance.fcvi.steps import connection as common
from conformance.catalogue import load_requirements
from fcvi.engine.case import CaseInfo, Registry, Variant, case, load_cases
from fcvi.engine.attachment import DutError, Reply
from fcvi.dut.ref import DirectDut, RefDut
from fcvi.fc import codec
from fcvi.fc.faults import Link
from fcvi.engine.pics import PicsError, applies, complete
from fcvi.engine.pixit import pixit_for
from fcvi.engine.results import Result, Verdict
from fcvi.fc.configuration import base_config
from fcvi.engine.runner import RunOptions, run as run_cases, run_variant
from fcvi.engine.scenario import Inconclusive, NotThere, Unimplemented
from fcvi.engine.target import parse
from fcvi.fc.scenario import Scenario
from fcvi.engine.upper_tester import METHOD_NOT_FOUND, Call

LEVELS = {"SHALL": "shall", "INFO": "informative-rule"}


def a_case(body: Callable[[Scenario], None]) -> CaseInfo:
    """A case around a function."""
    return CaseInfo("X", "x", "0", "p", (), (), (), "", (Variant(),), body, "FC-VI")


def run(body: Callable[[Scenario], None], dut: RefDut | None = None) -> Result:
    """Run a function as a case."""
    attached = dut or RefDut()
    levels = {**LEVELS, **{r.id: r.level for r in load_requirements()}}
    c = a_case(body)
    return run_variant(attached, c, c.variants[0], attached.pics, pixit_for("virtual"), levels, 1)


def with_control(body: Callable[[Scenario], Any]) -> Callable[[Scenario], None]:
    """The function, and a positive control."""

    def both(t: Scenario) -> None:
        t.control("alive")
        body(t)

    return both


def test_frames_as_they_are_or_in_words() -> None:
    """What goes to the reference port without the words of the DUT protocol arrives, and comes back, as with them."""
    levels = {r.id: r.level for r in load_requirements()}
    seen: list[list[Any]] = []
    for dut in (RefDut(), DirectDut()):
        chosen = [(c, v) for c in load_cases() if c.id.startswith(("5.3.4", "5.5", "A.", "C.5.9")) for v in c.variants]
        results = [run_variant(dut, c, v, dut.pics, pixit_for("virtual"), levels, 1) for c, v in chosen]
        seen.append([(r.id, r.verdict, r.virtual_us, r.frames, [str(line) for line in r.log]) for r in results])
    assert len(seen[0]) > 50 and seen[0] == seen[1]


def test_only_what_passed_is_forgotten() -> None:
    kept, forgotten = (run_cases(RunOptions(parse("ref"), select="A.1", keep=keep)).results for keep in (True, False))
    assert kept and [r.verdict for r in kept] == [r.verdict for r in forgotten]
    assert all(r.frames and r.log and r.expectations for r in kept)
    assert not any(r.frames or r.log or r.expectations for r in forgotten)


def test_a_pass_needs_a_positive_control() -> None:
    assert run(lambda t: None).verdict is Verdict.ERROR
    assert run(with_control(lambda t: None)).verdict is Verdict.PASS


def test_only_a_broken_shall_fails() -> None:
    assert run(with_control(lambda t: t.report("SHALL", "m", "s", "r"))).verdict is Verdict.FAIL
    assert run(with_control(lambda t: t.report("INFO", "m", "s", "r"))).verdict is Verdict.PASS
    tolerated = run(with_control(lambda t: t.report("SHALL", "m", "s", "r", erratum="E03")))
    assert (tolerated.verdict, tolerated.qualifier, tolerated.errata) == (Verdict.PASS, "interpretation", ["E03"])
    assert run(with_control(lambda t: t.report("NONE", "m", "s", "r"))).verdict is Verdict.ERROR


def test_a_defect_of_the_suite_is_an_error() -> None:
    result = run(with_control(lambda t: [][1]))
    assert result.verdict is Verdict.ERROR and "defect of the suite" in result.reason
    line = test_a_defect_of_the_suite_is_an_error.__code__.co_firstlineno
    assert result.reason.endswith(f"IndexError('list index out of range') at {Path(__file__).name}:{line + 1}")


@pytest.mark.parametrize("mistake, words", [
    (lambda t: t.expect("CONNECT_RQST", feild=1), "TypeError"),
    (lambda t: codec.get("FC", "NO_SUCH", bytes(24)), "KeyError"),
    (lambda t: (lambda: 1 / 0)(), "ZeroDivisionError"),
    (lambda t: int("x"), "ValueError"),
    (lambda t: sys.exit(0), "SystemExit(0)"),
    (lambda t: sys.exit("enough"), "SystemExit('enough')"),
    (lambda t: t.start(0, 1, 2), "TypeError"),
])  # fmt: skip
def test_a_mistake_in_a_case_names_the_line_of_its_author(mistake: Callable[[Scenario], Any], words: str) -> None:
    result, line = run(mistake), mistake.__code__.co_firstlineno
    assert result.verdict is Verdict.ERROR and words in result.reason
    assert f" at {Path(__file__).name}:{line}" in result.reason.partition(" -> ")[0]


def test_a_mistake_outside_of_the_lines_of_a_case_names_the_case() -> None:
    body = with_control(lambda t: None)
    here, line, dut = Path(__file__).name, body.__code__.co_firstlineno, RefDut()
    odd = replace(a_case(body), variants=(Variant(config=5),))
    result = run_variant(dut, odd, odd.variants[0], dut.pics, pixit_for("virtual"), {}, 1)
    assert result.verdict is Verdict.ERROR and f" at {here}:{line} -> " in result.reason
    mute = lambda t: None  # noqa: E731
    assert run(mute).reason.endswith(f"no positive control: this is a defect of the suite ({here}:{mute.__code__.co_firstlineno})")


class Lacking(RefDut):
    """A device without the Peer-to-Peer calls."""

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        if method.startswith("VipConnectPeer"):
            return Reply(method, True, error=(METHOD_NOT_FOUND, "method not found"))
        return super().request(method, params)


def test_what_the_dut_lacks_is_inconclusive() -> None:
    result = run(with_control(lambda t: t.call("VipConnectPeerWait", vi=0).returned()), Lacking())
    assert result.verdict is Verdict.INCONCLUSIVE and "VipConnectPeerWait" in result.reason


def test_what_was_found_before_a_call_was_refused_stands() -> None:
    def body(t: Scenario) -> None:
        t.report("SHALL", "it was wrong", "this", "that")
        t.call("VipConnectPeerWait", vi=0)

    result = run(with_control(body), Lacking())
    assert result.verdict is Verdict.FAIL and result.broken == ["SHALL"]


def test_what_is_found_after_a_call_was_refused_is_nobodys_breach() -> None:
    def body(t: Scenario) -> None:
        try:
            t.start("VipConnectPeerWait", vi=0)
        except Unimplemented:
            t.fail("SHALL", "it was silent", "nothing", "something")

    result = run(with_control(body), Lacking())
    assert result.verdict is Verdict.INCONCLUSIVE and result.findings == [] and "VipConnectPeerWait" in result.reason


class Misspelling(RefDut):
    """A device whose adapter writes a return code of its own."""

    def __init__(self, code: str) -> None:
        super().__init__()
        self._code = code

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        return Reply(method, True, {"return": self._code}) if method == "VipConnectPeerWait" else super().request(method, params)


@pytest.mark.parametrize(
    "code, verdict",
    [("VIP_SUCESS", Verdict.ERROR), ("SUCCESS", Verdict.ERROR), ("VIP_TIMEOUT", Verdict.FAIL), ("VIP_CODE_77", Verdict.FAIL),
     ("VIP_ERROR_NIC", Verdict.FAIL), ("VIP_INVALID_RDMAWRITE", Verdict.FAIL)],
)  # fmt: skip
def test_a_misspelt_return_code_is_nobodys_breach(code: str, verdict: Verdict) -> None:
    def body(t: Scenario) -> None:
        t.finish(t.start("VipConnectPeerWait", vi=0), "SHALL", returns="VIP_SUCCESS")

    result = run(with_control(body), Misspelling(code))
    assert result.verdict is verdict
    assert verdict is Verdict.FAIL or f"VipConnectPeerWait returned \"{code}\", which is no return code" in result.reason


def test_a_misspelt_return_code_hides_no_breach() -> None:
    def body(t: Scenario) -> None:
        t.report("SHALL", "it was wrong", "this", "that")
        t.finish(t.start("VipConnectPeerWait", vi=0), "SHALL", returns="VIP_SUCCESS")

    result = run(with_control(body), Misspelling("VIP_SUCESS"))
    assert result.verdict is Verdict.FAIL and result.broken == ["SHALL"]


def test_a_case_may_look_at_the_error_of_its_own_call() -> None:
    def body(t: Scenario) -> None:
        with t.looking_at_errors():
            call = t.call("VipConnectPeerWait", vi=0)
        t.require(call.reply.error is not None, "SHALL", "it was served", "a result", "an error")

    assert run(with_control(body), Lacking()).verdict is Verdict.PASS


@pytest.mark.parametrize("end", [Inconclusive, NotThere])
def test_what_was_found_before_an_end_without_verdict_is_told(end: type[Exception]) -> None:
    def body(t: Scenario) -> None:
        t.report("SHALL", "it was wrong", "this", "that")
        t.report("INFO", "it was odd", "this", "that")
        raise end("nobody knows")

    result = run(with_control(body), Lacking())
    assert result.verdict is Verdict.INCONCLUSIVE and result.reason.startswith("nobody knows")
    assert result.reason.endswith("; before that the case had found: SHALL: it was wrong at 0 us (seen this, required that)")


def test_an_answer_that_breaks_the_protocol_is_an_error() -> None:
    class Odd(RefDut):
        def request(self, method: str, params: dict[str, Any]) -> Reply:
            return Reply(method, True, {"return": 5}) if method == "VipCreateVi" else super().request(method, params)

    assert run(with_control(common.create_vi), Odd()).verdict is Verdict.ERROR


def test_a_planned_loss_has_to_take_place() -> None:
    result = run(with_control(lambda t: t.tester.link.drop("dut", "CONNECT_RQST")))
    assert result.verdict is Verdict.INCONCLUSIVE and "never crossed" in result.reason


def test_link_rules_count_their_own_kind() -> None:
    link = Link()
    link.drop("dut", "ABTS", nth=2)
    link.delay("tester", "ABTS", 5)
    assert link.judge("dut", "ABTS") is None and link.judge("dut", "BA_ACC") is None
    second, delayed = link.judge("dut", "ABTS"), link.judge("tester", "ABTS")
    assert second is not None and second.action == "drop" and delayed is not None and delayed.delay_us == 5
    assert link.judge("dut", "ABTS") is None and link.unused() == []


def started(t: Scenario) -> common.Setup:
    """A client's request."""
    t_params = dict(t.params)
    t_params["role"] = common.CLIENT
    t.params = t_params
    return common.start_request(t)


def test_delayed_frames_arrive_later() -> None:
    def body(t: Scenario) -> None:
        setup = started(t)
        t.tester.link.delay("tester", "CONNECT_RESP1", 1234)
        common.send_resp1(t, setup)
        t.expect_nothing(["CONNECT_RESP2"], 1233, "SHALL", "too early")
        resp2 = t.expect("CONNECT_RESP2", "SHALL", within_us=1)
        assert resp2.time_us == 1234
        t.tester.link.delay("dut", "ABTS", 500)
        t.expect_nothing(["ABTS"], t.r_a_tov_us - 1234 + 499, "SHALL", "too early")
        assert t.expect("ABTS", "SHALL", within_us=1).numbers == [4]

    assert run(with_control(body)).verdict is Verdict.PASS


def test_reordered_frames_swap() -> None:
    def body(t: Scenario) -> None:
        setup = started(t)
        common.accept_request(t, setup)
        common.send_resp3(t, setup)
        t.tester.link.reorder("dut", "DISCONNECT_RESP")
        for connection_id in (1, 2):
            common.send_disconnect_rqst(t, handle=common.UNASSIGNED, connection_id=connection_id, abort=1)
            t.settle()
        ids = [r.dh("FCVI_CONNECTION_ID") for r in t.tester.inbox if r.kind == "DISCONNECT_RESP"]
        assert ids == [2, 1]
        t.tolerate("DISCONNECT_RESP")

    assert run(with_control(body)).verdict is Verdict.PASS


def test_next_timer_and_exact_times() -> None:
    def body(t: Scenario) -> None:
        setup = started(t)
        assert setup.rqst is not None
        t.expect_next_timer(t.r_a_tov_us, "SHALL", "T3")
        abts = t.expect("ABTS", "SHALL", within_us=2 * t.r_a_tov_us)
        assert abts.time_us == setup.rqst.time_us + t.r_a_tov_us
        t.expect_time(abts, abts.time_us + 2 * t.pixit.early_us, "SHALL", "ABTS")

    result = run(with_control(body))
    assert result.verdict is Verdict.FAIL and "wrong time" in result.reason


def test_unexpected_ius_fail() -> None:
    def body(t: Scenario) -> None:
        t.start("VipConnectRequest", vi=common.create_vi(t), LocalAddr=common.dut_address(t),
                RemoteAddr=common.tester_address(t), Timeout=None)  # fmt: skip

    result = run(with_control(body))
    assert result.verdict is Verdict.FAIL and "unexpected CONNECT_RQST" in result.reason


def test_explicit_login_goes_over_the_wire() -> None:
    """With login "explicit" the reference port sends PLOGI first."""
    dut = RefDut()
    dut.reset({**base_config(pixit_for("virtual"), 1), "login": "explicit"})
    vi = dut.request("VipCreateVi", {"ViAttribs": {}}).result["vi"]
    address = {"host": "fe8000000000000000000000000000b2", "discriminator": "00" * 16}
    remote = {**address, "host": "fe8000000000000000000000000000a1"}
    dut.request("VipConnectRequest", {"vi": vi, "LocalAddr": address, "RemoteAddr": remote})
    frames = [n.params["hex"] for n in dut.inbox if n.method == "frame"]
    assert len(frames) == 1 and frames[0].startswith("22010100") and frames[0][48:56] == "03000000"


def test_pics_expressions() -> None:
    pics = complete({"client": True, "max_vis": 3}, "test")
    assert applies("", pics) and applies("client and not server", pics) and applies("max_vis >= 3", pics)
    assert not applies("(server or farp) and client", pics) and applies("revision == '2007'", pics)
    for wrong in ("wings", "client +", "__import__('os')", "client.real"):
        with pytest.raises(PicsError):
            applies(wrong, pics)


def test_case_ids_are_unique_and_have_a_purpose() -> None:
    registry = Registry()

    def body(t: Scenario) -> None:
        """Why."""

    declare = case(registry, "X.1", "t", clause="0", requirements=[], applies="")
    declare(body)
    with pytest.raises(ValueError, match="twice"):
        declare(body)
    with pytest.raises(ValueError, match="purpose"):
        case(registry, "X.2", "t", clause="0", requirements=[], applies="")(lambda t: None)


def test_hexadecimal_digits_that_a_device_gives_are_digits() -> None:
    def text(value: str) -> str:
        return Call("mem.read", {}, Reply("mem.read", True, {"hex": value}), 0).text("hex")

    for good in ("", "00", "Ff" * 30_000):
        assert text(good) == good
    for bad in ("0", "000", "0g", "00 00", " 00", "00\n", "0x00", "00_0", "\uff10\uff10", "0" * 59_999, "00" * 29_999 + "0z"):
        with pytest.raises(DutError, match='no hexadecimal digits in "hex"'):
            text(bad)


def test_the_header_of_a_frame_is_as_long_as_the_frame() -> None:
    whole = bytes(range(1, 25))
    for length in range(25):
        frame = codec.decode(whole[:length])
        for name, first, size in (("R_CTL", 0, 1), ("D_ID", 1, 3), ("OX_ID", 16, 2), ("Parameter", 20, 4)):
            if length >= first + size:
                assert frame.header(name) == frame.get("FC", name) == int.from_bytes(whole[first : first + size], "big")
            else:
                with pytest.raises(IndexError, match=f"FC.{name} lies beyond {length} bytes"):
                    frame.header(name)
