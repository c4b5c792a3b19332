// The first tab: the headline in one sentence, whether the data can be trusted, where the time went.

const cpuTotal = (profile) => (profile.totals.cpu?.user || 0) + (profile.totals.cpu?.sys || 0);
const lineName = (l) => `${shortPath(l.path)}:${l.line}`;
const most = (rows, of) => rows.reduce((a, r) => ((of(r) || 0) > (a ? of(a) || 0 : 0) ? r : a), null);

const cut = (text, n) => { const t = plain(text).trim(); return t.length > n ? t.slice(0, n - 1).trim() + "…" : t; };

// The last part of a Python name; parameters of C++ left out.
const shortName = (name, language) => (language === "python" ? plain(name).split(".").pop() : plain(name).replace(/\((?:[^()]|\([^()]*\))*\)(?: const)?$/, "")).slice(0, 80);

// What took the time itself, by function of the program's own code; code outside of functions by its line.
function mostExpensive(profile, count) {
  const rows = [];
  for (const [path, file] of Object.entries(profile.files)) {
    const outside = new Set(list(file.functions).flatMap((f, i) => (f.name === "<module>" ? [i] : [])));
    list(file.functions).forEach((f, i) => { if (!outside.has(i)) rows.push({ name: `${shortName(f.name, file.language)} (${shortPath(path)}${f.line ? ":" + f.line : ""})`, value: cpuOf(f) }); });
    for (const l of list(file.lines))
      if (outside.has(l.function) || l.function === null) rows.push({ name: `${shortPath(path)}:${l.line}${l.text ? ` “${cut(l.text, 40)}”` : ""}`, value: cpuOf(l) });
  }
  return rows.filter((r) => r.value > 0).sort((a, b) => b.value - a.value).slice(0, count);
}

// Without line tables: the functions themselves, from the stacks.
function mostExpensiveFrames(profile, count) {
  const { stacks, frames } = profile, rows = new Map();
  list(stacks?.cpu_ns).forEach((ns, i) => {
    const f = stacks.frame[i];
    if (!(ns > 0) || f === null || f < 0) return;
    const module = plain(frames.module?.[f] ?? "").split("/").pop(), name = frames.function[f] ? shortName(frames.function[f], frames.kind?.[f]) : "[unknown]", key = `${name} ${module}`;
    if (!rows.has(key)) rows.set(key, { name: module ? `${name} (${module})` : name, function: name, module, value: 0 });
    rows.get(key).value += ns * 1e-9;
  });
  return [...rows.values()].sort((a, b) => b.value - a.value).slice(0, count);
}
const withoutLines = (profile) => profile.quality?.unattributed_cpu_share > 0.5 && rowsOf(profile.stacks) > 0;

// How much of the machine worked; only the launcher knows how many CPUs there were.
function cpusUsed(profile, cpu) {
  const cpus = Number(profile.environment?.["launcher.cpus"]), wall = profile.meta.wall_s, busy = cpu / wall, threads = list(profile.threads).map((t) => (t.user_s || 0) + (t.sys_s || 0));
  if (!(cpus > 1) || !(wall > 0) || busy > 0.75 * cpus) return null;
  return `Average CPU use: ${number(busy, 2)} of ${cpus} cores` + (Math.max(0, ...threads) >= 0.9 * cpu ? ": one thread did nearly all of the work." : ".");
}

// A program that mostly waits (sleep, disk, network, other programs) is not explained by its CPU time. The same rule as summary_waits of report/text.
const mostlyWaits = (profile) => !(profile.totals.gpu_sum_s > 0) && cpuTotal(profile) + (profile.totals.wait?.runnable || 0) < 0.5 * profile.meta.wall_s;
const waitOf = (l) => l.cpu?.wait || 0;

