"""A Connection as a row: the same names and types in JSON, CSV, OpenMetrics, --sort and --filter."""

from __future__ import annotations

from fcvi.capture.units import duration
from fcvi.engine.words import file_name, printable

from .table import ENDS, discriminator, level
from .words import reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable

    from .table import Flow, Step, Table

    Row = dict[str, Any]

UNKNOWN = -1  # of every number that the capture does not show
US_PER_KM = 5  # one way, in glass


def port(flow: Flow, side: int) -> str:
    """N_Port_ID in hexadecimal."""
    return f"{flow.ids[side]:06X}"


def _distance(round_trip_us: int) -> float:
    return round(round_trip_us / (2 * US_PER_KM), 1) if round_trip_us >= 0 else float(UNKNOWN)


def round_trips(table: Table, flow: Flow) -> list[int]:
    """The shortest time from a frame of each side to the other side's answer, as the capture point saw it; -1 unknown."""
    ways = table.scan.at(flow.index).way
    times: list[list[int]] = [[int(ways[side].fastest_us)] if ways[side].latencies else [] for side in (0, 1)]
    for before, after in zip(flow.steps, flow.steps[1:]):
        if _answers(before, after):
            for side in (0, 1):
                if flow.ids[side] == before.sender:
                    times[side].append(after.time_us - before.time_us)
    return [min(found, default=UNKNOWN) for found in times]


_ANSWERS = {
    "CONNECT_RESP1": "CONNECT_RQST", "CONNECT_RESP2": "CONNECT_RESP1", "CONNECT_RESP3": "CONNECT_RESP2",
    "DISCONNECT_RESP": "DISCONNECT_RQST", "BA_ACC": "ABTS",
}  # fmt: skip


def _answers(before: Step, after: Step) -> bool:
    return _ANSWERS.get(after.name) == before.name and before.ox_id == after.ox_id and before.sender == after.target


def row(table: Table, flow: Flow, ident: int) -> Row:
    """One Connection. Names and types are those of flows.schema.json and never change with the values."""
    c, scan = table.scan.at(flow.index), table.scan
    ways = [c.way[0], c.way[1]]
    file, first = scan.place(flow.first) if flow.first else ("", 0)
    _, last = scan.place(flow.last) if flow.last else ("", 0)
    answered = sum(int(w.latencies) for w in ways)
    trips = round_trips(table, flow)
    hosts = [a[0] if a else "" for a in flow.addresses]
    names = [flow.port_names[side] or table.names.get((flow.network, flow.ids[side])) for side in (0, 1)]
    return {
        "connection": ident, "file": file_name(file), "first_frame": first, "last_frame": last,
        "first_time": flow.first_us / 1e6, "last_time": flow.last_us / 1e6, "network": flow.network,
        "port": [port(flow, 0), port(flow, 1)],
        "port_name": ["" if name is None else f"{name:016X}" for name in names],
        "host_address": hosts,
        "discriminator": [discriminator(a[1]) if a else "" for a in flow.addresses],
        "handle": ["" if h == 0xFFFFFFFF else f"{h:08X}" for h in (int(c.handle[0]), int(c.handle[1]))],
        "edition": "rev1" if flow.is_1999 else "2007", "mode": flow.mode, "level": level(flow.level),
        "max_trans_size": [UNKNOWN if size is None else size for size in flow.sizes],
        "state": flow.state, "ended": flow.ended,
        "ended_by": "" if flow.ended_by is None else f"{flow.ended_by:06X}",
        "reason": UNKNOWN if flow.reason is None else reason(flow)[0],
        "reason_text": "" if flow.reason is None else reason(flow)[1],
        "setup_seen": flow.setup_seen,
        "setup_us": UNKNOWN if flow.setup_us is None else flow.setup_us, "retries": flow.retries,
        "messages": [int(w.messages) for w in ways], "responses": [int(w.responses) for w in ways],
        "bytes": [int(w.bytes) for w in ways], "frames": [int(w.frames) for w in ways],
        "failed": sum(int(w.failed) for w in ways), "unanswered": flow.unanswered_count,
        "gaps": sum(int(w.gaps) for w in ways), "late": sum(int(w.late) for w in ways),
        "again": sum(int(w.again) for w in ways),
        "latency_p50_us": scan.quantile(flow.index, 0.5) if answered else UNKNOWN,
        "latency_p99_us": scan.quantile(flow.index, 0.99) if answered else UNKNOWN,
        "latency_max_us": max(int(w.slowest_us) for w in ways) if answered else UNKNOWN,
        "round_trip_min_us": trips, "distance_km_most": [_distance(trip) for trip in trips],
        "stall_max_us": max(int(w.stall_us) for w in ways),
        "findings": [{"requirement": r, "class": cls, "message": m, "count": n} for (r, cls, m), n in flow.findings.items()],
        "violations": sum(n for (_, cls, _), n in flow.findings.items() if cls != "notice"),
    }  # fmt: skip


