// The plots of clocks and servers: what the history has of the range, then what comes while the page is open.

import { byId, element } from "./elements.js";
import { OffsetPlot } from "./plot.js";
import { seconds, wholeSeconds } from "./units.js";

const MOST_PLOTS = 24;
const MOST_LIVE = 3600;
const TITLES = {
  clock: (name) => (name === "realtime" ? "Real-time clock against UTC" : `${name} against UTC, as the real-time clock shows it`),
  ntp: (name) => `Against NTP server ${name}`,
  ptp: (name) => `${name} against its PTP timeTransmitter`,
};

// By "kind name".
const plots = new Map();
const live = new Map();
// Whole seconds that are taken from the offsets of a series: a clock that shows TAI is 37 s from UTC, and integers beyond 2^53 stay exact.
const bases = new Map();
let past = { series: new Map(), until: -Infinity, note: "" };

const point = (at, offset, bound) => ({ at, least: offset, most: offset, bound });
const number = (value) => (value === null || value === undefined ? null : Number(value));

function relative(key, value) {
  if (number(value) === null) return null;
  if (!bases.has(key)) bases.set(key, wholeSeconds(value));
  return Number(BigInt(value) - bases.get(key) * 1_000_000_000n);
}

// Takes an answer of /api/history; `null`: there is none, for the reason in `note`.
export function take(answer, note) {
  const series = new Map();
  for (const one of answer?.offsets || []) {
    const [begin, step] = [seconds(answer.from), answer.bin_ns / 1e9];
    const key = `${one.kind} ${one.name}`;
    series.set(key, one.bin.map((bin, at) => ({
      at: begin + (bin + 0.5) * step, least: relative(key, one.offset_min_ns[at]), most: relative(key, one.offset_max_ns[at]), bound: Number(one.bound_max_ns[at]),
    })));
  }
  past = { series, note, step: (answer?.bin_ns || 0) / 1e9, until: Math.max(-Infinity, ...[...series.values()].map((points) => points.at(-1)?.at ?? -Infinity)) };
}

// Remembers what a snapshot says.
export function remember(snapshot) {
  const at = seconds(snapshot.time);
  const keep = (kind, name, offset, bound) => {
    if (number(bound) === null) return;
    const key = `${kind} ${name}`;
    const points = live.get(key) || [];
    // the clock was set back, or another run of the monitor
    if (points.length && points.at(-1).at >= at) points.length = 0;
    points.push(point(at, relative(key, offset), number(bound)));
    if (points.length > MOST_LIVE) points.shift();
    live.set(key, points);
  };
  snapshot.clocks.forEach((clock) => keep("clock", clock.name, clock.utc_offset_ns, clock.utc_bound_ns));
  snapshot.ntp?.servers.forEach((server) => keep("ntp", server.name, server.offset_ns, server.bound_ns));
  snapshot.ptp.forEach((port) => keep("ptp", port.interface, port.offset_ns, port.bound_ns));
}

// Where nothing was measured for long there is a gap.
function withGaps(points, least) {
  if (points.length < 2) return points;
  const steps = points.slice(1).map((one, at) => one.at - points[at].at).sort((one, other) => one - other);
  const most = Math.max(4 * steps[steps.length >> 1], 3 * least, 5);
  return points.flatMap((one, at) => (at && one.at - points[at - 1].at > most ? [{ ...point((one.at + points[at - 1].at) / 2, null, null) }, one] : [one]));
}

const nothing = element("p", { className: "missing", textContent: "Nothing to plot: of no clock an offset or an error bound is known. An [[ntp]] server in the configuration tells." });

export function draw(wanted) {
  const all = new Set([...past.series.keys(), ...(wanted.isLive ? live.keys() : [])]);
  const shown = [...all].sort().slice(0, MOST_PLOTS);
  for (const [key, plot] of plots) {
    if (shown.includes(key)) continue;
    plot.root.remove();
    plots.delete(key);
  }
  if (shown.some((key) => key.startsWith("clock "))) nothing.remove();
  else byId("clock-plots").append(nothing);
  for (const key of shown) {
    const [kind] = key.split(" ", 1);
    if (!plots.has(key)) {
      plots.set(key, new OffsetPlot(TITLES[kind](key.slice(kind.length + 1))));
      byId(kind === "clock" ? "clock-plots" : "server-plots").append(plots.get(key).root);
    }
    const before = past.series.get(key) || [];
    const last = before.at(-1)?.at ?? -Infinity;
    const since = wanted.isLive ? (live.get(key) || []).filter((one) => one.at > last) : [];
    const points = [...before, ...since].filter((one) => one.at >= wanted.from && one.at <= wanted.to);
    plots.get(key).show(withGaps(points, past.step || 0), bases.get(key) ?? 0n, wanted, past.note || "Nothing was measured in this time.");
  }
}
