// The page of a comparison: operations and lines of two runs side by side.
import { list, shortPath } from "./data.js";
import { mix } from "./canvas.js";
import { flameView } from "./flame.js";
import { frameTree } from "./stacks.js";
import { bytes, choice, code, count, el, known, megabytes, percent, plain, seconds, table, UNKNOWN } from "./ui.js";

// The flame graph of the difference: as wide as one side's time, red where B takes more, blue where it takes less.
function differenceFlame(c) {
  const rows = list(c.stacks), ns = (key) => rows.map((r) => Math.round((r[key] || 0) * 1e9)), columns = (key) => rows.map((r) => r[key]);
  if (!rows.some((r) => r.a_s > 0) || !rows.some((r) => r.b_s > 0)) return [];
  const profile = { files: Object.fromEntries(rows.filter((r) => r.own && r.file).map((r) => [r.file, { user: true }])), threads: [], timeline: [],
    frames: { function: columns("function"), file: columns("file"), line: columns("line"), module: columns("module"), kind: rows.map((r) => (r.python ? "python" : "native")), thread: rows.map(() => null) },
    stacks: { parent: columns("parent"), frame: rows.map((_, i) => i), cpu_ns: ns("b_s"), before_ns: ns("a_s") } };
  let most = 1, side = "cpu_ns";
  const delta = (node) => (side === "cpu_ns" ? node.value - node.other : node.other - node.value), signed = (v) => `${v < 0 ? "−" : "+"}${seconds(Math.abs(v) * 1e-9)}`;
  const pair = (node, other) => {
    node.other = other?.value ?? 0;
    if (node.frame !== -1) most = Math.max(most, Math.abs(delta(node)));
    const others = new Map(list(other?.children).map((o) => [o.key, o]));
    for (const child of node.children) pair(child, others.get(child.key));
  };
  const view = flameView(profile, { id: "flame-difference", weight: side, alone: true,
    changed: () => { most = 1; pair(view.state.root, frameTree(profile, side === "cpu_ns" ? "before_ns" : "cpu_ns", false, true)); },
    colour: (theme, node) => { const part = node.frame === -1 ? 0 : delta(node) / most; return mix(theme.raised, part > 0 ? (theme.dark ? "#c8432f" : "#e8604c") : theme.dark ? "#3577c9" : "#5b9be6", Math.min(1, Math.abs(part)) ** 0.6); },
    words: (node) => (node.other === undefined ? "" : `A ${seconds((side === "cpu_ns" ? node.other : node.value) * 1e-9)}, B ${seconds((side === "cpu_ns" ? node.value : node.other) * 1e-9)}: ${signed(delta(node))}`) });
  view.rebuild();
  return [el("h2", {}, "Difference by call"), el("div", { class: "tools" }, choice("Widths", [["cpu_ns", "of B"], ["before_ns", "of A"]], side, (v) => { side = view.state.weight = v; view.rebuild(); })),
    el("ul", { class: "legend", "aria-label": "Colours" }, el("li", {}, el("i", { class: "more" }), "takes more in B"), el("li", {}, el("i", { class: "less" }), "takes less in B")), view.canvas, el("p", { class: "note" }, view.detail)];
}

