"""Two independent endpoints back to back, and bytes written out from the tables."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import pytest

from .choices import CHOICES
from .chosen import Choices
from .faults import ATTACHMENT, BEHAVIOUR, FRAME_FAULTS, IU_FAULTS, Faults, listing
from .rpc import Server

HERE = Path(__file__).resolve().parent
A_HOST, B_HOST = "fe8000000000000000000000000000a1", "fe8000000000000000000000000000b2"
DISCRIMINATOR = "00112233445566778899aabbccddeeff"
R_A_TOV = 10_000_000
RQST, DISCONNECT, RESP1, RESP2, RESP3, DISCONNECT_RESP = 0x10, 0x12, 0x18, 0x19, 0x1A, 0x1B
HELLO = {"id": 1, "method": "hello", "params": {"protocol": 1}}
Drop = Callable[[int, int], bool]


def opcode(frame: Dict[str, Any]) -> int:
    """FCVI_OPCODE, or -R_CTL for what is no FC-VI frame."""
    raw = bytes.fromhex(frame["hex"])
    return raw[28] if raw[8] == 0x58 else -raw[0]


class Node:
    """One endpoint in this process."""

    def __init__(self, me: int, settings: List[str], fault: Optional[str]) -> None:
        self.server = Server(Choices(CHOICES, settings), Faults(fault), self._line)
        self.frames: List[Dict[str, Any]] = []
        self.sent: List[Dict[str, Any]] = []
        self.events: List[Dict[str, Any]] = []
        self.results: Dict[int, Any] = {}
        self.history: List[Tuple[int, str]] = []
        names = {1: ("10000000c9000001", "010100", A_HOST), 2: ("10000000c9000002", "010200", B_HOST)}
        ports = {key: {"port_name": name, "node_name": "2" + name[1:], "n_port_id": port, "host": [host]}
                 for key, (name, port, host) in names.items()}
        self.config: Dict[str, Any] = {**ports[me], "peer": ports[3 - me], "class": 3, "login": "implicit",
                                       "topology": "point-to-point", "fabric": "in-order", "r_a_tov_us": R_A_TOV,
                                       "receive_size": 2112, "seed": me}
        self._ident = 0

    def _line(self, text: str) -> None:
        message = json.loads(text)
        self.history.append((self.server.port.clock.now if self.server.port else 0, text))
        if "id" in message:
            self.results[message["id"]] = message.get("result", message.get("error"))
        elif message["method"] == "frame":
            self.frames.append(message["params"])
            self.sent.append(message["params"])
        else:
            self.events.append({"what": message["method"], **message["params"]})

    def call(self, method: str, **params: Any) -> int:
        """Start a call; its number."""
        self._ident += 1
        request = {"jsonrpc": "2.0", "id": self._ident, "method": method, "params": params}
        self.server.line(json.dumps(request).encode())
        return self._ident

    def now(self, method: str, **params: Any) -> Any:
        """A call that returns at once."""
        return self.results[self.call(method, **params)]

    def give(self, frame: Dict[str, Any]) -> None:
        """A frame from the wire."""
        self.server.line(json.dumps({"jsonrpc": "2.0", "method": "frame", "params": frame}).encode())

    def opcodes(self) -> List[int]:
        """What it has sent so far."""
        return [opcode(frame) for frame in self.sent]

    def state(self, vi: int) -> str:
        """The state of a VI by its VIPL name, without the prefix."""
        found: str = self.now("VipQueryVi", vi=vi)["State"]
        return found.removeprefix("VIP_STATE_").lower()

    def codes(self) -> List[str]:
        """The VipErrorCallbacks so far."""
        return [event["code"] for event in self.events if event["what"] == "error"]


class Pair:
    """Client and server with a wire between them that can lose frames."""

    def __init__(self, client: List[str] = [], server: List[str] = [], fault: Optional[str] = None,
                 size: int = 2112) -> None:
        self.client, self.server = Node(1, client, fault), Node(2, server, fault)
        self.drop: Drop = lambda code, nth: False
        self._seen: Dict[int, int] = {}
        self.waiting, self.conn = -1, -1
        for node in (self.client, self.server):
            node.config["receive_size"] = size
            assert node.now("reset", **node.config) is not None
        self.cvi = self.client.now("VipCreateVi", ViAttribs={})["vi"]
        self.svi = self.server.now("VipCreateVi", ViAttribs={})["vi"]

    def pump(self) -> None:
        """Carry frames until none is left."""
        while self.client.frames or self.server.frames:
            for here, there in ((self.client, self.server), (self.server, self.client)):
                frames, here.frames = here.frames, []
                for frame in frames:
                    code = opcode(frame)
                    self._seen[code] = self._seen.get(code, 0) + 1
                    if not self.drop(code, self._seen[code]):
                        there.give(frame)

    def advance(self, us: int) -> None:
        """Both clocks, from timer to timer."""
        self.pump()
        while us >= 0:
            nodes = (self.client, self.server)
            due = [node.now("clock.next")["us"] for node in nodes]
            step = min([us] + [wait for wait in due if wait is not None])
            for node in nodes:
                node.now("clock.advance", us=step)
            self.pump()
            if step == us:
                return
            us -= step

    def listen(self, discriminator: str = DISCRIMINATOR) -> None:
        """VipConnectWait."""
        local = {"host": B_HOST, "discriminator": discriminator}
        self.waiting = self.server.call("VipConnectWait", LocalAddr=local, Timeout=None)

    def request(self, limit: Optional[int] = None) -> int:
        """VipConnectRequest."""
        ident = self.client.call("VipConnectRequest", vi=self.cvi, Timeout=limit,
                                 LocalAddr={"host": A_HOST, "discriminator": DISCRIMINATOR},
                                 RemoteAddr={"host": B_HOST, "discriminator": DISCRIMINATOR})
        self.pump()
        return ident

    def accept(self) -> int:
        """VipConnectAccept of what VipConnectWait returned."""
        conn = self.server.results[self.waiting]["conn"]
        ident = self.server.call("VipConnectAccept", conn=conn, vi=self.svi)
        self.pump()
        return ident

    def connect(self) -> None:
        """A whole setup."""
        self.listen()
        asked = self.request()
        answered = self.accept()
        self.advance(100_000)
        assert self.client.results[asked]["return"] == "VIP_SUCCESS"
        assert self.server.results[answered]["return"] == "VIP_SUCCESS"
        assert self.states() == ("connected", "connected")

    def states(self) -> Any:
        """Of the client's VI and the server's."""
        return self.client.state(self.cvi), self.server.state(self.svi)

    def send(self, sender: Node, vi: int, data: bytes, immediate: Optional[int] = None) -> Any:
        """VipPostSend of some bytes; the completion."""
        mem = sender.now("VipRegisterMem", length=max(1, len(data)), fill="00")["mem"]
        for at in range(0, len(data), 30000):
            sender.now("mem.write", mem=mem, offset=at, hex=data[at:at + 30000].hex())
        segments = [{"mem": mem, "offset": 0, "length": len(data)}]
        descriptor = {"op": "send", "segments": segments, "immediate": immediate}
        sender.now("VipPostSend", vi=vi, descriptor=descriptor)
        self.pump()
        return sender.now("VipSendDone", vi=vi)

    def receive_buffer(self, node: Node, vi: int, length: int) -> int:
        """VipPostRecv of a buffer; its mem."""
        mem: int = node.now("VipRegisterMem", length=length, fill="ee")["mem"]
        node.now("VipPostRecv", vi=vi,
                 descriptor={"op": "recv", "segments": [{"mem": mem, "offset": 0, "length": length}]})
        return mem


# Bytes by hand: FC-FS header, Table 4, Tables 13 and 14, 15, 16 to 18.
ADDRESS_A = "0000 10 10" + A_HOST + DISCRIMINATOR + "00" * 112
ADDRESS_B = "0000 10 10" + B_HOST + DISCRIMINATOR + "00" * 112
ATTRS = "0000 01 00" "00010000" "00 000000" "00000000" "00000000" "00000000" "00000000" "00000000"
CONNECT_RQST_FRAME = (
    "02 010200" "00 010100" "58 290008" "00 02 0000" "0100 ffff" "00000000"
    "ffffffff" "10 01 0000" "00000000" "00000000" "0000000000000000" "00000000" "00000001"
    "00000000" "0000 0001" "00001000" + ADDRESS_A + ADDRESS_B + ATTRS)
RESP1_FRAME = (
    "03 010100" "00 010200" "58 890008" "00 02 0000" "0100 8000" "00000000"
    "ffffffff" "18 00 0000" "00000000" "00000000" "0000000000000000" "00000000" "00000001"
    "00000000" "0000 0001" "00001000" + ADDRESS_B + ADDRESS_A + ATTRS)
RESP2_FRAME = ("03 010200" "00 010100" "58 090000" "01 02 0001" "0100 8000" "00000000"
               "00001000" "19 00 0000" "00000000" "00000000" "0000000000000000" "00000000" "00000001")
RESP3_FRAME = ("03 010100" "00 010200" "58 980000" "01 02 0001" "0100 8000" "00000000"
               "00001000" "1a 00 0000" "00000000" "00000000" "0000000000000000" "00000000" "00000001")


def compact(text: str) -> str:
    """Without the blanks."""
    return text.replace(" ", "")


def test_setup_bytes() -> None:
    pair = Pair()
    pair.connect()
    client, server = ([frame["hex"] for frame in node.sent] for node in (pair.client, pair.server))
    assert client == [compact(CONNECT_RQST_FRAME), compact(RESP2_FRAME)]
    assert server == [compact(RESP1_FRAME), compact(RESP3_FRAME)]
    delimiters = [(f["sof"], f["eof"], f["crc"]) for f in pair.client.sent + pair.server.sent]
    assert delimiters == [("i3", "t", "ok")] * 4
    assert len(client[0]) == 2 * (24 + 32 + 340)


@pytest.mark.parametrize("lost, server_sees", [(RQST, 1), (RESP1, 2), (RESP2, 0)])
def test_lost_setup_iu(lost: int, server_sees: int) -> None:
    pair = Pair()
    pair.drop = lambda code, nth: code == lost and nth == 1
    pair.listen()
    asked = pair.request()
    answered = pair.accept() if lost != RQST else -1
    pair.advance(R_A_TOV)
    if lost == RESP2:
        assert pair.client.results[asked]["return"] == "VIP_SUCCESS"
        assert pair.client.codes() == ["VIP_ERROR_CONN_LOST"] and pair.client.state(pair.cvi) == "error"
        pair.advance(R_A_TOV)
        assert pair.server.results[answered]["return"] == "VIP_TIMEOUT"
        assert pair.server.codes() == ["VIP_ERROR_CONN_LOST"] and pair.server.state(pair.svi) == "error"
        assert -0x81 in pair.client.opcodes() and -0x84 in pair.server.opcodes()
        return
    answered = pair.accept() if lost == RQST else answered
    assert pair.states() == ("connected", "connected")
    assert pair.client.opcodes() == [RQST, -0x81, RQST, RESP2]
    assert pair.server.opcodes() == [RESP1] * (server_sees - 1) + [-0x84, RESP1, RESP3]
    first, second = (bytes.fromhex(f["hex"]) for f in pair.client.sent if opcode(f) == RQST)
    assert (first[29], second[29]) == (0x01, 0x11)
    assert first[16:18] != second[16:18] and first[52:56] != second[52:56] and first[64:68] == second[64:68]
    assert all(bytes.fromhex(f["hex"])[29] == 4 for f in pair.server.sent[-2:] + pair.client.sent[-1:])
    assert [e["state"] for e in pair.client.events if e["what"] == "state"] == [
        "pending-connect", "pending-connect-retry", "connected"]


def test_retry_fails_and_disconnect_aborts() -> None:
    pair = Pair()
    pair.drop = lambda code, nth: code == RQST
    asked = pair.request(60_000_000)
    pair.advance(2 * R_A_TOV)
    assert pair.client.results[asked]["return"] == "VIP_NOT_REACHABLE"
    assert pair.client.opcodes() == [RQST, -0x81, RQST, -0x81]
    gone = pair.client.call("VipDisconnect", vi=pair.cvi)
    pair.pump()
    assert pair.client.results[gone]["return"] == "VIP_SUCCESS" and pair.client.state(pair.cvi) == "idle"
    sent, answer = bytes.fromhex(pair.client.sent[-1]["hex"]), bytes.fromhex(pair.server.sent[-1]["hex"])
    # Device_Header: FCVI_HANDLE, opcode, flags, reserved, FCVI_MSG_ID, FCVI_PARAMETER; Word 7 at 52
    assert sent[24:40].hex() == "ffffffff" "12070000" "00000000" "00490000"
    assert answer[24:40].hex() == "ffffffff" "1b070000" "00000000" "004a0000"
    assert sent[52:56].hex() == answer[52:56].hex() == "00000002"


def test_application_timeout_then_late_resp1() -> None:
    pair = Pair()
    pair.listen()
    asked = pair.request(1_000_000)
    pair.advance(1_000_000)
    assert pair.client.results[asked]["return"] == "VIP_TIMEOUT" and pair.client.state(pair.cvi) == "idle"
    answered = pair.accept()
    assert pair.server.results[answered]["return"] == "VIP_TIMEOUT" and pair.server.state(pair.svi) == "idle"
    assert bytes.fromhex(pair.client.sent[-1]["hex"])[28:40].hex() == "19010000" "00000000" "00020000"


@pytest.mark.parametrize("listening, code, result", [(False, 3, "VIP_NO_MATCH"), (True, 4, "VIP_REJECT")])
def test_refusals(listening: bool, code: int, result: str) -> None:
    pair = Pair()
    if listening:
        pair.listen()
    asked = pair.request()
    if listening:
        pair.server.now("VipConnectReject", conn=pair.server.results[pair.waiting]["conn"])
        pair.pump()
    assert pair.client.results[asked]["return"] == result and pair.client.state(pair.cvi) == "idle"
    assert pair.server.opcodes() == [RESP1, RESP3] and pair.client.opcodes() == [RQST, RESP2]
    resp1 = bytes.fromhex(pair.server.sent[0]["hex"])
    assert resp1[29] == 1 and resp1[36:40] == bytes([0, code, 0, 0]) and resp1[64:68].hex() == "ffffffff"
    assert pair.client.now("clock.next") == {"us": None} and pair.server.now("clock.next") == {"us": None}


def test_disconnect_both_sides() -> None:
    pair = Pair()
    pair.connect()
    first = pair.client.call("VipDisconnect", vi=pair.cvi)
    pair.pump()
    assert pair.client.results[first]["return"] == "VIP_SUCCESS"
    assert pair.states() == ("idle", "error") and pair.server.codes() == ["VIP_ERROR_CONN_LOST"]
    second = pair.server.call("VipDisconnect", vi=pair.svi)
    pair.pump()
    assert pair.server.results[second]["return"] == "VIP_SUCCESS"
    assert pair.states() == ("idle", "idle") and pair.client.codes() == []


def test_crossing_disconnects() -> None:
    pair = Pair()
    pair.connect()
    calls = pair.client.call("VipDisconnect", vi=pair.cvi), pair.server.call("VipDisconnect", vi=pair.svi)
    pair.pump()
    assert [pair.client.results[calls[0]], pair.server.results[calls[1]]] == [{"return": "VIP_SUCCESS"}] * 2
    assert pair.states() == ("idle", "idle") and pair.client.codes() + pair.server.codes() == []


def test_unanswered_disconnect() -> None:
    pair = Pair(client=["disconnect_retry=yes"])
    pair.connect()
    pair.drop = lambda code, nth: code == DISCONNECT
    gone = pair.client.call("VipDisconnect", vi=pair.cvi)
    pair.advance(2 * R_A_TOV)
    assert pair.client.results[gone]["return"] == "VIP_NOT_REACHABLE"
    assert pair.client.state(pair.cvi) == "error"
    assert pair.client.opcodes()[2:] == [DISCONNECT, -0x81, DISCONNECT, -0x81]


@pytest.mark.parametrize("length", [0, 1, 2080, 2081, 30_001])
def test_send_both_ways(length: int) -> None:
    pair = Pair(client=["send_ius=3", "last_seq=all"])
    pair.connect()
    data = bytes(i * 7 & 0xFF for i in range(length))
    for here, vi, there, other in ((pair.client, pair.cvi, pair.server, pair.svi),
                                   (pair.server, pair.svi, pair.client, pair.cvi)):
        mem = pair.receive_buffer(there, other, 65536)
        done = pair.send(here, vi, data, 0xC0FFEE)
        assert done["return"] == "VIP_SUCCESS" and done["DescriptorPtr"]["length"] == length
        got = there.now("VipRecvDone", vi=other)["DescriptorPtr"]
        assert got["length"] == length and got["immediate"] == 0xC0FFEE
        assert set(got["status"]) == {"VIP_STATUS_DONE", "VIP_STATUS_OP_RECEIVE", "VIP_STATUS_IMMEDIATE"}
        read = "".join(there.now("mem.read", mem=mem, offset=at, length=min(30000, length - at))["hex"]
                       for at in range(0, length, 30000))
        assert read == data.hex()


def test_message_frames() -> None:
    pair = Pair(size=44)
    pair.connect()
    pair.client.sent.clear()
    pair.send(pair.client, pair.cvi, bytes(range(1, 26)))
    frames = [bytes.fromhex(frame["hex"]) for frame in pair.client.sent]
    # FCVI_HANDLE, opcode 00h, FCVI_MSG_ID 1, FCVI_TOT_LEN 25; three frames of 12, 12 and 1 + 3 fill bytes
    assert [raw[24:56].hex() for raw in frames] == [
        "00001000" "00000000" "00000001" "00000000" "0000000000000000" "00000000" "00000019"] * 3
    assert [len(raw) - 56 for raw in frames] == [12, 12, 4] and frames[2][56:].hex() == "19000000"
    assert [raw[9:12].hex() for raw in frames] == ["200008", "200008", "38000b"]
    assert [raw[14:16].hex() + raw[20:24].hex() for raw in frames] == [
        "000000000000", "00010000000c", "000200000018"]


def test_lost_frame_of_a_message() -> None:
    pair = Pair(size=44)
    pair.connect()
    for _ in range(2):
        pair.receive_buffer(pair.server, pair.svi, 64)
    pair.drop = lambda code, nth: code == 0 and nth == 2
    pair.send(pair.client, pair.cvi, bytes(36))
    pair.send(pair.client, pair.cvi, bytes(5))
    bad = pair.server.now("VipRecvDone", vi=pair.svi)
    assert bad["return"] == "VIP_DESCRIPTOR_ERROR"
    assert "VIP_STATUS_TRANSPORT_ERROR" in bad["DescriptorPtr"]["status"]
    assert pair.server.now("VipRecvDone", vi=pair.svi)["DescriptorPtr"]["length"] == 5
    assert pair.states() == ("connected", "connected")


def test_logout_ends_connections_and_needs_plogi() -> None:
    pair = Pair()
    pair.connect()
    link = {"jsonrpc": "2.0", "method": "link", "params": {"event": "logo"}}
    pair.client.server.line(json.dumps(link).encode())
    pair.pump()
    assert pair.states() == ("error", "error")
    assert pair.client.codes() == pair.server.codes() == ["VIP_ERROR_CONN_LOST"]
    for node, vi in ((pair.client, pair.cvi), (pair.server, pair.svi)):
        assert node.now("VipDisconnect", vi=vi) == {"return": "VIP_SUCCESS"}
    pair.client.sent.clear()
    pair.connect()
    assert pair.client.opcodes() == [-0x22, RQST, RESP2]


def every_value() -> List[str]:
    """Each value of each choice, numbers by example."""
    settings = []
    for name, (values, _) in CHOICES.items():
        found = values.split("|") if not values.startswith("NUMBER") else [values.split(":")[1], "64"]
        settings += [f"{name}={value if name != 'send_ius' or value != '64' else '8'}" for value in found]
    return settings


@pytest.mark.parametrize("setting", every_value())
def test_every_choice_connects_sends_and_disconnects(setting: str) -> None:
    if setting == "clock_next=no":
        pytest.skip("the fabric of this test needs clock.next")
    pair = Pair(client=[setting], server=[setting], size=256)
    pair.connect()
    mem = pair.receive_buffer(pair.server, pair.svi, 1000)
    assert pair.send(pair.client, pair.cvi, b"x" * 999)["return"] == "VIP_SUCCESS"
    assert pair.server.now("mem.read", mem=mem, offset=0, length=1000)["hex"] == "78" * 999 + "ee"
    gone = pair.client.call("VipDisconnect", vi=pair.cvi)
    pair.advance(100_000)
    assert pair.client.results[gone] is not None and pair.states() == ("idle", "error")


def test_retry_may_wait_for_ba_acc() -> None:
    pair = Pair(client=["retry_waits_for_ba_acc=yes"])
    pair.drop = lambda code, nth: (code == RQST and nth == 1) or code == -0x84
    pair.listen()
    pair.request()
    pair.advance(R_A_TOV)
    assert pair.client.opcodes() == [RQST, -0x81]
    pair.advance(R_A_TOV)
    assert pair.client.opcodes() == [RQST, -0x81, RQST]


def test_faults_are_all_used_and_named() -> None:
    others = [path for path in HERE.glob("*.py") if path.name not in ("faults.py", "test_independent.py")]
    source = "".join(path.read_text() for path in others)
    used = set(re.findall(r'(?:bad|is_on)\("([a-z0-9-]+)"\)', source))
    timers = re.findall(r'scaled\("([a-z0-9-]+)"', source)
    used |= {f"{timer}-{how}" for timer in timers for how in ("early", "late")}
    used |= {"no-retry", "two-retries"}
    assert used == set(BEHAVIOUR) | set(ATTACHMENT)
    assert len(listing()) == len(BEHAVIOUR) + len(ATTACHMENT) + len(IU_FAULTS) + len(FRAME_FAULTS)
    table = HERE.parents[2] / "conformance" / "fcvi" / "requirements.tsv"
    known = {line.split("\t")[0] for line in table.read_text().splitlines()}
    named = {ident for ids, _ in listing().values() for ident in ids.split()}
    assert named - known == {"dut-protocol"}


def test_every_iu_fault_shows_on_the_wire() -> None:
    for name, (opcodes, *_) in IU_FAULTS.items():
        right, wrong = (traffic(fault) for fault in (None, name))
        assert right != wrong, name


def traffic(fault: Optional[str]) -> List[Any]:
    """What two endpoints send in every situation the IU faults are about; both make the mistake."""
    seen: List[Any] = []
    for situation in ("accept", "refuse", "retry"):
        pair = Pair(fault=fault)
        lost = situation == "retry"
        pair.drop = lambda code, nth: lost and code == RQST and nth == 1
        pair.listen()
        pair.request()
        pair.advance(R_A_TOV if lost else 0)
        conn = (pair.server.results.get(pair.waiting) or {}).get("conn")
        method = "VipConnectReject" if situation == "refuse" else "VipConnectAccept"
        if conn:
            pair.server.call(method, conn=conn, vi=pair.svi)
        pair.pump()
        if pair.client.state(pair.cvi) == "connected":
            pair.send(pair.client, pair.cvi, b"abc", 7)
        pair.client.call("VipDisconnect", vi=pair.cvi)
        pair.pump()
        seen += [(frame["hex"], frame["sof"]) for node in (pair.client, pair.server) for frame in node.sent]
    return seen


SITUATIONS: Dict[str, Drop] = {
    "good": lambda code, nth: False,
    "message": lambda code, nth: code == 0 and nth == 2,
    "retry": lambda code, nth: code == RQST and nth == 1,
    "resp1": lambda code, nth: code == RESP1 and nth == 1,
    "deaf": lambda code, nth: code in (RQST, -0x84),
    "resp2": lambda code, nth: code == RESP2,
    "resp3": lambda code, nth: code == RESP3,
    "disconnect": lambda code, nth: code == DISCONNECT,
    "timeout": lambda code, nth: code == RQST and nth == 1,
    **dict.fromkeys(("refused", "elsewhere", "nobody", "late", "abort", "logout", "own"),
                    lambda code, nth: False),
}


def life(situation: str, fault: Optional[str]) -> List[Any]:
    """All that two endpoints say, with its time, in one situation; both make the mistake."""
    pair = Pair(fault=fault, size=256, client=["connect_info=yes"], server=["connect_info=yes"])
    pair.drop = SITUATIONS[situation]
    if situation == "own":
        pair.svi = pair.server.now("VipCreateVi", ViAttribs={"MaxTransferSize": 4096})["vi"]
    for node, vi in ((pair.client, pair.cvi), (pair.server, pair.svi)):
        for _ in range(2):
            pair.receive_buffer(node, vi, 1000)
    if situation != "nobody":
        pair.listen("00" * 16 if situation == "elsewhere" else DISCRIMINATOR)
    pair.request(1_000_000 if situation in ("timeout", "late") else None)
    pair.send(pair.client, pair.cvi, b"early")
    pair.advance(2_000_000 if situation in ("late", "timeout") else 10)
    decide(pair, situation)
    pair.send(pair.client, pair.cvi, bytes(700))
    pair.send(pair.client, pair.cvi, b"second")
    for wait in (R_A_TOV // 2, R_A_TOV // 2, 1000):
        pair.advance(wait)
        decide(pair, situation)
    pair.advance(4 * R_A_TOV)
    pair.server.now("mem.read", mem=1, offset=0, length=1000)
    if situation in ("logout", "abort"):
        strike(pair, situation)
    for node, vi in ((pair.client, pair.cvi), (pair.server, pair.svi)):
        node.call("VipDisconnect", vi=vi)
        pair.advance(R_A_TOV // 2)
        pair.advance(4 * R_A_TOV)
    if situation == "logout":
        pair.request()
    return [pair.client.history, pair.server.history, pair.states()]


def decide(pair: Pair, situation: str) -> None:
    """What the server's application does with a request, once it has one."""
    conn = (pair.server.results.get(pair.waiting) or {}).get("conn")
    if conn:
        method = "VipConnectReject" if situation == "refused" else "VipConnectAccept"
        pair.server.call(method, conn=conn, vi=pair.svi)
        pair.pump()


