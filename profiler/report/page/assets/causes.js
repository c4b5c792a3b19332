// The Root causes tab: rootcause.md as a page. Its texts are those of rootcause.json.
import { list } from "./data.js";
import { count, el, known, number, percent, plain, rich, seconds, table, UNKNOWN } from "./ui.js";

const gainText = (low, high) => (!known(high) ? UNKNOWN : known(low) ? `${seconds(low)} to ${seconds(high)}` : `at most ${seconds(high)}`);
const effortText = (days) => (!known(days) ? UNKNOWN : days < 0.5 ? "a setting" : days < 3 ? "code" : "format");

const TIMES = { s: 1, ms: 1e-3, us: 1e-6, ns: 1e-9 };

function evidenceText(r) {
  if (!known(r.value)) return UNKNOWN;
  if (TIMES[r.unit]) return seconds(r.value * TIMES[r.unit]);
  return `${Number.isInteger(r.value) ? count(r.value) : number(r.value, 4)} ${plain(r.unit ?? "")}`;
}

function causeNode(c) {
  return el("li", {}, el("h3", {}, plain(`${c.statement.replace(/\.$/, "")} · rule ${c.rule}`)), el("p", {}, rich(c.evidence)),
    el("p", {}, el("strong", {}, `Gain: ${gainText(c.gain_low_s, c.gain_high_s)}.`), c.confidence ? ` Confidence: ${plain(c.confidence)}.` : ""),
    el("p", { class: "note" }, rich(c.refuted_by ?? ""), " ", rich(c.test ?? "")));
}

function beforeAfter(later) {
  if (!later) return [];
  const rows = [["wall", later.before_s, later.after_s], ["CPU", later.before_cpu_s, later.after_cpu_s]].filter((r) => r[1] > 0 && r[2] > 0).map(([name, a, b]) => ({ name, a, b }));
  return [el("h2", {}, "Before and after"), table([{ title: "Time", kind: "name", key: "name" }, { title: "Before", number: true, key: "a", format: seconds }, { title: "After", number: true, key: "b", format: seconds },
    { title: "Speed-up", number: true, value: (r) => r.a / r.b, format: (v) => number(v) }, { title: "Saved", number: true, value: (r) => 1 - r.b / r.a, format: percent }], rows, { caption: `Compared with ${plain(later.run)}`, name: "before and after", filter: false })];
}

export function causesPanel(causes) {
  const marks = { holds: "✓ holds", fails: "! does not hold", unknown: "not known" };
  return [
    causes.number_name && el("p", { class: "answer" }, el("bdi", {}, `${plain(causes.number_name)}: ${number(causes.number)} ${plain(causes.number_unit ?? "")}`)),
    el("p", {}, rich(causes.summary)),
    el("h2", {}, "Evidence"),
    table([{ title: "What", kind: "name", key: "name" }, { title: "Value", number: true, key: "value", format: (v) => number(v, 4), show: evidenceText }, { title: "Note", value: (r) => plain(r.note ?? "") }], list(causes.evidence), { name: "evidence", filter: false }),
    el("h2", {}, "Causes, the largest gain first"), el("ol", {}, list(causes.causes).map(causeNode)),
    el("h2", {}, "Actions, by gain over effort"),
    table([{ title: "Action", key: "text" }, { title: "Cause", kind: "name", key: "rule" }, { title: "Effort", kind: "name", value: (a) => effortText(a.effort_days) }, { title: "Expected", number: true, value: (a) => a.expected_high_s, show: (a) => gainText(a.expected_low_s, a.expected_high_s) },
      { title: "Measured", hint: "time that the cause cost less in the later run, by `tomoprof compare`", number: true, key: "measured_s", format: seconds }], list(causes.actions), { name: "actions", filter: false }),
    ...beforeAfter(causes.later),
    el("h2", {}, "What a change must keep"),
    table([{ title: "What", kind: "name", key: "what" }, { title: "State", kind: "name", value: (c) => marks[c.state] ?? plain(c.state) }, { title: "How it is known", key: "text" }], list(causes.checks), { name: "what a change must keep", filter: false }),
    list(causes.questions).length > 0 && [el("h2", {}, "Open questions"), el("ol", {}, list(causes.questions).map((q) => el("li", {}, rich(q))))],
  ].flat(2).filter(Boolean);
}
