"""Liberties of time: no clause says how soon a frame follows the call, or a return or a completion the frame.

Within a plane the order stays, and so it does within an Exchange. An answer has the time for which the other side waits (8.3).
"""

from __future__ import annotations

from typing import Any, Optional

from fcvi.fc import codec

from .manner import MS, SECOND, Config, Manner, Params, liberty, number

_CONNECT = ("VipConnectWait", "VipConnectAccept", "VipConnectReject", "VipConnectRequest", "VipConnectPeerWait", "VipDisconnect")
_POSTS = ("VipPostSend", "VipPostRecv")
#: As long as the addresses and what stands before them (Tables 13 and 14).
_CONNECT_BYTES = 308
_REQUESTS = ("SEND_RQST", "WRITE_RQST", "READ_RQST")
#: With RESP1 and RESP2 a timer of the port begins, so a layer cannot hold them back; the independent endpoint itself can.
_ANSWERS = ("CONNECT_RESP3", "DISCONNECT_RESP", "SEND_RESP", "WRITE_RESP", "READ_RESP")


class _Timed(Manner):
    """Knows the timers of the configuration."""

    r_a_tov = 10 * SECOND
    e_d_tov = 2 * SECOND

    def begin(self, config: Config, dut: object) -> None:
        self.r_a_tov, self.e_d_tov = config["r_a_tov_us"], config["e_d_tov_us"]
        self.clear()

    def clear(self) -> None:
        """Forget what belongs to one configuration."""

    def upto(self, share: float) -> int:
        """A time of at most this share of R_A_TOV."""
        return self.rng.randint(0, int(self.r_a_tov * share))


@liberty("wire-constant", "8.3, E123", "wire")
class WireConstant(Manner):
    """Each frame leaves up to 50 ms after the port made it, always as much; the port's timers run from when it made it."""

    def choose(self) -> None:
        self._late = self.rng.randint(1, 50) * MS

    def on_the_wire(self) -> int:
        return self._late


@liberty("wire-varying", "8.3, E123", "wire")
class WireVarying(Manner):
    """Each frame leaves up to 20 ms after the port made it."""

    def on_the_wire(self) -> int:
        return self.rng.randint(0, 20 * MS)


@liberty("wire-in-ticks", "8.3, E123", "wire")
class WireInTicks(Manner):
    """Frames leave when the host interface looks, every few milliseconds."""

    def choose(self) -> None:
        self._tick = self.rng.choice([1, 3, 10]) * MS
        self._first = self.rng.randrange(1, self._tick)

    def begin(self, config: Config, dut: object) -> None:
        self._dut = dut

    def on_the_wire(self) -> int:
        return (self._first - self._dut._inner.now_us) % self._tick  # type: ignore[attr-defined, no-any-return]


@liberty("interface-constant", "8.3, E123", "heard")
class InterfaceConstant(Manner):
    """What arrives reaches the port so much later."""

    def choose(self) -> None:
        self._late = self.rng.randint(1, 100) * MS

    def on_the_way_in(self) -> int:
        return self._late


@liberty("interface-varying", "8.3, E123", "heard")
class InterfaceVarying(Manner):
    """What arrives reaches the port up to 20 ms later."""

    def on_the_way_in(self) -> int:
        return self.rng.randint(0, 20 * MS)


@liberty("control-constant", "E121, E123", "control")
class ControlConstant(Manner):
    """Returns, completions, callbacks and states come so much later, in their order."""

    def choose(self) -> None:
        self._late = self.rng.choice([20, 100, 500, 2_000]) * MS

    def told(self) -> int:
        return self._late


@liberty("control-varying", "E121, E123", "control")
class ControlVarying(Manner):
    """Returns, completions, callbacks and states come up to 50 ms later, in their order."""

    def told(self) -> int:
        return self.rng.randint(0, 50 * MS)


@liberty("connect-calls-return-late", "E123", "returns")
class ReturnsLate(_Timed):
    """A connect call returns up to three tenths of R_A_TOV after what it waited for."""

    def told_apart(self, method: str, params: Params) -> Optional[tuple[str, int]]:
        return (f"VI {params.get('vi')}", self.upto(0.3)) if method in _CONNECT else None


@liberty("other-calls-return-late", "DUT protocol, VIPL calls", "other returns")
class OtherReturnsLate(Manner):
    """Calls that do not block take up to 100 ms; a post answers before what it causes."""

    def told_apart(self, method: str, params: Params) -> Optional[tuple[str, int]]:
        late = method.startswith(("Vip", "mem.")) and method not in _CONNECT + _POSTS
        return (f"VI {params.get('vi')}", self.rng.randint(0, 100 * MS)) if late else None


@liberty("completions-vary", "VI-ARCH 6.3, 2.5.2", "completions")
class CompletionsVary(_Timed):
    """Completions come up to three tenths of R_A_TOV later, in their order."""

    def told_apart(self, method: str, params: Params) -> Optional[tuple[str, int]]:
        return ("completions", self.upto(0.3)) if method == "completion" else None


