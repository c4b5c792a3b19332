"""All public names of MBIRJAX are in tomoprof.mbirjax, but for those of a table, each with its reason; what was added gives MBIRJAX's arrays.

tests/data/preprocess/mbirjax-names.txt: the names of MBIRJAX 0.7.3 that are its own, by dir(), of its modules and classes."""

import re
import tarfile
import warnings

import module  # noqa: F401
import names_cases
import numpy as np
from module import raised
from tool import DATA, main, relative

import tomoprof.mbirjax
import tomoprof.mbirjax.preprocess

KERNELS = "a step of MBIRJAX's kernels, on JAX's arrays"
DEVICES = "shards, batches and devices of JAX; tomoprof computes on one device and bounds its memory by itself"
STEPS = "a step of MBIRJAX's own loop; recon, vcd_recon and prox_map are the whole"
# Names that tomoprof leaves out: owner, names, reason.
LEFT_OUT = (
    ("", r"\w*(one_view|one_pixel|pixel_batch|to_band)\w*|channel_scatter_reduce|(horizontal|vertical)_fan_\w+|Projectors|ProjectorParams|create_projectors", KERNELS),
    ("", r"qggmrf_grad_and_hessian_per_\w+|vcd_subset_denoiser|add_ellipsoid|sum_product|update_\w+|unbatch|ensure_tuple|concatenate_\w+|sum_function_in_batches", KERNELS),
    ("", r"compute_(channel_coordinate|hfan_data|proj_data|horizontal_data|vertical_data_\w+|y_mag_for_pixel)|geometry_xyz_\w+|detector_\w+|recon_ij\w*", KERNELS),
    ("", r"get_psf_radius|get_geometry_parameters|make_geometry_params", KERNELS),
    ("", r"\w*(shard|halos|batch_size|devices?_summary|device_summary)\w*|(cpu|gpu|default)_devices|TilePolicy|log_oom_guidance|memory_report|transfer_\w+", DEVICES),
    ("", r"get_transpose", "a transformation of JAX's functions: jax.linear_transpose"),
    ("", r"create_vcd_subset_updater|vcd_partition_iterator|initialize_recon|get_forward_lin_quad", STEPS),
    ("", r"(de)?serialize_parameter|convert_(arrays_to_strings|strings_to_arrays)|is_flat_iterable|compare_flat_iterables|multiline|Param|bn",
     "helpers of MBIRJAX's files and labels; save_params and load_param_dict are the whole"),
    ("ParameterHandler", r"verify_valid_params", "a model has it"),
    ("mbirjax.preprocess", r"nsi|pymbir|zeiss|zeiss_tct", "readers of scanners' files; `tomoprof recon` reads Zeiss files"),
    ("mbirjax", r"[a-z]\w*", "a module, whose public names are in the package"),
    ("mbirjax.preprocess", r"mar|pipeline|segmentation|stripe", "a module, whose public names are in the package"),
)
MODULES = {"bn256", "cone_beam", "denoising", "mace4d", "memory_stats", "multiaxis_parallel", "parallel_beam", "parameter_handler", "projectors", "qggmrf",
           "tomography_model", "tomography_utils", "translation_model", "utilities", "vcd_utils", "vcls", "viewer"}


def is_there(owner, name):
    found = getattr(owner, name, None)
    return found is not None and type(found).__name__ != "_Missing"


def reason_of(owner, name):
    return next((reason for place, pattern, reason in LEFT_OUT if place in ("", owner) and re.fullmatch(pattern, name)
                 and (not reason.startswith("a module") or place != "mbirjax" or name in MODULES)), None)


def names(check, folder):
    text, found, left = (DATA / "preprocess/mbirjax-names.txt").read_text(), 0, {}
    for line in text.splitlines():
        place, _, words = line.partition(":")
        owner = {"mbirjax": tomoprof.mbirjax, "mbirjax.preprocess": tomoprof.mbirjax.preprocess}.get(place) or getattr(tomoprof.mbirjax, place)
        for name in words.split():
            if is_there(owner, name):
                found += 1
                continue
            reason = reason_of(place, name)
            check.that(reason, f"{place}: {name} is missing, and no row of LEFT_OUT has a reason")
            left[reason] = left.get(reason, 0) + 1
    print(f"  {found} names are there, {sum(left.values())} are left out")
    check.that(found > 300 and set(left) == {reason for _, _, reason in LEFT_OUT}, f"a row of LEFT_OUT that explains nothing: {left}")
    check.that(reason_of("mbirjax", "forward_everything") is None, "a name that nobody knows has a reason")
    try:
        import mbirjax
    except ImportError:
        return
    missing = [name for name in text.split("\n", 1)[0].split()[1:] if not hasattr(mbirjax, name)]
    check.that(not missing, f"{missing} are not in the installed mbirjax: record the names again")


# Relative l2 of what was iterated, and of what MBIRJAX has from OSQP, which ends near the solution. The denoisers of `frames_own` end where an iteration changes less than 0.2 %, some one iteration sooner.
LIMITS = {"split": 1e-4, "metal": 2e-4, "frames_own": 5e-3, "frames": 3e-4}


