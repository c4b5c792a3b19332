// Takes pictures of report pages and lays them out in sheets, all in one headless Chromium: before on the left, after on the right.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const job = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { chromium } = createRequire(job.modules + "/")("playwright-core");
const SCREENS = [[1280, 800, "light"], [1280, 800, "dark"], [1920, 1080, "light"], [1920, 1080, "dark"]];
const WIDE = 820, HEAD = 26, GAP = 10; // px of a sheet: of one picture, of the words above it, between them

const browser = await chromium.launch({ executablePath: job.browser, args: ["--no-sandbox", "--allow-file-access-from-files"] });

// The first screen of a page, as PNG.
async function picture(path, [width, height, theme]) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: "reduce" }), page = await context.newPage();
  page.setDefaultTimeout(180000);
  await page.goto("file://" + path);
  await page.waitForFunction(() => document.documentElement.dataset.ready);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))));
  const png = await page.screenshot();
  await context.close();
  return png;
}

// Draws the pictures into one, as WebP of the best quality that stays below the limit.
async function sheet({ before, after, out, title }) {
  const cells = [];
  for (const screen of SCREENS) for (const [when, path] of [["before", before], ["after", after]]) cells.push({ words: `${title}, ${when}, ${screen[0]} × ${screen[1]}, ${screen[2]}`, ratio: screen[1] / screen[0], png: (await picture(path, screen)).toString("base64") });
  const page = await browser.newPage();
  const data = await page.evaluate(async ({ cells, WIDE, HEAD, GAP, most }) => {
    const images = await Promise.all(cells.map(async (c) => createImageBitmap(await (await fetch(`data:image/png;base64,${c.png}`)).blob(), { resizeWidth: WIDE, resizeHeight: Math.round(WIDE * c.ratio), resizeQuality: "high" })));
    const canvas = document.createElement("canvas"), g = canvas.getContext("2d");
    canvas.width = 2 * WIDE + GAP;
    canvas.height = images.reduce((a, image, i) => a + (i % 2 ? 0 : image.height + HEAD + GAP), -GAP);
    g.fillStyle = "#ffffff";
    g.fillRect(0, 0, canvas.width, canvas.height);
    g.fillStyle = "#1a1e24";
    g.font = "16px system-ui, sans-serif";
    let y = 0;
    images.forEach((image, i) => {
      const x = (i % 2) * (WIDE + GAP);
      g.fillText(cells[i].words, x + 2, y + HEAD - 8);
      g.drawImage(image, x, y + HEAD);
      if (i % 2) y += image.height + HEAD + GAP;
    });
    for (let quality = 0.9; quality > 0.05; quality -= 0.02) {
      const blob = await new Promise((done) => canvas.toBlob(done, "image/webp", quality));
      if (blob.size > most) continue;
      const bytes = new Uint8Array(await blob.arrayBuffer());
      let text = "";
      for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
      return { quality, base64: btoa(text) };
    }
    return null;
  }, { cells, WIDE, HEAD, GAP, most: job.most });
  await page.close();
  if (!data) throw new Error(`${out}: not below ${job.most} bytes`);
  const bytes = Buffer.from(data.base64, "base64");
  writeFileSync(out, bytes);
  console.log(`${out}: ${bytes.length} bytes, quality ${data.quality.toFixed(2)}`);
}

// Draws one first screen as it is.
async function single({ path, out }) {
  const png = (await picture(path, SCREENS[0])).toString("base64"), page = await browser.newPage();
  const data = await page.evaluate(async (png) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob()), canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", 0.8).split(",")[1];
  }, png);
  await page.close();
  const bytes = Buffer.from(data, "base64");
  writeFileSync(out, bytes);
  console.log(`${out}: ${bytes.length} bytes`);
}

for (const one of job.sheets) await sheet(one);
for (const one of job.singles) await single(one);
await browser.close();
