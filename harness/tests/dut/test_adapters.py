"""``--frames``: devices behind a frame adapter, and adapters that break their protocol."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Iterator

import pytest

from fcvi.dut.contract.adapter import ADAPTER_PROTOCOL
from fcvi.live.adapter import _DRIFT_PPM, Adapter
from ..conftest import ROOT, fcvi

HERE = Path(__file__).parent / "adapters"
STARTER = f"{sys.executable} {ROOT}/harness/starters/pcap_adapter.py"

AGENT = f"exec:{ROOT}/build/fcvi endpoint --clock real"


def speaker(mode: str = "", **capabilities: Any) -> str:
    """The adapter of adapters/speaker.py."""
    return f"exec:{sys.executable} {HERE}/speaker.py '{json.dumps(capabilities)}' '{mode}'"


@pytest.fixture(name="bridge")
def _bridge(tmp_path: Path) -> Iterator[Path]:
    """A device whose frames are in two FIFOs; the directory has them and the socket of its upper tester."""
    for name in ("to", "from"):
        os.mkfifo(tmp_path / name)
    ends = [str(tmp_path / name) for name in ("to", "from", "control")]
    device = subprocess.Popen([sys.executable, str(HERE / "bridge.py"), *ends])
    try:
        while not (tmp_path / "control").exists():
            assert device.poll() is None
            time.sleep(0.02)
        yield tmp_path
    finally:
        device.kill()
        device.wait()


def test_annex_a_passes_through_streams_of_pcap(bridge: Path, tmp_path: Path) -> None:
    report = tmp_path / "report"
    done = fcvi("run", "--frames", f"exec:{STARTER} {bridge}/to {bridge}/from", "--agent", f"unix:{bridge}/control",
                "--select", "A.*/class3/in-order,A.1/class2/in-order", "--report", str(report))  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((report / "report.json").read_text())["summary"]["pass"] == 8
    assert fcvi("judge", str(report)).returncode == 0


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark reads the stream")
def test_the_starter_writes_frames_that_tshark_reads(tmp_path: Path) -> None:
    """Delimiters and CRC state as the suite asked for, by another program than ours."""
    out, header = tmp_path / "out.pcap", "00010200" + "00010100" + "f0000000" + "00" * 12
    kinds = [(sof, eof) for sof in ("i3", "n3", "i2", "n2") for eof in ("n", "t", "ni", "a")]
    asked = [{"hex": header, "sof": sof, "eof": eof, "crc": "ok"} for sof, eof in kinds]
    lines = "".join(json.dumps({"jsonrpc": "2.0", "method": "frame", "params": params}) + "\n" for params in asked)
    subprocess.run([*STARTER.split(), str(out), "/dev/null"], input=lines, text=True, timeout=20, check=True, capture_output=True)
    read = subprocess.run(["tshark", "-V", "-r", str(out)], capture_output=True, text=True, timeout=60, check=True).stdout
    for member in ("sof", "eof"):
        seen = re.findall(rf"^    {member.upper()}: (\w+)", read, re.M)
        assert seen == [member.upper() + params[member] for params in asked]
    assert read.count("[CRC Status: Good]") == len(asked)


def test_what_the_path_cannot_carry_fails_nobody() -> None:
    done = fcvi("run", "--frames", speaker(), "--agent", AGENT, "--select", "A.1/class2/in-order")
    assert done.returncode == 4 and " 0 fail" in done.stdout, done.stdout + done.stderr
    assert "carries class 3; the case needs class 2" in done.stdout


@pytest.mark.parametrize(
    "mode, words",
    [
        ("dies", "the frame adapter"),
        ("no json", "not JSON"),
        ("fails", "open was answered with error -32000 (no link)"),
        ("floods", "floods"),
        ("lost", "lost 3 frames"),
        ("down", "its link went down"),
        ("long frame", "2137 bytes"),
        ("odd frame", "a frame of the adapter broke the protocol"),
        ("odd sof", "a frame of the adapter broke the protocol"),
        ("odd stamp", "at_us is 1.5"),
        ("clock set back", "its clock was set back"),
        ("odd notification", "'completion'"),
        ("silent", "did not answer"),
    ],
)
def test_an_adapter_that_breaks_the_protocol_gives_no_verdict(mode: str, words: str, tmp_path: Path) -> None:
    report = tmp_path / "report"
    done = fcvi("run", "--frames", speaker(mode), "--agent", AGENT, "--select", "5.3.2/dut-server", "--rpc-timeout", "0.5",
                "--report", str(report))  # fmt: skip
    assert done.returncode in (3, 4), (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr and " 0 pass" in done.stdout
    assert words in (report / "report.json").read_text()


def test_the_clock_of_an_adapter_may_be_slower_since_its_last_frame_alone() -> None:
    """A frame that took longer than those before it was on the wire earlier, by what its stamp says; only the drift is allowed."""
    adapter = Adapter.__new__(Adapter)
    adapter._behind_us = adapter._stamped_us = 0
    first, second = 10**12, 10**12 + 10**6
    assert adapter._when(500, first) == first
    assert adapter._when(500 + 10**6 - 7000, second) == second - 7000 + _DRIFT_PPM


def test_an_adapter_without_room_leaves_a_case_inconclusive() -> None:
    done = fcvi("run", "--frames", speaker("refuses"), "--select", "5.3.2/dut-server", "--agent", AGENT)
    assert done.returncode == 4 and "no room for another port" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    "spec, words",
    [
        ("exec:true", "the frame adapter"),
        ("fcoe:lo", "--frames fcoe:lo: unknown adapter"),
        ("exec:", "unknown adapter"),
        (f"exec:{ROOT}/build/fcvi endpoint", "hello"),
        (speaker("version"), "frames must be 1, not 2"),
        (speaker("knows all"), "method"),
        (speaker(classes=[]), "classes must name some of 2, 3"),
        (speaker(classes=[True]), "classes must name some of 2, 3"),
        (speaker(longest=2137), "longest must be a number from 24 to 2136"),
        (speaker(sof="i3"), "sof must name some of"),
        (speaker(bad_crc=1), "bad_crc must be true or false"),
    ],
)
def test_what_is_no_adapter_is_refused_before_a_case_runs(spec: str, words: str) -> None:
    done = fcvi("run", "--frames", spec, "--agent", AGENT, "--select", "5.3.2/dut-server")
    assert done.returncode in (2, 3) and words in done.stdout + done.stderr, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_the_check_finds_nothing_to_mend_in_the_starter(tmp_path: Path) -> None:
    done = fcvi("dut", "check", f"frames:exec:{STARTER} {tmp_path}/out.pcap /dev/null")
    assert done.returncode == 0 and "Nothing to mend" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    "spec, words",
    [
        (speaker("version"), "result of hello: frames: 1 was expected"),
        (speaker("knows all"), "answer error -32601, since nobody has this method"),
        (speaker("fails"), "open was answered with error -32000 (no link)"),
        (speaker("odd stamp"), "notification frame: at_us: 1.5 is not of type 'integer'"),
        (speaker("odd notification"), "notification completion: unknown notification"),
        (speaker(classes=[4]), "result of hello: capabilities.classes[0]: 4 is not one of [2, 3]"),
        (speaker("dies"), "standard error of the device: the jammer is on fire"),
    ],
)
def test_the_check_says_what_to_mend(spec: str, words: str) -> None:
    done = fcvi("dut", "check", f"frames:{spec}")
    assert done.returncode in (1, 3) and words in done.stdout, done.stdout + done.stderr


def test_the_document_keeps_to_the_schema() -> None:
    page = (ROOT / "harness/docs/frame-adapter.md").read_text(encoding="utf-8")
    methods = {}
    for line in page.split("```json\n")[1].split("```")[0].splitlines():
        message = json.loads(line)
        if "method" in message:
            methods[message["id"]] = message["method"]
        name = methods[message["id"]]
        if not name.startswith("probe.") and "result" in message:
            assert ADAPTER_PROTOCOL.result_flaw(name, message["result"]) is None
        elif not name.startswith("probe."):
            assert ADAPTER_PROTOCOL.flaw(f"params.{name}", message["params"]) is None
    for name in ("capabilities", "params.frame", "notification.frame"):
        for member in ADAPTER_PROTOCOL.schema["$defs"][name]["properties"]:
            assert f"`{member}`" in page, f"{name}: {member}"
