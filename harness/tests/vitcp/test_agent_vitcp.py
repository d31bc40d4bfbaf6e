"""VI/TCP between two processes, over kernel sockets on loopback: libvipl in two agents, and two `fcvi endpoint`."""

from __future__ import annotations

import os
import random
import socket
import struct
import subprocess
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

from .. import starts
from ..conftest import FCVI
from ..dut.test_agent import AGENT, CONFIG as CONFIG_OF_FC, Client

LEVELS = ("VIP_SERVICE_UNRELIABLE", "VIP_SERVICE_RELIABLE_DELIVERY", "VIP_SERVICE_RELIABLE_RECEPTION")
SIZE = 1 << 16
PIECE = 16384  # of what mem.read and mem.write carry


def free_port() -> int:
    """A port that nothing uses at any address, below those that the kernel gives to who connects."""
    while True:
        port = random.randrange(20_000, 32_000)
        with closing(socket.socket()) as here, suppress(OSError):
            here.bind(("0.0.0.0", port))
            return port


def host(number: int) -> str:
    """127.0.0.N as the DUT protocol has it."""
    return "00000000000000000000ffff" + bytes((127, 0, 0, number)).hex()


def config(number: int) -> dict[str, Any]:
    """`reset` for the agent at 127.0.0.N."""
    return {
        "wire": "tcp", "host": [host(number)], "peer": {"host": [host(3 - number)]}, "port": 1, "nop_bound_us": 1_000_000,
        "incoming_timeout_us": 300_000, "seed": number,
    }  # fmt: skip


def address(number: int, discriminator: bytes = b"") -> dict[str, str]:
    """A VI Network Address."""
    return {"host": host(number), "discriminator": discriminator.hex()}


def attributes(level: str) -> dict[str, Any]:
    """Of a VI."""
    return {"ReliabilityLevel": level, "MaxTransferSize": SIZE, "EnableRdmaWrite": True, "EnableRdmaRead": level != LEVELS[0]}


