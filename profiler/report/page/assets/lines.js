// Cost by source line, file by file, with the text of the lines: the program's own code first, the rest folded.
import { highlighted, languageOf, openMarks } from "./code.js";
import { cpuOf, cpuTotal, list, once, partOf, rowsOf, shortPath } from "./data.js";
import { address, COLOUR, goTo, inside, isFiltered, isTimed, MEANING, onFilter, rangePhrase, routes, stackThreads, threadName, threadShown } from "./state.js";
import { lineNumbers, linesIn } from "./sums.js";
import { button, bytes, cellBar, choice, code, copy, count, cpuName, cut, el, known, megabytes, percent, plain, say, search, seconds, shortName, svg, table, toggle, UNKNOWN } from "./ui.js";

const linesState = { unit: "%", text: "", around: "cost", part: "all", line: null };
let linesBody = null, linesProfile = null, linesTiming = null;

function amount(value, total, bytesToo) {
  if (linesState.unit === "%") return known(value) && total > 0 ? percent(value / total) : UNKNOWN;
  return bytesToo ? megabytes(value) : seconds(value);
}

// The line's memory over the time of the run, all on one time axis from 0.
function memoryCurve(line, profile) {
  const values = list(line.live_mb), bin = profile.memory?.bin_s;
  if (!values.length || !known(bin)) return null;
  const high = Math.max(...values), at = values.indexOf(high), first = values.findIndex((v) => v > 0), last = values.findLastIndex((v) => v > 0);
  const text = `memory over time: at most ${megabytes(high)} at ${seconds(at * bin)}, held from ${seconds(first * bin)} ${last === values.length - 1 ? "to the end" : "to " + seconds((last + 1) * bin)}`;
  const node = svg("svg", { class: "curve", viewBox: `0 0 ${values.length} 20`, width: 52, height: 16, preserveAspectRatio: "none", role: "img", "aria-label": text });
  const steps = values.map((v, i) => { const y = (19 - (18 * v) / (high || 1)).toFixed(1); return `L${i},${y}L${i + 1},${y}`; }).join("");
  node.append(svg("title", {}, text), svg("path", { d: `M0,19${steps}L${values.length},19Z` }));
  return node;
}

// The address of each line of a profile: `path:line`.
const lineKeys = new WeakMap();
function keysOf(profile) {
  if (!lineKeys.has(profile)) lineKeys.set(profile, new Map(Object.entries(profile.files).flatMap(([path, file]) => list(file.lines).map((l) => [l, `${path}:${l.line}`]))));
  return lineKeys.get(profile);
}

// CPU time of each own line with the libraries that it calls and the threads and processes that work for it: {own, pool: that of such workers alone,
// with those of its callees, by `path:line`; stray: of workers for which no own line waits}. Imports count for a line that does little else, as in the
// first sentence. The rows of profile.own are a tree.
export const ownSums = once((profile) => {
  const own = profile.own ?? {}, kinds = list(own.kind), sums = { own: new Map(), pool: new Map(), stray: 0 }, imports = new Map(), add = (map, key, v) => map.set(key, (map.get(key) || 0) + v);
  const isLine = (i) => kinds[i] === "code" && own.file[i] !== null, above = (i) => own.parent[i] ?? -1;
  kinds.forEach((kind, i) => {
    const s = (own.cpu_ns[i] || 0) * 1e-9, callers = new Set();
    let line = i;
    while (line >= 0 && kinds[line] !== "code") line = above(line);
    if (line >= 0 && isLine(line)) add(kind === "import" ? imports : sums.own, `${own.file[line]}:${own.line[line]}`, s);
    if (kind !== "workers") return;
    if (line < 0) sums.stray += s;
    for (; line >= 0; line = above(line)) if (isLine(line)) callers.add(`${own.file[line]}:${own.line[line]}`);
    for (const key of callers) add(sums.pool, key, s);
  });
  for (const [key, s] of imports) if (s > (sums.own.get(key) || 0)) add(sums.own, key, s);
  return sums;
});
function ownTimes(profile) {
  const { own } = ownSums(profile), keys = keysOf(profile);
  return (l) => own.get(keys.get(l.base ?? l)) ?? 0;
}
const poolOf = (profile, l) => ownSums(profile).pool.get(keysOf(profile).get(l.base ?? l)) ?? 0;
const inclusive = (profile, l) => (l.cpu_incl?.user || 0) + (l.cpu_incl?.sys || 0) + poolOf(profile, l);

