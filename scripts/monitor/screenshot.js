// Takes a picture of a monitor's page after it has drawn what it knows. usage: screenshot.js URL FILE
const { chromium } = require("playwright-core");
const { execFileSync } = require("child_process");

async function main([url, file]) {
  const executablePath = execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim();
  const args = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
  const browser = await chromium.launch({ executablePath, args: process.getuid() === 0 ? [...args, "--no-sandbox"] : args });
  try {
    const page = await browser.newPage({ viewport: { width: 1000, height: 900 } });
    const answer = await page.goto(url);
    if (!answer.ok()) throw new Error(`${url}: ${answer.status()}`);
    // the page is live: what it shows comes after it has loaded
    await page.waitForTimeout(4000);
    await page.screenshot({ path: file });
  } finally {
    await browser.close();
  }
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
