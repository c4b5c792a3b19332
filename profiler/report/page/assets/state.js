// What the parts of the page share: the chosen process and thread, links to places inside of the page, the meaning of the colours.

// One meaning per colour, everywhere. The numbers are those of --c0 to --c9 in style.css.
const COLOUR = { native: 0, python: 1, kernel: 2, memory: 3, copy: 4, system: 5, range: 6, wait: 7, waitDisk: 8, waitCuda: 9 };
const MEANING = { native: "native code", python: "Python", kernel: "GPU kernels", memory: "memory", copy: "GPU copies and memsets", system: "system (the kernel)", range: "NVTX ranges", wait: "waiting", waitDisk: "waiting for a disk", waitCuda: "in CUDA calls" };

function legend(names) { return el("ul", { class: "legend", "aria-label": "Colours" }, names.map((name) => el("li", {}, el("i", { class: "k" + COLOUR[name] }), MEANING[name]))); }

// The chosen process and thread; null: all. Every part that can tell threads apart shows these alone.
const chosen = { process: null, thread: null };
const isFiltered = () => chosen.process !== null || chosen.thread !== null;

function threadShown(profile, thread) {
  if (!isFiltered()) return true;
  if (!known(thread) || thread < 0) return false;
  return (chosen.thread === null || thread === chosen.thread) && (chosen.process === null || list(profile.threads)[thread]?.process === chosen.process);
}

// The thread of each node of profile.stacks, -1 where it is not known.
function stackThreads(profile) {
  const { parent, frame } = profile.stacks, of = profile.frames.thread || [], out = new Int32Array(rowsOf(profile.stacks));
  for (let i = 0; i < out.length; i++) out[i] = parent[i] === null || parent[i] < 0 ? of[frame[i]] ?? -1 : out[parent[i]];
  return out;
}

const processName = (p) => (p ? `${known(p.rank) ? `rank ${p.rank} · ` : ""}${plain(p.program ?? "process").split("/").pop()} ${p.pid}` : "process");
const threadName = (t) => (t ? `${plain(t.name) || (t.main ? "main" : "thread")} ${t.tid}` : "thread");

// Parts that show threads: their redraw is called when the choice changes, at once or when they are opened next.
const filtered = new Map(); // id of the part: {redraw, stale}
function onFilter(id, redraw) { filtered.set(id, { redraw, stale: false }); }
function refresh(id) {
  const part = filtered.get(id);
  if (part?.stale) { part.stale = false; part.redraw(); }
}
function filterChanged() {
  for (const [id, part] of filtered) { part.stale = true; if (!document.getElementById(id).hidden) refresh(id); }
}

// Two menus above all parts; null where there is nothing to choose.
function filterBar(profile) {
  const processes = list(profile?.processes), threads = list(profile?.threads).map((t, i) => ({ t, i })).filter(({ t }) => !ofRecorder(t));
  if (processes.length < 2 && threads.length < 2) return null;
  const cost = ({ t }) => (t.user_s || 0) + (t.sys_s || 0);
  const bar = el("div", { class: "tools filter", role: "group", "aria-label": "Processes and threads" });
  const draw = () => {
    const of = threads.filter(({ t }) => chosen.process === null || t.process === chosen.process).sort((a, b) => cost(b) - cost(a));
    const menu = (label, options, value, act) => choice(label, [["", "all"], ...options], value === null ? "" : String(value), (v) => { act(v === "" ? null : +v); draw(); filterChanged(); say(isFiltered() ? "Only the chosen threads are shown." : "All threads are shown."); });
    const focused = bar.contains(document.activeElement) ? [...bar.querySelectorAll("select")].indexOf(document.activeElement) : -1;
    bar.replaceChildren(...[
      processes.length > 1 && menu("Process", processes.map((p, i) => [String(i), `${processName(p)} · ${seconds(p.cpu_s)}`]), chosen.process, (v) => { chosen.process = v; chosen.thread = null; }),
      of.length > 1 && menu("Thread", of.map((x) => [String(x.i), `${threadName(x.t)}${processes.length > 1 && chosen.process === null ? ` of ${processName(processes[x.t.process])}` : ""} · ${seconds(cost(x))}`]), chosen.thread, (v) => { chosen.thread = v; }),
      isFiltered() && button("All threads", () => { chosen.process = chosen.thread = null; draw(); filterChanged(); })].filter(Boolean));
    if (focused >= 0) bar.querySelectorAll("select")[focused]?.focus();
  };
  draw();
  return bar;
}

// Addresses inside of the page: #part or #part/what, for example #lines/recon.py:47.
const routes = new Map(); // id of the part: takes what stands behind the slash
const address = (id, what) => "#" + id + (what ? "/" + encodeURIComponent(what).replace(/%2F/g, "/").replace(/%3A/g, ":") : "");
let openPart = () => {}; // by the id of its panel; set by buildTabs

function goTo(id, what) {
  openPart(id, address(id, what));
  if (what) routes.get(id)?.(what);
}
// A link to a place of this page.
const inside = (id, what, ...content) => el("a", { href: address(id, what), onclick: (e) => { e.preventDefault(); goTo(id, what); } }, ...content);
const lineLink = (path, line, text) => inside("lines", known(line) ? `${path}:${line}` : path, code(text ?? `${shortPath(path)}${known(line) ? ":" + line : ""}`));