// Operations at the largest size, those first that lose most time to the peak of this machine: their time above what the nearer limit allows.
function farFromPeak(timing) {
  const ops = operations(timing).filter((op) => op.sizes.length), size = Math.max(...ops.flatMap((op) => op.sizes.map((s) => s.volume_size)));
  const rows = ops.map((op) => op.sizes.find((s) => s.volume_size === size)).filter((s) => s && known(s.median)).map((s) => ({ ...s, bound: boundBy(timing, s) }));
  return rows.map((s) => ({ ...s, lost: s.bound ? s.median * Math.max(0, 1 - s.bound.share) : null })).sort((a, b) => (b.lost ?? -1) - (a.lost ?? -1) || b.median - a.median);
}

function suiteHeadline(timing) {
  const top = farFromPeak(timing)[0];
  return top ? [`At ${top.volume_size}³, ${top.operation} ` + (top.bound ? `is farthest from this machine's peak: it takes ${seconds(top.median)}, at the peak of ${top.bound.what} it would take ${seconds(top.median - top.lost)}.` : `takes ${seconds(top.median)}.`)] : [];
}

function gpuHeadline(profile) {
  const t = profile.totals, wall = profile.meta.wall_s, kernel = most(list(profile.kernels), (k) => k.time?.total_s);
  return [`The GPU was busy ${percent(Math.min(1, t.gpu_busy_s / wall))} of the ${seconds(wall)}; of its ${seconds(t.gpu_sum_s)}, ${kernel ? `${shortName(kernel.name)} took ${percent(kernel.time.total_s / t.gpu_sum_s)}, ` : ""}copies ${percent(t.copy_s / t.gpu_sum_s)}.`];
}

const FEW = 100; // samples: the standard error of a share of a half is then 5 %

// The most expensive lines; not where the headline names them already.
function byLine(profile, cpu, said) {
  const rows = allLines(profile).filter((l) => cpuOf(l) > 0.02 * cpu).sort((a, b) => cpuOf(b) - cpuOf(a)).slice(0, 3);
  if (!rows.length || said.startsWith(lineName(rows[0]))) return null;
  return `By line: ${rows.map((l, i) => `${lineName(l)}${l.text && !i ? ` “${cut(l.text, 60)}”` : ""} ${percent(cpuOf(l) / cpu)}`).join(", ")}.`;
}

// What was before the recorder and after it, which no sample stands for.
function unplacedByModule(profile) {
  const rows = list(profile.unattributed).filter((m) => ["[start-up]", "[tomoprof]", "[threads]", "[shutdown]"].includes(m.module) && cpuOf(m) > 0);
  return rows.length ? ` (${rows.map((m) => `${seconds(cpuOf(m))} in ${m.module}`).join(", ")})` : "";
}

// CPU time that no line stands for, where it is more than a little.
function elsewhere(profile, cpu) {
  const module = most(list(profile.unattributed), cpuOf), all = list(profile.unattributed).reduce((a, m) => a + cpuOf(m), 0);
  return all > 0.1 * cpu && module ? `${percent(all / cpu)} of the CPU time has no source line, most of it in ${plain(module.module).split("/").pop()}.` : null;
}

