// Locks: who waited for which, where, for how long, and which line held it. Only recordings with the mode `locks` have it.
import { list, shortPath } from "./data.js";
import { chosen, isTimed, lineLink, onFilter, processName, rangePhrase } from "./state.js";
import { spansOf } from "./time.js";
import { count, cut, el, known, number, percent, plain, seconds, shortTemplates, svg, table } from "./ui.js";

// A wait for a signal or for work, as that of an idle thread of a pool, is not contention. It counts where an own line waits.
const isContention = (lock) => lock.role !== "work";
// The part has something to tell: a lock that held somebody up, or an own line that waits for work, for a thousandth of the run.
export const hasLocks = (profile) => list(profile?.locks).some((l) => !(l.wait_s < 0.001 * profile.meta.wall_s) && (isContention(l) || profile.files?.[l.file]?.user));

// Seconds that a lock's row waited within the selection: its waits are known in equal parts of the run. null where they are not.
export function waitedIn(profile, lock) {
  const bins = list(lock.waited_s), bin = lock.bin_s * 1e9;
  if (!bins.length || !known(lock.bin_s)) return null;
  let sum = 0;
  for (const [from, until] of spansOf(profile, lock.process)) bins.forEach((s, i) => { sum += (s * Math.max(0, Math.min(until, (i + 1) * bin) - Math.max(from, i * bin))) / bin; });
  return sum;
}

// When the threads waited, as a curve from the start to the end of the run. null where it is not known.
function waitCurve(profile, lock) {
  const values = list(lock.waited_s), bins = Math.ceil(profile.meta.wall_s / lock.bin_s), high = Math.max(...values);
  if (!values.length || !(bins > 0) || !(high > 0)) return null;
  const text = `waits over the run: most, ${seconds(high)} of all threads, in the ${seconds(lock.bin_s)} from ${seconds(values.indexOf(high) * lock.bin_s)}`;
  const steps = values.map((v, i) => { const y = (19 - (18 * v) / high).toFixed(1); return `L${i},${y}L${i + 1},${y}`; }).join("");
  return svg("svg", { class: "curve waits", viewBox: `0 0 ${Math.max(bins, values.length)} 20`, width: 96, height: 16, preserveAspectRatio: "none", role: "img", "aria-label": text }, svg("title", {}, text), svg("path", { d: `M0,19${steps}L${values.length},19Z` }));
}

