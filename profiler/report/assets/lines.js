// Cost by source line, file by file, with the text of the lines.

const linesState = { unit: "s", who: "all", functions: false, text: "" };
let linesBody = null, linesProfile = null;

function amount(value, total, bytesToo) {
  if (linesState.unit === "%") return known(value) && total > 0 ? percent(value / total) : UNKNOWN;
  return bytesToo ? megabytes(value) : seconds(value);
}

// Columns that hold something in this profile; an empty one would only take room.
function lineColumns(profile) {
  const t = profile.totals, cpu = (t.cpu?.user || 0) + (t.cpu?.sys || 0);
  const time = (title, value, total, hint) => ({ title, number: true, value, format: (v) => (v ? amount(v, total) : ""), hint, used: total > 0 });
  const memory = (title, value, total, hint) => ({ title, number: true, value, format: (v) => (v ? amount(v, total, true) : ""), hint, used: total > 0 });
  return [
    { title: "Line", number: true, key: "line", format: (v) => String(v), used: true },
    { title: "CPU", number: true, value: cpuOf, hint: "Python, native and system time of the line itself", used: cpu > 0, format: (v) => (v ? amount(v, cpu) : ""),
      show: (l) => cpuOf(l) > 0 && el("span", {}, cellBar([[l.cpu.python, 1], [l.cpu.native ?? l.cpu.user, 0], [l.cpu.sys, 5]], cpu,
        `Python ${seconds(l.cpu.python)}, native ${seconds(l.cpu.native)}, system ${seconds(l.cpu.sys)}`), el("span", { class: "amount" }, amount(cpuOf(l), cpu))) },
    time("with callees", (l) => (l.cpu_incl?.user || 0) + (l.cpu_incl?.sys || 0), cpu, "CPU time here and below; recursion counts once"),
    time("waits", (l) => l.cpu?.wait, t.cpu?.wait, "wall time blocked or ready without a CPU"),
    time("GPU", (l) => l.gpu_self_s, t.gpu_sum_s, "device time of what this line launched"),
    time("GPU with callees", (l) => l.gpu_incl_s, t.gpu_sum_s, "device time of what was launched here or below"),
    { title: "launches", number: true, value: (l) => l.gpu?.launches, format: (v) => (v ? count(v) : ""), used: t.launches > 0 },
    time("copies on GPU", (l) => l.gpu?.copy_s, t.copy_s),
    { title: "to device", number: true, value: (l) => l.copy?.h2d?.bytes, format: (v) => (v ? bytes(v) : ""), used: t.h2d_bytes > 0 },
    { title: "from device", number: true, value: (l) => l.copy?.d2h?.bytes, format: (v) => (v ? bytes(v) : ""), used: t.d2h_bytes > 0 },
    memory("allocated", (l) => l.mem?.alloc_mb, t.alloc_mb, "in all, estimated from samples"),
    { title: "allocations", number: true, value: (l) => l.mem?.n, format: (v) => (v ? number(v) : ""), used: t.allocs > 0 },
    memory("peak", (l) => l.mem?.peak_mb, t.peak_heap_mb, "most that was live at once"),
    memory("average", (l) => l.mem?.avg_mb, t.peak_heap_mb, "live, mean over the time"),
    memory("host copies", (l) => l.copy?.host_mb, t.copy_mb, "memcpy and memmove, estimated"),
  ].filter((c) => c.used);
}

function fileSection(path, file, profile, columns, open) {
  const rows = list(linesState.functions ? file.functions : file.lines);
  const named = linesState.functions
    ? [{ title: "Function", key: "name", kind: "source", show: (f) => code(f.name, 120) }, ...columns]
    : [columns[0], { title: "Source", kind: "source", value: (l) => l.text ?? "", show: (l) => code(l.text ?? "", 240) }, ...columns.slice(1)];
  const holder = el("div");
  const fill = () => {
    if (holder.childElementCount) return;
    const by = named.findIndex((c) => c.title === (profile.totals.gpu_sum_s > 0 ? "GPU" : "CPU")); // functions; lines stand in their order
    holder.append(table(named, rows, { name: `${linesState.functions ? "functions" : "lines"} of ${shortPath(path)}`, limit: 200,
      sort: linesState.functions ? by : 0, rowClass: (l) => ((l.cpu?.share || 0) > 0.05 || (l.gpu?.share || 0) > 0.05 ? "hot" : null) }));
    if (!linesState.functions) holder.querySelector("thead .sort").click(); // by number, ascending
  };
  const node = el("details", { class: "file", "data-path": path, ontoggle: () => node.open && fill() },
    el("summary", {}, el("bdi", {}, plain(path)), " · CPU ", percent(file.cpu_share), profile.totals.gpu_sum_s > 0 && ` · GPU ${percent(file.gpu_share)}`, file.user ? "" : " · library"), holder);
  if (open) { node.open = true; fill(); }
  return node;
}

function drawLines() {
  const profile = linesProfile, columns = lineColumns(profile);
  const weight = (f) => Math.max(f.cpu_share || 0, f.gpu_share || 0);
  const files = Object.entries(profile.files)
    .filter(([path, f]) => (linesState.who === "all" || (linesState.who === "user") === !!f.user) && path.toLowerCase().includes(linesState.text.toLowerCase()))
    .sort((a, b) => weight(b[1]) - weight(a[1]));
  linesBody.replaceChildren(...files.map(([path, file], i) => fileSection(path, file, profile, columns, i === 0)),
    ...(files.length ? [] : [el("p", {}, "No file matches.")]));
}

function openLine(path) {
  for (const node of linesBody.querySelectorAll("details.file")) {
    if (node.dataset.path !== path) continue;
    node.open = true;
    node.scrollIntoView({ block: "start" });
    node.querySelector("summary").focus();
  }
}

function linesPanel(profile) {
  linesProfile = profile;
  linesBody = el("div");
  drawLines();
  const redraw = (key) => (value) => { linesState[key] = value; drawLines(); };
  return [
    el("div", { class: "tools" },
      toggle("% of total", false, (on) => redraw("unit")(on ? "%" : "s")),
      toggle("Functions", false, redraw("functions")),
      choice("Code", [["all", "all"], ["user", "own code"], ["library", "libraries"]], "all", redraw("who")),
      search("Filter files", redraw("text")),
      button("Open all", () => linesBody.querySelectorAll("details.file").forEach((d) => { d.open = true; })),
      button("Close all", () => linesBody.querySelectorAll("details.file").forEach((d) => { d.open = false; }))),
    linesBody,
    list(profile.unattributed).length > 0 && [el("h2", {}, "Without a source line"), table([
      { title: "Module", kind: "name", key: "module", show: (m) => code(m.module) },
      { title: "CPU", number: true, value: cpuOf, format: seconds }, { title: "of all CPU", number: true, value: (m) => m.cpu?.share, format: percent },
      { title: "GPU", number: true, key: "gpu_s", format: seconds }, { title: "allocated", number: true, key: "alloc_mb", format: megabytes }],
    profile.unattributed, { name: "modules without lines", sort: 1 })],
  ].flat(2).filter(Boolean);
}
