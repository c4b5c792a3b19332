// The first screen: one sentence, source and flame graph side by side, what else is worth a change, whether the data can be trusted.
import { boundBy, cpuOf, cpuTotal, list, ofRecorder, operations, operationShare, rowsOf, shortPath } from "../data.js";
import { lineStory } from "../lines.js";
import { address, COLOUR, goTo, inside, isFiltered, lineLink, routes } from "../state.js";
import { button, code, copy, count, cpuName, el, known, number, percent, plain, rich, seconds, shortName, sparkline, stackedBar, table, UNKNOWN } from "../ui.js";
import { flamePane, sourcePanes } from "./source.js";
import { suitePanes } from "./suite.js";

// Without line tables: the functions themselves, from the stacks.
function mostExpensiveFrames(profile, count) {
  const { stacks, frames } = profile, rows = new Map();
  list(stacks?.cpu_ns).forEach((ns, i) => {
    const f = stacks.frame[i];
    if (!(ns > 0) || f === null || f < 0 || frames.kind[f] === "small") return;
    const module = plain(frames.module?.[f] ?? "").split("/").pop(), name = frames.function[f] ? shortName(frames.function[f], frames.kind?.[f]) : "[unknown]", key = `${name} ${module}`;
    if (!rows.has(key)) rows.set(key, { name: module ? `${name} (${module})` : name, function: name, module, value: 0 });
    rows.get(key).value += ns * 1e-9;
  });
  return [...rows.values()].sort((a, b) => b.value - a.value).slice(0, count);
}
const withoutLines = (profile) => profile.quality?.unattributed_cpu_share > 0.5 && rowsOf(profile.stacks) > 0;

// Operations at the largest size, those first that lose most time to the peak of this machine: their time above what the nearer limit allows.
function farFromPeak(timing) {
  const ops = operations(timing).filter((op) => op.sizes.length), size = Math.max(...ops.flatMap((op) => op.sizes.map((s) => s.volume_size)));
  const rows = ops.map((op) => op.sizes.find((s) => s.volume_size === size)).filter((s) => s && known(s.median)).map((s) => ({ ...s, bound: boundBy(timing, s) }));
  return rows.map((s) => ({ ...s, lost: s.bound ? s.median * Math.max(0, 1 - s.bound.share) : null })).sort((a, b) => (b.lost ?? -1) - (a.lost ?? -1) || b.median - a.median);
}

function suiteHeadline(timing) {
  const top = farFromPeak(timing)[0];
  return top ? `At ${top.volume_size}³, ${top.operation} ` + (top.bound ? `is farthest from this machine's peak: it takes ${seconds(top.median)}, at the peak of ${top.bound.what} it would take ${seconds(top.median - top.lost)}.` : `takes ${seconds(top.median)}.`) : "";
}

const FEW = 100; // samples: the standard error of a share of a half is then 5 %

// What was before the recorder and after it, which no sample stands for.
function unplacedByModule(profile) {
  const rows = list(profile.unattributed).filter((m) => ["[start-up]", "[tomoprof]", "[threads]", "[shutdown]"].includes(m.module) && cpuOf(m) > 0);
  return rows.length ? ` (${rows.map((m) => `${seconds(cpuOf(m))} in ${m.module}`).join(", ")})` : "";
}

function qualityItems(profile, timing) {
  const items = list(profile?.quality?.items).map((i) => ({ ...i }));
  for (const check of list(profile?.quality?.checks))
    if (check.ok === false) items.push({ id: check.id, severity: "error", text: `does not hold: ${check.text}`, effect: `expected ${number(check.expected, 6)}, found ${number(check.found, 6)}`, fix: null });
  if (timing) {
    if (timing.interrupted) items.push({ id: "interrupted", severity: "warning", text: "the suite was interrupted", effect: "later rows are missing", fix: "run it to its end" });
    const bad = list(timing.measurements).filter((m) => m.status === "failed");
    if (bad.length) items.push({ id: "failed_rows", severity: "error", count: bad.length, text: `${bad.length} rows failed: ${bad[0].operation} at ${bad[0].volume_size}: ${bad[0].reason}`, effect: "they have no time", fix: "see Operations" });
    const odd = list(timing.statistics).filter((s) => s.implausible);
    if (odd.length) items.push({ id: "implausible", severity: "warning", count: odd.length, text: `rates above the measured peak: ${odd[0].operation}`, effect: "work model or calibration is off", fix: "measure again on a quiet machine" });
  }
  return items;
}

