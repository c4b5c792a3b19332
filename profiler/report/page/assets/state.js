// What the parts of the page share: the chosen process and thread, links to places inside of the page, the meaning of the colours.
import { list, ofRecorder, once, rowsOf, shortPath } from "./data.js";
import { button, choice, code, el, known, plain, say, seconds, spanText } from "./ui.js";

// One meaning per colour, everywhere. The numbers are those of --c0 to --c9 in style.css.
export const COLOUR = { native: 0, python: 1, kernel: 2, memory: 3, copy: 4, system: 5, range: 6, wait: 7, waitDisk: 8, waitCuda: 9 };
export const MEANING = { native: "native code", python: "Python", kernel: "GPU kernels", memory: "memory", copy: "GPU copies and memsets", system: "system (the kernel)", range: "NVTX ranges", wait: "waiting", waitDisk: "waiting for a disk", waitCuda: "in CUDA calls" };

export function legend(names) { return el("ul", { class: "legend", "aria-label": "Colours" }, names.map((name) => el("li", {}, el("i", { class: "k" + COLOUR[name] }), MEANING[name]))); }

// The selection: process, thread, range of time in ns, and named range (in profile.ranges); null: all. Every part that can tell them apart shows these alone.
export const chosen = { process: null, thread: null, from: null, until: null, range: null };
export const WHOLE = { process: null, thread: null, from: null, until: null, range: null };
export const hasSpan = () => chosen.from !== null;
export const isTimed = () => hasSpan() || chosen.range !== null;
export const ofThreads = () => chosen.process !== null || chosen.thread !== null;
export const isFiltered = () => ofThreads() || isTimed();

export function threadShown(profile, thread) {
  if (!ofThreads()) return true;
  if (!known(thread) || thread < 0) return false;
  return (chosen.thread === null || thread === chosen.thread) && (chosen.process === null || list(profile.threads)[thread]?.process === chosen.process);
}

// The thread of each node of profile.stacks, -1 where it is not known.
export const stackThreads = once((profile) => {
  const { parent, frame } = profile.stacks, of = profile.frames.thread || [], out = new Int32Array(rowsOf(profile.stacks));
  for (let i = 0; i < out.length; i++) out[i] = parent[i] === null || parent[i] < 0 ? of[frame[i]] ?? -1 : out[parent[i]];
  return out;
});

export const processName = (p) => (p ? `${known(p.rank) ? `rank ${p.rank} · ` : ""}${plain(p.task ?? (p.program ?? "process").split("/").pop())} ${p.pid}` : "process");
export const threadName = (t) => (t ? `${plain(t.name) || (t.main ? "main" : "thread")} ${t.tid}` : "thread");
// The selected time: "200 to 500 ms", "fit", "fit, 200 to 500 ms"; and within a sentence: "from 200 to 500 ms", "during fit".
const rangeTitle = (i) => plain(list(selectable?.ranges)[i]?.name ?? "range");
export const rangeName = () => [chosen.range !== null && rangeTitle(chosen.range), hasSpan() && spanText(chosen.from, chosen.until)].filter(Boolean).join(", ") || "the whole run";
export const rangePhrase = () => `${chosen.range === null ? "from" : "during"} ${rangeName()}`;

// Parts that follow the selection: their redraw is called when it changes, at once or when they are opened next.
export const filtered = new Map(); // id of the part: {redraw, stale}
export function onFilter(id, redraw) { filtered.set(id, { redraw, stale: false }); }
export function refresh(id) {
  const part = filtered.get(id);
  if (part?.stale) { part.stale = false; part.redraw(); }
}

// Changes the selection. `values`: of `chosen`, those that change; `moving`: more will follow at once, as in a drag.
export function select(values, aloud = true, moving = false) {
  Object.assign(chosen, values);
  for (const [id, part] of filtered) { part.stale = true; if (!document.getElementById(id)?.hidden) refresh(id); }
  document.dispatchEvent(new CustomEvent("chosenchange", { detail: { moving } }));
  if (aloud) say(isFiltered() ? `Selected: ${isTimed() ? rangeName() : ""}${isTimed() && ofThreads() ? ", " : ""}${ofThreads() ? "the chosen threads alone" : ""}.` : "The whole run is shown.");
}

