// Sums over the selection. A sample or wait counts for its source: its stack, or a pair of its stack and the stack that lent it a line.
// Whatever every selection has in common is computed once, so a dragged range costs one pass over numbers.
import { list, once, rowsOf } from "./data.js";
import { chosen, isTimed, stackThreads, threadShown } from "./state.js";
import { lendersOf, processOf, spansOf, tracksOf } from "./time.js";

const TIMED = { cpu_ns: "cpu", wait_ns: "wait" }; // weights that are known by time, and the tracks that hold them

// {count, stack, lender: of each source (-1: none), of: Map of track -> source of each event}. The first sources are the stacks themselves.
export const sourcesOf = once((profile) => {
  const n = rowsOf(profile.stacks), stack = Array.from({ length: n }, (_, i) => i), lender = new Array(n).fill(-1), pairs = new Map(), of = new Map();
  for (const { track, lender: lent } of lendersOf(profile)) {
    of.set(track, Int32Array.from(lent, (by, i) => {
      if (by < 0) return track.what[i];
      const key = track.what[i] * n + by;
      if (!pairs.has(key)) { pairs.set(key, stack.length); stack.push(track.what[i]); lender.push(by); }
      return pairs.get(key);
    }));
  }
  return { count: stack.length, stack: Int32Array.from(stack), lender: Int32Array.from(lender), of };
});

// The first event that may reach beyond a moment: reach[i] is the latest end of the events up to i.
function firstReaching(reach, time) {
  let low = 0, high = reach.length;
  while (low < high) { const mid = (low + high) >> 1; if (reach[mid] < time) low = mid + 1; else high = mid; }
  return low;
}

// Adds the busy time of a track's events within spans of time to their sources.
function addTrack(track, of, spans, out) {
  const { start, end, busy, reach } = track, n = start.length;
  for (const [from, until] of spans) for (let i = firstReaching(reach, from); i < n && start[i] < until; i++) {
    if (of[i] < 0) continue;
    const a = start[i], b = end[i], ns = Math.min(b, until) - Math.max(a, from);
    if (ns > 0) out[of[i]] += b - a === ns ? busy[i] : (busy[i] * ns) / (b - a);
    else if (a === b && a >= from) out[of[i]] += busy[i];
  }
}

// Amounts of the selected time by source, of all threads; null where a weight is not known by time. The whole run has the profile's own.
let summed = { profile: null };
export function sourceSums(profile, weight) {
  if (isTimed() && !TIMED[weight]) return null;
  const at = isTimed() ? `${chosen.from} ${chosen.until} ${chosen.range}` : "";
  if (summed.profile !== profile || summed.at !== at) summed = { profile, at };
  return (summed[weight] ??= isTimed() ? sumsInRange(profile, TIMED[weight]) : wholeSums(profile, weight));
}
function sumsInRange(profile, kind) {
  const sources = sourcesOf(profile), out = new Float64Array(sources.count), spans = new Map();
  for (const t of tracksOf(profile)) {
    if (t.kind !== kind) continue;
    const process = chosen.range === null ? -1 : processOf(profile, t);
    if (!spans.has(process)) spans.set(process, spansOf(profile, process));
    addTrack(t, sources.of.get(t) ?? t.what, spans.get(process), out);
  }
  return out;
}
function wholeSums(profile, weight) {
  const sources = sourcesOf(profile), n = rowsOf(profile.stacks), out = new Float64Array(sources.count), column = list(profile.stacks?.[weight]);
  for (let i = 0; i < column.length; i++) out[i] = column[i] > 0 ? column[i] : 0;
  if (weight !== "cpu_ns") return out;
  for (const [t, of] of sources.of) addTrack(t, of.map((s) => (s < n ? -1 : s)), [[-Infinity, Infinity]], out);
  for (let s = n; s < sources.count; s++) { // what was lent is not the stack's own any more
    out[s] = Math.min(out[s], out[sources.stack[s]]);
    out[sources.stack[s]] -= out[s];
  }
  return out;
}

// The lines of a profile by number: {of(line) its number or -1, count, at: Map "path:line" -> number}.
export const lineNumbers = once((profile) => {
  const numbers = new Map(), at = new Map();
  let count = 0;
  for (const [path, file] of Object.entries(profile.files)) for (const l of list(file.lines)) { numbers.set(l, count); at.set(`${path}:${l.line}`, count++); }
  return { of: (l) => numbers.get(l.base ?? l) ?? -1, count, at };
});

