"""Prints how many legal pairs, triples and 4-tuples of choices the variants of FC-VI and VI/TCP cover, by group of cases.

Then, for each book, it prints the parameters of the configuration that have one value in all of its cases, with the reason
(constant.tsv of the book). A device that has such a value built in passes every case.

Usage: python3 -m conformance.coverage [--write]
--write: only compute the rows of the combined cases anew (covering.tsv of the book), where a model was changed.
Exit status: 0 every legal combination is covered and each such parameter has its reason, 1 something is missing, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import sys
from random import Random
from typing import Any, Callable, Iterator, Optional

from fcvi.engine.case import Variant
from fcvi.engine.pixit import pixit_for
from fcvi.engine.protocol import Protocol, registered
from fcvi.engine.runner import configuration_of

from . import register_all
from .fcvi import legality
from .covering import Model, Row, covering_file, legal, legal_parts, uncovered, written_down
from .fcvi.legality import DISCONNECTS, LINK_EVENTS, MESSAGES, RDMA, RETRIES, SETUPS
from .fcvi.legality import MODELS as FCVI
from .vitcp.legality import MODELS as VITCP

_LEVELS = {1: "unreliable", 2: "reliable-delivery", 3: "reliable-reception"}
MODELS = (*FCVI, *VITCP)
_NAMES = {2: "pairs", 3: "triples", 4: "4-tuples"}


def _common(variant: Variant) -> Optional[dict[str, str]]:
    """What a variant chooses that every group has; None for one that is run in no role."""
    role = variant.params.get("role")
    level = variant.params.get("attributes", {}).get("FCVI_RELIABILITY_LVL", 1)
    if not isinstance(role, str) or level not in _LEVELS:
        return None
    return {
        legality.ROLE: {"any": "dut-client"}.get(role, role),  # "any" is a client where the device is one
        legality.LEVEL: _LEVELS[level],
        legality.CLASS: str(variant.config.get("class", 3)),
        legality.TOPOLOGY: variant.config.get("topology", "point-to-point"),
        legality.LOGIN: variant.config.get("login", "implicit"),
    }


def message_row(variant: Variant) -> Optional[Row]:
    """The choices of a variant with Messages; None for another one."""
    row = _common(variant)
    if row is None or "op" not in variant.params:
        return None
    row[legality.OPERATION] = variant.params["op"]
    row[legality.ORDER] = variant.config.get("fabric", "in-order")
    row[legality.IMMEDIATE] = "without" if variant.params.get("immediate") is None else "with"
    return row


def setup_row(variant: Variant) -> Optional[Row]:
    """The choices of a variant with a Connection Setup; None for one that has another receive size than the model."""
    row = _common(variant)
    if row is None:
        return None
    row[legality.SIZE] = str(variant.config.get("receive_size", 2112))
    row[legality.INFO] = "with" if variant.params.get("info") else "without"
    return row


def _with(*names: tuple[str, str]) -> Callable[[Variant], Optional[Row]]:
    """The choices of a variant that has all of these parameters, each a factor of the model; None for another one."""

    def row_of(variant: Variant) -> Optional[Row]:
        row = _common(variant)
        if row is None or not all(param in variant.params for param, _ in names):
            return None
        return {**row, **{factor: str(variant.params[param]) for param, factor in names}}

    return row_of


def rdma_row(variant: Variant) -> Optional[Row]:
    """The choices of a variant with an RDMA whose bytes are counted; None for another one."""
    params = variant.params
    row = _common(variant)
    if row is None or not {"who", "length", "ius", "before"} <= params.keys():
        return None
    return {
        **row, legality.WHO: params["who"], legality.OPERATION: params["op"], legality.LENGTH: str(params["length"]),
        legality.ORDER: variant.config.get("fabric", "in-order"), legality.CUT: "one" if params["ius"] == 1 else "several",
        legality.IMMEDIATE: "without" if params["immediate"] is None else "with",
        legality.ADDRESS: "odd" if params["before"] % 2 else "even",
    }  # fmt: skip


_ROW_OF = {
    MESSAGES: message_row, SETUPS: setup_row, RDMA: rdma_row,
    DISCONNECTS: _with(("first", legality.WHO), ("messages", legality.TRAFFIC)),
    RETRIES: _with(("lost", legality.LOST), ("ba", legality.BA)),
    LINK_EVENTS: _with(("event", legality.EVENT)),
}  # fmt: skip


def row_of(model: Model, variant: Variant) -> Optional[Row]:
    """What a variant chooses of the factors of the model; None when it is of another group."""
    if model in _ROW_OF:
        return _ROW_OF[model](variant)
    row = {name: str(variant.params[name]) for name in model.factors if name in variant.params}
    return row if row.keys() == model.factors.keys() else None


def rows_of_the_suite(model: Model) -> list[Row]:
    """The legal rows of the model that the variants of all cases are."""
    [cases] = [book.cases() for book in registered() if book.book == model.book]
    found = [row for case in cases for variant in case.variants if (row := row_of(model, variant)) is not None]
    return [row for row in found if all(row[n] in values for n, values in model.factors.items()) and legal(model, row)]


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """The parameters of a configuration, those of a table with its name before them."""
    if not isinstance(value, dict):
        yield name, str(value)
        return
    for key, part in value.items():
        yield from _leaves(part, f"{name}.{key}" if name else key)


def constant(book: Protocol) -> dict[str, str]:
    """The parameters of ``reset`` that have one value in all cases of the book in virtual time, with that value."""
    seen: dict[str, set[str]] = {}
    for case in book.cases():
        for variant in case.variants:
            rng = Random(case.variant_id(variant))
            _, config = configuration_of(case, variant, pixit_for("virtual"), "virtual", 1, rng)
            for name, value in _leaves(config, ""):
                seen.setdefault(name, set()).add(value)
    return {name: next(iter(values)) for name, values in seen.items() if len(values) == 1}


def reasons(book: Protocol) -> dict[str, str]:
    """Why each of them has one value: constant.tsv of the book."""
    path = book.folder / "constant.tsv"
    rows = path.read_text(encoding="utf-8").splitlines()[1:] if path.exists() else []
    return {name: reason for name, reason in (row.split("\t") for row in rows)}


def _print_constants() -> bool:
    """Whether each has its reason."""
    complete = True
    for book in registered():
        said, found = reasons(book), constant(book)
        print(f"{book.name}: {len(found)} parameters with one value")
        for name, value in found.items():
            print(f"  {name} = {value}: {said.get(name, 'NO REASON is given in ' + str(book.folder.name) + '/constant.tsv')}")
        complete &= said.keys() == found.keys()
        for name in said.keys() - found.keys():
            print(f"  {name} varies, or is no parameter, and {book.folder.name}/constant.tsv gives a reason for it")
    return complete


def main(argv: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="conformance.coverage", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="only compute the rows of the combined cases anew, and keep them")
    options = parser.parse_args(argv)
    if options.write:
        for models in (FCVI, VITCP):
            covering_file(models[0].book).write_text(written_down(models), encoding="utf-8")
        return 0
    register_all()
    complete = True
    for model in MODELS:
        rows = rows_of_the_suite(model)
        factors = ", ".join(f"{name} ({len(values)})" for name, values in model.factors.items())
        print(f"{model.name}: {len(rows)} variants; {factors}")
        for size in range(2, model.strength + 1):
            every, missing = legal_parts(model, size), uncovered(model, rows, size)
            covered = len(every) - len(missing)
            complete &= not missing
            print(f"  {_NAMES[size]:9} {covered:5} of {len(every):5} legal ones, {100 * covered / len(every):.1f} %")
            for part in sorted(missing):
                print("    " + ", ".join(f"{name}: {value}" for name, value in part))
    complete &= _print_constants()
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
