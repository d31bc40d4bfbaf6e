"""The books of a wire: what plays their cases, and with which device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Mapping, Sequence

from fcvi.dut.ref import RefDut, StreamDut
from fcvi.engine.case import CaseInfo
from fcvi.engine.catalogue import load_requirements
from fcvi.engine.pics import complete
from fcvi.engine.pixit import Given, Pixit, pixit_for
from fcvi.engine.protocol import Protocol, judging_by
from fcvi.fc import codec
from fcvi.vitcp import wire

from conformance.fcvi.book import PROTOCOL as FCVI
from conformance.rev1.book import PROTOCOL as REV1
from conformance.vitcp.book import PROTOCOL as VITCP

from .calls import BrokenCalls
from .frames import HEADER_FIELDS, BrokenPort, fields_of_1999, fields_of_2007
from .streams import BrokenStreams, names_of


@dataclass(frozen=True)
class Book:
    """A standard with the reference port of its wire. broken: a port that can have one thing broken. headers: the fields of
    its kinds of message that a check of a whole one may be about, which are kinds. fields: all the fields of a kind."""

    name: str
    protocol: Protocol
    reference: Callable[[], RefDut]
    broken: Callable[[], BrokenCalls]
    headers: Callable[[str], Sequence[str]]
    kinds: Sequence[str]
    fields: Callable[[str], Sequence[str]]

    def pixit(self) -> Pixit:
        """Of 1999, FCVI_ULP_TIMEOUT is what the laboratory says; the port has that of its R_A_TOV."""
        return pixit_for("virtual", given=Given(ulp_timeout_us=10_000_000)) if self.protocol is REV1 else pixit_for("virtual")

    def cases(self) -> Sequence[CaseInfo]:
        """All of them."""
        return list(self.protocol.cases())

    def levels(self) -> Mapping[str, str]:
        """Of its requirements, those of its base that hold included."""
        with judging_by(self.protocol):
            return {r.id: r.level for r in load_requirements()}

    def pics(self) -> dict[str, object]:
        """What the reference port supports."""
        dut = self.reference()
        try:
            with judging_by(self.protocol):
                return dict(complete(dut.pics, "hello"))
        finally:
            dut.close()


BOOKS: dict[str, Book] = {
    book.name: book
    for book in (
        Book("fcvi", FCVI, RefDut, BrokenPort, lambda kind: HEADER_FIELDS, tuple(codec.IUS), fields_of_2007),
        Book(
            "rev1", REV1, lambda: RefDut("ref", "rev1"), lambda: BrokenPort("rev1"), lambda kind: HEADER_FIELDS,
            tuple(codec.IUS_REV1), fields_of_1999,
        ),
        Book("vitcp", VITCP, StreamDut, BrokenStreams, names_of, tuple(wire.NAMES.values()), names_of),
    )
}
