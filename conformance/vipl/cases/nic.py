"""Opening and closing, attributes of the NIC, its numbers and names, and the phases of conformance."""

from __future__ import annotations

from typing import Any

from fcvi.engine.upper_tester import RETURNS

from conformance.vipl.phases import CALLS, EARLY, FULL, FUNCTIONAL
from conformance.vipl.steps.declare import LEVELS, RD, RR, SHORT, UD, vipl
from conformance.vipl.steps.scenario import Calls
from conformance.vipl.steps.session import (
    BAD, OK, RESOURCE, Node, alive, best_level, connect, nodes, null, pair, stale, transfer,
)  # fmt: skip


@vipl("C1", "A device name that no device has", "G3.1.1-03", errata="A107")
def unknown_device(t: Calls) -> None:
    """VipOpenNic refuses a name that no device has; the empty name and NULL are recorded only."""
    end = t.ends[0]
    code = end.call("VipOpenNic", DeviceName="NO-SUCH-NIC-77").returned()
    t.codes("G3.1.1-03", "VipOpenNic of a name that no device has", code, BAD, {RESOURCE: "A107"})
    for name in ("", None):
        t.step(f"{name!r} gives {end.call('VipOpenNic', DeviceName=name).returned()}")
    alive(t)


@vipl("C2", "NIC handles that are NULL or closed", "G3.1.2-01 G3.2.1-02 G3.7.1-02 G3.7.6-04", errata="A51")
def nic_handles(t: Calls) -> None:
    """Every call that takes a NIC handle refuses NULL, and one that was closed; the same call with a good handle works."""
    one, other = nodes(t)
    again = Node(t, t.ends[0])
    mem = again.mem(64)
    extra = t.ends[0].call("VipOpenNic").integer("nic")
    t.require(t.ends[0].call("VipCloseNic", nic=extra).returned() == OK, "G3.1.2-01", "VipCloseNic", "an error", OK)
    calls: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("VipCloseNic", {}, "G3.1.2-01"), ("VipQueryNic", {}, "G3.7.1-02"),
        ("VipCreateVi", {"ViAttribs": {"ReliabilityLevel": best_level(one), "MaxTransferSize": 32768, "Ptag": again.ptag}},
         "G3.2.1-02"),
        ("VipCreatePtag", {}, "G3.1.2-01"), ("VipCreateCQ", {"EntryCount": 4}, "G3.1.2-01"),
        ("VipRegisterMem", {"length": 64, "MemAttribs": {"Ptag": again.ptag}}, "G3.1.2-01"),
        ("VipQueryMem", {"mem": mem.mem}, "G3.1.2-01"), ("VipErrorCallback", {}, "G3.1.2-01"),
        ("VipConnectWait", {"LocalAddr": one.address(), "Timeout": 10_000}, "G3.1.2-01"),
        ("VipQuerySystemManagementInfo", {"InfoType": "VIP_SMI_AUTODISCOVERY", "NumAdAddrs": 4}, "G3.7.6-04"),
    )  # fmt: skip
    for method, params, row in calls:
        if method in one.missing:
            continue
        null(one, row, "nic", method, **params)
        stale(t, row, method, one.code(method, **{**params, "nic": extra}))
    del other
    alive(t)


@vipl("A1", "Sizes, offsets and constants of the header",
      "G4.1-01 G4.1-02 G4.2-01 G4.3-01 G4.3-02 G4.4-03 G4.6-01 G4.8-01", errata="A01 A76 A77 A78")  # fmt: skip
