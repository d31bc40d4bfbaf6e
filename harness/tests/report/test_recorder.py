"""The lines of the recorder: what was asked, what came of it, and nothing of what cannot be written."""

from __future__ import annotations

import json
import random
from collections import deque
from typing import Any, Callable, Optional

import pytest

from fcvi.dut.step import SteppingDut
from fcvi.engine.attachment import Dut, DutError, HostError, Notification, Reply, Unavailable, WrappedDut
from fcvi.engine.in_step import PacedDut
from fcvi.engine.json_text import compact
from fcvi.engine.record import RecordingDut
from fcvi.fc.build import RawFrame
from fcvi.fc.delimiters import EOF_BY_NAME, SOF_BY_NAME
from fcvi.fc.notation import to_params

_TEXTS = (
    "", "plain", "a" * 70, 'a"b\\c', "\u00e9\u2028\x01", "\ud800", "\U0001f600", "x" * 15 + "\x7f", "\t\n\r\b\f", "0" * 8 + '"',
)  # fmt: skip


class Word(str):
    """A class of one's own."""


def value(rng: random.Random, depth: int = 0) -> Any:
    """Any value of JSON, and some that are of other classes."""
    kind = rng.randrange(11 if depth < 4 else 7)
    if kind < 2:
        return rng.choice([None, True, False, Word('w"'), 1.5, -0.0, 1e300])
    if kind < 4:
        return rng.choice([0, -1, 2**63 - 1, -(2**63), 2**63, 10**30, rng.randrange(-5, 10**9)])
    if kind < 7:
        return rng.choice(_TEXTS)
    inner = [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == 7:
        return inner
    if kind == 8:
        return tuple(inner)
    return {rng.choice([rng.choice(_TEXTS) + str(i), i] if kind == 10 else [f"n{i}"]): v for i, v in enumerate(inner)}


class Device(Dut):
    """Says what it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = self.implementation = self.version = "x"
        self.clock, self.pics = "virtual", {}
        self.answer: Any = None
        self.says: list[Notification] = []
        self.fault: Optional[BaseException] = None

    def _do(self) -> None:
        self.inbox.extend(self.says)
        self.says = []
        if self.fault is not None:
            raise self.fault

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        self._do()
        params["seen"] = True  # what is noted is what was asked
        return Reply(method, True, self.answer, None, 3)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._do()

    def send_frame(self, frame: Any) -> None:
        self._do()

    def advance(self, us: int) -> None:
        self._do()
        self.now_us += us

    def reset(self, config: dict[str, Any]) -> None:
        self.inbox.clear()
        self.now_us = 0
        self._do()

    def joined(self, port: Any) -> bool:
        self._do()
        return True

    def streams(self, policy: str, unlimited: bool) -> None:
        self._do()

    def restart(self) -> None:
        self.now_us, self.version = 7, "y"

    def close(self) -> None:
        pass


def test_values_are_those_of_python() -> None:
    rng = random.Random(1)
    device = Device()
    dut = RecordingDut(device)
    for _ in range(4000):
        asked, device.answer = {"v": value(rng)}, {"r": value(rng)}
        before = compact(asked)
        dut.reset({})
        dut.request("mem.read", asked)
        device.says = notes = [Notification(rng.choice(_TEXTS), {"n": value(rng)}, i, 2) for i in range(rng.randrange(1, 3))]
        dut.advance(0)
        assert device.inbox == deque(notes)
        said = ",".join([f"[{compact(n.method)},{compact(n.params)},{n.earliest_us},2]" for n in notes])
        assert dut.take().decode("ascii").splitlines()[1:] == [
            f'{{"op":"request","n":1,"method":"mem.read","params":{before},"now":0,'
            f'"done":[[1,{{"result":{compact(device.answer)}}},3]]}}',
            f'{{"op":"advance","us":0,"now":0,"notes":[{said}]}}',
        ]


@pytest.mark.parametrize("sof", [*SOF_BY_NAME.values(), 0])
@pytest.mark.parametrize("eof", [*EOF_BY_NAME.values(), 0])
def test_frames_are_their_params(sof: int, eof: int) -> None:
    for length in (0, 1, 24, 2136):
        for crc_ok in (True, False):
            data = bytes(i * 7 % 256 for i in range(length))
            params = to_params(RawFrame(data, sof, eof, crc_ok))
            kinds: tuple[Any, ...] = (bytes, bytearray, memoryview)  # whoever made the frame
            for kind in kinds:
                device = Device()
                dut = RecordingDut(device)
                frame = RawFrame(kind(data), sof, eof, crc_ok)
                dut.send_frame(frame)
                device.says = [Notification("frame", None, 1, 2, frame)]
                dut.advance(0)
                sent, came = dut.take().splitlines()
                assert json.loads(sent) == {"op": "notify", "method": "frame", "params": params, "now": 0}
                assert json.loads(came)["notes"] == [["frame", params, 1, 2]]
                assert b" " not in sent + came


@pytest.mark.parametrize("fault, noted", [
    (DutError('it said "no"'), {"error": 'it said "no"'}), (HostError("late"), {"error": "late"}),
    (Unavailable("not here"), {"unavailable": "not here"}),
])  # fmt: skip
def test_what_a_device_raises_is_noted_and_goes_on(fault: Exception, noted: dict[str, str]) -> None:
    device = Device()
    dut = RecordingDut(device)
    device.fault = fault
    frame = RawFrame(bytes(24), 0x2E, 0x42)
    for work in (
        lambda: dut.request("m", {}), lambda: dut.advance(0), lambda: dut.advance(5), lambda: dut.send_frame(frame),
        lambda: dut.notify("link", {"state": "up"}), lambda: dut.reset({"a": 1}), lambda: dut.joined({"p": 1}),
        lambda: dut.streams("accept", False),
    ):  # fmt: skip
        with pytest.raises(type(fault)) as caught:
            work()
        assert caught.value is fault
        [line] = dut.take().splitlines()
        entry = json.loads(line)
        assert {name: entry[name] for name in noted} == noted and entry["now"] == 0


def test_other_exceptions_leave_no_line_and_spoil_none() -> None:
    device = Device()
    dut = RecordingDut(device)
    dut.reset({})
    dut.advance(0)
    device.fault = KeyboardInterrupt()
    for work in (lambda: dut.request("m", {}), lambda: dut.advance(1), lambda: dut.send_frame(RawFrame(bytes(24), 0, 0))):
        with pytest.raises(KeyboardInterrupt):
            work()
    device.fault = None
    dut.advance(0)
    assert [json.loads(line) for line in dut.take().splitlines()] == [{"op": "reset", "params": {}, "now": 0, "idle": 2}]


def test_what_cannot_be_written_leaves_no_part_of_a_line() -> None:
    device = Device()
    dut = RecordingDut(device)
    dut.advance(1)
    endless: list[Any] = []
    endless.append(endless)
    for odd in (object(), {1, 2}, endless):
        with pytest.raises((TypeError, RecursionError)):
            dut.request("m", {"v": odd})
        device.answer = {"r": odd}
        with pytest.raises((TypeError, RecursionError)):
            dut.request("m", {})
    assert [json.loads(line)["op"] for line in dut.take().splitlines()] == ["advance"]


def test_times_are_the_devices() -> None:
    device = Device()
    dut = RecordingDut(device)
    dut.advance(5)
    assert (dut.now_us, dut.next_us, dut.knows_next) == (5, None, False)
    device.next_us, device.knows_next = 9, True
    dut.advance(0)
    assert (dut.next_us, dut.knows_next) == (9, True)
    assert json.loads(dut.take().splitlines()[-1]) == {"op": "advance", "us": 0, "now": 5, "next": 9}
    dut.restart()
    assert (dut.now_us, dut.version) == (7, "y")


def test_whoever_stands_before_a_device_hides_nothing_of_it() -> None:
    """A wrapper does the operations itself; whatever else a device may answer, the device is asked."""
    offered = {name for name, member in vars(Dut).items() if callable(member) and not name.startswith("_")}
    operations = {"request", "notify", "send_frame", "advance", "reset"}
    assert offered - operations == {name for name in vars(WrappedDut) if not name.startswith("_")}


@pytest.mark.parametrize("wrapper", [SteppingDut, PacedDut, RecordingDut])
def test_a_device_that_cannot_do_as_told_is_heard(wrapper: Callable[[Dut], Dut]) -> None:
    class Refusing(Device):
        def streams(self, policy: str, unlimited: bool) -> None:
            raise Unavailable(f"no {policy}")

    with pytest.raises(Unavailable, match="no silence"):
        wrapper(Refusing()).streams("silence", False)
