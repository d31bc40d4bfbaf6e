"""A VIP_ULONG that is `unsigned long`: the header and libvipl64 have it together, and no program mixes the two widths."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ...conftest import ROOT
from .conftest import TCP, compiled, port
from .test_programs import both

WIDE = ("-DVIPL64",)


def test_programs_of_both_widths_talk_to_each_other(program: Path, tmp_path: Path) -> None:
    wide = compiled("program.c", tmp_path / "program", WIDE, name="vipl64")
    conf = tmp_path / "vipl.conf"
    conf.write_text(TCP.format(port=port()))
    both([[str(end), "credits,flags,segment,queue", f"nic{rank}", str(rank), "4"] for rank, end in enumerate((wide, program))],
         {"VIPL_CONF": str(conf)})  # fmt: skip


def test_nothing_of_64_bits_is_cut_off(tmp_path: Path) -> None:
    wide = compiled("wide.c", tmp_path / "wide", ("-Wno-unused-function", "-Wno-unused-variable", *WIDE), name="vipl64")
    conf = tmp_path / "vipl.conf"
    conf.write_text(TCP.format(port=port()))
    done = subprocess.run([wide, "nic0"], env={**os.environ, "VIPL_CONF": str(conf)}, capture_output=True, text=True, timeout=30,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("flags, library", [(WIDE, "vipl"), ((), "vipl64")])
def test_a_program_and_a_library_of_different_widths_do_not_link(
    flags: tuple[str, ...], library: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        compiled("program.c", tmp_path / "program", flags, name=library)
    assert "undefined reference to `VipOpenNic" in capfd.readouterr().err


def test_the_header_is_the_guides_in_both_widths() -> None:
    for cc in ("cc", "cc -DVIPL64"):
        words = [sys.executable, "harness/agent/vipl_header.py", "refimpl/vipl/include", "--cc", cc]
        said = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        assert said.returncode == 0, said.stdout + said.stderr