@liberty("one-queue-completes-later", "VI-ARCH 6.3", "completions")
class OneQueueLater(_Timed):
    """The completions of the send queues, or of the receive queues, are behind the others: the two have no order."""

    def choose(self) -> None:
        self._queue = self.rng.choice(["send", "recv"])

    def told_apart(self, method: str, params: Params) -> Optional[tuple[str, int]]:
        if method != "completion":
            return None
        queue = params["queue"]
        return f"completions {queue}", int(self.r_a_tov * 0.2) if queue == self._queue else 0


@liberty("each-vi-completes-for-itself", "VI-ARCH 6.3", "completions")
class EachViForItself(_Timed):
    """The completions of one VI say nothing about when those of another come."""

    def told_apart(self, method: str, params: Params) -> Optional[tuple[str, int]]:
        return (f"completions {params['vi']}", self.upto(0.1)) if method == "completion" else None


@liberty("callbacks-late", "VI-DG 3.8.1, E123", "callbacks")
class CallbacksLate(_Timed):
    """VipErrorCallback is called up to a fifth of R_A_TOV after the error."""

    def told_apart(self, method: str, params: Params) -> Optional[tuple[str, int]]:
        return (f"callbacks {params.get('vi')}", self.upto(0.2)) if method == "error" else None


@liberty("connect-begins-late", "8.2, E85", "connect begins")
class ConnectBeginsLate(_Timed):
    """The first frame for a Connection leaves up to three tenths of R_A_TOV after the call."""

    def begun(self, method: str) -> int:
        return self.upto(0.3) if method in ("VipConnectRequest", "VipConnectPeerRequest") else 0


@liberty("connect-begins-200-ms-late", "8.2, E85", "connect begins")
class ConnectBeginsABitLate(Manner):
    """The first frame for a Connection leaves 200 ms after the call."""

    def begun(self, method: str) -> int:
        return 200 * MS if method in ("VipConnectRequest", "VipConnectPeerRequest") else 0


@liberty("peer-request-begins-behind-its-return", "VI-DG 3.3.6; DUT protocol: it returns at once", "connect begins")
class PeerBeginsLate(Manner):
    """The first VipConnectPeerRequest of a VI returns, and 200 ms later the port begins with it."""

    def begin(self, config: Config, dut: object) -> None:
        self._fresh: set[object] = set()
        self._hosts = [*config["host"], *config["peer"]["host"]]
        self._late = 0

    def answer(self, method: str, params: Params, result: Params) -> Params:
        if method == "VipCreateVi" and result.get("return") == "VIP_SUCCESS":
            self._fresh.add(result["vi"])
        return result

    def returns_first(self, method: str, params: Params) -> bool:
        first = method == "VipConnectPeerRequest" and params.get("vi") in self._fresh and self._usual(params)
        self._late = 200 * MS if first else 0
        if first or method.startswith("VipConnect"):
            self._fresh.discard(params.get("vi"))
        return first

    def _usual(self, params: Params) -> bool:
        """Whether the port takes the parameters for certain."""
        addresses = [params.get("LocalAddr"), params.get("RemoteAddr")]
        return all(
            isinstance(a, dict) and a.get("host") in self._hosts and len(str(a.get("discriminator"))) == 32 for a in addresses
        )

    def begun(self, method: str) -> int:
        return self._late if method == "VipConnectPeerRequest" else 0


@liberty("own-setups-behind", "8.2, 8.3, E85", "connect begins")
class OwnSetupsBehind(Manner):
    """All that the port sends in a setup which it begins leaves 100 to 400 ms later, the ABTS at its T3 as well."""

    def choose(self) -> None:
        self._late = self.rng.randint(100, 400) * MS

    def begin(self, config: Config, dut: object) -> None:
        self._setups: set[bytes] = set()

    def apart(self, frame: codec.Frame, kind: str) -> int:
        if frame.header("Exchange_Context"):
            return 0
        exchange = frame.data[16:18]
        if kind == "CONNECT_RQST":
            self._setups.add(exchange)
        elif frame.kind == "iu" and kind != "CONNECT_RESP2":
            self._setups.discard(exchange)
        return self._late if exchange in self._setups else 0


@liberty("request-that-waits-is-withdrawn", "5.3.4, 8.2, E85", "connect begins")
class WithdrawnRequest(OwnSetupsBehind):
    """As own-setups-behind; and the request never leaves when that of the other Peer comes first and is answered."""

    def begin(self, config: Config, dut: Any) -> None:
        super().begin(config, dut)
        self._dut = dut
        self._unsent: dict[tuple[object, ...], str] = {}  # by the addresses in the request: its OX_ID
        self._of_a_peer = False

    def ask(self, method: str, params: Params) -> Params:
        if method in ("VipConnectRequest", "VipConnectPeerRequest"):
            self._of_a_peer = method == "VipConnectPeerRequest"
        return params

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        if kind in ("CONNECT_RQST", "CONNECT_RESP1") and len(frame.payload) >= _CONNECT_BYTES:
            ends = tuple(codec.get("CONN", name, frame.payload) for name in ("FCVI_LOC_ADDR", "FCVI_REM_ADDR"))
            if kind == "CONNECT_RQST" and self._of_a_peer:
                self._unsent[ends] = frame.data[16:18].hex()
            elif ends in self._unsent and not frame.get("DH", "CONN_STS"):
                self._dut.withdraw(f"Exchange {self._unsent.pop(ends)} 0", kind="CONNECT_RQST")
        return None


