"""The Name Service, and what other nodes there are."""

from __future__ import annotations

from typing import Any

from conformance.vipl.cases.connecting import ended
from conformance.vipl.steps.declare import vipl
from conformance.vipl.steps.scenario import Calls
from conformance.vipl.steps.session import BAD, OK, RESOURCE, Node, alive, best_level, nodes, null, request

NS = "VIP_ERROR_NAMESERVICE"
_FAR = 16  # links


def service(t: Calls, node: Node) -> None:
    """The Name Service initialised by default, or no verdict."""
    if "VipNSInit" in node.missing:
        t.lack("the provider has no Name Service")
    code = node.code("VipNSInit")
    if code != OK:
        t.require(False, "G3.9.1-01", "VipNSInit by default", code, OK)
        t.lack("the Name Service cannot be initialised by default")


def a_name(t: Calls, node: Node, of: Node) -> str:
    """A name that the Name Service knows: what it gives for the other node's address."""
    room = 256
    told = node.call("VipNSGetHostByAddr", Address={"host": of.host, "discriminator": ""}, NameLen=room)
    needed = told.result().get("NameLen") if told.returned() == BAD else None
    if isinstance(needed, int) and room < needed <= 4096:  # G 3.9.3 bounds no name, and tells the size
        told = node.call("VipNSGetHostByAddr", Address={"host": of.host, "discriminator": ""}, NameLen=needed)
    if told.returned() != OK:
        t.lack("no name of a node is known: VipNSGetHostByAddr gives none for its address")
    return str(told.result().get("Name"))


@vipl("C45", "VipNSInit and VipNSShutdown", "G3.9.1-01 G3.9.1-03 G3.9.1-04 G3.9.4-01", errata="A71")
def init(t: Calls) -> None:
    """Once by default; not twice; again after a shutdown; no shutdown without it; each NIC for itself. NULL is no NIC."""
    one, other = nodes(t)
    if "VipNSInit" in one.missing:
        t.lack("the provider has no Name Service")
    t.codes("G3.9.4-01", "VipNSShutdown without VipNSInit", one.code("VipNSShutdown"), NS)
    service(t, one)
    t.codes("G3.9.1-03", "VipNSInit twice", one.code("VipNSInit"), NS)
    t.codes("G3.9.4-01", "VipNSShutdown", one.code("VipNSShutdown"), OK)
    t.codes("G3.9.4-01", "VipNSShutdown twice", one.code("VipNSShutdown"), NS)
    t.codes("G3.9.1-03", "VipNSInit after a shutdown", one.code("VipNSInit"), OK)
    if not one.same_nic(other):
        code = other.code("VipNSInit")
        t.require(code != NS, "G3.9.1-03", "VipNSInit of a NIC, behind that of another NIC", code, OK)
        t.codes("G3.9.4-01", "VipNSShutdown", one.code("VipNSShutdown"), OK)
        if code == OK:
            t.codes("G3.9.4-01", "VipNSShutdown of a NIC, behind that of another NIC", other.code("VipNSShutdown"), OK)
    null(one, "G3.9.1-04", "nic", "VipNSInit")
    alive(t)


@vipl("C49", "A NIC that is closed without VipNSShutdown", "G3.1.2-02 G3.9.4-02")
def closed_without_shutdown(t: Calls) -> None:
    """Its resources go with it (G 3.1.2): the Name Service can be initialised again, perhaps behind a VipNSShutdown of what was
    left."""
    one = Node(t, t.ends[0])
    service(t, one)
    t.codes("G3.1.2-02", "VipCloseNic without VipNSShutdown", one.code("VipCloseNic"), OK)
    again = Node(t, t.ends[0])
    codes = [again.code("VipNSInit")]
    if codes == [NS]:
        codes += [again.code("VipNSShutdown"), again.code("VipNSInit")]
    t.require(codes in ([OK], [NS, OK, OK]), "G3.9.4-02", "VipNSInit of a NIC that was closed without VipNSShutdown", codes, OK)
    t.codes("G3.9.4-02", "VipNSShutdown", again.code("VipNSShutdown"), OK)
    alive(t)


