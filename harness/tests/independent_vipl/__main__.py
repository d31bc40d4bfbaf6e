"""The provider as a program that speaks the DUT protocol; --variant NAME chooses among what the texts permit."""

from __future__ import annotations

import argparse
import json
import sys
import threading
from typing import Any, Callable, Optional

from .agent import BLOCKING, Agent, BadCall, Json
from .objects import Loop
from .variants import VARIANTS


PORT = ("port_name", "node_name", "n_port_id", "host", "peer", "topology", "fabric", "class", "login")
"""What a reset with frames has (section 7)."""


class Server:
    """Reads requests, makes the calls in the right threads and writes the answers."""

    def __init__(self, variant: str) -> None:
        self.variant, self.choices = variant, VARIANTS[variant]
        self._writing = threading.Lock()
        self._open = 0
        self._count = threading.Condition()
        self._agent: Optional[Agent] = None
        self._loops: dict[int, Loop] = {}

    def _write(self, message: Json) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":"))
        with self._writing:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()

    def _notify(self, method: str, params: Json) -> None:
        self._write({"method": method, "params": params})

    def _hello(self) -> Json:
        choices = self.choices
        return {
            "implementation": "independent VIPL", "version": self.variant, "clock": "real", "protocol": 2, "wires": ["api"],
            "devices": ["VINIC", "VINIC1"],
            "pics": {
                "client": True, "server": True, "peer_to_peer": True, "loopback": True, "unreliable_delivery": choices.unreliable,
                "reliable_delivery": True, "reliable_reception": choices.reception, "send": True, "rdma_write": True,
                "rdma_read": choices.rdma_read, "immediate_data": True, "max_transfer_size": choices.transfer, "max_vis": 96,
            },
        }

    def _reset(self, params: Json) -> Json:
        alone = params.get("wire") == "api"
        lacking = [] if alone else [name for name in PORT if name not in params]
        if lacking:
            raise BadCall(-32602, f"{lacking[0]} is missing")
        if self._agent is not None:
            with self._agent.world.lock:
                self._agent.world.end()
            with self._count:
                self._count.wait_for(lambda: self._open == 0, 10)
            for loop in self._loops.values():
                loop.stop()
            self._loops = {}
        self._agent = Agent(self.choices, params.get("seed", 1), self._notify)
        if not alone:  # section 5 knows no NIC and no tag
            self._agent.call("VipOpenNic", {})
            self._agent.call("VipCreatePtag", {})
        return {}

    def _answer(self, number: Any, job: Callable[[], Json]) -> None:
        try:
            self._write({"id": number, "result": job()})
        except BadCall as bad:
            self._write({"id": number, "error": {"code": bad.code, "message": str(bad)}})

    def _elsewhere(self, number: Any, job: Callable[[], Json], thread: Optional[int]) -> None:
        with self._count:
            self._open += 1

        def run() -> None:
            self._answer(number, job)
            with self._count:
                self._open -= 1
                self._count.notify_all()
        if thread is None:
            threading.Thread(target=run, daemon=True).start()
        else:
            self._loops.setdefault(thread, Loop()).call(run)

    def serve(self, line: str) -> None:
        """One message."""
        message = json.loads(line)
        number, method, params = message.get("id"), message["method"], message.get("params") or {}
        if number is None:
            return
        if method in ("hello", "reset"):
            self._answer(number, (lambda: self._reset(params)) if method == "reset" else self._hello)
        elif not Agent.knows(method):
            self._write({"id": number, "error": {"code": -32601, "message": f"no method {method}"}})
        elif self._agent is None:
            self._write({"id": number, "error": {"code": -32000, "message": "there was no reset"}})
        else:
            agent, thread = self._agent, params.get("thread")
            if thread is not None or method in BLOCKING:
                self._elsewhere(number, lambda: agent.call(method, params), thread)
            else:
                self._answer(number, lambda: agent.call(method, params))


def main() -> int:
    """Serve until the suite closes the stream."""
    parser = argparse.ArgumentParser(prog="independent_vipl", description="A provider of VIPL for the tests of the suite.")
    parser.add_argument("--variant", choices=sorted(VARIANTS), default="plain", help="Which of the permitted choices it takes.")
    server = Server(parser.parse_args().variant)
    for line in sys.stdin:
        server.serve(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
