"""The reference port with one thing broken: frames on the way out or in, what a call returns, what is reported."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from fcvi.fc import codec
from fcvi.dut.ref import RefDut
from fcvi.fc.received import kind_of

from conformance.tests.faulty import Fault, FaultyDut, FrameEdit

ParamsEdit = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass
class Entry:
    """One broken device of the bank.

    breaks: the requirements, without the prefix. cases: variants to begin with; the others follow from the requirements.
    """

    name: str
    breaks: tuple[str, ...]
    why: str
    fault: Fault
    cases: tuple[str, ...] = ()
    how: str = ""


@dataclass
class Broken(Fault):
    """A fault with what the bank adds: frames altered on the way in, delimiters, delays."""

    heard: dict[str, list[FrameEdit]] = field(default_factory=dict)  # frames that come in, by kind
    said: dict[str, list[FrameEdit]] = field(default_factory=dict)  # frames that go out, by kind
    delimiters: dict[str, dict[str, str]] = field(default_factory=dict)  # sof, eof, crc, by kind
    taken_as: dict[str, dict[str, str]] = field(default_factory=dict)  # the same, of frames that come in
    deaf: set[str] = field(default_factory=set)  # notifications to the device that it does not hear
    done: list[Callable[["BankDut", dict[str, Any]], list[dict[str, Any]]]] = field(default_factory=list)


class BankDut(FaultyDut):
    """A device of the bank."""

    fault: Broken

    def __init__(self, fault: Broken) -> None:
        self.heard: dict[str, int] = {}
        super().__init__(fault)

    def reset(self, config: dict[str, Any]) -> None:
        self.heard.clear()
        super().reset(config)

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        if method == "completion" and self.fault.done:
            every = [params]
            for change in self.fault.done:
                every = [out for one in every for out in change(self, one)]
            for one in every:
                super()._emit(method, one)
            return
        if method != "frame":
            super()._emit(method, params)
            return
        data = bytes.fromhex(params["hex"])
        view = codec.decode(data)
        kind = kind_of(view)
        self.counts[kind] = self.counts.get(kind, 0) + 1
        given = self.fault.delimiters.get(kind, self.fault.delimiters.get("*", {}))
        buf = bytearray(data)
        frames = chain(self.fault.said.get(kind, []) + self.fault.said.get("*", []))(self, view, buf)
        for frame in [bytes(buf)] if frames is None else frames:
            kept = params if frame[8:13] == data[8:13] else {"crc": "ok"}  # else the delimiters follow from the header
            self.send(kind, {**kept, **given, "hex": frame.hex()})

    def send(self, kind: str, params: dict[str, Any]) -> None:
        """A frame as it leaves."""
        RefDut._emit(self, "frame", params)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        if method in self.fault.deaf:
            return
        if method == "frame":
            data = bytes.fromhex(params["hex"])
            view = codec.decode(data)
            kind = kind_of(view)
            self.heard[kind] = self.heard.get(kind, 0) + 1
            if kind in ("CONNECT_RQST", "CONNECT_RESP1") and len(data) >= 68:
                self.memory["their handle"] = int.from_bytes(data[64:68], "big")
            params = {**params, **self.fault.taken_as.get(kind, self.fault.taken_as.get("*", {}))}
            edits = self.fault.heard.get(kind, []) + self.fault.heard.get("*", [])
            if edits:
                buf = bytearray(data)
                counts, self.counts = self.counts, self.heard
                frames = chain(edits)(self, view, buf)
                self.counts = counts
                for frame in [bytes(buf)] if frames is None else frames:
                    super().notify(method, {**params, "hex": frame.hex()})
                return
        super().notify(method, params)


def chain(edits: list[FrameEdit]) -> FrameEdit:
    """One edit after the other; the first that says which frames are sent has the last word."""

    def edit(dut: FaultyDut, view: codec.Frame, buf: bytearray) -> Optional[list[bytes]]:
        for each in edits:
            frames = each(dut, view, buf)
            if frames is not None:
                return frames
        return None

    return edit
