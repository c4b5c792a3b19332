// Ranks: what each rank of an MPI program did with its time, for whom it waited, and who sent how much to whom.
import { list, shortPath } from "./data.js";
import { lineLink, processName } from "./state.js";
import { code, count, el, known, megabytes, number, percent, plain, seconds, table } from "./ui.js";

// Bytes from rank (row) to rank (column), darker is more.
function rankMatrix(mpi) {
  const n = mpi.size, most = Math.max(...list(mpi.pairs).map((p) => p.mb), 1e-9);
  if (n > 64 || !list(mpi.pairs).length) return null;
  const by = new Map(list(mpi.pairs).map((p) => [`${p.from} ${p.to}`, p]));
  const ranks = [...Array(n).keys()];
  const square = (from, to) => {
    const p = by.get(`${from} ${to}`), share = p ? Math.round(8 + 37 * (p.mb / most)) : 0;
    return el("td", { class: "square", title: p ? `${from} to ${to}: ${megabytes(p.mb)} in ${count(p.messages)} messages` : null,
      css: p ? { background: `color-mix(in srgb, var(--c0) ${share}%, transparent)` } : null }, p ? megabytes(p.mb) : "");
  };
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "bytes between ranks" }, el("table", { class: "matrix" }, el("caption", {}, "Sent from rank (row) to rank (column), without collective calls"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "from \\ to"), ranks.map((r) => el("th", { scope: "col" }, String(r))))),
    el("tbody", {}, ranks.map((r) => el("tr", {}, el("th", { scope: "row" }, String(r)), ranks.map((c) => square(r, c)))))));
}

export function ranksPanel(profile) {
  const mpi = profile.mpi, processes = list(profile.processes), ranges = list(mpi.ranges), matrix = rankMatrix(mpi);
  const without = (l) => l.function ?? (l.spent_s < 1e-5 * l.calls ? "too short for a line" : "no line of the program");
  const place = (l) => (l.file ? lineLink(l.file, l.line) : code(without(l)));
  const name = (l) => (l.file ? `${shortPath(l.file)}:${l.line}` : without(l));
  return [
    known(mpi.parallel_efficiency) && el("p", {}, `Parallel efficiency ${number(mpi.parallel_efficiency)}: load balance ${number(mpi.load_balance)} (mean over largest time outside of MPI) times communication efficiency ${number(mpi.communication_efficiency)} (largest time outside of MPI over the wall time). Above 0.8 is good.`),
    el("h2", {}, "Ranks"), table([
      { title: "Rank", number: true, key: "rank", format: (v) => String(v) }, ...(processes.length ? [{ title: "Process", kind: "name", value: (r) => processName(processes[r.process]) }] : []),
      { title: "Wall", number: true, key: "wall_s", format: seconds, hint: "from the end of MPI_Init to MPI_Finalize" }, { title: "Outside of MPI", number: true, key: "compute_s", format: seconds },
      { title: "Waited for a late rank", number: true, key: "late_s", format: seconds }, { title: "Transfers", number: true, key: "transfer_s", format: seconds, hint: "the rest in MPI" },
      { title: "Made others wait", number: true, key: "delayed_s", format: seconds, hint: "waits of other ranks for this one, added" }, { title: "Calls", number: true, key: "calls", format: count }, { title: "Given to MPI", number: true, key: "given_mb", format: megabytes, hint: "sent, written or put; receives count nothing" },
      { title: "End", kind: "name", value: (r) => (r.whole ? "MPI_Finalize" : "before MPI_Finalize") }], list(mpi.ranks), { sort: 0, up: true, name: "ranks" }),
    el("h2", {}, "Lines that call MPI"), table([
      { title: "Line", kind: "name", value: name, show: place }, { title: "Call", kind: "name", key: "call" }, { title: "In MPI", number: true, key: "spent_s", format: seconds, hint: "ranks added" },
      { title: "Waited for a late rank", number: true, key: "late_s", format: seconds }, { title: "Late most", value: (l) => (known(l.late_rank) ? `rank ${l.late_rank}, ${percent(l.late_rank_s / l.late_s)}` : "") },
      { title: "Ranks", number: true, key: "ranks", format: count }, { title: "Calls", number: true, key: "calls", format: count }, { title: "Bytes", number: true, key: "given_mb", format: megabytes, hint: "sent, read or written; of a receive the room it has" }], list(mpi.lines), { sort: 2, name: "lines that call MPI" }),
    ranges.length > 0 && [el("h2", {}, "Ranges on the ranks"), table([
      { title: "Range", kind: "name", value: (r) => plain(list(profile.ranges)[r.range]?.name ?? ""), show: (r) => code(list(profile.ranges)[r.range]?.name ?? "", 200) }, { title: "Ranks", number: true, key: "ranks", format: count, hint: "that had it" }, { title: "Instances", number: true, key: "n", format: count },
      { title: "Mean outside of MPI", number: true, key: "mean_s", format: seconds, hint: "over all ranks" }, { title: "Longest", number: true, key: "most_s", format: seconds }, { title: "In rank", number: true, key: "most_rank", format: (v) => String(v) }, { title: "Longest less mean", number: true, value: (r) => r.most_s - r.mean_s, format: seconds, hint: "what equal work would save at most" },
      { title: "Imbalance", number: true, key: "imbalance", format: percent, hint: "longest over mean, less 1: 0 where all ranks took as long" }, { title: "Mean in MPI", number: true, key: "in_mpi_s", format: seconds }], ranges, { sort: 6, name: "ranges on the ranks" })],
    matrix && [el("h2", {}, "Messages"), matrix],
    mpi.unmatched > 0 && el("p", { class: "note" }, `${mpi.unmatched === 1 ? "1 receive has" : `${count(mpi.unmatched)} receives have`} no known send: a receive of any rank, or of a send that was not recorded. The time counts as transfer.`),
    mpi.clock && el("p", { class: "note" }, `Clock of the ranks: ${mpi.clock}.`),
  ].flat().filter(Boolean);
}
