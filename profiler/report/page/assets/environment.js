// The Environment tab: what ran, where, how it was measured.
import { list, ofRecorder } from "./data.js";
import { bytes, code, count, el, megabytes, number, percent, plain, seconds, table, UNKNOWN } from "./ui.js";

function factRows(object, prefix = "") {
  return Object.entries(object || {}).flatMap(([key, value]) => {
    const name = prefix + key;
    if (value && typeof value === "object" && !Array.isArray(value)) {
      if (Object.keys(value).length === 1 && "value" in value) return [{ name, value: value.value }];
      return factRows(value, name + ".");
    }
    return [{ name, value: Array.isArray(value) ? value.map((v) => (typeof v === "object" ? JSON.stringify(v) : v)).join(" ") : value }];
  });
}

function facts(title, object) {
  const rows = factRows(object);
  return rows.length ? [el("h2", {}, title), table([{ title: "What", key: "name", show: (r) => code(r.name) }, { title: "Value", value: (r) => (r.value === null || r.value === undefined ? UNKNOWN : String(r.value)), show: (r) => code(r.value ?? UNKNOWN, 300) }], rows, { name: title, limit: 200 })] : [];
}

export function environmentPanel(profile, timing) {
  const q = profile?.quality;
  return [
    timing && facts("Machine and build of the suite", timing.environment),
    profile && facts("Recording", profile.meta), profile && facts("Recorded environment", profile.environment),
    list(profile?.devices).map((d, i) => facts(`Device ${i}`, d)),
    list(profile?.processes).length > 0 && [el("h2", {}, "Processes"), table([{ title: "Process", number: true, key: "pid", format: String }, { title: "Parent", number: true, key: "parent", format: String }, { title: "Program", key: "program", show: (p) => code(p.program ?? UNKNOWN) }, { title: "Runs", optional: true, key: "task", format: (v) => plain(v ?? "") },
      { title: "Python", key: "python" }, { title: "Start", number: true, key: "start_s", format: seconds }, { title: "End", number: true, key: "end_s", format: seconds }, { title: "Ended by", value: (p) => `${p.end} ${p.end_detail ?? ""}` },
      { title: "CPU", number: true, key: "cpu_s", format: seconds }, { title: "Peak resident", number: true, key: "peak_rss_mb", format: megabytes }], profile.processes, { name: "processes" })],
    list(profile?.threads).length > 0 && [el("h2", {}, "Threads"), table([{ title: "Thread", number: true, key: "tid", format: String }, { title: "Name", value: (t) => `${plain(t.name ?? UNKNOWN)}${ofRecorder(t) ? " (the recorder’s own)" : ""}` }, { title: "User", number: true, key: "user_s", format: seconds }, { title: "System", number: true, key: "sys_s", format: seconds },
      { title: "Waiting", number: true, key: "wait_s", format: seconds }, { title: "CPU by the kernel", number: true, key: "kernel_cpu_s", format: seconds }, { title: "Coverage", number: true, key: "coverage", format: percent }], profile.threads, { sort: 2, name: "threads" })],
    q && [el("h2", {}, "Checks"), table([{ title: "Law", key: "text" }, { title: "Holds", value: (c) => (c.ok ? "yes" : "no") }, { title: "Expected", number: true, key: "expected", format: (v) => number(v, 6) }, { title: "Found", number: true, key: "found", format: (v) => number(v, 6) }], list(q.checks), { name: "checks", filter: false }),
      el("h2", {}, "Cost of the profiler"), table([{ title: "Part", key: "part" }, { title: "Time", number: true, key: "s", format: seconds }, { title: "Calls", number: true, key: "calls", format: count }], list(q.overhead), { name: "cost of the profiler", filter: false })],
    timing && [el("h2", {}, "All measurements"), table([{ title: "Operation", kind: "name", key: "operation" }, { title: "Size", number: true, key: "volume_size", format: String }, { title: "Run", number: true, key: "run", format: String }, { title: "Time", number: true, key: "time", format: seconds },
      { title: "Status", kind: "name", key: "status" }, { title: "Reason", key: "reason" }, { title: "Cold", value: (m) => (m.cold ? "yes" : "") }, { title: "Traced", value: (m) => (m.traced ? "yes" : "") }, { title: "Peak memory", number: true, key: "peak_host_bytes", format: bytes },
      { title: "l2 of the result", number: true, value: (m) => m.fingerprint?.l2, format: (v) => number(v, 7) }], list(timing.measurements), { name: "measurements", limit: 50 })],
  ].flat(3).filter(Boolean);
}

export function previewPanel(previews) {
  return [el("p", { class: "note" }, "Middle planes of each reconstruction along three axes, and the middle slice's difference to the phantom."),
    ...[...new Set(previews.map((p) => `${p.operation} · ${p.size}³`))].flatMap((title) => [el("h2", {}, plain(title)),
      el("div", { class: "pictures" }, previews.filter((p) => `${p.operation} · ${p.size}³` === title).map((p) => el("figure", {}, el("img", { src: p.image, alt: `${p.operation} at ${p.size}³, ${p.what}` }), el("figcaption", {}, plain(p.what), p.note && ` · ${plain(p.note)}`))))])];
}
