"""The options that say what is attached and which book judges it, and the target that they name."""

from __future__ import annotations

from argparse import Action, ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional, Sequence

from fcvi.engine.attachment import AttachError
from fcvi.engine.case import load_cases
from fcvi.engine.evidence import FOLDER, RUN
from fcvi.engine.files import FileError, parse_json
from fcvi.engine.folder import load_report, read_report
from fcvi.engine.params import EDITIONS
from fcvi.engine.protocol import Protocol, put_in_force, registered
from fcvi.engine.select import SelectionError, matches, terms
from fcvi.engine.target import Asked, Target, judged_by, kinds_of, parse, recorded
from fcvi.engine.words import UsageError


class _Book(Action):
    """An option that names a book; several have to mean the same."""

    def __call__(self, _parser: Any, namespace: Namespace, value: Any, option: Any = None) -> None:
        namespace.asked = [*namespace.asked, (option, value)]


def book(p: ArgumentParser, editions: bool = True) -> None:
    """The option --book, and the older names for what it says: --wire and --revision."""
    p.add_argument("--book", dest="asked", action=_Book, metavar="NAME",
                   help="Judge by this book, where the attachment leaves a choice: fcvi (the first), rev1, vitcp, "
                        "vipl or verbs.")  # fmt: skip
    p.add_argument("--wire", dest="asked", action=_Book, choices=("fc", "tcp"), metavar="WIRE",
                   help="Judge by a book of this wire: fc (FC-VI), or tcp, which is --book vitcp.")  # fmt: skip
    if editions:
        p.add_argument("--revision", dest="asked", action=_Book, choices=EDITIONS, metavar="EDITION",
                       help="Judge by this edition of FC-VI: 2007, which is --book fcvi, or rev1, the draft of 1999.")  # fmt: skip
    p.set_defaults(asked=[])


def books(args: Namespace) -> list[Asked]:
    """What the options say of the book. Raises UsageError for one that nobody knows."""
    return [Asked(f"{option} {value}", _books(option, value)) for option, value in args.asked]


def _books(option: str, value: str) -> tuple[Protocol, ...]:
    known = registered()
    if option == "--wire":
        return tuple(p for p in known if p.line is not None and p.streams == (value == "tcp"))
    found = tuple(p for p in known if value == p.edition or (option == "--book" and value == p.book))
    if not found:
        raise UsageError(f"{option} {value}: no such book; there are {', '.join(p.book for p in known)}")
    return found


def read(spec: str, asked: Sequence[Asked], option: str = "--dut") -> Target:
    """A target that an option names. Raises UsageError."""
    try:
        return parse(spec, asked, option)
    except AttachError as error:
        raise UsageError(str(error)) from error


def target(args: Namespace) -> Target:
    """What --dut and --book name; its book is in force from now on. Raises UsageError."""
    found = read(args.dut, [] if getattr(args, "resume", None) else books(args))  # a run that is gone on with has its book
    beside = {name: getattr(args, name) for name in ("agent", "agent2", "inject") if hasattr(args, name)}
    found = replace(found, **beside)
    put_in_force(found.book)
    return found


def named(args: Namespace) -> tuple[Protocol, ...]:
    """The books that --book names, of all that are known; none without it. Raises UsageError."""
    asked = books(args)
    left = tuple(p for p in registered() if all(p in one.books for one in asked)) if asked else ()
    if asked and not left:
        raise UsageError(f"{' and '.join(one.words for one in asked)} mean different books: leave one out")
    return left


def _book_of(place: Path) -> Optional[Protocol]:
    """Which book judged a report, or a directory of one; None for what is no report."""
    file = place / FOLDER / RUN
    try:
        if file.is_file():
            run = parse_json(read_report(place, f"{FOLDER}/{RUN}"), str(file))
        else:
            file, run = load_report(place)
        return recorded(run, file) if isinstance(run, dict) else None
    except FileError:
        return None


def refuse_several_books(places: Sequence[Path]) -> None:
    """Raises UsageError for reports that different books have judged: they have no case in common."""
    books = [(place, book) for place in places if (book := _book_of(place)) is not None]
    for place, book in books[1:]:
        if book is not books[0][1]:
            first, judge = books[0]
            raise UsageError(f"{place}: a run of {book.name} ({book.book}), and {first} is one of {judge.name} ({judge.book}): "
                             "they have no case in common")  # fmt: skip


def refuse_another_book(option: str, place: Path, given: Target) -> None:
    """Raises UsageError for a report, or a directory of one, that another book has judged. What is no report is told later."""
    book = _book_of(place)
    if book is not None and book is not given.book:
        raise UsageError(f"{option} {place}: a run of {book.name} ({book.book}), and {given.book.name} ({given.book.book}) judges "
                         f"--dut {given}")  # fmt: skip


def selected(args: Namespace) -> None:
    """Where the attachment leaves a choice and nothing names the book, the first one whose cases have every term of --select
    judges. Raises UsageError for cases that the target's books do not have together."""
    given: Target = args.target
    if args.select is None:
        return
    try:
        wanted = terms(args.select)
    except SelectionError:
        return  # the run says why
    books = (given.book, *given.others)
    fitting = next((p for p in books if all(matches(load_cases([p]), term) for term in wanted)), None)
    if fitting is None:
        _refuse(given, wanted)
        return
    args.target = judged_by(given, fitting)
    put_in_force(fitting)


def _refuse(given: Target, wanted: Sequence[str]) -> None:
    """Raises UsageError where each term names cases, but no book of the target has them all."""
    where = [next((p for p in (given.book, *given.others, *registered()) if matches(load_cases([p]), t)), None) for t in wanted]
    if None in where:
        return  # a term that names nothing: the run says so
    apart = next((i for i, p in enumerate(where) if p is not where[0]), None)
    foreign = next(((t, p) for t, p in zip(wanted, where) if p is not None and p not in (given.book, *given.others)), None)
    if foreign is not None and foreign[1] is not None:
        term, other = foreign
        raise UsageError(f"--select {term}: cases of {other.name} ({other.book}), which cannot judge --dut {given}, a target of "
                         f"{given.book.name} ({given.book.book}); attach {kinds_of([other])}")  # fmt: skip
    if apart is not None and where[0] is not None and (second := where[apart]) is not None:
        raise UsageError(f"--select: {wanted[0]} is of {where[0].name} ({where[0].book}) and {wanted[apart]} of {second.name} "
                         f"({second.book}); one book judges --dut {given}: run them apart")  # fmt: skip


def books_of(expression: str) -> list[Protocol]:
    """The books that a selection is about, in their order: for each term the first that has such cases. Raises SelectionError."""
    known = registered()
    found = [next((p for p in known if matches(load_cases([p]), term)), known[0]) for term in terms(expression)]
    return [p for p in known if p in found]
