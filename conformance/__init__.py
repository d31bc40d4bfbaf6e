"""The standards: one folder each, with what the standard demands (requirements, errata) and the cases that try it."""

from __future__ import annotations

import os
import sys

from fcvi.engine.words import UsageError

TYPE_CHECKING = False  # a command that reads a capture needs no book: what only the books need is loaded with them
if TYPE_CHECKING:
    from typing import Sequence

    from fcvi.engine.protocol import Protocol

#: Folders of more standards that are not in this tree, separated by colons.
VARIABLE = "FCVI_STANDARDS"
#: Folders here that the command line (see asked_for) or FCVI_STANDARDS brings in: most runs are about a wire, and have no use
#: for their cases, their items of the PICS and their register of errata.
_ON_REQUEST = frozenset({"rev1", "verbs", "vipl", "vitcp"})
_OF_TCP = r"(^|,)TCP\."  # a case of VI/TCP in a selection
_OF_REV1 = r"(^|,) *R1\."  # a case of FC-VI Rev 1.0 in a selection
#: What `fcvi show` is asked for: an erratum by its letter.
_SHOWN = {"verbs": "B[0-9]{2}", "vipl": "A[0-9]{2,3}", "vitcp": "V[0-9]{2}"}
#: An edition that takes the place of another book: the requirements of that which hold are its own, too.
_INSTEAD = {"rev1": "fcvi"}
_SHOWN_REV1 = r"REV1-\S+|R[0-9]{2}"
_TCP_DEVICE = "--dut=vitcp:"
_RUN, _LONGEST_RUN = "evidence/run.json", 8 << 20


class NoStandard(UsageError):
    """A folder that is no standard."""


def asked_for(words: Sequence[str]) -> set[str]:
    """The folders here that a command line is about: a book when it names a case or a requirement of it, a device that it judges
    (``--dut api``, ``--dut verbs``, ``--wire tcp``, ``--dut ref:vitcp``, ``--dut vitcp:HOST:PORT``, ``--revision rev1``), or the
    report of such a run.
    """
    import re

    said = {f"{before}={word}" for before, word in zip(("", *words), words)} | set(words)
    found = {_reported(folder) for word in words for folder in (word, *_above(word))} - {""}
    if "--dut=api" in said or any("VIPL" in word for word in words):
        found.add("vipl")
    if "--dut=verbs" in said or any("VERBS" in word for word in words):
        found.add("verbs")
    of_tcp = said & {"--wire=tcp", "--dut=ref:vitcp"} or any(word.startswith(_TCP_DEVICE) for word in said)
    if of_tcp or any("VITCP" in word or re.search(_OF_TCP, word) for word in words):
        found.add("vitcp")
    if said & {"--revision=rev1", "--dut=ref:rev1"} or any(re.search(_OF_REV1, word) for word in words):
        found.add("rev1")
    if words and words[0] == "show":
        if "--diff" not in words and any(re.fullmatch(_SHOWN_REV1, word) for word in words[1:]):
            found.add("rev1")
        found |= {"verbs"} if "--map" in words else set()
        found |= {book for book, name in _SHOWN.items() if any(re.fullmatch(name, word) for word in words[1:])}
    return found


def _above(word: str) -> tuple[str, ...]:
    """Where the report of a file is: beside a capture, and above the folder of a trace."""
    if not word.endswith((".pcapng", ".jsonl")):
        return ()
    folder = os.path.dirname(word) or "."
    return (folder, os.path.dirname(folder) or ".")


def _reported(word: str) -> str:
    """The folder that a report is about, when this is the directory of one; "" for FC-VI, and for what is none. What cannot be
    read is found wanting later."""
    import json

    path = os.path.join(word, _RUN)
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _LONGEST_RUN:
            return ""
        with open(path, encoding="utf-8") as file:
            run = json.load(file)
    except (OSError, ValueError, RecursionError):
        return ""
    dut = run.get("dut") if isinstance(run, dict) else None
    if not isinstance(dut, dict):
        return ""
    pics = dut.get("pics")
    alone = {"api": "vipl", "verbs": "verbs"}.get(str(dut.get("attachment")))
    if alone or not isinstance(pics, dict):
        return alone or ""
    return "vitcp" if pics.get("tcp") is True else "rev1" if pics.get("revision") == "rev1" else ""


def protocols(words: Sequence[str] = ()) -> list[Protocol]:
    """The protocol object of every standard: of each folder here that has a module ``book``, and of those in FCVI_STANDARDS.
    Some of the folders here are for a command line that asks for them; FC-VI Rev 1.0 then comes in the place of FC-VI.

    FC-VI comes first, the others follow by name. Raises NoStandard for a folder that is no standard.
    """
    import importlib
    import pkgutil
    from pathlib import Path

    here = Path(__file__).resolve().parent
    names = [m.name for m in pkgutil.iter_modules([str(here)]) if m.ispkg and (here / m.name / "book.py").is_file()]
    asked = asked_for(words)
    names = [name for name in names if name not in _ON_REQUEST - asked and name not in {_INSTEAD.get(one) for one in asked}]
    found = [importlib.import_module(f"{__name__}.{name}.book") for name in sorted(names, key=lambda name: (name != "fcvi", name))]
    for folder in filter(None, os.environ.get(VARIABLE, "").split(":")):
        path = Path(folder).resolve()
        if not (path / "book.py").is_file():
            raise NoStandard(f"{VARIABLE}: {folder} is not the folder of a standard: it has no book.py")
        if path.parent == here:
            module = importlib.import_module(f"{__name__}.{path.name}.book")
            found += [] if module in found else [module]
            continue
        if str(path.parent) not in sys.path:
            sys.path.append(str(path.parent))
        found.append(importlib.import_module(f"{path.name}.book"))
    return [module.PROTOCOL for module in found]


def register_all(words: Sequence[str] = ()) -> None:
    """Hand every standard to the engine; words: the command line, without the program."""
    from fcvi.engine.protocol import register

    register(*protocols(words))
