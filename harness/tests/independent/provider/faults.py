"""Single faults of the provider: each breaks one sentence of the texts, which the row of the catalogue names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

from . import codes as c
from . import faults_beyond as beyond
from . import faults_kept as kept
from . import faults_told as told
from .agent import Agent, Json
from .objects import Nic, Vi
from .threads import Steps


@dataclass(frozen=True)
class Fault:
    """A fault: the row that it breaks, the cases in which it shows, and what becomes of an agent with it."""

    row: str
    cases: str
    change: Callable[[Agent], None]
    variant: str = "plain"


def _result(method: str, change: Callable[[Agent, Json, Json], Json]) -> Callable[[Agent], None]:
    """What a call gives is changed."""

    def of(agent: Any) -> None:
        real = getattr(agent, f"do_{method}")
        setattr(agent, f"do_{method}", lambda p: change(agent, p, real(p)))
    return of


def _query_tells_write(agent: Any, p: Json, result: Json) -> Json:
    result["ViAttribs"]["EnableRdmaWrite"] = True
    return result


def _empty_in_idle(agent: Any, p: Json, result: Json) -> Json:
    """What is posted in Idle does not count."""
    result["ViRecvQEmpty"] = result["ViRecvQEmpty"] or agent._live("vi", p).state == c.IDLE
    return result


def _query_tells_the_partner(agent: Any, p: Json, result: Json) -> Json:
    """A VI that is connected tells the enables of its peer."""
    vi = agent._live("vi", p)
    if vi.state == c.CONNECTED and vi.partner is not None:
        result["ViAttribs"]["EnableRdmaWrite"] = vi.partner.write
    return result


def _second_connection_loses_receives(agent: Any) -> None:
    real = agent.connecting._join

    def join(one: Any, two: Any) -> None:
        for vi in (one, two):
            if vi.partner is not None:
                vi.receive.work.clear()
        real(one, two)
    agent.connecting._join = join


def _one_handler(agent: Any, p: Json, result: Json) -> Json:
    last: Nic = agent._nic(p)
    for nic in agent.world.nics:
        nic.handler = last.handler
    return result


def _resource_cq(agent: Any) -> None:
    real = agent.world.report

    def report(said: Any) -> None:
        said.resource = "VIP_RESOURCE_CQ"
        real(said)
    agent.world.report = report


def _sleeps_on(agent: Any) -> None:
    def wait(p: Json) -> Steps[Json]:
        yield from agent.world.until(lambda: False, None)
        return {"return": c.TIMEOUT}
    agent.do_VipRecvWait = wait


def _idle_error_forgotten(agent: Any) -> None:
    real = agent.transfer._catastrophe

    def catastrophe(vi: Any, code: str, va: int) -> None:
        if vi.state != c.IDLE:
            real(vi, code, va)
    agent.transfer._catastrophe = catastrophe


def _refused_cq_stays(agent: Any) -> None:
    real, refused = agent.connecting.create_cq, [0]

    def create(nic: Nic, entries: int) -> Any:
        code, cq = (c.RESOURCE, None) if refused[0] else real(nic, entries)
        refused[0] += code == c.RESOURCE
        return code, cq
    agent.connecting.create_cq = create


def _read_enable_taken(agent: Any) -> None:
    real = agent.world._rights
    agent.world._rights = lambda nic, ptag, read: real(nic, ptag, False)


def _silent(agent: Any) -> None:
    """At Reliable Delivery nobody is told of an error, and the connection goes on."""
    real = agent.transfer.break_connection

    def break_connection(vi: Any, code: Any) -> None:
        if vi.attributes.level != c.RD:
            real(vi, code)
    agent.transfer.break_connection = break_connection


def _untold(agent: Any) -> None:
    """The other end is not told that its peer has disconnected, and its Sends are successful ever after."""
    agent.transfer._far = lambda peer: None
    agent.transfer.break_connection = lambda vi, code: None


def _untold_second(agent: Any) -> None:
    """The same from the second time on."""
    real, times = agent.transfer._far, [0]

    def far(peer: Any) -> None:
        times[0] += 1
        if times[0] == 1:
            real(peer)
        else:
            _untold(agent)
    agent.transfer._far = far


def _refused_read_moves(agent: Any) -> None:
    real = agent.transfer._read

    def read(vi: Any, peer: Any, work: Any, form: Any) -> None:
        data = agent.world.space.read(form.remote.va, form.length)
        if data is not None:
            agent.transfer._scatter(form.segments, data)
        real(vi, peer, work, form)
    agent.transfer._read = read


def _goes_on(agent: Any) -> None:
    """A message that is lost at Reliable Delivery shows nowhere."""
    def harmed(transfer: Any, vi: Any, peer: Any, work: Any, form: Any, operation: int, harm: str) -> None:
        transfer.finish_send(vi, work, operation, form.length)
    agent.transfer.wire.harmed = harmed


def _stops(agent: Any) -> None:
    """Behind a message that is lost nothing arrives, and nobody is told."""
    def harmed(transfer: Any, vi: Any, peer: Any, work: Any, form: Any, operation: int, harm: str) -> None:
        transfer.finish_send(vi, work, operation, form.length)
        vi.gap = lambda: None
    agent.transfer.wire.harmed = harmed


def _two_agents(agent: Any) -> None:
    """The ends are those of two processes, by their own word."""
    devices = agent.do_agent_devices({})
    agent.do_agent_devices = lambda p: {**devices, "agents": 2}


def _reaches_all(agent: Any) -> None:
    """A VI reaches what another process has registered."""
    _two_agents(agent)
    real = agent.world.reach

    def reach(nic: Nic, va: int, length: int, handle: int, ptag: Any) -> Any:
        regions = (one.regions.get(handle) for one in agent.world.nics)
        return real(nic, va, length, handle, ptag) or next((region for region in regions if region is not None), None)
    agent.world.reach = reach


def _lives_on(agent: Any) -> None:
    """The end of a process ends nothing of it: what is sent to it is taken as before."""
    _two_agents(agent)
    knows = agent.knows

    def restart(p: Json) -> Json:
        agent.transfer._consume = lambda vi, form, data, refused: (0, None)
        return {}
    setattr(agent, "knows", lambda method: method == "agent.restart" or knows(method))
    setattr(agent, "do_agent_restart", restart)


def _waits_for_a_receive(agent: Any) -> None:
    """A message that finds no receive is kept for the one that is posted next."""
    consume, post, kept = agent.transfer._consume, agent.transfer.post, []

    def keeps(vi: Any, form: Any, data: bytes, refused: Any) -> Any:
        if not any(not work.status for work in vi.receive.work):
            kept.append((vi, form, data, refused))
            return 0, None
        return consume(vi, form, data, refused)

    def posts(vi: Any, receive: bool, va: int, handle: int) -> str:
        code = post(vi, receive, va, handle)
        if receive and kept and kept[0][0] is vi:
            consume(*kept.pop(0))
        return code
    agent.transfer._consume, agent.transfer.post = keeps, posts


def _any_access(agent: Any) -> None:
    """The enables of VIs and regions count for nothing."""
    agent.transfer._remote = lambda vi, at, length, read: True


def _calls_of_the_destroyed(agent: Any) -> None:
    """The last handler of a queue is called once more when its VI has gone."""
    notify, destroy, kept = agent.transfer.notify, agent.connecting.destroy_vi, []

    def keeps(vi: Any, queue: Any, handler: Any) -> str:
        kept.append(handler)
        return notify(vi, queue, handler)

    def destroys(vi: Any) -> str:
        code = destroy(vi)
        if kept:
            handler = kept.pop()
            agent.world.threads.after(0.02, lambda: agent.world.notifier.do(lambda: handler(None)))
        return code
    agent.transfer.notify, agent.connecting.destroy_vi = keeps, destroys


def _takes_damage(agent: Any) -> None:
    """A payload that was corrupted on its way is placed like any other."""
    harm, scatter, hurt = agent.transfer.wire.harm, agent.transfer._scatter, [False]

    def heals(sender: Any) -> str:
        found = harm(sender)
        hurt[0] = found == "corrupt"
        return "" if hurt[0] else found

    def scatters(segments: Any, data: bytes) -> None:
        scatter(segments, bytes([data[0] ^ 1]) + data[1:] if hurt[0] else data)
        hurt[0] = False
    agent.transfer.wire.harm = heals
    agent.transfer._scatter = scatters


def _send_sleeps_on(agent: Any) -> None:
    def wait(p: Json) -> Steps[Json]:
        yield from agent.world.until(lambda: False, None)
        return {"return": c.TIMEOUT}
    agent.do_VipSendWait = wait


def _region_of_its_thread(agent: Any) -> None:
    """A region serves the thread that registered it, and that which reads the lines."""
    real, own = agent.do_VipRegisterMem, set()

    def register(p: Json) -> Json:
        result = real(p)
        if p.get("thread") is not None:
            own.add(result.get("handle"))
        return result

    reach = agent.world.reach
    agent.world.reach = lambda nic, va, length, handle, ptag: (
        None if handle in own else reach(nic, va, length, handle, ptag))
    agent.do_VipRegisterMem = register


def _descriptors_of_any_tag(agent: Any) -> None:
    real, world = agent.transfer._writes, agent.world

    def reach(nic: Nic, va: int, length: int, handle: int, ptag: Any) -> Any:
        region = nic.regions.get(handle)
        return world.__class__.reach(world, nic, va, length, handle, region.ptag if region is not None else ptag)

    def any_tag(vi: Any, work: Any, sending: bool) -> Any:
        world.reach = reach
        try:
            return agent.transfer.__class__.read(agent.transfer, vi, work, sending)
        finally:
            del world.reach

    def writes(vi: Any, va: int, handle: int) -> bool:
        region = vi.nic.regions.get(handle)
        return real(vi, va, handle) or region is not None and region.ptag is not vi.attributes.ptag
    agent.transfer._writes = writes
    agent.transfer.read = any_tag


def _address_is_not_counted(agent: Any) -> None:
    """An RDMA whose only segment is the address segment is taken for one without."""
    real = agent.transfer.read

    def read(vi: Any, work: Any, sending: bool) -> Any:
        form = real(vi, work, sending)
        if form is not None and form.remote is not None and not form.segments:
            form.error = c.FORMAT
        return form
    agent.transfer.read = read


def _rubbish_is_bad(agent: Any) -> None:
    """A Descriptor with rubbish in what is the library's gets the FORMAT bit, though it is carried out."""
    real = agent.transfer.complete

    def complete(vi: Any, queue: Any, work: Any, status: int) -> None:
        head = agent.world.space.read(work.va, 8)
        rubbish = head is not None and int.from_bytes(head, "little") == 0xDEADBEEFDEADBEEF
        real(vi, queue, work, status | (c.FORMAT if rubbish else 0))
    agent.transfer.complete = complete


