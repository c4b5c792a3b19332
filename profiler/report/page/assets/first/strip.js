// The strip: the whole run on one row for each thing that was measured over time. A range that is dragged on it is the selection of all parts.
import { fit, inkOn, painter, paintNow, themed } from "../canvas.js";
import { cpuTotal, list } from "../data.js";
import { outerRanges } from "../tracks.js";
import { chosen, COLOUR, hasSpan, isTimed, ofThreads, rangeName, select, threadShown } from "../state.js";
import { binned, endOf, spansOf } from "../time.js";
import { totalMemory } from "../plots.js";
import { el, hideTip, known, megabytes, number, percent, seconds, showTip, ticksOf } from "../ui.js";

const BINS = 400;
const BAND = 17, AXIS = 17, SHORTEST = 1e-4; // px, px, part of the run

// Rows with their height and what is said of each: the fact stands here and nowhere else on the first screen.
function stripRows(profile, data) {
  const wall = profile.meta.wall_s, cores = Number(profile.environment?.["launcher.cpus"] ?? profile.environment?.cores), t = profile.totals, rows = [];
  const mean = ofThreads() ? data.cpu?.reduce((a, b) => a + b, 0) / BINS : cpuTotal(profile) / wall;
  const top = (values) => values.reduce((a, b) => Math.max(a, b), 0);
  if (data.cpu || data.ready) rows.push({ key: "cpu", height: 40, title: "CPU", fact: known(mean) ? `${number(mean, 2)}${cores > 0 ? ` of ${cores}` : ""} cores on average` : "", top: Math.max(1, Math.ceil(top((data.cpu ?? data.ready).map((v, i) => v + (data.ready?.[i] || 0))) - 0.2)), unit: (v) => `${number(v, 2)} cores` });
  if (data.gpu) rows.push({ key: "gpu", height: 22, title: "GPU", fact: t.gpu_busy_s > 0 && wall > 0 ? `busy ${percent(Math.min(1, t.gpu_busy_s / wall))} of the time` : "", top: Math.max(1, top(data.gpu)), unit: (v) => `busy ${percent(Math.min(1, v))}` });
  if (data.memory) rows.push({ key: "memory", height: 26, title: "Memory", fact: `peak ${megabytes(top(data.memory))}`, top: top(data.memory) || 1, unit: megabytes });
  if (data.io) rows.push({ key: "io", height: 20, title: "Files", fact: profile.io?.read ? `${megabytes((profile.io.read.mb || 0) + (profile.io.write?.mb || 0))} read and written` : "", top: top(data.io) || 1, unit: (v) => `${megabytes(v)}/s` });
  return rows;
}

// Resident memory of all shown processes in equal parts of the run.
function memoryBins(profile, total) {
  const series = list(profile.memory?.series).filter((s) => list(s.t_s).length > 1 && (chosen.process === null || s.process === chosen.process)), sums = totalMemory(series);
  if (!sums.length) return null;
  const out = new Float64Array(BINS);
  for (let i = 0, at = 0; i < BINS; i++) {
    const until = ((i + 1) * total) / BINS / 1e9;
    let most = at > 0 ? sums[at - 1][1] : 0;
    while (at < sums.length && sums[at][0] <= until) most = Math.max(most, sums[at++][1]);
    out[i] = most;
  }
  return out;
}

// Neighbouring parts whose value is above a half: [[from, until]] in parts.
function spans(values) {
  const out = [];
  values?.forEach((v, i) => { if (v > 0.5) { if (out.length && out[out.length - 1][1] === i) out[out.length - 1][1] = i + 1; else out.push([i, i + 1]); } });
  return out;
}

