// Flame graph, root on top: left-heavy, in order of time, or callers of each function. One fills the tab, a small one stands beside the source.
import { fit, inkOn, mix, painter, savePicture, saveSvg, svgRecorder, themed } from "./canvas.js";
import { list } from "./data.js";
import { moduleTints } from "./modules.js";
import { frameName, framePlace, framesOf, fullName, frameTimeline, frameTree, hoverName, isCall, WEIGHTS, weightsOf, weightText } from "./stacks.js";
import { goTo, onFilter, rangePhrase, routes, isTimed, threadName, threadShown } from "./state.js";
import { tracksOf } from "./time.js";
import { button, choice, code, count, el, hideTip, number, percent, say, search, showTip, table, toggle } from "./ui.js";

const ROW = 18;
const SLIVER = 1; // px: narrower siblings are drawn as one

// options: {id: of the canvas, weight: key of stacks, pick(path, line): a frame was chosen, changed(): the tree is another one, colour(theme, node) and words(node) in
// the place of the module's, alone: the page has no lines to open}. {canvas, state, rebuild, find, focus, zoom, ...}
export function flameView(profile, options) {
  const { frames } = profile, tints = moduleTints(profile);
  const state = { weight: options.weight ?? weightsOf(profile)[0]?.[0] ?? "cpu_ns", order: "heavy", fold: true, find: "", at: null, root: null, top: null, focus: null, track: null };
  const canvas = el("canvas", { tabindex: "0", id: options.id, role: "application", "aria-roledescription": "flame graph" });
  const detail = el("span", { id: options.id + "-detail" });
  let boxes = [];

  const name = (node) => frameName(frames, node.frame), place = (node) => framePlace(frames, node.frame);
  const shown = (v) => weightText(state.weight, v);
  // Searched is every line of the function that the box stands for.
  const searched = (node) => {
    if (node.frame === -1) return false;
    if (state.at) return framesOf(node).some((f) => f >= 0 && frames.file[f] === state.at.path && frames.line[f] === state.at.line);
    return fullName(frames, node.frame).toLowerCase().includes(state.find) || framesOf(node).some((f) => framePlace(frames, f).toLowerCase().includes(state.find));
  };
  const finding = () => state.find !== "" || state.at !== null;

  function longestTrack() { // of the shown thread that computed most
    const busy = (t) => t.busy.reduce((a, b) => a + b, 0);
    return tracksOf(profile).filter((t) => t.kind === "cpu" && threadShown(profile, t.thread)).reduce((a, t) => (!a || busy(t) > busy(a) ? t : a), null);
  }
  function rebuild() {
    state.track = state.order === "time" ? longestTrack() : null;
    state.root = state.track ? frameTimeline(profile, state.track, state.fold) : frameTree(profile, state.weight, state.order === "callers", state.fold);
    finish(state.root, null, 0);
    state.top = state.focus = state.root;
    find();
    options.changed?.();
    describe(state.root);
  }
  // Children in drawing order, parents, deepest level below. Recursion is as deep as the stacks: at most some hundreds.
  function finish(node, parent, depth) {
    node.parent = parent;
    node.depth = depth;
    node.list = node.children;
    node.height = 0;
    for (const child of node.list) { finish(child, node, depth + 1); node.height = Math.max(node.height, child.height + 1); }
  }
  // The deepest level that is drawn: a column of a few pixels alone needs no row.
  function levels(node, width) {
    let deep = 0;
    for (const child of node.list) { const part = (width * child.value) / (node.value || 1); if (part >= 3 * SLIVER) deep = Math.max(deep, 1 + levels(child, part)); }
    return deep || (node.list.length ? 1 : 0);
  }
  function draw(recorder) {
    const above = [];
    for (let n = state.top.parent; n; n = n.parent) above.unshift(n);
    const rows = above.length + levels(state.top, canvas.clientWidth || 600) + 1;
    const { context: g, width, height } = recorder ? { context: recorder, width: canvas.clientWidth || 600, height: rows * ROW + 2 } : fit(canvas, rows * ROW + 2);
    const theme = themed();
    g.fillStyle = theme.back;
    g.fillRect(0, 0, width, height);
    g.font = "12px system-ui, sans-serif";
    g.textBaseline = "middle";
    boxes = [];
    const box = (node, x, w, y) => {
      const base = options.colour ? options.colour(theme, node) : tints.colour(theme, node.frame), fill = finding() && !node.hit ? mix(base, theme.back, 0.8) : base;
      g.fillStyle = fill;
      g.fillRect(x, y, Math.max(0.6, w - 0.8), ROW - 1);
      if (node.hit && finding()) { g.fillStyle = theme.ink; g.fillRect(x, y + ROW - 3, Math.max(0.6, w - 0.8), 2); } // what is chosen or found is underlined
      if (w > 28) {
        g.fillStyle = inkOn(fill);
        const room = Math.floor((w - 6) / 6.4), text = name(node);
        g.fillText(text.length > room ? text.slice(0, Math.max(1, room - 1)) + "…" : text, x + 3, y + ROW / 2, w - 5);
      }
      if (node === state.focus && document.activeElement === canvas) { // where the keys are: a dashed ring
        g.setLineDash([4, 2]);
        g.strokeStyle = theme.focus;
        g.lineWidth = 2;
        g.strokeRect(x + 1, y + 1, Math.max(1, w - 2.5), ROW - 3);
        g.setLineDash([]);
      }
      boxes.push([x, y, w, node]);
    };
    above.forEach((node, i) => box(node, 0, width, i * ROW));
    const below = (node, x, w, y) => {
      box(node, x, w, y);
      let from = x, rest = 0, few = 0, hit = false; // siblings narrower than a pixel, side by side
      const flush = (to) => {
        if (rest > 0 && to - from >= SLIVER) {
          g.fillStyle = finding() && !hit ? mix(theme.line, theme.back, 0.6) : theme.line;
          g.fillRect(from, y + ROW, to - from - 0.4, ROW - 1);
          boxes.push([from, y + ROW, to - from, { merged: few, value: rest, parent: node }]);
        }
        rest = few = 0;
        hit = false;
      };
      for (const child of node.list) {
        const part = (w * child.value) / (node.value || 1);
        if (part >= SLIVER) { flush(x); below(child, x, part, y + ROW); } else { if (!few) from = x; rest += child.value; few++; hit ||= child.hit; }
        x += part;
      }
      flush(x);
    };
    below(state.top, 0, width, above.length * ROW);
    canvas.dataset.boxes = boxes.length;
    return recorder?.text(width, height);
  }
  const paint = painter(() => draw());
  function words(node) {
    const all = state.root.value || 1;
    if (node.merged) return `${count(node.merged)} ${node.merged === 1 ? "call" : "calls"} too small to draw\n${shown(node.value)} (${percent(node.value / all)} of all)`;
    const module = tints.of(node.frame);
    return `${hoverName(frames, node.frame)}${place(node) ? " — " + place(node) : ""}\n${shown(node.value)} (${percent(node.value / all)} of all), self ${shown(node.self)}${module ? ` · ${module}` : ""}${options.words ? "\n" + options.words(node) : ""}`;
  }
  function describe(node) {
    detail.textContent = words(node).replace("\n", ": ").replaceAll("\n", "; ");
    options.described?.(node);
    canvas.setAttribute("aria-label", "Flame graph. " + detail.textContent);
  }
  const lineOf = (node) => (!options.alone && node.frame >= 0 && frames.file[node.frame] && profile.files?.[frames.file[node.frame]] ? [frames.file[node.frame], frames.line[node.frame] > 0 ? frames.line[node.frame] : null] : null);
  function openIt() {
    const [path, line] = lineOf(state.focus) ?? [];
    if (path) goTo("lines", line ? `${path}:${line}` : path);
  }
  function focus(node, aloud) {
    if (!node || node.merged) return;
    state.focus = node;
    describe(node);
    if (aloud) { say(detail.textContent); options.pick?.(lineOf(node)); }
    paint();
  }
  function zoom(node) { if (node.merged) return; state.top = node; focus(node, true); }
  const at = (event) => {
    const r = canvas.getBoundingClientRect(), x = event.clientX - r.left, y = event.clientY - r.top;
    for (let i = boxes.length - 1; i >= 0; i--) { const [bx, by, w, node] = boxes[i]; if (y >= by && y < by + ROW && x >= bx && x < bx + w) return node; }
    return null;
  };
  canvas.addEventListener("mousemove", (e) => { const node = at(e); if (node) showTip(e, words(node)); else hideTip(); });
  canvas.addEventListener("mouseleave", hideTip);
  canvas.addEventListener("click", (e) => { const node = at(e); if (node) zoom(node); });
  const sibling = (step) => { const all = state.focus.parent?.list; return all && all[all.indexOf(state.focus) + step]; };
  const keys = {
    ArrowDown: () => focus(state.focus.list.reduce((a, n) => (!a || n.value > a.value ? n : a), null), true),
    ArrowUp: () => { focus(state.focus.parent, true); if (state.focus.depth < state.top.depth) zoom(state.focus); },
    ArrowLeft: () => focus(sibling(-1), true), ArrowRight: () => focus(sibling(1), true),
    Enter: () => zoom(state.focus), Escape: () => zoom(state.root), Home: () => zoom(state.root), o: openIt,
  };
  canvas.addEventListener("keydown", (e) => { if (keys[e.key] && !e.ctrlKey && !e.metaKey) { e.preventDefault(); e.stopPropagation(); keys[e.key](); } });
  for (const kind of ["focus", "blur"]) canvas.addEventListener(kind, () => paint());
  addEventListener("resize", paint);
  document.addEventListener("themechange", paint);

  // Marks the boxes that are searched and sums the outermost of them; {largest, sum}.
  function find() {
    let sum = 0, largest = null;
    const walk = (node, inside) => {
      node.hit = finding() && searched(node);
      if (node.hit && !inside) { sum += node.value; if (!largest || node.value > largest.value) largest = node; }
      node.list.forEach((child) => walk(child, inside || node.hit));
    };
    walk(state.root, false);
    state.found = finding() ? `${shown(sum)}, ${percent(sum / (state.root.value || 1))} of all` : "";
    paint();
    return largest;
  }
  return { canvas, detail, state, tints, svg: () => draw(svgRecorder()), name, place, shown, rebuild, find, focus, zoom, lineOf, openIt };
}

