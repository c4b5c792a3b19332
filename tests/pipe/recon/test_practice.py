"""What real scans need: Fourier reconstruction beside FBP, short scans and off-centre detectors on a phantom of balls whose
line integrals are exact."""

import json
import pathlib
import re
import struct
import sys
import zlib

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, main, relative, tomoprof, write_json

BALLS = ((0, 0, 0, 0.62, 1.0), (0.2, 0.25, 0.1, 0.2, 0.5), (-0.3, 0.1, -0.1, 0.15, -0.4))  # x, y, z, radius over that of the volume


def chords(balls, radius, origin, direction, angle):
    """Sums over balls of value x length inside, for rays given in the frame that turns against the object."""
    c, s = np.cos(angle), np.sin(angle)
    total = 0
    for x, y, z, r, value in balls:
        centre = radius * np.array([c * x - s * y, s * x + c * y, z])
        to = centre - origin
        along = (to * direction).sum(-1)
        inside = (radius * r) ** 2 - (to * to).sum(-1) + along**2
        total = total + value * 2 * np.sqrt(np.maximum(inside, 0))
    return total


def cone_sinogram(views, rows, channels, D, d, offset, angles, radius):
    u = np.arange(channels) - (channels - 1) / 2 - offset
    v = np.arange(rows) - (rows - 1) / 2
    y = np.empty((views, rows, channels), np.float32)
    origin = np.array([0, d, 0.0])
    to = np.stack(np.broadcast_arrays(u[None, :], d - D, v[:, None]), -1) - origin
    to /= np.linalg.norm(to, axis=-1, keepdims=True)
    for k, angle in enumerate(angles):
        y[k] = chords(BALLS, radius, origin, to, angle)
    return y


def inside(shape, radius, thick=4):
    """Voxels well inside each region of the phantom, at most `thick` slices from the middle, and their values."""
    i, j, k = np.meshgrid(*(np.arange(n) - (n - 1) / 2 for n in shape), indexing="ij")
    value, clear = np.zeros(shape), np.ones(shape, bool)
    for x, y, z, r, a in BALLS:
        distance = np.sqrt((j - radius * x) ** 2 + (i - radius * y) ** 2 + (k - radius * z) ** 2)
        value += a * (distance < radius * r)
        clear &= np.abs(distance - radius * r) > 2.5
    biggest = np.sqrt(i**2 + j**2 + k**2) < radius * BALLS[0][3]
    return value, clear & biggest & (np.abs(k) <= thick)


def fdk(check, folder, name, geometry, sinogram, radius, limit, *weights, more=(), thick=4):
    """Mean relative error inside of the object, of `recon` and of the operations one by one."""
    g = write_json(folder / "g.json", geometry)
    np.save(folder / "y.npy", sinogram)
    r = tomoprof("recon", "--geometry", g, "--in", folder / "y.npy", "--out", folder / "x.npy", "--method", "fdk",
                 *(("--redundancy", *weights) if weights else ()), *more)
    if not check.that(r.returncode == 0, f"{name}: {r.stderr}"):
        return None
    x = np.load(folder / "x.npy")
    value, clear = inside(x.shape, radius, thick)
    error = np.abs(x - value)[clear].mean() / np.abs(value[clear]).mean()
    print(f"  {name:26} error inside {100 * error:.2f} %")
    if limit:
        check.that(error <= limit, f"{name}: error inside {error:.4f} > {limit}")
    if weights == ("parker",):
        for op, source, to in ((f"{weights[0]}_weights", "y.npy", "w.npy"), ("fdk_recon", "w.npy", "z.npy")):
            r = tomoprof("apply", op, "--geometry", g, "--in", folder / source, "--out", folder / to)
            check.that(r.returncode == 0, f"{name} {op}: {r.stderr}")
        check.that(relative(np.load(folder / "z.npy"), x) < 1e-6, f"{name}: the operations one by one give another volume")
    return error


