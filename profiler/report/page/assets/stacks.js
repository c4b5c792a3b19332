// Trees of stacks, for the flame graph and the calls; and who calls whom.
import { list, once } from "./data.js";
import { chosen, isTimed, stackThreads, threadShown } from "./state.js";
import { isWithin, lentIn, spansOf, weightsIn } from "./time.js";
import { bytes, plain, seconds, shortTemplates } from "./ui.js";

export const WEIGHTS = [["cpu_ns", "CPU time"], ["gpu_ns", "GPU time"], ["wait_ns", "waiting"], ["peak_bytes", "memory at its peak"], ["alloc_bytes", "allocated memory"]];
export const IMPORTS = -2; // the frame that stands for Python's import machinery and what ran in it
export const POOL = -3; // the frame between a line and the threads of a pool that work for it
export const weightsOf = (profile) => WEIGHTS.filter(([key]) => list(profile.stacks?.[key]).some((w) => w > 0) && !(isTimed() && weightsIn(profile, key) === null));
export const weightText = (weight, v) => (weight.endsWith("_bytes") ? bytes(v) : seconds(v * 1e-9));

// Functions are one where name, file (or module) and kind agree; their lines differ.
export function frameKey(frames, i) { return i === IMPORTS ? "imports" : i === POOL ? "pool" : (frames.function[i] ?? "") + "\u0001" + (frames.file[i] ?? frames.module?.[i] ?? "") + "\u0001" + (frames.kind[i] ?? ""); }
export const isCall = (frames, i) => i === IMPORTS || i === POOL || (i >= 0 && frames.kind[i] !== "thread" && frames.kind[i] !== "small"); // no thread, no sum of calls too small for the page
export const frameName = (frames, i) => (i >= 0 && frames.kind[i] === "small" ? "smaller calls" : i === IMPORTS ? "imports" : i === POOL ? "threads that work for this line" : i < 0 ? "all" : shortTemplates(fullName(frames, i)));
export const fullName = (frames, i) => (i < 0 ? frameName(frames, i) : plain(frames.function[i] ?? frames.module?.[i] ?? "[unknown]"));
export const framePlace = (frames, i) => (i < 0 ? "" : !frames.file[i] ? plain(frames.module?.[i] ?? "") : plain(frames.file[i]) + (frames.line[i] > 0 ? ":" + frames.line[i] : ""));

const STARTERS = /^(_start|__libc_start_(main|call_main).*|start_thread|clone3?|__clone3?|_dl_.*)$/;

// The frames of a stack from its thread to its leaf. Folded: what ran in imports below the last own code is one frame; what starts a program or an interpreter is left out.
const frameFacts = once((profile) => {
  const { frames } = profile;
  return { own: frames.file.map((f) => !!profile.files?.[f]?.user), importing: frames.file.map((f) => !!f && f.startsWith("<frozen importlib._bootstrap")), keys: frames.function.map((_, i) => frameKey(frames, i)) };
});
function chains(profile, fold) {
  const { stacks, frames } = profile, { own, importing } = frameFacts(profile);
  return (i) => {
    const chain = [];
    for (let s = i; s !== null && s >= 0; s = stacks.parent[s] ?? -1) if (stacks.frame[s] !== null && stacks.frame[s] >= 0) chain.push(stacks.frame[s]);
    chain.reverse();
    if (!fold) return chain;
    const python = chain.findIndex((f) => frames.kind[f] === "python");
    let last = chain.findLastIndex((f) => own[f]), end = chain.findIndex((f, k) => k > last && importing[f]);
    const out = [];
    chain.slice(0, end < 0 ? chain.length : end).forEach((f, k) => { if (frames.kind[f] !== "native" || own[f] || !(k < python || STARTERS.test(frames.function[f] ?? ""))) out.push(f); });
    if (end >= 0) out.push(IMPORTS);
    return out;
  };
}

