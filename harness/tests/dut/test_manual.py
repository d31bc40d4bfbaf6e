"""``--agent manual``: an operator who is a script, for a reference port on a wire of memory."""

from __future__ import annotations

import io
import json
import os
import threading
from typing import Any, Iterator, Optional

import pytest

from fcvi.engine import pics as pics_module
from fcvi.engine.case import load_cases
from fcvi.engine.attachment import DutError, Unavailable
from fcvi.dut.manual import ManualControl
from fcvi.dut.planes import Frames, PlaneDut, monotonic_us
from fcvi.engine.pixit import pixit_for
from fcvi.dut.refserver import PICS, RefServer
from fcvi.engine.results import Verdict
from fcvi.engine.runner import load_catalogue, run_variant


class Device:
    """The reference port in real time, for a wire on one side and an operator on the other."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.frames: list[tuple[int, dict[str, Any]]] = []
        self.answers: dict[int, tuple[Optional[dict[str, Any]], Optional[tuple[int, str]]]] = {}
        self.late: list[int] = []  # calls that block
        self.said: list[str] = []
        self.since = monotonic_us()
        self.server = RefServer(self._emit, self._answer, "real")
        self.readable, self._wake = os.pipe()

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        if method == "frame":
            self.frames.append((monotonic_us(), params))
            os.write(self._wake, b"x")
        elif method in ("completion", "error"):
            words = " ".join(f"{k}='{json.dumps(v)}'" for k, v in params.items())
            self.said.append(f"{method} {words}\n")

    def _answer(self, token: int, result: Optional[dict[str, Any]], error: Optional[tuple[int, str]]) -> None:
        self.answers[token] = (result, error)

    def tick(self) -> None:
        """What timers are due."""
        self.server.run_until(monotonic_us() - self.since)


class Wire(Frames):
    """Frames to and from the device."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def fileno(self) -> int:
        return self._device.readable

    def prepare(self, config: dict[str, Any]) -> None:
        """Nothing was sent before."""

    def send(self, params: dict[str, Any]) -> None:
        with self._device.lock:
            self._device.tick()
            self._device.server.notification("frame", params)

    def receive(self) -> list[tuple[int, dict[str, Any]]]:
        with self._device.lock:
            self._device.tick()
            taken, self._device.frames = self._device.frames, []
            if taken:
                os.read(self._device.readable, len(taken))
            return taken

    def deadline_us(self) -> Optional[int]:
        return None

    def run(self) -> None:
        """Nothing is due."""

    def restart(self) -> None:
        """It never breaks."""

    def close(self) -> None:
        """Nothing to let go of."""


class Operator(io.TextIOBase):
    """Reads prompts, does what they say, and types the answer."""

    def __init__(self, device: Device, keyboard: int) -> None:
        self.device, self._keyboard = device, keyboard
        self.prompts: list[str] = []

    def _type(self, words: str) -> None:
        os.write(self._keyboard, words.encode())

    def write(self, text: str) -> int:
        for line in text.splitlines():
            self.prompts.append(line)
            if line.startswith("#"):
                number, method, params = line[1:].split(" ", 2)
                self._act(int(number), method, json.loads(params))
        return len(text)

    def _act(self, number: int, method: str, params: dict[str, Any]) -> None:
        device = self.device
        with device.lock:
            device.tick()
            if method == "reset":
                device.since = monotonic_us()
            device.server.request(number, method, params)
            done = device.answers.pop(number, None)
            if done is None:
                device.late.append(number)
            self._type("started\n" if done is None else self._words(done))
            self.say()

    def say(self) -> None:
        """What the device did by itself, and calls that have returned."""
        for number in [n for n in self.device.late if n in self.device.answers]:
            self.device.late.remove(number)
            self._type(f"{number} " + self._words(self.device.answers.pop(number)))
        said, self.device.said = self.device.said, []
        self._type("".join(said))

    @staticmethod
    def _words(done: tuple[Optional[dict[str, Any]], Optional[tuple[int, str]]]) -> str:
        result, error = done
        if error is not None or result is None:
            return "no\n"
        members = " ".join(f"{k}='{v if isinstance(v, str) else json.dumps(v)}'" for k, v in result.items() if k != "return")
        return f"{result.get('return', 'ok')} {members}\n"