// Finds what warps did at each line inside a kernel, by `path:line`: [{text, samples, of}], the most frequent first.
const warpsByLine = once((profile) => {
  const lines = new Map();
  for (const row of list(profile.device_lines)) {
    if (!row.file) continue;
    const key = `${row.file}:${row.line}`, of = lines.get(key) ?? new Map();
    for (const s of list(row.stalls)) of.set(s.meaning, (of.get(s.meaning) || 0) + s.samples);
    lines.set(key, of);
  }
  return new Map([...lines].map(([key, of]) => {
    const all = [...of.values()].reduce((a, n) => a + n, 0);
    return [key, [...of].sort((a, b) => b[1] - a[1]).map(([meaning, n]) => ({ text: `${percent(n / all)} ${meaning}`, meaning, n, all }))];
  }));
});
const warpsAt = (profile, l) => warpsByLine(profile).get(keysOf(profile).get(l.base ?? l)) ?? [];

// What lines cost under the chosen part of the suite and the chosen threads. parts: of the bar below the CPU time.
export function lineCosts(profile) {
  if (isTimed()) {
    const sums = linesIn(profile), numbers = lineNumbers(profile), of = (key) => (l) => sums[key][numbers.of(l)] ?? 0;
    return { cpu: of("cpu"), own: of("own"), incl: of("incl"), wait: of("wait"), gpu: () => 0, total: sums.total, waitTotal: sums.waitTotal, gpuTotal: 0, parts: (l) => [[of("cpu")(l), "native"]], part: null };
  }
  const t = profile.totals, part = linesState.part === "all" || isFiltered() ? null : partOf(profile, linesTiming, linesState.part);
  const mine = (key) => (l) => list(l.threads).reduce((a, x) => a + (threadShown(profile, x.thread) ? x[key] || 0 : 0), 0);
  if (isFiltered()) {
    const threads = list(profile.threads).filter((_, i) => threadShown(profile, i)), of = stackThreads(profile), gpu = mine("gpu_s"), cpu = mine("cpu_s");
    return { cpu, own: cpu, incl: mine("cpu_incl_s"), wait: mine("wait_s"), gpu, total: threads.reduce((a, x) => a + (x.user_s || 0) + (x.sys_s || 0), 0), waitTotal: threads.reduce((a, x) => a + (x.wait_s || 0), 0),
      gpuTotal: list(profile.stacks.gpu_ns).reduce((a, ns, i) => a + (threadShown(profile, of[i]) ? ns * 1e-9 : 0), 0), parts: (l) => [[cpu(l), "native"]], part: null };
  }
  return { cpu: part ? part.cpu : cpuOf, own: part ? part.cpu : ownTimes(profile), incl: part ? null : (l) => inclusive(profile, l), wait: part ? () => 0 : (l) => l.cpu?.wait, gpu: (l) => l.gpu_self_s, total: part ? part.total : cpuTotal(profile),
    waitTotal: t.cpu?.wait, gpuTotal: t.gpu_sum_s, parts: (l) => (part ? [[part.cpu(l), "native"]] : [[l.cpu.python, "python"], [l.cpu.native ?? l.cpu.user, "native"], [l.cpu.sys, "system"]]), part };
}

export const sumOf = (rows, of) => rows.reduce((a, r) => a + (of(r) || 0), 0);

