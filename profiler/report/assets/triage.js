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
    node.append(svg("text", { x: left - 8, y: y + 4, "text-anchor": "end", fill: "currentColor", "font-size": 12 }, plain(c.operation).slice(0, 30)),
      svg("rect", { x: x(from), y: y - 5, width: Math.max(2, x(to) - x(from)), height: 10, fill: `var(--c${VERDICTS[c.verdict] ?? 7})` }),
      svg("line", { x1: x(middle(c.speedup_rival)), x2: x(middle(c.speedup_rival)), y1: y - 8, y2: y + 8, stroke: "currentColor", "stroke-width": 2 }));
  });
  return node;
}

function verdictTable(triage) {
  return table([
    { title: "Operation", kind: "name", key: "operation", show: (c) => el("a", { href: "#triage", onclick: (e) => { e.preventDefault(); const at = document.getElementById("triage-" + c.operation); if (at) { at.open = true; at.scrollIntoView(); at.querySelector("summary").focus(); } } }, code(c.operation)) },
    { title: "Verdict", kind: "name", key: "verdict", rank: (c) => Object.keys(VERDICTS).indexOf(c.verdict) },
    { title: "Score", number: true, key: "score", format: (v) => (known(v) ? v.toFixed(0) : UNKNOWN), hint: "of 100" },
    { title: "Share", number: true, value: (c) => Math.max(...list(c.ceilings).map((k) => k.share), -Infinity), format: percent, hint: "of the reconstruction where it is largest" },
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

function candidateDetails(c, first) {
  const a = c.access || {}, e = c.evidence || {};
  return el("details", { id: "triage-" + c.operation, open: first },
    el("summary", {}, el("strong", {}, plain(c.operation)), ` ${plain(c.verdict)}`),
    bullets("Why", c.reasons),
    list(c.sensitivity).length ? bullets("What would turn the verdict", c.sensitivity) : el("p", { class: "note" }, "No single assumption, halved or doubled, turns this verdict."),
    bullets("What to measure next", c.measure_next),
    el("p", { class: "note" }, `Accesses, measured at ${a.measured_at}³: ${plain(a.pattern)}, ${percent(a.unit_stride_share)} unit strides, ${number(a.stride_entropy_bits)} bits of stride, ${percent(a.reuse_share)} reused. ` +
      `${seconds(e.seconds)} a call (${plain(e.source)}), ${number(e.intensity)} flops per byte, ${bytes(e.transfer_bytes)} over the link. Pays from ${span(c.break_even_calls_per_day)} calls a day on.`),
    candidateCards(c));
}

function triagePanel(triage) {
  const candidates = list(triage.candidates), p = triage.pipeline;
  return [
    el("p", { class: "answer" }, plain(triage.headline ?? "Which operation deserves an FPGA")),
    el("p", { class: "note" }, `At ${count(triage.size)}³ on ${plain(triage.machine?.name ?? "an unknown machine")}. Numbers of cards are modelled, not measured; ranges go from the pessimistic to the optimistic end.`),
    verdictTable(triage),
    el("h2", {}, "Speedup over the best alternative"), speedupBars(candidates) ?? el("p", { class: "note" }, "There is nothing to compare with."),
    el("h2", {}, "Candidates"), ...candidates.map((c, i) => candidateDetails(c, i === 0)),
    p && [el("h2", {}, "In the stream from the detector"), el("p", {}, `${list(p.stages).map(plain).join(", ")} as one dataflow on ${plain(p.device)}: ${count(p.lanes)} lanes pass ${span(p.samples_per_s)} samples/s, the detector sends ${number(p.detector_samples_per_s)}. ` +
      (p.fits ? (p.keeps_up ? "It keeps up even at the pessimistic end." : "It does not keep up at the pessimistic end.") : "It does not fit."))],
    list(triage.backtest).length > 0 && [el("h2", {}, "The model against published designs"), table([
      { title: "Design", key: "design" }, { title: "Published", number: true, key: "published", format: (v, b) => (known(v) ? `${number(v)} ${b.unit}` : UNKNOWN) },
      { title: "Modelled", number: true, value: (b) => middle(b.modelled), show: (b) => span(b.modelled) }, { title: "Factor", number: true, key: "factor", format: (v) => number(v) }, { title: "How", key: "how" }],
    list(triage.backtest), { name: "published designs", filter: false })],
    bullets("About the input", triage.notes),
  ].flat(2).filter(Boolean);
}
