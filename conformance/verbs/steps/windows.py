"""Memory windows: which kind the provider has, and a bind of either kind as one WR (errata B64, B65)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Sequence

from .account import Wr
from .scenario import Verbs
from .session import REMOTE_READ, REMOTE_WRITE, Mem, Node, Qp, hex64, nodes, returned, said

_TYPE_2A, _TYPE_2B = 1 << 23, 1 << 24


@dataclass(eq=False)
class Window:
    """A window; rkey is the one that it has now, or had last."""

    node: Node
    mw: int
    kind: int  # 1 or 2
    rkey: int

    def deallocate(self) -> bool:
        """Whether it could be deallocated."""
        return self.node.ok("DeallocateMw", mw=self.mw)


@dataclass
class Bound:
    """What came of a bind: its WR, None when the post was refused (B54), and the rkey that was meant."""

    wr: Optional[Wr]
    rkey: int
    said: str

    @property
    def good(self) -> bool:
        """The bind happened."""
        return self.wr is not None and self.wr.good

    @property
    def status(self) -> str:
        """Of its WC; "refused" for a post that was."""
        return "refused" if self.wr is None else self.wr.status


def kind(t: Verbs) -> int:
    """The type of windows that the device has. 2 where it has that, else 1."""
    return 2 if all(node.attr("device_cap_flags") & (_TYPE_2A | _TYPE_2B) for node in nodes(t)) else 1


def per_qp(t: Verbs) -> bool:
    """Whether a window belongs to the QP that it was bound through: iWARP and type 2B (B65)."""
    return t.iwarp or all(node.attr("device_cap_flags") & _TYPE_2B for node in nodes(t))


def window(node: Node, *, type: Optional[int] = None, pd: Optional[int] = None) -> Window:
    """A window of the best type; its absence or want of room ends the case."""
    t = node.t
    type = type or kind(t)
    made = node.call("AllocateMw", pd=node.pd if pd is None else pd, type=type)
    node.good(made, "9.2.6.7-01", f"a window of type {type}")
    return Window(node, made.integer("mw"), type, made.integer("rkey"))


def next_key(rkey: int) -> int:
    """ibv_inc_rkey."""
    return rkey & 0xFFFFFF00 | rkey + 1 & 0xFF


def bind(qp: Qp, of: Window, mem: Mem, offset: int = 0, length: Optional[int] = None, *, key: Optional[int] = None,
         access: Sequence[str] = (REMOTE_READ, REMOTE_WRITE), addr: Optional[int] = None) -> Bound:  # fmt: skip
    """Bind a window to a part of a region and wait for the WC. On success the window's rkey is the new one."""
    t = qp.t
    size = mem.length - offset if length is None else length
    where = {"mr": mem.mr, "addr": hex64(mem.va + offset if addr is None else addr), "length": size, "access": list(access)}
    if of.kind == 1:
        made = _bind_call(qp, of, where)
    else:
        rkey = next_key(of.rkey) if key is None else key
        posted = qp.post([{"opcode": "BIND_MW", "sges": [], "bind": {"mw": of.mw, "rkey": rkey, **where}}], must=False)
        made = Bound(posted.wrs[0] if posted.wrs else None, rkey, posted.said)
    if made.wr is not None:
        t.reap([made.wr])
    if made.good:
        of.rkey = made.rkey
    return made


def _bind_call(qp: Qp, of: Window, where: dict[str, Any]) -> Bound:
    """ibv_bind_mw: a WR of the send queue that no post makes."""
    account = qp.t.account
    wr_id = account.ids(1)
    call = qp.node.call("BindMw", qp=qp.qp, mw=of.mw, wr_id=hex64(wr_id), flags=["SIGNALED"], **where)
    if not returned(call):
        return Bound(None, of.rkey, said(call))
    wr = Wr(wr_id, "BIND_MW", True, "sq", qp.places["sq"], qp.end, qp, None, "6.2.4-02")
    qp.places["sq"] += 1
    account.add(wr)
    return Bound(wr, call.integer("rkey"), said(call))


def invalidate(qp: Qp, rkey: int, *, must: bool = False) -> Optional[Wr]:
    """Invalidate Local STag, waited for; None when the post was refused."""
    posted = qp.post([{"opcode": "LOCAL_INV", "sges": [], "invalidate": rkey}], must=must)
    qp.t.reap(posted.wrs)
    return posted.wrs[0] if posted.wrs else None


__all__ = ["Bound", "Window", "bind", "invalidate", "kind", "next_key", "per_qp", "window"]
