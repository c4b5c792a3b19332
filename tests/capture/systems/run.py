"""Other projects' loaders under the recorder: the first cause, the call tree of the section, where its time goes, and what recording costs in pairs.

    python3 tests/capture/systems/run.py --program build/tomoprof --python VENV/bin/python --folder DIR [--pairs 5] [--json FILE] [--docs FILE] [NAME...]

VENV holds radiobject, nibabel, moto[server], aicspylibczi and pylibCZIrw; rows whose packages are absent are skipped with the reason. Files are made in DIR
where they are not there. Each pair is a bare and a recorded run in turn; one more recording is analysed. Exit 1: a program failed, the bytes that were seen
differ from the kernel's by more than 2 %, or the cause is not the one that is known. `--docs` puts the table between that file's systems marks."""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SAME, LEAST_SHARE, DEEPEST = 0.02, 0.08, 7
RADIO = ["radiobject", "nibabel"]
CZI = ["aicspylibczi", "pylibCZIrw"]
# Name: packages, words after the script, function whose tree is shown, causes of which one must be found (none: no cause may be worth more).
ROWS = {
    "RadiObject: ingest": (RADIO, ["sections.py", "{radio}", "ingest"], "ingest", ()),
    "RadiObject: full read": (RADIO, ["sections.py", "{radio}", "full_read"], "full_read", ("io.reread",)),
    "RadiObject: axial slice": (RADIO, ["sections.py", "{radio}", "axial_slice"], "axial_slice", ()),
    "RadiObject: box, axial tiles": (RADIO, ["sections.py", "{radio}", "roi"], "roi", ("io.reread",)),
    "RadiObject: box, isotropic tiles": (RADIO, ["sections.py", "{radio}", "roi", "isotropic"], "roi", ("io.reread",)),
    "RadiObject over S3: full read": (RADIO + ["moto", "boto3"], ["sections.py", "{radio}", "full_read", "axial", "{s3}"], "full_read", ("io.requests", "io.network")),
    "RadiObject over S3: axial slice": (RADIO + ["moto", "boto3"], ["sections.py", "{radio}", "axial_slice", "axial", "{s3}"], "axial_slice", ("io.requests", "io.network")),
    "RadiObject over S3: box": (RADIO + ["moto", "boto3"], ["sections.py", "{radio}", "roi", "axial", "{s3}"], "roi", ("io.requests", "io.network")),
    "CZI, 1 thread": (CZI, ["tiles.py", "{czi}", "threads", "1"], "read", ("io.decode", "io.reread")),
    "CZI, 4 threads": (CZI, ["tiles.py", "{czi}", "threads", "4"], "read", ("io.decode", "io.reread")),
    "CZI, 8 threads": (CZI, ["tiles.py", "{czi}", "threads", "8"], "read", ("io.decode", "io.reread")),
    "CZI, 4 processes": (CZI, ["tiles.py", "{czi}", "processes", "4"], "read", ("io.decode", "io.reread")),
    "nibabel, 20 slices of .nii.gz": (["nibabel"], ["slices.py", "{radio}/nii/s0.nii.gz"], "slices", ("io.reread",)),
}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names of rows")
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--latency", type=float, default=0.05, help="seconds that each answer of the object store waits")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--docs", type=pathlib.Path)
    return parser.parse_args()


def measured(words, **more):
    """Output, wall and CPU seconds of one run, all that it started included."""
    begin = time.monotonic()
    child = subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    said = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{words}: exit {child.returncode}: {said[-500:]}")
    return {"said": said, "wall_s": time.monotonic() - begin, "cpu_s": used.ru_utime + used.ru_stime}


def absent(python, packages):
    done = subprocess.run([python, "-c", f"import importlib.util as u; print(*[p for p in {packages} if not u.find_spec(p)])"], capture_output=True, text=True)
    return done.stdout.split() if not done.returncode else [f"{python}: {done.stderr[-200:]}"]


class Places:
    """Files and the server that rows need, made when the first row asks for them."""

    def __init__(self, o):
        self.o, self.server, self.made = o, None, {}

    def words(self, given):
        return [re.sub(r"\{(\w+)\}", lambda found: self.place(found[1]), word) for word in given]

    def place(self, name):
        if name not in self.made:
            self.made[name] = str(getattr(self, name)())
        return self.made[name]

    def script(self, *words):
        return measured([self.o.python, HERE / words[0], *words[1:]])["said"]

    def radio(self):
        folder = self.o.folder / "radio"
        if not (folder / "isotropic").exists():
            shutil.rmtree(folder, ignore_errors=True)
            self.script("sections.py", folder, "make")
        return folder

    def czi(self):
        path = self.o.folder / "tiles.czi"
        if not path.exists():
            self.script("tiles.py", path, "make")
        return path

    def s3(self):
        mark = self.o.folder / "slow"
        mark.unlink(missing_ok=True)
        self.server = subprocess.Popen([self.o.python, HERE / "server.py", str(self.o.latency), mark], stdout=subprocess.PIPE, text=True)
        endpoint = "http://127.0.0.1:" + self.server.stdout.readline().strip()
        self.script("sections.py", self.place("radio"), "upload", "axial", endpoint)
        mark.touch()
        return endpoint

    def close(self):
        if self.server:
            self.server.terminate()
            self.server.wait()


