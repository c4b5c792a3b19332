// Trees of stacks, for the flame graph and the calls; and who calls whom.
import { list, once, rowsOf } from "./data.js";
import { chosen, isTimed, stackThreads, threadShown } from "./state.js";
import { sourcesOf, sourceSums } from "./sums.js";
import { isWithin, spansOf } from "./time.js";
import { bytes, cpuName, cythonName, plain, seconds, shortTemplates } from "./ui.js";

export const WEIGHTS = [["cpu_ns", "CPU time"], ["gpu_ns", "GPU time"], ["wait_ns", "waiting"], ["peak_bytes", "memory at its peak"], ["alloc_bytes", "allocated memory"]];
export const IMPORTS = -2; // the frame that stands for Python's import machinery and what ran in it
export const POOL = -3; // the frame between a line and the threads of a pool that work for it
export const weightsOf = (profile) => WEIGHTS.filter(([key]) => list(profile.stacks?.[key]).some((w) => w > 0) && !(isTimed() && sourceSums(profile, key) === null)).map(([key, title]) => [key, key === "cpu_ns" ? cpuName() || "samples" : title]);
export const weightText = (weight, v) => (weight.endsWith("_bytes") ? bytes(v) : seconds(v * 1e-9));

// Functions are one where name, file (or module) and kind agree; their lines differ.
function frameKey(frames, i) { return i === IMPORTS ? "imports" : i === POOL ? "pool" : (frames.function[i] ?? "") + "\u0001" + (frames.file[i] ?? frames.module?.[i] ?? "") + "\u0001" + (frames.kind[i] ?? ""); }
export const isCall = (frames, i) => i === IMPORTS || i === POOL || (i >= 0 && frames.kind[i] !== "thread" && frames.kind[i] !== "small"); // no thread, no sum of calls too small for the page
const frameTitle = (frames, i) => (i >= 0 && frames.kind[i] === "small" ? "smaller calls" : i === IMPORTS ? "imports" : i === POOL ? "threads that work for this line" : i < 0 ? "all" : frames.function[i] ? shortTemplates(cythonName(fullName(frames, i))) : fullName(frames, i).split("/").pop());
const titles = new WeakMap(); // of frames: asked for at every redraw
export function frameName(frames, i) {
  if (!titles.has(frames)) titles.set(frames, new Map());
  const known = titles.get(frames);
  if (!known.has(i)) known.set(i, frameTitle(frames, i));
  return known.get(i);
}
export const fullName = (frames, i) => (i < 0 ? frameName(frames, i) : plain(frames.function[i] ?? frames.module?.[i] ?? "[unknown]"));
export const hoverName = (frames, i) => { const name = fullName(frames, i); return name.length > HOVER_MOST ? name.slice(0, HOVER_MOST) + "…" : name; };
export const framePlace = (frames, i) => (i < 0 ? "" : !frames.file[i] ? plain(frames.module?.[i] ?? "") : plain(frames.file[i]) + (frames.line[i] > 0 ? ":" + frames.line[i] : ""));

const HOVER_MOST = 600; // characters: names of C++ have up to ten thousand
const STARTERS = /^(_start|__libc_start_(main|call_main).*|start_thread|clone3?|__clone3?|_dl_.*)$/, GLUE = /^(__Pyx_\w+|__pyx_pw_\w+|__pyx_pf_\w*wrapper\w*)$/; // Cython puts three to five of its own between two functions

// Facts about frames that the trees need: whether a frame is own code, is Python's import machinery, starts a program or interpreter or is Cython's glue, and the number of its function.
const frameFacts = once((profile) => {
  const { frames } = profile, own = frames.file.map((f) => !!profile.files?.[f]?.user), numbers = new Map();
  const keys = Int32Array.from(frames.function, (_, i) => { const key = frameKey(frames, i); if (!numbers.has(key)) numbers.set(key, numbers.size); return numbers.get(key); });
  return { own, keys, functions: numbers.size, importing: frames.file.map((f) => !!f && f.startsWith("<frozen importlib._bootstrap")), python: frames.kind.map((k) => k === "python"), foreign: frames.kind.map((k, i) => k === "native" && !own[i]), starts: frames.function.map((f) => STARTERS.test(f ?? "") || GLUE.test(f ?? "")) };
});

