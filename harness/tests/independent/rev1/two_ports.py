"""Two endpoints of Rev 1.0 with a small wire between them, for the tests."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional

from ..editions import REV1
from ..rpc import Server
from ..test_independent import A_HOST, B_HOST, DISCRIMINATOR, R_A_TOV, Node

LOW, HIGH = A_HOST, B_HOST
LEVELS = {"ud": "VIP_SERVICE_UNRELIABLE", "rd": "VIP_SERVICE_RELIABLE_DELIVERY", "rr": "VIP_SERVICE_RELIABLE_RECEPTION"}
RQST, DISCONNECT, RESP1, RESP2, DISCONNECT_RESP = 0x10, 0x12, 0x18, 0x19, 0x1A
SEND, WRITE, READ, SEND_RESP, WRITE_RESP, READ_RESP = 0x00, 0x01, 0x02, 0x08, 0x09, 0x0A
ABTS, BA_ACC, ELS, ACK = -0x81, -0x84, -0x22, -0xC0
Drop = Callable[[int, int], bool]


def opcode(frame: Dict[str, Any]) -> int:
    """VI_OPCODE, or -R_CTL for what is no FC-VI frame."""
    raw = bytes.fromhex(frame["hex"])
    return raw[28] if raw[8] == 0x58 else -raw[0]


class Rev1Node(Node):
    """One endpoint in this process."""

    def __init__(self, me: int, settings: List[str], fault: Optional[str]) -> None:
        super().__init__(me, [], None)
        self.server = Server(REV1.choose(settings), REV1.faults(fault), self._line, edition=REV1, only=True)
        self.config["revision"] = "rev1"

    def opcodes(self) -> List[int]:
        """What it has sent so far."""
        return [opcode(frame) for frame in self.sent]

    def raw(self, code: int) -> List[bytes]:
        """The frames of one IU so far."""
        return [bytes.fromhex(frame["hex"]) for frame in self.sent if opcode(frame) == code]

    def completions(self, queue: str) -> List[Any]:
        """Statuses without Done and operation, in the order of completion."""
        shown = [event for event in self.events if event["what"] == "completion" and event["queue"] == queue]
        return [[name.removeprefix("VIP_STATUS_") for name in event["status"] if name.endswith("_ERROR")] for event in shown]


class Two:
    """Client and server, or two peers, on a wire that can lose frames."""

    def __init__(self, level: str = "rd", client: List[str] = [], server: List[str] = [], fault: Optional[str] = None,
                 size: int = 2112, config: Dict[str, Any] = {}, attributes: Dict[str, Any] = {}) -> None:
        self.client, self.server = Rev1Node(1, client, fault), Rev1Node(2, server, fault)
        self.drop: Drop = lambda code, nth: False
        self.change: Callable[[int, str], str] = lambda code, text: text
        self._seen: Dict[int, int] = {}
        self.waiting = -1
        wanted = {"ReliabilityLevel": LEVELS[level], "EnableRdmaWrite": True, "EnableRdmaRead": level != "ud", **attributes}
        for node in (self.client, self.server):
            node.config.update({"receive_size": size, **config})
            assert node.now("reset", **node.config) is not None
        self.reads = "rdma_read=no" not in client + server
        wanted["EnableRdmaRead"] = bool(wanted["EnableRdmaRead"]) and self.reads
        self.cvi = self.client.now("VipCreateVi", ViAttribs=wanted)["vi"]
        self.svi = self.server.now("VipCreateVi", ViAttribs=wanted)["vi"]

    def pump(self) -> None:
        """Carry frames until none is left."""
        while self.client.frames or self.server.frames:
            for here, there in ((self.client, self.server), (self.server, self.client)):
                frames, here.frames = here.frames, []
                for frame in frames:
                    code = opcode(frame)
                    self._seen[code] = self._seen.get(code, 0) + 1
                    if not self.drop(code, self._seen[code]):
                        there.give({**frame, "hex": self.change(code, frame["hex"])})

    def advance(self, us: int) -> None:
        """Both clocks, from timer to timer."""
        self.pump()
        while us >= 0:
            nodes = (self.client, self.server)
            due = [node.server.port.clock.next_us() for node in nodes if node.server.port]
            step = min([us] + [wait for wait in due if wait is not None])
            for node in nodes:
                node.now("clock.advance", us=step)
            self.pump()
            if step == us:
                return
            us -= step

    # Setup

    def addresses(self, node: Node) -> Dict[str, Any]:
        """LocalAddr and RemoteAddr of one side."""
        here, there = (A_HOST, B_HOST) if node is self.client else (B_HOST, A_HOST)
        return {"LocalAddr": {"host": node.config["host"][0] if node.config["host"] else here, "discriminator": DISCRIMINATOR},
                "RemoteAddr": {"host": node.config["peer"]["host"][0] or there, "discriminator": DISCRIMINATOR}}

    def listen(self, discriminator: str = DISCRIMINATOR, limit: Optional[int] = None) -> None:
        """VipConnectWait."""
        local = {"host": B_HOST, "discriminator": discriminator}
        self.waiting = self.server.call("VipConnectWait", LocalAddr=local, Timeout=limit)

    def request(self, limit: Optional[int] = None, **other: Any) -> int:
        """VipConnectRequest."""
        ident = self.client.call("VipConnectRequest", vi=self.cvi, Timeout=limit, **{**self.addresses(self.client), **other})
        self.pump()
        return ident

    @property
    def conn(self) -> Optional[int]:
        """What VipConnectWait has returned."""
        return (self.server.results.get(self.waiting) or {}).get("conn")

    def accept(self) -> int:
        """VipConnectAccept."""
        ident = self.server.call("VipConnectAccept", conn=self.conn, vi=self.svi)
        self.pump()
        return ident

    def connect(self) -> None:
        """A whole Client-Server setup."""
        self.listen()
        asked = self.request()
        answered = self.accept()
        self.advance(100_000)
        assert self.client.results[asked]["return"] == "VIP_SUCCESS", self.client.results[asked]
        assert self.server.results[answered]["return"] == "VIP_SUCCESS"
        assert self.states() == ("connected", "connected")

    def ask_peer(self, node: Node, limit: Optional[int] = None) -> None:
        """VipConnectPeerRequest, the frames not yet carried."""
        vi = self.cvi if node is self.client else self.svi
        assert node.now("VipConnectPeerRequest", vi=vi, Timeout=limit, **self.addresses(node))["return"] == "VIP_SUCCESS"

    def states(self) -> Any:
        """Of the client's VI and the server's."""
        return self.client.state(self.cvi), self.server.state(self.svi)

    # Data

    def memory(self, node: Node, data: bytes, **rights: bool) -> Any:
        """VipRegisterMem with these bytes."""
        rights["rdma_read"] = rights.get("rdma_read", False) and self.reads
        found = node.now("VipRegisterMem", length=max(1, len(data)), fill="00", **rights)
        for at in range(0, len(data), 30000):
            node.now("mem.write", mem=found["mem"], offset=at, hex=data[at:at + 30000].hex())
        return found

    def bytes_of(self, node: Node, mem: int, length: int) -> bytes:
        """mem.read of all of it."""
        return b"".join(bytes.fromhex(node.now("mem.read", mem=mem, offset=at, length=min(30000, length - at))["hex"])
                        for at in range(0, length, 30000))

    def post(self, node: Node, op: str, data: bytes, remote: Any = None, immediate: Optional[int] = None) -> int:
        """VipPostSend from memory of its own; the mem."""
        mem: int = self.memory(node, data)["mem"]
        descriptor = {"op": op, "segments": [{"mem": mem, "offset": 0, "length": len(data)}], "immediate": immediate,
                      "remote": remote and {"va": remote["va"], "handle": remote["handle"]}}
        node.now("VipPostSend", vi=self.cvi if node is self.client else self.svi, descriptor=descriptor)
        self.pump()
        return mem

    def receive_buffer(self, node: Node, length: int) -> int:
        """VipPostRecv of a buffer; its mem."""
        mem: int = node.now("VipRegisterMem", length=length, fill="ee")["mem"]
        node.now("VipPostRecv", vi=self.cvi if node is self.client else self.svi,
                 descriptor={"op": "recv", "segments": [{"mem": mem, "offset": 0, "length": length}]})
        return mem

    def disconnect(self, node: Node) -> Any:
        """VipDisconnect; its result once the frames are carried."""
        ident = node.call("VipDisconnect", vi=self.cvi if node is self.client else self.svi)
        self.advance(100_000)
        return node.results.get(ident)


__all__ = ["A_HOST", "B_HOST", "DISCRIMINATOR", "R_A_TOV", "Rev1Node", "Two"]
