// Takes a picture of a section of a monitor's page, of the last five minutes, after it has drawn what it knows.
// usage: screenshot.js URL FILE SECTION [DELAY]     SECTION: the id of an element; DELAY: whose heat maps, as "forward"
const { chromium } = require("playwright-core");
const { execFileSync } = require("child_process");

async function main([url, file, section, delay]) {
  const executablePath = execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim();
  const args = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
  const browser = await chromium.launch({ executablePath, args: process.getuid() === 0 ? [...args, "--no-sandbox"] : args });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
    const answer = await page.goto(url);
    if (!answer.ok()) throw new Error(`${url}: ${answer.status()}`);
    await page.locator("#range-last").selectOption("300");
    if (delay) await page.locator("#delay-segment").selectOption(delay);
    // the page is live: what it shows comes after it has loaded
    await page.waitForTimeout(5000);
    await page.locator(`#${section}`).screenshot({ path: file });
  } finally {
    await browser.close();
  }
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
