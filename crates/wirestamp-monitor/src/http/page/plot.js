// An offset and its error bound over time, drawn by uPlot.

import { element } from "./elements.js";
import { bound, clockTime, dayTime, offset as exact, unitOf } from "./units.js";

const dark = matchMedia("(prefers-color-scheme: dark)");
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const font = "12px system-ui, sans-serif";

export const timeAxis = (width) => ({
  stroke: colour("--quiet"), font, labelFont: font, label: "time (UTC)", labelSize: 18, size: 28, space: width < 420 ? 70 : 90,
  grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 },
  values: (_plot, splits, _axis, _space, step) => splits.map((at) => (step >= 86400 ? dayTime(at).slice(5, 10) : step < 60 ? clockTime(at) : clockTime(at).slice(0, 5))),
});

export class OffsetPlot {
  constructor(title) {
    this.box = element("div", { className: "canvas" });
    this.readout = element("p", { className: "readout" });
    this.readout.setAttribute("aria-live", "polite");
    this.root = element("div", { className: "plot", tabIndex: 0 }, element("h3", { textContent: title }), this.box, this.readout);
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-label", `Plot: ${title}. Arrow keys read the values.`);
    this.root.addEventListener("keydown", (event) => this.move(event));
    dark.addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.box.clientWidth !== this.width && this.draw()).observe(this.box);
  }

  // points: [{ at, least, most, bound }], in their order; offsets null where only a bound is known, bound null in gaps.
  // base: whole seconds that belong to each offset.
  show(points, base, wanted, nothing) {
    this.points = points;
    this.base = base;
    this.wanted = wanted;
    this.nothing = nothing;
    this.draw();
  }

  draw() {
    this.chart?.destroy();
    this.chart = null;
    this.width = this.box.clientWidth;
    const known = (this.points || []).filter((point) => point.bound !== null);
    if (!known.length || !this.width) {
      this.box.replaceChildren(element("p", { className: "missing", textContent: this.nothing || "" }));
      this.readout.textContent = "";
      return;
    }
    this.box.replaceChildren();
    const low = ({ least, bound }) => (bound === null ? null : (least ?? 0) - bound);
    const high = ({ most, bound }) => (bound === null ? null : (most ?? 0) + bound);
    const reach = Math.max(...known.map((point) => Math.max(Math.abs(low(point)), Math.abs(high(point)))));
    const [size, unit] = unitOf(reach);
    const scaled = (pick) => this.points.map((point) => (pick(point) === null ? null : pick(point) / size));
    const accent = colour("--accent");
    const edge = { stroke: accent, width: 0.6, points: { show: false } };
    const line = { stroke: accent, width: 2, points: { show: known.length < 60, size: 4, fill: accent } };
    const options = {
      width: this.width, height: 210, legend: { show: false }, tzDate: (at) => uPlot.tzDate(new Date(at * 1e3), "Etc/UTC"),
      scales: { x: { time: true, range: [this.wanted.from, this.wanted.to] } },
      axes: [timeAxis(this.width), {
        stroke: colour("--quiet"), font, labelFont: font, label: `offset${this.base ? ` ${this.base > 0n ? "−" : "+"} ${this.base.toLocaleString("en").replace("-", "")} s` : ""} (${unit})`, labelSize: 18, size: 58,
        grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 },
      }],
      series: [{}, edge, edge, line, line],
      bands: [{ series: [1, 2], fill: colour("--band") }, { series: [3, 4], fill: accent }],
      cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
      hooks: { setCursor: [(chart) => this.read(chart.cursor.idx)] },
    };
    this.chart = new uPlot(options, [this.points.map((point) => point.at), scaled(high), scaled(low), scaled(({ most }) => most), scaled(({ least }) => least)], this.box);
    this.read(null);
  }

  read(index) {
    const found = index === null || index === undefined ? null : this.points[index];
    const point = found || this.points.findLast((point) => point.bound !== null);
    if (!point || point.bound === null) {
      this.readout.textContent = "Nothing is known of this time.";
      return;
    }
    // to the nanosecond: the bound is of both ends
    const offset = (relative) => exact(this.base * 1_000_000_000n + BigInt(Math.round(relative)), 0);
    const range = point.least === null ? "the offset is not known" : point.least === point.most ? `offset ${offset(point.most)}` : `offset ${offset(point.least)} to ${offset(point.most)}`;
    this.readout.textContent = `${found ? "" : "Newest, "}${dayTime(point.at)} UTC: ${range}; error bound ${bound(point.bound)}.`;
  }

  move(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || !this.chart) return;
    event.preventDefault();
    const at = Math.min(this.points.length - 1, Math.max(0, (this.chart.cursor.idx ?? this.points.length - 1) + step));
    this.chart.setCursor({ left: this.chart.valToPos(this.points[at].at, "x"), top: 10 });
    this.read(at);
  }
}
