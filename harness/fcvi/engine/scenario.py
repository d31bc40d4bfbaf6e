"""The primitives a case is written with.

A case never sleeps, never names a transport and never knows whether time is real or virtual: it says what it
sends, what it expects and within which time, and this module moves the clock, the frames and the control plane.
Whether a breach fails the DUT is decided in one place, here: by the level of the requirement that was broken.
"""

from __future__ import annotations

from random import Random
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence

from fcvi.dut.base import SETTLE_US, Dut, DutError
from fcvi.fc.second_port import FarSide
from .pixit import Pixit
from fcvi.fc.received import Exchange, Received
from .results import Expectation, Finding, TraceFrame
from fcvi.fc.tester import Tester
from .upper import Call, Completion, Told, Unimplemented, parse_completion

#: Levels of requirements whose breach fails a device. Informative rules and examples never do by themselves.
FAILING_LEVELS = frozenset({"shall"})
_TICKS_PER_R_A_TOV = 20  # steps of the clock for a DUT that does not tell when its next timer fires


class Failed(Exception):
    """The case cannot go on: what it needed from the DUT did not happen."""


class Inconclusive(Exception):
    """No verdict can be reached, for the reason given."""


class TooCoarse(Inconclusive):
    """The suite's own host comes too late for the bound: longer timers may help."""