// A tree of calls whose shape is that of the whole run. Its paths go by frame, its nodes by function: several lines of one function under one parent are
// one node. Parents have smaller numbers than their children.
function emptyTree(facts, frames) {
  const n = frames.function.length + 4, t = { parent: [-1], frame: [-1], node: [0], part: [0], nodeParent: [-1], nodeKey: [-1], partNode: [0], partFrame: [-1], partNext: [-1], lastPart: [0] };
  const paths = new Map(), nodes = new Map(), stride = facts.functions + 4;
  const nodeBelow = (above, key) => {
    let node = nodes.get(above * stride + key);
    if (node === undefined) { t.nodeParent.push(above); t.lastPart.push(-1); nodes.set(above * stride + key, (node = t.nodeKey.push(key) - 1)); }
    return node;
  };
  const partOf = (node, frame) => { // a function has few lines
    for (let k = t.lastPart[node]; k >= 0; k = t.partNext[k]) if (t.partFrame[k] === frame) return k;
    t.partNode.push(node);
    t.partNext.push(t.lastPart[node]);
    return (t.lastPart[node] = t.partFrame.push(frame) - 1);
  };
  t.add = (path, frame) => { // a path that nobody asks for again
    const node = nodeBelow(t.node[path], frame >= 0 ? facts.keys[frame] : facts.functions - frame);
    t.part.push(partOf(node, frame));
    t.parent.push(path);
    t.frame.push(frame);
    return t.node.push(node) - 1;
  };
  t.step = (path, frame) => {
    const key = path * n + frame + 4;
    let to = paths.get(key);
    if (to === undefined) paths.set(key, (to = t.add(path, frame)));
    return to;
  };
  return t;
}

// The path of each stack. Folded: what ran in imports below the last own code is one frame; what starts a program or an interpreter is left out, and Cython's glue.
function stackPaths(profile, facts, tree, fold) {
  const { stacks } = profile, n = rowsOf(stacks), { own, importing, python, foreign, starts } = facts, { add, step } = tree;
  const folded = new Int32Array(n), bare = new Int32Array(n), inPython = new Uint8Array(n), inImports = new Uint8Array(n), whole = new Map();
  // As if nothing of it were within imports: own code that a module runs while it is imported.
  const unfolded = (i) => {
    if (i < 0) return 0;
    if (!inImports[i]) return folded[i];
    if (!whole.has(i)) { const p = stacks.parent[i] ?? -1, f = stacks.frame[i] ?? -1, above = p >= 0 && !inPython[p] ? bare[p] : unfolded(p); whole.set(i, f < 0 || (foreign[f] && starts[f]) ? above : add(above, f)); }
    return whole.get(i);
  };
  for (let i = 0; i < n; i++) {
    const p = stacks.parent[i] ?? -1, f = stacks.frame[i] ?? -1, above = p < 0 ? 0 : folded[p];
    if (!fold || f < 0) { folded[i] = f < 0 ? above : add(above, f); bare[i] = p < 0 ? 0 : bare[p]; inPython[i] = p < 0 ? 0 : inPython[p]; inImports[i] = p < 0 ? 0 : inImports[p]; continue; }
    inPython[i] = (p >= 0 && inPython[p]) || python[f] ? 1 : 0;
    if (!inPython[i]) bare[i] = foreign[f] ? (p < 0 ? 0 : bare[p]) : step(p < 0 ? 0 : bare[p], f); // the path if an interpreter comes below
    const base = inPython[i] && p >= 0 && !inPython[p] ? bare[p] : above;
    if (own[f]) folded[i] = add(p >= 0 && inImports[p] ? unfolded(p) : base, f);
    else if (p >= 0 && inImports[p]) { folded[i] = folded[p]; inImports[i] = 1; }
    else if (importing[f]) { folded[i] = step(base, IMPORTS); inImports[i] = 1; }
    else folded[i] = foreign[f] && starts[f] ? base : add(base, f);
  }
  return folded;
}

// From the root to a path: its frames.
function framesTo(tree, path) {
  const out = [];
  for (let at = path; at > 0; at = tree.parent[at]) out.push(tree.frame[at]);
  return out.reverse();
}

// The tree of a profile with the path at which each source ends: `leaf` by source, `stack` by stack. Once for each order and fold.
const trees = once(() => new Map());
function treeOf(profile, reverse, fold) {
  const made = trees(profile), at = `${reverse} ${fold}`;
  if (!made.has(at)) made.set(at, growTree(profile, reverse, fold));
  return made.get(at);
}
function growTree(profile, reverse, fold) {
  const facts = frameFacts(profile), { frames } = profile, sources = sourcesOf(profile), tree = emptyTree(facts, frames);
  if (reverse) {
    const forward = treeOf(profile, false, fold), turned = (path) => { let to = 0; for (let at = path; at > 0; at = forward.parent[at]) to = tree.step(to, forward.frame[at]); return to; };
    tree.leaf = forward.leaf.map(turned);
    tree.stack = forward.stack.map(turned);
  } else {
    const folded = stackPaths(profile, facts, tree, fold), n = folded.length;
    tree.stack = folded;
    tree.leaf = Int32Array.from({ length: sources.count }, (_, s) => {
      if (s < n) return folded[s];
      let to = folded[sources.lender[s]]; // below the innermost line of Python that waits for it
      while (to > 0 && tree.frame[to] !== IMPORTS && !facts.python[tree.frame[to]]) to = tree.parent[to];
      to = tree.step(to, POOL);
      for (const f of framesTo(tree, folded[sources.stack[s]])) if (f < 0 || frames.kind[f] !== "thread") to = tree.step(to, f);
      return to;
    });
  }
  for (const key of ["parent", "frame", "node", "part", "nodeParent", "nodeKey", "partNode", "partFrame", "partNext", "lastPart"]) tree[key] = Int32Array.from(tree[key]);
  return tree;
}