def tree(profile, function):
    """Lines of the call tree below a function of the program, threads added: Python functions, then the library that they call. Seconds on a CPU and waiting."""
    frames, stacks = profile["frames"], profile["stacks"]
    root = {"name": function, "cpu": 0.0, "wait": 0.0, "below": {}}
    at = []  # of each stack node: the node of the tree, or None outside of the function
    for i, frame in enumerate(stacks["frame"]):
        above = at[stacks["parent"][i]] if stacks["parent"][i] is not None else None
        kind, name, module = (frames[k][frame] for k in ("kind", "function", "module"))
        if above is None:
            above = root if kind == "python" and name and name.split(".")[-1] == function else None
        elif kind == "python":
            above = above["below"].setdefault(name, {"name": name, "cpu": 0.0, "wait": 0.0, "below": {}, "python": True})
        elif module and above.get("module") != module and not re.search(r"libpython|/python3|libc\.so|libpthread|ld-linux", module):
            short = re.sub(r"(-[0-9a-f]{8})?(\.cpython[^/]*)?\.so[.\d]*$", "", module.rpartition("/")[2])
            above = above["below"].setdefault(short, {"name": short, "cpu": 0.0, "wait": 0.0, "below": {}, "module": module})
        at.append(above)
        node = above
        if node is not None:
            node["cpu"] += 1e-9 * stacks["cpu_ns"][i]
            node["wait"] += 1e-9 * stacks["wait_ns"][i]

    def whole(node):
        for below in node["below"].values():
            whole(below)
            node["cpu"] += below["cpu"]
            node["wait"] += below["wait"]

    whole(root)
    total, lines = root["cpu"] + root["wait"], []

    def write(node, depth):
        lines.append(f"{'  ' * depth}{node['name']}  {node['cpu']:.2f} + {node['wait']:.2f} s")
        for below in sorted(node["below"].values(), key=lambda n: -n["cpu"] - n["wait"]):
            if below["cpu"] + below["wait"] > LEAST_SHARE * total and depth < DEEPEST:
                write(below, depth + 1)

    if total > 0:
        write(root, 0)
    return lines


def facts(folder, function):
    """What the profile says of a run."""
    profile = json.loads((folder / "profile.json").read_text())
    causes = json.loads((folder / "rootcause.json").read_text())["causes"] if (folder / "rootcause.json").exists() else []
    io = profile["io"]
    parts = ("storage", "network", "copy", "decode", "convert", "place", "other")
    where = {part: sum(r[f"{part}_s"] or 0 for r in io["reading"]) for part in parts}
    codecs = sorted({c for r in io["reading"] if r["codec"] for c in r["codec"].split(", ")})
    imports = next((a["cost_s"] for a in profile["answers"] if a["kind"] == "imports"), 0)
    reread = max((f for f in io["files"] if f["reread"]), key=lambda f: f["unique_mb"] * (f["reread"] - 1), default=None)
    store = io["endpoints"][0] if io["endpoints"] else None
    return {
        "wall_s": profile["meta"]["wall_s"], "cpu_s": profile["totals"]["cpu"]["user"] + profile["totals"]["cpu"]["sys"], "imports_s": imports,
        "causes": [{k: c[k] for k in ("rule", "evidence", "gain_low_s", "gain_high_s")} for c in causes],
        "seen_mb": io["seen_read_mb"], "kernel_mb": io["kernel_read_mb"], "where_s": where, "codecs": codecs,
        "reread": reread and reread["reread"], "locks": [k for k in profile["locks"] if k["role"] == "contention"][:1],
        "store": store and {k: store[k] for k in ("requests", "connects", "first_byte_ms", "in_flight")}, "tree": tree(profile, function),
    }


