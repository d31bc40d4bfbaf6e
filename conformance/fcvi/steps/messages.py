"""Holds what the Message cases share: variants, a connection, memory and Descriptors at the DUT, Messages of the tester."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Sequence

from fcvi.engine import pages
from fcvi.fc import build, codec
from fcvi.fc.build import RawFrame
from fcvi.engine.case import Variant
from fcvi.fc.message import Cut, Message, frames_of, send_frames
from fcvi.fc.received import Exchange, Received
from fcvi.fc.scenario import Scenario
from fcvi.engine.upper_tester import Completion

from .connection import CLIENT, SERVER, STATE, Setup, answer_provider, connect_dut_client, connect_dut_server

UD, RD, RR = 1, 2, 3  # Reliability Levels (7.3)
LEVELS = {"unreliable": UD, "reliable-delivery": RD, "reliable-reception": RR}
_LEVEL_PICS = {UD: "unreliable_delivery", RD: "reliable_delivery", RR: "reliable_reception"}
_OP_PICS = {"send": "send", "rdma-write": "rdma_write", "rdma-read": "rdma_read"}
IN_ORDER, OUT_OF_ORDER = "in-order", "out-of-order"
NEVER = 30  # times R_A_TOV: no device's own timer for the next Sequence or a missing Message is that long (8.4.1 Notes 1, 2)
_CHUNK = 16384  # bytes of memory in one call

# ---- variants ----


def variants(
    *,
    levels: Sequence[str] = ("unreliable",),
    ops: Sequence[str] = ("send",),
    classes: Sequence[int] = (3,),
    fabrics: Sequence[str] = (IN_ORDER,),
    roles: Sequence[str] = ("any",),
    choices: Sequence[tuple[str, dict[str, Any]]] = (("", {}),),
    config: Optional[dict[str, Any]] = None,
    depth: int = 0,
    immediate: bool = False,
) -> list[Variant]:
    """Every combination that the standard allows; what has one value only is not in the suffix.

    A role "any" is that of a client, or of a server where the DUT is no client. RDMA Reads need a reliable level
    (5.2.4). A choice may have members "config" (of ``reset``) and "applies" (PICS) beside parameters of the case.
    immediate: RDMA Writes of this case have Immediate Data.
    """
    made = []
    for level in levels:
        for op in ops:
            if op == "rdma-read" and LEVELS[level] == UD:
                continue
            for fabric in fabrics:
                for service_class in classes:
                    for role in roles:
                        for name, choice in choices:
                            parts = [
                                level if len(levels) > 1 else "", op if len(ops) > 1 else "",
                                fabric if len(fabrics) > 1 else "", f"class{service_class}" if len(classes) > 1 else "",
                                role if len(roles) > 1 else "", name,
                            ]  # fmt: skip
                            attributes = _attributes(LEVELS[level], op, depth)
                            params: dict[str, Any] = {"role": role, "op": op, "attributes": attributes, **choice}
                            pics = _pics(LEVELS[level], op, fabric, service_class, role)
                            pics += " and immediate_data" if immediate and op == "rdma-write" else ""
                            pics += f" and {params.pop('applies')}" if "applies" in params else ""
                            changed = {"fabric": fabric, "class": service_class, **(config or {}), **params.pop("config", {})}
                            made.append(Variant("/".join(p for p in parts if p), params, pics, changed))
    return made


def _attributes(level: int, op: str, depth: int) -> dict[str, int]:
    rdma = {"EnRdmaWr": int(op == "rdma-write"), "EnRdmaRd": int(op == "rdma-read")}
    return {"FCVI_RELIABILITY_LVL": level, "FCVI_PIPELINE_DEPTH": depth, **rdma}


def _pics(level: int, op: str, fabric: str, service_class: int, role: str) -> str:
    needed = [_LEVEL_PICS[level], _OP_PICS[op], f"class{service_class}"]
    needed += ["out_of_order_fabric"] if fabric == OUT_OF_ORDER else []
    needed.append({CLIENT: "client", SERVER: "server"}.get(role, "(client or server)"))
    return " and ".join(needed)


def level_of(t: Scenario) -> int:
    """Reliability Level of this variant."""
    return int(t.params["attributes"]["FCVI_RELIABILITY_LVL"])


def reliable(t: Scenario) -> bool:
    """Whether this variant's level is Reliable Delivery or Reliable Reception."""
    return level_of(t) != UD


def answered(t: Scenario, op: Optional[str] = None) -> bool:
    """Whether a Message of this operation gets a response (5.2)."""
    return (op or t.params["op"]) == "rdma-read" or level_of(t) == RR


# ---- a connection ----