def _twice(agent: Any) -> None:
    """Of two messages in a row the second is the first once more."""
    real, last = agent.transfer._scatter, [b""]

    def scatter(segments: Any, data: bytes) -> None:
        if len(data) == len(last[0]) == 32:
            data = last[0]
        last[0] = data
        real(segments, data)
    agent.transfer._scatter = scatter


def _writes_to_any_tag(agent: Any) -> None:
    def remote(vi: Vi, at: Any, length: int, read: bool) -> Any:
        region = vi.nic.regions.get(at.handle)
        grants = region is not None and not read and vi.attributes.write and region.write
        return grants or agent.transfer.__class__._remote(agent.transfer, vi, at, length, read)
    agent.transfer._remote = remote


def _first_checked(agent: Any) -> None:
    real = agent.transfer._gather

    def gather(vi: Any, segments: Any) -> Any:
        if len(segments) < 2 or real(vi, segments[:1]) is None:
            return real(vi, segments)
        space = agent.world.space
        return b"".join(space.read(segment.va, segment.length) or b"" for segment in segments)
    agent.transfer._gather = gather


def _text(agent: Any) -> None:
    agent.connecting._same = lambda one, two: one.partition(b"\0")[0] == two.partition(b"\0")[0]


def _entry_stays(agent: Any) -> None:
    transfer = agent.transfer

    def serve(cq: Any) -> None:
        for entry in list(cq.entries)[:len(cq.handlers)]:
            transfer._entry(cq.thread, cq.handlers.popleft(), *entry)
    transfer.serve = serve