@liberty("disconnect-begins-late", "8.1", "disconnect begins")
class DisconnectBeginsLate(_Timed):
    """DISCONNECT_RQST leaves up to a tenth of R_A_TOV after the call."""

    def begun(self, method: str) -> int:
        return self.upto(0.1) if method == "VipDisconnect" else 0


@liberty("sends-begin-late", "5.2.1; DUT protocol: VipPostSend answers first", "requests")
class SendsBeginLate(Manner):
    """The port takes a posted Descriptor up 50 to 200 ms later."""

    def choose(self) -> None:
        self._late = self.rng.randint(50, 200) * MS

    def begun(self, method: str) -> int:
        return self._late if method == "VipPostSend" else 0


@liberty("answers-at-any-time", "8.3, E123", "answers")
class AnswersAtAnyTime(_Timed):
    """An answer takes any part of half the time for which the other side waits."""

    def apart(self, frame: codec.Frame, kind: str) -> int:
        return self.upto(0.5) if kind in _ANSWERS else 0


@liberty("one-kind-of-answer-at-the-last-moment", "8.3, E123", "answers")
class OneAnswerLast(_Timed):
    """One kind of answer takes nine tenths of the time for which the other side waits."""

    def choose(self) -> None:
        self._kind = self.rng.choice(_ANSWERS)

    def apart(self, frame: codec.Frame, kind: str) -> int:
        return int(self.r_a_tov * 0.9) if kind == self._kind else 0


@liberty("farp-reply-late", "7.5, E123", "farp")
class FarpLate(_Timed):
    """FARP-REPLY takes half to nine tenths of R_A_TOV."""

    def apart(self, frame: codec.Frame, kind: str) -> int:
        return int(self.r_a_tov * self.rng.uniform(0.5, 0.9)) if kind == "FARP_REPLY" else 0


@liberty("els-answers-at-any-time", "FC-FS, E123", "els")
class ElsAtAnyTime(_Timed):
    """LS_ACC and LS_RJT take up to eight tenths of R_A_TOV."""

    def apart(self, frame: codec.Frame, kind: str) -> int:
        return self.upto(0.8) if kind in ("LS_ACC", "LS_RJT") else 0


@liberty("ba-acc-late", "FC-FS, 8.5.3", "ba_acc")
class BaAccLate(_Timed):
    """BA_ACC takes up to 0.45 of R_A_TOV."""

    def apart(self, frame: codec.Frame, kind: str) -> int:
        return self.upto(0.45) if kind == "BA_ACC" else 0


@liberty("acks-late", "FC-FS: E_D_TOV", "acks")
class AcksLate(_Timed):
    """In class 2 an ACK takes up to four tenths of E_D_TOV."""

    def apart(self, frame: codec.Frame, kind: str) -> int:
        return self.rng.randint(0, int(self.e_d_tov * 0.4)) if kind.startswith("ACK") else 0


@liberty("frames-spaced", "FC-FS: E_D_TOV", "spaced")
class FramesSpaced(_Timed):
    """Frames of one Exchange leave up to a tenth of E_D_TOV apart."""

    def apart(self, frame: codec.Frame, kind: str) -> int:
        return self.rng.randint(0, int(self.e_d_tov * 0.1)) if frame.header("SEQ_CNT") else 0


@liberty("every-second-vi-behind", "VI-ARCH 2.5: order is that of a VI", "requests")
class SecondViBehind(Manner):
    """The Messages of some VIs leave 30 ms behind those of the others."""

    def apart(self, frame: codec.Frame, kind: str) -> int:
        behind = kind in _REQUESTS and number(frame, "FCVI_HANDLE") & 1
        return 30 * MS if behind else 0


@liberty("own-els-behind", "7.5, 7.7; FC-FS sets no time for a request", "els requests")
class OwnElsBehind(_Timed):
    """PLOGI, FLOGI, ADISC and FARP-REQ of the port leave up to a fifth of R_A_TOV late."""

    def apart(self, frame: codec.Frame, kind: str) -> int:
        own = frame.kind == "els" and not frame.header("Exchange_Context")
        return self.upto(0.2) if own and kind in ("PLOGI", "FLOGI", "ADISC", "FARP_REQ") else 0


@liberty("control-in-ticks", "E121, E123", "control")
class ControlInTicks(Manner):
    """Returns, completions, callbacks and states come when the host looks, every few ten milliseconds."""

    def choose(self) -> None:
        self._tick = self.rng.choice([5, 20, 90]) * MS

    def begin(self, config: Config, dut: object) -> None:
        self._dut = dut

    def told(self) -> int:
        return -self._dut._inner.now_us % self._tick  # type: ignore[attr-defined, no-any-return]
