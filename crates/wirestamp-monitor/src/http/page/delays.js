// Sessions and paths: their table, and a heat map for each.

import { age, staleAfter } from "./ages.js";
import { arrange, byId, element, table } from "./elements.js";
import { HeatMap } from "./heatmap.js";
import { bound, count, isRestarted, reasons, seconds, span } from "./units.js";

const MOST_ROWS = 200;
const MOST_PLOTS = 16;
const MOST_LIVE = 1800;
const SEGMENTS = {
  path: ["Path, both ways", "Round trip of a packet without the time in the reflector."],
  round_trip: ["Round trip", "From sending a packet to receiving its reply, the time in the reflector included."],
  forward: ["Forward", "From this host to the reflector. Only where the configuration says how the clocks of both ends are related."],
  backward: ["Backward", "From the reflector to this host. Only where the configuration says how the clocks of both ends are related."],
  residence: ["In the reflector", "From receiving the packet to sending the reply, by the reflector's clock."],
  send_path: ["Send path", "On this host: from the program to the transmit timestamp."],
  receive_path: ["Receive path", "On this host: from the receive timestamp to the program."],
  wire: ["Wire", "Of paths of this host: from the transmit to the receive timestamp."],
};

const segment = byId("delay-segment");
const filter = byId("delay-filter");
const nothing = element("p", { className: "missing", textContent: "No such delays are known of this time." });
const plots = new Map();
let before = null;
let live = new Map();
let past = { series: new Map(), until: -Infinity };

Object.entries(SEGMENTS).forEach(([name, [title]]) => segment.append(element("option", { value: name, textContent: title })));
export const chosen = () => ({ segment: segment.value, name: filter.value });

export function watch(changed, redraw) {
  segment.addEventListener("change", changed);
  filter.addEventListener("input", redraw);
  filter.addEventListener("change", changed);
}

export function showTable(snapshot) {
  const columns = [{ name: "Name" }, { name: "To" }, { name: "Last path delay", number: true, missing: "none yet" }, { name: "Error bound", number: true, missing: "none yet" }, { name: "Age", missing: "never" },
    { name: "Sent", number: true }, { name: "Lost", number: true }, { name: "In flight", number: true }, { name: "Refused packets, other problems", text: true }];
  const share = (lost, sent) => (lost ? `${count(lost)} (${((100 * lost) / sent).toPrecision(2)} %)` : "0");
  const sessions = snapshot.peers.map((peer) => [peer.name, peer.address, span(peer.path_delay_ns, peer.path_delay_bound_ns), bound(peer.path_delay_bound_ns, peer.path_delay_ns), age(peer.path_delay_age_ns, staleAfter(peer, 10)), count(peer.sent),
    share(peer.lost, peer.sent), count(peer.in_flight), [peer.error, peer.refused ? `${count(peer.refused)} not sent` : "", reasons(peer.rejected, "")].filter(Boolean).join("; ") || "none"]);
  const paths = snapshot.paths.map((path) => [path.interface, "this host itself", element("span", { className: "missing", textContent: "see the plot" }), element("span", { className: "missing", textContent: "see the plot" }),
    element("span", { className: "missing", textContent: "not kept" }), count(path.sent), share(path.lost, path.sent), count(path.in_flight), path.error || "none"]);
  table(byId("delay-table"), null, columns, [...sessions, ...paths].slice(0, MOST_ROWS), "The configuration asks for no STAMP session and no path of this host.");
}

// Takes an answer of /api/history.
export function take(answer) {
  const series = new Map();
  for (const one of answer?.delays || []) {
    const [begin, step] = [seconds(answer.from), answer.bin_ns / 1e9];
    series.set(`${one.kind} ${one.name}`, one.bin.map((bin, at) => ({
      at: begin + bin * step, step, count: one.count[at], zero: one.zero[at], buckets: one.buckets[at], bound: Number(one.bound_max_ns[at]),
    })));
  }
  past = { series, more: answer?.more_series, until: answer ? seconds(answer.to) : -Infinity };
}