class Pair:
    """Two ends of the same kind, each with its client."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.port, self.clients, self.agents = free_port(), [], []
        for number in (1, 2):
            path = str(folder / f"agent{number}")
            on = ["--on", f"vitcp:127.0.0.{number}:{self.port}"]
            command = [AGENT, *on, f"unix:{path}"] if kind == "agent" else [str(FCVI), "endpoint", *on, "--control", f"unix:{path}"]
            self.agents.append(starts.Popen(command, stdout=subprocess.PIPE, text=True))
            try:
                self._attach(path, number)
            except BaseException:
                self.close()
                raise

    def _attach(self, path: str, number: int) -> None:
        listens = self.agents[-1].stdout
        assert listens is not None and listens.readline() != ""
        self.clients.append(Client(path))
        assert self.clients[-1].call("hello", protocol=2)["pics"]["tcp"] is True
        assert self.clients[-1].call("reset", **self.config(number)) == {}

    def config(self, number: int) -> dict[str, Any]:
        """`reset` for the end at 127.0.0.N."""
        return {**config(number), "port": self.port}

    def close(self) -> None:
        """End both."""
        for client in self.clients:
            client.socket.close()
        for agent in self.agents:
            agent.terminate()
            agent.wait(10)

    def create(self, level: str) -> list[int]:
        """A VI at each end."""
        return [int(client.call("VipCreateVi", ViAttribs=attributes(level))["vi"]) for client in self.clients]

    def connect(self, vis: list[int], discriminator: bytes = b"server") -> None:
        """The first calls, the second answers."""
        caller, server = self.clients
        waiting = server.start("VipConnectWait", LocalAddr=address(2, discriminator), Timeout=5_000_000)
        server.call("VipQueryVi", vi=vis[1])  # so that the call before it has begun
        asking = caller.start("VipConnectRequest", vi=vis[0], LocalAddr=address(1, b"me"), RemoteAddr=address(2, discriminator),
                              Timeout=5_000_000)  # fmt: skip
        call = server.finish(waiting)["result"]
        assert call["return"] == "VIP_SUCCESS" and call["RemoteAddr"] == address(1, b"me")
        assert server.call("VipConnectAccept", conn=call["conn"], vi=vis[1])["return"] == "VIP_SUCCESS"
        assert caller.finish(asking)["result"]["return"] == "VIP_SUCCESS"

    def region(self, end: int, length: int, data: bytes = b"") -> dict[str, Any]:
        """Registered memory with these bytes."""
        made = self.clients[end].call("VipRegisterMem", length=length, rdma_write=True, rdma_read=True)
        assert made["return"] == "VIP_SUCCESS"
        for at in range(0, len(data), PIECE):
            self.clients[end].call("mem.write", mem=made["mem"], offset=at, hex=data[at : at + PIECE].hex())
        return dict(made)

    def read(self, end: int, region: dict[str, Any], length: int) -> bytes:
        """The bytes of a region."""
        return b"".join(
            bytes.fromhex(self.clients[end].call("mem.read", mem=region["mem"], offset=at, length=min(PIECE, length - at))["hex"])
            for at in range(0, length, PIECE)
        )

    def post(self, end: int, vi: int, op: str, region: dict[str, Any], length: int, **more: Any) -> None:
        """VipPostSend or VipPostRecv."""
        descriptor = {"op": op, "segments": [{"mem": region["mem"], "offset": 0, "length": length}], **more}
        method = "VipPostRecv" if op == "recv" else "VipPostSend"
        assert self.clients[end].call(method, vi=vi, descriptor=descriptor)["return"] == "VIP_SUCCESS"

    def done(self, end: int, vi: int, queue: str) -> dict[str, Any]:
        """The next Descriptor of a queue, once it has completed."""
        method = "VipRecvDone" if queue == "recv" else "VipSendDone"
        return dict(eventually(lambda: self.clients[end].call(method, vi=vi), lambda r: r["return"] != "VIP_NOT_DONE"))

    def state(self, end: int, vi: int, wanted: str) -> None:
        """The VI comes into this state."""
        eventually(lambda: self.clients[end].call("VipQueryVi", vi=vi), lambda r: r["State"] == wanted)


def eventually(ask: Callable[[], Any], good: Callable[[Any], bool]) -> Any:
    """What was asked for, as soon as it is good."""
    end = time.monotonic() + 10
    while not good(answer := ask()):
        assert time.monotonic() < end, answer
        time.sleep(0.002)
    return answer


@pytest.fixture(params=("agent", "endpoint"))
def pair(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Both ends, reset."""
    made = Pair(tmp_path, request.param)
    yield made
    made.close()


@pytest.mark.parametrize("level", LEVELS)
def test_sends_writes_and_reads(pair: Pair, level: str) -> None:
    vis = pair.create(level)
    pattern = bytes(i * 7 % 251 for i in range(SIZE))
    target = pair.region(1, SIZE)
    pair.post(1, vis[1], "recv", target, SIZE)
    pair.connect(vis)
    source = pair.region(0, SIZE, pattern)
    pair.post(0, vis[0], "send", source, SIZE, immediate=77)
    arrived = pair.done(1, vis[1], "recv")
    assert arrived["DescriptorPtr"]["length"] == SIZE and arrived["DescriptorPtr"]["immediate"] == 77
    assert pair.read(1, target, SIZE) == pattern
    assert pair.done(0, vis[0], "send")["return"] == "VIP_SUCCESS"
    written = pair.region(1, SIZE)
    pair.post(0, vis[0], "rdma-write", source, SIZE, remote={"va": written["va"], "handle": written["handle"]})
    assert pair.done(0, vis[0], "send")["return"] == "VIP_SUCCESS"
    eventually(lambda: pair.read(1, written, SIZE), lambda data: data == pattern)
    if level != LEVELS[0]:
        back = pair.region(0, SIZE)
        pair.post(0, vis[0], "rdma-read", back, SIZE, remote={"va": written["va"], "handle": written["handle"]})
        assert pair.done(0, vis[0], "send")["return"] == "VIP_SUCCESS"
        assert pair.read(0, back, SIZE) == pattern
    assert pair.clients[0].call("VipDisconnect", vi=vis[0])["return"] == "VIP_SUCCESS"
    pair.state(0, vis[0], "VIP_STATE_IDLE")
    pair.state(1, vis[1], "VIP_STATE_ERROR")
    assert pair.clients[1].call("VipDisconnect", vi=vis[1])["return"] == "VIP_SUCCESS"
    pair.connect(vis, b"")  # the same VIs again; a Discriminator may be empty (V46)


