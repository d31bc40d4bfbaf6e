"""The reference port as a DUT: the server side of the DUT protocol without a transport."""

from __future__ import annotations

import functools
from typing import Any, Callable, Optional

from _fcvi import ffi, lib

from fcvi import __version__
from fcvi.fc.build import RawFrame
from fcvi.fc.delimiters import EOF_BY_NAME as _EOF, SOF_BY_NAME as _SOF
from fcvi.fc.notation import to_params
from fcvi.engine.params import Params, ProtocolError
from .refport import EVENT, LIMITS, NEVER, QUIET, RELIABILITY, RefPort, status_names

_RELIABILITY_NAME = {code: name for name, code in RELIABILITY.items()}
_VIPL_STATE = ("IDLE", "CONNECT_PENDING", "CONNECT_PENDING", "CONNECTED", "ERROR")
_PENDING = 100  # FCVI_VIP_PENDING
_MOST_BYTES = 30_000  # of mem.read and mem.write
_FRAME_TURN = 20_000  # frames between two looks at the clock: loops of frames to oneself end

#: What this port is and does, for ``hello``.
PICS: dict[str, Any] = {
    "client": True,
    "server": True,
    "peer_to_peer": True,
    "loopback": True,
    "unreliable_delivery": True,
    "reliable_delivery": True,
    "reliable_reception": True,
    "send": True,
    "rdma_write": True,
    "rdma_read": True,
    "immediate_data": True,
    "class2": True,
    "class3": True,
    "out_of_order_fabric": True,
    "preference": True,
    "connect_info": False,
    "explicit_login": True,
    "farp": True,
    "name_server": True,
    "loop": True,
    "retry_waits_for_ba_acc": True,
    "disconnect_retry": False,
    "unreliable_error_state": False,
    "pipeline_depth": 2**32 - 1,
    "max_transfer_size": LIMITS["max_transfer_size"],
    "max_vis": LIMITS["vis"],
    "max_discriminator_len": 128,
    "revision": "2007",
}

#: The same of Rev 1.0, which has neither a second attempt nor a pipeline depth.
PICS_REV1: dict[str, Any] = {**PICS, "retry_waits_for_ba_acc": False, "pipeline_depth": 0, "revision": "rev1"}

Emit = Callable[[str, dict[str, Any]], None]
Answer = Callable[[int, Optional[dict[str, Any]], Optional[tuple[int, str]]], None]


@functools.cache
def _vip_name(code: int) -> str:
    return str(ffi.string(lib.fcvi_vip_name(code)), "ascii")


@functools.cache
def _error_name(code: int) -> str:
    return str(ffi.string(lib.fcvi_vip_error_name(code)), "ascii")


@functools.cache
def _state_name(state: int) -> str:
    return str(ffi.string(lib.fcvi_vi_state_name(state)), "ascii")


