// Starts the page: tabs, theme, keys.
import { callsPanel } from "./calls.js";
import { painters } from "./canvas.js";
import { causesPanel } from "./causes.js";
import { comparePanel } from "./compare.js";
import { list, operations, unpack } from "./data.js";
import { environmentPanel, previewPanel } from "./environment.js";
import { filesPanel } from "./files.js";
import { findDialog } from "./find.js";
import { rangeFields, runStrip } from "./first/strip.js";
import { answerBlock, qualityBadge, summaryPanel } from "./first/summary.js";
import { flamePanel } from "./flame.js";
import { kernelsPanel, rangesPanel, transfersPanel } from "./gpu.js";
import { linesPanel, prepareLines } from "./lines.js";
import { hasLocks, locksPanel } from "./locks.js";
import { hasMemory, memoryPanel, rooflinePanel, scalingPanel } from "./plots.js";
import { ranksPanel } from "./ranks.js";
import { address, COLOUR, filterBar, filtered, legend, onOpenPart, readSelection, refresh, routes, selectionQuery } from "./state.js";
import { weightsOf } from "./stacks.js";
import { timelinePanel } from "./timeline.js";
import { triagePanel } from "./triage.js";
import { button, countSamples, dateText, el, known, number, plain, seconds, tip } from "./ui.js";

function themeButton() {
  const themes = ["system", "light", "dark"];
  let now = "system";
  try { now = localStorage.getItem("tomoprof-theme") || "system"; } catch { /* no storage here: the choice lasts as long as the page */ }
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    document.documentElement.dataset.theme = now === "system" ? (dark.matches ? "dark" : "light") : now;
    document.dispatchEvent(new Event("themechange"));
  };
  dark.addEventListener("change", apply);
  const node = button(`Theme: ${now}`, () => {
    now = themes[(themes.indexOf(now) + 1) % 3];
    node.textContent = `Theme: ${now}`;
    try { localStorage.setItem("tomoprof-theme", now); } catch { /* as above */ }
    apply();
  }, { id: "theme" });
  apply();
  return node;
}

function helpDialog() {
  const rows = [["1 … 9", "choose a part"], ["← →", "next part, when a tab has the focus"], ["/", "search everything"], ["?", "this help"], ["arrows, Enter, Esc, o", "move, zoom, go back and open the line in the flame graph"], ["a d w s, + −, 0", "move, zoom, show all in the timeline"], ["← →, + −, Esc", "move, resize and clear the range that is selected on the strip"]];
  const dialog = el("dialog", { "aria-label": "Keys and colours" }, el("h2", {}, "Keys"), el("table", {}, el("tbody", {}, rows.map(([k, text]) => el("tr", {}, el("td", {}, el("kbd", {}, k)), el("td", {}, text))))),
    el("h2", {}, "Colours"), el("p", {}, "A colour means the same in every part."), legend(Object.keys(COLOUR)), el("p", {}, el("i", { class: "heat-sample" }), " behind source: the line with the libraries that it calls, as a share of the hotspot. An en dash is “not measured”, never 0."), button("Close", () => dialog.close()));
  return dialog;
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; } // typed by hand: a lone %
}

// In a notebook the page is a frame that is closed off: its address is not its own, and the page around it must not scroll.
const framed = window !== window.top;

