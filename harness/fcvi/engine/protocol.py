"""Says what the engine knows of a standard: the protocol object that the standard's folder hands in.

The engine is the same for every standard. Whatever it needs to know of one (its catalogue, its cases, its wire) it asks the
object here. conformance/ finds the folders of the standards, and the command registers what it finds.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, Optional, Protocol as Shape, Sequence

if TYPE_CHECKING:
    from .attachment import Dut
    from .case import CaseInfo
    from .pics import Items
    from .pixit import Pixit, Profile
    from .results import Result, TraceFrame
    from .review import PicsRule
    from .scenario import Scenario


class View(Shape):
    """A unit of the wire, decoded."""

    def summary(self) -> str:
        """One line: the name of the unit, then what matters of it."""

    def text(self) -> str:
        """Every field, one a line, which begins with the number of its first byte."""

    def json(self) -> dict[str, Any]:
        """"fields": an array of objects with "name", "byte", "size" and "bits"."""


@dataclass(frozen=True)
class Line:
    """How the units of a wire are written into a capture and put into words.

    linktype: as pcapng has it. captured: the packets of a unit in a capture, one as a rule. decode: the unit in words; with its
    checksum when the flag is set.
    """

    linktype: int
    captured: Callable[[TraceFrame], Sequence[bytes]]
    decode: Callable[[TraceFrame, bool], View]
    #: A unit for the page of a case (page.py): its kind, and the fields of it that matter.
    words: Callable[[View], str] = lambda view: view.summary()


def _load(module: str, name: str, *given: Any, **named: Any) -> Any:
    found = import_module(module)
    wanted = getattr(found, name) if name else found
    return wanted(*given, **named) if callable(wanted) else wanted


def later(module: str, name: str = "") -> Callable[..., Any]:
    """What loads a module when it is called, and calls the function of this name there or gives the value; without a name it gives
    the module."""
    return partial(_load, module, name)


def _no_configuration(pixit: Pixit, seed: int, changes: Mapping[str, Any]) -> dict[str, Any]:
    return {"r_a_tov_us": pixit.r_a_tov_us, "seed": seed, **changes}


def _as_given(pixit: Pixit, clock: str, rng: Random) -> tuple[Pixit, Mapping[str, Any]]:
    return pixit, {}


def _nothing() -> Any:
    return ()


@dataclass(frozen=True)
class Edition:
    """Another edition of a standard, told by its differences: folder has requirements.tsv, holds.tsv, topics.tsv and errata.md."""

    name: str  # "rev1"
    standard: str  # in words
    folder: Path


@dataclass(frozen=True, eq=False)
class Protocol:
    """One standard.

    What is a function here loads its part of the standard when it is called, so that a command need not wait for what it
    does not use.
    """

    name: str  # "FC-VI"
    standard: str  # "ISO/IEC 14165-331:2007"
    prefix: str  # which the ids of its requirements begin with: "FCVI-"
    erratum: str  # the letter of its errata: "E"
    folder: Path  # where requirements.tsv and errata.md are
    cases: Callable[[], Iterable[CaseInfo]]
    #: Makes a Scenario, with the lower tester and the monitor of the wire: (dut, pics, pixit, levels, rng, params, config).
    scenario: Callable[..., Scenario]
    #: The parameters of ``reset`` for one variant: (PIXIT, seed, what the variant changes).
    configuration: Callable[[Pixit, int, Mapping[str, Any]], dict[str, Any]] = _no_configuration
    #: Draws for one case what the lab left open, within what the standard allows: (PIXIT, clock of the device, what to draw with)
    #: give the PIXIT of the case, and members of ``reset`` that a variant may change in turn.
    draw: Callable[[Pixit, str, Random], tuple[Pixit, Mapping[str, Any]]] = _as_given
    shortens: bool = False  # in real time it heeds Pixit.pace
    pics: Optional[Items] = None
    pics_rules: Callable[[], Sequence[PicsRule]] = _nothing
    #: The kinds of attachment that are this standard's: what stands before the colon of ``--dut`` (target.py).
    attachments: tuple[str, ...] = ()
    #: Attaches one of them: (target, identity=, rpc_timeout_s=, log=). None: as another standard attaches this kind.
    attach: Optional[Callable[..., Dut]] = None
    line: Optional[Callable[[], Line]] = None  # None: there is no wire
    streams: bool = False  # the wire is streams of bytes, and no frames
    #: The numbers that the standard leaves open, of a file, or those that are taken without one. Raises FileError.
    profile: Optional[Callable[[Optional[str]], Profile]] = None
    #: Where a device can be attacked: a module with STATES, states, probe (attack/blackbox.py).
    attack: Optional[Callable[[], Any]] = None
    #: The letters of random words and what each owes: a module (random/play.py, learn/).
    words: Callable[[], Any] = _nothing
    #: The steps of conformance that the standard names, given all results and the verdict of each requirement: for each step in
    #: order "name", "holds" ("yes", "no", "open"), "broken" and "open" (requirements). Empty when nothing of them was tried.
    phases: Optional[Callable[[Sequence[Result], Mapping[str, str]], list[dict[str, Any]]]] = None
    #: A device of our own in this process, on a virtual clock, and its PIXIT: on it the page of a case is made (page.py). Raises
    #: ImportError where the installation has none.
    reference: Optional[Callable[[], tuple[Dut, Pixit]]] = None
    #: What this edition is called beside the others ("2007", "rev1": the word of ``hello``, ``reset`` and --revision), and how the
    #: others differ from it.
    edition: str = ""
    others: tuple[Edition, ...] = ()
    #: Of an edition that is told by its differences: the standard whose requirements and errata are also this one's, as far as
    #: holds.tsv of the folder says that they hold.
    base: Optional[Protocol] = None

    @property
    def book(self) -> str:
        """What ``--book`` and reports call it: the name of its folder."""
        return self.folder.name


class ProtocolError(ValueError):
    """Standards that do not go together."""


_REGISTERED: dict[str, Protocol] = {}
_BESIDE: list[Protocol] = []
_IN_FORCE: list[Protocol] = []


def register(*protocols: Protocol, beside: bool = False) -> None:
    """Make standards known, in this order. One that is known is left as it is. beside: the user names them beside those of the
    suite, so that they are listed with its first. Raises ProtocolError."""
    for protocol in protocols:
        for other in _REGISTERED.values():
            if other.name == protocol.name:
                continue
            if protocol.book == other.book or other.prefix == protocol.prefix or other.erratum == protocol.erratum:
                raise ProtocolError(f"{protocol.name} and {other.name} number their requirements or errata alike, or share a name")
        known = _REGISTERED.setdefault(protocol.name, protocol)
        if beside and known not in _BESIDE:
            _BESIDE.append(known)


def registered() -> tuple[Protocol, ...]:
    """Every standard that is known."""
    return tuple(_REGISTERED.values())


def listed() -> tuple[Protocol, ...]:
    """The standards of somebody who names neither a device nor a book: the first, and those beside the suite."""
    return tuple(dict.fromkeys((*registered()[:1], *_BESIDE)))


def protocol_of(name: str) -> Protocol:
    """The standard of this name. Raises ProtocolError."""
    found = _REGISTERED.get(name)
    if found is None:
        raise ProtocolError(f"no standard {name!r} is registered")
    return found


def in_force() -> tuple[Protocol, ...]:
    """The standards that judge what this process is about, as the target or the report says that the command line names."""
    return tuple(_IN_FORCE) or registered()[:1]


def at_hand() -> tuple[Protocol, ...]:
    """Those in force, and before them the first standard, unless one of them is an edition of it: a device may claim its items,
    whatever judges the device, and the hash of the catalogue is of both."""
    chosen = in_force()
    return tuple(dict.fromkeys((*(p for p in registered()[:1] if all(one.base is not p for one in chosen)), *chosen)))


def put_in_force(*protocols: Protocol) -> None:
    """From now on these judge."""
    _IN_FORCE[:] = protocols


@contextmanager
def judging_by(*protocols: Protocol) -> Iterator[None]:
    """Meanwhile these judge: one of several reports or recordings."""
    before = tuple(_IN_FORCE)
    put_in_force(*protocols)
    try:
        yield
    finally:
        put_in_force(*before)
