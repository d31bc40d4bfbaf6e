"""Connection establishment: the active side (4.2), the passive side (4.3) and peers (4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional

from . import wire
from .connection import Connection
from .stream import Stream
from .vi import Attributes, Call, Vi
from .wire import ACCEPT, NO_MATCH, REJECT, REQUEST, Segment, Setup

if TYPE_CHECKING:
    from .port import Port


class Address:
    """A VI Network Address."""

    def __init__(self, host: bytes, discriminator: bytes) -> None:
        self.host, self.discriminator = host, discriminator

    def as_json(self) -> Dict[str, str]:
        """As the DUT protocol has it."""
        return {"host": self.host.hex(), "discriminator": self.discriminator.hex()}


def attributes_of(setup: Setup, level: int) -> Attributes:
    """The other side's VI Attributes; level: what the Reliable flag becomes (V15)."""
    flags = setup.attributes
    return Attributes(
        level if flags & wire.RELIABLE else 1, setup.mtu, bool(flags & wire.WRITE_ENABLE), bool(flags & wire.READ_ENABLE),
    )


def setup_of(port: "Port", vi: Vi, calling: bytes, called: bytes, mtu: int, peer: bool) -> Setup:
    """A CE Header that speaks for a VI."""
    mine = vi.attributes
    flags = (wire.RELIABLE if mine.reliable else 0) | (wire.WRITE_ENABLE if mine.write else 0)
    flags |= (wire.READ_ENABLE if mine.read else 0) | (wire.PEER if peer else 0)
    if port.choose.yes("flow_control"):
        flags |= wire.FLOW_CONTROL
    window = port.choose.number("read_window") if mine.read or port.choose("window_without_read") == "told" else 0
    security = bytes(0xC0 | n & 0x3F for n in range(port.choose.number("security")))
    if port.choose("behind_discriminator") == "zeros":
        return Setup(flags, mtu, calling, window, called, security=security)
    return Setup(flags, mtu, calling.ljust(16, b"\xA5"), window, called.ljust(16, b"\xA5"), len(calling), len(called), security)


def ce(port: "Port", kind: int, setup: Optional[Setup], vi: Optional[Vi] = None) -> Segment:
    """A CE PDU."""
    early = port.choose("early_posts") == "counted"
    count = len(vi.open("recv")) if vi is not None and early and port.choose("first_count") == "setup" else 0
    end = wire.END if port.choose("end_of_nop") == "set" else 0
    ack = 0x77665544 if port.choose("refusal_fields") == "rubbish" else 0
    return Segment(kind, port.first_number(vi), flags=end, rx=count, setup=setup, ack=ack)


