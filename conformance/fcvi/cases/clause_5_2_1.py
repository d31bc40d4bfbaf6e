"""Clause 5.2.1: what is lost of a Message is noticed."""

from __future__ import annotations

from fcvi.fc import build
from fcvi.engine.case import Variant, case
from fcvi.fc.scenario import Scenario

from .clause_5_2_2 import completed, connected, descriptor_of
from conformance.fcvi.steps.connection import CLIENT, REGISTRY, SERVER

PART_OF_REPORT = 4

_FRAMES = 4


@case(
    REGISTRY,
    "5.2.1",
    "A Message with a lost frame is not delivered",
    clause="5.2.1",
    requirements=["FCVI-5.2.1-10"],
    errata=["E81", "E89"],
    tags=["message", "loss"],
    applies="(client or server) and unreliable_delivery and send",
    variants=[
        Variant(f"{role}/{name}", {"role": role, "lost": lost}, pics, {"receive_size": 256})
        for role, pics in ((CLIENT, "client"), (SERVER, "server"))
        for name, lost in (("first", 0), ("middle", 2))
    ],
)
def lost_frame(t: Scenario) -> None:
    """SEQ_CNT, Relative Offset and the total length reveal the gap: no receive Descriptor completes as if all were there.

    The Message after it is delivered, unless the DUT moves an unreliable VI to Error (8.4.2 c).
    """
    setup = connected(t)
    size = (_FRAMES - 1) * (256 - 32) + 100
    for number in (1, 2, 3):
        mem = t.call("VipRegisterMem", length=size, rdma_write=False, rdma_read=False, fill="a5").integer("mem")
        t.call("VipPostRecv", vi=setup.vi, descriptor=descriptor_of("recv", mem, size))
    for number in (1, 2, 3):
        data = t.rng.randbytes(size)
        exchange = t.tester.open_exchange()
        dh = {"FCVI_HANDLE": setup.dut_handle, "FCVI_MSG_ID": number, "FCVI_TOT_LEN": size}
        frames = build.iu_frames("SEND_RQST", t.tester.envelope(exchange), dh, data)
        for index, frame in enumerate(frames):
            if not (number == 2 and index == t.params["lost"]):
                t.tester.send_frame(frame)
        t.settle()
        if number == 1:
            completed(t, setup, "recv", size)
            t.control("a Message without loss was delivered")
        elif number == 2:
            good = [c for c in t.completions if c.vi == setup.vi and c.queue == "recv" and c.good]
            t.require(not good, "FCVI-5.2.1-10", "a Message with a gap completed as good", "completed", "error or nothing")
            t.completions.clear()
        elif not t.pics["unreliable_error_state"]:
            good = [c for c in t.completions if c.vi == setup.vi and c.queue == "recv" and c.good]
            t.require(bool(good), "FCVI-B-R4a-c3", "the Message after the gap was not delivered", "nothing", "delivered")
