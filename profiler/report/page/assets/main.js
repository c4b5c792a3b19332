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
  const rows = [["1 … 9", "choose a part"], ["← →", "next part, when a tab has the focus"], ["/", "filter or find in this part"], ["?", "this help"], ["arrows, Enter, Esc", "move, zoom and go back in the flame graph"], ["a d w s, + −, 0", "move, zoom, show all in the timeline"]];
  const dialog = el("dialog", { "aria-label": "Keys" }, el("h2", {}, "Keys"), el("table", {}, el("tbody", {}, rows.map(([k, text]) => el("tr", {}, el("td", {}, el("kbd", {}, k)), el("td", {}, text))))), button("Close", () => dialog.close()));
  return dialog;
}

function buildTabs(parts) {
  const tabs = document.getElementById("tabs"), main = document.getElementById("main"), built = new Set();
  const nodes = parts.map(([id, title], i) => el("button", { type: "button", role: "tab", id: "tab-" + id, "aria-controls": id, "aria-selected": "false", tabindex: "-1", onclick: () => open(i) }, title));
  const panels = parts.map(([id]) => el("section", { role: "tabpanel", id, "aria-labelledby": "tab-" + id, hidden: true }));
  const build = (i) => {
    if (built.has(i)) return;
    built.add(i);
    try {
      panels[i].append(...parts[i][2]());
    } catch (error) { // one part of an old or damaged run must not hide the others, and must say so
      panels[i].append(el("p", { role: "alert" }, `This part could not be drawn from the data of this run: ${error.message}`));
    }
  };
  function open(i, focus) {
    panels[i].hidden = false; // before it is built: canvases measure their place
    build(i);
    panels.forEach((p, j) => { p.hidden = j !== i; });
    nodes.forEach((n, j) => { n.setAttribute("aria-selected", String(j === i)); n.tabIndex = j === i ? 0 : -1; });
    if (focus) nodes[i].focus();
    nodes[i].scrollIntoView({ block: "nearest", inline: "nearest" });
    if (location.hash !== "#" + parts[i][0]) history.replaceState(null, "", "#" + parts[i][0]);
    dispatchEvent(new Event("resize"));
  }
  openPart = (id) => open(parts.findIndex((part) => part[0] === id));
  tabs.append(...nodes);
  main.replaceChildren(...panels);
  tabs.addEventListener("keydown", (e) => {
    const i = nodes.indexOf(document.activeElement), n = nodes.length, to = { ArrowRight: (i + 1) % n, ArrowLeft: (i + n - 1) % n, Home: 0, End: n - 1 }[e.key];
    if (i >= 0 && to !== undefined) { e.preventDefault(); open(to, true); }
  });
  const fromHash = () => { const i = parts.findIndex(([id]) => "#" + id === location.hash); if (i >= 0) open(i); return i >= 0; };
  addEventListener("hashchange", fromHash);
  addEventListener("beforeprint", () => parts.forEach((_, i) => build(i)));
  if (!fromHash()) open(0);
  return { open, current: () => panels.find((p) => !p.hidden) };
}

async function start() {
  const [profile, timing, triage, previews, pair] = await Promise.all(["data-profile", "data-timing", "data-triage", "data-previews", "data-compare"].map(unpack));
  document.body.append(tip);
  const help = helpDialog();
  document.body.append(help);
  document.getElementById("tools").append(el("span", { class: "tools" }, themeButton(), button("Keys ?", () => help.showModal())));
  const devices = list(timing?.environment?.devices).map((d) => (typeof d === "string" ? d : d?.name ?? "")).join(", ");
  const what = pair ? `A: ${pair.a}, B: ${pair.b}` : timing ? `suite of ${operations(timing).length} operations${devices && " on " + devices}` : profile ? list(profile.meta.command).join(" ") : "no data";
  document.getElementById("subject").textContent = plain(what).slice(0, 300) + (profile && !timing && known(profile.meta.wall_s) ? ` · ${seconds(profile.meta.wall_s)}` : "") + (profile?.meta.started || timing?.timestamp ? ` · ${plain(timing?.timestamp ?? profile?.meta.started)}` : "");
  const hasGpu = profile && (list(profile.kernels).length || list(profile.transfers).length || list(profile.apis).length);
  const parts = pair ? [["compare", "Comparison", () => comparePanel(pair)]] : [
    ["summary", "Summary", () => summaryPanel(profile, timing, triage)],
    profile && ["lines", "Lines", () => linesPanel(profile, timing)],
    profile && ["flame-graph", "Flame graph", () => flamePanel(profile)],
    profile && ["time", "Timeline", () => timelinePanel(profile)],
    hasGpu && ["kernels", "Kernels", () => kernelsPanel(profile)],
    hasGpu && ["transfers", "Transfers", () => transfersPanel(profile)],
    list(profile?.ranges).length > 0 && ["ranges", "Ranges", () => rangesPanel(profile)],
    profile && ["memory", "Memory", () => memoryPanel(profile)],
    timing && ["roofline", "Roofline", () => rooflinePanel(timing)],
    timing && ["scaling", "Scaling", () => scalingPanel(timing)],
    list(previews).length > 0 && ["preview", "Reconstructions", () => previewPanel(previews)],
    triage && ["triage", "FPGA", () => triagePanel(triage)],
    ["environment", "Environment", () => environmentPanel(profile, timing)],
  ].filter(Boolean);
  const tabs = buildTabs(parts);
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
    if (e.key === "?") help.showModal();
    else if (e.key === "/") { const field = tabs.current().querySelector('input[type="search"]'); if (field) { e.preventDefault(); field.focus(); } }
    else if (e.key >= "1" && e.key <= "9" && parts[e.key - 1]) tabs.open(e.key - 1, true);
  });
  document.documentElement.dataset.ready = "1";
}

start().catch((error) => {
  document.getElementById("main").replaceChildren(el("p", { role: "alert" }, `This report cannot be shown: ${error.message}. It needs a browser with DecompressionStream (2023 or later).`));
  document.documentElement.dataset.ready = "failed";
});
