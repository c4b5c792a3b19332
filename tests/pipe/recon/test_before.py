"""What is done to the views of a scan before its reconstruction: phantoms of balls with a defect put in, each taken out by one
option of `recon`, and the operations on arrays. 15 s."""

import json
import os
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import scans
from tool import DATA, main, relative, tomoprof

BALLS = ((0.06, -0.04, 0, 0.36, 1.0), (0.12, 0.2, 0.05, 0.12, 0.7), (-0.2, 0.1, -0.05, 0.08, -0.4), (0.05, -0.22, 0, 0.05, 1.2),
         (-0.1, -0.15, 0.1, 0.06, 0.9))  # x, y, z, radius over the width, value
V, R, C, AXIS = 120, 12, 96, 48.8  # views, rows, channels; the axis' channel
WHITE, DARK = 20000.0, 100.0


def integrals(views=V, rows=R, channels=C, axis=AXIS, tilt=0.0, turn=np.pi):
    """Line integrals of the balls, the axis turned by `tilt` degrees in the detector's plane."""
    angles = np.linspace(0, turn, views, endpoint=False)
    u, w = np.meshgrid(np.arange(channels) - axis, np.arange(rows) - (rows - 1) / 2)
    t = np.deg2rad(tilt)
    s, z = u * np.cos(t) + w * np.sin(t), w * np.cos(t) - u * np.sin(t)
    y = np.zeros((views, rows, channels))
    for x0, y0, z0, radius, value in BALLS:
        at = (x0 * np.cos(angles) + y0 * np.sin(angles)) * C
        y += 2 * value * np.sqrt(np.maximum((radius * C) ** 2 - (s - at[:, None, None]) ** 2 - (z - z0 * C) ** 2, 0))
    return 2 * y / C


def counts_of(y):
    return DARK + WHITE * np.exp(-y)


def recon(check, folder, counts, *options, flats=None, turn=180, code=0):
    """The volume, and what was said."""
    views, rows, channels = counts.shape
    np.save(folder / "v.npy", counts.astype(np.float32))
    np.save(folder / "f.npy", (np.full((1, rows, channels), DARK + WHITE) if flats is None else flats).astype(np.float32))
    np.save(folder / "d.npy", np.full((1, rows, channels), DARK, np.float32))
    out = folder / "x.npy"
    out.unlink(missing_ok=True)
    r = tomoprof("recon", "--in", folder / "v.npy", "--flats", folder / "f.npy", "--darks", folder / "d.npy", "--angles",
                 f"0:{turn - turn / views}", "--out", out, *options)
    check.that(r.returncode == code, f"recon {options}: exit {r.returncode}, {r.stderr}")
    return (np.load(out) if out.exists() else None), r.stderr


def number_after(text, word):
    return float(text.split(word)[1].split()[0])


def repaired(check, folder, name, counts, clean, options, before, after, **more):
    """The error of the volume with the defect, and with the option that takes it out."""
    errors = [relative(recon(check, folder, counts, "--center", AXIS, *words, **more)[0], clean) for words in ((), options)]
    print(f"  {name:14} {errors[0]:.4f} of the volume before, {errors[1]:.4f} after")
    check.that(errors[0] > before and errors[1] < after, f"{name}: {errors}, expected > {before} and < {after}")


def defects(check, folder):
    rng = np.random.default_rng(5)
    y = integrals()
    counts = counts_of(y)
    clean, _ = recon(check, folder, counts, "--center", AXIS)
    drift = 1 + 0.15 * np.linspace(0, 1, V)[:, None, None] * np.linspace(0, 1, C)
    flats = np.full((3, R, C), WHITE)
    np.save(folder / "after.npy", (DARK + flats * drift[-1]).astype(np.float32))
    moved = DARK + (counts - DARK) * drift
    repaired(check, folder, "drift", moved, clean, ("--flats-after", folder / "after.npy"), 0.03, 1e-5)
    bad = counts.copy()
    bad[rng.random(bad.shape) < 0.002] *= 3
    bad[:, 5, 40] = DARK
    bad[:, 9, 60] = 1.5 * WHITE
    flats[:, 5, 40] = 0
    repaired(check, folder, "bad pixels", bad, clean, ("--zingers", 20), 0.1, 0.02, flats=DARK + flats)
    uneven = DARK + (counts - DARK) * (1 + 0.2 * rng.standard_normal((V, 1, 1))) * (1 + 0.1 * np.linspace(-1, 1, C))
    repaired(check, folder, "air", uneven, clean, ("--air", 5), 0.05, 1e-5)
    harder = -np.log(0.5 * np.exp(-1.3 * y) + 0.5 * np.exp(-0.7 * y))
    path = np.linspace(0, 2.5, 200)
    measured = -np.log(0.5 * np.exp(-1.3 * path) + 0.5 * np.exp(-0.7 * path))
    fit = np.linalg.lstsq(np.stack([measured**k for k in (1, 2, 3)], 1), path, rcond=None)[0]
    repaired(check, folder, "hardening", counts_of(harder), clean, ("--hardening", ",".join(f"{a:.6g}" for a in fit)), 0.05, 1e-3)
    stripes = np.where(rng.random((R, C)) < 0.08, rng.normal(0, 0.08, (R, C)), 0)
    repaired(check, folder, "rings, sorting", counts_of(y + stripes), clean, ("--rings", "sorting"), 0.1, 0.09)
    repaired(check, folder, "rings, fw", counts_of(y + stripes), clean, ("--rings", "fw"), 0.1, 0.09)


