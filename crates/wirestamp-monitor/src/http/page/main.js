// Asks the monitor every few seconds, and shows what it says.

import { showAges } from "./ages.js";
import { glance, showAttention } from "./attention.js";
import { showClocks, showServers } from "./clocks.js";
import { json, setToken } from "./connection.js";
import * as delays from "./delays.js";
import { byId } from "./elements.js";
import * as events from "./events.js";
import { load as loadMetrics } from "./metrics.js";
import * as offsets from "./offsets.js";
import { counted, problems } from "./problems.js";
import { range, rangeQuery, suggest, watch as watchRange } from "./range.js";
import { showCost, showInterfaces, showTasks, showTimestamps } from "./tables.js";
import { showTiles } from "./tiles.js";
import { duration, isRestarted, seconds } from "./units.js";

const EVERY = 2000;
const HISTORY_EVERY = 60;
const HISTORY_PATIENCE = 60_000;
const METRICS_EVERY = 60;
const LATELY = 300_000;
const COUNT_EVERY = 10_000;
const PAUSE = 60_000;

let last = null; // the newest snapshot, and when it came
let asked = null; // when it came
let counts = []; // what the snapshots of the last minutes counted, the oldest first
let asking = false;
let timer = 0;
let historyAt = -Infinity;
let historyNumber = 0;
let metricsAt = -Infinity;

function tell(state, text) {
  const place = byId("state");
  if (place.dataset.state === state && place.textContent === text) return;
  place.dataset.state = state;
  place.textContent = text;
  document.body.classList.toggle("gone", state === "gone" || state === "token");
}

const passed = () => (performance.now() - last.came) / 1e3;
const now = () => seconds(last.snapshot.time) + passed();

// Ages grow, and the page says how old it is.
function tick() {
  showAges();
  if (last && byId("state").dataset.state === "live") {
    const { snapshot } = last;
    tell("live", `${snapshot.simulated ? "Simulated. " : ""}As of ${snapshot.time.slice(0, 19).replace("T", " ")} UTC, ${duration(passed())} ago. Running for ${duration(snapshot.uptime_ns / 1e9 + passed())}.`);
  } else if (last && byId("state").dataset.state === "gone") gone(last.fault);
}

function gone(fault) {
  glance("gone", `The monitor cannot be asked: ${fault}.`);
  tell("gone", last ? `No answer from the monitor for ${duration(passed())}: ${fault}. What is shown is as of ${last.snapshot.time.slice(0, 19).replace("T", " ")} UTC. Trying again…` : `No answer from the monitor: ${fault}. Trying again…`);
}

// What was counted five minutes ago, or as long ago as this page asks without a pause.
function lately(snapshot, isNewRun) {
  const now = performance.now();
  if (isNewRun || (asked !== null && now - asked > PAUSE)) counts = [];
  asked = now;
  while (counts.length > 1 && now - counts[1].at >= LATELY) counts.shift();
  if (!counts.length || now - counts.at(-1).at >= COUNT_EVERY) counts.push({ at: now, counts: counted(snapshot) });
  return { counts: counts[0].counts, seconds: (now - counts[0].at) / 1e3 };
}

function take(snapshot) {
  const isNewRun = !last || isRestarted(last.snapshot, snapshot);
  last = { snapshot, came: performance.now() };
  byId("host").textContent = snapshot.host;
  byId("token-form").hidden = true;
  tell("live", "");
  suggest(now());
  const found = problems(snapshot, lately(snapshot, isNewRun));
  document.title = `${found.length ? `(${found.length}) ` : ""}${snapshot.host}: wirestamp monitor`;
  showAttention(snapshot, found);
  showTiles(snapshot, found);
  showClocks(snapshot);
  showServers(snapshot);
  delays.showTable(snapshot);
  showTimestamps(snapshot);
  showInterfaces(snapshot);
  showTasks(snapshot);
  showCost(snapshot);
  offsets.remember(snapshot);
  delays.remember(snapshot);
  events.remember(snapshot.events, isNewRun);
  if (isNewRun) historyAt = metricsAt = -Infinity;
  tick();
}

async function history() {
  const mine = ++historyNumber;
  const wanted = range(now());
  historyAt = now();
  const ask = (rest) => json(`/api/history?${rangeQuery(wanted)}&${rest}`, HISTORY_PATIENCE);
  const { segment, name } = delays.chosen();
  const isName = name && last.snapshot.peers.some((peer) => peer.name === name);
  try {
    const [offset, delay, event] = await Promise.all([
      ask("show=offsets"), ask(`show=delays&segment=${segment}${isName ? `&name=${encodeURIComponent(name)}` : ""}`), wanted.isLive ? null : ask("show=events"),
    ]);
    if (mine !== historyNumber) return;
    const left = [
      offset.complete || offset.unreadable_bytes ? "" : "The history is larger than is read at once: only its newest part is shown.",
      offset.unreadable_bytes ? `${offset.unreadable_bytes} bytes of the history are damaged: what they had is not shown.` : "",
    ];
    offsets.take(offset, left.filter(Boolean).join(" "));
    delays.take(delay);
    events.take(event);
  } catch (error) {
    if (mine !== historyNumber) return;
    offsets.take(null, error.status === 404 ? "No history is kept: plots begin when this page was opened." : `The history cannot be read: ${error.message}`);
    delays.take(null);
    events.take(wanted.isLive ? null : { events: [] });
  }
  draw();
}

function draw() {
  if (!last) return;
  const wanted = range(now());
  offsets.draw(wanted);
  delays.draw(wanted);
}

async function poll() {
  clearTimeout(timer);
  if (asking || document.hidden) return;
  asking = true;
  const begun = performance.now();
  let took = 0;
  try {
    take(await json("/api/snapshot"));
    took = performance.now() - begun;
    events.start();
    // a past range is asked for once
    if (range(now()).isLive ? now() - historyAt >= HISTORY_EVERY : historyAt === -Infinity) history();
    if (range(now()).isLive) draw();
    if (now() - metricsAt >= METRICS_EVERY) {
      metricsAt = now();
      await loadMetrics();
    }
  } catch (error) {
    if (error.status === 401) {
      const why = "This monitor answers only who bears its token.";
      tell("token", why);
      glance("gone", why);
      const form = byId("token-form");
      if (form.hidden) {
        form.hidden = false;
        byId("token").focus();
      }
    } else {
      const fault = error.status ? `it says ${error.status}, ${error.message}` : error.name === "TimeoutError" ? "it takes too long" : "it cannot be reached";
      if (last) last.fault = fault;
      gone(fault);
    }
  }
  asking = false;
  // a large monitor is asked less often
  timer = setTimeout(poll, Math.max(EVERY, 20 * took));
}

byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  setToken(byId("token").value.trim());
  byId("token").value = "";
  byId("token-fault").textContent = "";
  json("/api/snapshot").then(take, (error) => (byId("token-fault").textContent = error.status === 401 ? "This is not its token." : error.message));
});
document.addEventListener("visibilitychange", () => (document.hidden ? events.stop() : poll()));
watchRange(() => last && history());
delays.watch(() => last && history(), draw);
setInterval(tick, 1000);
poll();
