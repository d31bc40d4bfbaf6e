"""Connections: requests, answers, the stream between two QPs, and its end (section 4 of the protocol; 6.6)."""

from __future__ import annotations

import marshal
import socket
import struct
from typing import TYPE_CHECKING, Any, Callable, Optional, Tuple

from . import receiving
from .qp import IDLE
from .sending import pump
from .words import ECONNREFUSED, EINVAL, EISCONN, ENOTCONN, MW_BIND, REMOTE_READ, REMOTE_WRITE, Refused

if TYPE_CHECKING:
    from .model import Context, Model
    from .qp import Qp

Message = Tuple[Any, ...]
BOTH = REMOTE_READ | REMOTE_WRITE
DATA = ("send", "write", "rreq")
MOST = 1 << 28
LATE_US = {"at-once": 0, "late": 1_000, "far": 100_000, "uneven": 50_000}


class LocalPipe:
    """One end of a stream within this process."""

    def __init__(self, model: "Model") -> None:
        self.engine, self.late = model.engine, LATE_US[model.choose.wire]
        self.peer: Optional["LocalPipe"] = None
        self.sink: Optional[Callable[[Message], None]] = None

    def send(self, message: Message, us: int = 0) -> None:
        """In order, but for what is to be late."""
        assert self.peer
        if us or self.late:
            self.engine.after(us + self.late, self.peer.arrive, message)
        else:
            self.engine.soon(self.peer.arrive, message)

    def arrive(self, message: Message) -> None:
        """What the other end sent."""
        if self.sink:
            self.sink(message)

    def shut(self) -> None:
        """Nothing more is taken."""
        self.sink = None


def pair(model: "Model") -> Tuple[LocalPipe, LocalPipe]:
    """Two ends."""
    one, two = LocalPipe(model), LocalPipe(model)
    two.late = 0 if model.choose.wire == "uneven" else two.late
    one.peer, two.peer = two, one
    return one, two


class SocketPipe:
    """One end of a stream to another process of this program."""

    def __init__(self, model: "Model", sock: socket.socket) -> None:
        self.engine, self.sock = model.engine, sock
        self.late = LATE_US[model.choose.wire]
        self.sink: Optional[Callable[[Message], None]] = None
        self._held = b""
        sock.setblocking(True)
        self.engine.watch(sock, self._read)

    def send(self, message: Message, us: int = 0) -> None:
        """In order, but for what is to be late."""
        if us or self.late:
            self.engine.after(us + self.late, self._write, message)
        else:
            self._write(message)

    def _write(self, message: Message) -> None:
        data = marshal.dumps(message)
        try:
            self.sock.sendall(struct.pack("<I", len(data)) + data)
        except OSError:
            pass

    def _read(self) -> None:
        try:
            data = self.sock.recv(1 << 18)
        except OSError:
            data = b""
        if not data:
            self.engine.forget(self.sock)
            if self.sink:
                self.sink(("rst",))
            return
        self._held += data
        while len(self._held) >= 4:
            size = struct.unpack_from("<I", self._held)[0]
            if size > MOST:
                self.shut()
                return
            if len(self._held) < 4 + size:
                return
            try:
                message = marshal.loads(self._held[4:4 + size])
            except (ValueError, EOFError, TypeError):
                self.shut()
                return
            self._held = self._held[4 + size:]
            if self.sink:
                self.sink(message)

    def shut(self) -> None:
        """Nothing more is taken."""
        self.sink = None
        self.engine.forget(self.sock)
        self.sock.close()


class Listener:
    """A port that waits for requests."""

    kind = "listener"

    def __init__(self, context: "Context") -> None:
        self.context = context
        self.number = 0
        self.model: "Model" = context.device.model
        self.sock: Optional[socket.socket] = None
        if self.model.alone:
            self.port = self.model.port()
        else:
            self.sock = socket.create_server((context.device.address, 0), backlog=16)
            self.port = self.sock.getsockname()[1]
            self.model.engine.watch(self.sock, self._accept)
        self.model.listeners[(context.device.address, self.port)] = self

    def _accept(self) -> None:
        assert self.sock
        sock, _ = self.sock.accept()
        self.meet(SocketPipe(self.model, sock))

    def meet(self, pipe: Any) -> None:
        """Somebody comes."""
        Request(self, pipe)

    def close(self) -> None:
        """No port any more."""
        self.model.listeners.pop((self.context.device.address, self.port), None)
        if self.sock:
            self.model.engine.forget(self.sock)
            self.sock.close()


class Request:
    """A request that came, until it is accepted or rejected."""

    kind = "request"

    def __init__(self, listener: Listener, pipe: Any) -> None:
        self.listener, self.context, self.pipe = listener, listener.context, pipe
        self.ord = self.ird = 0
        self.gone = False
        pipe.sink = self._arrive

    def _arrive(self, message: Message) -> None:
        if message[0] == "req":
            model = self.listener.model
            _, self.ird, self.ord, private = message
            number = model.keep(self)
            model.notify("connect-request", {"listener": self.listener.number, "request": number, "ord": self.ord, "ird": self.ird,
                                             "private": private.hex(), "at_us": model.now_us()})
        else:
            self.gone = True