def centres(check, folder):
    """Each method within half a channel, whatever noise of 1 %."""
    rng = np.random.default_rng(2)
    for axis in (48.8, 43.25):
        y = integrals(axis=axis)
        y += rng.normal(0, 0.01, y.shape)
        for method in ("registration", "entropy", "symmetry"):
            png = folder / "trials.png"
            png.unlink(missing_ok=True)
            _, said = recon(check, folder, counts_of(y), "--center-method", method, "--center-png", png)
            found = number_after(said, "rotation centre: channel ")
            print(f"  axis {axis}: {method} finds {found}")
            check.that(abs(found - axis) <= 0.5, f"{method}: axis at {found}, not {axis}")
            head = png.read_bytes()[:24] if png.exists() else b""
            check.that(head[1:4] == b"PNG" and int.from_bytes(head[16:20], "big") == 3 * C, f"{method}: the picture: {head}")
            check.that("search of the centre" in said, f"{method}: no time: {said}")


def geometry(check, folder):
    rows = 48
    clean, _ = recon(check, folder, counts_of(integrals(rows=rows)), "--center", AXIS)
    tilted = counts_of(integrals(rows=rows, tilt=3.5))
    before, _ = recon(check, folder, tilted, "--center", AXIS)
    after, said = recon(check, folder, tilted, "--tilt", "auto")
    found = number_after(said, "tilt: ")
    middle = slice(rows // 4, -rows // 4)
    errors = [relative(v[:, :, middle], clean[:, :, middle]) for v in (before, after)]
    print(f"  tilt of 3.5 degrees: {found} found, {errors[0]:.4f} of the volume before, {errors[1]:.4f} after")
    check.that(abs(found - 3.5) < 0.15 and errors[1] < 0.8 * errors[0], f"tilt: {found}, {errors}")
    full = integrals(views=2 * V, rows=3, axis=(C - 1) / 2, turn=2 * np.pi)
    whole, _ = recon(check, folder, counts_of(full[:V]), "--center", (C - 1) / 2)
    for name, part, overlap in (("last", full[:, :, :60], 24), ("first", full[:, :, C - 61:], 26)):
        joined, said = recon(check, folder, counts_of(part), "--overlap", "auto", turn=360)
        found = number_after(said, "overlap: ")
        check.that(abs(found - overlap) < 0.1 and f"near the {name} channel" in said, f"overlap: {said}")
        error = relative(joined, whole) if joined is not None and joined.shape == whole.shape else np.inf
        print(f"  joined, axis near the {name} channel: overlap {found}, {error:.4f} from the wide detector")
        check.that(error < 0.01, f"joined: {joined is not None and joined.shape} {error}")


def phase(check, folder):
    """The edges that propagation makes are gone after Paganin's filter, which is the inverse of what made them."""
    pixel, energy, distance, ratio = 0.001, 20.0, 1.0, 100.0
    image = np.exp(-integrals(rows=32))
    strength = np.pi * 12.398419843320026e-7 / energy * distance * ratio / pixel**2
    padded = np.pad(image, ((0, 0), (32, 32), (32, 32)), mode="edge")
    f = [np.fft.fftfreq(n) ** 2 for n in padded.shape[1:]]
    seen = np.fft.ifft2(np.fft.fft2(padded) * (1 + strength * (f[0][:, None] + f[1]))).real[:, 32:-32, 32:-32]
    check.that(seen.min() > 0.01, f"the edges are too strong: {seen.min()}")
    clean, _ = recon(check, folder, DARK + WHITE * image, "--center", AXIS)
    repaired(check, folder, "phase", DARK + WHITE * seen, clean, ("--paganin", f"{ratio},{energy},{distance},{pixel}"), 0.1, 0.05)


def operations(check, folder):
    """On arrays, as on the device's emulator (operators/test_prepare); wrong calls are refused with a word on what is accepted."""
    for name, operation, *settings in (("wavelet", "remove_stripes_wavelet", "levels=2 damping=2 order=5"),
                                       ("phase", "retrieve_phase", "distance=10 energy=20 pixel=0.001 delta_beta=100"),
                                       ("tilt", "correct_tilt", "angle=1.7")):
        data, out = DATA / "prepare", folder / "y.npy"
        r = tomoprof("apply", operation, "--in", data / f"{name}_in.npy", "--out", out, "--set", *settings)
        check.that(r.returncode == 0 and relative(np.load(out), np.load(data / f"{name}_out.npy")) < 1e-6, f"{operation}: {r.stderr}")
    x = integrals(views=10)
    np.save(folder / "v.npy", counts_of(x).astype(np.float32))
    np.save(folder / "flat field.npy", np.full((2, R, C), DARK + WHITE, np.float32))
    np.save(folder / "d.npy", np.full((2, R, C), DARK, np.float32))
    r = tomoprof("apply", "correct_flat_field", "--in", folder / "v.npy", "--out", folder / "t.npy", "--set",
                 f" flats={folder}/flat field.npy  darks={folder}/d.npy ")  # a value may hold blanks
    check.that(r.returncode == 0, f"correct_flat_field: {r.stderr}")
    r = tomoprof("apply", "minus_log", "--in", folder / "t.npy", "--out", folder / "y.npy")
    check.that(r.returncode == 0 and relative(np.load(folder / "y.npy"), x) < 1e-5, f"minus_log: {r.stderr}")
    wrong = (("remove_outliers", "size=4", "3, 5 or 7"), ("remove_outliers", "side=both", "it takes size"),
             ("correct_flat_field", None, "flats=FILE"), ("minus_log", "low=2 high=1", "low is above high"),
             ("normalise_air", "left=0 right=0", "channels are needed"), ("correct_hardening", "coefficients=1,x", "finite numbers"),
             ("correct_tilt", "angle=50", "from -45 to 45"), ("join_half_turns", "overlap=0", "from 1"),
             ("retrieve_phase", "energy=-1", "energy"), ("remove_stripes_wavelet", "order=11", "from 1 to 10"),
             ("remove_outliers", "sides=left", "bright, dark, both"))
    for operation, settings, words in wrong:
        r = tomoprof("apply", operation, "--in", folder / "v.npy", "--out", folder / "y.npy", *(("--set", settings) if settings else ()))
        check.that(r.returncode == 2 and words in r.stderr, f"{operation} {settings}: {r.returncode} {r.stderr}")
    for options, words in ((("--paganin", "100"), "at least 3 numbers"), (("--paganin", "100,20,-5"), "positive"),
                           (("--paganin", "100,20,5"), "how large its pixels are"), (("--tilt", "60"), "from -45"),
                           (("--overlap", "auto"), "360 degrees"), (("--air", "60"), "must fit"),
                           (("--hardening", "1,,2"), "finite numbers"), (("--drift", "linear"), "--flats-after"),
                           (("--overlap", "12", "--center", "40"), "leave it out"), (("--center", "40", "--center-method", "entropy"), "leave out")):
        _, said = recon(check, folder, counts_of(x), *options, code=2)
        check.that(words in said, f"{options}: {said}")
    out = tomoprof("run", "--group", "prepare", "--sizes", "64", "--runs", "1", "--no-trace", "--out", folder / "run")
    check.that(out.returncode == 0 and "12 of 12 rows ok" in out.stderr, f"run --group prepare: {out.stderr}")


def files(check, folder):
    """Flats before and after the views of an NXtomo file; slabs have the bits of the whole."""
    paths = {name: folder / f"{name}.npy" for name in ("counts", "before", "after", "darks")}
    for name, images in zip(paths, (scans.counts(), scans.flats()[:2], np.round(scans.flats()[2:] * 1.2), scans.darks())):
        np.save(paths[name], images)
    np.savetxt(folder / "angles.txt", scans.angles())
    volumes = []
    for flats in ("before", "after"):
        if json.loads(tomoprof("doctor", "--json").stdout)["rows"]["hdf5"]["state"] != "ok":
            break
        words = ("--in", DATA / "scan/drift.nx", "--drift", "linear") if flats == "before" else \
            ("--in", paths["counts"], "--flats", paths["before"], "--flats-after", paths["after"], "--darks", paths["darks"], "--angles",
             folder / "angles.txt")
        r = tomoprof("recon", *words, "--center", scans.CENTER, "--out", folder / "x.npy")
        check.that(r.returncode == 0, f"{words}: {r.stderr}")
        volumes.append(np.load(folder / "x.npy"))
    check.that(not volumes or relative(volumes[0], volumes[1]) < 1e-6, "an NXtomo file's flats before and after")
    mean = tomoprof("recon", "--in", DATA / "scan/drift.nx", "--center", scans.CENTER, "--out", folder / "m.npy")
    check.that(not volumes or (mean.returncode == 0 and relative(np.load(folder / "m.npy"), volumes[0]) > 0.01), "drift changes nothing")
    rng = np.random.default_rng(7)
    counts = counts_of(integrals(rows=40))
    counts[rng.random(counts.shape) < 0.002] *= 3
    words = ("--center", AXIS, "--zingers", 20, "--air", 4, "--rings", "fw", "--hardening", "1,0.1")
    whole, said = recon(check, folder, counts, *words)
    slabs, slabs_said = recon(check, folder, counts, *words, "--memory", "7MiB")
    check.that("slabs" in slabs_said and "slabs" not in said, f"slabs: {slabs_said}")
    check.that(np.array_equal(whole, slabs), f"slabs give another volume: {relative(slabs, whole)}")


if __name__ == "__main__":
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    main(operations, defects, centres, geometry, phase, files)
