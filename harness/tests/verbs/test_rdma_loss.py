"""The lanes with loss, without a guest: the relay, the choice of variants, the steps that cut the link, and what loss excuses."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Iterator

import pytest
from fcvi.engine.results import Finding

from conformance.verbs.cases import all_cases
from conformance.verbs.steps.account import Account, Wr
from conformance.verbs.steps.scenario import Verbs
from harness.interop import rdma, rdma_cut
from harness.interop.rdma_relay import Direction, Harm, Link
from harness.interop.rdma_agent import Agent

_MODEL = rdma.ROOT / "harness/tests/independent/verbs/agent.py"
_FRAME = bytes(12) + b"\x08\x00" + bytes(range(86))
_ARP = bytes(12) + b"\x08\x06" + bytes(28)
_ALL = Harm(drop=20, double=20, delay=20, damage=20)


# ---- the relay ----


def _passings(harm: Harm, end: int = 0, count: int = 2000) -> list[Any]:
    way = Direction(harm, end)
    return [way.take(_FRAME) for _ in range(count)]


def test_the_harm_follows_from_the_seed_and_the_direction() -> None:
    assert _passings(_ALL) == _passings(_ALL)
    assert _passings(_ALL) != _passings(_ALL, 1)
    assert _passings(_ALL) != _passings(Harm(20, 20, 20, 20, seed=2))


def test_a_frame_that_passes_unharmed_costs_the_same_draws() -> None:
    """So that an ARP or a cut changes nothing of what comes after it."""
    way, other = Direction(_ALL, 0), Direction(_ALL, 0)
    assert way.take(_ARP).copies == ((0.0, _ARP),) and other.take(_FRAME, cut=True).copies == ()
    rest = [way.take(_ARP), *(way.take(_FRAME) for _ in range(50))][1:]
    other.take(_FRAME, cut=True)
    assert [p.kind for p in rest] == [other.take(_FRAME).kind for _ in range(50)]


def test_each_harm_comes_as_often_as_it_is_asked_for() -> None:
    came = [passing.kind for passing in _passings(Harm(drop=5, double=10, delay=15, damage=2, most=1000), count=20000)]
    for kind, percent in (("drop", 5), ("double", 10), ("delay", 15), ("damage", 2), ("", 68)):
        assert abs(came.count(kind) / 200 - percent) < 1, kind
    assert {passing.kind for passing in _passings(Harm())} == {""}


def test_what_each_harm_does() -> None:
    for passing in _passings(_ALL):
        copies = [copy for _, copy in passing.copies]
        waits = [wait for wait, _ in passing.copies]
        if passing.kind == "damage":
            bits = [bin(a ^ b).count("1") for a, b in zip(copies[0], _FRAME)]
            assert sum(bits) == 1 and not any(bits[:14]) and len(copies[0]) == len(_FRAME)
        else:
            assert copies == [_FRAME] * {"drop": 0, "double": 2, "delay": 1, "": 1}[passing.kind]
        assert all(wait <= 0.02 for wait in waits) and (passing.kind != "delay" or waits[0] >= 0.002)


def test_no_more_than_so_many_in_a_row_do_not_arrive() -> None:
    """A case can wait for what is sent again."""
    came = "".join("x" if passing.kind in ("drop", "damage") else "." for passing in _passings(Harm(drop=60, damage=30)))
    assert "xx" in came and "xxx" not in came


@pytest.mark.parametrize("rates", [(-1, 0, 0, 0), (60, 50, 0, 0)])
def test_rates_that_are_none(rates: tuple[float, ...], tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        Harm(*rates)
    words = [f"--{kind}={rate}" for kind, rate in zip(("drop", "double"), rates)]
    with pytest.raises(SystemExit) as ended:
        rdma.main([str(tmp_path), "rxe", "--loss", *words])
    assert ended.value.code == 2


@pytest.fixture(name="ends")
def _ends(tmp_path: Path) -> Iterator[tuple[Link, list[socket.socket]]]:
    """A link, and both ends as a guest has them."""
    link, ends = Link(tmp_path), []
    for end in (0, 1):
        at = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        at.bind(str(tmp_path / f"net{end}"))
        at.connect(str(tmp_path / f"relay{end}"))
        at.settimeout(20)
        ends.append(at)
    yield link, ends
    link.close()
    for at in ends:
        at.close()


def test_a_link_loses_nothing_at_an_end_that_is_slow(ends: tuple[Link, list[socket.socket]], tmp_path: Path) -> None:
    """A Unix socket holds ten datagrams; and what passed is in the capture."""
    link, (left, right) = ends
    sent = [_FRAME + bytes([k]) for k in range(60)]
    for frame in sent:
        left.send(frame)
    assert [right.recv(2000) for _ in sent] == sent
    right.send(_ARP)
    assert left.recv(2000) == _ARP
    link.close()
    assert (tmp_path / "link.pcap").stat().st_size == 24 + sum(16 + len(frame) for frame in (*sent, _ARP))
    assert link.said() == "61 frames, of which none was harmed" and link.lost == 0


def test_a_link_that_is_cut_passes_nothing_from_there(ends: tuple[Link, list[socket.socket]], tmp_path: Path) -> None:
    link, (left, right) = ends
    link.harms(Harm(double=100, delay_ms=1))
    link.cut = frozenset({0})
    left.send(b"x" + _FRAME)
    right.send(_FRAME)
    assert [left.recv(2000), left.recv(2000)] == [_FRAME, _FRAME]  # the other direction
    until = time.monotonic() + 20
    while not link.directions[0].frames and time.monotonic() < until:
        time.sleep(0.01)
    link.cut = frozenset()
    left.send(b"y" + _FRAME[1:])
    assert right.recv(2000)[:1] == b"y"
    link.close()
    told = [line.split() for line in (tmp_path / "link.harm").read_text().splitlines() if line[0] != "#"]
    assert sorted((words[1], words[3]) for words in told) == [("0", "cut"), ("0", "double"), ("1", "double")]


# ---- the choice of variants ----


def _chosen(kind: str) -> list[str]:
    return rdma.chosen(kind, loss=True).split(",")


@pytest.mark.parametrize("kind", rdma.KINDS)
def test_the_variants_with_loss_are_there_and_end_nothing(kind: str) -> None:
    there = {name for case in all_cases() for name in case.variant_ids()}
    chosen = _chosen(kind)
    assert len(chosen) > 50 and len(set(chosen)) == len(chosen) and set(chosen) <= there
    assert not set(chosen) & {*rdma.LEFT_OUT[kind], *rdma.UNDECIDED[kind]}


def test_a_line_may_be_for_one_of_the_two(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(rdma, "LOSS_CASES", tmp_path / "list")
    rdma.LOSS_CASES.write_text("# a comment\nA/1\nA/2 siw\n\nB rxe # why\n")
    assert (_chosen("rxe"), _chosen("siw")) == (["A/1", "B"], ["A/1", "A/2"])


@pytest.mark.parametrize(
    "fails, absent, part, fine",
    [
        (0, [], False, True),
        (0, ["VERBS-1"], True, True),  # a part of the cases need not show it
        (0, ["VERBS-1"], False, False),
        (0, ["VERBS-8.2.2-02"], False, True),  # a race of siw
        (1, ["VERBS-8.2.2-02"], True, False),
    ],
)
def test_a_deviation_that_does_not_occur(fails: int, absent: list[str], part: bool, fine: bool, tmp_path: Path) -> None:
    """It is a finding where it has to occur: not by a race of the provider, and not in a part of the cases."""
    deviations = [{"requirement": name, "status": "absent"} for name in absent] + [{"requirement": "X", "status": "occurred"}]
    (tmp_path / "report.json").write_text(json.dumps({"deviations": deviations, "summary": {"fail": fails}}))
    assert rdma.only_undeclared(tmp_path, "siw", part) is fine
    assert not rdma.only_undeclared(tmp_path / "none", "siw", part)


@pytest.mark.parametrize("file", [path for path in rdma.LOSS_DEVIATIONS.values() if path.exists()])
def test_what_loss_brings_to_light_is_about_chosen_variants_and_has_its_capture(file: Path) -> None:
    book = (rdma.ROOT / "conformance/verbs/requirements.tsv").read_text()
    text = file.read_text(encoding="utf-8")
    for entry in tomllib.loads(text)["deviation"]:
        assert f"\n{entry['requirement']}\t" in book and entry["case"] in _chosen(file.name.split("-")[1])
    captures = re.findall(r"rdma_shows/\S+\.pcap", text)
    assert captures and all((file.parent / name).exists() for name in captures)


# ---- the steps that cut the link ----


def _steps(monkeypatch: pytest.MonkeyPatch, where: Path, flavour: str, *words: str) -> int:
    """Those that a model can be asked for whose link nobody cuts."""
    for name in ("_CUT_S", "_QUIET_S"):
        monkeypatch.setattr(rdma_cut, name, 0.05)
    monkeypatch.setattr(rdma_cut, "_AGAIN_S", 3.0)
    monkeypatch.setattr(rdma_cut, "RECORDED", {"rxe": {}, "siw": {}})
    monkeypatch.setattr(rdma_cut, "STEPS", (rdma_cut.requests_lost, rdma_cut.closed_alone))
    paths = [where / f"agent{end}" for end in (0, 1)]
    models = [subprocess.Popen([sys.executable, str(_MODEL), "--socket", str(path), "--flavour", flavour, *words],
                               env=os.environ) for path in paths]  # fmt: skip
    try:
        until = time.monotonic() + 60
        while not all(path.exists() for path in paths) and time.monotonic() < until:
            time.sleep(0.05)
        kind = "rxe" if flavour == "ib" else "siw"
        return rdma_cut.steps(kind, [str(path) for path in paths], SimpleNamespace(cut=frozenset()))  # type: ignore[arg-type]
    finally:
        for model in models:
            model.kill()
            model.wait()


@pytest.mark.parametrize("flavour", ["iwarp", "ib"])
def test_no_step_accuses_a_model_that_was_written_from_the_text(
    flavour: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _steps(monkeypatch, tmp_path, flavour) == 0
    assert capsys.readouterr().out.count("conforms") == 2


def test_a_step_names_the_row_that_a_fault_breaks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _steps(monkeypatch, tmp_path, "iwarp", "--fault", "wc-twice") == 1
    assert "requests_lost: VERBS-8.2.4-04: WRs of the send queue with two WCs" in capsys.readouterr().out


def test_each_row_of_the_steps_is_a_requirement() -> None:
    rows = {line.split("\t")[0] for line in (rdma.ROOT / "conformance/verbs/requirements.tsv").read_text().splitlines()}
    text = Path(rdma_cut.__file__).read_text(encoding="utf-8")
    named = {word for word in text.replace('"', " ").replace(",", " ").split() if word.count(".") > 1 and word[-3:-2] == "-"}
    assert named and {f"VERBS-{row}" for row in named} <= rows


def test_what_is_recorded_has_to_occur(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Anything else is not as recorded: a breach more, one that is gone, or a step without a verdict."""

    def step(_: Any) -> None:
        """Nothing."""

    agent = SimpleNamespace(call=lambda *_, **__: {}, close=lambda: None)
    monkeypatch.setattr(rdma_cut, "Agent", lambda _: agent)
    monkeypatch.setattr(rdma_cut, "STEPS", (step,))
    link: Any = SimpleNamespace(cut=frozenset())
    for recorded, found, status in ((["1"], ["1"], 0), ([], ["1"], 1), (["1"], [], 1), ([], None, 1), ([], [], 0)):
        monkeypatch.setitem(rdma_cut.RECORDED, "rxe", {("step", row): "why" for row in recorded})
        broken = None if found is None else [(row, "what") for row in found]
        monkeypatch.setattr(rdma_cut, "one", lambda *_, broken=broken: broken)
        assert rdma_cut.steps("rxe", ["a", "b"], link) == status
    assert "did NOT occur" in capsys.readouterr().out