export function qualityBadge(profile, timing) {
  const items = qualityItems(profile, timing);
  const bad = items.filter((i) => i.severity !== "info");
  const complete = bad.length === 0 && profile?.quality?.complete !== false;
  const busy = items.find((i) => i.id === "cpu.busy"), notable = busy ? [busy, ...bad] : bad;
  const title = !complete ? `Data incomplete: ${notable.length || 1} ${notable.length === 1 ? "thing" : "things"} to know` : busy ? "Busy machine" : "Data complete";
  return el("details", { class: "quality", id: "quality" },
    el("summary", {}, el("span", { class: "badge " + (complete && !busy ? "good" : "bad") }, (complete && !busy ? "✓ " : "! ") + title), notable.length > 0 && el("bdi", {}, " " + plain(notable[0].text).replace(complete ? /^The machine was busy: / : /^$/, "").slice(0, 160))),
    items.length === 0 ? el("p", {}, "No loss, drop or clock trouble was seen.")
      : table([
        { title: "Severity", kind: "name", key: "severity" }, { title: "What", key: "text" }, { title: "Count", key: "count", number: true, format: count },
        { title: "Effect", key: "effect" }, { title: "What to do", key: "fix" }], items, { name: "data quality", filter: false }),
    profile && el("p", { class: "note" }, `Recorded: ${percent(profile.quality.cpu_sample_coverage)} of the CPU time that the kernel counted for the run${unplacedByModule(profile)}; ` +
      `${percent(profile.quality.unattributed_cpu_share)} has no source line; the profiler itself took ${percent(profile.quality.overhead_share)}.`));
}

const threadsSlept = (n, sleep) => (n === 1 ? `its one thread slept ${seconds(sleep)}.` : `its ${count(n)} threads slept ${seconds(sleep)} in all.`);

function whereTheTimeWent(profile) {
  const t = profile.totals, wall = profile.meta.wall_s, nodes = [];
  if (t.gpu_busy_s > 0) {
    const busy = Math.min(t.gpu_busy_s, wall), kernels = busy * (t.kernel_s / t.gpu_sum_s);
    nodes.push(el("h2", {}, "Wall time"), stackedBar("Wall time", [
      { name: "GPU kernels", value: kernels, k: COLOUR.kernel }, { name: "GPU copies and memsets", value: busy - kernels, k: COLOUR.copy },
      { name: "host waits while the GPU is idle", value: Math.max(0, (t.gpu_wait_s || 0) - (t.gpu_wait_busy_s || 0)), k: COLOUR.waitCuda },
      { name: "host only", value: Math.max(0, wall - busy - Math.max(0, (t.gpu_wait_s || 0) - (t.gpu_wait_busy_s || 0))), k: "none" }], wall));
  }
  nodes.push(el("h2", {}, "Where the threads' time went (sleep excluded)"), stackedBar("Where the threads' time went (sleep excluded)", [
    { name: "Python", value: t.cpu?.python, k: COLOUR.python }, { name: "native code", value: t.cpu?.native ?? t.cpu?.user, k: COLOUR.native }, { name: "system", value: t.cpu?.sys, k: COLOUR.system },
    { name: "waiting for a CPU", value: t.wait?.runnable, k: COLOUR.wait }, { name: "waiting for a disk", value: t.wait?.disk, k: COLOUR.waitDisk }, { name: "in CUDA calls", value: t.wait?.cuda, k: COLOUR.waitCuda }]),
  known(wall) && el("p", { class: "note" }, `The program ran for ${seconds(wall)}${known(t.wait?.sleep) ? `; ${threadsSlept(list(profile.threads).filter((x) => !ofRecorder(x)).length, t.wait.sleep)}` : "."}`));
  return nodes;
}

