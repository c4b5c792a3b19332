// Kernels, transfers, CUDA calls, ranges: statistics as Nsight Systems prints them, with both denominators.
import { list, most, placeText, shortPath } from "./data.js";
import { lineLink, routes, select } from "./state.js";
import { bytes, code, count, el, number, percent, plain, seconds, table, UNKNOWN } from "./ui.js";

const statColumns = (of) => [
  { title: "Total", number: true, value: (r) => of(r)?.total_s, format: seconds }, { title: "Count", number: true, value: (r) => of(r)?.n, format: count },
  { title: "Average", number: true, value: (r) => (of(r)?.n ? of(r).total_s / of(r).n : null), format: seconds }, { title: "Median", number: true, value: (r) => of(r)?.median_s, format: seconds },
  { title: "Min", minor: true, number: true, value: (r) => of(r)?.min_s, format: seconds }, { title: "Max", minor: true, number: true, value: (r) => of(r)?.max_s, format: seconds },
  { title: "Std dev", minor: true, number: true, value: (r) => of(r)?.sd_s, format: seconds }];
const timeOf = (r) => r.time;
const grid = (v) => list(v).join("×");
const placeLinks = (places) => places.flatMap((p, i) => [i ? ", " : "", p.file ? lineLink(p.file, p.line) : "no host line"]);

export function kernelsPanel(profile) {
  const variants = list(profile.kernels).flatMap((k) => list(k.variants).map((v) => ({ kernel: k, ...v })));
  const top = (k) => most(list(k.variants), (v) => v.time?.total_s); // the launch configuration that took most of the kernel's time
  let kernels = null;
  routes.set("kernels", (name) => { const row = kernels.reveal(name); row?.classList.add("chosen"); row?.scrollIntoView({ block: "center" }); });
  return [
    el("h2", {}, "Kernels"),
    (kernels = table([
      { title: "Kernel", key: "name", show: (k) => code(k.name, 200) },
      { title: "Total", number: true, value: (k) => k.time?.total_s, format: seconds }, { title: "of kernel time", hint: "of the rows listed here", number: true, key: "share_of_kernel_time", format: percent },
      { title: "Launched at", value: (k) => list(k.launched_at).slice(0, 4).map(placeText).join(", ") || "no host line", show: (k) => (list(k.launched_at).length ? el("span", {}, placeLinks(k.launched_at.slice(0, 4))) : "no host line") },
      { title: "Occupancy", hint: "theoretical, of the launch configuration that took most of the time: resident warps of those that fit", number: true, value: (k) => top(k)?.occupancy, format: percent },
      { title: "Limited by", kind: "name", value: (k) => top(k)?.limiter ?? UNKNOWN }, { title: "Grid × block", kind: "name", value: (k) => (top(k) ? `${grid(top(k).grid)} × ${grid(top(k).block)}${list(k.variants).length > 1 ? `, ${list(k.variants).length} configurations` : ""}` : UNKNOWN) },
      ...[["Of compute peak", "compute_share"], ["Of memory peak", "memory_share"], ["Occupied", "occupancy_achieved"]].map(([title, key]) => ({ title, optional: true, hint: "counted by Nsight Compute, mean over the kernel's time", number: true, key, format: percent })),
      ...[["DRAM read", "dram_read_bytes"], ["DRAM written", "dram_write_bytes"]].map(([title, key]) => ({ title, optional: true, hint: "counted by Nsight Compute, in all launches", number: true, key, format: bytes })),
      ...statColumns(timeOf).slice(1),
      { title: "of wall time", hint: "above 100 % where kernels overlap", number: true, key: "share_of_wall", format: percent },
      { title: "Launch calls", minor: true, hint: "host time in the launching calls", number: true, key: "api_s", format: seconds }, { title: "Queued", minor: true, hint: "from the call's end to the kernel's start", number: true, key: "queue_s", format: seconds },
      { title: "Queue delay", optional: true, hint: "mean of a launch: from the command buffer to the kernel's start", number: true, key: "queue_delay_s", format: seconds }, { title: "not submitted", minor: true, optional: true, hint: "the part of the queue delay until the buffer was submitted to the device", number: true, key: "submit_delay_s", format: seconds },
      { title: "Code", value: (k) => (k.file ? `${shortPath(k.file)}:${k.line}` : UNKNOWN), show: (k) => (k.file ? lineLink(k.file, k.line) : UNKNOWN) }], list(profile.kernels), { caption: "All kernels, by total device time", sort: 1, name: "kernels", rowKey: (k) => plain(k.name) })),
    variants.length > 0 && [el("details", {}, el("summary", {}, "Launch configurations: registers, shared memory, waves"), table([
      { title: "Kernel", value: (v) => v.kernel.name, show: (v) => code(v.kernel.name, 120) }, { title: "Grid", value: (v) => grid(v.grid) }, { title: "Block", value: (v) => grid(v.block) },
      { title: "Registers", minor: true, number: true, key: "registers", format: count }, { title: "Shared static", minor: true, number: true, key: "static_shared", format: bytes }, { title: "Shared dynamic", number: true, key: "dynamic_shared", format: bytes },
      { title: "Local", minor: true, number: true, key: "local_bytes", format: bytes }, { title: "Occupancy", hint: "theoretical: resident warps of those that fit", number: true, key: "occupancy", format: percent },
      { title: "Limited by", key: "limiter" }, { title: "Waves", minor: true, number: true, key: "waves", format: (v) => number(v) }, ...statColumns(timeOf), { title: "Carve-out", optional: true, hint: "of a multiprocessor's memory, that the driver gave to shared memory; the rest caches", number: true, key: "carveout_bytes", format: bytes }], variants, { sort: 10, name: "launch configurations" }))],
    list(profile.gpu?.gaps).length > 0 && [el("h2", {}, "Longest gaps"), table([
      { title: "Device", key: "device", number: true }, { title: "At", number: true, key: "start_s", format: seconds }, { title: "Length", number: true, key: "length_s", format: seconds },
      { title: "Host lines meanwhile", value: (g) => list(g.lines).map((p) => `${placeText(p)} (${seconds(p.value)})`).join(", ") }], profile.gpu.gaps, { caption: "No operation ran on the device", sort: 2, name: "gaps" })],
    list(profile.apis).length > 0 && [el("h2", {}, "CUDA calls"), table([
      { title: "Call", kind: "name", key: "name", show: (a) => code(a.name) }, { title: "Class", key: "api_class" }, ...statColumns(timeOf), { title: "of listed time", number: true, key: "share_of_api", format: percent },
      { title: "of wall time", number: true, key: "share_of_wall", format: percent }, { title: "Errors", number: true, key: "errors", format: count }], profile.apis, { sort: 2, name: "CUDA calls" })],
  ].flat().filter(Boolean);
}

