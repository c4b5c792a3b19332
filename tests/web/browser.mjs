// Opens reports as a person would, from the disk, and uses them. Exit 1 when a check failed. Times are printed, never judged.
import { readFileSync, writeFileSync } from "node:fs";
import { perfettoReads } from "./perfetto.mjs";
import { viewTests } from "./views.mjs";
import { createRequire } from "node:module";

const job = JSON.parse(readFileSync(process.argv[2], "utf8"));
const require = createRequire(job.modules + "/");
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const PATIENCE = 180000; // ms until what never comes is missed: machines that do much else are slow
let checks = 0, failed = 0;
const that = (condition, text) => { checks++; if (!condition) { failed++; console.log("FAILED:", text); } return condition; };

const browser = await chromium.launch({ executablePath: job.browser, args: ["--no-sandbox", "--allow-file-access-from-files"] });

// A page with every request, console message and error held against it.
async function open(name, options = {}) {
  const context = await browser.newContext({ viewport: { width: options.width ?? 1280, height: options.height ?? 900 }, colorScheme: options.dark ? "dark" : "light", reducedMotion: "reduce", permissions: [] });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.on("request", (r) => { if (!r.url().startsWith("file:///") && !r.url().startsWith("data:") && !r.url().startsWith("blob:")) that(false, `${name}: request of ${r.url()}`); });
  page.on("console", (m) => { if (["error", "warning"].includes(m.type())) that(false, `${name}: console: ${m.text()}`); });
  page.on("pageerror", (e) => that(false, `${name}: ${e.message}`));
  const begun = Date.now();
  await page.goto("file://" + job.pages[name] + (options.hash ?? ""));
  await page.waitForFunction(() => document.documentElement.dataset.ready);
  page.opened = Date.now() - begun;
  that(await page.evaluate(() => document.documentElement.dataset.ready) === "1", `${name}: did not start`);
  return page;
}

// A file's table is built when the browser tells that it was opened, a canvas in the next frame.
async function openAll(page) {
  await page.click("text=Open all");
  await page.waitForFunction(() => [...document.querySelectorAll("#lines details.file[open]")].every((n) => n.querySelector("table")));
}
const drawn = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

