"""``fcvi explore``: the scenarios run to their ends, and ports with a rule taken out are found out."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from fcvi.capture.reader import Reader

from ..conftest import FCVI, ROOT, fcvi

PROGRAM = ROOT / "build" / "fcvi-explore"
INCLUDES = ["-Icodec/include", "-Irefimpl/include", "-Irefimpl/vipl/include", "-Irefimpl/src", "-Iconformance/monitor/include"]


@pytest.mark.parametrize("losses, resets", [(1, 1), pytest.param(2, 2, marks=pytest.mark.nightly)])
def test_losses_and_a_reordering_run_to_completion(losses: int, resets: int, tmp_path: Path) -> None:
    """Every scenario, with lower bounds and with the default ones: nothing is found, and nothing was left out."""
    bounds = ["--losses", str(losses), "--resets", str(resets)] if losses < 2 else []
    done = fcvi("explore", "--json", "--jobs", "2", "--out", str(tmp_path), *bounds, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for family in ("client-server", "peer", "retry", "disconnect", "message"):
        assert any(s["scenario"].split("/")[0] == family for s in found)
    for s in found:
        assert (s["result"], s["complete"]) == ("none", True)
        if s["wire"] == "fcvi":
            assert (s["losses"], s["reorderings"], s["resets"], s["cuts"]) == (losses, 1, 0, 0)
            assert s["states"] > 50 * losses and s["ends"] > 5 * losses
        else:
            assert (s["losses"], s["reorderings"], s["resets"], s["cuts"]) == (0, 0, resets, 1)
            assert s["states"] > 20 * resets and s["ends"] > 3 * resets
    assert sum(s["wire"] == "vitcp" for s in found) == 13
    assert not list(tmp_path.iterdir())


def test_the_list_has_what_was_named() -> None:
    done = fcvi("explore", "--list", "retry", "peer/short")
    assert done.returncode == 0, done.stderr
    assert {line.split()[0] for line in done.stdout.splitlines()} == {"retry", "peer/short"}
    found = [json.loads(line)["scenario"] for line in fcvi("explore", "--list", "--json", "retry").stdout.splitlines()]
    assert found == ["retry"] and len(fcvi("explore", "--list").stdout.splitlines()) > 20


def test_in_order_fabric_and_class_2(tmp_path: Path) -> None:
    for options in (["--fabric", "in-order"], ["--class", "2", "--losses", "1"]):
        done = fcvi("explore", "--out", str(tmp_path), *options, "client-server", "peer", "disconnect", timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr


def test_races_and_reduction(tmp_path: Path) -> None:
    """Fewer states with the reduction, and the same ends: it finds every one that there is."""
    summaries = {}
    for option in ([], ["--no-reduction"]):
        bounds = ["--races", "1", "--losses", "1", "--out", str(tmp_path)]
        done = fcvi("explore", "--json", *bounds, *option, "client-server", "disconnect", timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        summaries[bool(option)] = [json.loads(line) for line in done.stdout.splitlines()]
    for reduced, whole in zip(summaries[False], summaries[True]):
        assert reduced["ends"] == whole["ends"]
        assert reduced["states"] < whole["states"]


@pytest.mark.parametrize("resets", ["0", pytest.param("1", marks=pytest.mark.nightly)])
def test_streams_that_stall(resets: str, tmp_path: Path) -> None:
    """A timer is faster than what is under way: where a retry and the end of the connection before it cross, for one."""
    bounds = ["--races", "1", "--resets", resets, "--out", str(tmp_path)]
    done = fcvi("explore", *bounds, "vitcp-client-server", "vitcp-peer", timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_bounds() -> None:
    for bound in (["--states", "100"], ["--memory", "1"]):
        done = fcvi("explore", *bound, "disconnect/setup", timeout=60)
        assert done.returncode == 4
        assert "a bound was reached" in done.stdout


@pytest.mark.parametrize(
    "args, words",
    [
        (["nothing"], "no scenario 'nothing'"),
        (["--losses", "-1"], "--losses"),
        (["--races", "x"], "--races"),
        (["--fabric", "woven"], "--fabric"),
    ],
)
def test_wrong_usage(args: list[str], words: str) -> None:
    done = fcvi("explore", *args)
    assert done.returncode == 2
    assert words in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda stop: stop.name)
def test_a_signal_ends_the_exploration(stop: signal.Signals, tmp_path: Path) -> None:
    """Its programs run for hours, and end with the command."""
    words = [FCVI, "explore", "vitcp-peer", "vitcp-peer", "vitcp-peer", "--races", "9", "--jobs", "2", "--out", str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        begun = time.monotonic()
        while len(_children(command.pid)) < 2 and time.monotonic() - begun < 60:
            time.sleep(0.05)
        programs = _children(command.pid)
        assert len(programs) == 2
        command.send_signal(stop)
        _, err = command.communicate(timeout=60)
    assert (command.returncode, err) == (3, f"fcvi: interrupted by {stop.name}\n")
    begun = time.monotonic()
    while any(_runs(program) for program in programs) and time.monotonic() - begun < 10:
        time.sleep(0.05)  # they are told to end as the command does
    assert not any(_runs(program) for program in programs)


def _children(pid: int) -> list[str]:
    found = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [child for children in found for child in children]


def _runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] not in "ZX"
    except FileNotFoundError:
        return False


def build(tmp_path: Path, source: str, old: str, new: str) -> Path:
    """The explorer over a port in which one line is another one."""
    text = (ROOT / "refimpl/src" / source).read_text()
    assert text.count(old) == 1, f"{source} has changed"
    changed = tmp_path / Path(source).name
    changed.write_text(text.replace(old, new))
    room = f"-Irefimpl/src/{Path(source).parent}"  # what the file includes, as seen from its own place
    objects = sorted(str(path) for path in (ROOT / "build/obj/conformance/explore").glob("*.o"))
    program = tmp_path / "fcvi-explore"
    command = ["cc", "-std=c11", "-D_DEFAULT_SOURCE", "-O1", *INCLUDES, room, str(changed), *objects]
    subprocess.run([*command, "build/libfcvi.a", "-lisal", "-o", str(program)], cwd=ROOT, check=True, timeout=120)
    return program


#: A line of the port that is another one, the scenario that meets it, and the rule that it breaks.
BROKEN = [
    # both Peers take themselves for the one with the higher Port_Name, and accept (5.3.4)
    ("fcvi/peer.c", "return mine < theirs ? -1 : mine > theirs;", "return mine != theirs;", "peer", "one-accept"),
    # nobody notices that an answer is missing (8.5.3 a)
    ("fcvi/originator.c", "    fcvi_timer_start(p, TIMER_SETUP, index, p->config.r_a_tov_us);\n", "    (void)index;\n",
     "retry", "exchange-ends"),
    # the Exchange of a Disconnect that was answered is left open (5.4)
    ("fcvi/disconnect.c", "    fcvi_fc2_exchange_free(p, exchange);\n", "", "disconnect", "exchange-ends"),
    # Descriptors of a VI that the application disconnects are not flushed (VI-ARCH 5.4)
    ("vi/queues.c", "    flush_queue(p, vi, false);\n", "", "client-server/data", "completes"),
    # send Descriptors of a client complete before FCVI_CONNECT_RESP3 (C.5.1)
    ("fcvi/message_tx.c", "return !recv && vi->state", "return recv && vi->state", "client-server/data", "half-open"),
    # the first Message is not the one that is expected first (Annex B)
    ("fcvi/connection.c", ".expected = first,", ".expected = first + 1,", "message/reception", "delivery"),
    # VI/TCP: both Peers concede (4)
    ("vitcp/peer.c", "return !crossing || order < 0;", "return !crossing || order != 0;", "vitcp-peer", "peers-meet"),
    # messages do not wait for the receive Descriptors of the other side (3.1)
    ("vitcp/message_tx.c", "return consumes(e) && !fcvi_vitcp_credit_left(s);", "return consumes(e) && s == NULL;",
     "vitcp-credits", "VITCP-3.1-23"),
    # no NOP tells of a Descriptor that was posted (3.1)
    ("vitcp/connection.c", "s->tx.posted > 1 ? s->tx.posted / 2 : 1", "0", "vitcp-credits", "completes"),
    # the end of a stream is not heard
    ("vitcp/stream_host.c", "    s->ended = true;\n", "    s->ended = false;\n", "vitcp-disconnect", "stream"),
    # Message ACK completes one message more than it names (3.1)
    ("vitcp/acknowledge.c", "(int32_t)(n - e->msg_id) < 0)", "(int32_t)(n - e->msg_id) < -1)",
     "vitcp-message/reception", "reliability"),
    # a piece of one byte counts twice
    ("vitcp/message_rx.c", "    rx->offset += length;\n", "    rx->offset += length + (length == 1);\n",
     "vitcp-message/reception", "data"),
]  # fmt: skip
#: One in every check: each compiles the explorer, and searches.
SOON = {"fcvi/peer.c"}


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize(
    "source, old, new, scenario, rule",
    [pytest.param(*row, marks=[] if row[0] in SOON else [pytest.mark.nightly]) for row in BROKEN],
)
def test_broken_port_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, old: str, new: str, scenario: str, rule: str
) -> None:
    program = build(tmp_path, source, old, new)
    done = subprocess.run([str(program), scenario], capture_output=True, text=True, timeout=300, check=False)
    summary = json.loads(done.stdout.splitlines()[0])
    assert (done.returncode, summary["result"], summary.get("rule")) == (1, "violation", rule), done.stdout
    monkeypatch.setattr("fcvi.explore.program.PROGRAM", program)
    from fcvi.cli import main

    out = tmp_path / "out"
    assert main(["explore", "--out", str(out), scenario]) == 1
    stem = scenario.replace("/", "-")
    text = (out / f"{stem}.txt").read_text()
    assert summary["text"] in text and f"after {summary['steps']} steps" in text
    frames = sum('"kind":"frame"' in line or '"kind":"unit"' in line for line in done.stdout.splitlines())
    with Reader(str(out / f"{stem}.pcapng")) as reader:
        assert sum(1 for _ in reader) == frames
