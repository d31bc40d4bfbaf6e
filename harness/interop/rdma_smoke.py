"""Tries what has to work before a case is worth a run: the agent's calls over a device, and both ends of a connection.

No verdict on the provider: each step is one that every provider has. `python3 -m harness.interop.rdma_smoke PATH [PATH2]`.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from typing import Any

_ANSWER_S = 30.0


class Agent:
    """A client of the DUT protocol: calls, answers in any order, notifications."""

    def __init__(self, path: str) -> None:
        self._stream = socket.socket(socket.AF_UNIX)
        self._stream.connect(path)
        self._rest = b""
        self._last = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self.notes: list[dict[str, Any]] = []

    def begin(self, method: str, **params: Any) -> int:
        """Send a request; its number."""
        self._last += 1
        line = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}
        self._stream.sendall(json.dumps(line).encode() + b"\n")
        return self._last

    def _take(self, until: float) -> None:
        while b"\n" not in self._rest:
            self._stream.settimeout(max(until - time.monotonic(), 0.01))
            piece = self._stream.recv(65536)
            if not piece:
                raise EOFError("the agent has gone")
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        message = json.loads(line)
        if "id" in message:
            self._answers[message["id"]] = message
        else:
            self.notes.append(message)

    def end(self, number: int, seconds: float = _ANSWER_S) -> dict[str, Any]:
        """The answer to a request."""
        until = time.monotonic() + seconds
        while number not in self._answers:
            self._take(until)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise AssertionError(f"request {number}: {answer['error']}")
        return dict(answer["result"])

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """A call whatever it comes to."""
        return self.end(self.begin(method, **params))

    def good(self, method: str, **params: Any) -> dict[str, Any]:
        """A call that succeeds."""
        result = self.call(method, **params)
        assert result.get("return", "success") == "success", f"{method} {params}: {result}"
        return result

    def note(self, method: str, seconds: float = 5, **members: Any) -> dict[str, Any]:
        """The first notification with these members, taken."""
        until = time.monotonic() + seconds
        while True:
            for note in self.notes:
                if note["method"] == method and members.items() <= note["params"].items():
                    self.notes.remove(note)
                    return dict(note["params"])
            if time.monotonic() > until:
                raise AssertionError(f"no {method} {members} within {seconds} s; there are {self.notes}")
            try:
                self._take(until)
            except TimeoutError:
                continue

    def close(self) -> None:
        """The client goes."""
        self._stream.close()


class End:
    """One end: an RNIC with a QP, a CQ for each queue, and 8 KiB of memory."""

    def __init__(self, agent: Agent, device: str) -> None:
        self.agent = agent
        self.rnic = agent.good("verbs.OpenRnic", device=device)["rnic"]
        self.pd = agent.good("verbs.AllocatePd", rnic=self.rnic)["pd"]
        self.handler = agent.good("verbs.SetCompletionEventHandler", rnic=self.rnic)["handler"]
        self.scq = agent.good("verbs.CreateCq", rnic=self.rnic, entries=32)["cq"]
        self.rcq = agent.good("verbs.CreateCq", rnic=self.rnic, entries=32, handler=self.handler)["cq"]
        self.mem = agent.good("mem.new", length=8192, fill="ee")["mem"]
        rights = ["LOCAL_WRITE", "REMOTE_WRITE", "REMOTE_READ"]
        self.mr = agent.good("verbs.RegisterMr", pd=self.pd, mem=self.mem, access=rights)
        sizes = {"sq_size": 16, "rq_size": 16, "sq_sges": 2, "rq_sges": 2}
        self.qp = agent.good("verbs.CreateQp", pd=self.pd, send_cq=self.scq, recv_cq=self.rcq, **sizes)["qp"]

    def sge(self, offset: int, length: int) -> dict[str, Any]:
        """A piece of the memory."""
        return {"mem": self.mem, "offset": offset, "mr": self.mr["mr"], "length": length}

    def wcs(self, cq: int, count: int) -> list[dict[str, Any]]:
        """So many completions."""
        wcs = self.agent.good("verbs.PollCq", cq=cq, max=count, Timeout=3_000_000)["wcs"]
        assert len(wcs) == count, f"{count} completions, not {wcs}"
        return list(wcs)


def connect(active: End, passive: End, address: str) -> None:
    """Both ends of a connection."""
    listener = passive.agent.good("verbs.Listen", rnic=passive.rnic)
    at = {"address": address, "port": listener["port"]}
    connecting = active.agent.begin("verbs.Connect", qp=active.qp, ord=1, ird=1, private="c0ffee", **at)
    request = passive.agent.note("connect-request", listener=listener["listener"])
    assert request["private"].startswith("c0ffee"), request
    accepted = passive.agent.call("verbs.Accept", request=request["request"], qp=passive.qp, ord=1, ird=1, private="beef")
    connected = active.agent.end(connecting)
    assert accepted["event"] == connected["event"] == "ESTABLISHED", (accepted, connected)
    passive.agent.good("verbs.Unlisten", listener=listener["listener"])


def transfer(left: End, right: End) -> None:
    """A Send with an event, a Write, a Read."""
    right.agent.good("verbs.PostRq", qp=right.qp, wrs=[{"wr_id": "0000000000000010", "sges": [right.sge(4096, 64)]}])
    right.agent.good("verbs.RequestNotification", cq=right.rcq, solicited=False)
    left.agent.call("mem.write", mem=left.mem, offset=0, hex="0123456789abcdef")
    remote = {"addr": right.mr["va"], "rkey": right.mr["rkey"]}
    wrs = [
        {"wr_id": "0000000000000001", "opcode": "SEND", "sges": [left.sge(0, 8)], "flags": ["SIGNALED"]},
        {"wr_id": "0000000000000002", "opcode": "RDMA_WRITE", "sges": [left.sge(0, 8)], "flags": ["SIGNALED"], "remote": remote},
        {"wr_id": "0000000000000003", "opcode": "RDMA_READ", "sges": [left.sge(512, 8)], "flags": ["SIGNALED"], "remote": remote},
    ]
    assert left.agent.good("verbs.PostSq", qp=left.qp, wrs=wrs)["posted"] == 3
    wcs = left.wcs(left.scq, 3)
    assert [(wc["wr_id"][-1], wc["status"], wc["opcode"], wc["qp"]) for wc in wcs] == [
        ("1", "SUCCESS", "SEND", left.qp), ("2", "SUCCESS", "RDMA_WRITE", left.qp),
        ("3", "SUCCESS", "RDMA_READ", left.qp)], wcs  # fmt: skip
    assert right.agent.good("verbs.GetEvent", handler=right.handler, Timeout=3_000_000)["cq"] == right.rcq
    (wc,) = right.wcs(right.rcq, 1)
    assert (wc["wr_id"], wc["status"], wc["opcode"], wc["byte_len"]) == ("0000000000000010", "SUCCESS", "RECV", 8), wc
    for end, offset in ((right, 4096), (right, 0), (left, 512)):
        assert end.agent.call("mem.read", mem=end.mem, offset=offset, length=8)["hex"] == "0123456789abcdef", offset


def disconnect(left: End, right: End) -> None:
    """Both ends hear of the end, and a Receive that is left is flushed."""
    wr = {"wr_id": "0000000000000011", "sges": [right.sge(4096, 64)], "times": 2}
    right.agent.good("verbs.PostRq", qp=right.qp, wrs=[wr])
    left.agent.good("verbs.Disconnect", qp=left.qp)
    right.agent.note("cm", event="DISCONNECTED", qp=right.qp)
    right.agent.call("verbs.Disconnect", qp=right.qp)
    assert {wc["status"] for wc in right.wcs(right.rcq, 2)} == {"WR_FLUSH_ERR"}


def breach(left: End, right: End) -> str:
    """A Write past the end of a region. iWARP: an event at the target; InfiniBand: the initiator's WC."""
    remote = {"addr": f"{int(right.mr['va'], 16) + 8190:016x}", "rkey": right.mr["rkey"]}
    wr = {"wr_id": "0000000000000020", "opcode": "RDMA_WRITE", "sges": [left.sge(0, 8)], "flags": ["SIGNALED"]}
    wr["remote"] = remote
    left.agent.good("verbs.PostSq", qp=left.qp, wrs=[wr])
    (wc,) = left.wcs(left.scq, 1)
    if wc["status"] != "SUCCESS":
        return f"the initiator's WC says {wc['status']}"
    return f"the target's event says {right.agent.note('async', qp=right.qp)['event']}"


def smoke(paths: list[str]) -> list[str]:
    """What was done, a line each. AssertionError: what was not as it has to be."""
    agents = [Agent(path) for path in paths]
    said = []
    try:
        hellos = [agent.call("hello", protocol=2) for agent in agents]
        said.append(f"pics {hellos[0]['pics']}, device {hellos[0]['devices']}, address {hellos[0]['addresses']}")
        for steps in (("transfer", transfer), ("disconnect", disconnect)), (("breach", breach),):
            for agent in agents:
                agent.call("reset", wire="verbs", seed=1)
            left, right = (End(agents[i % len(agents)], hellos[i % len(agents)]["devices"][0]) for i in (0, 1))
            connect(left, right, hellos[-1]["addresses"][0])
            for name, step in steps:
                said.append(f"{name}: {step(left, right) or 'done'}")
        for agent in agents:
            agent.call("reset", wire="verbs", seed=1)
            state = agent.call("agent.state")
            assert not any(state["open"].values()), state
            said.append(f"after a reset: {state['threads']} threads, {state['memory'] // 1024} KiB")
    finally:
        for agent in agents:
            agent.close()
    return said


if __name__ == "__main__":
    print("\n".join(smoke(sys.argv[1:])))
