// Which operation would benefit from an FPGA: the verdicts. Reasons, cards and charts are in the run's triage.md.
import { list } from "./data.js";
import { code, count, el, known, number, percent, plain, table, UNKNOWN } from "./ui.js";

const VERDICTS = ["HIGH", "MEDIUM", "LOW", "NO"];
const span = (r, format = number) => (!r || (!known(r.low) && !known(r.high)) ? UNKNOWN : r.low === r.high ? format(r.low) : `${format(r.low)} to ${format(r.high)}`);
const middle = (r) => (r && r.low > 0 && r.high > 0 ? Math.sqrt(r.low * r.high) : null);

function verdictTable(triage) {
  return table([
    { title: "Operation", kind: "name", key: "operation", show: (c) => code(c.operation) },
    { title: "Verdict", kind: "name", key: "verdict", rank: (c) => VERDICTS.indexOf(c.verdict) },
    { title: "Score", number: true, key: "score", format: (v) => (known(v) ? v.toFixed(0) : UNKNOWN), hint: "of 100" },
    { title: "Share", number: true, value: (c) => Math.max(...list(c.ceilings).map((k) => k.share), -Infinity), format: percent, hint: "of the reconstruction where it is largest; for what follows one (the median), of both together" },
    { title: "Ceiling", number: true, key: "ceiling", format: (v) => number(v), hint: "speedup of that reconstruction if this took no time" },
    { title: "Card", kind: "name", value: (c) => c.device ?? UNKNOWN },
    { title: "Speedup", hint: "over this machine", number: true, value: (c) => middle(c.speedup), show: (c) => span(c.speedup) },
    { title: "Over the best alternative", number: true, value: (c) => middle(c.speedup_rival), show: (c) => span(c.speedup_rival) },
    { title: "Energy", number: true, value: (c) => middle(c.energy_ratio), show: (c) => span(c.energy_ratio), hint: "energy of the leanest alternative over that of the card" },
    { title: "Confidence", kind: "name", key: "confidence" },
  ], list(triage.candidates), { caption: "Verdicts", name: "verdicts", filter: false });
}

export function triagePanel(triage) {
  return [
    el("p", { class: "answer" }, plain(triage.headline ?? "Which operation would benefit from an FPGA")),
    el("p", { class: "note" }, `At ${count(triage.size)}³ on ${plain(triage.machine?.name ?? "an unknown machine")}. Numbers of cards are modelled, not measured; ranges go from the pessimistic to the optimistic end. triage.md in the run's folder has the reasons.`),
    verdictTable(triage),
  ];
}
