"""Group storage of the suite: stores that it makes, rows that are checked, nothing left behind; and the gate over its times."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import main, newest, tomoprof

GATE = pathlib.Path(__file__).resolve().parents[2] / "peers/storage_gate.py"


def rows(check, folder):
    temporary = folder / "tmp"
    temporary.mkdir()
    ops = ["storage_ingest_blocks", "storage_read_slice_axial_sliced", "storage_read_roi_64_off_blocks", "storage_read_batch_blocks"]
    done = tomoprof("run", "--ops", ",".join(ops), "--sizes", "80", "--runs", "2", "--no-trace", "--out", folder / "out",
                    env={"TMPDIR": str(temporary)})
    check.that(done.returncode == 0, done.stderr)
    data = json.loads((newest(folder / "out") / "timing.json").read_text())
    said = [(m["operation"], m["status"]) for m in data["measurements"]]
    check.that(sorted(said) == sorted((o, "ok") for o in ops for _ in range(2)), f"{said}")
    done = tomoprof("run", "--ops", "storage_read_roi_64_off_blocks", "--sizes", "64", "--runs", "1", "--no-trace", "--out", folder / "small",
                    env={"TMPDIR": str(temporary)})
    row = json.loads((newest(folder / "small") / "timing.json").read_text())["measurements"][0]
    check.that(row["status"] != "ok" and "across blocks" in (row["reason"] or ""), f"a region across blocks of a volume of one block: {row} {done.stderr}")
    check.that(list(temporary.iterdir()) == [], f"left {list(temporary.iterdir())}")
    refused = tomoprof("apply", ops[1], "--in", "x.npy", "--out", folder / "y.npy")
    check.that(refused.returncode == 2 and "stores that it makes itself" in refused.stderr, refused.stderr)


def run_of(check, folder, ops, *args, edge=128):
    """Measurements by operation, and what was printed."""
    done = tomoprof("run", "--ops", ops, "--sizes", edge, "--runs", 1, "--no-trace", "--out", folder / "out", *args)
    data = json.loads((newest(folder / "out") / "timing.json").read_text())
    return {m["operation"]: m for m in data["measurements"]}, data, done


def touched(check, folder):
    """Chunks that a region touches follow from its place: 1 or 8 blocks of 64^3, 32 or 64 slices."""
    rows, data, done = run_of(check, folder, "storage_read_*")
    check.that(done.returncode == 0 and data["settings"] is None, done.stderr)
    wanted = {"roi_32_blocks": (1, 8), "roi_64_blocks": (1, 1), "roi_128_blocks": (8, 1), "roi_64_off_blocks": (8, 8), "roi_64_sliced": (64, 4),
              "roi_64_off_sliced": (64, 4), "roi_128_sliced": (128, 1), "roi_32_sliced": (32, 16), "full_sliced": (128, 1), "full_blocks": (8, 1),
              "slice_axial_sliced": (1, 1), "slice_axial_blocks": (4, 64), "slice_coronal_sliced": (128, 128), "slice_sagittal_blocks": (4, 64)}
    for name, (chunks, times) in wanted.items():
        m = rows["storage_read_" + name]
        check.that((m["chunks_touched"], m["amplification"]) == (chunks, times), f"{name}: {m['chunks_touched']} chunks, {m['amplification']}")
        line = [x.split() for x in done.stderr.splitlines() if x.startswith(f"storage_read_{name} ")][-1]
        check.that(line[1:] == ["128", str(chunks), f"{times:.2f}"], f"{name}: {line}")
    off, aligned = (rows[f"storage_read_roi_64_{n}blocks"]["fingerprint"] for n in ("off_", ""))
    check.that(off != aligned, "the region across blocks is that at a corner")


def parameters(check, folder):
    """Batches, their size, the edge of a region and the number of stores, as document 000 names them."""
    ops = "storage_read_batch_blocks,storage_ingest_sliced"
    rows, data, done = run_of(check, folder, ops, "--set", "batches=5 batch_size=3", "--set", "patch=20", "--set", "subjects=2", edge=64)
    batch, ingest = rows["storage_read_batch_blocks"], rows["storage_ingest_sliced"]
    check.that(done.returncode == 0 and data["settings"] == "batches=5 batch_size=3 patch=20 subjects=2", f"{data['settings']} {done.stderr}")
    check.that(batch["bytes"] == 2 * 15 * 20 ** 3 * 4 and 15 == batch["chunks_touched"], f"{batch}")
    check.that(ingest["bytes"] == 2 * 2 * 64 ** 3 * 4 and "chunks_touched" not in ingest, f"{ingest}")
    rows, _, done = run_of(check, folder, "storage_read_batch_blocks", "--set", "batches=1.5", edge=64)
    check.that(done.returncode == 1 and "must be a whole number from 1 to 1000" in rows["storage_read_batch_blocks"]["reason"], f"{rows}")
    for words, args in (("no operation of this run takes it", ("--set", "subject=2")), ("KEY=VALUE is needed", ("--set", "batches")),
                        ("no operation of this run takes it; it takes subjects", ("--ops", "storage_ingest_blocks", "--set", "batches=2"))):
        done = tomoprof("run", "--ops", "storage_read_batch_blocks", *args, "--no-trace", "--out", folder / "none")
        check.that(done.returncode == 2 and words in done.stderr and not (folder / "none").exists(), f"{args}: {done.returncode} {done.stderr}")


def gate(check, folder):
    """C1 and C2 of the thresholds, from times that are given here."""
    sys.path.insert(0, str(GATE.parent))
    import storage_gate
    good = {"storage_read_slice_axial_sliced": 0.002, "storage_read_roi_64_blocks": 0.003, "storage_read_slice_axial_blocks": 0.02,
            "storage_read_roi_64_sliced": 0.05}
    check.that(all(v[2] for v in storage_gate.judge(good)) and len(storage_gate.judge(good)) == 4, f"{storage_gate.judge(good)}")
    for name, seconds, fails in (("storage_read_slice_axial_sliced", 0.006, 2), ("storage_read_roi_64_sliced", 0.01, 1)):
        verdicts = storage_gate.judge(good | {name: seconds})
        check.that(sum(not v[2] for v in verdicts) == fails, f"{name}: {verdicts}")
    check.that(any(v[2] is None for v in storage_gate.judge({})), "what was not measured passes")


if __name__ == "__main__":
    main(rows, touched, parameters, gate)
