"""The Connections of a link that is watched: a table that is written anew, and what is handed over meanwhile."""

from __future__ import annotations

import time

from .rows import UNKNOWN, row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from .rows import Row
    from .table import Table

_HEAD = (
    f"{'':>5} {'ports':<17} {'state':<18} {'Messages':>15} {'MB':>9} {'p50 us':>8} {'p99 us':>8} {'max us':>8} {'tries':>5} "
    f"{'bad':>5}"
)


def line(r: Row) -> str:
    """One Connection."""
    us = [("-" if r[n] == UNKNOWN else str(r[n])) for n in ("latency_p50_us", "latency_p99_us", "latency_max_us")]
    messages = f"{r['messages'][0]}/{r['messages'][1]}"
    return (
        f"{r['connection']:>5} {r['port'][0]} -> {r['port'][1]:<7} {r['ended'][:18]:<18} {messages:>15} "
        f"{sum(r['bytes']) / 1e6:>9.1f} {us[0]:>8} {us[1]:>8} {us[2]:>8} {r['retries']:>5} {r['violations']:>5}"
    )


def screen(rows: list[Row], summary: str, columns: int, lines: int) -> str:
    """A terminal of that size: the Connections with the latest frames first, as many as there is room for."""
    room = max(1, lines - 4)
    latest = sorted(rows, key=lambda r: (-r["last_time"], r["connection"]))
    shown = [line(r) for r in latest[:room]]
    more = [f"... and {len(rows) - room} more"] if len(rows) > room else []
    return "\x1b[H" + "".join(f"{text[: columns - 1]}\x1b[K\n" for text in [summary, _HEAD, *shown, *more]) + "\x1b[J"


class Live:
    """Called whenever the reader has a moment; does its work every so many seconds."""

    def __init__(self, table: Table, every_s: float, tell: Callable[[list[Row]], None], begun: Callable[[], None]) -> None:
        self._table, self._every_s, self._tell = table, every_s, tell
        self._begun, self._next_s = begun, 0.0
        self._told = False

    def tick(self) -> None:
        """The reader has a moment."""
        now = time.monotonic()
        if now < self._next_s:
            return
        if not self._told:
            self._told = True
            self._begun()
        self._next_s = now + self._every_s
        self._tell([row(self._table, flow, ident) for ident, flow in enumerate(self._table.so_far(), 1)])