class RefServer:
    """Serves one reference port.

    emit(method, params) is called for each notification, answer(token, result, error) for each request, in the order
    in which things happened; on_frame, where given, for each frame instead of emit. The clock is virtual; a host with a
    real one calls ``run_until``.

    edition: the one that ``hello`` names and that holds where ``reset`` names none; the port takes either.
    """

    _shortest, _longest = 16, 128  # bytes of a Discriminator (7.2)

    def __init__(
        self, emit: Emit, answer: Answer, clock: str = "virtual", on_frame: Optional[Callable[[RawFrame], None]] = None,
        edition: str = "2007",
    ) -> None:  # fmt: skip
        self._emit, self._answer, self._clock = emit, answer, clock
        self._edition = edition
        self._on_frame = on_frame or (lambda frame: emit("frame", to_params(frame)))
        self._port: Optional[RefPort] = None
        self._blocked: dict[int, str] = {}
        self._quiet = True  # nothing more comes out of the port until something happens to it, or its next timer fires
        self._due: Optional[int] = None  # when that is
        self.now_us = 0
        self._methods: dict[str, Callable[[int, Params], Any]] = {
            "VipCreateVi": self._create_vi,
            "VipDestroyVi": self._destroy_vi,
            "VipQueryVi": self._query_vi,
            "VipConnectWait": self._connect_wait,
            "VipConnectAccept": self._connect_accept,
            "VipConnectReject": self._connect_reject,
            "VipConnectRequest": self._connect_request,
            "VipConnectPeerRequest": self._connect_peer_request,
            "VipConnectPeerDone": self._connect_peer_done,
            "VipConnectPeerWait": self._connect_peer_wait,
            "VipDisconnect": self._disconnect,
            "VipRegisterMem": self._register_mem,
            "VipDeregisterMem": self._deregister_mem,
            "VipPostSend": self._post,
            "VipPostRecv": self._post,
            "VipSendDone": self._send_done,
            "VipRecvDone": self._recv_done,
            "mem.read": self._mem_read,
            "mem.write": self._mem_write,
            "clock.next": self._clock_next,
        }
        if clock == "virtual":
            self._methods["clock.advance"] = self._clock_advance

    @property
    def ready(self) -> bool:
        """Whether there has been a ``reset``."""
        return self._port is not None

    # ---- the protocol ----

    def request(self, token: int, method: str, raw: object) -> None:
        """A request; it is answered through ``answer``, now or when the call returns."""
        try:
            params = Params(raw)
            if method == "hello":
                self._answer(token, self._hello(params), None)
            elif method == "reset":
                self._reset(token, params)
            elif method not in self._methods:
                raise ProtocolError(-32601, f"method {method[:40]} is not implemented")
            elif self._port is None:
                raise ProtocolError(-32000, f"{method} before the first reset")
            else:
                self._quiet = False
                result = self._methods[method](token, params)
                if result is not None:
                    self._answer(token, result, None)
                self._flush()
        except ProtocolError as error:
            self._answer(token, None, (error.code, error.message))

    def notification(self, method: str, raw: object) -> None:
        """A notification; one that is wrong or comes before the first reset is ignored."""
        try:
            params = Params(raw)
            if self._port is None:
                return
            self._quiet = False
            if method == "frame":
                self._frame(self._port, params)
            elif method == "link":
                event = params.choice("event", ("lip", "nos", "lr", "logo"))
                lib.fcvi_port_link(self._port.port, self.now_us, ("lip", "nos", "lr", "logo").index(event))
            self._flush()
        except ProtocolError as error:
            self._emit("log", {"text": f"{method} ignored: {error.message}"})

    def frame(self, frame: RawFrame) -> None:
        """A frame arrives: what the notification "frame" says, in fewer words."""
        if self._port is not None:
            self._quiet = False
            self._port.receive(self.now_us, frame.data, frame.sof, frame.eof, frame.crc_ok)
            self._flush()

    def run_until(self, now_us: int) -> Optional[int]:
        """Let time pass, timer by timer, so that what each causes goes out before the next fires. Returns next_us."""
        if not self._quiet:
            self._flush()
        while self._port is not None and self._due is not None and self._due <= now_us:
            self.now_us = max(self.now_us, self._due)
            self._port.run(self.now_us)
            self._flush()
        if now_us > self.now_us:
            self.now_us = now_us
        return self.next_us()

    def next_us(self) -> Optional[int]:
        """Time until the next timer."""
        if not self._quiet and self._port is not None:
            self._due = self._port.deadline()
        return None if self._due is None else max(0, self._due - self.now_us)

    def close(self) -> None:
        """The port ends; nothing more is served."""
        self._methods.clear()
        if self._port is not None:
            self._port.close()
            self._port = None

    # ---- methods ----

    def _hello(self, params: Params) -> dict[str, Any]:
        version = params.integer("protocol", 1, 2**53)
        if version > 2:
            raise ProtocolError(-32602, "protocol must be 1 or 2")
        answer: dict[str, Any] = {
            "implementation": "fcvi reference port", "version": __version__, "clock": self._clock,
            "pics": PICS if self._edition == "2007" else PICS_REV1,
        }  # fmt: skip
        return answer if version == 1 else {**answer, "protocol": 2, "wires": ["fc"], "revision": self._edition}

    def _reset(self, token: int, params: Params) -> None:
        try:
            port = self._make(params)
        except ValueError as error:
            raise ProtocolError(-32602, str(error)) from error
        for blocked in list(self._blocked):
            self._answer(blocked, None, (-32001, "reset"))
        self._blocked.clear()
        self._port, self._quiet, self.now_us = port, False, 0
        self._answer(token, {}, None)

    def _make(self, params: Params) -> RefPort:
        """A port of this configuration instead of the one that there is. Raises ValueError when there is no such port."""
        edition = params.revision(self._edition)
        port = RefPort({**params.configuration(), "revision": edition}, self._port)
        self._shortest = 0 if edition == "rev1" else 16  # 7.1 of the draft
        return port

    def _clock_advance(self, token: int, params: Params) -> dict[str, Any]:
        us = params.integer("us", 0, 2**53 - 1)
        self.run_until(self.now_us + us)
        return {"now_us": self.now_us, "next_us": self.next_us()}

    def _clock_next(self, token: int, params: Params) -> dict[str, Any]:
        return {"us": self.next_us()}

    def _frame(self, port: RefPort, params: Params) -> None:
        data = params.hexadecimal("hex", 0, 24 + 2112)
        sof = _SOF[params.choice("sof", tuple(_SOF))] if params.has("sof") else 0
        eof = _EOF[params.choice("eof", tuple(_EOF))] if params.has("eof") else 0
        crc = params.choice("crc", ("ok", "bad")) if params.has("crc") else "ok"
        port.receive(self.now_us, data, sof, eof, crc == "ok")

    def _create_vi(self, token: int, params: Params) -> dict[str, Any]:
        attributes = self._attributes_of(params.table("ViAttribs"))
        out = ffi.new("uint32_t *")
        code = lib.fcvi_vip_create_vi(self._p, self.now_us, attributes, out)
        return self._result(code, vi=out[0])

    def _destroy_vi(self, token: int, params: Params) -> dict[str, Any]:
        return self._result(lib.fcvi_vip_destroy_vi(self._p, self.now_us, params.handle("vi")))

    def _query_vi(self, token: int, params: Params) -> dict[str, Any]:
        info = ffi.new("struct fcvi_vi_info *")
        code = lib.fcvi_vip_query_vi(self._p, self.now_us, params.handle("vi"), info)
        return self._result(
            code,
            state=_state_name(info.state),
            State=f"VIP_STATE_{_VIPL_STATE[info.state]}",
            ViAttribs=self._attributes_json(info.attributes),
            ViSendQEmpty=bool(info.send_empty),
            ViRecvQEmpty=bool(info.recv_empty),
        )

    def _connect_wait(self, token: int, params: Params) -> Optional[dict[str, Any]]:
        local, timeout = self._address(params.table("LocalAddr")), self._timeout(params)
        if local is None:
            return {"return": "VIP_INVALID_PARAMETER"}
        code = lib.fcvi_vip_connect_wait(self._p, self.now_us, local, timeout, token)
        return self._block(token, "VipConnectWait", code)

    def _connect_accept(self, token: int, params: Params) -> Optional[dict[str, Any]]:
        conn, vi = params.handle("conn"), params.handle("vi")
        self._blocked[token] = "VipConnectAccept"
        code = lib.fcvi_vip_connect_accept(self._p, self.now_us, conn, vi, token)
        return self._block(token, "VipConnectAccept", code)

    def _connect_reject(self, token: int, params: Params) -> dict[str, Any]:
        return self._result(lib.fcvi_vip_connect_reject(self._p, self.now_us, params.handle("conn")))

    def _connect_request(self, token: int, params: Params) -> Optional[dict[str, Any]]:
        vi, timeout = params.handle("vi"), self._timeout(params)
        local, remote = self._address(params.table("LocalAddr")), self._address(params.table("RemoteAddr"))
        if local is None or remote is None:
            return {"return": "VIP_INVALID_PARAMETER"}
        code = lib.fcvi_vip_connect_request(self._p, self.now_us, vi, local, remote, timeout, token)
        return self._block(token, "VipConnectRequest", code)

    def _connect_peer_request(self, token: int, params: Params) -> dict[str, Any]:
        vi, timeout = params.handle("vi"), self._timeout(params)
        local, remote = self._address(params.table("LocalAddr")), self._address(params.table("RemoteAddr"))
        if local is None or remote is None:
            return {"return": "VIP_INVALID_PARAMETER"}
        return self._result(lib.fcvi_vip_connect_peer_request(self._p, self.now_us, vi, local, remote, timeout))

    def _connect_peer_done(self, token: int, params: Params) -> dict[str, Any]:
        out = ffi.new("struct fcvi_attributes *")
        code = lib.fcvi_vip_connect_peer_done(self._p, self.now_us, params.handle("vi"), out)
        return self._result(code, RemoteViAttribs=self._attributes_json(out))

    def _connect_peer_wait(self, token: int, params: Params) -> Optional[dict[str, Any]]:
        out = ffi.new("struct fcvi_attributes *")
        code = lib.fcvi_vip_connect_peer_wait(self._p, self.now_us, params.handle("vi"), token, out)
        return self._block(token, "VipConnectPeerWait", code, RemoteViAttribs=self._attributes_json(out))

    def _disconnect(self, token: int, params: Params) -> Optional[dict[str, Any]]:
        code = lib.fcvi_vip_disconnect(self._p, self.now_us, params.handle("vi"), token)
        return self._block(token, "VipDisconnect", code)

    def _register_mem(self, token: int, params: Params) -> dict[str, Any]:
        length = params.integer("length", 0, 2**32 - 1)
        write, read = params.boolean("rdma_write", False), params.boolean("rdma_read", False)
        fill = params.hexadecimal("fill", 1, 4096) if params.has("fill") else b"\0"
        mem, va, handle = ffi.new("uint32_t *"), ffi.new("uint64_t *"), ffi.new("uint32_t *")
        code = lib.fcvi_vip_register_mem(self._p, self.now_us, length, write, read, mem, va, handle)
        if code == 0:
            region = ffi.buffer(lib.fcvi_port_memory(self._p, mem[0], 0, length), length)
            region[:] = (fill * (length // len(fill) + 1))[:length]
        return self._result(code, mem=mem[0], va=f"{va[0]:016x}", handle=handle[0])

    def _deregister_mem(self, token: int, params: Params) -> dict[str, Any]:
        return self._result(lib.fcvi_vip_deregister_mem(self._p, self.now_us, params.handle("mem")))

    def _region(self, params: Params, length: int) -> Any:
        if length > _MOST_BYTES:
            raise ProtocolError(-32602, f"at most {_MOST_BYTES} bytes a call")
        mem, offset = params.handle("mem"), params.integer("offset", 0, 2**32 - 1, 0)
        pointer = lib.fcvi_port_memory(self._p, mem, offset, length)
        if pointer == ffi.NULL:
            raise ProtocolError(-32602, "the range lies outside the region")
        return ffi.buffer(pointer, length)

    def _mem_read(self, token: int, params: Params) -> dict[str, Any]:
        return {"hex": bytes(self._region(params, params.integer("length", 0, 2**32 - 1))).hex()}

    def _mem_write(self, token: int, params: Params) -> dict[str, Any]:
        data = params.hexadecimal("hex", 0, 2**20)
        self._region(params, len(data))[:] = data
        return {}

    def _post(self, token: int, params: Params) -> dict[str, Any]:
        vi, table = params.handle("vi"), params.table("descriptor")
        d = ffi.new("struct fcvi_descriptor *")
        d.op = ("send", "rdma-write", "rdma-read", "recv").index(
            table.choice("op", ("send", "rdma-write", "rdma-read", "recv"))
        )
        segments = table.tables("segments", 252)
        d.segments = len(segments)
        for index, segment in enumerate(segments):
            d.segment[index].mem = segment.handle("mem")
            d.segment[index].offset = segment.integer("offset", 0, 2**32 - 1, 0)
            d.segment[index].length = segment.integer("length", 0, 2**32 - 1)
        if table.has("remote"):
            remote = table.table("remote")
            d.remote_va = int.from_bytes(remote.hexadecimal("va", 8, 8), "big")
            d.remote_handle = remote.integer("handle", 0, 2**32 - 1)
        d.has_immediate = table.has("immediate")
        d.immediate = table.integer("immediate", 0, 2**32 - 1) if d.has_immediate else 0
        return self._result(lib.fcvi_vip_post(self._p, self.now_us, vi, d))

    def _send_done(self, token: int, params: Params) -> dict[str, Any]:
        return self._done(params, False)

    def _recv_done(self, token: int, params: Params) -> dict[str, Any]:
        return self._done(params, True)

    def _done(self, params: Params, recv: bool) -> dict[str, Any]:
        c = ffi.new("struct fcvi_completion *")
        code = lib.fcvi_vip_done(self._p, self.now_us, params.handle("vi"), recv, c)
        result = {"return": _vip_name(code)}
        if result["return"] in ("VIP_SUCCESS", "VIP_DESCRIPTOR_ERROR"):
            return {**result, "DescriptorPtr": self._completion(c) if c.status else None}
        return result

    # ---- helpers ----

    @property
    def _p(self) -> Any:
        assert self._port is not None
        return self._port.port

    @staticmethod
    def _result(code: int, **out: Any) -> dict[str, Any]:
        name = _vip_name(code)
        return {"return": name, **out} if code == 0 else {"return": name}

    def _block(self, token: int, method: str, code: int, **out: Any) -> Optional[dict[str, Any]]:
        if code == _PENDING:
            self._blocked[token] = method
            return None
        self._blocked.pop(token, None)
        return self._result(code, **out)

    @staticmethod
    def _timeout(params: Params) -> int:
        return params.integer("Timeout", 0, 2**53 - 1) if params.has("Timeout") else NEVER

    def _address(self, table: Params) -> Any:
        host = table.hexadecimal("host", 16, 16)
        discriminator = table.hexadecimal("discriminator", 0, 4096)
        if not self._shortest <= len(discriminator) <= self._longest:
            return None
        return ffi.new(
            "struct fcvi_address *",
            {"host": host, "discriminator_length": len(discriminator), "discriminator": discriminator},
        )

    @staticmethod
    def _attributes_of(table: Params) -> Any:
        qos = table.table("QoS") if table.has("QoS") else Params({})
        level = table.choice("ReliabilityLevel", tuple(RELIABILITY)) if table.has("ReliabilityLevel") else None
        return ffi.new(
            "struct fcvi_attributes *",
            {
                "reliability": RELIABILITY[level] if level else 1,
                "max_transfer_size": table.integer("MaxTransferSize", 0, 2**32 - 1, 0),
                "rdma_write": table.boolean("EnableRdmaWrite", False),
                "rdma_read": table.boolean("EnableRdmaRead", False),
                "preference": qos.boolean("Preference", False),
                "pipeline_depth": qos.integer("PipelineDepth", 0, 2**32 - 1, 0),
            },
        )

    @staticmethod
    def _attributes_json(a: Any) -> dict[str, Any]:
        return {
            "ReliabilityLevel": _RELIABILITY_NAME.get(a.reliability, "VIP_SERVICE_UNRELIABLE"),
            "MaxTransferSize": a.max_transfer_size,
            "EnableRdmaWrite": bool(a.rdma_write),
            "EnableRdmaRead": bool(a.rdma_read),
            "QoS": {"PipelineDepth": a.pipeline_depth, "Preference": bool(a.preference)},
        }

    @staticmethod
    def _completion(c: Any) -> dict[str, Any]:
        immediate = c.immediate if c.status & 1 << 19 else None
        return {"status": status_names(c.status), "length": c.length, "immediate": immediate}

    def _flush(self) -> None:
        """Hand out events and frames until the port is quiet."""
        port = self._port
        if port is None:
            return
        for _ in range(_FRAME_TURN + 1):
            while (length := port.next(self.now_us)) == EVENT:
                self._event(port.event)
            if length == QUIET:
                self._quiet, self._due = True, port.due
                return
            frame = port.take(length)
            while port.another_event():
                self._event(port.event)
            self._on_frame(frame)
        self._quiet, self._due = False, port.deadline()

    def _event(self, e: Any) -> None:
        if e.kind == 0:
            self._returned(e)
        elif e.kind == 1:
            queue = "recv" if e.recv else "send"
            self._emit("completion", {"vi": e.vi, "queue": queue, **self._completion(e.completion)})
        elif e.kind == 2:
            self._emit("error", {"vi": e.vi, "code": _error_name(e.vip)})
        else:
            self._emit("state", {"vi": e.vi, "state": _state_name(e.state)})

    def _returned(self, e: Any) -> None:
        method = self._blocked.pop(e.token, None)
        if method is None:
            return
        out: dict[str, Any] = {}
        if method == "VipConnectWait":
            address = e.remote_address
            length = address.discriminator_length
            out = {
                "conn": e.conn,
                "RemoteAddr": {
                    "host": bytes(address.host).hex(),
                    "discriminator": bytes(ffi.buffer(address.discriminator, length)).hex(),
                },
                "RemoteViAttribs": self._attributes_json(e.remote_attributes),
            }
        elif method in ("VipConnectRequest", "VipConnectPeerWait"):
            out = {"RemoteViAttribs": self._attributes_json(e.remote_attributes)}
        self._answer(e.token, self._result(e.vip, **out), None)


__all__ = ["PICS", "PICS_REV1", "RefServer"]
