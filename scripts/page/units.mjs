// Holds the page's numbers against what they print: an interval that is printed contains the measured one.
// usage: units.mjs UNITS     UNITS: a copy of the page's units.js that ends in .mjs
const { bound, isRestarted, offset, span } = await import(process.argv[2]);

const SIZES = { ns: 1n, µs: 1_000n, ms: 1_000_000n, s: 1_000_000_000n };
const MINUTE = 60_000_000_000;

// "+37 s −1.50 µs" in thousandths of a nanosecond.
function read(text) {
  let sum = 0n;
  for (const [, sign, whole, part, unit] of text.matchAll(/([+−]?)([\d,]+)\.?(\d*) (ns|µs|ms|s)\b/g)) {
    const number = BigInt(whole.replaceAll(",", "") + part) * SIZES[unit] * 1000n / 10n ** BigInt(part.length);
    sum += sign === "−" ? -number : number;
  }
  return sum;
}

let seed = 12345;
const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
const magnitude = (most) => Math.floor(most ** random());

for (let round = 0; round < 200_000; round += 1) {
  const value = (random() < 0.5 ? -1 : 1) * magnitude(1e15);
  const [limit, other] = [magnitude(MINUTE), magnitude(MINUTE)];
  const shown = [read(offset(value, limit)), read(bound(limit, value)), read(bound(other, value, limit))];
  const apart = shown[0] - BigInt(value) * 1000n;
  const lost = apart < 0n ? -apart : apart;
  const isWrong = shown[1] < BigInt(limit) * 1000n + lost || shown[2] < BigInt(other) * 1000n + lost;
  const isRough = lost * 20n > BigInt(Math.ceil(Math.max(limit, Math.abs(value) / 10))) * 1000n;
  if (isWrong || isRough || read(bound(limit)) < BigInt(limit) * 1000n || (Math.abs(value) < 2e9 && read(span(value, limit)) !== shown[0])) {
    console.error(`${value} ± ${limit} (${other}): ${offset(value, limit)} ${bound(limit, value)} (${bound(other, value, limit)})`);
    process.exit(1);
  }
}
console.log("units: 200000 intervals are printed and contain what was measured");

// 104 days, 105 days and 116 days after the start: numbers, then strings of 16 and of 17 digits.
const runs = [8_985_600_000_000_000, "9072000000000000", "10022400000000000"].map((uptime_ns) => ({ uptime_ns }));
for (const [at, now] of runs.entries()) {
  for (const [earlier, before] of runs.entries()) {
    if (isRestarted(before, now) === at < earlier) continue;
    console.error(`after ${before.uptime_ns} ns, ${now.uptime_ns} ns are wrongly ${at < earlier ? "no" : "a"} new run`);
    process.exit(1);
  }
}
if (span("9072000000000000") !== "9072000 s" || bound("9072000000000000") !== "± 9080000 s") {
  console.error(`105 days: ${span("9072000000000000")} ${bound("9072000000000000")}`);
  process.exit(1);
}
console.log("units: times of 105 days are strings, and are read");
