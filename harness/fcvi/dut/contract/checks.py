"""The checks of ``fcvi dut check``, in the order in which a vendor builds an adapter."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from fcvi.engine.params import INVALID_PARAMS
from fcvi.engine.pixit import DUT, TESTER
from ..base import DutError
from .session import Answer, Session

NOT_FOUND, NO_RESET, CANCELLED = -32601, -32000, -32001
_DISCRIMINATOR = b"fcvi dut check 1".hex()


def configuration(login: str = "implicit") -> dict[str, Any]:
    """A configuration for ``reset``: the one that most cases use."""
    return {
        **DUT.as_json(), "peer": TESTER.as_json(), "topology": "point-to-point", "fabric": "in-order", "class": 3, "login": login,
        "e_d_tov_us": 2_000_000, "r_a_tov_us": 10_000_000, "receive_size": 2112, "seed": 1,
    }  # fmt: skip


@dataclass
class Review:
    """What was found: (title, outcome, words); outcome is "ok", "mend" or "note"."""

    lines: list[tuple[str, str, str]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    clock: str = ""
    implementation: str = ""

    def add(self, title: str, wrong: Optional[str], good: str = "") -> None:
        """A check: wrong says what to mend, None that nothing is."""
        self.lines.append((title, "ok" if wrong is None else "mend", good if wrong is None else wrong))

    def note(self, title: str, words: str) -> None:
        """Something that is permitted and worth knowing."""
        self.lines.append((title, "note", words))

    @property
    def to_mend(self) -> int:
        """How many checks found something."""
        return sum(outcome == "mend" for _, outcome, _ in self.lines)


def expect_code(answer: Answer, code: int, why: str) -> Optional[str]:
    """What is wrong with an answer that has to be this error; None when nothing is."""
    return None if answer.code == code else f"{answer.method} was answered with {answer.words()}; answer error {code}, {why}"


class Checks:
    """One review of one device."""

    left_out = "n_port_id"  # what a wrong reset lacks
    wire_title = "hostile frames"
    wrong_lengths: tuple[int, ...] = (15, 129)  # bytes that no Discriminator has
    core: tuple[str, ...] = ("hello", "reset", "clock.advance", "clock.next")  # what every device serves

    def config(self) -> dict[str, Any]:
        """The params of reset."""
        return configuration()

    def __init__(self, session: Session, review: Review) -> None:
        self.s, self.review = session, review
        self._served: set[str] = set()

    def run(self) -> None:
        """Every check. Raises DutError when the device falls silent, dies or sends what is no line of the protocol."""
        for title, check in (
            ("hello", self.hello),
            ("random method", self.random_method),
            ("before reset", self.before_reset),
            ("reset", self.reset),
            ("wrong reset", self.wrong_reset),
            ("unknown members", self.unknown_members),
            ("clock", self.clock),
            ("methods", self.methods),
            ("VIs", self.vis),
            ("memory", self.memory),
            ("addresses", self.addresses),
            ("calls that block", self.blocking),
            ("order of answers", self.order),
            ("lines in pieces", self.pieces),
            (self.wire_title, self.frames),
        ):
            self._one(title, check)

    def _one(self, title: str, check: Callable[[], Optional[str]]) -> None:
        known = len(self.s.flaws)
        wrong = check()
        shapes = self.s.flaws[known:]
        if wrong is not None or shapes:
            for words in ([wrong] if wrong is not None else []) + shapes:
                self.review.add(title, words)
        else:
            self.review.add(title, None)

    # ---- attaching ----

    def hello(self) -> Optional[str]:
        """The device says who it is."""
        answer = self.s.ask("hello", {"protocol": 2})
        if answer.code is not None:
            answer = self.s.ask("hello", {"protocol": 1})
        if answer.result is None:
            return f"hello was answered with {answer.words()}; answer with implementation, version, clock and pics"
        result = answer.result
        self.review.clock = str(result.get("clock"))
        self.review.implementation = f"{result.get('implementation')} {result.get('version')}"
        if result.get("revision") == "rev1":
            self.wrong_lengths = (129,)  # Rev 1.0 has them from 0 on (7.1)
        return None

    def random_method(self) -> Optional[str]:
        """Nobody has this method."""
        name = f"probe.{random.randrange(2**64):016x}"
        return expect_code(self.s.ask(name), NOT_FOUND, "since nobody has this method; without it the suite attaches no device")

    def before_reset(self) -> Optional[str]:
        """A call before the first reset."""
        answer = self.s.ask("VipQueryVi", {"vi": 0})
        if answer.code in (NO_RESET, NOT_FOUND):
            return None
        return f"VipQueryVi before the first reset was answered with {answer.words()}; answer error {NO_RESET}"

    def reset(self) -> Optional[str]:
        """The first reset."""
        answer = self.s.ask("reset", self.config())
        return None if answer.result is not None else f"reset was answered with {answer.words()}; answer {{}}"

    def wrong_reset(self) -> Optional[str]:
        """A configuration in which something is missing."""
        config = self.config()
        del config[self.left_out]
        wrong = expect_code(self.s.ask("reset", config), INVALID_PARAMS, f"since {self.left_out} is missing")
        self._fresh()
        return wrong

    def unknown_members(self) -> Optional[str]:
        """Members that a later version may bring."""
        answer = self.s.ask("reset", {**self.config(), "x_of_a_later_version": [1, {"a": None}]}, x_trace="ignored")
        if answer.result is not None:
            return None
        return f"a reset with an unknown member was answered with {answer.words()}; ignore the member"

    def _fresh(self) -> None:
        if self.s.ask("reset", self.config()).result is None:
            raise DutError("reset failed where it had succeeded before")

    # ---- time ----

    def clock(self) -> Optional[str]:
        """The clock stands still until it is moved."""
        if self.review.clock != "virtual":
            answer = self.s.ask("clock.advance", {"us": 0})
            if answer.code != NOT_FOUND:
                return f"clock.advance of a real clock was answered with {answer.words()}; answer error {NOT_FOUND}"
            return None
        self._fresh()
        for us, now in ((0, 0), (1000, 1000), (0, 1000), (250, 1250)):
            answer = self.s.ask("clock.advance", {"us": us})
            if answer.result is None or answer.result.get("now_us") != now:
                return f"clock.advance by {us} gave {answer.words()}; now_us must be {now}, the sum since reset"
        wrong = expect_code(self.s.ask("clock.advance", {"us": -1}), INVALID_PARAMS, "since time does not run backwards")
        self._fresh()
        answer = self.s.ask("clock.advance", {"us": 0})
        if wrong is None and (answer.result or {}).get("now_us") != 0:
            return "now_us is not 0 after a reset"
        return wrong

    # ---- methods ----

    def methods(self) -> Optional[str]:
        """Each method of the protocol, called without parameters."""
        wrong = []
        for name in self.s.shapes.methods():
            if name in self.core:
                continue
            answer = self.s.ask(name, {})
            if answer.code == NOT_FOUND:
                self.review.missing.append(name)
                continue
            self._served.add(name)
            if answer.code != INVALID_PARAMS:
                wrong.append(f"{name} without its parameters was answered with {answer.words()}")
        if self.review.missing:
            self.review.note("methods", f"not served: {', '.join(self.review.missing)}; cases that need one end inconclusive")
        return "; ".join(wrong) + f"; answer error {INVALID_PARAMS}" if wrong else None

    def _has(self, *names: str) -> bool:
        return all(name in self._served for name in names)

    def _call(self, method: str, params: dict[str, Any], returned: str) -> Optional[str]:
        answer = self.s.ask(method, params)
        if answer.returned == returned:
            return None
        return f"{method} {json.dumps(params)[:80]} was answered with {answer.words()}; return must be {returned}"

    def vis(self) -> Optional[str]:
        """A VI from its creation to its destruction."""
        if not self._has("VipCreateVi", "VipQueryVi"):
            return None
        self._fresh()
        made = self.s.ask("VipCreateVi", {"ViAttribs": {"ReliabilityLevel": "VIP_SERVICE_UNRELIABLE"}})
        if made.returned != "VIP_SUCCESS" or made.result is None:
            return f"VipCreateVi for the Unreliable level was answered with {made.words()}"
        vi = made.result.get("vi")
        query = self.s.ask("VipQueryVi", {"vi": vi})
        if (query.result or {}).get("state") != "idle":
            return f"VipQueryVi of a new VI was answered with {query.words()}; its state must be idle (8.2)"
        wrong = self._call("VipQueryVi", {"vi": 2**31 - 2}, "VIP_INVALID_PARAMETER")
        if wrong is None and self._has("VipDestroyVi"):
            wrong = self._call("VipDestroyVi", {"vi": vi}, "VIP_SUCCESS")
        return wrong

    def memory(self) -> Optional[str]:
        """A region that is filled, written, read and left."""
        if not self._has("VipRegisterMem", "mem.read", "mem.write"):
            return None
        self._fresh()
        made = self.s.ask("VipRegisterMem", {"length": 64, "rdma_write": False, "rdma_read": False, "fill": "a55a"})
        if made.returned != "VIP_SUCCESS" or made.result is None:
            return f"VipRegisterMem of 64 bytes was answered with {made.words()}"
        mem = made.result.get("mem")
        wrong = self._bytes(mem, "region")
        if wrong is None and self._has("VipDeregisterMem"):
            wrong = self._call("VipDeregisterMem", {"mem": mem}, "VIP_SUCCESS")
        return wrong

    def _bytes(self, mem: object, what: str) -> Optional[str]:
        """64 bytes that the fill pattern a55a was asked for."""
        self.s.ask("mem.write", {"mem": mem, "offset": 3, "hex": "010203"})
        read = self.s.ask("mem.read", {"mem": mem, "offset": 0, "length": 8})
        if (read.result or {}).get("hex") != "a55aa5010203a55a":
            return f"mem.read gave {read.words()}, where the fill pattern and what mem.write wrote make a55aa5010203a55a"
        for offset, length in ((0, 65), (64, 1), (2**32 - 1, 8)):
            answer = self.s.ask("mem.read", {"mem": mem, "offset": offset, "length": length})
            wrong = expect_code(answer, INVALID_PARAMS, f"since bytes {offset} to {offset + length} lie outside the {what}")
            if wrong:
                return wrong
        return None

    def _address(self, discriminator: str = _DISCRIMINATOR) -> dict[str, str]:
        return {"host": DUT.host[0], "discriminator": discriminator}

    def addresses(self) -> Optional[str]:
        """Discriminators of a wrong length."""
        if not self._has("VipConnectWait"):
            return None
        self._fresh()
        for length in self.wrong_lengths:
            answer = self.s.send("VipConnectWait", {"LocalAddr": self._address("5a" * length), "Timeout": None})
            self._quiet()
            if self.review.clock != "virtual":  # the call may have a thread of its own
                self.s.wait(answer)
            if answer.returned != "VIP_INVALID_PARAMETER":
                return (f"VipConnectWait with a Discriminator of {length} bytes was answered with {answer.words()}; "
                        "return must be VIP_INVALID_PARAMETER")  # fmt: skip
        return None

    def blocking(self) -> Optional[str]:
        """A call that waits: others are answered meanwhile, time or a reset ends it."""
        if not self._has("VipConnectWait"):
            return None
        self._fresh()
        waiting = self.s.send("VipConnectWait", {"LocalAddr": self._address(), "Timeout": None})
        self._quiet()
        if waiting.place >= 0:
            return f"VipConnectWait without a request from the wire was answered with {waiting.words()}; it must block"
        if self._has("VipCreateVi"):
            self.s.ask("VipCreateVi", {"ViAttribs": {}})
        wrong = self._end(waiting)
        if wrong is not None:
            return wrong
        if self.review.clock == "virtual":
            waiting = self.s.send("VipConnectWait", {"LocalAddr": self._address(), "Timeout": 5000})
            self._quiet()
            self.s.ask("clock.advance", {"us": 20_000})
            if waiting.place < 0:
                return "VipConnectWait with a Timeout of 5,000 us has not returned after 20,000 us of clock.advance"
            if waiting.returned != "VIP_TIMEOUT":
                return f"VipConnectWait whose Timeout passed was answered with {waiting.words()}; return must be VIP_TIMEOUT"
        return None

    def _end(self, waiting: Answer) -> Optional[str]:
        """A reset ends a call that waits."""
        again = self.s.ask("reset", self.config())
        if waiting.code != CANCELLED:
            return f"{waiting.method} that a reset ended was answered with {waiting.words()}; answer error {CANCELLED}"
        if waiting.place > again.place:
            return "the answer to reset came before those of the calls that it ended; send it after them"
        return None

    def _quiet(self) -> None:
        """Let the device do what is due."""
        self.s.ask("clock.advance", {"us": 0})

    def order(self) -> Optional[str]:
        """Requests that come together are answered in their order."""
        self._fresh()
        names = [name for name in ("VipQueryVi", "VipDestroyVi") if self._has(name)] or ["clock.advance"]
        return self._together([names[i % len(names)] for i in range(6)])

    def _together(self, names: list[str]) -> Optional[str]:
        answers = [self.s.send(name, {"vi": 77, "us": 0}) for name in names]
        for answer in answers:
            if not self.s.wait(answer):
                return "six requests that came together were not all answered"
        places = [answer.place for answer in answers]
        return None if places == sorted(places) else "requests that came together were answered out of order"

    def pieces(self) -> Optional[str]:
        """A line that arrives in pieces, and a long one."""
        self.s.line(b'{"jsonrpc":"2.0","id":900001,"meth')
        self.s.wait(Answer(""), 0.05)
        self.s.line(b'od":"probe.pieces","params":{}}\n')
        answer = self.s.ask("probe.after")
        if answer.code != NOT_FOUND:
            return "a line that arrived in two pieces was not read as one"
        self.s.flaws[:] = [words for words in self.s.flaws if "900001" not in words]
        long = self.s.ask("probe." + "x" * 40, {"hex": "00" * 30_000})
        return expect_code(long, NOT_FOUND, "a line may have 65,536 bytes")

    def frames(self) -> Optional[str]:
        """Frames that no port takes: the device ignores them and lives on."""
        self._fresh()
        for text in ("", "00", "ff" * 24, "02" + "00" * 60, "5a" * 2136):
            self.s.notify("frame", {"hex": text, "sof": "i3", "eof": "t", "crc": "ok"})
        self.s.notify("frame", {"hex": "00" * 24, "crc": "bad"})
        self.s.notify("a.later.version", {"x": 1})
        answer = self.s.ask("probe.alive")
        return expect_code(answer, NOT_FOUND, "a device that ignores hostile frames still answers")


def carry_out(kind: type[Checks], session: Session, review: Review) -> str:
    """Run the checks and end the session. What broke them off, or ""."""
    try:
        kind(session, review).run()
    except DutError as error:
        return f"{error}; what it was sent last: {session.last[:300].decode('utf-8', 'backslashreplace').strip()}"
    finally:
        session.close()
    return ""


def check_device(spec: str, timeout_s: float, log: int, review: Review) -> str:
    """Run the checks. What broke them off, or "". Raises AttachError."""
    return carry_out(Checks, Session(spec, timeout_s, log), review)
