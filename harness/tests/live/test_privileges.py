"""Tests that who opens an interface as root on somebody's behalf becomes that somebody."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fcvi.live.privileges import keeps_writing, wanted_ids

from ..conftest import ROOT

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


#: Drops, and tells what is left to this process, to a program that it starts, and to its threads.
_TELLS = """
import subprocess, threading
from pathlib import Path
from fcvi.live.privileges import drop
drop()
print(Path("/proc/thread-self/status").read_text())
thread = threading.Thread(target=lambda: print(Path("/proc/thread-self/status").read_text(), flush=True))
print(end="", flush=True)
thread.start(); thread.join()
subprocess.run(["cat", "/proc/self/status"], check=True)
"""
_USER = ["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups"]


def left(status: str, name: str) -> set[str]:
    """The values of one line of /proc/PID/status, of all processes in the text."""
    return {line.split()[1] for line in status.splitlines() if line.startswith(name + ":")}


def nothing_left(status: str, processes: int) -> None:
    assert status.count("CapEff:") == processes, status
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert left(status, name) == {"0" * 16}, (name, status)
    assert left(status, "NoNewPrivs") == {"1"}


def _tells(words: list[str], env: dict[str, str]) -> str:
    path = f"{ROOT / 'build/python'}:{ROOT / 'harness'}"
    done = subprocess.run([*words, "-c", _TELLS], capture_output=True, text=True, timeout=30, check=False,
                          env={**os.environ, **env, "PYTHONPATH": path})  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give itself what is to be given up")
@pytest.mark.parametrize("way", ["root by login", "sudo", "ambient", "file"])
def test_no_capability_is_left(way: str, tmp_path: Path) -> None:
    """However the right to open an interface came: nothing is left of it to the process, a thread and a child."""
    python, env, full = ["/usr/bin/python3"], {"SUDO_UID": "", "SUDO_GID": ""}, way in ("root by login", "sudo")
    if way == "sudo":
        env = SUDO
    elif way == "ambient":
        python = [*_USER, "--inh-caps", "+net_raw", "--ambient-caps", "+net_raw", *python]
    elif way == "file":
        copy = tmp_path / "python3"
        copy.write_bytes(Path("/usr/bin/python3").resolve().read_bytes())
        for directory in (tmp_path, *tmp_path.parents[:2]):
            os.chmod(directory, 0o755)
        os.chmod(copy, 0o755)
        if subprocess.run(["setcap", "cap_net_raw=ep", str(copy)], capture_output=True, check=False).returncode != 0:
            pytest.skip("no file capabilities here")
        python = [*_USER, str(copy)]
    said = _tells(python, env)
    nothing_left(said, 3)
    assert (left(said, "CapBnd") == {"0" * 16}) == full  # only who has CAP_SETPCAP can empty it
    assert left(said, "Uid") == {"0" if way == "root by login" else "1000"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root loses rights to files")
def test_a_report_that_root_could_not_finish_is_refused_at_the_start(tmp_path: Path) -> None:
    """Without capabilities root writes to its own directories only, which is said before hours are spent."""
    mine, another = tmp_path / "mine", tmp_path / "another"
    mine.mkdir()
    another.mkdir()
    os.chown(another, 1000, 1000)
    assert keeps_writing(mine) and not keeps_writing(another)
    os.chmod(another, 0o777)
    assert keeps_writing(another)
