// Starts the page: tabs, theme, keys.

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
  const rows = [["1 … 9", "choose a part"], ["← →", "next part, when a tab has the focus"], ["/", "search everything"], ["?", "this help"], ["arrows, Enter, Esc, o", "move, zoom, go back and open the line in the flame graph"], ["a d w s, + −, 0", "move, zoom, show all in the timeline"]];
  const dialog = el("dialog", { "aria-label": "Keys and colours" }, el("h2", {}, "Keys"), el("table", {}, el("tbody", {}, rows.map(([k, text]) => el("tr", {}, el("td", {}, el("kbd", {}, k)), el("td", {}, text))))),
    el("h2", {}, "Colours"), el("p", {}, "A colour means the same in every part."), legend(Object.keys(COLOUR)), el("p", {}, el("i", { class: "heat-sample" }), " behind source: the line with the libraries that it calls, as a share of the hotspot. An en dash is “not measured”, never 0."), button("Close", () => dialog.close()));
  return dialog;
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; } // typed by hand: a lone %
}

// In a notebook the page is a frame that is closed off: its address is not its own, and the page around it must not scroll.
const framed = window !== window.top;

function buildTabs(parts, bar) {
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
  function open(i, focus, hash) {
    panels[i].hidden = false; // before it is built: canvases measure their place
    build(i);
    panels.forEach((p, j) => { p.hidden = j !== i; });
    nodes.forEach((n, j) => { n.setAttribute("aria-selected", String(j === i)); n.tabIndex = j === i ? 0 : -1; });
    if (focus) nodes[i].focus();
    if (!framed) nodes[i].scrollIntoView({ block: "nearest", inline: "nearest" });
    refresh(parts[i][0]);
    if (bar) bar.hidden = !filtered.has(parts[i][0]);
    if (framed) { /* no address */ }
    else if (hash && location.hash !== hash) history.pushState(null, "", hash);
    else if (!hash && location.hash.split("/")[0] !== "#" + parts[i][0]) history.replaceState(null, "", "#" + parts[i][0]);
    dispatchEvent(new Event("resize"));
  }
  openPart = (id, hash) => open(parts.findIndex((part) => part[0] === id), false, hash ?? "#" + id);
  tabs.append(...nodes);
  main.replaceChildren(...(bar ? [bar] : []), ...panels);
  tabs.addEventListener("keydown", (e) => {
    const i = nodes.indexOf(document.activeElement), n = nodes.length, to = { ArrowRight: (i + 1) % n, ArrowLeft: (i + n - 1) % n, Home: 0, End: n - 1 }[e.key];
    if (i >= 0 && to !== undefined) { e.preventDefault(); open(to, true); }
  });
  const fromHash = () => {
    const [id, ...what] = location.hash.slice(1).split("/"), i = parts.findIndex((part) => part[0] === id);
    if (i < 0) return false;
    open(i);
    if (what.length) routes.get(id)?.(decoded(what.join("/")));
    return true;
  };
  addEventListener("hashchange", fromHash);
  addEventListener("beforeprint", () => { panels.forEach((p, i) => { p.hidden = false; build(i); }); painters.forEach((draw) => draw()); });
  addEventListener("afterprint", () => { panels.forEach((p, i) => { p.hidden = nodes[i].tabIndex < 0; }); dispatchEvent(new Event("resize")); });
  if (!fromHash()) open(0);
}

async function start() {
  const [profile, timing, triage, previews, pair, causes] = await Promise.all(["data-profile", "data-timing", "data-triage", "data-previews", "data-compare", "data-causes"].map(unpack));
  document.body.append(tip);
  const help = helpDialog();
  document.body.append(help);
  const bar = filterBar(profile);
  document.getElementById("tools").append(el("span", { class: "tools" }, themeButton(), button("Search /", () => find.ask()), button("Keys and colours ?", () => help.showModal())));
  const devices = list(timing?.environment?.devices).map((d) => (typeof d === "string" ? d : d?.name ?? "")).join(", ");
  const alone = pair && !profile && !timing;
  const what = alone ? `A: ${pair.a}, B: ${pair.b}` : timing ? `suite of ${operations(timing).length} operations${devices && " on " + devices}` : profile ? list(profile.meta.command).join(" ") : "no data";
  document.getElementById("subject").textContent = plain(what).slice(0, 300) + (profile && !timing && known(profile.meta.wall_s) ? ` · ${seconds(profile.meta.wall_s)}` : "") + (known(profile?.meta.from_s) && !timing ? ` · only seconds ${number(profile.meta.from_s)} to ${number(profile.meta.until_s)} of the run` : "") + (profile?.meta.started || timing?.timestamp ? ` · ${plain(timing?.timestamp ?? profile?.meta.started)}` : "");
  const hasGpu = profile && (list(profile.kernels).length || list(profile.transfers).length || list(profile.apis).length);
  const parts = alone ? [["compare", "Comparison", () => comparePanel(pair)]] : [
    ["summary", "Summary", () => summaryPanel(profile, timing, triage)],
    profile && ["lines", "Lines", () => linesPanel(profile, timing)],
    profile && ["calls", "Calls", () => callsPanel(profile)],
    profile && ["flame-graph", "Flame graph", () => flamePanel(profile)],
    profile && ["time", "Timeline", () => timelinePanel(profile)],
    hasGpu && ["kernels", "Kernels", () => kernelsPanel(profile)],
    hasGpu && ["transfers", "Transfers", () => transfersPanel(profile)],
    list(profile?.locks).length > 0 && ["locks", "Locks", () => locksPanel(profile)],
    list(profile?.mpi?.ranks).length > 0 && ["ranks", "Ranks", () => ranksPanel(profile)],
    list(profile?.ranges).length > 0 && ["ranges", "Ranges", () => rangesPanel(profile)],
    (list(profile?.io?.files).length > 0 || list(profile?.io?.endpoints).length > 0) && ["files", "Files", () => filesPanel(profile)],
    list(causes?.causes).length > 0 && ["causes", "Root causes", () => causesPanel(causes)],
    profile && ["memory", "Memory", () => memoryPanel(profile)],
    timing && ["roofline", "Roofline", () => rooflinePanel(timing)],
    timing && ["scaling", "Scaling", () => scalingPanel(timing)],
    list(previews).length > 0 && ["preview", "Reconstructions", () => previewPanel(previews)],
    triage && ["triage", "FPGA", () => triagePanel(triage)],
    pair && ["compare", "Beside", () => comparePanel(pair)],
    ["environment", "Environment", () => environmentPanel(profile, timing)],
  ].filter(Boolean);
  const find = findDialog(profile, timing, parts);
  document.body.append(find);
  buildTabs(parts, bar);
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
