"""``--frames exec:``, ``unix:`` and ``tcp:``: the frame plane behind a frame adapter (harness/docs/frame-adapter.md).

An adapter is a small program between the suite and whatever can put frames on a wire. It says what it can carry; what it cannot
carry makes a case inconclusive, and fails nobody.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Optional

from fcvi.dut.control import ControlStream
from fcvi.dut.planes import Frames, monotonic_us
from fcvi.dut.rpc import MOST_NOTIFICATIONS
from fcvi.engine.attachment import AttachError, DutError, HostError, Unavailable
from fcvi.engine.budget import Limits
from fcvi.fc import notation
from fcvi.fc.build import RawFrame
from .params import EOF_CODES, SOF_CODES, from_params

VERSION = 1
_SHORTEST, _LONGEST = 24, 24 + 2112
_MOST_FRAMES = 20_000  # of one case; more is a flood
_INVALID_PARAMS = -32602
_DRIFT_PPM = 200  # of two free-running clocks at most
_LATEST_US = 1_000_000  # of a frame's way through the adapter; beyond it the order of frames and calls means nothing
_SOF = {code: name for name, code in SOF_CODES.items()}
_EOF = {code: name for name, code in EOF_CODES.items()}


@dataclass(frozen=True)
class Carries:
    """What an adapter can carry from the suite to the device. longest: bytes of header and Data_Field."""

    classes: tuple[int, ...] = (3,)
    sof: tuple[str, ...] = ("i3", "n3")
    eof: tuple[str, ...] = ("n", "t")
    bad_crc: bool = False
    longest: int = _LONGEST
    settle_us: Optional[int] = None

    def refuses(self, frame: RawFrame) -> str:
        """Why it cannot carry this frame; "" when it can."""
        if _SOF.get(frame.sof) not in self.sof:
            return f"SOF{_SOF.get(frame.sof, '?')}; it carries {', '.join('SOF' + name for name in self.sof)}"
        if _EOF.get(frame.eof) not in self.eof:
            return f"EOF{_EOF.get(frame.eof, '?')}; it carries {', '.join('EOF' + name for name in self.eof)}"
        if not frame.crc_ok and not self.bad_crc:
            return "a wrong CRC"
        return f"{len(frame.data)} bytes; it carries {self.longest}" if len(frame.data) > self.longest else ""


def carries_of(said: Any) -> Carries:
    """What ``hello`` says under ``capabilities``. Raises DutError."""
    if not isinstance(said, dict):
        raise DutError("hello: the result has no object member 'capabilities'")
    base = Carries()

    def names(member: str, known: Any, default: Any) -> Any:
        values = said.get(member, list(default))
        if not isinstance(values, list) or not values or any(isinstance(v, bool) or v not in known for v in values):
            raise DutError(f"hello: capabilities: {member} must name some of {', '.join(map(str, known))}, not {str(values)[:60]}")
        return tuple(values)

    def number(member: str, least: int, most: int, default: Optional[int]) -> Optional[int]:
        value = said.get(member, default)
        if value is None and default is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise DutError(f"hello: capabilities: {member} must be a number from {least} to {most}, not {str(value)[:20]}")
        return value

    bad_crc = said.get("bad_crc", False)
    if not isinstance(bad_crc, bool):
        raise DutError("hello: capabilities: bad_crc must be true or false")
    return Carries(
        names("classes", (2, 3), base.classes), names("sof", tuple(SOF_CODES), base.sof),
        names("eof", tuple(EOF_CODES), base.eof), bad_crc, number("longest", _SHORTEST, _LONGEST, _LONGEST) or _LONGEST,
        number("settle_us", 0, 10_000_000, None),
    )  # fmt: skip


class Adapter(ControlStream):
    """The client of the adapter protocol."""

    option = "--frames"

    def _hello(self) -> None:
        token = {} if self._token is None else {"token": self._token}
        answer = self._call("hello", {"frames": VERSION, **token}, self._timeout_s * 4)
        for name in ("implementation", "version"):
            if not isinstance(answer.get(name), str):
                raise DutError(f"hello: the result has no string member {name!r}")
        if answer.get("frames") != VERSION:
            raise DutError(f"hello: frames must be {VERSION}, not {str(answer.get('frames'))[:20]}; is this a frame adapter?")
        self.implementation, self.version, self.clock = answer["implementation"], answer["version"], "real"
        self.path = carries_of(answer.get("capabilities"))
        self.arrived: list[tuple[int, dict[str, Any]]] = []
        self.lost, self.down, self.late_us = 0, "", 0
        self._behind_us = self._stamped_us = 0

    def _take_notification(self, message: dict[str, Any]) -> None:
        method, params = message["method"], message.get("params", {})
        if message.get("id") is not None or not isinstance(params, dict):
            raise DutError(f"the adapter sent a {str(method)[:40]} that is no notification with params")
        if method == "frame":
            self._take_frame(params)
        elif method == "link" and params.get("event") in ("up", "down"):
            self.down = "" if params["event"] == "up" else "the adapter says that its link went down"
        elif method == "lost" and isinstance(params.get("frames"), int) and 0 < params["frames"] < 2**31:
            self.lost += params["frames"]
        elif method != "log":
            what = f"{str(method)[:40]!r} with {str(params)[:60]}"
            raise DutError(f"the adapter sent {what}, which the adapter protocol does not have")

    def _take_frame(self, params: dict[str, Any]) -> None:
        now = monotonic_us()
        try:
            notation.from_params(params)
        except ValueError as error:
            raise DutError(f"a frame of the adapter broke the protocol: {error}"[:300]) from error
        if len(self.arrived) >= MOST_NOTIFICATIONS:
            raise DutError(f"the adapter floods: over {MOST_NOTIFICATIONS} frames in one step")
        known = {name: params[name] for name in ("hex", "sof", "eof", "crc") if name in params}
        at_us = self._when(params.get("at_us"), now)
        self.late_us = max(self.late_us, now - at_us)
        self.arrived.append((at_us, known))

    def _when(self, stamp: Any, now: int) -> int:
        """When a frame was on the wire, by our clock. What crossed the pipe fastest tells how the adapter's clock stands to it."""
        if stamp is None:
            return now
        if isinstance(stamp, bool) or not isinstance(stamp, int) or not 0 <= stamp < 2**63:
            raise DutError(f"at_us is {str(stamp)[:30]}, not a number of microseconds")
        behind, since = now - stamp, now - self._stamped_us
        slowest = self._behind_us + since * _DRIFT_PPM // 1_000_000  # the adapter's clock may run slower than ours
        self._behind_us = behind if self._stamped_us == 0 else min(slowest, behind)
        self._stamped_us = now
        return stamp + self._behind_us

    def open(self, config: Mapping[str, Any]) -> None:
        """Be the tester's port of this configuration. Raises Unavailable."""
        self._budget.next_case()
        reply = self.request("open", dict(config))
        self._wait(reply)
        if reply.error is not None and reply.error[0] == _INVALID_PARAMS:
            raise Unavailable(f"the frame adapter cannot be configured so: {reply.error[1]}")
        if reply.error is not None:
            raise DutError(f"open was answered with error {reply.error[0]} ({reply.error[1]})")
        self.arrived.clear()  # what came before the answer is of another case
        self.lost = self.late_us = 0


