"""The calls of the upper interface that the DUT protocol names."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

from ..parameters import BadParams, Params, Refused, hex_bytes, natural, need, timeout
from .port import Port
from .setup import REJECT, Active, Address, Passive, Wait
from .vi import FLUSHED, LEVELS, STATE_NAMES, Attributes, Call, Descriptor, Memory, Vi

OF_LEVEL = {1: "unreliable_delivery", 2: "reliable_delivery", 3: "reliable_reception"}
LEVEL_NUMBERS = {name: number for number, name in LEVELS.items()}
Handler = Callable[[Params, Call], None]

CALLS = {
    "VipCreateVi": "_create_vi", "VipDestroyVi": "_destroy_vi", "VipQueryVi": "_query_vi",
    "VipConnectWait": "_connect_wait", "VipConnectAccept": "_connect_accept", "VipConnectReject": "_connect_reject",
    "VipConnectRequest": "_connect_request", "VipConnectPeerRequest": "_peer_request",
    "VipConnectPeerDone": "_peer_done", "VipConnectPeerWait": "_peer_wait", "VipDisconnect": "_disconnect",
    "VipRegisterMem": "_register_mem", "VipDeregisterMem": "_deregister_mem",
    "VipPostSend": "_post_send", "VipPostRecv": "_post_recv", "VipSendDone": "_send_done", "VipRecvDone": "_recv_done",
}


class Vipl:
    """The calls, over one port."""

    def __init__(self, port: Port) -> None:
        self.port = port
        self._next: Dict[str, int] = {}
        self.calls: Dict[str, Handler] = {name: getattr(self, method) for name, method in CALLS.items()}

    def _number(self, what: str, taken: Dict[int, Any]) -> int:
        if self.port.choose("handles") == "reused":
            return next(n for n in range(1, len(taken) + 2) if n not in taken)
        self._next[what] = self._next.get(what, 0) + 1
        return self._next[what]

    def _vi(self, params: Params) -> Vi:
        vi = self.port.vis.get(need(params, "vi", int))
        if vi is None:
            raise Refused("VIP_INVALID_PARAMETER")
        return vi

    def _address(self, params: Params, name: str) -> Address:
        value = need(params, name, dict)
        found = Address(hex_bytes(value, "host"), hex_bytes(value, "discriminator"))
        longest = 15 if self.port.bad("discriminator-of-15") else 64 if self.port.bad("discriminator-of-17") else 16
        if len(found.host) != 16 or len(found.discriminator) > longest:
            raise Refused(self.port.choose("long_discriminator"))
        if self.port.bad("empty-discriminator-refused") and not found.discriminator:
            raise Refused("VIP_INVALID_PARAMETER")
        return found

    def _create_vi(self, params: Params, call: Call) -> None:
        wanted = need(params, "ViAttribs", dict, {})
        level = LEVEL_NUMBERS.get(need(wanted, "ReliabilityLevel", str, LEVELS[1]))
        size = natural(wanted, "MaxTransferSize", self.port.choose.number("largest"))
        read = need(wanted, "EnableRdmaRead", bool, False)
        write = need(wanted, "EnableRdmaWrite", bool, False)
        lacks, largest = self.port.choose("lacks"), self.port.choose.number("largest")
        if level is None or lacks == OF_LEVEL[level]:
            raise Refused("VIP_INVALID_RELIABILITY_LEVEL")
        if not 0 < size <= largest:
            raise Refused("VIP_INVALID_MTU")
        if (write and lacks == "rdma_write") or (read and lacks == "rdma_read"):
            raise Refused("VIP_INVALID_RDMAREAD" if read else "VIP_INVALID_RDMAWRITE")
        if len(self.port.vis) >= self.port.choose.number("most_vis"):
            raise Refused("VIP_ERROR_RESOURCE")
        attributes = Attributes(level, size, write, read)
        vi = Vi(self.port, self._number("vi", self.port.vis), attributes)
        self.port.vis[vi.number] = vi
        self.port.listening = True
        call.reply("VIP_SUCCESS", vi=vi.number)
        if self.port.bad("connects-by-itself") and self.port.peer_hosts:
            self.port.open_stream(self.port.hosts[0], self.port.peer_hosts[0])

    def _destroy_vi(self, params: Params, call: Call) -> None:
        vi = self._vi(params)
        if vi.state != "idle" or vi.queues["send"] or vi.queues["recv"]:
            raise Refused("VIP_ERROR_NOT_IDLE" if vi.state == "idle" else "VIP_INVALID_STATE")
        del self.port.vis[vi.number]
        call.reply("VIP_SUCCESS")

    def _query_vi(self, params: Params, call: Call) -> None:
        vi = self._vi(params)
        call.reply("VIP_SUCCESS", state=vi.state, State=STATE_NAMES[vi.state], ViAttribs=vi.attributes,
                   ViSendQEmpty=not vi.queues["send"], ViRecvQEmpty=not vi.queues["recv"])

    def _own(self, params: Params) -> Address:
        local = self._address(params, "LocalAddr")
        if local.host not in self.port.hosts:
            raise Refused("VIP_INVALID_PARAMETER")
        return local

    def _connect_wait(self, params: Params, call: Call) -> None:
        local, limit = self._own(params), timeout(params)
        if limit == 0:
            raise Refused("VIP_TIMEOUT")
        if len(self.port.waits) >= self.port.choose.number("most_waits"):
            raise Refused("VIP_ERROR_RESOURCE")
        self.port.listening = True
        if self.port.bad("one-wait-only"):
            self.port.waits.clear()
        self.port.waits.append(Wait(self.port, local, limit, call))

    def _conn(self, params: Params) -> Tuple[int, Passive]:
        number = need(params, "conn", int)
        passive = self.port.conns.get(number)
        if passive is None:
            raise Refused("VIP_INVALID_PARAMETER")
        if self.port.bad("answers-the-oldest"):
            number = min(self.port.conns)
            passive = self.port.conns[number]
        return number, passive

    def _connect_accept(self, params: Params, call: Call) -> None:
        number, passive = self._conn(params)
        vi = self._vi(params)
        theirs = passive.theirs
        assert theirs is not None
        if vi.state != "idle" and not self.port.bad("any-state"):
            raise Refused("VIP_INVALID_STATE")
        if passive.over and self.port.choose("gone_in_pending") == "connects":
            del self.port.conns[number]
            call.reply("VIP_SUCCESS")
            vi.become("connected")
            vi.fail(None)
            return
        if passive.over:
            del self.port.conns[number]
            raise Refused("VIP_TIMEOUT")
        if not passive.agree(vi, theirs):
            if self.port.choose("mismatch") == "reject":
                del self.port.conns[number]
                passive.refuse(REJECT)
            raise Refused("VIP_INVALID_RELIABILITY_LEVEL")
        if theirs.mtu == 0 and self.port.choose("zero_mtu") != "accept":
            del self.port.conns[number]
            passive.refuse(REJECT) if self.port.choose("zero_mtu") == "reject" else passive.close()
            raise Refused("VIP_INVALID_MTU")
        del self.port.conns[number]
        delay = self.port.choose.number("accept_delay")
        if self.port.bad("accept-fails"):
            call.reply("VIP_SUCCESS")
        elif delay:
            vi.become("pending-connect")
            self.port.clock.after(delay, lambda: self._accept_later(passive, vi, call))
        else:
            passive.accept(vi)
            call.reply("VIP_SUCCESS")

    @staticmethod
    def _accept_later(passive: Passive, vi: Vi, call: Call) -> None:
        if passive.over or vi.state != "pending-connect":
            vi.become("idle")
            call.reply("VIP_TIMEOUT")
            return
        passive.accept(vi)
        call.reply("VIP_SUCCESS")

    def _connect_reject(self, params: Params, call: Call) -> None:
        number, passive = self._conn(params)
        del self.port.conns[number]
        if not passive.over and not self.port.bad("reject-not-sent"):
            passive.refuse(9 if self.port.bad("no-match-as-reject") else REJECT)
        elif not passive.over:
            passive.close()
        call.reply("VIP_SUCCESS")

    def _connect_request(self, params: Params, call: Call) -> None:
        vi, limit = self._vi(params), timeout(params)
        local, remote = self._own(params), self._address(params, "RemoteAddr")
        if limit == 0:
            raise Refused("VIP_INVALID_PARAMETER")
        if vi.state != "idle" and not self.port.bad("any-state"):
            raise Refused("VIP_INVALID_STATE")
        if vi.was_called and self.port.bad("role-sticks"):
            raise Refused("VIP_INVALID_STATE")
        Active(self.port, vi, local, remote, limit, call)

    def _peer_request(self, params: Params, call: Call) -> None:
        vi, limit = self._vi(params), timeout(params)
        local, remote = self._own(params), self._address(params, "RemoteAddr")
        if vi.state != "idle":
            raise Refused("VIP_INVALID_STATE")
        vi.peer = None
        call.reply("VIP_SUCCESS")
        Active(self.port, vi, local, remote, limit, None)

    def _peer_done(self, params: Params, call: Call) -> None:
        vi = self._vi(params)
        if vi.peer is None:
            raise Refused("VIP_NOT_DONE" if vi.attempt is not None else "VIP_INVALID_STATE")
        code, out = vi.peer
        vi.peer = None
        call.reply(code, **out)

    def _peer_wait(self, params: Params, call: Call) -> None:
        vi = self._vi(params)
        if vi.peer is not None or vi.attempt is None or self.port.bad("peer-wait-does-not-wait"):
            self._peer_done(params, call)
        else:
            vi.waiter = call

    def _disconnect(self, params: Params, call: Call) -> None:
        vi = self._vi(params)
        stream = None if vi.connection is None or self.port.bad("disconnect-leaves-tcp") else vi.connection.stream
        if vi.attempt is not None:
            vi.attempt.cancel("VIP_ERROR_CONN_LOST")
        elif vi.connection is not None:
            connection, vi.connection = vi.connection, None
            connection.disconnect()
        kept = {"disconnect-keeps-receives": "recv", "disconnect-keeps-sends": "send"}.get(self.port.faults.name or "")
        vi.flushes_later = 0
        vi.flush(*[queue for queue in ("send", "recv") if queue != kept])
        if not vi.sticks:
            vi.become("idle")
        if stream is None or not stream.is_open or self.port.choose("disconnect_returns") == "at-once":
            call.reply("VIP_SUCCESS")
        else:
            stream.on_closed = lambda: call.reply("VIP_SUCCESS")

    # Memory

    def _register_mem(self, params: Params, call: Call) -> None:
        length = natural(params, "length")
        fill = hex_bytes(params, "fill") if params.get("fill") is not None else b"\0"
        write, read = need(params, "rdma_write", bool, False), need(params, "rdma_read", bool, False)
        if not length or not fill:
            raise Refused("VIP_INVALID_PARAMETER")
        number = self._number("mem", self.port.memory)
        data = bytearray((fill * (length // len(fill) + 1))[:length])
        where, handle = {
            "plain": (number << 32 | 0x1000, 0xA000 + number), "low": (number * 0x4000000, number - 1),
            "narrow": (number * 0x800000 % (1 << 32), 0xA000 + number),
            "high": ((1 << 64) - (number + 1) * 0x4000000, 0xFFFFFFFF - number),
        }[self.port.choose("memory")]  # fmt: skip
        region = Memory(where, handle, data, write, read)
        self.port.memory[number] = region
        call.reply("VIP_SUCCESS", mem=number, va=f"{region.va:016x}", handle=region.handle)

    def _deregister_mem(self, params: Params, call: Call) -> None:
        number = need(params, "mem", int)
        if self.port.bad("handles-live-on"):
            call.reply("VIP_SUCCESS" if number in self.port.memory else "VIP_INVALID_PARAMETER")
            return
        if self.port.choose("held_memory") == "stays" and self._in_use(number):
            raise Refused("VIP_ERROR_RESOURCE")
        if self.port.memory.pop(number, None) is None:
            raise Refused("VIP_INVALID_PARAMETER")
        call.reply("VIP_SUCCESS")

    def _in_use(self, number: int) -> bool:
        """Whether a message under way has bytes there."""
        region, lines = self.port.memory.get(number), [vi.connection for vi in self.port.vis.values() if vi.connection]
        due = [one for line in lines for one in (line.current, line.response, *line.queue) if one is not None]
        sent = [d for vi in self.port.vis.values() for d in vi.open("send") if d.started]
        asked = [one.request.handle for one in due if one.request is not None]
        return region is not None and (region.handle in asked or any(mem == number for d in sent for mem, _, _ in d.segments))

    def _region(self, params: Params, length: int) -> Tuple[bytearray, int]:
        region = self.port.memory.get(need(params, "mem", int))
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
        found = Descriptor(need(given, "op", str), segments, immediate)
        remote = given.get("remote")
        if remote is not None:
            if not isinstance(remote, dict):
                raise BadParams("remote is an object")
            found.remote_va = int.from_bytes(hex_bytes(remote, "va"), "big")
            found.remote_handle = natural(remote, "handle")
        return found

    def _post_send(self, params: Params, call: Call) -> None:
        vi, descriptor = self._vi(params), self._descriptor(params)
        call.reply("VIP_SUCCESS")
        if self.port.bad("sends-on-the-first-vi"):
            vi = next((one for one in self.port.vis.values() if one.connection is not None), vi)
        if self.port.bad("rx-counts-sends") and vi.connection is not None:
            vi.connection.posted_receive()
        if self.port.bad("sends-flush-receives"):
            vi.flush("recv")
        vi.queues["send"].append(descriptor)
        if self.port.choose.yes("send_copies") and descriptor.op != "rdma-read" and not self.port.problem_with(vi, descriptor):
            descriptor.copy = self.port.gather(vi, descriptor, 0, descriptor.room())
        delay = self.port.choose.number("send_delay")
        if vi.connection is not None and delay:
            descriptor.rests = True
            self.port.clock.after(delay, lambda: self._take_up(vi, descriptor))
        elif vi.connection is not None:
            vi.connection.pump()
        elif vi.flushes_later or (vi.state == "error" and self.port.bad("keeps-in-error")):
            pass
        elif vi.state == "error" or self.port.bad("idle-send-succeeds"):
            vi.complete("send", descriptor, [] if self.port.bad("idle-send-succeeds") else [FLUSHED])
        elif self.port.bad("sends-in-pending") and vi.attempt is not None and vi.attempt.stream is not None:
            vi.attempt.stream.write(self.port.faults.plain_send())
        else:
            vi.complete("send", descriptor, [FLUSHED])

    @staticmethod
    def _take_up(vi: Vi, descriptor: Descriptor) -> None:
        descriptor.rests = False
        if vi.connection is not None:
            vi.connection.pump()

    def _post_recv(self, params: Params, call: Call) -> None:
        vi, descriptor = self._vi(params), self._descriptor(params)
        descriptor.immediate = None
        call.reply("VIP_SUCCESS")
        vi.queues["recv"].append(descriptor)
        empty = not descriptor.segments and self.port.bad("empty-receive-refused")
        if descriptor.op != "recv" or empty:
            vi.complete("recv", descriptor, ["VIP_STATUS_FORMAT_ERROR"])
        elif vi.state == "error" and not (vi.flushes_later or self.port.bad("keeps-in-error")):
            vi.complete("recv", descriptor, [FLUSHED])
        elif vi.connection is not None and self.port.choose.number("recv_delay"):
            descriptor.rests = True
            self.port.clock.after(self.port.choose.number("recv_delay"), lambda: self._take_up_receive(vi, descriptor))
        elif vi.connection is not None:
            vi.connection.posted_receive()

    @staticmethod
    def _take_up_receive(vi: Vi, descriptor: Descriptor) -> None:
        descriptor.rests = False
        if vi.connection is not None and descriptor.status is None:
            vi.connection.posted_receive()

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