// Columns that hold something in this profile; an empty one would only take room.
function lineColumns(profile, cost) {
  const t = profile.totals, all = !isFiltered() && !cost.part;
  let longest = 1e-12, device = false, inside = false; // bars are relative to the hotspot
  for (const file of Object.values(profile.files)) for (const l of list(file.lines)) { longest = Math.max(longest, cost.cpu(l) || 0); device ||= l.gpu?.device_s > 0; inside ||= l.gpu?.inside_incl_s > 0; }
  const time = (title, value, total, hint, more) => ({ title, number: true, rem: 4.9, value, format: (v) => (v ? amount(v, total) : ""), hint, used: total > 0, ...more });
  const bar = (l) => {
    const parts = cost.parts(l), words = parts.length > 1 ? `Python ${seconds(l.cpu.python)}, native ${seconds(l.cpu.native)}, system ${seconds(l.cpu.sys)}` : `CPU ${seconds(cost.cpu(l))}`;
    return el("span", { class: "both" }, el("span", { class: "amount" }, amount(cost.cpu(l), cost.total)), cellBar(parts.map(([v, name]) => [v, COLOUR[name]]), longest, words));
  };
  return [
    { title: "CPU", number: true, rem: 5.2, value: cost.cpu, hint: "Python, native and system time of the line itself; the longest bar is the hotspot", used: cost.total > 0, format: (v) => (v ? amount(v, cost.total) : ""), show: (l) => cost.cpu(l) > 0 && bar(l) },
    cost.incl && time("with callees", cost.incl, cost.total, "CPU time here and below, and of the threads and processes that work for the line; recursion counts once"),
    time("GPU", cost.gpu, cost.gpuTotal, "device time of what this line launched"),
    all && time("GPU with callees", (l) => l.gpu_incl_s, t.gpu_sum_s, "device time of what was launched here or below", { minor: true }),
    all && { ...time("in kernels", (l) => l.gpu?.inside_s, t.kernel_s, "time inside kernels at this line, from samples of its instructions"), used: inside, extra: true },
    all && { ...time("with inlined", (l) => l.gpu?.inside_incl_s, t.kernel_s, "time inside kernels here and in code that was inlined here", { minor: true }), used: inside, extra: true },
    all && { title: "what warps do", kind: "name", rem: 21, minor: true, extra: true, value: (l) => warpsAt(profile, l)[0]?.text ?? "", hint: "what most warps did that were sampled at this line; it is the line that waits, often the first use of what was loaded before", used: list(profile.device_lines).length > 0 },
    all && { ...time("device code", (l) => l.gpu?.device_s, t.kernel_s, "time of the kernels whose code begins here, whichever line launched them", { minor: true }), used: device },
    !cost.part && time("waits", cost.wait, cost.waitTotal, "wall time blocked or ready without a CPU", { minor: true }),
    !isFiltered() && { title: "memory", number: true, rem: known(profile.memory?.bin_s) ? 8.8 : 4.9, value: (l) => l.mem?.peak_mb, format: (v) => (v ? amount(v, t.peak_heap_mb, true) : ""), used: t.peak_heap_mb > 0,
      show: (l) => l.mem?.peak_mb > 0 && el("span", { class: "both memory" }, memoryCurve(l, profile), amount(l.mem.peak_mb, t.peak_heap_mb, true)), hint: "most that was live at once, and the curve of it from the start to the end of the run; lines below 1 % of the largest heap have none" },
    cost.part && { title: "mostly in", kind: "name", rem: 10, minor: true, value: cost.part.main, hint: "the outermost NVTX range that holds most of the line's CPU time", used: true },
  ].filter((c) => c && c.used);
}

// The lines that cost something between those that did not, as far as the report holds their text; `near`: no further than 3 lines away.
function inContext(file, rows, near) {
  const text = lineTexts(file), at = new Map(rows.map((l) => [l.line, l]));
  const last = Math.max(file.length || 0, ...at.keys()), out = [];
  const close = (n) => { for (let i = n - 3; i <= n + 3; i++) if (at.has(i)) return true; return false; };
  let left = 0; // lines in a gap
  const skip = (n) => { if (left) out.push({ line: n - left, context: true, gap: `⋯ ${count(left)} ${left === 1 ? "line" : "lines"}${near ? "" : ", not in this report"}` }); left = 0; };
  for (let n = 1; n <= last; n++) {
    const row = at.get(n) ?? (text.has(n) && (!near || close(n)) ? { line: n, text: text.get(n), context: true } : null);
    if (row) { skip(n); out.push(row); } else left++;
  }
  skip(last + 1);
  return out;
}

