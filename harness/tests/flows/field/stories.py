"""Captures made frame by frame from the tables of the standards: healthy ones and ones with a known cause, as capture points show
them. Nothing of the suite writes them.

A story is what two ports said to each other. A wrapping and a flaw of the capture point make a file of it.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field, replace
from random import Random
from typing import Callable, Optional

from harness.tests.capture import wrappings as w

A, B, OTHERS, F_PORT = 0x010100, 0x010200, (0x020100, 0x020200), 0xFFFFFE
R_A_TOV_US = 10_000_000
SOF_I3, SOF_N3, EOF_N, EOF_T, EOF_NI = 0x2E, 0x36, 0x41, 0x42, 0x49
REQUEST, REPLY = 0x290000, 0x990000
RESPONSES = (0x08, 0x09, 0x0A)


@dataclass(frozen=True)
class Seen:
    """A frame at the capture point. fip: what follows EtherType 8914h instead, and who sent it."""

    us: int
    data: bytes
    sof: int = SOF_I3
    eof: int = EOF_T
    good: bool = True
    fip: bytes = b""

    @property
    def sender(self) -> int:
        """N_Port_ID."""
        return int.from_bytes(self.data[5:8], "big") if self.data else -1

    @property
    def owner(self) -> int:
        """N_Port_ID of the port that sent it, which the Port_Name of a FLOGI and a LOGO in FIP have too."""
        if self.fip[3:6] == b"\2\0\1":
            return int.from_bytes(self.fip[19:22], "big")
        return self.sender or int.from_bytes(self.data[49:52], "big")

    @property
    def opcode(self) -> int:
        """Of an IU of FC-VI; -1 for others."""
        return self.data[28] if len(self.data) >= 40 and self.data[8] == 0x58 else -1


@dataclass
class Story:
    """What passed the capture point, and what is right to say of it. causes: names that name the truth; empty: nothing is wrong."""

    frames: list[Seen]
    causes: tuple[str, ...] = ()
    parties: tuple[int, ...] = ()
    is_fcoe: bool = False  # it has frames of FIP
    is_shown: bool = False  # by frames that are there: it can be seen in a sampled capture
    name: str = ""


def header(r_ctl: int, to: int, by: int, kind: int, f_ctl: int, *more: int) -> bytes:
    """A Frame_Header (FC-FS). more: SEQ_ID, DF_CTL, SEQ_CNT, OX_ID, RX_ID, Parameter."""
    seq_id, df_ctl, seq_cnt, ox_id, rx_id, parameter = more
    head = bytes([r_ctl]) + to.to_bytes(3, "big") + b"\0" + by.to_bytes(3, "big") + bytes([kind]) + f_ctl.to_bytes(3, "big")
    return head + struct.pack(">BBHHHI", seq_id, df_ctl, seq_cnt, ox_id, rx_id, parameter)


def link_service(command: int, to: int, by: int, ox_id: int, body: bytes = b"", reply: bool = False) -> bytes:
    """An Extended Link Service."""
    return header(0x23 if reply else 0x22, to, by, 1, REPLY if reply else REQUEST, 0, 0, 0, ox_id, 0xFFFF, 0) + bytes(
        [command, 0, 0, 0]) + body  # fmt: skip


def service_parameters(port_name: int) -> bytes:
    """Of PLOGI and FLOGI: Continuously Increasing Relative Offset, SEQ_CNT, R_A_TOV of ten seconds."""
    common = bytes.fromhex("2020000a 8802 0840".replace(" ", "")) + struct.pack(">II", R_A_TOV_US // 1000, 2000)
    return common + struct.pack(">QQ", port_name, port_name | 1 << 60) + bytes(80)


def host_address(port: int) -> bytes:
    """IPv6."""
    return bytes([0xFD]) + bytes(12) + port.to_bytes(3, "big")


def address(port: int, word: bytes) -> bytes:
    """FCVI_NET_ADDRESS (Table 15)."""
    return bytes([0, 0, 16, len(word)]) + host_address(port) + word.ljust(128, b"\0")


class Talk:
    """Two ports at work. now: microseconds; far: how long the way from the capture point to a port takes."""

    def __init__(self, r: Random, ends: tuple[int, int] = (A, B)) -> None:
        self.r, self.ends = r, ends if r.random() < 0.5 else ends[::-1]
        self.frames: list[Seen] = []
        self.now = 1_700_000_000_000_000 + r.randrange(10**9)
        self.far = (r.choice((2, 20, 200, 2000)), r.choice((2, 20, 200, 2000)))
        self.ox = [r.randrange(0x100, 0x1000), r.randrange(0x1000, 0x2000)]
        self.seq = 0
        self.handle = [r.randrange(1, 1 << 28), r.randrange(1, 1 << 28)]
        self.ident, self.msg = r.randrange(1, 1 << 30), [0, 0]
        self.level = r.choice((2, 3))

    def put(self, data: bytes, sof: int = SOF_I3, eof: int = EOF_T, after: Optional[int] = None) -> None:
        """A frame comes by, after so many microseconds."""
        self.now += self.r.randrange(1, 6) if after is None else after
        self.frames.append(Seen(self.now, data, sof, eof))

    def back(self, side: int) -> int:
        """How long until the answer of a side comes by."""
        return 2 * self.far[side] + self.r.randrange(1, 20)

    def wait(self, us: int) -> None:
        """Nothing happens."""
        self.now += us

    def next_ox(self, side: int) -> int:
        """An Exchange of a side."""
        self.ox[side] += 1
        return self.ox[side]

    # ---- services ----

    def service(self, side: int, command: int, body: bytes = b"", answer: Optional[tuple[int, bytes]] = None) -> None:
        """A link service to the other side, and its answer."""
        ox, (me, you) = self.next_ox(side), (self.ends[side], self.ends[1 - side])
        self.put(link_service(command, you, me, ox, body))
        if answer is not None:
            self.put(link_service(answer[0], me, you, ox, answer[1], reply=True), after=self.back(1 - side))

    def login(self) -> None:
        """PLOGI."""
        me, you = (0x10000000C9000000 + end for end in self.ends)
        self.service(0, 0x03, service_parameters(me), (0x02, service_parameters(you)))

    # ---- a Connection ----

    def iu(self, side: int, opcode: int, flags: int, f_ctl: int, ox: int, **more: int) -> bytes:
        """An IU without payload. more: handle, msg, word (FCVI_PARAMETER), size (16 or 32), r_ctl."""
        size = more.get("size", 32)
        self.seq = (self.seq + 1) % 256
        head = header(more.get("r_ctl", 3), self.ends[1 - side], self.ends[side], 0x58, f_ctl, self.seq, 2 if size == 32 else 1, 0,
                      ox, more.get("rx", 0xFFFF), 0)  # fmt: skip
        device = struct.pack(">IBBHII", more.get("handle", 0xFFFFFFFF), opcode, flags, 0, more.get("msg", 0), more.get("word", 0))
        return head + device + (bytes(12) + struct.pack(">I", more.get("ident", self.ident)) if size == 32 else b"")

    def payload(self, side: int) -> bytes:
        """Of CONNECT_RQST and RESP1 (Tables 13 to 18)."""
        words = [address(self.ends[end], b"server-%03d------" % end) for end in (side, 1 - side)]
        attributes = bytes([0, 0, self.level, 3]) + struct.pack(">I", 65536) + bytes([0, 0, 0, 0]) + bytes(16) + bytes(4)
        return struct.pack(">IHHI", 0, 0, 1, self.handle[side]) + b"".join(words) + attributes

    def setup(self, upto: int = 3, retry: int = 0, ox: int = 0) -> int:
        """Connection Setup up to FCVI_CONNECT_RQST (0), RESP1, RESP2 or RESP3. Gives its OX_ID."""
        ox = ox or self.next_ox(0)
        rqst = self.iu(0, 0x10, 1 | retry << 4, 0x290008, ox, r_ctl=2) + self.payload(0)
        steps = [rqst, self.iu(1, 0x18, 0, 0x890008, ox, rx=0x5001) + self.payload(1)]
        steps.append(self.iu(0, 0x19, 0, 0x090000, ox, handle=self.handle[1], rx=0x5001))
        steps.append(self.iu(1, 0x1A, 0, 0x980000, ox, handle=self.handle[0], rx=0x5001))
        for turn, data in enumerate(steps[: upto + 1]):
            self.put(data, after=self.back(turn % 2) if turn else None)
        return ox

    def refuse(self, reason: int) -> None:
        """CONNECT_RQST, and a RESP1 that refuses, with the two that follow."""
        ox = self.setup(0)
        for turn, opcode in enumerate((0x18, 0x19, 0x1A), 1):
            f_ctl = (0x890000, 0x090000, 0x980000)[turn - 1]
            data = self.iu(turn % 2, opcode, 1, f_ctl, ox, word=reason << 16, rx=0x5001)
            self.put(data + (self.payload(1) if opcode == 0x18 else b""), after=self.back(turn % 2))

    def message(self, side: int, length: int = -1, answered: bool = True, lost: int = -1) -> tuple[int, int]:
        """A Send; lost: a frame of it that does not come by. Gives its OX_ID and FCVI_MSG_ID."""
        length = self.r.choice((0, 64, 1000, 5000, 9000)) if length < 0 else length
        self.msg[side] += 1
        ox, msg = self.next_ox(side), self.msg[side]
        self.seq = (self.seq + 1) % 256
        ends = 0x290008 if self.level == 3 else 0x380008
        pieces = [(at, min(2080, length - at)) for at in range(0, length, 2080)] or [(0, 0)]
        for n, (at, size) in enumerate(pieces):
            last = n == len(pieces) - 1
            fill = -size % 4
            f_ctl = (ends if last else 0x200008) | fill
            head = header(1, self.ends[1 - side], self.ends[side], 0x58, f_ctl, self.seq, 2, n, ox, 0xFFFF, at)
            device = struct.pack(">IBBHII", self.handle[1 - side], 0, 0, 0, msg, 0) + bytes(12) + struct.pack(">I", length)
            if n != lost:
                self.put(head + device + bytes(size + fill), SOF_N3 if n else SOF_I3, EOF_T if last else EOF_N)
        if self.level == 3 and answered:
            self.answer(1 - side, ox, msg)
        return ox, msg

    def answer(self, side: int, ox: int, msg: int, flags: int = 0, after: int = -1) -> None:
        """A Send Response."""
        data = self.iu(side, 0x08, flags, 0x980000, ox, handle=self.handle[1 - side], msg=msg, size=16, rx=0x6001, r_ctl=7)
        self.put(data, after=self.back(side) if after < 0 else after)

    def talk(self, most: int = 6) -> None:
        """Messages both ways."""
        for _ in range(self.r.randint(2, most)):
            self.message(self.r.randrange(2))
            self.wait(self.r.choice((10, 1000, 50_000)))

    def abort(self, side: int, ox: int, after: int, answer: int = 0x84) -> None:
        """ABTS, and BA_ACC or BA_RJT."""
        me, you = self.ends[side], self.ends[1 - side]
        self.put(header(0x81, you, me, 0, 0x090000, self.seq, 0, 1, ox, 0xFFFF, 0), after=after)
        body = struct.pack(">IHHHH", 0, ox, 0xFFFF, 0, 0xFFFF) if answer == 0x84 else bytes([0, 3, 3, 0])
        if answer:
            self.put(header(answer, me, you, 0, 0x980000, 0, 0, 0, ox, 0xFFFF, 0) + body, after=self.back(1 - side))

    def disconnect(self, side: int = 0, reason: int = 0, answered: bool = True, both: bool = True,
                   answer: int = 0) -> None:  # fmt: skip
        """Disconnects of both sides. answer: the reason of what comes back."""
        for me in (side, 1 - side)[: 1 + both]:
            ox = self.next_ox(me)
            self.msg[me] += 1
            flags = 0 if reason else 2
            self.put(self.iu(me, 0x12, flags, 0x290000, ox, handle=self.handle[1 - me], msg=self.msg[me], word=reason << 16,
                             r_ctl=2, ident=0))  # fmt: skip
            if answered:
                self.put(self.iu(1 - me, 0x1B, flags | bool(answer), 0x980000, ox, handle=self.handle[me], msg=self.msg[me],
                                 word=answer << 16, ident=0, rx=0x7001), after=self.back(1 - me))  # fmt: skip

    # ---- others ----

    def chatter(self, us: int) -> None:
        """Two other ports talk for so long, every few seconds."""
        one, two = OTHERS
        end, ox = self.now + us, self.r.randrange(0x3000, 0x4000)
        while self.now < end:
            ox += 1
            self.put(link_service(0x52, one, two, ox, bytes(24)), after=self.r.randrange(1_000_000, 4_000_000))
            self.put(link_service(0x02, two, one, ox, bytes(24), reply=True), after=self.r.randrange(20, 400))


# ---- healthy ----


def begun(r: Random) -> Talk:
    """Two ports with a Connection."""
    t = Talk(r)
    if r.random() < 0.7:
        t.login()
    t.setup()
    return t


def healthy(r: Random) -> Story:
    """A life of a Connection, or of several; some are still open at the end."""
    t = begun(r)
    if r.random() < 0.2:  # its connect IUs come in several frames
        t.frames = [Seen(s.us, *part) for s in t.frames
                    for part in (in_two(s.data) if s.opcode in (0x10, 0x18) else [(s.data, s.sof, s.eof)])]  # fmt: skip
    t.talk(10)
    if r.random() < 0.3:
        t.chatter(30_000_000)
        t.talk()
    if r.random() < 0.3:  # what others notice is no fault of these
        page = b"\0" + t.ends[0].to_bytes(3, "big")
        t.put(link_service(0x61, t.ends[1], 0xFFFFFD, 0x77, page)), t.talk()
    if r.random() < 0.7:
        t.disconnect(r.randrange(2))
        if r.random() < 0.3:
            t.wait(1_000_000), t.setup(), t.talk(), t.disconnect()
    if r.random() < 0.5:
        t.chatter(40_000_000)
    return Story(t.frames)


# ---- causes ----


def silent_setup(upto: int) -> Callable[[Random], Story]:
    """A setup that stops."""
    causes = (("lost-request", "lost-resp1", "slow-accept", "port-silent"), ("lost-resp1", "lost-resp2", "port-silent"),
              ("lost-resp2", "lost-resp3", "port-silent"))[upto]  # fmt: skip

    def make(r: Random) -> Story:
        t = Talk(r)
        t.login(), t.setup(upto), t.chatter(60_000_000)
        return Story(t.frames, causes)

    return make


def silent_message(r: Random) -> Story:
    """A Message whose port, or whose responder, says no further word."""
    t = begun(r)
    t.level = 3
    if not any(s.opcode == 0x08 for s in t.frames):
        t.talk()
    t.message(r.randrange(2), answered=False)
    t.chatter(60_000_000)
    return Story(t.frames, ("lost-response", "lost-message", "port-silent"))


def silent_disconnect(r: Random) -> Story:
    """A Disconnect that is neither answered nor aborted."""
    t = begun(r)
    t.talk(), t.disconnect(answered=False, both=False), t.chatter(60_000_000)
    return Story(t.frames, ("lost-disconnect", "port-silent"))


def given_up(r: Random) -> Story:
    """A Disconnect that is aborted for want of an answer."""
    t = begun(r)
    t.talk(), t.disconnect(0, answered=False, both=False)
    t.abort(0, int.from_bytes(t.frames[-1].data[16:18], "big"), R_A_TOV_US), t.chatter(30_000_000)
    return Story(t.frames, ("lost-disconnect",))


def denied(r: Random) -> Story:
    """A Disconnect of a Connection in use, which the other side says that it does not know (Table 12, 4Ah)."""
    t = begun(r)
    t.talk(), t.message(0), t.message(1), t.disconnect(r.randrange(2), both=False, answer=0x4A)
    if r.random() < 0.5:
        t.chatter(60_000_000)
    return Story(t.frames, ("connection-unknown",))


def rejected_login(r: Random) -> Story:
    """PLOGI, and LS_RJT each time."""
    t = Talk(r)
    reason = bytes([0, r.choice((0x03, 0x05, 0x09, 0x0B)), r.choice((0, 0x01, 0x29, 0x1F)), 0])
    for _ in range(r.randint(1, 4)):
        t.service(0, 0x03, service_parameters(1), (0x01, reason))
        t.wait(2_000_000)
    t.chatter(30_000_000)
    return Story(t.frames, ("login-refused",), t.ends, is_shown=True)


def rejected_frame(r: Random) -> Story:
    """PLOGI, and F_RJT or P_RJT."""
    t = Talk(r)
    for _ in range(r.randint(1, 3)):
        ox = t.next_ox(0)
        t.put(link_service(0x03, t.ends[1], t.ends[0], ox, service_parameters(1)), 0x2D)
        word = bytes([1, r.choice((0x01, 0x03, 0x04)), 0, 0])
        head = header(r.choice((0xC2, 0xC3)), t.ends[0], t.ends[1], 1, 0x980000, 0, 0, 0, ox, 0xFFFF, int.from_bytes(word, "big"))
        t.put(head, 0x2D, after=t.back(1))
    t.chatter(30_000_000)
    return Story(t.frames, ("login-refused",), is_shown=True)


def unanswered_login(r: Random) -> Story:
    """PLOGI, and nothing."""
    t = Talk(r)
    for _ in range(r.randint(1, 3)):
        t.service(0, 0x03, service_parameters(1))
        t.wait(4_000_000)
    t.chatter(60_000_000)
    return Story(t.frames, ("login-unanswered", "no-answer"))


def logout(r: Random) -> Story:
    """LOGO of one side, accepted."""
    t = begun(r)
    t.talk()
    side = r.randrange(2)
    t.service(side, 0x05, bytes([0]) + t.ends[side].to_bytes(3, "big") + bytes(8), (0x02, b""))
    t.chatter(30_000_000)
    return Story(t.frames, ("login-lost",), (t.ends[side],), is_shown=True)


def new_address(r: Random) -> Story:
    """FLOGI, which gives the port another N_Port_ID; then it connects anew, or not."""
    t = Talk(r)
    t.login(), t.setup(), t.talk()
    me, name = t.ends[0], 0x10000000C9000000 + t.ends[0]
    ox = t.next_ox(0)
    t.put(link_service(0x04, F_PORT, 0, ox, service_parameters(name)))
    t.put(link_service(0x02, me + 0xE00, F_PORT, ox, service_parameters(0x2000000000000001), reply=True), after=200)
    if r.random() < 0.5:
        t.ends = (me + 0xE00, t.ends[1])
        t.service(0, 0x03, service_parameters(name), (0x02, service_parameters(0x10000000C9000000 + t.ends[1])))
        t.handle, t.ident, t.msg = [h + 1 for h in t.handle], t.ident + 1, [0, 0]
        t.setup(), t.talk()
    t.chatter(30_000_000)
    return Story(t.frames, ("login-lost",), (me, me + 0xE00))


def descriptor(kind: int, body: bytes) -> bytes:
    """Of FIP."""
    return bytes([kind, (len(body) + 2) // 4]) + body


def fip(operation: int, sub: int, body: bytes) -> bytes:
    """A frame of FIP from its version on."""
    return struct.pack(">BBHBBHH", 0x10, 0, operation, 0, sub, len(body) // 4, 0) + body


def vx_port(port: int) -> bytes:
    """Its descriptor."""
    return descriptor(11, b"\x0e\xfc\0" + port.to_bytes(3, "big") + b"\0" + port.to_bytes(3, "big") + struct.pack(">Q", port))


def cleared(r: Random) -> Story:
    """FIP Clear Virtual Links."""
    t = begun(r)
    t.talk()
    gone = t.ends[r.randrange(2)]
    t.now += 500
    mac, name = descriptor(2, b"\x0d\xec\0\0\0\1"), descriptor(4, bytes(10))
    t.frames.append(Seen(t.now, b"", fip=fip(3, 2, mac + name + vx_port(gone))))
    t.chatter(30_000_000)
    return Story(t.frames, ("login-lost",), (F_PORT, gone), is_fcoe=True)


def logout_by_fip(r: Random) -> Story:
    """LOGO in FIP."""
    t = begun(r)
    t.talk()
    me = t.ends[r.randrange(2)]
    t.now += 500
    logo = link_service(0x05, F_PORT, me, 0x99, b"\0" + me.to_bytes(3, "big") + bytes(8))
    t.frames.append(Seen(t.now, b"", fip=fip(2, 1, descriptor(9, bytes(2) + logo) + descriptor(2, bytes(6)))))
    t.chatter(30_000_000)
    return Story(t.frames, ("login-lost",), (me,), is_fcoe=True)


def refused(reason: int, cause: str) -> Callable[[Random], Story]:
    """A setup that is refused."""

    def make(r: Random) -> Story:
        t = Talk(r)
        t.login(), t.refuse(reason), t.chatter(30_000_000)
        return Story(t.frames, (cause,), (t.ends[1],) if reason == 4 else (), is_shown=True)

    return make


def no_parameters(r: Random) -> Story:
    """A PLOGI without bit C or S; the setup is refused for it."""
    t = Talk(r)
    me, you = service_parameters(1), service_parameters(2)
    bad = bytearray(me)
    if r.random() < 0.5:
        bad[4] &= 0x7F
    else:
        bad[5] &= 0xFD
    t.service(0, 0x03, bytes(bad), (0x02, you))
    t.refuse(0x20), t.chatter(30_000_000)
    return Story(t.frames, ("service-parameters",), (t.ends[0],))


def unseen_login(r: Random) -> Story:
    """A setup is refused for service parameters, of a login before the capture."""
    t = Talk(r)
    t.refuse(0x20), t.chatter(30_000_000)
    return Story(t.frames, ("service-parameters",), is_shown=True)


def lost_request(r: Random) -> Story:
    """The request is lost beyond the capture point; ABTS is answered by BA_RJT, and a retry goes through."""
    t = Talk(r)
    t.login()
    ox = t.setup(0)
    t.abort(0, ox, R_A_TOV_US, 0x85)
    t.wait(1000), t.setup(retry=1), t.talk(), t.disconnect()
    return Story(t.frames, ("lost-request",))


def lost_response(r: Random) -> Story:
    """The Response passes the capture point, and the Message is aborted for want of it."""
    t = begun(r)
    t.level = 3
    ox, _ = t.message(0)
    t.abort(0, ox, R_A_TOV_US)
    t.disconnect(0, 0x40)
    return Story(t.frames, ("lost-response",))


def lost_frame(r: Random) -> Story:
    """A frame of a Message does not come by, and the receiver gives the Connection up."""
    t = begun(r)
    t.level = 3
    t.message(1), t.message(0, 9000, answered=False, lost=r.randint(1, 3))
    t.disconnect(1, 0x40)
    return Story(t.frames, ("lost-message",))


def late_answer(r: Random) -> Story:
    """The Response comes after the ABTS."""
    t = begun(r)
    t.level = 3
    t.far = (2, 6_000_000)
    ox, msg = t.message(0, answered=False)
    t.abort(0, ox, R_A_TOV_US, 0)
    t.answer(1, ox, msg, after=2_000_000)
    t.abort(0, ox, 8_000_000)
    t.disconnect(0, 0x40)
    return Story(t.frames, ("timeout-too-short",))


def protection(r: Random) -> Story:
    """A Response reports PROT_ERR or DESC_ERR."""
    t = begun(r)
    t.level = 3
    ox, msg = t.message(0, answered=False)
    flag = r.choice((2, 4))
    t.answer(1, ox, msg, flag | 1)
    t.disconnect(1, 0x41 if flag == 4 else 0x42)
    return Story(t.frames, ("memory-protection" if flag == 4 else "receive-queue-empty",), is_shown=True)


def damage(r: Random) -> Story:
    """A frame of a Message with a wrong CRC; its receiver gives the Connection up."""
    t = begun(r)
    t.level = 3
    t.talk(), t.message(1), t.message(0, 9000, answered=False)
    at = max(n for n, s in enumerate(t.frames) if s.opcode == 0) - r.randrange(3)
    t.frames[at] = replace(t.frames[at], good=False)
    t.disconnect(1, 0x40), t.chatter(5_000_000)
    return Story(t.frames, ("bit-errors",))


def fabric_login(r: Random) -> Story:
    """FLOGI, rejected each time or never answered; its port is not heard again."""
    t = Talk(r, OTHERS)
    t.login(), t.setup(), t.talk()
    answered = r.random() < 0.5
    for _ in range(r.randint(2, 4)):
        ox = t.next_ox(0)
        t.put(link_service(0x04, F_PORT, 0, ox, service_parameters(0x10000000C9000077)))
        if answered:
            t.put(link_service(0x01, 0, F_PORT, ox, bytes([0, 3, 0x0D, 0]), reply=True), after=300)
        t.wait(5_000_000)
    t.chatter(60_000_000)
    return Story(t.frames, ("login-refused" if answered else "login-unanswered",), is_shown=answered)


def unknown_address(r: Random) -> Story:
    """FARP-REQ for a Host Address that no port has (7.5)."""
    t = Talk(r)
    body = bytes([4]) + t.ends[0].to_bytes(3, "big") + bytes([2]) + bytes(3) + bytes(32)
    for _ in range(r.randint(1, 4)):
        t.put(link_service(0x54, 0xFFFFFF, t.ends[0], t.next_ox(0), body + host_address(t.ends[0]) + host_address(0x77)))
        t.wait(2_000_000)
    t.chatter(60_000_000)
    return Story(t.frames, ("address-unanswered",))


def process_login(r: Random) -> Story:
    """PRLI for TYPE 58h, rejected or never answered, and no Connection."""
    t = Talk(r)
    t.login()
    answer = r.choice((None, (0x01, bytes([0, 0x0B, 0, 0]))))
    for _ in range(r.randint(1, 3)):
        t.service(0, 0x20, bytes([0x58, 0, 0x20, 0]) + bytes(12), answer)
        t.wait(3_000_000)
    t.chatter(60_000_000)
    return Story(t.frames, ("login-refused", "login-unanswered"))


def address_in_plogi(r: Random) -> Story:
    """A Message without an answer, and then a PLOGI of the same Port_Name from another N_Port_ID."""
    t = Talk(r)
    t.login(), t.setup(), t.talk()
    moved = r.randrange(2)
    t.message(1 - moved, answered=False)
    t.wait(3_000_000)
    names = [0x10000000C9000000 + end for end in t.ends]
    was, ends = t.ends[moved], [*t.ends]
    ends[moved] += 0xE00
    t.ends = (ends[0], ends[1])
    t.service(0, 0x03, service_parameters(names[0]), (0x02, service_parameters(names[1])))
    t.handle, t.ident, t.msg = [h + 1 for h in t.handle], t.ident + 1, [0, 0]
    t.setup(), t.talk(), t.chatter(30_000_000)
    return Story(t.frames, ("login-lost",), (was, ends[moved]))


def port_gone(r: Random) -> Story:
    """RSCN names a port that is not heard again; the other one aborts, and its PLOGIs are in vain."""
    t = begun(r)
    t.level = 3
    t.talk()
    ox, _ = t.message(0, answered=False)
    if r.random() < 0.5:
        t.put(link_service(0x61, t.ends[0], 0xFFFFFD, 0x77, b"\0" + t.ends[1].to_bytes(3, "big")), after=1_000_000)
        causes: tuple[str, ...] = ("login-lost",)
    else:
        causes = ("lost-response", "lost-message", "port-silent")
    t.abort(0, ox, R_A_TOV_US, 0)
    for _ in range(r.randint(0, 2)):
        t.wait(2_000_000), t.service(0, 0x03, service_parameters(0x10000000C9000000 + t.ends[0]))
    t.chatter(60_000_000)
    return Story(t.frames, causes, (t.ends[1],))


def restarted(r: Random) -> Story:
    """A port logs in to the Fabric anew, and either of the two sends PLOGI: it is the first that lost its login."""
    t = Talk(r)
    t.login(), t.setup(), t.talk()
    fresh, asks = r.randrange(2), r.randrange(2)
    t.message(1 - fresh, answered=False), t.wait(4_000_000)
    ox = t.next_ox(fresh)
    t.put(link_service(0x04, F_PORT, 0, ox, service_parameters(0x10000000C9000000 + t.ends[fresh])))
    t.put(link_service(0x02, t.ends[fresh], F_PORT, ox, service_parameters(0x2000000000000001), reply=True), after=200)
    names = [0x10000000C9000000 + end for end in t.ends]
    t.service(asks, 0x03, service_parameters(names[asks]), (0x02, service_parameters(names[1 - asks])))
    t.chatter(30_000_000)
    return Story(t.frames, ("login-lost",), (t.ends[fresh],))


def gave_up_waiting(r: Random) -> Story:
    """The responder waits for FCVI_CONNECT_RESP2 for two times R_A_TOV, and gives the setup up (8.5.2 c)."""
    t = Talk(r)
    t.login()
    t.setup(1)
    ox = t.next_ox(1)
    t.put(t.iu(1, 0x12, 4 | 1, 0x290000, ox, word=0x49 << 16, r_ctl=2), after=2 * R_A_TOV_US)
    t.chatter(30_000_000)
    return Story(t.frames, ("lost-resp1", "lost-resp2", "port-silent"))


def in_two(data: bytes, at: int = 256) -> list[tuple[bytes, int, int]]:
    """A connect IU in two frames (E44)."""
    f_ctl = int.from_bytes(data[9:12], "big") | 8
    head, device, body = data[:24], data[24:56], data[56:]
    two = []
    for n, part in enumerate((body[:at], body[at:])):
        mine = f_ctl if n else f_ctl & ~0x090000
        frame = head[:9] + mine.to_bytes(3, "big") + head[12:14] + bytes([0, n]) + head[16:20] + struct.pack(">I", n * at)
        two.append((frame + device + part, SOF_N3 if n else SOF_I3, EOF_T if n else EOF_N))
    return two


def setup_in_part(r: Random) -> Story:
    """One of the two frames of a FCVI_CONNECT_RQST or RESP1 does not come by; the setup is given up, and tried again or not."""
    t = Talk(r)
    t.login()
    is_answer, lost = r.random() < 0.5, r.randrange(2)
    ox = t.setup(int(is_answer))
    for data, sof, eof in in_two(t.frames.pop().data)[1 - lost : 2 - lost]:
        t.put(data, sof, eof)
    if r.random() < 0.5:
        t.abort(0, ox, R_A_TOV_US), t.wait(1000), t.setup(retry=1), t.talk(), t.disconnect()
    t.chatter(60_000_000)
    return Story(t.frames, ("lost-resp1" if is_answer else "lost-request",))


def end_cut(r: Random) -> Story:
    """The last frame of a Message does not come by, and its sender aborts it for want of a Response."""
    t = begun(r)
    t.level = 3
    t.talk()
    ox, _ = t.message(0, 9000, answered=False, lost=4)
    t.abort(0, ox, R_A_TOV_US), t.disconnect(0, 0x40)
    return Story(t.frames, ("lost-message",))


def strange_handle(r: Random) -> Story:
    """A Message goes to an FCVI_HANDLE that nobody gave."""
    t = Talk(r)
    t.level = 3
    t.login(), t.setup(), t.message(0), t.message(1)
    right = t.handle[1]
    t.handle[1] = right ^ 1 << r.randrange(28)
    ox, _ = t.message(0, answered=False)
    t.handle[1] = right
    t.abort(0, ox, R_A_TOV_US), t.disconnect(0, 0x40)
    return Story(t.frames, ("wrong-handle",), (t.ends[0],))


def asked_by_ack(r: Random) -> Story:
    """In class 2 an ACK asks for the ABTS of a Message that passed the capture point whole (8.4.2 h)."""
    t = begun(r)
    t.level = 3
    t.talk()
    ox, _ = t.message(0, 9000, answered=False)
    last = t.frames[-1].data
    t.put(header(0xC0, t.ends[0], t.ends[1], 0x58, 0xD00010, last[12], 0, int.from_bytes(last[14:16], "big"), ox, 0x6001, 1), 0x2D,
          after=t.back(1))  # fmt: skip
    t.abort(0, ox, 500), t.disconnect(0, 0x40)
    return Story(t.frames, ("lost-message", "bit-errors", "out-of-order"))


def no_more_alive(r: Random) -> Story:
    """The keep-alives of an ENode stop, and no frame of its port follows; the other aborts."""
    t = begun(r)
    t.level = 3
    gone = r.randrange(2)
    t.message(gone)
    mac = b"\x0e\xfc\0" + t.ends[gone].to_bytes(3, "big")
    for _ in range(r.randint(4, 7)):
        t.wait(7_990_000)
        t.frames.append(Seen(t.now, b"", fip=fip(3, 1, descriptor(2, mac) + vx_port(t.ends[gone]))))
    ox, _ = t.message(1 - gone, answered=False)
    t.abort(1 - gone, ox, R_A_TOV_US, 0)
    t.chatter(100_000_000)
    return Story(t.frames, ("keep-alive-stopped", "port-silent"), is_fcoe=True)


CAUSES: dict[str, Callable[[Random], Story]] = {
    "fabric-login": fabric_login, "unknown-address": unknown_address, "process-login": process_login, "restarted": restarted,
    "address-in-plogi": address_in_plogi, "port-gone": port_gone, "gave-up-waiting": gave_up_waiting, "end-cut": end_cut,
    "setup-in-part": setup_in_part, "strange-handle": strange_handle, "asked-by-ack": asked_by_ack, "no-more-alive": no_more_alive,
    "silent-rqst": silent_setup(0), "silent-resp1": silent_setup(1), "silent-resp2": silent_setup(2),
    "silent-message": silent_message, "silent-disconnect": silent_disconnect, "denied": denied, "given-up": given_up,
    "rejected-login": rejected_login,
    "rejected-frame": rejected_frame, "unanswered-login": unanswered_login, "logout": logout, "new-address": new_address,
    "cleared": cleared, "logout-by-fip": logout_by_fip, "no-match": refused(1, "no-match"), "no-waiting": refused(3, "no-waiting"),
    "connect-timeout": refused(2, "connect-timeout"), "rejected": refused(4, "rejected"), "no-parameters": no_parameters,
    "unseen-login": unseen_login,
    "lost-request": lost_request, "lost-response": lost_response, "lost-frame": lost_frame, "late-answer": late_answer,
    "protection": protection, "damage": damage,
}  # fmt: skip


# ---- capture points ----


def skewed(r: Random, frames: list[Seen]) -> list[Seen]:
    """A tap for each direction, with clocks of their own."""
    us = r.choice((-1, 1)) * r.choice((300, 5_000, 40_000, 400_000))
    low = min((s.owner for s in frames if s.owner >= 0), default=0)
    return sorted((replace(s, us=s.us + us) if s.owner in (low, low + 0xE00, OTHERS[0]) else s for s in frames), key=lambda s: s.us)


def in_bursts(r: Random, frames: list[Seen]) -> list[Seen]:
    """Two interfaces, whose buffers are written one after the other."""
    low = min((s.sender for s in frames if s.sender >= 0), default=0)
    out: list[Seen] = []
    window, begin = r.choice((20_000, 1_000_000, 12_000_000)), frames[0].us
    for n in range((frames[-1].us - begin) // window + 1):
        part = [s for s in frames if n == (s.us - begin) // window]
        out += [s for s in part if s.sender == low] + [s for s in part if s.sender != low]
    return out


def shuffled(r: Random, frames: list[Seen]) -> list[Seen]:
    """Queues of one adapter: neighbours change places, with true time stamps."""
    return [s for _, s in sorted(enumerate(frames), key=lambda e: e[1].us + r.randrange(0, 40))]


def leaping(us: int) -> Callable[[Random, list[Seen]], list[Seen]]:
    """The clock is set while a question waits for its answer."""

    def make(r: Random, frames: list[Seen]) -> list[Seen]:
        answers = RESPONSES + (0x18, 0x1A)
        places = [n for n, s in enumerate(frames) if n and s.sender != frames[n - 1].sender and s.opcode in answers]
        at = r.choice(places or [len(frames) // 2])
        return frames[:at] + [replace(s, us=s.us + us) for s in frames[at:]]

    return make


def sampled(r: Random, frames: list[Seen]) -> list[Seen]:
    """One frame of a few is kept."""
    share = r.choice((0.3, 0.6, 0.9))
    return [s for s in frames if r.random() < share]


POINTS: dict[str, Callable[[Random, list[Seen]], list[Seen]]] = {
    "plain": lambda r, frames: frames, "skewed": skewed, "bursts": in_bursts, "shuffled": shuffled,
    "forward": leaping(7_200_000_000), "back": leaping(-3_600_000_000), "nudged": leaping(-300_000),
    "skewed-bursts": lambda r, frames: in_bursts(r, skewed(r, frames)),
}  # fmt: skip


# ---- files ----


@dataclass
class Wrapping:
    """How a file holds frames. crc: the words of what a sender's adapter had not computed; ends: SOF and EOF of an export."""

    name: str
    snap: int = 0
    words: dict[int, str] = field(default_factory=dict)
    ends: Optional[tuple[int, int]] = None


