"""``fcvi fuzz`` on streams of VI/TCP: it finds what breaks a device, cuts it down, and finds nothing at devices that are right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Iterator

import jsonschema
import pytest

import conformance
from conformance.vitcp.book import PROTOCOL
from fcvi.attack.blackbox import Attack
from fcvi.attack.pdus import Pdus
from fcvi.dut.ref import StreamDut
from fcvi.engine import pics
from fcvi.engine.attachment import DutError
from fcvi.engine.pixit import pixit_for
from fcvi.engine.protocol import judging_by
from fcvi.engine.runner import load_catalogue
from fcvi.vitcp import codec
from fcvi.vitcp.numbers import Numbers
from fcvi.vitcp.trace import TraceUnit

from ..conftest import ROOT, fcvi
from .test_vitcp_codec import LAB

conformance.register_all()
SCHEMA = json.loads((ROOT / "harness/fcvi/commands/schemas/fuzz.schema.json").read_text())
INDEPENDENT = f"exec:/usr/bin/python3 {ROOT / 'harness/tests/independent/vitcp/endpoint.py'}"


@pytest.fixture(autouse=True, scope="module")
def book() -> Iterator[None]:
    """VI/TCP judges in these tests."""
    with judging_by(PROTOCOL):
        yield


class Fragile(StreamDut):
    """A device that does not survive a Segment Length without room for a header (3, V39), if it comes at once."""

    restarts = 0

    def notify(self, method: str, params: dict[str, Any]) -> None:
        data = bytes.fromhex(params["hex"]) if method == "stream.data" else b""
        if 4 <= len(data) and data[0] == 1 and 0 < data[2] << 8 | data[3] < 24:
            raise DutError("the connection ended")
        super().notify(method, params)

    def restart(self) -> None:
        super().restart()
        self.restarts += 1


class Forgetful(StreamDut):
    """A device that accepts no TCP connection any more once it has heard a PDU of another Version."""

    deaf = False

    def reset(self, config: dict[str, Any]) -> None:
        self.deaf = False
        super().reset(config)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self.deaf |= method == "stream.data" and params["hex"][:2] not in ("01", "00")
        if not (self.deaf and method == "stream.open"):
            super().notify(method, params)


def attack_on(dut: StreamDut, **how: Any) -> Attack:
    return Attack(dut, pics.complete(dut.pics, "hello"), pixit_for(dut.clock), load_catalogue().levels, 12, transport=Pdus(), **how)


def first_finding(dut: StreamDut, state: str, batches: int) -> Any:
    attack = attack_on(dut)
    return next((found for seed in range(batches) if (found := attack.batch(seed, state)) is not None), None)


def test_the_reference_port_survives_in_every_state() -> None:
    done = fcvi("fuzz", "--dut", "ref:vitcp", "--batches", "240", "--json")
    summary = json.loads(done.stdout.splitlines()[-1])["summary"]
    assert done.returncode == 0 and (summary["batches"], summary["findings"]) == (240, 0)
    assert len(summary["states"]) == 12 and set(codec.PDUS) <= set(summary["sent"])


def test_a_device_of_another_hand_survives() -> None:
    done = fcvi("fuzz", "--wire", "tcp", "--dut", INDEPENDENT, "--batches", "60")
    assert done.returncode == 0 and "60 batches" in done.stdout, done.stdout + done.stderr


def test_a_device_that_dies_is_found_and_cut_down_to_one_pdu() -> None:
    dut = Fragile()
    found = first_finding(dut, "connected-server", 120)
    assert found is not None and found.outcome.kind == "dead" and found.reproduced and dut.restarts > 0
    assert len(found.steps) == 1 and any("Segment Length" in words for words in found.changes), found.changes


def test_a_device_that_is_stuck_is_found() -> None:
    found = first_finding(Forgetful(), "listening", 120)
    assert found is not None and found.outcome.kind == "stuck" and found.reproduced and len(found.steps) == 1


def test_the_same_seed_sends_the_same_pdus() -> None:
    def sent() -> list[bytes]:
        steps: list[Any] = []
        attack_on(StreamDut())._run(7, "connected-client", None, steps)
        return [step.frame.data for step in steps]

    assert sent() == sent() and len(sent()) == 12


def test_a_finding_is_kept_and_played_again(tmp_path: Path) -> None:
    """A device of the DUT protocol that ends itself; what was written brings it about again."""
    device = tmp_path / "device.py"
    device.write_text(
        "import json, subprocess, sys\n"
        f"child = subprocess.Popen([{str(ROOT / 'build/fcvi')!r}, 'endpoint', '--wire', 'tcp'], stdin=subprocess.PIPE, bufsize=0)\n"
        "for line in sys.stdin.buffer:\n"
        "    m = json.loads(line)\n"
        "    data = bytes.fromhex(m['params']['hex']) if m.get('method') == 'stream.data' else b''\n"
        "    if len(data) > 4 and data[0] == 1 and data[2] << 8 | data[3] < 24:\n"
        "        child.kill()\n"
        "        break\n"
        "    child.stdin.write(line)\n"
        "child.stdin.close()\n"
        "child.wait()\n"
    )
    spec, out = f"exec:/usr/bin/python3 {device}", tmp_path / "found"
    words = ("--wire", "tcp", "--dut", spec)
    bounds = ("--state", "connected-server", "--batches", "120", "--findings", "1")
    done = fcvi("fuzz", *words, *bounds, "--out", str(out), timeout=300)
    assert done.returncode == 1, done.stdout + done.stderr
    finding = next(out.glob("dead-connected-server-*/finding.json"))
    jsonschema.validate({**json.loads(finding.read_text()), "directory": None}, SCHEMA)
    assert f"--book vitcp --repeat {finding}" in done.stdout
    again = fcvi("fuzz", *words, "--repeat", str(finding))
    assert again.returncode == 1 and again.stdout.startswith("dead")
    assert fcvi("fuzz", "--dut", "ref:vitcp", "--repeat", str(finding)).returncode == 0
    wrong = fcvi("fuzz", "--dut", "ref", "--repeat", str(finding))
    assert wrong.returncode == 2 and wrong.stderr.count("\n") == 1


def test_the_numbers_of_a_laboratory(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(LAB)
    numbers = ("--profile", str(tmp_path / "lab.toml"))
    done = fcvi("fuzz", "--dut", "ref:vitcp", "--batches", "24", *numbers)
    assert done.returncode == 0 and "24 batches" in done.stdout
    other = fcvi("fuzz", "--wire", "tcp", "--dut", f"exec:{ROOT / 'build/fcvi'} endpoint --wire tcp", "--batches", "24", *numbers)
    assert other.returncode == 3 and "has not shown that it speaks profile lab-1" in other.stderr and "finding" not in other.stdout
    assert fcvi("fuzz", "--dut", "ref", *numbers).returncode == 2


def test_what_goes_out_has_the_numbers_of_the_profile() -> None:
    """Of whole PDUs; a piece that is none goes out as it is."""
    numbers, plain = Numbers(codec.of_text(LAB)), Numbers(codec.T0)
    nop = bytes.fromhex("0128001800000000000000000000000000000009000d0205")
    assert numbers.outward(nop + nop[:20]) == bytes.fromhex("091b001800000000000000000000000000000009000d002f") + nop[:20]
    assert plain.outward(nop) == nop and numbers.outward(b"\x01\x28\x00\x03" + bytes(20)) == b"\x01\x28\x00\x03" + bytes(20)


@pytest.mark.parametrize("step", ('{"pdu": "zz"}', '{"pdu": "01", "cut": "no", "origin": "", "wait_us": 0}'))
def test_files_that_are_no_finding(step: str, tmp_path: Path) -> None:
    path = tmp_path / "finding.json"
    path.write_text(f'{{"fcvi-fuzz": 1, "seed": 1, "state": "idle", "steps": [{step}]}}')
    done = fcvi("fuzz", "--dut", "ref:vitcp", "--repeat", str(path))
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and str(path) in done.stderr


def test_what_no_correct_device_sends() -> None:
    """3.2: a Discriminator has 16 bytes at most. Other numbers, and pieces that end within a PDU, are no finding."""
    request = bytes.fromhex("0132004400000000000000000000000000000000000800000000001000000400" + "61" * 16 + "00000001" + "62" * 16)
    longer = request[:27] + b"\x11" + request[28:]
    transport = Pdus()
    assert "VITCP-3.2-07" in transport.wrong(TraceUnit(0, "dut", longer, 0, 0))
    for data, note in ((request, ""), (b"\x02" + request[1:], ""), (request[:40], ""), (bytes(24), "not divided into PDUs")):
        assert transport.wrong(TraceUnit(0, "dut", data, 0, 0, note=note)) == ""


def test_a_network_device_needs_its_upper_tester() -> None:
    done = fcvi("fuzz", "--dut", "vitcp:127.0.0.1:4829")
    assert done.returncode == 2 and "--agent" in done.stderr
