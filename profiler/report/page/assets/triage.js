// Which operation deserves an FPGA: verdicts, then each candidate with its reasons, numbers and cards.

const VERDICTS = { HIGH: 2, MEDIUM: 0, LOW: 4, NO: 7 }; // colours
const span = (r, format = number) => (!r || (!known(r.low) && !known(r.high)) ? UNKNOWN : r.low === r.high ? format(r.low) : `${format(r.low)} to ${format(r.high)}`);
const middle = (r) => (r && r.low > 0 && r.high > 0 ? Math.sqrt(r.low * r.high) : null);

function bullets(title, texts) { return list(texts).length ? [el("h3", {}, title), el("ul", {}, list(texts).map((t) => el("li", {}, plain(t))))] : []; }

// Speedup over the best alternative on a logarithmic axis; 1 is the line that decides.
function speedupBars(candidates) {
  const rows = candidates.filter((c) => middle(c.speedup_rival));
  if (!rows.length) return null;
  const low = Math.log10(Math.min(0.1, ...rows.map((c) => c.speedup_rival.low))), high = Math.log10(Math.max(10, ...rows.map((c) => c.speedup_rival.high)));
  const width = 640, step = 24, left = 200, x = (v) => left + ((width - left - 10) * (Math.log10(v) - low)) / (high - low);
  const words = rows.map((c) => `${c.operation}: ${span(c.speedup_rival)}`).join("; ");
  const node = svg("svg", { viewBox: `0 0 ${width} ${rows.length * step + 24}`, role: "img", "aria-label": `Speedup over the best alternative: ${words}`, class: "triage-bars" });
  node.style.setProperty("max-width", "40rem");
  for (let power = Math.ceil(low); power <= high; power++) {
    const at = x(10 ** power);
    node.append(svg("line", { x1: at, x2: at, y1: 0, y2: rows.length * step, stroke: "var(--faint)", "stroke-width": power === 0 ? 2 : 0.5 }),
      svg("text", { x: at, y: rows.length * step + 16, "text-anchor": "middle", fill: "currentColor", "font-size": 11 }, power >= -3 && power < 4 ? String(10 ** power) : `1e${power}`));
  }
  rows.forEach((c, i) => {
    const { low: from, high: to } = c.speedup_rival, y = i * step + step / 2;
    node.append(svg("text", { x: left - 8, y: y + 4, "text-anchor": "end", fill: "currentColor", "font-size": 12 }, `${candidates.indexOf(c) + 1} ${plain(c.operation).slice(0, 28)}`),
      svg("rect", { x: x(from), y: y - 5, width: Math.max(2, x(to) - x(from)), height: 10, fill: `var(--c${VERDICTS[c.verdict] ?? 7})` }),
      svg("line", { x1: x(middle(c.speedup_rival)), x2: x(middle(c.speedup_rival)), y1: y - 8, y2: y + 8, stroke: "currentColor", "stroke-width": 2 }));
  });
  return node;
}

