"""Liberties of the upper interface: VIPL and the DUT protocol."""

from __future__ import annotations

from typing import Any, Optional, Union

from fcvi.engine.attachment import Notification
from fcvi.fc import codec

from .manner import Config, Manner, Params, Refusal, in_connect, liberty

_SUCCESS = "VIP_SUCCESS"


@liberty("no-state-notifications", "DUT protocol, state", "states")
class NoStates(Manner):
    """A device that tells states when asked alone."""

    def note(self, method: str, params: Params) -> Optional[Params]:
        return None if method == "state" else params


@liberty("states-late", "DUT protocol, state; E123", "states")
class StatesLate(Manner):
    """States are told up to half a second later, in their order."""

    def told_apart(self, method: str, params: Params) -> Optional[tuple[str, int]]:
        return (f"states {params.get('vi')}", self.rng.randint(0, 500_000)) if method == "state" else None


@liberty("no-next-timer", "DUT protocol, clock.advance and clock.next", "next timer")
class NoNextTimer(Manner):
    """A device that does not say when its next timer fires."""

    hides_next = True

    def ask(self, method: str, params: Params) -> Union[Params, Refusal]:
        return "-32601" if method == "clock.next" else params


@liberty("results-after-notifications", "DUT protocol, VIPL calls", "result order")
class ResultsAfter(Manner):
    """The result of a call comes behind the notifications that the call causes, but for the two posts."""

    def told_apart(self, method: str, params: Params) -> Optional[tuple[str, int]]:
        result = method.startswith("Vip") and method not in ("VipPostSend", "VipPostRecv")
        return (f"VI {params.get('vi')}", 1) if result else None


@liberty("notifications-after-results", "DUT protocol, VIPL calls", "result order")
class NotificationsAfter(Manner):
    """Notifications come a moment after the result of the call that causes them."""

    def told_apart(self, method: str, params: Params) -> Optional[tuple[str, int]]:
        return ("completions and others", 1) if method in ("completion", "error", "state") else None


@liberty("status-in-any-order", "DUT protocol, status", "status order")
class StatusInAnyOrder(Manner):
    """The status bits of a Descriptor have no order."""

    def _shuffled(self, table: Any) -> Any:
        if not isinstance(table, dict) or not isinstance(table.get("status"), list):
            return table
        return {**table, "status": self.rng.sample(table["status"], len(table["status"]))}

    def note(self, method: str, params: Params) -> Optional[Params]:
        return self._shuffled(params)  # type: ignore[no-any-return]

    def answer(self, method: str, params: Params, result: Params) -> Params:
        if "DescriptorPtr" in result:
            return {**result, "DescriptorPtr": self._shuffled(result["DescriptorPtr"])}
        return result


@liberty("unknown-members", "DUT protocol, Encoding", "members")
class UnknownMembers(Manner):
    """Members that nobody knows in results and notifications."""

    def note(self, method: str, params: Params) -> Optional[Params]:
        return {**params, "x_time": 1, "x_note": "any"}

    def answer(self, method: str, params: Params, result: Params) -> Params:
        return {**result, "x_list": [1, None]}


@liberty("talkative", "DUT protocol, log", "log")
class Talkative(Manner):
    """A log notification beside each completion and state."""

    def begin(self, config: Config, dut: Any) -> None:
        self._dut = dut

    def note(self, method: str, params: Params) -> Optional[Params]:
        if method in ("completion", "state"):
            log = {"text": f"{method} of a VI"}
            inbox = self._dut.inbox
            self._dut.tell("log", log, lambda due: inbox.append(Notification("log", log, due, due)))
        return params


@liberty("stale-immediate-data", "VI-DG 5.5", "immediate", arguable="the DUT protocol does not say when `immediate` is null")
class StaleImmediate(Manner):
    """The Immediate Data field of a Descriptor without VIP_STATUS_IMMEDIATE holds whatever it held."""

    def _stale(self, table: Any) -> Any:
        if not isinstance(table, dict) or "status" not in table or "VIP_STATUS_IMMEDIATE" in table["status"]:
            return table
        return {**table, "immediate": 0x5A5A5A5A}

    def note(self, method: str, params: Params) -> Optional[Params]:
        return self._stale(params) if method == "completion" else params  # type: ignore[no-any-return]