def cone(check, folder):
    views, rows, channels, D, d = 180, 24, 72, 288.0, 144.0
    radius = 0.5 * channels * d / D  # the volume's; its voxels are d / D = 0.5 wide
    base = {"geometry": "cone", "source_detector_dist": D, "source_iso_dist": d}
    full = np.linspace(0, 2 * np.pi, views, endpoint=False)
    scan = {**base, "sinogram_shape": [views, rows, channels], "angles": full.tolist()}

    def sinogram(angles, width=channels, offset=0.0):
        return cone_sinogram(len(angles), rows, width, D, d, offset, angles, radius)

    whole = fdk(check, folder, "full turn", scan, sinogram(full), 2 * radius, 0.02)
    fan = 2 * np.arctan(0.5 * channels / D)
    short = 0.3 + np.linspace(0, np.pi + 1.3 * fan, 120, endpoint=False)
    for name, angles in (("short scan", short), ("short scan, backwards", short[::-1])):
        part = {**base, "sinogram_shape": [len(angles), rows, channels], "angles": angles.tolist()}
        fdk(check, folder, name + ", Parker", part, sinogram(angles), 2 * radius, 0.02, "parker")
    bare = fdk(check, folder, "short scan, no weights", part, sinogram(angles), 2 * radius, None)
    check.that(bare is None or bare > 0.04, f"weights are not needed: {bare}")  # or this test would see nothing
    narrow, offset = 46, 13.0  # 36 channels on one side of the axis, 10 on the other
    for side in (1, -1):
        part = {**base, "sinogram_shape": [views, rows, narrow], "angles": full.tolist(), "det_channel_offset": -side * offset,
                "recon_shape": [channels, channels, 24]}
        y = sinogram(full, narrow, -side * offset)
        fdk(check, folder, f"off-centre by {side * offset}, Wang", part, y, 2 * radius, 0.02, "wang")
    bare = fdk(check, folder, "off-centre, no weights", part, y, 2 * radius, None)
    check.that(bare is None or bare > 0.04, f"weights are not needed: {bare}")
    check.that(whole is not None, "no full turn")
    for method, angles, words in (("parker", full, "full turn"), ("parker", short[:60], "too few"), ("wang", short, "full turn")):
        part = {**base, "sinogram_shape": [len(angles), rows, channels], "angles": angles.tolist()}
        np.save(folder / "y.npy", np.ones((len(angles), rows, channels), np.float32))
        r = tomoprof("apply", f"{method}_weights", "--geometry", write_json(folder / "g.json", part), "--in", folder / "y.npy",
                     "--out", folder / "w.npy")
        check.that(r.returncode == 2 and words in r.stderr, f"{method} of {len(angles)} views: {r.returncode} {r.stderr}")


def lean(channel, row, pitch, yaw):
    """Directions (channels, depth towards the source, rows) of a detector that leans: written out by hand, with sines and cosines of both angles."""
    p, w = np.radians(pitch), np.radians(yaw)
    along = np.array([np.cos(w), -np.sin(w), 0])  # where the ideal channels end up
    up = np.array([-np.sin(p) * np.sin(w), -np.sin(p) * np.cos(w), np.cos(p)])  # and the ideal rows
    return channel[0] * along + channel[1] * up, row[0] * along + row[1] * up


def moved_sinogram(rows, channels, D, d, angles, radius, table):
    """As cone_sinogram, of a source and a detector that are elsewhere in each view."""
    u, v = np.meshgrid(np.arange(channels) - (channels - 1) / 2, np.arange(rows) - (rows - 1) / 2)
    y = np.empty((len(angles), rows, channels), np.float32)
    for k, (turn, along, up, x, z, *tilts) in enumerate(table):
        c, s = np.cos(np.radians(turn)), np.sin(np.radians(turn))
        e, f = lean((c, s), (-s, c), *(tilts or (0, 0)))
        origin = np.array([x, d, z])
        to = u[..., None] * e + v[..., None] * f + np.array([along, d - D, up]) - origin
        y[k] = chords(BALLS, radius, origin, to / np.linalg.norm(to, axis=-1, keepdims=True), angles[k])
    return y


