"""Single faults of the provider: each breaks one sentence of the texts, which the row of the catalogue names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

from . import codes as c
from .agent import Agent, Json
from .objects import Nic
from .threads import Steps


@dataclass(frozen=True)
class Fault:
    """A fault: the row that it breaks, the cases in which it shows, and what becomes of an agent with it."""

    row: str
    cases: str
    change: Callable[[Agent], None]
    variant: str = "plain"


def _result(method: str, change: Callable[[Agent, Json, Json], Json]) -> Callable[[Agent], None]:
    """What a call gives is changed."""

    def of(agent: Agent) -> None:
        real = getattr(agent, f"do_{method}")
        setattr(agent, f"do_{method}", lambda p: change(agent, p, real(p)))
    return of


def _query_tells_write(agent: Agent, p: Json, result: Json) -> Json:
    result["ViAttribs"]["EnableRdmaWrite"] = True
    return result


def _second_connection_loses_receives(agent: Agent) -> None:
    real = agent.connecting._join

    def join(one: Any, two: Any) -> None:
        for vi in (one, two):
            if vi.partner is not None:
                vi.receive.work.clear()
        real(one, two)
    agent.connecting._join = join  # type: ignore[method-assign]


def _one_handler(agent: Agent, p: Json, result: Json) -> Json:
    last: Nic = agent._nic(p)
    for nic in agent.world.nics:
        nic.handler = last.handler
    return result


def _resource_cq(agent: Agent) -> None:
    real = agent.world.report

    def report(said: Any) -> None:
        said.resource = "VIP_RESOURCE_CQ"
        real(said)
    agent.world.report = report  # type: ignore[method-assign]


def _sleeps_on(agent: Agent) -> None:
    def wait(p: Json) -> Steps[Json]:
        yield from agent.world.until(lambda: False, None)
        return {"return": c.TIMEOUT}
    agent.do_VipRecvWait = wait  # type: ignore[method-assign]


def _idle_error_forgotten(agent: Agent) -> None:
    real = agent.transfer._catastrophe

    def catastrophe(vi: Any, code: str, va: int) -> None:
        if vi.state != c.IDLE:
            real(vi, code, va)
    agent.transfer._catastrophe = catastrophe  # type: ignore[method-assign]


def _refused_cq_stays(agent: Agent) -> None:
    real, refused = agent.connecting.create_cq, [0]

    def create(nic: Nic, entries: int) -> Any:
        code, cq = (c.RESOURCE, None) if refused[0] else real(nic, entries)
        refused[0] += code == c.RESOURCE
        return code, cq
    agent.connecting.create_cq = create  # type: ignore[method-assign]


def _read_enable_taken(agent: Agent) -> None:
    real = agent.world._rights
    agent.world._rights = lambda nic, ptag, read: real(nic, ptag, False)  # type: ignore[method-assign]


FAULTS: dict[str, Fault] = {
    "query-tells-write": Fault("G3.7.3-01", "VIPL.S1*", _result("VipQueryVi", _query_tells_write)),
    "second-connection-loses-receives": Fault("S4.1-01", "VIPL.K5*", _second_connection_loses_receives),
    "one-handler": Fault("G3.8.1-01", "VIPL.E1*", _result("VipErrorCallback", _one_handler)),
    "resource-is-a-cq": Fault("G4.4-02", "VIPL.E2*", _resource_cq),
    "recv-wait-sleeps-on": Fault("G3.5.6-01", "VIPL.C37*", _sleeps_on),
    "idle-error-forgotten": Fault("S5.1-06", "VIPL.S6*", _idle_error_forgotten),
    "refused-cq-stays": Fault("S3.4-05", "VIPL.L4", _refused_cq_stays),
    "read-enable-taken": Fault("G3.4.3-08", "VIPL.C32", _read_enable_taken, "least"),
}