def open_connection(t: Scenario) -> Setup:
    """A Connection Setup in the role of this variant."""
    role = t.params["role"]
    if role == "any":
        role = CLIENT if t.pics["client"] else SERVER
    return connect_dut_client(t) if role == CLIENT else connect_dut_server(t)


def state_of(t: Scenario, vi: int) -> str:
    """VipQueryVi, for the state of the VI."""
    return t.call("VipQueryVi", vi=vi).text("State")


def in_error(t: Scenario, setup: Setup) -> bool:
    """Whether the VI is in Error."""
    return state_of(t, setup.vi) == STATE["error"]


def expect_error(t: Scenario, setup: Setup, requirement: str, why: str, within_us: Optional[int] = None) -> None:
    """The VI goes to Error (8.4.2 e). No time is given: NEVER times R_A_TOV is taken for never, two for slow (E81, E152)."""
    started = t.now_us
    limit = NEVER * t.r_a_tov_us if within_us is None else within_us
    failed = t.until(lambda: in_error(t, setup), limit)
    t.demand(failed, requirement, f"the VI did not go to Error {why}", "another state", STATE["error"])
    answer_provider(t, setup)
    if t.now_us - started > 2 * t.r_a_tov_us + t.pixit.late_us:
        t.report(
            "FCVI-8.4.1-n2", f"the VI went to Error late {why}", f"{t.now_us - started} us", f"{2 * t.r_a_tov_us} us",
            erratum="E81",
        )  # fmt: skip


def expect_connected(t: Scenario, setup: Setup, requirement: str, why: str, erratum: Optional[str] = None) -> None:
    """The VI is still Connected."""
    t.owed(lambda: state_of(t, setup.vi) == STATE["connected"])
    seen = state_of(t, setup.vi)
    t.require(seen == STATE["connected"], requirement, f"the VI left Connected {why}", seen, STATE["connected"],
              erratum=erratum)  # fmt: skip


# ---- memory and Descriptors at the DUT ----


@dataclass(frozen=True)
class Region:
    """Registered memory of the DUT."""

    mem: int
    va: int
    handle: int
    length: int


def register(
    t: Scenario, length: int, *, write: bool = False, read: bool = False, data: Optional[bytes] = None
) -> Region:
    """VipRegisterMem, filled with A5h or with the data."""
    call = t.call("VipRegisterMem", length=length, rdma_write=write, rdma_read=read, fill="a5")
    region = Region(call.integer("mem"), int(call.text("va"), 16), call.integer("handle"), length)
    for at in range(0, len(data or b""), _CHUNK):
        t.call("mem.write", mem=region.mem, offset=at, hex=(data or b"")[at : at + _CHUNK].hex())
    return region


def to_the_end_of_a_page(t: Scenario, *, write: bool = False, read: bool = False) -> Region:
    """VipRegisterMem of memory of which the last byte is the last one of a page, where the DUT places regions alike: what lies
    behind it is certainly not registered (E173).
    """
    length = pages.left(register(t, 1).va)
    return register(t, length, write=write, read=read)


def memory(t: Scenario, region: Region, length: Optional[int] = None, offset: int = 0) -> bytes:
    """What is in the memory."""
    end = offset + (region.length if length is None else length)
    seen = b""
    for at in range(offset, end, _CHUNK):
        seen += bytes.fromhex(t.call("mem.read", mem=region.mem, offset=at, length=min(_CHUNK, end - at)).text("hex"))
    return seen


def post(
    t: Scenario, vi: int, op: str, region: Region, *, length: Optional[int] = None, offset: int = 0,
    remote: Optional[tuple[int, int]] = None, immediate: Optional[int] = None,
) -> str:
    """VipPostSend or VipPostRecv. Gives the return code."""  # fmt: skip
    size = region.length if length is None else length
    segments = [{"mem": region.mem, "offset": offset, "length": size}] if size else []
    where = None if remote is None else {"va": f"{remote[0]:016x}", "handle": remote[1]}
    descriptor = {"op": op, "segments": segments, "remote": where, "immediate": immediate}
    call = t.call("VipPostRecv" if op == "recv" else "VipPostSend", vi=vi, descriptor=descriptor)
    return call.returned()


def next_completion(
    t: Scenario, vi: int, queue: str, requirement: str, within_us: Optional[int] = None
) -> Completion:
    """Take the next completion of the queue; its absence breaks the requirement and ends the case."""

    def first() -> Optional[Completion]:
        return next((c for c in t.completions if c.vi == vi and c.queue == queue), None)

    limit = t.owed_us() if within_us is None else within_us
    t.until(lambda: first() is not None, limit)
    found = first()
    t.demand(found is not None, requirement, f"no {queue} Descriptor completed", "nothing", f"a completion within {limit} us")
    assert found is not None
    t.completions.remove(found)
    return found


