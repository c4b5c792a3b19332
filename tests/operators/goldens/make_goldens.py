"""Goldens of MBIRJAX for the geometries of CASES, in the layout of tests/data/goldens/*.

How to run (only to add a case: the results are kept in the repository, and no test calls this file):
    python -m venv /tmp/mbj && /tmp/mbj/bin/pip install mbirjax==0.7.3
    XLA_FLAGS=--xla_force_host_platform_device_count=1 /tmp/mbj/bin/python tests/operators/goldens/make_goldens.py [NAME ...]
Without names every case that has no folder yet is made; a named one is made again.

A case is one row: what the constructor takes, the parameters set afterwards (MBIRJAX's names; they also go into
geometry.json as they are), and the number of iterations of mbir_recon (0: none). Inputs are drawn from
numpy.random.default_rng(crc32(name)): volume standard normal, sinogram uniform [0, 1), weights uniform [0.5, 1.5), float32.
mbir_recon: weights.npy, stop threshold 0, numpy.random.seed(7), automatic regularisation unless sigma_y and
sigma_x stand in the row."""
import json
import os
import sys
import tempfile
import zlib

import numpy as np

GOLDENS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data", "goldens")
PI = np.pi


def turn(views, start=0.0, extent=2 * PI):
    return np.linspace(start, start + extent, views, endpoint=False)


def cone(shape, D, d, angles=None, z=None, curved=False, iterations=3, **params):
    return dict(geometry="cone", shape=shape, D=D, d=d, z=z, curved=curved, iterations=iterations, params=params,
                angles=turn(shape[0], 0.05) if angles is None else angles)


def parallel(shape, angles=None, iterations=3, **params):
    return dict(geometry="parallel", shape=shape, iterations=iterations, params=params,
                angles=turn(shape[0], 0.05, PI) if angles is None else angles)


def multiaxis(shape, elevations, iterations=3, **params):
    pairs = np.stack([turn(shape[0], 0.05, PI), np.broadcast_to(elevations, shape[0])], 1)
    return dict(geometry="multiaxis", shape=shape, angles=pairs, iterations=iterations, params=params)


def translation(shape, D, d, reach, iterations=3, **params):
    vectors = np.random.default_rng(shape[0]).uniform(-reach, reach, (shape[0], 3))
    return dict(geometry="translation", shape=shape, D=D, d=d, vectors=vectors, iterations=iterations, params=params)


CASES = {
    # Anisotropic and rectangular volumes, no mask, extreme magnification.
    "cone_aspects": cone((20, 16, 22), 88, 44, voxel_row_aspect=1.9, voxel_slice_aspect=2.9),
    "cone_rect_unmasked": cone((18, 12, 20), 80, 50, use_ror_mask=False, recon_shape=(17, 24, 10)),
    "cone_magnified": cone((18, 14, 24), 36, 6, angles=turn(18, -0.4)),  # nearest voxel M = 9, farthest 4.5
    "cone_curved_offsets": cone((20, 13, 23), 92, 46, curved=True, det_channel_offset=1.3, det_row_offset=-0.8,
                                recon_slice_offset=0.4),
    "cone_helical": cone((20, 9, 21), 84, 42, angles=turn(20, -1.0, 4 * PI), z=np.linspace(-3.2, 3.2, 20)),
    "cone_helical_curved": cone((21, 8, 19), 76, 40, angles=turn(21, 0.3, 3 * PI), z=np.linspace(-1.0, 4.0, 21),
                                curved=True, det_channel_offset=-0.6),
    "par_aspect_unmasked": parallel((19, 7, 26), voxel_row_aspect=1.7, use_ror_mask=False, recon_shape=(14, 23, 7),
                                    det_channel_offset=0.4),
    # Many taps, and less than one tap, per voxel.
    "par_coarse": parallel((17, 8, 30), delta_voxel=2.0, recon_shape=(15, 15, 8)),
    "cone_coarse": cone((16, 18, 26), 78, 52, delta_voxel=1.7, recon_shape=(10, 11, 7)),
    "cone_fine": cone((16, 10, 20), 80, 40, delta_voxel=0.17, recon_shape=(22, 24, 21)),
    "cone_unequal_pitch": cone((18, 14, 18), 72, 40, delta_det_channel=1.4, delta_det_row=0.9, det_row_offset=0.35),
    # The tap windows clip, so that MBIRJAX's forward projection is not the transpose of its back projection.
    "cone_tall_rows": cone((16, 7, 18), 64, 32, delta_det_row=3.0),  # r_b slices either side of a row's centre
    "cone_corner_clip": cone((16, 20, 16), 40, 8, use_ror_mask=False, delta_voxel=0.285,
                             recon_shape=(16, 16, 14)),  # r rows either side of a voxel's centre
    # Exact multiples of 45 degrees, negative angles and more than a turn.
    "par_axis_angles": parallel((16, 5, 24), angles=np.arange(-6, 10) * (PI / 4)),
    # Tilted rays; the last one beyond the angle where the horizontal edges of a voxel show.
    "multiaxis_plain": multiaxis((14, 15, 17), 0.4),
    "multiaxis_aspects": multiaxis((13, 14, 16), np.linspace(-0.7, 0.7, 13), voxel_row_aspect=1.9, voxel_slice_aspect=1.3,
                                   delta_det_row=0.8, det_row_offset=0.4, det_channel_offset=-0.7, recon_slice_offset=0.6),
    "multiaxis_steep": multiaxis((12, 16, 15), np.linspace(0, 1.2, 12), iterations=0, recon_shape=(14, 15, 17)),
    # Objects that move, with rows as far apart as MBIRJAX makes them, and with cubes.
    "translation_plain": translation((7, 40, 44), 80, 60, 4),
    "translation_cubes": translation((11, 12, 15), 90, 40, 4, det_channel_offset=-0.7, det_row_offset=0.4, delta_det_row=1.3,
                                     voxel_row_aspect=1.5, voxel_slice_aspect=1.2, recon_shape=(8, 16, 12)),
    "cone_axis_angles": cone((16, 8, 20), 60, 40, angles=np.arange(-6, 10) * (PI / 4)),
}


