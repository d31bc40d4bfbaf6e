"""``fcvi fuzz``: finds what breaks a device, cuts it down, and finds nothing at the reference port."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from fcvi.fc import codec
from fcvi.engine import pics
from fcvi.attack.blackbox import Attack, Step, changed_fields, fewer
from fcvi.fc.build import RawFrame
from fcvi.engine.attachment import DutError
from fcvi.dut.ref import RefDut
from fcvi.attack.mutator import mutate
from fcvi.engine.pixit import pixit_for
from fcvi.replay import bare, keep, trace
from fcvi.replay.play import Player
from fcvi.engine.record import entries_of
from fcvi.engine.runner import load_catalogue

from ..conftest import CONNECT_RQST, ROOT, fcvi


class Fragile(RefDut):
    """A device that does not survive a Discriminator of more than 64 bytes in a FCVI_CONNECT_RQST."""

    def __init__(self) -> None:
        super().__init__()
        self.restarts = 0

    def notify(self, method: str, params: dict[str, Any]) -> None:
        data = bytes.fromhex(params["hex"]) if method == "frame" else b""
        view = codec.decode(data) if data else None
        if view is not None and view.iu == "CONNECT_RQST" and len(data) > 72 and data[56 + 12 + 3] > 64:
            raise DutError("the connection ended")
        super().notify(method, params)

    def restart(self) -> None:
        self.restarts += 1


class Forgetful(RefDut):
    """A device that never hears anything again after an ABTS with Fill Bytes."""

    deaf = False

    def reset(self, config: dict[str, Any]) -> None:
        self.deaf = False
        super().reset(config)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        data = bytes.fromhex(params["hex"]) if method == "frame" else b""
        self.deaf |= len(data) >= 24 and data[0] == 0x81 and data[11] & 3 != 0
        if not self.deaf:
            super().notify(method, params)


def attack_on(dut: RefDut) -> Attack:
    return Attack(dut, pics.complete(dut.pics, "hello"), pixit_for(dut.clock), load_catalogue().levels, 12)


def first_finding(dut: RefDut, state: str, batches: int) -> Any:
    attack = attack_on(dut)
    return next((found for seed in range(batches) if (found := attack.batch(seed, state)) is not None), None)


def test_the_reference_port_survives() -> None:
    done = fcvi("fuzz", "--dut", "ref", "--batches", "120", "--json")
    summary = json.loads(done.stdout.splitlines()[-1])["summary"]
    assert done.returncode == 0 and summary["batches"] == 120 and summary["findings"] == 0
    assert len(summary["states"]) == 10 and set(codec.IUS) <= set(summary["sent"])


def test_a_device_that_dies_is_found_and_cut_down_to_one_frame() -> None:
    dut = Fragile()
    found = first_finding(dut, "listening", 60)
    assert found is not None and found.outcome.kind == "dead" and found.reproduced and dut.restarts > 0
    assert len(found.steps) == 1 and found.steps[0].frame.data[71] > 64
    assert found.changes


def test_changes_are_told_by_field() -> None:
    frame = bytes.fromhex(CONNECT_RQST)
    longer = frame[:71] + b"\x80" + frame[72:]
    changed = Step(RawFrame(longer, 0x2E, 0x42), RawFrame(frame, 0x2E, 0x42))
    assert changed_fields(changed) == ["FCVI_CONNECT_RQST: DISCRIM_LEN (byte 71) is 128, not 16"]
    assert changed_fields(Step(changed.origin, changed.origin)) == []
    assert changed_fields(Step(RawFrame(frame + bytes(4), 0x2E, 0x42), changed.origin)) == ["FCVI_CONNECT_RQST: 400 bytes, not 396"]


def test_a_device_that_is_stuck_is_found() -> None:
    found = first_finding(Forgetful(), "connected-server", 400)
    assert found is not None and found.outcome.kind == "stuck" and found.reproduced
    assert len(found.steps) == 1 and found.steps[0].frame.data[0] == 0x81


def test_the_same_seed_sends_the_same_frames() -> None:
    def sent() -> list[bytes]:
        dut = RefDut()
        attack = attack_on(dut)
        attack.batch(7, "connected-client")
        steps: list[Step] = []
        attack._run(7, "connected-client", None, steps)
        return [step.frame.data for step in steps]

    assert sent() == sent()


def test_cutting_down_keeps_what_is_needed() -> None:
    steps = [Step(RawFrame(bytes([i]), 0, 0), RawFrame(b"", 0, 0)) for i in range(20)]

    def still(left: list[Step]) -> bool:
        return {3, 11} <= {step.frame.data[0] for step in left}

    assert [step.frame.data[0] for step in fewer(steps, still, lambda: True)] == [3, 11]


def test_mutations_stay_within_fc_2() -> None:
    frame = bytes.fromhex(CONNECT_RQST)
    made = [mutate(frame, seed) for seed in range(3000)]
    assert all(0 < len(data) <= 24 + 2112 for data in made) and len(set(made)) > 1500
    assert made == [mutate(frame, seed) for seed in range(3000)]


def test_findings_are_written_and_repeated(tmp_path: Path) -> None:
    """Over the DUT protocol: a device that ends itself; what was written brings it about again."""
    device = tmp_path / "device.py"
    device.write_text(
        "import json, subprocess, sys\n"
        f"child = subprocess.Popen([{str(ROOT / 'build/fcvi')!r}, 'endpoint'], stdin=subprocess.PIPE, bufsize=0)\n"
        "for line in sys.stdin.buffer:\n"
        "    m = json.loads(line)\n"
        "    data = bytes.fromhex(m['params']['hex']) if m.get('method') == 'frame' else b''\n"
        "    if len(data) > 72 and data[28] == 0x10 and data[71] > 64:\n"
        "        child.kill()\n"
        "        break\n"
        "    child.stdin.write(line)\n"
        "child.stdin.close()\n"
        "child.wait()\n"
    )
    spec = f"exec:{sys.executable} {device}"
    out = tmp_path / "found"
    done = fcvi(
        "fuzz", "--dut", spec, "--state", "listening", "--batches", "40", "--findings", "1", "--out", str(out), timeout=300
    )
    assert done.returncode == 1, done.stdout + done.stderr
    finding = next(out.glob("dead-listening-*/finding.json"))
    frames = finding.parent / "frames.pcapng"
    assert str(frames) in done.stdout
    again = fcvi("fuzz", "--dut", spec, "--repeat", str(finding))
    assert again.returncode == 1 and again.stdout.startswith("dead")
    assert fcvi("fuzz", "--dut", "ref", "--repeat", str(finding)).returncode == 0
    assert fcvi("replay", str(frames), "--dut", spec).returncode == 3, "it dies again"
    lives = fcvi("replay", str(frames), "--dut", "ref")
    assert lives.returncode in (0, 1, 4), "any device can play it"  # 4: it goes on where that one died


def test_a_finding_is_a_regression_for_replay(tmp_path: Path) -> None:
    """The device does again as it did; one that does right is seen to differ."""
    found = first_finding(Forgetful(), "connected-server", 400)
    kept = keep.keep(trace.of_entries("finding", entries_of(found.outcome.lines)), tmp_path, "frames", "stuck")
    assert [path.name for path in kept] == ["frames.pcapng", "frames.toml"]
    recording = bare.load(kept[0], None, None)
    same, other = (Player(dut, recording, dict(recording.config), 100_000, frozenset()).run() for dut in (Forgetful(), RefDut()))
    assert not same.differences and same.sent > 0 and same.calls > 0
    assert other.differences


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"fcvi-fuzz": 2, "steps": []}', '{"fcvi-fuzz": 1, "seed": 1, "state": "idle", "steps": [{"frame": "zz"}]}',
     '{"fcvi-fuzz": 1, "seed": 1, "state": "idle", "steps": [{"frame": "' + "00" * 5000
     + '", "origin": "", "sof": 0, "eof": 0, "crc_ok": 1, "wait_us": 0}]}'],
)  # fmt: skip
def test_other_files_are_refused_in_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "finding.json"
    path.write_text(text)
    done = fcvi("fuzz", "--dut", "ref", "--repeat", str(path))
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and str(path) in done.stderr


def test_unknown_states_are_refused(tmp_path: Path) -> None:
    done = fcvi("fuzz", "--dut", "ref", "--state", "nowhere")
    assert done.returncode == 2 and "connected-client" in done.stderr
    path = tmp_path / "finding.json"
    path.write_text('{"fcvi-fuzz": 1, "seed": 1, "state": "nowhere", "steps": []}')
    assert fcvi("fuzz", "--dut", "ref", "--repeat", str(path)).returncode == 2


def test_every_defect_can_be_planted() -> None:
    """`make fuzz-defects` is long, and rarely run: the code that it changes must still be there, once."""
    defects = tomllib.loads((ROOT / "fuzz/defects.toml").read_text())["defect"]
    assert [d["name"] for d in defects if (ROOT / d["file"]).read_text().count(d["old"]) != 1] == [] and len(defects) >= 20
