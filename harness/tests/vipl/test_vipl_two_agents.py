"""The book of VIPL between two agents over VI/TCP: our libvipl fails nothing, and a NIC closes although a handler still runs."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path
from typing import Callable

import pytest

from ..conftest import FCVI, ROOT

pytestmark = pytest.mark.early

AGENT = os.environ.get("FCVI_AGENT", str(ROOT / "build/fcvi-agent"))
#: What VI/TCP cannot say (A07, A110, A111), disconnections that handlers are told of, and some of the rest.
SELECT = "VIPL.C15/size-*,VIPL.C28,VIPL.K2,VIPL.K3,VIPL.C48,VIPL.X19,VIPL.X20,VIPL.S2,VIPL.Q2,VIPL.E3"
TAKEN = {"VIPL.C28/size": "A07", "VIPL.C48": "A111", "VIPL.K3/server-enabled": "A110", "VIPL.K3/server-off": "A110"}


def free_port() -> int:
    """A TCP port that neither of the two addresses has in use."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]
        with socket.create_server(("127.0.0.2", port)):
            return port


def _own(folder: Path, port: int) -> list[str]:
    del folder
    return [f"exec:{AGENT} --on vitcp:127.0.0.{end}:{port}" for end in (1, 2)]


def _plain(folder: Path, port: int) -> list[str]:
    """The agent of vendors, over libvipl as programs have it."""
    conf = folder / "vipl.conf"
    conf.write_text("".join(f"nic{end} wire=vitcp:127.0.0.{end}:{port}\n" for end in (1, 2)))
    agent = f"exec:env LD_LIBRARY_PATH={ROOT / 'build'} VIPL_CONF={conf} {ROOT / 'build/fcvi-agent-plain'} --on vitcp"
    return [f"{agent} --device nic{end}" for end in (1, 2)]


@pytest.mark.parametrize("agents_of", [_own, _plain])
def test_two_agents_over_vitcp(agents_of: Callable[[Path, int], list[str]], tmp_path: Path) -> None:
    agents = agents_of(tmp_path, free_port())
    done = subprocess.run([str(FCVI), "run", "--quiet", "--dut", "api", "--agent", agents[0], "--agent2", agents[1],
                           "--rpc-timeout", "30", "--select", SELECT, "--report", str(tmp_path / "r")],
                          capture_output=True, text=True, timeout=250, check=False)  # fmt: skip
    results = json.loads((tmp_path / "r/report.json").read_text())["results"]
    assert [(r["id"], r["reason"]) for r in results if r["verdict"] in ("fail", "error")] == [], done.stderr
    assert {r["id"]: r["errata"][0] for r in results if r["qualifier"] == "interpretation"} == TAKEN
    # Discriminators of VI/TCP have 16 bytes, as VI-DG 3.3 asks for at least: that leaves no row of K2 open
    assert [r["id"] for r in results if r["verdict"] == "not-applicable"] == ["VIPL.K2/17"]
    assert len(results) > 20
