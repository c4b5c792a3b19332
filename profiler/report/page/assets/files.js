// The Files tab: which files and endpoints were waited for, how much of them was read how often, in which order, and by which lines.
import { list, shortPath } from "./data.js";
import { plot } from "./plots.js";
import { isTimed, lineLink, onFilter, rangePhrase, routes } from "./state.js";
import { isWithin, spansOf } from "./time.js";
import { bytes, code, count, el, known, megabytes, number, percent, plain, rich, seconds, table } from "./ui.js";

const ioKind = (f) => [f.file_system ?? f.kind, f.direct && "direct"].filter(Boolean).join(", ");
const bigger = (f) => (f.read?.calls >= f.write?.calls ? f.read : f.write);

function ioColumns(of) {
  return [{ title: "Time in calls", number: true, key: "s", format: seconds }, { title: "Waited", hint: "time in calls so slow that they waited for a device, the network or another program", number: true, key: "waited_s", format: seconds },
    { title: of === "socket" ? "Received" : "Read", number: true, value: (f) => f.read?.mb, format: megabytes }, { title: of === "socket" ? "Reads" : "Read calls", number: true, value: (f) => f.read?.calls, format: count },
    { title: of === "socket" ? "Sent" : "Written", number: true, value: (f) => f.write?.mb, format: megabytes }, { title: "Write calls", minor: true, number: true, value: (f) => f.write?.calls, format: count }];
}

const ioPlaces = (f) => table([{ title: "Line", value: (p) => (p.file ? `${shortPath(p.file)}:${p.line}` : plain(p.module ?? "no stack")), show: (p) => (p.file ? lineLink(p.file, p.line) : code(p.module ?? "no stack", 80)) }, { title: "Call", kind: "name", key: "op" },
  { title: "Calls", hint: "an estimate where stacks were not taken for each call", number: true, key: "calls", format: count }, { title: "Moved", number: true, key: "mb", format: megabytes },
  { title: "Time", number: true, key: "s", format: seconds }, { title: "Waited", number: true, key: "waited_s", format: seconds }], list(f.lines), { name: `lines of ${plain(f.path)}`, filter: false, sort: 4 });

const SIZES = ["100 B", "1 KiB", "10 KiB", "100 KiB", "1 MiB", "4 MiB", "10 MiB", "100 MiB", "1 GiB", "more"];

// Offset over time: a line that rises is read in order, a cloud at random, lines side by side again and again.
function ioPicture(f) {
  const m = f.moments, series = [];
  for (const [op, name] of [[0, "read"], [1, "written"]]) {
    const points = list(m?.t_us).map((t, i) => [t * 1e-6, m.offset[i], m.bytes[i], m.op[i]]).filter((p) => p[3] === op);
    if (points.length) series.push({ name, hollow: op === 1, dots: true, radius: () => 2.5, points, title: (p) => `${name} ${bytes(p[2])} at ${bytes(p[1])}, ${seconds(p[0])}` });
  }
  if (!series.length) return [];
  return [...series.flatMap((s) => [plot(`${plain(f.path)}: offset over time, ${s.name}`, { label: `time of the run, ${s.name}`, format: seconds, zero: false }, { label: "offset in the file", format: bytes }, [s], 300)]),
    f.moment_stride > 1 && el("p", { class: "note" }, `One call in ${f.moment_stride} is drawn.`)].filter(Boolean);
}

function ioFile(f) {
  const c = bigger(f), calls = list(c?.sizes);
  const order = known(c?.sequential_share) ? `${percent(c.sequential_share)} of the bytes continue an earlier call; ${count(c.forward + c.back)} calls jumped${known(c.jump_mb) ? `, the median jump is ${megabytes(c.jump_mb)}` : ""}.` : "";
  const facts = [known(f.size_mb) && `Size ${megabytes(f.size_mb)}`, known(f.cached_share) && `${percent(f.cached_share)} was in the page cache when the program opened it`, known(f.unique_mb) && `${megabytes(f.unique_mb)} were read at least once, each byte ${number(f.reread)} times on average`,
    known(f.mapped_mb) && `${megabytes(f.mapped_mb)} mapped, at most ${megabytes(f.touched_mb)} touched`].filter(Boolean).join("; ");
  return [el("h2", {}, code(f.path, 200)),
    (facts || order) && el("p", {}, [facts && facts + ".", order].filter(Boolean).join(" ")),
    ...ioPicture(f), ioPlaces(f),
    calls.some((n) => n > 0) && table([{ title: "Size of a call, up to", key: "size" }, { title: "Calls", number: true, key: "n", format: count }], calls.map((n, i) => ({ size: SIZES[i], n })).filter((r) => r.n), { name: `sizes of ${plain(f.path)}`, filter: false }),
    known(c?.p50_us) && el("p", { class: "note" }, `Half of the calls took at most ${seconds(c.p50_us * 1e-6)}, 95 % at most ${seconds(c.p95_us * 1e-6)}, 99 % at most ${seconds(c.p99_us * 1e-6)}.`)].filter(Boolean);
}