@contextmanager
def _of_the_adapter() -> Iterator[None]:
    """What went wrong is told of the adapter, which speaks like a device and is none."""
    try:
        yield
    except (AttachError, DutError) as error:
        raise type(error)(str(error).replace("the DUT", "the frame adapter").replace("--dut", "--frames")) from error


class AdapterFrames(Frames):
    """A frame adapter as the engine's frame plane."""

    def __init__(self, spec: str, *, rpc_timeout_s: float, log: Optional[int], limits: Limits = Limits()) -> None:
        with _of_the_adapter():
            self._adapter = Adapter(spec, rpc_timeout_s=rpc_timeout_s, log=log, limits=limits)
        self._class, self._taken = 3, 0
        self.description = f"a device behind the frame adapter {self._adapter.implementation} {self._adapter.version}"[:200]
        self.settle_us = self._adapter.path.settle_us

    def fileno(self) -> int:
        return self._adapter.fileno()

    def prepare(self, config: dict[str, Any]) -> None:
        self._class, self._taken = int(config["class"]), 0
        if self._class not in self._adapter.path.classes:
            carried = " and ".join(map(str, self._adapter.path.classes))
            raise Unavailable(f"the frame adapter carries class {carried}; the case needs class {self._class}")
        with _of_the_adapter():
            self._adapter.open(config)

    def send(self, params: dict[str, Any]) -> None:
        frame = from_params(params, self._class)
        refused = self._adapter.path.refuses(frame)
        if refused:
            raise Unavailable(f"the frame adapter cannot carry what the case sends: {refused}")
        params = {"hex": frame.data.hex(), "sof": _SOF[frame.sof], "eof": _EOF[frame.eof], "crc": "ok" if frame.crc_ok else "bad"}
        with _of_the_adapter():
            self._adapter.notify("frame", params)

    def sync(self) -> None:
        with _of_the_adapter():
            self._adapter.sync()

    def receive(self) -> list[tuple[int, dict[str, Any]]]:
        with _of_the_adapter():
            self._adapter.pump()
        arrived, self._adapter.arrived = self._adapter.arrived, []
        self._taken += len(arrived)
        if self._taken > _MOST_FRAMES:
            raise DutError(f"the device floods: over {_MOST_FRAMES} frames in one case")
        if self._adapter.lost:
            raise HostError(f"the frame adapter lost {self._adapter.lost} frames")
        if self._adapter.late_us > _LATEST_US:
            seconds = self._adapter.late_us / 1_000_000
            late = f"the frame adapter told of a frame {seconds:.1f} s after its time stamp"
            raise HostError(f"{late}: it is slow, or its clock was set back")
        return arrived

    def deadline_us(self) -> Optional[int]:
        return None

    def run(self) -> None:
        if self._adapter.down:  # a link that is down is silent like a device that says nothing
            raise DutError(self._adapter.down)

    def restart(self) -> None:
        with _of_the_adapter():
            self._adapter.restart()

    def close(self) -> None:
        self._adapter.close()