class Active:
    """One VipConnectRequest, or a peer's own attempts."""

    def __init__(self, port: "Port", vi: Vi, local: Address, remote: Address, limit: Optional[int], call: Optional[Call]) -> None:
        """call: of VipConnectRequest; None for a peer."""
        self.port, self.vi, self.local, self.remote, self.call = port, vi, local, remote, call
        self.peer = call is None
        self.stream: Optional[Stream] = None
        self.asked = self.over = False
        self.told = self.tries = 0
        limit = limit // 2 if limit and port.bad("timeout-early") else limit
        self.limit = limit
        self.timer = None if limit is None else port.clock.after(limit, self.timeout)
        vi.attempt = self
        vi.become("pending-connect")
        port.after("connect_delay", self.connect)

    def connect(self) -> None:
        """Set up TCP (Connecting)."""
        if self.over:
            return
        self.asked = False
        if self.port.bad("no-ipv6-client") and not self.remote.host.startswith(bytes(10)):
            self.end("VIP_NOT_REACHABLE")
            return
        stream = self.stream = self.port.open_stream(self.local.host, self.remote.host)
        stream.on_open, stream.on_refused = lambda: self.opened(stream), self.refused
        stream.on_segment = self.answered
        stream.on_rubbish = lambda why: self.rubbish()
        stream.on_end = self.closed

    def opened(self, stream: Stream) -> None:
        """TCP is established."""
        if self.over and self.port.bad("asks-behind-a-cancel"):
            stream.write(ce(self.port, REQUEST, self.mine(), self.vi))
            return
        if self.over or self.stream is None:
            if not self.port.bad("attempts-after-timeout"):
                stream.close()
            return
        delay = self.port.choose.number("request_delay")
        if delay:
            self.port.clock.after(delay, lambda: self.request(stream))
        else:
            self.request(stream)

    def request(self, stream: Stream) -> None:
        """Connect Request, Pending Accept."""
        if self.over or self.stream is not stream:
            return
        mine = self.mine()
        if self.port.bad("nop-before-request"):
            self.stream.write(Segment(wire.NOP))
        segment = ce(self.port, REQUEST, mine, self.vi)
        self.told = segment.rx
        if not self.port.bad("never-requests"):
            self.stream.write(segment)
        if self.port.bad("requests-twice"):
            self.stream.write(segment)
        self.asked = True

    def mine(self) -> Setup:
        """Our CE Header."""
        return setup_of(
            self.port, self.vi, self.local.discriminator, self.remote.discriminator, self.vi.attributes.size, self.peer
        )

    def refused(self) -> None:
        """RST to SYN: Disconnected (V57, V63)."""
        self.stream = None
        if self.peer and self.port.choose("peer_refused") == "retry":
            self.again(self.port.choose.number("retry_us"))
        elif self.port.bad("retries-refused"):
            self.again(100_000)
        else:
            self.end(self.port.choose("tcp_failure"))

    def closed(self, how: str) -> None:
        """TCP closes in Pending Accept: it is established again (V32)."""
        if self.over or self.stream is None:
            return
        self.port.left_unread = self.stream.unread
        self.stream.close()
        self.stream = None
        if self.port.choose("reestablish") == "no":
            self.end("VIP_NOT_REACHABLE")
        elif not self.port.bad("no-new-attempt"):
            self.again(self.port.choose.number("retry_us" if self.peer else "again_us"))

    def again(self, us: int) -> None:
        """A new attempt after a while."""
        self.port.clock.after(us, self.retry)

    def retry(self) -> None:
        """The new attempt, unless the other side has come first."""
        if self.timer is not None and self.limit is not None and self.port.bad("new-tcp-new-time"):
            self.timer.cancel()
            self.timer = self.port.clock.after(self.limit, self.timeout)
        if not self.over and self.stream is None:
            self.connect()

    def rubbish(self) -> None:
        """What came is no segment."""
        if self.stream is not None:
            self.stream.close()
        self.closed("fin")

    def answered(self, segment: Segment) -> None:
        """An answer to the Connect Request."""
        if self.over or self.stream is None:
            return
        if segment.kind == ACCEPT and segment.setup is not None:
            self.accepted(segment, segment.setup)
        elif segment.kind in (REJECT, NO_MATCH) and len(segment.payload) < 44 and self.port.bad("short-refusal-is-rubbish"):
            self.rubbish()
        elif segment.kind == REJECT or (segment.kind == NO_MATCH and (not self.peer or self.port.bad("no-match-ends-peer"))):
            if not self.port.bad("tcp-stays-open-after-reject"):
                self.stream.close()
            code = "VIP_REJECT" if segment.kind == REJECT else "VIP_NO_MATCH"
            if self.peer and segment.kind == REJECT and not self.port.bad("no-match-ends-peer"):
                self.stream = None
                self.again(self.port.choose.number("retry_us"))
                return
            if self.port.bad("reject-told-as-no-match"):
                code = "VIP_NO_MATCH"
            if self.port.bad("no-match-told-as-reject"):
                code = "VIP_REJECT"
            if self.port.bad("tries-again-after-reject"):
                self.stream = None
                self.again(100_000)
                return
            self.end(code)
        elif segment.kind == NO_MATCH:
            self.tries += 1
            if self.tries == 3 and self.port.bad("peer-gives-up"):
                self.end("VIP_NO_MATCH")
                return
            self.stream.close()
            self.stream = None
            self.again(self.port.choose.number("retry_us"))
        else:
            self.rubbish()

    def accepted(self, segment: Segment, theirs: Setup) -> None:
        """Connect Accept: Connected."""
        assert self.stream is not None
        proposed = self.vi.attributes.size
        if theirs.mtu > proposed and self.port.choose("greater_mtu") == "close":
            self.stream.close()
            self.end("VIP_NOT_REACHABLE")
            return
        agreed = min(proposed, theirs.mtu)
        if self.port.bad("agreed-mtu-ignored"):
            agreed = proposed
        if self.port.bad("greater-mtu-taken"):
            agreed = theirs.mtu
        if self.port.bad("accept-ignored"):
            return
        stream = self.stream
        connection = Connection(self.port, self.vi, stream, self.mine(), theirs, agreed, segment.rx, self.told)
        if self.port.bad("behind-accept-lost"):
            stream.forget_unread()
        told = self.vi.attributes if self.port.bad("answer-tells-own") else attributes_of(theirs, self.port.told_level())
        if self.port.bad("answer-tells-proposal"):
            told.size = proposed
        self.end("VIP_SUCCESS", RemoteViAttribs=told)
        connection.pump()

    def timeout(self) -> None:
        """The consumer's time is over (4.2)."""
        if self.over and self.port.bad("timeout-ends-a-connection") and self.vi.connection is not None:
            self.vi.connection.die("VIP_ERROR_CONN_LOST")
        if self.over:
            return
        if self.port.bad("timeout-late"):
            if self.timer is not None:
                self.timer = None
                self.port.clock.after(4_000_000, self.timeout)
                return
        if self.stream is not None and not self.port.bad("tcp-stays-open-after-timeout"):
            self.stream.close()
        self.end("VIP_TIMEOUT")
        if self.port.bad("attempts-after-timeout"):
            self.over = False
            self.connect()
            self.over = True

    def give_up(self) -> None:
        """The lower peer concedes (V30)."""
        if self.stream is not None and self.port.choose("lower_peer") == "close":
            self.stream.close()
        self.stream = None

    def cancel(self, code: str) -> None:
        """VipDisconnect, VipDestroyVi or an Accept elsewhere ends it."""
        if self.stream is not None and not (self.port.bad("cancel-leaves-tcp") or self.port.bad("asks-behind-a-cancel")):
            self.stream.close()
        self.end(code)

    def end(self, code: str, **out: Any) -> None:
        """The attempt is over."""
        if self.over:
            return
        self.over = True
        if self.timer is not None and not self.port.bad("timeout-ends-a-connection"):
            self.timer.cancel()
        vi = self.vi
        vi.attempt = None
        if code == "VIP_REJECT" and self.port.bad("rejected-stays-pending"):
            vi.become("pending-connect")
        elif code != "VIP_SUCCESS":
            if code == "VIP_NOT_REACHABLE" and vi.attributes.reliable and self.port.choose("failed_state") == "error":
                vi.become("error")
            elif not self.port.bad("stays-pending"):
                vi.become("idle")
            if self.port.choose("after_failure") == "flush":
                vi.flush()
            else:
                vi.flush("send")
        if self.port.bad("failure-told-as-success"):
            code = "VIP_SUCCESS"
            out = {"RemoteViAttribs": vi.attributes}
        if self.call is not None and code == "VIP_TIMEOUT":
            self.port.after("timeout_returns", self._returns)
            return
        if self.call is not None:
            self.call.reply(code, **out)
            return
        vi.peer = (code, out)
        if vi.waiter is not None:
            vi.waiter.reply(code, **out)
            vi.waiter, vi.peer = None, None

    def _returns(self) -> None:
        assert self.call is not None
        self.call.reply("VIP_TIMEOUT")


