"""Recordings played to one device, one after the other, and the recorded case itself where something came out otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Callable, Mapping, Optional

from fcvi.engine import pics as pics_module
from fcvi.engine.attachment import AttachError, Dut, DutError, Unavailable
from fcvi.engine.case import CaseInfo, Variant, load_cases
from fcvi.engine.catalogue import load_catalogue
from fcvi.engine.declaration import Declaration
from fcvi.engine.pics import PicsError
from fcvi.engine.pixit import Given, Pixit
from fcvi.engine.protocol import Protocol, judging_by, registered
from fcvi.engine.results import Result
from fcvi.engine.runner import not_applicable, run_variant
from . import classes
from .difference import BREACH, CLASSES, Difference
from .play import Outcome, Player
from .recording import CallEvent, Recording
from .stream_play import StreamPlayer
from .stream_recording import StreamRecording


@dataclass
class Played:
    """What a device did with a recording.

    skipped: why it was not played, when the device does not claim to do such things.
    uncalled: no call of the recording is known, and the device stayed silent, which says nothing about it.
    """

    outcome: Outcome = field(default_factory=Outcome)
    differences: list[Difference] = field(default_factory=list)
    case: Optional[Result] = None
    skipped: str = ""
    uncalled: bool = False

    def count(self, cls: str) -> int:
        """How many differences are of this class."""
        return sum(d.cls == cls for d in self.differences)

    def words(self) -> str:
        """How many there are of which class."""
        return ", ".join(f"{self.count(cls)} {cls}" for cls in CLASSES if self.count(cls)) or "same"


class Session:
    """A device that is attached when it is needed, and again when an attachment failed.

    attach: makes the attachment. pixit: what holds for a recording, by the device's clock.
    """

    def __init__(
        self, attach: Callable[[], Dut], said: Declaration, pixit: Callable[[Recording, Given, str], Pixit],
        ignore: frozenset[str], seed: int = 1,
    ) -> None:  # fmt: skip
        self._attach, self._said, self._pixit, self._ignore, self._seed = attach, said, pixit, ignore, seed
        self._dut: Optional[Dut] = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._let_go()

    def _let_go(self) -> None:
        dut, self._dut = self._dut, None
        if dut is not None:
            dut.close()

    def play(self, recording: Recording) -> Played:
        """Play. Raises AttachError, DutError, Unavailable, PicsError; after that the next call attaches again."""
        try:
            self._dut = self._dut or self._attach()
            pics = self._said.pics
            if pics is None:
                with judging_by(*wires()):
                    pics = pics_module.of_hello(self._dut.pics)
            with judging_by(_book_of(recording)):
                return self._play(self._dut, recording, pics)
        except (AttachError, DutError, Unavailable, PicsError):
            self._let_go()
            raise

    def _play(self, dut: Dut, recording: Recording, pics: dict[str, Any]) -> Played:
        known = _case_of(recording)
        if known is not None:
            skipped = not_applicable(*known, pics)
            if skipped is not None:
                return Played(skipped=skipped.reason)
        if bool(pics.get("tcp")) != isinstance(recording, StreamRecording):
            names = ("frames of FC-VI", "streams of VI/TCP")
            of_streams = isinstance(recording, StreamRecording)
            return Played(skipped=f"the recording is of {names[of_streams]}, and the device speaks {names[not of_streams]}")
        speaks = str(pics.get("revision") or "2007")
        if recording.edition != speaks:
            return Played(skipped=f"the recording is of edition {recording.edition}, and the PICS of the device says {speaks}")
        lacking = [item for item in _needs(recording) if pics.get(item) is False]
        if lacking:
            return Played(skipped=f"the recording needs {' and '.join(lacking)}, which the PICS of the device does not claim")
        pixit = self._pixit(recording, self._said.pixit, dut.clock)
        if isinstance(recording, StreamRecording):
            pixit = dut.settled(replace(pixit, profile=recording.profile))
            outcome = StreamPlayer(dut, recording, _between(recording.config, pixit), pixit.late_us, self._ignore).run()
        else:
            config = _config(recording.config, self._said.pixit, pixit)
            if recording.edition != "2007":
                config["revision"] = recording.edition
            outcome = Player(dut, recording, config, pixit.late_us, self._ignore).run()
        played = Played(outcome)
        found = list(outcome.differences)
        if found and known is not None:
            played.case = run_variant(dut, *known, pics, dut.settled(pixit), load_catalogue().levels, self._seed)
            found += classes.of_case(played.case)
        played.differences = [classes.classify(d, played.case) for d in found]
        played.uncalled = _uncalled(recording, played)
        return played


def wires() -> tuple[Protocol, ...]:
    """The books whose items a PICS may have here: a device may speak another wire or edition than the recording."""
    return tuple(p for p in registered() if p.line is not None)


def _book_of(recording: Recording) -> Protocol:
    """The book that judges what was recorded."""
    if isinstance(recording, StreamRecording):
        return next(p for p in registered() if p.streams)
    return next(p for p in registered() if p.edition == recording.edition)


def _uncalled(recording: Recording | StreamRecording, played: Played) -> bool:
    """A device that was given no call owes no frame, so that its silence says nothing about it."""
    silent = next((d.kind == "missing" for d in played.differences), False)
    return isinstance(recording, Recording) and not recording.knows_calls and silent and not played.count(BREACH)


def _case_of(recording: Recording) -> Optional[tuple[CaseInfo, Variant]]:
    """The case that was recorded, if it is one of this suite's (or of the user's own)."""
    name = recording.case.partition("/")[0]
    return next(((c, v) for c in load_cases() if c.id == name for v in c.variants if c.variant_id(v) == recording.case), None)


_LEVELS = {
    "VIP_SERVICE_UNRELIABLE": "unreliable_delivery", "VIP_SERVICE_RELIABLE_DELIVERY": "reliable_delivery",
    "VIP_SERVICE_RELIABLE_RECEPTION": "reliable_reception",
}  # fmt: skip


def _needs(recording: Recording) -> list[str]:
    """Items of the PICS without which a device cannot do what was recorded."""
    found = ["class2"] if recording.config.get("class") == 2 else []
    for event in recording.events:
        if not isinstance(event, CallEvent):
            continue
        if event.method.startswith("VipConnectPeer"):
            found.append("peer_to_peer")
        attributes = event.params.get("ViAttribs") if event.method == "VipCreateVi" else None
        if isinstance(attributes, dict):
            found.append(_LEVELS.get(str(attributes.get("ReliabilityLevel", "VIP_SERVICE_UNRELIABLE")), ""))
    return [item for item in dict.fromkeys(found) if item]


def _config(recorded: Mapping[str, Any], given: Given, pixit: Pixit) -> dict[str, Any]:
    """The configuration now: the recorded one, with the timers of the PIXIT and the addresses that the lab gives."""
    config: dict[str, Any] = {**recorded, "r_a_tov_us": pixit.r_a_tov_us, "e_d_tov_us": pixit.e_d_tov_us}
    default = Given()
    if given.dut != default.dut:
        config.update(given.dut.as_json())
    if given.tester != default.tester:
        config["peer"] = given.tester.as_json()
    return config


def _between(recorded: Mapping[str, Any], pixit: Pixit) -> dict[str, Any]:
    """The configuration of streams now: the recorded one, between the addresses that the attachment has."""
    ends = pixit.ends
    if ends is None:
        return dict(recorded)
    return {**recorded, "host": [ends.dut], "peer": {"host": [ends.tester]}, "port": ends.port}


def first(played: Played) -> Optional[Difference]:
    """The difference to begin with: a breach if there is one, then what came first."""
    return next((d for d in played.differences if d.cls == BREACH), next(iter(played.differences), None))


__all__ = ["Played", "Session", "first"]
