// Holds what needs attention against what a snapshot has of NTP servers.
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

let shown = [];
globalThis.document = {
  createElement: () => ({ append() {} }),
  getElementById: () => ({ replaceChildren: (...items) => (shown = items.map((item) => item.textContent)) }),
};
const { showAttention } = await import(module("attention.js"));

const server = (unanswered, responses, age_ns, error) => ({ name: "a", age_ns, requests: unanswered + responses, unanswered, responses, error, stale_after_ns: 300e9 });
const nothing = "Nothing: all tasks run, and nothing is stale.";
const unsynchronised = "its clock is not synchronised";
for (const [one, expected] of [
  [server(3, 0, null, "no answer"), nothing],
  [server(4, 0, null, "no answer"), "NTP server a: no answer yet: no answer."],
  [server(4, 1, null, unsynchronised), `NTP server a: 1 of 5 requests answered, no measurement yet: ${unsynchronised}.`],
  [server(0, 4, null, unsynchronised), `NTP server a: 4 of 4 requests answered, no measurement yet: ${unsynchronised}.`],
  [server(9, 4, 1e9, null), nothing],
]) {
  showAttention({ tasks: [], clocks: [], peers: [], ptp: [], paths: [], ntp: { servers: [one] } });
  if (shown.length !== 1 || shown[0] !== expected) {
    console.error(`${JSON.stringify(one)}: ${shown.join(" ")} instead of ${expected}`);
    process.exit(1);
  }
}
console.log("attention: what is said of NTP servers is so");