def model_of(case):
    import mbirjax as mj
    angles = np.asarray(case.get("angles"), np.float32)
    if case["geometry"] == "multiaxis":
        m = mj.MultiAxisParallelModel(case["shape"], angles)
    elif case["geometry"] == "translation":
        m = mj.TranslationModel(case["shape"], np.asarray(case["vectors"], np.float32), case["D"], case["d"])
    elif case["geometry"] == "parallel":
        m = mj.ParallelBeamModel(case["shape"], angles)
    else:
        z = None if case["z"] is None else np.asarray(case["z"], np.float32)
        m = mj.ConeBeamModel(case["shape"], angles, source_detector_dist=case["D"], source_iso_dist=case["d"],
                             helical_z_shifts=z, use_curved_detector=case["curved"])
    late = ("delta_voxel", "recon_shape", "recon_slice_offset")  # what auto_set_recon_geometry would overwrite
    m.set_params(verbose=0, no_warning=True, **{k: v for k, v in case["params"].items() if k not in late})
    m.auto_set_recon_geometry(no_warning=True)
    m.set_params(no_warning=True, **{k: v for k, v in case["params"].items() if k in late})
    return m


def geometry_of(case):
    g = {"geometry": case["geometry"], "sinogram_shape": list(case["shape"])}
    if "angles" in case:
        g["angles"] = np.asarray(case["angles"], np.float32).tolist()
    if "D" in case:
        g.update(source_detector_dist=case["D"], source_iso_dist=case["d"])
    if "vectors" in case:
        g["translation_vectors"] = np.asarray(case["vectors"], np.float32).tolist()
    if case["geometry"] == "cone":
        if case["curved"]:
            g["use_curved_detector"] = True
        if case["z"] is not None:
            g["helical_z_shifts"] = [float(h) for h in np.asarray(case["z"], np.float32)]
    g.update(case["params"])
    return g


def make(name, case):
    m = model_of(case)
    folder = os.path.join(GOLDENS, name)
    os.makedirs(folder, exist_ok=True)
    info = {"made_with": "MBIRJAX 0.7.3, CPU", "recon_shape": [int(n) for n in m.get_params("recon_shape")],
            "delta_voxel": float(m.get_params("delta_voxel")),
            "note": "arrays float32 C order; mbir_recon: %d iterations, stop threshold 0, seed 7, weights.npy"
                    % case["iterations"]}
    if case["geometry"] == "cone":
        info["recon_slice_offset"] = float(m.get_params("recon_slice_offset"))

    def save(array_name, array):
        array = np.ascontiguousarray(array, np.float32)
        assert array.nbytes < 60_000, (name, array_name, array.shape)
        np.save(os.path.join(folder, array_name + ".npy"), array)

    rng = np.random.default_rng(zlib.crc32(name.encode()))
    volume = rng.standard_normal(info["recon_shape"], dtype=np.float32)
    sinogram = rng.random(case["shape"], dtype=np.float32)
    weights = rng.uniform(0.5, 1.5, case["shape"]).astype(np.float32)
    save("volume", volume)
    save("sinogram", sinogram)
    save("weights", weights)
    beam, direct = case["geometry"], {"parallel": "fbp", "cone": "fdk"}.get(case["geometry"], "direct")
    save(beam + "_forward_project.out", m.forward_project(volume))
    save(beam + "_back_project.out", m.back_project(sinogram))
    save(beam + "_hessian_diagonal.out", m.compute_hessian_diagonal(weights))
    save(beam + "_" + direct + "_filter.out", getattr(m, direct + "_filter")(sinogram))
    save(beam + "_" + direct + "_recon.out", m.direct_recon(sinogram))
    if case["iterations"]:
        np.random.seed(7)
        recon, _ = m.recon(sinogram, weights=weights, max_iterations=case["iterations"], stop_threshold_change_pct=0,
                           print_logs=False)
        save(beam + "_mbir_recon.out", recon)
        info.update({k: float(m.get_params(k)) for k in ("sigma_y", "sigma_x", "sigma_prox")})
    with open(os.path.join(folder, "geometry.json"), "w") as f:
        json.dump(geometry_of(case), f, indent=1)
    with open(os.path.join(folder, "info.json"), "w") as f:
        json.dump(info, f, indent=1)
    print(name, info["recon_shape"], flush=True)


def main():
    unknown = [name for name in sys.argv[1:] if name not in CASES]
    if unknown:
        sys.exit("no such case: " + ", ".join(unknown))
    names = sys.argv[1:] or [n for n in CASES if not os.path.exists(os.path.join(GOLDENS, n, "info.json"))]
    with tempfile.TemporaryDirectory() as scratch:  # MBIRJAX writes ./logs
        os.chdir(scratch)
        for name in names:
            make(name, CASES[name])


if __name__ == "__main__":
    main()
