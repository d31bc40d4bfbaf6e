"""Clause 3.2: the CE Header of the DUT, and what is agreed with it."""

from __future__ import annotations

from fcvi.engine.case import Variant, case
from fcvi.vitcp import wire
from fcvi.vitcp.scenario import Scenario
from fcvi.vitcp.wire import ACCEPT, END, SEND, Pdu

from conformance.vitcp.steps.connection import (
    CLIENT, DUT_DISCRIMINATOR, RECEPTION, REGISTRY, SERVER, TESTER_DISCRIMINATOR, UNRELIABLE, ClosedAtGreater, asked,
    attributes_of, call_out, connect, create, default_level, roles_and_levels, with_each,
)  # fmt: skip
from conformance.vitcp.steps.messages import alive, completion, deliver, pattern, post_receive, post_send, segments, send

_LEVELS = ("ud", "rd", "rr")


@case(
    REGISTRY,
    "TCP.3.2.a",
    "Connect Request of the DUT",
    clause="3.2",
    requirements=[*(f"VITCP-3.2-0{n}" for n in range(2, 7)), "VITCP-3.2-13", "VITCP-2.2.2.2.6-04"],
    errata=["V05", "V15", "V22", "V24", "V25"],
    applies="tcp and client",
    variants=[
        Variant(f"{level}/{name}", {"level": level, "write": write, "read": read}, item)
        for level, item in zip(_LEVELS, ("unreliable_delivery", "reliable_delivery", "reliable_reception"))
        for name, write, read in (("none", False, False), ("write", True, False), ("read", False, True))
        if not (read and level == UNRELIABLE)
    ],
)  # fmt: skip
def request(t: Scenario) -> None:
    """Its attributes are those of the VI, its MTU is MaxTransferSize, and the mode is client-server."""
    level, write, read = str(t.params["level"]), bool(t.params["write"]), bool(t.params["read"])
    write, read = write and bool(t.pics["rdma_write"]), read and bool(t.pics["rdma_read"])
    vi = create(t, level, 5000, write, read)
    call = call_out(t, vi)
    stream = t.expect_stream("VITCP-4.2-01")
    one = asked(t, stream)
    ce = one.pdu.ce
    assert ce is not None
    wanted = {
        "VITCP-3.2-02": (wire.RELIABLE, level != UNRELIABLE), "VITCP-3.2-03": (wire.WRITE_ENABLE, write),
        "VITCP-3.2-04": (wire.READ_ENABLE, read), "VITCP-3.2-05": (wire.FLOW_CONTROL, bool(t.pics["flow_control"])),
        "VITCP-3.2-06": (wire.PEER, False),
    }  # fmt: skip
    for row, (mask, value) in wanted.items():
        t.require(bool(ce.attributes & mask) == value, row, "a flag of Calling Attributes", f"{ce.attributes:04X}h", value,
                  at=one, byte=24)
    t.require(ce.mtu == min(5000, int(t.pics["max_transfer_size"])), "VITCP-3.2-13", "MTU Size proposed", ce.mtu, 5000,
              at=one, byte=28)
    accept = wire.ce_header(ce.calling, ce.called, attributes_of(t, level), 5000, 4)
    t.send(stream, Pdu(ACCEPT, flags=END, rx=8, ce=accept))
    t.finish(call, "VITCP-4.2-07", returns="VIP_SUCCESS")
    t.control("the connection was made")


