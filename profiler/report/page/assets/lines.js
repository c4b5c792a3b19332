// Cost by source line, file by file, with the text of the lines.

const linesState = { unit: "s", who: "all", functions: false, text: "", around: "cost", part: "all" };
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
  const node = svg("svg", { class: "curve", viewBox: `0 0 ${values.length} 20`, width: 96, height: 20, preserveAspectRatio: "none", role: "img", "aria-label": text });
  const steps = values.map((v, i) => { const y = (19 - (18 * v) / (high || 1)).toFixed(1); return `L${i},${y}L${i + 1},${y}`; }).join("");
  node.append(svg("title", {}, text), svg("path", { d: `M0,19${steps}L${values.length},19Z` }));
  return node;
}

// Columns that hold something in this profile; an empty one would only take room.
function lineColumns(profile, part) {
  const t = profile.totals, all = cpuTotal(profile), cpu = part ? part.total : all, own = part ? part.cpu : cpuOf;
  const longest = Math.max(...allLines(profile).map(own), 1e-12); // bars are relative to it
  const time = (title, value, total, hint) => ({ title, number: true, value, format: (v) => (v ? amount(v, total) : ""), hint, used: total > 0 });
  const memory = (title, value, total, hint) => ({ title, number: true, value, format: (v) => (v ? amount(v, total, true) : ""), hint, used: total > 0 });
  const parts = (l) => (part ? [[own(l), 0]] : [[l.cpu.python, 1], [l.cpu.native ?? l.cpu.user, 0], [l.cpu.sys, 5]]);
  return [
    { title: "Line", number: true, key: "line", format: (v) => (known(v) ? String(v) : ""), used: true },
    { title: "CPU", number: true, value: own, hint: "Python, native and system time of the line itself; the longest bar is the dearest line", used: cpu > 0, format: (v) => (v ? amount(v, cpu) : ""),
      show: (l) => own(l) > 0 && el("span", { class: "both" }, cellBar(parts(l), longest,
        part ? `CPU ${seconds(own(l))}` : `Python ${seconds(l.cpu.python)}, native ${seconds(l.cpu.native)}, system ${seconds(l.cpu.sys)}`), el("span", { class: "amount" }, amount(own(l), cpu))) },
    time("GPU", (l) => l.gpu_self_s, t.gpu_sum_s, "device time of what this line launched"),
    { ...time("with callees", (l) => (l.cpu_incl?.user || 0) + (l.cpu_incl?.sys || 0), all, "CPU time here and below; recursion counts once"), used: all > 0 && !part },
    time("waits", (l) => l.cpu?.wait, t.cpu?.wait, "wall time blocked or ready without a CPU"),
    time("GPU with callees", (l) => l.gpu_incl_s, t.gpu_sum_s, "device time of what was launched here or below"),
    { ...time("device code", (l) => l.gpu?.device_s, t.kernel_s, "time of the kernels whose code begins here, whoever launched them"), used: allLines(profile).some((l) => l.gpu?.device_s > 0) },
    { title: "launches", number: true, value: (l) => l.gpu?.launches, format: (v) => (v ? count(v) : ""), used: t.launches > 0 },
    time("copies on GPU", (l) => l.gpu?.copy_s, t.copy_s),
    { title: "to device", number: true, value: (l) => l.copy?.h2d?.bytes, format: (v) => (v ? bytes(v) : ""), used: t.h2d_bytes > 0 },
    { title: "from device", number: true, value: (l) => l.copy?.d2h?.bytes, format: (v) => (v ? bytes(v) : ""), used: t.d2h_bytes > 0 },
    memory("peak", (l) => l.mem?.peak_mb, t.peak_heap_mb, "most that was live at once"),
    { title: "memory over time", kind: "name", value: (l) => (list(l.live_mb).length ? Math.max(...l.live_mb) : 0), format: (v, l) => memoryCurve(l, profile)?.getAttribute("aria-label") ?? "", show: (l) => memoryCurve(l, profile),
      hint: "live memory of the line from the start to the end of the run; lines below 1 % of the largest heap have none", used: known(profile.memory?.bin_s) },
    memory("average", (l) => l.mem?.avg_mb, t.peak_heap_mb, "live, mean over the time"),
    memory("allocated", (l) => l.mem?.alloc_mb, t.alloc_mb, "in all, estimated from samples"),
    { title: "allocations", number: true, value: (l) => l.mem?.n, format: (v) => (v ? count(v) : ""), hint: "estimated from samples", used: t.allocs > 0 },
    memory("host copies", (l) => l.copy?.host_mb, t.copy_mb, "memcpy and memmove, estimated"),
    { title: "mostly in", kind: "name", value: (l) => (part ? part.main(l) : plain(list(profile.ranges)[list(l.ranges)[0]?.range]?.name ?? "")), hint: "the outermost NVTX range that holds most of the line's CPU time", used: list(profile.ranges).some((r) => r.cpu_s > 0) },
  ].filter((c) => c.used);
}

