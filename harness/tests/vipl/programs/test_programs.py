"""Programs of VIPL, built with plain -lvipl, in two processes: over VI/TCP on loopback, and over FC-VI on a veth pair."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Iterator

import pytest

from ...conftest import ROOT
from ...live.net import DEVICE, TESTER, Net, available

HERE = Path(__file__).parent
TCP = """# comments and empty lines are no lines

nodea address=127.0.0.1
nodeb address=127.0.0.2
nic0 wire=vitcp:127.0.0.1:{port}
nic1 wire=vitcp:127.0.0.2:{port} incoming=1000
"""
FC = """nodea address=fe80::a
nodeb address=fe80::b
nic0 wire=fcoe:{one} host=fe80::a r_a_tov=4000 {more}
nic1 wire=fcoe:{other} host=fe80::b r_a_tov=4000 {more}
"""


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program: the header, the library, and nothing else of ours."""
    out = tmp_path_factory.mktemp("vipl") / "program"
    header = ["-I", str(ROOT / "refimpl/vipl/include"), "-L", str(ROOT / "build"), f"-Wl,-rpath,{ROOT / 'build'}"]
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2"]
    subprocess.run(["cc", *flags, HERE / "program.c", "-o", out, *header, "-lvipl", "-lpthread"], check=True)
    return out


def port() -> int:
    """One for each test: a port that was just left is not free at once."""
    return 29800 + int(time.monotonic() * 50) % 2000


def both(ends: list[list[str]], env: dict[str, str]) -> None:
    """Both ends at once; each has to end with 0."""
    started = []
    for words in ends:
        started.append(subprocess.Popen(words, env={**os.environ, **env}, stderr=subprocess.PIPE, text=True))
        time.sleep(0.5)
    said = [process.communicate(timeout=90)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0], said


@pytest.mark.parametrize("length", ["4", "16"])
@pytest.mark.parametrize("name", ["credits", "flags", "segment", "queue", "early"])
def test_over_vitcp(name: str, length: str, program: Path, tmp_path: Path) -> None:
    conf = tmp_path / "vipl.conf"
    conf.write_text(TCP.format(port=port()))
    both([[str(program), name, f"nic{rank}", str(rank), length] for rank in (0, 1)], {"VIPL_CONF": str(conf)})


def test_a_refused_connection_is_an_answer(program: Path, tmp_path: Path) -> None:
    """Nobody listens at the other address: its RST is VIP_NO_MATCH, on which programs ask again."""
    conf = tmp_path / "vipl.conf"
    conf.write_text(TCP.format(port=port()))
    subprocess.run([program, "early", "nic1", "1"], env={**os.environ, "VIPL_CONF": str(conf)}, check=True, timeout=60)


@pytest.fixture
def net() -> Iterator[Net]:
    missing = available()
    if missing is not None:
        pytest.skip(missing)
    made = Net()
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("more, length", [("", "4"), pytest.param("edition=rev1", "8", marks=pytest.mark.nightly),
                                          pytest.param("discriminators=strict", "16", marks=pytest.mark.nightly)])  # fmt: skip
def test_over_fc_vi(more: str, length: str, program: Path, tmp_path: Path, net: Net) -> None:
    """One namespace for all of them: each program opens the interface anew."""
    conf = tmp_path / "vipl.conf"
    conf.write_text(FC.format(one=TESTER, other=DEVICE, more=more))
    for name in ("credits", "flags", "segment", "queue", "early"):
        both([net.words(str(program), name, f"nic{rank}", str(rank), length) for rank in (0, 1)], {"VIPL_CONF": str(conf)})


def test_strict_discriminators_are_refused(program: Path, tmp_path: Path, net: Net) -> None:
    conf = tmp_path / "vipl.conf"
    conf.write_text(FC.format(one=TESTER, other=DEVICE, more="discriminators=strict"))
    done = net.run(str(program), "early", "nic1", "1", "4", env={"VIPL_CONF": str(conf)})
    assert done.returncode == 1 and "== VIP_NO_MATCH" in done.stderr


@pytest.mark.parametrize("name", ["opens", "names"])
def test_in_one_process(name: str, program: Path, tmp_path: Path) -> None:
    conf = tmp_path / "vipl.conf"
    conf.write_text(TCP.format(port=port()))
    subprocess.run([program, name, "nic0", "0"], env={**os.environ, "VIPL_CONF": str(conf)}, check=True, timeout=60)


BAD = {
    "no such name": ("nic9", "", "VIP_INVALID_PARAMETER", "no file defines it"),
    "no such interface": ("fcoe:nowhere9", "", "VIP_ERROR_RESOURCE", "nowhere9"),
    "an address that is not here": ("vitcp:192.0.2.1:29799", "", "VIP_ERROR_RESOURCE", "192.0.2.1"),
    "no port": ("vitcp:127.0.0.1", "", "VIP_ERROR_RESOURCE", "vitcp:ADDR:PORT"),
    "a member that is none": ("nic0", "nic0 wire=vitcp:127.0.0.1:29799 colour=red", "VIP_ERROR_RESOURCE", "'colour'"),
    "an address that is none": ("nic0", "nodea address=here", "VIP_ERROR_RESOURCE", ":1: 'here' is no address"),
    "in the name": ("vitcp:127.0.0.1:29799,incoming=0", "", "VIP_INVALID_PARAMETER", "'incoming'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_opened(case: str, tmp_path: Path) -> None:
    """The code is one of the guide's, and with VIPL_DEBUG one line says what and where; without it there is none."""
    device, text, code, words = BAD[case]
    conf, source, out = tmp_path / "vipl.conf", tmp_path / "open.c", tmp_path / "open"
    conf.write_text(text + "\n")
    source.write_text("#include <vipl.h>\nint main(int c, char **v) { VIP_NIC_HANDLE n; (void)c;\n"
                      f"return VipOpenNic(v[1], &n) != {code}; }}\n")  # fmt: skip
    header = ["-I", ROOT / "refimpl/vipl/include", "-L", ROOT / "build", f"-Wl,-rpath,{ROOT / 'build'}"]
    subprocess.run(["cc", source, "-o", out, *header, "-lvipl"], check=True)
    for debug in ("1", ""):
        done = subprocess.run([out, device], env={**os.environ, "VIPL_CONF": str(conf), "VIPL_DEBUG": debug}, capture_output=True,
                              text=True, check=False, timeout=30)  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert (words in done.stderr and done.stderr.count("\n") == 1) if debug else done.stderr == ""


def test_two_processes_on_one_address(program: Path, tmp_path: Path) -> None:
    conf = tmp_path / "vipl.conf"
    conf.write_text(TCP.format(port=port()))
    env = {**os.environ, "VIPL_CONF": str(conf), "VIPL_DEBUG": "1"}
    with subprocess.Popen([program, "early", "nic0", "0"], env=env) as first:
        time.sleep(1)
        second = subprocess.run([program, "names", "nic0", "0"], env=env, capture_output=True, text=True, check=False, timeout=30)
        assert second.returncode == 1 and "Address already in use" in second.stderr
        assert first.wait(30) == 0