def layout(t: Calls) -> None:
    """The agent, compiled with the vendor's vipl.h, tells the sizes, offsets and numbers; they are the Guide's."""
    told = t.ends[0].call("layout").result()
    sizes, members, constants = told.get("sizes", {}), told.get("members", {}), told.get("constants", {})
    missing = set(told.get("missing") or [])

    def number(row: str, name: str, wanted: int, other: dict[int, str] | None = None) -> None:
        if name in missing or name not in constants:
            t.step(f"{name} is not there")
            return
        seen = constants[name]
        if other and seen in other:
            t.report(row, f"{name} is {seen}", str(seen), str(wanted), erratum=other[seen])
            return
        t.require(seen == wanted, row, f"{name} is {seen}", seen, wanted)

    for name, wanted in (("VIP_UINT8", 1), ("VIP_UINT16", 2), ("VIP_UINT32", 4), ("VIP_UINT64", 8)):
        if name in sizes:
            t.require(sizes[name] == wanted, "G4.1-01", f"sizeof {name}", sizes[name], wanted)
    if "VIP_ULONG" in sizes:
        t.require(sizes["VIP_ULONG"] in (4, 8), "G4.1-01", "sizeof VIP_ULONG", sizes["VIP_ULONG"], "4 or 8")
    number("G4.1-02", "VIP_TRUE", 1)
    number("G4.1-02", "VIP_FALSE", 0)
    number("G4.1-02", "VIP_DESCRIPTOR_ALIGNMENT", 64)
    for value, name in enumerate(RETURNS):
        number("G4.2-01", name, value)
    for name, wanted in (("VIP_CONTROL_SEGMENT", 32), ("VIP_ADDRESS_SEGMENT", 16), ("VIP_DATA_SEGMENT", 16),
                         ("VIP_DESCRIPTOR", 64)):
        if name in sizes:
            t.require(sizes[name] == wanted, "G4.3-01", f"sizeof {name}", sizes[name], wanted)
    for name, offset in (("Next", 0), ("NextHandle", 8), ("SegCount", 12), ("Control", 14), ("Reserved", 16), ("ImmediateData", 20),
                         ("Length", 24), ("Status", 28)):  # fmt: skip
        at = members.get(f"VIP_CONTROL_SEGMENT.{name}")
        if at is not None:
            t.require(at[0] == offset, "G4.3-01", f"offset of VIP_CONTROL_SEGMENT.{name}", at[0], offset)
    for name, wanted in (
        ("VIP_CONTROL_OP_SENDRECV", 0), ("VIP_CONTROL_OP_RDMAWRITE", 1), ("VIP_CONTROL_OP_RDMAREAD", 2), ("VIP_CONTROL_OP_MASK", 3),
        ("VIP_CONTROL_IMMEDIATE", 4), ("VIP_CONTROL_QFENCE", 8), ("VIP_STATUS_DONE", 1), ("VIP_STATUS_FORMAT_ERROR", 2),
        ("VIP_STATUS_PROTECTION_ERROR", 4), ("VIP_STATUS_LENGTH_ERROR", 8), ("VIP_STATUS_PARTIAL_ERROR", 16),
        ("VIP_STATUS_DESC_FLUSHED_ERROR", 32), ("VIP_STATUS_TRANSPORT_ERROR", 64), ("VIP_STATUS_RDMA_PROT_ERROR", 128),
        ("VIP_STATUS_REMOTE_DESC_ERROR", 256), ("VIP_STATUS_IMMEDIATE", 1 << 19),
    ):  # fmt: skip
        number("G4.3-02", name, wanted)
    for value, name in enumerate(("NIC", "VI", "CQ", "DESCRIPTOR")):
        number("G4.4-03", f"VIP_RESOURCE_{name}", value)
    for value, name in enumerate((
        "POST_DESC", "CONN_LOST", "RECVQ_EMPTY", "VI_OVERRUN", "RDMAW_PROT", "RDMAW_DATA", "RDMAW_ABORT", "RDMAR_PROT", "COMP_PROT",
        "RDMA_TRANSPORT", "CATASTROPHIC",
    )):  # fmt: skip
        number("G4.4-03", f"VIP_ERROR_{name}", value)
    for bit, level in enumerate(LEVELS):
        number("G4.6-01", level, 1 << bit, {bit: "A01"} if bit != 1 << bit else None)
    for value, name in enumerate(("IDLE", "CONNECTED", "CONNECT_PENDING", "ERROR")):
        number("G4.8-01", f"VIP_STATE_{name}", value)
    alive(t)


@vipl("A2", "Return codes are those of the lists", "G4.2-02")
def listed_codes(t: Calls) -> None:
    """Every code of every call is one that is listed for it. The same is asked of each call of every other case."""
    one, other = nodes(t)
    p = pair(t, ends=(one, other))
    alive(t, p)
    for vi in (p.a, p.b):
        vi.done("Send"), vi.done("Recv"), vi.wait("Recv", 0)
        vi.clean()
        vi.destroy()
        vi.code("VipQueryVi")


