"""Other projects' loaders under the recorder: the first cause, the call tree of the section, where its time goes, and what recording costs in pairs.

    python3 tests/capture/systems/run.py --program build/tomoprof --python VENV/bin/python --folder DIR [--pairs 5] [--minutes 15] [--json FILE] [--docs FILE] [NAME...]

VENV holds radiobject, nibabel, moto[server], aicspylibczi and pylibCZIrw; rows whose packages are absent are skipped with the reason. Files are made in DIR
where they are not there. One recording is analysed; then each pair is a bare and a recorded run in turn. A row whose share of the minutes is over has fewer
pairs, at least one, and its cell says how many. Exit 1: a program failed, the bytes that were seen differ from the kernel's by more than 2 %, or the cause
is not the one that is known. `--docs` puts the table between that file's systems marks."""

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
PLAIN = r"libpython|/python3|libc\.so|libpthread|ld-linux|libtomoprof|\[vdso|\[jit"  # modules that stand for their callers
RADIO = ["radiobject", "nibabel"]
CZI = ["aicspylibczi", "pylibCZIrw"]
S3 = RADIO + ["moto", "boto3"]


class Row:
    """Packages, words after the script, the function whose tree is shown; causes of which one must be named, how often the bytes are
    read at least, and whether a lock must be the first cause, or none. Each is known from the program's source."""

    def __init__(self, packages, words, function, causes=(), times=0, lock=False):
        self.packages, self.words, self.function, self.causes, self.times, self.lock = packages, words.split(), function, causes, times, lock


def loader(times_read, *packages, **known):
    return lambda name: Row(packages, f"loaders.py {{loaders:{name}}} {name} {times_read}", f"{name}_load", **known)


ROWS = {
    "RadiObject: ingest": Row(RADIO, "sections.py {radio} ingest", "ingest"),
    "RadiObject: full read": Row(RADIO, "sections.py {radio} full_read", "full_read", times=5),
    "RadiObject: axial slice": Row(RADIO, "sections.py {radio} axial_slice", "axial_slice", times=20),
    "RadiObject: box, axial tiles": Row(RADIO, "sections.py {radio} roi", "roi", ("io.reread",), times=50),
    "RadiObject: box, isotropic tiles": Row(RADIO, "sections.py {radio} roi isotropic", "roi", times=50),
    "RadiObject over S3: full read": Row(S3, "sections.py {radio} full_read axial {s3}", "full_read", ("io.requests", "io.network")),
    "RadiObject over S3: axial slice": Row(S3, "sections.py {radio} axial_slice axial {s3}", "axial_slice", ("io.requests", "io.network")),
    "RadiObject over S3: box": Row(S3, "sections.py {radio} roi axial {s3}", "roi", ("io.requests", "io.network")),
    "CZI, 1 thread": Row(CZI, "tiles.py {czi} threads 1", "read", ("io.decode", "io.reread"), times=5),
    "CZI, 4 threads": Row(CZI, "tiles.py {czi} threads 4", "read", ("io.decode", "io.reread"), times=5),
    "CZI, 8 threads": Row(CZI, "tiles.py {czi} threads 8", "read", ("io.decode", "io.reread"), times=5),
    "CZI, 4 processes": Row(CZI, "tiles.py {czi} processes 4", "read", ("io.decode", "io.reread"), times=1.5),
    "zlib, 4 threads, GIL held": Row([], "decoder.py PyDLL 4", "decode", ("lock.gil_native",), lock=True),
    "zlib, 4 threads, GIL released": Row([], "decoder.py CDLL 4", "decode", ("io.decode",)),
    "nibabel, 20 slices of .nii.gz": Row(["nibabel"], "slices.py {radio}/nii/s0.nii.gz", "slices", ("io.reread",), times=8),
} | {f"{title}": make(name) for title, name, make in (
    ("Zarr 3, shards, asynchronous", "zarr", loader(2, "zarr", causes=("io.reread",), times=20)),
    ("TensorStore, the same shards", "tensorstore", loader(8, "zarr", "tensorstore", causes=("io.reread",), times=10)),
    ("pydicom, series", "dicom", loader(2, "pydicom", times=1.9)),
    ("Pillow, TIFF stack", "pillow", loader(6, "PIL")),
    ("imageio, PNG files", "imageio", loader(6, "imageio", causes=("io.reread",), times=5)),
    ("h5py, virtual dataset, 4 threads", "virtual", loader(6, "h5py", causes=("lock.contention",), times=10)),
    ("zipfile of PNG", "zipped", loader(6, "PIL", causes=("io.reread",), times=5)),
    ("np.memmap, rows at random", "mapped", loader(3)),
    ("torch DataLoader, 2 workers", "torch", loader(1, "torch")),
)}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names of rows")
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=15, help="for all rows, making files included: rows that begin late have fewer pairs")
    parser.add_argument("--latency", type=float, default=0.05, help="seconds that each answer of the object store waits")
    parser.add_argument("--json", type=pathlib.Path, help="results; rows that it has and that are not asked for stay")
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
        return [re.sub(r"\{(\w+)(:\w+)?\}", lambda found: self.place(found[1], *filter(None, [found[2]])), word) for word in given]

    def place(self, *name):
        if name not in self.made:
            self.made[name] = str(getattr(self, name[0])(*name[1:]))
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

    def loaders(self, name):
        root, name = self.o.folder / "loaders", name[1:].replace("tensorstore", "zarr")
        if not (root / name).exists():
            self.script("loaders.py", root, name, 0)
        return root

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
            above = above["below"].setdefault(name, {"name": name, "cpu": 0.0, "wait": 0.0, "below": {}})
        elif module and not re.search(PLAIN, module):
            short = re.sub(r"(-[0-9a-f]{8})?(\.cpython[^/]*)?\.so[.\d]*$", "", module.rpartition("/")[2])
            if above["name"] != f"[{short}]":
                above = above["below"].setdefault(short, {"name": f"[{short}]", "cpu": 0.0, "wait": 0.0, "below": {}})
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
        name, rest = node["name"], list(node["below"].values())
        while len(rest) == 1 and rest[0]["cpu"] + rest[0]["wait"] > 0.97 * (node["cpu"] + node["wait"]):  # a chain is one line
            node, rest = rest[0], list(rest[0]["below"].values())
            name += f" > {node['name']}"
        chain = name.split(" > ")
        name = " > ".join([*chain[:2], "...", *chain[-2:]] if len(chain) > 5 else chain)
        lines.append(f"{'  ' * depth}{name}  {node['cpu']:.2f} + {node['wait']:.2f} s")
        for below in sorted(rest, key=lambda n: -n["cpu"] - n["wait"]):
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
    parts = ("storage", "ready", "network", "copy", "decode", "convert", "place", "other")
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