def poses(check, folder):
    """A source and a detector that move and lean from view to view, in a way that no constant offset describes."""
    views, channels, radius = 180, 80, 18.0
    angles = np.linspace(0, 2 * np.pi, views, endpoint=False)
    t = np.linspace(0, 1, views)
    o = 0 * t
    usual, wide = (32, 288.0, 144.0, 4), (48, 144.0, 72.0, 10)  # rows, distances, slices that count: pitch shows far from the middle alone
    ways = {"detector moves": (usual, 3 * np.sin(9 * t) + 2, 3 * np.cos(20 * t), 2 * np.sin(14 * t), o, o),
            "source moves": (usual, o, o, o, 2 * np.sin(8 * t) + 1, 1.5 * np.cos(11 * t)),
            "both move": (usual, 2 * np.cos(7 * t), 2 * np.sin(25 * t) + 1, np.sin(5 * t), 1.5 * np.sin(16 * t), np.cos(9 * t)),
            "pitch": (wide, o, o, o, o, o, 30 + 10 * np.sin(6 * t), o),
            "yaw": (wide, o, o, o, o, o, o, 12 - 8 * np.cos(7 * t)),
            "all": (wide, 3 * np.sin(9 * t), 2 * np.cos(20 * t), np.sin(14 * t), np.sin(8 * t), np.cos(11 * t), 25 - 9 * np.cos(5 * t), 9 * np.sin(6 * t) + 4)}
    for name, ((rows, D, d, thick), *columns) in ways.items():
        scan = {"geometry": "cone", "source_detector_dist": D, "source_iso_dist": d, "sinogram_shape": [views, rows, channels],
                "angles": angles.tolist(), "recon_shape": [72, 72, 24]}
        table = np.stack(columns, -1).astype(np.float32)
        np.save(folder / "poses.npy", table)
        y = moved_sinogram(rows, channels, D, d, angles, radius, table)
        told = fdk(check, folder, f"{name}, --poses", scan, y, 2 * radius, 0.02, more=("--poses", folder / "poses.npy"), thick=thick)
        bare = fdk(check, folder, f"{name}, no table", scan, y, 2 * radius, None, thick=thick)
        check.that(not (told and bare) or bare > 2 * told, f"{name}: the table is not needed: {told} {bare}")
    g = folder / "g.json"
    for wrong, words in ((table[:9], "180"), (table[:, :4], "4 columns"), (table[:, :6], "6 columns"), (table * np.float32("nan"), "not a finite number"),
                         (table * np.float32([1, 1, 1, 20, 1, 1, 1]), "a tenth of"), (table + np.float32([0, 0, 0, 0, 0, 50, 0]), "tilts the detector by")):
        np.save(folder / "poses.npy", wrong)
        r = tomoprof("recon", "--geometry", g, "--in", folder / "y.npy", "--out", folder / "x.npy", "--poses", folder / "poses.npy")
        check.that(r.returncode == 2 and "--poses" in r.stderr and words.lower() in r.stderr.lower(), f"--poses {words}: {r.returncode} {r.stderr}")


def helical(check, folder):
    """Three turns; the slices that count are seen by every detector row."""
    views, rows, channels, D, d, turns, pitch = 540, 32, 80, 288.0, 144.0, 3, 10
    radius = 0.5 * 72 * d / D
    angles = np.linspace(0, 2 * np.pi * turns, views, endpoint=False)
    z = (np.arange(views) / views - 0.5) * turns * pitch
    u, v = np.meshgrid(np.arange(channels) - (channels - 1) / 2, np.arange(rows) - (rows - 1) / 2)
    y = np.empty((views, rows, channels), np.float32)
    for k in range(views):
        origin = np.array([0, d, z[k]])
        to = np.stack((u, np.full_like(u, d - D), v + z[k]), -1) - origin
        y[k] = chords(BALLS, radius, origin, to / np.linalg.norm(to, axis=-1, keepdims=True), angles[k])
    scan = {"geometry": "cone", "source_detector_dist": D, "source_iso_dist": d, "sinogram_shape": [views, rows, channels],
            "angles": angles.tolist(), "helical_z_shifts": z.tolist(), "recon_shape": [72, 72, 24], "recon_slice_offset": 0}
    fdk(check, folder, "helical", scan, y, 2 * radius, 0.02, "helical")
    fdk(check, folder, "helical, voxel-driven", scan, y, 2 * radius, 0.02, "helical", more=("--backproject", "voxel"))
    bare = fdk(check, folder, "helical, a factor a slice", scan, y, 2 * radius, None)
    check.that(bare is None or bare > 0.02, f"factors of voxels are not needed: {bare}")
    del scan["helical_z_shifts"]
    r = tomoprof("recon", "--geometry", write_json(folder / "g.json", scan), "--in", folder / "y.npy", "--out", folder / "x.npy",
                 "--redundancy", "helical")
    check.that(r.returncode == 2 and "helical_z_shifts" in r.stderr, f"helical of a circle: {r.returncode} {r.stderr}")


