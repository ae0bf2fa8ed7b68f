// Holds what needs attention, the word at the top of the page and the tiles against snapshots.
// usage: attention.mjs PAGE     PAGE: the folder of the page's modules
import { readFileSync } from "node:fs";
import path from "node:path";

// the page's modules as data, because their names end in .js
const folder = process.argv[2];
const made = new Map();
function module(name) {
  const text = readFileSync(path.join(folder, name), "utf8");
  const linked = text.replace(/from "\.\/([\w-]+\.js)"/g, (_, other) => `from "${module(other)}"`);
  if (!made.has(name)) made.set(name, `data:text/javascript,${encodeURIComponent(linked)}`);
  return made.get(name);
}

const places = new Map();
const element = () => ({
  dataset: {}, children: [], className: "", textContent: "", classList: { toggle() {} },
  append(...parts) { this.children.push(...parts); },
  replaceChildren(...parts) { this.children = parts; },
  closest: () => null,
});
globalThis.document = {
  body: element(), createElement: element,
  getElementById: (id) => places.get(id) ?? places.set(id, element()).get(id),
};
const { missing, problems } = await import(module("problems.js"));
const { showAttention } = await import(module("attention.js"));
const { showTiles } = await import(module("tiles.js"));

function same(found, expected, of) {
  if (JSON.stringify(found) === JSON.stringify(expected)) return;
  console.error(`${of}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
  process.exit(1);
}

const snapshot = (rest) => ({ uptime_ns: 600e9, tasks: [], clocks: [], peers: [], ptp: [], paths: [], ntp: null, reflector: null, ...rest });
const clock = (rest) => ({ name: "realtime", kind: "realtime", reference: "ntp", utc_offset_ns: 1000, utc_bound_ns: 50_000, tai_offset_ns: null, age_ns: 1e9, error: null, ...rest });
const server = (unanswered, responses, age_ns, error, rest) => ({ name: "a", age_ns, requests: unanswered + responses, unanswered, responses, error, stale_after_ns: 300e9, offset_ns: null, bound_ns: null, timestamps: {}, ...rest });
const port = (rest) => ({ interface: "eth0", error: null, holdover: false, warnings: [], offset_ns: 5, bound_ns: 9, age_ns: 1e9, ...rest });
const peer = (rest) => ({ name: "rack", age_ns: 1e9, stale_after_ns: null, lost: 0, error: null, path_delay_ns: 1000, path_delay_bound_ns: 10, timestamps: { missing: {} }, ...rest });
const unsynchronised = "its clock is not synchronised";
const of = (one) => ({ ntp: { agreement: "none", servers: [one] } });

// each problem: its level, whose it is, and the sentence
for (const [rest, expected] of [
  [{}, []],
  [of(server(3, 0, null, "no answer")), []],
  [of(server(4, 0, null, "no answer")), [["fault", "ntp a", "NTP server a: no answer yet: no answer."]]],
  [of(server(4, 1, null, unsynchronised)), [["fault", "ntp a", `NTP server a: 1 of 5 requests answered, no measurement yet: ${unsynchronised}.`]]],
  [of(server(0, 4, null, unsynchronised)), [["fault", "ntp a", `NTP server a: 4 of 4 requests answered, no measurement yet: ${unsynchronised}.`]]],
  [of(server(9, 4, 1e9, null)), []],
  [of(server(0, 4, 301e9, null)), [["fault", "ntp a", "NTP server a: nothing new for 5 min 1 s."]]],
  [of(server(0, 4, 1e9, null, { hint: "use NTS" })), [["warning", "ntp a", "NTP server a: use NTS."]]],
  [{ ntp: { agreement: "disagreement", servers: [server(0, 4, 1e9, null, { falseticker: true })] } }, [["fault", "agreement", "The NTP servers disagree."], ["warning", "ntp a", "NTP server a contradicts the majority."]]],
  [{ clocks: [clock()] }, []],
  [{ clocks: [clock({ utc_offset_ns: -60_000 })] }, [["fault", "clock realtime", "The real-time clock is wrong, not merely unsure: offset −60.0 µs ± 50.0 µs."]]],
  [{ clocks: [clock({ utc_offset_ns: null, utc_bound_ns: null, reference: "none" })] }, [["warning", "clock realtime", "How wrong the real-time clock is, nobody knows: no NTP server, no PTP and no daemon bounds its error."]]],
  [{ uptime_ns: 5e9, clocks: [clock({ utc_offset_ns: null, utc_bound_ns: null, reference: "none" })] }, []],
  [{ clocks: [clock({ name: "eth0", kind: "phc", age_ns: 40e9, error: "the device is gone" })] }, [["fault", "clock eth0", "Clock eth0: nothing new for 40 s: the device is gone."]]],
  [{ ptp: [port({ holdover: true })] }, [["warning", "ptp eth0", "PTP port eth0 follows no timeTransmitter any more."]]],
  [{ ptp: [port({ warnings: ["w"], error: "e" })] }, [["fault", "ptp eth0", "PTP port eth0: e."], ["warning", "ptp eth0", "PTP port eth0: w."]]],
  [{ ptp: [port({ agreement: "disagree" })] }, [["fault", "ptp eth0", "PTP port eth0: the sources of time contradict each other, and none is followed."]]],
  [{ peers: [peer({ age_ns: null, lost: 11, error: "refused" })] }, [["fault", "stamp rack", "STAMP session rack: 11 packets, no answer yet: refused."]]],
  [{ reflector: { warnings: ["r"] } }, [["warning", "reflector", "STAMP reflector: r."]]],
  [{ tasks: [{ kind: "stamp", name: "x", state: "failed", error: "no file" }], history: { state: "live_only", error: "disk full" } }, [["fault", "task x", "Task stamp x failed: no file"], ["warning", "history", "The history is not written: disk full"]]],
]) {
  const found = problems(snapshot(rest)).map(({ level, subject, text }) => [level, subject, text]);
  same(found, expected, JSON.stringify(rest));
}

// timestamps that went missing since the snapshot before
const lossy = (number) => snapshot({ peers: [peer({ timestamps: { missing: { never_generated: number, not_sent: 9 } } })] });
same(problems(lossy(5), missing(lossy(3))).map(({ text }) => text), ["rack: 2 more transmit timestamps are missing."], "missing timestamps");
same(problems(lossy(5)), [], "the first snapshot");

// the word, its colour and its reason
for (const [rest, level, word, reason] of [
  [{}, "unknown", "Nothing measured yet", "The configuration asks for nothing."],
  [{ clocks: [clock()] }, "good", "Good", "The real-time clock is within 51.0 µs of UTC. 1 clock: all tasks run, and nothing is stale."],
  [{ ptp: [port({ holdover: true })] }, "warning", "Warning", "PTP port eth0 follows no timeTransmitter any more."],
  [{ ptp: [port({ holdover: true, error: "e" })] }, "fault", "Fault", "PTP port eth0: e. And 1 more problem, below."],
  [{ tasks: [{ kind: "ntp", name: "x", state: "failed", error: "no file" }], ptp: [port({ error: "e" })] }, "fault", "Fault", "Task ntp x failed: no file. And 1 more problem, below."],
]) {
  const one = snapshot(rest);
  showAttention(one, problems(one));
  const found = [places.get("glance").dataset.level, places.get("glance-word").textContent, places.get("glance-reason").textContent];
  same(found, [level, word, reason], JSON.stringify(rest));
}

// a tile for each, the worst first
const one = snapshot({ clocks: [clock()], ptp: [port()], ...of(server(4, 0, null, "no answer")), peers: [peer()] });
showTiles(one, problems(one));
const tiles = places.get("tiles").children.map((tile) => [tile.dataset.level, ...tile.children.map((part) => part.textContent)]);
same(tiles, [
  ["fault", "a", "offset from NTP server", "none yet", "no error bound", "never measured"],
  ["good", "Real-time clock", "offset from UTC", "+1.00\u00a0µs", "± 50.0 µs", "1 s"],
  ["good", "eth0", "offset from PTP timeTransmitter", "+5\u00a0ns", "± 9 ns", "1 s"],
  ["good", "rack", "path delay, both ways", "1.000\u00a0µs", "± 10 ns", "1 s"],
], "tiles");
console.log("attention: problems, the word at the top and the tiles are as they should be");
