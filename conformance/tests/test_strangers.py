"""Conforming strangers of VI/TCP and of Rev 1.0 fail no case: a few here, five hundred of each in the nightly tier."""

from __future__ import annotations

import pytest

from .liberties.strangers import BOOKS, chosen, main, run_device

#: The last one of VI/TCP sends a read in segments of 20 bytes, late: megabytes of the DUT protocol that are no flood.
_A_FEW, _ALL = (*range(1, 12), 1108), 500


@pytest.mark.parametrize("seed", _A_FEW)
@pytest.mark.parametrize("book", sorted(BOOKS))
def test_a_stranger_fails_nothing(book: str, seed: int) -> None:
    counts, judged = run_device(book, seed, cases=6)
    assert counts["pass"] >= 3
    assert [str(one) for one in judged] == []


@pytest.mark.nightly
@pytest.mark.parametrize("book", sorted(BOOKS))
def test_five_hundred_fail_nothing(book: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([book, "--devices", str(_ALL), "--first", "1001"]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("book", sorted(BOOKS))
def test_every_choice_is_mixed_in_and_seeds_differ(book: str) -> None:
    mixtures = [chosen(BOOKS[book], seed) for seed in range(600)]
    taken = {setting.partition("=")[0] for mixture in mixtures for setting in mixture}
    assert taken >= set(BOOKS[book].values)
    assert len({tuple(mixture) for mixture in mixtures}) > 500