class Conn:
    """A connection of a QP: the CM's part, and the stream."""

    def __init__(self, qp: "Qp", pipe: Any, active: bool, wish: Tuple[int, int]) -> None:
        self.qp, self.pipe, self.active = qp, pipe, active
        self.model: "Model" = qp.model
        self.ord, self.ird = wish
        self.up = self.over = self.told = self.down = self.broken = self.lossy = False
        self.result: Optional[Tuple[str, int, bytes]] = None
        pipe.sink = self.arrive

    def send(self, message: Message, us: int = 0) -> None:
        """To the peer."""
        if self.broken and message[0] in DATA:
            self.model.engine.after(receiving.LOST_US, self.arrive, ("nak", message[-1], "lost"))
        elif not self.over:
            self.pipe.send(message, us)

    def arrive(self, message: Message) -> None:
        """From the peer."""
        kind = message[0]
        if kind == "rep":
            _, their_ord, their_ird, private = message
            self._granted(their_ird)
            self._stand("ESTABLISHED", private)
            self.send(("rtu",))
            pump(self.qp)
        elif kind == "rtu":
            self._stand("ESTABLISHED", b"")
            pump(self.qp)
        elif kind == "rej":
            self.result = ("REJECTED", message[2], message[1])
            self.drop()
        elif kind == "dreq":
            self.send(("drep",))
            self.disconnected()
        elif kind == "drep":
            self.disconnected()
        elif kind == "rst" and self.up and self.model.flavour == "ib":
            self._silence()
        elif self.up or self.qp.state == "RTR":
            self._stream(message)
        elif kind == "rst":
            self.result = ("CONNECT_ERROR", 104, b"")
            self.drop()

    def _stream(self, message: Message) -> None:
        if self.model.fault == "first-message-lost" and not self.active and not self.lossy:
            self.lossy = True
        elif self.qp.conn is self:
            receiving.message(self.qp, message)
        elif self.model.flavour == "ib" and message[0] in DATA:
            self.send(("nak", message[-1], "lost"), receiving.LOST_US)

    def _silence(self) -> None:
        """The process of the peer is gone (ib)."""
        self.broken = True
        self.disconnected()
        if self.qp.inflight:
            self.model.engine.after(receiving.LOST_US, self.arrive, ("nak", self.qp.inflight[0].psn, "lost"))

    def _granted(self, their_ird: int) -> None:
        self.ord = min(self.ord, their_ird)
        if self.model.choose.ord_granted == "one":
            self.ord = min(self.ord, 1)
        self.ird += self.model.choose.ird_granted == "more"
        if self.model.fault == "ord-granted-zero":
            self.ord = 0
        elif self.model.fault == "ord-granted-more":
            self.ord += 1

    def _stand(self, event: str, private: bytes) -> None:
        self.up = True
        if self.model.choose.established == "late":
            self.model.engine.after(20_000, self._told, (event, 0, private))
        else:
            self._told((event, 0, private))
        self.begin("RTS")
        self.model.stray()
        if self.model.choose.extra_events == "yes":
            self.model.tell("COMM_EST", qp=self.qp)

    def _told(self, result: Tuple[str, int, bytes]) -> None:
        self.result = self.result or result

    def begin(self, state: str) -> None:
        """The QP serves the stream (6.2.1.2)."""
        qp = self.qp
        qp.ord, qp.ird = self.ord, self.ird
        if qp.state in ("RESET", "INIT", "RTR"):
            if self.model.fault == "connect-clears-receives" and qp.rq.items:
                qp.rq.items.clear()
            elif self.model.fault == "connect-clears-sends":
                qp.sq.items.clear()
            qp.state = state

    def disconnected(self) -> None:
        """RDMA_CM_EVENT_DISCONNECTED, once."""
        if self.told and self.model.choose.close_events != "two":
            return
        first, self.told, self.down = not self.told, True, True
        self.model.cm("DISCONNECTED", self.qp)
        if self.model.flavour == "ib" and first:
            self.model.engine.after(20_000, self._timewait)
            if self.model.choose.ib_disconnect == "error" and self.qp.conn is self:
                self.qp.stop("")

    def _timewait(self) -> None:
        if self.qp.conn in (self, None):
            self.model.cm("TIMEWAIT_EXIT", self.qp)

    def close(self, how: str, told: bool, fault: Optional[str]) -> None:
        """The stream is over (iwarp)."""
        if how and not (fault == "peer-not-told" or (fault == "error-sends-nothing" and how == "term")):
            self.send((how,))
        if told:
            self.disconnected()
        self.drop()

    def drop(self) -> None:
        """Nothing more goes either way."""
        self.over = True
        self.pipe.sink = None
        if self.qp.conn is self:
            self.qp.conn = None


# Calls


def _usable(qp: "Qp", ord_: int, ird: int) -> None:
    if qp.conn is not None and not qp.conn.down:
        if qp.model.flavour == "iwarp" or not qp.conn.up or qp.state not in IDLE:
            raise Refused(EISCONN)
        qp.conn.send(("dreq",))
        qp.conn.told = qp.conn.down = True
    top = qp.device.attributes["max_qp_rd_atom"]
    if qp.state not in IDLE or ord_ > top or ird > top or qp.worn:
        raise Refused(EINVAL)


