// Numbers as people read them, with their units.

const STEPS = [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"]];

// The unit in which a value of so many nanoseconds is shown.
export const unitOf = (nanoseconds) => STEPS.findLast(([size]) => Math.abs(nanoseconds) >= size) || STEPS[0];

function digits(number) {
  const size = Math.abs(number);
  if (size >= 100 || number === 0) return number.toFixed(0);
  return size >= 10 ? number.toFixed(1) : number.toFixed(2);
}

export function span(nanoseconds) {
  if (nanoseconds === null || nanoseconds === undefined) return null;
  const number = Number(nanoseconds);
  const [size, unit] = unitOf(number);
  return `${size === 1 ? number.toFixed(0) : digits(number / size)} ${unit}`.replace("-", "−");
}

// Of counts of transmit timestamps: how many packets that left have none.
export const missingOfSent = (counts) => Object.values(counts.missing || {}).reduce((total, number) => total + number, 0) - (counts.missing?.not_sent || 0);

const SECOND = 1_000_000_000n;

// Whole seconds beside an integer that may be beyond 2^53, then a text.
export function wholeSeconds(nanoseconds) {
  const exact = BigInt(nanoseconds);
  return (exact + (exact < 0n ? -SECOND : SECOND) / 2n) / SECOND;
}

export function offset(nanoseconds) {
  if (nanoseconds !== null && nanoseconds !== undefined && Math.abs(Number(nanoseconds)) >= 2e9) {
    const whole = wholeSeconds(nanoseconds);
    return `${whole > 0n ? "+" : ""}${whole.toLocaleString("en").replace("-", "−")} s ${offset(Number(BigInt(nanoseconds) - whole * SECOND)).replace(/^(?=\d)/, "+")}`;
  }
  const text = span(nanoseconds);
  return text === null || Number(nanoseconds) <= 0 ? text : `+${text}`;
}

export const bound = (nanoseconds) => (nanoseconds === null || nanoseconds === undefined ? null : `± ${span(nanoseconds)}`);

export const ppb = (number) => (number === null || number === undefined ? null : `${number > 0 ? "+" : ""}${digits(number)} ppb`.replace("-", "−"));

export const count = (number) => (number === null || number === undefined ? null : Number(number).toLocaleString("en"));

export function bytes(number) {
  if (number === null || number === undefined) return null;
  const [size, unit] = number >= 1e9 ? [1e9, "GB"] : number >= 1e6 ? [1e6, "MB"] : [1e3, "kB"];
  return `${(number / size).toFixed(1)} ${unit}`;
}

// A time that passes: whole seconds and more.
export function duration(seconds) {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}

// "send_path" and the like as words.
export const words = (name) => String(name).replaceAll("_", " ");

// Reasons that were seen, with their counts.
export function reasons(all, none = "none") {
  const seen = Object.entries(all || {}).filter(([, number]) => number > 0);
  return seen.length ? seen.map(([name, number]) => `${words(name)}: ${count(number)}`).join(", ") : none;
}

// Seconds of Unix time as a time of day, UTC.
export const clockTime = (seconds) => new Date(seconds * 1e3).toISOString().slice(11, 19);
export const dayTime = (seconds) => new Date(seconds * 1e3).toISOString().slice(0, 19).replace("T", " ");
export const seconds = (text) => Date.parse(text) / 1e3;
