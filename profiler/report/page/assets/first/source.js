// The source beside the flame graph: of one file, the lines that take time with the function around them.
import { highlighted, languageOf, openMarks } from "../code.js";
import { cpuTotal, list, shortPath } from "../data.js";
import { flameView } from "../flame.js";
import { aroundLines, functionOf, lineCosts, lineTexts, ofSuite, ownSums, sumOf } from "../lines.js";
import { weightsOf } from "../stacks.js";
import { goTo, inside, isFiltered, isTimed, onFilter } from "../state.js";
import { choice, count, cpuName, el, known, percent, say, seconds } from "../ui.js";

const LINES_MOST = 40, SHARE_LEAST = 0.004; // of lines with a number in the pane; of the file's largest

// A program that mostly waits is not explained by its CPU time. The same rule as summary_waits of report/text.
export const mostlyWaits = (profile) => !(profile.totals.gpu_sum_s > 0) && cpuTotal(profile) + (profile.totals.wait?.runnable || 0) < 0.5 * profile.meta.wall_s;

// The pane's column has {title, of(line): s, total: s}
function measure(profile) {
  const cost = lineCosts(profile), gpu = (l) => cost.gpu(l) || 0, first = list(profile.answers)[0]?.kind;
  if (first === "gpu" && cost.gpuTotal > 0) return { title: "GPU time", of: gpu, total: cost.gpuTotal, cost };
  if (cost.waitTotal > 0 && !ofSuite() && (first === "wait" || mostlyWaits(profile))) return { title: "time and waits", of: (l) => Math.max(cost.cpu(l) || 0, cost.own(l) || 0) + (cost.wait(l) || 0), total: isFiltered() ? cost.total + cost.waitTotal : Math.max(profile.meta.wall_s || 0, cost.total), cost };
  return { title: cost.part ? "traced" : cpuName(), of: (l) => Math.max(cost.cpu(l) || 0, cost.own(l) || 0), total: cost.total, cost };
}

// Brings a row to the middle; the first row in view is whole.
function scrollToRow(body, row) {
  body.style.paddingBottom = "";
  const rows = [...body.querySelectorAll("tr")], most = Math.max(0, body.scrollHeight - body.clientHeight), want = Math.min(most, Math.max(0, row.offsetTop - body.clientHeight / 2)), first = rows.find((r) => r.offsetTop >= want) ?? rows[0];
  body.style.paddingBottom = `${Math.max(0, first.offsetTop - most)}px`;
  body.scrollTop = first.offsetTop;
}

// The flame graph as a pane. {node, flame: null where no stacks are known}
export function flamePane(profile, pick) {
  if (!weightsOf(profile).length) return { node: null, flame: null };
  const flame = flameView(profile, { id: "flame-first", pick });
  flame.rebuild();
  return { flame, node: el("div", { class: "pane" }, el("div", { class: "tools pane-head" }, el("strong", {}, "Flame graph"), inside("flame-graph", null, "larger"), el("span", { class: "unit", id: "flame-first-line" }, flame.detail)), el("div", { class: "scroll flame-scroll" }, flame.canvas), flame.tints.legend()) };
}

