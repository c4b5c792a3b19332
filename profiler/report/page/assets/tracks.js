// Rows of the timeline: levels of joined events, names, groups by process and device.
import { list, rowsOf, shortPath } from "./data.js";
import { frameName } from "./stacks.js";
import { processName, threadName } from "./state.js";
import { known, plain } from "./ui.js";

// Absolute starts and ends of a track, and levels above it that join 8 neighbours each, so that a million events in view
// cost a few thousand boxes.
function trackData(track) {
  const e = track.events, n = rowsOf(e);
  const start = new Float64Array(n), end = new Float64Array(n), busy = new Float64Array(n), what = new Int32Array(n);
  let t = 0;
  for (let i = 0; i < n; i++) {
    t += e.start[i];
    start[i] = t;
    end[i] = t + e.length[i];
    busy[i] = e.busy ? e.busy[i] : e.length[i];
    what[i] = e.what[i] ?? -1;
  }
  const levels = [{ start, end, busy, what, n }];
  while (levels[levels.length - 1].n > 512) {
    const a = levels[levels.length - 1], m = Math.ceil(a.n / 8);
    const b = { start: new Float64Array(m), end: new Float64Array(m), busy: new Float64Array(m), what: new Int32Array(m), n: m };
    for (let i = 0; i < m; i++) {
      let longest = -1;
      b.start[i] = a.start[8 * i];
      for (let j = 8 * i; j < Math.min(a.n, 8 * i + 8); j++) {
        b.end[i] = Math.max(b.end[i], a.end[j]);
        b.busy[i] += a.busy[j];
        if (a.busy[j] > longest) { longest = a.busy[j]; b.what[i] = a.what[j]; }
      }
    }
    levels.push(b);
  }
  return levels;
}

// Ranges lie in one another: a row per depth, the deepest share one.
function rangeRows(track) {
  if (track.kind !== "range") return [{ t: track, depth: 0 }];
  const e = track.events, n = rowsOf(e), rows = [], open = [];
  for (let i = 0, at = 0; i < n; i++) {
    at += e.start[i];
    while (open.length && open[open.length - 1] <= at) open.pop();
    const depth = Math.min(open.length, 7);
    if (!rows[depth]) rows[depth] = { last: 0, events: { start: [], length: [], busy: [], count: [], what: [] } };
    const row = rows[depth];
    row.events.start.push(at - row.last);
    row.last = at;
    for (const key of ["length", "busy", "count", "what"]) row.events[key].push(e[key]?.[i] ?? (key === "count" ? 1 : e.length[i]));
    open.push(at + e.length[i]);
  }
  return rows.map((row, depth) => ({ t: { ...track, events: row.events }, depth }));
}

export function firstAfter(ends, t, n) { // ends are nearly sorted: good enough to start drawing a little early
  let low = 0, high = n;
  while (low < high) { const mid = (low + high) >> 1; if (ends[mid] < t) low = mid + 1; else high = mid; }
  return Math.max(0, low - 2);
}

const RUNTIME = /^(futex|syscall|__|_?pthread_|sem_|clock_nanosleep|nanosleep|select|poll|epoll_wait|read|write|recv|accept|wait4|waitid|do_futex|lll_|start_thread|clone)/;

// The frame that says most about what a thread waits in: the first of Python from the leaf, else the first that is not of libc.
export function tellingFrame(profile, stack) {
  const { stacks, frames } = profile, chain = [];
  for (let s = stack; s !== null && s >= 0; s = stacks.parent[s] ?? -1) if (stacks.frame[s] >= 0) chain.push(stacks.frame[s]);
  const of = (test) => chain.find(test);
  return of((f) => frames.kind[f] === "python" && profile.files?.[frames.file[f]]?.user) ?? of((f) => frames.kind[f] === "python" && !/^<|\/(threading|queue|concurrent|multiprocessing|selectors|subprocess)/.test(frames.file[f] ?? "")) ?? of((f) => frames.kind[f] === "python") ??
    of((f) => frames.kind[f] !== "thread" && frames.function[f] && !RUNTIME.test(frames.function[f]) && !/(^|\/)(nptl|sysdeps|glibc)/.test(frames.file[f] ?? "")) ?? chain[0];
}

// `named`: frameName, or what gives the whole name (hoverName).
export function eventName(profile, track, what, named = frameName) {
  if (what < 0 || what === null) return "";
  const pick = { kernel: ["kernels", "name"], copy: ["transfers", "direction"], set: ["memsets", "memory"], range: ["ranges", "name"], api: ["apis", "name"] }[track.kind];
  if (pick) return plain(list(profile[pick[0]])[what]?.[pick[1]] ?? "");
  const leaf = profile.stacks.frame?.[what], frame = track.kind === "wait" ? tellingFrame(profile, what) : leaf;
  if (frame === undefined || frame === null || frame < 0) return "";
  const line = profile.frames.line[frame], text = named(profile.frames, frame) + (profile.frames.file[frame] ? ` (${shortPath(profile.frames.file[frame])}${line > 0 ? ":" + line : ""})` : "");
  return track.kind === "wait" && frame !== leaf ? `${text}, in ${named(profile.frames, leaf)}` : text;
}