// Sentences; the first is the headline: of the suite, or what the analysis answered.
function headline(profile, timing) {
  const parts = timing ? suiteHeadline(timing) : [], t = profile?.totals, cpu = profile ? cpuTotal(profile) : 0, answer = !timing && list(profile?.answers)[0];
  if (!timing && profile?.headline) parts.push(profile.headline);
  if (t?.gpu_sum_s > 0) parts.push(...gpuHeadline(profile));
  if (cpu > 0 && !(timing && t.gpu_sum_s > 0)) {
    const inside = timing && operationShare(profile, timing);
    const blind = !inside && withoutLines(profile), top = inside ? inside.top : blind ? mostExpensiveFrames(profile, 3) : mostExpensive(profile, 3), of = inside ? inside.cpu : cpu;
    const shares = top.map((r) => `${r.name} ${percent(r.value / of)}`);
    if (inside && top.length) parts.push(`Lines inside of the operations: ${shares.join(", ")} of ${seconds(of)} CPU time.`);
    else if (top.length) {
      parts.push(`By function: ${shares.join(", ")} of the CPU time (${seconds(cpu)}${known(profile.meta.wall_s) ? `, in a run of ${seconds(profile.meta.wall_s)}` : ""}).`,
        blind ? `${percent(profile.quality.unattributed_cpu_share)} of the CPU time has no source line: build with -g (it changes no optimisation), or install debug symbols.` : byLine(profile, cpu, parts[0] ?? ""), !blind && elsewhere(profile, cpu), cpusUsed(profile, cpu));
      if (known(t.cpu.samples) && t.cpu.samples < FEW && answer?.kind !== "none") parts.push(`Only ${count(t.cpu.samples)} CPU samples were taken, so that shares are rough: record more work, or with --rate 1000.`);
    }
    if (inside) parts.push(`Set-up and checks took ${percent(1 - inside.cpu / cpu)} of the traced pass; the measured times leave them out.`);
  }
  if (t?.wait?.runnable > 0.3 * cpu && cpu > 0 && !list(profile.quality?.items).some((i) => i.id === "cpu.busy")) parts.push(`Threads waited ${seconds(t.wait.runnable)} for a CPU: the machine was busy, or there are more threads than cores.`);
  if (t?.peak_rss_mb > 0 && !timing) {
    const holder = most(list(profile.memory?.peak_lines), (l) => l.value);
    parts.push(`Memory peaked at ${megabytes(t.peak_rss_mb)}` + (holder ? `; ${placeText(holder)} held most of what was allocated: ${megabytes(holder.value)}${holder.value > t.peak_rss_mb ? ", touched or not" : ""}.` : "."));
  }
  const told = parts.filter(Boolean);
  return told.length ? told : ["Nothing was measured in this run."];
}

function qualityItems(profile, timing) {
  const items = list(profile?.quality?.items).map((i) => ({ ...i }));
  for (const check of list(profile?.quality?.checks))
    if (check.ok === false) items.push({ id: check.id, severity: "error", text: `does not hold: ${check.text}`, effect: `expected ${number(check.expected, 6)}, found ${number(check.found, 6)}`, fix: null });
  if (timing) {
    if (timing.interrupted) items.push({ id: "interrupted", severity: "warning", text: "the suite was interrupted", effect: "later rows are missing", fix: "run it to its end" });
    const bad = list(timing.measurements).filter((m) => m.status === "failed");
    if (bad.length) items.push({ id: "failed_rows", severity: "error", count: bad.length, text: `${bad.length} rows failed: ${bad[0].operation} at ${bad[0].volume_size}: ${bad[0].reason}`, effect: "they have no time", fix: "see Operations" });
    const odd = list(timing.statistics).filter((s) => s.implausible);
    if (odd.length) items.push({ id: "implausible", severity: "warning", count: odd.length, text: `rates above the measured peak: ${odd[0].operation}`, effect: "work model or calibration is off", fix: "measure again on a quiet machine" });
  }
  return items;
}

function qualityBadge(profile, timing) {
  const items = qualityItems(profile, timing);
  const bad = items.filter((i) => i.severity !== "info");
  const complete = bad.length === 0 && profile?.quality?.complete !== false;
  const busy = items.find((i) => i.id === "cpu.busy"), notable = busy ? [busy, ...bad] : bad;
  const title = !complete ? `Data incomplete: ${notable.length || 1} ${notable.length === 1 ? "thing" : "things"} to know` : busy ? "Data complete, but waited for a CPU" : "Data complete";
  return el("details", { class: "quality", id: "quality" },
    el("summary", {}, el("span", { class: "badge " + (complete && !busy ? "good" : "bad") }, (complete && !busy ? "✓ " : "! ") + title), notable.length > 0 && el("bdi", {}, " " + plain(notable[0].text).slice(0, 160))),
    items.length === 0 ? el("p", {}, "No loss, drop or clock trouble was seen.")
      : table([
        { title: "Severity", kind: "name", key: "severity" }, { title: "What", key: "text" }, { title: "Count", key: "count", number: true, format: count },
        { title: "Effect", key: "effect" }, { title: "What to do", key: "fix" }], items, { name: "data quality", filter: false }),
    profile && el("p", { class: "note" }, `Recorded: ${percent(profile.quality.cpu_sample_coverage)} of the CPU time that the kernel counted for the run${unplacedByModule(profile)}; ` +
      `${percent(profile.quality.unattributed_cpu_share)} has no source line; the profiler itself took ${percent(profile.quality.overhead_share)}.`));
}

