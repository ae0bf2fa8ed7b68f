// What an operator should look at, from one snapshot: a fault (a value is wrong, or none comes) or a warning (it works, but worse).

import { staleAfter, staleClock } from "./ages.js";
import { bound, count, duration, missingOfSent, offset } from "./units.js";

// How long a monitor has been running before a clock that nothing has measured is a problem.
const PATIENCE = 60;

const because = (why) => (why ? `: ${why}.` : ".");

function ofTasks(snapshot, { fault, warning }) {
  snapshot.tasks.filter((task) => task.state === "failed").forEach((task) => fault(`task ${task.name}`, `Task ${task.kind} ${task.name} failed: ${task.error}`));
  if (snapshot.history?.state === "live_only" && snapshot.history.error) warning("history", `The history is not written: ${snapshot.history.error}`);
  if (snapshot.recording?.state === "failed") warning("recording", `Recordings fail: ${snapshot.recording.error}`);
}

function ofClocks(snapshot, { fault, warning, old }) {
  for (const clock of snapshot.clocks) {
    const subject = `clock ${clock.name}`;
    const [value, limit] = [Number(clock.utc_offset_ns), Number(clock.utc_bound_ns)];
    if (clock.kind === "realtime" && clock.utc_offset_ns !== null && Math.abs(value) > limit) fault(subject, `The real-time clock is wrong, not merely unsure: offset ${offset(value, limit)} ${bound(limit, value)}.`);
    if (clock.kind === "realtime" && clock.utc_bound_ns === null && clock.reference !== "simulation" && Number(snapshot.uptime_ns) / 1e9 > PATIENCE) warning(subject, "How wrong the real-time clock is, nobody knows: no NTP server, no PTP and no daemon bounds its error.");
    old(subject, `Clock ${clock.name}`, clock.age_ns, staleClock(clock, snapshot), clock.error);
  }
}

function ofServers(ntp, { fault, warning, old }) {
  if (!ntp) return;
  if (ntp.agreement === "disagreement") fault("agreement", "The NTP servers disagree.");
  for (const server of ntp.servers) {
    const [subject, name] = [`ntp ${server.name}`, `NTP server ${server.name}`];
    if (server.hint) warning(subject, `${name}: ${server.hint}.`);
    if (server.falseticker) warning(subject, `${name} contradicts the majority.`);
    old(subject, name, server.age_ns, staleAfter(server, 300), server.error);
    const since = server.responses === 0 ? "no answer yet" : `${count(server.responses)} of ${count(server.requests)} requests answered, no measurement yet`;
    if (server.age_ns === null && server.unanswered + server.responses > 3) fault(subject, `${name}: ${since}${because(server.error)}`);
  }
}

function ofPorts(ports, { fault, warning }) {
  for (const port of ports) {
    const [subject, name] = [`ptp ${port.interface}`, `PTP port ${port.interface}`];
    if (port.error) fault(subject, `${name}: ${port.error}.`);
    if (port.agreement === "disagree") fault(subject, `${name}: the sources of time contradict each other, and none is followed.`);
    if (port.holdover) warning(subject, `${name} follows no timeTransmitter any more.`);
    for (const why of port.warnings) warning(subject, `${name}: ${why}.`);
  }
}

function ofSessions(snapshot, { fault, warning, old }) {
  for (const peer of snapshot.peers) {
    const [subject, name] = [`stamp ${peer.name}`, `STAMP session ${peer.name}`];
    old(subject, name, peer.age_ns, staleAfter(peer, 10), peer.error);
    if (peer.age_ns === null && peer.lost > 10) fault(subject, `${name}: ${count(peer.lost)} packets, no answer yet${because(peer.error)}`);
  }
  for (const why of snapshot.reflector?.warnings ?? []) warning("reflector", `STAMP reflector: ${why}.`);
}

// Of each socket: how many packets that left have no transmit timestamp.
export function missing(snapshot) {
  const all = [...snapshot.peers.map((peer) => [`stamp ${peer.name}`, peer.name, peer.timestamps]), ...snapshot.paths.map((path) => [`path ${path.interface}`, path.interface, path.timestamps])];
  return new Map(all.map(([subject, name, counts]) => [subject, { name, total: missingOfSent(counts) }]));
}

// before: what `missing` said of the snapshot before. Faults come first.
export function problems(snapshot, before) {
  const found = [];
  const fault = (subject, text) => found.push({ level: "fault", subject, text });
  const warning = (subject, text) => found.push({ level: "warning", subject, text });
  const old = (subject, name, age, limit, why) => age !== null && age / 1e9 > limit && fault(subject, `${name}: nothing new for ${duration(age / 1e9)}${because(why)}`);
  const into = { fault, warning, old };
  ofTasks(snapshot, into);
  ofClocks(snapshot, into);
  ofServers(snapshot.ntp, into);
  ofPorts(snapshot.ptp, into);
  ofSessions(snapshot, into);
  for (const [subject, { name, total }] of missing(snapshot)) {
    const added = total - (before?.get(subject)?.total ?? total);
    if (added > 0) warning(subject, `${name}: ${count(added)} more transmit timestamps are missing.`);
  }
  const rank = ({ level }) => (level === "fault" ? 0 : 1);
  return found.sort((one, other) => rank(one) - rank(other));
}