def parallel_sinogram(angles, slices, n, spacing, offset, radius):
    u = (np.arange(n) - (n - 1) / 2) * spacing - offset
    z = (np.arange(slices) - (slices - 1) / 2) * spacing
    origin = np.stack(np.broadcast_arrays(u[None, :], 10 * radius, z[:, None]), -1)
    return np.stack([chords(BALLS, radius, origin, np.array([0, -1.0, 0]), a) for a in angles]).astype(np.float32)


def fourier(check, folder):
    """Against our FBP: 1e-3 at every size (docs/internals/operations.md says what bounds it)."""
    cases = (("plain", 64, 60, 19, 1.0, {}, 1e-3), ("no mask, offset", 63, 50, 3, 0.8, {"use_ror_mask": False, "det_channel_offset": 1.7}, 1e-3),
             ("aspect", 64, 50, 2, 1.0, {"voxel_row_aspect": 1.3}, 1e-3), ("256", 256, 200, 2, 1.0, {}, 1e-3))
    for name, n, views, slices, spacing, more, limit in cases:
        angles = 0.01 + np.linspace(0, np.pi, views, endpoint=False)
        y = parallel_sinogram(angles, slices, n, spacing, more.get("det_channel_offset", 0), 0.5 * n * spacing)
        g = write_json(folder / "g.json", {"geometry": "parallel", "sinogram_shape": [views, slices, n], "angles": angles.tolist(),
                                           "delta_det_channel": spacing, "delta_det_row": spacing, **more})
        np.save(folder / "y.npy", y)
        out = []
        for words in (("apply", "fbp_recon"), ("apply", "parallel_fourier_recon"), ("recon", "--method", "fourier")):
            r = tomoprof(*words, "--geometry", g, "--in", folder / "y.npy", "--out", folder / "x.npy")
            check.that(r.returncode == 0, f"{name} {words}: {r.stderr}")
            out.append(np.load(folder / "x.npy"))
        error = relative(out[1], out[0])
        print(f"  {name:18} {error:.2e} from FBP")
        check.that(error <= limit, f"{name}: {error:.3g} from FBP > {limit}")
        check.that(np.array_equal(out[1], out[2]), f"{name}: `recon` gives another volume")
        one = tomoprof("apply", "parallel_fourier_recon", "--geometry", g, "--in", folder / "y.npy", "--out", folder / "x.npy", "--threads", 1)
        check.that(one.returncode == 0 and np.array_equal(np.load(folder / "x.npy"), out[1]), f"{name}: other bits with one thread")
    cone_file = write_json(folder / "c.json", {"geometry": "cone", "sinogram_shape": [3, 2, 8], "angles": [0, 2, 4],
                                               "source_detector_dist": 40, "source_iso_dist": 20})
    np.save(folder / "y.npy", np.ones((3, 2, 8), np.float32))
    r = tomoprof("recon", "--geometry", cone_file, "--in", folder / "y.npy", "--out", folder / "x.npy", "--method", "fourier")
    check.that(r.returncode == 2 and "parallel beams" in r.stderr, f"fourier of a cone beam: {r.returncode} {r.stderr}")


