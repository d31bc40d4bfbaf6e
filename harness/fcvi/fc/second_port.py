"""The second arrangement: a second port in the tester's place, and the harness as the Fabric between it and the DUT.

Every frame crosses the tester's link, where a case loses, delays or reorders it; what the DUT sends is checked as
ever. Nobody answers but the second port.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional

from . import notation
from .build import HEADER, RawFrame
from fcvi.engine.attachment import Dut, DutError, Notification
from fcvi.engine.upper_tester import Call, Completion, parse_completion

if TYPE_CHECKING:
    from .tester import Tester

_TICKS_PER_R_A_TOV = 20  # looks at a port that does not tell when its next timer fires
_IDENTITY = ("port_name", "node_name", "n_port_id", "host")


def mirrored(config: Mapping[str, Any], hosts: Optional[list[str]] = None) -> dict[str, Any]:
    """The configuration of the port that the DUT knows as its peer; hosts are all its addresses."""
    own = {**config["peer"], **({"host": hosts} if hosts else {})}
    return {**config, **own, "peer": {name: config[name] for name in _IDENTITY}, "seed": int(config["seed"]) ^ 0x55}


class SecondPort:
    """A port (the reference port, or the device of --against) in the tester's place, with an upper tester of its own."""

    def __init__(
        self, tester: "Tester", port: Dut, config: Mapping[str, Any], hosts: Optional[list[str]] = None, lent: bool = False
    ) -> None:
        """lent: the port outlives the case."""
        self._tester = tester
        self._port = port
        self.lent = lent
        self._asked(self._port.reset, mirrored(config, hosts))
        self.completions: list[Completion] = []
        self.errors: list[tuple[Optional[int], str]] = []
        self._under_way: list[Call] = []

    def receive(self, frame: RawFrame) -> None:
        """A frame of the DUT has crossed the link."""
        self._asked(self._port.send_frame, frame)

    def run_until(self, now_us: int) -> bool:
        """Let the port live until now; true when it sent something."""
        self._asked(self._port.advance, 0 if self._port.clock == "real" else max(0, now_us - self._port.now_us))
        for call in self._under_way:
            call.check()
        self._under_way = [call for call in self._under_way if not call.done]
        sent = False
        while self._port.inbox:
            note = self._port.inbox.popleft()
            if note.method == "frame":
                sent = True
                self._tester.relay(note.frame or _frame(note))
            elif note.method == "completion":
                self.completions.append(parse_completion(note.params, note.earliest_us, note.time_us))
            elif note.method == "error":
                self.errors.append((note.params.get("vi"), str(note.params.get("code"))))
        return sent

    def close(self) -> None:
        """The case is over."""
        if not self.lent:
            self._port.close()

    def _asked(self, operation: Callable[..., Any], *given: Any) -> Any:
        """Do it. Raises DutError that says which device failed: a dead neighbour is not the judged one's death."""
        try:
            return operation(*given)
        except DutError as error:
            if not self.lent:
                raise
            raise type(error)(f"the far device: {str(error).removeprefix('the DUT ')}") from error

    def next_us(self) -> Optional[int]:
        """When the port's next timer fires, or when to look at it again."""
        if not self._port.knows_next:
            return self._port.now_us + self._tester.r_a_tov_us // _TICKS_PER_R_A_TOV
        return None if self._port.next_us is None else self._port.now_us + self._port.next_us

    def start(self, method: str, **params: Any) -> Call:
        """A VIPL call on the port; the case has to let time pass before it can have an effect."""
        whose = "the far device" if self.lent else "the far side"
        call = Call(method, params, self._asked(self._port.request, method, params), self._port.now_us, whose=whose)
        self._under_way.append(call)
        return call


def _frame(note: Notification) -> RawFrame:
    """A frame as a device told it. Raises DutError."""
    try:
        frame = notation.from_params(note.params)
    except ValueError as error:
        raise DutError(f"a frame notification of the far device broke the DUT protocol: {error}") from error
    if len(frame.data) < HEADER:
        raise DutError(f"the far device sent a frame of {len(frame.data)} bytes, which is shorter than a header")
    return frame


__all__ = ["SecondPort", "mirrored"]
