"""``--agent exec:``, ``unix:`` and ``tcp:``: the control plane over a stream, as the DUT protocol has it."""

from __future__ import annotations

import time
from typing import Any, Optional

from fcvi.engine.budget import Limits
from .base import AttachError, DutError, Reply, Unavailable
from .manual import ManualControl
from .planes import Control, monotonic_us
from .rpc import INVALID_PARAMS, RpcDut


def attach_agent(spec: str, *, rpc_timeout_s: float, log: Optional[int], limits: Limits = Limits()) -> Control:
    """The control plane that ``--agent`` names. Raises AttachError and DutError."""
    kind, _, rest = spec.partition(":")
    if kind in ("exec", "unix", "tcp") and rest:
        return RpcControl(spec, rpc_timeout_s=rpc_timeout_s, log=log, limits=limits)
    if spec == "manual":
        return ManualControl()
    raise AttachError(f"--agent {spec}: unknown agent; use exec:COMMAND, unix:PATH, tcp:HOST:PORT or manual")


class ControlStream(RpcDut):
    """The client of the DUT protocol without its frames and its clock."""

    option = "--agent"

    def fileno(self) -> int:
        """Readable when a line may have arrived."""
        return self._stream.fileno()

    def pump(self) -> None:
        """Take in the lines that are there; no more of them than one step may bring."""
        while (line := self._stream.receive(time.monotonic())) is not None:
            self._take(line)

    def configure(self, config: dict[str, Any]) -> Reply:
        """``reset``, with its answer; what was open before is forgotten."""
        self._budget.next_case()
        reply = self.request("reset", config)
        self._wait(reply)
        self.inbox.clear()
        if reply.error is not None:
            self._forget()
        else:  # what was open has been answered before
            self._replies.clear()
            self._forgotten.clear()
        return reply


class RpcControl(Control):
    """An agent behind a stream."""

    def __init__(self, spec: str, *, rpc_timeout_s: float, log: Optional[int], limits: Limits = Limits()) -> None:
        super().__init__()
        self._rpc = ControlStream(spec, rpc_timeout_s=rpc_timeout_s, log=log, limits=limits)
        self._identify()

    def _identify(self) -> None:
        rpc = self._rpc
        if rpc.clock != "real":
            rpc.close()
            raise AttachError(f"--agent {rpc.spec}: its clock is {rpc.clock}; a live interface needs a real one")
        self.implementation, self.version, self.pics = rpc.implementation, rpc.version, rpc.pics
        self.wires, self.devices, self.addresses = tuple(rpc.wires), rpc.devices, rpc.addresses

    def fileno(self) -> Optional[int]:
        return self._rpc.fileno()

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        return self._rpc.request(method, params)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._rpc.notify(method, params)

    def pump(self) -> None:
        self._rpc.pump()
        now = monotonic_us()
        while self._rpc.inbox:
            note = self._rpc.inbox.popleft()
            if note.method == "frame":
                raise DutError("the agent sent a frame; frames go over the interface")
            self.inbox.append((now, note.method, note.params))

    def sync(self) -> bool:
        self._rpc.sync()
        return True

    def reset(self, config: dict[str, Any]) -> None:
        reply = self._rpc.configure(config)
        if reply.error is not None and reply.error[0] == INVALID_PARAMS:
            raise Unavailable(f"the device cannot be configured so: {reply.error[1]}")
        if reply.error is not None:
            raise DutError(f"reset was answered with error {reply.error[0]} ({reply.error[1]})")
        self.inbox.clear()

    def restart(self) -> None:
        self._rpc.restart()
        self._identify()

    def close(self) -> None:
        self._rpc.close()