def one(o, places, name, until):
    """What one row found; its pairs end before `until`, but for the first."""
    row = ROWS[name]
    missing = absent(o.python, list(row.packages))
    if missing:
        return {"skipped": f"not installed: {', '.join(missing)}"}
    words = places.words(row.words)
    bare = [o.python, HERE / words[0], *words[1:]]
    out = o.folder / "runs"
    record = [o.program, "record", "--out", out]
    shutil.rmtree(out, ignore_errors=True)
    said = measured([*record, "--", *bare])["said"]
    found = facts(out / "latest", row.function)
    pairs, longest = [], 0.0
    for i in range(o.pairs):
        if pairs and time.monotonic() + longest > until:
            break
        begin = time.monotonic()
        shutil.rmtree(out, ignore_errors=True)
        both = {k: measured(w) for k, w in (("bare", bare), ("recorded", [*record, "--no-analysis", "--", *bare]))[:: 1 if i % 2 else -1]}
        pairs.append({k: {q: v for q, v in run.items() if q != "said"} for k, run in both.items()})
        longest = max(longest, time.monotonic() - begin)
    shutil.rmtree(out, ignore_errors=True)
    found["own_clock_s"] = float(re.search(r"^\d+\.\d+$", said, re.M)[0])
    ratios = sorted(p["recorded"]["cpu_s"] / p["bare"]["cpu_s"] for p in pairs)
    found |= {"pairs": pairs, "load": os.getloadavg()[0], "cpu_ratio": statistics.median(ratios) if ratios else None, "wrong": []}
    if ratios:
        found["cpu_ratio_range"] = [ratios[0], ratios[-1]]
        found["cpu_ratio_least"] = min(p["recorded"]["cpu_s"] for p in pairs) / min(p["bare"]["cpu_s"] for p in pairs)
    if abs(found["seen_mb"] - found["kernel_mb"]) > SAME * found["kernel_mb"]:
        found["wrong"].append(f"{found['seen_mb']:.2f} MiB were seen, the kernel counted {found['kernel_mb']:.2f}")
    rules = [c["rule"].split(" ")[0] for c in found["causes"]]
    if row.causes and not set(row.causes) & set(rules):
        found["wrong"].append(f"none of {row.causes} is among the causes {rules}")
    if not (found["reread"] or 0) >= row.times:
        found["wrong"].append(f"bytes were read {found['reread']} times, not {row.times} or more")
    if row.lock != bool(rules and rules[0].startswith("lock.")) and "h5py" not in row.packages:
        found["wrong"].append(f"the first cause is {rules[:1]}")
    return found


