// Timeline: a row per track, events merged where they are narrower than a pixel.

const TRACK_HEIGHT = 22;

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
function apart(track) {
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

function firstAfter(ends, t, n) { // ends are nearly sorted: good enough to start drawing a little early
  let low = 0, high = n;
  while (low < high) { const mid = (low + high) >> 1; if (ends[mid] < t) low = mid + 1; else high = mid; }
  return Math.max(0, low - 2);
}

function eventName(profile, track, what) {
  if (what < 0 || what === null) return "";
  const pick = { kernel: ["kernels", "name"], copy: ["transfers", "direction"], set: ["memsets", "memory"], range: ["ranges", "name"], api: ["apis", "name"] }[track.kind];
  if (pick) return plain(list(profile[pick[0]])[what]?.[pick[1]] ?? "");
  const frame = profile.stacks.frame?.[what];
  if (frame === undefined || frame === null || frame < 0) return "";
  const line = profile.frames.line[frame];
  return plain(profile.frames.function[frame] ?? profile.frames.module?.[frame] ?? "") + (profile.frames.file[frame] ? ` (${shortPath(profile.frames.file[frame])}${line > 0 ? ":" + line : ""})` : "");
}

function trackName(profile, track) {
  const thread = list(profile.threads)[track.thread], process = list(profile.processes)[track.process];
  const titles = { cpu: "on CPU", wait: "waiting", kernel: "kernels", copy: "copies", set: "memsets", range: "ranges", api: "CUDA calls" };
  const owner = thread ? `${plain(thread.name) || "thread"} ${thread.tid}` : known(track.stream) ? `device ${track.device} stream ${track.stream}` : process ? `process ${process.pid}` : "";
  return `${owner} · ${titles[track.kind] || track.kind}`;
}

const TRACK_COLORS = { cpu: 0, wait: 7, kernel: 2, copy: 1, set: 6, range: 3, api: 5 };

function timelinePanel(profile) {
  const tracks = list(profile.timeline).filter((t) => rowsOf(t.events)).flatMap(apart).map(({ t, depth }) => ({ t, depth, levels: trackData(t), name: trackName(profile, t) + (depth ? ` ${depth + 1}` : ""), names: new Map() }));
  // Busy threads first, all rows of a thread or stream together.
  const owner = (t) => (t.thread !== null && t.thread !== undefined ? `t${t.thread}` : `d${t.device}.${t.context}.${t.stream}`);
  const worth = new Map();
  for (const { t, levels } of tracks) if (t.kind !== "wait") worth.set(owner(t), (worth.get(owner(t)) || 0) + levels[0].busy.reduce((a, b) => a + b, 0));
  tracks.sort((a, b) => (worth.get(owner(b.t)) || 0) - (worth.get(owner(a.t)) || 0) || (owner(a.t) === owner(b.t) ? Object.keys(TRACK_COLORS).indexOf(a.t.kind) - Object.keys(TRACK_COLORS).indexOf(b.t.kind) || a.depth - b.depth : owner(a.t) < owner(b.t) ? -1 : 1));
  const series = list(profile.memory?.series).filter((s) => list(s.t_s).length > 1);
  if (!tracks.length && !series.length) return [el("p", {}, "No events were recorded.")];
  const total = Math.max(1, ...tracks.map((k) => k.levels[0].end.reduce((a, b) => Math.max(a, b), 0)), ...series.map((s) => s.t_s[s.t_s.length - 1] * 1e9));
  const view = { from: 0, to: total, row: 0, drawn: 0 };
  const canvas = el("canvas", { tabindex: "0", id: "timeline", role: "application", "aria-roledescription": "timeline" });
  const where = el("p", { class: "note", id: "timeline-view" });
  const LEFT = () => Math.min(210, (canvas.clientWidth || 600) * 0.3);
  const rows = tracks.length + (series.length ? 1 : 0), AXIS = 20, MEMORY = 56;

  function draw() {
    const { context: g, width, height } = fit(canvas, AXIS + tracks.length * TRACK_HEIGHT + (series.length ? MEMORY : 0) + 2);
    const theme = themed(), left = LEFT(), scale = (width - left) / (view.to - view.from);
    g.fillStyle = theme.back;
    g.fillRect(0, 0, width, height);
    g.font = "12px system-ui, sans-serif";
    g.textBaseline = "middle";
    drawAxis(g, theme, left, width, height);
    view.drawn = 0;
    tracks.forEach((track, r) => drawTrack(g, theme, track, AXIS + r * TRACK_HEIGHT, left, width, scale, r === view.row));
    if (series.length) drawMemory(g, theme, AXIS + tracks.length * TRACK_HEIGHT, left, width, scale);
    g.fillStyle = theme.back;
    g.fillRect(0, AXIS, left - 2, height);
    g.fillStyle = theme.ink;
    tracks.forEach((track, r) => {
      const room = Math.floor((left - 12) / 6.3);
      g.fillText((r === view.row ? "› " : "") + (track.name.length > room ? track.name.slice(0, room - 1) + "…" : track.name), 4, AXIS + r * TRACK_HEIGHT + TRACK_HEIGHT / 2);
    });
    if (series.length) g.fillText("memory (resident)", 4, AXIS + tracks.length * TRACK_HEIGHT + MEMORY / 2);
    where.textContent = `${seconds(view.from * 1e-9)} to ${seconds(view.to * 1e-9)} of ${seconds(total * 1e-9)}`;
    canvas.setAttribute("aria-label", `Timeline of ${rows} rows, ${where.textContent}`);
    canvas.dataset.drawn = view.drawn;
    canvas.dataset.frames = 1 + Number(canvas.dataset.frames || 0);
  }
  function drawAxis(g, theme, left, width, height) {
    const span = view.to - view.from, rough = span / 8, unit = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((f) => f * unit).find((s) => s >= rough);
    g.strokeStyle = theme.line;
    g.fillStyle = theme.faint;
    g.beginPath();
    for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
      const x = left + ((t - view.from) / span) * (width - left);
      g.moveTo(x, AXIS - 4);
      g.lineTo(x, height);
      g.fillText(seconds(t * 1e-9), x + 3, 9);
    }
    g.stroke();
  }
  function drawTrack(g, theme, track, y, left, width, scale, chosen) {
    const nsPerPixel = 1 / scale;
    let level = track.levels[0];
    const inView = (l) => { const a = firstAfter(l.end, view.from, l.n); let b = firstAfter(l.start, view.to, l.n) + 3; return [a, Math.min(l.n, b)]; };
    let range = inView(level);
    for (let i = 1; i < track.levels.length && range[1] - range[0] > 2 * (width - left); i++) { level = track.levels[i]; range = inView(level); }
    const base = theme.k[TRACK_COLORS[track.t.kind] ?? 4], other = theme.k[4];
    const ink = inkOn(base);
    if (chosen) { g.fillStyle = theme.raised; g.fillRect(left, y, width - left, TRACK_HEIGHT - 1); }
    let joined = -1, joinedEnd = -1; // boxes under a pixel wide become one
    const flush = () => { if (joined >= 0) { g.fillStyle = base; g.fillRect(joined, y + 2, Math.max(1, joinedEnd - joined), TRACK_HEIGHT - 5); view.drawn++; joined = -1; } };
    for (let i = range[0]; i < range[1]; i++) {
      const a = level.start[i], b = level.end[i];
      if (b < view.from || a > view.to) continue;
      const x = left + (a - view.from) * scale, w = (b - a) * scale;
      if (w < 1.5) {
        if (joined >= 0 && x <= joinedEnd + 0.7) joinedEnd = Math.max(joinedEnd, x + w);
        else { flush(); joined = x; joinedEnd = x + Math.max(w, 0.8); }
        continue;
      }
      flush();
      g.fillStyle = track.t.kind === "cpu" && level.what[i] >= 0 && level.what[i] & 1 ? other : base;
      const x0 = Math.max(left, x), w0 = Math.min(width, x + w) - x0;
      g.fillRect(x0, y + 2, Math.max(0.8, w0 - 0.5), TRACK_HEIGHT - 5);
      view.drawn++;
      if (w0 > 40 && level === track.levels[0] && nsPerPixel > 0) {
        const text = nameOf(track, level.what[i]), room = Math.floor((w0 - 6) / 6.4);
        g.fillStyle = g.fillStyle === other ? inkOn(other) : ink;
        g.fillText(text.length > room ? text.slice(0, Math.max(1, room - 1)) + "…" : text, x0 + 3, y + TRACK_HEIGHT / 2, w0 - 5);
      }
    }
    flush();
  }
  function nameOf(track, what) {
    if (!track.names.has(what)) track.names.set(what, eventName(profile, track.t, what));
    return track.names.get(what);
  }
  function drawMemory(g, theme, y, left, width, scale) {
    const most = Math.max(...series.map((s) => Math.max(...s.rss_mb.filter(known), 0))) || 1;
    series.forEach((s, i) => {
      g.strokeStyle = theme.k[(5 + i) % 8];
      g.beginPath();
      s.t_s.forEach((t, j) => { const x = left + (t * 1e9 - view.from) * scale, h = y + MEMORY - 3 - ((MEMORY - 8) * (s.rss_mb[j] || 0)) / most; if (j) g.lineTo(x, h); else g.moveTo(x, h); });
      g.stroke();
    });
    g.fillStyle = theme.faint;
    g.fillText(megabytes(most), left + 3, y + 8);
  }
  const paint = painter(draw);
  function show(from, to) {
    const span = Math.min(total, Math.max(100, to - from));
    view.from = Math.max(0, Math.min(total - span, from));
    view.to = view.from + span;
    paint();
  }
  const zoomAt = (factor, at) => { const t = at ?? (view.from + view.to) / 2; show(t - (t - view.from) * factor, t + (view.to - t) * factor); };
  const pan = (share) => { const d = (view.to - view.from) * share; show(view.from + d, view.to + d); };
  const timeAt = (event) => { const r = canvas.getBoundingClientRect(), left = LEFT(); return view.from + ((event.clientX - r.left - left) / (r.width - left)) * (view.to - view.from); };
  const rowAt = (event) => Math.floor((event.clientY - canvas.getBoundingClientRect().top - AXIS) / TRACK_HEIGHT);
  function eventAt(row, t) {
    const track = tracks[row];
    if (!track) return null;
    const l = track.levels[0], slack = (2 * (view.to - view.from)) / (canvas.clientWidth || 600);
    for (let i = firstAfter(l.end, t - slack, l.n); i < l.n && l.start[i] <= t + slack; i++) if (l.end[i] >= t - slack) return { track, i, l };
    return null;
  }
  const words = ({ track, i, l }) => `${nameOf(track, l.what[i]) || track.name}\n${seconds((l.end[i] - l.start[i]) * 1e-9)} at ${seconds(l.start[i] * 1e-9)}` +
    (track.t.events.count && track.t.events.count[i] > 1 ? `\n${count(track.t.events.count[i])} events joined, ${seconds(l.busy[i] * 1e-9)} in them` : "");
  let drag = null;
  canvas.addEventListener("wheel", (e) => { e.preventDefault(); if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) pan((e.deltaX || e.deltaY) / 1000); else zoomAt(Math.exp(e.deltaY / 400), timeAt(e)); }, { passive: false });
  canvas.addEventListener("pointerdown", (e) => { drag = { x: e.clientX, from: view.from, to: view.to }; canvas.setPointerCapture(e.pointerId); view.row = Math.max(0, Math.min(tracks.length - 1, rowAt(e))); paint(); });
  canvas.addEventListener("pointermove", (e) => {
    if (drag) { const d = ((drag.x - e.clientX) / ((canvas.clientWidth || 600) - LEFT())) * (drag.to - drag.from); show(drag.from + d, drag.to + d); return; }
    const hit = eventAt(rowAt(e), timeAt(e));
    if (hit) showTip(e, words(hit)); else hideTip();
  });
  canvas.addEventListener("pointerup", () => { drag = null; });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("dblclick", (e) => zoomAt(0.25, timeAt(e)));
  const describe = () => { const hit = eventAt(view.row, (view.from + view.to) / 2); say(`${tracks[view.row]?.name}. ${hit ? words(hit) : "Nothing at the middle of the view."}`); };
  const keys = {
    ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), a: () => pan(-0.2), d: () => pan(0.2), w: () => zoomAt(0.6), s: () => zoomAt(1 / 0.6), "+": () => zoomAt(0.6), "-": () => zoomAt(1 / 0.6),
    ArrowUp: () => { view.row = Math.max(0, view.row - 1); paint(); describe(); }, ArrowDown: () => { view.row = Math.min(tracks.length - 1, view.row + 1); paint(); describe(); },
    0: () => show(0, total), Home: () => show(0, total), Enter: describe,
  };
  canvas.addEventListener("keydown", (e) => { if (keys[e.key] && !e.ctrlKey && !e.metaKey) { e.preventDefault(); e.stopPropagation(); keys[e.key](); } });
  addEventListener("resize", paint);
  document.addEventListener("themechange", paint);
  paint();
  const merged = tracks.filter((k) => k.t.resolution_ns > 0);
  return [
    el("div", { class: "tools" }, button("Zoom in", () => zoomAt(0.6)), button("Zoom out", () => zoomAt(1 / 0.6)), button("Left", () => pan(-0.2)), button("Right", () => pan(0.2)), button("All", () => show(0, total)), where),
    el("p", { class: "note" }, "Wheel or + and − zoom, dragging or arrow keys move, 0 shows all, Enter reads out what stands in the middle of the chosen row."),
    merged.length > 0 && el("p", { class: "note" }, `${merged.length} of ${tracks.length} rows had too many events for one file: events closer than ${seconds(Math.max(...merged.map((k) => k.t.resolution_ns)) * 1e-9)} were joined.`),
    canvas,
    el("details", {}, el("summary", {}, "The same as a table: rows and their busy time"), table([
      { title: "Row", value: (k) => k.name }, { title: "Events", number: true, value: (k) => (k.t.events.count ? k.t.events.count.reduce((a, b) => a + b, 0) : k.levels[0].n), format: count },
      { title: "Busy", number: true, value: (k) => k.levels[0].busy.reduce((a, b) => a + b, 0) * 1e-9, format: seconds }], tracks, { name: "rows of the timeline" })),
  ].filter(Boolean);
}
