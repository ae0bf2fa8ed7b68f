// Ages that go on growing between two answers, and mark their row when they are too old.

import { element } from "./elements.js";
import { duration } from "./units.js";

// nanoseconds: how old the value was when the answer came; stale: from how many seconds on it is too old.
export function age(nanoseconds, stale, missing = "never") {
  if (nanoseconds === null || nanoseconds === undefined) return element("span", { className: "missing", textContent: missing });
  const made = element("span", { className: "age" });
  made.dataset.since = performance.now() - Number(nanoseconds) / 1e6;
  made.dataset.stale = stale;
  show(made);
  return made;
}

function show(made) {
  const old = Math.max(0, (performance.now() - Number(made.dataset.since)) / 1e3);
  const isStale = old > Number(made.dataset.stale);
  made.textContent = `${duration(old)}${isStale ? " (stale)" : ""}`;
  made.closest("tr, .tile")?.classList.toggle("stale", isStale);
}

// From how many seconds on a value is too old: the monitor says so, from the configured intervals.
export const staleAfter = (one, otherwise) => (one.stale_after_ns ? Number(one.stale_after_ns) / 1e9 : otherwise);

// A port that measures nothing, because it transmits time or is passive, is never too old.
export const stalePort = (port) => (port.stale_after_ns === null ? Infinity : staleAfter(port, 30));

// The real-time clock is as old as its newest server may be.
export function staleClock(clock, snapshot) {
  const servers = clock.reference === "ntp" ? snapshot.ntp?.servers || [] : [];
  return Math.max(30, ...servers.map((server) => staleAfter(server, 300)));
}

export const showAges = () => document.querySelectorAll(".age").forEach(show);
