#!/usr/bin/env python3
"""A device to begin with: it attaches over exec: and passes its first case, 5.3.2/dut-server. See ../docs/porting.md.

The class Device speaks the DUT protocol (../docs/dut-protocol.md); keep it. The class Port is the part that you replace by
your implementation: it answers one Connection Setup (5.3.2) in class 3, from one-frame IUs, and nothing else.
"""

import json
import sys

NONE = 0xFFFFFFFF


def say(message):
    """One line to the suite. Standard output belongs to the protocol; print what you debug to standard error."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


class Invalid(Exception):
    """Wrong parameters: answered with error -32602."""


class Port:
    """One N_Port with its VIs. `now` is the virtual time in microseconds."""

    def __init__(self, config):
        self.id, self.peer_id = config["n_port_id"], config["peer"]["n_port_id"]
        self.now = 0
        self.vis = []  # {"state", "ViAttribs"}
        self.waiting = []  # (request id, LocalAddr, when it times out or None) of VipConnectWait
        self.offered = {}  # conn: the FCVI_CONNECT_RQST frame
        self.accepting = {}  # OX_ID: (request id, vi, frame) of VipConnectAccept

    # ---- what the application calls ----

    def create_vi(self, attributes):
        self.vis.append({"state": "idle", "ViAttribs": attributes})
        return {"return": "VIP_SUCCESS", "vi": len(self.vis) - 1}

    def query_vi(self, number):
        if not 0 <= number < len(self.vis):
            return {"return": "VIP_INVALID_PARAMETER"}
        vi = self.vis[number]
        state = "VIP_STATE_" + {"pending-connect": "CONNECT_PENDING"}.get(vi["state"], vi["state"].upper())
        return {"return": "VIP_SUCCESS", **vi, "State": state, "ViSendQEmpty": True, "ViRecvQEmpty": True}

    def connect_wait(self, request, local, timeout):
        if not 32 <= len(local["discriminator"]) <= 256:  # 16 to 128 bytes (7.2)
            return {"return": "VIP_INVALID_PARAMETER"}
        self.waiting.append((request, local, None if timeout is None else self.now + timeout))
        return None

    def advance(self, us):
        """Time passes. A port with more timers lets each fire here, in its order."""
        self.now += us
        for entry in [entry for entry in self.waiting if entry[2] is not None and entry[2] <= self.now]:
            self.waiting.remove(entry)
            say({"id": entry[0], "result": {"return": "VIP_TIMEOUT"}})
        left = [due - self.now for _, _, due in self.waiting if due is not None]
        return {"now_us": self.now, "next_us": min(left, default=None)}

    def connect_accept(self, request, conn, number):
        frame = self.offered.pop(conn, None)
        if frame is None or not 0 <= number < len(self.vis):
            return say({"id": request, "result": {"return": "VIP_INVALID_PARAMETER"}})
        self.accepting[frame[16:18]] = (request, number, frame)
        self.become(number, "pending-connect")
        # FCVI_CONNECT_RESP1: the handle of our VI, and the two addresses of the request exchanged (6.9)
        payload = bytearray(frame[56:396])
        payload[8:12] = self.handle(number)
        payload[12:160], payload[160:308] = frame[216:364], frame[68:216]
        self.send(frame, 0x890008, 0, NONE.to_bytes(4, "big"), 0x18, bytes(payload))

    # ---- what the wire brings ----

    def receive(self, frame):
        if len(frame) < 56 or frame[8] != 0x58:
            return  # no FC-VI
        opcode = frame[28]
        if opcode == 0x10 and len(frame) == 396:
            self.connect_rqst(frame)
        elif opcode == 0x19 and frame[16:18] in self.accepting:
            self.connect_resp2(frame)

    def connect_rqst(self, frame):
        address = {"host": frame[220:236].hex(), "discriminator": frame[236:236 + frame[219]].hex()}
        for place, (request, local, _) in enumerate(self.waiting):
            if local == address:  # the request names us as its remote address (7.2)
                del self.waiting[place]
                conn = len(self.offered)
                self.offered[conn] = frame
                remote = {"host": frame[72:88].hex(), "discriminator": frame[88:88 + frame[71]].hex()}
                attributes = {
                    "ReliabilityLevel": {1: "VIP_SERVICE_UNRELIABLE", 2: "VIP_SERVICE_RELIABLE_DELIVERY",
                                         4: "VIP_SERVICE_RELIABLE_RECEPTION"}[frame[366]],
                    "MaxTransferSize": int.from_bytes(frame[368:372], "big"),
                    "EnableRdmaWrite": bool(frame[367] & 2), "EnableRdmaRead": bool(frame[367] & 1),
                }  # fmt: skip
                say({"id": request, "result": {"return": "VIP_SUCCESS", "conn": conn, "RemoteAddr": remote,
                                               "RemoteViAttribs": attributes}})
                return

    def connect_resp2(self, frame):
        request, number, rqst = self.accepting.pop(frame[16:18])
        self.become(number, "connected")
        say({"id": request, "result": {"return": "VIP_SUCCESS"}})
        # FCVI_CONNECT_RESP3 ends the Exchange; it goes to the handle of the request (6.11)
        self.send(rqst, 0x980000, 1, rqst[64:68], 0x1A, b"")

    # ---- frames ----

    @staticmethod
    def handle(number):
        return (0x100 + number).to_bytes(4, "big")

    def send(self, rqst, f_ctl, count, handle, opcode, payload):
        frame = b"\x03" + bytes.fromhex(self.peer_id) + b"\0" + bytes.fromhex(self.id) + b"\x58" + f_ctl.to_bytes(3, "big")
        frame += bytes([count, 2]) + count.to_bytes(2, "big")  # SEQ_ID, DF_CTL: Device_Header of 32 bytes, SEQ_CNT
        frame += rqst[16:18] + b"\x00\x07" + bytes(4)  # OX_ID of the request, our RX_ID, Parameter
        retry = (rqst[29] >> 4 & 1) << 2  # FCVI_FLAGS: RETRY is that of the request (5.9.4.5)
        frame += handle + bytes([opcode, retry, 0, 0]) + bytes(20) + rqst[52:56] + payload  # Device_Header; FCVI_CONNECTION_ID
        say({"method": "frame", "params": {"hex": frame.hex()}})

    def become(self, number, state):
        self.vis[number]["state"] = state
        say({"method": "state", "params": {"vi": number, "state": state}})


class Device:
    """The server side of the DUT protocol."""

    def __init__(self):
        self.port = None
        self.open = set()  # requests that have not been answered

    def call(self, request, method, params):
        """Returns the result, or None for a call that is answered later."""
        port = self.port
        if method == "clock.advance":
            if not isinstance(params.get("us"), int) or params["us"] < 0:
                raise Invalid("us must be a number, 0 or more")
            return port.advance(params["us"])
        if method == "VipCreateVi":
            return port.create_vi(params["ViAttribs"])
        if method == "VipQueryVi":
            return port.query_vi(params["vi"])
        if method == "VipConnectWait":
            return port.connect_wait(request, params["LocalAddr"], params.get("Timeout"))
        return port.connect_accept(request, params["conn"], params["vi"])

    METHODS = ("clock.advance", "VipCreateVi", "VipQueryVi", "VipConnectWait", "VipConnectAccept")

    def request(self, request, method, params):
        try:
            if method == "hello":
                result = {"implementation": "starter device", "version": "1", "clock": "virtual", "protocol": 2, "wires": ["fc"],
                          "pics": {"server": True, "unreliable_delivery": True, "class3": True}}  # fmt: skip
            elif method == "reset":
                port = Port(params)
                for blocked, _, _ in self.port.waiting if self.port else ():
                    say({"id": blocked, "error": {"code": -32001, "message": "reset"}})
                for blocked, _, _ in self.port.accepting.values() if self.port else ():
                    say({"id": blocked, "error": {"code": -32001, "message": "reset"}})
                self.port, result = port, {}
            elif method not in self.METHODS:
                return say({"id": request, "error": {"code": -32601, "message": f"no method {method}"}})
            elif self.port is None:
                return say({"id": request, "error": {"code": -32000, "message": "no reset yet"}})
            else:
                result = self.call(request, method, params)
        except (Invalid, KeyError, TypeError) as error:
            return say({"id": request, "error": {"code": -32602, "message": f"wrong params: {error}"}})
        if result is not None:
            say({"id": request, "result": result})

    def run(self):
        for line in sys.stdin:
            message = json.loads(line)
            if "id" in message:
                self.request(message["id"], message["method"], message.get("params") or {})
            elif message["method"] == "frame" and self.port:
                self.port.receive(bytes.fromhex(message["params"]["hex"]))


if __name__ == "__main__":
    Device().run()
