// Events of the timeline with absolute times, the selected spans of time, and the line that a pool's thread works for.
import { list, once, rowsOf } from "./data.js";
import { chosen, hasSpan, threadShown } from "./state.js";

const NEAR_NS = 1e8; // a pool's thread works for what the main thread did at most so long ago, as in profiler/analyze/attribute/cpu.c

// Tracks with absolute starts and ends, once for each profile: [{kind, process, thread, start, end, reach: the latest end so far, busy, what: -1 where it is not known}]
export const tracksOf = once((profile) => list(profile.timeline).filter((t) => rowsOf(t.events)).map((t) => {
    const n = rowsOf(t.events), start = new Float64Array(n), end = new Float64Array(n), reach = new Float64Array(n), what = new Int32Array(n);
    for (let i = 0, at = 0, last = 0; i < n; i++) { at += t.events.start[i]; start[i] = at; end[i] = at + t.events.length[i]; reach[i] = last = Math.max(last, end[i]); what[i] = t.events.what[i] ?? -1; }
    return { kind: t.kind, process: t.process, thread: t.thread, start, end, reach, busy: t.events.busy ?? t.events.length, what };
}));

// The moment at which the last event ended, ns.
export const endOf = once((profile) => {
  let last = (profile.meta.wall_s || 0) * 1e9;
  for (const t of tracksOf(profile)) last = Math.max(last, t.reach[t.reach.length - 1]);
  for (const s of list(profile.memory?.series)) last = Math.max(last, ...list(s.t_s).slice(-1).map((v) => v * 1e9));
  return last;
});

// When each named range was open, in each process and (key -1) in any: Map of range -> Map of process -> [[from, until], ...], in order and apart.
const rangeSpans = once((profile) => {
  const of = new Map(), put = (range, process, span) => { if (!of.has(range)) of.set(range, new Map()); const spans = of.get(range); if (!spans.has(process)) spans.set(process, []); spans.get(process).push(span); };
  for (const t of tracksOf(profile)) if (t.kind === "range") for (let i = 0; i < t.start.length; i++) for (const process of [processOf(profile, t), -1]) put(t.what[i], process, [t.start[i], t.end[i]]);
  for (const spans of of.values()) for (const [process, all] of spans) {
    const joined = [];
    for (const [a, b] of all.sort((x, y) => x[0] - y[0])) { const last = joined[joined.length - 1]; if (last && a <= last[1]) last[1] = Math.max(last[1], b); else joined.push([a, b]); }
    spans.set(process, joined);
  }
  return of;
});
export const processOf = (profile, t) => t.process ?? list(profile.threads)[t.thread]?.process ?? -1;

// The selected time of a process (undefined: of any), [[from, until], ...]. A named range: while it was open in this process, or, where it never was, in any.
export function spansOf(profile, process = -1) {
  const low = hasSpan() ? chosen.from : -Infinity, high = hasSpan() ? chosen.until : Infinity;
  if (chosen.range === null) return [[low, high]];
  const of = rangeSpans(profile).get(chosen.range);
  return (of?.get(process) ?? of?.get(-1) ?? []).filter(([a, b]) => b > low && a < high).map(([a, b]) => [Math.max(a, low), Math.min(b, high)]);
}
// From the first to the last selected moment.
export function hullOf(profile) {
  const spans = spansOf(profile);
  return spans.length ? [spans[0][0], spans[spans.length - 1][1]] : [0, 0];
}
const spanAfter = (spans, at) => { let low = 0, high = spans.length; while (low < high) { const mid = (low + high) >> 1; if (spans[mid][1] <= at) low = mid + 1; else high = mid; } return low; };
export const isWithin = (spans, from, until = from) => { const next = spans[spanAfter(spans, from)]; return !!next && (until > from ? next[0] < until : next[0] <= from); };

