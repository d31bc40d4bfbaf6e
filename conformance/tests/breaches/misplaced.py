"""Sessions in which one frame has one field of its Sequence wrong, and a Disconnect comes behind it."""

from dataclasses import dataclass
from typing import Callable, Iterator

from conformance.tests.breaches import flows, wire
from conformance.tests.breaches.scene import start
from conformance.tests.breaches.wire import END, EXCHANGE_RESPONDER, FIRST, INITIATIVE, LAST, Frame


def _bit(mask: int) -> Callable[[Frame], None]:
    def turn(f: Frame) -> None:
        f.f_ctl ^= mask

    return turn


def _plus(name: str, more: int) -> Callable[[Frame], None]:
    return lambda f: setattr(f, name, getattr(f, name) + more)


#: Each field by which a frame has its place, and how it is made wrong.
WRONG: dict[str, Callable[[Frame], None]] = {
    "SEQ_ID": lambda f: setattr(f, "seq_id", f.seq_id ^ 0x40),
    "SEQ_CNT+1": _plus("seq_cnt", 1),
    "SEQ_CNT+7": _plus("seq_cnt", 7),
    "RX_ID": lambda f: setattr(f, "rx", f.rx ^ 0x40),
    "Relative_Offset": _plus("param", 4),
    "First_Sequence": _bit(FIRST),
    "Last_Sequence": _bit(LAST),
    "End_Sequence": _bit(END),
    "Sequence_Initiative": _bit(INITIATIVE),
    "Exchange_Context": _bit(EXCHANGE_RESPONDER),
}


@dataclass
class Misplaced:
    """A session, and the frames of the wrong one's side of its Exchange: two of them may contradict each other."""

    name: str
    frames: list[Frame]
    own: set[int]


def _session(level: int, opcode: int, length: int, back: bool, by: bool, before: bool) -> tuple[flows.Wire, dict[str, list[Frame]]]:
    w, a, b = start()
    c = flows.pair(w, a, b, level)
    w.run(flows.connect(c))
    if before:
        w.run(flows.message(c, back, wire.SEND_RQST, 512, 1))
    asked, answered = w.run(flows.message(c, back, opcode, length, 1))
    ends, _ = w.run(flows.disconnect(c, back=by))
    ius = {"RQST": c.ius[wire.CONNECT_RQST], "RESP1": c.ius[wire.RESP1], "RESP2": c.ius[wire.RESP2], "RESP3": c.ius[wire.RESP3]}
    return w, ius | {"request": flows.flat(asked), "response": flows.flat(answered), "DISCONNECT_RQST": ends}


def sessions() -> Iterator[Misplaced]:
    """Every IU with every field wrong. That RESP2 has not the RX_ID of RESP1 is the fault of RESP2."""
    for opcode, length in ((wire.SEND_RQST, 512), (wire.WRITE_RQST, 3000), (wire.READ_RQST, 3000), (wire.READ_RQST, 0)):
        for number in range(16):
            level, back, by, before = 2 + number % 2, bool(number & 2), bool(number & 4), bool(number & 8)
            for iu in _session(level, opcode, length, back, by, before)[1]:
                for field, change in WRONG.items():
                    w, ius = _session(level, opcode, length, back, by, before)
                    if not ius[iu] or (iu, field) == ("RESP1", "RX_ID"):
                        continue
                    wrong = ius[iu][0]
                    own = {n for n, f in enumerate(w.frames, 1) if (f.src, f.ox) == (wrong.src, wrong.ox)}
                    change(wrong)
                    yield Misplaced(f"{opcode:02x}-{length}-{number}-{iu}-{field}", w.frames, own)