@case(
    REGISTRY,
    "TCP.3.2.b",
    "Connect Accept of the DUT",
    clause="2.2.1, 3.2",
    requirements=[
        "VITCP-2.2.1-04", "VITCP-2.2.1-07", "VITCP-3.2-03", "VITCP-3.2-04", "VITCP-3.2-14", "VITCP-3.2-15", "VITCP-3.2-19",
    ],
    errata=["V05", "V07", "V25", "V27", "V47"],
    applies="tcp and server",
    variants=with_each([Variant("", {"role": SERVER})], "mtu", {
        "below": 3000, "equal": 5000, "above": 7000, "by-one": 5001, "one-less": 4999, "2^31": 1 << 31, "most": 0xFFFFFFFF})
    + with_each([Variant("", {"role": SERVER, "mtu": 5000})], "rights", {"no-rights": (), "write": ("write",), "read": ("read",)}),
)
def accept(t: Scenario) -> None:
    """MTU Size in Connect Accept is the lesser of what was proposed and what the VI has; a message of this size passes. The flags
    of RDMA are those of the VI, whatever those of the request are (V47). Its Discriminators are those of the two ends, without any
    bytes behind, or are left out.
    """
    proposed, rights = int(t.params["mtu"]), t.params.get("rights", ("write", "read"))
    write, read = ("write" in rights and bool(t.pics["rdma_write"]), "read" in rights and bool(t.pics["rdma_read"]))
    read = read and default_level(t) != UNRELIABLE
    link = connect(t, SERVER, vi=create(t, None, 5000, write, read), size=5000, mtu=proposed)
    one, ce = link.answer, link.answer.pdu.ce
    assert ce is not None
    own = min(5000, int(t.pics["max_transfer_size"]))
    t.require(ce.mtu == min(own, proposed), "VITCP-3.2-15", "MTU Size agreed", ce.mtu, min(own, proposed), at=one, byte=28)
    for row, mask, value in (("VITCP-3.2-03", wire.WRITE_ENABLE, write), ("VITCP-3.2-04", wire.READ_ENABLE, read)):
        t.require(bool(ce.attributes & mask) == value, row, "a flag of Calling Attributes of Connect Accept",
                  f"{ce.attributes:04X}h", value, at=one, byte=24)
    ends, known = (ce.calling, ce.called), (TESTER_DISCRIMINATOR, DUT_DISCRIMINATOR, b"")
    t.require(ends == known[:2], "VITCP-3.2-19", "the Discriminators of Connect Accept do not echo the request", ends, "an echo",
              at=one, erratum="V47" if set(ends) <= set(known) else None)
    deliver(link, pattern(link.mtu), "VITCP-3.2-14")
    alive(link)


@case(
    REGISTRY,
    "TCP.3.2.c",
    "A lesser and a greater MTU",
    clause="3.2",
    requirements=["VITCP-3.2-14", "VITCP-3.2-16"],
    errata=["V25", "V26"],
    applies="tcp",
    variants=with_each(roles_and_levels((UNRELIABLE, RECEPTION)), "mtu", {"lesser": 2000, "greater": 9000})
    + with_each(with_each(roles_and_levels((RECEPTION,)), "mtu", {"lesser": 2000}), "sender", {"tester": "tester"}),
)
def agreed(t: Scenario) -> None:
    """A message of just the agreed size passes each way; one byte more is refused at the sender and nothing of it is sent, and is
    an error at the receiver. More than was proposed is not used.
    """
    mtu = int(t.params["mtu"])
    role = str(t.params["role"])
    t.on_purpose("VITCP-3.2-15")
    try:
        link = connect(t, size=5000, mtu=mtu, may_close=mtu > 5000)
    except ClosedAtGreater:
        t.control("the device asked for a connection, and took no Accept with more than it had proposed")
        return
    size = link.mtu
    deliver(link, pattern(size), "VITCP-3.2-14")
    post_send(link, pattern(size))
    from conformance.vitcp.steps.messages import acknowledge, message, sent

    now = message(link, SEND, pattern(size), "VITCP-3.2-14")
    if link.reliable:
        acknowledge(link, now.number)
    sent(link)
    t.control("messages of the agreed size passed each way")
    row = "VITCP-3.2-16" if role == CLIENT else "VITCP-3.2-14"
    if t.params["level"] == UNRELIABLE or "sender" in t.params:
        link.stream.watch.known.error_due = True
        post_receive(link, size + 100)
        t.on_purpose("VITCP-3.2-14", "VITCP-3.2-16")
        send(link, segments(link, pattern(size + 1)))
        t.wait(t.nop_bound_us // 2)  # it may be lost (VI-ARCH 2.5.1)
        good = any(c.good for c in t.completed(link.vi, "recv")[link.completions["recv"] :])
        t.require(not good, "VITCP-3.2-14", "a Send longer than the MTU completes well", "good", "an error, or none")
    if "sender" in t.params:
        t.expect_end(link.stream, "VITCP-3.2-14", why="after a Send longer than the MTU")
        return
    post_send(link, pattern(size + 1))
    done = completion(link, "send", row, "for a Send longer than the MTU")
    t.require(not done.good, row, "a Send longer than the MTU completes well", "good", "VIP_STATUS_LENGTH_ERROR")
    more = link.stream.watch.messages[link.taken :]
    t.require(not more, row, "a Send longer than the MTU is sent", f"{len(more)} messages", "nothing", at=more[0].first
              if more else None)
