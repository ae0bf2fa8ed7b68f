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
  dataset: {}, children: [], isConnected: true, className: "", textContent: "", classList: { toggle() {} },
  append(...parts) { this.children.push(...parts); },
  replaceChildren(...parts) { this.children = parts; },
  closest: () => null,
});
globalThis.document = {
  body: element(), activeElement: null, createElement: element,
  getElementById: (id) => places.get(id) ?? places.set(id, element()).get(id),
};
const { counted, pending, problems } = await import(module("problems.js"));
const { showAttention } = await import(module("attention.js"));
const { showTiles } = await import(module("tiles.js"));

function same(found, expected, of) {
  if (JSON.stringify(found) === JSON.stringify(expected)) return;
  console.error(`${of}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
  process.exit(1);
}

const snapshot = (rest) => ({ uptime_ns: 600e9, tasks: [], clocks: [], peers: [], ptp: [], paths: [], ntp: null, reflector: null, ...rest });
const clock = (rest) => ({ name: "realtime", kind: "realtime", reference: "ntp", utc_offset_ns: 1000, utc_bound_ns: 50_000, tai_offset_ns: null, age_ns: 1e9, error: null, ...rest });
const server = (unanswered, responses, age_ns, error, rest) => ({ name: "a", age_ns, samples: age_ns === null ? 0 : responses, requests: unanswered + responses, unanswered, responses, error, stale_after_ns: 300e9, offset_ns: null, bound_ns: null, timestamps: {}, ...rest });
const port = (rest) => ({ interface: "eth0", state: "timeReceiver", stale_after_ns: 30e9, error: null, holdover: false, warnings: [], offset_ns: 5, bound_ns: 9, age_ns: 1e9, ...rest });
const peer = (rest) => ({ name: "rack", age_ns: 1e9, path_delay_age_ns: 2e9, stale_after_ns: null, answered: 9, lost: 0, error: null, path_delay_ns: 1000, path_delay_bound_ns: 10, timestamps: { missing: {} }, ...rest });
const own = (rest) => ({ interface: "lo", received: 9, lost: 0, error: null, timestamps: { missing: {} }, ...rest });
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
  [{ clocks: [clock({ utc_offset_ns: -60_000 })] }, [["warning", "clock realtime", "The real-time clock is off by more than it is unsure: offset −60.0 µs ± 50.0 µs."]]],
  [{ clocks: [clock({ utc_offset_ns: null, utc_bound_ns: null, reference: "none" })] }, [["warning", "clock realtime", "Nothing that this monitor knows bounds the error of the real-time clock."]]],
  [{ clocks: [clock({ utc_offset_ns: null, utc_bound_ns: null, reference: null })], ptp: [port({ system_offset_ns: 40, system_bound_ns: 90 })] }, []],
  [{ clocks: [clock({ utc_offset_ns: null, utc_bound_ns: 3e6, reference: "kernel" })], ptp: [port({ system_offset_ns: 5e9, system_bound_ns: 90 })] }, [["fault", "clock realtime", "The real-time clock: PTP port eth0 measures +5 s +0 ns ± 90 ns, the kernel claims ± 3.00 ms."]]],
  // a disciplined clock is off by more than PTP's bound, within what others claim
  [{ clocks: [clock({ utc_offset_ns: null, utc_bound_ns: 3e6, reference: "kernel" })], ptp: [port({ system_offset_ns: 50e3, system_bound_ns: 90 })] }, []],
  [{ clocks: [clock()], ptp: [port({ system_offset_ns: 40e3, system_bound_ns: 90 })] }, []],
  [{ clocks: [clock()], ptp: [port({ system_offset_ns: 60e3, system_bound_ns: 90 })] }, [["fault", "clock realtime", "The real-time clock: PTP port eth0 measures +60.000 µs ± 90 ns, the NTP servers say +1.00 µs ± 50.0 µs."]]],
  [{ clocks: [clock()], ptp: [port({ system_offset_ns: 60e3, system_bound_ns: 90, holdover: true })] }, [["warning", "ptp eth0", "PTP port eth0 follows no timeTransmitter any more."]]],
  [{ ptp: [port({ state: "timeTransmitter", stale_after_ns: null, age_ns: 500e9 })] }, []],
  [{ ptp: [port({ state: "faulty" })] }, [["fault", "ptp eth0", "PTP port eth0 is faulty: it transmits no time, and measures nothing."]]],
  [{ peers: [peer({ age_ns: null, lost: 500, answered: 9000 })] }, []],
  [{ ...of(server(500, 500, null, null, { samples: 400 })) }, []],
  [{ clocks: [clock({ name: "eth0", kind: "phc", age_ns: null, error: "not permitted" })] }, [["fault", "clock eth0", "Clock eth0: not permitted."]]],
  [{ ptp: [port({ age_ns: 31e9 })] }, [["fault", "ptp eth0", "PTP port eth0: nothing new for 31 s."]]],
  [{ ptp: [port({ age_ns: 31e9, stale_after_ns: 64e9 })] }, []],
  [{ paths: [own({ received: 0, lost: 3, error: "not permitted" })] }, [["fault", "path lo", "Path of this host, lo: 3 packets, none arrived: not permitted."]]],
  [{ uptime_ns: 5e9, clocks: [clock({ utc_offset_ns: null, utc_bound_ns: null, reference: "none" })] }, []],
  [{ clocks: [clock({ name: "eth0", kind: "phc", age_ns: 40e9, error: "the device is gone" })] }, [["fault", "clock eth0", "Clock eth0: nothing new for 40 s: the device is gone."]]],
  [{ ptp: [port({ holdover: true })] }, [["warning", "ptp eth0", "PTP port eth0 follows no timeTransmitter any more."]]],
  [{ ptp: [port({ warnings: ["w"], error: "e" })] }, [["fault", "ptp eth0", "PTP port eth0: e."], ["warning", "ptp eth0", "PTP port eth0: w."]]],
  [{ ptp: [port({ agreement: "disagree" })] }, [["fault", "ptp eth0", "PTP port eth0: the sources of time contradict each other, and none is followed."]]],
  [{ peers: [peer({ age_ns: null, answered: 0, lost: 11, error: "refused" })] }, [["fault", "stamp rack", "STAMP session rack: 11 packets, no answer yet: refused."]]],
  [{ reflector: { warnings: ["r"] } }, [["warning", "reflector", "STAMP reflector: r."]]],
  [{ tasks: [{ kind: "stamp", name: "x", state: "failed", error: "no file" }], history: { state: "live_only", error: "disk full" } }, [["fault", "stamp x", "Task stamp x failed: no file"], ["warning", "history", "The history is not written: disk full"]]],
]) {
  const found = problems(snapshot(rest)).map(({ level, subject, text }) => [level, subject, text]);
  same(found, expected, JSON.stringify(rest));
}

// what went missing and was lost in the last minute
const lately = (now, old, seconds = 60) => problems(snapshot({ peers: [peer(now)] }), { counts: counted(snapshot({ peers: [peer(old)] })), seconds }).map(({ text }) => text);
const missing = (number) => ({ timestamps: { missing: { never_generated: number, not_sent: 9 } } });
same(lately(missing(5), missing(3)), ["STAMP session rack: 2 transmit timestamps went missing in the last 1 min 0 s."], "missing timestamps");
same(problems(snapshot({ peers: [peer(missing(5))] })), [], "the first snapshot");
same(lately({ answered: 100, lost: 2 }, { answered: 2, lost: 0 }), ["STAMP session rack: 2 of 100 packets were lost in the last 1 min 0 s."], "losses");
same(lately({ answered: 302, lost: 2 }, { answered: 2, lost: 0 }), [], "few losses");
same(lately({ answered: 3, lost: 1 }, { answered: 0, lost: 0 }), [], "a single packet");
same(lately({ answered: 5, lost: 2 }, { answered: 2, lost: 0 }), ["STAMP session rack: 2 of 5 packets were lost in the last 1 min 0 s."], "of a slow session");
const paths = (now) => problems(snapshot({ paths: [own(now)] }), { counts: counted(snapshot({ paths: [own({ received: 100 })] })), seconds: 60 }).map(({ level, text }) => [level, text]);
same(paths({ received: 100, lost: 60, error: "not permitted" }), [["fault", "Path of this host, lo: 60 of 60 packets were lost in the last 1 min 0 s: not permitted."]], "all packets");
same(paths({ received: 160 }), [], "no packet");
same(lately({ age_ns: 40e9, answered: 9, lost: 50 }, { answered: 9, lost: 0 }), ["STAMP session rack: nothing new for 40 s."], "said once");

// what has given no result yet
same(pending(snapshot({
  tasks: [{ kind: "stamp", name: "rack", state: "starting" }, { kind: "path", name: "lo", state: "running" }], clocks: [clock({ age_ns: null, utc_bound_ns: null }), clock({ name: "eth0", kind: "phc", age_ns: null })],
  peers: [peer({ age_ns: null })], ptp: [port({ age_ns: null, state: "listening" }), port({ interface: "eth1", age_ns: null, state: "timeTransmitter", stale_after_ns: null })], paths: [own(), own({ interface: "eth0", received: 0 })], ...of(server(1, 0, null, null)),
})), ["stamp rack", "clock realtime", "clock eth0", "ntp a", "ptp eth0", "path eth0"], "pending");

// the word, its colour and its reason
const healthy = { tasks: [{ kind: "ntp", name: "a", state: "running" }], ...of(server(0, 9, 1e9, null)) };
for (const [rest, level, word, reason] of [
  [{}, "unknown", "Measuring", "The configuration asks for nothing."],
  [{ ...healthy, clocks: [clock({ right_servers: 1 })] }, "good", "Good", "The real-time clock is within 51.0 µs of UTC, if 1 of 1 NTP server is right. 1 clock, 1 NTP server: all tasks run, and nothing is stale."],
  [{ ...healthy, clocks: [clock({ utc_offset_ns: null, reference: "kernel" })] }, "good", "Good", "The kernel claims that the real-time clock is within 50.0 µs of UTC. 1 clock, 1 NTP server: all tasks run, and nothing is stale."],
  [{ ...healthy, peers: [peer({ age_ns: null, lost: 1 })] }, "unknown", "Measuring", "No result yet of stamp rack."],
  [{ ptp: [port({ holdover: true })] }, "warning", "Warning", "PTP port eth0 follows no timeTransmitter any more."],
  [{ ptp: [port({ holdover: true, error: "e" })] }, "fault", "Fault", "PTP port eth0: e. And 1 more problem, below."],
  [{ tasks: [{ kind: "ntp", name: "x", state: "failed", error: "no file" }], ptp: [port({ error: "e" })] }, "fault", "Fault", "Task ntp x failed: no file. And 1 more problem, below."],
]) {
  const one = snapshot(rest);
  showAttention(one, problems(one));
  const found = [places.get("glance").dataset.level, places.get("glance-word").textContent, places.get("glance-reason").textContent];
  same(found, [level, word, reason], JSON.stringify(rest));
}
same(places.get("said").textContent, "Fault, ntp x, ptp eth0", "for readers of screens");

// a tile for each, the worst first
const one = snapshot({ clocks: [clock()], ptp: [port()], ...of(server(4, 0, null, "no answer")), peers: [peer()] });
showTiles(one, problems(one));
const tiles = places.get("tiles").children.map((tile) => [tile.dataset.level, ...tile.children.map((part) => part.textContent)]);
same(tiles, [
  ["fault", "a", "offset from NTP server", "none yet", "no error bound", "never measured", "Fault"],
  ["good", "Real-time clock", "offset from UTC", "+1.00\u00a0µs", "± 50.0 µs", "1 s"],
  ["good", "eth0", "offset from PTP timeTransmitter", "+5\u00a0ns", "± 9 ns", "1 s"],
  ["good", "rack", "path delay, both ways", "1.000\u00a0µs", "± 10 ns", "2 s"],
], "tiles");
console.log("attention: problems, the word at the top and the tiles are as they should be");
