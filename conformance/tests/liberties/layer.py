"""The layer in which liberties act: between the suite and a device of this process, in virtual time."""

from __future__ import annotations

from typing import Any, Callable, Iterable

from fcvi.engine.attachment import Dut, Notification, Reply
from fcvi.fc import codec
from fcvi.fc.received import kind_of

from conformance.tests.odd_latency import Latency, LatentDut

from .manner import Manner, Params

_ABTS = 0x81
#: Calls whose answer tells how things stand with a VI: what was to be told of it before comes first.
_SETTLES = ("VipQueryVi", "VipDisconnect", "VipDestroyVi")
#: Frames behind which nothing of the device is held back.
_BARRIERS = ("DISCONNECT_RQST", "LOGO", "PLOGI", "FLOGI", "ABTS")
#: How much of E_D_TOV a frame of class 2 may wait in the layer.
_OF_E_D_TOV = 0.4
#: A Message follows the IU by which its sender has finished the setup (5.3.2).
_FINISHES, _MESSAGES = ("CONNECT_RESP2", "CONNECT_RESP3"), ("SEND_RQST", "WRITE_RQST", "READ_RQST")


class _Held:
    """Something that waits in an order of its own."""

    def __init__(self, order: str, kind: str, act: Callable[[int], None]) -> None:
        self.order, self.kind, self._act, self._over = order, kind, act, False

    def go(self, due: int) -> None:
        if not self._over:
            self._over = True
            self._act(due)

    def drop(self) -> None:
        self._over = True


