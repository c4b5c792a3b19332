"""Times loading beside the libraries that own the formats, on the same files with a warm page cache, in turn in two warm processes.

    python3 tests/peers/loading.py --program BUILD/tests/peers/peers_load --python VENV/bin/python --folder DIR [--markdown FILE]
    python3 tests/peers/loading.py --library BUILD/libtomoprof.so --python VENV/bin/python --folder DIR [--markdown FILE]
    python3 tests/peers/loading.py --limit BUILD/tests/peers/peers_limit --python VENV/bin/python --folder DIR
    python3 tests/peers/loading.py --commands BUILD/tomoprof --python VENV/bin/python --folder DIR

VENV holds h5py, zarr, tensorstore, tiledb, tifffile, imagecodecs, nibabel, medrs, pylibCZIrw and aicspylibczi. --library reads by tomoprof.open from
Python, in a process like that of the peers; peers that VENV lacks are left out then. --limit gives the share of the measured limit of this machine instead. --commands times whole commands, `load` and `convert`, beside the owner's call
in a warm process (hdf5plugin too). Each call opens the file, reads a box into
new memory and closes. The sums of bytes must agree: exit 1 where they do not. The program's own name for `worker` mode is --worker."""

import argparse
import importlib.util
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import time

SHAPE = (96, 512, 512)
FULL, SLICE, ROI = None, ((48, 0, 0), (1, 512, 512)), ((16, 100, 200), (64, 64, 64))
MOSAIC = (3200, 3200)


def make(folder):
    """Counts of an object with noise, so that codecs have the work of a scan."""
    import h5py
    import nibabel
    import numcodecs
    import numpy as np
    import tifffile
    import zarr
    from pylibCZIrw import czi
    z, y, x = np.ogrid[-1:1:SHAPE[0] * 1j, -1:1:SHAPE[1] * 1j, -1:1:SHAPE[2] * 1j]
    scan = (np.random.default_rng(0).normal(0, 8, SHAPE) + 3000 * (x * x + y * y + z * z < 0.7)).clip(0).astype(np.uint16)
    with h5py.File(folder / "slices.h5", "w") as f:
        f.create_dataset("data", data=scan, chunks=(1, 512, 512), compression="gzip", compression_opts=4, shuffle=True)
    with h5py.File(folder / "blocks.h5", "w") as f:
        f.create_dataset("data", data=scan, chunks=(32, 64, 64), compression="gzip", compression_opts=4, shuffle=True)
    for name, version, codec in (("zstd.zarr", 3, zarr.codecs.ZstdCodec(level=3)), ("blosc.zarr", 2, numcodecs.Blosc("lz4", 5, 1))):
        a = zarr.create_array(folder / name, shape=SHAPE, chunks=(32, 64, 64), dtype="u2", zarr_format=version, compressors=codec)
        a[:] = scan
    if importlib.util.find_spec("tiledb"):
        make_tiledb(folder, scan)
    zarr.create_array(folder / "raw.zarr", shape=SHAPE, chunks=(32, 64, 64), dtype="u2", zarr_format=3, compressors=None)[:] = scan
    np.save(folder / "scan.npy", scan)
    tifffile.imwrite(folder / "raw.tif", scan, photometric="minisblack")
    tifffile.imwrite(folder / "deflate.tif", scan, photometric="minisblack", compression="zlib", predictor=True)
    for name in ("scan.nii", "scan.nii.gz"):
        nibabel.save(nibabel.Nifti1Image(scan.astype(np.int16), np.eye(4)), folder / name)
    with czi.create_czi(str(folder / "tiles.czi"), compression_options="zstd1:ExplicitLevel=2;PreProcess=HiLoByteUnpack") as out:
        for i in range(4):
            for j in range(4):
                tile = np.random.default_rng(4 * i + j).normal(1000, 60, (800, 800)).astype(np.uint16)
                out.write(tile[..., None], location=(j * 800, i * 800), plane={"C": 0, "T": 0, "Z": 0})


