// Search over everything: lines, files, functions, kernels, ranges, operations, findings, parts of the page.
import { list, operations, rowsOf, shortPath } from "./data.js";
import { frameName, framePlace, frameTree, functionsOf, isCall, weightsOf } from "./stacks.js";
import { goTo } from "./state.js";
import { code, count, cut, el, percent, plain } from "./ui.js";

const FOUND_MAX = 40;

// What can be found: {kind, text, more, weight (of its kind), go}. Texts are compared in lower case.
function searchIndex(profile, timing, parts) {
  const out = [], add = (kind, text, more, weight, go) => out.push({ kind, text: plain(text), more: plain(more ?? ""), weight: weight || 0, go, low: plain(`${text} ${more ?? ""}`).toLowerCase() });
  parts.forEach(([id, title]) => add("part", title, "", 0, () => goTo(id)));
  for (const op of operations(timing)) add("operation", op.name, "", 0, () => goTo("scaling", op.name));
  for (const [path, file] of Object.entries(profile?.files || {})) {
    add("file", path, "", file.cpu_share, () => goTo("lines", path));
    for (const l of list(file.lines)) add("line", `${path}:${l.line}`, (l.text ?? "").trim(), l.cpu?.share || l.gpu?.share || 0, () => goTo("lines", `${path}:${l.line}`));
  }
  if (profile && rowsOf(profile.stacks)) {
    const weight = weightsOf(profile)[0]?.[0], tree = weight && frameTree(profile, weight, false, false);
    if (tree) for (const f of functionsOf(tree).values()) if (isCall(profile.frames, f.frame)) add("function", frameName(profile.frames, f.frame), framePlace(profile.frames, f.frame), f.incl / tree.value, () => goTo("calls", frameName(profile.frames, f.frame)));
  }
  list(profile?.kernels).forEach((k) => add("kernel", k.name, k.file ? `${shortPath(k.file)}:${k.line}` : "", k.share_of_kernel_time, () => goTo("kernels", k.name)));
  const longest = Math.max(...list(profile?.ranges).map((r) => r.time?.total_s || 0), 1e-12);
  list(profile?.ranges).forEach((r) => add("range", r.name ?? "", "", (r.time?.total_s || 0) / longest, () => goTo("ranges", r.name)));
  list(profile?.findings).slice(0, 8).forEach((f, i) => add("finding", f.title, f.evidence, 1, () => goTo("summary", `finding-${i}`)));
  return out;
}

// Every word must be there; what begins with the first word goes first, then what costs more.
function searchFor(index, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const hits = index.filter((x) => words.every((w) => x.low.includes(w)));
  const rank = (x) => (x.low === words[0] ? 4 : 0) + (x.low.startsWith(words[0]) ? 2 : 0) + Math.min(1, x.weight);
  return hits.map((x) => [rank(x), x]).sort((a, b) => b[0] - a[0]).map(([, x]) => x);
}

// What was found has the focus, so that the next key goes on from there.
function settle() {
  const part = document.querySelector('[role="tabpanel"]:not([hidden])');
  if (!part || part.contains(document.activeElement)) return;
  const node = part.querySelector("tr.chosen a[href], tr.chosen button") ?? part.querySelector("tr.chosen") ?? part;
  if (!node.matches("a, button")) node.tabIndex = -1;
  node.focus({ preventScroll: true });
}

export function findDialog(profile, timing, parts) {
  let index = null, hits = [], at = 0;
  const results = el("ul", { role: "listbox", id: "found", "aria-label": "Found" }), told = el("p", { class: "note", role: "status" });
  const input = el("input", { type: "search", role: "combobox", "aria-label": "Search everything", placeholder: "Lines, functions, kernels, ranges, findings", "aria-expanded": "false", "aria-controls": "found", "aria-autocomplete": "list", oninput: () => draw() });
  const dialog = el("dialog", { class: "find", "aria-label": "Search" }, input, told, results);
  const shut = () => { dialog.close(); input.blur(); }; // where nothing had the focus before, the field keeps it until the next frame, and a "/" would go there
  const take = (hit) => { shut(); hit.go(); settle(); };
  function mark() {
    [...results.children].forEach((n, i) => n.setAttribute("aria-selected", String(i === at)));
    const node = results.children[at];
    if (node) { input.setAttribute("aria-activedescendant", node.id); node.scrollIntoView({ block: "nearest" }); } else input.removeAttribute("aria-activedescendant");
  }
  function draw() {
    index ??= searchIndex(profile, timing, parts);
    hits = searchFor(index, input.value);
    at = 0;
    const shown = hits.slice(0, FOUND_MAX);
    results.replaceChildren(...shown.map((hit, i) => el("li", { role: "option", id: "found-" + i, "aria-selected": "false", onclick: () => take(hit) },
      el("span", { class: "kind" }, hit.kind), code(hit.text, 90), hit.more && el("span", { class: "more" }, " ", cut(hit.more, 80)), hit.weight > 0.0005 && hit.kind !== "finding" && el("span", { class: "share" }, percent(hit.weight)))));
    input.setAttribute("aria-expanded", String(shown.length > 0));
    told.textContent = !input.value.trim() ? "Type a word. Arrow keys choose, Enter opens, Escape closes." : hits.length > shown.length ? `${count(shown.length)} of ${count(hits.length)} shown` : hits.length === 1 ? "1 found" : `${count(hits.length)} found`;
    mark();
  }
  input.addEventListener("keydown", (e) => {
    const n = Math.min(hits.length, FOUND_MAX), to = { ArrowDown: at + 1, ArrowUp: at - 1 }[e.key];
    if (to !== undefined && n) { e.preventDefault(); at = (to + n) % n; mark(); }
    if (e.key === "Escape") { e.preventDefault(); shut(); } // a search field would empty itself first
    if (e.key === "Enter" && hits[at]) { e.preventDefault(); take(hits[at]); }
  });
  dialog.ask = () => { dialog.showModal(); draw(); input.select(); };
  return dialog;
}
