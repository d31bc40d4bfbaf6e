"""The agent: lines in, lines out (dut-protocol.md 2 to 4, dut-protocol-verbs.md)."""

from __future__ import annotations

import functools
import json
import os
import struct
import sys
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple

from .caller import Answer, Wait
from .calls import Calls, pics
from .choices import Choices
from .engine import RealClock, VirtualClock
from .faults import NEEDS
from .memory import Memory
from .model import Model
from .posting import Reader, post, thing
from .qp import Qp
from .queues import Cq, Wqe
from .words import EOPNOTSUPP, BadParams, NoRoom, Params, Refused, flag, number, octets, optional

PARSE, REQUEST, METHOD, PARAMS, NO_RESET, GONE, NO_ROOM = -32700, -32600, -32601, -32602, -32000, -32001, -32002
LONGEST = 65_536
WORD = struct.Struct("=I")
GOLDEN = 2654435761
ROUNDS = 16


@functools.lru_cache(64)
def _pattern(length: int, seed: int) -> bytes:
    """The bytes that follow from a seed (mem.pattern)."""
    return bytes(((index + seed) * GOLDEN >> 24) & 255 for index in range(length))


class Open:
    """A call that has not been answered."""

    __slots__ = ("ident", "wait", "since", "until", "thread", "verb")

    def __init__(self, ident: Any, wait: Wait, since: int, thread: Optional[int], verb: bool) -> None:
        self.ident, self.wait, self.since, self.thread, self.verb = ident, wait, since, thread, verb
        self.until = None if wait.us is None else since + wait.us


class Loop:
    """agent.loop: post, wait for the WC, begin again."""

    kind = "loop"

    def __init__(self, qp: Qp, cq: Cq, wr: Params, times: int, limit: Optional[int], since: int) -> None:
        self.qp, self.cq, self.wr, self.times = qp, cq, wr, times
        self.us = limit
        self.done, self.errno = 0, 0
        self.status: Optional[str] = None
        self.over = self.posted = False
        self.since = self.due = since


