// The state of the host at a glance: one word and a colour that are legible across a room, and what needs attention.

import { byId, element, fill } from "./elements.js";
import { bound, count } from "./units.js";

const MOST = 20;
const WORDS = { good: "Good", warning: "Warning", fault: "Fault", unknown: "Nothing measured yet", gone: "No answer" };

const several = (number, name) => `${count(number)} ${name}${number === 1 ? "" : "s"}`;

// What is well: how right the clock is, and how much is measured.
function summary(snapshot) {
  const clock = snapshot.clocks.find((one) => one.kind === "realtime");
  const within = clock && clock.utc_offset_ns !== null && clock.utc_offset_ns !== undefined
    ? Math.abs(Number(clock.utc_offset_ns)) + Number(clock.utc_bound_ns)
    : clock?.utc_bound_ns;
  const right = within === null || within === undefined ? "" : `The real-time clock is within ${bound(within).replace("± ", "")} of UTC. `;
  const counts = [[snapshot.clocks, "clock"], [snapshot.ntp?.servers ?? [], "NTP server"], [snapshot.ptp, "PTP port"], [snapshot.peers, "STAMP session"], [snapshot.paths, "path"]];
  return `${right}${counts.filter(([all]) => all.length).map(([all, name]) => several(all.length, name)).join(", ")}: all tasks run, and nothing is stale.`;
}

export function isMeasured(snapshot) {
  const known = (value) => value !== null && value !== undefined;
  return [...snapshot.clocks, ...(snapshot.ntp?.servers ?? []), ...snapshot.ptp, ...snapshot.peers].some((one) => known(one.age_ns) || known(one.utc_bound_ns))
    || snapshot.paths.some((path) => path.received > 0);
}

// Colour, word and reason. They are set only when they change: a reader of screens would say them again.
export function glance(level, reason) {
  const place = byId("glance");
  const word = WORDS[level];
  if (place.dataset.level === level && byId("glance-reason").textContent === reason) return;
  place.dataset.level = document.body.dataset.level = level;
  byId("glance-word").textContent = word;
  byId("glance-reason").textContent = reason;
}

export function showAttention(snapshot, found) {
  const level = found[0]?.level ?? (isMeasured(snapshot) ? "good" : "unknown");
  const more = found.length - 1;
  const reasons = { good: summary(snapshot), unknown: snapshot.tasks.length ? "The first results come within seconds." : "The configuration asks for nothing." };
  glance(level, found.length ? `${found[0].text.replace(/\.?$/, ".")}${more ? ` And ${several(more, "more problem")}, below.` : ""}` : reasons[level]);
  const line = ({ level: kind, text }) => element("li", { className: kind }, element("b", { textContent: `${WORDS[kind]}: ` }), text);
  const shown = found.slice(0, MOST).map(line);
  if (found.length > MOST) shown.push(element("li", { textContent: `and ${found.length - MOST} more` }));
  byId("attention").hidden = found.length < 2;
  fill(byId("attention-list"), ...shown);
}
