// The answer first: one sentence, whether the data can be trusted, where the time went.

function answer(profile, timing) {
  const parts = [];
  const ops = operations(timing).filter((op) => op.sizes.length);
  if (ops.length) {
    const size = Math.max(...ops.flatMap((op) => op.sizes.map((s) => s.volume_size)));
    const rows = ops.map((op) => op.sizes.find((s) => s.volume_size === size)).filter((s) => s && known(s.median));
    const total = rows.reduce((a, s) => a + s.median, 0);
    const top = rows.reduce((a, s) => (!a || s.median > a.median ? s : a), null);
    if (top) {
      const bound = boundBy(timing, top);
      parts.push(`At ${size}³, ${top.operation} takes ${percent(top.median / total)} of the time of the ${rows.length} measured operations (${seconds(top.median)})` +
        (bound ? `; it uses ${percent(bound.share)} of this machine's ${bound.what}, the nearer of its two limits.` : "."));
    }
  }
  if (profile) {
    const t = profile.totals, lines = allLines(profile);
    const cpu = t.cpu ? (t.cpu.user || 0) + (t.cpu.sys || 0) : null;
    const hot = lines.reduce((a, l) => (cpuOf(l) > (a ? cpuOf(a) : 0) ? l : a), null);
    const gpu = lines.reduce((a, l) => ((l.gpu_self_s || 0) > (a ? a.gpu_self_s : 0) ? l : a), null);
    if (gpu && t.gpu_sum_s > 0)
      parts.push(`${shortPath(gpu.path)}:${gpu.line} launches ${percent(gpu.gpu_self_s / t.gpu_sum_s)} of the GPU time (${seconds(gpu.gpu_self_s)}); copies are ${percent(t.copy_s / t.gpu_sum_s)} of it.`);
    if (hot && cpu > 0)
      parts.push(`${shortPath(hot.path)}:${hot.line} takes ${percent(cpuOf(hot) / cpu)} of the CPU time (${seconds(cpuOf(hot))} of ${seconds(cpu)}).`);
    // The own line that leads there: the dearest one with its callees, but for those that everything is below.
    const below = (l) => (l.cpu_incl?.user || 0) + (l.cpu_incl?.sys || 0);
    const own = lines.filter((l) => l.file.user && below(l) < 0.95 * cpu).reduce((a, l) => (below(l) > (a ? below(a) : 0) ? l : a), null);
    if (own && own !== hot && below(own) > 0.1 * cpu) parts.push(`${shortPath(own.path)}:${own.line} and what it calls take ${percent(below(own) / cpu)}.`);
    if (t.peak_rss_mb > 0) parts.push(`Memory peaked at ${megabytes(t.peak_rss_mb)}.`);
  }
  return parts.length ? parts.join(" ") : "Nothing was measured in this run.";
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
    if (odd.length) items.push({ id: "implausible", severity: "warning", count: odd.length, text: `rates above the measured roof: ${odd[0].operation}`, effect: "work model or calibration is off", fix: "measure again on a quiet machine" });
  }
  return items;
}

function qualityBadge(profile, timing) {
  const items = qualityItems(profile, timing);
  const bad = items.filter((i) => i.severity !== "info");
  const complete = bad.length === 0 && profile?.quality?.complete !== false;
  const title = complete ? "Data complete" : `Data incomplete: ${bad.length || 1} ${bad.length === 1 ? "thing" : "things"} to know`;
  return el("details", { class: "quality", id: "quality" },
    el("summary", {}, el("span", { class: "badge " + (complete ? "good" : "bad") }, (complete ? "✓ " : "! ") + title)),
    items.length === 0 ? el("p", {}, "No loss, drop or clock trouble was seen.")
      : table([
        { title: "Severity", kind: "name", key: "severity" }, { title: "What", key: "text" }, { title: "Count", key: "count", number: true, format: count },
        { title: "Effect", key: "effect" }, { title: "What to do", key: "fix" }], items, { name: "data quality", filter: false }),
    profile && el("p", { class: "note" }, `CPU samples cover ${percent(profile.quality.cpu_sample_coverage)} of the CPU time that the kernel counted; ` +
      `${percent(profile.quality.unattributed_cpu_share)} has no source line; the profiler itself took ${percent(profile.quality.overhead_share)}.`));
}