// Where the time of each line that reads goes; the shares of one line are drawn as in the summary.
function readingTable(io) {
  const name = (r) => (r.file ? `${shortPath(r.file)}:${r.line}` : "code that is not the program's own");
  return list(io.reading).length > 0 && table([{ title: "Line", kind: "name", value: name, show: (r) => (r.file ? lineLink(r.file, r.line) : code(name(r))) }, { title: "Read", number: true, key: "mb", format: megabytes },
    { title: "Storage", hint: "waits for files that were not in memory", number: true, key: "storage_s", format: seconds }, { title: "No CPU", hint: "reads of files that were in memory, while other threads or programs had the CPU", number: true, key: "ready_s", format: seconds },
    { title: "Network", hint: "waits for data from sockets", number: true, key: "network_s", format: seconds }, { title: "Page cache", hint: "reads of files that were in memory: the kernel copies them", number: true, key: "copy_s", format: seconds },
    { title: "Decoding", hint: "CPU time in codecs, and in unnamed functions of their libraries", number: true, key: "decode_s", format: seconds }, { title: "Codec", kind: "name", value: (r) => r.codec ?? "" }, { title: "Conversion", hint: "CPU time in changes of type", number: true, key: "convert_s", format: seconds },
    { title: "Placing", hint: "CPU time in copies within memory", number: true, key: "place_s", format: seconds }, { title: "Other CPU", number: true, key: "other_s", format: seconds }], io.reading, { caption: "Lines that read, with the time of the functions they call", name: "reading", filter: false });
}

function diskTable(io) {
  if (!list(io.disks).length) return io.disks_reason ? [el("p", { class: "note" }, `Disks: ${plain(io.disks_reason)}.`)] : [];
  return [table([{ title: "Disk", kind: "name", key: "name" }, { title: "Read", number: true, key: "read_mb", format: megabytes }, { title: "Wait per read", hint: "mean time of a read in the queue and the device", number: true, key: "read_wait_ms", format: (v) => seconds(known(v) ? v * 1e-3 : v) },
    { title: "Reads/s", number: true, key: "reads_per_s", format: (v) => number(v) }, { title: "Written", number: true, key: "write_mb", format: megabytes }, { title: "Busy", number: true, key: "busy", format: percent },
    { title: "Busiest second", number: true, key: "busy_most", format: percent }, { title: "Queue", number: true, key: "queue", format: (v) => number(v) }], io.disks, { caption: "Disks of this machine during the run, all programs together", name: "disks", filter: false }),
  io.group_reason && el("p", { class: "note" }, `Control group: ${plain(io.group_reason)}.`)].filter(Boolean);
}

// Sums the recorded moments of each file within the selected range.
function filesInRange(profile) {
  const spans = spansOf(profile), rows = list(profile.io.files).map((f) => {
    const m = f.moments, row = { path: f.path, calls: 0, read: 0, written: 0 }, every = f.moment_stride || 1;
    list(m?.t_us).forEach((t, i) => { if (isWithin(spans, t * 1e3)) { row.calls += every; row[m.op[i] ? "written" : "read"] += m.bytes[i] * every; } });
    return row;
  }).filter((r) => r.calls > 0);
  return [el("h2", {}, rangePhrase().replace(/^./, (c) => c.toUpperCase())), table([{ title: "File", key: "path", show: (f) => code(f.path, 120) }, { title: "Calls", number: true, key: "calls", format: count }, { title: "Read", number: true, key: "read", format: bytes }, { title: "Written", number: true, key: "written", format: bytes }], rows, { sort: 2, name: "files of the range", filter: false }),
    el("h2", {}, "The whole run")];
}

export function filesPanel(profile) {
  const range = el("div"), redraw = () => range.replaceChildren(...(isTimed() ? filesInRange(profile) : []));
  onFilter("files", redraw);
  redraw();
  return [range, ...filesOfRun(profile)];
}

