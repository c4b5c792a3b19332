"""json: each line of a log is parsed, one key of it is used."""

import json

from truth import phase


def parse(lines):
    with phase("parse"):
        return [json.loads(line) for line in lines]  # truth: parse


def count(events):
    with phase("count"):
        counts = {}
        for event in events:  # truth: count
            counts[event["kind"]] = counts.get(event["kind"], 0) + 1  # truth: count
        return counts


with phase("write"):
    event = {"kind": "view", "angles": [k / 7 for k in range(60)], "note": "exposure " * 20}
    lines = [json.dumps({**event, "kind": f"k{k % 9}"}) for k in range(6000)]  # truth: write
for _ in range(14):
    counts = count(parse(lines))
print(counts)