// `beside`: a pane in the place of the flame graph.
export function sourcePanes(profile, beside = null) {
  const answer = list(profile.answers)[0], body = el("div", { class: "scroll source-lines", tabindex: "0", role: "region", "aria-label": "source" }), head = el("div", { class: "tools pane-head" }), note = el("p", { class: "note" });
  let path = profile.files?.[answer?.file] ? answer.file : null, at = path && known(answer.line) ? answer.line : null, locked = null;
  const { flame, node } = beside ? { flame: null, node: beside } : flamePane(profile, (place) => { if (place && profile.files[place[0]]) { [path, at] = place; draw(true); } });
  const heads = new Map();

  // Marks a line's frames in the flame graph; null: all frames alike.
  function mark(line) {
    if (!flame) return;
    flame.state.at = line === null ? null : { path, line };
    flame.find();
  }
  function draw(follow) {
    const value = measure(profile), sums = Object.entries(profile.files).map(([p, f]) => [p, f, sumOf(list(f.lines), value.of)]).filter(([, , s]) => s > 0).sort((a, b) => (b[1].user ? 1 : 0) - (a[1].user ? 1 : 0) || b[2] - a[2]);
    const total = value.total || sums.reduce((a, [, , s]) => a + s, 0);
    if (!draw.done && ofSuite() && !sums.some(([p]) => p === path)) path = null; // the answer may be about the set-up
    if (!path || !profile.files[path]) { path = sums[0]?.[0] ?? null; at = null; }
    const all = sums.some(([p]) => p === path) || !path ? sums : [[path, profile.files[path], 0], ...sums];
    head.replaceChildren(...[all.length > 1 ? choice("Source", all.slice(0, 60).map(([p, , s]) => [p, `${shortPath(p)} · ${percent(total > 0 ? s / total : null)}`]), path, (p) => { path = p; at = null; draw(false); say(`${shortPath(p)} is shown.`); }) : el("strong", {}, path ? shortPath(path) : "Source"), path && inside("lines", path, "all its lines"), el("span", { class: "unit" }, `% of ${seconds(total)} ${value.title}`)].filter(Boolean));
    heads.clear();
    if (!path) { body.replaceChildren(el("p", { class: "note" }, Object.keys(profile.files).length ? "No line took time in the selection." : "No source line is known. Build with -g (it changes no optimisation), or install debug symbols.")); return; }
    const file = profile.files[path], language = languageOf(path, file), texts = lineTexts(file), marks = language ? openMarks(texts, language) : null;
    const most = Math.max(1e-12, ...list(file.lines).map(value.of)), hot = list(file.lines).filter((l) => value.of(l) >= SHARE_LEAST * most && value.of(l) > 0).sort((a, b) => value.of(b) - value.of(a)).slice(0, LINES_MOST);
    if (at !== null && !hot.some((l) => l.line === at)) { const l = list(file.lines).find((x) => x.line === at) ?? (texts.has(at) ? { line: at, text: texts.get(at), function: null } : null); if (l) hot.push(l); }
    const rows = aroundLines(file, hot, value.of).map((row) => {
      if (row.gap) return el("tr", { class: "context" }, el("td", {}), el("td", { class: "gap" }, "⋯"), el("td", {}));
      const took = row.total ?? value.of(row), share = total > 0 ? took / total : null, chosen_ = row.line === at && !row.context;
      const press = el("button", { type: "button", class: "plain number-link", "aria-pressed": String(locked === row.line), "aria-label": `Line ${row.line}: show it in the flame graph`, onclick: () => { locked = locked === row.line ? null : row.line; at = row.line; mark(locked); draw(false); heads.get(row.line)?.focus(); } }, String(row.line));
      heads.set(row.line, press);
      return el("tr", { class: chosen_ ? "chosen" : row.total !== undefined ? "context def" : row.context ? "context" : null, "data-row": row.line, onmouseenter: () => locked === null && !row.context && mark(row.line), onmouseleave: () => locked === null && mark(null), ondblclick: () => goTo("lines", `${path}:${row.line}`) },
        el("td", { class: "number" }, press), el("td", { class: "source" }, highlighted(row.text ?? row.name ?? functionOf(file, row), row.text === null ? null : language, marks?.get(row.line) ?? null, 200)),
        el("td", { class: "number share" }, took > 0 && row.total === undefined && el("span", { class: "share-bar", css: { width: `${Math.max(0.1, (3 * took) / most).toFixed(2)}rem` } }), took > 0 && el("span", { class: "share-text" }, share >= 0.0005 ? percent(share) : "< 0.1 %")));
    });
    body.replaceChildren(el("table", { "aria-label": `${shortPath(path)}: line, source, share of the ${value.title}` }, el("colgroup", {}, el("col", { class: "narrow" }), el("col", {}), el("col", { class: "shares" })), el("tbody", {}, rows)));
    const row = at === null ? null : [...body.querySelectorAll("tr[data-row]")].find((r) => r.dataset.row === String(at));
    if (row && (follow || !draw.done)) requestAnimationFrame(() => scrollToRow(body, row));
    draw.done = true;
    const shown = hot.reduce((a, l) => a + value.of(l), 0), own = sums.filter(([, f]) => f.user).reduce((a, [, , s]) => a + s, 0), workers = isFiltered() ? 0 : ownSums(profile).stray / (total || 1), elsewhere = total > 0 && !isTimed() ? 1 - sums.reduce((a, [, , s]) => a + s, 0) / total : 0;
    note.textContent = !texts.size ? "The source is not in this report." : total > 0 && own > 0 && own / total < 0.3 && file.user ? `Your own lines take ${percent(own / total)}. ${workers > 0.1 ? `${percent(workers)} ran in workers, threads or processes on whose stacks none of them is.` : "The rest ran in libraries that none of them called."}` : elsewhere > 0.1 ? `${percent(elsewhere)} of the ${cpuName() || "samples"} has no source line.` : shown > 0 && hot.length === LINES_MOST ? `The ${count(LINES_MOST)} lines that take most are shown.` : "";
  }
  const redraw = () => { flame?.rebuild(); if (flame && locked !== null) mark(locked); draw(false); };
  onFilter("summary", redraw);
  redraw();
  return el("div", { class: "panes fitted" },
    el("div", { class: "pane" }, head, body, note), node);
}
