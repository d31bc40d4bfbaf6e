"""Somebody sets the clock while a case runs: no verdict depends on the time of day."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from fcvi.live import wire

from ..conftest import FCVI, ROOT
from ..dut.test_agent import ADDRESS, AGENT, CONFIG, Client

#: A time of day that jumps by hours at each look, to both sides. Other clocks stay as they are.
SHIM = r"""
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static _Atomic unsigned looks;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    long status = syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        now->tv_sec += (++looks * 2654435761u >> 16) % 86400 - 43200L;
    return (int)status;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *out = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}
"""


@pytest.fixture(name="jumping", scope="module")
def _jumping(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of processes whose time of day jumps."""
    place = tmp_path_factory.mktemp("shim")
    (place / "shim.c").write_text(SHIM)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", str(place / "shim.so"), str(place / "shim.c")], check=True)
    env = {**os.environ, "LD_PRELOAD": str(place / "shim.so")}
    looks = subprocess.run(
        ["/usr/bin/python3", "-c", "import time; print(max(abs(time.time() - time.time()) for _ in range(99)))"], env=env,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert float(looks.stdout) > 3600, "the shim does nothing"
    return env


def results(dut: str, select: str, place: Path, env: dict[str, str]) -> dict[str, str]:
    """The verdicts of a run."""
    words = [str(FCVI), "run", "--quiet", "--dut", dut, "--select", select, "--report", str(place)]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == "", done.stderr
    return {r["id"]: r["verdict"] for r in json.loads((place / "report.json").read_text())["results"]}


def test_a_device_in_virtual_time(jumping: dict[str, str], tmp_path: Path) -> None:
    dut = f"exec:{FCVI} endpoint"
    one = results(dut, "6.3/unreliable/*,5.3.3/*", tmp_path / "a", dict(os.environ))
    assert results(dut, "6.3/unreliable/*,5.3.3/*", tmp_path / "b", jumping) == one
    for path in (tmp_path / "a/evidence").glob("*.jsonl"):
        assert (tmp_path / "b/evidence" / path.name).read_bytes() == path.read_bytes()
    judged = subprocess.run([str(FCVI), "judge", "--quiet", str(tmp_path / "b")], env=jumping, timeout=60, check=False)
    assert judged.returncode == 0


def test_a_device_in_real_time(jumping: dict[str, str], tmp_path: Path) -> None:
    select = "6.3/unreliable/class3/dut-server/immediate,5.3.3/dut-first/03"
    found = results(f"exec:{FCVI} endpoint --clock real", select, tmp_path, jumping)
    assert set(found.values()) == {"pass"}


def test_the_agent_answers_while_a_call_blocks(jumping: dict[str, str], tmp_path: Path) -> None:
    """It gives such a call a moment before it reads on, which must not become hours."""
    path = tmp_path / "agent"
    with subprocess.Popen([str(AGENT), f"unix:{path}"], stdout=subprocess.PIPE, env=jumping) as agent:
        assert agent.stdout is not None and agent.stdout.readline() == b"listening\n"
        client = Client(str(path))
        client.call("hello", protocol=1)
        client.call("reset", **CONFIG)
        waiting = [client.start("VipConnectWait", LocalAddr=ADDRESS, Timeout=100_000) for _ in range(10)]
        client.call("hello", protocol=1)
        assert {client.finish(one)["result"]["return"] for one in waiting} == {"VIP_TIMEOUT"}
        client.socket.close()
        client.file.close()
        agent.terminate()


def test_what_the_suite_asks_the_time_of_day_for() -> None:
    """The dates of a report, quarantines that end on a date, the kernel's stamps of frames, the date of a bill of materials,
    the name of a system call in a filter, and the stamps of records that a starter and a relay write: no more."""
    asks = re.compile(r"\btime\.(time|time_ns)\(|\bdatetime\.|\bdate\.today|CLOCK_REALTIME|gettimeofday|\btime\(NULL\)")
    found = {
        str(path.relative_to(ROOT))
        for room in ("codec", "refimpl", "conformance", "harness") for path in (ROOT / room).rglob("*")
        if path.suffix in (".py", ".c", ".h", ".cc") and "tests" not in path.parts and asks.search(path.read_text())
    }  # fmt: skip
    assert found == {
        "harness/fcvi/commands/run.py", "harness/fcvi/engine/runner.py", "harness/fcvi/live/wire.py",
        "harness/interop/rdma_relay.py", "harness/release/sbom.py", "harness/sandbox/make_filter.c",
        "harness/starters/pcap_adapter.py",
    }  # fmt: skip


@pytest.mark.parametrize("jump_us", [0, 3_600_000_000, -3_600_000_000, 2_000, -2_000])
@pytest.mark.parametrize("before", [True, False], ids=["stamped-before", "stamped-after"])
def test_stamps_of_the_kernel(jump_us: int, before: bool) -> None:
    """A frame that came 300 us ago, 400 us after the last look, while the clock was set."""
    now, ahead = 50_000_000, 1_700_000_000_000_000
    stamp = now - 300 + ahead + (0 if before else jump_us)
    seen = SimpleNamespace(_asked_us=now - 700, _ahead_us=ahead)
    at = wire.Wire._when(seen, stamp, now, ahead + jump_us)  # type: ignore[arg-type]
    assert abs(at - (now - 300)) <= (2_000 if abs(jump_us) == 2_000 else 0)
