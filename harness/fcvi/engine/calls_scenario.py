"""The primitives of a case that makes calls alone: two ends of one provider, and no wire between them that anybody sees.

``s.ends[0]`` and ``s.ends[1]`` are two NICs of one agent, a NIC each of two agents, or the same NIC twice where the device
has one only. What an end is told begins with ``end.call`` or ``end.start``; the calls and their members are those of section
9 of the DUT protocol. What handlers said is in ``s.notifies`` and ``s.handled``.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional

from .attachment import DutError, Notification
from .pixit import Pixit
from .scenario import Scenario
from .upper_tester import Call
from .words import as_json

#: Calls that take a NIC handle: an end puts its own there unless the case says otherwise.
_OF_A_NIC = frozenset((
    "VipCloseNic", "VipQueryNic", "VipErrorCallback", "VipCreatePtag", "VipDestroyPtag", "VipCreateVi", "VipConnectWait",
    "VipRegisterMem", "VipDeregisterMem", "VipQueryMem", "VipSetMemAttributes", "VipCreateCQ", "VipNSInit",
    "VipNSGetHostByName", "VipNSGetHostByAddr", "VipNSShutdown", "VipQuerySystemManagementInfo",
))  # fmt: skip


def configuration(pixit: Pixit, seed: int, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of ``reset`` for one variant: nothing is open after it."""
    return {"wire": "api", "seed": seed, "r_a_tov_us": pixit.r_a_tov_us, **changes}


class Handled(NamedTuple):
    """A handler that was called: its notification, the end where it was, and when the suite heard of it."""

    end: int
    params: Mapping[str, Any]
    time_us: int

    def get(self, name: str) -> Any:
        """A member of the notification; None when it is not there."""
        return self.params.get(name)


class End:
    """One end: an agent, and the NIC on it that this end opens."""

    def __init__(self, scenario: CallScenario, number: int, device: Optional[str]) -> None:
        self._scenario, self.number = scenario, number
        self.device = device  # the name for VipOpenNic; None: the agent's default
        self.nic: Optional[int] = None  # the NIC that was opened last and successfully

    def start(self, method: str, **params: Any) -> Call:
        """Start a call that may block. VipOpenNic opens this end's device unless it is told another."""
        if method in _OF_A_NIC and self.nic is not None:
            params.setdefault("nic", self.nic)
        if method == "VipOpenNic" and self.device is not None:
            params.setdefault("DeviceName", self.device)
        call = self._scenario.start(method, **params, **({"end": self.number} if self.number else {}))
        self._learn(call)
        return call

    def call(self, method: str, **params: Any) -> Call:
        """A call, waited for: also one that may block, as long as the agent may take for any."""
        call = self.start(method, **params)
        scenario = self._scenario
        if not call.done and not scenario.until(lambda: call.done, scenario.patience_us):
            raise DutError(f"{method} was not answered within {scenario.patience_us} us")
        scenario.own.awaited(call.reply)
        self._learn(call)
        return call

    def _learn(self, call: Call) -> None:
        if call.method == "VipOpenNic" and call.done and call.reply.result.get("return") == "VIP_SUCCESS":
            self.nic = call.integer("nic")


class CallScenario(Scenario):
    """One run of one case variant against a provider that is judged by its calls alone."""

    #: How long `End.call` waits. A case that tries whether a call returns says how long by `start` and `until`.
    patience_us = 5_000_000

    @classmethod
    def words(cls) -> dict[str, dict[int, frozenset[str]]]:
        """The ends make the calls."""
        of_all = super().words()
        return {**of_all, ".call": of_all["call"], ".start": of_all["start"]}

    def __init__(self, *of_the_run: Any) -> None:
        super().__init__(*of_the_run)
        #: ``notify``: the handlers of the Notify calls, in the order in which they were called.
        self.notifies: list[Handled] = []
        #: ``error``: the handlers of VipErrorCallback.
        self.handled: list[Handled] = []
        with self.looking_at_errors():
            asked = self.start("agent.devices")  # a call, so that the evidence has the answer
        self.until(lambda: asked.done, self.patience_us)
        named = asked.reply.result.get("devices") if asked.reply.error is None else None
        devices = [str(name) for name in named] if isinstance(named, list) else []
        first = devices[0] if devices else None
        #: How many agents have the two ends.
        self.agents = int(asked.reply.result.get("agents", 1)) if asked.reply.error is None else 1
        #: The two ends of a connection.
        self.ends = (End(self, 0, first), End(self, 1, devices[1] if len(devices) > 1 else first))

    def _take_in(self, note: Notification) -> None:
        if note.method not in ("notify", "error"):
            super()._take_in(note)
            return
        end = note.params.get("end", 0)
        told = Handled(end if isinstance(end, int) else 0, note.params, note.time_us)
        if note.method == "notify":
            if note.params.get("what") not in ("VipSendNotify", "VipRecvNotify", "VipCQNotify"):
                raise DutError(f"notify notification broke the DUT protocol: {as_json(note.params, 120)}")
            self.notifies.append(told)
            self.log.append(f"{note.time_us} us: notify at end {told.end}: {as_json(note.params, 200)}")
        else:
            self.handled.append(told)
            super()._take_in(note)


__all__ = ["CallScenario", "End", "Handled", "configuration"]