// The lines that cost something between those that did not, as far as the report holds their text; `near`: no further than 3 lines away.
function inContext(file, rows, near) {
  const text = new Map([...list(file.source?.line).map((n, i) => [n, file.source.text[i]]), ...list(file.lines).filter((l) => known(l.line) && l.text !== null).map((l) => [l.line, l.text])]), at = new Map(rows.map((l) => [l.line, l]));
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

function fileSection(path, file, profile, all, part, open) {
  const cost = linesState.functions ? list(file.functions) : list(file.lines).filter((l) => !part || part.cpu(l) > 0);
  const rows = linesState.functions || linesState.around === "cost" ? cost : inContext(file, cost, linesState.around === "near");
  const columns = all.filter((c) => c.title === "Line" || cost.some((r) => (c.value ? c.value(r) : r[c.key])));
  const source = (l) => (l.gap ? el("span", { class: "gap" }, l.gap) : code(l.text ?? "", 240));
  const named = linesState.functions
    ? [{ title: "Function", key: "name", kind: "source", show: (f) => code(f.name, 120) }, ...columns.filter((c) => c.title !== "memory over time" && c.title !== "mostly in")]
    : [{ ...columns[0], show: (l) => !l.gap && el("bdi", {}, String(l.line)) }, { title: "Source", kind: "source", value: (l) => l.gap ?? l.text ?? "", show: source }, ...columns.slice(1)];
  const holder = el("div");
  const fill = () => {
    if (holder.childElementCount) return;
    const by = named.findIndex((c) => c.title === (profile.totals.gpu_sum_s > 0 ? "GPU" : "CPU")); // functions; lines stand in their order
    holder.append(table(named, rows, { name: `${linesState.functions ? "functions" : "lines"} of ${shortPath(path)}`, limit: linesState.around === "cost" ? 200 : 2000,
      sort: linesState.functions ? by : 0, up: !linesState.functions, context: (l) => l.context,
      rowClass: (l) => (l.context ? "context" : (l.cpu?.share || 0) > 0.05 || (l.gpu?.share || 0) > 0.05 ? "hot" : null) }));
  };
  const share = part ? cost.reduce((a, l) => a + (part.cpu(l) || 0), 0) / part.total : file.cpu_share;
  const node = el("details", { class: "file", "data-path": path, ontoggle: () => node.open && fill() },
    el("summary", {}, el("bdi", {}, plain(path)), " · CPU ", percent(share), profile.totals.gpu_sum_s > 0 && ` · GPU ${percent(file.gpu_share)}`, file.user ? "" : " · library"), holder);
  if (open) { node.open = true; fill(); }
  return node;
}

function drawLines() {
  const profile = linesProfile, part = linesState.part === "all" || linesState.functions ? null : partOf(profile, linesTiming, linesState.part), columns = lineColumns(profile, part);
  const weight = (f) => (part ? list(f.lines).reduce((a, l) => a + part.cpu(l), 0) : Math.max(f.cpu_share || 0, f.gpu_share || 0));
  const files = Object.entries(profile.files)
    .filter(([path, f]) => (linesState.who === "all" || (linesState.who === "user") === !!f.user) && path.toLowerCase().includes(linesState.text.toLowerCase()) && (!part || weight(f) > 0))
    .sort((a, b) => weight(b[1]) - weight(a[1]));
  const was = new Set([...linesBody.querySelectorAll("details.file[open]")].map((n) => n.dataset.path));
  linesBody.replaceChildren(...files.map(([path, file], i) => fileSection(path, file, profile, columns, part, was.size ? was.has(path) : i === 0)),
    ...(files.length ? [] : [el("p", {}, Object.keys(profile.files).length ? "No file matches." : "No source line is known. Build with -g (it changes no optimisation), or install debug symbols.")]));
}

function openLine(path) {
  for (const node of linesBody.querySelectorAll("details.file")) {
    if (node.dataset.path !== path) continue;
    node.open = true;
    node.scrollIntoView({ block: "start" });
    node.querySelector("summary").focus();
  }
}

function linesPanel(profile, timing) {
  linesProfile = profile;
  linesTiming = timing;
  linesBody = el("div");
  const suite = timing && partOf(profile, timing, "operations");
  linesState.part = suite ? "operations" : "all";
  drawLines();
  const redraw = (key) => (value) => { linesState[key] = value; drawLines(); };
  const outside = list(profile.unattributed).filter((m) => cpuOf(m) > 0 || m.gpu_s > 0 || m.alloc_mb > 0); // waiting alone stands in the summary
  const texts = Object.values(profile.files).some((f) => list(f.source?.line).length);
  return [
    el("div", { class: "tools" },
      toggle("% of total", false, (on) => redraw("unit")(on ? "%" : "s")),
      toggle("Functions", false, redraw("functions")),
      texts && choice("Lines", [["cost", "profiled only"], ["near", "with 3 around"], ["all", "whole file"]], "cost", redraw("around")),
      suite && choice("Part", [["operations", "operations"], ["rest", "set-up and checks"], ["all", "all"]], linesState.part, redraw("part")),
      choice("Code", [["all", "all"], ["user", "own code"], ["library", "libraries"]], "all", redraw("who")),
      search("Filter files", redraw("text")),
      button("Open all", () => linesBody.querySelectorAll("details.file").forEach((d) => { d.open = true; })),
      button("Close all", () => linesBody.querySelectorAll("details.file").forEach((d) => { d.open = false; }))),
    profile.totals.cpu && legend([{ name: "Python", k: 1 }, { name: "native code", k: 0 }, { name: "system", k: 5 }].filter((p) => p.k !== 1 || profile.totals.cpu.python > 0)),
    linesBody,
    outside.length > 0 && [el("h2", {}, "Without a source line"), table([
      { title: "Module", kind: "name", key: "module", show: (m) => code(m.module) },
      { title: "CPU", number: true, value: cpuOf, format: seconds }, { title: "of all CPU", number: true, value: (m) => m.cpu?.share, format: percent },
      ...(profile.totals.gpu_sum_s > 0 ? [{ title: "GPU", number: true, key: "gpu_s", format: seconds }] : []), { title: "allocated", number: true, key: "alloc_mb", format: megabytes }],
    outside, { name: "modules without lines", sort: 1 })],
  ].flat(2).filter(Boolean);
}
