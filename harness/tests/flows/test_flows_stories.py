"""`explain` on stories: captures of known causes and healthy ones, as capture points show them."""

from __future__ import annotations

from pathlib import Path

import pytest

from .field import second


@pytest.mark.parametrize("count", [115, pytest.param(1150, marks=pytest.mark.nightly)])
def test_causes_are_named_and_nobody_is_accused(count: int, tmp_path: Path) -> None:
    """The first cause is right in 97 of 100; who did nothing is never named; less than 2 in 100 are called healthy."""
    counts, bad = second.figures(second.broken(count), tmp_path)
    assert counts["accused"] == 0 and counts["right"] >= 0.97 * count and counts["missed"] < 0.02 * count + 1, bad


@pytest.mark.parametrize("count", [115, pytest.param(1150, marks=pytest.mark.nightly)])
def test_healthy_captures_have_no_cause(count: int, tmp_path: Path) -> None:
    """A sampled one may lack just the end of a Message and nothing else: no capture shows that it is sampled then."""
    counts, bad = second.figures([("healthy", n) for n in range(count)], tmp_path)
    assert all(" sampled " in words for words in bad) and counts["false"] <= 0.005 * count, bad