def _size_stays(agent: Any) -> None:
    real, first = agent.connecting.set_attributes, agent.transfer.read
    sizes: dict[int, int] = {}

    def changed(vi: Any, attributes: Any) -> str:
        sizes.setdefault(id(vi), vi.attributes.size)
        return real(vi, attributes)

    def read(vi: Any, work: Any, sending: bool) -> Any:
        form = first(vi, work, sending)
        if form is not None and sending and not form.error and form.length > sizes.get(id(vi), form.length):
            form.error = c.LENGTH
        return form
    agent.connecting.set_attributes, agent.transfer.read = changed, read


def _one_read_fenced(agent: Any) -> None:
    real = agent.transfer.read

    def read(vi: Any, work: Any, sending: bool) -> Any:
        form = real(vi, work, sending)
        if form is not None and sending and sum(other.started for other in vi.send.work) > 1:
            form.control &= ~c.CONTROL_FENCE
        return form
    agent.transfer.read = read


def _misfit_stays(agent: Any) -> None:
    real = agent.connecting.peer_request

    def request(vi: Any, *rest: Any) -> str:
        code = real(vi, *rest)
        vi.state = c.PENDING if vi.outcome in (c.MTU, c.LEVEL) else vi.state
        return code
    agent.connecting.peer_request = request


