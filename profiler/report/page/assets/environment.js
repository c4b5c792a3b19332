// The Environment tab: what ran, where, how it was measured.
import { list, ofRecorder } from "./data.js";
import { bytes, code, count, dateText, el, megabytes, number, percent, plain, seconds, table, UNKNOWN } from "./ui.js";

const yes = (v) => (v ? "yes" : "no"), perSecond = (v) => `${number(v)} a second`, megahertz = (v) => `${number(v, 4)} MHz`, words = (v) => (Array.isArray(v) ? v.join(" ") : String(v));
// How the page names the keys of profile.json and timing.json, and writes their values. A key without a row becomes words.
const FACTS = {
  "meta": { tool_version: ["tomoprof"], command: ["Program", words], started: ["Started", dateText], wall_s: ["Wall time", seconds], end: ["Ended by"], end_detail: ["Its code"], exit_code: ["Exit code"], signal: ["Signal"], modes: ["Recorded", words], cpu_hz: ["Samples of each busy thread", perSecond],
    wait_hz: ["Looks at waiting threads", perSecond], alloc_mean_bytes: ["An allocation is sampled each", bytes], copy_mean_bytes: ["A copy is sampled each", bytes], trace_bytes: ["Size of the trace", bytes], absolute_paths: ["Absolute paths", yes], from_s: ["Only from", seconds], until_s: ["Only until", seconds], paused: ["Began with the first region", yes] },
  "": { clock: ["Clock"], "clock.name": ["Clock"], "clock.read_ns": ["Reading the clock", (v) => seconds(v * 1e-9)], "clock.smallest_step_ns": ["Smallest step of the clock", (v) => seconds(v * 1e-9)], "clock.went_back": ["The clock went back", yes], hz: ["Ticks of the kernel", perSecond], kernel: ["Kernel"], os: ["System"], python: ["Python"], backend: ["Back end"], devices: ["Devices", words],
    "launcher.wall_s": ["Wall time with its start", seconds], "launcher.user_s": ["User time by the kernel", seconds], "launcher.system_s": ["System time by the kernel", seconds], "launcher.peak_rss_bytes": ["Peak resident memory", bytes], "launcher.cpus": ["CPUs"], "launcher.cpu": ["Processor"], cpu: ["Processor"], cores: ["CPUs"], threads: ["Threads"], isa: ["Vector instructions"], memory_bytes: ["Main memory", bytes],
    tomoprof_version: ["tomoprof"], compiler: ["Compiler"], cuda_version: ["CUDA"], driver: ["Driver"], "import.tool": ["Captured by"], "import.unit": ["Unit of its costs"], "import.event": ["Event"], "import.format": ["Format of the capture"], "import.version": ["Version of the tool"] },
  "device": { name: ["Name"], uuid: ["UUID"], sm: ["Compute capability"], multiprocessors: ["Multiprocessors"], clock_mhz: ["Highest clock", megahertz], memory_clock_mhz: ["Highest clock of the memory", megahertz], bus_bits: ["Memory bus", (v) => `${v} bits`], memory_gb_s: ["Peak bandwidth", (v) => `${number(v)} GB/s`], memory_bytes: ["Memory", bytes], threads_per_sm: ["Threads of a multiprocessor, at most"], blocks_per_sm: ["Blocks of a multiprocessor, at most"],
    registers_per_sm: ["Registers of a multiprocessor"], shared_per_sm: ["Shared memory of a multiprocessor", bytes], busy_s: ["Busy", seconds], sum_s: ["Sum of its work", seconds], idle_s: ["Idle between its work", seconds], share_of_wall: ["Busy, of wall time", percent], peak_mb: ["Peak of its memory", megabytes], busy_mhz: ["Clock while busy", megahertz], least_mhz: ["Lowest clock while busy", megahertz], limited_share: ["Clock limited", percent], limited_by: ["Limited by"] },
};
// Variables of the environment keep their names; another key becomes words.
const isVariable = (title) => /^[A-Z][A-Z0-9_]+$/.test(title), titleOf = (key) => { const name = key.replace(/^(env|launcher|import)\./, ""); return isVariable(name) ? name : name.replace(/[._]/g, " "); };

// Rows of {title, text}; what is not known or was not used has none.
function factRows(object, kind, prefix = "") {
  return Object.entries(object || {}).flatMap(([key, value]) => {
    const name = prefix + key;
    if (value === null || value === undefined || value === "" || value === false || (name === "end_detail" && String(value) === String(object.exit_code))) return [];
    if (typeof value === "object" && !Array.isArray(value)) {
      if (Object.keys(value).length === 1 && "value" in value) return factRows({ [name]: value.value }, kind);
      return factRows(value, kind, name + ".");
    }
    const [title, format] = FACTS[kind][name] ?? [titleOf(name)], number_ = typeof value === "string" && value !== "" && Number.isFinite(Number(value)) ? Number(value) : value;
    return [{ title, text: format ? format(number_) : Array.isArray(value) ? value.map((v) => (typeof v === "object" ? JSON.stringify(v) : v)).join(" ") : typeof value === "boolean" ? yes(value) : String(value), key: name }];
  });
}

function facts(title, object, kind = "") {
  const rows = factRows(object, kind);
  return rows.length ? [el("h2", {}, title), table([{ title: "What", key: "title", show: (r) => (isVariable(r.title) ? code(r.title) : el("span", { title: plain(r.key) }, plain(r.title))) }, { title: "Value", key: "text", show: (r) => code(r.text, 300) }], rows, { name: title, limit: 200 })] : [];
}

export function environmentPanel(profile, timing) {
  const q = profile?.quality;
  return [
    timing && facts("Machine and build of the suite", timing.environment),
    profile && facts("Recording", profile.meta, "meta"), profile && facts("Recorded environment", profile.environment),
    list(profile?.devices).map((d, i) => facts(`Device ${i}`, d, "device")),
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
