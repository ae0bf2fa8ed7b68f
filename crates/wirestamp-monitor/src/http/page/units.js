// Numbers as people read them, with their units.

const STEPS = [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"]];

// The unit in which a value of so many nanoseconds is shown.
export const unitOf = (nanoseconds) => STEPS.findLast(([size]) => Math.abs(nanoseconds) >= size) || STEPS[0];

function digits(number) {
  const size = Math.abs(number);
  if (size >= 100 || number === 0) return number.toFixed(0);
  return size >= 10 ? number.toFixed(1) : number.toFixed(2);
}

const isUnknown = (value) => value === null || value === undefined;

const places = (number) => (number >= 100 ? 0 : number >= 10 ? 1 : 2);

// A value in as many digits as its error bound gives a meaning to: rounded by a twentieth of it at most, three digits at least.
function printed(nanoseconds, bound) {
  const [size, unit] = unitOf(nanoseconds);
  let decimals = size === 1 ? 0 : places(Math.abs(nanoseconds) / size);
  const step = () => Math.round(size / 10 ** decimals);
  while (step() > 1 && step() * 10 > bound) decimals += 1;
  const text = (nanoseconds / size).toFixed(decimals);
  return { text: `${text} ${unit}`.replace("-", "−"), lost: Math.abs(Math.round(Number(text) * size) - nanoseconds) };
}

export function span(nanoseconds, bound = Infinity) {
  return isUnknown(nanoseconds) ? null : printed(Number(nanoseconds), bound).text;
}

// Of counts of transmit timestamps: how many packets that left have none.
export const missingOfSent = (counts) => Object.values(counts.missing || {}).reduce((total, number) => total + number, 0) - (counts.missing?.not_sent || 0);

const SECOND = 1_000_000_000n;

// Whole seconds beside an integer that may be beyond 2^53, then a text.
export function wholeSeconds(nanoseconds) {
  const exact = BigInt(nanoseconds);
  return (exact + (exact < 0n ? -SECOND : SECOND) / 2n) / SECOND;
}

const isLong = (nanoseconds) => Math.abs(Number(nanoseconds)) >= 2e9;

// Of a value beyond seconds: the nanoseconds beside its whole seconds.
const rest = (nanoseconds) => Number(isLong(nanoseconds) ? BigInt(nanoseconds) - wholeSeconds(nanoseconds) * SECOND : nanoseconds);

export function offset(nanoseconds, bound) {
  if (!isUnknown(nanoseconds) && isLong(nanoseconds)) {
    const whole = wholeSeconds(nanoseconds);
    return `${whole > 0n ? "+" : ""}${whole.toLocaleString("en").replace("-", "−")} s ${offset(rest(nanoseconds), bound).replace(/^(?=\d)/, "+")}`;
  }
  const text = span(nanoseconds, bound);
  return text === null || Number(nanoseconds) <= 0 ? text : `+${text}`;
}

// Three digits that are never less than the value.
function roundedUp(nanoseconds) {
  const step = nanoseconds < 1000 ? 1 : 10 ** (Math.floor(Math.log10(nanoseconds)) - 2);
  const up = Math.ceil(nanoseconds / step) * step;
  const [size, unit] = unitOf(up);
  return `${(up / size).toFixed(size === 1 ? 0 : places(up / size))} ${unit}`;
}

// An error bound, and what is lost where `value` beside it is printed with the digits of the bound `by`: the printed interval
// contains the measured one.
export function bound(nanoseconds, value = null, by = nanoseconds) {
  if (isUnknown(nanoseconds)) return null;
  const lost = isUnknown(value) ? 0 : printed(rest(value), by).lost;
  return `± ${roundedUp(Number(nanoseconds) + lost)}`;
}

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

// Whether the monitor that says `now` was started after it said `before`. Beyond 2^53 nanoseconds the time is a string.
export const isRestarted = (before, now) => Number(now.uptime_ns) < Number(before.uptime_ns);
