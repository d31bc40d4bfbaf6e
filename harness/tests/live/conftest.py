"""The fixture of the live tests."""

from __future__ import annotations

from typing import Iterator

import pytest

from .net import Net, available


@pytest.fixture
def net() -> Iterator[Net]:
    """A namespace with a veth pair; the test is skipped where there can be none."""
    missing = available()
    if missing is not None:
        pytest.skip(missing)
    made = Net()
    try:
        yield made
    finally:
        made.close()
