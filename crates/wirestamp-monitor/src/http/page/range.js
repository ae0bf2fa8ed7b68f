// The range of time that is plotted: the last minutes, which move on, or a past range.

import { byId } from "./elements.js";
import { dayTime, seconds } from "./units.js";

const last = byId("range-last");
const from = byId("range-from");
const to = byId("range-to");
const live = byId("range-live");
const state = byId("range-state");
// RFC 3339, with its time zone: without one, each browser would take its own.
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;
const LAST_YEAR = Date.UTC(9999, 11, 31) / 1e3;
let past = null;

// What the address asks for: ?last=SECONDS, or ?from=TIME&to=TIME (RFC 3339). Returns whether it was understood.
function asked(address) {
  const query = new URLSearchParams(address);
  const time = (name) => (TIME.test(query.get(name)) ? seconds(query.get(name)) : NaN);
  const wanted = { from: time("from"), to: time("to") };
  if (wanted.from >= 0 && wanted.from < wanted.to && wanted.to < LAST_YEAR) past = wanted;
  if ([...last.options].some((option) => option.value === query.get("last"))) last.value = query.get("last");
  return Boolean(past) || !(query.has("from") || query.has("to"));
}

// The address of what is shown: it can be kept, and sent to others.
function remember() {
  const query = past ? rangeQuery(past) : `last=${last.value}`;
  window.history.replaceState(null, "", `?${query}${location.hash}`);
}

// now: seconds of the monitor's clock. Where the range begins and ends, and whether it moves on.
export function range(now) {
  return past ? { ...past, isLive: false } : { from: now - Number(last.value), to: now + 1, isLive: true };
}

// changed: is called when another range is wanted.
export function watch(changed) {
  const tell = () => {
    live.hidden = !past;
    state.textContent = past ? `Plots and events show ${dayTime(past.from)} to ${dayTime(past.to)} UTC. The tables show now.` : "";
  };
  const show = () => {
    tell();
    remember();
    changed();
  };
  const isUnderstood = asked(location.search);
  tell();
  if (!isUnderstood) state.textContent = "The address has no range of time that is understood (from=2025-06-15T03:00:00Z&to=…): the plots show now.";
  last.addEventListener("change", () => {
    past = null;
    show();
  });
  byId("range").addEventListener("submit", (event) => {
    event.preventDefault();
    const wanted = { from: seconds(`${from.value}Z`), to: seconds(`${to.value}Z`) };
    if (!(wanted.from < wanted.to)) {
      state.textContent = "Give two times, the earlier one first.";
      return;
    }
    past = wanted;
    show();
  });
  live.addEventListener("click", () => {
    past = null;
    show();
    last.focus();
  });
}

// The fields begin with the last hour, by the monitor's clock.
export function suggest(now) {
  if (from.value || to.value) return;
  const field = (time) => dayTime(time).replace(" ", "T");
  from.value = field(past ? past.from : now - 3600);
  to.value = field(past ? past.to : now);
}

export const rangeQuery = (wanted) => `from=${new Date(wanted.from * 1e3).toISOString()}&to=${new Date(wanted.to * 1e3).toISOString()}`;