// The selection within an address: by identifiers of the system and seconds, which a later version reads too.
let selectable = null; // the profile
export function selectionQuery() {
  const parts = [], digits = (ns) => String(Number((ns * 1e-9).toFixed(6)));
  if (hasSpan()) parts.push(`from=${digits(chosen.from)}`, `until=${digits(chosen.until)}`);
  if (chosen.range !== null) parts.push(`range=${encodeURIComponent(list(selectable?.ranges)[chosen.range]?.name ?? "")}`);
  if (chosen.process !== null) parts.push(`process=${list(selectable?.processes)[chosen.process]?.pid}`);
  if (chosen.thread !== null) parts.push(`thread=${list(selectable?.threads)[chosen.thread]?.tid}`);
  return parts.length ? "?" + parts.join("&") : "";
}
export function readSelection(query) {
  const values = new URLSearchParams(query), at = (rows, key, id) => { const i = id === null ? -1 : list(rows).findIndex((r) => String(r[key]) === id); return i < 0 ? null : i; };
  const from = Number(values.get("from")), until = Number(values.get("until")), timed = values.has("until") && until > from && from >= 0;
  const next = { process: at(selectable?.processes, "pid", values.get("process")), thread: at(selectable?.threads, "tid", values.get("thread")), from: timed ? from * 1e9 : null, until: timed ? until * 1e9 : null, range: at(selectable?.ranges, "name", values.get("range")) };
  if (Object.keys(next).some((key) => next[key] !== chosen[key])) select(next, false);
}

const THREADS_MOST = 300; // in the menu: those that took most CPU time

// Menus of processes and threads, and the selected range; empty where there is nothing to choose.
export function filterBar(profile) {
  selectable = profile;
  const processes = list(profile?.processes), threads = list(profile?.threads).map((t, i) => ({ t, i })).filter(({ t }) => !ofRecorder(t));
  const cost = ({ t }) => (t.user_s || 0) + (t.sys_s || 0);
  const timed = new Set(list(profile?.timeline).filter((t) => t.kind === "range").flatMap((t) => [...new Set(list(t.events?.what))]));
  const ranges = list(profile?.ranges).map((r, i) => [i, r]).filter(([i]) => timed.has(i)).sort((a, b) => (b[1].time?.total_s || 0) - (a[1].time?.total_s || 0)).slice(0, 100);
  const bar = el("div", { class: "tools filter", role: "group", "aria-label": "Selection" }), menus = new Map(), span = el("span", { class: "range" }), whole = button("Whole run", () => select(WHOLE), { class: "button small" });
  const menu = (key, label, options, values) => { if (options.length) menus.set(key, choice(label, [["", "all"], ...options], "", (v) => select(values(v === "" ? null : +v)))); };
  let made = null; // the process whose threads the menu has
  const fill = () => {
    const of = threads.filter(({ t }) => chosen.process === null || t.process === chosen.process).sort((a, b) => cost(b) - cost(a));
    menus.clear();
    menu("process", "Process", processes.length > 1 ? processes.map((p, i) => [String(i), `${processName(p)} · ${seconds(p.cpu_s)}`]) : [], (process) => ({ process, thread: null }));
    menu("thread", "Thread", of.length > 1 ? of.filter((x, i) => i < THREADS_MOST || x.i === chosen.thread).map((x) => [String(x.i), `${threadName(x.t)}${processes.length > 1 && chosen.process === null ? ` of ${processName(processes[x.t.process])}` : ""} · ${seconds(cost(x))}`]) : [], (thread) => ({ thread }));
    menu("range", "Range", ranges.map(([i, r]) => [String(i), `${plain(r.name ?? "range").slice(0, 60)} · ${seconds(r.time?.total_s)}`]), (range) => ({ range }));
    const focused = bar.contains(document.activeElement) ? [...bar.querySelectorAll("select")].indexOf(document.activeElement) : -1;
    bar.replaceChildren(...menus.values(), span, whole);
    if (focused >= 0) bar.querySelectorAll("select")[focused]?.focus();
  };
  const draw = () => {
    const listed = (key) => chosen[key] === null || [...menus.get(key)?.querySelectorAll("option") ?? []].some((o) => o.value === String(chosen[key]));
    if (made !== String(chosen.process) || !listed("thread")) { made = String(chosen.process); fill(); }
    for (const [key, node] of menus) node.querySelector("select").value = chosen[key] === null ? "" : String(chosen[key]);
    span.hidden = !hasSpan();
    span.textContent = hasSpan() ? spanText(chosen.from, chosen.until) : "";
    whole.hidden = !isFiltered();
  };
  document.addEventListener("chosenchange", draw);
  draw();
  return bar;
}

// Addresses inside of the page: #part or #part/what, for example #lines/recon.py:47?from=1.5&until=2.
export const routes = new Map(); // id of the part: takes what stands behind the slash
export const address = (id, what) => "#" + id + (what ? "/" + encodeURIComponent(what).replace(/%2F/g, "/").replace(/%3A/g, ":") : "") + selectionQuery();
let partOpener = () => {};
export const onOpenPart = (open) => { partOpener = open; }; // set by buildTabs
export const openPart = (id, hash) => partOpener(id, hash); // by the id of its panel

export function goTo(id, what) {
  openPart(id, address(id, what));
  if (what) routes.get(id)?.(what);
}
// A link to a place of this page.
export const inside = (id, what, ...content) => el("a", { href: address(id, what), onclick: (e) => { e.preventDefault(); goTo(id, what); } }, ...content);
export const lineLink = (path, line, text) => inside("lines", known(line) ? `${path}:${line}` : path, code(text ?? `${shortPath(path)}${known(line) ? ":" + line : ""}`));
