// Ranks: what each rank of an MPI program did with its time, for whom it waited, and who sent how much to whom.

// Bytes from rank (row) to rank (column), darker is more.
function rankMatrix(mpi) {
  const n = mpi.size, most = Math.max(...list(mpi.pairs).map((p) => p.mb), 1e-9);
  if (n > 64 || !list(mpi.pairs).length) return null;
  const by = new Map(list(mpi.pairs).map((p) => [`${p.from} ${p.to}`, p]));
  const ranks = [...Array(n).keys()];
  const square = (from, to) => {
    const p = by.get(`${from} ${to}`), share = p ? Math.round(15 + 75 * (p.mb / most)) : 0;
    return el("td", { class: "square", title: p ? `${from} to ${to}: ${megabytes(p.mb)} in ${count(p.messages)} messages` : null,
      css: p ? { background: `color-mix(in srgb, var(--cpu) ${share}%, transparent)` } : null }, p ? megabytes(p.mb) : "");
  };
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "bytes between ranks" }, el("table", { class: "matrix" }, el("caption", {}, "Sent from rank (row) to rank (column), without collective calls"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "from \\ to"), ranks.map((r) => el("th", { scope: "col" }, String(r))))),
    el("tbody", {}, ranks.map((r) => el("tr", {}, el("th", { scope: "row" }, String(r)), ranks.map((c) => square(r, c)))))));
}

function ranksPanel(profile) {
  const mpi = profile.mpi, processes = list(profile.processes), matrix = rankMatrix(mpi);
  const place = (l) => (l.file ? lineLink(l.file, l.line) : code(l.function ?? "too short for a line"));
  const name = (l) => (l.file ? `${shortPath(l.file)}:${l.line}` : l.function ?? "too short for a line");
  return [
    known(mpi.parallel_efficiency) && el("p", {}, `Parallel efficiency ${number(mpi.parallel_efficiency)}: load balance ${number(mpi.load_balance)} (mean over largest time outside of MPI) times communication efficiency ${number(mpi.communication_efficiency)} (largest time outside of MPI over the wall time). Above 0.8 is good.`),
    el("h2", {}, "Ranks"), table([
      { title: "Rank", number: true, key: "rank", format: (v) => String(v) }, ...(processes.length ? [{ title: "Process", kind: "name", value: (r) => processName(processes[r.process]) }] : []),
      { title: "Wall", number: true, key: "wall_s", format: seconds, hint: "from the end of MPI_Init to MPI_Finalize" }, { title: "Outside of MPI", number: true, key: "compute_s", format: seconds },
      { title: "Waited for a late rank", number: true, key: "late_s", format: seconds }, { title: "Transfers", number: true, key: "transfer_s", format: seconds, hint: "the rest in MPI" },
      { title: "Made others wait", number: true, key: "delayed_s", format: seconds, hint: "waits of other ranks for this one, added" }, { title: "Calls", number: true, key: "calls", format: count }, { title: "Given to MPI", number: true, key: "given_mb", format: megabytes },
      { title: "End", kind: "name", value: (r) => (r.whole ? "MPI_Finalize" : "before MPI_Finalize") }], list(mpi.ranks), { sort: 0, up: true, name: "ranks" }),
    el("h2", {}, "Lines that call MPI"), table([
      { title: "Line", kind: "name", value: name, show: place }, { title: "Call", kind: "name", key: "call" }, { title: "In MPI", number: true, key: "spent_s", format: seconds, hint: "ranks added" },
      { title: "Waited for a late rank", number: true, key: "late_s", format: seconds }, { title: "Late most", value: (l) => (known(l.late_rank) ? `rank ${l.late_rank}, ${percent(l.late_rank_s / l.late_s)}` : "") },
      { title: "Ranks", number: true, key: "ranks", format: count }, { title: "Calls", number: true, key: "calls", format: count }, { title: "Given to MPI", number: true, key: "given_mb", format: megabytes }], list(mpi.lines), { sort: 2, name: "lines that call MPI" }),
    matrix && [el("h2", {}, "Messages"), matrix],
    mpi.unmatched > 0 && el("p", { class: "note" }, `${count(mpi.unmatched)} receives have no known send: they take a message of any rank, or it was not recorded. Their time counts as transfer.`),
  ].flat().filter(Boolean);
}
