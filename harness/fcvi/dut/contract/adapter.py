"""The checks of ``fcvi dut check frames:SPEC``: whether a frame adapter keeps to its protocol, before any case runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

from .checks import NOT_FOUND, Checks, Review, carry_out, configuration
from .session import Session
from .shapes import Shapes

ADAPTER_PROTOCOL = Shapes(Path(__file__).resolve().parents[1] / "frames.schema.json")
_HEADER = "00fffffe00fffffd" + "f0000000" + "00" * 12  # of a vendor's TYPE, to an address of no N_Port: a device discards it


class AdapterChecks(Checks):
    """One review of one frame adapter."""

    def __init__(self, session: Session, review: Review) -> None:
        super().__init__(session, review)
        self._path: dict[str, Any] = {}

    def run(self) -> None:
        """Every check. Raises DutError when the adapter falls silent, dies or sends what is no line of the protocol."""
        for title, check in (
            ("hello", self.hello),
            ("random method", self.random_method),
            ("open", self.open),
            ("unknown members", self.unknown_members),
            ("order of answers", self.order),
            ("lines in pieces", self.pieces),
            ("frames", self.frames),
        ):
            self._one(title, check)
        arrived = [params for _, method, params in self.s.notifications if method == "frame"]
        if arrived and not all("at_us" in params for params in arrived):
            self.review.note("time stamps", "frames came without at_us: the suite takes the time at which it reads their line")

    def hello(self) -> Optional[str]:
        """The adapter says who it is and what it carries."""
        answer = self.s.ask("hello", {"frames": 1})
        if answer.result is None:
            return f"hello was answered with {answer.words()}; answer with frames, implementation, version and capabilities"
        self.review.clock = "real"
        self.review.implementation = f"{answer.result.get('implementation')} {answer.result.get('version')}"
        carried = answer.result.get("capabilities")
        self._path = carried if isinstance(carried, dict) else {}
        return None

    def open(self) -> Optional[str]:
        """A case begins, and another."""
        for _ in range(2):
            answer = self.s.ask("open", self._config())
            if answer.result is None:
                return f"open was answered with {answer.words()}; answer {{}} when frames can go"
        return None

    def unknown_members(self) -> Optional[str]:
        """Members that a later version may bring."""
        answer = self.s.ask("open", {**self._config(), "x_of_a_later_version": [1, {"a": None}]}, x_trace="ignored")
        if answer.result is None:
            return f"an open with an unknown member was answered with {answer.words()}; ignore the member"
        self.s.notify("a.later.version", {"x": 1})
        return None

    def order(self) -> Optional[str]:
        """Requests that come together are answered in their order."""
        answers = [self.s.send("open" if i % 3 == 1 else f"probe.{i}", self._config()) for i in range(6)]
        for answer in answers:
            if not self.s.wait(answer):
                return "six requests that came together were not all answered"
        places = [answer.place for answer in answers]
        return None if places == sorted(places) else "requests that came together were answered out of order"

    def frames(self) -> Optional[str]:
        """Frames of every kind that it says it carries."""
        longest = self._path.get("longest", 2136)
        sizes = (24, 28, longest & ~3) if isinstance(longest, int) and 28 <= longest <= 2136 else (24,)
        for sof in self._path.get("sof", ["i3", "n3"]):
            for eof in self._path.get("eof", ["n", "t"]):
                for crc in ("ok", "bad") if self._path.get("bad_crc") is True else ("ok",):
                    for size in sizes:
                        self.s.notify("frame", {"hex": _HEADER + "5a" * (size - 24), "sof": sof, "eof": eof, "crc": crc})
        answer = self.s.ask("probe.alive")
        return None if answer.code == NOT_FOUND else "the adapter does not answer after frames of every kind that it carries"

    def _config(self) -> dict[str, Any]:
        classes = self._path.get("classes", [3])
        config = configuration()
        config["class"] = 3 if not isinstance(classes, list) or 3 in classes else 2
        return config


def check_adapter(spec: str, timeout_s: float, log: int, review: Review) -> str:
    """Run the checks. What broke them off, or "". Raises AttachError."""
    return carry_out(AdapterChecks, Session(spec, timeout_s, log, ADAPTER_PROTOCOL), review)
