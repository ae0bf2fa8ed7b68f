"use strict";
// Draws the plots of the report from the data beside this script: drag to zoom, double click or Escape to see all,
// arrow keys to move, + and - to zoom.
(() => {
  const plots = JSON.parse(document.getElementById("data").textContent);
  const place = document.getElementById("plots");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const light = ["#0072b2", "#d55e00", "#00805f", "#9a4f96"];
  const bright = ["#5ab4f0", "#ff9e4a", "#3ddbab", "#d99ad6"];
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

  const time = (ns) => {
    if (ns == null) return "-";
    const size = Math.abs(ns);
    const [per, unit] = units.find(([per]) => size >= per) || [1, "ns"];
    return `${+(ns / per).toPrecision(3)} ${unit}`;
  };
  const percent = (share) => {
    const left = 10 ** -share;
    return `${(100 - 100 * left).toFixed(Math.max(0, Math.round(share) - 2))} %`;
  };
  const seconds = (at) => `${+at.toPrecision(6)} s`;
  const shown = { seconds, log_nanoseconds: time, signed_nanoseconds: time, percent: (value) => (value == null ? "-" : `${+value.toPrecision(3)} %`), percentile: percent };
  const finer = (share) => (share == null ? "-" : `${+(100 - 100 * 10 ** -share).toFixed(Math.max(1, Math.ceil(share)))} %`);

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    return { ink: of("--ink"), grid: of("--line"), series: dark.matches ? bright : light };
  }

  // Ticks of 0, 50, 90, 99 % and so on, where the scale counts nines.
  const nines = (_plot, _axis, from, to) => [0, Math.log10(2), 1, 2, 3, 4, 5, 6, 7, 8, 9].filter((at) => at >= from && at <= to);

  // Axes end where the data ends, not at the next power of ten.
  const closely = (_plot, from, to) => (from == null ? [1, 10] : from === to ? [from * 0.9, to * 1.1] : [from * 0.95, to * 1.05]);
  const widely = (_plot, from, to) => (from == null ? [-10, 10] : [Math.min(from * 1.2, 0) - 1, Math.max(to * 1.2, 0) + 1]);
  const exactly = (_plot, from, to) => (from == null ? [0, 1] : from === to ? [from - 1, to + 1] : [from, to]);

  function scale(kind, along) {
    if (kind === "log_nanoseconds") return { time: false, distr: 3, log: 10, range: along ? exactly : closely };
    if (kind === "signed_nanoseconds") return { time: false, distr: 4, asinh: 10, range: along ? exactly : widely };
    return along ? { time: false, range: exactly } : { time: false };
  }

  // Round values with room for their labels: as many digits as fit, at the least some powers of ten.
  const ticks = (kind, room) => (plot, number, from, to) => {
    const place = kind === "log_nanoseconds" ? Math.log10 : (value) => Math.asinh(value / 10);
    const length = (number === 0 ? plot.bbox.width : plot.bbox.height) / devicePixelRatio;
    const apart = (room / length) * (place(to) - place(from));
    const fitting = (digits, every) => {
      const sizes = [];
      for (let power = 0; power < 19; power += every) sizes.push(...digits.map((digit) => digit * 10 ** power));
      const kept = from <= 0 ? [0] : [];
      for (const sign of from < 0 ? [1, -1] : [1]) {
        let last = kept.length ? 0 : -Infinity;
        for (const size of sizes.filter((size) => sign * size >= from && sign * size <= to)) {
          if (from < 0 && place(size) - last < apart) continue;
          last = place(size);
          kept.push(sign * size);
        }
      }
      return kept.sort((one, other) => one - other);
    };
    const fits = (values) => values.every((value, at) => !at || place(value) - place(values[at - 1]) >= apart);
    const choices = [[[1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8], 1], [[1, 1.5, 2, 3, 5, 7], 1], [[1, 2, 5], 1], [[1], 1], [[1], 2]];
    const allowed = from < 0 ? choices.slice(2) : choices;
    return allowed.map((choice) => fitting(...choice)).find(fits) || fitting([1], 3);
  };

  function axis(description, ink, grid, along, width) {
    const kind = description.kind;
    const narrow = width < 560;
    const result = {
      label: description.label, stroke: ink, font: "13px system-ui, sans-serif", labelFont: "13px system-ui, sans-serif", labelSize: 22,
      grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, size: along ? 40 : 72,
      values: (_plot, values) => values.map((value) => (value == null ? null : shown[kind](value))),
    };
    if (kind.endsWith("_nanoseconds")) {
      result.splits = ticks(kind, along ? (narrow ? 60 : 75) : 24);
      result.filter = (_plot, splits) => splits;
    }
    if (kind === "percentile") result.splits = nines;
    else if (along) result.space = narrow ? 70 : 90;
    else result.space = 28;
    return result;
  }

  function series(description, number, palette, kind) {
    // two edges of a band have one colour
    const colour = palette[(description.style === "band" ? 0 : number) % palette.length];
    const points = description.style === "points";
    return {
      label: description.name, stroke: colour, width: points ? 0 : description.style === "band" ? 1 : 2, spanGaps: false,
      paths: points ? () => null : description.style === "steps" ? uPlot.paths.stepped({ align: 1 }) : undefined,
      points: { show: points, size: 4, fill: colour, stroke: colour },
      value: (_plot, value) => shown[kind](value),
    };
  }

  function draw(plot, box, width) {
    const { ink, grid, series: palette } = colours();
    const edges = plot.series.map((one, number) => (one.style === "band" ? number + 1 : 0)).filter((number) => number);
    const first = palette[0];
    const options = {
      width, height: Math.max(260, Math.min(420, Math.round(width * 0.42))),
      scales: { x: scale(plot.x.kind, true), y: scale(plot.y.kind, false) },
      axes: [axis(plot.x, ink, grid, true, width), axis(plot.y, ink, grid, false, width)],
      series: [
        { label: plot.x.label, value: (_plot, at) => (plot.x.kind === "percentile" ? finer(at) : at == null ? "-" : shown[plot.x.kind](at)) },
        ...plot.series.map((one, number) => series(one, number, palette, plot.y.kind)),
      ],
      bands: edges.length === 2 ? [{ series: [edges[0], edges[1]], fill: first + "22" }] : [],
      cursor: { drag: { x: true, y: false } },
    };
    return new uPlot(options, [plot.at, ...plot.series.map((one) => one.values)], box);
  }

  function zoom(chart, plot, factor, shift) {
    const { min, max } = chart.scales.x;
    const logarithmic = plot.x.kind === "log_nanoseconds";
    const [to, from] = logarithmic ? [Math.log, Math.exp] : [(value) => value, (value) => value];
    const [low, high] = [to(min), to(max)];
    const middle = (low + high) / 2 + shift * (high - low);
    const half = ((high - low) * factor) / 2;
    const [least, most] = [to(plot.at[0]), to(plot.at[plot.at.length - 1])];
    chart.setScale("x", { min: from(Math.max(least, middle - half)), max: from(Math.min(most, middle + half)) });
  }

  const whole = (chart, plot) => chart.setScale("x", { min: plot.at[0], max: plot.at[plot.at.length - 1] });

  function element(tag, properties, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  plots.forEach((plot) => {
    const box = element("div", { className: "plot", tabIndex: 0 });
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", `${plot.title}. The tables above have the figures. Arrow keys move, plus and minus zoom, Escape shows all.`);
    let chart;
    const button = (text, act) => element("button", { type: "button", textContent: text, onclick: act });
    const controls = element(
      "div", { className: "controls" },
      button("Zoom in", () => zoom(chart, plot, 0.5, 0)), button("Zoom out", () => zoom(chart, plot, 2, 0)),
      button("Show all", () => whole(chart, plot)), element("span", { textContent: "Drag to zoom; click a name to hide it." }),
    );
    const meanings = element("ul", { className: "meanings" });
    plot.series.filter((one) => one.meaning).forEach((one) => meanings.append(element("li", { textContent: `${one.name}: ${one.meaning}` })));
    place.append(element("section", {}, element("h2", { textContent: plot.title }), controls, box, meanings));
    const again = () => {
      if (chart) chart.destroy();
      chart = draw(plot, box, Math.max(280, box.clientWidth - 22));
    };
    again();
    let width = box.clientWidth;
    new ResizeObserver(() => {
      if (box.clientWidth === width) return;
      width = box.clientWidth;
      again();
    }).observe(box);
    dark.addEventListener("change", again);
    box.addEventListener("keydown", (event) => {
      const act = {
        ArrowLeft: () => zoom(chart, plot, 1, -0.2), ArrowRight: () => zoom(chart, plot, 1, 0.2),
        "+": () => zoom(chart, plot, 0.5, 0), "=": () => zoom(chart, plot, 0.5, 0), "-": () => zoom(chart, plot, 2, 0), Escape: () => whole(chart, plot),
      }[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    });
  });
})();
