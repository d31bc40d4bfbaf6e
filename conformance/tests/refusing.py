"""Devices whose adapter does not serve one call: every other one is answered by the device as ever."""

from __future__ import annotations

from typing import Any, Optional

from fcvi.engine.attachment import Dut, Reply


class Refusal:
    """Puts itself between the suite and a device, in the suite's own process. ``method`` is answered with ``code``.

    late: the answer comes with the next turn of the clock, as that of an adapter does that has to think about it.
    """

    def __init__(self, dut: Dut) -> None:
        self.method, self.code, self.late = "", 0, False
        self.made: set[str] = set()  # the methods of the calls since `refuse`
        self._request, self._advance = dut.request, dut.advance
        self._waiting: Optional[Reply] = None
        dut.request, dut.advance = self._asked, self._turned  # type: ignore[method-assign]

    def refuse(self, method: str, code: int, late: bool) -> None:
        """The next case begins, and this method is refused in it."""
        self.method, self.code, self.late = method, code, late
        self.made, self._waiting = set(), None

    def _asked(self, method: str, params: dict[str, Any]) -> Reply:
        self.made.add(method)
        if method != self.method:
            return self._request(method, params)
        reply = Reply(method)
        if self.late:
            self._waiting = reply
        else:
            self._answer(reply)
        return reply

    def _answer(self, reply: Reply) -> None:
        reply.done, reply.error = True, (self.code, "not served")

    def _turned(self, us: int) -> None:
        self._advance(us)
        if self._waiting is not None:
            self._answer(self._waiting)
            self._waiting = None