// The given lines in order, with the head of the function around each and what all its lines took (`total`), and gaps where lines are left out.
export function aroundLines(file, rows, of) {
  const texts = lineTexts(file), shown = new Map(rows.map((l) => [l.line, l])), out = [];
  if (!texts.size) return [...rows].sort((a, b) => a.line - b.line); // each names its function
  for (const i of new Set(rows.map((l) => l.function))) {
    const f = known(i) ? list(file.functions)[i] : null;
    if (!f || !known(f.line) || f.line < 1 || f.name === "<module>") continue;
    const total = sumOf(list(file.lines).filter((l) => l.function === i), of), head = shown.get(f.line);
    if (head && of(head) > 0) continue;
    shown.set(f.line, head ? { ...head, base: head, total } : { line: f.line, text: texts.get(f.line) ?? null, name: f.name, context: true, total });
  }
  let before = 0;
  for (const row of [...shown.values()].sort((a, b) => a.line - b.line)) {
    if (row.line === before + 2 && texts.has(before + 1)) out.push({ line: before + 1, text: texts.get(before + 1), context: true });
    else if (row.line > before + 1) out.push({ line: row.line - 1, context: true, gap: "⋯" });
    out.push(row);
    before = row.line;
  }
  return out;
}

// Names the function of a line whose text is not in the report.
export const functionOf = (file, row) => { const f = known(row.function) ? list(file.functions)[row.function] : null; return f ? `in ${plain(f.name)}` : ""; };

// All lines of the file whose text is in the report: number -> text, in order.
export function lineTexts(file) {
  const all = [...list(file.source?.line).map((n, i) => [n, file.source.text[i]]), ...list(file.lines).filter((l) => known(l.line) && l.text !== null).map((l) => [l.line, l.text])];
  return new Map(all.sort((a, b) => a[0] - b[0]));
}

// What own lines took together with the libraries that they call, as shares: {of(path, line), file(path): of CPU time, hottest}. null where the profile does not say, or by thread.
function ownShares(profile, cost) {
  const own = profile.own, n = rowsOf(own), sum = (key) => list(own[key]).reduce((a, v) => a + (v || 0), 0), lines = new Map(), files = new Map(), add = (map, key, v) => map.set(key, (map.get(key) || 0) + v);
  if (linesState.part !== "all" || (isFiltered() ? !isTimed() : !n)) return null;
  const atOf = (i) => (own.kind[i] === "code" && own.file[i] !== null ? `${own.file[i]}:${own.line[i]}` : null), parts = [];
  if (isTimed()) parts.push([new Map(Object.entries(profile.files).filter(([, f]) => f.user).flatMap(([path, f]) => list(f.lines).map((l) => [`${path}:${l.line}`, cost.own(l) || 0]))), cost.total]);
  else {
    parts.push([ownSums(profile).own, sum("cpu_ns") * 1e-9]);
    for (const [key, total] of [["gpu_ns", sum("gpu_ns")], ["path_wait_ns", profile.meta.wall_s * 1e9]]) { const of = new Map(); for (let i = 0; i < n; i++) if (atOf(i)) add(of, atOf(i), own[key]?.[i] || 0); parts.push([of, total]); }
  }
  for (const [of, total] of parts) for (const [at, v] of of) if (total > 0) lines.set(at, Math.max(lines.get(at) || 0, v / total));
  const [times, cpu] = parts[0], hottest = Math.max(0, ...lines.values());
  for (const [at, s] of times) add(files, at.replace(/:\d*$/, ""), s);
  return hottest > 0 ? { of: (path, line) => lines.get(`${path}:${line}`) || 0, file: (path) => (cpu > 0 ? (files.get(path) || 0) / cpu : null), hottest } : null;
}

// 1 to 8: how much of the hotspot's time the line took; 0: less than a fiftieth of it. Own lines with the libraries that they call, others by themselves.
function heatOf(path, file, view) {
  const { cost, hottest, own } = view, part = (v, of) => (of > 0 ? (v || 0) / of : 0);
  const onHost = own && file.user ? (l) => part(own.of(path, l.line), own.hottest) : (l) => Math.max(part(cost.cpu(l), hottest.cpu), part(cost.gpu(l), hottest.gpu));
  const share = (l) => Math.max(onHost(l), part(l.gpu?.inside_s, hottest.inside));
  return (l) => { const s = l.context ? 0 : share(l); return s < 0.02 ? 0 : Math.max(1, Math.min(8, Math.round(8 * s))); };
}

// Columns beside the source, whose half of a page of 1280 pixels they leave free: those marked extra go, the last of them first. A click on the line has all numbers.
const COLUMNS_REM = 36;
function columnsThatFit(columns) {
  const out = [...columns], width = () => out.reduce((a, c) => a + c.rem, 0);
  for (let i = out.length - 1; i >= 0 && width() > COLUMNS_REM; i--) if (out[i].extra) out.splice(i, 1);
  return out;
}

