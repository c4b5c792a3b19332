"""`load` on files whose truth is known: sizes, chunks, phases, the table of a sweep, and what is kept after a stop."""

import html.parser
import json
import pathlib
import signal
import struct
import subprocess
import sys
import time

import jsonschema
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, TOMOPROF, have, main, tomoprof

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[3] / "host/load/loading.schema.json").read_text())
STEPS = ("fetch", "decode", "convert", "place")


class Page(html.parser.HTMLParser):
    """Counts rows; what is not closed, of elements that must be; scripts and addresses."""

    def __init__(self):
        super().__init__()
        self.rows, self.open, self.foreign = 0, [], []

    def handle_starttag(self, tag, attributes):
        self.rows += tag == "tr"
        self.foreign += [tag] if tag in ("script", "img", "link", "iframe") or any(n in ("src", "href") or n.startswith("on") for n, _ in attributes) else []
        self.open += [tag] if tag in ("html", "main", "title", "table", "ul", "h1", "h2", "h3", "div", "style", "code", "strong") else []

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.foreign.append("/" + tag)


def loaded(check, folder, *args):
    done = tomoprof("load", *args, "--json", "--out", folder / "out")
    check.that(done.returncode == 0, f"load {args}: exit {done.returncode}: {done.stderr}")
    said = json.loads(done.stdout)
    jsonschema.validate(said, SCHEMA)
    written = pathlib.Path(done.stderr.strip().splitlines()[-1])
    check.that(json.loads(written.read_text()) == said, "loading.json differs from what --json prints")
    page = Page()
    page.feed((written.parent / "loading.html").read_text())
    check.that(page.rows >= len(said["phases"]) + len(said["sweep"]) and page.open == [] and not page.foreign, f"page: {page.open} {page.foreign}")
    check.that((written.parent / "rootcause.md").read_text().startswith("# Root causes"), "rootcause.md")
    return said


