"""A connection on which Messages of the tester lose frames: the stage of Annex B.

Frames have 16 bytes of Message Data, so that a case can speak of SEQ_CNT as Annex B does: frame n has SEQ_CNT n.
"""

from __future__ import annotations

from typing import Iterable, Optional, Sequence

from fcvi.fc.message import Cut
from fcvi.fc.received import Received
from fcvi.fc.scenario import Scenario

from .connection import STATE, Setup
from .deliveries import Pool
from .messages import (
    OUT_OF_ORDER,
    RR,
    Sent,
    expect_error,
    expect_response,
    level_of,
    open_connection,
    prepare,
    reliable,
    state_of,
    transmit,
)

PIECE = 16
DELIVERY = {False: "FCVI-8.4.2-d", True: "FCVI-8.4.1-01"}  # why the next Message has to arrive, by reliable()


class Line:
    """One connection, the Messages of the tester on it and the DUT's receive Descriptors."""

    def __init__(self, t: Scenario, descriptors: int = 8, longest: int = 4) -> None:
        """Connect and post receive Descriptors for Messages of up to this many frames."""
        self.t = t
        self.setup = self.connect()
        self.pool = Pool(t, self.setup, descriptors, longest * PIECE)
        self.sent: dict[int, Sent] = {}
        self.delivery = "FCVI-4.2-19" if self.out_of_order and not reliable(t) else DELIVERY[reliable(t)]

    def connect(self) -> Setup:
        """The connection of this line."""
        return open_connection(self.t)

    @property
    def out_of_order(self) -> bool:
        """Whether this variant has an Out-of-Order Fabric."""
        return bool(self.t.config["fabric"] == OUT_OF_ORDER)

    # ---- what the tester sends ----

    def message(self, number: int, frames: int = 1, ius: int = 1) -> Sent:
        """Message number, of so many frames."""
        if number not in self.sent:
            data = self.t.rng.randbytes(frames * PIECE)
            cut = Cut(frame=PIECE, ius=ius)
            self.sent[number] = prepare(self.t, self.setup, self.pool.message(number, data), cut)
        return self.sent[number]

    def send(self, number: int, which: Optional[Iterable[int]] = None, note: str = "") -> None:
        """Send frames of a Message by SEQ_CNT; all when none are named."""
        frames = self.sent[number].frames
        transmit(self.t, frames if which is None else [frames[i] for i in which], note)

    def good(self, first: int, last: int, frames: int = 1) -> None:
        """Messages that arrive whole: the positive control."""
        for number in range(first, last + 1):
            self.message(number, frames)
            self.send(number)
        self.expect(range(first, last + 1), "FCVI-6.2.1-01" if self.t.params["op"] == "send" else "FCVI-6.4.1-01")
        self.t.control(f"Messages {first} to {last} were delivered")

    # ---- what the DUT made of it ----

    def look(self) -> list[int]:
        """FCVI_MSG_IDs of what was delivered so far."""
        self.pool.look(self.sent.values())
        return self.pool.delivered

    def arrived(self, numbers: Sequence[int], within_us: Optional[int] = None) -> bool:
        """Whether these Messages are delivered within the time."""
        limit = self.t.owed_us() if within_us is None else within_us
        return self.t.until(lambda: set(numbers) <= set(self.look()), limit)

    def expect(self, numbers: Sequence[int], requirement: str, within_us: Optional[int] = None) -> None:
        """These Messages are delivered and, on Reliable Reception, answered."""
        arrived = self.arrived(numbers, within_us)
        missing = [n for n in numbers if n not in self.pool.delivered]
        words = f"Message {missing[0]} was not delivered" if missing else "a Message was not delivered"
        required = f"Messages {', '.join(map(str, numbers))}" if numbers else "none is owed"
        self.t.demand(arrived, requirement, words, f"delivered: {self.pool.delivered}", required)
        if level_of(self.t) == RR:
            for number in numbers:
                expect_response(self.t, self.setup, self.sent[number])

    def not_delivered(self, number: int, requirement: str, why: str) -> None:
        """The Message has not completed without error."""
        self.t.require(number not in self.look(), requirement, f"Message {number} was delivered {why}", "delivered",
                       "not delivered")  # fmt: skip

    def survives(self, next_number: int, frames: int = 1) -> None:
        """Unreliable Delivery after a Message Error: the next Message is delivered, unless the VI went to Error (8.4.2 c)."""
        if state_of(self.t, self.setup.vi) == STATE["error"]:
            self.t.step("the DUT moved the VI to Error, as 8.4.2 c) permits")
            return
        self.message(next_number, frames)
        self.send(next_number)
        patience = 4 * self.t.r_a_tov_us  # a DUT may wait for what is lost as long as it likes (8.4.1 b, E81)
        if self.arrived([next_number], patience) or state_of(self.t, self.setup.vi) != STATE["error"]:
            self.expect([next_number], self.delivery, 0)

    def transport_error(self, number: int, rule: str) -> None:
        """The Descriptor of a Message of which frames had come completes in error (rule 3a), where the DUT kept the VI."""
        last = [c for c in self.pool.taken if not c.good]
        self.look()
        self.t.require(self.pool.failed > 0, rule, f"the Descriptor of Message {number} did not complete in error",
                       f"{len(self.pool.taken)} completions", "an error")  # fmt: skip
        if last:
            self.t.require("VIP_STATUS_TRANSPORT_ERROR" in last[0].status, rule, "the status is not that of rule 3a",
                           sorted(last[0].status), "VIP_STATUS_TRANSPORT_ERROR")  # fmt: skip

    def fails(self, why: str, requirement: str = "FCVI-8.4.2-e", within_us: Optional[int] = None) -> None:
        """A reliable VI goes to Error (8.4.2 e) and Message frames for its handle are discarded from then on (8.4.2 f)."""
        expect_error(self.t, self.setup, requirement, why, within_us)
        self.look()
        self.discards()

    def discards(self) -> None:
        """Rule 1: a Message has no effect on a VI in Error, and no answer (8.1, 8.4.2 f)."""
        number = max(self.sent) + 1
        self.message(number, 2)
        before = self.pool.contents()
        self.send(number)
        self.t.settle()
        self.pool.untouched("FCVI-8.4.2-f1", before, "by a Message for a VI in Error")
        self.t.expect_nothing(["SEND_RESP", "WRITE_RESP"], self.t.r_a_tov_us // 10, "FCVI-8.1-01", "from a VI in Error",
                              exchange=self.sent[number].exchange)  # fmt: skip

    def late(self, numbers: Iterable[tuple[int, Optional[Sequence[int]]]], requirement: str, why: str) -> None:
        """Frames that come too late change no buffer and complete nothing; of 8.4.2 d) within R_A_TOV of the error."""
        if requirement == "FCVI-8.4.2-d" and self.t.now_us >= self.pool.failed_us + self.t.r_a_tov_us:
            return
        before = self.pool.contents()
        for number, which in numbers:
            self.send(number, which, "late")
        self.pool.untouched(requirement, before, why)

    # ---- class 2 ----

    def acks(self, number: int) -> list[Received]:
        """ACKs that came for frames of this Message."""
        exchange = self.sent[number].exchange
        return [r for r in self.t.tester.inbox if r.kind in ("ACK_0", "ACK_1") and r.exchange is exchange]

    def abort_asked(self, numbers: Iterable[int], requirement: str) -> None:
        """Class 2: at least one ACK for these Messages asks for ABTS (Abort Sequence Condition 01b, 8.4.2 h)."""
        if self.t.config["class"] != 2:
            return
        acks = [ack for number in numbers for ack in self.acks(number)]
        seen = [a.fc("Abort_Sequence_Condition") for a in acks]
        self.t.require(
            1 in seen, requirement, "no ACK after the Message Error has Abort Sequence Condition 01b", seen or "no ACK",
            "01b", at=acks[-1] if acks else None,
        )  # fmt: skip