const threadsSlept = (n, sleep) => (n === 1 ? `its one thread slept ${seconds(sleep)}.` : `its ${count(n)} threads slept ${seconds(sleep)} in all.`);

function whereTheTimeWent(profile) {
  const t = profile.totals, wall = profile.meta.wall_s, nodes = [];
  if (t.gpu_busy_s > 0) {
    const busy = Math.min(t.gpu_busy_s, wall), kernels = busy * (t.kernel_s / t.gpu_sum_s);
    nodes.push(el("h2", {}, "Wall time"), stackedBar("Wall time", [
      { name: "GPU kernels", value: kernels, k: COLOUR.kernel }, { name: "GPU copies and memsets", value: busy - kernels, k: COLOUR.copy },
      { name: "host waits while the GPU is idle", value: Math.max(0, (t.gpu_wait_s || 0) - (t.gpu_wait_busy_s || 0)), k: COLOUR.waitCuda },
      { name: "host only", value: Math.max(0, wall - busy - Math.max(0, (t.gpu_wait_s || 0) - (t.gpu_wait_busy_s || 0))), k: "none" }], wall));
  }
  nodes.push(el("h2", {}, "Where the threads' time went (sleep excluded)"), stackedBar("Where the threads' time went (sleep excluded)", [
    { name: "Python", value: t.cpu?.python, k: COLOUR.python }, { name: "native code", value: t.cpu?.native ?? t.cpu?.user, k: COLOUR.native }, { name: "system", value: t.cpu?.sys, k: COLOUR.system },
    { name: "waiting for a CPU", value: t.wait?.runnable, k: COLOUR.wait }, { name: "waiting for a disk", value: t.wait?.disk, k: COLOUR.waitDisk }, { name: "in CUDA calls", value: t.wait?.cuda, k: COLOUR.waitCuda }]),
  known(wall) && el("p", { class: "note" }, `The program ran for ${seconds(wall)}${known(t.wait?.sleep) ? `; ${threadsSlept(list(profile.threads).filter((x) => !ofRecorder(x)).length, t.wait.sleep)}` : "."}`));
  return nodes;
}

