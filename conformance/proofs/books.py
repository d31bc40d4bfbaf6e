"""The books: what plays their cases, with which device, and which broken devices follow from a check."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import import_module
from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, Sequence

from fcvi.dut.ref import RefDut, StreamDut
from fcvi.engine import proof
from fcvi.engine.attachment import Dut
from fcvi.engine.breaks import Break
from fcvi.engine.case import CaseInfo, Variant
from fcvi.engine.catalogue import load_requirements
from fcvi.engine.pics import complete
from fcvi.engine.pixit import Given, Pixit, pixit_for
from fcvi.engine.protocol import Protocol, judging_by
from fcvi.fc import codec
from fcvi.vitcp import wire

from conformance.fcvi.book import PROTOCOL as FCVI
from conformance.rev1.book import PROTOCOL as REV1
from conformance.verbs.book import PROTOCOL as VERBS
from conformance.vipl.book import PROTOCOL as VIPL
from conformance.vitcp.book import PROTOCOL as VITCP

from .answers import Reader, notifications, others_that_pass, providers
from .calls import BrokenCalls
from .derive import choices, devices, everywhere
from .frames import HEADER_FIELDS, BrokenPort, fields_of_1999, fields_of_2007
from .layer import Layer, Server
from .parts import Parted
from .streams import BrokenStreams, names_of

#: Gives the device with one thing broken, or as it is; it may be the same each time.
Broken = Callable[[Optional[Break]], Dut]


@dataclass(frozen=True)
class Banked:
    """A device that was made by hand. requirement: what it breaks. where: patterns of the variants in which it shows; () is any.
    check: that for which the table of a book names it."""

    device: Break
    requirement: str
    where: tuple[str, ...] = ()
    check: Optional[tuple[str, str, str, str]] = None

    def shows_in(self, variant: str) -> bool:
        """Whether it shows in a variant of this id."""
        return not self.where or any(fnmatch(variant, glob) for glob in self.where)


class Book:
    """A standard with its reference device, and the broken ones. candidates: devices of a check that are tried in one variant.
    occasions: in so many variants."""

    candidates = 64
    occasions = 4

    def __init__(self, protocol: Protocol) -> None:
        self.protocol, self.name = protocol, protocol.book

    # ---- how a case is played ----

    def pixit(self) -> Pixit:
        """What the laboratory says."""
        return pixit_for("virtual")

    def reference(self) -> Dut:
        """The device that nothing is wrong with."""
        raise NotImplementedError

    def broken(self) -> Broken:
        """What makes a device with one thing wrong."""
        raise NotImplementedError

    def recorder(self) -> proof.Recorder:
        """What notes the checks."""
        return Parted()

    def cases(self) -> Sequence[CaseInfo]:
        """All of them."""
        return list(self.protocol.cases())

    def levels(self) -> Mapping[str, str]:
        """Of its requirements, those of its base that hold included."""
        with judging_by(self.protocol):
            return {r.id: r.level for r in load_requirements()}

    def pics(self, device: Optional[Break] = None) -> dict[str, object]:
        """What a device supports; None: the reference device, whose PICS a broken one has as a rule."""
        dut = self.reference() if device is None else self.broken()(device)
        try:
            with judging_by(self.protocol):
                return dict(complete(dut.pics, "hello"))
        finally:
            dut.close()

    # ---- which devices follow ----

    def kind_of(self, variant: Variant) -> str:
        """Variants of a case that have one are alike; "": each stands for itself."""
        return ""

    def devices(self, record: proof.Record, late_us: int) -> Iterable[Break]:
        """Those of a check, the surest first. late_us: what is later than any tolerance."""
        raise NotImplementedError

    def choices(self, record: proof.Record) -> Iterable[Break]:
        """Those that take what a check lets pass."""
        raise NotImplementedError

    def everywhere(self, dut: Dut, record: proof.Record) -> Iterable[Break]:
        """What can be broken at all; dut: has just played the variant."""
        raise NotImplementedError

    def fields(self, kind: str) -> Sequence[str]:
        """All the fields of a kind of message."""
        return ()

    def bank(self) -> Sequence[Banked]:
        """Those that were made by hand for the same device."""
        return ()


@dataclass(frozen=True)
class Wire:
    """A wire. broken: a port that can have one thing broken. headers: the fields of its kinds of message that a check of a whole
    one may be about, which are kinds. fields: all the fields of a kind. by_hand: makes a device of the bank, by its name. bank: its
    devices."""

    reference: Callable[[], RefDut]
    broken: Callable[[], BrokenCalls]
    headers: Callable[[str], Sequence[str]]
    kinds: Sequence[str]
    fields: Callable[[str], Sequence[str]]
    by_hand: Optional[Callable[[str], Dut]] = None
    bank: Callable[[], Sequence[Banked]] = tuple


class WireBook(Book):
    """A standard of a wire, with the reference port."""

    def __init__(self, protocol: Protocol, wire_of: Wire) -> None:
        super().__init__(protocol)
        self._wire = wire_of

    def pixit(self) -> Pixit:
        """Of 1999, FCVI_ULP_TIMEOUT is what the laboratory says; the port has that of its R_A_TOV."""
        return pixit_for("virtual", given=Given(ulp_timeout_us=10_000_000)) if self.protocol is REV1 else super().pixit()

    def reference(self) -> Dut:
        return self._wire.reference()

    def broken(self) -> Broken:
        port = self._wire.broken()

        def with_this(device: Optional[Break]) -> Dut:
            if device is not None and device.verb == "fault" and self._wire.by_hand is not None:
                return self._wire.by_hand(device.kind)
            port.broken = device
            return port
        return with_this

    def devices(self, record: proof.Record, late_us: int) -> Iterator[Break]:
        return devices(record, late_us, self._wire.headers)

    def choices(self, record: proof.Record) -> Iterator[Break]:
        return choices(record)

    def everywhere(self, dut: Dut, record: proof.Record) -> Iterator[Break]:
        assert isinstance(dut, BrokenCalls)
        return everywhere(dict(dut.counts), record, self._wire.headers, self._wire.kinds)

    def fields(self, kind: str) -> Sequence[str]:
        return self._wire.fields(kind)

    def bank(self) -> Sequence[Banked]:
        return self._wire.bank()


def _by_hand_2007(name: str) -> RefDut:
    device, faulty = (import_module(f"conformance.tests.{module}") for module in ("bank.device", "faulty"))
    fault = _faults_2007()[name][0]
    made: RefDut = device.BankDut(fault) if isinstance(fault, device.Broken) else faulty.FaultyDut(fault)
    return made


@functools.cache
def _faults_2007() -> Mapping[str, tuple[Any, tuple[str, ...], tuple[str, ...]]]:
    """The devices of the bank, and those of the far side: fault, rows that it breaks, and the variants that it was written for."""
    table, far = (import_module(f"conformance.tests.{module}") for module in ("bank.table", "faults_far"))
    found = {entry.name: (entry.fault, entry.breaks, entry.cases) for entry in table.bank()}
    return {**found, **{f"far:{one.name}": (one, (one.requirement,), (one.case,)) for one in far.FAULTS}}


def _bank_2007() -> Sequence[Banked]:
    every = _faults_2007().items()
    return [Banked(Break("fault", name), row, where) for name, (_, rows, where) in every if where for row in rows]


def _by_hand_1999(name: str) -> RefDut:
    made: RefDut = import_module("conformance.tests.rev1_faulty").BrokenDut(next(f for f in _faults_1999() if f.name == name))
    return made


def _faults_1999() -> list[Any]:
    module = import_module("conformance.tests.rev1_faults")
    return [*module.FAULTS, *module.OF_RESP2]


def _bank_1999() -> Sequence[Banked]:
    return [Banked(Break("fault", fault.name), fault.requirement, (fault.case,)) for fault in _faults_1999()]


def _by_hand_vitcp(fault: str) -> Dut:
    """The endpoint that shares no code with the reference port, with one of its faults."""
    inside, chosen = (import_module(f"harness.tests.{module}") for module in ("inside", "independent.chosen"))
    rpc, choices, faults = (import_module(f"harness.tests.independent.vitcp.{name}") for name in ("rpc", "choices", "faults"))

    def make(write: Callable[[str], None]) -> Server:
        made: Server = rpc.Server(chosen.Choices(choices.CHOICES, []), faults.Faults(fault), write)
        return made

    dut: Dut = inside.InsideDut(fault, make, rpc.Closed)
    return dut


def _bank_vitcp() -> Sequence[Banked]:
    """A fault with several rows is caught by any of them: which one a case names is seen when it is played."""
    faults = import_module("harness.tests.independent.vitcp.faults").listing()
    return [Banked(Break("fault", name), row) for name, (rows, _) in faults.items() for row in rows.split()]


#: Makes the model of a provider, given where it writes and its fault: a name, and the flavour where that is not the first one.
Model = Callable[[Callable[[str], None], Optional[Break]], Server]


class CallBook(Book):
    """A standard of calls, with a model of a provider behind a layer that does one thing otherwise. bank: the faults of the
    model."""

    candidates, occasions = 48, 2

    def __init__(self, protocol: Protocol, model: Model, bank: Callable[[], Sequence[Banked]], jitter_us: int = 0) -> None:
        super().__init__(protocol)
        self._model, self._bank, self._jitter_us = model, bank, jitter_us

    def pixit(self) -> Pixit:
        return pixit_for("virtual", self._jitter_us) if self._jitter_us else super().pixit()

    def reference(self) -> Dut:
        return self._with(None)

    def broken(self) -> Broken:
        return self._with

    def _with(self, device: Optional[Break]) -> Dut:
        fault = device if device is not None and device.verb == "fault" else None
        layered = None if fault else device
        inside = import_module("harness.tests.inside")
        dut: Dut = inside.InsideDut(
            str(device or "model"), lambda write: Layer(layered, lambda told: self._model(told, fault), write),
        )  # fmt: skip
        return dut

    def recorder(self) -> proof.Recorder:
        return Reader()

    def kind_of(self, variant: Variant) -> str:
        """The first word: a level, an operation."""
        return variant.suffix.partition("-")[0] or "-"

    def devices(self, record: proof.Record, late_us: int) -> Iterator[Break]:
        return iter(providers(record))

    def choices(self, record: proof.Record) -> Iterator[Break]:
        return others_that_pass(record)

    def everywhere(self, dut: Dut, record: proof.Record) -> Iterator[Break]:
        return notifications()

    def bank(self) -> Sequence[Banked]:
        return self._bank()


def _provider(write: Callable[[str], None], fault: Optional[Break]) -> Server:
    """The model of VIPL."""
    server, clock, faults = (import_module(f"harness.tests.independent.provider.{name}") for name in ("server", "clock", "faults"))
    broken = faults.FAULTS[fault.kind] if fault else None
    how: dict[str, Any] = {"change": broken.change} if broken else {}
    made: Server = server.Server(broken.variant if broken else "plain", clock.VirtualClock(), write, **how)
    return made


def _faults_of_vipl() -> Sequence[Banked]:
    faults = import_module("harness.tests.independent.provider.faults").FAULTS
    return [Banked(Break("fault", name), f"VIPL-{fault.row}", tuple(fault.cases.split(","))) for name, fault in faults.items()]


#: What the model of verbs does of what it may leave out, so that there is more to break.
_CHOSEN = ("resize_qp=yes", "rereg_key=new")


def _rnic(write: Callable[[str], None], fault: Optional[Break]) -> Server:
    """The model of verbs."""
    names = ("server", "choices", "engine")
    server, choices_of, engine = (import_module(f"harness.tests.independent.verbs.{name}") for name in names)
    clock, chosen = engine.VirtualClock(), choices_of.Choices(_CHOSEN)
    flavour, name = (fault.what or "iwarp", fault.kind) if fault else ("iwarp", None)
    made: Server = server.Server(flavour, chosen, name, write, ["model0"], ["127.0.0.1"], clock)
    return made


def _faults_of_verbs() -> Sequence[Banked]:
    faults = import_module("harness.tests.independent.verbs.faults").FAULTS
    flavours = (("iwarp", ""), ("ib", "ib"))  # the devices of the first are tried before those of the other
    found = ((fault, what) for flavour, what in flavours for fault in faults if flavour in fault.flavours)
    return [Banked(Break("fault", fault.name, (), what), row) for fault, what in found for row in (fault.row, *fault.also)]


BOOKS: dict[str, Book] = {
    book.name: book
    for book in (
        WireBook(FCVI, Wire(
            RefDut, BrokenPort, lambda kind: HEADER_FIELDS, tuple(codec.IUS), fields_of_2007, _by_hand_2007, _bank_2007,
        )),
        WireBook(REV1, Wire(
            lambda: RefDut("ref", "rev1"), lambda: BrokenPort("rev1"), lambda kind: HEADER_FIELDS, tuple(codec.IUS_REV1),
            fields_of_1999, _by_hand_1999, _bank_1999,
        )),
        WireBook(VITCP, Wire(
            StreamDut, BrokenStreams, names_of, tuple(wire.NAMES.values()), names_of, _by_hand_vitcp, _bank_vitcp,
        )),
        CallBook(VIPL, _provider, _faults_of_vipl),
        CallBook(VERBS, _rnic, _faults_of_verbs, 500_000),
    )
}  # fmt: skip
WIRES = tuple(name for name, book in BOOKS.items() if isinstance(book, WireBook))