def _writes_need_room(agent: Any) -> None:
    """The bytes of an RDMA Write with Immediate Data have to fit into the receive that it takes, too."""
    transfer, real = agent.transfer, agent.transfer._consume

    def consume(vi: Any, form: Any, data: bytes, refused: Any) -> Any:
        work = next((work for work in vi.receive.work if not work.status), None)
        there = transfer.read(vi, work, False) if work is not None and form.op == c.CONTROL_WRITE else None
        if there is not None and len(data) > sum(segment.length for segment in there.segments):
            refused = c.LENGTH
        return real(vi, form, data, refused)
    transfer._consume = consume


FAULTS: dict[str, Fault] = {
    "writes-need-room": Fault("S2.3.2-04", "VIPL.D5/*", _writes_need_room),
    "query-tells-write": Fault("G3.7.3-01", "VIPL.S1*", _result("VipQueryVi", _query_tells_write)),
    "empty-in-idle": Fault("G3.7.3-02", "VIPL.S1*", _result("VipQueryVi", _empty_in_idle)),
    "query-tells-the-partner": Fault("G3.7.3-01", "VIPL.K3*", _result("VipQueryVi", _query_tells_the_partner)),
    "second-connection-loses-receives": Fault("S4.1-01", "VIPL.K5*", _second_connection_loses_receives),
    "one-handler": Fault("G3.8.1-01", "VIPL.E1*", _result("VipErrorCallback", _one_handler)),
    "resource-is-a-cq": Fault("G4.4-02", "VIPL.E2*", _resource_cq),
    "recv-wait-sleeps-on": Fault("G3.5.6-01", "VIPL.C37*", _sleeps_on),
    "idle-error-forgotten": Fault("S5.1-06", "VIPL.S6*", _idle_error_forgotten),
    "refused-cq-stays": Fault("S3.4-05", "VIPL.L4", _refused_cq_stays),
    "silent-of-receives": Fault("S2.5.2-03", "VIPL.X5/rd,VIPL.X16/rd", _silent),
    "silent-of-writes": Fault("S2.5.2-08", "VIPL.X12/rd*,VIPL.E6/rd", _silent),
    "silent-of-losses": Fault("S2.5.2-02", "VIPL.X9/rd,VIPL.X10/rd*,VIPL.X11/rd,VIPL.X14/rd*,VIPL.X15/rd*", _stops),
    "end-is-not-told": Fault("S4.2-03", "VIPL.X20*", _untold),
    "closed-end-is-not-told": Fault("G3.1.2-02", "VIPL.E7*", _untold),
    "handler-is-not-told": Fault("G3.8.1-01", "VIPL.E1/rd", _untold),
    "nobody-is-told": Fault("G3.8.1-02", "VIPL.E1/rd", _untold_second),
    "no-error-is-told": Fault("G4.4-02", "VIPL.E2/rd", _untold),
    "refused-read-moves": Fault("S3.2.2.2-03", "VIPL.X17*", _refused_read_moves),
    "goes-on-behind-a-loss": Fault("G2.4-01", "VIPL.X9/rd,VIPL.X10/rd-send,VIPL.X11/rd", _goes_on),
    "reaches-another-process": Fault("S1.5.3-03", "VIPL.P3/[rs]e*", _reaches_all),
    "takes-the-tag-of-another": Fault("S3.2.2.1-02", "VIPL.P3/[rs]e*", _reaches_all),
    "process-lives-on": Fault("S3.1-02", "VIPL.P3/end", _lives_on),
    "waits-for-a-receive": Fault("S2.3.1-03", "VIPL.X5/*", _waits_for_a_receive),
    "any-access": Fault("S3.2.2.2-03", "VIPL.P2/*", _any_access),
    "calls-of-the-destroyed": Fault("G3.5.10-02", "VIPL.N5/vi", _calls_of_the_destroyed),
    "takes-damage": Fault("S2.5-05", "VIPL.X9/rd", _takes_damage),
    "takes-damage-at-ud": Fault("S2.5.1-01", "VIPL.X9/ud", _takes_damage),
    "send-wait-sleeps-on": Fault("G3.5.3-02", "VIPL.C36/send-wait", _send_sleeps_on),
    "region-of-its-thread": Fault("S3.2.1-06", "VIPL.T3", _region_of_its_thread),
    "descriptors-of-any-tag": Fault("S3.2.2.1-05", "VIPL.X22*", _descriptors_of_any_tag),
    "address-is-not-counted": Fault("G5.2-03", "VIPL.D4/*", _address_is_not_counted),
    "rubbish-is-bad": Fault("G5.2-02", "VIPL.D8*", _rubbish_is_bad),
    "one-message-twice": Fault("S2.5-06", "VIPL.O2*", _twice),
    "read-enable-taken": Fault("G3.4.3-08", "VIPL.C32", _read_enable_taken, "least"),
    "writes-reach-any-tag": Fault("S3.2.2.1-04", "VIPL.P1/rd-write", _writes_to_any_tag),
    "first-segment-checked": Fault("S3.2.2.1-04", "VIPL.X3/rd-*", _first_checked),
    "discriminator-is-text": Fault("S4.3-01", "VIPL.K1", _text),
    "entry-stays-on-the-cq": Fault("G3.5.11-01", "VIPL.N6*", _entry_stays),
    "changed-size-stays": Fault("G3.7.2-04", "VIPL.P9*", _size_stays),
    "fence-for-one-read": Fault("S6.3.1.2-01", "VIPL.O4*", _one_read_fenced, "reads-last"),
    "misfit-stays-pending": Fault("S5.2-02", "VIPL.C28*", _misfit_stays),
    "no-address": Fault("G4.5-02", "VIPL.A3", told.no_address),
    "calls-behind-the-cq": Fault("G3.5.11-03", "VIPL.N5/cq", told.calls_behind_the_cq),
    "sizes-differ": Fault("G3.3.2-02", "VIPL.C15/size-*", told.sizes_differ),
    "no-host-is-any": Fault("G3.3.4-02", "VIPL.C20/no-wait", told.no_host_is_any),
    "send-handler-waits-on": Fault("G3.5.9-08", "VIPL.N4", told.waits_on, "reads-last"),
    "refused-read-as-write": Fault("G3.8.1-13", "VIPL.X17/rd-range", told.refused_read_as_write),
    "part-of-a-message": Fault("G5.2-28", "VIPL.X11/*", told.takes_a_part),
    "timeout-flushes": Fault("S5.2-02", "VIPL.C22/*", kept.flushed_by_a_timeout),
    "failed-accept-flushes": Fault("S5.1-04", "VIPL.C15/level-reject", kept.flushed_by_a_failed_accept),
    "late-peer-flushes": Fault("S5.2-02", "VIPL.C26/alone", kept.flushed_by_a_late_peer),
    "half-set": Fault("G3.7.2-02", "VIPL.C44", kept.half_set),
    "keeps-its-first-tag": Fault("S3.2.2.1-03", "VIPL.P9/rd", kept.keeps_its_first_tag),
    "last-byte-checked": Fault("S6.3.2-01", "VIPL.P4/*-write", kept.last_byte_checked),
    "first-byte-of-a-sink": Fault("S3.2.1-05", "VIPL.P4/rr-recv", kept.first_byte_of_a_sink),
    "first-byte-of-a-read": Fault("S3.2.1-05", "VIPL.P4/rd-sink", kept.first_byte_of_a_sink),
    "reads-below-the-maximum": Fault("S6.1.1.2-01", "VIPL.D3/rd-one", kept.reads_below_the_maximum),
    "reads-of-any-length": Fault("G5.2-24", "VIPL.X4/rd-read-*", kept.reads_of_any_length),
    "one-name-service": Fault("G3.9.1-03", "VIPL.C45", kept.one_name_service),
    "one-shutdown": Fault("G3.9.4-01", "VIPL.C45", kept.one_shutdown),
    "writes-unfenced": Fault("S6.3.1.2-01", "VIPL.O4/rd", kept.writes_unfenced, "reads-last"),
    "sends-waited-for-half": Fault("G3.5.3-02", "VIPL.C39/timeout", kept.sends_waited_for_half),
    "cq-of-sends-destroyed": Fault("G3.6.2-01", "VIPL.C42", kept.cq_of_sends_destroyed),
    "handle-lives-on": Fault("G3.4.4-01", "VIPL.R2", kept.handle_lives_on),
    "overlapping-go-too": Fault("S3.2.1-08", "VIPL.R2", kept.overlapping_go_too),
    "first-enables-of-a-vi": Fault("G3.7.2-04", "VIPL.P10/vi-*", kept.first_enables_of_a_vi),
    "first-enables-of-a-region": Fault("G3.7.4-01", "VIPL.P10/region-*", kept.first_enables_of_a_region),
    "tells-the-first-enables": Fault("G3.3.4-05", "VIPL.P10/vi-*", kept.tells_the_first_enables),
    "flushed-in-idle-without-entries": Fault("G6.2-02", "VIPL.Q4/idle", kept.flushed_in_idle_without_entries),
    "closed-nic-calls": Fault("G3.1.2-02", "VIPL.E7*", told.closed_nic_calls),
    "last-registration-first": Fault("G3.5.11-02", "VIPL.N6/before", told.last_registration_first),
    "regions-of-any-nic": Fault("S3.1-01", "VIPL.C34", kept.regions_of_any_nic),
    "accepts-in-error": Fault("G3.3.2-01", "VIPL.C14", kept.accepts_in_error),
    "old-outcome": Fault("G3.3-05", "VIPL.C26/alone", kept.old_outcome),
    "immediate-unfenced": Fault("S6.3.1.2-01", "VIPL.O4/rd", kept.immediate_unfenced, "reads-last"),
    "two-waits-one-descriptor": Fault("G2.3-05", "VIPL.T1/waits", told.two_waits_one_descriptor),
    "passes-a-short-receive": Fault("G5.2-25", "VIPL.X6/rd-one", kept.passes_a_short_receive),
    "newest-entry-first": Fault("G3.5.11-01", "VIPL.N6/oldest", told.newest_entry_first),
    "notified-of-receives": Fault("G3.5.9-07", "VIPL.C36/send-notify", told.notified_of_receives),
    "endless-wait-ends": Fault("G3.5.8-01", "VIPL.C41", told.endless_wait_ends),
    "short-discriminators-of-peers": Fault("G6.7-02", "VIPL.K7", told.short_discriminators_of_peers),
    "late-peer-stays": Fault("G3.3.6-04", "VIPL.C26/alone", told.late_peer_stays),
    "disconnected-peer-stays": Fault("G3.3.5-06", "VIPL.C26/alone", told.disconnected_peer_stays),
    "destroyed-with-sends": Fault("G3.2.2-01", "VIPL.C10/rd", told.destroyed_with_sends),
    "overrun-loses-descriptors": Fault("S6.4.1-04", "VIPL.Q6", beyond.overrun_loses_descriptors),
    "overrun-names-another": Fault("S6.4.1-04", "VIPL.Q6", beyond.overrun_names_another),
    "overrun-repeats": Fault("S6.4.1-04", "VIPL.Q6", beyond.overrun_repeats),
    "overrun-stops-the-cq": Fault("G3.6.1-02", "VIPL.Q6", beyond.overrun_stops_the_cq),
    "overrun-stops-every-cq": Fault("S3.4-03", "VIPL.Q6", beyond.overrun_stops_every_cq),
    "taken-comes-again": Fault("G3.5.7-04", "VIPL.Q7/*", beyond.taken_comes_again),
    "notified-and-done": Fault("G3.5.12-02", "VIPL.N8/*", beyond.notified_and_done),
    "notified-is-lost": Fault("G3.5.12-02", "VIPL.N8/*", beyond.notified_is_lost),
    "next-is-followed": Fault("G3.8.1-06", "VIPL.X27/rd-recv", beyond.next_is_followed),
    "next-is-sent": Fault("G3.8.1-06", "VIPL.X27/rd-send", beyond.next_is_sent, "late"),
    "next-stops": Fault("G3.8.1-06", "VIPL.X27/rd-recv", beyond.next_stops),
    "any-handle": Fault("S6.1-03", "VIPL.X22/*-other-handle", beyond.any_handle),
    "any-handle-behind": Fault("S3.2.1-01", "VIPL.X22/*-behind", beyond.any_handle),
    "tail-unchecked": Fault("S3.2.1-01", "VIPL.X22/rd-send-runs-out", beyond.tail_unchecked, "long-descriptors"),
    "loss-stops-sends": Fault("S2.5.1-02", "VIPL.X28/*", beyond.loss_stops_sends),
    "reports-and-stays": Fault("S2.3.1-04", "VIPL.X5/rd,VIPL.X16/rd", beyond.reports_and_stays),
    "short-and-stays": Fault("S2.3.1-04", "VIPL.X6/rd-one", beyond.short_and_stays),
    "passing-send-is-cut": Fault("S6.3.1.1-07", "VIPL.O7/rd-send", beyond.passing_send_is_cut, "reads-last"),
    "passing-write-is-longer": Fault("S6.3.1.1-09", "VIPL.O7/rd-write", beyond.passing_write_is_longer, "reads-last"),
    "rdma-reaches-another-process": Fault("G5.3-03", "VIPL.P3/write,VIPL.P3/read", _reaches_all),
    "buffer-written-again": Fault("G5.5-01", "VIPL.D11/*", beyond.buffer_written_again),
    "service-stays": Fault("G3.9.4-02", "VIPL.C49", beyond.service_stays),
    "needs-a-tag": Fault("G2.2.1-02", "VIPL.V1", beyond.needs_a_tag, "early"),
    "disconnected-peer-waits": Fault("G3.3.7-05", "VIPL.C27", beyond.disconnected_peer_waits),
}
