// Locks: who waited for which, where, for how long, and which line held it. Only recordings with the mode `locks` have it.
import { list, shortPath } from "./data.js";
import { chosen, isTimed, lineLink, onFilter, processName, rangePhrase } from "./state.js";
import { spansOf } from "./time.js";
import { count, cut, el, known, number, percent, plain, seconds, shortTemplates, table } from "./ui.js";

// Seconds that a lock's row waited within the selection: its waits are known in equal parts of the run. null where they are not.
export function waitedIn(profile, lock) {
  const bins = list(lock.waited_s), bin = lock.bin_s * 1e9;
  if (!bins.length || !known(lock.bin_s)) return null;
  let sum = 0;
  for (const [from, until] of spansOf(profile, lock.process)) bins.forEach((s, i) => { sum += (s * Math.max(0, Math.min(until, (i + 1) * bin) - Math.max(from, i * bin))) / bin; });
  return sum;
}

export function locksPanel(profile) {
  const short = (text) => el("code", { title: plain(text) }, cut(shortTemplates(plain(text)), 48));
  const place = (p) => (p.file ? lineLink(p.file, p.line) : short(p.native ?? p.function ?? "no line is known"));
  const name = (p) => (p.file ? `${shortPath(p.file)}:${p.line}` : p.native ?? p.function ?? "no line is known");
  const lockedIn = (h) => (h.locked_file ? ` (locked in ${shortPath(h.locked_file)}:${h.locked_line})` : "");
  const fewThreads = (v) => (v > 0 && v < 0.005 ? "< 0.01" : number(v));
  const holders = (l) => list(l.holders).slice(0, 3), processes = list(profile.processes), many = processes.length > 1;
  const unknown = (l) => (l.reason ? (holders(l).length ? "; " : "") + "unknown: " + l.reason : "");
  const process = { title: "Process", kind: "name", value: (row) => processName(processes[row.process]) };
  const shown = (rows) => list(rows).filter((row) => chosen.process === null || row.process === chosen.process);
  const held = { title: "Held by", value: (l) => holders(l).map((h) => `${name(h)}${lockedIn(h)} ${percent(h.share)}`).join(", ") + unknown(l), show: (l) => el("span", {}, holders(l).flatMap((h, i) => [i ? ", " : "", place(h), `${lockedIn(h)} ${percent(h.share)}${h.asleep ? ", asleep" : ""}`]).concat(l.reason ? [el("span", { class: "note" }, plain(unknown(l)))] : [])) };
  const where = [{ title: "Waits at", kind: "name", value: name, show: place }, ...(many ? [process] : []), { title: "Lock", kind: "name", value: (l) => (l.kind === "gil" ? "GIL" : l.kind) }, { title: "Why", kind: "name", key: "role" }];
  // Holders are known of the whole run alone.
  const ranged = () => {
    const rows = shown(profile.locks).map((l) => ({ ...l, within: waitedIn(profile, l) })), followed = rows.filter((l) => l.within > 0);
    return [el("p", { class: "note" }, `Waits ${rangePhrase()}, summed from parts of ${seconds(Math.max(0, ...rows.map((l) => l.bin_s || 0)))}. Holders are those of the whole run.${rows.some((l) => l.within === null) ? " Rows that waited less than a thousandth of the longest one are left out." : ""}`),
      el("h2", {}, "Locks"), table([...where, { title: "Waited", number: true, key: "within", format: seconds, hint: "threads added, in the selected time" }, { title: "of its waits", number: true, value: (l) => l.within / l.wait_s, format: percent }, held], followed, { sort: where.length, name: "locks" })];
  };
  const body = el("div"), redraw = () => body.replaceChildren(...(isTimed() ? ranged() : wholeRun()).flat().filter(Boolean));
  const wholeRun = () => [
    shown(profile.contention).length > 0 && [el("h2", {}, "Waits of each process"), table([
      ...(many ? [process] : []),
      { title: "Threads", number: true, key: "threads", format: count, hint: "that waited for a lock which another one held" }, { title: "Waited", number: true, key: "wait_s", format: seconds, hint: "sum of their waits" },
      { title: "for the GIL", number: true, key: "gil_s", format: seconds, hint: "part of it: the interpreter's lock" }, { title: "of wall time", number: true, key: "any_s", format: seconds, hint: "in which at least one thread waited so" },
      { title: "Wanted to run", number: true, key: "wanted", format: (v) => number(v), hint: "threads at a time, mean, while at least two did" }, { title: "Ran", number: true, key: "ran", format: fewThreads, hint: "of them, those that no lock held up" }, { title: "on a CPU", number: true, key: "on_cpu", format: fewThreads },
      { title: "Waits for work", minor: true, number: true, key: "work_s", format: seconds }, { title: "Unseen", minor: true, number: true, key: "unseen_s", format: seconds, hint: "waits in futexes without a record: joins, barriers, OpenMP, the C library" }], shown(profile.contention), { name: "contention", filter: false, sort: -1 })],
    el("h2", {}, "Locks"), table([
      ...where, { title: "Waited", number: true, key: "wait_s", format: seconds, hint: "threads added; with the time until a CPU was free" },
      { title: "Threads", number: true, key: "threads", format: count }, { title: "Waits", number: true, key: "waits", format: count, hint: "of 100 µs or more" }, { title: "Longest", number: true, key: "longest_s", format: seconds },
      held,
      { title: "Holder unknown", minor: true, number: true, key: "unknown_s", format: seconds }], shown(profile.locks), { sort: many ? 4 : 3, name: "locks" })];
  onFilter("locks", redraw);
  redraw();
  return [body];
}