function fileSection(path, file, profile, view, open) {
  const { cost } = view, rows = list(file.lines).filter((l) => view.whole || (cost.cpu(l) || 0) + (cost.incl?.(l) || 0) + (cost.gpu(l) || 0) + (cost.wait(l) || 0) > 0);
  const holder = el("div");
  let grid = null;
  const fill = () => {
    if (grid) return;
    const shown = linesState.around === "cost" ? aroundLines(file, rows, cost.cpu) : inContext(file, rows, linesState.around === "near"), heat = heatOf(path, file, view);
    const columns = columnsThatFit(view.columns.filter((c) => rows.some((r) => c.value(r)))).map((c) => (c.title !== "CPU" ? c : { ...c, show: (l) => (l.total > 0 ? el("span", { class: "amount total" }, amount(l.total, cost.total)) : c.show(l)) })), language = languageOf(path, file);
    const marks = language ? openMarks(lineTexts(file), language) : null;
    const source = (l) => (l.gap ? el("span", { class: "gap" }, l.gap) : highlighted(l.text ?? l.name ?? functionOf(file, l), l.text === null ? null : language, marks?.get(l.line) ?? null, 240));
    grid = table([
      { title: "Line", number: true, rem: 3.4, key: "line", format: (v) => (known(v) ? String(v) : ""), show: (l) => !l.gap && inside("lines", `${path}:${l.line}`, String(l.line)) },
      { title: "Source", kind: "source", value: (l) => l.gap ?? l.text ?? "", show: source }, ...columns], shown,
    { name: `lines of ${shortPath(path)}`, limit: linesState.around === "cost" ? 200 : 600, sort: 0, up: true, context: (l) => l.context, rowKey: (l) => (l.gap ? "" : String(l.line)), rowClass: (l) => (l.context ? "context" : `heat-${heat(l)}`) });
    if (!known(file.length) && !rows.some((l) => l.text)) holder.append(el("p", { class: "note" }, "The source is not shown: there was no such file where the program's debug information names it."));
    holder.append(grid);
  };
  const gpu = profile.totals.gpu_sum_s > 0;
  const node = el("details", { class: "file", "data-path": path, ontoggle: () => node.open && fill() },
    el("summary", {}, el("bdi", {}, plain(path)), " · CPU ", percent(view.share(file)), file.user && view.own && view.own.file(path) > Math.max(0, view.share(file) - 0.005) && `, ${percent(view.own.file(path))} with libraries${view.workers(path) ? " and workers" : ""}`, gpu && ` · GPU ${percent(view.gpuShare(file))}`), holder);
  node.fill = fill;
  node.reveal = (line) => { fill(); return grid.reveal(String(line)); };
  if (open) { node.open = true; fill(); }
  return node;
}

// Files that are not the program's own, behind one line.
function otherFiles(files, section, view, open) {
  const gpu = view.gpu ? `, ${percent(sumOf(files, ([, f]) => view.gpuShare(f)))} of GPU time` : "";
  const node = el("details", { class: "others", ontoggle: () => node.open && fill() }, el("summary", {}, `${count(files.length)} other ${files.length === 1 ? "file" : "files"}, ${percent(sumOf(files, ([, f]) => view.share(f)))} of CPU time${gpu}`));
  const fill = () => { if (node.childElementCount === 1) node.append(...files.map((f) => section(f, view.matters(f[1])))); };
  node.fill = fill;
  if (open) { node.open = true; fill(); }
  return node;
}

