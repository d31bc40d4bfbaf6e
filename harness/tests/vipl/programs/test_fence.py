"""Tests that what a fenced Send tells the other process of is in the memory of its sender before the Send goes out."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

import pytest

from ...live.net import Net
from .conftest import FC, TCP, port
from .test_programs import both


def test_over_vitcp(build: Callable[[str], Path], tmp_path: Path) -> None:
    conf = tmp_path / "vipl.conf"
    conf.write_text(TCP.format(port=port()))
    both([[str(build("fence.c")), "fence", f"nic{rank}", str(rank)] for rank in (0, 1)], {"VIPL_CONF": str(conf)})


@pytest.mark.parametrize("more", ["", "edition=rev1"])
def test_over_fc_vi(more: str, build: Callable[[str], Path], tmp_path: Path, net: Net) -> None:
    conf = tmp_path / "vipl.conf"
    conf.write_text(FC.format(more=f"r_a_tov=4000 {more}"))
    both([net.words(str(build("fence.c")), "fence", f"nic{rank}", str(rank)) for rank in (0, 1)], {"VIPL_CONF": str(conf)})