class Wait:
    """A VipConnectWait."""

    def __init__(self, port: "Port", local: Address, limit: Optional[int], call: Call) -> None:
        self.port, self.local, self.call = port, local, call
        limit = limit // 2 if limit and port.bad("wait-ends-early") else limit
        self.timer = None if limit is None else port.clock.after(limit, self.timeout)

    def timeout(self) -> None:
        """Nobody came."""
        if self.port.bad("wait-for-ever"):
            return
        if self.port.bad("wait-ends-the-next") and self not in self.port.waits:
            self.port.waits.pop(0).call.reply("VIP_TIMEOUT") if self.port.waits else None
            return
        if self.port.bad("wait-ends-the-oldest"):
            self.port.waits.pop(0)
        elif not self.port.bad("ended-wait-matches"):
            self.port.waits.remove(self)
        self.call.reply("VIP_TIMEOUT")

    def give(self, passive: "Passive") -> None:
        """A request for it has come."""
        self.port.waits.remove(self)
        if self.timer is not None and not self.port.bad("wait-ends-the-next"):
            self.timer.cancel()
        theirs = passive.theirs
        assert theirs is not None
        number = self.port.new_conn(passive)
        calling = theirs.called if self.port.bad("tells-called-as-calling") else theirs.calling
        host = self.local.host if self.port.bad("tells-own-host") else passive.stream.remote[0]
        told = attributes_of(theirs, self.port.told_level())
        if self.port.bad("tells-no-attributes"):
            told = Attributes(1, 65536)
        if self.port.bad("tells-own-mtu"):
            told.size = 65536
        self.call.reply("VIP_SUCCESS", conn=number, RemoteAddr=Address(host, calling), RemoteViAttribs=told)