class Watched(ManualControl):
    """The operator looks at the device whenever the suite looks for answers."""

    operator: Operator

    def pump(self) -> None:
        with self.operator.device.lock:
            self.operator.device.tick()
            self.operator.say()
        super().pump()


@pytest.fixture
def dut() -> Iterator[PlaneDut]:
    """A device with an operator."""
    device = Device()
    read, write = os.pipe()
    control = Watched(read, Operator(device, write))
    assert isinstance(control._prompts, Operator)
    control.operator = control._prompts
    yield PlaneDut("fcoe:memory", Wire(device), control)
    for descriptor in (read, write, device.readable, device._wake):
        os.close(descriptor)


@pytest.mark.parametrize("ident", ["5.3.2/dut-client", "5.3.2/dut-server", "5.3.5/dut-client"])
def test_case_by_operator(dut: PlaneDut, ident: str) -> None:
    """Cases pass by prompts and answers alone."""
    pixit = pixit_for("real", 3_000_000, 900_000, 400_000)
    case, variant = next((c, v) for c in load_cases() for v in c.variants if c.variant_id(v) == ident)
    pics = pics_module.complete(PICS, "test")
    result = run_variant(dut, case, variant, pics, pixit, load_catalogue().levels, 1)
    assert (result.verdict, result.reason) == (Verdict.PASS, "")


def control(typed: str) -> tuple[ManualControl, io.StringIO, int]:
    """Everything that the operator will type, typed already."""
    read, write = os.pipe()
    os.write(write, typed.encode())
    prompts = io.StringIO()
    return ManualControl(read, prompts), prompts, write


def test_prompt_and_answers() -> None:
    """The exact action; what is not understood is asked again; a blocked call returns by its number."""
    manual, prompts, write = control("yes\nok\nok vi=x=1 vi\nok vi=3\nstarted\nerror vi=3 code=VIP_ERROR_CONN_LOST\n")
    assert manual.request("VipCreateVi", {"ViAttribs": {}}).result == {"return": "VIP_SUCCESS", "vi": 3}
    lines = prompts.getvalue().splitlines()
    assert lines[:2] == ["operator: make this VIPL call", '#1 VipCreateVi {"ViAttribs": {}}']
    assert sum("not understood" in line for line in lines) == 3
    blocked = manual.request("VipDisconnect", {"vi": 3})
    assert not blocked.done
    os.write(write, b"2 VIP_NOT_REACHABLE\n7 ok\n")
    manual.pump()
    assert blocked.done and blocked.result == {"return": "VIP_NOT_REACHABLE"}
    assert [note[1:] for note in manual.inbox] == [("error", {"vi": 3, "code": "VIP_ERROR_CONN_LOST"})]
    os.write(write, b"no\n")
    assert manual.request("VipConnectPeerWait", {"vi": 3}).error == (-32601, "the operator cannot do this")


def test_reset() -> None:
    """It ends what is blocked; an operator who cannot makes the case inconclusive, one who leaves an error."""
    manual, _, write = control("started\nwhat\nok\nno\n")
    blocked = manual.request("VipDisconnect", {"vi": 1})
    manual.reset({"class": 3})
    assert blocked.error == (-32001, "reset")
    with pytest.raises(Unavailable):
        manual.reset({"class": 2})
    os.write(write, b"x" * 60000)
    manual.pump()
    os.write(write, b"x" * 6000)
    with pytest.raises(DutError, match="over 65536 bytes"):
        manual.pump()
    os.close(write)
    other, _, write = control("")
    os.close(write)
    with pytest.raises(DutError, match="gone"):
        other.request("VipDisconnect", {"vi": 1})
