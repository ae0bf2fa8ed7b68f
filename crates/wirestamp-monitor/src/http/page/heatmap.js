// How long packets took, over time: a column for each interval, a cell for each range of delays, darker (in the dark: brighter) where more packets are.

import { element } from "./elements.js";
import { clockTime, count, dayTime, span } from "./units.js";

const HEIGHT = 210;
const LEFT = 70, BOTTOM = 40, TOP = 8;
const dark = matchMedia("(prefers-color-scheme: dark)");
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// Cells are 2^(1/4) wide: nanoseconds of a cell's upper limit.
const limit = (index) => 1e9 * 2 ** (index / 4);
const TICKS = Array.from({ length: 14 }, (_, power) => 10 ** power);

function mixed(low, high, share) {
  const part = (text, at) => parseInt(text.slice(1 + 2 * at, 3 + 2 * at), 16);
  return `rgb(${[0, 1, 2].map((at) => Math.round(part(low, at) + (part(high, at) - part(low, at)) * share)).join(" ")})`;
}

export class HeatMap {
  constructor(title) {
    this.canvas = element("canvas");
    this.readout = element("p", { className: "readout" });
    this.readout.setAttribute("aria-live", "polite");
    this.root = element("div", { className: "plot", tabIndex: 0 }, element("h3", { textContent: title }), this.canvas, this.readout);
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-label", `Heat map: ${title}. Arrow keys read the values.`);
    this.canvas.addEventListener("pointermove", (event) => this.read(this.at(event.offsetX)));
    this.canvas.addEventListener("pointerleave", () => this.read(null));
    this.root.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || !this.columns?.length) return;
      event.preventDefault();
      this.chosen = Math.min(this.columns.length - 1, Math.max(0, (this.chosen ?? this.columns.length - 1) + step));
      this.read(this.columns[this.chosen]);
    });
    dark.addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.root.clientWidth !== this.width && this.draw()).observe(this.root);
  }

  // columns: [{ at, step, count, zero, buckets: [[index, count]], bound }], in their order.
  show(columns, wanted, nothing) {
    Object.assign(this, { columns, wanted, nothing, chosen: undefined });
    this.draw();
  }

  draw() {
    this.width = this.root.clientWidth;
    if (!this.columns || this.width < 100) return;
    const [width, ratio] = [this.width - 16, devicePixelRatio];
    Object.assign(this.canvas, { width: width * ratio, height: HEIGHT * ratio });
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${HEIGHT}px` });
    const ink = this.canvas.getContext("2d");
    ink.scale(ratio, ratio);
    ink.clearRect(0, 0, width, HEIGHT);
    ink.font = "12px system-ui, sans-serif";
    ink.fillStyle = colour("--quiet");
    const used = this.columns.flatMap((column) => column.buckets.map(([index]) => index));
    if (!used.length) {
      ink.fillText(this.nothing, 8, 24);
      this.readout.textContent = "";
      return;
    }
    // at least two decades' third, so that a constant delay is a line and not a wall
    let [low, high] = [Math.min(...used) - 1, Math.max(...used) + 1];
    for (; high - low < 8; low -= 1) high += 1;
    this.place = { width, low, high, row: (HEIGHT - TOP - BOTTOM) / (high - low + 1) };
    this.cells(ink);
    this.axes(ink);
    this.read(null);
  }

  x(at) {
    return LEFT + ((at - this.wanted.from) / (this.wanted.to - this.wanted.from)) * (this.place.width - LEFT - 6);
  }

  cells(ink) {
    const { low, row } = this.place;
    const most = Math.log(Math.max(2, ...this.columns.flatMap((column) => column.buckets.map(([, number]) => number))));
    const shades = [colour("--heat-low"), colour("--heat-middle"), colour("--heat-high")];
    for (const column of this.columns) {
      const left = this.x(column.at);
      const wide = Math.max(1.5, this.x(column.at + column.step) - left + 0.3);
      for (const [index, number] of column.buckets) {
        const share = Math.min(1, Math.log(number) / most);
        ink.fillStyle = share < 0.5 ? mixed(shades[0], shades[1], share * 2) : mixed(shades[1], shades[2], share * 2 - 1);
        ink.fillRect(left, HEIGHT - BOTTOM - (index - low + 1) * row, wide, row + 0.3);
      }
    }
  }

  axes(ink) {
    const { low, high, row, width } = this.place;
    const bottom = HEIGHT - BOTTOM;
    ink.strokeStyle = colour("--line");
    ink.fillStyle = colour("--quiet");
    ink.strokeRect(LEFT - 0.5, TOP - 0.5, width - LEFT - 5, bottom - TOP + 1);
    ink.textAlign = "right";
    const y = (delay) => bottom - (Math.log2(delay / 1e9) * 4 - low + 1) * row;
    const decades = TICKS.filter((delay) => delay > limit(low - 1) && delay <= limit(high));
    const finer = TICKS.flatMap((delay) => [delay, 2 * delay, 5 * delay]).filter((delay) => delay > limit(low - 1) && delay <= limit(high));
    for (const delay of decades.length < 3 ? finer : decades) {
      ink.fillRect(LEFT - 4, y(delay), 4, 1);
      ink.fillText(span(delay).replace(/\.0+ /, " "), LEFT - 7, y(delay) + 4);
    }
    const steps = Math.max(1, Math.floor((width - LEFT) / 110));
    const length = this.wanted.to - this.wanted.from;
    const label = length > 2 * 86400 ? (at) => dayTime(at).slice(5, 16) : length > 7200 ? (at) => clockTime(at).slice(0, 5) : clockTime;
    for (let step = 0; step <= steps; step += 1) {
      const at = this.wanted.from + (length * step) / steps;
      ink.textAlign = step === 0 ? "left" : step === steps ? "right" : "center";
      ink.fillText(label(at), this.x(at), bottom + 15);
    }
    ink.textAlign = "center";
    ink.fillText("time (UTC)", (LEFT + width) / 2, bottom + 32);
    ink.save();
    ink.translate(11, (TOP + bottom) / 2);
    ink.rotate(-Math.PI / 2);
    ink.fillText("delay", 0, 0);
    ink.restore();
  }

  at(x) {
    if (!this.place) return null;
    return this.columns.find((column) => x >= this.x(column.at) && x < this.x(column.at + column.step)) || null;
  }

  // Of a column, or of all of them.
  read(column) {
    const all = column ? [column] : this.columns;
    const total = all.reduce((sum, one) => sum + one.count, 0);
    if (!total) return;
    const counts = new Map();
    all.forEach((one) => one.buckets.forEach(([index, number]) => counts.set(index, (counts.get(index) || 0) + number)));
    const zero = all.reduce((sum, one) => sum + one.zero, 0);
    const quantile = (share) => {
      let below = zero;
      const found = [...counts].sort(([one], [other]) => one - other).find(([, number]) => (below += number) >= share * total);
      return zero >= share * total ? "0" : `below ${span(limit(found?.[0] ?? 0))}`;
    };
    const bound = Math.max(...all.map((one) => one.bound ?? 0));
    const when = column ? `${dayTime(column.at)} UTC` : "In all";
    this.readout.textContent = `${when}: ${count(total)} packets; half of them ${quantile(0.5)}, 99 % ${quantile(0.99)}; error bound at most ${span(bound)}.`;
  }
}