function operationTable(timing, triage) {
  const ops = operations(timing), largest = (op) => op.sizes[op.sizes.length - 1];
  const verdict = new Map(list(triage?.candidates).map((c) => [c.operation, c.verdict]));
  const total = ops.reduce((a, op) => a + (largest(op)?.median || 0), 0);
  return table([
    { title: "Operation", kind: "name", key: "name", show: (op) => inside("scaling", op.name, code(op.name)) },
    { title: "Median", number: true, value: (op) => largest(op)?.median, format: seconds },
    { title: "Share", hint: "of the sum of the medians listed here", number: true, value: (op) => (largest(op) ? largest(op).median / total : null), format: percent },
    { title: "Share of peak", hint: "of the nearer of the two measured limits", number: true, value: (op) => largest(op)?.roof_share, format: percent },
    { title: "Bound by", kind: "name", value: (op) => (largest(op) && boundBy(timing, largest(op))?.by) ?? UNKNOWN },
    { title: "Largest size", number: true, value: (op) => largest(op)?.volume_size, format: (v) => (known(v) ? v + "³" : UNKNOWN) },
    { title: "By size", value: (op) => op.sizes.length, format: (n) => n + " sizes", show: (op) => sparkline(op.sizes.map((s) => Math.log(s.median)), `${op.name}: ` + op.sizes.map((s) => `${s.volume_size}: ${seconds(s.median)}`).join(", ")) },
    { title: "Growth", optional: true, hint: "p of t = a + b N^p; empty below three sizes", number: true, value: (op) => op.scaling?.p, format: (v, op) => (known(v) ? "N^" + v.toFixed(2) : plain(UNKNOWN)) },
    { title: "GFLOP/s", number: true, value: (op) => largest(op)?.gflops, format: (v) => number(v) },
    { title: "GB/s", number: true, value: (op) => largest(op)?.gbytes_per_s, format: (v) => number(v) },
    { title: "Runs", number: true, value: (op) => largest(op)?.n, format: count },
    { title: "Spread", hint: "standard deviation / mean", number: true, value: (op) => largest(op)?.cv, format: percent },
    ...(verdict.size ? [{ title: "FPGA", value: (op) => verdict.get(op.name) ?? UNKNOWN }] : []),
    { title: "Not measured", optional: true, value: (op) => op.failed.map((m) => `${m.volume_size}: ${m.status}, ${m.reason}`).filter((t, i, a) => a.indexOf(t) === i).join("; ") || "" },
  ], ops, { caption: "Operations at their largest measured size", sort: 1, name: "operations" });
}

function topFunctions(profile, cpu) {
  return table([
    { title: "Function", kind: "name", key: "function", show: (f) => code(f.function, 100) }, { title: "Module", kind: "name", key: "module", show: (f) => code(f.module) },
    { title: "CPU", number: true, key: "value", format: seconds }, { title: "of all CPU", number: true, value: (f) => f.value / cpu, format: percent },
  ], mostExpensiveFrames(profile, 20), { name: "top functions", filter: false, bare: true });
}


// In the place of the source.
function functionsPane(profile, cpu, advice) {
  return el("div", { class: "pane" }, el("div", { class: "tools pane-head" }, el("strong", {}, "Functions by self time"), profile.totals.cpu && el("span", { class: "unit" }, `% of ${seconds(cpu)} ${cpuName()}`)), topFunctions(profile, cpu),
    !/ -g /.test(advice ?? "") && el("p", { class: "note" }, `${percent(profile.quality.unattributed_cpu_share)} of the CPU time has no source line: build with -g (it changes no optimisation), or install debug symbols.`));
}