def row(name, f):
    if "skipped" in f:
        return f"| {name} | skipped: {f['skipped']} | | | | |"
    first = f["causes"][0] if f["causes"] else None
    cause = f"`{first['rule'].split(' ')[0]}`, {first['gain_low_s']:.2g} to {first['gain_high_s']:.2g} s" if first else "none"
    more = [f"read {f['reread']:.1f} times"] if f["reread"] and f["reread"] > 1.5 else []
    if f["store"] and any(c["rule"].startswith(("io.requests", "io.network")) for c in f["causes"]):
        more.append(f"{f['store']['requests']} requests, {f['store']['first_byte_ms']:.0f} ms to the first byte, {f['store']['in_flight']:.1f} in flight")
    names = {"storage": "waits for storage", "ready": "reads without a CPU", "network": "waits at sockets", "copy": "copies from the page cache", "decode": "/".join(f["codecs"]) + " decodes",
             "convert": "types", "place": "copies in memory", "other": "other code of lines that read"}
    where = [f"{names[k]} {s:.2f}" for k, s in sorted(f["where_s"].items(), key=lambda p: -p[1]) if s > 0.01 * f["wall_s"]]
    where += [f"imports {f['imports_s']:.2f}"] if f["imports_s"] > 0 else []
    cost = "not measured"
    if f["pairs"]:
        low, high = f["cpu_ratio_range"]
        spread = f" ({low:.2f} to {high:.2f}, {len(f['pairs'])} pairs)" if len(f["pairs"]) > 1 else " (1 pair)"
        cost = f"{f['cpu_ratio_least']:.2f}; {f['cpu_ratio']:.2f}{spread}"
    return (f"| {name} | {f['wall_s']:.2f}, {f['own_clock_s']:.2f}, {f['cpu_s']:.2f} | {f['seen_mb']:.2f}, {f['kernel_mb']:.2f} | {'; '.join([cause, *more])} | "
            f"{', '.join(where)} | {cost} |")


HEAD = ["| program | s: run, section by its own clock, CPU | read, MiB: seen, by the kernel | first cause and what it may save | where its time goes, s, threads added | CPU time, recorded over bare: least over least; median of pairs (range) |",
        "|---|---|---|---|---|---|"]


def document(path, found):
    text = "\n".join([*HEAD, *(row(name, f) for name, f in found.items())])
    path.write_text(re.sub(r"(<!-- systems -->\n).*?(\n<!-- systems end -->)", lambda m: m[1] + text + m[2], path.read_text(), flags=re.S))


def main():
    o = options()
    o.folder, o.program = o.folder.resolve(), o.program.resolve()
    o.folder.mkdir(parents=True, exist_ok=True)
    kept = json.loads(o.json.read_text()) if o.json and o.json.exists() else {}
    places, found, merged = Places(o), {}, kept
    try:
        wanted = [name for name in ROWS if not o.names or any(part in name for part in o.names)]
        end = time.monotonic() + 60 * o.minutes
        for name in ROWS:
            if name in wanted:
                now = time.monotonic()
                found[name] = one(o, places, name, now + (end - now) / (len(wanted) - len(found)))
                print(row(name, found[name]), *found[name].get("tree", []), *found[name].get("wrong", []), sep="\n", flush=True)
                merged = {n: found.get(n, kept.get(n)) for n in ROWS if n in found or n in kept}
                if o.json:
                    o.json.write_text(json.dumps(merged, indent=1) + "\n")
    finally:
        places.close()
    if o.docs:
        document(o.docs, merged)
    wrong = [name for name, f in found.items() if f.get("wrong")]
    print(f"{len(found)} rows, {sum('skipped' in f for f in found.values())} skipped, {len(wrong)} wrong")
    return 1 if wrong else 0 if any("skipped" not in f for f in found.values()) else 77


if __name__ == "__main__":
    sys.exit(main())
