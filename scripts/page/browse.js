// Runs a monitor on simulated interfaces, opens its page in headless Chromium, and fails on whatever a reader would stumble over.
// usage: browse.js PROGRAM SCRATCH [FOLDER]     SCRATCH/history: a night of history; FOLDER: for screenshots
const { chromium } = require("playwright-core");
const { execFileSync, spawn } = require("child_process");
const fs = require("fs");
const net = require("net");

const [program, scratch, folder] = process.argv.slice(2);
const executablePath = execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim();
const quiet = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const sandbox = process.getuid() === 0 ? ["--no-sandbox"] : [];
const HOSTILE = "<img src=x onerror=alert(1)>";
const faults = [];
const check = (good, what) => good || faults.push(what);

const stamp = (name, peer, rest = "") => `[[stamp]]\nname = '${name}'\npeer = "${peer}"\ninterface = "sim0"\nclocks = "same"\ninterval = "50ms"\n${rest}`;
const configuration = (port, rest) => `host = "<b>host</b>"
[http]
listen = "127.0.0.1:${port}"
${rest}
[history]
directory = '${scratch}/history'
[reflector]
listen = ["192.0.2.2:862"]
[[path]]
interface = "sim0"
interval = "50ms"
[[ntp]]
server = "192.0.2.9"
${stamp("rack-12", "192.0.2.2")}${stamp(HOSTILE, "192.0.2.2")}${stamp("nobody", "192.0.2.77")}${stamp("broken", "192.0.2.2", "key_file = '/nonexistent/<b>key</b>'\n")}`;

function freePort() {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function start(file) {
  const monitor = spawn(program, ["--sim", "igc", "monitor", "--config", file], { stdio: ["ignore", "pipe", "ignore"] });
  return new Promise((resolve, reject) => {
    monitor.stdout.once("data", () => resolve(monitor));
    monitor.once("exit", (code) => reject(new Error(`the monitor ended with ${code}`)));
  });
}

const ended = (monitor) => new Promise((resolve) => (monitor.once("exit", resolve), monitor.kill("SIGKILL")));

async function open(browser, address, options, mayFail) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const size = `${options.viewport.width} ${options.colorScheme}`;
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && !mayFail && faults.push(`${size}: console: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(`${size}: script: ${error}`));
  page.on("dialog", (dialog) => faults.push(`${size}: dialog: ${dialog.message()}`) && dialog.dismiss());
  await page.route("**", (route) => {
    if (route.request().url().startsWith(address.split("/?")[0])) return route.continue();
    faults.push(`${size}: request: ${route.request().url()}`);
    return route.abort();
  });
  await page.goto(address.includes("?") ? address : `${address}/`);
  return { context, page, size };
}

const shows = (page, selector, text) => page.locator(selector, { hasText: text }).first().waitFor();
const shot = (page, name) => folder && page.screenshot({ path: `${folder}/page-${name}.png`, fullPage: true });

// Different colours of a canvas: axes alone have few.
const inks = (page, selector) => page.locator(selector).first().evaluate((canvas) => {
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const colours = new Set();
  for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 40) colours.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
  return colours.size;
});

// Every control that can be used is reached by Tab, in the order of the page.
async function tabs(page) {
  const wanted = await page.evaluate(() => {
    const all = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")];
    const usable = all.filter((one) => one.checkVisibility());
    usable.forEach((one, at) => (one.dataset.tab = at));
    return usable.length;
  });
  await page.evaluate(() => document.activeElement.blur());
  await page.locator("body").press("Home");
  const reached = [];
  for (let step = 0; step < wanted * 3 && new Set(reached).size < wanted; step += 1) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => document.activeElement?.dataset?.tab ?? null);
    // fields of dates have several parts
    if (at !== null && reached.at(-1) !== Number(at)) reached.push(Number(at));
  }
  check(reached.length === wanted && reached.every((one, at) => one === at), `Tab reaches ${reached.join(" ")} of ${wanted}`);
}

async function look(browser, address, width, colorScheme) {
  const { context, page, size } = await open(browser, address, { viewport: { width, height: 900 }, colorScheme });
  await shows(page, "#delay-table th", "rack-12");
  await page.locator("#clock-plots canvas").nth(2).waitFor();
  await page.locator("#delay-plots canvas").nth(1).waitFor();
  await shows(page, "#metric-list dt", "wirestamp_clock_offset_seconds");
  check((await inks(page, "#clock-plots canvas")) > 4, `${size}: the clocks' plot is empty`);
  await page.waitForFunction(() => [...document.querySelectorAll("#delay-plots .readout")].some((one) => one.textContent.includes("packets")));
  check((await inks(page, "#delay-plots canvas")) > 4, `${size}: the heat map is empty`);
  check(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth), `${size}: the page is wider than the window`);
  const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  check((paper === "rgb(255, 255, 255)") === (colorScheme === "light"), `${size}: the paper is ${paper}`);
  await shows(page, "#glance-word", "Fault");
  await shows(page, ".tile[data-level=fault]", "nobody");
  await shows(page, ".tile[data-level=good]", "rack-12");
  const first = await page.locator("#tiles a").first().boundingBox();
  check(first.y + first.height < 900, `${size}: no value is on the first screen: ${first.y}`);
  await shot(page, `${width}-${colorScheme}`);
  return { context, page };
}