// Lenders of lines to the events of threads without own code: [{track, lender: the stack for each event, -1: none}]. The lender is the main thread
// of the process: its wait that covers the sample, else its latest sample. A thread of a pool that runs a library's Python has own code as its lender.
export const lendersOf = once((profile) => {
  const { stacks, frames } = profile, threads = list(profile.threads), tracks = tracksOf(profile), n = rowsOf(stacks);
  const own = frames.file.map((f) => !!profile.files?.[f]?.user), python = new Uint8Array(n), mine = new Uint8Array(n), alone = new Uint8Array(n);
  for (let i = 0; i < n; i++) {
    const p = stacks.parent[i], f = stacks.frame[i], root = p === null || p < 0;
    python[i] = (root ? 0 : python[p]) || (f >= 0 && f !== null && frames.kind[f] === "python") || (f >= 0 && f !== null && own[f]) ? 1 : 0;
    mine[i] = (root ? 0 : mine[p]) || (f >= 0 && f !== null && own[f]) ? 1 : 0;
    alone[i] = root ? 1 : 0; // a thread that waits for a CPU has no stack
  }
  const mains = new Map(); // process: what its main thread did, by time
  for (const t of tracks) {
    if ((t.kind !== "cpu" && t.kind !== "wait") || !threads[t.thread]?.main || !list(profile.processes)[t.process]?.python) continue;
    const all = mains.get(t.process) ?? [];
    for (let i = 0; i < t.start.length; i++) all.push([t.end[i], t.kind === "wait" ? t.start[i] : t.end[i], t.what[i]]);
    mains.set(t.process, all);
  }
  for (const all of mains.values()) {
    all.sort((a, b) => a[0] - b[0]);
    for (let i = 1; i < all.length; i++) if (all[i][2] < 0 || alone[all[i][2]]) all[i] = [all[i][0], all[i][1], all[i - 1][2]];
  }
  const at = (all, time) => {
    let low = 0, high = all.length;
    while (low < high) { const mid = (low + high) >> 1; if (all[mid][0] <= time) low = mid + 1; else high = mid; }
    const next = all[low], last = all[low - 1];
    return next && next[1] <= time ? next[2] : last && time - last[0] <= NEAR_NS ? last[2] : -1;
  };
  const out = [];
  for (const t of tracks) {
    const all = t.kind === "cpu" && !threads[t.thread]?.main && mains.get(t.process);
    if (!all) continue;
    const lender = t.what.map((s, i) => { const by = s < 0 || mine[s] ? -1 : at(all, t.end[i]); return by >= 0 && (python[s] ? mine[by] : python[by]) ? by : -1; });
    if (lender.some((s) => s >= 0)) out.push({ track: t, lender });
  }
  return out;
});
// When main threads imported: from a sample or wait within the import machinery to the next one elsewhere. [[from, until]]
function importSpans(profile, importing, bare) {
  const of = new Map(), out = [];
  for (const t of tracksOf(profile)) {
    if ((t.kind !== "cpu" && t.kind !== "wait") || !list(profile.threads)[t.thread]?.main || !threadShown(profile, t.thread)) continue;
    if (!of.has(t.thread)) of.set(t.thread, []);
    for (let i = 0; i < t.start.length; i++) if (t.what[i] >= 0 && !bare[t.what[i]]) of.get(t.thread).push([t.start[i], t.end[i], importing[t.what[i]]]);
  }
  for (const events of of.values()) {
    events.sort((a, b) => a[0] - b[0]);
    events.forEach(([start, end, is], i) => { if (is) out.push([start, events[i + 1]?.[2] ? events[i + 1][0] : end]); });
  }
  return out;
}

// Values of the run in `count` equal parts of its time: {step, cpu: cores that worked, ready: threads without a CPU, imports: share of the main thread,
// gpu: share of time, memory: MB, io: MB per s}; null where the profile has none.
export function binned(profile, count) {
  const total = endOf(profile), step = total / count, { stacks, frames } = profile, zero = () => new Float64Array(count);
  const spread = (out, a, b, amount) => {
    const first = Math.max(0, Math.min(count - 1, Math.floor(a / step))), last = Math.max(first, Math.min(count - 1, Math.ceil(b / step) - 1));
    for (let i = first; i <= last; i++) out[i] += b > a ? (amount * Math.max(0, Math.min(b, (i + 1) * step) - Math.max(a, i * step))) / (b - a) : amount / (last - first + 1);
  };
  const n = rowsOf(stacks), importing = new Uint8Array(n), bare = new Uint8Array(n);
  for (let i = 0; i < n; i++) {
    const p = stacks.parent[i], f = stacks.frame[i], root = p === null || p < 0;
    bare[i] = root ? 1 : 0;
    importing[i] = (!root && importing[p]) || (f !== null && f >= 0 && /^<frozen importlib\._bootstrap/.test(frames.file[f] ?? "")) ? 1 : 0;
  }
  const out = { step, total, cpu: null, python: null, ready: null, imports: null, gpu: null, memory: null, io: null }, add = (key, ...rest) => spread((out[key] ??= zero()), ...rest);
  for (const t of tracksOf(profile)) {
    const device = t.kind === "kernel" || t.kind === "copy" || t.kind === "set";
    if (device) { for (let i = 0; i < t.start.length; i++) add("gpu", t.start[i], t.end[i], t.busy[i] / step); continue; }
    if ((t.kind !== "cpu" && t.kind !== "wait") || !threadShown(profile, t.thread)) continue;
    for (let i = 0; i < t.start.length; i++) {
      const s = t.what[i];
      if (t.kind === "cpu") {
        add("cpu", t.start[i], t.end[i], t.busy[i] / step);
      } else if (s >= 0 && bare[s]) add("ready", t.start[i], t.end[i], t.busy[i] / step);
    }
  }
  for (const [from, until] of importSpans(profile, importing, bare)) add("imports", from, until, (until - from) / step);
  const moments = list(profile.io?.files).filter((f) => list(f.moments?.t_us).length);
  for (const f of moments) f.moments.t_us.forEach((us, i) => { const b = Math.max(0, Math.min(count - 1, Math.floor((us * 1e3) / step))); (out.io ??= zero())[b] += (f.moments.bytes[i] * (f.moment_stride || 1)) / 2 ** 20 / (step * 1e-9); });
  return out;
}
