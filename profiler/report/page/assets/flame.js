// Flame graph, root on top: left-heavy, in order of time, or callers of each function.

const ROW = 18;

function flamePanel(profile) {
  const usable = weightsOf(profile);
  if (!usable.length) return [el("p", {}, "No stacks were recorded.")];
  const cpuTracks = list(profile.timeline).filter((t) => t.kind === "cpu" && rowsOf(t.events));
  const state = { weight: usable[0][0], order: "heavy", fold: true, find: "", at: null, root: null, top: null, focus: null };
  const canvas = el("canvas", { tabindex: "0", id: "flame", role: "application", "aria-roledescription": "flame graph" });
  const detail = el("span", { id: "flame-detail" }), links = el("span", { class: "tools inline" });
  const frames = profile.frames;
  let boxes = [];

  const name = (node) => frameName(frames, node.frame), place = (node) => framePlace(frames, node.frame);
  const shown = (v) => weightText(state.weight, v);
  // Searched is every line of the function that the box stands for.
  const searched = (node) => {
    if (node.frame === -1) return false;
    if (state.at) return [...node.frames.keys()].some((f) => f >= 0 && frames.file[f] === state.at.path && frames.line[f] === state.at.line);
    return name(node).toLowerCase().includes(state.find) || [...node.frames.keys()].some((f) => framePlace(frames, f).toLowerCase().includes(state.find));
  };
  const finding = () => state.find !== "" || state.at !== null;

  function track() { // the shown thread that computed most
    const busy = (t) => t.events.busy.reduce((a, b) => a + b, 0);
    return cpuTracks.filter((t) => threadShown(profile, t.thread)).reduce((a, t) => (!a || busy(t) > busy(a) ? t : a), null);
  }
  function rebuild() {
    const of = state.order === "time" ? track() : null;
    state.root = of ? frameTimeline(profile, of, state.fold) : frameTree(profile, state.weight, state.order === "callers", state.fold);
    which.textContent = of && cpuTracks.length > 1 ? `One thread: ${threadName(list(profile.threads)[of.thread])}. Choose another one above.` : "";
    finish(state.root, null, 0);
    state.top = state.focus = state.root;
    find();
    describe(state.root);
    if (functions.open) fillFunctions();
  }
  // Children in drawing order, parents, deepest level below. Recursion is as deep as the stacks: at most some hundreds.
  function finish(node, parent, depth) {
    node.parent = parent;
    node.depth = depth;
    node.list = Array.isArray(node.children) ? node.children : [...node.children.values()].sort((a, b) => b.value - a.value);
    node.height = 0;
    for (const child of node.list) { finish(child, node, depth + 1); node.height = Math.max(node.height, child.height + 1); }
  }
  function color(theme, node) {
    const kind = node.frame === IMPORTS ? "python" : node.frame < 0 ? "" : frames.kind[node.frame];
    const of = { python: "python", kernel: "kernel", copy: "copy", set: "copy", native: "native", inlined: "native" }[kind];
    return of ? theme.k[COLOUR[of]] : theme.raised;
  }
  function draw() {
    const above = [];
    for (let n = state.top.parent; n; n = n.parent) above.unshift(n);
    const rows = above.length + state.top.height + 1;
    const { context: g, width, height } = fit(canvas, rows * ROW + 2);
    const theme = themed();
    g.fillStyle = theme.back;
    g.fillRect(0, 0, width, height);
    g.font = "12px system-ui, sans-serif";
    g.textBaseline = "middle";
    boxes = [];
    const box = (node, x, w, y) => {
      const dim = finding() && !node.hit, fill = dim ? mix(color(theme, node), theme.back, 0.85) : color(theme, node);
      g.fillStyle = fill;
      g.fillRect(x, y, Math.max(0.5, w - 0.7), ROW - 1);
      if (node === state.focus) { g.strokeStyle = theme.focus; g.lineWidth = 2; g.strokeRect(x + 1, y + 1, Math.max(1, w - 2.5), ROW - 3); }
      if (w > 28) {
        g.fillStyle = inkOn(fill);
        const room = Math.floor((w - 6) / 6.4), text = name(node);
        g.fillText(text.length > room ? text.slice(0, Math.max(1, room - 1)) + "…" : text, x + 3, y + ROW / 2, w - 5);
      }
      boxes.push([x, y, w, node]);
    };
    above.forEach((node, i) => box(node, 0, width, i * ROW));
    const below = (node, x, w, y) => {
      box(node, x, w, y);
      for (const child of node.list) {
        const part = (w * child.value) / (node.value || 1);
        if (part >= 0.4) below(child, x, part, y + ROW);
        x += part;
      }
    };
    below(state.top, 0, width, above.length * ROW);
  }
  const paint = painter(draw);
  function words(node) {
    const all = state.root.value || 1;
    return `${name(node)}${place(node) ? " — " + place(node) : ""}\n${shown(node.value)} (${percent(node.value / all)} of all), itself ${shown(node.self)}`;
  }
  function describe(node) {
    const f = node.frame, file = f >= 0 && frames.file[f];
    detail.textContent = words(node).replace("\n", ": ");
    links.replaceChildren(...(f === -1 ? [] : [file && profile.files?.[file] && button("Open the line (o)", openIt), f >= 0 && frames.kind[f] !== "thread" && button("Callers and callees", () => goTo("calls", name(node)))].filter(Boolean)));
    canvas.setAttribute("aria-label", "Flame graph. " + detail.textContent);
  }
  function openIt() {
    const f = state.focus.frame;
    if (f >= 0 && frames.file[f]) goTo("lines", frames.line[f] > 0 ? `${frames.file[f]}:${frames.line[f]}` : frames.file[f]);
  }
  function focus(node, aloud) {
    if (!node) return;
    state.focus = node;
    describe(node);
    if (aloud) say(detail.textContent);
    paint();
  }
  function zoom(node) { state.top = node; focus(node, true); }
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
  canvas.addEventListener("keydown", (e) => { if (keys[e.key] && !e.ctrlKey && !e.metaKey) { e.preventDefault(); keys[e.key](); } });
  addEventListener("resize", paint);
  document.addEventListener("themechange", paint);

  const found = el("span", { class: "note", id: "flame-found" }), which = el("span", { class: "note" });
  const field = search("Find in flame graph", (text) => { state.find = text.toLowerCase(); state.at = null; find(); });
  // Marks the boxes that are searched and sums the outermost of them; the largest of these.
  function find() {
    let sum = 0, largest = null;
    const walk = (node, inside_) => {
      node.hit = finding() && searched(node);
      if (node.hit && !inside_) { sum += node.value; if (!largest || node.value > largest.value) largest = node; }
      node.list.forEach((child) => walk(child, inside_ || node.hit));
    };
    walk(state.root, false);
    found.textContent = finding() ? `${shown(sum)}, ${percent(sum / (state.root.value || 1))} of all` : "";
    paint();
    return largest;
  }
  routes.set("flame-graph", (what) => {
    const [, path, line] = /^(.*):(\d+)$/s.exec(what) ?? [];
    state.at = path !== undefined && profile.files?.[path] ? { path, line: +line } : null;
    state.find = state.at ? "" : what.toLowerCase();
    field.value = what;
    state.top = state.root;
    const largest = find();
    focus(largest ?? state.root, true);
    if (!largest) say(`${what} is not in the flame graph of ${WEIGHTS.find(([k]) => k === state.weight)[1]}.`);
  });
  const orders = [["heavy", "callees, largest first"], ["callers", "callers of each function"], ...(cpuTracks.length ? [["time", "in order of time"]] : [])];
  const functions = el("details", { ontoggle: () => functions.open && fillFunctions() }, el("summary", {}, "The same as a table: functions by what they take themselves"), el("div"));
  function fillFunctions() {
    const totals = new Map();
    const walk = (node) => {
      if (node.frame !== -1 && node.self > 0) {
        const key = name(node) + "\n" + place(node).replace(/:\d+$/, "");
        totals.set(key, (totals.get(key) || 0) + node.self);
      }
      node.list.forEach(walk);
    };
    walk(state.root);
    const rows = [...totals].map(([key, value]) => ({ name: key.split("\n")[0], place: key.split("\n")[1], value }));
    functions.lastElementChild.replaceChildren(table([{ title: "Function", key: "name", show: (r) => code(r.name, 160) }, { title: "Where", key: "place", show: (r) => code(r.place, 160) },
      { title: "Itself", number: true, key: "value", format: shown }, { title: "of all", number: true, value: (r) => r.value / (state.root.value || 1), format: percent }], state.order === "callers" ? [] : rows, { name: "functions", sort: 2 }));
  }
  onFilter("flame-graph", rebuild);
  rebuild();
  const kinds = new Set(frames.kind);
  return [
    el("div", { class: "tools" },
      choice("Weight", usable, state.weight, (v) => { state.weight = v; rebuild(); }),
      choice("Order", orders, "heavy", (v) => { state.order = v; rebuild(); }),
      toggle("Fold imports and start-up", true, (on) => { state.fold = on; rebuild(); }),
      field, found, button("Reset zoom", () => { field.value = state.find = ""; state.at = null; find(); zoom(state.root); }), which),
    legend([kinds.has("python") && "python", "native", kinds.has("kernel") && "kernel", (kinds.has("copy") || kinds.has("set")) && "copy"].filter(Boolean)),
    el("p", { class: "note" }, "Click or Enter zooms, Escape goes back, arrow keys move, o opens the line. What is not found is pale."),
    canvas, el("p", { class: "note", id: "flame-line" }, detail, " ", links), functions,
  ];
}
