"""Two reference ports on the simulated Fabric, and captures of what each port's link carries.

The capture point is the link of one port: it shows what that port sends when it sends it, and what reaches that port. A frame
that the port sent and the Fabric lost is lost after the capture point; one that never reached the port is lost before it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Optional

from _fcvi import ffi, lib

from fcvi.capture.reader import write

ANY = 0xFFFFFFFF
ANY_BYTE = 0x100
NEVER = 2**64 - 1
IDS = (0x010100, 0x010200)
R_A_TOV, E_D_TOV = 10_000_000, 2_000_000
_SPARE: list[Any] = []
REGION = 1 << 16
_ROOM = 2304


class World:
    """Port 0 is the client, port 1 the server."""

    def __init__(
        self, seed: int, *, latency_us: int = 50, jitter_us: int = 0, out_of_order: tuple[bool, bool] = (False, False),
        fabric_out_of_order: bool = False, explicit: bool = False, service_class: int = 3, r_a_tov_us: int = R_A_TOV,
        topology: int = 3, revisions: tuple[int, int] = (0, 0),
    ) -> None:  # fmt: skip
        self._keep: list[Any] = []
        self.seen: list[list[tuple[int, bytes, int, int, int]]] = [[], []]
        self.events: list[tuple[int, Any]] = []
        self.now = 0
        self.accepted = False
        self.accepted_us = 0
        self.tamper: Callable[[bytes], bytes] = lambda data: data  # what a faulty port sends instead
        self.fabric = self._fabric(seed, latency_us, jitter_us, fabric_out_of_order, r_a_tov_us, topology)
        self.ports = [
            self._port(i, seed, out_of_order[i], explicit, service_class, r_a_tov_us, topology, revisions[i]) for i in (0, 1)
        ]
        for i in (0, 1):
            assert lib.fcvi_fabric_attach(self.fabric, self._identity(i), 1) == i
        self._array = ffi.new("struct fcvi_port *[2]", self.ports)
        self._observer = ffi.new("struct fcvi_fabric_observer *")
        sent = ffi.callback("void(void *, uint64_t, uint32_t, const struct fcvi_input *)", self._sent)
        got = ffi.callback("void(void *, uint64_t, uint32_t, uint32_t, const struct fcvi_input *)", self._delivered)
        event = ffi.callback("void(void *, uint64_t, uint32_t, const struct fcvi_event *)", self._event)
        self._keep += [sent, got, event]
        self._observer.sent, self._observer.delivered, self._observer.event = sent, got, event
        self.vi = [0, 0]
        self.mem = [0, 0]
        self.handle = [0, 0]
        self.va = [0, 0]

    def _memory(self, size: int) -> Any:
        memory = ffi.new("uint64_t[]", size // 8 + 1)
        self._keep.append(memory)
        return memory

    def _identity(self, i: int) -> Any:
        identity = ffi.new("struct fcvi_port_identity *")
        self._keep.append(identity)  # identity[0] alone would not keep it
        identity[0].port_name, identity[0].node_name = 0x10000000C9000001 + i, 0x20000000C9000001 + i
        identity[0].n_port_id, identity[0].hosts = IDS[i], 1
        identity[0].host[0][0], identity[0].host[0][15] = 0xFD, 1 + i
        return identity

    def _fabric(self, seed: int, latency: int, jitter: int, out_of_order: bool, r_a_tov: int, topology: int) -> Any:
        limits = ffi.new("struct fcvi_fabric_limits *", {"ports": 2, "frames": 512, "rules": 16, "names": 4})
        c = ffi.new("struct fcvi_fabric_config *")
        c.topology, c.out_of_order, c.seed, c.latency_us, c.jitter_us = topology, out_of_order, seed, latency, jitter
        c.r_a_tov_us, c.e_d_tov_us, c.port_name, c.node_name = r_a_tov, E_D_TOV, 0x2000000000000001, 0x1000000000000001
        size = lib.fcvi_fabric_size(limits)
        fabric = lib.fcvi_fabric_init(self._memory(size), size, limits, c)
        assert fabric != ffi.NULL
        return fabric

    def _port(
        self, i: int, seed: int, out_of_order: bool, explicit: bool, cls: int, r_a_tov: int, topology: int, revision: int
    ) -> Any:  # fmt: skip
        limits = ffi.new("struct fcvi_port_limits *", {
            "vis": 8, "connectionpoints": 4, "exchanges": 64, "regions": 4, "descriptors": 32, "events": 512,
            "memory": 1 << 17, "max_transfer_size": REGION})  # fmt: skip
        c = ffi.new("struct fcvi_port_config *")
        c.self, c.peer = self._identity(i)[0], self._identity(1 - i)[0]
        c.revision = revision
        c.topology, c.out_of_order, c.service_class, c.explicit_login = topology, out_of_order, cls, explicit
        c.e_d_tov_us, c.r_a_tov_us, c.receive_size, c.seed = E_D_TOV, r_a_tov, 2112, seed * 2 + i + 1
        size = lib.fcvi_port_size(limits)
        port = lib.fcvi_port_init(self._memory(size), size, limits, c)
        assert port != ffi.NULL
        return port

    # ---- what is seen ----

    def _record(self, where: int, now: int, frame: Any) -> None:
        data = self.tamper(bytes(ffi.buffer(frame.bytes, frame.length)))
        self.seen[where].append((now, data, frame.sof, frame.eof, frame.crc))

    def _sent(self, _: Any, now: int, port: int, frame: Any) -> None:
        self._record(port, now, frame)

    def _delivered(self, _: Any, now: int, _from: int, to: int, frame: Any) -> None:
        data = self.tamper(bytes(ffi.buffer(frame.bytes, frame.length)))
        ffi.memmove(ffi.cast("uint8_t *", frame.bytes), data, len(data))
        if to < 2:
            self._record(to, now, frame)

    def _event(self, _: Any, _now: int, port: int, event: Any) -> None:
        copy = ffi.new("struct fcvi_event *", event[0])
        self.events.append((port, copy))

    # ---- doing ----

    def run(self, us: int) -> None:
        """Let time pass."""
        until = self.now + us
        lib.fcvi_fabric_run(self.fabric, self._array, 2, until, self._observer)
        empty, room = ffi.new("struct fcvi_input *"), ffi.new("uint8_t[]", _ROOM)
        assert not lib.fcvi_fabric_deliver(self.fabric, until, ffi.new("uint32_t *"), room, _ROOM, empty)
        self.now = until

    def rule(self, action: int, *, sender: int = ANY, to: int = ANY, opcode: int = ANY_BYTE, r_ctl: int = ANY_BYTE, skip: int = 0,
             count: int = 1, delay_us: int = 0, seq_cnt: int = ANY, every: int = 0, reason: int = 0) -> int:  # fmt: skip
        """Add a rule of the Fabric (enum fcvi_fabric_action)."""
        rule = ffi.new("struct fcvi_fabric_rule *", lib.fcvi_fabric_rule_any(action))
        setattr(rule, "from", sender)
        rule.to, rule.opcode, rule.r_ctl, rule.skip, rule.count = to, opcode, r_ctl, skip, count
        rule.delay_us, rule.seq_cnt, rule.every, rule.reason = delay_us, seq_cnt, every, reason
        number = int(lib.fcvi_fabric_rule_add(self.fabric, rule))
        assert number != ANY
        return number

    @staticmethod
    def address(i: int, word: bytes = b"mirror") -> Any:
        """Of a port, with a Discriminator that is text."""
        a = ffi.new("struct fcvi_address *")
        a.host[0], a.host[15] = 0xFD, 1 + i
        text = word.ljust(16, b"\0")
        a.discriminator_length = len(text)
        for k, byte in enumerate(text):
            a.discriminator[k] = byte
        return a

    def create(self, i: int, level: int = 2, write: bool = True, read: bool = True) -> int:
        """A VI of a port."""
        a = ffi.new("struct fcvi_attributes *", {"reliability": level, "rdma_write": write, "rdma_read": read and level != 1,
                                                 "max_transfer_size": REGION, "pipeline_depth": 4})  # fmt: skip
        vi = ffi.new("uint32_t *")
        assert lib.fcvi_vip_create_vi(self.ports[i], self.now, a, vi) == 0
        self.vi[i] = int(vi[0])
        return self.vi[i]

    def register(self, i: int, write: bool = True, read: bool = True) -> None:
        """Memory of a port."""
        mem, va, handle = ffi.new("uint32_t *"), ffi.new("uint64_t *"), ffi.new("uint32_t *")
        assert lib.fcvi_vip_register_mem(self.ports[i], self.now, REGION, write, read, mem, va, handle) == 0
        self.mem[i], self.va[i], self.handle[i] = int(mem[0]), int(va[0]), int(handle[0])

    def wait(self, i: int = 1, word: bytes = b"mirror") -> None:
        """VipConnectWait."""
        lib.fcvi_vip_connect_wait(self.ports[i], self.now, self.address(i, word), NEVER, 100 + i)

    def request(self, i: int = 0, word: bytes = b"mirror", remote: bytes = b"mirror", timeout_us: int = NEVER) -> None:
        """VipConnectRequest."""
        lib.fcvi_vip_connect_request(
            self.ports[i], self.now, self.vi[i], self.address(i, word), self.address(1 - i, remote), timeout_us, 200 + i
        )

    def peer(self, i: int, word: bytes, remote: bytes, timeout_us: int) -> None:
        """VipConnectPeerRequest."""
        lib.fcvi_vip_connect_peer_request(
            self.ports[i], self.now, self.vi[i], self.address(i, word), self.address(1 - i, remote), timeout_us
        )

    def offered(self) -> Optional[int]:
        """The request that the server was handed."""
        for port, event in self.events:
            if port == 1 and event.kind == 0 and event.token == 101 and event.vip == 0:
                return int(event.conn)
        return None

    def accept(self) -> None:
        """VipConnectAccept of what was offered."""
        conn = self.offered()
        if conn is not None:
            self.accepted = True
            self.accepted_us = self.now
            lib.fcvi_vip_connect_accept(self.ports[1], self.now, conn, self.vi[1], 300)

    def reject(self) -> None:
        """VipConnectReject of what was offered."""
        conn = self.offered()
        if conn is not None:
            lib.fcvi_vip_connect_reject(self.ports[1], self.now, conn)

    def connect(self, level: int = 2, settle_us: int = 20_000, then: Callable[[], None] = lambda: None) -> None:
        """A Connection of client and server."""
        for i in (0, 1):
            self.create(i, level)
            self.register(i)
        self.wait()
        self.request()
        self.run(settle_us)
        then()
        self.accept()
        self.run(settle_us)

    def post(
        self, i: int, op: int, length: int = 1000, remote_handle: Optional[int] = None, remote_va: Optional[int] = None
    ) -> None:
        """A Descriptor: 0 Send, 1 RDMA Write, 2 RDMA Read, 3 receive."""
        d = ffi.new("struct fcvi_descriptor *")
        d.op, d.segments = op, 1
        d.segment[0].mem, d.segment[0].offset, d.segment[0].length = self.mem[i], 0, length
        d.remote_va = self.va[1 - i] if remote_va is None else remote_va
        d.remote_handle = self.handle[1 - i] if remote_handle is None else remote_handle
        lib.fcvi_vip_post(self.ports[i], self.now, self.vi[i], d)

    def send(self, i: int, length: int = 1000, receive: bool = True) -> None:
        """A Send, with a Descriptor for it at the other side."""
        if receive:
            self.post(1 - i, 3, REGION)
        self.post(i, 0, length)

    def disconnect(self, i: int = 0) -> None:
        """VipDisconnect."""
        lib.fcvi_vip_disconnect(self.ports[i], self.now, self.vi[i], 400 + i)

    def capture(self, where: int, path: Path) -> None:
        """What the link of a port carried. A frame with a bad CRC is written as linktype 225 shows it."""
        from .file import write_delimited

        write_delimited(path, self.seen[where])

    @staticmethod
    def plain(path: Path, frames: list[tuple[int, bytes, int, int, int]]) -> None:
        """Without delimiters and CRC."""
        write(path, 224, [(t, data, sof, eof) for t, data, sof, eof, _ in frames])