def one(o, places, name):
    packages, given, function, known = ROWS[name]
    missing = absent(o.python, packages)
    if missing:
        return {"skipped": f"not installed: {', '.join(missing)}"}
    words = places.words(given)
    bare = [o.python, HERE / words[0], *words[1:]]
    out = o.folder / "runs"
    record = [o.program, "record", "--out", out]
    pairs = []
    for i in range(o.pairs):
        shutil.rmtree(out, ignore_errors=True)
        both = {k: measured(w) for k, w in (("bare", bare), ("recorded", [*record, "--no-analysis", "--", *bare]))[:: 1 if i % 2 else -1]}
        pairs.append({k: {q: v for q, v in run.items() if q != "said"} for k, run in both.items()})
    shutil.rmtree(out, ignore_errors=True)
    measured([*record, "--", *bare])
    found = facts(out / "latest", function)
    ratios = sorted(p["recorded"]["cpu_s"] / p["bare"]["cpu_s"] for p in pairs)
    found |= {"pairs": pairs, "load": os.getloadavg()[0], "cpu_ratio": statistics.median(ratios) if ratios else None, "wrong": []}
    if ratios:
        found["cpu_ratio_range"] = [ratios[0], ratios[-1]]
        found["cpu_ratio_least"] = min(p["recorded"]["cpu_s"] for p in pairs) / min(p["bare"]["cpu_s"] for p in pairs)
    if abs(found["seen_mb"] - found["kernel_mb"]) > SAME * found["kernel_mb"]:
        found["wrong"].append(f"{found['seen_mb']:.2f} MiB were seen, the kernel counted {found['kernel_mb']:.2f}")
    rules = [c["rule"].split(" ")[0] for c in found["causes"]]
    if known and not set(known) & set(rules):
        found["wrong"].append(f"none of {known} is among the causes {rules}")
    return found


def row(name, f):
    if "skipped" in f:
        return f"| {name} | skipped: {f['skipped']} | | | | |"
    first = f["causes"][0] if f["causes"] else None
    cause = f"`{first['rule'].split(' ')[0]}`, {first['gain_low_s']:.2g} to {first['gain_high_s']:.2g} s" if first else "none"
    more = [f"read {f['reread']:.1f} times"] if f["reread"] and f["reread"] > 1.5 and any("reread" in c["rule"] for c in f["causes"]) else []
    if f["store"] and f["store"]["requests"]:
        more.append(f"{f['store']['requests']} requests, {f['store']['first_byte_ms']:.0f} ms to the first byte, {f['store']['in_flight']:.1f} in flight")
    names = {"storage": "waits for storage", "network": "waits for the network", "copy": "copies from the page cache", "decode": "/".join(f["codecs"]) + " decodes",
             "convert": "types", "place": "copies in memory", "other": "other code of lines that read"}
    where = [f"{names[k]} {s:.2f}" for k, s in sorted(f["where_s"].items(), key=lambda p: -p[1]) if s > 0.01 * f["wall_s"]]
    where += [f"imports {f['imports_s']:.2f}"] if f["imports_s"] > 0 else []
    cost = "not measured" if f["cpu_ratio"] is None else f"{f['cpu_ratio']:.2f} ({f['cpu_ratio_range'][0]:.2f} to {f['cpu_ratio_range'][1]:.2f})"
    return (f"| {name} | {f['wall_s']:.2f}, {f['cpu_s']:.2f} | {f['seen_mb']:.2f}, {f['kernel_mb']:.2f} | {'; '.join([cause, *more])} | "
            f"{', '.join(where)} | {cost} |")


HEAD = ["| program | run s, CPU s | read, MiB: seen, by the kernel | first cause and what it may save | where its time goes, s, threads added | CPU time, recorded over bare |",
        "|---|---|---|---|---|---|"]


def main():
    o = options()
    o.folder = o.folder.resolve()
    o.folder.mkdir(parents=True, exist_ok=True)
    places, found = Places(o), {}
    try:
        for name in ROWS:
            if not o.names or any(part in name for part in o.names):
                found[name] = one(o, places, name)
                print(row(name, found[name]), *found[name].get("tree", []), *found[name].get("wrong", []), sep="\n", flush=True)
    finally:
        places.close()
    if o.json:
        o.json.write_text(json.dumps(found, indent=1) + "\n")
    if o.docs:
        lines = [*HEAD, *(row(name, f) for name, f in found.items()), "", "Call trees, seconds on a CPU + seconds that threads waited:", "", "```"]
        for name, f in found.items():
            lines += [f"{name}:", *("    " + line for line in f["tree"]), ""] if f.get("tree") else []
        text = "\n".join([*lines[:-1], "```"])
        o.docs.write_text(re.sub(r"(<!-- systems -->\n).*?(\n<!-- systems end -->)", lambda m: m[1] + text + m[2], o.docs.read_text(), flags=re.S))
    wrong = [name for name, f in found.items() if f.get("wrong")]
    print(f"{len(found)} rows, {sum('skipped' in f for f in found.values())} skipped, {len(wrong)} wrong")
    return 1 if wrong else 0 if any("skipped" not in f for f in found.values()) else 77


if __name__ == "__main__":
    sys.exit(main())