@vipl("A3", "What VipQueryNic tells",
      "S2.3.2-08 S2.5-01 S2.5-03 S3.2.2.1-06 S3.4-04 S6.1.1.1-04 S6.1.1.2-03 G2.3-01 G3.3-03 G3.7.1-01 G4.5-01 G4.5-02 "
      "G4.5-05 G4.5-06", errata="A01 A22 A67")  # fmt: skip
def attributes(t: Calls) -> None:
    """The minima hold, what is told agrees with what creation does, and it is the same each time."""
    one, other = nodes(t)
    said = one.attribs
    for name in ("Name", "LocalNicAddress", "ReliabilityLevelSupport", "RDMAReadSupport", "MaxTransferSize", "MaxSegmentsPerDesc"):
        t.require(name in said, "G3.7.1-01", f"VipQueryNic tells no {name}", "nothing", name)
    length = one.number("NicAddressLen")
    t.require(length == len(one.host) // 2 and length > 0, "G4.5-02", "NicAddressLen", length, len(one.host) // 2)
    t.require(one.number("MaxTransferSize") >= 32768, "S6.1.1.2-03", "MaxTransferSize", said.get("MaxTransferSize"),
              "32768 at least")
    t.require(one.number("MaxSegmentsPerDesc") >= 252, "S6.1.1.1-04", "MaxSegmentsPerDesc", said.get("MaxSegmentsPerDesc"),
              "252 at least")  # fmt: skip
    t.require(one.number("MaxCQEntries") >= 1024 or one.number("MaxCQ") == 0, "S3.4-04", "MaxCQEntries", said.get("MaxCQEntries"),
              "1024 at least")  # fmt: skip
    most = one.number("MaxVI")
    t.require(one.number("MaxPtags") >= most, "S3.2.2.1-06", "MaxPtags", said.get("MaxPtags"), f"{most} at least")
    t.require(one.number("MaxDiscriminatorLen") >= 16, "G3.3-03", "MaxDiscriminatorLen", said.get("MaxDiscriminatorLen"),
              "16 at least")
    t.require(len(str(said.get("Name")).encode()) < 64, "G3.7.1-01", "Name", "64 bytes without a NUL", "a NUL among its 64 bytes")
    t.require(isinstance(said.get("ThreadSafe"), bool), "G2.3-01", "ThreadSafe", said.get("ThreadSafe"), "true or false")
    has = list(said.get("ReliabilityLevelSupport") or [])
    reads = list(said.get("RDMAReadSupport") or [])
    t.require(set(has) <= set(LEVELS), "G4.5-05", "levels that are none", has, LEVELS)
    t.require(UD in has, "S2.5-01", "Unreliable Delivery is not offered", has, UD, erratum="A22")
    t.require(RD in has or RR in has, "S2.5-03", "no higher level is offered", has, f"{RD} or {RR}")
    t.require(UD not in reads and set(reads) <= set(has), "S2.3.2-08", "RDMA Read at a level that has none", reads, has,
              erratum="A01")
    for level in LEVELS:
        made = one.call("VipCreateVi", ViAttribs={"ReliabilityLevel": level, "MaxTransferSize": 32768})
        if made.returned() == RESOURCE:
            t.lack("the provider has no room for another VI")
        wanted = OK if level in has else "VIP_INVALID_RELIABILITY_LEVEL"
        t.codes("G4.5-05", f"VipCreateVi of {SHORT[level]}, which VipQueryNic {'has' if level in has else 'lacks'}",
                made.returned(), wanted)
        if level not in (UD, *(() if level in has else (level,))):
            read = one.code("VipCreateVi", ViAttribs={"ReliabilityLevel": level, "MaxTransferSize": 32768, "EnableRdmaRead": True})
            if read == RESOURCE:
                t.lack("the provider has no room for another VI")
            t.codes("G4.5-06", f"VipCreateVi with RDMA Read at {SHORT[level]}", read,
                    OK if level in reads else "VIP_INVALID_RDMAREAD")
    again = Node(t, t.ends[0])
    static = {k: v for k, v in said.items() if k != "Name"}
    alive(t, pair(t, ends=(one, other)))
    for node in (one, again, one):
        now = {k: v for k, v in node.query().items() if k != "Name"}
        differs = [k for k in static if now.get(k) != static[k]]
        t.require(not differs, "G4.5-01", "attributes that have changed", differs, "none")


@vipl("A4", "Open several times, close with everything alive", "G3.1.1-01 G3.1.1-02 G3.1.2-01 G3.1.2-02", errata="A72")
def open_and_close(t: Calls) -> None:
    """Three opens of one NIC give three handles; closing one with all it holds loses nothing, and the others go on."""
    one, other = nodes(t)
    more = [Node(t, t.ends[0]) for _ in range(2)]
    values = [t.made[i].reply.result.get("value") for i in range(len(t.made)) if t.made[i].method == "VipOpenNic"
              and not t.made[i].params.get("end")]  # fmt: skip
    if t.ends[0].device != t.ends[1].device:
        t.require(len(set(values)) == len(values), "G3.1.1-02", "handles of three opens", values, "all different")
    level = best_level(one)
    p = pair(t, level, ends=(one, other))
    for round_ in range(25):
        node = Node(t, t.ends[0])
        vi = node.vi(level, recv_cq=node.cq(8) if "VipCreateCQ" not in node.missing else None)
        mem = node.mem(4096)
        vi.recv(mem.part())
        code = node.code("VipCloseNic", nic=node.nic)
        if not t.require(code == OK, "G3.1.2-02", f"VipCloseNic in round {round_}", code, OK):
            break
        if round_ == 0:
            stale(t, "G3.1.2-01", "VipQueryNic", node.code("VipQueryNic", nic=node.nic))
    transfer(p, 500, 3, row="G3.1.2-02")
    vi = more[0].vi(level)
    t.require(vi.state() == "VIP_STATE_IDLE", "G3.1.1-01", "a VI of another handle", vi.state(), "VIP_STATE_IDLE")
    other_vi = p.b.node.vi(level)
    connect(vi, other_vi, "00" * 8 + "11" * 8)
    alive(t)


@vipl("A5", "The names of devices", "G6.5-01")
def device_names(t: Calls) -> None:
    """VINIC, VINIC0 and VINIC1 are the recommended names; others are a notice."""
    for name in ("VINIC", "VINIC0"):
        opened = t.ends[0].call("VipOpenNic", DeviceName=name)
        t.require(opened.returned() == OK, "G6.5-01", f"VipOpenNic of {name}", opened.returned(), OK)
    alive(t)


@vipl("V1", "The phases of conformance", "S2.5-01 G2.2.1-01 G2.2.1-02 G2.2.2-01 G2.2.3-01", errata="A22 A23")
def phases(t: Calls) -> None:
    """The calls of the phase Early Adopter are there, with Reliable Delivery and RDMA Write; what the later ones lack is told."""
    one, other = nodes(t)
    missing = one.missing
    lacks = {name: [call for call in calls if call in missing] for name, calls in CALLS.items()}
    t.require(not lacks[EARLY], "G2.2.1-01", "calls that no phase does without", " ".join(lacks[EARLY]), "none")
    has = one.attribs.get("ReliabilityLevelSupport") or []
    t.require(RD in has, "G2.2.1-01", "Reliable Delivery is not offered", has, RD, erratum="A22")
    if lacks[FUNCTIONAL]:
        t.notice("G2.2.2-01", "calls of the phase Functional are not there", " ".join(lacks[FUNCTIONAL]), "none", erratum="A22")
    if lacks[FULL]:
        t.notice("G2.2.3-01", "calls of the phase Full are not there", " ".join(lacks[FULL]), "none", erratum="A22")
    if UD not in has:
        for row in ("S2.5-01", "G2.2.3-01"):
            t.notice(row, "Unreliable Delivery is not offered", str(has), UD, erratum="A22")
    level = best_level(one)
    without = "" if one.ptag is not None else " of a library that has no tags"
    made = one.call("VipCreateVi", ViAttribs={"ReliabilityLevel": level, "MaxTransferSize": 32768})
    t.codes("G2.2.1-02", f"VipCreateVi{without}", made.returned(), OK)
    region = one.call("VipRegisterMem", length=64, MemAttribs={"EnableRdmaWrite": True})
    t.codes("G2.2.1-02", f"VipRegisterMem{without}", region.returned(), OK)
    p = pair(t, level, ends=(one, other))
    p.src.fill(5, 0, 500)
    p.a.rdma("write", p.dst.remote(), p.src.part(0, 500))
    p.a.good("Send", "G2.2.1-01", "an RDMA Write")
    alive(t, p)
    if p.level != UD:
        transfer(p, 10, 6)
