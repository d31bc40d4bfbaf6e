"""A standard of four requirements on a provider of VIPL: what the path of ``--dut api`` is tried with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fcvi.engine.case import Registry, Variant, case
from fcvi.engine.calls_scenario import CallScenario, End, configuration
from fcvi.engine.protocol import Protocol

REGISTRY = Registry("Calls")
LEVELS = ("VIP_SERVICE_UNRELIABLE", "VIP_SERVICE_RELIABLE_DELIVERY", "VIP_SERVICE_RELIABLE_RECEPTION")
_DISCRIMINATOR = b"a call and a call".hex()


def opened(end: End) -> dict[str, Any]:
    """Open the NIC of an end, with a tag and an error handler; its attributes."""
    for method in ("VipOpenNic", "VipCreatePtag", "VipErrorCallback"):
        assert end.call(method).returned() == "VIP_SUCCESS", method
    return end.call("VipQueryNic").table("NicAttribs")


@case(REGISTRY, "Calls.1", "A Send and its completion queue", clause="1",
      requirements=["CALLS-1-01", "CALLS-1-02"], applies="send",
      variants=[Variant(level[12:].lower(), {"level": level}) for level in LEVELS])  # fmt: skip
def send(t: CallScenario) -> None:
    """A Send between the two ends arrives; the receive queue has a Completion Queue, which a handler is told of once."""
    client, server = t.ends
    at = [opened(end)["LocalNicAddress"] for end in (client, server)]
    attributes = {"ReliabilityLevel": t.params["level"], "MaxTransferSize": 32768}
    cq = server.call("VipCreateCQ", EntryCount=8).integer("cq")
    vi = client.call("VipCreateVi", ViAttribs=attributes).integer("vi")
    peer = server.call("VipCreateVi", ViAttribs=attributes, RecvCQHandle=cq).integer("vi")
    source = client.call("VipRegisterMem", length=1000).integer("mem")
    sink = server.call("VipRegisterMem", length=1000, fill="00").integer("mem")
    client.call("mem.pattern", mem=source, offset=0, length=1000, seed=7)
    server.call("VipPostRecv", vi=peer, descriptor={"op": "recv", "segments": [{"mem": sink, "length": 1000}]})
    there = {"host": at[1], "discriminator": _DISCRIMINATOR}
    waiting = server.start("VipConnectWait", LocalAddr=there, Timeout=10_000_000)
    asking = client.start("VipConnectRequest", vi=vi, LocalAddr={**there, "host": at[0]}, RemoteAddr=there, Timeout=10_000_000)
    while t.until(lambda: waiting.done or asking.done, 10_000_000) and not waiting.done and asking.returned() == "VIP_NO_MATCH":
        t.wait(20_000)  # the thread that waits may come later than the one that asks
        asking = client.start("VipConnectRequest", vi=vi, LocalAddr={**there, "host": at[0]}, RemoteAddr=there, Timeout=10_000_000)
    t.finish(waiting, "CALLS-1-01", returns="VIP_SUCCESS")
    server.call("VipConnectAccept", conn=waiting.integer("conn"), vi=peer)
    t.finish(asking, "CALLS-1-01", returns="VIP_SUCCESS")
    server.call("VipCQNotify", cq=cq, Context=5, then={"method": "VipRecvDone", "params": {"vi": peer}})
    client.call("VipPostSend", vi=vi, descriptor={"op": "send", "segments": [{"mem": source, "length": 1000}], "immediate": 3})
    taken = client.call("VipSendWait", vi=vi, Timeout=5_000_000)
    t.require(taken.returned() == "VIP_SUCCESS", "CALLS-1-01", "the Send", taken.returned(), "VIP_SUCCESS")
    t.until(lambda: bool(t.notifies), 1_000_000)
    t.wait(20_000)
    t.require(len(t.notifies) == 1, "CALLS-1-02", "handlers called", len(t.notifies), 1)
    if t.notifies:
        done = (t.notifies[0].get("result") or {}).get("DescriptorPtr") or {}
        t.require((done.get("length"), done.get("immediate")) == (1000, 3), "CALLS-1-01", "the receive", done, "1000 bytes and 3")
    wrong = server.call("mem.pattern", mem=sink, offset=0, length=1000, seed=7, check=True).integer("wrong")
    t.require(wrong == 0, "CALLS-1-01", "bytes that differ", wrong, 0)
    t.require(not t.handled, "CALLS-1-01", "errors", t.errors, "none")
    t.control("both ends were told of it")


@case(REGISTRY, "Calls.2", "Handles", clause="2", requirements=["CALLS-2-01"], applies="send")
def handles(t: CallScenario) -> None:
    """The provider itself is asked about NULL and destroyed handles."""
    end = t.ends[0]
    opened(end)
    vi = end.call("VipCreateVi", ViAttribs={}).integer("vi")
    t.require(end.call("VipQueryVi", vi=vi).returned() == "VIP_SUCCESS", "CALLS-2-01", "a good handle", "an error", "VIP_SUCCESS")
    end.call("VipDestroyVi", vi=vi)
    for bad in (None, vi):
        said = end.call("VipQueryVi", vi=bad).returned()
        t.require(said == "VIP_INVALID_PARAMETER", "CALLS-2-01", f"VipQueryVi of {bad}", said, "VIP_INVALID_PARAMETER")
    t.control("a good handle was taken")


PROTOCOL = Protocol(
    name="Calls",
    standard="Calls alone, an example",
    prefix="CALLS-",
    erratum="Y",
    folder=Path(__file__).resolve().parent,
    cases=REGISTRY.cases,
    scenario=CallScenario,
    configuration=configuration,
    attachments=("api",),
)
