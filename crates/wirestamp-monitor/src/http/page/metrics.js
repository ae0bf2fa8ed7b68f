// What each metric means: the HELP lines of /metrics, and links to them.

import { text } from "./connection.js";
import { byId, element, fill } from "./elements.js";

const filter = byId("metric-filter");
let known = [];

function read(exposition) {
  const found = new Map();
  for (const line of exposition.split("\n")) {
    const [, word, name, rest] = /^# (HELP|TYPE|UNIT) (\S+) ?(.*)$/.exec(line) || [];
    if (!word) continue;
    const metric = found.get(name) || { name };
    metric[word] = rest.replaceAll("\\n", " ").replaceAll('\\"', '"').replaceAll("\\\\", "\\");
    found.set(name, metric);
  }
  return [...found.values()];
}

function show() {
  const wanted = filter.value.toLowerCase();
  const shown = known.filter((metric) => `${metric.name} ${metric.HELP}`.toLowerCase().includes(wanted));
  const lines = shown.map((metric) => element("div", {},
    element("dt", { id: `metric-${metric.name}`, textContent: `${metric.name} (${metric.TYPE || "unknown"}${metric.UNIT ? `, ${metric.UNIT}` : ""})` }),
    element("dd", { textContent: metric.HELP || "not explained" }),
  ));
  fill(byId("metric-list"), ...(lines.length ? lines : [element("dd", { className: "missing", textContent: "No metric matches." })]));
}

export async function load() {
  // which has units
  known = read(await text("/metrics", "application/openmetrics-text"));
  show();
  for (const place of document.querySelectorAll("[data-metrics]")) {
    const prefixes = place.dataset.metrics.split(" ");
    const own = known.filter((metric) => prefixes.some((prefix) => metric.name.startsWith(prefix)));
    // what is there already stays, and so does the focus
    const names = own.map((metric) => metric.name).join(" ");
    if (place.dataset.shown === names) continue;
    place.dataset.shown = names;
    const links = own.map((metric) => element("a", { href: `#metric-${metric.name}`, textContent: metric.name, title: metric.HELP || "" }));
    fill(place, own.length ? element("details", { open: place.querySelector("details")?.open || false }, element("summary", { textContent: `Metrics of this section (${own.length})` }), ...links.flatMap((link) => [link, " "])) : null);
  }
}

filter.addEventListener("input", show);
byId("main").addEventListener("click", (event) => {
  // the metric that a link leads to must be there
  if (event.target.hash?.startsWith("#metric-") && filter.value) {
    filter.value = "";
    show();
  }
});
