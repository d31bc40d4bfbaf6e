"""The primitives of a case of FC-VI: those of every case, and the lower tester on Fibre Channel.

It sends IUs and expects them, makes link events, and can put a second port in the tester's place.
"""

from __future__ import annotations

from typing import AbstractSet, Any, Iterable, Iterator, Mapping, Optional, Sequence

from fcvi.engine import proof
from fcvi.engine.attachment import Dut
from fcvi.engine.page_words import span
from fcvi.engine.results import Finding, TraceFrame
from fcvi.engine.scenario import Failed, Inconclusive, Scenario as WireFree, Seen
from fcvi.engine.upper_tester import Call, Unimplemented
from . import codec, codes
from .device_timers import DeviceTimers
from .received import Exchange, Received, kind_of, kinds as every_kind
from .second_port import SecondPort
from .tester import Tester

_MOST_PARTS = 256  # of an IU, that are waited for one after the other


class Scenario(WireFree):
    """One run of one case variant against one DUT, with a port of the tester on the other side of the link."""

    phases = 4  # IUs of a Connection Setup

    def __init__(self, *of_the_run: Any) -> None:
        super().__init__(*of_the_run)
        self.tester = Tester(self.dut, self.pixit, self.config, self.rng, self.own if self.own.real else None)
        self.frames_before_event = 0  # how many there were when the last event of the link came
        self.disconnects: list[int] = []  # when VipDisconnect was called
        self.used: set[Any] = set()  # VIs that a call has connected or disconnected, or tried to
        self._tolerated: set[str] = set()
        self._kinds: list[str] = []  # of the frames of the trace, while proof.py records; "" for one of the tester's

    # ---- time ----

    def _next_event_us(self) -> Optional[int]:
        return self.tester.next_event_us()

    def _run_events(self) -> bool:
        tester = self.tester
        return tester.waits and tester.run_events(self.dut.now_us)

    def _drain(self) -> bool:
        inbox, tester = self.dut.inbox, self.tester
        if not inbox:
            return False
        before = tester.answered
        while inbox:
            note = inbox.popleft()
            if note.method == "frame":
                tester.take_in(note)
            else:
                self._take_in(note)
        return tester.answered != before

    # ---- what the checks are about (proof.py) ----

    def sight(self, look: proof.Look) -> Optional[proof.Sight]:
        if look.what == "peek":
            return proof.Sight("silence", " ".join(look.thing[0]), (), look.name)
        if not isinstance(look.thing, Received):
            return super().sight(look)
        iu = look.thing
        value = None if look.what != "field" or look.name.startswith("@") else self._seen(iu, look.name)
        return proof.Sight(look.what, iu.kind, tuple(self._ordinal(number) for number in iu.numbers), look.name, value)

    @staticmethod
    def _seen(iu: Received, path: str) -> Any:
        structure, _, name = path.partition(".")
        if structure in ("DH", "FC"):
            return iu.dh(name) if structure == "DH" else iu.fc(name)
        if not iu.last.edition:
            return iu.part(structure, name)
        return iu.conn(name) if structure == "CONN" and "." not in name else None

    def _ordinal(self, number: int) -> int:
        """Which frame of its kind the DUT's frame with this number is."""
        for entry in self.tester.trace[len(self._kinds) :]:
            ours = entry.sender == "dut"
            self._kinds.append(kind_of(codec.decode(entry.data, entry.sof, entry.eof, edition=self.tester.edition)) if ours else "")
        return self._kinds[:number].count(self._kinds[number - 1])

    def given(self) -> str:
        """The Port_Names, which decide between Peers (5.3.4, Annex A), and the timers."""
        own, other = (int(names["port_name"], 16) for names in (self.config, self.config["peer"]))
        order = "they are equal" if own == other else f"the device's is {'smaller' if own < other else 'larger'}"
        timers = f"R_A_TOV {span(self.pixit.r_a_tov_us, None)}, E_D_TOV {span(self.pixit.e_d_tov_us, None)}"
        return f"Port_Name of the device {own:016X}h, of the tester {other:016X}h ({order}); {timers}"

    # ---- judging ----

    def place(self, iu: Received, name: str) -> dict[str, Any]:
        """Where a field of the header or Device_Header stands in the frame: byte and bits of a finding."""
        byte, bits = iu.last.where("DH" if name in _DH_FIELDS else "FC", name)
        return {"byte": byte, "bits": bits}

    def equal(
        self,
        iu: Received,
        name: str,
        required: int,
        requirement: str,
        tolerated: Optional[Mapping[int, str]] = None,
    ) -> bool:
        """A Device_Header or header field of the IU has this value; tolerated maps other values to their errata."""
        self.checked.add(requirement)
        struct = "DH" if name in _DH_FIELDS else "FC"
        seen = iu.dh(name) if struct == "DH" else iu.fc(name)
        self.note("equal", requirement, proof.Look("field", iu, f"{struct}.{name}"), wanted=(required,), tolerated=tolerated)
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

    def fail(self, requirement: str, message: str, seen: str, required: str, at: Any = None) -> None:
        self.judge_types()
        super().fail(requirement, message, seen, required, at)

    def judge_types(self) -> None:
        """What was missed may have come with another TYPE: a frame that is an IU of Table 1 in all else (5.8.3)."""
        for received in self.tester.inbox:
            if received.kind == "OTHER" and not received.taken and _would_be(received.last.data, self.tester.edition):
                received.taken = True
                self.report("FCVI-5.8.3-01", "TYPE of an IU", f"{received.last.data[8]:02X}h", "58h", at=received, byte=8)

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
        self.frames_before_event = len(self.tester.trace)
        self.dut.notify("link", {"event": event})
        self.tester.monitor.forget()
        self.settle()

    @classmethod
    def words(cls) -> dict[str, dict[int, frozenset[str]]]:
        """See engine/scenario.py: frames, link events, and the fields of an IU."""
        frames, dh = every_kind(), frozenset(codec.FIELDS["DH"]) | frozenset(codec.FIELDS["DH_REV1"])
        fc, conn = frozenset(codec.FIELDS["FC"]), frozenset(codec.FIELDS["CONN"])
        named = {name: {0: frames} for name in ("expect", "expect_nothing", "peek", "discard", "tolerate")}
        of_an_iu = {".dh": {0: dh}, ".fc": {0: fc}, ".conn": {0: conn}, ".conn_int": {0: conn}}
        events = frozenset(("lip", "nos", "lr", "logo"))
        return {
            **super().words(), **named, **of_an_iu, "send": {0: frames, 2: dh}, "equal": {1: dh | fc}, "link_event": {0: events},
        }  # fmt: skip

    def peek(self, kinds: Iterable[str], exchange: Optional[Exchange] = None) -> Optional[Received]:
        """The oldest frame of these kinds that no expectation has taken, if there is one."""
        wanted = set(kinds)
        found = self._peek(wanted, exchange)
        if proof.ACTIVE is not None:
            if found is None:
                proof.ACTIVE.look("peek", (sorted(wanted), exchange), _on(exchange))
            else:
                proof.ACTIVE.look("message", found)
        return found

    def _peek(self, wanted: AbstractSet[str], exchange: Optional[Exchange]) -> Optional[Received]:
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

        Unless the case says within_us the DUT has the time of an answer (see owed).
        """
        wanted = [kinds] if isinstance(kinds, str) else list(kinds)
        any_of, since = _known(wanted), self.now_us
        limit = self.owed_us() if within_us is None else within_us
        self.until(lambda: self._peek(any_of, exchange) is not None, limit)
        received = self._peek(any_of, exchange) or self._rest_of(any_of, exchange)
        names = " or ".join(_iu_name(k) for k in wanted)
        self._awaited(names, requirement, received)
        if received is None:
            on = f" on {exchange}" if exchange is not None else ""
            until = f"within {limit} us" if limit else "by now"
            self.fail(requirement, f"no {names}{on} {why}".strip(), self._seen_instead(), f"{names} {until}")
            raise AssertionError("unreachable")
        received.taken = True
        self.note("expect", requirement, proof.Look("message", received, ""), wanted=wanted, since_us=since)
        return received

    def _rest_of(self, kinds: AbstractSet[str], exchange: Optional[Exchange]) -> Optional[Received]:
        """An IU of which frames have come already: what bounds its time is E_D_TOV from frame to frame (FC-FS)."""
        last, patience = -1, self.pixit.e_d_tov_us + self.pixit.late_us
        for _ in range(_MOST_PARTS):
            since, last = last, self.tester.last_part(kinds, exchange)
            if last <= since:
                return None

            def more(before: int = last) -> bool:
                return self._peek(kinds, exchange) is not None or self.tester.last_part(kinds, exchange) > before

            self.until(more, max(0, last + patience - self.now_us))
            received = self._peek(kinds, exchange)
            if received is not None:
                return received
        return None

    def _seen_instead(self) -> str:
        waiting = [str(r) for r in self.tester.inbox if not r.taken]
        return "nothing" if not waiting else "only " + ", ".join(waiting[:4])

    def lose(self, received: Received) -> None:
        """Treat a frame of the DUT as lost on its way to the other side: the case saw it, its server or client did not."""
        for number in received.numbers:
            entry = self.tester.trace[number - 1]
            entry.lost, entry.note = True, "lost on the way"
        self.log.append(f"{self.now_us} us: {received} is lost")

    def expect_nothing(
        self, kinds: Sequence[str], for_us: int, requirement: str, why: str, exchange: Optional[Exchange] = None
    ) -> None:
        """None of these frames arrives for a time."""
        any_of, since = _known(kinds), self.now_us
        self.until(lambda: self._peek(any_of, exchange) is not None, for_us)
        received = self._peek(any_of, exchange)
        self.note("expect_nothing", requirement, proof.Look("peek", (kinds, exchange), _on(exchange)), since_us=since)
        self._awaited("no " + " or ".join(_iu_name(k) for k in kinds), requirement, received, silence=True)
        if received is not None:
            received.taken = True
            self.report(requirement, f"{_iu_name(received.kind)} {why}", str(received), "none", at=received)

    def tolerate(self, *kinds: str) -> None:
        """From here to the end these frames may come without being expected."""
        self._tolerated.update(kinds)

    def second_port(self, port: Dut, hosts: Optional[list[str]] = None) -> SecondPort:
        """From here on this port answers instead of the tester, or the device of --against; hosts are its Host Addresses."""
        far = self.dut.far
        if far is not None:
            self.joint = "the two devices did not work together, and either may be why"
        self.tester.second_port = SecondPort(self.tester, far or port, self.config, hosts, lent=far is not None)
        return self.tester.second_port

    def follows_a_breach(self, finding: Finding) -> bool:
        return finding in self.tester.after_a_breach

    def far_findings(self) -> list[Finding]:
        return self.tester.far_findings

    def discard(self, *kinds: str) -> None:
        """Take what has come of these kinds, lest a later expectation takes it for its own."""
        for received in self.tester.inbox:
            received.taken |= received.kind in kinds

    def crossed(self, sender: str, since: int = 0) -> Iterator[tuple[int, TraceFrame, codec.Frame]]:
        """The frames of one side that have crossed the link, from the one behind since on: number, frame, what the codec reads."""
        trace = self.tester.trace
        for number in range(since + 1, len(trace) + 1):
            entry = trace[number - 1]
            if entry.sender == sender:
                yield number, entry, codec.decode(entry.data, entry.sof, entry.eof, edition=self.tester.edition)

    def leftovers(self) -> list[Received]:
        """Frames of FC-VI that nothing expected; a second port expects what it wants by itself.

        An ABTS for an Exchange that carried nothing of FC-VI is the business of whoever opened that.
        """
        if self.tester.second_port is not None:
            return []
        left = [r for r in self.tester.inbox if not r.taken and r.kind not in self._tolerated and r.kind in _JUDGED]
        return [r for r in left if not (self._strange(r) or self._at_its_t3(r) or self._before_resp3(r))]

    def _strange(self, received: Received) -> bool:
        """An ABTS for an Exchange of the DUT's that carried nothing of FC-VI, or a Disconnect of its provider's own accord."""
        if received.kind != "ABTS" or received.exchange.originator != "dut":
            return False
        carried = [r for r in self.tester.inbox if r.exchange is received.exchange and r.kind in _JUDGED and r.kind != "ABTS"]
        return all(r.kind == "DISCONNECT_RQST" and leftover_requirement(r) is None for r in carried)

    def _at_its_t3(self, received: Received) -> bool:
        """The DUT's ABTS when its T3 fires, which runs from its FCVI_CONNECT_RQST on (8.3), and no RESP3 had come by then."""
        if received.kind != "ABTS" or received.exchange.originator != "dut":
            return False
        setup = (r for r in self.tester.inbox if r.exchange is received.exchange and r.kind == "CONNECT_RQST")
        fires = max((r.began_us + self.r_a_tov_us - self.pixit.early_us for r in setup), default=None)
        if fires is None or received.time_us < fires:
            return False
        before = self.tester.trace[: received.numbers[0] - 1]
        came = (e for e in before if e.sender == "tester" and e.time_us < fires and not e.lost)
        views = (codec.decode(e.data, e.sof, e.eof) for e in came)
        return not any(kind_of(v) == "CONNECT_RESP3" and v.header("OX_ID") == received.exchange.ox_id for v in views)

    def _before_resp3(self, received: Received) -> bool:
        """The DUT's ABTS for a setup that VipDisconnect ended before the DUT can be known to have taken FCVI_CONNECT_RESP3 in: a
        frame may wait at the DUT as an answer may (E123), and a setup that is open ends by ABTS (D.1, E115)."""
        if received.kind != "ABTS" or received.exchange.originator != "dut":
            return False
        resp3 = [
            entry.time_us for _, entry, frame in self.crossed("tester")
            if kind_of(frame) == "CONNECT_RESP3" and frame.header("OX_ID") == received.exchange.ox_id
        ]  # fmt: skip
        asked = [us for us in self.disconnects if resp3 and resp3[-1] <= us <= received.time_us]
        return bool(asked) and received.time_us - resp3[-1] < self.ulp_timeout_us

    def expect_time(
        self, received: Seen, nominal_us: int, requirement: str, what: str, since: Optional[Seen] = None, took_us: int = 0
    ) -> None:
        if isinstance(since, Received):
            took_us = since.time_us - since.began_us
        super().expect_time(received, nominal_us, requirement, what, since, took_us)

    def start(self, method: str, **params: Any) -> Call:
        if method == "VipDisconnect":
            self.disconnects.append(self.now_us)
        if method.startswith(("VipConnect", "VipDisconnect")):
            self.used.add(params.get("vi"))
        return super().start(method, **params)

    # ---- the end ----

    def reconsider(self) -> None:
        if self.own.has_called and not self.own.real:  # else the timers were told as the frames crossed
            self.tester.retell(DeviceTimers(self.own, self.config))

    def conclude(self) -> None:
        super().conclude()
        self.tester.flush()
        for left in self.leftovers():
            requirement = self.leftover(left)
            if requirement is not None:
                self.report(requirement, f"unexpected {left.kind}", str(left), "none", at=left)

    @staticmethod
    def leftover(received: Received) -> Optional[str]:
        """What it breaks by being sent at all."""
        return leftover_requirement(received)

    def all_findings(self) -> list[Finding]:
        return self.tester.findings + self.findings

    def unused(self) -> str:
        rules = self.tester.link.unused()
        return f"the suite planned to {rules[0].action} a {rules[0].kind} that never crossed the link" if rules else ""

    def close(self) -> None:
        self.tester.close()

    def judged(self) -> dict[str, int]:
        """How many frames of the DUT codec and monitor judged, by IU."""
        return self.tester.judged

    def frames(self) -> list[TraceFrame]:
        return self.tester.trace


