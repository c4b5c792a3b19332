// The first screen of a suite: its operations as wide as their time, and the lines of the chosen one beside its place on the roofline.
import { boundBy, list, operations } from "../data.js";
import { rooflinePlot } from "../plots.js";
import { chosen, inside, select } from "../state.js";
import { button, el, known, percent, plain, seconds } from "../ui.js";
import { sourcePanes } from "./source.js";

const NAMED = 0.06; // of all time: a narrower box has no name

// The chosen operation is the selected range of time of its name, which all parts follow. One that was not traced is marked on the roofline alone.
export function suitePanes(profile, timing, traced, table) {
  const sizes = operations(timing).map((op) => op.sizes[op.sizes.length - 1]).filter((s) => s && known(s.median)).sort((a, b) => b.median - a.median), total = sizes.reduce((a, s) => a + s.median, 0);
  const ranges = list(profile?.ranges), rangeOf = (name) => { const i = traced ? ranges.findIndex((r) => r.name === name) : -1; return i < 0 ? null : i; };
  let now = null;
  const boxes = new Map(sizes.map((s) => [s.operation, button([total > 0 && s.median / total > NAMED && plain(s.operation), el("span", { class: "unseen" }, `${s.operation} ${seconds(s.median)}`)], () => choose(s.operation), { class: "operation", "aria-pressed": "false", title: `${s.operation} at ${s.volume_size}³: ${seconds(s.median)}, ${percent(s.median / total)} of all`, css: { "flex-grow": String(s.median / total) } })]));
  const head = el("div", { class: "tools pane-head" }), chart = el("div", { class: "chart" }), pane = el("div", { class: "pane" }, head, chart);

  function draw() {
    const s = sizes.find((x) => x.operation === now), bound = s && boundBy(timing, s);
    for (const [name, box] of boxes) box.setAttribute("aria-pressed", String(name === now));
    head.replaceChildren(...[el("strong", {}, "Roofline"), inside("roofline", null, "larger"), s && inside("scaling", now, "growth"),
      el("span", { class: "unit", id: "operation-chosen" }, s ? `${now} at ${s.volume_size}³: ${seconds(s.median)}${bound ? `, ${percent(bound.share)} of the peak of ${bound.what}` : ""}` : "Choose an operation above.")].filter(Boolean));
    chart.replaceChildren(...rooflinePlot(timing, now));
  }
  function choose(name) {
    const again = name === now, range = again ? null : rangeOf(name);
    now = again ? null : name;
    if (range !== chosen.range) select({ range });
    draw();
  }
  document.addEventListener("chosenchange", () => { // by the menu or the address
    const name = chosen.range === null ? null : ranges[chosen.range]?.name;
    if (name === now || (name === null && rangeOf(now) === null)) return;
    now = boxes.has(name) ? name : null;
    draw();
  });
  now = chosen.range !== null && boxes.has(ranges[chosen.range]?.name) ? ranges[chosen.range].name : null;
  draw();
  return [total > 0 && el("div", { class: "operations-strip", role: "group", "aria-label": "Operations by time at their largest size" }, ...boxes.values()),
    traced?.told ? [sourcePanes(profile, pane), table()] : el("div", { class: "panes fitted" }, el("div", { class: "pane" }, table()), pane)];
}
