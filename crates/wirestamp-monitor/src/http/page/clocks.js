// The tables of clocks, NTP servers and PTP ports.

import { age, staleAfter, staleClock, stalePort } from "./ages.js";
import { byId, element, table } from "./elements.js";
import { bound, count, offset, ppb, reasons, span, words } from "./units.js";

const REFERENCES = {
  system: "the real-time clock", ntp: "NTP servers", ptp: "PTP", kernel: "nothing: the kernel claims a bound",
};
const AGREEMENTS = {
  none: "No NTP server has been measured yet.", single: "One NTP server: nothing else speaks for it or against it.", all: "All NTP servers can be right together.",
  majority: "More than half of the NTP servers can be right together; the others are falsetickers.", disagreement: "The NTP servers disagree: no more than half can be right together, nobody can tell which.",
};

// A clock that shows TAI is read against TAI: then the number says something.
export function against(clock) {
  const [utc, tai] = [clock.utc_offset_ns, clock.tai_offset_ns];
  if (utc === null || utc === undefined) return [null, "UTC"];
  const isTai = tai !== null && Math.abs(Number(tai)) < Math.abs(Number(utc)) / 2;
  return isTai ? [tai, "TAI"] : [utc, "UTC"];
}

export function showClocks(snapshot) {
  const columns = [{ name: "Clock" }, { name: "Offset", number: true, missing: "not measured" }, { name: "Error bound", number: true }, { name: "Timescale" }, { name: "Measured against", missing: "nothing" },
    { name: "Age" }, { name: "Frequency offset", number: true, missing: "not measured" }, { name: "Generation", number: true }, { name: "Resets and steps", text: true },
    { name: "Reading takes", number: true }, { name: "Failed readings", number: true }, { name: "Problem", text: true }];
  const rows = snapshot.clocks.map((clock) => {
    const [shown, scale] = against(clock);
    const frequency = ppb(clock.frequency_ppb);
    return [clock.name === "realtime" ? "real-time clock" : `${clock.name}, PTP hardware clock`, offset(shown, clock.utc_bound_ns), bound(clock.utc_bound_ns, shown), scale, REFERENCES[clock.reference] ?? clock.reference,
      age(clock.age_ns, staleClock(clock, snapshot), clock.reference === "kernel" ? "the kernel does not say" : "not measured"), frequency && `${frequency} ± ${Number(clock.frequency_bound_ppb).toPrecision(2)}`, count(clock.generation),
      reasons(clock.generation_changes), clock.cross_width_ns === null ? null : `${span(clock.cross_width_ns)}${clock.cross_method ? ` (${words(clock.cross_method)})` : ""}`, count(clock.failures), clock.error || "none"];
  });
  table(byId("clock-table"), null, columns, rows, "No clock is known yet.");
}

export function showServers(snapshot) {
  const ntp = snapshot.ntp;
  byId("agreement").textContent = ntp
    ? `${AGREEMENTS[ntp.agreement] ?? ntp.agreement}${ntp.offset_ns === null ? "" : ` Together: offset ${offset(ntp.offset_ns, ntp.bound_ns)} ${bound(ntp.bound_ns, ntp.offset_ns)}, if ${ntp.right_servers ?? "enough"} of ${ntp.servers.length} are right.`}`
    : "";
  const columns = [{ name: "NTP server" }, { name: "Offset", number: true, missing: "not measured" }, { name: "Error bound", number: true, missing: "not measured" }, { name: "Bound to UTC", number: true, missing: "not known" },
    { name: "Age" }, { name: "Path delay", number: true, missing: "not measured" }, { name: "Stratum", number: true }, { name: "Answered", number: true }, { name: "Judgement", missing: "not measured" }, { name: "About it", text: true, missing: "nothing yet" }, { name: "Problem", text: true }];
  // from its last answer
  const about = (server) => (server.stratum === null ? null : [server.address !== server.name && server.address, server.reference && `follows ${server.reference}`, server.root_delay_ns !== null && `root delay ${span(server.root_delay_ns)}`, server.root_dispersion_ns !== null && `root dispersion ${span(server.root_dispersion_ns)}`,
    server.leap && server.leap !== "none" && `leap second: ${words(server.leap)}`, server.authenticated ? "authenticated" : "not authenticated", server.interleaved > 0 && `interleaved: ${count(server.interleaved)}`].filter(Boolean).join(", "));
  const rows = (ntp?.servers || []).map((server) => [server.name, offset(server.offset_ns, server.bound_ns), bound(server.bound_ns, server.offset_ns), bound(server.utc_bound_ns, server.offset_ns, server.bound_ns), age(server.age_ns, staleAfter(server, 300)), span(server.path_delay_ns),
    count(server.stratum), `${count(server.responses)} of ${count(server.requests)}, ${count(server.samples)} used`, server.falseticker ? element("b", { className: "bad", textContent: "falseticker: contradicts the majority" }) : server.offset_ns === null ? null : "can be right", about(server),
    [server.error, reasons(server.rejected, "")].filter(Boolean).join("; ") || "none"]);
  table(byId("ntp-table"), null, columns, rows, "The configuration asks for no NTP server.");
  const ports = snapshot.ptp.map((port) => [port.interface, words(port.state), port.time_transmitter, `${port.grandmaster} (${port.steps_removed} clocks between)`, offset(port.offset_ns, port.bound_ns), bound(port.bound_ns, port.offset_ns), offset(port.system_offset_ns, port.system_bound_ns), bound(port.system_bound_ns, port.system_offset_ns),
    age(port.age_ns, stalePort(port)), span(port.path_delay_ns), ppb(port.frequency_ppb), port.source, words(port.agreement), port.holdover ? element("b", { className: "warn", textContent: "yes" }) : "no",
    `${count(port.samples)}; lost: ${reasons(port.lost)}; ignored: ${reasons(port.ignored)}`, [port.error, ...port.warnings].filter(Boolean).join("; ") || "none"]);
  const heads = [{ name: "PTP port" }, { name: "State" }, { name: "timeTransmitter", missing: "none" }, { name: "Grandmaster" }, { name: "Offset", number: true, missing: "not measured" }, { name: "Error bound", number: true, missing: "not measured" },
    { name: "Real-time clock", number: true, missing: "not measured" }, { name: "Error bound", number: true, missing: "not measured" }, { name: "Age" }, { name: "Path delay", number: true, missing: "not measured" }, { name: "Frequency offset", number: true, missing: "not measured" }, { name: "Timestamps" }, { name: "Sources" }, { name: "Holdover" }, { name: "Exchanges", text: true }, { name: "Problem", text: true }];
  table(byId("ptp-table"), null, heads, ports, "The configuration asks for no PTP clock.");
}
