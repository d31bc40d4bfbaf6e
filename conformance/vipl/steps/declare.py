"""Says how a case of VIPL is declared: its rows by their short ids, and the variants of level."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Sequence

from fcvi.engine.case import Body, Registry, Variant, case

REGISTRY = Registry("VIPL")
UD, RD, RR = "VIP_SERVICE_UNRELIABLE", "VIP_SERVICE_RELIABLE_DELIVERY", "VIP_SERVICE_RELIABLE_RECEPTION"
LEVELS = (UD, RD, RR)
SHORT = {UD: "ud", RD: "rd", RR: "rr"}
CLAIMS = {UD: "unreliable_delivery", RD: "reliable_delivery", RR: "reliable_reception"}


def vipl(
    ident: str, title: str, rows: str, *, errata: str = "", applies: str = "", variants: Optional[list[Variant]] = None,
    tags: str = "",
) -> Callable[[Body], Body]:
    """Declare VIPL.<ident>. rows and errata: ids with blanks between, those of rows without their prefix."""
    ids = rows.split()
    clause = ", ".join(dict.fromkeys(f"{row[0]} {row[1:].rpartition('-')[0]}" for row in ids))
    return case(
        REGISTRY, f"VIPL.{ident}", title, clause=clause, requirements=[f"VIPL-{row}" for row in ids], applies=applies,
        errata=errata.split(), variants=variants, tags=tags.split(),
    )  # fmt: skip


def levels(among: Sequence[str] = LEVELS, applies: str = "") -> list[Variant]:
    """A variant for each level."""
    also = f" and {applies}" if applies else ""
    return [Variant(SHORT[level], {"level": level}, CLAIMS[level] + also) for level in among]


def each(base: Sequence[Variant], name: str, values: Mapping[str, Any]) -> list[Variant]:
    """Every variant of base with every value of one more parameter; the key is what stands in the id."""
    return [
        Variant("-".join(filter(None, (v.suffix, key))), {**v.params, name: value}, v.applies)
        for v in base for key, value in values.items()
    ]  # fmt: skip
