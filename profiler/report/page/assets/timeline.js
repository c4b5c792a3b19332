// Timeline: rows grouped by process and device, events joined where they are narrower than a pixel.
import { fit, inkOn, painter, savePicture, themed } from "./canvas.js";
import { list } from "./data.js";
import { totalMemory } from "./plots.js";
import { hoverName } from "./stacks.js";
import { chosen, COLOUR, goTo, isTimed, legend, ofThreads, onFilter, rangeName, threadShown } from "./state.js";
import { hullOf } from "./time.js";
import { eventName, firstAfter, tellingFrame, timelineGroups, TRACK_COLOURS, TRACK_KINDS } from "./tracks.js";
import { button, count, el, hideTip, known, megabytes, say, seconds, showTip, spanText, table, ticksOf } from "./ui.js";

const TRACK_HEIGHT = 22;

export function timelinePanel(profile) {
  const groups = timelineGroups(profile), tracks = groups.flatMap((g) => g.rows.flatMap((r) => (r.under ? [r, r.under] : [r])));
  const allSeries = list(profile.memory?.series).filter((s) => list(s.t_s).length > 1);
  if (!tracks.length && !allSeries.length) return [el("p", {}, "No events were recorded.")];
  const total = Math.max(1, ...tracks.map((k) => k.levels[0].end.reduce((a, b) => Math.max(a, b), 0)), ...allSeries.map((s) => s.t_s[s.t_s.length - 1] * 1e9));
  const view = { from: 0, to: total, row: 0, drawn: 0, quiet: tracks.every((k) => k.quiet), closed: new Set() };
  const canvas = el("canvas", { tabindex: "0", id: "timeline", role: "application", "aria-roledescription": "timeline" });
  const where = el("p", { class: "note", id: "timeline-view" });
  const LEFT = () => Math.min(280, (canvas.clientWidth || 600) * 0.32);
  const AXIS = 20, MEMORY = 56, { kind: frameKinds } = profile.frames;
  let rows = [], memory = [], folded = 0;

  // Rows on the screen: a head per group, then the rows of its shown threads.
  function layout() {
    const shown = ({ t }) => (known(t.device) && t.device >= 0 ? chosen.thread === null && (chosen.process === null || !known(t.process) || t.process === chosen.process) : !ofThreads() || threadShown(profile, t.thread));
    rows = [];
    folded = 0;
    for (const group of groups) {
      const all = group.rows.filter(shown), here = all.filter((k) => view.quiet || !k.quiet);
      folded += all.length - here.length;
      if (!all.length || (!here.length && groups.length > 1)) continue;
      rows.push({ head: group, name: group.name, folded: all.length - here.length });
      if (!view.closed.has(group.key)) rows.push(...here);
    }
    memory = totalMemory(allSeries.filter((s) => !ofThreads() || (chosen.process ?? list(profile.threads)[chosen.thread]?.process) === s.process));
    view.row = Math.max(0, Math.min(view.row, rows.length - 1));
    quietButton.hidden = !tracks.some((k) => k.quiet) || tracks.every((k) => k.quiet);
    quietButton.textContent = view.quiet ? "Fold quiet rows" : `Show ${count(folded)} quiet ${folded === 1 ? "row" : "rows"}`;
    quietButton.setAttribute("aria-pressed", String(view.quiet));
  }
  const quietButton = button("", () => { view.quiet = !view.quiet; layout(); paint(); }, { id: "timeline-quiet" });

  function draw() {
    const { context: g, width, height } = fit(canvas, AXIS + rows.length * TRACK_HEIGHT + (memory.length ? MEMORY : 0) + 2);
    const theme = themed(), left = LEFT(), scale = (width - left) / (view.to - view.from);
    g.fillStyle = theme.back;
    g.fillRect(0, 0, width, height);
    g.font = "12px system-ui, sans-serif";
    g.textBaseline = "middle";
    drawAxis(g, theme, left, width, height);
    view.drawn = 0;
    view.labels = [];
    rows.forEach((row, r) => { if (row.head) return;
      if (r === view.row) { g.fillStyle = theme.raised; g.fillRect(left, AXIS + r * TRACK_HEIGHT, width - left, TRACK_HEIGHT - 1); }
      for (const track of [row.under, row]) if (track) drawTrack(g, theme, track, AXIS + r * TRACK_HEIGHT, left, width, scale, track === row ? null : row);
    });
    if (memory.length) drawMemory(g, theme, AXIS + rows.length * TRACK_HEIGHT, left, width, scale);
    g.fillStyle = theme.back;
    g.fillRect(0, AXIS, left - 2, height);
    rows.forEach((row, r) => drawName(g, theme, row, AXIS + r * TRACK_HEIGHT, left, width, r === view.row));
    g.fillStyle = theme.ink;
    if (memory.length) g.fillText(`at most ${megabytes(Math.max(...memory.map(([, mb]) => mb)))}`, 8, AXIS + rows.length * TRACK_HEIGHT + MEMORY / 2 + 9, left - 12);
    if (memory.length) g.fillText("resident memory, all together", 8, AXIS + rows.length * TRACK_HEIGHT + MEMORY / 2 - 8, left - 12);
    where.textContent = `${spanText(view.from, view.to)} of ${seconds(total * 1e-9)}`;
    canvas.setAttribute("aria-label", `Timeline of ${rows.length} rows, ${where.textContent}`);
    canvas.dataset.drawn = view.drawn;
    canvas.dataset.labels = JSON.stringify(view.labels.slice(0, 200));
    canvas.dataset.rows = rows.map((row) => row.name).join("\n");
  }
  function drawName(g, theme, row, y, left, width, isChosen) {
    const short = (text, room) => (text.length > room ? text.slice(0, Math.max(1, room - 1)) + "…" : text);
    if (row.head) {
      g.fillStyle = theme.raised;
      g.fillRect(0, y, width, TRACK_HEIGHT - 1);
      g.font = "bold 12px system-ui, sans-serif";
    }
    g.fillStyle = theme.ink;
    const text = row.head ? `${view.closed.has(row.head.key) ? "▸" : "▾"} ${row.name}${row.folded ? ` · ${count(row.folded)} quiet ${row.folded === 1 ? "row" : "rows"} folded` : ""}` : row.name;
    g.fillText((isChosen ? "› " : "") + short(text, Math.floor(((row.head ? width : left) - 20) / 6.5)), row.head ? 4 : 14, y + TRACK_HEIGHT / 2);
    if (row.head) g.font = "12px system-ui, sans-serif";
  }
  function drawAxis(g, theme, left, width, height) {
    const span = view.to - view.from, ticks = ticksOf(view.from, view.to, 8);
    canvas.dataset.ticks = ticks.map(([, label]) => label).join("\n");
    g.strokeStyle = theme.line;
    g.fillStyle = theme.faint;
    g.beginPath();
    for (const [t, label] of ticks) {
      const x = left + ((t - view.from) / span) * (width - left);
      g.moveTo(x, AXIS - 4);
      g.lineTo(x, height);
      const room = g.measureText(label).width + 3;
      g.fillText(label, x + room <= width ? x + 3 : x - room, 9);
    }
    g.stroke();
  }
  // On a CPU: by what the leaf of the stack is.
  const colourOf = (track, what) => (track.t.kind === "cpu" && what >= 0 && frameKinds[profile.stacks.frame[what]] === "python" ? COLOUR.python : COLOUR[TRACK_COLOURS[track.t.kind] ?? "native"]);
  // The first part of an event, at least 40 px wide, that no box of the track over it covers; null: there is none.
  function labelRoom(over, from, until, scale) {
    const l = over.levels[0], wide = 40 / scale;
    let free = from;
    for (let i = firstAfter(l.end, from, l.n), looked = 0; i < l.n && l.start[i] < until && looked < 100; i++, looked++) {
      if (l.start[i] - free >= wide) return [free, l.start[i]];
      free = Math.max(free, l.end[i]);
    }
    return until - free >= wide ? [free, until] : null;
  }
  function drawTrack(g, theme, track, y, left, width, scale, over) {
    let level = track.levels[0];
    const inView = (l) => { const a = firstAfter(l.end, view.from, l.n); const b = firstAfter(l.start, view.to, l.n) + 3; return [a, Math.min(l.n, b)]; };
    let range = inView(level);
    for (let i = 1; i < track.levels.length && range[1] - range[0] > 2 * (width - left); i++) { level = track.levels[i]; range = inView(level); }
    // Boxes under a pixel wide become one. What joins several events is as high as it was busy.
    let joined = -1, joinedEnd = -1, joinedAs = 0, joinedBusy = 0;
    const fill = (x, w, k, part) => { const h = Math.max(3, (TRACK_HEIGHT - 5) * Math.min(1, part)); g.fillStyle = theme.k[k]; g.fillRect(x, y + TRACK_HEIGHT - 3 - h, w, h); view.drawn++; };
    const flush = () => { if (joined >= 0) { const w = Math.max(1, joinedEnd - joined); fill(joined, w, joinedAs, (joinedBusy * scale) / w); joined = -1; } };
    for (let i = range[0]; i < range[1]; i++) {
      const a = level.start[i], b = level.end[i];
      if (b < view.from || a > view.to) continue;
      const x = left + (a - view.from) * scale, w = (b - a) * scale, k = colourOf(track, level.what[i]);
      if (w < 1.5) {
        if (joined >= 0 && x <= joinedEnd + 0.7 && k === joinedAs) { joinedEnd = Math.max(joinedEnd, x + w); joinedBusy += level.busy[i]; }
        else { flush(); joined = x; joinedEnd = x + Math.max(w, 0.8); joinedAs = k; joinedBusy = level.busy[i]; }
        continue;
      }
      flush();
      const x0 = Math.max(left, x), w0 = Math.min(width, x + w) - x0;
      const part = b > a ? level.busy[i] / (b - a) : 1;
      fill(x0, Math.max(0.8, w0 - 0.5), k, part);
      const shown = w0 > 40 && part > 0.7 && level === track.levels[0] && (over ? labelRoom(over, Math.max(a, view.from), Math.min(b, view.to), scale) : [Math.max(a, view.from), Math.min(b, view.to)]);
      if (shown) {
        const text = nameOf(track, level.what[i]), wide = (shown[1] - shown[0]) * scale, room = Math.floor((wide - 6) / 6.4);
        g.fillStyle = inkOn(theme.k[k]);
        g.fillText(text.length > room ? text.slice(0, Math.max(1, room - 1)) + "…" : text, left + (shown[0] - view.from) * scale + 3, y + TRACK_HEIGHT / 2, wide - 5);
        view.labels.push([track.name, shown[0], shown[1]]);
      }
    }
    flush();
  }
  function nameOf(track, what) {
    if (!track.names.has(what)) track.names.set(what, eventName(profile, track.t, what));
    return track.names.get(what);
  }
  function drawMemory(g, theme, y, left, width, scale) {
    const top = Math.max(...memory.map(([, mb]) => mb)) || 1;
    g.strokeStyle = theme.k[COLOUR.memory];
    g.lineWidth = 2;
    g.beginPath();
    memory.forEach(([t, mb], j) => { const x = left + (t * 1e9 - view.from) * scale, h = y + MEMORY - 3 - ((MEMORY - 8) * mb) / top; if (j) g.lineTo(x, h); else g.moveTo(x, h); });
    g.stroke();
    g.lineWidth = 1;
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
    const top = rows[row];
    return top && !top.head ? hitOf(top, t) ?? (top.under ? hitOf(top.under, t) : null) : null;
  }
  function hitOf(track, t) {
    const l = track.levels[0], slack = (2 * (view.to - view.from)) / (canvas.clientWidth || 600);
    for (let i = firstAfter(l.end, t - slack, l.n); i < l.n && l.start[i] <= t + slack; i++) if (l.end[i] >= t - slack) return { track, i, l };
    return null;
  }
  function fold(row) {
    const key = rows[row]?.head?.key;
    if (!key) return false;
    view.closed[view.closed.has(key) ? "delete" : "add"](key);
    layout();
    paint();
    say(`${rows[row].name}: ${view.closed.has(key) ? "folded" : "unfolded"}.`);
    return true;
  }
  const words = ({ track, i, l }) => `${track.t.kind === "wait" ? "waits: " : ""}${eventName(profile, track.t, l.what[i], hoverName) || (track.t.kind === "wait" ? "for a CPU" : track.name)}\n${seconds((l.end[i] - l.start[i]) * 1e-9)} at ${seconds(l.start[i] * 1e-9)}` +
    (track.t.events.count && track.t.events.count[i] > 1 ? `\n${count(track.t.events.count[i])} events joined, ${seconds(l.busy[i] * 1e-9)} in them` : "");
  let drag = null;
  canvas.addEventListener("wheel", (e) => { e.preventDefault(); if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) pan((e.deltaX || e.deltaY) / 1000); else zoomAt(Math.exp(e.deltaY / 400), timeAt(e)); }, { passive: false });
  canvas.addEventListener("pointerdown", (e) => { drag = { x: e.clientX, from: view.from, to: view.to }; canvas.setPointerCapture(e.pointerId); view.row = Math.max(0, Math.min(rows.length - 1, rowAt(e))); paint(); });
  canvas.addEventListener("pointermove", (e) => {
    if (drag) { const d = ((drag.x - e.clientX) / ((canvas.clientWidth || 600) - LEFT())) * (drag.to - drag.from); show(drag.from + d, drag.to + d); return; }
    const hit = eventAt(rowAt(e), timeAt(e));
    if (hit) showTip(e, words(hit)); else hideTip();
  });
  canvas.addEventListener("pointerup", (e) => { const still = drag && Math.abs(drag.x - e.clientX) < 3; drag = null; if (still && !fold(rowAt(e))) openLine(eventAt(rowAt(e), timeAt(e))); });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("dblclick", (e) => zoomAt(0.25, timeAt(e)));
  // The line of the frame that says most about an event.
  function openLine(hit) {
    const what = hit ? hit.l.what[hit.i] : -1;
    if (what < 0 || !["cpu", "wait"].includes(hit.track.t.kind)) return;
    const f = tellingFrame(profile, what), file = profile.frames.file[f];
    if (f !== undefined && profile.files?.[file]) goTo("lines", profile.frames.line[f] > 0 ? `${file}:${profile.frames.line[f]}` : file);
    else say(`${nameOf(hit.track, what)} has no line in this report.`);
  }
  const describe = () => { const hit = eventAt(view.row, (view.from + view.to) / 2), row = rows[view.row]; say(`${row?.name}. ${row?.head ? "Enter folds or unfolds it." : hit ? words(hit) : "Nothing at the middle of the view."}`); };
  const keys = {
    ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), a: () => pan(-0.2), d: () => pan(0.2), w: () => zoomAt(0.6), s: () => zoomAt(1 / 0.6), "+": () => zoomAt(0.6), "-": () => zoomAt(1 / 0.6),
    ArrowUp: () => { view.row = Math.max(0, view.row - 1); paint(); describe(); }, ArrowDown: () => { view.row = Math.min(rows.length - 1, view.row + 1); paint(); describe(); },
    0: () => show(0, total), Home: () => show(0, total), Enter: () => fold(view.row) || describe(), o: () => openLine(eventAt(view.row, (view.from + view.to) / 2)),
  };
  canvas.addEventListener("keydown", (e) => { if (keys[e.key] && !e.ctrlKey && !e.metaKey) { e.preventDefault(); e.stopPropagation(); keys[e.key](); } });
  addEventListener("resize", paint);
  document.addEventListener("themechange", paint);
  let shownRange = "";
  const redraw = () => { // a selected range fills the view
    const now = isTimed() ? rangeName() : "";
    layout();
    if (now !== shownRange) show(...(isTimed() ? hullOf(profile) : [0, total]));
    shownRange = now;
    paint();
  };
  onFilter("time", redraw);
  redraw();
  const merged = tracks.filter((k) => k.t.resolution_ns > 0), kinds = new Set(tracks.map((k) => k.t.kind));
  return [
    el("div", { class: "tools" }, button("Zoom in", () => zoomAt(0.6)), button("Zoom out", () => zoomAt(1 / 0.6)), button("Left", () => pan(-0.2)), button("Right", () => pan(0.2)), button("All", () => show(0, total)), quietButton, button("Save PNG", () => savePicture(canvas, "timeline")), where),
    legend([kinds.has("cpu") && frameKinds.includes("python") && "python", kinds.has("cpu") && "native", kinds.has("wait") && "wait", kinds.has("kernel") && "kernel", (kinds.has("copy") || kinds.has("set")) && "copy", kinds.has("range") && "range", kinds.has("api") && "waitCuda", allSeries.length && "memory"].filter(Boolean)),
    el("p", { class: "note hint" }, "Wheel or + and − zoom, dragging or arrow keys move, 0 shows all. Enter reads out the middle of the chosen row, or folds a process. A click, or o, opens the line. Nearby events are merged; the height shows how busy they were."),
    merged.length > 0 && el("p", { class: "note hint" }, `${merged.length} of ${tracks.length} rows had too many events for one file: events closer than ${seconds(Math.max(...merged.map((k) => k.t.resolution_ns)) * 1e-9)} were joined.`),
    canvas,
    el("details", {}, el("summary", {}, "The same as a table: rows and their busy time"), table([
      { title: "Process or device", value: (k) => groups.find((g) => g.rows.some((r) => r === k || r.under === k)).name }, { title: "Row", value: (k) => (k.t.kind === "cpu" || k.t.kind === "wait" ? `${k.name} · ${TRACK_KINDS[k.t.kind]}` : k.name) }, { title: "Events", number: true, value: (k) => (k.t.events.count ? k.t.events.count.reduce((a, b) => a + b, 0) : k.levels[0].n), format: count },
      { title: "Busy", number: true, value: (k) => k.levels[0].busy.reduce((a, b) => a + b, 0) * 1e-9, format: seconds }], tracks, { name: "rows of the timeline" })),
  ].filter(Boolean);
}