function drawLines() {
  const profile = linesProfile, cost = lineCosts(profile), gpu = profile.totals.gpu_sum_s > 0, hottest = { cpu: 0, gpu: 0, inside: 0 };
  for (const file of Object.values(profile.files)) for (const l of list(file.lines)) { hottest.cpu = Math.max(hottest.cpu, cost.cpu(l) || 0); hottest.gpu = Math.max(hottest.gpu, cost.gpu(l) || 0); hottest.inside = Math.max(hottest.inside, l.gpu?.inside_s || 0); }
  const whole = !cost.part && !isFiltered();
  const pools = new Set([...ownSums(profile).pool.keys()].map((at) => at.replace(/:\d*$/, "")));
  const view = { own: ownShares(profile, cost), workers: (path) => pools.has(path), cost, hottest, whole, gpu, columns: lineColumns(profile, cost), share: (f) => (whole ? f.cpu_share : cost.total > 0 ? sumOf(list(f.lines), cost.cpu) / cost.total : null), gpuShare: (f) => (whole ? f.gpu_share : cost.gpuTotal > 0 ? sumOf(list(f.lines), cost.gpu) / cost.gpuTotal : null) };
  const device = Math.min(1, 20 * (profile.totals.gpu_busy_s || 0) / profile.meta.wall_s); // a GPU that was busy for less than 5 % of the run orders no files
  const weights = new Map(Object.entries(profile.files).map(([path, f]) => [f, Math.max(view.share(f) || 0, device * view.gpuShare(f) || 0, (device * sumOf(list(f.lines), (l) => l.gpu?.inside_s)) / profile.totals.kernel_s || 0, (f.user && view.own?.file(path)) || 0)]));
  const files = Object.entries(profile.files).filter(([path, f]) => path.toLowerCase().includes(linesState.text.toLowerCase()) && (whole || weights.get(f) > 0)).sort((a, b) => weights.get(b[1]) - weights.get(a[1]));
  const own = files.filter(([, f]) => f.user), rest = files.filter(([, f]) => !f.user), first = own.length ? own : rest, folded = own.length ? rest : [];
  const was = new Set([...linesBody.querySelectorAll("details.file[open]")].map((n) => n.dataset.path)), wasOpen = !!linesBody.querySelector("details.others[open]") || linesState.text !== "";
  const ownPart = sumOf(own, ([, f]) => view.share(f)), matters = (f) => ownPart < 0.3 && view.share(f) >= 0.1; // a program that lives in a library
  const section = ([path, file], open) => fileSection(path, file, profile, view, open || was.has(path));
  const outside = isFiltered() ? [] : list(profile.unattributed).filter((m) => cpuOf(m) > 0 || m.gpu_s > 0 || m.alloc_mb > 0); // waiting alone stands in the summary
  linesBody.replaceChildren(...first.map((f, i) => section(f, was.size === 0 && i === 0)), ...(folded.length ? [otherFiles(folded, section, { ...view, matters }, wasOpen || (was.size === 0 && folded.some(([, f]) => matters(f))))] : []),
    ...(files.length ? [] : [el("p", {}, Object.keys(profile.files).length ? "No file matches." : "No source line is known. Build with -g (it changes no optimisation), or install debug symbols.")]),
    ...(outside.length ? [el("h2", {}, "Without a source line"), table([
      { title: "Module", kind: "name", key: "module", show: (m) => code(m.module) },
      { title: "CPU", number: true, value: cpuOf, format: seconds }, { title: "of all CPU", number: true, value: (m) => m.cpu?.share, format: percent },
      ...(gpu ? [{ title: "GPU", number: true, key: "gpu_s", format: seconds }] : []), { title: "allocated", number: true, key: "alloc_mb", format: megabytes }],
    outside, { name: "modules without lines", sort: 1 })] : []));
  if (linesState.line) chooseLine(...linesState.line, false);
}

// A line with the source around it and its numbers as Markdown, for somebody who does not have the page.
export function lineStory(path, line) {
  const file = linesProfile.files[path], l = list(file.lines).find((x) => x.line === line) ?? { line }, facts = factsOf(l);
  const texts = lineTexts(file), around = [], p = linesProfile;
  for (let n = Math.max(1, l.line - 8); n <= l.line + 8; n++) if (texts.has(n)) around.push(`${String(n).padStart(5)}${n === l.line ? " >" : "  "} ${texts.get(n)}`);
  const told = list(p.answers).filter((a) => a.file === path && a.line === l.line).flatMap((a) => [a.text, a.advice]).filter(Boolean);
  return [`# ${path}:${l.line} of \`${list(p.meta.command).join(" ")}\``, "", `Recorded by tomoprof ${p.meta.tool_version}: ${[known(p.meta.wall_s) && seconds(p.meta.wall_s), `${seconds(cpuTotal(p))} ${cpuName()}`.trim()].filter(Boolean).join(", ")}. The line takes ${percent(p.totals.cpu ? Math.max(cpuOf(l), ownTimes(p)(l)) / (cpuTotal(p) || 1) : null)} of it, with what it calls.`, "", ...(around.length ? ["```" + (languageOf(path, file) ?? ""), ...around, "```", ""] : []),
    ...facts.filter(([, , v]) => v > 0).map(([title, text]) => `- ${title}: ${text}`), ...told.map((t) => `- ${t}`)].map(plain).join("\n") + "\n";
}