def test_an_error_reaches_both_ends(pair: Pair) -> None:
    vis = pair.create(LEVELS[2])
    pair.connect(vis)
    source = pair.region(0, 10)
    pair.post(0, vis[0], "rdma-write", source, 10, remote={"va": "00" * 8, "handle": 1})  # no such region
    done = pair.done(0, vis[0], "send")
    assert "VIP_STATUS_RDMA_PROT_ERROR" in done["DescriptorPtr"]["status"]
    for end in (0, 1):
        pair.state(end, vis[end], "VIP_STATE_ERROR")


def test_a_send_waits_for_its_receive(pair: Pair) -> None:
    vis = pair.create(LEVELS[2])
    pair.connect(vis)
    source, target = pair.region(0, 10, b"0123456789"), pair.region(1, 10)
    pair.post(0, vis[0], "send", source, 10)  # both offer flow control
    time.sleep(0.05)
    assert pair.clients[0].call("VipSendDone", vi=vis[0])["return"] == "VIP_NOT_DONE"
    pair.post(1, vis[1], "recv", target, 10)
    assert pair.done(0, vis[0], "send")["return"] == pair.done(1, vis[1], "recv")["return"] == "VIP_SUCCESS"
    assert pair.read(1, target, 10) == b"0123456789"


def test_a_process_that_ends(pair: Pair) -> None:
    vis = pair.create(LEVELS[1])
    pair.connect(vis)
    pair.agents[1].kill()
    pair.agents[1].wait(10)
    pair.state(0, vis[0], "VIP_STATE_ERROR")


def test_nobody_there(pair: Pair) -> None:
    """A RST of TCP may be taken for an answer of who does not wait (VI-DG 3.3.4, V57): libvipl does, the endpoint does not."""
    vis = pair.create(LEVELS[1])
    asked = {"vi": vis[0], "LocalAddr": address(1, b"me"), "Timeout": 5_000_000}
    refused = pair.clients[0].call("VipConnectRequest", RemoteAddr=address(9, b"x"), **asked)
    assert refused["return"] in ("VIP_NO_MATCH", "VIP_NOT_REACHABLE")
    assert pair.clients[0].call("VipConnectRequest", RemoteAddr=address(2, b"x"), **asked)["return"] == "VIP_NO_MATCH"
    longest = pair.clients[0].call("VipConnectRequest", RemoteAddr=address(2, b"x" * 17), **asked)
    assert longest["return"] == "VIP_INVALID_PARAMETER"


def test_peers(pair: Pair) -> None:
    vis = pair.create(LEVELS[2])
    for end in (0, 1):
        asked = pair.clients[end].call("VipConnectPeerRequest", vi=vis[end], LocalAddr=address(1 + end, b"peer"),
                                       RemoteAddr=address(2 - end, b"peer"), Timeout=5_000_000)  # fmt: skip
        assert asked["return"] == "VIP_SUCCESS"
    waits = [client.start("VipConnectPeerWait", vi=vi) for client, vi in zip(pair.clients, vis)]
    assert [c.finish(w)["result"]["return"] for c, w in zip(pair.clients, waits)] == ["VIP_SUCCESS"] * 2