// `alone`: the page names both sides above.
export function comparePanel(c, alone = false) {
  const amount = (q, v) => (!known(v) ? UNKNOWN : q.unit === "s" ? seconds(v) : bytes(v));
  const ranks = { slower: 3, faster: 2, undecided: 1 };
  const measured = (unit, s) => (unit === "s" ? (s.runs > 1 ? `${seconds(s.mean)} ± ${seconds(s.sd)}, ${seconds(s.min)} … ${seconds(s.max)}` : seconds(s.mean)) : megabytes(s.mean));
  const signed = (v) => (v < 0 ? "-" : "+") + seconds(Math.abs(v));
  const own = list(c.functions).filter((f) => known(f.a_s) && (f.own || !["unchanged", "undecided"].includes(f.verdict))), shares = list(c.functions).filter((f) => !known(f.a_s));
  const verdict = { title: "Verdict", kind: "name", key: "verdict" };
  // What is decided comes first, the largest change of each kind at its top.
  const decided = { ...verdict, rank: (o) => (ranks[o.verdict] ?? 0) + (known(o.ratio) ? Math.atan(o.verdict === "faster" ? 1 / o.ratio : o.ratio) / 2 : 0) };
  return [
    el("p", { class: "answer", id: "answer" }, plain(c.answer)),
    !alone && el("p", { class: "note" }, `A: ${plain(c.a)}. B: ${plain(c.b)}.`),
    list(c.warnings).length > 0 && el("div", { class: "finding" }, el("h2", {}, c.machines_differ ? "These runs are not a fair pair" : "To know"), el("ul", {}, c.warnings.map((w) => el("li", {}, plain(w))))),
    list(c.totals).length > 0 && [el("h2", {}, "The program"), table([{ title: "", kind: "name", key: "name" }, ...["a", "b"].map((side) => ({ title: side.toUpperCase(), number: true, value: (t) => t[side].median,
      show: (t) => plain(measured(t.unit, t[side])), hint: "mean ± standard deviation, and range, of the runs without the recorder" })), { title: "B / A", number: true, key: "ratio", format: (v) => (known(v) ? v.toFixed(3) : UNKNOWN) }, verdict,
      { title: "99 % interval", kind: "name", value: (t) => (known(t.low) ? `${t.low.toFixed(3)} to ${t.high.toFixed(3)}` : "one run a side: unknown") }, { title: "Runs", kind: "name", value: (t) => `${t.a.runs} and ${t.b.runs}` }],
    c.totals, { caption: c.totals[0].a.runs > 1 ? "Runs without the recorder" : "As recorded", name: "totals", rowClass: (t) => (t.verdict === "slower" ? "hot" : null) })],
    list(c.operations).length > 0 && [el("h2", {}, "Operations"), table([{ title: "Operation", kind: "name", key: "operation", show: (o) => code(o.operation) }, { title: "Size", number: true, key: "volume_size", format: (v) => (v ? v + "³" : "") },
      { title: "A", number: true, key: "a", format: seconds }, { title: "B", number: true, key: "b", format: seconds }, { title: "B / A", number: true, key: "ratio", format: (v) => (known(v) ? v.toFixed(3) : UNKNOWN) }, decided,
      { title: "99 % interval", kind: "name", hint: "the ratio lies in this interval: by ranks from 5 runs a side on, with fewer by Student's t", value: (o) => (known(o.low) ? o.high > 1000 * o.low ? "too few runs" : `${o.low.toFixed(3)} to ${o.high.toFixed(3)}` : UNKNOWN), rank: (o) => o.low }, { title: "Runs", kind: "name", value: (o) => `${o.runs_a} and ${o.runs_b}` }],
    c.operations, { caption: "Medians of warm runs", sort: 5, name: "operations", rowClass: (o) => (o.verdict === "slower" ? "hot" : null) })],
    own.length > 0 && [el("h2", {}, "Functions"), table([{ title: "Function", kind: "name", key: "name", show: (f) => code(f.name, 80) }, { title: "A", number: true, key: "a_s", format: seconds }, { title: "B", number: true, key: "b_s", format: seconds },
      { title: "B - A", number: true, value: (f) => f.b_s - f.a_s, format: signed }, { title: "Own lines", hint: "the part of B - A in the function's own lines, with the libraries that they call", number: true, value: (f) => f.own_b_s - f.own_a_s, format: signed }, verdict,
      { title: "Line", kind: "name", value: (f) => `${f.file}:${f.line_b ?? f.line_a}`, show: (f) => code(`${shortPath(f.file)}:${f.line_b ?? f.line_a}`) }, { title: "Source", kind: "source", value: (f) => f.text ?? "", show: (f) => code(f.text ?? "", 200) }],
    own, { caption: "CPU time with callees", name: "functions", rowClass: (f) => (f.verdict === "slower" || f.verdict === "new" ? "hot" : null) })],
    differenceFlame(c),
    list(c.edits).length > 0 && [el("h2", {}, "Edited lines"), ...c.edits.slice(0, 50).map((e) => el("div", { class: "finding" },
      el("p", {}, code(`${shortPath(e.file)}:${e.line_b}`), plain(`  ${seconds(e.a)} became ${seconds(e.b)}: ${e.verdict}`)), el("pre", { class: "diff" }, plain(e.diff))))],
    list(c.lines).length > 0 && [el("h2", {}, "Lines"), table([{ title: "Line", kind: "name", value: (l) => `${l.file}:${l.line}`, show: (l) => code(`${shortPath(l.file)}:${l.line}`) }, { title: "A", number: true, key: "a", format: seconds }, { title: "B", number: true, key: "b", format: seconds },
      { title: "B - A", number: true, value: (l) => l.b - l.a, format: signed }, { title: "Error", hint: "standard error of B - A", number: true, key: "error", format: seconds }, verdict,
      { title: "Source", kind: "source", value: (l) => l.text ?? "", show: (l) => code(l.text ?? "", 200) }], c.lines, { caption: "CPU time of the lines themselves", name: "lines", rowClass: (l) => (l.verdict === "slower" ? "hot" : null) })],
    [["total", "Totals"], ["range", "Ranges"], ["kernel", "Kernels"]].map(([group, title]) => { const rows = list(c.quantities).filter((q) => q.group === group); return rows.length > 0 && [el("h2", {}, title), table([{ title: "Name", kind: "name", key: "name", show: (q) => (group === "total" ? plain(q.name) : code(q.name, 120)) },
      { title: "A", number: true, key: "a", show: (q) => amount(q, q.a) }, { title: "Count", number: true, key: "count_a", format: count }, { title: "B", number: true, key: "b", show: (q) => amount(q, q.b) }, { title: "Count", number: true, key: "count_b", format: count },
      { title: "B / A", number: true, value: (q) => (q.a > 0 && known(q.b) ? q.b / q.a : null), format: (v) => (known(v) ? v.toFixed(3) : UNKNOWN) }], rows, { caption: "As each tool recorded it", name: title, filter: rows.length > 20 })]; }),
    shares.length > 0 && [el("h2", {}, "Functions"), table([{ title: "Function", kind: "name", key: "name", show: (f) => code(f.name, 80) }, { title: "A", number: true, key: "a", format: percent }, { title: "B", number: true, key: "b", format: percent },
      { title: "B - A", number: true, value: (f) => f.b - f.a, format: (v) => (v < 0 ? "-" : "+") + percent(Math.abs(v)) }], shares, { caption: "Share of the CPU time with callees", name: "functions" })],
  ].flat(2).filter(Boolean);
}