def leftover_requirement(received: Received) -> Optional[str]:
    """What an FC-VI frame breaks that no case asked for; None for what the standard lets a provider do."""
    kind = received.kind
    if kind == "DISCONNECT_RQST":  # 5.3.5: a provider may disconnect by itself
        return "FCVI-8.1-02" if received.dh("VI_APP_DISCON") else None
    if kind == "CONNECT_RQST":
        return "FCVI-8.5.4-01"
    if kind == "ABTS":
        return "FCVI-8.5.2-b"
    if kind.startswith("CONNECT_RESP") or kind == "DISCONNECT_RESP":
        return "FCVI-5.3.1-05"
    return "FCVI-4.2-01" if kind.endswith("_RQST") else "FCVI-5.2.1-01"


def _would_be(data: bytes, edition: int) -> bool:
    """Whether all but the TYPE of these bytes is an IU of Table 1: R_CTL, the size of the Device_Header, and the opcode."""
    size = {1: 16, 2: 32}.get(data[13] & 3 if len(data) > 13 else 0, 0)
    if not size or len(data) < 24 + size or data[8] == codes.TYPE.FC_VI:
        return False
    rows = codec.IUS_REV1 if edition else codec.IUS
    return any((row.r_ctl, row.dh_size, row.opcode) == (data[0], size, data[28]) for row in rows.values())


