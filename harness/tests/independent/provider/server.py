"""The DUT protocol: lines in, lines out, and the clock where the suite moves it."""

from __future__ import annotations

import json
from typing import Any, Callable, Optional

from .agent import Agent, BadCall, Json
from .clock import RealClock, VirtualClock
from .phases import LACKING
from .threads import Steps, Threads
from .variants import VARIANTS, Choices

PORT = ("port_name", "node_name", "n_port_id", "host", "peer", "topology", "fabric", "class", "login")
"""What a reset with frames has (section 7)."""


class Server:
    """Reads requests, makes the calls in the right threads and writes the answers."""

    def __init__(self, variant: str, clock: RealClock, write: Callable[[str], None], choices: Optional[Choices] = None,
                 change: Callable[[Agent], None] = lambda agent: None) -> None:
        self.variant, self.choices, self.clock, self._out = variant, choices or VARIANTS[variant], clock, write
        self._change = change
        self._threads = Threads(clock)
        self._agent: Optional[Agent] = None
        self._own: dict[str, Callable[[Json], Json]] = {"hello": self._hello, "reset": self._reset}
        if isinstance(clock, VirtualClock):
            self._own.update({"clock.advance": self._advance, "clock.next": self._next})

    def _write(self, message: Json) -> None:
        self._out(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")) + "\n")

    def _notify(self, method: str, params: Json) -> None:
        self._write({"method": method, "params": params})

    def _hello(self, _: Json) -> Json:
        choices = self.choices
        return {
            "implementation": "independent VIPL", "version": self.variant, "clock": self.clock.name, "protocol": 2,
            "wires": ["api"], "devices": ["VINIC", "VINIC1"],
            "pics": {
                "client": True, "server": True, "peer_to_peer": choices.phase != "Early Adopter", "loopback": True,
                "unreliable_delivery": choices.unreliable, "reliable_delivery": choices.delivery,
                "reliable_reception": choices.reception, "send": True, "rdma_write": True,
                "rdma_read": choices.rdma_read, "immediate_data": True, "max_transfer_size": choices.transfer,
                "max_vis": choices.most_vis,
            },
        }

    def _reset(self, params: Json) -> Json:
        alone = params.get("wire") == "api"
        lacking = [] if alone else [name for name in PORT if name not in params]
        if lacking:
            raise BadCall(-32602, f"{lacking[0]} is missing")
        if self._agent is not None:
            self._agent.world.end()
            self._threads.run()
        if isinstance(self.clock, VirtualClock):
            self.clock.at_us = 0
        self._threads = Threads(self.clock)
        self._agent = Agent(self.choices, params.get("seed", 1), self._threads, self._notify)
        self._change(self._agent)
        if not alone:  # section 5 knows no NIC and no tag
            self._agent.do_VipOpenNic({})
            self._agent.do_VipCreatePtag({})
        return {}

    # ---- the clock of the suite ----

    def _advance(self, params: Json) -> Json:
        assert isinstance(self.clock, VirtualClock)
        us = params.get("us")
        if isinstance(us, bool) or not isinstance(us, int) or us < 0:
            raise BadCall(-32602, "us is no number of microseconds")
        end = self.clock.at_us + us
        self._threads.run()
        while (left := self._threads.next_us()) is not None and self.clock.at_us + left <= end:
            self.clock.at_us += left
            self._threads.run()
        self.clock.at_us = end
        return {"now_us": end, "next_us": self._threads.next_us()}

    def _next(self, _: Json) -> Json:
        return {"us": self._threads.next_us()}

    # ---- requests ----

    def line(self, raw: bytes) -> None:
        """One message, and all that follows from it now."""
        message = json.loads(raw)
        number, method, params = message.get("id"), message["method"], message.get("params") or {}
        if number is None:
            return
        if method in self._own:
            self._protocol(number, self._own[method], params)
        elif method in LACKING[self.choices.phase] or not (self._agent or Agent).knows(method):
            self._error(number, -32601, f"no method {method}")
        elif self._agent is None:
            self._error(number, -32000, "there was no reset")
        else:
            agent = self._agent
            agent.thread(method, params).do(lambda: self._called(number, agent.call(method, params)))
        self.turn()

    def _protocol(self, number: Any, job: Callable[[Json], Json], params: Json) -> None:
        try:
            if job in (self._advance, self._next) and self._agent is None:
                raise BadCall(-32000, "there was no reset")
            self._write({"id": number, "result": job(params)})
        except BadCall as bad:
            self._error(number, bad.code, str(bad))

    def _called(self, number: Any, call: Steps[Json]) -> Steps[None]:
        try:
            result = yield from call
            self._write({"id": number, "result": result})
        except BadCall as bad:
            self._error(number, bad.code, str(bad))

    def _error(self, number: Any, code: int, message: str) -> None:
        self._write({"id": number, "error": {"code": code, "message": message}})

    def turn(self) -> None:
        """Do all that is due."""
        self._threads.run()

    def wait_s(self) -> Optional[float]:
        """How long there is nothing to do unless a line comes; None: nobody knows."""
        left = self._threads.next_us()
        return None if left is None or isinstance(self.clock, VirtualClock) else left / 1e6