def strike(pair: Pair, situation: str) -> None:
    """A logout, or a setup abort with the server's handle and an unknown FCVI_CONNECTION_ID (rule D-6)."""
    if situation == "logout":
        link = {"jsonrpc": "2.0", "method": "link", "params": {"event": "logo"}}
        pair.client.server.line(json.dumps(link).encode())
    else:
        header = "02010200" "00010100" "58290000" "77020000" "7777ffff" "00000000"
        pair.server.give({"hex": header + "00001000" "12060000" + "00" * 20 + "00abcdef"})
    pair.pump()


def test_every_behaviour_fault_shows_somewhere() -> None:
    right = {situation: life(situation, None) for situation in SITUATIONS}
    for name in BEHAVIOUR:
        assert any(life(situation, name) != right[situation] for situation in SITUATIONS), name


def run(arguments: List[str], lines: List[Dict[str, Any]]) -> Any:
    """The program itself; its exit status and the lines it writes."""
    text = "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines)
    done = subprocess.run([sys.executable, str(HERE / "endpoint.py"), *arguments], input=text, text=True,
                          capture_output=True, timeout=20)
    return done.returncode, done.stdout.splitlines(), done.stderr


def test_program_answers_and_lists() -> None:
    status, lines, _ = run([], [HELLO, {"id": 2, "method": "nonsense"}, {"id": 3, "method": "VipCreateVi"}])
    codes = [json.loads(line).get("error", {}).get("code") for line in lines]
    assert status == 0 and codes == [None, -32601, -32000]
    assert len(run(["--list-choices"], [])[1]) == len(CHOICES)
    rows = [row.split("\t") for row in run(["--list-faults"], [])[1]]
    assert len(rows) == len(listing()) and all(len(row) == 3 and all(row) for row in rows)


