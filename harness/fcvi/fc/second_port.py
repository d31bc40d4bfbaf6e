"""The second arrangement: a second port in the tester's place, and the harness as the Fabric between it and the DUT.

Every frame crosses the tester's link, where a case loses, delays or reorders it; what the DUT sends is checked as
ever. Nobody answers but the second port.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional

from .build import RawFrame
from fcvi.engine.attachment import Dut
from fcvi.engine.upper_tester import Call, Completion, parse_completion

if TYPE_CHECKING:
    from .tester import Tester

_IDENTITY = ("port_name", "node_name", "n_port_id", "host")


def mirrored(config: Mapping[str, Any], hosts: Optional[list[str]] = None) -> dict[str, Any]:
    """The configuration of the port that the DUT knows as its peer; hosts are all its addresses."""
    own = {**config["peer"], **({"host": hosts} if hosts else {})}
    return {**config, **own, "peer": {name: config[name] for name in _IDENTITY}, "seed": int(config["seed"]) ^ 0x55}


class SecondPort:
    """A port (the reference port, attached as a device) in the tester's place, with an upper tester of its own."""

    def __init__(self, tester: "Tester", port: Dut, config: Mapping[str, Any], hosts: Optional[list[str]] = None) -> None:
        self._tester = tester
        self._port = port
        self._port.reset(mirrored(config, hosts))
        self.completions: list[Completion] = []
        self.errors: list[tuple[Optional[int], str]] = []
        self._under_way: list[Call] = []

    def receive(self, frame: RawFrame) -> None:
        """A frame of the DUT has crossed the link."""
        self._port.send_frame(frame)

    def run_until(self, now_us: int) -> bool:
        """Let the port live until now; true when it sent something."""
        self._port.advance(max(0, now_us - self._port.now_us))
        for call in self._under_way:
            call.check()
        self._under_way = [call for call in self._under_way if not call.done]
        sent = False
        while self._port.inbox:
            note = self._port.inbox.popleft()
            if note.frame is not None:
                sent = True
                self._tester.relay(note.frame)
            elif note.method == "completion":
                self.completions.append(parse_completion(note.params, note.earliest_us, note.time_us))
            elif note.method == "error":
                self.errors.append((note.params.get("vi"), str(note.params.get("code"))))
        return sent

    def close(self) -> None:
        """The case is over."""
        self._port.close()

    def next_us(self) -> Optional[int]:
        """When the port's next timer fires."""
        return None if self._port.next_us is None else self._port.now_us + self._port.next_us

    def start(self, method: str, **params: Any) -> Call:
        """A VIPL call on the port; the case has to let time pass before it can have an effect."""
        call = Call(method, params, self._port.request(method, params), self._port.now_us)
        self._under_way.append(call)
        return call


__all__ = ["SecondPort", "mirrored"]