class _Scribbles(Manner):
    """Writes into buffers that were posted for a receive while they are the device's."""

    def begin(self, config: Config, dut: Any) -> None:
        self._dut = dut
        self._posted: dict[Any, list[list[dict[str, Any]]]] = {}

    def answer(self, method: str, params: Params, result: Params) -> Params:
        if method == "VipPostRecv" and result.get("return") == _SUCCESS:
            self._posted.setdefault(params["vi"], []).append(params["descriptor"]["segments"])
        return result

    def _write(self, segments: list[dict[str, Any]], skip: int) -> None:
        for segment in segments:
            unused = max(0, segment["length"] - skip)
            at = segment["offset"] + segment["length"] - unused
            skip = max(0, skip - segment["length"])
            if unused:
                junk = {"mem": segment["mem"], "offset": at, "hex": "3c" * min(unused, 30_000)}
                self._dut._inner.request("mem.write", junk)

    def note(self, method: str, params: Params) -> Optional[Params]:
        if method == "completion" and params["queue"] == "recv" and self._posted.get(params["vi"]):
            segments = self._posted[params["vi"]].pop(0)
            self.completed(segments, params)
        return params

    def completed(self, segments: list[dict[str, Any]], params: Params) -> None:
        """A Descriptor of the receive queue is complete."""


@liberty("unused-part-of-a-buffer", "VI-DG 5.5", "scribbles")
class UnusedPart(_Scribbles):
    """The unused part of the buffers of a good Descriptor is not what it was."""

    def completed(self, segments: list[dict[str, Any]], params: Params) -> None:
        if params["status"] and not any("ERROR" in word for word in params["status"]):
            self._write(segments, params["length"])


@liberty("buffers-of-a-failed-descriptor", "VI-DG 5.5", "scribbles")
class FailedBuffers(_Scribbles):
    """The buffers of a Descriptor in error hold anything."""

    def completed(self, segments: list[dict[str, Any]], params: Params) -> None:
        if any("ERROR" in word for word in params["status"]):
            self._write(segments, 0)


@liberty("completes-when-sent", "VI-ARCH 2.5.2, E121", "completes", reference=True)
class CompletesWhenSent(Manner):
    """Reliable Delivery: a Descriptor is complete, and good, once its data are on their way."""

    def begin(self, config: Config, dut: Any) -> None:
        self._dut = dut
        self._levels: dict[Any, str] = {}
        self._connected: set[Any] = set()
        self._told: list[Any] = []  # VIs of the completions that the port still has to report
        self._own = False

    def ask(self, method: str, params: Params) -> Union[Params, Refusal]:
        if self._at_once(method, params):
            self._told.append(params["vi"])
        return params

    def answer(self, method: str, params: Params, result: Params) -> Params:
        good = result.get("return") == _SUCCESS
        if method == "VipCreateVi" and good:
            self._levels[result["vi"]] = params["ViAttribs"]["ReliabilityLevel"]
        if self._at_once(method, params) and not good:
            self._told.remove(params["vi"])
        elif self._at_once(method, params):
            descriptor = params["descriptor"]
            length = sum(segment["length"] for segment in descriptor["segments"])
            operation = ["VIP_STATUS_OP_RDMA_WRITE"] if descriptor["op"] == "rdma-write" else []
            status = ["VIP_STATUS_DONE", *operation]
            self._own = True
            completion = {"vi": params["vi"], "queue": "send", "status": status, "length": length, "immediate": None}
            self._dut.note("completion", completion)
            self._own = False
        return result

    def _at_once(self, method: str, params: Params) -> bool:
        reliable = method == "VipPostSend" and self._levels.get(params["vi"]) == "VIP_SERVICE_RELIABLE_DELIVERY"
        return reliable and params["vi"] in self._connected and params["descriptor"]["op"] in ("send", "rdma-write")

    def note(self, method: str, params: Params) -> Optional[Params]:
        if method == "state":
            (self._connected.add if params["state"] == "connected" else self._connected.discard)(params["vi"])
        if method == "completion" and not self._own and params["queue"] == "send" and params["vi"] in self._told:
            self._told.remove(params["vi"])
            return None
        return params


