"""Values far from 1: MBIR and the proximal map give the same digits at every scale of sinogram and weights, for parallel beams and
cones. Other operators scale with their input or refuse; none writes NaN, infinity or zeros without a word."""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import main, tomoprof, write_json

N, VIEWS = 16, 12
POWERS = (-140, -128, -100, -66, -34, -20, 34, 66, 100, 126)  # 2^-140 is below the smallest normal number of float32
DIGITS = 1e-5


def geometry(folder, beam):
    last = np.pi if beam == "parallel" else 2 * np.pi
    fields = {"geometry": beam, "sinogram_shape": [VIEWS, N, N], "angles": list(np.linspace(0, last, VIEWS, endpoint=False))}
    if beam == "cone":
        fields |= {"source_detector_dist": 64.0, "source_iso_dist": 40.0}
    path = folder / f"{beam}.json"
    write_json(path, fields)
    return path


def run(folder, name, path, **arrays):
    """(result or None, process)"""
    out = folder / "out.npy"
    out.unlink(missing_ok=True)
    args = ["apply", name, "--geometry", path, "--out", out]
    if name in ("mbir_recon", "prox_map"):
        args += ["--iterations", 2, "--stop-threshold", 0]
    for option, array in arrays.items():
        np.save(folder / f"{option}.npy", array.astype(np.float32))
        args += [f"--{option}", folder / f"{option}.npy"]
    r = tomoprof(*args)
    return (np.load(out).astype(np.float64) if r.returncode == 0 else None), r


def sinogram(folder, path):
    """About 1, with noise: 0 or less in some samples."""
    z, y, x = np.mgrid[:N, :N, :N] - (N - 1) / 2
    ball = (x * x + y * y + z * z < 25).astype(np.float64)
    y, r = run(folder, "forward_project", path, **{"in": ball})
    if y is None:
        raise SystemExit(r.stderr)
    return y / y.max() + 0.01 * np.random.default_rng(1).standard_normal(y.shape)


def iterative(check, folder):
    for beam in ("parallel", "cone"):
        path = geometry(folder, beam)
        y = sinogram(folder, path)
        weights = np.exp(-np.abs(y))
        near = run(folder, "back_project", path, **{"in": y})[0] / 1e3
        plain = run(folder, "mbir_recon", path, **{"in": y})[0]
        weighted = run(folder, "mbir_recon", path, **{"in": y}, weights=weights)[0]
        started = run(folder, "prox_map", path, **{"in": y}, prox=near, init=near)[0]
        for power in POWERS:
            k = 2.0**power
            cases = [("mbir_recon", plain * k, {"in": y * k}), ("mbir_recon", weighted, {"in": y, "weights": weights * k}),
                     ("prox_map", started * k, {"in": y * k, "prox": near * k, "init": near * k})]
            for name, expected, arrays in cases:
                x, r = run(folder, name, path, **arrays)
                what = f"{beam} {name} {'weights' if 'weights' in arrays else 'data'} times 2^{power}"
                if check.that(x is not None and np.isfinite(x).all(), f"{what}: {r.returncode} {r.stderr} {x is not None and 'not finite'}"):
                    # A sinogram below 2^-126 has fewer digits itself.
                    limit = DIGITS if power > -110 else 0.05
                    off = np.abs(x - expected).max() / np.abs(expected).max()
                    check.that(off <= limit, f"{what}: differs by {off:.2g}")


def others(check, folder):
    for beam in ("parallel", "cone"):
        path = geometry(folder, beam)
        y = sinogram(folder, path)
        x = np.abs(run(folder, "back_project", path, **{"in": y})[0])
        names = [("forward_project", "in", x / x.max()), ("back_project", "in", y), ("direct_filter", "in", y), ("direct_recon", "in", y),
                 ("hessian_diagonal", "weights", np.abs(y)), ("median_filter3d", "in", x / x.max()),
                 ("qggmrf_denoise", "in", x / x.max() + 0.1 * np.random.default_rng(2).random(x.shape)),
                 ("gen_weights_transmission", "in", y), ("remove_stripes_sorting", "in", y)]
        names += [("fourier_recon", "in", y)] if beam == "parallel" else []
        for name, option, array in names:
            for value in (1e-44, 1e-20, 1e20, 3e38):
                given = np.clip(array / np.abs(array).max() * value, -3.4e38, 3.4e38)
                result, r = run(folder, name, path, **{option: given})
                what = f"{beam} {name} up to {value:g}"
                if result is None:
                    check.that(r.returncode == 2 and "range of float32" in r.stderr, f"{what}: {r.returncode} {r.stderr}")
                else:
                    silent = "0 everywhere" not in r.stderr and not result.any()
                    check.that(np.isfinite(result).all() and not silent, f"{what}: exit 0 and {np.isnan(result).sum()} NaN, up to {np.abs(result).max()}")
            for bad in (np.nan, np.inf):
                given = array.copy()
                given[1, 2, 3] = bad
                result, r = run(folder, name, path, **{option: given})
                check.that(result is None and r.returncode == 2 and "not a finite number" in r.stderr, f"{beam} {name} with {bad}: {r.returncode} {r.stderr}")


def whole(check, folder):
    """`recon` with each method."""
    cases = [("parallel", "fbp"), ("parallel", "fourier"), ("parallel", "mbir"), ("cone", "fdk"), ("cone", "fdk", "--backproject", "voxel"), ("cone", "mbir")]
    for beam, method, *more in cases:
        path = geometry(folder, beam)
        y = sinogram(folder, path)
        for value in (1e-44, 1e-20, 1, 1e20, 3e38):
            np.save(folder / "y.npy", np.clip(y / np.abs(y).max() * value, -3.4e38, 3.4e38).astype(np.float32))
            out = folder / "volume.npy"
            out.unlink(missing_ok=True)
            r = tomoprof("recon", "--in", folder / "y.npy", "--geometry", path, "--method", method, *more, "--out", out)
            if r.returncode:
                check.that(r.returncode == 2 and "range of float32" in r.stderr and not out.exists(), f"{beam} {method} up to {value:g}: {r.returncode} {r.stderr}")
            else:
                x = np.load(out)
                check.that(np.isfinite(x).all() and x.any(), f"{beam} {method} up to {value:g}: exit 0 and {np.isnan(x).sum()} NaN, up to {np.abs(x).max()}")


if __name__ == "__main__":
    main(iterative, others, whole)
