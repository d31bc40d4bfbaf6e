"""A plain conforming session to break in one place, and the label of a breach."""

from dataclasses import dataclass, field
from typing import Callable, Optional

from conformance.tests.breaches import flows, wire
from conformance.tests.breaches.flows import CLIENT, Connection, Port, Wire
from conformance.tests.breaches.wire import Frame

Place = Optional[tuple[int, int]]


@dataclass
class Label:
    """What is wrong in a capture: requirement (any of these states the broken sentence), frame, byte and length."""

    name: str
    requirements: tuple[str, ...]
    frame: int
    place: Place
    bits: str = ""
    notice: bool = False  #: the bit is reserved: a receiver ignores it, so lint gives a notice
    timing: bool = False  #: provable only with R_A_TOV known
    later: tuple[int, ...] = ()  #: frames with which the breach is proven, where lint may report it as well
    also: tuple[int, ...] = ()  #: frames that hold a second breach, of the other side, without which this one cannot be
    frames: list[Frame] = field(default_factory=list)


#: Name to the function that makes the capture.
CATALOGUE: dict[str, Callable[[], Label]] = {}


def short(requirements: str) -> tuple[str, ...]:
    """``6.2.2-02 T04-w0`` to full ids."""
    return tuple("FCVI-" + r for r in requirements.split())


def add(name: str, requirements: str, make: Callable[[], tuple[Wire, Frame, Place]], **more: object) -> None:
    """One breach; ``make`` gives the session, the frame that is wrong and the place in it."""
    if name in CATALOGUE:
        raise ValueError(f"two breaches of the name {name}")

    def build() -> Label:
        w, frame, place = make()
        label = Label(name, short(requirements), w.number(frame), place, frames=w.frames, **more)  # type: ignore[arg-type]
        return label

    CATALOGUE[name] = build


@dataclass
class Scene:
    """Two ports, logged in, one Connection and its IUs by name."""

    w: Wire
    a: Port
    b: Port
    c: Connection
    ius: dict[str, list[Frame]]

    def one(self, name: str) -> Frame:
        """The first frame of an IU."""
        return self.ius[name][0]


def start(login: bool = True, **parameters: int) -> tuple[Wire, Port, Port]:
    """Two ports, the second one with the higher Port_Name, logged in."""
    w = Wire()
    a, b = w.port(1), w.port(2)
    if login:
        w.run(flows.login(w, a, b, **parameters))
    return w, a, b


def scene(level: int = 3, cls: int = 3, length: int = 512, ius: int = 1, frame: int = 1024, info: bool = False, retry: bool = False,
          imm: Optional[int] = None, end: bool = True, mode: int = CLIENT, **attrs: object) -> Scene:  # fmt: skip
    """A session of every IU that the level has."""
    w, a, b = start()
    c = flows.pair(w, a, b, level, cls, **attrs)
    if retry:  # the first attempt reaches the other port, whose answer is lost on the way
        x = flows.Exchange(w, a, b, cls)
        c.id = flows.identifier(w, a.ids, 1, 99)
        w.run(flows.request(c, x, mode))
        w.wait(flows.R_A_TOV)
        w.run(flows.abort(w, x, False))
    w.run(flows.connect(c, mode, retry=retry, info=info))
    got = {"RQST": c.ius[wire.CONNECT_RQST], "RESP1": c.ius[wire.RESP1], "RESP2": c.ius[wire.RESP2], "RESP3": c.ius[wire.RESP3]}
    for name, opcode in (("SEND", wire.SEND_RQST), ("WRITE", wire.WRITE_RQST), ("READ", wire.READ_RQST)):
        if opcode == wire.READ_RQST and level == 1:
            continue
        asked, answered = w.run(flows.message(c, False, opcode, length, ius, None if opcode == wire.READ_RQST else imm,
                                              frame=frame))
        got[name] = flows.flat(asked)
        if answered:
            got[name + "_RESP"] = flows.flat(answered)
        for i, frames in enumerate(asked):
            got[f"{name}/{i}"] = frames
        for i, frames in enumerate(answered):
            got[f"{name}_RESP/{i}"] = frames
    asked, _ = w.run(flows.message(c, True, wire.SEND_RQST, length, 1, frame=frame))
    got["BACK"] = flows.flat(asked)
    if end:
        asked, answered = w.run(flows.disconnect(c))
        got["DIS"], got["DISR"] = asked, answered
    return Scene(w, a, b, c, got)
