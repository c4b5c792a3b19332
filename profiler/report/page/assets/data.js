// The data blocks of this file: gzip in base64, unpacked by the browser itself. null where a run has none.
import { known, plain } from "./ui.js";

export async function unpack(id) {
  const node = document.getElementById(id);
  if (!node) return null;
  const binary = atob(node.textContent.trim()), raw = new Uint8Array(binary.length);
  for (let i = 0; i < raw.length; i++) raw[i] = binary.charCodeAt(i);
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("gzip"));
  const text = await new Response(stream).text();
  node.remove();
  const data = JSON.parse(text);
  if (id === "data-profile") unfoldProfile(data);
  return data;
}

// Rows of what profiler/report/page/page_columns.c made columns of.
function rowsFrom({ rows, of }) {
  const out = Array.from({ length: rows }, () => ({}));
  for (const [key, column] of Object.entries(of)) valuesFrom(column).forEach((value, i) => { out[i][key] = value; });
  return out;
}
function valuesFrom(column) {
  if (Array.isArray(column)) return column;
  if (!column.counts) return rowsFrom(column);
  const all = rowsFrom(column.all);
  let at = 0;
  return column.counts.map((n) => all.slice(at, (at += n)));
}

// profile.json as it was, from the short form of the page (profiler/report/page/page_profile.h).
function unfoldProfile(data) {
  if (data.stacks?.up) data.stacks.parent = data.stacks.up.map((distance, i) => (distance ? i - distance : null));
  for (const { step_ns, events } of list(data.timeline)) if (step_ns) for (const key of ["start", "length", "busy"]) if (events[key]) events[key] = events[key].map((steps) => steps * step_ns);
  if (data.lines) { const lines = valuesFrom(data.lines); Object.values(data.files).forEach((file, i) => { file.lines = lines[i]; }); }
  for (const [holder, key] of [[data, "threads"], [data.io, "files"]]) if (holder?.[key]?.of) holder[key] = rowsFrom(holder[key]);
}

// A table of columns {a: [...], b: [...]} has as many rows as its first column.
export const rowsOf = (columns) => { const first = columns && Object.values(columns)[0]; return first ? first.length : 0; };

// The recorder's own thread, which it does not sample: no share of what the kernel counts for it is in samples.
export const ofRecorder = (thread) => !thread.main && thread.name === "tomoprof" && !known(thread.coverage) && !(thread.user_s > 0);

// A function of a profile that is computed once: a drag asks for it many times.
export const once = (make) => { const made = new WeakMap(); return (profile) => { if (!made.has(profile)) made.set(profile, make(profile)); return made.get(profile); }; };

export const list = (x) => (Array.isArray(x) ? x : []);

// Measured rows of the operations, by name: {name, sizes: [statistics], failed: [rows of the timed pass], scaling}
export function operations(timing) {
  if (!timing) return [];
  const all = new Map();
  for (const row of list(timing.measurements)) {
    if (!all.has(row.operation)) all.set(row.operation, { name: row.operation, sizes: [], failed: [], scaling: null });
    if (row.status !== "ok" && !row.traced) all.get(row.operation).failed.push(row);
  }
  for (const row of list(timing.statistics)) all.get(row.operation)?.sizes.push(row);
  for (const row of list(timing.scaling)) if (all.has(row.operation)) all.get(row.operation).scaling = row;
  for (const op of all.values()) op.sizes.sort((a, b) => a.volume_size - b.volume_size);
  return [...all.values()];
}

// Peak rates that stood beside the measurements of an operation: {flops, bytes} per second.
export function peakOf(timing, operation, size) {
  const row = list(timing.measurements).find((m) => m.operation === operation && m.volume_size === size && m.calibration);
  if (!row) return null;
  return { flops: row.calibration.gflops * 1e9, bytes: row.calibration.gbytes_per_s * 1e9, calls: row };
}

// What binds an operation: the nearer of the two peaks. null when it cannot be told.
export function boundBy(timing, statistic) {
  const peak = peakOf(timing, statistic.operation, statistic.volume_size);
  if (!peak || (!known(statistic.gflops) && !known(statistic.gbytes_per_s))) return null;
  const compute = ((statistic.gflops || 0) * 1e9) / peak.flops, memory = ((statistic.gbytes_per_s || 0) * 1e9) / peak.bytes; // an operation may declare its bytes alone
  const share = known(statistic.roof_share) ? statistic.roof_share : Math.max(compute, memory); // of all its runs; the peaks are those beside the first
  const by = compute >= memory ? "arithmetic" : "memory"; // in a column; `what` is for sentences
  return { what: by === "memory" ? "memory bandwidth" : by, by, share };
}

// All lines of a profile as rows with their file.
export function allLines(profile) {
  const rows = [];
  for (const [path, file] of Object.entries(profile?.files || {}))
    for (const line of list(file.lines)) rows.push({ path, file, ...line });
  return rows;
}

// Of the suite's traced pass: CPU time of lines inside of its operations ("operations"), or outside ("rest": set-up and checks), by the
// outermost NVTX range. null where no range has the name of an operation. {cpu(line), total, main(line)}
export function partOf(profile, timing, which) {
  const names = new Set(operations(timing).map((op) => op.name)), ranges = list(profile?.ranges);
  if (!ranges.some((r) => names.has(r.name) && known(r.cpu_s))) return null;
  const within = (l) => list(l.ranges).filter((r) => names.has(ranges[r.range]?.name));
  const inside = (l) => within(l).reduce((a, r) => a + r.cpu_s, 0);
  const cpu = which === "operations" ? inside : (l) => Math.max(0, cpuOf(l) - inside(l));
  const total = ranges.reduce((a, r) => a + (names.has(r.name) ? r.cpu_s || 0 : 0), 0), all = (profile.totals.cpu?.user || 0) + (profile.totals.cpu?.sys || 0);
  const main = (l) => plain((which === "operations" ? within(l)[0] && ranges[within(l)[0].range].name : list(l.ranges).map((r) => ranges[r.range].name).find((n) => !names.has(n)) ?? "no range") ?? "");
  return { cpu, total: which === "operations" ? total : Math.max(0, all - total), main };
}

export function operationShare(profile, timing) {
  const part = partOf(profile, timing, "operations");
  if (!part) return null;
  return { cpu: part.total, told: allLines(profile).some((l) => l.text && part.cpu(l) > 0) }; // told: a line of them has its source here
}

export const cpuOf = (row) => (row.cpu ? (row.cpu.user || 0) + (row.cpu.sys || 0) : 0);
export const shortPath = (path) => plain(path).split("/").slice(-2).join("/");

export const cpuTotal = (profile) => (profile.totals.cpu?.user || 0) + (profile.totals.cpu?.sys || 0);

export const lineName = (l) => `${shortPath(l.path)}:${l.line}`;

export const most = (rows, of) => rows.reduce((a, r) => ((of(r) || 0) > (a ? of(a) || 0 : 0) ? r : a), null);

export const placeText = (p) => (p.file ? `${shortPath(p.file)}:${p.line}` : "no host line");