def _known(kinds: Iterable[str]) -> set[str]:
    """As a set. Raises KeyError for a frame that there is not: nobody is blamed for its absence."""
    found = set(kinds)
    if not found <= every_kind():
        raise KeyError(f"there is no frame called {min(found - every_kind())}")
    return found


_DH_FIELDS = frozenset(
    {
        "FCVI_HANDLE", "FCVI_OPCODE", "FCVI_FLAGS", "FCVI_MSG_ID", "FCVI_PARAMETER", "FCVI_RMT_VA",
        "FCVI_RMT_VA_HANDLE", "FCVI_TOT_LEN", "FCVI_CONNECTION_ID", "IMM_DATA", "MSG_PARAMETER", "RQST_RETRY",
        "RQST_FCVI_CONN_INFO", "CONN_MODE", "RESP_RETRY", "RESP_FCVI_CONN_INFO", "CONN_STS", "CONN_SETUP_ABORT",
        "VI_APP_DISCON", "DISC_CONN_STS", "Reason_Code", "Reason_Explanation", "Vendor_Unique", "RESP_ERR", "DESC_ERR",
        "PROT_ERR", "TRANS_ERR", "FLAGS7_7_5", "FLAGS9_7_3", "FLAGS10_7_3",
    }
)  # fmt: skip
_PRINTED = {
    "RQST_RETRY": "RETRY", "RESP_RETRY": "RETRY", "RQST_FCVI_CONN_INFO": "FCVI_CONN_INFO",
    "RESP_FCVI_CONN_INFO": "FCVI_CONN_INFO", "DISC_CONN_STS": "CONN_STS", "MSG_PARAMETER": "FCVI_PARAMETER",
    "Reason_Code": "Reason Code", **dict.fromkeys(("FLAGS7_7_5", "FLAGS9_7_3", "FLAGS10_7_3"), "a reserved bit of FCVI_FLAGS"),
}  # fmt: skip
_JUDGED = frozenset(
    {
        "SEND_RQST", "WRITE_RQST", "READ_RQST", "SEND_RESP", "WRITE_RESP", "READ_RESP", "CONNECT_RQST",
        "DISCONNECT_RQST", "CONNECT_RESP1", "CONNECT_RESP2", "CONNECT_RESP3", "DISCONNECT_RESP", "ABTS",
    }
)  # fmt: skip


def _on(exchange: Optional[Exchange]) -> str:
    """Which Exchange, for a device that is to say something on it."""
    return "" if exchange is None else f"{exchange.originator} {exchange.ox_id:04x} {exchange.rx_id:04x}"


def _iu_name(kind: str) -> str:
    return f"FCVI_{kind}" if kind in _JUDGED and kind != "ABTS" else kind


__all__ = ["Failed", "Inconclusive", "Scenario", "Unimplemented"]