def expect_good(t: Scenario, vi: int, queue: str, requirement: str, length: Optional[int] = None) -> Completion:
    """The next Descriptor of the queue completes without error, and with this Length."""
    done = next_completion(t, vi, queue, requirement)
    t.require(done.good, requirement, f"the {queue} Descriptor completed in error", sorted(done.status), "no error bit")
    if length is not None:
        t.require(done.length == length, requirement, "wrong Length in the Descriptor", done.length, length)
    return done


def expect_bad(
    t: Scenario, vi: int, queue: str, requirement: str, within_us: Optional[int] = None
) -> Completion:
    """The next Descriptor of the queue completes in error."""
    done = next_completion(t, vi, queue, requirement, within_us)
    t.require(not done.good, requirement, f"the {queue} Descriptor completed without error", sorted(done.status),
              "an error bit")  # fmt: skip
    return done


# ---- Messages of the tester ----


@dataclass
class Sent:
    """A Message of the tester and all its frames; a case sends those it wants."""

    message: Message
    exchange: Exchange
    frames: list[RawFrame]


def prepare(t: Scenario, setup: Setup, message: Message, cut: Cut = Cut(), ox_id: Optional[int] = None) -> Sent:
    """A Message in an Exchange of its own, cut into frames that are not sent yet."""
    exchange = t.tester.open_exchange(ox_id)
    frames = frames_of(
        t.tester, exchange, message.iu, message.device_header(setup.dut_handle), message.data,
        answered=answered(t, message.op), cut=cut,
    )  # fmt: skip
    return Sent(message, exchange, frames)


def transmit(t: Scenario, frames: Sequence[RawFrame], note: str = "") -> None:
    """Send frames and let the DUT take them in."""
    send_frames(t.tester, frames, note)
    t.settle()


def written_otherwise(t: Scenario, what: str, frames: list[RawFrame]) -> list[RawFrame]:
    """The same frames as another port may write them: what differs has no meaning (3.4)."""
    last = codec.decode(frames[-1].data, edition=t.tester.edition)
    made = []
    for frame in frames:
        view, fc = codec.decode(frame.data, edition=t.tester.edition), dict[str, int]()
        if what == "fill" and view.fill:
            frame = build.filled(frame, bytes(t.rng.randrange(1, 256) for _ in range(view.fill)))
        elif what == "continue" and view.header("End_Sequence") and not view.header("Last_Sequence"):
            fc = {"Continue_Sequence_Condition": t.rng.randrange(1, 4)}
        elif what == "dscp":
            fc = {"CS_CTL_OTHER": 0x2E}
        elif what == "last-in-all" and view.header("SEQ_ID") == last.header("SEQ_ID"):
            fc = {"Last_Sequence": last.header("Last_Sequence")}
        elif what == "ack-form":
            fc = {"ACK_Form": t.rng.randrange(1, 4)}
        made.append(build.changed(frame, fc))
    return made


def expect_response(t: Scenario, setup: Setup, sent: Sent, flags: Optional[int] = 0) -> Received:
    """The DUT's FCVI_SEND_RESP or FCVI_WRITE_RESP (6.3, 6.5); flags None: a failure, whatever its cause."""
    send = sent.message.op == "send"
    kind, clause = ("SEND_RESP", "6.3") if send else ("WRITE_RESP", "6.5")
    resp = t.expect(kind, f"FCVI-{clause}.1-01", exchange=sent.exchange, why="after the Message")
    t.equal(resp, "FCVI_HANDLE", setup.tester_handle, f"FCVI-{clause}.2-02")
    t.equal(resp, "FCVI_MSG_ID", sent.message.number, "FCVI-6.3.2-05" if send else "FCVI-6.5.2-04")
    t.equal(resp, "Last_Sequence", 1, "FCVI-5.2.1-06")
    t.require(len(resp.frames) == 1, "FCVI-6.3.1-05" if send else "FCVI-6.5.1-05", "the response has several frames",
              len(resp.frames), 1, at=resp)  # fmt: skip
    if flags is None:
        t.equal(resp, "RESP_ERR", 1, "FCVI-5.9.4.3-01")
    else:
        t.equal(resp, "FCVI_FLAGS", flags, "FCVI-T06-0")
    return resp


def deliver(t: Scenario, setup: Setup, message: Message, cut: Cut = Cut()) -> Sent:
    """Send a whole Message; on Reliable Reception take its response."""
    sent = prepare(t, setup, message, cut)
    transmit(t, sent.frames)
    if level_of(t) == RR and message.op != "rdma-read":
        expect_response(t, setup, sent)
    return sent
