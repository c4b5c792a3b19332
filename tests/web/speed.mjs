// Times how reports open and follow a drag in a headless Chromium, from its own trace. Prints, judges nothing.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const job = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { chromium } = createRequire(job.modules + "/")("playwright-core");
const CATEGORIES = ["toplevel", "blink.user_timing", "devtools.timeline", "disabled-by-default-devtools.timeline", "__metadata"];
const STEPS = 24;

const browser = await chromium.launch({ executablePath: job.browser, args: ["--no-sandbox", "--allow-file-access-from-files"] });
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const least = (values) => Math.min(...values), most = (values) => Math.max(...values);
const ms = (v) => `${v.toFixed(0)} ms`;

// The tasks of the page's main thread, [[begin, end, CPU time], ...] in ms, and the marks that this script set, name -> ms.
function readTrace(buffer) {
  const events = JSON.parse(buffer.toString()).traceEvents, marks = new Map(), by = new Map();
  const mains = new Set(events.filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain").map((e) => `${e.pid}.${e.tid}`));
  for (const e of events) if (e.cat === "blink.user_timing" && e.name.startsWith("speed-")) { marks.set(e.name, e.ts / 1000); by.set("page", `${e.pid}.${e.tid}`); }
  const tasks = events.filter((e) => e.ph === "X" && /RunTask$/.test(e.name) && mains.has(`${e.pid}.${e.tid}`) && `${e.pid}.${e.tid}` === by.get("page")).map((e) => [e.ts / 1000, (e.ts + e.dur) / 1000, (e.tdur ?? e.dur) / 1000]).sort((a, b) => a[0] - b[0] || b[1] - a[1]), outer = [];
  for (const task of tasks) if (!outer.length || task[0] >= outer[outer.length - 1][1]) outer.push(task);
  return { marks, tasks: outer };
}
// CPU time of the tasks between two moments, and of the longest.
const work = (tasks, from, until) => tasks.reduce((a, [b, e, cpu]) => a + (e > b ? (cpu * Math.max(0, Math.min(e, until) - Math.max(b, from))) / (e - b) : 0), 0);
const longest = (tasks, from, until) => tasks.filter(([b, e]) => e > from && b < until).reduce((a, [, , cpu]) => Math.max(a, cpu), 0);

// Presses on the strip and moves over it; {ms of each step from the event to the frame that follows it}.
async function drag(page) {
  const box = await page.locator("#strip").boundingBox();
  if (!box) return null;
  await page.evaluate(() => {
    window.speedSteps = [];
    document.getElementById("strip").addEventListener("pointermove", (e) => {
      const begun = e.timeStamp, frame = () => requestAnimationFrame(() => {
        if (document.getElementById("strip").dataset.took === undefined) { frame(); return; }
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => window.speedSteps.push(performance.now() - begun);
        port2.postMessage(0);
      });
      delete e.currentTarget.dataset.took;
      frame();
    });
  });
  await page.mouse.move(box.x + box.width * 0.4, box.y + 30);
  await page.mouse.down();
  for (let i = 0; i < STEPS; i++) {
    await page.evaluate((i) => performance.mark(`speed-step-${i}`), i);
    const before = await page.evaluate(() => window.speedSteps.length);
    await page.mouse.move(box.x + box.width * (0.45 + (0.5 * i) / STEPS), box.y + 30);
    await page.waitForFunction((n) => window.speedSteps.length > n, before);
  }
  await page.evaluate((i) => performance.mark(`speed-step-${i}`), STEPS);
  await page.mouse.up();
  return page.evaluate(() => window.speedSteps);
}

async function measure(path) {
  const opened = [], busy = [], tasks = [], steps = [], stepWork = [];
  for (let run = 0; run < job.runs; run++) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" }), page = await context.newPage();
    page.setDefaultTimeout(120000);
    await browser.startTracing(page, { categories: CATEGORIES });
    await page.goto("file://" + path);
    await page.waitForFunction(() => document.documentElement.dataset.ready);
    opened.push(await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => { performance.mark("speed-open"); done(performance.getEntriesByName("speed-ready")[0]?.startTime ?? performance.now()); })))));
    const moved = await drag(page);
    const trace = readTrace(await browser.stopTracing()), at = (name) => trace.marks.get("speed-" + name);
    busy.push(work(trace.tasks, 0, at("open")));
    tasks.push(longest(trace.tasks, 0, at("open")));
    if (moved) {
      steps.push(...moved.slice(1));
      for (let i = 1; i < STEPS; i++) stepWork.push(work(trace.tasks, at(`step-${i}`), at(`step-${i + 1}`)));
    }
    await context.close();
  }
  const size = readFileSync(path).length / 1e6;
  console.log(`${path}: ${size.toFixed(2)} MB; opens in ${ms(least(opened))} (least of ${opened.length}; median ${ms(median(opened))}), CPU time of the main thread ${ms(least(busy))}, of its longest task ${ms(least(tasks))}`);
  if (steps.length) console.log(`  a drag: ${ms(median(steps))} from the event to the frame (least ${ms(least(steps))}, most ${ms(most(steps))}), CPU time of the main thread ${ms(median(stepWork))} a step (least ${ms(least(stepWork))})`);
}

for (const path of job.pages) await measure(path);
await browser.close();