// Files that the interpreter and libraries read for themselves.
const PYTHONS = /\.py[cdo]?$|\.pth$|__pycache__|(^|\/)(site|dist)-packages(\/|$)|(^|\/)lib\/python3|\.so(\.[\d.]+)?$|(^|\/)pyvenv\.cfg$|^\/(proc|sys|etc)\//;

function filesOfRun(profile) {
  const io = profile.io, own = list(io.files).filter((f) => !PYTHONS.test(f.path)), rest = list(io.files).filter((f) => PYTHONS.test(f.path)), detail = el("div", {});
  const choose = (f) => detail.replaceChildren(...ioFile(f));
  const grid = (rows, name) => table([{ title: "File", key: "path", show: (f) => el("button", { type: "button", class: "plain", onclick: () => { choose(f); detail.scrollIntoView({ block: "nearest" }); } }, plain(f.path)) }, ...ioColumns("file"),
    { title: "Times read", hint: "bytes read, divided by the different bytes among them", number: true, key: "reread", format: (v) => number(v) }, { title: "In order", hint: "share of the bytes that continue an earlier call", number: true, value: (f) => bigger(f)?.sequential_share, format: percent },
    { title: "Stored on", value: ioKind }], rows, { caption: "Files, by time in calls", sort: 1, name, limit: 30, rowKey: (f) => plain(f.path) });
  const folded = rest.length > 0 && own.length > 0, sum = (of) => rest.reduce((a, f) => a + (of(f) || 0), 0), behind = folded && el("details", { class: "others", ontoggle: () => { if (behind.open && behind.childElementCount === 1) behind.append(grid(rest, "files of Python and libraries")); } },
    el("summary", {}, `${count(rest.length)} ${rest.length === 1 ? "file" : "files"} of Python and libraries: ${megabytes(sum((f) => f.read?.mb))} read, ${seconds(sum((f) => f.s))} in calls`));
  routes.set("files", (name) => { const f = list(io.files).find((x) => plain(x.path) === name); if (f) choose(f); });
  if (list(io.files).length) choose((folded ? own : list(io.files)).reduce((a, f) => ((f.s || 0) > (a.s || 0) ? f : a)));
  const unseen = known(io.kernel_read_mb) ? ` The kernel counted ${megabytes(io.kernel_read_mb)} read and ${megabytes(io.kernel_write_mb)} written; ${megabytes(Math.max(0, io.unseen_read_mb))} and ${megabytes(Math.max(0, io.unseen_write_mb))} of that are missing here. ${megabytes(io.storage_read_mb)} came from storage${io.storage_read_mb > io.kernel_read_mb ? ", mapped files and what the kernel reads ahead included" : ", the rest from memory"}.` : "";
  return [el("p", {}, rich(`Read ${megabytes(io.read?.mb)} in ${count(io.read?.calls)} calls, ${seconds(io.read?.s)} (${seconds(io.read?.waited_s)} waited); written ${megabytes(io.write?.mb)} in ${count(io.write?.calls)} calls, ${seconds(io.write?.s)}.` + unseen)),
    readingTable(io), grid(folded ? own : list(io.files), "files"), behind, io.files_more > 0 && el("p", { class: "note" }, `${count(io.files_more)} more files are not listed.`), detail, diskTable(io),
    list(io.endpoints).length > 0 && [el("h2", {}, "Endpoints"), table([{ title: "Endpoint", key: "path", show: (f) => code(f.path, 100) }, ...ioColumns("socket"), { title: "Requests", hint: "how often the program sent something and then read an answer", number: true, key: "requests", format: count },
      { title: "First byte", hint: "mean time from the end of a request to the first byte of its answer", number: true, key: "first_byte_ms", format: (v) => seconds(known(v) ? v * 1e-3 : v) }, { title: "In flight", hint: "mean number of requests that waited for their first byte at the same time", number: true, key: "in_flight", format: (v) => number(v) },
      { title: "Connections", number: true, key: "connects", format: count }, { title: "Per request", hint: "bytes received per request", number: true, value: (f) => (f.requests > 0 ? f.read?.mb / f.requests : null), format: megabytes }], io.endpoints, { caption: "Sockets, by time in calls", sort: 1, name: "endpoints" }),
      list(io.endpoints).slice(0, 3).map((e) => [el("h3", {}, code(e.path, 100)), ioPlaces(e)])]].flat(4).filter(Boolean);
}
