"""The scenario of RDMA verbs: two ends that are told by calls, what they say by themselves, and what every WR and WC owes."""

from __future__ import annotations

import functools
from typing import Any, Iterable, Mapping, NamedTuple, NoReturn, Optional, Sequence

from fcvi.engine.attachment import DutError, Notification
from fcvi.engine.catalogue import load_requirements
from fcvi.engine.scenario import FAILING_LEVELS, Failed, Inconclusive, NotThere, Scenario, Seen
from fcvi.engine.upper_tester import Call
from fcvi.engine.words import as_json

from .account import Account, Wr
from .sets import DEAD, QP_EVENTS, RESOURCE

HOLDS_PRIMITIVES = True  # a check is that of whoever called (proof.py)
_PREFIX = "VERBS-"
_ENDS = ("first", "second")
_LOSSY_US = 100  # a byte: 10 KB a second is what a provider that waits for a timer at each loss comes to
_LOSSY = 8  # times as long on a link that loses frames, which a provider sends again
#: What an account finds, and no loss of frames excuses: a WR done twice, or never asked for; another order, CQ, QP or opcode.
_NO_LOSS = frozenset(_PREFIX + row for row in (
    "6.1.1-05", "6.1.1-07", "6.2.4-04", "7.6.3-05", "8.1.3.1-01", "8.2.2-02", "8.2.4-04", "8.3.1-01", "9.3.2.1-02", "9.3.2.1-03",
    "9.3.2.1-04",
))  # fmt: skip
#: What makes an object: the call that ends it, and the attribute that tells how many the device can have (5.1.3).
OBJECTS = {
    "verbs.AllocatePd": ("verbs.DeallocatePd", "max_pd"), "verbs.CreateCq": ("verbs.DestroyCq", "max_cq"),
    "verbs.CreateQp": ("verbs.DestroyQp", "max_qp"), "verbs.CreateSrq": ("verbs.DestroySrq", "max_srq"),
    "verbs.RegisterMr": ("verbs.DeregisterMr", "max_mr"), "verbs.AllocateMw": ("verbs.DeallocateMw", "max_mw"),
}  # fmt: skip
_COUNTED = frozenset(OBJECTS) | {end for end, _ in OBJECTS.values()}
_OF_THE_PICS = {"SRQ": "srq", "MW": "mw", "CM": "cm", "MT": "threads"}


class Told(NamedTuple):
    """Something that an agent said by itself: an asynchronous event, an event of a connection, a request for one."""

    end: int
    kind: str  # "async", "cm" or "connect-request"
    params: Mapping[str, Any]
    time_us: int

    @property
    def event(self) -> str:
        """Its name; of a number, the number in words."""
        return str(self.params.get("event"))

    def get(self, name: str) -> Any:
        """A member; None when it is not there."""
        return self.params.get(name)


class End:
    """One end: an agent, and the device on it that this end opens."""

    def __init__(self, scenario: Verbs, number: int, device: str, address: str) -> None:
        self._scenario, self.number, self.device, self.address = scenario, number, device, address

    def start(self, method: str, **params: Any) -> Call:
        """Start a call that may wait."""
        call = self._scenario.start(method, **params, **({"end": self.number} if self.number else {}))
        if method in _COUNTED:
            self._scenario.counted.append(call)
        return call

    def call(self, method: str, **params: Any) -> Call:
        """A call, waited for as long as an agent may take for any."""
        call = self.start(method, **params)
        self._scenario.finished(call)
        return call


