"""Connections (section 4 of the protocol)."""

from __future__ import annotations

from typing import Optional, Tuple

from . import connections
from .caller import Answer, Caller, Wait
from .connections import BOTH, Conn, Listener, Request
from .model import Context
from .qp import Qp
from .words import RIGHTS, BadParams, Params, Refused, bits, number, octets


class CmCalls(Caller):
    """Connections (section 4 of the protocol)."""

    def listen(self, params: Params) -> Answer:
        """rdma_listen on a port of the agent's choice."""
        listener = Listener(self._thing(params, "rnic", Context))
        listener.number = self.model.keep(listener)
        return {"listener": listener.number, "port": listener.port}

    def unlisten(self, params: Params) -> Answer:
        """No requests any more."""
        listener: Listener = self._thing(params, "listener", Listener)
        listener.close()
        return self._gone(params, "listener")

    def _wish(self, params: Params) -> Tuple[Tuple[int, int], bytes, int, Optional[int]]:
        wish = (number(params, "ord", 1), number(params, "ird", 1))
        access = bits(params["access"], RIGHTS, "access") if params.get("access") is not None else BOTH
        return wish, octets(params, "private", "", 512), access, number(params, "Timeout", 5_000_000)

    def connect(self, params: Params) -> Wait:
        """rdma_connect, up to the event that ends it."""
        qp: Qp = self._thing(params, "qp", Qp)
        address, port = params.get("address"), number(params, "port", top=1 << 16)
        if not isinstance(address, str):
            raise BadParams("address: text is needed")
        wish, private, access, us = self._wish(params)
        try:
            conn = connections.connect(qp, address, port, wish, private, access)
        except Refused as refused:
            raise Refused(refused.number, event=None, status=0, ord=0, ird=0, private="") from None
        return self._standing(conn, us)

    def accept(self, params: Params) -> Wait:
        """rdma_accept, up to the event that ends it."""
        request: Request = self._thing(params, "request", Request)
        qp: Qp = self._thing(params, "qp", Qp)
        wish, private, access, us = self._wish(params)
        try:
            conn = connections.accept(request, qp, wish, private, access)
        except Refused as refused:
            raise Refused(refused.number, event=None, status=0, ord=0, ird=0, private="") from None
        return self._standing(conn, us)

    def _standing(self, conn: Conn, us: Optional[int]) -> Wait:
        def attempt(last: bool) -> Optional[Answer]:
            if conn.result is None and not last:
                return None
            event, status, private = conn.result or (None, 0, b"")
            told = {"event": event, "status": status, "ord": conn.ord, "ird": conn.ird, "private": private.hex()}
            if event != "ESTABLISHED":
                if event is None:
                    conn.send(("rst",))
                    conn.drop()
                    if conn.qp.state in ("RTS", "RTR"):
                        conn.qp.to_error()
                raise Refused(status or 110, **told)
            return told

        return Wait(us, attempt)

    def reject(self, params: Params) -> Answer:
        """rdma_reject."""
        request: Request = self._thing(params, "request", Request)
        connections.reject(request, octets(params, "private", "", 512))
        return {}

    def disconnect(self, params: Params) -> Answer:
        """rdma_disconnect."""
        connections.disconnect(self._thing(params, "qp", Qp))
        return {}
