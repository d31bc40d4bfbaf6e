"""The calls of the upper interface, for Rev 1.0."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

from ..chosen import Choices
from ..vi import Call, Descriptor
from ..parameters import BadParams, Params, Refused, hex_bytes, natural, need, timeout
from ..vipl import CALLS, MAX_TRANSFER, Vipl
from .memory import Region
from .setup import ClientSetup
from .vi import Rev1Descriptor, Rev1Vi
from .wire import LEVEL_NAMES, REJECT, Attributes, NetAddress

_PAGE = 4096
LEVELS = {name: level for level, name in LEVEL_NAMES.items()}


def rev1_pics(choose: Choices) -> Dict[str, Any]:
    """What the endpoint claims (section 8 of the DUT protocol)."""
    yes = ("client", "server", "peer_to_peer", "unreliable_delivery", "reliable_delivery", "send", "rdma_write", "immediate_data",
           "class2", "class3", "preference", "explicit_login", "farp", "name_server")
    no = ("loopback", "out_of_order_fabric", "loop", "connect_info", "retry_waits_for_ba_acc", "disconnect_retry",
          "unreliable_error_state")
    chosen = {name: choose.yes(name) for name in ("reliable_reception", "rdma_read")}
    return {**dict.fromkeys(yes, True), **dict.fromkeys(no, False), **chosen, "pipeline_depth": 16,
            "max_transfer_size": MAX_TRANSFER, "max_vis": choose.number("vis")}


class Rev1Vipl(Vipl):
    """The calls, over one port of Rev 1.0."""

    table = {**CALLS, "VipConnectPeerRequest": "_peer_request", "VipConnectPeerDone": "_peer_done",
             "VipConnectPeerWait": "_peer_wait"}
    port: Any

    def _create_vi(self, params: Params, call: Call) -> None:
        wanted, choose = need(params, "ViAttribs", dict), self.port.choose
        level = LEVELS.get(need(wanted, "ReliabilityLevel", str, "VIP_SERVICE_UNRELIABLE"), 0)
        size, qos = natural(wanted, "MaxTransferSize", MAX_TRANSFER), need(wanted, "QoS", dict, {})
        prefer, read = need(qos, "Preference", bool, False), need(wanted, "EnableRdmaRead", bool, False)
        write = need(wanted, "EnableRdmaWrite", bool, False)
        if not level or (level == 4 and not choose.yes("reliable_reception")):
            raise Refused("VIP_INVALID_RELIABILITY_LEVEL")
        if not 0 < size <= MAX_TRANSFER:
            raise Refused("VIP_INVALID_MTU")
        if read and (level == 1 or not choose.yes("rdma_read")):
            raise Refused("VIP_INVALID_RDMAREAD")
        if len(self.port.vis) >= choose.number("vis"):
            raise Refused("VIP_ERROR_RESOURCE")
        natural(qos, "PipelineDepth", 0)
        vi = Rev1Vi(self.port, self._number("vi"), Attributes(level, size, write, read, prefer))
        self.port.vis[vi.number] = vi
        call.reply("VIP_SUCCESS", vi=vi.number)

    # Connections

    def _address(self, params: Params, name: str) -> NetAddress:
        value = need(params, name, dict)
        rest = b"\xa5" if self.port.choose("discriminator_rest") == "rubbish" else b"\0"
        found = NetAddress(hex_bytes(value, "host"), hex_bytes(value, "discriminator"), rest)
        shortest = 0 if self.port.choose("short_discriminator") == "accept" else 16
        if len(found.host) != 16 or not shortest <= len(found.discriminator) <= 128:
            raise Refused("VIP_INVALID_PARAMETER")
        return found

    def _own(self, params: Params) -> Any:
        local = self._address(params, "LocalAddr")
        if local.host not in self.port.hosts:
            raise Refused("VIP_INVALID_PARAMETER")
        return local

    def _conn(self, params: Params) -> Any:
        return super()._conn(params)

    def _connect_accept(self, params: Params, call: Call) -> None:
        number, (setup, waiter) = self._conn(params)
        vi = self._vi(params)
        if vi.state != "idle":
            raise Refused("VIP_INVALID_STATE")
        problem = self.port.setups.accept_error(setup, vi)
        if problem:
            if problem == "VIP_TIMEOUT" or self.port.choose("accept_mismatch") == "reject":
                del self.port.setups.conns[number]
            raise Refused(problem)
        del self.port.setups.conns[number]
        setup.accept(vi, call, waiter.local, setup.payload.local)

    def _connect_reject(self, params: Params, call: Call) -> None:
        number, (setup, _) = self._conn(params)
        del self.port.setups.conns[number]
        setup.refuse(2 if self.port.bad("reject-as-no-match") else REJECT)
        call.reply("VIP_SUCCESS")

    def _request_of(self, params: Params) -> Tuple[Rev1Vi, NetAddress, NetAddress, Any]:
        vi, limit = self._vi(params), timeout(params)
        assert isinstance(vi, Rev1Vi)
        local, remote = self._own(params), self._address(params, "RemoteAddr")
        if limit == 0:
            raise Refused("VIP_INVALID_PARAMETER")
        if vi.state == "error" and self.port.bad("error-heals"):
            vi.release()
        if vi.state != "idle":
            raise Refused("VIP_INVALID_STATE")
        return vi, local, remote, limit

    def _connect_request(self, params: Params, call: Call) -> None:
        vi, local, remote, limit = self._request_of(params)
        ClientSetup(self.port, vi, call, local, remote).start(limit)

    def _peer_request(self, params: Params, call: Call) -> None:
        vi, local, remote, limit = self._request_of(params)
        call.reply("VIP_SUCCESS")
        self.port.setups.peers.start(vi, local, remote, limit)

    def _peer_done(self, params: Params, call: Call) -> None:
        vi: Any = self._vi(params)
        if vi.peer is None:
            raise Refused("VIP_INVALID_STATE")
        if vi.peer.result is None:
            raise Refused("VIP_NOT_DONE")
        peer, vi.peer = vi.peer, None
        peer.tell(call)

    def _peer_wait(self, params: Params, call: Call) -> None:
        vi: Any = self._vi(params)
        if vi.peer is not None and vi.peer.result is None:
            vi.peer.calls.append(call)
        else:
            self._peer_done(params, call)

    # Memory and data

    def _register_mem(self, params: Params, call: Call) -> None:
        length = natural(params, "length")
        fill = hex_bytes(params, "fill") if params.get("fill") is not None else b"\0"
        write, read = need(params, "rdma_write", bool, False), need(params, "rdma_read", bool, False)
        if not length or not fill:
            raise Refused("VIP_INVALID_PARAMETER")
        if read and not self.port.choose.yes("rdma_read"):
            raise Refused("VIP_INVALID_RDMAREAD")
        number = self._number("mem")
        data = bytearray((fill * (length // len(fill) + 1))[:length])
        behind = -length % _PAGE if self.port.choose.yes("pages") else 0
        va = number << 32 | 0x1000 if self.port.address_bits == 64 else number * 0x800000
        region = Region(va, 0xA000 + number, data + bytes(behind), write, read, behind)
        self.port.receiver.memory[number] = region
        call.reply("VIP_SUCCESS", mem=number, va=f"{region.va:016x}", handle=region.handle)

    def _descriptor(self, params: Params) -> Descriptor:
        plain, given = super()._descriptor(params), need(params, "descriptor", dict)
        remote = None
        if given.get("remote") is not None:
            where = need(given, "remote", dict)
            va = hex_bytes(where, "va")
            if len(va) != 8:
                raise BadParams("va has 16 digits")
            remote = int.from_bytes(va, "big"), natural(where, "handle")
        segments: List[Tuple[int, int, int]] = plain.segments
        return Rev1Descriptor(plain.op, segments, plain.immediate, remote=remote)

    def _post_send(self, params: Params, call: Call) -> None:
        vi, descriptor = self._vi(params), self._descriptor(params)
        call.reply("VIP_SUCCESS")
        self.port.sender.post(vi, descriptor)
