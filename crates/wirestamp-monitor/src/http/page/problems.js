// What an operator should look at: a fault (a value is wrong, or none comes) or a warning (it works, but worse).

import { staleAfter, staleClock, stalePort } from "./ages.js";
import { bound, count, duration, missingOfSent, offset } from "./units.js";

// How long a monitor has been running before a clock that nothing has measured is a problem.
const PATIENCE = 60;
// More than this share of a session's or path's packets, as in the alert WirestampPacketsLost; a single one is no problem.
const SHARE = 0.01;

const isUnknown = (value) => value === null || value === undefined;
const isOld = (age, limit) => !isUnknown(age) && age / 1e9 > limit;
const isLate = (snapshot) => Number(snapshot.uptime_ns) / 1e9 > PATIENCE;
const because = (why) => (why ? `: ${why}.` : ".");

function ofTasks(snapshot, { fault, warning }) {
  snapshot.tasks.filter((task) => task.state === "failed").forEach((task) => fault(`${task.kind} ${task.name}`, `Task ${task.kind} ${task.name} failed: ${task.error}`));
  if (snapshot.history?.state === "live_only" && snapshot.history.error) warning("history", `The history is not written: ${snapshot.history.error}`);
  if (snapshot.recording?.state === "failed") warning("recording", `Recordings fail: ${snapshot.recording.error}`);
}

const isBounded = (clock, ports) => !isUnknown(clock.utc_bound_ns) || ports.some((port) => !isUnknown(port.system_bound_ns));

function ofRealtime(clock, snapshot, { fault, warning }) {
  const subject = "clock realtime";
  const [value, limit] = [Number(clock.utc_offset_ns), Number(clock.utc_bound_ns)];
  if (!isUnknown(clock.utc_offset_ns) && Math.abs(value) > limit) warning(subject, `The real-time clock is off by more than it is unsure: offset ${offset(value, limit)} ${bound(limit, value)}.`);
  // a claim of others, the kernel's or the NTP servers', that a port contradicts
  const isFresh = (port) => !isUnknown(port.system_offset_ns) && !port.holdover && !isOld(port.age_ns, stalePort(port));
  const claims = !isUnknown(clock.utc_bound_ns) && clock.reference !== "ptp";
  for (const port of snapshot.ptp.filter((one) => claims && isFresh(one))) {
    const [apart, most] = [port.system_offset_ns, Number(port.system_bound_ns)];
    const whose = clock.reference === "kernel" ? "the kernel claims" : "the NTP servers say";
    if (Math.abs(Number(apart) - (isUnknown(clock.utc_offset_ns) ? 0 : value)) > most + limit) fault(subject, `The real-time clock: PTP port ${port.interface} measures ${offset(apart, most)} ${bound(most, apart)}, ${whose} ${isUnknown(clock.utc_offset_ns) ? "" : `${offset(value, limit)} `}${bound(limit, value)}.`);
  }
  if (!isBounded(clock, snapshot.ptp) && clock.reference !== "simulation" && isLate(snapshot)) warning(subject, "Nothing that this monitor knows bounds the error of the real-time clock.");
}

function ofClocks(snapshot, into) {
  for (const clock of snapshot.clocks) {
    if (clock.kind === "realtime") ofRealtime(clock, snapshot, into);
    const subject = `clock ${clock.name}`;
    into.old(subject, `Clock ${clock.name}`, clock.age_ns, staleClock(clock, snapshot), clock.error);
    if (isUnknown(clock.age_ns) && clock.error) into.fault(subject, `Clock ${clock.name}: ${clock.error}.`);
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
    // a task that was started again has the counts of the one before, and no age
    if (isUnknown(server.age_ns) && server.samples === 0 && server.unanswered + server.responses > 3) fault(subject, `${name}: ${since}${because(server.error)}`);
  }
}

function ofPorts(ports, { fault, warning, old }) {
  for (const port of ports) {
    const [subject, name] = [`ptp ${port.interface}`, `PTP port ${port.interface}`];
    if (port.state === "faulty") fault(subject, `${name} is faulty: it transmits no time, and measures nothing.`);
    else if (port.error) fault(subject, `${name}: ${port.error}.`);
    else old(subject, name, port.age_ns, stalePort(port));
    if (port.agreement === "disagree") fault(subject, `${name}: the sources of time contradict each other, and none is followed.`);
    if (port.holdover) warning(subject, `${name} follows no timeTransmitter any more.`);
    for (const why of port.warnings) warning(subject, `${name}: ${why}.`);
  }
}

