"""``--dut api`` and ``--dut verbs``: a provider of VIPL or of RDMA verbs, judged by its calls alone.

There is no frame, and nobody's port: one or two agents.
"""

from __future__ import annotations

import selectors
import time
from typing import Any, Optional

from fcvi.engine.budget import Limits
from fcvi.engine.upper_tester import METHOD_NOT_FOUND
from .base import AttachError, Dut, DutError, Notification, Reply, Unavailable
from .control import attach_agent
from .inject import Injector
from .planes import Control, monotonic_us

_ANSWER_US = 300  # a call that does not block is answered within this time, mostly
#: Claims about TCP streams, which no case looks at here: the wire is the agents' own. `tcp`, which names the wire, is kept.
_OF_STREAMS = frozenset(("ipv6", "flow_control"))
_GATHER_US = 200  # what belongs together follows within this time
_END_US = 10_000_000  # a process that is told to end has ended within this time
_END_STEP_S = 0.005

_USUAL = {"api": "fcvi-agent", "verbs": "fcvi-verbs-agent"}


class ApiDut(Dut):
    """Agents, each with an end of its own; one agent is both."""

    def __init__(self, wire: str, agents: list[Control], specs: list[str], injector: Optional[Injector] = None) -> None:
        super().__init__()
        self._specs = specs
        self._injector = injector  # without one, faults are asked of the first agent
        self.spec, self.clock = wire, "real"
        self._agents = agents
        self._open: list[tuple[Reply, Control]] = []  # what has not been answered, and whose answer it is
        self._config: dict[str, Any] = {}
        self._latest: Optional[tuple[Reply, Control]] = None
        self._since = monotonic_us()
        self._identify()

    def _identify(self) -> None:
        first = self._agents[0]
        self.implementation, self.version = first.implementation, first.version
        self.pics = {item: claim for item, claim in first.pics.items() if item not in _OF_STREAMS}
        for agent in self._agents:
            if agent.wires is not None and self.spec not in agent.wires:
                raise AttachError(f"--agent: {agent.implementation} makes no calls by themselves: its hello names the wires "
                                  f"{', '.join(agent.wires)}; it has to name {self.spec}")  # fmt: skip
        #: The names for VipOpenNic or verbs.OpenRnic, in the order of the ends.
        self.devices: list[str] = first.devices if len(self._agents) == 1 else [d for a in self._agents for d in a.devices[:1]]
        #: The addresses of these, where their hello has any.
        self.addresses: list[str] = (
            first.addresses if len(self._agents) == 1 else [d for a in self._agents for d in a.addresses[:1]]
        )

    def _now(self) -> int:
        return max(0, monotonic_us() - self._since)

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        """``end`` says whose agent it is. Three methods are not an agent's alone: ``agent.devices`` speaks of all agents, and
        ``agent.restart`` (VIPL) and ``agent.exit`` (verbs) put a new process into the place of one.
        """
        if method == "agent.devices":
            addresses = {"addresses": self.addresses} if self.addresses else {}
            told = {"devices": self.devices, "agents": len(self._agents), **addresses}
            return Reply(method, True, told, time_us=self._now())
        if method == "agent.restart":
            return self._restarted(params.get("end", 0))
        if method == "inject" and self._injector is not None:
            result = self._injector(params)
            return Reply(method, True, result, time_us=self._now())
        end = params.get("end", 0)
        agent = self._agents[end if isinstance(end, int) and 0 <= end < len(self._agents) else 0]
        if method == "agent.exit":
            return self._exited(agent)
        reply = agent.request(method, {name: value for name, value in params.items() if name != "end"})
        if reply.done:
            reply.time_us = self._now()
        else:
            self._open.append((reply, agent))
        self._latest = (reply, agent)
        return reply

    def _restarted(self, end: Any) -> Reply:
        """End the process of the second end from outside, by closing its input or by force. Only what the suite has started
        can be started anew, and the first agent is the one that goes on."""
        if end not in range(1, len(self._agents)) or not self._specs[end].startswith("exec:"):
            return Reply("agent.restart", True, error=(METHOD_NOT_FOUND, "no process of its own"), time_us=self._now())
        self._agents[end].restart()
        self._begin_anew(self._agents[end])
        return Reply("agent.restart", True, {}, time_us=self._now())

    def _exited(self, agent: Control) -> Reply:
        """Have an agent end its own process at once: the agent may run on another host, where only it can do so."""
        self._await_end(agent)
        try:
            agent.restart()
        except DutError as error:
            raise Unavailable(f"the agent ended and cannot be attached again: {error}") from error
        self._begin_anew(agent)
        return Reply("agent.exit", True, {}, time_us=self._now())

    def _await_end(self, agent: Control) -> None:
        """Raises Unavailable when the agent refuses to end, or goes on."""
        try:
            reply = agent.request("agent.exit", {})
            limit = monotonic_us() + _END_US
            while monotonic_us() < limit:
                agent.pump()
                if reply.error is not None:
                    raise Unavailable(f"the agent answered agent.exit with error {reply.error[0]} ({reply.error[1]})")
                time.sleep(_END_STEP_S)
        except DutError:
            return  # the connection is closed: it has ended
        raise Unavailable("the agent goes on after agent.exit")

    def _begin_anew(self, agent: Control) -> None:
        """Set up the process that took the place of one that has ended. Nobody answers what was open in that one."""
        self._open = [(reply, whose) for reply, whose in self._open if whose is not agent]
        if self._latest is not None and self._latest[1] is agent:
            self._latest = None
        end = self._agents.index(agent)
        agent.reset({**self._config, "end": end} if len(self._agents) > 1 else self._config)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        raise Unavailable(f"--dut {self.spec} has no wire: the case needs {method}")

    def _collect(self) -> bool:
        found = False
        for end, agent in enumerate(self._agents):
            agent.pump()
            now = self._now()
            for at_us, method, params in agent.inbox:
                time_us = max(0, at_us - self._since)
                self.inbox.append(Notification(method, {**params, "end": end} if end else params, time_us, time_us))
            found = found or bool(agent.inbox)
            agent.inbox.clear()
            for reply in [r for r, _ in self._open if r.done]:
                reply.time_us, found = now, True
            self._open = [(r, whose) for r, whose in self._open if not r.done]
        return found

    def _listen(self, us: int, latest: Optional[Reply] = None) -> None:
        """Take in what arrives within us, or until the reply is there; of the rest until nothing follows."""
        deadline = monotonic_us() + us
        with selectors.DefaultSelector() as selector:
            for fileno in {agent.fileno() for agent in self._agents} - {None}:
                assert fileno is not None
                selector.register(fileno, selectors.EVENT_READ)
            while True:
                if self._collect() and latest is None:
                    deadline = min(deadline, monotonic_us() + _GATHER_US)
                now = monotonic_us()
                if now >= deadline or (latest is not None and latest.done):
                    return
                selector.select((deadline - now) / 1_000_000)

    def advance(self, us: int) -> None:
        """Wait up to us, or until something arrives. 0: until the agents have taken what they were told."""
        if us > 0:
            self._listen(us)
        elif self._latest is not None:
            reply, agent = self._latest
            self._latest = None
            self._listen(_ANSWER_US, reply)
            if not reply.done:
                agent.sync()
            self._collect()
        else:
            self._collect()
        self.now_us = self._now()

    def reset(self, config: dict[str, Any]) -> None:
        if config.get("wire", "fc") != self.spec:
            raise Unavailable(f"--dut {self.spec} has no wire: it runs the cases that make calls alone")
        self._open, self._latest, self._config = [], None, config
        for end, agent in enumerate(self._agents):
            agent.reset({**config, "end": end} if len(self._agents) > 1 else config)
        self.inbox.clear()
        self._since = monotonic_us()
        self.now_us, self.next_us, self.knows_next = 0, None, False

    def restart(self) -> None:
        for agent in self._agents:
            agent.restart()
        try:
            self._identify()
        except AttachError as error:
            raise DutError(str(error)) from error

    def close(self) -> None:
        for agent in self._agents:
            agent.close()


def attach_api(
    wire: str, agents: list[str], *, rpc_timeout_s: float, log: Optional[int], limits: Limits = Limits(), inject: str = ""
) -> ApiDut:
    """Attach the agents that ``--agent`` and ``--agent2`` name. Raises AttachError and DutError."""
    if not agents[0]:
        raise AttachError(f"--dut {wire}: name the agent that makes the calls: --agent exec:{_USUAL[wire]}")
    injector = Injector(inject) if inject else None
    attached: list[Control] = []
    try:
        for spec in filter(None, agents):
            attached.append(attach_agent(spec, rpc_timeout_s=rpc_timeout_s, log=log, limits=limits))
        return ApiDut(wire, attached, [spec for spec in agents if spec], injector)
    except BaseException:  # an interrupt as well: what was started ends with us
        for agent in attached:
            agent.close()
        raise