// The lines that a finding is about, most first.
function findingLines(finding) {
  const at = (l) => `${l.file}:${l.line}`, all = list(finding.lines).filter((l) => l.file && known(l.line));
  const rows = all.filter((l, i) => all.findIndex((o) => at(o) === at(l)) === i).slice(0, 3);
  return rows.length > 0 && el("p", {}, "Above all: ", rows.flatMap((l, i) => [i ? ", " : "", lineLink(l.file, l.line)]), ".");
}

// What is worth a change: {title, href, go, source, text, gain, wall, advice}, the first is the sentence of the page.
function suiteAnswers(timing) {
  return farFromPeak(timing).filter((s) => s.lost > 0).map((s) => ({
    title: s.operation, go: () => goTo("scaling", s.operation), href: address("scaling", s.operation),
    text: `It takes ${seconds(s.median)} at ${s.volume_size}³ and uses ${percent(s.bound.share)} of the peak of ${s.bound.what}.`, gain: s.lost,
    advice: s.bound.what === "arithmetic" ? "Use vector instructions and all cores, or fewer operations." : "Read and write less: fewer passes over the data, smaller types, blocks that fit into the cache." }));
}
function profileAnswers(profile) {
  return list(profile?.answers).filter((a) => a.kind !== "none").map((a) => {
    const line = a.file && list(profile.files?.[a.file]?.lines).find((l) => l.line === a.line);
    return { title: a.file ? `${shortPath(a.file)}:${a.line}` : a.function ? shortName(a.function) : { imports: "Importing modules", finding: plain(a.text).split(":")[0] }[a.kind] ?? "The run", href: a.file ? address("lines", `${a.file}:${a.line}`) : null,
      go: () => goTo("lines", `${a.file}:${a.line}`), source: line?.text, text: plain(a.text).replace(/ `.*` (takes|sleeps|waits|launches) /, " $1 "), gain: a.gain_s, wall: profile.meta.wall_s, advice: a.advice };
  });
}
const gainText = (a, short, which = "this") => `${short ? "Saves" : `Fixing ${which} saves`} up to ${seconds(a.gain)}${a.wall === null ? " of CPU time" : a.wall > 0 && !short ? ` of ${seconds(a.wall)}` : ""}.`;

// The second and third answer, in one row; the advice opens. A title that begins the text is not said twice.
function cards(rows) {
  if (!rows.length) return null;
  return el("ol", { class: "cards", "aria-label": "What to change next" }, rows.map((c) => {
    const text = plain(c.text).replace(` (${c.title})`, "").replace(` at ${c.title}`, ""), begins = text.startsWith(c.title), rest = begins ? text.slice(c.title.length).replace(/^: ?| /, "") : text, colon = !begins || /^\p{Lu}/u.test(rest) ? ":" : ""; // a sentence, or the rest of one
    return el("li", {}, el("p", {}, c.href ? el("a", { href: c.href, onclick: (e) => { e.preventDefault(); c.go(); } }, code(c.title, 80)) : el("strong", {}, plain(c.title).slice(0, 80)), c.source && [" ", code(c.source.trim().replace(/:$/, ""), 60)], colon, " ", el("bdi", {}, rich(rest)), known(c.gain) && [" ", el("strong", {}, rich(gainText(c, true)))]),
      c.advice && el("details", {}, el("summary", {}, "What to do"), el("p", {}, rich(c.advice))));
  }));
}

// Before the sentence while a part of the run is selected, which sentence and cards do not follow.
function ofTheWhole() {
  const node = el("span", { class: "note", id: "answer-whole" }), show = () => { node.textContent = isFiltered() ? "The whole run: " : ""; };
  document.addEventListener("chosenchange", show);
  show();
  return node;
}

