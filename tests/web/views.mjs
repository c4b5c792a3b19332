// What the parts of the page show of threads, calls, lines and colours: against sums made here from the files of the run.
import { readFileSync } from "node:fs";

export function viewTests({ open, openAll, drawn, that, column, job }) {
  const profileOf = (name) => JSON.parse(readFileSync(job.pages[name].replace("report.html", "profile.json"), "utf8"));
  const text = (s) => Number(s.toPrecision(3)).toString();
  const time = (ns) => (ns >= 1e9 ? `${(ns * 1e-9).toPrecision(3)} s` : `${ns >= 1e8 ? Math.round(ns * 1e-6) : (ns * 1e-6).toPrecision(3)} ms`);
  const share = (x) => (100 * x >= 9.95 || x === 0 ? (100 * x).toFixed(0) : (100 * x).toPrecision(2)) + " %";

  // Half the width for source, words told apart, heat, own code first.
  async function source() {
    for (const [name, width] of [["both", 1280], ["threads", 1280], ["parts", 1280], ["both", 800]]) {
      const page = await open(name, { hash: "#lines", width });
      await openAll(page);
      for (const part of await page.$$eval("#lines .file table", (n) => n.map((t) => t.querySelector("th.source").offsetWidth / t.offsetWidth))) that(part >= 0.5, `${name} at ${width}: source has ${part} of the width`);
      await page.context().close();
    }
    const page = await open("threads", { hash: "#lines" }), profile = profileOf("threads");
    const others = Object.values(profile.files).filter((f) => !f.user), rest = others.reduce((a, f) => a + f.cpu_share, 0);
    that((await page.locator("#lines details.others > summary").innerText()).startsWith(`${others.length} other files, ${share(rest)} of CPU time`), `others: ${await page.locator("#lines details.others > summary").innerText()}`);
    that(await page.locator('#lines details.file[data-path^="site-packages"]').count() === 0, "what is not own code is not folded");
    await openAll(page);
    const row = (path, line) => page.locator(`#lines details.file[data-path="${path}"] tr[data-row="${line}"]`);
    const words = (path, line, kind) => row(path, line).locator(`.t-${kind}`).allInnerTexts();
    that(String(await words("recon.py", 5, "keyword")) === "return" && String(await words("recon.py", 8, "number")) === "1" && String(await words("recon.py", 12, "text")) === '"scan.npy"', "Python is not told apart");
    that(String(await words("src/tomo.cu", 1, "keyword")) === "__global__,void,float,const,float", `CUDA: ${await words("src/tomo.cu", 1, "keyword")}`);
    // With the libraries that they call: line 10 of the CUDA file launches 78 % of the GPU's work, line 8 takes 0.9 of 2.4 s, line 13 merely calls.
    for (const [path, line, heat] of [["src/tomo.cu", 10, 8], ["recon.py", 8, Math.round((8 * (0.9 / 2.4)) / (0.51 / 0.65))], ["recon.py", 13, 0]]) that(await row(path, line).getAttribute("class") === `heat-${heat}`, `${path}:${line} is ${await row(path, line).getAttribute("class")}, not heat-${heat}`);
    that((await page.locator('#lines details.file[data-path="recon.py"] > summary').innerText()).includes("with libraries"), "it is not said what a file takes with libraries");
    const back = (path, line) => row(path, line).locator("td.source").evaluate((n) => getComputedStyle(n).backgroundColor);
    that(await back("recon.py", 8) !== await back("recon.py", 9) && await back("recon.py", 9) !== await back("recon.py", 13), "heat is not seen");
    await page.context().close();
    const long = await open("long", { hash: "#lines/long.py:99950" });
    console.log(`100,000 lines: opened at one of them after ${long.opened} ms`);
    that((await long.locator("#lines tr.chosen").innerText()).includes("x = 99950"), "a line far down is not shown");
    await long.locator("#lines label", { hasText: "Lines" }).locator("select").selectOption("all");
    const begun = Date.now();
    await long.evaluate(() => { location.hash = "#lines/long.py:2"; });
    await long.waitForSelector('#lines tr.chosen[data-row="2"]');
    console.log(`100,000 lines: whole file, and another line, after ${Date.now() - begun} ms`);
    that(String(await long.locator('#lines tr[data-row="2"] td.source code').innerHTML()) === '<span class="t-text">def return 1</span>', "a text over several lines is taken for code");
    await long.context().close();
  }

  // Addresses of lines, from a line to the flame graph and back, what is said of a line.
  async function links() {
    const page = await open("threads", { hash: "#lines/recon.py:9" }), profile = profileOf("threads");
    that((await page.locator("#lines tr.chosen").innerText()).includes("irfft"), "the address of a line does not lead to it");
    const line = profile.files["recon.py"].lines.find((l) => l.line === 9), facts = await page.locator("#lines tr.detail").innerText();
    for (const want of [`host copies ${text(line.copy.host_mb)} MiB`, `on worker 4712 ${time(240e6)}`, `CPU samples ${line.cpu.samples}`]) that(facts.replace(/\s+/g, " ").includes(want), `${want} is not in: ${facts}`);
    await page.evaluate(() => { window.copied = ""; navigator.clipboard.writeText = (t) => { window.copied = t; return Promise.resolve(); }; });
    await page.click("#lines tr.detail >> text=Copy link");
    const link = await page.evaluate(() => window.copied);
    that(link.startsWith("file://") && link.endsWith("report.html#lines/recon.py:9"), `copied: ${link}`);
    await page.click('#lines tr.detail >> text="Flame graph"');
    const detail = () => page.locator("#flame-detail").innerText();
    that((await detail()).startsWith("filter_rows") && (await detail()).includes("recon.py"), `the line in the flame graph: ${await detail()}`);
    const at9 = profile.stacks.frame.reduce((a, f, i) => a + (profile.frames.file[f] === "recon.py" && profile.frames.line[f] === 9 ? profile.stacks.cpu_ns[i] : 0), 0);
    that((await page.locator("#flame-found").innerText()).length > 0 && at9 === 600e6, `nothing is found for the line (${at9} ns)`);
    await page.focus("#flame");
    await page.keyboard.press("o");
    that(await page.locator("#lines tr.chosen").count() === 1 && /#lines\/recon\.py:[89]$/.test(page.url()), `o does not lead back to a line: ${page.url()}`);
    await page.goBack();
    that(await page.locator("#flame-graph").isVisible(), "the browser's Back does not lead back");
    await page.evaluate(() => { location.hash = "#lines/site-packages/numpy/__init__.py:1"; });
    that((await page.locator("#lines tr.chosen").innerText()).includes("import core") && await page.locator("#lines details.others[open]").count() === 1, "a line of folded files is not shown");
    await page.evaluate(() => { location.hash = "#lines/recon.py:1"; });
    that((await page.locator("#lines tr.chosen").innerText()).includes("import numpy"), "a line that cost nothing has no address");
    await page.evaluate(() => { location.hash = "#lines/%"; });
    that((await page.locator("#live").innerText()).includes("not in this report"), "a damaged address is not answered");
    await page.context().close();
  }

  // One choice of process and thread for lines, calls, flame graph and timeline.
  async function filters() {
    const page = await open("threads", { hash: "#lines" }), profile = profileOf("threads");
    const menu = (label) => page.locator(".filter label", { hasText: label }).locator("select");
    const shown = async () => { await openAll(page); return Object.fromEntries(await page.$$eval("#lines details.file", (n) => n.flatMap((f) => [...f.querySelectorAll("tr[data-row]:not(.context)")].map((r) => [`${f.dataset.path}:${r.dataset.row}`, r.querySelector(".amount")?.innerText ?? ""])))); };
    await page.click("text=% of total");
    await menu("Thread").selectOption("1");
    that(JSON.stringify(await shown()) === '{"recon.py:9":"240 ms"}', `lines of the worker: ${JSON.stringify(await shown())}`);
    await page.click("#tab-flame-graph");
    that((await page.locator("#flame-detail").innerText()).startsWith("all: 240 ms"), `flame graph of the worker: ${await page.locator("#flame-detail").innerText()}`);
    await page.click("#tab-calls");
    that((await column(page, "#calls table.tree", 1))[0] === "240 ms", "the calls are not those of the worker");
    await page.click("#tab-time");
    const rows = async () => { await drawn(page); return (await page.locator("#timeline").getAttribute("data-rows")).split("\n"); };
    that(String(await rows()) === "back_project (recon.py 4711),worker 4712", `rows of the worker: ${await rows()}`);
    await page.getByRole("button", { name: "Whole run", exact: true }).click();
    await menu("Process").selectOption("1");
    that(String((await rows()).filter((r) => r.endsWith(" 4720"))) === "recon.py 4720,python3 4720" && !(await rows()).some((r) => r.includes("worker")), `rows of the second process: ${await rows()}`);
    await page.click("#tab-lines");
    that(JSON.stringify(await shown()) === '{"recon.py:8":"300 ms"}', `lines of the second process: ${JSON.stringify(await shown())}`);
    await menu("Process").selectOption("");
    that(Object.keys(await shown()).length === Object.values(profile.files).reduce((a, f) => a + f.lines.length, 0), "not all lines come back");
    await page.context().close();
  }

  // Callers and callees, inclusive and self, as the stacks have them.
  async function calls() {
    const page = await open("threads", { hash: "#calls/filter_rows" }), profile = profileOf("threads"), { stacks, frames } = profile;
    let incl = 0;
    const callers = {};
    stacks.cpu_ns.forEach((ns, i) => {
      const chain = [];
      for (let s = i; s !== null; s = stacks.parent[s]) chain.unshift(frames.function[stacks.frame[s]]);
      const at = chain.indexOf("filter_rows");
      if (at < 0) return;
      incl += ns;
      callers[chain[at - 1]] = (callers[chain[at - 1]] || 0) + ns;
    });
    const one = page.locator("#calls-one"), said = await one.innerText();
    that(said.includes(`Inclusive ${time(incl)}`), `filter_rows takes ${incl} ns: ${said}`);
    const table = async (name) => page.$$eval(`#calls-one div[aria-label="${name}"] tbody tr`, (rows) => rows.map((r) => [...r.cells].map((c) => c.innerText)));
    const of = await table("callers");
    that(of.length === Object.keys(callers).length, `callers: ${of}`);
    for (const [name, part, ns] of of) that(time(callers[name]) === ns && share(callers[name] / incl) === part, `caller ${name}: ${part}, ${ns}; the stacks have ${callers[name]} of ${incl}`);
    that((await table("callees")).length === 1 && (await table("callees"))[0][0] === "(itself)", `callees: ${await table("callees")}`);
    await one.locator("button", { hasText: "main" }).click();
    that(/filter_rows/.test((await table("callees")).map((r) => r[0])) && (await one.innerText()).includes("Callers and callees of main"), "a caller cannot be chosen");
    const sum = (await table("callees")).reduce((a, r) => a + parseFloat(r[1]), 0);
    that(Math.abs(sum - 100) <= 2, `callees and itself are ${sum} %`);
    const names = async () => column(page, "#calls table.tree", 0);
    that((await names()).some((n) => n.includes("imports")) && !(await names()).some((n) => /_find_and_load|_start|Py_RunMain|__Pyx/.test(n)), `imports, start-up and glue are not folded: ${await names()}`);
    await page.locator("#calls label", { hasText: "Weight" }).locator("select").selectOption("wait_ns");
    for (let n = 0, closed; n < 20 && await (closed = page.locator('#calls table.tree button[aria-expanded="false"]')).count(); n++) await closed.first().click();
    that((await names()).some((n) => n.includes("h5py._selector.Reader.read")) && !(await names()).some((n) => /__pyx|__Pyx/.test(n)), `Cython's wrappers are not folded, or its names not read: ${await names()}`);
    await page.locator("#calls label", { hasText: "Weight" }).locator("select").selectOption("cpu_ns");
    await page.click("#calls >> text=Fold start-up");
    const button = page.locator('#calls table.tree button[aria-label="Calls of _find_and_load"]');
    that(await button.count() === 1, `imports do not unfold: ${await names()}`);
    await button.press("Enter");
    that((await names()).filter((n) => n.includes("<module>")).length === 2 && await page.evaluate(() => document.activeElement.getAttribute("aria-expanded")) === "true", "a call does not open by key");
    await page.click("#tab-flame-graph");
    const pixels = () => page.$eval("#flame", (c) => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => { const k = new OffscreenCanvas(1, c.height).getContext("2d", { willReadFrequently: true }); k.drawImage(c, -(c.width >> 1), 0); const d = k.getImageData(0, 0, 1, c.height).data; const out = []; for (let i = 0; i < d.length; i += 4) out.push([d[i], d[i + 1], d[i + 2]].join()); done(out); }))));
    const before = await pixels();
    await page.fill('#flame-graph input[type="search"]', "no such function");
    const dim = await pixels();
    that(before.length === dim.length && before.filter((c, i) => c !== dim[i]).length > before.length / 3, "what is not found is not dimmed");
    await page.context().close();
  }

  // Rows by process, quiet ones folded, Python's frames for waits.
  async function rows() {
    const page = await open("threads", { hash: "#time" });
    const names = async () => { await drawn(page); return (await page.locator("#timeline").getAttribute("data-rows")).split("\n"); };
    const first = await names();
    that(String(first) === "back_project (recon.py 4711),python3 4711,python3 4711 · ranges,worker 4712,GPU 0: NVIDIA GeForce RTX 4090,stream 7 · kernels,stream 7 · copies,recon.py 4720,python3 4720", `rows: ${first}`);
    await page.click("#timeline-quiet");
    that((await names()).includes("idle 4713"), "the quiet row does not come");
    await page.click("#timeline-quiet");
    await page.focus("#timeline");
    for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    const said = await page.locator("#live").innerText();
    that(said.startsWith("worker 4712. waits: ") && said.includes("main (recon.py:12), in __futex_abstimed_wait_common"), `a wait in a futex: ${said}`);
    for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    that((await names()).length === first.length - 3, `Enter does not fold the process: ${await names()}`);
    await page.keyboard.press("Enter");
    await drawn(page);
    const box = await page.locator("#timeline").boundingBox(), left = Math.min(280, box.width * 0.32);
    await page.mouse.click(box.x + left + 0.5 * (box.width - left), box.y + 20 + 3.5 * 22);
    that(page.url().includes("#lines/recon.py:12") && (await page.locator("#lines tr.chosen").innerText()).includes("scan.npy"), `a click on a wait does not open its line: ${page.url()}`);
    await page.context().close();
  }

  // Everything is found, and opened, by keys alone.
  async function searches() {
    const page = await open("both");
    const look = async (words) => { await page.keyboard.press("/"); await page.keyboard.type(words); return page.locator("#found li").allInnerTexts(); };
    const found = await look("rfft(sino");
    that(found.length === 1 && found[0].includes("recon.py:8") && found[0].startsWith("line"), `a line's text: ${found}`);
    await page.keyboard.press("Enter");
    that((await page.locator("#lines tr.chosen").innerText()).includes("rfft"), "a line that was found does not open");
    that(await page.evaluate(() => !!document.activeElement.closest("#lines tr.chosen")), "a line that was found has not the focus");
    for (const [words, kind, part] of [["back_project_kernel", "kernel", "#kernels tr.chosen"], ["pageable memory", "finding", "#finding-0:focus"], ["filter_rows", "function", "#calls-one:has-text('filter_rows')"], ["back_project", "range", "#ranges tr.chosen"], ["cone_mbir_recon", "operation", "#scaling"], ["roofline", "part", "#roofline"]]) {
      await look(words);
      const kinds = await page.locator("#found .kind").allInnerTexts(), at = kinds.indexOf(kind);
      that(at >= 0, `${words}: no ${kind} in ${kinds}`);
      for (let i = 0; i < at; i++) await page.keyboard.press("ArrowDown");
      that(await page.locator(`#found-${at}[aria-selected="true"]`).count() === 1 && await page.getAttribute(".find input", "aria-activedescendant") === `found-${at}`, `${words}: the arrow keys do not choose`);
      await page.keyboard.press("Enter");
      that(await page.locator(part).first().isVisible(), `${words}: ${kind} does not open`);
      that(await page.evaluate(() => !!document.activeElement.closest('[role="tabpanel"]')), `${words}: the focus is not where ${kind} opened`);
    }
    await page.keyboard.press("Home");
    const bare = await page.evaluate(() => { // before the next frame of the screen: paper does not wait for it
      dispatchEvent(new Event("beforeprint"));
      return [...document.querySelectorAll("canvas")].map((c) => {
        const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, colours = new Set();
        for (let i = 0; i < d.length; i += 4) colours.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
        return [c.id, colours.size];
      });
    });
    that(bare.length >= 2 && bare.every(([, n]) => n > 2), `on paper, canvases have these numbers of colours: ${JSON.stringify(bare)}`);
    const shown = () => page.locator('[role="tabpanel"]:visible').count(), above = () => page.locator("#answer:visible, #strip:visible").count();
    that(await shown() > 5, "paper has one part alone");
    that(await above() === 2, "paper has not the sentence and the run over time");
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    that(await shown() === 1, "after printing, more than one part is shown");
    that(await above() === 0, "after printing from another part, the sentence or the run over time stay");
    await look("no such thing at all");
    that((await page.locator(".find [role=status]").innerText()) === "0 found", "it is not said that nothing was found");
    await page.keyboard.press("Escape");
    that(await page.locator("dialog[open]").count() === 0, "Escape does not close the search");
    await page.context().close();
  }

  // A name of C++ is short where it is drawn or listed, and whole under the pointer.
  async function names() {
    const page = await open("waiting", { hash: "#time" }), whole = "std::vector<float, std::allocator<float>>&, int)";
    await drawn(page);
    const labels = (await page.getAttribute("#timeline", "data-rows")).split("\n"), box = await page.locator("#timeline").boundingBox(), left = Math.min(280, box.width * 0.32);
    const row = labels.indexOf("python3 4711"), total = Number(/ of ([\d.]+) s$/.exec(await page.locator("#timeline-view").innerText())[1]);
    await page.mouse.move(box.x + left + (1.7 / total) * (box.width - left), box.y + 20 + (row + 0.5) * 22); // the wait from 1.5 to 1.9 s
    const tip = await page.locator(".tip").innerText();
    that(tip.startsWith("waits: ") && tip.includes(whole), `a wait under the pointer: ${tip}; rows ${labels}`);
    await page.click("#tab-calls");
    const listed = page.locator("#calls button.plain", { hasText: "back_project<…>" }).first();
    that((await listed.innerText()).length < 60 && (await listed.getAttribute("title")).includes(whole), `a name among the calls: ${await listed.innerText()}`);
    await listed.click();
    that((await page.locator("#calls-one h2 [title]").getAttribute("title")).includes(whole), "the chosen function has no whole name");
    await page.click("#tab-flame-graph");
    const compared = await open("compare"), told = (await compared.locator("body").innerText()).split("A: ").length - 1;
    that(told === 1, `a comparison names its sides ${told} times`);
    await compared.context().close();
    for (const width of [1280, 1920]) {
      await page.setViewportSize({ width, height: 800 });
      await page.click("#tab-files");
      const hidden = await page.$$eval("#files .scroll", (n) => n.map((x) => x.scrollWidth - x.clientWidth));
      that(hidden.length > 1 && hidden.every((w) => w <= 0), `columns of Files lie outside of the screen of ${width}: ${hidden} px`);
      await page.click("#tab-flame-graph");
      const heights = await page.$$eval("#flame-graph > .tools", (n) => n.map((x) => x.getBoundingClientRect().height));
      that(heights[0] < 40, `the flame graph's controls take ${heights[0]} px at ${width}`);
    }
    await page.context().close();
  }

  // A colour means the same wherever it is named.
  async function colours() {
    const allowed = { k0: ["native code", "median"], k1: ["Python"], k2: ["GPU kernels"], k3: ["memory", "memory over the run"], k4: ["GPU copies and memsets"], k5: ["system", "system (the kernel)"], k6: ["NVTX ranges"], k7: ["waiting", "waiting for a CPU"], k8: ["waiting for a disk"], k9: ["in CUDA calls", "host waits while the GPU is idle"], knone: ["host only"] };
    const seen = new Set();
    for (const name of ["both", "threads"]) {
      const page = await open(name);
      await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
      for (const [kind, words] of await page.$$eval("ul.legend i[class^=k]", (n) => n.map((i) => [i.className, i.parentElement.textContent.replace(/ [\d.]+ [a-zµ]*s · .*$/, "")]))) {
        seen.add(kind);
        that(allowed[kind]?.includes(words), `${name}: ${kind} is named ${words}`);
      }
      await page.context().close();
    }
    that(seen.size >= 10, `colours that are named: ${[...seen]}`);
  }

  // Occupancy beside the time; memory added; dots with names; verdicts alone.
  async function charts() {
    const page = await open("both", { hash: "#kernels" }), profile = profileOf("both");
    const heads = await page.$$eval('#kernels div[aria-label="kernels"] thead th', (n) => n.map((h) => h.innerText));
    const cells = await page.$$eval('#kernels div[aria-label="kernels"] tbody tr:first-child td', (n) => n.map((c) => c.innerText));
    const kernel = profile.kernels[0].variants[0];
    that(cells[heads.indexOf("Occupancy")] === `${100 * kernel.occupancy} %` && cells[heads.indexOf("Limited by")] === kernel.limiter, `kernels: ${heads} ${cells}`);
    await page.click("#tab-locks");
    const lock = profile.locks[0], row = await page.$$eval('#locks div[aria-label="locks"] tbody tr:first-child td', (n) => n.map((c) => c.innerText));
    that(row[0] === `${lock.file}:${lock.line}` && row[1] === (lock.kind === "gil" ? "GIL" : lock.kind) && row[2] === time(lock.wait_s * 1e9) && row[7] === `${lock.holders[0].file}:${lock.holders[0].line} ${share(lock.holders[0].share)}; unknown (1)`, `locks: ${row}`);
    const locked = await page.locator("#locks").innerText();
    that(locked.split(lock.reason).length === 2 && locked.includes(`(1) ${lock.reason}.`), `the reason is not said once: ${locked}`);
    await page.click("#tab-causes");
    const told = JSON.parse(readFileSync(job.pages.both.replace("report.html", "rootcause.json"), "utf8")), said = await page.locator("#causes").innerText();
    that(told.causes.length > 0 && [...told.causes.flatMap((c) => [c.statement, c.evidence, c.refuted_by, c.test]), ...told.actions.map((a) => a.text), ...told.questions, "not known", told.summary].every((t) => said.includes(t.replaceAll("`", ""))), `root causes: ${said}`);
    that(await page.locator('#causes div[aria-label="actions"] tbody tr').count() === told.actions.length && await page.locator('#causes div[aria-label="evidence"] tbody tr').count() === told.evidence.length, "actions or evidence of the root causes lack rows");
    await page.click("#tab-roofline");
    const dots = await page.$$eval("#roofline svg.plot circle", (n) => n.length), labels = await page.$$eval("#roofline .dot-label", (n) => n.map((t) => t.textContent)), timing = JSON.parse(readFileSync(job.pages.both.replace("report.html", "timing.json"), "utf8"));
    const named = new Set(timing.statistics.filter((s) => s.gflops > 0 && s.gbytes_per_s > 0).map((s) => s.operation));
    that(dots > labels.length && labels.length === named.size && labels.every((l) => named.has(l)), `${labels.length} of ${named.size} operations are named in the roofline`);
    await page.click("#tab-triage");
    that(await page.locator("#triage table").count() === 1 && await page.locator("#triage svg, #triage details").count() === 0 && (await page.locator("#triage").innerText()).includes("triage.md"), "the FPGA part is more than its verdicts");
    await page.context().close();
    const two = await open("threads", { hash: "#memory" });
    that((await two.locator("#memory .legend").first().innerText()).includes("all processes together, at most 1.05 GiB"), `memory of both processes: ${await two.locator("#memory .legend").first().innerText()}`); // 780 and 300 MiB at 1.5 s
    await two.emulateMedia({ media: "print" });
    await two.setViewportSize({ width: 800, height: 900 });
    await two.evaluate(() => dispatchEvent(new Event("beforeprint")));
    const wide = await two.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    that(wide <= 0, `in print something is ${wide} px wider than the paper`);
    that((await two.locator("#lines tbody").first().innerText()).includes("back_project_kernel<<<"), "in print there is no source");
    await two.context().close();
    const suite = await open("suite", { width: 800 });
    await suite.emulateMedia({ media: "print" });
    await suite.evaluate(() => dispatchEvent(new Event("beforeprint")));
    const wider = await suite.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    that(wider <= 0, `in print the suite is ${wider} px wider than the paper`);
    await suite.context().close();
  }

  // Each part of the time of a line that reads has a column with the number of the profile.
  async function reads() {
    const page = await open("threads", { hash: "#files" }), line = profileOf("threads").io.reading[0];
    const heads = await page.$$eval('#files div[aria-label="reading"] thead th', (n) => n.map((h) => h.innerText));
    const cells = await page.$$eval('#files div[aria-label="reading"] tbody tr', (n) => n.map((r) => [...r.cells].map((c) => c.innerText)));
    const parts = { Storage: "storage_s", "No CPU": "ready_s", Network: "network_s", "Page cache": "copy_s", Decoding: "decode_s", Conversion: "convert_s", Placing: "place_s", "Other CPU": "other_s" };
    that(cells.length === 1 && cells[0][0] === `${line.file}:${line.line}`, `lines that read: ${cells}`);
    for (const [head, key] of Object.entries(parts)) that(cells[0][heads.indexOf(head)] === (line[key] ? time(line[key] * 1e9) : "0"), `${head}: ${cells[0][heads.indexOf(head)]}, the profile has ${line[key]} s`);
    await page.context().close();
  }
  // The axis of the timeline has no two labels alike, however far it is zoomed; of the strip and the timeline all are in one unit.
  async function ticks() {
    const page = await open("threads", { hash: "#time" });
    await page.focus("#timeline");
    for (let i = 0; i < 24; i++) {
      await drawn(page);
      const labels = (await page.locator("#timeline").getAttribute("data-ticks")).split("\n");
      that(labels.length >= 3 && new Set(labels).size === labels.length, `zoomed ${i} times: ${labels}`);
      await page.keyboard.press(i % 3 ? "+" : "ArrowRight");
      await page.keyboard.press("+");
    }
    await page.context().close();
  }

  // A selected range of time filters lines, flame graph and calls, and is part of the address. Sums are made here from the events of the profile.
  async function ranges() {
    const profile = profileOf("threads"), { stacks, frames } = profile, [from, until] = [0.2e9, 0.5e9], sums = {};
    let all = 0;
    for (const t of profile.timeline.filter((x) => x.kind === "cpu")) {
      let start = 0;
      t.events.start.forEach((step, i) => {
        start += step;
        const part = Math.max(0, Math.min(until, start + t.events.length[i]) - Math.max(from, start)) * (t.events.busy[i] / t.events.length[i]);
        if (!(part > 0)) return;
        let s = t.events.what[i];
        while (s !== null && !profile.files[frames.file[stacks.frame[s]]]?.user) s = stacks.parent[s];
        if (s === null) { all += part; return; }
        const at = `${frames.file[stacks.frame[s]]}:${frames.line[stacks.frame[s]]}`;
        sums[at] = (sums[at] || 0) + part;
        all += part;
      });
    }
    that(Object.keys(sums).length >= 2 && all > 0.3e9, `the example has too little in the range: ${JSON.stringify(sums)}`);
    const shown = async (page) => { await openAll(page); return Object.fromEntries((await page.$$eval("#lines details.file", (n) => n.flatMap((f) => [...f.querySelectorAll("tr[data-row]:not(.context)")].map((r) => [`${f.dataset.path}:${r.dataset.row}`, r.querySelector(".amount")?.innerText ?? ""])))).filter(([, v]) => v && v !== "–")); };
    const expected = JSON.stringify(Object.entries(sums).map(([k, v]) => [k, time(v)]).sort());
    const page = await open("threads", { hash: "#lines?from=0.2&until=0.5" });
    await page.click("text=% of total");
    const lines = async (p) => JSON.stringify(Object.entries(await shown(p)).sort());
    that(await lines(page) === expected, `lines of the range: ${await lines(page)}, the events have ${expected}`);
    await page.click("#tab-flame-graph");
    that(page.url().includes("#flame-graph?from=0.2&until=0.5"), `the range is not in the address: ${page.url()}`);
    that((await page.locator("#flame-detail").innerText()).startsWith(`all: ${time(all)}`), `flame graph of the range: ${await page.locator("#flame-detail").innerText()}, the events have ${time(all)}`);
    await page.click("#tab-time");
    await drawn(page);
    that((await page.locator("#timeline-view").innerText()).startsWith("200 to 500 ms"), `the timeline does not show the range: ${await page.locator("#timeline-view").innerText()}`);
    await page.click("#tab-memory");
    that((await page.locator("#memory").innerText()).includes("Most that lines held from 200 to 500 ms"), "memory does not follow the range");
    await page.focus("#strip");
    await page.keyboard.press("ArrowRight");
    that(/from=0\.26&until=0\.56/.test(page.url()), `an arrow key does not move the range: ${page.url()}`);
    await page.keyboard.press("Escape");
    that(!page.url().includes("from="), `Escape does not select the whole run: ${page.url()}`);
    const box = await page.locator("#strip").boundingBox(), left = Math.min(250, box.width * 0.24), x = (part) => box.x + left + part * (box.width - left), total = 2.0;
    await page.mouse.move(x(0.25), box.y + 30);
    await page.mouse.down();
    await page.mouse.move(x(0.4), box.y + 30, { steps: 4 });
    await page.mouse.move(x(0.5), box.y + 30, { steps: 4 });
    await page.mouse.up();
    const [, a, b] = /from=([\d.]+)&until=([\d.]+)/.exec(await page.evaluate("location.hash")) ?? []; // page.url() may come later
    that(Math.abs(a - 0.25 * total) < 0.02 && Math.abs(b - 0.5 * total) < 0.02, `a drag from 0.5 to 1 s selects ${a} to ${b}`);
    await page.getByRole("button", { name: "Whole run", exact: true }).click();
    that(!page.url().includes("from="), "the button does not select the whole run");
    await page.click("#tab-summary");
    await page.fill(".fields input >> nth=0", "0.2");
    await page.fill(".fields input >> nth=1", "0.5");
    await page.keyboard.press("Tab");
    that(page.url().includes("from=0.2&until=0.5") && (await page.locator("#flame-first-line").innerText()).startsWith(`all: ${time(all)}`), `the fields do not select: ${page.url()}, ${await page.locator("#flame-first-line").innerText()}`);
    const first = () => page.locator(".first").innerText(), said = profile.headline.replaceAll("`", "");
    that((await first()).startsWith(`The whole run: ${said}`), `a range is selected, and the sentence does not say that it is of the whole run: ${await first()}`);
    await page.getByRole("button", { name: "Whole run", exact: true }).click();
    that((await first()).startsWith(said), `the whole run is shown, and the sentence says so: ${await first()}`);
    await page.context().close();
    const linked = await open("threads", { hash: "#summary?thread=4712" }); // also where the address selects
    that((await linked.locator("#answer").innerText()).startsWith("The whole run: "), `a thread is selected: ${await linked.locator("#answer").innerText()}`);
    await linked.context().close();
  }

  // A named range selects what happened while it was open, in its process; it is part of the address, and a click on its band selects the time.
  async function named() {
    const profile = profileOf("threads"), name = "back_project", range = profile.ranges.findIndex((r) => r.name === name), spans = [];
    for (const t of profile.timeline.filter((x) => x.kind === "range")) { let at = 0; t.events.start.forEach((step, i) => { at += step; if (t.events.what[i] === range) spans.push([at, at + t.events.length[i]]); }); }
    let sum = 0;
    for (const t of profile.timeline.filter((x) => x.kind === "cpu")) { let at = 0; t.events.start.forEach((step, i) => { at += step; for (const [a, b] of spans) sum += Math.max(0, Math.min(b, at + t.events.length[i]) - Math.max(a, at)) * (t.events.busy[i] / t.events.length[i]); }); }
    that(spans.length > 0 && sum > 0, `the example has ${spans.length} spans of ${name} with ${sum} ns`);
    const page = await open("threads", { hash: `#flame-graph?range=${name}` }), detail = () => page.locator("#flame-detail").innerText();
    that((await detail()).startsWith(`all: ${time(sum)}`), `flame graph of ${name}: ${await detail()}, the events have ${time(sum)}`);
    await page.getByRole("button", { name: "Whole run", exact: true }).click();
    that(!page.url().includes("range=") && !(await detail()).startsWith(`all: ${time(sum)}`), "the button does not select the whole run");
    await page.locator(".filter label", { hasText: "Range" }).locator("select").selectOption(String(range));
    that(page.url().endsWith(`#flame-graph?range=${name}`) && (await detail()).startsWith(`all: ${time(sum)}`), `the menu does not select the range: ${page.url()}`);
    await page.click("#tab-memory");
    that((await page.locator("#memory").innerText()).includes(`Most that lines held during ${name}`), "memory does not follow a named range");
    await page.context().close();
  }

  // The first screen: the sentence, strip, source and flame graph are in view at 1280 x 800; source and flame graph lead to each other.
  async function first() {
    for (const name of ["threads", "waiting", "blind", "suite"]) {
      const page = await open(name, { height: 800 });
      const low = await page.evaluate(() => [...document.querySelectorAll("#answer, #strip, .operations-strip, .first .cards"), ...document.querySelector(".panes").querySelectorAll(".scroll")].filter((n) => n.offsetParent).map((n) => [n.id || n.className, Math.round(n.getBoundingClientRect().bottom)]));
      that(low.length >= 3 && low.every(([, bottom]) => bottom <= 800), `${name}: below the first screen: ${JSON.stringify(low)}`);
      await page.context().close();
    }
    const page = await open("threads");
    const row = (line) => page.locator(`.source-lines tr[data-row="${line}"]`);
    that((await row(8).innerText()).includes("rfft") && /\d+ %/.test(await row(8).innerText()), `the source pane: ${await row(8).innerText()}`);
    await row(8).locator("button").click();
    that(await row(8).locator("button").getAttribute("aria-pressed") === "true", "a line is not chosen");
    await page.focus("#flame-first");
    for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowDown");
    that(await page.locator(".source-lines tr.chosen").count() === 1, "a frame of the flame graph does not choose its line");
    const texts = await page.locator("#answer, #strip, .panes, .cards").allInnerTexts(), sentence = await page.locator("#answer").innerText();
    that(texts.filter((t) => t.includes(sentence)).length === 1, "the sentence is on the first screen more than once");
    that(await page.title() === "recon.py · 2.00 s · tomoprof", `title: ${await page.title()}`);
    await page.context().close();
  }
  // Waits for locks in a range: sums of the parts of the profile.
  async function locks() {
    const profile = profileOf("threads"), [lock] = profile.locks, [from, until] = [0.95, 1.15];
    const within = lock.waited_s.reduce((a, s, i) => a + (s * Math.max(0, Math.min(until, (i + 1) * lock.bin_s) - Math.max(from, i * lock.bin_s))) / lock.bin_s, 0);
    that(within > 0.05 && within < lock.wait_s, `the example's lock waited ${within} s in the range`);
    const page = await open("threads", { hash: `#locks?from=${from}&until=${until}` }), row = await page.$$eval('#locks div[aria-label="locks"] tbody tr', (n) => n.map((r) => [...r.cells].map((c) => c.innerText)));
    that(row.length === 1 && row[0].includes(time(within * 1e9)) && row[0].includes(share(within / lock.wait_s)), `locks of the range: ${JSON.stringify(row)}, the profile has ${within} s`);
    await page.evaluate(() => { location.hash = "#locks?from=0.1&until=0.4"; });
    await page.waitForFunction(() => document.querySelectorAll("#locks tbody tr").length === 0);
    await page.locator(".filter label", { hasText: "Process" }).locator("select").selectOption("1");
    await page.getByRole("button", { name: "Whole run", exact: true }).click();
    that(await page.locator('#locks div[aria-label="locks"] tbody tr').count() === 1, "the lock of the whole run does not come back");
    const idle = profile.locks.filter((l) => l.role === "work"), folded = await page.locator("#locks details:not([open]) > summary").innerText(); // threads without work explain nothing
    that(idle.length === 1 && folded === `Waits for a signal or for work: 1 row, ${time(idle[0].wait_s * 1e9)} of all threads`, `threads without work: ${folded}`);
    const [curve] = await page.locator('#locks div[aria-label="locks"] svg.curve').evaluateAll((n) => n.map((s) => s.getAttribute("aria-label"))), most = Math.max(...lock.waited_s);
    that(curve === `waits over the run: most, ${time(most * 1e9)} of all threads, in the ${time(lock.bin_s * 1e9)} from ${time(lock.waited_s.indexOf(most) * lock.bin_s * 1e9)}`, `when threads waited: ${curve}`);
    await page.locator(".filter label", { hasText: "Process" }).locator("select").selectOption("1");
    that(await page.locator('#locks div[aria-label="locks"] tbody tr').count() === 0, "a lock of another process is shown");
    await page.context().close();
  }

  // Tabs that would be empty are not there; a capture of another tool has the same first screen and names its tool.
  async function empties() {
    const page = await open("import"), ids = await page.$$eval("[role=tab]", (nodes) => nodes.map((n) => n.id.slice(4)));
    that(String(ids) === "summary,lines,calls,flame-graph,time,environment", `tabs of a capture: ${ids}`);
    that(await page.title() === "capture of perf · 971 ms · tomoprof", `title: ${await page.title()}`);
    that((await page.locator("#subject").innerText()).startsWith("capture of perf"), `subject: ${await page.locator("#subject").innerText()}`);
    that((await page.locator(".panes").innerText()).startsWith("Functions by self time") && !/--rate/.test(await page.locator(".first").innerText()), `first screen of a capture: ${await page.locator("main").innerText()}`);
    await page.context().close();
    const counts = await open("folded"), all = profileOf("folded").stacks.cpu_ns.reduce((a, b) => a + b, 0); // samples have no length
    for (const id of ["summary", "lines", "calls", "flame-graph"]) {
      await counts.click("#tab-" + id);
      if (id === "lines") await counts.click("text=% of total");
      that(!/\d [nµm]?s\b|0\.000/.test(await counts.locator("main").innerText()) && new RegExp(`\\b${all} samples`).test(await counts.locator("main").innerText()), `times of a capture of samples in ${id}: ${await counts.locator("main").innerText()}`);
    }
    await counts.context().close();
    const serial = await open("waiting");
    that(await serial.locator("#tab-locks").count() === 0 && profileOf("waiting").locks.length === 1, "a pool without work has made a part on locks");
    await serial.context().close();
    const files = await open("threads", { hash: "#files" });
    that(!/[-−]\d/.test(await files.locator("#files").innerText()), `an amount below zero: ${await files.locator("#files").innerText()}`);
    await files.context().close();
  }

  // The environment is in words and units: variables alone are named as the system names them.
  async function environment() {
    for (const name of ["both", "suite", "import"]) {
      const page = await open(name, { hash: "#environment" }), rows = (label) => page.$$eval(`#environment div[role=region]${label} tbody tr`, (n) => n.map((r) => [r.cells[0].innerText, r.cells[1].innerText]));
      const facts = (await Promise.all(["Recording", "Recorded environment", "Machine and build of the suite", "Device 0"].map((l) => rows(`[aria-label="${l}"]`)))).flat();
      that(facts.length > 5, `${name}: ${facts.length} facts`);
      for (const [title, value] of facts) that((/^[A-Z][A-Z0-9_]+$/.test(title) || /^[A-Za-z][a-zA-Z, -]+$/.test(title)) && value !== "–" && !/^(null|true|false)$/.test(value), `${name}: a raw key or value: ${title}: ${value}`);
      if (name === "both") for (const [title, value] of [["Wall time", "2.00 s"], ["Memory", "24.0 GiB"], ["Highest clock", "2520 MHz"]]) that(facts.some(([t, v]) => t === title && v === value), `${title} is not ${value}: ${JSON.stringify(facts)}`);
      await page.context().close();
    }
  }

  // A part is where it was left.
  async function places() {
    const page = await open("long", { hash: "#lines" });
    await page.evaluate(() => scrollTo(0, 700));
    await page.click("#tab-calls");
    const at = () => page.evaluate(() => Math.round(scrollY));
    that(await at() === 0, `another part begins at ${await at()}`);
    await page.click("#tab-lines");
    that(await at() === 700, `the part was left at 700 and is at ${await at()}`);
    await page.context().close();
  }

  // Shares the flame graph as SVG and PNG, and a line with its source and numbers as Markdown.
  async function shares() {
    const page = await open("threads", { hash: "#flame-graph" }), profile = profileOf("threads");
    const saved = async (label) => { const [file] = await Promise.all([page.waitForEvent("download"), page.click(`#flame-graph >> text="${label}"`)]); return { name: file.suggestedFilename(), data: readFileSync(await file.path()) }; };
    const drawing = await saved("Save SVG"), picture = await saved("Save PNG"), text = drawing.data.toString();
    that(drawing.name === "recon.py-2.00-s-tomoprof-flame-graph.svg" && picture.name === "recon.py-2.00-s-tomoprof-flame-graph.png", `names: ${drawing.name}, ${picture.name}`);
    const wellFormed = await page.evaluate((t) => { const d = new DOMParser().parseFromString(t, "image/svg+xml"); return [d.querySelector("parsererror")?.textContent ?? "", d.querySelectorAll("rect").length, [...d.querySelectorAll("text")].map((n) => n.textContent)]; }, text);
    const boxes = Number(await page.getAttribute("#flame", "data-boxes"));
    that(wellFormed[0] === "" && wellFormed[1] > boxes && ["filter_rows", "main"].every((name) => wellFormed[2].includes(name)), `SVG: ${wellFormed}, ${boxes} boxes are drawn`);
    that(picture.data.subarray(1, 4).toString() === "PNG" && picture.data.length > 2000, `PNG of ${picture.data.length} bytes`);
    await page.click("#tab-summary");
    await page.evaluate(() => { window.copied = ""; navigator.clipboard.writeText = (t) => { window.copied = t; return Promise.resolve(); }; });
    await page.click(".first >> text=Copy for an assistant");
    const told = await page.evaluate(() => window.copied), answer = profile.answers.find((a) => a.file), line = profile.files[answer.file].lines.find((l) => l.line === answer.line);
    const wanted = [`${answer.file}:${answer.line}`, "```", line.text.trim(), `- CPU samples: ${line.cpu.samples}`, answer.advice.replaceAll("`", "")];
    for (const want of wanted) that(told.replaceAll("`", "").includes(want.replaceAll("`", "")), `for an assistant, ${want} is not in: ${told}`);
    await page.context().close();
  }

  // Threads of a pool that run a library's code count for the own line that waits for them: in the sentence, the source, the lines, the flame graph, and in a range.
  async function workers() {
    const profile = profileOf("pool"), { own, stacks, frames } = profile, key = own.kind.indexOf("workers"), line = own.line[own.parent[key]];
    const of = own.cpu_ns[own.parent[key]] + own.cpu_ns[key], lazy = own.cpu_ns[own.kind.lastIndexOf("import")], all = (profile.totals.cpu.user + profile.totals.cpu.sys) * 1e9, cell = async (page, n, i) => (await page.locator(`#lines details.file[data-path="recon.py"] tr[data-row="${n}"] td`).allInnerTexts())[i];
    that(line === 9 && of === 580e6 && lazy === 20e6 && own.cpu_ns[key] === 240e6, `the example has ${of} ns at line ${line}`);
    const page = await open("pool");
    that((await page.locator(`.source-lines tr[data-row="${line}"]`).innerText()).endsWith(share(of / all)), `the source pane: ${await page.locator(`.source-lines tr[data-row="${line}"]`).innerText()}`);
    await page.click("#tab-lines");
    await page.click("text=% of total");
    const withCallees = async (p) => cell(p, line, (await p.locator('#lines details.file[data-path="recon.py"] thead th').allInnerTexts()).findIndex((h) => /with\s+callees/.test(h)));
    that(await withCallees(page) === time(of + lazy), `with callees: ${await withCallees(page)}`);
    that((await page.locator('#lines details.file[data-path="recon.py"] > summary').innerText()).includes("with libraries and workers"), "it is not said that workers are in the sum");
    await page.evaluate((n) => { window.copied = ""; navigator.clipboard.writeText = (t) => { window.copied = t; return Promise.resolve(); }; location.hash = `#lines/recon.py:${n}`; }, line);
    await page.click("#lines tr.detail >> text=Copy for an assistant");
    that((await page.evaluate(() => window.copied)).includes(`The line takes ${share(of / all)} of it`), `for an assistant: ${await page.evaluate(() => window.copied)}`);
    await page.click("#tab-calls");
    await page.evaluate(() => { location.hash = "#calls/filter_rows"; });
    const sum = stacks.cpu_ns.reduce((a, ns, i) => a + (["filter_rows", "run_task"].includes(frames.function[stacks.frame[i]]) ? ns : 0), 0);
    await page.waitForFunction((t) => document.getElementById("calls-one")?.innerText.includes(t), `Inclusive ${time(sum)}`, { timeout: 20000 }).catch(async () => that(false, `calls: ${await page.locator("#calls-one").innerText()}, the stacks have ${sum}`));
    await page.context().close();
    const ranged = await open("pool", { hash: "#lines?from=1.5&until=1.74" });
    await openAll(ranged);
    await ranged.click("text=% of total");
    that(await withCallees(ranged) === time(240e6), `in a range with callees: ${await withCallees(ranged)}`);
    that((await ranged.locator('#lines details.file[data-path^="site-packages"] tr[data-row="7"]').innerText()).includes(time(240e6)), "in a range the package's own line has no time");
    await ranged.click("#tab-summary");
    that((await ranged.locator(`.source-lines tr[data-row="${line}"]`).innerText()).endsWith("100 %"), "in a range the source pane has no workers");
    await ranged.context().close();
  }

  // The cause of a wait is written where no time on a CPU covers it.
  async function labels() {
    const page = await open("pool", { hash: "#time" }), profile = profileOf("pool");
    await drawn(page);
    const shown = JSON.parse(await page.getAttribute("#timeline", "data-labels")), busy = profile.timeline.filter((t) => t.kind === "cpu" && t.thread === 1).map((t) => [t.events.start[0], t.events.start[0] + t.events.length[0]]);
    const waits = shown.filter(([name]) => name.includes("waiting") && name.startsWith("worker"));
    that(busy.length === 1 && waits.length === 1 && waits.every(([, a, b]) => busy.every(([c, d]) => b <= c || a >= d)), `labels ${JSON.stringify(waits)} over times on a CPU ${JSON.stringify(busy)}`);
    await page.context().close();
  }

  // An operation of the suite that is chosen: its lines, its place on the roofline, its address.
  async function operation() {
    const profile = profileOf("parts"), name = "cone_back_project", range = profile.ranges.findIndex((r) => r.name === name), spans = [];
    for (const t of profile.timeline.filter((x) => x.kind === "range")) { let at = 0; t.events.start.forEach((step, i) => { at += step; if (t.events.what[i] === range) spans.push([at, at + t.events.length[i]]); }); }
    let sum = 0;
    for (const t of profile.timeline.filter((x) => x.kind === "cpu")) { let at = 0; t.events.start.forEach((step, i) => { at += step; for (const [a, b] of spans) sum += Math.max(0, Math.min(b, at + t.events.length[i]) - Math.max(a, at)) * (t.events.busy[i] / t.events.length[i]); }); }
    const page = await open("parts", { height: 800 }), box = page.locator("#summary .operations-strip button", { hasText: name }), unit = () => page.locator(".panes .unit").first().innerText();
    that(sum > 0 && !(await unit()).includes(time(sum)), `the pane of all operations: ${await unit()}`);
    await box.click({ force: true });
    that((await unit()).includes(time(sum)) && page.url().endsWith(`#summary?range=${name}`) && await box.getAttribute("aria-pressed") === "true", `the pane of ${name}: ${await unit()} at ${page.url()}, the events have ${time(sum)}`);
    that((await page.locator("#operation-chosen").innerText()).startsWith(`${name} at`) && await page.locator("#summary svg.plot .ring").count() > 0, `the roofline: ${await page.locator("#operation-chosen").innerText()}`);
    await box.click({ force: true });
    that(!page.url().includes("range=") && await box.getAttribute("aria-pressed") === "false" && await page.locator("#summary svg.plot .ring").count() === 0, "a second click does not give up the operation");
    await page.context().close();
    const linked = await open("parts", { hash: `#summary?range=${name}` });
    that(await linked.locator("#summary .operations-strip button", { hasText: name }).getAttribute("aria-pressed") === "true" && (await linked.locator(".panes .unit").first().innerText()).includes(time(sum)), "the address of an operation does not choose it");
    await linked.context().close();
  }

  // The range by keys alone: from the tabs to the strip, then chosen, resized, moved to either end, and given up.
  async function keys() {
    const page = await open("threads"), where = () => /from=([\d.]+)&until=([\d.]+)/.exec(page.url())?.slice(1).map(Number) ?? null;
    await page.focus("#tab-summary");
    let steps = 0;
    while (await page.evaluate(() => document.activeElement.id) !== "strip" && steps++ < 20) await page.keyboard.press("Tab");
    that(await page.evaluate(() => document.activeElement.id) === "strip", "the strip is not reached by Tab");
    const press = async (key) => { await page.keyboard.press(key); return where(); };
    const first = await press("ArrowRight"), longer = await press("+"), home = await press("Home"), end = await press("End");
    const total = end?.[1], length = ([a, b]) => b - a;
    that(first && Math.abs(length(first) - 0.2) < 1e-6, `an arrow selects ${first}`);
    that(longer && Math.abs(length(longer) - 0.25) < 1e-6, `+ makes ${longer} of ${first}`);
    that(home && home[0] === 0 && Math.abs(length(home) - 0.25) < 1e-6 && Math.abs(total - 2) < 1e-6, `Home and End select ${home} and ${end}`);
    that((await page.getAttribute("#strip", "aria-label")).includes("Selected: 1.750 to 2.000 s"), `the strip says ${await page.getAttribute("#strip", "aria-label")}`);
    that(await press("Escape") === null, "Escape keeps the range");
    await page.context().close();
  }
  return [ticks, ranges, named, names, locks, workers, labels, operation, empties, environment, places, shares, keys, first, source, links, filters, calls, rows, searches, colours, charts, reads];
}
