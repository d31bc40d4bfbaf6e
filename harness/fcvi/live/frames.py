"""The frame plane of ``--dut fcoe:``."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from fcvi.engine.attachment import DutError, HostError
from fcvi.dut.planes import Frames
from fcvi.engine.pixit import Pixit
from .link import Link
from .params import from_params, to_params

_MOST_FRAMES = 20_000  # of one case; more is a flood
_LONGEST_FRAME = 24 + 2112


class FcoeFrames(Frames):
    """A live link as the engine's frame plane."""

    def __init__(self, link: Link) -> None:
        self._link, self._class, self._taken = link, 3, 0
        self.description = "a device on a live interface"
        settle = link.options.settle_ms
        self.settle_us = None if settle is None else int(settle * 1000)

    def fileno(self) -> int:
        return self._link.fileno()

    def settled(self, pixit: Pixit, told: bool) -> Pixit:
        return self._link.settled(pixit, told)

    def prepare(self, config: dict[str, Any]) -> None:
        self._class, self._taken = int(config["class"]), 0
        self._link.configure(config["peer"], config, config)
        self._link.bring_up()
        self._link.discard()
        self._link.role.strangers.forget()

    def strangers(self) -> list[dict[str, Any]]:
        return self._link.role.strangers.told()

    def joined(self, port: Mapping[str, Any]) -> bool:
        return self._link.joined(int(port["n_port_id"], 16), int(port["port_name"], 16), int(port["node_name"], 16))

    def link_event(self, event: str) -> None:
        self._link.role.link_event(event)

    def send(self, params: dict[str, Any]) -> None:
        self._link.send(from_params(params, self._class))

    def receive(self) -> list[tuple[int, dict[str, Any]]]:
        arrived = self._link.receive()
        self._taken += len(arrived)
        if self._taken > _MOST_FRAMES:
            raise DutError(f"the device floods: over {_MOST_FRAMES} frames in one case")
        lost = self._link.lost() if arrived else 0
        if lost:
            raise HostError(f"the host lost {lost} frames: the device sends faster than they can be taken in")
        return [(at_us, to_params(frame)) for at_us, frame in arrived if len(frame.data) <= _LONGEST_FRAME]

    def deadline_us(self) -> Optional[int]:
        return self._link.deadline_us()

    def run(self) -> None:
        self._link.check()  # an interface that goes down is silent like a device that says nothing
        self._link.run()

    def restart(self) -> None:
        self._link.discard()

    def close(self) -> None:
        self._link.close()
