"""The programs, and the file that names their NICs and hosts."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Callable, Iterator

import pytest

from ...conftest import ROOT
from ...live.net import DEVICE, TESTER, Net, available

HERE = Path(__file__).parent
TCP = """# comments and empty lines are no lines

nodea address=127.0.0.1
nodeb address=127.0.0.2
none address=192.0.2.7
closed address=127.0.0.9
proxy address=127.0.0.5
nic0 wire=vitcp:127.0.0.1:{port}
nic1 wire=vitcp:127.0.0.2:{port} incoming=1000
nic2 wire=vitcp:127.0.0.3:{port}
"""
FC = f"""nodea address=fe80::a
nodeb address=fe80::b
none address=fe80::c
nic0 wire=fcoe:{TESTER} host=fe80::a {{more}}
nic1 wire=fcoe:{DEVICE} host=fe80::b {{more}}
"""


def compiled(source: str, out: Path, more: tuple[str, ...] = (), name: str = "vipl") -> Path:
    """A program: the header, the library, and nothing else of ours."""
    library = ROOT / "build"
    header = ["-I", str(ROOT / "refimpl/vipl/include"), "-L", str(library), f"-Wl,-rpath,{library}"]
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", *more]
    subprocess.run(["cc", *flags, HERE / source, "-o", out, *header, f"-l{name}", "-lpthread"], check=True)
    return out


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Each program once in a session."""
    made: dict[str, Path] = {}

    def program(source: str) -> Path:
        if source not in made:
            made[source] = compiled(source, tmp_path_factory.mktemp("vipl") / Path(source).stem)
        return made[source]

    return program


@pytest.fixture(scope="session")
def program(build: Callable[[str], Path]) -> Path:
    return build("program.c")


@pytest.fixture(scope="session")
def kinds(build: Callable[[str], Path]) -> Path:
    return build("kinds.c")


@pytest.fixture(scope="session")
def corners(build: Callable[[str], Path]) -> Path:
    return build("corners.c")


@pytest.fixture(scope="session")
def errors(build: Callable[[str], Path]) -> Path:
    return build("errors.c")


def port() -> int:
    """One for each test: a port that was just left is not free at once."""
    return 29800 + int(time.monotonic() * 50) % 2000


@pytest.fixture(scope="module")
def net() -> Iterator[Net]:
    """One namespace for the tests of a module: each program opens the interface anew."""
    missing = available()
    if missing is not None:
        pytest.skip(missing)
    made = Net()
    try:
        yield made
    finally:
        made.close()
