"""Conforming providers of VIPL and verbs that take liberties fail no case; `liberties/calls_mixer.py` runs five hundred of each."""

from __future__ import annotations

import random

import pytest

from harness.tests.independent.verbs.choices import CHOICES
from harness.tests.independent.provider.variants import LIBERTIES, Choices

from .liberties.calls_mixer import BOOKS, chosen, main, run_provider

SAMPLE, ALL = 8, 500


@pytest.mark.parametrize("book", BOOKS)
@pytest.mark.parametrize("seed", range(1, 1 + SAMPLE))
def test_a_provider_that_takes_liberties_fails_nothing(book: str, seed: int) -> None:
    counts, judged = run_provider(book, seed, cases=4)
    assert sum(counts.values()) == 4 and [str(one) for one in judged] == []


@pytest.mark.nightly
@pytest.mark.parametrize("book", BOOKS)
def test_five_hundred_providers_fail_nothing(book: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([book, "--providers", str(ALL), "--first", "1001"]) == 0, capsys.readouterr().out


def test_every_choice_is_mixed_and_seeds_differ() -> None:
    assert set(LIBERTIES) == set(Choices.__dataclass_fields__)
    assert set(BOOKS["verbs"].liberties) == {"flavour", *CHOICES} - {"rereg"}
    for book in BOOKS.values():
        mixtures = [chosen(book, random.Random(seed)) for seed in range(300)]
        assert {setting.partition("=")[0] for mixture in mixtures for setting in mixture} == set(book.liberties)
        assert len({tuple(mixture) for mixture in mixtures}) > 250


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vipl", "--providers", "0"]) == 2
    assert "above 0" in capsys.readouterr().err
