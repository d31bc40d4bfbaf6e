"""``fcvi fuzz`` led by what the device shows: recipes, corpora, resuming, the lab's commands, cutting down to single bits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from fcvi.attack import genome
from fcvi.attack.frames import Frames
from fcvi.attack.blackbox import Step, plainer
from fcvi.attack.care import Commands
from fcvi.attack.corpus import Corpus
from fcvi.engine.attachment import DutError
from fcvi.engine.files import FileError
from fcvi.fc.build import RawFrame

from .conftest import CONNECT_RQST, ROOT, fcvi


def test_a_campaign_keeps_recipes_and_goes_on_from_them(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    first = fcvi("fuzz", "--dut", "ref", "--batches", "30", "--corpus", str(folder), "--json")
    told = json.loads(first.stdout)["summary"]
    recipes = sorted(folder.glob("*.recipe.json"))
    assert first.returncode == 0 and told["guided"]["signals"] > 100 and len(recipes) == told["guided"]["recipes"] > 10
    assert any(word.startswith("CONNECT_RESP1") for word in told["guided"]["shown"])
    assert json.loads((folder / "campaign.json").read_text())["next"] == 31
    again = json.loads(fcvi("fuzz", "--dut", "ref", "--batches", "5", "--corpus", str(folder), "--resume", "--json").stdout)
    assert again["summary"]["batches"] == 5 and again["summary"]["guided"]["signals"] >= told["guided"]["signals"]
    assert json.loads((folder / "campaign.json").read_text())["next"] == 36


def test_blind_says_nothing_of_guidance() -> None:
    done = fcvi("fuzz", "--dut", "ref", "--batches", "3", "--blind", "--json")
    assert json.loads(done.stdout)["summary"]["guided"] is None


@pytest.mark.parametrize("options", [["--resume"], ["--blind", "--corpus", "somewhere"]])
def test_options_that_do_not_go_together(options: list[str]) -> None:
    done = fcvi("fuzz", "--dut", "ref", *options)
    assert done.returncode == 2 and done.stderr.count("\n") == 1


@pytest.mark.parametrize("text", ["", "[]", '{"fcvi-recipe": 2}', '{"fcvi-recipe": 1, "state": "idle", "genes": [{"name": "x"}]}',
                                  '{"fcvi-recipe": 1, "state": "idle", "genes": [{"name": "x", "nth": 0, "seeds": [], "sof": null, '
                                  '"crc_ok": true, "wait": 99999}]}'])  # fmt: skip
def test_other_files_in_a_corpus_are_refused_in_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.recipe.json").write_text(text)
    with pytest.raises(FileError, match="a.recipe.json"):
        Corpus(tmp_path)
    done = fcvi("fuzz", "--dut", "ref", "--corpus", str(tmp_path))
    assert done.returncode == 2 and done.stderr.count("\n") == 1


def test_recipes_survive_their_file() -> None:
    rng = Random(1)
    made = tuple(genome.fresh(["CONNECT_RQST", "bls", "bls"], rng, Frames.hows) for _ in range(50))
    assert genome.genome_of(json.loads(json.dumps(genome.as_json(made)))) == made
    assert all(len(genome.vary(made[:5], made, rng, 24)) <= 24 for _ in range(200))


def test_the_health_command_finds_and_the_restart_command_revives(tmp_path: Path) -> None:
    """The device is ill until it was started again; what it prints is no part of the suite's own output."""
    ill, log = tmp_path / "ill", tmp_path / "log"
    ill.touch()
    health, restart = f"echo looked; test ! -e '{ill}'", f"rm -f '{ill}'; echo started >>'{log}'"
    done = fcvi("fuzz", "--dut", "ref", "--batches", "4", "--health-cmd", health, "--restart-cmd", restart, "--json")
    found, summary = (json.loads(line) for line in done.stdout.splitlines())
    assert done.returncode == 1 and found["kind"] == "dead" and not found["reproduced"]
    assert log.read_text() == "started\n" and summary["summary"]["found"][0]["batches"] == 1


def test_what_was_found_is_told_when_the_device_does_not_come_back(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("--batches", "4", "--health-cmd", "false", "--restart-cmd", "exit 7", "--out", str(out))
    done = fcvi("fuzz", "--dut", "ref", *words)
    assert done.returncode == 3 and "cannot attach again" in done.stderr and "status 7" in done.stderr
    assert "1 findings" in done.stdout and list(out.glob("dead-*/finding.json"))


def test_attaching_again_is_tried_for_a_while() -> None:
    tries = []

    def again() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise DutError("refused")

    Commands(patience_s=5).revive(again)
    assert len(tries) == 3
    with pytest.raises(DutError, match="status 3"):
        Commands(restart="exit 3").revive(again)
    tries.clear()
    with pytest.raises(DutError, match="refused"):
        Commands().revive(again)


def test_a_finding_is_cut_down_to_the_bit() -> None:
    """Six bytes in a row differ and the frame is longer; one bit in the middle is what matters."""
    right = bytes.fromhex(CONNECT_RQST)
    wrong = right[:30] + bytes(b ^ 0x33 for b in right[30:36]) + right[36:] + bytes(8)
    step = Step(RawFrame(wrong, 0x2E, 0x42), RawFrame(right, 0x2E, 0x42))

    def still(steps: list[Step]) -> bool:
        return (steps[0].frame.data[33] ^ right[33]) & 0x10 != 0

    (left,) = plainer([step], still, lambda: True)
    assert left.frame.data == right[:33] + bytes([right[33] ^ 0x10]) + right[34:]


def test_the_comparison_of_blind_and_guided_runs() -> None:
    """A short form: the figures are in harness/docs/testing-the-suite.md."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "fuzz/guidance.py"), "--batches", "20", "--seeds", "2"], capture_output=True, text=True,
        timeout=120, check=False, env={"PYTHONPATH": f"{ROOT}/build/python:{ROOT}/harness:{ROOT}", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Mann-Whitney" in done.stdout and done.stdout.count("/2 ") == 2 * 20


def test_the_test_of_significance() -> None:
    """Against the tables of Mann and Whitney: no overlap at 5 and 5 is p = 2/252; equal samples give 1."""
    sys.path.insert(0, str(ROOT / "fuzz"))
    try:
        import guidance  # type: ignore[import-not-found]
    finally:
        sys.path.pop(0)
    assert guidance.mann_whitney([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]) == pytest.approx(2 / 252)
    assert guidance.mann_whitney([1, 1, 1], [1, 1, 1]) == 1