// What a script writes where it has no value, or a function's own text: never anything to read.
const strange = (page) => page.evaluate(() => {
  const found = [], check = (text, where) => { const at = /\[object|\bundefined\b|\bNaN\b|\d\.\de\+0\d/.exec(text ?? ""); if (at) found.push(`${where}: ${text.slice(Math.max(0, at.index - 60), at.index + 40)}`); };
  for (const node of document.body.querySelectorAll("*")) {
    if (["SCRIPT", "STYLE"].includes(node.tagName)) continue;
    for (const child of node.childNodes) if (child.nodeType === Node.TEXT_NODE) check(child.data, node.tagName);
    for (const { name, value } of node.attributes) check(value, `${node.tagName} ${name}`);
  }
  check(document.title, "title");
  return found;
});

const tabs = (page) => page.$$eval("[role=tab]", (nodes) => nodes.map((n) => n.id.slice(4)));

async function everyPart(name, options = {}) {
  const page = await open(name, options);
  for (const id of await tabs(page)) {
    await page.click("#tab-" + id);
    const panel = page.locator("#" + id);
    that(await panel.isVisible(), `${name}: ${id} is not shown`);
    that((await panel.innerText()).trim().length > 10, `${name}: ${id} is empty`);
    that(await page.locator('[role="alert"]').count() === 0, `${name}: ${id}: ${await page.locator('[role="alert"]').allInnerTexts()}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    that(wide <= 0, `${name}: ${id} is ${wide} px wider than the screen of ${options.width ?? 1280}`);
    for (const text of await strange(page)) that(false, `${name}: ${id} shows ${text}`);
    if (job.pictures) await page.screenshot({ path: `${job.pictures}/${name}${options.dark ? "-dark" : ""}${options.width ? "-" + options.width : ""}-${id}.png` });
  }
  return page;
}

// Contrast is most of axe's time: it is looked at once in either theme.
async function accessible(name, options, rules = {}) {
  const page = await everyPart(name, options);
  await page.evaluate(axe + ";0");
  await page.$$eval("[role=tabpanel]", (parts) => parts.forEach((part) => { part.hidden = false; })); // all that were opened, at once
  const result = await page.evaluate((rules) => axe.run(document, { resultTypes: ["violations"], ...rules }), rules);
  for (const v of result.violations) that(false, `${name}: axe ${v.id}: ${v.nodes[0].html.slice(0, 160)}`);
  that(result.passes.length > (rules.runOnly ? 0 : 5), `${name}: axe looked at nothing`);
  await page.context().close();
}

// Every page and tab, what other tests open aside: no text is what a script writes where it has no value. Also where an operation of the suite or a range is selected.
async function texts() {
  const seen = ["both", "threads", "suite", "compare", "import", "profile", "timing", "lossy", "million", "trace", "crowd", "long"]; // the last four are the example with much of one thing
  const places = [...Object.keys(job.pages).filter((name) => !seen.includes(name)).map((name) => [name, ""]), ["both", "?from=0.5&until=0.9"], ["suite", "?from=0.5&until=0.9"], ["parts", "?range=cone_back_project"]];
  for (const [name, query] of places) {
    const page = await open(name, { hash: query && `#summary${query}` });
    for (const id of await tabs(page)) {
      await page.click("#tab-" + id);
      await drawn(page);
      that(await page.locator('[role="alert"]').count() === 0, `${name}${query}: ${id}: ${await page.locator('[role="alert"]').allInnerTexts()}`);
      for (const text of await strange(page)) that(false, `${name}${query}: ${id} shows ${text}`);
    }
    await page.context().close();
  }
}

const column = (page, table, i) => page.$$eval(`${table} tbody tr`, (rows, i) => rows.map((r) => r.cells[i].innerText), i);

async function tables() {
  const page = await open("both");
  const operations = 'div[role=region][aria-label="operations"] table';
  const heads = await page.$$eval(`${operations} thead th`, (n) => n.map((h) => h.innerText));
  const share = heads.indexOf("Share"), button = page.locator(`${operations} thead th .sort`).nth(share);
  const values = async () => (await column(page, operations, share)).map((t) => parseFloat(t.replace("< ", "")));
  await button.click();
  that(await page.locator(`${operations} thead th`).nth(share).getAttribute("aria-sort") === "descending", "the head does not say how it sorts");
  const down = await values();
  that(down.every((v, i) => i === 0 || v <= down[i - 1]), `not descending: ${down}`);
  await button.press("Enter");
  const up = await values();
  that(up.every((v, i) => i === 0 || v >= up[i - 1]), `not ascending: ${up}`);
  that(Math.abs(down.reduce((a, b) => a + b, 0) - 100) < 5, `shares add up to ${down.reduce((a, b) => a + b, 0)} %`);
  const all = await page.locator(`${operations} tbody tr`).count();
  await page.fill('input[aria-label="Filter operations"]', "cone back");
  const some = await column(page, operations, 0);
  that(some.length > 0 && some.length < all && some.every((t) => t.includes("cone") && t.includes("back")), `filter: ${some}`);
  await page.fill('input[aria-label="Filter operations"]', "");
  that(await page.locator(`${operations} tbody tr`).count() === all, "an empty filter does not show all rows");
  await page.evaluate(() => { window.copied = ""; navigator.clipboard.writeText = (t) => { window.copied = t; return Promise.resolve(); }; });
  await page.click('button[aria-label="Copy as Markdown: operations"]');
  const text = await page.evaluate(() => window.copied);
  await page.click(`${operations} >> text=median_filter3d`);
  that(await page.locator("#scaling").isVisible() && (await page.locator("#scaling select").inputValue()) === "median_filter3d", "an operation does not lead to its growth");
  that(text.split("\n").length === all + 3 && text.startsWith("| Operation |") && text.includes("| --"), `Markdown: ${text.slice(0, 200)}`);
  await page.context().close();
}

async function triage() {
  const page = await open("both");
  await page.click("#tab-triage");
  const verdicts = 'div[role=region][aria-label="verdicts"] table';
  const names = await column(page, verdicts, 0);
  that(names.includes("cone_back_project") && names.includes("median_filter3d"), `verdicts: ${names}`);
  const verdict = await column(page, verdicts, 1);
  that(verdict.length === names.length && verdict.every((v) => ["HIGH", "MEDIUM", "LOW", "NO"].includes(v)), `verdicts: ${verdict}`);
  await page.context().close();
}

async function keyboard() {
  const page = await open("both");
  await page.keyboard.press("Tab");
  that(await page.evaluate(() => document.activeElement.className) === "skip", "the first stop is not the skip link");
  await page.focus("#tab-summary");
  await page.keyboard.press("ArrowRight");
  that(await page.locator("#lines").isVisible() && await page.evaluate(() => document.activeElement.id) === "tab-lines", "ArrowRight does not open the next part");
  await page.keyboard.press("End");
  that(await page.locator("#environment").isVisible(), "End does not open the last part");
  await page.keyboard.press("4");
  that(await page.locator("#flame-graph").isVisible(), "4 does not open the fourth part");
  await page.focus("#flame");
  const detail = () => page.locator("#flame-detail").innerText();
  const root = await detail();
  await page.keyboard.press("ArrowDown");
  const child = await detail();
  that(root.startsWith("all") && child !== root, `flame graph: ${root} then ${child}`);
  that((await page.locator("#live").innerText()).length > 5, "the choice is not said aloud");
  const height = () => page.$eval("#flame", (n) => n.clientHeight);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  that((await detail()) === root && await height() > 20, "Escape does not lead back to the root");
  await page.fill('input[aria-label="Find in flame graph"]', "filter_rows");
  that(/\d %/.test(await page.locator("#flame-found").innerText()), "the search does not sum what it found");
  await page.click("#tab-time");
  await page.focus("#timeline");
  const view = () => page.locator("#timeline-view").innerText();
  await drawn(page);
  const whole = await view();
  await page.keyboard.press("+");
  await drawn(page);
  const near = await view();
  await page.keyboard.press("ArrowRight");
  await drawn(page);
  const moved = await view();
  await page.keyboard.press("0");
  await drawn(page);
  that(whole !== near && near !== moved && (await view()) === whole, `timeline: ${whole} / ${near} / ${moved} / ${await view()}`);
  await page.keyboard.press("Enter");
  that((await page.locator("#live").innerText()).length > 5, "Enter in the timeline says nothing");
  await page.focus("#tab-summary");
  await page.keyboard.press("?");
  that(await page.locator("dialog[open]").count() === 1, "? shows no help");
  await page.keyboard.press("Escape");
  await page.keyboard.press("1");
  await page.focus("#quality summary");
  await page.keyboard.press("Enter");
  that(await page.locator("#quality[open]").count() === 1, "the quality badge does not open by key");
  await page.context().close();
}

// The numbers on the page are those of the files.
async function numbers() {
  const page = await open("both", { hash: "#lines" });
  that(await page.locator("#lines").isVisible(), "#lines in the address does not open the lines");
  await openAll(page);
  const profile = JSON.parse(readFileSync(job.pages.both.replace("report.html", "profile.json"), "utf8"));
  const shown = await page.$$eval("#lines details.file", (nodes) => nodes.map((n) => [n.dataset.path, n.querySelectorAll("tbody tr:not(.context)").length]));
  that(shown.length === Object.keys(profile.files).length, "not every file is listed");
  for (const [path, rows] of shown) that(rows === profile.files[path].lines.length, `${path}: ${rows} rows, ${profile.files[path].lines.length} lines`);
  const share = await page.$$eval("#lines details.file tr:not(.context) .amount", (nodes) => nodes.reduce((a, n) => a + parseFloat(n.innerText), 0));
  const cpu = profile.totals.cpu.user + profile.totals.cpu.sys, lines = Object.values(profile.files).flatMap((f) => f.lines).reduce((a, l) => a + (l.cpu.user || 0) + (l.cpu.sys || 0), 0);
  that(Math.abs(share - (100 * lines) / cpu) < 3, `the lines' shares add up to ${share} %, the profile's to ${(100 * lines) / cpu} %`);
  await page.click("#tab-flame-graph");
  const total = profile.stacks.cpu_ns.reduce((a, b) => a + b, 0) * 1e-9;
  that((await page.locator("#flame-detail").innerText()).includes(Number(total.toPrecision(3)).toString()), `the flame graph does not add up to ${total} s`);
  await page.context().close();
}

// Memory over time, the lines between, what is sorted away, what is not there.
async function lines() {
  const page = await open("both", { hash: "#lines" }), profile = JSON.parse(readFileSync(job.pages.both.replace("report.html", "profile.json"), "utf8"));
  const file = (path) => page.locator(`#lines details.file[data-path="${path}"]`), rows = (path) => file(path).locator("tbody tr");
  await openAll(page);
  const curves = await file("recon.py").locator("svg.curve").evaluateAll((n) => n.map((s) => s.getAttribute("aria-label")));
  that(curves.length === profile.files["recon.py"].lines.filter((l) => l.live_mb.length).length, `${curves.length} curves of memory`);
  that(curves[0] === "memory over time: at most 256 MiB at 188 ms, held from 125 ms to 1.50 s", `curve: ${curves[0]}`);
  that((await file("recon.py").locator("thead").innerText()).includes("memory"), "no memory of lines");
  that(await file("src/tomo.cu").locator("thead >> text=memory").count() === 0, "an empty column stands in the table");
  const around = page.locator("#lines label", { hasText: "Lines" }).locator("select");
  await around.selectOption("all");
  that(await rows("recon.py").count() === profile.files["recon.py"].length, `whole file: ${await rows("recon.py").count()} rows`);
  const texts = await rows("recon.py").evaluateAll((n) => n.map((r) => r.cells[1].innerText.trim()));
  that(texts[0] === "import numpy as np" && texts[4] === "return np.load(path)" && texts[10] === "def main():", `whole file: ${texts}`);
  that(await rows("recon.py").nth(0).getAttribute("class") === "context" && (await rows("recon.py").nth(0).innerText()).split("\n").join("").includes("import"), "a line that cost nothing looks like one that did");
  that((await rows("src/tomo.cu").last().innerText()).includes("1 line, not in this report"), `what is cut is not said: ${await rows("src/tomo.cu").last().innerText()}`);
  await file("recon.py").locator("thead .sort", { hasText: "CPU" }).click();
  that(await rows("recon.py").count() === profile.files["recon.py"].lines.length, "lines that cost nothing are sorted among those that did");
  await around.selectOption("near");
  that(await file("recon.py").getAttribute("open") !== null && await rows("recon.py").count() <= 18, "another view closes the file");
  await page.context().close();
}

// The suite's set-up is not its operations.
async function parts() {
  const page = await open("parts"), text = await page.locator("#summary").innerText();
  that(/Set-up and checks took 8\d % of the traced pass/.test(text), `summary: ${text.slice(0, 600)}`);
  const pane = (line) => page.locator(`.source-lines tr[data-row="${line}"]`).innerText();
  that(/67 %$/.test(await pane(15)) && /33 %$/.test(await pane(14)), `the source pane does not show the operations: ${await pane(15)}, ${await pane(14)}`);
  await page.click("#tab-lines");
  const shown = () => page.$$eval("#lines details.file tbody tr:not(.context)", (n) => n.map((r) => Number(r.cells[0].innerText)));
  that(String(await shown()) === "14,15", `operations: lines ${await shown()}`);
  await page.locator("#lines label", { hasText: "Part" }).locator("select").selectOption("rest");
  that(!(await shown()).includes(15) && (await shown()).includes(8), `set-up: lines ${await shown()}`);
  await page.context().close();
}

// What the first screen says of programs that wait, and of those without line tables.
async function answers() {
  const waiting = await open("waiting"), said = await waiting.locator("main").innerText();
  that(said.startsWith("recon.py:5 return np.load(path) waits for input or output for 6 of the 10 s that the program ran."), `a program that waits: ${said.slice(0, 300)}`);
  const shown = await waiting.$$eval(".first .cards li > p", (n) => n.map((c) => c.innerText.replace(/\s+/g, " ")));
  that(shown.length === 2, `${shown.length} cards`);
  that((await waiting.locator(".first .advice").innerText()).startsWith("Fixing this saves up to 6.00 s of 10.0 s. Read ahead in a thread."), `the advice: ${await waiting.locator(".first .advice").innerText()}`);
  that(shown[0].startsWith("recon.py:8 f = np.fft.rfft(sino, axis=-1)") && shown[1].startsWith("recon.py:1: Importing modules took 1 of 10 s. Saves up to 1.00 s"), `cards: ${shown}`);
  const subject = waiting.locator("#subject");
  that(await subject.innerText() === "python recon.py --slices 128 --out volume.h5 · 10.0 s · 2026-11-28 11:12 UTC" && (await subject.getAttribute("title")).includes("projects/tomography/scripts/recon.py"), `the subject: ${await subject.innerText()}`);
  that((await subject.boundingBox()).height < 30, "the subject takes two lines");
  await waiting.click(".first .cards a >> nth=0");
  that(await waiting.locator("#lines").isVisible() && (await waiting.locator("#lines tr.chosen").innerText()).includes("rfft"), "a card does not lead to its line");
  await waiting.click("#tab-summary");
  that((await waiting.getAttribute("#strip", "aria-label")).includes("CPU 0.24 of 8 cores on average"), `CPUs: ${await waiting.getAttribute("#strip", "aria-label")}`);
  that(/^5\s+return np.load\(path\)\s+63 %/.test(await waiting.locator('.source-lines tr[data-row="5"]').innerText()), `waits and CPU time of the first line: ${await waiting.locator('.source-lines tr[data-row="5"]').innerText()}`);
  that(said.includes("Only 24 CPU samples were taken"), "too few samples are not said");
  await waiting.click("#summary .finding a >> nth=0");
  that(await waiting.locator("#lines").isVisible(), "a finding does not lead to its lines");
  await waiting.context().close();
  const untimed = await open("untimed"), unknown = await untimed.locator("main").innerText();
  that(/Fixing this saves up to \S+ m?s of CPU time\./.test(unknown), `a gain of a run of unknown length: ${unknown.slice(0, 500)}`);
  that(!/[–]|nan|null|undefined/i.test(unknown.split("Findings")[0]), `unknown numbers in sentences: ${unknown.slice(0, 900)}`);
  await untimed.context().close();
  const blind = await open("blind"), profile = JSON.parse(readFileSync(job.pages.blind.replace("report.html", "profile.json"), "utf8"));
  const { stacks, frames } = profile, own = new Map();
  stacks.cpu_ns.forEach((ns, i) => { const name = frames.function[stacks.frame[i]]; own.set(name, (own.get(name) || 0) + ns); });
  const [name, ns] = [...own].sort((a, b) => b[1] - a[1])[0], text = await blind.locator("main").innerText();
  that(text.startsWith("waves (prog) takes 60 % of the CPU time") && text.includes(`${((100 * ns) / 2.4e9).toFixed(0)} %`) && text.includes("100 % of the CPU time has no source line: build with -g"), `${name}, ${ns} ns: ${text.slice(0, 300)}`);
  const complete = await blind.locator("#quality summary").innerText();
  that(complete.includes("! Busy machine the program waited 5 of 10 s for a CPU."), `the badge of a busy machine: ${complete}`);
  that((await column(blind, 'div[role=region][aria-label="top functions"] table', 0))[0] === name, "the dearest function is not in the table");
  await blind.click("#tab-lines");
  that((await blind.locator("#lines").innerText()).includes("Build with -g"), "Lines does not say why it is empty");
  await blind.context().close();
  const suite = await open("timing"), timing = JSON.parse(readFileSync(job.pages.timing.replace("report.html", "timing.json"), "utf8"));
  const size = Math.max(...timing.statistics.map((s) => s.volume_size)), above = timing.statistics.filter((s) => s.volume_size === size && s.median > 0 && s.roof_share > 0).map((s) => [s.median * (1 - s.roof_share), s.operation]).sort((a, b) => b[0] - a[0]);
  that((await suite.locator("#answer").innerText()).startsWith(`At ${size}³, ${above[0][1]} is farthest from this machine's peak`), `the suite's headline: ${await suite.locator("#answer").innerText()}, by roof_share ${above.slice(0, 3)}`);
  that((await suite.locator(".first .cards li").count()) === 2, "the suite has no two cards");
  await suite.click("#summary .operations-strip button >> nth=0");
  that(await suite.locator("#summary svg.plot .ring").count() > 0, "the chosen operation is not marked on the roofline");
  await suite.click("#summary .panes >> text=growth");
  that(await suite.locator("#scaling").isVisible() && (await suite.locator("#scaling select").inputValue()) === timing.statistics.filter((s) => s.volume_size === size).sort((a, b) => b.median - a.median)[0].operation, "the strip does not lead to the operation");
  await suite.context().close();
  const narrow = await open("waiting", { width: 400, hash: "#lines" });
  that(await narrow.$eval("#lines td.source code", (n) => getComputedStyle(n).whiteSpace) === "nowrap", "on a narrow screen indentation takes the place of the source");
  await narrow.context().close();
}

async function themes() {
  const back = (page) => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await open("both"), dark = await open("both", { dark: true });
  const [a, b] = [await back(light), await back(dark)];
  that(a !== b, `light and dark look the same: ${a}`);
  await light.click("#theme");
  await light.click("#theme");
  that((await back(light)) === b, "the button does not lead to the dark theme");
  await light.emulateMedia({ media: "print" });
  await light.evaluate(() => dispatchEvent(new Event("beforeprint")));
  const visible = await light.$$eval("[role=tabpanel]", (n) => n.filter((p) => p.offsetHeight > 0 && p.innerText.length > 10).length);
  that(visible === (await tabs(light)).length, `in print ${visible} parts are visible`);
  that(!(await light.locator("nav").isVisible()), "in print the tabs are still there");
  await light.context().close();
  await dark.context().close();
}

async function hostile() {
  const page = await everyPart("hostile");
  await page.click("#tab-lines");
  await page.locator("#lines label", { hasText: "Lines" }).locator("select").selectOption("all");
  await openAll(page);
  that(await page.evaluate(() => window.hacked) === undefined, "a text of the profile ran as a script");
  that(await page.$$eval("main img, main script, main iframe, main a[href^=javascript], main a[href^=http]", (n) => n.length) === 0, "a text of the profile became an element");
  const text = await page.evaluate(() => document.body.innerText);
  that(text.includes("</script>") && text.includes("\\u202e"), "hostile texts are not shown as text");
  that(!/[\u202e\u0000]/.test(text), "marks that turn the direction of writing are obeyed");
  await page.context().close();
}

async function large() {
  const page = await open("million", { hash: "#time" });
  await page.waitForSelector("#timeline");
  console.log(`1,000,000 events: opened and drawn after ${page.opened} ms`);
  const { times, drawn } = await page.evaluate(() => new Promise((done) => {
    const canvas = document.getElementById("timeline"), out = [];
    canvas.focus();
    let last = performance.now(), i = 0, drawn = 0;
    const step = () => {
      const now = performance.now();
      out.push(now - last);
      last = now;
      drawn = Math.max(drawn, Number(canvas.dataset.drawn));
      if (i++ === 90) return done({ times: out.slice(1), drawn });
      canvas.dispatchEvent(new KeyboardEvent("keydown", { key: i < 30 ? "+" : i < 60 ? "ArrowRight" : "-", bubbles: true }));
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }));
  times.sort((a, b) => a - b);
  console.log(`pan and zoom: median ${times[45].toFixed(1)} ms a frame, longest ${times[89].toFixed(1)} ms`);
  that(drawn > 100 && drawn < 50000, `${drawn} boxes drawn`);
  await page.context().close();
}

// 100,000 functions on 500 threads: the page merges what is small, opens, and follows a drag. Times are printed.
async function crowd() {
  const page = await open("crowd"), size = readFileSync(job.pages.crowd).length;
  that(/Calls below [\d.]+ % of the run are merged in this page; profile.json has all 101,000/.test(await page.evaluate(() => { document.getElementById("tab-flame-graph").click(); return document.getElementById("flame-graph").textContent; })), "the page does not say that calls were merged");
  that((await page.locator("#flame-detail").innerText()).startsWith("all: 1010 s"), `merged calls lost time: ${await page.locator("#flame-detail").innerText()}`);
  await page.click("#tab-summary");
  const box = await page.locator("#strip").boundingBox(), took = [];
  await page.mouse.move(box.x + box.width * 0.4, box.y + 30);
  await page.mouse.down();
  for (let i = 0; i < 8; i++) { await page.mouse.move(box.x + box.width * (0.5 + 0.05 * i), box.y + 30); await drawn(page); took.push(Number(await page.getAttribute("#strip", "data-took"))); }
  await page.mouse.up();
  took.sort((a, b) => a - b);
  console.log(`100,000 functions, 500 threads: ${(size / 1e6).toFixed(2)} MB, opened after ${page.opened} ms, a drag redraws in ${took[4]} ms (median), ${took[7]} ms at most`);
  that(/from=/.test(await page.evaluate("location.hash")), "a drag selects nothing");
  await page.context().close();
}

async function reduced() {
  const page = await open("trace", { hash: "#time" });
  await page.waitForSelector("#timeline");
  console.log(`a trace of 1,000,000 events: opened and drawn after ${page.opened} ms`);
  that(/rows had too many events for one file: events closer than [\d.]+ .s were joined/.test(await page.locator("#time").innerText()), "the page does not say that events were joined");
  const kept = await page.$$eval("#time details tbody tr", (rows) => rows.reduce((a, r) => a + Number(r.cells[2].textContent.replaceAll(",", "")), 0)).catch(() => 0);
  that(kept === 1000000, `the rows hold ${kept} events`);
  await page.context().close();
}

async function damaged() {
  const page = await everyPart("lossy");
  await page.click("#tab-summary");
  that((await page.locator("#quality summary").innerText()).includes("incomplete"), "the badge does not say that data are missing");
  that((await page.locator("#quality summary").innerText()).includes("The machine was busy"), "beside missing data the badge does not say that the machine was busy");
  await page.click("#quality summary");
  const text = await page.locator("#quality").innerText();
  that(text.includes("12 records found no room") && text.includes("interrupted") && text.includes("rows failed"), `quality: ${text.slice(0, 400)}`);
  const rows = await page.$$eval("#summary table", (all) => all.map((t) => t.textContent).find((t) => t.includes("Not measured")) ?? "");
  that(rows.includes("out of memory?") && !rows.includes("killed in the traced pass"), `rows that were not measured: ${rows.slice(0, 400)}`);
  await page.context().close();
  await (await everyPart("old")).context().close();
  const pair = await everyPart("compare"), c = JSON.parse(readFileSync(job.pages.compare.replace("report.html", "compare.json"), "utf8")), sum = (key) => c.stacks.reduce((a, s) => a + s[key], 0);
  await pair.focus("#flame-difference");
  await pair.keyboard.press("ArrowDown");
  await pair.keyboard.press("Escape");
  that((await pair.locator("#compare").innerText()).includes(`all: ${Number(sum("b_s").toPrecision(3))} s (100 % of all), self 0; A ${Number(sum("a_s").toPrecision(3))} s, B `), `the flame graph of the difference, A ${sum("a_s")} s, B ${sum("b_s")} s: ${await pair.locator("#compare .note").allInnerTexts()}`);
  await pair.context().close();
}

// speedscope itself reads its export: it takes a script that hands the file over.
async function speedscope() {
  const profile = readFileSync(job.folder + "/speedscope.json");
  writeFileSync(job.folder + "/speedscope.js", `speedscope.loadFileFromBase64("run.json", ${JSON.stringify(profile.toString("base64"))});`);
  const page = await (await browser.newContext()).newPage();
  const errors = [];
  page.on("pageerror", (e) => errors.push(e.message));
  page.on("dialog", (d) => { errors.push(d.message()); d.dismiss(); });
  await page.goto(`file://${require.resolve("speedscope/package.json").replace("package.json", "dist/release/index.html")}#localProfilePath=${job.folder}/speedscope.js`);
  await page.waitForFunction(() => /CPU time/.test(document.title + document.body.innerText), null, { timeout: PATIENCE }).catch(() => errors.push("it shows no CPU time"));
  that(errors.length === 0, `speedscope: ${errors.join("; ")}`);
  await page.context().close();
}

// As a notebook shows it: in a closed-off frame without an address, further down a page that must not scroll by itself.
async function framed() {
  const report = readFileSync(job.pages.both, "utf8").replace(/&/g, "&amp;").replace(/"/g, "&quot;");
  writeFileSync(job.folder + "/notebook.html", `<!doctype html><title>notebook</title><div style="height:3000px"></div><iframe srcdoc="${report}" sandbox="allow-scripts" style="width:100%;height:800px"></iframe>`);
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(PATIENCE);
  page.on("pageerror", (e) => that(false, `framed: ${e.message}`));
  await page.goto("file://" + job.folder + "/notebook.html");
  const frame = page.frames()[1];
  await frame.waitForFunction(() => document.documentElement.dataset.ready, null, { timeout: PATIENCE, polling: 100 }); // a frame out of sight has no animation frames
  that(await frame.evaluate(() => document.documentElement.dataset.ready) === "1", `framed: ${(await frame.locator("#main").innerText()).slice(0, 200)}`);
  that(await page.evaluate(() => scrollY) === 0, "framed: the page around it scrolled");
  await frame.click("#tab-lines");
  that(await frame.locator("#lines").isVisible(), "framed: a tab does not open");
  await frame.locator("#lines a").first().click();
  that(await frame.locator("#lines table").first().isVisible(), "framed: a link leads away");
  await page.context().close();
}

// What another tool recorded, within the page of the run: totals of both sides as their profiles have them.
async function beside() {
  const page = await open("beside", { hash: "#compare" });
  const c = JSON.parse(readFileSync(job.pages.beside.replace("report.html", "compare.json"), "utf8")), cpu = c.quantities.find((q) => q.name === "CPU time");
  const names = await column(page, 'div[role=region][aria-label="Totals"] table', 0), counts = await column(page, 'div[role=region][aria-label="Totals"] table', 4);
  that(names[0] === "CPU time" && Number(counts[0].replace(/\D/g, "")) === cpu.count_b, `Totals: ${names} ${counts}, ${cpu.count_b} samples`);
  that((await page.locator("#compare").innerText()).includes("Share of the CPU time with callees") && await page.locator("#tab-lines").count() === 1, "the run's own parts or the functions are missing");
  await page.context().close();
}

// Perfetto's own parser reads the Chrome trace and the trace in its own format: no error of its import, and events, times, rows, flows and
// counters are those of profile.json.
const perfettoOfChrome = () => perfetto("chrome.json", (s) => s.rss_mb, 1), perfettoOfItsOwn = () => perfetto("perfetto.json", (s) => [...s.rss_mb, ...s.heap_mb], 1048576);
async function perfetto(file, series, unit) {
  if (!job.perfetto) return;
  const page = await (await browser.newContext()).newPage();
  const ask = await perfettoReads(page, job.perfetto, readFileSync(`${job.folder}/${file}`));
  const errors = await ask("select group_concat(name || '=' || value, '; ') from stats where severity in ('error', 'data_loss') and value != 0");
  that(errors === "", `Perfetto: ${errors}`);
  const profile = JSON.parse(readFileSync(job.pages.both.replace("report.html", "profile.json"), "utf8"));
  const kinds = [...new Set(profile.timeline.map((t) => t.kind))];
  for (const kind of kinds) {
    const tracks = profile.timeline.filter((t) => t.kind === kind), lengths = tracks.flatMap((t) => t.events.length), all = lengths.reduce((a, b) => a + b, 0);
    const [events, ns] = (await ask(`select count(*) || ' ' || ifnull(sum(dur), 0) from slice where category = '${kind}'`)).split(" ").map(Number);
    that(events === lengths.length, `Perfetto sees ${events} events of kind ${kind}, profile.json has ${lengths.length}`);
    that(Math.abs(ns - all) <= events, `Perfetto sees ${ns} ns of kind ${kind}, profile.json has ${all}`); // times are in µs, read as a double
  }
  that(await ask("select cast(count(*) as text) from slice where dur < 0") === "0", "Perfetto: slices that never end");
  const rows = Number(await ask("select cast(count(distinct track_id) as text) from slice"));
  that(rows >= profile.timeline.filter((t) => t.events.start.length).length, `Perfetto sees ${rows} rows`);
  const points = profile.memory.series.flatMap(series).filter((v) => v !== null);
  that(await ask(`select count(*) || ' ' || round(max(value) / ${unit}.0, 1) from counter`) === `${points.length} ${Math.max(...points).toFixed(1)}`, "Perfetto: the memory counter");
  const flows = unit > 1 ? profile.flows.kind.length : 0; // from an instant to a slice that holds the operation's start
  that(await ask("select count(*) || ' ' || ifnull(sum(i.category = 'call' and o.category = 'kernel' and i.ts <= o.ts), 0) from flow join slice o on slice_in = o.id join slice i on slice_out = i.id") === `${flows} ${flows}`, `Perfetto: ${flows} flows`);
  const names = await ask("select group_concat(distinct name) from slice");
  for (const kernel of profile.kernels) that(names.includes(kernel.name), `Perfetto: no slice ${kernel.name}`);
  // A trace that it cannot read must be seen as such.
  const broken = await perfettoReads(page, job.perfetto, Buffer.from('{"traceEvents":[{"ph":"X","ts":"now","pid":1,"tid":1,"name":"x"}, {'));
  that((await broken("select group_concat(name) from stats where severity in ('error', 'data_loss') and value != 0")) !== "", "Perfetto takes what is no trace");
  await page.context().close();
}

for (const test of [() => accessible("both"), () => accessible("both", { dark: true }, { runOnly: ["color-contrast"] }), () => accessible("both", { width: 400 }, { rules: { "color-contrast": { enabled: false } } }), () => accessible("threads", { width: 800 }), () => accessible("suite"), () => accessible("parts", { dark: true, hash: "#summary?range=cone_back_project" }, { runOnly: ["color-contrast"] }), () => accessible("compare"), () => accessible("import"), () => everyPart("profile"), () => everyPart("timing"),
  texts, ...viewTests({ open, openAll, drawn, that, column, job }), tables, triage, keyboard, numbers, lines, parts, answers, themes, hostile, large, crowd, reduced, damaged, framed, beside, speedscope, perfettoOfChrome, perfettoOfItsOwn]) {
  if (job.only && !new RegExp(job.only).test(test.name || String(test))) continue;
  const begun = Date.now();
  try {
    await test();
  } catch (error) {
    that(false, `${test}: ${error.message.split("\n").slice(0, 3).join(" ")}`);
  }
  console.log(`${test.name || String(test).slice(6)} ${Date.now() - begun} ms`);
}
await browser.close();
console.log(`${checks} checks, ${failed} failed`);
process.exit(failed || !checks ? 1 : 0);