def fcoe(s: Seen, how: Wrapping, r: Random) -> bytes:
    """An Ethernet frame."""
    vlans = [1002] if how.name == "fcoe-vlan" else []
    if s.fip:
        here = b"\x0e\xfc\0" + s.owner.to_bytes(3, "big") if s.owner > 0 and r.random() < 0.5 else b"\0\x1b\x21\0\0\1"
        return bytes.fromhex("0dec00000001") + here + w.ethernet(0x8914, s.fip, vlans)[12:]
    kind = how.words.get(s.sender, "")
    crc = struct.pack("<I", zlib.crc32(s.data) ^ (0 if s.good else 0x1234))
    crc = {"": crc, "ones": b"\xff" * 4, "zeros": bytes(4), "garbage": r.randbytes(4)}[kind]
    sof, eof = how.ends or (s.sof, s.eof)
    return w.ethernet(0x8906, bytes(13) + bytes([sof]) + s.data + crc + bytes([eof, 0, 0, 0]), vlans)


_SNAPS = {"fcoe": 96, "fcoe-vlan": 100, "bare": 64, "delimited": 68, "fcip": 150, "mds": 96}
NAMES = tuple(_SNAPS)


def records(frames: list[Seen], how: Wrapping, r: Random) -> tuple[int, list[tuple[int, bytes]]]:
    """Linktype, and time and bytes of each record."""
    if how.name.startswith("fcoe"):
        return 1, [(s.us, fcoe(s, how, r)) for s in frames]
    plain = [w.Frame(s.data, s.sof, s.eof, s.good, s.us) for s in frames]
    if how.name == "bare":
        return 224, [(f.time_us, f.data) for f in plain]
    if how.name == "delimited":
        sofs = {0x2D: 0xBCB55555, 0x2E: 0xBCB55656, 0x36: 0xBCB53636}
        eofs = {EOF_N: 0xBC95D5D5, EOF_T: 0xBC957575}
        return 225, [(f.time_us, struct.pack(">I", sofs[f.sof]) + f.data + f.crc + struct.pack(">I", eofs[f.eof])) for f in plain]
    kind, wrap = w.ALONE[how.name]
    return kind, wrap(plain)