// weight: of WEIGHTS. A node is {frame, frames: what each line of the function took, value, self, children: Map}; nodes of one function under one parent are one.
export function frameTree(profile, weight, reverse, fold) {
  const { stacks, frames } = profile, root = { frame: -1, value: 0, self: 0, children: new Map() };
  const weights = weightsIn(profile, weight) || [], { keys } = frameFacts(profile), chainOf = chains(profile, fold), of = stackThreads(profile);
  const lent = weight === "cpu_ns" && chosen.thread === null ? lentIn(profile) : new Map();
  const enter = (node, frame, value) => {
    const key = keys[frame] ?? frameKey(frames, frame);
    let child = node.children.get(key);
    if (!child) node.children.set(key, (child = { frame, frames: new Map(), value: 0, self: 0, children: new Map() }));
    child.value += value;
    const mine = (child.frames.get(frame) || 0) + value;
    child.frames.set(frame, mine);
    if (mine > child.frames.get(child.frame)) child.frame = frame; // the line that most of it went through
    return child;
  };
  const put = (chain, value) => {
    if (reverse) chain.reverse();
    root.value += value;
    let node = root;
    for (const frame of chain) node = enter(node, frame, value);
    node.self += value;
  };
  for (let i = 0; i < weights.length; i++) {
    if (!(weights[i] > 0) || !threadShown(profile, of[i])) continue;
    let rest = weights[i];
    for (const [lender, ns] of lent.get(i) ?? []) { // below the innermost line of Python that waits for it
      const part = Math.min(rest, ns), above = chainOf(lender);
      put([...above.slice(0, above.findLastIndex((f) => f === IMPORTS || frames.kind[f] === "python") + 1), POOL, ...chainOf(i).filter((f) => f < 0 || frames.kind[f] !== "thread")], part);
      rest -= part;
    }
    if (rest > 0) put(chainOf(i), rest);
  }
  return root;
}

// The same in order of time: samples of one thread side by side, neighbours with the same frames joined.
export function frameTimeline(profile, track, fold) {
  const { frames } = profile, root = { frame: -1, value: 0, self: 0, children: [] };
  const { keys } = frameFacts(profile), keyOf = (f) => keys[f] ?? frameKey(frames, f), chainOf = chains(profile, fold);
  const { what, busy, start, end } = track, open = [root], spans = isTimed() ? spansOf(profile, list(profile.threads)[track.thread]?.process) : null;
  for (let e = 0; e < what.length; e++) {
    if (spans && !isWithin(spans, start[e], end[e])) continue;
    const chain = what[e] === null ? [] : chainOf(what[e]);
    let depth = 0;
    while (depth < chain.length && depth + 1 < open.length && keyOf(open[depth + 1].frame) === keyOf(chain[depth])) depth++;
    open.length = depth + 1;
    for (; depth < chain.length; depth++) {
      const node = { frame: chain[depth], frames: new Map([[chain[depth], busy[e]]]), value: 0, self: 0, children: [] };
      open[depth].children.push(node);
      open.push(node);
    }
    for (const node of open) node.value += busy[e];
    open[open.length - 1].self += busy[e];
  }
  return root;
}

// Every function of a tree: {key, frame, incl, self, callers, callees: Map of key -> value}. A stack counts once, at the function's outermost call:
// so callers add up to incl, and so do callees and self. Recursion is a callee of its own.
export function functionsOf(tree, frames) {
  const all = new Map(), open = new Set();
  const add = (map, key, value) => map.set(key, (map.get(key) || 0) + value);
  const walk = (node, parent) => {
    const key = frameKey(frames, node.frame), first = !open.has(key);
    if (!all.has(key)) all.set(key, { key, frame: node.frame, best: 0, incl: 0, self: 0, outer: 0, callers: new Map(), callees: new Map() });
    const f = all.get(key);
    f.self += node.self;
    if (node.value > f.best) { f.best = node.value; f.frame = node.frame; }
    if (first) {
      f.incl += node.value;
      f.outer += node.self;
      if (parent) add(f.callers, parent, node.value);
      open.add(key);
    }
    for (const child of node.children.values()) {
      if (first) add(f.callees, frameKey(frames, child.frame), child.value);
      walk(child, key);
    }
    if (first) open.delete(key);
  };
  for (const child of tree.children.values()) walk(child, null);
  return all;
}
