"""Translation and multi-axis scans in NumPy beside MBIRJAX: what their projectors compute (goldens: tests/operators/goldens/make_goldens.py).
Usage: geometries.py (with mbirjax installed). Prints the relative l2 difference of each forward projection; exit 1 above 2e-6."""

import sys

import mbirjax
import numpy as np

VIEWS, ROWS, CHANNELS = 7, 21, 24


def shares(width, distance):
    """Part of a voxel's footprint, as wide as `width` bins, in the bin at `distance`."""
    return np.clip((width + 1) / 2 - np.abs(distance), 0, np.minimum(1, width))


def difference(ours, theirs):
    return np.linalg.norm(ours - theirs) / np.linalg.norm(theirs)


def grid(shape, pitch):
    """Coordinates of columns and rows about the middle, pixel by pixel, and those of slices."""
    rows, columns, slices = shape
    i, j = np.meshgrid(np.arange(rows) - (rows - 1) / 2, np.arange(columns) - (columns - 1) / 2, indexing="ij")
    return pitch[1] * j.ravel(), pitch[0] * i.ravel(), pitch[2] * (np.arange(slices) - (slices - 1) / 2)


def multi_axis(elevation, random):
    """Azimuth a and elevation e: u = x cos a - y sin a, v = z cos e - t sin e, a footprint max(|cos e|, 0.5) high, and lengths
    over cos e, for the ray is so much longer in a voxel."""
    angles = np.stack([np.linspace(0, np.pi, VIEWS, endpoint=False) + 1e-4, elevation], 1).astype(np.float32)
    model = mbirjax.MultiAxisParallelModel((VIEWS, ROWS, CHANNELS), angles)
    shape = tuple(int(k) for k in model.get_params("recon_shape"))
    volume = random.random(shape).astype(np.float32)
    x, y, z = grid(shape, (-1, 1, 1))  # its rows run against y
    r, c = y / ((shape[0] - 1) / 2), x / ((shape[1] - 1) / 2)
    columns = volume.reshape(-1, shape[2]) * (r**2 + c**2 <= 1)[:, None]
    out = np.zeros((VIEWS, ROWS, CHANNELS))
    for view, (a, e) in enumerate(angles.astype(np.float64)):
        u, t = x * np.cos(a) + y * np.sin(a), -x * np.sin(a) + y * np.cos(a)
        width = max(abs(np.cos(a)), abs(np.sin(a)))
        across = shares(width, (u + (CHANNELS - 1) / 2)[:, None] - np.arange(CHANNELS)) / width
        v = z * np.cos(e) - t[:, None] * np.sin(e) + (ROWS - 1) / 2
        down = shares(max(np.cos(e), 0.5), v[:, :, None] - np.arange(ROWS)) / np.cos(e)
        out[view] = np.einsum("ps,psm->pm", columns, down).T @ across
    return difference(out, np.asarray(model.forward_project(volume)))


def translation(aspect, random):
    """A cone beam at angle 0 with the object moved by -(tx, ty, tz); the footprint is that of the columns alone, never of the rows."""
    source_detector, source_iso = 200.0, 150.0
    moved = random.uniform(-3, 3, (VIEWS, 3)).astype(np.float32)
    model = mbirjax.TranslationModel((VIEWS, ROWS, CHANNELS), moved, source_detector, source_iso)
    if aspect:
        model.set_params(voxel_row_aspect=aspect, recon_shape=(9, 20, 18))
    shape = tuple(int(k) for k in model.get_params("recon_shape"))
    pitch = float(model.get_params("delta_voxel"))
    row, slice_ = (pitch * float(model.get_params(f"voxel_{k}_aspect")) for k in ("row", "slice"))
    volume = random.random(shape).astype(np.float32)
    x, y, z = grid(shape, (row, pitch, slice_))
    out = np.zeros((VIEWS, ROWS, CHANNELS))
    for view, (tx, ty, tz) in enumerate(moved.astype(np.float64)):
        g = 1 / (source_iso / source_detector - (y - ty) / source_detector)
        u, v = g * (x - tx), g[:, None] * (z - tz)
        across = shares((g * pitch)[:, None], (u + (CHANNELS - 1) / 2)[:, None] - np.arange(CHANNELS))
        across *= (row / np.cos(np.arctan2(u, source_detector)))[:, None]
        down = shares((g * slice_)[:, None, None], (v + (ROWS - 1) / 2)[:, :, None] - np.arange(ROWS))
        down = down * np.sqrt(1 + (v / source_detector) ** 2)[:, :, None]
        out[view] = np.einsum("ps,psm->pm", volume.reshape(-1, shape[2]), down).T @ across
    return difference(out, np.asarray(model.forward_project(volume)))


def main():
    random = np.random.default_rng(3)
    rows = [("MultiAxisParallelModel, elevation 0", multi_axis(np.zeros(VIEWS), random)),
            ("MultiAxisParallelModel, 0.5 rad", multi_axis(np.full(VIEWS, 0.5), random)),
            ("MultiAxisParallelModel, -0.5 to 0.5 rad", multi_axis(random.uniform(-0.5, 0.5, VIEWS), random)),
            ("TranslationModel, its own size", translation(None, random)),
            ("TranslationModel, cubes", translation(1.0, random)),
            ("TranslationModel, rows four times as far apart", translation(4.0, random))]
    for name, off in rows:
        print(f"{name}: {off:.1e}")
    return int(any(not off < 2e-6 for _, off in rows))


sys.exit(main())