def test_a_step_that_cannot_be_decided_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def step(_: Any) -> None:
        raise AssertionError("no cm within 30 s")

    monkeypatch.setattr(rdma_cut, "Ends", lambda *_, **__: None)
    link: Any = SimpleNamespace(cut=frozenset({0}))
    agents: list[Agent] = []
    assert rdma_cut.one(step, agents, [], link) is None and link.cut == frozenset()
    assert "step: inconclusive: no cm within 30 s" in capsys.readouterr().out


# ---- what loss excuses ----


def _scenario(lossy: bool, *rows: str, given_up_after: int | None) -> Verbs:
    t = Verbs.__new__(Verbs)
    t.pics, t.doubt, t._given_up, t.findings = {"lossy": lossy}, "", None, []
    for k, row in enumerate((*rows, "")):
        if k == given_up_after:
            t.give_up("RETRY_EXC_ERR of a SEND")
        if row:
            t.findings.append(Finding(f"VERBS-{row}", "behaviour", "a message", "seen", "required"))
    t.reconsider()
    return t


@pytest.mark.parametrize(
    "lossy, rows, after, excused",
    [
        (True, ["6.2.2-04"], 0, True),
        (True, ["6.2.2-04"], 1, False),  # found before
        (True, ["6.2.2-04"], None, False),  # the link was not given up: nothing may be lost
        (True, ["6.2.2-04", "8.2.4-04"], 0, False),  # twice is twice
        (True, ["8.2.2-02"], 0, False),
        (False, ["6.2.2-04"], 0, False),  # a link that loses nothing
    ],
)
def test_a_link_that_was_given_up_excuses_what_follows(lossy: bool, rows: list[str], after: int | None, excused: bool) -> None:
    assert bool(_scenario(lossy, *rows, given_up_after=after).doubt) is excused


def test_what_is_waited_for_grows_with_what_is_under_way() -> None:
    """A long Read of a provider that waits for a timer at each loss is slow, and not lost."""
    account = Account.__new__(Account)
    wcs: list[Any] = [object()]
    wrs = [Wr(k, "SEND", True, queue, k, 0, None, None, "8.2.4-05", 1000 << k) for k, queue in enumerate(("sq", "sq", "rq", "sq"))]
    wrs[1].wcs, wrs[3].lost = wcs, True
    account._wrs = {(0, wr.wr_id): wr for wr in wrs}
    assert account.under_way() == 1000