def metal(check, folder):
    """Two pins of metal, whose rays end at what the detector can see: weights for metal give the tissue beside them back."""
    n, views, slices = 64, 64, 2
    angles = np.linspace(0, np.pi, views, endpoint=False)
    x, y = np.meshgrid(np.arange(n) - (n - 1) / 2, np.arange(n) - (n - 1) / 2)
    bodies = ((0, 0, 26, 0.02), (8, 5, 6, 0.01), (-12, -3, 3, 0.6), (13, -9, 2.5, 0.6))
    u, sinogram, tissue, pins = np.arange(n) - (n - 1) / 2, np.zeros((views, slices, n)), np.zeros((n, n)), np.zeros((n, n), bool)
    for x0, y0, r, value in bodies:
        at = x0 * np.cos(angles) - y0 * np.sin(angles)
        sinogram += (value * 2 * np.sqrt(np.maximum(r**2 - (u[None, :] - at[:, None]) ** 2, 0)))[:, None, :]
        distance = np.hypot(x - x0, y - y0)
        tissue += value * (distance < r) * (value < 0.1)
        pins |= (distance < r + 2) & (value > 0.1)
    np.save(folder / "y.npy", np.minimum(sinogram, 2.5).astype(np.float32))  # no count is below 8 % of the flat field's
    g = write_json(folder / "g.json", {"geometry": "parallel", "sinogram_shape": [views, slices, n], "angles": angles.tolist()})
    clear = ~pins & (np.hypot(x, y) < 24) & (np.abs(np.hypot(x - 8, y - 5) - 6) > 1.5)
    errors = []
    for weights in ("none", "transmission", "metal"):
        r = tomoprof("recon", "--geometry", g, "--in", folder / "y.npy", "--out", folder / "x.npy", "--method", "mbir", "--weights", weights,
                     "--iterations", 12, "--stop-threshold", 0)
        if check.that(r.returncode == 0, f"--weights {weights}: {r.stderr}"):
            volume = np.load(folder / "x.npy")
            errors.append(float(np.sqrt(((volume[..., 0] - tissue)[clear] ** 2).mean()) / 0.02))
    print(f"  metal: error of the tissue {[round(e, 3) for e in errors]} without weights, with transmission and metal weights")
    check.that(len(errors) == 3 and errors[2] < 0.5 * errors[0] and errors[2] < errors[1], f"metal: errors {errors}")
    r = tomoprof("recon", "--geometry", g, "--in", folder / "y.npy", "--out", folder / "x.npy", "--weights", "metal")
    check.that(r.returncode == 2 and "--method mbir" in r.stderr, f"--weights metal of fbp: {r.returncode} {r.stderr}")


def similarity(x, y, range_):
    """scikit-image's structural_similarity of two slices: means over the windows that lie whole in the picture."""
    a, b = (np.lib.stride_tricks.sliding_window_view(z.astype(float), (7, 7)).reshape(-1, 49) for z in (x, y))
    both = ((a - a.mean(1, keepdims=True)) * (b - b.mean(1, keepdims=True))).sum(1) / 48
    c1, c2, mean = (0.01 * range_) ** 2, (0.03 * range_) ** 2, 2 * a.mean(1) * b.mean(1)
    return (((mean + c1) * (2 * both + c2)) / ((a.mean(1) ** 2 + b.mean(1) ** 2 + c1) * (a.var(1, ddof=1) + b.var(1, ddof=1) + c2))).mean()