// The frames of a node that took something: the lines of its function.
export function framesOf(node) {
  if (node.lines) return node.lines;
  const { tree, parts } = node.of, out = [];
  for (let k = tree.lastPart[node.at]; k >= 0; k = tree.partNext[k]) if (parts[k] > 0) out.push(tree.partFrame[k]);
  return (node.lines = out);
}

// weight: of WEIGHTS. A node is {frame: its line that took most, key: number of its function, value, self, children: largest first}.
export function frameTree(profile, weight, reverse, fold) {
  const tree = treeOf(profile, reverse, fold), sources = sourcesOf(profile), sums = sourceSums(profile, weight), of = stackThreads(profile), alone = chosen.thread !== null;
  const paths = tree.parent.length, count = tree.nodeParent.length, below = new Float64Array(paths), value = new Float64Array(count), self = new Float64Array(count), parts = new Float64Array(tree.partNode.length);
  for (let s = 0; sums && s < sources.count; s++) {
    if (!(sums[s] > 0) || !threadShown(profile, of[sources.stack[s]])) continue;
    const path = alone ? tree.stack[sources.stack[s]] : tree.leaf[s]; // a thread by itself hangs below its own start
    below[path] += sums[s];
    self[tree.node[path]] += sums[s];
  }
  const { parent, node, part } = tree;
  for (let p = paths - 1; p >= 0; p--) {
    if (below[p] === 0) continue;
    value[node[p]] += below[p];
    parts[part[p]] += below[p];
    if (p > 0) below[parent[p]] += below[p];
  }
  const nodes = new Array(count).fill(null), best = new Float64Array(count), shared = { tree, parts };
  const made = (i) => ({ frame: -1, key: tree.nodeKey[i], value: value[i], self: self[i], children: [], lines: null, at: i, of: shared, parent: null, depth: 0, height: 0, hit: false }), root = made(0);
  nodes[0] = root;
  for (let i = 1; i < count; i++) {
    if (!(value[i] > 0)) continue;
    nodes[i] = made(i);
    nodes[tree.nodeParent[i]].children.push(nodes[i]);
  }
  for (let k = 1; k < parts.length; k++) { // the line that most of it went through
    if (!(parts[k] > 0)) continue;
    const i = tree.partNode[k];
    if (parts[k] > best[i]) { best[i] = parts[k]; nodes[i].frame = tree.partFrame[k]; }
  }
  for (const each of nodes) if (each && each.children.length > 1) each.children.sort((a, b) => b.value - a.value);
  return root;
}

// The same in order of time: samples of one thread side by side, neighbours with the same frames joined.
export function frameTimeline(profile, track, fold) {
  const root = { frame: -1, key: -1, value: 0, self: 0, children: [], lines: [] };
  const tree = treeOf(profile, false, fold), { what, busy, start, end } = track, open = [root], spans = isTimed() ? spansOf(profile, list(profile.threads)[track.thread]?.process) : null;
  for (let e = 0; e < what.length; e++) {
    if (spans && !isWithin(spans, start[e], end[e])) continue;
    const chain = [];
    for (let at = what[e] < 0 ? 0 : tree.stack[what[e]]; at > 0; at = tree.parent[at]) chain.push(at);
    chain.reverse();
    let depth = 0;
    while (depth < chain.length && depth + 1 < open.length && open[depth + 1].key === tree.nodeKey[tree.node[chain[depth]]]) depth++;
    open.length = depth + 1;
    for (; depth < chain.length; depth++) {
      const frame = tree.frame[chain[depth]], node = { frame, key: tree.nodeKey[tree.node[chain[depth]]], lines: [frame], value: 0, self: 0, children: [] };
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
export function functionsOf(tree) {
  const all = new Map(), open = new Set();
  const add = (map, key, value) => map.set(key, (map.get(key) || 0) + value);
  const walk = (node, parent) => {
    const { key } = node, first = !open.has(key);
    if (!all.has(key)) all.set(key, { key, frame: node.frame, best: 0, incl: 0, self: 0, outer: 0, callers: new Map(), callees: new Map() });
    const f = all.get(key);
    f.self += node.self;
    if (node.value > f.best) { f.best = node.value; f.frame = node.frame; }
    if (first) {
      f.incl += node.value;
      f.outer += node.self;
      if (parent !== null) add(f.callers, parent, node.value);
      open.add(key);
    }
    for (const child of node.children) {
      if (first) add(f.callees, child.key, child.value);
      walk(child, key);
    }
    if (first) open.delete(key);
  };
  for (const child of tree.children) walk(child, null);
  return all;
}