function operationTable(timing, triage) {
  const ops = operations(timing), largest = (op) => op.sizes[op.sizes.length - 1];
  const verdict = new Map(list(triage?.candidates).map((c) => [c.operation, c.verdict]));
  const total = ops.reduce((a, op) => a + (largest(op)?.median || 0), 0);
  return table([
    { title: "Operation", kind: "name", key: "name", show: (op) => el("a", { href: "#scaling", onclick: (e) => { e.preventDefault(); openPart("scaling"); showScaling(op.name); } }, code(op.name)) },
    { title: "Largest size", number: true, value: (op) => largest(op)?.volume_size, format: (v) => (known(v) ? v + "³" : UNKNOWN) },
    { title: "Median", number: true, value: (op) => largest(op)?.median, format: seconds },
    { title: "Share", hint: "of the sum of the medians listed here", number: true, value: (op) => (largest(op) ? largest(op).median / total : null), format: percent },
    { title: "By size", value: (op) => op.sizes.length, format: (n) => n + " sizes", show: (op) => sparkline(op.sizes.map((s) => Math.log(s.median)), `${op.name}: ` + op.sizes.map((s) => `${s.volume_size}: ${seconds(s.median)}`).join(", ")) },
    { title: "Growth", optional: true, hint: "p of t = a + b N^p; empty below three sizes", number: true, value: (op) => op.scaling?.p, format: (v, op) => (known(v) ? "N^" + v.toFixed(2) : plain(op.scaling?.reason ? UNKNOWN : UNKNOWN)) },
    { title: "GFLOP/s", number: true, value: (op) => largest(op)?.gflops, format: (v) => number(v) },
    { title: "GB/s", number: true, value: (op) => largest(op)?.gbytes_per_s, format: (v) => number(v) },
    { title: "Share of peak", hint: "of the nearer of the two measured limits", number: true, value: (op) => largest(op)?.roof_share, format: percent },
    { title: "Bound by", kind: "name", value: (op) => (largest(op) && boundBy(timing, largest(op))?.what) ?? UNKNOWN },
    { title: "Runs", number: true, value: (op) => largest(op)?.n, format: count },
    { title: "Spread", hint: "standard deviation / mean", number: true, value: (op) => largest(op)?.cv, format: percent },
    ...(verdict.size ? [{ title: "FPGA", value: (op) => verdict.get(op.name) ?? UNKNOWN }] : []),
    { title: "Not measured", optional: true, value: (op) => op.failed.map((m) => `${m.volume_size}: ${m.status}, ${m.reason}`).filter((t, i, a) => a.indexOf(t) === i).join("; ") || "" },
  ], ops, { caption: "Operations at their largest measured size", sort: 2, name: "operations" });
}

function topFunctions(profile, cpu) {
  return table([
    { title: "Function", kind: "name", key: "function", show: (f) => code(f.function, 100) }, { title: "Module", kind: "name", key: "module", show: (f) => code(f.module) },
    { title: "CPU", number: true, key: "value", format: seconds }, { title: "of all CPU", number: true, value: (f) => f.value / cpu, format: percent },
  ], mostExpensiveFrames(profile, 10), { caption: "Functions that cost most themselves: most of the CPU time has no source line", name: "top functions", filter: false });
}

function topLines(profile, timing) {
  const part = timing ? partOf(profile, timing, "operations") : null, cost = (l) => (part ? part.cpu(l) : cpuOf(l)), cpu = part ? part.total : cpuTotal(profile), gpu = profile.totals.gpu_sum_s > 0;
  if (!part && withoutLines(profile)) return topFunctions(profile, cpu);
  const idle = !part && mostlyWaits(profile), weight = (l) => cost(l) + (l.gpu_self_s || 0) + (idle ? waitOf(l) : 0);
  const rows = allLines(profile).filter((l) => weight(l) > 0).sort((a, b) => weight(b) - weight(a)).slice(0, 10);
  if (!rows.length) return el("p", {}, "No time was recorded.");
  return table([
    { title: "Line", kind: "name", value: (l) => `${l.path}:${l.line}`, show: (l) => lineLink(l.path, l.line) },
    { title: "CPU", number: true, value: cost, format: seconds },
    { title: part ? "of the operations" : "of all CPU", number: true, value: (l) => cost(l) / cpu, format: percent },
    ...(gpu ? [{ title: "GPU", number: true, value: (l) => l.gpu_self_s, format: seconds }] : []),
    ...(idle ? [{ title: "waited", number: true, value: waitOf, format: seconds }] : []),
    ...(part ? [{ title: "mostly in", kind: "name", value: (l) => part.main(l) }] : []),
    { title: "Source", kind: "source", value: (l) => l.text ?? "", show: (l) => code((l.text ?? "").trim(), 160) },
  ], rows, { caption: part ? "Lines that cost most inside of the operations; set-up and checks are left out" : "Lines that cost most", name: "top lines", filter: false });
}

// The lines that a finding is about, most first.
function findingLines(finding) {
  const at = (l) => `${l.file}:${l.line}`, all = list(finding.lines).filter((l) => l.file && known(l.line));
  const rows = all.filter((l, i) => all.findIndex((o) => at(o) === at(l)) === i).slice(0, 3);
  return rows.length > 0 && el("p", {}, "Above all: ", rows.flatMap((l, i) => [i ? ", " : "", lineLink(l.file, l.line)]), ".");
}

