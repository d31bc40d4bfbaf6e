"""The bank of broken devices covers every testable requirement, and a part of it is caught; `make faults` runs all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.catalogue import load_requirements
from conformance.fcvi.book import PROTOCOL
from fcvi.engine.catalogue import proved_by
from .bank.__main__ import main
from .bank.device import BankDut, Broken, Entry
from .bank.judge import judge
from .bank.language import rows, understand
from .bank.table import bank
from .bank.unbreakable import ALSO, UNBREAKABLE
from fcvi.engine.results import Verdict

from .test_faults import run_on

KNOWN = {r.id for r in load_requirements()}
SAMPLE = bank()[::23]


def test_names_are_unique_and_requirements_exist() -> None:
    names = [entry.name for entry in bank()]
    assert len(set(names)) == len(names)
    assert [(e.name, i) for e in bank() for i in e.breaks if i not in KNOWN] == []
    assert not set(UNBREAKABLE) - KNOWN
    assert not {f"case:{name}" for name in ALSO} - set(names)


def test_every_requirement_has_a_device_or_a_reason() -> None:
    broken = {ident for entry in bank() for ident in entry.breaks} | set(proved_by([PROTOCOL]))  # those of proofs.tsv as well
    shall = [r.id for r in load_requirements() if r.testable and r.level == "shall"]
    assert [i for i in shall if i not in broken and i not in UNBREAKABLE] == []
    assert not broken & set(UNBREAKABLE)


@pytest.mark.parametrize("entry", SAMPLE, ids=lambda e: e.name)
def test_a_part_of_the_bank_is_caught(entry: Entry) -> None:
    assert {i: v for i, v in judge(entry).verdicts.items() if v in ("otherwise", "missed")} == {}


@pytest.mark.parametrize("ident", ["5.3.2/dut-client", "6.2/reliable-delivery/class3/dut-client/frames", "7.5.reply/right"])
def test_the_device_without_a_fault_passes(ident: str) -> None:
    assert run_on(BankDut(Broken("none", "", "")), ident).verdict is Verdict.PASS


@pytest.mark.parametrize(
    "how", ["shout", "out CONNECT_RQST NO_SUCH=1", "out CONNECT_RQST:odd drop", "state", "out"], ids=lambda h: h.split()[-1]
)
def test_words_that_mean_nothing_are_refused(how: str) -> None:
    with pytest.raises(ValueError):
        understand("x", how)


def test_a_row_without_a_fault_is_missed(tmp_path: Path) -> None:
    entry = rows("nothing | 6.10.1-01 | mute log | the reference port as it is | 5.3.2/dut-client")[0]
    assert judge(entry).verdicts == {"FCVI-6.10.1-01": "missed"}


def test_the_matrix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--select", "resp2-payload", "--jobs", "1", "--out", str(tmp_path)]) == 0
    assert "1 devices" in capsys.readouterr().out
    data = json.loads((tmp_path / "faults.json").read_text())
    assert data["requirements"]["FCVI-6.10.1-02"] == {"verdict": "finding", "devices": ["resp2-payload"]}
    assert "| FCVI-6.10.1-02 | finding |" in (tmp_path / "faults.md").read_text()
    assert main(["--select", "no-such-device"]) == 2