@liberty("one-message-at-a-time", "7.3: at most N + 1", "pipeline", of_2007=True)
class OneAtATime(Manner):
    """A port that opens one Message of a VI at a time, whatever FCVI_PIPELINE_DEPTH permits."""

    _AT = 332  # of FCVI_PIPELINE_DEPTH in a connect payload

    def begin(self, config: Config, dut: Any) -> None:
        self._asked, self._theirs = [0], 0

    def ask(self, method: str, params: Params) -> Union[Params, Refusal]:
        attributes = params.get("ViAttribs")
        if method != "VipCreateVi" or not isinstance(attributes, dict) or not isinstance(attributes.get("QoS"), dict):
            return params
        self._asked.append(attributes["QoS"].get("PipelineDepth", 0))
        return {**params, "ViAttribs": self._with(attributes, 0)}

    def answer(self, method: str, params: Params, result: Params) -> Params:
        theirs = {name: self._with(value, self._theirs) for name, value in result.items() if name == "RemoteViAttribs"}
        return {**result, **theirs}

    @staticmethod
    def _with(attributes: Any, depth: int) -> Any:
        if not isinstance(attributes, dict) or not isinstance(attributes.get("QoS"), dict):
            return attributes
        return {**attributes, "QoS": {**attributes["QoS"], "PipelineDepth": depth}}

    def _depth(self, frame: codec.Frame, kind: str, depth: int) -> bytes:
        at = in_connect(frame, kind, self._AT, 4)
        return frame.data if at is None else frame.data[:at] + depth.to_bytes(4, "big") + frame.data[at + 4 :]

    def say(self, frame: codec.Frame, kind: str) -> Optional[list[bytes]]:
        return [self._depth(frame, kind, self._asked[-1])]

    def hear(self, frame: codec.Frame, kind: str) -> Optional[bytes]:
        at = in_connect(frame, kind, self._AT, 4)
        if at is not None:
            self._theirs = int.from_bytes(frame.data[at : at + 4], "big")
        return self._depth(frame, kind, 0)


# ---- limits ----


@liberty("few-vis", "VI-DG MaxVI, E150", "vis")
class FewVis(Manner):
    """A NIC of one to three VIs."""

    def choose(self) -> None:
        self._most = self.rng.randint(1, 3)

    def claim(self, pics: dict[str, Any]) -> None:
        self._most = pics["max_vis"] = min(self._most, pics.get("max_vis", 1))

    def begin(self, config: Config, dut: Any) -> None:
        self._number = 0

    def ask(self, method: str, params: Params) -> Union[Params, Refusal]:
        return "VIP_ERROR_RESOURCE" if method == "VipCreateVi" and self._number >= self._most else params

    def answer(self, method: str, params: Params, result: Params) -> Params:
        if result.get("return") == _SUCCESS:
            self._number += {"VipCreateVi": 1, "VipDestroyVi": -1}.get(method, 0)
        return result


@liberty("short-discriminators", "7.2, VI-DG MaxDiscriminatorLen", "discriminators")
class ShortDiscriminators(Manner):
    """A NIC that takes Discriminators of 16 bytes at most, or of a few more."""

    def choose(self) -> None:
        self._most = self.rng.choice([16, 16, 17, 32, 127])

    def claim(self, pics: dict[str, Any]) -> None:
        pics["max_discriminator_len"] = self._most

    def ask(self, method: str, params: Params) -> Union[Params, Refusal]:
        addresses = [params[name] for name in ("LocalAddr", "RemoteAddr") if isinstance(params.get(name), dict)]
        long = any(len(str(a.get("discriminator", ""))) > 2 * self._most for a in addresses)
        return "VIP_INVALID_PARAMETER" if long else params


@liberty("transfers-of-32768", "VI-DG MaxTransferSize; DUT protocol, PICS", "transfer size")
class SmallTransfers(Manner):
    """A NIC whose MaxTransferSize is what a PICS that says nothing has."""

    _MOST = 32_768

    def claim(self, pics: dict[str, Any]) -> None:
        pics["max_transfer_size"] = min(self._MOST, pics.get("max_transfer_size", self._MOST))

    def ask(self, method: str, params: Params) -> Union[Params, Refusal]:
        if method != "VipCreateVi" or not isinstance(params.get("ViAttribs"), dict):
            return params
        wanted = params["ViAttribs"].get("MaxTransferSize", self._MOST)
        if not isinstance(wanted, int) or wanted > self._MOST:
            return "VIP_INVALID_MTU" if isinstance(wanted, int) else params
        return {**params, "ViAttribs": {**params["ViAttribs"], "MaxTransferSize": wanted or self._MOST}}


@liberty("claims-less", "4.2, E111", "claims")
class ClaimsLess(Manner):
    """A device that claims few of the optional things."""

    def claim(self, pics: dict[str, Any]) -> None:
        optional = ["reliable_reception", "peer_to_peer", "class2", "immediate_data", "out_of_order_fabric", "loopback"]
        for name in self.rng.sample(optional, 3):
            if pics.get(name):
                pics[name] = False


@liberty("registers-whole-pages", "VI-DG VipRegisterMem: page granularity", "registration")
class WholePages(Manner):
    """What is registered reaches to the end of its last page."""

    _PAGE = 4096

    def ask(self, method: str, params: Params) -> Union[Params, Refusal]:
        length = params.get("length")
        if method != "VipRegisterMem" or not isinstance(length, int) or length <= 0:
            return params
        return {**params, "length": -(-length // self._PAGE) * self._PAGE}
