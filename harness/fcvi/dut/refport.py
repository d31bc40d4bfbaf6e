"""The reference port, seen from Python: one block of memory and the calls on it."""

from __future__ import annotations

import functools
from typing import Any, Optional

from _fcvi import ffi, lib

from fcvi.engine.params import EDITIONS
from fcvi.fc.build import RawFrame

NEVER = 2**64 - 1
_LONGEST = 24 + 2112

LIMITS = {
    "vis": 64,
    "connectionpoints": 64,
    "exchanges": 512,
    "regions": 64,
    "descriptors": 64,
    "entries": 1024,
    "segments": 2048,
    "events": 512,
    "setups": 32,
    "memory": 2 << 20,
    "max_transfer_size": 1 << 20,
}
QUIET, EVENT = int(lib.CALLS_QUIET), int(lib.CALLS_EVENT)
_TOPOLOGIES = ("point-to-point", "private-loop", "public-loop", "fabric")
RELIABILITY = {
    "VIP_SERVICE_UNRELIABLE": 1,
    "VIP_SERVICE_RELIABLE_DELIVERY": 2,
    "VIP_SERVICE_RELIABLE_RECEPTION": 3,
}
_REV1_RECEIVE_SIZE = 16 + 332  # 6.7 and 6.8 of the draft
_UNCLEARED = ffi.new_allocator(should_clear_after_alloc=False)
STATUS_BITS = {
    "VIP_STATUS_DONE": 1 << 0,
    "VIP_STATUS_FORMAT_ERROR": 1 << 1,
    "VIP_STATUS_PROTECTION_ERROR": 1 << 2,
    "VIP_STATUS_LENGTH_ERROR": 1 << 3,
    "VIP_STATUS_PARTIAL_ERROR": 1 << 4,
    "VIP_STATUS_DESC_FLUSHED_ERROR": 1 << 5,
    "VIP_STATUS_TRANSPORT_ERROR": 1 << 6,
    "VIP_STATUS_RDMA_PROT_ERROR": 1 << 7,
    "VIP_STATUS_REMOTE_DESC_ERROR": 1 << 8,
    "VIP_STATUS_IMMEDIATE": 1 << 19,
}
_OPERATIONS = {
    1: "VIP_STATUS_OP_RECEIVE",
    2: "VIP_STATUS_OP_RDMA_WRITE",
    3: "VIP_STATUS_OP_REMOTE_RDMA_WRITE",
    4: "VIP_STATUS_OP_RDMA_READ",
}


@functools.lru_cache(1024)
def _status_names(status: int) -> tuple[str, ...]:
    names = [name for name, bit in STATUS_BITS.items() if status & bit]
    operation = _OPERATIONS.get(status >> 16 & 7)
    return (*names, operation) if operation else tuple(names)


def status_names(status: int) -> list[str]:
    """The status bits of a Descriptor by their VIPL names."""
    return list(_status_names(status))


class RefPort:
    """A port in a block of memory that this object owns. Times are microseconds."""

    _limits: Any = ffi.new("struct fcvi_port_limits *", LIMITS)
    _size = int(lib.fcvi_port_size(_limits))
    _spare: list[Any] = []  # memory of ports of this kind that ended

    def __init__(self, config: dict[str, Any], instead_of: Optional[RefPort] = None) -> None:
        """config: the members of the DUT protocol's ``reset``, already validated. The memory of a port that ends is
        used again: it is large, and the port clears it itself.
        """
        if instead_of is not None:
            self._block: Any = instead_of._block
        else:
            self._block = self._spare.pop() if self._spare else _UNCLEARED("uint64_t[]", self._size // 8 + 1)
        self.port: Any = lib.fcvi_port_init(self._block, self._size, self._limits, self._config(config))
        if self.port == ffi.NULL:
            raise ValueError("the configuration is out of range")
        self._room(instead_of)

    def _room(self, other: Optional[RefPort]) -> None:
        """Where the port's answers go; one that ends leaves it to the next."""
        self._due: Any = ffi.new("uint64_t *") if other is None else other._due
        self._out: Any = ffi.new("uint8_t[]", _LONGEST) if other is None else other._out
        self._meta: Any = ffi.new("struct fcvi_transmitted *") if other is None else other._meta
        #: The oldest struct fcvi_event, valid until the next one.
        self.event: Any = ffi.new("struct fcvi_event *") if other is None else other.event

    def close(self) -> None:
        """The port ends. Its memory serves the next one."""
        if self.port is not None:
            self.port = None
            self._spare.append(self._block)

    @staticmethod
    def _config(config: dict[str, Any]) -> Any:
        c = ffi.new("struct fcvi_port_config *")
        for target, source in ((c.self, config), (c.peer, config["peer"])):
            target.port_name = int(source["port_name"], 16)
            target.node_name = int(source["node_name"], 16)
            target.n_port_id = int(source["n_port_id"], 16)
            target.hosts = len(source["host"])
            for index, host in enumerate(source["host"]):
                target.host[index] = list(bytes.fromhex(host))
        c.topology = _TOPOLOGIES.index(config["topology"])
        c.out_of_order = config["fabric"] == "out-of-order"
        c.service_class = config["class"]
        c.explicit_login = config["login"] == "explicit"
        c.e_d_tov_us = config["e_d_tov_us"]
        c.r_a_tov_us = config["r_a_tov_us"]
        c.receive_size = config["receive_size"]
        c.name_server = config["topology"] in ("public-loop", "fabric")  # 7.4
        c.seed = config["seed"]
        c.revision = EDITIONS.index(config.get("revision", "2007"))
        if c.revision == lib.FCVI_EDITION_REV1 and c.receive_size < _REV1_RECEIVE_SIZE:
            raise ValueError(f"receive_size must be at least {_REV1_RECEIVE_SIZE} in Rev 1.0: a connection IU is one frame")
        return c

    def receive(self, now: int, data: bytes, sof: int, eof: int, crc_ok: bool) -> None:
        """A frame arrives."""
        lib.calls_receive(self.port, now, data, len(data), sof, eof, 1 if crc_ok else 2)

    def run(self, now: int) -> None:
        """Let every timer due by now expire."""
        lib.fcvi_port_run(self.port, now)

    def deadline(self) -> Optional[int]:
        """When the next timer fires."""
        due = int(lib.fcvi_port_deadline(self.port))
        return None if due == NEVER else due

    def next(self, now: int) -> int:
        """What comes out now: EVENT, then it is in ``event``; the length of a frame to ``take``; QUIET, then ``due`` is set."""
        return int(lib.calls_next(self.port, now, self.event, self._out, _LONGEST, self._meta, self._due))

    def another_event(self) -> bool:
        """Whether ``event`` is a further one: it happened before the frame that next told of goes out."""
        return bool(lib.fcvi_port_event(self.port, self.event))

    def take(self, length: int) -> RawFrame:
        """The frame that next told of."""
        return RawFrame(ffi.buffer(self._out, length)[:], self._meta.sof, self._meta.eof)

    @property
    def due(self) -> Optional[int]:
        """When the next timer fires, since the port was quiet."""
        due: int = self._due[0]
        return None if due == NEVER else due
