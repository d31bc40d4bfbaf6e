"""Finds out what is attached and by which book it is judged: read once, from ``--dut`` and ``--book``, and asked from then on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Iterable, Mapping, Sequence

from .attachment import AttachError, Dut
from .files import FileError
from .protocol import Protocol, registered
from .words import near

#: Kinds of attachment whose device is reached by its wire alone: its calls go another way (--agent), if any does.
_ON_A_WIRE = frozenset({"fcoe", "frames", "vitcp"})
#: Kinds where calls are all that passes.
_CALLS_ALONE = frozenset({"api", "verbs"})
#: Kinds of which every process can have one of its own.
_AGAIN = frozenset({"ref", "exec"})
#: Kinds that speak the DUT protocol over a stream.
_OF_STREAMS = frozenset({"exec", "unix", "tcp"})
#: The reference port, which is one of several books: ``ref:BOOK``.
_REFERENCE = "ref"
#: How each kind is written, for messages.
_FORMS = {
    "ref": "ref", "exec": "exec:COMMAND", "unix": "unix:PATH", "tcp": "tcp:HOST:PORT", "fcoe": "fcoe:IFACE",
    "frames": "frames:ADAPTER", "vitcp": "vitcp:HOST:PORT",
}  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """An option that names books, as it was given, and the books that it leaves."""

    words: str
    books: tuple[Protocol, ...]


@dataclass(frozen=True)
class Target:
    """A device and its judge. others: books that could judge it as well, had ``--book`` named one of them."""

    kind: str  # "exec"
    rest: str  # what stands behind the colon
    book: Protocol
    others: tuple[Protocol, ...] = ()
    agent: str = ""  # what makes the calls, where they go another way
    agent2: str = ""  # of calls alone: that of the other end
    inject: str = ""  # of calls alone: the command that makes faults below them

    def __str__(self) -> str:
        """As ``--dut`` takes it, and as reports have it."""
        return f"{self.kind}:{self.rest}" if self.rest else self.kind

    @property
    def options(self) -> tuple[str, ...]:
        """What the command line says beside ``--dut``, for the same device and judge."""
        found = () if self.kind == _REFERENCE or self.book is serving(self.kind)[0] else ("--book", self.book.book)
        for name in ("agent", "agent2", "inject"):
            found += (f"--{name}", getattr(self, name)) if getattr(self, name) else ()
        return found

    def attach(self, **how: Any) -> Dut:
        """Attach it: identity=, rpc_timeout_s=, log=, limits=. Raises AttachError and DutError."""
        attach = next((p.attach for p in (self.book, *serving(self.kind)) if p.attach is not None), None)
        if attach is None:
            raise AttachError(f"--dut {self}: no standard that is here could attach it")
        return attach(self, **how)

    @property
    def on_a_wire(self) -> bool:
        """Whether the device is attached by its wire, and its calls go another way, if any does."""
        return self.kind in _ON_A_WIRE

    @property
    def calls_alone(self) -> bool:
        """Whether calls are all that passes."""
        return self.kind in _CALLS_ALONE

    @property
    def repeatable(self) -> bool:
        """Whether each process can attach one of its own."""
        return self.kind in _AGAIN

    @property
    def takes_an_interface(self) -> bool:
        """Whether the suite opens a network interface for it, and gives its privileges up then."""
        return self.kind == "fcoe"


def serving(kind: str) -> tuple[Protocol, ...]:
    """The books whose this kind of attachment is, in their order."""
    return tuple(p for p in registered() if kind in p.attachments)


def _kinds() -> list[str]:
    return [kind for p in registered() for kind in p.attachments]


def kinds_of(books: Iterable[Protocol]) -> str:
    """What these books attach, in words."""
    kinds = list(dict.fromkeys(kind for p in books for kind in p.attachments))
    found = [_FORMS.get(kind, kind) for kind in kinds]
    return f"{', '.join(found[:-1])} or {found[-1]}" if len(found) > 1 else "".join(found)


def _named(books: Sequence[Protocol]) -> str:
    return " or ".join(f"{p.name} ({p.book})" for p in books)


def parse(spec: str, asked: Sequence[Asked] = (), option: str = "--dut") -> Target:
    """What ``--dut`` names, judged by the first of its books that the options leave. Raises AttachError."""
    kind, _, rest = spec.partition(":")
    books = serving(kind)
    if not books:
        offered = f" (did you mean exec:{spec}?)" if Path(spec).is_file() else near(kind, _kinds())
        raise AttachError(f"{option} {spec}: unknown attachment{offered}; use {kinds_of(registered())}")
    if spec == f"{_REFERENCE}:":
        raise AttachError(f"{option} {spec}: names no book; write {_REFERENCE} alone, or {_REFERENCE}:{books[-1].book}")
    if kind in _OF_STREAMS and not rest:
        raise AttachError(f"{option} {spec}: unknown attachment; write {_FORMS[kind]}")
    if kind == _REFERENCE and rest:
        books = tuple(p for p in books if rest in (p.book, p.edition))
        if not books:
            known = ", ".join(f"{_REFERENCE}:{p.book}" for p in serving(kind))
            raise AttachError(f"{option} {spec}: no book of the reference port is called so{near(spec, known.split(', '))}; "
                              f"there are {known}")  # fmt: skip
    said = f"{option} {spec}"
    for one in asked:
        left = tuple(p for p in books if p in one.books)
        if not left:
            raise AttachError(
                f"{one.words} means {_named(one.books)}, and {said} {_named(books)}: leave one out, or attach "
                f"{kinds_of(one.books)}"
            )
        books, said = left, f"{said} {one.words}"
    return _judged(Target(kind, rest, books[0]), books, books[0])


def judged_by(target: Target, book: Protocol) -> Target:
    """The same device with another of its books as its judge."""
    return _judged(target, (target.book, *target.others), book)


def _judged(target: Target, books: Sequence[Protocol], book: Protocol) -> Target:
    rest = target.rest
    if target.kind == _REFERENCE:
        rest = "" if book is serving(_REFERENCE)[0] else book.book
    return replace(target, rest=rest, book=book, others=tuple(p for p in books if p is not book))


def recorded(run: Mapping[str, Any], where: object) -> Protocol:
    """The book that judged a run, from its evidence/run.json. A run that does not name it is an older one: what is recorded of its
    device says which it was. Raises FileError for one that is not here."""
    name = run.get("book")
    if name is not None:
        found = next((p for p in registered() if p.book == name), None)
        if found is None:
            known = ", ".join(p.book for p in registered())
            raise FileError(f"{where}: the book of this run is {name!r:.60}, and here are {known}")
        return found
    dut = run.get("dut")
    dut = dut if isinstance(dut, dict) else {}
    try:
        target = parse(str(dut.get("attachment", "")))
    except AttachError:
        return registered()[0]
    pics = dut.get("pics")
    return claimed(pics, (target.book, *target.others)) if isinstance(pics, dict) else target.book


def claimed(pics: Mapping[str, Any], books: Sequence[Protocol]) -> Protocol:
    """Of these books the one whose wire and edition a PICS claims; the first where it claims none."""
    if pics.get("tcp") is True:
        return next((p for p in books if p.streams), books[0])
    return next((p for p in books if p.edition and p.edition == pics.get("revision")), books[0])