export function locksPanel(profile) {
  const short = (text) => el("code", { title: plain(text) }, cut(shortTemplates(plain(text)), 40));
  const place = (p) => (p.file ? lineLink(p.file, p.line) : short(p.native ?? p.function ?? "no line is known"));
  const name = (p) => (p.file ? `${shortPath(p.file)}:${p.line}` : p.native ?? p.function ?? "no line is known");
  const lockedIn = (h) => (h.locked_file ? ` (locked in ${shortPath(h.locked_file)}:${h.locked_line})` : "");
  const fewThreads = (v) => (v > 0 && v < 0.005 ? "< 0.01" : number(v));
  const processes = list(profile.processes), many = new Set([...list(profile.locks), ...list(profile.contention)].map((row) => row.process)).size > 1;
  const merged = new Map(); // holders of one place differ in what they called
  const holders = (l) => {
    if (!merged.has(l.holders)) { const of = new Map(); for (const h of list(l.holders)) { const key = name(h) + lockedIn(h), first = of.get(key); of.set(key, first ? { ...first, share: first.share + h.share, asleep: first.asleep && h.asleep } : h); } merged.set(l.holders, [...of.values()].sort((a, b) => b.share - a.share).slice(0, 3)); }
    return merged.get(l.holders);
  };
  const unknown = (l) => (l.reason ? (holders(l).length ? "; " : "") + "unknown: " + l.reason : "");
  const reasons = [...new Set(list(profile.locks).map((l) => l.reason).filter(Boolean))]; // each is said once, below the table
  const process = { title: "Process", kind: "name", value: (row) => processName(processes[row.process]) };
  const shown = (rows) => list(rows).filter((row) => chosen.process === null || row.process === chosen.process);
  const held = { title: "Held by", value: (l) => holders(l).map((h) => `${name(h)}${lockedIn(h)} ${percent(h.share)}`).join(", ") + unknown(l), show: (l) => el("span", {}, holders(l).flatMap((h, i) => [i ? ", " : "", place(h), `${lockedIn(h)} `, el("span", { class: "unbroken" }, percent(h.share)), h.asleep ? ", asleep" : ""]).concat(l.reason ? [el("span", { class: "note", title: plain(l.reason) }, `${holders(l).length ? "; " : ""}unknown (${reasons.indexOf(l.reason) + 1})`)] : [])) };
  const where = [{ title: "Waits at", kind: "name", value: name, show: place }, ...(many ? [process] : []), { title: "Lock", kind: "name", value: (l) => (l.kind === "gil" ? "GIL" : l.kind) }];
  const counts = [{ title: "When", kind: "name", value: (l) => list(l.waited_s).length, show: (l) => waitCurve(profile, l), format: () => "", optional: true, hint: "from the start to the end of the run" }, { title: "Threads", number: true, key: "threads", format: count }, { title: "Waits", number: true, key: "waits", format: count, hint: "of 100 µs or more" }, { title: "Longest", number: true, key: "longest_s", format: seconds }];
  // Idle threads wait longest and explain least: they come last, folded.
  const tables = (rows, waited, more) => {
    const held_up = rows.filter(isContention), idle = rows.filter((l) => !isContention(l)), sum = (all) => seconds(all.reduce((a, l) => a + (waited.value ? waited.value(l) : l[waited.key]) || 0, 0));
    return [el("h2", {}, "Locks that another thread held"), held_up.length ? table([...where, waited, ...more, held, { title: "Holder unknown", minor: true, optional: true, number: true, value: (l) => (isTimed() ? null : l.unknown_s), format: seconds }], held_up, { sort: where.length, name: "locks" }) : el("p", {}, "No thread waited for one."),
      reasons.map((reason, i) => held_up.some((l) => l.reason === reason) && el("p", { class: "note" }, `(${i + 1}) ${plain(reason)}.`)),
      idle.length > 0 && el("details", {}, el("summary", {}, `Waits for a signal or for work: ${count(idle.length)} ${idle.length === 1 ? "row" : "rows"}, ${sum(idle)} of all threads`), table([...where, waited, ...more], idle, { sort: where.length, name: "waits for work" }))];
  };
  // Holders are known of the whole run alone.
  const ranged = () => {
    const rows = shown(profile.locks).map((l) => ({ ...l, within: waitedIn(profile, l) })), followed = rows.filter((l) => l.within > 0);
    return [el("p", { class: "note" }, `Waits ${rangePhrase()}, summed from parts of ${seconds(Math.max(0, ...rows.map((l) => l.bin_s || 0)))}. Holders are those of the whole run.${rows.some((l) => l.within === null) ? " Rows that waited less than a thousandth of the longest one are left out." : ""}`),
      ...tables(followed, { title: "Waited", number: true, key: "within", format: seconds, hint: "threads added, in the selected time" }, [{ title: "of its waits", number: true, value: (l) => l.within / l.wait_s, format: percent }, counts[0]])];
  };
  const body = el("div"), redraw = () => body.replaceChildren(...(isTimed() ? ranged() : wholeRun()).flat(2).filter(Boolean));
  const busy = (c) => c.wait_s > 0 || c.unseen_s > 0;
  const wholeRun = () => [
    shown(profile.contention).some(busy) && [el("h2", {}, "Waits of each process"), table([
      ...(many ? [process] : []),
      { title: "Threads", number: true, key: "threads", format: count, hint: "that waited for a lock which another one held" }, { title: "Waited", number: true, key: "wait_s", format: seconds, hint: "sum of their waits" },
      { title: "for the GIL", optional: true, number: true, key: "gil_s", format: seconds, hint: "part of it: the interpreter's lock" }, { title: "of wall time", number: true, key: "any_s", format: seconds, hint: "in which at least one thread waited so" },
      { title: "Wanted to run", number: true, key: "wanted", format: (v) => number(v), hint: "threads at a time, mean, while at least two did" }, { title: "Ran", number: true, key: "ran", format: fewThreads, hint: "of them, those that no lock held up" }, { title: "on a CPU", number: true, key: "on_cpu", format: fewThreads },
      { title: "Unseen", minor: true, optional: true, number: true, key: "unseen_s", format: seconds, hint: "waits in futexes without a record: joins, barriers, OpenMP, the C library" }], shown(profile.contention).filter(busy), { name: "contention", filter: false, sort: -1 })],
    ...tables(shown(profile.locks), { title: "Waited", number: true, key: "wait_s", format: seconds, hint: "threads added; with the time until a CPU was free" }, counts)];
  onFilter("locks", redraw);
  redraw();
  return [body];
}