class Server:
    """One agent."""

    def __init__(self, flavour: str, choose: Choices, fault: Optional[str], write: Callable[[str], None], names: List[str],
                 addresses: List[str], clock: Optional[RealClock] = None) -> None:
        self.flavour, self.choose, self.fault, self.write = flavour, choose, fault, write
        self.names, self.addresses, self.clock = names, addresses, clock or RealClock()
        if fault in NEEDS:
            choose.also(NEEDS[fault])
        self.model = self._model(0)
        self.calls: Optional[Calls] = None
        self.open: List[Open] = []
        self.queued: Dict[int, Deque[Tuple[Any, str, Params]]] = {}
        self.loops: List[Loop] = []
        self._verbs = {f"verbs.{name}" for name in Calls(self.model).table}
        self._own: Dict[str, Callable[[Params], Any]] = {
            "mem.new": self._mem_new, "mem.read": self._mem_read, "mem.write": self._mem_write, "mem.pattern": self._mem_pattern,
            "mem.poll": self._mem_poll, "agent.loop": self._loop, "agent.stop": self._stop, "agent.state": self._state,
            "agent.hold": self._hold, "agent.exit": self._exit}
        self._moves: Dict[str, Callable[[Params], Any]] = {}
        self._seed = 0
        if isinstance(self.clock, VirtualClock):  # whose time goes on where a process that ended would be started anew
            self._own["agent.exit"] = self._born_again
            self._moves = {"clock.advance": self._advance, "clock.next": self._next}

    def _model(self, seed: int) -> Model:
        return Model(self.flavour, self.choose, self.fault, self.notify, self.names, self.addresses, self.clock, seed)

    # Out

    def notify(self, method: str, params: Dict[str, Any]) -> None:
        """A notification, now."""
        self._say({"jsonrpc": "2.0", "method": method, "params": params})

    def _say(self, message: Dict[str, Any]) -> None:
        self.write(json.dumps(message) + "\n")

    def _result(self, ident: Any, result: Dict[str, Any]) -> None:
        if self.choose.members == "extra":
            result["x_unknown"] = [1, "two"]
        self._say({"jsonrpc": "2.0", "id": ident, "result": result})

    def _error(self, ident: Any, code: int, message: str) -> None:
        self._say({"jsonrpc": "2.0", "id": ident, "error": {"code": code, "message": message}})

    # In

    def line(self, raw: bytes) -> None:
        """One line from the suite."""
        try:
            message = json.loads(raw)
        except (ValueError, RecursionError):
            self._error(None, PARSE, "no JSON")
            return
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            self._error(message.get("id") if isinstance(message, dict) else None, REQUEST, "no request")
            return
        if "id" in message:
            params = message.get("params", {})
            if isinstance(params, dict):
                self.request(message["id"], message["method"], params)
            else:
                self._error(message["id"], PARAMS, "params must be an object")
        self.turn()

    def request(self, ident: Any, method: str, params: Params) -> None:
        """One call."""
        try:
            if method == "hello":
                self._result(ident, self._hello(params))
            elif method == "reset":
                self._reset(params)
                self._result(ident, {})
            elif method == "agent.devices":
                self._result(ident, {"devices": self.names, "addresses": self.addresses})
            elif method not in self._verbs and method not in self._own and method not in self._moves:
                self._error(ident, METHOD, f"no method {method}")
            elif self.calls is None:
                self._error(ident, NO_RESET, "no reset yet")
            elif method in self._moves:
                self._result(ident, self._moves[method](params))
            else:
                self._ordered(ident, method, params)
        except BadParams as problem:
            self._error(ident, PARAMS, str(problem))

    def _ordered(self, ident: Any, method: str, params: Params) -> None:
        thread = optional(params, "thread")
        if thread is not None:
            if thread > 15:
                raise BadParams("thread: 0 to 15")
            if any(call.thread == thread for call in self.open):
                self.queued.setdefault(thread, deque()).append((ident, method, params))
                return
        self._make(ident, method, params, thread)

    def _make(self, ident: Any, method: str, params: Params, thread: Optional[int]) -> None:
        assert self.calls is not None
        since, verb = self.clock.now_us(), method in self._verbs
        try:
            result = self.calls.table[method[6:]](params) if verb else self._own[method](params)
            if isinstance(result, Wait):
                waiting = Open(ident, result, since, thread, verb)
                self.open.append(waiting)
                self.model.engine.run()
                self._try(waiting)
                return
            self.model.engine.run()
            self._answer(ident, result, since, verb)
        except Refused as refused:
            self.model.engine.run()
            self._refused(ident, refused, since)
        except BadParams as problem:
            self._error(ident, PARAMS, str(problem))
        except NoRoom as problem:
            self._error(ident, NO_ROOM, str(problem))

    def _answer(self, ident: Any, result: Answer, since: int, verb: bool) -> None:
        if verb:
            result = {"return": "success", "errno": 0, "us": self.clock.now_us() - since, "at_us": self.model.now_us(), **result}
        self._returns(ident, result)

    def _refused(self, ident: Any, refused: Refused, since: int) -> None:
        odd = self.choose.errnos == "odd" and refused.number != EOPNOTSUPP
        self._returns(ident, {"return": "immediate-error", "errno": 133 if odd else refused.number,
                              "us": self.clock.now_us() - since,
                              "at_us": self.model.now_us(), **refused.also})

    def _returns(self, ident: Any, result: Dict[str, Any]) -> None:
        """A call was made; it may take its time to return."""
        if self.choose.calls == "take-time":
            self.model.engine.after(1_000, self._result, ident, result)
        else:
            self._result(ident, result)

    # Calls that wait

    def _try(self, call: Open) -> bool:
        last = call.until is not None and self.clock.now_us() >= call.until
        try:
            result = call.wait.attempt(last)
            if result is None:
                return False
            self.open.remove(call)
            self._answer(call.ident, result, call.since, call.verb)
        except Refused as refused:
            self.open.remove(call)
            self._refused(call.ident, refused, call.since)
        if call.thread is not None:
            self._follow(call.thread)
        return True

    def _follow(self, thread: int) -> None:
        waiting = self.queued.get(thread)
        while waiting and not any(call.thread == thread for call in self.open):
            ident, method, params = waiting.popleft()
            self._make(ident, method, params, thread)

    def turn(self) -> None:
        """Do what is due, and answer the calls that have an answer."""
        self.model.engine.run()
        again = bool(self.open)
        while again:
            again = any([self._try(call) for call in list(self.open) if call in self.open]) and bool(self.open)
            self.model.engine.run()
        for loop in list(self.loops):
            if not loop.over and loop.due <= self.clock.now_us():
                self._step(loop)

    def wait_us(self) -> Optional[int]:
        """Microseconds until something is due."""
        dues = [loop.due for loop in self.loops if not loop.over]
        dues += [call.until for call in self.open if call.until is not None]
        timer = self.model.engine.due_us()
        dues += [] if timer is None else [timer]
        return max(0, min(dues) - self.clock.now_us()) if dues else None

    # The clock, where the suite moves it

    def _advance(self, params: Params) -> Answer:
        assert isinstance(self.clock, VirtualClock)
        end = self.clock.at_us + number(params, "us")
        self.turn()
        while (wait := self.wait_us()) is not None and self.clock.at_us + wait <= end:
            self.clock.at_us += wait
            self.turn()
        self.clock.at_us = end
        return {"now_us": end, "next_us": self.wait_us()}

    def _next(self, _: Params) -> Answer:
        return {"us": self.wait_us()}

    # hello and reset

    def _hello(self, params: Params) -> Answer:
        if number(params, "protocol") not in (1, 2):
            raise BadParams("protocol 1 or 2")
        return {"implementation": f"independent model of verbs ({self.flavour})", "version": "1", "clock": self.clock.name,
                "protocol": 2, "wires": ["verbs"], "devices": self.names, "addresses": self.addresses, "pics": pics(self.model)}

    def _reset(self, params: Params) -> None:
        if params.get("wire", "verbs") != "verbs":
            raise BadParams("wire: verbs only")
        seed = params.get("seed", 0)
        if not isinstance(seed, int):
            raise BadParams("seed: a number is needed")
        if isinstance(self.clock, VirtualClock):
            self.clock.at_us = 0
        self._seed = seed
        self._anew(seed)

    def _anew(self, seed: int) -> None:
        """All that was there is gone."""
        for call in self.open:
            self._error(call.ident, GONE, "reset")
        for waiting in self.queued.values():
            for ident, _, _ in waiting:
                self._error(ident, GONE, "reset")
        self.open, self.queued, self.loops = [], {}, []
        held = self.model.engine.selector.get_map().values()
        sources = [(key.fileobj, key.data) for key in held if getattr(key.data, "lasting", False)]
        self.model.end()
        self.model = self._model(seed)
        for source, step in sources:
            self.model.engine.watch(source, step)
        self.calls = Calls(self.model)

    # Memory

    def _memory(self, params: Params) -> Memory:
        found: Memory = thing(self.model, params, "mem", Memory)
        return found

    def _mem_new(self, params: Params) -> Answer:
        length, align = number(params, "length"), number(params, "align", 0)
        fill, pages = octets(params, "fill", "00"), params.get("pages", "read-write")
        if not length or align > 4095 or not fill or pages not in ("read-write", "read-only"):
            raise BadParams("mem.new: length from 1, align up to 4095, a fill, pages read-write or read-only")
        memory = self.model.memory(length, fill, align, pages == "read-write")
        if memory is None:
            raise NoRoom("no memory for this")
        return {"mem": self.model.keep(memory), "va": f"{memory.va:016x}"}

    def _range(self, params: Params, length: int) -> Tuple[Memory, int]:
        memory, offset = self._memory(params), number(params, "offset", 0)
        if offset + length > len(memory.data):
            raise BadParams("the range is not within the memory")
        return memory, offset

    def _mem_read(self, params: Params) -> Answer:
        length = number(params, "length")
        if length > 30_000:
            raise BadParams("length: at most 30000")
        memory, offset = self._range(params, length)
        return {"hex": memory.data[offset:offset + length].hex()}

    def _mem_write(self, params: Params) -> Answer:
        data = octets(params, "hex")
        memory, offset = self._range(params, len(data))
        memory.data[offset:offset + len(data)] = data
        return {}

    def _mem_pattern(self, params: Params) -> Answer:
        length, seed = number(params, "length"), number(params, "seed")
        memory, offset = self._range(params, length)
        data = _pattern(length, seed)
        if not flag(params, "check"):
            memory.data[offset:offset + length] = data
            return {}
        held = memory.data[offset:offset + length]
        wrong = [index for index in range(length) if held[index] != data[index]] if held != data else []
        return {"wrong": len(wrong), "first": wrong[0] if wrong else None}

    def _mem_poll(self, params: Params) -> Wait:
        places = params.get("places")
        if not isinstance(places, list) or not 1 <= len(places) <= 64 or not all(isinstance(one, dict) for one in places):
            raise BadParams("places: 1 to 64 places")
        spots = [self._range(one, 4) for one in places]
        mask, value = number(params, "mask", 0xffffffff), number(params, "value")
        met: List[Answer] = []
        left = list(range(len(spots)))[::-1]
        turn, since = 0, self.clock.now_us()

        def attempt(last: bool) -> Optional[Answer]:
            nonlocal turn
            for index in list(left):
                memory, offset = spots[index]
                if WORD.unpack_from(memory.data, offset)[0] & mask == value & mask:
                    left.remove(index)
                    met.append({"place": index, "round": turn, "us": self.clock.now_us() - since})
            turn += 1
            return {"met": met} if last or not left else None

        return Wait(optional(params, "Timeout"), attempt)

    # The agent itself

    def _loop(self, params: Params) -> Answer:
        qp, cq = thing(self.model, params, "qp", Qp), thing(self.model, params, "cq", Cq)
        wr = params.get("wr")
        if not isinstance(wr, dict):
            raise BadParams("wr: an object is needed")
        Reader(self.model).one(wr, True)
        loop = Loop(qp, cq, wr, number(params, "times", 0), optional(params, "Timeout"), self.clock.now_us())
        self.loops.append(loop)
        return {"loop": self.model.keep(loop)}

    def _step(self, loop: Loop) -> None:
        """A few rounds of a loop, so that nobody waits for it long."""
        loop.due = self.clock.now_us() + ROUNDS * self.clock.round_us
        for _ in range(ROUNDS):
            if not loop.posted:
                wqe: Wqe = Reader(self.model).one(loop.wr, True)
                try:
                    post(self.model, loop.qp, [wqe], True)
                except Refused as refused:
                    loop.errno, loop.over = refused.number, True
                    return
                loop.posted, loop.since = True, self.clock.now_us()
                self.model.engine.run()
            found = loop.cq.poll(1)
            if not found:
                if loop.us is not None and self.clock.now_us() - loop.since > loop.us:
                    loop.over = True
                return
            loop.posted = False
            if found[0].status != "SUCCESS":
                loop.status, loop.over = found[0].status, True
                return
            loop.done += 1
            if loop.times and loop.done >= loop.times:
                loop.over = True
                return

    def _stop(self, params: Params) -> Answer:
        loop: Loop = thing(self.model, params, "loop", Loop)
        loop.over = True
        return {"done": loop.done, "status": loop.status, "errno": loop.errno}

    def _state(self, _: Params) -> Answer:
        counts: Dict[str, int] = {}
        for held in self.model.objects.values():
            kind = getattr(held, "kind", "mem")
            counts[kind] = counts.get(kind, 0) + 1
        with open("/proc/self/statm", encoding="ascii") as statm:
            pages = int(statm.read().split()[1])
        return {"threads": 1, "memory": pages * 4096, "open": counts}

    def _hold(self, params: Params) -> Answer:
        self.model.hold(flag(params, "async"))
        return {}

    def _born_again(self, _: Params) -> Answer:
        self._anew(self._seed)
        return {}

    def _exit(self, _: Params) -> Answer:
        sys.stdout.flush()
        os._exit(0)