#: What --sort, --filter and --fields may name.
NAMES = (
    "connection", "first_frame", "last_frame", "first_time", "last_time", "network", "port", "port_name", "host_address",
    "discriminator", "handle", "mode", "level", "state", "ended", "ended_by", "reason", "setup_seen", "setup_us", "retries",
    "messages", "bytes", "frames", "failed", "unanswered", "gaps", "late", "again", "latency_p50_us", "latency_p99_us",
    "latency_max_us", "stall_max_us", "violations", "file", "reason_text", "max_trans_size", "responses", "round_trip_min_us",
    "distance_km_most", "edition",
)  # fmt: skip


def sort_key(name: str) -> Callable[[Row], Any]:
    """By a column; of two numbers the sum."""

    def key(row_: Row) -> Any:
        value = row_[name]
        return sum(value) if isinstance(value, list) and value and isinstance(value[0], int) else value

    return key


def conditions(texts: Iterable[str]) -> list[Callable[[Row], bool]]:
    """What --filter says of a row, by the grammar of harness/docs/filters.md. Of a column with two values one is enough. Raises
    FilterError."""
    from fcvi.engine.filters import Value, conditions_of

    codes = {"ended": ENDS, "level": (*map(level, range(4)),)}

    def lookup(row_: Row, name: str) -> list[Value]:
        found = row_[name] if isinstance(row_[name], list) else [row_[name]]
        return [Value(None if isinstance(v, str) else v, (str(v),)) for v in found if v not in ("", UNKNOWN)]

    return [
        lambda row_, condition=condition: condition(lambda name: lookup(row_, name))  # type: ignore[misc]
        for condition in conditions_of(texts, NAMES, lambda name: codes.get(name, ()))
    ]


def short(r: Row) -> list[str]:
    """The lines of a Connection for people."""
    ends = [_end(r, side) for side in (0, 1)]
    how = r["ended"] + (f" by {r['ended_by']}" if r["ended_by"] else "")
    how += f", reason {r['reason']:02X}h {r['reason_text']}" if r["reason"] > 0 else ""
    edition = "Rev 1.0 of 1999, " if r["edition"] == "rev1" else ""
    sizes = "/".join("?" if size < 0 else str(size) for size in r["max_trans_size"])
    lines = [
        f"{r['connection']}: {ends[0]} -> {ends[1]}",
        f"   {edition}{r['level']}, {r['mode']}, FCVI_MAX_TRANS_SIZE {sizes}; {'still ' if how == 'open' else ''}{how}"
        f"{' at the end' if how == 'open' else ''} (frames {r['first_frame']} to {r['last_frame']})",
        f"   Messages {r['messages'][0]} out, {r['messages'][1]} back; bytes {r['bytes'][0]} out, {r['bytes'][1]} back; "
        f"setup {'not finished' if r['setup_us'] < 0 and r['setup_seen'] else _us(r['setup_us'])}, retries {r['retries']}",
    ]
    if r["latency_max_us"] >= 0:
        far = [f"{km:g} km" for km in r["distance_km_most"] if km >= 0]
        lines.append(
            f"   latency p50 {_us(r['latency_p50_us'])}, p99 {_us(r['latency_p99_us'])}, most {_us(r['latency_max_us'])}; "
            f"the fastest answer allows at most {' and '.join(far)} from the capture point"
        )
    waits = "without a Response" if r["level"] == "Reliable Reception" else "not finished"
    odd = [f"{r[name]} {words}" for name, words in (
        ("unanswered", waits), ("failed", "Responses with an error"), ("gaps", "gaps"), ("late", "late"),
        ("again", "repeated")) if r[name]]  # fmt: skip
    if odd:
        lines.append(f"   {', '.join(odd)}")
    lines += [f"   {f['requirement']} [{f['class']}] {f['message']}" + (f" ({f['count']} times)" if f["count"] > 1 else "")
              for f in r["findings"]]  # fmt: skip
    return lines