// Returns facts about a line: [title, text, value].
function factsOf(l) {
  const m = l.mem || {}, c = l.copy || {}, g = l.gpu || {}, ranges = list(linesProfile.ranges);
  return [["Python", seconds(l.cpu?.python), l.cpu?.python], ["native", seconds(l.cpu?.native), l.cpu?.native], ["system", seconds(l.cpu?.sys), l.cpu?.sys], ["CPU with callees", seconds(inclusive(linesProfile, l)), inclusive(linesProfile, l)], ["of that by threads and processes that work for it", seconds(poolOf(linesProfile, l)), poolOf(linesProfile, l)],
    ["standard error", seconds(l.cpu?.error), l.cpu?.error], ["CPU samples", count(l.cpu?.samples), l.cpu?.samples], ["waits", seconds(l.cpu?.wait), l.cpu?.wait], ["GPU", seconds(l.gpu_self_s), l.gpu_self_s], ["GPU with callees", seconds(l.gpu_incl_s), l.gpu_incl_s], ["device code", seconds(g.device_s), g.device_s],
    ["in kernels", seconds(g.inside_s), g.inside_s], ["with inlined code", seconds(g.inside_incl_s), g.inside_incl_s],
    ...warpsAt(linesProfile, l).slice(0, 4).map((w) => [`sampled warps: ${w.meaning}`, `${count(w.n)} of ${count(w.all)}`, w.n]),
    ["launches", count(g.launches), g.launches], ["copies on GPU", seconds(g.copy_s), g.copy_s], ["to device", bytes(c.h2d?.bytes), c.h2d?.bytes], ["from device", bytes(c.d2h?.bytes), c.d2h?.bytes],
    ["memory peak", megabytes(m.peak_mb), m.peak_mb], ["average", megabytes(m.avg_mb), m.avg_mb], ["allocated", `${megabytes(m.alloc_mb)} ± ${megabytes(m.error_mb)}`, m.alloc_mb], ["allocations", count(m.n), m.n], ["live at the end", megabytes(m.live_end_mb), m.live_end_mb], ["host copies", megabytes(c.host_mb), c.host_mb],
    ...list(l.ranges).slice(0, 3).map((r) => [`in ${plain(ranges[r.range]?.name ?? "a range")}`, seconds(r.cpu_s), r.cpu_s]),
    ...(list(l.threads).length > 1 ? l.threads.slice(0, 4).map((x) => [`on ${threadName(list(linesProfile.threads)[x.thread])}`, seconds(x.cpu_s), x.cpu_s]) : [])];
}

// All that is known of one line, with ways to the other parts, in a row below it.
function lineFacts(path, file, l) {
  const facts = factsOf(l), name = list(file.functions)[l.function]?.name, link = `${path}:${l.line}`;
  return [el("div", { class: "tools" }, code(`${plain(path)}:${l.line}`),
    button("Copy link", () => copy(location.href.split("#")[0] + address("lines", link)), { "aria-label": `Copy the link to ${shortPath(path)}:${l.line}` }),
    button("Copy for an assistant", () => copy(lineStory(path, l.line)), { title: "the line, the source around it and its numbers, as Markdown" }),
    rowsOf(linesProfile.stacks) > 0 && button("Flame graph", () => goTo("flame-graph", link)), name && rowsOf(linesProfile.stacks) > 0 && button(`Callers of ${cut(shortName(name, file.language), 30)}`, () => goTo("calls", name))),
  el("ul", { class: "facts" }, facts.filter(([, , v]) => v > 0).map(([title, text]) => el("li", {}, `${title} `, el("strong", {}, text))))];
}

