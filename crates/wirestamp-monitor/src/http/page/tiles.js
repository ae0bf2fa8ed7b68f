// A tile for each clock, server, port and session: its newest value, the value's error bound and its age.

import { age, staleAfter, staleClock } from "./ages.js";
import { against, PORT_IS_STALE } from "./clocks.js";
import { byId, element, fill } from "./elements.js";
import { bound, count, offset, span } from "./units.js";

const MOST = 40;
const RANK = { fault: 0, warning: 1, good: 2, unknown: 2 };

// A number is not parted from its unit.
const whole = (text) => text?.replace(/ (?=\p{L})/gu, "\u00a0");

function clocks(snapshot) {
  return snapshot.clocks.map((clock) => {
    const [shown, scale] = against(clock);
    const name = clock.name === "realtime" ? "Real-time clock" : `Clock of ${clock.name}`;
    return { subject: `clock ${clock.name}`, section: "clocks", name, kind: `offset from ${scale}`, value: offset(shown, clock.utc_bound_ns), bound: bound(clock.utc_bound_ns, shown), old: [clock.age_ns, staleClock(clock, snapshot)] };
  });
}

function servers(snapshot) {
  return (snapshot.ntp?.servers ?? []).map((server) => ({
    subject: `ntp ${server.name}`, section: "servers", name: server.name, kind: "offset from NTP server", value: offset(server.offset_ns, server.bound_ns), bound: bound(server.bound_ns, server.offset_ns), old: [server.age_ns, staleAfter(server, 300)],
  }));
}

function ports(snapshot) {
  return snapshot.ptp.map((port) => ({
    subject: `ptp ${port.interface}`, section: "servers", name: port.interface, kind: "offset from PTP timeTransmitter", value: offset(port.offset_ns, port.bound_ns), bound: bound(port.bound_ns, port.offset_ns), old: [port.age_ns, PORT_IS_STALE],
  }));
}

function sessions(snapshot) {
  return snapshot.peers.map((peer) => ({
    subject: `stamp ${peer.name}`, section: "delays", name: peer.name, kind: "path delay, both ways", value: span(peer.path_delay_ns, peer.path_delay_bound_ns), bound: bound(peer.path_delay_bound_ns, peer.path_delay_ns), old: [peer.age_ns, staleAfter(peer, 10)],
  }));
}

// A clock of which a bound alone is known has no other number to show.
function tile(one) {
  const [value, beside] = one.value === null && one.bound !== null ? [one.bound, "the offset is not known"] : [one.value, one.bound];
  const made = element("a", { className: "tile", href: `#${one.section}` },
    element("span", { className: "name", textContent: one.name }), element("span", { className: "kind", textContent: one.kind }),
    element("span", { className: value === null ? "missing" : "value", textContent: whole(value) ?? "none yet" }), element("span", { className: "bound", textContent: beside ?? "no error bound" }), age(...one.old, "never measured"));
  made.dataset.level = value === null && one.level === "good" ? "unknown" : one.level;
  return made;
}

// found: what `problems` says.
export function showTiles(snapshot, found) {
  const worst = new Map();
  for (const { level, subject } of [...found].reverse()) worst.set(subject, level);
  const all = [...clocks(snapshot), ...ports(snapshot), ...servers(snapshot), ...sessions(snapshot)].map((one) => ({ ...one, level: worst.get(one.subject) ?? "good" }));
  // those that are well keep their order
  const shown = all.sort((one, other) => RANK[one.level] - RANK[other.level]).slice(0, MOST).map(tile);
  const more = all.length - shown.length;
  fill(byId("tiles"), ...shown, more > 0 ? element("a", { className: "tile", href: "#delays", textContent: `${count(more)} more, in the tables` }) : null);
}