// What came since the snapshot before: the difference of two histograms.
export function remember(snapshot) {
  // without sessions there is no path to a reflector
  if (!before && !snapshot.peers.length && snapshot.paths.length) segment.value = "wire";
  const now = { at: seconds(snapshot.time), uptime_ns: snapshot.uptime_ns, all: new Map() };
  snapshot.peers.forEach((peer) => now.all.set(`stamp ${peer.name}`, peer.delays));
  snapshot.paths.forEach((path) => now.all.set(`path ${path.interface}`, path.delays));
  if (before && (isRestarted(before, now) || now.at <= before.at)) [before, live] = [null, new Map()];
  for (const [key, delays] of before ? now.all : []) {
    const earlier = before.all.get(key);
    if (!earlier) continue;
    for (const [name, histogram] of Object.entries(delays)) {
      const old = earlier[name] || { count: 0, zero: 0, buckets: [] };
      const known = new Map(old.buckets);
      const fresh = new Map();
      for (const [index, number] of histogram.buckets) {
        const added = number - (known.get(index) || 0);
        const cell = Math.floor((index + 1) / 2);
        if (added > 0) fresh.set(cell, (fresh.get(cell) || 0) + added);
      }
      const columns = live.get(`${key}\n${name}`) || [];
      columns.push({ at: before.at, step: now.at - before.at, count: histogram.count - old.count, zero: histogram.zero - old.zero, buckets: [...fresh], bound: Number(histogram.bound_ns) });
      if (columns.length > MOST_LIVE) columns.shift();
      live.set(`${key}\n${name}`, columns);
    }
  }
  before = now;
}

// Columns as wide as those of the history.
function gathered(columns, wanted) {
  const step = (wanted.to - wanted.from) / 120;
  const made = new Map();
  for (const one of columns) {
    const at = wanted.from + Math.floor((one.at - wanted.from) / step) * step;
    const into = made.get(at) || { at, step, count: 0, zero: 0, buckets: [], bound: 0 };
    const counts = new Map(into.buckets);
    one.buckets.forEach(([index, number]) => counts.set(index, (counts.get(index) || 0) + number));
    Object.assign(into, { count: into.count + one.count, zero: into.zero + one.zero, buckets: [...counts], bound: Math.max(into.bound, one.bound ?? 0) });
    made.set(at, into);
  }
  return [...made.values()].sort((one, other) => one.at - other.at);
}

export function draw(wanted) {
  byId("delay-meaning").textContent = SEGMENTS[segment.value][1];
  const inLive = [...live.keys()].filter((key) => key.endsWith(`\n${segment.value}`)).map((key) => key.slice(0, key.lastIndexOf("\n")));
  const all = [...new Set([...past.series.keys(), ...(wanted.isLive ? inLive : [])])].filter((key) => key.slice(key.indexOf(" ") + 1).includes(filter.value)).sort();
  const shown = all.slice(0, MOST_PLOTS);
  for (const [key, plot] of plots) {
    if (shown.includes(key)) continue;
    plot.root.remove();
    plots.delete(key);
  }
  for (const key of shown) {
    const [kind, name] = [key.slice(0, key.indexOf(" ")), key.slice(key.indexOf(" ") + 1)];
    if (!plots.has(key)) plots.set(key, new HeatMap(kind === "stamp" ? name : `Path of this host: ${name}`));
    const old = (past.series.get(key) || []).filter((one) => one.at + one.step > wanted.from && one.at < wanted.to);
    const fresh = wanted.isLive ? (live.get(`${key}\n${segment.value}`) || []).filter((one) => one.at >= Math.max(past.until, wanted.from)) : [];
    plots.get(key).show([...old, ...gathered(fresh, wanted)], wanted, "Nothing was measured in this time.");
  }
  arrange(byId("delay-plots"), shown.length ? shown.map((key) => plots.get(key).root) : [nothing]);
  const hidden = all.length - shown.length;
  byId("delay-more").textContent = [hidden > 0 ? `${hidden} more are not drawn: write a part of a name above.` : "", past.more ? "The history has more than these: write a whole name above." : ""].join(" ").trim();
}
