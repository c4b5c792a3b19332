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
    main(rows, gate)
