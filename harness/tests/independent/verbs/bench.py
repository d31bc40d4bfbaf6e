"""Holds what the tests of the model stand on: an agent in this process, and two QPs that are connected."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterable, List, Optional

from .choices import Choices
from .engine import RealClock, VirtualClock
from .server import Server

LIMIT_S = 3.0
FULL = ["LOCAL_WRITE", "REMOTE_WRITE", "REMOTE_READ", "MW_BIND"]
Answer = Dict[str, Any]


class Agent:
    """An agent, and what it has told."""

    def __init__(self, flavour: str = "iwarp", settings: Iterable[str] = (), fault: Optional[str] = None, devices: int = 1,
                 clock: Optional[RealClock] = None) -> None:
        self.told: List[Answer] = []
        self.answers: Dict[int, Answer] = {}
        self.flavour = flavour
        names, addresses = ["model0", "model1"][:devices], ["127.0.0.1", "127.0.0.2"][:devices]
        self.clock = clock or VirtualClock()
        self.server = Server(flavour, Choices(settings), fault, self._line, names, addresses, self.clock)
        self._count = 0
        self.call("hello", protocol=2)
        self.call("reset", wire="verbs", seed=1)

    def _line(self, text: str) -> None:
        message = json.loads(text)
        if "id" in message:
            self.answers[message["id"]] = message
        else:
            self.told.append({"method": message["method"], **message["params"]})

    def send(self, method: str, **params: Any) -> int:
        """A call, without waiting for its answer."""
        self._count += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})
        self.server.line(line.encode())
        return self._count

    def turn(self) -> None:
        """Let a little time pass."""
        wait = self.server.wait_us()
        us = min(2_000, 2_000 if wait is None else wait)
        if isinstance(self.clock, VirtualClock):
            self.clock.at_us += us
        else:
            self.server.model.engine.look(us)
        self.server.turn()

    def answer(self, ident: int) -> Answer:
        """The answer to a call; an error of the protocol has `error`."""
        until = self.clock.now_us() + LIMIT_S * 1e6
        while ident not in self.answers:
            assert self.clock.now_us() < until, f"no answer to call {ident}"
            self.turn()
        message = self.answers.pop(ident)
        found: Answer = message["result"] if "result" in message else message
        return found

    def call(self, method: str, **params: Any) -> Answer:
        """A call and its answer."""
        return self.answer(self.send(method, **params))

    def verb(self, name: str, **params: Any) -> Answer:
        """A verb that succeeds."""
        found = self.call(f"verbs.{name}", **params)
        assert found.get("return") == "success", (name, params, found)
        return found

    def refused(self, name: str, **params: Any) -> Answer:
        """A verb that is refused with an Immediate Error."""
        found = self.call(f"verbs.{name}", **params)
        assert found.get("return") == "immediate-error" and found["errno"] > 0, (name, found)
        return found

    def until(self, what: Any, limit: float = LIMIT_S) -> bool:
        """Wait until something holds."""
        end = self.clock.now_us() + limit * 1e6
        while not what():
            if self.clock.now_us() > end:
                return False
            self.turn()
        return True

    def rest(self, seconds: float) -> None:
        """Let time pass."""
        self.until(lambda: False, seconds)

    def events(self, method: str, **members: Any) -> List[Answer]:
        """The notifications with these members."""
        return [one for one in self.told if one["method"] == method and all(one.get(name) == value for name,
                                                                            value in members.items())]


class Buffer:
    """Memory and a region over it."""

    def __init__(self, agent: Agent, pd: int, length: int = 256, access: Optional[List[str]] = None, fill: str = "00",
                 **more: Any) -> None:
        self.agent, self.length = agent, length
        made = agent.call("mem.new", length=length, fill=fill)
        self.mem, self.va = made["mem"], int(made["va"], 16)
        found = agent.verb("RegisterMr", pd=pd, mem=self.mem, access=FULL if access is None else access, **more)
        self.mr, self.lkey, self.rkey = found["mr"], found["lkey"], found["rkey"]

    def sge(self, length: int, offset: int = 0) -> Answer:
        """An SGE of it."""
        return {"mem": self.mem, "mr": self.mr, "offset": offset, "length": length}

    def remote(self, offset: int = 0) -> Answer:
        """Where a peer finds it."""
        return {"addr": f"{self.va + offset & (1 << 64) - 1:016x}", "rkey": self.rkey}

    def put(self, text: str, offset: int = 0) -> None:
        """Write into it."""
        self.agent.call("mem.write", mem=self.mem, offset=offset, hex=text)

    def get(self, length: int, offset: int = 0) -> str:
        """Read from it."""
        found: str = self.agent.call("mem.read", mem=self.mem, offset=offset, length=length)["hex"]
        return found


class End:
    """A QP with its PD and CQs."""

    def __init__(self, agent: Agent, rnic: int, pd: Optional[int] = None, **qp: Any) -> None:
        self.agent, self.rnic = agent, rnic
        self.pd = agent.verb("AllocatePd", rnic=rnic)["pd"] if pd is None else pd
        self.handler = agent.verb("SetCompletionEventHandler", rnic=rnic)["handler"]
        self.scq = agent.verb("CreateCq", rnic=rnic, entries=64, handler=self.handler)["cq"]
        self.rcq = agent.verb("CreateCq", rnic=rnic, entries=64, handler=self.handler)["cq"]
        made = agent.verb("CreateQp", **{"pd": self.pd, "send_cq": self.scq, "recv_cq": self.rcq, "sq_size": 16, "rq_size": 16,
                                         "sq_sges": 4, "rq_sges": 4, **qp})
        self.qp, self.qp_num, self.cap = made["qp"], made["qp_num"], made["cap"]

    def state(self) -> str:
        """As Query QP tells it."""
        found: str = self.agent.verb("QueryQp", qp=self.qp)["state"]
        return found

    def post(self, opcode: str, sges: List[Answer], wr_id: int = 1, flags: Iterable[str] = ("SIGNALED",), **more: Any) -> Answer:
        """One WR of the Send Queue."""
        wr = {"wr_id": f"{wr_id:016x}", "opcode": opcode, "sges": sges, "flags": list(flags), **more}
        return self.agent.call("verbs.PostSq", qp=self.qp, wrs=[wr])

    def receive(self, sges: List[Answer], wr_id: int = 1, times: int = 1) -> Answer:
        """One WR of the Receive Queue, or more."""
        return self.agent.call("verbs.PostRq", qp=self.qp, wrs=[{"wr_id": f"{wr_id:016x}", "sges": sges, "times": times}])

    def poll(self, cq: int, most: int = 1, seconds: float = 0.4) -> List[Answer]:
        """WCs of a CQ."""
        found: List[Answer] = self.agent.verb("PollCq", cq=cq, max=most, Timeout=int(seconds * 1e6))["wcs"]
        return found

    def sent(self, most: int = 1, seconds: float = 0.4) -> List[Any]:
        """WR ID and status of what the Send Queue completed."""
        return [(int(wc["wr_id"], 16), wc["status"]) for wc in self.poll(self.scq, most, seconds)]

    def received(self, most: int = 1, seconds: float = 0.4) -> List[Any]:
        """The same of the Receive Queue."""
        return [(int(wc["wr_id"], 16), wc["status"]) for wc in self.poll(self.rcq, most, seconds)]

    def to(self, state: str, **more: Any) -> Answer:
        """Modify QP."""
        return self.agent.call("verbs.ModifyQp", qp=self.qp, state=state, **more)


class Pair:
    """Two QPs of one agent, connected."""

    def __init__(self, flavour: str = "iwarp", settings: Iterable[str] = (), fault: Optional[str] = None, devices: int = 1,
                 join: bool = True, wish: Any = (4, 4), **qp: Any) -> None:
        self.agent = Agent(flavour, settings, fault, devices)
        self.rnics = [self.agent.verb("OpenRnic", device=name)["rnic"] for name in self.agent.server.names]
        self.left, self.right = End(self.agent, self.rnics[0], **qp), End(self.agent, self.rnics[-1], **qp)
        self.source, self.sink = Buffer(self.agent, self.left.pd, fill="a1"), Buffer(self.agent, self.right.pd)
        if join:
            self.join(wish)

    def join(self, wish: Any = (4, 4), access: Optional[List[str]] = None) -> None:
        """Connect left to right."""
        join(self.left, self.right, wish, access)


def join(left: End, right: End, wish: Any = (4, 4), access: Optional[List[str]] = None) -> List[Answer]:
    """Connect two ends of one agent."""
    agent = left.agent
    top = agent.verb("QueryRnic", rnic=left.rnic)["attributes"]["max_qp_rd_atom"]
    wish = [min(number, top) for number in wish]
    listening = agent.verb("Listen", rnic=right.rnic)
    device = agent.server.model.objects[right.rnic].device
    rights = {} if access is None else {"access": access}
    before = len(agent.events("connect-request"))
    asked = agent.send("verbs.Connect", qp=left.qp, address=device.address, port=listening["port"], ord=wish[0], ird=wish[1],
                       **rights)
    assert agent.until(lambda: len(agent.events("connect-request")) > before)
    request = agent.events("connect-request")[-1]["request"]
    taken = agent.verb("Accept", request=request, qp=right.qp, ord=wish[0], ird=wish[1], **rights)
    given = agent.answer(asked)
    assert given["event"] == taken["event"] == "ESTABLISHED", (given, taken)
    agent.verb("Unlisten", listener=listening["listener"])
    return [given, taken]