class Scenario:
    """One run of one case variant against one DUT."""

    def __init__(
        self,
        dut: Dut,
        pics: Mapping[str, Any],
        pixit: Pixit,
        levels: Mapping[str, str],
        rng: Random,
        params: Mapping[str, Any],
        config: Mapping[str, Any],
    ) -> None:
        self.dut = dut
        self.pics = pics
        self.pixit = pixit
        self.params = params
        self.rng = rng
        self.config = config
        self.tester = Tester(dut, pixit, config, rng)
        self.findings: list[Finding] = []
        self.expectations: list[Expectation] = []
        self.controls: list[str] = []
        self.log: list[object] = []  # lines, put into words when somebody reads them
        self.completions: list[Completion] = []
        self.errors: list[tuple[Optional[int], str]] = []
        self.states: list[tuple[int, str]] = []
        self.stalled_us = 0  # the longest time that the suite's own host came late, in real time
        self._levels = levels
        self._tolerated: set[str] = set()

    # ---- time ----

    @property
    def now_us(self) -> int:
        """DUT time since the reset."""
        return self.dut.now_us

    @property
    def r_a_tov_us(self) -> int:
        """FCVI_ULP_TIMEOUT (8.3)."""
        return self.pixit.r_a_tov_us

    @property
    def ulp_timeout_us(self) -> int:
        """FCVI_ULP_TIMEOUT of the DUT in this variant, which may be configured to be longer than usual."""
        return int(self.config.get("r_a_tov_us", self.pixit.r_a_tov_us))

    def settle(self) -> None:
        """Let the DUT finish what it can do without time passing."""
        self._advance(0)

    def wait(self, us: int) -> None:
        """Let time pass, whatever arrives."""
        self.until(lambda: False, us)

    def until(self, holds: Callable[[], bool], within_us: int) -> bool:
        """Let time pass until the condition holds, at most within_us. The last instant is included.

        What the suite spent since it last looked at a real clock is not taken off the device's time.
        """
        dut = self.dut
        self._advance(0)
        deadline = dut.now_us + within_us
        while not holds():
            if dut.now_us >= deadline:
                return False
            self._advance(self._step(deadline))
        return True

    def _step(self, deadline: int) -> int:
        now = self.dut.now_us
        step = deadline - now
        if not self.dut.knows_next:
            step = min(step, max(1, self.r_a_tov_us // _TICKS_PER_R_A_TOV))
        elif self.dut.next_us is not None and self.dut.next_us > 0:
            step = min(step, max(1, self.dut.next_us - 1))  # stop just before it: then its time is known exactly
        event = self.tester.next_event_us()
        return max(1, min(step, event - now)) if event is not None else step

    def _advance(self, us: int) -> None:
        tester = self.tester
        pass_time = self._pass_real_time if self.dut.clock == "real" else self.dut.advance
        pass_time(us)
        answered = self._drain()
        while (tester.waits and tester.run_events(self.dut.now_us)) or answered:
            pass_time(0)
            answered = self._drain()

    def _pass_real_time(self, us: int) -> None:
        due = self.dut.now_us + max(us, SETTLE_US)
        self.dut.advance(us)
        heard = [note.time_us for note in self.dut.inbox]
        # whoever waits on time hears something before it is due, or nothing
        late = max(min(heard, default=self.now_us) - due, self.now_us - max([due, *heard]))
        self.stalled_us = max(self.stalled_us, late)

    def _drain(self) -> bool:
        """Take in what the DUT sent; true when the tester answered some of it by itself."""
        inbox = self.dut.inbox
        if not inbox:
            return False
        before = self.tester.answered
        while inbox:
            note = inbox.popleft()
            if note.method == "frame":
                self.tester.take_in(note)
            elif note.method == "completion":
                self.completions.append(parse_completion(note.params, note.earliest_us, note.time_us))
                self.log.append(Told(note.time_us, "completion", note.params))
            elif note.method == "error":
                code = note.params.get("code")
                vi = note.params.get("vi")
                if not isinstance(code, str) or not (vi is None or isinstance(vi, int)):
                    raise DutError(f"error notification broke the DUT protocol: {str(note.params)[:120]}")
                self.errors.append((vi, code))
                self.log.append(f"{note.time_us} us: VipErrorCallback {code} for vi {vi}")
            elif note.method == "state":
                self.states.append((int(note.params.get("vi", -1)), str(note.params.get("state"))))
                self.log.append(Told(note.time_us, "state", note.params))
            else:
                self.log.append(f"{note.time_us} us: {note.method} {str(note.params)[:200]}")
        return self.tester.answered != before

    # ---- judging ----

    def step(self, words: str) -> None:
        """Say in the report what the case does now."""
        self.log.append(f"{self.now_us} us: -- {words}")

    def control(self, words: str) -> None:
        """A positive control held: the DUT is alive and did what a mute or constant device would not."""
        self.controls.append(words)
        self.log.append(f"{self.now_us} us: positive control: {words}")

    def report(
        self,
        requirement: str,
        message: str,
        seen: str,
        required: str,
        *,
        at: Optional[Received] = None,
        byte: Optional[int] = None,
        bits: Optional[str] = None,
        erratum: Optional[str] = None,
    ) -> None:
        """Record a breach. With an erratum it is tolerated; otherwise the requirement's level decides."""
        level = self._levels.get(requirement)
        if level is None:
            raise KeyError(f"{requirement} is not in the catalogue")
        fails = level in FAILING_LEVELS and erratum is None
        self.findings.append(
            Finding(
                requirement, "behaviour" if fails else "notice", message, seen, required,
                at.numbers[-1] if at else None, byte, bits, erratum, at.time_us if at else self.now_us,
            )  # fmt: skip
        )

    def require(self, holds: bool, requirement: str, message: str, seen: object, required: object, **where: Any) -> bool:
        """Record a breach unless the condition holds; the case goes on."""
        if not holds:
            self.report(requirement, message, str(seen), str(required), **where)
        return holds

    def fail(self, requirement: str, message: str, seen: str, required: str, at: Optional[Received] = None) -> None:
        """Record a breach that ends the case."""
        self.report(requirement, message, seen, required, at=at)
        raise Failed(message)

    def equal(
        self,
        iu: Received,
        name: str,
        required: int,
        requirement: str,
        tolerated: Optional[Mapping[int, str]] = None,
    ) -> bool:
        """A Device_Header or header field of the IU has this value; tolerated maps other values to their errata."""
        struct = "DH" if name in _DH_FIELDS else "FC"
        seen = iu.dh(name) if struct == "DH" else iu.fc(name)
        if seen == required:
            return True
        byte, bits = iu.last.where(struct, name)
        erratum = (tolerated or {}).get(seen)
        printed = name if name not in _PRINTED else _PRINTED[name]
        self.report(
            requirement,
            f"{printed} of {_iu_name(iu.kind)} is wrong",
            f"{seen:X}h", f"{required:X}h", at=iu, byte=byte, bits=bits, erratum=erratum,
        )  # fmt: skip
        return erratum is not None

    # ---- the wire ----

    def send(
        self,
        name: str,
        exchange: Exchange,
        dh: Mapping[str, int],
        payload: bytes = b"",
        fc: Optional[Mapping[str, int]] = None,
    ) -> None:
        """Send one IU to the DUT."""
        self.tester.send_iu(name, exchange, dh, payload, fc)

    def link_event(self, event: str) -> None:
        """A link event of clause 7.7 at the DUT: "lip", "nos", "lr", or "logo" for an explicit logout by the DUT."""
        self.log.append(f"{self.now_us} us: link event {event}")
        self.dut.notify("link", {"event": event})
        self.tester.monitor.forget()
        self.settle()

    def peek(self, kinds: Iterable[str], exchange: Optional[Exchange] = None) -> Optional[Received]:
        """The oldest frame of these kinds that no expectation has taken, if there is one."""
        wanted = set(kinds)
        for received in self.tester.inbox:
            if received.taken or received.kind not in wanted:
                continue
            if received.exchange is exchange or (exchange is None and not self._strange(received)):
                return received
        return None

    def expect(
        self,
        kinds: str | Sequence[str],
        requirement: str,
        *,
        exchange: Optional[Exchange] = None,
        within_us: Optional[int] = None,
        why: str = "",
    ) -> Received:
        """Take the next frame of one of these kinds; its absence breaks the requirement and ends the case.

        Unless the case says within_us the DUT has FCVI_ULP_TIMEOUT: that long a port waits for an answer (8.3), and
        nothing gives whoever answers less.
        """
        wanted = [kinds] if isinstance(kinds, str) else list(kinds)
        limit = self.ulp_timeout_us + self.pixit.late_us if within_us is None else within_us
        self.until(lambda: self.peek(wanted, exchange) is not None, limit)
        received = self.peek(wanted, exchange)
        names = " or ".join(_iu_name(k) for k in wanted)
        self._awaited(names, requirement, received)
        if received is None:
            on = f" on {exchange}" if exchange is not None else ""
            self.fail(requirement, f"no {names}{on} {why}".strip(), self._seen_instead(), f"{names} within {limit} us")
            raise AssertionError("unreachable")
        received.taken = True
        return received

    def _awaited(self, words: str, requirement: str, came: Optional[Received], silence: bool = False) -> None:
        frames = tuple(came.numbers) if came is not None else ()
        after = len(self.tester.trace)
        self.expectations.append(Expectation(words, requirement, frames, after, self.now_us, silence))

    def _seen_instead(self) -> str:
        waiting = [str(r) for r in self.tester.inbox if not r.taken]
        return "nothing" if not waiting else "only " + ", ".join(waiting[:4])

    def lose(self, received: Received) -> None:
        """Treat a frame of the DUT as lost on its way to the far side: the case saw it, its server or client did not."""
        for number in received.numbers:
            entry = self.tester.trace[number - 1]
            entry.lost, entry.note = True, "lost on the way"
        self.log.append(f"{self.now_us} us: {received} is lost")

    def expect_nothing(
        self, kinds: Sequence[str], for_us: int, requirement: str, why: str, exchange: Optional[Exchange] = None
    ) -> None:
        """None of these frames arrives for a time."""
        self.until(lambda: self.peek(kinds, exchange) is not None, for_us)
        received = self.peek(kinds, exchange)
        self._awaited("no " + " or ".join(_iu_name(k) for k in kinds), requirement, received, silence=True)
        if received is not None:
            received.taken = True
            self.report(requirement, f"{_iu_name(received.kind)} {why}", str(received), "none", at=received)

    def expect_time(self, received: Received, nominal_us: int, requirement: str, what: str) -> None:
        """The frame came at this time, within the PIXIT's tolerances."""
        self._timed(received.earliest_us, received.time_us, nominal_us, requirement, what, received)

    def expect_now(self, nominal_us: int, requirement: str, what: str) -> None:
        """What was just waited for (a call's return) happened at this time, within the tolerances."""
        self._timed(self.now_us, self.now_us, nominal_us, requirement, what, None)

    def _timed(
        self, low: int, high: int, nominal: int, requirement: str, what: str, at: Optional[Received]
    ) -> None:
        first, last = nominal - self.pixit.early_us, nominal + self.pixit.late_us
        if high < first or low > last:
            if self.pixit.jitter_us > min(self.pixit.early_us, self.pixit.late_us):
                raise TooCoarse(
                    f"bound finer than the clock's jitter: {what} at {high} us, {first} to {last} us required, on a host that "
                    f"comes up to {self.pixit.jitter_us} us late"
                )
            self.report(requirement, f"{what} at the wrong time", f"{high} us", f"{first} to {last} us", at=at)
        elif self.dut.clock == "virtual" and (low < first - self.pixit.late_us or high > last + self.pixit.late_us):
            raise Inconclusive(f"{what} happened between {low} and {high} us, too coarse for {first} to {last} us")

    def expect_next_timer(self, within_us: int, requirement: str, what: str) -> None:
        """A timer of the DUT runs and fires within this time. Says nothing when the DUT cannot tell."""
        self.settle()
        if self.dut.knows_next:
            due = self.dut.next_us
            self.require(
                due is not None and due <= within_us + self.pixit.late_us, requirement,
                f"no timer runs for {what}", "none" if due is None else f"{due} us", f"at most {within_us} us",
            )  # fmt: skip

    def tolerate(self, *kinds: str) -> None:
        """From here to the end these frames may come without being expected."""
        self._tolerated.update(kinds)

    def far_side(self, hosts: Optional[list[str]] = None) -> FarSide:
        """From here on a reference port answers instead of the tester; hosts are its Host Addresses."""
        self.tester.far = FarSide(self.tester, self.config, hosts)
        return self.tester.far

    def discard(self, *kinds: str) -> None:
        """Take what has come of these kinds, lest a later expectation takes it for its own."""
        for received in self.tester.inbox:
            received.taken |= received.kind in kinds

    def leftovers(self) -> list[Received]:
        """Frames of FC-VI that nothing expected; a far side expects what it wants by itself.

        An ABTS for an Exchange that carried nothing of FC-VI is the business of whoever opened that.
        """
        if self.tester.far is not None:
            return []
        left = [r for r in self.tester.inbox if not r.taken and r.kind not in self._tolerated and r.kind in _JUDGED]
        return [r for r in left if not self._strange(r)]

    def _strange(self, received: Received) -> bool:
        """An ABTS for an Exchange of the DUT's that carried nothing of FC-VI."""
        if received.kind != "ABTS" or received.exchange.originator != "dut":
            return False
        exchange = received.exchange
        return not any(r.exchange is exchange and r.kind in _JUDGED and r.kind != "ABTS" for r in self.tester.inbox)

    # ---- the control plane ----

    def start(self, method: str, **params: Any) -> Call:
        """Start a VIPL call that may block."""
        dut = self.dut
        self.log.append(Told(dut.now_us, method, params))
        call = Call(method, params, dut.request(method, params), dut.now_us)
        self._advance(0)
        return call

    def finish(
        self,
        call: Call,
        requirement: str,
        within_us: Optional[int] = None,
        returns: Optional[str | Sequence[str]] = None,
    ) -> str:
        """Wait for a blocked call and give its VIPL return code; checks it when returns is given.

        Unless the case says within_us the DUT has twice FCVI_ULP_TIMEOUT, the longest that one attempt may take (8.3).
        """
        limit = 2 * self.ulp_timeout_us + self.pixit.late_us if within_us is None else within_us
        if not self.until(lambda: call.done, limit):
            self.fail(requirement, f"{call.method} did not return", "still blocked", f"within {limit} us")
        code = call.returned()
        self.log.append(f"{self.now_us} us: {call.method} returned {code}")
        if returns is not None:
            wanted = [returns] if isinstance(returns, str) else list(returns)
            self.require(code in wanted, requirement, f"{call.method} returned {code}", code, " or ".join(wanted))
        return code

    def call(self, method: str, **params: Any) -> Call:
        """A VIPL call that does not block. One that gives no answer broke the DUT protocol."""
        call = self.start(method, **params)
        if not call.done and not self.until(lambda: call.done, self.r_a_tov_us // 2):
            raise DutError(f"{method} does not block, yet was not answered")
        return call

    def close(self) -> None:
        """The case is over: nothing is sent or awaited any more."""
        self.tester.close()

    def frames(self) -> list[TraceFrame]:
        """The trace."""
        return self.tester.trace


_DH_FIELDS = frozenset(
    {
        "FCVI_HANDLE", "FCVI_OPCODE", "FCVI_FLAGS", "FCVI_MSG_ID", "FCVI_PARAMETER", "FCVI_RMT_VA",
        "FCVI_RMT_VA_HANDLE", "FCVI_TOT_LEN", "FCVI_CONNECTION_ID", "IMM_DATA", "MSG_PARAMETER", "RQST_RETRY",
        "RQST_FCVI_CONN_INFO", "CONN_MODE", "RESP_RETRY", "RESP_FCVI_CONN_INFO", "CONN_STS", "CONN_SETUP_ABORT",
        "VI_APP_DISCON", "DISC_CONN_STS", "Reason_Code", "Reason_Explanation", "Vendor_Unique", "RESP_ERR", "DESC_ERR",
        "PROT_ERR", "TRANS_ERR",
    }
)  # fmt: skip
_PRINTED = {
    "RQST_RETRY": "RETRY", "RESP_RETRY": "RETRY", "RQST_FCVI_CONN_INFO": "FCVI_CONN_INFO",
    "RESP_FCVI_CONN_INFO": "FCVI_CONN_INFO", "DISC_CONN_STS": "CONN_STS", "MSG_PARAMETER": "FCVI_PARAMETER",
    "Reason_Code": "Reason Code",
}  # fmt: skip
_JUDGED = frozenset(
    {
        "SEND_RQST", "WRITE_RQST", "READ_RQST", "SEND_RESP", "WRITE_RESP", "READ_RESP", "CONNECT_RQST",
        "DISCONNECT_RQST", "CONNECT_RESP1", "CONNECT_RESP2", "CONNECT_RESP3", "DISCONNECT_RESP", "ABTS",
    }
)  # fmt: skip


def _iu_name(kind: str) -> str:
    return f"FCVI_{kind}" if kind in _JUDGED and kind != "ABTS" else kind


__all__ = ["Failed", "Inconclusive", "Scenario", "TooCoarse", "Unimplemented"]