def arrays(check, folder):
    """What names_cases.py computes, beside MBIRJAX's results: 1e-5, or as LIMITS says."""
    expected = dict(np.load(DATA / "preprocess/names.npz"))
    for part in names_cases.PARTS:
        lacking = [name for name in names_cases.FROM.get(part.__name__, ()) if not importable(name)]
        if lacking:
            print(f"  not run, {', '.join(lacking)} is not installed: {part.__name__}")
            continue
        for name, found in names_cases.results(tomoprof.mbirjax, (part,)).items():
            wanted = expected.pop(name)
            limit = next((value for begin, value in LIMITS.items() if name.startswith(begin)), 1e-5)
            same = found.shape == wanted.shape
            error = relative(found, wanted) if same and wanted.any() else float(not same or bool(found.any()))
            check.that(error < limit, f"{name}: shape {found.shape}, MBIRJAX {wanted.shape}, differs by {error:.2g}")
            check.that(not same or relative(found + 1, wanted) > limit, f"{name}: the comparison cannot fail")


def importable(name):
    try:
        __import__(name)
    except ImportError:
        return False
    return True


def bad_input(check, folder):
    mj, ones = tomoprof.mbirjax, np.ones((4, 5, 6), np.float32)
    for kind, call, arguments in (
            (ValueError, mj.preprocess.gen_huber_weights, (ones, ones, 1.0, 2.0)), (ValueError, mj.preprocess.gen_huber_weights, (ones, ones[:3])),
            (ValueError, mj.get_2d_subsampling_indices, (ones[0], 0)), (NotImplementedError, mj.get_2d_subsampling_indices, (ones[0], 0.5, None, True)),
            (ValueError, mj.gen_text_phantom, ((4, 5, 6), ["a"], 3, None, 0, 0, 0)), (ValueError, mj.gen_translation_phantom, ((4, 5, 6), "lines", [])),
            (ValueError, mj.save_volume_as_gif, (ones[0], "x.gif")), (ValueError, mj.save_volume_as_gif, (ones, "x.gif", 0, 1)),
            (RuntimeError, mj.download_and_extract, (str(folder / "none.tar"), str(folder / "to"))), (ValueError, mj.rehydrate and mj.dehydrate, (ones, "counts")),
            (ValueError, mj.preprocess.correct_sino_plastic_metal, (mj.ParallelBeamModel((4, 5, 6), np.arange(4)), ones, np.ones((6, 6, 5), np.float32))),
            (ValueError, mj.preprocess.recon_plastic_metal, (mj.ParallelBeamModel((4, 5, 6), np.arange(4)), ones, None, 3, 10, 0.2, -1)),
            (NotImplementedError, mj.preprocess.nsi.load_scans_and_params, ("x",))):
        check.that(raised(kind, call, *arguments), f"{call.__name__ if hasattr(call, '__name__') else call}{arguments[1:]} raises no {kind.__name__}")


def files_and_figures(check, folder):
    """Archives are unpacked inside of their folder alone; figures are drawn where matplotlib is."""
    mj = tomoprof.mbirjax
    (folder / "data").mkdir()
    (folder / "data/a.txt").write_text("a")
    for name, inside in (("good.tar.gz", "data"), ("bad.tar", "../outside")):
        with tarfile.open(folder / name, "w" if name.endswith(".tar") else "w:gz") as archive:
            archive.add(folder / "data", arcname=inside)
    found = mj.download_and_extract(str(folder / "good.tar.gz"), str(folder / "to"))
    check.that(open(f"{found}/a.txt").read() == "a" and mj.download_and_extract(str(folder / "good.tar.gz"), str(folder / "to")) == found, found)
    check.that(raised(RuntimeError, mj.download_and_extract, str(folder / "bad.tar"), str(folder / "bad")), "an archive may write outside of its folder")
    check.that(not (folder / "outside").exists(), "an archive wrote outside of its folder")
    stats = mj.get_memory_stats(print_results=False)
    check.that(stats[0]["id"] == "CPU" and 0 < stats[0]["bytes_in_use"] <= stats[0]["peak_bytes_in_use"] < 1 << 40 < (stats[0]["bytes_limit"] << 20), f"{stats}")
    if not importable("matplotlib"):
        print("  not run, matplotlib is not installed: figures")
        return
    import matplotlib
    matplotlib.use("agg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = np.random.default_rng(1).random((6, 8, 5), np.float32)
        mj.slice_viewer(x, None, data_dicts=[{"notes": "n"}, None], slice_axis=[0, 2], title="t")
        viewer = mj.SliceViewer(x, x[:, :, 0], slice_label="View")
        check.that([image.get_array().shape for image in viewer.images] == [(6, 8), (6, 8)] and viewer.cur_slices == [2, 0], f"{viewer.cur_slices}")
        viewer.slice_slider.set_val(4)
        check.that((np.asarray(viewer.images[0].get_array()) == x[:, :, 4]).all() and viewer.cur_slices == [4, 0], "the slider does not choose a slice")
        for call in (lambda: mj.slice_viewer(), lambda: mj.slice_viewer(x, data_dicts=[None, None]), lambda: mj.slice_viewer(np.zeros(3))):
            check.that(raised(ValueError, call), "slice_viewer takes anything")
        mj.debug_plot_partitions([np.array([[0, 1], [2, 3]])], (2, 2))
        mj.debug_plot_indices(3, 4, [1, 5], np.ones((2, 1)))
        mj.display_translation_vectors(np.zeros((3, 3)), (4, 5, 6))
        mj.show_image_with_projection_rays(x[:, :, 0], rotation_angles_deg=np.array([0.0, 90.0]))
        matplotlib.pyplot.close("all")
        if importable("PIL"):
            from PIL import Image
            mj.save_volume_as_gif(x, folder / "x.gif", frame_axis=2)
            with Image.open(folder / "x.gif") as gif:
                check.that(gif.n_frames == 5, f"{gif.n_frames} frames")


if __name__ == "__main__":
    main(names, arrays, bad_input, files_and_figures)