function buildTabs(parts, answer, bar) {
  const tabs = document.getElementById("tabs"), main = document.getElementById("main"), built = new Set();
  const nodes = parts.map(([id, title], i) => el("button", { type: "button", role: "tab", id: "tab-" + id, "aria-controls": id, "aria-selected": "false", tabindex: "-1", onclick: () => open(i) }, title));
  const panels = parts.map(([id, title]) => el("section", { role: "tabpanel", id, "aria-labelledby": "tab-" + id, "data-title": title, hidden: true }));
  const build = (i) => {
    if (built.has(i)) return;
    built.add(i);
    try {
      panels[i].append(...parts[i][2]());
    } catch (error) { // one part of an old or damaged run must not hide the others, and must say so
      panels[i].append(el("p", { role: "alert" }, `This part could not be drawn from the data of this run: ${error.message}`));
    }
  };
  const scrolled = new Map(); // of each part, where it was left
  // The selection is above the parts that follow it, the sentence above the first one.
  function showAbove(i) {
    if (bar) bar.hidden = !filtered.has(parts[i][0]) && parts[i][0] !== "summary";
    bar?.classList.toggle("no-strip", parts[i][0] === "summary" && !!answer && "suite" in answer.dataset);
    if (answer) answer.hidden = parts[i][0] !== "summary";
  }
  function open(i, focus, hash) {
    const before = panels.findIndex((p) => !p.hidden);
    if (before >= 0) scrolled.set(before, scrollY);
    panels[i].hidden = false; // before it is built: canvases measure their place
    build(i);
    panels.forEach((p, j) => { p.hidden = j !== i; });
    nodes.forEach((n, j) => { n.setAttribute("aria-selected", String(j === i)); n.tabIndex = j === i ? 0 : -1; });
    if (focus) nodes[i].focus();
    if (!framed) nodes[i].scrollIntoView({ block: "nearest", inline: "nearest" });
    refresh(parts[i][0]);
    showAbove(i);
    if (framed) { /* no address */ }
    else if (hash && location.hash !== hash) history.pushState(null, "", hash);
    else if (!hash && /^#?([^/?]*)/.exec(location.hash)[1] !== parts[i][0]) history.replaceState(null, "", address(parts[i][0]));
    dispatchEvent(new Event("resize"));
    if (!framed && before !== i) scrollTo(0, scrolled.get(i) ?? 0);
  }
  onOpenPart((id, hash) => open(parts.findIndex((part) => part[0] === id), false, hash ?? address(id)));
  tabs.append(...nodes);
  main.replaceChildren(...[answer, bar].filter(Boolean), ...panels);
  tabs.addEventListener("keydown", (e) => {
    const i = nodes.indexOf(document.activeElement), n = nodes.length, to = { ArrowRight: (i + 1) % n, ArrowLeft: (i + n - 1) % n, Home: 0, End: n - 1 }[e.key];
    if (i >= 0 && to !== undefined) { e.preventDefault(); open(to, true); }
  });
  const fromHash = () => {
    const [path, query] = location.hash.slice(1).split("?"), [id, ...what] = path.split("/"), i = parts.findIndex((part) => part[0] === id);
    if (i < 0) return false;
    readSelection(query ?? "");
    open(i);
    if (what.length) routes.get(id)?.(decoded(what.join("/")));
    return true;
  };
  addEventListener("hashchange", fromHash);
  document.addEventListener("chosenchange", (e) => { if (!framed && !e.detail.moving) history.replaceState(null, "", (location.hash.split("?")[0] || "#" + parts[0][0]) + selectionQuery()); });
  addEventListener("beforeprint", () => { panels.forEach((p, i) => { p.hidden = false; build(i); }); for (const node of [answer, bar]) if (node) node.hidden = false; painters.forEach((draw) => draw()); });
  addEventListener("afterprint", () => { panels.forEach((p, i) => { p.hidden = nodes[i].tabIndex < 0; }); showAbove(nodes.findIndex((n) => n.tabIndex === 0)); dispatchEvent(new Event("resize")); });
  if (!fromHash()) open(0);
}

// The program without its path and its interpreter.
function programName(profile) {
  const words = list(profile?.meta.command).map((w) => plain(w).split("/").pop()), script = words.slice(1).find((w) => /\.\w+$/.test(w));
  return ((/^python/.test(words[0] ?? "") && script) || words[0]) ?? "";
}

// A word of the command without its folders: they are in the title of the line.
const wordName = (w) => (/^(~|\.{0,3})\//.test(w) ? w.split("/").pop() || w : w);

// A capture of another tool names the tool, where it does not name the program.
const captureName = (profile) => (profile?.environment?.["import.tool"] ? `capture of ${plain(profile.environment["import.tool"])}` : "");

// Title and icon: a page among many tabs is found by what ran.
function namePage(text) {
  document.title = `${text ? plain(text).slice(0, 80) + " · " : ""}tomoprof`;
  const picture = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#f4a556" d="M0 1h16v4H0z"/><path fill="#124b81" d="M0 6h11v4H0z"/><path fill="#047d5b" d="M0 11h6v4H0z"/></svg>';
  document.head.append(el("link", { rel: "icon", href: "data:image/svg+xml," + encodeURIComponent(picture) }));
}

async function start() {
  const [profile, timing, triage, previews, pair, causes] = await Promise.all(["data-profile", "data-timing", "data-triage", "data-previews", "data-compare", "data-causes"].map(unpack));
  document.body.append(tip);
  if (profile?.environment?.["import.unit"] === "samples") countSamples();
  const help = helpDialog();
  document.body.append(help);
  const alone = pair && !profile && !timing;
  const strip = profile && runStrip(profile), bar = alone ? null : el("section", { class: "selection", "aria-label": "The run over time" }, strip, el("div", { class: "tools" }, profile && filterBar(profile), strip && rangeFields(profile), qualityBadge(profile, timing)));
  if (profile) prepareLines(profile, timing);
  document.getElementById("tools").append(el("span", { class: "tools" }, themeButton(), button("Search /", () => find.ask()), button("Keys and colours ?", () => help.showModal())));
  const devices = list(timing?.environment?.devices).map((d) => (typeof d === "string" ? d : d?.name ?? "")).join(", ");
  const words = list(profile?.meta.command).join(" "), what = alone ? `A: ${pair.a}, B: ${pair.b}` : timing ? `suite of ${operations(timing).length} operations${devices && " on " + devices}` : profile ? [list(profile.meta.command).map(wordName).join(" "), captureName(profile)].filter(Boolean).join(" · ") : "no data";
  document.getElementById("subject").textContent = plain(what).slice(0, 300) + (profile && !timing && known(profile.meta.wall_s) ? ` · ${seconds(profile.meta.wall_s)}` : "") + (known(profile?.meta.from_s) && !timing ? ` · only seconds ${number(profile.meta.from_s)} to ${number(profile.meta.until_s)} of the run` : "") + (profile?.meta.started || timing?.timestamp ? ` · ${dateText(timing?.timestamp ?? profile?.meta.started)}` : "");
  if (words && !timing) document.getElementById("subject").title = plain(words);
  namePage(alone ? `${pair.a} and ${pair.b}` : timing ? what : [programName(profile) || captureName(profile), known(profile?.meta.wall_s) && seconds(profile.meta.wall_s)].filter(Boolean).join(" · "));
  const hasStacks = profile && weightsOf(profile).length > 0, hasGpu = profile && (list(profile.kernels).length || list(profile.transfers).length || list(profile.apis).length);
  const parts = alone ? [["compare", "Comparison", () => comparePanel(pair, true)]] : [
    ["summary", "Summary", () => summaryPanel(profile, timing, triage)],
    profile && ["lines", "Lines", () => linesPanel(profile, timing)],
    hasStacks && ["calls", "Calls", () => callsPanel(profile)],
    hasStacks && ["flame-graph", "Flame graph", () => flamePanel(profile)],
    list(profile?.timeline).length > 0 && ["time", "Timeline", () => timelinePanel(profile)],
    hasGpu && ["kernels", "Kernels", () => kernelsPanel(profile)],
    hasGpu && ["transfers", "Transfers", () => transfersPanel(profile)],
    hasLocks(profile) && ["locks", "Locks", () => locksPanel(profile)],
    list(profile?.mpi?.ranks).length > 0 && ["ranks", "Ranks", () => ranksPanel(profile)],
    list(profile?.ranges).length > 0 && ["ranges", "Ranges", () => rangesPanel(profile)],
    (list(profile?.io?.files).length > 0 || list(profile?.io?.endpoints).length > 0) && ["files", "Files", () => filesPanel(profile)],
    list(causes?.causes).length > 0 && ["causes", "Root causes", () => causesPanel(causes)],
    profile && hasMemory(profile) && ["memory", "Memory", () => memoryPanel(profile)],
    timing && ["roofline", "Roofline", () => rooflinePanel(timing)],
    timing && ["scaling", "Scaling", () => scalingPanel(timing)],
    list(previews).length > 0 && ["preview", "Reconstructions", () => previewPanel(previews)],
    triage && ["triage", "FPGA", () => triagePanel(triage)],
    pair && ["compare", "Beside", () => comparePanel(pair)],
    ["environment", "Environment", () => environmentPanel(profile, timing)],
  ].filter(Boolean);
  const find = findDialog(profile, timing, parts);
  document.body.append(find);
  buildTabs(parts, alone ? null : answerBlock(profile, timing), bar);
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
    if (document.querySelector("dialog[open]")) return;
    if (e.key === "?") help.showModal();
    else if (e.key === "/") { e.preventDefault(); find.ask(); }
    else if (e.key >= "1" && e.key <= "9" && parts[e.key - 1]) document.getElementById("tab-" + parts[e.key - 1][0]).click(), document.getElementById("tab-" + parts[e.key - 1][0]).focus();
  });
  document.documentElement.dataset.ready = "1";
}

start().catch((error) => {
  document.getElementById("main").replaceChildren(el("p", { role: "alert" }, `This report cannot be shown: ${error.message}. It needs a browser with DecompressionStream (2023 or later).`));
  document.documentElement.dataset.ready = "failed";
});
