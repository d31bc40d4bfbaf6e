"""Who opens an interface as root on somebody's behalf becomes that somebody."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fcvi.live.privileges import wanted_ids

from .conftest import ROOT

SUDO = {"SUDO_UID": "1000", "SUDO_GID": "1001"}
USER, SUPER = (1000, 1001), (0, 0)


@pytest.mark.parametrize(
    "real, effective, environment, wanted",
    [
        (SUPER, SUPER, SUDO, USER),  # sudo
        (USER, SUPER, {}, USER),  # setuid
        (USER, SUPER, {"SUDO_UID": "5", "SUDO_GID": "5"}, USER),  # setuid: the environment is the caller's
        (SUPER, SUPER, {}, None),  # root by login
        (SUPER, SUPER, {"SUDO_UID": "0", "SUDO_GID": "0"}, None),  # root by root
        (SUPER, SUPER, {"SUDO_UID": "x", "SUDO_GID": "1"}, None),
        (USER, USER, SUDO, None),  # capabilities only
    ],
)
def test_whom_to_become(
    real: tuple[int, int], effective: tuple[int, int], environment: dict[str, str], wanted: object
) -> None:
    assert wanted_ids(real, effective, environment) == wanted


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has something to give up")
def test_there_is_no_way_back() -> None:
    script = (
        "import os; from fcvi.live.privileges import drop; drop(); "
        "print(os.getresuid(), os.getresgid(), os.getgroups())\n"
        "try: os.setuid(0)\nexcept PermissionError: print('gone')"
    )
    path = f"{ROOT / 'build/python'}:{ROOT / 'harness'}"
    done = subprocess.run(
        ["/usr/bin/python3", "-c", script], capture_output=True, text=True, timeout=30, check=True,
        env={**os.environ, **SUDO, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.stdout == "(1000, 1000, 1000) (1001, 1001, 1001) [1001]\ngone\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has something to give up")
def test_files_made_before_the_interface_is_open_are_the_callers(tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o777)
    script = (
        "import os, sys; from fcvi.live.privileges import as_caller, drop\n"
        "with as_caller(): os.mkdir(sys.argv[1])\n"
        "print(os.geteuid()); drop(); open(sys.argv[1] + '/report', 'w').close(); print(os.stat(sys.argv[1]).st_uid)"
    )
    path = f"{ROOT / 'build/python'}:{ROOT / 'harness'}"
    done = subprocess.run(
        ["/usr/bin/python3", "-c", script, "made"], capture_output=True, text=True, timeout=30, check=False, cwd=tmp_path,
        env={**os.environ, **SUDO, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.stdout == "0\n1000\n", done.stderr