// Where candidates lie under the peaks of this machine and of the first candidate's card: measured dots, modelled bars.
function peaks(triage) {
  const marks = list(triage.candidates).flatMap((c, i) => {
    const e = c.evidence || {}, card = list(c.estimates).find((x) => x.device === c.device), each = known(e.flops) && e.units > 0 ? (e.flops / e.units) * 1e-9 : null;
    return [e.intensity > 0 && e.gflops > 0 && { name: c.operation, i, x: e.intensity, low: e.gflops, high: e.gflops, colour: "var(--c0)" },
      card && each > 0 && card.intensity > 0 && card.units_per_s?.low > 0 && { name: c.operation, i, x: card.intensity, low: each * card.units_per_s.low, high: each * card.units_per_s.high, colour: `var(--c${VERDICTS[c.verdict] ?? 7})`, card: true }];
  }).filter(Boolean);
  const d = list(triage.devices).find((x) => x.id === triage.candidates?.[0]?.device) ?? triage.devices?.[0], m = triage.machine || {};
  if (!marks.length || !d) return null;
  const lines = [m.gflops > 0 && m.gbytes_per_s > 0 && { name: "this machine", top: m.gflops, slope: m.gbytes_per_s, colour: "var(--c0)" },
    { name: plain(d.name), top: 2e-3 * d.dsp * d.products_per_dsp * d.clock_mhz?.high, slope: d.memory_gb_s?.high, colour: "var(--c1)" }].filter((l) => l && l.top > 0 && l.slope > 0);
  const decades = (values) => [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)))];
  const [x0, x1] = decades([0.1, 100, ...marks.map((k) => k.x)]), [y0, y1] = decades([...marks.flatMap((k) => [k.low, k.high]), ...lines.map((l) => l.top)]);
  const width = 640, height = 300, left = 60, bottom = 270, power = (p) => (p >= -3 && p < 5 ? String(10 ** p) : `1e${p}`);
  const x = (v) => left + ((width - left - 10) * (Math.log10(v) - x0)) / (x1 - x0), y = (v) => bottom - ((bottom - 20) * (Math.log10(v) - y0)) / Math.max(1, y1 - y0);
  const words = marks.map((k) => `${plain(k.name)} ${k.card ? "on the card" : "here"} ${number(k.low)}${k.card ? " to " + number(k.high) : ""}`).join("; ");
  const node = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Operations per second, in 1e9: ${words}`, class: "triage-peaks" });
  node.style.setProperty("max-width", "40rem");
  const label = (at, text, extra) => svg("text", { ...at, fill: "currentColor", "font-size": 11, ...extra }, text);
  for (let p = x0; p <= x1; p++) node.append(svg("line", { x1: x(10 ** p), x2: x(10 ** p), y1: 20, y2: bottom, stroke: "var(--faint)", "stroke-width": 0.5 }), label({ x: x(10 ** p), y: bottom + 16, "text-anchor": "middle" }, power(p)));
  for (let p = y0; p <= y1; p++) node.append(svg("line", { x1: left, x2: width - 10, y1: y(10 ** p), y2: y(10 ** p), stroke: "var(--faint)", "stroke-width": 0.5 }), label({ x: left - 5, y: y(10 ** p) + 4, "text-anchor": "end" }, power(p)));
  for (const l of lines) {
    const ridge = Math.min(Math.max(l.top / l.slope, 10 ** x0), 10 ** x1), foot = Math.max(l.slope * 10 ** x0, 10 ** y0);
    node.append(svg("polyline", { points: `${x(foot / l.slope)},${y(foot)} ${x(ridge)},${y(Math.min(l.top, l.slope * ridge))} ${x(10 ** x1)},${y(l.top)}`, fill: "none", stroke: l.colour, "stroke-width": 2 }),
      label({ x: width - 12, y: y(l.top) - 5, "text-anchor": "end" }, `${l.name}: ${number(l.top)} G/s, ${number(l.slope)} GB/s`));
  }
  for (const k of marks) {
    const aside = k.i % 2 ? -7 : 7;
    node.append(k.card ? svg("line", { x1: x(k.x), x2: x(k.x), y1: y(k.low), y2: Math.min(y(k.high), y(k.low) - 2), stroke: k.colour, "stroke-width": 6 }) : svg("circle", { cx: x(k.x), cy: y(k.low), r: 4, fill: k.colour }),
      label({ x: x(k.x) + aside, y: y(k.high) + 4, "text-anchor": k.i % 2 ? "end" : "start" }, String(k.i + 1)));
  }
  return node;
}

function verdictTable(triage) {
  return table([
    { title: "Operation", kind: "name", key: "operation", show: (c) => el("a", { href: "#triage", onclick: (e) => { e.preventDefault(); const at = document.getElementById("triage-" + c.operation); if (at) { at.open = true; at.scrollIntoView(); at.querySelector("summary").focus(); } } }, code(c.operation)) },
    { title: "Verdict", kind: "name", key: "verdict", rank: (c) => Object.keys(VERDICTS).indexOf(c.verdict) },
    { title: "Score", number: true, key: "score", format: (v) => (known(v) ? v.toFixed(0) : UNKNOWN), hint: "of 100" },
    { title: "Share", number: true, value: (c) => Math.max(...list(c.ceilings).map((k) => k.share), -Infinity), format: percent, hint: "of the reconstruction where it is largest; for what follows one (the median), of both together" },
    { title: "Ceiling", number: true, key: "ceiling", format: (v) => number(v), hint: "speedup of that reconstruction if this took no time" },
    { title: "Card", kind: "name", value: (c) => c.device ?? UNKNOWN },
    { title: "Speedup to here", number: true, value: (c) => middle(c.speedup), show: (c) => span(c.speedup) },
    { title: "to the best alternative", number: true, value: (c) => middle(c.speedup_rival), show: (c) => span(c.speedup_rival) },
    { title: "Energy", number: true, value: (c) => middle(c.energy_ratio), show: (c) => span(c.energy_ratio), hint: "energy of the leanest alternative over that of the card" },
    { title: "Confidence", kind: "name", key: "confidence" },
  ], list(triage.candidates), { caption: "Verdicts", name: "verdicts", filter: false });
}

function candidateCards(c) {
  return table([
    { title: "Card", kind: "name", key: "device" },
    { title: "Lanes", number: true, key: "lanes", format: count },
    { title: "A call", number: true, value: (e) => middle(e.seconds), show: (e) => span(e.seconds, seconds) },
    { title: "Data on the card", number: true, value: (e) => middle(e.seconds_on_card), show: (e) => span(e.seconds_on_card, seconds) },
    { title: "Link", number: true, value: (e) => middle(e.seconds_link), show: (e) => span(e.seconds_link, seconds) },
    { title: "Energy (J)", number: true, value: (e) => middle(e.joules), show: (e) => span(e.joules) },
    { title: "On chip", number: true, key: "on_chip_kib", format: (v) => (known(v) ? bytes(v * 1024) : UNKNOWN) },
    { title: "Tiles", number: true, key: "tiles", format: count },
    { title: "Bound by", kind: "name", key: "bound" },
  ], list(c.estimates), { name: `cards for ${c.operation}`, filter: false });
}

function mixWords(e) {
  const s = e.sass;
  if (!s) return `Machine code of its GPU kernel: ${UNKNOWN}; ${plain(e.sass_reason ?? "not known")}.`;
  return `Machine code of its GPU kernel, ${plain(s.kernel)} (${plain(s.source)}): of ${number(s.instructions)} instructions of the inner loop ${percent(s.float32 / s.instructions)} float32, ${percent(s.float64 / s.instructions)} float64, ` +
    `${percent(s.integer / s.instructions)} integer, ${number(s.loads)} loads, ${number(s.stores)} stores; ${number(s.flops)} operations.`;
}

function candidateDetails(c, first) {
  const a = c.access || {}, e = c.evidence || {};
  return el("details", { id: "triage-" + c.operation, open: first },
    el("summary", {}, el("strong", {}, plain(c.operation)), ` ${plain(c.verdict)}`),
    bullets("Why", c.reasons),
    list(c.sensitivity).length ? bullets("What would turn the verdict", c.sensitivity) : el("p", { class: "note" }, "No single assumption, halved or doubled, turns this verdict."),
    bullets("What to measure next", c.measure_next),
    el("p", { class: "note" }, `Accesses, measured at ${a.measured_at}³: ${plain(a.pattern)}, ${percent(a.unit_stride_share)} unit strides, ${number(a.stride_entropy_bits)} bits of stride, ${percent(a.reuse_share)} reused. ` +
      `${seconds(e.seconds)} a call (${plain(e.source)}), ${number(e.intensity)} flops per byte, ${bytes(e.transfer_bytes)} over the link. ${known(c.break_even_calls_per_day?.low) ? `Pays from ${span(c.break_even_calls_per_day)} calls a day on.` : "Never pays: the calls that fit in a day save too little."}`),
    el("p", { class: "note" }, mixWords(e)), e.counters_reason && el("p", { class: "note" }, `Counted by the processor: ${UNKNOWN}; ${plain(e.counters_reason)}.`),
    candidateCards(c));
}

function triagePanel(triage) {
  const candidates = list(triage.candidates);
  return [
    el("p", { class: "answer" }, plain(triage.headline ?? "Which operation deserves an FPGA")),
    el("p", { class: "note" }, `At ${count(triage.size)}³ on ${plain(triage.machine?.name ?? "an unknown machine")}. Numbers of cards are modelled, not measured; ranges go from the pessimistic to the optimistic end.`),
    verdictTable(triage),
    el("h2", {}, "Speedup over the best alternative"), speedupBars(candidates) ?? el("p", { class: "note" }, "There is nothing to compare with."),
    el("h2", {}, "Roofline"), el("p", { class: "note" }, "Operations per byte of memory, and operations per second (1e9): measured here (dots), modelled on the best card (bars)."), peaks(triage) ?? el("p", { class: "note" }, "There is nothing to draw."),
    el("h2", {}, "Candidates"), ...candidates.map((c, i) => candidateDetails(c, i === 0)),
    list(triage.pipelines).length > 0 && [el("h2", {}, "In the stream from the detector"),
      el("p", {}, `${list(triage.pipelines[0].stages).map((s) => plain(s.operation)).join(", ")} as one dataflow between detector and host; the detector sends ${number(triage.pipelines[0].detector_samples_per_s)} samples/s.`),
      table([
        { title: "Card", kind: "name", key: "device" }, { title: "Lanes", number: true, key: "lanes", format: count },
        { title: "Samples/s", number: true, value: (p) => middle(p.samples_per_s), show: (p) => span(p.samples_per_s) },
        { title: "RAM", number: true, key: "ram_share", format: percent }, { title: "DSP", number: true, key: "dsp_share", format: percent }, { title: "LUT", number: true, key: "lut_share", format: percent },
        { title: "Keeps up", kind: "name", key: "keeps_up", show: (p) => (p.keeps_up ? "even at the pessimistic end" : `no: ${plain(p.bound)}`) },
      ], list(triage.pipelines), { name: "pipelines", filter: false })],
    bullets("About the input", triage.notes),
  ].flat(2).filter(Boolean);
}
