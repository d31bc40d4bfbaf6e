"""Puts into words what a device does after a letter, that leave out what it chooses for itself (handles, identifiers, order)."""

from __future__ import annotations

from typing import Any

from fcvi.fc import codec
from fcvi.fc.received import Received

from .scenario import WordScenario

_QUIET = frozenset({"ACK_0", "ACK_1"})


class Observer:
    """Follows one word."""

    def __init__(self, t: WordScenario, world: Any) -> None:
        self._t, self._world = t, world
        self._open: list[Any] = []
        self._calls = self._completions = self._errors = 0

    def look(self, new: list[Received]) -> tuple[str, ...]:
        """What came since the last look: frames, returns, completions, callbacks and the state of the VI, sorted: independent
        events have no order.
        """
        t, world = self._t, self._world
        words = [_frame(r) for r in new if r.kind not in _QUIET]
        self._open += [call for call, _ in world.calls[self._calls :]]
        self._calls = len(world.calls)
        for call in list(self._open):
            if call.done:
                self._open.remove(call)
                words.append(f"{call.method}={call.reply.result.get('return', 'error')}")
        done = t.counted.all[self._completions :]
        self._completions = len(t.counted.all)
        for completion in done:
            status = ",".join(sorted(s.removeprefix("VIP_STATUS_") for s in completion.status)) or "nothing"
            words.append(f"{completion.queue}:{status}")
        words += [code for _, code in t.errors[self._errors :]]
        self._errors = len(t.errors)
        words.sort()
        state = t.call("VipQueryVi", vi=world.slot.vi).result().get("State", "?")
        return (*words, str(state).removeprefix("VIP_STATE_").lower())


def _frame(received: Received) -> str:
    kind = received.kind
    if kind in codec.IUS:
        parts = [kind]
        if kind.startswith("CONNECT_RQST"):
            parts.append("retry" if received.dh("RQST_RETRY") else "")
        elif kind.startswith("CONNECT"):
            parts.append("retry" if received.dh("RESP_RETRY") else "")
            parts.append(f"{received.dh('Reason_Code'):02x}" if received.dh("CONN_STS") else "")
        elif kind.startswith("DISCONNECT"):
            parts.append("abort" if received.dh("CONN_SETUP_ABORT") else "")
            parts.append(f"{received.dh('Reason_Code'):02x}" if received.dh("DISC_CONN_STS") else "")
        elif kind.endswith("RESP"):
            parts.append(f"{received.dh('FCVI_FLAGS'):02x}" if received.dh("FCVI_FLAGS") else "")
        return "-".join(p for p in parts if p)
    if kind == "ABTS":
        return "ABTS" if received.exchange.originator == "dut" else "ABTS-theirs"
    return kind
