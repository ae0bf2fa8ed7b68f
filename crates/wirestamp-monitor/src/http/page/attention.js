// The state of the host at a glance: one word and a colour that are legible across a room, and what needs attention.

import { byId, element, fill } from "./elements.js";
import { pending } from "./problems.js";
import { bound, count } from "./units.js";

const MOST = 20;
const FEW = 5;
export const WORDS = { good: "Good", warning: "Warning", fault: "Fault", unknown: "Measuring", gone: "No answer" };

const several = (number, name) => `${count(number)} ${name}${number === 1 ? "" : "s"}`;

// How far the real-time clock is from UTC at most, and who has to be right for that.
function right(snapshot) {
  const clock = snapshot.clocks.find((one) => one.kind === "realtime");
  if (!clock || clock.utc_bound_ns === null || clock.utc_bound_ns === undefined) return "";
  const most = bound(Math.abs(Number(clock.utc_offset_ns ?? 0)) + Number(clock.utc_bound_ns)).replace("± ", "");
  const within = (the) => `${the} real-time clock is within ${most} of UTC`;
  const servers = snapshot.ntp?.servers.length ?? 0;
  switch (clock.reference) {
    case "ntp": return `${within("The")}, if ${clock.right_servers ?? "enough"} of ${several(servers, "NTP server")} ${clock.right_servers === 1 ? "is" : "are"} right. `;
    case "ptp": return `${within("The")}, if its timeTransmitter is right. `;
    case "kernel": return `The kernel claims that ${within("the")}. `;
    default: return "";
  }
}

// What is well: how right the clock is, and how much is measured.
function summary(snapshot) {
  const counts = [[snapshot.clocks, "clock"], [snapshot.ntp?.servers ?? [], "NTP server"], [snapshot.ptp, "PTP port"], [snapshot.peers, "STAMP session"], [snapshot.paths, "path"]];
  return `${right(snapshot)}${counts.filter(([all]) => all.length).map(([all, name]) => several(all.length, name)).join(", ")}: all tasks run, and nothing is stale.`;
}

function awaited(names) {
  const more = names.length - FEW;
  return `No result yet of ${names.slice(0, FEW).join(", ")}${more > 0 ? ` and ${count(more)} more` : ""}.`;
}

// Colour, word and reason. Readers of screens hear `subjects` when they or the level change: the reason has numbers that always do.
export function glance(level, reason, subjects = []) {
  byId("glance").dataset.level = document.body.dataset.level = level;
  byId("glance-word").textContent = WORDS[level];
  byId("glance-reason").textContent = reason;
  const said = [WORDS[level], ...subjects].join(", ");
  if (byId("said").textContent !== said) byId("said").textContent = said;
}

export function showAttention(snapshot, found) {
  const waiting = pending(snapshot);
  const isIdle = !snapshot.tasks.length && !snapshot.clocks.some((clock) => clock.kind !== "realtime");
  const level = found[0]?.level ?? (waiting.length || isIdle ? "unknown" : "good");
  const more = found.length - 1;
  const reason = () => {
    if (found.length) return `${found[0].text.replace(/\.?$/, ".")}${more ? ` And ${several(more, "more problem")}, below.` : ""}`;
    if (waiting.length) return awaited(waiting);
    return isIdle ? "The configuration asks for nothing." : summary(snapshot);
  };
  glance(level, reason(), [...new Set(found.map(({ subject }) => subject))].slice(0, MOST));
  const line = ({ level: kind, text }) => element("li", { className: kind }, element("b", { textContent: `${WORDS[kind]}: ` }), text);
  const shown = found.slice(0, MOST).map(line);
  if (found.length > MOST) shown.push(element("li", { textContent: `and ${found.length - MOST} more` }));
  byId("attention").hidden = found.length < 2;
  fill(byId("attention-list"), ...shown);
}