export function runStrip(profile) {
  const total = endOf(profile);
  if (!(total > 0) || !list(profile.timeline).length) return null;
  const canvas = el("canvas", { tabindex: "0", id: "strip", role: "application", "aria-roledescription": "range of time" });
  const LEFT = () => Math.min(250, (canvas.clientWidth || 600) * 0.24);
  let data = null, rows = [], bands = [], cursor = 0.5, drag = null;

  function layout() {
    data = binned(profile, BINS);
    data.memory = memoryBins(profile, total);
    rows = stripRows(profile, data);
    const imports = spans(data.imports).filter(([a, b]) => b - a > 1 || BINS < 50).map(([a, b]) => ({ name: "imports", from: (a * total) / BINS, until: (b * total) / BINS, k: COLOUR.wait }));
    bands = [...imports, ...outerRanges(profile, (t) => threadShown(profile, t.thread)).map((r) => ({ ...r, k: COLOUR.range }))];
  }
  function draw() {
    const bandRow = bands.length ? BAND : 0, { context: g, width, height } = fit(canvas, bandRow + rows.reduce((a, r) => a + r.height, 0) + AXIS);
    const theme = themed(), left = LEFT(), room = width - left, x = (ns) => left + (ns / total) * room;
    g.fillStyle = theme.back;
    g.fillRect(0, 0, width, height);
    g.font = "12px system-ui, sans-serif";
    g.textBaseline = "middle";
    for (const band of bands) {
      const a = x(band.from), w = Math.max(1, x(band.until) - a);
      g.fillStyle = theme.k[band.k];
      g.fillRect(a, 1, w - (w > 3 ? 1 : 0), BAND - 3);
      if (w > 34) { g.fillStyle = inkOn(theme.k[band.k]); const fits = Math.floor((w - 6) / 6.4); g.fillText(band.name.length > fits ? band.name.slice(0, Math.max(1, fits - 1)) + "…" : band.name, a + 3, BAND / 2, w - 5); }
    }
    let y = bandRow;
    for (const row of rows) { drawRow(g, theme, row, y, left, room); y += row.height; }
    g.fillStyle = theme.ink;
    if (bandRow) g.fillText(bands.some((b) => b.name === "imports") && bands.some((b) => b.name !== "imports") ? "Imports and ranges" : bands[0].name === "imports" ? "Imports" : "Ranges", 2, BAND / 2);
    g.strokeStyle = theme.line;
    g.fillStyle = theme.faint;
    g.beginPath();
    for (const [ns, label] of ticksOf(0, total, Math.max(3, Math.floor(room / 90)))) {
      g.moveTo(x(ns) + 0.5, y);
      g.lineTo(x(ns) + 0.5, y + 4);
      const w = g.measureText(label).width;
      g.fillText(label, Math.max(left, Math.min(width - w, x(ns) - w / 2)), y + 10);
    }
    g.stroke();
    if (isTimed()) {
      g.globalAlpha = 0.7;
      g.fillStyle = theme.back;
      let at = left; // what is not selected is pale
      for (const [from, until] of spansOf(profile, chosen.process ?? undefined)) { g.fillRect(at, 0, x(from) - at, y); at = Math.max(at, x(until)); }
      g.fillRect(at, 0, width - at, y);
      g.globalAlpha = 1;
      g.strokeStyle = theme.focus;
      g.lineWidth = 2;
      if (hasSpan()) g.strokeRect(x(chosen.from), 1, Math.max(2, x(chosen.until) - x(chosen.from)), y - 2);
      g.lineWidth = 1;
    }
    canvas.dataset.rows = [...(bandRow ? ["bands"] : []), ...rows.map((r) => r.key)].join(" ");
    canvas.setAttribute("aria-label", `The run over time: ${rows.map((r) => `${r.title} ${r.fact}`.trim()).join("; ")}. Selected: ${rangeName()}. Arrow keys move the range, + and − change its length, Escape selects the whole run.`);
  }
  function drawRow(g, theme, row, y, left, room) {
    const base = y + row.height - 2, scale = (row.height - 5) / row.top, step = room / BINS;
    const area = (values, below, colour) => {
      if (!values) return;
      g.fillStyle = colour;
      g.beginPath();
      for (let i = 0; i < BINS; i++) {
        const from = below?.[i] || 0, h = Math.min(row.top - from, values[i]) * scale;
        if (h > 0.2) g.rect(left + i * step, base - from * scale - h, step + 0.3, h);
      }
      g.fill();
    };
    if (row.key === "cpu") { area(data.cpu, null, theme.k[COLOUR.native]); area(data.ready, data.cpu, theme.k[COLOUR.wait]); } else area(data[row.key], null, theme.k[{ gpu: COLOUR.kernel, memory: COLOUR.memory, io: COLOUR.copy }[row.key]]);
    g.strokeStyle = theme.line;
    g.beginPath();
    g.moveTo(left, base + 0.5);
    g.lineTo(left + room, base + 0.5);
    g.stroke();
    g.fillStyle = theme.ink;
    const middle = y + row.height / 2;
    g.font = "600 12px system-ui, sans-serif";
    g.fillText(row.title, 2, row.height > 30 ? middle - 8 : middle);
    g.font = "12px system-ui, sans-serif";
    g.fillStyle = theme.faint;
    if (row.key === "cpu" && data.ready) {
      g.fillText("grey: waiting for a CPU", 52, middle - 8, left - 58);
      g.fillStyle = theme.k[COLOUR.wait];
      g.fillRect(38, middle - 13, 10, 10);
      g.fillStyle = theme.faint;
    }
    g.fillText(row.fact, row.height > 30 ? 2 : 62, row.height > 30 ? middle + 8 : middle, left - (row.height > 30 ? 8 : 68));
  }
  const paint = painter(draw);
  const bandAt = (at) => bands.find((b) => at >= b.from && at < b.until);
  const timeAt = (event) => { const r = canvas.getBoundingClientRect(), left = LEFT(); return Math.max(0, Math.min(total, ((event.clientX - r.left - left) / (r.width - left)) * total)); };
  const setRange = (from, until, aloud, moving) => {
    const a = Math.max(0, Math.min(from, until)), b = Math.min(total, Math.max(from, until));
    select(b - a < SHORTEST * total ? { from: null, until: null } : { from: a, until: b }, aloud, moving);
  };
  let next = null; // where the pointer is, until the next frame follows it
  function follow() {
    if (next === null || !drag) return;
    const begun = performance.now();
    setRange(drag.from, next, false, true);
    paintNow();
    canvas.dataset.took = (performance.now() - begun).toFixed(1);
    next = null;
  }
  canvas.addEventListener("pointerdown", (e) => { if (e.button) return; drag = { from: timeAt(e), x: e.clientX }; canvas.setPointerCapture(e.pointerId); hideTip(); });
  canvas.addEventListener("pointermove", (e) => {
    if (drag) {
      if (Math.abs(e.clientX - drag.x) < 3) return;
      if (next === null) requestAnimationFrame(follow);
      next = timeAt(e);
      return;
    }
    const at = timeAt(e), i = Math.min(BINS - 1, Math.floor((at / total) * BINS)), band = bandAt(at);
    if (e.clientX - canvas.getBoundingClientRect().left < LEFT()) { hideTip(); return; }
    showTip(e, [`${seconds(at * 1e-9)}${band ? ` · ${band.name}` : ""}`, ...rows.map((r) => `${r.title}: ${r.unit(data[r.key]?.[i] ?? 0)}`), ...(data.ready?.[i] > 0.005 ? [`waiting for a CPU: ${number(data.ready[i], 2)} threads`] : [])].join("\n"));
  });
  canvas.addEventListener("pointerup", (e) => {
    if (!drag) return;
    if (Math.abs(e.clientX - drag.x) < 3) { const band = e.offsetY < (bands.length ? BAND : 0) && !hasSpan() && bandAt(timeAt(e)); select(band ? { from: band.from, until: band.until } : { from: null, until: null }); } // a click on a band selects it
    else setRange(drag.from, timeAt(e), true);
    drag = next = null;
  });
  canvas.addEventListener("pointercancel", () => { drag = next = null; });
  canvas.addEventListener("pointerleave", hideTip);
  const move = (by) => {
    const length = hasSpan() ? chosen.until - chosen.from : total / 10, from = hasSpan() ? chosen.from + by * length : cursor * (total - length);
    const at = Math.max(0, Math.min(total - length, from));
    setRange(at, at + length, true);
  };
  const grow = (by) => { if (!hasSpan()) { move(0); return; } const middle = (chosen.from + chosen.until) / 2, half = ((chosen.until - chosen.from) / 2) * by; setRange(Math.max(0, middle - half), Math.min(total, middle + half), true); };
  const keys = { ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), "+": () => grow(1.25), "-": () => grow(0.8), Escape: () => select({ from: null, until: null }), Home: () => { cursor = 0; setRange(0, hasSpan() ? chosen.until - chosen.from : total / 10, true); }, End: () => setRange(total - (hasSpan() ? chosen.until - chosen.from : total / 10), total, true) };
  canvas.addEventListener("keydown", (e) => { if (keys[e.key] && !e.ctrlKey && !e.metaKey) { e.preventDefault(); e.stopPropagation(); keys[e.key](); } });
  addEventListener("resize", paint);
  document.addEventListener("themechange", paint);
  let of = "";
  document.addEventListener("chosenchange", () => { const now = `${chosen.process} ${chosen.thread}`; if (now !== of) { of = now; layout(); } paint(); });
  layout();
  paint();
  return canvas;
}

// The selected range as two numbers, for keys and screen readers.
export function rangeFields(profile) {
  const total = endOf(profile);
  if (!(total > 0) || !list(profile.timeline).length) return null;
  const field = (label, value) => el("label", {}, label + " ", el("input", { type: "number", min: "0", max: String(total * 1e-9), step: "any", value, size: "7" }));
  const from = field("From", "0"), until = field("until", ""), node = el("span", { class: "tools inline fields" }, from, until, " s");
  const [a, b] = node.querySelectorAll("input");
  const show = () => { a.value = Number(((hasSpan() ? chosen.from : 0) * 1e-9).toPrecision(4)); b.value = Number(((hasSpan() ? chosen.until : total) * 1e-9).toPrecision(4)); };
  node.addEventListener("change", () => {
    const low = Math.max(0, Number(a.value) * 1e9), high = Math.min(total, Number(b.value) * 1e9);
    if (high > low) select(low <= 0 && high >= total * 0.999 ? { from: null, until: null } : { from: low, until: high });
    else show();
  });
  document.addEventListener("chosenchange", show);
  show();
  return node;
}