def make_tiledb(folder, scan):
    import tiledb
    dims = [tiledb.Dim(n, domain=(0, s - 1), tile=t, dtype="u4") for n, s, t in zip("zyx", SHAPE, (32, 64, 64))]
    schema = tiledb.ArraySchema(tiledb.Domain(*dims), [tiledb.Attr(dtype="u2", filters=[tiledb.ZstdFilter(level=3)])])
    tiledb.DenseArray.create(str(folder / "zstd.tiledb"), schema)
    with tiledb.open(str(folder / "zstd.tiledb"), "w") as a:
        a[:] = scan


def box(of):
    import numpy as np
    return Ellipsis if of is None else tuple(np.s_[s:s + n] for s, n in zip(*of))


def read_h5py(path, of):
    import h5py
    with h5py.File(path) as f:
        return f["data"][box(of)]


def read_zarr(path, of):
    import zarr
    return zarr.open_array(path, mode="r")[box(of)]


def read_tensorstore(path, of):
    import tensorstore
    driver = "zarr3" if os.path.exists(path + "/zarr.json") else "zarr"
    return tensorstore.open({"driver": driver, "kvstore": {"driver": "file", "path": path}}).result()[box(of)].read().result()


def read_tiledb(path, of):
    """The same chunks and codec, in a store of its own."""
    import tiledb
    with tiledb.open(path.replace(".zarr", ".tiledb")) as a:
        return a[box(of)]


def read_medrs(path, of):
    import medrs
    import numpy as np
    image = medrs.load(path) if of is None or path.endswith(".gz") else medrs.load_cropped(path, *map(list, of))
    x = image.to_numpy_native()
    return np.array(x[box(of)] if path.endswith(".gz") else x, copy=True)


def read_tifffile(path, of):
    import tifffile
    if of is None:
        return tifffile.imread(path)
    first, count = of
    pages = tifffile.imread(path, key=range(first[0], first[0] + count[0]))
    pages = pages if pages.ndim == 3 else pages[None]
    return pages[(slice(None),) + box(of)[1:]]


def read_nibabel(path, of):
    import nibabel
    import numpy as np
    return np.array(nibabel.load(path).dataobj[box(of)], copy=True)


def read_tomoprof(path, of):
    import tomoprof
    return tomoprof.open(path)[box(of)]


def read_pylibczirw(path, of):
    from pylibCZIrw import czi
    with czi.open_czi(path) as f:
        return f.read(plane={"C": 0, "T": 0, "Z": 0})


def read_aicspylibczi(path, of):
    from aicspylibczi import CziFile
    return CziFile(path).read_mosaic(C=0)


CASES = [(name, peer, of) for name, peers in (("slices.h5", ("h5py",)), ("blocks.h5", ("h5py",)), ("zstd.zarr", ("zarr", "tensorstore", "tiledb")),
                                              ("blosc.zarr", ("zarr", "tensorstore")), ("raw.tif", ("tifffile",)), ("deflate.tif", ("tifffile",)),
                                              ("scan.nii", ("nibabel", "medrs")), ("scan.nii.gz", ("nibabel", "medrs")))
         for peer in peers for of in (FULL, SLICE, ROI)] + [("tiles.czi", p, FULL) for p in ("pylibczirw", "aicspylibczi")]


def cpu_seconds():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


def worker(folder, reader):
    """`reader`: instead of the peers, which are asked for the same files and boxes."""
    import numpy as np
    for line in sys.stdin:
        name, peer, of = CASES[int(line)]
        peer = reader or peer
        cpu, begin = cpu_seconds(), time.perf_counter()
        try:
            x = globals()["read_" + peer](str(folder / name), of)
            seconds, used = time.perf_counter() - begin, cpu_seconds() - cpu
            said = f"{seconds:.9f} {used:.6f} {int(np.frombuffer(np.ascontiguousarray(x).tobytes(), np.uint8).sum(dtype=np.uint64))}"
        except Exception as e:  # a peer that fails keeps its row, with the reason
            said = "error " + repr(e).replace("\n", " ")
        print(said, flush=True)


