"""The calls of the upper interface that the DUT protocol names."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

from .message import Memory
from .parameters import BadParams, Params, Refused, hex_bytes, natural, need, timeout
from .port import Port
from .setup import REJECT, ClientSetup, ServerSetup
from .vi import STATE_NAMES, Call, Descriptor, Vi
from .wire import Attributes, NetAddress

MAX_TRANSFER = 65536
LEVELS = {
    "VIP_SERVICE_UNRELIABLE": 1,
    "VIP_SERVICE_RELIABLE_DELIVERY": 2,
    "VIP_SERVICE_RELIABLE_RECEPTION": 3,
}
Handler = Callable[[Params, Call], None]


CALLS = {
    "VipCreateVi": "_create_vi", "VipDestroyVi": "_destroy_vi", "VipQueryVi": "_query_vi",
    "VipConnectWait": "_connect_wait", "VipConnectAccept": "_connect_accept",
    "VipConnectReject": "_connect_reject", "VipConnectRequest": "_connect_request",
    "VipDisconnect": "_disconnect",
    "VipRegisterMem": "_register_mem", "VipDeregisterMem": "_deregister_mem",
    "VipPostSend": "_post_send", "VipPostRecv": "_post_recv",
    "VipSendDone": "_send_done", "VipRecvDone": "_recv_done",
}


def address(params: Params, name: str) -> NetAddress:
    """A VIP_NET_ADDRESS; Discriminators have 16 to 128 bytes."""
    value = need(params, name, dict)
    found = NetAddress(hex_bytes(value, "host"), hex_bytes(value, "discriminator"))
    if len(found.host) != 16 or not 16 <= len(found.discriminator) <= 128:
        raise Refused("VIP_INVALID_PARAMETER")
    return found


class Vipl:
    """The calls, over one port."""

    shortest_discriminator = 16
    table = CALLS

    def __init__(self, port: Port) -> None:
        self.port = port
        self._next: Dict[str, int] = {}
        self.calls: Dict[str, Handler] = {name: getattr(self, method) for name, method in self.table.items()}

    def _number(self, what: str) -> int:
        self._next[what] = self._next.get(what, 0) + 1
        return self._next[what]

    def _vi(self, params: Params) -> Vi:
        vi = self.port.vis.get(need(params, "vi", int))
        if vi is None:
            raise Refused("VIP_INVALID_PARAMETER")
        return vi

    def _create_vi(self, params: Params, call: Call) -> None:
        wanted = need(params, "ViAttribs", dict)
        level = LEVELS.get(need(wanted, "ReliabilityLevel", str, "VIP_SERVICE_UNRELIABLE"))
        size = natural(wanted, "MaxTransferSize", MAX_TRANSFER)
        qos = need(wanted, "QoS", dict, {})
        prefer = need(qos, "Preference", bool, False)
        if level != 1 and not self.port.bad("accepts-any-level"):
            raise Refused("VIP_INVALID_RELIABILITY_LEVEL")
        if not 0 < size <= MAX_TRANSFER:
            raise Refused("VIP_INVALID_MTU")
        if prefer and self.port.choose("pref") == "no":
            raise Refused("VIP_INVALID_QOS")
        if need(wanted, "EnableRdmaRead", bool, False):
            raise Refused("VIP_INVALID_RDMAREAD")
        if len(self.port.vis) >= self.port.choose.number("vis"):
            raise Refused("VIP_ERROR_RESOURCE")
        prefer = prefer or self.port.choose("pref") == "always"
        attributes = Attributes(level or 1, size, need(wanted, "EnableRdmaWrite", bool, False), False, prefer,
                                natural(qos, "PipelineDepth", 0))
        vi = Vi(self.port, self._number("vi"), attributes)
        self.port.vis[vi.number] = vi
        call.reply("VIP_SUCCESS", vi=vi.number)

    def _destroy_vi(self, params: Params, call: Call) -> None:
        vi = self._vi(params)
        if vi.state != "idle" or vi.queues["send"] or vi.queues["recv"]:
            raise Refused("VIP_INVALID_STATE")
        del self.port.vis[vi.number]
        call.reply("VIP_SUCCESS")

    def _query_vi(self, params: Params, call: Call) -> None:
        vi = self._vi(params)
        more = {"state": vi.state} if self.port.choose.yes("query_state") else {}
        call.reply("VIP_SUCCESS", State=STATE_NAMES[vi.state], ViAttribs=vi.attributes,
                   ViSendQEmpty=not vi.queues["send"], ViRecvQEmpty=not vi.queues["recv"], **more)

    def _own(self, params: Params) -> NetAddress:
        local = address(params, "LocalAddr")
        if local.host not in self.port.hosts:
            raise Refused("VIP_INVALID_PARAMETER")
        return local

    def _connect_wait(self, params: Params, call: Call) -> None:
        local, limit = self._own(params), timeout(params)
        if limit == 0:
            raise Refused("VIP_TIMEOUT")
        self.port.setups.wait(local, limit, call)

    def _conn(self, params: Params) -> Tuple[int, ServerSetup]:
        number = need(params, "conn", int)
        setup = self.port.setups.conns.get(number)
        if setup is None:
            raise Refused("VIP_INVALID_PARAMETER")
        return number, setup

    def _connect_accept(self, params: Params, call: Call) -> None:
        number, setup = self._conn(params)
        vi = self._vi(params)
        if vi.state != "idle":
            raise Refused("VIP_INVALID_STATE")
        problem = self.port.setups.accept_error(setup, vi)
        if problem and not (problem.startswith("VIP_INVALID") and self.port.bad("accepts-any-level")):
            if problem == "VIP_TIMEOUT":
                del self.port.setups.conns[number]
            raise Refused(problem)
        del self.port.setups.conns[number]
        setup.accept(vi, call)

    def _connect_reject(self, params: Params, call: Call) -> None:
        number, setup = self._conn(params)
        del self.port.setups.conns[number]
        setup.refuse(1 if self.port.bad("reject-as-no-match") else REJECT)
        call.reply("VIP_SUCCESS")

    def _connect_request(self, params: Params, call: Call) -> None:
        vi, limit = self._vi(params), timeout(params)
        local, remote = self._own(params), address(params, "RemoteAddr")
        if limit == 0:
            raise Refused("VIP_INVALID_PARAMETER")
        if vi.state != "idle":
            raise Refused("VIP_INVALID_STATE")
        if remote.host not in self.port.peer_hosts:
            raise Refused("VIP_NOT_REACHABLE")
        ClientSetup(self.port, vi, call, local, remote).start(limit)

    def _disconnect(self, params: Params, call: Call) -> None:
        self.port.disconnects.request(self._vi(params), call)

    # Memory

    def _register_mem(self, params: Params, call: Call) -> None:
        length = natural(params, "length")
        fill = hex_bytes(params, "fill") if params.get("fill") is not None else b"\0"
        need(params, "rdma_write", bool, False), need(params, "rdma_read", bool, False)
        if not length or not fill:
            raise Refused("VIP_INVALID_PARAMETER")
        number = self._number("mem")
        data = bytearray((fill * (length // len(fill) + 1))[:length])
        region = Memory(number << 32 | 0x1000, 0xA000 + number, data)
        self.port.messages.memory[number] = region
        call.reply("VIP_SUCCESS", mem=number, va=f"{region.va:016x}", handle=region.handle)

    def _deregister_mem(self, params: Params, call: Call) -> None:
        if self.port.messages.memory.pop(need(params, "mem", int), None) is None:
            raise Refused("VIP_INVALID_PARAMETER")
        call.reply("VIP_SUCCESS")

    def _region(self, params: Params, length: int) -> Tuple[bytearray, int]:
        region = self.port.messages.memory.get(need(params, "mem", int))
        offset = natural(params, "offset", 0)
        if region is None or length > 30000 or offset + length > len(region.data):
            raise BadParams("the range lies outside the region")
        return region.data, offset

    def mem_read(self, params: Params) -> Dict[str, Any]:
        """mem.read"""
        length = natural(params, "length")
        data, offset = self._region(params, length)
        return {"hex": data[offset:offset + length].hex()}

    def mem_write(self, params: Params) -> Dict[str, Any]:
        """mem.write"""
        new = hex_bytes(params, "hex")
        data, offset = self._region(params, len(new))
        data[offset:offset + len(new)] = new
        return {}

    # Data transfer

    def _descriptor(self, params: Params) -> Descriptor:
        given = need(params, "descriptor", dict)
        segments: List[Tuple[int, int, int]] = []
        for segment in need(given, "segments", list, []):
            if not isinstance(segment, dict):
                raise BadParams("a segment is an object")
            offset, length = natural(segment, "offset", 0), natural(segment, "length")
            segments.append((need(segment, "mem", int), offset, length))
        immediate = None if given.get("immediate") is None else natural(given, "immediate") & 0xFFFFFFFF
        return Descriptor(need(given, "op", str), segments, immediate)

    def _post_send(self, params: Params, call: Call) -> None:
        vi, descriptor = self._vi(params), self._descriptor(params)
        call.reply("VIP_SUCCESS")
        self.port.messages.post_send(vi, descriptor)

    def _post_recv(self, params: Params, call: Call) -> None:
        vi, descriptor = self._vi(params), self._descriptor(params)
        descriptor.immediate = None
        call.reply("VIP_SUCCESS")
        vi.queues["recv"].append(descriptor)
        if descriptor.op != "recv":
            vi.complete("recv", descriptor, ["VIP_STATUS_FORMAT_ERROR"])
        elif vi.state == "error":
            vi.complete("recv", descriptor, ["VIP_STATUS_DESC_FLUSHED_ERROR"])

    def _send_done(self, params: Params, call: Call) -> None:
        self._done("send", params, call)

    def _recv_done(self, params: Params, call: Call) -> None:
        self._done("recv", params, call)

    def _done(self, queue: str, params: Params, call: Call) -> None:
        waiting = self._vi(params).queues[queue]
        if not waiting:
            call.reply("VIP_DESCRIPTOR_ERROR", DescriptorPtr=None)
        elif waiting[0].status is None:
            call.reply("VIP_NOT_DONE")
        else:
            head = waiting.pop(0)
            failed = any(name.endswith("_ERROR") for name in head.status or [])
            call.reply("VIP_DESCRIPTOR_ERROR" if failed else "VIP_SUCCESS", DescriptorPtr=head.report())