export function transfersPanel(profile) {
  const t = profile.totals;
  return [
    el("p", { class: "note" }, `To the device ${bytes(t.h2d_bytes)}, from it ${bytes(t.d2h_bytes)}; copies take ${seconds(t.copy_s)} of device time.`),
    table([{ title: "Direction", kind: "name", value: (x) => ({ h2d: "to the device", d2h: "from the device", d2d: "on the device", h2h: "on the host" })[x.direction] ?? x.direction }, { title: "From", key: "from" }, { title: "To", key: "to" }, { title: "Asynchronous", value: (x) => (x.asynchronous ? "yes" : "no") },
      { title: "Bytes", number: true, key: "bytes", format: bytes }, { title: "GB/s", number: true, key: "gb_s", format: (v) => number(v) }, ...statColumns(timeOf)], list(profile.transfers), { caption: "Copies by direction and kind of memory", sort: 4, name: "transfers" }),
    list(profile.memsets).length > 0 && [el("h2", {}, "Memsets"), table([{ title: "Memory", key: "memory" }, { title: "Bytes", number: true, key: "bytes", format: bytes }, ...statColumns(timeOf)], profile.memsets, { name: "memsets" })],
    [["syncs", "Synchronisations"], ["overhead", "Overhead of driver and profiler"], ["unified_memory", "Unified memory"]].map(([key, title]) => list(profile.gpu?.[key]).length > 0 &&
      [el("h2", {}, title), table([{ title: "Kind", kind: "name", key: "kind" }, { title: "Count", number: true, key: "n", format: count }, { title: "Value", number: true, key: "value", format: count }, { title: "Time", number: true, key: "s", format: seconds }], profile.gpu[key], { name: title, filter: false })]),
  ].flat(2).filter(Boolean);
}

export function rangesPanel(profile) {
  let ranges = null;
  routes.set("ranges", (name) => { const row = ranges.reveal(name); row?.classList.add("chosen"); row?.scrollIntoView({ block: "center" }); });
  const timed = new Set(list(profile.timeline).filter((t) => t.kind === "range").flatMap((t) => [...new Set(list(t.events?.what))]));
  const pick = (r) => { const i = profile.ranges.indexOf(r); return timed.has(i) ? el("button", { type: "button", class: "plain", title: "Select: all parts then show what happened during this range", onclick: () => select({ range: i }) }, plain(r.name ?? "range").slice(0, 200)) : code(r.name ?? "", 200); };
  const sized = list(profile.ranges).filter((r) => list(r.payloads).length > 1).flatMap((range) => range.payloads.map((x) => ({ ...x, range }))).slice(0, 500);
  const told = list(profile.ranges).filter((r) => r.answer).slice(0, 50);
  return [told.length > 0 && el("dl", { class: "answers" }, ...told.flatMap((r) => [el("dt", {}, code(r.name, 200)), el("dd", {}, `${plain(r.answer)} ${plain(r.advice ?? "")}`)])),
    (ranges = table([{ title: "Range", key: "name", show: pick }, { title: "Domain", key: "domain", format: (v) => plain(v ?? "default") }, { title: "Style", key: "style" }, ...statColumns(timeOf), { title: "CPU", optional: true, hint: "time of all its threads meanwhile, samples", number: true, key: "cpu_s", format: seconds }, { title: "Mostly at", optional: true, hint: "the own line with most of that CPU time", kind: "name", value: (r) => (r.file ? `${r.file}:${r.line}` : ""), show: (r) => r.file && code(`${shortPath(r.file)}:${r.line}`) },
    { title: "GPU operations", optional: true, number: true, key: "gpu_n", format: count }, { title: "GPU time", optional: true, hint: "sum of the operations launched inside", number: true, key: "gpu_sum_s", format: seconds },
    { title: "GPU span", minor: true, optional: true, hint: "from the first to the last operation of each instance", number: true, key: "gpu_projected_s", format: seconds }, { title: "Never ended", minor: true, optional: true, number: true, key: "open", format: count }],
  list(profile.ranges), { caption: "Regions and NVTX ranges", sort: 3, name: "ranges", rowKey: (r) => plain(r.name ?? "") })),
    sized.length > 0 && el("h2", {}, "By size"), sized.length > 0 && table([{ title: "Range", kind: "name", value: (x) => plain(x.range.name ?? "") }, { title: "NVTX payload", hint: "of tomoprof's suite the edge of the volume", number: true, key: "payload", format: count }, ...statColumns(timeOf), { title: "CPU", number: true, key: "cpu_s", format: seconds }], sized, { name: "ranges by size" })].filter(Boolean);
}
