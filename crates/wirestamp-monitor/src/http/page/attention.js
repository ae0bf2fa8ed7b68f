// What an operator should look at first.

import { staleAfter, staleClock } from "./ages.js";
import { byId, element, fill } from "./elements.js";
import { bound, count, duration, missingOfSent, offset } from "./units.js";

const MOST = 20;
let before = null;

function missing(snapshot) {
  const all = [...snapshot.peers.map((peer) => [peer.name, peer.timestamps]), ...snapshot.paths.map((path) => [path.interface, path.timestamps])];
  return new Map(all.map(([name, counts]) => [name, missingOfSent(counts)]));
}

const because = (why) => (why ? `: ${why}.` : ".");

export function showAttention(snapshot) {
  const found = [];
  const old = (name, age, limit, why) => age !== null && age / 1e9 > limit && found.push(`${name}: nothing new for ${duration(age / 1e9)}${because(why)}`);
  snapshot.tasks.filter((task) => task.state === "failed").forEach((task) => found.push(`Task ${task.kind} ${task.name} failed: ${task.error}`));
  if (snapshot.ntp?.agreement === "disagreement") found.push("The NTP servers disagree.");
  snapshot.ntp?.servers.filter((server) => server.hint).forEach((server) => found.push(`NTP server ${server.name}: ${server.hint}.`));
  snapshot.ntp?.servers.filter((server) => server.falseticker).forEach((server) => found.push(`NTP server ${server.name} contradicts the majority.`));
  for (const clock of snapshot.clocks) {
    const [value, limit] = [Number(clock.utc_offset_ns), Number(clock.utc_bound_ns)];
    if (clock.kind === "realtime" && clock.utc_offset_ns !== null && Math.abs(value) > limit) found.push(`The real-time clock is wrong, not merely unsure: offset ${offset(value, limit)} ${bound(limit, value)}.`);
    old(`Clock ${clock.name}`, clock.age_ns, staleClock(clock, snapshot));
  }
  snapshot.ntp?.servers.forEach((server) => {
    old(`NTP server ${server.name}`, server.age_ns, staleAfter(server, 300), server.error);
    const since = server.responses === 0 ? "no answer yet" : `${count(server.responses)} of ${count(server.requests)} requests answered, no measurement yet`;
    if (server.age_ns === null && server.unanswered + server.responses > 3) found.push(`NTP server ${server.name}: ${since}${because(server.error)}`);
  });
  snapshot.peers.forEach((peer) => {
    old(`STAMP session ${peer.name}`, peer.age_ns, staleAfter(peer, 10), peer.error);
    if (peer.age_ns === null && peer.lost > 10) found.push(`STAMP session ${peer.name}: ${count(peer.lost)} packets, no answer yet${because(peer.error)}`);
  });
  snapshot.ptp.filter((port) => port.holdover).forEach((port) => found.push(`PTP port ${port.interface} follows no timeTransmitter any more.`));
  for (const why of snapshot.reflector?.warnings ?? []) found.push(`STAMP reflector: ${why}.`);
  for (const port of snapshot.ptp) [port.error, ...port.warnings].filter(Boolean).forEach((why) => found.push(`PTP port ${port.interface}: ${why}.`));
  if (snapshot.history?.state === "live_only" && snapshot.history.error) found.push(`The history is not written: ${snapshot.history.error}`);
  if (snapshot.recording?.state === "failed") found.push(`Recordings fail: ${snapshot.recording.error}`);
  const now = missing(snapshot);
  for (const [name, total] of now) {
    const added = total - (before?.get(name) ?? total);
    if (added > 0) found.push(`${name}: ${count(added)} more transmit timestamps are missing.`);
  }
  before = now;
  const shown = found.slice(0, MOST).map((text) => element("li", { textContent: text }));
  if (found.length > MOST) shown.push(element("li", { textContent: `and ${found.length - MOST} more` }));
  fill(byId("attention-list"), ...(shown.length ? shown : [element("li", { className: "good", textContent: "Nothing: all tasks run, and nothing is stale." })]));
}
