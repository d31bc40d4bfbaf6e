"""Conforming devices that choose by seed fail no case; `make variants` runs a thousand of them."""

from __future__ import annotations

import random

import pytest

from .choices import CHOICES, VariantDut
from .variants import INDEPENDENT, main, run_seed, settings_of

SEEDS = 16


@pytest.mark.parametrize("seed", range(5001, 5001 + SEEDS))
def test_what_a_device_may_choose_fails_nothing(seed: int) -> None:
    ran, wrong = run_seed(seed, cases=50)
    assert ran == 50
    assert [str(one) for one in wrong] == []


@pytest.mark.parametrize("name", CHOICES)
def test_each_choice_of_the_reference_port_does_something(name: str) -> None:
    """A choice that changes nothing would pass for nothing."""
    choice = CHOICES[name]
    dut = VariantDut([name])
    assert choice.delay_us or dut.port or choice.how and (dut.fault.said or dut.fault.heard or dut.fault.config)


def test_there_are_choices_enough_and_seeds_differ() -> None:
    assert len(CHOICES) + len(INDEPENDENT) >= 60
    assert len({tuple(settings_of(random.Random(seed))) for seed in range(50)}) == 50


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "0"]) == 2
    assert "above 0" in capsys.readouterr().err
