"""The table of Connections as a page that needs nothing else: a time line for each, and the frames of one as a ladder."""

from __future__ import annotations

from html import escape

from .table import Flow, Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .rows import Row

_WIDTH, _MOST_LINES, _MOST_ROWS = 600, 2000, 400
_STYLE = """
body{font:14px sans-serif;margin:1.5em;max-width:90em}table{border-collapse:collapse}td,th{padding:2px 8px;text-align:left;
border-bottom:1px solid #ccc;vertical-align:top}.n{text-align:right}.bad{color:#a00}.line{fill:#6a9fd4}.end{fill:#a00}
.ladder td{border:0;font-family:monospace}.ladder .arrow{width:24em;text-align:center}svg{display:block}
"""


def _steps_of(flow: Flow, r: Row) -> list[Step]:
    return flow.steps[:_MOST_ROWS] if r["frames"] or flow.steps else []


def _line(flow: Flow, r: Row, begin: float, span: float) -> str:
    """A bar from the first frame to the last; marks where something was odd."""
    left = (r["first_time"] - begin) / span * _WIDTH
    width = max(1.0, (r["last_time"] - r["first_time"]) / span * _WIDTH)
    marks = "".join(
        f'<rect class="end" x="{(s.time_us / 1e6 - begin) / span * _WIDTH:.1f}" y="0" width="1.5" height="14">'
        f"<title>frame {s.number}: {escape(s.words())}</title></rect>"
        for s in flow.steps[:100] if "why" in s.what or s.name in ("ABTS", "LOGO", "F_BSY", "F_RJT", "P_BSY", "P_RJT")
    )  # fmt: skip
    bar = f'<rect class="line" x="{left:.1f}" y="3" width="{width:.1f}" height="8"/>'
    label = f"from {r['first_time']} to {r['last_time']} s"
    return f'<svg width="{_WIDTH + 4}" height="14" role="img" aria-label="{label}">{bar}{marks}</svg>'


def _ladder(flow: Flow, r: Row) -> str:
    a, b = r["port"]
    rows, before = [], flow.first_us
    for s in _steps_of(flow, r):
        right = s.sender == flow.ids[0]
        arrow = f"{escape(s.name)} &#8594;" if right else f"&#8592; {escape(s.name)}"
        more = escape(" ".join(f"{k} {v}" for k, v in s.what.items()))
        rows.append(f'<tr><td class="n">{s.number}</td><td class="n">+{s.time_us - before} us</td><td>|</td>'
                    f'<td class="arrow">{arrow}</td><td>|</td><td>{more}</td></tr>')  # fmt: skip
        before = s.time_us
    head = f'<tr><th>frame</th><th>after</th><th>{a}</th><th></th><th>{b}</th><th></th></tr>'
    return f'<table class="ladder">{head}{"".join(rows)}</table>'


def page(flows: list[Flow], rows: list[Row], ladder: int) -> str:
    """The page. ladder: the Connection to show; 0: the first that did not end well, or the first."""
    begin = min((r["first_time"] for r in rows), default=0.0)
    span = max((r["last_time"] for r in rows), default=0.0) - begin or 1.0
    body = []
    for r in rows[:_MOST_LINES]:
        bad = "" if r["ended"] in ("open", "disconnected") and not r["violations"] else ' class="bad"'
        ends = " &#8594; ".join(
            escape(" ".join(filter(None, (r["port"][i], r["host_address"][i], r["discriminator"][i])))) for i in (0, 1)
        )
        how = escape(" ".join(filter(None, (r["ended"], r["reason_text"]))))
        latency = "" if r["latency_max_us"] < 0 else f"{r['latency_p50_us']} / {r['latency_p99_us']} / {r['latency_max_us']}"
        body.append(
            f'<tr><td class="n">{r["connection"]}</td><td>{ends}</td><td>{escape(r["level"])}</td><td{bad}>{how}</td>'
            f'<td class="n">{r["messages"][0]} / {r["messages"][1]}</td><td class="n">{latency}</td>'
            f'<td>{_line(flows[r["connection"] - 1], r, begin, span)}</td></tr>'
        )
    left_off = f"<p>{len(rows) - _MOST_LINES} further Connections are left off.</p>" if len(rows) > _MOST_LINES else ""
    shown = [r for r in rows if r["connection"] == ladder] or [
        r for r in rows if r["ended"] not in ("open", "disconnected") or r["violations"]] or rows  # fmt: skip
    frames = ""
    if shown:
        r = shown[0]
        frames = (f"<h2>Frames of Connection {r['connection']}</h2><p>Setup, Disconnect, link services, and Messages that were out "
                  f"of the ordinary; Messages in order are left out.</p>{_ladder(flows[r['connection'] - 1], r)}")  # fmt: skip
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Connections of FC-VI</title>'
        f"<style>{_STYLE}</style></head><body><h1>Connections</h1><table><tr><th>#</th><th>ports, addresses</th><th>level</th>"
        "<th>end</th><th>Messages out / back</th><th>latency us p50 / p99 / most</th>"
        f"<th>{begin:.6f} s, {span:.6f} s long</th></tr>"
        f"{''.join(body)}</table>{left_off}{frames}</body></html>\n"
    )
