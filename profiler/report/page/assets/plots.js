// Line and scatter plots in SVG, always with their numbers in a table beside them.
import { allLines, boundBy, list, operations, peakOf } from "./data.js";
import { chosen, COLOUR, isTimed, lineLink, onFilter, processName, rangePhrase, routes } from "./state.js";
import { isWithin, spansOf } from "./time.js";
import { choice, code, count, el, known, megabytes, number, percent, plain, seconds, sparkline, svg, table, UNKNOWN } from "./ui.js";

const tick = (v) => String(Number(v.toPrecision(4)));
const ticksLinear = (low, high) => {
  const rough = (high - low) / 5 || 1, unit = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].map((f) => f * unit).find((s) => s >= rough), out = [];
  for (let v = Math.ceil(low / step) * step; v <= high * 1.0001; v += step) out.push(v);
  return out;
};
const ticksLog = (low, high) => {
  const out = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) if (10 ** e >= low * 0.999 && 10 ** e <= high * 1.001) out.push(10 ** e);
  if (out.length > 1) return out;
  const fine = [0, 1].flatMap((k) => [1, 2, 5].map((f) => f * 10 ** (Math.floor(Math.log10(low)) + k))).filter((v) => v >= low * 0.999 && v <= high * 1.001);
  return fine.length > 1 ? fine : [low, high];
};

// axes: {label, log, format}; series: {name, points: [[x, y]], line, dots, colour: of COLOUR, or none for ink, dash, hollow, thick, title(point), label(point)}
const strokeOf = (s) => (s.colour ? `var(--c${COLOUR[s.colour]})` : "var(--ink)");