function ofPackets(snapshot, { fault, warning, old }) {
  for (const peer of snapshot.peers) {
    const [subject, name] = [`stamp ${peer.name}`, `STAMP session ${peer.name}`];
    old(subject, name, peer.age_ns, staleAfter(peer, 10), peer.error);
    if (isUnknown(peer.age_ns) && peer.answered === 0 && peer.lost > 2) fault(subject, `${name}: ${count(peer.lost)} packets, no answer yet${because(peer.error)}`);
  }
  for (const path of snapshot.paths) {
    if (path.lost > 2 && path.received === 0) fault(`path ${path.interface}`, `Path of this host, ${path.interface}: ${count(path.lost)} packets, none arrived${because(path.error)}`);
  }
  for (const why of snapshot.reflector?.warnings ?? []) warning("reflector", `STAMP reflector: ${why}.`);
}

// Of each session and path: packets that came back, that were lost, and that have no transmit timestamp though they left.
export function counted(snapshot) {
  const sessions = snapshot.peers.map((peer) => [`stamp ${peer.name}`, { name: `STAMP session ${peer.name}`, error: peer.error, good: peer.answered, lost: peer.lost, missing: missingOfSent(peer.timestamps) }]);
  const paths = snapshot.paths.map((path) => [`path ${path.interface}`, { name: `Path of this host, ${path.interface}`, error: path.error, good: path.received, lost: path.lost, missing: missingOfSent(path.timestamps) }]);
  return new Map([...sessions, ...paths]);
}

// earlier: what `counted` said so many seconds ago. Losses are not news where nothing is answered.
function ofLately(snapshot, { counts, seconds }, { fault, warning, isFaulty }) {
  for (const [subject, now] of counted(snapshot)) {
    const old = counts.get(subject) ?? now;
    const [good, lost, missing] = [now.good - old.good, now.lost - old.lost, now.missing - old.missing];
    const lately = `in the last ${duration(seconds)}`;
    if (missing > 0) warning(subject, `${now.name}: ${count(missing)} transmit timestamps went missing ${lately}.`);
    const few = `${now.name}: ${count(lost)} of ${count(lost + good)} packets were lost ${lately}`;
    if (isFaulty(subject)) continue;
    if (good === 0 && lost > 2) fault(subject, `${few}${because(now.error)}`);
    else if (lost > 1 && lost > SHARE * (lost + good)) warning(subject, `${few}.`);
  }
}

// Faults come first.
export function problems(snapshot, earlier) {
  const found = [];
  const fault = (subject, text) => found.push({ level: "fault", subject, text });
  const warning = (subject, text) => found.push({ level: "warning", subject, text });
  const old = (subject, name, age, limit, why) => isOld(age, limit) && fault(subject, `${name}: nothing new for ${duration(age / 1e9)}${because(why)}`);
  const isFaulty = (subject) => found.some((one) => one.level === "fault" && one.subject === subject);
  const into = { fault, warning, old, isFaulty };
  ofTasks(snapshot, into);
  ofClocks(snapshot, into);
  ofServers(snapshot.ntp, into);
  ofPorts(snapshot.ptp, into);
  ofPackets(snapshot, into);
  if (earlier) ofLately(snapshot, earlier, into);
  const rank = ({ level }) => (level === "fault" ? 0 : 1);
  return found.sort((one, other) => rank(one) - rank(other));
}

// The names of everything that has given no result yet.
export function pending(snapshot) {
  const never = (all, name) => all.filter((one) => isUnknown(one.age_ns)).map(name);
  const starting = snapshot.tasks.filter((task) => task.state === "starting").map((task) => `${task.kind} ${task.name}`);
  const realtime = snapshot.clocks.filter((clock) => clock.kind === "realtime" && clock.reference !== "simulation" && !isBounded(clock, snapshot.ptp));
  return [...new Set([
    ...starting,
    ...realtime.map(() => "clock realtime"),
    ...never(snapshot.clocks.filter((clock) => clock.kind !== "realtime"), (clock) => `clock ${clock.name}`),
    ...never(snapshot.ntp?.servers ?? [], (server) => `ntp ${server.name}`),
    ...never(snapshot.ptp.filter((port) => !isUnknown(port.stale_after_ns)), (port) => `ptp ${port.interface}`),
    ...never(snapshot.peers, (peer) => `stamp ${peer.name}`),
    ...snapshot.paths.filter((path) => path.received === 0).map((path) => `path ${path.interface}`),
  ])];
}