class Verbs(Scenario):
    """One run of one case variant. Requirements are named without their prefix.

    A row whose condition does not hold for this provider is never judged, whatever a case asks: so the two flavours are
    never mixed (errata.md, "How a question is decided", 4).
    """

    patience_us = 20_000_000

    def __init__(self, *of_the_run: Any) -> None:
        super().__init__(*of_the_run)
        # A row of level may fails nobody by what it permits, and fails by the loss that it names (errata.md, 7).
        self._levels = _strict(self._levels)
        self.told: list[Told] = []
        self.account = Account(self)
        self._given_up: Optional[tuple[int, str]] = None  # findings before the link was given up, and how that was told
        self.counted: list[Call] = []  # that make or end objects of which a device has a number
        asked = self.start("agent.devices")  # a call, so that the evidence has the answer
        self.finished(asked)
        names, where = asked.result().get("devices"), asked.result().get("addresses")
        devices = [str(name) for name in names] if isinstance(names, list) else []
        addresses = [str(a) for a in where] if isinstance(where, list) else []
        if not devices or len(addresses) < len(devices[:2]):
            raise DutError("hello has to name devices and an address for each of them")
        told = asked.result().get("agents")
        #: How many processes make the calls.
        self.agents = told if isinstance(told, int) else 1
        last = min(1, len(devices) - 1)
        self.ends = (End(self, 0, devices[0], addresses[0]), End(self, 1, devices[last], addresses[last]))
        self.a: Any = None  # the nodes of both ends, when they are opened
        self.b: Any = None

    # ---- what is there, and times in microseconds ----

    @property
    def iwarp(self) -> bool:
        """Whether the whole text holds for the provider."""
        return bool(self.pics["flavour"] == "iwarp")

    @property
    def bound_us(self) -> int:
        """What has to happen happens within this time (2 s unless the PIXIT says otherwise; longer where frames are lost)."""
        return 4 * self.pixit.r_a_tov_us * (_LOSSY if self.lossy else 1)

    @property
    def connects_us(self) -> int:
        """So long may an attempt to connect take."""
        return 5_000_000 * self.pixit.slower * (_LOSSY if self.lossy else 1)

    @property
    def lossy(self) -> bool:
        """Whether the link between the ends loses frames."""
        return bool(self.pics["lossy"])

    @property
    def quiet_us(self) -> int:
        """For so long nothing may come (500 ms); a shorter time accuses nobody."""
        return self.pixit.r_a_tov_us

    @property
    def close_us(self) -> int:
        """So long may a close last (60 s; B20)."""
        return 120 * self.pixit.r_a_tov_us

    # ---- judging ----

    def give_up(self, how: str) -> None:
        """A provider has told that its peer does not answer any more."""
        if self.lossy and self._given_up is None:
            self._given_up = len(self.findings), how

    def reconsider(self) -> None:
        """What was found after the link was given up may come of that, but for what no loss excuses."""
        before, how = self._given_up or (len(self.findings), "")
        if how and not any(k < before or f.requirement in _NO_LOSS for k, f in enumerate(self.findings) if f.erratum is None):
            self.doubt = f"the link that loses frames was given up ({how})"

    def judges(self, requirement: str) -> bool:
        """Whether the condition of a row holds here."""
        return all(self._holds(word) for word in _condition(_full(requirement)))

    def _holds(self, word: str) -> bool:
        if word in ("IWARP", "IB"):
            return self.iwarp == (word == "IWARP")
        return bool(self.pics[_OF_THE_PICS[word]]) if word in _OF_THE_PICS else True

    def report(self, requirement: str, message: str, seen: str, required: str, *, at: Optional[Seen] = None,
               byte: Optional[int] = None, bits: Optional[str] = None, erratum: Optional[str] = None) -> None:  # fmt: skip
        if self.judges(requirement):
            super().report(_full(requirement), message, seen, required, at=at, byte=byte, bits=bits, erratum=erratum)

    def require(self, holds: bool, requirement: str, message: str, seen: object, required: object, **where: Any) -> bool:
        if self.judges(requirement):
            super().require(holds, _full(requirement), message, seen, required, **where)
        return holds

    def demand(
        self, holds: bool, requirement: str, message: str, seen: object, required: object, at: Optional[Seen] = None
    ) -> None:  # fmt: skip
        if self.judges(requirement):
            super().demand(holds, _full(requirement), message, seen, required, at)
        elif not holds:
            self.fail(requirement, message, seen, required, at)

    def fail(self, requirement: str, message: str, seen: object, required: object, at: Optional[Seen] = None) -> NoReturn:
        """Record a breach that ends the case. A row that is not judged here ends it without a verdict."""
        if not self.judges(requirement):
            self.lack(f"{message}: {seen}, where {required} was needed")
        super().fail(_full(requirement), message, str(seen), str(required), at=at)
        raise AssertionError("not reached")

    def _end_where_broken(self) -> None:
        """End the case at once when a breach was found; its words are those of the breach, whatever was noticed before it."""
        for f in self.findings:
            if f.erratum is None and self._levels.get(f.requirement) in FAILING_LEVELS:
                raise Failed(f.message)

    def lack(self, why: str) -> NoReturn:
        """End the case inconclusive, unless a breach was found before."""
        self._end_where_broken()
        raise Inconclusive(why)

    def skip(self, why: str) -> NoReturn:
        """The provider does not have what the case is about, and need not: not applicable, unless a breach was found before."""
        self._end_where_broken()
        raise NotThere(why)

    def notice(self, requirement: str, message: str, seen: object, expected: object, erratum: str) -> None:
        """What is odd or the other reading: it fails nobody, and the erratum says why."""
        self.report(requirement, message, str(seen), str(expected), erratum=erratum)

    # ---- calls and what comes by itself ----

    def finished(self, call: Call, within_us: Optional[int] = None) -> None:
        """Wait for the answer of a call. An agent that never answers broke the DUT protocol."""
        limit = self.patience_us if within_us is None else within_us
        if not call.done and not self.until(lambda: call.done, limit):
            raise DutError(f"{call.method} was not answered within {limit} us")

    @property
    def still_us(self) -> int:
        """Agents poll by themselves while the suite's host stands still: only what comes near to the bound can spoil a verdict."""
        return max(super().still_us, self.bound_us // 2 - 1)

    def _take_in(self, note: Notification) -> None:
        if note.method not in ("async", "cm", "connect-request"):
            super()._take_in(note)
            return
        end = note.params.get("end", 0)
        told = Told(end if isinstance(end, int) else 0, note.method, note.params, note.time_us)
        if note.method != "connect-request" and not isinstance(note.params.get("event"), (str, int)):
            raise DutError(f"{note.method} notification has no event: {str(note.params)[:120]}")
        if note.method == "async" and told.event in DEAD:
            raise DutError(f"the device is gone: {told.event}")
        self.told.append(told)
        where = f" at the {_ENDS[told.end % 2]} end" if getattr(self, "agents", 1) > 1 else ""  # one agent has both
        self.log.append(f"{note.time_us} us: {note.method}{where}: {as_json(note.params, 200)}")

    def at(self, end: int, told: Told) -> bool:
        """Whether the agent of an end said it. With one agent the numbers of the objects alone tell the ends apart."""
        return self.agents == 1 or told.end == end

    def events(self, end: int, qp: Optional[int] = None, names: frozenset[str] = QP_EVENTS) -> list[Told]:
        """Asynchronous events of these names at an end; of one QP when it is given."""
        return [
            e for e in self.told
            if e.kind == "async" and self.at(end, e) and e.event in names and (qp is None or e.get("qp") == qp)
        ]  # fmt: skip

    def cms(self, end: int, qp: int, event: str = "DISCONNECTED") -> list[Told]:
        """Events of the connection of a QP."""
        return [e for e in self.told if e.kind == "cm" and self.at(end, e) and e.get("qp") == qp and e.event == event]

    def reap(self, wrs: Iterable[Wr], within_us: Optional[int] = None) -> bool:
        """Poll until each of these WRs has its WC, or the time is up. WCs of others are taken as well.

        Without a time of the case's own the bound is that of the next WC: they may wait for one another (6.5).
        """
        wanted = [wr for wr in wrs if not wr.wcs]
        more_us = _LOSSY_US * self.account.under_way() if self.lossy else 0
        deadline, before = self.now_us + more_us + (self.bound_us if within_us is None else within_us), len(wanted)
        while left := [wr for wr in wanted if not wr.wcs]:
            if within_us is None and len(left) < before:
                deadline, before = self.now_us + more_us + self.bound_us, len(left)
            cqs = list(dict.fromkeys(wr.qp.send_cq if wr.queue == "sq" else wr.qp.recv_cq for wr in left if wr.qp is not None))
            if not cqs:
                return False
            rest = deadline - self.now_us
            for cq in cqs:
                mine = sum(wr.qp is not None and (wr.qp.send_cq if wr.queue == "sq" else wr.qp.recv_cq) is cq for wr in left)
                cq.poll(mine, max(0, rest if len(cqs) == 1 else min(rest, self.bound_us // 100)))
            if rest <= 0:
                break
        both = [c for wr in wanted if not wr.wcs and wr.qp is not None for c in (wr.qp.send_cq, wr.qp.recv_cq) if not c.gone]
        for cq in dict.fromkeys(both):
            cq.poll()  # a WC in the wrong CQ is a WC, too, and the account says where it was
        return not any(not wr.wcs for wr in wanted)

    def standing(self, method: str) -> int:
        """How many objects that a call makes both ends have and did not end. They may be on one device."""
        worked = [call.method for call in self.counted if call.reply.result.get("return") == "success"]
        return worked.count(method) - worked.count(OBJECTS[method][0])

    def kill(self, number: int) -> None:
        """End the process of an end at once. With one agent both ends are gone."""
        self.ends[number].call("agent.exit")
        ends = {number} if self.agents > 1 else {0, 1}
        self.account.dead(ends)
        self.counted = [call for call in self.counted if call.params.get("end", 0) not in ends]
        self.a, self.b = (None if k in ends else node for k, node in enumerate((self.a, self.b)))

    # ---- the end ----

    def conclude(self) -> None:
        super().conclude()
        self.account.conclude()
        for told in self.told:
            wanted = RESOURCE.get(told.event) if told.kind == "async" else None
            if wanted is not None:
                other = [n for n in ("qp", "cq", "srq", "rnic", "port") if n != wanted and told.get(n) is not None]
                self.require(wanted in told.params and not other, "9.4.2-01", f"the resource of {told.event}", dict(told.params),
                             f"a {wanted}")  # fmt: skip


_STRICT: dict[int, tuple[Mapping[str, str], dict[str, str]]] = {}


def _strict(levels: Mapping[str, str]) -> Mapping[str, str]:
    if id(levels) not in _STRICT:
        _STRICT[id(levels)] = levels, {row: "shall" if level == "may" else level for row, level in levels.items()}
    return _STRICT[id(levels)][1]


@functools.cache
def _conditions() -> dict[str, tuple[str, ...]]:
    from conformance.verbs.book import PROTOCOL

    rows = load_requirements([PROTOCOL])
    return {row.id: tuple(word for word in row.condition.split(" and ") if word != "always") for row in rows}


def _condition(requirement: str) -> Sequence[str]:
    return _conditions().get(requirement, ())


def _full(requirement: str) -> str:
    return requirement if requirement.startswith(_PREFIX) else _PREFIX + requirement


__all__ = ["End", "OBJECTS", "Told", "Verbs"]
