"""Clients of the agent, and ends of a connection between them, for what drives a lane of `make interop-rdma` besides the suite."""

from __future__ import annotations

import json
import socket
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