def _rights(qp: "Qp", access: int) -> int:
    """The rights of a new stream; what the QP had in the one before counts for nothing. The agent adds the right to bind where it
    moves the QP out of RESET itself (section 4 of the protocol).
    """
    if qp.model.choose.bind_enable == "asked":
        access |= qp.access & MW_BIND if qp.state == "INIT" and qp.model.flavour == "ib" else MW_BIND
    return access | qp.access if qp.model.fault == "second-stream-keeps-rights" else access


def connect(qp: "Qp", address: str, port: int, wish: Tuple[int, int], private: bytes, access: int) -> Conn:
    """rdma_connect."""
    _usable(qp, *wish)
    model = qp.model
    listener = model.listeners.get((address, port))
    if listener:
        pipe, other = pair(model)
        listener.meet(other)
        conn = Conn(qp, pipe, True, wish)
    else:
        try:
            if model.alone:
                raise ConnectionRefusedError
            sock = socket.create_connection((address, port), 1.0)
        except OSError:
            conn = Conn(qp, LocalPipe(model), True, wish)
            conn.result = ("REJECTED", ECONNREFUSED, b"")
            return conn
        conn = Conn(qp, SocketPipe(model, sock), True, wish)
    qp.conn, qp.access = conn, _rights(qp, access)
    if model.flavour == "ib":
        qp.state = "INIT"
    conn.send(("req", wish[0], wish[1], private))
    return conn


def accept(request: Request, qp: "Qp", wish: Tuple[int, int], private: bytes, access: int) -> Conn:
    """rdma_accept."""
    _usable(qp, *wish)
    if request.gone:
        raise Refused(EINVAL)
    request.gone = True
    most = 1 if qp.model.choose.ord_granted == "one" else wish[0]
    conn = Conn(qp, request.pipe, False, (min(wish[0], request.ord, most), wish[1]))
    if qp.model.fault == "ord-granted-more":
        conn.ord += 1
    qp.conn, qp.access = conn, _rights(qp, access)
    conn.begin("RTS" if qp.model.flavour == "iwarp" else "RTR")
    conn.up = qp.model.flavour == "iwarp"
    conn.send(("rep", wish[0], wish[1], private))
    return conn


def reject(request: Request, private: bytes) -> None:
    """rdma_reject."""
    if request.gone:
        raise Refused(EINVAL)
    request.gone = True
    request.pipe.send(("rej", private, ECONNREFUSED if request.listener.model.flavour == "iwarp" else 28))
    request.pipe.sink = None


def disconnect(qp: "Qp") -> None:
    """rdma_disconnect: iwarp closes in order (6.2.2.2), ib tells the peer."""
    conn = qp.conn
    if conn is None or not conn.up or conn.down:
        raise Refused(ENOTCONN if conn is None else EINVAL)
    if qp.model.flavour == "iwarp":
        close(qp)
        return
    conn.send(("dreq",))
    if qp.model.choose.ib_disconnect == "error":
        qp.stop("")


def close(qp: "Qp") -> None:
    """RTS to Closing (6.2.5, Figure 11)."""
    model = qp.model
    if model.fault == "closing-refused":
        raise Refused(EINVAL)
    if qp.state != "RTS":
        raise Refused(EINVAL)
    if qp.sq.items or qp.irrq or qp.stalled:
        if model.choose.bad_close == "drain" and qp.sq.items and not qp.stalled:
            qp.state, qp.finishing = "RTS", True
            return
        qp.state = "SQD"
        silent = model.fault == "bad-close-silent"  # neither of the two ways that there are (B53)
        qp.stop("rst", event="" if silent else "QP_FATAL", told=not silent)
        return
    _begin_close(qp)


def _begin_close(qp: "Qp") -> None:
    qp.state = "SQD"
    if qp.model.choose.close != "time-wait":
        qp.flush_receives()
    if qp.model.fault == "close-with-error-event":
        qp.model.tell("QP_FATAL", qp=qp)
    assert qp.conn
    qp.conn.send(("fin",))


def finish_close(qp: "Qp") -> None:
    """The work that was left at the close is done."""
    if qp.state == "RTS" and qp.conn:
        _begin_close(qp)


def closed(qp: "Qp", us: int) -> None:
    """The LLP Close is done: Idle, by itself."""
    if us:
        qp.model.engine.after(us, _closed, qp)
    else:
        _closed(qp)


def _closed(qp: "Qp") -> None:
    conn, model = qp.conn, qp.model
    if qp.state != "SQD" or conn is None:
        return
    if qp.unseen:
        model.engine.after(1_000, _closed, qp)
        return
    qp.conn = None
    qp.flush_receives()
    if model.choose.after_close == "error":
        qp.to_error()
    else:
        qp.to_idle(model.choose.idle_word)
    if model.fault == "close-complete-silent":
        conn.told = True
    conn.disconnected()
    conn.drop()
    if isinstance(conn.pipe, SocketPipe):
        model.engine.after(200_000, conn.pipe.shut)
