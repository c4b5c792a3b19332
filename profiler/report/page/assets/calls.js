// Calls: the tree of calls, every function with its inclusive and self time, and for a chosen one who calls it and what it calls.
import { frameName, framePlace, frameTree, functionsOf, hoverName, isCall, WEIGHTS, weightsOf, weightText } from "./stacks.js";
import { goTo, lineLink, onFilter, routes } from "./state.js";
import { button, choice, code, cut, el, percent, say, table, toggle } from "./ui.js";

export function callsPanel(profile) {
  const usable = weightsOf(profile);
  if (!usable.length) return [el("p", {}, "No stacks were recorded.")];
  const menus = el("span", { class: "tools inline" });
  const { frames } = profile, state = { weight: usable[0][0], fold: true, key: null, open: new Set() };
  let tree = null, all = new Map(), functions = null;
  const name = (f) => frameName(frames, f), show = (v) => weightText(state.weight, v), share = (v, of) => percent(of > 0 ? v / of : null);
  const place = (f) => (f >= 0 && frames.file[f] ? lineLink(frames.file[f], frames.line[f] > 0 ? frames.line[f] : null) : code(framePlace(frames, f), 60));
  const treeBody = el("tbody"), listBody = el("div"), oneBody = el("section", { id: "calls-one", "aria-label": "Callers and callees" });

  function pick(key, aloud) {
    state.key = key;
    drawOne();
    listBody.querySelectorAll("tr.chosen").forEach((r) => r.classList.remove("chosen"));
    functions?.reveal(String(key))?.classList.add("chosen");
    if (aloud) say(`${name(all.get(key).frame)} is chosen: callers and callees are below the tree.`);
  }
  const choose = (key, text, limit = 60) => button(cut(text, limit), () => pick(key, true), { class: "plain", title: all.has(key) ? hoverName(frames, all.get(key).frame) : text });

  // Rows of the calls that are open; what takes less than 0.2 % is left out.
  function drawTree(focus) {
    const rows = [], total = tree.value || 1, twigs = new Map();
    const below = (node, level) => {
      const children = node.children, large = children.filter((c) => c.value >= 0.002 * total);
      for (const child of large) {
        const isOpen = state.open.has(child), text = name(child.frame);
        const twig = child.children.length ? el("button", { type: "button", class: "twig", "aria-expanded": String(isOpen), "aria-label": `Calls of ${text}`, onclick: () => { state.open[isOpen ? "delete" : "add"](child); drawTree(child); } }, isOpen ? "▾" : "▸") : el("span", { class: "twig" });
        twigs.set(child, twig);
        rows.push(el("tr", {}, el("td", { class: "name" }, el("span", { css: { "padding-left": Math.min(level, 40) * 0.8 + "rem" } }, twig, choose(child.key, text, 50))),
          el("td", { class: "number" }, show(child.value)), el("td", { class: "number" }, share(child.value, total)), el("td", { class: "number" }, child.self ? show(child.self) : ""), el("td", { class: "text minor" }, place(child.frame))));
        if (isOpen) below(child, level + 1);
      }
    };
    below(tree, 0);
    treeBody.replaceChildren(...rows);
    twigs.get(focus)?.focus();
  }

  function drawList() {
    functions = table([
      { title: "Function", kind: "name", value: (f) => name(f.frame), show: (f) => choose(f.key, name(f.frame)) },
      { title: "Inclusive", hint: "with everything it calls; recursion counts once", number: true, key: "incl", format: show }, { title: "of all", number: true, value: (f) => f.incl / (tree.value || 1), format: percent },
      { title: "Self", number: true, key: "self", format: show }, { title: "of all", number: true, value: (f) => f.self / (tree.value || 1), format: percent },
      { title: "Where", minor: true, value: (f) => framePlace(frames, f.frame), show: (f) => place(f.frame) }],
    [...all.values()].filter((f) => isCall(frames, f.frame)), { caption: "Functions", sort: 3, name: "functions by call", limit: 25, rowKey: (f) => String(f.key) });
    listBody.replaceChildren(functions);
  }

  // Who calls the chosen function, and what it calls.
  function drawOne() {
    const f = all.get(state.key);
    if (!f) { oneBody.replaceChildren(); return; }
    const edge = (title, rows, own) => table([
      { title, kind: "name", value: (r) => r.name, show: (r) => (r.key !== undefined ? choose(r.key, r.name, 44) : el("em", {}, r.name)) },
      { title: "Share", hint: "of the chosen function's inclusive amount", number: true, value: (r) => r.value / (f.incl || 1), format: percent }, { title: WEIGHTS.find(([k]) => k === state.weight)[1], number: true, key: "value", format: show }],
    [...[...rows].map(([key, value]) => ({ key, value, name: name(all.get(key).frame) })), ...own], { caption: title === "Caller" ? "Who calls it" : "What it calls", sort: 1, limit: 15, name: title === "Caller" ? "callers" : "callees", filter: false });
    const text = name(f.frame), outside = f.incl - [...f.callers.values()].reduce((a, b) => a + b, 0);
    oneBody.replaceChildren(el("h2", {}, "Callers and callees of ", el("span", { title: hoverName(frames, f.frame) }, code(text, 120))),
      el("p", {}, `Inclusive ${show(f.incl)} (${share(f.incl, tree.value)} of all), self ${show(f.self)} (${share(f.self, tree.value)}). `, place(f.frame), " ", button("Flame graph", () => goTo("flame-graph", text))),
      el("div", { class: "pair" }, edge("Caller", f.callers, outside > 0.5 ? [{ name: "no caller is known", value: outside }] : []), edge("Callee", f.callees, f.outer > 0 ? [{ name: "(itself)", value: f.outer }] : [])));
  }

  function rebuild() {
    const now = weightsOf(profile);
    if (!now.some(([key]) => key === state.weight)) state.weight = now[0]?.[0] ?? usable[0][0];
    menus.replaceChildren(choice("Weight", now.length ? now : usable, state.weight, (v) => { state.weight = v; rebuild(); }));
    tree = frameTree(profile, state.weight, false, state.fold);
    all = functionsOf(tree);
    state.open.clear();
    for (let node = tree; node;) { // the path that takes half of what is above it
      state.open.add(node);
      node = node.children[0]?.value >= 0.5 * node.value ? node.children[0] : null;
    }
    drawTree();
    drawList();
    const self = [...all.values()].filter((f) => isCall(frames, f.frame)).reduce((a, f) => (!a || f.self > a.self ? f : a), null);
    if (all.size) pick(all.has(state.key) ? state.key : (self ?? all.values().next().value).key);
    else drawOne();
  }
  routes.set("calls", (what) => {
    const best = (test) => [...all.values()].filter((f) => test(name(f.frame))).sort((a, b) => b.incl - a.incl)[0];
    const found = best((n) => n === what) ?? best((n) => n.endsWith("." + what));
    if (!found) { say(`${what} has no ${WEIGHTS.find(([k]) => k === state.weight)[1]} on the shown threads.`); return; }
    pick(found.key);
    oneBody.scrollIntoView({ block: "start" });
  });
  onFilter("calls", rebuild);
  rebuild();
  return [
    el("div", { class: "tools" }, menus, toggle("Fold start-up", true, (on) => { state.fold = on; rebuild(); })),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "tree of calls" }, el("table", { class: "tree" }, el("caption", {}, "Tree of calls"),
      el("thead", {}, el("tr", {}, ["Function", "Inclusive", "of all", "Self", "Where"].map((h, i) => el("th", { scope: "col", class: i && i < 4 ? "number" : i === 4 ? "minor" : null }, h)))), treeBody)),
    oneBody, listBody,
  ];
}