class FreeDut(LatentDut):
    """A device that takes these liberties. The first manner is nearest to the port."""

    def __init__(self, inner: Dut, manners: list[Manner], name: str) -> None:
        self.manners = manners
        super().__init__(inner, Latency(name))
        self.spec = f"{inner.spec} with {', '.join(m.name for m in manners) or 'no liberty'}"
        self.pics = dict(inner.pics)
        for manner in manners:
            manner.claim(self.pics)

    def _forget(self) -> None:
        super()._forget()
        self._held: list[_Held] = []
        self._begins: dict[Any, int] = {}  # by VI: when the port begins with its latest call

    def reset(self, config: dict[str, Any]) -> None:
        inside = dict(config)
        self.config = config
        for manner in reversed(self.manners):
            manner.begin(inside, self)
        super().reset(inside)

    # ---- to the device ----

    def request(self, method: str, params: dict[str, Any]) -> Reply:
        reply = Reply(method)
        given = []  # what each layer was given, the nearest to the suite first
        inside = params
        for manner in reversed(self.manners):
            given.append(inside)
            taken = manner.ask(method, inside)
            if isinstance(taken, str):
                refused = Reply(method, True, {"return": taken} if taken.startswith("VIP_") else {})
                if not taken.startswith("VIP_"):
                    refused.error = (int(taken), "not served")
                self._give_back(refused, reply, params)
                return reply
            inside = taken

        of_suite = reply
        if any(m.returns_first(method, params) for m in self.manners):
            self._give_back(Reply(method, True, {"return": "VIP_SUCCESS"}), reply, params)
            of_suite = Reply(method)

        def begin(_: int) -> None:
            self._pending.append((self._inner.request(method, inside), of_suite, given))
            self._collect()

        late, vi = max([0, *(m.begun(method) for m in self.manners)]), params.get("vi")
        due = max(self._inner.now_us + late, self._begins.get(vi, 0))  # calls for one VI keep their order
        if vi is not None:
            self._begins[vi] = due
        self._after(due - self._inner.now_us, begin)
        return reply

    @property
    def _pending(self) -> list[tuple[Reply, Reply, list[Params]]]:
        return self._open  # type: ignore[return-value]

    def notify(self, method: str, params: dict[str, Any]) -> None:
        if method != "frame":  # the link itself has no latency: what came before it is heard, what was to leave is gone
            self._release(lambda held: True)
            self._inner.notify(method, params)
            self._collect()
            return

        def hear(_: int) -> None:
            self._hear(params)
            self._collect()

        self._hold("heard", sum(m.on_the_way_in() for m in self.manners), hear)

    def _hear(self, params: dict[str, Any]) -> None:
        data = bytes.fromhex(params["hex"])
        for manner in reversed(self.manners):
            view = codec.decode(data)
            taken = manner.hear(view, kind_of(view))
            if taken is None:
                return
            data = taken
        if data[:1] == bytes([_ABTS]):
            self.withdraw(f"Exchange {data[16:18].hex()} {data[9] & 0x80 ^ 0x80}")
        self._inner.notify("frame", {**params, "hex": data.hex()})

    # ---- from the device ----

    def _collect(self) -> None:
        while self._inner.inbox:
            note = self._inner.inbox.popleft()
            if note.method == "frame":
                self._frame(note.params)
            else:
                self.note(note.method, note.params)
        for entry in [entry for entry in self._pending if entry[0].done]:
            self._pending.remove(entry)
            of_port, reply, given = entry
            result = of_port.result
            if of_port.error is None:
                for manner, params in zip(self.manners, reversed(given)):
                    result = manner.answer(reply.method, params, result)
            self._give_back(Reply(reply.method, True, result, of_port.error), reply, given[0] if given else {})

    def note(self, method: str, params: dict[str, Any]) -> None:
        """A notification of the port, but for frames."""
        for manner in self.manners:
            noted = manner.note(method, params)
            if noted is None:
                return
            params = noted
        if method in ("error", "state") and params.get("vi") is not None:
            self._settle(params["vi"])
        self.tell(method, params, lambda due: self.inbox.append(Notification(method, params, due, due)))

    def _give_back(self, made: Reply, reply: Reply, params: dict[str, Any]) -> None:
        if reply.method in _SETTLES:
            self._settle(params.get("vi"))

        def deliver(due: int) -> None:
            reply.done, reply.result, reply.error, reply.time_us = True, made.result, made.error, due

        self.tell(reply.method, params, deliver)

    def tell(self, method: str, params: dict[str, Any], deliver: Callable[[int], None]) -> None:
        """Give the suite a return or notification in its order."""
        common = sum(m.told() for m in self.manners)
        own = [found for m in self.manners if (found := m.told_apart(method, params)) is not None]
        if own:
            order, late = max(own, key=lambda pair: pair[1])
            self._hold(order, late, lambda _: self._later("control", (0, 0), common, deliver))
        else:
            self._later("control", (0, 0), common, deliver)

    def _frame(self, params: dict[str, Any]) -> None:
        frames = [bytes.fromhex(params["hex"])]
        for manner in self.manners:
            frames = [one for data in frames for one in _said(manner, data)]
        for data in frames:
            same = len(frames) == 1 and data[8:13].hex() == params["hex"][16:26]
            kept = params if same else {"crc": "ok"}  # else the delimiters follow from the header
            self.emit({**kept, "hex": data.hex()})

    def emit(self, params: dict[str, Any]) -> None:
        """A frame leaves the device."""
        view = codec.decode(bytes.fromhex(params["hex"]))
        kind = kind_of(view)
        for manner in self.manners:
            params = {**params, **(manner.delimiters(view, kind) or {})}

        def deliver(due: int) -> None:
            self.inbox.append(Notification("frame", params, due, due))

        def leave(_: int) -> None:
            self._later("wire", (0, 0), sum(m.on_the_wire() for m in self.manners), deliver)

        if kind in _BARRIERS:
            self._release(lambda held: held.order.startswith("Exchange"))
        elif kind in _MESSAGES:
            self._release(lambda held: held.kind in _FINISHES)
        order = f"Exchange {view.data[16:18].hex()} {view.data[9] & 0x80}"
        if kind in _MESSAGES:  # those of one VI follow each other (VI-ARCH 2.5)
            order = f"Exchange of {view.get('DH', 'FCVI_HANDLE')}"
        if kind.startswith("ACK"):  # it holds up no answer, whose timer runs from when the port has made it
            order += " ACK"
            if any(m.acks_for_themselves for m in self.manners):
                order += f" {view.header('SEQ_CNT')}"
        late = max([0, *(m.apart(view, kind) for m in self.manners)])
        if self.config["class"] == 2:  # the port waits E_D_TOV for the ACK to what it has made
            late = min(late, int(_OF_E_D_TOV * self.config["e_d_tov_us"]))
        self._hold(order, late, leave, kind)

    def advance(self, us: int) -> None:
        super().advance(us)
        if any(m.hides_next for m in self.manners):
            self.next_us, self.knows_next = None, False

    # ---- what is held back ----

    def _hold(self, order: str, late: int, act: Callable[[int], None], kind: str = "") -> None:
        held = _Held(order, kind, act)
        self._held.append(held)

        def go(due: int) -> None:
            if held in self._held:
                self._held.remove(held)
            held.go(due)

        self._later(order, (0, 0), late, go)

    def _release(self, which: Callable[[_Held], bool]) -> None:
        released = [held for held in self._held if which(held)]
        for held in released:
            self._held.remove(held)
            self._last.pop(held.order, None)
            held.go(self._inner.now_us)

    def _settle(self, vi: Any) -> None:
        self._release(lambda held: held.order.startswith("completions") or held.order == f"VI {vi}")

    def withdraw(self, order: str, kind: str = "") -> None:
        """Forget what waits in an order of this name, and is of this kind if one is given."""
        for held in [held for held in self._held if held.order.startswith(order) and kind in ("", held.kind)]:
            self._held.remove(held)
            held.drop()


def _said(manner: Manner, data: bytes) -> Iterable[bytes]:
    view = codec.decode(data)
    frames = manner.say(view, kind_of(view))
    return [data] if frames is None else frames
