"""Says what part a live attachment plays on its Ethernet link: addresses, and the protocol that brings the link up.

A role does no I/O: it is given frames and the time, and leaves what it has to send in ``out``.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Union

from fcvi.fc.build import RawFrame
from fcvi.engine.pixit import Pixit
from .options import LiveOptions
from .strangers import Strangers, address as in_words
from .wire import Arrived


@dataclass(frozen=True)
class Addressed:
    """An FC-2 frame as FCoE, between two Ethernet addresses."""

    to: bytes
    source: bytes
    frame: RawFrame


#: What goes out: an FC-2 frame, or a whole Ethernet frame (FIP).
Outgoing = Union[Addressed, bytes]


class Role(abc.ABC):
    """One end of an Ethernet link."""

    def __init__(self, options: LiveOptions, address: bytes) -> None:
        """address: the interface's own."""
        self.options, self.address = options, address
        self.vlan = options.vlan  # in which all is sent but VLAN discovery, and from which all is taken; 0: no tag
        self.out: list[Outgoing] = []
        self.back: list[RawFrame] = []  # for our own port, without the link: answers of a Fabric that is at this end
        self.strangers = Strangers()
        self.between = False  # whether no case runs that would answer requests to the Fabric

    def mapped(self, n_port_id: int) -> bytes:
        """The Ethernet address that FC-MAP and an N_Port_ID make (FPMA, FC-BB)."""
        return (self.options.fc_map << 24 | n_port_id).to_bytes(6, "big")

    def seek(self, pixit: Pixit, told: bool) -> bool:
        """Begin to find the addresses that the lab left open, see Frames.settled; false when there are none to find."""
        return False

    def found(self, pixit: Pixit) -> Pixit:
        """The PIXIT with what was found, once the link is up."""
        return pixit

    @abc.abstractmethod
    def configure(self, me: Mapping[str, Any], peer: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        """Take on names and addresses, as ``reset`` has them. Raises Unavailable when this role cannot."""

    def joined(self, n_port_id: int, port_name: int, node_name: int) -> bool:
        """See Frames.joined."""
        return True

    def link_event(self, event: str) -> None:
        """See Frames.link_event."""

    @abc.abstractmethod
    def send(self, frame: RawFrame, now_us: int) -> None:
        """Put a frame of ours into ``out``."""

    @abc.abstractmethod
    def receive(self, arrived: Arrived, now_us: int) -> Optional[RawFrame]:
        """A frame from the link: the FC-2 frame for us that it holds, None when it holds none."""

    def stranger(self, arrived: Arrived, **more: Any) -> None:
        """The frame is not the device's."""
        self.strangers.spoke(in_words(arrived.source), **more)

    def elsewhere(self, arrived: Arrived) -> None:
        """A frame came in another VLAN than ours. Raises DutError when it shows that the operator named the wrong one."""

    def waits_for(self) -> str:
        """What the link still needs before frames can cross it; "" when it is up."""
        return ""

    def run(self, now_us: int) -> None:
        """Do what is due."""

    def deadline_us(self) -> Optional[int]:
        """When something is due."""
        return None
