"""The upper tester agent over libvipl: every control method of the DUT protocol, and hostile lines."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path
from typing import Any, Iterator

import pytest

from .. import starts
from ..conftest import FCVI, ROOT

AGENT = Path(os.environ.get("FCVI_AGENT", ROOT / "build/fcvi-agent"))
HOST = "fe8000000000000000000000000000b2"
CONFIG: dict[str, Any] = {
    "port_name": "10000000c9000002", "node_name": "20000000c9000002", "n_port_id": "010200", "host": [HOST],
    "peer": {"port_name": "10000000c9000001", "node_name": "20000000c9000001", "n_port_id": "010100",
             "host": ["fe8000000000000000000000000000a1"]},
    "topology": "point-to-point", "fabric": "in-order", "class": 3, "login": "implicit",
    "e_d_tov_us": 200000, "r_a_tov_us": 600000, "receive_size": 2112, "seed": 1,
}  # fmt: skip
ADDRESS = {"host": HOST, "discriminator": "46432d56492061676e74207465737421"}
RELIABLE = {"ViAttribs": {"ReliabilityLevel": "VIP_SERVICE_RELIABLE_RECEPTION", "MaxTransferSize": 65536,
                          "EnableRdmaWrite": True, "EnableRdmaRead": True}}  # fmt: skip


class Client:
    """The suite's side of the protocol, as bare as can be."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(20)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")
        self.answers: dict[int, dict[str, Any]] = {}
        self.notes: list[dict[str, Any]] = []
        self.number = 0

    def start(self, method: str, **params: Any) -> int:
        """Send a request."""
        self.number += 1
        self.raw(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}).encode() + b"\n")
        return self.number

    def raw(self, data: bytes) -> None:
        """Send bytes."""
        self.socket.sendall(data)

    def line(self) -> dict[str, Any]:
        """The next message."""
        line = self.file.readline()
        assert line, "the agent closed"
        message: dict[str, Any] = json.loads(line)
        return message

    def finish(self, number: int) -> dict[str, Any]:
        """The answer to a request."""
        while number not in self.answers:
            message = self.line()
            if "method" in message:
                self.notes.append(message)
            else:
                self.answers[message["id"]] = message
        return self.answers.pop(number)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """A call that gives a result."""
        answer = self.finish(self.start(method, **params))
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def note(self, method: str) -> dict[str, Any]:
        """The next notification of this method."""
        while True:
            for index, message in enumerate(self.notes):
                if message["method"] == method:
                    params: dict[str, Any] = self.notes.pop(index)["params"]
                    return params
            self.notes.append(self.line())


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """An agent that has just been started."""
    path = str(tmp_path / "agent")
    with subprocess.Popen([str(AGENT), f"unix:{path}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as agent:
        assert agent.stdout is not None and agent.stderr is not None
        assert agent.stdout.readline() == b"listening\n"
        connected = Client(path)
        yield connected
        connected.socket.close()
        connected.file.close()
        agent.terminate()
        assert b"ERROR" not in agent.stderr.read()


def connect(c: Client) -> tuple[int, int]:
    """Two VIs of the NIC, connected to each other."""
    server, peer = (c.call("VipCreateVi", **RELIABLE)["vi"] for _ in range(2))
    waiting = c.start("VipConnectWait", LocalAddr=ADDRESS)
    request = c.start("VipConnectRequest", vi=peer, LocalAddr=ADDRESS, RemoteAddr=ADDRESS, Timeout=10_000_000)
    came = c.finish(waiting)["result"]
    assert (came["return"], came["RemoteAddr"]) == ("VIP_SUCCESS", ADDRESS)
    assert came["RemoteViAttribs"]["ReliabilityLevel"] == "VIP_SERVICE_RELIABLE_RECEPTION"
    assert c.call("VipConnectAccept", conn=came["conn"], vi=server) == {"return": "VIP_SUCCESS"}
    done = c.finish(request)["result"]
    assert done["return"] == "VIP_SUCCESS" and done["RemoteViAttribs"]["MaxTransferSize"] == 65536
    return server, peer


def descriptor(op: str, mem: int, length: int, **more: Any) -> dict[str, Any]:
    """One segment."""
    return {"op": op, "segments": [{"mem": mem, "offset": 0, "length": length}], **more}


def test_who_cannot_be_seen_is_not_accused() -> None:
    """An agent without its frames: the suite says that it sees no wire, and fails no case."""
    words = [str(ROOT / "build/fcvi"), "run", "--dut", f"exec:{ROOT / 'build/fcvi-agent'}", "--select", "C.5.6"]
    done = starts.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 4 and "0 pass, 0 fail, 2 inconclusive" in done.stdout and "has no wire 'fc'" in done.stdout


def test_hello_and_reset(client: Client) -> None:
    """Identity, errors before the first reset, unknown methods."""
    assert client.call("hello", protocol=1)["clock"] == "real" and "wires" not in client.call("hello", protocol=1)
    second = client.call("hello", protocol=2)
    assert (second["protocol"], second["wires"], second["revision"]) == (2, ["api"], "2007")
    assert client.finish(client.start("VipCreateVi", ViAttribs={}))["error"]["code"] == -32000
    assert client.finish(client.start("probe.123"))["error"]["code"] == -32601
    assert client.finish(client.start("reset", **{**CONFIG, "class": 4}))["error"]["code"] == -32602
    assert client.call("reset", **CONFIG) == {}
    assert client.finish(client.start("clock.advance", us=0))["error"]["code"] == -32601


def test_connection(client: Client) -> None:
    """Client and server, Send with Immediate Data, completions, Disconnect, errors, the end of both VIs."""
    client.call("reset", **CONFIG)
    server, peer = connect(client)
    queried = client.call("VipQueryVi", vi=server)
    assert (queried["state"], queried["State"], queried["ViRecvQEmpty"]) == ("connected", "VIP_STATE_CONNECTED", True)
    source = client.call("VipRegisterMem", length=64, rdma_write=False, rdma_read=False, fill="a5")["mem"]
    sink = client.call("VipRegisterMem", length=64, rdma_write=False, rdma_read=False, fill=None)["mem"]
    assert client.call("VipRecvDone", vi=server) == {"return": "VIP_DESCRIPTOR_ERROR", "DescriptorPtr": None}
    assert client.call("VipPostRecv", vi=server, descriptor=descriptor("recv", sink, 64))["return"] == "VIP_SUCCESS"
    assert client.call("VipRecvDone", vi=server)["return"] == "VIP_NOT_DONE"
    client.call("VipPostSend", vi=peer, descriptor=descriptor("send", source, 64, immediate=7))
    told = {(n["vi"], n["queue"]): n for n in (client.note("completion"), client.note("completion"))}
    assert set(told) == {(server, "recv"), (peer, "send")}
    assert told[server, "recv"]["length"] == 64 and told[server, "recv"]["immediate"] == 7
    assert set(told[server, "recv"]["status"]) == {"VIP_STATUS_DONE", "VIP_STATUS_OP_RECEIVE", "VIP_STATUS_IMMEDIATE"}
    assert client.call("VipRecvDone", vi=server)["DescriptorPtr"]["immediate"] == 7
    assert client.call("VipSendDone", vi=peer)["DescriptorPtr"]["status"] == ["VIP_STATUS_DONE"]
    assert client.call("mem.read", mem=sink, offset=60, length=4) == {"hex": "a5a5a5a5"}
    assert client.call("VipDisconnect", vi=peer) == {"return": "VIP_SUCCESS"}
    assert client.note("error") == {"vi": server, "code": "VIP_ERROR_CONN_LOST"}
    assert client.call("VipQueryVi", vi=server)["state"] == "error"
    client.call("VipDisconnect", vi=server)
    assert client.call("VipDestroyVi", vi=server) == client.call("VipDestroyVi", vi=peer) == {"return": "VIP_SUCCESS"}
    assert client.call("VipDeregisterMem", mem=sink) == {"return": "VIP_SUCCESS"}
    assert client.call("VipDeregisterMem", mem=sink) == {"return": "VIP_INVALID_PARAMETER"}


def test_rdma(client: Client) -> None:
    """RDMA Write and RDMA Read by the address and handle that registering gave."""
    client.call("reset", **CONFIG)
    _, peer = connect(client)
    far = client.call("VipRegisterMem", length=256, rdma_write=True, rdma_read=True, fill="00")
    near = client.call("VipRegisterMem", length=256, rdma_write=False, rdma_read=False, fill="0102")
    remote = {"va": far["va"], "handle": far["handle"]}
    client.call("VipPostSend", vi=peer, descriptor=descriptor("rdma-write", near["mem"], 256, remote=remote))
    assert client.note("completion")["status"] == ["VIP_STATUS_DONE", "VIP_STATUS_OP_RDMA_WRITE"]
    assert client.call("mem.read", mem=far["mem"], length=4) == {"hex": "01020102"}
    assert client.call("mem.write", mem=far["mem"], offset=2, hex="beef") == {}
    client.call("VipPostSend", vi=peer, descriptor=descriptor("rdma-read", near["mem"], 256, remote=remote))
    assert client.note("completion")["status"] == ["VIP_STATUS_DONE", "VIP_STATUS_OP_RDMA_READ"]
    assert client.call("mem.read", mem=near["mem"], length=4) == {"hex": "0102beef"}


def test_reject_and_timeouts(client: Client) -> None:
    """Reject, a wait and a request that time out, a Discriminator that is too short."""
    client.call("reset", **CONFIG)
    vi = client.call("VipCreateVi", **RELIABLE)["vi"]
    waiting = client.start("VipConnectWait", LocalAddr=ADDRESS, Timeout=None)
    request = client.start("VipConnectRequest", vi=vi, LocalAddr=ADDRESS, RemoteAddr=ADDRESS)
    came = client.finish(waiting)["result"]
    assert client.call("VipConnectReject", conn=came["conn"]) == {"return": "VIP_SUCCESS"}
    assert client.finish(request)["result"]["return"] == "VIP_REJECT"
    assert client.call("VipConnectReject", conn=came["conn"]) == {"return": "VIP_INVALID_PARAMETER"}
    assert client.call("VipConnectWait", LocalAddr=ADDRESS, Timeout=1000)["return"] == "VIP_TIMEOUT"
    short = {"host": HOST, "discriminator": "00"}
    assert client.call("VipConnectWait", LocalAddr=short, Timeout=0)["return"] == "VIP_INVALID_PARAMETER"


def test_peer_to_peer(client: Client) -> None:
    """Both VIs ask for each other."""
    client.call("reset", **CONFIG)
    vis = [client.call("VipCreateVi", **RELIABLE)["vi"] for _ in range(2)]
    for vi in vis:
        params = {"vi": vi, "LocalAddr": ADDRESS, "RemoteAddr": ADDRESS, "Timeout": 10_000_000}
        assert client.call("VipConnectPeerRequest", **params) == {"return": "VIP_SUCCESS"}
        assert client.call("VipConnectPeerDone", vi=vi)["return"] in ("VIP_NOT_DONE", "VIP_SUCCESS")
    assert client.call("VipConnectPeerWait", vi=vis[0])["return"] == "VIP_SUCCESS"


def test_reset_ends_what_is_blocked(client: Client) -> None:
    """Calls that had not returned get -32001 before the answer to reset, and all handles are gone."""
    client.call("reset", **CONFIG)
    client.call("VipCreateVi", **RELIABLE)
    waiting = client.start("VipConnectWait", LocalAddr=ADDRESS)
    again = client.start("reset", **CONFIG)
    first = client.line()
    assert (first["id"], first["error"]["code"]) == (waiting, -32001)
    assert client.finish(again)["result"] == {}
    assert client.call("VipQueryVi", vi=0) == {"return": "VIP_INVALID_PARAMETER"}
    client.raw(b'{"jsonrpc":"2.0","method":"link","params":{"event":"lip"}}\n')
    client.raw(b'{"jsonrpc":"2.0","method":"link","params":{"event":"up"}}\n')
    assert client.call("VipCreateVi", ViAttribs={})["vi"] == 0


HOSTILE = {
    b"": -32700, b"{": -32700, b"\xff\xfe": -32700, b"[]": -32600, b"1": -32600, b'"x"': -32600, b"{}": -32600,
    b"[" * 5000: -32700, b'{"id":[],"method":"hello"}': -32600, b'{"id":1,"method":3}': -32600,
    b'{"id":1,"method":"hello","params":[]}': -32602, b'{"id":1,"method":"hello","params":{"protocol":3}}': -32602,
    b'{"id":1,"method":"reset","params":{"host":3}}': -32602, b'{"id":1,"method":"hel\\u0000lo"}': -32700,
    b'{"id":1,"method":"VipDestroyVi","params":{"vi":1e400}}': -32700,
    b'{"id":1,"method":"VipDestroyVi"}': -32602, b'{"id":1,"method":"VipDeregisterMem","params":{"mem":-1}}': -32602,
    b'{"id":1,"method":"VipPostSend","params":{"vi":0,"descriptor":{"op":"send","segments":[3]}}}': -32602,
    b'{"id":1,"method":"VipCreateVi","params":{"ViAttribs":{"QoS":7}}}': -32602,
    b'{"id":1,"method":"mem.write","params":{"mem":0,"hex":"ABCD"}}': -32602,
    b'{"id":1,"method":"mem.read","params":{"mem":0,"length":30001}}': -32602,
    b'{"id":1,"method":"VipConnectWait","params":{"LocalAddr":{"host":"00"}}}': -32602,
    b'{"id":1,"method":"VipRegisterMem","params":{"length":1,"fill":""}}': -32602,
}  # fmt: skip


def test_hostile_lines(client: Client) -> None:
    """One clear error each; then the agent still serves. A line that is too long ends the session."""
    client.call("reset", **CONFIG)
    client.call("VipCreateVi", ViAttribs={})
    for line, code in HOSTILE.items():
        client.raw(line + b"\n")
        answer = client.line()
        assert answer["error"]["code"] == code and answer["error"]["message"], (line[:80], answer)
    assert client.call("VipQueryVi", vi=0)["state"] == "idle"
    client.raw(b"x" * 65536)
    assert client.line()["error"]["code"] == -32700
    assert client.file.readline() == b""


@pytest.mark.parametrize("args", [["--no"], ["udp:x"], ["unix:/nonexistent/x"], ["tcp:nowhere"], ["a", "b"]])
def test_wrong_usage(args: list[str]) -> None:
    """Status 2."""
    done = subprocess.run([str(AGENT), *args], capture_output=True, timeout=20, check=False)
    assert done.returncode == 2 and done.stderr.startswith((b"fcvi-agent: ", b"usage: ")) and done.stdout == b""


def test_standard_input() -> None:
    """As exec: uses it."""
    line = b'{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":1}}\n'
    done = subprocess.run([str(AGENT)], input=line, capture_output=True, timeout=20, check=False)
    assert done.returncode == 0 and json.loads(done.stdout)["result"]["pics"]["client"] is True


def test_the_stream_as_the_wire(tmp_path: Path) -> None:
    """--on stream: libvipl is a whole device of the DUT protocol, frames and all; hostile ones do not end it."""
    device = f"exec:{AGENT} --on stream"
    ran = starts.run([FCVI, "run", "--dut", device, "--select", "5.3.2,A.1/class3/in-order,5.2.5", "--report", tmp_path / "report"],
                     capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert json.loads((tmp_path / "report/report.json").read_text())["summary"]["inconclusive"] == 0
    checked = starts.run([FCVI, "dut", "check", device], capture_output=True, text=True, timeout=60, check=False)
    assert checked.returncode == 0 and "Nothing to mend" in checked.stdout, checked.stdout
    lines = [{"method": "frame", "params": params} for params in ({}, {"hex": "0"}, {"hex": "00" * 2137}, {"hex": "", "sof": 3})]
    lines += [{"id": 1, "method": "hello", "params": {"protocol": 2}}]
    told = subprocess.run([AGENT, "--on", "stream"], input="".join(json.dumps(line) + "\n" for line in lines), capture_output=True,
                          text=True, timeout=30, check=True)  # fmt: skip
    assert json.loads(told.stdout)["result"]["wires"] == ["fc"]