export function plot(name, x, y, series, height = 340, marked = null) {
  const W = 760, L = 88, B = 46, T = 12, R = 24;
  const all = series.flatMap((s) => s.points).filter(([a, b]) => known(a) && known(b) && (!x.log || a > 0) && (!y.log || b > 0));
  if (!all.length) return el("p", {}, "Nothing to draw.");
  const range = (axis, values) => {
    let low = Math.min(...values), high = Math.max(...values);
    if (axis.log) return [low / 1.4, high * 1.4];
    if (axis.zero !== false) low = Math.min(0, low);
    return [low, high === low ? low + 1 : high + (high - low) * 0.05];
  };
  const [x0, x1] = range(x, all.map((p) => p[0])), [y0, y1] = range(y, all.map((p) => p[1]));
  const to = (axis, v, a, b) => (axis.log ? Math.log(v / a) / Math.log(b / a) : (v - a) / (b - a));
  const px = (v) => L + to(x, v, x0, x1) * (W - L - R), py = (v) => height - B - to(y, v, y0, y1) * (height - B - T);
  const node = svg("svg", { class: "plot", viewBox: `0 0 ${W} ${height}`, role: "img", "aria-label": name });
  for (const v of x.ticks || (x.log ? ticksLog : ticksLinear)(x0, x1)) {
    node.append(svg("line", { class: "grid", x1: px(v), x2: px(v), y1: T, y2: height - B }), svg("text", { x: px(v), y: height - B + 16, "text-anchor": "middle" }, (x.format || tick)(v)));
  }
  for (const v of (y.log ? ticksLog : ticksLinear)(y0, y1)) {
    node.append(svg("line", { class: "grid", x1: L, x2: W - R, y1: py(v), y2: py(v) }), svg("text", { x: L - 6, y: py(v) + 4, "text-anchor": "end" }, (y.format || tick)(v)));
  }
  node.append(svg("text", { x: (L + W - R) / 2, y: height - 8, "text-anchor": "middle" }, x.label), svg("text", { x: 14, y: (height - B) / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${(height - B) / 2})` }, y.label));
  for (const s of series) {
    const points = s.points.filter(([a, b]) => known(a) && known(b) && (!x.log || a > 0) && (!y.log || b > 0)), color = strokeOf(s);
    if (s.line) node.append(svg("polyline", { points: points.map(([a, b]) => `${px(a).toFixed(1)},${py(b).toFixed(1)}`).join(" "), fill: "none", stroke: color, "stroke-width": s.thick ? 3 : 1.6, ...(s.dash ? { "stroke-dasharray": s.dash } : {}) }));
    if (s.dots) for (const p of points) {
      const dot = svg("circle", { cx: px(p[0]), cy: py(p[1]), r: s.radius ? s.radius(p) : 4, ...(s.ring ? { class: "ring", fill: "none", stroke: "var(--focus)", "stroke-width": 3 } : s.hollow ? { fill: "var(--back)", "fill-opacity": 0.6, stroke: color, "stroke-width": 1.5 } : { fill: color, "fill-opacity": 0.85, stroke: "var(--back)" }) });
      dot.append(svg("title", {}, s.title ? s.title(p) : `${s.name}: ${number(p[0])}, ${number(p[1])}`));
      node.append(dot);
    }
  }
  const dots = series.filter((s) => s.dots && !s.ring).flatMap((s) => s.points.map((p) => [px(p[0]), py(p[1]), s.radius ? s.radius(p) : 4])).filter(([a, b]) => known(a) && known(b));
  label(node, series.flatMap((s) => (s.label ? s.points.filter(([a, b]) => known(a) && known(b)).map((p) => ({ x: px(p[0]), y: py(p[1]), r: s.radius ? s.radius(p) : 4, text: s.label(p) })) : [])), { left: L, right: W - R, top: T, bottom: height - B }, dots, marked);
  return node;
}

// Texts beside their dots where there is room: to the right, to the left, then farther away with a line to the dot. dots: [x, y, radius] of all. The marked one comes first.
function label(node, marks, box, dots, marked) {
  const taken = dots.map(([x, y, r]) => [x - r, y - r, x + r, y + r]), free = (a) => a[0] >= box.left && a[2] <= box.right && a[1] >= box.top && a[3] <= box.bottom && !taken.some((b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]);
  for (const m of [...marks].sort((a, b) => (b.text === marked) - (a.text === marked) || a.y - b.y)) {
    const w = 5.6 * m.text.length + 2, at = [];
    for (let dy = 0; dy <= 180; dy += 12) for (const dx of dy ? [0, 30, 70] : [0]) for (const y of dy ? [m.y - dy, m.y + dy] : [m.y]) at.push([m.x + m.r + 3 + dx, y], [m.x - m.r - 3 - w - dx, y]);
    const place = at.find(([x, y]) => free([x, y - 6, x + w, y + 5]));
    if (!place) continue; // its name is in the dot's title and in the table
    const [x, y] = place;
    taken.push([x, y - 6, x + w, y + 5]);
    if (Math.abs(y - m.y) > 13) node.append(svg("line", { class: "axis", x1: m.x, y1: m.y, x2: x < m.x ? x + w : x, y2: y, "stroke-width": 0.6 }));
    node.append(svg("text", { class: m.text === marked ? "dot-label marked" : "dot-label", x: x, y: y + 3.5 }, m.text));
  }
}

// Lines and dots of a plot: as they are drawn.
function plotLegend(series) {
  return el("ul", { class: "legend" }, series.map((s) => {
    const sample = svg("svg", { viewBox: "0 0 24 12", width: 24, height: 12, "aria-hidden": "true" });
    if (s.line) sample.append(svg("line", { x1: 0, x2: 24, y1: 6, y2: 6, stroke: strokeOf(s), "stroke-width": s.thick ? 3 : 1.6, ...(s.dash ? { "stroke-dasharray": s.dash } : {}) }));
    if (s.dots) sample.append(svg("circle", { cx: 12, cy: 6, r: 4, stroke: s.ring ? "var(--focus)" : strokeOf(s), "stroke-width": s.ring ? 3 : 1.5, fill: s.hollow || s.ring ? "var(--back)" : strokeOf(s) }));
    return el("li", {}, sample, " ", plain(s.name));
  }));
}

function rooflineSeries(timing) {
  const points = operations(timing).flatMap((op) => op.sizes.map((s) => ({ op, s, peak: peakOf(timing, op.name, s.volume_size) })))
    .filter((p) => p.s.gflops > 0 && p.s.gbytes_per_s > 0).map((p) => ({ ...p, intensity: p.s.gflops / p.s.gbytes_per_s }));
  if (!points.length) return null;
  const flops = Math.max(...points.map((p) => (p.peak ? p.peak.flops : 0))) / 1e9, memory = Math.max(...points.map((p) => (p.peak ? p.peak.bytes : 0))) / 1e9;
  const low = Math.min(...points.map((p) => p.intensity), flops / memory || 1) / 2, high = Math.max(...points.map((p) => p.intensity), flops / memory || 1) * 2;
  const peaks = flops > 0 && memory > 0 ? [{ name: `measured peak: ${number(memory)} GB/s, ${number(flops)} GFLOP/s`, line: true, thick: true, points: [[low, low * memory], [flops / memory, flops], [high, flops]] }] : [];
  const largest = points.filter((p) => p.s === p.op.sizes[p.op.sizes.length - 1]), most = Math.max(...points.map((p) => p.s.median));
  const gpu = /cuda/i.test(timing.environment?.backend ?? "") ? "kernel" : "native";
  const dots = (name, hollow, rows) => ({ name, colour: gpu, hollow, dots: true, label: hollow ? null : ([, , p]) => p.op.name, points: rows.map((p) => [p.intensity, p.s.gflops, p]), radius: ([, , p]) => 3 + 7 * Math.sqrt(p.s.median / most), title: ([, , p]) => `${p.op.name} at ${p.s.volume_size}³: ${number(p.s.gflops)} GFLOP/s, ${number(p.intensity)} FLOP/byte` });
  return { points, series: [...peaks, dots("smaller sizes", true, points.filter((p) => !largest.includes(p))), dots("largest size of each operation", false, largest)] };
}

// The chart alone, with what its marks mean. `marked`: the name of an operation whose dots have a ring.
export function rooflinePlot(timing, marked = null) {
  const { series, points } = rooflineSeries(timing) ?? {};
  if (!series) return [];
  const of = points.filter((p) => p.op.name === marked), ring = of.length ? [{ name: marked, ring: true, dots: true, radius: ([, , p]) => series[series.length - 1].radius([0, 0, p]) + 4, title: series[series.length - 1].title, points: of.map((p) => [p.intensity, p.s.gflops, p]) }] : [];
  return [plot("Roofline: rate over arithmetic intensity, operations below the measured peak", { label: "FLOP per byte (ideal)", log: true }, { label: "GFLOP/s", log: true }, [...series, ...ring], 460, marked), plotLegend([...series, ...ring])];
}

export function rooflinePanel(timing) {
  const { points } = rooflineSeries(timing) ?? {};
  if (!points) return [el("p", {}, "No operation declares both its arithmetic and its bytes.")];
  return [
    el("p", { class: "note" }, "Each dot is an operation at one size; its area is the time. Bytes are the least that must cross main memory, so the intensity is an upper limit. Peaks were measured on this machine."),
    ...rooflinePlot(timing),
    table([{ title: "Operation", kind: "name", value: (p) => p.op.name }, { title: "Size", number: true, value: (p) => p.s.volume_size, format: (v) => v + "³" }, { title: "FLOP/byte", number: true, key: "intensity", format: (v) => number(v) },
      { title: "GFLOP/s", number: true, value: (p) => p.s.gflops, format: (v) => number(v) }, { title: "GB/s", number: true, value: (p) => p.s.gbytes_per_s, format: (v) => number(v) },
      { title: "Share of peak", number: true, value: (p) => p.s.roof_share, format: percent }, { title: "Bound by", kind: "name", value: (p) => boundBy(timing, p.s)?.by ?? UNKNOWN },
      { title: "Flag", value: (p) => (p.s.implausible ? "above the peak: implausible" : "") }], points, { sort: 5, name: "roofline points" }),
  ];
}

export function scalingPanel(timing) {
  const ops = operations(timing).filter((op) => op.sizes.length > 1);
  if (!ops.length) return [el("p", {}, "One size was measured: growth needs more.")];
  const view = el("div");
  const draw = (name) => {
    const op = ops.find((o) => o.name === name), f = op.scaling, fitted = f && known(f.p);
    const sizes = op.sizes.map((s) => s.volume_size), model = (n) => f.a + f.b * n ** f.p;
    const curve = fitted ? Array.from({ length: 40 }, (_, i) => sizes[0] * (sizes[sizes.length - 1] / sizes[0]) ** (i / 39)) : [];
    const series = [{ name: "median", colour: "native", dots: true, line: true, points: op.sizes.map((s) => [s.volume_size, s.median]) },
      ...(fitted ? [{ name: `t = ${number(f.a)} + ${number(f.b)} N^${f.p.toFixed(2)}`, line: true, dash: "6 4", points: curve.map((n) => [n, model(n)]) }] : [])];
    view.replaceChildren(
      plot(`${op.name}: time over size`, { label: "size N", log: true, ticks: sizes, format: String }, { label: "time", log: true, format: seconds }, series), plotLegend(series),
      el("p", {}, fitted ? `Grows like N^${f.p.toFixed(2)}; r² ${number(f.r2, 4)}` + (known(f.overhead_share) ? `; a constant part of ${percent(f.overhead_share)} at the smallest size.` : ".") : `No exponent: ${plain(f?.reason ?? "not fitted")}.`),
      table([{ title: "Size", number: true, key: "volume_size", format: String }, { title: "Median", number: true, key: "median", format: seconds }, { title: "Min", number: true, key: "min", format: seconds },
        { title: "Fit", number: true, value: (s) => (fitted ? model(s.volume_size) : null), format: seconds }, { title: "Residual", hint: "(median - fit) / fit", number: true, value: (s) => (fitted ? s.median / model(s.volume_size) - 1 : null), format: percent },
        { title: "Updates/s", number: true, key: "updates_per_s", format: (v) => number(v) }], op.sizes, { name: `sizes of ${op.name}`, filter: false }));
  };
  const menu = choice("Operation", ops.map((o) => [o.name, o.name]), ops[0].name, draw);
  routes.set("scaling", (name) => { if (ops.some((o) => o.name === name)) { menu.querySelector("select").value = name; draw(name); } });
  draw(ops[0].name);
  return [el("div", { class: "tools" }, menu), view,
    el("h2", {}, "All operations"), table([{ title: "Operation", kind: "name", key: "name" }, { title: "Exponent", number: true, value: (o) => o.scaling?.p, format: (v) => (known(v) ? v.toFixed(2) : UNKNOWN) }, { title: "r²", number: true, value: (o) => o.scaling?.r2, format: (v) => number(v, 4) },
      { title: "Constant part", number: true, value: (o) => o.scaling?.a, format: seconds }, { title: "By size", value: (o) => o.sizes.map((s) => seconds(s.median)).join(", "), show: (o) => sparkline(o.sizes.map((s) => Math.log(s.median)), o.sizes.map((s) => `${s.volume_size}: ${seconds(s.median)}`).join(", ")) },
      { title: "Why none", value: (o) => o.scaling?.reason ?? "" }], ops, { name: "growth" })];
}

// Resident pages of all processes together: at every moment that one of them was looked at, the last value of each that lives. [[s, MB]]
export function totalMemory(series) {
  const events = series.flatMap((s, i) => s.t_s.map((t, j) => ({ t, i, mb: s.rss_mb[j], last: j === s.t_s.length - 1 }))).filter((e) => known(e.mb)).sort((a, b) => a.t - b.t), now = new Array(series.length).fill(0), out = [];
  let sum = 0;
  for (const e of events) {
    sum += e.mb - now[e.i];
    now[e.i] = e.mb;
    if (out.length && out[out.length - 1][0] === e.t) out[out.length - 1][1] = sum; else out.push([e.t, sum]);
    if (e.last) { sum -= e.mb; now[e.i] = 0; }
  }
  return out;
}

export const hasMemory = (profile) => list(profile.memory?.series).length > 0 || profile.totals.peak_heap_mb > 0 || profile.totals.alloc_mb > 0 || profile.totals.peak_device_mb > 0;

// The memory of the selection: the lines' own amounts are known in equal parts of the run.
export function memoryPanel(profile) {
  const body = el("div"), redraw = () => body.replaceChildren(...memoryParts(profile));
  onFilter("memory", redraw);
  redraw();
  return [body];
}

function heldInRange(profile) {
  const bin = profile.memory?.bin_s * 1e9, spans = spansOf(profile);
  return allLines(profile).map((l) => ({ file: l.path, line: l.line, value: list(l.live_mb).reduce((a, v, i) => (isWithin(spans, i * bin, (i + 1) * bin) ? Math.max(a, v) : a), 0) })).filter((p) => p.value > 0).sort((a, b) => b.value - a.value).slice(0, 50);
}

function memoryParts(profile) {
  const spans = spansOf(profile), of = (s) => { if (!isTimed()) return s; const keep = list(s.t_s).map((t, i) => (isWithin(spans, t * 1e9) ? i : -1)).filter((i) => i >= 0); return { ...s, t_s: keep.map((i) => s.t_s[i]), rss_mb: keep.map((i) => s.rss_mb[i]) }; };
  const all = list(profile.memory?.series).filter((s) => chosen.process === null || s.process === chosen.process).map(of), total = totalMemory(all.filter((s) => s.t_s.length));
  const top = (s) => Math.max(...list(s.rss_mb).filter(known), 0), largest = Math.max(...all.map(top), 0);
  const shown = all.filter((s) => top(s) > 0 && top(s) >= 0.05 * largest).sort((a, b) => top(b) - top(a)).slice(0, 8), left = all.length - shown.length;
  const dashes = [null, "8 3", "3 3", "8 3 2 3", "12 4", "2 5", "6 6", "14 3 3 3"];
  const series = [...(total.length && shown.length > 1 ? [{ name: `all processes together, at most ${megabytes(Math.max(...total.map(([, mb]) => mb)))}`, line: true, thick: true, points: total }] : []),
    ...shown.map((s, i) => ({ name: `${processName(list(profile.processes)[s.process])}, at most ${megabytes(top(s))}`, colour: "memory", line: true, thick: shown.length === 1, dash: dashes[i], points: s.t_s.map((t, j) => [t, s.rss_mb[j]]) }))];
  const places = (title, rows, note) => list(rows).length > 0 && [el("h2", {}, title), note && el("p", { class: "note" }, note), table([{ title: "Line", kind: "name", value: (p) => `${p.file}:${p.line}`, show: (p) => lineLink(p.file, p.line) },
    { title: "Live", number: true, key: "value", format: megabytes }, ...(rows.some((p) => known(p.n)) ? [{ title: "Blocks", number: true, key: "n", format: count }] : []),
    { title: "Source", kind: "source", optional: true, value: (p) => list(profile.files?.[p.file]?.lines).find((l) => l.line === p.line)?.text ?? "", show: (p) => code(list(profile.files?.[p.file]?.lines).find((l) => l.line === p.line)?.text?.trim() ?? "", 120) }], rows, { sort: 1, name: title })];
  const t = profile.totals;
  return [
    el("p", {}, `Resident memory peaked at ${megabytes(t.peak_rss_mb)}, what was allocated and not freed at ${megabytes(t.peak_heap_mb)} (large mappings count whole, touched or not)` + (known(t.peak_device_mb) ? `, device memory at ${megabytes(t.peak_device_mb)}` : "") + `; ${megabytes(t.alloc_mb)} were allocated in all.`),
    series.length > 0 && [plot("Resident memory over time", { label: "s", zero: !isTimed() }, { label: "MiB" }, series), plotLegend(series), left > 0 && el("p", { class: "note" }, left === 1 ? "One smaller process is not drawn." : `${count(left)} smaller processes are not drawn.`)],
    isTimed() ? places(`Most that lines held ${rangePhrase()}`, heldInRange(profile), "In equal parts of the run; lines below 1 % of the largest heap are not followed. The amounts above and below are those of the whole run.") : places("Allocated and not freed at the peak", profile.memory?.peak_lines, `At ${seconds(profile.memory?.peak_s)} after the start.`), places("Device memory at its peak", profile.memory?.device_peak_lines),
    list(profile.memory?.leaks).length > 0 && [el("h2", {}, "Suspected leaks"), table([{ title: "Line", kind: "name", value: (p) => `${p.file}:${p.line}`, show: (p) => lineLink(p.file, p.line) }, { title: "Score", number: true, key: "score", format: (v) => number(v) },
      { title: "Live at the end", number: true, key: "live_mb", format: megabytes }, { title: "Growth per second", number: true, key: "velocity_mb_s", format: megabytes }], profile.memory.leaks, { sort: 2, name: "leaks" })],
  ].flat(2).filter(Boolean);
}