class Passive:
    """A TCP connection that came in."""

    def __init__(self, port: "Port", stream: Stream) -> None:
        self.port, self.stream = port, stream
        self.theirs: Optional[Setup] = None
        self.request: Optional[Segment] = None
        self.over = False
        stream.on_segment, stream.on_end = self.segment, self.ended
        stream.on_rubbish = lambda why: self.close()
        self.timer = port.clock.after(port.incoming_timeout, self.timeout)
        if port.choose("incoming_timer") == "last-byte":
            stream.on_bytes = self.hear
        if port.bad("greets"):
            stream.write(ce(port, NO_MATCH, Setup()))

    def hear(self) -> None:
        """A byte has come: the time begins anew."""
        if self.theirs is None and not self.over:
            self.timer.cancel()
            self.timer = self.port.clock.after(self.port.incoming_timeout, self.timeout)

    def timeout(self) -> None:
        """No Connect Request in time (Incoming)."""
        if (self.theirs is None and not self.port.bad("incoming-for-ever")) or (self.theirs is not None and not self.over):
            self.close()

    def close(self) -> None:
        """The attempt is over."""
        self.over = True
        self.timer.cancel()
        self.stream.held = False
        self.stream.close()

    def ended(self, how: str) -> None:
        """TCP closes before an answer (V59)."""
        if self.port.bad("incoming-end-not-noticed"):
            return
        self.close()

    def segment(self, segment: Segment) -> None:
        """Incoming: a Connect Request, or the end (V37)."""
        if self.theirs is not None:
            self.close()
            return
        if segment.kind != REQUEST or segment.setup is None:
            if self.port.bad("other-pdu-ignored"):
                return
            self.close()
            return
        if self.port.choose("pending") == "waits":
            self.timer.cancel()
        if segment.version != wire.VERSION and not self.port.bad("any-version"):
            how = self.port.choose("bad_version")
            if how == "close":
                self.close()
            else:
                self.refuse(REJECT if how == "reject" else NO_MATCH)
            return
        self.theirs, self.request = segment.setup, segment
        self.match(segment.setup)

    def match(self, theirs: Setup) -> None:
        """Matching: length and bytes of the Called Discriminator (V46)."""
        sane = (theirs.called_length or 0) <= 16 and (theirs.calling_length or 0) <= 16
        if theirs.security and self.port.bad("security-refused"):
            sane = False
        if self.port.bad("any-length"):
            sane = True
        if not sane:
            self.refuse(NO_MATCH)
            return
        if theirs.attributes & wire.PEER:
            self.match_peer(theirs)
            return
        if self.port.bad("oldest-wait-matches") and any(self.fits(w.local.discriminator, theirs.called) for w in self.port.waits):
            self.port.waits[0].give(self)
            return
        wait = next((w for w in self.port.waits if self.fits(w.local.discriminator, theirs.called)), None)
        if wait is None:
            if self.port.bad("silent-no-match"):
                self.close()
            elif self.port.bad("reject-as-no-match"):
                self.refuse(REJECT)
            elif self.port.bad("mute-without-match"):
                return
            else:
                self.refuse(NO_MATCH)
            return
        self.stream.held = self.port.choose("extra_in_pending") == "later"
        if self.port.bad("accept-before-application"):
            self.stream.write(ce(self.port, ACCEPT, Setup(theirs.attributes, theirs.mtu, theirs.calling, 0, theirs.called)))
        wait.give(self)

    def fits(self, own: bytes, called: bytes) -> bool:
        """Whether a Discriminator matches."""
        if self.port.bad("whole-field-matched") and self.request is not None:
            return self.theirs is not None and own.ljust(16, b"\0") == self.theirs.called_field
        if self.port.bad("matches-anything") or (not own and self.port.bad("empty-wait-matches-anything")):
            return True
        if self.port.bad("matches-a-prefix"):
            return own[: len(called)] == called or called[: len(own)] == own
        if self.port.bad("matches-by-length") and len(own) == len(called):
            return True
        if self.port.bad("matches-whatever-the-case") and own.lower() == called.lower():
            return True
        if self.port.bad("matches-up-to-a-zero") and own.partition(b"\0")[0] == called.partition(b"\0")[0]:
            return True
        if self.port.bad("eight-bytes-match"):
            return len(own) == len(called) and own[:8] == called[:8]
        return own == called

    def match_peer(self, theirs: Setup) -> None:
        """A peer's request against a peer's own attempt (V28 to V30, V62)."""
        for vi in self.port.vis.values():
            mine = vi.attempt
            if mine is None or not mine.peer or mine.remote.host != self.stream.remote[0]:
                continue
            if self.port.choose("peer_match") == "crosswise":
                fits = (mine.local.discriminator, mine.remote.discriminator) == (theirs.called, theirs.calling)
            else:
                fits = mine.remote.discriminator == theirs.called  # the remote addresses of both (VI-DG 6.7)
            if not (fits or self.port.bad("peer-matches-anything")):
                continue
            if not (self.agree(vi, theirs) or self.port.bad("peer-takes-any-attributes")):
                if self.port.choose("peer_mismatch") == "stay":
                    return
                continue
            pending = mine.stream is not None and mine.asked
            if pending and self.higher(mine) and not self.port.bad("both-accept"):
                how = self.port.choose("higher_peer")
                if how == "close":
                    self.close()
                else:
                    self.refuse(REJECT if how == "reject" else NO_MATCH)
                return
            if pending and self.port.bad("nobody-concedes"):
                self.refuse(NO_MATCH)
                return
            mine.give_up()
            self.accept(vi)
            if self.port.bad("peer-opens-another"):
                self.port.clock.after(100_000, lambda: self.port.open_stream(mine.local.host, mine.remote.host))
            told = attributes_of(theirs, self.port.told_level())
            mine.end("VIP_SUCCESS", RemoteViAttribs=vi.attributes if self.port.bad("peer-told-own-size") else told)
            return
        self.refuse(NO_MATCH)

    def higher(self, mine: Active) -> bool:
        """Whether our address is the higher one."""
        assert mine.stream is not None
        ours, others = self.stream.local, self.stream.remote
        left, right = ours[0], others[0]
        if left == right:
            return mine.stream.local[1] > others[1]
        if self.port.choose("compare") == "text":
            higher = text_of(left) > text_of(right)
        else:
            higher = left[::-1] > right[::-1] if self.port.bad("peers-compare-backwards") else left > right
        return not higher if self.port.bad("lower-wins") else higher

    def agree(self, vi: Vi, theirs: Setup) -> bool:
        """Whether the VI Attributes match (V36); the MTU is negotiated."""
        return self.port.bad("any-attributes") or bool(theirs.attributes & wire.RELIABLE) == vi.attributes.reliable

    def accept(self, vi: Vi) -> None:
        """Connect Accept, then Connected."""
        theirs, request = self.theirs, self.request
        assert theirs is not None and request is not None
        mtu = min(vi.attributes.size, theirs.mtu)
        if self.port.bad("proposal-is-signed") and theirs.mtu >= 1 << 31:
            mtu = theirs.mtu
        vi.was_called = True
        if self.port.bad("accepts-with-own-mtu"):
            mtu = vi.attributes.size
        if self.port.bad("accepts-what-is-proposed") or (theirs.attributes & wire.PEER and self.port.bad("peer-takes-any-size")):
            mtu = theirs.mtu
        calling, called = theirs.calling, theirs.called
        if self.port.choose("accept_values") == "swapped":
            calling, called = called, calling
        mine = setup_of(self.port, vi, calling, called, mtu, bool(theirs.attributes & wire.PEER))
        if self.port.bad("accept-lengths-16"):
            mine.calling_length = mine.called_length = 16
        self.over = True
        answer = ce(self.port, ACCEPT, mine, vi)
        if not self.port.bad("never-accepts"):
            self.stream.write(answer)
        if self.port.bad("accepts-twice"):
            self.stream.write(answer)
        agreed = min(mtu, vi.attributes.size)
        connection = Connection(self.port, vi, self.stream, mine, theirs, agreed, request.rx, answer.rx)
        if self.port.bad("accepted-stays-idle"):
            vi.become("idle")
        connection.pump()
        if self.stream.held:
            self.stream.held = False
            self.stream.feed()

    def refuse(self, kind: int) -> None:
        """Connect Reject or Connect No Match, and the end, in a while."""
        delay = self.port.choose.number("refusal_delay")
        self.over = True
        self.timer.cancel()
        if delay:
            self.port.clock.after(delay, lambda: self.refuse_now(kind))
        else:
            self.refuse_now(kind)

    def refuse_now(self, kind: int) -> None:
        """Connect Reject or Connect No Match, and the end."""
        full = self.port.choose("refusal_header") == "full"
        theirs = self.theirs or Setup()
        mine = Setup(theirs.attributes, theirs.mtu, theirs.calling[:16], 0, theirs.called[:16]) if full else None
        self.stream.held = False
        refusal = ce(self.port, kind, mine)
        if self.port.choose("refusal_fields") == "rubbish":
            refusal.rx = 0x4321
            if mine is not None:
                mine.attributes, mine.mtu, mine.window, mine.calling, mine.called = 0x1F, 0xFFFFFFFF, 0xBEEF, b"", bytes(16)
        self.stream.write(refusal)
        if self.port.bad("nop-behind-refusal"):
            self.stream.write(Segment(wire.NOP))
        if not self.port.bad("tcp-stays-open-after-refusal"):
            self.close()


def text_of(host: bytes) -> str:
    """An address as people write it."""
    if host[:12] == bytes(10) + b"\xff\xff":
        return ".".join(str(byte) for byte in host[12:])
    return host.hex()


Waits = List[Wait]