function whereTheTimeWent(profile) {
  const t = profile.totals, wall = profile.meta.wall_s, nodes = [];
  if (t.gpu_busy_s > 0) {
    const busy = Math.min(t.gpu_busy_s, wall), kernels = busy * (t.kernel_s / t.gpu_sum_s), sets = busy * ((t.set_s || 0) / t.gpu_sum_s);
    nodes.push(el("h2", {}, "Wall time"), stackedBar("Wall time", [
      { name: "GPU computes", value: kernels + sets, k: 0 }, { name: "GPU copies", value: busy - kernels - sets, k: 1 },
      { name: "host waits while the GPU is idle", value: Math.max(0, (t.gpu_wait_s || 0) - (t.gpu_wait_busy_s || 0)), k: 3 },
      { name: "host only", value: Math.max(0, wall - busy - Math.max(0, (t.gpu_wait_s || 0) - (t.gpu_wait_busy_s || 0))), k: 7 }], wall));
  }
  nodes.push(el("h2", {}, "Time of all threads, sleep left out"), stackedBar("Time of all threads, sleep left out", [
    { name: "Python", value: t.cpu?.python, k: 1 }, { name: "native code", value: t.cpu?.native ?? t.cpu?.user, k: 0 }, { name: "system", value: t.cpu?.sys, k: 5 },
    { name: "waiting for a CPU", value: t.wait?.runnable, k: 6 }, { name: "disk", value: t.wait?.disk, k: 4 }, { name: "in CUDA calls", value: t.wait?.cuda, k: 2 }]),
  el("p", { class: "note" }, `The program ran for ${seconds(wall)}; its ${count(list(profile.threads).length)} threads slept ${seconds(t.wait?.sleep)} in all.`));
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
    { title: "Growth", hint: "p of t = a + b N^p; empty below three sizes", number: true, value: (op) => op.scaling?.p, format: (v, op) => (known(v) ? "N^" + v.toFixed(2) : plain(op.scaling?.reason ? UNKNOWN : UNKNOWN)) },
    { title: "GFLOP/s", number: true, value: (op) => largest(op)?.gflops, format: (v) => number(v) },
    { title: "GB/s", number: true, value: (op) => largest(op)?.gbytes_per_s, format: (v) => number(v) },
    { title: "Share of roof", hint: "of the nearer of the two measured limits", number: true, value: (op) => largest(op)?.roof_share, format: percent },
    { title: "Bound by", kind: "name", value: (op) => (largest(op) && boundBy(timing, largest(op))?.what) ?? UNKNOWN },
    { title: "Runs", number: true, value: (op) => largest(op)?.n, format: count },
    { title: "Spread", hint: "standard deviation / mean", number: true, value: (op) => largest(op)?.cv, format: percent },
    ...(verdict.size ? [{ title: "FPGA", value: (op) => verdict.get(op.name) ?? UNKNOWN }] : []),
    { title: "Not measured", value: (op) => op.failed.map((m) => `${m.volume_size}: ${m.status}, ${m.reason}`).filter((t, i, a) => a.indexOf(t) === i).join("; ") || "" },
  ], ops, { caption: "Operations at their largest measured size", sort: 2, name: "operations" });
}

function topLines(profile) {
  const rows = allLines(profile).filter((l) => cpuOf(l) > 0 || l.gpu_self_s > 0).sort((a, b) => cpuOf(b) + (b.gpu_self_s || 0) - cpuOf(a) - (a.gpu_self_s || 0)).slice(0, 10);
  return table([
    { title: "Line", kind: "name", value: (l) => `${l.path}:${l.line}`, show: (l) => el("a", { href: "#lines", onclick: (e) => { e.preventDefault(); openPart("lines"); openLine(l.path); } }, code(`${shortPath(l.path)}:${l.line}`)) },
    { title: "CPU", number: true, value: cpuOf, format: seconds },
    { title: "of all CPU", number: true, value: (l) => l.cpu?.share, format: percent },
    { title: "GPU", number: true, value: (l) => l.gpu_self_s, format: seconds },
    { title: "Source", value: (l) => l.text ?? "", show: (l) => code((l.text ?? "").trim(), 160) },
  ], rows, { caption: "Lines that cost most", name: "top lines", filter: false });
}

function summaryPanel(profile, timing, triage) {
  return [
    el("p", { class: "answer", id: "answer" }, el("bdi", {}, plain(answer(profile, timing)))),
    qualityBadge(profile, timing),
    profile && whereTheTimeWent(profile),
    list(profile?.findings).length > 0 && [el("h2", {}, "Findings"), profile.findings.slice(0, 8).map((f) => el("div", { class: "finding" },
      el("h3", {}, plain(f.title)), el("p", {}, plain(f.evidence)),
      el("p", {}, plain(f.advice), known(f.gain_s) && ` At most ${seconds(f.gain_s)} can be saved (confidence: ${plain(f.confidence)}).`)))],
    profile && [el("h2", {}, "Top lines"), topLines(profile)],
    timing && [el("h2", {}, "Operations"), operationTable(timing, triage)],
  ].flat(3).filter(Boolean);
}
