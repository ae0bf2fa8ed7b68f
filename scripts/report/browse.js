// Opens the reports in FOLDER in headless Chromium and fails on whatever a reader would stumble over.
// usage: browse.js FOLDER
const { chromium } = require("playwright-core");
const { execFileSync } = require("child_process");
const path = require("path");

const folder = path.resolve(process.argv[2]);
const executablePath = execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim();
const quiet = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const sandbox = process.getuid() === 0 ? ["--no-sandbox"] : [];

async function open(browser, file, options) {
  const context = await browser.newContext({ offline: true, ...options });
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && faults.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(`script: ${error}`));
  page.on("dialog", (dialog) => faults.push(`dialog: ${dialog.message()}`) && dialog.dismiss());
  page.on("request", (request) => request.url().startsWith("file:") || faults.push(`request: ${request.url()}`));
  await page.goto(`file://${folder}/${file}`);
  return { context, page, faults };
}

// A number for what is drawn: two pictures of the same plot are equal only if nothing moved.
const drawn = (page) => page.locator(".plot canvas").first().evaluate((canvas) => canvas.toDataURL().length + canvas.toDataURL().slice(-4000));

async function look(browser, name, plots) {
  const faults = [];
  const check = (good, what) => good || faults.push(what);
  for (const [width, colorScheme] of [[800, "light"], [1600, "light"], [1600, "dark"]]) {
    const { context, page, faults: found } = await open(browser, `${name}.html`, { viewport: { width, height: 1000 }, colorScheme });
    check((await page.locator(".plot canvas").count()) === plots, `${width}: not ${plots} plots`);
    const inks = await page.locator(".plot canvas").first().evaluate((canvas) => {
      const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      const colours = new Set();
      for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 200) colours.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
      return colours.size;
    });
    check(inks > 3, `${width} ${colorScheme}: ${inks} colours are drawn`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
    check(!wide, `${width}: the page is wider than the window`);
    const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    check((paper === "rgb(255, 255, 255)") === (colorScheme === "light"), `${colorScheme}: the paper is ${paper}`);
    await page.screenshot({ path: `${folder}/${name}-${width}-${colorScheme}.png`, fullPage: true });
    if (width === 1600 && colorScheme === "light") {
      const whole = await drawn(page);
      const box = await page.locator(".plot .u-over").first().boundingBox();
      await page.mouse.move(box.x + box.width * 0.2, box.y + 50);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.5, box.y + 60, { steps: 4 });
      await page.mouse.up();
      await page.waitForTimeout(100);
      const zoomed = await drawn(page);
      check(zoomed !== whole, "dragging does not zoom");
      await page.locator(".plot").first().focus();
      await page.keyboard.press("Escape");
      await page.waitForTimeout(100);
      const again = await drawn(page);
      check(again !== zoomed, "Escape does not show all again");
      await page.keyboard.press("+");
      await page.waitForTimeout(100);
      check((await drawn(page)) !== again, "plus does not zoom");
      await page.mouse.move(box.x + box.width * 0.4, box.y + 60);
      await page.waitForTimeout(100);
      check(/\d/.test(await page.locator(".u-legend .u-value").first().textContent()), "the cursor shows no value");
    }
    faults.push(...found);
    await context.close();
  }
  const { context, page, faults: found } = await open(browser, `${name}.html`, { viewport: { width: 1000, height: 800 }, javaScriptEnabled: false });
  check(await page.locator("noscript svg, body svg").first().isVisible().catch(() => false), "no picture without scripts");
  faults.push(...found);
  await context.close();
  return faults.map((fault) => `${name}: ${fault}`);
}

async function main() {
  const browser = await chromium.launch({ executablePath, headless: true, args: [...quiet, ...sandbox] });
  const faults = [...(await look(browser, "latency", 2)), ...(await look(browser, "convert", 1)), ...(await look(browser, "ptp", 2)), ...(await look(browser, "hostile", 1))];
  for (const picture of ["latency", "convert", "ptp"]) {
    for (const width of [800, 1600]) {
      const { context, page, faults: found } = await open(browser, `${picture}.svg`, { viewport: { width, height: 900 } });
      await page.screenshot({ path: `${folder}/${picture}-svg-${width}.png` });
      faults.push(...found);
      await context.close();
    }
  }
  await browser.close();
  faults.forEach((fault) => console.error(fault));
  console.log(`reports: 4 in 4 settings each, ${faults.length} faults`);
  process.exitCode = faults.length ? 1 : 0;
}

main();