def reference(check, folder):
    """--reference: the numbers of NumPy; the same volume; one of another shape."""
    n, views, slices = 40, 30, 3
    angles = np.linspace(0, np.pi, views, endpoint=False)
    np.save(folder / "y.npy", parallel_sinogram(angles, slices, n, 1.0, 0, 0.5 * n))
    g = write_json(folder / "g.json", {"geometry": "parallel", "sinogram_shape": [views, slices, n], "angles": angles.tolist()})
    words = ("recon", "--geometry", g, "--in", folder / "y.npy", "--out", folder / "x.npy", "--reference", folder / "r.npy")
    truth = inside((n, n, slices), 0.5 * n)[0].astype(np.float32)
    np.save(folder / "r.npy", truth)
    r = tomoprof(*words)
    found = re.search(r"PSNR ([\d.]+) dB, SSIM ([\d.]+)", r.stderr)
    if check.that(r.returncode == 0 and found, f"--reference: {r.stderr}"):
        x, span = np.load(folder / "x.npy").astype(float), float(np.ptp(truth))
        psnr = 10 * np.log10(span**2 / ((x - truth) ** 2).mean())
        ssim = np.mean([similarity(x[..., k], truth[..., k], span) for k in range(slices)])
        check.that(abs(float(found[1]) - psnr) < 0.006 and abs(float(found[2]) - ssim) < 6e-5, f"{found[0]}, expected {psnr} {ssim}")
        width, height = struct.unpack(">II", (folder / "x.png").read_bytes()[16:24])
        check.that((width, height) == (3 * n, n), f"picture of {width} x {height}")
        r = tomoprof(*words[:-2], "--scale-bar")
        check.that(r.returncode == 0 and "scale bar: 10 of" in r.stderr, f"--scale-bar: {r.stderr}")
        picture = (folder / "x.png").read_bytes()
        at = picture.index(b"IDAT")
        lines = np.frombuffer(zlib.decompressobj().decompress(picture[at + 4 :]), np.uint8).reshape(n, n + 1)[:, 1:]
        check.that(lines[37, 1:13].tolist() == [0, *[255] * 10, 0], f"a bar of 10 pixels: {lines[37]}")
        (folder / "x.npy").rename(folder / "r.npy")
        r = tomoprof(*words)
        check.that(r.returncode == 0 and "PSNR inf dB, SSIM 1.0000" in r.stderr, f"against itself: {r.stderr}")
    np.save(folder / "r.npy", truth[:-1])
    r = tomoprof(*words)
    check.that(r.returncode == 2 and "--reference" in r.stderr and "rows" in r.stderr, f"another shape: {r.returncode} {r.stderr}")


def rings(check, folder):
    """The stripes of algotom's golden are gone as algotom takes them out, and rings from a reconstruction."""
    y, expected = (np.load(DATA / "stripes" / f"{name}.npy") for name in ("sinogram", "sorted"))
    np.save(folder / "y.npy", y)
    angles = np.linspace(0, np.pi, y.shape[0], endpoint=False).tolist()
    g = write_json(folder / "g.json", {"geometry": "parallel", "sinogram_shape": list(y.shape), "angles": angles})
    for threads in (1, 2):
        r = tomoprof("apply", "remove_stripes_sorting", "--geometry", g, "--in", folder / "y.npy", "--out", folder / "z.npy", "--threads", threads)
        check.that(r.returncode == 0, f"stripes: {r.stderr}")
        check.that(np.array_equal(np.load(folder / "z.npy"), expected), f"stripes with {threads} threads: other values than algotom's")
    n, views, slices = 200, 120, 3
    angles = np.linspace(0, np.pi, views, endpoint=False)
    clean = parallel_sinogram(angles, slices, n, 1.0, 0, 0.5 * n)
    rng = np.random.default_rng(1)
    clean += 0.002 * clean.max() * rng.standard_normal(clean.shape, dtype=np.float32)
    gains = np.where(rng.random((slices, n)) < 0.1, rng.normal(0, 0.08 * clean.max(), (slices, n)), 0).astype(np.float32)
    g = write_json(folder / "g.json", {"geometry": "parallel", "sinogram_shape": list(clean.shape), "angles": angles.tolist()})
    volumes = []
    for sinogram, option, memory in ((clean, "keep", "1GiB"), (clean + gains, "keep", "1GiB"), (clean + gains, "sorting", "1GiB"), (clean + gains, "sorting", "6MiB")):
        np.save(folder / "y.npy", sinogram)
        r = tomoprof("recon", "--geometry", g, "--in", folder / "y.npy", "--out", folder / "x.npy", "--rings", option, "--memory", memory)
        check.that(r.returncode == 0, f"--rings {option}: {r.stderr}")
        volumes.append(np.load(folder / "x.npy"))
    before, after = (relative(v, volumes[0]) for v in volumes[1:3])
    print(f"  rings: {before:.3f} of the volume before, {after:.3f} after")
    check.that(after < 0.5 * before, f"rings of {before:.3f} are {after:.3f} still")
    check.that(np.array_equal(volumes[2], volumes[3]), "--rings in slabs gives another volume")


if __name__ == "__main__":
    main(fourier, cone, helical, poses, metal, reference, rings)
