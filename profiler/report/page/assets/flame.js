// Flame graph, root on top: left-heavy, in order of time, or callers of each function.

const WEIGHTS = [["cpu_ns", "CPU time"], ["gpu_ns", "GPU time"], ["wait_ns", "waiting"], ["alloc_bytes", "allocated memory"]];
const ROW = 18;

function flamePanel(profile) {
  const usable = WEIGHTS.filter(([key]) => list(profile.stacks[key]).some((w) => w > 0));
  if (!usable.length) return [el("p", {}, "No stacks were recorded.")];
  const cpuTracks = list(profile.timeline).filter((t) => t.kind === "cpu" && rowsOf(t.events));
  const state = { weight: usable[0][0], order: "heavy", track: 0, find: "", root: null, top: null, zoom: [], focus: null };
  const canvas = el("canvas", { tabindex: "0", id: "flame", role: "application", "aria-roledescription": "flame graph" });
  const detail = el("p", { class: "note", id: "flame-detail" });
  const frames = profile.frames;
  let boxes = [];

  const name = (node) => (node.frame < 0 ? "all" : plain(frames.function[node.frame] ?? frames.module?.[node.frame] ?? "[unknown]"));
  const place = (node) => (node.frame < 0 || !frames.file[node.frame] ? plain(frames.module?.[node.frame] ?? "") : plain(frames.file[node.frame]) + (frames.line[node.frame] > 0 ? ":" + frames.line[node.frame] : ""));
  const shown = (v) => (state.weight === "alloc_bytes" ? bytes(v) : seconds(v * 1e-9));
  const matches = (node) => state.find && (name(node) + " " + place(node)).toLowerCase().includes(state.find);

  function rebuild() {
    state.root = state.order === "time" ? frameTimeline(profile, cpuTracks[state.track]) : frameTree(profile, state.weight, state.order === "callers");
    finish(state.root, null, 0);
    state.top = state.root;
    state.focus = state.root;
    paint();
    describe(state.root);
  }
  // Children in drawing order, parents, deepest level below. Recursion is as deep as the stacks: at most some hundreds.
  function finish(node, parent, depth) {
    node.parent = parent;
    node.depth = depth;
    node.list = Array.isArray(node.children) ? node.children : [...node.children.values()].sort((a, b) => b.value - a.value);
    node.height = 0;
    for (const child of node.list) { finish(child, node, depth + 1); node.height = Math.max(node.height, child.height + 1); }
  }
  const kind = (node) => (node.frame < 0 ? "" : frames.kind[node.frame]);
  const color = (theme, node) => {
    if (node.frame < 0) return theme.k[7];
    if (kind(node) === "python") return theme.k[1];
    if (["kernel", "copy", "set"].includes(kind(node))) return theme.k[2];
    return [theme.k[0], theme.k[4]][textHash(name(node)) & 1];
  };
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
      const fill = matches(node) ? theme.mark : color(theme, node);
      g.fillStyle = fill;
      g.fillRect(x, y, Math.max(0.5, w - 0.5), ROW - 1);
      if (node === state.focus) { g.strokeStyle = theme.focus; g.lineWidth = 2; g.strokeRect(x + 1, y + 1, Math.max(1, w - 2.5), ROW - 3); }
      if (w > 28) {
        g.fillStyle = matches(node) ? theme.ink : inkOn(fill);
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
    detail.textContent = words(node).replace("\n", ": ");
    canvas.setAttribute("aria-label", "Flame graph. " + detail.textContent);
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
    Enter: () => zoom(state.focus), Escape: () => zoom(state.root), Home: () => zoom(state.root),
  };
  canvas.addEventListener("keydown", (e) => { if (keys[e.key] && !e.ctrlKey && !e.metaKey) { e.preventDefault(); keys[e.key](); } });
  addEventListener("resize", paint);
  document.addEventListener("themechange", paint);

  const found = el("span", { class: "note", id: "flame-found" });
  function find(text) {
    state.find = text.toLowerCase();
    let sum = 0;
    const walk = (node) => { if (matches(node)) sum += node.value; else node.list.forEach(walk); };
    if (state.find) walk(state.root);
    found.textContent = state.find ? `${shown(sum)}, ${percent(sum / (state.root.value || 1))} of all` : "";
    paint();
  }
  const totals = new Map();
  const orders = [["heavy", "callees, largest first"], ["callers", "callers of each function"], ...(cpuTracks.length ? [["time", "in order of time"]] : [])];
  const threadName = (t) => { const thread = list(profile.threads)[t.thread]; return thread ? `${plain(thread.name) || "thread"} ${thread.tid}` : "thread"; };
  const threads = choice("Thread", cpuTracks.map((t, i) => [String(i), threadName(t)]), "0", (v) => { state.track = +v; rebuild(); });
  threads.hidden = true;
  rebuild();
  const self = () => {
    totals.clear();
    const walk = (node) => {
      if (node.frame >= 0 && node.self > 0) {
        const key = name(node) + "\n" + place(node).replace(/:\d+$/, "");
        totals.set(key, (totals.get(key) || 0) + node.self);
      }
      node.list.forEach(walk);
    };
    walk(state.root);
    return [...totals].map(([key, value]) => ({ name: key.split("\n")[0], place: key.split("\n")[1], value }));
  };
  return [
    el("div", { class: "tools" },
      choice("Weight", usable, state.weight, (v) => { state.weight = v; rebuild(); }),
      choice("Order", orders, "heavy", (v) => { state.order = v; threads.hidden = v !== "time"; rebuild(); }), threads,
      search("Find in flame graph", find), found, button("Reset zoom", () => zoom(state.root))),
    el("p", { class: "note" }, "Click or Enter zooms, Escape goes back, arrow keys move."),
    canvas, detail,
    el("details", {}, el("summary", {}, "The same as a table: functions by what they take themselves"),
      table([{ title: "Function", key: "name", show: (r) => code(r.name, 160) }, { title: "Where", key: "place", show: (r) => code(r.place, 160) },
        { title: "Itself", number: true, key: "value", format: shown }, { title: "of all", number: true, value: (r) => r.value / (state.root.value || 1), format: percent }],
      state.order === "heavy" ? self() : [], { name: "functions", sort: 2 })),
  ];
}