// What comes while the page is open.
async function live(page, monitor) {
  // a reader's place is kept while values are renewed
  await page.locator(".tile", { hasText: "rack-12" }).focus();
  const shown = await page.locator("#state").textContent();
  await page.waitForFunction((old) => document.getElementById("state").textContent.slice(0, 45) !== old.slice(0, 45), shown);
  check(await page.evaluate(() => document.activeElement?.textContent.includes("rack-12")), "the focus of a tile is lost");
  const state = () => page.locator("#state").textContent();
  const before = await state();
  await page.waitForFunction((old) => document.getElementById("state").textContent !== old, before);
  const sent = () => page.locator("#delay-table tr", { hasText: "rack-12" }).locator("td").nth(4).textContent();
  const first = await sent();
  await page.waitForFunction((old) => [...document.querySelectorAll("#delay-table tr")].find((row) => row.textContent.includes("rack-12")).cells[5].textContent !== old, first);
  // a wrong file: the reload is refused with an event, which no answer but the stream brings so soon
  await page.evaluate(() => {
    const fetched = window.fetch;
    window.fetch = (path, ...rest) => (String(path).startsWith("/api/snapshot") ? new Promise(() => {}) : fetched(path, ...rest));
  });
  fs.appendFileSync(`${scratch}/monitor.toml`, "\n[nonsense]\n");
  monitor.kill("SIGHUP");
  await shows(page, "#event-list li", "not reloaded, the old one runs on");
  // a value that no answer renews
  check((await page.locator("#delay-table tr.stale").count()) === 0, "fresh values look stale");
  await page.locator("#delay-table .age").first().evaluate((age) => (age.dataset.since -= 60_000));
  await page.locator("#delay-table tr.stale", { hasText: "(stale)" }).waitFor();
  // nobody looks: no stream is held
  const hide = (hidden) => page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { value, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
  await hide(true);
  await shows(page, "#event-state", "not received now");
  await page.reload();
  await shows(page, "#state", "As of");
  await hide(true);
  await shows(page, "#event-state", "not received now");
  await hide(false);
  await shows(page, "#event-state", "at once");
}

// What was it like at 03:12?
async function past(page) {
  await page.fill("#range-from", "2025-06-15T03:00:00");
  await page.fill("#range-to", "2025-06-15T03:30:00");
  await page.click("#range-show");
  await shows(page, "#event-list li", "the interface is down, it was up <script>alert(1)</script>");
  await shows(page, "#range-state", "03:00:00 to 2025-06-15 03:30:00");
  check(page.url().endsWith("?from=2025-06-15T03:00:00.000Z&to=2025-06-15T03:30:00.000Z"), `the address of 03:12 is ${page.url()}`);
  const plot = page.locator("#clock-plots .plot").first();
  await plot.focus();
  let worst = 0;
  for (let step = 0; step < 60; step += 1) {
    await page.keyboard.press("ArrowLeft");
    const bound = /error bound ± (\d+) µs/.exec(await plot.locator(".readout").textContent());
    worst = Math.max(worst, bound ? Number(bound[1]) : 0);
  }
  await page.mouse.move(0, 0);
  for (let step = 0; step < 130 && worst < 460; step += 1) {
    await page.keyboard.press("ArrowLeft");
    const bound = /error bound ± (\d+) µs/.exec(await plot.locator(".readout").textContent());
    worst = Math.max(worst, bound ? Number(bound[1]) : 0);
  }
  check(worst >= 460, `the bound of 03:12 is ${worst} µs`);
  await shot(page, "0312");
  await page.click("#range-live");
  await page.waitForFunction(() => document.getElementById("range-live").hidden);
  check(page.url().endsWith("?last=900"), `the address of now is ${page.url()}`);
}

// An address says which time is shown; one that is wrong shows now.
async function addressed(browser, address) {
  const { context, page } = await open(browser, `${address}/?from=2025-06-15T03:00:00Z&to=2025-06-15T03:30:00Z`, { viewport: { width: 800, height: 900 }, colorScheme: "light" });
  await shows(page, "#range-state", "03:00:00 to 2025-06-15 03:30:00");
  await shows(page, "#event-list li", "the interface is down, it was up <script>alert(1)</script>");
  check((await page.locator("#range-from").inputValue()).startsWith("2025-06-15T03:00"), "the fields do not have the time that is shown");
  for (const [query, wanted] of [["from=2025-06-15T03:30:00Z&to=2025-06-15T03:00:00Z", "900"], ["from=<b>&to=%00", "900"], ["from=2025-06-15T03:00:00&to=2025-06-15T03:30:00", "900"], ["from=%2B275000-01-01T00:00:00Z&to=%2B275001-01-01T00:00:00Z", "900"], ["last=3600", "3600"], ["last=-1", "900"]]) {
    await page.goto(`${address}/?${query}`);
    await shows(page, "#state", "As of");
    const said = await page.locator("#range-state").textContent();
    check(said.includes("no range of time that is understood") === query.startsWith("from"), `${query}: ${said}`);
    check((await page.inputValue("#range-last")) === wanted, `${query} is not shown as the last ${wanted} s`);
  }
  await context.close();
}

// One of each colour: faults and warnings are taken out of what the monitor says.
async function levels(browser, address) {
  const calm = (all) => Object.assign(all, { tasks: all.tasks.filter((task) => task.state !== "failed"), peers: all.peers.filter((peer) => peer.age_ns !== null), ntp: null, clocks: all.clocks.filter((clock) => clock.kind !== "realtime") });
  const warned = (all) => Object.assign(calm(all), { reflector: Object.assign(all.reflector, { warnings: ["packets of other interfaces are answered, too"] }) });
  const wanted = [["good", calm, "Good"], ["warning", warned, "Warning"], ["fault", (all) => all, "Fault"]];
  for (const colorScheme of ["light", "dark"]) {
    const colours = new Set();
    for (const [level, change, word] of wanted) {
      for (const width of level === "fault" ? [800] : [1440, 800, 390]) {
        const { context, page } = await open(browser, address, { viewport: { width, height: 900 }, colorScheme });
        await page.route("**/api/snapshot", async (route) => route.fulfill({ json: change(await (await route.fetch()).json()) }));
        await shows(page, "#glance-word", word);
        await shows(page, ".tile", "rack-12");
        const [bar, state] = await page.evaluate(() => [getComputedStyle(document.getElementById("glance")).backgroundColor, getComputedStyle(document.getElementById("state")).borderLeftColor]);
        check(bar === state, `${level} ${colorScheme}: the bar is ${bar}, the state beside it ${state}`);
        colours.add(bar);
        if (width === 800) check((await contrast(page, "#glance")) >= 4.5, `${level} ${colorScheme}: the word is hard to read`);
        if (folder) await page.screenshot({ path: `${folder}/level-${level}-${width}-${colorScheme}.png` });
        await context.close();
      }
    }
    check(colours.size === 3, `${colorScheme}: ${[...colours].join("; ")} are not three colours`);
  }
}

// Between an element's text and its ground, as WCAG 2.2 computes it.
const contrast = (page, selector) => page.locator(selector).evaluate((one) => {
  const style = getComputedStyle(one);
  const light = (colour) => {
    const [red, green, blue] = colour.match(/\d+/g).map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [ink, ground] = [light(style.color), light(style.backgroundColor)].sort((less, more) => more - less);
  return (ink + 0.05) / (ground + 0.05);
});

// Nothing that has a name of markup became markup.
async function text(page) {
  check((await page.locator("main img, main b b, h1 b, #event-list script").count()) === 0, "a name became markup");
  check((await page.locator("#host").textContent()) === "<b>host</b>", "the host's name is not shown as it is");
  for (const place of ["#delay-table th", "#delay-plots h3", "#timestamp-table th", "#task-table th"]) await shows(page, place, HOSTILE);
  await shows(page, "#task-table td", "/nonexistent/<b>key</b>");
  await shows(page, "#attention-list li", "Task stamp broken failed");
  const missing = await page.locator("#delay-table tr", { hasText: "nobody" }).locator("td").nth(1).textContent();
  check(missing === "none yet", `a delay that is not known is shown as ${missing}`);
}

async function gone(page, monitor, file) {
  await ended(monitor);
  await shows(page, "#state", "No answer from the monitor for");
  await shows(page, "#glance-word", "No answer");
  check(await page.evaluate(() => document.body.classList.contains("gone")), "values of a monitor that is gone look as before");
  await shot(page, "gone");
  const again = await start(file);
  await shows(page, "#state", "As of");
  await shows(page, "#event-state", "at once");
  return again;
}

async function token(browser) {
  const port = await freePort();
  fs.writeFileSync(`${scratch}/token`, "secret-1\n");
  fs.writeFileSync(`${scratch}/token.toml`, `[http]\nlisten = "127.0.0.1:${port}"\ntoken_file = '${scratch}/token'\n`);
  const monitor = await start(`${scratch}/token.toml`);
  const { context, page } = await open(browser, `http://127.0.0.1:${port}`, { viewport: { width: 800, height: 900 }, colorScheme: "light" }, true);
  for (const [entered, answer, where] of [["wrong", "This is not its token", "#token-fault"], ["secret-1", "As of", "#state"]]) {
    await page.locator("#token").waitFor();
    await page.fill("#token", entered);
    await page.keyboard.press("Enter");
    await shows(page, where, answer);
    await shows(page, "#glance-word", where === "#state" ? "" : "No answer");
  }
  check((await page.locator("#glance-word").textContent()) !== "No answer", "a monitor that answers is said not to");
  await shows(page, "#event-state", "at once");
  await shows(page, "#clock-plots .readout", "error bound");
  await shows(page, "#metric-list dt", "wirestamp_clock");
  await page.reload();
  await shows(page, "#state", "As of");
  await context.close();
  await ended(monitor);
}

async function main() {
  const port = await freePort();
  const [file, address] = [`${scratch}/monitor.toml`, `http://127.0.0.1:${port}`];
  fs.writeFileSync(file, configuration(port, ""));
  let monitor = await start(file);
  const browser = await chromium.launch({ executablePath, headless: true, args: [...quiet, ...sandbox] });
  try {
    for (const [width, colorScheme] of [[390, "light"], [390, "dark"], [800, "dark"], [1440, "dark"]]) {
      await (await look(browser, address, width, colorScheme)).context.close();
    }
    await (await look(browser, address, 800, "light")).context.close();
    const { context, page } = await look(browser, address, 1440, "light");
    await tabs(page);
    await text(page);
    await past(page);
    await addressed(browser, address);
    await levels(browser, address);
    await live(page, monitor);
    await context.close();
    fs.writeFileSync(file, configuration(port, ""));
    const other = await open(browser, address, { viewport: { width: 800, height: 900 }, colorScheme: "light" }, true);
    await shows(other.page, "#state", "As of");
    monitor = await gone(other.page, monitor, file);
    await token(browser);
  } catch (error) {
    faults.push(error.stack);
  } finally {
    await browser.close();
    monitor.kill("SIGKILL");
  }
  faults.forEach((fault) => console.error(fault));
  console.log(`page: 6 settings, ${faults.length} faults`);
  process.exitCode = faults.length ? 1 : 0;
}

main();