@pytest.mark.parametrize("arguments", [["--choose", "nope=1"], ["--choose", "seq_id=odd"],
                                       ["--choose", "split=9999"], ["--fault", "nope"]])
def test_program_refuses_bad_arguments(arguments: List[str]) -> None:
    status, lines, error = run(arguments, [])
    assert status == 2 and lines == [] and arguments[1].split("=")[0] in error


@pytest.mark.parametrize("fault, answers", [("mute", 1), ("closes", 2), ("not-json", 2), ("long-line", 2)])
def test_attachment_faults(fault: str, answers: int) -> None:
    node = Node(1, [], None)
    _, lines, _ = run(["--fault", fault], [HELLO, {"id": 2, "method": "reset", "params": node.config}])
    assert len(lines) == answers


def test_bad_input_gets_errors_and_nothing_else() -> None:
    node = Node(1, [], None)
    node.now("reset", **node.config)
    for bad in (b"", b"{", b"[]", b"7", b"\xff\xfe", b'{"id":1}', b"[" * 100_000):
        node.server.line(bad)
    to_me = "02010100" "00010200" "58290008" "00000000" "0000ffff" "00000000"
    for hexa in ("", "0", "zz", "00" * 23, "00" * 24, "00" * 2140, to_me, to_me + "ff" * 32):
        node.give({"hex": hexa})
    node.give({})
    assert node.now("VipQueryVi", vi=7) == {"return": "VIP_INVALID_PARAMETER"}
    assert node.now("VipQueryVi")["code"] == -32602
    assert node.now("VipCreateVi", ViAttribs={"ReliabilityLevel": 4})["code"] == -32602
    assert node.now("clock.advance", us=-1)["code"] == -32602
    assert node.sent == []
