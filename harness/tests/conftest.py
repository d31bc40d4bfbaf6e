"""Shared by the tests: where things are, and FC-VI frames written out from the standard's tables."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
from pathlib import Path
from typing import Iterator

import pytest

from conformance import register_all
from fcvi.engine.protocol import in_force, judging_by

from . import starts

register_all()

# What is started in the background, or by nohup, ignores these, and so would every command that a test starts.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)

ROOT = Path(__file__).resolve().parents[2]
FCVI = ROOT / "build/fcvi"
PCAPS = ROOT / "pcaps"
#: What the suite makes of each case on the reference port: cases/ and rev1/ (`make pcaps`).
RECORDED = ROOT / "build/pcaps"

ADDR_A = "00001010fe8000000000000000000000000000a1000102030405060708090a0b0c0d0e0f" + "00" * 112
ADDR_B = "00001010fe8000000000000000000000000000b2000102030405060708090a0b0c0d0e0f" + "00" * 112
ATTRIBUTES = "0000010000008000" + "00" * 20 + "00" * 4
CONNECT_PAYLOAD = "000000000000000100000005" + ADDR_A + ADDR_B + ATTRIBUTES  # Tables 13, 15 to 18
#: FCVI_CONNECT_RQST (Table 1, 4, 7), FCVI_CONNECT_RESP3 and ABTS: (hex, SOF code, EOF code)
CONNECT_RQST = (
    "020102000001010058290008050200001234ffff00000000"
    "ffffffff100100000000000000000000" + "00" * 12 + "00000042" + CONNECT_PAYLOAD
)
CONNECT_RESP3 = "0301010000010200589800000602000112348001" "00000000" "000000051a01000000000000000200" "00" + "00" * 12 + "00000042"
ABTS = "81010200000101000009000006000000" "1234ffff" "00000000"
#: A PICS that claims little: what applies is run and judged again in a tenth of the time.
LITTLE = "[pics]\nclient = true\nunreliable_delivery = true\n"


def pytest_configure() -> None:
    """The recordings are no part of the repository: who runs a test before `make check-python` gets them made here."""
    if not (RECORDED / ".made").exists() and "PYTEST_XDIST_WORKER" not in os.environ:
        subprocess.run(["make", "--silent", "build/pcaps/.made"], cwd=ROOT, check=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that wait begin first, module by module, while other workers compute."""
    items.sort(key=lambda item: item.get_closest_marker("early") is None)


def fcvi(*args: str, stdin: bytes = b"", timeout: float = 300, real: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the command; its output as text. real: start a program of its own, because the start is what is tried."""
    run = subprocess.run if real else starts.run
    done = run([str(FCVI), *args], input=stdin, capture_output=True, timeout=timeout, check=False)
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    )


def _certified(tmp_path_factory: pytest.TempPathFactory, name: str, status: int, *words: str) -> Path:
    """The report directory of a certification, made once for all workers of one run of the tests. What the command printed stands
    beside it in ``printed``."""
    own = tmp_path_factory.getbasetemp()
    place = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name
    with open(f"{place}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "printed").exists():
            done = fcvi("certify", "--report", str(place / "r"), *words)
            assert done.returncode == status and done.stderr == "", done.stdout + done.stderr
            (place / "printed").write_text(done.stdout)
    return place / "r"


@pytest.fixture(scope="session")
def certified_reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `fcvi certify` leaves of the reference port, for tests of the night: whoever needs a whole run reads this, or a copy."""
    return _certified(tmp_path_factory, "certified-reference", 0)


@pytest.fixture(scope="session")
def certified_little(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What it leaves of a port that claims little, judged in a tenth of the time. What is mandatory is missing: the status is 1."""
    pics = tmp_path_factory.mktemp("little") / "pics.toml"
    pics.write_text(LITTLE)
    return _certified(tmp_path_factory, "certified-little", 1, "--pics", str(pics))


@pytest.fixture(autouse=True)
def books_in_force() -> Iterator[None]:
    """A test that begins a command in this process leaves the book of that command in force for nobody else."""
    with judging_by(*in_force()):
        yield


@pytest.fixture
def frames() -> list[tuple[int, bytes, int, int]]:
    """Three frames with times and delimiters."""
    return [
        (1_000_000, bytes.fromhex(CONNECT_RQST), 0x2E, 0x42),
        (2_500_000, bytes.fromhex(CONNECT_RESP3), 0x2E, 0x42),
        (3_000_001, bytes.fromhex(ABTS), 0x2E, 0x42),
    ]
