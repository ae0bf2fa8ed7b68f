// The tables of timestamps, interfaces, tasks, and of the monitor's own cost.

import { byId, element, table } from "./elements.js";
import { bytes, count, duration, missingOfSent, reasons, span, words } from "./units.js";

const MOST_ROWS = 200;
const mark = (text, is, name) => (is ? element("b", { className: name, textContent: text }) : text);

export function showTimestamps(snapshot) {
  const counted = (name) => ({ name, number: true, missing: "not counted" });
  const columns = [{ name: "Socket of" }, { name: "Kind" }, ...["Transmit: asked for", "came", "pending", "missing"].map(counted), { name: "Missing by reason", text: true, missing: "not counted" },
    ...["Received packets", "with timestamp", "Queue overflows"].map(counted), { name: "Used, by source", text: true }];
  const all = (counts) => Object.values(counts || {}).reduce((sum, number) => sum + number, 0);
  const row = (kind, name, counts, used) => [name, kind, count(counts.requested), count(counts.transmitted), count(counts.pending), mark(count(missingOfSent(counts)), missingOfSent(counts) > 0, "warn"),
    reasons(counts.missing), count(counts.received), mark(count(counts.received_timestamped), counts.received_timestamped < counts.received, "warn"), mark(count(counts.queue_overflows), counts.queue_overflows > 0, "warn"), reasons(used)];
  const ports = snapshot.ptp.map((port) => [port.interface, "PTP port", null, null, null, null, null, null, null, null, reasons(port.stamps)]);
  const answers = (reflector) => ["reflector", "STAMP reflector", count(reflector.replies), null, null, mark(count(all(reflector.missing)), all(reflector.missing) > 0, "warn"), reasons(reflector.missing), null, null, null, reasons(reflector.stamps)];
  const rows = [...snapshot.peers.map((peer) => row("STAMP session", peer.name, peer.timestamps, peer.stamps)), ...snapshot.paths.map((path) => row("path of this host", path.interface, path.timestamps, path.stamps)),
    ...(snapshot.ntp?.servers || []).map((server) => row("NTP server", server.name, server.timestamps, server.stamps)), ...ports, ...(snapshot.reflector ? [answers(snapshot.reflector)] : [])];
  table(byId("timestamp-table"), null, columns, rows.slice(0, MOST_ROWS), "Nothing sends packets.");
}

export function showInterfaces(snapshot) {
  const columns = [{ name: "Interface" }, { name: "State" }, { name: "PTP hardware clock", missing: "none" }, { name: "Hardware transmit timestamps", missing: "cannot be asked" },
    { name: "Hardware receive timestamps", missing: "cannot be asked" }, { name: "Clock read together with the system's", missing: "not known" }, { name: "Changes since the start", text: true }];
  const yes = (is, on, off) => (is === null || is === undefined ? null : is ? on : off);
  const rows = snapshot.interfaces.map((one) => [one.name, mark(words(one.state), one.state !== "up", "quiet"), one.hardware_clock === null ? null : `/dev/ptp${one.hardware_clock}`, one.hardware_clock === null ? "none" : yes(one.transmit, "on", "off"),
    one.hardware_clock === null ? "none" : one.receive === null ? null : words(one.receive), yes(one.cross_timestamp, "yes", "no"), reasons(one.changes)]);
  table(byId("interface-table"), null, columns, rows.slice(0, MOST_ROWS), "There is no interface.");
}

export function showTasks(snapshot) {
  const columns = [{ name: "Task" }, { name: "Kind" }, { name: "State" }, { name: "Failed so often", number: true }, { name: "Error", text: true }];
  const order = { failed: 0, starting: 1, running: 2 };
  const tasks = [...snapshot.tasks].sort((one, other) => (order[one.state] ?? 0) - (order[other.state] ?? 0));
  const rows = tasks.map((task) => [task.name, task.kind, element("b", { className: task.state === "running" ? "good" : task.state === "failed" ? "bad" : "warn", textContent: task.state }), count(task.failures ?? 0), task.error || "none"]);
  table(byId("task-table"), null, columns, rows.slice(0, MOST_ROWS), "The configuration asks for nothing.");
}

export function showCost(snapshot) {
  const [own, history, up] = [snapshot.own, snapshot.history, snapshot.uptime_ns / 1e9];
  const kept = history ? `${words(history.state)}${history.error ? `: ${history.error}` : ""}; ${bytes(history.bytes)} on disk, ${count(history.records)} records written since the start, ${count(history.lost)} lost` : "none: the configuration has no [history] table";
  const recording = snapshot.recording;
  const recorded = recording ? `${words(recording.state)}${recording.error ? `: ${recording.error}` : ""}; ${bytes(recording.bytes)} in ${count(recording.files)} files, rows written since the start: ${reasons(recording.rows)}, lost: ${reasons(recording.lost)}` : "none: the configuration has no [recording] table";
  const reflector = snapshot.reflector;
  const rows = [["Running for", duration(up)],
    ["Processor time", own.cpu_ns === null ? null : `${span(own.cpu_ns)}, ${((100 * own.cpu_ns) / snapshot.uptime_ns).toPrecision(2)} % of one processor since the start${snapshot.simulated ? " of the simulation" : ""}`],
    ["Resident memory", bytes(own.resident_bytes)], ["Turns of the measuring loop", `${count(own.turns)}; ${count(own.missed_deadlines)} began more than 5 ms late, the latest by ${span(own.latest_ns)}`],
    ["Reloads of the configuration", reasons(own.reloads)], ["History", kept], ["Recordings for the fleet", recorded],
    ["STAMP reflector", reflector ? `answers on ${reflector.listening.join(", ")}: replies: ${count(reflector.replies)}, sessions: ${count(reflector.sessions)}, not answered: ${[reasons(reflector.dropped), `not sent by the system: ${count(reflector.not_sent)}`, ...reflector.warnings].join("; ")}` : "none: the configuration has no [reflector] table"]];
  table(byId("cost-table"), null, [{ name: "What" }, { name: "Now", text: true, missing: "this system does not say" }], rows, "");
}