def story(name: str, seed: int) -> tuple[Story, list[Seen], Wrapping, str]:
    """A story, what the capture point saw of it, how its file holds that, and what is wrong with the capture."""
    r = Random(f"{name} {seed}")
    told = healthy(r) if name == "healthy" else CAUSES[name](r)
    told.name = name
    points = list(POINTS) + (["sampled"] if not told.causes else [])
    point = points[seed % len(points)]
    frames = sampled(r, told.frames) if point == "sampled" else POINTS[point](r, told.frames)
    names = [n for n in NAMES if n.startswith("fcoe")] if told.is_fcoe else NAMES
    how = Wrapping(names[seed // len(points) % len(names)])
    extra = r.choice(("none", "none", "snap", "offload", "ends"))
    if extra == "snap" and name != "damage" and name != "no-parameters":
        how.snap = _SNAPS[how.name] if not told.is_fcoe else 128
    elif extra == "offload" and how.name.startswith("fcoe") and name != "damage":
        how.words = {r.choice((A, B)): r.choice(("ones", "zeros", "garbage"))}
    elif extra == "ends" and how.name.startswith("fcoe") and name != "damage":
        how.ends = (0x11, 0)
    return told, frames, how, f"{point} {how.name} {extra}"


def capture(name: str, seed: int) -> tuple[Story, bytes, str]:
    """A story as a file, and in words what the capture point made of it."""
    told, frames, how, words = story(name, seed)
    linktype, made = records(frames, how, Random(seed))
    return told, w.pcap(linktype, made, how.snap), words