// The headline, above all parts of the page.
export function answerBlock(profile, timing) {
  const answers = timing ? suiteAnswers(timing) : profileAnswers(profile), first = answers[0], samples = profile?.totals?.cpu?.samples;
  const sentence = (timing ? suiteHeadline(timing) : profile?.headline) || "Nothing was measured in this run.";
  const shared = !timing && list(profile?.answers).find((a) => a.file && known(a.line) && profile.files?.[a.file]);
  const told = list(profile?.answers)[0], which = !timing && first?.href && told?.text && !sentence.includes(told.text) ? first.title : undefined; // of several lines
  const few = !timing && known(samples) && samples < FEW && list(profile.answers)[0]?.kind !== "none" && cpuTotal(profile) > 0;
  return el("section", { class: "first", "aria-label": "The answer", "data-suite": !!timing },
    el("p", { class: "answer", id: "answer" }, !timing && ofTheWhole(), el("bdi", {}, rich(sentence))),
    el("p", { class: "advice" }, known(first?.gain) ? [el("strong", {}, rich(gainText(first, false, which))), " "] : which && first?.advice && [code(which, 80), ": "], first?.advice && rich(first.advice), few && el("span", { class: "note" }, ` Only ${count(samples)} CPU samples were taken: shares are rough. Record more work${profile.environment?.["import.tool"] ? "" : ", or with --rate 1000"}.`),
      shared && [" ", button("Copy for an assistant", () => copy(lineStory(shared.file, shared.line)), { class: "plain prose", title: "the line, the source around it and its numbers, as Markdown" })]), cards(answers.slice(1, 3)));
}

// The panes take the room that sentence, cards and strip leave on the screen.
function fitPanes(panel) {
  const fitted = () => {
    for (const panes of panel.querySelectorAll(".panes.fitted")) {
      if (!panes.offsetParent) continue;
      const box = panes.querySelector(".scroll"), above = box.getBoundingClientRect().top + scrollY, below = Math.max(0, panes.getBoundingClientRect().bottom - box.getBoundingClientRect().bottom);
      panes.style.setProperty("--room", `${Math.round(innerHeight - above - below - 6)}px`);
    }
  };
  addEventListener("resize", fitted);
  document.addEventListener("chosenchange", (e) => { if (!e.detail.moving) requestAnimationFrame(fitted); });
  requestAnimationFrame(fitted);
}

export function summaryPanel(profile, timing, triage) {
  routes.set("summary", (id) => { const node = document.getElementById(id); node?.scrollIntoView({ block: "center" }); node?.focus({ preventScroll: true }); });
  const answers = timing ? suiteAnswers(timing) : profileAnswers(profile), said = answers.slice(0, 3).map((a) => a.text).join("\n");
  const findings = list(profile?.findings).slice(0, 8).map((f, i) => [f, i]).filter(([f]) => !said.includes(plain(f.title)));
  const traced = timing && profile && operationShare(profile, timing), cpu = profile ? cpuTotal(profile) : 0;
  fitPanes(document.getElementById("summary"));
  return [
    timing && suitePanes(profile, timing, traced, () => operationTable(timing, triage)),
    !timing && (withoutLines(profile) ? el("div", { class: "panes fitted" }, functionsPane(profile, cpu, answers[0]?.advice), flamePane(profile).node) : sourcePanes(profile)),
    traced && cpu > 0 && el("p", { class: "note" }, `Set-up and checks took ${percent(1 - traced.cpu / cpu)} of the traced pass; the measured times leave them out.`),
    findings.length > 0 && [el("h2", {}, "Findings"), findings.map(([f, i]) => el("div", { class: "finding", id: `finding-${i}`, tabindex: "-1" },
      el("h3", {}, plain(f.title)), el("p", {}, rich(f.evidence)), findingLines(f),
      el("p", {}, rich(f.advice), known(f.gain_s) && ` At most ${seconds(f.gain_s)} can be saved (confidence: ${plain(f.confidence)}).`),
      f.refuted_by && f.test && el("p", { class: "note" }, `${plain(f.refuted_by)} ${plain(f.test)}`)))],
    profile && whereTheTimeWent(profile),
  ].flat(3).filter(Boolean);
}