// What the first screen asks for: {title, go, source, text, gain, advice}, at most three.
function suiteCards(timing) {
  return farFromPeak(timing).filter((s) => s.lost > 0).slice(0, 3).map((s) => ({
    title: s.operation, go: () => { openPart("scaling"); showScaling(s.operation); }, href: "#scaling",
    text: `It takes ${seconds(s.median)} at ${s.volume_size}³ and uses ${percent(s.bound.share)} of the peak of ${s.bound.what}.`, gain: s.lost,
    advice: s.bound.what === "arithmetic" ? "Use vector instructions and all cores, or fewer operations." : "Read and write less: fewer passes over the data, smaller types, blocks that fit into the cache." }));
}
function profileCards(profile) {
  return list(profile?.answers).filter((a) => a.kind !== "none").slice(0, 3).map((a) => {
    const line = a.file && list(profile.files?.[a.file]?.lines).find((l) => l.line === a.line);
    return { title: a.file ? `${shortPath(a.file)}:${a.line}` : a.function ? shortName(a.function) : { imports: "Imports", finding: plain(a.text).split(":")[0] }[a.kind] ?? "The run", href: a.file ? address("lines", `${a.file}:${a.line}`) : null,
      go: () => goTo("lines", `${a.file}:${a.line}`), source: line?.text, text: plain(a.text).replace(/ `.*` (takes|sleeps|waits|launches) /, " $1 "), gain: a.gain_s, wall: profile.meta.wall_s, advice: a.advice };
  });
}
function cards(rows) {
  if (!rows.length) return null;
  return el("ol", { class: "cards", "aria-label": "What to change first" }, rows.map((c) => el("li", {},
    el("p", { class: "card-title" }, c.href ? el("a", { href: c.href, onclick: (e) => { e.preventDefault(); c.go(); } }, code(c.title, 80)) : code(c.title, 80)),
    c.source && el("p", {}, code(c.source.trim(), 80)), el("p", {}, el("bdi", {}, plain(c.text))),
    known(c.gain) && el("p", {}, el("strong", {}, `Fixing this saves up to ${seconds(c.gain)}${c.wall === null ? " of CPU time" : ""}.`)), el("p", { class: "note" }, plain(c.advice)))));
}

function summaryPanel(profile, timing, triage) {
  const sentences = headline(profile, timing);
  routes.set("summary", (id) => { const node = document.getElementById(id); node?.scrollIntoView({ block: "center" }); node?.focus({ preventScroll: true }); });
  return [
    el("p", { class: "answer", id: "answer" }, el("bdi", {}, plain(sentences[0]))),
    cards(timing ? suiteCards(timing) : profileCards(profile)),
    sentences.length > 1 && el("ul", { class: "also" }, sentences.slice(1).map((s) => el("li", {}, el("bdi", {}, plain(s))))),
    qualityBadge(profile, timing),
    profile && whereTheTimeWent(profile),
    list(profile?.findings).length > 0 && [el("h2", {}, "Findings"), profile.findings.slice(0, 8).map((f, i) => el("div", { class: "finding", id: `finding-${i}`, tabindex: "-1" },
      el("h3", {}, plain(f.title)), el("p", {}, plain(f.evidence)), findingLines(f),
      el("p", {}, plain(f.advice), known(f.gain_s) && ` At most ${seconds(f.gain_s)} can be saved (confidence: ${plain(f.confidence)}).`),
      f.refuted_by && f.test && el("p", { class: "note" }, `${plain(f.refuted_by)} ${plain(f.test)}`)))],
    timing && [el("h2", {}, "Operations"), operationTable(timing, triage)],
    profile && [el("h2", {}, !(timing && partOf(profile, timing, "operations")) && withoutLines(profile) ? "Top functions" : "Top lines"), topLines(profile, timing)],
  ].flat(3).filter(Boolean);
}