def installed(python):
    """Numbers of the cases whose peer this Python has."""
    names = {peer: {"pylibczirw": "pylibCZIrw"}.get(peer, peer) for _, peer, _ in CASES}
    script = f"import importlib.util as u; print(*(p for p, n in {names!r}.items() if u.find_spec(n)))"
    there = subprocess.run([python, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    return [i for i, (_, peer, _) in enumerate(CASES) if peer in there]


def ask(process, line):
    process.stdin.write(line + "\n")
    process.stdin.flush()
    said = process.stdout.readline().split()
    return ("error", " ".join(said[1:])) if not said or said[0] == "error" else tuple(map(float, said))


def measure(o, ours, theirs, number):
    name, peer, of = CASES[number]
    words = ["-", "-"] if of is None else [",".join(map(str, part)) for part in of]
    rows = {"ours": [], "theirs": []}
    for _ in range(o.pairs + 1):
        rows["ours"].append(ask(ours, str(number) if o.library else f"{o.folder / name} - {' '.join(words)}"))
        rows["theirs"].append(ask(theirs, str(number)))
    for side in rows.values():
        if side[0][0] == "error":
            return {"file": name, "peer": peer, "box": str(of), "error": side[0][1]}
    row = {"file": name, "peer": peer, "box": "full" if of is None else "slice" if of is SLICE else "64^3",
           "same": rows["ours"][0][2] == rows["theirs"][0][2]}
    for side, runs in rows.items():  # the first run is not counted: it imports and touches memory
        row[side] = {"min_s": min(r[0] for r in runs[1:]), "median_s": statistics.median(r[0] for r in runs[1:]),
                     "cpu_s": statistics.median(r[1] for r in runs[1:])}
    return row


LIMITS = ("scan.npy", "scan.nii", "raw.tif", "raw.zarr", "slices.h5", "blocks.h5", "zstd.zarr", "blosc.zarr", "deflate.tif", "scan.nii.gz", "tiles.czi")


def limits(o):
    """The engine beside pread, the codec's library and, where chunks are blocks, memcpy alone, in turn in one process."""
    asked = "".join(f"{o.folder / name} -\n" for name in LIMITS)
    said = subprocess.run([o.limit, str(max(o.pairs, 7))], input=asked, capture_output=True, text=True)
    lines = ["| file | MB | limit, ms | engine, ms | share | share of the best runs | CPU: limit, ms | engine, ms | share |", "|---|---|---|---|---|---|---|---|---|"]
    for row in map(json.loads, said.stdout.splitlines()):
        name = pathlib.Path(row["file"]).name
        if "error" in row:
            lines.append(f"| {name} | {row['error'][:80]} | | | | | | | |")
            continue
        lines.append(f"| {name} | {row['mbytes']:.1f} | {1e3 * row['limit_s']:.1f} | {1e3 * row['engine_s']:.1f} | {row['share']:.0%} | {row['share_of_best']:.0%} | "
                     f"{1e3 * row['limit_cpu_s']:.1f} | {1e3 * row['engine_cpu_s']:.1f} | {row['cpu_share']:.0%} |")
    print("\n".join(lines))
    return said.returncode


# The command, its file, the owner that reads it, the suffix of what is written.
COMMANDS = (("load", "raw.tif", "tifffile", ""), ("load", "blosc.zarr", "zarr", ""), ("load", "shards.zarr", "zarr", ""), ("load", "deflate.tif", "tifffile", ""),
            ("load", "tiles.czi", "pylibczirw", ""), ("load", "bits.h5", "h5py", ""), ("convert", "slices.h5", "h5py", ".npy"),
            ("convert", "deflate.tif", "tifffile", ".npy"), ("convert", "zstd.zarr", "zarr", ".npy"), ("convert", "part.npy", "numpy", ".zarr"))


def make_commands(folder):
    """400 x 512 x 512 (210 MB) where reading is fast, 96 slices of it where decoding takes longer, 100 tiles of 800 x 800."""
    import h5py
    import hdf5plugin
    import numcodecs
    import numpy as np
    import tifffile
    import zarr
    from pylibCZIrw import czi
    shape = (400, 512, 512)
    z, y, x = np.ogrid[-1:1:shape[0] * 1j, -1:1:shape[1] * 1j, -1:1:shape[2] * 1j]
    noise = np.random.default_rng(0).normal(0, 8, shape).astype(np.float32)
    scan = (noise + 3000 * (x * x + y * y + z * z < 0.7)).clip(0).astype(np.uint16)
    part = scan[150:246]
    np.save(folder / "part.npy", part)
    tifffile.imwrite(folder / "raw.tif", scan, photometric="minisblack")
    tifffile.imwrite(folder / "deflate.tif", part, photometric="minisblack", compression="zlib", predictor=True)
    with h5py.File(folder / "slices.h5", "w") as f:
        f.create_dataset("data", data=part, chunks=(1, 512, 512), compression="gzip", compression_opts=4, shuffle=True)
    with h5py.File(folder / "bits.h5", "w") as f:
        f.create_dataset("data", data=scan, chunks=(1, 512, 512), **hdf5plugin.Bitshuffle(cname="lz4"))
    zarr.create_array(folder / "blosc.zarr", shape=shape, chunks=(64, 64, 64), dtype="u2", zarr_format=2, compressors=numcodecs.Blosc("lz4", 5, 1))[:] = scan
    zarr.create_array(folder / "shards.zarr", shape=shape, chunks=(32, 32, 32), shards=(128, 128, 128), dtype="u2", zarr_format=3,
                      compressors=zarr.codecs.BloscCodec(cname="zstd", clevel=1))[:] = scan
    zarr.create_array(folder / "zstd.zarr", shape=part.shape, chunks=(32, 64, 64), dtype="u2", zarr_format=3, compressors=zarr.codecs.ZstdCodec(level=3))[:] = part
    with czi.create_czi(str(folder / "tiles.czi"), compression_options="zstd1:ExplicitLevel=2;PreProcess=HiLoByteUnpack") as out:
        for i in range(10):
            for j in range(10):
                tile = np.random.default_rng(10 * i + j).normal(1000, 60, (800, 800)).astype(np.uint16)
                out.write(tile[..., None], location=(j * 800, i * 800), plane={"C": 0, "T": 0, "Z": 0})


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def owner(folder, number):
    """A warm process that does what the command does, once for each line."""
    import numpy as np
    import zarr
    if importlib.util.find_spec("hdf5plugin"):
        importlib.import_module("hdf5plugin")
    command, name, peer, suffix = COMMANDS[number]
    for line in sys.stdin:
        cpu, begin = cpu_seconds(), time.perf_counter()
        x = np.load(folder / name) if peer == "numpy" else globals()["read_" + peer](str(folder / name), FULL)
        if suffix == ".npy":
            np.save(line.strip(), x)
        elif suffix:
            zarr.create_array(line.strip(), shape=x.shape, chunks=(96, 64, 64), dtype=x.dtype, zarr_format=3, compressors=zarr.codecs.ZstdCodec(level=3))[:] = x
        seconds, used = time.perf_counter() - begin, cpu_seconds() - cpu
        del x
        print(f"{seconds:.9f} {used:.6f}", flush=True)


def commands(o):
    """Least elapsed and CPU time of each, in turn; the first call of both isn't counted."""
    folder = o.folder / "commands"
    here = str(pathlib.Path(__file__).resolve())
    lines = ["| command | owner, ms: elapsed, CPU | tomoprof, ms: elapsed, CPU |", "|---|---|---|"]
    for number, (command, name, peer, suffix) in enumerate(COMMANDS):
        out = folder / f"out{suffix}"
        words = [o.commands, command, str(folder / name), *([str(out)] if suffix else ["--out", str(out)])]
        theirs, ours = [], []
        with subprocess.Popen([o.python, here, "--owner", str(number), "--folder", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            for _ in range(o.pairs + 1):
                remove(out)
                theirs.append(ask(process, str(out)))
                remove(out)
                begin = time.perf_counter()
                child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                _, status, used = os.wait4(child.pid, 0)
                ours.append((time.perf_counter() - begin, used.ru_utime + used.ru_stime))
                child.returncode = os.waitstatus_to_exitcode(status)
                if child.returncode or theirs[-1][0] == "error":
                    sys.exit(f"{' '.join(words)}: exit code {child.returncode}; {peer}: {theirs[-1]}")
            process.stdin.close()
        remove(out)
        least = [[1e3 * min(row[k] for row in rows[1:]) for k in (0, 1)] for rows in (theirs, ours)]
        ratio = least[0][0] / least[1][0]
        label = {"": peer, ".npy": f"{peer}, np.save", ".zarr": "np.load, zarr"}[suffix]
        lines.append(f"| {command} {name}{' to ' + suffix if suffix else ''} | {label}: {least[0][0]:.0f}, {least[0][1]:.0f} | {least[1][0]:.0f}, {least[1][1]:.0f} ({ratio:.1f} x) |")
        print(lines[-1], file=sys.stderr, flush=True)
    print("\n".join(lines))
    return 0


def table(rows):
    lines = ["| file | box | peer | peer, ms | tomoprof, ms | faster | CPU: peer, ms | tomoprof, ms | same bytes |", "|---|---|---|---|---|---|---|---|---|"]
    for r in rows:
        if "error" in r:
            lines.append(f"| {r['file']} | {r['box']} | {r['peer']} | {r['error'][:80]} | | | | | |")
            continue
        ours, theirs = r["ours"], r["theirs"]
        lines.append(f"| {r['file']} | {r['box']} | {r['peer']} | {1e3 * theirs['min_s']:.1f} ({1e3 * theirs['median_s']:.1f}) | "
                     f"{1e3 * ours['min_s']:.1f} ({1e3 * ours['median_s']:.1f}) | {theirs['min_s'] / ours['min_s']:.1f} | {1e3 * theirs['cpu_s']:.1f} | "
                     f"{1e3 * ours['cpu_s']:.1f} | {'yes' if r['same'] else 'NO'} |")
    return "\n".join(lines) + "\n"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--program", help="peers_load of a build with -DTP_PEERS=ON")
    p.add_argument("--library", type=pathlib.Path, help="libtomoprof.so: read by tomoprof.open from Python instead")
    p.add_argument("--limit", help="peers_limit of such a build: the share of the measured limit, instead of peers")
    p.add_argument("--commands", help="tomoprof: whole commands beside the owner's calls, instead of peers_load")
    p.add_argument("--python", default=sys.executable, help="the Python of the peers")
    p.add_argument("--folder", type=pathlib.Path, required=True, help="where the files are made")
    p.add_argument("--pairs", type=int, default=7)
    p.add_argument("--markdown", help="file for the table")
    p.add_argument("--worker", action="store_true")
    p.add_argument("--reader", help="of a worker: instead of the peers")
    p.add_argument("--owner", type=int, help="number of the command whose owner's call a worker does")
    o = p.parse_args()
    if o.owner is not None:
        return owner(o.folder, o.owner)
    if o.worker:
        return worker(o.folder, o.reader)
    o.folder.mkdir(parents=True, exist_ok=True)
    here = str(pathlib.Path(__file__).resolve())
    if o.commands:
        (o.folder / "commands").mkdir(exist_ok=True)
        if not (o.folder / "commands/tiles.czi").exists():
            subprocess.run([o.python, "-c", f"import sys, pathlib; sys.path.insert(0, {os.path.dirname(here)!r}); import loading; "
                                            f"loading.make_commands(pathlib.Path({str(o.folder / 'commands')!r}))"], check=True)
        return commands(o)
    if not (o.folder / "tiles.czi").exists() or not (o.folder / "scan.npy").exists():
        subprocess.run([o.python, "-c", f"import sys, pathlib; sys.path.insert(0, {os.path.dirname(here)!r}); import loading; "
                                        f"loading.make(pathlib.Path({str(o.folder)!r}))"], check=True)
    if o.limit:
        return limits(o)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    rows = []
    peers = [o.python, here, "--worker", "--folder", o.folder]
    module = {"TOMOPROF_LIBRARY": str(o.library), "PYTHONPATH": str(pathlib.Path(here).parents[2] / "python")}
    mine = {"args": [*peers, "--reader", "tomoprof"], "env": {**os.environ, **module}} if o.library else {"args": [o.program]}
    with subprocess.Popen(**mine, **pipes) as ours, subprocess.Popen(peers, **pipes) as theirs:
        for number in installed(o.python) if o.library else range(len(CASES)):
            rows.append(measure(o, ours, theirs, number))
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
        ours.stdin.close()
        theirs.stdin.close()
    text = table(rows)
    print(text)
    if o.markdown:
        pathlib.Path(o.markdown).write_text(text)
    return 0 if all(r.get("same") for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