// The lines of each stack, by the rule of the analysis (profiler/analyze/common/owner.h): a sample counts for the innermost line of own code or of a
// package that does the work, which is one that has time itself in the whole run; else for the innermost other line that has some. {self, own: the
// innermost own line, outermost: the line of the stack's frame, where no caller has it too}, -1: none.
const stackLines = once((profile) => {
  const { stacks, frames } = profile, { at } = lineNumbers(profile), n = rowsOf(stacks), line = new Int32Array(n).fill(-1), charged = new Int32Array(n).fill(-1), first = new Int32Array(n).fill(-1);
  const own = new Int32Array(n).fill(-1), outermost = new Int32Array(n).fill(-1), takes = new Uint8Array(at.size);
  for (const [path, file] of Object.entries(profile.files)) for (const l of list(file.lines)) if (l.cpu?.user + l.cpu?.sys > 0 || l.cpu?.wait > 0) takes[at.get(`${path}:${l.line}`)] = 1;
  const mine = frames.file.map((f) => !!profile.files?.[f]?.user), packaged = frames.file.map((f, i) => frames.kind[i] === "python" && /(site|dist)-packages\//.test(f ?? ""));
  const lineOf = frames.file.map((f, i) => (f ? at.get(`${f}:${frames.line[i]}`) ?? -1 : -1));
  for (let i = 0; i < n; i++) {
    const p = stacks.parent[i] ?? -1, f = stacks.frame[i] ?? -1, at_ = f < 0 ? -1 : lineOf[f];
    line[i] = at_;
    const above = (column) => (p < 0 ? -1 : column[p]);
    own[i] = at_ >= 0 && mine[f] ? at_ : above(own);
    first[i] = at_ >= 0 && takes[at_] ? at_ : above(first);
    charged[i] = at_ >= 0 && (mine[f] || (packaged[f] && takes[at_])) ? at_ : above(charged);
    let s = p;
    while (at_ >= 0 && s >= 0 && line[s] !== at_) s = stacks.parent[s] ?? -1;
    outermost[i] = s < 0 ? at_ : -1;
  }
  return { self: charged.map((c, i) => (c >= 0 ? c : first[i])), charged, own, outermost, line };
});

// Maps a source to its lines that its lender's stack has not, for sources whose stack has lines itself.
const linesBeside = once((profile) => {
  const { stacks } = profile, sources = sourcesOf(profile), { line, outermost, charged } = stackLines(profile), out = new Map();
  for (let s = rowsOf(stacks); s < sources.count; s++) {
    if (charged[sources.stack[s]] < 0) continue;
    const above = new Set(), beside = [];
    for (let i = sources.lender[s]; i >= 0; i = stacks.parent[i] ?? -1) above.add(line[i]);
    for (let i = sources.stack[s]; i >= 0; i = stacks.parent[i] ?? -1) if (outermost[i] >= 0 && !above.has(outermost[i])) beside.push(outermost[i]);
    out.set(s, beside);
  }
  return out;
});

// Times of lines within the selection, in s by their number: {cpu, incl, own: with the libraries that an own line calls, wait}; `total`, `waitTotal`: of all shown threads.
export function linesIn(profile) {
  const { stacks } = profile, n = rowsOf(stacks), sources = sourcesOf(profile), cpu = sourceSums(profile, "cpu_ns"), wait = sourceSums(profile, "wait_ns"), of = stackThreads(profile);
  const ways = stackLines(profile), beside = linesBeside(profile), { count } = lineNumbers(profile), zero = () => new Float64Array(count), out = { cpu: zero(), incl: zero(), own: zero(), wait: zero(), total: 0, waitTotal: 0 }, below = new Float64Array(n);
  for (let s = 0; s < sources.count; s++) {
    const i = sources.stack[s], by = sources.lender[s] < 0 ? i : sources.lender[s];
    if (!(cpu[s] > 0) || !threadShown(profile, of[i])) continue;
    below[by] += cpu[s];
    out.total += cpu[s] * 1e-9;
    const self = ways.charged[i] >= 0 ? ways.charged[i] : ways.self[by];
    if (self >= 0) out.cpu[self] += cpu[s] * 1e-9;
    for (const line of by === i ? [] : beside.get(s) ?? []) out.incl[line] += cpu[s] * 1e-9;
    if (ways.own[by] >= 0) out.own[ways.own[by]] += cpu[s] * 1e-9;
  }
  for (let i = n - 1; i >= 0; i--) { // with callees: callers come before their callees
    if (ways.outermost[i] >= 0) out.incl[ways.outermost[i]] += below[i] * 1e-9;
    const p = stacks.parent[i] ?? -1;
    if (p >= 0) below[p] += below[i];
  }
  for (let i = 0; i < n; i++) {
    if (!(wait[i] > 0) || !threadShown(profile, of[i])) continue;
    out.waitTotal += wait[i] * 1e-9;
    if (ways.self[i] >= 0) out.wait[ways.self[i]] += wait[i] * 1e-9;
  }
  return out;
}
