// Events: those of the monitor as they come, or those of a past range.

import { stream } from "./connection.js";
import { byId, element, fill } from "./elements.js";
import { words } from "./units.js";

const MOST = 200;
const RETRY = 2000;
const list = byId("event-list");
const state = byId("event-state");
let known = new Map();
let run = "";
let past = null;
let running = null;

function line(event) {
  const time = element("time", { textContent: `${String(event.time).slice(0, 19).replace("T", " ")} UTC`, dateTime: event.time });
  return element("li", {}, time, element("b", { textContent: `${words(event.kind)}: ${event.subject}` }), String(event.message));
}

function show() {
  const all = past ? past.events : [...known.values()].sort((one, other) => one.id - other.id);
  const shown = all.slice(-MOST).reverse();
  fill(list, ...(shown.length ? shown.map(line) : [element("li", { className: "missing", textContent: past ? "No event in this time." : "No event yet." })]));
  const older = all.length - shown.length + (past?.events_left_out || 0);
  state.textContent = `${past ? "Those of the time that is plotted." : running ? "New events appear here at once." : "New events are not received now."}${older ? ` ${older} older ones are not shown.` : ""}`;
}

// Takes those of a past range; `null`: those that come.
export function take(answer) {
  past = answer;
  show();
}

// Another run of the monitor numbers its events anew.
function add(event) {
  if (event.run !== run) known = new Map();
  run = event.run;
  known.set(event.id, event);
}

// Those that a snapshot has.
export function remember(events, isNewRun) {
  if (isNewRun) known = new Map();
  const count = known.size;
  events.forEach(add);
  if (isNewRun || known.size !== count) show();
  if (isNewRun && running) {
    stop();
    start();
  }
}

// One stream a page, closed while nobody sees it.
export function start() {
  if (running || document.hidden) return;
  const mine = new AbortController();
  running = mine;
  show();
  const after = known.size ? `${run}-${Math.max(...known.keys())}` : "0";
  const each = (event) => {
    add(event);
    if (known.size > 1000) known.delete(Math.min(...known.keys()));
    show();
  };
  const again = () => {
    if (running !== mine) return;
    running = null;
    show();
    setTimeout(start, RETRY);
  };
  stream(`/api/events?after=${encodeURIComponent(after)}`, mine.signal, each).then(again, again);
}

export function stop() {
  const mine = running;
  running = null;
  mine?.abort();
  show();
}
