"""The cells of the published tables: V views of Mr x Nc detector cells, volume (Nc, Nc, Mr), parallel over 180 degrees and
cone over 360 with source to detector 4 Nc and to the axis 2 Nc; their arrays as .npy files; and `tomoprof apply` on them."""

import concurrent.futures
import json
import math
import pathlib
import subprocess

import numpy as np

OPERATIONS = ["parallel_forward_project", "parallel_back_project", "parallel_fbp_filter", "cone_forward_project",
              "cone_back_project", "cone_fdk_filter", "median_filter3d", "parallel_hessian_diagonal",
              "cone_hessian_diagonal", "parallel_mbir_recon", "cone_mbir_recon"]
ITERATIONS, SEED = 3, 0
DRAWS = {"sinogram": (0, 0.0), "volume": (1, -0.5), "weights": (13, 0.5)}  # seed of default_rng, what is added to [0, 1)


def named(size):
    return "x".join(map(str, size))


def beam_of(operation):
    return "cone" if operation.startswith("cone") else "parallel"


def geometry(beam, size):
    views, rows, channels = size
    turn = math.pi if beam == "parallel" else 2 * math.pi
    found = {"geometry": beam, "sinogram_shape": list(size), "angles": [turn * v / views for v in range(views)],
             "recon_shape": [channels, channels, rows]}
    if beam == "cone":
        found |= {"source_detector_dist": 4 * channels, "source_iso_dist": 2 * channels}
    return found


def pixels(size):
    """Of the region of reconstruction: the ellipse in the square."""
    n = size[2]
    at = (np.arange(n) - (n - 1) / 2) / ((n - 1) / 2)
    return int(np.count_nonzero(at[:, None] ** 2 + at[None] ** 2 <= 1))


def amount(operation, size):
    """(units of one run, unit). MBIR: updates of one projection in each iteration; a forward and a back projection are in it."""
    views, rows, channels = size
    if "median" in operation:
        return channels * channels * rows, "voxels"
    if "filter" in operation:
        return views * rows * channels, "samples"
    return pixels(size) * rows * views * (ITERATIONS if "mbir" in operation else 1), "updates"


def draw(path, name, shape):
    seed, shift = DRAWS[name]
    values = np.random.default_rng(seed).random(shape, dtype=np.float32)
    values += np.float32(shift)
    np.save(path, values)


def make(folder, size):
    """The files of a cell, unless they are there already: a second step takes those of the first."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    views, rows, channels = size
    shapes = {"sinogram": size, "weights": size, "volume": (channels, channels, rows)}
    missing = {name: shape for name, shape in shapes.items() if not (folder / f"{name}.npy").exists()}
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda name: draw(folder / f"{name}.new.npy", name, missing[name]), missing))
    for name in missing:
        (folder / f"{name}.new.npy").rename(folder / f"{name}.npy")
    for beam in ("parallel", "cone"):
        (folder / f"{beam}.json").write_text(json.dumps(geometry(beam, size)))
    return folder


def input_of(operation):
    """The array that it takes; None: none."""
    if "hessian" in operation:
        return None
    return "volume" if "forward" in operation or "median" in operation else "sinogram"


def words(program, operation, folder, backend, *more):
    """The call of `tomoprof apply` on a cell's files."""
    call = [program, "apply", operation, "--backend", backend, "--json"]
    if "median" not in operation:
        call += ["--geometry", folder / f"{beam_of(operation)}.json"]
    if input_of(operation):
        call += ["--in", folder / f"{input_of(operation)}.npy"]
    if "mbir" in operation:
        call += ["--weights", folder / "weights.npy", "--iterations", ITERATIONS, "--stop-threshold", 0, "--seed", SEED]
    return [str(word) for word in (*call, *more)]


class Failed(Exception):
    """tomoprof said why it could not."""


def call(words_, environment=None, limit=600):
    """What `--json` said."""
    done = subprocess.run(words_, capture_output=True, text=True, env=environment, timeout=limit)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise Failed(lines[-1] if lines else f"exit {done.returncode}")
    return json.loads(done.stdout)


def distance(a, b):
    """Relative l2 difference of two .npy files, `b` the reference."""
    a, b = np.load(a, mmap_mode="r"), np.load(b, mmap_mode="r")
    if a.shape != b.shape:
        raise Failed(f"shapes {a.shape} and {b.shape} differ")
    squares = [0.0, 0.0]
    for x, y in zip(a, b):  # slab by slab: float64 of the whole might not fit
        y = np.asarray(y, np.float64)
        squares[0] += float(np.sum((x - y) ** 2))
        squares[1] += float(np.sum(y * y))
    return math.sqrt(squares[0] / squares[1]) if squares[1] else math.inf


def keep(out, rows):
    """Written after every row, beside and renamed: what is measured survives a limit."""
    new = out.with_suffix(".new")
    new.write_text(json.dumps(rows))
    new.rename(out)
    row = rows[-1]
    print(f"{row['operation']:28} {row['status']:7} " + (row["reason"] or f"{row['median']:.6g} s, n {row['n']}"), flush=True)


def verdict(rows):
    """Exit code of a script that measured these rows."""
    failed = [row for row in rows if row["status"] != "ok"]
    if failed:
        print(f"{len(failed)} of {len(rows)} operations failed, first {failed[0]['operation']}: {failed[0]['reason']}")
    return 1 if failed else 0
