"""The thresholds of group storage over the times of a run; exit 1 where one is missed or was not measured.
Usage: tomoprof run --ops 'storage_*' --sizes 256 --no-trace;  storage_gate.py tomoprof-runs/latest/timing.json"""
import json
import sys

SLICE, REGION = "storage_read_slice_axial_", "storage_read_roi_64_"


def judge(median):
    """[(what, value, passed)]; value and passed are None where a time is missing. median: seconds by operation."""
    def ratio(slow, fast):
        return median[slow] / median[fast] if slow in median and median.get(fast) else None
    rows = [("C1 slice of a store of slices, ms, at most 5", median.get(SLICE + "sliced", 0) * 1e3 or None, lambda v: v <= 5),
            ("C1 64^3 of a store of blocks, ms, at most 5", median.get(REGION + "blocks", 0) * 1e3 or None, lambda v: v <= 5),
            ("C2 slice: blocks over slices, at least 5", ratio(SLICE + "blocks", SLICE + "sliced"), lambda v: v >= 5),
            ("C2 64^3: slices over blocks, at least 5", ratio(REGION + "sliced", REGION + "blocks"), lambda v: v >= 5)]
    return [(what, value, None if value is None else good(value)) for what, value, good in rows]


def main(path):
    statistics = json.loads(open(path).read())["statistics"]
    sizes = sorted({s["volume_size"] for s in statistics})
    missed = 0
    for size in sizes:
        median = {s["operation"]: s["median"] for s in statistics if s["volume_size"] == size and s["median"]}
        for what, value, passed in judge(median):
            missed += not passed
            print(f"{size:5} {'not measured' if value is None else f'{value:12.2f}'} {'ok' if passed else 'MISSED'}  {what}")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main(sys.argv[1])
