// A tile for each clock, server, port and session: its newest value, the value's error bound and its age.

import { age, staleAfter, staleClock, stalePort } from "./ages.js";
import { WORDS } from "./attention.js";
import { against } from "./clocks.js";
import { arrange, byId, element, fill } from "./elements.js";
import { bound, count, offset, span } from "./units.js";

const MOST = 40;
const RANK = { fault: 0, warning: 1, good: 2, unknown: 2 };

// Those that are shown, by their subjects: they stay, and so does the focus.
const kept = new Map();

// A number is not parted from its unit.
const whole = (text) => text?.replace(/ (?=\p{L})/gu, "\u00a0");

function clocks(snapshot) {
  return snapshot.clocks.map((clock) => {
    const [shown, scale] = against(clock);
    const name = clock.name === "realtime" ? "Real-time clock" : `Clock of ${clock.name}`;
    return { subject: `clock ${clock.name}`, section: "clocks", name, kind: `offset from ${scale}`, value: offset(shown, clock.utc_bound_ns), bound: bound(clock.utc_bound_ns, shown), old: [clock.age_ns, staleClock(clock, snapshot), "age not known"] };
  });
}

function servers(snapshot) {
  return (snapshot.ntp?.servers ?? []).map((server) => ({
    subject: `ntp ${server.name}`, section: "servers", name: server.name, kind: "offset from NTP server", value: offset(server.offset_ns, server.bound_ns), bound: bound(server.bound_ns, server.offset_ns), old: [server.age_ns, staleAfter(server, 300)],
  }));
}

function ports(snapshot) {
  return snapshot.ptp.map((port) => ({
    subject: `ptp ${port.interface}`, section: "servers", name: port.interface, kind: "offset from PTP timeTransmitter", value: offset(port.offset_ns, port.bound_ns), bound: bound(port.bound_ns, port.offset_ns), old: [port.age_ns, stalePort(port)],
  }));
}

function sessions(snapshot) {
  return snapshot.peers.map((peer) => ({
    subject: `stamp ${peer.name}`, section: "delays", name: peer.name, kind: "path delay, both ways", value: span(peer.path_delay_ns, peer.path_delay_bound_ns), bound: bound(peer.path_delay_bound_ns, peer.path_delay_ns), old: [peer.path_delay_age_ns, staleAfter(peer, 10)],
  }));
}

function tile(one) {
  const made = kept.get(one.subject) ?? element("a", { className: "tile" });
  kept.set(one.subject, made);
  made.href = `#${one.section}`;
  // a clock of which a bound alone is known has no other number to show
  const [value, beside] = one.value === null && one.bound !== null ? [one.bound, "the offset is not known"] : [one.value, one.bound];
  const level = value === null && one.level === "good" ? "unknown" : one.level;
  made.dataset.level = level;
  const word = RANK[level] < RANK.good ? element("b", { className: "word", textContent: WORDS[level] }) : null;
  const [since, stale, never = "never measured"] = one.old;
  fill(made, element("span", { className: "name", textContent: one.name }), element("span", { className: "kind", textContent: one.kind }),
    element("span", { className: value === null ? "missing" : "value", textContent: whole(value) ?? "none yet" }), element("span", { className: "bound", textContent: beside ?? "no error bound" }), age(since, stale, never), word);
  return made;
}

// found: what `problems` says.
export function showTiles(snapshot, found) {
  const worst = new Map();
  for (const { level, subject } of [...found].reverse()) worst.set(subject, level);
  const all = [...clocks(snapshot), ...ports(snapshot), ...servers(snapshot), ...sessions(snapshot)].map((one) => ({ ...one, level: worst.get(one.subject) ?? "good" }));
  // those that are well keep their order
  const sorted = all.sort((one, other) => RANK[one.level] - RANK[other.level]);
  const shown = sorted.slice(0, MOST);
  for (const subject of kept.keys()) if (!shown.some((one) => one.subject === subject)) kept.delete(subject);
  const rest = sorted.slice(MOST);
  const more = rest.length ? [element("a", { className: "tile", href: `#${rest[0].section}`, textContent: `${count(rest.length)} more, in the tables` })] : [];
  const focused = document.activeElement;
  arrange(byId("tiles"), [...shown.map(tile), ...more]);
  // a tile that was moved loses it
  if (focused !== document.activeElement && focused?.isConnected) focused.focus({ preventScroll: true });
}