def test_a_stranger_on_the_port(pair: Pair) -> None:
    """Bytes that are nothing, none at all, and a request in single bytes; meanwhile another connection is served."""
    where = ("127.0.0.2", pair.port)
    with closing(socket.create_connection(where)) as early:
        early.settimeout(5)
        assert _end_of(early) == b""  # before the first VI nobody listens (4.3)
    vis = pair.create(LEVELS[2])
    with closing(socket.create_connection(where)) as mute, closing(socket.create_connection(where)) as rubbish:
        rubbish.sendall(bytes(range(100)))
        rubbish.settimeout(5)
        mute.settimeout(5)
        assert _end_of(rubbish) == b""
        pair.connect(vis)
        assert _end_of(mute) == b""  # after incoming_timeout_us
    with closing(socket.create_connection(where)) as slow:
        slow.settimeout(5)
        request = struct.pack(">BBHIIIIHH", 1, 0x32, 68, 0, 0, 1, 0, 0, 0) + struct.pack(
            ">HHI16sHH16s", 1, 1, 100, b"a".ljust(16, b"\0"), 0, 1, b"?".ljust(16, b"\0")
        )
        for byte in request:
            slow.sendall(bytes([byte]))
        answer = _end_of(slow)
        assert len(answer) == 68 and answer[1] >> 3 == 9  # Connect No Match


def _end_of(stream: socket.socket) -> bytes:
    """What comes until the other side ends the connection."""
    got = b""
    while True:
        try:
            piece = stream.recv(1000)
        except ConnectionResetError:
            return got
        if not piece:
            return got
        got += piece


def test_the_wire_and_the_configuration_have_to_agree(pair: Pair) -> None:
    for wrong, words in (
        (CONFIG_OF_FC, ("its wire is TCP", "wire must be one of tcp")),
        ({**pair.config(1), "host": [host(7)]}, ("not the address of --on", "host must be that of --on")),
        ({**pair.config(1), "host": []}, ("host must be",)),
        ({**pair.config(1), "incoming_timeout_us": 0}, ("incoming_timeout_us must be",)),
    ):
        client = pair.clients[0]
        error = client.finish(client.start("reset", **wrong))["error"]
        assert error["code"] == -32602 and any(w in error["message"] for w in words), error
    assert pair.clients[0].call("reset", **pair.config(1)) == {}


@pytest.mark.parametrize("program", ("agent", "endpoint"))
@pytest.mark.parametrize("spec", ("vitcp:", "vitcp:127.0.0.1", "vitcp:name:5", "vitcp:127.0.0.1:0", "vitcp:127.0.0.1:x",
                                  "vitcp:127.0.0.1:65536", "vitcp:[::1:5", "vitcp:192.0.2.1:5"))  # fmt: skip
def test_where_it_cannot_listen(tmp_path: Path, spec: str, program: str) -> None:
    if program == "agent":
        name, command = "fcvi-agent", [str(AGENT), "--on", spec]
    else:
        name, command = "fcvi", [str(FCVI), "endpoint", "--on", spec, "--control", f"unix:{tmp_path}/c"]
    told = starts.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    assert told.returncode == 2 and told.stderr.startswith(f"{name}: --on {spec}: ") and told.stderr.count("\n") == 1


@pytest.mark.parametrize("more", ([], ["--control", "unix:x", "--listen", "unix:y"], ["--config", "x"]))
def test_an_endpoint_on_sockets_needs_its_control(more: list[str]) -> None:
    command = [str(FCVI), "endpoint", "--on", "vitcp:127.0.0.1:5", *more]
    told = starts.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    assert told.returncode == 2 and "needs --control" in told.stderr


@pytest.mark.skipif(not os.path.exists("/proc/net/if_inet6"), reason="no IP version 6 here")
def test_ip_version_6() -> None:
    told = subprocess.run([AGENT, "--on", f"vitcp:[::1]:{free_port()}"], input="", capture_output=True, text=True, timeout=20)
    assert told.returncode == 0 and told.stderr == ""