export const TRACK_KINDS = { cpu: "on CPU", wait: "waiting", kernel: "kernels", copy: "copies", set: "memsets", range: "ranges", api: "CUDA calls" };
export const TRACK_COLOURS = { cpu: "native", wait: "wait", kernel: "kernel", copy: "copy", set: "copy", range: "range", api: "waitCuda" };

// What ran longest in the outermost ranges: an operation of the suite, a step that the program names itself.
function operationOf(profile, tracks) {
  const sums = new Map();
  for (const t of tracks) if (t.kind === "range") { const first = rangeRows(t)[0].t.events; first.what.forEach((w, i) => sums.set(w, (sums.get(w) || 0) + first.busy[i])); }
  const [what] = [...sums].sort((a, b) => b[1] - a[1])[0] ?? [null];
  return what === null ? null : plain(list(profile.ranges)[what]?.name ?? "") || null;
}

// What a thread did is one row: its waits lie under its time on a CPU.
function threadRows(rows, profile) {
  const of = new Map(), out = [];
  for (const row of rows) {
    const thread = row.t.kind === "cpu" || row.t.kind === "wait" ? list(profile.threads)[row.t.thread] : null, first = thread && of.get(row.t.thread);
    if (first) { first.under = row; continue; }
    if (thread) { of.set(row.t.thread, row); row.name = threadName(thread); }
    out.push(row);
  }
  return out;
}

// Groups of rows, ranks in their order, else busiest first: {key, name, rows: [{t, depth, levels, name, quiet, names}]}. Quiet rows are those of threads that did nothing to speak of.
export function timelineGroups(profile) {
  const raw = list(profile.timeline).filter((t) => rowsOf(t.events)), groups = new Map(), worth = new Map();
  const keyOf = (t) => (known(t.device) && t.device >= 0 ? `d${t.device}` : `p${t.process ?? list(profile.threads)[t.thread]?.process ?? 0}`);
  const ownerOf = (t) => (known(t.thread) && t.thread >= 0 ? `t${t.thread}` : `s${t.device}.${t.context}.${t.stream}`);
  const add = (map, key, v) => map.set(key, (map.get(key) || 0) + v);
  let total = 1;
  for (const t of raw) {
    const key = keyOf(t), busy = t.events.busy ? t.events.busy.reduce((a, b) => a + b, 0) : t.events.length.reduce((a, b) => a + b, 0);
    if (!groups.has(key)) groups.set(key, { key, tracks: [] });
    groups.get(key).tracks.push(t);
    if (t.kind !== "wait") { add(worth, ownerOf(t), busy); add(worth, key, busy); }
    total = Math.max(total, t.events.start.reduce((a, b) => a + b, 0));
  }
  const order = Object.keys(TRACK_KINDS), value = (key) => worth.get(key) || 0;
  for (const group of groups.values()) {
    const first = group.tracks[0], device = group.key[0] === "d", operation = device ? null : operationOf(profile, group.tracks), process = list(profile.processes)[+group.key.slice(1)];
    group.name = device ? `GPU ${first.device}${list(profile.devices)[first.device]?.name ? ": " + plain(profile.devices[first.device].name) : ""}` : operation && !processName(process).startsWith(operation) ? `${operation} (${processName(process)})` : processName(process);
    group.rows = group.tracks.flatMap(rangeRows).map(({ t, depth }) => {
      const thread = list(profile.threads)[t.thread], owner = thread ? threadName(thread) : known(t.stream) ? `stream ${t.stream}` : "process";
      return { t, depth, levels: trackData(t), name: `${owner} · ${TRACK_KINDS[t.kind] || t.kind}${depth ? ` ${depth + 1}` : ""}`, quiet: value(ownerOf(t)) < 0.001 * total && !thread?.main, names: new Map() };
    }).sort((a, b) => value(ownerOf(b.t)) - value(ownerOf(a.t)) || (ownerOf(a.t) === ownerOf(b.t) ? order.indexOf(a.t.kind) - order.indexOf(b.t.kind) || a.depth - b.depth : ownerOf(a.t) < ownerOf(b.t) ? -1 : 1));
    group.rows = threadRows(group.rows, profile);
  }
  const rank = (g) => (g.key[0] === "d" ? null : list(profile.processes)[+g.key.slice(1)]?.rank) ?? Infinity; // in their order, then all others
  const byRank = (a, b) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b));
  return [...groups.values()].sort((a, b) => byRank(a, b) || value(b.key) - value(a.key));
}

// The outermost ranges of the shown threads, of the thread first that has most of them: [{name, from, until}] in ns, none over another.
export function outerRanges(profile, shown) {
  const rows = list(profile.timeline).filter((t) => t.kind === "range" && rowsOf(t.events) && shown(t)).map((t) => {
    const e = rangeRows(t)[0].t.events;
    let at = 0;
    return e.start.map((step, i) => { at += step; return { name: plain(list(profile.ranges)[e.what[i]]?.name ?? "range"), from: at, until: at + e.length[i] }; });
  }).sort((a, b) => b.reduce((s, r) => s + r.until - r.from, 0) - a.reduce((s, r) => s + r.until - r.from, 0));
  const out = [];
  for (const row of rows) for (const r of row) if (out.length < 2000 && !out.some((o) => o.from < r.until && r.from < o.until)) out.push(r);
  return out;
}
