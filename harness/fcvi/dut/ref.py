"""``--dut ref``: the reference port inside the suite's own process."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.fc import notation
from fcvi.engine.pixit import Pixit
from fcvi.fc.build import RawFrame
from .refserver import RefServer
from .base import Dut, DutError, Notification, Reply, Unavailable


class RefDut(Dut):
    """The reference port, spoken to in the words of the DUT protocol without a transport."""

    _wire, _wire_name, _protocol = "fc", "Fibre Channel", 1

    def __init__(self, spec: str = "ref", edition: str = "2007") -> None:
        super().__init__()
        self.spec, self._edition = spec, edition
        self.clock = "virtual"
        self._attach()

    def _attach(self) -> None:
        self._server = self._serve()
        self._replies: dict[int, Reply] = {}
        self._next_token = 0
        hello = self.request("hello", {"protocol": self._protocol}).result
        self.pics = dict(hello["pics"])
        self.implementation, self.version = hello["implementation"], hello["version"]

    def _serve(self) -> RefServer:
        return RefServer(self._emit, self._answer, edition=self._edition)

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        now = self._server.now_us
        self.inbox.append(Notification(method, params, now, now))

    def _answer(self, token: int, result: Optional[dict[str, Any]], error: Optional[tuple[int, str]]) -> None:
        reply = self._replies.pop(token)
        reply.done, reply.result, reply.error, reply.time_us = True, result or {}, error, self._server.now_us

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        self._next_token += 1
        reply = self._replies[self._next_token] = Reply(method)
        self._server.request(self._next_token, method, params)
        return reply

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._server.notification(method, params)

    def advance(self, us: int) -> None:
        server = self._server
        self.next_us = server.run_until(server.now_us + us)
        self.now_us = server.now_us
        self.knows_next = True

    def reset(self, config: dict[str, Any]) -> None:
        self.inbox.clear()
        if config.get("wire", "fc") != self._wire:
            needed = config.get("wire", "fc")
            raise Unavailable(f"the wire of the reference port is {self._wire_name}; the case needs the wire {needed!r}")
        reply = self.request("reset", config)
        if reply.error is not None:
            raise DutError(f"reset was refused: {reply.error[1]}")
        self.now_us = 0
        self.next_us, self.knows_next = None, False

    def restart(self) -> None:
        self.inbox.clear()
        self._attach()

    def close(self) -> None:
        """The port ends."""
        self._server.close()


class DirectDut(RefDut):
    """The same, and frames go in and out as they are."""

    def _serve(self) -> RefServer:
        return RefServer(self._emit, self._answer, on_frame=self._frame, edition=self._edition)

    def _frame(self, frame: RawFrame) -> None:
        now = self._server.now_us
        self.inbox.append(Notification("frame", None, now, now, frame))

    def send_frame(self, frame: RawFrame) -> None:
        if notation.has_words(frame):
            self._server.frame(frame)
        else:
            super().send_frame(frame)


class StreamDut(RefDut):
    """``--dut ref:vitcp``: the reference port of VI/TCP."""

    _wire, _wire_name, _protocol = "tcp", "VI/TCP", 2

    def __init__(self) -> None:
        super().__init__("ref:vitcp")
        self._profile = ""

    def _serve(self) -> RefServer:
        from .refstreams import StreamServer

        return StreamServer(self._emit, self._answer)

    def settled(self, pixit: Pixit) -> Pixit:
        self._profile = "" if pixit.profile is None else pixit.profile.text
        self._take_numbers()
        return pixit

    def restart(self) -> None:
        super().restart()
        self._take_numbers()

    def _take_numbers(self) -> None:
        from fcvi.vitcp.codec import T0, of_text
        from .refstreams import StreamServer

        assert isinstance(self._server, StreamServer)
        self._server.profile = of_text(self._profile) if self._profile else T0
