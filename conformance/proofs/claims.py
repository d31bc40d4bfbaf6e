"""Say whether what the cases of a book list is borne out by results, and whether what another check decides still is.

A case may list a row that fails a device only if one of its checks was handed the row in a run of the reference device, or a broken
device was failed by it (proofs.tsv), or the check of another row decides it (decided_by.tsv), or not_tested.tsv says why not.
"""

from __future__ import annotations

from typing import Iterable, Optional

from fcvi.engine.breaks import Break
from fcvi.engine.case import CaseInfo
from fcvi.engine.catalogue import DecidedBy, load_decided_by, load_not_tested
from fcvi.engine.protocol import Protocol
from fcvi.engine.scenario import FAILING_LEVELS

from .play import Player
from .table import load

_MOST = 200  # variants in which a device of a decided row is tried


def failing_levels(protocol: Protocol) -> frozenset[str]:
    """The levels of the rows that fail a device: of verbs also permissions (7 of its errata)."""
    return frozenset({"shall", "may"}) if protocol.book == "verbs" else FAILING_LEVELS


def unnamed(player: Player, cases: Iterable[CaseInfo]) -> list[str]:
    """The claims that no result bears out, one line each."""
    protocol = player.book.protocol
    with_base = [protocol, *([protocol.base] if protocol.base is not None else [])]
    levels = failing_levels(protocol)
    borne = {ident for proof in load(player.book.name) for ident in proof.named.split()}
    borne |= load_decided_by(with_base).keys() | load_not_tested(with_base).keys()
    found = []
    for case in cases:
        left = [r for r in case.requirements if r not in borne and player.levels[r] in levels]
        left = [r for r in left if r not in player.checked(case)] if left else []
        found += [f"case {case.id} lists {ident}, which no check of it names" for ident in left]
    return found


def decides(player: Player, row: DecidedBy) -> Optional[str]:
    """The variant in which the device of a row that another check decides is failed by that check; None where it is in none."""
    device = Break("fault", row.device)
    where = [one for one in player.book.bank() if one.device == device and one.where]
    every = [(case, variant, case.variant_id(variant)) for case, variant in player.variants(None, device)]
    surest = [place for place in every if any(one.shows_in(place[2]) for one in where)]
    listing = [place for place in every if {row.id, *row.by} & set(place[0].requirements)]
    first = {place[0].id: place for place in reversed(listing)}
    others = {place[0].id: place for place in reversed(every)}
    for case, variant, ident in [*surest, *list(first.values())[::-1], *listing[::3][:_MOST], *list(others.values())[::-1]]:
        if set(row.by) & set(player.seen(case, variant, device).failing):
            return ident
    return None


def rows_with_a_device(protocol: Protocol) -> list[DecidedBy]:
    """Those of decided_by.tsv that a device shows."""
    return [row for row in load_decided_by([protocol]).values() if row.device]


__all__ = ["decides", "failing_levels", "rows_with_a_device", "unnamed"]