export function flamePanel(profile) {
  if (!weightsOf(profile).length) return [el("p", {}, "No stacks were recorded.")];
  const { frames } = profile, cpuTracks = tracksOf(profile).filter((t) => t.kind === "cpu"), links = el("span", { class: "tools inline" });
  const found = el("span", { class: "note", id: "flame-found" }), which = el("span", { class: "note" }), menus = el("span", { class: "tools inline" });
  const functions = el("details", { ontoggle: () => functions.open && fillFunctions() }, el("summary", {}), el("div"));
  const view = flameView(profile, {
    id: "flame",
    changed: () => { functions.firstElementChild.textContent = `The same as a table: functions by ${view.state.weight.endsWith("_bytes") ? "their own memory" : "self time"}`; which.textContent = view.state.track && cpuTracks.length > 1 ? `One thread: ${threadName(list(profile.threads)[view.state.track.thread])}. Choose another one above.` : ""; found.textContent = view.state.found; if (functions.open) fillFunctions(); },
    described: (node) => links.replaceChildren(...(node.frame === -1 || node.merged ? [] : [view.lineOf(node) && button("Open the line (o)", view.openIt), node.frame >= 0 && isCall(frames, node.frame) && button("Callers and callees", () => goTo("calls", view.name(node)))].filter(Boolean))),
  });
  const { state } = view, look = () => { const largest = view.find(); found.textContent = state.found; return largest; };
  const field = search("Find in flame graph", (text) => { state.find = text.toLowerCase(); state.at = null; look(); });
  routes.set("flame-graph", (what) => {
    const [, path, line] = /^(.*):(\d+)$/s.exec(what) ?? [];
    state.at = path !== undefined && profile.files?.[path] ? { path, line: +line } : null;
    state.find = state.at ? "" : what.toLowerCase();
    field.value = what;
    state.top = state.root;
    const largest = look();
    view.focus(largest ?? state.root, true);
    if (!largest) say(`${what} is not in the flame graph of ${WEIGHTS.find(([k]) => k === state.weight)[1]}.`);
  });
  const orders = [["heavy", "callees, largest first"], ["callers", "callers of each function"], ...(cpuTracks.length ? [["time", "in order of time"]] : [])];
  function fillFunctions() {
    const totals = new Map();
    const walk = (node) => {
      if (isCall(frames, node.frame) && node.self > 0) {
        const key = view.name(node) + "\n" + view.place(node).replace(/:\d+$/, "");
        totals.set(key, (totals.get(key) || 0) + node.self);
      }
      node.list.forEach(walk);
    };
    walk(state.root);
    const rows = [...totals].map(([key, value]) => ({ name: key.split("\n")[0], place: key.split("\n")[1], value }));
    functions.lastElementChild.replaceChildren(table([{ title: "Function", key: "name", show: (r) => code(r.name, 160) }, { title: "Where", key: "place", show: (r) => code(r.place, 160) },
      { title: "Self", number: true, key: "value", format: view.shown }, { title: "of all", number: true, value: (r) => r.value / (state.root.value || 1), format: percent }], state.order === "callers" ? [] : rows, { name: "functions", sort: 2 }));
  }
  // GPU time and allocations are not known by time: a selected range leaves the others.
  function fillMenus() {
    const usable = weightsOf(profile), hidden = isTimed() ? WEIGHTS.filter(([key]) => !usable.some(([k]) => k === key) && list(profile.stacks?.[key]).some((v) => v > 0)).map(([, title]) => title) : [];
    if (!usable.some(([key]) => key === state.weight)) state.weight = usable[0]?.[0] ?? "cpu_ns";
    menus.replaceChildren(...[choice("Weight", usable, state.weight, (v) => { state.weight = v; redraw(); menus.querySelector("select").focus(); }), state.weight === "peak_bytes" && el("span", { class: "note" }, "Allocated and not freed; large mappings count whole, touched or not."), hidden.length > 0 && el("span", { class: "note" }, `Not known ${rangePhrase()}: ${hidden.join(", ")}.`)].filter(Boolean));
  }
  const redraw = () => { fillMenus(); view.rebuild(); };
  onFilter("flame-graph", redraw);
  redraw();
  return [
    el("div", { class: "tools" },
      menus, choice("Order", orders, "heavy", (v) => { state.order = v; view.rebuild(); }),
      toggle("Fold start-up", true, (on) => { state.fold = on; view.rebuild(); }, "imports, what starts a program or an interpreter, Cython's wrappers"),
      field, found, button("Reset zoom", () => { field.value = state.find = ""; state.at = null; look(); view.zoom(state.root); }), button("Save PNG", () => savePicture(view.canvas, "flame-graph")), button("Save SVG", () => saveSvg(view.svg(), "flame-graph")), which),
    view.tints.legend(),
    el("p", { class: "note hint" }, "Click or Enter zooms, Escape goes back, arrow keys move, o opens the line. Grey slivers are calls too small to draw.", profile.merged && ` Calls below ${number(100 * profile.merged.share, 2)} % of the run are merged in this page; profile.json has all ${count(profile.merged.nodes)}.`),
    view.canvas, el("p", { class: "note", id: "flame-line" }, view.detail, " ", links), functions,
  ].filter(Boolean);
}
