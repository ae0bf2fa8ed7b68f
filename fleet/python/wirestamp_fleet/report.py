"""What people read: tables, and one HTML file without scripts or anything from elsewhere."""

import datetime
import html
import importlib.metadata
import time

import pyarrow as pa
import pyarrow.compute as compute

VERSION = importlib.metadata.version("wirestamp-fleet")
NS = ((1e9 * 86_400, "d"), (1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns"))


def span(nanoseconds):
    """Nanoseconds as people write them."""
    if nanoseconds is None:
        return "–"
    for unit, name in NS:
        if abs(nanoseconds) >= unit:
            return f"{nanoseconds / unit:.3g} {name}"
    return f"{nanoseconds} ns"


def _time(nanoseconds):
    """UTC to the second; a number where that is no date."""
    try:
        return f"{datetime.datetime.fromtimestamp(nanoseconds // 10**9, datetime.timezone.utc):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError, OSError):
        return f"{nanoseconds} ns"


def table(rows):
    """Columns with a space between."""
    lines = [rows.schema.names] + [["–" if value is None else str(value) for value in row.values()] for row in rows.to_pylist()]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(value.rjust(width) for value, width in zip(line, widths, strict=True)) for line in lines)


class Hosts:
    """What is known of each host over all windows. Shown is the last window, of a host that contradicts the others the last in which it does: another
    host's wrong dates may open windows in which nobody is left to contradict."""

    def __init__(self, clocks):
        """`clocks`: batches of kernel.CLOCKS, in the order of their windows."""
        self.windows, self.first, self.last, self._found = 0, None, None, {}
        self.links = {}
        """Of two hosts whose link contradicts the others while they do not: in how many windows, and by how much at most."""
        for batch in clocks:
            for row in batch.to_pylist():
                self._add(row)

    def _add(self, row):
        self.windows += row["window_start"] != self.last
        self.last = row["window_start"]
        if self.first is None:
            self.first = self.last
        entry = self._found.setdefault(row["host"], {"host": row["host"], "contradicted": 0, "windows": 0, "with": set(), "excess": 0})
        entry["windows"] += 1
        entry["last"] = row
        if row["reason"] == "contradicts" or not entry["contradicted"]:
            entry["shown"] = row
        if row["reason"] is not None:
            entry["reason"] = row["reason"]
        for peer in (row["links"] or "").split():
            if row["host"] < peer:  # both have it
                windows, excess = self.links.get((row["host"], peer), (0, 0))
                self.links[row["host"], peer] = windows + 1, max(excess, row["links_excess"])
        if row["reason"] == "contradicts":
            entry["contradicted"] += 1
            entry["with"].update((row["contradicts"] or "").split())
            entry["excess"] = max(entry["excess"], row["excess"] or 0)

    def worst_first(self):
        """One entry a host: those that contradict the others, then by the distance of their estimate."""
        order = lambda entry: (-entry["contradicted"], -abs(estimate(entry["shown"]) or 0), entry["host"])
        return sorted(self._found.values(), key=order)


    def worst_links(self):
        """Text for each link that contradicts, the worst first."""
        worst = sorted(self.links.items(), key=lambda link: (-link[1][0], -link[1][1], link[0]))
        return [(f"{one} – {other}", f"in {windows} of {self.windows} windows, by up to {span(excess)}") for (one, other), (windows, excess) in worst]


def estimate(row):
    """The estimate of a clock: within its bounds where it has any."""
    return row["unclamped"] if row["offset"] is None else row["offset"]


def summary(hosts, most=10):
    """The worst hosts, as text."""
    found = hosts.worst_first()
    wrong = [entry for entry in found if entry["contradicted"]]
    lines = [f"{len(found)} hosts, {hosts.windows} windows; {len(wrong)} contradict the others"]
    for entry in (wrong or found)[:most]:
        last = entry["shown"]
        what = f"in {entry['contradicted']} of {entry['windows']} windows, by up to {span(entry['excess'])}" if entry["contradicted"] else _bounds(last)
        lines.append(f"  {entry['host']:28} {span(estimate(last)):>10}  {what}")
    if links := hosts.worst_links():
        lines.append(f"{len(links)} links contradict the others, and their hosts do not")
        lines += [f"  {link:40}  {what}" for link, what in links[:most]]
    return "\n".join(lines)


def _bounds(row):
    if row["earliest"] is None:
        return row["reason"] or ""
    return f"between {span(row['earliest'])} and {span(row['latest'])}"


def page(clocks, pairs, claims, assumed=()):
    """The whole report. `clocks`: gives the batches of kernel.CLOCKS, as often as it is asked. `assumed`: what the bounds rest on, as text."""
    hosts = Hosts(clocks())
    found = hosts.worst_first()
    wrong = [entry for entry in found if entry["contradicted"]]
    windows = hosts.windows
    known = [entry["last"] for entry in found if entry["last"]["earliest"] is not None]
    widths = sorted((row["latest"] - row["earliest"]) / 2 for row in known)
    median = span(round(widths[len(widths) // 2])) if widths else "–"
    parts = [
        f"<h1>Clocks of {len(found)} hosts</h1>",
        f"<p>{windows} windows; <b>{len(wrong)}</b> hosts contradict the others; the other clocks are known to "
        f"±{median} (median of the guaranteed bounds, last window).</p>",
        f"<p>Windows from {_time(hosts.first)} to {_time(hosts.last)} UTC, by the hosts' clocks. Made {_time(time.time_ns())} UTC by wirestamp-fleet {VERSION}.</p>",
        *(f"<p>{html.escape(text)}</p>" for text in assumed),
        "<h2>Worst hosts</h2>",
        _worst(found[: max(10, min(len(wrong), 50))], claims),
        _links(hosts.worst_links()),
        "<h2>Clock map</h2><p>Each square is a host, by name; colour is the last window's estimate. Framed: contradicts the others; its colour is of the last window in which it does.</p>",
        _map(found),
        "<h2>Timeline</h2><p>The six worst hosts: estimate over the windows (line), guaranteed bounds where there are any (area). Logarithmic beyond ±100 ns.</p>",
        _timeline(clocks(), [entry["host"] for entry in found[:6]]),
        "<h2>One-way delays</h2><p>Median between groups of hosts (the name up to its last hyphen), sender in rows.</p>",
        _matrix(pairs),
        _losses(pairs),
    ]
    return HEAD + "\n".join(parts) + "\n</main></html>\n"


def _worst(found, claims):
    lines = ["<div class=wide><table><tr><th>host<th>estimate<th>guaranteed between<th>claims<th>contradicts<th>by up to<th>windows</tr>"]
    for entry in found:
        last = entry["shown"]
        others = sorted(entry["with"])
        text = ", ".join(others[:4]) + (f" and {len(others) - 4} more" if len(others) > 4 else "")
        claim = claims.at(last["window_start"], 1).get(entry["host"])
        cells = [
            entry["host"],
            span(estimate(last)),
            f"{span(last['earliest'])} and {span(last['latest'])}" if last["earliest"] is not None else last["reason"],
            f"±{span(claim)}" if claim is not None else "nothing",
            text or "–",
            span(entry["excess"]) if entry["excess"] else "–",
            f"{entry['contradicted']} of {entry['windows']}",
        ]
        mark = ' class="wrong"' if entry["contradicted"] else ""
        lines.append(f"<tr{mark}>" + "".join(f"<td>{html.escape(str(cell))}" for cell in cells) + "</tr>")
    return "\n".join(lines) + "</table></div>"


def _links(links):
    if not links:
        return ""
    lines = [f"<p>{len(links)} links contradict the others, and their hosts do not: what a link shows of a delay is impossible, or its least delay is wrong.</p><ul>"]
    lines += [f"<li>{html.escape(link)}: {what}" for link, what in links[:10]]
    return "\n".join(lines) + "</ul>"


def _colour(offset):
    """Blue: behind, red: ahead; deeper by the order of magnitude."""
    if offset is None:
        return "#ccc"
    depth = min(_scale(offset), 5) / 5 if offset > 0 else max(_scale(offset), -5) / 5
    other = round(235 * (1 - abs(depth)))
    return f"rgb(235,{other},{other})" if depth > 0 else f"rgb({other},{other},235)"


def _scale(offset):
    """Linear to 100 ns, one more for each factor of ten beyond."""
    import math

    size = abs(offset) / 100
    scaled = size if size <= 1 else 1 + math.log10(size)
    return scaled if offset > 0 else -scaled


def _map(found):
    side, across = 12, 80
    squares = []
    for place, entry in enumerate(sorted(found, key=lambda entry: entry["host"])):
        x, y = place % across * side, place // across * side
        frame = ' stroke="#000" stroke-width="2"' if entry["contradicted"] else ""
        title = html.escape(f"{entry['host']}: {span(estimate(entry['last']))}")
        squares.append(
            f'<rect x="{x + 1}" y="{y + 1}" width="10" height="10" fill="{_colour(estimate(entry["shown"]))}"{frame}><title>{title}</title></rect>'
        )
    height = (len(found) - 1) // across * side + side + 2
    return f'<svg viewBox="0 0 {across * side + 2} {height}" role="img" aria-label="clock map">' + "".join(squares) + "</svg>"


def _timeline(clocks, names):
    lines = {name: [] for name in names}
    for batch in clocks:
        for row in batch.filter(compute.is_in(batch["host"], value_set=pa.array(names, pa.string()))).to_pylist():
            lines[row["host"]].append(row)
    width, height, half = 960, 90, 40
    parts = []
    for place, (name, rows) in enumerate(lines.items()):
        top = place * height
        step = (width - 240) / max(len(rows) - 1, 1)
        most = max([_size(row) for row in rows] + [1])
        x = lambda number, step=step: 230 + number * step
        y = lambda offset, most=most, top=top: top + 45 - _scale(offset) / most * half
        area = [(number, row) for number, row in enumerate(rows) if row["earliest"] is not None]
        for number, row in area:
            tall = y(row["earliest"]) - y(row["latest"])
            parts.append(f'<rect x="{x(number) - max(step, 3) / 2:.1f}" y="{y(row["latest"]):.1f}" width="{max(step, 3):.1f}" height="{tall:.1f}" fill="#cde"/>')
        points = " ".join(f"{x(number):.1f},{y(estimate(row)):.1f}" for number, row in enumerate(rows) if estimate(row) is not None)
        parts.append(f'<line x1="230" x2="{width - 10}" y1="{top + 45}" y2="{top + 45}" stroke="#999" stroke-dasharray="2"/>')
        parts.append(f'<polyline points="{points}" fill="none" stroke="#b00" stroke-width="1.5"/>')
        last = span(estimate(rows[-1])) if rows else "–"
        parts.append(f'<text x="0" y="{top + 42}">{html.escape(name)}</text><text x="0" y="{top + 58}">{last}</text>')
    return f'<svg viewBox="0 0 {width} {max(len(lines), 1) * height}" role="img" aria-label="timeline">' + "".join(parts) + "</svg>"


def _size(row):
    values = [estimate(row), row["earliest"], row["latest"]]
    return max([abs(_scale(value)) for value in values if value is not None] + [0])


GROUPS = 60
"""The matrix has at most so many rows."""


def _matrix(pairs):
    group = lambda host: host.rsplit("-", 1)[0] if "-" in host else host
    cells = {}
    for row in pairs.to_pylist():
        if row["peer"] is not None and row["median"] is not None:
            cells.setdefault((group(row["host"]), group(row["peer"])), []).append(row["median"])
    groups = sorted({name for pair in cells for name in pair})
    if not groups:
        return "<p>No packets were recorded at both ends.</p>"
    left_out = f"<p>The first {GROUPS} of {len(groups)} groups.</p>" if len(groups) > GROUPS else ""
    groups = groups[:GROUPS]
    lines = [left_out + "<div class=wide><table class=matrix><tr><th>" + "".join(f"<th>{html.escape(name)}" for name in groups) + "</tr>"]
    for one in groups:
        row = []
        for other in groups:
            medians = sorted(cells.get((one, other), []))
            row.append(f"<td>{span(medians[len(medians) // 2])}" if medians else "<td>")
        lines.append(f"<tr><th>{html.escape(one)}" + "".join(row) + "</tr>")
    return "\n".join(lines) + "</table></div>"


def _losses(pairs):
    rows = pairs.to_pylist()
    if not rows:
        return ""
    total = {name: sum(row[name] for row in rows) for name in ("sent", "missing", "duplicate", "reordered")}
    worst = sorted(rows, key=lambda row: (-row["missing"], row["host"], row["flow"]))[:10]
    lines = [f"<p>{len(rows)} flows: {total['sent']} packets sent, {total['missing']} missing, {total['duplicate']} duplicate, {total['reordered']} reordered. Most missing:</p>"]
    names = ("host", "peer", "sent", "missing", "duplicate", "reordered", "least", "median", "p99", "most", "error_bound")
    lines.append("<div class=wide><table><tr>" + "".join(f"<th>{name.replace('_', ' ')}" for name in names) + "</tr>")
    for row in worst:
        cells = [span(row[name]) if name in names[6:] else row[name] for name in names]
        lines.append("<tr>" + "".join(f"<td>{html.escape(str(cell))}" for cell in cells) + "</tr>")
    return "\n".join(lines) + "</table></div>"


HEAD = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Clocks of the fleet</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 0; color: #222 }
main { max-width: 1000px; margin: 0 auto; padding: 1rem }
table { border-collapse: collapse; font-size: 13px }
th, td { padding: 2px 8px; text-align: right; border-bottom: 1px solid #ddd }
th:first-child, td:first-child { text-align: left; white-space: nowrap }
.wrong td { background: #fee }
.wide { overflow-x: auto }
.matrix td, .matrix th { white-space: nowrap }
svg { width: 100%; height: auto; font-size: 12px }
</style><main>
"""