def _end(r: Row, side: int) -> str:
    words = [r["port"][side]]
    if r["port_name"][side]:
        words.append(r["port_name"][side])
    if r["host_address"][side]:
        words.append(f"[{r['host_address'][side]}]")
    if r["discriminator"][side]:
        words.append(f'"{r["discriminator"][side]}"')
    return " ".join(words)


def _us(us: int) -> str:
    if us < 0:
        return "not seen"
    return duration(us)


def flat(r: Row) -> Row:
    """For a table: a column for each side, findings as their requirements."""
    found: Row = {}
    for name, value in r.items():
        if name == "findings":
            found[name] = " ".join(f["requirement"] for f in value)
        elif isinstance(value, list):
            found[f"{name}_a"], found[f"{name}_b"] = value
        else:
            found[name] = value
    return {name: _cell(value) for name, value in found.items()}


def _cell(value: Any) -> Any:
    """What a port chose, and the name of a file, is text of one line: a spreadsheet takes what begins so for a formula (CWE-1236),
    and a job that prints the table a line for a command."""
    text = printable(value) if isinstance(value, str) else ""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text or value


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


_METRICS = (
    ("messages", "counter", "Messages requested by a side"), ("bytes", "counter", "payload bytes sent by a side"),
    ("responses", "counter", "Message Responses of a side"), ("failed", "counter", "Message Responses that report an error"),
    ("unanswered", "gauge", "Messages without their Response"), ("retries", "counter", "Connection Setups tried again"),
    ("gaps", "counter", "places where frames or Messages are missing"), ("late", "counter", "frames or Messages overtaken"),
    ("violations", "counter", "findings of the monitor and the codec"),
    ("setup_us", "gauge", "from FCVI_CONNECT_RQST to FCVI_CONNECT_RESP3"), ("latency_p50_us", "gauge", "half of the latencies"),
    ("latency_p99_us", "gauge", "99 in 100 latencies"), ("latency_max_us", "gauge", "the longest latency"),
)  # fmt: skip


def openmetrics(rows: Iterable[Row]) -> str:
    """The exposition format of OpenMetrics 1.0. What the capture does not show has no sample."""
    kept, lines = list(rows), []
    for name, kind, words in _METRICS:
        unit = name.endswith("_us")
        family = f"fcvi_connection_{name[:-3]}_seconds" if unit else f"fcvi_connection_{name}"
        lines += [f"# TYPE {family} {kind}"] + ([f"# UNIT {family} seconds"] if unit else []) + [f"# HELP {family} {words}."]
        for r in kept:
            both = isinstance(r[name], list)
            for side, value in enumerate(r[name] if both else [r[name]]):
                if value == UNKNOWN and name != "retries":
                    continue
                labels = {"connection": str(r["connection"]), "a": r["port"][0], "b": r["port"][1], "ended": r["ended"]}
                if both:
                    labels["sender"] = r["port"][side]
                text = ",".join(f'{key}="{_escaped(word)}"' for key, word in labels.items())
                lines.append(f"{family}{'_total' if kind == 'counter' else ''}{{{text}}} {value / 1e6 if unit else value}")
    return "\n".join([*lines, "# EOF"]) + "\n"
