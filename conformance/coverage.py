"""Prints how many legal pairs, triples and 4-tuples of choices the variants of the suite cover, by group of cases.

Usage: python3 -m conformance.coverage [--missing | --write]
--missing: also which combinations stand in no variant.
--write: only compute the rows of the combined cases anew (conformance/fcvi/covering.tsv), where a model was changed.
Exit status: 0 every legal combination is covered, 1 some are not, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import sys
from typing import Callable, Optional

from fcvi.engine.case import Variant, load_cases

from . import register_all
from .fcvi import legality
from .fcvi.legality import (
    DISCONNECTS,
    LINK_EVENTS,
    MESSAGES,
    MODELS,
    RDMA,
    RETRIES,
    SETUPS,
    Model,
    Row,
    legal,
    legal_parts,
    uncovered,
)

_LEVELS = {1: "unreliable", 2: "reliable-delivery", 3: "reliable-reception"}
_SIZES = (2, 3, 4)
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
    return _ROW_OF[model](variant)


def rows_of_the_suite(model: Model) -> list[Row]:
    """The legal rows of the model that the variants of all cases are."""
    found = [row for case in load_cases() for variant in case.variants if (row := row_of(model, variant)) is not None]
    return [row for row in found if all(row[n] in values for n, values in model.factors.items()) and legal(model, row)]


def main(argv: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="conformance.coverage", description=(__doc__ or "").splitlines()[0])
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--missing", action="store_true", help="print the combinations that stand in no variant")
    what.add_argument("--write", action="store_true", help="only compute the rows of the combined cases anew, and keep them")
    options = parser.parse_args(argv)
    if options.write:
        legality.COVERING.write_text(legality.written_down(), encoding="utf-8")
        return 0
    register_all()
    complete = True
    for model in MODELS:
        rows = rows_of_the_suite(model)
        factors = ", ".join(f"{name} ({len(values)})" for name, values in model.factors.items())
        print(f"{model.name}: {len(rows)} variants; {factors}")
        for size in _SIZES:
            every, missing = legal_parts(model, size), uncovered(model, rows, size)
            covered = len(every) - len(missing)
            complete &= not missing
            print(f"  {_NAMES[size]:9} {covered:5} of {len(every):5} legal ones, {100 * covered / len(every):.1f} %")
            for part in sorted(missing) if options.missing else ():
                print("    " + ", ".join(f"{name}: {value}" for name, value in part))
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