@vipl("C46", "VipNSGetHostByName", "G3.9.2-01 G3.9.2-02 G3.9.2-03 G3.9.2-04 G3.9.2-05", errata="A113")
def by_name(t: Calls) -> None:
    """A name in any case gives the address that connects; unknown names, later indices and an absent service do not."""
    one, other = nodes(t)
    if "VipNSInit" in one.missing:
        t.lack("the provider has no Name Service")
    t.codes("G3.9.2-04", "VipNSGetHostByName before VipNSInit", one.code("VipNSGetHostByName", Name="anybody"), NS)
    service(t, one)
    name = a_name(t, one, other)
    seen = []
    for spelt in (name, name.lower(), name.upper()):
        told = one.call("VipNSGetHostByName", Name=spelt)
        t.codes("G3.9.2-02", f"VipNSGetHostByName of {spelt}", told.returned(), OK)
        seen.append((told.result().get("Address") or {}).get("host"))
    t.require(len(set(seen)) == 1, "G3.9.2-02", "addresses of one name in three spellings", seen, "the same")
    code, index = OK, 0
    found = []
    while code == OK and index < 64:
        told = one.call("VipNSGetHostByName", Name=name, NameIndex=index)
        code = told.returned()
        if code == OK:
            found.append((told.result().get("Address") or {}).get("host"))
        index += 1
    t.require(other.host in found, "G3.9.2-01", "the addresses of a name", found, f"{other.host} among them")
    t.codes("G3.9.2-03", f"VipNSGetHostByName with index {index - 1}", code, NS)
    t.require(len(set(found)) == len(found), "G3.9.2-03", "addresses of one name", found, "all different")
    t.codes("G3.9.2-04", "VipNSGetHostByName of an unknown name", one.code("VipNSGetHostByName", Name="nobody-at-all-77"), NS)
    exact = one.call("VipNSGetHostByName", Name=name, HostAddressLen=one.number("NicAddressLen"))
    t.codes("G3.9.2-05", "VipNSGetHostByName with room for NicAddressLen bytes", exact.returned(), OK)
    t.require(exact.result().get("guard") is not False, "G3.9.2-05", "bytes past the address", "written", "as before")
    short = one.call("VipNSGetHostByName", Name=name, HostAddressLen=0)  # a breach of the caller's: whatever comes of it is right
    t.step(f"room for 0 bytes gives {short.returned()}")
    vi, peer = one.vi(best_level(one)), other.vi(best_level(one))
    asking, conn = request(vi, other)
    other.code("VipConnectAccept", conn=conn, vi=peer.vi)
    t.codes("G3.9.2-01", "a connection by that address", ended(t, asking, "G3.9.2-01", t.async_us), OK)
    one.code("VipNSShutdown")
    t.codes("G3.9.2-04", "VipNSGetHostByName after VipNSShutdown", one.code("VipNSGetHostByName", Name=name), NS)
    alive(t)