// Shows, marks and describes a line; null where the report does not have it.
function chooseLine(path, line, scroll) {
  const find = () => [...linesBody.querySelectorAll("details.file")].find((n) => n.dataset.path === path);
  let node = find();
  const others = linesBody.querySelector("details.others");
  if (!node && others) { others.fill(); node = find(); }
  if (!node) return null;
  if (scroll) for (let n = node; n && n !== linesBody; n = n.parentElement) if (n.tagName === "DETAILS") n.open = true;
  linesBody.querySelectorAll("tr.chosen").forEach((r) => r.classList.remove("chosen"));
  linesBody.querySelectorAll("tr.detail").forEach((r) => r.remove());
  const row = known(line) && (scroll || node.open) ? node.reveal(line) : null, file = linesProfile.files[path];
  if (row) {
    row.classList.add("chosen");
    const l = list(file.lines).find((x) => x.line === line) ?? { line };
    row.after(el("tr", { class: "detail" }, el("td", { colspan: row.cells.length }, lineFacts(path, file, l))));
  }
  if (scroll) (row || node).scrollIntoView({ block: row ? "center" : "start" });
  if (scroll) (row ? row.querySelector("a") : node.querySelector("summary")).focus({ preventScroll: !!row });
  return row;
}

function openLine(what) {
  const [, path, number_] = /^(.*?)(?::(\d+))?$/s.exec(what), line = number_ ? +number_ : null, file = linesProfile.files[path];
  if (!file) { say(`${shortPath(path)} is not in this report.`); return; }
  linesState.line = [path, line];
  if (chooseLine(path, line, true) || line === null) return;
  linesState.text = ""; // what hides it
  linesState.part = "all";
  if (lineTexts(file).has(line) && !list(file.lines).some((l) => l.line === line)) linesState.around = "all";
  linesControls();
  drawLines();
  if (!chooseLine(path, line, true)) say(`Line ${line} is not in this report.`);
}

let linesControls = () => {}; // brings the menus in step with linesState

// A suite's processes wait for one another: that explains nothing.
export const ofSuite = () => !!linesTiming;

// Before any part asks for the lines' costs: of a suite's traced pass, those of its operations come first.
export function prepareLines(profile, timing) {
  linesProfile = profile;
  linesTiming = timing;
  linesState.part = timing && partOf(profile, timing, "operations") ? "operations" : "all";
}

export function linesPanel(profile, timing) {
  linesBody = el("div");
  const suite = timing && partOf(profile, timing, "operations");
  routes.set("lines", openLine);
  onFilter("lines", drawLines);
  drawLines();
  const redraw = (key) => (value) => { linesState[key] = value; drawLines(); };
  const texts = Object.values(profile.files).some((f) => list(f.source?.line).length);
  const around = texts && choice("Lines", [["cost", "profiled only"], ["near", "with 3 around"], ["all", "whole file"]], linesState.around, redraw("around"));
  const part = suite && choice("Part", [["operations", "operations"], ["rest", "set-up and checks"], ["all", "all"]], linesState.part, redraw("part"));
  const find = search("Filter files", redraw("text"));
  const timedNote = el("p", { class: "note" }), tellTimed = () => { timedNote.textContent = isTimed() ? `Times are sums of the samples ${rangePhrase()}. GPU time, memory and the division into Python, native code and system are not known for a range.` : ""; timedNote.hidden = !isTimed(); };
  document.addEventListener("chosenchange", tellTimed);
  tellTimed();
  linesControls = () => { find.value = linesState.text; if (around) around.querySelector("select").value = linesState.around; if (part) part.querySelector("select").value = linesState.part; };
  const all = (open) => { const others = linesBody.querySelector("details.others"); others?.fill(); linesBody.querySelectorAll("details.file, details.others").forEach((d) => { d.open = open; }); };
  return [
    el("div", { class: "tools" }, toggle("% of total", true, (on) => redraw("unit")(on ? "%" : "s")), around, part, find, button("Open all", () => all(true)), button("Close all", () => all(false))),
    timedNote,
    el("ul", { class: "legend", "aria-label": "Colours" }, profile.totals.cpu && ["python", "native", "system"].filter((n) => n !== "python" || profile.totals.cpu.python > 0).map((n) => el("li", {}, el("i", { class: "k" + COLOUR[n] }), MEANING[n])),
      el("li", {}, el("i", { class: "heat-sample" }), "behind the source: the line with the libraries that it calls, as a share of the hotspot"), known(profile.memory?.bin_s) && el("li", {}, el("i", { class: "k" + COLOUR.memory }), "memory over the run")),
    linesBody,
  ].filter(Boolean);
}
