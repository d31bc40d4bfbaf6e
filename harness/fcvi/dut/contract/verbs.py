"""The checks of ``fcvi dut check verbs:SPEC``: whether an agent keeps to the DUT protocol for RDMA verbs, before any case runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

from fcvi.engine.params import INVALID_PARAMS
from .checks import Checks, Review, carry_out, expect_code
from .session import Session
from .shapes import Shapes

VERBS_PROTOCOL = Shapes(Path(__file__).resolve().parents[1] / "verbs.schema.json")


class VerbsChecks(Checks):
    """One review of one agent."""

    core = ("hello", "reset", "agent.devices", "agent.state", "agent.hold")

    def config(self) -> dict[str, Any]:
        """The params of reset."""
        return {"wire": "verbs", "seed": 1}

    def __init__(self, session: Session, review: Review) -> None:
        super().__init__(session, review)
        self._device = ""

    def run(self) -> None:
        """Every check. Raises DutError when the agent falls silent, dies or sends what is no line of the protocol."""
        for title, check in (
            ("hello", self.hello),
            ("random method", self.random_method),
            ("reset", self.reset),
            ("wrong reset", self.wrong_reset),
            ("unknown members", self.unknown_members),
            ("methods", self.methods),
            ("memory", self.memory),
            ("objects", self.objects),
            ("numbers", self.numbers),
            ("calls that wait", self.waiting),
            ("order of answers", self.order),
            ("lines in pieces", self.pieces),
        ):
            self._one(title, check)

    def hello(self) -> Optional[str]:
        """The agent says who it is, and what its provider has."""
        answer = self.s.ask("hello", {"protocol": 2})
        if answer.result is None:
            return f"hello was answered with {answer.words()}; answer with all members of section 1"
        self.review.clock = str(answer.result.get("clock"))
        self.review.implementation = f"{answer.result.get('implementation')} {answer.result.get('version')}"
        devices = answer.result.get("devices")
        self._device = str(devices[0]) if isinstance(devices, list) and devices else ""
        addresses = answer.result.get("addresses")
        if isinstance(devices, list) and isinstance(addresses, list) and len(devices) != len(addresses):
            return "hello has to name an address for each of its devices"
        return None

    def wrong_reset(self) -> Optional[str]:
        """A wire that the agent does not have."""
        answer = self.s.ask("reset", {"wire": "semaphore", "seed": 1})
        self._fresh()
        return expect_code(answer, INVALID_PARAMS, "since there is no such wire")

    def memory(self) -> Optional[str]:
        """Memory that is filled, written and read."""
        self._fresh()
        made = self.s.ask("mem.new", {"length": 64, "fill": "a55a"})
        mem = (made.result or {}).get("mem")
        wrong = self._bytes(mem, "memory")
        if wrong is not None:
            return wrong
        self.s.ask("mem.pattern", {"mem": mem, "offset": 5, "length": 8, "seed": 7})
        read = self.s.ask("mem.read", {"mem": mem, "offset": 5, "length": 8})
        wanted = bytes(((i + 7) * 2654435761 & 0xFFFFFFFF) >> 24 for i in range(8)).hex()
        if (read.result or {}).get("hex") != wanted:
            return f"mem.pattern with seed 7 wrote {read.words()}; the first 8 bytes are {wanted}"
        return None

    def _verb(self, method: str, **params: Any) -> dict[str, Any]:
        answer = self.s.ask(f"verbs.{method}", params)
        return answer.result if answer.returned == "success" and answer.result is not None else {}

    def objects(self) -> Optional[str]:
        """A device, a PD, a CQ, a region and a QP, from their creation to their end."""
        self._fresh()
        rnic = self._verb("OpenRnic", device=self._device).get("rnic")
        if rnic is None:
            self.review.note("objects", f"{self._device} cannot be opened, so that nothing more can be seen here")
            return None
        self._verb("QueryRnic", rnic=rnic)
        pd, cq = self._verb("AllocatePd", rnic=rnic).get("pd"), self._verb("CreateCq", rnic=rnic, entries=16).get("cq")
        mem = (self.s.ask("mem.new", {"length": 4096}).result or {}).get("mem")
        mr = self._verb("RegisterMr", pd=pd, mem=mem, access=["LOCAL_WRITE"]).get("mr")
        sizes = {"sq_size": 4, "rq_size": 4, "sq_sges": 1, "rq_sges": 1}
        qp = self._verb("CreateQp", pd=pd, send_cq=cq, recv_cq=cq, **sizes).get("qp")
        found = {"pd": pd, "cq": cq, "mr": mr, "qp": qp}
        if None in found.values():
            missing = [name for name, number in found.items() if number is None]
            return f"no {' and no '.join(missing)} could be made with the plainest values"
        self._verb("QueryQp", qp=qp)
        polled = self._verb("PollCq", cq=cq)
        if polled.get("wcs") != []:
            return f"verbs.PollCq of a CQ with nothing in it gave {str(polled.get('wcs'))[:60]}; it gives an empty list"
        for method, name in (("DestroyQp", "qp"), ("DeregisterMr", "mr"), ("DestroyCq", "cq"), ("DeallocatePd", "pd")):
            answer = self.s.ask(f"verbs.{method}", {name: found[name]})
            if answer.returned != "success":
                return f"verbs.{method} of an object that nothing uses was answered with {answer.words()}"
            again = self.s.ask(f"verbs.{method}", {name: found[name]})
            wrong = expect_code(again, INVALID_PARAMS, "since the object is gone, and libibverbs has no call for it")
            if wrong:
                return wrong
        return None

    def numbers(self) -> Optional[str]:
        """Numbers that were never given."""
        self._fresh()
        for method, name in (("QueryRnic", "rnic"), ("DeallocatePd", "pd"), ("PollCq", "cq"), ("QueryQp", "qp")):
            answer = self.s.ask(f"verbs.{method}", {name: 999_999})
            wrong = expect_code(answer, INVALID_PARAMS, "since the number was never given")
            if wrong:
                return wrong
        return None

    def waiting(self) -> Optional[str]:
        """A call that waits: others are answered meanwhile, and time or a reset ends it."""
        self._fresh()
        rnic = self._verb("OpenRnic", device=self._device).get("rnic")
        cq = self._verb("CreateCq", rnic=rnic, entries=16).get("cq") if rnic is not None else None
        if cq is None:
            return None
        first = self.s.send("verbs.PollCq", {"cq": cq, "max": 1, "Timeout": 300_000})
        meanwhile = self.s.ask("verbs.QueryCq", {"cq": cq})
        if first.place >= 0 and first.place < meanwhile.place:
            return "verbs.PollCq with a Timeout came back at once from an empty CQ; it waits"
        if not self.s.wait(first, 2.0) or (first.result or {}).get("wcs") != []:
            return f"verbs.PollCq with a Timeout of 300 ms on an empty CQ gave {first.words()}; it gives an empty list then"
        second = self.s.send("verbs.PollCq", {"cq": cq, "max": 1, "Timeout": 60_000_000})
        self.s.ask("verbs.QueryCq", {"cq": cq})
        return self._end(second)

    def order(self) -> Optional[str]:
        """Requests that come together are answered in their order."""
        return self._together(["agent.devices" if i % 2 else f"probe.{i}" for i in range(6)])


def check_agent(spec: str, timeout_s: float, log: int, review: Review) -> str:
    """Run the checks. What broke them off, or "". Raises AttachError."""
    return carry_out(VerbsChecks, Session(spec, timeout_s, log, VERBS_PROTOCOL), review)