@vipl("C47", "VipNSGetHostByAddr", "G3.9.3-01 G3.9.3-02 G3.9.3-03", errata="A35 A36")
def by_address(t: Calls) -> None:
    """An address gives its name; too small an array is refused and the size told works; an unknown address gives none."""
    one, other = nodes(t)
    service(t, one)
    name = a_name(t, one, other)
    there = {"host": other.host, "discriminator": ""}
    told = one.call("VipNSGetHostByAddr", Address=there, NameLen=len(name) + 1)
    t.codes("G3.9.3-01", "VipNSGetHostByAddr with just enough room", told.returned(), OK)
    length = told.result().get("NameLen")
    t.require(str(told.result().get("Name")).lower() == name.lower(), "G3.9.3-01", "the name", told.result().get("Name"), name)
    t.require(length == len(name), "G3.9.3-01", "NameLen, which does not count the NUL", length, len(name))
    t.require(told.result().get("terminated") is not False, "G3.9.3-01", "the name", "has no NUL", "NUL")
    for room in (0, 1, len(name)):
        small = one.call("VipNSGetHostByAddr", Address=there, NameLen=room)
        t.codes("G3.9.3-02", f"VipNSGetHostByAddr with room for {room}", small.returned(), BAD)
        t.require(small.result().get("guard") is not False, "G3.9.3-02", "bytes past the array", "written", "as before")
        size = small.result().get("NameLen")
        if size == len(name):
            t.report("G3.9.3-02", "the size needed", str(size), str(len(name) + 1), erratum="A36")
        elif isinstance(size, int):
            again = one.call("VipNSGetHostByAddr", Address=there, NameLen=min(size, 4096))
            t.codes("G3.9.3-02", f"VipNSGetHostByAddr with the {size} bytes that were told", again.returned(), OK)
    nobody = f"{int(other.host[:2], 16) ^ 0x5A:02x}{other.host[2:]}"
    code = one.code("VipNSGetHostByAddr", Address={"host": nobody, "discriminator": ""}, NameLen=256)
    t.codes("G3.9.3-03", "VipNSGetHostByAddr of an unknown address", code, NS)
    one.code("VipNSShutdown")
    t.codes("G3.9.3-03", "VipNSGetHostByAddr after VipNSShutdown", one.code("VipNSGetHostByAddr", Address=there, NameLen=256), NS)
    alive(t)


@vipl("C48", "VipQuerySystemManagementInfo", "G3.7.6-01 G3.7.6-02 G3.7.6-03 G3.7.6-04", errata="A37 A111")
def discovery(t: Calls) -> None:
    """The other node is listed; too short an array tells the number needed; discriminators that stand there are ignored.

    Two NICs of one agent are of one node, and no text says that a node lists itself (A111)."""
    one, other = nodes(t)
    call = "VipQuerySystemManagementInfo"
    if call in one.missing:
        t.lack(f"the provider has no {call}")
    near: dict[str, Any] = {"InfoType": "VIP_SMI_AUTODISCOVERY", "NumberOfHops": 1}
    far = {**near, "NumberOfHops": _FAR}  # a switch makes two links of one (G 3.7.6), and nobody says what is between the ends
    lists = []
    for auto in (near, far):
        told = one.call(call, **auto, NumAdAddrs=64)
        if told.returned() != OK:
            t.codes("G3.7.6-01", call, told.returned(), OK, {RESOURCE: "A37"})
            alive(t)
            return
        lists.append([a.get("host") for a in told.result().get("Addresses") or []])
    hosts = lists[-1]
    within = " ".join(map(str, hosts))
    t.require(set(lists[0]) <= set(hosts), "G3.7.6-01", "nodes that are directly connected", lists[0], f"some of {within}")
    if not one.same_nic(other):
        open_ = t.agents == 1 or t.pics.get("tcp") and not hosts
        t.require(other.host in hosts, "G3.7.6-01", f"nodes within {_FAR} links", hosts, other.host,
                  **({"erratum": "A111"} if open_ else {}))  # fmt: skip
    rubbish = one.call(call, **far, NumAdAddrs=64, DiscriminatorLen=200)
    t.codes("G3.7.6-03", f"{call} with rubbish as DiscriminatorLen", rubbish.returned(), OK)
    if hosts:
        short = one.call(call, **far, NumAdAddrs=len(hosts) - 1)
        t.codes("G3.7.6-02", f"{call} with one place too few", short.returned(), RESOURCE)
        needed = short.result().get("NumAdAddrs")
        t.require(needed == len(hosts), "G3.7.6-02", "the number needed", needed, len(hosts))
        t.require(short.result().get("guard") is not False, "G3.7.6-02", "bytes past the array", "written", "as before")
        again = one.call(call, **far, NumAdAddrs=len(hosts))
        t.codes("G3.7.6-02", f"{call} with the number told", again.returned(), OK)
    null(one, "G3.7.6-04", "nic", call, **far, NumAdAddrs=4)
    t.step(f"an unknown InfoType gives {one.code(call, InfoType=4711, NumAdAddrs=4)}")
    alive(t)
