"""The checks of ``fcvi dut check --wire tcp SPEC``: whether a device of VI/TCP keeps to the DUT protocol, before any case runs."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any, Optional

from .checks import NOT_FOUND, Checks, Review, carry_out, expect_code
from .session import Session
from .shapes import DUT_PROTOCOL, Shapes

_HOST, _PEER, _PORT = "00000000000000000000ffff0a000002", "00000000000000000000ffff0a000001", 2050
_DISCRIMINATOR = b"fcvi dut check 1".hex()
_SHORTEST = 68  # bytes of a Connect Request (3.2)
_PATIENCE_S, _STEPS = 2.0, 20
_END = {
    "type": "object", "required": ["host", "port"],
    "properties": {
        "host": {"type": "string", "pattern": "^[0-9a-f]{32}$"}, "port": {"type": "integer", "minimum": 1, "maximum": 65535},
    },
}  # fmt: skip
_NOTIFICATIONS: dict[str, dict[str, Any]] = {
    "stream.open": {"from": _END, "to": _END},
    "stream.opened": {},
    "stream.refused": {},
    "stream.data": {"hex": {"type": "string", "pattern": "^([0-9a-f]{2}){1,30000}$"}},
    "stream.window": {"bytes": {"type": ["integer", "null"], "minimum": 0, "maximum": 4294967295}},
    "stream.close": {"how": {"enum": ["fin", "reset"]}},
}


class _Shapes(Shapes):
    """The DUT protocol with the notifications of streams."""

    @functools.cached_property
    def schema(self) -> dict[str, Any]:
        """The schema as JSON."""
        schema: dict[str, Any] = json.loads(json.dumps(DUT_PROTOCOL.schema))
        schema["$defs"]["pics"]["properties"].update({item: {"type": "boolean"} for item in ("tcp", "ipv6", "flow_control")})
        for name, members in _NOTIFICATIONS.items():
            members = {"stream": {"type": "string", "minLength": 1, "maxLength": 64}, **members}
            schema["$defs"][f"notification.{name}"] = {"type": "object", "required": list(members), "properties": members}
            schema["$defs"]["notification"]["oneOf"].append({
                "type": "object", "required": ["jsonrpc", "method", "params"], "not": {"required": ["id"]},
                "properties": {
                    "jsonrpc": {"const": "2.0"}, "method": {"const": name}, "params": {"$ref": f"#/$defs/notification.{name}"},
                },
            })  # fmt: skip
        return schema


class StreamChecks(Checks):
    """One review of one device."""

    left_out = "host"
    wire_title = "streams"
    wrong_lengths = (17, 129)  # V46

    def config(self) -> dict[str, Any]:
        """The params of reset."""
        return {
            "wire": "tcp", "host": [_HOST], "peer": {"host": [_PEER]}, "port": _PORT, "nop_bound_us": 1_000_000,
            "incoming_timeout_us": 5_000_000, "seed": 1,
        }  # fmt: skip

    def _address(self, discriminator: str = _DISCRIMINATOR) -> dict[str, str]:
        return {"host": _HOST, "discriminator": discriminator}

    def hello(self) -> Optional[str]:
        """The device says who it is, and that it speaks VI/TCP."""
        wrong = super().hello()
        if wrong is not None:
            return wrong
        result = self.s.ask("hello", {"protocol": 2}).result or {}
        if "tcp" not in (result.get("wires") or []):
            return f'hello has the wires {result.get("wires")}; a device of VI/TCP names "tcp" among them'
        pics = result.get("pics")
        if not isinstance(pics, dict) or pics.get("tcp") is not True:
            return "the pics of hello do not claim tcp, so that no case would apply; add the item"
        return None

    def frames(self) -> Optional[str]:
        """A stream that the device opens, from VipConnectRequest to its end; and streams of which it knows nothing."""
        if not self._has("VipCreateVi", "VipConnectRequest"):
            return None
        self._fresh()
        vi = (self.s.ask("VipCreateVi", {"ViAttribs": {}}).result or {}).get("vi")
        self.s.send("VipConnectRequest", {
            "vi": vi, "LocalAddr": self._address(), "RemoteAddr": {"host": _PEER, "discriminator": _DISCRIMINATOR}, "Timeout": None,
        })  # fmt: skip
        opened = self._until("stream.open")
        if opened is None:
            return "VipConnectRequest opened no stream; send stream.open to the host of RemoteAddr and the port of reset"
        to = opened.get("to")
        if to != {"host": _PEER, "port": _PORT}:
            return f"stream.open goes to {json.dumps(to)[:80]}; it goes to the host of RemoteAddr and the port of reset"
        name = opened.get("stream")
        self.s.notify("stream.opened", {"stream": name})
        self.s.notify("stream.window", {"stream": name, "bytes": None})
        if self._until("stream.data", name, _SHORTEST) is None:
            return "no Connect Request came on the stream that was opened; send it as stream.data"
        unknown: list[tuple[str, dict[str, Any]]] = [
            ("stream.data", {"stream": "t999", "hex": "00"}), ("stream.close", {"stream": "t999", "how": "fin"}),
            ("stream.data", {"stream": name, "hex": "ff" * 30_000}), ("stream.close", {"stream": name, "how": "fin"}),
            ("a.later.version", {"x": 1}),
        ]  # fmt: skip
        for method, params in unknown:
            self.s.notify(method, params)
        return expect_code(self.s.ask("probe.alive"), NOT_FOUND, "a device that ignores what it does not know still answers")

    def _until(self, method: str, stream: Any = None, least: int = 0) -> Optional[dict[str, Any]]:
        """The notification, or as many of them as bring so many bytes; the clock goes on meanwhile."""
        for _ in range(_STEPS):
            told = self.s.notifications
            found = [params for _, name, params in told if name == method and stream in (None, params.get("stream"))]
            if found and sum(len(str(params.get("hex", ""))) // 2 for params in found) >= least:
                return found[-1]
            if self.review.clock == "virtual":
                self.s.ask("clock.advance", {"us": 50_000})
            else:
                self.s.wait(self.s.send("probe.wait", {}), _PATIENCE_S / _STEPS)
        return None


def check_streams(spec: str, timeout_s: float, log: int, review: Review) -> str:
    """Run the checks. What broke them off, or "". Raises AttachError."""
    shapes = _Shapes(Path(__file__).resolve().parents[1] / "protocol.schema.json")
    return carry_out(StreamChecks, Session(spec, timeout_s, log, shapes), review)