def profile(check, folder):
    np.save(folder / "x.npy", np.arange(40 * 256 * 512, dtype=np.uint16).reshape(40, 256, 512))
    said = loaded(check, folder, folder / "x.npy", "--threads", 2)
    check.that(said["file"]["shape"] == [40, 256, 512] and said["file"]["dtype"] == "uint16", f"{said['file']}")
    check.that(said["file"]["chunks"] == said["chunks_read"] == 10 and said["file"]["chunk"] == [4, 256, 512], f"{said['file']}")
    check.that(sum(said["chunks"]["decoded"]) == sum(said["chunks"]["stored"]) == 40 * 256 * 512 * 2, "bytes of chunks")
    check.that(said["file"]["codec"] == "none" and sum(said["chunks"]["convert_ns"]) < sum(said["chunks"]["fetch_ns"]), "raw data are only fetched")
    check.that(sum(said["spread"]["histogram"]) == said["spread"]["n"] == 10, f"{said['spread']}")
    check.that(not said["interrupted"] and said["amplification"] == 1 and said["sweep"] == [], "nothing was swept")
    summed, work = (sum(said["phases"][k][of] for k in STEPS) for of in ("wall_s", "worker_s"))
    waited = said["cpu_wait_s"] or 0
    check.that(abs(summed - said["read_s"] * work / (work + waited)) < 1e-9, f"steps have {summed} of {said['read_s']} s, {waited} s without a CPU")
    told = sum(x or 0 for x in said["chunks"]["cpu_wait_ns"]) * 1e-9
    check.that(abs(told - waited) < 1e-9 and (said["phases"]["cpu_wait"]["worker_s"] or 0) >= waited, f"chunks waited {told}, {said['phases']['cpu_wait']}")
    check.that(said["page_faults"] >= 40 * 256 * 512 * 2 // (2 << 20), f"{said['page_faults']} page faults")
    full, parts = said["estimate_full_s"], sum(p["wall_s"] or 0 for p in said["phases"].values())
    check.that(full["low"] == full["mid"] == full["high"], f"all was read: {full}")
    check.that(abs(full["mid"] + said["phases"]["finish"]["wall_s"] - parts) < 1e-9, f"the whole is not the sum of its phases: {full}, {parts}")
    for k in STEPS:
        check.that(abs(said["phases"][k]["worker_s"] - sum(said["chunks"][k + "_ns"]) * 1e-9) < 1e-9, f"{k} is the sum of its chunks")
    few = loaded(check, folder, folder / "x.npy", "--tiles", 5, "--float32", "--cache", "warm")
    estimate = few["estimate_full_s"]
    check.that(few["chunks_read"] == 5 and set(few["chunks"]["chunk"]) < set(range(10)), f"{few['chunks']['chunk']}")
    check.that(estimate["low"] <= estimate["mid"] <= estimate["high"] and estimate["mid"] > few["phases"]["allocate"]["wall_s"], f"{estimate}")
    table = tomoprof("load", folder / "x.npy", "--tiles", 5, "--out", folder / "out").stdout
    check.that("\ncpu_wait " in table and "s, estimated (95 %: " in table, table)
    check.that(few["phases"]["convert"]["worker_s"] > 0 and few["file"]["cached_share"] == 1, "converted, from the cache")


def mosaic(path, offset):
    """A CZI of 64 tiles of noise, 32 x 32, side by side; every second one is brighter by `offset`. So many, that what 8 threads hold is less than the array."""
    def segment(name, data):
        return struct.pack("<16s2q", name, -(-len(data) // 32) * 32, len(data)) + data.ljust(-(-len(data) // 32) * 32, b"\0")

    random, entries, blocks, place = np.random.default_rng(5), [], [], 544
    for number in range(64):
        x, y = 32 * (number % 8), 32 * (number // 8)
        tile = (1000 + offset * ((x + y) // 32 % 2) + random.integers(0, 64, (32, 32))).astype("<u2").tobytes()
        dims = ((b"X", x, 32), (b"Y", y, 32), (b"C", 0, 1), (b"M", number, 1))
        entries.append(struct.pack("<2siqii6xi", b"DV", 1, place, 0, 0, 4) + b"".join(struct.pack("<4siifi", n, at, size, 0, size) for n, at, size in dims))
        blocks.append(segment(b"ZISRAWSUBBLOCK", (struct.pack("<2iq", 0, 0, len(tile)) + entries[-1]).ljust(256, b"\0") + tile))
        place += len(blocks[-1])
    head = struct.pack("<2i8x32xi2qiq", 1, 0, 0, place, 0, 0, 0).ljust(512, b"\0")
    path.write_bytes(segment(b"ZISRAWFILE", head) + b"".join(blocks) + segment(b"ZISRAWDIRECTORY", struct.pack("<i124x", 64) + b"".join(entries)))


def seams(check, folder):
    """Tiles of other brightness show at their borders, tiles of noise alone do not; what a change must keep names both, and the memory."""
    for offset, low, high, mark in ((0, 0.8, 1.25, "[x] seams"), (500, 5, 100, "[ ] seams (does not hold)")):
        mosaic(folder / "m.czi", offset)
        said = loaded(check, folder, folder / "m.czi", "--sweep", "quick", "--budget", 20)
        text = max((folder / "out").glob("*/rootcause.md"), key=lambda p: p.stat().st_mtime_ns).read_text()
        check.that(low < said["file"]["seams"] < high and mark in text and "[x] memory: " in text, f"offset {offset}: {said['file']['seams']} {text[-900:]}")
    few = loaded(check, folder, folder / "m.czi", "--tiles", 8)
    check.that(few["file"]["seams"] is None, f"not all was read: {few['file']['seams']}")


def every_format(check, folder):
    complete = have("chunk_codecs")
    for name, format_, chunks in (("nifti/i2_bgzf.nii.gz", "NIfTI volume", 1), ("tiff/u2_deflate_tiles.tif", "TIFF", 30), ("tiff/stack", "TIFF stack", 5),
                                  ("zarr/zarr2", "Zarr 2", 8), ("zarr/ome.zarr", "OME-Zarr", 20), ("czi/raw.czi", "CZI", 4), ("txrm/u2.txrm", "Zeiss TXRM", 5)):
        said = loaded(check, folder, DATA / "store" / name, "--batch", 3)
        check.that(said["file"]["format"] == format_ and said["chunks_read"] == chunks, f"{name}: {said['file']}, {said['chunks_read']} chunks")
        told = json.loads(tomoprof("info", "--json", DATA / "store" / name).stdout)
        if "arrays" in told:
            first = next(iter(told["arrays"].values()))
            check.that(told["format"] == format_ and first["shape"] == said["file"]["shape"] and (told["unreadable"] == {} or not complete), f"info: {told}")
        check.that(("arrays" in told) == (".nii" not in name), f"info {name}: {told}")
        layout = "2 x 2 tiles" if name == "czi/raw.czi" else "a regular grid"
        check.that(said["file"]["layout"].startswith(layout), f"{name}: {said['file']['layout']}")
        check.that((said["file"]["seams"] is not None) == (name == "czi/raw.czi"), f"{name}: seams {said['file']['seams']}")
        check.that(said["memory_bytes"] > 1 << 28 and said["cpu"] != "" and "throughput" in {r["name"] for r in said["ratings"]}, f"{said['ratings']}")
        packed = said["file"]["codec"] != "none"
        check.that(not packed or said["phases"]["decode"]["worker_s"] > 0, f"{name}: {said['phases']}")


def info_of_hdf5(check, folder):
    done = tomoprof("info", "--json", DATA / "store/hdf5/kinds.h5")
    if "no HDF5" in done.stderr:
        return
    told = json.loads(done.stdout)
    check.that({"contiguous", "gzip", "lzf", "big", "holes", "f8"} <= set(told["arrays"]) and "text" not in told["arrays"], f"{set(told['arrays'])}")
    check.that(told["arrays"]["gzip"]["codec"] == "fletcher32, zlib, shuffle" and told["arrays"]["gzip"]["chunk"] == [3, 20, 24], f"{told['arrays']['gzip']}")


def sweep(check, folder):
    np.save(folder / "x.npy", np.zeros((20, 256, 512), np.uint16))
    said = loaded(check, folder, folder / "x.npy", "--sweep", "medium", "--cache", "cold")
    rows = said["sweep"]
    good = [r for r in rows if r["status"] == "ok"]
    first = [r for r in good if r["workers"] == 1 and r["batch"] == 1 and r["order"] == "index"]
    check.that(len(rows) >= 15 and len(good) == len(rows) and all(r["runs"] == 3 for r in rows), f"{len(good)} of {len(rows)} rows")
    check.that(len(first) == 1 and first[0]["speedup"] == 1, f"the sequential way: {first}")
    check.that([r["seconds"] for r in good] == sorted(r["seconds"] for r in good), "the fastest is first")
    for r in good:
        check.that(abs(r["speedup"] * r["seconds"] / first[0]["seconds"] - 1) < 1e-9, f"speed-up against sequential: {r}")
        check.that(abs(r["mbytes_per_s"] * r["seconds"] - 20 * 256 * 512 * 2e-6) < 1e-6, f"MB/s: {r}")
        check.that(r["peak_bytes"] >= 20 * 256 * 512 * 2 and r["seconds_min"] <= r["seconds"] <= r["seconds_max"], f"{r}")
    check.that({"pread", "mmap"} <= {r["backend"] for r in good} and any(r["processes"] for r in good), "ways and processes")
    gains = (said["recommended_speedup"] or 0) >= 1.05
    check.that((said["recommended"] is not None, said["recommended_reason"] is None) == (gains, gains), f"{said['recommended']} of {said['recommended_speedup']}")
    check.that(not gains or said["recommended"] in {f"--fetch {r['backend']} --{'processes' if r['processes'] else 'threads'} {r['workers']} --batch {r['batch']} "
                                       f"--order {r['order']}" + (f" --gap {r['gap']}" if r["gap"] else "") for r in good}, f"recommended: {said['recommended']}")
    table = tomoprof("load", folder / "x.npy", "--sweep", "quick", "--explain", "--out", folder / "out").stdout
    check.that("speed-up" in table and "Recommended: " in table and "cached chunks" in table, table)


def names_are_not_markup(check, folder):
    store = folder / "g.zarr"
    (store / "<b>x").mkdir(parents=True)
    (store / ".zgroup").write_text('{"zarr_format": 2}')
    (store / "<b>x/.zarray").write_text(json.dumps({"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<u2", "compressor": None, "fill_value": 7,
                                                     "filters": None, "order": "C"}))
    (store / "<b>x/0").write_bytes(b"\0" * 8)
    said = loaded(check, folder, store)
    page = next((folder / "out").glob("*/loading.html")).read_text()
    check.that(said["file"]["array"] == "<b>x" and "&lt;b&gt;x" in page and "<b>" not in page, f"{said['file']['array']}: {page[:900]}")


def boxes(check, folder):
    """A store of blocks that is read by columns: each block comes four times, or once where decoded blocks are kept."""
    np.save(folder / "x.npy", np.arange(32 * 64 * 64, dtype=np.uint16).reshape(32, 64, 64))
    done = tomoprof("convert", folder / "x.npy", folder / "x.zarr", "--chunk", "32,32,32", "--codec", "gzip:1")
    check.that(done.returncode == 0, done.stderr)
    plain = loaded(check, folder, folder / "x.zarr", "--boxes", "32,16,16", "--threads", 1)
    check.that(plain["boxes"] == 16 and plain["box"] == [32, 16, 16] and plain["amplification"] == 4 and plain["requests"] == 16, f"{plain['boxes']} boxes")
    check.that(plain["kept"]["bytes_most"] is None and plain["chunks_read"] == 16, f"{plain['kept']}")
    kept = loaded(check, folder, folder / "x.zarr", "--boxes", "32,16,16", "--threads", 2, "--keep", 1)
    block = 32 * 32 * 32 * 2
    check.that(kept["kept"] == {"bytes_most": 1 << 20, "bytes_peak": 4 * block, "hits": 12, "misses": 4, "hit_share": 0.75, "bytes_saved": 12 * block,
                                "dropped": 0}, f"{kept['kept']}")
    check.that(kept["amplification"] == 1 and kept["requests"] == 4, f"{kept['amplification']} with {kept['requests']} requests")
    table = tomoprof("load", folder / "x.zarr", "--boxes", "32,16,16", "--keep", 1, "--out", folder / "out").stdout
    check.that("16 boxes of 32 x 16 x 16" in table and "kept chunks: 12 hits, 4 misses" in table, table)
    joined = [loaded(check, folder, folder / "x.npy", "--boxes", "32,16,64", "--threads", 1, "--gap", gap, "--largest", largest)["requests"]
              for gap, largest in ((-1, 0), (1 << 20, 0), (1 << 20, 40000))]
    check.that(joined[0] == 4 * 32 and joined[1] == 4 and 4 < joined[2] < 4 * 32, f"requests: {joined}")


def stops(check, folder):
    np.save(folder / "x.npy", np.zeros((50, 512, 512), np.uint16))
    said = loaded(check, folder, folder / "x.npy", "--sweep", "full", "--budget", 0.1)
    check.that(said["interrupted"] and any(r["status"] == "skipped" and r["reason"] == "the budget ended" for r in said["sweep"]), "the budget ends it")
    job = subprocess.Popen([TOMOPROF, "load", folder / "x.npy", "--sweep", "full", "--out", folder / "stopped"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
    while " ways x " not in job.stderr.readline():
        time.sleep(0.01)
    job.send_signal(signal.SIGINT)
    out, _ = job.communicate(timeout=300)
    kept = list((folder / "stopped").glob("2*/loading.json"))
    check.that(job.returncode == 130 and len(kept) == 1 and "skipped: interrupted" in out, f"exit {job.returncode}, {kept}")
    check.that(json.loads(kept[0].read_text())["interrupted"], "what there is says so")


def refused(check, folder):
    (folder / "text").write_text("hello")
    for words, args in (("has no array nope; it has data", (DATA / "store/npy/f4.npy", "--array", "nope")), ("of no known format", (folder / "text",)),
                        ("must be one of pread, mmap, direct, uring", (DATA / "store/npy/f4.npy", "--fetch", "tape")),
                        ("--boxes 3,x: give sizes", (DATA / "store/npy/f4.npy", "--boxes", "3,x")), ("has 3 dimensions", (DATA / "store/npy/f4.npy", "--boxes", 3)),
                        ("leave --tiles out", (DATA / "store/npy/f4.npy", "--boxes", "1,1,9", "--tiles", 2)),
                        ("without --boxes", (DATA / "store/npy/f4.npy", "--keep", 2)), ("give one of them", (DATA / "store/npy/f4.npy", "--threads", 2, "--processes", 2))):
        done = tomoprof("load", *args, "--out", folder / "out")
        check.that(done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, f"{args}: {done.returncode} {done.stderr}")


if __name__ == "__main__":
    main(profile, seams, every_format, info_of_hdf5, sweep, names_are_not_markup, boxes, stops, refused)
